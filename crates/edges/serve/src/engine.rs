//! A connection to the engine, the `PostgreSQL` that executes what applications say.

use crate::catalogue::Asks;
use crate::wire::{Message, Peer};
use iso_collect::Failure;
use std::io;

/// The name of our own statements and portals.
const OURS: &str = "isoscope";

/// What the engine answers: rows as texts, or an error.
pub(crate) type Answer = Result<Vec<Vec<Option<String>>>, Message>;

/// A connection of one session.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) peer: Peer,
    /// It was told something since it was last ready.
    pub(crate) is_asked: bool,
    /// What it said unasked, for the client.
    pub(crate) aside: Vec<Message>,
    /// A statement was sent together with the next one, and its answer is not heard yet.
    is_ahead: bool,
}

impl Engine {
    pub(crate) fn new(peer: Peer) -> Self {
        Self { peer, is_asked: false, aside: Vec::new(), is_ahead: false }
    }

    /// The next message, which must come.
    pub(crate) fn message(&mut self) -> io::Result<Message> {
        while self.is_ahead {
            let message = self.any_message()?;
            match message.tag {
                b'C' => self.is_ahead = false,
                b'A' => self.aside.push(message),
                // Nothing is sent ahead that an engine could refuse.
                b'E' => {
                    self.aside.push(message);
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
                _ => {}
            }
        }
        self.any_message()
    }

    fn any_message(&mut self) -> io::Result<Message> {
        match self.peer.message()? {
            Some(message) if message.tag == b'E' && matches!(message.field(b'V'), Some("FATAL" | "PANIC")) => {
                self.aside.push(message);
                Err(io::ErrorKind::ConnectionAborted.into())
            }
            Some(message) => Ok(message),
            None => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }

    /// Asks for the answers to what it was told; more follows.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.is_asked = true;
        self.peer.push(&Message::new(b'H', Vec::new()));
        self.peer.flush()
    }

    /// Ends what was asked.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.peer.push(&Message::new(b'S', Vec::new()));
        self.peer.flush()?;
        loop {
            let message = self.message()?;
            match message.tag {
                b'Z' => {
                    self.is_asked = false;
                    return Ok(());
                }
                b'A' => self.aside.push(message),
                _ => {}
            }
        }
    }

    /// Asks something in the middle of what a client asks; unnamed statements of the client stay.
    pub(crate) fn ask(&mut self, sql: &str, parameters: &[&str]) -> io::Result<Answer> {
        self.push_question(sql, parameters);
        self.peer.push(&Message::new(b'S', Vec::new()));
        self.peer.flush()?;
        self.hear_rows()
    }

    /// Says something that cannot fail together with what is said next, so that nobody waits for its answer alone.
    pub(crate) fn say_ahead(&mut self, sql: &str) {
        self.push_question(sql, &[]);
        self.is_ahead = true;
    }

    fn push_question(&mut self, sql: &str, parameters: &[&str]) {
        let mut parse = [OURS.as_bytes(), b"\0", sql.as_bytes(), b"\0"].concat();
        parse.extend_from_slice(&0_i16.to_be_bytes());
        let mut bind = [OURS.as_bytes(), b"\0", OURS.as_bytes(), b"\0"].concat();
        bind.extend_from_slice(&0_i16.to_be_bytes());
        bind.extend_from_slice(&i16::try_from(parameters.len()).unwrap_or_default().to_be_bytes());
        for text in parameters {
            bind.extend_from_slice(&i32::try_from(text.len()).unwrap_or_default().to_be_bytes());
            bind.extend_from_slice(text.as_bytes());
        }
        bind.extend_from_slice(&0_i16.to_be_bytes());
        let execute = [OURS.as_bytes(), b"\0", &0_i32.to_be_bytes()].concat();
        // What failed is still there.
        for message in [
            close(b'P', OURS),
            close(b'S', OURS),
            Message::new(b'P', parse),
            Message::new(b'B', bind),
            Message::new(b'E', execute),
            close(b'P', OURS),
        ] {
            self.peer.push(&message);
        }
    }

    /// Asks by one text, after which unnamed statements of the client are gone.
    fn ask_text(&mut self, sql: &str) -> io::Result<Answer> {
        self.peer.push(&Message::text(b'Q', sql));
        self.peer.flush()?;
        self.hear_rows()
    }

    /// Hears rows until the engine is ready.
    fn hear_rows(&mut self) -> io::Result<Answer> {
        let (mut rows, mut error) = (Vec::new(), None);
        loop {
            let message = self.message()?;
            match message.tag {
                b'D' => rows.push(values(&message)),
                b'E' => error = Some(message),
                b'A' => self.aside.push(message),
                b'Z' => {
                    self.is_asked = false;
                    return Ok(error.map_or(Ok(rows), Err));
                }
                _ => {}
            }
        }
    }
}

impl Asks for Engine {
    fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Failure> {
        let broken = |message: String| Failure::Broken { message };
        let answer = self.ask_text(sql).map_err(|it| broken(it.to_string()))?;
        answer.map_err(|it| broken(it.field(b'M').unwrap_or("the database refused").to_owned()))
    }

    fn run(&mut self, sql: &str) -> Result<(), Failure> {
        self.rows(sql).map(|_| ())
    }
}

/// Closes a statement or a portal.
pub(crate) fn close(kind: u8, name: &str) -> Message {
    Message::new(b'C', [&[kind], name.as_bytes(), b"\0"].concat())
}

/// The values of a row as texts.
pub(crate) fn values(message: &Message) -> Vec<Option<String>> {
    let mut fields = message.fields();
    let n = fields.count().unwrap_or_default();
    let text = |it: Option<&[u8]>| it.map(|it| String::from_utf8_lossy(it).into_owned());
    (0..n).map_while(|_| fields.value().map(text)).collect()
}

/// Texts as an array in SQL.
pub(crate) fn array(texts: &[String]) -> String {
    format!("{{{}}}", texts.iter().map(|it| element(it)).collect::<Vec<String>>().join(","))
}

/// The same, where some are NULL.
pub(crate) fn optional_array(texts: &[Option<String>]) -> String {
    let element = |it: &Option<String>| it.as_deref().map_or_else(|| "NULL".to_owned(), element);
    format!("{{{}}}", texts.iter().map(element).collect::<Vec<String>>().join(","))
}

fn element(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

//! The beginning of a connection: what a client says first, and how the engine comes to know it.

use crate::shared::{Shared, Watched};
use crate::wire::{CANCEL_REQUEST, GSS_REQUEST, Message, Peer, SSL_REQUEST, Stream, drop_last_value, is_timeout};
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

/// The first message to the engine.
struct Startup {
    body: Vec<u8>,
    /// What the client wants its session to be called.
    session: Option<String>,
}

/// A client whom the engine knows by now.
pub(crate) struct Connected {
    pub(crate) client: Peer,
    pub(crate) engine: Peer,
    pub(crate) number: u64,
    /// What the client wants its session to be called.
    pub(crate) session: Option<String>,
    /// As long as it is kept, the connection can be ended by others.
    pub(crate) watched: Watched,
}

/// Lets a client in, if it wants more than a word, and if the engine wants it.
pub(crate) fn let_in(stream: TcpStream, shared: &Arc<Shared>) -> io::Result<Option<Connected>> {
    stream.set_nodelay(true)?;
    let mut client = Peer::new(Stream::Network(stream));
    let Some(startup) = greet(&mut client, shared)? else { return Ok(None) };
    let mut engine = Peer::new(match shared.place.connect() {
        Ok(stream) => stream,
        Err(error) => {
            let words = format!("isoscope cannot reach the database: {error}");
            client.push(&Message::error("FATAL", "08006", &words));
            client.flush()?;
            return Ok(None);
        }
    });
    engine.push_untagged(&startup.body);
    engine.flush()?;
    if !authenticate(&mut client, &mut engine)? {
        return Ok(None);
    }
    let number = shared.ledger.connected();
    let watched = shared.watch(number, &engine)?;
    Ok(Some(Connected { client, engine, number, session: startup.session, watched }))
}

/// Passes on what an engine says that nobody has asked: notifications, and that it ends.
pub(crate) fn hear_unasked(engine: &mut Peer, client: &mut Peer) -> io::Result<()> {
    engine.wait_at_most(Some(Duration::from_millis(1)))?;
    let heard = loop {
        match engine.message() {
            Ok(Some(message)) => client.push(&message),
            Ok(None) => break Err(io::ErrorKind::ConnectionAborted.into()),
            Err(error) if is_timeout(&error) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    engine.wait_at_most(None)?;
    client.flush()?;
    heard
}

/// The client's first words. Encryption is declined, and a request to cancel is passed on; then there is no more to do.
fn greet(client: &mut Peer, shared: &Shared) -> io::Result<Option<Startup>> {
    loop {
        let Some(body) = client.startup()? else { return Ok(None) };
        let code = body.get(..4).map_or(0, |it| u32::from_be_bytes([it[0], it[1], it[2], it[3]]));
        match code {
            SSL_REQUEST | GSS_REQUEST => {
                client.push_bytes(b"N");
                client.flush()?;
            }
            CANCEL_REQUEST => {
                let mut engine = Peer::new(shared.place.connect()?);
                engine.push_untagged(&body);
                engine.flush()?;
                return Ok(None);
            }
            _ => return startup(&body, client, shared).map_or(Ok(None), |it| Ok(Some(it))),
        }
    }
}

/// The first message to the engine: that of the client, with the word that triggers know. An engine of our own knows one
/// user and one database, whatever the client says.
fn startup(body: &[u8], client: &mut Peer, shared: &Shared) -> Option<Startup> {
    let mut texts = body.get(4..)?.split(|it| *it == 0);
    let mut pairs: Vec<(&[u8], &[u8])> = Vec::new();
    while let (Some(name), Some(value)) = (texts.next().filter(|it| !it.is_empty()), texts.next()) {
        pairs.push((name, value));
    }
    if pairs.iter().any(|it| it.0 == b"replication") {
        client.push(&Message::error("FATAL", "0A000", "isoscope does not pass on replication"));
        client.flush().ok()?;
        return None;
    }
    let session = pairs.iter().find(|it| it.0 == b"options").and_then(|it| session_of(it.1));
    if let Some(weak) = &shared.weak {
        pairs.push((b"lock_timeout", b"50"));
        if let Some(login) = &weak.login {
            pairs.retain(|it| it.0 != b"user" && it.0 != b"database");
            pairs.push((b"user", login.user.as_bytes()));
            pairs.push((b"database", login.database.as_bytes()));
        }
    }
    pairs.push((b"isoscope.recording", shared.word.as_bytes()));
    let mut with_word = body[..4].to_vec();
    for (name, value) in pairs {
        for text in [name, value] {
            with_word.extend_from_slice(text);
            with_word.push(0);
        }
    }
    with_word.push(0);
    Some(Startup { body: with_word, session })
}

/// The name of a session in options such as `-c isoscope.session=ann`.
fn session_of(options: &[u8]) -> Option<String> {
    let options = std::str::from_utf8(options).ok()?;
    let rest = options.split("isoscope.session=").nth(1)?;
    let name: String = rest.chars().take_while(|it| !it.is_whitespace() && *it != '\\').collect();
    Some(name).filter(|it| !it.is_empty())
}

/// Passes on who the client is, up to the first `ReadyForQuery`. False if the engine does not want it.
fn authenticate(client: &mut Peer, engine: &mut Peer) -> io::Result<bool> {
    while let Some(message) = engine.message()? {
        client.push(&message);
        match message.tag {
            b'Z' => {
                client.flush()?;
                return Ok(true);
            }
            b'E' => {
                client.flush()?;
                return Ok(false);
            }
            b'R' => {
                let code = message.fields().int().unwrap_or_default();
                // Others are the end of it, or part of an exchange that goes on with a message of the engine.
                if !matches!(code, 0 | 12) {
                    client.flush()?;
                    let Some(answer) = client.message()? else { return Ok(false) };
                    engine.push(&answer);
                    engine.flush()?;
                }
            }
            _ => {}
        }
    }
    client.flush()?;
    Ok(false)
}

/// Asks the engine for one text, unseen by the client.
pub(crate) fn ask(engine: &mut Peer, sql: &str) -> io::Result<String> {
    engine.push(&Message::text(b'Q', sql));
    engine.flush()?;
    let mut answer = String::new();
    while let Some(mut message) = engine.message()? {
        match message.tag {
            b'D' => {
                answer = String::from_utf8(drop_last_value(&mut message.body).unwrap_or_default()).unwrap_or_default();
            }
            b'Z' => return Ok(answer),
            _ => {}
        }
    }
    Err(io::ErrorKind::ConnectionAborted.into())
}

//! The engine's whole answer to one statement, and what it tells on the way.

use super::statement::{How, text_of};
use super::{Answered, Served, TICK};
use crate::analyse::Plan;
use crate::catalogue::TOLD;
use crate::condition::Parameter;
use crate::hidden;
use crate::prepared::is_tagged;
use crate::row::parse;
use crate::transaction::{Running, Tale, seen_rows, tale};
use crate::wire::{Message, drop_last_description, drop_last_value, drop_place};
use std::collections::HashSet;
use std::io;

impl Served<'_> {
    /// Sends a statement to the engine and hears its whole answer, without what triggers and columns of ours tell.
    pub(super) fn engine_answer(
        &mut self,
        plan: &Plan,
        parameters: &[Parameter],
        how: &How,
    ) -> io::Result<(Answered, Running)> {
        self.begin_if_explicit();
        self.ask_engine(plan, how)?;
        let is_query = matches!(how, How::Query);
        let is_tagged = is_tagged(plan);
        let mut hidden = if let How::Portal { hidden, .. } = how { hidden.clone() } else { Vec::new() };
        let mut running = Running { parameters: parameters.to_vec(), ..Running::default() };
        let (mut answer, mut error) = (Vec::new(), None);
        loop {
            let mut message = self.engine.message()?;
            match message.tag {
                b'N' if message.field(b'C') == Some(TOLD) => {
                    match tale(message.field(b'M').unwrap_or_default(), &self.catalogue) {
                        Some(Tale::Wrote(written)) => running.written.push(*written),
                        Some(Tale::Read(rows)) => running.rows.extend(rows),
                        None => running.is_garbled = true,
                    }
                    continue;
                }
                b'2' | b'3' => continue,
                b'T' => {
                    if is_tagged {
                        drop_last_description(&mut message.body);
                    }
                    hidden = hidden::places(&message);
                    hidden::drop_columns(&mut message, &hidden);
                }
                b'D' => {
                    running.n_rows += 1;
                    if is_tagged {
                        let tag = drop_last_value(&mut message.body).and_then(|it| String::from_utf8(it).ok());
                        match tag.and_then(|it| seen_rows(parse(&it)?, &self.catalogue)) {
                            Some(rows) => running.rows.extend(rows),
                            None => running.is_garbled = true,
                        }
                    }
                    hidden::drop_columns(&mut message, &hidden);
                }
                b'G' => {
                    answer.push(message);
                    self.copy_in(&mut answer, is_query)?;
                    continue;
                }
                b'E' => {
                    if is_tagged {
                        drop_place(&mut message.body);
                    }
                    error = Some(message);
                    continue;
                }
                b'Z' => {
                    self.engine.is_asked = false;
                    break;
                }
                _ => {}
            }
            answer.push(message);
        }
        // A row that is met twice is one read.
        let mut known = HashSet::new();
        running.rows.retain(|it| known.insert(it.key.clone()));
        Ok((error.map_or(Ok(answer), Err), running))
    }

    /// Sends a statement to the engine.
    fn ask_engine(&mut self, plan: &Plan, how: &How) -> io::Result<()> {
        match how {
            How::Query => self.engine.peer.push(&Message::text(b'Q', text_of(plan))),
            How::Portal { name, bind, .. } => {
                for message in bind.iter().flatten() {
                    self.engine.peer.push(message);
                }
                let execute = [name.as_bytes(), b"\0", &0_i32.to_be_bytes()].concat();
                self.engine.peer.push(&Message::new(b'E', execute));
                // All rows are heard, so the portal is not needed any more.
                self.engine.peer.push(&Message::new(b'S', Vec::new()));
            }
        }
        self.engine.peer.flush()
    }

    /// The client sends rows until it says that they are all.
    fn copy_in(&mut self, answer: &mut Vec<Message>, is_query: bool) -> io::Result<()> {
        for message in answer.drain(..) {
            self.client.push(&message);
        }
        self.client.flush()?;
        self.client.wait_at_most(None)?;
        loop {
            let Some(message) = self.client.message()? else { return Err(io::ErrorKind::ConnectionAborted.into()) };
            if matches!(message.tag, b'd' | b'c' | b'f') {
                self.engine.peer.push(&message);
            }
            if matches!(message.tag, b'c' | b'f') {
                break;
            }
            if self.engine.peer.n_waiting() > 256 << 10 {
                self.engine.peer.flush()?;
            }
        }
        if !is_query {
            // The engine has passed over the one before.
            self.engine.peer.push(&Message::new(b'S', Vec::new()));
            self.has_copied = true;
        }
        self.engine.peer.flush()?;
        self.client.wait_at_most(Some(TICK))
    }
}

//! Reads Cobra logs. What identifies a version in a stream shows only later, so operations wait until it does.

use super::identity::{self, Traits};
use super::record::Record;
use super::{INITIAL, INITIAL_NULL, NOT_KNOWN};
use crate::batch::Batch;
use crate::binary::{Broken, big_endian, broken, report, take};
use crate::fault::show;
use crate::input::{Bytes, Input};
use crate::meter::Meter;
use crate::sink::Sink;
use crate::{CobraIdentity, ReadError};
use iso_history::{Access, Outcome, Place, PlaceUnit, SessionId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fs::File;
use std::path::Path;

/// Reads one log from a stream; the session is named by the file.
pub(crate) fn read_log(
    input: &mut Input<'_>,
    sink: &mut Sink<'_>,
    identity: Option<CobraIdentity>,
) -> Result<(), ReadError> {
    let mut assembler = Assembler::new(identity);
    let session = sink.session(&session_name(input.name()))?;
    let result = Log { input, sink, assembler: &mut assembler, session, open: None }.read();
    report(sink, result)?;
    assembler.finish(sink)
}

/// Reads the logs of a directory, in the order of their names.
pub(crate) fn read_directory<'a>(
    logs: &[std::path::PathBuf],
    meter: &'a Meter<'a>,
    sink: &mut Sink<'_>,
    identity: Option<CobraIdentity>,
) -> Result<(), ReadError> {
    let identity = match identity {
        Some(identity) => Some(identity),
        None => identity::look(logs, meter)?,
    };
    let mut assembler = Assembler::new(identity);
    for path in logs {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|source| ReadError::Open { path: name.clone(), source })?;
        let mut input = Input::new(&name, file, None, meter)?;
        sink.source(&name, PlaceUnit::Byte);
        let session = sink.session(&session_name(&name))?;
        let result = Log { input: &mut input, sink, assembler: &mut assembler, session, open: None }.read();
        report(sink, result)?;
        if let Some(damage) = input.damage() {
            sink.error(input.offset(), format!("the compressed data is damaged or cut short: {damage}"));
        }
    }
    assembler.finish(sink)
}

fn session_name(path: &str) -> String {
    let name = Path::new(path).file_name().map_or(path.into(), |it| it.to_string_lossy());
    let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    name.strip_suffix(".log").unwrap_or(name).to_owned()
}

/// One file.
struct Log<'l, 'i, 's> {
    input: &'l mut Input<'i>,
    sink: &'l mut Sink<'s>,
    assembler: &'l mut Assembler,
    session: SessionId,
    open: Option<i64>,
}

impl Log<'_, '_, '_> {
    fn read(&mut self) -> Result<(), Broken> {
        loop {
            self.read_at_hand()?;
            // What comes now is not at hand as a whole, or no record.
            let Some(tag) = self.input.peek()? else { break };
            let at = self.input.offset();
            let [_] = take::<1>(self.input, "a record")?;
            let record = match tag {
                b'S' => Record::Start { txn: self.number("a record S")? },
                b'W' => {
                    let [write_id, key, value] = self.numbers("a record W")?;
                    Record::Write { write_id, key, value }
                }
                b'R' => {
                    let [writer, write_id, key, value] = self.numbers("a record R")?;
                    Record::Read { writer, write_id, key, value }
                }
                b'C' => Record::Commit { txn: self.number("a record C")? },
                0xff => {
                    if self.input.peek()?.is_some() {
                        self.sink.warn(at + 1, "there are bytes after the end of the log; they are not read");
                    }
                    break;
                }
                other => return broken(at, format!("expected a record S, W, R or C, found {}", show(Some(other)))),
            };
            self.record(record, at)?;
        }
        self.end_open()
    }

    fn number(&mut self, what: &str) -> Result<i64, Broken> {
        big_endian(self.input, what)
    }

    fn numbers<const N: usize>(&mut self, what: &str) -> Result<[i64; N], Broken> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = self.number(what)?;
        }
        Ok(numbers)
    }

    /// Reads the records that are at hand as a whole.
    fn read_at_hand(&mut self) -> Result<(), Broken> {
        while let Some((record, length)) = Record::parse(self.input.at_hand()) {
            let at = self.input.offset();
            self.input.advance(length);
            self.record(record, at)?;
        }
        Ok(())
    }

    fn record(&mut self, record: Record, at: u64) -> Result<(), Broken> {
        match (record, self.open) {
            (Record::Start { txn }, _) => self.start(txn, at)?,
            (Record::Commit { txn }, Some(open)) => {
                if open != txn {
                    self.sink.error(at, format!("expected the end of transaction {open}, found that of {txn}"));
                }
                self.open = None;
                self.assembler.take(Event::End(Outcome::Committed), self.sink)?;
            }
            (record, Some(open)) => self.assembler.take(Event::Op { txn: open, record }, self.sink)?,
            (record, None) => {
                let kind = match record {
                    Record::Write { .. } => "W",
                    Record::Read { .. } => "R",
                    Record::Start { .. } | Record::Commit { .. } => "C",
                };
                self.sink.error(at, format!("a record {kind} stands outside of a transaction"));
            }
        }
        Ok(())
    }

    /// A transaction without its `C` is of unknown outcome.
    fn end_open(&mut self) -> Result<(), Broken> {
        if self.open.take().is_some() {
            self.assembler.take(Event::End(Outcome::Indeterminate), self.sink)?;
        }
        Ok(())
    }

    fn start(&mut self, txn: i64, at: u64) -> Result<(), Broken> {
        self.end_open()?;
        self.sink.meter().keep(2 * size_of::<i64>())?;
        if !self.assembler.seen.insert(txn) {
            self.sink.error(at, format!("transaction {txn} is there twice; numbers must not repeat"));
        }
        self.open = Some(txn);
        let place = self.sink.place(at);
        Ok(self.assembler.take(Event::Begin { session: self.session, place }, self.sink)?)
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Begin { session: SessionId, place: Place },
    Op { txn: i64, record: Record },
    End(Outcome),
}

/// Turns events into transactions as soon as it is known what identifies a version.
struct Assembler {
    identity: Option<CobraIdentity>,
    waiting: Vec<Event>,
    traits: Traits,
    seen: FxHashSet<i64>,
    initial_hashes: FxHashMap<i64, i64>,
    current: Option<(SessionId, Place)>,
    batch: Batch,
}

impl Assembler {
    fn new(identity: Option<CobraIdentity>) -> Self {
        Self {
            identity,
            waiting: Vec::new(),
            traits: Traits::default(),
            seen: FxHashSet::default(),
            initial_hashes: FxHashMap::default(),
            current: None,
            batch: Batch::default(),
        }
    }

    #[inline]
    fn take(&mut self, event: Event, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        match self.identity {
            Some(identity) => self.apply(event, identity, sink),
            None => self.wait(event, sink),
        }
    }

    fn wait(&mut self, event: Event, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        sink.meter().keep(size_of::<Event>())?;
        self.waiting.push(event);
        if let Event::Op { record, .. } = event {
            self.traits.see(&record);
            if self.traits.lacks_writers {
                self.decide(sink)?;
            }
        }
        Ok(())
    }

    fn decide(&mut self, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        let identity = self.traits.identity();
        self.identity = Some(identity);
        for event in std::mem::take(&mut self.waiting) {
            self.apply(event, identity, sink)?;
        }
        Ok(())
    }

    fn finish(mut self, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        if self.identity.is_none() {
            self.decide(sink)?;
        }
        self.batch.flush(sink)
    }

    fn apply(&mut self, event: Event, identity: CobraIdentity, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        match event {
            Event::Begin { session, place } => {
                self.batch.forget_open();
                self.current = Some((session, place));
            }
            Event::Op { txn, record } => {
                self.op(txn, record, identity);
                sink.meter().fits(self.batch.bytes())?;
            }
            Event::End(outcome) => {
                if let Some((session, place)) = self.current.take() {
                    self.batch.end(session, place, outcome, sink)?;
                }
            }
        }
        Ok(())
    }

    fn op(&mut self, txn: i64, record: Record, identity: CobraIdentity) {
        let (access, key, writer, write_id, value) = match record {
            Record::Write { write_id, key, value } => (Access::Write, key, txn, write_id, value),
            Record::Read { writer, write_id, key, value } => (Access::Read, key, writer, write_id, value),
            Record::Start { .. } | Record::Commit { .. } => return,
        };
        if access == Access::Read && matches!(writer, INITIAL | INITIAL_NULL) {
            // The first read of a key's initial state says what that is; another value under its name was written by
            // nobody.
            let first = *self.initial_hashes.entry(key).or_insert(value);
            if first == value {
                self.batch.push_null(access, key);
            } else {
                self.batch.push_text(access, key, &[("init/v", value)]);
            }
            return;
        }
        // As `Version::name` spells them.
        match identity {
            CobraIdentity::Writers => {
                self.batch.push_text(access, key, &[("w", write_id), ("/t", writer), ("/v", value)]);
            }
            CobraIdentity::Values if write_id == NOT_KNOWN => self.batch.push(access, key, value),
            CobraIdentity::Values => self.batch.push_text(access, key, &[("w", write_id), ("/v", value)]),
        }
    }
}

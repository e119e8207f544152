//! Reads Cobra logs. What identifies a version shows only later, so operations wait until it does.

use super::{INITIAL, INITIAL_NULL, NOT_KNOWN, Version};
use crate::binary::{Broken, big_endian, broken, report, take};
use crate::fault::show;
use crate::input::{Bytes, Input};
use crate::meter::Meter;
use crate::sink::{Sink, TxnOps};
use crate::{CobraIdentity, ReadError};
use iso_history::{Access, Datum, Outcome, Place, PlaceUnit, SessionId};
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
        while let Some(tag) = self.input.peek()? {
            let at = self.input.offset();
            let [_] = take::<1>(self.input, "a record")?;
            match tag {
                b'S' => self.start(at)?,
                b'W' => self.write(at)?,
                b'R' => self.read_record(at)?,
                b'C' => self.commit(at)?,
                0xff => {
                    if self.input.peek()?.is_some() {
                        self.sink.warn(at + 1, "there are bytes after the end of the log; they are not read");
                    }
                    break;
                }
                other => return broken(at, format!("expected a record S, W, R or C, found {}", show(Some(other)))),
            }
        }
        self.end_open()
    }

    /// A transaction without its `C` is of unknown outcome.
    fn end_open(&mut self) -> Result<(), Broken> {
        if self.open.take().is_some() {
            self.assembler.take(Event::End(Outcome::Unknown), self.sink)?;
        }
        Ok(())
    }

    fn start(&mut self, at: u64) -> Result<(), Broken> {
        let txn = big_endian(self.input, "a record S")?;
        self.end_open()?;
        self.sink.meter().keep(2 * size_of::<i64>())?;
        if !self.assembler.seen.insert(txn) {
            self.sink.error(at, format!("transaction {txn} is there twice; numbers must not repeat"));
        }
        self.open = Some(txn);
        let place = self.sink.place(at);
        Ok(self.assembler.take(Event::Begin { session: self.session, place }, self.sink)?)
    }

    fn txn(&mut self, at: u64, kind: &str) -> Option<i64> {
        if self.open.is_none() {
            self.sink.error(at, format!("a record {kind} stands outside of a transaction"));
        }
        self.open
    }

    fn write(&mut self, at: u64) -> Result<(), Broken> {
        let write_id = big_endian(self.input, "a record W")?;
        let key = big_endian(self.input, "a record W")?;
        let value = big_endian(self.input, "a record W")?;
        if let Some(txn) = self.txn(at, "W") {
            let version = Version { write_id, txn: Some(txn), value };
            self.assembler.take(Event::Op { access: Access::Write, key, version }, self.sink)?;
        }
        Ok(())
    }

    fn read_record(&mut self, at: u64) -> Result<(), Broken> {
        let writer = big_endian(self.input, "a record R")?;
        let write_id = big_endian(self.input, "a record R")?;
        let key = big_endian(self.input, "a record R")?;
        let value = big_endian(self.input, "a record R")?;
        if self.txn(at, "R").is_some() {
            let version = Version { write_id, txn: Some(writer), value };
            self.assembler.take(Event::Op { access: Access::Read, key, version }, self.sink)?;
        }
        Ok(())
    }

    fn commit(&mut self, at: u64) -> Result<(), Broken> {
        let txn = big_endian(self.input, "a record C")?;
        if let Some(open) = self.txn(at, "C") {
            if open != txn {
                self.sink.error(at, format!("expected the end of transaction {open}, found that of {txn}"));
            }
            self.open = None;
            self.assembler.take(Event::End(Outcome::Committed), self.sink)?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Begin { session: SessionId, place: Place },
    Op { access: Access, key: i64, version: Version },
    End(Outcome),
}

/// Turns events into transactions as soon as it is known what identifies a version.
struct Assembler {
    identity: Option<CobraIdentity>,
    waiting: Vec<Event>,
    seen: FxHashSet<i64>,
    /// Reads that name their writer were seen.
    names_writers: bool,
    /// Writes without a number were seen.
    lacks_write_ids: bool,
    initial_hashes: FxHashMap<i64, i64>,
    current: Option<(SessionId, Place)>,
    ops: TxnOps,
}

impl Assembler {
    fn new(identity: Option<CobraIdentity>) -> Self {
        Self {
            identity,
            waiting: Vec::new(),
            seen: FxHashSet::default(),
            names_writers: false,
            lacks_write_ids: false,
            initial_hashes: FxHashMap::default(),
            current: None,
            ops: TxnOps::default(),
        }
    }

    fn take(&mut self, event: Event, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        if let Some(identity) = self.identity {
            return self.apply(event, identity, sink);
        }
        sink.meter().keep(size_of::<Event>())?;
        self.waiting.push(event);
        match event {
            Event::Op { access: Access::Read, version: Version { txn: Some(NOT_KNOWN), .. }, .. } => {
                self.decide(CobraIdentity::Values, sink)?;
            }
            Event::Op { access: Access::Read, version, .. } => {
                self.names_writers |= !matches!(version.txn, Some(INITIAL | INITIAL_NULL));
            }
            Event::Op { version, .. } => self.lacks_write_ids |= version.write_id == NOT_KNOWN,
            Event::Begin { .. } | Event::End(_) => {}
        }
        Ok(())
    }

    fn decide(&mut self, identity: CobraIdentity, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        self.identity = Some(identity);
        for event in std::mem::take(&mut self.waiting) {
            self.apply(event, identity, sink)?;
        }
        Ok(())
    }

    fn finish(mut self, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        if self.identity.is_none() {
            let by_values = self.lacks_write_ids && !self.names_writers;
            self.decide(if by_values { CobraIdentity::Values } else { CobraIdentity::Writers }, sink)?;
        }
        Ok(())
    }

    fn apply(&mut self, event: Event, identity: CobraIdentity, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        match event {
            Event::Begin { session, place } => {
                self.ops.clear();
                self.current = Some((session, place));
            }
            Event::Op { access, key, version } => {
                let name = self.version_name(access, key, version, identity);
                let (key, value) = (sink.key(Datum::Int(key))?, sink.value(name)?);
                self.ops.push(access, key, value);
                sink.meter().fits(self.ops.bytes())?;
            }
            Event::End(outcome) => {
                if let Some((session, place)) = self.current.take() {
                    sink.txn(session, place, (None, None), &self.ops, outcome)?;
                }
            }
        }
        Ok(())
    }

    /// The first read of a key's initial state says what that is; another value under its name was written by nobody.
    fn version_name(&mut self, access: Access, key: i64, version: Version, identity: CobraIdentity) -> Datum {
        if access == Access::Read && matches!(version.txn, Some(INITIAL | INITIAL_NULL)) {
            let first = *self.initial_hashes.entry(key).or_insert(version.value);
            return if first == version.value { Datum::Null } else { Datum::text(format!("init/v{}", version.value)) };
        }
        match identity {
            CobraIdentity::Values => Version { txn: None, ..version }.name(),
            CobraIdentity::Writers => version.name(),
        }
    }
}

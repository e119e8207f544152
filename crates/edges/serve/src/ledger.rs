//! The history of a recording: transactions as they end, and what was in rows before.
//!
//! Nobody reads the whole database at the start. What a row held then is known as soon as somebody reads it or writes it
//! anew, and a line with initial values says so. A value that nobody is known to have written is judged at the end, when
//! everybody who came through the proxy has told what they wrote: it was there before, or somebody else wrote it.

use crate::transaction::{Done, Open, Operation, Seen, Touched, free};
use crate::weak::Opaque;
use iso_collect::Target;
use iso_formats::{RECORDING_END, RecordedDatabase, RecordingHeader, TxnLines, WrittenValues};
use iso_history::{Datum, Locking, Name, Outcome};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Transactions that had ended before the recording began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Before {
    /// All older ones had ended.
    pub(crate) oldest: u32,
    /// All from here on had not begun.
    pub(crate) next: u32,
    /// Of those between, these had not ended.
    pub(crate) open: Vec<u32>,
}

impl Before {
    /// Reads a snapshot as the database spells it: `10:20:10,14`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        // Rows have the lower half of the number.
        let number = |it: &str| it.parse::<u64>().ok().map(|it| (it & u64::from(u32::MAX)) as u32);
        let (oldest, next) = (number(parts.next()?)?, number(parts.next()?)?);
        let open = parts.next()?.split(',').filter_map(number).collect();
        Some(Self { oldest, next, open })
    }

    fn has(&self, xid: u32) -> bool {
        xid < self.oldest || xid < self.next && !self.open.contains(&xid)
    }
}

/// How many transactions and statements there were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Connections of applications.
    pub sessions: u64,
    /// Recorded transactions that committed.
    pub committed: u64,
    /// Recorded transactions that aborted.
    pub aborted: u64,
    /// Recorded transactions of which nobody knows how they ended.
    pub unknown: u64,
    /// Operations of recorded transactions.
    pub operations: u64,
    /// Transactions of others, who did not come through the proxy.
    pub outside: u64,
    /// Statements of recorded transactions.
    pub statements: u64,
    /// Statements of a served database that executed code of it, whose reads are not seen.
    pub opaque: u64,
    /// Transactions by their isolation level.
    pub levels: BTreeMap<String, u64>,
    /// Statements of which something that they read is missing, by reason, with how many and one of them.
    pub missing: BTreeMap<String, (u64, String)>,
}

impl Tally {
    /// How many statements lack something that they read.
    pub fn n_missing(&self) -> u64 {
        self.missing.values().map(|it| it.0).sum()
    }
}

/// Where lines go.
pub(crate) enum Output {
    File(File),
    Stream(Box<dyn Write + Send>),
}

impl Output {
    pub(crate) fn open(target: Target) -> io::Result<Self> {
        match target {
            Target::File(path) | Target::Heard(path, _) => File::create(path).map(Self::File),
            Target::Stream(stream) => Ok(Self::Stream(stream)),
            Target::Nowhere => Ok(Self::Stream(Box::new(io::sink()))),
        }
    }
}

/// Whose history it is.
pub(crate) enum Origin {
    /// A real database's.
    Record,
    /// That of a weak store with a level, and what else the header says.
    Serve { level: &'static str, origin: serde_json::Value, opaque: Opaque },
}

/// All that is recorded.
pub(crate) struct Ledger {
    started: Instant,
    inner: Mutex<Inner>,
}

struct Inner {
    output: Output,
    origin: Origin,
    /// The address and version of the database.
    database: String,
    /// All rows of the initial state that were not mentioned yet, where they are known from the start.
    known: Option<HashMap<String, Datum>>,
    is_begun: bool,
    /// Without the end of the line; 0 before it is written.
    header_length: usize,
    before: Option<Before>,
    keys: HashMap<String, Key>,
    tally: Tally,
    failure: Option<io::Error>,
    n_bytes: u64,
}

#[derive(Debug, Default)]
struct Key {
    initial: Option<Datum>,
    written: HashSet<u64>,
    /// What it held when it was first written.
    first: Option<(i64, Datum)>,
    /// Values that were seen and that nobody is known to have written, and who has, as far as the row says it.
    open: Vec<(Option<u32>, Datum)>,
}

/// A write of somebody outside, with the number of the transaction.
type Unexplained = (u64, Operation);

/// The first line may become longer, as more levels are seen.
const HEADER_ROOM: usize = 160;

impl Ledger {
    pub(crate) fn new(output: Output, origin: Origin, database: String) -> Self {
        let inner = Inner {
            output,
            origin,
            database,
            known: None,
            is_begun: false,
            header_length: 0,
            before: None,
            keys: HashMap::new(),
            tally: Tally::default(),
            failure: None,
            n_bytes: 0,
        };
        Self { started: Instant::now(), inner: Mutex::new(inner) }
    }

    /// Nanoseconds since the start.
    pub(crate) fn now(&self) -> i64 {
        i64::try_from(self.started.elapsed().as_nanos()).unwrap_or(i64::MAX)
    }

    /// Recording begins, after these transactions.
    pub(crate) fn begin(&self, before: Before) {
        self.lock().before.get_or_insert(before);
    }

    /// Recording begins with these rows, and there are no others.
    pub(crate) fn begin_with(&self, initial: HashMap<String, Datum>) {
        let mut inner = self.lock();
        inner.known = Some(initial);
        inner.before.get_or_insert_default();
    }

    pub(crate) fn is_on(&self) -> bool {
        self.lock().before.is_some()
    }

    pub(crate) fn tally(&self) -> Tally {
        self.lock().tally.clone()
    }

    /// One more connection; gives its number.
    pub(crate) fn connected(&self) -> u64 {
        let mut inner = self.lock();
        inner.tally.sessions += 1;
        inner.tally.sessions
    }

    /// Has the file failed?
    pub(crate) fn has_failed(&self) -> bool {
        self.lock().failure.is_some()
    }

    /// A statement of a recorded transaction; something that it read may be missing.
    pub(crate) fn statement(&self, missing: Option<(&'static str, &str)>) {
        let mut inner = self.lock();
        if inner.before.is_none() {
            return;
        }
        inner.tally.statements += 1;
        if let Some((why, sql)) = missing {
            let shown = || sql.split_whitespace().collect::<Vec<&str>>().join(" ").chars().take(100).collect();
            let entry = inner.tally.missing.entry(why.to_owned()).or_insert_with(|| (0, shown()));
            entry.0 += 1;
        }
    }

    /// A statement has executed code of the database.
    pub(crate) fn opaque(&self) {
        self.lock().tally.opaque += 1;
    }

    /// One more row of the initial state.
    pub(crate) fn add_initial(&self, key: String, value: Datum) {
        if let Some(known) = &mut self.lock().known {
            known.insert(key, value);
        }
    }

    /// A transaction has ended now.
    pub(crate) fn record(&self, session: &str, txn: &Open, outcome: Outcome) {
        self.record_ended(session, txn, outcome, self.now());
    }

    /// A transaction has ended.
    pub(crate) fn record_ended(&self, session: &str, txn: &Open, outcome: Outcome, end: i64) {
        if txn.statements.iter().all(|it| it.operations.is_empty()) {
            return;
        }
        let end = Some(end).filter(|_| outcome != Outcome::Indeterminate);
        let mut inner = self.lock();
        if inner.before.is_none() {
            return;
        }
        let is_new = !inner.tally.levels.contains_key(txn.level);
        *inner.tally.levels.entry(txn.level.to_owned()).or_default() += 1;
        inner.write_header(is_new);
        let initial = inner.note(&txn.statements);
        inner.write_initial(&initial);
        let mut lines = TxnLines::default();
        let n_operations = write_txn(&mut lines, session, &txn.statements, outcome, (txn.begin, end));
        inner.write(lines.bytes());
        inner.tally.operations += n_operations;
        match outcome {
            Outcome::Committed => inner.tally.committed += 1,
            Outcome::Aborted => inner.tally.aborted += 1,
            Outcome::Indeterminate => inner.tally.unknown += 1,
        }
    }

    /// Ends the recording with what others wrote, by transaction; gives how many bytes were written.
    pub(crate) fn end(&self, outside: BTreeMap<u64, Done>, is_whole: bool) -> io::Result<u64> {
        let mut inner = self.lock();
        inner.write_header(false);
        let mut others: BTreeMap<u64, Vec<Done>> = BTreeMap::new();
        for (xid, done) in outside {
            let done = vec![done];
            let initial = inner.note(&done);
            inner.write_initial(&initial);
            others.insert(xid, done);
        }
        let (initial, unexplained) = inner.resolve();
        inner.write_initial(&initial);
        for (xid, operation) in unexplained {
            let done = free(vec![operation]);
            others.entry(xid).or_default().push(done);
        }
        inner.tally.outside = others.len() as u64;
        let has_more = inner.tally.outside > 0 || inner.tally.opaque > 0;
        inner.write_header(has_more);
        for (xid, statements) in others {
            // Nobody knows when it was.
            let mut lines = TxnLines::default();
            write_txn(&mut lines, &format!("outside-{xid}"), &statements, Outcome::Committed, (0, None));
            inner.write(lines.bytes());
        }
        if is_whole {
            inner.write(RECORDING_END);
        }
        if let Output::Stream(stream) = &mut inner.output {
            stream.flush()?;
        }
        match inner.failure.take() {
            Some(error) => Err(error),
            None => Ok(inner.n_bytes),
        }
    }

    /// The lines so far, if everybody who was read from came through the proxy: how many bytes they have, and lines
    /// with initial values that were not sure yet. Nobody may be in a transaction.
    pub(crate) fn so_far(&self) -> Option<(u64, Vec<u8>)> {
        let inner = self.lock();
        let initial = inner.presumed()?;
        Some((inner.n_bytes, initial_line(&initial).unwrap_or_default()))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn write(&mut self, bytes: &[u8]) {
        if self.failure.is_some() || bytes.is_empty() {
            return;
        }
        let result = match &mut self.output {
            Output::File(file) => file.write_all(bytes),
            Output::Stream(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        };
        self.n_bytes += bytes.len() as u64;
        if let Err(error) = result {
            self.failure = Some(error);
        }
    }

    /// The first line. If another level was seen and the output is a file, it is written again over itself.
    fn write_header(&mut self, has_changed: bool) {
        if self.is_begun && !has_changed {
            return;
        }
        let levels = self.tally.levels.keys().cloned().collect::<Vec<String>>().join(",");
        let origin = match &self.origin {
            Origin::Record => {
                serde_json::json!({ "database": self.database, "isolation": levels, "made_by": "isoscope record" })
            }
            Origin::Serve { origin, opaque, .. } => {
                let mut origin = origin.clone();
                let is_final = !matches!(self.output, Output::Stream(_));
                if self.tally.opaque > 0 {
                    origin["opaque"] = self.tally.opaque.into();
                } else if *opaque == Opaque::Allowed && !is_final {
                    // There is no second chance to say it.
                    origin["opaque"] = true.into();
                }
                origin
            }
        };
        let header = RecordingHeader {
            initial: Datum::Null,
            init: Vec::new(),
            sessions: Vec::new(),
            values: WrittenValues::Any,
            database: self.promising(),
            origin: &origin.to_string(),
        };
        let mut line = header.line();
        line.pop();
        if self.header_length == 0 {
            self.header_length = line.len() + HEADER_ROOM;
        }
        line.resize(self.header_length.max(line.len()), b' ');
        line.push(b'\n');
        if !self.is_begun {
            self.is_begun = true;
            self.write(&line);
        } else if let Output::File(file) = &mut self.output
            && line.len() == self.header_length + 1
            && let Err(error) = file.write_all_at(&line, 0)
        {
            self.failure = Some(error);
        }
    }

    /// The database whose promise the history should keep. Whoever writes past the proxy has a level that nobody knows, so
    /// nothing is said then; and neither, where the first line cannot be written again, or where nobody has said a level yet.
    fn promising(&self) -> Option<RecordedDatabase> {
        match &self.origin {
            Origin::Serve { level, .. } => Some(RecordedDatabase {
                name: "store".to_owned(),
                version: None,
                isolations: vec![(*level).to_owned()],
                settings: Vec::new(),
            }),
            Origin::Record
                if self.tally.outside > 0
                    || self.tally.levels.is_empty()
                    || matches!(self.output, Output::Stream(_)) =>
            {
                None
            }
            Origin::Record => Some(RecordedDatabase {
                name: "postgres".to_owned(),
                version: self.database.split(' ').nth(1).map(str::to_owned),
                isolations: self.tally.levels.keys().cloned().collect(),
                settings: Vec::new(),
            }),
        }
    }

    /// Notes what was seen and written; gives initial values that are known now.
    fn note(&mut self, statements: &[Done]) -> Vec<(String, Datum)> {
        let mut initial = Vec::new();
        if let Some(known) = &mut self.known {
            for operation in statements.iter().flat_map(|it| &it.operations) {
                for key in operation.keys() {
                    initial.extend(known.remove_entry(key));
                }
            }
            return initial;
        }
        let before = self.before.clone().unwrap_or_default();
        let mut see = |keys: &mut HashMap<String, Key>, seen: &Seen| {
            if seen.value == Datum::Null {
                return;
            }
            let key = keys.entry(seen.key.clone()).or_default();
            if key.initial.is_none() && seen.writer.is_some_and(|it| before.has(it)) {
                key.initial = Some(seen.value.clone());
                initial.push((seen.key.clone(), seen.value.clone()));
            } else if key.initial.as_ref() != Some(&seen.value) && !key.written.contains(&hash(&seen.value)) {
                let open = (seen.writer, seen.value.clone());
                if !key.open.contains(&open) {
                    key.open.push(open);
                }
            }
        };
        let write = |keys: &mut HashMap<String, Key>, key: &str, value: &Datum| {
            keys.entry(key.to_owned()).or_default().written.insert(hash(value));
        };
        for Touched { key, stamp, old } in statements.iter().flat_map(|it| &it.before) {
            let first = &mut self.keys.entry(key.clone()).or_default().first;
            if first.as_ref().is_none_or(|it| *stamp < it.0) {
                *first = Some((*stamp, old.clone()));
            }
        }
        for operation in statements.iter().flat_map(|it| &it.operations) {
            match operation {
                Operation::Read(seen) => see(&mut self.keys, seen),
                Operation::Scan { rows, .. } => rows.iter().for_each(|it| see(&mut self.keys, it)),
                Operation::Write { key, value } => write(&mut self.keys, key, value),
                Operation::Update { key, old, new } => {
                    see(&mut self.keys, &Seen { key: key.clone(), value: old.clone(), writer: None });
                    write(&mut self.keys, key, new);
                }
            }
        }
        initial
    }

    fn write_initial(&mut self, initial: &[(String, Datum)]) {
        if let Some(line) = initial_line(initial) {
            self.write(&line);
        }
    }

    /// The initial values that [`Self::resolve`] would find now; none if it would find that others wrote something.
    fn presumed(&self) -> Option<Vec<(String, Datum)>> {
        let mut found = Vec::new();
        let mut keys: Vec<(&String, &Key)> = self.keys.iter().collect();
        keys.sort_by_key(|it| it.0);
        for (name, key) in keys {
            let first = key.first.as_ref().map(|it| &it.1).filter(|it| **it != Datum::Null);
            let mut initial = key.initial.as_ref().or(first);
            for (writer, value) in key.open.iter().filter(|it| !key.written.contains(&hash(&it.1))) {
                if initial.is_none() && writer.is_none() {
                    initial = Some(value);
                } else if initial != Some(value) {
                    return None;
                }
            }
            if key.initial.is_none() {
                found.extend(initial.map(|it| (name.clone(), it.clone())));
            }
        }
        Some(found)
    }

    /// Who wrote the values of which that is not known: the initial state, or somebody outside.
    fn resolve(&mut self) -> (Vec<(String, Datum)>, Vec<Unexplained>) {
        let (mut initial, mut unexplained) = (Vec::new(), Vec::new());
        let mut keys: Vec<(&String, &mut Key)> = self.keys.iter_mut().collect();
        keys.sort_by(|a, b| a.0.cmp(b.0));
        for (name, key) in keys {
            if let (None, Some((_, value))) = (&key.initial, &key.first)
                && *value != Datum::Null
            {
                initial.push((name.clone(), value.clone()));
                key.initial = Some(value.clone());
            }
            for (writer, value) in std::mem::take(&mut key.open) {
                if key.written.contains(&hash(&value)) || key.initial.as_ref() == Some(&value) {
                    continue;
                }
                match writer {
                    None if key.initial.is_none() => {
                        initial.push((name.clone(), value.clone()));
                        key.initial = Some(value);
                    }
                    _ => {
                        key.written.insert(hash(&value));
                        let write = Operation::Write { key: name.clone(), value };
                        unexplained.push((u64::from(writer.unwrap_or(0)), write));
                    }
                }
            }
        }
        (initial, unexplained)
    }
}

/// A line with initial values, if there are some.
fn initial_line(initial: &[(String, Datum)]) -> Option<Vec<u8>> {
    let pair = |(key, value): &(String, Datum)| (Datum::text(key.as_str()), value.clone());
    (!initial.is_empty()).then(|| iso_formats::initial_line(&initial.iter().map(pair).collect::<Vec<_>>()))
}

fn hash(value: &Datum) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Writes the line of a transaction; gives how many operations it has.
fn write_txn(
    lines: &mut TxnLines,
    session: &str,
    statements: &[Done],
    outcome: Outcome,
    (begin, end): (i64, Option<i64>),
) -> u64 {
    let mut n_operations = 0;
    lines.begin(session);
    let has_sql = statements.iter().any(|it| it.sql.is_some());
    for done in statements.iter().filter(|it| !it.operations.is_empty()) {
        let is_statement = done.operations.len() > 1 || done.locking == Locking::ForUpdate;
        if has_sql {
            lines.said(done.sql.as_deref().unwrap_or_default());
        }
        if is_statement {
            lines.begin_statement();
        }
        for operation in &done.operations {
            n_operations += write_operation(lines, operation);
        }
        if is_statement {
            lines.end_statement(done.locking);
        }
    }
    lines.end(outcome, begin, end);
    n_operations
}

fn write_operation(lines: &mut TxnLines, operation: &Operation) -> u64 {
    match operation {
        Operation::Read(seen) => lines.read(Name::Text(&seen.key), seen.value.as_name()),
        Operation::Write { key, value } => lines.write(Name::Text(key), value.as_name()),
        Operation::Update { key, old, new } => {
            lines.update(Name::Text(key), old.as_name(), new.as_name());
            return 2;
        }
        Operation::Scan { table, predicate, rows } => {
            lines.scan(table, predicate, rows.iter().map(|it| (Name::Text(&it.key), it.value.as_name())));
            return rows.len() as u64;
        }
    }
    1
}

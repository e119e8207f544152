//! What happened: every transaction that has ended, with its operations, and how it came to be.

use crate::past::{KeyIdx, Past, Pos, ValueIdx};
use crate::writing::{Writing, WritingScans};
use crate::{Condition, Rows, Values};
use iso_evidence::{Event, Schedule, Source, Witness};
use iso_history::{History, Locking, OpId, Outcome, PieceKind, Place, SessionId, Snapshots, TxnId};
use iso_spec::Level;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// An operation that was served.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Recorded {
    /// A read of another transaction's version.
    Read {
        key: KeyIdx,
        value: ValueIdx,
        source: Pos,
    },
    /// A read of what the transaction itself wrote.
    ReadOwn {
        key: KeyIdx,
        value: ValueIdx,
    },
    Write {
        key: KeyIdx,
        value: ValueIdx,
    },
    /// A scan, by its number; its reads are the next so many operations.
    Scan {
        scan: u32,
        n_reads: u32,
    },
    /// The next so many entries are one statement.
    Statement {
        n_ops: u32,
        locking: Locking,
        /// It looked at the log up to here, at levels where statements have snapshots of their own.
        moment: Pos,
        /// What it locked was free here, at levels that lock.
        locked: Pos,
    },
}

impl Recorded {
    /// What it wrote, if it is a write.
    pub(crate) fn written(&self) -> Option<(KeyIdx, ValueIdx)> {
        match *self {
            Self::Write { key, value } => Some((key, value)),
            _ => None,
        }
    }

    /// The row that it reads or writes.
    pub(crate) fn key(&self) -> Option<KeyIdx> {
        match *self {
            Self::Read { key, .. } | Self::ReadOwn { key, .. } | Self::Write { key, .. } => Some(key),
            Self::Scan { .. } | Self::Statement { .. } => None,
        }
    }
}

/// Operations that belong together.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Units<'r> {
    Statement {
        body: &'r [Recorded],
        locking: Locking,
        moment: Pos,
        locked: Pos,
    },
    /// One operation, or one scan with its reads.
    Alone(&'r [Recorded]),
}

impl<'r> Units<'r> {
    /// Its operations.
    pub(crate) fn body(&self) -> &'r [Recorded] {
        match self {
            Units::Statement { body, .. } | Units::Alone(body) => body,
        }
    }
}

/// Takes operations apart.
pub(crate) fn units(mut left: &[Recorded]) -> Vec<Units<'_>> {
    let mut units = Vec::new();
    while let [first, rest @ ..] = left {
        let (unit, next) = match *first {
            Recorded::Statement { n_ops, locking, moment, locked } => {
                let (body, next) = rest.split_at(n_ops as usize);
                (Units::Statement { body, locking, moment, locked }, next)
            }
            Recorded::Scan { n_reads, .. } => {
                let (body, next) = left.split_at(1 + n_reads as usize);
                (Units::Alone(body), next)
            }
            _ => (Units::Alone(&left[..1]), rest),
        };
        units.push(unit);
        left = next;
    }
    units
}

/// What a history has of a transaction, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'r> {
    Begin,
    Op(Recorded),
    Scan(&'r Scanned, &'r [Recorded]),
    End(Locking),
}

/// What a scan asked for.
#[derive(Clone, Debug)]
pub(crate) struct Scanned {
    pub(crate) table: u32,
    pub(crate) rows: Rows,
    pub(crate) condition: Option<Condition>,
    /// Whether it locks what it returns, and says nothing of other rows.
    pub(crate) locking: Locking,
}

/// Everything that transactions that have ended did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    keeping: Keeping,
    txns: Vec<Ended>,
    ops: Vec<Recorded>,
    scans: Vec<Scanned>,
}

/// How much is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Keeping {
    #[default]
    Everything,
    Nothing,
}

/// A transaction that has ended.
#[derive(Clone, Copy, Debug)]
struct Ended {
    session: u32,
    outcome: Outcome,
    /// Its place in the log, if it wrote and committed; else 0.
    pos: Pos,
    /// It has seen the log up to this place, at levels with snapshots.
    snapshot: Pos,
    ops_start: u32,
    /// When it began and ended, at levels that look at it.
    times: Option<(i64, i64)>,
}

impl Record {
    /// One that stays empty.
    pub(crate) fn nothing() -> Self {
        Self { keeping: Keeping::Nothing, ..Self::default() }
    }

    /// Is it one that stays empty?
    pub(crate) fn keeps_nothing(&self) -> bool {
        self.keeping == Keeping::Nothing
    }

    pub(crate) fn add_scan(&mut self, scan: Scanned) -> u32 {
        if self.keeps_nothing() {
            return 0;
        }
        self.scans.push(scan);
        self.scans.len() as u32 - 1
    }

    /// A transaction commits, at a place of the log if it wrote.
    pub(crate) fn commit(
        &mut self,
        session: u32,
        snapshot: Pos,
        pos: Option<Pos>,
        ops: &[Recorded],
        times: Option<(i64, i64)>,
    ) {
        let (ops_start, outcome, pos) = (self.ops.len() as u32, Outcome::Committed, pos.unwrap_or(0));
        self.end(Ended { session, outcome, pos, snapshot, ops_start, times }, ops);
    }

    fn end(&mut self, ended: Ended, ops: &[Recorded]) {
        if self.keeping == Keeping::Everything {
            self.txns.push(ended);
            self.ops.extend_from_slice(ops);
        }
    }

    pub(crate) fn abort(&mut self, session: u32, ops: &[Recorded], times: Option<(i64, i64)>) {
        let ops_start = self.ops.len() as u32;
        self.end(Ended { session, outcome: Outcome::Aborted, pos: 0, snapshot: 0, ops_start, times }, ops);
    }

    pub(crate) fn n_ops(&self) -> usize {
        self.ops.len()
    }

    fn ops_of(&self, txn_idx: usize) -> &[Recorded] {
        let end = self.txns.get(txn_idx + 1).map_or(self.ops.len(), |it| it.ops_start as usize);
        &self.ops[self.txns[txn_idx].ops_start as usize..end]
    }

    /// Calls with each step of a transaction.
    fn walk<'r>(&'r self, txn_idx: usize, call: &mut dyn FnMut(Step<'r>)) {
        for unit in units(self.ops_of(txn_idx)) {
            match unit {
                Units::Alone(body) => self.walk_ops(body, call),
                Units::Statement { body, locking, .. } => {
                    call(Step::Begin);
                    self.walk_ops(body, call);
                    call(Step::End(locking));
                }
            }
        }
    }

    fn walk_ops<'r>(&'r self, mut left: &'r [Recorded], call: &mut dyn FnMut(Step<'r>)) {
        while let [first, rest @ ..] = left {
            left = rest;
            if let Recorded::Scan { scan, n_reads } = *first {
                let (reads, rest) = left.split_at(n_reads as usize);
                call(Step::Scan(&self.scans[scan as usize], reads));
                left = rest;
            } else {
                call(Step::Op(*first));
            }
        }
    }

    /// The transactions that have ended, in the order in which they did.
    pub(crate) fn history(&self, past: &Past, sessions: &[Arc<str>], values: Values, level: Level) -> History {
        let mut writing = Writing::new(past, sessions, values, level);
        for (idx, ended) in self.txns.iter().enumerate() {
            writing.builder.begin(SessionId::from_index(ended.session as usize), Place::default());
            self.walk(idx, &mut |step| match step {
                Step::Begin => writing.builder.begin_statement(),
                Step::Op(op) => writing.write_down(op),
                Step::Scan(scan, reads) => scan.expanded(past, reads).for_each(|it| writing.write_down(it)),
                Step::End(locking) => writing.builder.end_statement(locking),
            });
            if let Some((begin, end)) = ended.times {
                writing.builder.times(Some(begin), Some(end));
            }
            writing.builder.end(ended.outcome);
        }
        match writing.builder.finish() {
            Ok(history) => history,
            Err(defects) => unreachable!("transactions are ended and keys are registers: {defects:?}"),
        }
    }

    /// The same transactions, where scans are scans: rows that they did not return are not mentioned. Rows are called
    /// `table/row`, values are as they were written, and a row that is not there is null.
    pub(crate) fn history_with_scans(&self, past: &Past, sessions: &[Arc<str>]) -> History {
        let mut writing = WritingScans::new(past, sessions, &self.scans);
        for (idx, ended) in self.txns.iter().enumerate() {
            writing.builder.begin(SessionId::from_index(ended.session as usize), Place::default());
            self.walk(idx, &mut |step| match step {
                Step::Begin => writing.builder.begin_statement(),
                Step::Op(op) => writing.write_down(op),
                Step::Scan(scan, reads) => writing.scan(scan, reads),
                Step::End(locking) => writing.builder.end_statement(locking),
            });
            if let Some((begin, end)) = ended.times {
                writing.builder.times(Some(begin), Some(end));
            }
            writing.builder.end(ended.outcome);
        }
        match writing.builder.finish() {
            Ok(history) => history,
            Err(defects) => unreachable!("transactions are ended and keys are rows: {defects:?}"),
        }
    }

    /// For each external read of the history, whose version it saw.
    pub(crate) fn sources(&self, past: &Past) -> Vec<Source> {
        self.sources_of(past, |_| true)
    }

    fn sources_of(&self, past: &Past, is_wanted: impl Fn(Outcome) -> bool) -> Vec<Source> {
        let mut writers: FxHashMap<Pos, TxnId> = FxHashMap::default();
        writers.insert(0, TxnId::INITIAL);
        for (idx, ended) in self.txns.iter().enumerate().filter(|it| it.1.pos != 0) {
            writers.insert(ended.pos, TxnId::from_index(idx + 1));
        }
        let (mut n_ops, mut sources) = (0, Vec::new());
        for (idx, ended) in self.txns.iter().enumerate() {
            let mut note = |op: Recorded| {
                if let Recorded::Read { source, .. } = op
                    && is_wanted(ended.outcome)
                {
                    sources.push(Source { read: OpId::from_index(n_ops), writer: writers[&source] });
                }
                n_ops += 1;
            };
            self.walk(idx, &mut |step| match step {
                Step::Op(op) => note(op),
                Step::Scan(scan, reads) => scan.expanded(past, reads).for_each(&mut note),
                Step::Begin | Step::End(_) => {}
            });
        }
        sources
    }

    /// How the history came to be, which shows that the level allows it.
    pub(crate) fn witness(&self, past: &Past, level: Level) -> Witness {
        let is_committed = |txn: TxnId| self.txns[txn.index() - 1].outcome == Outcome::Committed;
        let txns = (1..=self.txns.len()).map(TxnId::from_index).filter(|it| is_committed(*it));
        let schedule = match level {
            Level::PrefixConsistency | Level::SnapshotIsolation | Level::RowSnapshots => {
                Schedule::Events(self.events(txns))
            }
            Level::StatementSnapshots | Level::TransactionSnapshot => Schedule::Pieces(self.pieces(past, level)),
            Level::Serializable | Level::StrictSerializable => {
                let is_commit = |it: Event| match it {
                    Event::Commit(txn) => Some(txn),
                    Event::Snapshot(_) => None,
                };
                Schedule::Order(self.events(txns).into_iter().filter_map(is_commit).collect())
            }
            _ => Schedule::Order(txns.collect()),
        };
        Witness {
            schedule,
            sources: Arc::new(self.sources_of(past, |it| it == Outcome::Committed).into_iter().collect()),
        }
    }

    /// Moments and commits in the order of the log. Who neither locks nor writes commits right after its last moment.
    fn pieces(&self, past: &Past, level: Level) -> Vec<(TxnId, PieceKind)> {
        let snapshots = level.snapshots().unwrap_or(Snapshots::PerStatement);
        let sessions: Vec<Arc<str>> = (0..self.n_sessions()).map(|it| it.to_string().into()).collect();
        let history = self.history(past, &sessions, Values::AsWritten, level);
        let at = self.moments(past);
        let pieces = history.pieces(snapshots);
        let mut order = Vec::new();
        // By session, where its last piece is.
        let mut last: FxHashMap<u32, Pos> = FxHashMap::default();
        for (idx, (txn, kind)) in pieces.txns.iter().zip(&pieces.kinds).enumerate().skip(1) {
            let ended = &self.txns[txn.index() - 1];
            if ended.outcome != Outcome::Committed {
                continue;
            }
            // What was locked stays as it is, and so may have been locked later.
            let earliest = last.get(&ended.session).copied().unwrap_or(0);
            let place = match kind {
                PieceKind::Commit if ended.pos != 0 => (ended.pos, 0),
                PieceKind::Moment(Some(op)) if history.sees_newest(*op) => (at[op.index()].1.max(earliest), 1),
                PieceKind::Moment(Some(op)) if snapshots == Snapshots::PerStatement => {
                    (at[op.index()].0.max(earliest), 1)
                }
                PieceKind::Moment(Some(_)) => (ended.snapshot.max(earliest), 1),
                PieceKind::Moment(None) | PieceKind::Before(_) | PieceKind::Commit => (earliest, 1),
            };
            last.insert(ended.session, place.0);
            order.push(((place, *txn, idx), (*txn, *kind)));
        }
        order.sort_by_key(|it| it.0);
        order.into_iter().map(|it| it.1).collect()
    }

    fn n_sessions(&self) -> usize {
        self.txns.iter().map(|it| it.session as usize + 1).max().unwrap_or(0)
    }

    /// For each operation of the history, where its statement looked at the log, and where it locked.
    fn moments(&self, past: &Past) -> Vec<(Pos, Pos)> {
        let mut at = Vec::new();
        for idx in 0..self.txns.len() {
            for unit in units(self.ops_of(idx)) {
                let (body, places) = match unit {
                    Units::Alone(body) => (body, (0, 0)),
                    Units::Statement { body, moment, locked, .. } => (body, (moment, locked)),
                };
                self.walk_ops(body, &mut |step| match step {
                    Step::Scan(scan, reads) => at.extend(scan.expanded(past, reads).map(|_| places)),
                    _ => at.push(places),
                });
            }
        }
        at
    }

    /// Snapshots and commits in the order of the log. Who only reads commits right after its snapshot.
    fn events(&self, txns: impl Iterator<Item = TxnId>) -> Vec<Event> {
        let mut events = Vec::new();
        for txn in txns {
            let Ended { pos, snapshot, .. } = self.txns[txn.index() - 1];
            events.push(((snapshot, 1, txn), Event::Snapshot(txn)));
            let at = if pos == 0 { (snapshot, 1, txn) } else { (pos, 0, txn) };
            events.push((at, Event::Commit(txn)));
        }
        // A snapshot was pushed before its commit, and the sort is stable.
        events.sort_by_key(|it| it.0);
        events.into_iter().map(|it| it.1).collect()
    }
}

impl Scanned {
    /// Is a row with this value an answer?
    pub(crate) fn returns(&self, past: &Past, key: KeyIdx, value: ValueIdx) -> bool {
        let row = &past.key(key).key.row;
        past.value(value).is_some_and(|it| self.condition.as_ref().is_none_or(|condition| condition.matches(row, it)))
    }

    /// The reads of a scan, and those of rows that were not there yet.
    fn expanded(&self, past: &Past, reads: &[Recorded]) -> impl Iterator<Item = Recorded> {
        let known: FxHashSet<KeyIdx> = reads.iter().filter_map(Recorded::key).collect();
        let all = if self.locking == Locking::Free { past.rows(self.table, &self.rows) } else { Vec::new() };
        let later = all.into_iter().filter(move |it| !known.contains(it));
        let missed = later.map(|key| Recorded::Read { key, value: past.key(key).initial(), source: 0 });
        reads.iter().copied().chain(missed)
    }
}

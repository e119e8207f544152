//! The observed run as the search sees it: transactions numbered in their order, reads with their writers.
//!
//! Only committed transactions are there. A read of a key that the transaction wrote before is not a read here. Keys that
//! only the initial state writes are sliced away: their reads stay only as places where a transaction may be cut.

use crate::Refused;
use crate::early::EarlyCut;
use iso_evidence::{Event, Schedule, Witness};
use iso_history::{Facts, Op, OpId, TxnId};
use rustc_hash::FxHashMap;

/// A transaction by its place in the order of the run.
pub(crate) type TxnIdx = u32;
/// A key by its place among those that are written.
pub(crate) type Key = u32;

/// The writer of what was there before.
pub(crate) const INITIAL: TxnIdx = u32::MAX;

/// A read of what another transaction wrote.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    /// Nothing if only the initial state writes the key.
    pub(crate) key: Option<Key>,
    pub(crate) source: TxnIdx,
    pub(crate) op: OpId,
    /// Which statement of its transaction it is part of: statements stand in this order.
    pub(crate) statement: OpId,
    pub(crate) sees: Sees,
}

/// What a read looks at, at levels of databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sees {
    /// A snapshot.
    Snapshot,
    /// The newest version, which it locks.
    Newest,
    /// That there is no row, which it makes.
    NoRow,
}

/// A transaction's writes of one key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) key: Key,
    /// The first of them.
    pub(crate) op: OpId,
}

/// The observed run, or its first transactions.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    /// By transaction, which one it is in the history.
    pub(crate) ids: Vec<TxnId>,
    /// By transaction, its session and how many of its session come before it.
    pub(crate) places: Vec<(u32, u32)>,
    pub(crate) sessions: Vec<Vec<TxnIdx>>,
    /// By transaction, in program order.
    pub(crate) reads: Vec<Vec<Read>>,
    /// By transaction, by key.
    pub(crate) writes: Vec<Vec<Write>>,
    /// By key, in the order of the run.
    pub(crate) writers: Vec<Vec<TxnIdx>>,
    /// By transaction and session, how many transactions of the session happen before it, itself included.
    clocks: Vec<u32>,
    /// Transactions that are cut although others may see them, ascending.
    pub(crate) early: Vec<EarlyCut>,
}

impl Trace {
    /// The run whose sources and order the witness tells.
    pub(crate) fn new(facts: &Facts<'_>, witness: &Witness) -> Result<Self, Refused> {
        let history = facts.history();
        let ids = order(&witness.schedule);
        let mut numbers = vec![None; history.n_txns() + 1];
        for (txn, id) in (0..).zip(&ids) {
            numbers[id.index()] = Some(txn);
        }
        let mut trace = Self {
            places: Vec::new(),
            sessions: vec![Vec::new(); history.n_sessions()],
            reads: Vec::new(),
            writes: Vec::new(),
            writers: Vec::new(),
            clocks: Vec::new(),
            early: Vec::new(),
            ids,
        };
        let mut keys = FxHashMap::default();
        for idx in 0..trace.ids.len() {
            trace.take_writes(facts, idx, &mut keys)?;
        }
        for idx in 0..trace.ids.len() {
            trace.take_reads(facts, witness, idx, &keys, &numbers)?;
            trace.take_place(facts, idx)?;
        }
        trace.clocks = trace.happened_before();
        Ok(trace)
    }

    fn take_writes(&mut self, facts: &Facts<'_>, idx: usize, keys: &mut FxHashMap<u32, Key>) -> Result<(), Refused> {
        let history = facts.history();
        let id = self.ids[idx];
        let mut writes: Vec<Write> = Vec::new();
        for op in history.ops(id) {
            let key = match history.op(op) {
                Op::Write { key, .. } => key,
                Op::Read { .. } | Op::Omit { .. } => continue,
                Op::Append { .. } | Op::ReadList { .. } => return Err(Refused::List(op)),
            };
            let n_keys = self.writers.len();
            let key = *keys.entry(key.raw()).or_insert(n_keys as Key);
            if key as usize == n_keys {
                self.writers.push(Vec::new());
            }
            if !writes.iter().any(|it| it.key == key) {
                writes.push(Write { key, op });
                self.writers[key as usize].push(idx as TxnIdx);
            }
        }
        writes.sort_unstable_by_key(|it| it.key);
        self.writes.push(writes);
        Ok(())
    }

    fn take_reads(
        &mut self,
        facts: &Facts<'_>,
        witness: &Witness,
        idx: usize,
        keys: &FxHashMap<u32, Key>,
        numbers: &[Option<TxnIdx>],
    ) -> Result<(), Refused> {
        let id = self.ids[idx];
        let mut reads = Vec::new();
        for read in &facts.reads()[facts.reads_of(id)] {
            let writer = witness.sources.writer_of(read.op).ok_or(Refused::NoSource(read.op))?;
            let source = if writer.is_initial() { Some(INITIAL) } else { numbers[writer.index()] };
            let source = source.ok_or(Refused::NoSource(read.op))?;
            if source != INITIAL && source as usize >= idx {
                return Err(Refused::WrongOrder(id));
            }
            let history = facts.history();
            let statement = history.statement_of(read.op).ops().next().unwrap_or(read.op);
            let sees = match (history.sees_newest(read.op), history.is_insert(read.op)) {
                (_, true) => Sees::NoRow,
                (true, false) => Sees::Newest,
                (false, false) => Sees::Snapshot,
            };
            let key = keys.get(&read.key.raw()).copied();
            reads.push(Read { key, source, op: read.op, statement, sees });
        }
        self.reads.push(reads);
        Ok(())
    }

    fn take_place(&mut self, facts: &Facts<'_>, idx: usize) -> Result<(), Refused> {
        let id = self.ids[idx];
        let session = facts.history().session_of(id).map_or(0, iso_history::SessionId::index);
        let own = &mut self.sessions[session];
        if own.last().is_some_and(|last| self.ids[*last as usize] > id) {
            return Err(Refused::WrongOrder(id));
        }
        self.places.push((session as u32, own.len() as u32));
        own.push(idx as TxnIdx);
        Ok(())
    }

    fn happened_before(&self) -> Vec<u32> {
        let n_sessions = self.sessions.len();
        let mut clocks = vec![0; self.n_txns() * n_sessions];
        for txn in self.txns() {
            let (before, own) = clocks.split_at_mut(txn as usize * n_sessions);
            let sources = self.reads[txn as usize].iter().map(|it| it.source).filter(|it| *it != INITIAL);
            for cause in sources.chain(self.before_in_session(txn)) {
                let theirs = &before[cause as usize * n_sessions..][..n_sessions];
                for (mine, theirs) in own.iter_mut().zip(theirs) {
                    *mine = (*mine).max(*theirs);
                }
            }
            let (session, nth) = self.places[txn as usize];
            own[session as usize] = nth + 1;
        }
        clocks
    }

    /// The first transactions of the run, as a run of its own.
    pub(crate) fn prefix(&self, n_txns: usize) -> Self {
        let shorter =
            |txns: &Vec<TxnIdx>| txns.iter().copied().filter(|it| (*it as usize) < n_txns).collect::<Vec<_>>();
        let mut trace = Self {
            ids: self.ids[..n_txns].to_vec(),
            places: self.places[..n_txns].to_vec(),
            sessions: self.sessions.iter().map(shorter).collect(),
            reads: self.reads[..n_txns].to_vec(),
            writes: self.writes[..n_txns].to_vec(),
            writers: self.writers.iter().map(shorter).collect(),
            clocks: self.clocks[..n_txns * self.sessions.len()].to_vec(),
            early: self.early.clone(),
        };
        for read in trace.reads.iter_mut().flatten() {
            read.key = read.key.filter(|it| !trace.writers[*it as usize].is_empty());
        }
        trace
    }

    /// The same run with these transactions only, in this order, in which everybody comes after whom it read from.
    pub(crate) fn renumbered(&self, order: &[TxnIdx]) -> Self {
        let mut numbers = vec![INITIAL; self.n_txns()];
        for (number, txn) in (0..).zip(order) {
            numbers[*txn as usize] = number;
        }
        let number = |it: TxnIdx| if it == INITIAL { INITIAL } else { numbers[it as usize] };
        let mut trace = Self {
            ids: order.iter().map(|it| self.ids[*it as usize]).collect(),
            places: order.iter().map(|it| self.places[*it as usize]).collect(),
            sessions: self.sessions.iter().map(|it| it.iter().map(|it| number(*it)).collect()).collect(),
            reads: order.iter().map(|it| self.reads[*it as usize].clone()).collect(),
            writes: order.iter().map(|it| self.writes[*it as usize].clone()).collect(),
            writers: vec![Vec::new(); self.writers.len()],
            clocks: Vec::new(),
            early: self.early.clone(),
        };
        for session in &mut trace.sessions {
            // Whoever is gone was at the end.
            session.retain(|it| *it != INITIAL);
        }
        for (number, writes) in (0..).zip(&trace.writes) {
            for write in writes {
                trace.writers[write.key as usize].push(number);
            }
        }
        for read in trace.reads.iter_mut().flatten() {
            read.source = number(read.source);
            read.key = read.key.filter(|it| !trace.writers[*it as usize].is_empty());
        }
        trace.clocks = trace.happened_before();
        trace
    }

    pub(crate) fn n_txns(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn txns(&self) -> std::ops::Range<TxnIdx> {
        0..self.ids.len() as TxnIdx
    }

    pub(crate) fn before_in_session(&self, txn: TxnIdx) -> Option<TxnIdx> {
        let (session, nth) = self.places[txn as usize];
        nth.checked_sub(1).map(|it| self.sessions[session as usize][it as usize])
    }

    pub(crate) fn after_in_session(&self, txn: TxnIdx) -> Option<TxnIdx> {
        let (session, nth) = self.places[txn as usize];
        self.sessions[session as usize].get(nth as usize + 1).copied()
    }

    pub(crate) fn is_session_ordered(&self, earlier: TxnIdx, later: TxnIdx) -> bool {
        let (left, right) = (self.places[earlier as usize], self.places[later as usize]);
        left.0 == right.0 && left.1 < right.1
    }

    /// Did the first happen before the second in the observed run, by session order and reads? The initial state
    /// happens before all, and nothing before itself.
    pub(crate) fn happens_before(&self, earlier: TxnIdx, later: TxnIdx) -> bool {
        if earlier == INITIAL || later == INITIAL || earlier == later {
            return earlier == INITIAL && later != INITIAL;
        }
        let (session, nth) = self.places[earlier as usize];
        self.clocks[later as usize * self.sessions.len() + session as usize] > nth
    }

    /// Is it the same, or did it happen before?
    pub(crate) fn is_in_past(&self, earlier: TxnIdx, later: TxnIdx) -> bool {
        earlier == later || self.happens_before(earlier, later)
    }

    pub(crate) fn write(&self, txn: TxnIdx, key: Key) -> Option<Write> {
        let writes = &self.writes[txn as usize];
        writes.binary_search_by_key(&key, |it| it.key).ok().map(|at| writes[at])
    }
}

fn order(schedule: &Schedule) -> Vec<TxnId> {
    match schedule {
        Schedule::Order(txns) => txns.clone(),
        Schedule::Events(events) => events
            .iter()
            .filter_map(|it| match it {
                Event::Commit(txn) => Some(*txn),
                Event::Snapshot(_) => None,
            })
            .collect(),
        Schedule::Pieces(_) | Schedule::Execution(_) => Vec::new(),
    }
}

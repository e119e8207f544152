//! From a history and what is forbidden in it to its surroundings: who is near, and everything else in numbers.
//!
//! Neighbours are offered in the order of how much they say, and taken until there is no room. Cost: a few passes over
//! the history, and sorting its transactions by time if they have times.

use crate::build::transaction_in;
use crate::document::{Excerpt, LevelReport, Transaction};
use crate::findings::{Finding, findings_of};
use crate::surroundings::{Course, CourseUnit, KeySummary, Nearby, Neighbour, SessionSummary, Surroundings};
use crate::value::{Operation, Value, held, key_words};
use crate::words::{shortened, width};
use iso_history::{History, KeyId, Op, OpId, Outcome, SessionId, TxnId, ValueId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The letters of all neighbours of all cores together. A page has them twice: for people, and in its JSON.
const MAX_LETTERS: usize = 64_000;
/// The letters of a neighbour besides its operations and notes, roughly.
const LETTERS_AROUND: usize = 160;
/// The letters around an operation: in JSON it has members.
const LETTERS_AROUND_OP: usize = 18;
/// Neighbours in the session, to each side.
const REACH: usize = 4;
/// Histories up to this size are neighbourhood as a whole.
const MAX_BROWSED: usize = 500;
/// Neighbours that the same operation of the core leads to.
const MAX_ALIKE: usize = 3;
const MAX_OPS: usize = 12;
const MAX_OP: usize = 60;
const MAX_VALUE: usize = 40;
const MAX_SESSIONS: usize = 40;
const MAX_KEYS: usize = 20;
const MAX_STRETCHES: usize = 120;
const MAX_MARKS: usize = 200;

impl Surroundings {
    /// What stands around the violated levels' cores; none if they have all transactions of the history.
    pub fn new(history: &History, levels: &[LevelReport]) -> Option<Self> {
        let findings = findings_of(levels);
        let n_txns = history.n_txns() - 1;
        if n_txns == 0 || findings.iter().any(|it| it.core.transactions.len() == n_txns) {
            return None;
        }
        let scan = Scan::new(history, &findings);
        let max_letters = MAX_LETTERS / findings.len().max(1);
        let near = findings.iter().zip(&scan.cores).map(|(it, core)| Nearby {
            levels: it.levels.iter().map(|it| it.short.clone()).collect(),
            transactions: Neighbourhood::new(&scan, core).neighbours(max_letters),
        });
        let near = near.collect();
        let (sessions, omitted_sessions) = scan.sessions();
        let (keys, omitted_keys) = scan.keys();
        Some(Self { near, sessions, omitted_sessions, keys, omitted_keys, course: scan.course() })
    }
}

/// A core, by ids of the whole history.
struct Place {
    txns: BTreeSet<TxnId>,
    keys: BTreeSet<KeyId>,
}

impl Place {
    fn new(history: &History, core: &Excerpt) -> Self {
        let txns: BTreeSet<TxnId> = core.transactions.iter().filter_map(|it| find(history, it)).collect();
        let touched: BTreeSet<KeyId> = txns.iter().flat_map(|it| keys_of(history, *it)).collect();
        let is_meant = |it: &KeyId| {
            let key = Value::from(history.key_name(*it));
            core.initial.iter().any(|it| it.key == key)
        };
        Self { keys: touched.into_iter().filter(is_meant).collect(), txns }
    }
}

/// The transaction of the whole history.
fn find(history: &History, txn: &Transaction) -> Option<TxnId> {
    let session = history.sessions().find(|it| history.session_name(*it) == txn.session)?;
    history.session_txns(session).get(txn.nth.checked_sub(1)?).copied()
}

fn keys_of(history: &History, txn: TxnId) -> BTreeSet<KeyId> {
    history.ops(txn).map(|it| history.op(it).key()).collect()
}

/// What one look at the whole history tells.
struct Scan<'h> {
    history: &'h History,
    cores: Vec<Place>,
    by: CourseUnit,
    /// All transactions in the order of the course.
    order: Vec<TxnId>,
    /// The place of each transaction in it.
    ranks: Vec<u32>,
    /// Reads and writes of each key.
    counts: Vec<(u64, u64)>,
    /// Operations on keys of the cores, in the order of the course.
    touches: BTreeMap<KeyId, Vec<(TxnId, OpId)>>,
}

impl<'h> Scan<'h> {
    fn new(history: &'h History, findings: &[Finding<'_>]) -> Self {
        let cores: Vec<Place> = findings.iter().map(|it| Place::new(history, it.core)).collect();
        let mut order: Vec<TxnId> = history.txns().collect();
        let has_times = order.iter().all(|it| time(history, *it).is_some());
        if has_times {
            order.sort_by_key(|it| time(history, *it));
        }
        let mut ranks = vec![0; history.n_txns()];
        for (rank, txn) in order.iter().enumerate() {
            ranks[txn.index()] = rank as u32;
        }
        let by = if has_times { CourseUnit::Time } else { CourseUnit::Position };
        let keys = cores.iter().flat_map(|it| it.keys.iter().copied());
        let touches = keys.map(|it| (it, Vec::new())).collect();
        let counts = vec![(0, 0); history.n_keys()];
        let mut scan = Self { history, cores, by, order, ranks, counts, touches };
        scan.count();
        scan
    }

    fn count(&mut self) {
        for txn in &self.order {
            for op in self.history.ops(*txn) {
                let of = self.history.op(op);
                let counts = &mut self.counts[of.key().index()];
                if of.is_write() {
                    counts.1 += 1;
                } else {
                    counts.0 += 1;
                }
                if let Some(touches) = self.touches.get_mut(&of.key()) {
                    touches.push((*txn, op));
                }
            }
        }
    }

    fn rank(&self, txn: TxnId) -> usize {
        self.ranks[txn.index()] as usize
    }

    fn marked(&self) -> BTreeSet<TxnId> {
        self.cores.iter().flat_map(|it| it.txns.iter().copied()).collect()
    }

    /// The sessions that are listed, and how many are not.
    fn sessions(&self) -> (Vec<SessionSummary>, usize) {
        let of_parts: BTreeSet<SessionId> =
            self.marked().iter().filter_map(|it| self.history.session_of(*it)).collect();
        let mut all: Vec<SessionId> = self.history.sessions().collect();
        all.sort_by_key(|it| (!of_parts.contains(it), Reverse(self.history.session_txns(*it).len()), *it));
        let omitted = all.len().saturating_sub(MAX_SESSIONS);
        all.truncate(MAX_SESSIONS);
        all.sort_unstable();
        (all.into_iter().map(|it| session(self.history, it)).collect(), omitted)
    }

    /// The keys that are listed, and how many are not.
    fn keys(&self) -> (Vec<KeySummary>, usize) {
        let busy = |it: &KeyId| Reverse(self.counts[it.index()].0 + self.counts[it.index()].1);
        let mut all: Vec<KeyId> = self.history.keys().collect();
        let omitted = all.len().saturating_sub(MAX_KEYS);
        if omitted > 0 {
            all.select_nth_unstable_by_key(MAX_KEYS, |it| (!self.touches.contains_key(it), busy(it), *it));
            all.truncate(MAX_KEYS);
        }
        all.sort_by_key(|it| (busy(it), *it));
        let summary = |it: KeyId| {
            let (reads, writes) = self.counts[it.index()];
            KeySummary { key: brief(self.history.key_name(it).into()), reads, writes }
        };
        (all.into_iter().map(summary).collect(), omitted)
    }

    fn course(&self) -> Course {
        let n_stretches = self.order.len().min(MAX_STRETCHES);
        let at = |txn: TxnId| match self.by {
            CourseUnit::Time => time(self.history, txn).unwrap_or(0),
            CourseUnit::Position => i64::from(self.ranks[txn.index()]),
        };
        let (Some(first), Some(last)) = (self.order.first(), self.order.last()) else { return Course::default() };
        let (from, to) = (at(*first), at(*last));
        let length = i128::from(to) - i128::from(from) + 1;
        let stretch = |txn: TxnId| {
            let passed = i128::from(at(txn)) - i128::from(from);
            usize::try_from(passed * n_stretches as i128 / length).unwrap_or(0)
        };
        let mut course = Course {
            by: self.by,
            from,
            to,
            committed: vec![0; n_stretches],
            others: vec![0; n_stretches],
            marks: vec![],
        };
        for txn in &self.order {
            let is_committed = self.history.outcome(*txn) == Outcome::Committed;
            let counts = if is_committed { &mut course.committed } else { &mut course.others };
            counts[stretch(*txn)] += 1;
        }
        let marked = self.marked().into_iter().take(MAX_MARKS);
        course.marks = marked.map(|it| (self.history.label(it), stretch(it))).collect();
        course
    }
}

/// When a transaction began, or ended if nobody knows that.
fn time(history: &History, txn: TxnId) -> Option<i64> {
    history.begin(txn).or_else(|| history.end(txn))
}

fn session(history: &History, session: SessionId) -> SessionSummary {
    let txns = history.session_txns(session);
    let count = |outcome| txns.iter().filter(|it| history.outcome(**it) == outcome).count() as u64;
    let place = |txn: Option<&TxnId>| crate::build::place_of(history, *txn?);
    SessionSummary {
        name: history.session_name(session).to_owned(),
        committed: count(Outcome::Committed),
        aborted: count(Outcome::Aborted),
        unknown: count(Outcome::Indeterminate),
        operations: txns.iter().map(|it| history.ops(*it).len() as u64).sum(),
        first: place(txns.first()),
        last: place(txns.last()),
    }
}

/// Who is near one core.
struct Neighbourhood<'s, 'h> {
    scan: &'s Scan<'h>,
    core: &'s Place,
    /// Whoever says most comes first.
    offered: Vec<TxnId>,
    notes: BTreeMap<TxnId, Vec<String>>,
}

impl<'s, 'h> Neighbourhood<'s, 'h> {
    fn new(scan: &'s Scan<'h>, core: &'s Place) -> Self {
        let offered = core.txns.iter().copied().collect();
        let mut hood = Self { scan, core, offered, notes: BTreeMap::new() };
        hood.offer_exchanged(Exchange::Sources);
        hood.offer_session(1);
        hood.offer_writers();
        hood.offer_exchanged(Exchange::Readers);
        (2..=REACH).for_each(|it| hood.offer_session(it));
        if scan.order.len() <= MAX_BROWSED {
            hood.offered.extend(&scan.order);
        }
        hood
    }

    fn offer(&mut self, txn: TxnId, note: String) {
        self.offered.push(txn);
        let notes = self.notes.entry(txn).or_default();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// Those so far before and after in the session.
    fn offer_session(&mut self, distance: usize) {
        let history = self.scan.history;
        for txn in &self.core.txns {
            let Some(session) = history.session_of(*txn) else { continue };
            let (txns, nth) = (history.session_txns(session), history.nth_in_session(*txn));
            let before = nth.checked_sub(distance).and_then(|it| txns.get(it));
            self.offered.extend(before.into_iter().chain(txns.get(nth + distance)));
        }
    }

    /// Operations of the core's transactions on the core's keys.
    fn operations(&self) -> Vec<(TxnId, Op<'h>)> {
        let history = self.scan.history;
        let all = self.core.txns.iter().flat_map(|txn| history.ops(*txn).map(|op| (*txn, history.op(op))));
        all.filter(|it| self.core.keys.contains(&it.1.key())).collect()
    }

    /// Who wrote what the core reads, or read what it writes.
    fn offer_exchanged(&mut self, exchange: Exchange) {
        let history = self.scan.history;
        for (own, op) in self.operations().into_iter().filter(|it| it.1.is_write() == (exchange == Exchange::Readers)) {
            let Some(value) = newest(op) else { continue };
            let touches = &self.scan.touches[&op.key()];
            let is_other = |it: &&(TxnId, OpId)| {
                let other = history.op(it.1);
                it.0 != own && other.is_write() != op.is_write() && newest(other) == Some(value)
            };
            let others: Vec<TxnId> = touches.iter().filter(is_other).map(|it| it.0).take(MAX_ALIKE).collect();
            let what = held(&history.key_name(op.key()).into(), &history.value(value).to_string());
            let (did, does) = if op.is_write() { ("read", "wrote") } else { ("wrote", "read") };
            let note = format!("{did} {}, which {} {does}", shortened(&what, MAX_OP), history.label(own));
            for other in others {
                self.offer(other, note.clone());
            }
        }
    }

    /// Who wrote the same keys next, and last before.
    fn offer_writers(&mut self) {
        let history = self.scan.history;
        let own: BTreeSet<(TxnId, KeyId)> = self.operations().iter().map(|it| (it.0, it.1.key())).collect();
        for (own, key) in own {
            let writes: Vec<TxnId> =
                self.scan.touches[&key].iter().filter(|it| history.op(it.1).is_write()).map(|it| it.0).collect();
            let rank = self.scan.rank(own);
            let n_before = writes.partition_point(|it| self.scan.rank(*it) < rank);
            let before = writes[..n_before].last().copied();
            let after = writes[n_before..].iter().find(|it| **it != own).copied();
            let name = shortened(&key_words(&history.key_name(key).into()), MAX_OP);
            let sides = [(before, "the last to write", "before"), (after, "the next to write", "after")];
            for (writer, which, side) in sides {
                if let Some(writer) = writer {
                    self.offer(writer, format!("{which} {name} {side} {}", history.label(own)));
                }
            }
        }
    }

    /// As many as there is room for, in the order of the course.
    fn neighbours(mut self, max_letters: usize) -> Vec<Neighbour> {
        let mut taken: BTreeMap<usize, Neighbour> = BTreeMap::new();
        let mut n_letters = 0;
        for txn in std::mem::take(&mut self.offered) {
            let rank = self.scan.rank(txn);
            if taken.contains_key(&rank) {
                continue;
            }
            let neighbour = self.neighbour(txn);
            n_letters += letters(&neighbour);
            if n_letters > max_letters {
                break;
            }
            taken.insert(rank, neighbour);
        }
        taken.into_values().collect()
    }

    fn neighbour(&self, txn: TxnId) -> Neighbour {
        let history = self.scan.history;
        let mut ops: Vec<OpId> = history.ops(txn).collect();
        let n_ops = ops.len();
        ops.sort_by_key(|it| !self.core.keys.contains(&history.op(*it).key()));
        ops.truncate(MAX_OPS);
        ops.sort_unstable();
        let ops = ops.into_iter().map(|it| brief_op(Operation::new(history, it))).collect();
        let mut transaction = transaction_in(history, txn, ops);
        transaction.times = Some((history.begin(txn), history.end(txn))).filter(|it| *it != (None, None));
        Neighbour {
            transaction,
            omitted_ops: n_ops.saturating_sub(MAX_OPS),
            position: self.scan.rank(txn),
            is_in_core: self.core.txns.contains(&txn),
            notes: self.notes.get(&txn).map(|it| it.iter().take(MAX_ALIKE).cloned().collect()).unwrap_or_default(),
        }
    }
}

/// Who exchanged values with a core.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exchange {
    /// Those whose values the core reads.
    Sources,
    /// Those that read values of the core.
    Readers,
}

/// The value that an operation is about: of a list, its last element.
fn newest(op: Op<'_>) -> Option<ValueId> {
    match op {
        Op::Read { value, .. } | Op::Write { value, .. } | Op::Append { value, .. } => Some(value),
        Op::ReadList { values, .. } => values.last().copied(),
        Op::Omit { .. } => None,
    }
}

/// An operation with as much of its key and its value as there is room for.
fn brief_op(op: Operation) -> Operation {
    Operation { key: brief(op.key), value: brief(op.value), ..op }
}

fn brief(value: Value) -> Value {
    let text = value.to_string();
    if width(&text) <= MAX_VALUE { value } else { Value::Shortened { shortened: shortened(&text, MAX_VALUE) } }
}

fn letters(neighbour: &Neighbour) -> usize {
    let ops: usize = neighbour.transaction.ops.iter().map(|it| it.to_string().len() + LETTERS_AROUND_OP).sum();
    let notes: usize = neighbour.notes.iter().map(|it| it.len() + 3).sum();
    LETTERS_AROUND + 2 * neighbour.transaction.id.len() + ops + notes
}

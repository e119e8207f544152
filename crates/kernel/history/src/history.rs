//! The history itself: immutable columns, one entry a session, transaction or operation.

use crate::names::Names;
use crate::packed::Packed;
use crate::statements::{Sql, Statement};
use crate::touch::Touch;
use crate::{KeyId, Name, OpId, ScanId, SessionId, TxnId, ValueId};
use std::fmt;
use std::ops::Range;

/// A recorded history.
///
/// Transactions are numbered in the order of the input; the initial transaction is number 0, belongs to no session
/// and has no operations of its own: it stands for the initial value of every key.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub(crate) session_names: Vec<String>,
    pub(crate) session_starts: Vec<u32>,
    pub(crate) session_txns: Vec<TxnId>,
    pub(crate) txn_session: Packed,
    pub(crate) txn_nth: Packed,
    pub(crate) txn_op_starts: Packed,
    pub(crate) txn_outcome: Vec<Outcome>,
    /// Empty where the input has no times at all; the smallest integer if a begin is not known.
    pub(crate) txn_begin: Packed,
    /// The same, with the largest integer if an end is not known.
    pub(crate) txn_end: Packed,
    /// Positions in sources; which source changes seldom.
    pub(crate) txn_at: Packed,
    /// From which transaction on which source, ascending.
    pub(crate) txn_source: Vec<(TxnId, u32)>,
    pub(crate) op_touch: Vec<Touch>,
    /// A value, or for a list read the number of its list.
    pub(crate) op_value: Vec<u32>,
    pub(crate) list_starts: Vec<u32>,
    pub(crate) list_values: Vec<ValueId>,
    pub(crate) keys: Names,
    pub(crate) key_initial: Vec<ValueId>,
    pub(crate) key_is_list: Vec<bool>,
    pub(crate) values: Names,
    pub(crate) sources: Vec<(String, PlaceUnit)>,
    pub(crate) sql: Sql,
}

/// What became of a transaction, as far as its client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The client was told that it committed.
    Committed,
    /// The client was told that it did not.
    Aborted,
    /// The client was never told.
    Indeterminate,
}

/// What an operation does to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Reads a register.
    Read,
    /// Writes a register.
    Write,
    /// Appends an element to a list.
    Append,
    /// Reads a whole list.
    ReadList,
    /// Looks at a row of a table and does not return it, because it does not match.
    Omit,
}

/// One operation with what it saw or wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op<'h> {
    /// A register read that returned `value`.
    Read {
        /// The key that was read.
        key: KeyId,
        /// What the read returned.
        value: ValueId,
    },
    /// A register write.
    Write {
        /// The key that was written.
        key: KeyId,
        /// What was written.
        value: ValueId,
    },
    /// An append of one element to a list.
    Append {
        /// The list.
        key: KeyId,
        /// The element.
        value: ValueId,
    },
    /// A read of a whole list.
    ReadList {
        /// The list.
        key: KeyId,
        /// Its elements, oldest first.
        values: &'h [ValueId],
    },
    /// A row that a scan did not return: the version that it saw does not match.
    Omit {
        /// The row.
        key: KeyId,
        /// The scan, which has the predicate.
        scan: ScanId,
    },
}

impl Op<'_> {
    /// The key that the operation touches.
    pub fn key(self) -> KeyId {
        match self {
            Self::Read { key, .. }
            | Self::Write { key, .. }
            | Self::Append { key, .. }
            | Self::ReadList { key, .. }
            | Self::Omit { key, .. } => key,
        }
    }

    /// Does the operation change its key?
    pub fn is_write(self) -> bool {
        matches!(self, Self::Write { .. } | Self::Append { .. })
    }
}

/// Where in the input a transaction stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Which of the history's sources.
    pub source: u32,
    /// Line (from 1) or byte (from 0) in it; what it counts is the source's [`PlaceUnit`].
    pub at: u64,
}

/// What the positions in a source count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlaceUnit {
    /// Lines, from 1.
    #[default]
    Line,
    /// Bytes, from 0.
    Byte,
    /// Transactions, by the numbers that the input gives them.
    Txn,
}

impl fmt::Display for PlaceUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Line => "line",
            Self::Byte => "byte",
            Self::Txn => "txn",
        })
    }
}

impl History {
    /// The number of transactions, the initial one included.
    #[inline]
    pub fn n_txns(&self) -> usize {
        self.txn_outcome.len()
    }

    /// The number of sessions.
    pub fn n_sessions(&self) -> usize {
        self.session_names.len()
    }

    /// The number of operations of all transactions.
    #[inline]
    pub fn n_ops(&self) -> usize {
        self.op_touch.len()
    }

    /// The number of keys.
    pub fn n_keys(&self) -> usize {
        self.keys.len()
    }

    /// The number of distinct values.
    pub fn n_values(&self) -> usize {
        self.values.len()
    }

    /// Every transaction but the initial one, in the order of the input.
    pub fn txns(&self) -> impl DoubleEndedIterator<Item = TxnId> + use<> {
        (1..self.n_txns()).map(TxnId::from_index)
    }

    /// Every session.
    pub fn sessions(&self) -> impl DoubleEndedIterator<Item = SessionId> + use<> {
        (0..self.n_sessions()).map(SessionId::from_index)
    }

    /// Every key.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = KeyId> + use<> {
        (0..self.n_keys()).map(KeyId::from_index)
    }

    /// The transactions of a session, in session order.
    pub fn session_txns(&self, session: SessionId) -> &[TxnId] {
        let idx = session.index();
        &self.session_txns[self.session_starts[idx] as usize..self.session_starts[idx + 1] as usize]
    }

    /// The session of a transaction; none for the initial one.
    #[inline]
    pub fn session_of(&self, txn: TxnId) -> Option<SessionId> {
        (!txn.is_initial()).then(|| SessionId::from_index(self.txn_session.number(txn.index())))
    }

    /// The place of a transaction in its session, from 0. The initial one has 0, too.
    #[inline]
    pub fn nth_in_session(&self, txn: TxnId) -> usize {
        self.txn_nth.number(txn.index())
    }

    /// Does `earlier` precede `later` in session order? The initial transaction precedes every other one.
    pub fn is_session_ordered(&self, earlier: TxnId, later: TxnId) -> bool {
        if earlier == later || later.is_initial() {
            return false;
        }
        earlier.is_initial()
            || (self.session_of(earlier) == self.session_of(later)
                && self.nth_in_session(earlier) < self.nth_in_session(later))
    }

    /// Did `earlier` end before `later` began, by the recorded times?
    ///
    /// A transaction without times is concurrent with every other one. The initial transaction ended before all. An
    /// indeterminate one has no end: its client gave up waiting at the recorded one, and it may take effect later.
    pub fn is_real_time_ordered(&self, earlier: TxnId, later: TxnId) -> bool {
        if earlier == later || later.is_initial() {
            return false;
        }
        earlier.is_initial()
            || (self.outcome(earlier) != Outcome::Indeterminate
                && matches!((self.end(earlier), self.begin(later)), (Some(end), Some(begin)) if end < begin))
    }

    /// What became of a transaction.
    #[inline]
    pub fn outcome(&self, txn: TxnId) -> Outcome {
        self.txn_outcome[txn.index()]
    }

    pub(crate) fn is_indeterminate(&self, txn: TxnId) -> bool {
        self.outcome(txn) == Outcome::Indeterminate
    }

    pub(crate) fn has_indeterminate_outcomes(&self) -> bool {
        self.txn_outcome.contains(&Outcome::Indeterminate)
    }

    /// The same history with every indeterminate transaction aborted, or none if there is no such transaction.
    ///
    /// Whoever read from such a transaction may have read dirty.
    pub(crate) fn with_indeterminate_aborted(&self) -> Option<Self> {
        self.txn_outcome.contains(&Outcome::Indeterminate).then(|| {
            let mut history = self.clone();
            for outcome in history.txn_outcome.iter_mut().filter(|it| **it == Outcome::Indeterminate) {
                *outcome = Outcome::Aborted;
            }
            history
        })
    }

    /// The same history in which each indeterminate transaction committed or aborted. When it ended stays unknown.
    #[must_use]
    pub fn with_known_outcomes(&self, committed: impl Fn(TxnId) -> bool) -> Self {
        let mut history = self.clone();
        for txn in self.txns().filter(|it| self.is_indeterminate(*it)) {
            history.txn_outcome[txn.index()] = if committed(txn) { Outcome::Committed } else { Outcome::Aborted };
        }
        history.forget_ends(|it| self.is_indeterminate(it));
        history
    }

    /// The same history with a session of its own for every transaction. Ids stay as they are.
    ///
    /// What a level asks of it, it asks of this history without session order.
    #[must_use]
    pub fn without_sessions(&self) -> Self {
        let n_txns = self.n_txns() as u32;
        Self {
            session_names: self.txns().map(|it| self.label(it)).collect(),
            session_starts: (0..n_txns).collect(),
            session_txns: self.txns().collect(),
            // The initial transaction has no session; its entry is not looked at.
            txn_session: (0..i64::from(n_txns)).map(|it| (it - 1).max(0)).collect(),
            txn_nth: (0..n_txns).map(|_| 0).collect(),
            ..self.clone()
        }
    }

    /// Do recorded times say anything about what was over before something else began?
    ///
    /// They do not where no begin or no end is known, or where all are equal.
    pub fn has_real_time(&self) -> bool {
        let begins = || self.txns().filter_map(|it| self.begin(it));
        let ends = || self.txns().filter_map(|it| self.end(it));
        let (Some(first), Some(_)) = (begins().next(), ends().next()) else { return false };
        begins().chain(ends()).any(|it| it != first)
    }

    /// Does any transaction have a recorded time?
    pub fn has_times(&self) -> bool {
        !self.txn_begin.is_empty()
    }

    /// When a transaction began, if the input says so.
    pub fn begin(&self, txn: TxnId) -> Option<i64> {
        self.txn_begin.get(txn.index()).filter(|it| *it != i64::MIN)
    }

    /// When a transaction ended, if the input says so.
    pub fn end(&self, txn: TxnId) -> Option<i64> {
        self.txn_end.get(txn.index()).filter(|it| *it != i64::MAX)
    }

    /// Groups transactions by session, keeping their order (a counting sort).
    pub(crate) fn lay_out_sessions(&mut self) {
        let n_sessions = self.session_names.len();
        let mut counts = vec![0u32; n_sessions + 1];
        for txn in 1..self.txn_session.len() {
            let count = &mut counts[self.txn_session.number(txn)];
            self.txn_nth.push_number(*count as usize);
            *count += 1;
        }
        self.session_starts = vec![0; n_sessions + 1];
        for (session, count) in counts.iter().take(n_sessions).enumerate() {
            self.session_starts[session + 1] = self.session_starts[session] + count;
        }
        self.session_txns = vec![TxnId::INITIAL; self.txn_session.len() - 1];
        for txn in 1..self.txn_session.len() {
            let start = self.session_starts[self.txn_session.number(txn)] as usize;
            self.session_txns[start + self.txn_nth.number(txn)] = TxnId::from_index(txn);
        }
    }

    /// Leaves open when some transactions ended.
    pub(crate) fn forget_ends(&mut self, of: impl Fn(TxnId) -> bool) {
        let mut ends = Packed::default();
        for (idx, end) in (0..self.txn_end.len()).map(|it| (it, self.txn_end.get(it))) {
            ends.extend(if of(TxnId::from_index(idx)) { Some(i64::MAX) } else { end });
        }
        self.txn_end = ends;
    }

    /// Where a transaction stands in the input.
    pub fn place(&self, txn: TxnId) -> Place {
        let n_up_to_it = self.txn_source.partition_point(|it| it.0 <= txn);
        let source = if n_up_to_it == 0 { 0 } else { self.txn_source[n_up_to_it - 1].1 };
        let at = self.txn_at.get(txn.index()).expect("every transaction has a place");
        Place { source, at: at.cast_unsigned() }
    }

    /// The name of a source of the input, and what positions in it count.
    pub fn source(&self, place: Place) -> Option<(&str, PlaceUnit)> {
        self.sources.get(place.source as usize).map(|(name, unit)| (name.as_str(), *unit))
    }

    /// The same history, said to be from a file of another name: a copy of a part has the places of the whole.
    #[must_use]
    pub fn as_of_source(mut self, name: &str) -> Self {
        self.sources.iter_mut().for_each(|it| name.clone_into(&mut it.0));
        self
    }

    /// The operations of a transaction, in program order.
    #[inline]
    pub fn ops(&self, txn: TxnId) -> impl DoubleEndedIterator<Item = OpId> + ExactSizeIterator + use<> {
        self.op_range(txn).map(OpId::from_index)
    }

    #[inline]
    pub(crate) fn op_range(&self, txn: TxnId) -> Range<usize> {
        self.txn_op_starts.span(txn.index())
    }

    /// The transaction of an operation.
    pub fn txn_of(&self, op: OpId) -> TxnId {
        TxnId::from_index(self.txn_op_starts.partition_point(|it| it <= op.index()) - 1)
    }

    /// The key of the operation at this position.
    #[inline]
    pub(crate) fn key_at(&self, op_idx: usize) -> KeyId {
        self.op_touch[op_idx].key()
    }

    /// What the operation at this position does.
    #[inline]
    pub(crate) fn access_at(&self, op_idx: usize) -> Access {
        self.op_touch[op_idx].access()
    }

    /// An operation with what it saw or wrote.
    #[inline]
    pub fn op(&self, op: OpId) -> Op<'_> {
        let (touch, value) = (self.op_touch[op.index()], self.op_value[op.index()]);
        let (key, as_value) = (touch.key(), ValueId::from_index(value as usize));
        match touch.access() {
            Access::Read => Op::Read { key, value: as_value },
            Access::Write => Op::Write { key, value: as_value },
            Access::Append => Op::Append { key, value: as_value },
            Access::ReadList => Op::ReadList { key, values: self.list(value) },
            Access::Omit => Op::Omit { key, scan: ScanId::from_index(value as usize) },
        }
    }

    #[inline]
    pub(crate) fn list(&self, list: u32) -> &[ValueId] {
        let idx = list as usize;
        &self.list_values[self.list_starts[idx] as usize..self.list_starts[idx + 1] as usize]
    }

    /// Is this key a list (it is appended to, or read as a list)?
    #[inline]
    pub fn is_list(&self, key: KeyId) -> bool {
        self.key_is_list[key.index()]
    }

    /// The initial value of a register. Lists are empty at first.
    #[inline]
    pub fn initial_value(&self, key: KeyId) -> ValueId {
        self.key_initial[key.index()]
    }

    /// The name of a key.
    pub fn key_name(&self, key: KeyId) -> Name<'_> {
        self.keys.get(key.index())
    }

    /// A value as the input spelled it.
    pub fn value(&self, value: ValueId) -> Name<'_> {
        self.values.get(value.index())
    }

    /// The name of a session.
    pub fn session_name(&self, session: SessionId) -> &str {
        &self.session_names[session.index()]
    }

    /// A short name for a transaction: its session and its place there from 1, as in `s1.2`; `init` for the initial one.
    pub fn label(&self, txn: TxnId) -> String {
        match self.session_of(txn) {
            None => "init".to_owned(),
            Some(session) => format!("{}.{}", self.session_name(session), self.nth_in_session(txn) + 1),
        }
    }

    /// An operation in our notation, as in `r(x,1)`.
    pub fn render_op(&self, op: OpId) -> String {
        match self.op(op) {
            Op::Read { key, value } if self.sees_newest(op) && !self.is_update(op) => {
                format!("r({},{}) for update", self.key_name(key), self.value(value))
            }
            Op::Read { key, value } => format!("r({},{})", self.key_name(key), self.value(value)),
            Op::Write { key, value } => format!("w({},{})", self.key_name(key), self.value(value)),
            Op::Append { key, value } => format!("append({},{})", self.key_name(key), self.value(value)),
            Op::ReadList { key, values } => {
                let elements: Vec<String> = values.iter().map(|it| self.value(*it).to_string()).collect();
                format!("r({},[{}])", self.key_name(key), elements.join(","))
            }
            Op::Omit { key, scan } => format!("omit({}, {})", self.key_name(key), self.scan(scan).predicate),
        }
    }
}

/// Two histories are the same if they say the same: names, sessions, operations, outcomes, times and initial values.
///
/// Ids, and the places where transactions stood in their files, may differ; so may the order in which transactions of
/// different sessions were written down, and keys that no operation touches.
impl PartialEq for History {
    fn eq(&self, other: &Self) -> bool {
        self.n_sessions() == other.n_sessions()
            && self.sessions().zip(other.sessions()).all(|(mine, theirs)| {
                self.session_name(mine) == other.session_name(theirs)
                    && self.session_txns(mine).len() == other.session_txns(theirs).len()
                    && self
                        .session_txns(mine)
                        .iter()
                        .zip(other.session_txns(theirs))
                        .all(|(mine, theirs)| self.same_txn(*mine, other, *theirs))
            })
    }
}

impl History {
    fn same_txn(&self, mine: TxnId, other: &Self, theirs: TxnId) -> bool {
        self.outcome(mine) == other.outcome(theirs)
            && self.begin(mine) == other.begin(theirs)
            && self.end(mine) == other.end(theirs)
            && self.ops(mine).len() == other.ops(theirs).len()
            && self.ops(mine).zip(other.ops(theirs)).all(|(mine, theirs)| self.same_op(mine, other, theirs))
            && self.same_statements(mine, other, theirs)
    }

    /// Are the same operations one statement, and do their scans ask for the same?
    fn same_statements(&self, mine: TxnId, other: &Self, theirs: TxnId) -> bool {
        let shape = |history: &Self, txn: TxnId| {
            let first = history.op_range(txn).start as u32;
            let of = move |it: Statement| (it.start - first, it.end - first);
            let statements = history.ops(txn).map(|it| (of(history.statement_of(it)), history.sees_newest(it)));
            statements.collect::<Vec<_>>()
        };
        let asked = |history: &Self, txn: TxnId| {
            let first = history.op_range(txn).start;
            let of = |it: ScanId| {
                let scan = history.scan(it);
                let place = (scan.ops.start - first, scan.ops.end - first);
                (scan.table.to_owned(), scan.predicate.clone(), place, scan.extent)
            };
            history.scans_of(txn).map(of).collect::<Vec<_>>()
        };
        (!self.has_statements() && !other.has_statements())
            || (shape(self, mine) == shape(other, theirs) && asked(self, mine) == asked(other, theirs))
    }

    fn same_op(&self, mine: OpId, other: &Self, theirs: OpId) -> bool {
        let (my_key, their_key) = (self.op(mine).key(), other.op(theirs).key());
        let same_initial = self.is_list(my_key)
            || self.value(self.initial_value(my_key)) == other.value(other.initial_value(their_key));
        let same_value = |mine: ValueId, theirs: ValueId| self.value(mine) == other.value(theirs);
        self.key_name(my_key) == other.key_name(their_key)
            && same_initial
            && match (self.op(mine), other.op(theirs)) {
                (Op::Read { value: a, .. }, Op::Read { value: b, .. })
                | (Op::Write { value: a, .. }, Op::Write { value: b, .. })
                | (Op::Append { value: a, .. }, Op::Append { value: b, .. }) => same_value(a, b),
                (Op::ReadList { values: a, .. }, Op::ReadList { values: b, .. }) => {
                    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(*a, *b))
                }
                // Of scans, the predicates are compared.
                (Op::Omit { .. }, Op::Omit { .. }) => true,
                _ => false,
            }
    }
}

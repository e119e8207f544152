//! Does each read return the version that its source left behind?

use super::Uncertified;
use super::schedule::wrong;
use crate::Source;
use iso_history::{History, KeyId, Op, OpId, TxnId, ValueId};
use rustc_hash::FxHashMap;

/// One external read with its source, as checked against the operations.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckedRead {
    pub(super) key: KeyId,
    pub(super) source: TxnId,
}

/// For each transaction its external reads with their sources, in program order.
pub(super) type CheckedReads = Vec<Vec<CheckedRead>>;

/// Checks that each external read of a scheduled transaction names a source before it that finally wrote what the
/// read returned, and that each other read returns what the transaction wrote itself.
pub(super) fn check_sources(
    history: &History,
    order: &[TxnId],
    sources: &[Source],
) -> Result<CheckedReads, Uncertified> {
    if !sources.is_sorted_by(|a, b| a.read < b.read) {
        return Err(Uncertified::new("the sources of a witness are not in ascending order"));
    }
    let versions = Versions::new(history, order);
    let mut checked = vec![Vec::new(); history.n_txns()];
    for txn in order {
        let mut own: Vec<(KeyId, ValueId)> = Vec::new();
        for op in history.ops(*txn) {
            match history.op(op) {
                Op::Write { key, value } | Op::Append { key, value } => own.push((key, value)),
                Op::Read { key, value } => match own.iter().rev().find(|it| it.0 == key) {
                    Some((_, mine)) if *mine == value => {}
                    Some(_) => return Err(not_own(history, *txn, op)),
                    None => {
                        let source = source_of(history, *txn, op, sources)?;
                        versions.check_register(*txn, op, source, value)?;
                        checked[txn.index()].push(CheckedRead { key, source });
                    }
                },
                Op::ReadList { key, values } => {
                    let own: Vec<ValueId> = own.iter().filter(|it| it.0 == key).map(|it| it.1).collect();
                    let Some(external) = values.strip_suffix(own.as_slice()) else {
                        return Err(not_own(history, *txn, op));
                    };
                    let source = source_of(history, *txn, op, sources)?;
                    versions.check_list(*txn, op, source, external)?;
                    checked[txn.index()].push(CheckedRead { key, source });
                }
            }
        }
    }
    Ok(checked)
}

/// Read uncommitted: each read returns something that somebody wrote, and lists that only scheduled transactions
/// appended to are prefixes of what the schedule makes of them.
pub(super) fn check_uncommitted(history: &History, order: &[TxnId]) -> Result<(), Uncertified> {
    let versions = Versions::new(history, order);
    let written = written_values(history);
    for txn in order {
        let mut own: Vec<(KeyId, ValueId)> = Vec::new();
        for op in history.ops(*txn) {
            match history.op(op) {
                Op::Write { key, value } | Op::Append { key, value } => own.push((key, value)),
                Op::Read { key, value } => {
                    let is_right = match own.iter().rev().find(|it| it.0 == key) {
                        Some((_, mine)) => *mine == value,
                        None => {
                            history.initial_value(key) == value
                                || written.get(&(key, value)).is_some_and(|it| it.iter().any(|it| it != txn))
                        }
                    };
                    if !is_right {
                        return Err(wrong(history, *txn, &format!("cannot have seen {}", history.render_op(op))));
                    }
                }
                Op::ReadList { key, values } => {
                    let own: Vec<ValueId> = own.iter().filter(|it| it.0 == key).map(|it| it.1).collect();
                    let is_scheduled = |it: &ValueId| versions.place_of_element(key, *it).is_some();
                    let is_prefix = values
                        .strip_suffix(own.as_slice())
                        .is_some_and(|it| !it.iter().all(is_scheduled) || versions.list(key).starts_with(it));
                    if !is_prefix || values.iter().any(|it| !written.contains_key(&(key, *it))) {
                        return Err(wrong(history, *txn, &format!("cannot have seen {}", history.render_op(op))));
                    }
                }
            }
        }
    }
    Ok(())
}

fn written_values(history: &History) -> FxHashMap<(KeyId, ValueId), Vec<TxnId>> {
    let mut written: FxHashMap<(KeyId, ValueId), Vec<TxnId>> = FxHashMap::default();
    for txn in history.txns() {
        for op in history.ops(txn) {
            if let Op::Write { key, value } | Op::Append { key, value } = history.op(op) {
                written.entry((key, value)).or_default().push(txn);
            }
        }
    }
    written
}

fn not_own(history: &History, txn: TxnId, op: OpId) -> Uncertified {
    wrong(history, txn, &format!("contradicts its own writes by {}", history.render_op(op)))
}

fn source_of(history: &History, txn: TxnId, op: OpId, sources: &[Source]) -> Result<TxnId, Uncertified> {
    let found = sources.binary_search_by_key(&op, |it| it.read);
    found.map(|it| sources[it].writer).map_err(|_| wrong(history, txn, "has a read without a source"))
}

/// What each scheduled transaction leaves behind.
struct Versions<'h> {
    history: &'h History,
    /// Place in the schedule from 1; the initial transaction has 0; whoever is not scheduled has none.
    place: Vec<Option<usize>>,
    last_write: FxHashMap<(TxnId, KeyId), ValueId>,
    lists: Vec<Vec<ValueId>>,
    /// The length of a list right after a transaction appended to it.
    list_length: FxHashMap<(TxnId, KeyId), usize>,
}

impl<'h> Versions<'h> {
    fn new(history: &'h History, order: &[TxnId]) -> Self {
        let mut versions = Self {
            history,
            place: vec![None; history.n_txns()],
            last_write: FxHashMap::default(),
            lists: vec![Vec::new(); history.n_keys()],
            list_length: FxHashMap::default(),
        };
        versions.place[TxnId::INITIAL.index()] = Some(0);
        for (idx, txn) in order.iter().enumerate() {
            versions.place[txn.index()] = Some(idx + 1);
            for op in history.ops(*txn) {
                match history.op(op) {
                    Op::Write { key, value } => {
                        versions.last_write.insert((*txn, key), value);
                    }
                    Op::Append { key, value } => {
                        versions.lists[key.index()].push(value);
                        versions.list_length.insert((*txn, key), versions.lists[key.index()].len());
                    }
                    Op::Read { .. } | Op::ReadList { .. } => {}
                }
            }
        }
        versions
    }

    fn list(&self, key: KeyId) -> &[ValueId] {
        &self.lists[key.index()]
    }

    fn place_of_element(&self, key: KeyId, value: ValueId) -> Option<usize> {
        self.lists[key.index()].iter().position(|it| *it == value)
    }

    fn check_before(&self, txn: TxnId, source: TxnId) -> Result<(), Uncertified> {
        let place = self.place.get(source.index()).copied().flatten();
        match place {
            Some(place) if Some(place) < self.place[txn.index()] => Ok(()),
            _ => Err(wrong(self.history, txn, "reads from a transaction that is not before it in the schedule")),
        }
    }

    fn check_register(&self, txn: TxnId, op: OpId, source: TxnId, value: ValueId) -> Result<(), Uncertified> {
        self.check_before(txn, source)?;
        let key = self.history.op(op).key();
        let left = if source.is_initial() {
            Some(self.history.initial_value(key))
        } else {
            self.last_write.get(&(source, key)).copied()
        };
        if left == Some(value) { Ok(()) } else { Err(self.not_left(txn, op, source)) }
    }

    fn check_list(&self, txn: TxnId, op: OpId, source: TxnId, seen: &[ValueId]) -> Result<(), Uncertified> {
        self.check_before(txn, source)?;
        let key = self.history.op(op).key();
        let length = if source.is_initial() { Some(0) } else { self.list_length.get(&(source, key)).copied() };
        match length {
            Some(length) if self.lists[key.index()][..length] == *seen => Ok(()),
            _ => Err(self.not_left(txn, op, source)),
        }
    }

    fn not_left(&self, txn: TxnId, op: OpId, source: TxnId) -> Uncertified {
        let (op, source) = (self.history.render_op(op), self.history.label(source));
        wrong(self.history, txn, &format!("cannot have seen {op} in what {source} left behind"))
    }
}

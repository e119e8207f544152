//! Read uncommitted: was what each read returned ever written? Cost: linear, but for sorting the values of each key.

use super::own::OwnWrites;
use super::rows::Rows;
use super::uncertified::{Uncertified, wrong};
use iso_history::{History, KeyId, Op, TxnId, ValueId};

/// Each read returns something that somebody wrote, and lists are prefixes of what the schedule makes of them, but for
/// elements that may have been rolled back.
pub(super) fn check_uncommitted(history: &History, order: &[TxnId]) -> Result<(), Uncertified> {
    let written = Written::new(history);
    let lists = lists(history, order);
    let mut is_scheduled = vec![false; history.n_txns()];
    for txn in order {
        is_scheduled[txn.index()] = true;
    }
    let mut own = OwnWrites::new(history);
    for txn in order {
        own.start(*txn);
        for op in history.ops(*txn) {
            let is_right = match history.op(op) {
                Op::Write { key, value } => {
                    own.write(key, value);
                    true
                }
                Op::Append { key, value } => {
                    own.append(key, value);
                    true
                }
                Op::Read { key, value } => {
                    let by = written.by(key, value);
                    let by_others = || by.first().into_iter().chain(by.last()).any(|it| it.1 != *txn);
                    own.last(key).map_or_else(|| history.initial_value(key) == value || by_others(), |it| it == value)
                }
                Op::Omit { key, scan } => {
                    let is_omitted = |it: ValueId| !history.matches(scan, key, it);
                    let by_others = || written.all(key).iter().any(|it| it.1 != *txn && is_omitted(it.0));
                    own.last(key).map_or_else(|| is_omitted(history.initial_value(key)) || by_others(), is_omitted)
                }
                Op::ReadList { key, values } => {
                    let may_be_dirty = |it: ValueId| written.by(key, it).iter().any(|it| !is_scheduled[it.1.index()]);
                    let external = values.strip_suffix(own.elements(key));
                    external.is_some_and(|it| shows_prefix(it, &lists[key.index()], may_be_dirty))
                }
            };
            if !is_right {
                return Err(wrong(history, *txn, &format!("cannot have seen {}", history.render_op(op))));
            }
        }
    }
    Ok(())
}

/// Is what was seen a prefix of a list, but for elements that may have been rolled back?
fn shows_prefix(seen: &[ValueId], list: &[ValueId], may_be_dirty: impl Fn(ValueId) -> bool) -> bool {
    // How many elements of the list may have been passed so far.
    let mut passed: Vec<usize> = vec![0];
    for value in seen {
        let clean = passed.iter().filter(|it| list.get(**it) == Some(value)).map(|it| it + 1);
        let dirty = passed.iter().copied().filter(|_| may_be_dirty(*value));
        let mut next: Vec<usize> = clean.chain(dirty).collect();
        next.sort_unstable();
        next.dedup();
        passed = next;
    }
    !passed.is_empty()
}

/// What the schedule makes of each list.
fn lists(history: &History, order: &[TxnId]) -> Vec<Vec<ValueId>> {
    let mut lists = vec![Vec::new(); history.n_keys()];
    for op in order.iter().flat_map(|it| history.ops(*it)) {
        if let Op::Append { key, value } = history.op(op) {
            lists[key.index()].push(value);
        }
    }
    lists
}

/// Every write and append of the history, rolled back or not: for each key, values and writers, ascending.
struct Written {
    by_key: Rows<(ValueId, TxnId)>,
}

impl Written {
    fn new(history: &History) -> Self {
        let writes = || {
            let ops = history.txns().flat_map(|txn| history.ops(txn).map(move |op| (txn, op)));
            ops.filter_map(|(txn, op)| match history.op(op) {
                Op::Write { key, value } | Op::Append { key, value } => Some((key.index(), (value, txn))),
                Op::Read { .. } | Op::ReadList { .. } | Op::Omit { .. } => None,
            })
        };
        Self { by_key: Rows::grouped(history.n_keys(), writes).sorted() }
    }

    /// Every value of a key, with its writer.
    fn all(&self, key: KeyId) -> &[(ValueId, TxnId)] {
        self.by_key.of(key.raw())
    }

    /// Who wrote a value, with the value.
    fn by(&self, key: KeyId, value: ValueId) -> &[(ValueId, TxnId)] {
        let of_key = self.all(key);
        let start = of_key.partition_point(|it| it.0 < value);
        let end = start + of_key[start..].partition_point(|it| it.0 == value);
        &of_key[start..end]
    }
}

//! Does a core stand for the whole history?
//!
//! It does if each of its reads saw another transaction's write, and everybody in the whole history who may have written
//! what it saw is in the core with that write: whatever explains the whole then explains the core. This is checked on the
//! raw operations.

use super::uncertified::{Uncertified, wrong};
use crate::Refutation;
use iso_history::{Facts, History, KeyId, Op, OpId, Outcome, Projection, ScanId, Standing, TxnId, ValueId};
use std::collections::{BTreeMap, BTreeSet};

/// The core holds operations of its own transactions only.
pub(super) fn check_membership(history: &History, refutation: &Refutation) -> Result<(), Uncertified> {
    let is_ascending = refutation.txns.is_sorted_by(|a, b| a < b) && refutation.ops.is_sorted_by(|a, b| a < b);
    if !is_ascending || refutation.txns.iter().any(|it| it.index() >= history.n_txns()) {
        return Err(Uncertified::new("the core of a refutation is not in ascending order"));
    }
    if refutation.txns.first() == Some(&TxnId::INITIAL) || refutation.ops.iter().any(|it| it.index() >= history.n_ops())
    {
        return Err(Uncertified::new("the core of a refutation has the initial transaction, or what does not exist"));
    }
    for op in &refutation.ops {
        if refutation.txns.binary_search(&history.txn_of(*op)).is_err() {
            return Err(wrong(history, history.txn_of(*op), "is not in the core that has its operation"));
        }
    }
    Ok(())
}

pub(super) fn check_none_aborted(history: &History, refutation: &Refutation) -> Result<(), Uncertified> {
    match refutation.txns.iter().find(|it| history.outcome(**it) == Outcome::Aborted) {
        Some(aborted) => Err(wrong(history, *aborted, "aborted, but is in the core of a refutation")),
        None => Ok(()),
    }
}

/// A register's version or a list's element that a read of the core saw, with the readers.
type Seen = BTreeMap<(KeyId, ValueId), Vec<TxnId>>;

/// Whoever may have written what a read of the core saw is in the core, and so is that write.
pub(super) fn check_reads_stand(facts: &Facts<'_>, refutation: &Refutation) -> Result<(), Uncertified> {
    let history = facts.history();
    let (registers, elements) = seen_by_core(facts, refutation)?;
    let omitted = omitted_by_core(history, refutation)?;
    let mut is_read = vec![false; history.n_keys()];
    for key in registers.keys().chain(elements.keys()).map(|it| it.0).chain(omitted.keys().copied()) {
        is_read[key.index()] = true;
    }
    let is_kept = |op: OpId| refutation.ops.binary_search(&op).is_ok();
    // Whoever aborted, or cannot have committed, wrote nothing that counts.
    for txn in history.txns().filter(|it| facts.standing(*it) != Standing::Out) {
        for op in history.ops(txn).filter(|it| is_read[history.op(*it).key().index()]) {
            match history.op(op) {
                Op::Write { key, value } => {
                    let readers = registers.get(&(key, value)).map_or(&[][..], Vec::as_slice);
                    let scans = omitted.get(&key).map_or(&[][..], Vec::as_slice);
                    let may_be_omitted = |it: &(ScanId, TxnId)| it.1 != txn && !history.matches(it.0, key, value);
                    let is_needed =
                        !is_kept(op) && (readers.iter().any(|it| *it != txn) || scans.iter().any(may_be_omitted));
                    if is_needed && !is_overwritten(history, txn, op) {
                        return Err(wrong(history, txn, "may have written what the core read, but is not in it"));
                    }
                }
                Op::Append { key, value } => {
                    let readers = elements.get(&(key, value)).map_or(&[][..], Vec::as_slice);
                    let is_seen = readers.iter().any(|it| *it != txn);
                    if is_seen && history.ops(txn).any(|it| is_append_to(history, it, key) && !is_kept(it)) {
                        return Err(wrong(history, txn, "appended an element that the core saw, but is not all in it"));
                    }
                }
                Op::Read { .. } | Op::ReadList { .. } | Op::Omit { .. } => {}
            }
        }
    }
    Ok(())
}

/// Does the transaction write the same key again?
fn is_overwritten(history: &History, txn: TxnId, write: OpId) -> bool {
    let mut later = history.ops(txn).skip_while(|it| *it <= write);
    later.any(|it| history.op(it).is_write() && history.op(it).key() == history.op(write).key())
}

fn is_append_to(history: &History, op: OpId, key: KeyId) -> bool {
    matches!(history.op(op), Op::Append { key: it, .. } if it == key)
}

/// The rows that scans of the core did not return, with the scan and the reader.
fn omitted_by_core(
    history: &History,
    refutation: &Refutation,
) -> Result<BTreeMap<KeyId, Vec<(ScanId, TxnId)>>, Uncertified> {
    let mut omitted: BTreeMap<KeyId, Vec<(ScanId, TxnId)>> = BTreeMap::new();
    for op in &refutation.ops {
        if let Op::Omit { key, scan } = history.op(*op) {
            let txn = history.txn_of(*op);
            if has_written_before(history, txn, *op, key) {
                return Err(wrong(history, txn, "omitted its own write, which says nothing about others"));
            }
            omitted.entry(key).or_default().push((scan, txn));
        }
    }
    Ok(omitted)
}

fn has_written_before(history: &History, txn: TxnId, op: OpId, key: KeyId) -> bool {
    let mut before = history.ops(txn).take_while(|it| *it < op);
    before.any(|it| history.op(it).is_write() && history.op(it).key() == key)
}

/// What the reads of the core saw: register values, and the last elements of lists, with those that several may have
/// appended. Other elements may be left out together with who appended them.
fn seen_by_core(facts: &Facts<'_>, refutation: &Refutation) -> Result<(Seen, Seen), Uncertified> {
    let history = facts.history();
    let has_lists = refutation.ops.iter().any(|it| matches!(history.op(*it), Op::ReadList { .. }));
    let appenders = if has_lists { appenders(facts) } else { BTreeMap::new() };
    let (mut registers, mut elements) = (Seen::new(), Seen::new());
    for op in &refutation.ops {
        let txn = history.txn_of(*op);
        match history.op(*op) {
            Op::Read { key, value } => {
                if has_written_before(history, txn, *op, key) {
                    return Err(wrong(history, txn, "read its own write, which says nothing about others"));
                }
                registers.entry((key, value)).or_default().push(txn);
            }
            Op::ReadList { key, values } => {
                let n_own =
                    history.ops(txn).take_while(|it| it < op).filter(|it| is_append_to(history, *it, key)).count();
                let external = &values[..values.len().saturating_sub(n_own)];
                let by_several = |it: &ValueId| {
                    appenders.get(&(key, *it)).is_some_and(|by| by.iter().filter(|it| **it != txn).count() > 1)
                };
                let is_open = |it: &&ValueId| Some(*it) == external.last() || by_several(it);
                for value in external.iter().filter(is_open) {
                    elements.entry((key, *value)).or_default().push(txn);
                }
            }
            // Looked at elsewhere.
            Op::Omit { .. } => {}
            Op::Write { .. } => {
                if is_overwritten(history, txn, *op) {
                    return Err(wrong(history, txn, "overwrote a write that the core of a refutation has"));
                }
            }
            Op::Append { key, .. } => {
                let has_all = history
                    .ops(txn)
                    .filter(|it| is_append_to(history, *it, key))
                    .all(|it| refutation.ops.binary_search(&it).is_ok());
                if !has_all {
                    return Err(wrong(history, txn, "has only some of its appends in the core of a refutation"));
                }
            }
        }
    }
    Ok((registers, elements))
}

/// For each element of a list, who appended it and may count.
fn appenders(facts: &Facts<'_>) -> BTreeMap<(KeyId, ValueId), BTreeSet<TxnId>> {
    let history = facts.history();
    let mut appenders: BTreeMap<(KeyId, ValueId), BTreeSet<TxnId>> = BTreeMap::new();
    for txn in history.txns().filter(|it| facts.standing(*it) != Standing::Out) {
        for op in history.ops(txn) {
            if let Op::Append { key, value } = history.op(op) {
                appenders.entry((key, value)).or_default().insert(txn);
            }
        }
    }
    appenders
}

pub(super) fn project(facts: &Facts<'_>, refutation: &Refutation) -> Result<Projection, Uncertified> {
    let history = facts.history();
    let without: BTreeSet<OpId> = refutation
        .txns
        .iter()
        .flat_map(|it| history.ops(*it))
        .filter(|it| refutation.ops.binary_search(it).is_err())
        .collect();
    let core = Projection::new(facts, &refutation.txns, &without);
    if core.ops == refutation.ops {
        Ok(core)
    } else {
        Err(Uncertified::new("the core of a refutation has operations that do not stand by themselves"))
    }
}

//! Read uncommitted, where an element of a list was rolled back and appended again by somebody else: a read of it may be a
//! dirty one, which shows nothing, or not.
//!
//! The core of such a refutation has the transactions that aborted, too, and all that these reads may have been is forbidden:
//! by derivations, or by the definition of the level. The core stands for the whole history: of each element that it saw, everybody who
//! appended that is in the core, or nobody. So whatever is true of the whole is true of the core.

use super::forbidden::check_forbidden;
use super::grounds::certify_grounds;
use super::stands::check_membership;
use super::uncertified::{Uncertified, wrong};
use crate::Refutation;
use iso_history::{Facts, History, KeyId, Op, OpId, Outcome, Projection, TxnId, ValueId};
use iso_spec::Level;
use std::collections::{BTreeMap, BTreeSet};

/// Has the core a read that may be a dirty one?
pub(super) fn has_mixed_reads(history: &History, refutation: &Refutation) -> bool {
    history.mixed_lists().iter().any(|it| refutation.ops.binary_search(it).is_ok())
}

/// Checks a core with such reads.
pub(super) fn check_mixed(facts: &Facts<'_>, level: Level, refutation: &Refutation) -> Result<(), Uncertified> {
    let history = facts.history();
    let has_more = !refutation.cycle.is_empty() || refutation.proof.is_some();
    if has_more || !refutation.anomalies.is_empty() {
        return Err(Uncertified::new("a core with reads that may be dirty ones has a name, a cycle or a proof"));
    }
    check_membership(history, refutation)?;
    check_operations(history, refutation)?;
    check_appenders(history, refutation)?;
    let is_named = |it: OpId| refutation.ops.binary_search(&it).is_ok();
    let core = Projection::verbatim(history, &refutation.txns, is_named).history;
    match refutation.grounds.as_deref() {
        Some(grounds) => certify_grounds(&core, level, grounds),
        None => check_forbidden(&core, level),
    }
}

/// Only lists are in the core; of those who aborted, only what they appended; and all that a transaction appended to a list.
fn check_operations(history: &History, refutation: &Refutation) -> Result<(), Uncertified> {
    let mut lists: BTreeSet<(TxnId, KeyId)> = BTreeSet::new();
    for op in &refutation.ops {
        let txn = history.txn_of(*op);
        let is_right = match history.op(*op) {
            Op::Append { .. } => true,
            Op::ReadList { .. } => history.outcome(txn) == Outcome::Committed,
            Op::Read { .. } | Op::Write { .. } | Op::Omit { .. } => false,
        };
        if !is_right {
            return Err(wrong(history, txn, &format!("has {} in a core of lists", history.render_op(*op))));
        }
        lists.insert((txn, history.op(*op).key()));
    }
    let missing = lists.iter().find(|(txn, key)| {
        let appends = |it: &OpId| matches!(history.op(*it), Op::Append { key: list, .. } if list == *key);
        history.ops(*txn).filter(appends).any(|it| refutation.ops.binary_search(&it).is_err())
    });
    missing.map_or(Ok(()), |(txn, _)| {
        Err(wrong(history, *txn, "has only some of its appends in the core of a refutation"))
    })
}

/// Of each element that a read of the core saw, everybody who appended it is in the core, or nobody.
fn check_appenders(history: &History, refutation: &Refutation) -> Result<(), Uncertified> {
    // For each element, how many appends there are, and how many of them are in the core.
    let mut appended: BTreeMap<(KeyId, ValueId), (usize, usize)> = BTreeMap::new();
    for op in history.txns().flat_map(|it| history.ops(it)) {
        if let Op::Append { key, value } = history.op(op) {
            let (n_all, n_kept) = appended.entry((key, value)).or_default();
            *n_all += 1;
            *n_kept += usize::from(refutation.ops.binary_search(&op).is_ok());
        }
    }
    for op in &refutation.ops {
        let Op::ReadList { key, values } = history.op(*op) else { continue };
        for value in values {
            let (n_all, n_kept) = appended.get(&(key, *value)).copied().unwrap_or_default();
            if n_kept != 0 && n_kept != n_all {
                let txn = history.txn_of(*op);
                return Err(wrong(history, txn, "saw an element in the core that somebody else appended, too"));
            }
        }
    }
    Ok(())
}

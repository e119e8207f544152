//! Large cores of which no execution comes to its end, whatever is tried.
//!
//! Where values are few, a violation may need hundreds of transactions: each of them could have been explained by others, if
//! these had not been where they were. There is no cycle to show then, and no short derivation; but the states in which
//! sessions can be are few enough to try them all, for `certify` as well. The core is made smaller as long as there is time,
//! first by whole keys.

use crate::check::refute;
use crate::forward::is_stuck;
use crate::name;
use crate::order::Frame;
use crate::rule::{Rule, Visibility};
use crate::shrink::Core;
use iso_evidence::{Budget, Refutation, StopReason};
use iso_history::{Facts, OpId};
use iso_spec::Level;
use std::collections::BTreeSet;

/// Smaller cores are explained in other ways.
pub(crate) const MANY_TXNS: usize = 32;

/// Refutes a large core by its executions, if they are few enough.
pub(crate) fn refute_by_executions(
    facts: &Facts<'_>,
    level: Level,
    core: &Core,
    budget: &Budget<'_>,
) -> Option<Refutation> {
    let is_asked = Rule::of(level).visibility == Visibility::Everything && level.snapshots().is_none();
    if core.txns.len() <= MANY_TXNS || !is_asked || !facts.has_ambiguous_reads() {
        return None;
    }
    let stuck = Stuck { facts, level };
    if !stuck.is_core(core, &budget.silent()).ok()? {
        return None;
    }
    let to_explain = budget.for_explanation();
    let mut core = core.clone();
    let is_minimal = stuck.shrink(&mut core, &to_explain).is_ok();
    if is_minimal && core.txns.len() <= MANY_TXNS {
        return Some(refute(facts, level, core, budget));
    }
    let projection = core.project(facts);
    let weakest = name::weakest(&Facts::new(&projection.history), level, &to_explain);
    let anomalies = name::name(&projection, weakest, &[], &to_explain).into_iter().collect();
    let (txns, ops) = (projection.txns[1..].to_vec(), projection.ops);
    Some(Refutation { anomalies, txns, ops, local: None, cycle: Vec::new(), proof: None, grounds: None })
}

struct Stuck<'a> {
    facts: &'a Facts<'a>,
    level: Level,
}

impl Stuck<'_> {
    fn is_core(&self, core: &Core, budget: &Budget<'_>) -> Result<bool, StopReason> {
        budget.check()?;
        let projection = core.project(self.facts);
        let facts = Facts::new(&projection.history);
        Ok(facts.local().is_empty() && is_stuck(&Frame::new(&facts, Rule::of(self.level)), budget)?)
    }

    /// Leaves out keys, and then transactions in blocks that halve in size.
    fn shrink(&self, core: &mut Core, budget: &Budget<'_>) -> Result<(), StopReason> {
        let history = self.facts.history();
        for key in history.keys() {
            let of_key = |it: &OpId| history.op(*it).key() == key;
            let dropped: BTreeSet<OpId> = core.txns.iter().flat_map(|it| history.ops(*it)).filter(of_key).collect();
            let smaller = Core { without: core.without.union(&dropped).copied().collect(), ..core.clone() };
            if self.is_core(&smaller, budget)? {
                *core = smaller;
            }
        }
        let mut block = core.txns.len().div_ceil(2);
        while block > 0 {
            let mut start = 0;
            while start < core.txns.len() {
                let end = (start + block).min(core.txns.len());
                let mut smaller = core.clone();
                smaller.txns.drain(start..end);
                if self.is_core(&smaller, budget)? {
                    *core = smaller;
                } else {
                    start = end;
                }
            }
            block /= 2;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_store::few_values::{STORES, nearly};
    use iso_evidence::{Verdict, certify};
    use iso_history::TxnId;

    /// Without time to make it smaller, the core is the whole history.
    #[test]
    fn a_core_without_executions_is_certified_at_any_size() {
        let at_once = || Some(StopReason::Timeout);
        let never = || None;
        let budget = Budget::new(&never).explained_until(&at_once);
        for (sight, level) in STORES {
            let mut n_refuted = 0;
            for seed in 0..12 {
                let history = nearly(sight, seed);
                let facts = Facts::new(&history);
                let txns: Vec<TxnId> = facts.txns().collect();
                let n_txns = txns.len();
                let Some(refutation) = refute_by_executions(&facts, level, &Core::of(txns), &budget) else { continue };
                assert_eq!(refutation.txns.len(), n_txns);
                let verdict = Verdict::Forbidden(refutation);
                certify(&history, level, &verdict).unwrap_or_else(|it| panic!("{level}, seed {seed}: {it:?}"));
                n_refuted += 1;
            }
            assert!(level == Level::PrefixConsistency || n_refuted > 2, "{level}: {n_refuted} of 12");
        }
    }
}

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
    Some(Refutation { anomalies, txns, ops, local: None, cycle: Vec::new(), proof: None, derivation: None })
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

//! Read uncommitted, where elements of lists were rolled back and appended again by somebody else.
//!
//! A read of such an element may be a dirty one, which shows nothing, or not. What is forbidden without these reads is
//! forbidden anyway. Otherwise, reads are decided one after the other: those that are not decided yet are left out, and if
//! the rest is forbidden already, so is everything that goes on like this. The core of a refutation has whoever appended
//! an element that its reads saw, aborted or not.
//! Cost: one decision for each branch; where all reads saw what committed, there is one branch.

use crate::ambiguous::{decide_case, forbidden_without};
use crate::check::refute;
use crate::decision::Decision;
use crate::grounds::{grounds_for, is_certified};
use crate::local::refute_by_one_read;
use crate::shrink::Core;
use iso_evidence::{Budget, Refutation, StopReason, Verdict, Witness};
use iso_history::{Facts, History, KeyId, Op, OpId, Outcome, Projection, TxnId, ValueId};
use iso_spec::Level;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const LEVEL: Level = Level::ReadUncommitted;

/// Decides read uncommitted, if there are such reads.
pub(crate) fn check_mixed(facts: &Facts<'_>, budget: &Budget<'_>) -> Option<Verdict> {
    let mixed = facts.history().mixed_lists();
    if mixed.is_empty() {
        return None;
    }
    let verdict = || {
        if let Some(txns) = forbidden_without(facts, &mixed, LEVEL, budget)? {
            let core = Core { txns, without: mixed.iter().copied().collect() };
            return Ok(Verdict::Forbidden(refute(facts, LEVEL, core, budget)));
        }
        Ok(match decide_mixed(facts, budget)? {
            Decision::Allowed(witness) => Verdict::Allowed(witness),
            Decision::Forbidden(txns) => Verdict::Forbidden(
                Part::around(facts.history(), &txns, budget).shrink(&budget.for_explanation(), budget),
            ),
        })
    };
    Some(verdict().unwrap_or_else(Verdict::Unknown))
}

/// Decides what such reads may have been. What is forbidden are these transactions with whoever appended what they saw.
pub(crate) fn decide_mixed(facts: &Facts<'_>, budget: &Budget<'_>) -> Result<Decision, StopReason> {
    let history = facts.history();
    let reads = mixed_reads(history);
    let mut core = BTreeSet::new();
    // For each decided read, which of its places were rolled back, as bits.
    let mut chosen = vec![0_u64];
    while !chosen.is_empty() {
        budget.check()?;
        match decide_chosen(history, &reads, &chosen, budget)? {
            Branch::Allowed(witness) => return Ok(Decision::Allowed(witness)),
            Branch::Open => chosen.push(0),
            Branch::Forbidden(txns) => {
                core.extend(txns);
                while let Some(last) = chosen.pop() {
                    let n_cases = 1_u64.checked_shl(reads[chosen.len()].1.len() as u32).unwrap_or(u64::MAX);
                    if last + 1 < n_cases {
                        chosen.push(last + 1);
                        break;
                    }
                }
            }
        }
    }
    Ok(Decision::Forbidden(core.into_iter().collect()))
}

/// Such reads, each with the places of elements that may be either's.
pub(crate) fn mixed_reads(history: &History) -> Vec<(OpId, Vec<usize>)> {
    let mut reads: BTreeMap<OpId, Vec<usize>> = BTreeMap::new();
    for (read, nth) in history.mixed_places() {
        reads.entry(read).or_default().push(nth);
    }
    reads.into_iter().collect()
}

/// The history where it is chosen for the first reads which of their places were rolled back, as bits.
pub(crate) fn with_chosen(history: &History, reads: &[(OpId, Vec<usize>)], chosen: &[u64]) -> History {
    let mut rolled_back = BTreeSet::new();
    for ((read, places), bits) in reads.iter().zip(chosen) {
        let is_rolled_back = |it: &usize| bits >> it & 1 == 1;
        rolled_back.extend((0..places.len()).filter(is_rolled_back).map(|it| (*read, places[it])));
    }
    history.with_rolled_back(&rolled_back)
}

/// What is known when some of the reads are decided.
enum Branch {
    Allowed(Witness),
    Open,
    Forbidden(Vec<TxnId>),
}

/// Decides the history with the reads that are chosen, and without the others.
fn decide_chosen(
    history: &History,
    reads: &[(OpId, Vec<usize>)],
    chosen: &[u64],
    budget: &Budget<'_>,
) -> Result<Branch, StopReason> {
    let case = with_chosen(history, reads, chosen);
    if chosen.len() == reads.len() {
        return Ok(match decide_case(&case, LEVEL, budget)? {
            Decision::Allowed(witness) => Branch::Allowed(witness),
            Decision::Forbidden(core) => Branch::Forbidden(core),
        });
    }
    let open: Vec<OpId> = reads[chosen.len()..].iter().map(|it| it.0).collect();
    let facts = Facts::new(&case);
    // A read that nothing explains is no part of what is left otherwise.
    if let Some(refutation) = refute_by_one_read(&facts, LEVEL)
        && !refutation.ops.iter().any(|it| open.contains(it))
    {
        return Ok(Branch::Forbidden(refutation.txns));
    }
    Ok(forbidden_without(&facts, &open, LEVEL, budget)?.map_or(Branch::Open, Branch::Forbidden))
}

/// What a transaction appended to a list.
type Block = (TxnId, KeyId);

/// A part of a history of lists: reads, and what was appended. Of an element that a read saw, everybody who appended it is
/// in the part, or nobody.
struct Part<'h> {
    history: &'h History,
    appends: BTreeMap<Block, Vec<(OpId, ValueId)>>,
    reads: BTreeSet<OpId>,
    blocks: BTreeSet<Block>,
}

impl<'h> Part<'h> {
    /// The lists of these transactions; all lists, if that is too little.
    fn around(history: &'h History, txns: &[TxnId], budget: &Budget<'_>) -> Self {
        let mut appends: BTreeMap<Block, Vec<(OpId, ValueId)>> = BTreeMap::new();
        let mut reads = BTreeSet::new();
        for txn in history.txns() {
            for op in history.ops(txn) {
                match history.op(op) {
                    Op::Append { key, value } => appends.entry((txn, key)).or_default().push((op, value)),
                    Op::ReadList { .. } if history.outcome(txn) == Outcome::Committed => {
                        reads.insert(op);
                    }
                    _ => {}
                }
            }
        }
        let blocks = appends.keys().copied().collect();
        let whole = Self { history, appends, reads, blocks };
        let mut part =
            Self { appends: whole.appends.clone(), blocks: whole.blocks.clone(), reads: BTreeSet::new(), history };
        part.reads.extend(whole.reads.iter().filter(|it| txns.binary_search(&history.txn_of(**it)).is_ok()));
        if part.is_forbidden(budget) { part } else { whole }
    }

    fn ops(&self) -> BTreeSet<OpId> {
        let appended = self.blocks.iter().flat_map(|it| &self.appends[it]).map(|it| it.0);
        self.reads.iter().copied().chain(appended).collect()
    }

    fn is_forbidden(&self, budget: &Budget<'_>) -> bool {
        let ops = self.ops();
        let mut txns: Vec<TxnId> = ops.iter().map(|it| self.history.txn_of(*it)).collect();
        txns.dedup();
        let part = Projection::verbatim(self.history, &txns, |it| ops.contains(&it)).history;
        matches!(decide_case(&part, LEVEL, budget), Ok(Decision::Forbidden(_)))
    }

    /// Leaves out reads and what was appended, as long as the rest is forbidden and there is time. That it is forbidden has
    /// the time of the verdict.
    fn shrink(mut self, budget: &Budget<'_>, verdict: &Budget<'_>) -> Refutation {
        for read in self.reads.clone() {
            if budget.check().is_ok() {
                self.reads.remove(&read);
                if !self.is_forbidden(budget) {
                    self.reads.insert(read);
                }
            }
        }
        for block in self.blocks.clone() {
            if self.blocks.contains(&block) && budget.check().is_ok() {
                let before = self.blocks.clone();
                self.remove(block);
                if self.is_torn() || !self.is_forbidden(budget) {
                    self.blocks = before;
                }
            }
        }
        let ops: Vec<OpId> = self.ops().into_iter().collect();
        let mut txns: Vec<TxnId> = ops.iter().map(|it| self.history.txn_of(*it)).collect();
        txns.dedup();
        let core = Projection::verbatim(self.history, &txns, |it| ops.binary_search(&it).is_ok()).history;
        let refutation =
            Refutation { anomalies: Vec::new(), txns, ops, local: None, cycle: Vec::new(), proof: None, grounds: None };
        let is_seen_without = || is_certified(&Facts::new(self.history), LEVEL, &refutation);
        let grounds = grounds_for(&Facts::new(&core), LEVEL, is_seen_without, verdict).map(Arc::new);
        Refutation { grounds, ..refutation }
    }

    /// Does a read miss what its own transaction appended to the list?
    fn is_torn(&self) -> bool {
        self.reads.iter().any(|it| {
            let own = (self.history.txn_of(*it), self.history.op(*it).key());
            self.appends.contains_key(&own) && !self.blocks.contains(&own)
        })
    }

    /// Removes what was appended, and what has elements in common with it.
    fn remove(&mut self, block: Block) {
        let mut pending = vec![block];
        while let Some(block) = pending.pop() {
            self.blocks.remove(&block);
            let shares = |it: &&Block| {
                let has = |value: ValueId| self.appends[&block].iter().any(|it| it.1 == value);
                it.1 == block.1 && self.appends[*it].iter().any(|it| has(it.1))
            };
            pending.extend(self.blocks.iter().filter(shares).copied());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check;
    use crate::test_store::history;
    use iso_evidence::{Budget, Verdict, certify};
    use iso_history::History;
    use iso_spec::Level;

    fn is_allowed(history: &History) -> bool {
        let verdict = check(history, Level::ReadUncommitted, &Budget::unlimited());
        certify(history, Level::ReadUncommitted, &verdict).unwrap_or_else(|it| panic!("{it:?}: {verdict:?}"));
        match verdict {
            Verdict::Allowed(_) => true,
            Verdict::Forbidden(_) => false,
            Verdict::Unknown(reason) => panic!("{reason}"),
        }
    }

    #[test]
    fn an_element_that_was_rolled_back_and_appended_again_may_have_been_read_dirty() {
        assert!(is_allowed(&history(&["a! ax9", "b ax9 ay1", "c ax1 ay2", "d lx91 ly21"])));
        assert!(is_allowed(&history(&["a! ax9", "b ax9", "c ax1", "d lx91", "e lx919"])));
    }

    #[test]
    fn whether_it_was_read_dirty_or_not_the_order_may_be_forbidden() {
        // If 9 is that of b, then b comes before c in x and after it in y; if it is not, b appended to x after e, and
        // before it in z.
        let lines = ["a! ax9", "b ax9 ay1 az1", "c ax1 ay2", "e ax3 az2", "d lx913 ly21", "f lz12"];
        assert!(!is_allowed(&history(&lines)));
        assert!(is_allowed(&history(&lines[..5])));
    }

    #[test]
    fn a_core_has_what_the_transaction_of_a_read_appended_itself() {
        assert!(!is_allowed(&history(&["a! ay0", "b ay0 ly023"])));
    }

    #[test]
    fn what_is_forbidden_elsewhere_is_found_without_such_reads() {
        assert!(!is_allowed(&history(&["a! ax9", "b ax9 ay1 az1", "c ax1 ay2 az2", "d lx91", "e ly12 lz21"])));
    }
}

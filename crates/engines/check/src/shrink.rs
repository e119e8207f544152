//! Makes a forbidden part minimal: without any of its transactions or operations it is allowed.
//!
//! A forbidden history stays forbidden when more is added to it, so one pass of "try without it" is enough. Before
//! that, the engine itself names who is to blame, again and again on the smaller part, which takes most away at once.

use crate::decide::{Decision, decide};
use iso_evidence::{Budget, StopReason};
use iso_history::{Facts, OpId, Projection, TxnId};
use iso_spec::Level;
use std::collections::BTreeSet;

/// A part of a history: its transactions (ascending) without some operations.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) txns: Vec<TxnId>,
    pub(crate) without: BTreeSet<OpId>,
}

impl Part {
    pub(crate) fn project(&self, facts: &Facts<'_>) -> Projection {
        Projection::new(facts, &self.txns, &self.without)
    }
}

/// The smallest part that can be found around `blamed`, which is forbidden by itself.
///
/// If time runs out on the way, the part is still forbidden, but may not be minimal.
pub(crate) fn shrink(facts: &Facts<'_>, level: Level, blamed: Vec<TxnId>, budget: &Budget<'_>) -> Part {
    let mut shrinking = Shrinking { facts, level, budget };
    let whole = Part { txns: facts.txns().collect(), without: BTreeSet::new() };
    let blamed = Part { txns: blamed, without: BTreeSet::new() };
    let mut part = match shrinking.blamed_in(&blamed) {
        Ok(Some(_)) => blamed,
        _ => whole,
    };
    // Out of time: what we have is forbidden, and that is all that is promised.
    if shrinking.follow_blame(&mut part).is_ok() && shrinking.drop_txns(&mut part).is_ok() {
        let _minimal = shrinking.drop_ops(&mut part);
    }
    part
}

struct Shrinking<'a> {
    facts: &'a Facts<'a>,
    level: Level,
    budget: &'a Budget<'a>,
}

impl Shrinking<'_> {
    /// Who is to blame if the part is forbidden.
    fn blamed_in(&mut self, part: &Part) -> Result<Option<Vec<TxnId>>, StopReason> {
        self.budget.check()?;
        let projection = part.project(self.facts);
        let facts = Facts::new(&projection.history);
        debug_assert!(facts.local().is_empty(), "a projection keeps only reads that can be explained");
        match decide(&facts, self.level, self.budget)? {
            Decision::Allowed(_) => Ok(None),
            Decision::Forbidden(blamed) => {
                let mut blamed: Vec<TxnId> = blamed.iter().map(|it| projection.txns[it.index()]).collect();
                blamed.sort_unstable();
                Ok(Some(blamed))
            }
        }
    }

    fn follow_blame(&mut self, part: &mut Part) -> Result<(), StopReason> {
        loop {
            let Some(blamed) = self.blamed_in(part)? else { return Ok(()) };
            let smaller = Part { txns: blamed, without: part.without.clone() };
            if smaller.txns.len() >= part.txns.len() || self.blamed_in(&smaller)?.is_none() {
                return Ok(());
            }
            *part = smaller;
        }
    }

    /// Drops transactions in blocks that halve in size, so that a large part costs few questions.
    fn drop_txns(&mut self, part: &mut Part) -> Result<(), StopReason> {
        let mut block = part.txns.len().div_ceil(2).max(1);
        loop {
            let mut start = 0;
            while start < part.txns.len() {
                let end = (start + block).min(part.txns.len());
                let mut smaller = part.clone();
                smaller.txns.drain(start..end);
                match self.blamed_in(&smaller)? {
                    Some(_) => *part = smaller,
                    None => start = end,
                }
            }
            if block == 1 {
                return Ok(());
            }
            block = block.div_ceil(2);
        }
    }

    fn drop_ops(&mut self, part: &mut Part) -> Result<(), StopReason> {
        for op in part.project(self.facts).ops {
            let mut smaller = part.clone();
            smaller.without.insert(op);
            if self.blamed_in(&smaller)?.is_some() {
                *part = smaller;
            }
        }
        Ok(())
    }
}

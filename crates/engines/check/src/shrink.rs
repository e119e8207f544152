//! Makes a forbidden core minimal: without any of its transactions or operations it is allowed.
//!
//! A forbidden history stays forbidden when more is added to it, so one pass of "try without it" is enough. Before
//! that, the engine extracts a core, again and again from the smaller one, which takes most away at once.

use crate::decide::decide;
use crate::decision::Decision;
use crate::local::refute_by_one_read;
use iso_evidence::{Budget, StopReason};
use iso_history::{Facts, OpId, Projection, TxnId};
use iso_spec::Level;
use std::collections::BTreeSet;

/// A core of a history: its transactions (ascending) without some operations.
#[derive(Clone, Debug)]
pub(crate) struct Core {
    pub(crate) txns: Vec<TxnId>,
    pub(crate) without: BTreeSet<OpId>,
}

impl Core {
    /// Transactions with all their operations.
    pub(crate) fn of(txns: Vec<TxnId>) -> Self {
        Self { txns, without: BTreeSet::new() }
    }

    pub(crate) fn project(&self, facts: &Facts<'_>) -> Projection {
        Projection::new(facts, &self.txns, &self.without)
    }
}

/// The smallest core that can be found around `extracted`, which is probably forbidden by itself.
///
/// If time runs out on the way, the core is still forbidden, but may not be minimal.
pub(crate) fn shrink(facts: &Facts<'_>, level: Level, extracted: Core, budget: &Budget<'_>) -> Core {
    let mut shrinking = Shrinking { facts, level, budget };
    // Reads that may be dirty ones show nothing at read uncommitted.
    let mixed = if level == Level::ReadUncommitted { facts.history().mixed_lists() } else { Vec::new() };
    let without: BTreeSet<OpId> = mixed.into_iter().collect();
    let whole = Core { txns: facts.txns().collect(), without: without.clone() };
    let with_all_operations = Core { txns: extracted.txns.clone(), without };
    let mut is_core = |it: &Core| matches!(shrinking.extract_from(it), Ok(Some(_)));
    let mut core = match (is_core(&extracted), extracted.without.is_empty()) {
        (true, _) => extracted,
        (false, false) if is_core(&with_all_operations) => with_all_operations,
        _ => whole,
    };
    // Out of time: what we have is forbidden, and that is all that is promised.
    if shrinking.repeat_extraction(&mut core).is_ok() && shrinking.drop_txns(&mut core).is_ok() {
        let _minimal = shrinking.drop_ops(&mut core);
    }
    core
}

/// Is the history forbidden by those of its operations alone that a core may have?
pub(crate) fn stands(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> bool {
    let whole = Core::of(facts.txns().collect());
    matches!(Shrinking { facts, level, budget }.extract_from(&whole), Ok(Some(_)))
}

struct Shrinking<'a> {
    facts: &'a Facts<'a>,
    level: Level,
    budget: &'a Budget<'a>,
}

impl Shrinking<'_> {
    /// A core within the core, if that is forbidden.
    fn extract_from(&mut self, core: &Core) -> Result<Option<Vec<TxnId>>, StopReason> {
        self.budget.check()?;
        let projection = core.project(self.facts);
        let facts = Facts::new(&projection.history);
        if let Some(refutation) = refute_by_one_read(&facts, self.level) {
            // Only where a list had several meanings in the whole history.
            return Ok(Some(refutation.txns.iter().map(|it| projection.txns[it.index()]).collect()));
        }
        match decide(&facts, self.level, self.budget)? {
            Decision::Allowed(_) => Ok(None),
            Decision::Forbidden(extracted) => {
                let mut extracted: Vec<TxnId> = extracted.iter().map(|it| projection.txns[it.index()]).collect();
                extracted.sort_unstable();
                Ok(Some(extracted))
            }
        }
    }

    fn repeat_extraction(&mut self, core: &mut Core) -> Result<(), StopReason> {
        loop {
            let Some(extracted) = self.extract_from(core)? else { return Ok(()) };
            let smaller = Core { txns: extracted, without: core.without.clone() };
            if smaller.txns.len() >= core.txns.len() || self.extract_from(&smaller)?.is_none() {
                return Ok(());
            }
            *core = smaller;
        }
    }

    /// Drops transactions in blocks that halve in size, so that a large core costs few questions.
    fn drop_txns(&mut self, core: &mut Core) -> Result<(), StopReason> {
        let mut block = core.txns.len().div_ceil(2).max(1);
        loop {
            let mut start = 0;
            while start < core.txns.len() {
                let end = (start + block).min(core.txns.len());
                let mut smaller = core.clone();
                smaller.txns.drain(start..end);
                match self.extract_from(&smaller)? {
                    Some(_) => *core = smaller,
                    None => start = end,
                }
            }
            if block == 1 {
                return Ok(());
            }
            block = block.div_ceil(2);
        }
    }

    fn drop_ops(&mut self, core: &mut Core) -> Result<(), StopReason> {
        for op in core.project(self.facts).ops {
            let mut smaller = core.clone();
            smaller.without.insert(op);
            if self.extract_from(&smaller)?.is_some() {
                *core = smaller;
            }
        }
        Ok(())
    }
}

//! From a search that found nothing to the few transactions that are enough for that.

use crate::ground::World;
use crate::search::{Searched, search};
use crate::view::{Outcome, unsupported};
use iso_evidence::{Budget, Note, Stage};
use iso_form::Form;
use iso_history::{Facts, OpId, Outcome as Ending, Projection, Standing, TxnId};
use iso_spec::{Execution, Spec};
use std::collections::BTreeSet;

/// What became of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Realized {
    /// The text is true of this execution.
    Execution(Execution),
    /// It is true of none, because of these transactions, without the initial one, and operations; both ascending.
    Nothing {
        /// The transactions.
        txns: Vec<TxnId>,
        /// Those of their operations that matter.
        ops: Vec<OpId>,
    },
}

/// More transactions are not searched where only the whole history can show that nothing explains it.
const MAX_TXNS_OF_WHOLE: usize = 100;

/// Looks for an execution of a world of the history of which the text of a level is true, starting from an order that
/// may be wrong.
///
/// If there is none, says who is to blame, as few as can be; other worlds may still have one. An error says why nothing
/// is known, which may be that the text does not have the form that the search wants.
pub fn realize(
    facts: &Facts<'_>,
    spec: &Spec,
    world: &World,
    hint: &[TxnId],
    budget: &Budget<'_>,
) -> Outcome<Realized> {
    let form = Form::new(spec);
    if !form.follows_from_order() {
        return Err(unsupported("a witness that does not follow from one order"));
    }
    // Where a part says nothing about the whole, it could not be shown that there is no execution.
    if !spec.is_kept_by_parts() && world.txns.len() > MAX_TXNS_OF_WHOLE {
        return Err(unsupported("a level that asks for something to exist, and that the order of no known level fits"));
    }
    let question = Question { form: &form, facts, world, hint };
    Ok(match search(&form, facts, world, hint, budget)? {
        Searched::Execution(found) => Realized::Execution(found),
        Searched::Blamed(txns) => {
            budget.note(Note::Begins(Stage::Explanation));
            let txns = question.fewer_txns(txns, budget);
            let without = question.fewer_ops(&txns, budget);
            let part = Projection::new(facts, &txns, &without);
            Realized::Nothing { txns, ops: part.ops }
        }
    })
}

struct Question<'q> {
    form: &'q Form<'q>,
    facts: &'q Facts<'q>,
    world: &'q World,
    hint: &'q [TxnId],
}

impl Question<'_> {
    /// Fewer transactions that are to blame by themselves, as long as the budget lasts.
    fn fewer_txns(&self, txns: Vec<TxnId>, budget: &Budget<'_>) -> Vec<TxnId> {
        let txns = self.with_readers(txns);
        let mut kept = self.blamed(&txns, &BTreeSet::new(), budget).unwrap_or(txns);
        let mut n_cut = kept.len() / 2;
        while n_cut > 0 {
            let mut start = 0;
            while start < kept.len() && budget.check().is_ok() {
                let end = (start + n_cut).min(kept.len());
                let rest: Vec<TxnId> = kept[..start].iter().chain(&kept[end..]).copied().collect();
                match self.blamed(&rest, &BTreeSet::new(), budget) {
                    Some(fewer) => {
                        start = fewer.partition_point(|it| kept[..start].contains(it));
                        kept = fewer;
                    }
                    None => start = end,
                }
            }
            n_cut = if n_cut > kept.len() { kept.len() / 2 } else { n_cut / 2 };
        }
        kept
    }

    /// The same, and those who show by what they read that indeterminate ones among them committed.
    fn with_readers(&self, txns: Vec<TxnId>) -> Vec<TxnId> {
        let is_indeterminate = |it: &TxnId| self.facts.history().outcome(*it) == Ending::Indeterminate;
        let mut all: BTreeSet<TxnId> = txns.iter().copied().collect();
        let mut pending: Vec<TxnId> = txns.into_iter().filter(is_indeterminate).collect();
        while let Some(txn) = pending.pop() {
            let mut reads = (0..self.facts.reads().len()).filter(|it| *self.facts.candidates(*it) == [txn]);
            if let Some(reader) = reads.next().map(|it| self.facts.reads()[it].reader)
                && all.insert(reader)
                && is_indeterminate(&reader)
            {
                pending.push(reader);
            }
        }
        all.into_iter().collect()
    }

    /// Operations of these transactions without which nothing explains the rest, either.
    fn fewer_ops(&self, txns: &[TxnId], budget: &Budget<'_>) -> BTreeSet<OpId> {
        let mut without = BTreeSet::new();
        let mut left = Projection::new(self.facts, txns, &without).ops;
        let mut n_cut = left.len() / 2;
        while n_cut > 0 {
            let mut kept = Vec::new();
            for cut in left.chunks(n_cut) {
                let more: BTreeSet<OpId> = without.iter().chain(cut).copied().collect();
                if budget.check().is_ok() && self.blamed(txns, &more, budget).is_some() {
                    without = more;
                } else {
                    kept.extend(cut);
                }
            }
            left = kept;
            n_cut = n_cut.min(left.len()) / 2;
        }
        without
    }

    /// Who is to blame in the part of the history with these transactions and without these operations, if nothing
    /// explains it.
    fn blamed(&self, txns: &[TxnId], without: &BTreeSet<OpId>, budget: &Budget<'_>) -> Option<Vec<TxnId>> {
        let part = Projection::new(self.facts, txns, without);
        let facts = Facts::new(&part.history);
        let place = |it: &TxnId| part.txns.binary_search(it).ok().map(TxnId::from_index);
        let hint: Vec<TxnId> = self.hint.iter().filter_map(place).collect();
        let world = self.world_of(&part, &facts);
        match search(self.form, &facts, &world, &hint, &budget.silent()) {
            Ok(Searched::Blamed(blamed)) => Some(blamed.into_iter().map(|it| part.txns[it.index()]).collect()),
            _ => None,
        }
    }

    /// The same world in a part of the history: a read that is left has everybody who may have written what it saw.
    fn world_of(&self, part: &Projection, facts: &Facts<'_>) -> World {
        let place = |it: &TxnId| part.txns.binary_search(it).ok().map(TxnId::from_index);
        let is_in = |it: &TxnId| it.is_initial() || facts.standing(*it) != Standing::Out;
        let txns = self.world.txns.iter().filter_map(place).filter(is_in).collect();
        let source = |(idx, op): (usize, &OpId)| {
            let at = self.world.sources.binary_search_by_key(op, |it| it.0).ok()?;
            Some((OpId::from_index(idx), place(&self.world.sources[at].1)?))
        };
        World { txns, sources: part.ops.iter().enumerate().filter_map(source).collect() }
    }
}

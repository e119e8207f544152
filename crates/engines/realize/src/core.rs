//! From a search that found nothing to the few transactions that are enough for that.

use crate::ground::World;
use crate::search::{Realized, search};
use crate::view::{Outcome, unsupported};
use iso_evidence::{Budget, Note, Stage};
use iso_form::Form;
use iso_history::{Facts, OpId, Projection, Standing, TxnId};
use iso_spec::Spec;
use std::collections::BTreeSet;

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
    let question = Question { form: &form, facts, world, hint };
    match search(&form, facts, world, hint, budget)? {
        Realized::Nothing(txns) => {
            budget.note(Note::Begins(Stage::Explanation));
            Ok(Realized::Nothing(question.smaller(txns, budget)))
        }
        found @ Realized::Execution(_) => Ok(found),
    }
}

struct Question<'q> {
    form: &'q Form<'q>,
    facts: &'q Facts<'q>,
    world: &'q World,
    hint: &'q [TxnId],
}

impl Question<'_> {
    /// Fewer transactions that are to blame by themselves, as long as the budget lasts.
    fn smaller(&self, txns: Vec<TxnId>, budget: &Budget<'_>) -> Vec<TxnId> {
        let mut kept = self.blamed(&txns, budget).unwrap_or(txns);
        let mut n_cut = kept.len() / 2;
        while n_cut > 0 {
            let mut start = 0;
            while start < kept.len() && budget.check().is_ok() {
                let end = (start + n_cut).min(kept.len());
                let rest: Vec<TxnId> = kept[..start].iter().chain(&kept[end..]).copied().collect();
                match self.blamed(&rest, budget) {
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

    /// Who is to blame in the part of the history with these transactions, if nothing explains it.
    fn blamed(&self, txns: &[TxnId], budget: &Budget<'_>) -> Option<Vec<TxnId>> {
        let part = Projection::new(self.facts, txns, &BTreeSet::new());
        let facts = Facts::new(&part.history);
        let place = |it: &TxnId| part.txns.binary_search(it).ok().map(TxnId::from_index);
        let hint: Vec<TxnId> = self.hint.iter().filter_map(place).collect();
        let world = self.world_of(&part, &facts);
        match search(self.form, &facts, &world, &hint, &budget.silent()) {
            Ok(Realized::Nothing(blamed)) => Some(blamed.into_iter().map(|it| part.txns[it.index()]).collect()),
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

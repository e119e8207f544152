//! From a search that found nothing to the few transactions that are enough for that.

use crate::ground::World;
use crate::search::{Realized, search};
use crate::view::{Outcome, unsupported};
use iso_evidence::{Budget, Note, Stage};
use iso_form::Form;
use iso_history::{Facts, Projection, TxnId};
use iso_spec::Spec;
use std::collections::BTreeSet;

/// Looks for an execution of a world of the history of which the text of a level is true, starting from an order that
/// may be wrong.
///
/// If there is none, says who is to blame, as few as can be. An error says why nothing is known, which may be that the
/// text does not have the form that the search wants.
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
    match search(&form, facts, world, hint, budget)? {
        Realized::Nothing(txns) if World::only(facts).as_ref() == Some(world) => {
            budget.note(Note::Begins(Stage::Explanation));
            Ok(Realized::Nothing(smaller(&form, facts, txns, hint, budget)))
        }
        Realized::Nothing(_) => Err(unsupported("reads that several transactions may have written")),
        found @ Realized::Execution(_) => Ok(found),
    }
}

/// Fewer transactions that are to blame by themselves, as long as the budget lasts.
fn smaller(form: &Form<'_>, facts: &Facts<'_>, txns: Vec<TxnId>, hint: &[TxnId], budget: &Budget<'_>) -> Vec<TxnId> {
    let mut kept = blamed(form, facts, &txns, hint, budget).unwrap_or(txns);
    let mut n_cut = kept.len() / 2;
    while n_cut > 0 {
        let mut start = 0;
        while start < kept.len() {
            let end = (start + n_cut).min(kept.len());
            let rest: Vec<TxnId> = kept[..start].iter().chain(&kept[end..]).copied().collect();
            if budget.check().is_err() {
                return kept;
            }
            match blamed(form, facts, &rest, hint, budget) {
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
fn blamed(
    form: &Form<'_>,
    facts: &Facts<'_>,
    txns: &[TxnId],
    hint: &[TxnId],
    budget: &Budget<'_>,
) -> Option<Vec<TxnId>> {
    let part = Projection::new(facts, txns, &BTreeSet::new());
    let part_facts = Facts::new(&part.history);
    let world = World::only(&part_facts)?;
    let place = |it: &TxnId| part.txns.binary_search(it).ok().map(TxnId::from_index);
    let hint: Vec<TxnId> = hint.iter().filter_map(place).collect();
    match search(form, &part_facts, &world, &hint, &budget.silent()) {
        Ok(Realized::Nothing(blamed)) => Some(blamed.into_iter().map(|it| part.txns[it.index()]).collect()),
        _ => None,
    }
}

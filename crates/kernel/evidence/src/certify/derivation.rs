//! Does a derivation lead from axioms to a contradiction? Replayed in one pass, without search.
//!
//! A clause with one literal left is known for good, and such literals are taken out of later clauses, so that whatever
//! follows without a case split needs no hints. Cost: linear in the literals and hints; memory for the clauses that were
//! not forgotten.

mod axioms;
#[cfg(test)]
mod tests;

use super::resolution::{Clauses, Outlook};
use super::uncertified::Uncertified;
use crate::{Atom, Derivation, Inference};
use axioms::Axioms;
use iso_history::Facts;
use iso_spec::Level;

/// Checks a derivation that a level forbids the history of these facts.
pub fn certify_derivation(facts: &Facts<'_>, level: Level, derivation: &Derivation) -> Result<(), Uncertified> {
    if !level.implies(derivation.level) {
        return Err(Uncertified::new(format!("a derivation for {} says nothing about {level}", derivation.level)));
    }
    replay(facts, derivation.level, &derivation.atoms, &derivation.inferences)
}

/// Replays inferences as they come, until one contradicts the rest.
fn replay<'d>(
    facts: &Facts<'_>,
    level: Level,
    atoms: &[Atom],
    inferences: impl IntoIterator<Item = &'d Inference>,
) -> Result<(), Uncertified> {
    if level.with_sessions().is_some() || facts.ambiguous_list().is_some() {
        return Err(Uncertified::new(format!("a derivation for {level} of lists with several meanings")));
    }
    let axioms = Axioms::new(facts, level, atoms);
    let mut clauses = Clauses::new(atoms.len());
    for (number, inference) in (0..).zip(inferences) {
        let clause = match inference {
            Inference::Axiom(axiom) => axioms.clause(axiom).ok_or_else(|| refused("no axiom", number, inference))?,
            Inference::Acyclic(events) => {
                axioms.acyclic(events).ok_or_else(|| refused("no cycle", number, inference))?
            }
            Inference::Resolvent { clause, hints } if clauses.implies(clause, hints) => clause.clone(),
            Inference::Resolvent { .. } => return Err(refused("no resolvent", number, inference)),
            Inference::Forget(numbers) => {
                clauses.forget(numbers);
                continue;
            }
        };
        if clauses.add(number, clause) == Outlook::Contradiction {
            return Ok(());
        }
    }
    Err(Uncertified::new("a derivation does not end in a contradiction"))
}

fn refused(what: &str, number: u32, inference: &Inference) -> Uncertified {
    let mut shown = format!("{inference:?}");
    shown.truncate(200);
    Uncertified::new(format!("inference {number} of a derivation is {what} of its level: {shown}"))
}

//! Does a derivation lead from axioms to a contradiction? Replayed in one pass, without search.
//!
//! A clause with one literal left is known for good, and such literals are taken out of later clauses, so that whatever
//! follows without a case split needs no hints. Cost: linear in the literals and hints; memory for the clauses that were
//! not forgotten.

mod axioms;
#[cfg(test)]
mod tests;

use super::uncertified::Uncertified;
use crate::{Atom, Derivation, Inference, Literal};
use axioms::Axioms;
use iso_history::Facts;
use iso_spec::Level;
use rustc_hash::FxHashMap;

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
    let mut clauses = Clauses { values: vec![None; atoms.len()], live: FxHashMap::default() };
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outlook {
    Open,
    Contradiction,
}

/// What holds so far.
struct Clauses {
    /// What is known for good; while a resolvent is checked, also what follows from its negation.
    values: Vec<Option<bool>>,
    /// Clauses with two literals or more, by number.
    live: FxHashMap<u32, Box<[Literal]>>,
}

/// What is left of a clause.
enum Rest {
    True,
    One(Literal),
    Several,
    Nothing,
}

impl Clauses {
    fn value(&self, literal: Literal) -> Option<bool> {
        self.values[literal.atom()].map(|it| it == literal.value())
    }

    fn add(&mut self, number: u32, mut clause: Vec<Literal>) -> Outlook {
        match self.rest(&clause) {
            Rest::True => {}
            Rest::One(literal) => self.values[literal.atom()] = Some(literal.value()),
            Rest::Nothing => return Outlook::Contradiction,
            Rest::Several => {
                clause.retain(|it| self.value(*it).is_none());
                self.live.insert(number, clause.into_boxed_slice());
            }
        }
        Outlook::Open
    }

    fn rest(&self, clause: &[Literal]) -> Rest {
        let mut left = None;
        for literal in clause {
            match self.value(*literal) {
                Some(true) => return Rest::True,
                Some(false) => {}
                None if left.is_some_and(|it| it != *literal) => return self.rest_of_several(clause),
                None => left = Some(*literal),
            }
        }
        left.map_or(Rest::Nothing, Rest::One)
    }

    fn rest_of_several(&self, clause: &[Literal]) -> Rest {
        if clause.iter().any(|it| self.value(*it) == Some(true)) { Rest::True } else { Rest::Several }
    }

    /// Is a clause true because its negation leads from hint to hint into a contradiction?
    fn implies(&mut self, clause: &[Literal], hints: &[u32]) -> bool {
        if clause.iter().any(|it| it.atom() >= self.values.len()) {
            return false;
        }
        let mut assigned = Vec::new();
        let is_implied = self.refute(clause, hints, &mut assigned);
        for atom_idx in assigned {
            self.values[atom_idx] = None;
        }
        is_implied
    }

    fn refute(&mut self, clause: &[Literal], hints: &[u32], assigned: &mut Vec<usize>) -> bool {
        for literal in clause {
            match self.value(*literal) {
                Some(true) => return true,
                Some(false) => {}
                None => self.assign(literal.negated(), assigned),
            }
        }
        for hint in hints {
            let Some(hinted) = self.live.get(hint) else { continue };
            match self.rest(hinted) {
                Rest::Nothing => return true,
                Rest::One(literal) => self.assign(literal, assigned),
                Rest::True | Rest::Several => {}
            }
        }
        false
    }

    fn assign(&mut self, literal: Literal, assigned: &mut Vec<usize>) {
        self.values[literal.atom()] = Some(literal.value());
        assigned.push(literal.atom());
    }

    fn forget(&mut self, numbers: &[u32]) {
        for number in numbers {
            self.live.remove(number);
        }
    }
}

//! Clauses that follow from others by unit propagation, with hints, as in LRAT.
//!
//! A clause with one literal left is known for good, and such literals are taken out of later clauses.

use crate::Literal;
use rustc_hash::FxHashMap;

/// Can everything that holds so far be true?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outlook {
    Open,
    Contradiction,
}

/// What holds so far.
pub(crate) struct Clauses {
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
    /// Nothing holds yet.
    pub(crate) fn new(n_atoms: usize) -> Self {
        Self { values: vec![None; n_atoms], live: FxHashMap::default() }
    }

    fn value(&self, literal: Literal) -> Option<bool> {
        self.values[literal.atom()].map(|it| it == literal.value())
    }

    /// One more clause holds, with a number.
    pub(crate) fn add(&mut self, number: u32, mut clause: Vec<Literal>) -> Outlook {
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
    pub(crate) fn implies(&mut self, clause: &[Literal], hints: &[u32]) -> bool {
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

    pub(crate) fn forget(&mut self, numbers: &[u32]) {
        for number in numbers {
            self.live.remove(number);
        }
    }
}

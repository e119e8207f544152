//! Replays a proof that one level implies another one.

use super::term::{Says, Term};
use super::theory::Theory;
use super::{Contradictory, Implication};
use crate::Literal;
use crate::certify::{Clauses, Outlook, Uncertified};
use iso_spec::{Sort, Spec};
use rustc_hash::FxHashMap;

/// Checks a proof that every history which the stronger level allows is allowed by the weaker one.
pub fn certify_implication(stronger: &Spec, weaker: &Spec, proof: &Implication) -> Result<(), Uncertified> {
    let theory = Theory::new(stronger, weaker, &proof.construction).map_err(Uncertified::new)?;
    if theory.obligations.len() != proof.refutations.len() {
        let (n, given) = (theory.obligations.len(), proof.refutations.len());
        return Err(Uncertified::new(format!("a proof shows {given} things, and has to show {n}")));
    }
    for (number, refutation) in proof.refutations.iter().enumerate() {
        replay(&theory, number, refutation).map_err(|why| {
            let title = &theory.obligations[number].title;
            Uncertified::new(format!("the proof of `{title}` is wrong: {why}"))
        })?;
    }
    Ok(())
}

fn replay(theory: &Theory, obligation: usize, refutation: &Contradictory) -> Result<(), String> {
    let mut atoms: FxHashMap<Says<Term>, u32> = FxHashMap::default();
    let mut instances = Vec::new();
    for (number, instance) in refutation.instances.iter().enumerate() {
        let clause = theory.clauses.get(instance.clause).ok_or_else(|| format!("instance {number} is of no clause"))?;
        if !theory.may_use(obligation, instance.clause) {
            return Err(format!("instance {number} is of a clause that does not hold here"));
        }
        let sorts: Option<Vec<Sort>> = instance.values.iter().map(|it| sort_of(theory, it)).collect();
        if sorts.as_ref() != Some(&clause.variables) {
            return Err(format!("instance {number} has wrong elements"));
        }
        let mut literals = Vec::new();
        for literal in clause.instance(&instance.values).unwrap_or_default() {
            let is_true = literal.is_true;
            let next = atoms.len() as u32;
            let atom = *atoms.entry(Says { is_true: true, ..literal }).or_insert(next);
            literals.push(Literal::new(atom, is_true));
        }
        // A clause that says nothing is no clause, but it has a number.
        instances.push(clause.instance(&instance.values).map(|_| literals));
    }
    let mut clauses = Clauses::new(atoms.len());
    for (number, clause) in (0..).zip(instances) {
        if let Some(clause) = clause
            && clauses.add(number, clause) == Outlook::Contradiction
        {
            return Ok(());
        }
    }
    for (number, resolvent) in (refutation.instances.len() as u32..).zip(&refutation.resolvents) {
        let literal = |it: &i32| {
            let atom = it.unsigned_abs().checked_sub(1).filter(|it| (*it as usize) < atoms.len())?;
            Some(Literal::new(atom, *it > 0))
        };
        let literals: Option<Vec<Literal>> = resolvent.literals.iter().map(literal).collect();
        let literals = literals.ok_or_else(|| format!("step {number} speaks of something else"))?;
        if !clauses.implies(&literals, &resolvent.hints) {
            return Err(format!("step {number} does not follow"));
        }
        if clauses.add(number, literals) == Outlook::Contradiction {
            return Ok(());
        }
    }
    Err("it does not end in a contradiction".to_owned())
}

/// The sort of an element, if it is well-formed.
fn sort_of(theory: &Theory, term: &Term) -> Option<Sort> {
    let function = theory.functions.get(term.function)?;
    let sorts: Option<Vec<Sort>> = term.arguments.iter().map(|it| sort_of(theory, it)).collect();
    (sorts? == function.parameters).then_some(function.sort)
}

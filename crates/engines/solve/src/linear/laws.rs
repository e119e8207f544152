//! What follows for the answers of comparisons from the sums that are compared.
//!
//! Two comparisons whose sums differ by a constant answer each other; a sum that cannot reach zero answers itself; and
//! of three that add up to a constant not all can be negative. All of this follows from the bits as well, and spares the
//! solver the way there. Together it decides what conditions on few open values mostly are about; it is no decision
//! procedure for sums, as Fourier and Motzkin's would be, and need not be, because the bits have the last word.
//! Cost: a law for each pair of comparisons up to a limit, and for those triples without conditions that have one.

use super::{Linear, same_number};
use crate::circuit::{Circuit, Wire};
use crate::word::Word;
use std::collections::BTreeMap;

/// More pairs are not looked at.
const MAX_PAIRS: usize = 3000;
/// Of more facts not all three are looked at together.
const MAX_FACTS: usize = 100;

/// What is asked about a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Is it less than zero?
    Negative,
    /// Is it zero?
    Zero,
}

/// A question about a sum, and the answer as something else knows it.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The sum.
    pub sum: Linear,
    /// What is asked.
    pub relation: Relation,
    /// The answer, wherever the sum is known.
    pub holds: Wire,
}

/// What follows for the answers of comparisons from their sums. By open value, `ranges` are what they are between.
pub fn laws(comparisons: &[Comparison], ranges: &[(i64, i64)], circuit: &mut Circuit) -> Vec<Wire> {
    let mut laws = Vec::new();
    let zero = Linear::constant(0);
    let negated: Vec<Linear> = comparisons.iter().map(|it| zero.sub(&it.sum, circuit)).collect();
    for (of, negated) in comparisons.iter().zip(&negated) {
        let law = within_range(of, negated, ranges, circuit);
        laws.push(circuit.either(!of.sum.known, law));
    }
    // The last comparisons are those that matter most: what is claimed comes after what is done.
    let pairs = (0..comparisons.len()).rev().flat_map(|later| (0..later).map(move |earlier| (earlier, later)));
    for (earlier, later) in pairs.take(MAX_PAIRS) {
        let (first, second) = (&comparisons[earlier], &comparisons[later]);
        let known = circuit.both(first.sum.known, second.sum.known);
        for (sum, is_negated) in [(&second.sum, false), (&negated[later], true)] {
            let alike = first.sum.has_coefficients_of(sum, circuit);
            let premise = circuit.both(known, alike);
            if premise != Wire::FALSE {
                // The second sum is the first, or its negation, and a constant.
                let apart = sum.constant.minus(&first.sum.constant, circuit);
                let law = connect(first, second, &apart, is_negated, circuit);
                laws.push(circuit.either(!premise, law));
            }
        }
    }
    laws.extend(triangles(comparisons, circuit));
    laws.retain(|it| *it != Wire::TRUE);
    laws
}

/// What follows from what the open values are between: the sum may not be able to reach zero.
fn within_range(of: &Comparison, negated: &Linear, ranges: &[(i64, i64)], circuit: &mut Circuit) -> Wire {
    let least = of.sum.least(ranges, circuit);
    // The greatest value is the least of the negation, with the other sign.
    let most_negated = negated.least(ranges, circuit);
    let zero = Word::shortest(0);
    let is_positive = zero.minus(&least, circuit).sign();
    let is_negative = zero.minus(&most_negated, circuit).sign();
    match of.relation {
        Relation::Negative => {
            let no = circuit.either(least.sign(), !of.holds);
            let yes = circuit.either(!is_negative, of.holds);
            circuit.both(no, yes)
        }
        Relation::Zero => {
            let no = circuit.and([!is_positive, !is_negative]);
            let no = circuit.either(no, !of.holds);
            let (is_least, is_most) = (same_number(&least, &zero, circuit), same_number(&most_negated, &zero, circuit));
            let yes = circuit.and([is_least, is_most]);
            let yes = circuit.either(!yes, of.holds);
            circuit.both(no, yes)
        }
    }
}

/// Something that is true if a sum without conditions is negative.
struct Fact {
    constant: i64,
    coefficients: BTreeMap<usize, i64>,
    holds: Wire,
}

/// Three sums of which each is negative add up to -3 or less; if their open values cancel out, the constants tell.
fn triangles(comparisons: &[Comparison], circuit: &mut Circuit) -> Vec<Wire> {
    let facts: Vec<Fact> = comparisons.iter().flat_map(facts).collect();
    let mut laws = Vec::new();
    if facts.len() > MAX_FACTS {
        return laws;
    }
    let mut by_coefficients: BTreeMap<&BTreeMap<usize, i64>, Vec<usize>> = BTreeMap::new();
    for (place, fact) in facts.iter().enumerate() {
        by_coefficients.entry(&fact.coefficients).or_default().push(place);
    }
    for (place, first) in facts.iter().enumerate() {
        for (next, second) in facts.iter().enumerate().skip(place + 1) {
            let rest = by_coefficients.get(&first.rest(second)).into_iter().flatten();
            for third in rest.filter(|it| **it > next).map(|it| &facts[*it]) {
                if first.constant + second.constant + third.constant > -3 {
                    laws.push(!circuit.and([first.holds, second.holds, third.holds]));
                }
            }
        }
    }
    laws
}

/// That a sum is negative, or that it is not.
fn facts(of: &Comparison) -> Vec<Fact> {
    let coefficients = of.sum.coefficients.iter().map(|it| Some((*it.0, it.1.as_constant()?))).collect();
    let coefficients: Option<BTreeMap<usize, i64>> = coefficients;
    match (of.relation, coefficients, of.sum.constant.as_constant()) {
        (Relation::Negative, Some(coefficients), Some(constant)) if of.sum.known == Wire::TRUE => {
            let negated = coefficients.iter().map(|it| (*it.0, -it.1)).collect();
            let yes = Fact { constant, coefficients, holds: of.holds };
            vec![yes, Fact { constant: -constant - 1, coefficients: negated, holds: !of.holds }]
        }
        _ => Vec::new(),
    }
}

impl Fact {
    /// The coefficients that are missing to cancel both.
    fn rest(&self, other: &Self) -> BTreeMap<usize, i64> {
        let mut rest: BTreeMap<usize, i64> = self.coefficients.iter().map(|it| (*it.0, -it.1)).collect();
        for (which, coefficient) in &other.coefficients {
            *rest.entry(*which).or_default() -= coefficient;
        }
        rest.retain(|_, it| *it != 0);
        rest
    }
}

/// What follows if the second sum, or its negation, is the first one plus `apart`.
fn connect(first: &Comparison, second: &Comparison, apart: &Word, is_negated: bool, circuit: &mut Circuit) -> Wire {
    let zero = Word::shortest(0);
    let (is_less, is_same) = (apart.sign(), same_number(apart, &zero, circuit));
    let is_more = circuit.and([!is_less, !is_same]);
    let (a, b) = (first.holds, second.holds);
    let mut laws = Vec::new();
    match (first.relation, second.relation) {
        (Relation::Zero, Relation::Zero) => {
            let same = circuit.same(a, b);
            laws.push(circuit.either(!is_same, same));
            laws.push(circuit.or([is_same, !a, !b]));
        }
        // If the first is zero, the second is `apart`, or that negated.
        (Relation::Zero, Relation::Negative) => {
            let answer = if is_negated { is_more } else { is_less };
            let same = circuit.same(b, answer);
            laws.push(circuit.either(!a, same));
        }
        // If the second is zero, so is its negation, and the first is `apart` negated.
        (Relation::Negative, Relation::Zero) => {
            let same = circuit.same(a, is_more);
            laws.push(circuit.either(!b, same));
        }
        (Relation::Negative, Relation::Negative) if is_negated => {
            // The first is below 0 and above `-apart`: there is such an integer only if `apart` is at least 2. And it
            // is one of the two unless it is from 0 to `-apart`.
            let is_one = same_number(apart, &Word::shortest(1), circuit);
            let is_enough = circuit.both(is_more, !is_one);
            laws.push(circuit.or([is_enough, !a, !b]));
            laws.push(circuit.or([!is_more, a, b]));
        }
        (Relation::Negative, Relation::Negative) => {
            laws.push(circuit.or([is_more, !a, b]));
            laws.push(circuit.or([is_less, !b, a]));
        }
    }
    circuit.and(laws)
}

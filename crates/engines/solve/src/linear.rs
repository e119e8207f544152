//! Integers as sums of open values with coefficients, beside their bits, so that what cancels is seen to cancel.
//!
//! That `(a - m) + (b + m)` is `a + b` takes a solver long to find out bit by bit, because the carries differ. As sums
//! of open values with coefficients both are the same. Which sum a value is may depend on conditions, so coefficients
//! are words of few bits themselves. [`laws`] says what follows for comparisons: those whose sides differ by the same
//! sum have the same answer. These laws follow from the bits as well; they only spare the solver the way there.
//! Cost: a law for each pair of comparisons, and for those triples without conditions that have one.

use crate::circuit::{Circuit, Wire};
use crate::word::Word;
use std::collections::{BTreeMap, BTreeSet};

/// More bits than this are not worth the trouble.
const MAX_WIDTH: usize = 40;
/// Of more facts not all three are looked at together.
const MAX_FACTS: usize = 100;

/// A constant and open values with coefficients, as integers without a width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linear {
    /// Is it that sum? If not, nothing is said about the value.
    known: Wire,
    constant: Word,
    /// By open value. Coefficients that are always 0 are left out.
    coefficients: BTreeMap<usize, Word>,
}

/// What the parts of a sum are between, both ends included; an open value that is not mentioned is not part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinearShape {
    /// The constant.
    pub constant: (i64, i64),
    /// The coefficients, by open value.
    pub coefficients: BTreeMap<usize, (i64, i64)>,
}

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

impl Linear {
    /// A number.
    pub fn constant(value: i64) -> Self {
        Self { known: Wire::TRUE, constant: Word::shortest(value), coefficients: BTreeMap::new() }
    }

    /// An open value by itself.
    pub fn open(which: usize) -> Self {
        let coefficients = BTreeMap::from([(which, Word::shortest(1))]);
        Self { known: Wire::TRUE, constant: Word::shortest(0), coefficients }
    }

    /// Any sum of that shape, known or not.
    pub fn input(circuit: &mut Circuit, shape: &LinearShape) -> Self {
        let known = circuit.input();
        let constant = Word::input_between(circuit, shape.constant);
        let coefficients = shape.coefficients.iter().map(|it| (*it.0, Word::input_between(circuit, *it.1))).collect();
        Self { known, constant, coefficients }.tidied()
    }

    /// Where is the sum known?
    pub fn known(&self) -> Wire {
        self.known
    }

    /// The same sum, known only where that is true as well.
    #[must_use]
    pub fn known_if(mut self, condition: Wire, circuit: &mut Circuit) -> Self {
        self.known = circuit.both(self.known, condition);
        self
    }

    /// The sum of both.
    #[must_use]
    pub fn add(&self, other: &Self, circuit: &mut Circuit) -> Self {
        self.joined(other, circuit, Word::plus)
    }

    /// The difference of both.
    #[must_use]
    pub fn sub(&self, other: &Self, circuit: &mut Circuit) -> Self {
        self.joined(other, circuit, Word::minus)
    }

    /// The product, known if one of the two is always the same number.
    #[must_use]
    pub fn mul(&self, other: &Self, circuit: &mut Circuit) -> Self {
        match (self.as_number(), other.as_number()) {
            (Some(factor), _) => other.scaled(factor, circuit),
            (_, Some(factor)) => self.scaled(factor, circuit),
            _ => Self::constant(0).known_if(Wire::FALSE, circuit),
        }
    }

    /// This if the condition is true, else the other.
    #[must_use]
    pub fn choose(condition: Wire, yes: &Self, no: &Self, circuit: &mut Circuit) -> Self {
        let mut chosen = yes.joined(no, circuit, |yes, no, circuit| choose_number(condition, yes, no, circuit));
        chosen.known = circuit.choose(condition, yes.known, no.known);
        chosen
    }

    /// Is this input the other sum? Where that is not known, or is none that the input can be, this is not known.
    pub fn copies(&self, other: &Self, circuit: &mut Circuit) -> Wire {
        let (mut possible, mut same) = (vec![other.known], Vec::new());
        for (own, word) in self.words_with(other) {
            possible.push(own.can_be(&word, circuit));
            same.push(same_number(&own, &word, circuit));
        }
        let (possible, same) = (circuit.and(possible), circuit.and(same));
        let is_as_known = circuit.same(self.known, possible);
        let is_same = circuit.either(!possible, same);
        circuit.both(is_as_known, is_same)
    }

    /// The constants, and the coefficients of each open value in one of the two.
    fn words_with(&self, other: &Self) -> Vec<(Word, Word)> {
        let mut words = vec![(self.constant.clone(), other.constant.clone())];
        words.extend(self.coefficients_with(other).into_iter().map(|it| (it.1, it.2)));
        words
    }

    fn coefficients_with(&self, other: &Self) -> Vec<(usize, Word, Word)> {
        let of = |it: &Self, which: usize| it.coefficients.get(&which).cloned().unwrap_or_else(|| Word::shortest(0));
        let all: BTreeSet<usize> = self.coefficients.keys().chain(other.coefficients.keys()).copied().collect();
        all.into_iter().map(|it| (it, of(self, it), of(other, it))).collect()
    }

    /// The least that it can be, given what the open values are between.
    fn least(&self, ranges: &[(i64, i64)], circuit: &mut Circuit) -> Word {
        let mut sum = self.constant.clone();
        // Numbers are added up first, because that takes no gates.
        let (numbers, others): (Vec<_>, Vec<_>) = self.coefficients.iter().partition(|it| it.1.as_constant().is_some());
        for (which, coefficient) in numbers.into_iter().chain(others) {
            let (low, high) = ranges[*which];
            let end = choose_number(coefficient.sign(), &Word::shortest(high), &Word::shortest(low), circuit);
            sum = sum.plus(&coefficient.times(&end, circuit), circuit);
        }
        sum
    }

    fn as_number(&self) -> Option<i64> {
        (self.known == Wire::TRUE && self.coefficients.is_empty()).then(|| self.constant.as_constant()).flatten()
    }

    fn scaled(&self, factor: i64, circuit: &mut Circuit) -> Self {
        let factor = Word::shortest(factor);
        let mut all = self.clone();
        for word in std::iter::once(&mut all.constant).chain(all.coefficients.values_mut()) {
            *word = word.times(&factor, circuit);
        }
        all.tidied()
    }

    fn joined(&self, other: &Self, circuit: &mut Circuit, join: impl Fn(&Word, &Word, &mut Circuit) -> Word) -> Self {
        let known = circuit.both(self.known, other.known);
        let constant = join(&self.constant, &other.constant, circuit);
        let mut coefficients = BTreeMap::new();
        for (which, own, others) in self.coefficients_with(other) {
            coefficients.insert(which, join(&own, &others, circuit));
        }
        Self { known, constant, coefficients }.tidied()
    }

    fn tidied(mut self) -> Self {
        self.coefficients.retain(|_, it| it.as_constant() != Some(0));
        let is_wide = |it: &Word| it.width() > MAX_WIDTH;
        if is_wide(&self.constant) || self.coefficients.values().any(is_wide) {
            return Self { known: Wire::FALSE, ..Self::constant(0) };
        }
        self
    }

    fn has_coefficients_of(&self, other: &Self, circuit: &mut Circuit) -> Wire {
        let mut same = Vec::new();
        for (_, own, others) in self.coefficients_with(other) {
            let is_same = same_number(&own, &others, circuit);
            if is_same == Wire::FALSE {
                return Wire::FALSE;
            }
            same.push(is_same);
        }
        circuit.and(same)
    }
}

/// What follows for the answers of comparisons from their sums. By open value, `ranges` are what they are between.
pub fn laws(comparisons: &[Comparison], ranges: &[(i64, i64)], circuit: &mut Circuit) -> Vec<Wire> {
    let mut laws = Vec::new();
    let zero = Linear::constant(0);
    let negated: Vec<Linear> = comparisons.iter().map(|it| zero.sub(&it.sum, circuit)).collect();
    for (idx, first) in comparisons.iter().enumerate() {
        let law = within_range(first, &negated[idx], ranges, circuit);
        laws.push(circuit.either(!first.sum.known, law));
        for (other_idx, other) in comparisons.iter().enumerate().skip(idx + 1) {
            let known = circuit.both(first.sum.known, other.sum.known);
            for (sum, is_negated) in [(&other.sum, false), (&negated[other_idx], true)] {
                let alike = first.sum.has_coefficients_of(sum, circuit);
                let premise = circuit.both(known, alike);
                if premise != Wire::FALSE {
                    // The second sum is the first, or its negation, and a constant.
                    let apart = sum.constant.minus(&first.sum.constant, circuit);
                    let law = connect(first, other, &apart, is_negated, circuit);
                    laws.push(circuit.either(!premise, law));
                }
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

fn choose_number(condition: Wire, yes: &Word, no: &Word, circuit: &mut Circuit) -> Word {
    let width = yes.width().max(no.width());
    Word::choose(condition, &yes.extended(width), &no.extended(width), circuit).trimmed()
}

fn same_number(left: &Word, right: &Word, circuit: &mut Circuit) -> Wire {
    let width = left.width().max(right.width());
    left.extended(width).equals(&right.extended(width), circuit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Values, fits};

    const RANGES: [(i64, i64); 3] = [(-2, 3), (0, 2), (-4, -1)];
    const WIDTH: usize = 5;

    /// Open values and conditions, and all that they can be.
    struct World {
        circuit: Circuit,
        open: Vec<Word>,
        conditions: Vec<Wire>,
    }

    /// A number in both ways.
    #[derive(Clone)]
    struct Both {
        word: Word,
        sum: Linear,
    }

    impl World {
        fn new() -> Self {
            let mut circuit = Circuit::new();
            let open = RANGES.iter().map(|_| Word::input(&mut circuit, WIDTH)).collect();
            let conditions = (0..2).map(|_| circuit.input()).collect();
            Self { circuit, open, conditions }
        }

        fn open(&self, which: usize) -> Both {
            Both { word: self.open[which].clone(), sum: Linear::open(which) }
        }

        fn number(value: i64) -> Both {
            Both { word: Word::constant(value, WIDTH), sum: Linear::constant(value) }
        }

        fn add(&mut self, left: &Both, right: &Both) -> Both {
            let computed = left.word.add(&right.word, &mut self.circuit);
            let sum = left.sum.add(&right.sum, &mut self.circuit);
            Both { word: computed.word, sum: sum.known_if(!computed.overflows, &mut self.circuit) }
        }

        fn sub(&mut self, left: &Both, right: &Both) -> Both {
            let computed = left.word.sub(&right.word, &mut self.circuit);
            let sum = left.sum.sub(&right.sum, &mut self.circuit);
            Both { word: computed.word, sum: sum.known_if(!computed.overflows, &mut self.circuit) }
        }

        fn mul(&mut self, left: &Both, right: &Both) -> Both {
            let computed = left.word.mul(&right.word, &mut self.circuit);
            let sum = left.sum.mul(&right.sum, &mut self.circuit);
            Both { word: computed.word, sum: sum.known_if(!computed.overflows, &mut self.circuit) }
        }

        fn choose(&mut self, condition: usize, yes: &Both, no: &Both) -> Both {
            let condition = self.conditions[condition];
            Both {
                word: Word::choose(condition, &yes.word, &no.word, &mut self.circuit),
                sum: Linear::choose(condition, &yes.sum, &no.sum, &mut self.circuit),
            }
        }

        fn compare(&mut self, left: &Both, right: &Both, relation: Relation) -> Comparison {
            let holds = match relation {
                Relation::Negative => left.word.less_than(&right.word, &mut self.circuit),
                Relation::Zero => left.word.equals(&right.word, &mut self.circuit),
            };
            Comparison { sum: left.sum.sub(&right.sum, &mut self.circuit), relation, holds }
        }

        /// For all open values and conditions.
        fn each(&self, mut check: impl FnMut(&[i64], &Values)) {
            let values = |range: (i64, i64)| range.0..=range.1;
            for (a, b) in values(RANGES[0]).flat_map(|a| values(RANGES[1]).map(move |b| (a, b))) {
                for (c, chosen) in values(RANGES[2]).flat_map(|c| (0..4).map(move |chosen| (c, chosen))) {
                    let open = [a, b, c];
                    let values = self.circuit.evaluate(|it| {
                        let bit = |of: &Word| of.bits().iter().position(|bit| *bit == it);
                        let number = self.open.iter().zip(open).find_map(|of| Some(of.1 >> bit(of.0)? & 1 == 1));
                        let condition = self.conditions.iter().position(|of| *of == it);
                        number.or(condition.map(|place| chosen >> place & 1 == 1)).unwrap_or(false)
                    });
                    check(&open, &values);
                }
            }
        }
    }

    fn value(sum: &Linear, open: &[i64], values: &Values) -> i64 {
        let terms = sum.coefficients.iter().map(|(which, word)| word.value(values) * open[*which]);
        sum.constant.value(values) + terms.sum::<i64>()
    }

    /// Sums, differences, products and choices within choices, some of which leave the width.
    fn numbers(world: &mut World) -> Vec<Both> {
        let (a, b, c) = (world.open(0), world.open(1), world.open(2));
        let (two, seven, minus_three) = (World::number(2), World::number(7), World::number(-3));
        let difference = world.sub(&a, &c);
        let doubled = world.mul(&two, &difference);
        let negative = world.mul(&b, &minus_three);
        let product = world.mul(&a, &b);
        let chosen = world.choose(0, &difference, &b);
        let nested = world.choose(1, &chosen, &negative);
        let back = world.add(&chosen, &c);
        let again = world.choose(0, &a, &back);
        let mixed = world.choose(1, &product, &seven);
        let large = world.add(&doubled, &seven);
        let larger = world.add(&large, &nested);
        let one_more = world.sub(&c, &World::number(-1));
        vec![a, b, c, two, difference, doubled, negative, product, chosen, nested, back, again, mixed, larger, one_more]
    }

    #[test]
    fn a_known_sum_is_the_number_of_the_bits() {
        let mut world = World::new();
        let numbers = numbers(&mut world);
        let mut n_unknown = 0;
        world.each(|open, values| {
            for number in &numbers {
                if values.of(number.sum.known) {
                    assert_eq!(value(&number.sum, open, values), number.word.value(values), "{open:?}");
                } else {
                    n_unknown += 1;
                }
            }
        });
        assert!(n_unknown > 0, "something overflows, and a product is no sum");
    }

    #[test]
    fn laws_follow_from_the_bits() {
        let mut world = World::new();
        let numbers = numbers(&mut world);
        let mut comparisons = Vec::new();
        for (idx, left) in numbers.iter().enumerate() {
            for right in numbers.iter().skip(idx + 1).step_by(2) {
                comparisons.push(world.compare(left, right, Relation::Negative));
                comparisons.push(world.compare(right, left, Relation::Negative));
                comparisons.push(world.compare(left, right, Relation::Zero));
            }
        }
        for some in comparisons.chunks(40) {
            let laws = laws(some, &RANGES, &mut world.circuit);
            assert!(!laws.is_empty());
            world.each(|open, values| assert!(laws.iter().all(|it| values.of(*it)), "{open:?}"));
        }
    }

    /// Answers that are inputs are as the laws make them.
    fn is_refuted(world: &mut World, comparisons: &[Comparison], claimed: &[Wire]) -> bool {
        use crate::{Cadical, Clauses, Lit, SatResult, SatSolver};
        let laws = laws(comparisons, &RANGES, &mut world.circuit);
        let (mut solver, mut clauses) = (Cadical::new(), Clauses::new());
        for law in laws {
            clauses.assert(&mut solver, &world.circuit, law);
        }
        let claimed: Vec<Lit> = claimed.iter().map(|it| clauses.literal(&mut solver, &world.circuit, *it)).collect();
        solver.solve(&claimed, &mut || false) == SatResult::Unsatisfiable
    }

    fn asked(world: &mut World, left: &Both, right: &Both, relation: Relation) -> Comparison {
        let holds = world.circuit.input();
        Comparison { sum: left.sum.sub(&right.sum, &mut world.circuit), relation, holds }
    }

    #[test]
    fn what_moves_from_one_to_another_cancels_out() {
        let mut world = World::new();
        let (a, b, moved) = (world.open(0), world.open(1), world.open(2));
        let (less, more) = (world.sub(&a, &moved), world.add(&b, &moved));
        let (a_after, b_after) = (world.choose(0, &less, &a), world.choose(0, &more, &b));
        let (before, after) = (world.add(&a, &b), world.add(&b_after, &a_after));
        // Nothing is said about what overflows.
        let all_known = world.circuit.both(before.sum.known, after.sum.known);
        let same = asked(&mut world, &before, &after, Relation::Zero);
        assert!(is_refuted(&mut world, std::slice::from_ref(&same), &[all_known, !same.holds]));
        assert!(!is_refuted(&mut world, std::slice::from_ref(&same), &[!same.holds]));
    }

    #[test]
    fn order_is_transitive_and_ranges_count() {
        let mut world = World::new();
        let (a, b, c) = (world.open(0), world.open(1), world.open(2));
        let ab = asked(&mut world, &a, &b, Relation::Negative);
        let bc = asked(&mut world, &b, &c, Relation::Negative);
        let ca = asked(&mut world, &c, &a, Relation::Negative);
        let all = [ab.clone(), bc.clone(), ca.clone()];
        assert!(is_refuted(&mut world, &all, &[ab.holds, bc.holds, ca.holds]));
        assert!(!is_refuted(&mut world, &all[..1], &[ab.holds]));
        // No b is less than a c, because c is negative and b is not.
        assert!(is_refuted(&mut world, &all, &[bc.holds]));
    }

    #[test]
    fn an_input_copies_what_fits_and_is_unknown_else() {
        let mut circuit = Circuit::new();
        let shape = LinearShape { constant: (-1, 2), coefficients: BTreeMap::from([(0, (0, 1)), (1, (1, 1))]) };
        let input = Linear::input(&mut circuit, &shape);
        for (constant, first, second) in [(0, 1, 1), (3, 0, 1), (4, 1, 1), (0, 2, 1), (0, -1, 1), (0, 1, 0), (0, 1, 2)]
        {
            let coefficients = [(0, first), (1, second)].map(|it| (it.0, Word::shortest(it.1)));
            let constant_word = Word::shortest(constant);
            let other =
                Linear { known: Wire::TRUE, constant: constant_word, coefficients: BTreeMap::from(coefficients) };
            let copies = input.copies(&other, &mut circuit);
            let expected = fits(constant, 3) && (0..=1).contains(&first) && second == 1;
            let known = circuit.both(copies, input.known);
            let unknown = circuit.both(copies, !input.known);
            assert_eq!((known != Wire::FALSE, unknown != Wire::FALSE), (expected, !expected), "{other:?}");
        }
    }
}

//! Sums and laws against the bits that they speak of.

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
    use crate::{Clauses, Lit, SatResult, SatSolver, Solver};
    let laws = laws(comparisons, &RANGES, &mut world.circuit);
    let (mut solver, mut clauses) = (Solver::new(), Clauses::new());
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
    for (constant, first, second) in [(0, 1, 1), (3, 0, 1), (4, 1, 1), (0, 2, 1), (0, -1, 1), (0, 1, 0), (0, 1, 2)] {
        let coefficients = [(0, first), (1, second)].map(|it| (it.0, Word::shortest(it.1)));
        let constant_word = Word::shortest(constant);
        let other = Linear { known: Wire::TRUE, constant: constant_word, coefficients: BTreeMap::from(coefficients) };
        let copies = input.copies(&other, &mut circuit);
        let expected = fits(constant, 3) && (0..=1).contains(&first) && second == 1;
        let known = circuit.both(copies, input.known);
        let unknown = circuit.both(copies, !input.known);
        assert_eq!((known != Wire::FALSE, unknown != Wire::FALSE), (expected, !expected), "{other:?}");
    }
}

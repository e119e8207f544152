//! A value of a program as bits and, where open integers are around, as a range and a sum of open values.
//!
//! Ranges show that most arithmetic never leaves the width. Sums show that comparisons have equal answers although the
//! bits were added up in different ways ([`iso_solve::laws`]). Both only say in short what follows from the bits.

use iso_program::Arith;
use iso_solve::{Circuit, Comparison, Computed, Linear, Relation, Values, Wire, Word};

/// A value of any type.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    pub(crate) word: Word,
    /// For integers of programs with open integers.
    pub(crate) number: Option<Number>,
}

/// What is known about an integer, unless what it was computed from overflowed.
#[derive(Clone, Debug)]
pub(crate) struct Number {
    pub(crate) low: i64,
    pub(crate) high: i64,
    pub(crate) sum: Linear,
}

impl Term {
    /// A value of which only the bits matter.
    pub(crate) fn of(word: Word) -> Self {
        Self { word, number: None }
    }

    pub(crate) fn constant(value: i64, width: usize) -> Self {
        let number = Number { low: value, high: value, sum: Linear::constant(value) };
        Self { word: Word::constant(value, width), number: Some(number) }
    }

    /// The number for certain inputs.
    pub(crate) fn value(&self, values: &Values) -> i64 {
        self.word.value(values)
    }

    /// This if the condition is true, else the other.
    pub(crate) fn choose(condition: Wire, yes: &Self, no: &Self, circuit: &mut Circuit) -> Self {
        match condition.as_constant() {
            Some(true) => return yes.clone(),
            Some(false) => return no.clone(),
            None => {}
        }
        let word = Word::choose(condition, &yes.word, &no.word, circuit);
        let number = numbers(yes, no).map(|(yes, no)| Number {
            low: yes.low.min(no.low),
            high: yes.high.max(no.high),
            sum: Linear::choose(condition, &yes.sum, &no.sum, circuit),
        });
        Self { word, number }
    }
}

/// Comparisons of sums that were made, each with an input for its answer, and what ties the answers to the bits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Comparisons {
    pub(crate) all: Vec<Comparison>,
    pub(crate) meanings: Vec<Wire>,
}

/// Arithmetic and comparisons.
pub(crate) struct Calculator<'c> {
    pub(crate) circuit: &'c mut Circuit,
    pub(crate) comparisons: &'c mut Comparisons,
}

impl Calculator<'_> {
    /// The result as far as it fits, and whether it does not.
    pub(crate) fn compute(&mut self, op: Arith, left: &Term, right: &Term) -> (Term, Wire) {
        let (l, r) = (&left.word, &right.word);
        let computed = match op {
            Arith::Add => l.add(r, self.circuit),
            Arith::Sub => l.sub(r, self.circuit),
            Arith::Mul => l.mul(r, self.circuit),
        };
        let mut overflows = computed.overflows;
        let number = numbers(left, right).map(|(l, r)| {
            let sum = match op {
                Arith::Add => l.sum.add(&r.sum, self.circuit),
                Arith::Sub => l.sum.sub(&r.sum, self.circuit),
                Arith::Mul => l.sum.mul(&r.sum, self.circuit),
            };
            let (low, high) = range(op, l, r);
            let (least, most) = limits(computed.word.width());
            if least <= low && high <= most {
                overflows = Wire::FALSE;
            } else if op != Arith::Mul {
                overflows = self.leaves(&computed, &sum);
            }
            let sum = sum.known_if(!overflows, self.circuit);
            Number { low: low.clamp(least, most), high: high.clamp(least, most), sum }
        });
        (Term { word: computed.word, number }, overflows)
    }

    /// Whether a sum or difference leaves the width is two comparisons.
    fn leaves(&mut self, computed: &Computed, sum: &Linear) -> Wire {
        let (least, most) = limits(computed.word.width());
        // What is too large for its bits looks negative.
        let too_large = self.circuit.both(computed.overflows, computed.word.sign());
        let too_small = self.circuit.both(computed.overflows, !computed.word.sign());
        let above = Linear::constant(most).sub(sum, self.circuit);
        let below = sum.sub(&Linear::constant(least), self.circuit);
        let too_large = self.answer(above, Relation::Negative, too_large);
        let too_small = self.answer(below, Relation::Negative, too_small);
        self.circuit.either(too_large, too_small)
    }

    /// Are they the same?
    pub(crate) fn equals(&mut self, left: &Term, right: &Term) -> Wire {
        let holds = left.word.equals(&right.word, self.circuit);
        self.compare(left, right, Relation::Zero, holds)
    }

    /// Is the first less than the second?
    pub(crate) fn less_than(&mut self, left: &Term, right: &Term) -> Wire {
        let holds = left.word.less_than(&right.word, self.circuit);
        self.compare(left, right, Relation::Negative, holds)
    }

    fn compare(&mut self, left: &Term, right: &Term, relation: Relation, holds: Wire) -> Wire {
        match numbers(left, right) {
            Some((left, right)) => {
                let sum = left.sum.sub(&right.sum, self.circuit);
                self.answer(sum, relation, holds)
            }
            None => holds,
        }
    }

    /// The answer to a comparison, as something of its own whose meaning comes later. `holds` is what the bits say.
    fn answer(&mut self, sum: Linear, relation: Relation, holds: Wire) -> Wire {
        if sum.known() == Wire::FALSE || holds.as_constant().is_some() {
            return holds;
        }
        let is_same = |it: &&Comparison| it.relation == relation && it.sum.known() == Wire::TRUE && it.sum == sum;
        if let Some(before) = self.comparisons.all.iter().find(is_same) {
            return before.holds;
        }
        let answer = self.circuit.input();
        let meaning = self.circuit.same(answer, holds);
        self.comparisons.meanings.push(meaning);
        self.comparisons.all.push(Comparison { sum, relation, holds: answer });
        answer
    }
}

fn numbers<'t>(left: &'t Term, right: &'t Term) -> Option<(&'t Number, &'t Number)> {
    left.number.as_ref().zip(right.number.as_ref())
}

/// The least and the greatest number of the width.
pub(crate) fn limits(width: usize) -> (i64, i64) {
    let limit = 1i64 << (width - 1);
    (-limit, limit - 1)
}

/// What the result is between. Widths are at most 32, so nothing overflows here.
fn range(op: Arith, left: &Number, right: &Number) -> (i64, i64) {
    match op {
        Arith::Add => (left.low + right.low, left.high + right.high),
        Arith::Sub => (left.low - right.high, left.high - right.low),
        Arith::Mul => product((left.low, left.high), (right.low, right.high)),
    }
}

/// What a product is between.
pub(crate) fn product(left: (i64, i64), right: (i64, i64)) -> (i64, i64) {
    let ends = [left.0, left.1].into_iter().flat_map(|it| [it * right.0, it * right.1]);
    ends.fold((i64::MAX, i64::MIN), |so_far, it| (so_far.0.min(it), so_far.1.max(it)))
}

//! Integers as sums of open values with coefficients, beside their bits, so that what cancels is seen to cancel.
//!
//! That `(a - m) + (b + m)` is `a + b` takes a solver long to find out bit by bit, because the carries differ. As sums
//! of open values with coefficients both are the same. Which sum a value is may depend on conditions, so coefficients
//! are words of few bits themselves. What follows for comparisons is in [`laws`].

mod laws;
#[cfg(test)]
mod tests;

pub use laws::{Comparison, Relation, laws};

use crate::circuit::{Circuit, Wire};
use crate::word::Word;
use std::collections::{BTreeMap, BTreeSet};

/// More bits than this are not worth the trouble.
const MAX_WIDTH: usize = 40;

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

fn choose_number(condition: Wire, yes: &Word, no: &Word, circuit: &mut Circuit) -> Word {
    let width = yes.width().max(no.width());
    Word::choose(condition, &yes.extended(width), &no.extended(width), circuit).trimmed()
}

fn same_number(left: &Word, right: &Word, circuit: &mut Circuit) -> Wire {
    let width = left.width().max(right.width());
    left.extended(width).equals(&right.extended(width), circuit)
}

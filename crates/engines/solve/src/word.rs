//! Integers of a fixed width as wires, in two's complement; arithmetic says whether it left the width.

use crate::circuit::{Circuit, Values, Wire};

/// An integer: its bits, the lowest first; the highest is the sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word(Vec<Wire>);

/// The result of arithmetic, and whether it does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computed {
    /// The result, as far as it fits.
    pub word: Word,
    /// Is the true result outside of the width?
    pub overflows: Wire,
}

impl Word {
    /// A number that is known. It must fit.
    pub fn constant(value: i64, width: usize) -> Self {
        assert!(fits(value, width), "{value} does not fit into {width} bits");
        Self((0..width).map(|it| Wire::constant(value >> it & 1 == 1)).collect())
    }

    /// The number with these bits, the lowest first.
    pub fn of_bits(bits: &[Wire]) -> Self {
        Self(bits.to_vec())
    }

    /// Any number of the width.
    pub fn input(circuit: &mut Circuit, width: usize) -> Self {
        Self((0..width).map(|_| circuit.input()).collect())
    }

    /// The number of bits.
    pub fn width(&self) -> usize {
        self.0.len()
    }

    /// The bits, the lowest first.
    pub fn bits(&self) -> &[Wire] {
        &self.0
    }

    /// The number for certain inputs.
    pub fn value(&self, values: &Values) -> i64 {
        let bit = |(place, wire): (usize, &Wire)| i64::from(values.of(*wire)) << place;
        let unsigned: i64 = self.0.iter().enumerate().map(bit).sum();
        let is_negative = self.0.last().is_some_and(|it| values.of(*it));
        if is_negative { unsigned - (1 << self.width()) } else { unsigned }
    }

    /// The number in as few bits as it takes.
    pub(crate) fn shortest(value: i64) -> Self {
        Self::constant(value, (1..64).find(|it| fits(value, *it)).unwrap_or(64))
    }

    /// The number, if it is always the same.
    pub(crate) fn as_constant(&self) -> Option<i64> {
        let mut value = 0;
        for (place, wire) in self.0.iter().enumerate() {
            let bit = i64::from(wire.as_constant()?);
            value |= if place + 1 == self.width() { -(bit << place) } else { bit << place };
        }
        Some(value)
    }

    /// Is it negative?
    pub fn sign(&self) -> Wire {
        self.0.last().copied().unwrap_or(Wire::FALSE)
    }

    /// The same number with more bits.
    pub(crate) fn extended(&self, width: usize) -> Self {
        let mut bits = self.0.clone();
        bits.resize(width, self.sign());
        Self(bits)
    }

    /// The same number without bits that only repeat the sign.
    pub(crate) fn trimmed(mut self) -> Self {
        while self.0.len() > 1 && self.0[self.0.len() - 1] == self.0[self.0.len() - 2] {
            self.0.pop();
        }
        self
    }

    /// Any number between the two, and some more if that takes no more bits.
    pub(crate) fn input_between(circuit: &mut Circuit, (low, high): (i64, i64)) -> Self {
        if low >= high {
            return Self::shortest(low);
        }
        let width = Self::shortest(low).width().max(Self::shortest(high).width());
        let mut word = Self::input(circuit, width);
        if low >= 0 {
            word.0[width - 1] = Wire::FALSE;
        }
        word
    }

    /// Could inputs make this the same as the other? Each bit of this is a constant or an input of its own.
    pub(crate) fn can_be(&self, other: &Self, circuit: &mut Circuit) -> Wire {
        let width = self.width().max(other.width());
        let other = other.extended(width);
        let top = self.width() - 1;
        let mut laws: Vec<Wire> = other.0[top..].iter().map(|it| circuit.same(*it, other.0[top])).collect();
        let fixed = self.0.iter().zip(&other.0).filter(|it| it.0.as_constant().is_some());
        laws.extend(fixed.map(|it| circuit.same(*it.0, *it.1)));
        circuit.and(laws)
    }

    /// The sum, with as many bits as it takes.
    pub(crate) fn plus(&self, other: &Self, circuit: &mut Circuit) -> Self {
        let width = self.width().max(other.width()) + 1;
        self.extended(width).sum(&other.extended(width), Wire::FALSE, circuit).trimmed()
    }

    /// The difference, with as many bits as it takes.
    pub(crate) fn minus(&self, other: &Self, circuit: &mut Circuit) -> Self {
        let width = self.width().max(other.width()) + 1;
        self.extended(width).sum(&other.extended(width).inverted(), Wire::TRUE, circuit).trimmed()
    }

    /// The product, with as many bits as it takes. It is cheap if one of the two has few bits.
    pub(crate) fn times(&self, other: &Self, circuit: &mut Circuit) -> Self {
        let (few, many) = if self.width() < other.width() { (self, other) } else { (other, self) };
        let mut product = Self::shortest(0);
        for (place, bit) in few.0.iter().enumerate() {
            let shifted = std::iter::repeat_n(Wire::FALSE, place).chain(many.0.iter().copied());
            let term = Self(shifted.map(|it| circuit.both(it, *bit)).collect());
            // The highest bit counts the other way round.
            let is_last = place + 1 == few.width();
            product = if is_last { product.minus(&term, circuit) } else { product.plus(&term, circuit) };
        }
        product
    }

    /// The lower bits, and whether the number needs more.
    fn narrowed(&self, width: usize, circuit: &mut Circuit) -> Computed {
        let word = Self(self.0[..width].to_vec());
        let lost: Vec<Wire> = self.0[width..].iter().map(|it| !circuit.same(*it, word.sign())).collect();
        Computed { overflows: circuit.or(lost), word }
    }

    /// The sum.
    pub fn add(&self, other: &Self, circuit: &mut Circuit) -> Computed {
        let width = self.width();
        let (left, right) = (self.extended(width + 1), other.extended(width + 1));
        left.sum(&right, Wire::FALSE, circuit).narrowed(width, circuit)
    }

    /// The difference.
    pub fn sub(&self, other: &Self, circuit: &mut Circuit) -> Computed {
        let width = self.width();
        let (left, right) = (self.extended(width + 1), other.extended(width + 1));
        left.sum(&right.inverted(), Wire::TRUE, circuit).narrowed(width, circuit)
    }

    /// The number with the other sign.
    pub fn neg(&self, circuit: &mut Circuit) -> Computed {
        Self::constant(0, self.width()).sub(self, circuit)
    }

    /// The product.
    pub fn mul(&self, other: &Self, circuit: &mut Circuit) -> Computed {
        let width = self.width();
        let (left, right) = (self.extended(2 * width), other.extended(2 * width));
        let mut product = Self::constant(0, 2 * width);
        for (place, bit) in right.0.iter().enumerate() {
            if *bit == Wire::FALSE {
                continue;
            }
            let shifted = (0..2 * width).map(|it| if it < place { Wire::FALSE } else { left.0[it - place] });
            let term = Self(shifted.map(|it| circuit.both(it, *bit)).collect());
            product = product.sum(&term, Wire::FALSE, circuit);
        }
        product.narrowed(width, circuit)
    }

    fn inverted(&self) -> Self {
        Self(self.0.iter().map(|it| !*it).collect())
    }

    /// The sum modulo the width.
    fn sum(&self, other: &Self, mut carry: Wire, circuit: &mut Circuit) -> Self {
        let mut bits = Vec::with_capacity(self.width());
        for (left, right) in self.0.iter().zip(&other.0) {
            let differ = !circuit.same(*left, *right);
            bits.push(!circuit.same(differ, carry));
            let both = circuit.both(*left, *right);
            let passed_on = circuit.both(differ, carry);
            carry = circuit.either(both, passed_on);
        }
        Self(bits)
    }

    /// Are they the same number?
    pub fn equals(&self, other: &Self, circuit: &mut Circuit) -> Wire {
        let same: Vec<Wire> = self.0.iter().zip(&other.0).map(|it| circuit.same(*it.0, *it.1)).collect();
        circuit.and(same)
    }

    /// Is it less than the other?
    pub fn less_than(&self, other: &Self, circuit: &mut Circuit) -> Wire {
        // From the lowest bit on: the highest bit that differs decides, and the sign counts the other way round.
        let mut less = Wire::FALSE;
        let last = self.width().saturating_sub(1);
        for (place, (left, right)) in self.0.iter().zip(&other.0).enumerate() {
            let (small, large) = if place == last { (*right, *left) } else { (*left, *right) };
            let decides = circuit.both(!small, large);
            let stays = circuit.either(!small, large);
            let kept = circuit.both(stays, less);
            less = circuit.either(decides, kept);
        }
        less
    }

    /// This if the condition is true, else the other.
    pub fn choose(condition: Wire, yes: &Self, no: &Self, circuit: &mut Circuit) -> Self {
        Self(yes.0.iter().zip(&no.0).map(|it| circuit.choose(condition, *it.0, *it.1)).collect())
    }
}

/// Is the number one of that many bits?
pub fn fits(value: i64, width: usize) -> bool {
    // All numbers here have 64 bits.
    if width >= 64 {
        return true;
    }
    let limit = 1i64 << (width - 1);
    (-limit..limit).contains(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(word: &Word, circuit: &Circuit) -> i64 {
        word.value(&circuit.evaluate(|_| false))
    }

    #[test]
    fn wide_numbers_are_multiplied() {
        let mut circuit = Circuit::new();
        for (a, b) in [(46_340, 46_340), (46_341, 46_341), (-65_536, 32_768), (-65_537, 32_768), (0, -5)] {
            let product = Word::constant(a, 32).mul(&Word::constant(b, 32), &mut circuit);
            assert_eq!(product.overflows, Wire::constant(!fits(a * b, 32)), "{a} {b}");
            assert!(!fits(a * b, 32) || value(&product.word, &circuit) == a * b, "{a} {b}");
        }
    }

    #[test]
    fn arithmetic_without_a_width_never_overflows() {
        let mut circuit = Circuit::new();
        let inputs = (Word::input(&mut circuit, 3), Word::input(&mut circuit, 4));
        let symbolic = [
            inputs.0.plus(&inputs.1, &mut circuit),
            inputs.0.minus(&inputs.1, &mut circuit),
            inputs.0.times(&inputs.1, &mut circuit),
            inputs.1.times(&inputs.0, &mut circuit),
        ];
        for (a, b) in (-4..4).flat_map(|a| (-8..8).map(move |b| (a, b))) {
            let number = |word: &Word, wire: Wire| word.bits().iter().position(|it| *it == wire);
            let values = circuit.evaluate(|it| match (number(&inputs.0, it), number(&inputs.1, it)) {
                (Some(place), _) => a >> place & 1 == 1,
                (_, Some(place)) => b >> place & 1 == 1,
                _ => unreachable!("there are no other inputs"),
            });
            for (word, expected) in symbolic.iter().zip([a + b, a - b, a * b, a * b]) {
                assert_eq!(word.value(&values), expected, "{a} {b}");
            }
            let (left, right) = (Word::shortest(a), Word::shortest(b));
            let mut constants = Circuit::new();
            assert_eq!(left.as_constant(), Some(a));
            assert_eq!(left.plus(&right, &mut constants), Word::shortest(a + b));
            assert_eq!(left.minus(&right, &mut constants), Word::shortest(a - b));
            assert_eq!(left.times(&right, &mut constants), Word::shortest(a * b));
        }
    }

    /// All pairs of four bits, and of constants and inputs.
    #[test]
    fn arithmetic_is_that_of_integers_or_overflows() {
        let width = 4;
        let mut circuit = Circuit::new();
        let inputs = (Word::input(&mut circuit, width), Word::input(&mut circuit, width));
        let symbolic = [
            inputs.0.add(&inputs.1, &mut circuit),
            inputs.0.sub(&inputs.1, &mut circuit),
            inputs.0.mul(&inputs.1, &mut circuit),
            inputs.0.neg(&mut circuit),
        ];
        let less = inputs.0.less_than(&inputs.1, &mut circuit);
        let equal = inputs.0.equals(&inputs.1, &mut circuit);
        for (a, b) in (-8..8).flat_map(|a| (-8..8).map(move |b| (a, b))) {
            let number = |word: &Word, wire: Wire| word.bits().iter().position(|it| *it == wire);
            let values = circuit.evaluate(|it| match (number(&inputs.0, it), number(&inputs.1, it)) {
                (Some(place), _) => a >> place & 1 == 1,
                (_, Some(place)) => b >> place & 1 == 1,
                _ => unreachable!("there are no other inputs"),
            });
            for (computed, expected) in symbolic.iter().zip([a + b, a - b, a * b, -a]) {
                assert_eq!(values.of(computed.overflows), !fits(expected, width), "{a} {b} {expected}");
                assert!(!fits(expected, width) || computed.word.value(&values) == expected, "{a} {b} {expected}");
            }
            assert_eq!((values.of(less), values.of(equal)), (a < b, a == b), "{a} {b}");
            let mut constants = Circuit::new();
            let sum = Word::constant(a, width).add(&Word::constant(b, width), &mut constants);
            assert_eq!(sum.overflows, Wire::constant(!fits(a + b, width)));
            assert!(!fits(a + b, width) || value(&sum.word, &constants) == a + b);
        }
    }
}

//! What an integer is between, and what it may be a sum of.

use crate::term::{limits, product};
use iso_solve::LinearShape;
use std::collections::BTreeMap;

/// Coefficients outside of these are not followed.
const COEFFICIENTS: (i64, i64) = (-4, 3);

type Range = (i64, i64);

/// A set of integers that contains those that are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) range: Range,
    /// Sums that it may be; others are possible, but are not followed.
    pub(crate) shape: LinearShape,
}

impl Extent {
    pub(crate) fn constant(value: i64) -> Self {
        let range = (value, value);
        Self { range, shape: LinearShape { constant: range, coefficients: BTreeMap::new() } }
    }

    /// An open value.
    pub(crate) fn open(which: usize, range: Range) -> Self {
        let coefficients = BTreeMap::from([(which, (1, 1))]);
        Self { range, shape: LinearShape { constant: (0, 0), coefficients } }
    }

    /// What is in one of them.
    pub(crate) fn hull(&self, other: &Self, width: usize) -> Self {
        self.joined(other, width, hull)
    }

    pub(crate) fn add(&self, other: &Self, width: usize) -> Self {
        self.joined(other, width, |a, b| (a.0 + b.0, a.1 + b.1))
    }

    pub(crate) fn sub(&self, other: &Self, width: usize) -> Self {
        self.joined(other, width, |a, b| (a.0 - b.1, a.1 - b.0))
    }

    pub(crate) fn mul(&self, other: &Self, width: usize) -> Self {
        let (factor, of) = if other.is_constant() { (other, self) } else { (self, other) };
        let range = product(self.range, other.range);
        let shape = if factor.is_constant() {
            let scaled = |it: &Range| product(*it, factor.range);
            let coefficients = of.shape.coefficients.iter().map(|it| (*it.0, scaled(it.1))).collect();
            LinearShape { constant: scaled(&of.shape.constant), coefficients }
        } else {
            Self::constant(0).shape
        };
        Self { range, shape }.clipped(width)
    }

    fn is_constant(&self) -> bool {
        self.range.0 == self.range.1
    }

    fn joined(&self, other: &Self, width: usize, join: impl Fn(Range, Range) -> Range) -> Self {
        let mut coefficients = BTreeMap::new();
        for which in self.shape.coefficients.keys().chain(other.shape.coefficients.keys()) {
            let of = |it: &Self| it.shape.coefficients.get(which).copied().unwrap_or((0, 0));
            coefficients.insert(*which, join(of(self), of(other)));
        }
        let constant = join(self.shape.constant, other.shape.constant);
        let range = join(self.range, other.range);
        Self { range, shape: LinearShape { constant, coefficients } }.clipped(width)
    }

    /// What leaves the width is no value.
    fn clipped(mut self, width: usize) -> Self {
        let limits = limits(width);
        self.range = clip(self.range, limits);
        self.shape.constant = clip(self.shape.constant, limits);
        for coefficient in self.shape.coefficients.values_mut() {
            *coefficient = clip(*coefficient, COEFFICIENTS);
        }
        self
    }
}

fn hull(a: Range, b: Range) -> Range {
    (a.0.min(b.0), a.1.max(b.1))
}

fn clip(range: Range, limits: Range) -> Range {
    (range.0.clamp(limits.0, limits.1), range.1.clamp(limits.0, limits.1))
}

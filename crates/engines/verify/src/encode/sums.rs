//! Programs with open integers: what sums say about comparisons.

use super::Encoding;
use crate::term::{Calculator, Term};
use iso_solve::laws;

/// More open values than this are not compared with each other.
const MAX_COMPARED: usize = 6;

impl Encoding<'_> {
    /// Which of two open integers is less is often what conditions come down to, whatever they look like.
    pub(super) fn compare_symbols(&mut self) {
        let numbers: Vec<Term> = self.symbols.iter().filter(|it| it.number.is_some()).cloned().collect();
        if numbers.len() <= MAX_COMPARED {
            let mut calculator = Calculator { circuit: &mut self.circuit, comparisons: &mut self.comparisons };
            for (idx, left) in numbers.iter().enumerate() {
                for right in &numbers[idx + 1..] {
                    calculator.less_than(left, right);
                    calculator.less_than(right, left);
                }
            }
        }
    }

    /// What follows for comparisons from what is compared.
    pub(super) fn relate_sums(&mut self) {
        let ranges: Vec<(i64, i64)> = self.program.symbols().iter().map(|it| (it.low, it.high)).collect();
        self.laws.extend(laws(&self.comparisons.all, &ranges, &mut self.circuit));
        self.bit_laws.extend(&self.comparisons.meanings);
    }
}

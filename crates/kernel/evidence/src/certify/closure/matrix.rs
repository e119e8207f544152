//! Relations between a few hundred things as bits: union, composition, transitive closure.

/// A relation between `n` things; rows of bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Matrix {
    n: usize,
    n_words: usize,
    words: Vec<u64>,
}

impl Matrix {
    /// The empty relation.
    pub(super) fn new(n: usize) -> Self {
        let n_words = n.div_ceil(64);
        Self { n, n_words, words: vec![0; n * n_words] }
    }

    /// Every pair of which `relates` says so.
    pub(super) fn of(n: usize, relates: impl Fn(usize, usize) -> bool) -> Self {
        let mut matrix = Self::new(n);
        for from in 0..n {
            for to in (0..n).filter(|to| relates(from, *to)) {
                matrix.set(from, to);
            }
        }
        matrix
    }

    pub(super) fn has(&self, from: usize, to: usize) -> bool {
        self.words[from * self.n_words + to / 64] >> (to % 64) & 1 == 1
    }

    pub(super) fn set(&mut self, from: usize, to: usize) {
        self.words[from * self.n_words + to / 64] |= 1 << (to % 64);
    }

    /// Relates what this or the other relates.
    pub(super) fn or(mut self, other: &Self) -> Self {
        for (word, theirs) in self.words.iter_mut().zip(&other.words) {
            *word |= theirs;
        }
        self
    }

    /// Relates `a` and `c` if this relates `a` and some `b`, which the other relates to `c`.
    pub(super) fn then(&self, other: &Self) -> Self {
        let mut composed = Self::new(self.n);
        for from in 0..self.n {
            for middle in (0..self.n).filter(|it| self.has(from, *it)) {
                composed.add_row(from, &other.row(middle));
            }
        }
        composed
    }

    /// Also relates each thing to itself.
    pub(super) fn or_same(mut self) -> Self {
        for it in 0..self.n {
            self.set(it, it);
        }
        self
    }

    /// The transitive closure.
    pub(super) fn closed(&self) -> Self {
        let mut closed = self.clone();
        for middle in 0..self.n {
            let row = closed.row(middle);
            for from in (0..self.n).filter(|it| *it != middle) {
                if closed.has(from, middle) {
                    closed.add_row(from, &row);
                }
            }
        }
        closed
    }

    /// Adds a pair to a transitive relation and closes it again. Says whether the pair is new.
    pub(super) fn insert_closed(&mut self, from: usize, to: usize) -> bool {
        if self.has(from, to) {
            return false;
        }
        let mut gained = self.row(to);
        gained[to / 64] |= 1 << (to % 64);
        for it in 0..self.n {
            if it == from || self.has(it, from) {
                self.add_row(it, &gained);
            }
        }
        true
    }

    pub(super) fn is_irreflexive(&self) -> bool {
        (0..self.n).all(|it| !self.has(it, it))
    }

    fn row(&self, from: usize) -> Vec<u64> {
        self.words[from * self.n_words..(from + 1) * self.n_words].to_vec()
    }

    fn add_row(&mut self, from: usize, row: &[u64]) {
        for (word, gained) in self.words[from * self.n_words..].iter_mut().zip(row) {
            *word |= gained;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(n: usize) -> Matrix {
        Matrix::of(n, |from, to| from + 1 == to)
    }

    #[test]
    fn a_chain_closes_to_an_order_across_words() {
        let order = Matrix::of(130, |from, to| from < to);
        assert_eq!(chain(130).closed(), order);
        let mut one_by_one = Matrix::new(130);
        for it in (0..129).rev() {
            assert!(one_by_one.insert_closed(it, it + 1));
            assert!(!one_by_one.insert_closed(it, it + 1));
        }
        assert_eq!(one_by_one, order);
        assert!(one_by_one.is_irreflexive());
        assert!(one_by_one.insert_closed(129, 0));
        assert_eq!(one_by_one, Matrix::of(130, |_, _| true));
    }

    #[test]
    fn composition_and_union() {
        assert_eq!(chain(5).then(&chain(5)), Matrix::of(5, |from, to| from + 2 == to));
        let up_to_one = Matrix::of(5, |from, to| from == to || from + 1 == to);
        assert_eq!(chain(5).or_same(), up_to_one);
        assert_eq!(Matrix::new(5).or_same().or(&chain(5)), up_to_one);
    }
}

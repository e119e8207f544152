//! Relations between the elements of a history: bits between transactions, lists where keys or reads are concerned.

/// A relation, row by row.
#[derive(Clone, Debug)]
pub(crate) enum Rel {
    Bits(Matrix),
    /// Ascending lists, and how many columns there are.
    Lists(Vec<Vec<u32>>, usize),
}

/// A square of bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Matrix {
    n: usize,
    n_words: usize,
    bits: Vec<u64>,
}

impl Matrix {
    pub(crate) fn empty(n: usize) -> Self {
        let n_words = n.div_ceil(64);
        Self { n, n_words, bits: vec![0; n * n_words] }
    }

    pub(crate) fn has(&self, row: u32, col: u32) -> bool {
        self.bits[row as usize * self.n_words + col as usize / 64] >> (col % 64) & 1 == 1
    }

    pub(crate) fn set(&mut self, row: u32, col: u32) {
        self.bits[row as usize * self.n_words + col as usize / 64] |= 1 << (col % 64);
    }

    pub(crate) fn row(&self, row: u32) -> &[u64] {
        &self.bits[row as usize * self.n_words..][..self.n_words]
    }

    /// Adds all of a row of this matrix, or of another one, to a row.
    pub(crate) fn add_row(&mut self, to: u32, row: &[u64]) {
        let own = &mut self.bits[to as usize * self.n_words..][..self.n_words];
        own.iter_mut().zip(row).for_each(|(it, more)| *it |= more);
    }

    pub(crate) fn add_own_row(&mut self, to: u32, from: u32) {
        let (to, from) = (to as usize * self.n_words, from as usize * self.n_words);
        for word in 0..self.n_words {
            self.bits[to + word] |= self.bits[from + word];
        }
    }

    fn zip(&self, other: &Self, both: impl Fn(u64, u64) -> u64) -> Self {
        let bits = self.bits.iter().zip(&other.bits).map(|(left, right)| both(*left, *right)).collect();
        Self { bits, ..*self }
    }

    pub(crate) fn n_pairs(&self) -> usize {
        self.bits.iter().map(|it| it.count_ones() as usize).sum()
    }

    /// The closure; whoever is reached already is not followed again.
    pub(crate) fn closure(&self) -> Self {
        let mut closed = Self::empty(self.n);
        let mut stack = Vec::new();
        for start in (0..self.n as u32).rev() {
            stack.push(start);
            while let Some(at) = stack.pop() {
                each_bit(self.row(at), |next| {
                    if !closed.has(start, next) {
                        closed.set(start, next);
                        // Later rows are complete; earlier ones are walked.
                        if next > start { closed.add_own_row(start, next) } else { stack.push(next) }
                    }
                });
            }
        }
        closed
    }
}

impl Rel {
    pub(crate) fn empty(n_rows: usize, n_cols: usize, is_between_txns: bool) -> Self {
        if is_between_txns { Self::Bits(Matrix::empty(n_rows)) } else { Self::Lists(vec![Vec::new(); n_rows], n_cols) }
    }

    pub(crate) fn of_pairs(empty: Self, pairs: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut rel = empty;
        match &mut rel {
            Self::Bits(matrix) => pairs.into_iter().for_each(|(row, col)| matrix.set(row, col)),
            Self::Lists(lists, _) => {
                pairs.into_iter().for_each(|(row, col)| lists[row as usize].push(col));
                for list in lists {
                    list.sort_unstable();
                    list.dedup();
                }
            }
        }
        rel
    }

    pub(crate) fn n_rows(&self) -> usize {
        match self {
            Self::Bits(matrix) => matrix.n,
            Self::Lists(lists, _) => lists.len(),
        }
    }

    pub(crate) fn n_cols(&self) -> usize {
        match self {
            Self::Bits(matrix) => matrix.n,
            Self::Lists(_, n_cols) => *n_cols,
        }
    }

    pub(crate) fn n_pairs(&self) -> usize {
        match self {
            Self::Bits(matrix) => matrix.n_pairs(),
            Self::Lists(lists, _) => lists.iter().map(Vec::len).sum(),
        }
    }

    pub(crate) fn has(&self, row: u32, col: u32) -> bool {
        match self {
            Self::Bits(matrix) => matrix.has(row, col),
            Self::Lists(lists, _) => lists[row as usize].binary_search(&col).is_ok(),
        }
    }

    pub(crate) fn each(&self, row: u32, mut visit: impl FnMut(u32)) {
        match self {
            Self::Bits(matrix) => each_bit(matrix.row(row), visit),
            Self::Lists(lists, _) => lists[row as usize].iter().for_each(|it| visit(*it)),
        }
    }

    pub(crate) fn cols(&self, row: u32) -> Vec<u32> {
        let mut cols = Vec::new();
        self.each(row, |it| cols.push(it));
        cols
    }

    /// The rows of a relation between transactions.
    pub(crate) fn rows(&self) -> Vec<Vec<u64>> {
        match self {
            Self::Bits(matrix) => (0..matrix.n as u32).map(|it| matrix.row(it).to_vec()).collect(),
            Self::Lists(..) => Vec::new(),
        }
    }

    pub(crate) fn pairs(&self) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        (0..self.n_rows() as u32).for_each(|row| self.each(row, |col| pairs.push((row, col))));
        pairs
    }

    /// Pairs of both, of either, or of the first alone: `is_in` says which.
    pub(crate) fn combine(&self, other: &Self, is_in: impl Fn(u64, u64) -> u64) -> Self {
        if let (Self::Bits(left), Self::Bits(right)) = (self, other) {
            return Self::Bits(left.zip(right, is_in));
        }
        let keeps = |row: u32, col: u32| is_in(u64::from(self.has(row, col)), u64::from(other.has(row, col))) & 1 == 1;
        let all = self.pairs().into_iter().chain(other.pairs()).filter(|it| keeps(it.0, it.1));
        Self::of_pairs(Self::empty(self.n_rows(), self.n_cols(), false), all)
    }

    pub(crate) fn inverse(&self) -> Self {
        let empty = Self::empty(self.n_cols(), self.n_rows(), matches!(self, Self::Bits(_)));
        Self::of_pairs(empty, self.pairs().into_iter().map(|(row, col)| (col, row)))
    }

    pub(crate) fn compose(&self, other: &Self, is_between_txns: bool) -> Self {
        if is_between_txns && self.n_pairs() > other.n_pairs() {
            return other.inverse().compose_by_rows(&self.inverse(), true).inverse();
        }
        self.compose_by_rows(other, is_between_txns)
    }

    fn compose_by_rows(&self, other: &Self, is_between_txns: bool) -> Self {
        let mut rel = Self::empty(self.n_rows(), other.n_cols(), is_between_txns);
        for row in 0..self.n_rows() as u32 {
            match (&mut rel, other) {
                (Self::Bits(matrix), Self::Bits(other)) => self.each(row, |mid| matrix.add_row(row, other.row(mid))),
                (Self::Bits(matrix), _) => self.each(row, |mid| other.each(mid, |col| matrix.set(row, col))),
                (Self::Lists(lists, _), _) => {
                    let list = &mut lists[row as usize];
                    self.each(row, |mid| other.each(mid, |col| list.push(col)));
                    list.sort_unstable();
                    list.dedup();
                }
            }
        }
        rel
    }
}

pub(crate) fn each_bit(words: &[u64], mut visit: impl FnMut(u32)) {
    for (idx, word) in words.iter().enumerate() {
        let mut left = *word;
        while left != 0 {
            visit(idx as u32 * 64 + left.trailing_zeros());
            left &= left - 1;
        }
    }
}

//! Sets of numbers and relations between them, of any size: short rows are lists, long ones bits.

use std::borrow::Cow;

/// A set of numbers below some size.
#[derive(Clone, Debug)]
pub(crate) enum Row {
    /// Ascending.
    List(Vec<u32>),
    Bits {
        words: Vec<u64>,
        len: usize,
    },
}

/// A set without members.
pub(crate) const EMPTY: &Row = &Row::List(Vec::new());

/// A list longer than one number for so many columns takes more room than bits.
const COLS_PER_ENTRY: usize = 32;

/// A relation: one row for each element on the left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
    pub(crate) n_cols: usize,
}

/// Collects the members of a row in any order.
pub(crate) struct Gather {
    words: Vec<u64>,
}

impl Row {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Bits { len, .. } => *len,
        }
    }

    pub(crate) fn contains(&self, col: u32) -> bool {
        match self {
            Self::List(list) => list.binary_search(&col).is_ok(),
            Self::Bits { words, .. } => words[col as usize / 64] >> (col % 64) & 1 == 1,
        }
    }

    /// Calls `visit` for each member, ascending.
    pub(crate) fn each(&self, mut visit: impl FnMut(u32)) {
        match self {
            Self::List(list) => list.iter().for_each(|it| visit(*it)),
            Self::Bits { words, .. } => each_bit(words, visit),
        }
    }

    pub(crate) fn is_within(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bits { words, .. }, Self::Bits { words: others, .. }) => {
                words.iter().zip(others).all(|(it, other)| it & !other == 0)
            }
            (Self::Bits { len, .. }, Self::List(list)) if *len > list.len() => false,
            _ => {
                let mut is_within = true;
                self.each(|it| is_within &= other.contains(it));
                is_within
            }
        }
    }

    fn of_words(words: Cow<'_, [u64]>) -> Self {
        let len = words.iter().map(|it| it.count_ones() as usize).sum::<usize>();
        if len * COLS_PER_ENTRY > words.len() * 64 {
            return Self::Bits { words: words.into_owned(), len };
        }
        let mut list = Vec::with_capacity(len);
        each_bit(&words, |it| list.push(it));
        Self::List(list)
    }

    /// The members that all of `others` have and none of `without` has.
    pub(crate) fn among<'r>(&self, others: &[&'r Self], without: &[&'r Self]) -> Vec<u32> {
        let is_bits = |it: &&&Self| matches!(it, Self::Bits { .. });
        let mut found = Vec::new();
        let mut keep = |it: u32, others: &[&Self], without: &[&Self]| {
            if others.iter().all(|row| row.contains(it)) && !without.iter().any(|row| row.contains(it)) {
                found.push(it);
            }
        };
        let Self::Bits { words, .. } = self else {
            self.each(|it| keep(it, others, without));
            return found;
        };
        let mut words = words.clone();
        for other in others {
            other.cut(&mut words, |it, other| it & other);
        }
        for other in without {
            other.cut(&mut words, |it, other| it & !other);
        }
        let lists = |rows: &[&'r Self]| rows.iter().filter(|it| !is_bits(it)).copied().collect::<Vec<&'r Self>>();
        let (others, without) = (lists(others), lists(without));
        each_bit(&words, |it| keep(it, &others, &without));
        found
    }

    fn cut(&self, words: &mut [u64], cut: impl Fn(u64, u64) -> u64) {
        if let Self::Bits { words: others, .. } = self {
            words.iter_mut().zip(others).for_each(|(it, other)| *it = cut(*it, *other));
        }
    }
}

impl Gather {
    pub(crate) fn new(n_cols: usize) -> Self {
        Self { words: vec![0; n_cols.div_ceil(64)] }
    }

    pub(crate) fn insert(&mut self, col: u32) {
        self.words[col as usize / 64] |= 1 << (col % 64);
    }

    pub(crate) fn has(&self, col: u32) -> bool {
        self.words[col as usize / 64] >> (col % 64) & 1 == 1
    }

    pub(crate) fn add(&mut self, row: &Row) {
        match row {
            Row::List(list) => list.iter().for_each(|it| self.insert(*it)),
            Row::Bits { words, .. } => self.words.iter_mut().zip(words).for_each(|(it, more)| *it |= more),
        }
    }

    fn remove(&mut self, row: &Row) {
        match row {
            Row::List(list) => list.iter().for_each(|it| self.words[*it as usize / 64] &= !(1 << (it % 64))),
            Row::Bits { words, .. } => self.words.iter_mut().zip(words).for_each(|(it, less)| *it &= !less),
        }
    }

    fn keep(&mut self, row: &Row) {
        match row {
            Row::Bits { words, .. } => self.words.iter_mut().zip(words).for_each(|(it, more)| *it &= more),
            Row::List(list) => {
                let kept: Vec<u32> = list.iter().copied().filter(|it| self.has(*it)).collect();
                self.words.fill(0);
                for it in kept {
                    self.insert(it);
                }
            }
        }
    }

    /// What was collected, which stays.
    pub(crate) fn row(&self) -> Row {
        Row::of_words(Cow::Borrowed(&self.words))
    }

    /// What was collected, and begins again.
    pub(crate) fn take(&mut self) -> Row {
        let row = self.row();
        self.words.fill(0);
        row
    }
}

impl Table {
    pub(crate) fn empty(n_rows: usize, n_cols: usize) -> Self {
        Self { rows: vec![EMPTY.clone(); n_rows], n_cols }
    }

    /// The relation of these pairs, which come row by row or in any order.
    pub(crate) fn of_pairs(n_rows: usize, n_cols: usize, pairs: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); n_rows];
        for (row, col) in pairs {
            lists[row as usize].push(col);
        }
        Self::of_lists(lists, n_cols)
    }

    /// The relation of these rows of bits, if they are of that size and nothing is beyond it.
    pub(crate) fn of_bits(rows: &[Vec<u64>], n: usize) -> Option<Self> {
        let n_words = n.div_ceil(64);
        let beyond = if n.is_multiple_of(64) { 0 } else { !0 << (n % 64) };
        let fits = |it: &Vec<u64>| it.len() == n_words && it.last().is_none_or(|it| it & beyond == 0);
        if rows.len() != n || !rows.iter().all(fits) {
            return None;
        }
        Some(Self { rows: rows.iter().map(|it| Row::of_words(Cow::Borrowed(it))).collect(), n_cols: n })
    }

    pub(crate) fn of_lists(lists: Vec<Vec<u32>>, n_cols: usize) -> Self {
        let mut gather = Gather::new(n_cols);
        let row = |mut list: Vec<u32>| {
            if list.len() * COLS_PER_ENTRY <= n_cols {
                list.sort_unstable();
                list.dedup();
                return Row::List(list);
            }
            for it in list {
                gather.insert(it);
            }
            gather.take()
        };
        Self { rows: lists.into_iter().map(row).collect(), n_cols }
    }

    pub(crate) fn n_pairs(&self) -> usize {
        self.rows.iter().map(Row::len).sum()
    }

    pub(crate) fn has(&self, row: u32, col: u32) -> bool {
        self.rows[row as usize].contains(col)
    }

    pub(crate) fn union(&self, other: &Self) -> Self {
        self.row_by_row(other, Gather::add)
    }

    pub(crate) fn difference(&self, other: &Self) -> Self {
        self.row_by_row(other, Gather::remove)
    }

    fn row_by_row(&self, other: &Self, change: impl Fn(&mut Gather, &Row)) -> Self {
        let mut gather = Gather::new(self.n_cols);
        let rows = self.rows.iter().zip(&other.rows).map(|(left, right)| {
            gather.add(left);
            change(&mut gather, right);
            gather.take()
        });
        Self { rows: rows.collect(), n_cols: self.n_cols }
    }

    pub(crate) fn intersection(&self, other: &Self) -> Self {
        self.row_by_row(other, Gather::keep)
    }

    pub(crate) fn is_within(&self, other: &Self) -> bool {
        self.rows.iter().zip(&other.rows).all(|(left, right)| left.is_within(right))
    }

    /// Backwards; `n_rows` is how many elements there are on this relation's left.
    pub(crate) fn inverse(&self) -> Self {
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); self.n_cols];
        for (row, cols) in self.rows.iter().enumerate() {
            cols.each(|col| lists[col as usize].push(row as u32));
        }
        Self::of_lists(lists, self.rows.len())
    }

    /// A step of this relation, then one of the other; by the side that has fewer pairs.
    pub(crate) fn composition(&self, other: &Self) -> Self {
        if self.n_pairs() <= other.n_pairs() {
            return self.steps(other);
        }
        other.inverse().steps(&self.inverse()).inverse()
    }

    fn steps(&self, other: &Self) -> Self {
        let mut gather = Gather::new(other.n_cols);
        let rows = self.rows.iter().map(|row| {
            row.each(|middle| gather.add(&other.rows[middle as usize]));
            gather.take()
        });
        Self { rows: rows.collect(), n_cols: other.n_cols }
    }

    pub(crate) fn reflexive(&self) -> Self {
        let mut gather = Gather::new(self.n_cols);
        let rows = self.rows.iter().enumerate().map(|(idx, row)| {
            gather.add(row);
            gather.insert(idx as u32);
            gather.take()
        });
        Self { rows: rows.collect(), n_cols: self.n_cols }
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

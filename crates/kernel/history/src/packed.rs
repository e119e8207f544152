//! A column of integers that takes little memory where neighbours are alike, as times, lines and numbered values are.
//!
//! Integers stand in blocks. Each block has its smallest integer, and of all others the difference to that, in as few
//! bytes as the largest difference takes: none at all where all are equal. Any entry is found at once.

use std::ops::Range;

/// So many entries are a block.
const BLOCK: usize = 64;
/// So many bits of the place of a block say how many bytes a difference takes.
const WIDTH_BITS: u32 = 4;

/// A difference is taken out of so many bytes, whatever follows it: so many are behind the last one.
const PADDING: usize = size_of::<u64>();
/// By the number of bytes of a difference: which bits of eight bytes it has.
const MASKS: [u64; PADDING + 1] =
    [0, 0xff, 0xffff, 0xff_ffff, 0xffff_ffff, 0xff_ffff_ffff, 0xffff_ffff_ffff, u64::MAX >> 8, u64::MAX];

/// A column that only grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packed {
    blocks: Vec<Block>,
    differences: Vec<u8>,
    /// The last entries, which are no block yet.
    open: Vec<i64>,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    smallest: i64,
    /// Where its differences begin, and in the last bits how many bytes each of them takes.
    place: u64,
}

impl Packed {
    pub(crate) fn len(&self) -> usize {
        self.blocks.len() * BLOCK + self.open.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub(crate) fn push(&mut self, entry: i64) {
        self.open.push(entry);
        if self.open.len() == BLOCK {
            self.close();
        }
    }

    /// Adds entries until there are so many.
    pub(crate) fn fill(&mut self, len: usize, entry: i64) {
        while self.len() < len {
            self.push(entry);
        }
    }

    /// The entry at a position, if there are so many.
    #[inline]
    pub(crate) fn get(&self, idx: usize) -> Option<i64> {
        match self.blocks.get(idx / BLOCK) {
            Some(block) => Some(self.in_block(*block, idx % BLOCK)),
            None => self.open.get(idx - self.blocks.len() * BLOCK).copied(),
        }
    }

    /// Adds an entry that is a position in something.
    #[inline]
    pub(crate) fn push_number(&mut self, number: usize) {
        self.push((number as u64).cast_signed());
    }

    /// The entry at a position, as a position in something.
    #[inline]
    pub(crate) fn number(&self, idx: usize) -> usize {
        self.get(idx).expect("the column is so long").cast_unsigned() as usize
    }

    /// Of ascending positions where something begins: from the one at `idx` to the next one.
    #[inline]
    pub(crate) fn span(&self, idx: usize) -> Range<usize> {
        let nth = idx % BLOCK;
        match self.blocks.get(idx / BLOCK) {
            // Both are nearly always in one block.
            Some(block) if nth + 1 < BLOCK => {
                let start_of = |nth: usize| self.in_block(*block, nth).cast_unsigned() as usize;
                start_of(nth)..start_of(nth + 1)
            }
            _ => self.number(idx)..self.number(idx + 1),
        }
    }

    /// Of ascending positions, how many satisfy the question; all that do come first.
    pub(crate) fn partition_point(&self, is_before: impl Fn(usize) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if is_before(self.number(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// About what it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.blocks.len() * size_of::<Block>() + self.differences.len() + self.open.len() * size_of::<i64>()
    }

    #[inline]
    fn in_block(&self, block: Block, nth: usize) -> i64 {
        let start = (block.place >> WIDTH_BITS) as usize;
        let width = (block.place & ((1 << WIDTH_BITS) - 1)) as usize;
        let at = start + width * nth;
        let bytes = self.differences[at..at + PADDING].try_into().expect("the slice has this length");
        block.smallest.wrapping_add((u64::from_le_bytes(bytes) & MASKS[width]).cast_signed())
    }

    fn close(&mut self) {
        let smallest = self.open.iter().copied().min().unwrap_or_default();
        let difference = |it: &i64| it.wrapping_sub(smallest).cast_unsigned();
        let largest = self.open.iter().map(difference).max().unwrap_or_default();
        let width = MASKS.iter().position(|it| largest <= *it).expect("eight bytes have any difference");
        let start = self.differences.len().saturating_sub(PADDING);
        self.blocks.push(Block { smallest, place: (start as u64) << WIDTH_BITS | width as u64 });
        self.differences.resize(start + BLOCK * width + PADDING, 0);
        for (nth, entry) in self.open.iter().enumerate() {
            // Eight bytes at once are fast; what is too much of them is zero, and the next entry is written over it.
            let at = start + nth * width;
            self.differences[at..at + PADDING].copy_from_slice(&difference(entry).to_le_bytes());
        }
        self.open.clear();
    }
}

impl Extend<i64> for Packed {
    fn extend<I: IntoIterator<Item = i64>>(&mut self, entries: I) {
        entries.into_iter().for_each(|it| self.push(it));
    }
}

impl FromIterator<i64> for Packed {
    fn from_iter<I: IntoIterator<Item = i64>>(entries: I) -> Self {
        let mut all = Self::default();
        all.extend(entries);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<i64> {
        let equal = [7; 200].into_iter();
        let lines = 1..300;
        let far = (0..300).map(|it: i64| it * it * it * 1_000_003);
        let odd = [i64::MIN, i64::MAX, 0, -1, 5].into_iter().cycle().take(333);
        let wide = (0..300).map(|it: i64| it * 1000 - 40_000);
        equal.chain(lines).chain(far).chain(odd).chain(wide).collect()
    }

    #[test]
    fn what_was_pushed_is_there() {
        let (all, mut packed) = (entries(), Packed::default());
        assert!(packed.is_empty());
        for (idx, entry) in all.iter().enumerate() {
            assert_eq!(packed.get(idx), None);
            packed.push(*entry);
            assert_eq!((packed.len(), packed.get(idx)), (idx + 1, Some(*entry)));
        }
        assert!(all.iter().enumerate().all(|(idx, it)| packed.get(idx) == Some(*it)));
    }

    #[test]
    fn a_column_can_be_filled_up() {
        let (mut all, mut packed) = (entries(), Packed::default());
        packed.extend(all.iter().copied());
        packed.fill(all.len() + 100, -9);
        all.resize(all.len() + 100, -9);
        let unpacked: Vec<i64> = (0..packed.len()).filter_map(|it| packed.get(it)).collect();
        assert_eq!(unpacked, all);
    }

    #[test]
    fn ascending_positions_are_found() {
        let mut packed = Packed::default();
        (0..1_000).for_each(|it| packed.push_number(it * it));
        for bound in [0, 1, 5, 63 * 63, 64 * 64, 999 * 999, 1_000_000] {
            let n_before = (0..1_000).filter(|it| it * it < bound).count();
            assert_eq!(packed.partition_point(|it| it < bound), n_before, "{bound}");
        }
        assert!((0..999).all(|it| packed.span(it) == (it * it..(it + 1) * (it + 1))));
    }

    #[test]
    fn what_is_alike_takes_little() {
        let mut packed = Packed::default();
        packed.extend(1_000_000..1_010_000);
        assert!(packed.bytes() < 15_000, "{}", packed.bytes());
    }
}

//! Whose write each read saw: reads in ascending order, which take little memory, beside their writers.

use crate::packed::Packed;
use crate::{OpId, TxnId};

/// Whose write a read saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// The read.
    pub read: OpId,
    /// The transaction that wrote what it saw.
    pub writer: TxnId,
}

/// The sources of many reads, in the order in which they were added: that of the reads, wherever somebody looks for one.
#[derive(Clone, Default)]
pub struct Sources {
    reads: Packed,
    writers: Vec<TxnId>,
}

impl Sources {
    pub(crate) fn with_capacity(n_reads: usize) -> Self {
        Self { reads: Packed::default(), writers: Vec::with_capacity(n_reads) }
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.writers.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.writers.is_empty()
    }

    /// The source at a position.
    #[inline]
    pub fn at(&self, idx: usize) -> Source {
        Source { read: self.read(idx), writer: self.writers[idx] }
    }

    /// The read at a position.
    #[inline]
    pub(crate) fn read(&self, idx: usize) -> OpId {
        OpId::from_index(self.reads.number(idx))
    }

    /// The writer at a position.
    #[inline]
    pub(crate) fn writer(&self, idx: usize) -> &TxnId {
        &self.writers[idx]
    }

    pub(crate) fn writer_mut(&mut self, idx: usize) -> &mut TxnId {
        &mut self.writers[idx]
    }

    /// The writers, in the order of their reads.
    #[inline]
    pub fn writers(&self) -> &[TxnId] {
        &self.writers
    }

    /// All of them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Source> + ExactSizeIterator + '_ {
        (0..self.len()).map(|it| self.at(it))
    }

    /// Where a read stands, if it is among them.
    pub fn position(&self, read: OpId) -> Option<usize> {
        let at = self.reads.partition_point(|it| it < read.index());
        (at < self.len() && self.read(at) == read).then_some(at)
    }

    /// Whose write a read saw, if it is among them.
    pub fn writer_of(&self, read: OpId) -> Option<TxnId> {
        self.position(read).map(|it| self.writers[it])
    }

    /// Adds the source of a read.
    #[inline]
    pub fn push(&mut self, source: Source) {
        self.reads.push_number(source.read.index());
        self.writers.push(source.writer);
    }
}

impl PartialEq for Sources {
    fn eq(&self, other: &Self) -> bool {
        self.writers == other.writers && (0..self.len()).all(|it| self.read(it) == other.read(it))
    }
}

impl Eq for Sources {}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Extend<Source> for Sources {
    fn extend<I: IntoIterator<Item = Source>>(&mut self, sources: I) {
        sources.into_iter().for_each(|it| self.push(it));
    }
}

impl FromIterator<Source> for Sources {
    fn from_iter<I: IntoIterator<Item = Source>>(sources: I) -> Self {
        let mut all = Self::default();
        all.extend(sources);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_found_by_their_reads() {
        let source = |it: usize| Source { read: OpId::from_index(3 * it), writer: TxnId::from_index(it / 7) };
        let all: Sources = (0..1_000).map(source).collect();
        assert_eq!((all.len(), all.is_empty()), (1_000, false));
        assert!(all.iter().eq((0..1_000).map(source)));
        for idx in 0..1_000 {
            assert_eq!(all.position(OpId::from_index(3 * idx)), Some(idx));
            assert_eq!(all.writer_of(OpId::from_index(3 * idx)), Some(TxnId::from_index(idx / 7)));
            assert_eq!(all.writer_of(OpId::from_index(3 * idx + 1)), None);
        }
        assert_eq!(Sources::default().position(OpId::from_index(0)), None);
    }

    #[test]
    fn equal_sources_are_equal_and_others_are_not() {
        let source =
            |it: usize, writer: usize| Source { read: OpId::from_index(it), writer: TxnId::from_index(writer) };
        let sources = |writer: usize| (0..200).map(|it| source(it, writer)).collect::<Sources>();
        assert_eq!(sources(1), sources(1));
        assert_ne!(sources(1), sources(2));
        assert_ne!(sources(1), (1..201).map(|it| source(it, 1)).collect());
        assert_ne!(sources(1), (0..199).map(|it| source(it, 1)).collect());
    }
}

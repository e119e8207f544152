//! The history as a level sees it that lets transactions read what is rolled back later.

use crate::project::n_external;
use crate::{History, KeyId, Op, OpId, Outcome, ValueId};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// Elements of lists.
type Elements = FxHashSet<(KeyId, ValueId)>;

/// With so many elements that may be either's, all cases can be tried.
const MAX_PLACES: usize = 12;

impl History {
    /// The most that can be said in favour of a level that allows dirty reads, or none if the history says it already:
    /// whoever is indeterminate aborted, and elements that only aborted transactions appended are left out of the lists
    /// that were read. What is left of a list still shows the order of those who committed.
    pub fn favouring_dirty_reads(&self) -> Option<Self> {
        let aborted = self.with_indeterminate_aborted();
        let without = aborted.as_ref().unwrap_or(self).without_aborted_elements();
        without.or(aborted)
    }

    /// List reads of committed transactions with elements that an aborted transaction appended, and a committed one, too:
    /// for a level that allows dirty reads, these may be either's.
    pub fn mixed_lists(&self) -> Vec<OpId> {
        let (mut aborted, kept) = self.elements_by_end();
        aborted.retain(|it| kept.contains(it));
        let is_mixed = |op: &OpId| match self.op(*op) {
            Op::ReadList { key, values } => {
                values[..n_external(self, *op)].iter().any(|it| aborted.contains(&(key, *it)))
            }
            _ => false,
        };
        if aborted.is_empty() {
            return Vec::new();
        }
        let committed = self.txns().filter(|it| self.outcome(*it) == Outcome::Committed);
        committed.flat_map(|it| self.ops(it)).filter(is_mixed).collect()
    }

    /// The elements of such reads that may be either's: the read, and the place in it.
    pub fn mixed_places(&self) -> Vec<(OpId, usize)> {
        let (mut aborted, kept) = self.elements_by_end();
        aborted.retain(|it| kept.contains(it));
        let places = |op: OpId| {
            let Op::ReadList { key, values } = self.op(op) else { return Vec::new() };
            let external = values[..n_external(self, op)].iter().enumerate();
            external.filter(|(_, it)| aborted.contains(&(key, **it))).map(|(nth, _)| (op, nth)).collect()
        };
        self.mixed_lists().into_iter().flat_map(places).collect()
    }

    /// All cases of such reads, or none if they are too many to be tried one by one.
    pub fn mixed_cases(&self) -> Option<impl Iterator<Item = Self> + '_> {
        let places = self.mixed_places();
        let n_cases = if places.len() <= MAX_PLACES { 1_u32 << places.len() } else { return None };
        Some((0..n_cases).map(move |case| {
            let is_rolled_back = |nth: &usize| case & 1 << nth != 0;
            self.with_rolled_back(&(0..places.len()).filter(is_rolled_back).map(|it| places[it]).collect())
        }))
    }

    /// One of the cases of such reads: the elements at `rolled_back` are those of aborted transactions, and say nothing,
    /// and all others are those of transactions that committed. Numbers of transactions and operations stay.
    ///
    /// A level that allows dirty reads allows the history exactly if it allows one of the cases.
    #[must_use]
    pub fn with_rolled_back(&self, rolled_back: &BTreeSet<(OpId, usize)>) -> Self {
        let (aborted, kept) = self.elements_by_end();
        let mut history = self.without_places(|read, nth, _| rolled_back.contains(&(read, nth)));
        for op in self.txns().filter(|it| self.outcome(*it) == Outcome::Aborted).flat_map(|it| self.ops(it)) {
            if let Op::Append { key, value } = self.op(op)
                && aborted.contains(&(key, value))
                && kept.contains(&(key, value))
            {
                history.op_value[op.index()] = history.values.again(value.index()) as u32;
            }
        }
        history
    }

    fn without_aborted_elements(&self) -> Option<Self> {
        let gone = self.aborted_elements();
        let has_gone = |op: OpId| match self.op(op) {
            Op::ReadList { key, values } => values[..n_external(self, op)].iter().any(|it| gone.contains(&(key, *it))),
            _ => false,
        };
        let committed = self.txns().filter(|it| self.outcome(*it) == Outcome::Committed);
        if gone.is_empty() || !committed.flat_map(|it| self.ops(it)).any(has_gone) {
            return None;
        }
        Some(self.without_places(|read, _, value| gone.contains(&(self.op(read).key(), value))))
    }

    /// The same history without some elements of the lists that were read, but for what readers appended themselves.
    fn without_places(&self, is_gone: impl Fn(OpId, usize, ValueId) -> bool) -> Self {
        let mut history = Self { list_starts: vec![0], list_values: Vec::new(), ..self.clone() };
        for op in self.txns().flat_map(|it| self.ops(it)) {
            if let Op::ReadList { values, .. } = self.op(op) {
                history.op_value[op.index()] = history.list_starts.len() as u32 - 1;
                let (external, own) = values.split_at(n_external(self, op));
                let stays = external.iter().enumerate().filter(|(nth, it)| !is_gone(op, *nth, **it));
                history.list_values.extend(stays.map(|it| *it.1));
                history.list_values.extend(own);
                history.list_starts.push(history.list_values.len() as u32);
            }
        }
        history
    }

    /// What was appended, but only by aborted transactions.
    fn aborted_elements(&self) -> Elements {
        let (mut aborted, kept) = self.elements_by_end();
        aborted.retain(|it| !kept.contains(it));
        aborted
    }

    /// What aborted transactions appended, and what others did.
    fn elements_by_end(&self) -> (Elements, Elements) {
        let (mut aborted, mut kept) = (Elements::default(), Elements::default());
        if !self.key_is_list.contains(&true) {
            return (aborted, kept);
        }
        for txn in self.txns() {
            let elements = if self.outcome(txn) == Outcome::Aborted { &mut aborted } else { &mut kept };
            elements.extend(self.ops(txn).filter_map(|op| match self.op(op) {
                Op::Append { key, value } => Some((key, value)),
                _ => None,
            }));
        }
        (aborted, kept)
    }
}

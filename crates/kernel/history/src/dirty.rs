//! The history as a level sees it that lets transactions read what is rolled back later.

use crate::project::n_external;
use crate::{History, KeyId, Op, OpId, Outcome, ValueId};
use rustc_hash::FxHashSet;

/// Elements of lists.
type Elements = FxHashSet<(KeyId, ValueId)>;

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

    /// Two of the cases of such reads: all these elements are those of committed transactions, or none of them is.
    pub fn mixed_cases(&self) -> [Self; 2] {
        let (aborted, kept) = self.elements_by_end();
        let is_mixed = |it: &(KeyId, ValueId)| aborted.contains(it) && kept.contains(it);
        let mut committed = self.clone();
        for op in self.txns().filter(|it| self.outcome(*it) == Outcome::Aborted).flat_map(|it| self.ops(it)) {
            if let Op::Append { key, value } = self.op(op)
                && is_mixed(&(key, value))
            {
                committed.op_value[op.index()] = committed.values.again(value.index()) as u32;
            }
        }
        let mixed: Elements = aborted.iter().copied().filter(is_mixed).collect();
        let rolled_back = committed.without_elements(&mixed);
        [committed, rolled_back]
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
        Some(self.without_elements(&gone))
    }

    /// The same history without some elements in the lists that were read, but for what readers appended themselves.
    fn without_elements(&self, gone: &Elements) -> Self {
        let mut history = Self { list_starts: vec![0], list_values: Vec::new(), ..self.clone() };
        for op in self.txns().flat_map(|it| self.ops(it)) {
            if let Op::ReadList { key, values } = self.op(op) {
                history.op_value[op.index()] = history.list_starts.len() as u32 - 1;
                let (external, own) = values.split_at(n_external(self, op));
                history.list_values.extend(external.iter().filter(|it| !gone.contains(&(key, **it))));
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

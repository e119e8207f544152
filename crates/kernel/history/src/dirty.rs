//! The history as a level sees it that lets transactions read what is rolled back later.

use crate::{History, KeyId, Op, Outcome, TxnId, ValueId};
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

    fn without_aborted_elements(&self) -> Option<Self> {
        let gone = self.aborted_elements();
        let has_gone = |txn: TxnId| {
            let is_gone = |key, values: &[ValueId]| values.iter().any(|it| gone.contains(&(key, *it)));
            self.ops(txn).any(|op| matches!(self.op(op), Op::ReadList { key, values } if is_gone(key, values)))
        };
        if gone.is_empty() || !self.txns().any(has_gone) {
            return None;
        }
        let mut history = Self { list_starts: vec![0], list_values: Vec::new(), ..self.clone() };
        for op in self.txns().flat_map(|it| self.ops(it)) {
            if let Op::ReadList { key, values } = self.op(op) {
                history.op_value[op.index()] = history.list_starts.len() as u32 - 1;
                history.list_values.extend(values.iter().filter(|it| !gone.contains(&(key, **it))));
                history.list_starts.push(history.list_values.len() as u32);
            }
        }
        Some(history)
    }

    /// What was appended, but only by aborted transactions.
    fn aborted_elements(&self) -> Elements {
        let (mut aborted, mut kept) = (Elements::default(), Elements::default());
        if !self.key_is_list.contains(&true) {
            return aborted;
        }
        for txn in self.txns() {
            let elements = if self.outcome(txn) == Outcome::Aborted { &mut aborted } else { &mut kept };
            elements.extend(self.ops(txn).filter_map(|op| match self.op(op) {
                Op::Append { key, value } => Some((key, value)),
                _ => None,
            }));
        }
        aborted.retain(|it| !kept.contains(it));
        aborted
    }
}

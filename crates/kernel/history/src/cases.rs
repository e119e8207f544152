//! Takes a history with several meanings apart: cases that have fewer, one of which is what happened.
//!
//! A list read is open if several transactions may have appended an element of it, or if nobody knows whether its reader
//! committed. A case says whose element it is, or how the reader ended, and is a history with the same numbers of
//! transactions and operations. Elements that a case tells apart are values of the same name.

use crate::lists::Appends;
use crate::project::n_external;
use crate::{Facts, History, KeyId, Op, OpId, Outcome, Standing, TxnId, ValueId};

impl Facts<'_> {
    /// The cases of [`Facts::ambiguous_list`]; none if there is no such read. The history is allowed by a level that
    /// forbids dirty reads exactly if one of them is.
    pub fn cases(&self) -> Vec<History> {
        let Some(read) = self.ambiguous_list() else { return Vec::new() };
        let (history, reader) = (self.history(), self.history().txn_of(read));
        if self.standing(reader) == Standing::Optional {
            return [Outcome::Committed, Outcome::Aborted].map(|it| history.with_outcome(reader, it)).into();
        }
        let appends = Appends::new(history);
        let Some(place) = Place::first_open(history, &appends, read) else { return Vec::new() };
        let starts = |it: &TxnId| place.starts(history, *it).into_iter().map(|start| (*it, start)).collect::<Vec<_>>();
        let whose = place.appenders.iter().flat_map(starts);
        whose.map(|(appender, start)| history.with_elements_of(&place, appender, start)).collect()
    }

    /// Everybody who has to do with why a list read has several meanings.
    pub fn involved_in(&self, ambiguous: OpId) -> Vec<TxnId> {
        let mut txns = self.open_list(ambiguous).unwrap_or_default().to_vec();
        txns.push(self.history().txn_of(ambiguous));
        txns.sort_unstable();
        txns.dedup();
        txns
    }

    /// Every list read with several meanings.
    pub fn ambiguous_lists(&self) -> Vec<OpId> {
        let is_list = |op: &OpId| matches!(self.history().op(*op), Op::ReadList { .. });
        let optional = self.txns().filter(|it| self.standing(*it) == Standing::Optional);
        let mut reads: Vec<OpId> = optional.flat_map(|it| self.history().ops(it)).filter(is_list).collect();
        reads.extend(self.open_reads());
        reads.sort_unstable();
        reads.dedup();
        reads
    }
}

/// An element of a list read that may be one of several transactions.
struct Place {
    read: OpId,
    key: KeyId,
    nth: usize,
    appenders: Vec<TxnId>,
}

impl Place {
    fn first_open(history: &History, appends: &Appends, read: OpId) -> Option<Self> {
        let Op::ReadList { key, values } = history.op(read) else { return None };
        let reader = history.txn_of(read);
        let external = &values[..n_external(history, read)];
        let nth = external.iter().position(|it| appends.is_open(history, reader, key, *it))?;
        Some(Self { read, key, nth, appenders: appends.possible(history, reader, key, external[nth]) })
    }

    /// Where the elements of an appender begin, if the one at this place is among them: elements of one transaction stand
    /// together, in their order.
    fn starts(&self, history: &History, appender: TxnId) -> Vec<usize> {
        let external = history.external(self.read);
        let appended = history.appended(appender, self.key);
        let fits = |nth: &usize| {
            let start = self.nth.checked_sub(*nth)?;
            (appended[*nth].1 == external[self.nth]
                && appended[..*nth].iter().map(|it| it.1).eq(external[start..self.nth].iter().copied()))
            .then_some(start)
        };
        (0..appended.len()).filter_map(|it| fits(&it)).collect()
    }
}

impl History {
    /// The same history with a known outcome. When an indeterminate transaction ended stays unknown.
    #[must_use]
    pub fn with_outcome(&self, txn: TxnId, outcome: Outcome) -> Self {
        let mut history = self.clone();
        history.txn_outcome[txn.index()] = outcome;
        history.forget_ends(|it| it == txn);
        history
    }

    /// The same history in which the elements from a place on are those of `appender`, whose elements of the list are then
    /// different from those of all others.
    ///
    /// All lists that were read are prefixes of one list. So the elements at the same place of other reads are the same,
    /// as far as these agree.
    fn with_elements_of(&self, place: &Place, appender: TxnId, start: usize) -> Self {
        let mut history = self.clone();
        let mut block: Vec<(ValueId, ValueId)> = Vec::new();
        for (op, value) in self.appended(appender, place.key) {
            let fresh = ValueId::from_index(history.values.again(value.index()));
            block.push((value, fresh));
            history.op_value[op.index()] = fresh.raw();
        }
        let shown = self.external(place.read);
        for read in self.txns().flat_map(|it| self.ops(it)) {
            if !matches!(self.op(read), Op::ReadList { key, .. } if key == place.key) {
                continue;
            }
            let external = self.external(read);
            let n_same = external.iter().zip(shown).take_while(|(a, b)| a == b).count();
            history.rename(read, start..n_same, &block);
            if self.txn_of(read) == appender {
                history.rename(read, external.len()..usize::MAX, &block);
            }
        }
        history
    }

    /// What a transaction appended to a list.
    fn appended(&self, txn: TxnId, list: KeyId) -> Vec<(OpId, ValueId)> {
        let append = |op| match self.op(op) {
            Op::Append { key, value } if key == list => Some((op, value)),
            _ => None,
        };
        self.ops(txn).filter_map(append).collect()
    }

    fn external(&self, read: OpId) -> &[ValueId] {
        match self.op(read) {
            Op::ReadList { values, .. } => &values[..n_external(self, read)],
            _ => &[],
        }
    }

    /// Gives elements of a list read their new values, from the start of a range on as long as they are the block's.
    fn rename(&mut self, read: OpId, range: std::ops::Range<usize>, block: &[(ValueId, ValueId)]) {
        let list = self.op_value[read.index()] as usize;
        let (start, end) = (self.list_starts[list] as usize, self.list_starts[list + 1] as usize);
        let values = &mut self.list_values[start..end];
        let end = range.end.min(values.len());
        for (value, (old, fresh)) in values[range.start.min(end)..end].iter_mut().zip(block) {
            if value != old {
                return;
            }
            *value = *fresh;
        }
    }
}

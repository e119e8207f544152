//! An execution: a history together with everything that a level says must exist.

use iso_history::{KeyId, OpId, TxnId};

/// Who was in, whose writes were read, and the witness relations of the framework, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Execution {
    /// The transactions that took place, ascending, the initial one included.
    pub included: Vec<TxnId>,
    /// For each external read of those, whose write it saw.
    pub sources: Vec<(OpId, TxnId)>,
    /// The witness; versions have one entry a key.
    pub relations: Vec<NamedRelation>,
    /// Parts of the witness that are orders, by their members: of a large history, the pairs would be too many.
    pub orders: Vec<NamedOrder>,
    /// Other relations of a large history, a bit for each pair.
    pub rows: Vec<NamedRows>,
}

/// A strict total order, or the version order of one key, as a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedOrder {
    /// The name of the witness.
    pub name: String,
    /// The key, if the witness is versions.
    pub key: Option<KeyId>,
    /// Each before all that follow it. The initial transaction comes first, and is not named.
    pub first_to_last: Vec<TxnId>,
}

/// A witness relation, or its part for one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedRelation {
    /// The name of the witness.
    pub name: String,
    /// The key, if the witness is versions.
    pub key: Option<KeyId>,
    /// The pairs, ascending.
    pub pairs: Vec<(TxnId, TxnId)>,
}

/// A relation as rows of bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedRows {
    /// The name of the witness.
    pub name: String,
    /// A row for each transaction that took place, with a bit for each of them, in the order of
    /// [`Execution::included`].
    pub rows: Vec<Vec<u64>>,
}

impl NamedRows {
    /// The pairs, ascending, between these transactions.
    pub fn pairs<'e>(&'e self, included: &'e [TxnId]) -> impl Iterator<Item = (TxnId, TxnId)> + 'e {
        let is_in = |row: &[u64], col: usize| row.get(col / 64).is_some_and(|it| it >> (col % 64) & 1 == 1);
        let of = move |(left, row): (&'e TxnId, &'e Vec<u64>)| {
            let cols = included.iter().enumerate().filter(move |it| is_in(row, it.0));
            cols.map(move |it| (*left, *it.1))
        };
        included.iter().zip(&self.rows).flat_map(of)
    }
}

impl Execution {
    /// An execution without a witness yet. The initial transaction is always in.
    pub fn new(included: impl IntoIterator<Item = TxnId>, sources: Vec<(OpId, TxnId)>) -> Self {
        let mut included: Vec<TxnId> = included.into_iter().chain([TxnId::INITIAL]).collect();
        included.sort_unstable();
        included.dedup();
        Self { included, sources, relations: Vec::new(), orders: Vec::new(), rows: Vec::new() }
    }

    /// Adds a relation by its pairs.
    #[must_use]
    pub fn with_relation(mut self, name: &str, pairs: impl IntoIterator<Item = (TxnId, TxnId)>) -> Self {
        self.push(name, None, pairs.into_iter().collect());
        self
    }

    /// Adds a total order of transactions, first to last. The initial one comes first, whether named or not.
    #[must_use]
    pub fn with_order(mut self, name: &str, first_to_last: &[TxnId]) -> Self {
        self.push(name, None, pairs_of_order(first_to_last));
        self
    }

    /// Adds the version order of a key by its writers, oldest first. The initial transaction comes first.
    #[must_use]
    pub fn with_versions(mut self, name: &str, key: KeyId, oldest_first: &[TxnId]) -> Self {
        self.push(name, Some(key), pairs_of_order(oldest_first));
        self
    }

    fn push(&mut self, name: &str, key: Option<KeyId>, mut pairs: Vec<(TxnId, TxnId)>) {
        pairs.sort_unstable();
        pairs.dedup();
        self.relations.push(NamedRelation { name: name.to_owned(), key, pairs });
    }

    /// The pairs of a witness, over all keys; none if it has no such witness.
    pub fn pairs(&self, name: &str) -> Option<Vec<(TxnId, TxnId)>> {
        let mut parts = self.relations.iter().filter(|it| it.name == name).peekable();
        parts.peek()?;
        let mut pairs: Vec<_> = parts.flat_map(|it| it.pairs.iter().copied()).collect();
        pairs.sort_unstable();
        pairs.dedup();
        Some(pairs)
    }

    /// The transactions in the order that a witness gives them, without the initial one.
    pub fn order(&self, name: &str) -> Option<Vec<TxnId>> {
        let pairs = self.pairs(name)?;
        let n_before = |txn: &TxnId| pairs.iter().filter(|it| it.1 == *txn).count();
        let mut order: Vec<TxnId> = self.included.iter().copied().filter(|it| !it.is_initial()).collect();
        order.sort_by_key(n_before);
        Some(order)
    }
}

fn pairs_of_order(first_to_last: &[TxnId]) -> Vec<(TxnId, TxnId)> {
    let rest = first_to_last.iter().copied().filter(|it| !it.is_initial());
    let all: Vec<TxnId> = std::iter::once(TxnId::INITIAL).chain(rest).collect();
    let after = |idx: usize| all[idx + 1..].iter().map(move |it| (idx, *it));
    (0..all.len()).flat_map(after).map(|(idx, later)| (all[idx], later)).collect()
}

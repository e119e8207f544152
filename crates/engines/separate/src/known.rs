//! A history that is known, as a sketch without inputs.

use crate::matrix::Matrix;
use crate::question::Aspects;
use crate::sketch::{Numbering, Sketch, Slot};
use iso_history::{Facts, KeyId, Op, Standing, TxnId};
use iso_solve::Wire;

/// A sketch of one history, and what its numbers stand for.
#[derive(Debug)]
pub(crate) struct KnownHistory {
    pub(crate) sketch: Sketch,
    pub(crate) txns: Vec<TxnId>,
    pub(crate) keys: Vec<KeyId>,
}

impl KnownHistory {
    /// Nothing if it is open who took part or who wrote what a read saw, or if statements have several operations.
    pub(crate) fn new(facts: &Facts<'_>, session_order: Option<&[(TxnId, TxnId)]>) -> Option<Self> {
        let history = facts.history();
        let is_open = facts.txns().any(|it| facts.standing(it) == Standing::Optional) || facts.has_ambiguous_reads();
        let has_many = |txn: TxnId| history.ops(txn).any(|it| history.statement_of(it).ops().len() > 1);
        if is_open || !facts.local().is_empty() || history.txns().any(has_many) {
            return None;
        }
        let is_omitted = |it: &usize| matches!(history.op(facts.reads()[*it].op), Op::Omit { .. });
        let counted = facts.txns().filter(|it| facts.standing(*it) == Standing::Counted && !it.is_initial());
        let txns: Vec<TxnId> = std::iter::once(TxnId::INITIAL).chain(counted).collect();
        let reads: Vec<usize> = txns.iter().flat_map(|it| facts.reads_of(*it)).collect();
        let mut keys: Vec<KeyId> = reads.iter().map(|it| facts.reads()[*it].key).collect();
        keys.extend(txns.iter().flat_map(|it| facts.final_writes(*it)).map(|it| it.0));
        keys.sort_unstable();
        keys.dedup();
        let (n, n_keys) = (txns.len(), keys.len());
        let is_before = |a: TxnId, b: TxnId| match session_order {
            Some(pairs) => (a.is_initial() && !b.is_initial()) || pairs.contains(&(a, b)),
            None => history.is_session_ordered(a, b),
        };
        let txn_pairs =
            |of: &dyn Fn(TxnId, TxnId) -> bool| Matrix::from_fn(n, n, |a, b| Wire::constant(of(txns[a], txns[b])));
        let mut sketch = Sketch {
            n_txns: n,
            n_keys,
            aspects: Aspects { read_order: true, ..Aspects::default() },
            numbering: Numbering::default(),
            slots: Vec::new(),
            writes: Matrix::from_fn(n, n_keys, |txn, key| {
                Wire::constant(txn == 0 || facts.writes(txns[txn], keys[key]))
            }),
            reads: Matrix::empty(n, n_keys),
            wr_at: vec![Matrix::empty(n, n); n_keys],
            wr: Matrix::empty(n, n),
            so: txn_pairs(&is_before),
            rt: txn_pairs(&|a, b| history.is_real_time_ordered(a, b)),
            from: Matrix::empty(reads.len(), n),
            po: Matrix::empty(reads.len(), reads.len()),
            active: vec![Wire::TRUE; reads.len()],
            omitted: reads.iter().map(|it| Wire::constant(is_omitted(it))).collect(),
            used: vec![Wire::TRUE; n_keys],
            inputs: Vec::new(),
            laws: Vec::new(),
        };
        for (slot, read_idx) in reads.iter().enumerate() {
            let read = facts.reads()[*read_idx];
            let txn = txns.binary_search(&read.reader).ok()?;
            let key = keys.binary_search(&read.key).ok()?;
            let source = txns.binary_search(facts.candidates(*read_idx).first()?).ok()?;
            sketch.slots.push(Slot { txn, key, copy: 0 });
            sketch.reads.set(txn, key, Wire::TRUE);
            sketch.from.set(slot, source, Wire::TRUE);
            sketch.wr_at[key].set(source, txn, Wire::TRUE);
            sketch.wr.set(source, txn, Wire::TRUE);
            for earlier in (0..slot).filter(|it| sketch.slots[*it].txn == txn) {
                sketch.po.set(earlier, slot, Wire::TRUE);
            }
        }
        Some(Self { sketch, txns, keys })
    }
}

//! A history that is known, as a sketch without inputs.

use crate::lists::ListSketch;
use crate::matrix::Matrix;
use crate::question::Aspects;
use crate::sketch::{Numbering, Sketch, Slot};
use crate::statements::StatementSketch;
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
    /// Nothing if it is open who took part or who wrote what a read saw.
    pub(crate) fn new(facts: &Facts<'_>, session_order: Option<&[(TxnId, TxnId)]>) -> Option<Self> {
        let history = facts.history();
        let is_open = facts.txns().any(|it| facts.standing(it) == Standing::Optional) || facts.has_ambiguous_reads();
        if is_open || !facts.local().is_empty() {
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
            statements: StatementSketch::none(reads.len(), n, n_keys),
            lists: ListSketch::none(n, n_keys),
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
                if history.statement_of(read.op).has(facts.reads()[reads[earlier]].op) {
                    sketch.statements.same.set(earlier, slot, Wire::TRUE);
                    sketch.statements.same.set(slot, earlier, Wire::TRUE);
                }
            }
            sketch.statements.newest[slot] = Wire::constant(history.sees_newest(read.op));
            sketch.statements.inserts[slot] = Wire::constant(history.is_insert(read.op));
        }
        for (key, listed) in keys.iter().zip(&mut sketch.lists.listed) {
            *listed = shown(facts, *key, &txns);
        }
        sketch.statements.makes =
            Matrix::from_fn(n, n_keys, |txn, key| Wire::constant(history.makes(txns[txn], keys[key])));
        Some(Self { sketch, txns, keys })
    }
}

/// Who is shown before whom by reads of a list.
fn shown(facts: &Facts<'_>, key: KeyId, txns: &[TxnId]) -> Matrix {
    let Some(recovered) = facts.recovered_order(key) else { return Matrix::empty(txns.len(), txns.len()) };
    let place = |txn: TxnId| match recovered.writers.iter().position(|it| *it == txn) {
        _ if txn.is_initial() => 0,
        Some(nth) => nth + 1,
        None => usize::MAX,
    };
    let writes = |txn: TxnId| txn.is_initial() || facts.writes(txn, key);
    Matrix::from_fn(txns.len(), txns.len(), |a, b| {
        let (a, b) = (txns[a], txns[b]);
        Wire::constant(writes(a) && writes(b) && place(a) < place(b))
    })
}

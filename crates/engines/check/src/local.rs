//! Refutes a history by one read that nothing explains.

use crate::counted::reads_that_show;
use crate::name::name_local;
use iso_evidence::Refutation;
use iso_history::{Facts, History, KeyId, LocalAnomaly, LocalKind, Op, OpId, Outcome, TxnId, ValueId};
use iso_spec::Level;
use std::collections::BTreeSet;

/// Refutes a level by one read that it does not allow whatever the order is, if there is one.
pub(crate) fn refute_by_one_read(facts: &Facts<'_>, level: Level) -> Option<Refutation> {
    if facts.local().is_empty() && facts.unrepeatable().is_empty() {
        return None;
    }
    // For read uncommitted, these may be dirty reads.
    let mixed = if level == Level::ReadUncommitted { facts.history().mixed_lists() } else { Vec::new() };
    let breaks = |it: &&LocalAnomaly| {
        let reads = [it.op, if let LocalKind::Incompatible { other } = it.kind { other } else { it.op }];
        let is_dirty = level == Level::ReadUncommitted && !it.kind.breaks_read_uncommitted();
        !is_dirty && reads.iter().all(|it| !mixed.contains(it) && surely_counts(facts, facts.history().txn_of(*it)))
    };
    let anomaly = facts.local().iter().find(breaks);
    let of_one_that_counts = |it: &&LocalAnomaly| surely_counts(facts, it.reader);
    let unrepeatable =
        || facts.unrepeatable().iter().find(of_one_that_counts).filter(|_| level.implies(Level::ReadAtomic));
    anomaly.or_else(unrepeatable).map(|it| refute_locally(facts, *it))
}

/// Does a transaction count whatever lists mean? What makes an indeterminate one count may be a read of such a list.
fn surely_counts(facts: &Facts<'_>, txn: TxnId) -> bool {
    facts.ambiguous_list().is_none() || facts.history().outcome(txn) == Outcome::Committed
}

/// Do only orders of transactions decide the level: does no read refute it alone, and has each list one meaning?
pub(crate) fn is_about_orders(facts: &Facts<'_>, level: Level) -> bool {
    refute_by_one_read(facts, level).is_none() && facts.ambiguous_list().is_none()
}

/// The read, with whatever makes it strange.
fn refute_locally(facts: &Facts<'_>, anomaly: LocalAnomaly) -> Refutation {
    let history = facts.history();
    let key = history.op(anomaly.op).key();
    let mut txns = BTreeSet::from([anomaly.reader]);
    let mut reads = BTreeSet::from([anomaly.op]);
    match anomaly.kind {
        LocalKind::ThinAir | LocalKind::Future | LocalKind::Missed | LocalKind::Unmatched => {}
        LocalKind::Internal { .. } => txns.extend(intruders(history, anomaly.op)),
        LocalKind::Aborted { writer } | LocalKind::Intermediate { writer } => {
            txns.insert(writer);
        }
        LocalKind::Interleaved { torn, between } => txns.extend([torn, between]),
        LocalKind::Unrepeatable { earlier } => {
            reads.insert(earlier);
            for read in [earlier, anomaly.op] {
                let position = facts.reads().binary_search_by_key(&read, |it| it.op);
                txns.extend(position.ok().and_then(|it| facts.candidates(it).iter().find(|it| !it.is_initial())));
            }
        }
        LocalKind::Incompatible { other } => {
            reads.insert(other);
            txns.insert(history.txn_of(other));
            txns.extend(diverging_writers(history, anomaly.op, other));
        }
    }
    // The reader's own writes matter only where they contradict its read.
    let own_writes_matter = matches!(anomaly.kind, LocalKind::Internal { .. } | LocalKind::Future);
    let readers: Vec<TxnId> = reads.iter().map(|it| history.txn_of(*it)).collect();
    let writes_that_count = add_reads_that_show(facts, &readers, &mut txns, &mut reads);
    let is_shown = |op: &OpId| {
        let (txn, written) = (history.txn_of(*op), history.op(*op).key());
        let is_of_key = written == key && (own_writes_matter || txn != anomaly.reader || history.is_list(key));
        let is_due = is_of_key || writes_that_count.contains(&(txn, written));
        reads.contains(op) || (history.op(*op).is_write() && is_due)
    };
    let ops: Vec<OpId> = txns.iter().flat_map(|it| history.ops(*it)).filter(is_shown).collect();
    Refutation {
        anomalies: vec![name_local(history, anomaly)],
        txns: txns.into_iter().collect(),
        ops,
        local: Some(anomaly),
        cycle: Vec::new(),
        proof: None,
        grounds: None,
    }
}

/// Adds the reads because of which indeterminate readers count, with those who may have written what these saw. Returns
/// the writes that this takes.
fn add_reads_that_show(
    facts: &Facts<'_>,
    readers: &[TxnId],
    txns: &mut BTreeSet<TxnId>,
    reads: &mut BTreeSet<OpId>,
) -> BTreeSet<(TxnId, KeyId)> {
    let mut writes = BTreeSet::new();
    for read_idx in reads_that_show(facts, readers.iter().copied()) {
        let read = facts.reads()[read_idx];
        reads.insert(read.op);
        txns.insert(read.reader);
        // A list shows all versions up to its own.
        let line = facts.recovered_order(read.key).map_or(&[][..], |it| &it.writers);
        let shown = line.iter().filter(|it| readers.contains(it));
        for writer in facts.candidates(read_idx).iter().chain(shown).filter(|it| !it.is_initial()) {
            txns.insert(*writer);
            writes.insert((*writer, read.key));
        }
    }
    writes
}

/// Who appended the first elements in which two reads of a list differ.
fn diverging_writers(history: &History, one: OpId, other: OpId) -> Vec<TxnId> {
    let (Op::ReadList { key, values: ours }, Op::ReadList { values: theirs, .. }) =
        (history.op(one), history.op(other))
    else {
        return Vec::new();
    };
    let Some(at) = ours.iter().zip(theirs).position(|(a, b)| a != b) else { return Vec::new() };
    let mut writers = appenders(history, key, ours[at]);
    writers.extend(appenders(history, key, theirs[at]));
    writers
}

/// Who appended the element that stands where a list must have one of the reader's own.
fn intruders(history: &History, read: OpId) -> Vec<TxnId> {
    let Op::ReadList { key, values } = history.op(read) else { return Vec::new() };
    let own = history.ops(history.txn_of(read)).take_while(|it| *it < read).filter_map(|it| match history.op(it) {
        Op::Append { key: list, value } if list == key => Some(value),
        _ => None,
    });
    let own: Vec<ValueId> = own.collect();
    let intruder = values.iter().rev().zip(own.iter().rev()).find(|(seen, own)| seen != own);
    intruder.map_or_else(Vec::new, |(seen, _)| appenders(history, key, *seen))
}

fn appenders(history: &History, key: KeyId, value: ValueId) -> Vec<TxnId> {
    let appended = |txn: &TxnId| history.ops(*txn).any(|op| history.op(op) == Op::Append { key, value });
    history.txns().filter(appended).collect()
}

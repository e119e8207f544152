//! Refutes a history by one read that nothing explains.

use crate::name::name_local;
use iso_evidence::Refutation;
use iso_history::{Facts, History, LocalAnomaly, LocalKind, Op, OpId, TxnId, ValueId};
use iso_spec::Level;
use std::collections::BTreeSet;

/// Refutes a level by one read that it does not allow whatever the order is, if there is one.
pub(crate) fn refute_by_one_read(facts: &Facts<'_>, level: Level) -> Option<Refutation> {
    let breaks = |it: &&LocalAnomaly| level != Level::ReadUncommitted || it.kind.breaks_read_uncommitted();
    let anomaly = facts.local().iter().find(breaks);
    let unrepeatable = || facts.unrepeatable().first().filter(|_| level.implies(Level::ReadAtomic));
    anomaly.or_else(unrepeatable).map(|it| refute_locally(facts, *it))
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
        LocalKind::Internal { .. } | LocalKind::ThinAir | LocalKind::Future => {}
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
    let is_shown = |op: &OpId| {
        let is_write = history.op(*op).is_write() && history.op(*op).key() == key;
        let is_own = history.txn_of(*op) == anomaly.reader;
        reads.contains(op) || (is_write && (own_writes_matter || !is_own || history.is_list(key)))
    };
    let ops: Vec<OpId> = txns.iter().flat_map(|it| history.ops(*it)).filter(is_shown).collect();
    Refutation {
        anomalies: vec![name_local(anomaly.kind)],
        txns: txns.into_iter().collect(),
        ops,
        local: Some(anomaly),
        cycle: Vec::new(),
        proof: None,
    }
}

/// Who appended the first elements in which two reads of a list differ.
fn diverging_writers(history: &History, one: OpId, other: OpId) -> Vec<TxnId> {
    let (Op::ReadList { key, values: ours }, Op::ReadList { values: theirs, .. }) =
        (history.op(one), history.op(other))
    else {
        return Vec::new();
    };
    let Some(at) = ours.iter().zip(theirs).position(|(a, b)| a != b) else { return Vec::new() };
    let appended =
        |txn: &TxnId, value: ValueId| history.ops(*txn).any(|op| history.op(op) == Op::Append { key, value });
    history.txns().filter(|it| appended(it, ours[at]) || appended(it, theirs[at])).collect()
}

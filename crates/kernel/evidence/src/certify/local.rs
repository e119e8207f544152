//! Is a read really one that nothing explains? Looks at the raw operations of the whole history.

use super::uncertified::{Uncertified, wrong};
use iso_history::{Facts, History, KeyId, LocalAnomaly, LocalKind, Op, OpId, Outcome, Standing, TxnId, ValueId};
use iso_spec::Level;

/// Checks that a counted transaction made this read, and that it is what the anomaly says.
pub(super) fn certify_local(facts: &Facts<'_>, level: Level, anomaly: LocalAnomaly) -> Result<(), Uncertified> {
    let history = facts.history();
    let LocalAnomaly { reader, op, kind } = anomaly;
    if !exists(history, anomaly) {
        return Err(Uncertified::new("a refutation names transactions or operations that do not exist"));
    }
    if facts.standing(reader) != Standing::Counted || history.txn_of(op) != reader {
        return Err(wrong(history, reader, "did not make the read that is named, or does not count"));
    }
    if let LocalKind::Incompatible { other } = kind
        && !is_judged_by(facts, level, history.txn_of(other))
    {
        return Err(wrong(history, history.txn_of(other), "does not count, and neither does what it read"));
    }
    let is_judged = kind.breaks_read_uncommitted() && history.outcome(reader) == Outcome::Committed;
    if level == Level::ReadUncommitted && !is_judged {
        return Err(wrong(history, reader, "made a read that read uncommitted allows"));
    }
    if let LocalKind::Unrepeatable { earlier } = kind {
        return certify_unrepeatable(history, level, reader, [earlier, op]);
    }
    let is_true = match history.op(op) {
        Op::Read { key, value } => register_read(history, reader, op, key, value, kind),
        Op::ReadList { key, values } => list_read(history, reader, op, key, values, kind),
        Op::Write { .. } | Op::Append { .. } => false,
    };
    if is_true {
        Ok(())
    } else {
        Err(wrong(history, reader, &format!("made the read {}, which can be explained", history.render_op(op))))
    }
}

/// Whoever is indeterminate may have read dirty, if the level allows it.
fn is_judged_by(facts: &Facts<'_>, level: Level, txn: TxnId) -> bool {
    let is_committed = facts.history().outcome(txn) == Outcome::Committed;
    facts.standing(txn) == Standing::Counted && (is_committed || level != Level::ReadUncommitted)
}

fn exists(history: &History, anomaly: LocalAnomaly) -> bool {
    let has_txn = |it: TxnId| !it.is_initial() && it.index() < history.n_txns();
    let has_op = |it: OpId| it.index() < history.n_ops();
    let is_known = match anomaly.kind {
        LocalKind::Internal { .. } | LocalKind::ThinAir | LocalKind::Future => true,
        LocalKind::Aborted { writer } | LocalKind::Intermediate { writer } => has_txn(writer),
        LocalKind::Interleaved { torn, between } => has_txn(torn) && has_txn(between),
        LocalKind::Unrepeatable { earlier: other } | LocalKind::Incompatible { other } => has_op(other),
    };
    has_txn(anomaly.reader) && has_op(anomaly.op) && is_known
}

/// Two reads of a key by one transaction, with nothing of its own between them, that saw different versions.
fn certify_unrepeatable(history: &History, level: Level, txn: TxnId, reads: [OpId; 2]) -> Result<(), Uncertified> {
    let key = history.op(reads[1]).key();
    let own = |op: OpId| {
        let before = history.ops(txn).take_while(|it| *it < op);
        before.filter(|it| history.op(*it).is_write() && history.op(*it).key() == key).count()
    };
    let external = |op: OpId| match history.op(op) {
        Op::Read { key: it, value } if it == key && own(op) == 0 => Some(vec![value]),
        Op::ReadList { key: it, values } if it == key => Some(values[..values.len().saturating_sub(own(op))].to_vec()),
        _ => None,
    };
    let (earlier, later) = (external(reads[0]), external(reads[1]));
    let is_own = reads.iter().all(|it| history.txn_of(*it) == txn) && reads[0] < reads[1];
    if is_own && earlier.is_some() && later.is_some() && earlier != later && level.implies(Level::ReadAtomic) {
        Ok(())
    } else {
        Err(wrong(history, txn, "did not see two versions of a key, or its level allows it"))
    }
}

/// Every write or append of a key in the history, as (transaction, operation, value).
fn writes(history: &History, key: KeyId) -> Vec<(TxnId, OpId, ValueId)> {
    let mut found = Vec::new();
    for txn in history.txns() {
        for op in history.ops(txn) {
            match history.op(op) {
                Op::Write { key: it, value } | Op::Append { key: it, value } if it == key => {
                    found.push((txn, op, value));
                }
                _ => {}
            }
        }
    }
    found
}

fn register_read(history: &History, reader: TxnId, op: OpId, key: KeyId, value: ValueId, kind: LocalKind) -> bool {
    let writes = writes(history, key);
    let own_before = writes.iter().rfind(|it| it.0 == reader && it.1 < op).map(|it| it.2);
    if let LocalKind::Internal { expected } = kind {
        return own_before == Some(expected) && expected != value;
    }
    let is_last = |it: &&(TxnId, OpId, ValueId)| !writes.iter().any(|later| later.0 == it.0 && later.1 > it.1);
    let wrote_it = |it: &&(TxnId, OpId, ValueId)| it.2 == value;
    let is_explained = own_before.is_some()
        || history.initial_value(key) == value
        || writes
            .iter()
            .filter(wrote_it)
            .filter(is_last)
            .any(|it| it.0 != reader && history.outcome(it.0) != Outcome::Aborted);
    let did = |writer: TxnId| writes.iter().filter(wrote_it).any(|it| it.0 == writer);
    !is_explained
        && match kind {
            LocalKind::ThinAir => !writes.iter().any(|it| it.2 == value),
            LocalKind::Future => did(reader) && writes.iter().filter(wrote_it).all(|it| it.0 == reader),
            LocalKind::Aborted { writer } => did(writer) && history.outcome(writer) == Outcome::Aborted,
            LocalKind::Intermediate { writer } => did(writer) && writer != reader,
            _ => false,
        }
}

fn list_read(history: &History, reader: TxnId, op: OpId, key: KeyId, values: &[ValueId], kind: LocalKind) -> bool {
    let appends = writes(history, key);
    let own: Vec<ValueId> = appends.iter().filter(|it| it.0 == reader && it.1 < op).map(|it| it.2).collect();
    let Some(external) = values.strip_suffix(own.as_slice()) else {
        return matches!(kind, LocalKind::Internal { .. });
    };
    let by = |value: ValueId| appends.iter().find(|it| it.2 == value).map(|it| it.0);
    let is_unique = |value: ValueId| appends.iter().filter(|it| it.2 == value).count() == 1;
    let all_of = |txn: TxnId| -> Vec<ValueId> { appends.iter().filter(|it| it.0 == txn).map(|it| it.2).collect() };
    let place = |value: ValueId| external.iter().position(|it| *it == value);
    match kind {
        LocalKind::ThinAir => external.iter().any(|it| by(*it).is_none()),
        LocalKind::Future => external.iter().any(|it| is_unique(*it) && by(*it) == Some(reader)),
        LocalKind::Aborted { writer } => {
            history.outcome(writer) == Outcome::Aborted
                && external.iter().any(|it| is_unique(*it) && by(*it) == Some(writer))
        }
        LocalKind::Intermediate { writer } => {
            let seen: Vec<ValueId> = external.iter().copied().filter(|it| by(*it) == Some(writer)).collect();
            writer != reader && !seen.is_empty() && seen != all_of(writer)
        }
        LocalKind::Interleaved { torn, between } => {
            let is_rolled_back = |it: TxnId| history.outcome(it) == Outcome::Aborted;
            if is_rolled_back(torn) || is_rolled_back(between) {
                return false;
            }
            if torn == between {
                // Elements of one transaction: not a prefix of what it appended.
                let seen: Vec<ValueId> = external.iter().copied().filter(|it| by(*it) == Some(torn)).collect();
                return !all_of(torn).starts_with(&seen);
            }
            let Some(first) = all_of(torn).into_iter().filter_map(place).min() else { return false };
            let last = all_of(torn).into_iter().map(|it| place(it).unwrap_or(usize::MAX)).max();
            let middle = all_of(between).into_iter().filter_map(place);
            middle.into_iter().any(|it| first < it && Some(it) < last)
        }
        LocalKind::Incompatible { other } => match history.op(other) {
            Op::ReadList { key: same, values: others } if same == key => {
                let owner = history.txn_of(other);
                let own: Vec<ValueId> =
                    appends.iter().filter(|it| it.0 == owner && it.1 < other).map(|it| it.2).collect();
                let theirs = others.strip_suffix(own.as_slice());
                // What was rolled back in between need not be in both.
                let stays = |it: &&ValueId| by(**it).is_none_or(|it| history.outcome(it) != Outcome::Aborted);
                let kept = |it: &[ValueId]| it.iter().filter(stays).copied().collect::<Vec<ValueId>>();
                let mine = kept(external);
                theirs.map(kept).is_some_and(|it| !it.starts_with(&mine) && !mine.starts_with(&it))
            }
            _ => false,
        },
        LocalKind::Internal { .. } | LocalKind::Unrepeatable { .. } => false,
    }
}

//! Is a read really one that nothing explains? Looks at the raw operations of the whole history.

use super::uncertified::{Uncertified, wrong};
use iso_history::{
    Facts, History, KeyId, LocalAnomaly, LocalKind, Op, OpId, Outcome, ScanId, Standing, TxnId, ValueId,
};
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
        Op::Read { key, value } if kind == LocalKind::Unmatched => {
            history.scan_of(op).is_some_and(|scan| !history.matches(scan, key, value))
        }
        Op::Read { key, value } => register_read(history, reader, op, key, value, kind),
        Op::ReadList { key, values } => list_read(history, level, anomaly, key, values),
        Op::Omit { key, scan } => omission(history, anomaly, key, scan),
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
        LocalKind::Internal { .. }
        | LocalKind::ThinAir
        | LocalKind::Future
        | LocalKind::Missed
        | LocalKind::Unmatched => true,
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
        Op::Read { key: it, value } if it == key && own(op) == 0 => Some(Seen::Values(vec![value])),
        Op::ReadList { key: it, values } if it == key => {
            Some(Seen::Values(values[..values.len().saturating_sub(own(op))].to_vec()))
        }
        Op::Omit { key: it, scan } if it == key && own(op) == 0 => Some(Seen::NoMatch(scan)),
        _ => None,
    };
    let is_own = reads.iter().all(|it| history.txn_of(*it) == txn) && reads[0] < reads[1];
    let are_two = match (external(reads[0]), external(reads[1])) {
        (Some(Seen::Values(earlier)), Some(Seen::Values(later))) => earlier != later,
        (Some(Seen::Values(seen)), Some(Seen::NoMatch(scan)))
        | (Some(Seen::NoMatch(scan)), Some(Seen::Values(seen))) => {
            seen.iter().all(|it| history.matches(scan, key, *it))
        }
        _ => false,
    };
    if is_own && are_two && level.implies(Level::ReadAtomic) {
        Ok(())
    } else {
        Err(wrong(history, txn, "did not see two versions of a key, or its level allows it"))
    }
}

/// What a read saw of a key.
enum Seen {
    Values(Vec<ValueId>),
    /// A version that does not match.
    NoMatch(ScanId),
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

/// A row that a scan did not return, although its transaction wrote one that matches, or everybody else did.
fn omission(history: &History, anomaly: LocalAnomaly, key: KeyId, scan: ScanId) -> bool {
    let LocalAnomaly { reader, op, kind } = anomaly;
    let writes = writes(history, key);
    let own_before = writes.iter().rfind(|it| it.0 == reader && it.1 < op).map(|it| it.2);
    if let LocalKind::Internal { expected } = kind {
        return own_before == Some(expected) && history.matches(scan, key, expected);
    }
    let is_omitted = |it: ValueId| !history.matches(scan, key, it);
    let unmatched: Vec<&(TxnId, OpId, ValueId)> = writes.iter().filter(|it| is_omitted(it.2)).collect();
    let is_last = |it: &(TxnId, OpId, ValueId)| !writes.iter().any(|later| later.0 == it.0 && later.1 > it.1);
    let may_be_seen =
        |it: &&&(TxnId, OpId, ValueId)| it.0 != reader && is_last(it) && history.outcome(it.0) != Outcome::Aborted;
    let is_explained =
        own_before.is_some() || is_omitted(history.initial_value(key)) || unmatched.iter().any(|it| may_be_seen(&it));
    let did = |writer: TxnId| unmatched.iter().any(|it| it.0 == writer);
    !is_explained
        && match kind {
            LocalKind::Missed => unmatched.is_empty(),
            LocalKind::Future => did(reader) && unmatched.iter().all(|it| it.0 == reader),
            LocalKind::Aborted { writer } => did(writer) && history.outcome(writer) == Outcome::Aborted,
            LocalKind::Intermediate { writer } => did(writer) && writer != reader,
            _ => false,
        }
}

fn list_read(history: &History, level: Level, anomaly: LocalAnomaly, key: KeyId, values: &[ValueId]) -> bool {
    let LocalAnomaly { reader, op, kind } = anomaly;
    let appends = writes(history, key);
    let own: Vec<ValueId> = appends.iter().filter(|it| it.0 == reader && it.1 < op).map(|it| it.2).collect();
    let Some(external) = values.strip_suffix(own.as_slice()) else {
        return matches!(kind, LocalKind::Internal { .. });
    };
    let list = List { history, level, reader, appends: &appends };
    match kind {
        LocalKind::ThinAir => external.iter().any(|it| list.appenders(*it).is_empty()),
        LocalKind::Future => external.iter().any(|it| list.appenders(*it) == [reader]),
        LocalKind::Aborted { writer } => external.iter().any(|it| list.is_only_aborted(*it, writer)),
        LocalKind::Intermediate { writer } => list.is_partial(external, writer),
        LocalKind::Interleaved { torn, between } => {
            let is_rolled_back = |it: TxnId| history.outcome(it) == Outcome::Aborted;
            if is_rolled_back(torn) || is_rolled_back(between) {
                return false;
            }
            if torn == between { list.is_out_of_order(external, torn) } else { list.is_torn(external, torn, between) }
        }
        LocalKind::Incompatible { other } => list.is_incompatible(external, key, other),
        LocalKind::Internal { .. } | LocalKind::Unrepeatable { .. } | LocalKind::Missed | LocalKind::Unmatched => false,
    }
}

/// All appends to a list, as a reader may have seen them at a level.
struct List<'a> {
    history: &'a History,
    level: Level,
    reader: TxnId,
    appends: &'a [(TxnId, OpId, ValueId)],
}

impl List<'_> {
    /// Everybody who appended an element, once each.
    fn appenders(&self, value: ValueId) -> Vec<TxnId> {
        let mut txns: Vec<TxnId> = self.appends.iter().filter(|it| it.2 == value).map(|it| it.0).collect();
        txns.dedup();
        txns
    }

    /// Whose element it is, if it can be nobody else's.
    fn by(&self, value: ValueId) -> Option<TxnId> {
        let may_be_read =
            |it: &TxnId| self.level == Level::ReadUncommitted || self.history.outcome(*it) != Outcome::Aborted;
        let others = self.appenders(value).into_iter().filter(|it| *it != self.reader && may_be_read(it));
        match others.collect::<Vec<TxnId>>()[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    fn all_of(&self, txn: TxnId) -> Vec<ValueId> {
        self.appends.iter().filter(|it| it.0 == txn).map(|it| it.2).collect()
    }

    /// Was it appended by this transaction, and by nobody but the reader and others that aborted?
    fn is_only_aborted(&self, value: ValueId, writer: TxnId) -> bool {
        let others: Vec<TxnId> = self.appenders(value).into_iter().filter(|it| *it != self.reader).collect();
        others.contains(&writer) && others.iter().all(|it| self.history.outcome(*it) == Outcome::Aborted)
    }

    /// Are some elements of a transaction there, and others not?
    fn is_partial(&self, seen: &[ValueId], writer: TxnId) -> bool {
        let all = self.all_of(writer);
        let count = |of: &[ValueId], value: &ValueId| of.iter().filter(|it| *it == value).count();
        writer != self.reader
            && seen.iter().any(|it| self.by(*it) == Some(writer))
            && all.iter().any(|it| count(seen, it) < count(&all, it))
    }

    /// Is there an element of a transaction without one that it appended before, or more often than it was appended?
    fn is_out_of_order(&self, seen: &[ValueId], txn: TxnId) -> bool {
        let all = self.all_of(txn);
        let count = |of: &[ValueId], value: &ValueId| of.iter().filter(|it| *it == value).count();
        seen.iter().enumerate().filter(|(_, it)| self.by(**it) == Some(txn)).any(|(place, value)| {
            let before = all.iter().take_while(|it| *it != value);
            before.into_iter().any(|it| !seen[..place].contains(it)) || count(seen, value) > count(&all, value)
        })
    }

    /// Does an element of one transaction stand between those of another, or before some of them are there?
    fn is_torn(&self, seen: &[ValueId], torn: TxnId, between: TxnId) -> bool {
        let all = self.all_of(torn);
        let place = |value: &ValueId| seen.iter().position(|it| it == value);
        let is_of_torn = |it: &&ValueId| self.by(**it) == Some(torn);
        let Some(first) = all.iter().filter(is_of_torn).filter_map(place).min() else { return false };
        let last = all.iter().map(|it| place(it).unwrap_or(usize::MAX)).max();
        let middle = self.all_of(between).into_iter().filter(|it| self.by(*it) == Some(between));
        middle.filter_map(|it| place(&it)).any(|it| first < it && Some(it) < last)
    }

    /// Does neither of two reads extend the other? What was rolled back in between need not be in both.
    fn is_incompatible(&self, seen: &[ValueId], key: KeyId, other: OpId) -> bool {
        let Op::ReadList { key: same, values } = self.history.op(other) else { return false };
        let owner = self.history.txn_of(other);
        let own: Vec<ValueId> = self.appends.iter().filter(|it| it.0 == owner && it.1 < other).map(|it| it.2).collect();
        let stays = |it: &&ValueId| {
            let by = self.appenders(**it);
            by.is_empty() || by.iter().any(|it| self.history.outcome(*it) != Outcome::Aborted)
        };
        let kept = |it: &[ValueId]| it.iter().filter(stays).copied().collect::<Vec<ValueId>>();
        let mine = kept(seen);
        let theirs = values.strip_suffix(own.as_slice()).filter(|_| same == key).map(kept);
        theirs.is_some_and(|it| !it.starts_with(&mine) && !mine.starts_with(&it))
    }
}

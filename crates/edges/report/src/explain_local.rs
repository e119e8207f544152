//! Reads that nothing explains, as sentences.

use crate::explain::Explainer;
use iso_evidence::{Edge, Reason};
use iso_history::{LocalAnomaly, LocalKind, Name, Op, OpId, TxnId, ValueId};
use std::collections::BTreeSet;

/// Dependencies that show where the value came from, for a picture.
pub(crate) fn local_edges(anomaly: &LocalAnomaly) -> Vec<Edge> {
    let read_from = |from| Edge { from, to: anomaly.reader, because: Reason::ReadFrom { read: anomaly.op } };
    match anomaly.kind {
        LocalKind::Aborted { writer } | LocalKind::Intermediate { writer } => vec![read_from(writer)],
        LocalKind::Interleaved { torn, between } => vec![read_from(torn), read_from(between)],
        _ => Vec::new(),
    }
}

impl Explainer<'_> {
    /// What is wrong with a read.
    pub(crate) fn local(&self, anomaly: &LocalAnomaly) -> String {
        let LocalAnomaly { reader, op, kind } = *anomaly;
        let who = self.txn(reader);
        match kind {
            LocalKind::Internal { expected } => self.internal(&who, op, expected),
            LocalKind::ThinAir => self.thin_air(&who, op),
            LocalKind::Future => self.future(&who, reader, op),
            LocalKind::Aborted { writer } => self.aborted(&who, op, writer),
            LocalKind::Intermediate { writer } => self.intermediate(&who, op, writer),
            LocalKind::Interleaved { torn, between } if torn == between => format!(
                "{who} read {}, where what {} appended is not in the order in which it did",
                self.seen(op, &[torn]),
                self.txn(torn)
            ),
            LocalKind::Interleaved { torn, between } => self.interleaved(&who, op, torn, between),
            LocalKind::Unrepeatable { earlier } => format!(
                "{who} read {} and later, without writing in between, {}: two versions at once",
                self.seen(earlier, &[]),
                self.seen(op, &[])
            ),
            LocalKind::Missed => {
                let key = self.key(self.history.op(op).key());
                format!(
                    "{who} looked for {}, but {key} has matched from the start, and nobody changed that",
                    self.asked(op)
                )
            }
            LocalKind::Unmatched => {
                format!(
                    "{who} looked for {} and was given {}, which does not match",
                    self.asked(op),
                    self.seen(op, &[])
                )
            }
            LocalKind::Incompatible { other } => format!(
                "{who} read {} and {} read {}: neither list extends the other",
                self.seen(op, &[]),
                self.txn(self.history.txn_of(other)),
                self.seen(other, &[])
            ),
        }
    }

    /// The rows that a scan asked for, and found or not: `rows of accounts with balance < 10, found no accounts/7`.
    fn asked(&self, op: OpId) -> String {
        let found = match self.history.op(op) {
            Op::Omit { key, .. } => format!(" and found no {}", self.key(key)),
            _ => String::new(),
        };
        match self.history.scan_of(op).map(|it| self.history.scan(it)) {
            Some(scan) => format!("rows of {} ({}){found}", scan.table, scan.predicate),
            None => format!("rows{found}"),
        }
    }

    fn internal(&self, who: &str, op: OpId, expected: ValueId) -> String {
        let (seen, key) = (self.seen(op, &[]), self.history.op(op).key());
        match self.history.op(op) {
            Op::ReadList { .. } => {
                format!(
                    "{who} appended {} to {} and then read {seen}, which does not end with what it appended",
                    self.value(expected),
                    self.key(key)
                )
            }
            _ => format!("{who} wrote {} and then read {seen}", self.held(key, expected)),
        }
    }

    fn thin_air(&self, who: &str, op: OpId) -> String {
        let seen = self.seen(op, &[]);
        match self.history.op(op) {
            Op::ReadList { key, values } => {
                let appended: BTreeSet<ValueId> = self.history.txns().flat_map(|it| self.appended(it, key)).collect();
                let stranger = values.iter().find(|it| !appended.contains(it));
                let stranger = stranger.map_or("that".to_owned(), |it| self.value(*it));
                format!("{who} read {seen}, but nobody ever appended {stranger} to {}", self.key(key))
            }
            Op::Omit { .. } => format!("{who} looked for {}", self.asked(op)),
            Op::Read { key, value } | Op::Write { key, value } | Op::Append { key, value } => {
                if self.history.value(value) == Name::Null {
                    let key = self.key(key);
                    return format!("{who} found no {key}, but {key} exists from the start and nobody removed it");
                }
                let value = self.value(value);
                format!("{who} read {seen}, but nobody ever wrote {value} to {}", self.key(key))
            }
        }
    }

    fn future(&self, who: &str, reader: TxnId, op: OpId) -> String {
        let seen = self.seen(op, &[reader]);
        let Op::ReadList { key, values } = self.history.op(op) else {
            return format!("{who} read {seen}, which it wrote only later");
        };
        let own = self.history.ops(reader).filter(|it| *it > op).find_map(|it| match self.history.op(it) {
            Op::Append { key: list, value } if list == key && values.contains(&value) => Some(value),
            _ => None,
        });
        match own {
            Some(own) => format!("{who} read {seen}, but appended {} only later", self.value(own)),
            None => format!("{who} read {seen}, where its own elements are out of place"),
        }
    }

    fn aborted(&self, who: &str, op: OpId, writer: TxnId) -> String {
        let (seen, writer_name) = (self.seen(op, &[writer]), self.txn(writer));
        match self.element_of(writer, op) {
            Some(element) => {
                format!("{who} read {seen}, where {element} is from {writer_name}, which aborted")
            }
            None => format!("{who} read {seen} from {writer_name}, which aborted"),
        }
    }

    fn intermediate(&self, who: &str, op: OpId, writer: TxnId) -> String {
        let (seen, writer_name) = (self.seen(op, &[writer]), self.txn(writer));
        let key = self.history.op(op).key();
        if self.history.is_list(key) {
            let all = self.elements(writer, key);
            return format!("{who} read {seen}, but {writer_name} appended {all} before it committed");
        }
        let last = self.final_write(writer, key);
        let last = last.map(|it| format!(" with {}", self.held(key, it))).unwrap_or_default();
        format!("{who} read {seen}, which {writer_name} overwrote{last} before it committed")
    }

    fn interleaved(&self, who: &str, op: OpId, torn: TxnId, between: TxnId) -> String {
        let key = self.history.op(op).key();
        format!(
            "{who} read {}, where {} of {} stands between {} of {}",
            self.seen(op, &[torn, between]),
            self.elements(between, key),
            self.txn(between),
            self.elements(torn, key),
            self.txn(torn)
        )
    }

    /// The first element of a list read that a transaction appended.
    fn element_of(&self, txn: TxnId, read: OpId) -> Option<String> {
        let Op::ReadList { key, values } = self.history.op(read) else { return None };
        let own: Vec<ValueId> = self.appended(txn, key).collect();
        values.iter().find(|it| own.contains(it)).map(|it| self.value(*it))
    }
}

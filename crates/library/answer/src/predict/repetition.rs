//! Does a predicted run repeat the observed one? Checked operation by operation, by code that has no part in the search.

use super::commits;
use iso_evidence::Witness;
use iso_history::{Facts, History, Op, OpId, TxnId};
use iso_predict::{Boundary, ChangedRead, Prediction};
use std::collections::{BTreeMap, BTreeSet};

/// The observed run, and how it may have happened: who wrote what each read saw.
#[derive(Clone, Copy)]
pub(super) struct Observed<'a> {
    pub(super) facts: &'a Facts<'a>,
    pub(super) witness: &'a Witness,
}

/// Does the predicted run repeat the observed one up to its boundary? What is wrong, if not.
pub(super) fn repeats(observed: Observed<'_>, boundary: Boundary, prediction: &Prediction) -> Result<(), String> {
    let repetition = Repetition::new(observed, boundary, prediction)?;
    repetition.sessions()?;
    let history = &prediction.history;
    history.txns().try_for_each(|txn| repetition.operations(txn))?;
    repetition.reads()?;
    prediction.changed.iter().try_for_each(|read| repetition.change(read))?;
    repetition.cuts()
}

struct Repetition<'a> {
    observed: Observed<'a>,
    boundary: Boundary,
    prediction: &'a Prediction,
    cuts: BTreeSet<TxnId>,
    /// By read of the predicted run, the observed transaction that it is said to read from now.
    changed: BTreeMap<OpId, TxnId>,
}

impl<'a> Repetition<'a> {
    fn new(observed: Observed<'a>, boundary: Boundary, prediction: &'a Prediction) -> Result<Self, String> {
        let n_observed = observed.facts.history().n_txns();
        let is_complete = prediction.txns.len() == prediction.history.n_txns()
            && prediction.txns.iter().all(|it| it.index() < n_observed);
        if !is_complete || prediction.txns.first() != Some(&TxnId::INITIAL) {
            return Err("transactions of the predicted run repeat nothing".to_owned());
        }
        let cuts = prediction.cuts.iter().map(|it| it.txn).collect();
        let changed = prediction.changed.iter().map(|it| (it.op, it.to)).collect();
        Ok(Self { observed, boundary, prediction, cuts, changed })
    }

    fn twin(&self, txn: TxnId) -> TxnId {
        self.prediction.txns[txn.index()]
    }

    /// The observed operation that one of the predicted run repeats.
    fn twin_of(&self, op: OpId, txn: TxnId) -> Option<OpId> {
        let nth = self.prediction.history.ops(txn).position(|it| it == op)?;
        self.observed.facts.history().ops(self.twin(txn)).nth(nth)
    }

    /// Each session repeats the first of its transactions, and only the last one is on the boundary.
    fn sessions(&self) -> Result<(), String> {
        let (history, whole) = (&self.prediction.history, self.observed.facts.history());
        let happened: BTreeSet<TxnId> = commits(self.observed.witness).into_iter().collect();
        for session in history.sessions() {
            let name = history.session_name(session);
            let txns = history.session_txns(session);
            let source = whole.sessions().find(|it| whole.session_name(*it) == name);
            let all = source.map(|it| whole.session_txns(it)).unwrap_or_default();
            let first = all.iter().filter(|it| happened.contains(it)).take(txns.len());
            if !txns.iter().map(|it| self.twin(*it)).eq(first.copied()) {
                return Err(format!("session {name} does not repeat its first transactions"));
            }
            let early = txns.iter().rev().skip(1).find(|it| self.cuts.contains(it));
            if let Some(early) = early {
                return Err(format!("{} goes on after the boundary", history.label(*early)));
            }
        }
        Ok(())
    }

    /// A transaction does the same as its twin, in a strict run up to a changed read.
    fn operations(&self, txn: TxnId) -> Result<(), String> {
        let (history, whole) = (&self.prediction.history, self.observed.facts.history());
        let ops: Vec<OpId> = history.ops(txn).collect();
        let twins = whole.ops(self.twin(txn));
        let label = || history.label(txn);
        let may_end_early = self.boundary != Boundary::Relaxed && self.cuts.contains(&txn);
        if ops.len() > twins.len() || (ops.len() < twins.len() && !may_end_early) {
            return Err(format!("{} does not end where it did", label()));
        }
        for (op, twin) in ops.iter().copied().zip(twins) {
            if !is_same(history, op, whole, twin) {
                return Err(format!("{} does something else", label()));
            }
            let is_last = ops.last() == Some(&op);
            if self.changed.contains_key(&op) && may_end_early && !is_last {
                return Err(format!("{} goes on after a changed read", label()));
            }
        }
        Ok(())
    }

    /// Reads see complete transactions, or those that the boundary lets them see: the observed writer, or the one that is
    /// said to be another.
    fn reads(&self) -> Result<(), String> {
        let facts = Facts::new(&self.prediction.history);
        for (idx, read) in facts.reads().iter().enumerate() {
            let wrong = |what: &str| Err(format!("{} {what}", self.prediction.history.render_op(read.op)));
            let [writer] = facts.candidates(idx) else { return wrong("has no single writer") };
            // What it wrote after its cut is not there, so that nobody can have seen that.
            if self.boundary != Boundary::StrictEvents && self.cuts.contains(writer) {
                return wrong("sees a transaction on the boundary");
            }
            let expected = match self.changed.get(&read.op) {
                Some(_) if !self.cuts.contains(&read.reader) => return wrong("changed before the boundary"),
                Some(to) => Some(*to),
                None => self.observed_writer(read.op, read.reader),
            };
            if expected != Some(self.twin(*writer)) {
                return wrong("sees another writer than it is said to");
            }
        }
        Ok(())
    }

    /// What is said about a changed read must be so.
    fn change(&self, read: &ChangedRead) -> Result<(), String> {
        let history = &self.prediction.history;
        if read.op.index() >= history.n_ops() {
            return Err("a changed read is not in the predicted run".to_owned());
        }
        let reader = history.txn_of(read.op);
        let is_right = self.twin_of(read.op, reader) == Some(read.observed_op)
            && self.observed_writer(read.op, reader) == Some(read.from)
            && read.from != read.to;
        if is_right { Ok(()) } else { Err(format!("{} did not change as it is said to", history.render_op(read.op))) }
    }

    /// A session ends because a read changed, and so many operations are left out as it is said.
    fn cuts(&self) -> Result<(), String> {
        let (history, whole) = (&self.prediction.history, self.observed.facts.history());
        for cut in &self.prediction.cuts {
            if cut.txn.index() >= history.n_txns() {
                return Err("a transaction on the boundary is not in the predicted run".to_owned());
            }
            if !self.changed.keys().any(|it| history.txn_of(*it) == cut.txn) {
                return Err(format!("{} is on the boundary without a changed read", history.label(cut.txn)));
            }
            if history.ops(cut.txn).len() + cut.n_dropped != whole.ops(self.twin(cut.txn)).len() {
                return Err(format!("{} leaves out another number of operations", history.label(cut.txn)));
            }
        }
        Ok(())
    }

    /// Who wrote what the twin of a read saw.
    fn observed_writer(&self, op: OpId, reader: TxnId) -> Option<TxnId> {
        let twin = self.twin_of(op, reader)?;
        self.observed.witness.sources.writer_of(twin)
    }
}

/// Does an operation the same as its twin? What a read sees is looked at elsewhere.
fn is_same(history: &History, op: OpId, whole: &History, twin: OpId) -> bool {
    let (one, other) = (history.op(op), whole.op(twin));
    let is_same_kind = match (one, other) {
        // A row that a scan did not return is a read of the version that it saw.
        (Op::Read { .. }, Op::Read { .. } | Op::Omit { .. }) => true,
        (Op::Write { value, .. }, Op::Write { value: observed, .. }) => {
            is_same_value(&history.value(value).to_string(), &whole.value(observed).to_string())
        }
        _ => false,
    };
    is_same_kind && history.key_name(one.key()) == whole.key_name(other.key())
}

/// Values that were written twice to a key are numbered in a predicted run, as in `5#2`.
fn is_same_value(predicted: &str, observed: &str) -> bool {
    let (predicted, observed) = (predicted.trim_matches('"'), observed.trim_matches('"'));
    let number = predicted.strip_prefix(observed);
    number.is_some_and(|it| it.is_empty() || it.strip_prefix('#').is_some_and(|it| it.parse::<u32>().is_ok()))
}

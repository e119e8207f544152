//! Is a prediction right? From its definition, without the engine and without brute force.

use iso_evidence::Witness;
use iso_history::{Datum, Facts, History, HistoryBuilder, Name, Op, OpId, Outcome, Place, TxnId};
use iso_predict::{Boundary, ChangedRead, Prediction, Question};
use iso_spec::Level;
use std::collections::BTreeSet;

/// What is wrong with a prediction; nothing if it is right. `allows` decides levels.
pub(crate) fn prediction_is_right(
    observed: &Facts<'_>,
    witness: &Witness,
    prediction: &Prediction,
    question: Question,
    allows: &dyn Fn(&History, Level) -> bool,
) -> Result<(), String> {
    let predicted = Facts::new(&prediction.history);
    let case = Case { observed, witness, prediction, predicted: &predicted, question };
    case.transactions_are_repeated()?;
    case.sessions_repeat_a_prefix()?;
    case.cuts_are_on_the_boundary()?;
    case.operations_are_repeated()?;
    case.values_are_distinct()?;
    case.reads_have_their_writers()?;
    let Question { level, target, boundary, .. } = question;
    let conflicts = !allows(&case.with_dropped_writes(), level);
    let said = prediction.hides_conflict;
    // Whoever is seen by others is not asked whether what it lost would conflict.
    ensure(conflicts == said || boundary == Boundary::StrictEvents, || {
        format!("with what was dropped, it conflicts: {conflicts}, and it says {said}")
    })?;
    ensure(allows(&prediction.history, level), || format!("{level} forbids it"))?;
    ensure(!allows(&prediction.history, target), || format!("{target} allows it"))
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

struct Case<'c> {
    observed: &'c Facts<'c>,
    witness: &'c Witness,
    prediction: &'c Prediction,
    predicted: &'c Facts<'c>,
    question: Question,
}

impl Case<'_> {
    fn history(&self) -> &History {
        &self.prediction.history
    }

    fn label(&self, txn: TxnId) -> String {
        self.history().label(txn)
    }

    /// The observed transaction that a predicted one repeats.
    fn original(&self, txn: TxnId) -> TxnId {
        self.prediction.txns[txn.index()]
    }

    /// How many operations a transaction on the boundary lost.
    fn n_dropped(&self, txn: TxnId) -> Option<usize> {
        self.prediction.cuts.iter().find(|it| it.txn == txn).map(|it| it.n_dropped)
    }

    fn transactions_are_repeated(&self) -> Result<(), String> {
        let observed = self.observed.history();
        let txns = &self.prediction.txns;
        ensure(txns.len() == self.history().n_txns(), || format!("{} transactions are mapped", txns.len()))?;
        ensure(self.original(TxnId::INITIAL).is_initial(), || "the initial transaction is another one".to_owned())?;
        let different: BTreeSet<TxnId> = txns.iter().copied().collect();
        ensure(different.len() == txns.len(), || "a transaction is repeated twice".to_owned())?;
        for txn in self.history().txns() {
            let original = self.original(txn);
            let has_committed = |history: &History, it| history.outcome(it) == Outcome::Committed;
            let both = has_committed(observed, original) && has_committed(self.history(), txn);
            ensure(both, || format!("{} has not committed", self.label(txn)))?;
        }
        Ok(())
    }

    fn sessions_repeat_a_prefix(&self) -> Result<(), String> {
        let observed = self.observed.history();
        let name = |session| self.history().session_name(session);
        for session in self.history().sessions() {
            let same = observed.sessions().find(|it| observed.session_name(*it) == name(session));
            let Some(same) = same else { return Err(format!("no session is called {}", name(session))) };
            let committed = |it: &&TxnId| observed.outcome(**it) == Outcome::Committed;
            let originals: Vec<&TxnId> = observed.session_txns(same).iter().filter(committed).collect();
            let repeated = self.history().session_txns(session).iter().map(|it| self.original(*it));
            let is_prefix = repeated.enumerate().all(|(idx, it)| originals.get(idx) == Some(&&it));
            ensure(is_prefix, || format!("{} does something else", name(session)))?;
        }
        Ok(())
    }

    fn cuts_are_on_the_boundary(&self) -> Result<(), String> {
        let history = self.history();
        let mut sessions = BTreeSet::new();
        for cut in &self.prediction.cuts {
            let label = || history.label(cut.txn);
            let Some(session) = history.session_of(cut.txn) else { return Err("init is cut".to_owned()) };
            ensure(sessions.insert(session), || format!("{} is cut twice", history.session_name(session)))?;
            let is_last = history.session_txns(session).last() == Some(&cut.txn);
            ensure(is_last, || format!("{} is cut and not the last one", label()))?;
            let changes = self.prediction.changed.iter().any(|it| history.txn_of(it.op) == cut.txn);
            ensure(changes, || format!("{} is cut without a changed read", label()))?;
            match self.question.boundary {
                Boundary::Relaxed => ensure(cut.n_dropped == 0, || format!("{} is not whole", label()))?,
                Boundary::Strict | Boundary::StrictEvents => {
                    let last_read =
                        self.predicted.reads_of(cut.txn).next_back().map(|it| self.predicted.reads()[it].op);
                    let ends_so = last_read.is_some() && history.ops(cut.txn).next_back() == last_read;
                    ensure(ends_so, || format!("{} does not end with an external read", label()))?;
                }
            }
        }
        Ok(())
    }

    fn operations_are_repeated(&self) -> Result<(), String> {
        let observed = self.observed.history();
        for txn in self.history().txns() {
            let original = self.original(txn);
            let n_ops = self.history().ops(txn).len() + self.n_dropped(txn).unwrap_or(0);
            ensure(n_ops == observed.ops(original).len(), || format!("{} has {n_ops} operations", self.label(txn)))?;
            for (op, original) in self.history().ops(txn).zip(observed.ops(original)) {
                let is_same = self.is_repeated(self.history().op(op), observed.op(original));
                ensure(is_same, || {
                    let (op, original) = (self.history().render_op(op), observed.render_op(original));
                    format!("{} has {op} for {original}", self.label(txn))
                })?;
            }
        }
        Ok(())
    }

    fn is_repeated(&self, op: Op<'_>, original: Op<'_>) -> bool {
        let (mine, theirs) = (self.history(), self.observed.history());
        let same_key = mine.key_name(op.key()) == theirs.key_name(original.key());
        let same_access = match (op, original) {
            (Op::Read { .. }, Op::Read { .. }) => true,
            (Op::Write { value, .. }, Op::Write { value: other, .. }) => {
                is_named(mine.value(value), theirs.value(other))
            }
            _ => false,
        };
        let (initial, other) = (mine.initial_value(op.key()), theirs.initial_value(original.key()));
        same_key && same_access && is_named(mine.value(initial), theirs.value(other))
    }

    fn values_are_distinct(&self) -> Result<(), String> {
        let history = self.history();
        let mut versions: BTreeSet<_> = history.keys().map(|it| (it, history.initial_value(it))).collect();
        for op in history.txns().flat_map(|it| history.ops(it)) {
            if let Op::Write { key, value } = history.op(op) {
                ensure(versions.insert((key, value)), || format!("{} is there twice", history.render_op(op)))?;
            }
        }
        let local = self.predicted.local().first().map(|it| history.render_op(it.op));
        ensure(local.is_none(), || format!("nothing explains {}", local.unwrap_or_default()))
    }

    fn reads_have_their_writers(&self) -> Result<(), String> {
        let mut changed = Vec::new();
        for (read_idx, read) in self.predicted.reads().iter().enumerate() {
            let name = || format!("{} of {}", self.history().render_op(read.op), self.label(read.reader));
            let [writer] = self.predicted.candidates(read_idx) else { return Err(format!("who wrote {}?", name())) };
            let may_be_seen = self.question.boundary == Boundary::StrictEvents || self.n_dropped(*writer).is_none();
            ensure(may_be_seen, || format!("{} reads from the boundary", name()))?;
            let observed_op = self.observed_op(read.reader, read.op);
            let source = self.witness.sources.iter().find(|it| it.read == observed_op);
            let Some(from) = source.map(|it| it.writer) else { return Err(format!("{} was internal", name())) };
            let to = self.original(*writer);
            if from != to {
                ensure(self.may_change(read.reader, read.op), || format!("{} may not change", name()))?;
                changed.push(ChangedRead { op: read.op, observed_op, from, to });
            }
        }
        let said = &self.prediction.changed;
        ensure(changed == *said, || format!("{changed:?} changed, and it says {said:?}"))
    }

    /// The prediction if transactions on the boundary go on to write what they wrote.
    fn with_dropped_writes(&self) -> History {
        let (history, observed) = (self.history(), self.observed.history());
        let mut builder = HistoryBuilder::new();
        for txn in history.txns() {
            let session = history.session_of(txn).unwrap();
            let session = builder.session(history.session_name(session));
            builder.begin(session, Place::default());
            for op in history.ops(txn) {
                let (Op::Read { key, value } | Op::Write { key, value }) = history.op(op) else { unreachable!() };
                let initial = builder.value_named(history.value(history.initial_value(key)));
                let key = builder.key_named(history.key_name(key));
                builder.initial(key, initial, Place::default());
                let value = builder.value_named(history.value(value));
                if history.op(op).is_write() { builder.write(key, value) } else { builder.read(key, value) }
            }
            for op in observed.ops(self.original(txn)).skip(history.ops(txn).len()) {
                if let Op::Write { key, .. } = observed.op(op) {
                    let initial = builder.value_named(observed.value(observed.initial_value(key)));
                    let key = builder.key_named(observed.key_name(key));
                    builder.initial(key, initial, Place::default());
                    let value = builder.value(Datum::text(format!("dropped {op:?}")));
                    builder.write(key, value);
                }
            }
            builder.end(Outcome::Committed);
        }
        builder.finish().unwrap()
    }

    /// What an operation of the prediction repeats.
    fn observed_op(&self, txn: TxnId, op: OpId) -> OpId {
        let position = self.history().ops(txn).position(|it| it == op).unwrap();
        self.observed.history().ops(self.original(txn)).nth(position).unwrap()
    }

    fn may_change(&self, reader: TxnId, op: OpId) -> bool {
        let is_last = self.history().ops(reader).next_back() == Some(op);
        self.n_dropped(reader).is_some() && (is_last || self.question.boundary == Boundary::Relaxed)
    }
}

/// Is it the same value, or the same with a number to tell it apart, as in `5#2`?
fn is_named(name: Name<'_>, original: Name<'_>) -> bool {
    let text = |it: Name<'_>| match it {
        Name::Text(text) | Name::Number(text) => text.to_owned(),
        other => other.to_string(),
    };
    let is_number = |it: &str| it.strip_prefix('#').is_some_and(|it| it.parse::<u32>().is_ok());
    name == original || text(name).strip_prefix(&text(original)).is_some_and(is_number)
}

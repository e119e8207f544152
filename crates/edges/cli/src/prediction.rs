//! From a prediction to its document: that it repeats the observed run, that the level allows it and that the target
//! forbids it is checked before it is shown, by code that has no part in the search.

use crate::found::Withheld;
use iso_evidence::{Budget, Event, Refutation, Schedule, StopReason, Verdict, Witness, certify_facts};
use iso_history::{Facts, History, Op, OpId, TxnId};
use iso_predict::{Boundary, Prediction, Question};
use iso_report::{Predicted, PredictedRun, Rewired};
use iso_spec::Level;
use std::collections::{BTreeMap, BTreeSet};

/// The observed run, and what is known about it.
pub(crate) struct Observed<'a> {
    pub(crate) facts: &'a Facts<'a>,
    /// How it may have happened: who wrote what each read saw.
    pub(crate) witness: &'a Witness,
}

/// A prediction that passed all checks.
pub(crate) struct Checked {
    /// Its document.
    pub(crate) run: PredictedRun,
    /// Its transactions in an order that explains it under the level.
    pub(crate) order: Vec<TxnId>,
}

/// Checks a prediction.
pub(crate) fn checked(
    observed: &Observed<'_>,
    question: Question,
    prediction: &Prediction,
    budget: &Budget<'_>,
) -> Result<Checked, Withheld> {
    repeats(observed, question.boundary, prediction).map_err(|why| wrong(question.level, why))?;
    let rewired =
        |it: &iso_predict::ChangedRead| Rewired { op: it.op, observed_op: it.observed_op, from: it.from, to: it.to };
    let judged = Judged::new(&prediction.history, question, budget)?;
    let mut run = PredictedRun::new(&Predicted {
        observed: observed.facts.history(),
        history: &prediction.history,
        txns: &prediction.txns,
        changed: prediction.changed.iter().map(rewired).collect(),
        cuts: prediction.cuts.iter().map(|it| it.txn).collect(),
        witness: &judged.witness,
        refutation: &judged.refutation,
        allowed: Some(Ok(())),
        forbidden: Some(Ok(())),
    });
    run.hides_conflict = prediction.hides_conflict;
    Ok(Checked { run, order: commits(&judged.witness) })
}

/// The observed run as its own prediction: the level allows it, and the target forbids it.
pub(crate) fn observed_run(
    history: &History,
    question: Question,
    budget: &Budget<'_>,
) -> Result<PredictedRun, Withheld> {
    let judged = Judged::new(history, question, budget)?;
    let txns: Vec<TxnId> = (0..history.n_txns()).map(TxnId::from_index).collect();
    Ok(PredictedRun::new(&Predicted {
        observed: history,
        history,
        txns: &txns,
        changed: Vec::new(),
        cuts: Vec::new(),
        witness: &judged.witness,
        refutation: &judged.refutation,
        allowed: Some(Ok(())),
        forbidden: Some(Ok(())),
    }))
}

fn wrong(level: Level, why: impl Into<String>) -> Withheld {
    Withheld::Wrong { level: level.short_name().to_owned(), why: why.into() }
}

/// What `check` says about a predicted run; certified.
struct Judged {
    witness: Witness,
    refutation: Refutation,
}

impl Judged {
    fn new(history: &History, question: Question, budget: &Budget<'_>) -> Result<Self, Withheld> {
        let facts = Facts::new(history);
        let witness = match certified(&facts, question.level, budget)? {
            Verdict::Allowed(witness) => witness,
            Verdict::Forbidden(_) => return Err(wrong(question.level, "check forbids the predicted run")),
            Verdict::Unknown(reason) => return Err(Withheld::Stopped(reason)),
        };
        match certified(&facts, question.target, budget)? {
            Verdict::Forbidden(refutation) => Ok(Self { witness, refutation }),
            Verdict::Allowed(_) => Err(wrong(question.target, "check allows the predicted run")),
            Verdict::Unknown(reason) => Err(Withheld::Stopped(reason)),
        }
    }
}

/// An answer of `check` whose evidence was checked.
pub(crate) fn certified(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Result<Verdict, Withheld> {
    let verdict = iso_check::check_facts(facts, level, budget);
    // What was hurried by a limit may be named worse, and equal questions have equal answers.
    budget.check().map_err(Withheld::Stopped)?;
    match certify_facts(facts, level, &verdict) {
        _ if matches!(verdict, Verdict::Unknown(_)) => Ok(verdict),
        Ok(()) => Ok(verdict),
        Err(why) if why.is_too_large => Err(Withheld::Stopped(StopReason::Unsupported(why.to_string()))),
        Err(why) => Err(wrong(level, why.to_string())),
    }
}

/// Does the predicted run repeat the observed one up to its boundary? What is wrong, if not.
fn repeats(observed: &Observed<'_>, boundary: Boundary, prediction: &Prediction) -> Result<(), String> {
    let repetition = Repetition::new(observed, boundary, prediction)?;
    repetition.sessions()?;
    let history = &prediction.history;
    history.txns().try_for_each(|txn| repetition.operations(txn))?;
    repetition.reads()
}

struct Repetition<'a> {
    observed: &'a Observed<'a>,
    boundary: Boundary,
    prediction: &'a Prediction,
    cuts: BTreeSet<TxnId>,
    /// By read of the predicted run, the observed transaction that it is said to read from now.
    changed: BTreeMap<OpId, TxnId>,
}

impl<'a> Repetition<'a> {
    fn new(observed: &'a Observed<'a>, boundary: Boundary, prediction: &'a Prediction) -> Result<Self, String> {
        let is_complete = prediction.txns.len() == prediction.history.n_txns();
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
        let may_end_early = self.boundary == Boundary::Strict && self.cuts.contains(&txn);
        if ops.len() > twins.len() || (ops.len() < twins.len() && !may_end_early) {
            return Err(format!("{} does not end where it did", label()));
        }
        for (op, twin) in ops.iter().copied().zip(twins) {
            let is_same = same_key(history, op, whole, twin) && kind(history.op(op)) == kind(whole.op(twin));
            if !is_same {
                return Err(format!("{} does something else", label()));
            }
            let is_last = ops.last() == Some(&op);
            if self.changed.contains_key(&op) && may_end_early && !is_last {
                return Err(format!("{} goes on after a changed read", label()));
            }
        }
        Ok(())
    }

    /// Reads see complete transactions: the observed writer, or the one that is said to be another.
    fn reads(&self) -> Result<(), String> {
        let facts = Facts::new(&self.prediction.history);
        for (idx, read) in facts.reads().iter().enumerate() {
            let wrong = |what: &str| Err(format!("{} {what}", self.prediction.history.render_op(read.op)));
            let [writer] = facts.candidates(idx) else { return wrong("has no single writer") };
            if self.cuts.contains(writer) {
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

    /// Who wrote what the twin of a read saw.
    fn observed_writer(&self, op: OpId, reader: TxnId) -> Option<TxnId> {
        let nth = self.prediction.history.ops(reader).position(|it| it == op)?;
        let twin = self.observed.facts.history().ops(self.twin(reader)).nth(nth)?;
        let sources = &self.observed.witness.sources;
        sources.binary_search_by_key(&twin, |it| it.read).ok().map(|at| sources[at].writer)
    }
}

/// The transactions that took place, in the order of their commits.
fn commits(witness: &Witness) -> Vec<TxnId> {
    let commit = |it: &Event| match it {
        Event::Commit(txn) => Some(*txn),
        Event::Snapshot(_) => None,
    };
    match &witness.schedule {
        Schedule::Order(order) => order.clone(),
        Schedule::Events(events) => events.iter().filter_map(commit).collect(),
        Schedule::Execution(_) => Vec::new(),
    }
}

fn same_key(history: &History, op: OpId, whole: &History, twin: OpId) -> bool {
    history.key_name(history.op(op).key()) == whole.key_name(whole.op(twin).key())
}

/// What an operation does, whatever its value.
fn kind(op: Op<'_>) -> &'static str {
    match op {
        Op::Read { .. } => "read",
        Op::Write { .. } => "write",
        Op::Append { .. } => "append",
        Op::ReadList { .. } => "read list",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iso_formats::{ReadOptions, read_from};
    use iso_predict::{Answer, Precision, Predictor};

    const ACCOUNT: &str = "init x=0\ns1: { r(x,0) w(x,60) } { r(x,10) }\ns2: { r(x,60) w(x,10) w(y,1) }\n";

    fn history(text: &str) -> History {
        read_from("run", text.as_bytes(), &ReadOptions::default()).unwrap().into_history().unwrap()
    }

    fn question(boundary: Boundary) -> Question {
        let (level, target) = (Level::CausalConsistency, Level::Serializable);
        Question { level, target, boundary, precision: Precision::Exact }
    }

    /// What is said about a prediction that was changed.
    fn said(text: &str, boundary: Boundary, change: &dyn Fn(&mut Prediction)) -> Result<PredictedRun, Withheld> {
        let observed = history(text);
        let facts = Facts::new(&observed);
        let Verdict::Allowed(witness) = iso_check::check(&observed, Level::Serializable, &Budget::unlimited()) else {
            unreachable!()
        };
        let mut predictor = Predictor::new(&facts, &witness, question(boundary)).unwrap();
        let Answer::Predicted(mut prediction) = predictor.next(&Budget::unlimited()) else { unreachable!() };
        change(&mut prediction);
        let observed = Observed { facts: &facts, witness: &witness };
        checked(&observed, question(boundary), &prediction, &Budget::unlimited()).map(|it| it.run)
    }

    #[test]
    fn what_the_engine_predicts_is_shown_as_certified() {
        let run = said(ACCOUNT, Boundary::Relaxed, &|_| {}).unwrap();
        assert_eq!((run.allowed, run.forbidden), (Some(Ok(())), Some(Ok(()))));
        assert_eq!((run.anomalies, run.changed.len()), (vec!["lost-update".to_owned()], 1));
    }

    /// Makes a prediction wrong.
    type Change<'c> = &'c dyn Fn(&mut Prediction);

    #[test]
    fn a_prediction_that_does_not_repeat_the_observed_run_is_not_shown() {
        let cases: [(&str, Change<'_>); 7] = [
            ("repeat nothing", &|it| it.txns.clear()),
            ("does not repeat its first", &|it| it.txns.swap(1, 2)),
            ("changed before the boundary", &|it| it.cuts.clear()),
            ("another writer than it is said to", &|it| it.changed.clear()),
            ("another writer than it is said to", &|it| it.changed[0].to = it.changed[0].from),
            ("does something else", &|it| {
                it.history = history("init x=0\ns1: { r(x,0) w(x,60) }\ns2: { r(x,0) w(x,10) r(y,-) }\n");
            }),
            ("does not end where it did", &|it| {
                it.history = history("init x=0\ns1: { r(x,0) w(x,60) }\ns2: { r(x,0) }\n");
            }),
        ];
        for (words, change) in cases {
            match said(ACCOUNT, Boundary::Relaxed, change) {
                Err(Withheld::Wrong { level, why }) => assert!(level == "cc" && why.contains(words), "{why}"),
                other => panic!("{words}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_run_that_the_target_allows_or_the_level_forbids_is_not_shown() {
        let level = |text: &str| match observed_run(&history(text), question(Boundary::Strict), &Budget::unlimited()) {
            Err(Withheld::Wrong { level, .. }) => level,
            other => panic!("{other:?}"),
        };
        assert_eq!(level("init x=0\ns1: { w(x,1) }\ns2: { r(x,1) }\n"), "ser");
        assert_eq!(level("init x=0\ns1: { w(x,1) } { r(x,0) }\n"), "cc");
    }
}

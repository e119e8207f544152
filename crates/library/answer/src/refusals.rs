//! Wrong evidence is refused, whatever the question, and limits leave it open: right answers, made wrong.

use crate::certified::Withheld;
use crate::check::{self, Certifying, NotCertified, check_facts, check_spec, of_level};
use crate::common::history;
use crate::compare::{Comparison, Relation};
use crate::predict::{self, Boundary, Precision, Prediction, Predictions, Question, Unasked, Unknown};
use crate::separate::{self, Aspects, Effort, Ended, Method, Scope, separate_all};
use crate::{Searched, WrongEvidence, lattice};
use iso_evidence::{Budget, Refutation, Schedule, StopReason, Verdict, Witness};
use iso_history::{Facts, History, TxnId};
use iso_separate::Found;
use iso_spec::{Catalogue, Level, Spec};

const STOPPED: fn() -> Option<StopReason> = || Some(StopReason::Timeout);

/// Two transactions read the same snapshot, and each overwrites what the other one read.
const WRITE_SKEW: &str = "a: r(x,0) r(y,0) w(x,1)\nb: r(x,0) r(y,0) w(y,1)";

/// A verdict of the engine after a change, as an answer.
fn answered(level: Level, change: impl FnOnce(&mut Verdict)) -> check::Answer {
    let history = history(WRITE_SKEW);
    let facts = Facts::new(&history);
    let mut verdict = iso_check::check_facts(&facts, level, &Budget::unlimited());
    change(&mut verdict);
    of_level(&facts, level, verdict, Certifying::Yes, &Budget::unlimited())
}

fn refutation(verdict: &mut Verdict) -> &mut Refutation {
    let Verdict::Forbidden(refutation) = verdict else { panic!("{verdict:?}") };
    refutation
}

fn witness(verdict: &mut Verdict) -> &mut Witness {
    let Verdict::Allowed(witness) = verdict else { panic!("{verdict:?}") };
    witness
}

#[test]
fn right_evidence_is_certified() {
    assert_eq!(answered(Level::SnapshotIsolation, |_| {}).is_allowed(), Some(true));
    assert_eq!(answered(Level::Serializable, |_| {}).is_allowed(), Some(false));
}

#[test]
fn a_broken_core_is_refused() {
    let changes: [fn(&mut Refutation); 3] = [
        |it| _ = it.ops.pop(),
        |it| _ = it.txns.pop(),
        |it| {
            it.cycle.swap(0, 1);
            it.cycle[0].because = it.cycle[1].because;
        },
    ];
    for change in changes {
        let answer = answered(Level::Serializable, |it| change(refutation(it)));
        assert!(matches!(&answer, check::Answer::Refused(wrong) if wrong.level == "ser"), "{answer:?}");
        assert_eq!(answer.clone().into_verdict(), None, "nobody gets at what is wrong");
    }
}

#[test]
fn a_broken_witness_is_refused() {
    let empty = |it: &mut Verdict| witness(it).schedule = Schedule::Events(Vec::new());
    assert!(matches!(answered(Level::SnapshotIsolation, empty), check::Answer::Refused(_)));
    let other_kind = |it: &mut Verdict| witness(it).schedule = Schedule::Order(vec![TxnId::from_index(1)]);
    assert!(matches!(answered(Level::SnapshotIsolation, other_kind), check::Answer::Refused(_)));
}

#[test]
fn a_limit_leaves_check_undecided_and_who_asks_for_no_certificate_gets_none() {
    let history = history(WRITE_SKEW);
    let facts = Facts::new(&history);
    let answer = check_facts(&facts, Level::Serializable, &Budget::new(&STOPPED));
    assert_eq!(answer, check::Answer::Undecided(StopReason::Timeout));
    let answer = check_spec(&facts, spec("ser"), Certifying::No, &Budget::unlimited());
    assert!(matches!(answer, check::Answer::NotCertified { why: NotCertified::NotAsked, .. }), "{answer:?}");
    let answer = check_spec(&facts, spec("ser"), Certifying::Yes, &Budget::unlimited());
    assert_eq!(answer.is_allowed(), Some(false));
}

fn spec(name: &str) -> &'static Spec {
    Catalogue::builtin().find(name).unwrap()
}

fn question(allowed: &str, forbidden: &str) -> separate::Question<'static> {
    let (allowed, forbidden) = (vec![spec(allowed)], vec![spec(forbidden)]);
    separate::Question { allowed, forbidden, scope: Scope::up_to(3, 2, 3), method: Method::default() }
}

/// Snapshot isolation allows it, and serializability does not.
fn write_skew() -> Found {
    *iso_separate::separate(&question("si", "ser"), &Budget::unlimited()).answer.found().unwrap()
}

/// What is wrong with a history that is said to separate these.
fn refused(found: Found, allowed: &str, forbidden: &str) -> WrongEvidence {
    match separate::certified(found, &[spec(allowed)], &[spec(forbidden)], &Budget::unlimited()) {
        Err(Withheld::Wrong(wrong)) => wrong,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_history_that_does_not_separate_is_refused() {
    assert_eq!(refused(write_skew(), "ser", "ser").level, "biswas.ser");
    assert_eq!(refused(write_skew(), "si", "pc").level, "biswas.pc");
    assert_eq!(refused(write_skew(), "si", "cerone.si").level, "cerone.si");
    let unexplained = Found { executions: Vec::new(), ..write_skew() };
    assert_eq!(refused(unexplained, "si", "ser").level, "biswas.si");
    let other = Found { history: history("a: r(x,0) w(x,1)\nb: r(x,0) w(x,2)"), ..write_skew() };
    refused(other, "si", "ser");
}

#[test]
fn a_limit_leaves_separate_undecided() {
    let checked = separate::certified(write_skew(), &[spec("si")], &[spec("ser")], &Budget::new(&STOPPED));
    assert_eq!(checked.unwrap_err(), Withheld::Stopped(StopReason::Timeout));
    let answer = separate::separate(&question("si", "ser"), &Budget::new(&STOPPED)).answer;
    assert!(matches!(answer, separate::Answer::Undecided(StopReason::Timeout)));
}

#[test]
fn a_search_for_all_says_why_it_ended() {
    let all = |limit| separate_all(&question("si", "ser"), limit, &Budget::unlimited());
    assert!(matches!(all(None).ended, Ended::Complete(_)) && !all(None).found.is_empty());
    assert_eq!(all(Some(0)).ended, Ended::Enough);
    let stopped = separate_all(&question("si", "ser"), None, &Budget::new(&STOPPED));
    assert_eq!(stopped.ended, Ended::Stopped(StopReason::Timeout));
}

#[test]
fn a_comparison_with_wrong_evidence_is_refused_and_not_a_relation() {
    let wrong = WrongEvidence::new(&"si", &"it is wrong");
    let none = || separate::Answer::None(Searched::new(Scope::default()));
    let compared = |left_only, right_only| {
        let (proofs, open) = ([None, None], [None, None]);
        let (aspects, effort) = (Aspects::default(), Effort::default());
        Comparison { left_only, right_only, proofs, open, aspects, effort }.relation()
    };
    let refused = || separate::Answer::Refused(wrong.clone());
    assert_eq!(compared(refused(), none()), Relation::Refused(wrong.clone()));
    assert_eq!(compared(none(), refused()), Relation::Refused(wrong.clone()));
    let stopped = separate::Answer::Undecided(StopReason::Timeout);
    assert_eq!(compared(stopped, refused()), Relation::Refused(wrong.clone()));
    assert!(matches!(compared(none(), none()), Relation::Equivalent(_)));
}

#[test]
fn an_edge_of_a_lattice_with_wrong_evidence_is_refused_and_not_drawn() {
    let specs = [spec("si"), spec("ser")];
    let scope = Scope::up_to(2, 2, 3);
    let drawn = lattice(&specs, &scope, Method::default(), &Budget::unlimited(), &mut |_| {});
    assert_eq!((drawn.edges.len(), drawn.refused.len()), (1, 0));
    let mut doctored = lattice::Lattice { edges: Vec::new(), ..drawn };
    let edge = || iso_separate::LatticeEdge { stronger: 0, weaker: 1, found: write_skew() };
    doctored.add(edge(), &specs, &Budget::unlimited());
    assert_eq!((doctored.edges.len(), doctored.refused.len()), (0, 1), "serializability does not allow write skew");
    doctored.add(edge(), &specs, &Budget::new(&STOPPED));
    assert_eq!((doctored.undecided.len(), doctored.refused.len()), (0, 2), "what is plainly wrong needs no time");
}

/// A deposit, a withdrawal that sees it, and a look at both.
const ACCOUNT: &str = "a: r(x,0) w(x,60)\nb: r(x,60) w(x,10) w(y,1)\na: r(x,10)";

fn relaxed() -> Question {
    let (level, target) = (Level::CausalConsistency, Level::Serializable);
    Question { level, target, boundary: Boundary::Relaxed, precision: Precision::Exact }
}

/// What becomes of a prediction that was changed.
fn predicted(change: &dyn Fn(&mut Prediction), budget: &Budget<'_>) -> Result<predict::Predicted, Withheld> {
    let observed = history(ACCOUNT);
    let facts = Facts::new(&observed);
    let mut verdict = iso_check::check(&observed, Level::Serializable, &Budget::unlimited());
    let witness = witness(&mut verdict);
    let mut predictor = iso_predict::Predictor::new(&facts, witness, relaxed()).unwrap();
    let iso_predict::Answer::Predicted(mut prediction) = predictor.next(&Budget::unlimited()) else { panic!() };
    change(&mut prediction);
    predict::certified_prediction(&facts, witness, relaxed(), *prediction, budget)
}

#[test]
fn a_prediction_that_does_not_repeat_the_observed_run_is_refused() {
    type Change<'c> = &'c dyn Fn(&mut Prediction);
    predicted(&|_| {}, &Budget::unlimited()).unwrap();
    let unchanged = iso_predict::Cut { txn: TxnId::from_index(1), n_dropped: 0 };
    let cases: [(&str, Change<'_>); 12] = [
        ("without a changed read", &|it| it.cuts.push(unchanged)),
        ("repeat nothing", &|it| it.txns.clear()),
        ("repeat nothing", &|it| it.txns[1] = TxnId::from_index(99)),
        ("does not repeat its first", &|it| it.txns.swap(1, 2)),
        ("changed before the boundary", &|it| it.cuts.clear()),
        ("another writer than it is said to", &|it| it.changed.clear()),
        ("another writer than it is said to", &|it| it.changed[0].to = it.changed[0].from),
        ("did not change as it is said to", &|it| it.changed[0].from = it.changed[0].to),
        ("another number of operations", &|it| it.cuts[0].n_dropped += 1),
        ("does something else", &|it| it.history = history("a: r(x,0) w(x,60)\nb: r(x,0) w(x,10) r(y,0)")),
        ("does something else", &|it| it.history = history("a: r(x,0) w(x,61)\nb: r(x,0) w(x,10) w(y,1)")),
        ("does not end where it did", &|it| it.history = history("a: r(x,0) w(x,60)\nb: r(x,0)")),
    ];
    for (words, change) in cases {
        match predicted(change, &Budget::unlimited()) {
            Err(Withheld::Wrong(it)) => assert!(it.level == "cc" && it.why.contains(words), "{words}: {it:?}"),
            other => panic!("{words}: {other:?}"),
        }
    }
    assert_eq!(predicted(&|_| {}, &Budget::new(&STOPPED)).unwrap_err(), Withheld::Stopped(StopReason::Timeout));
}

/// The first answer for a run.
fn first(history: &History, question: Question, budget: &Budget<'_>) -> Result<predict::Answer, Unasked> {
    predict::predict(history, question, budget)
}

#[test]
fn what_cannot_be_predicted_is_no_question() {
    let unlimited = Budget::unlimited();
    let stale = history("a: w(x,1)\na: r(x,0)");
    assert!(matches!(first(&stale, relaxed(), &unlimited), Err(Unasked::Forbidden { .. })));
    let lists = history("a: l(x,1)\nb: l(x)1");
    assert!(matches!(first(&lists, relaxed(), &unlimited), Err(Unasked::List(_))));
    let backwards = Question { level: Level::SnapshotIsolation, target: Level::CausalConsistency, ..relaxed() };
    assert_eq!(first(&history(ACCOUNT), backwards, &unlimited).unwrap_err(), Unasked::WrongLevels);
}

#[test]
fn an_observed_run_that_the_target_forbids_is_the_one_answer() {
    let history = history(WRITE_SKEW);
    let facts = Facts::new(&history);
    let budget = Budget::unlimited();
    let mut predictions: Predictions<'_> = predict::ObservedRun::new(&facts).predictions(relaxed(), &budget).unwrap();
    assert!(matches!(predictions.next(&budget), predict::Answer::Observed(_)));
    assert!(matches!(predictions.next(&budget), predict::Answer::None(_)));
}

#[test]
fn a_limit_leaves_predict_undecided() {
    let answer = first(&history(ACCOUNT), relaxed(), &Budget::new(&STOPPED)).unwrap();
    assert!(matches!(answer, predict::Answer::Undecided(Unknown::Stopped(StopReason::Timeout))));
}

#[test]
fn a_bug_is_told_loudly_and_a_search_says_what_it_is() {
    assert!(WrongEvidence::new(&"ser", &"no cycle").to_string().starts_with("THIS IS A BUG in isoscope"));
    assert_eq!(Searched::new(()).to_string(), "Not certified: this answer rests on the search itself.");
}

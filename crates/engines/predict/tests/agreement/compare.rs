//! Compares the engine with brute force, and makes the trace small where they differ.

use crate::draft::Draft;
use crate::generate::{Dice, trace};
use crate::oracle::{Findings, Judge, Observed, Run, allows};
use crate::right::prediction_is_right;
use crate::{setting, witness};
use iso_evidence::{Budget, Sources, StopReason, Witness};
use iso_history::{Facts, OpId, TxnId};
use iso_predict::{Answer, Boundary, LEVELS, Precision, Prediction, Predictor, Question, TARGETS, Unknown};
use iso_spec::Level;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const ALL_BOUNDARIES: [Boundary; 3] = [Boundary::Strict, Boundary::Relaxed, Boundary::StrictEvents];

/// So many predictions of one question are judged.
const N_PREDICTIONS_MAX: usize = 20;
/// So often the engine may ask whether to go on; more means that it does not end.
const N_QUESTIONS_MAX: u64 = 200_000;
/// Traces for which more could have happened are too much for brute force.
const N_RUNS_MAX: usize = 4_000;
/// One trace in so many is asked about every target.
const ALL_TARGETS_ONE_IN: u64 = 4;

/// What is asked about a trace.
#[derive(Clone, Copy, Debug)]
struct Plan {
    targets: &'static [Level],
    order: Order,
}

/// Whose order of the observed run the engine gets, if that level allows it; else that of the level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Serial,
    OfTarget,
}

impl Plan {
    fn of_case(case: u64) -> Self {
        let targets: &[Level] = if case.is_multiple_of(ALL_TARGETS_ONE_IN) { &TARGETS } else { &[Level::Serializable] };
        Self {
            targets,
            order: if case.is_multiple_of(2 * ALL_TARGETS_ONE_IN) { Order::Serial } else { Order::OfTarget },
        }
    }

    fn witness(self, facts: &Facts<'_>, level: Level, target: Level) -> Option<Witness> {
        let first = if self.order == Order::Serial { Level::Serializable } else { target };
        witness(facts, &[first, level])
    }
}

#[test]
fn random_traces_are_predicted_as_by_brute_force() {
    let (seed, n_cases) = (setting("ISOSCOPE_SEED", 7), setting("ISOSCOPE_CASES", 200));
    let mut all = Comparison::default();
    for case in 0..n_cases {
        let draft = trace(&mut Dice::new(seed.wrapping_mul(1_000_003).wrapping_add(case)), N_RUNS_MAX);
        let plan = Plan::of_case(case);
        if let Some(found) = all.difference(&draft, plan) {
            let (small, found) = shrink(draft, found, plan);
            panic!("case {case}\n{small}{found}");
        }
    }
    let Comparison { judge, n_predicted, n_none, n_predictions } = &all;
    println!("{n_predicted} questions with a prediction, {n_none} without; {n_predictions} predictions judged");
    println!("{} runs by brute force, {} evaluated", judge.n_runs, judge.n_evaluated);
    // Only both answers together say something.
    assert!(*n_predicted * 20 > n_cases && *n_none * 20 > n_cases, "{n_predicted} and {n_none} of {n_cases}");
}

/// In these, the search once took more steps than there is any reason for, and mostly did not end.
const ONCE_TOO_LONG: &[&str] = &[
    "init x=0 y=0 z=0\n\
     s3: { r(z,0) w(y,2) }\n\
     s1: { r(y,2) w(z,3) }\n\
     s2: { w(y,4) }\n\
     s2: { r(y,4) }",
    "s3: { r(y,-) w(x,2) }\n\
     s1: { r(y,-) w(y,3) }\n\
     s2: { r(x,-) w(y,4) }\n\
     s3: { w(x,5) }\n\
     s3: { w(y,6) r(x,5) }",
    "init x=0 y=0\n\
     s1: { w(x,1) }\n\
     s3: { w(x,3) }\n\
     s3: { w(y,6) }\n\
     s2: { r(x,3) }\n\
     s1: { r(y,6) r(y,6) r(x,3) w(y,7) }",
    "init x=0 y=0\n\
     s3: { w(x,1) }\n\
     s2: { r(y,0) w(x,3) }\n\
     s2: { w(y,5) }\n\
     s3: { r(y,5) w(x,7) }\n\
     s1: { w(y,8) }\n\
     s2: { r(x,7) }\n\
     s1: { w(y,11) }",
    "init x=0 y=0\n\
     s3: { w(y,2) }\n\
     s2: { r(y,2) w(x,3) }\n\
     s1: { r(y,2) }\n\
     s1: { w(x,7) }\n\
     s3: { r(x,7) }",
    "s2: { w(z,1) }\n\
     s2: { r(z,1) r(z,1) }\n\
     s3: { w(z,2) r(x,-) w(z,3) }\n\
     s1: { w(x,4) }\n\
     s1: { r(z,3) w(z,5) }\n\
     s3: { r(x,4) w(x,6) }\n\
     s3: { w(z,7) r(x,6) }",
    "s2: { w(z,2) }\n\
     s3: { w(y,3) }\n\
     s3: { w(y,4) r(z,2) }\n\
     s1: { w(y,5) r(x,-) }\n\
     s2: { r(z,2) r(y,5) }",
    "init x=0 y=0\n\
     s3: { w(x,1) r(y,0) }\n\
     s3: { r(y,0) r(x,1) }\n\
     s1: { r(x,0) w(y,2) }\n\
     s1: { r(y,2) w(x,3) }\n\
     s2: { r(y,0) }",
    "s2: { w(y,1) }\n\
     s3: { w(x,2) }\n\
     s2: { r(x,2) w(x,3) }\n\
     s1: { w(y,4) }\n\
     s1: { r(y,4) w(x,6) }\n\
     s2: { w(y,7) }\n\
     s1: { r(y,7) r(x,6) }",
    "init x=0 y=0 z=0\n\
     s2: { r(y,0) w(y,1) }\n\
     s1: { r(x,0) w(y,3) }\n\
     s3: { r(x,0) w(x,4) }\n\
     s3: { r(y,3) w(y,5) w(z,6) }\n\
     s1: { r(x,4) r(z,6) }\n\
     s2: { w(z,8) }",
    "s1: { w(z,1) }\n\
     s3: { w(x,3) r(z,1) }\n\
     s2: { w(z,4) }\n\
     s3: { w(z,6) }\n\
     s1: { r(z,6) w(z,7) }\n\
     s2: { r(x,3) }",
    "s3: { w(y,4) }\n\
     s2: { w(y,6) }\n\
     s2: { r(x,-) r(y,6) }\n\
     s1: { r(y,6) w(x,7) }\n\
     s3: { r(y,4) }",
    "init x=0 y=0 z=0\n\
     s3: { w(z,1) }\n\
     s2: { r(z,1) w(y,1) }\n\
     s2: { r(z,1) }\n\
     s1: { w(z,1) }\n\
     s2: { w(x,0) }\n\
     s1: { r(z,1) r(y,1) }",
    "init x=0 y=0\n\
     s1: { w(x,1) r(y,0) }\n\
     s3: { w(y,2) }\n\
     s3: { r(x,1) }\n\
     s2: { r(y,2) w(x,3) }",
    "init x=0\n\
     s2: { w(x,5) }\n\
     s2: { r(x,5) w(x,6) }\n\
     s1: { w(x,7) }\n\
     s1: { r(x,7) w(x,8) }",
    "s2: { w(x,2) }\n\
     s3: { w(x,4) }\n\
     s3: { r(x,4) w(x,5) }\n\
     s2: { r(x,5) w(x,6) }",
    "init x=0 y=0\n\
     s1: { w(x,1) }\n\
     s2: { w(x,2) }\n\
     s2: { r(x,2) w(x,4) }\n\
     s3: { r(x,4) w(x,5) }",
    "s2: { w(x,2) }\n\
     s3: { w(x,3) }\n\
     s2: { r(x,2) w(x,5) }\n\
     s3: { r(x,3) w(x,6) }",
];

#[test]
fn searches_that_once_took_too_long_end() {
    for text in ONCE_TOO_LONG {
        for order in [Order::Serial, Order::OfTarget] {
            let found = Comparison::default().difference(&Draft::parse(text), Plan { targets: &TARGETS, order });
            assert_eq!(found, None, "{text}");
        }
    }
}

/// The smallest trace that still shows a difference, and the difference.
fn shrink(mut draft: Draft, mut found: String, plan: Plan) -> (Draft, String) {
    let differs = |it: Draft| Comparison::default().difference(&it, plan).map(|found| (it, found));
    while let Some(smaller) = draft.smaller().into_iter().find_map(differs) {
        (draft, found) = smaller;
    }
    (draft, found)
}

#[derive(Debug, Default)]
struct Comparison {
    judge: Judge,
    n_predicted: u64,
    n_none: u64,
    n_predictions: u64,
}

impl Comparison {
    /// The first question about a trace that the engine answers wrongly, and how.
    fn difference(&mut self, draft: &Draft, plan: Plan) -> Option<String> {
        let history = draft.build();
        let facts = Facts::new(&history);
        // Who read from whom says which runs there are.
        let mut known: Vec<(Arc<Sources>, [Findings; 3])> = Vec::new();
        for (level, target) in LEVELS.into_iter().flat_map(|level| targets_above(level, plan)) {
            let Some(witness) = plan.witness(&facts, level, target) else { continue };
            let observed = Observed::new(&history, &witness);
            let known_idx = known.iter().position(|it| it.0 == witness.sources).unwrap_or_else(|| {
                let findings = ALL_BOUNDARIES.map(|it| self.judge.findings(&observed, it));
                known.push((witness.sources.clone(), findings));
                known.len() - 1
            });
            for (boundary, findings) in ALL_BOUNDARIES.into_iter().zip(&known[known_idx].1) {
                let question = Question { level, target, boundary, precision: Precision::Exact };
                let asked = Asked { facts: &facts, witness: &witness, question };
                let expected: Vec<&Run> = findings.of(level, target).collect();
                if let Err(found) = self.ask(asked, &observed, &expected) {
                    let says = expected.first().map_or("none".to_owned(), |it| it.describe(&history));
                    return Some(format!("{question:?}\n{found}\nbrute force: {says}"));
                }
            }
        }
        None
    }

    fn ask(&mut self, asked: Asked<'_>, observed: &Observed<'_>, expected: &[&Run]) -> Result<(), String> {
        let exact = asked.predictions()?;
        let sure = asked.with(Precision::Approximate).predictions()?;
        let is_none = exact.predictions.is_empty();
        if is_none != expected.is_empty() {
            return Err(format!("the engine: {}", if is_none { "none" } else { "predicted" }));
        }
        if exact.end == End::Approximate || sure.end == End::None {
            return Err(format!("exact ends with {:?}, approximate with {:?}", exact.end, sure.end));
        }
        // None means that whatever else is possible changes all that some earlier prediction changes.
        let is_new =
            |it: &&&Run| !exact.predictions.iter().any(|earlier| it.changes(observed).is_superset(&changes(earlier)));
        if let (End::None, Some(missing)) = (exact.end, expected.iter().find(is_new)) {
            let n_predictions = exact.predictions.len();
            return Err(format!(
                "after {n_predictions} predictions misses\n{}",
                missing.describe(asked.facts.history())
            ));
        }
        *if is_none { &mut self.n_none } else { &mut self.n_predicted } += 1;
        self.n_predictions += (exact.predictions.len() + sure.predictions.len()) as u64;
        Ok(())
    }
}

fn targets_above(level: Level, plan: Plan) -> impl Iterator<Item = (Level, Level)> {
    let is_above = move |it: &&Level| **it != level && it.implies(level);
    plan.targets.iter().filter(is_above).map(move |it| (level, *it))
}

fn changes(prediction: &Prediction) -> BTreeSet<(OpId, TxnId)> {
    prediction.changed.iter().map(|it| (it.observed_op, it.to)).collect()
}

/// One question to the engine.
#[derive(Clone, Copy, Debug)]
struct Asked<'a> {
    facts: &'a Facts<'a>,
    witness: &'a Witness,
    question: Question,
}

/// What the engine answers in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    None,
    Approximate,
    /// There may be more than were asked for.
    Open,
}

#[derive(Debug)]
struct Answers {
    predictions: Vec<Prediction>,
    end: End,
}

impl Asked<'_> {
    fn with(self, precision: Precision) -> Self {
        Self { question: Question { precision, ..self.question }, ..self }
    }

    /// The first predictions, all right and different from each other.
    fn predictions(self) -> Result<Answers, String> {
        let precision = self.question.precision;
        let answers = catch_unwind(AssertUnwindSafe(|| self.ask()));
        let answers = answers.unwrap_or_else(|_| Err("the engine panics".to_owned()));
        answers.map_err(|it| format!("{precision:?}: {it}"))
    }

    fn ask(self) -> Result<Answers, String> {
        let n_questions = Cell::new(0);
        let stop = || {
            n_questions.set(n_questions.get() + 1);
            (n_questions.get() > N_QUESTIONS_MAX).then_some(StopReason::Steps)
        };
        let refused = |it| format!("refused: {it:?}");
        let mut predictor = Predictor::new(self.facts, self.witness, self.question).map_err(refused)?;
        let mut answers = Answers { predictions: Vec::new(), end: End::Open };
        while answers.predictions.len() < N_PREDICTIONS_MAX {
            match predictor.next(&Budget::new(&stop)) {
                Answer::Predicted(prediction) => answers.predictions.push(self.judged(*prediction, &answers)?),
                Answer::None => return Ok(Answers { end: End::None, ..answers }),
                Answer::Unknown(Unknown::Approximate) => return Ok(Answers { end: End::Approximate, ..answers }),
                Answer::Unknown(Unknown::Stopped(reason)) => return Err(format!("stopped: {reason}")),
            }
        }
        Ok(answers)
    }

    fn judged(self, prediction: Prediction, earlier: &Answers) -> Result<Prediction, String> {
        let nth = earlier.predictions.len() + 1;
        let right = prediction_is_right(self.facts, self.witness, &prediction, self.question, &allows);
        right.map_err(|it| format!("prediction {nth} is wrong: {it}\n{}", described(&prediction)))?;
        let is_known = |it: &Prediction| changes(&prediction).is_superset(&changes(it));
        if earlier.predictions.iter().any(is_known) {
            return Err(format!("prediction {nth} has all changes of an earlier one\n{}", described(&prediction)));
        }
        Ok(prediction)
    }
}

/// The transactions of a prediction, and what it says about them.
fn described(prediction: &Prediction) -> String {
    let Prediction { history, txns, cuts, changed, .. } = prediction;
    let txn = |it| history.ops(it).map(|op| history.render_op(op)).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = history.txns().map(|it| format!("{}: {{ {} }}", history.label(it), txn(it))).collect();
    format!("{}\n{txns:?}, {cuts:?}, {changed:?}", lines.join("\n"))
}

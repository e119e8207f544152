//! The traces of `IsoPredict`: what its own tool predicts from them, and whether the answers fit together.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::print_stdout, reason = "the table is shown with --nocapture")]

#[path = "agreement/right.rs"]
mod right;

use iso_evidence::{Budget, Verdict, Witness};
use iso_history::{Access, Datum, Facts, History, HistoryBuilder, Outcome, Place};
use iso_predict::{Answer, Boundary, LEVELS, Precision, Predictor, Question};
use iso_spec::Level;
use right::prediction_is_right;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// So many predictions of one question are judged.
const N_PREDICTIONS_MAX: usize = 5;
const BOUNDARIES: [Boundary; 2] = [Boundary::Strict, Boundary::Relaxed];

/// What is known from the tool of the paper: trace, level, boundary, and whether there is a prediction.
const KNOWN: &[(&str, Level, Boundary, bool)] = &[
    ("smallbank_3s4t_seed1", Level::CausalConsistency, Boundary::Relaxed, true),
    ("smallbank_3s4t_seed2", Level::CausalConsistency, Boundary::Relaxed, true),
    ("smallbank_3s8t_seed1", Level::CausalConsistency, Boundary::Relaxed, true),
    ("voter_3s4t_seed1", Level::CausalConsistency, Boundary::Strict, false),
    ("voter_3s4t_seed1", Level::CausalConsistency, Boundary::Relaxed, false),
    ("voter_3s4t_seed1", Level::ReadCommitted, Boundary::Strict, true),
    ("voter_3s4t_seed1", Level::ReadCommitted, Boundary::Relaxed, true),
];

#[test]
fn smallbank_of_three_sessions_is_predicted_consistently() {
    check("smallbank_3s4t_seed1");
    check("smallbank_3s4t_seed2");
}

#[test]
fn longer_smallbank_is_predicted_consistently() {
    check("smallbank_3s8t_seed1");
}

#[test]
fn voter_is_predicted_consistently() {
    check("voter_3s4t_seed1");
}

/// Each prediction is right, known answers are given, and what a level allows, weaker ones allow.
fn check(name: &str) {
    let history = read(name);
    let facts = Facts::new(&history);
    let Verdict::Allowed(witness) = iso_check::check_facts(&facts, Level::Serializable, &Budget::unlimited()) else {
        panic!("{name} is not serializable");
    };
    for boundary in BOUNDARIES {
        let predicted: Vec<Level> = LEVELS
            .into_iter()
            .filter(|level| {
                is_predicted(&facts, &witness, *level, boundary).unwrap_or_else(|it| panic!("{name}: {it}"))
            })
            .collect();
        println!("{name}, {boundary:?}: predicted at {predicted:?}");
        for stronger in &predicted {
            let weaker = LEVELS.iter().find(|it| stronger.implies(**it) && !predicted.contains(*it));
            assert_eq!(weaker, None, "{name}, {boundary:?}: predicted at {stronger}");
        }
        for (_, level, _, expected) in KNOWN.iter().filter(|it| it.0 == name && it.2 == boundary) {
            assert_eq!(predicted.contains(level), *expected, "{name}, {boundary:?}: {level}");
        }
    }
}

/// Is there a prediction? The first ones are judged.
fn is_predicted(facts: &Facts<'_>, witness: &Witness, level: Level, boundary: Boundary) -> Result<bool, String> {
    let question = Question { level, target: Level::Serializable, boundary, precision: Precision::Exact };
    let wrong = |it: &str| format!("{question:?}: {it}");
    let mut predictor = Predictor::new(facts, witness, question).map_err(|it| wrong(&format!("{it:?}")))?;
    for nth in 0..N_PREDICTIONS_MAX {
        match predictor.next(&Budget::unlimited()) {
            Answer::Predicted(prediction) => {
                prediction_is_right(facts, witness, &prediction, question, &allows).map_err(|it| wrong(&it))?;
            }
            Answer::None => return Ok(nth > 0),
            Answer::Unknown(reason) => return Err(wrong(&format!("{reason:?} without a limit"))),
        }
    }
    Ok(true)
}

/// These are too large for the text of the levels.
fn allows(history: &History, level: Level) -> bool {
    match iso_check::check(history, level, &Budget::unlimited()) {
        Verdict::Allowed(_) => true,
        Verdict::Forbidden(_) => false,
        Verdict::Unknown(reason) => panic!("{reason} without a limit"),
    }
}

/// A trace of the corpus.
#[allow(clippy::disallowed_methods, reason = "the trace is test data; the engine itself reads nothing")]
fn read(name: &str) -> History {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../corpus/recorded/traces");
    parse(&std::fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap())
}

/// The history of a trace. Versions have the names of their writers.
///
/// `iso-formats` reads such traces, too, but no engine knows an edge, not even in its tests.
fn parse(text: &str) -> History {
    let mut builder = HistoryBuilder::new();
    let initial = builder.value("0, 0".into());
    builder.default_initial(initial);
    let mut order: Vec<&str> = Vec::new();
    let mut events: BTreeMap<&str, Vec<(Access, Datum, &str)>> = BTreeMap::new();
    for line in text.lines().filter(|it| argument(it, "Txn") != Some("0, 0")) {
        let txn = argument(line, "Txn").unwrap();
        let from = argument(line, "From");
        let access = if from.is_some() { Access::Read } else { Access::Write };
        if !events.contains_key(txn) {
            order.push(txn);
        }
        // What is between the brackets: of a key, or of a row and of its set.
        let names: Vec<&str> = line.split(['[', ']']).skip(1).step_by(2).collect();
        events.entry(txn).or_default().push((access, Datum::text(names.join(":")), from.unwrap_or(txn)));
    }
    for txn in &order {
        let session = builder.session(txn.split(',').next().unwrap());
        builder.begin(session, Place::default());
        for (access, key, version) in &events[txn] {
            let (key, value) = (builder.key_named(key.as_name()), builder.value((*version).into()));
            if *access == Access::Write { builder.write(key, value) } else { builder.read(key, value) }
        }
        builder.end(Outcome::Committed);
    }
    builder.finish().unwrap()
}

/// What a word of an event has in parentheses, as in `Txn(1, 2)`.
fn argument<'l>(line: &'l str, word: &str) -> Option<&'l str> {
    let rest = line.split_once(word)?.1.strip_prefix('(')?;
    Some(rest.split_once(')')?.0)
}

#[test]
fn a_trace_says_who_reads_from_whom() {
    let history = parse(
        "WRITE KEY[5] Txn(0, 0)\nINSERT[7] to Set[5] Txn(1, 0)\nWRITE KEY[5] Txn(1, 0)\n\
         CONTAINS[7] in Set[5] From(1, 0) Txn(2, 0)\nREAD KEY[5] Txn(2, 0) From(0, 0)",
    );
    let facts = Facts::new(&history);
    let writers: BTreeSet<_> = (0..facts.reads().len()).map(|it| facts.candidates(it).to_vec()).collect();
    assert_eq!(history.n_txns(), 3);
    assert_eq!(format!("{writers:?}"), "{[t0], [t1]}");
}

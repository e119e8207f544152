//! Runs along predictions.

use crate::weak::setup;
use iso_check::check;
use iso_collect::{APPLICATIONS, Choice, Ending, Observed, Run, Setup, application, drive, replay};
use iso_evidence::{Budget, Verdict, certify};
use iso_formats::{ReadOptions, read_from, write_recorded};
use iso_history::{History, HistoryBuilder, Op, OpId, Outcome, Place, TxnId};
use iso_predict::Prediction;
use iso_spec::Level;
use iso_store::LEVELS;

/// What a prediction keeps of some transactions: so many of their operations, and what a read now sees.
type TxnPart<'a> = &'a [(TxnId, usize, Option<(OpId, &'a str)>)];

/// A prediction that repeats parts of a history.
fn repeated(history: &History, parts: TxnPart<'_>) -> Prediction {
    let mut builder = HistoryBuilder::new();
    for session in history.sessions() {
        builder.session(history.session_name(session));
    }
    for key in history.keys() {
        let id = builder.key_named(history.key_name(key));
        let value = builder.value_named(history.value(history.initial_value(key)));
        builder.initial(id, value, Place::default());
    }
    for (txn, n_ops, change) in parts {
        builder.begin(history.session_of(*txn).unwrap(), Place::default());
        for op in history.ops(*txn).take(*n_ops) {
            let key = builder.key_named(history.key_name(history.op(op).key()));
            match (history.op(op), change) {
                (Op::Read { .. }, Some((changed, value))) if *changed == op => {
                    let value = builder.value((*value).parse::<i64>().unwrap().into());
                    builder.read(key, value);
                }
                (Op::Read { value, .. }, _) => {
                    let value = builder.value_named(history.value(value));
                    builder.read(key, value);
                }
                (Op::Write { value, .. }, _) => {
                    let value = builder.value_named(history.value(value));
                    builder.write(key, value);
                }
                _ => panic!("applications have no lists"),
            }
        }
        builder.end(Outcome::Committed);
    }
    let txns = [TxnId::INITIAL].into_iter().chain(parts.iter().map(|it| it.0)).collect();
    Prediction {
        history: builder.finish().unwrap(),
        txns,
        cuts: Vec::new(),
        changed: Vec::new(),
        hides_conflict: false,
    }
}

/// The committed transactions as they were, and their order.
fn committed(run: &Run) -> (Prediction, Vec<TxnId>) {
    let txns = run.history.txns().filter(|it| run.history.outcome(*it) == Outcome::Committed);
    let parts: Vec<_> = txns.map(|it| (it, usize::MAX, None)).collect();
    let prediction = repeated(&run.history, &parts);
    let order = prediction.history.txns().collect();
    (prediction, order)
}

/// What the transactions of a history did. Equal values are numbered, counting also what was aborted: `5#2`.
fn shown(history: &History) -> Vec<(String, Vec<String>)> {
    let plain = |op: String| op.split('#').next().unwrap_or_default().replace(['"', ')'], "");
    let ops = |txn| history.ops(txn).map(|it| plain(history.render_op(it))).collect();
    let session = |txn| history.session_of(txn).map(|it| history.session_name(it).to_owned()).unwrap();
    history.txns().map(|txn| (session(txn), ops(txn))).collect()
}

#[test]
fn a_weak_run_repeats_itself_along_its_own_reads() {
    let mut n_repeated = 0;
    for app in APPLICATIONS {
        for level in LEVELS {
            for (seed, retries) in (0..12).flat_map(|seed| [(seed, false), (seed, true)]) {
                let setup = Setup { retries, txns: 4, ..setup(app, level, Choice::Random, seed) };
                let run = drive(&setup).unwrap();
                if run.counts().aborted > 0 {
                    continue;
                }
                let observed = Observed::of_setup(&setup, &run.history).unwrap();
                let (prediction, order) = committed(&run);
                let replayed = replay(&observed, &prediction, &order, level).unwrap();
                let name = app.name();
                assert!(replayed.divergences.is_empty(), "{name} {level} {seed}: {:?}", replayed.divergences);
                assert!(!replayed.has_diverged(), "{name} {level} {seed}: {:?}", replayed.aborted);
                assert_eq!(shown(&replayed.history), shown(&prediction.history), "{name} {level} {seed}");
                assert_eq!(replayed.assertions, run.assertions, "{name} {level} {seed}");
                certify(&replayed.history, level, &Verdict::Allowed(replayed.witness)).unwrap();
                n_repeated += 1;
            }
        }
    }
    assert!(n_repeated > 300, "{n_repeated}");
}

/// Two votes of two sessions, the second of which finds the first.
fn two_votes() -> (Setup, Run) {
    let app = application("voter").unwrap();
    let setup = Setup { sessions: 2, txns: 1, ..setup(app, Level::CausalConsistency, Choice::Latest, 1) };
    let run = drive(&setup).unwrap();
    (setup, run)
}

#[test]
fn a_read_that_changes_changes_what_follows() {
    let (setup, run) = two_votes();
    let (first, second) = (TxnId::from_index(1), TxnId::from_index(2));
    // The second one reads the contestant, and then how many votes its phone has: none.
    let count = run.history.ops(second).nth(1).unwrap();
    let prediction = repeated(&run.history, &[(first, usize::MAX, None), (second, 2, Some((count, "0")))]);
    let observed = Observed::of_setup(&setup, &run.history).unwrap();
    let replayed = replay(&observed, &prediction, &[first, second], Level::CausalConsistency).unwrap();
    assert!(replayed.divergences.is_empty(), "{:?}", replayed.divergences);
    assert_eq!(replayed.assertions.iter().filter(|it| !it.holds).count(), 2, "{:?}", replayed.assertions);
    let verdict = |level| check(&replayed.history, level, &Budget::unlimited());
    assert!(matches!(verdict(Level::CausalConsistency), Verdict::Allowed(_)));
    assert!(matches!(verdict(Level::Serializable), Verdict::Forbidden(_)));
}

#[test]
fn what_a_stronger_level_forbids_diverges_or_is_aborted() {
    let (setup, run) = two_votes();
    let (first, second) = (TxnId::from_index(1), TxnId::from_index(2));
    let count = run.history.ops(second).nth(1).unwrap();
    let prediction = repeated(&run.history, &[(first, usize::MAX, None), (second, 2, Some((count, "0")))]);
    let observed = Observed::of_setup(&setup, &run.history).unwrap();
    let replayed = replay(&observed, &prediction, &[first, second], Level::SnapshotIsolation).unwrap();
    assert_eq!(replayed.aborted.len(), 1, "{:?}", replayed.steps);
    assert!(matches!(replayed.aborted[0].ending, Ending::Conflict { .. }));
    assert!(replayed.assertions.iter().all(|it| it.holds));
    // Nobody can read a vote before it was cast.
    let replayed = replay(&observed, &committed(&run).0, &[second, first], Level::CausalConsistency).unwrap();
    assert!(!replayed.divergences.is_empty());
}

#[test]
fn a_transaction_that_leaves_out_what_was_predicted_has_strayed() {
    let (setup, run) = two_votes();
    let (first, second) = (TxnId::from_index(1), TxnId::from_index(2));
    // The second one comes first and votes; nothing is said about what the other one counts, so it finds that vote.
    let count = run.history.ops(first).nth(1).unwrap();
    let prediction = repeated(&run.history, &[(second, 1, None), (first, usize::MAX, Some((count, "9")))]);
    let observed = Observed::of_setup(&setup, &run.history).unwrap();
    let replayed = replay(&observed, &prediction, &[first, second], Level::CausalConsistency).unwrap();
    assert!(replayed.has_diverged() && replayed.divergences.is_empty(), "{:?}", replayed.divergences);
    assert_eq!(replayed.strayed.len(), 1, "{:?}", replayed.strayed);
}

#[test]
fn what_the_application_aborted_runs_at_its_place() {
    let app = application("smallbank").unwrap();
    let setup = |seed| setup(app, Level::CausalConsistency, Choice::Latest, seed);
    let with_aborts = (0..100).map(|seed| (seed, drive(&setup(seed)).unwrap())).find(|it| it.1.counts().aborted > 1);
    let (seed, run) = with_aborts.unwrap();
    let observed = Observed::of_setup(&setup(seed), &run.history).unwrap();
    let (prediction, order) = committed(&run);
    let replayed = replay(&observed, &prediction, &order, Level::CausalConsistency).unwrap();
    let labels: Vec<String> = replayed.history.txns().map(|it| replayed.history.label(it)).collect();
    for (label, step) in labels.iter().zip(&replayed.steps) {
        assert_eq!(*label, step.slot.to_string());
    }
    let last_of = |session: usize| run.steps.iter().rev().find(|it| it.slot.session == session).unwrap();
    let n_after = (0..3).filter(|it| last_of(*it).ending != Ending::Committed).count();
    assert!(labels.len() + n_after >= run.steps.len() && labels.len() > order.len(), "{labels:?}");
}

#[test]
fn a_file_says_how_its_run_was_made() {
    let app = application("courseware").unwrap();
    let setup = setup(app, Level::CausalConsistency, Choice::Random, 5);
    let run = drive(&setup).unwrap();
    let mut bytes = Vec::new();
    write_recorded(&run.history, &setup.origin(), &mut bytes).unwrap();
    let reading = read_from("test", &bytes[..], &ReadOptions::default()).unwrap();
    let again = Setup::of_origin(reading.header.origin.as_deref().unwrap()).unwrap();
    let history = reading.into_history().unwrap();
    let observed = Observed::of_setup(&again, &history).unwrap();
    let by_name = Observed::of_sessions(app, 5, &history).unwrap();
    for (txn, step) in history.txns().zip(&run.steps) {
        assert_eq!(observed.step_of(txn), Some(step));
        assert_eq!(by_name.step_of(txn).map(|it| (it.slot, &it.call)), Some((step.slot, &step.call)));
    }
    let other = Setup { seed: 6, ..setup };
    let error = Observed::of_setup(&other, &history).unwrap_err().to_string();
    assert!(error.contains("courseware with seed 6 runs otherwise than recorded"), "{error}");
}

#[test]
fn sessions_of_somebody_else_are_refused() {
    let text = "init x=0\nclient: { r(x,0) }\n";
    let history = read_from("test", text.as_bytes(), &ReadOptions::default()).unwrap().into_history().unwrap();
    let error = Observed::of_sessions(application("voter").unwrap(), 1, &history).unwrap_err().to_string();
    assert!(error.contains("session client is none of voter"), "{error}");
}

//! Applications on the weak store: what their histories satisfy, and what breaks at which level.

use iso_check::check;
use iso_collect::{APPLICATIONS, Application, Choice, Ending, Run, Setup, application, drive, transaction};
use iso_evidence::{Budget, Verdict, certify};
use iso_spec::Level;
use iso_store::{DATABASE_LEVELS, LEVELS};

pub(crate) fn setup(application: &'static dyn Application, level: Level, policy: Choice, seed: u64) -> Setup {
    Setup { application, level, policy, sessions: 3, txns: 8, seed, retries: false }
}

pub(crate) fn bytes(run: &Run) -> Vec<u8> {
    let mut bytes = Vec::new();
    iso_formats::write(&run.history, iso_formats::Format::Jsonl, &mut bytes).unwrap();
    bytes
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for app in APPLICATIONS {
        for policy in Choice::ALL {
            let run = |seed| drive(&setup(app, Level::CausalConsistency, policy, seed)).unwrap();
            assert_eq!(bytes(&run(7)), bytes(&run(7)), "{}", app.name());
            assert_ne!(bytes(&run(7)), bytes(&run(8)), "{}", app.name());
            assert_eq!(run(7).assertions, run(7).assertions);
        }
    }
}

#[test]
fn histories_satisfy_the_level_of_the_store() {
    for app in APPLICATIONS {
        for level in LEVELS.into_iter().chain(DATABASE_LEVELS) {
            for (policy, retries) in [(Choice::Latest, false), (Choice::Random, true), (Choice::Adversarial, false)] {
                for seed in 0..5 {
                    let run = drive(&Setup { retries, ..setup(app, level, policy, seed) }).unwrap();
                    let verdict = check(&run.history, level, &Budget::unlimited());
                    let name = app.name();
                    assert!(matches!(verdict, Verdict::Allowed(_)), "{name} {level} {policy} {seed}: {verdict:?}");
                    certify(&run.history, level, &Verdict::Allowed(run.witness)).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_run_of_newest_values_is_serializable_at_every_level() {
    for app in APPLICATIONS {
        for level in LEVELS.into_iter().chain(DATABASE_LEVELS) {
            for seed in 0..20 {
                let run = drive(&setup(app, level, Choice::Latest, seed)).unwrap();
                assert!(run.holds(), "{} {level} {seed}: {:?}", app.name(), run.assertions);
                assert_eq!(run.counts().conflicts, 0, "{} {level} {seed}", app.name());
                let verdict = check(&run.history, Level::Serializable, &Budget::unlimited());
                assert!(matches!(verdict, Verdict::Allowed(_)), "{} {level} {seed}", app.name());
            }
        }
    }
}

#[test]
fn assertions_hold_on_a_serializable_store() {
    for app in APPLICATIONS {
        for policy in Choice::ALL {
            for seed in 0..150 {
                let run = drive(&setup(app, Level::Serializable, policy, seed)).unwrap();
                assert!(run.holds(), "{} {policy} {seed}: {:?}", app.name(), run.assertions);
            }
        }
    }
}

/// How many runs of an application break an assertion.
fn n_broken(app: &str, level: Level, assertion: &str) -> usize {
    let app = application(app).unwrap();
    let is_broken = |seed: &u64| {
        let run = drive(&setup(app, level, Choice::Adversarial, *seed)).unwrap();
        run.assertions.iter().any(|it| it.name == assertion && !it.holds)
    };
    (0..60).filter(is_broken).count()
}

#[test]
fn databases_lose_updates_only_where_an_application_selects_and_then_updates() {
    let (rc, paper) = (Level::StatementSnapshots, Level::ReadCommitted);
    // TPC-C adds to the sums of warehouses and districts by one UPDATE each.
    let sums = "1: the warehouse has received what its districts have";
    assert_eq!(n_broken("tpcc", rc, sums), 0);
    assert!(n_broken("tpcc", paper, sums) > 0);
    // Whoever amalgamates accounts reads them, and then sets them to 0.
    assert!(n_broken("smallbank", rc, "money is conserved") > 0);
    for level in [Level::RowSnapshots, Level::StrictSerializable] {
        assert_eq!(n_broken("smallbank", level, "money is conserved"), 0, "{level}");
    }
}

#[test]
fn transactions_do_not_depend_on_what_others_did() {
    for app in APPLICATIONS {
        for (level, policy) in [(Level::ReadCommitted, Choice::Random), (Level::SnapshotIsolation, Choice::Adversarial)]
        {
            let run = drive(&setup(app, level, policy, 3)).unwrap();
            for step in &run.steps {
                assert_eq!(step.call, transaction(app, 3, step.slot).to_string());
            }
            for (txn, step) in run.history.txns().zip(&run.steps) {
                assert_eq!(run.history.label(txn), step.slot.to_string());
                assert_eq!(run.step_of(txn), Some(step));
            }
        }
    }
}

#[test]
fn what_the_store_aborts_is_tried_again_if_asked() {
    let app = application("tpcc").unwrap();
    let once = setup(app, Level::SnapshotIsolation, Choice::Random, 1);
    let (tried_once, tried_again) = (drive(&once).unwrap(), drive(&Setup { retries: true, ..once }).unwrap());
    assert!(tried_once.counts().conflicts > 0, "{:?}", tried_once.counts());
    assert_eq!(tried_once.steps.len(), 24);
    let n_conflicts = tried_again.counts().conflicts;
    assert!(n_conflicts > 0 && tried_again.steps.len() == 24 + n_conflicts, "{:?}", tried_again.counts());
    for pair in tried_again.steps.windows(2) {
        if matches!(pair[0].ending, Ending::Conflict { .. }) {
            assert_eq!((pair[0].slot, &pair[0].call), (pair[1].slot, &pair[1].call));
        }
    }
}

#[test]
fn a_level_that_the_store_does_not_know_is_refused() {
    let app = application("voter").unwrap();
    let error = drive(&setup(app, Level::ReadUncommitted, Choice::Latest, 1)).unwrap_err().to_string();
    assert_eq!(error, "a store cannot have the level ru");
}

#[test]
fn without_sessions_or_transactions_nothing_happens() {
    let app = application("smallbank").unwrap();
    let some = setup(app, Level::CausalConsistency, Choice::Random, 1);
    for (sessions, txns) in [(0, 4), (2, 0)] {
        let run = drive(&Setup { sessions, txns, ..some }).unwrap();
        assert!(run.steps.is_empty() && run.holds());
    }
}

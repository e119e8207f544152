//! What is collected is what happened: checked at the level that the database promises.

use crate::faulty::{Fate, Faulty};
use iso_check::check;
use iso_collect::{
    Collected, Control, Database, FinalRead, Parameters, Plan, Retries, RowNames, Target, check_workload, collect,
    collect_history, open, shares, workload,
};
use iso_evidence::{Budget, Verdict, certify};
use iso_formats::{ReadOptions, read_from};
use iso_history::{History, Op, Outcome};
use iso_spec::Level;
use iso_store::{DATABASE_LEVELS, LEVELS};
use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

fn plan(name: &str, isolation: &str, parameters: Parameters, txns: usize) -> Plan {
    Plan {
        workload: workload(name, &parameters).unwrap(),
        isolations: vec![isolation.to_owned(); parameters.sessions],
        txns: Some(txns),
        duration: None,
        seed: 1,
        retries: Retries::None,
        final_read: FinalRead::Yes,
        faults: None,
        pause: Duration::ZERO,
        origin: "{}".to_owned(),
    }
}

fn few(sessions: usize) -> Parameters {
    Parameters { sessions, keys: 8, max_ops: 5, ..Parameters::default() }
}

fn run(database: &Arc<dyn Database>, plan: &Plan) -> (History, Collected) {
    let (history, collected) = collect_history(database, plan, &Arc::new(Control::new())).unwrap();
    assert_eq!(history.txns().count() as u64, collected.counts.transactions());
    let n_committed = history.txns().filter(|it| history.outcome(*it) == Outcome::Committed).count();
    assert_eq!(n_committed as u64, collected.counts.committed);
    assert_eq!(history.n_sessions(), collected.sessions);
    (history, collected)
}

#[track_caller]
fn holds(history: &History, level: Level, what: &str) {
    let verdict = check(history, level, &Budget::unlimited());
    assert!(matches!(verdict, Verdict::Allowed(_)), "{what} at {level}: {verdict:?}");
    certify(history, level, &verdict).unwrap();
}

#[test]
fn a_store_keeps_its_level_whatever_runs() {
    for level in LEVELS.into_iter().chain(DATABASE_LEVELS) {
        let database: Arc<dyn Database> = open(&format!("store:{level}")).unwrap().into();
        for name in
            ["rw", "rmw", "updates", "duplicates", "bank", "ranges", "unique", "smallbank", "voter", "courseware"]
        {
            let plan = plan(name, database.isolations()[0], few(3), 8);
            if check_workload(&*database, &*plan.workload).is_err() {
                assert!(level == Level::ReadCommitted && plan.workload.row_names() == RowNames::WithTable, "{name}");
                continue;
            }
            let (history, collected) = run(&database, &plan);
            assert_eq!(collected.failure, None, "{name}");
            assert_eq!(collected.sessions, 4);
            holds(&history, level, name);
        }
    }
}

#[test]
fn what_is_read_at_the_end_of_a_weak_store_was_written_last() {
    for level in LEVELS {
        let database: Arc<dyn Database> = open(&format!("store:{level}?policy=random")).unwrap().into();
        let (history, _) = run(&database, &plan("rw", database.isolations()[0], few(1), 100));
        let mut written = BTreeMap::new();
        let mut read = BTreeMap::new();
        for txn in history.txns() {
            let is_final = history.session_of(txn).is_some_and(|it| it.index() == 1);
            for op in history.ops(txn).map(|it| history.op(it)) {
                match op {
                    Op::Write { key, value } => drop(written.insert(key, value)),
                    Op::Read { key, value } if is_final => drop(read.insert(key, value)),
                    _ => {}
                }
            }
        }
        assert!(read.len() == 8 && written.len() == 8, "{level}: {} of {}", read.len(), written.len());
        assert_eq!(read, written, "{level}");
    }
}

#[test]
fn lists_of_a_store_grow_in_one_order_or_are_refused() {
    for level in LEVELS.into_iter().chain(DATABASE_LEVELS) {
        let database: Arc<dyn Database> = open(&format!("store:{level}?policy=adversarial")).unwrap().into();
        let plan = plan("append", database.isolations()[0], few(4), 40);
        if database.no_lists().is_some() {
            let error = collect_history(&database, &plan, &Arc::new(Control::new())).unwrap_err().to_string();
            assert!(error.contains(&format!("at {level} lose what others append")), "{error}");
            continue;
        }
        let (history, collected) = run(&database, &plan);
        assert_eq!(collected.failure, None);
        assert!(collected.counts.committed > 40, "{collected:?}");
        holds(&history, level, "append");
    }
}

#[test]
fn sqlite_is_strictly_serializable() {
    let database: Arc<dyn Database> = open("sqlite:").unwrap().into();
    for name in
        ["rw", "rmw", "updates", "append", "duplicates", "bank", "ranges", "unique", "smallbank", "twitter", "auction"]
    {
        let mut plan = plan(name, database.isolations()[0], few(3), 12);
        plan.retries = Retries::UpTo(20);
        let (history, collected) = run(&database, &plan);
        assert_eq!(collected.failure, None, "{name}");
        assert!(collected.assertions.iter().all(|it| it.holds), "{name}: {:?}", collected.assertions);
        assert!(history.has_times());
        holds(&history, Level::StrictSerializable, name);
    }
}

#[test]
fn a_commit_without_an_answer_is_unknown_and_its_session_goes_on_as_another() {
    let fate = |nth| match nth % 7 {
        3 => Fate::LostAfter,
        5 => Fate::LostBefore,
        _ => Fate::Fine,
    };
    let database: Arc<dyn Database> = Arc::new(Faulty::new(fate, |_| false));
    let (history, collected) = run(&database, &plan("rmw", "serializable", few(4), 30));
    assert!(collected.counts.unknown > 10, "{collected:?}");
    assert_eq!(collected.counts.reconnects, collected.counts.unknown);
    // One that had nothing left to do is not in the history.
    let n_others = history.n_sessions() as u64 - 5;
    assert!((collected.counts.reconnects - 4..=collected.counts.reconnects).contains(&n_others), "{collected:?}");
    for txn in history.txns().filter(|it| history.outcome(*it) == Outcome::Indeterminate) {
        assert_eq!(history.end(txn), None);
        let session = history.session_of(txn).unwrap();
        assert!(history.txns().filter(|it| history.session_of(*it) == Some(session)).all(|it| it <= txn));
    }
    holds(&history, Level::Serializable, "unknown outcomes");
    holds(&history, Level::StrictSerializable, "unknown outcomes");
}

#[test]
fn a_connection_that_is_lost_before_the_commit_is_an_abort() {
    let database: Arc<dyn Database> = Arc::new(Faulty::new(|_| Fate::Fine, |nth| nth % 50 == 49));
    let mut plan = plan("rw", "serializable", few(2), 100);
    plan.final_read = FinalRead::No;
    let (history, collected) = run(&database, &plan);
    assert!(collected.counts.reconnects > 3 && collected.counts.unknown == 0, "{collected:?}");
    assert!(collected.counts.aborted >= collected.counts.reconnects, "{collected:?}");
    holds(&history, Level::StrictSerializable, "lost connections");
}

#[test]
fn a_transaction_that_is_tried_again_writes_other_values() {
    let database: Arc<dyn Database> = Arc::new(Faulty::new(|_| Fate::Fine, |_| false));
    let mut plan = plan("rmw", "serializable", few(4), 50);
    plan.retries = Retries::UpTo(1000);
    let (history, collected) = run(&database, &plan);
    assert_eq!(collected.counts.committed, 4 * 50 + 2, "{collected:?}");
    let mut written: Vec<String> = Vec::new();
    for op in history.txns().flat_map(|it| history.ops(it)).filter(|it| history.op(*it).is_write()) {
        written.push(history.render_op(op));
    }
    let n_written = written.len();
    written.sort_unstable();
    written.dedup();
    assert_eq!(written.len(), n_written);
}

#[test]
fn sessions_may_have_different_levels() {
    let database: Arc<dyn Database> = Arc::new(Faulty::new(|_| Fate::Fine, |_| false));
    let mut plan = plan("rmw", "serializable", few(4), 100);
    plan.isolations = shares(&[("serializable".to_owned(), 1.0), ("chaos".to_owned(), 3.0)], 4);
    assert_eq!(plan.isolations.iter().filter(|it| *it == "chaos").count(), 3);
    let (history, collected) = run(&database, &plan);
    assert_eq!(collected.failure, None);
    holds(&history, Level::ReadCommitted, "a mix");
}

#[test]
fn a_run_that_is_stopped_leaves_a_complete_history() {
    let database: Arc<dyn Database> =
        Arc::new(Faulty::new(|nth| if nth == 40 { Fate::Hangs } else { Fate::Fine }, |_| false));
    let mut plan = plan("rw", "serializable", few(3), 1);
    (plan.txns, plan.duration) = (None, Some(Duration::from_secs(60)));
    let control = Arc::new(Control::new());
    let stopper = Arc::clone(&control);
    let began = Instant::now();
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        stopper.stop();
    });
    let (history, collected) = collect_history(&database, &plan, &control).unwrap();
    assert!(began.elapsed() < Duration::from_secs(15));
    assert!(collected.was_stopped);
    // Nobody knows what becomes of the commit that hangs.
    assert_eq!((collected.counts.unknown, collected.counts.left), (1, 1));
    assert_eq!(history.txns().filter(|it| history.outcome(*it) == Outcome::Indeterminate).count(), 1);
    holds(&history, Level::StrictSerializable, "a stopped run");
}

#[test]
fn a_database_that_goes_away_ends_the_run_with_the_reason() {
    let database: Arc<dyn Database> = open("store:ser").unwrap().into();
    let isolation = database.isolations()[0].to_owned();
    let mut plan = plan("rw", "nonsense", few(2), 5);
    let control = Arc::new(Control::new());
    let error = collect_history(&database, &plan, &control).unwrap_err().to_string();
    assert!(error.contains("nonsense"), "{error}");
    plan.isolations = vec![isolation; 2];
    let full = Target::File("/dev/full".into());
    let error = collect(&database, &plan, full, &control, &mut |_| {}).unwrap_err().to_string();
    assert!(error.starts_with("the history cannot be written"), "{error}");
}

/// Whoever records may be killed at any time, and then the file ends anywhere. That must not look like an anomaly.
#[test]
fn a_recording_that_is_cut_anywhere_satisfies_what_the_whole_one_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.jsonl");
    for (url, level) in [("store:ser", Level::Serializable), ("sqlite:", Level::StrictSerializable)] {
        let database: Arc<dyn Database> = open(url).unwrap().into();
        for name in ["rw", "rmw", "updates", "append", "duplicates", "ranges"] {
            let plan = plan(name, database.isolations()[0], few(5), 16);
            collect(&database, &plan, Target::File(path.clone()), &Arc::new(Control::new()), &mut |_| {}).unwrap();
            let whole = fs::read(&path).unwrap();
            let ends: Vec<usize> = (0..whole.len()).filter(|it| whole[*it] == b'\n').collect();
            for cut in ends.windows(2).flat_map(|it| [it[0] + 1, usize::midpoint(it[0], it[1])]) {
                let reading = read_from("cut", &whole[..cut], &ReadOptions::default()).unwrap();
                let history = reading.into_history().unwrap();
                // The first lines may have nothing that ended before something else began.
                let level = if history.has_real_time() { level } else { level.without_times() };
                holds(&history, level, &format!("{name} on {url} up to byte {cut}"));
            }
        }
    }
}

#[test]
fn what_was_in_the_file_stays_until_the_run_begins() {
    let database: Arc<dyn Database> = open("store:ser").unwrap().into();
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old.jsonl"), folder.path().join("new.jsonl"));
    fs::write(&old, "what was there").unwrap();
    let refused = plan("rw", "nonsense", few(2), 5);
    for path in [&old, &new] {
        let target = Target::File(path.clone());
        collect(&database, &refused, target, &Arc::new(Control::new()), &mut |_| {}).unwrap_err();
    }
    assert_eq!(fs::read_to_string(&old).unwrap(), "what was there");
    assert!(!new.exists(), "a run that never began leaves no file");
    let target = Target::File(old.clone());
    collect(&database, &plan("rw", "ser", few(2), 5), target, &Arc::new(Control::new()), &mut |_| {}).unwrap();
    assert!(fs::read_to_string(&old).unwrap().starts_with("{\"isoscope\":"));
}

#[test]
fn every_table_of_an_application_is_named() {
    for app in iso_collect::APPLICATIONS {
        let database: Arc<dyn Database> = open("store:ser").unwrap().into();
        let (history, collected) = run(&database, &plan(app.name(), "ser", few(4), 40));
        assert_eq!(collected.failure, None, "{}", app.name());
        let tables: Vec<String> = app.tables().iter().map(|it| it.replace('-', "_")).collect();
        for key in history.keys() {
            let name = history.key_name(key).to_string();
            let table = name.trim_matches('"').split(':').next().unwrap();
            assert!(tables.iter().any(|it| it == table), "{}: {name}", app.name());
        }
    }
}

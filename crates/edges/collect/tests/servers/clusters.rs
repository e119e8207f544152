//! Servers that are started for a run, several nodes, and faults.

use iso_collect::{
    Control, Database, Fault, FaultPlan, FinalRead, OpenError, Opening, Parameters, Plan, Recorded, Retries,
    collect_recorded, open_with, workload,
};
use iso_evidence::{Budget, Verdict};
use iso_history::Outcome;
use iso_spec::Level;
use std::sync::Arc;
use std::time::Duration;

/// The servers of an address, or none where they are not installed, which is said.
fn started(url: &str, settings: &[&str]) -> Option<Arc<dyn Database>> {
    let server_settings = settings.iter().map(|it| (*it).to_owned()).collect();
    match open_with(url, &Opening { server_settings, ..Opening::default() }) {
        Ok(database) => Some(Arc::from(database)),
        Err(OpenError::Unreachable { reason, .. })
            if reason.contains("is not installed") && std::env::var_os("ISOSCOPE_SERVERS").is_none() =>
        {
            eprintln!("skipped: {reason}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn recorded(database: &Arc<dyn Database>, isolation: &str, name: &str, faults: Option<FaultPlan>) -> Recorded {
    let parameters = Parameters { sessions: 4, keys: 5, ..Parameters::default() };
    let plan = Plan {
        workload: workload(name, &parameters).unwrap(),
        isolations: vec![isolation.to_owned(); parameters.sessions],
        txns: None,
        duration: Some(Duration::from_secs(3)),
        seed: 1,
        retries: Retries::None,
        final_read: FinalRead::Yes,
        pause: Duration::from_millis(5),
        origin: "{}".to_owned(),
        faults,
    };
    let (recorded, collected) = collect_recorded(database, &plan, &Arc::new(Control::new())).unwrap();
    assert_eq!(collected.failure, None);
    assert_eq!(plan.faults.is_some(), !collected.faults.is_empty());
    assert!(collected.counts.committed > 20, "{collected:?}");
    recorded
}

fn holds(recorded: &Recorded, level: Level) -> bool {
    matches!(iso_check::check(&recorded.history, level, &Budget::unlimited()), Verdict::Allowed(_))
}

#[test]
fn sessions_on_a_standby_read_and_what_is_killed_comes_back() {
    let Some(database) = started("postgres:1+1", &[]) else { return };
    assert_eq!((database.nodes(), database.node_of(3)), (vec!["n1".to_owned(), "n2".to_owned()], 1));
    let read = recorded(&database, "repeatable-read", "rmw", None);
    assert!(holds(&read, Level::SnapshotIsolation) && read.lost_writes().is_empty());
    let history = &read.history;
    let on_standby =
        history.txns().filter(|it| history.session_of(*it).is_some_and(|it| history.session_name(it) == "s2"));
    let committed: Vec<_> = on_standby.filter(|it| history.outcome(*it) == Outcome::Committed).collect();
    assert!(!committed.is_empty(), "a standby serves reads");
    assert!(committed.iter().all(|it| history.ops(*it).all(|op| !history.op(op).is_write())), "and nothing else");
    let faults = FaultPlan { faults: vec![Fault::KillAll], every: Duration::from_secs(1), seed: 1 };
    let killed = recorded(&database, "repeatable-read", "append", Some(faults));
    assert!(holds(&killed, Level::SnapshotIsolation));
    assert_eq!(killed.lost_writes(), [], "the log is written at each commit");
}

#[test]
fn one_server_that_is_stopped_and_cut_off_goes_on() {
    let Some(database) = started("mariadb:1", &["innodb_flush_log_at_trx_commit=1"]) else { return };
    let faults = vec![Fault::Stop, Fault::Cut];
    let plan = FaultPlan { faults, every: Duration::from_millis(500), seed: 1 };
    let run = recorded(&database, "serializable", "append", Some(plan));
    assert!(holds(&run, Level::Serializable));
    assert_eq!(run.lost_writes(), []);
}

#[test]
fn what_cannot_be_started_is_refused() {
    let refused = |url: &str, settings: &[&str]| {
        let server_settings = settings.iter().map(|it| (*it).to_owned()).collect();
        open_with(url, &Opening { server_settings, ..Opening::default() }).unwrap_err().to_string()
    };
    assert!(refused("galera:99", &[]).contains("galera:1 to galera:"));
    assert!(refused("mariadb:3", &[]).contains("galera:3"));
    assert!(refused("postgres:1", &["nonsense"]).contains("`nonsense` is no setting"));
}

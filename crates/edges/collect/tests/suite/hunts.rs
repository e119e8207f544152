//! Hunts on databases inside the tool: the weak store is caught, and `SQLite` is not.

use iso_check::check;
use iso_collect::hunt::{Hunt, Hunted, Judged, Probes, Until, hunt};
use iso_collect::{Control, Database, open};
use iso_evidence::{Budget, Verdict};
use iso_spec::Level;
use std::sync::Arc;
use std::time::Duration;

fn hunted(url: &str, expect: Level, probes: Probes, workloads: &[&str], seconds: u64) -> Hunted {
    let database: Arc<dyn Database> = Arc::from(open(url).unwrap());
    let asked = Hunt {
        isolation: database.isolations()[0].to_owned(),
        expect,
        duration: Duration::from_secs(seconds),
        seed: 7,
        probes,
        workloads: workloads.iter().map(|it| (*it).to_owned()).collect(),
        until: Until::FirstFound,
        faults: None,
    };
    hunt(&database, &asked, &Arc::new(Control::new()), &mut |_| {}).unwrap()
}

/// How many transactions a finding has, if its script shows it every time.
fn n_txns(hunted: &Hunted) -> usize {
    let [finding] = &hunted.findings[..] else { panic!("{hunted:?}") };
    let reproduction = finding.reproduction.as_ref().unwrap();
    assert_eq!((reproduction.tries, reproduction.shown), (5, 5), "{}", reproduction.script);
    finding.shown().0.n_txns() - 1
}

#[test]
fn a_probe_catches_the_weak_store_and_the_same_one_each_time() {
    let [one, other] = [(); 2].map(|()| hunted("store:cc?seed=3", Level::Serializable, Probes::Yes, &[], 60));
    assert!(n_txns(&one) <= 3);
    let script = |it: &Hunted| it.findings[0].reproduction.as_ref().unwrap().script.clone();
    assert_eq!(script(&one), script(&other));
    assert_eq!(one.tally, other.tally);
    assert_eq!(one.trials.len(), one.tally.scripts);
    assert_eq!(one.trials.last().unwrap().judged, Judged::Forbidden { finding: 0 });
    assert_eq!(one.trials.last().unwrap().origin, one.findings[0].origin);
    assert!(one.trials.windows(2).all(|it| it[0].began + it[0].took <= it[1].began), "{:?}", one.trials);
}

#[test]
fn runs_catch_the_weak_store_and_become_short_scripts() {
    let mut n_scripts = 0;
    for workload in ["rw", "rmw", "updates", "duplicates", "bank", "ranges", "unique"] {
        let found = hunted("store:cc", Level::Serializable, Probes::No, &[workload], 60);
        let [finding] = &found.findings[..] else { panic!("{workload}: {found:?}") };
        let (history, _) = finding.shown();
        let verdict = check(history, Level::Serializable, &Budget::unlimited());
        assert!(matches!(verdict, Verdict::Forbidden(_)), "{workload}");
        // The store answers as it likes, so that not every scenario happens again.
        if let Some(reproduction) = &finding.reproduction {
            n_scripts += 1;
            let (tries, shown) = (reproduction.tries, reproduction.shown);
            assert!(shown == tries && tries >= 5, "{workload}: {shown} of {tries}: {}", reproduction.script);
            assert!(history.n_txns() < finding.history.n_txns(), "{workload}");
        }
    }
    assert!(n_scripts > 0);
}

/// Two sessions find that a slot is free, and both book it, each by a row of its own. Sessions run as fast as they like, so that
/// once in a while something else is seen first; that is a finding, too.
#[test]
fn a_run_that_books_a_slot_twice_becomes_a_script_of_scans_and_inserts() {
    let hunts = (0..5).map(|_| hunted("store:si?policy=adversarial", Level::Serializable, Probes::No, &["unique"], 60));
    let is_double = |it: &Hunted| n_txns(it) == 2 && it.findings[0].anomalies() == ["g2"];
    let found = hunts.into_iter().find(is_double).expect("slots are booked twice");
    let script = found.findings[0].reproduction.as_ref().unwrap().script.to_string();
    assert!(script.starts_with("table booking int numbered\ns1 begin si\n"), "{script}");
    assert_eq!(script.matches("scan booking slot = ").count(), 2, "{script}");
    assert_eq!(script.matches(" insert booking ").count(), 2, "{script}");
}

#[test]
fn nothing_is_found_where_a_database_keeps_its_promise() {
    for url in ["sqlite:", "store:ser"] {
        let workloads = ["rw", "rmw", "updates", "append", "duplicates", "bank", "ranges", "unique"];
        let quiet = hunted(url, Level::Serializable, Probes::Yes, &workloads, 4);
        assert!(quiet.findings.is_empty() && !quiet.was_stopped, "{quiet:?}");
        assert!(quiet.tally.scripts > 0 && quiet.tally.runs > 0, "{:?}", quiet.tally);
    }
}

#[test]
fn a_hunt_for_all_there_is_ends_in_time() {
    let database: Arc<dyn Database> = Arc::from(open("store:cc").unwrap());
    let asked = Hunt {
        isolation: "cc".to_owned(),
        expect: Level::Serializable,
        duration: Duration::from_secs(1),
        seed: 1,
        probes: Probes::Yes,
        workloads: ["rw", "rmw", "duplicates", "bank"].map(str::to_owned).to_vec(),
        until: Until::TimeIsOver,
        faults: None,
    };
    let found = hunt(&database, &asked, &Arc::new(Control::new()), &mut |_| {}).unwrap();
    assert!(!found.findings.is_empty());
    // Nothing begins after the end, but for what was about to when somebody last looked at the clock.
    assert!(found.elapsed >= asked.duration);
    let n_late = found.trials.iter().filter(|it| it.began >= asked.duration).count();
    assert!(n_late <= 1, "{:?}", found.trials);
}

#[test]
fn a_hunt_that_is_stopped_ends_with_what_it_has() {
    let database: Arc<dyn Database> = Arc::from(open("store:ser").unwrap());
    let asked = Hunt {
        isolation: "ser".to_owned(),
        expect: Level::Serializable,
        duration: Duration::from_secs(600),
        seed: 1,
        probes: Probes::Yes,
        workloads: vec!["rw".to_owned()],
        until: Until::TimeIsOver,
        faults: None,
    };
    let control = Arc::new(Control::new());
    let stopped = hunt(&database, &asked, &control, &mut |it| {
        if it.tally.scripts == 3 {
            control.stop();
        }
    });
    let stopped = stopped.unwrap();
    assert!(stopped.was_stopped && stopped.tally.scripts <= 4, "{stopped:?}");
}

//! pgbench through the proxy: it works, and it is not too slow.

use crate::served;
use crate::stage::{Stage, client, said, server};
use iso_answer::check as decide;
use iso_answer::check::Answer;
use iso_evidence::Budget;
use iso_serve::{ServeSetup, Start};
use iso_spec::Level;
use iso_store::Policy;

#[test]
fn pgbench_runs_and_its_history_keeps_its_level() {
    let Some(server) = server() else { return };
    let stage = Stage::new(&server, Start::AtMarker);
    said(client("pgbench", stage.port(), &["-i", "-q"]));
    said(client("psql", stage.port(), &["-Xqc", "SET isoscope.run = 'start'"]));
    for options in [&["-S", "-M", "simple"][..], &["-M", "extended"], &["-M", "prepared"]] {
        let arguments = [options, &["-n", "-c", "3", "-t", "40"]].concat();
        let words = said(client("pgbench", stage.port(), &arguments));
        assert!(words.contains("number of failed transactions: 0 ") && words.contains("120/120"), "{words}");
    }
    let (recorded, _, history) = stage.end();
    let tally = &recorded.tally;
    assert_eq!(recorded.failure, None);
    // Each time, pgbench first counts the branches.
    assert_eq!((tally.committed, tally.aborted, tally.unknown, tally.outside), (363, 0, 0, 0), "{tally:?}");
    assert_eq!(tally.n_missing(), 0, "{tally:?}");
    assert_eq!(recorded.without_key, ["pgbench_history"]);
    let answer = decide(&history, Level::StatementSnapshots, &Budget::unlimited());
    assert!(matches!(answer, Answer::Allowed(_)), "{answer:?}");
}

/// Where everybody sees the newest state, reads share a turn, also with statements that are prepared meanwhile, and writers still
/// have one for themselves: everything is as on one strict server.
#[test]
fn reads_that_run_beside_each_other_see_whole_transactions() {
    if !served::can_serve() {
        return;
    }
    let usual = served::setup(Level::CausalConsistency, "");
    let stage = served::Stage::new(ServeSetup { policy: Policy::Latest, start: Start::AtMarker, ..usual });
    said(client("pgbench", stage.port(), &["-i", "-q"]));
    said(client("psql", stage.port(), &["-Xqc", "SET isoscope.run = 'start'"]));
    let readers = client("pgbench", stage.port(), &["-S", "-M", "prepared", "-n", "-c", "3", "-j", "3", "-t", "200"]);
    let writers = client("pgbench", stage.port(), &["-M", "prepared", "-n", "-c", "2", "-j", "1", "-t", "40"]);
    let threads = [readers, writers].map(|it| std::thread::spawn(|| said(it)));
    for thread in threads {
        thread.join().unwrap();
    }
    let (served, _, history) = stage.end();
    // Each of the two first counts the branches.
    assert_eq!((served.tally.committed, served.tally.aborted), (682, 0));
    let answer = decide(&history, Level::StrictSerializable, &Budget::unlimited());
    assert!(matches!(answer, Answer::Allowed(_)), "{answer:?}");
}

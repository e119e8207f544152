//! The page of the applications says what breaks at which level, and measuring agrees. `UPDATE_APPLICATIONS=1 cargo
//! test -p iso-collect` writes the measured numbers again.

use crate::weak::setup;
use iso_collect::{APPLICATIONS, Application, Choice, drive};
use iso_spec::Level;
use iso_store::LEVELS;
use std::fmt::Write as _;
use std::{env, fs};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/applications.md");
const SEEDS: u64 = 100;

/// What must hold, from which level on it does, and in how many runs it did not.
struct Measured {
    name: &'static str,
    /// The weakest level at which nothing can go wrong.
    holds_from: Level,
    n_failed: [usize; LEVELS.len()],
}

/// The weakest level that keeps an assertion: where both rows are always written together, or each writer looks at the
/// one row that it writes, none is too weak; updates are lost below parallel snapshot isolation; and what depends on
/// rows that somebody else writes needs serializability.
fn holds_from(app: &dyn Application, assertion: &str) -> Level {
    match (app.name(), assertion) {
        (_, "no account is overdrawn" | "who follows is a follower" | "5: an order is new until it has a carrier")
        | ("wikipedia", "the latest revision of a page is its last one" | "recent changes and log have each edit") => {
            Level::ReadCommitted
        }
        ("courseware", _)
        | (_, "who follows or is followed is here" | "nobody bids after the end" | "the highest bid wins") => {
            Level::Serializable
        }
        _ => Level::ParallelSnapshotIsolation,
    }
}

fn measure(app: &'static dyn Application) -> Vec<Measured> {
    let mut rows: Vec<Measured> = Vec::new();
    for (level_idx, level) in LEVELS.into_iter().enumerate() {
        for (policy, seed) in (0..SEEDS).flat_map(|seed| [(Choice::Random, seed), (Choice::Adversarial, seed)]) {
            let run = drive(&setup(app, level, policy, seed)).unwrap();
            for (nth, assertion) in run.assertions.iter().enumerate() {
                if nth == rows.len() {
                    let (name, holds_from) = (assertion.name, holds_from(app, assertion.name));
                    rows.push(Measured { name, holds_from, n_failed: [0; LEVELS.len()] });
                }
                rows[nth].n_failed[level_idx] += usize::from(!assertion.holds);
            }
        }
    }
    rows
}

fn table(rows: &[Measured]) -> String {
    let levels: Vec<&str> = LEVELS.iter().map(|it| it.short_name()).collect();
    let mut out =
        format!("| assertion | holds from | {} |\n|---|---|{}\n", levels.join(" | "), "--:|".repeat(LEVELS.len()));
    for Measured { name, holds_from, n_failed } in rows {
        let cells: Vec<String> = n_failed.iter().map(ToString::to_string).collect();
        let _ = writeln!(out, "| {name} | {holds_from} | {} |", cells.join(" | "));
    }
    out
}

#[test]
fn assertions_break_below_their_level_and_hold_from_it_on() {
    let mut page = fs::read_to_string(PAGE).unwrap();
    for app in APPLICATIONS {
        let rows = measure(app);
        for Measured { name, holds_from, n_failed } in &rows {
            for (level, n_failed) in LEVELS.into_iter().zip(n_failed) {
                let must_hold = level.implies(*holds_from);
                assert!(!must_hold || *n_failed == 0, "{} at {level}: {name} failed in {n_failed} runs", app.name());
            }
            let breaks = *holds_from == LEVELS[0] || n_failed[0] > 0;
            assert!(breaks, "{}: {name} held in all runs at {}", app.name(), LEVELS[0]);
            let strongest_weak = LEVELS.into_iter().zip(n_failed).rfind(|it| !it.0.implies(*holds_from));
            let is_rare = app.name() == "tpcc";
            assert!(is_rare || strongest_weak.is_none_or(|it| *it.1 > 0), "{}: {name} {n_failed:?}", app.name());
        }
        let (start, end) = (format!("<!-- measured: {} -->\n", app.name()), "<!-- end -->");
        let (before, rest) = page.split_once(&start).unwrap_or_else(|| panic!("the page has no place {start}"));
        let (old, after) = rest.split_once(end).unwrap();
        for Measured { name, holds_from, .. } in &rows {
            let row = format!("| {name} | {holds_from} |");
            assert!(env::var_os("UPDATE_APPLICATIONS").is_some() || old.contains(&row), "the page has no row {row}");
        }
        page = format!("{before}{start}{}{end}{after}", table(&rows));
    }
    if env::var_os("UPDATE_APPLICATIONS").is_some() {
        fs::write(PAGE, page).unwrap();
    }
}

//! Histories recorded from real databases are what is known about them.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::print_stdout, reason = "a test may say how much it has tested")]

mod recorded;

use isoscope::evidence::{Budget, StopReason};
use isoscope::history::Facts;
use isoscope::spec::Level;
use isoscope::stream::Told;
use recorded::{disagreement, holds, labels, read};
use std::time::{Duration, Instant};

/// The levels that labels speak of, in the order of the last columns.
const LEVELS: [Level; 7] = [
    Level::ReadCommitted,
    Level::ReadAtomic,
    Level::CausalConsistency,
    Level::PrefixConsistency,
    Level::SnapshotIsolation,
    Level::Serializable,
    Level::StrictSerializable,
];

#[test]
fn recorded_histories_are_what_their_labels_say() {
    let mut found = Vec::new();
    let mut n_answers = 0;
    for (folder, row) in labels("realdb") {
        let history = read(&folder.join(&row[0]));
        let facts = Facts::new(&history);
        let said = &row[row.len() - LEVELS.len()..];
        for (level, label) in LEVELS.into_iter().zip(said) {
            let Some(expected) = holds(label) else { continue };
            n_answers += 1;
            found.extend(disagreement(&facts, level, expected).map(|it| format!("{}: {it}", row[0])));
        }
    }
    assert!(n_answers > 300, "the labels say only {n_answers} things");
    assert!(found.is_empty(), "{} of {n_answers} answers are wrong:\n{}", found.len(), found.join("\n"));
    println!("{n_answers} answers agree with the labels");
}

/// Longer recordings are left out, for the time that they take.
const MAX_STREAMED: usize = 1_000;
/// What takes longer stays open.
const AT_MOST: Duration = Duration::from_secs(60);

#[test]
fn streams_say_of_recorded_histories_what_their_labels_say() {
    let is_soaking = std::env::var_os("ISOSCOPE_CASES").is_some();
    let (mut n_decided, mut n_open) = (0, 0);
    for (folder, row) in labels("realdb") {
        // Few values make the exact engine search for long, window after window.
        if row[0].contains("dup") && !is_soaking {
            continue;
        }
        let history = read(&folder.join(&row[0]));
        if history.n_txns() > MAX_STREAMED && !is_soaking {
            continue;
        }
        let Some(told) = Told::new(&history) else { continue };
        let said = &row[row.len() - LEVELS.len()..];
        let started = Instant::now();
        let stop = || (started.elapsed() > AT_MOST).then_some(StopReason::Timeout);
        let check = told.check(&LEVELS, 128, &mut (), &Budget::new(&stop)).unwrap();
        for (level, label) in LEVELS.into_iter().zip(said) {
            let Some(expected) = holds(label) else { continue };
            match check.is_allowed(level) {
                Some(found) => {
                    n_decided += 1;
                    assert_eq!(found, expected, "{}: {level}", row[0]);
                }
                None => n_open += 1,
            }
        }
    }
    assert!(n_decided > 100 && n_open * 4 < n_decided, "{n_decided} decided, {n_open} not");
    println!("{n_decided} answers of streams agree with the labels, {n_open} are open");
}

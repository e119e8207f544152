//! The engine against brute force: all that could have happened instead of small random runs, at every level.
//!
//! `ISOSCOPE_SEED` and `ISOSCOPE_CASES=N` choose others and more.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::print_stdout, reason = "counts are shown with --nocapture")]

mod compare;
mod databases;
mod draft;
mod generate;
mod known;
mod oracle;
mod right;

use iso_evidence::{Budget, Verdict, Witness};
use iso_history::Facts;
use iso_predict::Boundary;
use iso_spec::Level;

const BOUNDARIES: [Boundary; 2] = [Boundary::Strict, Boundary::Relaxed];

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(default)
}

/// How the observed run may have happened, as the first of these levels says that allows it.
fn witness(facts: &Facts<'_>, levels: &[Level]) -> Option<Witness> {
    levels.iter().find_map(|it| match iso_check::check_facts(facts, *it, &Budget::unlimited()) {
        Verdict::Allowed(witness) => Some(witness),
        Verdict::Forbidden(_) => None,
        Verdict::Unknown(reason) => panic!("{reason} without a limit"),
    })
}

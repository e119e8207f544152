//! The engine against brute force: the same answers, of the same size, and every answer holds by the reference evaluator.
//!
//! `ISOSCOPE_CASES=all` asks about every pair of levels and looks at every history, for minutes in a release build;
//! `--nocapture` shows what was asked.
#![allow(clippy::print_stdout, reason = "tables are shown with --nocapture")]

mod all;
mod ask;
mod catalogue;
#[path = "../oracle/mod.rs"]
mod oracle;
mod paper;
mod scopes;
mod statements;
mod survey;
mod user_specs;

fn all_cases() -> bool {
    std::env::var("ISOSCOPE_CASES").is_ok_and(|it| it == "all")
}

/// A number that looks random, and is the same every time (splitmix64).
fn scrambled(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

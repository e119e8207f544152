//! Runs of the store against the checker and the reference evaluator, and what single calls answer.
//!
//! `ISOSCOPE_SEED` and `ISOSCOPE_CASES=N` choose other and more random runs.

#![allow(clippy::print_stdout, reason = "counts are shown with --nocapture")]
#![allow(clippy::unwrap_used, reason = "helpers of tests stop where something is wrong")]
#![allow(clippy::cast_possible_wrap, reason = "numbers of rows and transactions are small")]

mod calls;
mod complete;
mod databases;
mod dice;
mod forgetting;
mod replay;
mod run;
mod sound;
mod sql;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(default)
}

//! Tests of the oracle itself, and what it says about the paper's problems and the catalogue.
//!
//! `ISOSCOPE_CASES=all` takes larger scopes as well, for minutes in a release build; `--nocapture` shows the tables.
#![allow(clippy::print_stdout, reason = "tables are shown with --nocapture")]

mod naive;
#[path = "mod.rs"]
mod oracle;
mod shapes;
mod tables;

fn all_cases() -> bool {
    std::env::var("ISOSCOPE_CASES").is_ok_and(|it| it == "all")
}

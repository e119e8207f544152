//! Checks a history file at every level, and prints each verdict and why.
//!
//! ```console
//! $ cargo run --package isoscope --example check -- corpus/anomalies/write-skew.history
//! ```
#![allow(clippy::print_stdout, reason = "an example program shows its result")]

use isoscope::check::check_levels;
use isoscope::evidence::{Budget, certify};
use isoscope::formats::{ReadOptions, read_path};
use isoscope::history::Facts;
use isoscope::report::{Answer, CheckReport, Limits, Run, TextOptions, text};
use isoscope::spec::Level;
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name a history file, as in corpus/anomalies/write-skew.history")?;
    let reading = read_path(Path::new(&path), &ReadOptions::default())?;
    let history = reading.into_history().map_err(|defects| format!("{path} cannot be used: {}", defects[0].message))?;

    let facts = Facts::new(&history);
    let decided = check_levels(&facts, &Level::ALL, &Budget::unlimited(), &mut |_, _| {});
    let answers: Vec<Answer<'_>> = decided
        .iter()
        .map(|it| Answer {
            level: it.level.into(),
            verdict: &it.verdict,
            certified: Some(certify(&history, it.level, &it.verdict).map_err(|why| why.to_string())),
        })
        .collect();
    let run = Run { inputs: vec![path], ..Run::default() };
    let report = CheckReport::new(&history, run, &answers, Limits::default());
    print!("{}", text(&report, TextOptions::default()));
    Ok(())
}

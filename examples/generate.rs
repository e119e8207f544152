//! Generates a history with an anomaly in its middle, and finds it again.
//!
//! ```console
//! $ cargo run --release --example generate
//! ```
#![allow(clippy::print_stdout, reason = "it is an example of a program")]

use isoscope::check::Answer;
use isoscope::evidence::{Anomaly, Budget};
use isoscope::formats::{ReadOptions, read_from};
use isoscope::generate::{FileKind, Injection, Times, Workload, preset, write};
use isoscope::spec::Level;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let clean = preset("tpcc-like").ok_or("there is no such workload")?.workload(2_000, Some(8));
    let workload = Workload { injection: Some(Injection::LongFork), seed: 7, ..clean };
    let mut bytes = Vec::new();
    let tally = write(&workload, FileKind::Lines(Times::Kept), &mut bytes)?;
    println!("{} transactions committed, {} aborted", tally.n_committed, tally.n_aborted);

    let reading = read_from("generated", &bytes[..], &ReadOptions::default())?;
    let history = reading.into_history().map_err(|defects| defects[0].message.clone())?;
    let answer = isoscope::check(&history, Level::SnapshotIsolation, &Budget::unlimited());
    let Answer::Forbidden(refutation) = answer else {
        return Err("a long fork is no snapshot isolation".into());
    };
    assert_eq!(refutation.anomalies, [Anomaly::LongFork]);
    println!("snapshot isolation is violated: {}", refutation.anomalies[0]);
    Ok(())
}

//! Checks a history file at every level, and prints each verdict and why.
//!
//! ```console
//! $ cargo run --package isoscope --example check -- corpus/anomalies/write-skew.history
//! ```
#![allow(clippy::print_stdout, reason = "an example program shows its result")]

use isoscope::check::{Answer, check_levels};
use isoscope::evidence::Budget;
use isoscope::formats::{ReadOptions, read_path};
use isoscope::spec::Level;
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name a history file, as in corpus/anomalies/write-skew.history")?;
    let reading = read_path(Path::new(&path), &ReadOptions::default())?;
    let history = reading.into_history().map_err(|defects| format!("{path} cannot be used: {}", defects[0].message))?;

    for (level, answer) in check_levels(&history, &Level::usual(), &Budget::unlimited()) {
        print!("{:<30}", level.full_name());
        match answer {
            Answer::Allowed(_) => println!("holds"),
            Answer::Forbidden(refutation) => {
                let names: Vec<&str> = refutation.anomalies.iter().map(|it| it.name()).collect();
                println!("violated: {}", names.join(", "));
                for op in &refutation.ops {
                    println!("  {} {}", history.label(history.txn_of(*op)), history.render_op(*op));
                }
            }
            Answer::Undecided(reason) => println!("unknown: {reason}"),
            Answer::NotCertified { .. } => println!("too large to be certified"),
            Answer::Refused(bug) => return Err(bug.into()),
        }
    }
    Ok(())
}

//! Drives a database from several sessions at once, and checks what they saw.
//!
//! `cargo run --example collect [URL]`; without an address, a temporary file of `SQLite`.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use isoscope::check::Answer;
use isoscope::collect::{Control, Database, FinalRead, Parameters, Plan, Retries, collect_history, open, workload};
use isoscope::evidence::Budget;
use isoscope::spec::Level;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "sqlite:".to_owned());
    let database: Arc<dyn Database> = Arc::from(open(&url)?);
    let parameters = Parameters { sessions: 4, keys: 10, ..Parameters::default() };
    let plan = Plan {
        workload: workload("rmw", &parameters).expect("there is a workload of that name"),
        isolations: vec![database.isolations()[0].to_owned(); parameters.sessions],
        txns: Some(25),
        duration: None,
        seed: 1,
        retries: Retries::UpTo(10),
        final_read: FinalRead::Yes,
        faults: None,
        pause: std::time::Duration::ZERO,
        origin: "{}".to_owned(),
    };
    let (history, collected) = collect_history(&database, &plan, &Arc::new(Control::new()))?;
    println!(
        "{}: {} committed, {} conflicts",
        collected.database, collected.counts.committed, collected.counts.conflicts
    );
    let answer = isoscope::check(&history, Level::Serializable, &Budget::unlimited());
    println!("serializable: {}", if matches!(answer, Answer::Allowed(_)) { "holds" } else { "does not hold" });
    Ok(())
}

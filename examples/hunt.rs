//! Hunts for what a database does that it should not, and prints the script that shows it.
//!
//! `cargo run --package isoscope --example hunt [URL]`; without an address, the weak store at causal consistency.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use isoscope::collect::hunt::{Hunt, Probes, Until, hunt};
use isoscope::collect::{Control, Database, open};
use isoscope::spec::Level;
use std::sync::Arc;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "store:cc".to_owned());
    let database: Arc<dyn Database> = Arc::from(open(&url)?);
    let asked = Hunt {
        isolation: database.isolations()[0].to_owned(),
        expect: Level::Serializable,
        duration: Duration::from_secs(10),
        seed: 1,
        probes: Probes::Yes,
        workloads: vec!["rmw".to_owned(), "append".to_owned()],
        until: Until::FirstFound,
        faults: None,
    };
    let hunted = hunt(&database, &asked, &Arc::new(Control::new()), &mut |_| {})?;
    println!("{}: {} transactions", hunted.database, hunted.tally.transactions);
    for finding in &hunted.findings {
        println!("{}, seen in {}", finding.anomalies().join(", "), finding.origin);
        if let Some(it) = &finding.reproduction {
            println!("{}", it.script.sql_with_answers(database.dialect(), &it.played)?);
        }
    }
    Ok(())
}

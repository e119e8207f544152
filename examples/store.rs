//! Runs an application on a store that is as weak as a level allows, and prints what happened and what broke.
//!
//! ```console
//! $ cargo run --package isoscope --example store -- smallbank cc
//! ```
#![allow(clippy::print_stdout, reason = "an example program shows its result")]

use isoscope::collect::{Choice, Ending, Setup, application, drive};
use isoscope::spec::Level;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, level] = &words[..] else { return Err("name an application and a level, as in `smallbank cc`".into()) };
    let application = application(name).ok_or("there is no such application")?;
    let level = Level::from_name(level).ok_or("there is no such level")?;
    let setup = Setup { application, level, policy: Choice::Adversarial, sessions: 3, txns: 8, seed: 1, retries: true };

    let run = drive(&setup)?;
    for step in &run.steps {
        let ending = match &step.ending {
            Ending::Committed => "",
            Ending::Aborted { reason } | Ending::Conflict { reason } => reason,
        };
        println!("{} {}  {ending}", step.slot, step.call);
    }
    for assertion in run.assertions.iter().filter(|it| !it.holds) {
        println!("broken: {}: {}", assertion.name, assertion.detail);
    }
    if run.holds() {
        println!("Everything holds that must.");
    }
    Ok(())
}

//! Serves a `PostgreSQL` that is as weak as causal consistency allows, until somebody presses Enter, and checks the run.
//!
//! `cargo run --example serve schema.sql`, and then the application with port 5433.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use isoscope::check::Answer;
use isoscope::collect::Target;
use isoscope::evidence::Budget;
use isoscope::formats::{ReadOptions, read_path};
use isoscope::serve::{Opaque, ServeSetup, Serving, Start, Updates};
use isoscope::spec::Level;
use isoscope::store::Policy;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(schema) = std::env::args().nth(1) else {
        println!("Give a file with the SQL that makes your tables");
        return Ok(());
    };
    let path = PathBuf::from("h.jsonl");
    let serving = Serving::start(ServeSetup {
        level: Level::CausalConsistency,
        policy: Policy::Random,
        seed: 1,
        sessions: None,
        order: VecDeque::new(),
        patience: Duration::from_millis(300),
        schema: Some(std::fs::read_to_string(schema)?),
        engine: None,
        listen: "127.0.0.1:5433".to_owned(),
        target: Target::File(path.clone()),
        start: Start::AtOnce,
        updates: Updates::Newest,
        opaque: Opaque::Refused,
    })?;
    println!("Connect to {}, and press Enter when you are done", serving.address());
    std::io::stdin().read_line(&mut String::new())?;
    let served = serving.end()?;
    println!("{} committed, {} aborted", served.tally.committed, served.tally.aborted);
    let reading = read_path(&path, &ReadOptions::default())?;
    let Ok(history) = reading.into_history() else { return Err("what was recorded does not read back".into()) };
    for level in [Level::CausalConsistency, Level::Serializable] {
        let answer = isoscope::check(&history, level, &Budget::unlimited());
        println!("{level}: {}", if matches!(answer, Answer::Allowed(_)) { "holds" } else { "does not hold" });
    }
    Ok(())
}

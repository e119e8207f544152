//! Records what an application does on its `PostgreSQL`, until somebody presses Enter, and checks it.
//!
//! `cargo run --example record postgres://me@localhost/test`, and then the application with port 5433.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use isoscope::check::Answer;
use isoscope::collect::Target;
use isoscope::evidence::Budget;
use isoscope::formats::{ReadOptions, read_path};
use isoscope::serve::{RecordSetup, Recording, Start};
use isoscope::spec::Level;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(url) = std::env::args().nth(1) else {
        println!("Give the address of a database, such as postgres://me@localhost/test");
        return Ok(());
    };
    let path = PathBuf::from("h.jsonl");
    let target = Target::File(path.clone());
    let setup = RecordSetup { url, listen: "127.0.0.1:5433".to_owned(), target, start: Start::AtOnce };
    let recording = Recording::start(setup)?;
    println!("Connect to {}, and press Enter when you are done", recording.address());
    std::io::stdin().read_line(&mut String::new())?;
    let recorded = recording.end()?;
    println!("{} committed, {} statements not whole", recorded.tally.committed, recorded.tally.n_missing());
    let reading = read_path(&path, &ReadOptions::default())?;
    let Ok(history) = reading.into_history() else { return Err("what was recorded does not read back".into()) };
    let answer = isoscope::check(&history, Level::Serializable, &Budget::unlimited());
    println!("serializable: {}", if matches!(answer, Answer::Allowed(_)) { "holds" } else { "does not hold" });
    Ok(())
}

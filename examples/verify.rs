//! Asks whether a program of transactions keeps its invariants under a level, and prints an execution that does not.
//!
//! ```console
//! $ cargo run --package isoscope --example verify -- corpus/programs/doctors-on-call.txn si
//! ```
#![allow(clippy::print_stdout, reason = "an example program shows its result")]

use isoscope::evidence::Budget;
use isoscope::program::parse;
use isoscope::spec::Level;
use isoscope::verify::{Answer, LEVELS};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, level] = &words[..] else { return Err("name a program and a level, as in `bank.txn si`".into()) };
    let level = Level::from_name(level).filter(|it| LEVELS.contains(it)).ok_or("programs cannot have this level")?;
    let program = parse(&std::fs::read_to_string(file)?, file)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;

    let violation = match isoscope::verify(&program, level, &Budget::unlimited()).answer {
        Answer::Violated(violation) => violation,
        Answer::Holds(searched) => {
            println!("holds under {level}. {searched}");
            return Ok(());
        }
        Answer::Undecided(reason) => return Err(reason.to_string().into()),
        Answer::Refused(bug) => return Err(bug.into()),
    };
    let found = &violation.counterexample;
    println!("violated under {level}:");
    for instance in &found.order {
        println!("  {}", program.instance(*instance).call);
        for read in &found.transactions[instance.index()].reads {
            let source = read.source.map_or("the initial state", |it| &program.instance(it).name);
            let value = program.show_unit(read.unit, &read.value);
            println!("    reads  {} = {value} from {source}", program.unit(read.unit).name);
        }
        for (unit, value) in &found.transactions[instance.index()].writes {
            println!("    writes {} = {}", program.unit(*unit).name, program.show_unit(*unit, value));
        }
    }
    println!("An interpreter has replayed it, and {level} allows its history. Certified.");
    Ok(())
}

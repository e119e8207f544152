//! Predicts what could have happened instead of an observed run: a run that a level allows and that is not serializable.
//!
//! ```console
//! $ cargo run --package isoscope --example predict -- corpus/papers/isopredict-figure-9.history cc
//! ```
#![allow(clippy::print_stdout, reason = "an example program shows its result")]

use isoscope::evidence::Budget;
use isoscope::formats::{ReadOptions, read_path};
use isoscope::predict::{Answer, Boundary, Precision, Question};
use isoscope::spec::Level;
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, level] = &words[..] else { return Err("name a history and a level, as in `run.history cc`".into()) };
    let level = Level::from_name(level).ok_or("there is no such level")?;
    let reading = read_path(Path::new(file), &ReadOptions::default())?;
    let observed = reading.into_history().map_err(|defects| format!("{} defects", defects.len()))?;

    let (target, precision) = (Level::Serializable, Precision::Exact);
    let question = Question { level, target, boundary: Boundary::Relaxed, precision };
    let run = match isoscope::predict(&observed, question, &Budget::unlimited())? {
        Answer::Predicted(run) => run,
        Answer::Observed(_) => return Err("the observed run is not serializable itself".into()),
        Answer::None(searched) => {
            println!("None. {searched}");
            return Ok(());
        }
        Answer::Undecided(why) => return Err(format!("{why:?}").into()),
        Answer::Refused(bug) => return Err(bug.into()),
    };
    for read in &run.prediction.changed {
        let (reader, op) = (observed.txn_of(read.observed_op), run.prediction.history.render_op(read.op));
        let [reader, from, to] = [reader, read.from, read.to].map(|it| observed.label(it));
        println!("{op}: {reader} reads from {to} instead of {from}");
    }
    println!("{level} allows that, and {target} forbids it. Certified.");
    Ok(())
}

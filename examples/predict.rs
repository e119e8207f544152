//! Predicts what could have happened instead of an observed run: a run that a level allows and that is not serializable.
//!
//! ```console
//! $ cargo run --package isoscope --example predict -- corpus/papers/isopredict-figure-9.history cc
//! ```
#![allow(clippy::print_stdout, reason = "an example program shows its result")]

use isoscope::check::check;
use isoscope::evidence::{Budget, Verdict, certify};
use isoscope::formats::{ReadOptions, read_path};
use isoscope::history::Facts;
use isoscope::predict::{Answer, Boundary, LEVELS, Precision, Predictor, Question};
use isoscope::spec::Level;
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, level] = &words[..] else { return Err("name a history and a level, as in `run.history cc`".into()) };
    let level = Level::from_name(level).filter(|it| LEVELS.contains(it)).ok_or("no run can be predicted there")?;
    let reading = read_path(Path::new(file), &ReadOptions::default())?;
    let observed = reading.into_history().map_err(|defects| format!("{} defects", defects.len()))?;

    // The order in which the observed run happened says who wrote what each read saw.
    let budget = Budget::unlimited();
    let target = Level::Serializable;
    let Verdict::Allowed(witness) = check(&observed, target, &budget) else {
        return Err("the observed run is not serializable itself".into());
    };
    let question = Question { level, target, boundary: Boundary::Relaxed, precision: Precision::Exact };
    let facts = Facts::new(&observed);
    let mut predictor = Predictor::new(&facts, &witness, question).map_err(|refused| format!("{refused:?}"))?;
    let found = match predictor.next(&budget) {
        Answer::Predicted(found) => found,
        Answer::None => {
            println!("None.");
            return Ok(());
        }
        Answer::Unknown(why) => return Err(format!("{why:?}").into()),
    };
    for read in &found.changed {
        let (reader, op) = (observed.txn_of(read.observed_op), found.history.render_op(read.op));
        let [reader, from, to] = [reader, read.from, read.to].map(|it| observed.label(it));
        println!("{op}: {reader} reads from {to} instead of {from}");
    }

    // The engine need not be trusted: the level must allow the run, and the target must not.
    let (allowed, forbidden) = (check(&found.history, level, &budget), check(&found.history, target, &budget));
    certify(&found.history, level, &allowed)?;
    certify(&found.history, target, &forbidden)?;
    let is_one = matches!((allowed, forbidden), (Verdict::Allowed(_), Verdict::Forbidden(_)));
    println!("{}", if is_one { "Certified." } else { "NOT CONFIRMED: this is a bug." });
    Ok(())
}

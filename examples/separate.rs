//! Finds the smallest history that one level allows and another one forbids, and prints why.
//!
//! ```console
//! $ cargo run --package isoscope --example separate -- cc pc
//! ```
#![allow(clippy::print_stdout, reason = "an example program shows its result")]

use isoscope::evidence::Budget;
use isoscope::formats::{Format, write};
use isoscope::separate::{Answer, Method, Question, Scope, explain};
use isoscope::spec::Catalogue;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let [allows, forbids] = &names[..] else { return Err("name two levels, as in `cc pc`".into()) };
    let (allows, forbids) = (Catalogue::builtin().find(allows)?, Catalogue::builtin().find(forbids)?);

    let (scope, method) = (Scope::default(), Method::default());
    let question = Question { allowed: vec![allows], forbidden: vec![forbids], scope, method };
    let found = match isoscope::separate(&question, &Budget::unlimited()).answer {
        Answer::Found(found) => found,
        Answer::None(searched) => {
            println!("No history of up to {} transactions and {} keys. {searched}", scope.txns, scope.keys);
            return Ok(());
        }
        Answer::Undecided(reason) => return Err(reason.to_string().into()),
        Answer::Refused(bug) => return Err(bug.into()),
    };
    println!("{} allows and {} forbids:\n", allows.name(), forbids.name());
    write(found.history(), Format::Text, &mut std::io::stdout())?;

    println!("\n{} forbids it, whatever one tries:", forbids.name());
    for failure in explain(found.history(), None, forbids, 3).failures {
        println!("  {}", failure.because);
    }
    println!("{}", if found.certification().is_certified() { "Certified." } else { "Too large to be certified." });
    Ok(())
}

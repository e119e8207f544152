//! Finds the smallest history that one level allows and another one forbids, and prints why.
//!
//! ```console
//! $ cargo run --package isoscope --example separate -- cc pc
//! ```
#![allow(clippy::print_stdout, reason = "an example program shows its result")]

use isoscope::evidence::Budget;
use isoscope::history::Facts;
use isoscope::report::Found;
use isoscope::separate::{Answer, Method, Question, Scope, explain, separate};
use isoscope::spec::{Catalogue, Evaluation, Steps, evaluate, holds};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let [allows, forbids] = &names[..] else { return Err("name two levels, as in `cc pc`".into()) };
    let (allows, forbids) = (Catalogue::builtin().find(allows)?, Catalogue::builtin().find(forbids)?);

    let (scope, method) = (Scope::default(), Method::default());
    let question = Question { allowed: vec![allows], forbidden: vec![forbids], scope, method };
    let found = match separate(&question, &Budget::unlimited()).answer {
        Answer::Found(found) => found,
        Answer::None => {
            println!("No history of up to {} transactions and {} keys.", scope.txns, scope.keys);
            return Ok(());
        }
        Answer::Unknown(reason) => return Err(reason.to_string().into()),
    };
    println!("{} allows and {} forbids:\n", allows.name(), forbids.name());
    println!("{}", Found::new(&found.history, None, &[], &[]).history);

    // The engine need not be trusted: an execution shows the one side, and the reference evaluator the other one.
    let facts = Facts::new(&found.history);
    let is_allowed = holds(&facts, allows, &found.executions[0]);
    let is_forbidden = evaluate(&facts, forbids, &mut Steps::unlimited()) == Evaluation::Forbidden;
    println!("{}\n", if is_allowed && is_forbidden { "Certified." } else { "NOT CERTIFIED: this is a bug." });

    println!("{} forbids it, whatever one tries:", forbids.name());
    for failure in explain(&found.history, None, forbids, 3).failures {
        println!("  {}", failure.because);
    }
    Ok(())
}

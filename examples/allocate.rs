//! Asks which isolation level each transaction of a program needs, however many run, and prints what blocks weaker ones.
//!
//! ```console
//! $ cargo run --package isoscope --example allocate -- corpus/templates/smallbank.txn
//! ```
#![allow(clippy::print_stdout, reason = "an example program shows its result")]

use isoscope::evidence::Budget;
use isoscope::program::{Templates, TxnLevel};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file] = &words[..] else { return Err("name a program, as in `bank.txn`".into()) };
    let templates = Templates::parse(&std::fs::read_to_string(file)?, file)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;

    let ladder = [TxnLevel::ReadCommitted, TxnLevel::RepeatableRead, TxnLevel::Serializable];
    let answer = isoscope::allocate(&templates, &ladder, &Budget::unlimited()).map_err(|it| format!("{it:?}"))?;
    for transaction in &answer.transactions {
        let level = transaction.level.map_or_else(|| "none".to_owned(), |it| it.to_string());
        println!("{}: {level}", transaction.name);
        for blocked in &transaction.blocked {
            let names: Vec<&str> = blocked.members.iter().map(|it| templates.templates()[*it].name.as_str()).collect();
            println!("  not {}: {} is interrupted by {}", blocked.level, names[0], names[1..].join(", "));
        }
    }
    Ok(())
}

//! Every counterexample to a random program passes the strict replay: the engine's evidence is never refused.
//!
//! `ISOSCOPE_SEED` and `ISOSCOPE_CASES=N` choose others and more.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(dead_code, reason = "the programs are made by code that other tests use, too")]

#[path = "../../../engines/verify/tests/agreement/generate.rs"]
mod generate;
#[path = "../../../engines/verify/tests/agreement/oracle.rs"]
mod oracle;

use generate::{Dice, Openness, program, sums, with_serial_invariant};
use iso_answer::verify::{Answer, LEVELS, verify_levels};
use iso_evidence::Budget;
use iso_program::parse;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(default)
}

/// How many levels break a program; all of them must do so with an execution that is certified.
fn n_violated(text: &str) -> usize {
    let program = parse(text, "random.txn").unwrap();
    let mut n_violated = 0;
    verify_levels(&program, &LEVELS, &Budget::unlimited(), &mut |level, verification| match verification.answer {
        Answer::Holds(_) => {}
        Answer::Violated(_) => n_violated += 1,
        Answer::Undecided(reason) => panic!("{level}: {reason} without a limit\n{text}"),
        Answer::Refused(wrong) => panic!("{wrong}\n{text}"),
    });
    n_violated
}

#[test]
fn counterexamples_to_random_programs_are_certified() {
    let seed = setting("ISOSCOPE_SEED", 4);
    let mut n_certified = 0;
    for case in 0..setting("ISOSCOPE_CASES", 250) {
        let mut dice = Dice::new(seed.wrapping_mul(1_000_003).wrapping_add(case));
        let text = match case % 5 {
            0 => sums(&mut dice),
            nth => program(&mut dice, 4, if nth == 1 { Openness::Open } else { Openness::Closed }),
        };
        let text = with_serial_invariant(&text, &parse(&text, "random.txn").unwrap()).unwrap_or(text);
        n_certified += n_violated(&text);
    }
    assert!(n_certified > 100, "only {n_certified} counterexamples");
}

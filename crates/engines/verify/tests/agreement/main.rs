//! The engine against brute force: all executions of small programs, at every level.
//!
//! `ISOSCOPE_SEED` and `ISOSCOPE_CASES=N` choose others and more.

mod generate;
mod oracle;

use generate::{Dice, program};
use iso_evidence::Budget;
use iso_program::parse;
use iso_verify::{LEVELS, Verdict, replay, verify_levels};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(default)
}

/// Levels at which engine and brute force disagree about a program.
fn disagreements(text: &str) -> Vec<String> {
    let program = parse(text, "random.txn")
        .unwrap_or_else(|it| panic!("{text}\n{}", it.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")));
    let mut all = Vec::new();
    verify_levels(&program, &LEVELS, &Budget::unlimited(), &mut |level, answer| {
        let is_violated = match &answer.verdict {
            Verdict::Holds => false,
            Verdict::Violated(found) => {
                all.extend(replay(&program, found).err().map(|it| format!("{level}: {it}")));
                true
            }
            Verdict::Unknown(reason) => panic!("{reason} without a limit"),
        };
        if is_violated != oracle::is_violated(&program, level) {
            all.push(format!("{level}: the engine says violated = {is_violated}"));
        }
    });
    all
}

#[test]
fn random_programs_are_judged_as_by_brute_force() {
    let (seed, n_cases) = (setting("ISOSCOPE_SEED", 1), setting("ISOSCOPE_CASES", 300));
    let mut n_disagreements = 0;
    for case in 0..n_cases {
        let text = program(&mut Dice::new(seed.wrapping_mul(1_000_003).wrapping_add(case)), 4);
        let found = disagreements(&text);
        if !found.is_empty() {
            n_disagreements += 1;
            assert!(n_disagreements < 1, "case {case}\n{text}\n{}", found.join("\n"));
        }
    }
}

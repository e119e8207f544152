//! The engine against brute force: all executions of small programs, at every level.
//!
//! That each counterexample replays is a test of the library, which certifies them.
//! `ISOSCOPE_SEED` and `ISOSCOPE_CASES=N` choose others and more.

#![allow(clippy::print_stdout, reason = "counts are shown with --nocapture")]

mod generate;
mod oracle;
mod robust;
mod statements;

use generate::{Dice, Openness, locking_program, program, sums, with_serial_invariant};
use iso_evidence::Budget;
use iso_history::Snapshots;
use iso_program::{Program, ProgramError, parse};
use iso_spec::Level;
use iso_verify::{Database, Isolation, LEVELS, Verdict, verify, verify_all, verify_levels};
use oracle::Locks;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(default)
}

fn read(text: &str) -> Program {
    let shown = |it: Vec<ProgramError>| it.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    parse(text, "random.txn").unwrap_or_else(|it| panic!("{text}\n{}", shown(it)))
}

/// How many levels break a program, and those at which engine and brute force disagree.
fn disagreements(text: &str) -> (usize, Vec<String>) {
    let program = read(text);
    let (mut n_violated, mut all) = (0, Vec::new());
    verify_levels(&program, &LEVELS, &Budget::unlimited(), &mut |level, answer| {
        let is_violated = match &answer.verdict {
            Verdict::Holds => false,
            Verdict::Violated(_) => true,
            Verdict::Unknown(reason) => panic!("{reason} without a limit"),
        };
        n_violated += usize::from(is_violated);
        if is_violated != oracle::is_violated(&program, level) {
            all.push(format!("{level}: the engine says violated = {is_violated}"));
        }
    });
    (n_violated, all)
}

#[test]
fn random_programs_are_judged_as_by_brute_force() {
    compare(setting("ISOSCOPE_CASES", 250), 4);
}

#[test]
fn larger_random_programs_are_judged_as_by_brute_force() {
    compare(setting("ISOSCOPE_CASES", 250) / 25, 5);
}

#[test]
fn sums_of_open_values_are_judged_as_by_brute_force() {
    let seed = setting("ISOSCOPE_SEED", 7);
    let mut counts = [0; 9];
    for case in 0..setting("ISOSCOPE_CASES", 250) {
        let text = sums(&mut Dice::new(seed.wrapping_mul(1_000_003).wrapping_add(case)));
        let (n_violated, found) = disagreements(&text);
        assert!(found.is_empty(), "case {case}\n{text}\n{}", found.join("\n"));
        counts[n_violated] += 1;
    }
    println!("programs by how many levels break them: {counts:?}");
    assert!(counts[0] > 0 && counts[1..8].iter().sum::<u64>() > 0 && counts[8] > 0, "{counts:?}");
}

/// Compares so many programs of up to so many transactions.
fn compare(n_cases: u64, n_max: u64) {
    let seed = setting("ISOSCOPE_SEED", n_max);
    let mut counts = [0; 9];
    for case in 0..n_cases {
        let openness = if case % 4 == 0 { Openness::Open } else { Openness::Closed };
        let text = program(&mut Dice::new(seed.wrapping_mul(1_000_003).wrapping_add(case)), n_max, openness);
        let text = with_serial_invariant(&text, &read(&text)).unwrap_or(text);
        let (n_violated, found) = disagreements(&text);
        assert!(found.is_empty(), "case {case}\n{text}\n{}", found.join("\n"));
        counts[n_violated] += 1;
    }
    // Programs that hold or break everywhere say little; there must be others.
    println!("programs by how many levels break them: {counts:?}");
    assert!(counts[1..8].iter().sum::<u64>() * 20 > n_cases, "{counts:?}");
}

/// Statements, locks and newest versions: the formula against every interleaving of statements.
#[test]
fn random_programs_are_judged_as_by_every_interleaving_of_statements() {
    let seed = setting("ISOSCOPE_SEED", 11);
    let n_cases = setting("ISOSCOPE_CASES", 400);
    let (mut counts, mut n_left_out) = ([0; 4], 0);
    for case in 0..n_cases {
        let openness = if case % 8 == 0 { Openness::Open } else { Openness::Closed };
        let text = program(&mut Dice::new(seed.wrapping_mul(1_000_003).wrapping_add(case)), 3, openness);
        let text = with_serial_invariant(&text, &read(&text)).unwrap_or(text);
        let program = read(&text);
        let levels = [Database::Postgres.levels()[0], Database::Mysql.levels()[0], Database::Mysql.levels()[1]];
        let isolations: Vec<Isolation> = levels.into_iter().map(Into::into).collect();
        let mut n_violated = 0;
        verify_all(&program, &isolations, &Budget::unlimited(), &mut |isolation, answer| {
            let snapshots = isolation.level().snapshots().unwrap_or(Snapshots::PerStatement);
            let Some(expected) = statements::is_violated(&program, snapshots, isolation.looks()) else {
                n_left_out += 1;
                return;
            };
            let is_violated = matches!(answer.verdict, Verdict::Violated(_));
            assert_eq!(is_violated, expected, "case {case} {isolation}\n{text}");
            n_violated += usize::from(is_violated);
        });
        counts[n_violated] += 1;
    }
    println!("programs by how many levels break them: {counts:?}, {n_left_out} left out");
    assert!(counts.iter().all(|it| *it > 0) && n_left_out * 10 < n_cases, "{counts:?} {n_left_out}");
}

/// Snapshot isolation of servers, where a lock that nobody wrote under is forgotten.
#[test]
fn random_programs_are_judged_as_by_snapshots_of_servers() {
    let seed = setting("ISOSCOPE_SEED", 13);
    let (mut n_violated, mut n_locks_matter) = (0, 0);
    for case in 0..setting("ISOSCOPE_CASES", 400) {
        let text = locking_program(&mut Dice::new(seed.wrapping_mul(1_000_003).wrapping_add(case)));
        let text = with_serial_invariant(&text, &read(&text)).unwrap_or(text);
        let program = read(&text);
        let answer = verify(&program, Database::Postgres.levels()[1], &Budget::unlimited());
        let is_violated = matches!(answer.verdict, Verdict::Violated(_));
        let expected = oracle::is_violated_with(&program, Level::SnapshotIsolation, Locks::AsServers);
        assert_eq!(is_violated, expected, "case {case}\n{text}");
        n_violated += usize::from(is_violated);
        n_locks_matter += usize::from(is_violated != oracle::is_violated(&program, Level::SnapshotIsolation));
    }
    println!("{n_violated} are violated, {n_locks_matter} only since locks are forgotten");
    assert!(n_violated > 20 && n_locks_matter > 3, "{n_violated} {n_locks_matter}");
}

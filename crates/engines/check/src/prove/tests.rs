//! Proofs of hand-made histories, and changed ones.

use crate::check;
use crate::test_store::history;
use iso_evidence::{Assumption, Budget, Case, Contradiction, Proof, Refutation, Step, Verdict, certify_proof};
use iso_history::{Facts, History};
use iso_spec::Level;

const BLIND: &[&str] = &["a ry0 wx1", "b rx0 wy1", "c ry0 wx2", "d rx0 wy2"];

/// Histories with all kinds of steps, and levels that forbid them.
fn examples() -> Vec<(History, Level)> {
    let examples: [(&[&str], Level); 11] = [
        (&["a wx1", "b rx0 wx2", "b rx1"], Level::ReadAtomic),
        (&["a wx1", "a wy1", "b ry1", "c rx0"], Level::Serializable),
        (&["a wx1", "b rx1 wy1", "c ry1 rx0"], Level::CausalConsistency),
        (&["a wx1", "b wy1", "c rx1 ry0", "d ry1 rx0"], Level::PrefixConsistency),
        (&["a rx0 wx1", "b rx0 wx2"], Level::SnapshotIsolation),
        (&["a rx0 ry0 wx1", "b rx0 ry0 wy1"], Level::Serializable),
        (&["a wx1 wy1", "b wx2 wy2", "c rx1 ry2", "d rx2 ry1"], Level::Serializable),
        (&["a wx1", "b rx0 wx0", "a rx0 wx2"], Level::ParallelSnapshotIsolation),
        (BLIND, Level::SnapshotIsolation),
        (&["a wx1 @1-2", "b rx0 @3-4"], Level::StrictSerializable),
        (&["a ax1", "b ax2 ly", "c lx12 ay1", "a ly"], Level::MonotonicReads),
    ];
    let forbids = |it: &(History, Level)| matches!(check(&it.0, it.1, &Budget::unlimited()), Verdict::Forbidden(_));
    examples.into_iter().map(|(lines, level)| (history(lines), level)).filter(forbids).collect()
}

fn refutation(history: &History, level: Level) -> Refutation {
    match check(history, level, &Budget::unlimited()) {
        Verdict::Forbidden(refutation) => refutation,
        verdict => panic!("{verdict:?}"),
    }
}

/// The same with every change that makes it wrong.
fn spoilt(contradiction: &Contradiction) -> Vec<Contradiction> {
    match contradiction {
        Contradiction::Cycle(steps) => {
            let mut all: Vec<Vec<Step>> = spoilt_steps(steps);
            all.push(Vec::new());
            all.extend((0..steps.len()).map(|it| [&steps[..it], &steps[it + 1..]].concat()));
            all.into_iter().map(Contradiction::Cycle).collect()
        }
        Contradiction::Cases(cases) => {
            let mut all: Vec<Vec<Case>> = spoilt_cases(cases);
            all.extend((0..cases.len()).map(|it| [&cases[..it], &cases[it + 1..]].concat()));
            all.into_iter().map(Contradiction::Cases).collect()
        }
    }
}

fn spoilt_cases(cases: &[Case]) -> Vec<Vec<Case>> {
    let mut all = Vec::new();
    for (idx, case) in cases.iter().enumerate() {
        let mut push = |case: Case| all.push([&cases[..idx], &[case], &cases[idx + 1..]].concat());
        for contradiction in spoilt(&case.contradiction) {
            push(Case { contradiction, ..case.clone() });
        }
        if let Assumption::Older { key, older, newer } = case.assumed {
            push(Case { assumed: Assumption::Older { key, older: newer, newer: older }, ..case.clone() });
        }
    }
    all
}

fn spoilt_steps(steps: &[Step]) -> Vec<Vec<Step>> {
    let mut all = Vec::new();
    for (idx, step) in steps.iter().enumerate() {
        let mut push = |step: Step| all.push([&steps[..idx], &[step], &steps[idx + 1..]].concat());
        let turned = iso_evidence::Edge { from: step.edge.to, to: step.edge.from, ..step.edge };
        push(Step { edge: turned, ..step.clone() });
        if !step.path.is_empty() {
            push(Step { path: Vec::new(), ..step.clone() });
        }
        for path in spoilt_steps(&step.path) {
            push(Step { path, ..step.clone() });
        }
        for excluded in (0..step.excluded.len()).map(|it| [&step.excluded[..it], &step.excluded[it + 1..]].concat()) {
            push(Step { excluded, ..step.clone() });
        }
        for excluded in spoilt_cases(&step.excluded) {
            push(Step { excluded, ..step.clone() });
        }
    }
    all
}

#[test]
fn proofs_that_were_changed_are_refused() {
    let mut n_refused = 0;
    for (history, level) in examples() {
        let facts = Facts::new(&history);
        let right = refutation(&history, level);
        let contradiction = &right.proof.as_ref().expect("small cores have proofs").contradiction;
        assert!(certify_proof(&facts, level, &right).is_ok());
        for contradiction in spoilt(contradiction) {
            // The cycle is that of the proof, so that it is not refused for that alone.
            let cycle = match &contradiction {
                Contradiction::Cycle(steps) => steps.iter().map(|it| it.edge).collect(),
                Contradiction::Cases(_) => Vec::new(),
            };
            let proof = Some(Box::new(Proof { level, contradiction }));
            let wrong = Refutation { cycle, proof, ..right.clone() };
            assert!(certify_proof(&facts, level, &wrong).is_err(), "{level} {wrong:#?}");
            n_refused += 1;
        }
        let proof = Some(Box::new(Proof { level: Level::StrictSerializable, ..*right.proof.clone().unwrap() }));
        let too_strong = Refutation { proof, ..right.clone() };
        assert_eq!(certify_proof(&facts, level, &too_strong).is_ok(), level == Level::StrictSerializable);
    }
    assert!(n_refused > 80, "{n_refused}");
}

#[test]
fn two_orders_of_blind_writes_are_told_apart() {
    // Nobody shows which of two writers of x or of y came first, and nobody saw anybody.
    let history = history(BLIND);
    let proof = refutation(&history, Level::SnapshotIsolation).proof.unwrap();
    let Contradiction::Cases(cases) = proof.contradiction else { panic!("{proof:?}") };
    assert!(matches!(cases[0].assumed, Assumption::Older { .. }));
    assert_eq!(cases.len(), 2);
}

#[test]
fn a_session_guarantee_is_proved_by_what_it_guarantees() {
    // Monotonic reads do not ask a session to see its own writes, only what it has read before.
    let history = history(&["a ax1", "a lx1", "a lx"]);
    let refutation = refutation(&history, Level::MonotonicReads);
    let names: Vec<&str> = refutation.cycle.iter().map(|it| it.because.short_name()).collect();
    assert_eq!(names, ["wr", "so", "rw"]);
    assert!(refutation.proof.is_some());
}

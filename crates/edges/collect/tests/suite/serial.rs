//! One transaction after the other, on the simplest database: everything that must hold does.

use iso_collect::{APPLICATIONS, Application, Failure, Memory, Random, Slot, load, perform, transaction};
use std::collections::BTreeSet;

const SESSIONS: usize = 3;

/// The failures of a run in an order of its own, and the state after it.
fn run(app: &dyn Application, seed: u64, n_txns: usize, order: u64) -> (Vec<Failure>, Memory) {
    let mut memory = Memory::new();
    load(app, &mut memory).unwrap();
    let (mut next, mut random) = ([0; SESSIONS], Random::new(order));
    let mut failures = Vec::new();
    while next.iter().any(|it| *it < n_txns) {
        let session = random.below(SESSIONS);
        if next[session] == n_txns {
            continue;
        }
        let slot = Slot { session, nth: next[session] };
        next[session] += 1;
        failures.extend(perform(&*transaction(app, seed, slot), &mut memory).err());
        let broken: Vec<_> = app.assertions(&mut memory).unwrap().into_iter().filter(|it| !it.holds).collect();
        assert!(broken.is_empty(), "{} with seed {seed} after {slot}: {broken:#?}", app.name());
    }
    (failures, memory)
}

#[test]
fn assertions_hold_in_every_state_of_a_serial_run() {
    for app in APPLICATIONS {
        for seed in 0..200 {
            run(app, seed, 12, seed);
        }
    }
}

#[test]
fn only_the_application_aborts_a_serial_run_and_seldom() {
    for app in APPLICATIONS {
        let failures: Vec<Failure> = (0..50).flat_map(|seed| run(app, seed, 8, seed).0).collect();
        let is_expected = |it: &Failure| matches!(it, Failure::Aborted { reason, .. } if !reason.contains("already"));
        assert!(failures.iter().all(is_expected), "{}: {failures:#?}", app.name());
        assert!(failures.len() < 50 * SESSIONS * 8 / 2, "{}: {}", app.name(), failures.len());
    }
}

#[test]
fn transactions_come_from_the_seed_alone() {
    for app in APPLICATIONS {
        let calls = |seed: u64| -> Vec<String> {
            let slots = (0..SESSIONS).flat_map(|session| (0..20).map(move |nth| Slot { session, nth }));
            slots.map(|it| transaction(app, seed, it).to_string()).collect()
        };
        assert_eq!(calls(7), calls(7));
        let kinds: BTreeSet<String> =
            (0..9).flat_map(calls).map(|it| it.split('(').next().unwrap().to_owned()).collect();
        assert!(app.name() == "voter" || (calls(7) != calls(8) && kinds.len() > 2), "{}: {kinds:?}", app.name());
    }
}

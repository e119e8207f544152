//! Searches with many conflicts: duplicate values and blind writers leave nearly everything to the solver.

use crate::draft::{Action, Draft, DraftTxn};
use crate::judge::{Tally, Test};
use crate::random::Random;
use crate::{Cases, seed};

/// The reference evaluator is too slow for these; the machine tries every order.
const TESTS: &[Test] = &[Test::Machine];

#[test]
fn histories_with_many_conflicts_are_what_a_machine_says() {
    let mut tally = Tally::new("many conflicts");
    for case in 0..Cases::asked().of(600, 50) {
        let mut random = Random::of_case(seed().wrapping_mul(8) + 5, case);
        tally.judge(&contended(&mut random), TESTS);
    }
    tally.finish();
    tally.assert_both_sides(10);
}

/// Eight to ten transactions that overwrite the same few values of the same few keys, each read off from some order.
fn contended(random: &mut Random) -> Draft {
    let (n_txns, n_keys, n_values) = (8 + random.below(3), 2 + random.below(3), 2 + random.below(2));
    let n_sessions = 3 + random.below(8);
    let reads = random.pick(&[30, 50, 70]);
    let noise = random.pick(&[0, 5, 15, 25]);
    let mut store = vec![Some(0); n_keys];
    let mut earlier = store.clone();
    let mut draft = Draft { initial: Some(0), txns: Vec::new() };
    for _ in 0..n_txns {
        let mut txn = DraftTxn::new(random.below(n_sessions));
        let mut view = if random.percent(30) { earlier.clone() } else { store.clone() };
        let mut wrote = Vec::new();
        for _ in 0..=random.below(4) {
            let key = random.below(n_keys);
            let value = Some(random.below(n_values) as i64 + 1);
            if random.percent(reads) {
                txn.actions.push(Action::Read(key, if random.percent(noise) { value } else { view[key] }));
            } else {
                txn.actions.push(Action::Write(key, value));
                view[key] = value;
                wrote.push((key, value));
            }
        }
        earlier.clone_from(&store);
        for (key, value) in wrote {
            store[key] = value;
        }
        draft.txns.push(txn);
    }
    // The order of the input says nothing about the order that was.
    for idx in (1..draft.txns.len()).rev() {
        let other = random.below(idx + 1);
        if draft.txns[idx].session != draft.txns[other].session {
            let is_alone =
                |it: usize| draft.txns.iter().filter(|txn| txn.session == draft.txns[it].session).count() == 1;
            if is_alone(idx) && is_alone(other) {
                draft.txns.swap(idx, other);
            }
        }
    }
    draft
}

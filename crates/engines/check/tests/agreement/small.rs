//! Every history of up to three transactions of up to two operations, on two keys with two values and the initial one.
//!
//! Histories that differ only by names (of transactions, sessions, keys, or a key's values) are tried once.

use crate::draft::{Action, Draft, DraftTxn, Value};
use crate::judge::{Tally, Test};
use crate::{Cases, seed};

const ALL: &[Test] = &[Test::Definition, Test::Machine, Test::Together];
/// Once in a while, what takes longer.
const SAMPLE: &[Test] = &[Test::Definition, Test::Machine, Test::Together, Test::Frameworks, Test::Minimal];
const SAMPLE_ONE_IN: usize = 7;

#[test]
fn small_histories_of_one_session_are_what_the_definitions_say() {
    judge_all("one session", &[&[1], &[2], &[3]], 5_000);
}

#[test]
fn small_histories_of_two_sessions_are_what_the_definitions_say() {
    judge_all("two sessions", &[&[1, 1], &[2, 1]], 10_000);
}

#[test]
fn small_histories_of_three_sessions_are_what_the_definitions_say() {
    judge_all("three sessions", &[&[1, 1, 1]], 10_000);
}

/// Judges the histories whose sessions have so many transactions: all of them, or about `few`.
fn judge_all(name: &'static str, shapes: &[&[usize]], few: usize) {
    let mut tally = Tally::new(name);
    let renamings = Renamings::new();
    let all: Vec<(&[usize], Vec<u8>)> = shapes
        .iter()
        .flat_map(|shape| representatives(shape, &renamings).into_iter().map(move |it| (*shape, it)))
        .collect();
    let step = match Cases::asked() {
        Cases::All => 1,
        asked => all.len().div_ceil(asked.of(few, 100)).max(1),
    };
    let chosen = all.iter().skip(seed() as usize % step).step_by(step);
    for (nth, (shape, codes)) in chosen.enumerate() {
        tally.judge(&draft(shape, codes), if nth % SAMPLE_ONE_IN == 0 { SAMPLE } else { ALL });
    }
    println!("{name}: {} histories up to names", all.len());
    tally.finish();
}

const N_KEYS: u8 = 2;
/// The initial value is the first.
const N_VALUES: u8 = 3;
const N_ACTIONS: u8 = 2 * N_KEYS * N_VALUES;
/// None, one or two actions.
const N_TXNS: u8 = 1 + N_ACTIONS + N_ACTIONS * N_ACTIONS;

/// The transactions of a shape that come first among all that differ only by names.
fn representatives(shape: &[usize], renamings: &Renamings) -> Vec<Vec<u8>> {
    let n_txns: usize = shape.iter().sum();
    let mut found = Vec::new();
    let mut codes = vec![0; n_txns];
    loop {
        if renamings.is_first(shape, &codes) {
            found.push(codes.clone());
        }
        let Some(place) = (0..n_txns).rev().find(|it| codes[*it] + 1 < N_TXNS) else { return found };
        codes[place] += 1;
        codes[place + 1..].fill(0);
    }
}

/// For each way to rename keys and values, what becomes of each transaction.
struct Renamings(Vec<Vec<u8>>);

impl Renamings {
    fn new() -> Self {
        Self((0..8).map(|bits| (0..N_TXNS).map(|it| rename(it, bits)).collect()).collect())
    }

    /// Does no renaming, and no exchange of sessions of one transaction, give a smaller one?
    fn is_first(&self, shape: &[usize], codes: &[u8]) -> bool {
        let are_exchangeable = shape.iter().all(|it| *it == 1);
        if are_exchangeable && !codes.is_sorted() {
            return false;
        }
        self.0.iter().all(|renaming| {
            let mut image = [0; 3];
            let image = &mut image[..codes.len()];
            for (to, from) in image.iter_mut().zip(codes) {
                *to = renaming[*from as usize];
            }
            if are_exchangeable {
                image.sort_unstable();
            }
            codes <= &*image
        })
    }
}

fn rename(code: u8, bits: u8) -> u8 {
    let rename = |action: u8| {
        let (access, key, value) = (action / (N_KEYS * N_VALUES), action / N_VALUES % N_KEYS, action % N_VALUES);
        let key = key ^ (bits & 1);
        let swaps_values = bits >> (1 + key) & 1 == 1;
        let value = if swaps_values && value > 0 { N_VALUES - value } else { value };
        (access * N_KEYS + key) * N_VALUES + value
    };
    encode(&actions(code).into_iter().map(rename).collect::<Vec<u8>>())
}

fn actions(code: u8) -> Vec<u8> {
    match code {
        0 => vec![],
        code if code <= N_ACTIONS => vec![code - 1],
        code => vec![(code - 1 - N_ACTIONS) / N_ACTIONS, (code - 1 - N_ACTIONS) % N_ACTIONS],
    }
}

fn encode(actions: &[u8]) -> u8 {
    match actions {
        [] => 0,
        [only] => 1 + only,
        [first, second] => 1 + N_ACTIONS + first * N_ACTIONS + second,
        _ => unreachable!("a transaction has at most two actions"),
    }
}

fn draft(shape: &[usize], codes: &[u8]) -> Draft {
    let sessions = shape.iter().enumerate().flat_map(|(session, length)| std::iter::repeat_n(session, *length));
    let txn = |(session, code): (usize, &u8)| {
        let actions = actions(*code).into_iter().map(action).collect();
        DraftTxn { actions, ..DraftTxn::new(session) }
    };
    Draft { initial: Some(0), txns: sessions.zip(codes).map(txn).collect() }
}

fn action(code: u8) -> Action {
    let key = usize::from(code / N_VALUES % N_KEYS);
    let value: Value = Some(i64::from(code % N_VALUES));
    if code < N_KEYS * N_VALUES { Action::Read(key, value) } else { Action::Write(key, value) }
}

#[test]
fn renaming_twice_gives_the_same_transaction() {
    for code in 0..N_TXNS {
        assert_eq!(encode(&actions(code)), code);
        // Exchanging both keys moves the exchange of values to the other key.
        for bits in [0, 1, 2, 4, 6] {
            assert_eq!(rename(rename(code, bits), bits), code);
        }
    }
}

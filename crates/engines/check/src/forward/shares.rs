//! How far sessions are from their shares of the work, and what attempts have read that was never there.
//!
//! What aborted counts as work: it took time, too, and what it read tells when it happened (`attempts.rs`). With few keys and some
//! values, this and what was read say more than how far sessions are with their operations.

use super::attempts::Attempts;
use super::kept::Word;
use super::program::Program;

/// A session that is as far from its share as chance has it is as bad as this much of what reads tell, in steps of 1/64 bit.
const UNEVENNESS: u128 = 1_600;

/// What an attempt that aborted has read, and what was never there, is as bad as so many steps of 1/64 bit.
const MISSED: i64 = 640;

/// What it costs to be far from one's share.
#[derive(Debug)]
pub(super) struct Shares {
    /// What attempts have found, in words of the state.
    pub(super) notes: Attempts,
}

impl Shares {
    /// For states with so many words before the notes.
    pub(super) fn new(program: &Program, n_exact: usize) -> Self {
        Self { notes: Attempts::new(program, n_exact) }
    }

    /// How unlikely a state is with so many commits, in steps of 1/64 bit. What places cost is looked up.
    pub(super) fn cost(&self, program: &Program, n_done: usize, state: &[Word], near: &mut Vec<NearPlaces>) -> i64 {
        let places = &state[..program.sessions.len()];
        if near.is_empty() {
            near.extend(places.iter().map(|it| NearPlaces::around(usize::from(*it))));
        }
        let mut cost = MISSED * self.notes.n_missed(state);
        for (session, (place, near)) in places.iter().zip(near).enumerate() {
            let place = usize::from(*place);
            cost += near.get_or(place, || unevenness(program, n_done, session, place));
        }
        cost
    }
}

/// What is known about places of a session that are not far from the first one that was asked for.
#[derive(Clone, Debug)]
pub(super) struct NearPlaces {
    first: usize,
    costs: [i64; N_NEAR],
}

const N_NEAR: usize = 64;
const NOT_ASKED: i64 = i64::MAX;

impl NearPlaces {
    fn around(place: usize) -> Self {
        Self { first: place.saturating_sub(N_NEAR / 2), costs: [NOT_ASKED; N_NEAR] }
    }

    fn get_or(&mut self, place: usize, compute: impl Fn() -> i64) -> i64 {
        let known = place.checked_sub(self.first).and_then(|it| self.costs.get_mut(it));
        match known {
            Some(known) if *known != NOT_ASKED => *known,
            Some(known) => {
                *known = compute();
                *known
            }
            None => compute(),
        }
    }
}

/// How unlikely it is that a session is at a place when so many transactions have committed: the square of how far it is from
/// its share, by how far it is from it usually.
fn unevenness(program: &Program, n_done: usize, session: usize, place: usize) -> i64 {
    let whole = 1 << 32;
    let share = program.moments.get(n_done).map_or(whole, |it| u128::from(*it));
    let tasks = &program.sessions[session];
    let n_begun = u128::from(program.n_begun[session]);
    // Between what it did last and what it does next, it may be anywhere.
    let first = place.checked_sub(1).map_or(0, |it| u128::from(tasks[it].nth));
    let last = tasks.get(place).map_or(n_begun, |it| u128::from(it.nth) + 1);
    let due = share * n_begun;
    let distance = (first * whole).saturating_sub(due).max(due.saturating_sub(last * whole)) >> 16;
    // That of a walk from the one end to the other.
    let variance = ((n_begun * share * (whole - share)) >> 32) + whole;
    i64::try_from(UNEVENNESS * distance * distance / variance).unwrap_or(i64::MAX >> 16).min(i64::MAX >> 16)
}

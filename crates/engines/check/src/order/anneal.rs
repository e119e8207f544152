//! Annealing: change an order at random, one event at a time, and tolerate less and less what misfits.
//!
//! With few values, no read says much by itself, and whoever fixes an order from its beginning finds out late that an
//! early choice was wrong. Here all reads speak at once: an event moves to another place between its neighbours in
//! its session; if more reads find what they saw, that is kept, and if fewer do, it is kept sometimes, more and more
//! rarely. What reads say is local, in time as well as in keys, so that a move costs little and mistakes heal
//! where they are. What is found is right, and what is not found says nothing.
//! Cost: for each move, the touches of an event times those that it passes on a key; moves are rounds times events.

mod board;
#[cfg(test)]
mod tests;

use crate::forward::Program;
use board::{Board, Node};
use iso_evidence::{Budget, StopReason};
use iso_history::TxnId;

/// The order that came out.
#[derive(Debug)]
pub(super) struct Annealed {
    pub(super) commits: Vec<TxnId>,
    /// So many reads find something else than they saw, and so many commits overwrite what they could not see.
    pub(super) n_misfits: usize,
}

/// One misfit more is tolerated once in two to the power of this, in steps of 1/64: at first, and in the end.
const FIRST_SEVERITY: u64 = 64 * 5 / 2;
const LAST_SEVERITY: u64 = 64 * 8;

/// The budget is asked once for so many moves.
const MOVES_PER_QUESTION: u64 = 4_096;

/// Anneals an order, moving each event about so often.
pub(super) fn anneal(
    program: &Program,
    commits: &[TxnId],
    n_rounds: u32,
    budget: &Budget<'_>,
) -> Result<Annealed, StopReason> {
    let mut board = Board::new(program, commits);
    let mut random = Random(u64::from(n_rounds));
    let n_nodes = board.n_nodes() as u64;
    let n_moves = n_nodes * u64::from(n_rounds);
    let mut tolerance = Tolerance::default();
    for nth in 0..n_moves {
        if nth % MOVES_PER_QUESTION == 0 {
            budget.check()?;
            tolerance = Tolerance::new(FIRST_SEVERITY + (LAST_SEVERITY - FIRST_SEVERITY) * nth / n_moves);
        }
        if board.n_misfits() == 0 {
            break;
        }
        let node = random.below(n_nodes) as Node;
        let (first, last) = board.room(node);
        let place = first + random.below(u64::from(last - first) + 1) as u32;
        if place == board.place(node) {
            continue;
        }
        let change = board.change(node, place);
        if change <= 0 || tolerance.allows(change as usize, &mut random) {
            board.apply(node, place, change);
        }
    }
    Ok(Annealed { commits: board.commits(), n_misfits: board.n_misfits() })
}

/// How often a change for the worse is kept.
#[derive(Debug, Default)]
struct Tolerance([u32; 16]);

impl Tolerance {
    fn new(severity: u64) -> Self {
        let mut chances = [0; 16];
        for (n_more, chance) in (0..).zip(&mut chances) {
            // Straight between powers of two, in whole numbers: the same on every machine.
            let (n_halves, rest) = (n_more * severity / 64, n_more * severity % 64);
            *chance = ((u64::from(u32::MAX) - u64::from(u32::MAX) * rest / 128) >> n_halves.min(63)) as u32;
        }
        Self(chances)
    }

    fn allows(&self, n_more: usize, random: &mut Random) -> bool {
        self.0.get(n_more).is_some_and(|it| (random.next() >> 32) as u32 <= *it && *it > 0)
    }
}

/// Numbers that look random, the same each time. Source: Steele, Lea & Flood 2014 (split-mix).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not zero and below 2 to the power of 32.
    fn below(&mut self, bound: u64) -> u64 {
        ((self.next() >> 32) * bound) >> 32
    }
}

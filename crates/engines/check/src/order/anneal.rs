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

pub(super) use board::Board;
use board::Node;
use iso_evidence::{Budget, StopReason};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// What is tolerated at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heat {
    /// So much that hardly anything is left of the order.
    High,
    /// Mistakes move and meet, but what fits in the large remains.
    Low,
}

/// One misfit more is tolerated once in two to the power of this, in steps of 1/64: at first, and before the end.
const FIRST_SEVERITY: u64 = 64 * 5 / 2;
const FIRST_SEVERITY_IF_LOW: u64 = 64 * 9 / 2;
const LAST_SEVERITY: u64 = 64 * 8;

/// In the last of so many parts, nothing is tolerated any more.
const N_PARTS: u64 = 12;
const FROZEN: u64 = 64 * 32;

/// The budget is asked once for so many moves.
const MOVES_PER_QUESTION: u64 = 4_096;

/// Anneals an order twice at once, moving each event about so often, and takes the better outcome.
///
/// Which one that is does not depend on who is faster: the second one counts only if the first one came to its end, and
/// left something that misfits.
pub(super) fn anneal(board: &Board, heat: Heat, n_rounds: u32, budget: &Budget<'_>) -> Result<Board, StopReason> {
    let (mut one, mut other) = (board.clone(), board.clone());
    let seed = 2 * u64::from(n_rounds);
    if cfg!(target_arch = "wasm32") {
        // There are no threads, so one waits for the other.
        anneal_once(&mut one, heat, n_rounds, seed, budget)?;
        if one.n_misfits() > 0 {
            anneal_once(&mut other, heat, n_rounds, seed + 1, budget)?;
        }
        return Ok(if one.n_misfits() <= other.n_misfits() { one } else { other });
    }
    let is_needless = AtomicBool::new(false);
    thread::scope(|scope| {
        let task = scope.spawn(|| {
            let stop = || is_needless.load(Ordering::Relaxed).then_some(StopReason::Steps);
            anneal_once(&mut other, heat, n_rounds, seed + 1, &Budget::new(&stop))
        });
        let annealed = anneal_once(&mut one, heat, n_rounds, seed, budget);
        is_needless.store(annealed.is_err() || one.n_misfits() == 0, Ordering::Relaxed);
        // It stops early only if nobody looks at what it did.
        let _other = task.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        annealed
    })?;
    Ok(if one.n_misfits() <= other.n_misfits() { one } else { other })
}

fn anneal_once(board: &mut Board, heat: Heat, n_rounds: u32, seed: u64, budget: &Budget<'_>) -> Result<(), StopReason> {
    let mut random = Random(seed);
    let n_nodes = board.n_nodes() as u64;
    let n_moves = n_nodes * u64::from(n_rounds);
    let mut tolerance = Tolerance::default();
    for nth in 0..n_moves {
        if nth % MOVES_PER_QUESTION == 0 {
            budget.check()?;
            tolerance = Tolerance::new(severity(heat, nth, n_moves));
        }
        if board.n_misfits() == 0 {
            break;
        }
        let node = random.below(n_nodes) as Node;
        match board.start_and_commit(node) {
            Some(pair) if random.below(2) == 0 => move_both(board, pair, &tolerance, &mut random),
            _ => move_one(board, node, &tolerance, &mut random),
        }
    }
    Ok(())
}

fn severity(heat: Heat, nth: u64, n_moves: u64) -> u64 {
    let first = if heat == Heat::High { FIRST_SEVERITY } else { FIRST_SEVERITY_IF_LOW };
    let n_warm = n_moves - n_moves / N_PARTS;
    if nth < n_warm { first + (LAST_SEVERITY - first) * nth / n_warm } else { FROZEN }
}

/// Moves an event anywhere between its neighbours, if that is tolerated.
fn move_one(board: &mut Board, node: Node, tolerance: &Tolerance, random: &mut Random) {
    let (first, last) = board.room(node);
    let place = first + random.below(u64::from(last - first) + 1) as u32;
    if place == board.place(node) {
        return;
    }
    let change = board.change(node, place);
    if tolerance.allows(change, random) {
        board.apply(node, place, change);
    }
}

/// Moves start and commit of a transaction anywhere between their neighbours, if that is tolerated.
fn move_both(board: &mut Board, (start, commit): (Node, Node), tolerance: &Tolerance, random: &mut Random) {
    let (first, last) = (board.room(start).0, board.room(commit).1);
    let one = first + random.below(u64::from(last - first) + 1) as u32;
    let other = first + random.below(u64::from(last - first)) as u32;
    let other = if other >= one { other + 1 } else { other };
    let mut moves = [(start, one.min(other)), (commit, one.max(other))];
    // Neither passes the other one on its way.
    if moves[1].1 >= board.place(commit) {
        moves.reverse();
    }
    let [one, other] = moves;
    let back = board.place(one.0);
    let first_change = board.change(one.0, one.1);
    board.apply(one.0, one.1, first_change);
    let change = board.change(other.0, other.1);
    if tolerance.allows(first_change + change, random) {
        board.apply(other.0, other.1, change);
    } else {
        board.apply(one.0, back, -first_change);
    }
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

    fn allows(&self, n_more: i32, random: &mut Random) -> bool {
        let chance = self.0.get(n_more.unsigned_abs() as usize);
        n_more <= 0 || chance.is_some_and(|it| ((random.next() >> 32) as u32) < *it)
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

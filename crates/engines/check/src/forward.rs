//! Forward execution over values: run sessions step by step, and keep the states from which it looks easy to go on.
//!
//! With few values many writers look alike, and a search over pairs of writers learns little from its conflicts. A
//! state of an execution forgets who wrote: it is the next transaction of each session, the version of each key and,
//! where transactions read from snapshots, who has taken one. A transaction commits if it finds what it read; whoever
//! only reads commits at once, and a snapshot is taken as soon as it fits, since nothing is lost by either. For each
//! number of commits the best states are kept (a beam); what is reached by many ways is one state.
//! What is found is right, and what is not found says nothing, since states were left out.
//! Cost: width times transactions times sessions, times the reads of a transaction.

mod attempts;
mod in_step;
mod kept;
mod program;
mod progress;
mod shares;
mod state;
#[cfg(test)]
mod tests;
mod told;

use crate::order::Frame;
use crate::rule::Visibility;
pub(crate) use in_step::{FAR, Merit, run_in_step};
use iso_evidence::{Budget, StopReason};
use iso_history::TxnId;
pub(crate) use program::{Program, Version};
pub(crate) use progress::Reading;
use rustc_hash::FxHashSet;
use state::{Cost, State};
use std::collections::BTreeMap;

/// How to look for an execution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aim {
    /// States that are kept for each number of commits.
    pub(crate) width: usize,
    /// Whoever ended so long before a transaction began is committed before it; nothing if times do not matter.
    pub(crate) slack: Option<i64>,
    /// Which states are the best ones?
    pub(crate) taste: Taste,
}

/// What makes a state look good. None is better than the others, and they fail on different histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taste {
    /// Reads that are left find their versions easily, if writers come in any order, and many sessions can go on now.
    Likely,
    /// No session must wait long, if versions stayed for ever once they are written.
    Soon,
}

impl Taste {
    /// All of them.
    pub(crate) const ALL: [Self; 2] = [Self::Likely, Self::Soon];
}

/// How far an execution came.
#[derive(Debug)]
pub(crate) enum Run {
    /// To the end.
    Whole(Vec<TxnId>),
    /// So far: a first part of an order.
    Part(Vec<TxnId>),
    /// There is no execution: all of them were tried.
    Nothing,
}

/// Runs a history forward.
pub(crate) fn run(program: &Program, aim: Aim, budget: &Budget<'_>) -> Result<Run, StopReason> {
    Beam { program, aim, generations: BTreeMap::new(), steps: Vec::new() }.run(budget)
}

/// Is there no execution at all? False also if there are too many states to say.
pub(crate) fn is_stuck(frame: &Frame<'_>, budget: &Budget<'_>) -> Result<bool, StopReason> {
    let program = Program::new(frame).filter(Program::has_small_states);
    let Some(program) = program.filter(|_| frame.rule.visibility == Visibility::Everything) else { return Ok(false) };
    in_step::has_none(&program, MAX_WIDTH, budget)
}

/// A state that may be gone on from.
#[derive(Clone, Copy, Debug)]
struct Kept {
    cost: Cost,
    hash: u64,
    missing: u32,
    /// The last step that led to it.
    step: u32,
    /// Where its words begin.
    start: usize,
}

/// The states with one number of commits.
#[derive(Debug, Default)]
struct Generation {
    kept: Vec<Kept>,
    words: Vec<u32>,
    seen: FxHashSet<u64>,
    /// Whatever costs more is not kept any more.
    worst: Option<Cost>,
}

/// A commit of a session, after another step.
#[derive(Clone, Copy, Debug)]
struct Step {
    before: u32,
    session: u32,
}

const NO_STEP: u32 = u32::MAX;

/// So much may be kept for each number of commits: 64 MB.
const MAX_WORDS: usize = 16 << 20;

/// So many states for each number of commits, to find out that there is no execution.
const MAX_WIDTH: usize = 1 << 19;

/// The budget is asked once for so many states.
const STATES_PER_QUESTION: usize = 64;

struct Beam<'p> {
    program: &'p Program,
    aim: Aim,
    generations: BTreeMap<usize, Generation>,
    steps: Vec<Step>,
}

impl<'p> Beam<'p> {
    fn run(mut self, budget: &Budget<'_>) -> Result<Run, StopReason> {
        let mut state = State::new(self.program, self.aim);
        let n_words = state.words().len();
        self.aim.width = self.aim.width.min(MAX_WORDS / n_words).max(1);
        let (mut furthest, mut n_expanded) = (NO_STEP, 0);
        if state.settle() {
            self.keep(&state, NO_STEP);
        }
        while let Some((n_done, mut generation)) = self.generations.pop_first() {
            generation.shrink(self.aim.width, n_words);
            let Some(best) = generation.kept.first() else { continue };
            furthest = best.step;
            if n_done == self.program.n_tasks {
                return Ok(Run::Whole(order_of(self.program, sessions_of(&self.steps, furthest))));
            }
            for kept in &generation.kept {
                if n_expanded % STATES_PER_QUESTION == 0 {
                    budget.check()?;
                }
                n_expanded += 1;
                state.load(&generation.words[kept.start..kept.start + n_words], kept.missing, n_done);
                self.expand(&mut state, *kept);
            }
        }
        Ok(Run::Part(order_of(self.program, sessions_of(&self.steps, furthest))))
    }

    fn expand(&mut self, state: &mut State<'p>, kept: Kept) {
        for session in 0..self.program.sessions.len() {
            if state.can_commit(session) {
                if state.commit(session) && state.settle() && state.looks_alive() {
                    self.keep(state, kept.step);
                }
                state.change_back(kept.missing);
            }
        }
    }

    fn keep(&mut self, state: &State<'p>, before: u32) {
        let generation = self.generations.entry(state.n_done()).or_default();
        let (cost, hash) = (state.cost(), state.hash());
        if generation.worst.is_some_and(|it| it < cost) || !generation.seen.insert(hash) {
            return;
        }
        let mut step = before;
        for session in &state.commits {
            self.steps.push(Step { before: step, session: *session });
            step = self.steps.len() as u32 - 1;
        }
        let start = generation.words.len();
        generation.words.extend(state.words());
        generation.kept.push(Kept { cost, hash, missing: state.missing(), step, start });
        if generation.kept.len() >= 2 * self.aim.width {
            generation.shrink(self.aim.width, state.words().len());
        }
    }
}

/// The sessions that committed up to a step, the last one first.
fn sessions_of(steps: &[Step], mut step: u32) -> Vec<usize> {
    let mut sessions = Vec::new();
    while let Some(found) = steps.get(step as usize) {
        sessions.push(found.session as usize);
        step = found.before;
    }
    sessions
}

/// The transactions with which these sessions committed, the last one of them first, in their order.
fn order_of(program: &Program, sessions: Vec<usize>) -> Vec<TxnId> {
    let mut places = vec![0; program.sessions.len()];
    let mut next = |session: usize| {
        places[session] += 1;
        program.sessions[session][places[session] - 1].txn
    };
    sessions.into_iter().rev().map(&mut next).collect()
}

/// The logarithm to the base of 2 in steps of 1/64, straight between powers of 2; of 0 as of 1.
fn log(n: u32) -> u32 {
    let n_bits = n.max(1).ilog2();
    64 * n_bits + ((n.max(1) << 6) >> n_bits) - 64
}

impl Generation {
    /// Keeps the best states only, best first.
    fn shrink(&mut self, width: usize, n_words: usize) {
        self.kept.sort_unstable_by_key(|it| (it.cost, it.hash));
        if self.kept.len() <= width {
            return;
        }
        self.kept.truncate(width);
        self.worst = self.kept.last().map(|it| it.cost);
        let mut words = Vec::with_capacity(2 * width * n_words);
        for kept in &mut self.kept {
            let start = words.len();
            words.extend(&self.words[kept.start..kept.start + n_words]);
            kept.start = start;
        }
        self.words = words;
    }
}

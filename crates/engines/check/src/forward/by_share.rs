//! Forward execution of sessions that have done about the same share of their work at any time.
//!
//! As in `in_step.rs`, with smaller states, so that far more of them are kept. The best states are those in which the most has
//! been read that chance would not have found, and in which no session is far from its share. What aborted counts as work: it took time, too, and
//! what it read tells when it happened (`attempts.rs`). With few keys and some values, what was read says more than how far
//! sessions are with their operations.
//! Cost: width times transactions times sessions, times the reads of a transaction.

use super::attempts::Attempts;
use super::program::{Program, Task, Version};
use super::{NO_STEP, Run, Step, log, order_of, sessions_of};
use crate::rule::Events;
use iso_evidence::{Budget, StopReason};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A session that is as far from its share as chance has it is as bad as this much of what reads tell, in steps of 1/64 bit.
const UNEVENNESS: u128 = 1_600;

/// What an attempt that aborted has read, and what was never there, is as bad as so many steps of 1/64 bit.
const MISSED: u64 = 640;

/// The budget is asked once for so many states.
const STATES_PER_QUESTION: usize = 256;

/// So much may be kept for each number of commits: 64 MB.
const MAX_WORDS: usize = 32 << 20;

/// Executes a history, with so many states for each number of commits.
pub(crate) fn run_by_share(program: &Program, width: usize, budget: &Budget<'_>) -> Result<Run, StopReason> {
    March::new(program, width).run(budget)
}

/// Places of sessions, versions of keys, and who has a snapshot, a bit each; then what attempts have found.
pub(super) type Word = u16;

#[derive(Clone, Copy, Debug)]
struct Kept {
    cost: u64,
    hash: u64,
    step: u32,
    /// Where its words begin.
    start: u32,
}

/// The states with one number of commits.
#[derive(Debug)]
struct Generation {
    kept: Vec<Kept>,
    words: Vec<Word>,
    /// Which of the kept states has this number.
    seen: FxHashMap<u64, u32>,
    /// For each session, what it costs to be at some place now, with what is still to be read: as far as it was asked for.
    costs: Vec<NearPlaces>,
    /// Whatever costs more is not kept any more.
    worst: u64,
}

/// What is known about places of a session that are not far from the first one that was asked for.
#[derive(Clone, Debug)]
struct NearPlaces {
    first: usize,
    costs: [u64; N_NEAR],
}

const N_NEAR: usize = 64;
const NOT_ASKED: u64 = u64::MAX;

impl NearPlaces {
    fn around(place: usize) -> Self {
        Self { first: place.saturating_sub(N_NEAR / 2), costs: [NOT_ASKED; N_NEAR] }
    }

    fn get_or(&mut self, place: usize, compute: impl Fn() -> u64) -> u64 {
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

struct March<'p> {
    program: &'p Program,
    width: usize,
    n_words: usize,
    /// Words that make a state what it is; those after them say only how likely it is.
    n_exact: usize,
    attempts: Attempts,
    /// By version, what a read of it tells.
    told_by: Vec<u64>,
    /// By session and place, what its reads from there on tell.
    told: Vec<Vec<u64>>,
    /// By session and version, the place after the last task that writes it.
    last_writes: Vec<Vec<Word>>,
    generations: BTreeMap<usize, Generation>,
    steps: Vec<Step>,
    /// Were there more states than are kept?
    is_cut: bool,
    /// The state at work, and those who committed since it was loaded.
    state: Vec<Word>,
    commits: Vec<u32>,
}

impl<'p> March<'p> {
    fn new(program: &'p Program, width: usize) -> Self {
        let n_sessions = program.sessions.len();
        let mut state = vec![0; n_sessions];
        state.extend(program.initial.iter().map(|it| *it as Word));
        state.extend(std::iter::repeat_n(0, n_sessions.div_ceil(16)));
        let n_exact = state.len();
        let attempts = Attempts::new(program, n_exact);
        state.extend(std::iter::repeat_n(0, attempts.n_words()));
        let n_words = state.len();
        let n_writers_of_key = |key: u32| -> u32 {
            program.versions_of(key).iter().map(|it| u32::from(program.n_writers[*it as usize])).sum()
        };
        let told = |(key, n_writers): (&u32, &u16)| {
            u64::from(log(1 + n_writers_of_key(*key)).saturating_sub(log(1 + u32::from(*n_writers))))
        };
        let told_by: Vec<u64> = program.key.iter().zip(&program.n_writers).map(told).collect();
        let told_from = |tasks: &Vec<Task>| {
            let mut told = vec![0; tasks.len() + 1];
            for (place, task) in tasks.iter().enumerate().rev() {
                told[place] = told[place + 1] + task.reads.iter().map(|it| told_by[*it as usize]).sum::<u64>();
            }
            told
        };
        Self {
            program,
            width: width.min(MAX_WORDS / n_words / 3).max(1),
            n_words,
            n_exact,
            attempts,
            told: program.sessions.iter().map(told_from).collect(),
            told_by,
            last_writes: program.sessions.iter().map(|it| last_writes(program, it)).collect(),
            generations: BTreeMap::new(),
            steps: Vec::new(),
            is_cut: false,
            state,
            commits: Vec::new(),
        }
    }

    fn run(mut self, budget: &Budget<'_>) -> Result<Run, StopReason> {
        let (mut furthest, mut n_expanded) = (NO_STEP, 0);
        self.attempts.begin(self.program, &mut self.state);
        self.settle();
        self.keep(0, NO_STEP);
        self.commits.clear();
        while let Some((n_done, mut generation)) = self.generations.pop_first() {
            self.is_cut |= generation.shrink(self.width, self.n_words);
            let best = generation.kept.iter().min_by_key(|it| (it.cost, it.hash));
            furthest = best.map_or(furthest, |it| it.step);
            if n_done == self.program.n_tasks {
                return Ok(Run::Whole(order_of(self.program, sessions_of(&self.steps, furthest))));
            }
            for kept in &generation.kept {
                if n_expanded % STATES_PER_QUESTION == 0 {
                    budget.check()?;
                }
                n_expanded += 1;
                let words = &generation.words[kept.start as usize..kept.start as usize + self.n_words];
                self.state.copy_from_slice(words);
                for session in 0..self.program.sessions.len() {
                    if self.can_commit(session) {
                        self.commit(session);
                        self.settle();
                        self.keep(n_done, kept.step);
                        self.state.copy_from_slice(words);
                        self.commits.clear();
                    }
                }
            }
        }
        if !self.is_cut {
            return Ok(Run::Nothing);
        }
        Ok(Run::Part(order_of(self.program, sessions_of(&self.steps, furthest))))
    }

    /// Does a session wait for a version that nobody else is going to write?
    fn waits_for_ever(&self) -> bool {
        let n_sessions = self.program.sessions.len();
        let is_missing = |session: usize, version: &Version| {
            let present = self.state[n_sessions + self.program.key[*version as usize] as usize];
            let writes = |it: usize| it != session && self.last_writes[it][*version as usize] > self.state[it];
            u32::from(present) != *version && !(0..n_sessions).any(writes)
        };
        (0..n_sessions)
            .filter(|it| !self.has_snapshot(*it))
            .any(|session| self.head(session).is_some_and(|task| task.reads.iter().any(|it| is_missing(session, it))))
    }

    fn head(&self, session: usize) -> Option<&'p Task> {
        self.program.sessions[session].get(usize::from(self.state[session]))
    }

    fn fits(&self, task: &Task) -> bool {
        let n_sessions = self.program.sessions.len();
        let present = |it: Version| self.state[n_sessions + self.program.key[it as usize] as usize];
        task.reads.iter().all(|it| u32::from(present(*it)) == *it)
    }

    /// Where the bit of a session's snapshot is.
    fn snapshot(&self, session: usize) -> (usize, Word) {
        (self.program.sessions.len() + self.program.initial.len() + session / 16, 1 << (session % 16))
    }

    fn has_snapshot(&self, session: usize) -> bool {
        let (idx, bit) = self.snapshot(session);
        self.state[idx] & bit != 0
    }

    fn can_commit(&self, session: usize) -> bool {
        match self.head(session) {
            None => false,
            Some(task) if self.program.events == Events::One => self.fits(task),
            Some(_) => self.has_snapshot(session),
        }
    }

    fn commit(&mut self, session: usize) {
        let Some(task) = self.head(session) else { return };
        let n_sessions = self.program.sessions.len();
        for version in &task.writes {
            self.state[n_sessions + self.program.key[*version as usize] as usize] = *version as Word;
        }
        self.attempts.leave(task, session, &mut self.state);
        self.state[session] += 1;
        self.attempts.look(self.program, session, &mut self.state);
        self.commits.push(session as u32);
        if self.program.events == Events::One {
            return;
        }
        let (idx, bit) = self.snapshot(session);
        self.state[idx] &= !bit;
        if self.program.events == Events::FirstCommitterWins {
            // Whoever writes what was just written needs another snapshot.
            for other in 0..n_sessions {
                let (idx, bit) = self.snapshot(other);
                if self.state[idx] & bit != 0 && self.head(other).is_some_and(|it| self.program.conflict(it, task)) {
                    self.state[idx] &= !bit;
                }
            }
        }
    }

    /// Takes snapshots where reads fit, and commits whoever only reads: nothing is lost by that.
    fn settle(&mut self) {
        for session in 0..self.program.sessions.len() {
            while let Some(task) = self.head(session) {
                if !self.has_snapshot(session) {
                    if !self.fits(task) {
                        break;
                    }
                    if self.program.events != Events::One {
                        let (idx, bit) = self.snapshot(session);
                        self.state[idx] |= bit;
                    }
                }
                if !task.writes.is_empty() {
                    break;
                }
                self.commit(session);
            }
        }
    }

    fn keep(&mut self, n_before: usize, before: u32) {
        if self.waits_for_ever() {
            return;
        }
        let n_done = n_before + self.commits.len();
        let (program, width, n_words) = (self.program, self.width, self.n_words);
        let places = &self.state[..program.sessions.len()];
        let generation = self.generations.entry(n_done).or_insert_with(|| Generation::new(places));
        let mut cost = 0;
        for session in 0..program.sessions.len() {
            let place = usize::from(self.state[session]);
            cost += generation.costs[session]
                .get_or(place, || self.told[session][place] + unevenness(program, n_done, session, place));
            let word = self.state[program.sessions.len() + program.initial.len() + session / 16];
            let has_snapshot = word & (1 << (session % 16)) != 0;
            // What it finds now is as good as read.
            for read in program.sessions[session].get(place).into_iter().flat_map(|it| &it.reads) {
                let present = self.state[program.sessions.len() + program.key[*read as usize] as usize];
                if has_snapshot || u32::from(present) == *read {
                    cost -= self.told_by[*read as usize];
                }
            }
        }
        cost += MISSED * self.attempts.n_missed(&self.state);
        if cost > generation.worst {
            return;
        }
        let hash = hash(&self.state[..self.n_exact]);
        if let Some(idx) = generation.seen.get(&hash) {
            let kept = &mut generation.kept[*idx as usize];
            kept.cost = kept.cost.min(cost);
            let start = kept.start as usize;
            self.attempts.join(&mut generation.words[start..start + n_words], &self.state);
            return;
        }
        generation.seen.insert(hash, generation.kept.len() as u32);
        let mut step = before;
        for session in &self.commits {
            self.steps.push(Step { before: step, session: *session });
            step = self.steps.len() as u32 - 1;
        }
        let start = generation.words.len() as u32;
        generation.words.extend_from_slice(&self.state);
        generation.kept.push(Kept { cost, hash, step, start });
        if generation.kept.len() >= 3 * width {
            self.is_cut |= generation.shrink(width, n_words);
        }
    }
}

/// By version, the place after the last of these tasks that writes it.
fn last_writes(program: &Program, tasks: &[Task]) -> Vec<Word> {
    let mut last = vec![0; program.key.len()];
    for (place, task) in (1..).zip(tasks) {
        for version in &task.writes {
            last[*version as usize] = place;
        }
    }
    last
}

impl Generation {
    fn new(places: &[Word]) -> Self {
        let costs = places.iter().map(|it| NearPlaces::around(usize::from(*it))).collect();
        Self { kept: Vec::new(), words: Vec::new(), seen: FxHashMap::default(), costs, worst: u64::MAX }
    }

    /// Keeps the best states only; says whether there were more.
    fn shrink(&mut self, width: usize, n_words: usize) -> bool {
        if self.kept.len() <= width {
            return false;
        }
        self.kept.select_nth_unstable_by_key(width - 1, |it| (it.cost, it.hash));
        self.kept.truncate(width);
        // In the order in which they were found, whatever else was selected: equal inputs give equal answers.
        self.kept.sort_unstable_by_key(|it| it.start);
        self.worst = self.kept.iter().map(|it| it.cost).max().unwrap_or(u64::MAX);
        for (nth, kept) in self.kept.iter_mut().enumerate() {
            let start = kept.start as usize;
            self.words.copy_within(start..start + n_words, nth * n_words);
            kept.start = (nth * n_words) as u32;
        }
        self.words.truncate(width * n_words);
        self.seen.clear();
        self.seen.extend((0..).zip(&self.kept).map(|(nth, it)| (it.hash, nth)));
        true
    }
}

/// How unlikely it is that a session is at a place when so many transactions have committed: the square of how far it is from
/// its share, by how far it is from it usually.
fn unevenness(program: &Program, n_done: usize, session: usize, place: usize) -> u64 {
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
    u64::try_from(UNEVENNESS * distance * distance / variance).unwrap_or(u64::MAX >> 16).min(u64::MAX >> 16)
}

/// Equal states have equal numbers.
fn hash(state: &[Word]) -> u64 {
    let mut hash = 0u64;
    for words in state.chunks(4) {
        let word = words.iter().fold(0, |sum: u64, it| sum << 16 | u64::from(*it));
        hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
    // The last words have come only to some of the bits.
    (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

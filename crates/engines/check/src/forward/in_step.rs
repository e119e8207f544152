//! Forward execution with small states, of which many are kept: how far each session is, what each key holds, who has a
//! snapshot.
//!
//! The best states are those that are likely, judged by how far sessions probably are with their operations
//! (`progress.rs`), or by what was read so far (`told.rs`). A state is left out for good if a session waits for a version that nobody is going to write. If no other
//! state was left out, and none came to the end, there is no execution at all.
//! Two hands share the work, each with half of the states and a place of its own for what comes of them; who is faster makes
//! no difference.
//! Cost: width times transactions times sessions, times what one of them may do next.

use super::program::{Program, Task, Version};
use super::progress::{Belief, Block, Progress, Reading};
use super::told::Told;
use super::{NO_STEP, Run, Step, order_of};
use crate::rule::Events;
use iso_evidence::{Budget, StopReason};
use iso_history::TxnId;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::thread;

/// What makes a state better than others?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merit {
    /// That sessions are about as far with their operations as the others, if they read like this.
    Progress(Reading),
    /// That much was read that chance would not have found.
    Told,
}

/// Fewer states are not shared.
const WORTH_SHARING: usize = 32;

const N_HANDS: usize = 2;

/// So much may be kept for each number of commits: 128 MB.
const MAX_BYTES: usize = 128 << 20;

/// So many times as many states as are kept are there while the best ones are not known.
const N_TIMES: usize = 2;

/// Executes a history, with so many states for each number of commits.
pub(crate) fn run_in_step(
    program: &Program,
    merit: Merit,
    width: usize,
    budget: &Budget<'_>,
) -> Result<Run, StopReason> {
    let ground = Ground::new(program, Some(merit), width);
    March::new(&ground).run(budget)
}

/// Is there no execution, as far as so many states for each number of commits tell?
pub(super) fn has_none(program: &Program, width: usize, budget: &Budget<'_>) -> Result<bool, StopReason> {
    let ground = Ground::new(program, None, width);
    let march = March { stops_if_cut: true, ..March::new(&ground) };
    Ok(matches!(march.run(budget)?, Run::Nothing))
}

/// Places of sessions, versions of keys, and who has a snapshot, a bit each.
type Word = u16;

#[derive(Clone, Copy, Debug)]
struct Kept {
    /// How unlikely it is, in steps of 1/64 bit.
    cost: i64,
    hash: u64,
    step: u32,
    /// Where in its generation it stands.
    nth: u32,
}

/// The states with one number of commits.
#[derive(Debug, Default)]
struct Generation {
    kept: Vec<Kept>,
    words: Vec<Word>,
    /// How far sessions probably are, state by state: steps and weights.
    steps: Vec<u32>,
    blocks: Vec<Block>,
    /// Which of the kept states has this number.
    seen: FxHashMap<u64, u32>,
    /// Whatever costs more is not kept any more.
    worst: Option<i64>,
}

/// What both hands stand on.
struct Ground<'p> {
    program: &'p Program,
    width: usize,
    /// At most one of these; neither if all states are kept, so that none is better.
    progress: Option<Progress>,
    told: Option<Told>,
    /// By session and version, the place after the last task that writes it.
    last_writes: Vec<Vec<Word>>,
    /// Before anything happens.
    state: Vec<Word>,
    belief: Belief,
}

impl<'p> Ground<'p> {
    fn new(program: &'p Program, merit: Option<Merit>, width: usize) -> Self {
        let n_sessions = program.sessions.len();
        let mut state = vec![0; n_sessions];
        state.extend(program.initial.iter().map(|it| *it as Word));
        state.extend(std::iter::repeat_n(0, n_sessions.div_ceil(16)));
        let (progress, told) = match merit {
            Some(Merit::Progress(reading)) => (Some(Progress::new(program, reading)), None),
            Some(Merit::Told) => (None, Some(Told::new(program))),
            None => (None, None),
        };
        let belief = Belief::new(if progress.is_some() { n_sessions } else { 0 });
        let n_bytes = size_of_val(&*state) + size_of_val(&*belief.steps) + size_of_val(&*belief.blocks);
        let width = width.min(MAX_BYTES / n_bytes / N_TIMES / N_HANDS).max(1);
        let last_writes = program.sessions.iter().map(|it| last_writes(program, it)).collect();
        Self { program, width, progress, told, last_writes, state, belief }
    }
}

struct March<'g> {
    ground: &'g Ground<'g>,
    hands: [Hand<'g>; N_HANDS],
    /// Were there more states than are kept?
    is_cut: bool,
    stops_if_cut: bool,
}

impl<'g> March<'g> {
    fn new(ground: &'g Ground<'g>) -> Self {
        Self { ground, hands: std::array::from_fn(|nth| Hand::new(ground, nth)), is_cut: false, stops_if_cut: false }
    }

    fn run(mut self, budget: &Budget<'_>) -> Result<Run, StopReason> {
        let mut furthest = NO_STEP;
        let [first, _] = &mut self.hands;
        first.settle();
        first.keep(0, NO_STEP);
        while let Some((n_done, generations)) = self.next_generation() {
            budget.check()?;
            let kept = self.best_of(&generations);
            furthest = kept.first().map_or(furthest, |it| it.1.step);
            if n_done == self.ground.program.n_tasks {
                return Ok(Run::Whole(self.order_of(furthest)));
            }
            if self.is_cut && self.stops_if_cut {
                break;
            }
            self.expand(n_done, &kept, &generations);
        }
        if !self.is_cut {
            return Ok(Run::Nothing);
        }
        Ok(Run::Part(self.order_of(furthest)))
    }

    /// The states with the fewest commits, and how many these are.
    fn next_generation(&mut self) -> Option<(usize, [Generation; N_HANDS])> {
        let first = |it: &Hand<'_>| it.generations.first_key_value().map(|it| *it.0);
        let n_done = self.hands.iter().filter_map(first).min()?;
        Some((n_done, self.hands.each_mut().map(|it| it.generations.remove(&n_done).unwrap_or_default())))
    }

    /// The states to go on with, the best one first, each with the hand that has it.
    fn best_of(&mut self, generations: &[Generation; N_HANDS]) -> Vec<(usize, Kept)> {
        let with_hand =
            |(hand, it): (usize, &Generation)| it.kept.iter().map(move |it| (hand, *it)).collect::<Vec<_>>();
        let mut kept: Vec<(usize, Kept)> = generations.iter().enumerate().flat_map(with_hand).collect();
        kept.sort_unstable_by_key(|it| (it.1.hash, it.1.cost, it.0));
        kept.dedup_by_key(|it| it.1.hash);
        // What comes of the best ones says what is not worth keeping.
        kept.sort_unstable_by_key(|it| (it.1.cost, it.1.hash));
        self.is_cut |= kept.len() > self.ground.width || self.hands.iter().any(|it| it.is_cut);
        kept.truncate(self.ground.width);
        kept
    }

    /// Lets somebody commit in each state, in all ways.
    fn expand(&mut self, n_done: usize, kept: &[(usize, Kept)], generations: &[Generation; N_HANDS]) {
        let work = |hand: &mut Hand<'_>| {
            for (owner, kept) in kept.iter().skip(hand.nth).step_by(N_HANDS) {
                hand.expand(&generations[*owner], *kept, n_done);
            }
        };
        let [one, other] = &mut self.hands;
        if kept.len() < WORTH_SHARING || cfg!(target_arch = "wasm32") {
            work(one);
            work(other);
            return;
        }
        thread::scope(|scope| {
            scope.spawn(|| work(other));
            work(one);
        });
    }

    /// The transactions that committed up to a step, in their order.
    fn order_of(&self, mut step: u32) -> Vec<TxnId> {
        let mut sessions = Vec::new();
        while let Some(found) = self.hands[step as usize % N_HANDS].steps.get(step as usize / N_HANDS) {
            sessions.push(found.session as usize);
            step = found.before;
        }
        order_of(self.ground.program, sessions)
    }
}

/// Goes on from states, one after the other.
struct Hand<'g> {
    nth: usize,
    ground: &'g Ground<'g>,
    program: &'g Program,
    generations: BTreeMap<usize, Generation>,
    /// Their numbers say which hand has them.
    steps: Vec<Step>,
    is_cut: bool,
    /// The state at work, and those who committed since it was loaded.
    state: Vec<Word>,
    commits: Vec<u32>,
    belief: Belief,
    /// How unlikely the state at work is.
    cost: i64,
}

impl<'g> Hand<'g> {
    fn new(ground: &'g Ground<'g>, nth: usize) -> Self {
        Self {
            nth,
            ground,
            program: ground.program,
            generations: BTreeMap::new(),
            steps: Vec::new(),
            is_cut: false,
            state: ground.state.clone(),
            commits: Vec::new(),
            belief: ground.belief.clone(),
            cost: 0,
        }
    }

    fn expand(&mut self, generation: &Generation, kept: Kept, n_done: usize) {
        let words = generation.words_of(kept, self.state.len());
        self.state.copy_from_slice(words);
        for session in 0..self.program.sessions.len() {
            if self.can_commit(session) {
                self.cost = kept.cost;
                self.commits.clear();
                self.belief.copy_from(generation.belief_of(kept, &self.belief));
                self.commit(session);
                self.settle();
                self.keep(n_done, kept.step);
                self.state.copy_from_slice(words);
            }
        }
    }

    /// Does a session wait for a version that nobody else is going to write?
    fn waits_for_ever(&self) -> bool {
        let n_sessions = self.program.sessions.len();
        let is_missing = |session: usize, version: &Version| {
            let present = self.state[n_sessions + self.program.key[*version as usize] as usize];
            let writes = |it: usize| it != session && self.ground.last_writes[it][*version as usize] > self.state[it];
            u32::from(present) != *version && !(0..n_sessions).any(writes)
        };
        (0..n_sessions)
            .filter(|it| !self.has_snapshot(*it))
            .any(|session| self.head(session).is_some_and(|task| task.reads.iter().any(|it| is_missing(session, it))))
    }

    fn head(&self, session: usize) -> Option<&'g Task> {
        self.program.sessions[session].get(usize::from(self.state[session]))
    }

    fn fits(&self, task: &Task) -> bool {
        let n_sessions = self.program.sessions.len();
        let present = |it: Version| self.state[n_sessions + self.program.key[it as usize] as usize];
        task.reads.iter().all(|it| u32::from(present(*it)) == *it)
    }

    /// What was read so far; what is there now is as good as read.
    fn told(&self, told: &Told) -> i64 {
        let n_sessions = self.program.sessions.len();
        let of_session = |session: usize| {
            let has_snapshot = self.has_snapshot(session);
            let is_there = |version: Version| {
                let present = self.state[n_sessions + self.program.key[version as usize] as usize];
                has_snapshot || u32::from(present) == version
            };
            told.at(session, usize::from(self.state[session]), self.head(session), is_there)
        };
        (0..n_sessions).map(of_session).sum()
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
        if let Some(progress) = self.ground.progress.as_ref().filter(|_| !task.writes.is_empty()) {
            self.cost += progress.commit(session, &self.state[..n_sessions], &mut self.belief);
        }
        for version in &task.writes {
            self.state[n_sessions + self.program.key[*version as usize] as usize] = *version as Word;
        }
        self.state[session] += 1;
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
                    if let Some(progress) = &self.ground.progress {
                        progress.begin_again(other, &self.state[..n_sessions], &mut self.belief);
                    }
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
        let n_done = n_before + self.commits.len();
        if let Some(told) = &self.ground.told {
            self.cost = -self.told(told);
        }
        let hash = hash(&self.state);
        let generation = self.generations.get(&n_done);
        let is_worse = |cost: i64| generation.is_some_and(|it| !it.takes(cost, hash));
        // It can only get less likely.
        if is_worse(self.cost) || self.waits_for_ever() {
            return;
        }
        if let Some(progress) = &self.ground.progress {
            let (places, rest) = self.state.split_at(self.program.sessions.len());
            self.cost += progress.go_on(places, rest, &mut self.belief);
            if is_worse(self.cost) {
                return;
            }
        }
        let mut step = before;
        for session in &self.commits {
            self.steps.push(Step { before: step, session: *session });
            step = ((self.steps.len() - 1) * N_HANDS + self.nth) as u32;
        }
        let generation = self.generations.entry(n_done).or_default();
        generation.put((self.cost, hash, step), &self.state, &self.belief);
        if generation.kept.len() >= N_TIMES * self.ground.width {
            self.is_cut |= generation.shrink(self.ground.width, self.state.len());
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
    fn words_of(&self, kept: Kept, n_words: usize) -> &[Word] {
        &self.words[kept.nth as usize * n_words..][..n_words]
    }

    /// Steps and weights, as many as there are in the other belief.
    fn belief_of(&self, kept: Kept, other: &Belief) -> (&[u32], &[Block]) {
        let (nth, n_steps, n_blocks) = (kept.nth as usize, other.steps.len(), other.blocks.len());
        (&self.steps[nth * n_steps..][..n_steps], &self.blocks[nth * n_blocks..][..n_blocks])
    }

    /// Is a state with this cost and number worth keeping?
    fn takes(&self, cost: i64, hash: u64) -> bool {
        let same = self.seen.get(&hash);
        self.worst.is_none_or(|it| cost <= it) && same.is_none_or(|it| cost < self.kept[*it as usize].cost)
    }

    /// Puts a state there, in place of an equal one if there is one.
    fn put(&mut self, (cost, hash, step): (i64, u64, u32), state: &[Word], belief: &Belief) {
        let new = self.kept.len() as u32;
        let nth = *self.seen.entry(hash).or_insert(new);
        let kept = Kept { cost, hash, step, nth };
        if nth == new {
            self.kept.push(kept);
            self.words.extend_from_slice(state);
            self.steps.extend_from_slice(&belief.steps);
            self.blocks.extend_from_slice(&belief.blocks);
            return;
        }
        self.kept[nth as usize] = kept;
        let nth = nth as usize;
        self.steps[nth * belief.steps.len()..][..belief.steps.len()].copy_from_slice(&belief.steps);
        self.blocks[nth * belief.blocks.len()..][..belief.blocks.len()].copy_from_slice(&belief.blocks);
    }

    /// Keeps the best states only; says whether there were more.
    fn shrink(&mut self, width: usize, n_words: usize) -> bool {
        let n_before = self.kept.len();
        if n_before <= width {
            return false;
        }
        let (n_steps, n_blocks) = (self.steps.len() / n_before, self.blocks.len() / n_before);
        self.kept.select_nth_unstable_by_key(width - 1, |it| (it.cost, it.hash));
        self.kept.truncate(width);
        // In the order in which they were found, whatever else was selected: equal inputs give equal answers.
        self.kept.sort_unstable_by_key(|it| it.nth);
        self.worst = self.kept.iter().map(|it| it.cost).max();
        for (new, kept) in self.kept.iter_mut().enumerate() {
            let old = kept.nth as usize;
            self.words.copy_within(old * n_words..(old + 1) * n_words, new * n_words);
            self.steps.copy_within(old * n_steps..(old + 1) * n_steps, new * n_steps);
            self.blocks.copy_within(old * n_blocks..(old + 1) * n_blocks, new * n_blocks);
            kept.nth = new as u32;
        }
        self.words.truncate(width * n_words);
        self.steps.truncate(width * n_steps);
        self.blocks.truncate(width * n_blocks);
        self.seen.clear();
        self.seen.extend((0..).zip(&self.kept).map(|(nth, it)| (it.hash, nth)));
        true
    }
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

//! Forward execution with small states, of which many are kept: how far each session is, what each key holds, who has a
//! snapshot.
//!
//! The best states are those that are likely, judged by how far sessions probably are with their operations
//! (`progress.rs`), by what was read so far (`told.rs`), or by that and the shares of work that sessions have done (`shares.rs`). A state is left out for good if a
//! session waits for a version that nobody is going to write. If no other state was left out, and none came to the end, there is no execution at all.
//! Where no state can go on, some commits are taken back, and more states are kept until that place is passed.
//! Two hands share the work, each with half of the states and a place of its own for what comes of them; who is faster makes
//! no difference.
//! Cost: width times transactions times sessions, times what one of them may do next; taking back commits makes that at most so many times
//! as much as [`MORE_STATES`] says.

use super::kept::{Generation, Kept, MUCH_LIKELIER, Word, hash};
use super::program::{Program, Task, Version};
use super::progress::{Belief, Progress, Reading};
use super::shares::Shares;
use super::told::Told;
use super::{NO_STEP, Run, Step, order_of};
use crate::rule::Events;
use iso_evidence::{Budget, StopReason};
use iso_history::TxnId;
use std::collections::BTreeMap;
use std::thread;

/// What makes a state better than others?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merit {
    /// That sessions are about as far with their operations as the others, if they read like this.
    Progress(Reading),
    /// The same, by all ways that lead to a state together, and some of what was told besides.
    AllWays(Reading),
    /// That much was read that chance would not have found.
    Told,
    /// That, and that no session is far from its share of the work.
    Share,
}

/// One in so many bits of what was told counts beside progress: reads say how far sessions are, too.
const TOLD_BESIDES: i64 = 3;

/// If so few tasks are left, it is worth asking what all of them read.
const END: usize = 100;

/// Fewer states are not shared.
const WORTH_SHARING: usize = 32;

const N_HANDS: usize = 2;

/// So much may be kept for each number of commits: 128 MB.
const MAX_BYTES: usize = 128 << 20;

/// So many times as many states as are kept are there while the best ones are not known.
const N_TIMES: usize = 2;

/// After so many commits there is a place to go back to, and so many of these are kept.
const STRETCH: usize = 32;
const N_STRETCHES: usize = 8;

/// How often a place is tried again, each time from twice as far back and with so many times as many states.
const N_TRIES: u32 = 3;
const TIMES_AGAIN: usize = 4;

/// A run is worth it if it came so far: one in so many transactions.
pub(crate) const FAR: usize = 8;

/// Trying again may take so many times the states of a run without it: of one as far as it came, if that is not far.
const MORE_STATES: usize = 2;

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

/// What both hands stand on.
struct Ground<'p> {
    program: &'p Program,
    /// States to keep for each number of commits, and how many these can be where it is hard.
    width: usize,
    max_width: usize,
    /// So many places to go back to are kept.
    n_places: usize,
    /// Progress, or what was told, shares or not; nothing if all states are kept, so that none is better.
    progress: Option<Progress>,
    told: Option<Told>,
    /// A state that is there already may cost so much less than one that counts together with it.
    less: i64,
    shares: Option<Shares>,
    /// Words that make a state what it is; those after them are notes.
    n_exact: usize,
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
        let n_exact = state.len();
        let progress = match merit {
            Some(Merit::Progress(reading) | Merit::AllWays(reading)) => Some(Progress::new(program, reading)),
            _ => None,
        };
        let told = merit.filter(|it| !matches!(it, Merit::Progress(_))).map(|_| Told::new(program));
        let less = if matches!(merit, Some(Merit::AllWays(_))) { MUCH_LIKELIER } else { 0 };
        let shares = (merit == Some(Merit::Share)).then(|| Shares::new(program, n_exact));
        if let Some(shares) = &shares {
            state.extend(std::iter::repeat_n(0, shares.notes.n_words()));
            shares.notes.begin(program, &mut state);
        }
        let belief = Belief::new(if progress.is_some() { n_sessions } else { 0 });
        let n_bytes = size_of_val(&*state) + size_of_val(&*belief.steps) + size_of_val(&*belief.blocks);
        let max_width = (MAX_BYTES / n_bytes / N_TIMES / N_HANDS).max(1);
        let width = width.min(max_width);
        let n_places = (max_width / width).min(N_STRETCHES);
        let last_writes = program.sessions.iter().map(|it| last_writes(program, it)).collect();
        Self { program, width, max_width, n_places, progress, told, less, shares, n_exact, last_writes, state, belief }
    }
}

struct March<'g> {
    ground: &'g Ground<'g>,
    hands: [Hand<'g>; N_HANDS],
    /// Were there more states than are kept?
    is_cut: bool,
    stops_if_cut: bool,
    /// How many states were tried where more of them are kept.
    n_again: usize,
    /// Where to go back to, the last one last.
    places: Vec<Place>,
}

/// What there was when so many had committed.
struct Place {
    n_done: usize,
    generations: [BTreeMap<usize, Generation>; N_HANDS],
}

/// Where no state could go on.
#[derive(Clone, Copy, Debug, Default)]
struct Impasse {
    n_done: usize,
    n_tries: u32,
}

impl<'g> March<'g> {
    fn new(ground: &'g Ground<'g>) -> Self {
        Self {
            ground,
            hands: std::array::from_fn(|nth| Hand::new(ground, nth)),
            is_cut: false,
            stops_if_cut: false,
            n_again: 0,
            places: Vec::new(),
        }
    }

    fn run(mut self, budget: &Budget<'_>) -> Result<Run, StopReason> {
        let (mut furthest, mut impasse) = ((0, NO_STEP), Impasse::default());
        let [first, _] = &mut self.hands;
        first.settle();
        first.keep(0, NO_STEP);
        loop {
            self.keep_place();
            let Some((n_done, mut generations)) = self.next_generation() else {
                if self.is_cut && self.go_back(furthest.0, &mut impasse) {
                    continue;
                }
                break;
            };
            budget.check()?;
            if n_done > impasse.n_done + STRETCH {
                self.set_width(self.ground.width);
            }
            let kept = self.best_of(&mut generations);
            let Some((_, best)) = kept.first() else { continue };
            if n_done >= furthest.0 {
                furthest = (n_done, best.step);
            }
            if n_done == self.ground.program.n_tasks {
                return Ok(Run::Whole(self.order_of(furthest.1)));
            }
            if self.is_cut && self.stops_if_cut {
                break;
            }
            if self.width() > self.ground.width {
                self.n_again += kept.len();
                if self.n_again > self.may_try_again(furthest.0) {
                    break;
                }
            }
            self.expand(n_done, &kept, &generations);
        }
        if !self.is_cut {
            return Ok(Run::Nothing);
        }
        Ok(Run::Part(self.order_of(furthest.1)))
    }

    /// How many states may be tried again in a run that came so far.
    fn may_try_again(&self, n_done: usize) -> usize {
        let n_tasks = self.ground.program.n_tasks;
        let n_states = if n_done >= n_tasks / FAR { n_tasks } else { n_done + STRETCH };
        MORE_STATES * self.ground.width * n_states
    }

    fn width(&self) -> usize {
        self.hands[0].width
    }

    fn set_width(&mut self, width: usize) {
        for hand in &mut self.hands {
            hand.width = width;
        }
    }

    /// Keeps what is there, if that was not done for a while.
    fn keep_place(&mut self) {
        let first = |it: &Hand<'_>| it.generations.first_key_value().map(|it| *it.0);
        let Some(n_done) = self.hands.iter().filter_map(first).min() else { return };
        let is_due = self.places.last().is_none_or(|it| n_done >= it.n_done + STRETCH);
        if self.stops_if_cut || !is_due || self.width() > self.ground.width {
            return;
        }
        if self.places.len() == self.ground.n_places {
            self.places.remove(0);
        }
        let generations = self.hands.each_ref().map(|it| it.generations.clone());
        self.places.push(Place { n_done, generations });
    }

    /// Goes back from where no state could go on, to try again with more states; not if that was done often.
    fn go_back(&mut self, n_done: usize, impasse: &mut Impasse) -> bool {
        let n_tries = if n_done > impasse.n_done + STRETCH { 0 } else { impasse.n_tries };
        *impasse = Impasse { n_done: n_done.max(impasse.n_done), n_tries: n_tries + 1 };
        if n_tries == N_TRIES {
            return false;
        }
        let last = n_done.saturating_sub(STRETCH << n_tries);
        let nth = self.places.iter().rposition(|it| it.n_done <= last).unwrap_or(0);
        let Some(place) = self.places.get(nth) else { return false };
        for (hand, generations) in self.hands.iter_mut().zip(&place.generations) {
            hand.generations.clone_from(generations);
            for generation in hand.generations.values_mut() {
                generation.worst = None;
            }
        }
        self.places.truncate(nth + 1);
        self.set_width((self.ground.width * TIMES_AGAIN.pow(n_tries + 1)).min(self.ground.max_width));
        true
    }

    /// The states with the fewest commits, and how many these are.
    fn next_generation(&mut self) -> Option<(usize, [Generation; N_HANDS])> {
        let first = |it: &Hand<'_>| it.generations.first_key_value().map(|it| *it.0);
        let n_done = self.hands.iter().filter_map(first).min()?;
        Some((n_done, self.hands.each_mut().map(|it| it.generations.remove(&n_done).unwrap_or_default())))
    }

    /// The states to go on with, the best one first, each with the hand that has it.
    fn best_of(&mut self, generations: &mut [Generation; N_HANDS]) -> Vec<(usize, Kept)> {
        let with_hand =
            |(hand, it): (usize, &Generation)| it.kept.iter().map(move |it| (hand, *it)).collect::<Vec<_>>();
        let mut kept: Vec<(usize, Kept)> = generations.iter().enumerate().flat_map(with_hand).collect();
        kept.sort_unstable_by_key(|it| (it.1.hash, it.1.cost, it.0));
        if let Some(shares) = &self.ground.shares {
            let n_words = self.ground.state.len();
            for pair in kept.windows(2).filter(|it| it[0].1.hash == it[1].1.hash) {
                let [(owner, one), (other, same)] = [pair[0], pair[1]];
                let same = generations[other].words_of(same, n_words).to_vec();
                let nth = one.nth as usize;
                shares.notes.join(&mut generations[owner].words[nth * n_words..][..n_words], &same);
            }
        }
        for idx in 1..kept.len() {
            let [(owner, one), (other, same)] = [kept[idx - 1], kept[idx]];
            if one.hash == same.hash && owner != other && self.ground.less > 0 {
                let (steps, blocks) = generations[other].belief_of(same, &self.ground.belief);
                let (steps, blocks) = (steps.to_vec(), blocks.to_vec());
                kept[idx - 1].1 = generations[owner].together(one, same, (&steps, &blocks));
            }
        }
        kept.dedup_by_key(|it| it.1.hash);
        // What comes of the best ones says what is not worth keeping.
        kept.sort_unstable_by_key(|it| (it.1.cost, it.1.hash));
        self.is_cut |= kept.len() > self.width() || self.hands.iter().any(|it| it.is_cut);
        kept.truncate(self.width());
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
    /// States to keep for each number of commits.
    width: usize,
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
            width: ground.width,
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
        let cost = kept.cost + self.told();
        for session in 0..self.program.sessions.len() {
            if self.can_commit(session) {
                self.cost = cost;
                self.commits.clear();
                self.belief.copy_from(generation.belief_of(kept, &self.belief));
                self.commit(session);
                self.settle();
                self.keep(n_done, kept.step);
                self.state.copy_from_slice(words);
            }
        }
    }

    /// Does a session wait for a version that nobody is going to write? Near the end all of its tasks are asked, and not only the next one.
    fn waits_for_ever(&self, n_done: usize) -> bool {
        let is_near_end = n_done + END >= self.program.n_tasks;
        (0..self.program.sessions.len()).any(|session| {
            let tasks = self.program.sessions[session].get(usize::from(self.state[session])..).unwrap_or_default();
            let n_asked = if is_near_end { tasks.len() } else { 1 };
            let n_read = usize::from(self.has_snapshot(session));
            tasks
                .iter()
                .enumerate()
                .take(n_asked)
                .skip(n_read)
                .any(|(nth, task)| task.reads.iter().any(|it| self.is_missing(session, nth, *it)))
        })
    }

    /// Is a version not there, nor written by others or by these next tasks of a session?
    fn is_missing(&self, session: usize, n_tasks: usize, version: Version) -> bool {
        let n_sessions = self.program.sessions.len();
        let present = self.state[n_sessions + self.program.key[version as usize] as usize];
        let writes = |it: usize| it != session && self.ground.last_writes[it][version as usize] > self.state[it];
        let from = u32::from(self.state[session]);
        let n_own = |from: u32| self.program.n_own_writes(session, version, from);
        u32::from(present) != version
            && !(0..n_sessions).any(writes)
            && (n_tasks == 0 || n_own(from) == n_own(from + n_tasks as u32))
    }

    fn head(&self, session: usize) -> Option<&'g Task> {
        self.program.sessions[session].get(usize::from(self.state[session]))
    }

    fn fits(&self, task: &Task) -> bool {
        let n_sessions = self.program.sessions.len();
        let present = |it: Version| self.state[n_sessions + self.program.key[it as usize] as usize];
        task.reads.iter().all(|it| u32::from(present(*it)) == *it)
    }

    /// What was read so far, as far as it counts; what is there now is as good as read.
    fn told(&self) -> i64 {
        let Some(told) = &self.ground.told else { return 0 };
        let n_sessions = self.program.sessions.len();
        let of_session = |session: usize| {
            let has_snapshot = self.has_snapshot(session);
            let is_there = |version: Version| {
                let present = self.state[n_sessions + self.program.key[version as usize] as usize];
                has_snapshot || u32::from(present) == version
            };
            told.at(session, usize::from(self.state[session]), self.head(session), is_there)
        };
        let told: i64 = (0..n_sessions).map(of_session).sum();
        if self.ground.progress.is_some() { told / TOLD_BESIDES } else { told }
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
        if let Some(shares) = &self.ground.shares {
            shares.notes.leave(task, session, &mut self.state);
        }
        self.state[session] += 1;
        if let Some(shares) = &self.ground.shares {
            shares.notes.look(self.program, session, &mut self.state);
        }
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
        if self.ground.progress.is_none() {
            // Nothing adds up from commit to commit.
            self.cost = 0;
        }
        self.cost -= self.told();
        let hash = hash(&self.state[..self.ground.n_exact]);
        if let Some(shares) = &self.ground.shares {
            let generation = self.generations.entry(n_done).or_default();
            self.cost += shares.cost(self.program, n_done, &self.state, &mut generation.near);
            if let Some(nth) = generation.seen.get(&hash) {
                // On another way, other things were there.
                let n_words = self.state.len();
                shares.notes.join(&mut generation.words[*nth as usize * n_words..][..n_words], &self.state);
            }
        }
        let generation = self.generations.get(&n_done);
        let is_worse = |cost: i64| generation.is_some_and(|it| !it.takes(cost, hash, self.ground.less));
        // It can only get less likely.
        if is_worse(self.cost) || self.waits_for_ever(n_done) {
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
        generation.put((self.cost, hash, step), &self.state, &self.belief, self.ground.less > 0);
        if generation.kept.len() >= N_TIMES * self.width {
            self.is_cut |= generation.shrink(self.width, self.state.len());
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

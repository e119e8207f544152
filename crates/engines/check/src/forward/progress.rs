//! How far each session probably is, operation by operation.
//!
//! Sessions do an operation now and then, all of them about as fast. So after some commits a session has done about so many
//! operations since its own last commit, attempts that aborted included; and what an operation has read was there when it
//! was done. For each session a state has weights: how likely it is that a certain operation comes next. A commit lets all
//! sessions go on a little, and what a session has read and is not there holds it back. How much weight is lost by that
//! says how unlikely the state is. Nobody passes the end of a transaction that writes before it commits.
//!
//! This is forward filtering in a hidden Markov model of each session (Rabiner 1989). It adds, multiplies and divides only, so that
//! it is the same on every machine. It only says which states are kept, and not what is right.
//! Cost: for each state, sessions times [`N_PLACES`].

use super::program::{Attempt, Program, Version};

/// A session has weights for so many next steps, beginning with the first one that is likely at all.
const N_PLACES: usize = 64;

/// Sessions are looked at so many at a time.
const N_LANES: usize = 8;

/// The weights of some sessions: by place, those of all of them.
pub(super) type Block = [[f32; N_LANES]; N_PLACES];

pub(super) const NO_WEIGHTS: Block = [[0.0; N_LANES]; N_PLACES];

/// What is less likely than that is forgotten if it stands before all others.
const LITTLE: f32 = 3e-4;

/// What is less likely than that is forgotten wherever it stands.
const TINY: f32 = 1e-6;

/// Between two commits, nobody does more than so many steps.
const REACH: usize = 8;

/// So many places are forgotten at once.
const FORGOTTEN: usize = 12;

/// How likely it is that a read of what is not there is done nevertheless: when it was read is a guess, too.
const MISSED: f32 = 0.02;

/// Between two commits operations are done in so many parts, each of them none, one, two or more.
const N_PARTS: f32 = 2.0;

/// A commit of somebody who is not likely to commit costs at most this, in steps of 1/64 bit.
const UNLIKELY: i64 = 64 * 20;

/// When does a transaction read?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Each operation by itself.
    OneByOne,
    /// All at its begin.
    AtBegin,
}

impl Reading {
    /// If a session does more than so many operations between two commits, several are taken for one.
    fn many_ops(self) -> usize {
        match self {
            Self::OneByOne => 4,
            Self::AtBegin => 1,
        }
    }
}

/// What a session does, one step after the other: it begins a transaction, does its operations, ends it.
#[derive(Debug, Default)]
struct Course {
    /// By step, where what it finds begins.
    finds_at: Vec<u32>,
    /// Steps, with versions and their keys.
    finds: Vec<(u32, Version, usize)>,
    /// By place, the step that ends the next task that writes; the number of steps if there is none.
    waits_at: Vec<u32>,
    /// By place, the step that begins the next task.
    begins_at: Vec<u32>,
    /// By place, how many tasks that write are left.
    n_left: Vec<u32>,
}

/// What all sessions do.
#[derive(Debug)]
pub(super) struct Progress {
    courses: Vec<Course>,
}

/// How far sessions probably are.
#[derive(Clone, Debug)]
pub(super) struct Belief {
    /// By session, the step that its first weight is about.
    pub(super) steps: Vec<u32>,
    pub(super) blocks: Vec<Block>,
}

impl Belief {
    /// Each session is before its first operation.
    pub(super) fn new(n_sessions: usize) -> Self {
        let mut belief = Self { steps: vec![0; n_sessions], blocks: vec![NO_WEIGHTS; n_sessions.div_ceil(N_LANES)] };
        for session in 0..n_sessions {
            belief.stand_at(session, 0);
        }
        belief
    }

    pub(super) fn copy_from(&mut self, (steps, blocks): (&[u32], &[Block])) {
        self.steps.copy_from_slice(steps);
        self.blocks.copy_from_slice(blocks);
    }

    fn stand_at(&mut self, session: usize, step: u32) {
        self.steps[session] = step;
        for places in &mut self.blocks[session / N_LANES] {
            places[session % N_LANES] = 0.0;
        }
        self.blocks[session / N_LANES][0][session % N_LANES] = 1.0;
    }

    /// The weights of a session were so much before they became one again, which says how unlikely that was. Forgets what is
    /// unlikely before all others.
    fn settle(&mut self, session: usize, sum: f32) -> i64 {
        if sum < f32::MIN_POSITIVE {
            return UNLIKELY;
        }
        let (block, lane) = (&mut self.blocks[session / N_LANES], session % N_LANES);
        let n_before = block.iter().take_while(|it| it[lane] < LITTLE).count();
        if (FORGOTTEN..N_PLACES).contains(&n_before) {
            for place in 0..N_PLACES {
                block[place][lane] = block.get(place + n_before).map_or(0.0, |it| it[lane]);
            }
            self.steps[session] += n_before as u32;
        }
        -log(sum)
    }
}

impl Progress {
    pub(super) fn new(program: &Program, reading: Reading) -> Self {
        let n_steps: usize = program.attempts.iter().flatten().map(|it| it.finds.len() + 2).sum();
        let n_writers = program.sessions.iter().flatten().filter(|it| !it.writes.is_empty()).count();
        let n_together = n_steps.div_ceil((n_writers * program.sessions.len()).max(1));
        let n_at_once = n_together.div_ceil(reading.many_ops()).max(1);
        let course = |session: usize| Course::new(program, session, reading, n_at_once);
        Self { courses: (0..program.sessions.len()).map(course).collect() }
    }

    /// How many tasks that write are left, if sessions are at these places.
    fn n_left(&self, places: &[u16]) -> u32 {
        self.courses.iter().zip(places).map(|(course, place)| course.n_left[usize::from(*place)]).sum()
    }

    /// How many times as likely as standing still it is that a session goes on, in each part.
    fn odds(&self, session: usize, n_left: u32, belief: &Belief) -> f32 {
        let n_steps = self.courses[session].n_steps().saturating_sub(belief.steps[session]);
        (about(n_steps) + 0.5) / (about(n_left) + 0.5) / N_PARTS
    }

    /// A session commits that is at the last one of these places: how unlikely that is, in steps of 1/64 bit.
    pub(super) fn commit(&self, session: usize, places: &[u16], belief: &mut Belief) -> i64 {
        let end = self.courses[session].waits_at[usize::from(places[session])];
        let nth = end.saturating_sub(belief.steps[session]) as usize;
        let weight = belief.blocks[session / N_LANES].get(nth).map_or(0.0, |it| it[session % N_LANES]);
        let odds = self.odds(session, self.n_left(places), belief);
        belief.stand_at(session, end + 1);
        (-log(weight * odds)).min(UNLIKELY)
    }

    /// A session has no snapshot any more: it has not begun its next task, as far as that goes.
    pub(super) fn begin_again(&self, session: usize, places: &[u16], belief: &mut Belief) {
        let begin = self.courses[session].begins_at[usize::from(places[session])];
        let n_before = (begin + 1).saturating_sub(belief.steps[session]) as usize;
        for weights in belief.blocks[session / N_LANES].iter_mut().skip(n_before) {
            weights[session % N_LANES] *= MISSED;
        }
    }

    /// All sessions go on until the next commit: how unlikely it is that they find what they find, and do not commit, in
    /// steps of 1/64 bit.
    pub(super) fn go_on(&self, places: &[u16], versions: &[u16], belief: &mut Belief) -> i64 {
        let n_left = self.n_left(places);
        let mut cost = 0;
        for nth_block in 0..belief.blocks.len() {
            let first = nth_block * N_LANES;
            let sessions = first..(first + N_LANES).min(self.courses.len());
            let is_used = |it: &[f32; N_LANES]| it.iter().any(|it| *it > 0.0);
            let n_used = belief.blocks[nth_block].iter().rposition(is_used).map_or(0, |it| it + 1);
            let n_places = (n_used + REACH).min(N_PLACES);
            let mut passes = [[1.0; N_LANES]; N_PLACES];
            let mut goes_on = [0.0; N_LANES];
            for session in sessions.clone() {
                let odds = self.odds(session, n_left, belief);
                goes_on[session - first] = odds / (1.0 + odds);
                let end = self.courses[session].waits_at[usize::from(places[session])];
                let n_own = (end.saturating_sub(belief.steps[session]) as usize + 1).min(n_places);
                self.look_at(session, n_own, versions, belief, &mut passes);
                if let Some(last) = passes.get_mut(end.saturating_sub(belief.steps[session]) as usize) {
                    // It waits here, and if it had gone on, it would have committed.
                    last[session - first] = 0.0;
                }
            }
            let sums = flow(&mut belief.blocks[nth_block], &passes, goes_on, n_places);
            for session in sessions {
                cost += belief.settle(session, sums[session - first]);
            }
        }
        cost
    }

    /// What a session would have read in its next steps, and is not there, hardly lets it pass.
    fn look_at(
        &self,
        session: usize,
        n_places: usize,
        versions: &[u16],
        belief: &Belief,
        passes: &mut [[f32; N_LANES]; N_PLACES],
    ) {
        let step = belief.steps[session] as usize;
        for (nth, version, key) in self.courses[session].finds_from(step, n_places) {
            if u32::from(versions[key]) != version {
                passes[nth][session % N_LANES] *= MISSED;
            }
        }
    }
}

/// Makes one belief of two, which count so much of the whole each.
pub(super) fn mix(
    (steps, blocks): (&mut [u32], &mut [Block]),
    counts: f32,
    (other_steps, other_blocks): (&[u32], &[Block]),
    other_counts: f32,
) {
    for (session, (step, other_step)) in steps.iter_mut().zip(other_steps).enumerate() {
        let (nth_block, lane) = (session / N_LANES, session % N_LANES);
        let first = (*step).min(*other_step);
        let mut mixed = [0.0; N_PLACES];
        for (block, step, counts) in
            [(&blocks[nth_block], *step, counts), (&other_blocks[nth_block], *other_step, other_counts)]
        {
            for (sum, weights) in mixed.iter_mut().skip((step - first) as usize).zip(block) {
                *sum += counts * weights[lane];
            }
        }
        *step = first;
        for (weights, sum) in blocks[nth_block].iter_mut().zip(mixed) {
            weights[lane] = sum;
        }
    }
}

/// Lets weights go on, and makes them one again; says how much of each was left.
fn flow(
    block: &mut Block,
    passes: &[[f32; N_LANES]; N_PLACES],
    goes_on: [f32; N_LANES],
    n_places: usize,
) -> [f32; N_LANES] {
    let (mut first, mut second, mut sums) = ([0.0; N_LANES], [0.0; N_LANES], [0.0; N_LANES]);
    for (weights, passes) in block.iter_mut().zip(passes).take(n_places) {
        for lane in 0..N_LANES {
            let here = weights[lane] + first[lane];
            let leaves = here * goes_on[lane];
            first[lane] = leaves * passes[lane];
            let here = here - leaves + second[lane];
            let leaves = here * goes_on[lane];
            second[lane] = leaves * passes[lane];
            weights[lane] = here - leaves;
            sums[lane] += weights[lane];
        }
    }
    // Who goes on beyond the last place stays there.
    for lane in 0..N_LANES {
        let rest = first[lane] + second[lane];
        block[n_places - 1][lane] += rest;
        sums[lane] += rest;
    }
    let mut times = [0.0; N_LANES];
    for lane in 0..N_LANES {
        times[lane] = if sums[lane] > 0.0 { 1.0 / sums[lane] } else { 0.0 };
    }
    for weights in block.iter_mut().take(n_places) {
        for lane in 0..N_LANES {
            let weight = weights[lane] * times[lane];
            weights[lane] = if weight > TINY { weight } else { 0.0 };
        }
    }
    sums
}

impl Course {
    fn new(program: &Program, session: usize, reading: Reading, n_at_once: usize) -> Self {
        let mut course = Self::default();
        let mut ends = Vec::new();
        for attempt in &program.attempts[session] {
            if attempt.is_task {
                course.begins_at.push(course.n_steps());
            }
            course.add(program, attempt, reading, n_at_once);
            if attempt.is_task {
                ends.push(course.n_steps() - 1);
            }
        }
        let n_steps = course.n_steps();
        course.begins_at.push(n_steps);
        (course.waits_at, course.n_left) = (vec![n_steps; ends.len() + 1], vec![0; ends.len() + 1]);
        for (place, task) in program.sessions[session].iter().enumerate().rev() {
            let is_reader = task.writes.is_empty();
            course.waits_at[place] = if is_reader { course.waits_at[place + 1] } else { ends[place] };
            course.n_left[place] = course.n_left[place + 1] + u32::from(!is_reader);
        }
        course.finds_at.push(course.finds.len() as u32);
        course
    }

    /// Adds its begin, its operations, and its end.
    fn add(&mut self, program: &Program, attempt: &Attempt, reading: Reading, n_at_once: usize) {
        let with_key = |step: u32| move |it: &Version| (step, *it, program.key[*it as usize] as usize);
        self.finds_at.push(self.finds.len() as u32);
        if reading == Reading::AtBegin {
            self.finds.extend(attempt.finds.iter().flatten().map(with_key(self.n_steps() - 1)));
        }
        for ops in attempt.finds.chunks(n_at_once) {
            self.finds_at.push(self.finds.len() as u32);
            if reading == Reading::OneByOne {
                self.finds.extend(ops.iter().flatten().map(with_key(self.n_steps() - 1)));
            }
        }
        self.finds_at.push(self.finds.len() as u32);
    }

    /// While it is made, the number of steps so far.
    fn n_steps(&self) -> u32 {
        self.waits_at.last().copied().unwrap_or(self.finds_at.len() as u32)
    }

    /// What it finds in so many steps: which of them, what, and of which key.
    fn finds_from(&self, step: usize, n_steps: usize) -> impl Iterator<Item = (usize, Version, usize)> {
        let end = (step + n_steps).min(self.finds_at.len() - 1);
        let range = self.finds_at[step.min(end)] as usize..self.finds_at[end] as usize;
        self.finds[range].iter().map(move |(at, version, key)| (*at as usize - step, *version, *key))
    }
}

/// So many, to six digits.
#[allow(clippy::cast_precision_loss, reason = "only how likely something is depends on it")]
fn about(n: u32) -> f32 {
    n as f32
}

/// The logarithm to the base of 2 in steps of 1/64, rounded down; of 0 as of the least number.
pub(super) fn log(n: f32) -> i64 {
    let bits = n.max(f32::MIN_POSITIVE).to_bits();
    let mut result = i64::from(bits >> 23) - 127;
    let mut rest = u64::from((bits & 0x007f_ffff) | 0x0080_0000) << 8;
    for _ in 0..6 {
        // Whatever is squared has twice the logarithm.
        rest = (rest * rest) >> 31;
        result = 2 * result + i64::from(rest >= 1 << 32);
        rest >>= u32::from(rest >= 1 << 32);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::Frame;
    use crate::rule::Rule;
    use crate::test_store::history;
    use iso_history::Facts;
    use iso_spec::Level;

    /// How unlikely it is that these sessions commit one transaction each, in this order.
    fn cost(lines: &[&str], level: Level, reading: Reading, sessions: &[usize]) -> i64 {
        let history = history(lines);
        let facts = Facts::new(&history);
        let program = Program::new(&Frame::new(&facts, Rule::of(level))).unwrap();
        let progress = Progress::new(&program, reading);
        let (mut belief, mut places) = (Belief::new(program.sessions.len()), vec![0; program.sessions.len()]);
        let mut versions: Vec<u16> = program.initial.iter().map(|it| *it as u16).collect();
        let mut cost = progress.go_on(&places, &versions, &mut belief);
        for session in sessions {
            cost += progress.commit(*session, &places, &mut belief);
            for version in &program.sessions[*session][usize::from(places[*session])].writes {
                versions[program.key[*version as usize] as usize] = *version as u16;
            }
            places[*session] += 1;
            cost += progress.go_on(&places, &versions, &mut belief);
        }
        cost
    }

    /// The attempt of the last session saw what the first one wrote.
    #[test]
    fn what_an_attempt_has_read_tells_when_it_was_made() {
        let lines = ["a wx1", "b wx2", "c rx1 wz1", "d! rx1 wx3 rx3", "d rx2 wy1"];
        for reading in [Reading::OneByOne, Reading::AtBegin] {
            let cost = |sessions: &[usize]| cost(&lines, Level::Serializable, reading, sessions);
            assert!(cost(&[0, 1, 3]) < cost(&[1, 3, 0]), "{reading:?}");
        }
    }

    /// Both sessions have the same work to do.
    #[test]
    fn sessions_that_take_turns_are_likelier_than_those_that_wait_for_each_other() {
        let lines = ["a wx1", "a wx2", "a wx3", "a wx4", "b wy1", "b wy2", "b wy3", "b wy4"];
        let cost = |sessions: &[usize]| cost(&lines, Level::SnapshotIsolation, Reading::AtBegin, sessions);
        assert!(cost(&[0, 1, 0, 1, 0, 1, 0, 1]) < cost(&[0, 0, 0, 0, 1, 1, 1, 1]));
    }

    /// A transaction of many operations takes long.
    #[test]
    fn who_does_more_commits_later() {
        let lines = ["a wx1 wx2 wx3 wx4 wx5 wx6 wx7 wx8", "b wy1"];
        let cost = |sessions: &[usize]| cost(&lines, Level::Serializable, Reading::OneByOne, sessions);
        assert!(cost(&[1, 0]) < cost(&[0, 1]));
    }

    #[test]
    fn logarithms_are_those_of_mathematics_rounded_down() {
        for n in 1..2_000u32 {
            let n = about(n) / 37.0;
            assert_eq!(log(n), (f64::from(n).log2() * 64.0).floor() as i64, "{n}");
        }
    }
}

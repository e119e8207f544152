//! The states of sessions in step that are kept: for each number of commits, the best ones.

use super::progress::{Belief, Block, log, mix};
use super::shares::NearPlaces;
use rustc_hash::FxHashMap;

/// Places of sessions, versions of keys, and who has a snapshot, a bit each; then notes that only say how likely it is.
pub(super) type Word = u16;

#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    /// How unlikely it is, in steps of 1/64 bit.
    pub(super) cost: i64,
    pub(super) hash: u64,
    pub(super) step: u32,
    /// Where in its generation it stands.
    pub(super) nth: u32,
}

/// The states with one number of commits.
#[derive(Clone, Debug, Default)]
pub(super) struct Generation {
    pub(super) kept: Vec<Kept>,
    pub(super) words: Vec<Word>,
    /// How far sessions probably are, state by state: steps and weights.
    pub(super) steps: Vec<u32>,
    pub(super) blocks: Vec<Block>,
    /// Which of the kept states has this number.
    pub(super) seen: FxHashMap<u64, u32>,
    /// Whatever costs more is not kept any more.
    pub(super) worst: Option<i64>,
    /// By session, what its place costs here, as far as it was asked for.
    pub(super) near: Vec<NearPlaces>,
}

/// Ways to the same state count together, unless one of them is so many times as likely as the other, in steps of 1/64 bit.
pub(super) const MUCH_LIKELIER: i64 = 64 * 6;

impl Generation {
    pub(super) fn words_of(&self, kept: Kept, n_words: usize) -> &[Word] {
        &self.words[kept.nth as usize * n_words..][..n_words]
    }

    /// Steps and weights, as many as there are in the other belief.
    pub(super) fn belief_of(&self, kept: Kept, other: &Belief) -> (&[u32], &[Block]) {
        let (nth, n_steps, n_blocks) = (kept.nth as usize, other.steps.len(), other.blocks.len());
        (&self.steps[nth * n_steps..][..n_steps], &self.blocks[nth * n_blocks..][..n_blocks])
    }

    /// Is a state with this cost and number worth keeping? One that is there already may cost so much less.
    pub(super) fn takes(&self, cost: i64, hash: u64, less: i64) -> bool {
        let same = self.seen.get(&hash);
        self.worst.is_none_or(|it| cost <= it) && same.is_none_or(|it| cost < self.kept[*it as usize].cost + less)
    }

    /// Puts a state there: in place of an equal one if there is one, or together with it.
    pub(super) fn put(&mut self, (cost, hash, step): (i64, u64, u32), state: &[Word], belief: &Belief, adds_up: bool) {
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
        let nth = nth as usize;
        if adds_up {
            self.kept[nth] = self.together(self.kept[nth], kept, (&belief.steps, &belief.blocks));
            return;
        }
        self.kept[nth] = kept;
        self.steps[nth * belief.steps.len()..][..belief.steps.len()].copy_from_slice(&belief.steps);
        self.blocks[nth * belief.blocks.len()..][..belief.blocks.len()].copy_from_slice(&belief.blocks);
    }

    /// A state that is here and an equal one: the likelier way to it, and what is probable by both.
    pub(super) fn together(&mut self, here: Kept, other: Kept, (steps, blocks): (&[u32], &[Block])) -> Kept {
        let best = if other.cost < here.cost { Kept { nth: here.nth, ..other } } else { here };
        let nth = here.nth as usize;
        let own = (
            &mut self.steps[nth * steps.len()..][..steps.len()],
            &mut self.blocks[nth * blocks.len()..][..blocks.len()],
        );
        let (here_counts, other_counts) = (likelihood(here.cost - best.cost), likelihood(other.cost - best.cost));
        let sum = here_counts + other_counts;
        mix(own, here_counts / sum, (steps, blocks), other_counts / sum);
        Kept { cost: best.cost - log(sum), ..best }
    }

    /// Keeps the best states only; says whether there were more.
    pub(super) fn shrink(&mut self, width: usize, n_words: usize) -> bool {
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

/// How likely something is that costs so much, in steps of 1/64 bit; by multiplications, which are the same on every machine.
fn likelihood(cost: i64) -> f32 {
    /// The 64th root of one half.
    const STEP: f32 = 0.989_228;
    if cost > MUCH_LIKELIER {
        return 0.0;
    }
    (0..cost).fold(1.0, |likelihood, _| likelihood * STEP)
}

/// Equal states have equal numbers.
pub(super) fn hash(state: &[Word]) -> u64 {
    let mut hash = 0u64;
    for words in state.chunks(4) {
        let word = words.iter().fold(0, |sum: u64, it| sum << 16 | u64::from(*it));
        hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
    // The last words have come only to some of the bits.
    (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A session that is probably at a step.
    fn at(step: u32) -> Belief {
        let mut belief = Belief::new(1);
        belief.steps[0] = step;
        belief
    }

    fn put_both(cost: i64, other_cost: i64) -> (i64, u32, Vec<f32>) {
        let mut generation = Generation::default();
        generation.put((cost, 7, 0), &[1], &at(3), true);
        generation.put((other_cost, 7, 1), &[1], &at(0), true);
        let weights = generation.blocks[0].iter().take(4).map(|it| it[0]).collect();
        (generation.kept[0].cost, generation.kept[0].step, weights)
    }

    #[test]
    fn two_ways_to_a_state_are_twice_as_likely_as_one_and_say_both_where_sessions_are() {
        assert_eq!(put_both(640, 640), (640 - 64, 0, vec![0.5, 0.0, 0.0, 0.5]));
    }

    #[test]
    fn the_likelier_way_is_the_one_that_is_kept() {
        let (cost, step, weights) = put_both(640 + 64, 640);
        assert!(cost < 640 && step == 1, "{cost}, {step}");
        assert!((weights[0] - 2.0 / 3.0).abs() < 0.01 && (weights[3] - 1.0 / 3.0).abs() < 0.01, "{weights:?}");
    }

    #[test]
    fn what_is_much_less_likely_adds_nothing() {
        assert_eq!(put_both(640, 640 + MUCH_LIKELIER + 1), (640, 0, vec![0.0, 0.0, 0.0, 1.0]));
    }
}

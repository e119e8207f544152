//! The states of sessions in step that are kept: for each number of commits, the best ones.

use super::progress::{Belief, Block};
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

impl Generation {
    pub(super) fn words_of(&self, kept: Kept, n_words: usize) -> &[Word] {
        &self.words[kept.nth as usize * n_words..][..n_words]
    }

    /// Steps and weights, as many as there are in the other belief.
    pub(super) fn belief_of(&self, kept: Kept, other: &Belief) -> (&[u32], &[Block]) {
        let (nth, n_steps, n_blocks) = (kept.nth as usize, other.steps.len(), other.blocks.len());
        (&self.steps[nth * n_steps..][..n_steps], &self.blocks[nth * n_blocks..][..n_blocks])
    }

    /// Is a state with this cost and number worth keeping?
    pub(super) fn takes(&self, cost: i64, hash: u64) -> bool {
        let same = self.seen.get(&hash);
        self.worst.is_none_or(|it| cost <= it) && same.is_none_or(|it| cost < self.kept[*it as usize].cost)
    }

    /// Puts a state there, in place of an equal one if there is one.
    pub(super) fn put(&mut self, (cost, hash, step): (i64, u64, u32), state: &[Word], belief: &Belief) {
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

//! Does a level allow a recording that is still being read? The answer so far, certified step by step.
//!
//! [`StreamCheck`] takes transactions one by one. For each level, an engine keeps a window of those that may still be ordered
//! in another way, and what leaves the window is replayed at once by the kernel. What does not fit is looked at by the exact
//! engine: first the window, then everything that the recording has about the keys concerned, if it can be read again. So an
//! answer is one of: holds so far, every step replayed; violated, with a core that was certified as that of [`crate::check()`];
//! or undecided, with the transactions that nobody could explain or refute.

mod chosen;
mod held;
mod replay;
mod resumed;
mod told;

pub use replay::SavedReplay;
pub use resumed::Resumption;
pub use told::Told;

use crate::check::{Answer, check};
use crate::{Certified, WrongEvidence};
use chosen::Choice;
use held::Held;
use iso_check::stream::{Left, Misfit, Resolved, Stream, Why};
use iso_evidence::{Budget, Refutation, StreamedReplay, StreamedStep, Uncertified};
use iso_history::{Datum, History, KeyId, StreamedBlock, StreamedPieces, StreamedTxn, StreamedValue, TableId};
use iso_spec::Level;
use replay::{Kept, Replayer};
use std::sync::Arc;

/// The window of a weak level is this part of what was asked for.
const WEAK_PART: usize = 4;
/// So many transactions that do not fit are looked at in the recording, for each level; more are counted.
const MAX_LOOKED_AT: usize = 32;
/// So many of them are kept to be shown.
const MAX_SUSPECTS: usize = 100;
/// So many transactions wait for others that ended before them.
const MAX_HELD: usize = 1 << 13;

/// Several levels of one recording.
#[derive(Debug)]
pub struct StreamCheck {
    tracks: Vec<Track>,
    n_txns: u64,
    times: Times,
}

/// What recorded times have said so far.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    first: Option<i64>,
    has_begin: bool,
    has_end: bool,
    differ: bool,
}

impl Times {
    fn hear(&mut self, txn: &StreamedTxn<'_>) {
        self.has_begin |= txn.begin.is_some();
        self.has_end |= txn.end.is_some();
        for time in [txn.begin, txn.end].into_iter().flatten() {
            self.differ |= *self.first.get_or_insert(time) != time;
        }
    }

    /// Do they say what was over before something else began?
    fn order_something(&self) -> bool {
        self.has_begin && self.has_end && self.differ
    }
}

/// Reads a recording again.
pub trait Recording {
    /// Everything that it has so far about these keys, as a history of its own; nothing if it cannot be read again.
    fn about(&self, keys: &[KeyId]) -> Option<History>;
}

/// A recording that cannot be read again.
#[derive(Clone, Copy, Debug)]
pub struct Gone;

impl Recording for Gone {
    fn about(&self, _: &[KeyId]) -> Option<History> {
        None
    }
}

/// Hears of each step of a schedule, after it was replayed.
pub trait Steps {
    /// Steps at a level follow, and it is known as which level it is streamed, with a window of which size.
    fn begin(&mut self, _level: Level, _streamed: Level, _window: usize) {}

    /// The next step at a level: a transaction by its number in the stream, from 0, and for the weak levels its sources.
    fn step(&mut self, level: Level, txn: u64, step: StreamedStep, sources: &[u64]);
}

impl Steps for () {
    fn step(&mut self, _: Level, _: u64, _: StreamedStep, _: &[u64]) {}
}

/// How a level stands.
#[derive(Clone, Debug)]
pub enum Standing {
    /// It holds so far.
    Holds,
    /// It is violated: the part of the recording that shows it, and its core.
    Violated(Arc<Violation>),
    /// Some transactions do not fit, and nobody knows whether any order explains them.
    Undecided,
    /// A step did not pass the kernel: a bug.
    Refused(WrongEvidence),
}

/// A violation in a part of a recording.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Everything that the recording had about some keys.
    pub history: History,
    /// Why it cannot have happened.
    pub refutation: Certified<Refutation>,
}

/// A transaction that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// Its line in the recording.
    pub at: u64,
    /// What is the matter with it.
    pub why: String,
    keys: Vec<KeyId>,
}

/// How a level stands, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// How many committed transactions were replayed.
    pub n_certified: u64,
    /// How many pieces of them, if statements have snapshots and the replay is over.
    pub n_pieces: Option<u64>,
    /// How many transactions are in the window.
    pub n_window: usize,
    /// How many transactions do not fit and are not decided.
    pub n_suspects: u64,
    /// How often the exact engine was asked.
    pub n_resolved: u64,
    /// How often something was against the order of the window.
    pub n_searches: u64,
    /// How often neighbouring versions were exchanged.
    pub n_exchanges: u64,
}

#[derive(Debug)]
struct Track {
    level: Level,
    /// As what it is streamed.
    streamed: Level,
    /// Where statements have snapshots: how transactions are cut.
    pieces: Option<StreamedPieces>,
    /// How many transactions, or pieces of some, it was given.
    n_steps: u64,
    /// Nothing once that is settled.
    choice: Option<Choice>,
    /// How many transactions its window should have.
    window: usize,
    has_begun: bool,
    /// Nothing once the level is violated, or nothing can follow what did not fit.
    stream: Option<Stream>,
    /// Nothing once a step is missing.
    replay: Option<Replayer>,
    txns: Kept,
    held: Held,
    standing: Standing,
    suspects: Vec<Suspect>,
    n_suspects: u64,
    n_resolved: u64,
    n_certified: u64,
    /// What is shown of a list may come too late for the order of its appends.
    has_lists: bool,
}

impl StreamCheck {
    /// The level whose schedules are streamed for this one: itself, or the weakest that implies it. What is not explained by
    /// such a schedule is decided by the level itself.
    pub fn streamed_as(level: Level) -> Option<Level> {
        let is_streamed = |it: &Level| {
            Stream::new(*it, StreamedValue::Null, 1).is_some()
                && StreamedReplay::new(*it, StreamedValue::Null, 1).is_some()
        };
        let mut stronger = std::iter::once(level).chain(Level::ALL.into_iter().filter(|it| it.implies(level)));
        stronger.find(is_streamed)
    }

    /// How many transactions the window of a level has, if it is asked for so many. Weak levels keep more of each
    /// transaction, and remember versions for longer than the window.
    pub fn window_of(streamed: Level, window: usize) -> usize {
        if is_weak(streamed) { window.div_ceil(WEAK_PART) } else { window }
    }

    /// A check of these levels, of a recording whose keys hold `initial` at first, with a window of about so many
    /// transactions. The first level that cannot be streamed is an error.
    pub fn new(levels: &[Level], initial: &StreamedValue, window: usize) -> Result<Self, Level> {
        let track = |level: &Level| {
            let streamed = Self::streamed_as(*level).ok_or(*level)?;
            let (choice, asked) = (Choice::new(streamed, initial, window), window);
            let window = Self::window_of(streamed, window);
            let stream = Stream::new(streamed, initial.clone(), window).ok_or(*level)?;
            let replay = SavedReplay::new(streamed, initial.clone(), window).ok_or(*level)?;
            Ok(Track {
                level: *level,
                streamed,
                pieces: streamed.snapshots().map(StreamedPieces::new),
                n_steps: 0,
                choice,
                window: asked,
                has_begun: false,
                stream: Some(stream),
                replay: Some(Replayer::new(replay)),
                txns: Kept::default(),
                held: Held::new(if is_weak(streamed) { 0 } else { window.min(MAX_HELD) }),
                standing: Standing::Holds,
                suspects: Vec::new(),
                n_suspects: 0,
                n_resolved: 0,
                n_certified: 0,
                has_lists: false,
            })
        };
        Ok(Self { tracks: levels.iter().map(track).collect::<Result<_, Level>>()?, n_txns: 0, times: Times::default() })
    }

    /// The initial value of one key. False if somebody has touched the key before: then the recording cannot be streamed.
    #[must_use]
    pub fn initial(&mut self, key: KeyId, value: &StreamedValue) -> bool {
        self.tracks.iter_mut().all(|it| it.initial(key, value))
    }

    /// A key is a row with this name, of a table that is scanned: to be said before the first transaction that scans the table,
    /// or has the key.
    pub fn row(&mut self, key: KeyId, table: TableId, name: &Datum) {
        self.tracks.iter_mut().for_each(|it| it.row(key, table, name));
    }

    /// Takes the next transaction of the recording.
    pub fn take(
        &mut self,
        (block, idx): (&Arc<StreamedBlock>, usize),
        recording: &dyn Recording,
        steps: &mut dyn Steps,
        budget: &Budget<'_>,
    ) {
        let txn = block.txn(idx);
        self.times.hear(&txn);
        for track in &mut self.tracks {
            track.take((block, idx), recording, steps, budget);
        }
        self.n_txns += 1;
    }

    /// The recording is over: what is in the window is decided now.
    pub fn finish(&mut self, recording: &dyn Recording, steps: &mut dyn Steps, budget: &Budget<'_>) {
        for track in &mut self.tracks {
            track.finish(recording, steps, budget);
            // Without times, a level that asks for real time says nothing.
            let is_vacuous = track.level.needs_times() && !self.times.order_something();
            if is_vacuous && matches!(track.standing, Standing::Holds) {
                track.standing = Standing::Undecided;
            }
        }
    }

    /// Some time has passed: nobody waits any longer for others that ended before, if it did so when this was called last.
    pub fn go_on(&mut self, recording: &dyn Recording, steps: &mut dyn Steps, budget: &Budget<'_>) {
        for track in &mut self.tracks {
            track.follow_itself_soon(recording, steps, budget);
            for _ in 0..track.held.n_waiting_long(track.n_steps) {
                track.take_held(Held::any, recording, steps, budget);
            }
        }
    }

    /// The recording goes on, but nobody waits for it: what can leave the window is replayed.
    pub fn settle(&mut self, recording: &dyn Recording, steps: &mut dyn Steps, budget: &Budget<'_>) {
        for track in &mut self.tracks {
            track.follow_itself(recording, steps, budget);
            while track.take_held(Held::any, recording, steps, budget) {}
            let mut misfits = Vec::new();
            while let Some(left) = track.stream.as_mut().and_then(|it| it.settle(&mut misfits)) {
                track.replay(left, steps);
            }
            if !misfits.is_empty() {
                track.look_at(misfits, recording, budget);
            }
            track.await_replay();
        }
    }

    /// How many transactions were taken.
    pub fn n_txns(&self) -> u64 {
        self.n_txns
    }

    /// The levels, and how they stand.
    pub fn standings(&self) -> impl Iterator<Item = (Level, &Standing)> {
        self.tracks.iter().map(|it| (it.level, &it.standing))
    }

    /// The transactions that do not fit at a level, as far as they are kept.
    pub fn suspects(&self, level: Level) -> &[Suspect] {
        self.tracks.iter().find(|it| it.level == level).map_or(&[], |it| &it.suspects)
    }

    /// A level in numbers.
    pub fn progress(&self, level: Level) -> Progress {
        self.tracks.iter().find(|it| it.level == level).map_or_else(Progress::default, Track::progress)
    }

    /// As which level one is streamed: what transactions do may decide that.
    pub fn streamed(&self, level: Level) -> Level {
        self.tracks.iter().find(|it| it.level == level).map_or(level, |it| it.streamed)
    }

    /// Is everything decided already, whatever may follow?
    pub fn is_over(&self) -> bool {
        self.tracks.iter().all(|it| matches!(it.standing, Standing::Violated(_) | Standing::Refused(_)))
    }

    /// Looks once more at what did not fit: a recording that grew may show now why.
    pub fn look_again(&mut self, recording: &dyn Recording, budget: &Budget<'_>) {
        for track in self.tracks.iter_mut().filter(|it| matches!(it.standing, Standing::Undecided)) {
            track.look_again(track.suspects.len(), recording, budget);
        }
    }

    /// Are there transactions that do not fit?
    pub fn has_suspects(&self) -> bool {
        self.tracks.iter().any(|it| matches!(it.standing, Standing::Undecided) && it.n_suspects > 0)
    }

    /// Is a level violated?
    pub fn is_violated(&self) -> bool {
        self.tracks.iter().any(|it| matches!(it.standing, Standing::Violated(_)))
    }
}

/// Does nothing but visibility order the transactions of a level?
fn is_weak(streamed: Level) -> bool {
    Level::PrefixConsistency.implies(streamed) && streamed != Level::PrefixConsistency
}

impl Track {
    fn initial(&mut self, key: KeyId, value: &StreamedValue) -> bool {
        if let Some(choice) = &mut self.choice {
            choice.initial(key, value);
        }
        self.has_lists |= *value == StreamedValue::Empty;
        let is_in_time = self.replay.as_mut().is_none_or(|it| it.initial(key, value.clone()).is_ok());
        is_in_time && self.stream.as_mut().is_none_or(|it| it.initial(key, value.clone()))
    }

    fn row(&mut self, key: KeyId, table: TableId, name: &Datum) {
        if let Some(choice) = &mut self.choice {
            choice.row(key, table, name);
        }
        if let Some(stream) = &mut self.stream {
            stream.row(key, table, name.clone());
        }
        if let Some(Err(why)) = self.replay.as_mut().map(|it| it.row(key, table, name.clone())) {
            self.refuse(why);
        }
    }

    fn progress(&self) -> Progress {
        let effort = self.stream.as_ref().map(Stream::effort).unwrap_or_default();
        Progress {
            n_certified: self.replay.as_ref().map_or(self.n_certified, Replayer::n_scheduled),
            n_pieces: self.replay.as_ref().and_then(Replayer::n_pieces),
            n_window: effort.n_txns,
            n_suspects: self.n_suspects,
            n_resolved: self.n_resolved,
            n_searches: effort.n_searches,
            n_exchanges: effort.n_exchanges,
        }
    }

    fn take(
        &mut self,
        (block, idx): (&Arc<StreamedBlock>, usize),
        recording: &dyn Recording,
        steps: &mut dyn Steps,
        budget: &Budget<'_>,
    ) {
        if self.stream.is_none() {
            return;
        }
        if self.choice.is_some() {
            return self.wait_for_scans((block, idx), recording, steps, budget);
        }
        if let Some(Err(why)) = self.replay.as_mut().map(|it| it.tell(block, idx)) {
            return self.refuse(why);
        }
        match &mut self.pieces {
            None => self.take_step(block, idx),
            Some(pieces) => {
                let (block, range) = pieces.of(block, idx);
                range.for_each(|it| self.take_step(&block, it));
            }
        }
        while self.take_held(Held::next, recording, steps, budget) {}
    }

    /// A transaction, or a piece of one, waits until it is its turn.
    fn take_step(&mut self, block: &Arc<StreamedBlock>, idx: usize) {
        let txn = block.txn(idx);
        self.txns.push(block, idx, txn.outcome);
        self.held.push(self.n_steps, &txn);
        self.n_steps += 1;
    }

    /// The window takes the next of those that wait, if there is one.
    fn take_held(
        &mut self,
        next: fn(&mut Held) -> Option<u64>,
        recording: &dyn Recording,
        steps: &mut dyn Steps,
        budget: &Budget<'_>,
    ) -> bool {
        let Some(stream) = &mut self.stream else { return false };
        let Some(id) = next(&mut self.held) else { return false };
        let Some(txn) = self.txns.get(id) else { return true };
        let misfits = stream.take(id, &txn);
        if !misfits.is_empty() {
            self.look_at(misfits, recording, budget);
        }
        let mut misfits = Vec::new();
        while let Some(left) = self.stream.as_mut().and_then(|it| it.retire(&mut misfits)) {
            self.replay(left, steps);
        }
        if !misfits.is_empty() {
            self.look_at(misfits, recording, budget);
        }
        true
    }

    fn finish(&mut self, recording: &dyn Recording, steps: &mut dyn Steps, budget: &Budget<'_>) {
        self.follow_itself(recording, steps, budget);
        self.begin(steps);
        // Whoever becomes a suspect from here on is looked at in the whole recording.
        let n_before = self.suspects.len();
        while self.take_held(Held::any, recording, steps, budget) {}
        loop {
            let mut misfits = Vec::new();
            let left = self.stream.as_mut().and_then(|it| it.drain(&mut misfits));
            let is_stuck = left.is_none() && misfits.is_empty();
            if let Some(left) = left {
                self.replay(left, steps);
            }
            if !misfits.is_empty() {
                self.look_at(misfits, recording, budget);
            }
            if is_stuck {
                break;
            }
        }
        if matches!(self.standing, Standing::Undecided) {
            self.look_again(n_before, recording, budget);
        }
        self.await_replay();
        if let (Standing::Holds, Some(Err(why))) = (&self.standing, self.replay.as_ref().map(Replayer::finish)) {
            self.refuse(why);
        }
    }

    /// What leaves the window is replayed by the kernel, and forgotten.
    fn replay(&mut self, left: Left, steps: &mut dyn Steps) {
        if left.step != StreamedStep::Snapshot {
            self.txns.forget(left.id);
        }
        self.begin(steps);
        if let Some(replay) = &mut self.replay {
            steps.step(self.level, left.id, left.step, &left.sources);
            if let Err(why) = replay.step(left.step, left.id, left.sources) {
                self.refuse(why);
            }
        }
    }

    fn begin(&mut self, steps: &mut dyn Steps) {
        if !self.has_begun {
            self.has_begun = true;
            steps.begin(self.level, self.streamed, StreamCheck::window_of(self.streamed, self.window));
        }
    }

    /// A step that the kernel does not accept is a bug, unless the order has holes already.
    fn refuse(&mut self, why: Uncertified) {
        let why = self.replay.take().and_then(|it| it.come_back().err()).unwrap_or(why);
        if self.n_suspects > 0 {
            self.standing = Standing::Undecided;
            return;
        }
        // In which order appends happened is guessed until somebody reads the list, and which of two equal versions was locked.
        if self.has_lists || self.pieces.is_some() {
            self.standing = Standing::Undecided;
            self.n_suspects += 1;
            self.suspects.push(Suspect { at: 0, why: why.to_string(), keys: Vec::new() });
            return;
        }
        self.standing = Standing::Refused(WrongEvidence::new(&self.level, &why));
        self.stream = None;
    }

    /// Waits for the thread that replays.
    fn await_replay(&mut self) {
        match self.replay.take().map(Replayer::come_back) {
            Some(Ok(replay)) => {
                self.n_certified = replay.n_scheduled();
                self.replay = Some(replay);
            }
            Some(Err(why)) => self.refuse(why),
            None => {}
        }
    }

    /// Transactions do not fit: another order of the window may explain them, or the recording shows a violation.
    fn look_at(&mut self, mut misfits: Vec<Misfit>, recording: &dyn Recording, budget: &Budget<'_>) {
        let needs_order = |it: &Misfit| matches!(it.why, Why::Cycle | Why::NoPlace);
        let mut forbidding = Vec::new();
        if misfits.iter().any(needs_order) && self.n_resolved < 1 << 16 {
            self.n_resolved += 1;
            let txns = &self.txns;
            let txn = |id: u64| txns.get(id);
            let Some(stream) = &mut self.stream else { return };
            let ids: Vec<u64> = misfits.iter().map(|it| it.id).collect();
            match stream.resolve(&ids, &txn, budget) {
                Resolved::Ordered => misfits.retain(|it| !needs_order(it)),
                Resolved::Forbidden(keys) => forbidding = keys,
                Resolved::Unknown => {}
            }
        }
        if !forbidding.is_empty() && self.is_shown(&forbidding, recording, budget) {
            return;
        }
        let is_lost = misfits.iter().any(|it| matches!(it.why, Why::NoPlace | Why::Late));
        for misfit in misfits {
            if (self.n_suspects as usize) < MAX_LOOKED_AT && self.is_shown(&misfit.keys, recording, budget) {
                return;
            }
            self.suspect(&misfit);
        }
        // What follows a write without a place cannot be ordered.
        if is_lost {
            self.stream = None;
        }
    }

    fn suspect(&mut self, misfit: &Misfit) {
        self.standing = Standing::Undecided;
        if let Some(replay) = self.replay.take() {
            self.n_certified = replay.n_scheduled();
        }
        self.n_suspects += 1;
        if self.suspects.len() < MAX_SUSPECTS {
            let at = self.txns.get(misfit.id).map_or(0, |it| it.at);
            self.suspects.push(Suspect { at, why: misfit.why.to_string(), keys: misfit.keys.clone() });
        }
    }

    /// The recording has more now: what it said too little about may be clear. Looks at the first so many suspects.
    fn look_again(&mut self, n_first: usize, recording: &dyn Recording, budget: &Budget<'_>) {
        let suspects = std::mem::take(&mut self.suspects);
        let is_shown =
            suspects.iter().take(n_first.min(MAX_LOOKED_AT)).any(|it| self.is_shown(&it.keys, recording, budget));
        if !is_shown {
            self.suspects = suspects;
        }
    }

    /// Does the recording show a violation on these keys?
    fn is_shown(&mut self, keys: &[KeyId], recording: &dyn Recording, budget: &Budget<'_>) -> bool {
        if keys.is_empty() {
            return false;
        }
        let Some(history) = recording.about(keys) else { return false };
        match check(&history, self.level, budget) {
            Answer::Forbidden(refutation) => {
                self.standing = Standing::Violated(Arc::new(Violation { history, refutation }));
                self.stream = None;
                self.replay = None;
                self.txns = Kept::default();
                true
            }
            Answer::Refused(wrong) => {
                self.standing = Standing::Refused(wrong);
                self.stream = None;
                true
            }
            Answer::Allowed(_) | Answer::NotCertified { .. } | Answer::Undecided(_) => false,
        }
    }
}

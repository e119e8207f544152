//! A check that goes on where a saved schedule ends.
//!
//! The schedule is all that is kept of a check that was stopped, by whatever. It is replayed along the recording by the kernel
//! and by no engine, so that nothing in the file is believed; what it does not have is the window to go on with. A schedule of another
//! recording, or one that was changed, is refused at its first wrong step.

use super::held::Held;
use super::replay::Replayer;
use super::{Recording, SavedReplay, Steps, StreamCheck, Track};
use iso_check::stream::Past;
use iso_evidence::{Budget, StreamedStep, Uncertified};
use iso_history::{Datum, KeyId, StreamedBlock, StreamedTxn, StreamedValue, TableId};
use iso_spec::Level;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The beginning of a check, by a schedule that was saved.
#[derive(Debug)]
pub struct Resumption {
    check: StreamCheck,
    replay: SavedReplay,
    /// By key, what it holds; nothing if nobody has said it.
    values: Vec<Option<StreamedValue>>,
    /// Which keys are lists, and how many elements they have.
    lists: BTreeMap<KeyId, usize>,
    left: Vec<u64>,
    latest_begin: Option<i64>,
    /// How many snapshots have no commit yet.
    n_open: usize,
}

impl Resumption {
    /// A level, as in [`StreamCheck::new`]. Nothing if it cannot be streamed, or keeps more of its past than a schedule says.
    pub fn new(level: Level, initial: &StreamedValue, window: usize) -> Option<Self> {
        let check = StreamCheck::new(&[level], initial, window).ok()?;
        let streamed = StreamCheck::streamed_as(level)?;
        if super::is_weak(streamed) {
            return None;
        }
        let replay = SavedReplay::new(streamed, initial.clone(), StreamCheck::window_of(streamed, window))?;
        Some(Self {
            check,
            replay,
            values: Vec::new(),
            lists: BTreeMap::new(),
            left: Vec::new(),
            latest_begin: None,
            n_open: 0,
        })
    }

    /// The initial value of one key.
    pub fn initial(&mut self, key: KeyId, value: &StreamedValue) -> Result<(), Uncertified> {
        self.replay.initial(key, value.clone())?;
        if *value == StreamedValue::Empty {
            self.lists.insert(key, 0);
        }
        self.hold(key, value.clone());
        Ok(())
    }

    /// A key is a row with this name, of a table that is scanned.
    pub fn row(&mut self, key: KeyId, table: TableId, name: &Datum) {
        self.replay.row(key, table, name.clone());
        if let Some(stream) = self.check.tracks.first_mut().and_then(|it| it.stream.as_mut()) {
            stream.row(key, table, name.clone());
        }
    }

    /// The next transaction of the recording.
    pub fn tell(&mut self, block: &Arc<StreamedBlock>, idx: usize) -> Result<(), Uncertified> {
        self.replay.tell(block, idx)?;
        self.check.times.hear(&block.txn(idx));
        Ok(())
    }

    /// How many transactions were told.
    pub fn n_txns(&self) -> u64 {
        self.replay.n_txns()
    }

    /// Steps with numbers below this one are of transactions that were told.
    pub fn n_told(&self) -> u64 {
        self.replay.n_told()
    }

    /// The next step of the schedule, of a transaction that was told.
    pub fn step(&mut self, step: StreamedStep, txn: u64, sources: &[u64]) -> Result<(), Uncertified> {
        let known = self.replay.txn(txn).map(|it| Effects::of(&it, step));
        self.replay.step(step, txn, sources)?;
        let Some(effects) = known else { return Ok(()) };
        match step {
            StreamedStep::Snapshot => self.n_open += 1,
            StreamedStep::Commit => self.n_open -= 1,
            StreamedStep::Whole => {}
        }
        if step != StreamedStep::Commit {
            self.latest_begin = self.latest_begin.max(effects.begin);
            if self.left.len() <= effects.session {
                self.left.resize(effects.session + 1, 0);
            }
            self.left[effects.session] = txn + 1;
        }
        for (key, value, n_written) in effects.writes {
            if let Some(length) = self.lists.get_mut(&key) {
                *length += n_written;
            }
            self.hold(key, value);
        }
        Ok(())
    }

    fn hold(&mut self, key: KeyId, value: StreamedValue) {
        if self.values.len() <= key.index() {
            self.values.resize(key.index() + 1, None);
        }
        self.values[key.index()] = Some(value);
    }

    /// The schedule has no more steps: the check goes on, with those that were told and are not in it. Nothing if a snapshot has no
    /// commit.
    pub fn go_on(self, recording: &dyn Recording, steps: &mut dyn Steps, budget: &Budget<'_>) -> Option<StreamCheck> {
        let Self { mut check, replay, values, lists, left, latest_begin, n_open } = self;
        let lists = lists.into_iter().collect();
        let held = (0..).map(KeyId::from_index).zip(values);
        let values = held.filter_map(|(key, value)| Some((key, value?))).collect();
        check.n_txns = replay.n_txns();
        let track = check.tracks.first_mut()?;
        if n_open > 0 || !track.stream.as_mut()?.go_on_after(Past { values, lists, left, latest_begin }) {
            return None;
        }
        track.go_on_with(replay, recording, steps, budget);
        Some(check)
    }
}

/// What a step changes.
struct Effects {
    session: usize,
    begin: Option<i64>,
    /// The last value of each key, and how many there were.
    writes: Vec<(KeyId, StreamedValue, usize)>,
}

impl Effects {
    fn of(txn: &StreamedTxn<'_>, step: StreamedStep) -> Self {
        let writes = if step == StreamedStep::Snapshot { &[] } else { txn.writes() };
        let writes = writes.iter().map(|(key, value)| (*key, value.clone(), txn.appended(*key).count())).collect();
        Self { session: txn.session.index(), begin: txn.begin, writes }
    }
}

impl Track {
    fn go_on_with(
        &mut self,
        replay: SavedReplay,
        recording: &dyn Recording,
        steps: &mut dyn Steps,
        budget: &Budget<'_>,
    ) {
        // The schedule is there already.
        self.has_begun = true;
        self.pieces = replay.pieces().cloned();
        self.n_steps = replay.n_told();
        self.txns = replay.kept().clone();
        self.replay = Some(Replayer::new(replay));
        for id in self.txns.ids() {
            if let Some(txn) = self.txns.get(id) {
                self.held.push(id, &txn);
            }
            while self.take_held(Held::next, recording, steps, budget) {}
        }
    }
}

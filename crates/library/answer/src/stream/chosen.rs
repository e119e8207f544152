//! How a weak level is streamed, which its first transactions decide.
//!
//! Schedules of the weak levels say nothing of scans. Prefix consistency implies these levels, and what it does not explain is
//! decided by the level itself; so it is streamed for them where there are scans. Nobody knows before that, so the first
//! transactions wait until there is a scan, or until there were enough of them.

use super::held::Held;
use super::replay::{Kept, Replayer};
use super::{MAX_HELD, Recording, SavedReplay, Steps, StreamCheck, Track, is_weak};
use iso_check::stream::Stream;
use iso_evidence::Budget;
use iso_history::{Datum, KeyId, StreamedBlock, StreamedValue, TableId};
use iso_spec::Level;
use std::sync::Arc;

/// Whoever has no scan among so many transactions is taken to have none, if somebody waits for an answer.
const MIN_TOLD: usize = 64;

/// What was told before it is decided how a level is streamed.
#[derive(Debug)]
pub(super) struct Choice {
    initial: StreamedValue,
    window: usize,
    initials: Vec<(KeyId, StreamedValue)>,
    rows: Vec<(KeyId, TableId, Datum)>,
    txns: Vec<(Arc<StreamedBlock>, usize)>,
}

impl Choice {
    /// A choice is left only for weak levels.
    pub(super) fn new(streamed: Level, initial: &StreamedValue, window: usize) -> Option<Self> {
        let (initials, rows, txns) = (Vec::new(), Vec::new(), Vec::new());
        is_weak(streamed).then(|| Self { initial: initial.clone(), window, initials, rows, txns })
    }

    pub(super) fn initial(&mut self, key: KeyId, value: &StreamedValue) {
        self.initials.push((key, value.clone()));
    }

    pub(super) fn row(&mut self, key: KeyId, table: TableId, name: &Datum) {
        self.rows.push((key, table, name.clone()));
    }
}

impl Track {
    /// The next transaction of the recording waits, if nobody knows yet how the level is streamed.
    pub(super) fn wait_for_scans(
        &mut self,
        (block, idx): (&Arc<StreamedBlock>, usize),
        recording: &dyn Recording,
        steps: &mut dyn Steps,
        budget: &Budget<'_>,
    ) {
        let Some(choice) = &mut self.choice else { return };
        choice.txns.push((Arc::clone(block), idx));
        if block.txn(idx).has_scans() {
            self.follow_prefixes(recording, steps, budget);
        } else if choice.txns.len() >= MAX_HELD {
            self.follow_itself(recording, steps, budget);
        }
    }

    /// Nobody waits for more, if there were enough to see whether they scan.
    pub(super) fn follow_itself_soon(&mut self, recording: &dyn Recording, steps: &mut dyn Steps, budget: &Budget<'_>) {
        if self.choice.as_ref().is_some_and(|it| it.txns.len() >= MIN_TOLD) {
            self.follow_itself(recording, steps, budget);
        }
    }

    /// There were no scans.
    pub(super) fn follow_itself(&mut self, recording: &dyn Recording, steps: &mut dyn Steps, budget: &Budget<'_>) {
        if let Some(choice) = self.choice.take() {
            self.take_first(choice.txns, recording, steps, budget);
        }
    }

    /// There is a scan.
    fn follow_prefixes(&mut self, recording: &dyn Recording, steps: &mut dyn Steps, budget: &Budget<'_>) {
        let Some(choice) = self.choice.take() else { return };
        let streamed = Level::PrefixConsistency;
        let window = StreamCheck::window_of(streamed, choice.window);
        self.streamed = streamed;
        self.stream = Stream::new(streamed, choice.initial.clone(), window);
        self.replay = SavedReplay::new(streamed, choice.initial, window).map(Replayer::new);
        self.held = Held::new(window.min(MAX_HELD));
        for (key, value) in &choice.initials {
            let is_in_time = self.initial(*key, value);
            debug_assert!(is_in_time, "it was before");
        }
        for (key, table, name) in &choice.rows {
            self.row(*key, *table, name);
        }
        self.take_first(choice.txns, recording, steps, budget);
    }

    /// Takes those that have waited.
    fn take_first(
        &mut self,
        txns: Vec<(Arc<StreamedBlock>, usize)>,
        recording: &dyn Recording,
        steps: &mut dyn Steps,
        budget: &Budget<'_>,
    ) {
        self.txns = Kept::default();
        for (block, idx) in txns {
            self.take((&block, idx), recording, steps, budget);
        }
    }
}

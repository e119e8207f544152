//! Serializability, snapshot isolation and prefix consistency of a stream, with or without real time.
//!
//! Transactions come in the order of their ends, which is nearly always the order in which they took effect. Each read is
//! linked to the newest version with its value, each write comes last in the chain of its key; an order of the events in the
//! window follows what that implies. Where it cannot, neighbouring versions are exchanged. What still does not fit is a
//! [`Misfit`]: a guess of ours was wrong, or the level is violated; the window alone does not know.
//! Cost: an operation costs a look at its key, unless an edge is against the order.

mod gap;
mod listed;
mod lists;
mod place;
mod scans;
mod waiting;

use super::chains::{Chains, NONE, Op, Shape, Txn};
use super::order::{Cycle, Graph, Order, RealTime};
use super::{Left, Misfit, Past, Why};
use iso_evidence::StreamedStep;
use iso_history::{KeyId, Outcome, StreamedBlock, StreamedTxn, StreamedValue};
use iso_spec::Level;
use lists::Lists;
use rustc_hash::{FxHashMap, FxHashSet};
use scans::Scans;
pub(super) use scans::Unreturned;
use std::collections::VecDeque;
use waiting::{Waiting, Wanted};

/// So many versions with the value of a read, or places of a write, are tried.
const MAX_TRIES: usize = 24;
/// So many versions of a key are passed on the way to an old one: those of a window stay close to the processor, and a table costs
/// something at each version.
const MAX_SEEN: usize = 256;
/// And so many where there is a table.
const N_NEAR: usize = 32;
/// So many times neighbouring versions are exchanged for one operation.
const MAX_EXCHANGES: usize = 6;
/// So many times a writer is moved back for one operation.
const MAX_MOVES: usize = 8;

/// The window of a level.
#[derive(Clone, Debug)]
pub(super) struct Strong {
    pub(super) chains: Chains,
    pub(super) order: Order,
    real_time: RealTime,
    /// The last transaction of each session, if it is in the window.
    sessions: Vec<u32>,
    /// By session, the number after the one of the last transaction that left.
    left: Vec<u64>,
    /// Reads without a version, by key.
    waiting: FxHashMap<u32, Vec<Waiting>>,
    /// Whose scans wait, each with the number of the transaction that came last when it began to.
    patient: VecDeque<(u64, u32)>,
    latest_id: u64,
    unknown: Vec<(u64, StreamedBlock)>,
    lists: Lists,
    scans: Scans,
    /// Versions of lists that follow right after the one before them, at prefix consistency; elsewhere that is a read.
    pinned: FxHashSet<u32>,
    latest_begin: Option<i64>,
    latest_begin_left: Option<i64>,
    /// Kept for their memory: edges that follow from a version, and old versions with a value.
    edges: Vec<(u32, u32)>,
    far: Vec<u32>,
    pub(super) n_exchanges: u64,
}

impl Strong {
    pub(super) fn new(level: Level, default_initial: StreamedValue) -> Self {
        let shape = match level.without_times() {
            Level::Serializable => Shape::Serial,
            Level::SnapshotIsolation => Shape::Snapshots,
            _ => Shape::Prefixes,
        };
        let real_time = if level.needs_times() { RealTime::Counts } else { RealTime::Ignored };
        Self {
            chains: Chains::new(shape, default_initial),
            order: Order::new(real_time),
            real_time,
            sessions: Vec::new(),
            left: Vec::new(),
            waiting: FxHashMap::default(),
            patient: VecDeque::new(),
            latest_id: 0,
            unknown: Vec::new(),
            lists: Lists::default(),
            scans: Scans::default(),
            pinned: FxHashSet::default(),
            latest_begin: None,
            latest_begin_left: None,
            edges: Vec::new(),
            far: Vec::new(),
            n_exchanges: 0,
        }
    }

    /// Nothing is here yet, and what left before was this.
    pub(super) fn go_on_after(&mut self, past: Past) {
        for (key, value) in past.values {
            let is_untouched = self.set_initial(key, value);
            debug_assert!(is_untouched, "nothing is here yet");
        }
        for (key, n_left) in past.lists {
            self.lists.begin(key, n_left);
        }
        self.sessions.resize(past.left.len(), NONE);
        self.left = past.left;
        self.latest_begin = past.latest_begin;
        self.latest_begin_left = past.latest_begin;
    }

    /// The initial value of a key, which nobody has touched.
    pub(super) fn set_initial(&mut self, key: KeyId, value: StreamedValue) -> bool {
        if value == StreamedValue::Empty {
            self.lists.begin(key, 0);
        }
        let is_untouched = self.chains.set_initial(key, value);
        if is_untouched && !self.scans.rows.is_empty() {
            self.scans.rows.put(key);
            self.leave_row(key);
        }
        is_untouched
    }

    /// Takes the next transaction; what does not fit is added to the misfits.
    pub(super) fn take(&mut self, id: u64, txn: &StreamedTxn<'_>, misfits: &mut Vec<Misfit>) {
        self.latest_id = self.latest_id.max(id);
        if !self.patient.is_empty() {
            self.lose_patience(self.latest_id, misfits);
        }
        match txn.outcome {
            Outcome::Aborted => {}
            Outcome::Indeterminate => self.keep_unknown(id, txn, misfits),
            Outcome::Committed => self.add(id, txn, misfits),
        }
    }

    /// The first event leaves, unless its transaction waits for a writer, or its scans do not fit.
    pub(super) fn retire(&mut self, misfits: &mut Vec<Misfit>) -> Option<Left> {
        let mut node = self.order.first()?;
        if !self.scans.rows.is_empty() {
            while self.is_start(node) && self.chains.txn(node >> 1).n_waiting == 0 && !self.scans_fit(node >> 1) {
                if !self.scans.unfit.is_empty() {
                    misfits.append(&mut self.scans.unfit);
                    return None;
                }
                node = self.order.first()?;
            }
        }
        let slot = node >> 1;
        let Txn { id, session, n_waiting, begin, .. } = *self.chains.txn(slot);
        let (is_start, is_end) =
            if self.chains.shape == Shape::Serial { (true, true) } else { (node & 1 == 0, node & 1 == 1) };
        if is_start && n_waiting > 0 {
            return None;
        }
        self.order.pop();
        if is_start {
            self.latest_begin_left = self.latest_begin_left.max(begin);
            let left = &mut self.left[session as usize];
            *left = (*left).max(id + 1);
            if self.scans.has_any() {
                self.leave_scans(slot);
            }
            self.release_reads(slot);
        }
        if is_end {
            self.release_writes(slot);
        }
        let step = match (is_start, is_end) {
            (true, true) => StreamedStep::Whole,
            (true, false) => StreamedStep::Snapshot,
            _ => StreamedStep::Commit,
        };
        Some(Left { id, step, sources: Vec::new() })
    }

    /// Does a transaction read at this event?
    fn is_start(&self, node: u32) -> bool {
        self.chains.shape == Shape::Serial || node & 1 == 0
    }

    /// The number of the first transaction.
    pub(super) fn first_id(&self) -> Option<u64> {
        self.order.first().map(|it| self.chains.txn(it >> 1).id)
    }

    fn release_reads(&mut self, slot: u32) {
        let mut op = self.chains.txn(slot).first_op;
        while op != NONE {
            let Op { next_of_txn, is_write, .. } = self.chains.op(op);
            if !is_write {
                self.chains.unlink(op);
            }
            op = next_of_txn;
        }
    }

    fn release_writes(&mut self, slot: u32) {
        let mut op = self.chains.txn(slot).first_op;
        while op != NONE {
            let Op { next_of_txn, is_write, version, .. } = self.chains.op(op);
            if is_write && version != NONE {
                if !self.lists.is_empty() {
                    self.leave_list(version);
                }
                let key = KeyId::from_index(self.chains.version(version).key as usize);
                self.chains.settle(version);
                if !self.scans.rows.is_empty() {
                    self.leave_row(key);
                }
            }
            op = next_of_txn;
        }
        self.lists.forget(slot);
        let session = self.chains.txn(slot).session as usize;
        if self.sessions[session] == slot {
            self.sessions[session] = NONE;
        }
        self.chains.remove_txn(slot);
    }

    fn add(&mut self, id: u64, txn: &StreamedTxn<'_>, misfits: &mut Vec<Misfit>) {
        self.chains.look_ahead(txn.reads().iter().chain(txn.writes()));
        let slot = self.enter(id, txn, misfits);
        if let Some(key) = txn.contradicted() {
            misfits.push(Misfit { id, keys: vec![key], why: Why::Contradiction });
        }
        for (key, value) in txn.reads() {
            self.read(slot, *key, value, misfits);
        }
        if txn.has_scans() {
            self.take_scans(slot, txn, misfits);
        }
        if !self.lists.is_empty() {
            self.follow_shown(slot, txn, misfits);
        }
        if !self.waiting.is_empty() {
            self.precede_waiting(slot, txn.writes());
        }
        if self.chains.shape == Shape::Snapshots {
            self.avoid_writers(slot, txn.writes());
        }
        for (key, value) in txn.writes() {
            self.write(slot, *key, value, misfits);
        }
        for (key, value) in txn.writes() {
            self.wake(*key, value, misfits);
        }
        if !self.scans.rows.is_empty() {
            self.tell_scans(slot, txn, misfits);
        }
        if !self.lists.is_empty() {
            self.show_lists(slot, txn, misfits);
        }
    }

    /// The events of a transaction come to the end of the order, and it joins its session.
    fn enter(&mut self, id: u64, txn: &StreamedTxn<'_>, misfits: &mut Vec<Misfit>) -> u32 {
        let session = txn.session.index();
        if session >= self.sessions.len() {
            self.sessions.resize(session + 1, NONE);
            self.left.resize(session + 1, 0);
        }
        // One of unknown outcome may come late, into the middle of its session.
        let (mut before, mut after) = (self.sessions[session], NONE);
        while before != NONE && self.chains.txn(before).id > id {
            after = before;
            before = self.chains.txn(before).before;
        }
        let StreamedTxn { begin, end, .. } = *txn;
        let session = txn.session.raw();
        let slot = self.chains.add_txn(Txn { id, session, before, after, first_op: NONE, begin, end, n_waiting: 0 });
        if before != NONE {
            self.chains.txn_mut(before).after = slot;
        }
        if after == NONE {
            self.sessions[session as usize] = slot;
        } else {
            self.chains.txn_mut(after).before = slot;
        }
        let (start, commit) = (Chains::start(slot), self.chains.commit(slot));
        self.order.push(start);
        if commit != start {
            self.order.push(commit);
        }
        let is_passed = self.left[session as usize] > id;
        let mut fits = if is_passed { Err(Cycle::new()) } else { Ok(()) };
        if after != NONE && !is_passed {
            fits = self.order.ensure(&self.chains, commit, Chains::start(after));
        }
        if self.real_time == RealTime::Counts && fits.is_ok() {
            fits = self.keep_time(commit, end);
        }
        if let Err(cycle) = fits {
            let keys = txn.reads().iter().chain(txn.writes()).map(|it| it.0).collect();
            // Against what has left the window, no other order of the window helps.
            let why = if cycle.is_empty() { Why::Late } else { Why::NoPlace };
            misfits.push(Misfit { id, keys, why });
        }
        self.latest_begin = self.latest_begin.max(begin);
        slot
    }

    /// Lines may be a little out of the order of ends: whoever began after this end comes after it.
    fn keep_time(&mut self, commit: u32, end: Option<i64>) -> Result<(), Cycle> {
        let Some(end) = end.filter(|end| self.latest_begin.is_some_and(|it| it > *end)) else { return Ok(()) };
        if self.latest_begin_left.is_some_and(|it| it > end) {
            return Err(Cycle::new());
        }
        let is_later = |it: &u32| self.chains.times(*it).0.is_some_and(|begin| begin > end);
        let later: Vec<u32> = self.order.nodes().filter(is_later).collect();
        later.into_iter().try_for_each(|it| self.order.ensure(&self.chains, commit, it))
    }

    fn read(&mut self, slot: u32, key: KeyId, value: &StreamedValue, misfits: &mut Vec<Misfit>) {
        let op = self.chains.add_op(slot, key, false);
        // Nearly always there is a version, and nothing that has to be kept.
        match self.link(op, key, value) {
            Linked::Done => {}
            Linked::NoVersion => self.wait(op, key, &Wanted::Value(value.clone()), misfits),
            Linked::Cycle(keys) => {
                let id = self.chains.txn(slot).id;
                misfits.push(Misfit { id, keys, why: Why::Cycle });
            }
        }
    }

    /// Links a read to a version with its value, the newest one that fits.
    fn link(&mut self, op: u32, key: KeyId, value: &StreamedValue) -> Linked {
        let reader = self.chains.op(op).txn;
        let (mut version, mut n_tries, mut n_seen) = (self.chains.newest(key), 0, 0);
        let mut first = None;
        let mut far = std::mem::take(&mut self.far);
        far.clear();
        // Whoever finds versions by their values need not walk to them; near ones are found sooner.
        let max_seen = if self.chains.has_table(key) { N_NEAR } else { MAX_SEEN };
        while version != NONE && n_tries < MAX_TRIES {
            n_seen += 1;
            if n_seen > max_seen {
                self.far_versions(reader, key, value, &mut far);
                break;
            }
            let it = self.chains.version(version);
            let previous = it.previous;
            if it.is_of(value) && it.writer != reader {
                n_tries += 1;
                match self.try_link(op, version) {
                    Ok(()) => {
                        self.far = far;
                        return Linked::Done;
                    }
                    Err(cycle) => first = first.or(Some((version, cycle))),
                }
            }
            version = previous;
        }
        let mut is_linked = false;
        for version in far.iter().skip(n_tries).take(MAX_TRIES - n_tries) {
            match self.try_link(op, *version) {
                Ok(()) => {
                    is_linked = true;
                    break;
                }
                Err(cycle) => first = first.or(Some((*version, cycle))),
            }
        }
        self.far = far;
        if is_linked {
            return Linked::Done;
        }
        let Some((version, cycle)) = first else { return Linked::NoVersion };
        let keys = cycle.keys_with(key);
        if self.mend(cycle, |it| it.try_link(op, version)) { Linked::Done } else { Linked::Cycle(keys) }
    }

    /// The versions of a key with this value by others than the reader, from new to old; for a key with many versions.
    fn far_versions(&mut self, reader: u32, key: KeyId, value: &StreamedValue, found: &mut Vec<u32>) {
        self.chains.with_value(key, value, found);
        found.retain(|it| self.chains.version(*it).writer != reader);
        if found.len() < 2 {
            return;
        }
        let (chains, order) = (&self.chains, &self.order);
        let place = |it: &u32| match chains.version(*it).writer {
            NONE => 0,
            writer => order.position(chains.commit(writer)),
        };
        found.sort_unstable_by_key(|it| std::cmp::Reverse(place(it)));
    }

    fn try_link(&mut self, op: u32, version: u32) -> Result<(), Attempt> {
        self.chains.link(op, version);
        let result = self.fit_read(op, version);
        result.map_err(|cycle| {
            let attempt = Attempt { choices: self.choices(&cycle), keys: self.keys_on(&cycle) };
            self.chains.unlink(op);
            attempt
        })
    }

    fn fit_read(&mut self, op: u32, version: u32) -> Result<(), Cycle> {
        let reader = self.chains.op(op).txn;
        let start = Chains::start(reader);
        let (writer, next) = (self.chains.version(version).writer, self.chains.version(version).next);
        if writer != NONE {
            self.order.ensure(&self.chains, self.chains.commit(writer), start)?;
        }
        if next != NONE {
            let overwriter = self.chains.version(next).writer;
            if overwriter != reader && overwriter != NONE {
                self.order.ensure(&self.chains, start, self.chains.commit(overwriter))?;
            }
        }
        Ok(())
    }

    /// Exchanges neighbouring versions on the cycle of a failed attempt, and tries again, as long as there are some; then
    /// moves whoever may have been told late.
    fn mend(&mut self, mut failed: Attempt, mut attempt: impl FnMut(&mut Self) -> Result<(), Attempt>) -> bool {
        for _ in 0..MAX_EXCHANGES {
            let choices = failed.choices.clone();
            if !choices.into_iter().any(|(older, newer)| self.exchange(older, newer)) {
                break;
            }
            match attempt(self) {
                Ok(()) => return true,
                Err(again) => failed = again,
            }
        }
        for _ in 0..MAX_MOVES {
            let choices = std::mem::take(&mut failed.choices);
            if !choices.into_iter().any(|(older, newer)| self.move_before(newer, older)) {
                return false;
            }
            self.n_exchanges += 1;
            match attempt(self) {
                Ok(()) => return true,
                Err(again) => failed = again,
            }
        }
        false
    }

    /// Moves whoever wrote one version to before whoever wrote another one.
    fn move_before(&mut self, moved: u32, older: u32) -> bool {
        let (writer, other) = (self.chains.version(moved).writer, self.chains.version(older).writer);
        writer != NONE && other != NONE && self.move_back(writer, self.chains.successor_of_version(other))
    }

    /// Neighbouring versions, of writers in the window, whose order is a part of this cycle.
    fn choices(&self, cycle: &Cycle) -> Vec<(u32, u32)> {
        let mut choices: Vec<(u32, u32)> = Vec::new();
        for (nth, from) in cycle.iter().enumerate() {
            let to = cycle[(nth + 1) % cycle.len()];
            for op in self.chains.ops_of(to >> 1).map(|it| self.chains.op(it)).filter(|it| it.is_write) {
                let Some(older) = self.overwritten(op.version) else { continue };
                let is_read_by = |txn: u32| {
                    self.chains.ops_of(txn).map(|it| self.chains.op(it)).any(|it| !it.is_write && it.version == older)
                };
                let is_on_cycle = self.chains.version(older).writer == from >> 1 || is_read_by(from >> 1);
                let is_update = self.chains.shape != Shape::Prefixes && is_read_by(to >> 1);
                let choice = (older, op.version);
                if is_on_cycle && !is_update && !choices.contains(&choice) {
                    choices.push(choice);
                }
            }
        }
        choices
    }

    /// The version before this one, if its writer is in the window.
    fn overwritten(&self, version: u32) -> Option<u32> {
        let previous = (version != NONE).then(|| self.chains.version(version).previous)?;
        (previous != NONE && self.chains.version(previous).writer != NONE).then_some(previous)
    }

    /// Puts the newer of two neighbouring versions before the older one, if everything still fits.
    fn exchange(&mut self, older: u32, newer: u32) -> bool {
        let next = self.chains.version(newer).next;
        if self.chains.version(newer).previous != older || [older, newer, next].iter().any(|it| self.is_pinned(*it)) {
            return false;
        }
        let before = self.chains.version(older).previous;
        self.chains.take_out(newer);
        self.chains.insert(newer, before);
        if self.fit_version(newer).is_ok() && self.fit_version(older).is_ok() {
            self.n_exchanges += 1;
            return true;
        }
        self.chains.take_out(newer);
        self.chains.insert(newer, older);
        // As it was, so it fits.
        self.fit_version(older).and_then(|()| self.fit_version(newer)).ok();
        false
    }

    /// The keys that the edges of a cycle are about.
    fn keys_on(&self, cycle: &Cycle) -> Vec<KeyId> {
        let mut keys = Vec::new();
        for (nth, from) in cycle.iter().enumerate() {
            let to = cycle[(nth + 1) % cycle.len()];
            let of = |txn: u32| self.chains.ops_of(txn).map(|it| self.chains.op(it).key);
            let both: Vec<u32> = of(from >> 1).filter(|key| of(to >> 1).any(|it| it == *key)).collect();
            keys.extend(both.into_iter().map(|it| KeyId::from_index(it as usize)));
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

/// Why something could not be put where it was tried.
#[derive(Clone, Debug)]
struct Attempt {
    choices: Vec<(u32, u32)>,
    keys: Vec<KeyId>,
}

impl Attempt {
    fn keys_with(&self, key: KeyId) -> Vec<KeyId> {
        let mut keys = self.keys.clone();
        if !keys.contains(&key) {
            keys.push(key);
        }
        keys
    }
}

enum Linked {
    Done,
    NoVersion,
    Cycle(Vec<KeyId>),
}

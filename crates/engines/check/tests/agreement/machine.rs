//! A slow, independent decision for the levels that a machine explains: run the transactions in every order.
//!
//! The machine has one store. A transaction takes a snapshot of it, which all its reads must fit, and later commits its
//! writes at once. Nothing is shared with the project: only raw operations are looked at, so a mistake in what a
//! history is taken to say shows here as well. Positions that were seen before are not entered again.
//! Cost: exponential in transactions; ten are fine.

use crate::draft::{Action, Draft, DraftTxn, Key, Value};
use iso_history::Outcome;
use iso_spec::Level;
use std::collections::{BTreeMap, BTreeSet};

/// Does the level allow the history? None for levels that are about more than one store.
pub(crate) fn allows(draft: &Draft, level: Level) -> Option<bool> {
    if let Some(with_sessions) = level.with_sessions() {
        let mut alone = draft.clone();
        alone.txns.iter_mut().enumerate().for_each(|(idx, txn)| txn.session = idx);
        return allows(&alone, with_sessions);
    }
    let (kind, real_time) = match level {
        Level::Serializable => (Kind::OneEvent, false),
        Level::StrictSerializable => (Kind::OneEvent, true),
        Level::SnapshotIsolation => (Kind::FirstCommitterWins, false),
        Level::StrongSnapshotIsolation => (Kind::FirstCommitterWins, true),
        Level::PrefixConsistency => (Kind::Snapshots, false),
        _ => return None,
    };
    let machine = Machine { draft, kind, real_time };
    let n_txns = draft.txns.len();
    let start = Position { phases: vec![Phase::Waiting; n_txns], store: BTreeMap::new() };
    Some(machine.finishes(&start, &mut BTreeSet::new()))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Reads and writes happen together.
    OneEvent,
    /// Reads come from a snapshot.
    Snapshots,
    /// And nobody else may write the same keys in between.
    FirstCommitterWins,
}

struct Machine<'d> {
    draft: &'d Draft,
    kind: Kind,
    real_time: bool,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    phases: Vec<Phase>,
    store: BTreeMap<Key, Content>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Waiting,
    Running,
    Committed,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Content {
    Register(Value),
    List(Vec<i64>),
}

impl Machine<'_> {
    fn finishes(&self, position: &Position, seen: &mut BTreeSet<Position>) -> bool {
        let must_commit = |idx: &usize| self.draft.txns[*idx].outcome == Outcome::Committed;
        let mut all = (0..self.draft.txns.len()).filter(must_commit);
        if all.all(|it| position.phases[it] == Phase::Committed) {
            return true;
        }
        if !seen.insert(position.clone()) {
            return false;
        }
        (0..self.draft.txns.len()).any(|idx| {
            let next = match position.phases[idx] {
                Phase::Waiting => self.take_snapshot(position, idx),
                Phase::Running => Some(self.commit(position.clone(), idx)),
                Phase::Committed => None,
            };
            next.is_some_and(|it| self.finishes(&it, seen))
        })
    }

    fn take_snapshot(&self, position: &Position, idx: usize) -> Option<Position> {
        let txn = &self.draft.txns[idx];
        if txn.outcome == Outcome::Aborted || !self.is_next(position, idx) || !self.fits(position, txn) {
            return None;
        }
        let writes = |it: usize| self.draft.txns[it].actions.iter().filter(|it| it.is_write());
        let conflicts = |other: usize| writes(idx).any(|mine| writes(other).any(|it| it.key() == mine.key()));
        let is_running = |it: &usize| position.phases[*it] == Phase::Running;
        // Whoever runs will commit, so two that write the same key cannot run at the same time.
        if self.kind == Kind::FirstCommitterWins && (0..self.draft.txns.len()).filter(is_running).any(conflicts) {
            return None;
        }
        let mut next = position.clone();
        next.phases[idx] = Phase::Running;
        Some(if self.kind == Kind::OneEvent { self.commit(next, idx) } else { next })
    }

    /// Has everybody who must come before committed, and nobody who must come after begun?
    fn is_next(&self, position: &Position, idx: usize) -> bool {
        (0..self.draft.txns.len()).all(|other| {
            let was_before = self.precedes(other, idx);
            let is_after = self.precedes(idx, other);
            match (self.draft.txns[other].outcome, position.phases[other]) {
                // an indeterminate one that did not happen yet will not happen any more.
                (Outcome::Aborted, _) | (Outcome::Indeterminate, Phase::Waiting) => true,
                (Outcome::Committed, Phase::Waiting) => !was_before,
                (_, Phase::Running) => !was_before && !is_after,
                (_, Phase::Committed) => !is_after,
            }
        })
    }

    fn precedes(&self, earlier: usize, later: usize) -> bool {
        let (one, other) = (&self.draft.txns[earlier], &self.draft.txns[later]);
        let is_session_ordered = one.session == other.session && earlier < later;
        // Nobody knows when an indeterminate transaction ended.
        let ended = one.end.filter(|_| one.outcome == Outcome::Committed);
        let is_real_time_ordered = matches!((ended, other.begin), (Some(end), Some(begin)) if end < begin);
        earlier != later && (is_session_ordered || (self.real_time && is_real_time_ordered))
    }

    /// Does every read return what the store and the transaction's own writes say?
    fn fits(&self, position: &Position, txn: &DraftTxn) -> bool {
        let mut view = position.store.clone();
        txn.actions.iter().all(|action| match action {
            Action::Read(key, value) => match view.get(key) {
                Some(content) => *content == Content::Register(*value),
                None => self.draft.initial == *value,
            },
            Action::ReadList(key, values) => match view.get(key) {
                Some(content) => *content == Content::List(values.clone()),
                None => values.is_empty(),
            },
            write => {
                apply(&mut view, write);
                true
            }
        })
    }

    fn commit(&self, mut position: Position, idx: usize) -> Position {
        for action in &self.draft.txns[idx].actions {
            apply(&mut position.store, action);
        }
        position.phases[idx] = Phase::Committed;
        position
    }
}

fn apply(store: &mut BTreeMap<Key, Content>, action: &Action) {
    match action {
        Action::Write(key, value) => {
            store.insert(*key, Content::Register(*value));
        }
        Action::Append(key, value) => match store.entry(*key).or_insert(Content::List(Vec::new())) {
            Content::List(values) => values.push(*value),
            Content::Register(_) => panic!("a key is a list or a register"),
        },
        Action::Read(..) | Action::ReadList(..) => {}
    }
}

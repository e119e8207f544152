//! Does a history have an execution at all? All of them are tried, state by state.
//!
//! From prefix consistency on, an execution is a sequence of commits, and what matters of those before is a state: how far
//! each session is, the value of each key, and which transactions have found what they read (their snapshots). So there are
//! far fewer states than sequences. Four things are done at once, since nothing is lost by them: a snapshot is taken when
//! it fits, whoever only reads commits when it has one, a value that nobody is going to read is forgotten, and a state is given
//! up if somebody waits for a value that nobody else is going to write. If the first committer wins, a snapshot is void when somebody commits a key that its
//! transaction writes; without snapshots, each commit voids all of them.
//! Cost: states times sessions, times the reads of a transaction and the keys; after [`MAX_NUMBERS`] nothing is said.

use iso_history::{Facts, Op, OpId, Standing, TxnId};
use iso_spec::Level;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// States are looked at until they have so many numbers together: some minutes.
const MAX_NUMBERS: usize = 1_000_000_000;

/// So many numbers at once, which is what memory has to hold.
const MAX_NUMBERS_AT_ONCE: usize = 200_000_000;

/// When a snapshot is void.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Void {
    /// When anybody commits: there is no snapshot but the present.
    ByAnybody,
    /// When somebody commits a key that the transaction writes.
    ByConflict,
    Never,
}

/// A transaction: keys with what it read and what it wrote last.
struct Task {
    reads: Vec<(usize, u32)>,
    writes: Vec<(usize, u32)>,
}

type LastPlaces = FxHashMap<(usize, u32), Vec<u32>>;

/// Instead of a value that nobody is going to read.
const FORGOTTEN: u32 = u32::MAX;

/// For each session its place, then the value of each key, then for each session whether its next one has a snapshot.
type State = Box<[u32]>;

struct Executions {
    sessions: Vec<Vec<Task>>,
    /// For each key and value, by session, the places after the last transactions that write and that read it.
    last_writes: LastPlaces,
    last_reads: LastPlaces,
    n_keys: usize,
    void: Void,
}

/// Is it sure that a level allows no execution of a history? False also if there are too many states to say, or if values
/// are not all that matters.
pub(super) fn has_no_execution(facts: &Facts<'_>, level: Level) -> bool {
    let Some(executions) = Executions::new(facts, level) else { return false };
    let initial = facts.history().keys().map(|it| facts.history().initial_value(it).raw());
    let n_sessions = executions.sessions.len();
    let mut state: State = vec![0; n_sessions].into_iter().chain(initial).chain(vec![0; n_sessions]).collect();
    executions.settle(&mut state);
    let (mut n_numbers, mut n_gone) = (state.len(), 0);
    // A commit moves a state to a later layer, so that each layer is complete when its turn comes.
    let mut layers = BTreeMap::from([(executions.n_committed(&state), FxHashSet::from_iter([state]))]);
    let (n_txns, mut next) = (facts.txns().count(), Vec::new());
    while let Some((n_committed, layer)) = layers.pop_first() {
        if n_committed == n_txns {
            return false;
        }
        let n_of_layer: usize = layer.iter().map(|it| it.len()).sum();
        for state in layer.into_iter().collect::<Vec<State>>() {
            for session in (0..n_sessions).filter(|it| executions.can_commit(&state, *it)) {
                next.clear();
                next.extend_from_slice(&state);
                executions.commit(&mut next, session);
                executions.settle(&mut next);
                if executions.is_stuck(&next) {
                    continue;
                }
                executions.forget(&mut next);
                let layer = layers.entry(executions.n_committed(&next)).or_default();
                if !layer.contains(next.as_slice()) {
                    layer.insert(next.as_slice().into());
                    n_numbers += next.len();
                }
            }
            if n_numbers > MAX_NUMBERS || n_numbers - n_gone > MAX_NUMBERS_AT_ONCE {
                return false;
            }
        }
        n_gone += n_of_layer;
    }
    true
}

fn last_places(sessions: &[Vec<Task>], touched: impl Fn(&Task) -> &[(usize, u32)]) -> LastPlaces {
    let mut last = LastPlaces::default();
    for (session, tasks) in sessions.iter().enumerate() {
        for (place, task) in (1..).zip(tasks) {
            for value in touched(task) {
                last.entry(*value).or_insert_with(|| vec![0; sessions.len()])[session] = place;
            }
        }
    }
    last
}

impl Executions {
    fn new(facts: &Facts<'_>, level: Level) -> Option<Self> {
        let void = match level {
            Level::Serializable | Level::StrictSerializable => Void::ByAnybody,
            Level::SnapshotIsolation | Level::StrongSnapshotIsolation => Void::ByConflict,
            Level::PrefixConsistency => Void::Never,
            _ => return None,
        };
        let history = facts.history();
        let is_register = |it: OpId| matches!(history.op(it), Op::Read { .. } | Op::Write { .. });
        let is_plain = |it: TxnId| facts.standing(it) == Standing::Counted && history.ops(it).all(is_register);
        if !facts.local().is_empty() || !facts.txns().all(is_plain) {
            return None;
        }
        let task = |txn: &TxnId| {
            let value = |op: OpId| if let Op::Read { value, .. } = history.op(op) { value.raw() } else { u32::MAX };
            let reads = facts.reads_of(*txn).map(|it| facts.reads()[it]);
            let writes = facts.final_writes(*txn).iter();
            Task {
                reads: reads.map(|it| (it.key.index(), value(it.op))).collect(),
                writes: writes.map(|(key, value)| (key.index(), value.raw())).collect(),
            }
        };
        let counts = |it: &&TxnId| facts.standing(**it) == Standing::Counted;
        let tasks = |it| history.session_txns(it).iter().filter(counts).map(task).collect();
        let sessions: Vec<Vec<Task>> = history.sessions().map(tasks).collect();
        let (last_writes, last_reads) =
            (last_places(&sessions, |it| &it.writes), last_places(&sessions, |it| &it.reads));
        Some(Self { sessions, last_writes, last_reads, n_keys: history.n_keys(), void })
    }

    fn n_committed(&self, state: &[u32]) -> usize {
        state[..self.sessions.len()].iter().map(|it| *it as usize).sum()
    }

    fn next(&self, state: &[u32], session: usize) -> Option<&Task> {
        self.sessions[session].get(state[session] as usize)
    }

    fn value(&self, state: &[u32], key: usize) -> u32 {
        state[self.sessions.len() + key]
    }

    /// Where it says whether the next one of a session has a snapshot.
    fn snapshot(&self, session: usize) -> usize {
        self.sessions.len() + self.n_keys + session
    }

    fn can_commit(&self, state: &[u32], session: usize) -> bool {
        self.next(state, session).is_some() && state[self.snapshot(session)] == 1
    }

    /// Commits the next one of a session, and voids snapshots.
    fn commit(&self, state: &mut [u32], session: usize) {
        let Some(task) = self.next(state, session) else { return };
        for (key, value) in &task.writes {
            state[self.sessions.len() + key] = *value;
        }
        state[session] += 1;
        state[self.snapshot(session)] = 0;
        for other in 0..self.sessions.len() {
            let has_written = |it: &(usize, u32)| task.writes.iter().any(|written| written.0 == it.0);
            let is_void = match self.void {
                Void::ByAnybody => true,
                Void::ByConflict => self.next(state, other).is_some_and(|it| it.writes.iter().any(has_written)),
                Void::Never => false,
            };
            if is_void {
                state[self.snapshot(other)] = 0;
            }
        }
    }

    /// Takes snapshots that fit, and commits whoever only reads: that changes no value, and voids nothing.
    fn settle(&self, state: &mut [u32]) {
        for session in 0..self.sessions.len() {
            while let Some(task) = self.next(state, session) {
                let fits = task.reads.iter().all(|(key, value)| self.value(state, *key) == *value);
                if fits {
                    state[self.snapshot(session)] = 1;
                }
                if state[self.snapshot(session)] == 0 || !task.writes.is_empty() {
                    break;
                }
                state[session] += 1;
                state[self.snapshot(session)] = 0;
            }
        }
    }

    fn forget(&self, state: &mut [u32]) {
        for key in 0..self.n_keys {
            let last = self.last_reads.get(&(key, self.value(state, key))).map_or(&[][..], Vec::as_slice);
            if !last.iter().enumerate().any(|(session, place)| *place > state[session]) {
                state[self.sessions.len() + key] = FORGOTTEN;
            }
        }
    }

    /// Does somebody wait for a value that nobody else is going to write?
    fn is_stuck(&self, state: &[u32]) -> bool {
        let is_missing = |session: usize, read: &(usize, u32)| {
            let last = self.last_writes.get(read).map_or(&[][..], Vec::as_slice);
            let is_written = |it: (usize, &u32)| it.0 != session && *it.1 > state[it.0];
            self.value(state, read.0) != read.1 && !last.iter().enumerate().any(is_written)
        };
        let waits = |it: &usize| state[self.snapshot(*it)] == 0;
        (0..self.sessions.len()).filter(waits).any(|session| {
            self.next(state, session).is_some_and(|task| task.reads.iter().any(|it| is_missing(session, it)))
        })
    }
}

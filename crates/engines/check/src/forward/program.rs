//! What sessions are going to do, in small numbers: whom they read and write by value, not by writer.

use crate::order::Frame;
use crate::rule::Events;
use iso_history::{KeyId, Op, Standing, TxnId, ValueId};
use rustc_hash::FxHashMap;

/// Transactions that are worth a try, at most.
const MAX_TXNS: usize = 60_000;

/// States hold a number for each version and session: of so many, not enough states can be kept.
const MAX_VERSIONS: usize = 4_096;
const MAX_SESSIONS: usize = 64;

/// A state has a bit for each version that attempts have read.
pub(super) const MAX_TRIED: usize = 32;

/// A key with one of the values that are read from it. The first version of each key stands for all values that nobody
/// reads.
pub(crate) type Version = u32;

/// A part of the whole, in parts of 2 to the power of 32.
pub(super) type Share = u64;

/// A transaction, as far as its execution matters.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) txn: TxnId,
    /// What it must find, each once.
    pub(crate) reads: Vec<Version>,
    pub(crate) writes: Vec<Version>,
    /// What it reads and overwrites: nobody else overwrites the same write of it.
    pub(super) updates: Vec<Version>,
    /// What attempts of its session that aborted have read since the task before; not all of it if it is much.
    pub(super) tried: Vec<Version>,
    /// How many of its session come before it, those that aborted included.
    pub(super) nth: u32,
    pub(super) begin: i64,
    /// No later one of its session has ended before this.
    pub(super) end: i64,
}

/// A transaction as its session ran it: what aborted took time, too, and what it has read tells when.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    /// For each operation, what it found, if that was written by somebody else and tells anything.
    pub(super) finds: Vec<Option<Version>>,
    pub(super) is_task: bool,
}

/// The tasks of each session, in session order.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) sessions: Vec<Vec<Task>>,
    /// All transactions of each session.
    pub(super) attempts: Vec<Vec<Attempt>>,
    /// How many transactions each session began, those that aborted included.
    pub(super) n_begun: Vec<u32>,
    /// When tasks happen if all sessions do the same share of their work in the same time: shares of the whole, ascending.
    pub(super) moments: Vec<Share>,
    pub(crate) initial: Vec<Version>,
    /// The key of each version.
    pub(crate) key: Vec<u32>,
    versions: Vec<Vec<Version>>,
    /// How many tasks read and write each version.
    pub(super) n_readers: Vec<u16>,
    pub(super) n_writers: Vec<u16>,
    pub(super) n_updaters: Vec<u16>,
    /// For each session and version, where in the session it is written; ascending.
    own_writes: FxHashMap<(u32, Version), Vec<u32>>,
    pub(crate) events: Events,
    pub(super) n_tasks: usize,
}

impl Program {
    /// Nothing if the history is too large, or values are not all that matters.
    pub(crate) fn new(frame: &Frame<'_>) -> Option<Self> {
        let facts = frame.facts;
        let history = facts.history();
        let is_list = |key: KeyId| history.is_list(key);
        let is_optional = facts.txns().any(|it| facts.standing(it) == Standing::Optional);
        if is_optional
            || history.n_txns() > MAX_TXNS
            || history.keys().any(is_list)
            // A row that was not returned has no value.
            || history.has_omissions()
        {
            return None;
        }
        let versions = Versions::new(frame)?;
        let mut program = Self {
            sessions: Vec::new(),
            attempts: Vec::new(),
            n_begun: history.sessions().map(|it| history.session_txns(it).len() as u32).collect(),
            moments: Vec::new(),
            initial: history.keys().map(|it| versions.of(it, history.initial_value(it))).collect(),
            n_readers: vec![0; versions.key.len()],
            n_writers: vec![0; versions.key.len()],
            n_updaters: vec![0; versions.key.len()],
            own_writes: FxHashMap::default(),
            key: Vec::new(),
            versions: vec![Vec::new(); history.n_keys()],
            events: frame.rule.events,
            n_tasks: facts.txns().count(),
        };
        for session in history.sessions() {
            let (attempts, tasks) = versions.run(frame, history.session_txns(session));
            program.attempts.push(attempts);
            program.add_session(tasks);
        }
        for (version, key) in (0..).zip(&versions.key) {
            program.versions[*key as usize].push(version);
        }
        program.key = versions.key;
        program.moments = program.in_step().iter().map(|it| it.0).collect();
        Some(program)
    }

    fn add_session(&mut self, mut tasks: Vec<Task>) {
        let session = self.sessions.len() as u32;
        let mut end = i64::MAX;
        for task in tasks.iter_mut().rev() {
            end = end.min(task.end);
            task.end = end;
        }
        for (nth, task) in (0..).zip(&tasks) {
            for read in &task.reads {
                self.n_readers[*read as usize] += 1;
            }
            for update in &task.updates {
                self.n_updaters[*update as usize] += 1;
            }
            for write in &task.writes {
                self.n_writers[*write as usize] += 1;
                self.own_writes.entry((session, *write)).or_default().push(nth);
            }
        }
        self.sessions.push(tasks);
    }

    /// The transactions of all sessions, as if each session did the same share of its work in the same time. What aborted
    /// was work, too.
    pub(crate) fn side_by_side(&self) -> Vec<TxnId> {
        self.in_step().into_iter().map(|it| it.1).collect()
    }

    fn in_step(&self) -> Vec<(Share, TxnId)> {
        let mut txns = Vec::with_capacity(self.n_tasks);
        for (tasks, n_begun) in self.sessions.iter().zip(&self.n_begun) {
            let share = |nth: u32| ((2 * u64::from(nth) + 1) << 32) / (2 * u64::from(*n_begun));
            txns.extend(tasks.iter().map(|it| (share(it.nth), it.txn)));
        }
        txns.sort_unstable();
        txns
    }

    pub(crate) fn n_tasks(&self) -> usize {
        self.n_tasks
    }

    /// The same work under another rule, for sessions in step.
    pub(crate) fn with_events(&self, events: Events) -> Self {
        Self { events, ..self.clone() }
    }

    /// Are states small enough to keep many of them?
    pub(crate) fn has_small_states(&self) -> bool {
        self.sessions.len() <= MAX_SESSIONS && self.key.len() <= MAX_VERSIONS
    }

    /// Do two tasks write a common key?
    pub(super) fn conflict(&self, one: &Task, other: &Task) -> bool {
        let key = |it: &Version| self.key[*it as usize];
        one.writes.iter().any(|it| other.writes.iter().any(|written| key(it) == key(written)))
    }

    pub(super) fn versions_of(&self, key: u32) -> &[Version] {
        &self.versions[key as usize]
    }

    /// How often a session writes a version from a place on.
    pub(super) fn n_own_writes(&self, session: usize, version: Version, from: u32) -> usize {
        self.own_writes
            .get(&(session as u32, version))
            .map_or(0, |places| places.len() - places.partition_point(|it| *it < from))
    }
}

/// The versions of all keys.
struct Versions {
    /// Versions by key and value; those that nobody reads are missing.
    numbers: FxHashMap<(KeyId, ValueId), Version>,
    first: Vec<Version>,
    key: Vec<u32>,
}

impl Versions {
    fn new(frame: &Frame<'_>) -> Option<Self> {
        let history = frame.facts.history();
        let n_keys = history.n_keys();
        let mut versions = Self {
            numbers: FxHashMap::default(),
            first: (0..n_keys as u32).collect(),
            key: (0..n_keys as u32).collect(),
        };
        for (idx, read) in frame.facts.reads().iter().enumerate() {
            let number = versions.key.len() as u32;
            let version = (read.key, value_of(frame, idx)?);
            if *versions.numbers.entry(version).or_insert(number) == number {
                versions.key.push(read.key.raw());
            }
        }
        Some(versions)
    }

    fn of(&self, key: KeyId, value: ValueId) -> Version {
        self.numbers.get(&(key, value)).copied().unwrap_or(self.first[key.index()])
    }

    /// What a session ran, and the part of it that counts.
    fn run(&self, frame: &Frame<'_>, txns: &[TxnId]) -> (Vec<Attempt>, Vec<Task>) {
        let is_task = |it: TxnId| frame.facts.standing(it) != Standing::Out;
        let attempt = |it: &TxnId| Attempt { finds: self.finds(frame, *it), is_task: is_task(*it) };
        let attempts: Vec<Attempt> = txns.iter().map(attempt).collect();
        let (mut tasks, mut tried) = (Vec::new(), Vec::new());
        for (txn, attempt) in txns.iter().zip(&attempts) {
            if attempt.is_task {
                tasks.push(Task { tried: std::mem::take(&mut tried), ..self.task(frame, *txn) });
                continue;
            }
            for version in attempt.finds.iter().flatten() {
                if tried.len() < MAX_TRIED && !tried.contains(version) {
                    tried.push(*version);
                }
            }
        }
        (attempts, tasks)
    }

    /// What each operation has found that the transaction did not write itself.
    fn finds(&self, frame: &Frame<'_>, txn: TxnId) -> Vec<Option<Version>> {
        let history = frame.facts.history();
        let mut written = Vec::new();
        let mut find = |op: Op<'_>| match op {
            Op::Read { key, value } if !written.contains(&key) => self.numbers.get(&(key, value)).copied(),
            _ => {
                written.extend(op.is_write().then(|| op.key()));
                None
            }
        };
        history.ops(txn).map(|it| find(history.op(it))).collect()
    }

    fn task(&self, frame: &Frame<'_>, txn: TxnId) -> Task {
        let facts = frame.facts;
        let read = |it: usize| Some(self.of(frame.key(it), value_of(frame, it)?));
        let mut reads: Vec<Version> = frame.reads_of(txn).filter_map(read).collect();
        reads.sort_unstable();
        reads.dedup();
        let writes: Vec<Version> = facts.final_writes(txn).iter().map(|(key, value)| self.of(*key, *value)).collect();
        let mut updates = reads.clone();
        let key = |it: Version| self.key[it as usize];
        updates.retain(|it| {
            frame.rule.events != Events::StartAndCommit && writes.iter().any(|write| key(*write) == key(*it))
        });
        let begin = frame.begin(txn).unwrap_or(i64::MIN);
        let nth = facts.history().nth_in_session(txn) as u32;
        Task { txn, reads, writes, updates, tried: Vec::new(), nth, begin, end: frame.end(txn).unwrap_or(i64::MAX) }
    }
}

/// What a read saw.
fn value_of(frame: &Frame<'_>, read: usize) -> Option<ValueId> {
    let key = frame.key(read);
    let writer = *frame.facts.candidates(read).first()?;
    if writer.is_initial() {
        return Some(frame.facts.history().initial_value(key));
    }
    let writes = frame.facts.final_writes(writer);
    writes.binary_search_by_key(&key, |it| it.0).ok().map(|it| writes[it].1)
}

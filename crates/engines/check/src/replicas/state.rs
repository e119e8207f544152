//! How far each session is, what it has seen, and the way back.

use super::arbitration::Arbitration;
use super::blame::Penalties;
use super::plan::{Plan, Taste};
use crate::problem::Problem;
use iso_evidence::{Budget, StopReason};
use iso_history::{KeyId, TxnId, ValueId};
use iso_solve::Mark;
use rustc_hash::FxHashMap;

/// A key with a value that somebody reads, by number.
pub(super) type Version = u32;

/// For each session, how many of its transactions were seen.
pub(super) type View = Vec<u32>;

/// Transactions of one session with their places there, ascending.
pub(super) type InSession = Vec<(u32, TxnId)>;

/// Why a session cannot go on.
#[derive(Clone, Debug)]
pub(super) struct Blocked {
    /// The read that nobody can explain now.
    pub(super) read: usize,
    /// Reads because of which a writer could not be the last one.
    pub(super) in_the_way: Vec<usize>,
}

/// What to do about the next transaction of a session.
#[derive(Clone, Debug)]
enum Next {
    /// It was not looked at since something changed.
    Unknown,
    /// It can be executed, at this cost.
    Ready(u64),
    Blocked(Blocked),
}

/// A transaction that was executed, and what was before.
#[derive(Debug)]
struct Step {
    session: usize,
    mark: Mark,
    view: View,
}

#[derive(Debug)]
pub(super) struct Replicas<'p> {
    pub(super) problem: &'p Problem<'p>,
    pub(super) taste: Taste,
    pub(super) arbitration: Arbitration,
    pub(super) sources: Vec<Option<TxnId>>,
    pub(super) penalties: Penalties,
    /// The version that each read saw.
    pub(super) version: Vec<Version>,
    /// How many transactions of each session are executed.
    pub(super) places: Vec<usize>,
    pub(super) views: Vec<View>,
    /// The view of each executed transaction, itself included.
    pub(super) pasts: Vec<View>,
    /// For each key and session, the executed writers.
    pub(super) written: Vec<Vec<InSession>>,
    /// The same for each version.
    pub(super) written_version: Vec<Vec<InSession>>,
    /// For each session, the keys whose initial value is read up to a place, if nobody writes it again.
    pub(super) initial_until: Vec<FxHashMap<KeyId, u32>>,
    numbers: FxHashMap<(KeyId, ValueId), Version>,
    next: Vec<Next>,
    steps: Vec<Step>,
    /// Changes with each deadlock, and what is drawn at random with it.
    pub(super) seed: u64,
}

impl<'p> Replicas<'p> {
    pub(super) fn new(problem: &'p Problem<'p>) -> Self {
        let n_sessions = problem.sessions.len();
        let mut numbers = FxHashMap::default();
        let mut version = Vec::with_capacity(problem.reads.len());
        for (read, at) in problem.reads.iter().enumerate() {
            let number = numbers.len() as Version;
            let value = problem.candidates(read).first().and_then(|it| value_of(problem, *it, at.key));
            version.push(value.map_or(number, |it| *numbers.entry((at.key, it)).or_insert(number)));
        }
        Self {
            problem,
            taste: Taste::default(),
            arbitration: Arbitration::new(problem),
            sources: vec![None; problem.reads.len()],
            penalties: Penalties::default(),
            version,
            places: vec![0; n_sessions],
            views: vec![vec![0; n_sessions]; n_sessions],
            pasts: vec![View::new(); problem.n_txns()],
            written: vec![vec![InSession::new(); n_sessions]; problem.facts.history().n_keys()],
            written_version: vec![vec![InSession::new(); n_sessions]; numbers.len() + 1],
            initial_until: initial_until(problem),
            numbers,
            next: vec![Next::Unknown; n_sessions],
            steps: Vec::new(),
            seed: 0,
        }
    }

    pub(super) fn set_taste(&mut self, taste: Taste) {
        self.taste = taste;
        self.next.fill(Next::Unknown);
    }

    pub(super) fn n_done(&self) -> usize {
        self.steps.len()
    }

    /// The next transaction of a session.
    pub(super) fn head(&self, session: usize) -> Option<TxnId> {
        self.problem.sessions[session].get(self.places[session]).copied()
    }

    pub(super) fn blocked(&self, session: usize) -> Option<&Blocked> {
        match &self.next[session] {
            Next::Blocked(blocked) => Some(blocked),
            _ => None,
        }
    }

    /// Executes transactions until no session can go on: those that cost little first, then those of sessions that
    /// are behind.
    pub(super) fn go_on(&mut self, budget: &Budget<'_>) -> Result<(), StopReason> {
        while let Some(session) = self.next_session() {
            budget.check()?;
            self.execute(session);
        }
        Ok(())
    }

    fn next_session(&mut self) -> Option<usize> {
        /// A session that is this share of itself ahead of another one waits as for a cost of 1.
        const SHARES: usize = 1_000;
        let mut best: Option<(u64, usize)> = None;
        for session in 0..self.places.len() {
            let n_txns = self.problem.sessions[session].len();
            if self.places[session] < n_txns
                && let Some(cost) = self.cost(session)
            {
                let cost = cost + (SHARES * self.places[session] / n_txns) as u64;
                best = Some(best.map_or((cost, session), |it| it.min((cost, session))));
            }
        }
        best.map(|it| it.1)
    }

    /// What it costs to execute the next transaction of a session; nothing if it is blocked.
    fn cost(&mut self, session: usize) -> Option<u64> {
        if matches!(self.next[session], Next::Unknown) {
            let mark = self.arbitration.mark();
            let planned = self.plan(session);
            self.arbitration.undo_to(mark);
            self.next[session] = match planned {
                Ok(plan) => Next::Ready(plan.cost),
                Err(blocked) => Next::Blocked(blocked),
            };
        }
        match self.next[session] {
            Next::Ready(cost) => Some(cost),
            _ => None,
        }
    }

    fn execute(&mut self, session: usize) {
        let mark = self.arbitration.mark();
        match self.plan(session) {
            Ok(plan) => self.apply(session, mark, plan),
            Err(blocked) => self.next[session] = Next::Blocked(blocked),
        }
    }

    fn apply(&mut self, session: usize, mark: Mark, plan: Plan) {
        let Some(txn) = self.head(session) else { return };
        for (read, source) in self.problem.reads_of(txn).zip(plan.sources) {
            self.sources[read] = Some(source);
        }
        let nth = self.places[session] as u32;
        for (key, value) in self.problem.facts.final_writes(txn) {
            self.written[key.index()][session].push((nth, txn));
            if let Some(version) = self.numbers.get(&(*key, *value)).copied() {
                self.written_version[version as usize][session].push((nth, txn));
                self.wake(version);
            }
        }
        self.places[session] += 1;
        self.next[session] = Next::Unknown;
        let mut view = plan.view;
        view[session] = nth + 1;
        self.pasts[txn.index()].clone_from(&view);
        let view = std::mem::replace(&mut self.views[session], view);
        self.steps.push(Step { session, mark, view });
    }

    /// Whoever reads a version that was just written is looked at again.
    fn wake(&mut self, version: Version) {
        for session in 0..self.places.len() {
            let Some(head) = self.head(session) else { continue };
            let is_concerned = match &self.next[session] {
                Next::Unknown => false,
                Next::Ready(_) => self.problem.reads_of(head).any(|it| self.version[it] == version),
                Next::Blocked(blocked) => self.version[blocked.read] == version,
            };
            if is_concerned {
                self.next[session] = Next::Unknown;
            }
        }
    }

    /// Takes back the last so many transactions.
    pub(super) fn go_back(&mut self, n_back: usize) {
        for _ in 0..n_back {
            let Some(Step { session, mark, view }) = self.steps.pop() else { break };
            self.places[session] -= 1;
            let Some(txn) = self.head(session) else { break };
            for (key, value) in self.problem.facts.final_writes(txn) {
                self.written[key.index()][session].pop();
                if let Some(version) = self.numbers.get(&(*key, *value)) {
                    self.written_version[*version as usize][session].pop();
                }
            }
            self.views[session] = view;
            self.arbitration.undo_to(mark);
        }
        self.next.fill(Next::Unknown);
        self.seed += 1;
    }

    /// The version that a writer leaves of a key.
    pub(super) fn version_of(&self, writer: TxnId, key: KeyId) -> Option<Version> {
        self.numbers.get(&(key, value_of(self.problem, writer, key)?)).copied()
    }

    /// The last writer of a key in each session that is in a view.
    pub(super) fn last_seen<'v>(&'v self, view: &'v [u32], key: KeyId) -> impl Iterator<Item = TxnId> + use<'v, 'p> {
        self.written[key.index()].iter().zip(view).filter_map(|(writers, n_seen)| {
            let n_writers = writers.partition_point(|it| it.0 < *n_seen);
            Some(writers[..n_writers].last()?.1)
        })
    }

    /// Is one executed transaction in the past of another one?
    pub(super) fn is_past(&self, earlier: TxnId, later: TxnId) -> bool {
        let (session, nth) = self.problem.place_in_session(earlier);
        self.pasts[later.index()][session as usize] > nth
    }
}

fn value_of(problem: &Problem<'_>, writer: TxnId, key: KeyId) -> Option<ValueId> {
    if writer.is_initial() {
        return Some(problem.facts.history().initial_value(key));
    }
    let writes = problem.facts.final_writes(writer);
    writes.binary_search_by_key(&key, |it| it.0).ok().map(|it| writes[it].1)
}

fn initial_until(problem: &Problem<'_>) -> Vec<FxHashMap<KeyId, u32>> {
    let mut until = vec![FxHashMap::default(); problem.sessions.len()];
    for (read, at) in problem.reads.iter().enumerate() {
        if problem.candidates(read) == [TxnId::INITIAL] {
            let (session, nth) = problem.place_in_session(at.reader);
            let last: &mut u32 = until[session as usize].entry(at.key).or_default();
            *last = (*last).max(nth + 1);
        }
    }
    until
}

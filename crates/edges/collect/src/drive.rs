//! Runs an application on the weak store: one transaction at a time, the next session drawn by the seed.
//!
//! Weakness comes from what reads are served, and not from interleaving, as in Biswas, Kakwani, Vedurada, Enea & Lal
//! 2021 (`MonkeyDB`). So a run is a list of transactions in an order, and any other order can be driven as well.

use crate::store_client::{StoreClient, failure};
use crate::{Application, Assertion, Failure, Memory, Random, Row, Setup, Slot, load, perform, transaction};
use iso_evidence::Witness;
use iso_history::{History, TxnId};
use iso_spec::Level;
use iso_store::{Divergence, Key, Plan, Policy, SessionId, Store, Values};

/// A transaction that the database aborts again and again is left after so many tries.
const MAX_TRIES: usize = 10;

/// What happened.
#[derive(Clone, Debug)]
pub struct Run {
    /// Every attempt is a transaction, in the order in which they were made; sessions are `s1`, `s2`, and so on.
    pub history: History,
    /// How it came to be: evidence that the level allows it.
    pub witness: Witness,
    /// What the transactions of the history were, without the initial one.
    pub steps: Vec<RunStep>,
    /// What must hold of the state at the end, in which every row is as the last commit left it.
    pub assertions: Vec<Assertion>,
    /// Where a run could not follow its plan.
    pub divergences: Vec<Divergence>,
    store: Store,
}

impl Run {
    /// The same history with scans as such. Its rows are called otherwise, so it cannot be validated.
    pub fn history_with_scans(&self) -> History {
        self.store.history_with_scans()
    }
}

/// One attempt to run a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunStep {
    /// Which transaction of the workload.
    pub slot: Slot,
    /// What it was, as in `SendPayment(1,3,20)`.
    pub call: String,
    /// How it ended.
    pub ending: Ending,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was committed.
    Committed,
    /// The application aborted it.
    Aborted {
        /// Why.
        reason: String,
    },
    /// The store aborted it.
    Conflict {
        /// Why.
        reason: String,
    },
}

/// How many attempts ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Committed.
    pub committed: usize,
    /// Aborted by the application.
    pub aborted: usize,
    /// Aborted by the store.
    pub conflicts: usize,
}

impl Run {
    /// How many attempts ended in which way.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for step in &self.steps {
            match step.ending {
                Ending::Committed => counts.committed += 1,
                Ending::Aborted { .. } => counts.aborted += 1,
                Ending::Conflict { .. } => counts.conflicts += 1,
            }
        }
        counts
    }

    /// What a transaction of the history was; none for the initial one.
    pub fn step_of(&self, txn: TxnId) -> Option<&RunStep> {
        txn.index().checked_sub(1).and_then(|it| self.steps.get(it))
    }

    /// Does everything hold that must?
    pub fn holds(&self) -> bool {
        self.assertions.iter().all(|it| it.holds)
    }
}

/// Runs a workload.
pub fn drive(setup: &Setup) -> Result<Run, Failure> {
    let mut stage = Stage::new(setup.application, setup.level, setup.policy.of_store(), setup.seed, setup.sessions)?;
    let mut random = Random::new(setup.seed);
    let mut left: Vec<(usize, usize)> = (0..setup.sessions).map(|session| (session, 0)).collect();
    left.retain(|_| setup.txns > 0);
    while !left.is_empty() {
        let drawn = random.below(left.len());
        let (session, nth) = left[drawn];
        let n_tries = if setup.retries { MAX_TRIES } else { 1 };
        for _ in 0..n_tries {
            if !matches!(stage.perform(Slot { session, nth })?, Ending::Conflict { .. }) {
                break;
            }
        }
        left[drawn].1 += 1;
        left.retain(|it| it.1 < setup.txns);
    }
    stage.end()
}

/// Runs these transactions of a workload in this order, with reads along a plan. The plan's names of transactions
/// count those that are run: the first of a session has place 0.
pub fn drive_along(
    application: &'static dyn Application,
    seed: u64,
    level: Level,
    order: &[Slot],
    plan: Plan,
) -> Result<Run, Failure> {
    let n_sessions = order.iter().map(|it| it.session + 1).max().unwrap_or(0);
    let mut stage = Stage::new(application, level, Policy::Replay(plan), seed, n_sessions)?;
    for slot in order {
        stage.perform(*slot)?;
    }
    stage.end()
}

/// A run that goes on.
struct Stage {
    application: &'static dyn Application,
    seed: u64,
    store: Store,
    sessions: Vec<SessionId>,
    newest: Memory,
    steps: Vec<RunStep>,
}

impl Stage {
    fn new(
        application: &'static dyn Application,
        level: Level,
        policy: Policy,
        seed: u64,
        n_sessions: usize,
    ) -> Result<Self, Failure> {
        let mut store = Store::new(level, policy, seed).map_err(failure)?;
        for Row { table, row, value } in application.rows() {
            store.load(&Key::new(table, row), value.into()).map_err(failure)?;
        }
        let mut newest = Memory::new();
        load(application, &mut newest)?;
        let sessions = (0..n_sessions).map(|it| store.session(&session_name(it))).collect();
        Ok(Self { application, seed, store, sessions, newest, steps: Vec::new() })
    }

    fn perform(&mut self, slot: Slot) -> Result<Ending, Failure> {
        let transaction = transaction(self.application, self.seed, slot);
        let mut client = StoreClient::new(&mut self.store, self.sessions[slot.session], &mut self.newest);
        let ending = match perform(&*transaction, &mut client) {
            Ok(()) => Ending::Committed,
            Err(Failure::Aborted { reason, .. }) => Ending::Aborted { reason },
            Err(Failure::Conflict { reason, .. }) => Ending::Conflict { reason },
            Err(failure) => return Err(failure),
        };
        self.steps.push(RunStep { slot, call: transaction.to_string(), ending: ending.clone() });
        Ok(ending)
    }

    fn end(mut self) -> Result<Run, Failure> {
        let history = self.store.history(Values::Distinct);
        assert_eq!(history.n_txns(), self.steps.len() + 1, "each attempt is a transaction of the history");
        Ok(Run {
            history,
            witness: self.store.witness(),
            assertions: self.application.assertions(&mut self.newest)?,
            steps: self.steps,
            divergences: self.store.divergences().to_vec(),
            store: self.store,
        })
    }
}

/// What a session is called, from its number.
pub(crate) fn session_name(session: usize) -> String {
    format!("s{}", session + 1)
}

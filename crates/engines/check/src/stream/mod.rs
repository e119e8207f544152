//! Checks a recording while it is read, in memory that does not grow with it.
//!
//! [`Stream`] takes transactions one by one, in the order of their ends, and keeps a window of those that may still be
//! ordered in another way. What leaves the window is the next step of a schedule, for a kernel that replays it
//! ([`iso_evidence::StreamedReplay`]). What does not fit is a [`Misfit`], which says which keys it is about: then
//! [`Stream::resolve`] asks the exact engine about the window, and whoever has the recording can ask it about these keys in
//! all of it. Nothing here is ever a verdict.

mod by_value;
mod chains;
mod order;
mod resolve;
mod sequence;
mod silence;
mod strong;
mod versions;
mod weak;

pub use resolve::Resolved;

use iso_evidence::{Budget, StreamedStep};
use iso_history::{Datum, KeyId, StreamedTxn, StreamedValue, TableId};
use iso_spec::Level;
use silence::Silence;
use strong::Strong;
use weak::Weak;

/// A level that is checked while a recording is read.
#[derive(Clone, Debug)]
pub struct Stream {
    level: Level,
    window: usize,
    engine: Engine,
    silence: Silence,
    n_taken: u64,
}

/// The window may be so many times as large as it should be, as long as some session is silent: its next transaction may have
/// begun long ago.
const MAX_WINDOWS: usize = 8;

#[derive(Clone, Debug)]
enum Engine {
    Strong(Box<Strong>),
    Weak(Box<Weak>),
}

/// An event that left the window: the next step of the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The number of the transaction in the stream.
    pub id: u64,
    /// What happens.
    pub step: StreamedStep,
    /// For the weak levels, how many steps ago the source of each read was; 0 for the newest version with its value.
    pub sources: Vec<u64>,
}

/// What stays of transactions that have left.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// What keys hold, as far as somebody wrote to them or their initial value was said.
    pub values: Vec<(KeyId, StreamedValue)>,
    /// Which of them are lists, and how many elements these have.
    pub lists: Vec<(KeyId, usize)>,
    /// By session, the number after the one of its last transaction that left.
    pub left: Vec<u64>,
    /// When the last of them began.
    pub latest_begin: Option<i64>,
}

/// Something that does not fit into the window. It may be a violation, or a wrong guess.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The transaction that does not fit.
    pub id: u64,
    /// The keys that it is about.
    pub keys: Vec<KeyId>,
    /// What is the matter.
    pub why: Why,
}

/// What is the matter with a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It read what nobody in the window wrote.
    NoWriter,
    /// It read a list with elements in another order than a read before.
    OtherOrder,
    /// It read another value than it had written itself.
    Contradiction,
    /// It would have to come before itself, in all orders that were tried.
    Cycle,
    /// The same, for a write: nothing can come after it.
    NoPlace,
    /// It came when those that must follow it had left the window.
    Late,
    /// It scanned, and levels as weak as this one are streamed without scans.
    Scan,
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoWriter => "it read what nobody wrote in the window",
            Self::OtherOrder => "it read a list whose elements were in another order before",
            Self::Contradiction => "it does not read its own write",
            Self::Cycle | Self::NoPlace => "it does not fit into the order of the window",
            Self::Late => "it was recorded long after it ended",
            Self::Scan => "it has a scan, which is not streamed at cc, ra and rc",
        })
    }
}

/// What the window has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// How many transactions are in the window.
    pub n_txns: usize,
    /// How often something was against the order.
    pub n_searches: u64,
    /// How often neighbouring versions were exchanged.
    pub n_exchanges: u64,
}

impl Stream {
    /// A stream of registers that hold `default_initial` at first, with a window of about so many transactions. Nothing if the
    /// level cannot be streamed.
    pub fn new(level: Level, default_initial: StreamedValue, window: usize) -> Option<Self> {
        let engine = match level {
            Level::StrictSerializable
            | Level::Serializable
            | Level::StrongSnapshotIsolation
            | Level::SnapshotIsolation
            | Level::PrefixConsistency => Engine::Strong(Box::new(Strong::new(level, default_initial))),
            // What is taken are pieces of transactions.
            Level::StatementSnapshots | Level::TransactionSnapshot => {
                Engine::Strong(Box::new(Strong::new(Level::Serializable, default_initial)))
            }
            Level::CausalConsistency | Level::ReadAtomic | Level::ReadCommitted => {
                Engine::Weak(Box::new(Weak::new(level, default_initial, window as u64)))
            }
            _ => return None,
        };
        Some(Self { level, window: window.max(1), engine, silence: Silence::new(), n_taken: 0 })
    }

    /// The same, after some transactions have left the window. False if the level keeps more than that of its past.
    #[must_use]
    pub fn go_on_after(&mut self, past: Past) -> bool {
        let Engine::Strong(engine) = &mut self.engine else { return false };
        engine.go_on_after(past);
        true
    }

    /// The level.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The initial value of one key; a list is empty. False if it comes too late, after somebody touched the key.
    #[must_use]
    pub fn initial(&mut self, key: KeyId, value: StreamedValue) -> bool {
        match &mut self.engine {
            Engine::Strong(it) => it.set_initial(key, value),
            Engine::Weak(it) => it.set_initial(key, value),
        }
    }

    /// A key is a row with this name, of a table that is scanned.
    pub fn row(&mut self, key: KeyId, table: TableId, name: Datum) {
        match &mut self.engine {
            Engine::Strong(it) => it.row(key, table, name),
            // Its scans are suspects anyway.
            Engine::Weak(_) => {}
        }
    }

    /// Takes a transaction of the recording, best in the order of ends, and says what does not fit.
    pub fn take(&mut self, id: u64, txn: &StreamedTxn<'_>) -> Vec<Misfit> {
        let mut misfits = Vec::new();
        // Other pieces of the same transaction may ask for what is as old.
        if txn.is_last() {
            self.silence.hear(txn.session.index(), id);
        }
        self.n_taken = self.n_taken.max(id + 1);
        match &mut self.engine {
            Engine::Strong(it) => it.take(id, txn, &mut misfits),
            Engine::Weak(it) => it.take(id, txn, &mut misfits),
        }
        misfits
    }

    /// The next event that leaves a window that is too large.
    pub fn retire(&mut self, misfits: &mut Vec<Misfit>) -> Option<Left> {
        let n_txns = self.effort().n_txns;
        if n_txns <= self.window || self.is_needed() {
            return None;
        }
        let left = self.first(misfits);
        if left.is_none() && n_txns > 2 * self.window {
            self.give_up_waiting(misfits);
        }
        left
    }

    /// May somebody who began long ago still ask for what the first transaction left?
    fn is_needed(&mut self) -> bool {
        let Engine::Strong(engine) = &self.engine else { return false };
        let max = self.window.saturating_mul(MAX_WINDOWS);
        if engine.chains.n_txns > max {
            return false;
        }
        let since = self.n_taken.saturating_sub(max as u64);
        let Some(spoke) = self.silence.longest_since(since) else { return false };
        engine.first_id().is_some_and(|first| first >= spoke)
    }

    /// The recording is over: the next event leaves. If it waits for something, it does not wait any longer, and that is a
    /// misfit; to be called until there is neither.
    pub fn drain(&mut self, misfits: &mut Vec<Misfit>) -> Option<Left> {
        // What is in the way is asked about before it leaves.
        if let Engine::Strong(engine) = &mut self.engine {
            engine.lose_patience(u64::MAX, misfits);
            if !misfits.is_empty() {
                return None;
            }
        }
        loop {
            let left = self.first(misfits);
            if left.is_some() || !misfits.is_empty() || !self.give_up_waiting(misfits) || !misfits.is_empty() {
                return left;
            }
        }
    }

    /// The next event leaves, unless it waits for something.
    pub fn settle(&mut self, misfits: &mut Vec<Misfit>) -> Option<Left> {
        self.first(misfits)
    }

    fn first(&mut self, misfits: &mut Vec<Misfit>) -> Option<Left> {
        match &mut self.engine {
            Engine::Strong(it) => it.retire(misfits),
            Engine::Weak(it) => it.retire(),
        }
    }

    /// False if nobody waited.
    fn give_up_waiting(&mut self, misfits: &mut Vec<Misfit>) -> bool {
        match &mut self.engine {
            Engine::Strong(it) => it.give_up_waiting(misfits),
            Engine::Weak(it) => {
                let n_before = misfits.len();
                it.give_up_waiting(misfits);
                misfits.len() > n_before
            }
        }
    }

    /// Asks the exact engine for an order of the window in which these transactions fit, and goes on with it. `txn` gives a
    /// transaction of the window by its number.
    pub fn resolve<'t>(
        &mut self,
        misfits: &[u64],
        txn: &dyn Fn(u64) -> Option<StreamedTxn<'t>>,
        budget: &Budget<'_>,
    ) -> Resolved {
        match &mut self.engine {
            Engine::Strong(it) => it.resolve(exact(self.level), misfits, txn, budget),
            Engine::Weak(_) => Resolved::Unknown,
        }
    }

    /// The same, if a part of the window with fewer transactions than that is enough.
    pub(crate) fn resolve_smaller<'t>(
        &mut self,
        misfits: &[u64],
        max_txns: usize,
        txn: &dyn Fn(u64) -> Option<StreamedTxn<'t>>,
        budget: &Budget<'_>,
    ) -> Resolved {
        match &mut self.engine {
            Engine::Strong(it) => it.resolve_smaller(exact(self.level), misfits, max_txns, (txn, budget)),
            Engine::Weak(_) => Resolved::Unknown,
        }
    }

    /// What the window has cost so far.
    pub fn effort(&self) -> Effort {
        match &self.engine {
            Engine::Strong(it) => {
                Effort { n_txns: it.chains.n_txns, n_searches: it.order.n_searches, n_exchanges: it.n_exchanges }
            }
            Engine::Weak(it) => it.effort(),
        }
    }
}

/// What the exact engine is asked about a window: pieces are serializable, or not.
fn exact(level: Level) -> Level {
    if level.snapshots().is_some() { Level::Serializable } else { level }
}

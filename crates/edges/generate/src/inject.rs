//! One anomaly, put by hand into the middle of a history that is otherwise clean.
//!
//! A script is played in acts. For an act, sessions that have just ended a transaction wait until all its players
//! are there; then their transactions commit one right after the other, with the reads and writes that make the
//! anomaly. As nothing else commits in between, they fit into every level that allows the anomaly: their other
//! operations see the state before the act. The script has keys of its own, whose values come only once; later
//! transactions read them, so that it is a part of the whole.

use crate::plan::Access;
use crate::{GenerateError, Store, Workload};

/// What is injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injection {
    /// A read of what was overwritten before it began.
    StaleRead,
    /// Two updates of the same version.
    LostUpdate,
    /// Two transactions that each overwrite what the other one read.
    WriteSkew,
    /// Two readers that see two writes in opposite orders.
    LongFork,
    /// A reader that sees an effect without its cause.
    CausalityViolation,
}

/// Fewer transactions have no middle.
const N_TXNS_MIN: usize = 100;

/// The players of an act touch different keys besides those of the script.
const N_KEYS_MIN: usize = 20;

impl Injection {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::StaleRead, Self::LostUpdate, Self::WriteSkew, Self::LongFork, Self::CausalityViolation];

    /// The anomaly's name, as in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::StaleRead => "stale-read",
            Self::LostUpdate => "lost-update",
            Self::WriteSkew => "write-skew",
            Self::LongFork => "long-fork",
            Self::CausalityViolation => "causality-violation",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// The levels that forbid it, among those that are measured; first the weakest.
    pub fn forbidden_by(self) -> &'static [&'static str] {
        match self {
            Self::StaleRead => &["ssi", "sser"],
            Self::LostUpdate => &["psi", "si", "ser", "ssi", "sser"],
            Self::WriteSkew => &["ser", "sser"],
            Self::LongFork => &["pc", "si", "ser", "ssi", "sser"],
            Self::CausalityViolation => &["cc", "psi", "pc", "si", "ser", "ssi", "sser"],
        }
    }

    /// Whether it can be seen only by recorded times.
    pub fn needs_times(self) -> bool {
        self == Self::StaleRead
    }

    pub(crate) fn check(self, workload: &Workload) -> Result<(), GenerateError> {
        let n_players = self.script().iter().map(|it| it.players.len()).max().unwrap_or(0);
        let Workload { n_txns, n_sessions, n_keys, .. } = *workload;
        if n_txns < N_TXNS_MIN || n_sessions < n_players || n_keys < N_KEYS_MIN {
            let (txns, sessions, keys) = (N_TXNS_MIN, n_players, N_KEYS_MIN);
            return Err(GenerateError::NoRoom { injection: self.name(), txns, sessions, keys });
        }
        if workload.store == Store::Causal {
            return Err(GenerateError::NoInjection { injection: self.name() });
        }
        if self == Self::WriteSkew && workload.store == Store::Snapshot {
            return Err(GenerateError::OwnAnomaly);
        }
        Ok(())
    }

    pub(crate) fn script(self) -> &'static [Act] {
        match self {
            Self::StaleRead => &[SETUP, STALE_READ_WRITE, STALE_READ],
            Self::LostUpdate => &[SETUP, LOST_UPDATE],
            Self::WriteSkew => &[SETUP, WRITE_SKEW],
            Self::LongFork => &[SETUP, LONG_FORK],
            Self::CausalityViolation => &[SETUP, CAUSALITY_VIOLATION],
        }
    }
}

/// Transactions that commit one right after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Act {
    pub(crate) players: &'static [Player],
    /// Script keys that any transaction may read afterwards.
    pub(crate) shown: &'static [usize],
}

/// A transaction of an act.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Player {
    pub(crate) session: Where,
    pub(crate) lines: &'static [Line],
}

/// Whose transaction it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// Of some session of the workload, among other operations.
    Existing,
    /// Of a session that does nothing else: it follows nobody.
    New,
}

/// An operation on a script key, and which of the key's versions it reads or writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) access: Access,
    pub(crate) key: usize,
    pub(crate) version: usize,
}

/// How many versions a script key has at most.
pub(crate) const N_VERSIONS: usize = 3;

const X: usize = 0;
const Y: usize = 1;
const Z: usize = 2;

const fn r(key: usize, version: usize) -> Line {
    Line { access: Access::Read, key, version }
}

const fn w(key: usize, version: usize) -> Line {
    Line { access: Access::Write, key, version }
}

const fn existing(lines: &'static [Line]) -> Player {
    Player { session: Where::Existing, lines }
}

const SETUP: Act = Act { players: &[existing(&[w(X, 0), w(Y, 0)])], shown: &[X, Y] };

const STALE_READ_WRITE: Act = Act { players: &[existing(&[w(X, 1)])], shown: &[X, Y] };

/// The reader comes before the writer. So it may write only what nobody has read yet, or who read it would stand
/// between the two.
const STALE_READ: Act =
    Act { players: &[Player { session: Where::New, lines: &[r(X, 0), w(Z, 0)] }], shown: &[X, Y, Z] };

const LOST_UPDATE: Act =
    Act { players: &[existing(&[r(X, 0), w(X, 1)]), existing(&[r(X, 0), w(X, 2)])], shown: &[X, Y] };

const WRITE_SKEW: Act =
    Act { players: &[existing(&[r(X, 0), r(Y, 0), w(X, 1)]), existing(&[r(X, 0), r(Y, 0), w(Y, 1)])], shown: &[X, Y] };

const LONG_FORK: Act = Act {
    players: &[
        existing(&[w(X, 1)]),
        existing(&[w(Y, 1)]),
        existing(&[r(X, 1), r(Y, 0)]),
        existing(&[r(X, 0), r(Y, 1)]),
    ],
    shown: &[X, Y],
};

const CAUSALITY_VIOLATION: Act = Act {
    players: &[existing(&[w(X, 1)]), existing(&[r(X, 1), w(Y, 1)]), existing(&[r(Y, 1), r(X, 0)])],
    shown: &[X, Y],
};

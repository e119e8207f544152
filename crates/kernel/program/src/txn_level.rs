//! The isolation levels that single transactions may run at, as robustness speaks of them.

use std::fmt;

/// The level of one transaction among others that may run at other ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TxnLevel {
    /// Each statement reads what was committed when it began, and rows that are written or locked stay so until the end:
    /// `READ COMMITTED` of Postgres (`postgres.rc`).
    ReadCommitted,
    /// All reads see one snapshot; of two at the same time that write or lock a row, one does not commit (`si`).
    SnapshotIsolation,
    /// The same as Postgres does it (`postgres.rr`): whoever writes a row that another one had only locked goes on.
    RepeatableRead,
    /// That, and no two anti-dependencies in a row between transactions of this level, if the last of the three commits
    /// first: `SERIALIZABLE` of Postgres (`ser`).
    Serializable,
}

impl TxnLevel {
    /// Do all its reads see one snapshot?
    pub fn has_snapshot(self) -> bool {
        self != Self::ReadCommitted
    }
}

impl fmt::Display for TxnLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadCommitted => "postgres.rc",
            Self::SnapshotIsolation => "si",
            Self::RepeatableRead => "postgres.rr",
            Self::Serializable => "ser",
        })
    }
}

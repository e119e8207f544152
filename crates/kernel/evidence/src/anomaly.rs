//! The field's names for what can go wrong.

use std::fmt;

/// A kind of anomaly. `docs/anomalies/` has a page for each, under its [`Anomaly::name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Anomaly {
    /// A transaction contradicts its own writes.
    Internal,
    /// A read of what nobody wrote.
    ThinAirRead,
    /// A read of what the same transaction writes only later.
    FutureRead,
    /// Two reads of a list of which neither extends the other.
    IncompatibleOrder,
    /// G0: a cycle of overwrites.
    DirtyWrite,
    /// G1a: a read of an aborted write.
    AbortedRead,
    /// G1b: a read of a write that its transaction overwrote.
    IntermediateRead,
    /// G1c: a cycle of overwrites, reads and session order.
    CircularInformationFlow,
    /// A session does not see what it wrote itself.
    StaleOwnWrite,
    /// A transaction reads one key from a writer and then another from before it (not read committed).
    NonMonotonicRead,
    /// A transaction reads a key twice and sees two versions (not read atomic).
    NonRepeatableRead,
    /// A row appears in a scan, or vanishes from it, between two statements of a transaction (not read atomic).
    Phantom,
    /// A scan returned a row that does not match, or missed one that always does.
    PredicateReadMiss,
    /// A transaction sees a part of another transaction's writes.
    FracturedRead,
    /// A transaction does not see a cause of something that it sees.
    CausalityViolation,
    /// Readers see independent writes in opposite orders.
    LongFork,
    /// Two transactions read the same version and both overwrite it.
    LostUpdate,
    /// Two readers of a snapshot each overwrite what the other one read: G2-item.
    WriteSkew,
    /// Write skew that only a read-only transaction makes visible.
    ReadOnlyAnomaly,
    /// A cycle that needs only one anti-dependency.
    GSingle,
    /// A cycle with two or more anti-dependencies.
    G2Item,
    /// A cycle with two or more anti-dependencies, one of them through a row that a scan did not return.
    G2,
    /// A read that misses a write that had ended before it began.
    StaleRead,
    /// A write that was acknowledged and is gone at the end; [`crate::lost_writes`] finds it, and no level.
    LostAcknowledgedWrite,
}

impl Anomaly {
    /// Every anomaly.
    pub const ALL: [Self; 24] = [
        Self::Internal,
        Self::ThinAirRead,
        Self::FutureRead,
        Self::IncompatibleOrder,
        Self::DirtyWrite,
        Self::AbortedRead,
        Self::IntermediateRead,
        Self::CircularInformationFlow,
        Self::StaleOwnWrite,
        Self::NonMonotonicRead,
        Self::NonRepeatableRead,
        Self::Phantom,
        Self::PredicateReadMiss,
        Self::FracturedRead,
        Self::CausalityViolation,
        Self::LongFork,
        Self::LostUpdate,
        Self::WriteSkew,
        Self::ReadOnlyAnomaly,
        Self::GSingle,
        Self::G2Item,
        Self::G2,
        Self::StaleRead,
        Self::LostAcknowledgedWrite,
    ];

    /// The name in output, corpus headers and the file name of its page.
    pub fn name(self) -> &'static str {
        match self {
            Self::Internal => "internal",
            Self::ThinAirRead => "thin-air-read",
            Self::FutureRead => "future-read",
            Self::IncompatibleOrder => "incompatible-order",
            Self::DirtyWrite => "g0",
            Self::AbortedRead => "g1a",
            Self::IntermediateRead => "g1b",
            Self::CircularInformationFlow => "g1c",
            Self::StaleOwnWrite => "stale-own-write",
            Self::NonMonotonicRead => "non-monotonic-read",
            Self::NonRepeatableRead => "non-repeatable-read",
            Self::Phantom => "phantom",
            Self::PredicateReadMiss => "predicate-read-miss",
            Self::FracturedRead => "fractured-read",
            Self::CausalityViolation => "causality-violation",
            Self::LongFork => "long-fork",
            Self::LostUpdate => "lost-update",
            Self::WriteSkew => "write-skew",
            Self::ReadOnlyAnomaly => "read-only-anomaly",
            Self::GSingle => "g-single",
            Self::G2Item => "g2-item",
            Self::G2 => "g2",
            Self::StaleRead => "stale-read",
            Self::LostAcknowledgedWrite => "lost-acknowledged-write",
        }
    }

    /// The anomaly of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// One sentence for a person who meets it for the first time.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Internal => "a transaction reads something else than what it wrote itself just before",
            Self::ThinAirRead => "a read returned a value that nobody ever wrote",
            Self::FutureRead => "a read returned what its own transaction writes only later",
            Self::IncompatibleOrder => "two reads of one list returned lists of which neither extends the other",
            Self::DirtyWrite => "transactions overwrite each other in a cycle (G0, dirty write)",
            Self::AbortedRead => "a read returned a write of a transaction that was rolled back (G1a, dirty read)",
            Self::IntermediateRead => {
                "a read returned a write that its transaction overwrote before it committed (G1b)"
            }
            Self::CircularInformationFlow => "information flows in a cycle: each transaction depends on the next (G1c)",
            Self::StaleOwnWrite => "a session does not see what it committed itself before",
            Self::NonMonotonicRead => "a transaction sees a write, and afterwards a state from before that write",
            Self::NonRepeatableRead => "a transaction reads a key twice and sees two different versions of it",
            Self::Phantom => "a transaction asks for the same rows twice, and one of them has appeared or vanished",
            Self::PredicateReadMiss => "a scan returned a row that does not match, or missed one that always does",
            Self::FracturedRead => "a transaction sees some of another transaction's writes and misses others",
            Self::CausalityViolation => "a transaction sees an effect but not its cause",
            Self::LongFork => "two readers see two independent writes in opposite orders",
            Self::LostUpdate => "two transactions read the same version and both overwrite it, so one update is lost",
            Self::WriteSkew => "transactions read the same snapshot, and each overwrites what the other one read",
            Self::ReadOnlyAnomaly => {
                "two updates are in order by themselves, but a read-only transaction saw a state that fits no order"
            }
            Self::GSingle => "a cycle of dependencies that needs only one anti-dependency (G-single, read skew)",
            Self::G2Item => "a cycle of dependencies with several anti-dependencies (G2-item)",
            Self::G2 => {
                "transactions scan, and each writes a row that another one's scan would have returned (G2, phantoms)"
            }
            Self::LostAcknowledgedWrite => "a write that was acknowledged is gone at the end (durability)",
            Self::StaleRead => "a read missed a write that had been finished before the reader began",
        }
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

//! The levels that `check` decides by name, and how they imply each other.

use iso_history::Snapshots;
use std::fmt;

/// A level with a short name. Its meaning is the text of the catalogue that [`Level::definition`] names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// `pl1`: Adya's PL-1, without session order: writes are not mixed up.
    AdyaReadUncommitted,
    /// `ru`: Adya's PL-1, with session order.
    ReadUncommitted,
    /// `pl2`: Adya's PL-2, without session order: reads only committed data, and no cycle of writes and reads.
    AdyaReadCommitted,
    /// `rc`: reads only committed data, and never goes back behind what it has read.
    ReadCommitted,
    /// `postgres.rc`: each statement reads one snapshot, and updates act on the newest version.
    StatementSnapshots,
    /// `mysql.rr`: plain reads see one snapshot, and updates act on the newest version.
    TransactionSnapshot,
    /// `postgres.rr`: snapshots, and the first updater of a row wins; a row that is made anew is another row.
    RowSnapshots,
    /// `ryw`: a session sees its own writes.
    ReadYourWrites,
    /// `mr`: a session never sees an older state than before.
    MonotonicReads,
    /// `mw`: a session's writes are seen in its order.
    MonotonicWrites,
    /// `wfr`: who sees a write sees what its session had read before.
    WritesFollowReads,
    /// `ra`: a transaction is seen as a whole or not at all.
    ReadAtomic,
    /// `ua`: read atomic, and two writers of a key see each other.
    UpdateAtomic,
    /// `cc`: who sees a transaction sees its causes.
    CausalConsistency,
    /// `psi-nosession`: parallel snapshot isolation, without session order.
    ParallelSnapshotIsolationNoSession,
    /// `psi`: causal, and two writers of a key see each other.
    ParallelSnapshotIsolation,
    /// `pc`: transactions see prefixes of one order.
    PrefixConsistency,
    /// `si-nosession`: snapshot isolation, without session order.
    SnapshotIsolationNoSession,
    /// `si`: snapshots of one order, and the first committer wins.
    SnapshotIsolation,
    /// `ssi`: snapshot isolation whose snapshots have everything that had ended before.
    StrongSnapshotIsolation,
    /// `ser-nosession`: serializable, without session order.
    SerializableNoSession,
    /// `ser`: as if one transaction ran after the other.
    Serializable,
    /// `sser`: serializable in an order that respects real time.
    StrictSerializable,
}

use Level::{
    AdyaReadCommitted, AdyaReadUncommitted, CausalConsistency, MonotonicReads, MonotonicWrites,
    ParallelSnapshotIsolation, ParallelSnapshotIsolationNoSession, PrefixConsistency, ReadAtomic, ReadCommitted,
    ReadUncommitted, ReadYourWrites, RowSnapshots, Serializable, SerializableNoSession, SnapshotIsolation,
    SnapshotIsolationNoSession, StatementSnapshots, StrictSerializable, StrongSnapshotIsolation, TransactionSnapshot,
    UpdateAtomic, WritesFollowReads,
};

/// What databases call levels that have another name here. The catalogue has their texts, and a test compares them.
pub const DATABASE_NAMES: [(&str, Level); 11] = [
    ("postgres.ser", Serializable),
    ("mysql.ru", ReadUncommitted),
    ("mysql.rc", StatementSnapshots),
    ("mysql.ser", Serializable),
    ("mariadb.si", SnapshotIsolation),
    ("sqlite.ser", StrictSerializable),
    ("sqlserver.si", SnapshotIsolation),
    ("sqlserver.rcsi", StatementSnapshots),
    ("oracle.rc", StatementSnapshots),
    ("oracle.ser", SnapshotIsolation),
    ("mvrc", StatementSnapshots),
];

impl Level {
    /// Every level, a level after those that it implies.
    pub const ALL: [Self; 23] = [
        AdyaReadUncommitted,
        ReadUncommitted,
        AdyaReadCommitted,
        ReadCommitted,
        StatementSnapshots,
        TransactionSnapshot,
        RowSnapshots,
        ReadYourWrites,
        MonotonicReads,
        MonotonicWrites,
        WritesFollowReads,
        ReadAtomic,
        UpdateAtomic,
        CausalConsistency,
        ParallelSnapshotIsolationNoSession,
        ParallelSnapshotIsolation,
        PrefixConsistency,
        SnapshotIsolationNoSession,
        SnapshotIsolation,
        StrongSnapshotIsolation,
        SerializableNoSession,
        Serializable,
        StrictSerializable,
    ];

    /// The levels that are asked for where nobody names one: those of papers that count session order.
    pub fn usual() -> Vec<Self> {
        Self::ALL.into_iter().filter(|it| it.with_sessions().is_none() && !it.is_of_databases()).collect()
    }

    /// The levels that are asked for besides where a history says what its statements were.
    pub fn of_databases() -> Vec<Self> {
        Self::ALL.into_iter().filter(|it| it.is_of_databases()).collect()
    }

    /// Is this a level of databases and of no paper, which looks at statements?
    pub fn is_of_databases(self) -> bool {
        self.snapshots().is_some() || self == RowSnapshots
    }

    /// For a level that looks at statements, how many of them share a snapshot.
    ///
    /// It is then serializability of the pieces into which such snapshots cut transactions.
    pub fn snapshots(self) -> Option<Snapshots> {
        match self {
            StatementSnapshots => Some(Snapshots::PerStatement),
            TransactionSnapshot => Some(Snapshots::PerTransaction),
            _ => None,
        }
    }

    /// The short name, as on the command line.
    pub fn short_name(self) -> &'static str {
        self.names().0
    }

    /// The full name.
    pub fn full_name(self) -> &'static str {
        self.names().1
    }

    /// The text of the catalogue that defines this level.
    pub fn definition(self) -> &'static str {
        self.names().2
    }

    fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            AdyaReadUncommitted => ("pl1", "adya-read-uncommitted", "adya.pl1"),
            ReadUncommitted => ("ru", "read-uncommitted", "adya.pl1_so"),
            AdyaReadCommitted => ("pl2", "adya-read-committed", "adya.pl2"),
            ReadCommitted => ("rc", "read-committed", "biswas.rc"),
            StatementSnapshots => ("postgres.rc", "postgres-read-committed", "postgres.rc"),
            TransactionSnapshot => ("mysql.rr", "mysql-repeatable-read", "mysql.rr"),
            RowSnapshots => ("postgres.rr", "postgres-repeatable-read", "postgres.rr"),
            ReadYourWrites => ("ryw", "read-your-writes", "session.ryw"),
            MonotonicReads => ("mr", "monotonic-reads", "session.mr"),
            MonotonicWrites => ("mw", "monotonic-writes", "session.mw"),
            WritesFollowReads => ("wfr", "writes-follow-reads", "session.wfr"),
            ReadAtomic => ("ra", "read-atomic", "biswas.ra"),
            UpdateAtomic => ("ua", "update-atomic", "cerone.ua"),
            CausalConsistency => ("cc", "causal-consistency", "biswas.cc"),
            ParallelSnapshotIsolationNoSession => {
                ("psi-nosession", "parallel-snapshot-isolation-without-sessions", "cerone.psi_nosession")
            }
            ParallelSnapshotIsolation => ("psi", "parallel-snapshot-isolation", "cerone.psi"),
            PrefixConsistency => ("pc", "prefix-consistency", "biswas.pc"),
            SnapshotIsolationNoSession => {
                ("si-nosession", "snapshot-isolation-without-sessions", "cerone.si_nosession")
            }
            SnapshotIsolation => ("si", "snapshot-isolation", "biswas.si"),
            StrongSnapshotIsolation => ("ssi", "strong-snapshot-isolation", "cerone.strong_si"),
            SerializableNoSession => ("ser-nosession", "serializable-without-sessions", "cerone.ser_nosession"),
            Serializable => ("ser", "serializable", "biswas.ser"),
            StrictSerializable => ("sser", "strict-serializable", "biswas.sser"),
        }
    }

    /// The level of that short or full name, or of that name of a database, as in `postgres.rr`. Case and underscores do
    /// not matter.
    pub fn from_name(name: &str) -> Option<Self> {
        let wanted = name.to_ascii_lowercase().replace('_', "-");
        let named = Self::ALL.into_iter().find(|it| it.short_name() == wanted || it.full_name() == wanted);
        named.or_else(|| DATABASE_NAMES.iter().find(|it| it.0 == wanted).map(|it| it.1))
    }

    /// The levels right below this one: each history that this level allows, they allow.
    pub fn implied(self) -> &'static [Self] {
        match self {
            AdyaReadUncommitted => &[],
            ReadUncommitted | AdyaReadCommitted => &[AdyaReadUncommitted],
            ReadCommitted | ReadYourWrites | MonotonicReads | MonotonicWrites | WritesFollowReads => {
                &[ReadUncommitted, AdyaReadCommitted]
            }
            StatementSnapshots => &[ReadUncommitted],
            TransactionSnapshot | RowSnapshots => &[ReadUncommitted, AdyaReadCommitted],
            ReadAtomic => &[ReadCommitted, ReadYourWrites],
            UpdateAtomic => &[ReadAtomic],
            CausalConsistency => &[ReadAtomic, MonotonicReads, MonotonicWrites, WritesFollowReads],
            ParallelSnapshotIsolationNoSession => &[AdyaReadCommitted],
            ParallelSnapshotIsolation => &[CausalConsistency, UpdateAtomic, ParallelSnapshotIsolationNoSession],
            PrefixConsistency => &[CausalConsistency],
            SnapshotIsolationNoSession => &[ParallelSnapshotIsolationNoSession],
            SnapshotIsolation => {
                &[PrefixConsistency, ParallelSnapshotIsolation, SnapshotIsolationNoSession, RowSnapshots]
            }
            StrongSnapshotIsolation => &[SnapshotIsolation],
            SerializableNoSession => &[SnapshotIsolationNoSession],
            Serializable => &[SnapshotIsolation, SerializableNoSession, StatementSnapshots, TransactionSnapshot],
            StrictSerializable => &[Serializable, StrongSnapshotIsolation],
        }
    }

    /// Does every history that `self` allows satisfy `weaker`, too?
    pub fn implies(self, weaker: Self) -> bool {
        self == weaker || self.implied().iter().any(|it| it.implies(weaker))
    }

    /// The strongest level that all of these imply: what holds of transactions of all of them together.
    pub fn common(levels: &[Self]) -> Option<Self> {
        Self::ALL.into_iter().rev().find(|weaker| levels.iter().all(|it| it.implies(*weaker)))
    }

    /// Does the level look at recorded begin and end times?
    pub fn needs_times(self) -> bool {
        self.without_times() != self
    }

    /// The level that asks for the same, but for real time; itself if it does not look at times.
    #[must_use]
    pub fn without_times(self) -> Self {
        match self {
            StrongSnapshotIsolation => SnapshotIsolation,
            StrictSerializable => Serializable,
            other => other,
        }
    }

    /// For a level without session order, the one that it is where every session has one transaction.
    ///
    /// Read your writes then asks for nothing but committed reads and an order of writes and reads, which is PL-2.
    pub fn with_sessions(self) -> Option<Self> {
        match self {
            AdyaReadUncommitted => Some(ReadUncommitted),
            AdyaReadCommitted => Some(ReadYourWrites),
            ParallelSnapshotIsolationNoSession => Some(ParallelSnapshotIsolation),
            SnapshotIsolationNoSession => Some(SnapshotIsolation),
            SerializableNoSession => Some(Serializable),
            _ => None,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short_name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_read_back() {
        for level in Level::ALL {
            assert_eq!(Level::from_name(level.short_name()), Some(level));
            assert_eq!(Level::from_name(&level.full_name().to_uppercase()), Some(level));
        }
        assert_eq!(Level::from_name("serialisable"), None);
    }

    #[test]
    fn transactions_of_several_levels_have_in_common_what_the_weakest_has() {
        assert_eq!(Level::common(&[Serializable, SnapshotIsolation]), Some(SnapshotIsolation));
        assert_eq!(Level::common(&[StatementSnapshots, Serializable]), Some(StatementSnapshots));
        assert_eq!(Level::common(&[StatementSnapshots, SnapshotIsolation]), Some(ReadUncommitted));
        assert_eq!(Level::common(&[ReadUncommitted, Serializable]), Some(ReadUncommitted));
    }

    #[test]
    fn a_level_comes_after_what_it_implies() {
        for (idx, level) in Level::ALL.into_iter().enumerate() {
            assert!(level.implied().iter().all(|it| Level::ALL[..idx].contains(it)), "{level}");
        }
    }
}

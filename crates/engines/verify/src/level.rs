//! The levels that programs can be verified under, and what each asks for.

use crate::encode::{Axiom, Visibility};
use iso_program::{Looks, Program, Stmt};
use iso_spec::Level;
use std::collections::BTreeSet;
use std::fmt;

/// The levels of papers that programs can be verified under, weaker ones first.
pub const LEVELS: [Level; 8] = [
    Level::ReadCommitted,
    Level::ReadAtomic,
    Level::UpdateAtomic,
    Level::CausalConsistency,
    Level::PrefixConsistency,
    Level::ParallelSnapshotIsolation,
    Level::SnapshotIsolation,
    Level::Serializable,
];

/// A database whose levels programs can be verified under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Database {
    /// `PostgreSQL`.
    Postgres,
    /// `MySQL` with `InnoDB`.
    Mysql,
    /// `MariaDB` with `InnoDB`, which has snapshot isolation as well.
    Mariadb,
    /// `SQLite`.
    Sqlite,
}

/// An isolation level as a database means it: statements, locks and newest versions matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DatabaseLevel {
    /// Which database it is of; several may have levels of one name.
    pub database: Database,
    /// Its name in the catalogue: `postgres.rc`.
    pub name: &'static str,
    /// What SQL calls it, and on what: `READ COMMITTED on PostgreSQL`.
    pub sql: &'static str,
    /// What its histories satisfy. Programs have no clock, so real time is left out.
    pub level: Level,
}

impl DatabaseLevel {
    /// Does "holds" at this level leave out runs of this program that the server has? `PostgreSQL` takes a row that is deleted and
    /// inserted again for another one, and not every run with such rows is looked at (decision 0023).
    pub fn leaves_out_remade_rows(self, program: &Program) -> bool {
        let is_concerned = matches!(self.level, Level::StatementSnapshots | Level::RowSnapshots);
        self.database == Database::Postgres && is_concerned && has_remade_rows(program)
    }
}

/// May a row be deleted, and inserted again?
fn has_remade_rows(program: &Program) -> bool {
    let (mut deleted, mut inserted) = (BTreeSet::new(), BTreeSet::new());
    for instance in program.instances() {
        let mut left: Vec<&Stmt> = instance.body.iter().collect();
        while let Some(stmt) = left.pop() {
            match stmt {
                Stmt::If { then, otherwise, .. } => left.extend(then.iter().chain(otherwise)),
                Stmt::Write { unit, row: None, .. } => {
                    deleted.insert(*unit);
                }
                Stmt::Write { unit, span, .. } if program.place(*span).text.starts_with("insert") => {
                    inserted.insert(*unit);
                }
                _ => {}
            }
        }
    }
    !deleted.is_disjoint(&inserted)
}

/// A level under which a program is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// One of [`LEVELS`]: transactions are reads and writes, whatever statements they came in.
    Paper(Level),
    /// One of a database.
    Database(DatabaseLevel),
}

const fn of(database: Database, name: &'static str, sql: &'static str, level: Level) -> DatabaseLevel {
    DatabaseLevel { database, name, sql, level }
}

/// `PostgreSQL`'s, weaker ones first.
const POSTGRES: [DatabaseLevel; 3] = [
    of(Database::Postgres, "postgres.rc", "READ COMMITTED on PostgreSQL", Level::StatementSnapshots),
    of(Database::Postgres, "postgres.rr", "REPEATABLE READ on PostgreSQL", Level::RowSnapshots),
    of(Database::Postgres, "postgres.ser", "SERIALIZABLE on PostgreSQL", Level::Serializable),
];

const MYSQL: [DatabaseLevel; 3] = [
    of(Database::Mysql, "mysql.rc", "READ COMMITTED on InnoDB", Level::StatementSnapshots),
    of(Database::Mysql, "mysql.rr", "REPEATABLE READ on InnoDB", Level::TransactionSnapshot),
    of(Database::Mysql, "mysql.ser", "SERIALIZABLE on InnoDB", Level::Serializable),
];

/// With snapshot isolation, which REPEATABLE READ is by default from 11.6.2 on.
const MARIADB: [DatabaseLevel; 4] = [
    DatabaseLevel { database: Database::Mariadb, ..MYSQL[0] },
    DatabaseLevel { database: Database::Mariadb, ..MYSQL[1] },
    of(
        Database::Mariadb,
        "mariadb.si",
        "REPEATABLE READ on MariaDB with innodb_snapshot_isolation",
        Level::SnapshotIsolation,
    ),
    DatabaseLevel { database: Database::Mariadb, ..MYSQL[2] },
];

const SQLITE: [DatabaseLevel; 1] = [of(Database::Sqlite, "sqlite.ser", "SQLite", Level::Serializable)];

impl Database {
    /// Every database.
    pub const ALL: [Self; 4] = [Self::Postgres, Self::Mysql, Self::Mariadb, Self::Sqlite];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
            Self::Mariadb => "mariadb",
            Self::Sqlite => "sqlite",
        }
    }

    /// The database of that name; `postgresql` is `PostgreSQL` as well.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let name = if name == "postgresql" { "postgres" } else { &name };
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Its levels, weaker ones first. READ UNCOMMITTED of `InnoDB` is none of them: what was never committed has no place in
    /// an execution.
    pub fn levels(self) -> &'static [DatabaseLevel] {
        match self {
            Self::Postgres => &POSTGRES,
            Self::Mysql => &MYSQL,
            Self::Mariadb => &MARIADB,
            Self::Sqlite => &SQLITE,
        }
    }
}

impl DatabaseLevel {
    /// The level of a database of that name, as in `postgres.rc`.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        Database::ALL.into_iter().flat_map(Database::levels).find(|it| it.name == name).copied()
    }
}

impl Isolation {
    /// What its histories satisfy.
    pub fn level(self) -> Level {
        match self {
            Self::Paper(level) => level,
            Self::Database(of) => of.level,
        }
    }

    /// `si`, `postgres.rr`.
    pub fn short_name(self) -> &'static str {
        match self {
            Self::Paper(level) => level.short_name(),
            Self::Database(of) => of.name,
        }
    }

    /// `snapshot-isolation`, `REPEATABLE READ on PostgreSQL`.
    pub fn full_name(self) -> &'static str {
        match self {
            Self::Paper(level) => level.full_name(),
            Self::Database(of) => of.sql,
        }
    }

    /// Has each read a source of its own, so that nobody sees transactions as a whole?
    pub fn has_sources(self) -> bool {
        self.level() == Level::ReadCommitted || self.level().snapshots().is_some()
    }

    /// How statements look for the rows that they change.
    pub fn looks(self) -> Looks {
        match self {
            Self::Database(DatabaseLevel { database: Database::Mysql | Database::Mariadb, level, .. }) => match level {
                Level::TransactionSnapshot => Looks::NewestLocked,
                Level::StatementSnapshots => Looks::Newest,
                _ => Looks::Snapshot,
            },
            _ => Looks::Snapshot,
        }
    }

    /// Can programs be verified under it?
    pub fn is_known(self) -> bool {
        matches!(self, Self::Database(_)) || LEVELS.contains(&self.level())
    }

    /// The levels that its histories are compared with, weaker ones first.
    pub fn relatives(self) -> Vec<Self> {
        match self {
            Self::Paper(_) => LEVELS.map(Self::Paper).to_vec(),
            Self::Database(of) => of.database.levels().iter().copied().map(Self::Database).collect(),
        }
    }
}

impl From<Level> for Isolation {
    fn from(level: Level) -> Self {
        Self::Paper(level)
    }
}

impl From<DatabaseLevel> for Isolation {
    fn from(level: DatabaseLevel) -> Self {
        Self::Database(level)
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short_name())
    }
}

/// How a level shows transactions to each other; nothing if programs cannot be verified under it.
pub(crate) fn rules(isolation: Isolation) -> Option<(Visibility, &'static [Axiom])> {
    use Axiom::{LockersSee, LocksAreSeen, NoConflict, Prefix, Total, Transitive};
    let axioms: &[Axiom] = match isolation {
        // Rows that are made again are taken for the same rows, which allows a little less than PostgreSQL does.
        Isolation::Database(DatabaseLevel { level: Level::SnapshotIsolation | Level::RowSnapshots, .. }) => {
            &[Prefix, NoConflict, LockersSee]
        }
        _ => match isolation.level() {
            Level::ReadCommitted => return Some((Visibility::PerRead, &[])),
            Level::ReadAtomic => &[LocksAreSeen],
            Level::UpdateAtomic => &[NoConflict, LocksAreSeen],
            Level::CausalConsistency => &[Transitive, LocksAreSeen],
            Level::ParallelSnapshotIsolation => &[Transitive, NoConflict, LocksAreSeen],
            Level::PrefixConsistency => &[Prefix, LocksAreSeen],
            Level::SnapshotIsolation => &[Prefix, NoConflict, LocksAreSeen],
            Level::Serializable => &[Total],
            other => return Some((Visibility::PerMoment(other.snapshots()?, isolation.looks()), &[])),
        },
    };
    Some((Visibility::Atomic, axioms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_of_a_database_is_one_of_the_catalogue() {
        for of in Database::ALL.into_iter().flat_map(Database::levels) {
            assert_eq!(Level::from_name(of.name).map(Level::without_times), Some(of.level), "{}", of.name);
            assert_eq!(DatabaseLevel::from_name(&of.name.to_uppercase()).map(|it| it.level), Some(of.level));
            assert!(of.database.levels().contains(of));
            assert!(rules(Isolation::from(*of)).is_some(), "{}", of.name);
        }
    }
}

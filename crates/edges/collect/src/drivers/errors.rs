//! What the codes of databases mean, as data: whoever meets a new one adds a line.

use crate::{Cause, Failure};

/// What a code says about a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// It was aborted for sure, because of others or for want of time.
    Conflict(Cause),
    /// It was refused, because a row is there already.
    Constraint,
    /// This node only reads; whoever only reads as well can go on.
    ReadsOnly,
    /// The connection is gone, and nobody knows what became of a commit.
    Unknown,
    /// The node is there and takes no transactions now; it is asked again.
    NotReady,
}

/// By code, of `MySQL`, `MariaDB`, Galera, and those that speak their language.
const MYSQL: [(u16, Meaning); 19] = [
    // A record that changed since the snapshot.
    (1020, Meaning::Conflict(Cause::Serialization)),
    (1205, Meaning::Conflict(Cause::LockTimeout)),
    // A deadlock; of Galera, also a transaction that another node's came before.
    (1213, Meaning::Conflict(Cause::Deadlock)),
    // Interrupted, or longer than `max_statement_time` (MariaDB) or `max_execution_time` (MySQL).
    (1317, Meaning::Conflict(Cause::StatementTimeout)),
    (1969, Meaning::Conflict(Cause::StatementTimeout)),
    (3024, Meaning::Conflict(Cause::StatementTimeout)),
    // OceanBase: the transaction cannot be serialized.
    (6235, Meaning::Conflict(Cause::Serialization)),
    (1062, Meaning::Constraint),
    (1290, Meaning::ReadsOnly),
    (1792, Meaning::ReadsOnly),
    (1836, Meaning::ReadsOnly),
    // Shutting down, or the connection was ended by somebody.
    (1053, Meaning::Unknown),
    (1077, Meaning::Unknown),
    (1079, Meaning::Unknown),
    (1927, Meaning::Unknown),
    (3169, Meaning::Unknown),
    (4031, Meaning::Unknown),
    // An error during the commit; of Galera, the node lost the others meanwhile.
    (1180, Meaning::Unknown),
    // Galera: the node is in no quorum, or still gets its state.
    (1047, Meaning::NotReady),
];

/// By code, of `PostgreSQL`; a code of two letters is a class.
const POSTGRES: [(&str, Meaning); 10] = [
    ("40001", Meaning::Conflict(Cause::Serialization)),
    ("40P01", Meaning::Conflict(Cause::Deadlock)),
    ("55P03", Meaning::Conflict(Cause::LockTimeout)),
    ("57014", Meaning::Conflict(Cause::StatementTimeout)),
    ("23505", Meaning::Constraint),
    ("25006", Meaning::ReadsOnly),
    ("57P01", Meaning::Unknown),
    ("57P02", Meaning::Unknown),
    ("57P03", Meaning::NotReady),
    ("08", Meaning::Unknown),
];

/// What a code of `MySQL` and its like means.
pub(super) fn mysql(code: u16, message: String) -> Failure {
    failure(MYSQL.iter().find(|it| it.0 == code).map(|it| it.1), message)
}

/// What a code of `PostgreSQL` means.
pub(super) fn postgres(code: &str, message: String) -> Failure {
    let exact = POSTGRES.iter().find(|it| it.0 == code);
    let found = exact.or_else(|| POSTGRES.iter().find(|it| it.0.len() == 2 && code.starts_with(it.0)));
    failure(found.map(|it| it.1), message)
}

/// What is not in a table is a mistake, and ends the run.
fn failure(meaning: Option<Meaning>, message: String) -> Failure {
    match meaning {
        Some(Meaning::Conflict(cause)) => Failure::conflict_by(cause, message),
        Some(Meaning::Constraint) => Failure::constraint(message),
        Some(Meaning::ReadsOnly) => Failure::Aborted { reason: message, cause: Cause::Other },
        Some(Meaning::Unknown) => Failure::lost(message),
        Some(Meaning::NotReady) => Failure::lost(format!("the node is not ready: {message}")),
        None => Failure::broken(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_in_a_table_once_and_the_rest_is_broken() {
        for (idx, (code, _)) in MYSQL.iter().enumerate() {
            assert!(!MYSQL[..idx].iter().any(|it| it.0 == *code), "{code}");
        }
        for (idx, (code, _)) in POSTGRES.iter().enumerate() {
            assert!(!POSTGRES[..idx].iter().any(|it| it.0 == *code), "{code}");
        }
        let words = || "x".to_owned();
        assert_eq!(mysql(1064, words()), Failure::broken("x"));
        assert_eq!(postgres("42601", words()), Failure::broken("x"));
        assert_eq!(postgres("08006", words()), Failure::lost("x"));
        assert_eq!(mysql(1180, words()), Failure::lost("x"));
        assert_eq!(mysql(1047, words()), Failure::lost("the node is not ready: x"));
    }
}

//! A store of many sessions that answers each read with one of the values that an isolation level allows.
//!
//! A [`Store`] lives in the process and is weak on purpose: under a weak level it serves the old, torn and reordered
//! values that a real database of that level might serve once in a million runs. Which of them is a [`Policy`]. What
//! happened is a history that satisfies the level, whatever the application did.
//!
//! ```
//! use iso_spec::Level;
//! use iso_store::{Key, Policy, Store};
//! let mut store = Store::new(Level::SnapshotIsolation, Policy::Latest, 1)?;
//! let account = Key::new("account", "alice");
//! store.load(&account, 100.into())?;
//! let (one, other) = (store.session("s1"), store.session("s2"));
//! for session in [one, other] {
//!     store.begin(session)?;
//!     assert_eq!(store.get(session, &account)?, Some(100.into()));
//! }
//! store.put(one, &account, 90.into())?;
//! store.commit(one)?;
//! // Both read 100, so the second one would lose the first one's update.
//! assert!(store.put(other, &account, 80.into()).unwrap_err().conflict().is_some());
//! # Ok::<(), iso_store::Error>(())
//! ```
//!
//! For SQL there are updates in one statement, which act on the newest version of a row ([`Store::update`]), scans by
//! predicate ([`Store::scan_where`]), savepoints ([`Store::savepoint`]), calls that are one statement of the history
//! ([`Store::begin_statement`]), and rows of the initial state that are loaded when they are first named ([`Store::load`]).

mod adversary;
mod choose;
mod condition;
mod error;
mod key;
mod locks;
mod open;
mod past;
mod plan;
mod random;
mod reading;
mod record;
mod savepoint;
mod scan;
mod statement;
mod store;
mod view;
mod writing;

pub use condition::Condition;
pub use error::{Cause, Conflict, Error};
pub use iso_evidence::{Source, Witness};
pub use iso_history::{Locking, Predicate, SessionId};
pub use key::{Key, NotAKey, Rows, TxnName, Writer};
pub use plan::{Divergence, Plan, Why};
pub use savepoint::Savepoint;
pub use statement::Change;
pub use store::{Committed, Policy, Store};
pub use writing::Values;

use iso_spec::Level;

/// The levels that a store can have, weaker ones first.
pub const LEVELS: [Level; 7] = [
    Level::ReadCommitted,
    Level::ReadAtomic,
    Level::CausalConsistency,
    Level::PrefixConsistency,
    Level::ParallelSnapshotIsolation,
    Level::SnapshotIsolation,
    Level::Serializable,
];

/// The levels of databases that a store can have, and no paper. Others of databases are called so and are among [`LEVELS`].
pub const DATABASE_LEVELS: [Level; 4] =
    [Level::StatementSnapshots, Level::TransactionSnapshot, Level::RowSnapshots, Level::StrictSerializable];

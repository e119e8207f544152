//! A proxy that speaks the protocol of `PostgreSQL`: applications in any language, unchanged, and a history of what they did.
//!
//! [`Recording`] stands between applications and their real database. Each connection has one of its own to the
//! database, and statements do what they always do; what they read and wrote becomes a history.

mod analyse;
mod catalogue;
mod condition;
mod handshake;
mod ledger;
mod prepared;
mod record;
mod row;
mod session;
mod sql;
mod transaction;
mod wire;

pub use ledger::Tally;
pub use record::{RecordError, RecordSetup, Recorded, Recording, Start};
pub use wire::Place;

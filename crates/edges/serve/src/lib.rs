//! A proxy that speaks the protocol of `PostgreSQL`: applications in any language, unchanged, and a history of what they did.
//!
//! [`Recording`] stands between applications and their real database. Each connection has one of its own to the
//! database, and statements do what they always do; what they read and wrote becomes a history.
//!
//! [`Serving`] has an engine of its own, and answers each read with any version that a level allows.

mod analyse;
mod catalogue;
mod condition;
mod cursor;
mod engine;
mod error;
mod gate;
mod handshake;
mod hidden;
mod ledger;
mod prepared;
mod proxy;
mod record;
mod replay;
mod row;
mod serve;
mod served;
mod session;
mod shape;
mod shared;
mod sql;
mod transaction;
mod turn;
mod view;
mod weak;
mod wire;

pub use error::ServeError;
pub use ledger::Tally;
pub use proxy::Proxy;
pub use record::{Moment, Moments};
pub use record::{RecordSetup, Recorded, Recording, Start};
pub use replay::{Along, name_in};
pub use serve::{ServeSetup, Served, Serving};
pub use weak::{Opaque, Updates};
pub use wire::Place;

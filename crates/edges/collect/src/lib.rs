//! Applications that run on a database or on the weak store, and the histories of their runs.
//!
//! An [`Application`] speaks to a [`Client`], whatever is behind it. [`drive`] runs one on the weak store and says what
//! happened: the history, what each transaction was, and whether everything holds that must. [`replay`] runs it again
//! along a prediction.
//!
//! ```
//! use iso_collect::{Choice, Setup, application, drive};
//! use iso_spec::Level;
//! let setup = Setup {
//!     application: application("voter").unwrap(),
//!     level: Level::Serializable,
//!     policy: Choice::Random,
//!     sessions: 3,
//!     txns: 4,
//!     seed: 1,
//!     retries: false,
//! };
//! let run = drive(&setup)?;
//! assert!(run.holds());
//! assert_eq!(run.steps.len(), 12);
//! # Ok::<(), iso_collect::Failure>(())
//! ```

#![allow(clippy::cast_possible_wrap, reason = "numbers of rows and of customers are far below the limit of a number")]

mod address;
mod application;
mod applications;
mod client;
mod database;
mod dialect;
mod drive;
mod drivers;
mod memory;
mod random;
mod record;
pub mod script;
mod setup;
mod store_client;
mod validate;

pub use application::{Application, Assertion, Row, Slot, Transaction, load, perform, transaction};
pub use applications::{APPLICATIONS, application};
pub use client::{Client, Failure, list_of};
pub use database::{Database, OpenError, Table, Values, open};
pub use dialect::Dialect;
pub use drive::{Counts, Ending, Run, Step, drive, drive_along};
pub use memory::Memory;
pub use random::Random;
pub use record::{Record, Value};
pub use setup::{Choice, Setup};
pub use validate::{Observed, Replayed, commit_order, replay};

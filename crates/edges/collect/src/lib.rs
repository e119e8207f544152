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

#![cfg_attr(
    not(all(feature = "postgres", feature = "mysql", feature = "sqlite")),
    allow(dead_code, reason = "what drivers share is complete, whichever of them are built")
)]
#![allow(clippy::cast_possible_wrap, reason = "numbers of rows and of customers are far below the limit of a number")]

mod address;
#[cfg(feature = "postgres")]
mod administration;
mod answered;
mod application;
mod applications;
mod client;
mod cluster;
mod collection;
mod control;
mod database;
mod dialect;
mod distribution;
mod drive;
mod drivers;
mod endpoints;
mod environment;
mod faults;
pub mod hunt;
mod journal;
mod memory;
mod notes;
mod opening;
pub mod programs;
mod random;
mod record;
mod recorder;
pub mod script;
mod session;
mod session_buffer;
mod setup;
mod shares;
mod store_client;
mod validate;
mod whole;
mod workload;
mod workloads;

#[cfg(feature = "postgres")]
pub use administration::Administration;
pub use answered::RowNames;
pub use application::{Application, Assertion, Row, Slot, Transaction, load, perform, transaction};
pub use applications::{APPLICATIONS, application};
pub use client::{Cause, Changing, Client, Failure, Inserts, OnConflict, Uncommitted, Updates, list_of};
pub use collection::{
    CollectError, Collected, FinalRead, Plan, Recorded, Retries, collect, collect_history, collect_recorded, recorded,
};
pub use control::{Aborts, Control, Tally};
pub use database::{Database, OpenError, Preview, Table, Values, Watcher, check_workload, open, open_in, open_with};
pub use dialect::Dialect;
pub use distribution::Likeliness;
pub use drive::{Counts, Ending, Run, RunStep, drive, drive_along};
pub use drivers::command::{Conformance, Remark, check_driver};
pub use faults::{Fault, FaultEvent, FaultPlan, Faulty};
pub use journal::{Hear, Target};
pub use memory::Memory;
pub use opening::{DriverProcesses, Opening};
pub use random::Random;
pub use record::{Record, Value};
pub use setup::{Choice, Setup};
pub use shares::shares;
pub use validate::{Observed, Replayed, commit_order, replay};
pub use whole::{WholeAnswer, WholeOp, WholeTxns};
pub use workload::{Parameters, Rows, Turn, WORKLOADS, Workload, workload};

use distribution::Distribution;

//! Applications that run on a database or on the weak store, and the histories of their runs.
//!
//! An [`Application`] speaks to a [`Client`], whatever is behind it.

#![allow(clippy::cast_possible_wrap, reason = "numbers of rows and of customers are far below the limit of a number")]

mod application;
mod applications;
mod client;
mod memory;
mod random;
mod record;

pub use application::{Application, Assertion, Row, Slot, Transaction, load, perform, transaction};
pub use applications::{APPLICATIONS, application};
pub use client::{Client, Failure};
pub use memory::Memory;
pub use random::Random;
pub use record::{Record, Value};

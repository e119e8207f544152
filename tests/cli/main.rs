//! The tool as its users meet it: arguments in, words and exit codes out.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

mod allocate;
mod bad_input;
mod certify;
mod check;
mod ci;
mod collect;
mod compare;
mod convert;
mod cookbook;
mod corpus;
mod demo;
mod doors;
mod driver;
mod elle;
mod generate;
mod help;
mod hunt;
mod lattice;
mod levels;
mod limits;
mod parquet;
mod playground;
mod predict;
mod promises;
mod record;
mod replay;
mod report;
#[path = "../../crates/edges/report/tests/common/schema.rs"]
#[allow(dead_code, unreachable_pub, reason = "the tests of documents use the rest of it")]
mod schema;
mod separate;
mod serve;
mod store;
mod stream;
mod tool;
mod verify;
mod watch;

//! Recording and serving, with real clients on real servers.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod clients;
mod cursors;
mod drivers;
mod honesty;
mod served;
mod shop;
mod stage;
mod throughput;

//! Applications on databases: what must hold, and where it does not.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

mod collection;
mod documentation;
mod faulty;
mod hunts;
mod replay;
mod serial;
mod weak;

//! Scripts and faults on real databases: throw-away servers, and `SQLite`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod clusters;
mod collection;
mod embedded;
mod encryption;
mod hunts;
mod inspection;
mod judge;
mod levels;
mod mariadb;
mod outcomes;
mod pooler;
mod postgresql;
mod programs;

use iso_servers::{Kind, Server, StartError};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(default)
}

/// A server, or none where it is not installed, which is said. `cargo xtask test` installs it where it can, and then
/// asks for it.
fn server(kind: Kind, settings: &[&str]) -> Option<Server> {
    there(Server::start(kind, settings))
}

fn there<S>(started: Result<S, StartError>) -> Option<S> {
    match started {
        Ok(server) => Some(server),
        Err(error @ StartError::Missing { .. }) if std::env::var_os("ISOSCOPE_SERVERS").is_none() => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

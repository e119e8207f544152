//! One run at a time on a database: two would drop each other's tables, and each would see what the other wrote.
//!
//! A server keeps a lock for as long as a connection lives, so a run that was killed leaves no lock behind.

use super::sql::Connection;
use crate::dialect::Statement;
use crate::{Failure, Value};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A server notices a moment later that whoever had the lock is gone.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(50);

/// The connection that holds the lock, from a set-up to the tear-down.
#[derive(Debug)]
pub(super) struct Claim<C>(Mutex<Option<C>>);

impl<C> Default for Claim<C> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<C: Connection> Claim<C> {
    /// Takes the lock, or makes sure that it is still there: a server that was restarted has forgotten it.
    ///
    /// `question` asks for it, and answers 1 whenever this connection holds it.
    pub(super) fn hold(
        &self,
        question: &str,
        place: &str,
        connect: impl FnOnce() -> Result<C, Failure>,
    ) -> Result<(), Failure> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let question = Statement { sql: question.to_owned(), values: Vec::new() };
        let is_held = |connection: &mut C| Ok(connection.rows(&question)? == [[Value::Int(1)]]);
        if held.as_mut().is_some_and(|it| is_held(it).unwrap_or(false)) {
            return Ok(());
        }
        let mut connection = connect()?;
        let given_up = Instant::now() + PATIENCE;
        while !is_held(&mut connection)? {
            if Instant::now() >= given_up {
                return Err(in_use(place));
            }
            thread::sleep(PAUSE);
        }
        *held = Some(connection);
        Ok(())
    }

    /// Lets others have it. A last command ends what the connection is in the middle of.
    pub(super) fn release(&self, farewell: Option<&str>) {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(mut connection), Some(farewell)) = (held, farewell) {
            // The connection ends in any case, and the lock with it.
            connection.command(farewell).ok();
        }
    }
}

/// Somebody else has the lock.
pub(super) fn in_use(place: &str) -> Failure {
    Failure::broken(format!(
        "another run of isoscope is using {place}; wait for its end, or give this one a database of its own"
    ))
}

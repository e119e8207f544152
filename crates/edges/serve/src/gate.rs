//! Moments at which nobody is in a transaction: everything that has committed is written down then.
//!
//! A recording that grows may lack a transaction that others have read from already. So whoever wants to look at it
//! lets nobody begin for a moment, until those who have begun have ended. Who waits for something else meanwhile does so
//! for a short time only, as nobody knows what applications wait for.

use crate::shared::lock;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Counts those who are in a transaction, and keeps others waiting if asked to.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    n_inside: usize,
    is_closed: bool,
}

/// Opens the gate again when it is dropped.
pub(crate) struct Closed<'g>(&'g Gate);

impl Gate {
    /// Somebody begins, as soon as that is possible.
    pub(crate) fn enter(&self) {
        let mut state = lock(&self.state);
        while state.is_closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.n_inside += 1;
    }

    /// Somebody has ended.
    pub(crate) fn exit(&self) {
        let mut state = lock(&self.state);
        state.n_inside -= 1;
        if state.is_closed {
            self.changed.notify_all();
        }
    }

    /// Waits until nobody is inside, and keeps it so; none if that takes too long.
    pub(crate) fn close(&self, patience: Duration) -> Option<Closed<'_>> {
        let until = Instant::now() + patience;
        let mut state = lock(&self.state);
        state.is_closed = true;
        let closed = Closed(self);
        while state.n_inside > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(state);
                return None;
            }
            state = self.wait(state, left);
        }
        drop(state);
        Some(closed)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>, at_most: Duration) -> MutexGuard<'s, State> {
        self.changed.wait_timeout(state, at_most).unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).is_closed = false;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn it_closes_when_all_have_ended_and_lets_others_in_afterwards() {
        let gate = Arc::new(Gate::default());
        gate.enter();
        assert!(gate.close(Duration::from_millis(1)).is_none());
        gate.enter();
        gate.exit();
        gate.exit();
        let closed = gate.close(Duration::ZERO).unwrap();
        let entering = {
            let gate = Arc::clone(&gate);
            thread::spawn(move || gate.enter())
        };
        assert!(!entering.is_finished());
        drop(closed);
        entering.join().unwrap();
        assert!(gate.close(Duration::from_millis(1)).is_none());
    }
}

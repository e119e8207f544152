//! One session of a run: a thread with a connection of its own, one transaction after the other.

use crate::drive::session_name;
use crate::journal::Writer;
use crate::recorder::{Recorder, RecordingClient, Scratch};
use crate::session_buffer::{Begun, Ended, SessionBuffer};
use crate::whole::{Told, plan};
use crate::{Cause, Client, Control, Database, Failure, Retries, Slot, Transaction, Turn, Workload, perform};
use iso_history::Outcome;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a session waits before it tries to connect again.
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);

/// What all sessions of a run share.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) database: Arc<dyn Database>,
    pub(crate) workload: Arc<dyn Workload>,
    pub(crate) recorder: Recorder,
    pub(crate) control: Arc<Control>,
    /// Who writes the history; none if it is not recorded.
    pub(crate) writer: Option<Writer>,
    pub(crate) seed: u64,
    pub(crate) retries: Retries,
    /// So many transactions a session.
    pub(crate) txns: Option<usize>,
    pub(crate) deadline: Option<Instant>,
    /// How long a session waits after each transaction.
    pub(crate) pause: Duration,
    /// How long a session tries to connect again.
    pub(crate) patience: Duration,
    /// Have all sessions ended?
    pub(crate) is_done: AtomicBool,
    /// How many transactions the longest session had.
    pub(crate) n_turns: AtomicUsize,
    /// How many sessions there were so far.
    pub(crate) n_sessions: AtomicUsize,
    /// Why the run cannot go on.
    pub(crate) failure: Mutex<Option<String>>,
}

/// A session.
pub(crate) struct Session {
    pub(crate) number: usize,
    /// None for one that takes another's place, until it does something.
    pub(crate) name: Option<String>,
    pub(crate) isolation: String,
    pub(crate) client: Box<dyn Client + Send>,
    pub(crate) buffer: Arc<SessionBuffer>,
    pub(crate) scratch: Scratch,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    Committed,
    Aborted(Cause),
    Conflict(Cause),
    /// The connection is gone; what became of the transaction is recorded.
    Lost(String),
    Broken(String),
}

impl Stage {
    /// Ends the run for a reason; the first one counts.
    pub(crate) fn fail(&self, why: String) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.control.stop();
    }

    fn is_over(&self, nth: usize, now: Instant) -> bool {
        self.control.is_stopped() || self.txns.is_some_and(|it| nth >= it) || self.deadline.is_some_and(|it| now >= it)
    }

    /// The name of one more session.
    pub(crate) fn next_name(&self) -> String {
        session_name(self.n_sessions.fetch_add(1, Ordering::Relaxed))
    }
}

impl Session {
    /// Runs until the run is over.
    pub(crate) fn run(mut self, stage: &Stage) {
        let mut n_attempts = 0;
        let mut nth = 0;
        while self.take_turn(stage, nth, &mut n_attempts) {
            nth += 1;
            if !stage.pause.is_zero() {
                thread::sleep(stage.pause);
            }
        }
        stage.n_turns.fetch_max(nth, Ordering::Relaxed);
    }

    /// Runs the session's next transaction, again if need be, and says whether to go on.
    fn take_turn(&mut self, stage: &Stage, nth: usize, n_attempts: &mut usize) -> bool {
        let slot = Slot { session: self.number, nth };
        let n_tries = match stage.retries {
            Retries::None => 1,
            Retries::UpTo(n) => n + 1,
        };
        for _ in 0..n_tries {
            stage.control.wait_while_held();
            let now = Instant::now();
            if stage.is_over(nth, now) {
                return false;
            }
            let transaction = stage.workload.transaction(Turn { seed: stage.seed, slot, attempt: *n_attempts });
            *n_attempts += 1;
            match self.attempt(stage, &*transaction, now) {
                Attempt::Committed | Attempt::Aborted(_) => return true,
                Attempt::Conflict(_) => {}
                Attempt::Lost(why) => return self.reconnect(stage, &why),
                Attempt::Broken(why) => {
                    stage.fail(why);
                    return false;
                }
            }
        }
        true
    }

    /// Runs a transaction that is said to begin now, and notes it if there is somebody who writes.
    pub(crate) fn attempt(&mut self, stage: &Stage, transaction: &dyn Transaction, now: Instant) -> Attempt {
        if self.client.whole().is_some() {
            return self.attempt_whole(stage, transaction, now);
        }
        let Some(writer) = &stage.writer else {
            let result = perform(transaction, &mut *self.client);
            let outcome = if result.is_ok() { Outcome::Committed } else { Outcome::Aborted };
            return counted(stage, attempt_of(result), outcome, 0);
        };
        let name = self.name.get_or_insert_with(|| stage.next_name());
        let begun = Begun { session: name, at: stage.recorder.time(now) };
        let (buffer, scratch) = (&*self.buffer, &mut self.scratch);
        let mut client = RecordingClient::new(&mut *self.client, buffer, begun, &stage.recorder, scratch);
        let attempt = attempt_of(perform(transaction, &mut client));
        let ended = buffer.end(begun, &mut scratch.notes, stage.recorder.now(), |known| match &attempt {
            Attempt::Committed => Outcome::Committed,
            Attempt::Aborted(_) | Attempt::Conflict(_) => Outcome::Aborted,
            Attempt::Lost(_) | Attempt::Broken(_) => known,
        });
        // Nobody waits for this session any more if its buffer is closed.
        let Some(Ended { outcome, n_ops, n_bytes }) = ended else { return Attempt::Lost("the run is over".to_owned()) };
        writer.keep_up(&self.buffer, n_bytes, || stage.control.is_stopped());
        counted(stage, attempt, outcome, n_ops)
    }

    /// As [`Self::attempt`], where a transaction is sent in one piece.
    fn attempt_whole(&mut self, stage: &Stage, transaction: &dyn Transaction, now: Instant) -> Attempt {
        let ops = match plan(transaction) {
            Ok(ops) => ops,
            Err(failure) => return Attempt::Broken(failure.to_string()),
        };
        let name = self.name.get_or_insert_with(|| stage.next_name());
        let begun = Begun { session: name, at: stage.recorder.time(now) };
        let (buffer, scratch) = (&*self.buffer, &mut self.scratch);
        let whole = self.client.whole().expect("that was asked before");
        // Somebody may see what it writes, whatever is heard of it.
        stage.recorder.note_writes(&ops, scratch);
        buffer.commit(begun, &mut scratch.notes);
        let result = whole.run_whole(&ops).and_then(|answers| {
            buffer.restart(begun);
            let mut told = Told::new(answers);
            let mut client = RecordingClient::new(&mut told, buffer, begun, &stage.recorder, scratch);
            perform(transaction, &mut client)
        });
        let attempt = attempt_of(result);
        let ended = buffer.end(begun, &mut scratch.notes, stage.recorder.now(), |known| match &attempt {
            Attempt::Committed => Outcome::Committed,
            Attempt::Aborted(_) | Attempt::Conflict(_) => Outcome::Aborted,
            Attempt::Lost(_) | Attempt::Broken(_) => known,
        });
        let Some(Ended { outcome, n_ops, n_bytes }) = ended else { return Attempt::Lost("the run is over".to_owned()) };
        if let Some(writer) = &stage.writer {
            writer.keep_up(&self.buffer, n_bytes, || stage.control.is_stopped());
        }
        counted(stage, attempt, outcome, n_ops)
    }

    /// Connects again, as another session: what the old one left behind may still happen, at any later time.
    fn reconnect(&mut self, stage: &Stage, why: &str) -> bool {
        stage.control.tally.reconnects.fetch_add(1, Ordering::Relaxed);
        let given_up = Instant::now() + stage.patience;
        // A node that is not ready yet is left alone for a moment.
        thread::sleep(RECONNECT_PAUSE);
        while !stage.is_over(0, Instant::now()) {
            match stage.database.connect_as(&self.isolation, self.number) {
                Ok(client) => {
                    self.client = client;
                    self.name = None;
                    return true;
                }
                Err(failure) if Instant::now() >= given_up => {
                    stage.fail(format!("{why}; and it cannot be connected again: {failure}"));
                    return false;
                }
                Err(_) => thread::sleep(RECONNECT_PAUSE),
            }
        }
        false
    }
}

fn attempt_of(result: Result<(), Failure>) -> Attempt {
    match result {
        Ok(()) => Attempt::Committed,
        Err(Failure::Aborted { cause, .. }) => Attempt::Aborted(cause),
        Err(Failure::Conflict { cause, .. }) => Attempt::Conflict(cause),
        Err(failure @ Failure::Lost { .. }) => Attempt::Lost(failure.to_string()),
        Err(failure @ Failure::Broken { .. }) => Attempt::Broken(failure.to_string()),
    }
}

fn counted(stage: &Stage, attempt: Attempt, outcome: Outcome, n_ops: usize) -> Attempt {
    let tally = &stage.control.tally;
    let counter = match (outcome, &attempt) {
        (Outcome::Committed, _) => &tally.committed,
        (Outcome::Indeterminate, _) => &tally.unknown,
        (Outcome::Aborted, Attempt::Conflict(_)) => &tally.conflicts,
        (Outcome::Aborted, _) => &tally.aborted,
    };
    counter.fetch_add(1, Ordering::Relaxed);
    if outcome == Outcome::Aborted {
        tally.count_abort(match &attempt {
            Attempt::Aborted(cause) | Attempt::Conflict(cause) => *cause,
            Attempt::Committed | Attempt::Lost(_) | Attempt::Broken(_) => Cause::Other,
        });
    }
    tally.operations.fetch_add(n_ops as u64, Ordering::Relaxed);
    attempt
}

//! Questions on a thread of their own. The interpreter stays free for others, and hears Ctrl-C.

use crate::document::Document;
use crate::errors;
use crate::history::{History, Known};
use iso_cli::ask::{self, SpecText, Told, Unasked};
use iso_evidence::{Budget, Note, Stage, StopReason};
use pyo3::prelude::*;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often the interpreter looks for signals.
const TICK: Duration = Duration::from_millis(20);
/// Searches go deep, and a thread has less room than a process.
const STACK: usize = 64 << 20;
/// A verdict is known, and other levels wait for theirs: whatever a person can follow is found in less.
const LONGEST_EXPLANATION: Duration = Duration::from_secs(10);

/// Does a history satisfy levels?
#[pyfunction]
#[pyo3(signature = (history, levels, spec=None, database=None, timeout=None))]
pub(crate) fn check(
    py: Python<'_>,
    history: &History,
    levels: Vec<String>,
    spec: Option<SpecText>,
    database: Option<String>,
    timeout: Option<f64>,
) -> PyResult<Document> {
    let known = history.known();
    answered(py, timeout, move |budget| ask::check(&known.given(), &levels, spec.as_ref(), database.as_deref(), budget))
}

/// What could have happened instead of this run?
#[pyfunction]
#[pyo3(signature = (history, words, timeout=None))]
pub(crate) fn predict(
    py: Python<'_>,
    history: &History,
    words: Vec<String>,
    timeout: Option<f64>,
) -> PyResult<Document> {
    let known: Arc<Known> = history.known();
    answered(py, timeout, move |budget| ask::predict(&known.given(), &words, budget))
}

/// Does a program keep its invariants?
#[pyfunction]
#[pyo3(signature = (name, text, words, timeout=None))]
pub(crate) fn verify(
    py: Python<'_>,
    name: String,
    text: String,
    words: Vec<String>,
    timeout: Option<f64>,
) -> PyResult<Document> {
    answered(py, timeout, move |budget| ask::verify(&name, &text, &words, budget))
}

/// Which history do levels allow and others forbid?
#[pyfunction]
#[pyo3(signature = (words, specs, timeout=None))]
pub(crate) fn separate(
    py: Python<'_>,
    words: Vec<String>,
    specs: Vec<SpecText>,
    timeout: Option<f64>,
) -> PyResult<Document> {
    answered(py, timeout, move |budget| ask::separate(&words, &specs, budget))
}

/// How do two levels relate?
#[pyfunction]
#[pyo3(signature = (words, specs, timeout=None))]
pub(crate) fn compare(
    py: Python<'_>,
    words: Vec<String>,
    specs: Vec<SpecText>,
    timeout: Option<f64>,
) -> PyResult<Document> {
    answered(py, timeout, move |budget| ask::compare(&words, &specs, budget))
}

fn answered(
    py: Python<'_>,
    timeout: Option<f64>,
    work: impl FnOnce(&Budget<'_>) -> Result<Told, Unasked> + Send + 'static,
) -> PyResult<Document> {
    let limit = timeout.and_then(|it| Duration::try_from_secs_f64(it).ok());
    let told = heard(py, move |is_interrupted| {
        let started = Instant::now();
        let stop = || {
            if is_interrupted.load(Ordering::Relaxed) {
                return Some(StopReason::Interrupted);
            }
            limit.filter(|it| started.elapsed() >= *it).map(|_| StopReason::Timeout)
        };
        let explaining_since = Cell::new(started);
        let stop_explaining = || {
            stop().or_else(|| (explaining_since.get().elapsed() > LONGEST_EXPLANATION).then_some(StopReason::Timeout))
        };
        let hear = |note| {
            if matches!(note, Note::Begins(Stage::Explanation | Stage::Derivation)) {
                explaining_since.set(Instant::now());
            }
        };
        work(&Budget::new(&stop).explained_until(&stop_explaining).heard_by(&hear))
    })?;
    told.map(Document::new).map_err(|why| errors::unasked(py, &why))
}

/// Runs work without the interpreter, which looks for signals meanwhile. After one, the work is told to stop; its thread
/// ends as soon as it asks, and nobody waits for it.
pub(crate) fn heard<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
) -> PyResult<T> {
    let is_interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_interrupted);
    let (send, receive) = sync_channel(1);
    let spawned = thread::Builder::new().name("isoscope".to_owned()).stack_size(STACK).spawn(move || {
        let result = panic::catch_unwind(AssertUnwindSafe(|| work(&flag)));
        // Whoever was interrupted does not listen any more.
        send.send(result).ok();
    });
    if let Err(error) = spawned {
        return Err(error.into());
    }
    let mut receive = receive;
    loop {
        let (answer, back) = py.detach(move || (receive.recv_timeout(TICK), receive));
        receive = back;
        match answer {
            Ok(Ok(told)) => return Ok(told),
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => return Err(errors::bug(py)),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(signal) = py.check_signals() {
            is_interrupted.store(true, Ordering::Relaxed);
            return Err(signal);
        }
    }
}

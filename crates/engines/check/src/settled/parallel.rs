//! Runs tasks on a few threads. Only the calling thread asks the budget; the others hear of its end.

use iso_evidence::{Budget, StopReason};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// More threads would need more tables at the same time than the work is worth.
const MAX_THREADS: usize = 4;
/// Below this many transactions, a thread costs more than it brings.
const MIN_TXNS: usize = 20_000;

/// How many threads a history of this size deserves.
pub(super) fn n_threads(n_txns: usize) -> usize {
    if n_txns < MIN_TXNS {
        return 1;
    }
    thread::available_parallelism().map_or(1, |it| it.get().min(MAX_THREADS))
}

/// Tells a task when to give up. A task asks often; every so many questions are passed on.
pub(super) struct Pace<'a> {
    budget: Option<&'a Budget<'a>>,
    is_over: &'a AtomicBool,
    n_questions: Cell<u32>,
    reason: RefCell<Option<StopReason>>,
}

impl Pace<'_> {
    /// Is it time to stop? The result of the task is then not looked at.
    pub(super) fn is_over(&self) -> bool {
        const PASSED_ON: u32 = 1 << 12;
        self.n_questions.set(self.n_questions.get().wrapping_add(1));
        self.n_questions.get().is_multiple_of(PASSED_ON) && self.ask()
    }

    fn ask(&self) -> bool {
        if let Some(Err(reason)) = self.budget.map(Budget::check) {
            self.reason.replace(Some(reason));
            self.is_over.store(true, Ordering::Relaxed);
        }
        self.is_over.load(Ordering::Relaxed)
    }
}

/// The results of tasks 0 to `n_tasks`, in this order. Each thread makes its own buffers, which its tasks share.
pub(super) fn run<Buffers, Done: Send>(
    n_tasks: usize,
    n_threads: usize,
    budget: &Budget<'_>,
    buffers: impl Fn() -> Buffers + Sync,
    task: impl Fn(&mut Buffers, usize, &Pace<'_>) -> Done + Sync,
) -> Result<Vec<Done>, StopReason> {
    let (is_over, next) = (AtomicBool::new(false), AtomicUsize::new(0));
    let work = |pace: &Pace<'_>| {
        let mut buffers = buffers();
        let mut done = Vec::new();
        loop {
            let idx = next.fetch_add(1, Ordering::Relaxed);
            if idx >= n_tasks || pace.is_over.load(Ordering::Relaxed) {
                return done;
            }
            done.push((idx, task(&mut buffers, idx, pace)));
        }
    };
    let pace = |budget| Pace { budget, is_over: &is_over, n_questions: Cell::new(0), reason: RefCell::new(None) };
    let own = pace(Some(budget));
    let mut done = thread::scope(|scope| {
        let helpers: Vec<_> = (1..n_threads.min(n_tasks)).map(|_| scope.spawn(|| work(&pace(None)))).collect();
        let mut done = work(&own);
        while helpers.iter().any(|it| !it.is_finished()) {
            own.ask();
            thread::sleep(Duration::from_micros(200));
        }
        for helper in helpers {
            match helper.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    if let Some(reason) = own.reason.take() {
        return Err(reason);
    }
    done.sort_unstable_by_key(|it| it.0);
    Ok(done.into_iter().map(|it| it.1).collect())
}

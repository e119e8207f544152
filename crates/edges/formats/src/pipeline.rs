//! Work on all cores, with results in order.
//!
//! The calling thread makes jobs and takes results, because readers and their watchers stay on one thread. Others do the
//! work; so does the caller, rather than wait.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// More threads would wait for the caller, who takes the results.
const MAX_WORKERS: usize = 3;
/// So many jobs for each thread are under way.
const JOBS_PER_THREAD: usize = 2;

/// Calls `next` until there is nothing more, `work` on what it gives, and `take` with the results, in the same order.
pub(crate) fn in_order<J: Send, R: Send, E>(
    mut next: impl FnMut() -> Result<Option<J>, E>,
    work: impl Fn(J) -> R + Sync,
    mut take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let Some(first) = next()? else { return Ok(()) };
    let first = work(first);
    // One job is not worth a thread.
    let Some(second) = next()? else { return take(first) };
    take(first)?;
    let queue = Queue { state: Mutex::new(State { jobs: VecDeque::new(), is_closed: false }), changed: Condvar::new() };
    let n_workers = thread::available_parallelism().map_or(1, NonZero::get).saturating_sub(1).min(MAX_WORKERS);
    let max_jobs = (n_workers + 1) * JOBS_PER_THREAD;
    thread::scope(|scope| {
        let _closer = Closer(&queue);
        for _ in 0..n_workers {
            let run = || {
                while let Some((job, result)) = queue.wait_for_job() {
                    // Nobody waits for the result if the caller gave up.
                    result.send(work(job)).ok();
                }
            };
            // Without the thread the caller does its work.
            thread::Builder::new().name("reading".to_owned()).spawn_scoped(scope, run).ok();
        }
        let mut results = VecDeque::from([queue.put(second)]);
        let mut is_at_end = false;
        loop {
            while !is_at_end && results.len() < max_jobs {
                match next()? {
                    Some(job) => results.push_back(queue.put(job)),
                    None => is_at_end = true,
                }
            }
            let Some(oldest) = results.pop_front() else { return Ok(()) };
            take(queue.result(&oldest, &work))?;
        }
    })
}

struct Queue<J, R> {
    state: Mutex<State<J, R>>,
    changed: Condvar,
}

struct State<J, R> {
    jobs: VecDeque<(J, SyncSender<R>)>,
    is_closed: bool,
}

impl<J, R> Queue<J, R> {
    fn lock(&self) -> MutexGuard<'_, State<J, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, job: J) -> Receiver<R> {
        let (sender, receiver) = sync_channel(1);
        self.lock().jobs.push_back((job, sender));
        self.changed.notify_one();
        receiver
    }

    fn wait_for_job(&self) -> Option<(J, SyncSender<R>)> {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The result of a job; until it is there, the caller works on those that nobody has begun.
    fn result(&self, of: &Receiver<R>, work: &impl Fn(J) -> R) -> R {
        loop {
            match of.try_recv() {
                Ok(result) => return result,
                Err(TryRecvError::Disconnected) => panic!("a thread that reads has died"),
                Err(TryRecvError::Empty) => {}
            }
            let Some((job, result)) = self.lock().jobs.pop_front() else {
                return of.recv().expect("a thread that reads ends its job");
            };
            result.send(work(job)).ok();
        }
    }
}

/// Lets the threads end, whatever happens to the caller.
struct Closer<'q, J, R>(&'q Queue<J, R>);

impl<J, R> Drop for Closer<'_, J, R> {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        for n in [0, 1, 2, 3, 1000] {
            let mut jobs = 0..n;
            let mut results = Vec::new();
            let done: Result<(), ()> = in_order(
                || Ok(jobs.next()),
                |it| it * it,
                |it| {
                    results.push(it);
                    Ok(())
                },
            );
            assert_eq!(done, Ok(()));
            assert_eq!(results, (0..n).map(|it| it * it).collect::<Vec<u64>>());
        }
    }

    #[test]
    fn an_error_ends_it() {
        let mut jobs = 0..;
        assert_eq!(in_order(|| Ok(jobs.next()), |it: u64| it, |it| if it < 50 { Ok(()) } else { Err(it) }), Err(50));
        let mut jobs = 0..;
        let next = || jobs.next().filter(|it| *it < 50).map(Some).ok_or(50);
        assert_eq!(in_order(next, |it: u64| it, |_| Ok(())), Err(50));
    }
}

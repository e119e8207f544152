//! Keeps a writer from running away from the check of what it writes.

use iso_collect::Control;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A writer that has to wait is so far ahead, in its own time.
const MAX_AHEAD: Duration = Duration::from_millis(500);
/// How often it is looked.
const LOOK: Duration = Duration::from_millis(10);

/// As long as it lives, the writer waits where the reader cannot follow. It has a thread of its own, since the reader may be
/// busy for long with what it has read.
pub(crate) struct Pace {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Pace {
    /// For so many bytes that were written, and so many of them that were read.
    pub(crate) fn new(n_written: Arc<AtomicU64>, n_read: Arc<AtomicU64>, writer: Arc<Control>) -> Self {
        let is_over: Arc<AtomicBool> = Arc::default();
        let (until, began) = (Arc::clone(&is_over), Instant::now());
        let work = move || {
            let mut is_held = false;
            while !until.load(Ordering::Acquire) {
                let n_read = n_read.load(Ordering::Relaxed);
                let n_written = n_written.load(Ordering::Relaxed);
                let n_ahead = n_written.saturating_sub(n_read);
                let ahead = u128::from(n_ahead) * began.elapsed().as_millis() / u128::from(n_written.max(1));
                // Whoever waits does so for a while.
                is_held = ahead > if is_held { MAX_AHEAD.as_millis() / 2 } else { MAX_AHEAD.as_millis() };
                writer.hold(is_held);
                thread::sleep(LOOK);
            }
            writer.hold(false);
        };
        Self { is_over, thread: thread::Builder::new().name("pace".to_owned()).spawn(work).ok() }
    }
}

impl Drop for Pace {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

//! A recording that grows: reading it waits for more.

use super::PAUSE;
use crate::limits::Alarm;
use anyhow::Context;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

/// A file that somebody else writes.
pub(crate) struct Tail {
    file: File,
    alarm: Arc<Alarm>,
    until: Option<Instant>,
    /// Asked now and then: is the writer gone?
    is_over: Box<dyn Fn() -> bool + Send>,
    pub(super) n_read: Arc<AtomicU64>,
}

impl Tail {
    pub(crate) fn new(
        path: &Path,
        alarm: Arc<Alarm>,
        until: Option<Instant>,
        is_over: impl Fn() -> bool + Send + 'static,
    ) -> anyhow::Result<Self> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        Ok(Self { file, alarm, until, is_over: Box::new(is_over), n_read: Arc::default() })
    }
}

impl Read for Tail {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // Asked before: what was written before the writer went is found in this round.
            let is_over = (self.is_over)();
            let n = self.file.read(buffer)?;
            self.n_read.fetch_add(n as u64, Ordering::Relaxed);
            let is_late = self.until.is_some_and(|it| Instant::now() >= it);
            if n > 0 || is_over || is_late || self.alarm.reason().is_some() {
                return Ok(n);
            }
            thread::sleep(PAUSE);
        }
    }
}

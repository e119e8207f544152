//! A recording that this process writes: what is in it is heard from the writer, and not read from the file again.

use super::PAUSE;
use super::pace::Pace;
use crate::limits::Alarm;
use iso_collect::{Control, Hear};
use iso_formats::{TellLines, ToldLines};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

/// What is told of a recording. How much waits is up to [`Self::pace`].
pub(crate) struct Told {
    lines: Receiver<ToldLines>,
    alarm: Arc<Alarm>,
    n_lines: Arc<AtomicU64>,
    /// How many bytes were taken.
    pub(super) n_read: Arc<AtomicU64>,
}

impl Told {
    /// And what is to be called with the lines; when that is gone, the recording is over.
    pub(crate) fn new(alarm: Arc<Alarm>) -> (Hear, Self) {
        let (sender, lines) = channel::<ToldLines>();
        let (n_lines, n_read): (Arc<AtomicU64>, Arc<AtomicU64>) = Default::default();
        let counter = Arc::clone(&n_lines);
        let hear = move |told: ToldLines| {
            counter.fetch_add(told.bytes().len() as u64, Ordering::Relaxed);
            // Whoever has ended does not hear the rest.
            sender.send(told).ok();
        };
        (Box::new(hear), Self { lines, alarm, n_lines, n_read })
    }

    /// As long as what is given here lives, the writer waits where the check cannot follow.
    pub(crate) fn pace(&self, writer: Arc<Control>) -> Pace {
        Pace::new(Arc::clone(&self.n_lines), Arc::clone(&self.n_read), writer)
    }
}

impl TellLines for Told {
    fn next(&mut self, waits: bool) -> Option<ToldLines> {
        let told = loop {
            match self.lines.recv_timeout(if waits { PAUSE } else { std::time::Duration::ZERO }) {
                Ok(told) => break told,
                Err(RecvTimeoutError::Timeout) if waits && self.alarm.reason().is_none() => {}
                Err(_) => return None,
            }
        };
        self.n_read.fetch_add(told.bytes().len() as u64, Ordering::Relaxed);
        Some(told)
    }
}

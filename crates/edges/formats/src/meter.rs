//! Counts what reading takes, and asks whether to go on.

use crate::{ReadError, ReadOptions, Watch};
use std::cell::Cell;

/// How much memory reading may take if nobody says.
pub const DEFAULT_MEMORY_LIMIT: u64 = 8 << 30;

/// No line of a line format may be longer than this.
const LONGEST_LINE: u64 = 256 << 20;

/// The limits of one reading, shared by all its parts.
pub(crate) struct Meter<'a> {
    name: String,
    limit: u64,
    used: Cell<u64>,
    /// What the history takes as far as it is built.
    built: Cell<u64>,
    /// What is being read just now.
    at_hand: Cell<u64>,
    decompressed: Cell<u64>,
    watch: Option<&'a dyn Watch>,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(name: &str, options: &ReadOptions<'a>) -> Self {
        Self {
            name: name.to_owned(),
            limit: options.memory_limit.unwrap_or(DEFAULT_MEMORY_LIMIT),
            used: Cell::new(0),
            built: Cell::new(0),
            at_hand: Cell::new(0),
            decompressed: Cell::new(0),
            watch: options.watch,
        }
    }

    /// Notes that so many more bytes are kept.
    pub(crate) fn keep(&self, bytes: usize) -> Result<(), ReadError> {
        self.used.set(self.used.get().saturating_add(bytes as u64));
        self.fits(0)
    }

    /// Says how many bytes the history takes by now.
    pub(crate) fn build(&self, bytes: usize) -> Result<(), ReadError> {
        self.built.set(bytes as u64);
        self.fits(0)
    }

    /// Says how many bytes what is being read takes.
    pub(crate) fn hold(&self, bytes: usize) -> Result<(), ReadError> {
        self.at_hand.set(bytes as u64);
        self.fits(0)
    }

    /// Would so many bytes on top still fit?
    pub(crate) fn fits(&self, bytes: usize) -> Result<(), ReadError> {
        if self.taken().saturating_add(bytes as u64) > self.limit { Err(self.exceeded()) } else { Ok(()) }
    }

    /// How many bytes are left.
    pub(crate) fn left(&self) -> u64 {
        self.limit.saturating_sub(self.taken())
    }

    /// What to say when more is needed.
    pub(crate) fn exceeded(&self) -> ReadError {
        ReadError::MemoryLimit { name: self.name.clone(), limit: self.limit }
    }

    fn taken(&self) -> u64 {
        let parts = [self.used.get(), self.built.get(), self.at_hand.get()];
        parts.into_iter().fold(0, u64::saturating_add)
    }

    /// Notes that so many bytes came out of a decompressor: a small file must not keep the reader busy for hours.
    pub(crate) fn decompress(&self, bytes: usize) -> Result<(), ReadError> {
        self.decompressed.set(self.decompressed.get() + bytes as u64);
        if self.decompressed.get() > self.limit {
            Err(ReadError::MemoryLimit { name: self.name.clone(), limit: self.limit })
        } else {
            Ok(())
        }
    }

    /// The longest line that may be held at once.
    pub(crate) fn longest_line(&self) -> usize {
        LONGEST_LINE.min(self.limit / 2) as usize
    }

    /// Tells the progress and asks whether to go on.
    pub(crate) fn report(&self, bytes: u64, of: Option<u64>) -> Result<(), ReadError> {
        if let Some(watch) = self.watch {
            watch.progress(bytes, of);
        }
        self.go_on()
    }

    /// Asks whether to go on.
    pub(crate) fn go_on(&self) -> Result<(), ReadError> {
        match self.watch {
            Some(watch) if watch.should_stop() => Err(ReadError::Stopped { name: self.name.clone() }),
            _ => Ok(()),
        }
    }
}

//! A recording that can be read again: its file, or what has passed of standard input, in a temporary file.

use iso_answer::stream::Recording;
use iso_formats::{ReadError, ReadOptions, read_keys};
use iso_history::{Datum, History, KeyId};
use std::cell::{Cell, RefCell};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// So much of standard input is kept, unless somebody says how much.
pub(crate) const DEFAULT_SPOOL: u64 = 2 << 30;

/// Reads the recording again.
pub(super) struct Again {
    pub(super) from: Origin,
    /// Up to this line; all of it if there is none.
    pub(super) until: Cell<Option<u64>>,
    pub(super) initial: Option<Datum>,
    /// What it was asked about last.
    asked: RefCell<Vec<KeyId>>,
    /// What a violation was shown with, although more of the recording was to come.
    relied_on: RefCell<Vec<KeyId>>,
    /// How the recording breaks what its header promises.
    broken: RefCell<Option<ReadError>>,
}

impl Again {
    pub(super) fn new(from: Origin, initial: Option<Datum>) -> Self {
        let (asked, relied_on, broken) = (RefCell::default(), RefCell::default(), RefCell::default());
        Self { from, until: Cell::new(None), initial, asked, relied_on, broken }
    }

    /// What it was asked about last has shown a violation.
    pub(super) fn was_shown(&self) {
        self.relied_on.borrow_mut().append(&mut self.asked.borrow_mut());
    }

    /// The recording was read to its end: is it as it promised where that was believed?
    pub(super) fn look_back(&self) {
        let keys = self.relied_on.take();
        if !keys.is_empty() {
            self.until.set(None);
            self.about(&keys);
        }
    }

    /// How the recording breaks what its header promises, if it was seen to.
    pub(super) fn take_broken(&self) -> Option<ReadError> {
        self.broken.take()
    }
}

/// Where it can be read again.
pub(super) enum Origin {
    File(PathBuf),
    Spool(Arc<Spool>),
    Nowhere,
}

impl Recording for Again {
    fn about(&self, keys: &[KeyId]) -> Option<History> {
        let options = ReadOptions { initial: self.initial.as_ref().map(Datum::as_name), ..ReadOptions::default() };
        let until = self.until.get();
        keys.clone_into(&mut self.asked.borrow_mut());
        let read = match &self.from {
            Origin::File(path) => read_keys(&path.display().to_string(), || File::open(path), keys, until, &options),
            Origin::Spool(spool) => {
                let again = || spool.reader().ok_or_else(|| io::Error::other("there is more of it than was kept"));
                read_keys("standard input", again, keys, until, &options)
            }
            Origin::Nowhere => return None,
        };
        if let Err(error @ ReadError::Promise { .. }) = read {
            self.broken.borrow_mut().get_or_insert(error);
            return None;
        }
        read.ok()?
    }
}

/// What has passed of a stream that comes only once. The file has no name any more, so that nothing is left of it whatever
/// happens.
#[derive(Debug)]
pub(crate) struct Spool {
    written: File,
    read: File,
    path: PathBuf,
    limit: u64,
    n_bytes: AtomicU64,
    /// Up to the end of its last whole line.
    n_whole: AtomicU64,
    is_over: AtomicBool,
    is_full: AtomicBool,
}

impl Spool {
    /// An empty one, for so many bytes.
    pub(crate) fn new(limit: u64) -> io::Result<Arc<Self>> {
        let path = std::env::temp_dir().join(format!("isoscope-stream-{}", process::id()));
        let written = OpenOptions::new().write(true).create_new(true).open(&path)?;
        let read = File::open(&path)?;
        // Where a file that is open cannot be removed, it is when this ends.
        fs::remove_file(&path).ok();
        let (n_bytes, n_whole) = (AtomicU64::new(0), AtomicU64::new(0));
        let (is_over, is_full) = (AtomicBool::new(false), AtomicBool::new(false));
        Ok(Arc::new(Self { written, read, path, limit, n_bytes, n_whole, is_over, is_full }))
    }

    /// Was there more than it may hold?
    pub(crate) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Acquire)
    }

    fn reader(&self) -> Option<io::Take<&File>> {
        if self.is_full() {
            return None;
        }
        let length = if self.is_over.load(Ordering::Acquire) { &self.n_bytes } else { &self.n_whole };
        let mut file = &self.read;
        file.seek(SeekFrom::Start(0)).ok()?;
        Some(file.take(length.load(Ordering::Acquire)))
    }

    fn keep(&self, bytes: &[u8]) {
        let n_before = self.n_bytes.load(Ordering::Relaxed);
        let n_after = n_before + bytes.len() as u64;
        if self.is_full.load(Ordering::Relaxed) {
            return;
        }
        if n_after > self.limit || (&self.written).write_all(bytes).is_err() {
            self.is_full.store(true, Ordering::Release);
            self.written.set_len(0).ok();
            return;
        }
        self.n_bytes.store(n_after, Ordering::Release);
        if let Some(newline) = bytes.iter().rposition(|it| *it == b'\n') {
            self.n_whole.store(n_before + newline as u64 + 1, Ordering::Release);
        }
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

/// A stream, of which a spool keeps what passes.
pub(crate) struct Spooled<R> {
    pub(crate) inner: R,
    pub(crate) spool: Arc<Spool>,
}

impl<R: Read> Read for Spooled<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.spool.keep(&buffer[..n]);
        if n == 0 {
            self.spool.is_over.store(true, Ordering::Release);
        }
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(spool: &Spool) -> Option<String> {
        let mut text = String::new();
        spool.reader()?.read_to_string(&mut text).unwrap();
        Some(text)
    }

    #[test]
    fn what_has_passed_is_read_again_up_to_its_last_whole_line_until_there_is_too_much() {
        let spool = Spool::new(20).unwrap();
        let mut stream = Spooled { inner: "one\ntwo\nthree\nfour\nfive".as_bytes(), spool: Arc::clone(&spool) };
        let mut buffer = [0; 10];
        assert_eq!(stream.read(&mut buffer).unwrap(), 10);
        assert_eq!(text(&spool).unwrap(), "one\ntwo\n");
        assert_eq!(text(&spool).unwrap(), "one\ntwo\n");
        assert_eq!(stream.read(&mut buffer).unwrap(), 10);
        assert_eq!(text(&spool).unwrap(), "one\ntwo\nthree\nfour\n");
        assert!(!spool.is_full());
        assert_eq!(stream.read(&mut buffer).unwrap(), 3);
        assert!(spool.is_full() && text(&spool).is_none());
    }
}

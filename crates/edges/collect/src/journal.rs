//! The file of a recording: one thread writes whole lines, soon after they happen, and never more than there is room for.
//!
//! Sessions hand in lines through a queue of limited length, so that memory stays flat when the disk is slower than the
//! database. The thread looks at the queue now and then and does not wait for it, so that nobody has to wake it up.

use iso_formats::RECORDING_END;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// So many lines wait at most.
const QUEUE: usize = 1024;
/// How often the thread looks.
const PAUSE: Duration = Duration::from_millis(1);
/// What happened is in the file after this time.
const FLUSH: Duration = Duration::from_millis(100);
/// And after so many bytes.
const BUFFER: usize = 256 << 10;

/// Where a recording goes.
pub enum Target {
    /// A file, from its beginning.
    File(File),
    /// Anything else that takes bytes.
    Stream(Box<dyn Write + Send>),
    /// Nowhere: nothing is recorded at all, to see what recording costs.
    Nowhere,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::File(_) => "File",
            Self::Stream(_) => "Stream",
            Self::Nowhere => "Nowhere",
        })
    }
}

/// What sessions hand in.
pub(crate) enum Entry {
    Line(Vec<u8>),
    /// Nothing that comes later counts.
    End,
}

/// The thread that writes.
pub(crate) struct Journal {
    pub(crate) entries: SyncSender<Entry>,
    thread: JoinHandle<io::Result<u64>>,
}

impl Journal {
    /// Writes the header at once: if there is no room even for that, it is better said before the run.
    pub(crate) fn start(target: Target, header: &[u8]) -> io::Result<Option<Self>> {
        let mut output = match target {
            Target::File(file) => Output { sink: Sink::File(file), n_written: 0 },
            Target::Stream(stream) => Output { sink: Sink::Stream(stream), n_written: 0 },
            Target::Nowhere => return Ok(None),
        };
        output.write(header)?;
        let (entries, queue) = sync_channel(QUEUE);
        let thread = thread::Builder::new().name("journal".to_owned()).spawn(move || write_all(&queue, output))?;
        Ok(Some(Self { entries, thread }))
    }

    /// Has the thread given up?
    pub(crate) fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends the recording, and says how many bytes it has.
    pub(crate) fn end(self) -> io::Result<u64> {
        // If nobody listens, the thread has failed, and says so.
        self.entries.send(Entry::End).ok();
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that writes has failed")))
    }
}

fn write_all(queue: &Receiver<Entry>, mut output: Output) -> io::Result<u64> {
    let mut lines = Vec::with_capacity(2 * BUFFER);
    let mut flushed = Instant::now();
    loop {
        let is_over = match queue.try_recv() {
            Ok(Entry::Line(line)) => {
                lines.extend_from_slice(&line);
                false
            }
            Ok(Entry::End) | Err(TryRecvError::Disconnected) => true,
            Err(TryRecvError::Empty) => {
                if flushed.elapsed() < FLUSH {
                    thread::sleep(PAUSE);
                }
                false
            }
        };
        if is_over {
            lines.extend_from_slice(RECORDING_END);
            output.write(&lines)?;
            return Ok(output.n_written);
        }
        if lines.len() >= BUFFER || flushed.elapsed() >= FLUSH {
            output.write(&lines)?;
            lines.clear();
            flushed = Instant::now();
        }
    }
}

/// Takes whole lines.
struct Output {
    sink: Sink,
    n_written: u64,
}

enum Sink {
    File(File),
    Stream(Box<dyn Write + Send>),
}

impl Output {
    /// Writes whole lines. If that fails, as many whole lines are there as there was room for.
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        let mut done = 0;
        while done < lines.len() {
            let result = match &mut self.sink {
                Sink::File(file) => file.write(&lines[done..]),
                Sink::Stream(stream) => stream.write(&lines[done..]),
            };
            match result {
                Ok(0) => return self.give_up(&lines[..done], io::ErrorKind::WriteZero.into()),
                Ok(n) => done += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.give_up(&lines[..done], error),
            }
        }
        self.n_written += lines.len() as u64;
        match &mut self.sink {
            Sink::File(_) => Ok(()),
            Sink::Stream(stream) => stream.flush(),
        }
    }

    fn give_up(&mut self, done: &[u8], error: io::Error) -> io::Result<()> {
        let whole = done.iter().rposition(|it| *it == b'\n').map_or(0, |it| it + 1);
        self.n_written += whole as u64;
        if let Sink::File(file) = &mut self.sink {
            // What cannot be taken back is a cut line, which readers of recordings put up with.
            file.set_len(self.n_written).and_then(|()| file.seek(SeekFrom::End(0))).ok();
        }
        Err(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Takes so many bytes and no more.
    struct Full(Arc<Mutex<Vec<u8>>>, usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut taken = self.0.lock().unwrap();
            let room = self.1 - taken.len();
            if room == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            taken.extend_from_slice(&bytes[..bytes.len().min(room)]);
            Ok(bytes.len().min(room))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_come_out_as_they_were_handed_in_and_then_the_end() {
        let taken = Arc::new(Mutex::new(Vec::new()));
        let target = Target::Stream(Box::new(Full(Arc::clone(&taken), 1 << 20)));
        let journal = Journal::start(target, b"header\n").unwrap().unwrap();
        for nth in 0..3 * QUEUE {
            journal.entries.send(Entry::Line(format!("{nth}\n").into_bytes())).unwrap();
        }
        journal.end().unwrap();
        let text = String::from_utf8(taken.lock().unwrap().clone()).unwrap();
        assert!(text.starts_with("header\n0\n1\n") && text.ends_with("{\"recording\":\"complete\"}\n"));
        assert_eq!(text.lines().count(), 3 * QUEUE + 2);
    }

    #[test]
    fn a_full_disk_is_an_error_and_what_was_written_has_whole_lines() {
        let file = tempfile::tempfile().unwrap();
        let mut output = Output { sink: Sink::File(file.try_clone().unwrap()), n_written: 0 };
        output.write(b"one\ntwo\n").unwrap();
        // As if the third line had come half-way.
        (&file).write_all(b"thr").unwrap();
        assert!(output.give_up(b"thr", io::ErrorKind::StorageFull.into()).is_err());
        assert_eq!(file.metadata().unwrap().len(), 8);
        let taken = Arc::new(Mutex::new(Vec::new()));
        let target = Target::Stream(Box::new(Full(taken, 10)));
        let journal = Journal::start(target, b"header\n").unwrap().unwrap();
        journal.entries.send(Entry::Line(b"123456\n".to_vec())).unwrap();
        assert_eq!(journal.end().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}

//! The file of a recording: one thread takes what has ended from the buffers of sessions, soon after it happens, makes
//! lines of it, and writes them with few calls.
//!
//! Nobody has to wake it up: it looks by itself every few milliseconds, and a session that has much to write only
//! makes it look earlier. What is taken is written in the order of time: while one buffer is taken, others go on, and the
//! thread may be held up between two of them; so what is newer than all that the look before saw waits for the next one. Only a
//! session that was held up between its clock and its buffer comes late. Readers rely on the order within a session alone.

use crate::notes::write_ops;
use crate::session_buffer::{SessionBuffer, Taken, Whole};
use iso_formats::{RECORDING_END, ToldLines, TxnLines};
use iso_history::Outcome;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

/// How often the thread looks.
const PAUSE: Duration = Duration::from_millis(2);
/// So many bytes are in all buffers together, more or less, before sessions wait.
const ROOM: usize = 8 << 20;
/// And on one, at least and at most. More would not stay in the caches of a processor.
const ROOM_OF_ONE: Range<usize> = 2 << 10..256 << 10;

/// Where a recording goes.
pub enum Target {
    /// A file, which is made when the first transaction is about to begin. One that was there is gone then.
    File(PathBuf),
    /// The same, and somebody hears what is in it, after it was written.
    Heard(PathBuf, Hear),
    /// Anything else that takes bytes.
    Stream(Box<dyn Write + Send>),
    /// Nowhere: nothing is recorded at all, to see what recording costs.
    Nowhere,
}

/// Hears the lines of a recording, in pieces.
pub type Hear = Box<dyn FnMut(ToldLines) + Send>;

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => write!(f, "File({})", path.display()),
            Self::Heard(path, _) => write!(f, "Heard({})", path.display()),
            Self::Stream(_) => f.write_str("Stream"),
            Self::Nowhere => f.write_str("Nowhere"),
        }
    }
}

/// Lines that are no transactions, as they come: faults, and who reads at the end.
pub(crate) type Remarks = Arc<Mutex<Vec<Vec<u8>>>>;

/// The thread that writes.
#[derive(Debug)]
pub(crate) struct Journal {
    is_ending: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<u64>>,
    room: usize,
}

/// How sessions reach the thread.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    thread: Thread,
    room: usize,
}

impl Journal {
    /// Writes the header at once: if there is no room even for that, it is better said before the run.
    pub(crate) fn start(
        target: Target,
        header: &[u8],
        buffers: &[Arc<SessionBuffer>],
        remarks: &Remarks,
    ) -> io::Result<Option<Self>> {
        let (sink, hear) = match target {
            Target::File(path) => (Sink::File(File::create(path)?), None),
            Target::Heard(path, hear) => (Sink::File(File::create(path)?), Some(hear)),
            Target::Stream(stream) => (Sink::Stream(stream), None),
            Target::Nowhere => return Ok(None),
        };
        let mut output = Output { sink, hear, n_written: 0 };
        output.write_lines(header)?;
        let is_ending = Arc::new(AtomicBool::new(false));
        let (buffers, ending, remarks) = (buffers.to_vec(), Arc::clone(&is_ending), Arc::clone(remarks));
        let room = (ROOM / buffers.len().max(1)).clamp(ROOM_OF_ONE.start, ROOM_OF_ONE.end);
        let thread = thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || write_all(&buffers, &remarks, &ending, output))?;
        Ok(Some(Self { is_ending, thread, room }))
    }

    /// For sessions.
    pub(crate) fn writer(&self) -> Writer {
        Writer { thread: self.thread.thread().clone(), room: self.room }
    }

    /// Has the thread given up?
    pub(crate) fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// Writes what is in the buffers, ends the recording, and says how many bytes it has.
    pub(crate) fn end(self) -> io::Result<u64> {
        self.is_ending.store(true, Ordering::Release);
        self.thread.thread().unpark();
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that writes has failed")))
    }
}

impl Writer {
    /// A session has so many bytes in its buffer: takes care that they do not become too many.
    pub(crate) fn keep_up(&self, buffer: &SessionBuffer, n_bytes: usize, is_over: impl Fn() -> bool) {
        if n_bytes > self.room / 2 {
            self.thread.unpark();
        }
        if n_bytes > self.room {
            buffer.wait_for_room(self.room, is_over);
        }
    }
}

fn write_all(
    buffers: &[Arc<SessionBuffer>],
    remarks: &Remarks,
    is_ending: &AtomicBool,
    mut output: Output,
) -> io::Result<u64> {
    let mut batch = Batch::new(buffers.len());
    if output.hear.is_some() {
        batch.lines = TxnLines::told();
    }
    loop {
        // Asked first: what was in the buffers when the end was said is found in this round.
        let is_last = is_ending.load(Ordering::Acquire);
        batch.gather(buffers);
        if is_last {
            batch.gather_rest();
        }
        let new = std::mem::take(&mut *remarks.lock().unwrap_or_else(PoisonError::into_inner)).concat();
        if !new.is_empty() {
            output.write_lines(&new)?;
        }
        if !batch.lines.bytes().is_empty() {
            output.write(batch.lines.bytes())?;
            if let (Some(hear), Some(told)) = (&mut output.hear, batch.lines.tell()) {
                hear(told);
            }
        }
        if is_last {
            output.write_lines(RECORDING_END)?;
            return Ok(output.n_written);
        }
        thread::park_timeout(PAUSE);
    }
}

/// What is written at once.
#[derive(Debug)]
struct Batch {
    lines: TxnLines,
    /// What was taken by this look and by the one before.
    taken: [Vec<Taken>; 2],
    /// Which of both is this look's.
    look: usize,
    order: Vec<Spot>,
    /// What waits for the next look.
    held: Vec<Spot>,
    /// The newest that was seen.
    newest: i64,
}

/// A transaction, the look and the buffer it was taken from, and where in it its notes begin.
type Spot = (Whole, usize, u32, usize);

impl Batch {
    fn new(n_buffers: usize) -> Self {
        let taken = [(); 2].map(|()| (0..n_buffers).map(|_| Taken::default()).collect());
        let (order, held, newest) = (Vec::new(), Vec::new(), i64::MIN);
        Self { lines: TxnLines::default(), taken, look: 0, order, held, newest }
    }

    /// Takes all that has ended from the buffers, and makes lines, in the order of time, of what no other buffer can be behind:
    /// whatever is as old as what the look before saw was in its buffer when this one began.
    fn gather(&mut self, buffers: &[Arc<SessionBuffer>]) {
        self.look ^= 1;
        self.order.clear();
        self.order.append(&mut self.held);
        let seen = self.newest;
        for (nth, (buffer, taken)) in buffers.iter().zip(&mut self.taken[self.look]).enumerate() {
            buffer.take(taken);
            let mut from = 0;
            for whole in &taken.ends {
                let part = if whole.time <= seen { &mut self.order } else { &mut self.held };
                part.push((*whole, self.look, nth as u32, from));
                from = whole.until;
                self.newest = self.newest.max(whole.time);
            }
        }
        self.lines.clear();
        self.write_lines();
    }

    /// Makes lines of what waits, too: there is no next look.
    fn gather_rest(&mut self) {
        self.order.clear();
        self.order.append(&mut self.held);
        self.write_lines();
    }

    fn write_lines(&mut self) {
        // Stable, and fast on what is a few sorted runs.
        self.order.sort_by_key(|it| it.0.time);
        for (whole, look, nth, from) in &self.order {
            write_ops(&self.taken[*look][*nth as usize].bytes[*from..whole.until], &mut self.lines);
            // One of unknown outcome has no end: it may yet be committed at any time.
            let end = Some(whole.time).filter(|_| whole.outcome != Outcome::Indeterminate);
            self.lines.end(whole.outcome, whole.begin, end);
        }
    }
}

/// Takes whole lines.
struct Output {
    sink: Sink,
    hear: Option<Hear>,
    n_written: u64,
}

enum Sink {
    File(File),
    Stream(Box<dyn Write + Send>),
}

impl Output {
    /// Writes whole lines that are no transactions.
    fn write_lines(&mut self, lines: &[u8]) -> io::Result<()> {
        self.write(lines)?;
        if let Some(hear) = &mut self.hear {
            hear(ToldLines::of_bytes(lines));
        }
        Ok(())
    }

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
    use crate::notes::Notes;
    use crate::session_buffer::Begun;

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

    /// A buffer with a line of each of these times.
    fn buffer(session: &str, times: impl IntoIterator<Item = i64>) -> Arc<SessionBuffer> {
        let buffer = Arc::new(SessionBuffer::default());
        for time in times {
            end(&buffer, session, time);
        }
        buffer
    }

    fn end(buffer: &SessionBuffer, session: &str, time: i64) -> usize {
        let begun = Begun { session, at: time - 1 };
        buffer.end(begun, &mut Notes::default(), time, |_| Outcome::Committed).unwrap().n_bytes
    }

    #[test]
    fn lines_come_out_in_the_order_of_time_and_then_the_end() {
        let taken = Arc::new(Mutex::new(Vec::new()));
        let target = Target::Stream(Box::new(Full(Arc::clone(&taken), 1 << 20)));
        let buffers = [buffer("s1", [10, 40, 50]), buffer("s2", [5, 45, 60]), buffer("s3", [])];
        buffers[2].note(Begun { session: "s3", at: 7 }, &mut Notes::default());
        let journal = Journal::start(target, b"header\n", &buffers, &Remarks::default()).unwrap().unwrap();
        while taken.lock().unwrap().len() < 10 {
            thread::yield_now();
        }
        end(&buffers[2], "s3", 70);
        journal.end().unwrap();
        let text = String::from_utf8(taken.lock().unwrap().clone()).unwrap();
        let ends: Vec<&str> = text.lines().filter_map(|it| it.split("\"end\":").nth(1)).collect();
        assert_eq!(ends, ["5}", "10}", "40}", "45}", "50}", "60}", "70}"]);
        assert!(text.starts_with("header\n{") && text.ends_with("{\"recording\":\"complete\"}\n"), "{text}");
    }

    #[test]
    fn whoever_hears_a_recording_hears_what_is_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("h.jsonl");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ear = Arc::clone(&heard);
        let hear: Hear = Box::new(move |told| ear.lock().unwrap().extend_from_slice(told.bytes()));
        let (buffers, remarks) = ([buffer("s1", 0..500), buffer("s2", 100..600)], Remarks::default());
        remarks.lock().unwrap().push(b"{\"final\":\"s2\"}\n".to_vec());
        let target = Target::Heard(path.clone(), hear);
        let journal = Journal::start(target, b"header\n", &buffers, &remarks).unwrap().unwrap();
        journal.end().unwrap();
        let file = std::fs::read(path).unwrap();
        assert_eq!(file.split(|it| *it == b'\n').count() - 1, 1003);
        assert!(*heard.lock().unwrap() == file, "every line is heard, once, in its place");
    }

    #[test]
    fn what_one_buffer_gets_while_others_are_taken_waits_for_them() {
        let buffers = [buffer("s1", [10]), buffer("s2", [])];
        let mut batch = Batch::new(2);
        let text = |batch: &Batch| String::from_utf8(batch.lines.bytes().to_vec()).unwrap();
        batch.gather(&buffers);
        assert_eq!(text(&batch), "", "s2 may have one that ended before");
        // As if the thread had been held up between s1 and s2.
        end(&buffers[1], "s2", 30);
        batch.gather(&buffers);
        assert!(text(&batch).contains("\"end\":10}") && !text(&batch).contains("\"end\":30}"));
        end(&buffers[0], "s1", 20);
        batch.gather(&buffers);
        let lines = text(&batch);
        let ends: Vec<&str> = lines.lines().filter_map(|it| it.split("\"end\":").nth(1)).collect();
        assert_eq!(ends, ["20}", "30}"]);
        batch.gather(&buffers);
        batch.gather_rest();
        assert_eq!(text(&batch), "");
    }

    /// Takes nothing at first, and then a little now and then.
    struct Slow(Arc<AtomicBool>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            while self.0.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            thread::sleep(PAUSE / 10);
            Ok(bytes.len().min(1000))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn sessions_wait_for_a_slow_disk() {
        let (buffer, is_stuck) = (buffer("s1", []), Arc::new(AtomicBool::new(false)));
        let disk = Target::Stream(Box::new(Slow(Arc::clone(&is_stuck))));
        let journal = Journal::start(disk, b"header\n", &[Arc::clone(&buffer)], &Remarks::default());
        let journal = journal.unwrap().unwrap();
        let writer = journal.writer();
        is_stuck.store(true, Ordering::Relaxed);
        let mut most = 0;
        for time in 0..10_000 {
            let n_bytes = end(&buffer, "s1", time);
            most = most.max(n_bytes);
            if n_bytes >= ROOM_OF_ONE.end {
                is_stuck.store(false, Ordering::Relaxed);
            }
            writer.keep_up(&buffer, n_bytes, || false);
        }
        assert!((ROOM_OF_ONE.end..ROOM_OF_ONE.end + 1000).contains(&most), "{most}");
        assert!(journal.end().unwrap() > 600_000);
    }

    #[test]
    fn a_full_disk_is_an_error_and_what_was_written_has_whole_lines() {
        let file = tempfile::tempfile().unwrap();
        let mut output = Output { sink: Sink::File(file.try_clone().unwrap()), hear: None, n_written: 0 };
        output.write(b"one\ntwo\n").unwrap();
        // As if the third line had come half-way.
        (&file).write_all(b"thr").unwrap();
        assert!(output.give_up(b"thr", io::ErrorKind::StorageFull.into()).is_err());
        assert_eq!(file.metadata().unwrap().len(), 8);
        let taken = Arc::new(Mutex::new(Vec::new()));
        let target = Target::Stream(Box::new(Full(taken, 10)));
        let journal = Journal::start(target, b"header\n", &[buffer("s1", [1])], &Remarks::default()).unwrap().unwrap();
        assert_eq!(journal.end().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}

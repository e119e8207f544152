//! A process that speaks the protocol of drivers: requests go to its standard input, answers come from its standard output,
//! one JSON object a line.
//!
//! Requests of different sessions are under way at once, so one thread writes, one reads and gives each answer to whoever
//! waits for its number, and one keeps the last words of standard error. The first mistake of a process is its last: all
//! who wait hear of it, and the process is ended.

use super::protocol::{Answer, Request, answer_of};
use crate::Failure;
use iso_servers::system::CommandExt;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// No answer is longer. A driver that writes without end would fill the memory.
const LONGEST_ANSWER: u64 = 16 << 20;
/// So much of standard error is kept.
const LAST_WORDS: usize = 5;
/// No word of standard error is longer.
const LONGEST_WORD: u64 = 1000;
/// How long a process may take to end when its input ends.
const FAREWELL: Duration = Duration::from_secs(2);
/// How long a session may take to close. Nobody waits for what comes later.
const CLOSING: Duration = Duration::from_secs(2);

/// Why the first of some processes failed, if one has.
pub(super) type Grave = Arc<Mutex<Option<String>>>;

/// A process.
#[derive(Debug)]
pub(super) struct Process {
    shared: Arc<Shared>,
    /// None when it is told to end.
    lines: Mutex<Option<Sender<String>>>,
    next_id: AtomicU64,
    timeout: Duration,
}

#[derive(Debug)]
struct Shared {
    /// The command, for people.
    command: String,
    pid: u32,
    child: Mutex<Child>,
    state: Mutex<State>,
    last_words: Mutex<VecDeque<String>>,
    grave: Grave,
}

#[derive(Debug, Default)]
struct State {
    /// Who waits for the answer of which number, and what was asked.
    waiting: BTreeMap<u64, (String, SyncSender<Result<Answer, String>>)>,
    /// Numbers whose answers nobody waits for any more.
    forgotten: BTreeSet<u64>,
    /// Why nothing works any more.
    failed: Option<String>,
    is_ending: bool,
}

impl Process {
    /// Starts a process. Nothing was said to it yet.
    pub(super) fn start(words: &[String], timeout: Duration, grave: &Grave) -> Result<Self, String> {
        let shown = words.join(" ");
        let [program, arguments @ ..] = words else { return Err("the command of the driver is empty".to_owned()) };
        let mut command = Command::new(program);
        // In a group of its own, so that Ctrl-C is for us alone, and its children end with it.
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(|error| format!("`{program}` cannot be started: {error}"))?;
        let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut input), Some(output), Some(errors)) = (input, output, errors) else {
            return Err(format!("`{program}` has no standard input and output"));
        };
        let shared = Arc::new(Shared {
            command: shown,
            pid: child.id(),
            child: Mutex::new(child),
            state: Mutex::default(),
            last_words: Mutex::default(),
            grave: Arc::clone(grave),
        });
        // A session has one request under way, so that few lines wait here.
        let (lines, to_write) = channel::<String>();
        let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
            thread::Builder::new().name(name.to_owned()).spawn(work).map_err(|error| format!("no thread: {error}"))
        };
        spawn(
            "driver-input",
            Box::new(move || {
                for line in to_write {
                    // If that fails, it has ended, and whoever reads its output hears of it.
                    if input.write_all(line.as_bytes()).and_then(|()| input.flush()).is_err() {
                        break;
                    }
                }
            }),
        )?;
        let (reading, listening) = (Arc::clone(&shared), Arc::clone(&shared));
        spawn("driver-output", Box::new(move || reading.read(output)))?;
        spawn("driver-errors", Box::new(move || listening.listen(errors)))?;
        Ok(Self { shared, lines: Mutex::new(Some(lines)), next_id: AtomicU64::new(0), timeout })
    }

    /// Asks, and waits for the answer.
    pub(super) fn ask(&self, request: &Request<'_>) -> Result<Answer, Failure> {
        self.ask_within(request, self.timeout).unwrap_or_else(|()| {
            Err(self.fail(&format!(
                "does not answer {request} within {} s (--driver-timeout waits longer)",
                self.timeout.as_secs_f64()
            )))
        })
    }

    /// Tells it that a session ends. It is given a moment to say that it heard, and that is all.
    pub(super) fn close(&self, session: u64) {
        self.ask_within(&Request::Close { session }, CLOSING.min(self.timeout)).ok();
    }

    /// As [`Self::ask`]; an error if there is no answer in time.
    fn ask_within(&self, request: &Request<'_>, timeout: Duration) -> Result<Result<Answer, Failure>, ()> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = sync_channel(1);
        {
            let mut state = self.shared.state();
            if let Some(why) = &state.failed {
                return Ok(Err(Failure::broken(why.clone())));
            }
            state.waiting.insert(id, (request.to_string(), sender));
        }
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(lines) = lines {
            // Where nobody takes it, the reader says why.
            lines.send(request.line(id)).ok();
        }
        match receiver.recv_timeout(timeout) {
            Ok(answer) => Ok(answer.map_err(Failure::broken)),
            Err(RecvTimeoutError::Disconnected) => Ok(Err(self.fail("ended"))),
            Err(RecvTimeoutError::Timeout) => {
                let mut state = self.shared.state();
                state.waiting.remove(&id);
                state.forgotten.insert(id);
                Err(())
            }
        }
    }

    /// It says itself that nothing can be done any more. It is not ended, but whoever hunts must not go on as if nothing had
    /// happened.
    pub(super) fn give_up(&self, why: &str) {
        self.shared.bury(why);
    }

    /// It has made a mistake that nobody can work with: it is ended, and nobody asks it any more.
    pub(super) fn fail(&self, what: &str) -> Failure {
        Failure::broken(self.shared.fail(what))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.shared.state().is_ending = true;
        *self.lines.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let mut child = self.shared.child.lock().unwrap_or_else(PoisonError::into_inner);
        let until = Instant::now() + FAREWELL;
        while matches!(child.try_wait(), Ok(None)) && Instant::now() < until && self.shared.state().failed.is_none() {
            thread::sleep(Duration::from_millis(5));
        }
        // What it started may have outlived it.
        self.shared.end();
        child.kill().ok();
        child.wait().ok();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads answers, until there are no more.
    fn read(&self, output: ChildStdout) {
        let mut output = BufReader::new(output);
        let mut n_lines = 0_u64;
        loop {
            let mut line = Vec::new();
            let read = output.by_ref().take(LONGEST_ANSWER).read_until(b'\n', &mut line);
            n_lines += 1;
            if read.is_err() || line.is_empty() {
                return self.ended();
            }
            if line.last() != Some(&b'\n') && line.len() as u64 == LONGEST_ANSWER {
                self.fail(&format!("wrote an answer (line {n_lines}) of more than {LONGEST_ANSWER} bytes"));
                return;
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            if let Err(what) = answer_of(&line).and_then(|(id, answer)| self.deliver(id, answer)) {
                self.fail(&format!("wrote line {n_lines}, `{}`: {what}", clipped(&line)));
                return;
            }
        }
    }

    /// Gives an answer to whoever waits for it.
    fn deliver(&self, id: u64, answer: Answer) -> Result<(), String> {
        let mut state = self.state();
        if let Some((_, sender)) = state.waiting.remove(&id) {
            sender.send(Ok(answer)).ok();
            return Ok(());
        }
        if state.forgotten.remove(&id) {
            return Ok(());
        }
        Err(format!("it answers the request {id}, which was not asked or is answered already"))
    }

    /// Its output has ended.
    fn ended(&self) {
        if !self.state().is_ending {
            // A process that has ended is seen a moment later, and so are its last words.
            thread::sleep(Duration::from_millis(50));
            let status = self.child.lock().unwrap_or_else(PoisonError::into_inner).try_wait();
            match status {
                Ok(Some(status)) => self.fail(&format!("has ended by itself ({status})")),
                _ => self.fail("has closed its standard output"),
            };
        }
    }

    /// Nothing works any more; the first reason counts, and is returned.
    fn fail(&self, what: &str) -> String {
        let words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let words = if words.is_empty() { String::new() } else { format!("; its last words: {}", words.join(" / ")) };
        let mut state = self.state();
        let owed: Vec<String> = state.waiting.values().map(|it| it.0.clone()).collect();
        let owed = match owed.as_slice() {
            [] => String::new(),
            [first, ..] => format!("; it owes {} answer(s), one to {first}", owed.len()),
        };
        let why = state.failed.get_or_insert_with(|| format!("the driver `{}` {what}{owed}{words}", self.command));
        let why = why.clone();
        for (_, (_, sender)) in std::mem::take(&mut state.waiting) {
            sender.send(Err(why.clone())).ok();
        }
        drop(state);
        self.bury(&why);
        self.end();
        why
    }

    /// Remembers why the first of some processes failed.
    fn bury(&self, why: &str) {
        self.grave.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| why.to_owned());
    }

    /// Ends the process and what it started.
    fn end(&self) {
        let group = format!("-{}", self.pid);
        Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status().ok();
    }

    /// Keeps the last lines of what it says.
    fn listen(&self, errors: ChildStderr) {
        let mut errors = BufReader::new(errors);
        loop {
            let mut line = Vec::new();
            match errors.by_ref().take(LONGEST_WORD).read_until(b'\n', &mut line) {
                Ok(1..) => {}
                Ok(0) | Err(_) => return,
            }
            let line = String::from_utf8_lossy(&line).trim().to_owned();
            let mut words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
            if !line.is_empty() {
                words.push_back(line);
            }
            if words.len() > LAST_WORDS {
                words.pop_front();
            }
        }
    }
}

/// The beginning of a line, for people.
fn clipped(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut letters = text.trim_end().chars();
    let first: String = letters.by_ref().take(80).flat_map(char::escape_debug).collect();
    if letters.next().is_some() { format!("{first}…") } else { first }
}

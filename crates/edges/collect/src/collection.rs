//! Collects a history: sessions run a workload on a database at the same time, and what they see is written down.
//!
//! Source: step one and two of black-box checking in Cai, Liu, Wei, Chen & Pan 2026 (`VeriStrong`), section 2.
//!
//! Outcomes are honest. A transaction is committed if the database said so, aborted if it was never asked to commit or
//! refused, and unknown in between: then it has no end, and its session goes on under another name, since it may yet
//! take effect.

use crate::answered::RowNames;
use crate::database::check_workload;
use crate::faults::{FaultEvent, FaultLog, FaultPlan, afflict};
use crate::journal::{Journal, Remarks};
use crate::recorder::{Recorder, Scratch, value_name};
use crate::session::{Attempt, Session, Stage};
use crate::session_buffer::SessionBuffer;
use crate::{Assertion, Client, Control, Database, Dialect, Failure, Tally, Target, Transaction, Workload};
use iso_evidence::{LostWrite, lost_writes};
use iso_formats::{ReadOptions, RecordedDatabase, RecordingHeader, final_line, read_from};
use iso_history::{Datum, Defect, History};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// How often whoever waits is told how far the run is.
const TICK: Duration = Duration::from_millis(20);
const PAUSE: Duration = Duration::from_millis(100);
/// When the run is stopped, sessions have so long to end.
const GRACE: Duration = Duration::from_secs(2);
/// How long a session tries to connect again.
const PATIENCE: Duration = Duration::from_secs(10);
/// And where nodes are killed: a cluster takes its time to come back.
const PATIENCE_IN_FAULTS: Duration = Duration::from_secs(120);
/// Sessions need little: transactions are small, and drivers are not deep.
const STACK: usize = 512 << 10;

/// What is run, by whom, and for how long.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What sessions do.
    pub workload: Arc<dyn Workload>,
    /// The isolation level of each session.
    pub isolations: Vec<String>,
    /// So many transactions a session; without it, [`Plan::duration`] ends the run.
    pub txns: Option<usize>,
    /// No transaction begins after this time.
    pub duration: Option<Duration>,
    /// Decides which transactions run.
    pub seed: u64,
    /// Is a transaction tried again that the database aborted?
    pub retries: Retries,
    /// Are all rows read at the end?
    pub final_read: FinalRead,
    /// What is done to the nodes meanwhile.
    pub faults: Option<FaultPlan>,
    /// How long a session waits after each transaction, so that a run with faults does not become too large.
    pub pause: Duration,
    /// How the history is recorded, for the header: a JSON object in one line.
    pub origin: String,
}

/// What becomes of a transaction that the database aborted. Each attempt is a transaction of the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retries {
    /// It is left.
    #[default]
    None,
    /// It is tried again, up to so many times.
    UpTo(usize),
}

/// Whether one more session reads all rows when the others have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FinalRead {
    /// It does.
    #[default]
    Yes,
    /// It does not.
    No,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Collected {
    /// The database, without credentials.
    pub database: String,
    /// How many sessions there are in the history.
    pub sessions: usize,
    /// How many attempts ended in which way.
    pub counts: Tally,
    /// From the first transaction to the end of the last, without set-up and final read.
    pub elapsed: Duration,
    /// Committed transactions a second in that time.
    pub throughput: f64,
    /// Bytes that were written.
    pub bytes: u64,
    /// Was it stopped before its time?
    pub was_stopped: bool,
    /// Why the run ended early; the history up to then is complete.
    pub failure: Option<String>,
    /// What must hold at the end.
    pub assertions: Vec<Assertion>,
    /// What was done to nodes, in the order of time.
    pub faults: Vec<FaultEvent>,
}

/// Why there is no complete history.
#[derive(Debug, Error)]
pub enum CollectError {
    /// The database does not do what it must before the run.
    #[error(transparent)]
    Database(#[from] Failure),
    /// The history cannot be written; up to some point it was.
    #[error("the history cannot be written: {0}")]
    Write(#[source] io::Error),
    /// There are not so many threads.
    #[error("session {session} cannot be started: {reason}")]
    Thread {
        /// Which session.
        session: usize,
        /// Why.
        reason: io::Error,
    },
    /// What was recorded does not read back.
    #[error("what was recorded does not read back: {}", .0.first().map(ToString::to_string).unwrap_or_default())]
    Unreadable(Vec<Defect>),
}

/// Runs a plan on a database, and writes the history to the target while it happens.
///
/// `watch` is called many times a second; it may stop the run through the control.
pub fn collect(
    database: &Arc<dyn Database>,
    plan: &Plan,
    target: Target,
    control: &Arc<Control>,
    watch: &mut dyn FnMut(&Tally),
) -> Result<Collected, CollectError> {
    check_workload(&**database, &*plan.workload)?;
    database.inspect(&plan.workload.tables(), plan.isolations.len())?;
    database.set_up(&plan.workload.tables())?;
    let result = load(&**database, plan).map_err(CollectError::from).and_then(|()| {
        let clients: Vec<Box<dyn Client + Send>> = plan
            .isolations
            .iter()
            .enumerate()
            .map(|(nth, it)| database.connect_as(it, nth))
            .collect::<Result<_, Failure>>()?;
        run(database, plan, clients, target, control, watch)
    });
    // What the run says weighs more than that something was left behind.
    let cleaned = database.tear_down();
    let collected = result?;
    match (&collected.failure, cleaned) {
        (None, Err(failure)) if !collected.was_stopped => {
            Ok(Collected { failure: Some(format!("the tables are left behind: {failure}")), ..collected })
        }
        _ => Ok(collected),
    }
}

/// A history as it was recorded.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What happened.
    pub history: History,
    /// The names of sessions that read when all others had ended.
    pub final_sessions: Vec<String>,
}

impl Recorded {
    /// The acknowledged writes that are gone.
    pub fn lost_writes(&self) -> Vec<LostWrite> {
        let is_final = |it| self.final_sessions.iter().any(|name| name == self.history.session_name(it));
        lost_writes(&self.history, is_final)
    }
}

/// As [`collect`], into memory: the history at once.
pub fn collect_history(
    database: &Arc<dyn Database>,
    plan: &Plan,
    control: &Arc<Control>,
) -> Result<(History, Collected), CollectError> {
    collect_recorded(database, plan, control).map(|(recorded, collected)| (recorded.history, collected))
}

/// As [`collect_history`], with what the file says besides.
pub fn collect_recorded(
    database: &Arc<dyn Database>,
    plan: &Plan,
    control: &Arc<Control>,
) -> Result<(Recorded, Collected), CollectError> {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let target = Target::Stream(Box::new(InMemory(Arc::clone(&bytes))));
    let collected = collect(database, plan, target, control, &mut |_| {})?;
    let bytes = std::mem::take(&mut *bytes.lock().unwrap_or_else(PoisonError::into_inner));
    let reading = read_from("recording", bytes.as_slice(), &ReadOptions::default());
    let reading = reading.map_err(|it| CollectError::Write(io::Error::other(it.to_string())))?;
    let final_sessions = reading.header.final_sessions.clone();
    let history = reading.into_history().map_err(CollectError::Unreadable)?;
    Ok((Recorded { history, final_sessions }, collected))
}

struct InMemory(Arc<Mutex<Vec<u8>>>);

impl io::Write for InMemory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn load(database: &dyn Database, plan: &Plan) -> Result<(), Failure> {
    let rows = plan.workload.rows();
    if rows.is_empty() { Ok(()) } else { database.load(&rows) }
}

fn run(
    database: &Arc<dyn Database>,
    plan: &Plan,
    clients: Vec<Box<dyn Client + Send>>,
    target: Target,
    control: &Arc<Control>,
    watch: &mut dyn FnMut(&Tally),
) -> Result<Collected, CollectError> {
    let started = Instant::now();
    let recorder = Recorder::new(&*plan.workload, Arc::clone(control), started);
    let header = header(&**database, plan, &recorder, clients.len());
    // One for each session, and one for whoever reads at the end.
    let buffers: Vec<Arc<SessionBuffer>> = (0..=clients.len()).map(|_| Arc::default()).collect();
    let faults: FaultLog = FaultLog::default();
    let remarks = Remarks::default();
    let journal = Journal::start(target, &header, &buffers, &remarks).map_err(CollectError::Write)?;
    let stage = Arc::new(Stage {
        database: Arc::clone(database),
        workload: Arc::clone(&plan.workload),
        recorder,
        control: Arc::clone(control),
        writer: journal.as_ref().map(Journal::writer),
        seed: plan.seed,
        retries: plan.retries,
        txns: plan.txns,
        deadline: plan.duration.map(|it| started + it),
        pause: plan.pause,
        patience: if plan.faults.is_some() { PATIENCE_IN_FAULTS } else { PATIENCE },
        n_turns: AtomicUsize::new(0),
        n_sessions: AtomicUsize::new(0),
        is_done: AtomicBool::new(false),
        failure: Mutex::default(),
    });
    thread::scope(|scope| {
        let afflicted = plan.faults.as_ref().map(|it| {
            let (stage, faults, remarks) = (Arc::clone(&stage), Arc::clone(&faults), Arc::clone(&remarks));
            scope.spawn(move || afflict_nodes(&stage, it, started, (&faults, &remarks)))
        });
        let performed = perform_all(&stage, plan, clients.into_iter().zip(&buffers), journal.as_ref(), watch);
        stage.is_done.store(true, Ordering::Relaxed);
        // What was done is made good before anybody reads.
        drop(afflicted.map(thread::ScopedJoinHandle::join));
        performed
    })?;
    let elapsed = started.elapsed();
    let throughput = rate(control.tally().committed, elapsed);
    leave_open_ones(&stage, &buffers);
    let was_stopped = control.is_stopped();
    let assertions = if was_stopped || plan.final_read == FinalRead::No {
        Vec::new()
    } else {
        read_at_the_end(&stage, &plan.isolations[0], &buffers[plan.isolations.len()], &remarks)
    };
    let bytes = journal.map_or(Ok(0), Journal::end).map_err(CollectError::Write)?;
    let failure = stage.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
    Ok(Collected {
        database: database.describe(),
        sessions: stage.n_sessions.load(Ordering::Relaxed),
        counts: control.tally(),
        elapsed,
        throughput,
        bytes,
        was_stopped,
        failure,
        assertions,
        faults: std::mem::take(&mut *faults.lock().unwrap_or_else(PoisonError::into_inner)),
    })
}

/// Does faults while sessions run.
fn afflict_nodes(stage: &Stage, plan: &FaultPlan, started: Instant, (log, remarks): (&FaultLog, &Remarks)) {
    let Some(target) = stage.database.faults() else {
        return stage.fail("faults can be done to servers that isoscope starts, such as galera:3".to_owned());
    };
    let names = stage.database.nodes();
    let is_over = || stage.control.is_stopped() || stage.is_done.load(Ordering::Relaxed);
    let note = |event: FaultEvent| {
        remarks.lock().unwrap_or_else(PoisonError::into_inner).push(event.line());
        log.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    };
    if let Err(failure) = afflict(target, &names, plan, started, &note, &is_over) {
        stage.fail(failure.to_string());
    }
}

#[allow(clippy::cast_precision_loss, reason = "a rate needs a few digits")]
fn rate(committed: u64, elapsed: Duration) -> f64 {
    committed as f64 / elapsed.as_secs_f64().max(1e-9)
}

fn header(database: &dyn Database, plan: &Plan, recorder: &Recorder, n_sessions: usize) -> Vec<u8> {
    let rows = plan.workload.rows();
    // Where all rows begin alike, one value for all keeps the header short.
    let same = rows
        .first()
        .map(|it| it.2.clone())
        .filter(|first| plan.workload.tables().len() == 1 && rows.iter().all(|it| it.2 == *first))
        // Rows that are not named do not exist.
        .filter(|_| plan.workload.row_names() == RowNames::Short);
    let key = |table: &str, row: &str| recorder.key(table, row, &mut String::new()).to_datum();
    let init = rows
        .iter()
        .filter(|_| same.is_none())
        .map(|(table, row, value)| (key(table, row), value_name(Some(value)).to_datum()));
    RecordingHeader {
        initial: same.as_ref().map_or(Datum::Null, |it| value_name(Some(it)).to_datum()),
        init: init.collect(),
        sessions: (0..n_sessions).map(crate::drive::session_name).collect(),
        values: plan.workload.written_values(),
        database: recorded(database, &plan.isolations),
        origin: &plan.origin,
    }
    .line_with_nodes(&placed(database, n_sessions))
}

/// By session, the node that it is on, where there are several.
fn placed(database: &dyn Database, n_sessions: usize) -> Vec<(String, String)> {
    let nodes = database.nodes();
    let node = |session: usize| nodes[database.node_of(session)].clone();
    let sessions = (0..n_sessions).filter(|_| nodes.len() > 1);
    sessions.map(|it| (crate::drive::session_name(it), node(it))).collect()
}

/// What a header says of a database whose sessions have these isolation levels.
pub fn recorded(database: &dyn Database, isolations: &[String]) -> Option<RecordedDatabase> {
    let mut identity = database.identity()?;
    for isolation in isolations {
        if !identity.isolations.contains(isolation) {
            identity.isolations.push(isolation.clone());
        }
    }
    Some(identity)
}

/// Runs all sessions, and returns when they have ended or nobody waits for them any more.
fn perform_all<'d>(
    stage: &Arc<Stage>,
    plan: &Plan,
    clients: impl Iterator<Item = (Box<dyn Client + Send>, &'d Arc<SessionBuffer>)>,
    journal: Option<&Journal>,
    watch: &mut dyn FnMut(&Tally),
) -> Result<(), CollectError> {
    let (ended, ends) = channel();
    let mut n_running = 0;
    for (number, (client, buffer)) in clients.enumerate() {
        let isolation = plan.isolations[number].clone();
        let name = stage.next_name();
        let thread = thread::Builder::new().name(name.clone()).stack_size(STACK);
        let (name, buffer, scratch) = (Some(name), Arc::clone(buffer), Scratch::default());
        let session = Session { number, name, isolation, client, buffer, scratch };
        let (stage_of_it, ended) = (Arc::clone(stage), AtEnd(ended.clone()));
        let spawned = thread.spawn(move || {
            session.run(&stage_of_it);
            drop(ended);
        });
        if let Err(reason) = spawned {
            stage.control.stop();
            return Err(CollectError::Thread { session: number + 1, reason });
        }
        n_running += 1;
    }
    drop(ended);
    let mut patience = None;
    while n_running > 0 {
        match ends.recv_timeout(TICK) {
            Ok(()) => n_running -= 1,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        watch(&stage.control.tally());
        if journal.is_some_and(Journal::is_over) {
            stage.control.stop();
        }
        if stage.control.is_stopped() && Instant::now() >= *patience.get_or_insert_with(|| Instant::now() + GRACE) {
            break;
        }
    }
    Ok(())
}

/// Says so when a thread ends, whatever the reason.
struct AtEnd(Sender<()>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        self.0.send(()).ok();
    }
}

/// Transactions that are still open are recorded as far as they are known.
fn leave_open_ones(stage: &Stage, buffers: &[Arc<SessionBuffer>]) {
    let sessions = buffers.iter().rev().skip(1).rev();
    for ended in sessions.filter_map(|it| it.close(stage.recorder.now())) {
        stage.control.left(ended.outcome);
    }
}

/// Reads all rows when all is quiet, and asks what must hold.
fn read_at_the_end(stage: &Stage, isolation: &str, buffer: &Arc<SessionBuffer>, remarks: &Remarks) -> Vec<Assertion> {
    if stage.writer.is_none() {
        return Vec::new();
    }
    stage.recorder.quieten();
    let until = Instant::now() + stage.patience;
    let connected = loop {
        match stage.database.connect_to_read(isolation) {
            // A node that was cut off may not have caught up yet, and says so as if it waited for a lock.
            Err(Failure::Lost { .. } | Failure::Conflict { .. }) if Instant::now() < until => thread::sleep(PAUSE),
            other => break other,
        }
    };
    let client = match connected {
        Ok(client) => client,
        Err(failure) => {
            stage.fail(format!("the final read is missing: {failure}"));
            return Vec::new();
        }
    };
    let name = stage.next_name();
    // The weak store serves old rows at any time, and promises nothing of that kind.
    if stage.database.dialect() != Dialect::Store {
        remarks.lock().unwrap_or_else(PoisonError::into_inner).push(final_line(&name));
    }
    let (name, buffer, scratch) = (Some(name), Arc::clone(buffer), Scratch::default());
    let mut session = Session { number: usize::MAX, name, isolation: isolation.to_owned(), client, buffer, scratch };
    let answers = Mutex::new(Vec::new());
    let n_turns = stage.n_turns.load(Ordering::Relaxed);
    let read = Final { workload: &*stage.workload, asks: Asks::Rows { n_turns }, answers: &answers };
    let mut attempt = session.attempt(stage, &read, Instant::now());
    // A weak store serves old rows even then, of which nothing can be asked.
    if attempt == Attempt::Committed && stage.database.dialect() != Dialect::Store {
        attempt = session.attempt(stage, &Final { asks: Asks::Assertions, ..read }, Instant::now());
    }
    match attempt {
        Attempt::Committed | Attempt::Aborted(_) => {}
        Attempt::Conflict(_) => stage.fail("the final read is missing: the database aborted it".to_owned()),
        Attempt::Lost(why) | Attempt::Broken(why) => stage.fail(format!("the final read is missing: {why}")),
    }
    answers.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// What is read at the end.
struct Final<'f> {
    workload: &'f dyn Workload,
    asks: Asks,
    answers: &'f Mutex<Vec<Assertion>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asks {
    Rows { n_turns: usize },
    Assertions,
}

impl Transaction for Final<'_> {
    fn run(&self, client: &mut dyn Client) -> Result<(), Failure> {
        match self.asks {
            Asks::Rows { n_turns } => self.workload.read_all(client, n_turns)?,
            Asks::Assertions => {
                let found = self.workload.assertions(client)?;
                *self.answers.lock().unwrap_or_else(PoisonError::into_inner) = found;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Final<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.asks.fmt(f)
    }
}

impl fmt::Display for Final<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FinalRead()")
    }
}

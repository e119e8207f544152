//! Plays a script on a database, one thread a session.

use super::history::Log;
use super::{Action, Script, ScriptStep};
use crate::{Client, Database, Failure, Value, Watcher, WholeAnswer, WholeOp};
use iso_history::History;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// A step that takes longer waits for a lock, where nobody knows better.
const BLOCKED_AFTER: Duration = Duration::from_millis(300);

/// How often somebody is asked who knows better.
const LOOK: Duration = Duration::from_millis(4);

/// Drivers give up on a lock and on a statement long before.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(60);

/// What happened.
#[derive(Clone, Debug)]
pub struct Played {
    /// What was read, written, committed and aborted, with times. Keys are rows, and `table/row` where there are
    /// several tables, or rows that come and go.
    pub history: History,
    /// What each step answered.
    pub answers: Vec<Answer>,
    /// The steps that waited for a lock, by their places in the script.
    pub blocked: Vec<usize>,
}

/// What a step answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was done.
    Done,
    /// What was read; none where there is no row.
    Value(Option<Value>),
    /// The rows that were read, or found and changed, with what was in them before.
    Rows(Vec<(String, Value)>),
    /// It failed: the transaction has ended.
    Failed(Failure),
    /// The transaction of the session had ended before.
    Skipped,
    /// It is sent with the commit, in one piece with the others.
    Held,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("ok"),
            Self::Value(None) => f.write_str("no row"),
            Self::Value(Some(value)) => write!(f, "{value}"),
            Self::Rows(rows) => {
                let rows: Vec<String> = rows.iter().map(|(row, value)| format!("{row}={value}")).collect();
                write!(f, "{{{}}}", rows.join(", "))
            }
            Self::Failed(failure) => write!(f, "{failure}"),
            Self::Held => f.write_str("sent with the commit"),
            Self::Skipped => f.write_str("skipped, as the transaction has ended"),
        }
    }
}

/// A script that could not be played to its end.
#[derive(Clone, Debug)]
pub struct Interrupted {
    /// Why.
    pub failure: Failure,
    /// What happened until then, if anything did; nobody knows what became of transactions that were open.
    pub history: Option<Box<History>>,
}

impl From<Failure> for Interrupted {
    fn from(failure: Failure) -> Self {
        Self { failure, history: None }
    }
}

impl Played {
    /// The steps that the database refused with a conflict, by their places in the script.
    pub fn conflicts(&self) -> Vec<usize> {
        let is_conflict = |it: &Answer| matches!(it, Answer::Failed(Failure::Conflict { .. }));
        (0..self.answers.len()).filter(|it| is_conflict(&self.answers[*it])).collect()
    }
}

impl Script {
    /// Sets the database up, takes the steps in their order, and removes the tables again.
    pub fn play(&self, database: &dyn Database) -> Result<Played, Failure> {
        self.play_as_far_as_it_goes(database).map_err(|it| it.failure)
    }

    /// As [`Self::play`], with what happened until something failed.
    pub fn play_as_far_as_it_goes(&self, database: &dyn Database) -> Result<Played, Interrupted> {
        self.check_predicates()?;
        if let Some(why) = database.no_scans().filter(|_| self.steps.iter().any(|it| it.action.predicate().is_some())) {
            return Err(Failure::broken(why).into());
        }
        database.set_up(&self.tables)?;
        database.load(&self.rows)?;
        let played = self.take_steps(database)?;
        match database.tear_down() {
            // The next set-up removes what is left where the server is gone.
            Ok(()) | Err(Failure::Lost { .. }) => Ok(played),
            Err(failure) => Err(Interrupted { failure, history: Some(Box::new(played.history)) }),
        }
    }

    fn take_steps(&self, database: &dyn Database) -> Result<Played, Interrupted> {
        let (reply, replies) = mpsc::channel();
        let start = Instant::now();
        thread::scope(|scope| {
            let mut stage = Stage {
                senders: BTreeMap::new(),
                replies,
                pending: BTreeMap::new(),
                watcher: database.watcher(),
                processes: BTreeMap::new(),
                log: Log::new(self, database.inserts()),
            };
            for name in self.sessions() {
                let (sender, orders) = mpsc::channel();
                let reply = reply.clone();
                // Connecting takes time, which must not look like waiting for a lock.
                let nth = stage.senders.len();
                let connection = self.first_isolation(name).map(|it| connect(database, it, nth)).transpose()?;
                if let Some(process) = connection.as_ref().and_then(|it| it.1.process()) {
                    stage.processes.insert(name, process);
                }
                let session = Session { database, nth, connection, is_open: false, held: Vec::new() };
                scope.spawn(move || serve(session, start, &orders, &reply));
                stage.senders.insert(name, sender);
            }
            match stage.take_all(&self.steps) {
                Ok(()) => stage.log.end().map_err(Interrupted::from),
                Err(failure) => Err(Interrupted { failure, history: stage.log.cut_short() }),
            }
        })
    }
}

impl Script {
    fn first_isolation(&self, session: &str) -> Option<&str> {
        self.steps.iter().filter(|it| it.session == session).find_map(|it| match &it.action {
            Action::Begin { isolation } => Some(isolation.as_str()),
            _ => None,
        })
    }
}

/// A step that was sent, and what came of it.
struct Reply {
    idx: usize,
    answer: Answer,
    sent: i64,
    answered: i64,
}

struct Stage<'s> {
    senders: BTreeMap<&'s str, Sender<(usize, &'s Action)>>,
    replies: Receiver<Reply>,
    /// By session, the step that waits for a lock.
    pending: BTreeMap<&'s str, usize>,
    watcher: Option<Box<dyn Watcher>>,
    /// What the watcher calls the sessions.
    processes: BTreeMap<&'s str, u64>,
    log: Log<'s>,
}

impl<'s> Stage<'s> {
    /// Takes all steps, and waits for the last answer.
    fn take_all(&mut self, steps: &'s [ScriptStep]) -> Result<(), Failure> {
        let mut left: Vec<(usize, &ScriptStep)> = steps.iter().enumerate().collect();
        while !left.is_empty() {
            // Who waits for a lock takes no step, and the others go on.
            match left.iter().position(|it| !self.pending.contains_key(it.1.session.as_str())) {
                Some(first) => {
                    let is_with = |it: &(usize, &ScriptStep)| {
                        it.1.together.is_some()
                            && it.1.together == left[first].1.together
                            && !self.pending.contains_key(it.1.session.as_str())
                    };
                    let mut group: Vec<usize> = (first + 1..left.len()).take_while(|it| is_with(&left[*it])).collect();
                    group.insert(0, first);
                    let steps: Vec<(usize, &ScriptStep)> = group.iter().map(|it| left[*it]).collect();
                    left.retain(|it| !steps.iter().any(|taken| taken.0 == it.0));
                    self.take(&steps)?;
                }
                None => self.wait_for_any()?,
            }
        }
        self.receive(GIVEN_UP_AFTER, |stage| stage.pending.is_empty()).map(|_| ())
    }

    /// Takes steps of different sessions, all at the same time.
    fn take(&mut self, steps: &[(usize, &'s ScriptStep)]) -> Result<(), Failure> {
        for (idx, step) in steps {
            self.pending.insert(step.session.as_str(), *idx);
        }
        for (idx, step) in steps {
            let session = step.session.as_str();
            let sent = self.senders[session].send((*idx, &step.action));
            sent.map_err(|_| Failure::broken(format!("the thread of session {session} has ended")))?;
        }
        let is_pending = |stage: &Self, step: &ScriptStep| stage.pending.contains_key(step.session.as_str());
        if !self.settle(|stage| !steps.iter().any(|it| is_pending(stage, it.1)))? {
            let blocked: Vec<usize> = steps.iter().filter(|it| is_pending(self, it.1)).map(|it| it.0).collect();
            self.log.blocked.extend(blocked);
        }
        // What it let go on is answered before the next step.
        self.settle(|stage| stage.pending.is_empty())?;
        Ok(())
    }

    /// Notes replies until something holds; false if all that are left to answer wait for locks.
    fn settle(&mut self, is_enough: impl Fn(&Self) -> bool) -> Result<bool, Failure> {
        let until = Instant::now() + BLOCKED_AFTER;
        while Instant::now() < until {
            if self.receive(LOOK, &is_enough)? {
                return Ok(true);
            }
            if self.all_wait() {
                // A reply may have come before the question did.
                return self.receive(Duration::ZERO, &is_enough);
            }
        }
        Ok(false)
    }

    /// Is it known of all who have not answered that they wait for a lock?
    fn all_wait(&mut self) -> bool {
        let Some(Ok(waiting)) = self.watcher.as_mut().map(|it| it.waiting()) else {
            self.watcher = None;
            return false;
        };
        self.pending.keys().all(|it| self.processes.get(it).is_some_and(|it| waiting.contains(it)))
    }

    fn wait_for_any(&mut self) -> Result<(), Failure> {
        let n_pending = self.pending.len();
        self.receive(GIVEN_UP_AFTER, |stage| stage.pending.len() < n_pending).map(|_| ())
    }

    /// Notes replies until something holds; false if that takes too long.
    fn receive(&mut self, at_most: Duration, is_enough: impl Fn(&Self) -> bool) -> Result<bool, Failure> {
        let until = Instant::now() + at_most;
        while !is_enough(self) {
            match self.replies.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(reply) => {
                    if let Answer::Failed(failure @ Failure::Broken { .. }) = &reply.answer {
                        return Err(failure.clone());
                    }
                    self.pending.retain(|_, idx| *idx != reply.idx);
                    if reply.answer == Answer::Held {
                        continue;
                    }
                    self.log.note(reply.idx, reply.answer, reply.sent, reply.answered)?;
                }
                Err(RecvTimeoutError::Timeout) if at_most == GIVEN_UP_AFTER => {
                    return Err(Failure::broken("a step of the script waits for a lock without end"));
                }
                Err(_) => return Ok(false),
            }
        }
        Ok(true)
    }
}

/// One session: does what it is told, until nobody tells it anything.
fn serve(mut session: Session<'_>, start: Instant, orders: &Receiver<(usize, &Action)>, replies: &Sender<Reply>) {
    let now = || i64::try_from(start.elapsed().as_nanos()).unwrap_or(i64::MAX);
    for (idx, action) in orders {
        let sent = now();
        let answers = match session.hold(idx, action) {
            Some(answers) => answers,
            None => vec![(idx, session.act(action).unwrap_or_else(Answer::Failed))],
        };
        let answered = now();
        if answers.into_iter().any(|(idx, answer)| replies.send(Reply { idx, answer, sent, answered }).is_err()) {
            break;
        }
    }
    if session.is_open
        && let Some((_, client)) = &mut session.connection
    {
        // Where the connection is lost, there is nothing to end.
        client.abort().ok();
    }
}

struct Session<'d> {
    database: &'d dyn Database,
    nth: usize,
    connection: Option<Connected>,
    is_open: bool,
    /// The steps of a transaction that is sent in one piece when it commits.
    held: Vec<(usize, WholeOp)>,
}

/// A connection with its isolation level.
type Connected = (String, Box<dyn Client + Send>);

fn connect(database: &dyn Database, isolation: &str, nth: usize) -> Result<Connected, Failure> {
    Ok((isolation.to_owned(), database.connect_as(isolation, nth)?))
}

impl Session<'_> {
    /// Where transactions are sent in one piece: keeps a step until the commit, and says then what all of them answered.
    fn hold(&mut self, idx: usize, action: &Action) -> Option<Vec<(usize, Answer)>> {
        let whole = self.connection.as_mut().and_then(|it| it.1.whole())?;
        let name = |text: &String| text.clone();
        let op = match action {
            Action::Begin { .. } => {
                self.held.clear();
                self.is_open = true;
                // Noted with the commit, when it begins.
                self.held.push((idx, WholeOp::Scan { table: String::new(), prefix: String::new() }));
                return Some(vec![(idx, Answer::Held)]);
            }
            _ if !self.is_open => return Some(vec![(idx, Answer::Skipped)]),
            Action::Get { table, row } => WholeOp::Get { table: name(table), row: name(row) },
            Action::Put { table, row, value } | Action::Insert { table, row, value } => {
                WholeOp::Put { table: name(table), row: name(row), value: value.clone() }
            }
            Action::Append { table, row, element } => {
                WholeOp::Append { table: name(table), row: name(row), element: *element }
            }
            Action::Abort => {
                self.is_open = false;
                self.held.clear();
                return Some(vec![(idx, Answer::Skipped)]);
            }
            Action::Commit => {
                self.is_open = false;
                let held = std::mem::take(&mut self.held);
                let (begin, ops) = held.split_first()?;
                let requests: Vec<WholeOp> = ops.iter().map(|it| it.1.clone()).collect();
                let mut answers = vec![(begin.0, Answer::Done)];
                let (committed, said) = match whole.run_whole(&requests) {
                    Ok(said) => (Answer::Done, said),
                    Err(failure) => (Answer::Failed(failure), Vec::new()),
                };
                for (nth, (idx, op)) in ops.iter().enumerate() {
                    let is_read = matches!(op, WholeOp::Get { .. } | WholeOp::Scan { .. });
                    match said.get(nth) {
                        Some(WholeAnswer::Value(value)) => answers.push((*idx, Answer::Value(value.clone()))),
                        Some(WholeAnswer::Rows(rows)) => answers.push((*idx, Answer::Rows(rows.clone()))),
                        // What it would have read nobody knows, but its writes may be seen.
                        None if is_read => {}
                        Some(WholeAnswer::Done) | None => answers.push((*idx, Answer::Done)),
                    }
                }
                answers.push((idx, committed));
                return Some(answers);
            }
            Action::Scan { .. } | Action::Add { .. } | Action::Delete { .. } => {
                let what = format!("`{action:?}` cannot be sent in one piece with others");
                return Some(vec![(idx, Answer::Failed(Failure::broken(what)))]);
            }
        };
        self.held.push((idx, op));
        Some(vec![(idx, Answer::Held)])
    }

    fn act(&mut self, action: &Action) -> Result<Answer, Failure> {
        if let Action::Begin { isolation } = action {
            if self.connection.as_ref().is_none_or(|it| it.0 != *isolation) {
                self.connection = Some(connect(self.database, isolation, self.nth)?);
            }
        } else if !self.is_open {
            return Ok(Answer::Skipped);
        }
        let Some((_, client)) = &mut self.connection else { return Ok(Answer::Skipped) };
        let answer = match action {
            Action::Begin { .. } => client.begin().map(|()| Answer::Done),
            Action::Get { table, row } => client.get(table, row).map(Answer::Value),
            Action::Put { table, row, value } => client.put(table, row, value.clone()).map(|()| Answer::Done),
            Action::Append { table, row, element } => client.append(table, row, *element).map(|()| Answer::Done),
            Action::Insert { table, row, value } => client.insert(table, row, value.clone()).map(|()| Answer::Done),
            Action::Scan { table, predicate, locking } => client.select(table, predicate, *locking).map(Answer::Rows),
            Action::Add { table, predicate, by } => client.increase(table, predicate, *by).map(Answer::Rows),
            Action::Delete { table, predicate } => client.delete_where(table, predicate).map(Answer::Rows),
            Action::Commit => client.commit().map(|()| Answer::Done),
            Action::Abort => client.abort().map(|()| Answer::Done),
        };
        if let Err(Failure::Aborted { .. } | Failure::Broken { .. }) = &answer {
            // What has failed would keep its locks. If that fails, too, the first failure says more.
            client.abort().ok();
        }
        self.is_open = answer.is_ok() && !matches!(action, Action::Commit | Action::Abort);
        answer
    }
}

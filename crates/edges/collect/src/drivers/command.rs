//! Databases behind a driver of one's own: a program that speaks the protocol of `docs/drivers.md`.

mod conformance;
mod process;
mod protocol;
mod whole;
mod words;

pub use conformance::{Conformance, Remark, check_driver};

use crate::answered::{is_match, only_row};
use crate::database::isolation_of;
use crate::opening::{DriverProcesses, Opening};
use crate::whole::WholeTxns;
use crate::{Client, Database, Dialect, Failure, Inserts, OpenError, Table, Value};
use iso_formats::RecordedDatabase;
use iso_history::{Locking, Predicate};
use process::{Grave, Process};
use protocol::{Answer, Hello, Operation, Reading, Request, rows_of, value_of};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use words::words_of;

/// What an address of a driver begins with.
pub(crate) const SCHEME: &str = "command:";
/// A setting that says what a level promises begins with this.
pub(crate) const PROMISE: &str = "promise:";
/// So many rows are put or removed in one transaction before and after a run.
const ROWS_AT_ONCE: usize = 100;
/// How often a transaction of the set-up is tried again that meets a conflict.
const PATIENCE: usize = 20;

/// A database behind a driver.
#[derive(Debug)]
pub(crate) struct DriverDatabase {
    words: Vec<String>,
    opening: Opening,
    hello: Hello,
    /// The names of its levels. They live as long as the program, as those of other databases do.
    levels: &'static [&'static str],
    abilities: Abilities,
    /// The process of all sessions; none if each has its own.
    shared: Option<Arc<Process>>,
    grave: Grave,
    next_session: AtomicU64,
    run: Arc<Mutex<RunTables>>,
}

/// What a driver can do.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Abilities {
    transactions: Transactions,
    unsupported: BTreeSet<String>,
}

/// How transactions are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transactions {
    StepByStep,
    /// Each in one request.
    Whole,
}

impl Abilities {
    fn has(&self, operation: &str) -> bool {
        !self.unsupported.contains(operation)
    }
}

/// The tables of the run that happens now. A driver cannot be told to empty a table, so each run has names of its own.
#[derive(Debug, Default)]
struct RunTables {
    n_runs: usize,
    suffix: String,
    /// Rows that may be there: those that were loaded, and those that somebody writes.
    rows: BTreeSet<(String, String)>,
    /// Tables whose rows hold texts: lists may be in them.
    texts: BTreeSet<String>,
}

impl RunTables {
    fn table(&self, table: &str) -> String {
        format!("{table}_{}", self.suffix)
    }

    fn key(&self, table: &str, row: &str) -> String {
        format!("{}/{row}", self.table(table))
    }
}

/// Starts the driver, and asks what it is and what it can do.
pub(crate) fn open(command: &str, opening: &Opening) -> Result<DriverDatabase, OpenError> {
    let unreachable = |reason: String| OpenError::Unreachable { place: format!("the driver `{command}`"), reason };
    let words = words_of(command).map_err(unreachable)?;
    let said = |failure: Failure| match failure {
        Failure::Broken { message } | Failure::Lost { message } => unreachable(message),
        other => unreachable(other.to_string()),
    };
    let grave = Grave::default();
    let (process, hello) = start(&words, opening, &grave).map_err(said)?;
    let abilities = learn(&process, &hello).map_err(said)?;
    let levels: Vec<&'static str> = hello.levels.iter().map(|it| &*Box::leak(it.clone().into_boxed_str())).collect();
    let shared = match opening.driver_processes {
        DriverProcesses::One => Some(Arc::new(process)),
        DriverProcesses::OneEach => None,
    };
    Ok(DriverDatabase {
        words,
        opening: opening.clone(),
        hello,
        levels: Box::leak(levels.into_boxed_slice()),
        abilities,
        shared,
        grave,
        // Session 0 asked what the driver can do.
        next_session: AtomicU64::new(1),
        run: Arc::default(),
    })
}

/// A process that has said hello.
fn start(words: &[String], opening: &Opening, grave: &Grave) -> Result<(Process, Hello), Failure> {
    let process = Process::start(words, opening.driver_timeout, grave).map_err(Failure::broken)?;
    match process.ask(&Request::Hello)? {
        Answer::Ok(json) => match Hello::of(&json) {
            Ok(hello) => Ok((process, hello)),
            Err(what) => Err(process.fail(&format!("says hello in a way that is not understood: {what}"))),
        },
        other => Err(process.fail(&format!("does not answer `hello` with \"ok\": {other:?}"))),
    }
}

/// Finds out what a driver does not support, by asking for it in a transaction that is aborted.
fn learn(process: &Process, hello: &Hello) -> Result<Abilities, Failure> {
    const SESSION: u64 = 0;
    let (table, key) = ("isoscope_probe".to_owned(), "isoscope_probe/x".to_owned());
    let mut unsupported: BTreeSet<String> = hello.unsupported.iter().cloned().collect();
    done(process, process.ask(&Request::Open { session: SESSION })?, "open")?;
    let level = &hello.levels[0];
    let begin = Request::Begin { session: SESSION, level, reading: Reading::AndWriting };
    let is_whole = unsupported.contains("begin") || matches!(process.ask(&begin)?, Answer::Unsupported(_));
    if is_whole {
        unsupported.insert("begin".to_owned());
        learn_whole(process, level, (table, key), &mut unsupported)?;
        process.close(SESSION);
        return Ok(Abilities { transactions: Transactions::Whole, unsupported });
    }
    let list = "isoscope_probe/list".to_owned();
    let operations = [
        Operation::Get { table: table.clone(), key: key.clone() },
        Operation::Put { table: table.clone(), key: key.clone(), value: Value::Int(1) },
        Operation::Append { table: table.clone(), key: list, element: 1 },
        Operation::Delete { table: table.clone(), key },
        Operation::Scan { table, predicate: Predicate::All },
    ];
    let mut is_open = true;
    for operation in operations.iter().filter(|it| !hello.unsupported.iter().any(|name| name == it.name())) {
        if !is_open {
            done(process, process.ask(&begin)?, "begin")?;
            is_open = true;
        }
        match process.ask(&Request::Operation { session: SESSION, operation })? {
            Answer::Ok(_) => {}
            Answer::Unsupported(_) => drop(unsupported.insert(operation.name().to_owned())),
            Answer::Conflict(_) => is_open = false,
            Answer::Lost(why) | Answer::Broken(why) => {
                return Err(Failure::broken(format!("`{}` is broken: {why}", operation.name())));
            }
        }
    }
    for needed in ["get", "put"] {
        if unsupported.contains(needed) {
            return Err(Failure::broken(format!("it does not support `{needed}`, which every driver must")));
        }
    }
    if is_open {
        done(process, process.ask(&Request::Abort { session: SESSION })?, "abort")?;
    }
    process.close(SESSION);
    Ok(Abilities { transactions: Transactions::StepByStep, unsupported })
}

/// The same where a transaction is sent in one piece: what is tried is done, on a row that nobody needs.
fn learn_whole(
    process: &Process,
    level: &str,
    (table, key): (String, String),
    unsupported: &mut BTreeSet<String>,
) -> Result<(), Failure> {
    let operations = [
        Operation::Get { table: table.clone(), key: key.clone() },
        Operation::Append { table: table.clone(), key: key.clone(), element: 1 },
        Operation::Delete { table, key },
    ];
    for operation in operations {
        let name = operation.name();
        if unsupported.contains(name) {
            continue;
        }
        match process.ask(&Request::Whole { session: 0, level, operations: &[operation] })? {
            Answer::Ok(_) | Answer::Conflict(_) => {}
            Answer::Unsupported(_) if name == "get" => {
                let why = "it supports neither `begin` nor `txn`; a driver needs one of them";
                return Err(Failure::broken(why));
            }
            Answer::Unsupported(_) => drop(unsupported.insert(name.to_owned())),
            Answer::Lost(why) | Answer::Broken(why) => {
                return Err(Failure::broken(format!("`txn` with `{name}` is broken: {why}")));
            }
        }
    }
    Ok(())
}

/// What an answer that should be `ok` says.
fn done(process: &Process, answer: Answer, asked: &str) -> Result<Json, Failure> {
    match answer {
        Answer::Ok(json) => Ok(json),
        Answer::Conflict(why) => Err(Failure::conflict(why)),
        Answer::Lost(why) => Err(Failure::lost(why)),
        Answer::Broken(why) => {
            process.give_up(&why);
            Err(Failure::broken(why))
        }
        Answer::Unsupported(what) => {
            Err(process.fail(&format!("does not support `{asked}` (it says `{what}`), which is needed here")))
        }
    }
}

impl DriverDatabase {
    fn run(&self) -> MutexGuard<'_, RunTables> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn client(&self, isolation: &str, reading: Reading) -> Result<DriverClient, Failure> {
        let level = isolation_of(self, isolation)?;
        let session = self.next_session.fetch_add(1, Ordering::Relaxed);
        let process = match &self.shared {
            Some(process) => Arc::clone(process),
            None => Arc::new(start(&self.words, &self.opening, &self.grave)?.0),
        };
        let client = DriverClient {
            process,
            session,
            level,
            reading,
            abilities: self.abilities.clone(),
            run: Arc::clone(&self.run),
            state: State::Idle,
        };
        done(&client.process, client.process.ask(&Request::Open { session })?, "open")?;
        Ok(client)
    }

    /// Does something to all these rows, in some transactions, and again where there is a conflict.
    fn for_all(&self, operations: &[Operation]) -> Result<(), Failure> {
        let mut client = self.client(self.levels[0], Reading::AndWriting)?;
        for part in operations.chunks(ROWS_AT_ONCE) {
            let mut left = PATIENCE;
            while let Err(failure) = client.perform(part) {
                left -= 1;
                if left == 0 || !matches!(failure, Failure::Conflict { .. }) {
                    return Err(failure);
                }
            }
        }
        Ok(())
    }
}

impl Database for DriverDatabase {
    fn describe(&self) -> String {
        let version = self.hello.version.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
        format!("{}{version} behind `{}`", self.hello.name, self.words.join(" "))
    }

    fn isolations(&self) -> &'static [&'static str] {
        self.levels
    }

    fn set_up(&self, tables: &[Table]) -> Result<(), Failure> {
        let mut run = self.run();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
        run.n_runs += 1;
        run.suffix = format!("{now:x}_{}", run.n_runs);
        run.rows.clear();
        run.texts = tables.iter().filter(|it| it.values == crate::Values::Text).map(|it| it.name.clone()).collect();
        Ok(())
    }

    fn load(&self, rows: &[(String, String, Value)]) -> Result<(), Failure> {
        let mut run = self.run();
        run.rows.extend(rows.iter().map(|it| (it.0.clone(), it.1.clone())));
        // A list that nobody appended to is empty, whether it is there or not.
        let is_list = |it: &(String, String, Value)| {
            run.texts.contains(&it.0) && it.2 == Value::Text(String::new()) && self.abilities.has("append")
        };
        let put = |(table, row, value): &(String, String, Value)| Operation::Put {
            table: run.table(table),
            key: run.key(table, row),
            value: value.clone(),
        };
        let operations: Vec<Operation> = rows.iter().filter(|it| !is_list(it)).map(put).collect();
        drop(run);
        self.for_all(&operations)
    }

    fn tear_down(&self) -> Result<(), Failure> {
        let operations: Vec<Operation> = {
            let mut run = self.run();
            let rows = std::mem::take(&mut run.rows);
            rows.iter()
                .map(|(table, row)| Operation::Delete { table: run.table(table), key: run.key(table, row) })
                .collect()
        };
        // Names are never used again, so that rows that stay do no harm.
        if self.abilities.has("delete") { self.for_all(&operations) } else { Ok(()) }
    }

    fn connect(&self, isolation: &str) -> Result<Box<dyn Client + Send>, Failure> {
        Ok(Box::new(self.client(isolation, Reading::AndWriting)?))
    }

    fn connect_to_read(&self, isolation: &str) -> Result<Box<dyn Client + Send>, Failure> {
        Ok(Box::new(self.client(isolation, Reading::Only)?))
    }

    fn gone(&self) -> Option<Failure> {
        self.grave.lock().unwrap_or_else(PoisonError::into_inner).clone().map(Failure::broken)
    }

    fn identity(&self) -> Option<RecordedDatabase> {
        let promise = |(level, promised): &(String, String)| (format!("{PROMISE}{level}"), promised.clone());
        Some(RecordedDatabase {
            name: self.hello.name.clone(),
            version: self.hello.version.clone(),
            isolations: Vec::new(),
            settings: self.hello.promises.iter().map(promise).collect(),
        })
    }

    fn dialect(&self) -> Dialect {
        Dialect::Driver
    }

    fn whole_transactions(&self) -> Option<String> {
        (self.abilities.transactions == Transactions::Whole).then(|| {
            format!("the driver of {} takes a transaction in one request (`txn`), not step by step", self.hello.name)
        })
    }

    fn no_lists(&self) -> Option<String> {
        let lacks = !self.abilities.has("append");
        lacks.then(|| format!("the driver of {} does not support `append`", self.hello.name))
    }

    fn no_scans(&self) -> Option<String> {
        let lacks = !self.abilities.has("scan") || !self.abilities.has("delete");
        let lacks = lacks.then(|| format!("the driver of {} does not support `scan` and `delete`", self.hello.name));
        self.whole_transactions().or(lacks)
    }
}

/// A session of a driver.
#[derive(Debug)]
struct DriverClient {
    process: Arc<Process>,
    session: u64,
    level: &'static str,
    reading: Reading,
    abilities: Abilities,
    run: Arc<Mutex<RunTables>>,
    state: State,
}

/// Where a session is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Open,
    Lost(String),
}

impl Drop for DriverClient {
    fn drop(&mut self) {
        self.process.close(self.session);
    }
}

impl DriverClient {
    fn run(&self) -> MutexGuard<'_, RunTables> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks, and follows what becomes of the transaction.
    fn ask(&mut self, request: &Request<'_>) -> Result<Json, Failure> {
        if let State::Lost(why) = &self.state {
            return Err(Failure::lost(why.clone()));
        }
        let result = done(&self.process, self.process.ask(request)?, request.name());
        match &result {
            Err(Failure::Lost { message }) => self.state = State::Lost(message.clone()),
            Err(Failure::Conflict { .. }) => self.state = State::Idle,
            _ => {}
        }
        result
    }

    fn operate(&mut self, operation: &Operation) -> Result<Json, Failure> {
        if self.state == State::Idle {
            return Err(Failure::broken("no transaction is open"));
        }
        self.ask(&Request::Operation { session: self.session, operation })
    }

    /// Understands an answer; one that cannot be is the driver's end.
    fn understood<T>(&self, asked: &str, answer: Result<T, String>) -> Result<T, Failure> {
        answer.map_err(|what| self.process.fail(&format!("answers `{asked}` in a way that is not understood: {what}")))
    }

    /// Does all this in a transaction.
    fn perform(&mut self, operations: &[Operation]) -> Result<(), Failure> {
        if self.abilities.transactions == Transactions::Whole {
            return self.ask_whole(operations).map(drop);
        }
        self.begin()?;
        for operation in operations {
            self.operate(operation)?;
        }
        self.commit()
    }

    fn ask_whole(&mut self, operations: &[Operation]) -> Result<Vec<Json>, Failure> {
        let answer = self.ask(&Request::Whole { session: self.session, level: self.level, operations })?;
        let answers = match answer {
            Json::Array(answers) if answers.len() == operations.len() => Ok(answers),
            other => Err(format!("{other} is no list of {} answers, one for each of \"ops\"", operations.len())),
        };
        self.understood("txn", answers)
    }

    /// Notes that a row may be there, and says what the driver calls it.
    fn written(&self, table: &str, row: &str) -> (String, String) {
        let mut run = self.run();
        let names = (run.table(table), run.key(table, row));
        if !run.rows.iter().any(|it| it.0 == table && it.1 == row) {
            run.rows.insert((table.to_owned(), row.to_owned()));
        }
        names
    }

    fn rows(&mut self, table: &str, predicate: &Predicate) -> Result<Vec<(String, Value)>, Failure> {
        let physical = self.run().table(table);
        let operation = Operation::Scan { table: physical.clone(), predicate: predicate.clone() };
        let answer = self.operate(&operation)?;
        let rows = self.understood("scan", rows_of(&physical, &answer))?;
        Ok(sorted(rows))
    }

    /// Rows that may be there and begin with a prefix.
    fn known(&self, table: &str, prefix: &str) -> Vec<String> {
        let run = self.run();
        let rows = run.rows.iter().filter(|it| it.0 == table && it.1.starts_with(prefix));
        rows.map(|it| it.1.clone()).collect()
    }
}

/// In the order of their keys.
fn sorted(mut rows: Vec<(String, Value)>) -> Vec<(String, Value)> {
    rows.sort_by(|one, other| one.0.cmp(&other.0));
    rows
}

impl Client for DriverClient {
    fn begin(&mut self) -> Result<(), Failure> {
        if self.state == State::Open {
            return Err(Failure::broken("a transaction is open"));
        }
        let (session, level, reading) = (self.session, self.level, self.reading);
        self.ask(&Request::Begin { session, level, reading })?;
        self.state = State::Open;
        Ok(())
    }

    fn get(&mut self, table: &str, row: &str) -> Result<Option<Value>, Failure> {
        let (table, key) = {
            let run = self.run();
            (run.table(table), run.key(table, row))
        };
        let answer = self.operate(&Operation::Get { table, key })?;
        self.understood("get", value_of(&answer))
    }

    fn put(&mut self, table: &str, row: &str, value: Value) -> Result<(), Failure> {
        let (table, key) = self.written(table, row);
        self.operate(&Operation::Put { table, key, value }).map(drop)
    }

    fn insert(&mut self, table: &str, row: &str, value: Value) -> Result<(), Failure> {
        self.put(table, row, value)
    }

    fn delete(&mut self, table: &str, row: &str) -> Result<(), Failure> {
        let (table, key) = self.written(table, row);
        self.operate(&Operation::Delete { table, key }).map(drop)
    }

    fn append(&mut self, table: &str, row: &str, element: i64) -> Result<(), Failure> {
        let (table, key) = self.written(table, row);
        self.operate(&Operation::Append { table, key, element }).map(drop)
    }

    fn scan(&mut self, table: &str, prefix: &str) -> Result<Vec<(String, Value)>, Failure> {
        if self.abilities.has("scan") {
            let mut rows = self.rows(table, &Predicate::All)?;
            rows.retain(|it| it.0.starts_with(prefix));
            return Ok(rows);
        }
        let mut rows = Vec::new();
        for row in self.known(table, prefix) {
            rows.extend(self.get(table, &row)?.map(|value| (row, value)));
        }
        Ok(rows)
    }

    fn select(
        &mut self,
        table: &str,
        predicate: &Predicate,
        _locking: Locking,
    ) -> Result<Vec<(String, Value)>, Failure> {
        if let Some(row) = only_row(predicate) {
            return Ok(self.get(table, &row)?.map(|value| (row, value)).into_iter().collect());
        }
        let mut rows = self.rows(table, predicate)?;
        // A driver may leave it to us which rows match.
        rows.retain(|(row, value)| is_match(predicate, row, value));
        Ok(rows)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        if self.state == State::Idle {
            return Err(Failure::broken("no transaction is open"));
        }
        self.ask(&Request::Commit { session: self.session })?;
        self.state = State::Idle;
        Ok(())
    }

    fn abort(&mut self) -> Result<(), Failure> {
        if self.state == State::Idle {
            return Err(Failure::broken("no transaction is open"));
        }
        self.ask(&Request::Abort { session: self.session })?;
        self.state = State::Idle;
        Ok(())
    }

    fn inserts(&self) -> Inserts {
        Inserts::Blind
    }

    fn whole(&mut self) -> Option<&mut dyn WholeTxns> {
        if self.abilities.transactions == Transactions::Whole { Some(self) } else { None }
    }
}

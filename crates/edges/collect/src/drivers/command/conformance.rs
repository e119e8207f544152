//! Does a driver speak the protocol? A play of every request, with what is wrong about the answers.
//!
//! The play looks at the driver, not at the isolation of the database: two sessions never do what a level could forbid.

use super::process::{Grave, Process};
use super::protocol::{Answer, Hello, Operation, Reading, Request, rows_of, value_of};
use super::words::words_of;
use super::{SCHEME, start};
use crate::opening::Opening;
use crate::{Failure, Value};
use iso_history::Predicate;
use iso_spec::Level;
use serde_json::Value as Json;
use std::fmt;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Who is not answered by then waits for somebody else.
const SOON: Duration = Duration::from_millis(300);

/// What came of the play.
#[derive(Clone, Debug, Default)]
pub struct Conformance {
    /// The name and version of the database, if the driver said it.
    pub database: Option<String>,
    /// One for each thing that was tried, in order.
    pub remarks: Vec<(String, Remark)>,
}

/// What is to say about one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// It is as it should be, with what was found.
    Good(String),
    /// The driver does not support it, and need not.
    Unsupported(String),
    /// It is wrong.
    Wrong(String),
}

impl Conformance {
    /// Is nothing wrong?
    pub fn is_good(&self) -> bool {
        !self.remarks.iter().any(|it| matches!(it.1, Remark::Wrong(_)))
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Good(words) => write!(f, "ok           {words}"),
            Self::Unsupported(words) => write!(f, "unsupported  {words}"),
            Self::Wrong(words) => write!(f, "wrong        {words}"),
        }
    }
}

/// Plays every request against the driver at an address such as `command:./driver`. An error if that is no such address.
pub fn check_driver(url: &str, opening: &Opening) -> Result<Conformance, Failure> {
    let command = url.trim().strip_prefix(SCHEME);
    let command = command.ok_or_else(|| {
        Failure::broken(format!("`{url}` is no driver; write `{SCHEME}./driver ARGUMENTS` in quotes"))
    })?;
    let words = words_of(command).map_err(Failure::broken)?;
    let mut conformance = Conformance::default();
    let (process, hello) = match start(&words, opening, &Grave::default()) {
        Ok(started) => started,
        Err(failure) => {
            conformance.remarks.push(("hello".to_owned(), Remark::Wrong(failure.to_string())));
            return Ok(conformance);
        }
    };
    conformance.database = Some(format!("{} {}", hello.name, hello.version.as_deref().unwrap_or_default()));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let table = format!("conformance_{now:x}");
    let mut play = Play { process: &process, hello: &hello, table, conformance: &mut conformance };
    // What cannot go on has been noted.
    play.all().ok();
    Ok(conformance)
}

struct Play<'p> {
    process: &'p Process,
    hello: &'p Hello,
    /// A name that nobody used before.
    table: String,
    conformance: &'p mut Conformance,
}

/// Why nothing more can be tried.
struct Over;

type Tried = Result<Remark, String>;

impl Play<'_> {
    fn all(&mut self) -> Result<(), Over> {
        self.note("hello", Self::hello)?;
        self.note("open", |play| {
            play.ok(&Request::Open { session: 0 })?;
            play.ok(&Request::Open { session: 1 })?;
            good("two sessions")
        })?;
        let begin = self.begin(0, 0);
        let is_whole = matches!(self.process.ask(&begin), Ok(Answer::Unsupported(_)));
        if is_whole {
            self.remark("begin", Remark::Unsupported("transactions are taken in one request, `txn`".to_owned()));
            self.note("txn", Self::whole)?;
        } else {
            self.note("abort", |play| {
                play.ok(&Request::Abort { session: 0 })?;
                good("a transaction that did nothing")
            })?;
            self.step_by_step()?;
        }
        self.note("unknown requests", |play| match play.ask(&Request::Unknown { session: 0 })? {
            Answer::Unsupported(_) => good("are answered with \"unsupported\""),
            other => Err(format!("a request that nobody knows is answered with {other:?}, not with \"unsupported\"")),
        })?;
        self.note("close", |play| {
            play.ok(&Request::Close { session: 0 })?;
            play.ok(&Request::Close { session: 1 })?;
            play.ok(&Request::Open { session: 2 })?;
            play.ok(&Request::Close { session: 2 })?;
            good("and other sessions can be opened then")
        })
    }

    fn step_by_step(&mut self) -> Result<(), Over> {
        self.note("get", |play| {
            play.ok(&play.begin(0, 0))?;
            let found = play.get(0, "nobody")?;
            play.ok(&Request::Commit { session: 0 })?;
            expected("a key that nobody wrote", found.as_ref(), None)
        })?;
        self.note("put", |play| {
            play.ok(&play.begin(0, 0))?;
            play.operate(0, &play.put("x", 5))?;
            let own = play.get(0, "x")?;
            play.ok(&Request::Commit { session: 0 })?;
            expected("what the transaction wrote itself", own.as_ref(), Some(5))
        })?;
        self.note("commit", |play| {
            play.ok(&play.begin(1, 0))?;
            let seen = play.get(1, "x")?;
            play.ok(&Request::Commit { session: 1 })?;
            expected("what another session committed", seen.as_ref(), Some(5))
        })?;
        self.note("abort", |play| {
            play.ok(&play.begin(0, 0))?;
            play.operate(0, &play.put("x", 6))?;
            play.ok(&Request::Abort { session: 0 })?;
            play.ok(&play.begin(0, 0))?;
            let seen = play.get(0, "x")?;
            play.ok(&Request::Commit { session: 0 })?;
            expected("after the abort of a write of 6, what was there", seen.as_ref(), Some(5))
        })?;
        self.note("text", |play| {
            play.ok(&play.begin(0, 0))?;
            let (table, key) = play.names("text");
            play.operate(0, &Operation::Put { table, key, value: Value::Text("a \"b\"".to_owned()) })?;
            let seen = play.get(0, "text")?;
            play.ok(&Request::Commit { session: 0 })?;
            match seen {
                Some(Value::Text(text)) if text == "a \"b\"" => good("a value that is a text comes back"),
                other => Err(format!("the text `a \"b\"` comes back as {other:?}")),
            }
        })?;
        self.note("delete", Self::delete)?;
        self.note("append", Self::append)?;
        self.note("scan", Self::scan)?;
        self.note("levels", |play| {
            for (nth, level) in play.hello.levels.iter().enumerate() {
                play.ok(&play.begin(0, nth)).map_err(|why| format!("at {level}: {why}"))?;
                play.ok(&Request::Commit { session: 0 }).map_err(|why| format!("at {level}: {why}"))?;
            }
            good(&format!("each of {} begins and commits", play.hello.levels.join(", ")))
        })?;
        self.note("at once", Self::at_once)?;
        self.note("waiting", Self::waiting)
    }

    fn hello(&self) -> Tried {
        for (level, promised) in &self.hello.promises {
            if Level::from_name(promised).is_none() {
                let known: Vec<&str> = Level::ALL.iter().map(|it| it.short_name()).collect();
                return Err(format!(
                    "{level} promises `{promised}`, which is no level that is known: {}",
                    known.join(", ")
                ));
            }
        }
        let promises: Vec<String> = self.hello.promises.iter().map(|it| format!("{} is {}", it.0, it.1)).collect();
        let promises = if promises.is_empty() { "nothing".to_owned() } else { promises.join(", ") };
        good(&format!("levels {}; it promises {promises}", self.hello.levels.join(", ")))
    }

    fn delete(&self) -> Tried {
        self.ok(&self.begin(0, 0))?;
        let (table, key) = self.names("x");
        match self.ask(&Request::Operation { session: 0, operation: &Operation::Delete { table, key } })? {
            Answer::Unsupported(_) => {
                self.ok(&Request::Abort { session: 0 })?;
                return Ok(Remark::Unsupported("the workloads ranges and unique need it".to_owned()));
            }
            other => accepted("delete", other)?,
        };
        let seen = self.get(0, "x")?;
        self.ok(&Request::Commit { session: 0 })?;
        expected("a row that was deleted", seen.as_ref(), None)
    }

    fn append(&self) -> Tried {
        self.ok(&self.begin(0, 0))?;
        let (table, key) = self.names("list");
        let append = |element| Operation::Append { table: table.clone(), key: key.clone(), element };
        match self.ask(&Request::Operation { session: 0, operation: &append(1) })? {
            Answer::Unsupported(_) => {
                self.ok(&Request::Abort { session: 0 })?;
                return Ok(Remark::Unsupported("the workload append needs it".to_owned()));
            }
            other => accepted("append", other)?,
        };
        self.operate(0, &append(2))?;
        let seen = self.get(0, "list")?;
        self.ok(&Request::Commit { session: 0 })?;
        let elements = crate::list_of(seen.as_ref()).map_err(|it| it.to_string())?;
        if elements == [1, 2] {
            good("1 and then 2 make the list [1, 2]")
        } else {
            Err(format!("1 and then 2 make the list {elements:?}"))
        }
    }

    fn scan(&self) -> Tried {
        self.ok(&self.begin(0, 0))?;
        // In a table of its own: others have what was tried before.
        let table = format!("{}_scan", self.table);
        for (row, number) in [("a", 1), ("b", 2)] {
            let (table, key) = (table.clone(), format!("{table}/{row}"));
            self.operate(0, &Operation::Put { table, key, value: Value::Int(number) })?;
        }
        let scan = Operation::Scan { table: table.clone(), predicate: Predicate::All };
        let json = match self.ask(&Request::Operation { session: 0, operation: &scan })? {
            Answer::Unsupported(_) => {
                self.ok(&Request::Abort { session: 0 })?;
                return Ok(Remark::Unsupported("the workloads ranges and unique need it".to_owned()));
            }
            other => accepted("scan", other)?,
        };
        self.ok(&Request::Commit { session: 0 })?;
        let mut rows = rows_of(&table, &json)?;
        rows.sort_by(|one, other| one.0.cmp(&other.0));
        if rows == [("a".to_owned(), Value::Int(1)), ("b".to_owned(), Value::Int(2))] {
            good("the rows of a table, and of no other one")
        } else {
            Err(format!("a table with a = 1 and b = 2 is answered as {json}"))
        }
    }

    /// Both are open at the same time, and read; or the second one begins when the first one has ended.
    fn at_once(&self) -> Tried {
        self.ok(&self.begin(0, 0))?;
        let (sender, receiver) = channel();
        thread::scope(|scope| {
            scope.spawn(|| sender.send(self.process.ask(&self.begin(1, 0))).ok());
            let begun = receiver.recv_timeout(SOON);
            let is_at_once = begun.is_ok();
            if is_at_once {
                self.get(0, "nobody")?;
                self.get(1, "nobody")?;
            }
            self.ok(&Request::Commit { session: 0 })?;
            let begun = begun.or_else(|_| receiver.recv()).map_err(|_| "nobody answers `begin`".to_owned())?;
            accepted("begin", begun.map_err(|it| it.to_string())?)?;
            self.ok(&Request::Commit { session: 1 })?;
            good(if is_at_once {
                "two sessions have transactions open"
            } else {
                "a transaction begins when no other one is open"
            })
        })
    }

    /// The second writer of a key may wait for the first one, whose commit must be heard meanwhile.
    fn waiting(&self) -> Tried {
        self.ok(&self.begin(0, 0))?;
        self.operate(0, &self.put("hot", 1))?;
        let (sender, receiver) = channel();
        let put = self.put("hot", 2);
        thread::scope(|scope| {
            scope.spawn(|| {
                let begun = self.process.ask(&self.begin(1, 0));
                let second = match begun {
                    Ok(Answer::Ok(_)) => self.process.ask(&Request::Operation { session: 1, operation: &put }),
                    other => other,
                };
                sender.send(second).ok();
            });
            let early = receiver.recv_timeout(SOON);
            let committed = self.ask(&Request::Commit { session: 0 });
            let late = early.map_or_else(|_| receiver.recv(), Ok);
            let is_done = |answer: &Answer| matches!(answer, Answer::Ok(_) | Answer::Conflict(_));
            let committed = committed.map_err(|why| {
                format!(
                    "while the put of another session waits, a commit is not heard; answer requests of different \
                     sessions at once: {why}"
                )
            })?;
            if !is_done(&committed) {
                return Err(format!("the commit of the first of two writers is answered with {committed:?}"));
            }
            let second = late.map_err(|_| "nobody answers the second writer".to_owned())?;
            let second = second.map_err(|it| it.to_string())?;
            if !is_done(&second) {
                return Err(format!("the second writer of a key is answered with {second:?}"));
            }
            if matches!(second, Answer::Ok(_)) {
                let ended = self.ask(&Request::Commit { session: 1 })?;
                if !is_done(&ended) {
                    return Err(format!("the commit of the second of two writers is answered with {ended:?}"));
                }
            }
            good("of two writers of a key, both hear how it ends")
        })
    }

    fn whole(&self) -> Tried {
        let (table, key) = self.names("x");
        let get = Operation::Get { table, key };
        let ops = [get.clone(), self.put("x", 5), get];
        let whole = Request::Whole { session: 0, level: &self.hello.levels[0], operations: &ops };
        match self.ok(&whole)? {
            Json::Array(answers) if answers.len() == 3 => {
                expected("before the put", value_of(&answers[0])?.as_ref(), None)?;
                expected("after the put of 5", value_of(&answers[2])?.as_ref(), Some(5))
            }
            other => Err(format!("get, put, get are answered with {other}, which is no list of three answers")),
        }
    }

    fn note(&mut self, what: &str, try_it: impl FnOnce(&Self) -> Tried) -> Result<(), Over> {
        match try_it(self) {
            Ok(remark) => self.remark(what, remark),
            Err(why) => {
                self.remark(what, Remark::Wrong(why));
                // A transaction may be open; where none is, that is no matter here.
                for session in [0, 1] {
                    self.process.ask(&Request::Abort { session }).map_err(|_| Over)?;
                }
            }
        }
        Ok(())
    }

    fn remark(&mut self, what: &str, remark: Remark) {
        self.conformance.remarks.push((what.to_owned(), remark));
    }

    fn begin(&self, session: u64, nth_level: usize) -> Request<'_> {
        Request::Begin { session, level: &self.hello.levels[nth_level], reading: Reading::AndWriting }
    }

    fn names(&self, row: &str) -> (String, String) {
        (self.table.clone(), format!("{}/{row}", self.table))
    }

    fn put(&self, row: &str, number: i64) -> Operation {
        let (table, key) = self.names(row);
        Operation::Put { table, key, value: Value::Int(number) }
    }

    fn ask(&self, request: &Request<'_>) -> Result<Answer, String> {
        self.process.ask(request).map_err(|it| it.to_string())
    }

    fn ok(&self, request: &Request<'_>) -> Result<Json, String> {
        accepted(request.name(), self.ask(request)?)
    }

    fn operate(&self, session: u64, operation: &Operation) -> Result<Json, String> {
        self.ok(&Request::Operation { session, operation })
    }

    fn get(&self, session: u64, row: &str) -> Result<Option<Value>, String> {
        let (table, key) = self.names(row);
        value_of(&self.operate(session, &Operation::Get { table, key })?)
    }
}

#[allow(clippy::unnecessary_wraps, reason = "it is the good end of what may end badly")]
fn good(words: &str) -> Tried {
    Ok(Remark::Good(words.to_owned()))
}

fn accepted(asked: &str, answer: Answer) -> Result<Json, String> {
    match answer {
        Answer::Ok(json) => Ok(json),
        other => Err(format!("`{asked}` is answered with {other:?}, not with \"ok\"")),
    }
}

fn expected(what: &str, found: Option<&Value>, wanted: Option<i64>) -> Tried {
    let shown = |value: Option<&Value>| value.map_or("null".to_owned(), ToString::to_string);
    let wanted = wanted.map(Value::Int);
    if found == wanted.as_ref() {
        return good(&format!("{what} is {}", shown(found)));
    }
    Err(format!("{what} is {}, and should be {}", shown(found), shown(wanted.as_ref())))
}

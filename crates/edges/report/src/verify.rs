//! The document of `verify`: does a program keep its promises, and if not, one run in which it does not.

use crate::document::{Excerpt, LevelName, Outcome};
use crate::search::Effort;
use crate::verify_phrases::faults;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;

/// What `verify` found out about one program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerifyReport {
    /// The program's file.
    pub inputs: Vec<String>,
    /// The program, and which runs were looked at.
    pub program: ProgramScope,
    /// One answer a level, weaker levels first.
    pub levels: Vec<VerifiedLevel>,
    /// The short names of the levels that hold and of which no weaker one was found to hold, if that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weakest: Option<Vec<String>>,
    /// What is known of any number of its transactions, if that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub any_number: Option<AnyNumberReport>,
    /// What a real database did with it, if one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerRuns>,
    /// Where levels of databases are to be had, if those of papers were decided because nobody chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What would repair it, for each level that was asked about.
    pub repairs: Vec<RepairReport>,
    /// What of the answer has no certificate by nature, as a clause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_certified: Option<String>,
    /// What "holds" is about, where that is less than every run of the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers: Option<String>,
    /// What it took.
    #[serde(flatten)]
    pub effort: Effort,
}

/// What is known of any number of transactions of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnyNumberReport {
    /// The rows that there are: `accounts["x"]`.
    pub rows: Vec<String>,
    /// By level: is every run as a serial one?
    pub robust: BTreeMap<String, bool>,
    /// Does the initial state satisfy what is claimed, and does each transaction keep it?
    pub steps: Vec<StepReport>,
    /// How many transactions were tried together where a violation was searched for.
    pub tried: u64,
}

/// Is what is claimed kept?
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepReport {
    /// The transaction, from any state in which the claims hold; none for the initial state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<String>,
    /// The answer.
    pub verdict: StepVerdict,
    /// Did the kernel go through all cases?
    pub certified: bool,
    /// A case in which it is not kept; its state need not be one that is ever reached.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "some_with_history")]
    pub counterexample: Option<Box<BadRun>>,
}

/// Is what is claimed kept?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepVerdict {
    /// Always.
    Keeps,
    /// Not always.
    Breaks,
    /// There is no state from which it could be tried.
    Nowhere,
    /// Nobody knows.
    Unknown,
}

/// A program that ran as SQL on a real database, in many interleavings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerRuns {
    /// What it ran on: `PostgreSQL 15.8 at localhost:5432/test`.
    pub database: String,
    /// The isolation level, in the database's words.
    pub isolation: String,
    /// Chose the interleavings.
    pub seed: u64,
    /// How many interleavings ran.
    pub interleavings: u64,
    /// In how many something was wrong.
    pub broken: u64,
    /// How often the database aborted a transaction, which then started again.
    pub aborts: u64,
    /// The first in which something was wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<ServerRun>,
}

/// An interleaving on a real database in which something was wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerRun {
    /// What was wrong, as clauses.
    pub wrong: Vec<String>,
    /// The open values.
    pub open_values: Vec<(String, String)>,
    /// What was done, in the order in which it was answered.
    pub steps: Vec<ServerStep>,
    /// The last state.
    pub last_state: Vec<(String, String)>,
}

/// A statement on a real database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerStep {
    /// The name of the transaction in the program: `withdraw#1`.
    pub transaction: String,
    /// What it did, and what it found.
    pub words: String,
    /// Did it wait for a lock?
    pub waited: bool,
}

impl ServerRuns {
    /// What came of it, in one sentence.
    pub(crate) fn headline(&self) -> String {
        let Self { database, isolation, interleavings, broken, seed, .. } = self;
        let found = match broken {
            0 => "nothing was wrong in any".to_owned(),
            1 => "in 1 something was wrong".to_owned(),
            n => format!("in {n} something was wrong"),
        };
        format!("{database} at {isolation}: {interleavings} interleavings (seed {seed}), {found}.")
    }
}

/// A program, and which of its runs were looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramScope {
    /// Its text.
    pub text: String,
    /// The transactions that run: `withdraw("x", 100)`.
    pub transactions: Vec<String>,
    /// How many sessions they run in.
    pub sessions: u64,
    /// How many bits an integer has, with its sign.
    pub int_bits: u64,
    /// The values that it leaves open: `withdraw#1.amount`.
    pub open_values: Vec<String>,
}

/// The answer for one level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifiedLevel {
    /// The level.
    #[serde(flatten)]
    pub level: LevelName,
    /// The answer.
    #[serde(flatten)]
    pub verdict: VerifyVerdict,
}

/// Does the program keep its promises under a level?
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
pub enum VerifyVerdict {
    /// In all runs.
    Holds,
    /// Not in all.
    Violated {
        /// One in which something is wrong.
        #[serde(serialize_with = "with_history")]
        counterexample: Box<BadRun>,
    },
    /// Nobody knows.
    Unknown {
        /// What ran out.
        reason: String,
    },
}

/// Scripts find the history where they look for the run.
pub(crate) fn with_history<S: Serializer>(run: &BadRun, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Members<'r> {
        history: &'r str,
        #[serde(flatten)]
        run: &'r BadRun,
    }
    Members { history: &run.excerpt.history, run }.serialize(serializer)
}

#[allow(clippy::ref_option, reason = "serde hands over the member as it is")]
pub(crate) fn some_with_history<S: Serializer>(run: &Option<Box<BadRun>>, serializer: S) -> Result<S::Ok, S::Error> {
    match run {
        Some(run) => with_history(run, serializer),
        None => serializer.serialize_none(),
    }
}

/// A run that a level allows and in which something is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadRun {
    /// The names of the transactions that it runs, if these are not those of the program's `run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<Vec<String>>,
    /// What was added to the transactions of the program to run it: `init` and `run`. Nothing if the program has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// What is wrong; at least one thing, where a program is verified.
    pub wrong: Vec<Fault>,
    /// The open values, as they were in this run.
    pub open_values: Vec<(String, String)>,
    /// The state before everything.
    #[serde(rename = "initial_state")]
    pub initial: Vec<(String, String)>,
    /// The transactions, in the order that decides between their writes.
    pub transactions: Vec<Executed>,
    /// What an observer saw, if one saw something wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observer: Option<Vec<Access>>,
    /// The last state.
    pub last_state: Vec<(String, String)>,
    /// The run as a whole history, with the cycle that makes it not serializable, if one does.
    #[serde(rename = "evidence")]
    pub excerpt: Excerpt,
    /// What the field calls it, the most telling name first; nothing if it is serializable.
    pub anomalies: Vec<String>,
    /// The short names of the levels that forbid the history.
    pub forbidden_by: Vec<String>,
}

/// Something that is wrong in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// As a clause: `invariant "no debts" is false`.
    pub words: String,
    /// Where in the program.
    #[serde(flatten)]
    pub place: CodePlace,
}

/// A place in a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodePlace {
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// What stands there.
    pub text: String,
}

/// A transaction of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    /// Its name in the program: `withdraw#1`.
    pub name: String,
    /// As it was called: `withdraw("x", 100)`.
    pub call: String,
    /// Its name in the history: `s1.1`.
    pub id: String,
    /// What became of it.
    pub outcome: Outcome,
    /// The names of those that it sees; nothing if each of its reads has its own source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sees: Option<Vec<String>>,
    /// What it read from outside, in order.
    pub reads: Vec<Access>,
    /// What it wrote.
    pub writes: Vec<Written>,
}

/// What a transaction leaves behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// What was written: `accounts["x"]`.
    pub unit: String,
    /// What it holds now: `{ balance: 60 }`.
    pub value: String,
    /// The line of the program that writes last, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// A read from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// What was read: `accounts["x"]`.
    pub unit: String,
    /// What it held: `{ balance: 60 }`.
    pub value: String,
    /// The name of who wrote that; none for the initial state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The line of the program that reads, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// What would make a program keep its promises under a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairReport {
    /// The level.
    #[serde(flatten)]
    pub level: LevelName,
    /// Each is enough by itself; nothing if no small change is.
    pub changes: Vec<Change>,
    /// Why they were not all tried, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}

/// A change to a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Lock what these places read: `for update`.
    Lock(Vec<CodePlace>),
    /// Run these transactions as under serializability.
    Raise(Vec<String>),
    /// Let these statements compute from the row itself: one UPDATE.
    Update(Vec<CodePlace>),
    /// Run everything at this level of the database.
    Stronger(LevelName),
}

impl VerifyVerdict {
    /// The word in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Violated { .. } => "violated",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// The run in which something is wrong.
    pub fn bad_run(&self) -> Option<&BadRun> {
        match self {
            Self::Violated { counterexample } => Some(counterexample),
            Self::Holds | Self::Unknown { .. } => None,
        }
    }
}

/// Levels with the same verdict, and the same thing to say about it.
pub(crate) struct Alike<'r> {
    pub(crate) levels: Vec<&'r VerifiedLevel>,
    /// What is wrong, or what ran out; may be empty.
    pub(crate) note: String,
}

impl VerifyReport {
    /// The levels by what is said about them, so that it is said once.
    pub(crate) fn alike(&self) -> Vec<Alike<'_>> {
        let mut groups: Vec<Alike<'_>> = Vec::new();
        for level in &self.levels {
            let note = match &level.verdict {
                VerifyVerdict::Holds => String::new(),
                VerifyVerdict::Violated { counterexample } => faults(counterexample),
                VerifyVerdict::Unknown { reason } => reason.clone(),
            };
            let is_alike = |it: &&mut Alike<'_>| {
                it.note == note && it.levels.iter().all(|it| it.verdict.word() == level.verdict.word())
            };
            match groups.iter_mut().find(is_alike) {
                Some(group) => group.levels.push(level),
                None => groups.push(Alike { levels: vec![level], note }),
            }
        }
        groups
    }

    /// The runs that renderings show: of all levels the strongest violated one's, or each if only some were asked.
    ///
    /// What a stronger level allows a weaker one allows, too, so the others say less.
    pub(crate) fn shown(&self) -> Vec<(&LevelName, &BadRun)> {
        let all = self.levels.iter().filter_map(|it| Some((&it.level, it.verdict.bad_run()?)));
        let all: Vec<(&LevelName, &BadRun)> = all.collect();
        let n_skipped = if self.weakest.is_some() { all.len().saturating_sub(1) } else { 0 };
        all[n_skipped..].to_vec()
    }

    /// The lines of the program where something is wrong in a shown run.
    pub(crate) fn faulty_lines(&self) -> Vec<u64> {
        self.shown().into_iter().flat_map(|it| it.1.faulty_lines()).collect()
    }
}

impl BadRun {
    /// The lines of the program where something is wrong.
    pub(crate) fn faulty_lines(&self) -> Vec<u64> {
        let lines = |it: &Fault| {
            let n_more = it.place.text.matches('\n').count() as u64;
            it.place.line..=it.place.line.saturating_add(n_more)
        };
        self.wrong.iter().flat_map(lines).collect()
    }
}

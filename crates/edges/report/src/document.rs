//! The document: everything that a report says, as data. The JSON is this tree, member by member.
//!
//! Transactions are referred to by their names, which are unique in a history. Only renderings make words of what
//! stands here, but for sentences that need the whole history: why a dependency is there.

use crate::derivation::SavedDerivation;
use crate::durability::DurabilityReport;
use crate::execution::ExecutionRelation;
use crate::grounds::SavedGrounds;
use crate::over_time::OverTime;
use crate::promise::PromiseReport;
use crate::surroundings::Surroundings;
use crate::value::{InitialValue, Operation, Value};
use iso_spec::Level;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// What `check` found out about one history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckReport {
    /// The files that were read.
    pub inputs: Vec<String>,
    /// What was wrong with them.
    pub defects: Vec<Defect>,
    /// How long everything took.
    pub seconds: f64,
    /// The most memory that was in use at once, if the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// The size of the history; none if the input could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Counts>,
    /// What the database promised whose history this is, if the input says which it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise: Option<Box<PromiseReport>>,
    /// Whether acknowledged writes are there at the end, if the input says which sessions read then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durability: Option<Box<DurabilityReport>>,
    /// One answer a level, in the order in which they were asked.
    pub levels: Vec<LevelReport>,
    /// The history itself, if a level holds and it is small enough to be shown beside its schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Box<Excerpt>>,
    /// What stands around the evidence, if the history has more than the report shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surroundings: Option<Box<Surroundings>>,
    /// How the check went, if the history was checked while it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_time: Option<Box<OverTime>>,
}

/// Something wrong with the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Defect {
    /// How bad it is.
    pub severity: Severity,
    /// Where, as far as that is known.
    #[serde(flatten)]
    pub place: Place,
    /// What was expected and what was found.
    pub message: String,
}

/// How bad a defect is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The history cannot be used.
    Error,
    /// The history can be used, and somebody should look.
    Warning,
}

impl Severity {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// A place in the input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The file, if it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from 1, if the file has lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The byte, from 0, if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte: Option<u64>,
    /// The number of the transaction, where the input numbers them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub txn: Option<u64>,
}

/// The size of a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Sessions.
    pub sessions: u64,
    /// Transactions, without the initial one.
    pub transactions: u64,
    /// Those that committed.
    pub committed: u64,
    /// Those that were rolled back.
    pub aborted: u64,
    /// Those whose client was never told.
    pub unknown: u64,
    /// Operations of all transactions.
    pub operations: u64,
    /// Keys.
    pub keys: u64,
}

/// The names of a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelName {
    /// As on the command line: `ser`.
    #[serde(rename = "level")]
    pub short: String,
    /// In full: `serializable`.
    #[serde(rename = "name")]
    pub full: String,
}

impl From<Level> for LevelName {
    fn from(level: Level) -> Self {
        Self { short: level.short_name().to_owned(), full: level.full_name().to_owned() }
    }
}

impl LevelName {
    /// Is it a level of databases, which looks at statements?
    pub(crate) fn is_of_databases(&self) -> bool {
        Level::from_name(&self.short).is_some_and(Level::is_of_databases)
    }

    /// Does a witness of the level run transactions one after the other?
    pub(crate) fn is_serial(&self) -> bool {
        Level::from_name(&self.short).is_some_and(|it| it.implies(Level::Serializable))
    }
}

/// The answer for one level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelReport {
    /// The level.
    #[serde(flatten)]
    pub level: LevelName,
    /// The answer.
    #[serde(flatten, serialize_with = "with_anomalies")]
    pub judgement: Judgement,
    /// Was the evidence checked?
    #[serde(flatten, with = "certificate")]
    pub certified: Certified,
}

/// Did evidence pass an independent check? None if nobody looked, an error if it did not.
pub type Certified = Option<Result<(), String>>;

/// A certificate in JSON: `"certified": true`, or `false` and why.
pub(crate) mod certificate {
    use super::Certified;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Members {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        certified: Option<bool>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uncertified: Option<String>,
    }

    pub(crate) fn serialize<S: Serializer>(of: &Certified, serializer: S) -> Result<S::Ok, S::Error> {
        let uncertified = of.as_ref().and_then(|it| it.as_ref().err()).cloned();
        Members { certified: of.as_ref().map(Result::is_ok), uncertified }.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Certified, D::Error> {
        let Members { certified, uncertified } = Members::deserialize(deserializer)?;
        Ok(certified.map(|it| if it { Ok(()) } else { Err(uncertified.unwrap_or_default()) }))
    }
}

/// An answer with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
pub enum Judgement {
    /// The level allows the history.
    Holds {
        /// How it may have happened.
        evidence: Evidence,
    },
    /// The level forbids the history.
    Violated {
        /// What the field calls it, the most telling name first.
        anomalies: Vec<String>,
        /// The core: a part of the history that is forbidden by itself.
        #[serde(rename = "evidence")]
        core: Box<Excerpt>,
    },
    /// Nobody knows.
    Unknown {
        /// What ran out, or what is not supported.
        reason: String,
    },
}

/// Scripts need not ask for the verdict before they look for anomalies.
fn with_anomalies<S: Serializer>(judgement: &Judgement, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Members<'j> {
        #[serde(flatten)]
        judgement: &'j Judgement,
        #[serde(skip_serializing_if = "Option::is_none")]
        anomalies: Option<[(); 0]>,
    }
    let is_violated = matches!(judgement, Judgement::Violated { .. });
    Members { judgement, anomalies: (!is_violated).then_some([]) }.serialize(serializer)
}

/// How an allowed history may have happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// When each transaction took place.
    #[serde(flatten)]
    pub schedule: Schedule,
    /// For each read of a small history, whose write it saw, unless it is its own transaction's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<ReadSource>,
}

impl Evidence {
    /// The same with no more than so many entries of a schedule.
    #[must_use]
    pub fn beginning(&self, at_most: usize) -> Self {
        let schedule = match &self.schedule {
            Schedule::Order { order, omitted } => Schedule::Order {
                order: order.iter().take(at_most).cloned().collect(),
                omitted: omitted + order.len().saturating_sub(at_most),
            },
            Schedule::Events { events, omitted } => Schedule::Events {
                events: events.iter().take(at_most).cloned().collect(),
                omitted: omitted + events.len().saturating_sub(at_most),
            },
            Schedule::Relations { relations } => {
                let cut =
                    |it: &ExecutionRelation| ExecutionRelation { members: it.members.beginning(at_most), ..it.clone() };
                Schedule::Relations { relations: relations.iter().map(cut).collect() }
            }
        };
        Self { schedule, sources: self.sources.clone() }
    }
}

/// An order that explains a history. Transactions are named as in `s1.2`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Schedule {
    /// Transactions in commit order.
    Order {
        /// The first ones.
        order: Vec<String>,
        /// How many more there are.
        #[serde(rename = "order_omitted", default, skip_serializing_if = "is_zero")]
        omitted: usize,
    },
    /// Snapshots and commits in one order.
    Events {
        /// The first ones.
        events: Vec<(EventKind, String)>,
        /// How many more there are.
        #[serde(rename = "events_omitted", default, skip_serializing_if = "is_zero")]
        omitted: usize,
    },
    /// The witness relations of a level that a user wrote.
    Relations {
        /// Each with its name.
        relations: Vec<ExecutionRelation>,
    },
}

/// Whose write a read saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadSource {
    /// The transaction that reads.
    pub transaction: String,
    /// The place of the read among its operations, from 0.
    pub op: usize,
    /// Who wrote what it saw.
    pub writer: TxnRef,
}

/// A transaction by its name in the history, or the initial state, which is `init` in JSON.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum TxnRef {
    /// The initial state.
    Initial,
    /// A transaction.
    Txn(String),
}

/// What the initial state is called among transactions, whose names all have a dot.
const INITIAL: &str = "init";

impl From<String> for TxnRef {
    fn from(name: String) -> Self {
        if name == INITIAL { Self::Initial } else { Self::Txn(name) }
    }
}

impl From<TxnRef> for String {
    fn from(of: TxnRef) -> Self {
        of.to_string()
    }
}

impl fmt::Display for TxnRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl TxnRef {
    /// The name in JSON.
    pub fn name(&self) -> &str {
        match self {
            Self::Initial => INITIAL,
            Self::Txn(name) => name,
        }
    }

    /// Is it that transaction?
    pub fn is(&self, id: &str) -> bool {
        matches!(self, Self::Txn(name) if name == id)
    }
}

/// An event of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// It takes its snapshot: all of its reads happen.
    Snapshot,
    /// It commits: all of its writes happen.
    Commit,
}

/// Some transactions of a history with some of their operations, and what is wrong with them, if something is.
///
/// The core of a violated level is one that is forbidden by itself; a small history may be shown as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excerpt {
    /// One sentence about what went wrong.
    pub summary: String,
    /// The excerpt in our notation, ready to be checked again.
    pub history: String,
    /// Its keys with their initial values.
    pub initial: Vec<InitialValue>,
    /// Its transactions, in the order of the input.
    pub transactions: Vec<Transaction>,
    /// A cycle of dependencies, or nothing if `local` says it all or no single cycle does.
    pub cycle: Vec<Link>,
    /// If no single cycle says it, a case split: what may be the case, each with why it cannot be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<Case>,
    /// The read that nothing explains, if one is enough.
    #[serde(rename = "local_read", default, skip_serializing_if = "Option::is_none")]
    pub local: Option<LocalRead>,
    /// Why it is forbidden, for `certify` to replay, if it is too large to be decided by the text of the level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derivation: Option<Box<SavedDerivation>>,
    /// The same where that is told case by case: for each meaning of a list, or each outcome of a transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grounds: Option<Box<SavedGrounds>>,
}

/// A transaction of an [`Excerpt`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transaction {
    /// Its name in the whole history, as in `s1.2`.
    pub id: String,
    /// The session's name.
    pub session: String,
    /// Its place in the session, from 1.
    pub nth: usize,
    /// What became of it.
    pub outcome: Outcome,
    /// Where it stands in the input, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// When it began and ended, if times matter here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<(Option<i64>, Option<i64>)>,
    /// Its operations in the excerpt.
    pub ops: Vec<Operation>,
    /// What the application said, where the recording has that, with the operations that came of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<SqlStatement>,
}

/// A statement of an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqlStatement {
    /// Its text.
    pub sql: String,
    /// The places of its operations among those of the transaction; those of a core may have no part in it.
    pub ops: Vec<usize>,
}

/// What became of a transaction, as far as its client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The client was told that it committed.
    Committed,
    /// The client was told that it did not.
    Aborted,
    /// The client was never told.
    #[serde(rename = "unknown")]
    Indeterminate,
}

/// A dependency between two transactions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The transaction that comes first.
    pub from: TxnRef,
    /// The transaction that comes after it.
    pub to: TxnRef,
    /// What it is.
    pub kind: LinkKind,
    /// The key that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Value>,
    /// Why, as a sentence.
    pub because: String,
    /// The transaction whose read shows the order of two versions, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_by: Option<String>,
    /// What it follows from, if that is not plain from the history.
    #[serde(default, skip_serializing_if = "Premises::is_empty")]
    pub premises: Premises,
}

/// The kinds of dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LinkKind {
    /// Earlier in the same session.
    #[serde(rename = "so")]
    SessionOrder,
    /// Ended before the other one began.
    #[serde(rename = "rt")]
    RealTime,
    /// Wrote what the other one read.
    #[serde(rename = "wr")]
    ReadFrom,
    /// Wrote an older version of the same key.
    #[serde(rename = "ww")]
    VersionOrder,
    /// Read what the other one overwrote.
    #[serde(rename = "rw")]
    AntiDependency,
}

impl LinkKind {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::SessionOrder => "so",
            Self::RealTime => "rt",
            Self::ReadFrom => "wr",
            Self::VersionOrder => "ww",
            Self::AntiDependency => "rw",
        }
    }
}

/// What a dependency follows from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Premises {
    /// What the links show, as a sentence; nothing if a single link says it itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Dependencies, one after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Other writers from which a read may have read, each with why it did not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<Case>,
}

/// Something that may be the case, and cannot be: the links lead in a cycle, or each of the cases is impossible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// What is supposed: a version order, or from whom a read has read.
    pub supposed: Box<Link>,
    /// What follows: a cycle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// What may be the case then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<Self>,
}

/// For members that say nothing if they are zero.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes members by reference")]
pub(crate) fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Premises {
    /// Is there nothing to say?
    pub fn is_empty(&self) -> bool {
        self.links.is_empty() && self.cases.is_empty()
    }
}

impl Excerpt {
    /// Is it the same excerpt with the same cycle, whatever the cycle follows from?
    pub fn says_the_same(&self, other: &Self) -> bool {
        let bare = |link: &Link| Link { premises: Premises::default(), ..link.clone() };
        self.cycle.iter().map(bare).eq(other.cycle.iter().map(bare))
            && (&self.history, &self.transactions, &self.summary, &self.local)
                == (&other.history, &other.transactions, &other.summary, &other.local)
    }
}

/// A read that no execution explains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalRead {
    /// What is wrong with it, as a sentence.
    pub because: String,
    /// The transaction that read.
    pub transaction: String,
    /// The place of the read among the transaction's operations in the excerpt, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<usize>,
    /// Dependencies that make it visible: from where the value came.
    pub links: Vec<Link>,
}

impl Place {
    /// Is nothing known?
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// `line 12`, `byte 40`, `txn 7`, or nothing.
    pub fn position(&self) -> Option<String> {
        let words = |word: &str, number: Option<u64>| number.map(|it| format!("{word} {it}"));
        words("line", self.line).or_else(|| words("byte", self.byte)).or_else(|| words("txn", self.txn))
    }
}

impl Outcome {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Committed => "committed",
            Self::Aborted => "aborted",
            Self::Indeterminate => "unknown",
        }
    }

    /// The mark behind a transaction in our notation, if it needs one.
    pub fn mark(self) -> Option<&'static str> {
        match self {
            Self::Committed => None,
            Self::Aborted => Some("abort"),
            Self::Indeterminate => Some("unknown"),
        }
    }
}

impl Judgement {
    /// What the field calls what is wrong; nothing unless the level is violated.
    pub fn anomalies(&self) -> &[String] {
        if let Self::Violated { anomalies, .. } = self { anomalies } else { &[] }
    }

    /// The word in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Holds { .. } => "holds",
            Self::Violated { .. } => "violated",
            Self::Unknown { .. } => "unknown",
        }
    }
}

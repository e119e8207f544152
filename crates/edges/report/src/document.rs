//! The document: everything that a report says, in plain structs with names instead of ids.

use crate::surroundings::Surroundings;
use iso_spec::Level;

/// What `check` found out about one history. Version 1 of the JSON is this tree, member by member.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckReport {
    /// The files that were read.
    pub inputs: Vec<String>,
    /// What was wrong with them.
    pub defects: Vec<Defect>,
    /// How long everything took.
    pub seconds: f64,
    /// The most memory that was in use at once, if the system tells.
    pub peak_bytes: Option<u64>,
    /// The size of the history; none if the input could not be read.
    pub history: Option<Counts>,
    /// One answer a level, in the order in which they were asked.
    pub levels: Vec<LevelReport>,
    /// The history itself, if a level holds and it is small enough to be shown beside its schedule.
    pub whole: Option<Box<Part>>,
    /// What stands around the evidence, if the history has more than the report shows.
    pub surroundings: Option<Box<Surroundings>>,
}

/// Something wrong with the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// Does it make the history unusable? Otherwise it is a warning.
    pub is_error: bool,
    /// Where, as far as that is known.
    pub place: Place,
    /// What was expected and what was found.
    pub message: String,
}

/// A place in the input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, if it has a name.
    pub file: Option<String>,
    /// The line, from 1, if the file has lines.
    pub line: Option<u64>,
    /// The byte, from 0, if it has none.
    pub byte: Option<u64>,
}

/// The size of a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelName {
    /// As on the command line: `ser`.
    pub short: String,
    /// In full: `serializable`.
    pub full: String,
}

impl From<Level> for LevelName {
    fn from(level: Level) -> Self {
        Self { short: level.short_name().to_owned(), full: level.full_name().to_owned() }
    }
}

/// The answer for one level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelReport {
    /// The level.
    pub level: LevelName,
    /// The answer.
    pub judgement: Judgement,
    /// Did the evidence pass an independent check? None if nobody looked, an error if it did not.
    pub certified: Option<Result<(), String>>,
}

/// An answer with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The level allows the history.
    Holds(Evidence),
    /// The level forbids the history.
    Violated {
        /// What the field calls it, the most telling name first.
        anomalies: Vec<String>,
        /// The part of the history that is forbidden by itself.
        part: Box<Part>,
    },
    /// Nobody knows.
    Unknown {
        /// What ran out, or what is not supported.
        reason: String,
    },
}

/// How an allowed history may have happened. Transactions are named as in `s1.2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Transactions in commit order.
    Order {
        /// The first ones.
        order: Vec<String>,
        /// How many more there are.
        omitted: usize,
    },
    /// Snapshots and commits in one order.
    Events {
        /// The first ones.
        events: Vec<(Moment, String)>,
        /// How many more there are.
        omitted: usize,
    },
    /// The witness relations of a level that a user wrote, by name.
    Relations(Vec<(String, Vec<(String, String)>)>),
}

/// What happens to a transaction at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// It takes its snapshot: all of its reads happen.
    Snapshot,
    /// It commits: all of its writes happen.
    Commit,
}

/// A part of a history that cannot have happened, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The part in our notation, ready to be checked again.
    pub history: String,
    /// Keys of the part with their initial values, in our notation; `[]` for a list.
    pub initial: Vec<(String, String)>,
    /// Its transactions, in the order of the input.
    pub transactions: Vec<Transaction>,
    /// A cycle of dependencies, or nothing if `local` says it all or no single cycle does.
    pub cycle: Vec<Link>,
    /// One sentence about what went wrong.
    pub summary: String,
    /// If no single cycle says it: what may be the case, each with why it cannot be.
    pub cases: Vec<Case>,
    /// The read that nothing explains, if one is enough.
    pub local: Option<LocalRead>,
}

/// A transaction of a [`Part`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Its name in the whole history, as in `s1.2`.
    pub id: String,
    /// The session's name.
    pub session: String,
    /// What became of it.
    pub outcome: Outcome,
    /// Where it stands in the input, if that is known.
    pub place: Option<Place>,
    /// When it began and ended, if times matter here.
    pub times: Option<(Option<i64>, Option<i64>)>,
    /// Its operations in the part, in our notation.
    pub ops: Vec<String>,
}

/// What became of a transaction, as far as its client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The client was told that it committed.
    Committed,
    /// The client was told that it did not.
    Aborted,
    /// The client was never told.
    Unknown,
}

/// A dependency between two transactions; `init` is the initial state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The transaction that comes first.
    pub from: String,
    /// The transaction that comes after it.
    pub to: String,
    /// `so`, `rt`, `wr`, `ww` or `rw`.
    pub kind: String,
    /// The key that it is about, in our notation.
    pub key: Option<String>,
    /// Why, as a sentence.
    pub because: String,
    /// The transaction whose read shows the order of two versions, if one does.
    pub shown_by: Option<String>,
    /// What it follows from, if that is not plain from the history.
    pub premises: Premises,
}

/// What a dependency follows from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Premises {
    /// What the links show, as a sentence; nothing if a single link says it itself.
    pub claim: Option<String>,
    /// Dependencies, one after the other.
    pub links: Vec<Link>,
    /// Other writers from which a read may have read, each with why it did not.
    pub cases: Vec<Case>,
}

/// Something that may be the case, and cannot be: the links lead in a cycle, or each of the cases is impossible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What is supposed: a version order, or from whom a read has read.
    pub supposed: Box<Link>,
    /// What follows: a cycle.
    pub links: Vec<Link>,
    /// What may be the case then.
    pub cases: Vec<Case>,
}

impl Premises {
    /// Is there nothing to say?
    pub fn is_empty(&self) -> bool {
        self.links.is_empty() && self.cases.is_empty()
    }
}

impl Part {
    /// Is it the same part with the same cycle, whatever the cycle follows from?
    pub fn says_the_same(&self, other: &Self) -> bool {
        let bare = |link: &Link| Link { premises: Premises::default(), ..link.clone() };
        let is_same_cycle = self.cycle.iter().map(bare).eq(other.cycle.iter().map(bare));
        let rest = |part: &Self| (part.history.clone(), part.transactions.clone(), part.summary.clone());
        is_same_cycle && rest(self) == rest(other) && self.local == other.local
    }
}

/// A read that no execution explains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalRead {
    /// What is wrong with it, as a sentence.
    pub because: String,
    /// The transaction that read.
    pub transaction: String,
    /// The place of the read among the transaction's operations in the part, from 0.
    pub op: Option<usize>,
    /// Dependencies that make it visible: from where the value came.
    pub links: Vec<Link>,
}

impl Place {
    /// Is nothing known?
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// `line 12`, `byte 40`, or nothing.
    pub fn position(&self) -> Option<String> {
        match (self.line, self.byte) {
            (Some(line), _) => Some(format!("line {line}")),
            (None, Some(byte)) => Some(format!("byte {byte}")),
            (None, None) => None,
        }
    }
}

impl Outcome {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Committed => "committed",
            Self::Aborted => "aborted",
            Self::Unknown => "unknown",
        }
    }

    /// The mark behind a transaction in our notation, if it needs one.
    pub fn mark(self) -> Option<&'static str> {
        match self {
            Self::Committed => None,
            Self::Aborted => Some("abort"),
            Self::Unknown => Some("unknown"),
        }
    }
}

impl Moment {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Commit => "commit",
        }
    }
}

impl Judgement {
    /// What the field calls what is wrong; nothing unless the level is violated.
    pub fn anomalies(&self) -> &[String] {
        match self {
            Self::Violated { anomalies, .. } => anomalies,
            Self::Holds(_) | Self::Unknown { .. } => &[],
        }
    }

    /// The word in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Holds(_) => "holds",
            Self::Violated { .. } => "violated",
            Self::Unknown { .. } => "unknown",
        }
    }
}

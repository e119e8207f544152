//! What reading takes and gives: options, the result, and the reasons why there is none.

use crate::{Format, RecordedDatabase, number};
use iso_history::{Datum, Defect, History, HistoryBuilder, Name, Severity};
use std::{fmt, io};
use thiserror::Error;

/// How to read.
#[derive(Clone, Copy, Default)]
pub struct ReadOptions<'a> {
    /// The format; recognised by content if not given.
    pub format: Option<Format>,
    /// How many bytes reading may take, about; [`DEFAULT_MEMORY_LIMIT`](crate::DEFAULT_MEMORY_LIMIT) if not given.
    pub memory_limit: Option<u64>,
    /// What identifies a version in Cobra logs; decided by looking if not given.
    pub cobra_identity: Option<CobraIdentity>,
    /// The initial value of every register, if the file does not say it; null, or what the format says, if not given.
    pub initial: Option<Name<'a>>,
    /// Is told about progress, and asked now and then whether to go on.
    pub watch: Option<&'a dyn Watch>,
}

impl fmt::Debug for ReadOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadOptions")
            .field("format", &self.format)
            .field("memory_limit", &self.memory_limit)
            .field("cobra_identity", &self.cobra_identity)
            .field("initial", &self.initial)
            .field("watch", &self.watch.is_some())
            .finish()
    }
}

/// Somebody who watches a long reading.
pub trait Watch {
    /// Should reading end now? It then ends with [`ReadError::Stopped`].
    fn should_stop(&self) -> bool {
        false
    }

    /// So many bytes of the file were read (before decompression); `of` is its size, if known.
    fn progress(&self, bytes: u64, of: Option<u64>) {
        let _ = (bytes, of);
    }
}

/// What identifies a version in Cobra logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CobraIdentity {
    /// The write's number and its value: the logs do not say who wrote, and duplicates are real.
    Values,
    /// The write's number, its transaction and its value.
    Writers,
}

impl CobraIdentity {
    /// Every identity.
    pub const ALL: [Self; 2] = [Self::Values, Self::Writers];

    /// The name that the command line uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Values => "values",
            Self::Writers => "writers",
        }
    }

    /// The identity of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// What was read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The history, unless a defect is an error.
    pub history: Option<History>,
    /// The format, given or recognised.
    pub format: Format,
    /// What is wrong or worth a look, in the order of the input.
    pub defects: Vec<Defect>,
    /// What the header of the file says about the history.
    pub header: Header,
}

impl Reading {
    /// The reading of an input without content, for those who allow it.
    pub fn of_nothing() -> Self {
        let history = HistoryBuilder::new().finish().ok();
        Self { history, format: Format::Text, defects: Vec::new(), header: Header::default() }
    }

    /// The history, or the defects that make it unusable.
    pub fn into_history(self) -> Result<History, Vec<Defect>> {
        self.history.ok_or(self.defects)
    }

    /// The defects that make the history unusable.
    pub fn errors(&self) -> impl Iterator<Item = &Defect> {
        self.defects.iter().filter(|it| it.severity == Severity::Error)
    }

    /// Why there is nothing to look at, if the history has no transactions.
    pub fn nothing_to_judge(&self, name: &str) -> Option<Defect> {
        let has_txns = self.history.as_ref().is_none_or(|it| it.n_txns() > 1);
        let expected = self.format.example();
        let message = format!("there are no transactions in it, so there is nothing to check; expected {expected}");
        let defect = Defect { severity: Severity::Error, source: name.to_owned(), at: None, message };
        (!has_txns).then_some(defect)
    }
}

/// A value as people write it on a command line: a number, `nil` or `null`, a JSON string, or a word.
pub fn value_of_word(word: &str) -> Datum {
    let word = word.trim();
    match word {
        "nil" | "null" | "-" => Datum::Null,
        _ => number::parse(word).unwrap_or_else(|| {
            let inner = word.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
            Datum::text(inner.unwrap_or_else(|| word.strip_prefix(':').unwrap_or(word)))
        }),
    }
}

/// What the header of a file says: comments of a text, members of the first JSON line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// What the history's author expects of it.
    pub expectations: Vec<Expectation>,
    /// Where the history comes from.
    pub source: Option<String>,
    /// The JSON object in which whoever recorded the history says how, so that it can be recorded again.
    pub origin: Option<String>,
    /// The database that it was recorded from.
    pub database: Option<RecordedDatabase>,
    /// Sessions that read when all others had ended: what was acknowledged must be there.
    pub final_sessions: Vec<String>,
    /// How many sessions it lists, if it does: the first line of any other one comes soon after its transaction began.
    pub n_sessions: Option<usize>,
    /// By session, the node that it was on, where there were several.
    pub nodes: Vec<(String, String)>,
    /// What was done to nodes meanwhile, in the order of the file.
    pub faults: Vec<RecordedFault>,
}

/// Something that was done to nodes of a database while a history was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedFault {
    /// What: `kill`.
    pub fault: String,
    /// To which node; none for all of them.
    pub node: Option<String>,
    /// When, in the unit of the history's times.
    pub at: Option<i64>,
}

/// One level that is expected to hold or not to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The level's name, as written.
    pub level: String,
    /// Is the history expected to satisfy it?
    pub holds: bool,
    /// The anomaly that is expected to show.
    pub anomaly: Option<String>,
}

/// Why nothing was read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file is missing, or may not be opened.
    #[error("cannot open {}: {source}", plain(path))]
    Open {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// The system failed while the file was read.
    #[error("cannot read {}: {source}", plain(name))]
    Io {
        /// The file or stream.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// A directory that is neither a Cobra history nor a data set.
    #[error(
        "{} is a directory, and only Cobra histories and Parquet data sets are: directories with *.log or *.parquet files; \
         name a file",
        plain(path)
    )]
    Directory {
        /// The directory.
        path: String,
    },
    /// There is nothing in the file.
    #[error("{} is empty", plain(name))]
    Empty {
        /// The file or stream.
        name: String,
    },
    /// It is an answer of ours, and no history.
    #[error(
        "{0} is a saved answer of isoscope, not a history: `isoscope report {0}` shows it again; to check a history, name \
         the file that has it",
        plain(name)
    )]
    SavedAnswer {
        /// The file or stream.
        name: String,
    },
    /// No format fits.
    #[error(
        "the format of {} is not recognised: it begins with {found}, which fits none of {tried}; name the format with --from",
        plain(name)
    )]
    NotRecognised {
        /// The file or stream.
        name: String,
        /// Its first bytes, escaped.
        found: String,
        /// The names of the formats that were tried.
        tried: String,
    },
    /// It is a Parquet file, and this build cannot read any.
    #[error(
        "{} is in Parquet, which this build of isoscope cannot read: build it with the feature parquet",
        plain(name)
    )]
    WithoutParquet {
        /// The file or stream.
        name: String,
    },
    /// It is no data set of which an engine could be asked.
    #[error("{}: {message}", plain(name))]
    DataSet {
        /// The file.
        name: String,
        /// What is wrong.
        message: String,
    },
    /// A recording breaks what its header promises, so that nothing follows from what it has not said yet.
    #[error("{}: line {line} {message}", plain(name))]
    Promise {
        /// The file or stream.
        name: String,
        /// Where.
        line: u64,
        /// How.
        message: String,
    },
    /// Reading would take too much memory.
    #[error("reading {} takes more than the memory limit of {limit} bytes; raise it with --memory", plain(name))]
    MemoryLimit {
        /// The file or stream.
        name: String,
        /// The limit.
        limit: u64,
    },
    /// The [`Watch`] asked to stop.
    #[error("reading {} was stopped", plain(name))]
    Stopped {
        /// The file or stream.
        name: String,
    },
}

/// A name in one line, and without what a terminal would obey.
fn plain(name: &str) -> String {
    name.chars().map(|it| if it.is_control() { it.escape_default().to_string() } else { it.to_string() }).collect()
}

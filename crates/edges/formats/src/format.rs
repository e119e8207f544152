//! The formats that histories come in, by name.

use std::fmt;

/// A way to write a history down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Our notation for people.
    Text,
    /// Our JSON lines, for machines.
    Jsonl,
    /// Binary files of dbcop (2019), `PolySI` and `VeriStrong`.
    Dbcop,
    /// JSON documents of newer dbcop versions.
    DbcopJson,
    /// Log directories of Cobra.
    Cobra,
    /// One operation a line, as Plume, AWDIT and `PolySI` read it.
    Plume,
    /// Jepsen and Elle histories in EDN.
    Elle,
    /// Jepsen and Elle histories in JSON lines.
    ElleJson,
    /// Trace text of `IsoPredict`.
    IsoPredict,
    /// Parquet data sets: a directory of files, or one file.
    Parquet,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 10] = [
        Self::Text,
        Self::Jsonl,
        Self::Dbcop,
        Self::DbcopJson,
        Self::Cobra,
        Self::Plume,
        Self::Elle,
        Self::ElleJson,
        Self::IsoPredict,
        Self::Parquet,
    ];

    /// The name that the command line uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Jsonl => "jsonl",
            Self::Dbcop => "dbcop",
            Self::DbcopJson => "dbcop-json",
            Self::Cobra => "cobra",
            Self::Plume => "plume",
            Self::Elle => "elle",
            Self::ElleJson => "elle-json",
            Self::IsoPredict => "isopredict",
            Self::Parquet => "parquet",
        }
    }

    /// What a transaction looks like, for a message.
    pub fn example(self) -> &'static str {
        match self {
            Self::Text => "lines like s1: { r(x,0) w(x,1) }",
            Self::Jsonl => "lines like {\"s\":1,\"ops\":[[\"w\",\"x\",1]]} after the header",
            Self::Dbcop => "sessions with transactions",
            Self::DbcopJson => "sessions with transactions in the member \"data\"",
            Self::Cobra => "records of transactions",
            Self::Plume => "lines like w(x,1,0,0)",
            Self::Elle => "operations like {:type :ok, :process 0, :f :txn, :value [[:w :x 1]]}",
            Self::ElleJson => {
                "operations like {\"type\":\"ok\",\"process\":0,\"f\":\"txn\",\"value\":[[\"w\",\"x\",1]]}"
            }
            Self::IsoPredict => "lines like WRITE KEY[5] Txn(0, 0)",
            Self::Parquet => "rows with a transaction in the column `txn`",
        }
    }

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// What files of the format usually end in, without the dot. A Cobra history is a directory of such files.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Text => "history",
            Self::Jsonl => "jsonl",
            Self::Dbcop => "bincode",
            Self::DbcopJson | Self::ElleJson => "json",
            Self::Cobra => "log",
            Self::Plume => "plume",
            Self::Elle => "edn",
            Self::IsoPredict => "trace",
            Self::Parquet => "parquet",
        }
    }

    /// The format that files with that ending most likely have: what a writer takes when only the path is known.
    pub fn from_extension(extension: &str) -> Option<Self> {
        match extension {
            "txt" => Some(Self::Text),
            _ => Self::ALL.into_iter().find(|it| it.extension() == extension),
        }
    }

    /// Does it express every history, with statements, and say which database it was recorded from?
    pub fn expresses_all(self) -> bool {
        matches!(self, Self::Text | Self::Jsonl | Self::Parquet)
    }

    /// One line for people who choose.
    pub fn description(self) -> &'static str {
        match self {
            Self::Text => "our notation: `s1: { r(x,0) w(x,1) }`, one session a line",
            Self::Jsonl => "our JSON lines: a header, then one transaction a line",
            Self::Dbcop => "binary history of dbcop (2019), PolySI and VeriStrong",
            Self::DbcopJson => "JSON document of newer dbcop versions",
            Self::Cobra => "directory of Cobra logs, one file a session",
            Self::Plume => "one operation a line, `r(key,value,session,txn)`: Plume, AWDIT, PolySI",
            Self::Elle => "Jepsen and Elle history in EDN",
            Self::ElleJson => "Jepsen and Elle history in JSON lines",
            Self::IsoPredict => "IsoPredict trace: `READ KEY[k] Txn(s, t) From(s, t)`",
            Self::Parquet => "Parquet data set: a directory of files or one file, a row for each operation",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

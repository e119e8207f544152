//! Names of rows and transactions, as applications and plans spell them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A row of a table; `table:row` in histories.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The table; without a colon, if the key is to be read back from a history.
    pub table: Arc<str>,
    /// The row. Scans go through rows in the order of their bytes, so numbers need leading zeros.
    pub row: Arc<str>,
}

impl Key {
    /// The key of a row.
    pub fn new(table: impl Into<Arc<str>>, row: impl Into<Arc<str>>) -> Self {
        Self { table: table.into(), row: row.into() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.table, self.row)
    }
}

/// A text without a colon, which is no [`Key`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text} is not of the form table:row")]
pub struct NotAKey {
    /// What was read.
    pub text: String,
}

impl FromStr for Key {
    type Err = NotAKey;

    /// Reads `table:row`; the first colon divides.
    fn from_str(text: &str) -> Result<Self, NotAKey> {
        let (table, row) = text.split_once(':').ok_or_else(|| NotAKey { text: text.to_owned() })?;
        Ok(Self::new(table, row))
    }
}

/// Which rows of a table a scan reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Rows {
    /// All of them.
    All,
    /// Those whose name starts like this.
    Prefix(Arc<str>),
    /// Those from the first name on, before the second one.
    Range(Arc<str>, Arc<str>),
}

impl Rows {
    /// The rows whose name starts with `prefix`.
    pub fn prefix(prefix: impl Into<Arc<str>>) -> Self {
        Self::Prefix(prefix.into())
    }

    /// The rows from `start` on, before `end`.
    pub fn range(start: impl Into<Arc<str>>, end: impl Into<Arc<str>>) -> Self {
        Self::Range(start.into(), end.into())
    }

    /// Is this row one of them?
    pub fn contains(&self, row: &str) -> bool {
        match self {
            Self::All => true,
            Self::Prefix(prefix) => row.starts_with(&**prefix),
            Self::Range(start, end) => &**start <= row && row < &**end,
        }
    }

    /// The least name that a row of them can have.
    pub(crate) fn start(&self) -> &str {
        match self {
            Self::All => "",
            Self::Prefix(start) | Self::Range(start, _) => start,
        }
    }
}

/// A transaction: its session, and its place there from 0, aborted ones included. Renders as in `s1.2`, from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TxnName {
    /// The name of the session.
    pub session: Arc<str>,
    /// How many transactions the session had begun before.
    pub nth: usize,
}

impl TxnName {
    /// The `nth` transaction of a session, from 0.
    pub fn new(session: impl Into<Arc<str>>, nth: usize) -> Self {
        Self { session: session.into(), nth }
    }
}

impl fmt::Display for TxnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.session, self.nth + 1)
    }
}

/// Who wrote a version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Writer {
    /// Nobody: it is the initial state.
    Initial,
    /// A transaction.
    Txn(TxnName),
}

impl fmt::Display for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Initial => f.write_str("init"),
            Self::Txn(txn) => txn.fmt(f),
        }
    }
}

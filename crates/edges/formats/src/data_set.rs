//! What is known of a Parquet data set without reading its rows.

#[cfg(feature = "parquet")]
use crate::{Format, ReadError, files, parquet};
use iso_history::Datum;
#[cfg(feature = "parquet")]
use iso_history::Name;
#[cfg(feature = "parquet")]
use std::fs;
#[cfg(feature = "parquet")]
use std::path::Path;
use std::path::PathBuf;

/// What the files of a data set say at their ends. What they do not say is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSet {
    /// The directory or the file.
    pub path: PathBuf,
    /// The number of rows.
    pub n_rows: u64,
    /// The columns that our schema knows.
    pub columns: Vec<&'static str>,
    /// Are keys texts? They are integers otherwise.
    pub has_text_keys: bool,
    /// Are values texts? They are integers otherwise.
    pub has_text_values: bool,
    /// The smallest and the largest number of a transaction.
    pub txns: Option<(i64, i64)>,
    /// The first and the last time.
    pub times: Option<(i64, i64)>,
    /// May there be transactions of unknown outcome?
    pub may_have_unknown: bool,
    /// The initial value of keys that have none of their own.
    pub initial: Datum,
}

impl DataSet {
    /// Is there such a column?
    pub fn has(&self, column: &str) -> bool {
        self.columns.contains(&column)
    }
}

/// Looks at the ends of the files of a data set.
#[cfg(feature = "parquet")]
pub fn survey(path: &Path) -> Result<DataSet, ReadError> {
    let open_error = |source| ReadError::Open { path: path.display().to_string(), source };
    let about = fs::metadata(path).map_err(open_error)?;
    let parts = if about.is_dir() {
        files(path, Format::Parquet.extension()).map_err(open_error)?
    } else {
        vec![path.to_owned()]
    };
    if parts.is_empty() {
        return Err(ReadError::Directory { path: path.display().to_string() });
    }
    parquet::survey(path, &parts)
}

/// How a column of texts spells a key or a value; null has no spelling.
#[cfg(feature = "parquet")]
pub fn spelled(name: Name<'_>) -> Option<String> {
    parquet::spelled(name)
}

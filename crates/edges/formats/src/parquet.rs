//! Parquet data sets: a directory of files, or one file, with one row for each operation.
//!
//! | column | is |
//! |---|---|
//! | `txn` | the number of the transaction; rows are in its order, and so are the transactions of a session |
//! | `session`, `status`, `begin`, `end` | of the transaction, the same in each of its rows |
//! | `op` | the place of the operation in its transaction |
//! | `kind` | `r`, `w`, `a`, `list`, `scan` or `omit`; `txn` if the transaction has no operation; `init` for an initial value |
//! | `key`, `value` | integers, or [texts](spelling) |
//! | `elements` | a list that was read, as a JSON array |
//! | `statement`, `lock`, `scan`, `table`, `predicate`, `extent`, `matches` | what the history knows of SQL |
//!
//! What is true of the whole history stands in the file's metadata `isoscope`, as the first line of our JSON lines has it.

mod columns;
mod read;
mod rows;
mod spelling;
mod survey;
mod write;

pub(crate) use read::{read, read_files};
pub(crate) use survey::{spelled, survey};
pub(crate) use write::{write, write_directory};

/// The metadata with the header.
const HEADER: &str = "isoscope";
/// The metadata with the number of rows of all files together: without it, nobody would miss a file.
const N_ROWS: &str = "isoscope.rows";

/// What a row can be.
mod kind {
    pub(super) const READ: &str = "r";
    pub(super) const WRITE: &str = "w";
    pub(super) const APPEND: &str = "a";
    pub(super) const LIST: &str = "list";
    pub(super) const SCAN: &str = "scan";
    pub(super) const OMIT: &str = "omit";
    pub(super) const NONE: &str = "txn";
    pub(super) const INITIAL: &str = "init";
}

/// What is said to lock what it reads.
mod lock {
    pub(super) const STATEMENT: &str = "statement";
    pub(super) const ROW: &str = "row";
}

/// The extent of a scan of which the history has one row.
const PART: &str = "part";

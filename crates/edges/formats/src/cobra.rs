//! Logs of Cobra (Tan et al. 2020): a directory with a file per session.
//!
//! Records of big endian i64 numbers: `S` txn; `W` `write_id`, key, value; `R` `writer_txn`, `write_id`, key, value;
//! `C` txn; 0xFF or the end of the file ends it. Keys and values are hashes. Reads of the initial state say so and not
//! what they saw otherwise, so the initial version of every key is called null. Other versions are integers where
//! only the value identifies them, `w1/v2` or `w1/t3/v2` where the write's number and its transaction do, too. A `S`
//! without its `C` is a transaction of unknown outcome. A cut between two records cannot be seen.

mod identity;
mod read;
mod record;
mod write;

pub(crate) use read::{read_directory, read_log};
pub(crate) use write::write_directory;

use iso_history::{Datum, Name};

/// The writer of a version that was there at first.
const INITIAL: i64 = 0xbebe_ebee;
/// The same, of a row that was not there.
const INITIAL_NULL: i64 = 0xdead_beef;
/// A writer, or number of a write, that the log does not know.
const NOT_KNOWN: i64 = 0xabdd_efee;

/// What identifies a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    write_id: i64,
    txn: Option<i64>,
    value: i64,
}

impl Version {
    fn name(self) -> Datum {
        let Self { write_id, txn, value } = self;
        match txn {
            Some(txn) => Datum::text(format!("w{write_id}/t{txn}/v{value}")),
            None if write_id == NOT_KNOWN => Datum::Int(value),
            None => Datum::text(format!("w{write_id}/v{value}")),
        }
    }

    /// The version of that name.
    fn from_name(name: Name<'_>) -> Option<Self> {
        let version = match name {
            Name::Int(value) => Self { write_id: NOT_KNOWN, txn: None, value },
            Name::Text(text) => {
                let (write_id, rest) = text.strip_prefix('w')?.split_once('/')?;
                let (txn, value) = match rest.strip_prefix('t') {
                    Some(rest) => {
                        let (txn, rest) = rest.split_once('/')?;
                        (Some(txn.parse().ok()?), rest)
                    }
                    None => (None, rest),
                };
                Self { write_id: write_id.parse().ok()?, txn, value: value.strip_prefix('v')?.parse().ok()? }
            }
            Name::Null | Name::Number(_) | Name::Record(_) => return None,
        };
        (name == version.name()).then_some(version)
    }
}

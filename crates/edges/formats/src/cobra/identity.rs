//! What identifies a version: decided by looking at all logs before they are read.
//!
//! A read that does not know its writer decides for values. So do writes without a number, unless some read names its
//! writer.

use super::record::Record;
use super::{INITIAL, INITIAL_NULL, NOT_KNOWN};
use crate::meter::Meter;
use crate::pipeline::in_order;
use crate::{CobraIdentity, ReadError, compression};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What matters of the records that were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traits {
    /// Some read does not know its writer.
    pub(super) lacks_writers: bool,
    /// Some read names its writer.
    names_writers: bool,
    /// Some write has no number.
    lacks_write_ids: bool,
}

impl Traits {
    /// Adds what an operation inside of a transaction says.
    pub(super) fn see(&mut self, record: &Record) {
        match *record {
            Record::Read { writer: NOT_KNOWN, .. } => self.lacks_writers = true,
            Record::Read { writer, .. } => self.names_writers |= !matches!(writer, INITIAL | INITIAL_NULL),
            Record::Write { write_id, .. } => self.lacks_write_ids |= write_id == NOT_KNOWN,
            Record::Start { .. } | Record::Commit { .. } => {}
        }
    }

    /// What they decide if there are no other records.
    pub(super) fn identity(self) -> CobraIdentity {
        if self.lacks_writers || (self.lacks_write_ids && !self.names_writers) {
            CobraIdentity::Values
        } else {
            CobraIdentity::Writers
        }
    }
}

/// What identifies a version in these logs, if that can be said quickly: if they are not compressed and can be read.
/// Whatever is wrong with them is found when they are read.
pub(super) fn look(logs: &[PathBuf], meter: &Meter<'_>) -> Result<Option<CobraIdentity>, ReadError> {
    let mut jobs = logs.iter();
    let mut all = Some(Traits::default());
    let work = |path: &PathBuf| traits_of(path);
    in_order(
        || Ok(jobs.next()),
        work,
        |found| {
            all = all.zip(found).map(|(all, found)| Traits {
                lacks_writers: all.lacks_writers | found.lacks_writers,
                names_writers: all.names_writers | found.names_writers,
                lacks_write_ids: all.lacks_write_ids | found.lacks_write_ids,
            });
            meter.go_on()
        },
    )?;
    Ok(all.map(Traits::identity))
}

fn traits_of(log: &Path) -> Option<Traits> {
    const CHUNK: usize = 256 << 10;
    let opened = compression::open(File::open(log).ok()?).ok()?;
    if opened.is_compressed {
        return None;
    }
    let mut reader = opened.reader;
    let (mut bytes, mut n_bytes) = (vec![0; CHUNK], 0);
    let (mut traits, mut is_open) = (Traits::default(), false);
    loop {
        let n_read = reader.read(&mut bytes[n_bytes..]).ok()?;
        n_bytes += n_read;
        let mut at = 0;
        while let Some((record, length)) = Record::parse(&bytes[at..n_bytes]) {
            match record {
                Record::Start { .. } => is_open = true,
                Record::Commit { .. } => is_open = false,
                _ if is_open => traits.see(&record),
                _ => {}
            }
            at += length;
        }
        let is_at_end = at < n_bytes && Record::n_numbers(bytes[at]).is_none();
        // Nothing decides against a read that does not know its writer.
        if n_read == 0 || is_at_end || traits.lacks_writers {
            return Some(traits);
        }
        bytes.copy_within(at..n_bytes, 0);
        n_bytes -= at;
    }
}

//! Recording what applications do on a real database: a proxy that listens, and what it leaves in the end.

use crate::catalogue::{self, Catalogue, Purpose};
use crate::error::ServeError;
use crate::ledger::{Ledger, Origin, Output, Tally};
use crate::proxy::{Door, Proxy};
use crate::shared::{Shared, lock, word};
use crate::transaction::{Done, Tale, Written, tale, wrote};
use crate::wire::Place;
use iso_collect::{Administration, Failure, Target};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// What to record.
#[derive(Debug)]
pub struct RecordSetup {
    /// The address of the database.
    pub url: String,
    /// Where applications connect, such as `127.0.0.1:5433`.
    pub listen: String,
    /// Where the history goes.
    pub target: Target,
    /// When recording begins.
    pub start: Start,
}

/// When recording begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// With the first connection.
    #[default]
    AtOnce,
    /// When an application says `SET isoscope.run = 'start'`.
    AtMarker,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The database, without credentials.
    pub database: String,
    /// How many of what.
    pub tally: Tally,
    /// How long it took.
    pub elapsed: Duration,
    /// Bytes that were written.
    pub bytes: u64,
    /// What did not work at the end; the history up to then is there.
    pub failure: Option<String>,
    /// Tables whose rows cannot be told apart, and are not recorded.
    pub without_key: Vec<String>,
}

/// A recording that runs.
#[derive(Debug)]
pub struct Recording {
    proxy: Proxy,
    database: String,
}

impl Deref for Recording {
    type Target = Proxy;

    fn deref(&self) -> &Proxy {
        &self.proxy
    }
}

impl Recording {
    /// Prepares the database, and listens.
    pub fn start(setup: RecordSetup) -> Result<Self, ServeError> {
        let mut administration = Administration::open(&setup.url)?;
        let door = Door::at(&setup.listen)?;
        // Whoever keeps a table locked must not keep us for ever.
        administration.run("SET lock_timeout = '10s'")?;
        administration.claim()?;
        let word = word();
        catalogue::install(&mut administration, &word)?;
        let prepared = catalogue::attach(&mut administration, Purpose::Record, &word);
        let catalogue = match prepared {
            Ok(catalogue) => catalogue,
            Err(failure) => {
                catalogue::remove(&mut administration).ok();
                return Err(failure.into());
            }
        };
        let output = match Output::open(setup.target) {
            Ok(output) => output,
            Err(error) => {
                catalogue::remove(&mut administration).ok();
                return Err(ServeError::Write(error));
            }
        };
        let database = administration.describe();
        let place = Place::of(&administration);
        let ledger = Ledger::new(output, Origin::Record, database.clone());
        let shared = Arc::new(Shared::new(place, ledger, word, administration, catalogue, None));
        if setup.start == Start::AtOnce {
            shared.start();
        }
        Ok(Self { proxy: door.open(shared), database })
    }

    /// The database, without credentials.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// For whoever wants to look at the history while it grows.
    pub fn moments(&self) -> Moments {
        Moments { shared: Arc::clone(&self.proxy.shared) }
    }

    /// Ends all connections, cleans the database up, and completes the history.
    pub fn end(mut self) -> Result<Recorded, ServeError> {
        let elapsed = self.proxy.end();
        let catalogue = self.shared.catalogue();
        let mut administration = lock(&self.shared.administration);
        let outside = outside(&mut administration, &catalogue);
        let left = "what was put into the database is left behind; DROP SCHEMA isoscope_recording CASCADE removes it";
        let removed = catalogue::remove(&mut administration).map_err(|it| format!("{it}: {left}"));
        drop(administration);
        // Tables that are not recorded may have been changed by anybody.
        let is_whole = lock(&self.shared.troubles).is_empty();
        let bytes = match outside {
            Ok(outside) => self.shared.ledger.end(outside, is_whole),
            // What others wrote is not known, so somebody may have read what is missing.
            Err(_) => self.shared.ledger.end(BTreeMap::new(), false),
        };
        let tally = self.shared.ledger.tally();
        let unkeyed = catalogue.tables().iter().filter(|it| !it.has_key());
        let mut troubles = std::mem::take(&mut *lock(&self.shared.troubles));
        troubles.extend(removed.err());
        let failure = (!troubles.is_empty()).then(|| troubles.join("; "));
        Ok(Recorded {
            database: self.database,
            tally,
            elapsed,
            bytes: bytes.map_err(ServeError::Write)?,
            failure,
            without_key: unkeyed.map(|it| it.shown.clone()).collect(),
        })
    }
}

/// Moments of a recording at which nobody is in a transaction.
#[derive(Clone)]
pub struct Moments {
    shared: Arc<Shared>,
}

/// A part of a recording that is whole by itself: whoever was read from stands in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// So long is the file.
    pub n_bytes: u64,
    /// Lines that belong to its end.
    pub more: Vec<u8>,
}

impl std::fmt::Debug for Moments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Moments").finish_non_exhaustive()
    }
}

impl Moments {
    /// Lets nobody begin a transaction until all have ended, for as long as that takes, but not longer than `patience`.
    /// None if they do not end, or if somebody has written without the proxy.
    pub fn take(&self, patience: Duration) -> Option<Moment> {
        let _closed = self.shared.gate.close(patience)?;
        let sql = format!("SELECT EXISTS (SELECT FROM {}.outside)::text", catalogue::SCHEMA);
        let outside = lock(&self.shared.administration).rows(&sql).ok()?;
        if outside.into_iter().flatten().flatten().next().as_deref() != Some("false") {
            return None;
        }
        let (n_bytes, more) = self.shared.ledger.so_far()?;
        Some(Moment { n_bytes, more })
    }
}

/// What others wrote, who did not come through the proxy, by the number of their transaction.
fn outside(administration: &mut Administration, catalogue: &Catalogue) -> Result<BTreeMap<u64, Done>, Failure> {
    let mut found: BTreeMap<u64, Vec<Written>> = BTreeMap::new();
    let sql = format!("SELECT xid, told FROM {}.outside ORDER BY nth", catalogue::SCHEMA);
    for row in administration.rows(&sql)? {
        let mut texts = row.into_iter().map(Option::unwrap_or_default);
        let (xid, told) = (texts.next().unwrap_or_default(), texts.next().unwrap_or_default());
        if let Some(Tale::Wrote(written)) = tale(&told, catalogue) {
            found.entry(xid.parse().unwrap_or_default()).or_default().push(*written);
        }
    }
    Ok(found.into_iter().map(|(xid, written)| (xid, wrote(written))).collect())
}

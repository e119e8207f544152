//! Recording what applications do on a real database: a proxy that listens, and what it leaves in the end.

use crate::analyse::Plan;
use crate::catalogue::{self, Catalogue};
use crate::ledger::{Before, Ledger, Output, Tally};
use crate::prepared::plan_all;
use crate::session::serve;
use crate::transaction::{Done, Tale, Written, tale, wrote};
use crate::wire::{Peer, Place, Stream};
use iso_collect::{Administration, Failure, OpenError, Target};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// How often the listener looks whether the run is over.
const TICK: Duration = Duration::from_millis(5);
/// How long connections have to end by themselves.
const GRACE: Duration = Duration::from_secs(2);
/// So many statements are remembered with their plans.
const REMEMBERED: usize = 4096;

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

/// Why nothing could be recorded.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The address of the database is wrong, or nobody answers there.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The database does not let us prepare the recording.
    #[error("the database cannot be prepared for a recording: {0}")]
    Prepare(#[from] Failure),
    /// Nobody can connect.
    #[error("cannot listen at {place}: {reason}")]
    Listen {
        /// Where.
        place: String,
        /// Why.
        reason: io::Error,
    },
    /// The history cannot be written.
    #[error("the history cannot be written: {0}")]
    Write(#[source] io::Error),
}

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) place: Place,
    pub(crate) ledger: Ledger,
    /// Known to triggers.
    pub(crate) word: String,
    pub(crate) is_over: AtomicBool,
    catalogue: RwLock<Arc<Catalogue>>,
    plans: Mutex<HashMap<String, Vec<Arc<Plan>>>>,
    administration: Mutex<Administration>,
    /// Connections to the engine, to end those that hang.
    streams: Mutex<BTreeMap<u64, Stream>>,
    n_serving: AtomicUsize,
    /// What did not work on the way.
    troubles: Mutex<Vec<String>>,
}

/// A recording that runs.
pub struct Recording {
    shared: Arc<Shared>,
    address: SocketAddr,
    database: String,
    started: Instant,
    listener: Option<thread::JoinHandle<()>>,
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recording").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Recording {
    /// Prepares the database, and listens.
    pub fn start(setup: RecordSetup) -> Result<Self, RecordError> {
        let mut administration = Administration::open(&setup.url)?;
        let cannot = |reason| RecordError::Listen { place: setup.listen.clone(), reason };
        let listener = TcpListener::bind(&setup.listen).map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        listener.set_nonblocking(true).map_err(cannot)?;
        // Whoever keeps a table locked must not keep us for ever.
        administration.run("SET lock_timeout = '10s'")?;
        administration.claim()?;
        let word = word();
        catalogue::install(&mut administration, &word)?;
        let prepared = catalogue::attach(&mut administration);
        let catalogue = match prepared {
            Ok(catalogue) => catalogue,
            Err(failure) => {
                catalogue::remove(&mut administration).ok();
                return Err(failure.into());
            }
        };
        let output = match setup.target {
            Target::File(path) => File::create(path).map(Output::File),
            Target::Stream(stream) => Ok(Output::Stream(stream)),
            Target::Nowhere => Ok(Output::Stream(Box::new(io::sink()))),
        };
        let output = match output {
            Ok(output) => output,
            Err(error) => {
                catalogue::remove(&mut administration).ok();
                return Err(RecordError::Write(error));
            }
        };
        let database = administration.describe();
        let place = match administration.socket() {
            Some(path) => Place::Socket(path),
            None => Place::Network { host: administration.host().to_owned(), port: administration.port() },
        };
        let shared = Arc::new(Shared {
            place,
            ledger: Ledger::new(output, database.clone()),
            word,
            is_over: AtomicBool::new(false),
            catalogue: RwLock::new(Arc::new(catalogue)),
            plans: Mutex::default(),
            administration: Mutex::new(administration),
            streams: Mutex::default(),
            n_serving: AtomicUsize::new(0),
            troubles: Mutex::default(),
        });
        if setup.start == Start::AtOnce {
            shared.start();
        }
        let served = Arc::clone(&shared);
        let listener = Some(thread::spawn(move || listen(&listener, &served)));
        Ok(Self { shared, address, database, started: Instant::now(), listener })
    }

    /// Where applications connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The database, without credentials.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// How far it is.
    pub fn tally(&self) -> Tally {
        self.shared.ledger.tally()
    }

    /// Has recording begun?
    pub fn is_on(&self) -> bool {
        self.shared.ledger.is_on()
    }

    /// Can the history not be written any more?
    pub fn has_failed(&self) -> bool {
        self.shared.ledger.has_failed()
    }

    /// How many applications are connected.
    pub fn n_connected(&self) -> usize {
        self.shared.n_serving.load(Ordering::Relaxed)
    }

    /// Ends all connections, cleans the database up, and completes the history.
    pub fn end(mut self) -> Result<Recorded, RecordError> {
        self.shared.is_over.store(true, Ordering::Relaxed);
        self.listener.take().map(thread::JoinHandle::join);
        let until = Instant::now() + GRACE;
        while self.n_connected() > 0 && Instant::now() < until {
            thread::sleep(TICK);
        }
        for stream in lock(&self.shared.streams).values() {
            stream.shut();
        }
        let until = Instant::now() + GRACE;
        while self.n_connected() > 0 && Instant::now() < until {
            thread::sleep(TICK);
        }
        let elapsed = self.started.elapsed();
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
            bytes: bytes.map_err(RecordError::Write)?,
            failure,
            without_key: unkeyed.map(|it| it.shown.clone()).collect(),
        })
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A word that nobody else says by chance.
fn word() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", std::process::id(), since.as_nanos())
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    while !shared.is_over.load(Ordering::Relaxed) {
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(TICK);
            continue;
        };
        if stream.set_nonblocking(false).is_err() {
            continue;
        }
        shared.n_serving.fetch_add(1, Ordering::Relaxed);
        let served = Arc::clone(shared);
        let spawned = thread::Builder::new().name("session".to_owned()).spawn(move || {
            let serving = Serving(served);
            // Whoever is cut off learns it from the connection.
            serve(stream, &serving.0).ok();
        });
        if spawned.is_err() {
            shared.n_serving.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// One of those that are served, until it is dropped.
struct Serving(Arc<Shared>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.n_serving.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection that can be ended by others, until this is dropped.
pub(crate) struct Watched {
    shared: Arc<Shared>,
    number: u64,
}

impl Drop for Watched {
    fn drop(&mut self) {
        lock(&self.shared.streams).remove(&self.number);
    }
}

impl Shared {
    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn watch(self: &Arc<Self>, number: u64, engine: &Peer) -> io::Result<Watched> {
        lock(&self.streams).insert(number, engine.stream().try_clone()?);
        Ok(Watched { shared: Arc::clone(self), number })
    }

    /// Recording begins now.
    pub(crate) fn start(&self) {
        let mut administration = lock(&self.administration);
        let rows = administration.rows("SELECT pg_current_snapshot()::text").unwrap_or_default();
        let before = rows.into_iter().flatten().flatten().next().and_then(|it| Before::parse(&it));
        self.ledger.begin(before.unwrap_or_default());
    }

    /// Tables have changed: they get triggers, and statements new plans.
    pub(crate) fn refresh(&self) {
        let mut administration = lock(&self.administration);
        match catalogue::attach(&mut administration) {
            Ok(catalogue) => {
                *self.catalogue.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(catalogue);
                lock(&self.plans).clear();
            }
            Err(failure) => {
                let words = format!("tables that were made or changed on the way are not recorded: {failure}");
                lock(&self.troubles).push(words);
            }
        }
    }

    pub(crate) fn plans(&self, sql: &str, catalogue: &Catalogue) -> Vec<Arc<Plan>> {
        if let Some(plans) = lock(&self.plans).get(sql) {
            return plans.clone();
        }
        let plans = plan_all(sql, catalogue);
        let mut remembered = lock(&self.plans);
        if remembered.len() >= REMEMBERED {
            remembered.clear();
        }
        remembered.insert(sql.to_owned(), plans.clone());
        plans
    }
}

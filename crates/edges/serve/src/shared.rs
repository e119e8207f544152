//! What all connections of a proxy share, and how they come to be.

use crate::analyse::Plan;
use crate::catalogue::{self, Catalogue, Purpose};
use crate::gate::Gate;
use crate::ledger::{Before, Ledger};
use crate::prepared::plan_all;
use crate::served::serve_weakly;
use crate::session::serve;
use crate::shape::shape;
use crate::weak::Weak;
use crate::wire::{Peer, Place, Stream};
use iso_collect::{Administration, Failure};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

/// How often the listener looks whether the run is over.
const TICK: Duration = Duration::from_millis(5);
/// How long connections have to end by themselves.
const GRACE: Duration = Duration::from_secs(2);
/// So many statements are remembered with their plans.
const REMEMBERED: usize = 4096;

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) place: Place,
    pub(crate) ledger: Ledger,
    /// Known to triggers.
    pub(crate) word: String,
    pub(crate) is_over: AtomicBool,
    /// Before transactions of a recording.
    pub(crate) gate: Gate,
    /// Only of a served database.
    pub(crate) weak: Option<Weak>,
    pub(crate) administration: Mutex<Administration>,
    /// What did not work on the way.
    pub(crate) troubles: Mutex<Vec<String>>,
    catalogue: RwLock<Arc<Catalogue>>,
    plans: Mutex<HashMap<String, Vec<Arc<Plan>>>>,
    /// Connections to the engine, to end those that hang.
    streams: Mutex<BTreeMap<u64, Stream>>,
    n_serving: AtomicUsize,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A word that nobody else says by chance.
pub(crate) fn word() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", std::process::id(), since.as_nanos())
}

pub(crate) fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
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
            match &serving.0.weak {
                Some(weak) => serve_weakly(stream, &serving.0, weak).ok(),
                None => serve(stream, &serving.0).ok(),
            };
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
    pub(crate) fn new(
        place: Place,
        ledger: Ledger,
        word: String,
        administration: Administration,
        catalogue: Catalogue,
        weak: Option<Weak>,
    ) -> Self {
        Self {
            place,
            ledger,
            word,
            is_over: AtomicBool::new(false),
            gate: Gate::default(),
            weak,
            administration: Mutex::new(administration),
            troubles: Mutex::default(),
            catalogue: RwLock::new(Arc::new(catalogue)),
            plans: Mutex::default(),
            streams: Mutex::default(),
            n_serving: AtomicUsize::new(0),
        }
    }

    pub(crate) fn n_connected(&self) -> usize {
        self.n_serving.load(Ordering::Relaxed)
    }

    /// Nobody comes any more, and those who are here are sent away.
    pub(crate) fn end(&self, listener: Option<thread::JoinHandle<()>>) {
        self.is_over.store(true, Ordering::Relaxed);
        listener.map(thread::JoinHandle::join);
        let until = Instant::now() + GRACE;
        while self.n_connected() > 0 && Instant::now() < until {
            thread::sleep(TICK);
        }
        for stream in lock(&self.streams).values() {
            stream.shut();
        }
        let until = Instant::now() + GRACE;
        while self.n_connected() > 0 && Instant::now() < until {
            thread::sleep(TICK);
        }
    }

    /// Something did not work; the answer will say it.
    pub(crate) fn complain(&self, words: String) {
        let mut troubles = lock(&self.troubles);
        if !troubles.contains(&words) {
            troubles.push(words);
        }
    }

    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn watch(self: &Arc<Self>, number: u64, engine: &Peer) -> io::Result<Watched> {
        lock(&self.streams).insert(number, engine.stream().try_clone()?);
        Ok(Watched { shared: Arc::clone(self), number })
    }

    /// Recording begins now, at a served database with all rows that are there.
    pub(crate) fn start_weak(&self, weak: &Weak) -> Result<(), Failure> {
        let mut administration = lock(&self.administration);
        let initial = weak.begin(&mut administration, &self.catalogue())?;
        self.ledger.begin_with(initial);
        Ok(())
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
        let purpose = if self.weak.is_some() { Purpose::Serve } else { Purpose::Record };
        match catalogue::attach(&mut *administration, purpose, &self.word) {
            Ok(mut catalogue) => {
                if let Some(weak) = &self.weak {
                    weak.name_tables(&mut catalogue);
                }
                self.replace_catalogue(Arc::new(catalogue));
            }
            Err(failure) => {
                self.complain(format!("tables that were made or changed on the way are not recorded: {failure}"));
            }
        }
    }

    /// Tables are like this from now on.
    pub(crate) fn replace_catalogue(&self, catalogue: Arc<Catalogue>) {
        *self.catalogue.write().unwrap_or_else(PoisonError::into_inner) = catalogue;
        lock(&self.plans).clear();
    }

    /// The plans of a text's statements.
    pub(crate) fn plans(&self, sql: &str, catalogue: &Catalogue) -> Vec<Arc<Plan>> {
        let Some(shape) = shape(sql) else { return self.remembered(sql, catalogue) };
        self.remembered(&shape.text, catalogue).iter().map(|it| Arc::new(shape.fill(it))).collect()
    }

    fn remembered(&self, sql: &str, catalogue: &Catalogue) -> Vec<Arc<Plan>> {
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

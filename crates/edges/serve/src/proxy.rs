//! What a recording and a served database have in common: a place at which applications connect, and how far it is.

use crate::error::ServeError;
use crate::ledger::Tally;
use crate::shared::{Shared, listen};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// A proxy that runs.
pub struct Proxy {
    pub(crate) shared: Arc<Shared>,
    address: SocketAddr,
    started: Instant,
    listener: Option<thread::JoinHandle<()>>,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxy").field("address", &self.address).finish_non_exhaustive()
    }
}

/// A place that is ours, at which nobody is served yet.
pub(crate) struct Door {
    listener: TcpListener,
    address: SocketAddr,
}

impl Door {
    /// Takes a place, such as `127.0.0.1:5433`.
    pub(crate) fn at(place: &str) -> Result<Self, ServeError> {
        let cannot = |reason| ServeError::Listen { place: place.to_owned(), reason };
        let listener = TcpListener::bind(place).map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        listener.set_nonblocking(true).map_err(cannot)?;
        Ok(Self { listener, address })
    }

    /// Serves whoever comes.
    pub(crate) fn open(self, shared: Arc<Shared>) -> Proxy {
        let Self { listener, address } = self;
        let served = Arc::clone(&shared);
        let listener = Some(thread::spawn(move || listen(&listener, &served)));
        Proxy { shared, address, started: Instant::now(), listener }
    }
}

impl Proxy {
    /// Where applications connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How far it is.
    pub fn tally(&self) -> Tally {
        self.shared.ledger.tally()
    }

    /// Has the run begun?
    pub fn is_on(&self) -> bool {
        self.shared.ledger.is_on()
    }

    /// Can the history not be written any more?
    pub fn has_failed(&self) -> bool {
        self.shared.ledger.has_failed()
    }

    /// How many applications are connected.
    pub fn n_connected(&self) -> usize {
        self.shared.n_connected()
    }

    /// Ends all connections; gives how long it ran.
    pub(crate) fn end(&mut self) -> Duration {
        self.shared.end(self.listener.take());
        self.started.elapsed()
    }
}

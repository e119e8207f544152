//! Session guarantees: one walk along each session.
//!
//! The walk remembers what the session's transactions wrote (read your writes, monotonic writes) or read from
//! (monotonic reads, writes follow reads). What is remembered must be seen by the transaction that the walk comes to
//! (read your writes, monotonic reads), or by those who read from it (monotonic writes, writes follow reads). Of
//! several transactions of one session that a reader read from, only the last matters: it has the most before it.
//!
//! Of several writers of a key from one session, the last one is remembered: the others are older by session order.
//! Monotonic reads forgets what was remembered of a key when it is read: what is read then is newer, and is remembered.
//!
//! Source: the definitions (Terry et al. 1994, as the catalogue states them). Cost: what is remembered, which is for each
//! session the writes of everybody it read from, and reads times those remembered for their key.

use super::links::{Edges, Links};
use super::nearby::LastWriters;
use super::parallel::{Pace, n_threads, run};
use super::{INITIAL, Txn};
use iso_evidence::{Budget, StopReason};
use iso_history::{KeyId, TxnId};
use iso_spec::Level;

/// What follows for a session guarantee.
pub(super) fn session_guarantee(links: &Links<'_>, level: Level, budget: &Budget<'_>) -> Result<Edges, StopReason> {
    let history = links.facts.history();
    let n_threads = n_threads(links.previous.len());
    let by_readers = matches!(level, Level::MonotonicWrites | Level::WritesFollowReads);
    let readers = if by_readers { Readers::new(links) } else { Readers::default() };
    match level {
        Level::ReadYourWrites | Level::MonotonicWrites => {
            let desk = || LastWriters::new(history.n_keys());
            let session = |last: &mut LastWriters, session: usize, pace: &Pace<'_>| {
                let mut edges = Edges::default();
                last.start_session(session);
                for txn in links.session(session).take_while(|_| !pace.is_over()) {
                    for reader in readers.of(txn).iter().chain((!by_readers).then_some(&txn)) {
                        last.oblige(links, *reader, &mut edges);
                    }
                    last.wrote(links, txn);
                }
                edges
            };
            run(history.n_sessions(), n_threads, budget, desk, session).map(Edges::join)
        }
        _ => {
            let desk = || Remembered::new(history.n_keys(), history.n_txns());
            let session = |seen: &mut Remembered, session: usize, pace: &Pace<'_>| {
                let mut edges = Edges::default();
                seen.start_session(session);
                for txn in links.session(session).take_while(|_| !pace.is_over()) {
                    if !by_readers {
                        seen.oblige(links, txn, &mut edges);
                        seen.forget(links, txn);
                    }
                    seen.read(links, txn);
                    for reader in readers.of(txn) {
                        seen.oblige(links, *reader, &mut edges);
                    }
                }
                edges
            };
            run(history.n_sessions(), n_threads, budget, desk, session).map(Edges::join)
        }
    }
}

/// Obligations of writes follow reads that an order does not meet: of each read only the latest.
pub(super) fn unmet_writes_follow_reads(
    links: &Links<'_>,
    place: &[u32],
    budget: &Budget<'_>,
) -> Result<Edges, StopReason> {
    let history = links.facts.history();
    let readers = Readers::new(links);
    let desk = || LatestSeen::new(history.n_keys(), history.n_txns());
    let session = |latest: &mut LatestSeen, session: usize, pace: &Pace<'_>| {
        let mut edges = Edges::default();
        latest.session = session as u32;
        for txn in links.session(session).take_while(|_| !pace.is_over()) {
            latest.read(links, place, txn);
            for reader in readers.of(txn) {
                latest.oblige(links, place, *reader, &mut edges);
            }
        }
        edges
    };
    run(history.n_sessions(), n_threads(links.previous.len()), budget, desk, session).map(Edges::join)
}

/// For each key, the writer of it that is last in an order, of those that the transactions of one session read from.
struct LatestSeen {
    session: u32,
    /// By key: the session of the entry, and the writer.
    latest: Vec<(u32, Txn)>,
    /// By transaction: the session in which it was read from.
    known_in: Vec<u32>,
}

impl LatestSeen {
    fn new(n_keys: usize, n_txns: usize) -> Self {
        Self { session: NOBODY, latest: vec![(NOBODY, INITIAL); n_keys], known_in: vec![NOBODY; n_txns] }
    }

    fn read(&mut self, links: &Links<'_>, place: &[u32], reader: Txn) {
        for (_, source) in links.reads(reader).filter(|it| it.1 != INITIAL) {
            if std::mem::replace(&mut self.known_in[source as usize], self.session) == self.session {
                continue;
            }
            for (key, _) in links.facts.final_writes(TxnId::from_index(source as usize)) {
                let (session, latest) = &mut self.latest[key.index()];
                if *session != self.session || place[*latest as usize] < place[source as usize] {
                    (*session, *latest) = (self.session, source);
                }
            }
        }
    }

    fn oblige(&self, links: &Links<'_>, place: &[u32], reader: Txn, edges: &mut Edges) {
        for (key, source) in links.reads(reader) {
            let (session, latest) = self.latest[key.index()];
            let is_unmet = session == self.session && place[latest as usize] > place[source as usize];
            if is_unmet && latest != reader {
                edges.push(latest, source);
            }
        }
    }
}

/// Who read from each transaction and from no later one of its session.
#[derive(Default)]
struct Readers {
    starts: Vec<u32>,
    readers: Vec<Txn>,
}

impl Readers {
    fn new(links: &Links<'_>) -> Self {
        let n_txns = links.previous.len();
        let mut starts = vec![0u32; n_txns + 2];
        let mut last = LastSources::new(links);
        for reader in 1..n_txns as Txn {
            last.of(links, reader, |writer| starts[writer as usize + 2] += 1);
        }
        for idx in 2..starts.len() {
            starts[idx] += starts[idx - 1];
        }
        let mut readers = vec![INITIAL; starts[n_txns + 1] as usize];
        let mut last = LastSources::new(links);
        for reader in 1..n_txns as Txn {
            last.of(links, reader, |writer| {
                let slot = &mut starts[writer as usize + 1];
                readers[*slot as usize] = reader;
                *slot += 1;
            });
        }
        Self { starts, readers }
    }

    fn of(&self, writer: Txn) -> &[Txn] {
        match self.starts.get(writer as usize..writer as usize + 2) {
            Some(range) => &self.readers[range[0] as usize..range[1] as usize],
            None => &[],
        }
    }
}

/// Whom a transaction read from: of each session the last.
struct LastSources {
    /// By session: a reader, and the place in the session of the last one that it read from.
    last: Vec<(Txn, usize)>,
}

impl LastSources {
    fn new(links: &Links<'_>) -> Self {
        Self { last: vec![(INITIAL, 0); links.facts.history().n_sessions()] }
    }

    fn of(&mut self, links: &Links<'_>, reader: Txn, mut found: impl FnMut(Txn)) {
        let history = links.facts.history();
        let at = |txn: Txn| {
            let id = TxnId::from_index(txn as usize);
            history.session_of(id).map(|it| (it.index(), history.nth_in_session(id)))
        };
        for (_, source) in links.reads(reader) {
            if let Some((session, nth)) = at(source)
                && (self.last[session].0 != reader || self.last[session].1 < nth)
            {
                self.last[session] = (reader, nth);
            }
        }
        for (_, source) in links.reads(reader) {
            if let Some((session, nth)) = at(source)
                && self.last[session] == (reader, nth)
            {
                // Once only, although several reads may have seen it.
                self.last[session].1 = usize::MAX;
                found(source);
            }
        }
    }
}

const NOBODY: u32 = u32::MAX;

/// For each key, writers of it that the transactions of one session read from so far; of each session the last.
struct Remembered {
    session: u32,
    /// By key: the session of the entry, and the first of its chain in `chain`.
    first: Vec<(u32, u32)>,
    /// Writers, and the next entry of the same key.
    chain: Vec<(Txn, u32)>,
    /// By transaction: the session in which it was remembered.
    known_in: Vec<u32>,
}

impl Remembered {
    fn new(n_keys: usize, n_txns: usize) -> Self {
        Self {
            session: NOBODY,
            first: vec![(NOBODY, NOBODY); n_keys],
            chain: Vec::new(),
            known_in: vec![NOBODY; n_txns],
        }
    }

    fn start_session(&mut self, session: usize) {
        self.session = session as u32;
        self.chain.clear();
    }

    fn first(&self, key: KeyId) -> u32 {
        let (session, first) = self.first[key.index()];
        if session == self.session { first } else { NOBODY }
    }

    /// The transaction's reads must see what is remembered of their keys.
    fn oblige(&self, links: &Links<'_>, reader: Txn, edges: &mut Edges) {
        for (key, source) in links.reads(reader) {
            let mut next = self.first(key);
            while next != NOBODY {
                let (writer, after) = self.chain[next as usize];
                if writer != source && writer != reader && !links.is_session_ordered(writer, source) {
                    edges.push(writer, source);
                }
                next = after;
            }
        }
    }

    /// Forgets the keys that a transaction read.
    fn forget(&mut self, links: &Links<'_>, reader: Txn) {
        for (key, _) in links.reads(reader) {
            self.first[key.index()].1 = NOBODY;
        }
    }

    /// Remembers whom a transaction read from.
    fn read(&mut self, links: &Links<'_>, reader: Txn) {
        for (key, source) in links.reads(reader).filter(|it| it.1 != INITIAL) {
            if std::mem::replace(&mut self.known_in[source as usize], self.session) == self.session {
                // What it wrote to other keys is remembered, or was followed by something newer.
                self.remember(links, key, source);
                continue;
            }
            for (key, _) in links.facts.final_writes(TxnId::from_index(source as usize)) {
                self.remember(links, *key, source);
            }
        }
    }

    fn remember(&mut self, links: &Links<'_>, key: KeyId, writer: Txn) {
        let first = self.first(key);
        let mut next = first;
        while next != NOBODY {
            let (other, after) = self.chain[next as usize];
            if other == writer || links.is_session_ordered(writer, other) {
                return;
            }
            if links.is_session_ordered(other, writer) {
                self.chain[next as usize].0 = writer;
                return;
            }
            next = after;
        }
        self.chain.push((writer, first));
        self.first[key.index()] = (self.session, self.chain.len() as u32 - 1);
    }
}

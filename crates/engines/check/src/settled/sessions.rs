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

use super::direct::LastWriters;
use super::links::{Edges, Links};
use super::parallel::{Pace, n_threads, run};
use super::{Asked, Replay};
use iso_evidence::{Budget, StopReason};
use iso_history::{KeyId, TxnId};
use iso_spec::Level;

const NOBODY: u32 = u32::MAX;

/// What follows for a session guarantee.
pub(super) fn session_guarantee(
    links: &Links<'_>,
    level: Level,
    asked: Asked,
    replay: &Replay<'_>,
    budget: &Budget<'_>,
) -> Result<Edges, StopReason> {
    let history = links.facts.history();
    let (n_keys, n_txns) = (history.n_keys(), history.n_txns());
    let asks_readers = matches!(level, Level::MonotonicWrites | Level::WritesFollowReads);
    let readers = asks_readers.then(|| Readers::new(links, |it| replay.concerns(it, asked)));
    let walk = Walk { links, level, replay, asked, readers, budget };
    match (level, asked) {
        (Level::ReadYourWrites | Level::MonotonicWrites, _) => walk.sessions(|| LastWriters::new(n_keys)),
        (_, Asked::Unmet) => walk.sessions(|| LatestSeen::new(n_keys, n_txns, &replay.place)),
        (_, Asked::All) => walk.sessions(|| Remembered::new(n_keys, n_txns)),
    }
}

/// What is remembered of one session after the other.
trait Memory {
    fn start_session(&mut self, session: usize);

    /// The reads of a transaction must see what is remembered of their keys.
    fn infer(&self, links: &Links<'_>, reader: TxnId, edges: &mut Edges);

    /// Remembers what a transaction of the session wrote, or whom it read from.
    fn pass(&mut self, links: &Links<'_>, txn: TxnId);

    /// Forgets the keys that a transaction read: whom it read them from is remembered next.
    fn forget(&mut self, _links: &Links<'_>, _reader: TxnId) {}
}

struct Walk<'a> {
    links: &'a Links<'a>,
    level: Level,
    replay: &'a Replay<'a>,
    asked: Asked,
    /// If not the transactions of the session are asked, but those who read from them.
    readers: Option<Readers>,
    budget: &'a Budget<'a>,
}

impl Walk<'_> {
    fn sessions<M: Memory>(&self, memory: impl Fn() -> M + Sync) -> Result<Edges, StopReason> {
        let Self { links, level, replay, asked, ref readers, budget } = *self;
        let session = |memory: &mut M, session: usize, pace: &Pace<'_>| {
            let mut edges = Edges::default();
            memory.start_session(session);
            for txn in links.session(session).take_while(|_| !pace.is_over()) {
                // Who reads from a transaction must see what that one read, too, and not only those before it.
                if level == Level::WritesFollowReads {
                    memory.pass(links, txn);
                }
                match readers {
                    Some(readers) => readers.of(txn).iter().for_each(|it| memory.infer(links, *it, &mut edges)),
                    None if replay.concerns(txn, asked) => memory.infer(links, txn, &mut edges),
                    None => {}
                }
                if level == Level::MonotonicReads {
                    memory.forget(links, txn);
                }
                if level != Level::WritesFollowReads {
                    memory.pass(links, txn);
                }
            }
            edges
        };
        let n_sessions = links.facts.history().n_sessions();
        run(n_sessions, n_threads(links.previous.len()), budget, memory, session).map(Edges::join)
    }
}

impl Memory for LastWriters {
    fn start_session(&mut self, session: usize) {
        self.start_session(session);
    }

    fn infer(&self, links: &Links<'_>, reader: TxnId, edges: &mut Edges) {
        self.infer(links, reader, edges);
    }

    fn pass(&mut self, links: &Links<'_>, txn: TxnId) {
        self.wrote(links, txn);
    }
}

/// For each key, the writer of it that is last in an order, of those that the transactions of one session read from.
struct LatestSeen<'o> {
    place: &'o [u32],
    session: u32,
    /// By key: the session of the entry, and the writer.
    latest: Vec<(u32, TxnId)>,
    /// By transaction: the session in which it was read from.
    known_in: Vec<u32>,
}

impl<'o> LatestSeen<'o> {
    fn new(n_keys: usize, n_txns: usize, place: &'o [u32]) -> Self {
        Self { place, session: NOBODY, latest: vec![(NOBODY, TxnId::INITIAL); n_keys], known_in: vec![NOBODY; n_txns] }
    }
}

impl Memory for LatestSeen<'_> {
    fn start_session(&mut self, session: usize) {
        self.session = session as u32;
    }

    fn infer(&self, links: &Links<'_>, reader: TxnId, edges: &mut Edges) {
        for (key, source) in links.reads(reader) {
            let (session, latest) = self.latest[key.index()];
            let is_unmet = session == self.session && self.place[latest.index()] > self.place[source.index()];
            if is_unmet && latest != reader {
                edges.push(latest, source);
            }
        }
    }

    fn pass(&mut self, links: &Links<'_>, txn: TxnId) {
        for (_, source) in links.reads(txn).filter(|it| !it.1.is_initial()) {
            if std::mem::replace(&mut self.known_in[source.index()], self.session) == self.session {
                continue;
            }
            for key in links.facts.written_keys(source) {
                let (session, latest) = &mut self.latest[key.index()];
                if *session != self.session || self.place[latest.index()] < self.place[source.index()] {
                    (*session, *latest) = (self.session, source);
                }
            }
        }
    }
}

/// Of those who are concerned: who read from each transaction and from no later one of its session.
#[derive(Default)]
struct Readers {
    starts: Vec<u32>,
    readers: Vec<TxnId>,
}

impl Readers {
    fn new(links: &Links<'_>, concerns: impl Fn(TxnId) -> bool) -> Self {
        let n_txns = links.previous.len();
        let mut starts = vec![0u32; n_txns + 2];
        let mut last = LastSources::new(links);
        for reader in (1..n_txns).map(TxnId::from_index).filter(|it| concerns(*it)) {
            last.of(links, reader, |writer| starts[writer.index() + 2] += 1);
        }
        for idx in 2..starts.len() {
            starts[idx] += starts[idx - 1];
        }
        let mut readers = vec![TxnId::INITIAL; starts[n_txns + 1] as usize];
        let mut last = LastSources::new(links);
        for reader in (1..n_txns).map(TxnId::from_index).filter(|it| concerns(*it)) {
            last.of(links, reader, |writer| {
                let slot = &mut starts[writer.index() + 1];
                readers[*slot as usize] = reader;
                *slot += 1;
            });
        }
        Self { starts, readers }
    }

    fn of(&self, writer: TxnId) -> &[TxnId] {
        match self.starts.get(writer.index()..writer.index() + 2) {
            Some(range) => &self.readers[range[0] as usize..range[1] as usize],
            None => &[],
        }
    }
}

/// Whom a transaction read from: of each session the last.
struct LastSources {
    /// By session: a reader, and the place in the session of the last one that it read from.
    last: Vec<(TxnId, usize)>,
}

impl LastSources {
    fn new(links: &Links<'_>) -> Self {
        Self { last: vec![(TxnId::INITIAL, 0); links.facts.history().n_sessions()] }
    }

    fn of(&mut self, links: &Links<'_>, reader: TxnId, mut found: impl FnMut(TxnId)) {
        let history = links.facts.history();
        let at = |txn: TxnId| history.session_of(txn).map(|it| (it.index(), history.nth_in_session(txn)));
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

/// For each key, writers of it that the transactions of one session read from so far; of each session the last.
struct Remembered {
    session: u32,
    /// By key: the session of the entry, and the first of its chain in `chain`.
    first: Vec<(u32, u32)>,
    /// Writers, and the next entry of the same key.
    chain: Vec<(TxnId, u32)>,
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

    fn first(&self, key: KeyId) -> u32 {
        let (session, first) = self.first[key.index()];
        if session == self.session { first } else { NOBODY }
    }

    fn remember(&mut self, links: &Links<'_>, key: KeyId, writer: TxnId) {
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

impl Memory for Remembered {
    fn start_session(&mut self, session: usize) {
        self.session = session as u32;
        self.chain.clear();
    }

    fn infer(&self, links: &Links<'_>, reader: TxnId, edges: &mut Edges) {
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

    fn forget(&mut self, links: &Links<'_>, reader: TxnId) {
        for (key, _) in links.reads(reader) {
            self.first[key.index()].1 = NOBODY;
        }
    }

    fn pass(&mut self, links: &Links<'_>, txn: TxnId) {
        for (key, source) in links.reads(txn).filter(|it| !it.1.is_initial()) {
            if std::mem::replace(&mut self.known_in[source.index()], self.session) == self.session {
                // What it wrote to other keys is remembered, or was followed by something newer.
                self.remember(links, key, source);
                continue;
            }
            for key in links.facts.written_keys(source) {
                self.remember(links, key, source);
            }
        }
    }
}

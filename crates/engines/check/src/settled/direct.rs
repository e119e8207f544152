//! Read committed and read atomic: inferred edges among those that one transaction read from.
//!
//! A transaction S that reads from W must see W's other writes: a read of x by S from T with W in the writers of x gives
//! W -> T. For each W that S reads from, the shorter of two lists is walked: what W writes, or what S reads. Read
//! committed asks only for reads after the first one from W, and of the reads of x after it only for the next: two
//! neighbouring reads of one key give edges in program order, so the rest follows. Read atomic adds the last
//! writer of x in the session of S before S.
//!
//! Source: AWDIT (PLDI 2025). We differ: no table by key, but the reads of S sorted by key, behind a few bits that turn
//! most keys away. Cost: n^1.5 (times the logarithm of a transaction's length) for n operations in all.

use super::links::{Edges, Links};
use super::parallel::{Pace, n_threads, run};
use super::{Asked, Replay};
use iso_evidence::{Budget, StopReason};
use iso_history::{KeyId, TxnId};

/// What follows for read committed.
pub(super) fn read_committed(
    links: &Links<'_>,
    asked: Asked,
    replay: &Replay<'_>,
    budget: &Budget<'_>,
) -> Result<Edges, StopReason> {
    const CHUNK: usize = 1 << 14;
    let n_txns = links.previous.len();
    let chunk = |reading: &mut Reading, idx: usize, pace: &Pace<'_>| {
        let mut edges = Edges::default();
        for txn in ((idx * CHUNK).max(1)..((idx + 1) * CHUNK).min(n_txns)).map(TxnId::from_index) {
            if pace.is_over() {
                break;
            }
            if !replay.concerns(txn, asked) {
                continue;
            }
            reading.open(links, txn);
            reading.infer_neighbours(&mut edges);
            reading.infer_read_from(links, Which::AfterFirstRead, &mut edges);
        }
        edges
    };
    run(n_txns.div_ceil(CHUNK), n_threads(n_txns), budget, Reading::default, chunk).map(Edges::join)
}

/// What follows for read atomic.
pub(super) fn read_atomic(
    links: &Links<'_>,
    asked: Asked,
    replay: &Replay<'_>,
    budget: &Budget<'_>,
) -> Result<Edges, StopReason> {
    let history = links.facts.history();
    let buffers = || (Reading::default(), LastWriters::new(history.n_keys()));
    let session = |(reading, last): &mut (Reading, LastWriters), session: usize, pace: &Pace<'_>| {
        let mut edges = Edges::default();
        last.start_session(session);
        for txn in links.session(session) {
            if pace.is_over() {
                break;
            }
            if replay.concerns(txn, asked) {
                last.infer(links, txn, &mut edges);
                reading.open(links, txn);
                reading.infer_read_from(links, Which::Always, &mut edges);
            }
            last.wrote(links, txn);
        }
        edges
    };
    run(history.n_sessions(), n_threads(links.previous.len()), budget, buffers, session).map(Edges::join)
}

/// Which reads of a transaction must see what it read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    /// Those after the first read from there, and of one key only the next: its neighbours follow.
    AfterFirstRead,
    Always,
}

/// The reads of one transaction, by key and by source.
#[derive(Default)]
struct Reading {
    /// Key, place in program order, source: ascending.
    by_key: Vec<(KeyId, u32, TxnId)>,
    /// Those read from, each once, with the place of the first read from there.
    sources: Vec<(TxnId, u32)>,
    /// A bit for each key that is read; others may share it. A power of two of words.
    mask: Vec<u64>,
}

impl Reading {
    fn open(&mut self, links: &Links<'_>, reader: TxnId) {
        self.by_key.clear();
        self.sources.clear();
        let n_words = (links.read_range(reader).len() / 4).next_power_of_two();
        self.mask.clear();
        self.mask.resize(n_words, 0);
        for (place, (key, source)) in (0..).zip(links.reads(reader)) {
            self.by_key.push((key, place, source));
            let (word, bit) = self.bit(key);
            self.mask[word] |= bit;
            if !source.is_initial() {
                self.sources.push((source, place));
            }
        }
        self.by_key.sort_unstable();
        self.sources.sort_unstable();
        self.sources.dedup_by_key(|it| it.0);
    }

    /// What was read earlier is not taken back by the next read of the key.
    fn infer_neighbours(&self, edges: &mut Edges) {
        for pair in self.by_key.windows(2) {
            let ((key, _, seen), (next_key, _, next)) = (pair[0], pair[1]);
            if key == next_key && seen != next && !seen.is_initial() {
                edges.push(seen, next);
            }
        }
    }

    fn infer_read_from(&self, links: &Links<'_>, which: Which, edges: &mut Edges) {
        if self.by_key.len() < 2 {
            return;
        }
        for (writer, first) in &self.sources {
            let written = links.facts.written_keys(*writer);
            if written.len() <= self.by_key.len().max(SHORT) {
                for key in written.filter(|it| self.may_read(*it)) {
                    self.infer(links, key, (*writer, *first), which, edges);
                }
            } else {
                for (idx, (key, ..)) in self.by_key.iter().enumerate() {
                    let is_first = idx == 0 || self.by_key[idx - 1].0 != *key;
                    if is_first && links.facts.writes(*writer, *key) {
                        self.infer(links, *key, (*writer, *first), which, edges);
                    }
                }
            }
        }
    }

    fn bit(&self, key: KeyId) -> (usize, u64) {
        ((key.raw() / 64) as usize & (self.mask.len() - 1), 1 << (key.raw() % 64))
    }

    fn may_read(&self, key: KeyId) -> bool {
        let (word, bit) = self.bit(key);
        self.mask[word] & bit != 0
    }

    /// The reads of `key` must see `writer`.
    fn infer(&self, links: &Links<'_>, key: KeyId, (writer, first): (TxnId, u32), which: Which, edges: &mut Edges) {
        let after = if which == Which::Always { 0 } else { first + 1 };
        let start = self.by_key.partition_point(|it| (it.0, it.1) < (key, after));
        for (_, _, source) in self.by_key[start..].iter().take_while(|it| it.0 == key) {
            if *source != writer && !links.is_session_ordered(writer, *source) {
                edges.push(writer, *source);
            }
            if which == Which::AfterFirstRead {
                return;
            }
        }
    }
}

/// So few writes are walked in any case.
const SHORT: usize = 16;

/// The last writer of each key among the transactions of one session so far.
pub(super) struct LastWriters {
    session: u32,
    /// By key: the session of the entry, and the writer.
    last: Vec<(u32, TxnId)>,
}

impl LastWriters {
    pub(super) fn new(n_keys: usize) -> Self {
        Self { session: u32::MAX, last: vec![(u32::MAX, TxnId::INITIAL); n_keys] }
    }

    pub(super) fn start_session(&mut self, session: usize) {
        self.session = session as u32;
    }

    pub(super) fn wrote(&mut self, links: &Links<'_>, txn: TxnId) {
        for key in links.facts.written_keys(txn) {
            self.last[key.index()] = (self.session, txn);
        }
    }

    /// The reads of `reader` must see the last writers of their keys.
    pub(super) fn infer(&self, links: &Links<'_>, reader: TxnId, edges: &mut Edges) {
        for (key, source) in links.reads(reader) {
            let (session, writer) = self.last[key.index()];
            let is_other = session == self.session && writer != source && writer != reader;
            if is_other && !links.is_session_ordered(writer, source) {
                edges.push(writer, source);
            }
        }
    }
}

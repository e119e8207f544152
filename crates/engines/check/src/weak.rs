//! Levels below prefix consistency: whom each reader must see, once it is known who read from whom.
//!
//! If S reads x from T and must see another writer L of x, then L must be older than T: the edge L -> T is *inferred*.
//! Where session order makes one such edge follow from another (that of L's later sibling in its session), only the
//! stronger one is given.
//! Source: Biswas & Enea 2019, sections 2 and 4. Cost: read committed and read atomic, reads per transaction squared;
//! causal consistency, reads times sessions.

use crate::problem::Problem;
use crate::rule::Visibility;
use iso_history::{KeyId, TxnId};
use rustc_hash::FxHashMap;

/// Who read from whom, as far as it is known: one entry a read.
pub(crate) type Sources = [Option<TxnId>];

/// Calls `infer(read, other)` for each inferred edge among transactions that take part. `causal` is needed for the
/// causal levels only.
pub(crate) fn inferred(
    problem: &Problem<'_>,
    visibility: Visibility,
    sources: &Sources,
    takes_part: &dyn Fn(TxnId) -> bool,
    causal: Option<&CausalPast>,
    infer: &mut dyn FnMut(usize, TxnId),
) {
    let mut infer = |read: usize, other: TxnId| {
        let source = sources[read].expect("edges are inferred only from reads with a source");
        let is_other = other != source && !other.is_initial() && other != problem.reads[read].reader;
        if is_other && problem.writes(other, problem.reads[read].key) {
            infer(read, other);
        }
    };
    match visibility {
        Visibility::Nothing | Visibility::Everything => {}
        Visibility::ReadEarlier => read_earlier(problem, sources, &mut infer),
        Visibility::Session => own_session(problem, sources, takes_part, &mut infer),
        Visibility::SessionReads => session_reads(problem, sources, &mut infer),
        Visibility::WritersSessions => writers_sessions(problem, sources, takes_part, &mut infer),
        Visibility::WritersReads => writers_reads(problem, sources, &mut infer),
        Visibility::Direct | Visibility::DirectAndConflicting => {
            own_session(problem, sources, takes_part, &mut infer);
            for txn in problem.txns() {
                for read in known_reads(problem, sources, txn) {
                    for (_, writer) in sources_of(problem, sources, txn) {
                        infer(read, writer);
                    }
                }
            }
        }
        Visibility::Causal | Visibility::CausalAndConflicting => {
            let past = causal.expect("causal levels come with the causal past");
            past.inferred(problem, sources, &mut infer);
        }
    }
}

/// The reads whose sources make `reader` see `other`, for levels that are not causal. Session order needs none.
pub(crate) fn premise(
    problem: &Problem<'_>,
    visibility: Visibility,
    sources: &Sources,
    read: usize,
    other: TxnId,
) -> Vec<usize> {
    let reader = problem.reads[read].reader;
    let from =
        |txn: TxnId, writer: TxnId| problem.reads_of(txn).find(|it| sources[*it] == Some(writer)).map(|it| vec![it]);
    let found = match visibility {
        Visibility::ReadEarlier => problem.reads_of(reader).find(|it| sources[*it] == Some(other)).map(|it| vec![it]),
        Visibility::SessionReads => session_until(problem, reader).find_map(|it| from(it, other)),
        Visibility::WritersSessions => sources_of(problem, sources, reader)
            .find(|(_, writer)| problem.is_session_ordered(other, *writer))
            .map(|(used, _)| vec![used]),
        Visibility::WritersReads => sources_of(problem, sources, reader).find_map(|(used, writer)| {
            let in_session = session_until(problem, writer).chain([writer]);
            in_session.filter(|it| !it.is_initial()).find_map(|it| from(it, other)).map(|it| [vec![used], it].concat())
        }),
        _ if problem.is_session_ordered(other, reader) => Some(Vec::new()),
        _ => from(reader, other),
    };
    found.unwrap_or_default()
}

/// The session predecessors of a transaction.
fn session_until<'p>(problem: &'p Problem<'_>, txn: TxnId) -> impl DoubleEndedIterator<Item = TxnId> + use<'p> {
    problem.session_before(txn).iter().copied()
}

fn known_reads<'p>(problem: &Problem<'_>, sources: &'p Sources, txn: TxnId) -> impl Iterator<Item = usize> + use<'p> {
    problem.reads_of(txn).filter(|it| sources[*it].is_some())
}

fn sources_of<'p>(
    problem: &Problem<'_>,
    sources: &'p Sources,
    txn: TxnId,
) -> impl Iterator<Item = (usize, TxnId)> + use<'p> {
    problem.reads_of(txn).filter_map(|it| sources[it].map(|writer| (it, writer)))
}

fn read_earlier(problem: &Problem<'_>, sources: &Sources, infer: &mut dyn FnMut(usize, TxnId)) {
    for txn in problem.txns() {
        for read in known_reads(problem, sources, txn) {
            for (_, writer) in sources_of(problem, sources, txn).take_while(|it| it.0 < read) {
                infer(read, writer);
            }
        }
    }
}

/// The last session predecessor that writes the key is enough: the earlier ones are older still.
fn own_session(
    problem: &Problem<'_>,
    sources: &Sources,
    takes_part: &dyn Fn(TxnId) -> bool,
    infer: &mut dyn FnMut(usize, TxnId),
) {
    for session in &problem.sessions {
        let mut last_writer: FxHashMap<KeyId, TxnId> = FxHashMap::default();
        for txn in session {
            for read in known_reads(problem, sources, *txn) {
                if let Some(writer) = last_writer.get(&problem.reads[read].key) {
                    infer(read, *writer);
                }
            }
            if takes_part(*txn) {
                last_writer.extend(problem.writes_of(*txn).map(|key| (key, *txn)));
            }
        }
    }
}

fn session_reads(problem: &Problem<'_>, sources: &Sources, infer: &mut dyn FnMut(usize, TxnId)) {
    for session in &problem.sessions {
        let mut seen: FxHashMap<KeyId, Vec<TxnId>> = FxHashMap::default();
        for txn in session {
            for read in known_reads(problem, sources, *txn) {
                for writer in seen.get(&problem.reads[read].key).into_iter().flatten() {
                    infer(read, *writer);
                }
            }
            for (_, writer) in sources_of(problem, sources, *txn) {
                for key in problem.writes_of(writer) {
                    let writers = seen.entry(key).or_default();
                    if !writers.contains(&writer) {
                        writers.push(writer);
                    }
                }
            }
        }
    }
}

fn writers_sessions(
    problem: &Problem<'_>,
    sources: &Sources,
    takes_part: &dyn Fn(TxnId) -> bool,
    infer: &mut dyn FnMut(usize, TxnId),
) {
    for txn in problem.txns() {
        for read in known_reads(problem, sources, txn) {
            for (_, writer) in sources_of(problem, sources, txn) {
                let key = problem.reads[read].key;
                let mut before = session_until(problem, writer).rev();
                if let Some(last) = before.find(|it| takes_part(*it) && problem.writes(*it, key)) {
                    infer(read, last);
                }
            }
        }
    }
}

fn writers_reads(problem: &Problem<'_>, sources: &Sources, infer: &mut dyn FnMut(usize, TxnId)) {
    // For each session and key: which writers of the key its transactions read from, and since when.
    let mut seen: FxHashMap<(u32, KeyId), Vec<(u32, TxnId)>> = FxHashMap::default();
    for (session, txns) in problem.sessions.iter().enumerate() {
        for txn in txns {
            for (_, writer) in sources_of(problem, sources, *txn) {
                for key in problem.writes_of(writer) {
                    let writers = seen.entry((session as u32, key)).or_default();
                    if writers.iter().all(|it| it.1 != writer) {
                        writers.push((problem.place_in_session(*txn).1, writer));
                    }
                }
            }
        }
    }
    for txn in problem.txns() {
        for read in known_reads(problem, sources, txn) {
            for (_, writer) in sources_of(problem, sources, txn).filter(|it| !it.1.is_initial()) {
                let (session, until) = problem.place_in_session(writer);
                let entries = seen.get(&(session, problem.reads[read].key)).into_iter().flatten();
                for (_, other) in entries.take_while(|it| it.0 <= until) {
                    infer(read, *other);
                }
            }
        }
    }
}

/// For each transaction and session, how many of the session's transactions are in its causal past.
#[derive(Debug)]
pub(crate) struct CausalPast {
    n_sessions: usize,
    counts: Vec<u32>,
    /// For each key its writers by session and place there.
    writers: Vec<Vec<(u32, u32, TxnId)>>,
}

impl CausalPast {
    /// Follows session order, sources and `extra` edges along `order`, a topological order of them all.
    pub(crate) fn new(
        problem: &Problem<'_>,
        order: &[TxnId],
        sources: &Sources,
        extra: &dyn Fn(TxnId) -> Vec<TxnId>,
        takes_part: &dyn Fn(TxnId) -> bool,
    ) -> Self {
        let n_sessions = problem.sessions.len();
        let mut past = Self { n_sessions, counts: vec![0; n_sessions * problem.n_txns()], writers: Vec::new() };
        for txn in order.iter().filter(|it| !it.is_initial() && takes_part(**it)) {
            if let Some(previous) = session_until(problem, *txn).rev().find(|it| takes_part(*it)) {
                past.merge(previous, *txn, problem);
            }
            for (_, writer) in sources_of(problem, sources, *txn) {
                past.merge(writer, *txn, problem);
            }
            for earlier in extra(*txn) {
                past.merge(earlier, *txn, problem);
            }
        }
        for key in problem.keys() {
            let mut writers: Vec<_> = problem
                .writers_of(key)
                .iter()
                .filter(|it| takes_part(**it))
                .map(|it| {
                    let (session, nth) = problem.place_in_session(*it);
                    (session, nth, *it)
                })
                .collect();
            writers.sort_unstable();
            past.writers.push(writers);
        }
        past
    }

    fn merge(&mut self, from: TxnId, to: TxnId, problem: &Problem<'_>) {
        if from.is_initial() {
            return;
        }
        let (from_row, to_row) = (from.index() * self.n_sessions, to.index() * self.n_sessions);
        for session in 0..self.n_sessions {
            self.counts[to_row + session] = self.counts[to_row + session].max(self.counts[from_row + session]);
        }
        let (session, nth) = problem.place_in_session(from);
        let own = &mut self.counts[to_row + session as usize];
        *own = (*own).max(nth + 1);
    }

    /// Is `earlier` in the past of `later`?
    pub(crate) fn contains(&self, problem: &Problem<'_>, earlier: TxnId, later: TxnId) -> bool {
        let (session, nth) = problem.place_in_session(earlier);
        earlier.is_initial() || self.counts[later.index() * self.n_sessions + session as usize] > nth
    }

    fn inferred(&self, problem: &Problem<'_>, sources: &Sources, infer: &mut dyn FnMut(usize, TxnId)) {
        for (read, at) in problem.reads.iter().enumerate().filter(|it| sources[it.0].is_some()) {
            self.latest_seen(at.reader, at.key, &mut |other| infer(read, other));
        }
    }

    /// The latest writer of a key in each session that is in the past of `reader`.
    pub(crate) fn latest_seen(&self, reader: TxnId, key: KeyId, found: &mut dyn FnMut(TxnId)) {
        let row = reader.index() * self.n_sessions;
        let mut rest = self.writers[key.index()].as_slice();
        while let Some((session, ..)) = rest.first() {
            let end = rest.partition_point(|it| it.0 == *session);
            let seen = rest[..end].partition_point(|it| it.1 < self.counts[row + *session as usize]);
            if seen > 0 {
                found(rest[seen - 1].2);
            }
            rest = &rest[end..];
        }
    }
}

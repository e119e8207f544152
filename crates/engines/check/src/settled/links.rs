//! What comes before what: session order, reads-from, and derived edges, as the predecessors of each transaction.
//!
//! Predecessors are enough for everything: a walk that emits a transaction after its predecessors gives a topological
//! order, or stops at a cycle. Only derived edges are stored; session order and reads-from are looked up in the facts.
//! Cost: linear in transactions, reads and derived edges.

use iso_evidence::{Budget, StopReason};
use iso_history::{Facts, KeyId, Standing, TxnId};

/// Transactions of a cycle: each has the one before as predecessor, and the first has the last.
pub(super) type Cycle = Vec<TxnId>;

/// Pairs of an older and a newer transaction.
#[derive(Clone, Debug, Default)]
pub(super) struct Edges {
    pairs: Vec<(TxnId, TxnId)>,
    /// When there are so many, those that came twice are thrown out.
    limit: usize,
}

impl Edges {
    const MIN_LIMIT: usize = 1 << 20;

    pub(super) fn push(&mut self, older: TxnId, newer: TxnId) {
        if self.pairs.last() == Some(&(older, newer)) {
            return;
        }
        self.pairs.push((older, newer));
        if self.pairs.len() >= self.limit.max(Self::MIN_LIMIT) {
            self.pairs.sort_unstable();
            self.pairs.dedup();
            self.limit = 2 * self.pairs.len();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (TxnId, TxnId)> + '_ {
        self.pairs.iter().copied()
    }

    pub(super) fn extend(&mut self, more: Self) {
        if self.pairs.is_empty() {
            *self = more;
        } else {
            self.pairs.extend(more.pairs);
        }
    }

    /// All edges of several sets, in their order.
    pub(super) fn join(sets: Vec<Self>) -> Self {
        let mut all = Self::default();
        for set in sets {
            all.extend(set);
        }
        all
    }
}

/// The predecessors of each transaction.
#[derive(Debug)]
pub(super) struct Links<'f> {
    pub(super) facts: &'f Facts<'f>,
    /// Whom each read saw, in the order of [`Facts::reads`]; empty if reads do not matter.
    pub(super) sources: &'f [TxnId],
    /// The session predecessor that counts; the initial transaction if there is none.
    pub(super) previous: Vec<TxnId>,
    recovered: Predecessors,
    inferred: Predecessors,
}

/// Why one transaction is a predecessor of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Session,
    /// By the read at this position.
    ReadFrom(usize),
    /// A list read shows it.
    Recovered,
    /// A reader of the later one must see the earlier one.
    Inferred,
}

impl<'f> Links<'f> {
    pub(super) fn new(facts: &'f Facts<'f>, sources: &'f [TxnId], recovered: &Edges) -> Self {
        let history = facts.history();
        let mut previous = vec![TxnId::INITIAL; history.n_txns()];
        for session in history.sessions() {
            let mut last = TxnId::INITIAL;
            for txn in history.session_txns(session).iter().filter(|it| facts.standing(**it) == Standing::Counted) {
                previous[txn.index()] = last;
                last = *txn;
            }
        }
        let recovered = Predecessors::new(history.n_txns(), recovered);
        Self { facts, sources, previous, recovered, inferred: Predecessors::default() }
    }

    pub(super) fn set_inferred(&mut self, inferred: &Edges) {
        self.inferred = Predecessors::new(self.previous.len(), inferred);
    }

    /// The keys that a transaction read, with whom it read them from, in program order.
    pub(super) fn reads(&self, txn: TxnId) -> impl Iterator<Item = (KeyId, TxnId)> + '_ {
        let range = self.read_range(txn);
        let keys = range.clone().map(|it| self.facts.read_key(it));
        keys.zip(self.sources[range].iter().copied())
    }

    /// The positions of a transaction's reads; none if reads do not matter.
    pub(super) fn read_range(&self, txn: TxnId) -> std::ops::Range<usize> {
        if self.sources.is_empty() { 0..0 } else { self.facts.reads_of(txn) }
    }

    /// The counted transactions of each session, in session order.
    pub(super) fn session(&self, session: usize) -> impl Iterator<Item = TxnId> + '_ {
        let history = self.facts.history();
        let txns = history.session_txns(iso_history::SessionId::from_index(session)).iter();
        txns.filter(|it| self.facts.standing(**it) == Standing::Counted).copied()
    }

    /// Does one come before the other in session order?
    pub(super) fn is_session_ordered(&self, earlier: TxnId, later: TxnId) -> bool {
        self.facts.history().is_session_ordered(earlier, later)
    }

    /// The predecessor at a position, counting from 0, with the reason; none after the last.
    pub(super) fn predecessor(&self, txn: TxnId, nth: usize) -> Option<(TxnId, Link)> {
        let mut nth = nth;
        if !txn.is_initial() {
            if nth == 0 {
                return Some((self.previous[txn.index()], Link::Session));
            }
            nth -= 1;
            let reads = self.read_range(txn);
            if nth < reads.len() {
                let read = reads.start + nth;
                return Some((self.sources[read], Link::ReadFrom(read)));
            }
            nth -= reads.len();
        }
        let recovered = self.recovered.of(txn);
        match recovered.get(nth) {
            Some(earlier) => Some((*earlier, Link::Recovered)),
            None => self.inferred.of(txn).get(nth - recovered.len()).map(|it| (*it, Link::Inferred)),
        }
    }

    /// Every inferred edge, as an older and a newer transaction.
    pub(super) fn inferred(&self) -> impl Iterator<Item = (TxnId, TxnId)> + '_ {
        let newer = |it: TxnId| self.inferred.of(it).iter().map(move |older| (*older, it));
        (0..self.previous.len()).map(TxnId::from_index).flat_map(newer)
    }

    /// A topological order of everybody who counts, the initial transaction first, or a cycle.
    ///
    /// It follows the recorded times, or the order of the input, as far as it can.
    pub(super) fn order(&self, budget: &Budget<'_>) -> Result<Result<Vec<TxnId>, Cycle>, StopReason> {
        const NEW: u8 = 0;
        const OPEN: u8 = 1;
        const DONE: u8 = 2;
        let mut state = vec![NEW; self.previous.len()];
        let mut order = Vec::with_capacity(self.previous.len());
        let mut open: Vec<(TxnId, usize)> = Vec::new();
        for (idx, root) in [TxnId::INITIAL].into_iter().chain(self.roots()).enumerate() {
            if idx % (1 << 14) == 0 {
                budget.check()?;
            }
            if state[root.index()] != NEW {
                continue;
            }
            state[root.index()] = OPEN;
            open.push((root, 0));
            while let Some((txn, nth)) = open.pop() {
                let mut nth = nth;
                let unfinished = loop {
                    match self.predecessor(txn, nth) {
                        Some((earlier, _)) if state[earlier.index()] != DONE => break Some(earlier),
                        Some(_) => nth += 1,
                        None => break None,
                    }
                };
                let Some(earlier) = unfinished else {
                    state[txn.index()] = DONE;
                    order.push(txn);
                    continue;
                };
                open.push((txn, nth));
                if state[earlier.index()] == OPEN {
                    let start = open.iter().position(|it| it.0 == earlier).unwrap_or(0);
                    return Ok(Err(open[start..].iter().rev().map(|it| it.0).collect()));
                }
                state[earlier.index()] = OPEN;
                open.push((earlier, 0));
            }
        }
        Ok(Ok(order))
    }

    /// Everybody who counts, by recorded time if there is any; else in the order of the input, unless sessions were
    /// written down one after the other: then side by side.
    fn roots(&self) -> Vec<TxnId> {
        let history = self.facts.history();
        let mut roots: Vec<TxnId> = self.facts.txns().collect();
        let session = |it: &TxnId| history.session_of(*it);
        if history.has_times() {
            roots.sort_by_cached_key(|it| history.end(*it).or(history.begin(*it)).unwrap_or(i64::MAX));
        } else if roots.windows(2).filter(|it| session(&it[0]) != session(&it[1])).count() < history.n_sessions() {
            roots.sort_by_cached_key(|it| {
                let length = session(it).map_or(1, |it| history.session_txns(it).len() as u64);
                ((history.nth_in_session(*it) as u64) << 32) / length
            });
        }
        roots
    }
}

/// For each transaction some predecessors.
#[derive(Debug, Default)]
struct Predecessors {
    starts: Vec<u32>,
    older: Vec<TxnId>,
}

impl Predecessors {
    fn new(n_txns: usize, edges: &Edges) -> Self {
        if edges.pairs.is_empty() {
            return Self::default();
        }
        let mut starts = vec![0u32; n_txns + 2];
        for (_, newer) in edges.iter() {
            starts[newer.index() + 2] += 1;
        }
        for idx in 2..starts.len() {
            starts[idx] += starts[idx - 1];
        }
        let mut older = vec![TxnId::INITIAL; edges.pairs.len()];
        for (earlier, newer) in edges.iter() {
            let slot = &mut starts[newer.index() + 1];
            older[*slot as usize] = earlier;
            *slot += 1;
        }
        Self { starts, older }
    }

    fn of(&self, txn: TxnId) -> &[TxnId] {
        match self.starts.get(txn.index()..txn.index() + 2) {
            Some(range) => &self.older[range[0] as usize..range[1] as usize],
            None => &[],
        }
    }
}

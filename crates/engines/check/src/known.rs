//! Saturation: what must come before what, whichever order is chosen, to a fixpoint.
//!
//! For each read of x by S from T and each other writer L of x: if S must see L, then L is older than T; if L is newer
//! than T, then S did not see L. With several possible writers, one that would contradict this is dropped, and the
//! last one left is taken. A cycle here is the answer already. What follows whichever is taken is in `by_cases.rs`.
//! Source: the pruning of Cobra and `VeriStrong` (their 1-width cycles). We differ: reachability is a vector clock per
//! node and only the nearest writer of each session is looked at, since its session siblings follow.
//! Cost of a round: edges times sessions, plus reads times sessions times a binary search.

mod by_cases;

use crate::graph::{Clocks, Graph, Why};
use crate::problem::Problem;
use crate::rule::{Events, Node, Rule, Visibility};
use crate::weak::{CausalPast, inferred};
use iso_evidence::{Budget, StopReason};
use iso_history::{KeyId, Outcome, TxnId};
use rustc_hash::FxHashSet;

/// What is known about a problem at a level.
#[derive(Debug)]
pub(crate) struct Known<'p> {
    pub(crate) problem: &'p Problem<'p>,
    pub(crate) rule: Rule,
    pub(crate) graph: Graph,
    /// Who each read of a counted transaction must have read from, where only one writer is left.
    pub(crate) sources: Vec<Option<TxnId>>,
    /// The writers left of each read with several.
    pub(crate) remaining: Vec<Vec<TxnId>>,
    pub(crate) removals: Vec<Removal>,
    /// For each read, the numbers of its removals.
    pub(crate) removed: Vec<Vec<u32>>,
    /// Where to place each node when nothing decides: recorded times, or the order of the input.
    pub(crate) rank: Vec<i64>,
    /// The time axis: ends and their nodes, ascending. Empty unless the level looks at times.
    pub(crate) axis: Vec<(i64, Node)>,
    /// For each key, its counted writers by session: sessions apart, each in session order.
    writers: Vec<Vec<Vec<TxnId>>>,
    /// The reads from which more may follow.
    open_reads: Vec<usize>,
    /// Keys and writers from which more may follow, where the first committer wins.
    open_writes: Vec<(u32, TxnId)>,
}

/// A possible writer that turned out to be impossible.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Removal {
    pub(crate) read: usize,
    pub(crate) candidate: TxnId,
    pub(crate) why: WhyNot,
    /// Concluded from edges with numbers below this one.
    pub(crate) after: u32,
}

/// Why a possible writer is impossible.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WhyNot {
    /// It comes after the reader.
    After,
    /// The reader must see this writer, which is newer.
    HiddenBy(TxnId),
}

/// What saturation looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    /// Reads of which only one possible writer is left.
    Sources,
    /// All reads: what follows in each case follows.
    Cases,
}

/// How saturation ended.
#[derive(Debug)]
pub(crate) enum Saturation {
    /// Nothing more follows; the nodes in an order that respects what is known.
    Stable(Vec<Node>),
    /// What is known is cyclic: these edges.
    Cycle(Vec<u32>),
    /// Nobody can have written what this read saw.
    NoWriter(usize),
}

impl<'p> Known<'p> {
    pub(crate) fn new(problem: &'p Problem<'p>, rule: Rule) -> Self {
        let n_nodes = rule.events.n_nodes(problem.n_txns());
        let mut known = Self {
            problem,
            rule,
            graph: Graph::new(n_nodes),
            sources: vec![None; problem.reads.len()],
            remaining: vec![Vec::new(); problem.reads.len()],
            removals: Vec::new(),
            removed: vec![Vec::new(); problem.reads.len()],
            rank: Vec::new(),
            axis: Vec::new(),
            writers: problem.keys().map(|key| by_session(problem, key)).collect(),
            open_reads: Vec::new(),
            open_writes: Vec::new(),
        };
        known.open_all();
        known.add_sessions();
        known.add_reads();
        known.add_lists();
        known.rank = ranks(problem, rule.events);
        if rule.real_time {
            known.add_real_time();
        }
        known
    }

    /// Assumes, of a level that does not look at times, that transactions began and ended then. What follows is a guess.
    pub(crate) fn assume_times(&mut self, times: impl Fn(TxnId) -> (Option<i64>, Option<i64>)) {
        debug_assert!(!self.rule.real_time, "the level looks at times itself");
        self.add_times(times);
    }

    /// Derives edges until nothing follows any more.
    pub(crate) fn saturate(&mut self, budget: &Budget<'_>) -> Result<Saturation, StopReason> {
        self.saturate_until(Depth::Sources, budget)
    }

    /// As [`Self::saturate`], and derives what holds whoever wrote what a read saw, too.
    pub(crate) fn saturate_by_cases(&mut self, budget: &Budget<'_>) -> Result<Saturation, StopReason> {
        self.saturate_until(Depth::Cases, budget)
    }

    fn saturate_until(&mut self, depth: Depth, budget: &Budget<'_>) -> Result<Saturation, StopReason> {
        loop {
            budget.check()?;
            let order = match self.graph.topological_order(&self.rank) {
                Ok(order) => order,
                Err(cycle) => return Ok(Saturation::Cycle(cycle)),
            };
            self.graph.note_order(&order);
            if self.rule.visibility == Visibility::Nothing {
                return Ok(Saturation::Stable(order));
            }
            let clocks = Clocks::new(self.problem, self.rule.events, &self.graph, &order);
            let mut round = Round { after: self.graph.edges.len() as u32, found: FxHashSet::default() };
            let past = self.causal_past(&order);
            self.prune(&clocks, past.as_ref(), &mut round);
            if let Some(read) = (0..self.sources.len()).find(|it| self.has_no_writer(*it)) {
                return Ok(Saturation::NoWriter(read));
            }
            self.derive(&clocks, past.as_ref(), &mut round);
            if depth == Depth::Cases && self.rule.visibility == Visibility::Everything {
                self.derive_by_cases(&clocks, &mut round);
            }
            if self.graph.edges.len() as u32 == round.after {
                return Ok(Saturation::Stable(order));
            }
        }
    }

    fn open_all(&mut self) {
        let counted = |it: &usize| self.problem.counts(self.problem.reads[*it].reader);
        self.open_reads = (0..self.problem.reads.len()).filter(counted).collect();
        if self.rule.events == Events::FirstCommitterWins {
            for (key_idx, writers) in self.writers.iter().enumerate() {
                self.open_writes.extend(writers.iter().flatten().map(|it| (key_idx as u32, *it)));
            }
        }
    }

    fn has_no_writer(&self, read: usize) -> bool {
        let reader = self.problem.reads[read].reader;
        self.sources[read].is_none() && self.remaining[read].is_empty() && self.counts(reader)
    }

    fn counts(&self, txn: TxnId) -> bool {
        self.problem.counts(txn)
    }

    fn add_sessions(&mut self) {
        let events = self.rule.events;
        if events != Events::One {
            for txn in [TxnId::INITIAL].into_iter().chain(self.problem.txns()) {
                self.graph.add((events.start(txn), events.commit(txn)), Why::Session, 0);
            }
        }
        for session in &self.problem.sessions {
            let mut previous = TxnId::INITIAL;
            for txn in session {
                self.graph.add(events.visibility(previous, *txn), Why::Session, 0);
                previous = *txn;
            }
        }
    }

    fn add_reads(&mut self) {
        for read in 0..self.problem.reads.len() {
            let reader = self.problem.reads[read].reader;
            let candidates = self.problem.candidates(read);
            match candidates {
                _ if !self.counts(reader) => self.remaining[read] = candidates.to_vec(),
                [source] => self.take_source(read, *source, 0),
                _ => self.remaining[read] = candidates.to_vec(),
            }
        }
    }

    fn take_source(&mut self, read: usize, source: TxnId, after: u32) {
        self.sources[read] = Some(source);
        self.remaining[read] = Vec::new();
        if !source.is_initial() && self.rule.visibility != Visibility::Nothing {
            let edge = self.rule.events.visibility(source, self.problem.reads[read].reader);
            self.graph.add(edge, Why::ReadFrom { read }, after);
        }
    }

    fn add_lists(&mut self) {
        for (idx, recovered) in self.problem.recovered.iter().enumerate() {
            if self.counts(recovered.earlier) && self.counts(recovered.later) {
                let edge = self.rule.events.version_order(recovered.earlier, recovered.later);
                self.graph.add(edge, Why::Recovered { recovered: idx }, 0);
            }
        }
    }

    /// Whoever ended before another one began comes before it.
    fn add_real_time(&mut self) {
        let history = self.problem.facts.history();
        let has_ended = |it: TxnId| history.outcome(it) == Outcome::Committed;
        self.add_times(|it| (history.begin(it), history.end(it).filter(|_| has_ended(it))));
    }

    /// A time axis with a node for each end: who ended comes before it, who began later after it.
    fn add_times(&mut self, times: impl Fn(TxnId) -> (Option<i64>, Option<i64>)) {
        let problem = self.problem;
        let counted = || problem.txns().filter(|it| problem.counts(*it));
        let end = |it: TxnId| times(it).1.map(|end| (end, it));
        let mut ends: Vec<(i64, TxnId)> = counted().filter_map(end).collect();
        ends.sort_unstable();
        for (end, txn) in ends {
            if self.axis.last().is_none_or(|it| it.0 < end) {
                let node = self.graph.add_node();
                self.rank.push(end);
                if let Some((_, previous)) = self.axis.last() {
                    self.graph.add((*previous, node), Why::RealTime, 0);
                }
                self.axis.push((end, node));
            }
            let (_, node) = self.axis[self.axis.len() - 1];
            self.graph.add((self.rule.events.commit(txn), node), Why::RealTime, 0);
        }
        for txn in counted() {
            if let Some(ended) = times(txn).0.and_then(|it| self.ended_until(it)) {
                self.graph.add((ended, self.rule.events.start(txn)), Why::RealTime, 0);
            }
        }
    }

    /// The node of the last end before a transaction began.
    pub(crate) fn ended_before(&self, txn: TxnId) -> Option<Node> {
        self.ended_until(self.problem.facts.history().begin(txn)?)
    }

    fn ended_until(&self, begin: i64) -> Option<Node> {
        let n_before = self.axis.partition_point(|it| it.0 < begin);
        self.axis[..n_before].last().map(|it| it.1)
    }

    /// The causal past by session order and known sources, for the level that needs it apart from the graph.
    fn causal_past(&self, order: &[Node]) -> Option<CausalPast> {
        (self.rule.visibility == Visibility::Causal).then(|| {
            let takes_part = |txn: TxnId| self.counts(txn);
            let order: Vec<TxnId> = order.iter().map(|it| self.rule.events.txn(*it)).collect();
            CausalPast::new(self.problem, &order, &self.sources, &|_| Vec::new(), &takes_part)
        })
    }

    /// Drops writers that cannot be sources, and takes the last one left.
    fn prune(&mut self, clocks: &Clocks, past: Option<&CausalPast>, round: &mut Round) {
        for read in 0..self.remaining.len() {
            let at = self.problem.reads[read];
            if self.remaining[read].is_empty() {
                continue;
            }
            let seen = self.must_see(read, clocks, past);
            let mut kept = Vec::new();
            for candidate in std::mem::take(&mut self.remaining[read]) {
                match self.why_impossible(at.reader, candidate, &seen, clocks) {
                    None => kept.push(candidate),
                    Some(why) => {
                        self.removed[read].push(self.removals.len() as u32);
                        self.removals.push(Removal { read, candidate, why, after: round.after });
                    }
                }
            }
            match kept.as_slice() {
                [source] if self.counts(at.reader) && self.counts(*source) => {
                    self.take_source(read, *source, round.after);
                }
                _ => self.remaining[read] = kept,
            }
        }
    }

    fn why_impossible(&self, reader: TxnId, candidate: TxnId, seen: &[TxnId], clocks: &Clocks) -> Option<WhyNot> {
        let events = self.rule.events;
        if clocks.reaches(events.start(reader), events.commit(candidate)) {
            return Some(WhyNot::After);
        }
        let hides = |it: &&TxnId| **it != candidate && self.is_newer(**it, candidate, clocks);
        seen.iter().find(hides).map(|it| WhyNot::HiddenBy(*it))
    }

    /// Is `other`'s version newer than `source`'s in every order?
    fn is_newer(&self, other: TxnId, source: TxnId, clocks: &Clocks) -> bool {
        let events = self.rule.events;
        source.is_initial() || clocks.reaches(events.overwrite(source), events.commit(other))
    }

    /// The counted writers of the key that the reader must see in every order; of each session the latest.
    fn must_see(&self, read: usize, clocks: &Clocks, past: Option<&CausalPast>) -> Vec<TxnId> {
        let at = self.problem.reads[read];
        let events = self.rule.events;
        let mut seen = Vec::new();
        match self.rule.visibility {
            Visibility::Everything | Visibility::CausalAndConflicting => {
                for writers in &self.writers[at.key.index()] {
                    let n_seen =
                        writers.partition_point(|it| clocks.reaches(events.commit(*it), events.start(at.reader)));
                    seen.extend(writers[..n_seen].last().copied());
                }
            }
            Visibility::Causal => {
                let past = past.expect("causal consistency comes with the causal past");
                past.latest_seen(at.reader, at.key, &mut |other| seen.push(other));
            }
            Visibility::DirectAndConflicting => {
                let all = self.writers[at.key.index()].iter().flatten().copied();
                seen.extend(all.filter(|it| self.sees_directly_or_by_conflict(*it, at.reader, clocks)));
            }
            Visibility::Direct => {
                let all = self.writers[at.key.index()].iter().flatten().copied();
                seen.extend(all.filter(|it| self.sees_directly(*it, at.reader)));
            }
            _ => {}
        }
        seen.retain(|it| *it != at.reader);
        seen
    }

    fn sees_directly(&self, writer: TxnId, reader: TxnId) -> bool {
        self.problem.is_session_ordered(writer, reader)
            || self.problem.reads_of(reader).any(|it| self.sources[it] == Some(writer))
    }

    /// Does one commit before the other starts, in every order?
    fn is_before(&self, earlier: TxnId, later: TxnId, clocks: &Clocks) -> bool {
        let (from, to) = self.rule.events.visibility(earlier, later);
        clocks.reaches(from, to)
    }

    fn sees_directly_or_by_conflict(&self, writer: TxnId, reader: TxnId, clocks: &Clocks) -> bool {
        self.sees_directly(writer, reader)
            || (self.is_before(writer, reader, clocks) && self.problem.conflict(writer, reader))
    }

    /// The writers that turned out to be impossible for a read, one after the other.
    pub(crate) fn removals_of(&self, read: usize) -> impl Iterator<Item = &Removal> {
        self.removed[read].iter().map(|it| &self.removals[*it as usize])
    }

    /// Who may have written what a read saw, after what was found out from so many edges.
    pub(crate) fn left_before(&self, read: usize, before: u32) -> Vec<TxnId> {
        let reader = self.problem.reads[read].reader;
        let removed: Vec<TxnId> =
            self.removals_of(read).filter(|it| it.after <= before).map(|it| it.candidate).collect();
        let is_removed = |it: &TxnId| removed.contains(it);
        self.problem.candidates(read).iter().copied().filter(|it| *it != reader && !is_removed(it)).collect()
    }

    fn derive(&mut self, clocks: &Clocks, past: Option<&CausalPast>, round: &mut Round) {
        match self.rule.visibility {
            Visibility::Everything => {
                self.derive_from_open_reads(clocks, round);
                self.derive_first_committers(clocks, round);
            }
            Visibility::CausalAndConflicting | Visibility::DirectAndConflicting => {
                self.derive_from_reads(clocks, past, round);
            }
            _ => self.derive_inferred(clocks, past, round),
        }
    }

    fn derive_inferred(&mut self, clocks: &Clocks, past: Option<&CausalPast>, round: &mut Round) {
        let mut found = Vec::new();
        let takes_part = |txn: TxnId| self.counts(txn);
        inferred(self.problem, self.rule.visibility, &self.sources, &takes_part, past, &mut |read, other| {
            found.push((read, other));
        });
        for (read, other) in found {
            let source = self.sources[read].expect("edges are inferred only from reads with a source");
            let edge = self.rule.events.version_order(other, source);
            self.derived(edge, Why::MustBeOlder { read, other }, clocks, round);
        }
    }

    fn derive_from_reads(&mut self, clocks: &Clocks, past: Option<&CausalPast>, round: &mut Round) {
        for read in 0..self.sources.len() {
            let Some(source) = self.sources[read] else { continue };
            for other in self.must_see(read, clocks, past) {
                if other != source {
                    let edge = self.rule.events.version_order(other, source);
                    self.derived(edge, Why::MustBeOlder { read, other }, clocks, round);
                }
            }
            for other in self.not_seen(read, source, clocks) {
                let edge = self.rule.events.anti_dependency(self.problem.reads[read].reader, other);
                self.derived(edge, Why::NotSeen { read, other }, clocks, round);
            }
        }
    }

    /// As `derive_from_reads`, for levels that see everything: there a read with which each other writer of the key is
    /// known to be older than the source, or not seen, has nothing more to say.
    fn derive_from_open_reads(&mut self, clocks: &Clocks, round: &mut Round) {
        let mut open = std::mem::take(&mut self.open_reads);
        open.retain(|read| match self.sources[*read] {
            Some(source) => !self.settle_read(*read, source, clocks, round),
            None => true,
        });
        self.open_reads = open;
    }

    /// Derives what follows from a read; true if that is all that ever will.
    fn settle_read(&mut self, read: usize, source: TxnId, clocks: &Clocks, round: &mut Round) -> bool {
        let at = self.problem.reads[read];
        let events = self.rule.events;
        let (start, overwrite) = (events.start(at.reader), events.overwrite(source));
        let mut is_settled = true;
        for session in 0..self.writers[at.key.index()].len() {
            let writers = &self.writers[at.key.index()][session];
            let n_seen = writers.partition_point(|it| clocks.reaches(events.commit(*it), start));
            let n_older = writers.partition_point(|it| *it == source || clocks.reaches(events.commit(*it), overwrite));
            let first_newer = writers.partition_point(|it| !self.is_newer(*it, source, clocks));
            let may_see = |it: &TxnId| *it != at.reader && !clocks.reaches(start, events.commit(*it));
            let first_unseen = writers.partition_point(may_see);
            let last_seen = writers[..n_seen].last().copied().filter(|it| *it != source && *it != at.reader);
            let is_other = |it: &&TxnId| **it != at.reader && **it != source;
            let newer = writers[first_newer..].iter().find(is_other).copied();
            is_settled &= n_seen.max(n_older) >= first_newer.min(first_unseen);
            if let Some(other) = last_seen {
                let edge = events.version_order(other, source);
                self.derived(edge, Why::MustBeOlder { read, other }, clocks, round);
            }
            if let Some(other) = newer {
                let edge = events.anti_dependency(at.reader, other);
                self.derived(edge, Why::NotSeen { read, other }, clocks, round);
            }
        }
        is_settled
    }

    /// The counted writers of the key that are newer than the source in every order; of each session the earliest.
    fn not_seen(&self, read: usize, source: TxnId, clocks: &Clocks) -> Vec<TxnId> {
        let at = self.problem.reads[read];
        if self.rule.visibility == Visibility::CausalAndConflicting {
            return Vec::new();
        }
        let mut newer = Vec::new();
        for writers in &self.writers[at.key.index()] {
            let n_older = writers.partition_point(|it| !self.is_newer(*it, source, clocks));
            let mut rest = writers[n_older..].iter().filter(|it| **it != at.reader && **it != source);
            if self.rule.visibility == Visibility::DirectAndConflicting {
                newer.extend(rest.filter(|it| self.problem.conflict(**it, at.reader)));
            } else {
                newer.extend(rest.next());
            }
        }
        newer
    }

    /// Two writers of a key: if one's snapshot precedes the other's commit, then so does its commit the other's snapshot.
    fn derive_first_committers(&mut self, clocks: &Clocks, round: &mut Round) {
        let mut open = std::mem::take(&mut self.open_writes);
        open.retain(|(key_idx, earlier)| !self.settle_write(*key_idx, *earlier, clocks, round));
        self.open_writes = open;
    }

    /// Derives what follows from a write; true if that is all that ever will.
    fn settle_write(&mut self, key_idx: u32, earlier: TxnId, clocks: &Clocks, round: &mut Round) -> bool {
        let events = self.rule.events;
        let start = events.start(earlier);
        let mut is_settled = true;
        for session in 0..self.writers[key_idx as usize].len() {
            let writers = &self.writers[key_idx as usize][session];
            let first_newer = writers.partition_point(|it| !clocks.reaches(start, events.commit(*it)));
            let n_older = writers.partition_point(|it| *it == earlier || clocks.reaches(events.commit(*it), start));
            is_settled &= n_older >= first_newer;
            let next = writers[first_newer..].iter().find(|it| **it != earlier).copied();
            if let Some(later) = next {
                let edge = events.version_order(earlier, later);
                self.derived(edge, Why::FirstCommitter { earlier, later }, clocks, round);
            }
        }
        is_settled
    }

    fn derived(&mut self, edge: (Node, Node), why: Why, clocks: &Clocks, round: &mut Round) {
        if !clocks.reaches(edge.0, edge.1) && round.found.insert(edge) {
            self.graph.add(edge, why, round.after);
        }
    }
}

/// One pass over all reads with the same clocks.
struct Round {
    /// The number of edges when the clocks were computed.
    after: u32,
    found: FxHashSet<(Node, Node)>,
}

fn by_session(problem: &Problem<'_>, key: KeyId) -> Vec<Vec<TxnId>> {
    let mut writers: Vec<TxnId> = problem.writers_of(key).iter().copied().filter(|it| problem.counts(*it)).collect();
    writers.sort_unstable_by_key(|it| problem.place_in_session(*it));
    writers
        .chunk_by(|a, b| problem.place_in_session(*a).0 == problem.place_in_session(*b).0)
        .map(<[_]>::to_vec)
        .collect()
}

/// Recorded times if there are any; else the order of the input, unless sessions were written down one after the
/// other: then the place in the session, so that sessions run side by side.
fn ranks(problem: &Problem<'_>, events: Events) -> Vec<i64> {
    let history = problem.facts.history();
    let session = |it: TxnId| problem.place_in_session(it).0;
    let txns: Vec<TxnId> = problem.txns().collect();
    let n_changes = txns.windows(2).filter(|it| session(it[0]) != session(it[1])).count();
    let is_by_session = n_changes < problem.sessions.len();
    let mut rank = vec![i64::MIN; events.n_nodes(problem.n_txns())];
    for txn in txns {
        let place = if is_by_session {
            let (session, nth) = problem.place_in_session(txn);
            (i64::from(nth) << 32) / i64::from(problem.sessions[session as usize].len() as u32)
        } else {
            i64::from(txn.raw())
        };
        let (begin, end) = if history.has_times() {
            let begin = history.begin(txn).or(history.end(txn)).unwrap_or(i64::MAX);
            (begin, history.end(txn).unwrap_or(begin))
        } else {
            (place, place)
        };
        rank[events.start(txn) as usize] = begin;
        rank[events.commit(txn) as usize] = end;
    }
    rank
}

//! Saturation: what must come before what, whichever order is chosen, to a fixpoint.
//!
//! For each read of x by S from T and each other writer L of x: if S must see L, then L is older than T; if L is newer
//! than T, then S did not see L. With several possible writers, one that would contradict this is dropped, and the
//! last one left is taken. A cycle here is the answer already. What follows whichever is taken is in `by_cases.rs`.
//! Source: the pruning of Cobra and `VeriStrong` (their 1-width cycles). We differ: reachability is a vector clock per
//! node and only the nearest writer of each session is looked at, since its session siblings follow.
//! Cost of a round: edges times sessions, plus reads times sessions times a binary search.

mod by_cases;
mod news;
#[cfg(test)]
mod tests;
mod times;

use crate::graph::{Clocks, Graph, Why};
use crate::problem::Problem;
use crate::rule::{Events, Node, Rule, Visibility};
use crate::weak::{CausalPast, inferred};
use iso_evidence::{Budget, StopReason};
use iso_history::{KeyId, TxnId};
use news::News;
use rustc_hash::FxHashSet;
use times::ranks;

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

    /// Derives edges until nothing follows any more.
    pub(crate) fn saturate(&mut self, budget: &Budget<'_>) -> Result<Saturation, StopReason> {
        self.saturate_until(Depth::Sources, budget)
    }

    /// As [`Self::saturate`], and derives what holds whoever wrote what a read saw, too.
    pub(crate) fn saturate_by_cases(&mut self, budget: &Budget<'_>) -> Result<Saturation, StopReason> {
        self.saturate_until(Depth::Cases, budget)
    }

    fn saturate_until(&mut self, depth: Depth, budget: &Budget<'_>) -> Result<Saturation, StopReason> {
        let mut before = None;
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
            let news = News::new(self, before.as_ref(), &clocks);
            let mut round = Round { after: self.graph.edges.len() as u32, found: FxHashSet::default(), news };
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
            before = Some(clocks);
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
            if self.remaining[read].is_empty() || !round.news.concerns(at.reader, at.key) {
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
            let at = self.problem.reads[read];
            if !round.news.concerns(at.reader, at.key) {
                continue;
            }
            for other in self.must_see(read, clocks, past) {
                if other != source {
                    let edge = self.rule.events.version_order(other, source);
                    self.derived(edge, Why::MustBeOlder { read, other }, clocks, round);
                }
            }
            for other in self.not_seen(read, source, clocks) {
                let edge = self.rule.events.anti_dependency(at.reader, other);
                self.derived(edge, Why::NotSeen { read, other }, clocks, round);
            }
        }
    }

    /// As `derive_from_reads`, for levels that see everything: there a read with which each other writer of the key is
    /// known to be older than the source, or not seen, has nothing more to say.
    fn derive_from_open_reads(&mut self, clocks: &Clocks, round: &mut Round) {
        let mut open = std::mem::take(&mut self.open_reads);
        open.retain(|read| {
            let at = self.problem.reads[*read];
            match self.sources[*read] {
                Some(source) if round.news.concerns(at.reader, at.key) => {
                    !self.settle_read(*read, source, clocks, round)
                }
                _ => true,
            }
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
        open.retain(|(key_idx, earlier)| {
            !round.news.concerns_key(*key_idx) || !self.settle_write(*key_idx, *earlier, clocks, round)
        });
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
    news: News,
}

fn by_session(problem: &Problem<'_>, key: KeyId) -> Vec<Vec<TxnId>> {
    let mut writers: Vec<TxnId> = problem.writers_of(key).iter().copied().filter(|it| problem.counts(*it)).collect();
    writers.sort_unstable_by_key(|it| problem.place_in_session(*it));
    writers
        .chunk_by(|a, b| problem.place_in_session(*a).0 == problem.place_in_session(*b).0)
        .map(<[_]>::to_vec)
        .collect()
}

//! The shortest derivation of everything that follows without a case distinction.
//!
//! A dependency costs as many steps as its derivation has, and is kept with its cheapest one. Rules are applied until
//! nothing becomes cheaper. Since a derivation costs more than each of its premises, none goes in circles.
//! The rules are those of `certify`, stated here once more, since nothing is shared with it.

use super::routes::{EventNode, Hop, Routes};
use iso_evidence::{Assumption, Case, Edge, Reason};
use iso_history::{Facts, KeyId, OpId, Standing, TxnId};
use iso_spec::Level;

/// Longer derivations are not looked for.
const MAX_COST: u32 = 400;

/// What follows from a history and some assumptions at a level.
pub(super) struct Derivations<'a> {
    pub(super) facts: &'a Facts<'a>,
    pub(super) level: Level,
    pub(super) assumed: Vec<Assumption>,
    pub(super) known: Vec<Known>,
    /// Along the order of events.
    pub(super) routes: Routes,
    /// Along session order and reads only.
    pub(super) causes: Routes,
    /// Whose version each read saw, if that is known, and what it costs to say so. Several if none of them is possible.
    pub(super) sources: Vec<Vec<(TxnId, u32)>>,
    /// Why transactions that need not have happened are not the sources of reads, where that is so.
    pub(super) never: Vec<Case>,
}

/// A dependency with its cheapest derivation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) edge: Edge,
    pub(super) cost: u32,
    pub(super) below: Below,
    /// The read, by its place in the facts, whose source must be known, and that source.
    pub(super) read: Option<(usize, TxnId)>,
}

/// What a dependency follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Below {
    Nothing,
    /// The reader must see the writer.
    Sight(TxnId, usize),
    /// One event is before another.
    Order(EventNode, EventNode),
}

/// What makes somebody impossible as the source of a read.
#[derive(Clone, Copy, Debug)]
pub(super) enum WhyNot {
    /// It need not have happened, and if it had, that would be impossible.
    Never,
    /// It comes after the reader.
    After,
    /// The reader must see this one, which is newer.
    HiddenBy(TxnId),
}

/// A step of a kind, for levels that see only so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Session,
    Read,
}

impl<'a> Derivations<'a> {
    pub(super) fn new(facts: &'a Facts<'a>, level: Level, assumed: &[Assumption]) -> Self {
        let n_txns = facts.history().n_txns();
        let mut derived = Self {
            facts,
            level,
            assumed: assumed.to_vec(),
            known: Vec::new(),
            routes: Routes::new(n_txns, &[]),
            causes: Routes::new(n_txns, &[]),
            sources: vec![Vec::new(); facts.reads().len()],
            never: Vec::new(),
        };
        derived.never = derived.impossible_sources();
        derived.add_given();
        derived.update();
        while derived.apply_rules() {
            derived.update();
        }
        derived
    }

    fn update(&mut self) {
        let n_txns = self.facts.history().n_txns();
        let hop = |(idx, it): (usize, &Known)| {
            let (from, to) = self.events(&it.edge);
            Hop { from, to, cost: it.cost, edge: idx }
        };
        let is_cause = |it: &Known| matches!(it.edge.because, Reason::Session | Reason::ReadFrom { .. });
        let all = || self.known.iter().enumerate();
        let order: Vec<Hop> = all().filter(|it| self.is_order(&it.1.edge)).map(hop).collect();
        let causes: Vec<Hop> = all().filter(|it| is_cause(it.1)).map(hop).collect();
        self.routes = Routes::new(n_txns, &order);
        self.causes = Routes::new(n_txns, &causes);
        self.sources = (0..self.facts.reads().len()).map(|it| self.find_sources(it)).collect();
    }

    pub(super) fn counts(&self, txn: TxnId) -> bool {
        let is_source = |it: &Assumption| matches!(it, Assumption::ReadFrom { writer, .. } if *writer == txn);
        self.facts.standing(txn) == Standing::Counted || self.assumed.iter().any(is_source)
    }

    fn first_committer_wins(&self) -> bool {
        matches!(self.level, Level::SnapshotIsolation | Level::StrongSnapshotIsolation)
    }

    pub(super) fn start(&self, txn: TxnId) -> EventNode {
        let has_snapshots = self.level == Level::PrefixConsistency || self.first_committer_wins();
        if has_snapshots { 2 * txn.index() } else { self.commit(txn) }
    }

    #[expect(clippy::unused_self, reason = "reads like `start`")]
    pub(super) fn commit(&self, txn: TxnId) -> EventNode {
        2 * txn.index() + 1
    }

    /// The events that a dependency puts in order.
    pub(super) fn events(&self, edge: &Edge) -> (EventNode, EventNode) {
        match edge.because {
            Reason::AntiDependency { .. } => (self.start(edge.from), self.commit(edge.to)),
            Reason::VersionOrder { .. } if !self.first_committer_wins() => {
                (self.commit(edge.from), self.commit(edge.to))
            }
            _ => (self.commit(edge.from), self.start(edge.to)),
        }
    }

    /// Does a dependency say which event is before which?
    pub(super) fn is_order(&self, edge: &Edge) -> bool {
        match (edge.because, self.level) {
            (Reason::AntiDependency { .. }, Level::UpdateAtomic | Level::ParallelSnapshotIsolation) => {
                self.conflict(edge.from, edge.to)
            }
            (Reason::AntiDependency { .. }, level) => level.implies(Level::PrefixConsistency),
            _ => true,
        }
    }

    fn conflict(&self, one: TxnId, other: TxnId) -> bool {
        self.facts.final_writes(one).iter().any(|(key, _)| self.facts.writes(other, *key))
    }

    pub(super) fn counted_writers(&self, key: KeyId) -> Vec<TxnId> {
        self.facts.writers_of(key).iter().copied().filter(|it| self.counts(*it)).collect()
    }

    /// Keeps a dependency if this derivation is its cheapest one so far.
    fn add(&mut self, edge: Edge, cost: u32, below: Below, read: Option<(usize, TxnId)>) -> bool {
        if cost > MAX_COST {
            return false;
        }
        let known = Known { edge, cost, below, read };
        match self.known.iter_mut().find(|it| it.edge == edge) {
            Some(it) if it.cost <= cost => return false,
            Some(it) => *it = known,
            None => self.known.push(known),
        }
        true
    }

    fn add_given(&mut self) {
        let history = self.facts.history();
        let counted: Vec<TxnId> = (0..history.n_txns()).map(TxnId::from_index).filter(|it| self.counts(*it)).collect();
        for from in &counted {
            for to in &counted {
                let edge = |because| Edge { from: *from, to: *to, because };
                if history.is_session_ordered(*from, *to) {
                    self.add(edge(Reason::Session), 1, Below::Nothing, None);
                }
                if self.level.needs_times() && history.is_real_time_ordered(*from, *to) {
                    self.add(edge(Reason::RealTime), 1, Below::Nothing, None);
                }
            }
        }
        for key in history.keys() {
            self.add_list(key);
        }
        for assumed in self.assumed.clone() {
            if let Assumption::Older { key, older, newer } = assumed {
                let because = Reason::VersionOrder { key, shown_by: None };
                self.add(Edge { from: older, to: newer, because }, 1, Below::Nothing, None);
            }
        }
    }

    fn add_list(&mut self, key: KeyId) {
        let Some(recovered) = self.facts.recovered_order(key) else { return };
        let because = Reason::VersionOrder { key, shown_by: Some(recovered.shown_by) };
        let writers = self.counted_writers(key);
        for from in &writers {
            for to in &writers {
                if from != to && self.is_plainly_older(*from, *to, key) {
                    self.add(Edge { from: *from, to: *to, because }, 1, Below::Nothing, None);
                }
            }
        }
    }

    /// Says whether anything became cheaper.
    fn apply_rules(&mut self) -> bool {
        if self.level == Level::ReadUncommitted {
            return false;
        }
        let mut is_new = false;
        for read in 0..self.facts.reads().len() {
            for (source, cost) in self.sources[read].clone() {
                is_new |= self.learn_from_read(read, source, cost);
            }
        }
        for key in self.facts.history().keys() {
            is_new |= self.learn_from_writers(key);
        }
        is_new
    }

    fn learn_from_read(&mut self, read: usize, source: TxnId, cost: u32) -> bool {
        let at = self.facts.reads()[read];
        let (because, known) = (Reason::ReadFrom { read: at.op }, Some((read, source)));
        let mut is_new = self.add(Edge { from: source, to: at.reader, because }, 1 + cost, Below::Nothing, known);
        for other in self.counted_writers(at.key) {
            if other == source || other == at.reader {
                continue;
            }
            if let (Some(sight), false) = (self.sight_cost(other, read), source.is_initial()) {
                let because = Reason::VersionOrder { key: at.key, shown_by: Some(at.op) };
                let edge = Edge { from: other, to: source, because };
                is_new |= self.add(edge, 2 + sight + cost, Below::Sight(other, read), known);
            }
            if let Some((older, below)) = self.older(source, other, at.key) {
                let because = Reason::AntiDependency { key: at.key, read: at.op };
                let edge = Edge { from: at.reader, to: other, because };
                is_new |= self.add(edge, 1 + older + cost, below, known);
            }
        }
        is_new
    }

    fn learn_from_writers(&mut self, key: KeyId) -> bool {
        let mut is_new = false;
        let writers = self.counted_writers(key);
        for from in &writers {
            for to in writers.iter().filter(|it| *it != from) {
                let (start, commit, end) = (self.start(*from), self.commit(*from), self.commit(*to));
                let edge = |because| Edge { from: *from, to: *to, because };
                if let (Some(cost), true) = (self.routes.cost(start, end), self.first_committer_wins()) {
                    let because = Reason::FirstCommitter { key };
                    is_new |= self.add(edge(because), 2 + cost, Below::Order(start, end), None);
                }
                // Their order makes one see the other, whatever it follows from.
                if let (Some(cost), true) = (self.routes.cost(commit, end), self.level == Level::UpdateAtomic) {
                    let because = Reason::VersionOrder { key, shown_by: None };
                    is_new |= self.add(edge(because), 1 + cost, Below::Order(commit, end), None);
                }
            }
        }
        is_new
    }

    /// What it costs to say that one version is older than another.
    pub(super) fn older(&self, older: TxnId, newer: TxnId, key: KeyId) -> Option<(u32, Below)> {
        if !self.counts(older) || older == newer {
            return None;
        }
        if self.is_plainly_older(older, newer, key) {
            return Some((0, Below::Nothing));
        }
        let (from, to) = (self.commit(older), self.commit(newer));
        self.routes.cost(from, to).map(|it| (it, Below::Order(from, to)))
    }

    fn is_plainly_older(&self, older: TxnId, newer: TxnId, key: KeyId) -> bool {
        let Some(recovered) = self.facts.recovered_order(key) else { return older.is_initial() };
        let place = |txn: TxnId| recovered.writers.iter().position(|it| *it == txn);
        older.is_initial() || place(older).is_some_and(|first| place(newer).is_none_or(|second| first < second))
    }

    /// What it costs to say that a read must see a writer.
    pub(super) fn sight_cost(&self, writer: TxnId, read: usize) -> Option<u32> {
        let sight = self.sight(writer, read)?;
        Some(sight.iter().map(|it| self.known[*it].cost).sum())
    }

    /// The dependencies by which a read must see a writer: the cheapest ones.
    pub(super) fn sight(&self, writer: TxnId, read: usize) -> Option<Vec<usize>> {
        use Kind::{Read, Session};
        let reader = self.facts.reads()[read].reader;
        let walks: &[&[Kind]] = match self.level {
            Level::ReadUncommitted => &[],
            Level::ReadCommitted => &[&[Read]],
            Level::ReadYourWrites => &[&[Session]],
            Level::MonotonicReads => &[&[Read, Session]],
            Level::MonotonicWrites => &[&[Session, Read]],
            Level::WritesFollowReads => &[&[Read, Read], &[Read, Session, Read]],
            Level::ReadAtomic | Level::UpdateAtomic => &[&[Session], &[Read]],
            Level::CausalConsistency => return way(&self.causes, self.commit(writer), self.start(reader)),
            _ => return way(&self.routes, self.commit(writer), self.start(reader)),
        };
        let op = self.facts.reads()[read].op;
        let walked = walks.iter().filter_map(|it| self.walk((writer, reader), it, op));
        let conflicting = (self.level == Level::UpdateAtomic && self.conflict(reader, writer))
            .then(|| way(&self.routes, self.commit(writer), self.commit(reader)))
            .flatten();
        walked.chain(conflicting).min_by_key(|it| it.iter().map(|it| self.known[*it].cost).sum::<u32>())
    }

    /// The cheapest walk by dependencies of these kinds.
    fn walk(&self, (from, to): (TxnId, TxnId), kinds: &[Kind], seen_by: OpId) -> Option<Vec<usize>> {
        let (kind, rest) = kinds.split_first()?;
        let is_next = |it: &&usize| {
            let edge = self.known[**it].edge;
            let is_kind = match edge.because {
                Reason::Session => *kind == Kind::Session,
                // Read committed asks that the other read came first.
                Reason::ReadFrom { read } => {
                    *kind == Kind::Read && (self.level != Level::ReadCommitted || read < seen_by)
                }
                _ => false,
            };
            is_kind && edge.from == from && (!rest.is_empty() || edge.to == to)
        };
        let all: Vec<usize> = (0..self.known.len()).collect();
        let walks = all.iter().filter(is_next).filter_map(|first| {
            let rest =
                if rest.is_empty() { Vec::new() } else { self.walk((self.known[*first].edge.to, to), rest, seen_by)? };
            Some([vec![*first], rest].concat())
        });
        walks.min_by_key(|it| it.iter().map(|it| self.known[*it].cost).sum::<u32>())
    }

    /// Whose version a read saw: assumed, or the only possible writer, or one such that all others are excluded.
    fn find_sources(&self, read: usize) -> Vec<(TxnId, u32)> {
        let at = self.facts.reads()[read];
        if !self.counts(at.reader) || self.level == Level::ReadUncommitted {
            return Vec::new();
        }
        let assumed = self.assumed.iter().find_map(|it| match it {
            Assumption::ReadFrom { read, writer } if *read == at.op => Some((*writer, 0)),
            _ => None,
        });
        let candidates = self.facts.candidates(read);
        match (assumed, candidates) {
            (Some(assumed), _) => return vec![assumed],
            (None, [only]) => return vec![(*only, 0)],
            _ => {}
        }
        let exclusions: Vec<Option<u32>> =
            candidates.iter().map(|it| self.why_not(*it, read).map(|it| 1 + it.0)).collect();
        let source = |idx: usize| {
            let others = exclusions.iter().enumerate().filter(|it| it.0 != idx);
            let cost = others.map(|it| *it.1).sum::<Option<u32>>()?;
            self.counts(candidates[idx]).then_some((candidates[idx], cost))
        };
        (0..candidates.len()).filter_map(source).collect()
    }

    /// The cheapest reason why a writer is not the source of a read.
    pub(super) fn why_not(&self, writer: TxnId, read: usize) -> Option<(u32, WhyNot)> {
        let at = self.facts.reads()[read];
        if let Some(case) = self.never(writer, read) {
            return Some((case.contradiction.size() as u32, WhyNot::Never));
        }
        let after = self.routes.cost(self.start(at.reader), self.commit(writer)).map(|it| (1 + it, WhyNot::After));
        let hidden = self.counted_writers(at.key).into_iter().filter(|it| *it != writer && *it != at.reader);
        let hidden = hidden.filter_map(|it| {
            let (older, _) = self.older(writer, it, at.key)?;
            Some((1 + older + self.sight_cost(it, read)?, WhyNot::HiddenBy(it)))
        });
        after.into_iter().chain(hidden).min_by_key(|it| it.0)
    }

    pub(super) fn never(&self, writer: TxnId, read: usize) -> Option<&Case> {
        let assumed = Assumption::ReadFrom { read: self.facts.reads()[read].op, writer };
        self.never.iter().find(|it| it.assumed == assumed)
    }

    /// Nothing is known of a transaction that need not have happened, unless somebody read from it: so that is tried.
    fn impossible_sources(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for (read, at) in self.facts.reads().iter().enumerate().filter(|it| self.counts(it.1.reader)) {
            for writer in self.facts.candidates(read).iter().filter(|it| !self.counts(**it)) {
                let assumed = Assumption::ReadFrom { read: at.op, writer: *writer };
                let all = [self.assumed.as_slice(), &[assumed]].concat();
                let contradiction = Derivations::new(self.facts, self.level, &all).contradiction();
                cases.extend(contradiction.map(|contradiction| Case { assumed, contradiction }));
            }
        }
        cases
    }

    /// What may be asked: who wrote what a read saw, and which of two versions is older.
    pub(super) fn questions(&self) -> Vec<Vec<Assumption>> {
        let reads = self.facts.reads().iter().enumerate();
        let is_open = |it: &(usize, _)| self.sources[it.0].is_empty() && self.counts(self.facts.reads()[it.0].reader);
        let of_read = |(read, at): (usize, &iso_history::ExternalRead)| {
            let writers = self.facts.candidates(read).iter();
            writers.map(|it| Assumption::ReadFrom { read: at.op, writer: *it }).collect()
        };
        let mut questions: Vec<Vec<Assumption>> = reads.filter(is_open).map(of_read).collect();
        for key in self.facts.history().keys() {
            let writers = self.counted_writers(key);
            for (idx, one) in writers.iter().enumerate() {
                for other in writers[idx + 1..].iter().filter(|it| self.is_undecided(*one, **it)) {
                    let order = |(older, newer): (TxnId, TxnId)| Assumption::Older { key, older, newer };
                    questions.push([(*one, *other), (*other, *one)].map(order).to_vec());
                }
            }
        }
        questions
    }

    fn is_undecided(&self, one: TxnId, other: TxnId) -> bool {
        let is_before = |a: TxnId, b: TxnId| self.routes.cost(self.commit(a), self.commit(b)).is_some();
        !is_before(one, other) && !is_before(other, one)
    }
}

/// The dependencies between two events of different transactions.
pub(super) fn way(routes: &Routes, from: EventNode, to: EventNode) -> Option<Vec<usize>> {
    routes.cost(from, to).map(|_| routes.path(from, to)).filter(|it| !it.is_empty())
}

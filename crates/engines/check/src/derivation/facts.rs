//! What saturation knows, traced back to axioms.
//!
//! A fact rests on facts that were known before it. Given those, a few inferences make it known for good: each has one
//! literal left when its turn comes.

use super::atoms::{Atoms, event};
use super::hops::{Kind, events_of, hops, links};
use crate::graph::{KnownEdge, Why};
use crate::known::{Known, Removal, WhyNot};
use crate::rule::{Events, Node, Visibility};
use crate::weak::Sources;
use iso_evidence::{Atom, Axiom, Event, Follows, Inference, Literal, Unless};
use iso_history::{KeyId, TxnId};

/// Something that holds in every execution. Numbers `before` are those of known edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Fact {
    /// An edge of the known graph.
    Edge(u32),
    /// A path of edges with smaller numbers.
    Path { from: Node, to: Node, before: u32 },
    /// One version of a key is newer than another, by edges with smaller numbers.
    Newer { key: KeyId, older: TxnId, newer: TxnId, before: u32 },
    /// A read has one possible writer left.
    Source(usize),
    /// A possible writer is none: the removal with this number.
    Removed(usize),
}

/// What makes a fact known.
#[derive(Debug, Default)]
pub(super) struct Ground {
    pub(super) premises: Vec<Fact>,
    pub(super) inferences: Vec<Inference>,
    /// That one event comes before the other, which follows from the inferences together, by cases.
    pub(super) so: Option<(Event, Event)>,
}

impl Ground {
    fn axiom(&mut self, axiom: Axiom) {
        self.inferences.push(Inference::Axiom(axiom));
    }

    fn acyclic(&mut self, events: Vec<Event>) {
        self.inferences.push(Inference::Acyclic(events));
    }
}

/// Why saturation knows what it knows.
pub(super) struct Reasons<'k> {
    pub(super) known: &'k Known<'k>,
}

impl<'k> Reasons<'k> {
    pub(super) fn new(known: &'k Known<'k>) -> Self {
        Self { known }
    }

    /// The literal that is true because of a fact; none of an edge that starts and ends at the same event.
    pub(super) fn literal(&self, fact: Fact, atoms: &mut Atoms) -> Option<Literal> {
        let (events, problem) = (self.known.rule.events, self.known.problem);
        let mut before =
            |from: Node, to: Node| (from != to).then(|| atoms.before(event(events, from), event(events, to)));
        match fact {
            Fact::Edge(edge_idx) => {
                let edge = &self.known.graph.edges[edge_idx as usize];
                before(edge.from, edge.to)
            }
            Fact::Path { from, to, .. } => before(from, to),
            Fact::Newer { older, newer, .. } => before(events.commit(older), events.commit(newer)),
            Fact::Source(read) => {
                let (read, writer) = (problem.reads[read].op, self.known.sources[read]?);
                Some(atoms.literal(Atom::ReadFrom { read, writer }))
            }
            Fact::Removed(removal) => {
                let Removal { read, candidate: writer, .. } = self.known.removals[removal];
                Some(atoms.literal(Atom::ReadFrom { read: problem.reads[read].op, writer }).negated())
            }
        }
    }

    /// Why a fact holds; nothing if that cannot be found again.
    pub(super) fn ground(&self, fact: Fact) -> Option<Ground> {
        match fact {
            Fact::Edge(edge_idx) => self.edge(&self.known.graph.edges[edge_idx as usize]),
            Fact::Path { from, to, before } => self.path(from, to, before),
            Fact::Newer { key, older, newer, before } => Some(self.newer(key, older, newer, before)),
            Fact::Source(read) => {
                let premises = self.removals_of(read).map(|it| Fact::Removed(it as usize)).collect();
                let sources = Axiom::Sources { read: self.known.problem.reads[read].op };
                Some(Ground { premises, inferences: vec![Inference::Axiom(sources)], so: None })
            }
            Fact::Removed(removal) => self.removed(&self.known.removals[removal]),
        }
    }

    pub(super) fn removals_of(&self, read: usize) -> impl Iterator<Item = u32> {
        self.known.removed[read].iter().copied()
    }

    pub(super) fn sees_everything(&self) -> bool {
        self.known.rule.visibility == Visibility::Everything
    }

    fn edge(&self, edge: &KnownEdge) -> Option<Ground> {
        let (problem, events) = (self.known.problem, self.known.rule.events);
        let mut ground = Ground::default();
        match edge.why {
            Why::Session | Why::RealTime => return self.path(edge.from, edge.to, u32::MAX),
            Why::Recovered { recovered } => {
                let it = problem.recovered[recovered];
                ground.axiom(Axiom::VersionOrder { key: it.key, older: it.earlier, newer: it.later });
            }
            Why::ReadFrom { read } => self.read_from(read, edge.after, &mut ground)?,
            Why::MustBeOlder { read, other } => self.must_be_older(read, other, edge.after, &mut ground)?,
            Why::NotSeen { read, other } => self.not_seen(read, other, edge.after, &mut ground)?,
            Why::BeforeWriters { read } => self.before_writers(read, edge, &mut ground),
            Why::FirstCommitter { earlier, later } => {
                let (from, to) = (events.start(earlier), events.commit(later));
                ground.premises.push(Fact::Path { from, to, before: edge.after });
                let key = problem.writes_of(earlier).find(|it| problem.writes(later, *it))?;
                ground.axiom(Axiom::FirstCommitter { key, one: earlier, other: later });
            }
        }
        Some(ground)
    }

    fn path(&self, from: Node, to: Node, before: u32) -> Option<Ground> {
        let mut ground = Ground::default();
        if from == to {
            return Some(ground);
        }
        let path = self.known.graph.path(from, to, before, |_| true)?;
        let hops = hops(self.known, &links(self.known, &path));
        for hop in &hops {
            match hop.why {
                Kind::Other(edge_idx) => ground.premises.push(Fact::Edge(edge_idx)),
                _ => ground.inferences.extend(hop.axiom().map(Inference::Axiom)),
            }
        }
        let ends = [from, to].map(|it| event(self.known.rule.events, it));
        let mut through = [vec![ends[0]], events_of(&hops), vec![ends[1]]].concat();
        through.dedup();
        if hops.len() != 1 || through.len() > 2 {
            ground.acyclic(through);
        }
        Some(ground)
    }

    /// Where the first committer wins, who commits after the start of another writer also starts after its commit.
    fn newer(&self, key: KeyId, older: TxnId, newer: TxnId, before: u32) -> Ground {
        let events = self.known.rule.events;
        let mut ground = Ground::default();
        ground.premises.push(Fact::Path { from: events.overwrite(older), to: events.commit(newer), before });
        if events == Events::FirstCommitterWins {
            ground.axiom(Axiom::FirstCommitter { key, one: older, other: newer });
            ground.acyclic(vec![Event::Commit(older), Event::Snapshot(newer), Event::Commit(newer)]);
        }
        ground
    }

    fn read_from(&self, read: usize, before: u32, ground: &mut Ground) -> Option<()> {
        let (at, writer) = (self.known.problem.reads[read], self.known.sources[read]?);
        if self.sees_everything() {
            let (mut unless, premises) = self.unless(read, before);
            unless.push((writer, Unless::IsBefore));
            ground.premises.extend(premises);
            ground.axiom(Axiom::Found { read: at.op, other: TxnId::INITIAL, unless });
        } else {
            ground.premises.push(Fact::Source(read));
            ground.axiom(Axiom::Source { read: at.op, writer, so: Follows::BeforeReader });
        }
        Some(())
    }

    /// What is said of possible writers that were removed before, and why that is false.
    pub(super) fn unless(&self, read: usize, before: u32) -> (Vec<(TxnId, Unless)>, Vec<Fact>) {
        let events = self.known.rule.events;
        let (at, mut unless, mut premises) = (self.known.problem.reads[read], Vec::new(), Vec::new());
        for removal in self.removals_of(read).map(|it| self.known.removals[it as usize]) {
            let Removal { candidate, why, after, .. } = removal;
            if after > before || candidate == at.reader {
                continue;
            }
            match why {
                WhyNot::After => {
                    let (from, to) = (events.start(at.reader), events.commit(candidate));
                    unless.push((candidate, Unless::IsBefore));
                    premises.push(Fact::Path { from, to, before: after });
                }
                WhyNot::HiddenBy(other) => {
                    let (from, to) = events.visibility(other, at.reader);
                    unless.push((candidate, Unless::IsNotHiddenBy(other)));
                    premises.push(Fact::Path { from, to, before: after });
                    premises.extend(newer_than(at.key, candidate, other, after));
                }
            }
        }
        (unless, premises)
    }

    fn must_be_older(&self, read: usize, other: TxnId, before: u32, ground: &mut Ground) -> Option<()> {
        let (events, at) = (self.known.rule.events, self.known.problem.reads[read]);
        let writer = self.known.sources[read]?;
        if !self.sees_everything() {
            let (sight, premises) = self.sight(read, other, (before, usize::MAX))?;
            ground.premises.push(Fact::Source(read));
            ground.premises.extend(premises);
            ground.axiom(Axiom::Overwritten { read: at.op, writer, other, sight });
            return Some(());
        }
        let (from, to) = events.visibility(other, at.reader);
        let (unless, premises) = self.unless(read, before);
        ground.premises.push(Fact::Path { from, to, before });
        ground.premises.extend(premises);
        ground.axiom(Axiom::Found { read: at.op, other, unless });
        ground.axiom(Axiom::Between { older: other, newer: writer, reader: at.reader, so: Follows::AfterOlder });
        if events == Events::FirstCommitterWins {
            ground.acyclic(vec![Event::Commit(writer), Event::Snapshot(other), Event::Commit(other)]);
            ground.axiom(Axiom::FirstCommitter { key: at.key, one: other, other: writer });
        }
        Some(())
    }

    fn not_seen(&self, read: usize, other: TxnId, before: u32, ground: &mut Ground) -> Option<()> {
        let at = self.known.problem.reads[read];
        if !self.sees_everything() {
            let writer = self.known.sources[read]?;
            ground.premises.extend(newer_than(at.key, writer, other, before));
            let sight = vec![iso_evidence::Sight::Conflict(other, at.reader)];
            ground.premises.push(Fact::Source(read));
            ground.axiom(Axiom::Overwritten { read: at.op, writer, other, sight });
            return Some(());
        }
        let (unless, premises) = self.unless(read, before);
        ground.premises.extend(premises);
        for writer in self.known.left_before(read, before) {
            ground.premises.extend(newer_than(at.key, writer, other, before));
            if !writer.is_initial() {
                let (older, newer, reader) = (other, writer, at.reader);
                ground.axiom(Axiom::Between { older, newer, reader, so: Follows::AfterOlder });
            }
        }
        ground.axiom(Axiom::Found { read: at.op, other, unless });
        Some(())
    }

    /// Whoever wrote what the read saw, this event comes before it.
    fn before_writers(&self, read: usize, edge: &KnownEdge, ground: &mut Ground) {
        let (events, at) = (self.known.rule.events, self.known.problem.reads[read]);
        let (mut unless, premises) = self.unless(read, edge.after);
        ground.premises.extend(premises);
        let [first, last] = [edge.from, edge.to].map(|it| event(events, it));
        for writer in self.known.left_before(read, edge.after) {
            let commit = events.commit(writer);
            if commit != edge.from {
                ground.premises.push(Fact::Path { from: edge.from, to: commit, before: edge.after });
                ground.acyclic(vec![first, Event::Commit(writer), last]);
            }
            unless.push((writer, Unless::IsBefore));
        }
        ground.axiom(Axiom::Found { read: at.op, other: TxnId::INITIAL, unless });
        ground.so = Some((first, last));
    }

    /// A possible writer that is none, at levels below prefix consistency.
    fn removed(&self, removal: &Removal) -> Option<Ground> {
        let Removal { read, candidate: writer, why, after } = *removal;
        let (events, at) = (self.known.rule.events, self.known.problem.reads[read]);
        let mut ground = Ground::default();
        if writer == at.reader {
            return Some(ground);
        }
        match why {
            WhyNot::After => {
                let (from, to) = (events.start(at.reader), events.commit(writer));
                ground.premises.push(Fact::Path { from, to, before: after });
                ground.axiom(Axiom::Source { read: at.op, writer, so: Follows::BeforeReader });
            }
            WhyNot::HiddenBy(other) => {
                let (sight, premises) = self.sight(read, other, (after, read))?;
                ground.premises.extend(newer_than(at.key, writer, other, after));
                ground.premises.extend(premises);
                ground.axiom(Axiom::Overwritten { read: at.op, writer, other, sight });
            }
        }
        Some(ground)
    }

    /// Who read from whom, as far as it was known before a round came to a read: reads are looked at one after the other.
    pub(super) fn sources_before(&self, (before, until): (u32, usize)) -> Vec<Option<TxnId>> {
        let settled = |it: usize| self.removals_of(it).map(|it| self.known.removals[it as usize].after).max();
        let is_known = |it: usize| settled(it).is_none_or(|after| after < before || (after == before && it < until));
        let sources: &Sources = &self.known.sources;
        sources.iter().enumerate().map(|(it, source)| source.filter(|_| is_known(it))).collect()
    }
}

/// That one version is newer than another, unless the other is the initial one.
fn newer_than(key: KeyId, older: TxnId, newer: TxnId, before: u32) -> Option<Fact> {
    (!older.is_initial()).then_some(Fact::Newer { key, older, newer, before })
}

//! What a level says about a history: the clauses that every execution satisfies.
//!
//! An execution of a level is an order of commits (and of starts, for levels with snapshots), a writer for each read, and
//! who of the indeterminate transactions takes part. Each axiom is looked up in the facts of the history, and is none if
//! the history or the level does not say so.
//! Source: the rules are those of `proof`; the order of starts and commits exists whenever the level's text allows the
//! history: a transaction starts right after the last one that it must see.

use crate::{Atom, Axiom, Event, Follows, Literal, Sight, Unless};
use iso_history::{ExternalRead, Facts, KeyId, OpId, Standing, TxnId};
use iso_spec::Level;
use rustc_hash::FxHashMap;

pub(super) struct Axioms<'a> {
    facts: &'a Facts<'a>,
    level: Level,
    places: FxHashMap<Atom, u32>,
}

/// A clause, or nothing if something in it does not exist.
type Clause = Option<Vec<Literal>>;

impl<'a> Axioms<'a> {
    pub(super) fn new(facts: &'a Facts<'a>, level: Level, atoms: &[Atom]) -> Self {
        Self { facts, level, places: atoms.iter().copied().zip(0..).collect() }
    }

    /// The clause of an axiom, if it is one.
    pub(super) fn clause(&self, axiom: &Axiom) -> Clause {
        match axiom {
            Axiom::Session { earlier, later } => {
                self.ordered(*earlier, *later, |it| it.facts.history().is_session_ordered(*earlier, *later))
            }
            Axiom::RealTime { earlier, later } => self.ordered(*earlier, *later, |it| {
                it.level.needs_times() && it.facts.history().is_real_time_ordered(*earlier, *later)
            }),
            Axiom::VersionOrder { key, older, newer } => self.version_order(*key, *older, *newer),
            Axiom::FirstCommitter { key, one, other } => self.first_committer(*key, *one, *other),
            Axiom::Found { read, other, unless } => self.found(*read, *other, unless),
            Axiom::Between { older, newer, reader, so } => {
                let between = self.atom(Atom::Between { older: *older, newer: *newer, reader: *reader })?;
                Some(vec![between.negated(), self.follows(*older, *newer, *reader, *so)?])
            }
            Axiom::Sources { read } => self.sources(*read),
            Axiom::Source { read, writer, so } => {
                let ExternalRead { reader, .. } = self.read(*read)?.0;
                let source = self.atom(Atom::ReadFrom { read: *read, writer: *writer })?;
                let follows =
                    (*so != Follows::AfterOlder).then(|| self.follows(TxnId::INITIAL, *writer, reader, *so))?;
                Some(vec![source.negated(), follows?])
            }
            Axiom::Overwritten { read, writer, other, sight } => self.overwritten(*read, *writer, *other, sight),
        }
    }

    /// Not each of these events comes before the next, and the last before the first. That a transaction starts before
    /// it commits goes without saying.
    pub(super) fn acyclic(&self, events: &[Event]) -> Clause {
        let mut clause = Vec::new();
        for (idx, event) in events.iter().enumerate() {
            let next = events[(idx + 1) % events.len()];
            match (*event, next) {
                (Event::Snapshot(txn), Event::Commit(same)) if txn == same => {}
                _ => clause.push(self.before(next, *event)?),
            }
        }
        (events.len() > 1).then_some(clause)
    }

    fn ordered(&self, earlier: TxnId, later: TxnId, is_ordered: impl FnOnce(&Self) -> bool) -> Clause {
        let mut clause = self.unless_absent(&[earlier, later])?;
        clause.push(self.before(Event::Commit(earlier), self.start(later))?);
        is_ordered(self).then_some(clause)
    }

    /// The order of list versions that were seen: one that was not seen is newer than all of them.
    fn version_order(&self, key: KeyId, older: TxnId, newer: TxnId) -> Clause {
        let mut clause = self.unless_absent(&[older, newer])?;
        clause.push(self.before(Event::Commit(older), self.overwrite(newer))?);
        let line = &self.facts.recovered_order(key)?.writers;
        let first = line.iter().position(|it| *it == older)?;
        let is_older = line.iter().position(|it| *it == newer).is_none_or(|second| first < second);
        (older != newer && is_older && self.facts.writes(newer, key)).then_some(clause)
    }

    fn first_committer(&self, key: KeyId, one: TxnId, other: TxnId) -> Clause {
        let mut clause = self.unless_absent(&[one, other])?;
        clause.push(self.before(Event::Commit(one), self.start(other))?);
        clause.push(self.before(Event::Commit(other), self.start(one))?);
        let is_conflict = self.is_key(key) && self.facts.writes(one, key) && self.facts.writes(other, key);
        (one != other && is_conflict && self.first_committer_wins()).then_some(clause)
    }

    /// The source of the read is one of its possible writers. It is newer than `other`, or the reader does not see
    /// `other`; and the same of whoever may hide it.
    fn found(&self, read: OpId, other: TxnId, unless: &[(TxnId, Unless)]) -> Clause {
        let (ExternalRead { reader, key, .. }, writers) = self.read(read)?;
        let mut clause = self.unless_absent(&[reader, other])?;
        if !other.is_initial() {
            clause.push(self.before(self.start(reader), Event::Commit(other))?);
        }
        for writer in writers.iter().copied().filter(|it| *it != reader) {
            match unless.iter().find(|it| it.0 == writer).map(|it| it.1) {
                Some(Unless::IsBefore) => clause.push(self.before(Event::Commit(writer), self.start(reader))?),
                Some(Unless::IsNotHiddenBy(hiding)) => {
                    clause.extend(self.unless_absent(&[hiding])?);
                    let is_other = !hiding.is_initial() && hiding != reader && hiding != writer;
                    (is_other && self.facts.writes(hiding, key)).then_some(())?;
                    clause.push(self.before(self.start(reader), Event::Commit(hiding))?);
                    if !writer.is_initial() {
                        clause.push(self.before(Event::Commit(hiding), Event::Commit(writer))?);
                    }
                }
                None if writer == other => return None,
                // The initial version is older than all others.
                None if writer.is_initial() => {}
                None => clause.push(self.atom(Atom::Between { older: other, newer: writer, reader })?),
            }
        }
        (self.sees_everything() && other != reader && self.facts.writes(other, key)).then_some(clause)
    }

    fn sources(&self, read: OpId) -> Clause {
        let (ExternalRead { reader, .. }, writers) = self.read(read)?;
        let mut clause = self.unless_absent(&[reader])?;
        for writer in writers.iter().copied().filter(|it| *it != reader) {
            clause.push(self.atom(Atom::ReadFrom { read, writer })?);
        }
        Some(clause)
    }

    /// What it means that `newer` is seen by `reader`, and is newer than `older`.
    fn follows(&self, older: TxnId, newer: TxnId, reader: TxnId, so: Follows) -> Option<Literal> {
        match so {
            Follows::AfterOlder => self.before(Event::Commit(older), Event::Commit(newer)),
            Follows::BeforeReader => self.before(Event::Commit(newer), self.start(reader)),
            Follows::TakesPart => self.atom(Atom::TakesPart(newer)),
        }
    }

    fn overwritten(&self, read: OpId, writer: TxnId, other: TxnId, sight: &[Sight]) -> Clause {
        let (ExternalRead { reader, key, .. }, _) = self.read(read)?;
        let mut clause = self.unless_absent(&[reader, writer, other])?;
        clause.push(self.atom(Atom::ReadFrom { read, writer })?.negated());
        let mut at = other;
        for step in sight {
            at = self.unless_unseen(*step, at, &mut clause)?;
        }
        if !writer.is_initial() {
            clause.push(self.before(Event::Commit(other), self.overwrite(writer))?);
        }
        let is_other = !other.is_initial() && other != writer && other != reader && self.facts.writes(other, key);
        (is_other && at == reader && self.must_see(read, sight)).then_some(clause)
    }

    /// Adds why a step of sight may not hold, and returns where it leads.
    fn unless_unseen(&self, step: Sight, at: TxnId, clause: &mut Vec<Literal>) -> Option<TxnId> {
        let (from, to) = match step {
            Sight::Session(from, to) | Sight::Conflict(from, to) => (from, to),
            Sight::Read(from, read) => (from, self.read(read)?.0.reader),
        };
        clause.extend(self.unless_absent(&[from, to])?);
        let is_true = match step {
            Sight::Session(..) => self.facts.history().is_session_ordered(from, to),
            Sight::Read(_, read) => {
                clause.push(self.atom(Atom::ReadFrom { read, writer: from })?.negated());
                true
            }
            Sight::Conflict(..) => {
                clause.push(self.before(Event::Commit(to), Event::Commit(from))?);
                self.facts.final_writes(from).iter().any(|(key, _)| self.facts.writes(to, *key))
            }
        };
        (from == at && is_true).then_some(to)
    }

    /// Must a reader see whoever is at the other end?
    fn must_see(&self, read: OpId, sight: &[Sight]) -> bool {
        use Sight::{Conflict, Read, Session};
        match (self.level, sight) {
            (_, []) => false,
            (Level::ReadCommitted, [Read(_, earlier)]) => *earlier < read,
            (Level::ReadYourWrites | Level::ReadAtomic | Level::UpdateAtomic, [Session(..)])
            | (Level::ReadAtomic | Level::UpdateAtomic, [Read(..)])
            | (Level::UpdateAtomic, [Conflict(..)])
            | (Level::MonotonicReads, [Read(..), Session(..)])
            | (Level::MonotonicWrites, [Session(..), Read(..)])
            | (Level::WritesFollowReads, [Read(..), Read(..)] | [Read(..), Session(..), Read(..)])
            | (Level::ParallelSnapshotIsolation, _) => true,
            (Level::CausalConsistency, steps) => steps.iter().all(|it| !matches!(it, Conflict(..))),
            _ => false,
        }
    }

    /// "One of these does not take part", where that is possible; nothing if one of them surely does not, or does not exist.
    fn unless_absent(&self, txns: &[TxnId]) -> Clause {
        let mut clause = Vec::new();
        for txn in txns.iter().copied().filter(|it| !it.is_initial()) {
            let exists = txn.index() < self.facts.history().n_txns();
            match exists.then(|| self.facts.standing(txn))? {
                Standing::Counted => {}
                Standing::Optional => clause.push(self.atom(Atom::TakesPart(txn))?.negated()),
                Standing::Out => return None,
            }
        }
        Some(clause)
    }

    /// A read of another transaction's version, and who may have written that. Read uncommitted says nothing of reads.
    fn read(&self, read: OpId) -> Option<(ExternalRead, &[TxnId])> {
        let place = self.facts.reads().binary_search_by_key(&read, |it| it.op).ok()?;
        let is_judged = self.level != Level::ReadUncommitted;
        is_judged.then(|| (self.facts.reads()[place], self.facts.candidates(place)))
    }

    fn is_key(&self, key: KeyId) -> bool {
        key.index() < self.facts.history().n_keys()
    }

    fn atom(&self, atom: Atom) -> Option<Literal> {
        self.places.get(&atom).map(|it| Literal::new(*it, true))
    }

    fn before(&self, first: Event, second: Event) -> Option<Literal> {
        let turned = || self.atom(Atom::Before(second, first)).map(Literal::negated);
        (first != second).then(|| self.atom(Atom::Before(first, second)).or_else(turned))?
    }

    fn sees_everything(&self) -> bool {
        self.level.implies(Level::PrefixConsistency)
    }

    fn first_committer_wins(&self) -> bool {
        matches!(self.level, Level::SnapshotIsolation | Level::StrongSnapshotIsolation)
    }

    /// When a transaction reads.
    fn start(&self, txn: TxnId) -> Event {
        let has_snapshots = self.level == Level::PrefixConsistency || self.first_committer_wins();
        if has_snapshots { Event::Snapshot(txn) } else { Event::Commit(txn) }
    }

    /// What comes after the commit of an older writer of the same key.
    fn overwrite(&self, txn: TxnId) -> Event {
        if self.first_committer_wins() { self.start(txn) } else { Event::Commit(txn) }
    }
}

//! The clauses of axioms and cycles, as whoever replays a derivation finds them.

use super::atoms::{Atoms, event};
use crate::known::Known;
use iso_evidence::{Atom, Axiom, Event, Follows, Literal, Sight, Unless};
use iso_history::{OpId, TxnId};

/// The clause of an axiom that holds.
pub(super) fn clause_of_axiom(known: &Known<'_>, atoms: &mut Atoms, axiom: &Axiom) -> Vec<Literal> {
    let mut clause = AxiomClause { known, atoms, literals: Vec::new() };
    clause.axiom(axiom);
    clause.literals
}

/// Not each of these events comes before the next, and the last before the first.
pub(super) fn clause_of_cycle(atoms: &mut Atoms, events: &[Event]) -> Vec<Literal> {
    let mut clause = Vec::new();
    for (idx, first) in events.iter().enumerate() {
        let second = events[(idx + 1) % events.len()];
        match (*first, second) {
            (Event::Snapshot(txn), Event::Commit(same)) if txn == same => {}
            _ => clause.push(atoms.before(second, *first)),
        }
    }
    clause
}

struct AxiomClause<'c, 'k> {
    known: &'c Known<'k>,
    atoms: &'c mut Atoms,
    literals: Vec<Literal>,
}

impl AxiomClause<'_, '_> {
    fn axiom(&mut self, axiom: &Axiom) {
        match axiom {
            Axiom::Session { earlier, later } | Axiom::RealTime { earlier, later } => {
                self.unless_absent(&[*earlier, *later]);
                self.before(Event::Commit(*earlier), self.start(*later));
            }
            Axiom::VersionOrder { older, newer, .. } => {
                self.unless_absent(&[*older, *newer]);
                self.before(Event::Commit(*older), self.overwrite(*newer));
            }
            Axiom::FirstCommitter { one, other, .. } => {
                self.unless_absent(&[*one, *other]);
                self.before(Event::Commit(*one), self.start(*other));
                self.before(Event::Commit(*other), self.start(*one));
            }
            Axiom::Found { read, other, unless } => self.found(*read, *other, unless),
            Axiom::Between { older, newer, reader, so } => {
                self.not(Atom::Between { older: *older, newer: *newer, reader: *reader });
                self.follows([*older, *newer, *reader], *so);
            }
            Axiom::Sources { read } => self.sources(*read),
            Axiom::Source { read, writer, so } => {
                self.not(Atom::ReadFrom { read: *read, writer: *writer });
                self.follows([TxnId::INITIAL, *writer, self.reader(*read)], *so);
            }
            Axiom::Overwritten { read, writer, other, sight } => self.overwritten(*read, [*writer, *other], sight),
        }
    }

    fn found(&mut self, read: OpId, other: TxnId, unless: &[(TxnId, Unless)]) {
        let reader = self.reader(read);
        self.unless_absent(&[reader, other]);
        if !other.is_initial() {
            self.before(self.start(reader), Event::Commit(other));
        }
        for writer in self.writers(read) {
            match unless.iter().find(|it| it.0 == writer).map(|it| it.1) {
                Some(Unless::IsBefore) => self.before(Event::Commit(writer), self.start(reader)),
                Some(Unless::IsNotHiddenBy(hiding)) => {
                    self.unless_absent(&[hiding]);
                    self.before(self.start(reader), Event::Commit(hiding));
                    if !writer.is_initial() {
                        self.before(Event::Commit(hiding), Event::Commit(writer));
                    }
                }
                None if writer.is_initial() => {}
                None => self.is(Atom::Between { older: other, newer: writer, reader }),
            }
        }
    }

    fn sources(&mut self, read: OpId) {
        self.unless_absent(&[self.reader(read)]);
        for writer in self.writers(read) {
            self.is(Atom::ReadFrom { read, writer });
        }
    }

    fn overwritten(&mut self, read: OpId, [writer, other]: [TxnId; 2], sight: &[Sight]) {
        self.unless_absent(&[self.reader(read), writer, other]);
        self.not(Atom::ReadFrom { read, writer });
        for step in sight {
            match *step {
                Sight::Session(from, to) => self.unless_absent(&[from, to]),
                Sight::Read(from, read) => {
                    self.unless_absent(&[from, self.reader(read)]);
                    self.not(Atom::ReadFrom { read, writer: from });
                }
                Sight::Conflict(from, to) => {
                    self.unless_absent(&[from, to]);
                    self.before(Event::Commit(to), Event::Commit(from));
                }
            }
        }
        if !writer.is_initial() {
            self.before(Event::Commit(other), self.overwrite(writer));
        }
    }

    fn follows(&mut self, [older, newer, reader]: [TxnId; 3], so: Follows) {
        match so {
            Follows::AfterOlder => self.before(Event::Commit(older), Event::Commit(newer)),
            Follows::BeforeReader => self.before(Event::Commit(newer), self.start(reader)),
            Follows::TakesPart => self.is(Atom::TakesPart(newer)),
        }
    }

    fn unless_absent(&mut self, txns: &[TxnId]) {
        for txn in txns {
            if self.known.problem.is_optional(*txn) {
                self.not(Atom::TakesPart(*txn));
            }
        }
    }

    fn reader(&self, read: OpId) -> TxnId {
        self.known.problem.facts.history().txn_of(read)
    }

    /// Who may have written what a read saw, but its own transaction.
    fn writers(&self, read: OpId) -> Vec<TxnId> {
        let facts = self.known.problem.facts;
        let place = facts.reads().partition_point(|it| it.op < read);
        facts.candidates(place).iter().copied().filter(|it| *it != self.reader(read)).collect()
    }

    fn is(&mut self, atom: Atom) {
        let literal = self.atoms.literal(atom);
        self.literals.push(literal);
    }

    fn not(&mut self, atom: Atom) {
        let literal = self.atoms.literal(atom);
        self.literals.push(literal.negated());
    }

    fn before(&mut self, first: Event, second: Event) {
        let literal = self.atoms.before(first, second);
        self.literals.push(literal);
    }

    fn start(&self, txn: TxnId) -> Event {
        let events = self.known.rule.events;
        event(events, events.start(txn))
    }

    fn overwrite(&self, txn: TxnId) -> Event {
        let events = self.known.rule.events;
        event(events, events.overwrite(txn))
    }
}

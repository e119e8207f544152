//! The axioms say what the texts of the levels say: they have a model exactly if the level allows the history.

use super::super::common::{Random, Shape, history, show};
use super::*;
use crate::{Axiom, Event, Follows, Literal, Sight, Unless};
use iso_history::{History, OpId, Standing, TxnId};
use iso_spec::{Catalogue, Prepared, Steps};

/// Everything that may be said about a history, and what its axioms say.
struct Everything {
    has_snapshots: bool,
    txns: Vec<TxnId>,
    reads: Vec<(OpId, TxnId, Vec<TxnId>)>,
    atoms: Vec<Atom>,
    clauses: Vec<Vec<Literal>>,
}

impl Everything {
    fn new(facts: &Facts<'_>, level: Level) -> Self {
        let txns: Vec<TxnId> = facts.txns().collect();
        let candidates = |it: usize| facts.candidates(it).to_vec();
        let reads = facts.reads().iter().enumerate().map(|(it, read)| (read.op, read.reader, candidates(it))).collect();
        let has_snapshots = level.implies(Level::PrefixConsistency) && !level.implies(Level::Serializable);
        let mut all = Self { has_snapshots, txns, reads, atoms: Vec::new(), clauses: Vec::new() };
        all.atoms = all.atoms();
        let axioms = Axioms::new(facts, level, &all.atoms);
        all.clauses = all.axioms(facts).iter().filter_map(|it| axioms.clause(it)).collect();
        all
    }

    fn events(&self) -> Vec<Event> {
        let starts = self.txns.iter().filter(|_| self.has_snapshots).map(|it| Event::Snapshot(*it));
        starts.chain(self.txns.iter().map(|it| Event::Commit(*it))).collect()
    }

    fn with_initial(&self) -> Vec<TxnId> {
        [&[TxnId::INITIAL], self.txns.as_slice()].concat()
    }

    fn atoms(&self) -> Vec<Atom> {
        let initial = [Event::Snapshot(TxnId::INITIAL), Event::Commit(TxnId::INITIAL)];
        let events = [initial.as_slice(), &self.events()].concat();
        let pairs = events.iter().flat_map(|a| events.iter().filter(move |b| a < b).map(|b| Atom::Before(*a, *b)));
        let mut atoms: Vec<Atom> = pairs.collect();
        for older in self.with_initial() {
            for newer in self.txns.iter().copied() {
                atoms.extend(self.txns.iter().map(|it| Atom::Between { older, newer, reader: *it }));
            }
        }
        for (read, _, _) in &self.reads {
            atoms.extend(self.with_initial().iter().map(|it| Atom::ReadFrom { read: *read, writer: *it }));
        }
        atoms.extend(self.txns.iter().map(|it| Atom::TakesPart(*it)));
        atoms
    }

    /// All that might be an axiom, with what else may be said of one possible writer, and sight of up to three steps.
    fn axioms(&self, facts: &Facts<'_>) -> Vec<Axiom> {
        let mut axioms = Vec::new();
        for one in self.with_initial() {
            for other in self.txns.iter().copied() {
                axioms.extend([
                    Axiom::Session { earlier: one, later: other },
                    Axiom::RealTime { earlier: one, later: other },
                ]);
                for key in facts.history().keys() {
                    axioms.push(Axiom::VersionOrder { key, older: one, newer: other });
                    axioms.push(Axiom::FirstCommitter { key, one, other });
                }
                let follows = [Follows::AfterOlder, Follows::BeforeReader, Follows::TakesPart];
                let between = |reader: TxnId| follows.map(|so| Axiom::Between { older: one, newer: other, reader, so });
                axioms.extend(self.txns.iter().flat_map(|it| between(*it)));
            }
        }
        for (read, reader, writers) in &self.reads {
            self.axioms_of_read(*read, *reader, writers, &mut axioms);
        }
        axioms
    }

    fn axioms_of_read(&self, read: OpId, reader: TxnId, writers: &[TxnId], axioms: &mut Vec<Axiom>) {
        axioms.push(Axiom::Sources { read });
        let sights = self.sights(reader);
        for writer in self.with_initial() {
            let follows = [Follows::BeforeReader, Follows::TakesPart];
            axioms.extend(follows.map(|so| Axiom::Source { read, writer, so }));
            for (other, sight) in &sights {
                axioms.push(Axiom::Overwritten { read, writer, other: *other, sight: sight.clone() });
            }
        }
        for other in self.with_initial() {
            axioms.push(Axiom::Found { read, other, unless: Vec::new() });
            for writer in writers {
                let hidden = self.txns.iter().map(|it| Unless::IsNotHiddenBy(*it));
                for unless in hidden.chain([Unless::IsBefore]) {
                    axioms.push(Axiom::Found { read, other, unless: vec![(*writer, unless)] });
                }
            }
        }
    }

    /// How the reader might see somebody.
    fn sights(&self, reader: TxnId) -> Vec<(TxnId, Vec<Sight>)> {
        let mut all: Vec<(TxnId, Vec<Sight>)> = Vec::new();
        let mut last = vec![(reader, Vec::new())];
        for _ in 0..3 {
            let mut longer = Vec::new();
            for (at, sight) in &last {
                for from in self.txns.iter().copied().filter(|it| it != at) {
                    let reads = self.reads.iter().filter(|it| it.1 == *at && it.2.contains(&from));
                    let read = reads.map(|it| Sight::Read(from, it.0));
                    for step in [Sight::Session(from, *at), Sight::Conflict(from, *at)].into_iter().chain(read) {
                        longer.push((from, [&[step], sight.as_slice()].concat()));
                    }
                }
            }
            all.extend(longer.iter().cloned());
            last = longer;
        }
        all
    }

    /// Is there an order, a source for each read, and a choice of who takes part, so that all axioms hold?
    fn have_model(&self, facts: &Facts<'_>) -> bool {
        let optional: Vec<TxnId> =
            self.txns.iter().copied().filter(|it| facts.standing(*it) == Standing::Optional).collect();
        let n_sources: usize = self.reads.iter().map(|it| it.2.len()).product();
        let mut orders = Vec::new();
        each_order(
            &mut vec![Event::Snapshot(TxnId::INITIAL), Event::Commit(TxnId::INITIAL)],
            &self.events(),
            &mut orders,
        );
        (0..1usize << optional.len()).any(|absent| {
            let takes_part =
                |txn: TxnId| optional.iter().position(|it| *it == txn).is_none_or(|it| absent >> it & 1 == 0);
            (0..n_sources).any(|code| {
                let sources = self.sources(code);
                orders.iter().any(|order| self.holds(order, &sources, &takes_part))
            })
        })
    }

    fn sources(&self, mut code: usize) -> Vec<(OpId, TxnId)> {
        let source = |(read, _, writers): &(OpId, TxnId, Vec<TxnId>)| {
            let nth = code % writers.len();
            code /= writers.len();
            (*read, writers[nth])
        };
        self.reads.iter().map(source).collect()
    }

    fn holds(&self, order: &[Event], sources: &[(OpId, TxnId)], takes_part: &dyn Fn(TxnId) -> bool) -> bool {
        let place = |event: Event| order.iter().position(|it| *it == event);
        let commit = |txn: TxnId| place(Event::Commit(txn));
        let is_true = |literal: &Literal| {
            let value = match self.atoms[literal.atom()] {
                Atom::Before(first, second) => place(first) < place(second),
                Atom::Between { older, newer, reader } => {
                    let start = if self.has_snapshots { place(Event::Snapshot(reader)) } else { commit(reader) };
                    takes_part(newer) && commit(older) < commit(newer) && commit(newer) < start
                }
                Atom::ReadFrom { read, writer } => sources.contains(&(read, writer)),
                Atom::TakesPart(txn) => takes_part(txn),
            };
            value == literal.value()
        };
        self.clauses.iter().all(|clause| clause.iter().any(is_true))
    }
}

/// All orders of events in which transactions start before they commit.
fn each_order(order: &mut Vec<Event>, left: &[Event], orders: &mut Vec<Vec<Event>>) {
    if left.is_empty() {
        orders.push(order.clone());
    }
    for (idx, event) in left.iter().enumerate() {
        if let Event::Commit(txn) = *event
            && left.contains(&Event::Snapshot(txn))
        {
            continue;
        }
        order.push(*event);
        each_order(order, &[&left[..idx], &left[idx + 1..]].concat(), orders);
        order.pop();
    }
}

/// Compares on one history, at levels that are about orders there; how many of them forbid it.
fn compare(history: &History) -> usize {
    let facts = Facts::new(history);
    if facts.ambiguous_list().is_some() || !facts.local().is_empty() {
        return 0;
    }
    let prepared = Prepared::new(&facts);
    let mut n_forbidden = 0;
    for level in Level::usual().into_iter().filter(|it| *it != Level::ReadUncommitted) {
        let answer = prepared.evaluate(Catalogue::builtin().of(level), &mut Steps::unlimited());
        let is_allowed = Everything::new(&facts, level).have_model(&facts);
        assert_eq!(answer.is_allowed(), Some(is_allowed), "{level} of\n{}", show(history));
        n_forbidden += usize::from(!is_allowed);
    }
    n_forbidden
}

#[test]
fn axioms_have_a_model_exactly_if_the_level_allows_the_history() {
    let mut n_forbidden = 0;
    let mut random = Random::new(1);
    let shape = Shape { n_txns: 3, ..Shape::MIXED };
    for _ in 0..400 {
        n_forbidden += compare(&random.history(shape));
    }
    assert!(n_forbidden > 100, "{n_forbidden}");
}

#[test]
fn a_derivation_is_checked_step_by_step() {
    let history = history("a: r(x,0) w(x,1)\n b: r(x,0) w(x,2)");
    let facts = Facts::new(&history);
    let [a, b] = [1, 2].map(TxnId::from_index);
    let read = |txn: TxnId| history.ops(txn).next().unwrap();
    let found = |reader, other| Inference::Axiom(Axiom::Found { read: read(reader), other, unless: Vec::new() });
    let atoms = vec![Atom::Before(Event::Commit(a), Event::Commit(b))];
    let ask = |level: Level, inferences: Vec<Inference>| {
        let derivation = Derivation { level, atoms: atoms.clone(), inferences };
        certify_derivation(&facts, level, &derivation).map_err(|it| it.reason)
    };
    assert_eq!(ask(Level::Serializable, vec![found(a, b), found(b, a)]), Ok(()));
    let open = ask(Level::Serializable, vec![found(a, b)]).unwrap_err();
    assert!(open.contains("does not end in a contradiction"), "{open}");
    for (level, inferences) in [
        (Level::ReadAtomic, vec![found(a, b), found(b, a)]),
        (Level::Serializable, vec![found(a, a)]),
        (Level::Serializable, vec![Inference::Axiom(Axiom::Session { earlier: a, later: b })]),
        (Level::Serializable, vec![Inference::Acyclic(vec![Event::Commit(a)])]),
        (Level::Serializable, vec![Inference::Resolvent { clause: Vec::new(), hints: vec![0] }]),
        (Level::Serializable, vec![Inference::Resolvent { clause: vec![Literal::new(7, true)], hints: Vec::new() }]),
    ] {
        let refused = ask(level, inferences).unwrap_err();
        assert!(refused.contains("inference 0 of a derivation is no"), "{refused}");
    }
}

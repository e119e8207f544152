//! Below prefix consistency: whom a reader sees depends on what others read, so sources are choices of the solver.

use super::{Model, Search};
use crate::derivation::facts::Fact;
use crate::derivation::sight::direct_sight;
use crate::rule::Visibility;
use crate::weak::inferred;
use iso_evidence::{Axiom, Follows, Sight};
use iso_history::{KeyId, TxnId};
use iso_solve::Lit;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Clauses made for one read in one round, at most.
const MAX_CLAUSES: usize = 4;

/// A writer that a reader must see, and how.
struct Seen {
    read: usize,
    other: TxnId,
    sight: Vec<Sight>,
}

impl Search<'_> {
    /// Makes the source of a read a choice of the solver, which first takes the latest possible writer.
    fn choose(&mut self, read: usize, model: &Model) {
        if self.choices.contains_key(&read) {
            return;
        }
        let at = self.known.problem.reads[read];
        let removed: Vec<u32> = self.reasons.removals_of(read).collect();
        for removal in removed {
            self.fact(Fact::Removed(removal as usize));
        }
        let mut writers = self.possible_writers(read);
        writers.sort_by_key(|it| (!self.is_before(model, *it, at.reader), u32::MAX - self.commit_place(model, *it)));
        let choices: Vec<(TxnId, Lit)> = writers.iter().map(|it| (*it, self.solver.new_lit())).collect();
        self.choices.insert(read, choices.clone());
        self.add(Axiom::Sources { read: at.op }, &[at.reader], choices.iter().map(|it| it.1).collect());
        for (writer, lit) in choices.into_iter().filter(|it| !it.0.is_initial()) {
            let edge = self.edge(self.known.rule.events.visibility(writer, at.reader));
            self.add(Axiom::Source { read: at.op, writer, so: Follows::BeforeReader }, &[], vec![!lit, edge]);
            if self.known.problem.is_optional(writer) {
                let part = self.part(writer);
                self.add(Axiom::Source { read: at.op, writer, so: Follows::TakesPart }, &[], vec![!lit, part]);
            }
        }
    }

    /// Does a writer take part and commit before a reader does?
    fn is_before(&self, model: &Model, writer: TxnId, reader: TxnId) -> bool {
        model.takes_part[writer.index()] && self.commit_place(model, writer) < self.commit_place(model, reader)
    }

    /// Who read from whom by the choices of the solver; the latest possible writer where that is no choice yet.
    fn sources(&self, model: &Model) -> Vec<Option<TxnId>> {
        let source = |read: usize| {
            let at = self.known.problem.reads[read];
            if let Some(source) = self.known.sources[read] {
                return Some(source);
            }
            let chosen = if let Some(choices) = self.choices.get(&read) {
                choices.iter().find(|it| self.solver.value(it.1)).map(|it| it.0)
            } else {
                let writers = self.possible_writers(read).into_iter();
                let earlier = writers.filter(|it| self.is_before(model, *it, at.reader));
                earlier.max_by_key(|it| self.commit_place(model, *it))
            };
            chosen.filter(|_| model.takes_part[at.reader.index()])
        };
        (0..self.known.problem.reads.len()).map(source).collect()
    }

    /// Forbids what a reader sees although it is newer than what it read.
    pub(super) fn forbid_hidden(&mut self, model: &Model) {
        let sources = self.sources(model);
        for (read, at) in self.known.problem.reads.iter().enumerate() {
            if sources[read].is_none() && model.takes_part[at.reader.index()] {
                self.choose(read, model);
            }
        }
        let found = match self.known.rule.visibility {
            Visibility::Causal | Visibility::CausalAndConflicting => self.hidden_causes(model, &sources),
            _ => self.hidden_directly(model, &sources),
        };
        for Seen { read, other, sight } in found {
            if let Some(source) = sources[read] {
                self.forbid(Seen { read, other, sight }, source, model);
            }
        }
    }

    fn is_newer(&self, model: &Model, other: TxnId, source: TxnId) -> bool {
        self.commit_place(model, other) > self.commit_place(model, source)
    }

    fn hidden_directly(&self, model: &Model, sources: &[Option<TxnId>]) -> Vec<Seen> {
        let (problem, visibility) = (self.known.problem, self.known.rule.visibility);
        let mut found = Vec::new();
        let takes_part = |it: TxnId| model.takes_part[it.index()];
        inferred(problem, visibility, sources, &takes_part, None, &mut |read, other| {
            let source = sources[read].unwrap_or(TxnId::INITIAL);
            if self.is_newer(model, other, source)
                && let Some((sight, _)) = direct_sight(self.known, sources, read, other)
            {
                found.push(Seen { read, other, sight });
            }
        });
        if visibility == Visibility::DirectAndConflicting {
            self.hidden_conflicts(model, sources, &mut found);
        }
        found
    }

    /// Update atomic: an earlier writer of a key that the reader writes is seen.
    fn hidden_conflicts(&self, model: &Model, sources: &[Option<TxnId>], found: &mut Vec<Seen>) {
        let problem = self.known.problem;
        for (read, at) in problem.reads.iter().enumerate() {
            let Some(source) = sources[read] else { continue };
            let is_hidden = |it: &&TxnId| {
                let is_between = self.is_newer(model, **it, source) && self.is_newer(model, at.reader, **it);
                is_between && model.takes_part[it.index()] && problem.conflict(**it, at.reader)
            };
            for other in problem.writers_of(at.key).iter().filter(is_hidden).take(MAX_CLAUSES) {
                found.push(Seen { read, other: *other, sight: vec![Sight::Conflict(*other, at.reader)] });
            }
        }
    }

    /// Causal levels: nothing newer than what was read is in the reader's past.
    fn hidden_causes(&self, model: &Model, sources: &[Option<TxnId>]) -> Vec<Seen> {
        let problem = self.known.problem;
        let previous = self.previous_versions(model);
        let mut found = Vec::new();
        for reader in problem.txns().filter(|it| model.takes_part[it.index()]) {
            if self.budget.check().is_err() {
                break;
            }
            let past = self.past(model, sources, &previous, reader);
            for read in problem.reads_of(reader) {
                let Some(source) = sources[read] else { continue };
                let is_hidden = |it: &&TxnId| {
                    **it != reader && past.contains_key(it) && self.is_newer(model, **it, source) && **it != source
                };
                let mut hidden: Vec<TxnId> =
                    problem.writers_of(problem.reads[read].key).iter().filter(is_hidden).copied().collect();
                hidden.sort_by_key(|it| self.commit_place(model, *it));
                hidden.truncate(MAX_CLAUSES);
                for other in hidden {
                    found.push(Seen { read, other, sight: along(&past, other, reader) });
                }
            }
        }
        found
    }

    /// For each writer of a key, the writer before it; only where writers of a key see each other.
    fn previous_versions(&self, model: &Model) -> FxHashMap<(TxnId, KeyId), TxnId> {
        let mut previous = FxHashMap::default();
        let problem = self.known.problem;
        for key in problem.keys().filter(|_| self.known.rule.visibility == Visibility::CausalAndConflicting) {
            let mut writers = problem.writers_of(key).to_vec();
            writers.retain(|it| model.takes_part[it.index()]);
            writers.sort_by_key(|it| self.commit_place(model, *it));
            previous.extend(writers.windows(2).map(|it| ((it[1], key), it[0])));
        }
        previous
    }

    /// Everybody whom a reader sees, each with the next step towards the reader.
    fn past(
        &self,
        model: &Model,
        sources: &[Option<TxnId>],
        previous: &FxHashMap<(TxnId, KeyId), TxnId>,
        reader: TxnId,
    ) -> FxHashMap<TxnId, (TxnId, Sight)> {
        let problem = self.known.problem;
        let mut past = FxHashMap::default();
        let mut pending = VecDeque::from([reader]);
        while let Some(txn) = pending.pop_front() {
            let mut before = problem.session_before(txn).iter().rev();
            let session = before.find(|it| model.takes_part[it.index()]).map(|it| (*it, Sight::Session(*it, txn)));
            let reads = problem.reads_of(txn).filter_map(|read| {
                let writer = sources[read].filter(|it| !it.is_initial())?;
                Some((writer, Sight::Read(writer, problem.reads[read].op)))
            });
            let older = problem.writes_of(txn).filter_map(|key| previous.get(&(txn, key)));
            let conflicts = older.map(|it| (*it, Sight::Conflict(*it, txn)));
            for (earlier, step) in session.into_iter().chain(reads).chain(conflicts) {
                if earlier != reader && !past.contains_key(&earlier) {
                    past.insert(earlier, (txn, step));
                    pending.push_back(earlier);
                }
            }
        }
        past
    }

    /// `other` is older than the source of the read, or something of this is not so.
    fn forbid(&mut self, Seen { read, other, sight }: Seen, source: TxnId, model: &Model) {
        let (problem, events) = (self.known.problem, self.known.rule.events);
        let at = problem.reads[read];
        let mut present = vec![at.reader, source, other];
        let mut lits: Vec<Lit> = self.unless_source(read, source, model).into_iter().collect();
        for step in &sight {
            match *step {
                Sight::Session(from, to) => present.extend([from, to]),
                Sight::Read(from, op) => {
                    let reader = problem.facts.history().txn_of(op);
                    present.extend([from, reader]);
                    let used = problem.reads_of(reader).find(|it| problem.reads[*it].op == op);
                    lits.extend(used.and_then(|it| self.unless_source(it, from, model)));
                }
                Sight::Conflict(from, to) => {
                    present.extend([from, to]);
                    lits.push(self.edge(events.version_order(to, from)));
                }
            }
        }
        if !source.is_initial() {
            lits.push(self.edge(events.version_order(other, source)));
        }
        present.sort_unstable();
        present.dedup();
        self.add(Axiom::Overwritten { read: at.op, writer: source, other, sight }, &present, lits);
    }

    /// "The source of this read is another one", where that is a choice.
    fn unless_source(&mut self, read: usize, source: TxnId, model: &Model) -> Option<Lit> {
        if self.known.sources[read].is_some() {
            self.fact(Fact::Source(read));
            return None;
        }
        self.choose(read, model);
        self.choices[&read].iter().find(|it| it.0 == source).map(|it| !it.1)
    }
}

/// The steps from a writer to the reader.
fn along(past: &FxHashMap<TxnId, (TxnId, Sight)>, from: TxnId, reader: TxnId) -> Vec<Sight> {
    let mut sight = Vec::new();
    let mut txn = from;
    while txn != reader {
        let (next, step) = past[&txn];
        sight.push(step);
        txn = next;
    }
    sight
}

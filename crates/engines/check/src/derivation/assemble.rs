//! Puts a derivation together: what is known for good first, then the clauses of the search, then how they contradict
//! each other.

use super::atoms::Atoms;
use super::clauses::{clause_of_axiom, clause_of_cycle};
use super::facts::{Fact, Ground, Reasons};
use super::hops::{Kind, events_of, hops, links, turned};
use super::search::{Clauses, Origin};
use crate::known::Known;
use iso_evidence::{Axiom, Budget, Derivation, Event, Inference, Literal};
use iso_history::TxnId;
use iso_solve::{Lit, Resolvent, resolve, variable};
use iso_spec::Level;
use rustc_hash::FxHashSet;

/// What shows that the core is forbidden.
pub(super) enum Goal {
    /// Known edges are a cycle.
    Cycle(Vec<u32>),
    /// Nobody can have written what this read saw.
    NoWriter(usize),
    /// These clauses have no model.
    Clauses(Clauses),
}

/// So many clauses are forgotten at once.
const FORGET_AT_ONCE: usize = 64;

pub(super) struct Assembly<'k> {
    reasons: Reasons<'k>,
    level: Level,
    budget: &'k Budget<'k>,
    atoms: Atoms,
    inferences: Vec<Inference>,
    known: FxHashSet<Fact>,
    ordered: FxHashSet<(TxnId, TxnId)>,
}

/// A fact whose turn comes after that of what it rests on.
enum Turn {
    Ask(Fact),
    Tell(Fact, Ground),
}

impl<'k> Assembly<'k> {
    pub(super) fn new(known: &'k Known<'k>, level: Level, budget: &'k Budget<'k>) -> Self {
        Self {
            reasons: Reasons::new(known),
            level,
            budget,
            atoms: Atoms::default(),
            inferences: Vec::new(),
            known: FxHashSet::default(),
            ordered: FxHashSet::default(),
        }
    }

    pub(super) fn finish(mut self, goal: Goal) -> Option<Derivation> {
        match goal {
            Goal::Cycle(cycle) => self.refute_cycle(&cycle)?,
            Goal::NoWriter(read) => self.refute_sources(read)?,
            Goal::Clauses(clauses) => self.refute_clauses(clauses)?,
        }
        self.name_atoms();
        Some(Derivation { level: self.level, atoms: self.atoms.list, inferences: self.inferences })
    }

    fn refute_cycle(&mut self, cycle: &[u32]) -> Option<()> {
        let known = self.reasons.known;
        let hops = hops(known, &turned(links(known, cycle)));
        let mut inferences = Vec::new();
        for hop in &hops {
            match hop.why {
                Kind::Other(edge_idx) => self.know(Fact::Edge(edge_idx))?,
                _ => inferences.extend(hop.axiom().map(Inference::Axiom)),
            }
        }
        inferences.push(Inference::Acyclic(round(events_of(&hops))));
        self.tell(inferences);
        Some(())
    }

    fn refute_sources(&mut self, read: usize) -> Option<()> {
        if !self.reasons.sees_everything() {
            return self.know(Fact::Source(read));
        }
        let (unless, premises) = self.reasons.unless(read, u32::MAX);
        premises.into_iter().try_for_each(|it| self.know(it))?;
        let read = self.reasons.known.problem.reads[read].op;
        self.tell(vec![Inference::Axiom(Axiom::Found { read, other: TxnId::INITIAL, unless })]);
        Some(())
    }

    /// Makes a fact known, after everything that it rests on.
    fn know(&mut self, fact: Fact) -> Option<()> {
        let mut turns = vec![Turn::Ask(fact)];
        let mut asked = FxHashSet::default();
        while let Some(turn) = turns.pop() {
            match turn {
                Turn::Ask(fact) if self.known.contains(&fact) => {}
                Turn::Ask(fact) => {
                    // What rests on itself is no reason.
                    asked.insert(fact).then_some(())?;
                    self.budget.check().ok()?;
                    let mut ground = self.reasons.ground(fact)?;
                    let premises = std::mem::take(&mut ground.premises);
                    turns.push(Turn::Tell(fact, ground));
                    turns.extend(premises.into_iter().map(Turn::Ask));
                }
                Turn::Tell(fact, ground) => {
                    self.known.insert(fact);
                    let first = self.inferences.len() as u32;
                    self.tell(ground.inferences);
                    if let Some((before, after)) = ground.so {
                        let hints = (first..self.inferences.len() as u32).collect();
                        let clause = vec![self.atoms.before(before, after)];
                        self.inferences.push(Inference::Resolvent { clause, hints });
                    }
                }
            }
        }
        Some(())
    }

    /// Adds inferences, but for the order of two transactions that is there already.
    fn tell(&mut self, inferences: Vec<Inference>) {
        for inference in inferences {
            let is_new = match inference {
                Inference::Axiom(Axiom::Session { earlier, later } | Axiom::RealTime { earlier, later }) => {
                    self.ordered.insert((earlier, later))
                }
                _ => true,
            };
            if is_new {
                self.inferences.push(inference);
            }
        }
    }

    fn refute_clauses(&mut self, clauses: Clauses) -> Option<()> {
        let Clauses { atoms, inputs } = clauses;
        self.atoms = atoms;
        let lit = |it: &Literal| variable(it.atom() as u32).literal(it.value());
        let given: Vec<Vec<Lit>> = inputs.iter().map(|it| it.clause.iter().map(lit).collect()).collect();
        let resolvents = resolve(self.atoms.list.len(), &given, &mut || self.budget.check().is_err())?;
        drop(given);
        let mut used: Vec<u32> = resolvents.iter().flat_map(|it| it.antecedents.iter().copied()).collect();
        used.sort_unstable();
        used.dedup();
        used.truncate(used.partition_point(|it| (*it as usize) < inputs.len()));
        for input in used.iter().map(|it| &inputs[*it as usize]) {
            if let Origin::Fact(fact) = input.origin {
                self.know(fact)?;
            }
        }
        let mut numbers = vec![None; inputs.len() + resolvents.len()];
        for idx in used.iter().map(|it| *it as usize) {
            if let Origin::Inference(inference) = &inputs[idx].origin {
                numbers[idx] = Some(self.inferences.len() as u32);
                self.inferences.push(inference.clone());
            }
        }
        self.resolve(inputs.len(), resolvents, numbers);
        Some(())
    }

    /// Adds resolvents, and forgets each clause after its last use.
    fn resolve(&mut self, n_inputs: usize, resolvents: Vec<Resolvent>, mut numbers: Vec<Option<u32>>) {
        let mut last_use = vec![0; numbers.len()];
        for (idx, resolvent) in resolvents.iter().enumerate() {
            resolvent.antecedents.iter().for_each(|it| last_use[*it as usize] = idx);
        }
        let mut done = Vec::new();
        for (idx, Resolvent { clause, antecedents }) in resolvents.into_iter().enumerate() {
            numbers[n_inputs + idx] = Some(self.inferences.len() as u32);
            let clause = clause.iter().map(|it| Literal::new(it.var().index() as u32, !it.is_negative())).collect();
            let hints = antecedents.iter().filter_map(|it| numbers[*it as usize]).collect();
            self.inferences.push(Inference::Resolvent { clause, hints });
            done.extend(
                antecedents.iter().filter(|it| last_use[**it as usize] == idx).filter_map(|it| numbers[*it as usize]),
            );
            if done.len() >= FORGET_AT_ONCE {
                self.inferences.push(Inference::Forget(std::mem::take(&mut done)));
            }
        }
    }

    /// Numbers the atoms that the inferences speak of, and no others.
    fn name_atoms(&mut self) {
        let known = self.reasons.known;
        let all = std::mem::take(&mut self.atoms).list;
        for inference in &mut self.inferences {
            match inference {
                Inference::Axiom(axiom) => drop(clause_of_axiom(known, &mut self.atoms, axiom)),
                Inference::Acyclic(events) => drop(clause_of_cycle(&mut self.atoms, events)),
                Inference::Resolvent { clause, .. } => {
                    for literal in clause {
                        let named = self.atoms.literal(all[literal.atom()]);
                        *literal = if literal.value() { named } else { named.negated() };
                    }
                }
                Inference::Forget(_) => {}
            }
        }
    }
}

/// The events of a cycle, each once.
pub(super) fn round(mut events: Vec<Event>) -> Vec<Event> {
    if events.len() > 1 && events.first() == events.last() {
        events.pop();
    }
    events
}

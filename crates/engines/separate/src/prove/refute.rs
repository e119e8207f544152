//! Looks for instances of clauses that contradict each other.
//!
//! A SAT solver has a model of the instances so far, in which as little as possible is true. Instances that are false in
//! it are added, until there is no model, or none is false: then the model is a small execution in which the obligation
//! fails. New elements come last: instances that need one are only added if all others are true. Cost: as many rounds as
//! the contradiction is deep; a round joins the true atoms of each clause.

use iso_evidence::{Budget, Clause, Contradictory, Instance, Open, Predicate, ResolvedFrom, Term, Theory};
use iso_solve::{Lit, SatResult, SatSolver, Solver, Var, resolve};
use iso_spec::{Given, Sort};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::Cell;

/// What became of an obligation.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// It holds.
    Shown(Contradictory),
    /// There is an execution in which it does not, as far as the clauses say.
    Fails,
    /// A limit was reached.
    GaveUp,
}

/// Elements may be functions of functions of names, and so on.
const MAX_DEPTH: usize = 2;
const MAX_TERMS: usize = 24;
const MAX_INSTANCES: usize = 6_000;
/// So many of one clause in one round.
const MAX_PER_ROUND: usize = 400;
/// New elements in one round.
const MAX_NEW: usize = 6;

type TermIdx = u32;
type Atom = (u32, Vec<TermIdx>);

/// A clause whose predicates are numbered; those that must be true of the premises come first.
struct Ready<'t> {
    number: usize,
    clause: &'t Clause,
    literals: Vec<(u32, &'t [Open], bool)>,
    /// Has it elements that are functions of others?
    makes: bool,
}

struct Ground<'t> {
    theory: &'t Theory,
    clauses: Vec<Ready<'t>>,
    predicates: Vec<Predicate>,
    terms: Vec<Term>,
    sorts: Vec<Sort>,
    places: FxHashMap<Term, TermIdx>,
    atoms: FxHashMap<Atom, Var>,
    solver: Solver,
    instances: Vec<(usize, Vec<TermIdx>, Vec<Lit>)>,
    known: FxHashSet<(usize, Vec<TermIdx>)>,
    /// By predicate, what is true in the model.
    holds: Vec<Vec<Vec<TermIdx>>>,
    is_cut: bool,
}

/// How many instances may still be tried.
#[derive(Debug)]
pub(crate) struct Allowance(pub(crate) Cell<usize>);

/// Tries to show an obligation.
pub(crate) fn refute(theory: &Theory, obligation: usize, allowance: &Allowance, budget: &Budget<'_>) -> Outcome {
    let mut ground = Ground::new(theory, obligation);
    let outcome = search(&mut ground, allowance, budget);
    allowance.0.set(allowance.0.get().saturating_sub(ground.instances.len()));
    outcome
}

fn search(ground: &mut Ground<'_>, allowance: &Allowance, budget: &Budget<'_>) -> Outcome {
    loop {
        let is_enough = ground.instances.len() > MAX_INSTANCES.min(allowance.0.get());
        if budget.check().is_err() || is_enough {
            return Outcome::GaveUp;
        }
        match ground.solver.solve(&[], &mut || budget.check().is_err()) {
            SatResult::Unsatisfiable => return ground.contradiction(budget),
            SatResult::Stopped => return Outcome::GaveUp,
            SatResult::Satisfiable => {}
        }
        ground.read_model();
        if !ground.add_false_instances(false) && !ground.add_false_instances(true) {
            return if ground.is_cut { Outcome::GaveUp } else { Outcome::Fails };
        }
    }
}

impl<'t> Ground<'t> {
    fn new(theory: &'t Theory, obligation: usize) -> Self {
        let mut ground = Self {
            theory,
            clauses: Vec::new(),
            predicates: Vec::new(),
            terms: Vec::new(),
            sorts: Vec::new(),
            places: FxHashMap::default(),
            atoms: FxHashMap::default(),
            solver: Solver::for_small_models(),
            instances: Vec::new(),
            known: FxHashSet::default(),
            holds: Vec::new(),
            is_cut: false,
        };
        ground.term(Term::initial());
        let usable = (0..theory.clauses.len()).filter(|it| theory.may_use(obligation, *it));
        let mentioned = mentioned(theory, usable.clone());
        for number in usable {
            let clause = &theory.clauses[number];
            if clause.literals.iter().all(|it| mentioned.contains(&it.predicate)) {
                ground.make_ready(number, clause);
            }
        }
        ground
    }

    fn make_ready(&mut self, number: usize, clause: &'t Clause) {
        let mut literals: Vec<(u32, &'t [Open], bool)> = Vec::new();
        let mut makes = false;
        for literal in &clause.literals {
            let predicate = self.predicates.iter().position(|it| *it == literal.predicate).unwrap_or_else(|| {
                self.predicates.push(literal.predicate);
                self.predicates.len() - 1
            });
            literals.push((predicate as u32, &literal.arguments, literal.is_true));
            for argument in &literal.arguments {
                makes |= self.constants(argument);
            }
        }
        literals.sort_by_key(|it| (it.2, matches!(self.predicates[it.0 as usize], Predicate::Equal(_))));
        self.clauses.push(Ready { number, clause, literals, makes });
    }

    /// Notes the names in an element; says whether it is a function of others.
    fn constants(&mut self, open: &Open) -> bool {
        match open {
            Open::Variable(_) => false,
            Open::Apply(function, arguments) if arguments.is_empty() => {
                self.term(Term { function: *function, arguments: Vec::new() });
                false
            }
            Open::Apply(..) => true,
        }
    }

    fn term(&mut self, term: Term) -> TermIdx {
        if let Some(place) = self.places.get(&term) {
            return *place;
        }
        let place = self.terms.len() as TermIdx;
        self.sorts.push(self.theory.functions[term.function].sort);
        self.places.insert(term.clone(), place);
        self.terms.push(term);
        place
    }

    /// The element, if it is one already.
    fn existing(&self, open: &Open, values: &[TermIdx]) -> Option<TermIdx> {
        match open {
            Open::Variable(number) => Some(values[*number]),
            Open::Apply(function, arguments) => {
                let arguments: Option<Vec<Term>> =
                    arguments.iter().map(|it| Some(self.terms[self.existing(it, values)? as usize].clone())).collect();
                self.places.get(&Term { function: *function, arguments: arguments? }).copied()
            }
        }
    }

    #[expect(clippy::iter_over_hash_type, reason = "what is read is sorted")]
    fn read_model(&mut self) {
        self.holds = vec![Vec::new(); self.predicates.len()];
        for ((predicate, arguments), var) in &self.atoms {
            if self.solver.value(var.positive()) {
                self.holds[*predicate as usize].push(arguments.clone());
                if matches!(self.predicates[*predicate as usize], Predicate::Equal(_)) {
                    self.holds[*predicate as usize].push(vec![arguments[1], arguments[0]]);
                }
            }
        }
        for predicate in 0..self.predicates.len() {
            if let Predicate::Equal(sort) = self.predicates[predicate] {
                for term in (0..self.terms.len()).filter(|it| self.sorts[*it] == sort) {
                    self.holds[predicate].push(vec![term as TermIdx; 2]);
                }
            }
            // The order of a hash table is none.
            self.holds[predicate].sort_unstable();
        }
    }

    fn is_true(&self, predicate: u32, arguments: &[TermIdx]) -> bool {
        self.holds[predicate as usize].binary_search_by(|it| it.as_slice().cmp(arguments)).is_ok()
    }

    /// Adds instances that the model makes false; those that need new elements only if wanted.
    fn add_false_instances(&mut self, makes: bool) -> bool {
        let mut found: Vec<(usize, Vec<TermIdx>)> = Vec::new();
        for at in 0..self.clauses.len() {
            if makes && !self.clauses[at].makes {
                continue;
            }
            let n_before = found.len();
            let mut values = vec![None; self.clauses[at].clause.variables.len()];
            self.join(at, 0, &mut values, makes, n_before + MAX_PER_ROUND, &mut found);
        }
        if makes {
            found.sort_by_key(|it| it.1.iter().map(|it| self.terms[*it as usize].depth()).sum::<usize>());
            if self.terms.len() >= MAX_TERMS {
                self.is_cut |= !found.is_empty();
                return false;
            }
        }
        let mut n_new = 0;
        for (at, values) in found {
            n_new += usize::from(self.add(at, values));
            if makes && n_new == MAX_NEW {
                break;
            }
        }
        n_new > 0
    }

    /// Values of the variables for which no literal from here on is true.
    fn join(
        &self,
        at: usize,
        literal: usize,
        values: &mut Vec<Option<TermIdx>>,
        makes: bool,
        limit: usize,
        found: &mut Vec<(usize, Vec<TermIdx>)>,
    ) {
        if found.len() >= limit {
            return;
        }
        let ready = &self.clauses[at];
        let Some((predicate, arguments, is_true)) = ready.literals.get(literal) else {
            if values.iter().all(Option::is_some) {
                found.push((at, values.iter().flatten().copied().collect()));
            } else {
                self.choose(at, literal, values, makes, limit, found);
            }
            return;
        };
        if *is_true {
            if let Some(unbound) = first_unbound(arguments, values) {
                self.choose_value(at, literal, unbound, values, makes, limit, found);
                return;
            }
            // What speaks of an element that is not there yet is not true.
            let is_settled = match self.arguments(arguments, values) {
                None => !makes,
                Some(at_terms) => self.is_true(*predicate, &at_terms),
            };
            if !is_settled {
                self.join(at, literal + 1, values, makes, limit, found);
            }
            return;
        }
        for pair in &self.holds[*predicate as usize] {
            let mut bound = Vec::new();
            if self.matches(arguments, pair, values, &mut bound) {
                self.join(at, literal + 1, values, makes, limit, found);
            }
            for variable in bound {
                values[variable] = None;
            }
        }
    }

    /// A variable that no premise speaks of.
    fn choose(
        &self,
        at: usize,
        literal: usize,
        values: &mut Vec<Option<TermIdx>>,
        makes: bool,
        limit: usize,
        found: &mut Vec<(usize, Vec<TermIdx>)>,
    ) {
        if let Some(unbound) = values.iter().position(Option::is_none) {
            self.choose_value(at, literal, unbound, values, makes, limit, found);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the state of one search")]
    fn choose_value(
        &self,
        at: usize,
        literal: usize,
        unbound: usize,
        values: &mut Vec<Option<TermIdx>>,
        makes: bool,
        limit: usize,
        found: &mut Vec<(usize, Vec<TermIdx>)>,
    ) {
        let sort = self.clauses[at].clause.variables[unbound];
        for term in (0..self.terms.len()).filter(|it| self.sorts[*it] == sort) {
            values[unbound] = Some(term as TermIdx);
            self.join(at, literal, values, makes, limit, found);
        }
        values[unbound] = None;
    }

    /// The arguments, if all are elements already.
    fn arguments(&self, arguments: &[Open], values: &[Option<TermIdx>]) -> Option<Vec<TermIdx>> {
        let values: Vec<TermIdx> = values.iter().map(|it| it.unwrap_or(0)).collect();
        arguments.iter().map(|it| self.existing(it, &values)).collect()
    }

    fn matches(
        &self,
        arguments: &[Open],
        pair: &[TermIdx],
        values: &mut [Option<TermIdx>],
        bound: &mut Vec<usize>,
    ) -> bool {
        arguments.iter().zip(pair).all(|(argument, term)| match argument {
            Open::Variable(number) => is_or_becomes(*number, *term, values, bound),
            Open::Apply(..) if first_unbound(std::slice::from_ref(argument), values).is_some() => {
                // A function of what is not known yet: only its own form can match.
                self.matches_term(argument, &self.terms[*term as usize], values, bound)
            }
            Open::Apply(..) => {
                let known: Vec<TermIdx> = values.iter().map(|it| it.unwrap_or(0)).collect();
                self.existing(argument, &known) == Some(*term)
            }
        })
    }

    fn matches_term(&self, open: &Open, term: &Term, values: &mut [Option<TermIdx>], bound: &mut Vec<usize>) -> bool {
        match open {
            Open::Variable(number) => {
                self.places.get(term).is_some_and(|place| is_or_becomes(*number, *place, values, bound))
            }
            Open::Apply(function, arguments) => {
                *function == term.function
                    && arguments.iter().zip(&term.arguments).all(|it| self.matches_term(it.0, it.1, values, bound))
            }
        }
    }

    fn add(&mut self, at: usize, values: Vec<TermIdx>) -> bool {
        if !self.known.insert((at, values.clone())) {
            return false;
        }
        let clause = self.clauses[at].clause;
        let terms: Vec<Term> = values.iter().map(|it| self.terms[*it as usize].clone()).collect();
        let Some(ground) = clause.instance(&terms) else { return false };
        if ground.iter().any(|it| it.arguments.iter().any(|it| it.depth() > MAX_DEPTH)) {
            self.is_cut = true;
            return false;
        }
        let mut literals = Vec::new();
        for literal in ground {
            let predicate =
                self.predicates.iter().position(|it| *it == literal.predicate).expect("it is one of the clause's");
            let arguments: Vec<TermIdx> = literal.arguments.into_iter().map(|it| self.term(it)).collect();
            let solver = &mut self.solver;
            let atom = self.atoms.entry((predicate as u32, arguments)).or_insert_with(|| solver.new_var());
            literals.push(atom.literal(literal.is_true));
        }
        self.solver.add_clause(&literals);
        self.instances.push((self.clauses[at].number, values, literals));
        true
    }

    /// The contradiction, with few instances.
    fn contradiction(&self, budget: &Budget<'_>) -> Outcome {
        let mut used: Vec<usize> = (0..self.instances.len()).collect();
        let mut resolvents = Vec::new();
        for _ in 0..4 {
            let clauses: Vec<Vec<Lit>> = used.iter().map(|it| self.instances[*it].2.clone()).collect();
            let Some(found) = resolve(self.atoms.len(), &clauses, &mut || budget.check().is_err()) else {
                return Outcome::GaveUp;
            };
            let mut needed = vec![false; used.len()];
            for antecedent in found.iter().flat_map(|it| &it.antecedents) {
                if let Some(needed) = needed.get_mut(*antecedent as usize) {
                    *needed = true;
                }
            }
            let n_before = used.len();
            let mut places = vec![0_u32; n_before];
            let mut kept = Vec::new();
            for idx in (0..n_before).filter(|it| needed[*it]) {
                places[idx] = kept.len() as u32;
                kept.push(used[idx]);
            }
            resolvents = found;
            for resolvent in &mut resolvents {
                for antecedent in &mut resolvent.antecedents {
                    let place = *antecedent as usize;
                    *antecedent = if place < n_before { places[place] } else { (place - n_before + kept.len()) as u32 };
                }
            }
            used = kept;
            if used.len() == n_before {
                break;
            }
        }
        let mut numbers: FxHashMap<usize, i32> = FxHashMap::default();
        for lit in used.iter().flat_map(|it| &self.instances[*it].2) {
            let next = i32::try_from(numbers.len() + 1).expect("instances are limited");
            numbers.entry(lit.var().index()).or_insert(next);
        }
        let number = |it: &Lit| {
            let number = numbers[&it.var().index()];
            if it.is_negative() { -number } else { number }
        };
        let resolvents = resolvents
            .iter()
            .map(|it| ResolvedFrom { literals: it.clause.iter().map(number).collect(), hints: it.antecedents.clone() });
        let instances = used.iter().map(|it| {
            let (clause, values, _) = &self.instances[*it];
            Instance { clause: *clause, values: values.iter().map(|it| self.terms[*it as usize].clone()).collect() }
        });
        Outcome::Shown(Contradictory { instances: instances.collect(), resolvents: resolvents.collect() })
    }
}

/// Predicates that something else than histories and equality speaks of: the others show nothing.
fn mentioned(theory: &Theory, usable: impl Iterator<Item = usize>) -> FxHashSet<Predicate> {
    let is_of_levels = |clause: &Clause| {
        let sentence = &theory.sentences[clause.origin];
        !sentence.starts_with("histories:") && sentence != "equality"
    };
    let clauses = usable.map(|it| &theory.clauses[it]).filter(|it| is_of_levels(it));
    let mut mentioned: FxHashSet<Predicate> =
        clauses.flat_map(|it| it.literals.iter().map(|it| it.predicate)).collect();
    let is_of_reads = |it: &Predicate| match it {
        Predicate::Given(given) => given.sorts().0 == Sort::Read,
        Predicate::Equal(sort) | Predicate::Some(sort) => *sort == Sort::Read,
        _ => false,
    };
    if mentioned.iter().any(is_of_reads) {
        mentioned.extend([Given::Of, Given::From, Given::KeyOf].map(Predicate::Given));
        mentioned.extend([Predicate::At(Given::WriteRead), Predicate::Equal(Sort::Read), Predicate::Some(Sort::Read)]);
    }
    mentioned.extend([Sort::Txn, Sort::Key].map(Predicate::Equal));
    mentioned.insert(Predicate::Some(Sort::Key));
    mentioned
}

/// Has the variable this value, or none so far? Then it has it now.
fn is_or_becomes(number: usize, term: TermIdx, values: &mut [Option<TermIdx>], bound: &mut Vec<usize>) -> bool {
    if let Some(value) = values[number] {
        return value == term;
    }
    values[number] = Some(term);
    bound.push(number);
    true
}

/// The first variable of these without a value.
fn first_unbound(arguments: &[Open], values: &[Option<TermIdx>]) -> Option<usize> {
    arguments.iter().find_map(|it| match it {
        Open::Variable(number) => values[*number].is_none().then_some(*number),
        Open::Apply(_, arguments) => first_unbound(arguments, values),
    })
}

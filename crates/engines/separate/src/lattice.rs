//! How many specs relate, up to a scope: which coincide, and the diagram of what implies what.
//!
//! Each history that a search finds is evaluated at all specs, and answers most of the other questions; what implies
//! what is closed transitively. So few of the pairs are searched for.

use crate::question::{Aspects, Method, Question, Scope};
use crate::search::Effort;
use crate::separate::{Answer, Found, separate};
use iso_evidence::{Budget, StopReason};
use iso_history::Facts;
use iso_spec::{Evaluation, Prepared, Spec, Steps};

/// How specs relate, up to a scope. Specs are told by their place in the question.
#[derive(Clone, Debug)]
pub struct Lattice {
    /// Specs that allow the same histories, by the first of them.
    pub classes: Vec<Vec<usize>>,
    /// What implies what, without what follows from other edges.
    pub edges: Vec<LatticeEdge>,
    /// Pairs about which nothing is known: does the first imply the second?
    pub unknown: Vec<(usize, usize, StopReason)>,
    /// What was varied for some pair.
    pub aspects: Aspects,
    /// How many pairs were searched for.
    pub n_searches: usize,
    /// Of how many pairs some history says that the first does not imply the second.
    pub n_apart: usize,
    /// What it took.
    pub effort: Effort,
}

/// One class of specs implies another, and not the other way round.
#[derive(Clone, Debug)]
pub struct LatticeEdge {
    /// The class that allows fewer histories.
    pub stronger: usize,
    /// The class that allows more.
    pub weaker: usize,
    /// A smallest history that only the weaker one allows.
    pub found: Found,
}

/// How far a lattice is: so many pairs of so many are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatticeProgress {
    /// Pairs that are known.
    pub n_known: usize,
    /// All pairs.
    pub n_pairs: usize,
}

/// Relates all of the specs to each other.
pub fn lattice(
    specs: &[&Spec],
    scope: &Scope,
    method: Method,
    budget: &Budget<'_>,
    tell: &mut dyn FnMut(LatticeProgress),
) -> Lattice {
    let mut table = Table::new(specs, scope, method, budget);
    table.fill(tell);
    table.draw()
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Known {
    Open,
    Implies,
    /// Some history tells them apart.
    Apart,
    Unknown(StopReason),
}

struct Table<'a> {
    specs: &'a [&'a Spec],
    scope: &'a Scope,
    method: Method,
    budget: &'a Budget<'a>,
    /// Does the row imply the column?
    known: Vec<Vec<Known>>,
    /// What was found so far.
    pool: Vec<Found>,
    aspects: Aspects,
    n_searches: usize,
    effort: Effort,
}

fn prepared<'f, 'h>(facts: &'f Facts<'h>, found: &Found) -> Prepared<'f, 'h> {
    match &found.session_order {
        Some(pairs) => Prepared::with_session_order(facts, pairs),
        None => Prepared::new(facts),
    }
}

/// Histories of a scope are small; those that take longer tell less than they cost.
const MAX_STEPS: u64 = 20_000;

impl<'a> Table<'a> {
    fn new(specs: &'a [&'a Spec], scope: &'a Scope, method: Method, budget: &'a Budget<'a>) -> Self {
        let mut known = vec![vec![Known::Open; specs.len()]; specs.len()];
        for (idx, row) in known.iter_mut().enumerate() {
            row[idx] = Known::Implies;
        }
        Self {
            specs,
            scope,
            method,
            budget,
            known,
            pool: Vec::new(),
            aspects: Aspects::default(),
            n_searches: 0,
            effort: Effort::default(),
        }
    }

    fn fill(&mut self, tell: &mut dyn FnMut(LatticeProgress)) {
        let n = self.specs.len();
        // Neighbours in the catalogue are often alike, so what they imply is known early.
        for distance in 1..n {
            for left in 0..n {
                let other = (left + distance) % n;
                if self.known[left][other] != Known::Open {
                    continue;
                }
                if let Err(reason) = self.budget.check() {
                    self.known[left][other] = Known::Unknown(reason);
                } else {
                    let n_known = self.known.iter().flatten().filter(|it| **it != Known::Open).count();
                    tell(LatticeProgress { n_known, n_pairs: n * n });
                    self.ask(left, other);
                }
            }
        }
    }

    fn ask(&mut self, left: usize, right: usize) {
        let found = self.search(left, right);
        self.known[left][right] = match &found {
            Answer::Found(_) => Known::Apart,
            Answer::None => Known::Implies,
            Answer::Unknown(reason) => Known::Unknown(reason.clone()),
        };
        match found {
            Answer::Found(found) => {
                self.evaluate(&found);
                self.pool.push(*found);
            }
            Answer::None => self.close(left, right),
            Answer::Unknown(_) => {}
        }
    }

    fn search(&mut self, left: usize, right: usize) -> Answer {
        let question = Question {
            allowed: vec![self.specs[left]],
            forbidden: vec![self.specs[right]],
            scope: *self.scope,
            method: self.method,
        };
        let separation = separate(&question, self.budget);
        self.n_searches += 1;
        self.effort.add(&separation.effort);
        self.aspects = self.aspects.and(separation.aspects);
        separation.answer
    }

    /// What a history says about all pairs.
    fn evaluate(&mut self, found: &Found) {
        let facts = Facts::new(&found.history);
        let prepared = prepared(&facts, found);
        let verdict = |spec: &&Spec| match prepared.evaluate(spec, &mut Steps::new(MAX_STEPS)) {
            Evaluation::Allowed(_) => Some(true),
            Evaluation::Forbidden => Some(false),
            _ => None,
        };
        let verdicts: Vec<Option<bool>> = self.specs.iter().map(verdict).collect();
        for (left, row) in self.known.iter_mut().enumerate() {
            for (right, known) in row.iter_mut().enumerate() {
                if verdicts[left] == Some(true) && verdicts[right] == Some(false) {
                    debug_assert!(*known != Known::Implies, "a search and the evaluator disagree");
                    *known = Known::Apart;
                }
            }
        }
    }

    /// A history that was found for another pair and tells these apart, too.
    fn known_history(&self, allowing: usize, forbidding: usize) -> Option<Found> {
        self.pool.iter().find_map(|found| {
            let facts = Facts::new(&found.history);
            let prepared = prepared(&facts, found);
            let forbids = prepared.evaluate(self.specs[forbidding], &mut Steps::new(MAX_STEPS));
            match prepared.evaluate(self.specs[allowing], &mut Steps::new(MAX_STEPS)) {
                Evaluation::Allowed(execution) if forbids == Evaluation::Forbidden => {
                    Some(Found { executions: vec![execution], ..found.clone() })
                }
                _ => None,
            }
        })
    }

    /// What follows from one more implication.
    fn close(&mut self, left: usize, right: usize) {
        let n = self.specs.len();
        let below: Vec<usize> = (0..n).filter(|it| self.known[*it][left] == Known::Implies).collect();
        let above: Vec<usize> = (0..n).filter(|it| self.known[right][*it] == Known::Implies).collect();
        for from in below {
            for to in &above {
                self.known[from][*to] = Known::Implies;
            }
        }
    }

    fn implies(&self, left: usize, right: usize) -> bool {
        self.known[left][right] == Known::Implies
    }

    fn draw(mut self) -> Lattice {
        let n = self.specs.len();
        let mut classes: Vec<Vec<usize>> = Vec::new();
        for spec in 0..n {
            let same = |it: &&mut Vec<usize>| self.implies(spec, it[0]) && self.implies(it[0], spec);
            match classes.iter_mut().find(same) {
                Some(class) => class.push(spec),
                None => classes.push(vec![spec]),
            }
        }
        let heads: Vec<usize> = classes.iter().map(|it| it[0]).collect();
        let is_above = |a: usize, b: usize| a != b && self.implies(heads[a], heads[b]);
        let all = (0..heads.len()).flat_map(|a| (0..heads.len()).map(move |b| (a, b)));
        let direct: Vec<(usize, usize)> = all
            .filter(|it| is_above(it.0, it.1))
            .filter(|it| !(0..heads.len()).any(|via| is_above(it.0, via) && is_above(via, it.1)))
            .collect();
        let mut edges = Vec::new();
        for (stronger, weaker) in direct {
            match self.search(heads[weaker], heads[stronger]) {
                Answer::Found(found) => edges.push(LatticeEdge { stronger, weaker, found: *found }),
                Answer::None => unreachable!("classes that imply each other are one"),
                Answer::Unknown(reason) => match self.known_history(heads[weaker], heads[stronger]) {
                    Some(found) => edges.push(LatticeEdge { stronger, weaker, found }),
                    None => self.known[heads[weaker]][heads[stronger]] = Known::Unknown(reason),
                },
            }
        }
        let mut unknown = Vec::new();
        for (left, row) in self.known.iter().enumerate() {
            for (right, known) in row.iter().enumerate() {
                if let Known::Unknown(reason) = known {
                    unknown.push((left, right, reason.clone()));
                }
            }
        }
        Lattice {
            classes,
            edges,
            unknown,
            aspects: self.aspects,
            n_searches: self.n_searches,
            n_apart: self.known.iter().flatten().filter(|it| **it == Known::Apart).count(),
            effort: self.effort,
        }
    }
}

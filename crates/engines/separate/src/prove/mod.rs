//! Does one level imply another one, for histories of any size?
//!
//! Constructions are tried, simple ones first: an order of the stronger level, and the rest of the weaker level's witness
//! made of it. For each, everything that has to be shown is tried; the first that fails ends the trial. What comes out
//! is a proof that `certify` replays. Why: `docs/decisions/0024-proofs-for-every-size.md`.

mod candidates;
mod refute;

use candidates::{Candidates, Shape, Simple};
use iso_evidence::{Budget, Construction, Contradictory, Implication, StopReason, Theory};
use iso_spec::Spec;
use refute::{Allowance, Outcome, refute};
use rustc_hash::FxHashMap;
use std::cell::Cell;

/// What came out of looking for a proof.
#[derive(Clone, Debug)]
pub enum Proving {
    /// The stronger level implies the weaker one.
    Proved(Box<Implication>),
    /// No construction that was tried works; that says nothing about the levels.
    Open {
        /// Why the texts are out of reach, or what failed last.
        reason: String,
    },
    /// The limit was reached first.
    Stopped(StopReason),
}

/// Looks for a proof that the stronger level implies the weaker one.
///
/// ```
/// use iso_evidence::{Budget, certify_implication};
/// use iso_separate::{Proving, prove};
/// use iso_spec::Catalogue;
/// let level = |name| Catalogue::builtin().find(name).unwrap();
/// let Proving::Proved(proof) = prove(level("cerone.si"), level("biswas.si"), &Budget::unlimited()) else { panic!() };
/// assert!(certify_implication(level("cerone.si"), level("biswas.si"), &proof).is_ok());
/// ```
pub fn prove(stronger: &Spec, weaker: &Spec, budget: &Budget<'_>) -> Proving {
    let shape = match Shape::new(stronger, weaker) {
        Ok(shape) => shape,
        Err(reason) => return Proving::Open { reason },
    };
    let mut prover = Prover::new(stronger, weaker, &shape, budget);
    let mut reason = "no construction was found".to_owned();
    for candidate in Candidates::new(stronger, weaker, &shape) {
        if let Err(stop) = budget.check() {
            return Proving::Stopped(stop);
        }
        if prover.allowance.0.get() == 0 {
            break;
        }
        match prover.attempt(candidate, Bounds::Wanted) {
            Ok(proof) => return Proving::Proved(Box::new(proof)),
            Err(why) => reason = why,
        }
    }
    Proving::Open { reason }
}

/// Looks for a proof with a construction that somebody gives. Bounds of closures are found if it has none.
pub fn prove_by(stronger: &Spec, weaker: &Spec, construction: Construction, budget: &Budget<'_>) -> Proving {
    let shape = match Shape::new(stronger, weaker) {
        Ok(shape) => shape,
        Err(reason) => return Proving::Open { reason },
    };
    let mut prover = Prover::new(stronger, weaker, &shape, budget);
    let bounds = if construction.bounds.is_empty() { Bounds::Wanted } else { Bounds::Given };
    match prover.attempt(construction, bounds) {
        Ok(proof) => Proving::Proved(Box::new(proof)),
        Err(reason) => match budget.check() {
            Err(stop) => Proving::Stopped(stop),
            Ok(()) => Proving::Open { reason },
        },
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bounds {
    Wanted,
    Given,
}

struct Prover<'p> {
    stronger: &'p Spec,
    weaker: &'p Spec,
    budget: &'p Budget<'p>,
    shape: &'p Shape,
    allowance: Allowance,
    /// By order and relation: is it transitive?
    transitive: FxHashMap<(Vec<String>, String), bool>,
}

/// Proofs that exist take a small part of so many instances, in all constructions together.
const MAX_INSTANCES: usize = 80_000;

impl<'p> Prover<'p> {
    fn new(stronger: &'p Spec, weaker: &'p Spec, shape: &'p Shape, budget: &'p Budget<'p>) -> Self {
        let allowance = Allowance(Cell::new(MAX_INSTANCES));
        Self { stronger, weaker, budget, shape, allowance, transitive: FxHashMap::default() }
    }

    /// Tries a construction; closures that need bounds get simple ones first.
    fn attempt(&mut self, construction: Construction, bounds: Bounds) -> Result<Implication, String> {
        let n_closures = Theory::new(self.stronger, self.weaker, &construction)?.n_closures()[1];
        if bounds == Bounds::Given || n_closures == 0 {
            let (_, refutations) = self.show_all(&construction)?;
            return Ok(Implication { construction, refutations });
        }
        let made_closure = construction.made.iter().any(|it| it.contains('+'));
        let mut bounded = construction;
        let mut reason = String::new();
        for effort in [Simple::Names, Simple::Unions, Simple::Snapshots] {
            let n_before = bounded.bounds.len();
            self.bound_closures(&mut bounded, n_closures, effort);
            if effort != Simple::Names && bounded.bounds.len() == n_before {
                continue;
            }
            // The new bounds are often enough, and what is not needed would have to be taken out again.
            if n_before > 0 {
                let mut alone = bounded.clone();
                alone.bounds.drain(..n_before);
                if let Ok((_, refutations)) = self.show_all(&alone) {
                    return Ok(Implication { construction: alone, refutations });
                }
            }
            match self.show_all(&bounded) {
                Ok((theory, refutations)) => return self.without_unneeded(bounded, &theory, refutations),
                // A bound of a closure helps where the text has one, or where one was made.
                Err(why) if !why.contains("acyclic(") && !why.contains('+') && !made_closure => return Err(why),
                Err(why) => reason = why,
            }
        }
        Err(reason)
    }

    fn without_unneeded(
        &self,
        mut construction: Construction,
        theory: &Theory,
        refutations: Vec<Contradictory>,
    ) -> Result<Implication, String> {
        let needed = needed_bounds(theory, &construction, &refutations);
        if needed.len() == construction.bounds.len() {
            return Ok(Implication { construction, refutations });
        }
        construction.bounds = needed;
        let (_, refutations) = self.show_all(&construction)?;
        Ok(Implication { construction, refutations })
    }

    /// Shows everything, what is specific to the levels first, since that fails most often.
    fn show_all(&self, construction: &Construction) -> Result<(Theory, Vec<Contradictory>), String> {
        let theory = Theory::new(self.stronger, self.weaker, construction)?;
        let n = theory.obligations.len();
        let mut shown: Vec<Option<Contradictory>> = vec![None; n];
        for obligation in (0..n).rev() {
            match refute(&theory, obligation, &self.allowance, self.budget) {
                Outcome::Shown(contradiction) => shown[obligation] = Some(contradiction),
                Outcome::Fails => return Err(format!("it fails that {}", theory.obligations[obligation].title)),
                Outcome::GaveUp => return Err(format!("open: {}", theory.obligations[obligation].title)),
            }
        }
        Ok((theory, shown.into_iter().flatten().collect()))
    }

    /// Finds transitive relations that contain the closures.
    fn bound_closures(&mut self, construction: &mut Construction, n_closures: usize, effort: Simple) {
        for closure in 0..n_closures {
            for within in self.shape.transitive_relations(construction, closure, effort) {
                let mut tried = construction.clone();
                tried.bounds.push((closure, within.clone()));
                if self.is_bound(&tried) {
                    construction.bounds.push((closure, within));
                }
            }
        }
    }

    fn is_bound(&mut self, tried: &Construction) -> bool {
        let Some((_, within)) = tried.bounds.last() else { return false };
        let key = (tried.orders.clone(), within.clone());
        if self.transitive.get(&key) == Some(&false) {
            return false;
        }
        let Ok(theory) = Theory::new(self.stronger, self.weaker, tried) else { return false };
        let at = tried.orders.len() + tried.bounds.len() - 1;
        let own = theory.steps()[at]..theory.steps()[at + 1];
        // That it is transitive comes first, and may have several cases.
        let n_inner = own.clone().filter(|it| theory.obligations[*it].title.starts_with("transitive(")).count();
        let is_shown = |mut own: std::ops::Range<usize>| {
            own.all(|it| matches!(refute(&theory, it, &self.allowance, self.budget), Outcome::Shown(_)))
        };
        // What it does not contain is found at once.
        if !is_shown(own.start + n_inner..own.end) {
            return false;
        }
        let is_transitive = match self.transitive.get(&key) {
            Some(is_transitive) => *is_transitive,
            None => is_shown(own.start..own.start + n_inner),
        };
        self.transitive.insert(key, is_transitive);
        is_transitive
    }
}

/// The bounds that some refutation uses, directly or for another bound.
fn needed_bounds(theory: &Theory, construction: &Construction, refutations: &[Contradictory]) -> Vec<(usize, String)> {
    let (first, n) = (construction.orders.len(), construction.bounds.len());
    let mut is_needed = vec![false; n];
    let uses = |obligation: usize, bound: usize| {
        let title = format!(")+ in {}", construction.bounds[bound].1);
        refutations[obligation].instances.iter().any(|it| {
            let origin = theory.clauses[it.clause].origin;
            theory.sentences[origin].ends_with(&title) && !theory.is_goal(it.clause)
        })
    };
    let step_of = |obligation: usize| theory.steps().partition_point(|it| *it <= obligation) - 1;
    for bound in (0..n).rev() {
        let is_kept = |obligation: usize| match step_of(obligation).checked_sub(first) {
            Some(other) if other < n => other > bound && is_needed[other],
            _ => true,
        };
        is_needed[bound] = (0..refutations.len()).any(|it| is_kept(it) && uses(it, bound));
    }
    let kept = construction.bounds.iter().zip(&is_needed).filter(|it| *it.1);
    kept.map(|it| it.0.clone()).collect()
}

//! Does one level imply another one, for histories of any size?
//!
//! Constructions are tried, simple ones first: an order of the stronger level, and the rest of the weaker level's witness
//! made of it. For each, everything that has to be shown is tried; the first that fails ends the trial. What comes out
//! is a proof that `certify` replays. Why: `docs/decisions/0024-proofs-for-every-size.md`.

mod candidates;
mod refute;

use candidates::{Candidates, Shape};
use iso_evidence::{Budget, Construction, Contradictory, Implication, StopReason, Theory};
use iso_spec::Spec;
use refute::{Outcome, refute};
use rustc_hash::FxHashMap;

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
    let mut prover = Prover { stronger, weaker, budget, shape: &shape, transitive: FxHashMap::default() };
    let mut reason = "no construction was found".to_owned();
    for candidate in Candidates::new(stronger, weaker, &shape) {
        if let Err(stop) = budget.check() {
            return Proving::Stopped(stop);
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
    let mut prover = Prover { stronger, weaker, budget, shape: &shape, transitive: FxHashMap::default() };
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
    /// By order and relation: is it transitive?
    transitive: FxHashMap<(Vec<String>, String), bool>,
}

impl Prover<'_> {
    fn attempt(&mut self, mut construction: Construction, bounds: Bounds) -> Result<Implication, String> {
        if bounds == Bounds::Wanted {
            self.bound_closures(&mut construction)?;
        }
        let (theory, refutations) = self.show_all(&construction)?;
        if bounds == Bounds::Given || construction.bounds.is_empty() {
            return Ok(Implication { construction, refutations });
        }
        let needed = needed_bounds(&theory, &construction, &refutations);
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
            match refute(&theory, obligation, self.budget) {
                Outcome::Shown(contradiction) => shown[obligation] = Some(contradiction),
                Outcome::Fails => return Err(format!("it fails that {}", theory.obligations[obligation].title)),
                Outcome::GaveUp => return Err(format!("open: {}", theory.obligations[obligation].title)),
            }
        }
        Ok((theory, shown.into_iter().flatten().collect()))
    }

    /// Finds transitive relations that contain the closures.
    fn bound_closures(&mut self, construction: &mut Construction) -> Result<(), String> {
        let theory = Theory::new(self.stronger, self.weaker, construction)?;
        let [_, n_closures] = theory.n_closures();
        let n_first = theory.obligations.len() - self.n_last(&theory, construction);
        for closure in 0..n_closures {
            for within in self.shape.transitive_relations(construction, closure) {
                let mut tried = construction.clone();
                tried.bounds = construction.bounds.clone();
                tried.bounds.push((closure, within.clone()));
                if self.is_bound(&tried, n_first + 2 * construction.bounds.len())? {
                    construction.bounds.push((closure, within));
                }
            }
        }
        Ok(())
    }

    /// Obligations that come after those of orders and bounds.
    fn n_last(&self, theory: &Theory, construction: &Construction) -> usize {
        theory.obligations.len() - 2 * construction.orders.len() - 2 * construction.bounds.len()
    }

    fn is_bound(&mut self, tried: &Construction, at: usize) -> Result<bool, String> {
        let Some((_, within)) = tried.bounds.last() else { return Ok(false) };
        let key = (tried.orders.clone(), within.clone());
        if self.transitive.get(&key) == Some(&false) {
            return Ok(false);
        }
        let Ok(theory) = Theory::new(self.stronger, self.weaker, tried) else { return Ok(false) };
        let is_shown = |obligation: usize| matches!(refute(&theory, obligation, self.budget), Outcome::Shown(_));
        if !self.transitive.contains_key(&key) {
            let is_transitive = is_shown(at);
            self.transitive.insert(key, is_transitive);
            if !is_transitive {
                return Ok(false);
            }
        }
        Ok(is_shown(at + 1))
    }
}

/// The bounds that some refutation uses, directly or for another bound.
fn needed_bounds(theory: &Theory, construction: &Construction, refutations: &[Contradictory]) -> Vec<(usize, String)> {
    let first = 2 * construction.orders.len();
    let n = construction.bounds.len();
    let mut is_needed = vec![false; n];
    let uses = |obligation: usize, bound: usize| {
        let title = format!(")+ in {}", construction.bounds[bound].1);
        refutations[obligation].instances.iter().any(|it| {
            let origin = theory.clauses[it.clause].origin;
            theory.sentences[origin].ends_with(&title) && !theory.is_goal(it.clause)
        })
    };
    for bound in (0..n).rev() {
        let later = (0..refutations.len()).filter(|it| {
            let of_bound = it.checked_sub(first).map(|it| it / 2).filter(|it| *it < n);
            of_bound.is_none_or(|it| it > bound && is_needed[it])
        });
        is_needed[bound] = later.into_iter().any(|it| uses(it, bound));
    }
    let kept = construction.bounds.iter().zip(&is_needed).filter(|it| *it.1);
    kept.map(|it| it.0.clone()).collect()
}

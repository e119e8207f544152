//! Finds a proof for a core: a small one that a person can follow.
//!
//! The core is small, so its proof is found after the fact, whatever engine refuted it. `derive` finds the shortest
//! derivation of everything that follows without a case split; here, cases are split where that is not
//! enough. First those of which all but one are impossible at once, since they cost a reader least; then any.
//! Whatever is found is checked as `certify` does, so that a report has a right proof or none.

mod derive;
mod extract;
mod routes;
#[cfg(test)]
mod tests;

use derive::Derivations;
use iso_evidence::{Assumption, Budget, Case, Contradiction, Edge, Proof, Refutation, certify_proof};
use iso_history::{Facts, Projection};
use iso_spec::Level;

/// Cores with more transactions have no proof that anybody would read.
const MAX_TXNS: usize = 24;
/// Neither have proofs with more steps.
const MAX_SIZE: usize = 200;
/// At most so many cases are nested.
const MAX_DEPTH: usize = 8;
/// At most so many assumptions are tried.
const MAX_TRIALS: usize = 600;

/// The refutation with a proof, if one is found. Its cycle stays what it is if there is a proof of that; otherwise it
/// becomes the one that is proved.
pub(crate) fn prove(
    facts: &Facts<'_>,
    level: Level,
    core: &Projection,
    refutation: Refutation,
    budget: &Budget<'_>,
) -> Refutation {
    let of_core = Facts::new(&core.history);
    if core.txns.len() > MAX_TXNS || of_core.ambiguous_list().is_some() || level.is_of_databases() {
        return refutation;
    }
    let derived = Derivations::new(&of_core, level, &[]);
    let same = cycle_of(core, &refutation.cycle).and_then(|it| derived.cycle(&it));
    let proved = |found: &Contradiction| {
        with_proof(facts, level, &refutation, extract::trimmed(extract::in_whole(core, found), &[]))
    };
    if let Some(proved) = same.as_ref().and_then(proved) {
        return proved;
    }
    let found = ProofSearch { facts: &of_core, level, budget, n_trials: 0 }.prove(&mut Vec::new());
    let found = found.map(|it| extract::with_version_orders(&of_core, level, it));
    let is_told_anyway = |it: &Contradiction| matches!(it, Contradiction::Cases(_)) && !refutation.cycle.is_empty();
    found.filter(|it| !is_told_anyway(it)).as_ref().and_then(proved).unwrap_or(refutation)
}

/// The cycle in the numbers of the core, if it has one.
fn cycle_of(core: &Projection, cycle: &[Edge]) -> Option<Vec<Edge>> {
    (!cycle.is_empty()).then(|| cycle.iter().map(|it| extract::in_core(core, it)).collect())?
}

/// The refutation with a proof, if it is right and not too long.
fn with_proof(facts: &Facts<'_>, level: Level, of: &Refutation, contradiction: Contradiction) -> Option<Refutation> {
    if contradiction.size() > MAX_SIZE {
        return None;
    }
    let cycle = match &contradiction {
        Contradiction::Cycle(steps) => steps.iter().map(|it| it.edge).collect(),
        Contradiction::Cases(_) => Vec::new(),
    };
    let proof = Some(Box::new(Proof { level, contradiction }));
    let proved = Refutation { cycle, proof, ..of.clone() };
    certify_proof(facts, level, &proved).is_ok().then_some(proved)
}

struct ProofSearch<'a> {
    facts: &'a Facts<'a>,
    level: Level,
    budget: &'a Budget<'a>,
    n_trials: usize,
}

/// A question with the answers that are possible, and those that turned out not to be.
struct Split {
    open: Vec<Assumption>,
    closed: Vec<Case>,
}

impl ProofSearch<'_> {
    /// Why the core cannot have happened, given these assumptions.
    fn prove(&mut self, assumed: &mut Vec<Assumption>) -> Option<Contradiction> {
        let derived = Derivations::new(self.facts, self.level, assumed);
        if let Some(found) = derived.contradiction() {
            return Some(found);
        }
        if assumed.len() >= MAX_DEPTH {
            return None;
        }
        let splits = self.splits(&derived, assumed)?;
        let best = splits.into_iter().min_by_key(|it| (it.open.len(), cost(&it.closed)))?;
        self.split_cases(best, assumed)
    }

    /// Everything that may be asked, with the answers that are impossible at once.
    fn splits(&mut self, derived: &Derivations<'_>, assumed: &mut Vec<Assumption>) -> Option<Vec<Split>> {
        let mut splits = Vec::new();
        for question in derived.questions() {
            let mut split = Split { open: Vec::new(), closed: Vec::new() };
            for answer in question {
                self.n_trials += 1;
                if self.n_trials > MAX_TRIALS || self.budget.check().is_err() {
                    return None;
                }
                assumed.push(answer);
                let found = Derivations::new(self.facts, self.level, assumed).contradiction();
                assumed.pop();
                match found {
                    Some(contradiction) => split.closed.push(Case { assumed: answer, contradiction }),
                    None => split.open.push(answer),
                }
            }
            splits.push(split);
        }
        Some(splits)
    }

    /// The cases of a question, each with its contradiction; or the contradiction of one that did not need it.
    fn split_cases(&mut self, split: Split, assumed: &mut Vec<Assumption>) -> Option<Contradiction> {
        let mut cases = split.closed;
        for answer in split.open {
            assumed.push(answer);
            let found = self.prove(assumed);
            assumed.pop();
            let contradiction = found?;
            if !extract::uses(&contradiction, answer) {
                return Some(contradiction);
            }
            cases.push(Case { assumed: answer, contradiction });
        }
        Some(Contradiction::Cases(cases))
    }
}

fn cost(cases: &[Case]) -> usize {
    cases.iter().map(|it| it.contradiction.size()).sum()
}

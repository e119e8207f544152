//! Verification at one level, at several, and the search for the weakest.

use crate::answer::{Counterexample, Effort, Verdict, Verification};
use crate::encode::{Encoding, Limits, Visibility};
use crate::level::{Isolation, LEVELS, rules};
use iso_evidence::{Budget, Note, StopReason};
use iso_program::{InstanceId, Program};
use iso_spec::Level;

/// Decides whether a program keeps its promises under a level.
///
/// # Panics
///
/// If it is a level of papers and none of [`LEVELS`].
pub fn verify(program: &Program, isolation: impl Into<Isolation>, budget: &Budget<'_>) -> Verification {
    Verifier::new(program).verify(isolation.into(), &[], budget)
}

/// Decides several levels, one after the other, and tells each answer as soon as it is known.
pub fn verify_levels(
    program: &Program,
    levels: &[Level],
    budget: &Budget<'_>,
    tell: &mut dyn FnMut(Level, &Verification),
) {
    let levels: Vec<Isolation> = levels.iter().copied().map(Isolation::Paper).collect();
    verify_all(program, &levels, budget, &mut |isolation, answer| tell(isolation.level(), answer));
}

/// The same for levels of papers and databases.
pub fn verify_all(
    program: &Program,
    isolations: &[Isolation],
    budget: &Budget<'_>,
    tell: &mut dyn FnMut(Isolation, &Verification),
) {
    let mut verifier = Verifier::new(program);
    for isolation in isolations {
        tell(*isolation, &verifier.verify(*isolation, &[], budget));
    }
}

/// The same for one level, in runs in which numbers stay within their width and all rows are the program's.
pub fn verify_within_limits(program: &Program, isolation: impl Into<Isolation>, budget: &Budget<'_>) -> Verification {
    let mut verifier = Verifier { limits: Limits::Assumed, ..Verifier::new(program) };
    verifier.verify(isolation.into(), &[], budget)
}

/// Which levels are enough.
#[derive(Clone, Debug)]
pub struct Weakest {
    /// Every level with its answer, weaker ones first. What follows from another answer was not searched for.
    pub levels: Vec<(Level, Verification)>,
    /// The levels that hold and of which no weaker one does.
    pub weakest: Vec<Level>,
}

/// Finds the weakest levels under which a program keeps its promises.
pub fn weakest(program: &Program, budget: &Budget<'_>) -> Weakest {
    let mut verifier = Verifier::new(program);
    let mut levels: Vec<(Level, Verification)> = Vec::new();
    for (n_done, level) in LEVELS.into_iter().enumerate() {
        budget.note(Note::Reached { n_done, of: LEVELS.len() });
        // What holds under a weaker level holds under this one.
        let holds = |it: &&(Level, Verification)| level.implies(it.0) && matches!(it.1.verdict, Verdict::Holds);
        let verification = match levels.iter().find(holds) {
            Some(_) => Verification { verdict: Verdict::Holds, effort: Effort::default() },
            None => verifier.verify(level.into(), &[], budget),
        };
        levels.push((level, verification));
    }
    let holding: Vec<Level> =
        levels.iter().filter(|it| matches!(it.1.verdict, Verdict::Holds)).map(|it| it.0).collect();
    let is_weakest = |it: &&Level| !holding.iter().any(|other| other != *it && it.implies(*other));
    Weakest { weakest: holding.iter().filter(is_weakest).copied().collect(), levels }
}

/// The formulas of a program, made when they are needed.
pub(crate) struct Verifier<'p> {
    program: &'p Program,
    encodings: Vec<(Visibility, Encoding<'p>)>,
    limits: Limits,
}

impl<'p> Verifier<'p> {
    pub(crate) fn new(program: &'p Program) -> Self {
        Self { program, encodings: Vec::new(), limits: Limits::Wrong }
    }

    /// Some transactions may have to see everything before them, whatever the level.
    pub(crate) fn verify(&mut self, isolation: Isolation, raised: &[InstanceId], budget: &Budget<'_>) -> Verification {
        let (visibility, axioms) = rules(isolation).expect("callers choose one of LEVELS");
        if let Err(reason) = budget.check() {
            return Verification { verdict: Verdict::Unknown(reason), effort: Effort::default() };
        }
        let known = self.encodings.iter().position(|it| it.0 == visibility).unwrap_or_else(|| {
            self.encodings.push((visibility, Encoding::new(self.program, visibility)));
            self.encodings.len() - 1
        });
        let encoding = &mut self.encodings[known].1;
        let before = encoding.effort();
        let raised: Vec<usize> = raised.iter().map(|it| it.index()).collect();
        let found = encoding.find(axioms, &raised, self.limits, &mut || budget.check().is_err());
        let after = encoding.effort();
        let effort = Effort { conflicts: after.conflicts - before.conflicts, ..after };
        let verdict = match found {
            Ok(None) => Verdict::Holds,
            Ok(Some((model, initial))) => {
                Verdict::Violated(Box::new(Counterexample::new(self.program, isolation, &model, &initial)))
            }
            Err(_) => Verdict::Unknown(budget.check().err().unwrap_or(StopReason::Steps)),
        };
        Verification { verdict, effort }
    }
}

//! How do two levels relate? For each direction a proof for every size, a history, or that there is none up to a scope.
//!
//! A proof is replayed by the kernel, and a history is certified; that there is none up to a scope rests on the search.

use crate::separate::{Answer, Aspects, Effort, Method, Question, Scope, Separating, Size, separate};
use crate::{Certified, Searched, WrongEvidence};
use iso_evidence::{Budget, Construction, Implication, Note, Stage, StopReason, certify_implication};
use iso_separate::Proving;
use iso_spec::Spec;

/// How the left level relates to the right one.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// A smallest history that only the left one allows.
    pub left_only: Answer,
    /// A smallest history that only the right one allows.
    pub right_only: Answer,
    /// Why the left one implies the right one, and the other way round, for histories of any size.
    pub proofs: [Option<Certified<Implication>>; 2],
    /// Where a proof was looked for and none was found: the reason.
    pub open: [Option<String>; 2],
    /// What was varied in either direction.
    pub aspects: Aspects,
    /// What it took.
    pub effort: Effort,
}

/// How far it is known that one level implies another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Proved for histories of any size, and certified.
    EverySize,
    /// There is no history against it within these bounds, as far as the search says.
    UpTo(Searched<Scope>),
}

impl Extent {
    /// What is known of both.
    fn and(self, other: Self) -> Self {
        if self == Self::EverySize { other } else { self }
    }
}

/// How one level relates to another, and how far the implications are known that it consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    /// They allow the same histories.
    Equivalent(Extent),
    /// The left one allows fewer: a history shows that it does not allow more.
    Stronger(Extent),
    /// The left one allows more: a history shows that it does.
    Weaker(Extent),
    /// Each allows a history that the other one forbids.
    Incomparable,
    /// A limit was reached first.
    Undecided(StopReason),
    /// An engine's evidence is wrong: a bug.
    Refused(WrongEvidence),
}

/// Are proofs looked for?
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proofs {
    /// Yes, in both directions.
    Wanted,
    /// Yes, and that the left level implies the right one is tried with this construction alone.
    By(Construction),
    /// No: only histories of the scope are asked for.
    No,
}

impl Comparison {
    /// How they relate.
    pub fn relation(&self) -> Relation {
        let extent = |direction: usize, searched: &Searched<Scope>| match &self.proofs[direction] {
            Some(_) => Extent::EverySize,
            None => Extent::UpTo(*searched),
        };
        match (&self.left_only, &self.right_only) {
            (Answer::Refused(wrong), _) | (_, Answer::Refused(wrong)) => Relation::Refused(wrong.clone()),
            (Answer::Undecided(reason), _) | (_, Answer::Undecided(reason)) => Relation::Undecided(reason.clone()),
            (Answer::Found(_), Answer::Found(_)) => Relation::Incomparable,
            (Answer::None(here), Answer::None(there)) => Relation::Equivalent(extent(0, here).and(extent(1, there))),
            (Answer::None(searched), Answer::Found(_)) => Relation::Stronger(extent(0, searched)),
            (Answer::Found(_), Answer::None(searched)) => Relation::Weaker(extent(1, searched)),
        }
    }

    /// The histories that tell the levels apart: one that only the left one allows, and one that only the right one does.
    pub fn histories(&self) -> [Option<&Separating>; 2] {
        [&self.left_only, &self.right_only].map(|it| if let Answer::Found(found) = it { Some(&**found) } else { None })
    }
}

/// Compares two levels.
///
/// ```
/// use iso_answer::compare::{Extent, Proofs, Relation, compare};
/// use iso_answer::separate::{Method, Scope};
/// use iso_evidence::Budget;
/// use iso_spec::Catalogue;
/// let level = |name| Catalogue::builtin().find(name).unwrap();
/// let ask = |left, right, proofs| {
///     let scope = Scope::up_to(3, 2, 3);
///     compare(level(left), level(right), &scope, Method::default(), &proofs, &Budget::unlimited()).relation()
/// };
/// assert_eq!(ask("biswas.si", "cerone.si", Proofs::Wanted), Relation::Equivalent(Extent::EverySize));
/// assert_eq!(ask("ser", "si", Proofs::Wanted), Relation::Stronger(Extent::EverySize));
/// assert!(matches!(ask("ser", "si", Proofs::No), Relation::Stronger(Extent::UpTo(_))));
/// ```
pub fn compare(
    left: &Spec,
    right: &Spec,
    scope: &Scope,
    method: Method,
    proofs: &Proofs,
    budget: &Budget<'_>,
) -> Comparison {
    let there = match proofs {
        Proofs::By(_) => &Proofs::Wanted,
        other => other,
    };
    let here = Direction::ask(left, right, scope, method, proofs, budget);
    let there = Direction::ask(right, left, scope, method, there, budget);
    let mut effort = here.effort;
    effort.add(&there.effort);
    Comparison {
        left_only: here.answer,
        right_only: there.answer,
        proofs: [here.proof, there.proof],
        open: [here.open, there.open],
        aspects: here.aspects.and(there.aspects),
        effort,
    }
}

/// Most histories that tell levels apart are this small, and are found before a proof would be.
const SMALL: usize = 4;

/// Does one level imply another one?
#[derive(Debug)]
pub(crate) struct Direction {
    pub(crate) answer: Answer,
    pub(crate) proof: Option<Certified<Implication>>,
    pub(crate) open: Option<String>,
    aspects: Aspects,
    effort: Effort,
}

impl Direction {
    fn ask(
        stronger: &Spec,
        weaker: &Spec,
        scope: &Scope,
        method: Method,
        proofs: &Proofs,
        budget: &Budget<'_>,
    ) -> Self {
        let search = |scope: Scope| {
            let question = Question { allowed: vec![stronger], forbidden: vec![weaker], scope, method };
            separate(&question, budget)
        };
        if *proofs == Proofs::No || scope.size == Size::Exactly {
            let found = search(*scope);
            return Self {
                answer: found.answer,
                proof: None,
                open: None,
                aspects: found.aspects,
                effort: found.effort,
            };
        }
        let small = search(Scope { txns: scope.txns.min(SMALL), ..*scope });
        let mut direction =
            Self { answer: small.answer, proof: None, open: None, aspects: small.aspects, effort: small.effort };
        if !matches!(direction.answer, Answer::None(_)) {
            return direction;
        }
        budget.note(Note::Begins(Stage::Derivation));
        match proved(stronger, weaker, proofs, budget) {
            Ok(proof) => direction.proof = Some(proof),
            Err(NoProof::Wrong(wrong)) => direction.answer = Answer::Refused(wrong),
            Err(NoProof::Open(reason)) => {
                let found = search(*scope);
                direction.effort.add(&found.effort);
                direction.answer = found.answer;
                direction.aspects = direction.aspects.and(found.aspects);
                direction.open = Some(reason);
            }
        }
        direction
    }
}

/// Why there is no proof.
pub(crate) enum NoProof {
    /// None was found.
    Open(String),
    /// One was found that is none: a bug.
    Wrong(WrongEvidence),
}

/// Looks for a proof that a level implies another one, and certifies it.
pub(crate) fn proved(
    stronger: &Spec,
    weaker: &Spec,
    proofs: &Proofs,
    budget: &Budget<'_>,
) -> Result<Certified<Implication>, NoProof> {
    let proving = match proofs {
        Proofs::By(construction) => iso_separate::prove_by(stronger, weaker, construction.clone(), budget),
        Proofs::Wanted | Proofs::No => iso_separate::prove(stronger, weaker, budget),
    };
    match proving {
        Proving::Proved(proof) => match certify_implication(stronger, weaker, &proof) {
            Ok(()) => Ok(Certified::new(*proof)),
            Err(wrong) => Err(NoProof::Wrong(WrongEvidence::new(&weaker.name(), &wrong))),
        },
        Proving::Open { reason } => Err(NoProof::Open(reason)),
        Proving::Stopped(reason) => Err(NoProof::Open(reason.to_string())),
    }
}

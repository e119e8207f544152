//! How do many levels relate? Each edge has a certified history; that one level implies another rests on the search, or is
//! proved.

use crate::certified::Withheld;
use crate::compare::{NoProof, Proofs, proved};
use crate::separate::{Aspects, Effort, Method, Scope, Separating, certified};
use crate::{Certified, Searched, WrongEvidence};
use iso_evidence::{Budget, Implication, StopReason};
use iso_spec::Spec;

pub use iso_separate::LatticeProgress;

/// How levels relate, up to a scope. Levels are named by their place in the question.
#[derive(Clone, Debug)]
pub struct Lattice {
    /// Levels that allow the same histories, by the first of them.
    pub classes: Vec<Vec<usize>>,
    /// What implies what, without what follows from other edges.
    pub edges: Vec<LatticeEdge>,
    /// Pairs about which nothing is known: does the first imply the second?
    pub undecided: Vec<(usize, usize, StopReason)>,
    /// Pairs for which the engine's evidence is wrong: a bug.
    pub refused: Vec<(usize, usize, WrongEvidence)>,
    /// Within these bounds classes are equal, and edges imply, as far as there is no proof.
    pub searched: Searched<Scope>,
    /// Why the first implies the second for histories of any size; see [`Lattice::prove`].
    pub proved: Vec<(usize, usize, Certified<Implication>)>,
    /// Where a proof was looked for and none was found, with the reason.
    pub open: Vec<(usize, usize, String)>,
    /// Of how many pairs of levels some history says that the first does not imply the second.
    pub n_apart: usize,
    /// What was varied for some pair.
    pub aspects: Aspects,
    /// What it took.
    pub effort: Effort,
}

/// How many pairs of different levels are decided: does the first imply the second?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// It does, for every size: that is proved, or follows from what is.
    pub proved: usize,
    /// It does not: some history says so.
    pub refuted: usize,
    /// Neither is known.
    pub open: usize,
}

/// One class of levels implies another, and not the other way round.
#[derive(Clone, Debug)]
pub struct LatticeEdge {
    /// The class that allows fewer histories.
    pub stronger: usize,
    /// The class that allows more.
    pub weaker: usize,
    /// A smallest history that only the weaker one allows.
    pub found: Separating,
}

/// Relates all of the levels to each other; `watch` hears how far it is.
///
/// ```
/// use iso_answer::lattice::lattice;
/// use iso_answer::separate::{Method, Scope};
/// use iso_evidence::Budget;
/// use iso_spec::Catalogue;
/// let levels = ["si", "ser", "cerone.si"].map(|it| Catalogue::builtin().find(it).unwrap());
/// let scope = Scope::up_to(2, 2, 3);
/// let lattice = lattice(&levels, &scope, Method::default(), &Budget::unlimited(), &mut |_| {});
/// assert_eq!(lattice.classes, [vec![0, 2], vec![1]]);
/// assert!(lattice.edges[0].found.certification().is_certified());
/// ```
pub fn lattice(
    specs: &[&Spec],
    scope: &Scope,
    method: Method,
    budget: &Budget<'_>,
    watch: &mut dyn FnMut(LatticeProgress),
) -> Lattice {
    let drawn = iso_separate::lattice(specs, scope, method, budget, watch);
    let mut lattice = Lattice {
        classes: drawn.classes,
        edges: Vec::new(),
        undecided: drawn.unknown,
        refused: Vec::new(),
        searched: Searched::new(*scope),
        proved: Vec::new(),
        open: Vec::new(),
        n_apart: drawn.n_apart,
        aspects: drawn.aspects,
        effort: drawn.effort,
    };
    for edge in drawn.edges {
        lattice.add(edge, specs, budget);
    }
    lattice
}

impl Lattice {
    /// Looks for proofs that the levels of each class imply each other, and that edges imply, for histories of any size.
    ///
    /// Everything else that implies something follows from these.
    pub fn prove(&mut self, specs: &[&Spec], budget: &Budget<'_>, watch: &mut dyn FnMut(LatticeProgress)) {
        let wanted = self.implications();
        for (n_known, (stronger, weaker)) in wanted.iter().enumerate() {
            watch(LatticeProgress { n_known, n_pairs: wanted.len() });
            match proved(specs[*stronger], specs[*weaker], &Proofs::Wanted, budget) {
                Ok(proof) => self.proved.push((*stronger, *weaker, proof)),
                Err(NoProof::Open(reason)) => self.open.push((*stronger, *weaker, reason)),
                Err(NoProof::Wrong(wrong)) => self.refused.push((*stronger, *weaker, wrong)),
            }
        }
    }

    /// How many pairs of so many levels are decided for histories of any size.
    pub fn pairs(&self, n_levels: usize) -> Pairs {
        let mut implies = vec![vec![false; n_levels]; n_levels];
        for (stronger, weaker, _) in &self.proved {
            implies[*stronger][*weaker] = true;
        }
        for via in 0..n_levels {
            for from in 0..n_levels {
                for to in 0..n_levels {
                    implies[from][to] |= implies[from][via] && implies[via][to];
                }
            }
        }
        let all = (0..n_levels).flat_map(|a| (0..n_levels).map(move |b| (a, b))).filter(|it| it.0 != it.1);
        let proved = all.filter(|it| implies[it.0][it.1]).count();
        let n_all = n_levels * n_levels.saturating_sub(1);
        Pairs { proved, refuted: self.n_apart, open: n_all - proved - self.n_apart }
    }

    /// Who implies whom, without what follows from others: each level of a class and its first one, and edges.
    pub fn implications(&self) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        for class in &self.classes {
            all.extend(class[1..].iter().flat_map(|it| [(class[0], *it), (*it, class[0])]));
        }
        all.extend(self.edges.iter().map(|it| (self.classes[it.stronger][0], self.classes[it.weaker][0])));
        all
    }

    /// Adds an edge, if its history passes the checks.
    pub(crate) fn add(&mut self, edge: iso_separate::LatticeEdge, specs: &[&Spec], budget: &Budget<'_>) {
        let iso_separate::LatticeEdge { stronger, weaker, found } = edge;
        let (first, second) = (self.classes[weaker][0], self.classes[stronger][0]);
        match certified(found, &[specs[first]], &[specs[second]], budget) {
            Ok(found) => self.edges.push(LatticeEdge { stronger, weaker, found }),
            Err(Withheld::Stopped(reason)) => self.undecided.push((first, second, reason)),
            Err(Withheld::Wrong(wrong)) => self.refused.push((first, second, wrong)),
        }
    }
}

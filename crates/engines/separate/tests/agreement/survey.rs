//! What brute force says about many questions at once: which sets of specs allow some history, and of which size.

use crate::oracle::{Abstract, ReadOrder, Scope, Times, allowed_by, arrangements, each_shape};
use crate::scrambled;
use iso_spec::Spec;
use std::collections::{BTreeMap, BTreeSet};

/// Which histories are looked at: all of these, and of those a part, one in so many.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) whole: Vec<Scope>,
    pub(crate) sampled: Vec<(Scope, u64)>,
}

/// What some specs say about the histories of some scopes.
pub(crate) struct Survey {
    n_specs: usize,
    /// By the set of specs that allow a history the smallest one, in transactions and keys.
    signatures: BTreeMap<u128, (usize, usize)>,
    /// The histories that were looked for and did not come.
    pub(crate) missing: BTreeSet<Abstract>,
    pub(crate) n_histories: usize,
}

impl Survey {
    /// Asks every spec about every history, and ticks off what is looked for.
    pub(crate) fn new(plan: &Plan, specs: &[&Spec], looked_for: BTreeSet<Abstract>) -> Self {
        assert!(specs.len() <= 128, "specs are bits");
        let mut survey =
            Self { n_specs: specs.len(), signatures: BTreeMap::new(), missing: looked_for, n_histories: 0 };
        let sampled = plan.sampled.iter().copied();
        for (scope, one_in) in plan.whole.iter().map(|it| (*it, 1)).chain(sampled) {
            survey.add(scope, one_in, specs);
        }
        survey
    }

    fn add(&mut self, scope: Scope, one_in: u64, specs: &[&Spec]) {
        // Most specs do not look at what makes several histories of one shape, and are asked once.
        let (looking, others): (Vec<usize>, Vec<usize>) = (0..specs.len()).partition(|it| looks(specs[*it], scope));
        let pick = |of: &[usize]| of.iter().map(|it| specs[*it]).collect::<Vec<_>>();
        let (looking_specs, other_specs) = (pick(&looking), pick(&others));
        let mut n_shapes = 0;
        each_shape(scope, &mut |shape| {
            n_shapes += 1;
            if !scrambled(n_shapes).is_multiple_of(one_in) {
                return;
            }
            let common = spread(allowed_by(&shape, &other_specs), &others);
            for history in arrangements(scope, &shape) {
                let allowed = common | spread(allowed_by(&history, &looking_specs), &looking);
                let smallest = self.signatures.entry(allowed).or_insert((history.n, history.k));
                *smallest = (*smallest).min((history.n, history.k));
                self.missing.remove(&history);
                self.n_histories += 1;
            }
        });
    }

    /// The size of the smallest history that all of the first specs allow and all of the others forbid.
    pub(crate) fn smallest(&self, allowing: &[usize], forbidding: &[usize]) -> Option<(usize, usize)> {
        let bits = |of: &[usize]| of.iter().fold(0u128, |all, it| all | 1 << it);
        assert!(allowing.iter().chain(forbidding).all(|it| *it < self.n_specs));
        let (wanted, unwanted) = (bits(allowing), bits(forbidding));
        let separates = |it: &u128| it & wanted == wanted && it & unwanted == 0;
        self.signatures.iter().filter(|it| separates(it.0)).map(|it| *it.1).min()
    }
}

/// Does the spec look at the order of reads or at times, where the scope has them?
fn looks(spec: &Spec, scope: Scope) -> bool {
    let text = format!("{:?} {:?}", spec.requirements(), spec.formula());
    (scope.read_order() == ReadOrder::Kept && text.contains("ProgramOrder"))
        || (scope.times == Times::Intervals && text.contains("RealTime"))
}

/// Puts the lowest bits where these places are.
fn spread(bits: u128, places: &[usize]) -> u128 {
    places.iter().enumerate().map(|it| (bits >> it.0 & 1) << it.1).sum()
}

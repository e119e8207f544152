//! How a formula depends on one of the relations that it speaks of: does more of it make the formula true, or false?

use iso_spec::{Formula, Given, Relation, Set};

/// In which directions a formula, set or relation depends on a given relation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Polarity {
    /// More pairs can make it true, or larger.
    pub grows: bool,
    /// More pairs can make it false, or smaller.
    pub shrinks: bool,
}

impl Polarity {
    /// More pairs never make it false, or smaller.
    pub fn is_monotone(self) -> bool {
        !self.shrinks
    }

    /// More pairs never make it true, or larger.
    pub fn is_antitone(self) -> bool {
        !self.grows
    }

    /// It does not matter.
    pub fn is_absent(self) -> bool {
        !self.grows && !self.shrinks
    }

    fn flipped(self) -> Self {
        Self { grows: self.shrinks, shrinks: self.grows }
    }

    fn and(self, other: Self) -> Self {
        Self { grows: self.grows || other.grows, shrinks: self.shrinks || other.shrinks }
    }

    fn both_ways(self) -> Self {
        self.and(self.flipped())
    }
}

/// How a formula depends on a given relation.
pub fn of_formula(formula: &Formula, given: Given) -> Polarity {
    match formula {
        Formula::Truth(_) | Formula::Equal(..) => Polarity::default(),
        Formula::Not(of) => of_formula(of, given).flipped(),
        Formula::And(left, right) | Formula::Or(left, right) => of_formula(left, given).and(of_formula(right, given)),
        Formula::Implies(left, right) => of_formula(left, given).flipped().and(of_formula(right, given)),
        Formula::Iff(left, right) => of_formula(left, given).and(of_formula(right, given)).both_ways(),
        Formula::Exists(_, body) | Formula::Forall(_, body) => of_formula(body, given),
        Formula::Member(_, set) => of_set(set, given),
        Formula::Related(relation, ..) | Formula::Total(relation) => of_relation(relation, given),
        Formula::SetWithin(left, right) => of_set(left, given).flipped().and(of_set(right, given)),
        Formula::Within(left, right) => of_relation(left, given).flipped().and(of_relation(right, given)),
        Formula::SetEmpty(set) => of_set(set, given).flipped(),
        Formula::Empty(of) | Formula::Acyclic(of) | Formula::Irreflexive(of) => of_relation(of, given).flipped(),
        Formula::Transitive(of) => of_relation(of, given).both_ways(),
    }
}

fn of_set(set: &Set, given: Given) -> Polarity {
    match set {
        Set::Initial => Polarity::default(),
        Set::Union(left, right) | Set::Intersection(left, right) => of_set(left, given).and(of_set(right, given)),
        Set::Difference(left, right) => of_set(left, given).and(of_set(right, given).flipped()),
        Set::Such(_, body) => of_formula(body, given),
    }
}

/// How a relation depends on a given one.
pub fn of_relation(relation: &Relation, given: Given) -> Polarity {
    match relation {
        Relation::Given(own) | Relation::At(own, _) => Polarity { grows: *own == given, shrinks: false },
        Relation::Union(left, right) | Relation::Intersection(left, right) | Relation::Composition(left, right) => {
            of_relation(left, given).and(of_relation(right, given))
        }
        Relation::Difference(left, right) => of_relation(left, given).and(of_relation(right, given).flipped()),
        Relation::Inverse(of) | Relation::Closure(of) | Relation::Reflexive(of) => of_relation(of, given),
        Relation::On(set) => of_set(set, given),
        Relation::Such(_, _, body) => of_formula(body, given),
    }
}

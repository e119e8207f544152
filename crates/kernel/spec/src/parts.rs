//! Does a level that allows a history allow its parts, by the form of its text?
//!
//! A part has some of the transactions, keys and external reads, and some of the writes. An execution of the whole,
//! restricted to the part, has the same session order, real time, orders and relations between those who are left, and
//! perhaps less of what reads and writes make. What holds for all elements, and asks for nothing that may be gone, still
//! holds. If that is so for the whole text, then a part that is forbidden makes the whole history forbidden.

use crate::formula::{Formula, Given, Relation, Set, WitnessKind};
use crate::spec::Spec;

impl Spec {
    /// Does the form of the text show that each part of an allowed history is allowed?
    ///
    /// A read is in a part only with everybody who may have written what it saw.
    ///
    /// ```
    /// use iso_spec::Catalogue;
    /// let catalogue = Catalogue::builtin();
    /// assert!(catalogue.find("biswas.ser").unwrap().is_kept_by_parts());
    /// // Without a writer in between, two others become neighbours, of which this level asks more.
    /// assert!(!catalogue.find("cerone.nlu").unwrap().is_kept_by_parts());
    /// ```
    pub fn is_kept_by_parts(&self) -> bool {
        let form = Form { versions: self.witnesses.iter().map(|it| it.kind == WitnessKind::Versions).collect() };
        self.requirements.iter().chain([&self.formula]).all(|it| form.stays(it))
    }
}

struct Form {
    /// By witness: is it versions?
    versions: Vec<bool>,
}

impl Form {
    /// Is the formula true of the part if it is true of the whole?
    fn stays(&self, formula: &Formula) -> bool {
        match formula {
            Formula::Truth(_) | Formula::Equal(..) => true,
            Formula::Not(of) => self.was(of),
            Formula::And(left, right) | Formula::Or(left, right) => self.stays(left) && self.stays(right),
            Formula::Implies(left, right) => self.was(left) && self.stays(right),
            Formula::Iff(left, right) => [left, right].iter().all(|it| self.stays(it) && self.was(it)),
            Formula::Exists(..) => false,
            Formula::Forall(_, body) => self.stays(body),
            Formula::Member(_, set) => self.keeps_set(set),
            Formula::Related(relation, ..) | Formula::Total(relation) => self.keeps(relation),
            Formula::SetWithin(left, right) => self.shrinks_set(left) && self.keeps_set(right),
            Formula::Within(left, right) => self.is_list_rule(left, right) || (self.shrinks(left) && self.keeps(right)),
            Formula::SetEmpty(set) => self.shrinks_set(set),
            Formula::Empty(of) | Formula::Acyclic(of) | Formula::Irreflexive(of) => self.shrinks(of),
            Formula::Transitive(of) => self.shrinks(of) && self.keeps(of),
        }
    }

    /// Was the formula true of the whole if it is true of the part?
    fn was(&self, formula: &Formula) -> bool {
        match formula {
            Formula::Truth(_) | Formula::Equal(..) => true,
            Formula::Not(of) => self.stays(of),
            Formula::And(left, right) | Formula::Or(left, right) => self.was(left) && self.was(right),
            Formula::Implies(left, right) => self.stays(left) && self.was(right),
            Formula::Iff(left, right) => [left, right].iter().all(|it| self.stays(it) && self.was(it)),
            Formula::Exists(_, body) => self.was(body),
            Formula::Member(_, set) => self.shrinks_set(set),
            Formula::Related(relation, ..) => self.shrinks(relation),
            // What is true of all that is left says nothing about the rest.
            _ => false,
        }
    }

    /// Both are versions of one key, and its writers who are left have the order that they had.
    fn is_list_rule(&self, left: &Relation, right: &Relation) -> bool {
        match (left, right) {
            (Relation::At(Given::Listed, key), Relation::At(Given::Witness(idx), other)) => {
                key == other && self.versions[*idx]
            }
            _ => false,
        }
    }

    /// Was each pair of the part one of the whole?
    fn shrinks(&self, relation: &Relation) -> bool {
        match relation {
            Relation::Given(_) | Relation::At(..) => true,
            Relation::Union(left, right) | Relation::Intersection(left, right) | Relation::Composition(left, right) => {
                self.shrinks(left) && self.shrinks(right)
            }
            Relation::Difference(left, right) => self.shrinks(left) && self.keeps(right),
            Relation::Inverse(of) | Relation::Closure(of) | Relation::Reflexive(of) => self.shrinks(of),
            Relation::On(set) => self.shrinks_set(set),
            Relation::Such(_, _, body) => self.was(body),
        }
    }

    /// Is each pair of the whole between those who are left a pair of the part?
    fn keeps(&self, relation: &Relation) -> bool {
        match relation {
            Relation::Given(given) => match given {
                Given::WriteRead | Given::Listed | Given::Writes | Given::Reads => false,
                Given::Witness(idx) => !self.versions[*idx],
                _ => true,
            },
            // Steps may lead through somebody who is gone.
            Relation::At(..) | Relation::Composition(..) | Relation::Closure(_) => false,
            Relation::Union(left, right) | Relation::Intersection(left, right) => self.keeps(left) && self.keeps(right),
            Relation::Difference(left, right) => self.keeps(left) && self.shrinks(right),
            Relation::Inverse(of) | Relation::Reflexive(of) => self.keeps(of),
            Relation::On(set) => self.keeps_set(set),
            Relation::Such(_, _, body) => self.stays(body),
        }
    }

    fn shrinks_set(&self, set: &Set) -> bool {
        match set {
            Set::Initial => true,
            Set::Union(left, right) | Set::Intersection(left, right) => {
                self.shrinks_set(left) && self.shrinks_set(right)
            }
            Set::Difference(left, right) => self.shrinks_set(left) && self.keeps_set(right),
            Set::Such(_, body) => self.was(body),
        }
    }

    fn keeps_set(&self, set: &Set) -> bool {
        match set {
            Set::Initial => true,
            Set::Union(left, right) | Set::Intersection(left, right) => self.keeps_set(left) && self.keeps_set(right),
            Set::Difference(left, right) => self.keeps_set(left) && self.shrinks_set(right),
            Set::Such(_, body) => self.stays(body),
        }
    }
}

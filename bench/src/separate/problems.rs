//! The separation problems of the evaluation of Isolde, in its four classes.

/// Is there a history that all of the first levels allow and the other one forbids?
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) allowed: Vec<&'static str>,
    pub(crate) forbidden: &'static str,
    /// If it is one of the paper's.
    pub(crate) class: Option<Class>,
    pub(crate) expected: Expected,
}

/// What is known of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// There is one of every size that the paper asks about; whether smaller ones do, it does not say.
    Separated,
    /// There are such histories from so many transactions on, and none of fewer.
    SeparatedFrom(usize),
    /// There is none.
    Never,
    Anything,
}

/// Whether there are such histories, and whether all levels are of one framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    SatOne,
    SatMixed,
    UnsatOne,
    UnsatMixed,
}

/// A level by its names in the frameworks of Biswas and Cerone.
type Both = [&'static str; 2];

const RA: Both = ["biswas.ra", "cerone.ra"];
const CC: Both = ["biswas.cc", "cerone.cc"];
const PC: Both = ["biswas.pc", "cerone.pc"];
const SI: Both = ["biswas.si", "cerone.si"];
const SER: Both = ["biswas.ser", "cerone.ser"];
const UPDATE_SER: Both = ["biswas.update_ser", "cerone.update_ser"];

/// The fewest transactions that the paper asks about.
pub(crate) const TXNS_MIN: usize = 3;

impl Problem {
    pub(crate) fn new(allowed: &[&'static str], forbidden: &'static str) -> Self {
        Self { allowed: allowed.to_vec(), forbidden, class: None, expected: Expected::Anything }
    }

    /// As in `biswas.si, biswas.update_ser & !cerone.ser`.
    pub(crate) fn name(&self) -> String {
        format!("{} & !{}", self.allowed.join(", "), self.forbidden)
    }
}

impl Class {
    pub(crate) const ALL: [Self; 4] = [Self::SatOne, Self::SatMixed, Self::UnsatOne, Self::UnsatMixed];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::SatOne => "SAT one framework",
            Self::SatMixed => "SAT mixed",
            Self::UnsatOne => "UNSAT one framework",
            Self::UnsatMixed => "UNSAT mixed",
        }
    }
}

/// All of them, class by class.
pub(crate) fn paper_problems() -> Vec<Problem> {
    Class::ALL.into_iter().flat_map(of_class).collect()
}

/// Those of one class.
pub(crate) fn of_class(class: Class) -> Vec<Problem> {
    let problems = match class {
        Class::SatOne => {
            let mut problems = edges(&[(0, 0), (1, 1)]);
            problems.extend(between_si_and_ser(|it| it == [0; 3] || it == [1; 3]));
            problems.push(Problem::new(&["plume.ra_tap"], RA[0]));
            problems
        }
        Class::SatMixed => {
            let mut problems = edges(&[(0, 1), (1, 0)]);
            problems.extend(between_si_and_ser(|it| it != [0; 3] && it != [1; 3]));
            problems
        }
        Class::UnsatOne => {
            let mut problems = Vec::new();
            for framework in [0, 1] {
                let stronger = |it: (Both, Both)| Problem::new(&[it.1[framework]], it.0[framework]);
                problems.extend(EDGES.into_iter().map(stronger));
            }
            problems.push(Problem::new(&[RA[0]], "plume.ra_tap"));
            problems.push(Problem::new(&[CC[0]], "plume.cc_tap"));
            problems.push(Problem::new(&["plume.cc_tap"], CC[0]));
            problems
        }
        Class::UnsatMixed => {
            let both = |it: Both| [Problem::new(&[it[0]], it[1]), Problem::new(&[it[1]], it[0])];
            [RA, CC, PC, SI, SER].into_iter().flat_map(both).collect()
        }
    };
    let with_class = |problem: Problem| {
        let expected = match class {
            Class::UnsatOne | Class::UnsatMixed => Expected::Never,
            _ if CC.contains(&problem.allowed[0]) => Expected::SeparatedFrom(4),
            _ => Expected::Separated,
        };
        Problem { class: Some(class), expected, ..problem }
    };
    problems.into_iter().map(with_class).collect()
}

/// Each level with the next stronger one.
const EDGES: [(Both, Both); 4] = [(RA, CC), (CC, PC), (PC, SI), (SI, SER)];

fn edges(frameworks: &[(usize, usize)]) -> Vec<Problem> {
    let each = frameworks.iter().flat_map(|it| EDGES.into_iter().map(|edge| (*it, edge)));
    each.map(|((weaker, stronger), edge)| Problem::new(&[edge.0[weaker]], edge.1[stronger])).collect()
}

/// Snapshot isolation and update serializability without serializability, in some choices of frameworks.
fn between_si_and_ser(is_in: impl Fn([usize; 3]) -> bool) -> Vec<Problem> {
    let choices = (0..8).map(|it| [it >> 2, it >> 1 & 1, it & 1]).filter(|it| is_in(*it));
    choices.map(|[si, update, ser]| Problem::new(&[SI[si], UPDATE_SER[update]], SER[ser])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iso_spec::Catalogue;

    #[test]
    fn the_classes_are_as_large_as_in_the_paper() {
        assert_eq!(Class::ALL.map(|it| of_class(it).len()), [11, 14, 11, 10]);
        let mut names: Vec<String> = paper_problems().iter().map(Problem::name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 46);
    }

    #[test]
    fn every_level_of_a_problem_is_in_the_catalogue() {
        for it in paper_problems() {
            for level in it.allowed.iter().chain([&it.forbidden]) {
                assert_eq!(Catalogue::builtin().find(level).unwrap().name(), *level);
            }
        }
    }

    #[test]
    fn prefix_consistency_needs_a_fourth_transaction() {
        let later = paper_problems().into_iter().filter(|it| it.expected == Expected::SeparatedFrom(4));
        let names: Vec<String> = later.map(|it| it.name()).collect();
        let expected =
            ["biswas.cc & !biswas.pc", "cerone.cc & !cerone.pc", "biswas.cc & !cerone.pc", "cerone.cc & !biswas.pc"];
        assert_eq!(names, expected);
    }
}

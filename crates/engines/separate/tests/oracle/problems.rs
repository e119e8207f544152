//! The separation problems of the evaluation of Isolde.

/// Is there a history that all of the first levels allow and the other one forbids?
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) allowing: Vec<&'static str>,
    pub(crate) forbidding: Vec<&'static str>,
    pub(crate) expected: Expected,
}

/// What the paper reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Satisfiable, from three transactions on.
    Separated,
    /// Satisfiable, from four transactions on.
    SeparatedByFour,
    /// Unsatisfiable in every scope.
    Never,
}

/// A level by its names in the frameworks of Biswas and Cerone.
type Both = [&'static str; 2];

const RA: Both = ["biswas.ra", "cerone.ra"];
const CC: Both = ["biswas.cc", "cerone.cc"];
const PC: Both = ["biswas.pc", "cerone.pc"];
const SI: Both = ["biswas.si", "cerone.si"];
const SER: Both = ["biswas.ser", "cerone.ser"];
const UPDATE_SER: Both = ["biswas.update_ser", "cerone.update_ser"];

impl Problem {
    fn new(allowing: &[&'static str], forbidden: &'static str, expected: Expected) -> Self {
        Self { allowing: allowing.to_vec(), forbidding: vec![forbidden], expected }
    }

    /// As in `biswas.si, biswas.update_ser & !cerone.ser`.
    pub(crate) fn name(&self) -> String {
        format!("{} & !{}", self.allowing.join(", "), self.forbidding.join(", "))
    }
}

/// All of them: satisfiable and not, in one framework and mixed.
pub(crate) fn paper_problems() -> Vec<Problem> {
    let mut problems = Vec::new();
    for (weaker, stronger) in [(RA, CC), (CC, PC), (PC, SI), (SI, SER)] {
        let expected = if weaker == CC { Expected::SeparatedByFour } else { Expected::Separated };
        for (allowed, forbidden) in [(0, 0), (1, 1), (0, 1), (1, 0)] {
            problems.push(Problem::new(&[weaker[allowed]], stronger[forbidden], expected));
        }
        for framework in [0, 1] {
            problems.push(Problem::new(&[stronger[framework]], weaker[framework], Expected::Never));
        }
    }
    for choice in 0..8 {
        let allowing = [SI[choice & 1], UPDATE_SER[choice >> 1 & 1]];
        problems.push(Problem::new(&allowing, SER[choice >> 2], Expected::Separated));
    }
    for level in [RA, CC, PC, SI, SER] {
        problems.push(Problem::new(&[level[0]], level[1], Expected::Never));
        problems.push(Problem::new(&[level[1]], level[0], Expected::Never));
    }
    problems.push(Problem::new(&["plume.ra_tap"], RA[0], Expected::Separated));
    problems.push(Problem::new(&[RA[0]], "plume.ra_tap", Expected::Never));
    problems.push(Problem::new(&[CC[0]], "plume.cc_tap", Expected::Never));
    problems.push(Problem::new(&["plume.cc_tap"], CC[0], Expected::Never));
    problems
}

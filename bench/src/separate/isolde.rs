//! What Isolde took for the same problems: the authors' figures, on their laptop, with an hour for each.

use super::problems::{Class, Problem};

/// The milliseconds of the solved problems of a class at one number of transactions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Times {
    pub(crate) median: f64,
    pub(crate) max: f64,
    /// Less than all of them crashed or took too long.
    pub(crate) n_solved: usize,
}

const fn times(median: u32, max: u32, n_solved: usize) -> Times {
    Times { median: median as f64, max: max as f64, n_solved }
}

/// The numbers of transactions of the columns.
const SIZES: [usize; 5] = [3, 5, 6, 8, 10];

fn of(class: Class) -> [Times; SIZES.len()] {
    match class {
        Class::SatOne => {
            [times(9, 61, 11), times(22, 51, 11), times(38, 95, 11), times(135, 491, 11), times(283, 11_068, 11)]
        }
        Class::SatMixed => {
            [times(10, 26, 14), times(49, 90, 14), times(76, 374, 14), times(210, 813, 14), times(1_487, 5_595, 14)]
        }
        Class::UnsatOne => {
            [times(4, 13, 11), times(9, 109, 11), times(12, 369, 11), times(26, 3_818, 11), times(50, 25_487, 11)]
        }
        Class::UnsatMixed => [
            times(11, 99, 10),
            times(1_789, 10_658, 10),
            times(225, 589_954, 9),
            times(836, 33_345, 6),
            times(5_478, 680_889, 6),
        ],
    }
}

/// The figures for a class, if the paper has them.
pub(crate) fn times_of(class: Class, n_txns: usize) -> Option<Times> {
    SIZES.iter().position(|it| *it == n_txns).map(|it| of(class)[it])
}

/// A hard problem: the milliseconds that are known, and from where on there was no answer, and why.
type Hard = (&'static str, &'static str, &'static [(usize, u32)], Option<(usize, &'static str)>);

const HARDEST: [Hard; 5] = [
    ("biswas.cc", "cerone.cc", &[(5, 7_500)], Some((6, "crash"))),
    ("biswas.pc", "cerone.pc", &[(5, 5_800), (6, 284_000)], Some((7, "crash"))),
    ("biswas.si", "cerone.si", &[(5, 8_500), (6, 247_000)], Some((7, "crash"))),
    ("cerone.si", "biswas.si", &[(5, 3_500), (10, 667_000)], None),
    ("biswas.ser", "cerone.ser", &[(5, 10_600), (6, 590_000)], Some((7, "time-out"))),
];

/// What became of a hard problem, in milliseconds or in a word.
pub(crate) fn outcome_of(problem: &Problem, n_txns: usize) -> Option<String> {
    let is_it = |it: &&Hard| problem.allowed == [it.0] && problem.forbidden == it.1;
    let (_, _, known, end) = HARDEST.iter().find(is_it)?;
    let ms = known.iter().find(|it| it.0 == n_txns).map(|it| it.1.to_string());
    ms.or_else(|| end.filter(|it| n_txns >= it.0).map(|it| it.1.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::problems::of_class;
    use super::*;

    #[test]
    fn hard_problems_are_mixed_ones_and_end_as_the_classes_say() {
        let mixed = of_class(Class::UnsatMixed);
        for (size, n_txns) in SIZES.into_iter().enumerate() {
            let outcomes: Vec<String> = mixed.iter().filter_map(|it| outcome_of(it, n_txns)).collect();
            let n_failed = outcomes.iter().filter(|it| it.parse::<u32>().is_err()).count();
            assert_eq!(of(Class::UnsatMixed)[size].n_solved, mixed.len() - n_failed, "at {n_txns}");
        }
        assert_eq!(mixed.iter().filter(|it| outcome_of(it, 5).is_some()).count(), HARDEST.len());
    }

    #[test]
    fn sizes_that_the_paper_does_not_show_have_no_figure() {
        assert_eq!(times_of(Class::SatOne, 10), Some(times(283, 11_068, 11)));
        assert_eq!(times_of(Class::SatOne, 7), None);
    }
}

//! Figures to reach: milliseconds that some questions may take at most.

use super::inquiry::{Method, Scope, Setting, Size};
use super::problems::{Class, Problem, of_class};
use super::runner::{Cell, Runner};
use anyhow::Result;

/// Every problem of these classes, with so many transactions.
struct Figure {
    classes: &'static [Class],
    n_txns: usize,
    size: Size,
    ms_at_most: u32,
}

const fn figure(classes: &'static [Class], n_txns: usize, size: Size, ms_at_most: u32) -> Figure {
    Figure { classes, n_txns, size, ms_at_most }
}

const FIGURES: &[Figure] = &[
    figure(&[Class::UnsatMixed], 5, Size::Exactly, 10),
    figure(&[Class::UnsatMixed], 10, Size::Exactly, 30),
    figure(&[Class::UnsatMixed], 20, Size::Exactly, 300),
    figure(&[Class::UnsatOne], 10, Size::Exactly, 50),
    figure(&[Class::SatOne, Class::SatMixed], 10, Size::UpTo, 50),
    figure(&[Class::SatOne, Class::SatMixed], 10, Size::Exactly, 200),
];

/// A question that may need candidates, with how many keys there are.
const HARD: &[(&str, &str, usize)] = &[
    ("biswas.cc", "biswas.pc", 1),
    ("adya.gsi_so", "biswas.si", 3),
    ("crooks.session_si", "biswas.si", 3),
    ("biswas.si", "crooks.session_si", 3),
    ("crooks.psi_so", "cerone.psi", 3),
    ("cerone.psi", "crooks.psi_so", 3),
    ("crooks.cc", "biswas.pc", 3),
    // In benches/staleness.spec of the engine.
    ("cerone.si", "staleness.one", 3),
    ("cerone.psi", "staleness.one", 3),
    ("staleness.one", "cerone.pc", 3),
];

/// Smaller sizes show how the time grows; the last one has the figure.
const HARD_SIZES: [usize; 4] = [3, 4, 5, 6];
const HARD_MS_AT_MOST: u32 = 10_000;

/// Measures all questions that have a figure, if their name is asked for.
pub(crate) fn run(runner: &mut Runner, is_asked: &dyn Fn(&Problem) -> bool, method: Method) -> Result<()> {
    let (mut n_met, mut n_missed) = (0, 0);
    let mut judge = |runner: &mut Runner, cell: &Cell, ms_at_most: Option<u32>| {
        let is_met = ms_at_most.map(|it| is_met(cell, it));
        n_met += usize::from(is_met == Some(true));
        n_missed += usize::from(is_met == Some(false));
        runner.say(&line(cell, ms_at_most));
    };
    runner.say(&head());
    for Figure { classes, n_txns, size, ms_at_most } in FIGURES {
        for problem in classes.iter().flat_map(|it| of_class(*it)).filter(|it| is_asked(it)) {
            let cell = runner.measure(&problem, Scope::of_the_paper(*n_txns, *size), method)?;
            judge(runner, &cell, Some(*ms_at_most));
        }
    }
    runner.say("\nquestions that may need candidates: default scope, 4 values, 3 keys, 1 for the first");
    for (allowed, forbidden, n_keys) in HARD {
        let problem = Problem::new(&[allowed], forbidden);
        for n_txns in HARD_SIZES.into_iter().filter(|_| is_asked(&problem)) {
            let scope = Scope { n_txns, size: Size::UpTo, n_keys: *n_keys, n_values: 4, setting: Setting::Default };
            let cell = runner.measure(&problem, scope, method)?;
            judge(runner, &cell, (Some(&n_txns) == HARD_SIZES.last()).then_some(HARD_MS_AT_MOST));
        }
    }
    runner.say(&format!("\n{n_met} met, {n_missed} missed"));
    Ok(())
}

fn is_met(cell: &Cell, ms_at_most: u32) -> bool {
    cell.is_solved() && cell.answer.ms <= f64::from(ms_at_most)
}

fn head() -> String {
    format!(
        "figures to reach\n{:<46} {:<8} {:>3} {:<8} {:>10} {:>9} {:>10} {:>9}",
        "problem", "size", "n", "verdict", "candidates", "conflicts", "ms", "at most"
    )
}

fn line(cell: &Cell, ms_at_most: Option<u32>) -> String {
    let (inquiry, answer) = (&cell.inquiry, &cell.answer);
    let Scope { n_txns, size, .. } = inquiry.scope;
    let figure = ms_at_most.map(|it| format!(" {it:>9}  {}", if is_met(cell, it) { "met" } else { "missed" }));
    let wrong = if cell.is_wrong() { "  WRONG" } else { "" };
    format!(
        "{:<46} {size:<8} {n_txns:>3} {:<8} {:>10} {:>9} {:>10.2}{}{wrong}",
        inquiry.problem.name(),
        answer.verdict,
        answer.candidates,
        answer.conflicts,
        answer.ms,
        figure.unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::inquiry::Verdict;
    use super::super::runner::tests::cell;
    use super::*;
    use iso_spec::Catalogue;

    #[test]
    fn a_figure_is_met_by_an_answer_in_time() {
        let problem = &of_class(Class::UnsatMixed)[0];
        let word = |verdict, ms, at_most| {
            line(&cell(problem, 5, verdict, ms), at_most).split(' ').next_back().unwrap_or_default().to_owned()
        };
        assert_eq!(word(Verdict::None, 9.9, Some(10)), "met");
        assert_eq!(word(Verdict::None, 10.1, Some(10)), "missed");
        assert_eq!(word(Verdict::Unknown, 1.0, Some(10)), "missed");
        assert_eq!(word(Verdict::Skipped, 0.0, Some(10)), "missed");
        assert_eq!(word(Verdict::Found(5), 1.0, Some(10)), "WRONG");
        assert_eq!(word(Verdict::None, 9.9, None), "9.90");
    }

    #[test]
    fn hard_questions_are_about_levels_that_exist() {
        for level in HARD.iter().flat_map(|it| [it.0, it.1]).filter(|it| !it.starts_with("staleness.")) {
            assert_eq!(Catalogue::builtin().find(level).unwrap().name(), level);
        }
    }
}

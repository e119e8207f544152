//! The modes of the engine side by side: what each of its ideas is worth.

use super::inquiry::{Method, Scope, Size};
use super::problems::{Class, Problem};
use super::runner::{Cell, Runner};
use super::table::Summary;
use anyhow::Result;
use std::fmt::Write as _;

/// How many transactions there are, unless told otherwise.
pub(crate) const SIZES: [usize; 3] = [3, 4, 5];

const METHODS: [Method; 5] = [
    Method { no_derived: false, no_merging: false, no_fixed_order: false },
    Method { no_derived: true, no_merging: false, no_fixed_order: false },
    Method { no_derived: true, no_merging: true, no_fixed_order: false },
    Method { no_derived: false, no_merging: false, no_fixed_order: true },
    Method { no_derived: true, no_merging: true, no_fixed_order: true },
];

/// Measures every mode.
pub(crate) fn run(runner: &mut Runner, problems: &[Problem], sizes: &[usize], size: Size) -> Result<()> {
    for method in METHODS {
        for n_txns in sizes {
            for problem in problems {
                runner.measure(problem, Scope::of_the_paper(*n_txns, size), method)?;
            }
            // It may take long, and the table comes last.
            eprintln!("{method}: {n_txns} transactions are done");
        }
    }
    let text = table(&runner.cells, sizes);
    runner.say(&text);
    Ok(())
}

fn table(cells: &[Cell], sizes: &[usize]) -> String {
    let mut out = "the engine's modes, ms median/max of what was solved, and how many if not all\n".to_owned();
    // Writing to a string cannot fail.
    let _ = write!(out, "{:<20} {:>2}", "class", "n");
    for method in METHODS {
        let is_plain = method.no_derived && method.no_merging && method.no_fixed_order;
        let name = if is_plain { "none of them".to_owned() } else { method.to_string() };
        let _ = write!(out, " {name:>23}");
    }
    for class in Class::ALL {
        for n_txns in sizes {
            let columns = METHODS.map(|it| Summary::new(cells, class, *n_txns, it).map(column).unwrap_or_default());
            let columns = columns.map(|it| format!(" {it:>23}")).concat();
            let _ = write!(out, "\n{:<20} {n_txns:>2}{columns}", class.name());
        }
    }
    out
}

fn column(summary: Summary) -> String {
    let Summary { n_all, n_solved, median, max } = summary;
    let solved = if n_solved == n_all { String::new() } else { format!(" {n_solved} of {n_all}") };
    format!("{median:.1}/{max:.1}{solved}")
}

#[cfg(test)]
mod tests {
    use super::super::inquiry::Verdict;
    use super::super::problems::of_class;
    use super::super::runner::tests::cell;
    use super::*;

    #[test]
    fn every_mode_has_its_column() {
        let problem = &of_class(Class::SatMixed)[0];
        let mut plain = cell(problem, 5, Verdict::Unknown, 60_000.0);
        plain.inquiry.method = METHODS[4];
        let text = table(&[cell(problem, 5, Verdict::Found(5), 2.0), plain], &[5]);
        let line = text.lines().find(|it| it.starts_with("SAT mixed")).unwrap();
        assert_eq!(
            line.split_whitespace().collect::<Vec<_>>(),
            ["SAT", "mixed", "5", "2.0/2.0", "0.0/0.0", "0", "of", "1"]
        );
        for name in ["default", "no derived, no merging", "no fixed order", "none of them"] {
            assert!(text.contains(name), "{text}");
        }
    }
}

//! What was measured, as tables for people and for a spreadsheet.

use super::inquiry::{Answer, Method, Scope, Size};
use super::isolde;
use super::problems::{Class, of_class};
use super::runner::Cell;
use std::fmt::Write as _;

/// Median and maximum of the solved problems, and how many these are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) n_all: usize,
    pub(crate) n_solved: usize,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

/// The line above the rows.
pub(crate) fn head() -> String {
    format!(
        "{:<46} {:>3} {:<8} {:>9} {:>10} {:>9} {:>9} {:>9} {:>9}  {:>9}",
        "problem", "n", "verdict", "ms", "candidates", "instances", "variables", "clauses", "conflicts", "Isolde ms"
    )
}

/// One line.
pub(crate) fn row(cell: &Cell) -> String {
    let Answer { verdict, ms, candidates, instances, variables, clauses, conflicts, .. } = cell.answer;
    let n_txns = cell.inquiry.scope.n_txns;
    let isolde = isolde::outcome_of(&cell.inquiry.problem, n_txns).unwrap_or_default();
    let mut out = format!(
        "{:<46} {n_txns:>3} {verdict:<8} {ms:>9.2} {candidates:>10} {instances:>9} {variables:>9} {clauses:>9} {conflicts:>9}  {isolde:>9}",
        cell.inquiry.problem.name(),
    );
    if cell.is_wrong() {
        out.push_str("  WRONG");
    }
    out.truncate(out.trim_end().len());
    out
}

impl Summary {
    /// Of the problems of a class at one number of transactions; none if there are none.
    pub(crate) fn new(cells: &[Cell], class: Class, n_txns: usize, method: Method) -> Option<Self> {
        let is_in = |it: &&Cell| {
            let inquiry = &it.inquiry;
            inquiry.problem.class == Some(class) && inquiry.scope.n_txns == n_txns && inquiry.method == method
        };
        let all: Vec<&Cell> = cells.iter().filter(is_in).collect();
        let mut solved: Vec<f64> = all.iter().filter(|it| it.is_solved()).map(|it| it.answer.ms).collect();
        solved.sort_by(f64::total_cmp);
        let median = match solved.len() {
            0 => 0.0,
            n if n % 2 == 1 => solved[n / 2],
            n => f64::midpoint(solved[n / 2 - 1], solved[n / 2]),
        };
        let max = solved.last().copied().unwrap_or_default();
        (!all.is_empty()).then_some(Self { n_all: all.len(), n_solved: solved.len(), median, max })
    }
}

/// Each class at each size, beside what Isolde took.
pub(crate) fn classes(cells: &[Cell], sizes: &[usize], method: Method) -> String {
    let mut out = format!(
        "per class, in ms; Isolde's are of the problems that it solved\n{:<20} {:>3} {:>8} {:>9} {:>9}   {:>8} {:>9} {:>9} {:>8} {:>8}\n",
        "class", "n", "solved", "median", "max", "solved", "median", "max", "times", "times"
    );
    for class in Class::ALL {
        for n_txns in sizes {
            let Some(Summary { n_all, n_solved, median, max }) = Summary::new(cells, class, *n_txns, method) else {
                continue;
            };
            let solved = format!("{n_solved}/{n_all}");
            // Writing to a string cannot fail.
            let _ = write!(out, "{:<20} {n_txns:>3} {solved:>8} {median:>9.2} {max:>9.2}", class.name());
            // A part of a class, or the smallest histories, would be compared with something else.
            let is_whole =
                n_all == of_class(class).len() && cells.iter().all(|it| it.inquiry.scope.size == Size::Exactly);
            if let Some(isolde) = isolde::times_of(class, *n_txns).filter(|_| is_whole) {
                let _ = write!(out, "   {:>8} {:>9.0} {:>9.0}", isolde.n_solved, isolde.median, isolde.max);
                let _ = write!(out, " {:>8} {:>8}", times(isolde.median, median), times(isolde.max, max));
            }
            out.push('\n');
        }
    }
    out.trim_end().to_owned()
}

/// How many times as long the first is.
fn times(theirs: f64, ours: f64) -> String {
    if ours > 0.0 { format!("{:.1}", theirs / ours) } else { "-".to_owned() }
}

/// The answers that contradict what is known.
pub(crate) fn wrong(cells: &[Cell]) -> String {
    cells.iter().filter(|it| it.is_wrong()).fold(String::new(), |all, it| all + &row(it) + "\n")
}

/// All rows for a spreadsheet.
pub(crate) fn csv(cells: &[Cell]) -> String {
    let mut out =
        "problem;class;transactions;size;keys;values;method;verdict;ms;runs;candidates;instances;variables;clauses;\
                   conflicts\n"
            .to_owned();
    for Cell { inquiry, answer } in cells {
        let Scope { n_txns, size, n_keys, n_values, .. } = inquiry.scope;
        let Answer { verdict, ms, n_runs, candidates, instances, variables, clauses, conflicts } = answer;
        let (name, class) = (inquiry.problem.name(), inquiry.problem.class.map_or("", Class::name));
        let method = inquiry.method;
        let _ = writeln!(
            out,
            "{name};{class};{n_txns};{size};{n_keys};{n_values};{method};{verdict};{ms:.4};{n_runs};{candidates};{instances};\
             {variables};{clauses};{conflicts}"
        );
    }
    out
}

/// What a number of transactions means, in words for a title.
pub(crate) fn size_in_words(size: Size) -> &'static str {
    match size {
        Size::Exactly => "exactly n transactions",
        Size::UpTo => "up to n transactions, the smallest first",
    }
}

#[cfg(test)]
mod tests {
    use super::super::inquiry::Verdict;
    use super::super::runner::tests::cell;
    use super::*;

    #[test]
    fn rows_tell_what_isolde_did_and_what_is_wrong() {
        let mixed = of_class(Class::UnsatMixed);
        let line = row(&cell(&mixed[2], 6, Verdict::None, 1.234));
        assert!(line.starts_with("biswas.cc & !cerone.cc ") && line.ends_with(" crash"), "{line}");
        assert!(line.contains("  6 none          1.23          7 "), "{line}");
        let cells = [cell(&mixed[0], 5, Verdict::None, 1.0), cell(&mixed[0], 5, Verdict::Found(5), 1.0)];
        assert_eq!(wrong(&cells).lines().count(), 1);
        assert!(wrong(&cells).ends_with("  WRONG\n"));
        assert!(csv(&cells).contains("biswas.ra & !cerone.ra;UNSAT mixed;5;exactly;5;5;default;none;1.0000;1;7;"));
    }

    #[test]
    fn classes_are_summed_up_over_what_was_solved() {
        let mixed = of_class(Class::UnsatMixed);
        let mut cells: Vec<Cell> = mixed.iter().map(|it| cell(it, 5, Verdict::None, 1.0)).collect();
        cells[0].answer.ms = 3.0;
        cells[1].answer.verdict = Verdict::Unknown;
        cells.push(cell(&mixed[0], 6, Verdict::None, 1.0));
        cells.push(cell(&mixed[1], 6, Verdict::None, 2.0));
        cells.push(cell(&mixed[1], 7, Verdict::Skipped, 0.0));
        let text = classes(&cells, &[3, 5, 6, 7], Method::default());
        let rows: Vec<Vec<&str>> = text.lines().skip(2).map(|it| it.split_whitespace().collect()).collect();
        let at_five = ["UNSAT", "mixed", "5", "9/10", "1.00", "3.00", "10", "1789", "10658", "1789.0", "3552.7"];
        assert_eq!(rows[0], at_five, "{text}");
        assert_eq!(rows[1], ["UNSAT", "mixed", "6", "2/2", "1.50", "2.00"], "a part is not compared: {text}");
        assert_eq!(rows[2], ["UNSAT", "mixed", "7", "0/1", "0.00", "0.00"], "{text}");
        assert_eq!(rows.len(), 3);
    }
}

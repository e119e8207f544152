//! Asks one question after the other, keeps what was measured, and keeps what was said about it.

use super::answerer::Answerer;
use super::inquiry::{Answer, Inquiry, Method, Scope, Size, Verdict};
use super::problems::{Expected, Problem};
use anyhow::Result;
use std::time::Duration;

/// A question and what it took.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) inquiry: Inquiry,
    pub(crate) answer: Answer,
}

#[derive(Debug)]
pub(crate) struct Runner {
    answerer: Answerer,
    at_most: Duration,
    pub(crate) cells: Vec<Cell>,
    /// All lines that were printed.
    pub(crate) text: String,
}

impl Cell {
    /// Is there an answer, and the right one?
    pub(crate) fn is_solved(&self) -> bool {
        matches!(self.answer.verdict, Verdict::Found(_) | Verdict::None) && !self.is_wrong()
    }

    /// Does the answer contradict what is known?
    pub(crate) fn is_wrong(&self) -> bool {
        let Scope { n_txns, size, .. } = self.inquiry.scope;
        match (self.answer.verdict, self.inquiry.problem.expected) {
            (Verdict::Found(found), _) if found > n_txns || (size == Size::Exactly && found != n_txns) => true,
            (Verdict::Found(_), Expected::Never) | (Verdict::None, Expected::Separated) => true,
            (Verdict::Found(found), Expected::SeparatedFrom(fewest)) => found < fewest,
            (Verdict::None, Expected::SeparatedFrom(fewest)) => n_txns >= fewest,
            _ => false,
        }
    }

    /// Is this the same question, but for the number of transactions?
    fn is_like(&self, inquiry: &Inquiry) -> bool {
        let scope = Scope { n_txns: inquiry.scope.n_txns, ..self.inquiry.scope };
        self.inquiry.problem == inquiry.problem && self.inquiry.method == inquiry.method && scope == inquiry.scope
    }
}

impl Runner {
    pub(crate) fn start(at_most: Duration) -> Result<Self> {
        Ok(Self { answerer: Answerer::start()?, at_most, cells: Vec::new(), text: String::new() })
    }

    /// Asks, unless there was no answer with fewer transactions already.
    pub(crate) fn measure(&mut self, problem: &Problem, scope: Scope, method: Method) -> Result<Cell> {
        let inquiry = Inquiry { problem: problem.clone(), scope, method, at_most: self.at_most };
        let answer = if gave_up(&self.cells, &inquiry) { Answer::SKIPPED } else { self.answerer.ask(&inquiry)? };
        let cell = Cell { inquiry, answer };
        self.cells.push(cell.clone());
        Ok(cell)
    }

    /// Prints a line, and keeps it.
    pub(crate) fn say(&mut self, line: &str) {
        println!("{line}");
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// Says how much memory it took, and ends the measuring program.
    pub(crate) fn finish(mut self) -> Result<(Vec<Cell>, String)> {
        if let Some(kilobytes) = self.answerer.peak_kilobytes() {
            self.say(&format!("\npeak memory of all questions in one process: {} MB", kilobytes.div_ceil(1024)));
        }
        self.answerer.finish()?;
        Ok((self.cells, self.text))
    }
}

fn gave_up(cells: &[Cell], inquiry: &Inquiry) -> bool {
    let has_none = |it: &&Cell| matches!(it.answer.verdict, Verdict::Unknown | Verdict::Skipped);
    let smaller = cells.iter().filter(|it| it.is_like(inquiry) && it.inquiry.scope.n_txns < inquiry.scope.n_txns);
    smaller.filter(has_none).count() > 0
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::problems::{Class, of_class};
    use super::*;

    /// An answer to a problem of the paper.
    pub(crate) fn cell(problem: &Problem, n_txns: usize, verdict: Verdict, ms: f64) -> Cell {
        let scope = Scope::of_the_paper(n_txns, Size::Exactly);
        let at_most = Duration::from_secs(60);
        let inquiry = Inquiry { problem: problem.clone(), scope, method: Method::default(), at_most };
        Cell { inquiry, answer: Answer { verdict, ms, n_runs: 1, candidates: 7, ..Answer::SKIPPED } }
    }

    #[test]
    fn answers_that_contradict_the_paper_are_wrong() {
        let never = &of_class(Class::UnsatMixed)[0];
        assert!(cell(never, 3, Verdict::Found(3), 1.0).is_wrong());
        assert!(cell(never, 3, Verdict::None, 1.0).is_solved());
        assert!(
            !cell(never, 3, Verdict::Unknown, 1.0).is_wrong() && !cell(never, 3, Verdict::Unknown, 1.0).is_solved()
        );
        let separated = &of_class(Class::SatOne)[3];
        assert!(cell(separated, 3, Verdict::None, 1.0).is_wrong());
        let mut smallest_first = cell(separated, 3, Verdict::Found(2), 1.0);
        assert!(smallest_first.is_wrong(), "exactly three were asked for");
        smallest_first.inquiry.scope.size = Size::UpTo;
        assert!(smallest_first.is_solved());
        let from_four = &of_class(Class::SatOne)[1];
        assert!(cell(from_four, 3, Verdict::None, 1.0).is_solved());
        assert!(cell(from_four, 3, Verdict::Found(3), 1.0).is_wrong());
        assert!(cell(from_four, 4, Verdict::None, 1.0).is_wrong());
        assert!(cell(from_four, 5, Verdict::Found(5), 1.0).is_solved());
        assert!(cell(from_four, 5, Verdict::Found(4), 1.0).is_wrong());
    }

    #[test]
    fn what_had_no_answer_is_not_asked_with_more_transactions() {
        let problems = of_class(Class::UnsatMixed);
        let cells = [cell(&problems[0], 4, Verdict::Unknown, 1.0), cell(&problems[1], 4, Verdict::None, 1.0)];
        let inquiry = |idx: usize, n_txns| cell(&problems[idx], n_txns, Verdict::None, 1.0).inquiry;
        assert!(gave_up(&cells, &inquiry(0, 5)));
        assert!(!gave_up(&cells, &inquiry(0, 3)) && !gave_up(&cells, &inquiry(1, 5)));
        let other = Method { no_derived: true, ..Method::default() };
        assert!(!gave_up(&cells, &Inquiry { method: other, ..inquiry(0, 5) }));
    }
}

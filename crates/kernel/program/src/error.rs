//! What is wrong with a program text, where, and how to mend it.

use std::fmt;

/// A piece of a program text, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Where it starts.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
}

/// Where a [`Span`] stands, for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'t> {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What stands there.
    pub text: &'t str,
}

impl Span {
    pub(crate) fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end }
    }

    pub(crate) fn text(self, source: &str) -> &str {
        &source[self.start as usize..self.end as usize]
    }

    /// Line and column of the start, and what stands there, in the text that the span was made for.
    pub fn place(self, text: &str) -> Place<'_> {
        let start = (self.start as usize).min(text.len());
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |it| it + 1);
        Place {
            line: before.matches('\n').count() as u32 + 1,
            column: before[line_start..].chars().count() as u32 + 1,
            text: &text[start..(self.end as usize).clamp(start, text.len())],
        }
    }
}

/// Something wrong with a program text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramError {
    /// The file, as it was named by whoever asked.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
    /// How to mend it.
    pub hint: String,
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        if !self.hint.is_empty() {
            write!(f, " ({})", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for ProgramError {}

/// An error before its place is known as line and column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    pub(crate) at: Span,
    pub(crate) message: String,
    pub(crate) hint: String,
}

/// Boxed, since errors are rare and results are many.
pub(crate) type Checked<T> = Result<T, Box<Problem>>;

pub(crate) fn fail<T>(at: Span, message: impl Into<String>, hint: impl Into<String>) -> Checked<T> {
    Err(Box::new(Problem::new(at, message, hint)))
}

impl Problem {
    pub(crate) fn new(at: Span, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { at, message: message.into(), hint: hint.into() }
    }

    pub(crate) fn locate(self, file: &str, text: &str) -> ProgramError {
        let Place { line, column, .. } = self.at.place(text);
        ProgramError { file: file.to_owned(), line, column, message: self.message, hint: self.hint }
    }
}

/// `did you mean a or b?`, or the fallback if nothing is near.
pub(crate) fn did_you_mean<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>, otherwise: &str) -> String {
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .map(|it| (distance(&wanted.to_lowercase(), &it.to_lowercase()), it))
        .filter(|(cost, it)| *cost <= 1 + it.len().min(wanted.len()) / 4)
        .collect();
    near.sort_unstable();
    near.dedup();
    let least = near.first().map_or(0, |it| it.0);
    let names: Vec<String> =
        near.into_iter().filter(|it| it.0 == least).take(3).map(|it| format!("`{}`", it.1)).collect();
    if names.is_empty() { otherwise.to_owned() } else { format!("did you mean {}?", names.join(" or ")) }
}

/// Insertions, deletions, replacements and swaps of neighbours between two words. Long words count by their start.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().take(40).collect();
    let right: Vec<char> = right.chars().take(40).collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for (row, a) in left.iter().enumerate() {
        let mut costs = vec![row + 1];
        for (col, b) in right.iter().enumerate() {
            let replaced = rows[row][col] + usize::from(a != b);
            let mut best = replaced.min(rows[row][col + 1] + 1).min(costs[col] + 1);
            if row > 0 && col > 0 && *a == right[col - 1] && left[row - 1] == *b {
                best = best.min(rows[row - 1][col - 1] + 1);
            }
            costs.push(best);
        }
        rows.push(costs);
    }
    rows[left.len()][right.len()]
}

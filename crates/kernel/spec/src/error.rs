//! What is wrong with a spec text, where, and how to mend it.

use std::fmt;

/// A piece of a text, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    pub(crate) fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end }
    }

    pub(crate) fn text(self, source: &str) -> &str {
        &source[self.start as usize..self.end as usize]
    }
}

/// Something wrong with a spec text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
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

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        if !self.hint.is_empty() {
            write!(f, " ({})", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for SpecError {}

/// An error before its place is known as line and column.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) at: Span,
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl Problem {
    pub(crate) fn new(at: Span, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { at, message: message.into(), hint: hint.into() }
    }

    pub(crate) fn locate(self, file: &str, text: &str) -> SpecError {
        let start = (self.at.start as usize).min(text.len());
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |it| it + 1);
        SpecError {
            file: file.to_owned(),
            line: before.matches('\n').count() as u32 + 1,
            column: before[line_start..].chars().count() as u32 + 1,
            message: self.message,
            hint: self.hint,
        }
    }
}

/// The names among `known` that are most like `wanted`, at most three.
pub(crate) fn near_names<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let mut ranked: Vec<(usize, &str)> = known
        .into_iter()
        .map(|it| (distance(&wanted, &it.to_lowercase()), it))
        .filter(|(cost, it)| *cost <= 1 + it.len().min(wanted.len()) / 4)
        .collect();
    ranked.sort_unstable();
    ranked.dedup();
    let least = ranked.first().map_or(0, |it| it.0);
    ranked.retain(|it| it.0 == least);
    ranked.into_iter().take(3).map(|it| it.1).collect()
}

/// `did you mean a or b?`, or the fallback if nothing is near.
pub(crate) fn did_you_mean<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>, otherwise: &str) -> String {
    let near: Vec<String> = near_names(wanted, known).into_iter().map(|it| format!("`{it}`")).collect();
    if near.is_empty() { otherwise.to_owned() } else { format!("did you mean {}?", near.join(" or ")) }
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

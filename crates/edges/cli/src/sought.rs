//! What a search for histories says while it works: how large they are, how many were looked at, and what comes after.

use crate::progress::Progress;
use iso_evidence::{Note, Quantity, Stage};
use std::cell::Cell;

/// How far a search for histories is.
#[derive(Debug)]
pub(crate) struct Sought<'p> {
    progress: &'p Progress,
    /// Transactions of the histories that are looked at, and of the largest ones.
    size: Cell<Option<(usize, usize)>>,
    n_candidates: Cell<u64>,
}

impl<'p> Sought<'p> {
    /// Nothing was looked at yet.
    pub(crate) fn new(progress: &'p Progress) -> Self {
        let sought = Self { progress, size: Cell::new(None), n_candidates: Cell::new(0) };
        progress.stage(sought.words());
        sought
    }

    /// What the engine says at this moment.
    pub(crate) fn hear(&self, note: Note) {
        match note {
            Note::Counted(Quantity::Candidates, n_more) => self.n_candidates.set(self.n_candidates.get() + n_more),
            Note::Reached { n_done, of } => self.size.set(Some((n_done + 1, of))),
            Note::Begins(Stage::Certification) => return self.progress.stage("certifying"),
            Note::Begins(Stage::Derivation) => return self.progress.stage("looking for a proof for every size"),
            _ => return,
        }
        self.progress.stage(self.words());
    }

    /// `searching among histories of 5 of 7 transactions, 12 candidates`.
    fn words(&self) -> String {
        let size = self.size.get().map(|(n, of)| format!(" among histories of {n} of {of} transactions"));
        let candidates = match self.n_candidates.get() {
            0 => String::new(),
            1 => ", 1 candidate".to_owned(),
            n => format!(", {n} candidates"),
        };
        format!("searching{}{candidates}", size.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_says_how_large_histories_are_and_how_many_it_saw() {
        let progress = Progress::silent();
        let sought = Sought::new(&progress);
        assert_eq!(progress.last_stage(), "searching");
        sought.hear(Note::Reached { n_done: 4, of: 7 });
        sought.hear(Note::Counted(Quantity::Candidates, 2));
        assert_eq!(progress.last_stage(), "searching among histories of 5 of 7 transactions, 2 candidates");
        sought.hear(Note::Begins(Stage::Derivation));
        assert_eq!(progress.last_stage(), "looking for a proof for every size");
    }
}

//! Parallel snapshot isolation: whoever is seen passes on what it saw, and writers of a key see each other in order.
//!
//! An order of commits is a model if no reader sees, by session order, sources and version orders, a writer that
//! overwrote what it read. Only reads that would not fit into a serial run need a look, and of the writers between
//! source and reader only the first: the others saw it. Where a reader must see a writer whatever the order, that writer
//! is older than the source. Where it sees it only because of how versions happen to be ordered, another order is
//! tried; if that does not help, saturation and search decide.
//! Cost: that of running the order, plus searches in the stretches of the order between such writers and readers.

use super::frame::Frame;
use super::graph::{Choice, Conflict, Graph, Outlook};
use super::place::{Fit, Misfit, Placement, place};
use super::repair::Repaired;
use crate::rule::Visibility;
use iso_evidence::{Budget, Note, Quantity, Stage, StopReason};
use iso_history::TxnId;
use iso_solve::{Reach, UNTAGGED};

/// How often another order of versions is tried.
const MAX_TRIES: usize = 30;

/// Looks for an order in which nobody sees what overwrote its reads.
pub(super) fn decide_parallel(
    frame: &Frame<'_>,
    commits: Vec<TxnId>,
    placement: Placement,
    budget: &Budget<'_>,
) -> Result<Repaired, StopReason> {
    debug_assert_eq!(frame.rule.visibility, Visibility::CausalAndConflicting, "others have rules of their own");
    budget.note(Note::Begins(Stage::Repair));
    let mut trial = Trial { frame, graph: Graph::new(frame, &commits, &[]), commits, placement };
    let found = trial.run(budget);
    budget.note(Note::Counted(Quantity::KnownEdges, u64::from(trial.graph.order.n_edges())));
    Ok(match found? {
        Found::Order => Repaired::Order(trial.commits, trial.placement),
        Found::Conflict(core) => Repaired::Conflict(core),
        Found::Nothing => Repaired::Nothing,
    })
}

enum Found {
    Order,
    Conflict(Vec<TxnId>),
    Nothing,
}

enum Settled {
    /// All that is forced.
    All,
    Conflict(Vec<TxnId>),
    /// A guess was wrong.
    Nothing,
}

struct Trial<'f> {
    frame: &'f Frame<'f>,
    graph: Graph<'f>,
    commits: Vec<TxnId>,
    placement: Placement,
}

impl Trial<'_> {
    fn run(&mut self, budget: &Budget<'_>) -> Result<Found, StopReason> {
        for _ in 0..MAX_TRIES {
            match self.settle(budget)? {
                Settled::Conflict(core) => return Ok(Found::Conflict(core)),
                Settled::Nothing => return Ok(Found::Nothing),
                Settled::All if self.placement.misfits.is_empty() => return Ok(Found::Order),
                Settled::All => {}
            }
            let seen = self.seen_by_version_order(budget)?;
            if seen.is_empty() {
                return Ok(Found::Order);
            }
            if !self.guess(&seen) {
                return Ok(Found::Nothing);
            }
            self.run_order();
        }
        Ok(Found::Nothing)
    }

    fn run_order(&mut self) {
        self.commits = self.graph.commits_of(self.graph.order.order());
        self.placement = place(self.frame, &self.commits);
    }

    /// Orders versions by what must be seen, until nothing more follows; a core if that is impossible.
    fn settle(&mut self, budget: &Budget<'_>) -> Result<Settled, StopReason> {
        loop {
            let mut n_settled = 0;
            for (nth, choice) in self.overwritten(usize::MAX).into_iter().enumerate() {
                if nth % 64 == 0 {
                    budget.check()?;
                }
                match self.settle_one(choice) {
                    Ok(is_settled) => n_settled += usize::from(is_settled),
                    // What rests on a guess refutes only the guess.
                    Err(_) if self.graph.has_guesses => return Ok(Settled::Nothing),
                    Err(conflict) => return Ok(Settled::Conflict(conflict.core)),
                }
            }
            if n_settled == 0 {
                return Ok(Settled::All);
            }
            self.run_order();
        }
    }

    /// A reader that writes a key of the other one sees it, or is seen by it.
    fn settle_one(&mut self, choice: Choice) -> Result<bool, Conflict> {
        let Choice::Read { read, other, .. } = choice else { return Ok(false) };
        if !self.frame.is_conflict(self.frame.reader(read as usize), other) {
            return self.graph.settle_seen(choice);
        }
        if self.graph.is_kept(choice) {
            return Ok(false);
        }
        self.graph.settle(choice).map(|it| it == Outlook::Settled)
    }

    /// For each read that does not fit, the first so many writers that overwrote it before its reader.
    fn overwritten(&self, n_first: usize) -> Vec<Choice> {
        let fit = Fit::new(self.frame, &self.commits);
        let mut found = Vec::new();
        for misfit in &self.placement.misfits {
            let Misfit::Read(read) = *misfit else { continue };
            let before = fit.place[self.frame.reader(read as usize).index()] - 1;
            let Some(source) = self.frame.source(read as usize) else { continue };
            let committed = fit.committed(self.frame.key(read as usize), before);
            let n_older = committed.partition_point(|it| *it <= fit.place[source.index()]);
            let others = committed[n_older..].iter().take(n_first);
            found.extend(others.map(|it| Choice::Read { read, source, other: fit.at(*it) }));
        }
        found
    }

    /// Those writers that a reader sees if versions are ordered as they stand, though it must not.
    fn seen_by_version_order(&mut self, budget: &Budget<'_>) -> Result<Vec<Choice>, StopReason> {
        let suspects = self.overwritten(1);
        let mark = self.graph.order.mark();
        self.add_version_order();
        let mut seen = Vec::new();
        for (nth, choice) in suspects.into_iter().enumerate() {
            if nth % 64 == 0
                && let Err(reason) = budget.check()
            {
                self.graph.order.undo_to(mark);
                return Err(reason);
            }
            let Choice::Read { read, other, .. } = choice else { continue };
            let (from, to) = self.frame.rule.events.visibility(other, self.frame.reader(read as usize));
            if self.graph.order.find_path(from, to, u32::MAX) != Reach::Nowhere {
                seen.push(choice);
            }
        }
        self.graph.order.undo_to(mark);
        Ok(seen)
    }

    fn add_version_order(&mut self) {
        let mut last = vec![TxnId::INITIAL; self.frame.facts.history().n_keys()];
        for txn in &self.commits {
            for key in self.frame.facts.written_keys(*txn) {
                let before = std::mem::replace(&mut last[key.index()], *txn);
                if !before.is_initial() {
                    let (older, newer) = self.frame.rule.events.version_order(before, *txn);
                    let added = self.graph.order.add_edge(older, newer, UNTAGGED);
                    debug_assert!(added.is_ok(), "versions are ordered as their writers commit");
                }
            }
        }
    }

    /// Tries to place each such writer before the source of the read. What is tried stays, as if it were known: what is
    /// found is right whatever it rests on, and what is not found is looked for elsewhere.
    fn guess(&mut self, seen: &[Choice]) -> bool {
        let mut is_new = false;
        for choice in seen {
            let ((from, to), _) = self.graph.edges_of(*choice);
            is_new |= self.graph.try_guess(from, to);
        }
        is_new
    }
}

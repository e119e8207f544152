//! Which of two writers of a key comes first, as literals: what the levels with a version order choose freely.

use crate::frame::Frame;
use crate::trace::{INITIAL, Trace, TxnIdx};
use iso_solve::{Lit, SatSolver};
use rustc_hash::FxHashMap;

/// For each pair of transactions that write the same key, the literal that the first comes before the second.
#[derive(Clone, Debug, Default)]
pub(crate) struct Versions {
    /// By pair, the smaller one first.
    before: FxHashMap<(TxnIdx, TxnIdx), Lit>,
}

impl Versions {
    /// Makes the literals, and what follows at once from the observed run.
    pub(crate) fn new(trace: &Trace, frame: &Frame, solver: &mut impl SatSolver) -> Self {
        let mut versions = Self::default();
        for writers in &trace.writers {
            for (nth, later) in writers.iter().enumerate() {
                for earlier in &writers[..nth] {
                    versions.add_pair(trace, frame, (*earlier, *later), solver);
                }
            }
        }
        versions.add_updates(trace, frame, solver);
        versions
    }

    fn add_pair(&mut self, trace: &Trace, frame: &Frame, pair: (TxnIdx, TxnIdx), solver: &mut impl SatSolver) {
        if self.before.contains_key(&pair) {
            return;
        }
        let lit = solver.new_var().positive();
        self.before.insert(pair, lit);
        if trace.is_session_ordered(pair.0, pair.1) {
            solver.add_clause(&[lit]);
        } else if trace.happens_before(pair.0, pair.1) {
            solver.add_clause(&[!frame.complete[pair.1 as usize], lit]);
        }
    }

    /// Who reads a version and writes the key comes after that version.
    fn add_updates(&self, trace: &Trace, frame: &Frame, solver: &mut impl SatSolver) {
        for txn in trace.txns() {
            for spot in &frame.spots[txn as usize] {
                let Some(key) = spot.key.filter(|it| trace.write(txn, *it).is_some()) else { continue };
                debug_assert!(trace.writers[key as usize].contains(&txn));
                for choice in spot.choices.iter().filter(|it| it.writer != INITIAL) {
                    solver.add_clause(&[!choice.lit, self.before(choice.writer, txn)]);
                }
            }
        }
    }

    /// The literal that the first comes before the second. Both write the same key.
    pub(crate) fn before(&self, first: TxnIdx, second: TxnIdx) -> Lit {
        let lit = self.before[&(first.min(second), first.max(second))];
        if first < second { lit } else { !lit }
    }
}

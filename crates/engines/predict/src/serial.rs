//! One serial order of a run, if there is one.
//!
//! Between two writers of a key one must come first, and a read stands between its writer and the next one: clauses over
//! an order, which begins as the observed one and is repaired where they fail.

use crate::level::Case;
use crate::trace::{INITIAL, TxnIdx};
use iso_evidence::{Budget, StopReason};
use iso_solve::{OrderResult, OrderSolver};

/// The place of each transaction in an order in which each read sees the last write; nothing if there is none.
pub(crate) fn serial_places(case: &Case<'_>, budget: &Budget<'_>) -> Result<Option<Vec<u32>>, StopReason> {
    let Some(mut solver) = solver(case) else { return Ok(None) };
    match solver.solve(&mut || budget.check().is_err()) {
        OrderResult::Acyclic => Ok(Some(case.trace.txns().map(|it| solver.position(it)).collect())),
        OrderResult::Cyclic { .. } => Ok(None),
        OrderResult::Stopped => Err(budget.check().err().unwrap_or(StopReason::Timeout)),
    }
}

/// The clauses; nothing if what is known is cyclic already.
fn solver(case: &Case<'_>) -> Option<OrderSolver> {
    let (trace, run) = (case.trace, case.run);
    let mut solver = OrderSolver::new(trace.n_txns() as u32);
    for txn in trace.txns().filter(|it| run.is_in(*it)) {
        let sources = run.reads[txn as usize].iter().map(|it| it.source).filter(|it| *it != INITIAL);
        for cause in sources.chain(trace.before_in_session(txn)) {
            solver.add_known_edge(cause, txn).ok()?;
        }
    }
    for reader in trace.txns() {
        for seen in &run.reads[reader as usize] {
            for (other, _) in run.writers[seen.key as usize].iter().filter(|it| it.0 != reader && it.0 != seen.source) {
                if is_known_before(case, seen.source, *other) {
                    solver.add_known_edge(reader, *other).ok()?;
                } else if !is_known_before(case, *other, seen.source) {
                    let clause = [solver.order_lit(*other, seen.source), solver.order_lit(reader, *other)];
                    solver.add_clause(&clause);
                }
            }
        }
    }
    Some(solver)
}

/// Both are there, and the first comes first in every order.
fn is_known_before(case: &Case<'_>, first: TxnIdx, second: TxnIdx) -> bool {
    let is_complete = |txn: TxnIdx| case.run.roles[txn as usize] == crate::run::Role::Complete;
    first == INITIAL || (is_complete(second) && case.trace.happens_before(first, second))
}

//! Decides levels that no engine knows by name, with the reference evaluator: for small histories.

use iso_evidence::{Budget, Refutation, Schedule, Source, Sources, StopReason, Verdict, Witness};
use iso_history::{Facts, History, OpId, Projection, TxnId};
use iso_spec::{DirtyReads, Evaluation, Execution, Level, Prepared, Spec, Steps, evaluate};
use std::collections::BTreeSet;

/// The first try may take so many steps; each further one four times as many. Between tries the budget is asked.
const FIRST_STEPS: u64 = 1 << 14;
const MAX_STEPS: u64 = 1 << 32;
/// What soon means: so many steps, times the third power of the transactions.
const SOON_WORK: u64 = 40_000_000;
/// A try to make a forbidden part smaller may take so many steps.
const SHRINK_STEPS: u64 = 1 << 16;

/// The answer of the reference evaluator, if it has one within about a second.
pub(crate) fn decide_soon(facts: &Facts<'_>, spec: &Spec, budget: &Budget<'_>) -> Option<Verdict> {
    let n_steps = (SOON_WORK / (facts.history().n_txns() as u64).pow(3)).clamp(1, FIRST_STEPS);
    match Prepared::new(facts).evaluate(spec, &mut Steps::new(n_steps)) {
        Evaluation::OutOfSteps | Evaluation::TooLarge => None,
        answer => Some(verdict(facts, spec, answer, budget)),
    }
}

/// The answer of the reference evaluator; `why` says why nobody else has one.
pub(crate) fn decide(facts: &Facts<'_>, spec: &Spec, why: &str, budget: &Budget<'_>) -> Verdict {
    match evaluate_within(&Prepared::new(facts), spec, MAX_STEPS, budget) {
        Err(reason) => Verdict::Unknown(reason),
        Ok(Evaluation::TooLarge) => Verdict::Unknown(StopReason::Unsupported(too_large(facts.history(), spec, why))),
        Ok(answer) => verdict(facts, spec, answer, budget),
    }
}

fn verdict(facts: &Facts<'_>, spec: &Spec, answer: Evaluation, budget: &Budget<'_>) -> Verdict {
    match answer {
        Evaluation::Allowed(execution) => Verdict::Allowed(witness(execution)),
        Evaluation::Forbidden => Verdict::Forbidden(refute(facts, spec, budget)),
        Evaluation::OutOfSteps | Evaluation::TooLarge => Verdict::Unknown(StopReason::Steps),
    }
}

/// The reference evaluator's answer, in several tries that take more and more steps.
pub(crate) fn evaluate_within(
    prepared: &Prepared<'_, '_>,
    spec: &Spec,
    max_steps: u64,
    budget: &Budget<'_>,
) -> Result<Evaluation, StopReason> {
    let mut steps = FIRST_STEPS.min(max_steps);
    loop {
        budget.check()?;
        match prepared.evaluate(spec, &mut Steps::new(steps)) {
            Evaluation::OutOfSteps if steps < max_steps => steps = (steps * 4).min(max_steps),
            answer => return Ok(answer),
        }
    }
}

fn too_large(history: &History, spec: &Spec, why: &str) -> String {
    format!(
        "{} is decided by the reference evaluator, which takes about 60 transactions, and there are {}: {why}",
        spec.name(),
        history.n_txns() - 1
    )
}

pub(crate) fn witness(execution: Execution) -> Witness {
    let source = |it: &(OpId, TxnId)| Source { read: it.0, writer: it.1 };
    let sources: Sources = execution.sources.iter().map(source).collect();
    Witness { schedule: Schedule::Execution(execution), sources: sources.into() }
}

/// The read that is enough, or the smallest part that is forbidden by itself.
fn refute(facts: &Facts<'_>, spec: &Spec, budget: &Budget<'_>) -> Refutation {
    // The weakest levels that tolerate the same reads; a single read breaks them exactly if it breaks the spec.
    let same_reads = match spec.dirty_reads() {
        DirtyReads::Forbidden => Level::ReadCommitted,
        DirtyReads::Allowed => Level::ReadUncommitted,
    };
    if !facts.local().is_empty()
        && let Verdict::Forbidden(refutation) = iso_check::check_facts(facts, same_reads, budget)
        && refutation.local.is_some()
    {
        return refutation;
    }
    let all: Vec<TxnId> = facts.txns().filter(|it| !it.is_initial()).collect();
    // A level may speak of what parts leave out; then only the whole history is forbidden.
    let ops: Vec<OpId> = all.iter().flat_map(|it| facts.history().ops(*it)).collect();
    smaller_core(facts, spec, (&all, &ops), budget).unwrap_or_else(|| bare(all, ops))
}

/// A core of which nothing else is known.
fn bare(txns: Vec<TxnId>, ops: Vec<OpId>) -> Refutation {
    Refutation { anomalies: Vec::new(), txns, ops, local: None, cycle: Vec::new(), proof: None, grounds: None }
}

/// The smallest core among these transactions and operations, if they are forbidden by themselves.
pub(crate) fn smaller_core(
    facts: &Facts<'_>,
    spec: &Spec,
    (among, ops): (&[TxnId], &[OpId]),
    budget: &Budget<'_>,
) -> Option<Refutation> {
    let mut txns = among.to_vec();
    let is_gone = |it: &OpId| ops.binary_search(it).is_err();
    let mut without: BTreeSet<OpId> = among.iter().flat_map(|it| facts.history().ops(*it)).filter(is_gone).collect();
    let mut ops = forbidden_ops(facts, spec, &txns, &without)?;
    for txn in among {
        let fewer: Vec<TxnId> = txns.iter().copied().filter(|it| it != txn).collect();
        if budget.check().is_ok()
            && let Some(left) = forbidden_ops(facts, spec, &fewer, &without)
        {
            (txns, ops) = (fewer, left);
        }
    }
    for op in ops.clone() {
        without.insert(op);
        match forbidden_ops(facts, spec, &txns, &without).filter(|_| budget.check().is_ok()) {
            Some(left) => ops = left,
            None => _ = without.remove(&op),
        }
    }
    Some(bare(txns, ops))
}

/// The operations of a part, if it is forbidden by itself.
fn forbidden_ops(facts: &Facts<'_>, spec: &Spec, txns: &[TxnId], without: &BTreeSet<OpId>) -> Option<Vec<OpId>> {
    let part = Projection::new(facts, txns, without);
    let answer = evaluate(&Facts::new(&part.history), spec, &mut Steps::new(SHRINK_STEPS));
    (answer == Evaluation::Forbidden).then_some(part.ops)
}

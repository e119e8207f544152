//! Does the text of a level allow a saved run, in the order in which it is said to have happened? A history alone does not
//! tell who wrote last, and invariants are about the last state.

use super::histories::{Problem, wrong};
use super::levels::Levels;
use iso_answer::verify::{Counterexample, Wrong};
use iso_history::{Facts, History, HistoryBuilder, Op, OpId, Outcome, Place, Standing, TxnId};
use iso_program::InstanceId;
use iso_spec::{Execution, Spec, WitnessKind, holds};

/// Does the text of the level allow the run, in the order in which it is said to have happened and with the sources of its
/// reads? An observer may stand anywhere in that order.
pub(super) fn is_allowed(levels: Levels<'_>, name: &str, found: &Counterexample) -> Result<(), Problem> {
    let spec = levels.spec(name).map_err(Problem::Unchecked)?;
    let history = with_failed(found);
    let facts = Facts::new(&history);
    let counts = |it: &TxnId| facts.standing(*it) == Standing::Counted;
    let order: Vec<TxnId> = found.order.iter().filter_map(|it| found.ids[it.index()]).filter(|it| counts(it)).collect();
    let is_instance = |it: &TxnId| found.ids.contains(&Some(*it));
    let observer = history.txns().find(|it| !it.is_initial() && !is_instance(it));
    let orders: Vec<Vec<TxnId>> = match observer {
        None => vec![order],
        Some(observer) => {
            (0..=order.len()).map(|place| [&order[..place], &[observer], &order[place..]].concat()).collect()
        }
    };
    for order in orders {
        for vis in visibilities(found, observer, &order) {
            let execution = Execution::new(facts.txns().filter(counts), sources(&facts, found, observer));
            let Some(execution) = witness(spec, execution, &order, vis) else {
                return Err(Problem::Unchecked(format!("{name} asks for more than an order and who sees whom")));
            };
            if holds(&facts, spec, &execution) {
                return Ok(());
            }
        }
    }
    wrong(format!("{name} does not allow the run in this order"))
}

/// The order, and who sees whom where the level speaks of that.
fn witness(spec: &Spec, mut execution: Execution, order: &[TxnId], mut vis: Vec<(TxnId, TxnId)>) -> Option<Execution> {
    vis.extend(order.iter().map(|it| (TxnId::INITIAL, *it)));
    vis.sort_unstable();
    vis.dedup();
    for asked in spec.witnesses() {
        execution = match asked.kind {
            WitnessKind::Order => execution.with_order(&asked.name, order),
            WitnessKind::Relation => execution.with_relation(&asked.name, vis.clone()),
            WitnessKind::Versions => return None,
        };
    }
    Some(execution)
}

/// Who sees whom. An observer sees at least those from whom it reads; some levels ask that it sees whom they see, too.
fn visibilities(found: &Counterexample, observer: Option<TxnId>, order: &[TxnId]) -> Vec<Vec<(TxnId, TxnId)>> {
    let id = |it: InstanceId| found.ids[it.index()].filter(|it| order.contains(it));
    let sees: Vec<(TxnId, TxnId)> =
        found.sees.iter().filter_map(|(writer, reader)| Some((id(*writer)?, id(*reader)?))).collect();
    let Some(observer) = observer else { return vec![sees] };
    let reads = found.observed.iter().flat_map(|it| &it.reads);
    let mut seen: Vec<TxnId> = reads.filter_map(|it| id(it.source?)).collect();
    seen.sort_unstable();
    seen.dedup();
    let with = |seen: &[TxnId]| sees.iter().copied().chain(seen.iter().map(|it| (*it, observer))).collect::<Vec<_>>();
    let few = with(&seen);
    let mut next = 0;
    while let Some(reader) = seen.get(next).copied() {
        let more = sees.iter().filter(|it| it.1 == reader).map(|it| it.0);
        let more: Vec<TxnId> = more.filter(|it| !seen.contains(it)).collect();
        seen.extend(more);
        next += 1;
    }
    vec![few, with(&seen)]
}

/// Whose write each read of the history saw.
fn sources(facts: &Facts<'_>, found: &Counterexample, observer: Option<TxnId>) -> Vec<(OpId, TxnId)> {
    let history = facts.history();
    let observed = found.observed.as_ref().map(|it| (observer, &it.reads));
    let ran = found.ids.iter().copied().zip(found.transactions.iter().map(|it| &it.reads));
    let mut sources = Vec::new();
    for (txn, reads) in ran.chain(observed) {
        let Some(txn) = txn else { continue };
        let ops = history.ops(txn).filter(|it| matches!(history.op(*it), Op::Read { .. } | Op::Omit { .. }));
        for (op, seen) in ops.zip(reads) {
            let writer = seen.source.map_or(Some(TxnId::INITIAL), |it| found.ids[it.index()]);
            let is_asked = facts.reads().iter().any(|it| it.op == op);
            sources.extend(writer.filter(|_| is_asked).map(|it| (op, it)));
        }
    }
    sources.sort_unstable();
    sources
}

/// The history in which transactions that failed count, without their writes: what they saw must be allowed, since that is
/// why they failed. Who gave up by itself does no harm, whatever it saw.
fn with_failed(found: &Counterexample) -> History {
    let failed = found.wrong.iter().filter_map(|it| match it {
        Wrong::Inside { instance, .. } => found.ids[instance.index()],
        _ => None,
    });
    let failed: Vec<TxnId> = failed.collect();
    if failed.is_empty() {
        return found.history.clone();
    }
    let history = &found.history;
    let mut builder = HistoryBuilder::new();
    for session in history.sessions() {
        builder.session(history.session_name(session));
    }
    for key in history.keys() {
        let (name, value) = (builder.key_named(history.key_name(key)), history.value(history.initial_value(key)));
        let value = builder.value_named(value);
        builder.initial(name, value, Place::default());
    }
    for txn in history.txns() {
        let Some(session) = history.session_of(txn) else { continue };
        let is_failed = failed.contains(&txn);
        let session = builder.session(history.session_name(session));
        builder.begin(session, Place::default());
        let ops: Vec<OpId> = history.ops(txn).collect();
        for statement in ops.chunk_by(|a, b| history.statement_of(*a) == history.statement_of(*b)) {
            builder.begin_statement();
            for op in statement {
                copy_op(&mut builder, history, *op, is_failed);
            }
            builder.end_statement(history.statement_of(statement[0]).locking);
        }
        builder.end(if is_failed { Outcome::Committed } else { history.outcome(txn) });
    }
    builder.finish().expect("a history with fewer writes is one")
}

fn copy_op(builder: &mut HistoryBuilder, history: &History, op: OpId, is_failed: bool) {
    let key = builder.key_named(history.key_name(history.op(op).key()));
    match history.op(op) {
        Op::Read { value, .. } => {
            let value = builder.value_named(history.value(value));
            builder.read(key, value);
        }
        Op::Write { value, .. } if !is_failed => {
            let value = builder.value_named(history.value(value));
            builder.write(key, value);
        }
        Op::Omit { .. } => {
            if let Some(scan) = history.scan_of(op).map(|it| history.scan(it)) {
                builder.omit(scan.table, scan.predicate.clone(), key);
            }
        }
        // Programs have no lists.
        _ => return,
    }
    if is_failed && history.sees_newest(op) {
        builder.lock_last_read();
    }
}

//! Levels whose statements have snapshots of their own: serializability of pieces (decision 0019).
//!
//! Whether an indeterminate transaction committed must be known before it is cut, since all of its pieces took place or none.
//! Those that surely count did. Of the others, each choice is tried, if they are few.

use crate::decide::decide;
use crate::decision::Decision;
use crate::explain;
use crate::local::refute_by_one_read;
use iso_evidence::{Budget, Edge, Event, Reason, Schedule, Source, StopReason, Witness};
use iso_history::{Facts, History, KeyId, OpId, PieceKind, Pieces, Projection, Snapshots, Standing, TxnId};
use iso_spec::Level;
use std::collections::BTreeSet;
use std::sync::Arc;

/// More choices of who committed are not tried.
const MAX_OPTIONAL: usize = 8;

/// Decides a level that looks at statements; nothing for others.
pub(crate) fn decide_pieces(
    facts: &Facts<'_>,
    level: Level,
    budget: &Budget<'_>,
) -> Option<Result<Decision, StopReason>> {
    if level == Level::RowSnapshots {
        return Some(decide_rows(facts, budget));
    }
    let snapshots = level.snapshots()?;
    Some(decide_choices(facts, |history| history.pieces(snapshots), budget))
}

/// Snapshot isolation, but for rows that are made anew: most histories have it altogether, or break it for another reason.
/// For the others, snapshots and commits are pieces.
fn decide_rows(facts: &Facts<'_>, budget: &Budget<'_>) -> Result<Decision, StopReason> {
    let decided = match refute_by_one_read(facts, Level::SnapshotIsolation) {
        Some(refutation) => Decision::Forbidden(refutation.txns),
        None => decide(facts, Level::SnapshotIsolation, budget)?,
    };
    let Decision::Forbidden(core) = decided else { return Ok(decided) };
    if !facts.history().makes_rows() {
        return Ok(Decision::Forbidden(core));
    }
    let part = Projection::new(facts, &core, &BTreeSet::new());
    if core.len() < facts.txns().count()
        && let Decision::Forbidden(_) = decide_rows_in_pieces(&Facts::new(&part.history), budget)?
    {
        return Ok(Decision::Forbidden(core));
    }
    decide_rows_in_pieces(facts, budget)
}

fn decide_rows_in_pieces(facts: &Facts<'_>, budget: &Budget<'_>) -> Result<Decision, StopReason> {
    Ok(match decide_choices(facts, History::snapshot_pieces, budget)? {
        Decision::Allowed(witness) => Decision::Allowed(as_events(witness)),
        forbidden @ Decision::Forbidden(_) => forbidden,
    })
}

/// A transaction that sees nothing of its snapshot takes it right before it commits.
fn as_events(witness: Witness) -> Witness {
    let Schedule::Pieces(pieces) = &witness.schedule else { return witness };
    let mut has_snapshot: BTreeSet<TxnId> = BTreeSet::new();
    let mut events = Vec::new();
    for (txn, kind) in pieces {
        if has_snapshot.insert(*txn) {
            events.push(Event::Snapshot(*txn));
        }
        events.extend((*kind == PieceKind::Commit).then_some(Event::Commit(*txn)));
    }
    Witness { schedule: Schedule::Events(events), sources: witness.sources }
}

fn decide_choices(
    facts: &Facts<'_>,
    cut: impl Fn(&History) -> Pieces,
    budget: &Budget<'_>,
) -> Result<Decision, StopReason> {
    let optional: Vec<TxnId> = facts.txns().filter(|it| facts.standing(*it) == Standing::Optional).collect();
    let n_choices = 1usize << optional.len().min(MAX_OPTIONAL);
    let mut core: BTreeSet<TxnId> = optional.iter().copied().collect();
    for choice in (0..n_choices).rev() {
        let is_chosen = |txn: TxnId| {
            let place = optional.iter().position(|it| *it == txn);
            place.is_none_or(|it| it >= MAX_OPTIONAL || choice >> it & 1 == 1)
        };
        let history = facts.history().with_known_outcomes(|it| facts.standing(it) != Standing::Out && is_chosen(it));
        match decide_cut(&cut(&history), budget)? {
            Decision::Forbidden(txns) => core.extend(txns),
            allowed @ Decision::Allowed(_) => return Ok(allowed),
        }
    }
    if optional.len() > MAX_OPTIONAL {
        let n = optional.len();
        let why = format!("nobody knows whether {n} transactions committed that somebody may have read from");
        return Err(StopReason::Unsupported(why));
    }
    Ok(Decision::Forbidden(core.into_iter().collect()))
}

fn decide_cut(pieces: &Pieces, budget: &Budget<'_>) -> Result<Decision, StopReason> {
    let facts = Facts::new(&pieces.history);
    let in_whole = |txns: &[TxnId]| {
        let txns: BTreeSet<TxnId> = txns.iter().map(|it| pieces.txns[it.index()]).collect();
        Decision::Forbidden(txns.into_iter().collect())
    };
    if let Some(refutation) = refute_by_one_read(&facts, Level::Serializable) {
        return Ok(in_whole(&refutation.txns));
    }
    Ok(match decide(&facts, Level::Serializable, budget)? {
        Decision::Forbidden(core) => in_whole(&core),
        Decision::Allowed(witness) => Decision::Allowed(witness_in_whole(pieces, &witness)),
    })
}

fn witness_in_whole(pieces: &Pieces, witness: &Witness) -> Witness {
    let piece = |it: &TxnId| (pieces.txns[it.index()], pieces.kinds[it.index()]);
    let schedule = match &witness.schedule {
        Schedule::Order(order) => Schedule::Pieces(order.iter().map(piece).collect()),
        other => other.clone(),
    };
    let source = |it: Source| {
        let read = pieces.ops[it.read.index()]?;
        Some(Source { read, writer: pieces.txns[it.writer.index()] })
    };
    let mut sources: Vec<Source> = witness.sources.iter().filter_map(source).collect();
    // A read that locks is there twice.
    sources.sort_unstable();
    sources.dedup();
    Witness { schedule, sources: Arc::new(sources.into_iter().collect()) }
}

/// A serial execution, in pieces: those of each transaction one right after the other.
pub(crate) fn in_pieces(history: &History, order: &[TxnId], snapshots: Snapshots) -> Schedule {
    let is_in: BTreeSet<TxnId> = order.iter().copied().collect();
    let pieces = history.with_known_outcomes(|it| is_in.contains(&it)).pieces(snapshots);
    let mut of_txn: Vec<Vec<TxnId>> = vec![Vec::new(); history.n_txns()];
    for piece in pieces.history.txns() {
        of_txn[pieces.txns[piece.index()].index()].push(piece);
    }
    let all = order.iter().flat_map(|it| &of_txn[it.index()]);
    Schedule::Pieces(all.map(|it| (pieces.txns[it.index()], pieces.kinds[it.index()])).collect())
}

/// The pieces of a history, if it is known who counts.
pub(crate) fn pieces_of_counted(facts: &Facts<'_>, cut: impl Fn(&History) -> Pieces) -> Option<Pieces> {
    let is_open = facts.txns().any(|it| facts.standing(it) == Standing::Optional) || facts.ambiguous_list().is_some();
    let known = || facts.history().with_known_outcomes(|it| facts.standing(it) == Standing::Counted);
    (!is_open).then(|| cut(&known()))
}

/// A cycle in the core, in the numbers of the whole history: one of its pieces, without steps inside a transaction.
pub(crate) fn explain_pieces(core: &Projection, snapshots: Snapshots, budget: &Budget<'_>) -> Vec<Edge> {
    let facts = Facts::new(&core.history);
    let history = core.history.with_known_outcomes(|it| facts.standing(it) != Standing::Out);
    let Pieces { history, txns, ops, keys, .. } = history.pieces(snapshots);
    // Marks are no operations of the core: steps inside a transaction, or one that waits for a lock.
    let mark = OpId::from_index(u32::MAX as usize - 1);
    let op = |it: Option<OpId>| it.map_or(mark, |it| core.ops[it.index()]);
    let pieces = Projection {
        txns: (0..history.n_txns()).map(TxnId::from_index).collect(),
        ops: ops.iter().map(|it| op(*it)).collect(),
        keys: keys.iter().map(|it| core.keys.get(it.index()).copied().unwrap_or(KeyId::from_index(0))).collect(),
        history,
    };
    let in_whole = |it: TxnId| core.txns[txns[it.index()].index()];
    let cycle = explain::explain(&pieces, Level::Serializable, budget);
    let edges = cycle.iter().map(|it| Edge { from: in_whole(it.from), to: in_whole(it.to), because: it.because });
    let edges: Vec<Edge> = edges.filter(|it| it.from != it.to).collect();
    // Who waits for a lock has no dependency of its own that says so.
    let is_of_mark = |it: &Edge| match it.because {
        Reason::ReadFrom { read } | Reason::AntiDependency { read, .. } => read == mark,
        Reason::VersionOrder { shown_by, .. } => shown_by == Some(mark),
        Reason::Session | Reason::RealTime | Reason::FirstCommitter { .. } => false,
    };
    if edges.iter().any(is_of_mark) { Vec::new() } else { joined(edges) }
}

/// Steps along a session are one step. A way around a transaction's own pieces may pass it twice; the shorter part is a
/// cycle, too.
fn joined(edges: Vec<Edge>) -> Vec<Edge> {
    let mut joined: Vec<Edge> = Vec::new();
    for edge in edges {
        match joined.last_mut() {
            Some(last) if last.because == Reason::Session && edge.because == Reason::Session => last.to = edge.to,
            _ => joined.push(edge),
        }
    }
    joined
}

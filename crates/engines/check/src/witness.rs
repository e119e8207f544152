//! Witnesses, from the order of events that an engine found.

use crate::pieces::in_pieces;
use crate::rule::{Events, Node};
use iso_evidence::{Event, Schedule, Source, Sources, Witness};
use iso_history::{Facts, Outcome, Snapshots, TxnId};
use iso_spec::Level;
use std::sync::Arc;

/// The schedule of events in this order, with these sources. The initial transaction has no place in it.
pub(crate) fn witness(events: Events, nodes: impl Iterator<Item = Node>, sources: Arc<Sources>) -> Witness {
    let nodes = nodes.filter(|it| !events.txn(*it).is_initial());
    let schedule = if events == Events::One {
        Schedule::Order(nodes.map(|it| events.txn(it)).collect())
    } else {
        let event = |it: Node| {
            let txn = events.txn(it);
            if it == events.start(txn) { Event::Snapshot(txn) } else { Event::Commit(txn) }
        };
        Schedule::Events(nodes.map(event).collect())
    };
    Witness { schedule, sources }
}

/// Whom each external read saw, as far as `source_of` knows it of the position in [`Facts::reads`].
pub(crate) fn sources(facts: &Facts<'_>, source_of: impl Fn(usize) -> Option<TxnId>) -> Arc<Sources> {
    let mut sources = Sources::default();
    for read_idx in 0..facts.n_reads() {
        sources.extend(source_of(read_idx).map(|writer| Source { read: facts.read_op(read_idx), writer }));
    }
    Arc::new(sources)
}

/// The same execution as a witness of a weaker level.
pub(crate) fn weaken(facts: &Facts<'_>, witness: &Witness, level: Level) -> Witness {
    let level = level.with_sessions().unwrap_or(level);
    let has_snapshots = matches!(
        level,
        Level::PrefixConsistency | Level::SnapshotIsolation | Level::StrongSnapshotIsolation | Level::RowSnapshots
    );
    let schedule = match &witness.schedule {
        Schedule::Order(order) if level.snapshots().is_some() => {
            let snapshots = level.snapshots().unwrap_or(Snapshots::PerStatement);
            let locked = facts.history().with_locked_lists();
            in_pieces(locked.as_ref().unwrap_or(facts.history()), order, snapshots)
        }
        Schedule::Order(_) if has_snapshots => with_snapshots(witness).schedule,
        Schedule::Events(events) if !has_snapshots => Schedule::Order(commits(events)),
        same => same.clone(),
    };
    match schedule {
        // Read uncommitted judges only who committed: whoever read from others may have read dirty.
        Schedule::Order(mut order) if level == Level::ReadUncommitted => {
            order.retain(|it| facts.history().outcome(*it) == Outcome::Committed);
            Witness { schedule: Schedule::Order(order), sources: Arc::default() }
        }
        schedule => Witness { schedule, sources: Arc::clone(&witness.sources) },
    }
}

/// The same execution, with a snapshot right before each commit where there is none.
pub(crate) fn with_snapshots(witness: &Witness) -> Witness {
    let schedule = match &witness.schedule {
        Schedule::Order(order) => {
            Schedule::Events(order.iter().flat_map(|it| [Event::Snapshot(*it), Event::Commit(*it)]).collect())
        }
        same => same.clone(),
    };
    Witness { schedule, sources: Arc::clone(&witness.sources) }
}

fn commits(events: &[Event]) -> Vec<TxnId> {
    let commit = |it: &Event| match it {
        Event::Commit(txn) => Some(*txn),
        Event::Snapshot(_) => None,
    };
    events.iter().filter_map(commit).collect()
}

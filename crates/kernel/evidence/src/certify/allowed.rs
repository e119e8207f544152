//! Is a witness one of its level? Replays the schedule, or compares what each reader saw with whom it must see.

use super::favourable::most_favourable;
use super::sources::NamedSources;
use super::uncertified::Uncertified;
use super::{replay, schedule, uncommitted, versions, visibility};
use crate::{Schedule, Witness};
use iso_history::History;
use iso_spec::Level;

/// Checks a witness of a history at a level.
pub(super) fn certify_allowed(history: &History, level: Level, witness: &Witness) -> Result<(), Uncertified> {
    match most_favourable(history, level) {
        Some(history) => check_witness(&history, level, witness),
        None => check_witness(history, level, witness),
    }
}

fn check_witness(history: &History, level: Level, witness: &Witness) -> Result<(), Uncertified> {
    match (level, &witness.schedule) {
        (Level::Serializable | Level::StrictSerializable, Schedule::Order(order)) => {
            schedule::check_order(history, order, level.needs_times())?;
            replay::replay_serially(history, order)
        }
        (Level::PrefixConsistency, Schedule::Events(events)) => {
            schedule::check_events(history, events, false)?;
            replay::replay_snapshots(history, events, replay::Writers::Free)
        }
        (Level::SnapshotIsolation | Level::StrongSnapshotIsolation, Schedule::Events(events)) => {
            schedule::check_events(history, events, level.needs_times())?;
            replay::replay_snapshots(history, events, replay::Writers::FirstCommitterWins)
        }
        (Level::RowSnapshots, Schedule::Events(events)) => {
            schedule::check_events(history, events, false)?;
            replay::replay_snapshots(history, events, replay::Writers::FirstUpdaterWins)
        }
        (Level::ReadUncommitted, Schedule::Order(order)) => {
            schedule::check_order(history, order, false)?;
            if replay::replay_serially(history, order).is_ok() {
                return Ok(());
            }
            uncommitted::check_uncommitted(history, order)
        }
        (
            Level::ReadCommitted
            | Level::ReadYourWrites
            | Level::MonotonicReads
            | Level::MonotonicWrites
            | Level::WritesFollowReads
            | Level::ReadAtomic
            | Level::UpdateAtomic
            | Level::CausalConsistency
            | Level::ParallelSnapshotIsolation,
            Schedule::Order(order),
        ) => {
            schedule::check_order(history, order, false)?;
            let sources = NamedSources::new(history, &witness.sources)?;
            // Whatever is serializable satisfies all the levels here, and is quickly replayed.
            if replay::is_serial(history, order, &sources) {
                return Ok(());
            }
            visibility::check_visibility(&versions::check_sources(history, order, &sources)?, level)
        }
        _ => Err(Uncertified::new(format!("the witness of {level} has the wrong kind of schedule"))),
    }
}

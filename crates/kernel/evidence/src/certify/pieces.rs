//! Levels whose statements have snapshots: cuts the history, and checks evidence about its pieces.

use super::derivation::certify_derivation;
use super::favourable::most_favourable;
use super::uncertified::Uncertified;
use super::{replay, schedule};
use crate::{Derivation, Schedule, Witness};
use iso_history::{Facts, History, PieceKind, Pieces, Snapshots, Standing, TxnId};
use iso_spec::Level;
use std::collections::{BTreeMap, BTreeSet};

/// A derivation about the pieces of a core, which are serializable exactly if the level allows the core.
pub(super) fn certify_in_pieces(
    facts: &Facts<'_>,
    cut: impl Fn(&History) -> Pieces,
    derivation: &Derivation,
) -> Result<(), Uncertified> {
    if facts.txns().any(|it| facts.standing(it) == Standing::Optional) {
        return Err(Uncertified::new("nobody knows whether a transaction of the core committed"));
    }
    let known = facts.history().with_known_outcomes(|it| facts.standing(it) == Standing::Counted);
    let pieces: Pieces = cut(&known);
    certify_derivation(&Facts::new(&pieces.history), Level::Serializable, derivation)
}

/// The pieces of the history run one after the other. An indeterminate transaction is in with all of its pieces, or not at
/// all.
pub(super) fn certify_pieces(
    history: &History,
    level: Level,
    snapshots: Snapshots,
    witness: &Witness,
) -> Result<(), Uncertified> {
    let Schedule::Pieces(order) = &witness.schedule else {
        return Err(Uncertified::new(format!("the witness of {level} has the wrong kind of schedule")));
    };
    let favourable = most_favourable(history, level);
    let history = favourable.as_ref().unwrap_or(history);
    let is_in: BTreeSet<TxnId> = order.iter().map(|it| it.0).collect();
    let pieces: Pieces = history.with_known_outcomes(|it| is_in.contains(&it)).pieces(snapshots);
    let by_kind: BTreeMap<(TxnId, PieceKind), TxnId> =
        pieces.history.txns().map(|it| ((pieces.txns[it.index()], pieces.kinds[it.index()]), it)).collect();
    let order: Option<Vec<TxnId>> = order.iter().map(|it| by_kind.get(it).copied()).collect();
    let order =
        order.ok_or_else(|| Uncertified::new("the schedule has a piece of a transaction that does not exist"))?;
    schedule::check_order(&pieces.history, &order, false)?;
    replay::replay_serially(&pieces.history, &order)
}

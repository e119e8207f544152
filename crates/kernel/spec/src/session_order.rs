//! Which session order a history is judged under: its own chains, or any strict partial order that the caller gives.
//!
//! Recorded sessions are chains. Who asks what levels mean, and not what a database did, may want more: Isolde searches
//! histories whose session order is any partial order.

use iso_history::{History, TxnId};
use std::collections::BTreeSet;

/// Who precedes whom in session order. The initial transaction precedes every other one.
#[derive(Clone, Debug)]
pub(crate) enum SessionOrder {
    /// As the history says.
    Recorded,
    /// These pairs, transitively closed, whatever sessions the history has.
    Given(BTreeSet<(TxnId, TxnId)>),
}

impl SessionOrder {
    /// The smallest strict order with these pairs, which must have no cycle.
    pub(crate) fn closing(pairs: &[(TxnId, TxnId)]) -> Self {
        let mut closed: BTreeSet<(TxnId, TxnId)> = pairs.iter().copied().collect();
        loop {
            let onwards = |to: TxnId| closed.iter().filter(move |it| it.0 == to).map(|it| it.1);
            let steps: Vec<_> = closed.iter().flat_map(|it| onwards(it.1).map(|later| (it.0, later))).collect();
            let n_before = closed.len();
            closed.extend(steps);
            if closed.len() == n_before {
                break;
            }
        }
        assert!(closed.iter().all(|it| it.0 != it.1), "a session order has no cycle");
        assert!(closed.iter().all(|it| !it.1.is_initial()), "nothing precedes the initial transaction");
        Self::Given(closed)
    }

    pub(crate) fn is_ordered(&self, history: &History, earlier: TxnId, later: TxnId) -> bool {
        match self {
            Self::Recorded => history.is_session_ordered(earlier, later),
            Self::Given(_) if earlier.is_initial() => !later.is_initial(),
            Self::Given(pairs) => pairs.contains(&(earlier, later)),
        }
    }
}

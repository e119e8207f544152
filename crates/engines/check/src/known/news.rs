//! What has changed since the last round of saturation: most reads have nothing to do with it.

use super::Known;
use crate::graph::Clocks;
use crate::rule::{Events, Node, Visibility};
use iso_history::{KeyId, TxnId};

/// The events before which more is known than before, and the keys with writers among them; nothing if all may have changed.
pub(super) struct News {
    events: Events,
    nodes: Vec<bool>,
    keys: Vec<bool>,
}

impl News {
    /// What these clocks say that those of the round before did not. Levels at which somebody may be seen by more than what
    /// comes before ask everything again.
    pub(super) fn new(known: &Known<'_>, before: Option<&Clocks>, clocks: &Clocks) -> Self {
        let events = known.rule.events;
        let mut news = Self { events, nodes: Vec::new(), keys: Vec::new() };
        let is_by_order = matches!(known.rule.visibility, Visibility::Everything | Visibility::CausalAndConflicting);
        if let (Some(before), true) = (before, is_by_order) {
            let n_nodes = events.n_nodes(known.problem.n_txns());
            news.nodes = (0..n_nodes as Node).map(|it| clocks.is_changed(before, it)).collect();
            let is_news = |it: &TxnId| news.node(events.start(*it)) || news.node(events.commit(*it));
            news.keys = known.writers.iter().map(|it| it.iter().flatten().any(is_news)).collect();
        }
        news
    }

    fn node(&self, node: Node) -> bool {
        self.nodes.get(node as usize).is_none_or(|it| *it)
    }

    /// May more follow from a read of a key by this transaction?
    pub(super) fn concerns(&self, reader: TxnId, key: KeyId) -> bool {
        self.node(self.events.start(reader)) || self.concerns_key(key.raw())
    }

    /// May more follow from writes of this key?
    pub(super) fn concerns_key(&self, key_idx: u32) -> bool {
        self.keys.get(key_idx as usize).is_none_or(|it| *it)
    }
}

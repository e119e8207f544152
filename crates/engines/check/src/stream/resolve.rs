//! The window as a small history: the exact engine finds an order of it, or says which keys forbid one.

use super::chains::{Chains, NONE, Shape};
use super::strong::Strong;
use crate::check_facts;
use iso_evidence::{Budget, Event, Schedule, Verdict, Witness};
use iso_history::{
    Datum, Facts, History, HistoryBuilder, KeyId, Op, Outcome, Place, StreamedOp, StreamedTxn, StreamedValue, TxnId,
};
use iso_spec::Level;
use rustc_hash::{FxHashMap, FxHashSet};

/// What the exact engine says about a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// There is an order, and the window has it now.
    Ordered,
    /// There is none, because of these keys, if what left the window stays as it was.
    Forbidden(Vec<KeyId>),
    /// Nobody knows.
    Unknown,
}

/// The window as a history, with the way back.
struct Excerpt {
    history: History,
    /// By transaction but the initial one, its place in the window.
    slots: Vec<u32>,
    keys: Vec<KeyId>,
}

impl Strong {
    pub(super) fn resolve<'t>(
        &mut self,
        level: Level,
        txn: &dyn Fn(u64) -> Option<StreamedTxn<'t>>,
        budget: &Budget<'_>,
    ) -> Resolved {
        let Some(excerpt) = self.excerpt(txn) else { return Resolved::Unknown };
        match check_facts(&Facts::new(&excerpt.history), level, budget) {
            Verdict::Allowed(witness) => {
                if self.adopt(&excerpt, &witness) {
                    Resolved::Ordered
                } else {
                    Resolved::Unknown
                }
            }
            Verdict::Forbidden(refutation) => {
                let key_of = |it: &iso_history::OpId| excerpt.keys[excerpt.history.op(*it).key().index()];
                let mut keys: Vec<KeyId> = refutation.ops.iter().map(key_of).collect();
                keys.sort_unstable();
                keys.dedup();
                Resolved::Forbidden(keys)
            }
            Verdict::Unknown(_) => Resolved::Unknown,
        }
    }

    /// Reads that wait are left out, and so are those of transactions whose snapshot has left.
    fn excerpt<'t>(&mut self, txn: &dyn Fn(u64) -> Option<StreamedTxn<'t>>) -> Option<Excerpt> {
        let mut slots: Vec<u32> = self.order.nodes().map(|it| it >> 1).collect();
        slots.sort_unstable_by_key(|it| self.chains.txn(*it).id);
        slots.dedup();
        let read_by = |op: u32| (self.chains.txn(self.chains.op(op).txn).id, self.chains.op(op).key);
        let waiting: FxHashSet<((u64, u32), StreamedValue)> =
            self.waiting().map(|(op, value)| (read_by(op), value.clone())).collect();
        let mut builder = HistoryBuilder::new();
        let mut keys: FxHashMap<KeyId, KeyId> = FxHashMap::default();
        let mut names = Vec::new();
        for slot in &slots {
            let id = self.chains.txn(*slot).id;
            let it = txn(id)?;
            let waits = |it: &&StreamedOp| !waiting.is_empty() && waiting.contains(&((id, it.0.raw()), it.1.clone()));
            let mut key_of = |builder: &mut HistoryBuilder, key: KeyId| {
                *keys.entry(key).or_insert_with(|| {
                    names.push(key);
                    let new = builder.key(Datum::Int(i64::from(key.raw())));
                    let oldest = self.chains.oldest(key);
                    let initial = builder.value_named(self.chains.version(oldest).value.as_name());
                    builder.initial(new, initial, Place::default());
                    new
                })
            };
            let session = builder.session(&it.session.raw().to_string());
            builder.begin(session, Place::default());
            builder.times(it.begin, it.end);
            if self.order.position(Chains::start(*slot)) > 0 {
                for (key, value) in it.reads().iter().filter(|it| !waits(it)) {
                    let key = key_of(&mut builder, *key);
                    let value = builder.value_named(value.as_name());
                    builder.read(key, value);
                }
            }
            for (key, value) in it.writes() {
                let key = key_of(&mut builder, *key);
                let value = builder.value_named(value.as_name());
                builder.write(key, value);
            }
            builder.end(Outcome::Committed);
        }
        let history = builder.finish().ok()?;
        Some(Excerpt { history, slots, keys: names })
    }

    /// Takes the order of a witness. False if what has left the window is against it.
    fn adopt(&mut self, excerpt: &Excerpt, witness: &Witness) -> bool {
        let slot = |txn: TxnId| excerpt.slots[txn.index() - 1];
        let nodes: Vec<u32> = match &witness.schedule {
            Schedule::Order(order) if self.chains.shape == Shape::Serial => {
                order.iter().map(|it| Chains::start(slot(*it))).collect()
            }
            Schedule::Events(events) if self.chains.shape != Shape::Serial => {
                let node = |it: &Event| match *it {
                    Event::Snapshot(txn) => Chains::start(slot(txn)),
                    Event::Commit(txn) => self.chains.commit(slot(txn)),
                };
                events.iter().map(node).filter(|it| self.order.position(*it) > 0).collect()
            }
            _ => return false,
        };
        if nodes.len() != self.order.nodes().count() {
            return false;
        }
        let mut sources: FxHashMap<(u32, u32), TxnId> = FxHashMap::default();
        for source in witness.sources.iter() {
            let Op::Read { key, .. } = excerpt.history.op(source.read) else { return false };
            let reader = slot(excerpt.history.txn_of(source.read));
            sources.insert((reader, excerpt.keys[key.index()].raw()), source.writer);
        }
        self.order.reorder(&nodes);
        self.chains.forget_chains(&excerpt.slots);
        self.chain_writes(&nodes);
        self.link_reads(&excerpt.slots, &sources, slot);
        self.is_consistent(&excerpt.slots)
    }

    /// Versions come in the order of their writers.
    fn chain_writes(&mut self, nodes: &[u32]) {
        for node in nodes {
            let slot = node >> 1;
            if self.chains.commit(slot) != *node {
                continue;
            }
            let writes: Vec<_> =
                self.chains.ops_of(slot).map(|it| self.chains.op(it)).filter(|it| it.is_write).collect();
            for op in writes {
                let newest = self.chains.newest(KeyId::from_index(op.key as usize));
                self.chains.insert(op.version, newest);
            }
        }
    }

    fn link_reads(&mut self, slots: &[u32], sources: &FxHashMap<(u32, u32), TxnId>, slot_of: impl Fn(TxnId) -> u32) {
        let waiting: FxHashSet<u32> = self.waiting().map(|it| it.0).collect();
        for slot in slots {
            let ops: Vec<u32> = self.chains.ops_of(*slot).filter(|it| !waiting.contains(it)).collect();
            for op in ops {
                let it = self.chains.op(op);
                let Some(writer) = sources.get(&(*slot, it.key)).filter(|_| !it.is_write) else { continue };
                let version = if writer.is_initial() {
                    self.chains.oldest(KeyId::from_index(it.key as usize))
                } else {
                    let writes = self.chains.ops_of(slot_of(*writer)).map(|it| self.chains.op(it));
                    writes.filter(|w| w.is_write && w.key == it.key).map(|w| w.version).next().unwrap_or(NONE)
                };
                if version != NONE {
                    self.chains.link(op, version);
                }
            }
        }
    }

    /// Does the order follow from the chains, and does it respect what has left?
    fn is_consistent(&mut self, slots: &[u32]) -> bool {
        use super::order::Graph;
        let mut found = Vec::new();
        slots.iter().all(|slot| {
            let nodes = [Chains::start(*slot), self.chains.commit(*slot)];
            nodes.into_iter().filter(|it| self.order.position(*it) > 0).all(|node| {
                found.clear();
                self.chains.successors(node, &mut found);
                found.iter().all(|it| self.order.position(*it) > self.order.position(node))
            })
        })
    }
}

//! The window as a small history: the exact engine finds an order of it, or says which keys forbid one.

use super::chains::{Chains, NONE, Shape};
use super::strong::{Strong, Unreturned};
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
    /// The keys, each with the version that it holds before.
    keys: Vec<(KeyId, u32)>,
    /// Events from this position on are in it.
    from: u64,
}

/// At least so many events are looked at.
const MIN_EVENTS: usize = 1 << 11;

impl Strong {
    pub(super) fn resolve<'t>(
        &mut self,
        level: Level,
        misfits: &[u64],
        txn: &dyn Fn(u64) -> Option<StreamedTxn<'t>>,
        budget: &Budget<'_>,
    ) -> Resolved {
        // What is far behind the misfits most often stays as it is.
        if let Some(from) = self.around(misfits)
            && self.resolve_from(from, level, txn, budget) == Resolved::Ordered
        {
            return Resolved::Ordered;
        }
        self.resolve_from(0, level, txn, budget)
    }

    /// The same for a part of the window, or all of it, with fewer transactions than that.
    pub(super) fn resolve_smaller<'t>(
        &mut self,
        level: Level,
        misfits: &[u64],
        max_txns: usize,
        (txn, budget): (&dyn Fn(u64) -> Option<StreamedTxn<'t>>, &Budget<'_>),
    ) -> Resolved {
        for from in [self.around(misfits), Some(0)].into_iter().flatten() {
            let excerpt = self.excerpt(from, txn).filter(|it| it.slots.len() < max_txns);
            let Some(excerpt) = excerpt else { return Resolved::Unknown };
            if self.resolve_excerpt(&excerpt, level, budget) == Resolved::Ordered {
                return Resolved::Ordered;
            }
        }
        Resolved::Unknown
    }

    /// Where the last part of the window begins that has misfits in its later half and nobody's commit without its snapshot;
    /// nothing if that is all of it.
    fn around(&self, misfits: &[u64]) -> Option<u64> {
        let nodes: Vec<u32> = self.order.nodes().collect();
        let first = nodes.iter().position(|it| misfits.contains(&self.chains.txn(it >> 1).id))?;
        let n_wanted = (2 * (nodes.len() - first)).max(MIN_EVENTS);
        let (mut n, mut n_open) = (0, 0);
        for node in nodes.iter().rev() {
            let slot = node >> 1;
            let is_commit = self.chains.commit(slot) == *node && Chains::start(slot) != *node;
            if is_commit && self.order.position(Chains::start(slot)) > 0 {
                n_open += 1;
            } else if !is_commit && self.chains.shape != Shape::Serial {
                n_open -= 1;
            }
            n += 1;
            if n >= n_wanted && n_open == 0 {
                return Some(self.order.position(*node)).filter(|_| n < nodes.len());
            }
        }
        None
    }

    fn resolve_from<'t>(
        &mut self,
        from: u64,
        level: Level,
        txn: &dyn Fn(u64) -> Option<StreamedTxn<'t>>,
        budget: &Budget<'_>,
    ) -> Resolved {
        // Which versions of lists follow each other is no read at prefix consistency.
        if self.chains.shape == Shape::Prefixes && self.has_lists() {
            return Resolved::Unknown;
        }
        let Some(excerpt) = self.excerpt(from, txn) else { return Resolved::Unknown };
        self.resolve_excerpt(&excerpt, level, budget)
    }

    fn resolve_excerpt(&mut self, excerpt: &Excerpt, level: Level, budget: &Budget<'_>) -> Resolved {
        match check_facts(&Facts::new(&excerpt.history), level, budget) {
            Verdict::Allowed(witness) => {
                if self.adopt(excerpt, &witness) {
                    Resolved::Ordered
                } else {
                    Resolved::Unknown
                }
            }
            Verdict::Forbidden(refutation) => {
                let key_of = |it: &iso_history::OpId| excerpt.keys[excerpt.history.op(*it).key().index()].0;
                let mut keys: Vec<KeyId> = refutation.ops.iter().map(key_of).collect();
                keys.sort_unstable();
                keys.dedup();
                Resolved::Forbidden(keys)
            }
            Verdict::Unknown(_) => Resolved::Unknown,
        }
    }

    /// The version that a key holds at a position.
    fn held_at(&mut self, key: KeyId, from: u64) -> u32 {
        let mut version = self.chains.newest(key);
        loop {
            let it = self.chains.version(version);
            if it.writer == NONE || self.order.position(self.chains.commit(it.writer)) < from {
                return version;
            }
            version = it.previous;
        }
    }

    /// Reads that wait are left out, and so are those of transactions whose snapshot has left or comes before.
    fn excerpt<'t>(&mut self, from: u64, txn: &dyn Fn(u64) -> Option<StreamedTxn<'t>>) -> Option<Excerpt> {
        let nodes = self.order.nodes().filter(|it| self.order.position(*it) >= from);
        let mut slots: Vec<u32> = nodes.map(|it| it >> 1).collect();
        slots.sort_unstable_by_key(|it| self.chains.txn(*it).id);
        slots.dedup();
        let read_by = |op: u32| (self.chains.txn(self.chains.op(op).txn).id, self.chains.op(op).key);
        let waiting: FxHashSet<((u64, u32), StreamedValue)> =
            self.waiting().filter_map(|(op, value)| Some((read_by(op), value?.clone()))).collect();
        let unmatched: FxHashSet<u32> = self.waiting().filter(|it| it.1.is_none()).map(|it| it.0).collect();
        let mut builder = HistoryBuilder::new();
        let mut keys: FxHashMap<KeyId, KeyId> = FxHashMap::default();
        let mut names = Vec::new();
        for slot in &slots {
            let id = self.chains.txn(*slot).id;
            let it = txn(id)?;
            let waits = |it: &&StreamedOp| !waiting.is_empty() && waiting.contains(&((id, it.0.raw()), it.1.clone()));
            let reads_here = self.order.position(Chains::start(*slot)) >= from.max(1);
            let learned = self.learned(*slot).to_vec();
            let may_omit = reads_here && it.has_scans();
            let unreturned = if may_omit { self.unreturned(*slot, |it| unmatched.contains(&it)) } else { Vec::new() };
            let mut key_of = |builder: &mut HistoryBuilder, key: KeyId| {
                *keys.entry(key).or_insert_with(|| {
                    let held = self.held_at(key, from);
                    names.push((key, held));
                    let name = self.name_of_row(key).unwrap_or(Datum::Int(i64::from(key.raw())));
                    let new = builder.key(name);
                    let initial = builder.value_named(self.chains.version(held).value.as_name());
                    builder.initial(new, initial, Place::default());
                    new
                })
            };
            let session = builder.session(&it.session.raw().to_string());
            builder.begin(session, Place::default());
            builder.times(it.begin, it.end);
            if reads_here {
                for (key, value) in it.reads().iter().chain(&learned).filter(|it| !waits(it)) {
                    let key = key_of(&mut builder, *key);
                    let value = builder.value_named(value.as_name());
                    builder.read(key, value);
                }
                for Unreturned { key, table, predicate } in &unreturned {
                    let key = key_of(&mut builder, *key);
                    builder.omit(table, (**predicate).clone(), key);
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
        Some(Excerpt { history, slots, keys: names, from })
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
                events.iter().map(node).filter(|it| self.order.position(*it) >= excerpt.from.max(1)).collect()
            }
            _ => return false,
        };
        let is_in_it = |it: &u32| self.order.position(*it) >= excerpt.from;
        if nodes.len() != self.order.nodes().filter(is_in_it).count() {
            return false;
        }
        let mut sources: FxHashMap<(u32, u32), TxnId> = FxHashMap::default();
        for source in witness.sources.iter() {
            let (Op::Read { key, .. } | Op::Omit { key, .. }) = excerpt.history.op(source.read) else { return false };
            let reader = slot(excerpt.history.txn_of(source.read));
            sources.insert((reader, excerpt.keys[key.index()].0.raw()), source.writer);
        }
        let is_read_here = |it: &u32| self.order.position(Chains::start(*it)) >= excerpt.from.max(1);
        let readers: Vec<u32> = excerpt.slots.iter().copied().filter(is_read_here).collect();
        let before: Vec<u32> = self.order.nodes().filter(is_in_it).collect();
        let links: Vec<(u32, u32)> = readers
            .iter()
            .flat_map(|it| self.chains.ops_of(*it))
            .filter(|it| !self.chains.op(*it).is_write && self.chains.op(*it).version != NONE)
            .map(|it| (it, self.chains.op(it).version))
            .collect();
        self.order.reorder(&nodes);
        self.chains.forget_chains(&readers, &excerpt.slots);
        self.chain_writes(&nodes);
        self.link_reads(&readers, &sources, excerpt);
        if self.is_consistent(&excerpt.slots) {
            return true;
        }
        // As it was.
        self.order.reorder(&before);
        self.chains.forget_chains(&readers, &excerpt.slots);
        self.chain_writes(&before);
        for (op, version) in links {
            self.chains.link(op, version);
        }
        false
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

    fn link_reads(&mut self, readers: &[u32], sources: &FxHashMap<(u32, u32), TxnId>, excerpt: &Excerpt) {
        let held: FxHashMap<u32, u32> = excerpt.keys.iter().map(|it| (it.0.raw(), it.1)).collect();
        let waiting: FxHashSet<u32> = self.waiting().map(|it| it.0).collect();
        for slot in readers {
            let ops: Vec<u32> = self.chains.ops_of(*slot).filter(|it| !waiting.contains(it)).collect();
            for op in ops {
                let it = self.chains.op(op);
                let Some(writer) = sources.get(&(*slot, it.key)).filter(|_| !it.is_write) else { continue };
                let version = if writer.is_initial() {
                    held.get(&it.key).copied().unwrap_or(NONE)
                } else {
                    let writer = excerpt.slots[writer.index() - 1];
                    let writes = self.chains.ops_of(writer).map(|it| self.chains.op(it));
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

//! Read committed, read atomic and causal consistency of a stream: whoever must see a writer and read another one's version
//! puts the first before the second.
//!
//! The order of the window follows sessions, reads, and what is inferred from whom each reader must see. It is inferred when
//! all sources of a transaction are known, and all that these follow from. Versions are remembered for a while after they
//! left the window; whoever reads older ones does not fit.
//! Source: Biswas & Enea 2019. Cost: per read, the versions of its key that are remembered; at causal consistency, per
//! transaction and source the sessions.

mod listed;

use super::order::{Graph, Order, RealTime};
use super::versions::{Version, Versions, Writer};
use super::{Effort, Left, Misfit, Why};
use iso_evidence::StreamedStep;
use iso_history::{KeyId, Outcome, StreamedBlock, StreamedOp, StreamedTxn, StreamedValue};
use iso_spec::Level;
use listed::Orders;
use rustc_hash::FxHashMap;

const NONE: u32 = u32::MAX;
/// So many transactions of unknown outcome are kept for readers to come.
const MAX_UNKNOWN: usize = 4096;

/// The window of a level.
#[derive(Clone, Debug)]
pub(super) struct Weak {
    level: Level,
    graph: Links,
    order: Order,
    sessions: Vec<SessionEnd>,
    versions: Versions,
    waiting: FxHashMap<u32, Vec<Waiting>>,
    unknown: Vec<(u64, StreamedBlock)>,
    lists: Orders,
    /// The number of the next step; the initial state is step 0.
    now: u64,
    /// For how many steps a version is remembered after it was overwritten.
    memory: u64,
    /// What the last steps saw; only causal consistency asks.
    recent: Vec<Vec<u32>>,
    /// Those that may be complete.
    ready: Vec<u32>,
    inferred: Vec<(Writer, Writer, u32)>,
}

#[derive(Clone, Debug)]
struct SessionEnd {
    last: u32,
    /// The number after the one of its last transaction that left.
    left: u64,
    /// What its last transaction that left saw, itself included.
    causes: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Waiting {
    txn: u32,
    read: usize,
    value: StreamedValue,
}

#[derive(Clone, Debug, Default)]
struct Links {
    txns: Vec<Txn>,
    free: Vec<u32>,
    n_txns: usize,
}

#[derive(Clone, Debug, Default)]
struct Txn {
    id: u64,
    session: u32,
    nth: u32,
    before: u32,
    after: u32,
    reads: Vec<(u32, Writer)>,
    writes: Vec<u32>,
    readers: Vec<u32>,
    /// Whom an inferred edge leads to, and where one comes from.
    inferred_after: Vec<u32>,
    inferred_before: Vec<u32>,
    n_waiting: u32,
    is_complete: bool,
    /// For each session, how many of its transactions are seen, this one included.
    causes: Vec<u32>,
}

impl Graph for Links {
    fn successors(&self, node: u32, found: &mut Vec<u32>) {
        let txn = &self.txns[node as usize];
        found.extend(Some(txn.after).filter(|it| *it != NONE));
        found.extend_from_slice(&txn.readers);
        found.extend_from_slice(&txn.inferred_after);
    }

    fn predecessors(&self, node: u32, found: &mut Vec<u32>) {
        let txn = &self.txns[node as usize];
        found.extend(Some(txn.before).filter(|it| *it != NONE));
        found.extend(txn.reads.iter().filter_map(|it| if let Writer::Here(slot) = it.1 { Some(slot) } else { None }));
        found.extend_from_slice(&txn.inferred_before);
    }

    fn times(&self, _: u32) -> (Option<i64>, Option<i64>) {
        (None, None)
    }
}

impl Weak {
    pub(super) fn new(level: Level, default_initial: StreamedValue, window: u64) -> Self {
        Self {
            level,
            graph: Links::default(),
            order: Order::new(RealTime::Ignored),
            sessions: Vec::new(),
            versions: Versions::new(default_initial),
            waiting: FxHashMap::default(),
            unknown: Vec::new(),
            lists: Orders::default(),
            now: 1,
            memory: 2 * window.max(1),
            recent: Vec::new(),
            ready: Vec::new(),
            inferred: Vec::new(),
        }
    }

    pub(super) fn effort(&self) -> Effort {
        Effort { n_txns: self.graph.n_txns, n_searches: self.order.n_searches, n_exchanges: 0 }
    }

    pub(super) fn set_initial(&mut self, key: KeyId, value: StreamedValue) -> bool {
        if value == StreamedValue::Empty {
            self.lists.begin(key);
        }
        !self.is_read_initially(key.raw()) && self.versions.set_initial(key.raw(), value)
    }

    fn is_read_initially(&self, key: u32) -> bool {
        let reads_it = |it: u32| self.graph.txns[it as usize].reads.contains(&(key, Writer::Left(0)));
        self.order.nodes().any(reads_it)
    }

    pub(super) fn take(&mut self, id: u64, txn: &StreamedTxn<'_>, misfits: &mut Vec<Misfit>) {
        match txn.outcome {
            Outcome::Aborted => {}
            Outcome::Committed => self.add(id, txn, misfits),
            Outcome::Indeterminate => {
                let is_wanted = |it: &StreamedOp| {
                    self.waiting.get(&it.0.raw()).is_some_and(|list| list.iter().any(|wanted| wanted.value == it.1))
                };
                if txn.writes().iter().any(is_wanted) {
                    return self.add(id, txn, misfits);
                }
                if self.unknown.len() >= MAX_UNKNOWN {
                    self.unknown.remove(0);
                }
                let mut kept = StreamedBlock::default();
                kept.copy(txn);
                self.unknown.push((id, kept));
            }
        }
    }

    fn add(&mut self, id: u64, txn: &StreamedTxn<'_>, misfits: &mut Vec<Misfit>) {
        if let Some(key) = txn.contradicted() {
            misfits.push(Misfit { id, keys: vec![key], why: Why::Contradiction });
        }
        if txn.has_scans() {
            misfits.push(Misfit { id, keys: Vec::new(), why: Why::Scan });
        }
        let slot = self.enter(id, txn);
        if self.sessions[txn.session.index()].left > id {
            let keys = txn.writes().iter().map(|it| it.0).collect();
            misfits.push(Misfit { id, keys, why: Why::Late });
        }
        // Whoever turns out to have happened because of one read must not complete it before the others are here.
        self.graph.txns[slot as usize].n_waiting = 1;
        for (nth, (key, value)) in txn.reads().iter().enumerate() {
            let writer = self.versions.source(slot, key.raw(), value, self.since());
            self.graph.txns[slot as usize].reads.push((key.raw(), writer));
            if writer == Writer::Awaited {
                self.graph.txns[slot as usize].n_waiting += 1;
                self.waiting.entry(key.raw()).or_default().push(Waiting { txn: slot, read: nth, value: value.clone() });
                self.ask_unknown(*key, value, misfits);
            } else {
                self.follow(slot, writer, key.raw(), misfits);
            }
        }
        for (key, value) in txn.writes() {
            self.versions.write(key.raw(), value.clone(), slot, (txn.session.raw(), txn.nth));
            self.graph.txns[slot as usize].writes.push(key.raw());
        }
        for (key, value) in txn.writes() {
            self.wake(slot, key.raw(), value, misfits);
        }
        if !self.lists.is_empty() {
            self.order_lists(slot, txn, misfits);
        }
        self.graph.txns[slot as usize].n_waiting -= 1;
        self.complete(slot, misfits);
    }

    fn enter(&mut self, id: u64, txn: &StreamedTxn<'_>) -> u32 {
        let session = txn.session.index();
        if session >= self.sessions.len() {
            self.sessions.resize(session + 1, SessionEnd { last: NONE, left: 0, causes: Vec::new() });
        }
        let (mut before, mut after) = (self.sessions[session].last, NONE);
        while before != NONE && self.graph.txns[before as usize].id > id {
            after = before;
            before = self.graph.txns[before as usize].before;
        }
        let slot = self.graph.add();
        let new = &mut self.graph.txns[slot as usize];
        (new.id, new.session, new.nth) = (id, txn.session.raw(), txn.nth);
        (new.before, new.after) = (before, after);
        if before != NONE {
            self.graph.txns[before as usize].after = slot;
        }
        self.order.push(slot);
        if after == NONE {
            self.sessions[session].last = slot;
        } else {
            self.graph.txns[after as usize].before = slot;
            // It is new, so nothing comes before it but its session.
            self.order.ensure(&self.graph, slot, after).ok();
        }
        slot
    }

    /// Steps before this one are too long ago.
    fn since(&self) -> u64 {
        self.now.saturating_sub(self.memory)
    }

    fn ask_unknown(&mut self, key: KeyId, value: &StreamedValue, misfits: &mut Vec<Misfit>) {
        let wrote = |it: &(u64, StreamedBlock)| it.1.txn(0).writes().iter().any(|it| it.0 == key && it.1 == *value);
        if let Some(found) = self.unknown.iter().position(wrote) {
            let (id, txn) = self.unknown.remove(found);
            self.add(id, &txn.txn(0), misfits);
        }
    }

    /// A reader comes after its source.
    fn follow(&mut self, reader: u32, writer: Writer, key: u32, misfits: &mut Vec<Misfit>) {
        let Writer::Here(writer) = writer else { return };
        if self.order.ensure(&self.graph, writer, reader).is_ok() {
            self.graph.txns[writer as usize].readers.push(reader);
        } else {
            let reads = &mut self.graph.txns[reader as usize].reads;
            reads.iter_mut().filter(|it| **it == (key, Writer::Here(writer))).for_each(|it| it.1 = Writer::Awaited);
            self.misfit(reader, &[key], Why::Cycle, misfits);
        }
    }

    fn misfit(&self, txn: u32, keys: &[u32], why: Why, misfits: &mut Vec<Misfit>) {
        let txn = &self.graph.txns[txn as usize];
        let mut all: Vec<KeyId> = keys.iter().map(|it| KeyId::from_index(*it as usize)).collect();
        all.extend(txn.reads.iter().map(|it| KeyId::from_index(it.0 as usize)));
        all.sort_unstable();
        all.dedup();
        misfits.push(Misfit { id: txn.id, keys: all, why });
    }

    fn wake(&mut self, writer: u32, key: u32, value: &StreamedValue, misfits: &mut Vec<Misfit>) {
        let Some(list) = self.waiting.get_mut(&key) else { return };
        let mut woken = Vec::new();
        list.retain(|it| {
            let is_woken = it.value == *value && it.txn != writer;
            if is_woken {
                woken.push((it.txn, it.read));
            }
            !is_woken
        });
        if list.is_empty() {
            self.waiting.remove(&key);
        }
        for (reader, read) in woken {
            let txn = &mut self.graph.txns[reader as usize];
            txn.reads[read].1 = Writer::Here(writer);
            txn.n_waiting -= 1;
            self.follow(reader, Writer::Here(writer), key, misfits);
            self.complete(reader, misfits);
        }
    }

    /// All sources of a transaction may be known now: infers what follows, and then asks those that waited for it.
    fn complete(&mut self, slot: u32, misfits: &mut Vec<Misfit>) {
        let mut ready = std::mem::take(&mut self.ready);
        let mut late = Vec::new();
        ready.push(slot);
        while let Some(slot) = ready.pop() {
            let txn = &self.graph.txns[slot as usize];
            let is_known = |it: u32| it == NONE || self.graph.txns[it as usize].is_complete;
            let is_ready = !txn.is_complete
                && txn.n_waiting == 0
                && is_known(txn.before)
                && txn.reads.iter().all(|it| if let Writer::Here(slot) = it.1 { is_known(slot) } else { true });
            if !is_ready {
                continue;
            }
            if self.level == Level::CausalConsistency {
                self.see(slot);
            }
            self.infer(slot, misfits);
            let txn = &mut self.graph.txns[slot as usize];
            txn.is_complete = true;
            ready.extend(Some(txn.after).filter(|it| *it != NONE));
            ready.extend_from_slice(&txn.readers);
            let after = txn.after;
            if after != NONE && self.graph.txns[after as usize].is_complete {
                late.push(slot);
            }
        }
        self.ready = ready;
        for it in late {
            self.infer_again(it, misfits);
        }
    }

    /// One of unknown outcome turned out to have happened: whoever follows it in its session must see it, and so must whoever
    /// saw these.
    fn infer_again(&mut self, slot: u32, misfits: &mut Vec<Misfit>) {
        if self.level == Level::ReadCommitted {
            return;
        }
        let following = self.order.nodes().skip_while(|it| *it != slot).skip(1);
        let following: Vec<u32> = following.filter(|it| self.graph.txns[*it as usize].is_complete).collect();
        if self.level == Level::CausalConsistency {
            for it in &following {
                self.see(*it);
            }
        }
        for it in following {
            self.infer(it, misfits);
        }
    }

    /// Whom a transaction sees: its session, its sources, and whom these see.
    fn see(&mut self, slot: u32) {
        let mut causes = std::mem::take(&mut self.graph.txns[slot as usize].causes);
        let txn = &self.graph.txns[slot as usize];
        let session = txn.session as usize;
        causes.clone_from(match txn.before {
            NONE => &self.sessions[session].causes,
            before => &self.graph.txns[before as usize].causes,
        });
        let mut see = |seen: &[u32]| {
            if causes.len() < seen.len() {
                causes.resize(seen.len(), 0);
            }
            causes.iter_mut().zip(seen).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
        };
        for (_, writer) in &txn.reads {
            match *writer {
                Writer::Here(writer) => see(&self.graph.txns[writer as usize].causes),
                Writer::Left(step) if step > 0 && step >= self.since() => {
                    see(&self.recent[((step - 1) % self.memory) as usize]);
                }
                _ => {}
            }
        }
        if causes.len() <= session {
            causes.resize(session + 1, 0);
        }
        causes[session] = txn.nth + 1;
        self.graph.txns[slot as usize].causes = causes;
    }

    /// Whom a transaction must see comes before whom it read from.
    ///
    /// Only versions of the window can still come before one of the window, and what left before a source that left did.
    fn infer(&mut self, slot: u32, misfits: &mut Vec<Misfit>) {
        let mut inferred = std::mem::take(&mut self.inferred);
        let txn = &self.graph.txns[slot as usize];
        for (nth, (key, source)) in txn.reads.iter().enumerate() {
            let must_see = |it: &Version, writer: Writer| match self.level {
                Level::ReadCommitted => txn.reads[..nth].iter().any(|read| read.1 == writer),
                Level::ReadAtomic => {
                    (it.session == txn.session && it.nth < txn.nth) || txn.reads.iter().any(|read| read.1 == writer)
                }
                _ => {
                    let is_own = it.session == txn.session && it.nth >= txn.nth;
                    !is_own && txn.causes.get(it.session as usize).is_some_and(|n| it.nth < *n)
                }
            };
            if *source == Writer::Awaited {
                continue;
            }
            let here = self.versions.here(*key).map(|it| (it, Writer::Here(it.slot())));
            let here = here.filter(|it| it.1 != *source && must_see(it.0, it.1));
            inferred.extend(here.map(|it| (it.1, *source, *key)));
            if let Writer::Left(step) = *source {
                let newer = self.versions.left(*key).take_while(|it| it.step() > step);
                let newer = newer.map(|it| (it, Writer::Left(it.step()))).filter(|it| must_see(it.0, it.1));
                inferred.extend(newer.map(|it| (it.1, *source, *key)));
            }
        }
        for (before, after, key) in inferred.drain(..) {
            let is_possible = match (before, after) {
                (Writer::Here(before), Writer::Here(after)) => self.connect(before, after),
                _ => false,
            };
            if !is_possible {
                self.misfit(slot, &[key], Why::Cycle, misfits);
            }
        }
        self.inferred = inferred;
    }

    fn connect(&mut self, before: u32, after: u32) -> bool {
        if self.graph.txns[before as usize].inferred_after.contains(&after) {
            return true;
        }
        let is_possible = self.order.ensure(&self.graph, before, after).is_ok();
        if is_possible {
            self.graph.txns[before as usize].inferred_after.push(after);
            self.graph.txns[after as usize].inferred_before.push(before);
        }
        is_possible
    }

    pub(super) fn retire(&mut self) -> Option<Left> {
        let slot = self.order.first()?;
        if !self.graph.txns[slot as usize].is_complete {
            return None;
        }
        self.order.pop();
        let step = self.now;
        let sources = self.sources(slot);
        let since = step.saturating_sub(self.memory);
        for nth in 0..self.graph.txns[slot as usize].writes.len() {
            let key = self.graph.txns[slot as usize].writes[nth];
            self.versions.settle(key, slot, step, since);
        }
        if !self.lists.is_empty() {
            self.leave_lists(slot);
        }
        self.graph.remove(slot, step);
        let txn = &mut self.graph.txns[slot as usize];
        let session = &mut self.sessions[txn.session as usize];
        session.left = session.left.max(txn.id + 1);
        if session.last == slot {
            session.last = NONE;
        }
        if self.level == Level::CausalConsistency {
            session.causes.clone_from(&txn.causes);
            let at = ((step - 1) % self.memory) as usize;
            if at == self.recent.len() {
                self.recent.push(Vec::new());
            }
            std::mem::swap(&mut self.recent[at], &mut txn.causes);
        }
        self.now += 1;
        Some(Left { id: txn.id, step: StreamedStep::Whole, sources })
    }

    /// How many steps ago each source was, where it is not the newest version with the value.
    fn sources(&self, slot: u32) -> Vec<u64> {
        let ago = |(key, writer): &(u32, Writer)| {
            let Writer::Left(step) = *writer else { return 0 };
            let is_source = |it: &&Version| it.step() == step;
            let mut left = self.versions.left(*key);
            if left.next().is_none_or(|it| it.step() == step) {
                return 0;
            }
            let Some(source) = left.find(is_source) else { return 0 };
            let newest = self.versions.left(*key).find(|it| it.value == source.value);
            if newest.is_some_and(|it| it.step() == step) { 0 } else { self.now - step }
        };
        let reads = &self.graph.txns[slot as usize].reads;
        let Some(last) = reads.iter().rposition(|it| ago(it) != 0) else { return Vec::new() };
        reads[..=last].iter().map(ago).collect()
    }

    /// The reads of the first transaction, and of those that it follows, do not wait any longer.
    pub(super) fn give_up_waiting(&mut self, misfits: &mut Vec<Misfit>) {
        let waits = |it: &u32| self.graph.txns[*it as usize].n_waiting > 0;
        let Some(slot) = self.order.nodes().find(waits) else { return };
        let txn = &self.graph.txns[slot as usize];
        let mut keys: Vec<u32> = txn.reads.iter().filter(|it| it.1 == Writer::Awaited).map(|it| it.0).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in &keys {
            if let Some(list) = self.waiting.get_mut(key) {
                list.retain(|it| it.txn != slot);
                if list.is_empty() {
                    self.waiting.remove(key);
                }
            }
        }
        self.graph.txns[slot as usize].n_waiting = 0;
        let id = self.graph.txns[slot as usize].id;
        let keys = keys.into_iter().map(|it| KeyId::from_index(it as usize)).collect();
        misfits.push(Misfit { id, keys, why: Why::NoWriter });
        self.complete(slot, misfits);
    }
}

impl Links {
    /// Room for a transaction; whoever had it before left its lists.
    fn add(&mut self) -> u32 {
        self.n_txns += 1;
        let Some(slot) = self.free.pop() else {
            self.txns.push(Txn::default());
            return self.txns.len() as u32 - 1;
        };
        let txn = &mut self.txns[slot as usize];
        txn.reads.clear();
        txn.writes.clear();
        txn.readers.clear();
        txn.inferred_after.clear();
        txn.inferred_before.clear();
        txn.n_waiting = 0;
        txn.is_complete = false;
        txn.causes.clear();
        slot
    }

    /// The first of all leaves; those that follow it know at which step.
    fn remove(&mut self, slot: u32, step: u64) {
        let after = self.txns[slot as usize].after;
        if after != NONE {
            self.txns[after as usize].before = NONE;
        }
        let readers = std::mem::take(&mut self.txns[slot as usize].readers);
        for reader in &readers {
            let reads = &mut self.txns[*reader as usize].reads;
            reads.iter_mut().filter(|it| it.1 == Writer::Here(slot)).for_each(|it| it.1 = Writer::Left(step));
        }
        let inferred = std::mem::take(&mut self.txns[slot as usize].inferred_after);
        for after in &inferred {
            self.txns[*after as usize].inferred_before.retain(|it| *it != slot);
        }
        let txn = &mut self.txns[slot as usize];
        (txn.readers, txn.inferred_after) = (readers, inferred);
        self.free.push(slot);
        self.n_txns -= 1;
    }
}

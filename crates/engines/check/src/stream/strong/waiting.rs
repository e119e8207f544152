//! Reads whose version has not come yet, and transactions of unknown outcome, which count only if somebody reads from them.

use super::super::chains::{Chains, NONE, Op};
use super::super::{Misfit, Why};
use super::scans::Omission;
use super::{Linked, Strong};
use iso_history::{KeyId, StreamedBlock, StreamedTxn, StreamedValue};

/// So many transactions of unknown outcome are kept for readers to come.
const MAX_UNKNOWN: usize = 4096;
/// For so many transactions, somebody may come who changed a row so that a scan did not return it.
const PATIENCE: u64 = 1 << 10;

#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) op: u32,
    pub(super) wanted: Wanted,
}

/// What a read saw.
#[derive(Clone, Debug)]
pub(super) enum Wanted {
    Value(StreamedValue),
    /// A version of a row that a scan does not ask for.
    Unmatched(Omission),
}

impl Wanted {
    pub(super) fn accepts(&self, value: &StreamedValue) -> bool {
        match self {
            Self::Value(wanted) => wanted == value,
            Self::Unmatched(omission) => omission.accepts(value),
        }
    }
}

impl Strong {
    /// The reads of the first transaction do not wait any longer. False if none did.
    pub(in super::super) fn give_up_waiting(&mut self, misfits: &mut Vec<Misfit>) -> bool {
        let Some(slot) = self.order.first().map(|it| it >> 1) else { return false };
        let n_waiting = self.chains.txn(slot).n_waiting;
        self.give_up_waiting_of(slot, |_| true, misfits);
        self.chains.txn(slot).n_waiting < n_waiting
    }

    /// Rows that scans did not return some time ago, and that nobody has changed since, do not wait any longer.
    pub(in super::super) fn lose_patience(&mut self, id: u64, misfits: &mut Vec<Misfit>) {
        while let Some((since, slot)) = self.patient.front().copied().filter(|it| it.0.saturating_add(PATIENCE) < id) {
            self.patient.pop_front();
            let is_here = self.chains.txn(slot).id <= since && self.order.position(Chains::start(slot)) > 0;
            if is_here && self.chains.txn(slot).n_waiting > 0 {
                self.give_up_waiting_of(slot, |it| matches!(it, Wanted::Unmatched(_)), misfits);
            }
        }
    }

    fn give_up_waiting_of(&mut self, slot: u32, gives_up: impl Fn(&Wanted) -> bool, misfits: &mut Vec<Misfit>) {
        let ops: Vec<u32> = self.chains.ops_of(slot).collect();
        for op in ops {
            let Op { key, version, is_write, .. } = self.chains.op(op);
            if is_write || version != NONE {
                continue;
            }
            let Some(list) = self.waiting.get_mut(&key) else { continue };
            let Some(at) = list.iter().position(|it| it.op == op && gives_up(&it.wanted)) else { continue };
            let Waiting { wanted, .. } = list.remove(at);
            if list.is_empty() {
                self.waiting.remove(&key);
            }
            self.chains.txn_mut(slot).n_waiting -= 1;
            let (id, key) = (self.chains.txn(slot).id, KeyId::from_index(key as usize));
            let (keys, why) = match wanted {
                Wanted::Value(_) => (vec![key], Why::NoWriter),
                Wanted::Unmatched(omission) => match self.force_omission(op, key, &omission) {
                    Linked::Done => continue,
                    Linked::NoVersion => (self.in_the_way(op, vec![key]), Why::NoWriter),
                    Linked::Cycle(keys) => (self.in_the_way(op, keys), Why::Cycle),
                },
            };
            misfits.push(Misfit { id, keys, why });
        }
    }

    /// One of unknown outcome counts only if somebody reads from it.
    pub(super) fn keep_unknown(&mut self, id: u64, txn: &StreamedTxn<'_>, misfits: &mut Vec<Misfit>) {
        let is_wanted = txn.writes().iter().any(|(key, value)| self.is_waited_for(*key, value));
        if is_wanted {
            return self.add(id, txn, misfits);
        }
        if self.unknown.len() >= MAX_UNKNOWN {
            self.unknown.remove(0);
        }
        let mut kept = StreamedBlock::default();
        kept.copy(txn);
        self.unknown.push((id, kept));
    }

    fn is_waited_for(&self, key: KeyId, value: &StreamedValue) -> bool {
        self.waiting.get(&key.raw()).is_some_and(|it| it.iter().any(|it| it.wanted.accepts(value)))
    }

    pub(super) fn link_or_wait(&mut self, op: u32, key: KeyId, wanted: &Wanted, misfits: &mut Vec<Misfit>) {
        match self.link_wanted(op, key, wanted) {
            Linked::Done => {}
            Linked::NoVersion => self.wait(op, key, wanted, misfits),
            Linked::Cycle(keys) => {
                let id = self.chains.txn(self.chains.op(op).txn).id;
                misfits.push(Misfit { id, keys, why: Why::Cycle });
            }
        }
    }

    fn link_wanted(&mut self, op: u32, key: KeyId, wanted: &Wanted) -> Linked {
        match wanted {
            Wanted::Value(value) => self.link(op, key, value),
            Wanted::Unmatched(omission) => self.link_omission(op, key, omission),
        }
    }

    /// A read waits for its writer.
    pub(super) fn wait(&mut self, op: u32, key: KeyId, wanted: &Wanted, misfits: &mut Vec<Misfit>) {
        let slot = self.chains.op(op).txn;
        self.chains.txn_mut(slot).n_waiting += 1;
        self.waiting.entry(key.raw()).or_default().push(Waiting { op, wanted: wanted.clone() });
        if matches!(wanted, Wanted::Unmatched(_)) {
            self.patient.push_back((self.latest_id, slot));
        }
        self.ask_unknown(key, wanted, misfits);
    }

    /// Somebody whose outcome is unknown may have written what was read.
    fn ask_unknown(&mut self, key: KeyId, wanted: &Wanted, misfits: &mut Vec<Misfit>) {
        let wrote =
            |it: &(u64, StreamedBlock)| it.1.txn(0).writes().iter().any(|it| it.0 == key && wanted.accepts(&it.1));
        if let Some(found) = self.unknown.iter().position(wrote) {
            let (id, txn) = self.unknown.remove(found);
            self.add(id, &txn.txn(0), misfits);
        }
    }

    /// Readers that waited for this value get it.
    pub(super) fn wake(&mut self, key: KeyId, value: &StreamedValue, misfits: &mut Vec<Misfit>) {
        if self.waiting.is_empty() || !self.is_waited_for(key, value) {
            return;
        }
        let list = self.waiting.remove(&key.raw()).unwrap_or_default();
        let (woken, rest): (Vec<Waiting>, Vec<Waiting>) = list.into_iter().partition(|it| it.wanted.accepts(value));
        if !rest.is_empty() {
            self.waiting.insert(key.raw(), rest);
        }
        for Waiting { op, wanted } in woken {
            let slot = self.chains.op(op).txn;
            match self.link_wanted(op, key, &wanted) {
                Linked::Done => self.chains.txn_mut(slot).n_waiting -= 1,
                Linked::NoVersion => self.waiting.entry(key.raw()).or_default().push(Waiting { op, wanted }),
                Linked::Cycle(keys) => {
                    self.chains.txn_mut(slot).n_waiting -= 1;
                    let id = self.chains.txn(slot).id;
                    misfits.push(Misfit { id, keys, why: Why::Cycle });
                }
            }
        }
    }

    /// The reads that wait, with what they read; nothing if it is a row that a scan did not return.
    pub(in super::super) fn waiting(&self) -> impl Iterator<Item = (u32, Option<&StreamedValue>)> {
        self.waiting.values().flatten().map(|it| match &it.wanted {
            Wanted::Value(value) => (it.op, Some(value)),
            Wanted::Unmatched(_) => (it.op, None),
        })
    }
}

//! Which version a read gets, by the policy or the plan.

use crate::choose;
use crate::open::{Mood, Open};
use crate::past::{KeyIdx, Pos, ValueIdx};
use crate::record::Recorded;
use crate::{Divergence, Policy, Store, TxnName, Why, Writer};
use iso_history::SessionId;
use iso_spec::Level;

impl Store {
    /// Reads this version, or the one that the policy chooses.
    pub(crate) fn read(&mut self, session: SessionId, open: &mut Open, key: KeyIdx, version: Option<u32>) -> ValueIdx {
        if let Some(value) = open.own.get(&key) {
            open.ops.push(Recorded::ReadOwn { key, value: *value });
            return *value;
        }
        self.past.touch(key);
        let version = version.unwrap_or_else(|| self.choose(session, open, key));
        if self.repeated(open, key).is_none() {
            open.view.take(&self.past, key, version);
            if self.level != Level::ReadCommitted {
                open.reads.insert(key, version);
            }
        }
        let chosen = self.past.key(key).version(version);
        if let Some(adversary) = &self.adversary {
            open.taken.push((key, version));
            adversary.note_read(&mut open.ancestors, chosen.pos);
        }
        open.ops.push(Recorded::Read { key, value: chosen.value, source: chosen.pos });
        chosen.value
    }

    /// The version that was read before, at levels at which a second read sees the same.
    pub(crate) fn repeated(&self, open: &Open, key: KeyIdx) -> Option<u32> {
        open.reads.get(key).filter(|_| self.level != Level::ReadCommitted)
    }

    pub(crate) fn choose(&mut self, session: SessionId, open: &mut Open, key: KeyIdx) -> u32 {
        let repeated = self.repeated(open, key);
        let newest = |store: &Self, open: &Open| repeated.unwrap_or_else(|| choose::newest(&store.past, open, key));
        match &self.policy {
            Policy::Replay(_) => match open.take_planned(&self.past.key(key).key) {
                None => newest(self, open),
                Some(planned) => self.follow(session, open, key, &planned),
            },
            _ if repeated.is_some() => newest(self, open),
            Policy::Latest => newest(self, open),
            _ if open.mood == Mood::Careful => newest(self, open),
            Policy::Random => choose::any(&self.past, open, key, &mut self.random),
            Policy::Adversarial => match &self.adversary {
                Some(adversary) => adversary.choose(&self.past, open, key, &mut self.random),
                None => newest(self, open),
            },
        }
    }

    /// The planned version if it can be read, else the newest one that can.
    fn follow(&mut self, session: SessionId, open: &Open, key: KeyIdx, planned: &Writer) -> u32 {
        let version = self.version_of(key, planned);
        if let Some(version) = version.filter(|it| self.may_read(open, key, *it)) {
            return version;
        }
        let took = self.repeated(open, key).unwrap_or_else(|| choose::newest(&self.past, open, key));
        let why = if version.is_none() { Why::NotWritten } else { Why::NotAllowed };
        self.diverge(session, open, key, planned, self.past.key(key).pos(took), why);
        took
    }

    pub(crate) fn diverge(
        &mut self,
        session: SessionId,
        open: &Open,
        key: KeyIdx,
        planned: &Writer,
        took: Pos,
        why: Why,
    ) {
        self.divergences.push(Divergence {
            txn: self.name(session, open.nth),
            position: open.n_calls - 1,
            key: self.past.key(key).key.clone(),
            planned: planned.clone(),
            took: self.writer(took),
            why,
        });
    }

    pub(crate) fn name(&self, session: SessionId, nth: u32) -> TxnName {
        TxnName { session: self.sessions[session.index()].name.clone(), nth: nth as usize }
    }

    pub(crate) fn writer(&self, pos: Pos) -> Writer {
        let commit = self.past.commit_at(pos);
        if commit.is_nobodys() {
            return Writer::Initial;
        }
        Writer::Txn(self.name(SessionId::from_index(commit.session as usize), commit.nth))
    }

    /// The version of a key that somebody wrote, if there is one.
    pub(crate) fn version_of(&self, key: KeyIdx, writer: &Writer) -> Option<u32> {
        let entry = self.past.key(key);
        let Writer::Txn(txn) = writer else { return Some(entry.oldest()) };
        let session = self.session_ids.get(&txn.session)?;
        let is_it = |it: &&u32| {
            let commit = self.past.commit_at(entry.pos(**it));
            commit.nth as usize == txn.nth && !commit.is_nobodys()
        };
        entry.of_session(session.raw()).iter().find(is_it).copied()
    }
}

//! What a history says at once, derived once for every engine: who read what, and who may have written it.

use crate::lists::{RecoveredOrder, join_readings};
use crate::packed::Packed;
use crate::standing::{inviable, standing};
use crate::survey::{ListRead, SeenList, Survey, only, several};
use crate::writes::{FinalWrites, Versions, Writers};
use crate::{History, KeyId, LocalAnomaly, OpId, Sources, TxnId, ValueId};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Facts about a history, for the levels from read committed up.
///
/// *Counted* transactions are judged: the committed ones, and indeterminate ones that somebody must have read
/// from. *Optional* ones are indeterminate and are one of several possible writers of something that was read.
/// The rest is out: nothing that is judged depends on it.
///
/// What large histories can do without is made when it is asked for: [`Facts::reads`], [`Facts::final_writes`] and
/// [`Facts::writers_of`].
#[derive(Debug)]
pub struct Facts<'h> {
    history: &'h History,
    standing: Vec<Standing>,
    /// The external reads, each with its only candidate, or a mark and a position in `ranges`.
    reads: Arc<Sources>,
    /// Ranges of `candidates`; reads of the same version share them.
    ranges: Vec<(u32, u32)>,
    read_starts: Packed,
    candidates: Vec<TxnId>,
    writes: FinalWrites,
    external: OnceLock<Vec<ExternalRead>>,
    written: OnceLock<Vec<(KeyId, ValueId)>>,
    writers: OnceLock<Writers>,
    /// Empty where nobody read a list.
    recovered: Vec<Option<RecoveredOrder>>,
    local: Vec<LocalAnomaly>,
    unrepeatable: Vec<LocalAnomaly>,
    partial_lists: Vec<(OpId, TxnId)>,
    /// Ambiguous list reads, and who may have appended what is open in them, or their last elements.
    open_lists: Vec<(OpId, Vec<TxnId>)>,
    ambiguous: Option<OpId>,
}

/// A read of a key that its transaction had not written before: it saw another transaction's write.
///
/// A transaction may read a key several times; each is an external read until it writes the key. A read of a list
/// that ends in the transaction's own appends is an external read of the list without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExternalRead {
    /// The operation.
    pub op: OpId,
    /// Its transaction.
    pub reader: TxnId,
    /// The key.
    pub key: KeyId,
}

/// Whether a transaction is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It committed, or somebody who counts can have read from no other.
    Counted,
    /// Its outcome is indeterminate, and it is one of several possible writers of something that was read.
    Optional,
    /// It aborted, or its outcome is indeterminate and nobody can have read from it.
    Out,
}

impl<'h> Facts<'h> {
    /// Derives the facts of a history.
    ///
    /// Cost: linear in its operations, but for sorting the writes of each transaction by key and the writes of each key
    /// by value. With indeterminate transactions that were not read, as many passes as such transactions depend on each other.
    pub fn new(history: &'h History) -> Self {
        let final_writes = FinalWrites::new(history);
        let versions = Versions::new(history, &final_writes);
        let mut survey = Survey::new(history, &final_writes, versions);
        if history.has_indeterminate_outcomes() {
            let inviable = inviable(history, &survey);
            survey.cut_candidates(&inviable);
        }
        let mut facts = Self {
            history,
            standing: standing(history, &survey),
            reads: Arc::new(survey.reads.each),
            ranges: survey.reads.ranges,
            read_starts: survey.starts,
            candidates: survey.versions.writers,
            writes: final_writes,
            external: OnceLock::new(),
            written: OnceLock::new(),
            writers: OnceLock::new(),
            recovered: Vec::new(),
            local: survey.anomalies,
            unrepeatable: survey.unrepeatable,
            partial_lists: Vec::new(),
            open_lists: Vec::new(),
            ambiguous: None,
        };
        facts.keep_what_counts();
        facts.join_lists(&survey.lists);
        facts.local.sort_unstable();
        facts
    }

    /// The history that these are facts of.
    pub fn history(&self) -> &'h History {
        self.history
    }

    /// Whether a transaction is judged.
    #[inline]
    pub fn standing(&self, txn: TxnId) -> Standing {
        self.standing[txn.index()]
    }

    /// Every transaction that counts or may count, but the initial one, in the order of the input.
    pub fn txns(&self) -> impl Iterator<Item = TxnId> + '_ {
        self.history.txns().filter(|it| self.standing(*it) != Standing::Out)
    }

    /// Every external read of those transactions, in the order of the input.
    pub fn reads(&self) -> &[ExternalRead] {
        self.external.get_or_init(|| {
            let of_txn = |reader: TxnId| self.reads_of(reader).map(move |it| (reader, it));
            let read = |(reader, it)| ExternalRead { op: self.read_op(it), reader, key: self.read_key(it) };
            self.history.txns().flat_map(of_txn).map(read).collect()
        })
    }

    /// How many of them there are.
    #[inline]
    pub fn n_reads(&self) -> usize {
        self.reads.len()
    }

    /// The operation that the read at this position of [`Facts::reads`] is.
    #[inline]
    pub fn read_op(&self, read_idx: usize) -> OpId {
        self.reads.read(read_idx)
    }

    /// The key of the read at this position of [`Facts::reads`].
    #[inline]
    pub fn read_key(&self, read_idx: usize) -> KeyId {
        self.history.key_at(self.read_op(read_idx).index())
    }

    /// The position in [`Facts::reads`] of an operation, if it is an external read.
    pub fn read_at(&self, op: OpId) -> Option<usize> {
        self.reads.position(op)
    }

    /// The positions in [`Facts::reads`] of a transaction's external reads, in program order.
    #[inline]
    pub fn reads_of(&self, txn: TxnId) -> Range<usize> {
        self.read_starts.span(txn.index())
    }

    /// Who may have written what the read at this position of [`Facts::reads`] saw, in ascending order.
    ///
    /// Empty only if the read is among the [`Facts::local`] anomalies.
    #[inline]
    pub fn candidates(&self, read_idx: usize) -> &[TxnId] {
        let writer = self.reads.writer(read_idx);
        match several(*writer) {
            None => std::slice::from_ref(writer),
            Some(place) => {
                let (start, end) = self.ranges[place];
                &self.candidates[start as usize..end as usize]
            }
        }
    }

    /// Who wrote what the read at this position of [`Facts::reads`] saw, if only one comes into question.
    #[inline]
    pub fn only_candidate(&self, read_idx: usize) -> Option<TxnId> {
        only(*self.reads.writer(read_idx))
    }

    /// Does some read have more than one possible writer?
    pub fn has_ambiguous_reads(&self) -> bool {
        let is_ambiguous = |it: &(u32, u32)| it.1 - it.0 > 1;
        self.ranges.iter().any(is_ambiguous)
            && self.reads.writers().iter().filter_map(|it| several(*it)).any(|it| is_ambiguous(&self.ranges[it]))
    }

    /// All reads with their sources, if each has exactly one possible writer.
    pub fn sources(&self) -> Option<Arc<Sources>> {
        (self.ranges.is_empty() || self.reads.writers().iter().all(|it| several(*it).is_none()))
            .then(|| Arc::clone(&self.reads))
    }

    /// The last write of each key that a transaction writes, sorted by key; empty for one that is out.
    ///
    /// For a list, the value is the last element that the transaction appended.
    pub fn final_writes(&self, txn: TxnId) -> &[(KeyId, ValueId)] {
        let written = self.written.get_or_init(|| {
            let value = |it: OpId| ValueId::from_index(self.history.op_value[it.index()] as usize);
            self.writes.all().map(|it| (self.history.key_at(it.index()), value(it))).collect()
        });
        &written[self.writes.range(txn)]
    }

    /// The keys that a transaction writes, ascending; none for one that is out.
    #[inline]
    pub fn written_keys(&self, txn: TxnId) -> impl ExactSizeIterator<Item = KeyId> + '_ {
        self.writes.of(txn).map(|it| self.history.key_at(it.index()))
    }

    /// Does a transaction write a key? The initial one writes every key.
    pub fn writes(&self, txn: TxnId, key: KeyId) -> bool {
        txn.is_initial() || self.writes.find(self.history, txn, key).is_some()
    }

    /// The transactions that write a key, in ascending order, without the initial one.
    #[inline]
    pub fn writers_of(&self, key: KeyId) -> &[TxnId] {
        let writers = self.writers.get_or_init(|| self.writes.writers(self.history));
        let starts = &writers.starts;
        &writers.txns[starts[key.index()] as usize..starts[key.index() + 1] as usize]
    }

    /// The part of a list's version order that reads have shown.
    pub fn recovered_order(&self, key: KeyId) -> Option<&RecoveredOrder> {
        self.recovered.get(key.index())?.as_ref()
    }

    /// The reads of counted transactions that no execution explains.
    pub fn local(&self) -> &[LocalAnomaly] {
        &self.local
    }

    /// The reads of counted transactions that saw another version than an earlier read of the same key by the same
    /// transaction. They are no anomaly of read committed, so they are not among [`Facts::local`].
    pub fn unrepeatable(&self) -> &[LocalAnomaly] {
        &self.unrepeatable
    }

    /// The last writer whose elements a list read of a counted transaction saw, if it saw only some of them. Read
    /// uncommitted allows that, and what the read shows of the order of the list counts there.
    pub(crate) fn last_of_partial_list(&self, op: OpId) -> Option<TxnId> {
        let position = self.partial_lists.binary_search_by_key(&op, |it| it.0);
        position.ok().map(|it| self.partial_lists[it].1)
    }

    /// Who may have appended what is open in a list read, or its last element, if it has several meanings.
    pub(crate) fn open_list(&self, op: OpId) -> Option<&[TxnId]> {
        let position = self.open_lists.binary_search_by_key(&op, |it| it.0);
        position.ok().map(|it| self.open_lists[it].1.as_slice())
    }

    pub(crate) fn open_reads(&self) -> impl Iterator<Item = OpId> + '_ {
        self.open_lists.iter().map(|it| it.0)
    }

    /// A list read with several meanings, if there is one: several may have appended an element that it saw, or whether its
    /// transaction committed is open ([`Standing::Optional`]) and nobody else shows what it shows.
    ///
    /// [`Facts::cases`] takes such a history apart.
    pub fn ambiguous_list(&self) -> Option<OpId> {
        self.ambiguous
    }

    /// Leaves out what nothing that is judged depends on, and anomalies of those who need not count.
    fn keep_what_counts(&mut self) {
        let standing = &self.standing;
        let counts = |it: &LocalAnomaly| standing[it.reader.index()] == Standing::Counted;
        self.local.retain(counts);
        self.unrepeatable.retain(counts);
        // Reads and writes of aborted transactions are not here in the first place.
        let (history, facts) = (self.history, &*self);
        let stays = |it: TxnId| facts.standing(it) != Standing::Out;
        if !history.has_indeterminate_outcomes() || history.txns().all(|it| !history.is_indeterminate(it) || stays(it))
        {
            return;
        }
        let (mut reads, mut starts) = (Sources::default(), Packed::default());
        starts.push_number(0);
        for txn in (0..history.n_txns()).map(TxnId::from_index) {
            if stays(txn) {
                reads.extend(facts.reads_of(txn).map(|it| facts.reads.at(it)));
            }
            starts.push_number(reads.len());
        }
        let writes = facts.writes.retain(history, stays);
        (self.reads, self.read_starts, self.writes) = (Arc::new(reads), starts, writes);
    }

    fn join_lists(&mut self, lists: &[ListRead]) {
        if lists.is_empty() {
            return;
        }
        let mut readings: Vec<Vec<&ListRead>> = vec![Vec::new(); self.history.n_keys()];
        for list in lists {
            match (self.standing(list.reader), list.seen) {
                (Standing::Counted | Standing::Optional, SeenList::Ambiguous) => {
                    self.ambiguous = self.ambiguous.or(Some(list.op));
                    self.open_lists.push((list.op, list.possible.clone()));
                }
                (Standing::Counted, seen) => {
                    readings[list.key.index()].push(list);
                    let last = list.writers.last().filter(|_| seen == SeenList::Intermediate);
                    self.partial_lists.extend(last.map(|it| (list.op, *it)));
                }
                (Standing::Optional | Standing::Out, _) => {}
            }
        }
        for (key, readings) in self.history.keys().zip(&readings) {
            let (recovered, anomalies) = join_readings(self.history, key, readings);
            self.recovered.push(recovered);
            self.local.extend(anomalies);
        }
        let shows_more = |it: &&ListRead| {
            let known = self.recovered[it.key.index()].as_ref().map_or(&[][..], |it| &it.writers);
            self.standing(it.reader) == Standing::Optional && !known.starts_with(&it.writers)
        };
        // What an optional one shows of the order of the list holds only if it committed.
        self.ambiguous = self.ambiguous.or_else(|| lists.iter().find(shows_more).map(|it| it.op));
    }
}

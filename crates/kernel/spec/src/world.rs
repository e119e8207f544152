//! One way in which a history may have happened, before any witness: who is in, and whose write each read saw.

use crate::execution::Execution;
use crate::formula::{Given, Sort};
use crate::session_order::SessionOrder;
use iso_history::{Facts, History, KeyId, Op, OpId, Standing, TxnId};

/// Relations are bit matrices with rows of this many bits.
pub(crate) const MAX_SIZE: usize = 64;
/// Subsets of more optional transactions than this are not tried.
const MAX_OPTIONAL: usize = 16;

/// The relations that a history gives once it is known who is in and who read from whom.
#[derive(Clone, Debug)]
pub(crate) struct World {
    /// Transactions by place; the initial one is first.
    pub(crate) txns: Vec<TxnId>,
    pub(crate) keys: Vec<KeyId>,
    /// Positions in [`Facts::reads`].
    pub(crate) reads: Vec<usize>,
    /// By read: the place of the transaction whose write it saw.
    pub(crate) sources: Vec<Option<usize>>,
    /// By read: its operation.
    pub(crate) ops: Vec<OpId>,
    tables: [Vec<u64>; N_TABLES],
    /// `wr[x]`, one matrix after the other.
    pub(crate) wr_at: Vec<u64>,
    /// `listed[x]`, one matrix after the other.
    pub(crate) listed_at: Vec<u64>,
    /// By key, its writers.
    pub(crate) writers: Vec<u64>,
}

const N_TABLES: usize = 17;

fn table_idx(given: Given) -> usize {
    match given {
        Given::SessionOrder => 0,
        Given::WriteRead => 1,
        Given::RealTime => 2,
        Given::Listed => 3,
        Given::Writes => 4,
        Given::Reads => 5,
        Given::ProgramOrder => 6,
        Given::Of => 7,
        Given::From => 8,
        Given::KeyOf => 9,
        Given::Identity => 10,
        Given::Statement => 11,
        Given::Omits => 12,
        Given::Locks => 13,
        Given::Newest => 14,
        Given::Inserts => 15,
        Given::Makes => 16,
        Given::Witness(_) => unreachable!("witnesses are searched for"),
    }
}

/// Is this a row that a scan looked at and did not return?
pub(crate) fn omits(history: &History, read: OpId) -> bool {
    matches!(history.op(read), Op::Omit { .. })
}

/// Does the statement of a read lock the row that it returned?
pub(crate) fn locks(history: &History, read: OpId) -> bool {
    !omits(history, read) && history.sees_newest(read)
}

/// The history has more transactions, keys or reads than a bit matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

impl World {
    /// Builds the world of these transactions (ascending, the initial one first) and sources (by read of theirs).
    pub(crate) fn new(
        facts: &Facts<'_>,
        so: &SessionOrder,
        txns: Vec<TxnId>,
        sources: &[Option<TxnId>],
    ) -> Result<Self, TooLarge> {
        let reads: Vec<usize> = txns.iter().flat_map(|it| facts.reads_of(*it)).collect();
        let mut keys: Vec<KeyId> = reads.iter().map(|it| facts.reads()[*it].key).collect();
        keys.extend(txns.iter().flat_map(|it| facts.final_writes(*it)).map(|it| it.0));
        keys.sort_unstable();
        keys.dedup();
        if txns.len().max(keys.len()).max(reads.len()) > MAX_SIZE {
            return Err(TooLarge);
        }
        let (n_txns, n_keys, n_reads) = (txns.len(), keys.len(), reads.len());
        let place = |txn: &TxnId| txns.binary_search(txn).ok();
        let sources = sources.iter().map(|it| it.as_ref().and_then(place)).collect();
        let of_reads = |it: usize| matches!(it, 6..=9 | 11..=15);
        let rows: [usize; N_TABLES] = std::array::from_fn(|it| if of_reads(it) { n_reads } else { n_txns });
        let mut world = Self {
            ops: reads.iter().map(|it| facts.reads()[*it].op).collect(),
            tables: rows.map(|it| vec![0; it]),
            wr_at: vec![0; n_keys * n_txns],
            listed_at: vec![0; n_keys * n_txns],
            writers: vec![0; n_keys],
            txns,
            keys,
            reads,
            sources,
        };
        world.relate_txns(facts, so);
        world.relate_reads(facts);
        world.relate_lists(facts);
        Ok(world)
    }

    pub(crate) fn size(&self, sort: Sort) -> usize {
        match sort {
            Sort::Txn => self.txns.len(),
            Sort::Key => self.keys.len(),
            Sort::Read => self.reads.len(),
        }
    }

    /// The rows of a relation that the history gives.
    pub(crate) fn table(&self, given: Given) -> &[u64] {
        &self.tables[table_idx(given)]
    }

    /// Each read with a source, and that source.
    pub(crate) fn source_pairs(&self) -> Vec<(OpId, TxnId)> {
        self.ops.iter().zip(&self.sources).filter_map(|(op, source)| Some((*op, self.txns[(*source)?]))).collect()
    }

    fn set(&mut self, given: Given, row: usize, col: usize) {
        self.tables[table_idx(given)][row] |= 1 << col;
    }

    fn relate_txns(&mut self, facts: &Facts<'_>, so: &SessionOrder) {
        let history = facts.history();
        for left in 0..self.txns.len() {
            self.set(Given::Identity, left, left);
            for right in 0..self.txns.len() {
                if so.is_ordered(history, self.txns[left], self.txns[right]) {
                    self.set(Given::SessionOrder, left, right);
                }
                if history.is_real_time_ordered(self.txns[left], self.txns[right]) {
                    self.set(Given::RealTime, left, right);
                }
            }
        }
        for key in 0..self.keys.len() {
            for txn in 0..self.txns.len() {
                if facts.writes(self.txns[txn], self.keys[key]) {
                    self.set(Given::Writes, txn, key);
                    self.writers[key] |= 1 << txn;
                }
                if history.makes(self.txns[txn], self.keys[key]) {
                    self.set(Given::Makes, txn, key);
                }
            }
        }
    }

    fn relate_reads(&mut self, facts: &Facts<'_>) {
        for read in 0..self.reads.len() {
            let external = facts.reads()[self.reads[read]];
            let reader = self.txns.binary_search(&external.reader).expect("readers are in");
            let key = self.keys.binary_search(&external.key).expect("read keys are kept");
            self.set(Given::Of, read, reader);
            self.set(Given::KeyOf, read, key);
            self.set(Given::Reads, reader, key);
            if let Some(source) = self.sources[read] {
                self.set(Given::From, read, source);
                self.set(Given::WriteRead, source, reader);
                self.wr_at[key * self.txns.len() + source] |= 1 << reader;
            }
            for later in read + 1..self.reads.len() {
                if facts.reads()[self.reads[later]].reader == external.reader {
                    self.set(Given::ProgramOrder, read, later);
                }
            }
            self.relate_statement(facts.history(), read, key);
        }
    }

    fn relate_statement(&mut self, history: &History, read: usize, key: usize) {
        let op = self.ops[read];
        let statement = history.statement_of(op);
        for other in 0..self.reads.len() {
            if statement.has(self.ops[other]) {
                self.set(Given::Statement, read, other);
            }
        }
        for (given, is_it) in [(Given::Omits, omits(history, op)), (Given::Locks, locks(history, op))] {
            if is_it {
                self.set(given, read, key);
            }
        }
        if history.sees_newest(op) {
            self.set(Given::Newest, read, key);
        }
        if history.is_insert(op) {
            self.set(Given::Inserts, read, key);
        }
    }

    fn relate_lists(&mut self, facts: &Facts<'_>) {
        for key in 0..self.keys.len() {
            let Some(recovered) = facts.recovered_order(self.keys[key]) else { continue };
            let shown: Vec<usize> =
                recovered.writers.iter().filter_map(|it| self.txns.binary_search(it).ok()).collect();
            // The initial version is the oldest; writers that nobody saw come after those that somebody saw.
            let mut later = self.writers[key] & !1;
            for writer in std::iter::once(0).chain(shown) {
                later &= !(1 << writer);
                self.listed_at[key * self.txns.len() + writer] |= later;
                self.tables[table_idx(Given::Listed)][writer] |= later;
            }
        }
    }
}

/// All worlds of a history: every choice of optional transactions, and for each every choice of sources.
pub(crate) struct Worlds<'f, 'h> {
    facts: &'f Facts<'h>,
    so: &'f SessionOrder,
    optional: Vec<TxnId>,
    next_subset: u32,
    txns: Vec<TxnId>,
    options: Vec<Vec<Option<TxnId>>>,
    /// Which option of each read comes next; none if the subset is exhausted.
    choice: Option<Vec<usize>>,
    unsourced: Unsourced,
}

/// What to do with reads that nobody can have written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsourced {
    Refuse,
    Tolerate,
}

impl<'f, 'h> Worlds<'f, 'h> {
    pub(crate) fn new(facts: &'f Facts<'h>, so: &'f SessionOrder, unsourced: Unsourced) -> Result<Self, TooLarge> {
        let optional: Vec<TxnId> = facts.txns().filter(|it| facts.standing(*it) == Standing::Optional).collect();
        if optional.len() > MAX_OPTIONAL {
            return Err(TooLarge);
        }
        let (txns, options) = (Vec::new(), Vec::new());
        Ok(Self { facts, so, optional, next_subset: 0, txns, options, choice: None, unsourced })
    }

    /// The next world, if there is one.
    pub(crate) fn next(&mut self) -> Result<Option<World>, TooLarge> {
        while self.choice.is_none() {
            if self.next_subset >> self.optional.len() != 0 {
                return Ok(None);
            }
            self.start_subset();
        }
        let choice = self.choice.clone().unwrap_or_default();
        let sources: Vec<Option<TxnId>> = choice.iter().zip(&self.options).map(|(it, options)| options[*it]).collect();
        self.advance();
        World::new(self.facts, self.so, self.txns.clone(), &sources).map(Some)
    }

    fn start_subset(&mut self) {
        let subset = self.next_subset;
        self.next_subset += 1;
        let is_in = |txn: TxnId| match self.facts.standing(txn) {
            Standing::Counted => true,
            Standing::Out => false,
            Standing::Optional => {
                self.optional.iter().position(|it| *it == txn).is_some_and(|it| subset >> it & 1 == 1)
            }
        };
        self.txns = std::iter::once(TxnId::INITIAL).chain(self.facts.txns().filter(|it| is_in(*it))).collect();
        self.options = Vec::new();
        for read_idx in self.txns.iter().flat_map(|it| self.facts.reads_of(*it)) {
            let candidates = self.facts.candidates(read_idx).iter().filter(|it| is_in(**it));
            let mut options: Vec<Option<TxnId>> = candidates.map(|it| Some(*it)).collect();
            if self.facts.candidates(read_idx).is_empty() && self.unsourced == Unsourced::Tolerate {
                options.push(None);
            }
            self.options.push(options);
        }
        let is_possible = self.options.iter().all(|it| !it.is_empty());
        self.choice = is_possible.then(|| vec![0; self.options.len()]);
    }

    fn advance(&mut self) {
        let Some(choice) = &mut self.choice else { return };
        for (place, options) in choice.iter_mut().zip(&self.options) {
            *place += 1;
            if *place < options.len() {
                return;
            }
            *place = 0;
        }
        self.choice = None;
    }
}

impl World {
    /// The world of a given execution, if it is one of the history's.
    pub(crate) fn of_execution(
        facts: &Facts<'_>,
        so: &SessionOrder,
        execution: &Execution,
        unsourced: Unsourced,
    ) -> Option<Self> {
        let mut txns = execution.included.clone();
        txns.push(TxnId::INITIAL);
        txns.sort_unstable();
        txns.dedup();
        let all_known = txns.iter().all(|it| it.index() < facts.history().n_txns());
        if !all_known || txns.iter().any(|it| facts.standing(*it) == Standing::Out) {
            return None;
        }
        let has_all = facts.txns().all(|it| facts.standing(it) != Standing::Counted || txns.binary_search(&it).is_ok());
        let mut sources = Vec::new();
        for read_idx in txns.iter().flat_map(|it| facts.reads_of(*it)) {
            let op = facts.reads()[read_idx].op;
            let source = execution.sources.iter().find(|it| it.0 == op).map(|it| it.1);
            let is_legal = match source {
                Some(source) => facts.candidates(read_idx).contains(&source) && txns.binary_search(&source).is_ok(),
                None => unsourced == Unsourced::Tolerate && facts.candidates(read_idx).is_empty(),
            };
            if !is_legal {
                return None;
            }
            sources.push(source);
        }
        if has_all { Self::new(facts, so, txns, &sources).ok() } else { None }
    }
}

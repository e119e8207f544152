//! What a history and an execution give, as tables of any size: who is in, whose write each read saw, and the witness.

use crate::execution::{Execution, NamedOrder, NamedRelation};
use crate::formula::{Given, Sort, Witness, WitnessKind};
use crate::row::{EMPTY, Gather, Row, Table};
use crate::session_order::SessionOrder;
use crate::world::{self, Unsourced};
use iso_history::{Facts, History, KeyId, OpId, Standing, TxnId};
use rustc_hash::FxHashMap;

/// The elements that variables range over, by place; the initial transaction is the first one.
pub(crate) struct Scene<'f, 'h> {
    facts: &'f Facts<'h>,
    so: &'f SessionOrder,
    txns: Vec<TxnId>,
    keys: Vec<KeyId>,
    /// Positions in [`Facts::reads`].
    reads: Vec<usize>,
    /// By read: the place of the transaction whose write it saw.
    sources: Vec<Option<u32>>,
}

/// The part of a relation that concerns one key: its rows, and those of its inverse, ascending by element.
#[derive(Debug, Default)]
pub(crate) struct KeyTable {
    pub(crate) rows: Vec<(u32, Row)>,
    pub(crate) cols: Vec<(u32, Row)>,
}

impl<'f, 'h> Scene<'f, 'h> {
    /// The scene of an execution, if it is one of the history's.
    pub(crate) fn new(
        facts: &'f Facts<'h>,
        so: &'f SessionOrder,
        execution: &Execution,
        unsourced: Unsourced,
    ) -> Option<Self> {
        let txns = included(facts, execution)?;
        // Rows of bits are in this order.
        if !execution.rows.is_empty() && txns != execution.included {
            return None;
        }
        let reads: Vec<usize> = txns.iter().flat_map(|it| facts.reads_of(*it)).collect();
        let mut keys: Vec<KeyId> = reads.iter().map(|it| facts.reads()[*it].key).collect();
        keys.extend(txns.iter().flat_map(|it| facts.final_writes(*it)).map(|it| it.0));
        keys.sort_unstable();
        keys.dedup();
        let seen: FxHashMap<OpId, TxnId> = execution.sources.iter().copied().collect();
        let mut sources = Vec::with_capacity(reads.len());
        for read_idx in &reads {
            let candidates = facts.candidates(*read_idx);
            sources.push(match seen.get(&facts.reads()[*read_idx].op) {
                Some(source) if candidates.contains(source) => Some(txns.binary_search(source).ok()? as u32),
                None if unsourced == Unsourced::Tolerate && candidates.is_empty() => None,
                _ => return None,
            });
        }
        Some(Self { facts, so, txns, keys, reads, sources })
    }

    pub(crate) fn size(&self, sort: Sort) -> usize {
        match sort {
            Sort::Txn => self.txns.len(),
            Sort::Key => self.keys.len(),
            Sort::Read => self.reads.len(),
        }
    }

    /// A relation that the history gives.
    pub(crate) fn given(&self, given: Given) -> Table {
        let (left, right) = given.sorts();
        let (n_rows, n_cols) = (self.size(left), self.size(right));
        let history = self.facts.history();
        let reads = (0u32..).zip(self.reads.iter().map(|it| self.facts.reads()[*it]));
        let sourced = (0u32..).zip(&self.sources).filter_map(|(read, source)| Some((read, (*source)?)));
        let pairs: Vec<(u32, u32)> = match given {
            Given::SessionOrder => return self.by_pairs(|a, b| self.so.is_ordered(history, a, b)),
            Given::RealTime => return self.by_pairs(|a, b| History::is_real_time_ordered(history, a, b)),
            Given::WriteRead => sourced.map(|(read, source)| (source, self.reader(read))).collect(),
            Given::Listed => return self.union_of_keys(&self.at(Given::Listed)),
            Given::Writes => self.writes(),
            Given::Reads => reads.map(|(_, it)| (self.place(it.reader), self.key(it.key))).collect(),
            Given::ProgramOrder => self.program_order(),
            Given::Of => reads.map(|(read, it)| (read, self.place(it.reader))).collect(),
            Given::From => sourced.collect(),
            Given::KeyOf => reads.map(|(read, it)| (read, self.key(it.key))).collect(),
            Given::Statement => self.same_statement(),
            Given::Omits => self.rows_of(world::omits),
            Given::Locks => self.rows_of(world::locks),
            Given::Newest => self.rows_of(History::sees_newest),
            Given::Inserts => self.rows_of(History::is_insert),
            Given::Makes => {
                let makes = |it: &(u32, u32)| history.makes(self.txns[it.0 as usize], self.keys[it.1 as usize]);
                self.writes().into_iter().filter(makes).collect()
            }
            Given::Identity => (0..n_rows as u32).map(|it| (it, it)).collect(),
            Given::Witness(_) => unreachable!("witnesses are in the execution"),
        };
        Table::of_pairs(n_rows, n_cols, pairs)
    }

    /// The parts of `wr` or `listed`, by key.
    pub(crate) fn at(&self, given: Given) -> Vec<KeyTable> {
        let mut pairs: Vec<Vec<(u32, u32)>> = vec![Vec::new(); self.keys.len()];
        if given == Given::WriteRead {
            for (read, source) in self.sources.iter().enumerate() {
                let key = self.facts.reads()[self.reads[read]].key;
                pairs[self.key(key) as usize].extend(source.map(|it| (it, self.reader(read as u32))));
            }
        } else {
            for (key, pairs) in (0u32..).zip(&mut pairs) {
                *pairs = self.listed(key);
            }
        }
        pairs.into_iter().map(|it| KeyTable::new(it, self.txns.len())).collect()
    }

    /// All keys together.
    pub(crate) fn union_of_keys(&self, parts: &[KeyTable]) -> Table {
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); self.txns.len()];
        for (row, cols) in parts.iter().flat_map(|it| &it.rows) {
            cols.each(|it| lists[*row as usize].push(it));
        }
        Table::of_lists(lists, self.txns.len())
    }

    /// An order or relation of the witness, if it is there once and is what it should be.
    pub(crate) fn relation(&self, execution: &Execution, witness: &Witness) -> Option<Table> {
        let n_txns = self.txns.len();
        let mut found = Vec::new();
        for part in execution.relations.iter().filter(|it| it.name == witness.name) {
            found.push((part.key, Table::of_pairs(n_txns, n_txns, self.pairs(part)?)));
        }
        for order in execution.orders.iter().filter(|it| it.name == witness.name) {
            found.push((order.key, self.sequence(order)?));
        }
        for rows in execution.rows.iter().filter(|it| it.name == witness.name) {
            found.push((None, Table::of_bits(&rows.rows, n_txns)?));
        }
        let [(None, table)] = &mut found[..] else { return None };
        let everyone: Vec<u32> = (0..n_txns as u32).collect();
        let is_legal = witness.kind != WitnessKind::Order || is_order(table, &everyone);
        is_legal.then(|| std::mem::take(table))
    }

    /// The version orders of the witness by key, if they are what they should be.
    pub(crate) fn versions(&self, execution: &Execution, witness: &Witness) -> Option<Vec<KeyTable>> {
        let mut by_key: Vec<Option<Vec<(u32, u32)>>> = vec![None; self.keys.len()];
        if execution.rows.iter().any(|it| it.name == witness.name) {
            return None;
        }
        for part in execution.relations.iter().filter(|it| it.name == witness.name) {
            let place = &mut by_key[self.keys.binary_search(&part.key?).ok()?];
            if place.replace(self.pairs(part)?).is_some() {
                return None;
            }
        }
        for order in execution.orders.iter().filter(|it| it.name == witness.name) {
            let place = &mut by_key[self.keys.binary_search(&order.key?).ok()?];
            let mut pairs = Vec::new();
            for (row, cols) in (0u32..).zip(&self.sequence(order)?.rows) {
                cols.each(|col| pairs.push((row, col)));
            }
            if place.replace(pairs).is_some() {
                return None;
            }
        }
        let parts = by_key.into_iter().map(|it| KeyTable::new(it.unwrap_or_default(), self.txns.len()));
        let parts: Vec<KeyTable> = parts.collect();
        let is_legal = (0u32..).zip(&parts).all(|(key, part)| part.orders(&self.writers(key)));
        is_legal.then_some(parts)
    }

    fn pairs(&self, part: &NamedRelation) -> Option<Vec<(u32, u32)>> {
        let place = |txn: TxnId| Some(self.txns.binary_search(&txn).ok()? as u32);
        part.pairs.iter().map(|(left, right)| Some((place(*left)?, place(*right)?))).collect()
    }

    /// Each member of the sequence before all that follow it.
    fn sequence(&self, order: &NamedOrder) -> Option<Table> {
        let mut table = Table::empty(self.txns.len(), self.txns.len());
        let mut later = Gather::new(self.txns.len());
        for member in order.first_to_last.iter().rev().chain([&TxnId::INITIAL]) {
            let place = self.txns.binary_search(member).ok()?;
            table.rows[place] = later.row();
            later.insert(place as u32);
        }
        Some(table)
    }

    fn by_pairs(&self, is_in: impl Fn(TxnId, TxnId) -> bool) -> Table {
        let mut gather = Gather::new(self.txns.len());
        let row = |left: &TxnId| {
            (0u32..).zip(&self.txns).filter(|it| is_in(*left, *it.1)).for_each(|it| gather.insert(it.0));
            gather.take()
        };
        Table { rows: self.txns.iter().map(row).collect(), n_cols: self.txns.len() }
    }

    fn place(&self, txn: TxnId) -> u32 {
        self.txns.binary_search(&txn).expect("readers and writers are in") as u32
    }

    fn key(&self, key: KeyId) -> u32 {
        self.keys.binary_search(&key).expect("read and written keys are kept") as u32
    }

    fn reader(&self, read: u32) -> u32 {
        self.place(self.facts.reads()[self.reads[read as usize]].reader)
    }

    fn writes(&self) -> Vec<(u32, u32)> {
        let initial = (0..self.keys.len() as u32).map(|key| (0, key));
        let others = (0u32..).zip(&self.txns).filter(|it| !it.1.is_initial());
        let of = |(place, txn): (u32, &TxnId)| {
            self.facts.final_writes(*txn).iter().map(move |it| (place, self.key(it.0))).collect::<Vec<_>>()
        };
        initial.chain(others.flat_map(of)).collect()
    }

    /// Who writes a key, ascending.
    fn writers(&self, key: u32) -> Vec<u32> {
        let others = self.facts.writers_of(self.keys[key as usize]).iter();
        std::iter::once(0).chain(others.filter_map(|it| Some(self.txns.binary_search(it).ok()? as u32))).collect()
    }

    fn program_order(&self) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        for read in 0..self.reads.len() as u32 {
            let later = (read + 1..self.reads.len() as u32).take_while(|it| self.reader(*it) == self.reader(read));
            pairs.extend(later.map(|it| (read, it)));
        }
        pairs
    }

    /// Reads of one statement; they stand together.
    fn same_statement(&self) -> Vec<(u32, u32)> {
        let op = |read: u32| self.facts.reads()[self.reads[read as usize]].op;
        let mut pairs = Vec::new();
        let n_reads = self.reads.len() as u32;
        for read in 0..n_reads {
            let statement = self.facts.history().statement_of(op(read));
            let others = (read..n_reads).take_while(|it| statement.has(op(*it)));
            pairs.extend(others.flat_map(|it| [(read, it), (it, read)]));
        }
        pairs
    }

    /// Reads of which something is true, with their rows.
    fn rows_of(&self, is_it: impl Fn(&History, OpId) -> bool) -> Vec<(u32, u32)> {
        let reads = (0u32..).zip(self.reads.iter().map(|it| self.facts.reads()[*it]));
        let of = reads.filter(|(_, it)| is_it(self.facts.history(), it.op));
        of.map(|(read, it)| (read, self.key(it.key))).collect()
    }

    /// Which versions of a list come before which: those that somebody saw, in their order, and then all others.
    fn listed(&self, key: u32) -> Vec<(u32, u32)> {
        let Some(recovered) = self.facts.recovered_order(self.keys[key as usize]) else { return Vec::new() };
        let mut later: Vec<u32> = self.writers(key).into_iter().filter(|it| *it != 0).collect();
        let shown = recovered.writers.iter().filter_map(|it| self.txns.binary_search(it).ok());
        let mut pairs = Vec::new();
        for writer in std::iter::once(0).chain(shown.map(|it| it as u32)) {
            later.retain(|it| *it != writer);
            pairs.extend(later.iter().map(|it| (writer, *it)));
        }
        pairs
    }
}

/// Who is in, ascending, if everybody who counts is and nobody who cannot.
fn included(facts: &Facts<'_>, execution: &Execution) -> Option<Vec<TxnId>> {
    let mut txns = execution.included.clone();
    txns.push(TxnId::INITIAL);
    txns.sort_unstable();
    txns.dedup();
    let may_be = |it: &TxnId| it.index() < facts.history().n_txns() && facts.standing(*it) != Standing::Out;
    let must_be = |it: TxnId| facts.standing(it) == Standing::Counted;
    let has_all = facts.txns().all(|it| !must_be(it) || txns.binary_search(&it).is_ok());
    (has_all && txns.iter().all(|it| it.is_initial() || may_be(it))).then_some(txns)
}

impl KeyTable {
    fn new(pairs: Vec<(u32, u32)>, n_txns: usize) -> Self {
        let backwards = pairs.iter().map(|it| (it.1, it.0)).collect();
        Self { rows: grouped(pairs, n_txns), cols: grouped(backwards, n_txns) }
    }

    pub(crate) fn row(&self, of: u32) -> &Row {
        find(&self.rows, of)
    }

    pub(crate) fn col(&self, of: u32) -> &Row {
        find(&self.cols, of)
    }

    /// Is this a strict total order of the members, the initial transaction first?
    fn orders(&self, members: &[u32]) -> bool {
        let mut table = Table::default();
        table.rows.extend(members.iter().map(|it| self.row(*it).clone()));
        let n_inside = table.n_pairs();
        let n_all: usize = self.rows.iter().map(|it| it.1.len()).sum();
        n_inside == n_all && is_order(&table, members)
    }
}

fn find(rows: &[(u32, Row)], of: u32) -> &Row {
    rows.binary_search_by_key(&of, |it| it.0).map_or(EMPTY, |it| &rows[it].1)
}

fn grouped(mut pairs: Vec<(u32, u32)>, n_cols: usize) -> Vec<(u32, Row)> {
    pairs.sort_unstable();
    pairs.dedup();
    let groups = pairs.chunk_by(|a, b| a.0 == b.0);
    let (heads, lists): (Vec<u32>, Vec<Vec<u32>>) =
        groups.map(|group| (group[0].0, group.iter().map(|it| it.1).collect())).unzip();
    heads.into_iter().zip(Table::of_lists(lists, n_cols).rows).collect()
}

/// Is this a strict total order of the members, to which the rows belong, with the initial transaction first?
fn is_order(table: &Table, members: &[u32]) -> bool {
    let mut later: Vec<usize> = (0..members.len()).collect();
    later.sort_by_key(|it| std::cmp::Reverse(table.rows[*it].len()));
    let is_first = later.first().is_none_or(|it| members[*it] == 0);
    // A row that has each later member, and no more than those, has nothing else.
    let is_right = |nth: usize| {
        let row = &table.rows[later[nth]];
        row.len() == members.len() - 1 - nth && later[nth + 1..].iter().all(|it| row.contains(members[*it]))
    };
    is_first && (0..members.len()).all(is_right)
}

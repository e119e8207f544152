//! A history with all choices made but the order: who is in, whose write each read saw, and the relations of these.

use crate::matrix::{Matrix, Rel};
use iso_history::{Facts, KeyId, Op, OpId, Standing, TxnId};
use iso_spec::{Given, Sort};

/// Who is in, and whose write each read saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// The transactions that took place, ascending, the initial one included.
    pub txns: Vec<TxnId>,
    /// For each external read of those that has a source, that source; ascending.
    pub sources: Vec<(OpId, TxnId)>,
}

impl World {
    /// The world of a history, if it has only one.
    pub fn only(facts: &Facts<'_>) -> Option<Self> {
        if facts.txns().any(|it| facts.standing(it) == Standing::Optional) || facts.has_ambiguous_reads() {
            return None;
        }
        let txns: Vec<TxnId> = std::iter::once(TxnId::INITIAL).chain(facts.txns()).collect();
        let seen = |it: usize| Some((facts.reads()[it].op, *facts.candidates(it).first()?));
        let sources = txns.iter().flat_map(|it| facts.reads_of(*it)).filter_map(seen).collect();
        Some(Self { txns, sources })
    }
}

/// The elements of a world by place, and how the history relates them.
pub(crate) struct Ground<'f, 'h> {
    pub(crate) facts: &'f Facts<'h>,
    pub(crate) txns: Vec<TxnId>,
    pub(crate) keys: Vec<KeyId>,
    /// By read: reader, key, and source.
    pub(crate) reads: Vec<(u32, u32, Option<u32>)>,
    /// By read: its operation.
    ops: Vec<OpId>,
    /// By key, ascending: the initial transaction is the first.
    pub(crate) writers: Vec<Vec<u32>>,
    /// By transaction: the keys that it writes, ascending.
    pub(crate) written: Vec<Vec<u32>>,
    /// By key: source and reader, and the same backwards; ascending.
    pub(crate) wr_at: Vec<Vec<(u32, u32)>>,
    pub(crate) rw_at: Vec<Vec<(u32, u32)>>,
    pub(crate) listed_at: Vec<Vec<(u32, u32)>>,
}

impl<'f, 'h> Ground<'f, 'h> {
    pub(crate) fn new(facts: &'f Facts<'h>, world: &World) -> Self {
        let txns = world.txns.clone();
        let place = |txn: TxnId| txns.binary_search(&txn).ok().map(|it| it as u32);
        let external: Vec<usize> = txns.iter().flat_map(|it| facts.reads_of(*it)).collect();
        let mut keys: Vec<KeyId> = external.iter().map(|it| facts.reads()[*it].key).collect();
        keys.extend(txns.iter().flat_map(|it| facts.final_writes(*it)).map(|it| it.0));
        keys.sort_unstable();
        keys.dedup();
        let key_place = |key: KeyId| keys.binary_search(&key).unwrap_or(0) as u32;
        let source_of = |op: OpId| {
            let at = world.sources.binary_search_by_key(&op, |it| it.0).ok()?;
            place(world.sources[at].1)
        };
        let reads: Vec<(u32, u32, Option<u32>)> = external
            .iter()
            .map(|it| facts.reads()[*it])
            .map(|it| (place(it.reader).unwrap_or(0), key_place(it.key), source_of(it.op)))
            .collect();
        let mut ground = Self {
            facts,
            reads,
            ops: external.iter().map(|it| facts.reads()[*it].op).collect(),
            writers: vec![vec![0]; keys.len()],
            written: vec![Vec::new(); txns.len()],
            wr_at: vec![Vec::new(); keys.len()],
            rw_at: vec![Vec::new(); keys.len()],
            listed_at: vec![Vec::new(); keys.len()],
            txns,
            keys,
        };
        ground.relate();
        ground
    }

    fn relate(&mut self) {
        self.written[0] = (0..self.keys.len() as u32).collect();
        for (txn, id) in (0u32..).zip(&self.txns).filter(|it| !it.1.is_initial()) {
            for (key, _) in self.facts.final_writes(*id) {
                let key = self.keys.binary_search(key).unwrap_or(0) as u32;
                self.writers[key as usize].push(txn);
                self.written[txn as usize].push(key);
            }
        }
        for (reader, key, source) in &self.reads {
            if let Some(source) = source {
                self.wr_at[*key as usize].push((*source, *reader));
                self.rw_at[*key as usize].push((*reader, *source));
            }
        }
        for pairs in self.wr_at.iter_mut().chain(&mut self.rw_at) {
            pairs.sort_unstable();
            pairs.dedup();
        }
        for key in 0..self.keys.len() {
            self.listed_at[key] = self.listed(key);
        }
    }

    fn listed(&self, key: usize) -> Vec<(u32, u32)> {
        let Some(recovered) = self.facts.recovered_order(self.keys[key]) else { return Vec::new() };
        let mut left: Vec<u32> = self.writers[key][1..].to_vec();
        let shown = recovered.writers.iter().filter_map(|it| self.txns.binary_search(it).ok());
        let mut pairs = Vec::new();
        for writer in std::iter::once(0).chain(shown.map(|it| it as u32)) {
            left.retain(|it| *it != writer);
            pairs.extend(left.iter().map(|it| (writer, *it)));
        }
        pairs.sort_unstable();
        pairs
    }

    pub(crate) fn n_txns(&self) -> usize {
        self.txns.len()
    }

    pub(crate) fn size(&self, sort: Sort) -> usize {
        match sort {
            Sort::Txn => self.txns.len(),
            Sort::Key => self.keys.len(),
            Sort::Read => self.reads.len(),
        }
    }

    pub(crate) fn writes(&self, txn: u32, key: u32) -> bool {
        self.written[txn as usize].binary_search(&key).is_ok()
    }

    /// An empty relation between elements of these sorts.
    pub(crate) fn empty(&self, (left, right): (Sort, Sort)) -> Rel {
        Rel::empty(self.size(left), self.size(right), (left, right) == (Sort::Txn, Sort::Txn))
    }

    /// A relation that the history gives.
    pub(crate) fn given(&self, given: Given) -> Rel {
        let history = self.facts.history();
        let reads = || (0u32..).zip(&self.reads);
        let pairs: Vec<(u32, u32)> = match given {
            Given::SessionOrder => return self.ordered(|a, b| history.is_session_ordered(a, b)),
            Given::RealTime => return self.ordered(|a, b| history.is_real_time_ordered(a, b)),
            Given::WriteRead => self.wr_at.iter().flatten().copied().collect(),
            Given::Listed => self.listed_at.iter().flatten().copied().collect(),
            Given::Writes => {
                (0u32..).zip(&self.written).flat_map(|(txn, it)| it.iter().map(move |key| (txn, *key))).collect()
            }
            Given::Reads => self.reads.iter().map(|it| (it.0, it.1)).collect(),
            Given::ProgramOrder => self.program_order(),
            Given::Of => reads().map(|(read, it)| (read, it.0)).collect(),
            Given::From => reads().filter_map(|(read, it)| Some((read, it.2?))).collect(),
            Given::KeyOf => reads().map(|(read, it)| (read, it.1)).collect(),
            Given::Statement => self.same_statement(),
            Given::Omits => self.rows_of(|it| matches!(history.op(it), Op::Omit { .. })),
            Given::Locks => self.rows_of(|it| history.sees_newest(it) && !matches!(history.op(it), Op::Omit { .. })),
            Given::Newest => self.rows_of(|it| history.sees_newest(it)),
            Given::Inserts => self.rows_of(|it| history.is_insert(it)),
            Given::Makes => {
                let of = |(txn, it): (u32, &Vec<u32>)| it.iter().map(move |key| (txn, *key)).collect::<Vec<_>>();
                let written = (0u32..).zip(&self.written).flat_map(of);
                written.filter(|it| history.makes(self.txns[it.0 as usize], self.keys[it.1 as usize])).collect()
            }
            Given::Identity => (0..self.n_txns() as u32).map(|it| (it, it)).collect(),
            Given::Witness(_) => unreachable!("the view knows the witness"),
        };
        Rel::of_pairs(self.empty(given.sorts()), pairs)
    }

    fn ordered(&self, is_before: impl Fn(TxnId, TxnId) -> bool) -> Rel {
        let mut matrix = Matrix::empty(self.n_txns());
        for (row, earlier) in (0u32..).zip(&self.txns) {
            for (col, later) in (0u32..).zip(&self.txns) {
                if is_before(*earlier, *later) {
                    matrix.set(row, col);
                }
            }
        }
        Rel::Bits(matrix)
    }

    /// Reads of one statement; they stand together.
    fn same_statement(&self) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        for (read, op) in (0u32..).zip(&self.ops) {
            let statement = self.facts.history().statement_of(*op);
            let others = (read..).zip(&self.ops[read as usize..]).take_while(|it| statement.has(*it.1));
            pairs.extend(others.flat_map(|it| [(read, it.0), (it.0, read)]));
        }
        pairs
    }

    /// Reads of which something is true, with their rows.
    fn rows_of(&self, is_it: impl Fn(OpId) -> bool) -> Vec<(u32, u32)> {
        let reads = (0u32..).zip(self.reads.iter().zip(&self.ops));
        reads.filter(|it| is_it(*it.1.1)).map(|(read, (it, _))| (read, it.1)).collect()
    }

    fn program_order(&self) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        for read in 0..self.reads.len() {
            let same = |it: &usize| self.reads[*it].0 == self.reads[read].0;
            pairs.extend((read + 1..self.reads.len()).take_while(same).map(|later| (read as u32, later as u32)));
        }
        pairs
    }
}

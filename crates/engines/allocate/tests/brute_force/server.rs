//! A server that executes statements of transactions in every order, as slowly and plainly as possible.
//!
//! It knows nothing of split runs: it has versions, locks and snapshots, and looks for a cycle of dependencies in the end.

use iso_program::{Access, AccessKind, Parts, TxnLevel};
use std::collections::BTreeSet;

/// A transaction with its rows.
#[derive(Clone, Debug)]
pub(crate) struct Txn {
    pub(crate) level: TxnLevel,
    pub(crate) statements: Vec<Statement>,
}

/// An access and the rows that it is about.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) access: Access,
    pub(crate) rows: Vec<usize>,
    /// Does it make rows that nobody removes, so that nobody else can make them?
    pub(crate) makes_for_good: bool,
}

/// A row of a table.
type Item = (usize, usize);

/// What happened to a row, in the order of commits.
#[derive(Clone, Debug)]
struct Version {
    item: Item,
    by: usize,
    parts: Parts,
    only_locked: bool,
    is_delete: bool,
    is_made_for_good: bool,
    commit: usize,
}

#[derive(Clone, Debug)]
struct Read {
    item: Item,
    parts: Parts,
    reader: usize,
    /// How many commits it knew.
    moment: usize,
    /// Whether it found the row, if it has to.
    found: Option<bool>,
}

#[derive(Clone, Debug, Default)]
struct State {
    place: Vec<usize>,
    snapshot: Vec<Option<usize>>,
    commit: Vec<Option<usize>>,
    locks: Vec<(Item, usize)>,
    reads: Vec<Read>,
    versions: Vec<Version>,
    n_commits: usize,
}

/// Is there an order of statements in which all commit and which is not serializable? At most so many steps are tried.
pub(crate) fn has_bad_run(txns: &[Txn], n_steps: &mut usize) -> bool {
    explore(txns, &State::new(txns.len()), n_steps)
}

/// The same for one order: whose turn it is, again and again; a transaction commits by the turn after its last statement.
/// A transaction with a snapshot takes it by its first turn. Nothing if that order cannot be.
pub(crate) fn run(txns: &[Txn], turns: &[usize]) -> Option<bool> {
    let mut state = State::new(txns.len());
    for turn in turns {
        state = state.step(txns, *turn)?;
    }
    assert!(state.commit.iter().all(Option::is_some), "everybody commits: {turns:?}");
    (state.finds_rows() && state.is_allowed(txns)).then(|| state.has_cycle())
}

fn explore(txns: &[Txn], state: &State, n_steps: &mut usize) -> bool {
    if *n_steps == 0 {
        return false;
    }
    *n_steps -= 1;
    if state.commit.iter().all(Option::is_some) {
        return state.has_cycle() && state.finds_rows() && state.is_allowed(txns);
    }
    (0..txns.len()).any(|txn| state.step(txns, txn).is_some_and(|it| explore(txns, &it, n_steps)))
}

impl State {
    fn new(n_txns: usize) -> Self {
        Self { place: vec![0; n_txns], snapshot: vec![None; n_txns], commit: vec![None; n_txns], ..Self::default() }
    }

    /// One transaction does its next thing; nothing if it has to wait, or would abort.
    fn step(&self, txns: &[Txn], txn: usize) -> Option<Self> {
        let of = &txns[txn];
        if self.commit[txn].is_some() {
            return None;
        }
        let mut next = self.clone();
        if of.level.has_snapshot() && self.snapshot[txn].is_none() {
            next.snapshot[txn] = Some(self.n_commits);
            return Some(next);
        }
        let Some(statement) = of.statements.get(self.place[txn]) else {
            next.finish(txns, txn);
            return Some(next);
        };
        next.place[txn] += 1;
        let access = &statement.access;
        for row in &statement.rows {
            let item = (access.relation, *row);
            if access.locks {
                if self.locks.iter().any(|it| it.0 == item && it.1 != txn) {
                    return None;
                }
                if self.snapshot[txn].is_some_and(|it| self.is_too_late(of.level, it, item, access)) {
                    return None;
                }
                let is_made = |it: &Version| it.item == item && it.is_made_for_good;
                if statement.makes_for_good && self.versions.iter().any(is_made) {
                    return None;
                }
                next.locks.push((item, txn));
            }
            let own = txns[txn].statements[..self.place[txn]].iter().filter(|it| it.rows.contains(row));
            let own = own.filter(|it| it.access.relation == access.relation);
            let own = own.fold(Parts::default(), |parts, it| parts.with(it.access.writes));
            let moment = if access.locks { self.n_commits } else { self.snapshot[txn].unwrap_or(self.n_commits) };
            next.reads.push(Read { item, parts: access.reads.without(own), reader: txn, moment, found: access.found });
        }
        Some(next)
    }

    /// Has somebody changed the row since the snapshot?
    fn is_too_late(&self, level: TxnLevel, snapshot: usize, item: Item, access: &Access) -> bool {
        let mut since = self.versions.iter().filter(|it| it.item == item && it.commit >= snapshot);
        match level {
            TxnLevel::ReadCommitted => false,
            TxnLevel::SnapshotIsolation => since.next().is_some(),
            TxnLevel::RepeatableRead | TxnLevel::Serializable => {
                let is_insert = access.kind == AccessKind::Insert;
                since.any(|it| !(it.only_locked || is_insert && it.is_delete))
            }
        }
    }

    fn finish(&mut self, txns: &[Txn], txn: usize) {
        let items: BTreeSet<Item> = self.locks.iter().filter(|it| it.1 == txn).map(|it| it.0).collect();
        for item in items {
            let on_it = txns[txn].statements.iter();
            let on_it = on_it.filter(|it| it.access.relation == item.0 && it.rows.contains(&item.1));
            let writes = on_it.clone().fold(Parts::default(), |parts, it| parts.with(it.access.writes));
            self.versions.push(Version {
                item,
                by: txn,
                parts: writes,
                only_locked: writes.is_empty(),
                is_made_for_good: on_it.clone().any(|it| it.makes_for_good),
                is_delete: on_it.filter(|it| it.access.locks).all(|it| it.access.kind == AccessKind::Delete),
                commit: self.n_commits,
            });
        }
        self.locks.retain(|it| it.1 != txn);
        self.commit[txn] = Some(self.n_commits);
        self.n_commits += 1;
    }

    /// Pairs of transactions of which the first must come before the second, with whether the first only read.
    fn edges(&self) -> Vec<(usize, usize, bool)> {
        let mut edges = Vec::new();
        for version in &self.versions {
            for other in &self.versions {
                if version.item == other.item && version.commit < other.commit && version.parts.meets(other.parts) {
                    edges.push((version.by, other.by, false));
                }
            }
            for read in &self.reads {
                if read.item == version.item && read.parts.meets(version.parts) && read.reader != version.by {
                    if version.commit < read.moment {
                        edges.push((version.by, read.reader, false));
                    } else {
                        edges.push((read.reader, version.by, true));
                    }
                }
            }
        }
        edges
    }

    fn has_cycle(&self) -> bool {
        let n_txns = self.commit.len();
        let mut before = vec![vec![false; n_txns]; n_txns];
        for (from, to, _) in self.edges() {
            before[from][to] = true;
        }
        for via in 0..n_txns {
            for from in 0..n_txns {
                for to in 0..n_txns {
                    before[from][to] |= before[from][via] && before[via][to];
                }
            }
        }
        (0..n_txns).any(|it| before[it][it])
    }

    /// Has everybody who looked for a row that was made, and is removed by nobody, found what it had to?
    fn finds_rows(&self) -> bool {
        self.versions.iter().filter(|it| it.is_made_for_good).all(|made| {
            let mut reads = self.reads.iter().filter(|it| it.item == made.item && it.reader != made.by);
            reads.all(|it| it.found.is_none_or(|found| found == (made.commit < it.moment)))
        })
    }

    /// Would serializable transactions have let this happen?
    fn is_allowed(&self, txns: &[Txn]) -> bool {
        let edges = self.edges();
        let commit = |txn: usize| self.commit[txn].unwrap_or_default();
        let start = |txn: usize| self.snapshot[txn].unwrap_or_default();
        let watched = |txn: usize| txns[txn].level == TxnLevel::Serializable;
        let concurrent = |a: usize, b: usize| start(a) <= commit(b) && start(b) <= commit(a);
        let is_rw = |it: &&(usize, usize, bool)| it.2 && watched(it.0) && watched(it.1) && concurrent(it.0, it.1);
        let is_reader = |txn: usize| txns[txn].statements.iter().all(|it| it.access.writes.is_empty());
        let rw: Vec<&(usize, usize, bool)> = edges.iter().filter(is_rw).collect();
        !rw.iter().any(|first| {
            rw.iter().any(|second| {
                let (first_txn, pivot, last) = (first.0, first.1, second.1);
                second.0 == pivot
                    && commit(last) < commit(pivot)
                    && commit(last) <= commit(first_txn)
                    && (!is_reader(first_txn) || commit(last) < start(first_txn))
            })
        })
    }
}

//! Levels of databases: a transaction is several nodes, one for each moment at which it looks, and one for its commit.
//!
//! A run is allowed if some order of versions leaves no cycle (decision 0019): a plain read comes after its writer commits and
//! before whoever overwrites what it saw; what is locked stays as it is until the commit.

use crate::graph::Graph;
use crate::level::{Case, MAX_OBJECTIONS};
use crate::run::Seen;
use crate::trace::{INITIAL, Sees, TxnIdx};
use crate::versions::Versions;
use iso_history::{OpId, Snapshots};
use iso_solve::Lit;

/// The nodes of one transaction.
#[derive(Clone, Debug, Default)]
struct Nodes {
    /// Of each read of the run, by its place among the reads of the observed transaction.
    of_reads: Vec<(usize, u32)>,
    commit: u32,
    /// Those that nothing of the transaction comes before.
    first: Vec<u32>,
}

impl Nodes {
    fn of(&self, read: &Seen) -> u32 {
        self.of_reads.iter().find(|it| it.0 == read.nth).map_or(self.commit, |it| it.1)
    }
}

/// Cycles of a run, each as what says so.
pub(crate) fn cycles_of_pieces(
    case: &Case<'_>,
    snapshots: Snapshots,
    versions: &Versions,
    is_true: impl Fn(Lit) -> bool,
) -> Vec<Vec<Lit>> {
    let mut layout = Layout { case, n_nodes: 0, order: Vec::new() };
    let mut nodes = vec![Nodes::default(); case.trace.n_txns()];
    for txn in case.txns() {
        nodes[txn as usize] = layout.transaction(txn, snapshots);
    }
    let Layout { n_nodes, order, .. } = layout;
    let mut graph = Graph::new(n_nodes as usize);
    for (before, after) in order {
        graph.add(before, after, &[]);
    }
    for txn in case.txns() {
        if let Some(before) = case.trace.before_in_session(txn) {
            for first in &nodes[txn as usize].first {
                graph.add(nodes[before as usize].commit, *first, &[case.presence(txn)]);
            }
        }
        for seen in case.run.reads[txn as usize].iter().filter(|it| it.source != INITIAL) {
            graph.add(nodes[seen.source as usize].commit, nodes[txn as usize].of(seen), &[seen.because]);
        }
    }
    case.for_versions(versions, &is_true, |earlier, later, because| {
        graph.add(nodes[earlier as usize].commit, nodes[later as usize].commit, because);
    });
    case.for_anti_dependencies(versions, is_true, |reader, seen, overwriter, because| {
        let from = match case.trace.reads[reader as usize][seen.nth].sees {
            Sees::Snapshot => nodes[reader as usize].of(seen),
            Sees::Newest | Sees::NoRow => nodes[reader as usize].commit,
        };
        graph.add(from, nodes[overwriter as usize].commit, because);
    });
    graph.cycles(case.cut_first().map(|it| nodes[it as usize].commit), MAX_OBJECTIONS)
}

/// Gives out nodes.
struct Layout<'c> {
    case: &'c Case<'c>,
    n_nodes: u32,
    /// What comes before what within transactions.
    order: Vec<(u32, u32)>,
}

impl Layout<'_> {
    fn node(&mut self) -> u32 {
        self.n_nodes += 1;
        self.n_nodes - 1
    }

    fn transaction(&mut self, txn: TxnIdx, snapshots: Snapshots) -> Nodes {
        let case = self.case;
        let observed = &case.trace.reads[txn as usize];
        let statement_of = |nth: usize| observed[nth].statement;
        let is_plain = |nth: &usize| observed[*nth].sees == Sees::Snapshot;
        let reads: Vec<usize> = case.run.reads[txn as usize].iter().map(|it| it.nth).collect();
        let mut nodes = Nodes::default();
        let mut statements: Vec<OpId> = reads.iter().map(|it| statement_of(*it)).collect();
        statements.sort_unstable();
        statements.dedup();
        // Reads of keys that nobody writes take the snapshot, too.
        let first_plain = observed.iter().filter(|it| it.sees == Sees::Snapshot).map(|it| it.statement).min();
        let mut shared = None;
        let mut chain: Vec<u32> = Vec::new();
        for statement in statements {
            let of_statement = || reads.iter().copied().filter(|it| statement_of(*it) == statement);
            let plain: Vec<usize> = of_statement().filter(is_plain).collect();
            let locked: Vec<usize> = of_statement().filter(|it| !is_plain(it)).collect();
            if !plain.is_empty() {
                let node = match (snapshots, shared) {
                    (Snapshots::PerTransaction, Some(node)) => node,
                    _ => self.node(),
                };
                nodes.of_reads.extend(plain.iter().map(|it| (*it, node)));
                match snapshots {
                    Snapshots::PerStatement => chain.push(node),
                    Snapshots::PerTransaction => shared = Some(node),
                }
            }
            if !locked.is_empty() {
                let node = self.node();
                nodes.of_reads.extend(locked.iter().map(|it| (*it, node)));
                chain.push(node);
            }
        }
        nodes.commit = self.node();
        chain.push(nodes.commit);
        self.order.extend(chain.windows(2).map(|it| (it[0], it[1])));
        nodes.first = vec![chain[0]];
        if let Some(snapshot) = shared {
            nodes.first.push(snapshot);
            self.order.push((snapshot, nodes.commit));
            // What is locked after the snapshot was taken comes after it.
            for (nth, node) in nodes.of_reads.iter().filter(|it| !is_plain(&it.0)) {
                if first_plain.is_some_and(|it| it <= statement_of(*nth)) {
                    self.order.push((snapshot, *node));
                }
            }
        }
        nodes
    }
}

//! What a level has against a run: cycles, each as a clause that no run of the level violates.
//!
//! Read committed, read atomic and causal consistency order the writers that a transaction has seen before the one it
//! reads from (Biswas & Enea 2019). The stronger levels choose an order of versions, and forbid cycles of dependencies
//! by their anti-dependencies: none at all for serializability, no two of them in a row for snapshot isolation, none but
//! those between what was read and what reads for prefix consistency, not one alone for parallel snapshot isolation
//! (Cerone & Gotsman 2018). Cost of one call: reads times writers of their keys.

use crate::frame::{Frame, at_most_one};
use crate::graph::{Graph, Reachable};
use crate::line::stands_after;
use crate::pieces::cycles_of_pieces;
use crate::run::{Role, Run, Seen};
use crate::trace::{INITIAL, Key, Trace, TxnIdx};
use crate::versions::Versions;
use iso_solve::{Lit, SatSolver};
use iso_spec::Level;
use rustc_hash::FxHashMap;

/// More objections to one run are not worth their time.
pub(crate) const MAX_OBJECTIONS: usize = 64;

/// The rules of a level in one solver.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    level: Level,
    /// Nothing for levels that order versions by what was seen.
    pub(crate) versions: Option<Versions>,
}

impl Rules {
    pub(crate) fn new(trace: &Trace, frame: &Frame, level: Level, solver: &mut impl SatSolver) -> Self {
        use Level::{CausalConsistency, ReadAtomic, ReadCommitted};
        let orders_what_was_seen = matches!(level, ReadCommitted | ReadAtomic | CausalConsistency);
        let versions = (!orders_what_was_seen).then(|| Versions::new(trace, frame, solver));
        if versions.is_some() && level != Level::PrefixConsistency && level.snapshots().is_none() {
            let_one_update(trace, frame, solver);
        }
        Self { level, versions }
    }

    /// Clauses that the model violates and every run of the level satisfies. None if the level allows the model's run.
    pub(crate) fn objections(&self, case: &Case<'_>, is_true: impl Fn(Lit) -> bool) -> Vec<Vec<Lit>> {
        let cycles = match &self.versions {
            None => case.cycles_of_seen(self.level),
            Some(versions) => match self.level.snapshots() {
                Some(snapshots) => cycles_of_pieces(case, snapshots, versions, is_true),
                None => case.cycles_of_versions(self.level, versions, is_true),
            },
        };
        let mut clauses: Vec<Vec<Lit>> = cycles.into_iter().map(|it| case.clause(it)).collect();
        clauses.sort_unstable();
        clauses.dedup();
        clauses
    }
}

/// Of all that read a version and overwrite it, only one may be there: the first committer wins.
fn let_one_update(trace: &Trace, frame: &Frame, solver: &mut impl SatSolver) {
    let mut updates: FxHashMap<(Key, TxnIdx), Vec<Lit>> = FxHashMap::default();
    for (key, writers) in (0..).zip(&trace.writers) {
        for txn in writers {
            let first = trace.reads[*txn as usize].iter().find(|it| it.key == Some(key));
            if let Some(read) = first {
                updates.entry((key, read.source)).or_default().push(frame.complete[*txn as usize]);
            }
            for (version, when) in stands_after(trace, frame, key, *txn) {
                let because = when.literal(frame, *txn);
                updates.entry((key, version)).or_default().extend(because);
            }
        }
    }
    let mut updates: Vec<_> = updates.into_iter().collect();
    updates.sort_unstable_by_key(|it| it.0);
    for (_, lits) in updates {
        at_most_one(&lits, solver);
    }
}

/// A run with what it was taken from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) frame: &'a Frame,
    pub(crate) run: &'a Run,
}

impl Case<'_> {
    pub(crate) fn txns(&self) -> impl Iterator<Item = TxnIdx> + '_ {
        self.trace.txns().filter(|it| self.run.is_in(*it))
    }

    /// Transactions on the boundary first: most cycles go through them.
    pub(crate) fn cut_first(&self) -> impl Iterator<Item = TxnIdx> + '_ {
        let is_cut = |txn: &TxnIdx| matches!(self.run.roles[*txn as usize], Role::Cut(_));
        self.txns().filter(move |it| is_cut(it)).chain(self.txns().filter(move |it| !is_cut(it)))
    }

    pub(crate) fn presence(&self, txn: TxnIdx) -> Lit {
        self.run.presence(self.frame, txn).expect("only transactions of the run are asked for")
    }

    /// Edges for session order and reads.
    fn add_causes(&self, graph: &mut Graph, nodes: Nodes) {
        for txn in self.txns() {
            if let Some(before) = self.trace.before_in_session(txn) {
                graph.add(nodes.end(before), nodes.start(txn), &[self.presence(txn)]);
            }
            for seen in self.run.reads[txn as usize].iter().filter(|it| it.source != INITIAL) {
                graph.add(nodes.end(seen.source), nodes.start(txn), &[seen.because]);
            }
        }
    }

    fn cycles_of_seen(&self, level: Level) -> Vec<Vec<Lit>> {
        let mut graph = Graph::new(self.trace.n_txns());
        let mut cycles = Vec::new();
        self.add_causes(&mut graph, Nodes::One);
        for txn in self.txns() {
            for seen in &self.run.reads[txn as usize] {
                for (writer, _) in &self.run.writers[seen.key as usize] {
                    if *writer == seen.source || *writer == txn || self.trace.happens_before(*writer, seen.source) {
                        continue;
                    }
                    let Some(because) = self.sees(level, txn, seen, *writer) else { continue };
                    if self.trace.happens_before(seen.source, *writer) {
                        cycles.push(vec![because, seen.because, self.presence(*writer)]);
                    } else {
                        graph.add(*writer, seen.source, &[because, seen.because]);
                    }
                }
            }
            if cycles.len() >= MAX_OBJECTIONS {
                return cycles;
            }
        }
        if cycles.is_empty() {
            cycles = graph.cycles(self.cut_first(), MAX_OBJECTIONS);
        }
        cycles
    }

    /// What says that the transaction, when it comes to the read, has seen the writer.
    fn sees(&self, level: Level, txn: TxnIdx, read: &Seen, writer: TxnIdx) -> Option<Lit> {
        let shows = |source: TxnIdx| match level {
            Level::CausalConsistency => self.trace.is_in_past(writer, source),
            _ => source == writer,
        };
        let before = self.trace.before_in_session(txn);
        let by_session = match level {
            Level::ReadCommitted => false,
            Level::ReadAtomic => self.trace.is_session_ordered(writer, txn),
            _ => before.is_some_and(|it| self.trace.is_in_past(writer, it)),
        };
        if by_session {
            return Some(self.presence(txn));
        }
        let is_early = |it: &&Seen| level != Level::ReadCommitted || it.nth < read.nth;
        let reads = self.run.reads[txn as usize].iter().filter(is_early);
        reads.filter(|it| it.source != INITIAL).find(|it| shows(it.source)).map(|it| it.because)
    }

    fn cycles_of_versions(&self, level: Level, versions: &Versions, is_true: impl Fn(Lit) -> bool) -> Vec<Vec<Lit>> {
        let nodes =
            if matches!(level, Level::SnapshotIsolation | Level::PrefixConsistency) { Nodes::Two } else { Nodes::One };
        let mut graph = Graph::new(nodes.count(self.trace.n_txns()));
        self.add_causes(&mut graph, nodes);
        if nodes == Nodes::Two {
            for txn in self.txns() {
                graph.add(nodes.start(txn), nodes.end(txn), &[]);
            }
        }
        self.for_versions(versions, &is_true, |from, to, because| {
            let to = if level == Level::PrefixConsistency { nodes.end(to) } else { nodes.start(to) };
            graph.add(nodes.end(from), to, because);
        });
        let is_alone = level == Level::ParallelSnapshotIsolation;
        let mut against = Vec::new();
        self.for_anti_dependencies(versions, is_true, |reader, _, overwriter, because| {
            if is_alone {
                against.push((reader, overwriter, because.to_vec()));
            } else {
                graph.add(nodes.start(reader), nodes.end(overwriter), because);
            }
        });
        let cycles = graph.cycles(self.cut_first().map(|it| nodes.end(it)), MAX_OBJECTIONS);
        if !cycles.is_empty() || !is_alone {
            return cycles;
        }
        cycles_with_one(&graph, &against)
    }

    /// Calls with each two writers of a key, in the order of their versions, and what says so.
    pub(crate) fn for_versions(
        &self,
        versions: &Versions,
        is_true: impl Fn(Lit) -> bool,
        mut then: impl FnMut(TxnIdx, TxnIdx, &[Lit]),
    ) {
        for writers in &self.run.writers {
            for (nth, (later, late)) in writers.iter().enumerate() {
                for (earlier, early) in &writers[..nth] {
                    let lit = versions.before(*earlier, *later);
                    let (from, to, lit) = if is_true(lit) { (*earlier, *later, lit) } else { (*later, *earlier, !lit) };
                    then(from, to, &[*early, *late, lit]);
                }
            }
        }
    }

    /// Calls with each transaction that read a version, its read, each that overwrote it, and what says so.
    pub(crate) fn for_anti_dependencies(
        &self,
        versions: &Versions,
        is_true: impl Fn(Lit) -> bool,
        mut then: impl FnMut(TxnIdx, &Seen, TxnIdx, &[Lit]),
    ) {
        for txn in self.txns() {
            for seen in &self.run.reads[txn as usize] {
                for (writer, wrote) in &self.run.writers[seen.key as usize] {
                    if *writer == txn || *writer == seen.source {
                        continue;
                    }
                    if seen.source == INITIAL {
                        then(txn, seen, *writer, &[seen.because, *wrote]);
                        continue;
                    }
                    let lit = versions.before(seen.source, *writer);
                    if is_true(lit) {
                        then(txn, seen, *writer, &[seen.because, *wrote, lit]);
                    }
                }
            }
        }
    }

    /// The clause that not all of these hold, without those that follow from others.
    fn clause(&self, mut lits: Vec<Lit>) -> Vec<Lit> {
        lits.sort_unstable();
        lits.dedup();
        let complete = |lit: &Lit| self.frame.complete_txn(*lit);
        let shown: Vec<TxnIdx> =
            lits.iter().filter_map(|it| complete(it).or_else(|| self.frame.writer_of(*it))).collect();
        let follows = |lit: &Lit| {
            complete(lit).is_some_and(|txn| shown.iter().any(|it| self.trace.happens_before(txn, *it)))
                || complete(lit).is_some_and(|txn| lits.iter().any(|it| self.frame.writer_of(*it) == Some(txn)))
        };
        lits.iter().filter(|it| !follows(it)).map(|it| !*it).collect()
    }
}

/// Cycles of a graph without cycles and one more edge.
fn cycles_with_one(graph: &Graph, against: &[(TxnIdx, TxnIdx, Vec<Lit>)]) -> Vec<Vec<Lit>> {
    let components = graph.components();
    debug_assert!(components.is_acyclic());
    let reachable = Reachable::new(graph, &components);
    let mut cycles = Vec::new();
    for (reader, overwriter, because) in against {
        if reachable.is_path(*overwriter, *reader) {
            let mut lits = graph.path(*overwriter, *reader, |_| true).expect("it is reachable");
            lits.extend(because);
            cycles.push(lits);
        }
        if cycles.len() >= MAX_OBJECTIONS {
            break;
        }
    }
    cycles
}

/// Whether a transaction is one node, or one for its snapshot and one for its commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nodes {
    One,
    Two,
}

impl Nodes {
    fn count(self, n_txns: usize) -> usize {
        match self {
            Self::One => n_txns,
            Self::Two => 2 * n_txns,
        }
    }

    fn start(self, txn: TxnIdx) -> u32 {
        match self {
            Self::One => txn,
            Self::Two => 2 * txn,
        }
    }

    fn end(self, txn: TxnIdx) -> u32 {
        match self {
            Self::One => txn,
            Self::Two => 2 * txn + 1,
        }
    }
}

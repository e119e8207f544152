//! How a reader comes to see a writer, at levels below prefix consistency.

use super::facts::{Fact, Reasons};
use super::hops::{Kind, hops, links, txn_of};
use crate::graph::{KnownEdge, Why};
use crate::known::Known;
use crate::rule::Visibility;
use crate::weak::{Sources, premise};
use iso_evidence::Sight;
use iso_history::TxnId;

/// Why a read must see another writer, given who read from whom, where that takes no order: the steps, and the reads
/// whose sources they need. Nothing for causal levels, and where the writer is not seen.
pub(super) fn direct_sight(
    known: &Known<'_>,
    sources: &Sources,
    read: usize,
    other: TxnId,
) -> Option<(Vec<Sight>, Vec<usize>)> {
    let problem = known.problem;
    let used = premise(problem, known.rule.visibility, sources, read, other);
    let reader = problem.reads[read].reader;
    let of = |read: usize| problem.reads[read].reader;
    let saw = |read: usize| sources[read].map(|it| Sight::Read(it, problem.reads[read].op));
    let sight = match (known.rule.visibility, used.as_slice()) {
        (Visibility::Causal | Visibility::CausalAndConflicting, _) => return None,
        (_, []) => {
            let is_seen = problem.is_session_ordered(other, reader);
            is_seen.then(|| vec![Sight::Session(other, reader)])?
        }
        (Visibility::SessionReads, [read]) => vec![saw(*read)?, Sight::Session(of(*read), reader)],
        (Visibility::WritersSessions, [read]) => vec![Sight::Session(other, sources[*read]?), saw(*read)?],
        (Visibility::WritersReads, [read, earlier]) => {
            let writer = sources[*read]?;
            let session = (of(*earlier) != writer).then_some(Sight::Session(of(*earlier), writer));
            [vec![saw(*earlier)?], session.into_iter().collect(), vec![saw(*read)?]].concat()
        }
        (_, [read, ..]) => vec![saw(*read)?],
    };
    Some((sight, used))
}

impl Reasons<'_> {
    /// Why a read must see another writer, as far as was known before: the steps, and what they rest on.
    pub(super) fn sight(&self, read: usize, other: TxnId, when: (u32, usize)) -> Option<(Vec<Sight>, Vec<Fact>)> {
        let (known, before) = (self.known, when.0);
        let reader = known.problem.reads[read].reader;
        let edge = known.rule.events.visibility(other, reader);
        match known.rule.visibility {
            Visibility::Causal => {
                self.sight_along(edge, before, |it| matches!(it.why, Why::Session | Why::ReadFrom { .. }))
            }
            Visibility::CausalAndConflicting => self.sight_along(edge, before, |_| true),
            visibility => {
                let sources = self.sources_before(when);
                if let Some((sight, used)) = direct_sight(known, &sources, read, other) {
                    return Some((sight, used.into_iter().map(Fact::Source).collect()));
                }
                let is_conflict = visibility == Visibility::DirectAndConflicting;
                let fact = Fact::Path { from: edge.0, to: edge.1, before };
                is_conflict.then(|| (vec![Sight::Conflict(other, reader)], vec![fact]))
            }
        }
    }

    fn sight_along(
        &self,
        (from, to): (u32, u32),
        before: u32,
        admits: impl Fn(&KnownEdge) -> bool,
    ) -> Option<(Vec<Sight>, Vec<Fact>)> {
        let path = self.known.graph.path(from, to, before, admits)?;
        let (mut sight, mut facts) = (Vec::new(), Vec::new());
        for hop in hops(self.known, &links(self.known, &path)) {
            let (earlier, later) = (txn_of(hop.from), txn_of(hop.to));
            let Kind::Other(edge_idx) = hop.why else {
                sight.push(Sight::Session(earlier, later));
                continue;
            };
            if let Why::ReadFrom { read } = self.known.graph.edges[edge_idx as usize].why {
                sight.push(Sight::Read(earlier, self.known.problem.reads[read].op));
                facts.push(Fact::Source(read));
            } else {
                sight.push(Sight::Conflict(earlier, later));
                facts.push(Fact::Edge(edge_idx));
            }
        }
        Some((sight, facts))
    }
}

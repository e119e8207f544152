//! Does each step of a proof follow by a rule of its level?
//!
//! The rules, and why they are valid, are those of `closure`, which looks for a contradiction where a proof shows one.
//! They are applied to the whole history, without a look at the core: a proof refutes the whole by itself.

use super::favourable::most_favourable;
use super::uncertified::{Uncertified, wrong};
use crate::{Assumption, Case, Contradiction, Edge, Reason, Refutation, Step};
use iso_history::{Facts, KeyId, OpId, Standing, TxnId};
use iso_spec::Level;

/// Steps and cases of larger proofs are not looked at: nobody can read them either.
const MAX_SIZE: usize = 10_000;

/// Checks the proof of a refutation, if it has one: it is about the cycle and the core of the refutation.
pub(super) fn check_proof(facts: &Facts<'_>, level: Level, refutation: &Refutation) -> Result<(), Uncertified> {
    let Some(proof) = refutation.proof.as_deref() else { return Ok(()) };
    if !level.implies(proof.level) {
        return Err(Uncertified::new(format!("a proof for {} says nothing about {level}", proof.level)));
    }
    let is_its_cycle = match &proof.contradiction {
        Contradiction::Cycle(steps) => steps.iter().map(|it| it.edge).eq(refutation.cycle.iter().copied()),
        Contradiction::Cases(_) => refutation.cycle.is_empty(),
    };
    if !is_its_cycle {
        return Err(Uncertified::new("a proof is about another cycle than its refutation"));
    }
    if proof.contradiction.size() > MAX_SIZE {
        return Err(Uncertified::too_large("a proof is too large to be checked; nothing says that it is wrong"));
    }
    match proof.level.with_sessions() {
        Some(level) => {
            let history = facts.history().without_sessions();
            check_steps(&Facts::new(&history), level, &proof.contradiction, &refutation.txns)
        }
        None => check_steps(facts, proof.level, &proof.contradiction, &refutation.txns),
    }
}

fn check_steps(
    facts: &Facts<'_>,
    level: Level,
    contradiction: &Contradiction,
    txns: &[TxnId],
) -> Result<(), Uncertified> {
    let check = |facts: &Facts<'_>| Checker { facts, level, txns, assumed: Vec::new() }.check(contradiction);
    match most_favourable(facts.history(), level) {
        Some(history) => check(&Facts::new(&history)),
        None => check(facts),
    }
}

/// An event of a transaction: it reads, or its writes take place.
type TxnEvent = (TxnId, Phase);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Start,
    Commit,
}

/// What is known at some place of a proof.
#[derive(Clone)]
struct Checker<'a> {
    facts: &'a Facts<'a>,
    level: Level,
    txns: &'a [TxnId],
    assumed: Vec<Assumption>,
}

impl Checker<'_> {
    fn check(&self, contradiction: &Contradiction) -> Result<(), Uncertified> {
        match contradiction {
            Contradiction::Cycle(steps) => self.check_cycle(steps),
            Contradiction::Cases(cases) => {
                if !self.is_complete(cases) {
                    return Err(Uncertified::new("a proof splits into cases that are not all that there are"));
                }
                self.check_cases(cases)
            }
        }
    }

    fn check_cases(&self, cases: &[Case]) -> Result<(), Uncertified> {
        cases.iter().try_for_each(|case| {
            let mut assuming = self.clone();
            assuming.assumed.push(case.assumed);
            assuming.check(&case.contradiction)
        })
    }

    /// Is one of the cases true in any execution?
    fn is_complete(&self, cases: &[Case]) -> bool {
        let assumed = |idx: usize| cases.get(idx).map(|it| it.assumed);
        match assumed(0) {
            Some(Assumption::Older { key, older, newer }) => {
                let opposite = Assumption::Older { key, older: newer, newer: older };
                cases.len() == 2 && assumed(1) == Some(opposite) && self.are_rivals(older, newer, key)
            }
            Some(Assumption::ReadFrom { read, .. }) => {
                let has_case = |writer: &TxnId| {
                    let wanted = Assumption::ReadFrom { read, writer: *writer };
                    cases.iter().any(|it| it.assumed == wanted)
                };
                self.candidates(read).is_some_and(|it| !it.is_empty() && it.iter().all(has_case))
            }
            None => false,
        }
    }

    /// Do both surely take place, and write the key?
    fn are_rivals(&self, one: TxnId, other: TxnId, key: KeyId) -> bool {
        let exists = one.index().max(other.index()) < self.facts.history().n_txns()
            && key.index() < self.facts.history().n_keys();
        exists && one != other && [one, other].iter().all(|it| self.counts(*it) && self.facts.writes(*it, key))
    }

    /// The order of events, or of what a reader must see, cannot be a cycle.
    fn check_cycle(&self, steps: &[Step]) -> Result<(), Uncertified> {
        steps.iter().try_for_each(|it| self.check_step(it))?;
        let follows = |idx: usize| steps[idx].edge.to == steps[(idx + 1) % steps.len()].edge.from;
        if steps.is_empty() || !(0..steps.len()).all(follows) {
            return Err(Uncertified::new("the steps of a proof do not follow each other"));
        }
        let first = self.leaves(&steps[0].edge);
        let mut turns = (0..steps.len()).map(|idx| [&steps[idx + 1..], &steps[..=idx]].concat());
        if self.leads(steps, first, first) || turns.any(|it| self.is_missed(&it)) {
            return Ok(());
        }
        Err(Uncertified::new(format!("{} allows the cycle of a proof", self.level)))
    }

    /// Does the last step say that its reader did not see somebody whom it must see by the others?
    fn is_missed(&self, steps: &[Step]) -> bool {
        let Some((missed, sight)) = steps.split_last() else { return false };
        let Edge { from, to, because: Reason::AntiDependency { read, .. } } = missed.edge else { return false };
        self.is_seen(sight, to, from, read)
    }

    fn check_step(&self, step: &Step) -> Result<(), Uncertified> {
        step.path.iter().try_for_each(|it| self.check_step(it))?;
        self.check_cases(&step.excluded)?;
        let Edge { from, to, because } = step.edge;
        let is_known = |it: TxnId| it.is_initial() || self.txns.binary_search(&it).is_ok();
        if !is_known(from) || !is_known(to) {
            return Err(Uncertified::new("a proof speaks of transactions that are not in its core"));
        }
        let is_right = from != to && self.counts(from) && self.counts(to) && self.follows(step);
        if is_right {
            return Ok(());
        }
        let history = self.facts.history();
        let what = format!("does not come before {} by {} as a proof says", history.label(to), because.short_name());
        Err(wrong(history, from, &what))
    }

    /// Does a step follow from what is below it, all of which is true?
    fn follows(&self, step: &Step) -> bool {
        let (history, Edge { from, to, because }) = (self.facts.history(), step.edge);
        let is_plain = step.path.is_empty() && step.excluded.is_empty();
        match because {
            Reason::Session => is_plain && history.is_session_ordered(from, to),
            Reason::RealTime => is_plain && self.level.needs_times() && history.is_real_time_ordered(from, to),
            Reason::ReadFrom { read } => {
                step.path.is_empty() && self.reader(read) == Some(to) && self.source(read, &step.excluded) == Some(from)
            }
            Reason::VersionOrder { key, shown_by } => self.is_older(step, key, shown_by),
            Reason::FirstCommitter { key } => {
                let is_unseen = self.leads(&step.path, (from, Phase::Start), (to, Phase::Commit));
                self.first_committer_wins() && is_unseen && step.excluded.is_empty() && self.are_rivals(from, to, key)
            }
            Reason::AntiDependency { key, read } => {
                let source = self.source(read, &step.excluded);
                self.reader(read) == Some(from)
                    && history.op(read).key() == key
                    && source.is_some_and(|it| self.is_overwritten(it, to, key, &step.path))
            }
        }
    }

    fn is_older(&self, step: &Step, key: KeyId, shown_by: Option<OpId>) -> bool {
        let Edge { from, to, .. } = step.edge;
        if !self.are_rivals(from, to, key) || to.is_initial() {
            return false;
        }
        if step.path.is_empty() && step.excluded.is_empty() {
            let assumed = Assumption::Older { key, older: from, newer: to };
            return self.is_plainly_older(from, to, key) || (shown_by.is_none() && self.assumed.contains(&assumed));
        }
        match shown_by {
            Some(read) => {
                self.source(read, &step.excluded) == Some(to)
                    && self.facts.history().op(read).key() == key
                    && self.reader(read).is_some_and(|it| it != from && self.is_seen(&step.path, from, it, read))
            }
            None => step.excluded.is_empty() && self.leads(&step.path, (from, Phase::Commit), self.arrives(&step.edge)),
        }
    }

    /// The initial version is the oldest, and the order of list versions has been seen.
    fn is_plainly_older(&self, older: TxnId, newer: TxnId, key: KeyId) -> bool {
        let place = |recovered: &[TxnId], txn| recovered.iter().position(|it| *it == txn);
        let is_shown = self.facts.recovered_order(key).is_some_and(|it| match place(&it.writers, older) {
            Some(first) => place(&it.writers, newer).is_none_or(|second| first < second),
            None => false,
        });
        older.is_initial() || is_shown
    }

    /// Is the version of the source older than that of another transaction?
    fn is_overwritten(&self, source: TxnId, other: TxnId, key: KeyId, path: &[Step]) -> bool {
        let is_older = if path.is_empty() {
            self.is_plainly_older(source, other, key)
        } else {
            self.leads(path, (source, Phase::Commit), (other, Phase::Commit))
        };
        is_older && self.are_rivals(source, other, key)
    }

    /// Does a transaction surely take place? An indeterminate one does if somebody read from it.
    fn counts(&self, txn: TxnId) -> bool {
        let is_source = |it: &Assumption| matches!(it, Assumption::ReadFrom { writer, .. } if *writer == txn);
        self.facts.standing(txn) == Standing::Counted || self.assumed.iter().any(is_source)
    }

    /// The transaction of a read whose source matters: it counts, and saw the version of another.
    fn reader(&self, read: OpId) -> Option<TxnId> {
        let reads = self.facts.reads();
        let reader = reads.binary_search_by_key(&read, |it| it.op).ok().map(|it| reads[it].reader);
        reader.filter(|it| self.counts(*it) && self.level != Level::ReadUncommitted)
    }

    fn candidates(&self, read: OpId) -> Option<&[TxnId]> {
        self.reader(read)?;
        self.facts.reads().binary_search_by_key(&read, |it| it.op).ok().map(|it| self.facts.candidates(it))
    }

    /// Whose version a read saw: what is assumed, or else the only possible writer that was not excluded.
    fn source(&self, read: OpId, excluded: &[Case]) -> Option<TxnId> {
        let candidates = self.candidates(read)?;
        let assumed = self.assumed.iter().find_map(|it| match it {
            Assumption::ReadFrom { read: of, writer } if *of == read => Some(*writer),
            _ => None,
        });
        let is_excluded = |writer: TxnId| {
            let assumed = Assumption::ReadFrom { read, writer };
            excluded.iter().any(|it| it.assumed == assumed)
        };
        let mut left = candidates.iter().copied().filter(|it| !is_excluded(*it));
        let only = left.next().filter(|_| left.next().is_none());
        assumed.or(only)
    }

    /// Do steps lead from one event to another, in the order of events?
    fn leads(&self, path: &[Step], from: TxnEvent, to: TxnEvent) -> bool {
        let mut at = self.event(from);
        for step in path {
            let leaves = self.leaves(&step.edge);
            if at.0 != leaves.0 || at.1 > leaves.1 || !self.is_order(&step.edge) {
                return false;
            }
            at = self.arrives(&step.edge);
        }
        let to = self.event(to);
        at.0 == to.0 && at.1 <= to.1
    }

    /// Does a dependency say which event is before which? Whoever was not seen may all the same have been before, unless
    /// everybody before is seen, or two writers of a key see each other.
    fn is_order(&self, edge: &Edge) -> bool {
        let is_conflict = || self.facts.final_writes(edge.from).iter().any(|(key, _)| self.facts.writes(edge.to, *key));
        match (edge.because, self.level) {
            (Reason::AntiDependency { .. }, Level::UpdateAtomic | Level::ParallelSnapshotIsolation) => is_conflict(),
            (Reason::AntiDependency { .. }, level) => level.implies(Level::PrefixConsistency),
            _ => true,
        }
    }

    /// Must a reader see a writer, because of these steps from one to the other?
    fn is_seen(&self, path: &[Step], writer: TxnId, reader: TxnId, read: OpId) -> bool {
        let is_path = self.leads(path, (writer, Phase::Commit), (reader, Phase::Start));
        let kinds: Vec<Reason> = path.iter().map(|it| it.edge.because).collect();
        let is_seen = match (self.level, kinds.as_slice()) {
            (_, []) | (Level::ReadUncommitted, _) => false,
            (Level::ReadCommitted, [Reason::ReadFrom { read: earlier }]) => *earlier < read,
            (Level::ReadYourWrites | Level::ReadAtomic | Level::UpdateAtomic, [Reason::Session])
            | (Level::ReadAtomic | Level::UpdateAtomic, [Reason::ReadFrom { .. }])
            | (Level::MonotonicReads, [Reason::ReadFrom { .. }, Reason::Session])
            | (Level::MonotonicWrites, [Reason::Session, Reason::ReadFrom { .. }])
            | (
                Level::WritesFollowReads,
                [Reason::ReadFrom { .. }, Reason::ReadFrom { .. }]
                | [Reason::ReadFrom { .. }, Reason::Session, Reason::ReadFrom { .. }],
            ) => true,
            (Level::UpdateAtomic, _) => {
                self.facts.final_writes(reader).iter().any(|(key, _)| self.facts.writes(writer, *key))
            }
            (Level::CausalConsistency, kinds) => {
                kinds.iter().all(|it| matches!(it, Reason::Session | Reason::ReadFrom { .. }))
            }
            (level, _) => level == Level::ParallelSnapshotIsolation || level.implies(Level::PrefixConsistency),
        };
        is_path && is_seen
    }

    fn first_committer_wins(&self) -> bool {
        matches!(self.level, Level::SnapshotIsolation | Level::StrongSnapshotIsolation)
    }

    /// Only snapshots are apart from commits.
    fn event(&self, (txn, phase): TxnEvent) -> TxnEvent {
        let has_snapshots = self.level == Level::PrefixConsistency || self.first_committer_wins();
        (txn, if has_snapshots { phase } else { Phase::Commit })
    }

    fn leaves(&self, edge: &Edge) -> TxnEvent {
        let is_read = matches!(edge.because, Reason::AntiDependency { .. });
        self.event((edge.from, if is_read { Phase::Start } else { Phase::Commit }))
    }

    fn arrives(&self, edge: &Edge) -> TxnEvent {
        let phase = match edge.because {
            Reason::AntiDependency { .. } => Phase::Commit,
            Reason::VersionOrder { .. } if !self.first_committer_wins() => Phase::Commit,
            _ => Phase::Start,
        };
        self.event((edge.to, phase))
    }
}

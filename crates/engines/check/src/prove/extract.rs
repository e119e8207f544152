//! From derivations to a proof: the steps written out, in the numbers of the whole history.

use super::derive::{Below, Derivations, WhyNot, way};
use iso_evidence::{Assumption, Case, Contradiction, Edge, Reason, Step};
use iso_history::{Facts, KeyId, OpId, Projection, TxnId};
use iso_spec::Level;

impl Derivations<'_> {
    /// The cheapest contradiction, if there is one.
    pub(super) fn contradiction(&self) -> Option<Contradiction> {
        let all = [self.order_cycle(), self.missed_cycle(), self.no_writer()];
        all.into_iter().flatten().min_by_key(|it| it.0).map(|it| it.1)
    }

    /// A cycle with all of its derivations; none if not all of its edges follow.
    pub(super) fn cycle(&self, cycle: &[Edge]) -> Option<Contradiction> {
        let place = |edge: &Edge| self.known.iter().position(|it| it.edge == *edge);
        let edges: Vec<usize> = cycle.iter().map(place).collect::<Option<_>>()?;
        Some(Contradiction::Cycle(self.steps(&edges)))
    }

    fn order_cycle(&self) -> Option<(u32, Contradiction)> {
        let closes = |idx: usize| {
            let (from, to) = self.events(&self.known[idx].edge);
            let rest = self.routes.cost(to, from)?;
            self.is_order(&self.known[idx].edge).then_some((self.known[idx].cost + rest, idx))
        };
        let (cost, first) = (0..self.known.len()).filter_map(closes).min()?;
        let (from, to) = self.events(&self.known[first].edge);
        let edges = [vec![first], self.routes.path(to, from)].concat();
        Some((cost, Contradiction::Cycle(self.steps(&edges))))
    }

    /// Somebody did not see whom it must see.
    fn missed_cycle(&self) -> Option<(u32, Contradiction)> {
        let missed = |idx: usize| {
            let known = self.known[idx];
            let (Reason::AntiDependency { .. }, Some((read, _))) = (known.edge.because, known.read) else {
                return None;
            };
            Some((known.cost + self.sight_cost(known.edge.to, read)?, idx, read))
        };
        let (cost, last, read) = (0..self.known.len()).filter_map(missed).min()?;
        let edges = [self.sight(self.known[last].edge.to, read)?, vec![last]].concat();
        Some((cost, Contradiction::Cycle(self.steps(&edges))))
    }

    /// Nobody can have written what a read saw.
    fn no_writer(&self) -> Option<(u32, Contradiction)> {
        let impossible = |read: usize| {
            let at = self.facts.reads()[read];
            let costs = self.facts.candidates(read).iter().map(|it| self.why_not(*it, read).map(|it| 1 + it.0));
            let cost: u32 = costs.sum::<Option<u32>>()?;
            (self.counts(at.reader) && self.facts.candidates(read).len() > 1).then_some((cost, read))
        };
        let (cost, read) = (0..self.facts.reads().len()).filter_map(impossible).min()?;
        let cases = self.facts.candidates(read).iter().filter_map(|it| self.excluded(*it, read)).collect();
        Some((cost, Contradiction::Cases(cases)))
    }

    fn steps(&self, edges: &[usize]) -> Vec<Step> {
        edges.iter().map(|it| self.step(*it)).collect()
    }

    fn step(&self, idx: usize) -> Step {
        let known = self.known[idx];
        Step {
            edge: known.edge,
            excluded: known.read.map(|(read, source)| self.all_excluded(read, source)).unwrap_or_default(),
            path: self.below(known.below),
        }
    }

    fn below(&self, below: Below) -> Vec<Step> {
        let edges = match below {
            Below::Nothing => None,
            Below::Sight(writer, read) => self.sight(writer, read),
            Below::Order(from, to) => way(&self.routes, from, to),
        };
        self.steps(&edges.unwrap_or_default())
    }

    /// Why all possible writers of a read but its source are impossible.
    fn all_excluded(&self, read: usize, source: TxnId) -> Vec<Case> {
        let at = self.facts.reads()[read].op;
        let is_assumed = |it: &Assumption| matches!(it, Assumption::ReadFrom { read, .. } if *read == at);
        if self.assumed.iter().any(is_assumed) {
            return Vec::new();
        }
        let others = self.facts.candidates(read).iter().filter(|it| **it != source);
        others.filter_map(|it| self.excluded(*it, read)).collect()
    }

    fn excluded(&self, writer: TxnId, read: usize) -> Option<Case> {
        let at = self.facts.reads()[read];
        let steps = match self.why_not(writer, read)?.1 {
            WhyNot::Never => return self.never(writer, read).cloned(),
            WhyNot::After => {
                let because = Reason::ReadFrom { read: at.op };
                let assumed = Step::plain(Edge { from: writer, to: at.reader, because });
                let rest = way(&self.routes, self.start(at.reader), self.commit(writer))?;
                [vec![assumed], self.steps(&rest)].concat()
            }
            WhyNot::HiddenBy(other) => {
                let because = Reason::AntiDependency { key: at.key, read: at.op };
                let edge = Edge { from: at.reader, to: other, because };
                let (_, below) = self.older(writer, other, at.key)?;
                let missed = Step { edge, excluded: Vec::new(), path: self.below(below) };
                [self.steps(&self.sight(other, read)?), vec![missed]].concat()
            }
        };
        let assumed = Assumption::ReadFrom { read: at.op, writer };
        Some(Case { assumed, contradiction: Contradiction::Cycle(steps) })
    }
}

/// The cycle with version orders where they are what counts: whoever did not see another writer of one of its keys has
/// the older version of that, and so is seen by the other. Only parallel snapshot isolation and update atomic ask this.
pub(super) fn with_version_orders(facts: &Facts<'_>, level: Level, cycle: Contradiction) -> Contradiction {
    let Contradiction::Cycle(steps) = cycle else { return cycle };
    let is_asked = matches!(level, Level::ParallelSnapshotIsolation | Level::UpdateAtomic);
    let told = |step: Step| {
        let Edge { from, to, because } = step.edge;
        let Reason::AntiDependency { key: missed, .. } = because else { return step };
        let mut common = facts.final_writes(from).iter().map(|it| it.0).filter(|it| facts.writes(to, *it));
        match common.clone().next().filter(|_| is_asked && !common.any(|it| it == missed)) {
            Some(key) => {
                let because = Reason::VersionOrder { key, shown_by: None };
                Step { edge: Edge { from, to, because }, excluded: Vec::new(), path: vec![step] }
            }
            None => step,
        }
    };
    Contradiction::Cycle(steps.into_iter().map(told).collect())
}

/// The contradiction without what is assumed anyway: whoever assumes the source of a read need not find it.
pub(super) fn trimmed(contradiction: Contradiction, assumed: &[Assumption]) -> Contradiction {
    match contradiction {
        Contradiction::Cycle(steps) => Contradiction::Cycle(trimmed_steps(steps, assumed)),
        Contradiction::Cases(cases) => Contradiction::Cases(trimmed_cases(cases, assumed)),
    }
}

fn trimmed_cases(cases: Vec<Case>, assumed: &[Assumption]) -> Vec<Case> {
    let trim = |case: Case| {
        let assumed = [assumed, &[case.assumed]].concat();
        Case { contradiction: trimmed(case.contradiction, &assumed), ..case }
    };
    cases.into_iter().map(trim).collect()
}

fn trimmed_steps(steps: Vec<Step>, assumed: &[Assumption]) -> Vec<Step> {
    let is_assumed = |op: OpId| assumed.iter().any(|it| matches!(it, Assumption::ReadFrom { read, .. } if *read == op));
    let trim = |step: Step| {
        let excluded = if step.read().is_some_and(is_assumed) { Vec::new() } else { step.excluded };
        Step { edge: step.edge, excluded: trimmed_cases(excluded, assumed), path: trimmed_steps(step.path, assumed) }
    };
    steps.into_iter().map(trim).collect()
}

/// Does a contradiction depend on an assumption?
pub(super) fn uses(contradiction: &Contradiction, assumed: Assumption) -> bool {
    let in_case = |it: &Case| uses(&it.contradiction, assumed);
    match contradiction {
        Contradiction::Cycle(steps) => steps.iter().any(|it| step_uses(it, assumed)),
        Contradiction::Cases(cases) => cases.iter().any(in_case),
    }
}

fn step_uses(step: &Step, assumed: Assumption) -> bool {
    let is_it = match assumed {
        Assumption::Older { key, older, newer } => {
            step.edge == Edge { from: older, to: newer, because: Reason::VersionOrder { key, shown_by: None } }
        }
        // It may be as important that the writer took place.
        Assumption::ReadFrom { read, writer } => {
            step.read() == Some(read) || [step.edge.from, step.edge.to].contains(&writer)
        }
    };
    is_it
        || step.path.iter().any(|it| step_uses(it, assumed))
        || step.excluded.iter().any(|it| uses(&it.contradiction, assumed))
}

/// An edge in the numbers of the core.
pub(super) fn in_core(core: &Projection, edge: &Edge) -> Option<Edge> {
    let txn = |it: TxnId| core.txns.binary_search(&it).ok().map(TxnId::from_index);
    let op = |it: OpId| core.ops.binary_search(&it).ok().map(OpId::from_index);
    let key = |it: KeyId| core.keys.iter().position(|other| *other == it).map(KeyId::from_index);
    let because = match edge.because {
        Reason::Session | Reason::RealTime => edge.because,
        Reason::ReadFrom { read } => Reason::ReadFrom { read: op(read)? },
        Reason::VersionOrder { key: of, shown_by: None } => Reason::VersionOrder { key: key(of)?, shown_by: None },
        Reason::VersionOrder { key: of, shown_by: Some(read) } => {
            Reason::VersionOrder { key: key(of)?, shown_by: Some(op(read)?) }
        }
        Reason::FirstCommitter { key: of } => Reason::FirstCommitter { key: key(of)? },
        Reason::AntiDependency { key: of, read } => Reason::AntiDependency { key: key(of)?, read: op(read)? },
    };
    Some(Edge { from: txn(edge.from)?, to: txn(edge.to)?, because })
}

/// A contradiction in the numbers of the whole history.
pub(super) fn in_whole(core: &Projection, contradiction: &Contradiction) -> Contradiction {
    let case = |it: &Case| case_in_whole(core, it);
    match contradiction {
        Contradiction::Cycle(steps) => Contradiction::Cycle(steps.iter().map(|it| step_in_whole(core, it)).collect()),
        Contradiction::Cases(cases) => Contradiction::Cases(cases.iter().map(case).collect()),
    }
}

fn case_in_whole(core: &Projection, case: &Case) -> Case {
    let txn = |it: TxnId| core.txns[it.index()];
    let assumed = match case.assumed {
        Assumption::Older { key, older, newer } => {
            Assumption::Older { key: core.keys[key.index()], older: txn(older), newer: txn(newer) }
        }
        Assumption::ReadFrom { read, writer } => {
            Assumption::ReadFrom { read: core.ops[read.index()], writer: txn(writer) }
        }
    };
    Case { assumed, contradiction: in_whole(core, &case.contradiction) }
}

fn step_in_whole(core: &Projection, step: &Step) -> Step {
    let op = |it: OpId| core.ops[it.index()];
    let key = |it: KeyId| core.keys[it.index()];
    let because = match step.edge.because {
        Reason::Session | Reason::RealTime => step.edge.because,
        Reason::ReadFrom { read } => Reason::ReadFrom { read: op(read) },
        Reason::VersionOrder { key: of, shown_by } => Reason::VersionOrder { key: key(of), shown_by: shown_by.map(op) },
        Reason::FirstCommitter { key: of } => Reason::FirstCommitter { key: key(of) },
        Reason::AntiDependency { key: of, read } => Reason::AntiDependency { key: key(of), read: op(read) },
    };
    let (from, to) = (core.txns[step.edge.from.index()], core.txns[step.edge.to.index()]);
    Step {
        edge: Edge { from, to, because },
        excluded: step.excluded.iter().map(|it| case_in_whole(core, it)).collect(),
        path: step.path.iter().map(|it| step_in_whole(core, it)).collect(),
    }
}

//! Proofs as sentences: every dependency with what it follows from, down to what stands in the input.

use crate::build::Builder;
use crate::document::{Case, Link, Premises};
use crate::explain::Explainer;
use iso_evidence::{Assumption, Case as ProofCase, Contradiction, Edge, Reason, Refutation, Step};
use iso_history::{OpId, TxnId};

impl Builder<'_> {
    /// The cycle of a refutation, with what its edges follow from if that is known.
    pub(crate) fn cycle(&self, explainer: &Explainer<'_>, refutation: &Refutation) -> Vec<Link> {
        match refutation.proof.as_ref().map(|it| &it.contradiction) {
            Some(Contradiction::Cycle(steps)) => Telling::new(self, explainer).links(steps),
            _ => refutation.cycle.iter().map(|it| self.link(explainer, it)).collect(),
        }
    }

    /// What may be the case, if no single cycle refutes it.
    pub(crate) fn cases(&self, explainer: &Explainer<'_>, refutation: &Refutation) -> Vec<Case> {
        match refutation.proof.as_ref().map(|it| &it.contradiction) {
            Some(Contradiction::Cases(cases)) => Telling::new(self, explainer).cases(cases),
            _ => Vec::new(),
        }
    }
}

/// A proof being told, with what is supposed at the moment.
struct Telling<'a, 'h> {
    builder: &'a Builder<'h>,
    explainer: &'a Explainer<'a>,
    supposed: Vec<Assumption>,
}

impl<'a, 'h> Telling<'a, 'h> {
    fn new(builder: &'a Builder<'h>, explainer: &'a Explainer<'a>) -> Self {
        Self { builder, explainer, supposed: Vec::new() }
    }

    fn links(&mut self, steps: &[Step]) -> Vec<Link> {
        steps.iter().map(|it| self.link(it)).collect()
    }

    fn cases(&mut self, cases: &[ProofCase]) -> Vec<Case> {
        cases.iter().map(|it| self.case(it)).collect()
    }

    fn case(&mut self, case: &ProofCase) -> Case {
        let supposed = Box::new(self.supposition(case.assumed));
        self.supposed.push(case.assumed);
        let (links, cases) = match &case.contradiction {
            Contradiction::Cycle(steps) => (self.links(steps), Vec::new()),
            Contradiction::Cases(cases) => (Vec::new(), self.cases(cases)),
        };
        self.supposed.pop();
        Case { supposed, links, cases }
    }

    fn supposition(&self, assumed: Assumption) -> Link {
        let history = self.explainer.history;
        let (edge, because) = match assumed {
            Assumption::Older { key, older, newer } => {
                let because = Reason::VersionOrder { key, shown_by: None };
                (Edge { from: older, to: newer, because }, self.explainer.version_claim(older, newer, key))
            }
            Assumption::ReadFrom { read, writer } => {
                let edge = Edge { from: writer, to: history.txn_of(read), because: Reason::ReadFrom { read } };
                (edge, self.explainer.edge(&edge))
            }
        };
        Link { because, ..self.builder.link(self.explainer, &edge) }
    }

    fn link(&mut self, step: &Step) -> Link {
        let premises =
            Premises { claim: self.claim(step), links: self.links(&step.path), cases: self.cases(&step.excluded) };
        Link { because: self.sentence(step), premises, ..self.builder.link(self.explainer, &step.edge) }
    }

    /// Why an edge is there, where the proof knows more than the edge.
    fn sentence(&self, step: &Step) -> String {
        let Edge { from, to, because } = step.edge;
        let label = |txn| self.explainer.history.label(txn);
        match because {
            Reason::VersionOrder { key, shown_by: None } if !from.is_initial() => {
                let claim = self.explainer.version_claim(from, to, key);
                match step.path.as_slice() {
                    [] => format!("{claim}, in this case"),
                    _ => format!("{claim}, because {} comes before {}", label(from), label(to)),
                }
            }
            Reason::ReadFrom { read } if self.supposed_source(read).is_some() => {
                format!("{}, in this case", self.explainer.edge(&step.edge))
            }
            Reason::AntiDependency { key, read } => {
                self.explainer.overwritten(from, to, key, (read, self.source(step)))
            }
            _ => self.explainer.edge(&step.edge),
        }
    }

    /// What the steps below a step show.
    fn claim(&self, step: &Step) -> Option<String> {
        let Edge { from, to, because } = step.edge;
        let label = |txn| self.explainer.history.label(txn);
        if step.path.is_empty() {
            return None;
        }
        match because {
            // A single step says so itself.
            Reason::VersionOrder { .. } if step.path.len() == 1 => None,
            Reason::VersionOrder { shown_by: Some(read), .. } => {
                Some(format!("{} comes after {}", label(self.explainer.history.txn_of(read)), label(from)))
            }
            Reason::VersionOrder { shown_by: None, .. } => Some(format!("{} comes before {}", label(from), label(to))),
            Reason::FirstCommitter { .. } => Some(format!("{} did not see {}", label(from), label(to))),
            Reason::AntiDependency { key, .. } => match (step.path.as_slice(), self.source(step)) {
                // It says so itself.
                ([Step { edge: Edge { because: Reason::VersionOrder { key: of, .. }, .. }, .. }], _) if *of == key => {
                    None
                }
                (_, Some(source)) => Some(self.explainer.version_claim(source, to, key)),
                (_, None) => None,
            },
            Reason::Session | Reason::RealTime | Reason::ReadFrom { .. } => None,
        }
    }

    fn supposed_source(&self, of: OpId) -> Option<TxnId> {
        self.supposed.iter().find_map(|it| match it {
            Assumption::ReadFrom { read, writer } if *read == of => Some(*writer),
            _ => None,
        })
    }

    /// Whose version the read of a step saw: what is supposed, or who is not excluded.
    fn source(&self, step: &Step) -> Option<TxnId> {
        let of = step.read()?;
        let facts = self.explainer.facts;
        let read_idx = facts.reads().binary_search_by_key(&of, |it| it.op).ok()?;
        let is_excluded = |writer: TxnId| {
            let assumed = Assumption::ReadFrom { read: of, writer };
            step.excluded.iter().any(|it| it.assumed == assumed)
        };
        let mut left = facts.candidates(read_idx).iter().copied().filter(|it| !is_excluded(*it));
        let only = left.next().filter(|_| left.next().is_none());
        self.supposed_source(of).or(only)
    }
}

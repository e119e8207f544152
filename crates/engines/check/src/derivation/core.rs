//! The transactions and reads that a derivation speaks of: they are forbidden by themselves.

use super::hops::txn_of;
use iso_evidence::{Axiom, Derivation, Inference, Sight, Unless};
use iso_history::{Facts, OpId, TxnId};
use std::collections::BTreeSet;

/// A core, ascending: everybody whom the derivation names, and whoever may have written what a read of it saw; and the
/// reads that it names.
pub(crate) fn core_of(facts: &Facts<'_>, derivation: &Derivation) -> (Vec<TxnId>, BTreeSet<OpId>) {
    let mut core = Core { facts, txns: BTreeSet::new(), reads: BTreeSet::new() };
    for inference in &derivation.inferences {
        match inference {
            Inference::Axiom(axiom) => core.axiom(axiom),
            Inference::Acyclic(events) => core.txns.extend(events.iter().map(|it| txn_of(*it))),
            Inference::Resolvent { .. } | Inference::Forget(_) => {}
        }
    }
    (core.txns.into_iter().filter(|it| !it.is_initial()).collect(), core.reads)
}

struct Core<'a> {
    facts: &'a Facts<'a>,
    txns: BTreeSet<TxnId>,
    reads: BTreeSet<OpId>,
}

impl Core<'_> {
    fn axiom(&mut self, axiom: &Axiom) {
        match axiom {
            Axiom::Session { earlier, later } | Axiom::RealTime { earlier, later } => {
                self.txns.extend([earlier, later]);
            }
            Axiom::VersionOrder { key, older, newer } => {
                self.txns.extend([older, newer]);
                // The list read that shows it, and whose version that read saw.
                if let Some(recovered) = self.facts.recovered_order(*key) {
                    self.read(recovered.shown_by);
                }
            }
            Axiom::FirstCommitter { one, other, .. } => self.txns.extend([one, other]),
            Axiom::Found { read, other, unless } => {
                self.read(*read);
                self.txns.insert(*other);
                self.txns.extend(unless.iter().filter_map(|it| match it.1 {
                    Unless::IsNotHiddenBy(hiding) => Some(hiding),
                    Unless::IsBefore => None,
                }));
            }
            Axiom::Between { older, newer, reader, .. } => self.txns.extend([older, newer, reader]),
            Axiom::Sources { read } | Axiom::Source { read, .. } => self.read(*read),
            Axiom::Overwritten { read, other, sight, .. } => {
                self.read(*read);
                self.txns.insert(*other);
                for step in sight {
                    self.sight(*step);
                }
            }
        }
    }

    fn sight(&mut self, step: Sight) {
        match step {
            Sight::Session(from, to) | Sight::Conflict(from, to) => self.txns.extend([from, to]),
            Sight::Read(_, read) => self.read(read),
        }
    }

    fn read(&mut self, read: OpId) {
        self.reads.insert(read);
        self.txns.insert(self.facts.history().txn_of(read));
        if let Ok(place) = self.facts.reads().binary_search_by_key(&read, |it| it.op) {
            self.txns.extend(self.facts.candidates(place));
        }
    }
}

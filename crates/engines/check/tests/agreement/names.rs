//! Are anomalies called what they are? What the pages of `docs/anomalies` say of a name holds of the core, and equal
//! cycles have equal names, whatever the level.

use iso_evidence::{Anomaly, Edge, Reason, Refutation};
use iso_history::{Facts, KeyId, OpId, Projection, TxnId};
use iso_spec::{Catalogue, Level, Steps, evaluate};
use std::collections::BTreeSet;

/// What is wrong with the names of these refutations.
pub(crate) fn wrong_names(facts: &Facts<'_>, refutations: &[(Level, Refutation)]) -> Vec<String> {
    // Where a list has several meanings, the facts do not say who read what.
    if facts.ambiguous_list().is_some() {
        return Vec::new();
    }
    let mut wrong = Vec::new();
    for (idx, (level, refutation)) in refutations.iter().enumerate() {
        let alone = level.with_sessions().map(|_| facts.history().without_sessions());
        let alone = alone.as_ref().map(Facts::new);
        let core = Core { facts: alone.as_ref().unwrap_or(facts), refutation };
        for anomaly in refutation.anomalies.iter().filter(|it| !core.fits(**it, *level)) {
            wrong.push(format!("{level}: what is called {anomaly} is none"));
        }
        // Where a read has several possible writers, a cycle tells one case only.
        let tells_all = !refutation.cycle.is_empty() && !facts.has_ambiguous_reads();
        let is_same = |it: &&(Level, Refutation)| {
            // Levels of databases have cores of their own: which of two reads comes first may differ.
            let are_alike = it.0.with_sessions().is_some() == level.with_sessions().is_some()
                && it.0.snapshots() == level.snapshots();
            tells_all && are_alike && it.1.cycle == refutation.cycle && it.1.txns == refutation.txns
        };
        for (_, other) in refutations[..idx].iter().filter(is_same) {
            if other.anomalies != refutation.anomalies {
                let (one, two) = (other.anomalies[0], refutation.anomalies[0]);
                wrong.push(format!("the same cycle is called {one} and {two}"));
            }
        }
    }
    wrong
}

struct Core<'a> {
    facts: &'a Facts<'a>,
    refutation: &'a Refutation,
}

/// A read of the core, and who may have written what it saw.
struct CoreRead<'a> {
    op: OpId,
    reader: TxnId,
    key: KeyId,
    writers: &'a [TxnId],
}

impl Core<'_> {
    /// Does the core have what the name says?
    fn fits(&self, anomaly: Anomaly, level: Level) -> bool {
        let cycle = &self.refutation.cycle;
        let n_rw = cycle.iter().filter(|it| matches!(it.because, Reason::AntiDependency { .. })).count();
        let all = |kinds: &[&str]| cycle.iter().all(|it| kinds.contains(&it.because.short_name()));
        // A version order that was inferred may stand for more than one step, and so may the choice of a writer.
        let is_inferred = |it: &Edge| matches!(it.because, Reason::VersionOrder { .. });
        let is_open = cycle.is_empty() || cycle.iter().any(is_inferred) || self.facts.has_ambiguous_reads();
        match anomaly {
            Anomaly::DirtyWrite => all(&["so", "ww"]),
            Anomaly::CircularInformationFlow => all(&["so", "wr", "ww"]),
            Anomaly::StaleOwnWrite => self.misses(&|it, missed| self.is_own(missed, it.reader)),
            Anomaly::NonMonotonicRead => self.misses(&|it, missed| self.read_from(it, missed, true)),
            Anomaly::FracturedRead => self.misses(&|it, missed| self.read_from(it, missed, false)),
            Anomaly::CausalityViolation => self.misses(&|it, missed| self.past(it.reader).contains(&missed)),
            Anomaly::LostUpdate => self.loses_an_update(),
            Anomaly::LongFork => {
                self.has_two_readers_who_miss() && self.is_forbidden(Level::ParallelSnapshotIsolation) != Some(true)
            }
            Anomaly::G2Item => n_rw >= 1 || is_open,
            // Of two writers of a key that miss each other, one is the older: the cycle is one in either case.
            Anomaly::GSingle => {
                let n_pure = cycle.iter().filter(|it| self.is_pure_anti_dependency(it)).count();
                (n_pure <= 1 || is_open) && self.is_forbidden(Level::ParallelSnapshotIsolation) != Some(false)
            }
            Anomaly::WriteSkew => n_rw == 2 && on_cycle(cycle).len() == 2,
            Anomaly::ReadOnlyAnomaly => on_cycle(cycle).len() == 3 && self.has_read_only(),
            // Real time may be what a step was inferred from.
            Anomaly::StaleRead => level.needs_times(),
            // Those are about one read.
            _ => true,
        }
    }

    fn reads(&self) -> impl Iterator<Item = CoreRead<'_>> {
        let is_in = |op: &OpId| self.refutation.ops.binary_search(op).is_ok();
        let reads = self.facts.reads().iter().enumerate().filter(move |it| is_in(&it.1.op));
        reads.map(|(idx, it)| CoreRead {
            op: it.op,
            reader: it.reader,
            key: it.key,
            writers: self.facts.candidates(idx),
        })
    }

    /// Does a read miss another writer of its key, of which something else is true?
    fn misses(&self, is_so: &dyn Fn(&CoreRead<'_>, TxnId) -> bool) -> bool {
        // Where a read has several possible writers, each case may miss another one.
        self.facts.has_ambiguous_reads()
            || self.reads().any(|read| {
                let others = self.refutation.txns.iter().copied();
                let mut missed = others.filter(|it| self.facts.writes(*it, read.key) && !read.writers.contains(it));
                missed.any(|it| it != read.reader && is_so(&read, it))
            })
    }

    fn is_own(&self, earlier: TxnId, later: TxnId) -> bool {
        self.facts.history().is_session_ordered(earlier, later)
    }

    /// Did the reader see this writer by another read, an earlier one if that matters?
    fn read_from(&self, read: &CoreRead<'_>, writer: TxnId, is_earlier: bool) -> bool {
        self.reads()
            .any(|it| it.reader == read.reader && it.writers.contains(&writer) && (!is_earlier || it.op < read.op))
    }

    /// Whoever is before a transaction by session order and reads-from.
    fn past(&self, of: TxnId) -> BTreeSet<TxnId> {
        let mut past = BTreeSet::new();
        let mut pending = vec![of];
        while let Some(txn) = pending.pop() {
            let own = self.refutation.txns.iter().copied().filter(|it| self.is_own(*it, txn));
            let read = self.reads().filter(|it| it.reader == txn).flat_map(|it| it.writers.to_vec());
            let before: Vec<TxnId> = own.chain(read).collect();
            pending.extend(before.into_iter().filter(|it| past.insert(*it)));
        }
        past
    }

    /// Do two transactions write a key of which both read the same version?
    fn loses_an_update(&self) -> bool {
        let updates: Vec<CoreRead<'_>> = self.reads().filter(|it| self.facts.writes(it.reader, it.key)).collect();
        updates.iter().any(|one| {
            let is_rival = |it: &&CoreRead<'_>| it.reader != one.reader && it.key == one.key;
            updates.iter().filter(is_rival).any(|it| it.writers.iter().any(|writer| one.writers.contains(writer)))
        })
    }

    /// Is there more than one transaction with a read that misses another writer of its key?
    fn has_two_readers_who_miss(&self) -> bool {
        let misses = |read: &CoreRead<'_>| {
            let mut others = self.refutation.txns.iter();
            others.any(|it| *it != read.reader && self.facts.writes(*it, read.key) && !read.writers.contains(it))
        };
        self.reads().filter(misses).map(|it| it.reader).collect::<BTreeSet<TxnId>>().len() >= 2
    }

    /// Does the definition of a level forbid the core, as far as it is known soon?
    fn is_forbidden(&self, by: Level) -> Option<bool> {
        const MAX_WORK: u64 = 2_000_000;
        let is_named = |it: OpId| self.refutation.ops.binary_search(&it).is_ok();
        let core = Projection::verbatim(self.facts.history(), &self.refutation.txns, is_named);
        let steps = MAX_WORK / (core.txns.len() as u64).pow(3);
        let answer = evaluate(&Facts::new(&core.history), Catalogue::builtin().of(by), &mut Steps::new(steps));
        answer.is_allowed().map(|it| !it)
    }

    fn is_pure_anti_dependency(&self, edge: &Edge) -> bool {
        let history = self.facts.history();
        let has_rival = || history.keys().any(|it| self.facts.writes(edge.from, it) && self.facts.writes(edge.to, it));
        matches!(edge.because, Reason::AntiDependency { .. }) && !has_rival()
    }

    fn has_read_only(&self) -> bool {
        let is_write = |it: &OpId| self.facts.history().op(*it).is_write();
        let writers: BTreeSet<TxnId> =
            (self.refutation.ops.iter().filter(|it| is_write(it))).map(|it| self.facts.history().txn_of(*it)).collect();
        self.refutation.txns.iter().any(|it| !writers.contains(it))
    }
}

fn on_cycle(cycle: &[Edge]) -> BTreeSet<TxnId> {
    cycle.iter().flat_map(|it| [it.from, it.to]).collect()
}

//! Is a core forbidden whatever its lists mean, and whoever committed? Replayed case by case, without search.
//!
//! An element that several transactions appended, or a reader that may not have committed, gives a list several meanings,
//! and the core is forbidden if each of them is. What the meanings are is asked of the core, and never of the evidence.
//! Cost: that of the derivations, and a copy of the core for each meaning.

use super::derivation::certify_derivation;
use super::pieces::certify_in_pieces;
use super::stands::{check_membership, check_none_aborted, check_reads_stand, project};
use super::uncertified::Uncertified;
use crate::{Grounds, Refutation};
use iso_history::{Facts, History, LocalAnomaly, LocalKind, OpId, Outcome, TxnId};
use iso_spec::Level;
use std::collections::{BTreeMap, BTreeSet};

/// Checks that a level forbids a core.
pub(super) fn certify_grounds(core: &History, level: Level, grounds: &Grounds) -> Result<(), Uncertified> {
    let facts = Facts::new(core);
    let has_mixed_lists = level == Level::ReadUncommitted && !core.mixed_lists().is_empty();
    match grounds {
        _ if has_mixed_lists => Mixed::new(core, level).check(grounds, &mut Vec::new()),
        Grounds::Cases(told) if facts.ambiguous_list().is_some() => check_cases(&facts.cases(), level, told),
        Grounds::Cases(_) => Err(refused("its lists have one meaning")),
        Grounds::Outcomes { txn, committed, aborted } => {
            if txn.index() >= core.n_txns() || core.outcome(*txn) != Outcome::Indeterminate {
                return Err(refused("it is known what became of a transaction"));
            }
            certify_grounds(&core.with_outcome(*txn, Outcome::Committed), level, committed)?;
            certify_grounds(&core.with_outcome(*txn, Outcome::Aborted), level, aborted)
        }
        Grounds::OneRead if has_unexplained_read(&facts, level) => Ok(()),
        Grounds::OneRead => Err(refused("all of its reads can be explained")),
        Grounds::Part { txns, ops, because } => {
            let part = part_of(&facts, txns, ops)?;
            certify_grounds(&part, level, because)
        }
        Grounds::Derivation(derivation) => match level.snapshots() {
            Some(snapshots) => certify_in_pieces(&facts, |it| it.pieces(snapshots), derivation),
            None if level == Level::RowSnapshots => certify_in_pieces(&facts, History::snapshot_pieces, derivation),
            None => certify_derivation(&facts, level, derivation),
        },
    }
}

fn check_cases(cases: &[History], level: Level, told: &[Grounds]) -> Result<(), Uncertified> {
    if cases.len() != told.len() {
        return Err(refused("its lists have other meanings"));
    }
    cases.iter().zip(told).try_for_each(|(case, grounds)| certify_grounds(case, level, grounds))
}

/// List reads with elements that were rolled back and appended again: each may be a dirty one, element by element.
struct Mixed<'c> {
    core: &'c History,
    level: Level,
    reads: Vec<(OpId, Vec<usize>)>,
}

impl<'c> Mixed<'c> {
    fn new(core: &'c History, level: Level) -> Self {
        let mut reads: BTreeMap<OpId, Vec<usize>> = BTreeMap::new();
        for (read, nth) in core.mixed_places() {
            reads.entry(read).or_default().push(nth);
        }
        Self { core, level, reads: reads.into_iter().collect() }
    }

    /// Checks what is told where it is chosen for the first of the reads, as bits, which of their elements were rolled back.
    /// The other reads are left out: what is forbidden without them is forbidden whatever they saw.
    fn check(&self, grounds: &Grounds, chosen: &mut Vec<usize>) -> Result<(), Uncertified> {
        match (grounds, self.reads.get(chosen.len())) {
            (Grounds::Cases(told), Some((_, places))) => {
                if 1_usize.checked_shl(places.len() as u32) != Some(told.len()) {
                    return Err(refused("a read may be another dirty one"));
                }
                for (bits, grounds) in told.iter().enumerate() {
                    chosen.push(bits);
                    self.check(grounds, chosen)?;
                    chosen.pop();
                }
                Ok(())
            }
            (Grounds::Part { ops, .. }, Some(_)) if self.has_open(chosen, ops) => {
                Err(refused("a read of a part may be a dirty one"))
            }
            (Grounds::Part { .. }, Some(_)) | (_, None) => {
                certify_grounds(&self.core.with_rolled_back(&self.rolled_back(chosen)), self.level, grounds)
            }
            _ => Err(refused("its lists may have been read dirty")),
        }
    }

    /// Is a read among these of which nothing is chosen?
    fn has_open(&self, chosen: &[usize], ops: &[OpId]) -> bool {
        self.reads[chosen.len()..].iter().any(|it| ops.contains(&it.0))
    }

    fn rolled_back(&self, chosen: &[usize]) -> BTreeSet<(OpId, usize)> {
        let of_read = |((read, places), bits): (&(OpId, Vec<usize>), &usize)| {
            let is_rolled_back = |it: &usize| bits >> it & 1 == 1;
            (0..places.len()).filter(is_rolled_back).map(|it| (*read, places[it])).collect::<Vec<_>>()
        };
        self.reads.iter().zip(chosen).flat_map(of_read).collect()
    }
}

/// A part that stands for the core, as a core stands for a history.
fn part_of(facts: &Facts<'_>, txns: &[TxnId], ops: &[OpId]) -> Result<History, Uncertified> {
    let part = Refutation {
        anomalies: Vec::new(),
        txns: txns.to_vec(),
        ops: ops.to_vec(),
        local: None,
        cycle: Vec::new(),
        proof: None,
        grounds: None,
    };
    check_membership(facts.history(), &part)?;
    check_none_aborted(facts.history(), &part)?;
    check_reads_stand(facts, &part)?;
    Ok(project(facts, &part)?.history)
}

/// Is there a read that nothing explains, of somebody who counts whatever lists mean?
pub(super) fn has_unexplained_read(facts: &Facts<'_>, level: Level) -> bool {
    let history = facts.history();
    let counts =
        |it: OpId| facts.ambiguous_list().is_none() || history.outcome(history.txn_of(it)) == Outcome::Committed;
    let breaks = |it: &LocalAnomaly| {
        let other = if let LocalKind::Incompatible { other } = it.kind { other } else { it.op };
        (level != Level::ReadUncommitted || it.kind.breaks_read_uncommitted()) && counts(it.op) && counts(other)
    };
    facts.local().iter().any(breaks)
}

fn refused(what: &str) -> Uncertified {
    Uncertified::new(format!("the grounds for which a core is forbidden are wrong: {what}"))
}

//! Is a core forbidden whatever its lists mean? Replayed meaning by meaning, without search.
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

/// Checks that a level forbids a core.
pub(super) fn certify_grounds(core: &History, level: Level, grounds: &Grounds) -> Result<(), Uncertified> {
    let facts = Facts::new(core);
    let has_mixed_lists = level == Level::ReadUncommitted && !core.mixed_lists().is_empty();
    match grounds {
        Grounds::Cases(told) if has_mixed_lists => {
            let cases = core.mixed_cases().ok_or_else(|| refused("its lists have too many meanings"))?;
            check_cases(cases, level, told)
        }
        _ if has_mixed_lists => Err(refused("its lists may have been read dirty")),
        Grounds::Cases(told) if facts.ambiguous_list().is_some() => check_cases(facts.cases(), level, told),
        Grounds::Cases(_) => Err(refused("its lists have one meaning")),
        Grounds::OneRead if has_unexplained_read(&facts, level) => Ok(()),
        Grounds::OneRead => Err(refused("all of its reads can be explained")),
        Grounds::Part { txns, ops, because } => {
            let part = part_of(&facts, txns, ops)?;
            certify_grounds(&part, level, because)
        }
        Grounds::Derivation(derivation) => match level.snapshots() {
            Some(snapshots) => certify_in_pieces(&facts, snapshots, derivation),
            None => certify_derivation(&facts, level, derivation),
        },
    }
}

fn check_cases(cases: impl IntoIterator<Item = History>, level: Level, told: &[Grounds]) -> Result<(), Uncertified> {
    let mut told = told.iter();
    let mut n_cases = 0;
    for case in cases {
        let grounds = told.next().ok_or_else(|| refused("one of its meanings is missing"))?;
        certify_grounds(&case, level, grounds)?;
        n_cases += 1;
    }
    if n_cases == 0 || told.next().is_some() { Err(refused("it has fewer meanings")) } else { Ok(()) }
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

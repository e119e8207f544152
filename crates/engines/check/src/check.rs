//! Decides one level of a history, and makes evidence of the decision.

use crate::counted::{reads_that_show, with_readers};
use crate::decide::decide;
use crate::decision::Decision;
use crate::derivation::{core_of, derive_without_search};
use crate::grounds::{derive_soon, grounds_for, is_certified};
use crate::local::refute_by_one_read;
use crate::lost_update::lost_update;
use crate::mixed::check_mixed;
use crate::shrink::Core;
use crate::stuck::refute_by_executions;
use crate::{explain, name, prove, shrink};
use iso_evidence::{Budget, Derivation, Grounds, Refutation, StopReason, Verdict};
use iso_history::{Facts, History, OpId, Projection, TxnId};
use iso_spec::Level;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A core with a proof and no more transactions needs no derivation: the text of the level decides it at once.
const FEW_TXNS: usize = 6;

/// With so many, a derivation says best which of them matter.
const MANY_TXNS: usize = 32;

/// Decides whether `level` allows `history`.
///
/// ```
/// use iso_history::{HistoryBuilder, Outcome, Place};
/// use iso_evidence::{Budget, Verdict};
/// use iso_spec::Level;
/// // Two sessions read x=0, and both overwrite it: a lost update.
/// let mut builder = HistoryBuilder::new();
/// let x = builder.key("x".into());
/// let values = [0, 1, 2].map(|it| builder.value(it.into()));
/// builder.default_initial(values[0]);
/// for (name, written) in [("s1", values[1]), ("s2", values[2])] {
///     let session = builder.session(name);
///     builder.begin(session, Place::default());
///     builder.read(x, values[0]);
///     builder.write(x, written);
///     builder.end(Outcome::Committed);
/// }
/// let history = builder.finish().unwrap();
/// let check = |level| iso_check::check(&history, level, &Budget::unlimited());
/// assert!(matches!(check(Level::PrefixConsistency), Verdict::Allowed(_)));
/// assert!(matches!(check(Level::SnapshotIsolation), Verdict::Forbidden(_)));
/// ```
pub fn check(history: &History, level: Level, budget: &Budget<'_>) -> Verdict {
    check_facts(&Facts::new(history), level, budget)
}

/// As [`check`], for facts that are derived already.
pub fn check_facts(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Verdict {
    if level.needs_times() && !facts.history().has_real_time() {
        return without_real_time(level, check_facts(facts, level.without_times(), budget));
    }
    if let Some(with_sessions) = level.with_sessions() {
        let history = facts.history().without_sessions();
        return check_facts(&Facts::new(&history), with_sessions, budget);
    }
    // Whoever read from an indeterminate transaction may have read dirty, where the level allows it.
    if level == Level::ReadUncommitted
        && let Some(history) = facts.history().favouring_dirty_reads()
    {
        let verdict = check_facts(&Facts::new(&history), level, budget);
        return if history.mixed_lists().is_empty() { verdict } else { only_with_proof(verdict) };
    }
    // An append acts on the newest version, which is then what its transaction reads.
    if level.snapshots().is_some()
        && let Some(history) = facts.history().with_locked_lists()
    {
        return check_facts(&Facts::new(&history), level, budget);
    }
    // A row that is deleted and made again may be hidden from whoever waited for it.
    if level == Level::StatementSnapshots
        && let Some(history) = facts.history().with_hidden_rows()
    {
        return check_facts(&Facts::new(&history), level, budget);
    }
    // Without rows that are made anew, there is no difference.
    if level == Level::RowSnapshots && !facts.history().makes_rows() {
        return check_facts(facts, Level::SnapshotIsolation, budget);
    }
    if let Some(core) = lost_update(facts, level) {
        return Verdict::Forbidden(refute(facts, level, Core::of(core), budget));
    }
    if let Some(refutation) = refute_by_one_read(facts, level) {
        return Verdict::Forbidden(refutation);
    }
    if level == Level::ReadUncommitted
        && let Some(verdict) = check_mixed(facts, budget)
    {
        return verdict;
    }
    match decide(facts, level, budget) {
        Ok(Decision::Allowed(witness)) => Verdict::Allowed(witness),
        Ok(Decision::Forbidden(extracted)) => match unshown(facts, level, budget) {
            Some(read) => Verdict::Unknown(StopReason::Unsupported(read)),
            None => Verdict::Forbidden(refute(facts, level, Core::of(extracted), budget)),
        },
        Err(reason) => Verdict::Unknown(reason),
    }
}

/// A refutation without a proof, where appenders of unknown outcome were taken as rolled back, says nothing: the core alone
/// does not have that choice in it.
fn only_with_proof(verdict: Verdict) -> Verdict {
    let is_derived = |it: &Refutation| matches!(it.grounds.as_deref(), Some(Grounds::Derivation(_)));
    let is_shown = |it: &Refutation| it.local.is_some() || it.proof.is_some() || is_derived(it);
    match verdict {
        Verdict::Forbidden(refutation) if !is_shown(&refutation) => Verdict::Unknown(StopReason::Unsupported(
            "an element of a list was appended by a transaction of unknown outcome and by another one, and no core shows what follows"
                .to_owned(),
        )),
        other => other,
    }
}

/// What a level that looks at times answers where there are none: what is forbidden without them stays so.
fn without_real_time(level: Level, verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Allowed(_) => Verdict::Unknown(StopReason::Unsupported(format!(
            "the history has no times, or all are equal, so real time cannot be judged; without it, {} holds",
            level.without_times()
        ))),
        other => other,
    }
}

/// Why no core shows that a history with list reads of several meanings is forbidden. A core has no reads of a
/// transaction of unknown outcome that nothing explains, and a case may need one of them:
///
/// ```text
/// a? append(x,1) r(x,[]) append(x,1)      a contradicts itself, so that it cannot have committed
/// b  append(x,1)
/// c  r(x,[1,1])
/// ```
fn unshown(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Option<String> {
    let read = facts.ambiguous_list()?;
    (!shrink::stands(facts, level, &budget.silent())).then(|| {
        let history = facts.history();
        format!(
            "{} of {} has several meanings, each of which seems to be forbidden, but no part of the history shows it",
            history.render_op(read),
            history.label(history.txn_of(read))
        )
    })
}

/// Makes the core around `extracted` minimal, explains it and names it; where no small proof does, derives that it is
/// forbidden. A derivation is what makes the verdict certain, so it has the time of the verdict.
pub(crate) fn refute(facts: &Facts<'_>, level: Level, extracted: Core, budget: &Budget<'_>) -> Refutation {
    let at_once = |facts: &Facts<'_>| derive_without_search(facts, level, &budget.for_derivation());
    let extracted = match extract_more(facts, level, &extracted, at_once) {
        Some(smaller) => smaller,
        None => match refute_by_executions(facts, level, &extracted, budget) {
            Some(refutation) => return refutation,
            None => {
                extract_more(facts, level, &extracted, |facts| derive_soon(facts, level, budget)).unwrap_or(extracted)
            }
        },
    };
    let asked = level;
    let (level, refutation) = tell(facts, level, extracted, &budget.for_explanation());
    if refutation.proof.is_some() && refutation.txns.len() <= FEW_TXNS {
        return refutation;
    }
    let core = Projection::new(facts, &refutation.txns, &without(facts, &refutation));
    if asked == Level::RowSnapshots
        && let Some(told) = without_inserts(facts, &core, &refutation, budget)
    {
        return told;
    }
    // What was told by the rules of a weaker level is derived by its own, for which all pieces count.
    let level = match asked {
        Level::RowSnapshots if core.history.makes_rows() => asked,
        Level::RowSnapshots => Level::SnapshotIsolation,
        _ => level,
    };
    let is_seen_without = || is_certified(facts, asked, &refutation);
    let grounds = grounds_for(&Facts::new(&core.history), level, is_seen_without, budget);
    Refutation { grounds: grounds.map(Arc::new), ..refutation }
}

/// A core in which nobody makes a row is one of snapshot isolation, and is told as such.
fn without_inserts(
    facts: &Facts<'_>,
    core: &Projection,
    refutation: &Refutation,
    budget: &Budget<'_>,
) -> Option<Refutation> {
    if core.history.makes_rows() {
        return None;
    }
    let told = refute(facts, Level::SnapshotIsolation, Core::of(refutation.txns.clone()), budget);
    let core = Projection::new(facts, &told.txns, &without(facts, &told));
    // A proof names the level that it is of, which may be one that this level does not imply.
    (!core.history.makes_rows()).then_some(Refutation { proof: None, ..told })
}

/// A large core without the transactions and reads of which a derivation does not speak, if there is one: making it small one
/// by one takes too long.
fn extract_more(
    facts: &Facts<'_>,
    level: Level,
    extracted: &Core,
    derive: impl Fn(&Facts<'_>) -> Option<Derivation>,
) -> Option<Core> {
    if extracted.txns.len() <= MANY_TXNS || level.is_of_databases() {
        return None;
    }
    let projection = extracted.project(facts);
    let of_core = Facts::new(&projection.history);
    let derivation = derive(&of_core)?;
    let (txns, reads) = core_of(&of_core, &derivation);
    let mut txns: Vec<TxnId> = txns.iter().map(|it| projection.txns[it.index()]).collect();
    txns.sort_unstable();
    let txns = with_readers(facts, txns);
    let shown = reads_that_show(facts, txns.iter().copied()).into_iter().map(|it| facts.reads()[it].op);
    let needed: BTreeSet<OpId> = reads.iter().map(|it| projection.ops[it.index()]).chain(shown).collect();
    let of_core = |it: &TxnId| facts.reads_of(*it).map(|it| facts.reads()[it].op);
    let without = txns.iter().flat_map(of_core).filter(|it| !needed.contains(it)).collect();
    Some(Core { txns, without })
}

/// What can be told about a core, and the level whose rules it is told by.
///
/// All levels that forbid the same transactions tell the same about them: what the weakest one says.
fn tell(facts: &Facts<'_>, level: Level, extracted: Core, budget: &Budget<'_>) -> (Level, Refutation) {
    let core = shrink::shrink(facts, level, extracted, budget);
    let together = Projection::new(facts, &core.txns, &BTreeSet::new());
    let weakest = name::weakest(&Facts::new(&together.history), level, budget);
    if weakest != level {
        let refutation =
            explained(facts, weakest, shrink::shrink(facts, weakest, Core::of(core.txns.clone()), budget), budget);
        if refutation.proof.is_some() {
            return (weakest, refutation);
        }
    }
    (level, explained(facts, level, core, budget))
}

/// The operations of a core's transactions that it does not have.
fn without(facts: &Facts<'_>, refutation: &Refutation) -> BTreeSet<OpId> {
    let ops = refutation.txns.iter().flat_map(|it| facts.history().ops(*it));
    ops.filter(|it| refutation.ops.binary_search(it).is_err()).collect()
}

/// Explains a core that a level forbids, and names it.
fn explained(facts: &Facts<'_>, level: Level, core: Core, budget: &Budget<'_>) -> Refutation {
    let projection = core.project(facts);
    let cycle = explain::explain(&projection, level, budget);
    let (txns, ops) = (core.txns, projection.ops.clone());
    let refutation = Refutation { anomalies: Vec::new(), txns, ops, local: None, cycle, proof: None, grounds: None };
    let proved = prove::prove(facts, level, &projection, refutation, budget);
    let weakest = name::weakest(&Facts::new(&projection.history), level, budget);
    let anomalies = name::name(&projection, weakest, &proved.cycle, budget).into_iter().collect();
    Refutation { anomalies, ..proved }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_store::history;
    use iso_evidence::certify;
    use std::cell::Cell;

    /// The verdict needs few questions; what explains it may not ask any, and the verdict is the same.
    #[test]
    fn an_explanation_without_time_leaves_the_verdict_as_it_is() {
        let history = history(&["a rx0 wx1", "b rx0 wx2", "c wy1", "d ry1"]);
        let n_asked = Cell::new(0);
        let stop = || {
            n_asked.set(n_asked.get() + 1);
            None
        };
        let at_once = || Some(StopReason::Timeout);
        let budget = Budget::new(&stop).explained_until(&at_once);
        let verdict = check(&history, Level::SnapshotIsolation, &budget);
        assert!(matches!(&verdict, Verdict::Forbidden(_)), "{verdict:?}");
        certify(&history, Level::SnapshotIsolation, &verdict).unwrap();
        let asked_for_verdict = n_asked.replace(0);
        check(&history, Level::SnapshotIsolation, &Budget::new(&stop));
        assert!(n_asked.get() > asked_for_verdict, "an explanation asks the budget of the verdict if it has none");
    }
}

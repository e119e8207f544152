//! Is the core that a refutation names forbidden, and does that make the whole history forbidden?
//!
//! Whether the core stands for the whole is checked on the raw operations (`stands`). That it is forbidden is shown by
//! derivations (`grounds`); without them it is decided by the reference evaluator. For a large core all executions are tried
//! (`executions`), or `closure` derives what any order must contain until that is cyclic.

use super::closure::is_refuted;
use super::executions::has_no_execution;
use super::favourable::most_favourable;
use super::grounds::{certify_grounds, has_unexplained_read};
use super::local::certify_local;
use super::mixed::{check_mixed, has_mixed_reads};
use super::name::{check_local_names, check_names};
use super::proof::check_proof;
use super::stands::{check_membership, check_none_aborted, check_reads_stand, project};
use super::uncertified::Uncertified;
use crate::{Edge, Grounds, Reason, Refutation};
use iso_history::{Facts, History, KeyId, OpId, Projection, TxnId};
use iso_spec::{Catalogue, Evaluation, Level, Steps, evaluate};

/// Steps of the reference evaluator, times the third power of the transactions: a step costs about as much, and the
/// evaluator gives up within a second. A core of a handful of transactions needs a few hundred steps.
const MAX_WORK: u64 = 40_000_000;

/// So many meanings of lists are looked at one by one, if they are too large for the evaluator.
const MAX_CASES: usize = 1_000;

/// Checks a refutation of a history at a level.
pub(super) fn certify_forbidden(facts: &Facts<'_>, level: Level, refutation: &Refutation) -> Result<(), Uncertified> {
    match most_favourable(facts.history(), level) {
        Some(history) => check_refutation(&Facts::new(&history), level, refutation),
        None => check_refutation(facts, level, refutation),
    }
}

fn check_refutation(facts: &Facts<'_>, level: Level, refutation: &Refutation) -> Result<(), Uncertified> {
    if let Some(anomaly) = refutation.local {
        if refutation.proof.is_some() || refutation.grounds.is_some() {
            return Err(Uncertified::new("a read that nothing explains needs no proof"));
        }
        certify_local(facts, level, anomaly)?;
        check_local_names(facts.history(), anomaly, &refutation.anomalies)?;
        check_membership(facts.history(), refutation)?;
        let is_named = |it: OpId| refutation.ops.binary_search(&it).is_ok();
        return check_forbidden(&Projection::verbatim(facts.history(), &refutation.txns, is_named).history, level);
    }
    let history = facts.history();
    if level == Level::ReadUncommitted && has_mixed_reads(history, refutation) {
        return check_mixed(facts, level, refutation);
    }
    check_membership(history, refutation)?;
    check_none_aborted(history, refutation)?;
    check_reads_stand(facts, refutation)?;
    let core = project(facts, refutation)?;
    decide_core(&core.history, level, refutation.grounds.as_deref())?;
    check_cycle(facts, &refutation.cycle)?;
    check_names(&core, level, &refutation.cycle, &refutation.anomalies)?;
    check_proof(facts, level, refutation)
}

/// Checks the proof of a refutation, if it has one, and nothing else.
pub fn certify_proof(facts: &Facts<'_>, level: Level, refutation: &Refutation) -> Result<(), Uncertified> {
    check_membership(facts.history(), refutation)?;
    check_none_aborted(facts.history(), refutation)?;
    check_proof(facts, level, refutation)
}

/// The level forbids the core: by what is derived, or else by the catalogue's definition.
fn decide_core(core: &History, level: Level, grounds: Option<&Grounds>) -> Result<(), Uncertified> {
    let facts = Facts::new(core);
    if level == Level::RowSnapshots && !core.makes_rows() {
        return decide_core(core, Level::SnapshotIsolation, grounds);
    }
    // Which of two list reads is named may differ between whole and core, and so may whether its reader is judged.
    if level == Level::ReadUncommitted && facts.local().iter().any(|it| it.kind.breaks_read_uncommitted()) {
        return Err(Uncertified::new(
            "the core of a refutation has a read that nothing explains, and does not name it",
        ));
    }
    match grounds {
        Some(grounds) => certify_grounds(core, level, grounds),
        None => check_forbidden(core, level),
    }
}

/// The catalogue's definition of the level forbids a history.
pub(super) fn check_forbidden(core: &History, level: Level) -> Result<(), Uncertified> {
    let facts = Facts::new(core);
    let spec = Catalogue::builtin().of(level);
    match evaluate(&facts, spec, &mut Steps::new(steps_of_a_second(core))) {
        Evaluation::Forbidden => Ok(()),
        Evaluation::Allowed(_) => Err(Uncertified::new(format!("{} allows the core of a refutation", spec.name()))),
        Evaluation::OutOfSteps | Evaluation::TooLarge if is_refuted_in_each_case(&facts, level, &mut { MAX_CASES }) => {
            Ok(())
        }
        Evaluation::OutOfSteps | Evaluation::TooLarge => Err(Uncertified::too_large(format!(
            "the core of the refutation is too large to be checked: {} transactions; nothing says that it is wrong",
            core.n_txns() - 1
        ))),
    }
}

/// Is the history refuted without the evaluator? If lists have several meanings, all of them must be, and not too many.
fn is_refuted_in_each_case(facts: &Facts<'_>, level: Level, n_left: &mut usize) -> bool {
    let is_dirty = level == Level::ReadUncommitted;
    if is_dirty && !facts.history().mixed_lists().is_empty() {
        return false;
    }
    if has_unexplained_read(facts, level) {
        return true;
    }
    if facts.ambiguous_list().is_none() {
        let in_pieces = || level != Level::RowSnapshots && is_refuted_in_pieces(facts, level);
        return has_no_execution(facts, level) || in_pieces();
    }
    facts.cases().iter().all(|case| {
        *n_left = n_left.saturating_sub(1);
        *n_left > 0 && is_refuted_in_each_case(&Facts::new(case), level, n_left)
    })
}

/// A level whose statements have snapshots is serializability of pieces.
fn is_refuted_in_pieces(facts: &Facts<'_>, level: Level) -> bool {
    match level.snapshots() {
        Some(snapshots) => is_refuted(&Facts::new(&facts.history().pieces(snapshots).history), Level::Serializable),
        None => is_refuted(facts, level),
    }
}

/// How many steps the reference evaluator takes in about a second.
pub(super) fn steps_of_a_second(history: &History) -> u64 {
    (MAX_WORK / (history.n_txns() as u64).pow(3)).max(1)
}

/// Each edge of the cycle starts where the one before ended, and says something true about the operations.
fn check_cycle(facts: &Facts<'_>, cycle: &[Edge]) -> Result<(), Uncertified> {
    let history = facts.history();
    for (idx, edge) in cycle.iter().enumerate() {
        if edge.to != cycle[(idx + 1) % cycle.len()].from {
            return Err(Uncertified::new("the edges of a cycle do not follow each other"));
        }
        if !exists(history, edge) {
            return Err(Uncertified::new("an edge of a cycle names what does not exist"));
        }
        if !is_true(facts, edge) {
            let (from, to, kind) = (history.label(edge.from), history.label(edge.to), edge.because.short_name());
            return Err(Uncertified::new(format!("the edge {kind} from {from} to {to} has a wrong reason")));
        }
    }
    Ok(())
}

fn exists(history: &History, edge: &Edge) -> bool {
    let (op, key) = match edge.because {
        Reason::Session | Reason::RealTime => (None, None),
        Reason::ReadFrom { read } => (Some(read), None),
        Reason::VersionOrder { key, shown_by } => (shown_by, Some(key)),
        Reason::FirstCommitter { key } => (None, Some(key)),
        Reason::AntiDependency { key, read } => (Some(read), Some(key)),
    };
    edge.from.index() < history.n_txns()
        && edge.to.index() < history.n_txns()
        && op.is_none_or(|it| it.index() < history.n_ops())
        && key.is_none_or(|it| it.index() < history.n_keys())
}

fn is_true(facts: &Facts<'_>, edge: &Edge) -> bool {
    let history = facts.history();
    let writes = |txn: TxnId, key: KeyId| {
        txn.is_initial() || history.ops(txn).any(|it| history.op(it).is_write() && history.op(it).key() == key)
    };
    let reads = |txn: TxnId, op: OpId, key: KeyId| {
        history.txn_of(op) == txn && !history.op(op).is_write() && history.op(op).key() == key
    };
    match edge.because {
        Reason::Session => history.is_session_ordered(edge.from, edge.to),
        Reason::RealTime => history.is_real_time_ordered(edge.from, edge.to),
        Reason::ReadFrom { read } => {
            let position = facts.reads().binary_search_by_key(&read, |it| it.op);
            reads(edge.to, read, history.op(read).key())
                && position.is_ok_and(|it| facts.candidates(it).contains(&edge.from))
        }
        Reason::VersionOrder { key, .. } | Reason::FirstCommitter { key } => {
            writes(edge.from, key) && writes(edge.to, key)
        }
        Reason::AntiDependency { key, read } => reads(edge.from, read, key) && writes(edge.to, key),
    }
}

//! Replays a prediction: the application runs again, along the predicted order, and reads what was predicted.
//!
//! Source: Geng, Blanas, Bond & Wang 2024 (`IsoPredict`), section 5. Each predicted transaction is executed in full.
//! Where the application does something else than predicted, the run goes on as the level allows, and says so. Whether
//! the replayed history is still forbidden by the stronger level is for `check` to say.

use crate::drive::{drive_along, session_name};
use crate::{Application, Assertion, Ending, Failure, RunStep, Setup, Slot, drive, transaction};
use iso_answer::predict::Prediction;
use iso_evidence::{Event, Schedule, Witness};
use iso_history::{History, Outcome, PieceKind, TxnId};
use iso_spec::Level;
use iso_store::{Divergence, Plan, TxnName};
use std::collections::{BTreeMap, BTreeSet};

/// A run that was observed, and what its transactions were.
#[derive(Clone, Debug)]
pub struct Observed {
    application: &'static dyn Application,
    seed: u64,
    /// Of the transactions of the history, without the initial one.
    steps: Vec<RunStep>,
}

impl Observed {
    /// Makes a run again. It must have the same history, or else the file was changed, or the tool.
    pub fn of_setup(setup: &Setup, history: &History) -> Result<Self, Failure> {
        let run = drive(setup)?;
        match difference(&run.history, history) {
            None => Ok(Self { application: setup.application, seed: setup.seed, steps: run.steps }),
            Some(txn) => Err(Failure::broken(format!(
                "{} with seed {} runs otherwise than recorded, from {txn} on; record it again",
                setup.application.name(),
                setup.seed
            ))),
        }
    }

    /// For a history without a setup: its sessions are `s1`, `s2`, and so on, and whoever aborted was not tried again.
    pub fn of_sessions(application: &'static dyn Application, seed: u64, history: &History) -> Result<Self, Failure> {
        let steps = history.txns().map(|txn| {
            let name = history.session_of(txn).map_or("", |it| history.session_name(it));
            let number = name.strip_prefix('s').and_then(|it| it.parse::<usize>().ok()).filter(|it| *it > 0);
            let session = number.ok_or_else(|| {
                Failure::broken(format!("session {name} is none of {}: they are s1, s2, ...", application.name()))
            })?;
            let slot = Slot { session: session - 1, nth: history.nth_in_session(txn) };
            let ending = match history.outcome(txn) {
                Outcome::Committed => Ending::Committed,
                _ => Ending::Aborted { reason: String::new() },
            };
            Ok(RunStep { slot, call: transaction(application, seed, slot).to_string(), ending })
        });
        Ok(Self { application, seed, steps: steps.collect::<Result<_, Failure>>()? })
    }

    /// What a transaction of the observed history was; none for the initial one.
    pub fn step_of(&self, txn: TxnId) -> Option<&RunStep> {
        txn.index().checked_sub(1).and_then(|it| self.steps.get(it))
    }

    /// The application that ran.
    pub fn application(&self) -> &'static dyn Application {
        self.application
    }
}

/// What the application did along a prediction.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The history, which the level allows.
    pub history: History,
    /// How it came to be: evidence that the level allows it.
    pub witness: Witness,
    /// What its transactions were, without the initial one.
    pub steps: Vec<RunStep>,
    /// The reads that could not read what was predicted.
    pub divergences: Vec<Divergence>,
    /// Predicted transactions that were aborted now.
    pub aborted: Vec<RunStep>,
    /// Predicted transactions that were committed, but left out a read or a write that was predicted.
    pub strayed: Vec<RunStep>,
    /// What must hold of the state at the end.
    pub assertions: Vec<Assertion>,
}

impl Replayed {
    /// Did the application do something else than predicted? The history may be what was looked for all the same.
    pub fn has_diverged(&self) -> bool {
        !self.divergences.is_empty() || !self.aborted.is_empty() || !self.strayed.is_empty()
    }
}

/// Runs the predicted transactions, in full, under the level and in an order of all of them that explains the
/// prediction there: each after its session's earlier ones and after those it reads from.
///
/// A transaction that the application had aborted is run as well, before the next one of its session.
pub fn replay(
    observed: &Observed,
    prediction: &Prediction,
    order: &[TxnId],
    level: Level,
) -> Result<Replayed, Failure> {
    let script = Script::new(observed, prediction, order)?;
    let plan = Plan::of_renamed(&prediction.history, |txn| script.name(txn))
        .map_err(|it| Failure::broken(format!("the history was not recorded by an application: {it}")))?;
    let run = drive_along(observed.application, observed.seed, level, &script.slots, plan)?;
    let (mut aborted, mut strayed) = (Vec::new(), Vec::new());
    for (predicted, place) in &script.places {
        let step = &run.steps[*place];
        if step.ending != Ending::Committed {
            aborted.push(step.clone());
        } else if !repeats(&prediction.history, *predicted, &run.history, TxnId::from_index(place + 1)) {
            strayed.push(step.clone());
        }
    }
    Ok(Replayed {
        aborted,
        strayed,
        history: run.history,
        witness: run.witness,
        steps: run.steps,
        divergences: run.divergences,
        assertions: run.assertions,
    })
}

/// The order in which the transactions of a history commit, as a level's witness has it: what [`replay`] wants.
///
/// None for a witness of the reference evaluator, whose levels no store has.
pub fn commit_order(witness: &Witness) -> Option<Vec<TxnId>> {
    match &witness.schedule {
        Schedule::Order(order) => Some(order.clone()),
        Schedule::Events(events) => {
            let commits = events.iter().filter_map(|it| match it {
                Event::Commit(txn) => Some(*txn),
                Event::Snapshot(_) => None,
            });
            Some(commits.collect())
        }
        Schedule::Pieces(pieces) => {
            let commits = pieces.iter().filter(|it| it.1 == PieceKind::Commit);
            Some(commits.map(|it| it.0).collect())
        }
        Schedule::Execution(_) => None,
    }
}

/// Which transactions run, in which order.
struct Script {
    slots: Vec<Slot>,
    /// By predicted transaction, its place among the slots.
    places: BTreeMap<TxnId, usize>,
    /// By predicted transaction, what it is called in the replay.
    names: BTreeMap<TxnId, TxnName>,
}

impl Script {
    fn new(observed: &Observed, prediction: &Prediction, order: &[TxnId]) -> Result<Self, Failure> {
        let mut script = Self { slots: Vec::new(), places: BTreeMap::new(), names: BTreeMap::new() };
        let mut n_done: BTreeMap<usize, usize> = BTreeMap::new();
        for txn in order.iter().filter(|it| !it.is_initial()) {
            let observed_txn = prediction.txns.get(txn.index()).copied();
            let step = observed_txn.and_then(|it| observed.step_of(it));
            let step = step.ok_or_else(|| Failure::broken(format!("{} was not observed", txn.index())))?;
            let n_done = n_done.entry(step.slot.session).or_default();
            for before in observed.aborted_before(step, script.slots.as_slice()) {
                script.slots.push(before);
                *n_done += 1;
            }
            script.names.insert(*txn, TxnName::new(session_name(step.slot.session), *n_done));
            script.places.insert(*txn, script.slots.len());
            script.slots.push(step.slot);
            *n_done += 1;
        }
        Ok(script)
    }

    fn name(&self, txn: TxnId) -> TxnName {
        // A read from a transaction that does not run diverges, because there is none of this name.
        self.names.get(&txn).cloned().unwrap_or_else(|| TxnName::new("", 0))
    }
}

impl Observed {
    /// What the application aborted in a session since the last one that runs. What the store aborted was tried again,
    /// or is as if it had never been.
    fn aborted_before(&self, step: &RunStep, running: &[Slot]) -> Vec<Slot> {
        let is_before = |it: &&RunStep| {
            it.slot.session == step.slot.session
                && it.slot < step.slot
                && matches!(it.ending, Ending::Aborted { .. })
                && !running.contains(&it.slot)
        };
        self.steps.iter().filter(is_before).map(|it| it.slot).collect()
    }
}

/// Does a replayed transaction read and write what was predicted, if perhaps more? Rows that nobody wrote in the replay
/// may be missing in its scans.
fn repeats(predicted: &History, txn: TxnId, replayed: &History, again: TxnId) -> bool {
    let accesses = |history: &History, txn: TxnId| -> BTreeSet<(bool, String)> {
        let ops = history.ops(txn).map(|it| history.op(it));
        ops.map(|it| (it.is_write(), history.key_name(it.key()).to_string())).collect()
    };
    let is_known = |key: &str| replayed.keys().any(|it| replayed.key_name(it).to_string() == key);
    let made = accesses(replayed, again);
    let mut left_out = accesses(predicted, txn).into_iter().filter(|it| !made.contains(it));
    left_out.all(|(is_write, key)| !is_write && !is_known(&key))
}

/// The first transaction in which two histories differ.
fn difference(left: &History, right: &History) -> Option<String> {
    let shown = |history: &History, idx: usize| {
        let txn = TxnId::from_index(idx);
        let session = history.session_of(txn).map(|it| history.session_name(it).to_owned());
        let ops: Vec<String> = history.ops(txn).map(|it| history.render_op(it)).collect();
        (session, history.outcome(txn), ops)
    };
    let n_both = left.n_txns().min(right.n_txns());
    let differs = |idx: &usize| shown(left, *idx) != shown(right, *idx);
    let label = |idx: usize| left.label(TxnId::from_index(idx));
    match (1..n_both).find(differs) {
        Some(idx) => Some(label(idx)),
        None if left.n_txns() == right.n_txns() => None,
        None => Some("its end".to_owned()),
    }
}

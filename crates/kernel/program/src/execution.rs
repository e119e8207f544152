//! Runs all instances along an order, where each sees some of those before it.

use crate::ids::{InstanceId, ReadId, UnitId};
use crate::interpret::{Outcome, TxnRun, initial_state, run_instance};
use crate::program::Program;
use crate::value::{UnitValue, Value};
use std::fmt;

/// What happened when all instances ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The order of the instances.
    pub order: Vec<InstanceId>,
    /// What each instance did, by [`InstanceId`].
    pub txns: Vec<TxnRun>,
    /// The state before everything, by [`UnitId`].
    pub initial: Vec<UnitValue>,
    /// The state in the end: of each unit, what its last writer left behind.
    pub last: Vec<UnitValue>,
}

/// A read that wants to know whose value it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'r> {
    /// Who reads.
    pub reader: InstanceId,
    /// Where.
    pub read: ReadId,
    /// Which unit.
    pub unit: UnitId,
    /// Who wrote the unit and committed before the reader, in order.
    pub writers: &'r [InstanceId],
}

/// A read was to find the value of an instance that had not written the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongWriter {
    /// Who reads.
    pub reader: InstanceId,
    /// Where.
    pub read: ReadId,
    /// Whose value it was to find.
    pub writer: InstanceId,
}

impl fmt::Display for WrongWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reader, read, writer } = self;
        write!(f, "{reader:?} cannot read from {writer:?} at {read:?}: it wrote nothing there before")
    }
}

impl std::error::Error for WrongWriter {}

/// Runs all instances in `order`, with one version of each unit for each of them (read atomic and above).
///
/// `sees(reader, writer)` is asked of writers that stand before the reader; it finds the value of the last of those that
/// it sees, committed, and wrote the unit, or else the initial value.
///
/// # Panics
/// If `order` does not have every instance once.
pub fn run_execution(
    program: &Program,
    symbols: &[Value],
    order: &[InstanceId],
    sees: &dyn Fn(InstanceId, InstanceId) -> bool,
) -> Run {
    let mut last_seen =
        |request: &Request<'_>| request.writers.iter().rev().find(|it| sees(request.reader, **it)).copied();
    run_reads(program, symbols, order, &mut last_seen).expect("a writer is chosen from those there are")
}

/// Runs all instances in `order`; `choose` says for each read whose value it finds, nobody's being the initial one.
///
/// Reads of what the transaction wrote itself are not asked about. Two reads of one unit may find different values
/// (read committed).
///
/// # Panics
/// If `order` does not have every instance once.
pub fn run_reads(
    program: &Program,
    symbols: &[Value],
    order: &[InstanceId],
    choose: &mut dyn FnMut(&Request<'_>) -> Option<InstanceId>,
) -> Result<Run, WrongWriter> {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(program.instance_ids()), "an order has every instance once");
    let initial = initial_state(program, symbols);
    let mut done: Vec<Option<TxnRun>> = vec![None; order.len()];
    for (place, reader) in order.iter().copied().enumerate() {
        let mut wrong = None;
        let mut provide = |read, unit: UnitId| {
            let written = |it: &InstanceId| done[it.index()].as_ref().and_then(|txn| txn.writes.get(&unit));
            let writers: Vec<InstanceId> = order[..place].iter().filter(|it| written(it).is_some()).copied().collect();
            let Some(writer) = choose(&Request { reader, read, unit, writers: &writers }) else {
                return initial[unit.index()].clone();
            };
            let is_writer = writers.contains(&writer);
            if !is_writer {
                wrong.get_or_insert(WrongWriter { reader, read, writer });
            }
            written(&writer).filter(|_| is_writer).unwrap_or(&initial[unit.index()]).clone()
        };
        let txn = run_instance(program, reader, symbols, &mut provide);
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        done[reader.index()] = Some(txn);
    }
    let txns = done.into_iter().flatten().collect();
    let mut run = Run { order: order.to_vec(), txns, last: Vec::new(), initial };
    run.last = run.state_seen(&|_| true);
    Ok(run)
}

impl Run {
    /// What an instance did.
    pub fn txn(&self, instance: InstanceId) -> &TxnRun {
        &self.txns[instance.index()]
    }

    /// Did an instance commit?
    pub fn committed(&self, instance: InstanceId) -> bool {
        self.txn(instance).outcome == Outcome::Committed
    }

    /// The state that somebody sees who sees these instances: of each unit the last writer among them.
    pub fn state_seen(&self, sees: &dyn Fn(InstanceId) -> bool) -> Vec<UnitValue> {
        let mut state = self.initial.clone();
        for writer in self.order.iter().filter(|it| sees(**it)) {
            for (unit, value) in &self.txn(*writer).writes {
                state[unit.index()].clone_from(value);
            }
        }
        state
    }
}

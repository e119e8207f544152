//! Runs what was found again, by hand: an answer that the interpreter does not confirm is a bug, not an answer.

use crate::answer::{Counterexample, Ran, Seen, Wrong};
use crate::execute::FailureKind;
use iso_program::{InstanceId, Judgement, Outcome, Program, ReadId, Run, Source, Step, TxnRun, judge, run_reads};

/// What the interpreter does not confirm, if there is something.
pub fn replay(program: &Program, found: &Counterexample) -> Result<Run, String> {
    let source = |reader: InstanceId, read: ReadId| {
        let reads = &found.transactions[reader.index()].reads;
        reads.iter().find(|it| it.read == Some(read)).and_then(|it| it.source)
    };
    let run = run_reads(program, &found.symbols, &found.order, &mut |it| source(it.reader, it.read))
        .map_err(|it| it.to_string())?;
    for instance in program.instance_ids() {
        same(program, instance, &found.transactions[instance.index()], run.txn(instance))?;
    }
    if run.last != found.last_state {
        return Err("the last state is another one".to_owned());
    }
    for wrong in &found.wrong {
        confirm(program, found, &run, wrong)?;
    }
    if found.wrong.is_empty() { Err("nothing is wrong".to_owned()) } else { Ok(run) }
}

fn same(program: &Program, instance: InstanceId, found: &Ran, run: &TxnRun) -> Result<(), String> {
    let name = &program.instance(instance).name;
    let read = |it: &Step| match it {
        Step::Read { read, unit, value, source: Source::Outside, .. } => Some((Some(*read), *unit, value.clone())),
        _ => None,
    };
    let reads: Vec<_> = run.steps.iter().filter_map(read).collect();
    let expected: Vec<_> = found.reads.iter().map(|it: &Seen| (it.read, it.unit, it.value.clone())).collect();
    if reads != expected {
        return Err(format!("{name} reads {reads:?}, and not {expected:?}"));
    }
    let writes: Vec<_> = run.writes.iter().map(|it| (*it.0, it.1.clone())).collect();
    if writes != found.writes {
        return Err(format!("{name} writes {writes:?}, and not {:?}", found.writes));
    }
    let commits = run.outcome == Outcome::Committed;
    if commits == found.commits { Ok(()) } else { Err(format!("{name} ends as {:?}", run.outcome)) }
}

fn confirm(program: &Program, found: &Counterexample, run: &Run, wrong: &Wrong) -> Result<(), String> {
    let is_confirmed = match wrong {
        Wrong::Invariant(idx) => {
            judge(program, &program.invariants()[*idx], &found.symbols, &run.last) != Judgement::Holds
        }
        Wrong::Observer(idx) => found.observed.as_ref().is_some_and(|it| {
            let mut reads = it.reads.clone();
            reads.sort_by_key(|it| it.unit);
            let state: Vec<_> = reads.iter().map(|it| it.value.clone()).collect();
            it.observer != *idx
                || judge(program, &program.observers()[*idx], &found.symbols, &state) != Judgement::Holds
        }),
        Wrong::Inside { instance, kind, span } => match (run.txn(*instance).outcome, kind) {
            (Outcome::AssertFailed { span: place }, FailureKind::Assertion)
            | (Outcome::Overflow { span: place }, FailureKind::Overflow)
            | (Outcome::NoSuchRow { span: place }, FailureKind::NoSuchRow) => place == *span,
            _ => false,
        },
        // Which of several claims it was is not told; the claim itself is found wrong as well.
        Wrong::InClaim { .. } => true,
    };
    if is_confirmed { Ok(()) } else { Err(format!("{wrong:?} is not confirmed")) }
}

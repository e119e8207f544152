//! Replays a counterexample with the interpreter, which shares nothing with the engine that found it.

use iso_program::{
    InstanceId, Judgement, Outcome, Program, ReadId, Request, Run, Source, Span, TxnStep, UnitId, UnitValue,
    initial_state, judge, judge_assumptions, run_execution, run_reads,
};
use iso_verify::{Counterexample, FailureKind, Isolation, Observed, Seen, Wrong};

/// Runs the transactions again as the counterexample says, and compares everything: reads, writes, ends, the last
/// state, and what is wrong. Returns the run and what the interpreter confirms to be wrong; the error says where they
/// differ.
pub(super) fn replay(
    program: &Program,
    isolation: impl Into<Isolation>,
    found: &Counterexample,
) -> Result<(Run, Vec<Wrong>), String> {
    if judge_assumptions(program, &found.symbols) != Judgement::Holds {
        return Err("the open values break an assumption".to_owned());
    }
    let run = if isolation.into().has_sources() {
        run_by_sources(program, found)?
    } else {
        // Who sees whom decides what is read.
        run_execution(program, &found.symbols, &found.order, &|reader, writer| found.sees.contains(&(writer, reader)))
    };
    for instance in program.instance_ids() {
        compare(program, found, &run, instance)?;
    }
    if run.last != found.last_state {
        return Err("the last state differs".to_owned());
    }
    let confirmed = confirmed(program, found, &run)?;
    if confirmed.is_empty() { Err("nothing is wrong in it".to_owned()) } else { Ok((run, confirmed)) }
}

fn run_by_sources(program: &Program, found: &Counterexample) -> Result<Run, String> {
    let mut unknown = None;
    let mut choose = |request: &Request<'_>| {
        let reads = &found.transactions[request.reader.index()].reads;
        let seen = reads.iter().find(|it| it.read == Some(request.read));
        if seen.is_none() {
            unknown = Some(request.reader);
        }
        seen.and_then(|it| it.source)
    };
    let run = run_reads(program, &found.symbols, &found.order, &mut choose).map_err(|it| it.to_string())?;
    match unknown {
        Some(reader) => Err(format!("{} reads more", program.instance(reader).name)),
        None => Ok(run),
    }
}

/// Did the transaction do the same?
fn compare(program: &Program, found: &Counterexample, run: &Run, instance: InstanceId) -> Result<(), String> {
    let name = &program.instance(instance).name;
    let (claimed, real) = (&found.transactions[instance.index()], run.txn(instance));
    let claimed_reads: Vec<(ReadId, UnitId, &UnitValue)> =
        claimed.reads.iter().filter_map(|it| Some((it.read?, it.unit, &it.value))).collect();
    let outside = |step| match step {
        &TxnStep::Read { read, unit, ref value, source: Source::Outside, .. } => Some((read, unit, value)),
        _ => None,
    };
    let real_reads: Vec<(ReadId, UnitId, &UnitValue)> = real.steps.iter().filter_map(outside).collect();
    if claimed_reads != real_reads {
        return Err(format!("{name} reads something else"));
    }
    if claimed.commits != (real.outcome == Outcome::Committed) {
        return Err(format!("{name} ends differently"));
    }
    if !claimed.writes.iter().map(|it| (&it.0, &it.1)).eq(&real.writes) {
        return Err(format!("{name} writes something else"));
    }
    if !claimed.reads.iter().all(|it| is_written(it, run)) {
        return Err(format!("what {name} reads was not written"));
    }
    Ok(())
}

/// Did its source write what the read found?
fn is_written(seen: &Seen, run: &Run) -> bool {
    match seen.source {
        Some(writer) => run.txn(writer).writes.get(&seen.unit) == Some(&seen.value),
        None => run.initial[seen.unit.index()] == seen.value,
    }
}

/// What is wrong in the run, of what is said to be.
fn confirmed(program: &Program, found: &Counterexample, run: &Run) -> Result<Vec<Wrong>, String> {
    let overflows: Vec<Span> = found.wrong.iter().filter_map(claim_span).collect();
    let mut confirmed = Vec::new();
    for (idx, claim) in program.invariants().iter().enumerate() {
        let is_claimed = found.wrong.contains(&Wrong::Invariant(idx));
        match judge(program, claim, &found.symbols, &run.last) {
            Judgement::Holds if !is_claimed => {}
            Judgement::Fails if is_claimed => confirmed.push(Wrong::Invariant(idx)),
            Judgement::Overflow { span } if overflows.contains(&span) => confirmed.push(overflow(span)),
            _ => return Err("an invariant is judged differently".to_owned()),
        }
    }
    for instance in program.instance_ids() {
        confirmed.extend(failed_inside(program, found, run, instance)?);
    }
    if let Some(observed) = &found.observed {
        if !observed.reads.iter().all(|it| is_written(it, run)) {
            return Err("what the observer reads was not written".to_owned());
        }
        confirmed.push(judge_observer(program, found, observed, &overflows)?);
    }
    Ok(confirmed)
}

fn claim_span(wrong: &Wrong) -> Option<Span> {
    if let Wrong::InClaim { span, .. } = wrong { Some(*span) } else { None }
}

fn overflow(span: Span) -> Wrong {
    Wrong::InClaim { kind: FailureKind::Overflow, span }
}

/// How the transaction failed, if it did. Of several failures in one statement the interpreter meets the first.
fn failed_inside(
    program: &Program,
    found: &Counterexample,
    run: &Run,
    instance: InstanceId,
) -> Result<Option<Wrong>, String> {
    let is_claimed = found.wrong.iter().any(|it| matches!(it, Wrong::Inside { instance: it, .. } if *it == instance));
    let (kind, span) = match run.txn(instance).outcome {
        Outcome::AssertFailed { span } => (FailureKind::Assertion, span),
        Outcome::Overflow { span } => (FailureKind::Overflow, span),
        Outcome::NoSuchRow { span } => (FailureKind::NoSuchRow, span),
        Outcome::Committed | Outcome::Aborted { .. } if !is_claimed => return Ok(None),
        Outcome::Committed | Outcome::Aborted { .. } => {
            return Err(format!("{} does not fail", program.instance(instance).name));
        }
    };
    let wrong = Wrong::Inside { instance, kind, span };
    if found.wrong.contains(&wrong) {
        Ok(Some(wrong))
    } else {
        Err(format!("{} fails elsewhere", program.instance(instance).name))
    }
}

fn judge_observer(
    program: &Program,
    found: &Counterexample,
    observed: &Observed,
    overflows: &[Span],
) -> Result<Wrong, String> {
    let mut state = initial_state(program, &found.symbols);
    for seen in &observed.reads {
        state[seen.unit.index()].clone_from(&seen.value);
    }
    match judge(program, &program.observers()[observed.observer], &found.symbols, &state) {
        Judgement::Fails => Ok(Wrong::Observer(observed.observer)),
        Judgement::Overflow { span } if overflows.contains(&span) => Ok(overflow(span)),
        _ => Err("the observer is judged differently".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iso_evidence::Budget;
    use iso_program::{Value, parse};
    use iso_spec::Level;
    use iso_verify::{Verdict, verify};

    /// An observer that overflows, and is never false.
    #[test]
    fn an_observer_that_overflows_is_replayed_with_the_state_that_it_saw() {
        let text = "width 4\nvar x: int = 3\ntxn a() { x += 2 }\nrun a() || a()\nobserver x + 1 != 0\n";
        let program = parse(text, "overflow.txn").unwrap();
        for level in [Level::ReadCommitted, Level::SnapshotIsolation] {
            let Verdict::Violated(found) = verify(&program, level, &Budget::unlimited()).verdict else {
                unreachable!()
            };
            assert!(found.observed.is_some() && found.wrong.iter().all(|it| matches!(it, Wrong::InClaim { .. })));
            let (_, wrong) = replay(&program, level, &found).unwrap();
            assert_eq!(wrong, found.wrong);
            let blind = Counterexample { observed: None, ..*found };
            assert!(replay(&program, level, &blind).is_err());
        }
    }

    const SKEW: &str = "var x: int = 60\nvar y: int = 60\ntxn a() { if x + y > 100 { x -= 100 } }\n\
        txn b() { if x + y > 100 { y -= 100 } }\nrun a() || b()\ninvariant x + y > 0\nobserver x + y > -10\n";

    fn found(level: Level) -> (Program, Counterexample) {
        let program = parse(SKEW, "skew.txn").unwrap();
        let Verdict::Violated(found) = verify(&program, level, &Budget::unlimited()).verdict else { unreachable!() };
        (program, *found)
    }

    #[test]
    fn what_the_engine_finds_is_confirmed() {
        for level in [Level::ReadCommitted, Level::CausalConsistency, Level::SnapshotIsolation] {
            let (program, found) = found(level);
            let (run, wrong) = replay(&program, level, &found).unwrap();
            assert_eq!(run.last, found.last_state);
            assert!(!wrong.is_empty() && wrong.iter().all(|it| found.wrong.contains(it)), "{wrong:?}");
        }
    }

    /// Makes a counterexample wrong.
    type Change<'c> = &'c dyn Fn(&mut Counterexample);

    #[test]
    fn what_was_changed_is_refused() {
        let sixty = UnitValue::Present(vec![Value::Int(60)]);
        let changes: [(&str, Change<'_>); 8] = [
            ("who sees whom", &|it| it.sees = vec![(it.order[0], it.order[1])]),
            ("a value that is read", &|it| it.transactions[0].reads[0].value = UnitValue::Present(vec![Value::Int(7)])),
            ("a source", &|it| it.transactions[0].reads[0].source = Some(it.order[0])),
            ("a write", &|it| it.transactions[0].writes.clear()),
            ("an end", &|it| it.transactions[1].commits = false),
            ("the last state", &|it| it.last_state[0] = sixty.clone()),
            ("what is wrong", &|it| it.wrong.clear()),
            ("another thing that is wrong", &|it| {
                let span = Span::default();
                it.wrong.push(Wrong::Inside { instance: it.order[0], kind: FailureKind::Assertion, span });
            }),
        ];
        for (name, change) in changes {
            let (program, mut found) = found(Level::SnapshotIsolation);
            change(&mut found);
            assert!(replay(&program, Level::SnapshotIsolation, &found).is_err(), "{name}");
        }
    }
}

//! Saved runs of programs: the interpreter runs the program of the document again, and everything that the document says
//! about the run is made anew and compared. Nothing is searched for.

use super::histories::{Problem, wrong};
use crate::counterexample::bad_run;
use iso_answer::verify::{Counterexample, FailureKind, Isolation, Observed, Ran, Seen, Violation, Wrong, replay_run};
use iso_history::History;
use iso_program::{
    InstanceId, Judgement, Outcome, Program, ReadId, Request, Run, Source, TxnStep, UnitId, UnitValue, Value,
    initial_state, judge, run_reads,
};
use iso_report::{Access, BadRun, Executed};

/// The run of the document as the interpreter has it; the error says what the document says otherwise.
pub(super) fn replay(
    program: &Program,
    isolation: Isolation,
    said: &BadRun,
    history: &History,
) -> Result<Counterexample, Problem> {
    let claims = Claims { program, said };
    let symbols = symbols(program, &said.open_values)?;
    let order = claims.order()?;
    let run = claims.run(&symbols, &order)?;
    let observers: Vec<Option<usize>> = match said.observer {
        None => vec![None],
        Some(_) => (0..program.observers().len()).map(Some).collect(),
    };
    let mut refused = Problem::Wrong("the program has no observer".to_owned());
    for observer in observers {
        let found = claims.counterexample(&symbols, &order, &run, observer, history)?;
        match claims.compare(isolation, found) {
            Ok(found) => return Ok(found),
            Err(problem) => refused = problem,
        }
    }
    Err(refused)
}

/// What a document says about a run of a program.
struct Claims<'d> {
    program: &'d Program,
    said: &'d BadRun,
}

impl Claims<'_> {
    fn instance(&self, name: &str) -> Result<InstanceId, Problem> {
        let place = self.program.instances().iter().position(|it| it.name == name);
        place.map(InstanceId::from_index).map_or_else(|| wrong(format!("the program does not run {name}")), Ok)
    }

    fn unit(&self, name: &str) -> Result<UnitId, Problem> {
        let place = self.program.units().iter().position(|it| it.name == name);
        place.map(UnitId::from_index).map_or_else(|| wrong(format!("the program has no {name}")), Ok)
    }

    fn source(&self, access: &Access) -> Result<Option<InstanceId>, Problem> {
        access.from.as_ref().map(|it| self.instance(it)).transpose()
    }

    fn order(&self) -> Result<Vec<InstanceId>, Problem> {
        let order: Vec<InstanceId> =
            self.said.transactions.iter().map(|it| self.instance(&it.name)).collect::<Result<_, _>>()?;
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if sorted.into_iter().eq(self.program.instance_ids()) {
            Ok(order)
        } else {
            wrong("the run does not have each transaction once")
        }
    }

    fn executed(&self, instance: InstanceId) -> Result<&Executed, Problem> {
        let name = &self.program.instance(instance).name;
        let of = self.said.transactions.iter().find(|it| it.name == *name);
        of.map_or_else(|| wrong(format!("{name} is not in the run")), Ok)
    }

    /// Runs the program; each read from outside finds what its source wrote.
    fn run(&self, symbols: &[Value], order: &[InstanceId]) -> Result<Run, Problem> {
        let mut sources: Vec<Vec<Option<InstanceId>>> = Vec::new();
        for instance in self.program.instance_ids() {
            let reads = &self.executed(instance)?.reads;
            let mut all: Vec<Option<InstanceId>> = reads.iter().map(|it| self.source(it)).collect::<Result<_, _>>()?;
            all.reverse();
            sources.push(all);
        }
        let mut reads_more = None;
        let mut choose = |request: &Request<'_>| {
            let next = sources[request.reader.index()].pop();
            if next.is_none() {
                reads_more = Some(request.reader);
            }
            next.flatten()
        };
        let run = run_reads(self.program, symbols, order, &mut choose).map_err(|it| Problem::Wrong(it.to_string()))?;
        if let Some(reader) = reads_more {
            return wrong(format!("{} reads more", self.program.instance(reader).name));
        }
        match sources.iter().position(|it| !it.is_empty()) {
            Some(reader) => wrong(format!("{} reads less", self.program.instances()[reader].name)),
            None => Ok(run),
        }
    }

    /// The run with everything that the interpreter found.
    fn counterexample(
        &self,
        symbols: &[Value],
        order: &[InstanceId],
        run: &Run,
        observer: Option<usize>,
        history: &History,
    ) -> Result<Counterexample, Problem> {
        let (mut transactions, mut ids, mut sees) = (Vec::new(), Vec::new(), Vec::new());
        for instance in self.program.instance_ids() {
            let said = self.executed(instance)?;
            transactions.push(self.ran(instance, said, run)?);
            ids.push(match said.id.as_str() {
                "" => None,
                id => match history.txns().find(|it| !it.is_initial() && history.label(*it) == id) {
                    None => return wrong(format!("there is no {id} in the history")),
                    known => known,
                },
            });
            let earlier = order.iter().take_while(|it| **it != instance);
            let earlier: Vec<InstanceId> = earlier.copied().collect();
            for name in said.sees.iter().flatten() {
                let seen = self.instance(name)?;
                if !earlier.contains(&seen) {
                    return wrong(format!("{} cannot see {name}, which comes later", said.name));
                }
                sees.push((seen, instance));
            }
        }
        let observed = observer.map(|it| self.observed(it, run)).transpose()?;
        Ok(Counterexample {
            wrong: found_wrong(self.program, symbols, run, observed.as_ref()),
            symbols: symbols.to_vec(),
            order: order.to_vec(),
            sees,
            transactions,
            observed,
            last_state: run.last.clone(),
            history: history.clone(),
            ids,
        })
    }

    fn ran(&self, instance: InstanceId, said: &Executed, run: &Run) -> Result<Ran, Problem> {
        let of = run.txn(instance);
        let outside = of.steps.iter().filter_map(|it| match it {
            TxnStep::Read { read, unit, value, source: Source::Outside, .. } => Some((*read, *unit, value.clone())),
            _ => None,
        });
        let outside: Vec<(ReadId, UnitId, UnitValue)> = outside.collect();
        let mut reads = Vec::new();
        for ((read, unit, value), access) in outside.into_iter().zip(&said.reads) {
            reads.push(Seen { read: Some(read), unit, value, source: self.source(access)? });
        }
        let writes = of.writes.iter().map(|(unit, value)| (*unit, value.clone())).collect();
        Ok(Ran { commits: of.outcome == Outcome::Committed, reads, writes })
    }

    /// What an observer sees who reads from those whom the document names.
    fn observed(&self, observer: usize, run: &Run) -> Result<Observed, Problem> {
        let mut reads = Vec::new();
        for access in self.said.observer.iter().flatten() {
            let (unit, source) = (self.unit(&access.unit)?, self.source(access)?);
            let value = match source {
                None => Some(&run.initial[unit.index()]),
                Some(writer) => run.txn(writer).writes.get(&unit),
            };
            let Some(value) = value.cloned() else {
                return wrong(format!("the observer reads {} from somebody who did not write it", access.unit));
            };
            reads.push(Seen { read: None, unit, value, source });
        }
        Ok(Observed { observer, reads })
    }

    /// Is it the run of the history, and does the document say the same of it?
    fn compare(&self, isolation: Isolation, found: Counterexample) -> Result<Counterexample, Problem> {
        let (run, confirmed) = replay_run(self.program, isolation, &found).map_err(Problem::Wrong)?;
        let violation =
            Violation { counterexample: found, run, wrong: confirmed, forbidden_by: Vec::new(), refutation: None };
        let made = bad_run(self.program, isolation, &violation);
        let said = self.said;
        for (what, is_same) in [
            ("what is wrong", made.wrong == said.wrong),
            ("the open values", made.open_values == said.open_values),
            ("the initial state", made.initial == said.initial),
            ("what the transactions do", made.transactions == said.transactions),
            ("what the observer sees", made.observer == said.observer),
            ("the last state", made.last_state == said.last_state),
        ] {
            if !is_same {
                return wrong(format!("the interpreter does not agree about {what}"));
            }
        }
        Ok(violation.counterexample)
    }
}

/// The values of what a program leaves open, as a document has them.
pub(super) fn symbols(program: &Program, said: &[(String, String)]) -> Result<Vec<Value>, Problem> {
    let symbols = program.symbols();
    if said.len() != symbols.len() {
        return wrong("the program has other open values");
    }
    let mut values = Vec::new();
    for (symbol, (name, text)) in symbols.iter().zip(said) {
        let value = program.value_of(symbol.ty, text).filter(|it| *name == symbol.name && symbol.may_be(*it));
        let Some(value) = value else { return wrong(format!("{name} cannot be {text}")) };
        values.push(value);
    }
    Ok(values)
}

/// What is wrong in a run: invariants, transactions that fail, and the observer.
fn found_wrong(program: &Program, symbols: &[Value], run: &Run, observed: Option<&Observed>) -> Vec<Wrong> {
    let judged = |judgement: Judgement, fails: Wrong| match judgement {
        Judgement::Holds => None,
        Judgement::Fails => Some(fails),
        Judgement::Overflow { span } => Some(Wrong::InClaim { kind: FailureKind::Overflow, span }),
    };
    let claims = program.invariants().iter().enumerate();
    let mut found: Vec<Wrong> = claims
        .filter_map(|(idx, claim)| judged(judge(program, claim, symbols, &run.last), Wrong::Invariant(idx)))
        .collect();
    for instance in program.instance_ids() {
        let (kind, span) = match run.txn(instance).outcome {
            Outcome::AssertFailed { span } => (FailureKind::Assertion, span),
            Outcome::Overflow { span } => (FailureKind::Overflow, span),
            Outcome::NoSuchRow { span } => (FailureKind::NoSuchRow, span),
            Outcome::Committed | Outcome::Aborted { .. } => continue,
        };
        found.push(Wrong::Inside { instance, kind, span });
    }
    if let Some(Observed { observer, reads }) = observed {
        let mut state = initial_state(program, symbols);
        for seen in reads {
            state[seen.unit.index()].clone_from(&seen.value);
        }
        found.extend(judged(
            judge(program, &program.observers()[*observer], symbols, &state),
            Wrong::Observer(*observer),
        ));
    }
    found
}

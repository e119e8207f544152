//! From a certified counterexample to its document.

use crate::commands::verify::code_place;
use iso_answer::verify::{Counterexample, FailureKind, Isolation, Seen, Violation, Wrong};
use iso_program::{InstanceId, Program, Run, Span, TxnStep, UnitId, UnitValue};
use iso_report::{Access, BadRun, Excerpt, Executed, Fault, Outcome, Written};

/// The document of an execution that breaks a program.
pub(crate) fn bad_run(program: &Program, isolation: Isolation, violation: &Violation) -> BadRun {
    let Violation { counterexample: found, run, wrong, forbidden_by, refutation } = violation;
    let namer = Namer { program, isolation, found, run };
    BadRun {
        chosen: None,
        setup: None,
        wrong: wrong.iter().map(|it| namer.fault(*it)).collect(),
        open_values: namer.open_values(),
        initial: namer.state(&run.initial),
        transactions: found.order.iter().map(|it| namer.executed(*it)).collect(),
        observer: found.observed.as_ref().map(|it| it.reads.iter().map(|it| namer.access(it, None)).collect()),
        last_state: namer.state(&run.last),
        excerpt: Excerpt::whole(&found.history, refutation.as_ref()),
        anomalies: refutation.iter().flat_map(|it| &it.anomalies).map(ToString::to_string).collect(),
        forbidden_by: forbidden_by.iter().map(|it| it.short_name().to_owned()).collect(),
    }
}

/// Turns ids into names.
struct Namer<'a> {
    program: &'a Program,
    isolation: Isolation,
    found: &'a Counterexample,
    run: &'a Run,
}

impl Namer<'_> {
    fn fault(&self, wrong: Wrong) -> Fault {
        let failure = |kind: FailureKind| match kind {
            FailureKind::Assertion => "an assertion is false",
            FailureKind::Overflow => "a number leaves the range of its integers",
            FailureKind::NoSuchRow => "a row is inserted that the program's tables do not have",
        };
        let named = |kind: &str, claim: &iso_program::Claim| match &claim.label {
            Some(label) => format!("{kind} \"{label}\""),
            None => kind.to_owned(),
        };
        let (words, span): (String, Span) = match wrong {
            Wrong::Invariant(idx) => {
                let claim = &self.program.invariants()[idx];
                (format!("{} is false", named("invariant", claim)), claim.span)
            }
            Wrong::Observer(idx) => {
                let claim = &self.program.observers()[idx];
                (format!("{} is false at some time", named("observer", claim)), claim.span)
            }
            Wrong::Inside { instance, kind, span } => (format!("{} in {}", failure(kind), self.name(instance)), span),
            Wrong::InClaim { kind, span } => (format!("{} in a condition", failure(kind)), span),
        };
        Fault { words, place: code_place(self.program, span) }
    }

    fn open_values(&self) -> Vec<(String, String)> {
        let values = self.program.symbols().iter().zip(&self.found.symbols);
        values.map(|(symbol, value)| (symbol.name.clone(), self.program.show(*value))).collect()
    }

    fn state(&self, values: &[UnitValue]) -> Vec<(String, String)> {
        values.iter().enumerate().map(|(idx, value)| self.held(UnitId::from_index(idx), value)).collect()
    }

    /// A unit and what it holds.
    fn held(&self, unit: UnitId, value: &UnitValue) -> (String, String) {
        (self.program.unit(unit).name.clone(), self.program.show_unit(unit, value))
    }

    fn name(&self, instance: InstanceId) -> String {
        self.program.instance(instance).name.clone()
    }

    fn executed(&self, instance: InstanceId) -> Executed {
        let of = self.program.instance(instance);
        let ran = &self.found.transactions[instance.index()];
        let seen = self.found.order.iter().filter(|it| self.found.sees.contains(&(**it, instance)));
        let id = self.found.ids[instance.index()].map(|it| self.found.history.label(it));
        Executed {
            name: of.name.clone(),
            call: of.call.clone(),
            id: id.unwrap_or_default(),
            outcome: if self.run.committed(instance) { Outcome::Committed } else { Outcome::Aborted },
            sees: (!self.isolation.has_sources()).then(|| seen.map(|it| self.name(*it)).collect()),
            reads: ran.reads.iter().map(|it| self.access(it, Some(instance))).collect(),
            writes: ran.writes.iter().map(|(unit, value)| self.written(instance, *unit, value)).collect(),
        }
    }

    fn written(&self, instance: InstanceId, unit: UnitId, value: &UnitValue) -> Written {
        let span = self.run.txn(instance).steps.iter().rev().find_map(|it| match it {
            TxnStep::Write { unit: written, span, .. } if *written == unit => Some(*span),
            _ => None,
        });
        let (unit, value) = self.held(unit, value);
        Written { unit, value, line: span.map(|it| self.program.place(it).line.into()) }
    }

    fn access(&self, seen: &Seen, reader: Option<InstanceId>) -> Access {
        let place = reader.zip(seen.read).map(|(reader, read)| self.program.instance(reader).read(read).span);
        let (unit, value) = self.held(seen.unit, &seen.value);
        Access {
            unit,
            value,
            from: seen.source.map(|it| self.name(it)),
            line: place.map(|it| self.program.place(it).line.into()),
        }
    }
}

//! From a counterexample to its document: it is replayed and its history judged before it is shown.

use crate::commands::verify::code_place;
use crate::found::Withheld;
use crate::replay::replay;
use iso_evidence::{Budget, Refutation, Verdict, certify_facts};
use iso_history::Facts;
use iso_program::{InstanceId, Program, Run, Span, Step, UnitId, UnitValue};
use iso_report::{Access, BadRun, Executed, Fault, Outcome, Part, Written};
use iso_spec::Level;
use iso_verify::{Counterexample, FailureKind, LEVELS, Seen, Wrong};

/// The document of a counterexample that passed all checks.
pub(crate) fn bad_run(
    program: &Program,
    level: Level,
    found: &Counterexample,
    budget: &Budget<'_>,
) -> Result<BadRun, Withheld> {
    let (run, wrong) =
        replay(program, level, found).map_err(|why| withheld(level, format!("the interpreter says: {why}")))?;
    let judged = judge_history(level, found, budget)?;
    let teller = Teller { program, level, found, run: &run };
    Ok(BadRun {
        wrong: wrong.iter().map(|it| teller.fault(*it)).collect(),
        open_values: teller.open_values(),
        initial: teller.state(&run.initial),
        transactions: found.order.iter().map(|it| teller.executed(*it)).collect(),
        observer: found.observed.as_ref().map(|it| it.reads.iter().map(|it| teller.access(it, None)).collect()),
        last_state: teller.state(&run.last),
        part: Part::whole(&found.history, judged.refutation.as_ref()),
        anomalies: judged.refutation.iter().flat_map(|it| &it.anomalies).map(ToString::to_string).collect(),
        forbidden_by: judged.forbidden_by.iter().map(|it| it.short_name().to_owned()).collect(),
    })
}

fn withheld(level: Level, why: String) -> Withheld {
    Withheld::Wrong { level: level.short_name().to_owned(), why }
}

/// What `check` says about the history.
struct Judged {
    /// Weaker ones first.
    forbidden_by: Vec<Level>,
    /// Why it is not serializable, if it is not.
    refutation: Option<Refutation>,
}

/// The level must allow the history; what other levels say tells people what it is.
fn judge_history(level: Level, found: &Counterexample, budget: &Budget<'_>) -> Result<Judged, Withheld> {
    let facts = Facts::new(&found.history);
    let mut judged = Judged { forbidden_by: Vec::new(), refutation: None };
    for other in LEVELS {
        let verdict = iso_check::check_facts(&facts, other, budget);
        budget.check().map_err(Withheld::Stopped)?;
        if let Err(why) = certify_facts(&facts, other, &verdict) {
            if why.is_too_large && other != level {
                continue;
            }
            return Err(withheld(level, format!("check at {}: {why}", other.short_name())));
        }
        match verdict {
            Verdict::Forbidden(_) if level.implies(other) => {
                return Err(withheld(level, format!("check at {} forbids the history", other.short_name())));
            }
            Verdict::Unknown(reason) if other == level => return Err(Withheld::Stopped(reason)),
            Verdict::Forbidden(refutation) => {
                judged.forbidden_by.push(other);
                if other == Level::Serializable {
                    judged.refutation = Some(refutation);
                }
            }
            Verdict::Allowed(_) | Verdict::Unknown(_) => {}
        }
    }
    Ok(judged)
}

/// Turns ids into names.
struct Teller<'a> {
    program: &'a Program,
    level: Level,
    found: &'a Counterexample,
    run: &'a Run,
}

impl Teller<'_> {
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
            sees: (self.level != Level::ReadCommitted).then(|| seen.map(|it| self.name(*it)).collect()),
            reads: ran.reads.iter().map(|it| self.access(it, Some(instance))).collect(),
            writes: ran.writes.iter().map(|(unit, value)| self.written(instance, *unit, value)).collect(),
        }
    }

    fn written(&self, instance: InstanceId, unit: UnitId, value: &UnitValue) -> Written {
        let span = self.run.txn(instance).steps.iter().rev().find_map(|it| match it {
            Step::Write { unit: written, span, .. } if *written == unit => Some(*span),
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

#[cfg(test)]
mod tests {
    use super::*;
    use iso_program::parse;
    use iso_verify::verify;

    const COUNTER: &str = "var x: int = 0\ntxn inc() { x += 1 }\nrun inc() || inc()\ninvariant x == 2\n";

    #[test]
    fn a_run_that_the_level_forbids_is_not_shown() {
        let program = parse(COUNTER, "counter.txn").unwrap();
        let verdict = verify(&program, Level::PrefixConsistency, &Budget::unlimited()).verdict;
        let iso_verify::Verdict::Violated(found) = verdict else { unreachable!() };
        let run = bad_run(&program, Level::PrefixConsistency, &found, &Budget::unlimited()).unwrap();
        assert_eq!(run.anomalies, ["lost-update"]);
        assert_eq!(run.forbidden_by, ["ua", "psi", "si", "ser"]);
        let withheld = bad_run(&program, Level::SnapshotIsolation, &found, &Budget::unlimited()).unwrap_err();
        assert!(matches!(withheld, Withheld::Wrong { level, .. } if level == "si"));
    }
}

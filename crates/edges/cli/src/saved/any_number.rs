//! Saved answers about any number of transactions: the kernel makes all programs again from the text in the document.

use super::allocations::level_of;
use super::levels::Levels;
use super::{Findings, Outcome, violated};
use crate::any_number::{rows, scope};
use iso_answer::any_number::MAX_CASES;
use iso_program::{AnyNumber, Exhaustive, NotRobust, Program, check_robust, go_through, parse};
use iso_report::{AnyNumberReport, BadRun, StepReport, StepVerdict, VerifyReport, VerifyVerdict};

/// What becomes of the claims.
pub(super) fn examine(report: &VerifyReport, any: &AnyNumberReport, levels: Levels<'_>, findings: &mut Findings) {
    let file = report.inputs.first().map_or("program", String::as_str);
    let asked = AnyNumber::parse(&report.program.text, file);
    let asked = match asked.map_err(|it| it.first().map_or_else(String::new, ToString::to_string)) {
        Ok(asked) if scope(&asked, &report.program.text) == report.program && rows(&asked) == any.rows => asked,
        Ok(_) => {
            let reason = "the document says something else about the program than its text".to_owned();
            return findings.add("the program is that of the document", Outcome::Refused(reason));
        }
        Err(reason) => return findings.add("the program can be read", Outcome::Refused(reason)),
    };
    let claims = Claims { asked: &asked, any, levels };
    for step in &any.steps {
        claims.step(step, findings);
    }
    for answer in &report.levels {
        let name = &answer.level.short;
        match &answer.verdict {
            VerifyVerdict::Holds => claims.holds(name, findings),
            VerifyVerdict::Violated { counterexample } => {
                let of = if counterexample.chosen.as_deref() == Some(&[]) { "ser" } else { name };
                claims.run(of, counterexample, findings);
            }
            VerifyVerdict::Unknown { .. } => {}
        }
    }
}

struct Claims<'d> {
    asked: &'d AnyNumber,
    any: &'d AnyNumberReport,
    levels: Levels<'d>,
}

impl Claims<'_> {
    fn position(&self, name: &str) -> Result<usize, String> {
        let place = self.asked.names().iter().position(|it| *it == name);
        place.ok_or_else(|| format!("the program has no transaction {name}"))
    }

    fn parsed(text: &str) -> Result<Program, String> {
        parse(text, "program").map_err(|it| it.first().map_or_else(String::new, ToString::to_string))
    }

    fn step_program(&self, transaction: Option<&String>) -> Result<Program, String> {
        match transaction {
            None => Self::parsed(&self.asked.initial_text()),
            Some(name) => Self::parsed(&self.asked.step_text(self.position(name)?)),
        }
    }

    fn step(&self, step: &StepReport, findings: &mut Findings) {
        let program = self.step_program(step.transaction.as_ref());
        let who = match &step.transaction {
            None => "the initial state satisfies what is claimed".to_owned(),
            Some(name) => format!("{name}, alone and from every state in which the claims hold, keeps them"),
        };
        match (step.verdict, &step.counterexample) {
            (StepVerdict::Keeps, _) => {
                let outcome = match program.as_ref().map(|it| go_through(it, MAX_CASES)) {
                    Err(reason) => Outcome::Refused(reason.clone()),
                    Ok(Exhaustive::Holds { cases: 0 }) => Outcome::Refused("there is no such state".to_owned()),
                    Ok(Exhaustive::Holds { .. }) => Outcome::Certified,
                    Ok(Exhaustive::Fails) => {
                        Outcome::Refused("the interpreter finds a case in which it does not".to_owned())
                    }
                    Ok(Exhaustive::TooMany) => Outcome::Missing(
                        "it rests on the search itself: there are too many states to go through with the interpreter"
                            .to_owned(),
                    ),
                };
                findings.add(who, outcome);
            }
            (StepVerdict::Breaks, Some(run)) => {
                violated(program.as_ref(), "ser", run, self.levels, findings);
            }
            (StepVerdict::Breaks, None) => findings.missing(format!("not always: {who}"), "no case is in the document"),
            (StepVerdict::Nowhere | StepVerdict::Unknown, _) => {}
        }
    }

    /// A program that holds has every step, and only serializable runs.
    fn holds(&self, name: &str, findings: &mut Findings) {
        let keeps = |it: &StepReport| it.verdict == StepVerdict::Keeps;
        let of = |name: Option<&str>| self.any.steps.iter().any(|it| it.transaction.as_deref() == name && keeps(it));
        let is_complete = of(None) && self.asked.names().into_iter().all(|it| of(Some(it)));
        let level = level_of(name);
        let text = self.asked.transactions_text();
        let n_txns = iso_program::Templates::parse(&text, "").map_or(0, |it| it.templates().len());
        let outcome = match level {
            None => Outcome::Refused("transactions do not have this level".to_owned()),
            Some(_) if !is_complete => {
                Outcome::Refused("not everything that runs is said to keep the claims".to_owned())
            }
            Some(level) if level != iso_program::TxnLevel::Serializable && !self.asked.asserting().is_empty() => {
                Outcome::Refused(
                    "a transaction asserts something, and who fails need not see what a serial run shows".to_owned(),
                )
            }
            Some(level) => match check_robust(&text, &vec![level; n_txns]) {
                Ok(_) => Outcome::Certified,
                Err(NotRobust::Split { template, line }) => {
                    Outcome::Refused(format!("{template} can be split after line {line} of the program"))
                }
                Err(NotRobust::TooLarge) => Outcome::Missing("the program is too large to go through again".to_owned()),
            },
        };
        findings.add(format!("every run at {name} is as a serial one, so the program holds however many run"), outcome);
    }

    /// A run of some transactions of the program.
    fn run(&self, name: &str, run: &BadRun, findings: &mut Findings) {
        let program = match run.chosen.as_deref() {
            None => Err("which transactions run is not in the document".to_owned()),
            Some([]) => self.step_program(None),
            Some(names) => {
                let chosen: Result<Vec<usize>, String> = names.iter().map(|it| self.position(it)).collect();
                chosen.and_then(|it| Self::parsed(&self.asked.run_text(&it)))
            }
        };
        violated(program.as_ref(), name, run, self.levels, findings);
    }
}

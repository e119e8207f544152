//! `isoscope verify`: does a program keep its promises under isolation levels?

use crate::args::VerifyArgs;
use crate::counterexample::bad_run;
use crate::exit::Exit;
use crate::limits::Alarm;
use crate::output;
use crate::reporter::{Channel, Limited, Reporter, complain_of_limit};
use crate::text_file::{self, Mistake};
use anyhow::{anyhow, bail};
use iso_answer::WrongEvidence;
use iso_answer::verify::{Answer, LEVELS, Repair, Repairs, Verification, repairs, verify_levels, weakest};
use iso_evidence::Budget;
use iso_program::{Program, ProgramError, Span};
use iso_report::{
    Change, CodePlace, Effort, LevelName, ProgramScope, RepairReport, Report, VerifiedLevel, VerifyReport,
    VerifyVerdict,
};
use iso_spec::Level;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The arguments, resolved.
struct Verify {
    program: Program,
    asked: Asked,
    names_weakest: bool,
    repairs: bool,
    inputs: Vec<String>,
}

/// Which levels are decided.
enum Asked {
    Everything,
    /// Weaker ones first.
    Levels(Vec<Level>),
}

/// Runs the verb.
pub(crate) fn run(raw: &VerifyArgs, started: Instant) -> anyhow::Result<Exit> {
    let asked = Verify::resolve(raw)?;
    let reporter = Arc::new(Reporter::new(&raw.answer, Channel::Output, started)?);
    let alarm = reporter.watch(Report::Verify(asked.blank()));
    asked.answer(&reporter, &alarm)
}

impl Verify {
    fn resolve(raw: &VerifyArgs) -> anyhow::Result<Self> {
        let asked = if raw.levels.is_empty() { Asked::Everything } else { Asked::Levels(levels(&raw.levels)?) };
        Ok(Self {
            program: program(&raw.input)?,
            names_weakest: raw.weakest || matches!(asked, Asked::Everything),
            repairs: raw.repair,
            inputs: vec![raw.input.display().to_string()],
            asked,
        })
    }

    fn levels(&self) -> &[Level] {
        match &self.asked {
            Asked::Everything => &LEVELS,
            Asked::Levels(levels) => levels,
        }
    }

    /// The answer before anything is known.
    fn blank(&self) -> VerifyReport {
        let unknown = |level: &Level| VerifiedLevel {
            level: LevelName::from(*level),
            verdict: VerifyVerdict::Unknown { reason: String::new() },
        };
        VerifyReport {
            inputs: self.inputs.clone(),
            program: scope(&self.program),
            levels: self.levels().iter().map(unknown).collect(),
            weakest: None,
            repairs: Vec::new(),
            not_certified: None,
            effort: Effort::default(),
        }
    }

    fn answer(&self, reporter: &Reporter, alarm: &Alarm) -> anyhow::Result<Exit> {
        let stop = || alarm.reason();
        let budget = Budget::new(&stop);
        let answers = self.decide(reporter, &budget);
        let mut report = self.blank();
        report.levels = answers.iter().map(|(level, it)| self.worded(*level, &it.answer)).collect();
        report.effort = effort(&answers);
        if answers.iter().any(|it| matches!(it.1.answer, Answer::Holds(_))) {
            report.not_certified = Some("\"holds\" rests on the search itself".to_owned());
        }
        let decided = || answers.iter().map(|it| it.0).zip(&report.levels);
        if self.names_weakest {
            let holding = decided().filter(|it| it.1.verdict == VerifyVerdict::Holds).map(|it| it.0);
            report.weakest = Some(weakest_of(&holding.collect::<Vec<_>>()));
        }
        if self.repairs {
            let violated: Vec<Level> = decided().filter(|it| it.1.verdict.bad_run().is_some()).map(|it| it.0).collect();
            report.repairs = self.repairs(&violated, reporter, &budget);
        }
        let is_cut = is_cut(&report);
        let exit = reporter.publish(report.into(), Vec::new(), || Ok(Vec::new()))?;
        if let Some(reason) = alarm.reason().filter(|_| is_cut) {
            complain_of_limit(&reason, Limited::Verification);
        }
        Ok(exit)
    }

    fn decide(&self, reporter: &Reporter, budget: &Budget<'_>) -> Vec<(Level, Verification)> {
        match &self.asked {
            Asked::Everything => {
                reporter.progress.stage("verifying every level");
                weakest(&self.program, budget).levels
            }
            Asked::Levels(levels) => {
                let mut answers = Vec::new();
                let stage = |n_decided: usize| match levels.get(n_decided) {
                    Some(next) => format!("verifying {}", next.full_name()),
                    None => "writing the report".to_owned(),
                };
                reporter.progress.stage(stage(0));
                verify_levels(&self.program, levels, budget, &mut |level, verification| {
                    answers.push((level, verification));
                    reporter.progress.stage(stage(answers.len()));
                });
                answers
            }
        }
    }

    /// An answer for the report.
    fn worded(&self, level: Level, answer: &Answer) -> VerifiedLevel {
        let verdict = match answer {
            Answer::Holds(_) => VerifyVerdict::Holds,
            Answer::Violated(violation) => {
                VerifyVerdict::Violated { counterexample: Box::new(bad_run(&self.program, level, violation)) }
            }
            Answer::Undecided(reason) => VerifyVerdict::Unknown { reason: reason.to_string() },
            Answer::Refused(wrong) => {
                output::complain(&wrong.to_string());
                VerifyVerdict::Unknown { reason: WrongEvidence::IN_SHORT.to_owned() }
            }
        };
        VerifiedLevel { level: level.into(), verdict }
    }

    /// Of all levels only the strongest violated one is worth a search.
    fn repairs(&self, violated: &[Level], reporter: &Reporter, budget: &Budget<'_>) -> Vec<RepairReport> {
        let wanted = match self.asked {
            Asked::Everything => &violated[violated.len().saturating_sub(1)..],
            Asked::Levels(_) => violated,
        };
        let mut reports = Vec::new();
        for level in wanted {
            reporter.progress.stage(format!("trying repairs under {}", level.full_name()));
            let (changes, stopped) = match repairs(&self.program, *level, budget) {
                Ok(Repairs { found, .. }) => (found.iter().map(|it| self.change(it)).collect(), None),
                Err(reason) => (Vec::new(), Some(reason.to_string())),
            };
            reports.push(RepairReport { level: (*level).into(), changes, stopped });
        }
        reports
    }

    fn change(&self, repair: &Repair) -> Change {
        match repair {
            Repair::Lock(spans) => Change::Lock(spans.iter().map(|it| code_place(&self.program, *it)).collect()),
            Repair::Raise(names) => Change::Raise(names.clone()),
        }
    }
}

/// Where a span of a program stands, for the report.
pub(crate) fn code_place(program: &Program, span: Span) -> CodePlace {
    let place = program.place(span);
    CodePlace { line: place.line.into(), column: place.column.into(), text: place.text.to_owned() }
}

fn program(path: &Path) -> anyhow::Result<Program> {
    let text = text_file::read(path, "program")?;
    let program = iso_program::parse(&text, &path.display().to_string())
        .map_err(|errors| text_file::shown(errors.iter().map(mistake), path, &text))?;
    if program.instances().is_empty() {
        bail!("{}: nothing runs; add a line such as `run a() || b()`", path.display());
    }
    Ok(program)
}

fn mistake(error: &ProgramError) -> Mistake<'_> {
    let ProgramError { file, line, column, message, hint } = error;
    Mistake { file, line: *line, column: *column, message, hint }
}

/// The levels of some names, each once, weaker ones first.
fn levels(names: &[String]) -> anyhow::Result<Vec<Level>> {
    let wanted: Vec<Level> = names.iter().map(|it| level(it.trim())).collect::<anyhow::Result<_>>()?;
    Ok(LEVELS.into_iter().filter(|it| wanted.contains(it)).collect())
}

fn level(name: &str) -> anyhow::Result<Level> {
    if ["ec", "eventual-consistency"].contains(&name) {
        // Transactions are seen as a whole or not at all, and for a program nothing else is left of it.
        return Ok(Level::ReadAtomic);
    }
    let known: Vec<&str> = LEVELS.iter().map(|it| it.short_name()).chain(["ec"]).collect();
    let known = known.join(", ");
    match Level::from_name(name) {
        Some(level) if LEVELS.contains(&level) => Ok(level),
        Some(level) => Err(anyhow!(
            "programs cannot be verified under {} (`{}`); choose one of {known}",
            level.full_name(),
            level.short_name()
        )),
        None => Err(anyhow!("there is no level `{name}` for programs; choose one of {known}")),
    }
}

fn scope(program: &Program) -> ProgramScope {
    let sessions: BTreeSet<usize> = program.instances().iter().map(|it| it.session).collect();
    ProgramScope {
        text: program.text().to_owned(),
        transactions: program.instances().iter().map(|it| it.call.clone()).collect(),
        sessions: sessions.len() as u64,
        int_bits: program.width().into(),
        open_values: program.symbols().iter().map(|it| it.name.clone()).collect(),
    }
}

/// Those of which no other one is weaker.
fn weakest_of(holding: &[Level]) -> Vec<String> {
    let is_weakest = |it: &&Level| !holding.iter().any(|other| other != *it && it.implies(*other));
    holding.iter().filter(is_weakest).map(|it| it.short_name().to_owned()).collect()
}

/// Is something missing in the answer?
fn is_cut(report: &VerifyReport) -> bool {
    let is_unknown = |it: &VerifiedLevel| matches!(it.verdict, VerifyVerdict::Unknown { .. });
    report.levels.iter().any(is_unknown) || report.repairs.iter().any(|it| it.stopped.is_some())
}

/// What the searches took together; their formulas are shared, so the largest counts.
fn effort(answers: &[(Level, Verification)]) -> Effort {
    let efforts = || answers.iter().map(|it| it.1.effort);
    Effort {
        variables: efforts().map(|it| it.variables).max().unwrap_or(0),
        clauses: efforts().map(|it| it.clauses).max().unwrap_or(0),
        conflicts: efforts().map(|it| it.conflicts).sum(),
        ..Effort::default()
    }
}

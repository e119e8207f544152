//! `isoscope verify`: does a program keep its promises under isolation levels?

use crate::any_number;
use crate::args::VerifyArgs;
use crate::counterexample::bad_run;
use crate::exit::Exit;
use crate::limits::Alarm;
use crate::on_server::OnServer;
use crate::output;
use crate::program_file::ProgramFile;
use crate::progress::Progress;
use crate::reporter::{Channel, Limited, Reporter, complain_of_limit};
use crate::unasked;
use crate::watch::watch;
use anyhow::{anyhow, bail};
use iso_answer::WrongEvidence;
use iso_answer::verify::{
    Answer, Database, DatabaseLevel, Isolation, LEVELS, Repair, Repairs, Verification, repairs, verify_all, weakest,
};
use iso_evidence::{Budget, Note, StopReason};
use iso_program::{Program, Span};
use iso_report::{
    Change, CodePlace, Effort, LevelName, ProgramScope, RepairReport, Report, VerifiedLevel, VerifyReport,
    VerifyVerdict,
};
use iso_spec::Level;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

/// The arguments, resolved.
struct Verify {
    program: Program,
    asked: Asked,
    names_weakest: bool,
    repairs: bool,
    inputs: Vec<String>,
    server: Option<OnServer>,
}

/// Which levels are decided.
enum Asked {
    Everything,
    /// All of a database.
    Database(Vec<Isolation>),
    /// Weaker ones first.
    Levels(Vec<Isolation>),
}

/// Where people find what their database promises.
const DATABASE_HINT: &str = "These are the levels of papers, where `+=` is a read and a later write. For those of a database, \
    add --database postgres, mysql, mariadb or sqlite.";

/// Runs the verb.
pub(crate) fn run(raw: &VerifyArgs, started: Instant) -> anyhow::Result<Exit> {
    if raw.watch {
        return watch(std::slice::from_ref(&raw.input));
    }
    if raw.any_number {
        return any_number::run(raw, started);
    }
    let asked = ProgramFile::read(&raw.input).and_then(|it| Verify::resolve(raw, &it));
    let asked = asked.inspect_err(|error| unasked::leave(&raw.answer, "verify", &raw.input, error))?;
    let reporter = Arc::new(Reporter::new(&raw.answer, Channel::Output, started)?);
    let alarm = reporter.watch(Report::Verify(asked.blank()));
    asked.answer(&reporter, &alarm)
}

/// The answer about a text that is at hand, for whoever asks from within a program.
pub(crate) fn ask(raw: &VerifyArgs, text: &str, budget: &Budget<'_>) -> anyhow::Result<VerifyReport> {
    let stop = || budget.check().err();
    Verify::resolve(raw, &ProgramFile::of(&raw.input, text.to_owned())?)?.document(&Progress::silent(), budget, &stop)
}

impl Verify {
    fn resolve(raw: &VerifyArgs, file: &ProgramFile<'_>) -> anyhow::Result<Self> {
        let program = program(file)?;
        let server = raw.run.as_ref().map(|url| OnServer::new(url, raw)).transpose()?;
        let asked = match &raw.database {
            None if server.is_some() => Asked::Levels(server.iter().map(|it| it.level.into()).collect()),
            Some(name) => Asked::Database(database(name)?.levels().iter().map(|it| (*it).into()).collect()),
            None if raw.levels.is_empty() => Asked::Everything,
            None => Asked::Levels(levels(&raw.levels)?),
        };
        Ok(Self {
            program,
            server,
            names_weakest: raw.weakest || !matches!(asked, Asked::Levels(_)),
            repairs: raw.repair,
            inputs: vec![raw.input.display().to_string()],
            asked,
        })
    }

    fn levels(&self) -> Vec<Isolation> {
        match &self.asked {
            Asked::Everything => LEVELS.map(Isolation::Paper).to_vec(),
            Asked::Database(levels) | Asked::Levels(levels) => levels.clone(),
        }
    }

    /// The answer before anything is known.
    fn blank(&self) -> VerifyReport {
        let unknown = |level: &Isolation| VerifiedLevel {
            level: level_name(*level),
            verdict: VerifyVerdict::Unknown { reason: String::new() },
        };
        VerifyReport {
            inputs: self.inputs.clone(),
            program: scope(&self.program),
            levels: self.levels().iter().map(unknown).collect(),
            weakest: None,
            any_number: None,
            server: None,
            hint: matches!(self.asked, Asked::Everything).then(|| DATABASE_HINT.to_owned()),
            repairs: Vec::new(),
            not_certified: None,
            covers: None,
            effort: Effort::default(),
        }
    }

    fn answer(&self, reporter: &Reporter, alarm: &Alarm) -> anyhow::Result<Exit> {
        let stop = || alarm.reason();
        let budget = Budget::new(&stop);
        let report = self.document(&reporter.progress, &budget, &stop)?;
        let is_cut = is_cut(&report);
        let exit = reporter.publish(report.into(), Vec::new(), || Ok(Vec::new()))?;
        if let Some(reason) = alarm.reason().filter(|_| is_cut) {
            complain_of_limit(&reason, Limited::Verification);
        }
        Ok(exit)
    }

    /// The answer as a document.
    fn document(
        &self,
        progress: &Progress,
        budget: &Budget<'_>,
        stop: &dyn Fn() -> Option<StopReason>,
    ) -> anyhow::Result<VerifyReport> {
        let answers = self.decide(progress, budget);
        let mut report = self.blank();
        report.levels = answers.iter().map(|(level, it)| self.worded(*level, &it.answer)).collect();
        report.effort = effort(&answers);
        if answers.iter().any(|it| matches!(it.1.answer, Answer::Holds(_))) {
            report.not_certified = Some("\"holds\" rests on the search itself".to_owned());
        }
        report.covers = self.covers(&answers);
        let decided = || answers.iter().map(|it| it.0).zip(&report.levels);
        if self.names_weakest {
            let holding = decided().filter(|it| it.1.verdict == VerifyVerdict::Holds).map(|it| it.0);
            report.weakest = Some(weakest_of(&holding.collect::<Vec<_>>()));
        }
        if self.repairs {
            let violated: Vec<Isolation> =
                decided().filter(|it| it.1.verdict.bad_run().is_some()).map(|it| it.0).collect();
            report.repairs = self.repairs(&violated, progress, budget);
        }
        if let Some(server) = &self.server {
            progress.stage("running the program on the database");
            let known = answers.iter().find_map(|it| match &it.1.answer {
                Answer::Violated(violation) => Some(violation.counterexample.symbols.clone()),
                _ => None,
            });
            report.server = Some(server.run(&self.program, known, stop)?);
        }
        Ok(report)
    }

    /// Which runs a "holds" is not about.
    fn covers(&self, answers: &[(Isolation, Verification)]) -> Option<String> {
        let is_partial = |(isolation, it): &&(Isolation, Verification)| {
            let level = match isolation {
                Isolation::Database(level) => level,
                Isolation::Paper(_) => return false,
            };
            matches!(it.answer, Answer::Holds(_)) && level.leaves_out_remade_rows(&self.program)
        };
        let partial: Vec<String> = answers.iter().filter(is_partial).map(|it| level_name(it.0).short).collect();
        let levels = partial.join(" and ");
        (!partial.is_empty()).then(|| {
            format!(
                "At {levels}, \"holds\" is about rows that are made once: PostgreSQL takes a row that is deleted and \
                 inserted again for another one, and not all of its runs with such rows are looked at."
            )
        })
    }

    fn decide(&self, progress: &Progress, budget: &Budget<'_>) -> Vec<(Isolation, Verification)> {
        match &self.asked {
            Asked::Everything => {
                let hear = |note: Note| {
                    if let Note::Reached { n_done, of } = note {
                        progress.stage(format!("verifying {} ({} of {of})", LEVELS[n_done].full_name(), n_done + 1));
                    }
                };
                weakest(&self.program, &budget.heard_by(&hear))
                    .levels
                    .into_iter()
                    .map(|it| (it.0.into(), it.1))
                    .collect()
            }
            Asked::Database(levels) | Asked::Levels(levels) => {
                let mut answers = Vec::new();
                let stage = |n_decided: usize| match levels.get(n_decided) {
                    Some(next) => format!("verifying {} ({} of {})", next.full_name(), n_decided + 1, levels.len()),
                    None => "writing the report".to_owned(),
                };
                progress.stage(stage(0));
                verify_all(&self.program, levels, budget, &mut |level, verification| {
                    answers.push((level, verification));
                    progress.stage(stage(answers.len()));
                });
                answers
            }
        }
    }

    /// An answer for the report.
    fn worded(&self, level: Isolation, answer: &Answer) -> VerifiedLevel {
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
        VerifiedLevel { level: level_name(level), verdict }
    }

    /// Of all levels only the strongest violated one is worth a search.
    fn repairs(&self, violated: &[Isolation], progress: &Progress, budget: &Budget<'_>) -> Vec<RepairReport> {
        let wanted = match self.asked {
            Asked::Everything => &violated[violated.len().saturating_sub(1)..],
            Asked::Database(_) | Asked::Levels(_) => violated,
        };
        let mut reports = Vec::new();
        for level in wanted {
            progress.stage(format!("trying repairs under {}", level.full_name()));
            let (changes, stopped) = match repairs(&self.program, *level, budget) {
                Ok(Repairs { found, .. }) => (found.iter().map(|it| self.change(it)).collect(), None),
                Err(reason) => (Vec::new(), Some(reason.to_string())),
            };
            reports.push(RepairReport { level: level_name(*level), changes, stopped });
        }
        reports
    }

    fn change(&self, repair: &Repair) -> Change {
        let places = |spans: &[Span]| spans.iter().map(|it| code_place(&self.program, *it)).collect();
        match repair {
            Repair::Lock(spans) => Change::Lock(places(spans)),
            Repair::Raise(names) => Change::Raise(names.clone()),
            Repair::Update(spans) => Change::Update(places(spans)),
            Repair::Stronger(level) => Change::Stronger(level_name((*level).into())),
        }
    }
}

/// Where a span of a program stands, for the report.
pub(crate) fn code_place(program: &Program, span: Span) -> CodePlace {
    let place = program.place(span);
    CodePlace { line: place.line.into(), column: place.column.into(), text: place.text.to_owned() }
}

fn program(file: &ProgramFile<'_>) -> anyhow::Result<Program> {
    let program = iso_program::parse(&file.text, &file.name()).map_err(|errors| file.complaint(&errors))?;
    if program.instances().is_empty() {
        bail!("{}: nothing runs; add a line such as `run a() || b()`", file.name());
    }
    Ok(program)
}

pub(crate) fn level_name(isolation: Isolation) -> LevelName {
    LevelName { short: isolation.short_name().to_owned(), full: isolation.full_name().to_owned() }
}

fn database(name: &str) -> anyhow::Result<Database> {
    let known = || Database::ALL.map(Database::name).join(", ");
    Database::from_name(name).ok_or_else(|| anyhow!("programs know no database `{name}`; choose one of {}", known()))
}

/// The levels of some names, each once, weaker ones first.
fn levels(names: &[String]) -> anyhow::Result<Vec<Isolation>> {
    let wanted: Vec<Isolation> = names.iter().map(|it| level(it.trim())).collect::<anyhow::Result<_>>()?;
    let of_databases = Database::ALL.into_iter().flat_map(Database::levels).map(|it| Isolation::from(*it));
    let mut levels: Vec<Isolation> = Vec::new();
    for level in LEVELS.map(Isolation::Paper).into_iter().chain(of_databases) {
        if wanted.contains(&level) && !levels.contains(&level) {
            levels.push(level);
        }
    }
    Ok(levels)
}

/// The level of a name.
pub(crate) fn level(name: &str) -> anyhow::Result<Isolation> {
    if ["ec", "eventual-consistency"].contains(&name) {
        // Transactions are seen as a whole or not at all, and for a program nothing else is left of it.
        return Ok(Level::ReadAtomic.into());
    }
    if let Some(level) = DatabaseLevel::from_name(name) {
        return Ok(level.into());
    }
    let known: Vec<&str> = LEVELS.iter().map(|it| it.short_name()).chain(["ec"]).collect();
    let known = format!("{}, or a level of a database such as postgres.rc", known.join(", "));
    match Level::from_name(name) {
        Some(level) if LEVELS.contains(&level) => Ok(level.into()),
        Some(level) => Err(anyhow!(
            "programs cannot be verified under {} (`{}`); choose one of {known}",
            level.full_name(),
            level.short_name()
        )),
        None => Err(anyhow!("there is no level `{name}` for programs; choose one of {known}")),
    }
}

/// What is said of a program.
pub(crate) fn scope(program: &Program) -> ProgramScope {
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
pub(crate) fn weakest_of(holding: &[Isolation]) -> Vec<String> {
    let is_weaker = |a: Isolation, b: Isolation| match (a, b) {
        // Levels of a database stand in a row.
        (Isolation::Database(_), Isolation::Database(_)) => {
            holding.iter().position(|it| *it == a) < holding.iter().position(|it| *it == b)
        }
        _ => b.level().implies(a.level()),
    };
    let is_weakest = |it: &&Isolation| !holding.iter().any(|other| other != *it && is_weaker(*other, **it));
    holding.iter().filter(is_weakest).map(|it| it.short_name().to_owned()).collect()
}

/// Is something missing in the answer?
fn is_cut(report: &VerifyReport) -> bool {
    let is_unknown = |it: &VerifiedLevel| matches!(it.verdict, VerifyVerdict::Unknown { .. });
    report.levels.iter().any(is_unknown) || report.repairs.iter().any(|it| it.stopped.is_some())
}

/// What the searches took together; their formulas are shared, so the largest counts.
fn effort(answers: &[(Isolation, Verification)]) -> Effort {
    let efforts = || answers.iter().map(|it| it.1.effort);
    Effort {
        variables: efforts().map(|it| it.variables).max().unwrap_or(0),
        clauses: efforts().map(|it| it.clauses).max().unwrap_or(0),
        conflicts: efforts().map(|it| it.conflicts).sum(),
        ..Effort::default()
    }
}

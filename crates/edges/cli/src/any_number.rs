//! `isoscope verify --any-number`: the question, and the document of its answer.

use crate::args::VerifyArgs;
use crate::commands::verify::{level_name, weakest_of};
use crate::counterexample::bad_run;
use crate::exit::Exit;
use crate::output;
use crate::program_file::ProgramFile;
use crate::reporter::{Channel, Limited, Reporter, complain_of_limit};
use anyhow::{anyhow, bail};
use iso_answer::any_number::{Answer, Answered, Kept, NoAnswer, Run, Why, Words, any_number, isolation};
use iso_answer::verify::Isolation;
use iso_answer::{Certification, WrongEvidence};
use iso_evidence::Budget;
use iso_program::{AnyNumber, TxnLevel, UnitKind};
use iso_report::{
    AnyNumberReport, BadRun, Effort, ProgramScope, Report, StepReport, StepVerdict, VerifiedLevel, VerifyReport,
    VerifyVerdict,
};
use iso_spec::Level;
use std::sync::Arc;
use std::time::Instant;

/// The arguments, resolved.
struct Question {
    asked: AnyNumber,
    text: String,
    levels: Vec<TxnLevel>,
    words: Words,
    inputs: Vec<String>,
}

/// Runs the verb.
pub(crate) fn run(raw: &VerifyArgs, started: Instant) -> anyhow::Result<Exit> {
    let question = Question::resolve(raw)?;
    let reporter = Arc::new(Reporter::new(&raw.answer, Channel::Output, started)?);
    let alarm = reporter.watch(Report::Verify(question.blank("")));
    reporter.progress.stage("asking about any number of transactions");
    let stop = || alarm.reason();
    let report = match any_number(&question.asked, &question.levels, question.words, &Budget::new(&stop)) {
        Ok(answered) => question.report(&answered),
        Err(NoAnswer::Program(errors)) => {
            return Err(ProgramFile::read(&raw.input)?.complaint(&errors));
        }
        Err(NoAnswer::Refused(wrong)) => {
            output::complain(&wrong.to_string());
            question.blank(WrongEvidence::IN_SHORT)
        }
    };
    let is_cut = report.levels.iter().any(|it| matches!(it.verdict, VerifyVerdict::Unknown { .. }));
    let exit = reporter.publish(report.into(), Vec::new(), || Ok(Vec::new()))?;
    if let Some(reason) = alarm.reason().filter(|_| is_cut) {
        complain_of_limit(&reason, Limited::Verification);
    }
    Ok(exit)
}

impl Question {
    fn resolve(raw: &VerifyArgs) -> anyhow::Result<Self> {
        let is_postgres = match raw.database.as_deref().map(str::to_ascii_lowercase).as_deref() {
            None => false,
            Some("postgres" | "postgresql") => true,
            Some(other) => {
                bail!(
                    "any number of transactions is not decided for `{other}`, only for postgres; or choose with --level"
                )
            }
        };
        let file = ProgramFile::read(&raw.input)?;
        let asked = AnyNumber::parse(&file.text, &file.name()).map_err(|errors| file.complaint(&errors))?;
        let text = file.text;
        let levels = match (raw.levels.as_slice(), is_postgres) {
            ([], true) => vec![TxnLevel::ReadCommitted, TxnLevel::RepeatableRead, TxnLevel::Serializable],
            ([], false) => vec![TxnLevel::ReadCommitted, TxnLevel::SnapshotIsolation, TxnLevel::Serializable],
            (names, _) => levels(names)?,
        };
        let is_postgres = is_postgres || raw.levels.iter().any(|it| it.trim().eq_ignore_ascii_case("postgres.ser"));
        let words = if is_postgres { Words::Postgres } else { Words::Papers };
        Ok(Self { asked, text, levels, words, inputs: vec![raw.input.display().to_string()] })
    }

    fn isolation(&self, level: TxnLevel) -> Isolation {
        isolation(level, self.words)
    }

    /// The answer before anything is known.
    fn blank(&self, reason: &str) -> VerifyReport {
        let unknown = |level: &TxnLevel| VerifiedLevel {
            level: level_name(self.isolation(*level)),
            verdict: VerifyVerdict::Unknown { reason: reason.to_owned() },
        };
        VerifyReport {
            inputs: self.inputs.clone(),
            program: scope(&self.asked, &self.text),
            levels: self.levels.iter().map(unknown).collect(),
            weakest: None,
            any_number: Some(AnyNumberReport { rows: rows(&self.asked), ..AnyNumberReport::default() }),
            server: None,
            hint: None,
            repairs: Vec::new(),
            not_certified: None,
            covers: None,
            effort: Effort::default(),
        }
    }

    fn report(&self, answered: &Answered) -> VerifyReport {
        let mut report = self.blank("");
        report.levels = answered.levels.iter().map(|it| self.worded(it.0, &it.1, answered)).collect();
        let short = |level: TxnLevel| self.isolation(level).short_name().to_owned();
        let holding = answered.levels.iter().filter(|it| matches!(it.1, Answer::Holds(_)));
        let holding: Vec<Isolation> = holding.map(|it| self.isolation(it.0)).collect();
        if self.levels.len() > 1 {
            report.weakest = Some(match holding.first() {
                Some(Isolation::Database(_)) => holding[..1].iter().map(|it| it.short_name().to_owned()).collect(),
                _ => weakest_of(&holding),
            });
        }
        report.not_certified = answered.levels.iter().find_map(|it| match &it.1 {
            Answer::Holds(Certification::NotCertified { why }) => Some(why.clone()),
            _ => None,
        });
        let robust = answered.robust.iter().map(|it| (short(it.0), it.1));
        report.any_number = Some(AnyNumberReport {
            rows: rows(&self.asked),
            robust: robust.collect(),
            steps: steps(answered),
            tried: answered.tried as u64,
        });
        report
    }

    fn worded(&self, level: TxnLevel, answer: &Answer, answered: &Answered) -> VerifiedLevel {
        let isolation = self.isolation(level);
        let verdict = match answer {
            Answer::Holds(_) => VerifyVerdict::Holds,
            Answer::Violated(run) => {
                let of = if run.txns.is_empty() { Level::Serializable.into() } else { isolation };
                VerifyVerdict::Violated { counterexample: Box::new(document(run, of)) }
            }
            Answer::Unknown(why) => {
                let mut reasons: Vec<String> = why.iter().map(words).collect();
                if answered.tried > 0 {
                    let n = answered.tried;
                    let these = if n == 1 { "1 transaction".to_owned() } else { format!("up to {n} transactions") };
                    reasons.push(format!("no run of {these} breaks it"));
                }
                VerifyVerdict::Unknown { reason: reasons.join("; ") }
            }
        };
        VerifiedLevel { level: level_name(isolation), verdict }
    }
}

/// What is said of a program of which any number of transactions may run.
pub(crate) fn scope(asked: &AnyNumber, text: &str) -> ProgramScope {
    ProgramScope {
        text: text.to_owned(),
        transactions: asked.names().into_iter().map(str::to_owned).collect(),
        sessions: 0,
        int_bits: asked.program().width().into(),
        open_values: Vec::new(),
    }
}

/// The rows that there are.
pub(crate) fn rows(asked: &AnyNumber) -> Vec<String> {
    let rows = asked.program().units().iter().filter(|it| it.kind != UnitKind::Var);
    rows.map(|it| it.name.clone()).collect()
}

fn document(run: &Run, isolation: Isolation) -> BadRun {
    BadRun { chosen: Some(run.txns.clone()), ..bad_run(&run.program, isolation, &run.violation) }
}

fn steps(answered: &Answered) -> Vec<StepReport> {
    let step = |transaction: Option<&String>, kept: &Kept| StepReport {
        transaction: transaction.cloned(),
        verdict: match kept {
            Kept::Always(_) => StepVerdict::Keeps,
            Kept::Broken(_) => StepVerdict::Breaks,
            Kept::Nowhere => StepVerdict::Nowhere,
            Kept::Unknown(_) => StepVerdict::Unknown,
        },
        certified: matches!(kept, Kept::Always(Certification::Certified) | Kept::Broken(_)),
        counterexample: match kept {
            Kept::Broken(run) => Some(Box::new(document(run, Level::Serializable.into()))),
            _ => None,
        },
    };
    let initial = std::iter::once(step(None, &answered.initial));
    initial.chain(answered.steps.iter().map(|it| step(Some(&it.0), &it.1))).collect()
}

fn words(why: &Why) -> String {
    match why {
        Why::Split { txn, line } => {
            format!("{txn} can be interrupted after line {line}, so that not every run is as a serial one")
        }
        Why::Asserts(txn) => {
            format!(
                "{txn} asserts something, and who fails need not see what a serial run shows; claim it with `observer`"
            )
        }
        Why::NotInductive(txn) if txn.is_empty() => "the initial state breaks it".to_owned(),
        Why::NotInductive(txn) => format!("{txn} may break it from a state in which everything claimed holds"),
        Why::Nowhere(txn) if txn.is_empty() => "no initial state satisfies what is assumed".to_owned(),
        Why::Nowhere(txn) => format!("{txn} cannot run from any state in which everything claimed holds"),
        Why::Stopped(reason) => reason.to_string(),
    }
}

/// The levels of some names, each once, weaker ones first.
fn levels(names: &[String]) -> anyhow::Result<Vec<TxnLevel>> {
    let mut levels = Vec::new();
    for name in names {
        levels.push(match name.trim().to_ascii_lowercase().as_str() {
            "postgres.rc" => TxnLevel::ReadCommitted,
            "si" | "snapshot-isolation" => TxnLevel::SnapshotIsolation,
            "postgres.rr" => TxnLevel::RepeatableRead,
            "ser" | "serializable" | "postgres.ser" => TxnLevel::Serializable,
            other => {
                return Err(anyhow!(
                    "any number of transactions cannot be decided under `{other}`; choose from postgres.rc, postgres.rr, \
                     postgres.ser, si and ser"
                ));
            }
        });
    }
    levels.sort_unstable();
    levels.dedup();
    Ok(levels)
}

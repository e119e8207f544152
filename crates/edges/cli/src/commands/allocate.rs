//! `isoscope allocate`: the weakest level for each transaction, however many run.

use crate::args::AllocateArgs;
use crate::exit::Exit;
use crate::limits::Alarm;
use crate::output;
use crate::program_file::ProgramFile;
use crate::reporter::{Channel, Limited, Reporter, complain_of_limit};
use anyhow::{anyhow, bail};
use iso_answer::allocate::{Allocated, Blocked, NoAllocation, SplitRun, Transaction, allocate};
use iso_answer::{Certification, WrongEvidence};
use iso_evidence::{Budget, Note, Refutation, Stage, StopReason};
use iso_program::{InstanceId, ReadMode, Source, Span, Templates, TxnLevel, TxnStep, UnitId, UnitValue};
use iso_report::{
    Access, AllocateReport, AllocatedTxn, BlockedEdge, BlockedLevel, CodePlace, Excerpt, Executed, LevelName, Outcome,
    Report, Written,
};
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The arguments, resolved.
struct Allocate {
    templates: Templates,
    /// Weaker ones first.
    ladder: Vec<TxnLevel>,
    is_postgres: bool,
    inputs: Vec<String>,
}

/// Runs the verb.
pub(crate) fn run(raw: &AllocateArgs, started: Instant) -> anyhow::Result<Exit> {
    let asked = Allocate::resolve(raw)?;
    let reporter = Arc::new(Reporter::new(&raw.answer, Channel::Output, started)?);
    let alarm = reporter.watch(Report::Allocate(asked.blank(String::new())));
    asked.answer(&reporter, &alarm)
}

impl Allocate {
    fn resolve(raw: &AllocateArgs) -> anyhow::Result<Self> {
        let is_postgres = match raw.database.as_deref().map(str::to_ascii_lowercase).as_deref() {
            None => false,
            Some("postgres" | "postgresql") => true,
            Some(other) => {
                bail!("allocate knows no database `{other}`, only postgres; leave --database out for levels of papers")
            }
        };
        let templates = templates(&raw.input)?;
        let ladder = ladder(&raw.levels, is_postgres)?;
        Ok(Self { templates, ladder, is_postgres, inputs: vec![raw.input.display().to_string()] })
    }

    /// The answer before anything is known.
    fn blank(&self, reason: String) -> AllocateReport {
        AllocateReport {
            inputs: self.inputs.clone(),
            program: self.templates.text().to_owned(),
            levels: self.ladder.iter().map(|it| self.level_name(*it)).collect(),
            unknown: Some(reason),
            ..AllocateReport::default()
        }
    }

    fn answer(&self, reporter: &Reporter, alarm: &Alarm) -> anyhow::Result<Exit> {
        let stop = || alarm.reason();
        // What was found first is explained later: its transactions are counted again.
        let is_found = Cell::new(false);
        let hear = |note: Note| match note {
            Note::Begins(Stage::Explanation) => is_found.set(true),
            Note::Reached { n_done, of } => reporter.progress.stage(looking(is_found.get(), n_done, of)),
            _ => {}
        };
        hear(Note::Reached { n_done: 0, of: self.templates.templates().len() });
        let report = match allocate(&self.templates, &self.ladder, &Budget::new(&stop).heard_by(&hear)) {
            Ok(found) => self.report(&found),
            Err(NoAllocation::Stopped(reason)) => {
                complain_of_limit(&reason, Limited::Allocation);
                self.blank(stopped(&reason))
            }
            Err(NoAllocation::Refused(wrong)) => {
                output::complain(&wrong.to_string());
                self.blank(WrongEvidence::IN_SHORT.to_owned())
            }
        };
        reporter.publish(report.into(), Vec::new(), || Ok(Vec::new()))
    }

    fn report(&self, found: &Allocated) -> AllocateReport {
        let short = |level: TxnLevel| self.level_name(level).short;
        let allocation = found.transactions.iter().map(|it| (it.name.clone(), it.level.map(short)));
        AllocateReport {
            robust: found.robust.iter().map(|(level, robust)| (short(*level), *robust)).collect(),
            allocation: allocation.collect(),
            transactions: found.transactions.iter().map(|it| self.transaction(it)).collect(),
            unknown: None,
            not_certified: match &found.certification {
                Certification::Certified => None,
                Certification::NotCertified { why } => Some(why.clone()),
            },
            ..self.blank(String::new())
        }
    }

    fn transaction(&self, of: &Transaction) -> AllocatedTxn {
        let statement = |level| format!("SET TRANSACTION ISOLATION LEVEL {}", sql(level));
        AllocatedTxn {
            name: of.name.clone(),
            level: of.level.map(|it| self.level_name(it)),
            statement: of.level.filter(|_| self.is_postgres).map(statement),
            blocked: of.blocked.iter().map(|it| self.blocked(it)).collect(),
        }
    }

    fn blocked(&self, of: &Blocked) -> BlockedLevel {
        let name = |member: usize| self.templates.templates()[of.members[member]].name.clone();
        let place = |member: usize, access: usize| {
            let member = &of.danger.members[member];
            let way = &self.templates.templates()[member.template].ways[member.way];
            self.place(way.accesses[access].span)
        };
        let edges = of.danger.cycle.iter().map(|it| BlockedEdge {
            from: name(it.from),
            before: place(it.from, it.before),
            to: name(it.to),
            after: place(it.to, it.after),
        });
        BlockedLevel {
            level: self.level_name(of.level),
            members: (0..of.members.len()).map(name).collect(),
            cycle: edges.collect(),
            counterexample: of.run.as_ref().map(|it| Box::new(bad_run(&it.run, Some(&it.refutation)))),
            lock: of.promotions.as_ref().map(|spans| spans.iter().map(|it| self.place(*it)).collect()),
        }
    }

    fn place(&self, span: Span) -> CodePlace {
        let place = span.place(self.templates.text());
        CodePlace { line: place.line.into(), column: place.column.into(), text: place.text.to_owned() }
    }

    fn level_name(&self, level: TxnLevel) -> LevelName {
        let short = match level {
            TxnLevel::Serializable if self.is_postgres => "postgres.ser".to_owned(),
            other => other.to_string(),
        };
        let full = match level {
            TxnLevel::SnapshotIsolation => "snapshot-isolation".to_owned(),
            TxnLevel::Serializable if !self.is_postgres => "serializable".to_owned(),
            other => format!("{} on PostgreSQL", sql(other)),
        };
        LevelName { short, full }
    }
}

/// What the search does: it finds what is in the way of each transaction, and then runs it.
fn looking(is_found: bool, n_done: usize, of: usize) -> String {
    if n_done == of {
        return "looking at all transactions together".to_owned();
    }
    let what = if is_found { "trying split runs" } else { "looking for split runs" };
    format!("{what}, {n_done} of {of} transactions")
}

/// What SQL calls a level.
fn sql(level: TxnLevel) -> &'static str {
    match level {
        TxnLevel::ReadCommitted => "READ COMMITTED",
        TxnLevel::SnapshotIsolation | TxnLevel::RepeatableRead => "REPEATABLE READ",
        TxnLevel::Serializable => "SERIALIZABLE",
    }
}

fn stopped(reason: &StopReason) -> String {
    reason.to_string()
}

fn templates(path: &Path) -> anyhow::Result<Templates> {
    let file = ProgramFile::read(path)?;
    Templates::parse(&file.text, &file.name()).map_err(|errors| file.complaint(&errors))
}

/// The levels of some names, each once, weaker ones first; those that people use most if there are none.
fn ladder(names: &[String], is_postgres: bool) -> anyhow::Result<Vec<TxnLevel>> {
    let snapshot = if is_postgres { TxnLevel::RepeatableRead } else { TxnLevel::SnapshotIsolation };
    if names.is_empty() {
        return Ok(vec![TxnLevel::ReadCommitted, snapshot, TxnLevel::Serializable]);
    }
    let mut ladder = Vec::new();
    for name in names {
        let name = name.trim().to_ascii_lowercase().replace([' ', '_'], "-");
        ladder.push(match name.as_str() {
            "rc" | "postgres.rc" | "read-committed" => TxnLevel::ReadCommitted,
            "si" | "snapshot-isolation" => snapshot,
            "rr" | "postgres.rr" | "repeatable-read" => TxnLevel::RepeatableRead,
            "ser" | "postgres.ser" | "serializable" => TxnLevel::Serializable,
            other => {
                return Err(anyhow!("transactions cannot be allocated to `{other}`; choose from rc, si, rr and ser"));
            }
        });
    }
    ladder.sort_unstable();
    ladder.dedup();
    if ladder.contains(&TxnLevel::SnapshotIsolation) && ladder.contains(&TxnLevel::RepeatableRead) {
        bail!("si and rr are the same but for rows that are only locked; choose one of them");
    }
    Ok(ladder)
}

/// The document of a run: the transactions in the order of their commits.
pub(crate) fn bad_run(of: &SplitRun, refutation: Option<&Refutation>) -> iso_report::BadRun {
    let namer = Namer { of };
    let units = |state: &[UnitValue]| {
        let held = |(idx, value): (usize, &UnitValue)| {
            let unit = UnitId::from_index(idx);
            (of.program.unit(unit).name.clone(), of.program.show_unit(unit, value))
        };
        state.iter().enumerate().map(held).collect::<Vec<_>>()
    };
    let instances = of.program.instance_ids().skip(1).chain([InstanceId::from_index(0)]);
    let open = of.program.symbols().iter().zip(&of.symbols);
    iso_report::BadRun {
        setup: Some(of.setup.trim().to_owned()),
        open_values: open.map(|(symbol, value)| (symbol.name.clone(), of.program.show(*value))).collect(),
        initial: units(&of.initial),
        transactions: instances.map(|it| namer.executed(it)).collect(),
        last_state: units(&of.last),
        excerpt: Excerpt::whole(&of.history, refutation),
        anomalies: refutation.iter().flat_map(|it| &it.anomalies).map(ToString::to_string).collect(),
        forbidden_by: vec!["ser".to_owned()],
        ..iso_report::BadRun::default()
    }
}

struct Namer<'a> {
    of: &'a SplitRun,
}

impl Namer<'_> {
    fn executed(&self, instance: InstanceId) -> Executed {
        let program = &self.of.program;
        let (of, run) = (program.instance(instance), &self.of.runs[instance.index()]);
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for step in &run.steps {
            match step {
                TxnStep::Read { read, unit, value, mode, source: Source::Outside } if *mode != ReadMode::Update => {
                    let source = self.of.source(instance, *read, *unit);
                    reads.push(Access {
                        unit: program.unit(*unit).name.clone(),
                        value: program.show_unit(*unit, value),
                        from: source.map(|it| program.instance(it).name.clone()),
                        line: Some(program.place(of.read(*read).span).line.into()),
                    });
                }
                TxnStep::Read { .. } => {}
                TxnStep::Write { unit, value, span, .. } => writes.push(Written {
                    unit: program.unit(*unit).name.clone(),
                    value: program.show_unit(*unit, value),
                    line: Some(program.place(*span).line.into()),
                }),
            }
        }
        Executed {
            name: of.name.clone(),
            call: of.call.clone(),
            id: format!("s{}.1", of.session + 1),
            outcome: Outcome::Committed,
            sees: None,
            reads,
            writes,
        }
    }
}

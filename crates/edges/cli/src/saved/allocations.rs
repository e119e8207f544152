//! Saved answers of `allocate`: the kernel goes through the split runs of the program in the document again, and the
//! interpreter runs those that are in the way of weaker levels.

use super::histories::{Claims, Problem, SavedHistory, wrong};
use super::levels::Levels;
use super::runs::symbols;
use super::{Findings, Outcome};
use crate::commands::allocate::bad_run;
use iso_answer::allocate::SavedSetup;
use iso_program::{Instance, NotRobust, ProgramError, Templates, TxnLevel, check_robust};
use iso_report::{AllocateReport, BadRun, BlockedLevel};

pub(super) fn allocate(report: &AllocateReport, levels: Levels<'_>, findings: &mut Findings) {
    findings.unseen.push("that the program in the document is the one that runs");
    if report.unknown.is_some() {
        return;
    }
    let allocated = report.transactions.iter().map(|it| it.level.as_ref().map(|it| it.short.as_str()));
    match allocated.collect::<Option<Vec<&str>>>() {
        Some(names) => {
            findings.add("any number of transactions at these levels is serializable", robust(report, &names));
        }
        None => findings.missing("some transaction has none of these levels", "see what blocks them, below"),
    }
    for txn in &report.transactions {
        for blocked in &txn.blocked {
            blocks(report, &txn.name, blocked, levels, findings);
        }
    }
}

/// Is the program of the document robust at these levels, one for each transaction?
fn robust(report: &AllocateReport, names: &[&str]) -> Outcome {
    let Some(levels) = names.iter().map(|it| level_of(it)).collect::<Option<Vec<TxnLevel>>>() else {
        return Outcome::Refused("it has a level that no transaction can have".to_owned());
    };
    match check_robust(&report.program, &levels) {
        Ok(_) => Outcome::Certified,
        Err(NotRobust::Split { template, line }) => {
            Outcome::Refused(format!("{template} can be split after line {line} of the program"))
        }
        Err(NotRobust::TooLarge) => Outcome::Missing("the program is too large to go through again".to_owned()),
    }
}

/// The level of transactions that has this name.
pub(super) fn level_of(name: &str) -> Option<TxnLevel> {
    Some(match name {
        "postgres.rc" => TxnLevel::ReadCommitted,
        "si" => TxnLevel::SnapshotIsolation,
        "postgres.rr" => TxnLevel::RepeatableRead,
        "ser" | "postgres.ser" => TxnLevel::Serializable,
        _ => return None,
    })
}

/// Does the program run so, is that allowed, and not serializable?
fn blocks(report: &AllocateReport, txn: &str, blocked: &BlockedLevel, levels: Levels<'_>, findings: &mut Findings) {
    let name = &blocked.level.short;
    // Without a run the document says that it does not know whether the level is enough.
    let Some(run) = &blocked.counterexample else { return };
    let history = SavedHistory::read(&run.excerpt.history, &run.excerpt.transactions);
    findings
        .add(format!("the program runs so, which blocks {txn}"), history.and(|_| replay(report, txn, blocked, run)));
    // Where another one is interrupted, at SERIALIZABLE, it is since those between are at a weaker level.
    let weaker = report.levels.iter().map(|it| it.short.as_str()).take_while(|it| it != name);
    let allows = |name: &str| history.and(|it| it.is_allowed_by_text(levels, name));
    let by = std::iter::once(name.as_str()).chain(weaker).find(|it| allows(it) == Outcome::Certified);
    let by = by.unwrap_or(name);
    findings.add(format!("{by} allows the run that blocks {txn}"), allows(by));
    findings.add(
        format!("ser forbids the run that blocks {txn}"),
        history.and(|it| it.is_forbidden_by_text(levels, "ser", &[])),
    );
}

/// The interpreter runs the members again: everything that the document says about the run must be the same.
fn replay(report: &AllocateReport, txn: &str, blocked: &BlockedLevel, said: &BadRun) -> Result<(), Problem> {
    let Some(setup) = &said.setup else {
        return Err(Problem::Unchecked("the document does not say with which arguments".to_owned()));
    };
    let file = report.inputs.first().map_or("program", String::as_str);
    let unread = |it: Vec<ProgramError>| {
        Problem::Wrong(it.first().map_or_else(String::new, |it| format!("the program cannot be read: {it}")))
    };
    let templates = Templates::parse(&report.program, file).map_err(unread)?;
    let saved = SavedSetup::read(&templates, &format!("\n{setup}\n")).map_err(unread)?;
    let called = |it: &Instance| it.call.split('(').next().unwrap_or_default().to_owned();
    if !saved.program().instances().iter().map(called).eq(blocked.members.iter().cloned()) {
        return wrong("it runs other transactions");
    }
    let is_split = blocked.members.first().is_some_and(|it| it == txn);
    let level = if is_split { level_of(&blocked.level.short) } else { Some(TxnLevel::Serializable) };
    let Some(level) = level else { return wrong("no transaction can have this level") };
    let symbols = symbols(saved.program(), &said.open_values)?;
    let mut disagreement = "the interpreter does not come to the end of such a run".to_owned();
    for run in saved.runs(&symbols, level) {
        match difference(&bad_run(&run, None), said) {
            None => return Ok(()),
            Some(what) => disagreement = format!("the interpreter does not agree about {what}"),
        }
    }
    wrong(disagreement)
}

/// What two documents of a run say differently.
fn difference(made: &BadRun, said: &BadRun) -> Option<&'static str> {
    let differs = [
        ("the initial state", made.initial != said.initial),
        ("what the transactions do", made.transactions != said.transactions),
        ("the last state", made.last_state != said.last_state),
        ("the history", made.excerpt.history != said.excerpt.history),
    ];
    differs.into_iter().find(|it| it.1).map(|it| it.0)
}

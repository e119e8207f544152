//! Saved answers of `allocate`: the kernel goes through the split runs of the program in the document again.

use super::histories::{Claims, SavedHistory};
use super::levels::Levels;
use super::{Findings, Outcome};
use iso_program::{NotRobust, TxnLevel, check_robust};
use iso_report::{AllocateReport, BlockedLevel};

pub(super) fn allocate(report: &AllocateReport, levels: Levels<'_>, findings: &mut Findings) {
    findings.unseen.push("that the program in the document is the one that runs");
    if report.transactions.iter().flat_map(|it| &it.blocked).any(|it| it.counterexample.is_some()) {
        findings.unseen.push(
            "that the program does what the runs in the way of weaker levels have; their histories are looked at",
        );
    }
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

/// Is the run that blocks a level allowed, and not serializable? Others in it may be at a weaker level than this one.
fn blocks(report: &AllocateReport, txn: &str, blocked: &BlockedLevel, levels: Levels<'_>, findings: &mut Findings) {
    let name = &blocked.level.short;
    let Some(run) = &blocked.counterexample else {
        findings.missing(format!("{name} is not enough for {txn}"), "no run with values is in the document");
        return;
    };
    let history = SavedHistory::read(&run.excerpt.history, &run.excerpt.transactions);
    let allows = |name: &str| history.and(|it| it.is_allowed_by_text(levels, name));
    let weaker = report.levels.iter().map(|it| it.short.as_str()).take_while(|it| it != name);
    let by = std::iter::once(name.as_str()).chain(weaker).find(|it| allows(it) == Outcome::Certified);
    let by = by.unwrap_or(name);
    findings.add(format!("{by} allows the run that blocks {txn}"), allows(by));
    findings.add(
        format!("ser forbids the run that blocks {txn}"),
        history.and(|it| it.is_forbidden_by_text(levels, "ser", &[])),
    );
}

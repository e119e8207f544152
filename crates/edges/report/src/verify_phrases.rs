//! What `verify` found, as sentences that all renderings share.

use crate::document::{LevelName, Outcome};
use crate::verify::{
    Access, BadRun, Change, CodePlace, Executed, ProgramScope, StepVerdict, VerifyReport, VerifyVerdict, Written,
};
use crate::words::counted;

/// The answer in one sentence.
pub(crate) fn headline(report: &VerifyReport) -> String {
    let with = |wanted: &str| {
        let levels = report.levels.iter().filter(|it| it.verdict.word() == wanted);
        levels.map(|it| titled(&it.level)).collect::<Vec<_>>()
    };
    let (holds, violated, unknown) = (with("holds"), with("violated"), with("unknown"));
    let any = if report.any_number.is_some() { " for any number of transactions" } else { "" };
    match (holds.as_slice(), violated.as_slice(), unknown.as_slice()) {
        ([], [], []) => "No level was verified.".to_owned(),
        ([], [], _) => "Unknown.".to_owned(),
        ([only], [], []) => format!("Holds{any} under {only}."),
        (all, [], []) => format!("Holds{any} under all of these {} levels.", all.len()),
        ([], [only], []) => format!("Violated under {only}."),
        ([], all, []) => format!("Violated under all of these {} levels.", all.len()),
        (_, [], _) => "Not violated under any level that was decided, but some are unknown.".to_owned(),
        (_, some, _) => format!("Violated under {} of these {} levels.", some.len(), report.levels.len()),
    }
}

/// Which levels are enough, if that was asked.
pub(crate) fn weakest_line(report: &VerifyReport) -> Option<String> {
    let names = report.weakest.as_ref()?;
    let full = |short: &String| {
        let level = report.levels.iter().find(|it| it.level.short == *short);
        level.map_or_else(|| short.clone(), |it| titled(&it.level))
    };
    let names: Vec<String> = names.iter().map(full).collect();
    let is_open = report.levels.iter().any(|it| matches!(it.verdict, VerifyVerdict::Unknown { .. }));
    Some(match names.as_slice() {
        [] if is_open => "No level is known to be enough.".to_owned(),
        [] => "None of these levels is enough.".to_owned(),
        [one] if is_open => format!("Weakest level that is known to hold: {one}"),
        [one] => format!("Weakest level that holds: {one}"),
        many if is_open => format!("Weakest levels that are known to hold: {}", many.join(", ")),
        many => format!("Weakest levels that hold: {}", many.join(", ")),
    })
}

/// What `holds` means, plainly.
pub(crate) fn bounds(report: &VerifyReport) -> String {
    match &report.any_number {
        None => bounds_of_run(&report.program),
        Some(any) => {
            let names = and(&report.program.transactions);
            let rows = match any.rows.as_slice() {
                [] => String::new(),
                rows => format!(" on the rows {}", and(rows)),
            };
            let bits = report.program.int_bits;
            format!(
                "\"Holds\" covers any number of {names} at any time, with any arguments{rows}, as long as numbers fit in {bits} \
                 bits and transactions name rows that there are."
            )
        }
    }
}

/// What is known of the single transactions, if any number of them was asked about.
pub(crate) fn step_lines(report: &VerifyReport) -> Vec<String> {
    let Some(any) = &report.any_number else { return Vec::new() };
    // That the initial state breaks something is a run of its own.
    let of = |verdict: StepVerdict| {
        let some = any.steps.iter().filter(move |it| it.verdict == verdict);
        some.filter_map(|it| it.transaction.clone()).collect::<Vec<_>>()
    };
    let mut lines = Vec::new();
    for (verdict, lead) in [
        (StepVerdict::Keeps, "What is claimed is kept, alone and from every state in which it holds, by"),
        (StepVerdict::Breaks, "It may be broken, from a state in which it holds, by"),
        (StepVerdict::Nowhere, "There is no state in which the claims hold and which could be tried, for"),
        (StepVerdict::Unknown, "Not decided in time:"),
    ] {
        let names = of(verdict);
        if !names.is_empty() {
            lines.push(format!("{lead} {}.", and(&names)));
        }
    }
    lines
}

fn bounds_of_run(program: &ProgramScope) -> String {
    let n = program.transactions.len() as u64;
    let open = match program.open_values.len() as u64 {
        0 => String::new(),
        n => format!(", and all choices of {}", counted(n, "open value")),
    };
    let these = if n == 1 { "this 1 transaction".to_owned() } else { format!("these {n} transactions") };
    let sessions = counted(program.sessions, "session");
    format!("\"Holds\" covers all runs of {these} in {sessions}, with {}-bit integers{open}.", program.int_bits)
}

/// `snapshot isolation (si)`.
pub(crate) fn titled(level: &LevelName) -> String {
    format!("{} ({})", level.full, level.short)
}

/// What is wrong, in one clause a fault.
pub(crate) fn faults(run: &BadRun) -> String {
    let clauses: Vec<String> = run.wrong.iter().map(|it| format!("{} (line {})", it.words, it.place.line)).collect();
    clauses.join("; ")
}

/// `withdraw("x", 100), s1.1 of the history, sees withdraw#2`.
pub(crate) fn role(txn: &Executed) -> String {
    let sees = match txn.sees.as_deref() {
        None => String::new(),
        Some([]) => ", sees no other transaction".to_owned(),
        Some(names) => format!(", sees {}", names.join(", ")),
    };
    let outcome = match txn.outcome {
        Outcome::Committed => "",
        Outcome::Aborted | Outcome::Indeterminate => ", aborts",
    };
    format!("{}{sees}{outcome}", txn.call)
}

/// `{ balance: 60 } from the initial state (line 4)`.
pub(crate) fn access_words(access: &Access) -> String {
    let from = access.from.as_deref().unwrap_or("the initial state");
    let line = access.line.map(|it| format!(" (line {it})")).unwrap_or_default();
    format!("{} from {from}{line}", access.value)
}

/// `accounts["x"] = { balance: 60 } (line 5)`.
pub(crate) fn written_words(written: &Written) -> String {
    let line = written.line.map(|it| format!(" (line {it})")).unwrap_or_default();
    format!("{} = {}{line}", written.unit, written.value)
}

/// Who allows and forbids the history, and what it is called.
pub(crate) fn history_lead(level: &LevelName, run: &BadRun) -> String {
    let names = if run.anomalies.is_empty() { String::new() } else { format!(" ({})", run.anomalies.join(", ")) };
    match run.forbidden_by.as_slice() {
        [] => format!("The history, which is serializable and so allowed by {} and all other levels:", level.short),
        [only] => format!("The history, which {} allows and {only} forbids{names}:", level.short),
        levels => format!("The history, which {} allows, and {} forbid{names}:", level.short, and(levels)),
    }
}

/// A change, as something to do.
pub(crate) fn change_words(change: &Change) -> String {
    match change {
        Change::Lock(places) => {
            let each: Vec<String> = places.iter().map(place_words).collect();
            format!("lock what is read, with `for update`: {}", each.join(", and "))
        }
        Change::Raise(names) => {
            format!("run {} at serializable", and(names))
        }
        Change::Update(places) => {
            let each: Vec<String> = places.iter().map(place_words).collect();
            format!("compute inside of the statement, with `+=` or `-=`: {}", each.join(", and "))
        }
        Change::Stronger(level) => format!("run every transaction at {}", titled(level)),
    }
}

/// `line 4, column 17: accounts["x"].balance`.
pub(crate) fn place_words(place: &CodePlace) -> String {
    let text = place.text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("line {}, column {}: `{text}`", place.line, place.column)
}

fn and(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [name] => name.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

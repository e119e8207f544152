//! The document of `verify` as JSON, and back.

use super::check::{read_part, write_part};
use super::members::{Members, Read, count, items, list, maybe_text, pair, pairs, string, text, wrong};
use super::search::{put_effort, put_run, read_effort};
use super::{JsonLayout, document, laid_out};
use crate::document::{LevelName, Outcome};
use crate::verify::{
    Access, BadRun, Change, CodePlace, Executed, Fault, ProgramScope, RepairReport, VerifiedLevel, VerifyReport,
    VerifyVerdict, Written,
};
use serde_json::{Value, json};

impl VerifyReport {
    /// The document as JSON; equal documents give equal bytes.
    pub fn to_json(&self, layout: JsonLayout) -> String {
        let mut members = document("verify");
        put_run(&mut members, &self.inputs, &self.effort);
        members.put("levels", list(&self.levels, level));
        members.maybe("weakest", self.weakest.as_ref().map(|it| json!(it)));
        members.put("repairs", list(&self.repairs, repair));
        members.put("program", program(&self.program));
        put_effort(&mut members, &self.effort);
        laid_out(&members.done(), layout)
    }

    pub(crate) fn from_value(of: &Value) -> Read<Self> {
        Ok(Self {
            inputs: items(of, "inputs", string)?,
            program: read_program(&of["program"])?,
            levels: items(of, "levels", read_level)?,
            weakest: of.get("weakest").map(|_| items(of, "weakest", string)).transpose()?,
            repairs: items(of, "repairs", read_repair)?,
            effort: read_effort(of)?,
        })
    }
}

fn program(program: &ProgramScope) -> Value {
    json!({
        "transactions": program.transactions,
        "sessions": program.sessions,
        "int_bits": program.int_bits,
        "open_values": program.open_values,
        "text": program.text,
    })
}

fn read_program(of: &Value) -> Read<ProgramScope> {
    Ok(ProgramScope {
        text: text(of, "text")?,
        transactions: items(of, "transactions", string)?,
        sessions: count(of, "sessions")?,
        int_bits: count(of, "int_bits")?,
        open_values: items(of, "open_values", string)?,
    })
}

fn level(of: &VerifiedLevel) -> Value {
    let mut members = Members::default();
    members.put("level", of.level.short.as_str());
    members.put("name", of.level.full.as_str());
    members.put("verdict", of.verdict.word());
    match &of.verdict {
        VerifyVerdict::Holds => {}
        VerifyVerdict::Violated(run) => members.put("counterexample", bad_run(run)),
        VerifyVerdict::Unknown { reason } => members.put("reason", reason.as_str()),
    }
    members.done()
}

fn read_level(of: &Value) -> Read<VerifiedLevel> {
    let verdict = match of["verdict"].as_str() {
        Some("holds") => VerifyVerdict::Holds,
        Some("violated") => VerifyVerdict::Violated(Box::new(read_bad_run(&of["counterexample"])?)),
        Some("unknown") => VerifyVerdict::Unknown { reason: text(of, "reason")? },
        _ => return wrong("verdict", "\"holds\", \"violated\" or \"unknown\""),
    };
    Ok(VerifiedLevel { level: read_level_name(of)?, verdict })
}

fn read_level_name(of: &Value) -> Read<LevelName> {
    Ok(LevelName { short: text(of, "level")?, full: text(of, "name")? })
}

fn bad_run(run: &BadRun) -> Value {
    let mut members = Members::default();
    members.put("wrong", list(&run.wrong, fault));
    members.put("open_values", pairs(&run.open_values));
    members.put("initial_state", pairs(&run.initial));
    members.put("transactions", list(&run.transactions, executed));
    members.maybe("observer", run.observer.as_ref().map(|it| list(it, access)));
    members.put("last_state", pairs(&run.last_state));
    members.put("anomalies", json!(run.anomalies));
    members.put("forbidden_by", json!(run.forbidden_by));
    members.put("history", run.part.history.as_str());
    members.put("evidence", write_part(&run.part));
    members.done()
}

fn read_bad_run(of: &Value) -> Read<BadRun> {
    Ok(BadRun {
        wrong: items(of, "wrong", read_fault)?,
        open_values: items(of, "open_values", pair)?,
        initial: items(of, "initial_state", pair)?,
        transactions: items(of, "transactions", read_executed)?,
        observer: of.get("observer").map(|_| items(of, "observer", read_access)).transpose()?,
        last_state: items(of, "last_state", pair)?,
        part: read_part(&of["evidence"])?,
        anomalies: items(of, "anomalies", string)?,
        forbidden_by: items(of, "forbidden_by", string)?,
    })
}

fn fault(fault: &Fault) -> Value {
    let mut members = Members::default();
    members.put("words", fault.words.as_str());
    put_place(&mut members, &fault.place);
    members.done()
}

fn read_fault(of: &Value) -> Read<Fault> {
    Ok(Fault { words: text(of, "words")?, place: read_place(of)? })
}

fn put_place(members: &mut Members, place: &CodePlace) {
    members.put("line", place.line);
    members.put("column", place.column);
    members.put("text", place.text.as_str());
}

fn read_place(of: &Value) -> Read<CodePlace> {
    Ok(CodePlace { line: count(of, "line")?, column: count(of, "column")?, text: text(of, "text")? })
}

fn place(of: &CodePlace) -> Value {
    let mut members = Members::default();
    put_place(&mut members, of);
    members.done()
}

fn executed(txn: &Executed) -> Value {
    let mut members = Members::default();
    members.put("name", txn.name.as_str());
    members.put("call", txn.call.as_str());
    members.put("id", txn.id.as_str());
    members.put("outcome", txn.outcome.word());
    members.maybe("sees", txn.sees.as_ref().map(|it| json!(it)));
    members.put("reads", list(&txn.reads, access));
    members.put("writes", list(&txn.writes, written));
    members.done()
}

fn read_executed(of: &Value) -> Read<Executed> {
    let outcome = match of["outcome"].as_str() {
        Some("committed") => Outcome::Committed,
        Some("aborted") => Outcome::Aborted,
        _ => return wrong("outcome", "\"committed\" or \"aborted\""),
    };
    Ok(Executed {
        name: text(of, "name")?,
        call: text(of, "call")?,
        id: text(of, "id")?,
        outcome,
        sees: of.get("sees").map(|_| items(of, "sees", string)).transpose()?,
        reads: items(of, "reads", read_access)?,
        writes: items(of, "writes", read_written)?,
    })
}

/// `["x", "60", 4]`; the line is left out if it is not known.
fn written(written: &Written) -> Value {
    match written.line {
        Some(line) => json!([written.unit, written.value, line]),
        None => json!([written.unit, written.value]),
    }
}

fn read_written(of: &Value) -> Read<Written> {
    let (unit, value) = pair(of)?;
    Ok(Written { unit, value, line: of[2].as_u64() })
}

fn access(access: &Access) -> Value {
    let mut members = Members::default();
    members.put("unit", access.unit.as_str());
    members.put("value", access.value.as_str());
    members.maybe("from", access.from.as_deref());
    members.maybe("line", access.line);
    members.done()
}

fn read_access(of: &Value) -> Read<Access> {
    Ok(Access {
        unit: text(of, "unit")?,
        value: text(of, "value")?,
        from: maybe_text(of, "from"),
        line: of["line"].as_u64(),
    })
}

fn repair(repair: &RepairReport) -> Value {
    let mut members = Members::default();
    members.put("level", repair.level.short.as_str());
    members.put("name", repair.level.full.as_str());
    members.put("changes", list(&repair.changes, change));
    members.maybe("stopped", repair.stopped.as_deref());
    members.done()
}

fn change(change: &Change) -> Value {
    match change {
        Change::Lock(places) => json!({ "lock": list(places, place) }),
        Change::Raise(names) => json!({ "raise": names }),
    }
}

fn read_repair(of: &Value) -> Read<RepairReport> {
    let change = |it: &Value| {
        if it.get("lock").is_some() {
            items(it, "lock", read_place).map(Change::Lock)
        } else {
            items(it, "raise", string).map(Change::Raise)
        }
    };
    Ok(RepairReport {
        level: read_level_name(of)?,
        changes: items(of, "changes", change)?,
        stopped: maybe_text(of, "stopped"),
    })
}

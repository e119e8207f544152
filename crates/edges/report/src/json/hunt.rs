//! The document of `hunt` as JSON, and back.

use super::members::{Members, Read, count, items, list, maybe_size, maybe_text, number, string, text, truth, wrong};
use super::{JsonLayout, document, laid_out};
use crate::document::{CheckReport, LevelName};
use crate::hunt::{HuntCounts, HuntFinding, HuntReport, HuntRound, HuntScript, RoundVerdict};
use serde_json::{Value, json};

impl HuntReport {
    /// The document as JSON; equal documents give equal bytes.
    pub fn to_json(&self, layout: JsonLayout) -> String {
        let mut members = document("hunt");
        members.put("database", self.database.as_str());
        members.put("isolation", self.isolation.as_str());
        members.put("expect", self.expect.short.as_str());
        members.put("expect_name", self.expect.full.as_str());
        members.put("seed", self.seed);
        members.put("verdict", self.verdict());
        members.put("scripts", self.tally.scripts);
        members.put("runs", self.tally.runs);
        members.put("transactions", self.tally.transactions);
        members.put("violations", self.tally.violations);
        members.put("undecided", self.tally.undecided);
        members.put("reason", self.reason.as_deref());
        members.put("duration", self.duration);
        members.put("seconds", self.seconds);
        members.put("stopped", self.was_stopped);
        members.put("findings", list(&self.findings, finding));
        members.put("rounds", list(&self.rounds, round));
        laid_out(&members.done(), layout)
    }

    pub(crate) fn from_value(of: &Value) -> Read<Self> {
        let report = Self {
            database: text(of, "database")?,
            isolation: text(of, "isolation")?,
            expect: LevelName { short: text(of, "expect")?, full: text(of, "expect_name")? },
            seed: count(of, "seed")?,
            tally: HuntCounts {
                scripts: count(of, "scripts")?,
                runs: count(of, "runs")?,
                transactions: count(of, "transactions")?,
                violations: count(of, "violations")?,
                undecided: count(of, "undecided")?,
            },
            reason: maybe_text(of, "reason"),
            duration: number(of, "duration")?,
            seconds: number(of, "seconds")?,
            was_stopped: truth(of, "stopped")?,
            rounds: items(of, "rounds", read_round)?,
            findings: items(of, "findings", read_finding)?,
        };
        if report.rounds.iter().filter_map(|it| it.finding).any(|it| it >= report.findings.len()) {
            return wrong("finding", "the place of a finding");
        }
        Ok(report)
    }
}

fn round(of: &HuntRound) -> Value {
    let mut members = Members::default();
    members.put("what", of.what.as_str());
    members.put("name", of.name.as_str());
    members.put("rounds", of.rounds);
    members.put("began", of.began);
    members.put("seconds", of.seconds);
    members.put("committed", of.committed);
    members.put("aborted", of.aborted);
    members.put("unknown", of.unknown);
    members.put("verdict", of.verdict.word());
    members.maybe("finding", of.finding);
    members.done()
}

fn read_round(of: &Value) -> Read<HuntRound> {
    let verdict = match of["verdict"].as_str() {
        Some("holds") => RoundVerdict::Holds,
        Some("violated") => RoundVerdict::Violated,
        Some("unknown") => RoundVerdict::Unknown,
        _ => return wrong("verdict", "\"holds\", \"violated\" or \"unknown\""),
    };
    Ok(HuntRound {
        what: text(of, "what")?,
        name: text(of, "name")?,
        rounds: count(of, "rounds")?,
        began: number(of, "began")?,
        seconds: number(of, "seconds")?,
        committed: count(of, "committed")?,
        aborted: count(of, "aborted")?,
        unknown: count(of, "unknown")?,
        verdict,
        finding: maybe_size(of, "finding"),
    })
}

fn finding(of: &HuntFinding) -> Value {
    let mut members = Members::default();
    members.put("anomalies", json!(of.anomalies));
    members.put("origin", of.origin.as_str());
    members.put("times", of.times);
    members.put("history", of.history.as_str());
    members.put("script", of.script.as_ref().map(script));
    members.put("check", of.check.to_value());
    members.done()
}

fn read_finding(of: &Value) -> Read<HuntFinding> {
    Ok(HuntFinding {
        anomalies: items(of, "anomalies", string)?,
        origin: text(of, "origin")?,
        times: count(of, "times")?,
        history: text(of, "history")?,
        script: if of["script"].is_null() { None } else { Some(read_script(&of["script"])?) },
        check: CheckReport::from_value(&of["check"])?,
    })
}

fn script(of: &HuntScript) -> Value {
    json!({ "steps": of.steps, "sql": of.sql, "tries": of.tries, "shown": of.shown })
}

fn read_script(of: &Value) -> Read<HuntScript> {
    Ok(HuntScript {
        steps: text(of, "steps")?,
        sql: if of["sql"].is_null() { None } else { Some(text(of, "sql")?) },
        tries: count(of, "tries")?,
        shown: count(of, "shown")?,
    })
}

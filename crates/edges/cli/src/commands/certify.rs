//! `isoscope certify`: checks the evidence of a saved result again, without any engine.

use super::report::{reports, text_of};
use crate::args::CertifyArgs;
use crate::exit::Exit;
use crate::output;
use crate::progress::Painter;
use crate::saved::{Findings, Outcome, examine};
use crate::spec_file::OwnLevels;
use anyhow::{Context, bail};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Instant;

/// Runs the verb.
pub(crate) fn run(raw: &CertifyArgs, started: Instant) -> anyhow::Result<Exit> {
    if let Some(schedule) = &raw.stream {
        return super::certify_stream::run(raw, schedule, started);
    }
    let own = OwnLevels::read(&raw.specs)?;
    let text = text_of(&raw.input)?;
    let mut exit = Exit::Good;
    for report in reports(&text).with_context(|| raw.input.clone())? {
        let painter = Painter::start(&format!("certifying what {} found", report.verb()), started);
        let examined = examine(&report, &own);
        drop(painter);
        let Some(findings) = examined else {
            bail!(
                "{}: a result of `{}` has no evidence of its own; certify takes those of check, separate, compare, \
                 lattice, predict and verify",
                raw.input,
                report.verb()
            );
        };
        exit = worse(exit, judged(&findings));
        if raw.json {
            output::print(&format!("{}\n", document(&raw.input, report.verb(), &findings, started)))?;
        } else {
            output::print(&words(report.verb(), &findings, started))?;
        }
    }
    Ok(exit)
}

/// Certified only if there is something to certify, and all of it is.
fn judged(findings: &Findings) -> Exit {
    let outcomes = || findings.claims.iter().map(|it| &it.outcome);
    if outcomes().any(|it| matches!(it, Outcome::Refused(_))) {
        Exit::Found
    } else if findings.claims.is_empty() || outcomes().any(|it| matches!(it, Outcome::Missing(_))) {
        Exit::Unknown
    } else {
        Exit::Good
    }
}

fn worse(one: Exit, other: Exit) -> Exit {
    match (one, other) {
        (Exit::Found, _) | (_, Exit::Found) => Exit::Found,
        (Exit::Unknown, _) | (_, Exit::Unknown) => Exit::Unknown,
        _ => Exit::Good,
    }
}

fn count(findings: &Findings, word: &str) -> usize {
    findings.claims.iter().filter(|it| it.outcome.word() == word).count()
}

pub(super) fn words(verb: &str, findings: &Findings, started: Instant) -> String {
    let n = findings.claims.len();
    let headline = match judged(findings) {
        Exit::Good => format!("Certified: all {n} claims of this result of {verb} follow from its evidence."),
        Exit::Found => format!("Not certified: the evidence of this result of {verb} is wrong."),
        _ if n == 0 => format!("Nothing to certify: this result of {verb} claims nothing."),
        _ => format!(
            "Not all certified: {} of {n} claims of this result of {verb} have no evidence that can be checked.",
            count(findings, "missing")
        ),
    };
    let mut text = format!("{headline}\n\n");
    for claim in &findings.claims {
        let _ = writeln!(text, "  {:9}  {}", claim.outcome.word(), claim.words);
        if let Some(reason) = claim.outcome.reason() {
            let _ = writeln!(text, "             {reason}");
        }
    }
    for unseen in &findings.unseen {
        let _ = write!(text, "\nNot looked at: {unseen}.\n");
    }
    let _ = write!(text, "\n{:.2} s, no engine was asked\n", started.elapsed().as_secs_f64());
    text
}

pub(super) fn document(input: &str, verb: &str, findings: &Findings, started: Instant) -> Value {
    let claims: Vec<Value> = findings
        .claims
        .iter()
        .map(|it| match it.outcome.reason() {
            None => json!({ "claim": it.words, "result": it.outcome.word() }),
            Some(reason) => json!({ "claim": it.words, "result": it.outcome.word(), "reason": reason }),
        })
        .collect();
    let verdict = match judged(findings) {
        Exit::Good => "certified",
        Exit::Found => "refused",
        _ => "incomplete",
    };
    json!({
        "isoscope": 2,
        "verb": "certify",
        "inputs": [input],
        "of": verb,
        "verdict": verdict,
        "claims": claims,
        "not_looked_at": findings.unseen,
        "seconds": started.elapsed().as_secs_f64(),
    })
}

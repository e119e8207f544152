//! What a hunt was, in words that all renderings share.

use crate::amounts::{a_second, grouped, many, percent, rate, span};
use crate::check_phrases::{anomaly_words, titled};
use crate::document::Judgement;
use crate::durability::FaultMark;
use crate::hunt::{HuntFinding, HuntReport, HuntRound, RoundVerdict};

/// The answer in a sentence, with what was found first and how.
pub(crate) fn headline(report: &HuntReport) -> String {
    let subject = format!("{} under {}", capital(&report.database), report.isolation);
    let level = titled(&report.expect);
    match &report.findings[..] {
        [] if report.failure.is_some() => ended_early(report),
        [] if report.tally.undecided > 0 => {
            format!(
                "Nothing found, but not all is known: {} on {subject} could not be decided.",
                many(report.tally.undecided, "history")
            )
        }
        [] => format!(
            "Nothing found: all that {} did under {} in {} is {level}.",
            report.database,
            report.isolation,
            span(report.seconds)
        ),
        [first] if first.is_loss() => {
            format!("{subject} loses acknowledged writes, {}.", found(report, 0))
        }
        [first] => format!("{subject} breaks {level}: {}, {}.", name(first).to_lowercase(), found(report, 0)),
        [_, ..] => {
            let names: Vec<String> = report.findings.iter().map(|it| name(it).to_lowercase()).collect();
            format!("{subject} breaks {level}: {}; the first {}.", names.join(", "), found(report, 0))
        }
    }
}

/// What is known of a database on which the hunt could not go on.
pub(crate) fn ended_early(report: &HuntReport) -> String {
    let (database, isolation) = (&report.database, &report.isolation);
    let known = if report.tally.undecided > 0 { "not all decided".to_owned() } else { titled(&report.expect) };
    format!("ENDED EARLY: what {database} did under {isolation} until then is {known}, and more is not known.")
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    first + chars.as_str()
}

/// What a finding is called, as a heading.
pub(crate) fn name(finding: &HuntFinding) -> String {
    finding.anomalies.first().map_or_else(|| "Forbidden".to_owned(), |it| anomaly_words(it))
}

/// `found after 3 s by the probe lost-update of two transactions`.
fn found(report: &HuntReport, finding: usize) -> String {
    let found = &report.findings[finding];
    let when = report.first_round(finding).map(|it| format!(" after {}", span(it.end()))).unwrap_or_default();
    let size = match n_txns(found) {
        0 => String::new(),
        it => format!(", and shown by {}", few_txns(it)),
    };
    format!("found{when} in {}{size}", found.origin)
}

fn few_txns(number: usize) -> String {
    let words = ["no", "one", "two", "three", "four", "five", "six"];
    let word = words.get(number).map_or_else(|| number.to_string(), |it| (*it).to_owned());
    format!("{word} transaction{}", if number == 1 { "" } else { "s" })
}

/// How many transactions show it.
fn n_txns(finding: &HuntFinding) -> usize {
    let parts = finding.check.levels.iter().filter_map(|it| match &it.judgement {
        Judgement::Violated { core, .. } => Some(core.transactions.len()),
        _ => None,
    });
    parts.max().unwrap_or(0)
}

/// Where a finding was seen, and how often.
pub(crate) fn seen(report: &HuntReport, nth: usize) -> String {
    let finding = &report.findings[nth];
    let when = report.first_round(nth).map(|it| format!(", {} after the start", span(it.end()))).unwrap_or_default();
    format!("{}{when}{}.", seen_in(finding), more(finding))
}

/// The same without the time, which is another one each time.
pub(crate) fn seen_each_time(finding: &HuntFinding) -> String {
    format!("{}{}.", seen_in(finding), more(finding))
}

fn seen_in(finding: &HuntFinding) -> String {
    format!("Seen in {}", finding.origin)
}

fn more(finding: &HuntFinding) -> String {
    if finding.times > 1 { format!(", and in {} more", many(finding.times - 1, "history")) } else { String::new() }
}

/// What the script is good for, if there is one.
pub(crate) fn script_words(finding: &HuntFinding) -> String {
    if finding.is_loss() {
        let faults = FaultMark::in_words(&finding.faults);
        let faults = if faults.is_empty() { String::new() } else { format!(" Faults of that run: {faults}.") };
        return format!("What is gone has no script; -o FILE.history keeps what was recorded.{faults}");
    }
    match &finding.script {
        Some(it) => {
            let how = if it.sql.is_some() {
                "Statements are typed in the order of their numbers, each when the one before has answered or waits for a \
                 lock; what they answered stands behind them."
            } else {
                "Steps are taken from top to bottom; what they answered stands behind them."
            };
            let is_race = it.listing().contains("same number are sent") || it.steps.contains("together {");
            let how = if is_race {
                format!("{how} What is sent at the same time is a race, so it does not show each time.")
            } else {
                how.to_owned()
            };
            let shows = match (it.shown, it.tries) {
                (0, tries) => format!("This script showed it once, and then in none of {tries} tries"),
                (shown, tries) => format!("This script shows it, in {shown} of {tries} tries"),
            };
            format!("{shows}. {how}")
        }
        None => "No script of these transactions showed it again; -o FILE.history keeps what was recorded.".to_owned(),
    }
}

/// What was looked at.
pub(crate) fn looked_at(report: &HuntReport) -> String {
    let tally = &report.tally;
    let (scripts, runs) = (many(tally.scripts, "script"), many(tally.runs, "run"));
    format!("Looked at: {scripts} and {runs}, {}.", many(tally.transactions, "transaction"))
}

/// What people should know besides, a sentence each.
pub(crate) fn notes(report: &HuntReport) -> Vec<String> {
    let stopped = report.was_stopped.then(|| "It was stopped before its time.".to_owned());
    let failed = report.failure.as_ref().map(|it| format!("It ended early: {it}."));
    let reason = report.reason.as_ref();
    let undecided = reason.map(|it| format!("Not decided: {} ({it}).", many(report.tally.undecided, "history")));
    let nodes = (report.nodes.len() > 1).then(|| {
        format!("Sessions are placed in turns on {}: s1 on {}, and so on.", report.nodes.join(", "), report.nodes[0])
    });
    let faults = (!report.faults.is_empty()).then(|| format!("Faults: {}.", FaultMark::in_words(&report.faults)));
    let promise = report.expect_because.as_ref().map(|it| format!("{it}."));
    promise.into_iter().chain(nodes).chain(faults).chain(stopped).chain(failed).chain(undecided).collect()
}

/// What a hunt was, each fact with its name.
pub(crate) fn facts(report: &HuntReport) -> Vec<(&'static str, String)> {
    let tally = &report.tally;
    let sum = |count: fn(&HuntRound) -> u64| report.rounds.iter().map(count).sum::<u64>();
    let (aborted, unknown) = (sum(|it| it.aborted), sum(|it| it.unknown));
    let unknown = if unknown > 0 { format!(", {} unknown", grouped(unknown)) } else { String::new() };
    let mut facts = vec![
        ("database", report.database.clone()),
        ("isolation", report.isolation.clone()),
        ("expected", titled(&report.expect)),
        ("time", format!("{}, {} asked for", span(report.seconds), span(report.duration))),
        ("seed", report.seed.to_string()),
        (
            "looked at",
            format!(
                "{} and {}",
                many(tally.scripts, "script"),
                many(tally.runs, "run of a workload").replace("run of a workloads", "runs of workloads")
            ),
        ),
        (
            "transactions",
            format!("{}, {} aborted{unknown}", grouped(tally.transactions), percent(aborted, tally.transactions)),
        ),
    ];
    facts.push((
        "forbidden",
        format!("{} of {}", grouped(tally.violations), many(tally.scripts + tally.runs, "history")),
    ));
    facts.extend((tally.undecided > 0).then(|| ("not decided", many(tally.undecided, "history"))));
    facts
}

/// A round in a line.
pub(crate) fn round_words(round: &HuntRound) -> String {
    let verdict = match round.verdict {
        RoundVerdict::Holds => "holds",
        RoundVerdict::Unknown => "not decided",
        RoundVerdict::Violated => "violated",
    };
    let what = if round.rounds > 1 { &round.what } else { &round.name };
    format!(
        "{what}: {verdict}; {}, {} a second, {} aborted; after {}",
        many(round.transactions(), "transaction"),
        rate(a_second(round.transactions(), round.seconds)),
        grouped(round.aborted),
        span(round.began)
    )
}

//! What a run of `collect` was, in words that all renderings share.

use crate::amounts::{a_second, grouped, many, percent, rate, span};
use crate::collect::{Asserted, CollectReport, WorkloadParameters};
use crate::text::memory;

/// Which sessions are on which node.
pub(crate) fn nodes_in_words(report: &CollectReport) -> String {
    let named = |it: &[String]| if it.is_empty() { "none".to_owned() } else { it.join(", ") };
    let words: Vec<String> = report.nodes.iter().map(|it| format!("{} has {}", it.node, named(&it.sessions))).collect();
    words.join("; ")
}

/// The answer in a sentence.
pub(crate) fn headline(report: &CollectReport) -> String {
    let outcomes = &report.outcomes;
    let aborted = match outcomes.all_aborted() {
        0 => "none aborted".to_owned(),
        it => format!("{} aborted", percent(it, outcomes.transactions())),
    };
    let failed = match (report.failed().count(), report.assertions.len()) {
        (0, _) => String::new(),
        (1, 1) => format!("; {} does not hold", quoted(&report.assertions[0])),
        (failed, all) => format!("; {failed} of {all} assertions failed"),
    };
    format!(
        "{} committed on {} under {} in {}, {aborted}{failed}.",
        many(outcomes.committed, "transaction"),
        report.database,
        report.isolation,
        span(report.seconds)
    )
}

fn quoted(assertion: &Asserted) -> String {
    format!("“{}”", assertion.name)
}

/// Why a run ended before its time, if it did.
pub(crate) fn ended_early(report: &CollectReport) -> Option<String> {
    match &report.failure {
        Some(failure) => Some(format!("It ended early: {failure}. What happened until then is recorded.")),
        None if report.was_stopped => Some("It was stopped; what happened until then is recorded.".to_owned()),
        None => None,
    }
}

/// What ran and what came of it, each with its name.
pub(crate) fn facts(report: &CollectReport) -> Vec<(&'static str, String)> {
    let outcomes = &report.outcomes;
    let mut facts = vec![
        ("database", report.database.clone()),
        ("isolation", report.isolation.clone()),
        ("workload", format!("{}: {}", report.workload, workload(&report.parameters))),
        ("asked for", asked(&report.parameters)),
        ("seed", report.seed.to_string()),
        ("committed", format!("{}, {} a second", grouped(outcomes.committed), rate(report.throughput))),
        (
            "aborted",
            format!(
                "{} by the database, {} {}",
                grouped(outcomes.conflicts),
                grouped(outcomes.aborted),
                by_itself(report)
            ),
        ),
    ];
    facts.extend(Some(("causes", outcomes.aborts.in_words())).filter(|it| !it.1.is_empty()));
    facts.extend(
        (outcomes.unknown > 0)
            .then(|| ("unknown", format!("{}, nobody knows how they ended", grouped(outcomes.unknown)))),
    );
    facts.extend(
        (outcomes.reconnects > 0)
            .then(|| ("connections", format!("{} lost and replaced", grouped(outcomes.reconnects)))),
    );
    facts.push((
        "history",
        format!(
            "{} in {}, {}",
            many(outcomes.operations, "operation"),
            many(outcomes.sessions, "session"),
            memory(report.bytes)
        ),
    ));
    facts
}

fn workload(of: &WorkloadParameters) -> String {
    let ops = if of.ops.0 == of.ops.1 {
        many(of.ops.0, "operation")
    } else {
        format!("{} to {} operations", of.ops.0, of.ops.1)
    };
    format!(
        "{}, {} ({}), {ops} a transaction, {} % reads",
        many(of.sessions, "session"),
        many(of.keys, "key"),
        of.keys_like,
        (of.reads * 100.0).round()
    )
}

fn asked(of: &WorkloadParameters) -> String {
    let txns = of.txns.map(|it| format!("{} a session", many(it, "transaction")));
    let time = of.duration.map(|it| format!("{} at most", span(it)));
    let retries = (of.retries > 0).then(|| format!("aborted ones tried again up to {}", many(of.retries, "time")));
    [txns, time, retries].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The command that checks the history, if it is in a file.
pub(crate) fn next_command(report: &CollectReport) -> Option<String> {
    report.output.as_deref().map(|it| format!("isoscope check {}", shell_word(it)))
}

/// A word for a shell.
fn shell_word(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "/._-+:,@=".contains(it);
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(is_plain) {
        return word.to_owned();
    }
    let word = if word.starts_with('-') { format!("./{word}") } else { word.to_owned() };
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// What the chart shows, for those who do not see it.
pub(crate) fn described(report: &CollectReport) -> String {
    let joined = report.series.joined(24, report.seconds);
    let rates: Vec<f64> = joined.iter().map(|(begin, end, it)| a_second(it.committed, end - begin)).collect();
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let most = rates.iter().copied().fold(0.0, f64::max);
    format!(
        "Committed transactions a second over {}: {} on average, between {} and {}. {} aborted, {} unknown, {} lost.",
        span(report.seconds),
        rate(report.throughput),
        rate(least.min(most)),
        rate(most),
        grouped(report.outcomes.all_aborted()),
        grouped(report.outcomes.unknown),
        many(report.outcomes.reconnects, "connection"),
    )
}

/// Who aborted what the database did not abort. A transaction also ends so that lost its connection, or was in the middle
/// when the run was stopped, before it was asked to commit.
pub(crate) fn by_itself(report: &CollectReport) -> &'static str {
    if report.outcomes.reconnects > 0 || report.was_stopped {
        "by the workload or cut short"
    } else {
        "by the workload"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_words_for_a_shell() {
        let cases = [
            ("h.jsonl", "h.jsonl"),
            ("/tmp/a b.jsonl", "'/tmp/a b.jsonl'"),
            ("it's.jsonl", "'it'\\''s.jsonl'"),
            ("-x.jsonl", "'./-x.jsonl'"),
            ("$(reboot).jsonl", "'$(reboot).jsonl'"),
        ];
        for (name, expected) in cases {
            assert_eq!(shell_word(name), expected);
        }
    }
}

//! What `check` found out, as sentences that all renderings share.

use crate::document::{CheckReport, Evidence, Judgement, LevelName, Schedule};
use crate::execution::ExecutionRelation;
use crate::findings::{Finding, any_holds, findings, strongest_that_hold};
use crate::promise::answer;
use crate::words::counted;
use iso_spec::Level;

/// What stands above a core.
pub(crate) const CORE_LEAD: &str = "The core: these operations alone are forbidden.";

/// Before the SQL of a core.
pub(crate) const SAID_LEAD: &str = "What the application said:";

/// What stands above levels of databases, where levels of papers come first.
pub(crate) const DATABASES_LEAD: &str = "What databases mean by their levels, which look at statements:";

/// What a level of databases asks of statements, for a core that only such levels forbid.
pub(crate) fn rule_of_statements(finding: &Finding<'_>) -> Option<&'static str> {
    let levels = finding.levels.iter().map(|it| Level::from_name(&it.short)).collect::<Option<Vec<Level>>>()?;
    match levels.as_slice() {
        [Level::StatementSnapshots] => Some(
            "At this level each statement sees one state, and no older one than the statement before it; what it updates \
             or locks is the newest version, and stays so until its transaction ends.",
        ),
        [Level::TransactionSnapshot] => Some(
            "At this level all plain reads of a transaction see one state; what a statement updates or locks is the newest \
             version, and stays so until its transaction ends.",
        ),
        [Level::RowSnapshots] => Some(
            "At this level all reads of a transaction see one state, and nobody else has written since what it updates; an \
             insert only needs that there is no row.",
        ),
        _ => None,
    }
}

/// Longer witnesses are only counted.
const MAX_SHOWN_ORDER: usize = 12;
/// More relations are not named in a line.
const MAX_SHOWN_RELATIONS: usize = 12;
/// Schedules are so long at most in the JSON of a page.
pub(crate) const MAX_EMBEDDED: usize = 200;

/// Where a sentence stands, which decides where the rest of it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    Terminal,
    Page,
}

/// What a witness says, in one sentence.
pub(crate) fn witness(level: &LevelName, evidence: &Evidence, medium: Medium) -> String {
    let order_name = if level.is_serial() { "serial order" } else { "commit order" };
    let json = match medium {
        Medium::Terminal => "--json",
        Medium::Page => "the JSON in this page",
    };
    let has = |n_all: usize| match medium {
        Medium::Page if n_all > MAX_EMBEDDED => "has its beginning",
        _ => "has it",
    };
    match &evidence.schedule {
        Schedule::Order { order, omitted: 0 } if order.len() <= MAX_SHOWN_ORDER => {
            format!("A {order_name} that explains it: {}.", order.join(", "))
        }
        Schedule::Order { order, omitted } if order.is_empty() => {
            let txns = counted(*omitted as u64, "transaction");
            format!("A {order_name} of {txns} explains it, and was replayed step by step.")
        }
        Schedule::Order { order, omitted } => {
            let n_txns = order.len() + omitted;
            let txns = counted(n_txns as u64, "transaction");
            format!("A {order_name} of {txns} explains it; {json} {}.", has(n_txns))
        }
        Schedule::Events { events, omitted: 0 } if events.len() <= MAX_SHOWN_ORDER => {
            let events: Vec<String> = events.iter().map(|(event, txn)| format!("{} {txn}", event.word())).collect();
            format!("Snapshots and commits that explain it: {}.", events.join(", "))
        }
        Schedule::Events { events, omitted } if events.is_empty() => {
            let counted = counted(*omitted as u64, "event");
            format!("An order of {counted} (snapshots and commits) explains it, and was replayed step by step.")
        }
        Schedule::Events { events, omitted } => {
            let n_events = events.len() + omitted;
            let counted = counted(n_events as u64, "event");
            format!("An order of {counted} (snapshots and commits) explains it; {json} {}.", has(n_events))
        }
        Schedule::Relations { relations } => {
            let mut names: Vec<String> = relations.iter().take(MAX_SHOWN_RELATIONS).map(relation_name).collect();
            if relations.len() > names.len() {
                names.push(format!("and {} more", relations.len() - names.len()));
            }
            format!("These relations explain it: {}; {json} has them.", names.join(", "))
        }
    }
}

/// `co`, or `vo[x]`.
fn relation_name(relation: &ExecutionRelation) -> String {
    let key = relation.key.as_ref().map(|it| format!("[{it}]")).unwrap_or_default();
    format!("{}{key}", relation.name)
}

/// The answer in one sentence: the anomaly's name, the weakest level that it breaks, and what holds all the same.
pub(crate) fn check_headline(report: &CheckReport) -> String {
    if let Some(promise) = &report.promise {
        return format!("{}.", answer(promise));
    }
    let findings = findings(report);
    if let Some(finding) = findings.first() {
        let level = finding.levels.first().map(|it| titled(it)).unwrap_or_default();
        let what = match finding.anomalies.first() {
            Some(anomaly) => format!("{}: this history breaks {level}", anomaly_words(anomaly)),
            None => format!("This history breaks {level}"),
        };
        return format!("{what}{}.", what_holds(report));
    }
    match report.levels.as_slice() {
        [] if report.history.is_none() => "This input could not be read.".to_owned(),
        [] => "No level was asked for.".to_owned(),
        [level] => match &level.judgement {
            Judgement::Unknown { reason } => {
                format!("Whether this history satisfies {} is unknown: {reason}.", titled(&level.level))
            }
            _ => format!("This history satisfies {}.", titled(&level.level)),
        },
        levels if levels.iter().all(|it| matches!(it.judgement, Judgement::Holds { .. })) => {
            format!("This history satisfies {}.", all(&strongest_that_hold(report)))
        }
        _ if any_holds(report) => format!("No violation was found, and some levels are unknown{}.", what_holds(report)),
        _ => "Whether this history satisfies any of these levels is unknown.".to_owned(),
    }
}

/// `; the strongest level that holds is …`, if several were asked for.
fn what_holds(report: &CheckReport) -> String {
    match strongest_that_hold(report).as_slice() {
        [] => String::new(),
        [one] => format!("; the strongest level that holds is {}", titled(one)),
        many if many.len() <= 2 => format!("; the strongest levels that hold are {}", all(many)),
        _ => {
            let n_holding = report.levels.iter().filter(|it| matches!(it.judgement, Judgement::Holds { .. })).count();
            format!("; {n_holding} of {} levels hold", report.levels.len())
        }
    }
}

fn all(levels: &[&LevelName]) -> String {
    match levels {
        [] => "every level that was asked for".to_owned(),
        many => many.iter().map(|it| titled(it)).collect::<Vec<_>>().join(" and "),
    }
}

/// `serializable (ser)`.
pub(crate) fn titled(level: &LevelName) -> String {
    if level.full == level.short { level.full.clone() } else { format!("{} ({})", level.full, level.short) }
}

/// What the letters of the field stand for, and names whose hyphens are part of a word.
const SPELLED: [(&str, &str); 9] = [
    ("g0", "Dirty write (G0)"),
    ("g1a", "Aborted read (G1a)"),
    ("g1b", "Intermediate read (G1b)"),
    ("g1c", "Circular information flow (G1c)"),
    ("g-single", "Single anti-dependency cycle (G-single)"),
    ("g2-item", "Anti-dependency cycle (G2-item)"),
    ("internal", "Own write missed (internal)"),
    ("read-only-anomaly", "Read-only anomaly"),
    ("thin-air-read", "Thin-air read"),
];

/// `Write skew` for `write-skew`; `non-` stays with its word.
pub(crate) fn anomaly_words(anomaly: &str) -> String {
    if let Some((_, words)) = SPELLED.iter().find(|it| it.0 == anomaly) {
        return (*words).to_owned();
    }
    let mut chars = anomaly.chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    let rest = chars.as_str();
    match rest.strip_prefix("on-").filter(|_| first == "N") {
        Some(rest) => format!("Non-{}", rest.replace('-', " ")),
        None => format!("{first}{}", rest.replace('-', " ")),
    }
}

/// Was the evidence checked? Failures have lines of their own.
pub(crate) fn certified(report: &CheckReport) -> Option<String> {
    let n_certified = report.levels.iter().filter(|it| it.certified == Some(Ok(()))).count();
    let n_known = report.levels.iter().filter(|it| !matches!(it.judgement, Judgement::Unknown { .. })).count();
    match n_certified {
        0 => None,
        n if n == n_known => Some("evidence certified".to_owned()),
        n => Some(format!("evidence of {n} of {n_known} answers certified")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_anomalies_begin_sentences() {
        let cases = [
            ("write-skew", "Write skew"),
            ("g1c", "Circular information flow (G1c)"),
            ("g-single", "Single anti-dependency cycle (G-single)"),
            ("non-repeatable-read", "Non-repeatable read"),
        ];
        for (name, expected) in cases {
            assert_eq!(anomaly_words(name), expected);
        }
    }
}

//! What `check` found out as EDN, in the words of Jepsen's Elle, for checkers that are written in Clojure.

use crate::document::{CheckReport, Excerpt, Judgement, LevelReport, Link};
use crate::elle::{elle_anomaly, elle_model};
use crate::findings::{Finding, findings};
use crate::promise::PromiseVerdict;
use crate::value::Value;

/// The document as one map, on one line.
pub fn edn(report: &CheckReport) -> String {
    let mut types: Vec<String> = Vec::new();
    let mut anomalies: Vec<(String, Vec<Edn>)> = Vec::new();
    for finding in &findings(report) {
        for name in names(finding) {
            let shown = of_finding(finding);
            match anomalies.iter_mut().find(|it| it.0 == name) {
                Some((_, all)) => all.push(shown),
                None => anomalies.push((name.clone(), vec![shown])),
            }
            types.push(name);
        }
    }
    types.sort();
    types.dedup();
    anomalies.sort_by(|one, other| one.0.cmp(&other.0));
    let violated = report.levels.iter().filter(|it| matches!(it.judgement, Judgement::Violated { .. }));
    let not: Vec<Edn> = violated.filter_map(|it| elle_model(&it.level.short)).map(keyword).collect();
    let by_name = |it: (String, Vec<Edn>)| (keyword(&it.0), Edn::Vector(it.1));
    let document = Edn::Map(vec![
        (keyword("valid?"), validity(report)),
        (keyword("anomaly-types"), Edn::Vector(types.iter().map(|it| keyword(it)).collect())),
        (keyword("anomalies"), Edn::Map(anomalies.into_iter().map(by_name).collect())),
        (keyword("not"), Edn::Set(not)),
        (keyword("isoscope"), ours(report)),
    ]);
    document.spelled() + "\n"
}

/// True only if all that was asked is known to hold; where something was promised, that counts.
fn validity(report: &CheckReport) -> Edn {
    if report.history.is_none() {
        return keyword("unknown");
    }
    if let Some(promise) = &report.promise {
        return match promise.verdict {
            PromiseVerdict::Kept => Edn::Bool(true),
            PromiseVerdict::Broken => Edn::Bool(false),
            PromiseVerdict::Unknown => keyword("unknown"),
        };
    }
    let has = |wanted: &str| report.levels.iter().any(|it| it.judgement.word() == wanted);
    match (has("violated"), has("unknown") || report.levels.is_empty()) {
        (true, _) => Edn::Bool(false),
        (false, true) => keyword("unknown"),
        (false, false) => Edn::Bool(true),
    }
}

fn names(finding: &Finding<'_>) -> Vec<String> {
    match finding.anomalies {
        [] => vec!["forbidden".to_owned()],
        // The first name is the most telling one.
        [first, ..] => vec![elle_anomaly(first, finding.core)],
    }
}

fn of_finding(finding: &Finding<'_>) -> Edn {
    let core = finding.core;
    let levels = finding.levels.iter().map(|it| keyword(&it.short)).collect();
    let mut members = vec![
        (keyword("isoscope"), Edn::Vector(finding.anomalies.iter().map(|it| keyword(it)).collect())),
        (keyword("levels"), Edn::Vector(levels)),
        (keyword("summary"), text(&core.summary)),
        (keyword("history"), text(&core.history)),
        (keyword("transactions"), transactions(core)),
    ];
    if let Some(local) = &core.local {
        members.push((keyword("because"), text(&local.because)));
    }
    if let Some(first) = core.cycle.first() {
        let cycle = core.cycle.iter().map(|it| &it.from).chain([&first.from]);
        members.push((keyword("cycle"), Edn::Vector(cycle.map(|it| text(it.name())).collect())));
        members.push((keyword("steps"), Edn::Vector(core.cycle.iter().map(step).collect())));
    }
    Edn::Map(members)
}

fn transactions(core: &Excerpt) -> Edn {
    let line = |it: &crate::Transaction| it.place.as_ref().and_then(|it| it.line);
    let one = |it: &crate::Transaction| {
        let mut members = vec![(keyword("id"), text(&it.id)), (keyword("process"), text(&it.session))];
        members.extend(line(it).map(|it| (keyword("line"), Edn::Plain(it.to_string()))));
        Edn::Map(members)
    };
    Edn::Vector(core.transactions.iter().map(one).collect())
}

fn step(link: &Link) -> Edn {
    // Elle calls session order and real time by what they come from.
    let kind = match link.kind.word() {
        "so" => "process",
        "rt" => "realtime",
        other => other,
    };
    let mut members = vec![
        (keyword("type"), keyword(kind)),
        (keyword("from"), text(link.from.name())),
        (keyword("to"), text(link.to.name())),
    ];
    members.extend(link.key.as_ref().map(|it| (keyword("key"), value(it))));
    members.push((keyword("because"), text(&link.because)));
    Edn::Map(members)
}

fn ours(report: &CheckReport) -> Edn {
    let level = |it: &LevelReport| {
        let mut members =
            vec![(keyword("verdict"), keyword(it.judgement.word())), (keyword("name"), text(&it.level.full))];
        match &it.judgement {
            Judgement::Violated { anomalies, .. } => {
                let names = anomalies.iter().map(|it| keyword(it)).collect();
                members.push((keyword("anomalies"), Edn::Vector(names)));
            }
            Judgement::Unknown { reason } => members.push((keyword("reason"), text(reason))),
            Judgement::Holds { .. } => {}
        }
        members.push((keyword("certified"), Edn::Bool(it.certified == Some(Ok(())))));
        (keyword(&it.level.short), Edn::Map(members))
    };
    let defects = report.defects.iter().map(|it| text(&it.message)).collect();
    Edn::Map(vec![
        (keyword("version"), text(env!("CARGO_PKG_VERSION"))),
        (keyword("inputs"), Edn::Vector(report.inputs.iter().map(|it| text(it)).collect())),
        (keyword("levels"), Edn::Map(report.levels.iter().map(level).collect())),
        (keyword("defects"), Edn::Vector(defects)),
    ])
}

/// A value of EDN.
enum Edn {
    Bool(bool),
    /// A number or `nil`, as it is spelled.
    Plain(String),
    Keyword(String),
    Text(String),
    Vector(Vec<Edn>),
    Map(Vec<(Edn, Edn)>),
    Set(Vec<Edn>),
}

fn keyword(name: &str) -> Edn {
    let is_allowed = |it: char| it.is_alphanumeric() || "-_.?+*!/".contains(it);
    // A level of a user's own may have any name.
    let starts_well = name.chars().next().is_some_and(char::is_alphabetic);
    if starts_well && name.chars().all(is_allowed) { Edn::Keyword(name.to_owned()) } else { text(name) }
}

fn text(text: &str) -> Edn {
    Edn::Text(text.to_owned())
}

fn value(of: &Value) -> Edn {
    match of {
        Value::Missing => Edn::Plain("nil".to_owned()),
        Value::Int(number) => Edn::Plain(number.to_string()),
        Value::Number { number } => Edn::Plain(number.clone()),
        Value::Text(it) => text(it),
        Value::List(list) => Edn::Vector(list.iter().map(value).collect()),
        Value::Record { record } => Edn::Map(record.iter().map(|(name, it)| (keyword(name), value(it))).collect()),
        Value::Shortened { shortened } => text(shortened),
    }
}

impl Edn {
    fn spelled(&self) -> String {
        let all = |of: &[Self]| of.iter().map(Self::spelled).collect::<Vec<_>>().join(" ");
        match self {
            Self::Bool(it) => it.to_string(),
            Self::Plain(it) => it.clone(),
            Self::Keyword(name) => format!(":{name}"),
            Self::Text(text) => quoted(text),
            Self::Vector(items) => format!("[{}]", all(items)),
            Self::Set(items) => format!("#{{{}}}", all(items)),
            Self::Map(members) => {
                let member = |(key, value): &(Self, Self)| format!("{} {}", key.spelled(), value.spelled());
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other if other.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(other))),
            other => out.push(other),
        }
    }
    out + "\""
}

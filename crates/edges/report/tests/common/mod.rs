//! Histories with hand-made evidence, for the tests of all renderings.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, clippy::format_push_string, reason = "this is test code")]
#![allow(unreachable_pub, reason = "this module is shared by test files, not exported")]

use iso_evidence::{Anomaly, Edge, Reason, Refutation, Schedule, StopReason, Verdict, Witness};
use iso_history::{Datum, Facts, History, HistoryBuilder, KeyId, LocalAnomaly, OpId, Outcome, Place, PlaceUnit, TxnId};
use iso_report::{Answer, CheckReport, Imprint, JsonLayout, Limits, Report, Run, TextOptions};
use iso_spec::Level;
use serde_json::Value;

pub mod runs;
pub mod schema;
pub mod search;
pub mod xml;

/// Reads the excerpt of our notation that the tests use: one line a transaction or several, no quotes.
pub fn history(text: &str) -> History {
    let mut builder = HistoryBuilder::new();
    let source = builder.source("demo.history", PlaceUnit::Line);
    read_history(builder, source, text)
}

/// A history that stands in no file.
pub fn made_up(text: &str) -> History {
    read_history(HistoryBuilder::new(), 0, text)
}

fn read_history(mut builder: HistoryBuilder, source: u32, text: &str) -> History {
    for (idx, line) in text.trim().lines().enumerate() {
        let place = Place { source, at: idx as u64 + 1 };
        let line = line.trim();
        if let Some(initial) = line.strip_prefix("init ") {
            for (key, value) in initial.split(' ').filter_map(|it| it.split_once('=')) {
                let (key, value) = (builder.key(datum(key)), datum(value));
                let value = builder.value(value);
                builder.initial(key, value, place);
            }
            continue;
        }
        let (session, txns) = line.split_once(": ").unwrap();
        let session = builder.session(session);
        for txn in txns.split('{').skip(1) {
            builder.begin(session, place);
            let (ops, rest) = txn.split_once('}').unwrap();
            ops.split_whitespace().for_each(|it| read_op(&mut builder, it));
            if let Some(times) = rest.split_once("@[").map(|it| it.1.split_once(']').unwrap().0) {
                let (begin, end) = times.split_once(',').unwrap();
                builder.times(begin.parse().ok(), end.parse().ok());
            }
            builder.end(match rest {
                it if it.contains("abort") => Outcome::Aborted,
                it if it.contains("unknown") => Outcome::Indeterminate,
                _ => Outcome::Committed,
            });
        }
    }
    builder.finish().unwrap()
}

fn datum(text: &str) -> Datum {
    match text {
        "-" => Datum::Null,
        _ => text.parse::<i64>().map_or_else(|_| Datum::text(text), Datum::Int),
    }
}

fn read_op(builder: &mut HistoryBuilder, op: &str) {
    let (name, rest) = op.trim_end_matches(')').split_once('(').unwrap();
    let (key, value) = rest.split_once(',').unwrap();
    let key = builder.key(datum(key));
    if let Some(list) = value.strip_prefix('[') {
        let elements = list.trim_end_matches(']').split(',').filter(|it| !it.is_empty());
        let elements: Vec<_> = elements.map(|it| builder.value(datum(it))).collect();
        return builder.read_list(key, elements);
    }
    let value = builder.value(datum(value));
    match name {
        "r" => builder.read(key, value),
        "w" => builder.write(key, value),
        _ => builder.append(key, value),
    }
}

pub fn txn(history: &History, label: &str) -> TxnId {
    if label == "init" {
        return TxnId::INITIAL;
    }
    history.txns().find(|it| history.label(*it) == label).unwrap()
}

fn key(history: &History, name: &str) -> KeyId {
    history.keys().find(|it| history.key_name(*it) == datum(name)).unwrap()
}

/// The first read of a key by a transaction.
pub fn read(history: &History, reader: &str, name: &str) -> OpId {
    let mut ops = history.ops(txn(history, reader));
    ops.find(|it| !history.op(*it).is_write() && history.op(*it).key() == key(history, name)).unwrap()
}

/// `s1.1 rw x s2.1`: an edge of that kind. `ww` may end in `by s3.1`, whose read shows it.
pub fn edge(history: &History, text: &str) -> Edge {
    let words: Vec<&str> = text.split(' ').collect();
    let (from, kind, to) =
        (words[0], words[1], words[words.iter().position(|it| *it == "by").unwrap_or(words.len()) - 1]);
    let because = match kind {
        "so" => Reason::Session,
        "rt" => Reason::RealTime,
        "wr" => Reason::ReadFrom { read: read(history, to, words[2]) },
        "rw" => Reason::AntiDependency { key: key(history, words[2]), read: read(history, from, words[2]) },
        _ => Reason::VersionOrder {
            key: key(history, words[2]),
            shown_by: words.get(5).map(|it| read(history, it, words[2])),
        },
    };
    Edge { from: txn(history, from), to: txn(history, to), because }
}

/// A refutation by a cycle of everything that the transactions of the cycle did.
pub fn cyclic(history: &History, anomaly: Anomaly, edges: &[&str]) -> Verdict {
    let cycle: Vec<Edge> = edges.iter().map(|it| edge(history, it)).collect();
    let mut txns: Vec<TxnId> = cycle.iter().flat_map(|it| [it.from, it.to]).collect();
    for edge in &cycle {
        if let Reason::VersionOrder { shown_by: Some(read), .. } = edge.because {
            txns.push(history.txn_of(read));
        }
    }
    refuted(history, anomaly, txns, None, cycle)
}

/// A refutation by the first local anomaly of the history, in the transactions with these labels.
pub fn local(history: &History, anomaly: Anomaly, labels: &[&str]) -> Verdict {
    let found: LocalAnomaly = Facts::new(history).local()[0];
    let txns = labels.iter().map(|it| txn(history, it)).collect();
    refuted(history, anomaly, txns, Some(found), Vec::new())
}

fn refuted(
    history: &History,
    anomaly: Anomaly,
    mut txns: Vec<TxnId>,
    local: Option<LocalAnomaly>,
    cycle: Vec<Edge>,
) -> Verdict {
    txns.retain(|it| !it.is_initial());
    txns.sort_unstable();
    txns.dedup();
    let ops = txns.iter().flat_map(|it| history.ops(*it)).collect();
    Verdict::Forbidden(Refutation { anomalies: vec![anomaly], txns, ops, local, cycle, proof: None, grounds: None })
}

/// Every transaction in the order of the input.
pub fn allowed(history: &History) -> Verdict {
    Verdict::Allowed(Witness {
        schedule: Schedule::Order(history.txns().collect()),
        sources: std::sync::Arc::default(),
    })
}

pub fn unknown() -> Verdict {
    Verdict::Unknown(StopReason::Timeout)
}

pub fn report(history: &History, answers: &[(Level, &Verdict)]) -> CheckReport {
    let answers: Vec<Answer<'_>> = answers
        .iter()
        .map(|(level, verdict)| Answer {
            level: (*level).into(),
            verdict,
            certified: (!matches!(verdict, Verdict::Unknown(_))).then_some(Ok(())),
        })
        .collect();
    let run = Run {
        inputs: vec!["demo.history".to_owned()],
        defects: Vec::new(),
        seconds: 0.125,
        peak_bytes: Some(3_250_000),
    };
    CheckReport::new(history, run, &answers, Limits::default())
}

/// The whole lattice, with `verdict` for `broken` and everything above it.
pub fn lattice(history: &History, broken: Level, verdict: &Verdict) -> CheckReport {
    let holds = allowed(history);
    let answers: Vec<(Level, &Verdict)> =
        Level::usual().into_iter().map(|it| (it, if it.implies(broken) { verdict } else { &holds })).collect();
    report(history, &answers)
}

pub fn write_skew() -> CheckReport {
    let history = history(
        "init x=0 y=0
         s1: { r(x,0) r(y,0) w(x,1) }
         s2: { r(x,0) r(y,0) w(y,1) }",
    );
    let verdict = cyclic(&history, Anomaly::WriteSkew, &["s1.1 rw y s2.1", "s2.1 rw x s1.1"]);
    lattice(&history, Level::Serializable, &verdict)
}

pub fn lost_update() -> CheckReport {
    let history = history(
        "s0: { w(x,1) }
         s1: { r(x,1) w(x,2) }
         s2: { r(x,1) w(x,3) }",
    );
    let edges = ["s1.1 rw x s2.1", "s2.1 rw x s1.1"];
    let verdict = cyclic(&history, Anomaly::LostUpdate, &edges);
    let Verdict::Forbidden(mut excerpt) = verdict else { unreachable!() };
    excerpt.txns.insert(0, txn(&history, "s0.1"));
    excerpt.ops = history.txns().flat_map(|it| history.ops(it)).collect();
    report(&history, &[(Level::SnapshotIsolation, &Verdict::Forbidden(excerpt))])
}

pub fn list_anomaly() -> CheckReport {
    let history = history(
        "s1: { append(x,1) append(y,1) }
         s2: { append(x,2) append(x,3) append(y,2) }
         s3: { r(x,[1,2,3]) }
         s4: { r(y,[2,1]) }
         s5: { append(x,9) }",
    );
    let edges = ["s1.1 ww x s2.1 by s3.1", "s2.1 ww y s1.1 by s4.1"];
    report(&history, &[(Level::ReadUncommitted, &cyclic(&history, Anomaly::DirtyWrite, &edges))])
}

pub fn aborted_read() -> CheckReport {
    let history = history(
        "init x=0
         s1: { w(x,1) } abort
         s2: { r(x,1) }",
    );
    let verdict = local(&history, Anomaly::AbortedRead, &["s1.1", "s2.1"]);
    lattice(&history, Level::ReadCommitted, &verdict)
}

pub fn stale_read() -> CheckReport {
    let history = history(
        "init x=0
         s1: { r(x,0) } @[1,5]
         s1: { w(x,1) } @[10,25]
         s2: { r(x,0) } @[30,40]",
    );
    let verdict = cyclic(&history, Anomaly::StaleRead, &["s1.2 rt s2.1", "s2.1 rw x s1.2"]);
    report(&history, &[(Level::Serializable, &allowed(&history)), (Level::StrictSerializable, &verdict)])
}

/// Two readers see two writes in opposite orders.
pub fn long_fork() -> CheckReport {
    let history = history(
        "init x=0 y=0
         s1: { w(x,1) }
         s2: { w(y,1) }
         s3: { r(x,1) r(y,0) }
         s4: { r(y,1) r(x,0) }",
    );
    let edges = ["s1.1 wr x s3.1", "s3.1 rw y s2.1", "s2.1 wr y s4.1", "s4.1 rw x s1.1"];
    report(&history, &[(Level::PrefixConsistency, &cyclic(&history, Anomaly::LongFork, &edges))])
}

/// `n_txns` transactions in `n_sessions` sessions, each of which reads what the next one overwrites.
pub fn ring(n_txns: usize, n_sessions: usize) -> CheckReport {
    let label = |nth: usize| format!("s{}.{}", nth % n_sessions + 1, nth / n_sessions + 1);
    let mut text = String::from("init");
    for nth in 0..n_txns {
        text += &format!(" k{nth}=0");
    }
    for nth in 0..n_txns {
        let next = (nth + 1) % n_txns;
        text += &format!("\ns{}: {{ r(k{next},0) w(k{nth},1) }}", nth % n_sessions + 1);
    }
    let history = history(&text);
    let edges: Vec<String> = (0..n_txns)
        .map(|nth| {
            let next = (nth + 1) % n_txns;
            format!("{} rw k{next} {}", label(nth), label(next))
        })
        .collect();
    let edges: Vec<&str> = edges.iter().map(String::as_str).collect();
    report(&history, &[(Level::Serializable, &cyclic(&history, Anomaly::G2Item, &edges))])
}

/// All kinds of dependencies over three sessions.
pub fn twelve() -> CheckReport {
    let history = history(
        "init a=0 b=0 c=0 d=0 e=0
         s1: { w(a,1) } { r(b,1) w(c,1) } { r(d,2) } { w(e,1) r(h,1) }
         s2: { r(a,1) w(b,1) } { w(d,1) } { r(e,0) w(f,1) } { r(f,1) w(g,1) }
         s3: { r(c,1) w(d,2) } { w(f,2) w(h,1) } { r(g,1) } { r(a,0) w(a,2) }",
    );
    let edges = [
        "s1.1 wr a s2.1",
        "s2.1 wr b s1.2",
        "s1.2 wr c s3.1",
        "s3.1 ww d s2.2",
        "s2.2 so s2.3",
        "s2.3 ww f s3.2",
        "s3.2 wr h s1.4",
        "s1.4 rt s2.4",
        "s2.4 wr g s3.3",
        "s3.3 so s3.4",
        "s3.4 rw a s1.1",
    ];
    let mut verdict = cyclic(&history, Anomaly::G2Item, &edges);
    if let Verdict::Forbidden(excerpt) = &mut verdict {
        excerpt.txns = history.txns().collect();
        excerpt.ops = history.txns().flat_map(|it| history.ops(it)).collect();
    }
    report(&history, &[(Level::Serializable, &verdict)])
}

/// Long lists and long names.
pub fn long_names() -> CheckReport {
    let key = "warehouse/7/district/3/customer/1281/balance";
    let list: Vec<String> = (1..60).map(|it| it.to_string()).collect();
    let history = history(&format!(
        "worker-number-seventeen@host.example: {{ r({key},100) w({key},\u{1f600}-a-rather-long-value-for-a-register) }}
         b: {{ r({key},100) w({key},90) r(log,[{}]) append(log,60) }}
         c: {{ {} w({key},100) }}",
        list.join(","),
        list.iter().map(|it| format!("append(log,{it})")).collect::<Vec<_>>().join(" ")
    ));
    let long = "worker-number-seventeen@host.example.1";
    let edges = [format!("c.1 wr {key} {long}"), format!("{long} rw {key} b.1"), format!("b.1 ww {key} c.1")];
    let edges: Vec<&str> = edges.iter().map(String::as_str).collect();
    report(&history, &[(Level::SnapshotIsolation, &cyclic(&history, Anomaly::LostUpdate, &edges))])
}

/// A read of a value that nobody wrote.
pub fn thin_air() -> CheckReport {
    let history = history("init x=0\ns1: { r(x,7) w(y,1) }");
    report(&history, &[(Level::ReadUncommitted, &local(&history, Anomaly::ThinAirRead, &["s1.1"]))])
}

/// A session that does not see its own write, and an edge from the initial state.
pub fn own_write() -> CheckReport {
    let history = history("init x=0\ns1: { w(x,1) } { w(y,3) } { r(x,0) }");
    let edges = ["s1.1 so s1.3", "s1.3 rw x s1.1"];
    report(&history, &[(Level::ReadAtomic, &cyclic(&history, Anomaly::StaleOwnWrite, &edges))])
}

/// Names that would break a page, a terminal or a file, if they could.
pub const HOSTILE: [&str; 7] = [
    "<script>alert(1)</script>",
    "\"double\" 'single' & &amp; ]]> -->",
    "control\u{0}\u{1}\u{1b}[31m\r\n\ttab",
    "\u{1f600}\u{1f469}\u{200d}\u{1f4bb} emoji",
    "\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{202e}right to left",
    "not a character: \u{fffe}\u{ffff}",
    "",
];

/// Write skew, in which everything has a hostile name.
pub fn hostile() -> CheckReport {
    let mut builder = HistoryBuilder::new();
    let source = builder.source("<file> & \"co\"", PlaceUnit::Byte);
    let long = "long ".repeat(80);
    let names: Vec<&str> = HOSTILE.into_iter().chain([long.as_str()]).collect();
    let old = builder.value(Datum::text("old \u{1b}]0;title\u{7}"));
    for (nth, name) in names.iter().enumerate() {
        let mine = builder.key(Datum::text(*name));
        let next = builder.key(Datum::text(names[(nth + 1) % names.len()]));
        let new = builder.value(Datum::text(format!("new {name}")));
        builder.initial(mine, old, Place::default());
        let session = builder.session(name);
        builder.begin(session, Place { source, at: nth as u64 });
        builder.read(next, old);
        builder.write(mine, new);
        builder.end(Outcome::Committed);
    }
    let history = builder.finish().unwrap();
    let txns: Vec<TxnId> = history.txns().collect();
    let cycle = txns.iter().enumerate().map(|(nth, from)| {
        let read = history.ops(*from).next().unwrap();
        let because = Reason::AntiDependency { key: history.op(read).key(), read };
        Edge { from: *from, to: txns[(nth + 1) % txns.len()], because }
    });
    let verdict = refuted(&history, Anomaly::G2Item, txns.clone(), None, cycle.collect());
    report(&history, &[(Level::Serializable, &verdict)])
}

/// The page of a document, without a date.
pub fn page_of(report: &Report) -> String {
    report.html(&Imprint::default())
}

/// The page of `check`, without a date.
pub fn page(report: &CheckReport) -> String {
    page_of(&Report::from(report.clone()))
}

/// The page whose golden has the style and the script; in all others a line stands for each.
const WHOLE_PAGE: &str = "write-skew.html";

/// A page without what all pages have in common.
fn without_style_and_script(page: &str) -> String {
    const STYLE: &str = include_str!("../../src/page.css");
    const SCRIPT: &str = include_str!("../../src/page.js");
    let (before, rest) = page.split_once("script-src 'sha256-").unwrap();
    let (_, after) = rest.split_once('\'').unwrap();
    assert!(page.contains(STYLE) && page.contains(SCRIPT), "a page has its style and its script inside");
    let page = format!("{before}script-src 'sha256-of-page.js'{after}");
    page.replacen(STYLE, "/* page.css */\n", 1).replacen(SCRIPT, "/* page.js */", 1)
}

/// Compares with a file below `tests/golden`; with `UPDATE_GOLDEN` set, writes it.
pub fn golden(name: &str, found: &str) {
    let is_page = name.rsplit('.').next() == Some("html") && name != WHOLE_PAGE;
    let found = if is_page { without_style_and_script(found) } else { found.to_owned() };
    let found = found.replace(concat!("Isoscope ", env!("CARGO_PKG_VERSION")), "Isoscope VERSION");
    let found = found.replace(concat!("isoscope/", env!("CARGO_PKG_VERSION")), "isoscope/VERSION");
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{name} has changed; if that is right, run the tests with UPDATE_GOLDEN=1:\n{found}");
}

/// Compares with what version 1 of the document said, and returns if that is kept. Sentences may have other words since.
pub fn says_the_same_in_version_1(name: &str, report: &Report) -> bool {
    let Some(old) = of_version_1(name) else { return false };
    let facts = |report: &Report| facts(serde_json::from_str(&report.to_json(JsonLayout::Compact)).unwrap());
    assert_eq!(facts(&old), facts(report), "{name}");
    true
}

/// A document of version 1 that is kept; it can be rendered.
pub fn of_version_1(name: &str) -> Option<Report> {
    let path = format!("{}/tests/v1/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).ok()?;
    assert!(text.contains("\"isoscope\": 1,"), "{name} is no document of version 1");
    let old = Report::from_json(&text).unwrap();
    let renderings = [old.text(TextOptions::default()), page_of(&old), old.svg(), old.dot()];
    assert!(renderings.iter().all(|it| !it.is_empty()), "{name}");
    Some(old)
}

/// A document without its sentences, and without what version 1 did not have.
fn facts(value: Value) -> Value {
    const SENTENCES: [&str; 6] = ["because", "claim", "summary", "notes", "sources", "history"];
    match value {
        Value::Array(items) => items.into_iter().map(facts).collect(),
        Value::Object(members) => members
            .into_iter()
            .filter(|it| !SENTENCES.contains(&it.0.as_str()))
            .map(|(name, it)| (name, facts(it)))
            .collect(),
        other => other,
    }
}

/// The cases whose renderings are golden.
pub fn golden_cases() -> Vec<(&'static str, CheckReport)> {
    gallery().into_iter().take(5).chain(proved()).collect()
}

/// Histories whose cycle has more below it than the history shows at once, or that no single cycle refutes.
pub fn proved() -> Vec<(&'static str, CheckReport)> {
    vec![
        // Whose version of x is older follows from a read of x, which comes after the other because of a read of y.
        (
            "deep-order",
            judged(
                "init x=0 y=0 z=0
                 s1: { w(x,1) }
                 s2: { w(x,2) }
                 s3: { r(x,2) } { w(z,1) }
                 s4: { r(x,1) w(y,1) }
                 s5: { r(y,1) r(x,2) r(z,0) }
                 s6: { r(z,1) r(x,1) }",
                Level::Serializable,
            ),
        ),
        // Nobody saw anybody, and nothing shows which of two writers came first.
        (
            "blind-writes",
            judged(
                "init x=0 y=0
                 s1: { r(y,0) w(x,1) }
                 s2: { r(x,0) w(y,1) }
                 s3: { r(y,0) w(x,2) }
                 s4: { r(x,0) w(y,2) }",
                Level::SnapshotIsolation,
            ),
        ),
        // Two transactions wrote x=1, and s3 may have read either.
        (
            "either-writer",
            judged(
                "init x=0 y=0
                 s1: { w(x,1) w(y,1) }
                 s2: { r(y,1) w(x,1) w(y,2) }
                 s3: { r(x,1) r(y,0) }",
                Level::Serializable,
            ),
        ),
    ]
}

/// What the checker itself says about a history.
pub fn judged(text: &str, level: Level) -> CheckReport {
    let history = history(text);
    let verdict = iso_check::check(&history, level, &iso_evidence::Budget::unlimited());
    iso_evidence::certify(&history, level, &verdict).unwrap();
    report(&history, &[(level, &verdict)])
}

/// Every case with its name.
pub fn gallery() -> Vec<(&'static str, CheckReport)> {
    vec![
        ("write-skew", write_skew()),
        ("lost-update", lost_update()),
        ("lists", list_anomaly()),
        ("aborted-read", aborted_read()),
        ("stale-read", stale_read()),
        ("long-fork", long_fork()),
        ("ring-6", ring(6, 6)),
        ("ring-12", ring(12, 3)),
        ("twelve", twelve()),
        ("long-names", long_names()),
        ("thin-air", thin_air()),
        ("own-write", own_write()),
        ("hostile", hostile()),
    ]
    .into_iter()
    .chain(proved())
    .collect()
}

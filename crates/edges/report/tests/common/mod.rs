//! Histories with hand-made evidence, for the tests of all renderings.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(unreachable_pub, reason = "this module is shared by test files, not exported")]

use iso_evidence::{Anomaly, Edge, Reason, Refutation, Schedule, StopReason, Verdict, Witness};
use iso_history::{Datum, Facts, History, HistoryBuilder, KeyId, LocalAnomaly, OpId, Outcome, Place, PlaceUnit, TxnId};
use iso_report::{Answer, CheckReport, Limits, Run};
use iso_spec::Level;

/// Reads the part of our notation that the tests use: one line a transaction or several, no quotes.
pub fn history(text: &str) -> History {
    let mut builder = HistoryBuilder::new();
    let source = builder.source("demo.history", PlaceUnit::Line);
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
                it if it.contains("unknown") => Outcome::Unknown,
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
    history.keys().find(|it| *history.key_name(*it) == datum(name)).unwrap()
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
    Verdict::Forbidden(Refutation { anomalies: vec![anomaly], txns, ops, local, cycle })
}

/// Every transaction in the order of the input.
pub fn allowed(history: &History) -> Verdict {
    Verdict::Allowed(Witness { schedule: Schedule::Order(history.txns().collect()), sources: Vec::new() })
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
        Level::ALL.into_iter().map(|it| (it, if it.implies(broken) { verdict } else { &holds })).collect();
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
    let Verdict::Forbidden(mut part) = verdict else { unreachable!() };
    part.txns.insert(0, txn(&history, "s0.1"));
    part.ops = history.txns().flat_map(|it| history.ops(it)).collect();
    report(&history, &[(Level::SnapshotIsolation, &Verdict::Forbidden(part))])
}

pub fn list_anomaly() -> CheckReport {
    let history = history(
        "s1: { r(x,[]) append(x,1) } { append(y,1) }
         s2: { append(x,2) r(y,[]) } { r(x,[1,2,3]) }
         s3: { append(x,3) }",
    );
    let edges = ["s1.1 ww x s2.1 by s2.2", "s2.1 rw y s1.2", "s1.2 rt s1.1"];
    let mut verdict = cyclic(&history, Anomaly::GSingle, &edges[..2]);
    if let Verdict::Forbidden(part) = &mut verdict {
        part.cycle.push(edge(&history, "s1.2 ww x s1.1"));
        part.cycle.truncate(2);
        part.cycle.push(edge(&history, "s1.1 so s1.2"));
    }
    report(&history, &[(Level::Serializable, &verdict)])
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

//! Random histories that a format can express.

pub(crate) mod sql;

use iso_formats::Format;
use iso_history::{Datum, History, HistoryBuilder, KeyId, Outcome, Place, SessionId};
use proptest::collection::vec;
use proptest::prelude::*;

/// What a format can express.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Domain {
    pub(crate) format: Format,
    pub(crate) keys: Names,
    pub(crate) values: Names,
    pub(crate) has_lists: bool,
    pub(crate) times: Times,
    pub(crate) outcomes: &'static [Outcome],
    pub(crate) initial: Initial,
    pub(crate) sessions: fn(usize, &str) -> String,
    pub(crate) needs_ops: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    Ints,
    IntsAndNull,
    Words,
    Any,
    /// Named by who wrote them.
    Writers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Times {
    Never,
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Initial {
    Null,
    Zero,
    Init,
    Any,
}

const ALL: &[Outcome] = &[Outcome::Committed, Outcome::Aborted, Outcome::Indeterminate];

pub(crate) fn domain(format: Format) -> Domain {
    let ours = Domain {
        format,
        keys: Names::Any,
        values: Names::Any,
        has_lists: true,
        times: Times::Any,
        outcomes: ALL,
        initial: Initial::Any,
        sessions: |_, name| name.to_owned(),
        needs_ops: false,
    };
    let registers = Domain {
        keys: Names::Ints,
        values: Names::Ints,
        has_lists: false,
        times: Times::Never,
        outcomes: &ALL[..2],
        initial: Initial::Zero,
        sessions: |nth, _| format!("s{}", nth + 1),
        ..ours
    };
    let elle = Domain { initial: Initial::Null, sessions: |nth, _| (nth * 3).to_string(), ..ours };
    match format {
        Format::Text | Format::Jsonl | Format::Parquet => ours,
        Format::Dbcop => registers,
        Format::DbcopJson => Domain { values: Names::IntsAndNull, initial: Initial::Null, ..registers },
        Format::Cobra => Domain {
            outcomes: &[Outcome::Committed, Outcome::Indeterminate],
            initial: Initial::Null,
            sessions: |nth, _| format!("T{}", nth + 10),
            ..registers
        },
        Format::Plume => Domain { keys: Names::Words, values: Names::Words, needs_ops: true, ..registers },
        Format::Elle | Format::ElleJson => elle,
        Format::IsoPredict => {
            Domain { values: Names::Writers, outcomes: &ALL[..1], initial: Initial::Init, needs_ops: true, ..registers }
        }
    }
}

fn names(kind: Names) -> BoxedStrategy<Datum> {
    let ints = prop_oneof![Just(0), -3..9i64, any::<i64>()].prop_map(Datum::Int);
    let words = "[a-z_][a-z0-9_.]{0,3}".prop_map(Datum::text);
    let numbers = prop_oneof!["-?[1-9][0-9]{0,2}\\.[0-9]{1,4}", "[1-9]e[+-]?[0-9]{1,3}", "-?[1-9][0-9]{19,25}"];
    let numbers = numbers.prop_map(|it| Datum::Number(it.into()));
    match kind {
        Names::Ints | Names::Writers => ints.boxed(),
        Names::IntsAndNull => prop_oneof![4 => ints, 1 => Just(Datum::Null)].boxed(),
        Names::Words => prop_oneof![ints, words].boxed(),
        Names::Any => prop_oneof![
            3 => ints,
            3 => words,
            1 => numbers,
            1 => Just(Datum::Null),
            2 => "(?s).{0,6}".prop_map(Datum::text),
            1 => "[-0-9\"\\\\#:{}()\\[\\],= \n\t]{0,5}".prop_map(Datum::text),
        ]
        .boxed(),
    }
}

#[derive(Clone, Debug)]
pub(crate) struct RawTxn {
    session: prop::sample::Index,
    ops: Vec<(u8, prop::sample::Index, prop::sample::Index, Vec<prop::sample::Index>)>,
    outcome: prop::sample::Index,
    begin: Option<i64>,
    length: Option<u16>,
}

fn txn() -> impl Strategy<Value = RawTxn> {
    let index = any::<prop::sample::Index>;
    let op = (0..2u8, index(), index(), vec(index(), 0..4));
    let begin = proptest::option::of(-1000..1000i64);
    (index(), vec(op, 0..6), index(), begin, any::<Option<u16>>())
        .prop_map(|(session, ops, outcome, begin, length)| RawTxn { session, ops, outcome, begin, length })
}

/// Histories that the format can express, and that read back the same.
pub(crate) fn histories(domain: Domain) -> impl Strategy<Value = History> {
    let pools = (vec(names(domain.keys), 1..5), vec(names(domain.values), 1..6), vec("(?s).{0,5}", 1..5));
    (pools, vec(txn(), 0..12))
        .prop_map(move |((keys, values, sessions), txns)| build(&domain, &keys, &values, &sessions, &txns))
}

fn build(domain: &Domain, keys: &[Datum], values: &[Datum], sessions: &[String], txns: &[RawTxn]) -> History {
    let mut builder = HistoryBuilder::new();
    set_initials(domain, keys, values, &mut builder);
    let mut planned: Vec<Vec<(RawTxn, Outcome)>> = vec![Vec::new(); sessions.len()];
    for txn in txns {
        let outcome = *txn.outcome.get(domain.outcomes);
        planned[txn.session.index(sessions.len())].push((txn.clone(), outcome));
    }
    if domain.needs_ops {
        for session in &mut planned {
            session.retain(|it| !it.0.ops.is_empty());
        }
    }
    let drops_empty_sessions = domain.needs_ops || is_elle(domain);
    if drops_empty_sessions {
        planned.retain(|it| !it.is_empty());
    }
    for session in &mut planned {
        fit_outcomes(domain, session);
    }
    let ids: Vec<SessionId> =
        (0..planned.len()).map(|nth| builder.session(&(domain.sessions)(nth, &sessions[nth]))).collect();
    for (nth, session) in planned.iter().enumerate() {
        for (place, (txn, outcome)) in session.iter().enumerate() {
            builder.begin(ids[nth], Place::default());
            add_ops(domain, keys, values, txn, *outcome, &(nth, place, &planned), &mut builder);
            add_times(domain, txn, *outcome, &mut builder);
            builder.end(*outcome);
        }
    }
    builder.finish().unwrap()
}

fn is_elle(domain: &Domain) -> bool {
    matches!(domain.format, Format::Elle | Format::ElleJson)
}

fn set_initials(domain: &Domain, keys: &[Datum], values: &[Datum], builder: &mut HistoryBuilder) {
    let default = match domain.initial {
        Initial::Null => Datum::Null,
        Initial::Zero => Datum::Int(0),
        Initial::Init => Datum::text("init"),
        Initial::Any => values[0].clone(),
    };
    let default = builder.value(default);
    builder.default_initial(default);
    if domain.initial == Initial::Any {
        for (nth, key) in keys.iter().enumerate().filter(|(nth, key)| nth % 2 == 1 && !is_list(key)) {
            let value = builder.value(values[nth % values.len()].clone());
            let key = builder.key(key.clone());
            // Keys may repeat; only the first value counts then.
            if keys.iter().position(|it| *it == keys[nth]) == Some(nth) {
                builder.initial(key, value, Place::default());
            }
        }
    }
}

/// Whether a key is a list must depend on its name only.
fn is_list(key: &Datum) -> bool {
    key.to_string().len().is_multiple_of(2)
}

fn fit_outcomes(domain: &Domain, session: &mut [(RawTxn, Outcome)]) {
    let n = session.len();
    for idx in 0..n {
        let is_bad = match domain.format {
            Format::Plume => idx > 0 && session[idx].1 == Outcome::Aborted && session[idx - 1].1 == Outcome::Aborted,
            Format::Elle | Format::ElleJson => session[idx].1 == Outcome::Indeterminate && idx + 1 < n,
            _ => false,
        };
        if is_bad {
            session[idx].1 = Outcome::Committed;
        }
    }
}

type Position<'p> = (usize, usize, &'p Vec<Vec<(RawTxn, Outcome)>>);

fn add_ops(
    domain: &Domain,
    keys: &[Datum],
    values: &[Datum],
    txn: &RawTxn,
    outcome: Outcome,
    at: &Position<'_>,
    builder: &mut HistoryBuilder,
) {
    for (kind, key, value, list) in &txn.ops {
        let key = key.get(keys);
        let is_list = domain.has_lists && is_list(key);
        let id = builder.key(key.clone());
        if *kind == 0 && is_elle(domain) && outcome != Outcome::Committed {
            continue;
        }
        match (kind, is_list) {
            (0, true) => {
                let elements: Vec<_> = list.iter().map(|it| builder.value(it.get(values).clone())).collect();
                builder.read_list(id, elements);
            }
            (0, false) => {
                let datum = read_value(domain, keys, key, values, *value, at);
                let datum = builder.value(datum);
                builder.read(id, datum);
            }
            (_, true) => {
                let datum = builder.value(value.get(values).clone());
                builder.append(id, datum);
            }
            (_, false) => write(domain, id, value.get(values), at, builder),
        }
    }
}

fn write(domain: &Domain, key: KeyId, value: &Datum, at: &Position<'_>, builder: &mut HistoryBuilder) {
    let datum = match domain.values {
        Names::Writers => Datum::text(format!("s{}.{}", at.0 + 1, at.1 + 1)),
        _ => value.clone(),
    };
    let datum = builder.value(datum);
    builder.write(key, datum);
}

/// Where versions are named by their writers, a read sees one of them or the initial one.
fn read_value(
    domain: &Domain,
    keys: &[Datum],
    key: &Datum,
    values: &[Datum],
    pick: prop::sample::Index,
    at: &Position<'_>,
) -> Datum {
    if domain.format == Format::Cobra && pick.index(3) == 0 {
        return Datum::Null;
    }
    if domain.values != Names::Writers {
        return pick.get(values).clone();
    }
    let mut versions = vec![Datum::text("init")];
    for (session, txns) in at.2.iter().enumerate() {
        for (nth, (txn, _)) in txns.iter().enumerate() {
            if txn.ops.iter().any(|it| it.0 == 1 && it.1.get(keys) == key) {
                versions.push(Datum::text(format!("s{}.{}", session + 1, nth + 1)));
            }
        }
    }
    pick.get(&versions).clone()
}

fn add_times(domain: &Domain, txn: &RawTxn, outcome: Outcome, builder: &mut HistoryBuilder) {
    if domain.times == Times::Never {
        return;
    }
    let end = txn.length.map(|it| txn.begin.unwrap_or(0) + i64::from(it));
    let end = end.filter(|_| !(is_elle(domain) && outcome == Outcome::Indeterminate));
    builder.times(txn.begin, end);
}

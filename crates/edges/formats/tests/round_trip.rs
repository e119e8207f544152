//! What is written reads back the same, in every format, for every history that it can express.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and may say why it was skipped"
)]

mod common;

use common::sql::sql_histories;
use common::{domain, histories};
use iso_formats::{
    Format, ReadOptions, WriteError, read_from, read_path, with_updates_apart, without_times, write, write_path,
};
use iso_history::{Defect, History, Name, Op, Severity};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn text(text: &str) -> History {
    let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
    read_from("test", text.as_bytes(), &options).unwrap().into_history().unwrap()
}

fn bytes(history: &History, format: Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(history, format, &mut bytes).unwrap();
    bytes
}

fn has_errors(defects: &[Defect]) -> bool {
    defects.iter().any(|it| it.severity == Severity::Error)
}

fn reads_back(history: &History, format: Format) -> Result<(), TestCaseError> {
    let written = bytes(history, format);
    let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
    let shown = String::from_utf8_lossy(&written).into_owned();
    if written.is_empty() {
        prop_assert_eq!(history.n_txns(), 1);
        return Ok(());
    }
    let reading = read_from("test", written.as_slice(), &options).unwrap();
    prop_assert!(!has_errors(&reading.defects), "{:?}\n{}", reading.defects, shown);
    let again = reading.history.unwrap();
    prop_assert!(again == *history, "{}\n{:?}\n{:?}", shown, history, again);
    Ok(())
}

macro_rules! round_trips {
    ($($name:ident: $format:ident),* $(,)?) => {
        proptest! {
            #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
            $(
                #[test]
                fn $name(history in histories(domain(Format::$format))) {
                    reads_back(&history, Format::$format)?;
                }
            )*

            #[test]
            fn cobra_reads_back(history in histories(domain(Format::Cobra))) {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("logs");
                write_path(&history, Format::Cobra, &path).unwrap();
                if history.n_sessions() > 0 {
                    let again = read_path(&path, &ReadOptions::default()).unwrap().into_history().unwrap();
                    prop_assert_eq!(&again, &history);
                }
            }
        }
    };
}

round_trips! {
    text_reads_back: Text,
    jsonl_reads_back: Jsonl,
    dbcop_reads_back: Dbcop,
    dbcop_json_reads_back: DbcopJson,
    plume_reads_back: Plume,
    elle_reads_back: Elle,
    elle_json_reads_back: ElleJson,
    isopredict_reads_back: IsoPredict,
    parquet_reads_back: Parquet,
}

/// Which versions are said to match, by name, as far as they were there at some time. Only scans ask for it.
fn said(history: &History) -> BTreeSet<(String, String, String)> {
    let initials = history.keys().map(|it| (it, history.initial_value(it)));
    let written = history.txns().flat_map(|it| history.ops(it)).filter_map(|it| match history.op(it) {
        Op::Write { key, value } => Some((key, value)),
        _ => None,
    });
    let versions: Vec<_> = initials.chain(written).filter(|it| history.value(it.1) != Name::Null).collect();
    let said = history.said_to_match().filter(|it| versions.contains(&(it.1, it.2)));
    said.map(|it| (it.0.to_owned(), history.key_name(it.1).to_string(), history.value(it.2).to_string())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn statements_and_scans_read_back(history in sql_histories()) {
        for format in [Format::Text, Format::Jsonl, Format::Parquet] {
            reads_back(&history, format)?;
            let written = bytes(&history, format);
            if history.has_scans() {
                let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
                let again = read_from("test", written.as_slice(), &options).unwrap().history.unwrap();
                prop_assert_eq!(said(&again), said(&history), "{}", String::from_utf8_lossy(&written));
            }
        }
        prop_assert!(without_times(&history) == history);
    }
}

#[test]
fn text_is_written_as_people_write_it() {
    let example = "init x=0 y=0\ns1: { r(x,0) r(y,0) w(x,1) } { r(z,[1,2]) append(z,3) } abort @[10,25]\ns2: { r(y,-) } unknown @[10,]\n";
    assert_eq!(String::from_utf8(bytes(&text(example), Format::Text)).unwrap(), example);
}

#[test]
fn jsonl_is_written_as_documented() {
    let history = text("init x=0\n0: { r(x,0) w(x,1) } @[1,2]\n");
    let expected = "{\"isoscope\":1,\"initial\":0}\n{\"s\":0,\"ops\":[[\"r\",\"x\",0],[\"w\",\"x\",1]],\"status\":\"commit\",\"begin\":1,\"end\":2}\n";
    assert_eq!(String::from_utf8(bytes(&history, Format::Jsonl)).unwrap(), expected);
}

#[test]
fn compressed_files_are_written_by_name_and_read_by_content() {
    let history = text("init x=0\ns1: { r(x,0) w(x,1) }\n");
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst"] {
        let path = folder.path().join(name);
        write_path(&history, Format::Jsonl, &path).unwrap();
        let renamed = folder.path().join("renamed");
        std::fs::rename(&path, &renamed).unwrap();
        let reading = read_path(&renamed, &ReadOptions::default()).unwrap();
        assert_eq!(reading.history.unwrap(), history, "{name}");
    }
}

#[test]
fn cobra_logs_that_name_writers_read_back() {
    let history = text("T1: { w(7,w1/t5/v9) } { r(7,w1/t5/v9) w(8,w2/t6/v9) }\nT2: { r(8,w2/t6/v9) r(7,-) } unknown\n");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("logs");
    write_path(&history, Format::Cobra, &path).unwrap();
    let again = read_path(&path, &ReadOptions::default()).unwrap().into_history().unwrap();
    assert_eq!(again, history);
    assert!(write_path(&history, Format::Cobra, &path).is_err(), "logs must not be mixed");
}

#[test]
fn writers_refuse_what_they_cannot_say() {
    let cases = [
        (Format::Dbcop, "init *=0\ns1: { append(1,2) }\n"),
        (Format::Dbcop, "init *=0\ns1: { w(x,2) }\n"),
        (Format::Dbcop, "init *=0\ns1: { w(1,2) } unknown\n"),
        (Format::Dbcop, "init *=0\ns1: { w(1,2) } @[1,2]\n"),
        (Format::Dbcop, "s1: { w(1,2) }\n"),
        (Format::DbcopJson, "init *=0\ns1: { w(1,2) }\n"),
        (Format::Plume, "init *=0\ns1: { w(1,2) } unknown\n"),
        (Format::Plume, "init *=0\ns1: { w(1,\"a b\") }\n"),
        (Format::Plume, "init *=0\ns1: { w(1,2) } abort { w(1,3) } abort\n"),
        (Format::Elle, "init *=0\ns1: { w(1,2) }\n"),
        (Format::ElleJson, "s1: { w(1,2) } unknown { w(1,3) }\n"),
        (Format::Elle, "s1: { r(1,2) } unknown\n"),
        (Format::IsoPredict, "s1: { w(1,2) } { w(1,2) }\n"),
        (Format::IsoPredict, "s1: { r(1,2) }\n"),
        (Format::IsoPredict, "s1: { w(1,2) w(1,3) }\ns2: { r(1,2) }\n"),
        (Format::IsoPredict, "s1: { w(1,2) w(1,3) r(1,2) }\n"),
        (Format::IsoPredict, "s1: { w(1,2) } abort\n"),
        (Format::Cobra, "s1: { w(1,2) }\n"),
        (Format::Elle, "s1: { u(1,-,2) }\n"),
        (Format::ElleJson, "s1: { [ r(1,-) r(2,-) ] }\n"),
        (Format::Dbcop, "init *=0\ns1: { r(1,0) for update }\n"),
        (Format::DbcopJson, "s1: { u(1,-,2) }\n"),
        (Format::Plume, "init *=0\ns1: { [ w(1,2) w(2,2) ] }\n"),
        (Format::IsoPredict, "s1: { w(1,2) scan(t, all, {}) }\n"),
        (Format::Elle, "s1: { scan(t, all, {}) }\n"),
        (Format::Elle, "init t/1=-\ns1: { omit(t/1, all) }\n"),
        (Format::Elle, "s1: { w(1,{a: 1}) }\n"),
        (Format::Plume, "init *=0\ns1: { w(1,{}) }\n"),
    ];
    for (format, history) in cases {
        let error = write(&text(history), format, &mut Vec::new()).unwrap_err();
        assert!(matches!(error, WriteError::Inexpressible { .. }), "{format}: {history}");
        println!("{error}");
    }
}

#[test]
fn other_formats_say_what_they_cannot_hold() {
    let cases = [
        ("s1: { u(x,-,2) }\n", "elle cannot express updates, such as that of x by s1.1"),
        ("s1: { } { scan(t, all, {}) }\n", "elle cannot express scans, such as that of t by s1.2"),
        ("s1: { [ w(x,1) w(y,1) ] }\n", "elle cannot express statements of several operations, such as one of s1.1"),
        ("s1: { r(x,-) for update }\n", "elle cannot express reads that lock or scan, such as that of x by s1.1"),
        ("s1: { w(x,{a: 1}) }\n", "elle cannot express records, such as {a: 1}"),
    ];
    for (history, message) in cases {
        let error = write(&text(history), Format::Elle, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn updates_can_be_taken_apart() {
    let apart = with_updates_apart(&text("init x=1\ns1: { u(x,1,2) r(y,-) } @[1,2]\n")).unwrap();
    assert_eq!(apart, text("init x=1\ns1: { r(x,1) w(x,2) r(y,-) } @[1,2]\n"));
    for other in ["s1: { r(x,-) }\n", "s1: { u(x,-,2) [ r(x,2) r(y,-) ] }\n", "s1: { u(x,-,2) scan(t, all, {}) }\n"] {
        assert!(with_updates_apart(&text(other)).is_none(), "{other}");
    }
}

#[test]
fn statements_are_written_as_people_write_them() {
    let example = "init accounts/1=5 matches \"p\" and \"q\" accounts/2={balance: 7, owner: ann} x=0\n\
                   s1: { scan(accounts, balance < 10 and not owner = bob, {accounts/1=5, accounts/2={balance: 7, owner: ann}}) }\n\
                   s1: { u(x,0,1) matches \"p\" [ r(x,1) r(y,-) ] for update r(x,1) for update [ u(x,1,2) w(y,1) ] }\n\
                   s2: { omit(accounts/1, \"p\") scan(accounts, all, {accounts/1=5, ..}) [ r(x,1) for update r(y,1) ] }\n";
    assert_eq!(String::from_utf8(bytes(&text(example), Format::Text)).unwrap(), example);
    let spelled =
        "init a/1=1\ns1: { scan( a , key in 1 .. 3 , { a/1 = 1 } ) del(a/1) [ ] scan(a,(all),{a/1=1}) for update }\n";
    let plain = "init a/1=1\ns1: { scan(a, key in 1..3, {a/1=1}) w(a/1,-) scan(a, all, {a/1=1}) for update }\n";
    assert_eq!(String::from_utf8(bytes(&text(spelled), Format::Text)).unwrap(), plain);
}

#[test]
fn jsonl_of_statements_is_written_as_documented() {
    let history = text(
        "init a/1=5 matches \"p\"\n1: { scan(a, x < 9, {a/1=5}) u(a/1,5,{x: 1}) matches \"q\" [ r(b,-) r(c,-) ] for update omit(a/2, all) scan(a, all, {a/1=5, ..}) }\n",
    );
    let expected = r#"{"isoscope":1,"initial":null,"init":[["a/1",5,"matches",["p"]]]}
{"s":1,"ops":[["scan","a","x < 9",[["a/1",5]]],["u","a/1",5,{"x":1},"matches",["q"]],["stmt",[["r","b",null],["r","c",null]],"for update"],["omit","a/2","all"],["scan","a","all",[["a/1",5]],"part"]],"status":"commit"}
"#;
    assert_eq!(String::from_utf8(bytes(&history, Format::Jsonl)).unwrap(), expected);
}

#[test]
fn recognition_finds_what_was_written() {
    for format in Format::ALL.into_iter().filter(|it| *it != Format::Cobra) {
        let history = match format {
            Format::Dbcop | Format::Plume => text("init 1=0\ns1: { r(1,0) w(1,2) }\n"),
            _ => text("s1: { r(1,-) w(1,2) }\n"),
        };
        let reading = read_from("test", bytes(&history, format).as_slice(), &ReadOptions::default()).unwrap();
        assert_eq!(reading.format, format);
    }
}

#[test]
fn times_can_be_left_out() {
    let timed = text("init x=1 y=2\ns2: { r(x,1) append(z,3) } abort @[1,2]\ns1: { r(z,[3]) w(y,-) } @[3,]\n");
    let expected = text("init x=1 y=2\ns2: { r(x,1) append(z,3) } abort\ns1: { r(z,[3]) w(y,-) }\n");
    assert_eq!(without_times(&timed), expected);
}

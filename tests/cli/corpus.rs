//! The histories of the corpus in every format that can express them.

use crate::tool::Folder;
use iso_formats::{Format, ReadOptions, read_path, without_times, write_path};
use iso_history::{Datum, History, HistoryBuilder, KeyId, Op, Place, ValueId};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// At least so many histories of the corpus fit into a format, so that the test cannot become empty.
fn at_least(format: Format) -> usize {
    match format {
        Format::Text | Format::Jsonl => 95,
        Format::IsoPredict | Format::Cobra => 40,
        _ => 60,
    }
}

#[test]
fn every_format_gives_the_corpus_the_same_verdicts() {
    let folder = Folder::new();
    // Most formats have no statements.
    let has_plain_ops = |it: &History| !it.has_statements();
    let histories: Vec<History> = corpus().iter().filter_map(|it| history(it)).filter(has_plain_ops).collect();
    assert!(histories.len() > 90, "{}", histories.len());
    for format in Format::ALL {
        let mut names: Vec<String> = Vec::new();
        for (idx, history) in histories.iter().enumerate() {
            let name = format!("{format}-{idx}");
            let is_written = [Datum::Int(0), Datum::Null].into_iter().any(|initial| {
                let plain = renamed(history, &initial);
                [without_times(&plain), plain].iter().any(|it| {
                    write_path(it, format, &folder.path(&name)).is_ok()
                        && write_path(it, Format::Jsonl, &folder.path(&format!("{name}.jsonl"))).is_ok()
                })
            });
            if is_written && history.n_txns() > 1 {
                names.push(name);
            }
        }
        assert!(names.len() >= at_least(format), "{format}: {}", names.len());
        let originals: Vec<String> = names.iter().map(|it| format!("{it}.jsonl")).collect();
        let verdicts = |files: &[String]| {
            let files = files.iter().map(String::as_str);
            let said = folder.run(&["check", "--json"].into_iter().chain(files).collect::<Vec<_>>()).ends(1);
            said.json().iter().map(|it| it["levels"].as_array().unwrap().iter().map(verdict).collect()).collect()
        };
        let expected: Vec<Vec<String>> = verdicts(&originals);
        let found: Vec<Vec<String>> = verdicts(&names);
        for ((name, expected), found) in names.iter().zip(&expected).zip(&found) {
            assert_eq!(
                expected,
                found,
                "{name}:\n{}",
                fs::read_to_string(folder.path(&format!("{name}.jsonl"))).unwrap()
            );
        }
    }
}

fn verdict(level: &Value) -> String {
    format!("{} {} {}", level["level"], level["verdict"], level["anomalies"])
}

fn corpus() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let folders = fs::read_dir(root).unwrap().map(|it| it.unwrap().path()).filter(|it| it.is_dir());
    let files = folders.flat_map(|it| fs::read_dir(it).unwrap().map(|it| it.unwrap().path()));
    let mut files: Vec<PathBuf> = files.filter(|it| it.extension().is_some_and(|it| it == "history")).collect();
    files.sort();
    files
}

fn history(path: &Path) -> Option<History> {
    read_path(path, &ReadOptions::default()).unwrap().history
}

/// The same history with numbers for keys and values, and the same initial value for all keys: some formats know
/// nothing else.
fn renamed(history: &History, initial: &Datum) -> History {
    let mut builder = HistoryBuilder::new();
    let default = builder.value(initial.clone());
    builder.default_initial(default);
    for session in history.sessions() {
        builder.session(&session.index().to_string());
    }
    let mut values: BTreeMap<(KeyId, ValueId), ValueId> = BTreeMap::new();
    for txn in history.txns() {
        let Some(session) = history.session_of(txn) else { continue };
        builder.begin(session, Place::default());
        builder.times(history.begin(txn), history.end(txn));
        for op in history.ops(txn) {
            let op = history.op(op);
            let key = builder.key(Datum::Int(i64::from(op.key().raw())));
            let mut value = |value: ValueId| {
                if !history.is_list(op.key()) && value == history.initial_value(op.key()) {
                    return default;
                }
                let number = i64::try_from(values.len()).unwrap() + 1;
                *values.entry((op.key(), value)).or_insert_with(|| builder.value(Datum::Int(number)))
            };
            match op {
                Op::Read { value: seen, .. } => {
                    let seen = value(seen);
                    builder.read(key, seen);
                }
                Op::Write { value: written, .. } => {
                    let written = value(written);
                    builder.write(key, written);
                }
                Op::Append { value: added, .. } => {
                    let added = value(added);
                    builder.append(key, added);
                }
                Op::ReadList { values: seen, .. } => {
                    let seen: Vec<ValueId> = seen.iter().map(|it| value(*it)).collect();
                    builder.read_list(key, seen);
                }
                Op::Omit { .. } => unreachable!("formats that know numbers only know no scans"),
            }
        }
        builder.end(history.outcome(txn));
    }
    builder.finish().unwrap()
}

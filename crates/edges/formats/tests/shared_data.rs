//! Every recorded history of the shared data reads without an error.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and may say why it was skipped"
)]

use iso_formats::{Format, ReadOptions, Reading, read_path};
use iso_history::{Facts, History, Op, Outcome};
use std::path::{Path, PathBuf};

fn shared(folder: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data").join(folder);
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    entries.sort();
    if entries.iter().any(|it| it.extension().is_some_and(|it| it == "log")) {
        found.push(folder.to_owned());
        return;
    }
    for entry in entries {
        if entry.is_dir() {
            files(&entry, found);
        } else if entry.file_name().is_some_and(|it| it != "labels.csv") {
            found.push(entry);
        }
    }
}

fn read(path: &Path) -> Reading {
    let reading = read_path(path, &ReadOptions::default()).unwrap();
    assert!(reading.defects.is_empty(), "{}: {:?}", path.display(), reading.defects);
    reading
}

fn n_committed(history: &History) -> usize {
    history.txns().filter(|it| history.outcome(*it) == Outcome::Committed).count()
}

#[test]
fn every_file_reads_without_a_defect() {
    for folder in ["realdb", "veristrong", "traces"] {
        let Some(folder) = shared(folder) else { continue };
        let mut found = Vec::new();
        files(&folder, &mut found);
        assert!(!found.is_empty());
        for path in found {
            let expected = match path.extension().and_then(|it| it.to_str()) {
                Some("bincode") => Some(Format::Dbcop),
                Some("txt") => Some(Format::IsoPredict),
                None => Some(Format::Cobra),
                _ => None,
            };
            let reading = read(&path);
            assert!(reading.history.is_some());
            assert!(expected.is_none_or(|it| it == reading.format), "{} as {}", path.display(), reading.format);
        }
    }
}

#[test]
fn counts_agree_with_the_labels_of_real_databases() {
    let Some(folder) = shared("realdb") else { return };
    let labels = std::fs::read_to_string(folder.join("labels.csv")).unwrap();
    for line in labels.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        // Counted from the end, because a quoted field before may hold commas.
        let (kind, committed) = (fields[fields.len() - 11], fields[fields.len() - 9]);
        let reading = read(&folder.join(fields[0]));
        let expected = if kind == "la" { Format::ElleJson } else { Format::Jsonl };
        assert_eq!(reading.format, expected, "{line}");
        let history = reading.history.unwrap();
        // Scripted histories have no count in their label.
        if let Ok(n) = committed.parse::<usize>() {
            assert_eq!(n_committed(&history), n, "{line}");
        }
    }
}

#[test]
fn dbcop_counts_are_those_of_the_file() {
    let Some(folder) = shared("veristrong") else { return };
    let history = read(&folder.join("fig5/BL-1k/hist-00000/history.bincode")).history.unwrap();
    assert_eq!((history.n_sessions(), history.n_txns() - 1, history.n_ops()), (20, 1000, 8000));
}

#[test]
fn cobra_reads_have_writers() {
    let Some(folder) = shared("veristrong") else { return };
    for name in ["fig5/tpcc-1k", "fig5/rubis-1k", "fig5/twitter-1k"] {
        let history = read(&folder.join(name)).history.unwrap();
        let facts = Facts::new(&history);
        let n_reads = facts.reads().len();
        let count = |n: std::ops::RangeInclusive<usize>| {
            (0..n_reads).filter(|it| n.contains(&facts.candidates(*it).len())).count()
        };
        println!(
            "{name}: {n_reads} external reads, {} with one writer, {} with several",
            count(1..=1),
            count(2..=usize::MAX)
        );
        assert_eq!(count(0..=0), 0, "{name}");
        assert!(facts.local().is_empty(), "{name}: {:?}", facts.local());
        assert!(count(1..=1) * 10 > n_reads * 9, "{name}");
    }
}

#[test]
fn isopredict_reads_have_one_writer() {
    let Some(folder) = shared("traces") else { return };
    let mut found = Vec::new();
    files(&folder, &mut found);
    for path in found {
        let history = read(&path).history.unwrap();
        let facts = Facts::new(&history);
        assert!((0..facts.reads().len()).all(|it| facts.candidates(it).len() == 1), "{}", path.display());
        assert!(history.txns().all(|it| history.ops(it).any(|it| !matches!(history.op(it), Op::Append { .. }))));
    }
}

//! Every recorded history reads without an error: the samples of the corpus, and the large ones beside the project.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and may say what it has counted"
)]

use iso_formats::{Format, ReadOptions, Reading, read_path};
use iso_history::{Facts, History, Op, Outcome};
use std::path::{Path, PathBuf};

/// The folders of a kind of recorded histories: the samples, and the large ones where they are at hand.
fn folders(kind: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let large = root.join("../shared/data").join(kind);
    let samples = root.join("corpus/recorded").join(kind);
    [Some(samples), large.exists().then_some(large)].into_iter().flatten().collect()
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
    for folder in ["realdb", "veristrong", "traces"].into_iter().flat_map(folders) {
        let mut found = Vec::new();
        files(&folder, &mut found);
        assert!(!found.is_empty());
        for path in found {
            let name = path.file_name().unwrap().to_str().unwrap();
            let expected = match name.trim_end_matches(".gz").split_once('.').map(|it| it.1) {
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
    for folder in folders("realdb") {
        let labels = std::fs::read_to_string(folder.join("labels.csv")).unwrap();
        for line in labels.lines().skip(1) {
            count_agrees(&folder, line);
        }
    }
}

fn count_agrees(folder: &Path, line: &str) {
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

#[test]
fn dbcop_counts_are_those_of_the_file() {
    let folder = &folders("veristrong")[0];
    let history = read(&folder.join("fig5/BL-1k/hist-00000/history.bincode.gz")).history.unwrap();
    assert_eq!((history.n_sessions(), history.n_txns() - 1, history.n_ops()), (20, 1000, 8000));
}

#[test]
fn cobra_reads_have_writers() {
    for name in ["fig5/rubis-1k", "fig5/twitter-1k"] {
        let history = read(&folders("veristrong")[0].join(name)).history.unwrap();
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
    let mut found = Vec::new();
    files(&folders("traces")[0], &mut found);
    assert!(!found.is_empty());
    for path in found {
        let history = read(&path).history.unwrap();
        let facts = Facts::new(&history);
        assert!((0..facts.reads().len()).all(|it| facts.candidates(it).len() == 1), "{}", path.display());
        assert!(history.txns().all(|it| history.ops(it).any(|it| !matches!(history.op(it), Op::Append { .. }))));
    }
}

//! Histories of the paper on `VeriStrong` are what the paper says about them.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::print_stdout, reason = "a test may say how much it has tested")]

mod recorded;

use isoscope::history::Facts;
use isoscope::spec::Level;
use recorded::{disagreement, holds, labels, read};

/// Histories of ten thousand transactions and more belong to the benchmarks.
const LARGE: &[&str] = &["10k", "chengRW-10000", "chengRW-16000"];

#[test]
fn histories_of_the_paper_are_what_their_labels_say() {
    let mut found = Vec::new();
    let (mut n_answers, mut n_large) = (0, 0);
    for (folder, row) in labels("veristrong") {
        let (path, level, label) = (&row[0], &row[2], &row[3]);
        if LARGE.iter().any(|it| path.contains(it)) {
            n_large += 1;
            continue;
        }
        let Some(expected) = holds(label) else { continue };
        let level = Level::from_name(level).unwrap();
        let history = read(&folder.join(path));
        n_answers += 1;
        found.extend(disagreement(&Facts::new(&history), level, expected).map(|it| format!("{path}: {it}")));
    }
    assert!(n_answers >= 20, "the labels say only {n_answers} things");
    assert!(found.is_empty(), "{} of {n_answers} answers are wrong:\n{}", found.len(), found.join("\n"));
    println!("{n_answers} answers agree with the labels; {n_large} large histories are left to the benchmarks");
}

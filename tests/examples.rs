//! The example programs run and say what they promise.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::process::Command;

/// What an example prints.
fn said(example: &str, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--package", "isoscope", "--example", example, "--"])
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_check_example_prints_the_verdict_and_the_reason() {
    let out = said("check", &["corpus/anomalies/write-skew.history"]);
    assert!(out.contains("write-skew"), "{out}");
    assert!(out.contains("snapshot-isolation"), "{out}");
}

#[test]
fn the_separate_example_prints_the_history_and_why_it_is_forbidden() {
    let out = said("separate", &["cc", "pc"]);
    assert!(out.contains("biswas.cc allows and biswas.pc forbids"), "{out}");
    assert!(out.contains("s1: {") && out.contains("Certified"), "{out}");
    assert!(said("separate", &["ser", "si"]).contains("No history"));
}

#[test]
fn the_generate_example_finds_what_it_has_injected() {
    let out = said("generate", &[]);
    assert!(out.contains("2000 transactions committed") && out.contains("violated: long-fork"), "{out}");
}

#[test]
fn the_record_example_says_what_it_needs() {
    assert!(said("record", &[]).contains("Give the address of a database"));
    // Where one is given, somebody must be there.
    let output = Command::new(env!("CARGO"))
        .args([
            "run",
            "--quiet",
            "--package",
            "isoscope",
            "--example",
            "record",
            "--",
            "postgres://me@127.0.0.1:1/test",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("Unreachable"));
}

#[test]
fn the_serve_example_says_what_it_needs() {
    assert!(said("serve", &[]).contains("Give a file with the SQL"));
}

#[test]
fn the_replay_example_shows_a_lost_update_on_a_weak_store_only() {
    assert!(said("replay", &[]).contains("not serializable in 3 of 3 tries"));
    let out = said("replay", &["sqlite:"]);
    assert!(out.contains("! s2 put kv x 2: the database aborted") && out.contains("in 0 of 3 tries"), "{out}");
}

#[test]
fn the_store_example_prints_the_transactions_and_what_broke() {
    let out = said("store", &["courseware", "ser"]);
    assert!(out.contains("Enrol(") && out.contains("Everything holds"), "{out}");
    assert!(said("store", &["smallbank", "rc"]).contains("broken: money is conserved"));
}

#[test]
fn the_verify_example_prints_an_execution_that_the_interpreter_confirms() {
    let out = said("verify", &["corpus/programs/doctors-on-call.txn", "si"]);
    assert!(out.contains("violated under si") && out.contains("Certified."), "{out}");
    assert!(said("verify", &["corpus/programs/doctors-on-call.txn", "ser"]).contains("holds under ser"));
}

#[test]
fn the_predict_example_prints_what_would_be_read_instead() {
    let out = said("predict", &["corpus/papers/isopredict-figure-9.history", "cc"]);
    assert!(out.contains("s2.1 reads from init instead of s1.1") && out.contains("Certified."), "{out}");
    assert!(said("predict", &["corpus/papers/isopredict-figure-9.history", "si"]).contains("None."));
}

#[test]
fn the_certify_example_replays_proofs_and_refuses_a_changed_one() {
    let out = said("certify", &["biswas.si", "cerone.si"]);
    assert!(out.contains("cerone.si implies biswas.si, for every size. Certified."), "{out}");
    assert!(out.contains("Without its last part it is refused"), "{out}");
}

#[test]
fn the_allocate_example_prints_a_level_for_each_transaction() {
    let out = said("allocate", &["corpus/templates/smallbank.txn"]);
    assert!(out.contains("write_check: ser") && out.contains("amalgamate: postgres.rc"), "{out}");
}

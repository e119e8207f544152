//! The example programs run and say what they promise.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::process::Command;

#[test]
fn the_check_example_prints_the_verdict_and_the_reason() {
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--package", "isoscope", "--example", "check", "--"])
        .arg("corpus/anomalies/write-skew.history")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{errors}");
    assert!(out.contains("write-skew"), "{out}");
    assert!(out.contains("snapshot-isolation"), "{out}");
}

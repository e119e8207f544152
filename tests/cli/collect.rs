//! `isoscope collect`.

use crate::tool::{Folder, tool};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn a_run_says_what_ran_and_what_comes_next() {
    let folder = Folder::new();
    folder
        .run(&["collect", "store:si", "-w", "rmw", "--sessions", "4", "--txns", "25", "-o", "h.jsonl"])
        .ends(0)
        .tells("rmw on the weak store at level si, policy random, seed 1 under si: 4 sessions, seed 1.")
        .tells("101 transactions in ")
        .tells("0 unknown.")
        .says("The history is in h.jsonl. Next:\n  isoscope check h.jsonl\n");
    folder.run(&["check", "h.jsonl", "--level", "si"]).ends(0);
}

#[test]
fn sqlite_is_strictly_serializable() {
    let folder = Folder::new();
    let run = [
        "collect",
        "sqlite:test.db",
        "--sessions",
        "3",
        "--txns",
        "20",
        "--keys",
        "10",
        "--retry",
        "--force",
        "-o",
        "h.jsonl",
    ];
    for workload in ["rw", "append", "bank"] {
        folder.run(&[&run[..], &["-w", workload]].concat()).ends(0);
        folder.run(&["check", "h.jsonl", "--level", "sser"]).ends(0);
    }
}

#[test]
fn the_header_says_how_it_was_recorded() {
    let folder = Folder::new();
    let run =
        ["collect", "store:ser", "-w", "duplicates", "--seed", "7", "--ops", "2..3", "--txns", "5", "-o", "h.jsonl"];
    let document = folder.run(&[&run[..], &["--json"]].concat()).ends(0).json().remove(0);
    assert_eq!(document["verb"], "collect");
    assert_eq!(document["isolation"], "ser");
    assert_eq!(document["history"]["sessions"], 11);
    assert_eq!(document["history"]["transactions"], 51);
    assert!(document["throughput"].as_f64().unwrap() > 1.0);
    assert_eq!(document["bytes"].as_u64().unwrap(), fs::metadata(folder.path("h.jsonl")).unwrap().len());
    let text = folder.read("h.jsonl");
    let header: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(header["initial"], 0);
    let origin = &header["origin"];
    assert_eq!(origin["database"], document["database"]);
    assert_eq!((origin["workload"].as_str(), origin["ops"].as_str()), (Some("duplicates"), Some("2..3")));
    assert_eq!((origin["seed"].as_u64(), origin["txns"].as_u64()), (Some(7), Some(5)));
    assert!(text.ends_with("{\"recording\":\"complete\"}\n"));
}

#[test]
fn a_report_has_a_chart_over_time() {
    let folder = Folder::new();
    let run = ["collect", "store:ser", "-w", "rmw", "--duration", "1200ms", "-o", "h.jsonl", "--json"];
    let reports = ["--report", "run.html", "--report", "run.svg", "--report", "run.txt", "--report", "run.json"];
    let document = folder.run(&[&run[..], &reports].concat()).ends(0).json().remove(0);
    let series = &document["series"];
    let sum = |name: &str| series[name].as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).sum::<u64>();
    assert_eq!(series["step"], 0.02);
    assert!((55..=70).contains(&series["committed"].as_array().unwrap().len()), "{series}");
    // The final read comes after it.
    assert_eq!(sum("committed") + 1, document["history"]["committed"].as_u64().unwrap());
    assert_eq!(sum("aborted") + sum("conflicts"), document["history"]["aborted"].as_u64().unwrap());
    assert_eq!(document["parameters"]["duration"], 1.2);
    assert!(folder.read("run.html").contains("class=\"chart desk\"") && folder.read("run.svg").contains("<desc>"));
    assert!(folder.read("run.html").contains("isoscope check h.jsonl"));
    assert!(folder.read("run.txt").contains(" a second\n"), "{}", folder.read("run.txt"));
    let saved: serde_json::Value = serde_json::from_str(&folder.read("run.json")).unwrap();
    assert_eq!(saved, document);
}

#[test]
fn the_history_can_go_to_standard_output() {
    let folder = Folder::new();
    folder.shell("isoscope collect store:ser --txns 20 -o - | isoscope check - --level ser").ends(0);
    folder.shell("isoscope collect store:ser --duration 60s -o - | head -3").ends(0);
    folder.run(&["collect", "store:ser", "-o", "-", "--json"]).ends(2).complains("both write to standard output");
}

#[test]
fn a_run_has_a_duration_and_shows_progress_if_asked() {
    let folder = Folder::new();
    let began = Instant::now();
    let said = folder.run(&["collect", "store:ser", "--duration", "1500ms", "--progress", "-o", "h.jsonl"]).ends(0);
    assert!((1500..10_000).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    said.complains(" a second, ");
}

#[test]
fn bad_questions_are_refused_with_what_there_is() {
    let folder = Folder::new();
    let bad = |options: &[&str], words: &str| {
        folder.run(&[&["collect"], options, &["-o", "h.jsonl"]].concat()).ends(2).complains(words);
        assert!(!folder.path("h.jsonl").exists(), "{options:?}");
    };
    bad(&["oracle:x"], "there is no driver for `oracle:`");
    bad(&["nowhere"], "begins with none of");
    bad(&["store:xyz"], "its level is one of rc");
    bad(&["postgres://me@127.0.0.1:1/test"], "cannot connect to");
    bad(&["store:ser", "-w", "petstore"], "there is no workload `petstore`; choose one of rw, rmw, updates, append");
    bad(&["store:ser", "-i", "chaos"], "has no isolation level `chaos`; choose one of ser");
    bad(&["store:ser", "--mix", "ser"], "write levels and their shares");
    bad(&["store:ser", "--mix", "ser:1,chaos:1"], "has no isolation level `chaos`");
    bad(&["store:ser", "--mix", "ser:1", "-i", "ser"], "cannot be used with");
    bad(&["store:ser", "--ops", "3..2"], "write a range such as 1..8");
    bad(&["store:ser", "--reads", "1.5"], "write a share from 0 to 1");
    bad(&["store:ser", "--sessions", "0"], "write a number from 1 to 10000");
    bad(&["store:ser", "--keys-like", "normal"], "choose one of uniform, zipf, hotset");
    bad(&["store:ser", "--report", "run.dot"], "run.dot: what collect did is no graph; its report is .html");
    bad(&["store:ser", "--report", "gone/run.html"], "there is no folder gone");
    for level in ["rc", "ra", "cc", "pc"] {
        bad(&[&format!("store:{level}"), "-w", "append"], "its levels that keep lists are psi, si, ser");
    }
    folder.run(&["collect", "store:ser", "-o", "h.history"]).ends(2).complains("ends in .jsonl");
    folder.run(&["collect", "store:ser", "-o", "gone/h.jsonl"]).ends(2).complains("there is no folder gone");
}

#[test]
fn a_full_disk_is_said_and_nothing_worse_happens() {
    let folder = Folder::new();
    folder.run(&["collect", "store:ser", "-o", "/dev/full"]).ends(2).complains("No space left on device");
    // A file that may not grow is as good as a disk that is full, and needs no disk. The store has no file of its own that
    // would hit the limit first.
    folder
        .shell("trap '' XFSZ; ulimit -f 200; isoscope collect store:ser -w rmw --duration 60s -o h.jsonl")
        .ends(2)
        .complains("cannot write h.jsonl; what is in it is valid up to its last line");
    let text = folder.read("h.jsonl");
    assert!(text.len() > 50_000 && text.ends_with("}\n"), "{} bytes", text.len());
    folder.run(&["check", "h.jsonl", "--level", "ser"]).ends(0).says("the recording was cut short");
}

/// A run that goes on until somebody ends it, and has written something.
fn endless(folder: &Folder, options: &[&str]) -> Child {
    let mut command = tool(&folder.path(""));
    let run = ["collect", "sqlite:test.db", "--duration", "10m", "--sessions", "4", "-o", "h.jsonl"];
    let child = command.args(run).args(options).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while fs::metadata(folder.path("h.jsonl")).map_or(0, |it| it.len()) < 50_000 {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing is written");
        thread::sleep(Duration::from_millis(20));
    }
    child
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn an_interrupt_leaves_a_complete_history() {
    for name in ["-INT", "-TERM"] {
        let folder = Folder::new();
        let child = endless(&folder, &["-w", "rmw"]);
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let words = String::from_utf8(output.stdout).unwrap();
        assert!(words.contains("It was stopped; what happened until then is recorded."), "{words}");
        assert!(folder.read("h.jsonl").ends_with("{\"recording\":\"complete\"}\n"));
        let said = folder.run(&["check", "h.jsonl", "--level", "ser"]).ends(0);
        assert_eq!(said.err, "", "a complete history has no defects");
    }
}

#[test]
fn a_recording_that_is_killed_can_be_checked_and_accuses_nobody() {
    for workload in ["rw", "rmw", "duplicates", "append"] {
        let folder = Folder::new();
        let mut child = endless(&folder, &["-w", workload]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!folder.read("h.jsonl").contains("complete"));
        folder.run(&["check", "h.jsonl", "--level", "ser"]).ends(0).says("the recording was cut short");
        // And once more in the middle of a line.
        let bytes = fs::read(folder.path("h.jsonl")).unwrap();
        folder.write("h.jsonl", &bytes[..bytes.len() - 10]);
        folder.run(&["check", "h.jsonl", "--level", "ser"]).ends(0).says("the recording was cut short");
    }
}

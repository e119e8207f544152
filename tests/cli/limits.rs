//! Time and memory limits end a run on time, with a complete answer.

use crate::tool::{Folder, tool};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A serializable history in which many writes are equal, so that nearly every read has many possible writers.
pub(crate) fn ambiguous(n_txns: usize) -> String {
    const N_KEYS: usize = 20;
    const N_SESSIONS: usize = 30;
    let mut seed = 7u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let mut state = [0; N_KEYS];
    let mut sessions = vec![String::new(); N_SESSIONS];
    for _ in 0..n_txns {
        let first = random(N_KEYS);
        let key = |nth: usize| (first + nth * 7) % N_KEYS;
        let mut ops = format!("r(k{},{}) r(k{},{})", key(0), state[key(0)], key(1), state[key(1)]);
        for nth in 2..4 {
            state[key(nth)] = random(4);
            write!(ops, " w(k{},{})", key(nth), state[key(nth)]).unwrap();
        }
        write!(sessions[random(N_SESSIONS)], " {{ {ops} }}").unwrap();
    }
    let initial: Vec<String> = (0..N_KEYS).map(|it| format!("k{it}=0")).collect();
    let lines: Vec<String> = sessions.iter().enumerate().map(|(idx, it)| format!("s{idx}:{it}\n")).collect();
    format!("init {}\n{}", initial.join(" "), lines.concat())
}

#[test]
fn a_hard_search_ends_on_time_with_every_level_accounted_for() {
    let folder = Folder::new();
    folder.write("hard.history", ambiguous(4000));
    let clock = Instant::now();
    let said = folder.run(&["check", "hard.history", "--timeout", "1s", "--json"]).ends(3).complains("--timeout");
    assert!(clock.elapsed() < Duration::from_millis(1600), "{:?}", clock.elapsed());
    let document = said.json().remove(0);
    assert_eq!(document["levels"].as_array().unwrap().len(), 13, "{document}");
    let ser = document["levels"].as_array().unwrap().iter().find(|it| it["level"] == "ser").unwrap();
    assert_eq!(ser["verdict"], "unknown");
    assert_eq!(ser["reason"], "the time limit was reached");
    assert_eq!(document["history"]["transactions"], 4000);
}

#[test]
fn inputs_whose_turn_did_not_come_are_unknown() {
    let folder = Folder::with_histories();
    folder.write("hard.history", ambiguous(4000));
    let inputs =
        ["check", "skew.history", "hard.history", "serial.history", "--timeout", "700ms", "--json", "-l", "ser"];
    let said = folder.run(&inputs).ends(1);
    let verdicts: Vec<String> = said.json().iter().map(|it| it["levels"][0]["verdict"].to_string()).collect();
    assert_eq!(verdicts, ["\"violated\"", "\"unknown\"", "\"unknown\""], "{said:#?}");
}

#[test]
fn memory_is_limited_while_searching() {
    let folder = Folder::new();
    folder.write("hard.history", ambiguous(6000));
    let said = folder.run(&["check", "hard.history", "--level", "ser", "--memory", "60MiB", "--json"]).ends(3);
    let document = said.json().remove(0);
    assert!(document["peak_bytes"].as_u64().unwrap() < 70 << 20, "{document}");
    assert_eq!(document["levels"][0]["reason"], "the memory limit was reached");
    said.complains("--memory");
}

#[test]
fn converting_is_limited_too() {
    let folder = Folder::new();
    folder.write("hard.history", ambiguous(200_000));
    let said = folder.run(&["convert", "hard.history", "out.jsonl", "--memory", "16MiB"]).ends(3).complains("--memory");
    let left: Vec<_> = std::fs::read_dir(folder.path("")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["hard.history"], "{said:#?}");
}

#[test]
fn an_interrupted_check_says_what_is_decided_so_far() {
    let folder = Folder::new();
    folder.write("hard.history", ambiguous(4000));
    let mut child = tool(&folder.path(""))
        .args(["check", "hard.history", "--progress", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut messages = BufReader::new(child.stderr.take().unwrap()).lines();
    messages.find(|it| it.as_ref().unwrap().contains("checking levels")).expect("it says when it begins").unwrap();
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    let rest: Vec<String> = messages.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(3), "{rest:?}");
    assert!(rest.iter().any(|it| it.contains("interrupted")), "{rest:?}");
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    let levels = document["levels"].as_array().unwrap();
    assert_eq!(levels.len(), 13, "{document}");
    let ser = levels.iter().find(|it| it["level"] == "ser").unwrap();
    assert_eq!(ser["reason"], "the run was interrupted", "{document}");
}

#[test]
fn a_row_of_the_table_is_printed_when_it_is_known() {
    let folder = Folder::new();
    folder.write("hard.history", ambiguous(4000));
    let mut child = tool(&folder.path(""))
        .args(["check", "hard.history", "--level", "ru,ser"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(out.next().unwrap(), "ru   read-uncommitted  holds");
    // Serializability would take minutes.
    assert_eq!(child.try_wait().unwrap(), None);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let rest: Vec<String> = out.collect();
    assert_eq!(child.wait().unwrap().code(), Some(3), "{rest:?}");
    assert_eq!(rest[0], "ser  serializable      unknown   the run was interrupted", "{rest:?}");
    assert!(!rest.iter().any(|it| it.starts_with("ru ")), "{rest:?}");
}

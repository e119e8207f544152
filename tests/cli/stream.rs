//! `isoscope check --stream`, `check --follow`, `collect --check` and `certify --stream`.

use crate::tool::{Folder, tool};
use std::fs::OpenOptions;
use std::io::Write;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

const GENERATE: [&str; 9] = ["generate", "blindw-rw", "--txns", "3000", "--sessions", "8", "--force", "-o", "h.jsonl"];

#[test]
fn a_recording_that_holds_is_replayed_step_by_step_and_its_schedule_is_certified() {
    let folder = Folder::new();
    folder.run(&GENERATE).ends(0);
    for level in ["sser", "ser", "ssi", "si", "pc", "cc", "ra", "rc"] {
        let check = ["check", "--stream", "h.jsonl", "--level", level, "--window", "200", "--certificate", "c"];
        folder.run(&check).ends(0).tells("explains it, and was replayed step by step.");
        folder.run(&["certify", "--stream", "c", "h.jsonl"]).ends(0).says("Certified: all 1 claims");
    }
    // A schedule with two steps exchanged, and one that was cut.
    let saved = folder.read("c");
    let mut lines: Vec<&str> = saved.lines().collect();
    lines.swap(5, 1500);
    folder.write("wrong", lines.join("\n"));
    folder.run(&["certify", "--stream", "wrong", "h.jsonl"]).ends(1).says("Not certified");
    folder.write("cut", saved.trim_end().strip_suffix("end").unwrap());
    folder.run(&["certify", "--stream", "cut", "h.jsonl", "--json"]).ends(1).says("its last line is missing");
}

#[test]
fn an_anomaly_is_found_in_the_stream_with_the_same_core_as_in_memory() {
    let folder = Folder::new();
    for (anomaly, level) in [
        ("lost-update", "si"),
        ("write-skew", "ser"),
        ("long-fork", "si"),
        ("causality-violation", "cc"),
        ("stale-read", "sser"),
    ] {
        folder.run(&[&GENERATE[..], &["--inject", anomaly]].concat()).ends(0);
        let said = folder.run(&["check", "--stream", "h.jsonl", "--level", level, "--window", "500", "--json"]).ends(1);
        let document = said.json().remove(0);
        let streamed = &document["levels"][0];
        assert_eq!(streamed["verdict"], "violated", "{anomaly}");
        assert_eq!(streamed["certified"], true, "{anomaly}");
        let n_txns = streamed["evidence"]["transactions"].as_array().unwrap().len();
        assert!(n_txns <= 6, "{anomaly} has {n_txns} transactions");
        let whole = folder.run(&["check", "h.jsonl", "--level", level, "--json"]).ends(1).json().remove(0);
        assert_eq!(streamed["anomalies"], whole["levels"][0]["anomalies"], "{anomaly}");
    }
}

#[test]
fn standard_input_is_streamed_too() {
    let folder = Folder::new();
    folder.run(&GENERATE).ends(0);
    let recording = folder.read("h.jsonl");
    folder
        .pipe(&["check", "--stream", "-", "--level", "ser,rc"], recording.as_bytes())
        .ends(0)
        .tells("Strongest level that holds: serializable (ser)");
}

#[test]
fn a_long_stream_is_replayed_beside_the_search_and_has_charts_over_time() {
    let folder = Folder::new();
    let generate = ["generate", "blindw-rw", "--txns", "30000", "--sessions", "8", "--keys", "500", "-o", "h.jsonl"];
    folder.run(&generate).ends(0);
    for level in ["ser", "si", "cc"] {
        let page = format!("{level}.html");
        let check = ["check", "--stream", "h.jsonl", "--level", level, "--window", "500", "--certificate", "c"];
        folder.run(&[&check[..], &["--report", &page]].concat()).ends(0).tells("replayed step by step");
        folder.run(&["certify", "--stream", "c", "h.jsonl"]).ends(0).says("Certified: all 1 claims");
        let page = folder.read(&page);
        assert!(page.contains("The check over time") && page.contains("transactions in the window"), "{level}");
    }
}

#[test]
fn an_anomaly_in_standard_input_is_found_in_what_has_passed() {
    let folder = Folder::new();
    folder.run(&[&GENERATE[..], &["--inject", "lost-update"]].concat()).ends(0);
    let recording = folder.read("h.jsonl");
    let check = ["check", "--stream", "-", "--level", "si", "--window", "500"];
    let said = folder.pipe(&[&check[..], &["--json"]].concat(), recording.as_bytes()).ends(1);
    let streamed = &said.json().remove(0)["levels"][0];
    assert_eq!((&streamed["verdict"], &streamed["certified"]), (&"violated".into(), &true.into()));
    // What is not kept cannot be looked at again.
    folder.pipe(&[&check[..], &["--spool", "none"]].concat(), recording.as_bytes()).ends(3);
}

/// Whoever wrote what the first session read has its line after those of the first session.
#[test]
fn a_session_that_comes_late_in_the_recording_may_have_written_what_was_read_before() {
    let folder = Folder::new();
    let line = |session: &str, ops: &str, time: i64| {
        format!("{{\"s\":\"{session}\",\"ops\":[{ops}],\"status\":\"commit\",\"begin\":{time},\"end\":{time}}}\n")
    };
    let mut lines = line("s1", "[\"r\",\"x\",1]", 2);
    for time in 3..60 {
        lines += &line("s1", &format!("[\"w\",\"y\",{time}]"), time);
    }
    lines += &(line("s2", "[\"w\",\"x\",1]", 1) + "{\"recording\":\"complete\"}\n");
    for (promise, sessions) in [("unique", ""), ("any", ""), ("unique", "\"sessions\":[\"s1\",\"s2\"],")] {
        let header = format!("{{\"isoscope\":1,{sessions}\"initial\":0,\"recording\":\"{promise}\"}}\n");
        folder.write("late.jsonl", header + &lines);
        for window in ["1", "2", "10"] {
            let check = ["check", "--stream", "late.jsonl", "--level", "sser,si", "--window", window];
            folder.run(&check).ends(0).tells("Strongest level that holds: strict-serializable (sser)");
        }
    }
    // A session that is not listed comes after the others, so that this is known at once.
    let header = "{\"isoscope\":1,\"sessions\":[\"s1\"],\"initial\":0,\"recording\":\"unique\"}\n";
    folder.write("thin-air.jsonl", header.to_owned() + &lines.replace("[\"w\",\"x\",1]", "[\"w\",\"x\",2]"));
    folder.run(&["check", "--stream", "thin-air.jsonl", "--level", "si", "--window", "2"]).ends(1);
}

#[test]
fn a_recording_that_breaks_its_promise_is_refused() {
    let folder = Folder::new();
    let line = |session: u32, ops: &str, time: i64| {
        format!("{{\"s\":{session},\"ops\":[{ops}],\"status\":\"commit\",\"begin\":{time},\"end\":{time}}}\n")
    };
    let mut lines = "{\"isoscope\":1,\"initial\":0,\"recording\":\"unique\"}\n".to_owned();
    lines += &(line(1, "[\"w\",\"x\",1]", 1) + &line(1, "[\"w\",\"x\",2]", 2));
    for time in 3..60 {
        lines += &line(1 + u32::from(time % 2 == 1), &format!("[\"w\",\"y\",{time}]"), time);
    }
    // What it read is gone by then.
    let stale = line(2, "[\"r\",\"x\",1]", 60);
    let more: String =
        (61..120).map(|it| line(1 + u32::from(it % 2 == 1), &format!("[\"w\",\"y\",{it}]"), it)).collect();
    let end = "{\"recording\":\"complete\"}\n";
    let check = ["check", "--stream", "h.jsonl", "--level", "sser,rc", "--window", "4"];
    folder.write("h.jsonl", lines.clone() + &stale + &more + end);
    folder.run(&check).ends(1).complains("sser is violated (stale-read)");
    // Before, and after the violation was told of.
    let again = |time: i64| line(1, "[\"w\",\"x\",1]", time);
    let wrong = "writes 1 to x, which was there before, although the header promises";
    let stale_after = again(60) + &line(2, "[\"r\",\"x\",2]", 61);
    folder.write("h.jsonl", lines.clone() + &stale_after + &more + end);
    folder.run(&check).ends(2).complains(wrong).complains("line 61 ");
    folder.write("h.jsonl", lines.clone() + &stale + &more + &again(120) + end);
    folder.run(&check).ends(2).complains(wrong).complains("line 121 ");
    // In memory it is believed only if the recording was cut.
    folder.run(&["check", "h.jsonl", "--level", "rc"]).ends(0);
    folder.write("h.jsonl", lines + &stale + &again(120));
    folder.run(&["check", "h.jsonl", "--level", "rc"]).ends(2).complains(wrong);
}

#[test]
fn what_cannot_be_streamed_is_refused_with_a_reason() {
    let folder = Folder::with_histories();
    let scan = "{\"isoscope\":1,\"initial\":0}\n{\"s\":1,\"ops\":[[\"w\",\"x\",1]]}\n\
                {\"s\":1,\"ops\":[[\"scan\",\"t\",\"\\\"is adult\\\"\",[]]]}\n";
    folder.write("list.jsonl", scan);
    folder
        .run(&["check", "--stream", "list.jsonl", "--level", "ser"])
        .ends(0)
        .complains("line 3 has a scan that only the database can evaluate, which is not streamed; the whole recording is read into memory");
    let said = folder.pipe(&["check", "--stream", "-", "--level", "ser"], scan.as_bytes()).ends(3);
    let why = "line 3 has a scan that only the database can evaluate, which is not streamed; with more --memory";
    assert!(said.out.contains(why), "{}", said.out);
    let (append, write) = ("{\"s\":1,\"ops\":[[\"a\",\"x\",1]]}\n", "{\"s\":1,\"ops\":[[\"w\",\"x\",1]]}\n");
    let in_one = "{\"s\":1,\"ops\":[[\"w\",\"x\",1],[\"r\",\"x\",[1]]]}\n";
    for lines in [append.to_owned() + write, write.to_owned() + append, in_one.to_owned()] {
        let both = format!("{{\"isoscope\":1,\"initial\":0}}\n{lines}");
        folder.pipe(&["check", "--stream", "-", "--level", "ser"], both.as_bytes()).ends(2).complains("as a list");
    }
    folder.run(&["check", "--stream", "list.jsonl", "--level", "adya.pl3"]).ends(2).complains("decided in memory");
    folder.run(&["check", "list.jsonl", "--window", "5"]).ends(2).complains("add --stream or --follow");
    folder.write("torn.jsonl", "{\"isoscope\":1,\"initial\":0}\n{\"s\":1,\"ops\":[[\"w\",\"x\",1]");
    folder.run(&["check", "--stream", "torn.jsonl", "--level", "ser"]).ends(2).complains("line 2");
}

#[test]
fn a_recording_that_grows_is_followed_to_its_end() {
    let folder = Folder::new();
    let path = folder.path("h.jsonl");
    let mut file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
    writeln!(file, "{{\"isoscope\":1,\"initial\":0,\"recording\":\"unique\"}}").unwrap();
    let mut child = tool(folder.path(".").as_path())
        .args(["check", "--follow", "h.jsonl", "--level", "ser", "--for", "60s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    for nth in 0..20 {
        writeln!(
            file,
            "{{\"s\":1,\"ops\":[[\"r\",\"x\",{nth}],[\"w\",\"x\",{}]],\"begin\":{nth},\"end\":{nth}}}",
            nth + 1
        )
        .unwrap();
        thread::sleep(Duration::from_millis(5));
    }
    assert!(child.try_wait().unwrap().is_none(), "the recording is not over");
    writeln!(file, "{{\"recording\":\"complete\"}}").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("20 transactions explains it"), "{out}");
}

#[test]
fn a_check_that_was_killed_goes_on_after_its_schedule() {
    let folder = Folder::new();
    for (level, anomaly, code) in [("ser", None, 0), ("si", None, 0), ("sser", None, 0), ("si", Some("lost-update"), 1)]
    {
        let injected: Vec<&str> = anomaly.map_or_else(Vec::new, |it| vec!["--inject", it]);
        folder.run(&[&GENERATE[..], &injected].concat()).ends(0);
        let whole = folder.read("h.jsonl");
        let lines: Vec<&str> = whole.lines().collect();
        let check = ["check", "grown.jsonl", "--level", level, "--window", "50", "--certificate", "c"];
        let resumed = [&check[..], &["--resume", "--follow"]].concat();
        std::fs::remove_file(folder.path("c")).ok();
        for n_lines in [400, 900, 1800] {
            folder.write("grown.jsonl", lines[..n_lines].join("\n") + "\n");
            let mut child = tool(folder.path(".").as_path())
                .args(&resumed)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            // It has read all that is there, or has seen the anomaly.
            let n_steps = n_lines - 250;
            while folder.path("c").metadata().map_or(0, |it| it.len()) < n_steps as u64
                && child.try_wait().unwrap().is_none()
            {
                thread::sleep(Duration::from_millis(5));
            }
            child.kill().unwrap();
            child.wait().unwrap();
        }
        folder.write("grown.jsonl", &whole);
        let said = folder.run(&[&check[..], &["--resume", "--stream"]].concat()).ends(code);
        let fresh =
            folder.run(&["check", "--stream", "h.jsonl", "--level", level, "--window", "50", "--certificate", "d"]);
        let verdict = |it: &str| it.lines().next().unwrap_or_default().to_owned();
        assert_eq!(verdict(&said.out), verdict(&fresh.ends(code).out));
        if code == 0 {
            folder.run(&["certify", "--stream", "c", "grown.jsonl"]).ends(0).says("Certified: all 1 claims");
        }
    }
}

#[test]
fn a_check_goes_on_only_after_a_schedule_of_its_own() {
    let folder = Folder::new();
    folder.run(&GENERATE).ends(0);
    let resume = |level, recording, schedule| {
        let options = ["check", "--stream", recording, "--level", level, "--window", "50", "--resume"];
        folder.run(&[&options[..], &["--certificate", schedule]].concat())
    };
    // Nothing is there yet: it begins.
    resume("ser", "h.jsonl", "c").ends(0);
    let saved = folder.read("c");
    resume("ser", "h.jsonl", "c").ends(0).tells("explains it, and was replayed step by step.");
    assert_eq!(folder.read("c").lines().count(), saved.lines().count());
    // Another level, a level that keeps more, another file, another recording, a shorter one.
    resume("si", "h.jsonl", "c").ends(2).complains("without --resume it starts again");
    let header = "{\"isoscope-schedule\":1,\"level\":\"cc\",\"window\":13}\n";
    folder.write("weak", format!("{header}0\n"));
    resume("cc", "h.jsonl", "weak").ends(2).complains("cannot go on");
    resume("ser", "h.jsonl", "h.jsonl").ends(2).complains("is no schedule");
    folder.run(&[&GENERATE[..7], &["--seed", "2", "-o", "other.jsonl"]].concat()).ends(0);
    resume("ser", "other.jsonl", "c").ends(2).complains("is no schedule of this recording");
    let recording = folder.read("h.jsonl");
    let first: Vec<&str> = recording.lines().take(1000).collect();
    folder.write("short.jsonl", first.join("\n") + "\n");
    resume("ser", "short.jsonl", "c").ends(2).complains("which the recording does not have");
    assert_eq!(folder.read("c"), saved, "what is refused is not touched");
}

#[test]
fn a_recording_is_checked_while_it_is_collected() {
    let folder = Folder::new();
    let run = ["collect", "store:si", "--sessions", "4", "--txns", "200", "--force", "-o", "h.jsonl", "--check"];
    folder.run(&[&run[..], &["si"]].concat()).ends(0).tells("snapshot-isolation (si): holds");
    let weak = ["collect", "store:cc", "-w", "rmw", "--sessions", "4", "--txns", "200", "--force", "-o", "h.jsonl"];
    folder.run(&[&weak[..], &["--check", "si", "--stop-on-violation"]].concat()).ends(1).complains("si is violated");
}

#[test]
fn lists_are_streamed_as_they_are_judged_in_memory() {
    let folder = Folder::new();
    for (store, levels) in [("ser", ["sser", "ser", "si"]), ("si", ["ssi", "si", "pc"]), ("psi", ["cc", "ra", "rc"])] {
        let run = format!("collect store:{store} -w append --sessions 4 --txns 150 --keys 5 --no-final-read");
        folder.shell(&format!("isoscope {run} --force -o h.jsonl")).ends(0);
        assert!(folder.read("h.jsonl").contains("[\"a\","), "{store} has no lists");
        for level in levels {
            let whole = folder.run(&["check", "h.jsonl", "--level", level]);
            let check = ["check", "--stream", "h.jsonl", "--level", level, "--window", "100", "--certificate", "c"];
            let streamed = folder.run(&check).ends(whole.code);
            assert!(store != "ser" || streamed.err.is_empty(), "{level}: {}", streamed.err);
            if whole.code == 0 && streamed.err.is_empty() {
                folder.run(&["certify", "--stream", "c", "h.jsonl"]).ends(0).says("Certified: all 1 claims");
            }
        }
    }
}

#[test]
fn updates_and_statements_are_streamed_at_levels_of_databases() {
    let folder = Folder::new();
    for (store, level) in [("store:postgres.rc", "postgres.rc"), ("store:postgres.rr", "postgres.rr")] {
        let run = ["collect", store, "-w", "updates", "--sessions", "4", "--txns", "100", "--force", "-o", "h.jsonl"];
        folder.run(&run).ends(0);
        assert!(folder.read("h.jsonl").contains("[\"u\","), "{store} has no updates");
        folder.run(&["check", "--stream", "h.jsonl", "--level", level]).ends(0).tells(": holds");
    }
}

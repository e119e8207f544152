//! `isoscope check`.

use crate::tool::{Folder, SERIAL, WRITE_SKEW, tool};
use std::process::Stdio;

#[test]
fn the_whole_lattice_shows_what_holds_and_what_breaks_the_rest() {
    let said = Folder::with_histories().run(&["check", "skew.history"]).ends(1);
    let said = said.says("Strongest level that holds: snapshot-isolation (si)").says("write-skew, forbidden by ser");
    said.says("s1.1 --rw y--> s2.1").says("evidence certified").says("Not asked: ssi and sser");
}

#[test]
fn a_serial_history_satisfies_everything() {
    let said = Folder::with_histories().run(&["check", "serial.history"]).ends(0);
    assert!(said.err.is_empty(), "{said:#?}");
    said.says("Strongest level that holds: serializable (ser)");
}

#[test]
fn a_history_with_times_is_asked_about_real_time() {
    let folder = Folder::new();
    folder.write("timed.history", "init x=0\ns1: { w(x,1) } @[1,2]\ns2: { r(x,0) } @[3,4]\n");
    let said = folder.run(&["check", "timed.history"]).ends(1).says("sser  strict-serializable");
    assert!(!said.out.contains("Not asked"), "{said:#?}");
}

#[test]
fn without_times_real_time_is_not_judged() {
    let folder = Folder::with_histories();
    folder.write("equal.history", "init x=0\ns1: { r(x,0) w(x,1) } @[5,5]\ns2: { r(x,1) } @[5,5]\n");
    for file in ["serial.history", "equal.history"] {
        folder.run(&["check", file]).ends(0).says("Not asked: ssi and sser");
        for level in ["ssi", "sser", "biswas.sser"] {
            folder.run(&["check", file, "--level", level]).ends(3).tells("real time cannot be judged");
        }
    }
    // What is forbidden without times stays so.
    folder.run(&["check", "skew.history", "--level", "sser"]).ends(1).says("write-skew");
}

#[test]
fn levels_without_session_order_are_asked_for_by_name() {
    let folder = Folder::new();
    folder.write("own.history", "init x=0\ns1: { w(x,1) } { r(x,0) }\n");
    let said = folder.run(&["check", "own.history"]).ends(1);
    assert!(!said.out.contains("nosession"), "{said:#?}");
    let all = "pl1,pl2,psi-nosession,si-nosession,ser-nosession";
    folder.run(&["check", "own.history", "--level", all]).ends(0).says("ser-nosession").says("evidence certified");
    folder
        .run(&["check", "own.history", "--level", "serializable-without-sessions,ser"])
        .ends(1)
        .says("stale-own-write");
}

#[test]
fn registers_that_begin_with_a_value_are_suspected_and_told() {
    let folder = Folder::new();
    let edn = "{:type :ok, :process 0, :f :txn, :value [[:r :x 0] [:w :x 1]]}\n\
               {:type :ok, :process 1, :f :txn, :value [[:r :x 1] [:r :y 0]]}\n";
    folder.write("zero.edn", edn);
    let said = folder.run(&["check", "zero.edn"]).ends(1).says("thin-air-read");
    said.tells("Reads of every key returned 0, which nobody wrote: maybe the initial value is 0; try --initial 0.");
    let said = folder.run(&["check", "zero.edn", "--initial", "0"]).ends(0).says("Strongest level that holds");
    assert!(!said.out.contains("--initial"), "{said:#?}");
    folder.run(&["convert", "zero.edn", "-", "--to", "text", "--initial", "0"]).ends(0).says("init x=0 y=0");
    folder.run(&["predict", "zero.edn", "--initial", "0"]).ends(0);
    folder.write("known.history", "init x=1\ns1: { r(x,0) }\n");
    let said = folder.run(&["check", "known.history"]).ends(1).says("thin-air-read");
    assert!(!said.out.contains("--initial"), "{said:#?}");
}

#[test]
fn levels_are_named_short_or_full_and_in_lists() {
    let folder = Folder::with_histories();
    let verdicts = |levels: &[&str]| {
        let said = folder.run(&[&["check", "skew.history", "--json"], levels].concat());
        let levels = said.json()[0]["levels"].as_array().unwrap().clone();
        let verdicts: Vec<String> = levels
            .iter()
            .map(|it| format!("{} {}", it["level"].as_str().unwrap(), it["verdict"].as_str().unwrap()))
            .collect();
        (said.code, verdicts.join(", "))
    };
    assert_eq!(verdicts(&["-l", "si"]), (0, "si holds".to_owned()));
    assert_eq!(verdicts(&["--level", "Serializable"]), (1, "ser violated".to_owned()));
    assert_eq!(verdicts(&["-l", "si,ser", "-l", "ser"]), (1, "si holds, ser violated".to_owned()));
    assert_eq!(verdicts(&["-l", "cerone.si,ser"]), (1, "cerone.si holds, ser violated".to_owned()));
}

#[test]
fn the_json_has_a_stable_shape() {
    let folder = Folder::with_histories();
    let mut document = folder.run(&["check", "skew.history", "--json", "-l", "ser"]).ends(1).json().remove(0);
    let (seconds, peak) = (document["seconds"].take(), document["peak_bytes"].take());
    assert!(seconds.is_f64() && peak.is_u64(), "{seconds} {peak}");
    let rw = |from: &str, to: &str, key: &str, because: &str| serde_json::json!({ "from": from, "to": to, "kind": "rw", "key": key, "because": because });
    let txn = |id: &str, session: &str, line: u64, [read, written]: [&str; 2]| {
        serde_json::json!({
            "id": id, "session": session, "nth": 1, "outcome": "committed",
            "place": { "file": "skew.history", "line": line },
            "ops": [
                { "kind": "read", "key": read, "value": 0 },
                { "kind": "write", "key": written, "value": 1 },
            ]
        })
    };
    let expected = serde_json::json!({
        "isoscope": 2, "verb": "check", "inputs": ["skew.history"], "defects": [], "seconds": null, "peak_bytes": null,
        "history": {
            "sessions": 2, "transactions": 2, "committed": 2, "aborted": 0, "unknown": 0, "operations": 6, "keys": 2
        },
        "levels": [{
            "level": "ser", "name": "serializable", "verdict": "violated", "anomalies": ["write-skew"], "certified": true,
            "evidence": {
                "summary": "Transactions read the same snapshot, and each overwrites what the other one read.",
                "history": "init y=0 x=0\ns1: { r(y,0) w(x,1) }\ns2: { r(x,0) w(y,1) }\n",
                "initial": [{ "key": "y", "value": 0 }, { "key": "x", "value": 0 }],
                "transactions": [
                    txn("s1.1", "s1", 2, ["y", "x"]),
                    txn("s2.1", "s2", 3, ["x", "y"]),
                ],
                "cycle": [
                    rw("s1.1", "s2.1", "y",
                        "s1.1 (line 2) read y=0 from the initial state, which s2.1 (line 3) overwrote with y=1"),
                    rw("s2.1", "s1.1", "x",
                        "s2.1 (line 3) read x=0 from the initial state, which s1.1 (line 2) overwrote with x=1"),
                ],
            },
        }],
    });
    assert_eq!(document, expected, "{document:#}");
}

#[test]
fn several_inputs_are_judged_each_and_the_worst_decides_the_code() {
    let folder = Folder::with_histories();
    let both = folder.run(&["check", "serial.history", "skew.history", "--json", "-l", "ser"]).ends(1);
    let verdicts: Vec<String> = both.json().iter().map(|it| it["levels"][0]["verdict"].to_string()).collect();
    assert_eq!(verdicts, ["\"holds\"", "\"violated\""]);
    let said = folder.run(&["check", "skew.history", "missing.history", "serial.history"]).ends(2);
    said.complains("missing.history").says("skew.history: 2 transactions").says("serial.history: 2 transactions");
}

#[test]
fn standard_input_is_read() {
    let folder = Folder::new();
    folder.pipe(&["check", "-"], WRITE_SKEW.as_bytes()).ends(1).says("standard input: 2 transactions");
    folder.pipe(&["check", "-", "--level", "ser"], SERIAL.as_bytes()).ends(0).says("serial order");
}

#[test]
fn reports_are_rendered_by_their_ending_and_numbered_for_several_inputs() {
    let folder = Folder::with_histories();
    let reports = [
        "--report", "why.html", "--report", "why.svg", "--report", "why.dot", "--report", "why.json", "--report",
        "why.txt",
    ];
    folder.run(&[&["check", "skew.history"], &reports[..]].concat()).ends(1);
    assert!(folder.read("why.html").starts_with("<!DOCTYPE html>"));
    assert!(folder.read("why.svg").contains("<svg"));
    assert!(folder.read("why.dot").starts_with("digraph"));
    assert!(folder.read("why.txt").contains("write-skew, forbidden by ser"));
    assert!(folder.read("why.json").contains("\"isoscope\": 2"));
    folder.run(&["check", "skew.history", "serial.history", "--report", "all.txt"]).ends(1);
    assert!(folder.read("all-2.txt").contains("Strongest level that holds: serializable"));
    folder.run(&["check", "skew.history", "--report", "why.png"]).ends(2).complains(".html .svg .dot .json .txt");
    folder
        .run(&["check", "skew.history", "--report", "nowhere/why.svg"])
        .ends(2)
        .complains("cannot write nowhere/why.svg");
}

#[test]
fn a_spec_file_brings_levels_of_its_own() {
    let folder = Folder::with_histories();
    folder.write("mine.spec", "import cerone\nlevel weak in cerone = cerone.ra\nlevel strong in cerone = cerone.ser\n");
    let said = folder.run(&["check", "skew.history", "--spec", "mine.spec"]).ends(1);
    said.says("mine.weak").says("forbidden by mine.strong").says("r(y,0) w(x,1)");
    folder.run(&["check", "skew.history", "--spec", "mine.spec", "--level", "weak,si"]).ends(0);
}

#[test]
fn a_definition_is_decided_for_large_histories_if_its_witness_follows_from_one_order() {
    let folder = Folder::new();
    let many: Vec<String> = (0..100).map(|it| format!("{{ w(x,{it}) }}")).collect();
    folder.write("long.history", format!("init x=-1\ns1: {}\n", many.join(" ")));
    let said = folder.run(&["check", "long.history", "--level", "biswas.ser"]).ends(0);
    said.says("These relations explain it: co").says("evidence certified");
    folder.write("lost.history", format!("init x=-1\ns1: {} {{ r(x,0) w(x,100) }}\n", many.join(" ")));
    let said = folder.run(&["check", "lost.history", "--level", "cerone.ser"]).ends(1);
    said.says("r(x,0)").says("evidence certified");
    let said = folder.run(&["check", "long.history", "--level", "adya.gsi"]).ends(3);
    said.says("unknown").says("takes about 60 transactions, and there are 100");
}

#[test]
fn evidence_may_be_trusted() {
    let said = Folder::with_histories().run(&["check", "skew.history", "--no-certify", "--stats"]).ends(1);
    assert!(!said.out.contains("certified"), "{said:#?}");
    said.complains("stage").complains("reading ").complains("certify            0.000").complains("conflicts");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::with_histories();
    let mut child = tool(&folder.path(""))
        .args(["check", "skew.history"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn output_that_is_no_terminal_has_no_escapes() {
    let said = Folder::with_histories().run(&["check", "skew.history", "--progress"]).ends(1);
    assert!(!said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'), "{said:#?}");
}

#[test]
fn ascii_is_enough_where_it_is_asked_for() {
    let folder = Folder::with_histories();
    folder.run(&["check", "skew.history"]).ends(1).says("─▶");
    let said = folder.run(&["check", "skew.history", "--ascii"]).ends(1).says("->");
    assert!(said.out.is_ascii(), "{}", said.out);
}

#[test]
fn explanations_are_as_wide_as_the_environment_says() {
    let folder = Folder::with_histories();
    let widest = |columns: &str| {
        let output = tool(&folder.path("")).args(["check", "skew.history"]).env("COLUMNS", columns).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let of_explanation = text.lines().filter(|it| it.starts_with("    "));
        of_explanation.map(|it| it.chars().count()).max().unwrap()
    };
    assert!(widest("60") <= 60, "{}", widest("60"));
    assert!(widest("100") > 60, "{}", widest("100"));
}

#[test]
fn a_huge_value_is_cut_in_words_and_whole_in_the_document() {
    let folder = Folder::new();
    let huge = "a".repeat(100_000);
    folder.write("huge.history", format!("init x=0\ns1: {{ r(x,0) w(x,{huge}) }}\ns2: {{ r(x,0) w(x,2) }}\n"));
    folder.write("air.history", format!("init x=0\ns1: {{ r(x,{huge}) }}\n"));
    for input in ["huge.history", "air.history"] {
        let said = folder.run(&["check", input, "--level", "si"]).ends(1).says("more characters");
        assert!(said.out.len() < 4000, "{} bytes", said.out.len());
        let document = folder.run(&["check", input, "--level", "si", "--json"]).ends(1);
        assert!(document.out.contains(&huge), "{} bytes", document.out.len());
    }
}

#[test]
fn a_lost_update_is_told_beside_reads_that_were_not_repeatable() {
    let folder = Folder::new();
    let text = "init x=0 y=0\ns1: { r(y,0) r(y,1) }\ns2: { w(y,1) }\ns3: { r(x,0) w(x,1) }\ns4: { r(x,0) w(x,2) }\n";
    std::fs::write(folder.path("h.history"), text).unwrap();
    folder.run(&["check", "h.history"]).ends(1).says("violated  non-repeatable-read").says("violated  lost-update");
    for level in ["ua", "si", "ser"] {
        folder
            .run(&["check", "h.history", "--level", level])
            .ends(1)
            .says(&format!("lost-update, forbidden by {level}"));
    }
    folder.run(&["check", "h.history", "--level", "ra"]).ends(1).says("non-repeatable-read, forbidden by ra");
}

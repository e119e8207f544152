//! Bad input of every kind, for every format: one clear message, exit code 2 or 3, never a panic or a verdict.

use crate::tool::{Folder, Said};
use flate2::Compression;
use flate2::write::GzEncoder;
use iso_formats::Format;
use std::io::Write;
use std::process::{Command, Stdio};

/// The run refused its input with a message that names it, and without a verdict.
#[track_caller]
fn refused(said: Said) -> Said {
    let said = said.ends(2);
    assert!(said.out.is_empty(), "{said:#?}");
    assert!(said.err.starts_with("isoscope: ") && said.err.lines().count() < 40, "{said:#?}");
    said
}

fn formats() -> impl Iterator<Item = &'static str> {
    Format::ALL.into_iter().map(Format::name)
}

#[test]
fn what_is_not_there_or_no_history_is_named() {
    let folder = Folder::new();
    folder.write("empty.history", "");
    folder.write("blank.history", "\n  \n");
    std::fs::create_dir(folder.path("folder")).unwrap();
    refused(folder.run(&["check", "missing.history"])).complains("cannot open missing.history");
    refused(folder.run(&["check", "empty.history"])).complains("empty.history is empty");
    refused(folder.run(&["check", "blank.history"])).complains("blank.history is empty");
    refused(folder.run(&["check", "folder"])).complains("folder is a directory");
    refused(folder.pipe(&["check", "-"], b"")).complains("standard input is empty");
}

#[test]
fn a_saved_answer_is_no_history() {
    let folder = Folder::with_histories();
    let saved = folder.run(&["check", "skew.history", "--json"]).ends(1).out;
    let document: serde_json::Value = serde_json::from_str(&saved).unwrap();
    folder.write("saved.json", &saved);
    folder.write("pretty.json", serde_json::to_string_pretty(&document).unwrap());
    folder.write("old.json", r#"{"isoscope":1,"verb":"check","inputs":["a"],"levels":[]}"#);
    for name in ["saved.json", "pretty.json", "old.json"] {
        let what = format!("{name} is a saved answer of isoscope, not a history: `isoscope report {name}` shows it");
        refused(folder.run(&["check", name])).complains(&what);
        refused(folder.run(&["check", name, "--from", "jsonl", "--allow-empty"])).complains(&what);
    }
}

/// What has no transactions, in several formats.
const WITHOUT_TRANSACTIONS: [(&str, &str, &str); 5] = [
    ("array.edn", "[]", "operations like {:type :ok"),
    ("nemesis.edn", "{:type :info, :process :nemesis, :f :kill, :value nil}\n", "operations like {:type :ok"),
    ("header.jsonl", "{\"isoscope\":1,\"initial\":0}\n", "lines like {\"s\":1"),
    ("comment.history", "# nothing happened\ninit x=0\n", "lines like s1: {"),
    ("document.json", "{\"data\":[]}", "sessions with transactions"),
];

#[test]
fn a_history_without_transactions_is_refused_unless_it_is_allowed() {
    let folder = Folder::new();
    for (file, text, expected) in WITHOUT_TRANSACTIONS {
        folder.write(file, text);
        let said = refused(folder.run(&["check", file])).complains(file).complains("there are no transactions in it");
        said.complains(expected).complains("--allow-empty");
        let said = folder.run(&["check", file, "--json"]).ends(2);
        assert_eq!(said.json()[0]["levels"], serde_json::json!([]));
        let said = folder.run(&["check", file, "--allow-empty"]).ends(0).says("holds");
        said.says("There are no transactions, so there was nothing to check.");
        refused(folder.run(&["predict", file])).complains("there are no transactions in it");
        let said = folder.run(&["convert", file, "-", "--to", "text"]).ends(0);
        said.complains("warning").complains("there are no transactions in it");
    }
    folder.write("empty", "");
    folder.run(&["check", "empty", "--allow-empty"]).ends(0).says("nothing to check");
    folder.write("aborted.history", "s1: { w(x,1) } abort\n");
    folder.run(&["check", "aborted.history"]).ends(0).says("No transaction committed");
}

#[test]
fn elle_operations_that_are_no_transactions_are_refused() {
    let folder = Folder::new();
    folder.write("nil.edn", "{:type :ok, :process 0, :f nil, :value [[:w 1 2]]}\n");
    refused(folder.run(&["check", "nil.edn"]))
        .complains("nil.edn: line 1: the :f of an operation must be :txn, not nil");
    folder.write("cas.edn", "{:type :ok, :process 0, :f :txn, :value [[:cas :x [1 2]]]}\n");
    refused(folder.run(&["check", "cas.edn"])).complains("line 1: ").complains("found [:cas :x [1 2]]");
}

#[test]
fn a_huge_value_is_not_printed_in_full() {
    let folder = Folder::new();
    let long = "v".repeat(100_000);
    folder.write("long.edn", format!("{{:type :ok, :process 0, :f :txn, :value [[:cas \"{long}\"]]}}\n"));
    let said = refused(folder.run(&["check", "long.edn"])).complains("more characters");
    assert!(said.err.len() < 1000, "{said:#?}");
    let said = folder.run(&["check", "long.edn", "--level", &long]).ends(2).complains("more characters");
    assert!(said.err.len() < 1000, "{said:#?}");
}

#[test]
fn much_of_nothing_is_said_to_be_that() {
    let folder = Folder::new();
    folder.write("spaces", vec![b' '; 100_000]);
    folder.write("zeros", vec![0; 100_000]);
    refused(folder.run(&["check", "spaces"])).complains("begins with 8192 bytes of white space");
    refused(folder.run(&["check", "zeros"])).complains("begins with 8192 zero bytes");
}

#[test]
fn one_mistake_makes_one_message() {
    let folder = Folder::new();
    folder.write("cut.jsonl", "{\"isoscope\":1,\"initi");
    folder.write("cut.edn", "{:type :ok, :f :txn, :value [[:r");
    for file in ["cut.jsonl", "cut.edn"] {
        let said = refused(folder.run(&["check", file, "--from", if file == "cut.edn" { "elle" } else { "jsonl" }]));
        assert_eq!(said.err.lines().count(), 1, "{said:#?}");
        said.complains("cut short");
    }
}

#[test]
fn a_name_with_a_line_end_does_not_break_the_message() {
    let folder = Folder::new();
    folder.write("a\nb.history", "s1: { w(x\n");
    refused(folder.run(&["check", "a\nb.history"])).complains("isoscope: a\\nb.history: line 1");
    refused(folder.run(&["check", "a\nc.history"])).complains("cannot open a\\nc.history");
}

#[test]
fn what_cannot_be_written_is_said_before_the_work() {
    let folder = Folder::with_histories();
    let said = refused(folder.run(&["check", "skew.history", "--report", "gone/why.svg"]));
    said.complains("cannot write gone/why.svg: there is no folder gone");
}

#[test]
fn wrong_limits_and_levels_are_told_with_a_cure() {
    let folder = Folder::with_histories();
    for (option, value, cure) in [
        ("--timeout", "0", "leaves no time"),
        ("--timeout", "-5", "500ms"),
        ("--timeout", "5 fortnights", "500ms"),
        ("--memory", "-1G", "8GiB"),
        ("--level", "repeatable-read", "postgres.rr"),
        ("--level", "rr", "databases mean different things by `rr`"),
        ("--level", "snap", "did you mean `parallel-snapshot-isolation`"),
        ("--level", "serr", "did you mean `ser`"),
    ] {
        folder.run(&["check", "skew.history", option, value]).ends(2).complains(cure);
    }
}

#[test]
fn a_wrong_line_is_named_with_its_number() {
    let folder = Folder::new();
    folder.write("bad.history", "init x=0\ns1: { r(x,0) }\ns2: { r(x,\n");
    refused(folder.run(&["check", "bad.history"])).complains("bad.history: line 3: ").complains("^");
    let said = folder.run(&["check", "bad.history", "--json"]).ends(2);
    assert_eq!(said.json()[0]["defects"][0]["line"], 3, "{said:#?}");
    assert_eq!(said.json()[0]["levels"], serde_json::json!([]));
}

#[test]
fn random_bytes_are_no_history_in_any_format() {
    let folder = Folder::new();
    let mut state = 1u64;
    let noise: Vec<u8> = (0..5000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .collect();
    folder.write("noise", &noise);
    refused(folder.run(&["check", "noise"])).complains("--from");
    for format in formats() {
        refused(folder.run(&["check", "noise", "--from", format]));
    }
}

#[test]
fn a_truncated_history_is_no_history() {
    let folder = Folder::new();
    let whole = "s1: { w(1,2) } { w(0,3) }\ns2: { r(1,2) w(1,3) }\n";
    folder.write("null.history", whole);
    folder.write("zero.history", format!("init 0=0 1=0\n{whole}"));
    for format in ["jsonl", "dbcop", "dbcop-json", "elle", "elle-json"] {
        let input = if format == "dbcop" { "zero.history" } else { "null.history" };
        folder.run(&["convert", input, "whole.out", "--force", "--to", format]).ends(0);
        let bytes = std::fs::read(folder.path("whole.out")).unwrap();
        folder.write("cut", &bytes[..bytes.len() - 9]);
        refused(folder.run(&["check", "cut", "--from", format])).complains("cut");
    }
}

#[test]
fn lying_lengths_and_deep_nesting_end_quickly() {
    let folder = Folder::new();
    let numbers = |numbers: &[i64]| numbers.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>();
    folder.write("string", numbers(&[1, 2, 2, 2, 2, i64::MAX]));
    folder.write("sessions", numbers(&[1, 2, 2, 2, 2, 0, 0, 0, i64::MAX, i64::MAX]));
    folder.write("negative", numbers(&[1, 2, 2, 2, 2, 0, 0, 0, -1]));
    for name in ["string", "sessions", "negative"] {
        refused(folder.run(&["check", name, "--from", "dbcop", "--memory", "64MiB"])).complains("byte");
    }
    for (opening, formats) in
        [("[", ["elle", "elle-json", "dbcop-json"]), ("{\"a\":", ["jsonl", "elle-json", "dbcop-json"])]
    {
        folder.write("deep", opening.repeat(200_000));
        for format in formats {
            refused(folder.run(&["check", "deep", "--from", format]));
        }
    }
    folder.write("deep.json", "[".repeat(200_000));
    refused(folder.run(&["report", "deep.json"])).complains("deep.json");
    folder.write("deep.spec", format!("import cerone\nlevel x in cerone = {}", "(".repeat(200_000)));
    refused(folder.run(&["levels", "--check", "deep.spec"])).complains("deep.spec");
    folder.write("not.spec", format!("import cerone\nlevel x in cerone = {}cerone.ra", "not ".repeat(200_000)));
    refused(folder.run(&["levels", "--check", "not.spec"])).complains("not.spec");
}

#[test]
fn damaged_compression_is_told() {
    let folder = Folder::new();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all("init x=0\ns1: { r(x,0) }\n".repeat(20).as_bytes()).unwrap();
    let whole = encoder.finish().unwrap();
    folder.write("cut.gz", &whole[..whole.len() / 2]);
    refused(folder.run(&["check", "cut.gz"])).complains("damaged or cut short");
    folder.write("cut.zst", [0x28, 0xb5, 0x2f, 0xfd, 0xff, 0xff, 0xff]);
    refused(folder.run(&["check", "cut.zst"])).complains("damaged or cut short");
}

#[test]
fn a_gzip_bomb_ends_at_the_memory_limit() {
    let folder = Folder::new();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let line = "s1: { w(x,1) }\n".repeat(10_000);
    for _ in 0..2_000 {
        encoder.write_all(line.as_bytes()).unwrap();
    }
    folder.write("bomb.gz", encoder.finish().unwrap());
    let said = folder.run(&["check", "bomb.gz", "--memory", "64MiB", "--json"]).ends(3).complains("--memory");
    let document = said.json().remove(0);
    assert!(document["peak_bytes"].as_u64().unwrap() < 72 << 20, "{document}");
    assert_eq!(document["levels"][0]["verdict"], "unknown");
}

#[test]
fn a_gigabyte_in_one_line_takes_little_memory() {
    let folder = Folder::new();
    // A hole in a file reads as zeros and takes no space.
    std::fs::File::create(folder.path("hole")).unwrap().set_len(1 << 30).unwrap();
    for format in ["text", "jsonl", "plume", "elle", "elle-json", "isopredict", "dbcop-json"] {
        let said = folder.run(&["check", "hole", "--from", format, "--memory", "64MiB", "--json"]);
        assert!(said.code == 2 || said.code == 3, "{format}: {said:#?}");
        let peak = said.json()[0]["peak_bytes"].as_u64().unwrap();
        assert!(peak < 72 << 20, "{format}: {peak}");
    }
}

#[test]
fn an_endless_stream_ends_at_a_limit() {
    let folder = Folder::new();
    for limit in [["--memory", "64MiB"], ["--timeout", "500ms"]] {
        let mut endless = Command::new("yes").arg("s1: { w(x,1) }").stdout(Stdio::piped()).spawn().unwrap();
        let said = folder.run_with(&["check", "-", limit[0], limit[1]], endless.stdout.take().unwrap());
        endless.kill().ok();
        endless.wait().unwrap();
        said.ends(3).complains(limit[0]);
    }
}

#[test]
fn bad_options_are_explained() {
    let folder = Folder::with_histories();
    let check = |options: &[&str]| refused(folder.run(&[&["check", "skew.history"], options].concat()));
    check(&["--level", "serialisable"]).complains("did you mean `serializable`?").complains("isoscope levels");
    check(&["--level", "snapshot-iso"]).complains("snapshot-isolation");
    check(&["--level", "cerone.sii"]).complains("cerone.si");
    check(&["--from", "csv"]).complains("text, jsonl");
    check(&["--cobra-identity", "names"]).complains("`values` or `writers`");
    for (options, words) in
        [(["--timeout", "soon"], "60s"), (["--memory", "lots"], "8GiB"), (["--memory", "1KiB"], "too little")]
    {
        let said = folder.run(&[&["check", "skew.history"], &options[..]].concat()).ends(2);
        said.complains(words);
    }
    folder.run(&["chek", "skew.history"]).ends(2).complains("check");
}

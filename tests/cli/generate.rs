//! `isoscope generate`: the histories are what they promise to be.

use crate::tool::Folder;

#[test]
fn a_generated_history_satisfies_the_level_of_its_store() {
    let folder = Folder::new();
    for (store, holds, options) in [("ser", "sser", "--sessions 9"), ("si", "ssi", "--keys 30 --zipf-keys --values 5")]
    {
        let generate = format!("isoscope generate blindw-rw --txns 400 --store {store} {options} --force -o h.jsonl");
        let said = folder.shell(&generate).ends(0).out;
        assert!(said.starts_with("blindw-rw: 400 transactions committed, "), "{said}");
        folder.run(&["check", "h.jsonl", "--level", holds]).ends(0);
    }
    folder.run(&["check", "h.jsonl", "--level", "ser"]).ends(1);
}

#[test]
fn a_causal_store_keeps_causes_and_neither_prefixes_nor_updates() {
    let folder = Folder::new();
    let (mut n_pc, mut n_si) = (0, 0);
    for seed in 1..=4 {
        let options = format!("--txns 300 --sessions 6 --keys 40 --seed {seed} --by-session");
        folder.shell(&format!("isoscope generate blindw-rw --store cc {options} --force -o h.jsonl")).ends(0);
        folder.run(&["check", "h.jsonl", "--level", "cc"]).ends(0);
        n_pc += folder.run(&["check", "h.jsonl", "--level", "pc"]).code;
        n_si += folder.run(&["check", "h.jsonl", "--level", "si"]).code;
    }
    assert_eq!((n_pc, n_si), (4, 4), "how many violate pc and si");
}

#[test]
fn an_injected_anomaly_is_found_by_its_name() {
    let folder = Folder::new();
    for (anomaly, forbids, allows) in [
        ("lost-update", "psi", Some("pc")),
        ("write-skew", "ser", Some("si")),
        ("long-fork", "pc", Some("psi")),
        ("causality-violation", "cc", Some("ra")),
        ("stale-read", "sser", Some("ser")),
    ] {
        let generate = format!("isoscope generate balanced --txns 300 --sessions 6 --inject {anomaly} -o - > h.jsonl");
        folder.shell(&generate).ends(0).complains(&format!("There is one {anomaly} in it"));
        let said = folder.run(&["check", "h.jsonl", "--level", forbids]).ends(1).out;
        assert!(said.contains(&format!("violated ({anomaly})")), "{said}");
        if let Some(level) = allows {
            folder.run(&["check", "h.jsonl", "--level", level]).ends(0);
        }
    }
}

#[test]
fn layouts_differ_and_the_history_is_the_same() {
    let folder = Folder::new();
    for (options, file) in [("--no-times", "a.jsonl"), ("--by-session", "b.jsonl"), ("--to dbcop", "c.bincode")] {
        folder.shell(&format!("isoscope generate high-dup --txns 200 --seed 3 {options} -o {file}")).ends(0);
        folder.run(&["convert", file, &format!("{file}.history")]).ends(0);
    }
    let sorted = |file: &str| {
        let text = folder.read(file);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted("a.jsonl.history"), sorted("b.jsonl.history"));
    assert!(!folder.read("a.jsonl").contains("begin"));
    folder.run(&["check", "c.bincode", "--level", "ser"]).ends(0);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = Folder::new();
    for (options, words) in [
        ("unheard-of", "possible values: blindw-rw"),
        ("balanced --values some", "write a number, zipf:N or unique"),
        ("balanced --values 0", "at least one value"),
        ("balanced --store mv", "possible values: ser, si, cc"),
        ("balanced --to csv", "possible values: jsonl, dbcop"),
        ("balanced --inject phantom", "possible values: stale-read"),
        ("balanced --inject stale-read --txns 200 --no-times", "can be seen only by times"),
        (
            "balanced --inject long-fork --txns 200 --sessions 3",
            "long-fork needs at least 100 transactions, 4 sessions",
        ),
        ("balanced --inject write-skew --store si", "has write-skew without injection"),
        ("balanced --inject long-fork --txns 200 --store cc", "cannot be injected into a causal store"),
        ("balanced --reads 101", "101 % of the operations cannot be reads"),
        ("balanced --sessions 0", "at least one session"),
        ("balanced --txns many", "write a number such as 10_000"),
    ] {
        folder.shell(&format!("isoscope generate {options} -o h.jsonl")).ends(2).complains(words);
        assert!(!folder.path("h.jsonl").exists(), "{options}");
    }
    folder.run(&["generate", "balanced", "-o", "no/such/folder.jsonl"]).ends(2);
}

//! All help texts, as one snapshot. `UPDATE_HELP=1 cargo test -p isoscope --test cli` writes it again.

use crate::predict::{ACCOUNT, record};
use crate::separate::MINE;
use crate::tool::Folder;
use crate::verify::BANK;
use std::fmt::Write as _;
use std::{env, fs};

#[test]
fn the_help_is_as_in_the_snapshot() {
    let folder = Folder::new();
    let mut all = String::new();
    let verbs: [&[&str]; 34] = [
        &["--help"],
        &["check", "-h"],
        &["check", "--help"],
        &["separate", "-h"],
        &["separate", "--help"],
        &["compare", "--help"],
        &["lattice", "-h"],
        &["verify", "-h"],
        &["verify", "--help"],
        &["predict", "-h"],
        &["predict", "--help"],
        &["collect", "-h"],
        &["collect", "--help"],
        &["record", "-h"],
        &["record", "--help"],
        &["hunt", "-h"],
        &["hunt", "--help"],
        &["replay", "-h"],
        &["replay", "--help"],
        &["driver", "--help"],
        &["driver", "check", "--help"],
        &["store", "--help"],
        &["store", "run", "-h"],
        &["store", "run", "--help"],
        &["store", "apps", "--help"],
        &["levels", "--help"],
        &["convert", "--help"],
        &["generate", "-h"],
        &["generate", "--help"],
        &["report", "--help"],
        &["playground", "--help"],
        &["lsp", "--help"],
        &["demo", "--help"],
        &["completions", "--help"],
    ];
    for arguments in verbs {
        let said = folder.run(arguments).ends(0);
        write!(all, "$ isoscope {}\n{}\n", arguments.join(" "), said.out).unwrap();
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/help.txt");
    if env::var_os("UPDATE_HELP").is_some() {
        fs::write(path, &all).unwrap();
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    assert!(all == expected, "the help has changed; look at it, and run again with UPDATE_HELP=1\n{all}");
}

#[test]
fn help_with_a_verb_is_the_help_of_the_verb() {
    let folder = Folder::new();
    assert_eq!(folder.run(&["help", "check"]).ends(0).out, folder.run(&["check", "--help"]).ends(0).out);
    let store_run = folder.run(&["store", "run", "--help"]).ends(0).out;
    assert_eq!(folder.run(&["help", "store", "run"]).ends(0).out, store_run);
    folder.run(&["help", "chekc"]).ends(2).complains("unrecognized subcommand 'chekc'");
}

#[test]
fn shells_get_completions_of_every_verb() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.run(&["completions", shell]).ends(0).out;
        for word in ["separate", "--forbid", "completions"] {
            // Fish writes options without their dashes.
            assert!(script.contains(word.trim_start_matches('-')), "{shell} has no {word}");
        }
    }
    folder.shell("isoscope completions bash > it.bash && bash -n it.bash").ends(0);
    folder.run(&["completions", "tcsh"]).ends(2).complains("possible values: bash");
}

#[test]
fn without_a_verb_the_help_is_shown() {
    Folder::new().run(&[]).ends(2).complains("isoscope demo").complains("Exit codes");
}

#[test]
fn every_example_of_a_verb_that_needs_no_database_runs() {
    let folder = Folder::new();
    folder.write("mine.spec", MINE);
    folder.write("bank.txn", BANK);
    folder.write("app.sql", include_str!("../../corpus/sql/transfer.sql"));
    folder.write("run.history", ACCOUNT);
    record(&folder, "smallbank", "run.jsonl", 1);
    let mut n_run = 0;
    for verb in ["separate", "compare", "lattice", "verify", "predict", "store", "generate"] {
        let help = folder.run(&[verb, "--help"]).ends(0).out;
        for line in help.lines().filter_map(|it| it.strip_prefix("  isoscope ")) {
            // What it is for stands behind it.
            let command = line.split("   ").next().unwrap().trim_end();
            // Several of them write the same file.
            let force = if command.contains(" -o ") && !command.contains('|') { " --force" } else { "" };
            let said = folder.shell(&format!("isoscope {command}{force}"));
            assert!(said.code == 0 || said.code == 1, "{command}: {said:#?}");
            n_run += 1;
        }
    }
    assert!(n_run > 22, "{n_run}");
}

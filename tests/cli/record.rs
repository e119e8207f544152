//! `isoscope record`, as far as no server is needed; crates/edges/serve tests it with real clients.

use crate::tool::Folder;

#[test]
fn what_cannot_be_recorded_is_said_before_anything_happens() {
    let folder = Folder::new();
    let bad = |options: &[&str], words: &str| {
        folder.run(&[&["record"], options].concat()).ends(2).complains(words);
    };
    bad(&["--to", "postgres://me@127.0.0.1:1/test", "-o", "h.jsonl"], "PostgreSQL at 127.0.0.1:1/test");
    bad(&["--to", "sqlite:test.db", "-o", "h.jsonl"], "there is no driver for `sqlite:`");
    bad(&["--to", "127.0.0.1:5432", "-o", "h.jsonl"], "the address of a database begins with one of postgres:");
    bad(&["--to", "postgres://me@127.0.0.1:1/test", "-o", "h.history"], "ends in .jsonl");
    bad(&["--to", "postgres://me@127.0.0.1:1/test", "-o", "-", "--json"], "both write to standard output");
    bad(&["-o", "h.jsonl"], "--to <URL>");
    assert!(!folder.path("h.jsonl").exists());
}

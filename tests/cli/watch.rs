//! `--watch`: the answer comes again when the file changes.

use crate::tool::{Folder, SERIAL, WRITE_SKEW, tool};
use std::io::{BufRead, BufReader};
use std::process::{ChildStdout, Stdio};

/// Reads until a line has these words.
fn wait_for(lines: &mut BufReader<ChildStdout>, words: &str) {
    let mut seen = String::new();
    loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).unwrap() > 0, "it ended before it said {words}:\n{seen}");
        seen += &line;
        if line.contains(words) {
            return;
        }
    }
}

#[test]
fn a_changed_file_is_answered_again() {
    let program = "var hits: int = 0\ntxn hit() { hits += 1 }\nrun hit() || hit()\ninvariant hits == 2\n";
    let once = program.replace("|| hit()", "");
    let cases: [(&[&str], &str, &str, [&str; 2]); 2] = [
        (&["check", "it.history", "--level", "ser"], SERIAL, WRITE_SKEW, ["holds", "violated (write-skew)"]),
        (&["verify", "it.txn", "--level", "rc"], program, &once, ["violated", "violated"]),
    ];
    for (arguments, before, after, [first, second]) in cases {
        let folder = Folder::new();
        folder.write(arguments[1], before);
        let mut command = tool(folder.path("").as_path());
        let mut watching = command.args(arguments).arg("--watch").stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(watching.stdout.take().unwrap());
        wait_for(&mut lines, first);
        folder.write(arguments[1], after);
        wait_for(&mut lines, &format!("-- {} changed --", arguments[1]));
        wait_for(&mut lines, second);
        watching.kill().unwrap();
        watching.wait().unwrap();
    }
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let folder = Folder::new();
    folder.run(&["check", "-", "--watch"]).ends(2).complains("standard input cannot be watched; name a file");
    folder.run(&["check", ".", "--watch"]).ends(2).complains("only files can be watched");
}

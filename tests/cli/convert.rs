//! `isoscope convert`.

use crate::tool::{Folder, WRITE_SKEW};
use iso_formats::Format;

#[test]
fn every_format_comes_back_with_the_same_verdicts() {
    let folder = Folder::new();
    let skew = |nothing: &str| {
        format!("s1: {{ r(0,{nothing}) r(1,{nothing}) w(0,1) }}\ns2: {{ r(0,{nothing}) r(1,{nothing}) w(1,2) }}\n")
    };
    folder.write("null.history", skew("-"));
    folder.write("zero.history", format!("init 0=0 1=0\n{}", skew("0")));
    for format in Format::ALL.into_iter().map(Format::name) {
        let out = format!("out-{format}");
        // Formats differ in what a key has before the first write; none can say both.
        let convert = |input: &str| folder.run(&["convert", input, &out, "--to", format, "--force"]);
        let inputs = ["null.history", "zero.history"];
        let n_converted = inputs.iter().filter(|it| convert(it).code == 0).count();
        assert!(n_converted > 0, "{format}: {:#?}", inputs.map(convert));
        folder.run(&["check", &out, "--level", "si"]).ends(0);
        folder.run(&["check", &out, "--level", "ser"]).ends(1).says("write-skew");
    }
}

#[test]
fn the_ending_says_the_format_and_the_compression() {
    let folder = Folder::with_histories();
    for out in ["a.jsonl", "a.history.gz", "a.jsonl.zst", "a.txt"] {
        folder.run(&["convert", "skew.history", out]).ends(0);
        folder.run(&["check", out]).ends(1);
    }
    folder.run(&["convert", "skew.history", "a.unheard"]).ends(2).complains("--to");
    folder.run(&["convert", "skew.history", "a.json"]).ends(2).complains("several formats end like that");
    folder.run(&["convert", "skew.history", "-"]).ends(2).complains("--to");
}

#[test]
fn streams_go_in_and_out() {
    let said = Folder::new().pipe(&["convert", "-", "-", "--to", "text"], WRITE_SKEW.as_bytes()).ends(0);
    assert_eq!(said.out, WRITE_SKEW);
}

#[test]
fn files_are_overwritten_only_by_force() {
    let folder = Folder::with_histories();
    folder.write("out.jsonl", "precious");
    folder.run(&["convert", "skew.history", "out.jsonl"]).ends(2).complains("--force");
    assert_eq!(folder.read("out.jsonl"), "precious");
    folder.run(&["convert", "skew.history", "out.jsonl", "--force"]).ends(0).says("out.jsonl: 2 transactions as jsonl");
}

#[test]
fn force_overwrites_histories_and_nothing_else() {
    let folder = Folder::with_histories();
    std::fs::create_dir(folder.path("precious")).unwrap();
    folder.write("precious/thesis.txt", "years of work");
    for format in ["jsonl", "cobra"] {
        let said = folder.run(&["convert", "serial.history", "precious", "--to", format, "--force"]).ends(2);
        said.complains("precious is a directory");
        assert_eq!(folder.read("precious/thesis.txt"), "years of work");
    }
    #[cfg(unix)]
    {
        let socket = std::os::unix::net::UnixListener::bind(folder.path("device")).unwrap();
        let said = folder.run(&["convert", "serial.history", "device", "--to", "jsonl", "--force"]).ends(2);
        said.complains("device is no file");
        drop(socket);
    }
}

#[test]
fn updates_are_taken_apart_with_a_warning_and_other_statements_are_refused() {
    let folder = Folder::new();
    folder.write("updates.history", "s1: { u(1,-,2) }\ns2: { u(1,2,3) }\n");
    let said = folder.run(&["convert", "updates.history", "out.edn"]).ends(0);
    said.complains("elle has no statements: each update is written as a read and a write");
    let said = folder.run(&["convert", "out.edn", "-", "--to", "text"]).ends(0);
    assert!(said.out.contains("{ r(1,-) w(1,2) }"), "{}", said.out);
    for format in ["text", "jsonl"] {
        let said = folder.run(&["convert", "updates.history", "-", "--to", format]).ends(0);
        assert!(said.err.is_empty(), "{}", said.err);
    }
    folder.write("scan.history", "init t/1=1\ns1: { scan(t, all, {t/1=1}) u(t/1,1,2) }\n");
    folder.write("stmt.history", "s1: { [ r(1,-) r(2,-) ] }\n");
    folder
        .run(&["convert", "scan.history", "scan.edn"])
        .ends(2)
        .complains("elle cannot express scans, such as that of t");
    folder.run(&["convert", "stmt.history", "stmt.edn"]).ends(2).complains("elle cannot express statements");
    assert!(!folder.path("scan.edn").exists() && !folder.path("stmt.edn").exists());
}

#[test]
fn what_a_format_cannot_express_is_refused_with_a_cure() {
    let folder = Folder::new();
    folder.write("lists.history", "s1: { append(x,1) }\ns2: { r(x,[1]) }\n");
    let said = folder.run(&["convert", "lists.history", "out.bincode"]).ends(2);
    said.complains("dbcop cannot express lists").complains("jsonl");
    assert!(!folder.path("out.bincode").exists());
    folder.write("bad.history", "s1: { w(x }\n");
    folder.run(&["convert", "bad.history", "out.jsonl"]).ends(2).complains("bad.history: line 1");
    folder.run(&["convert", "missing", "out.jsonl"]).ends(2).complains("missing");
}

const SQL: &str = "CREATE TABLE counters (id int PRIMARY KEY, n int);
INSERT INTO counters VALUES (1, 0);
-- transaction Hit()
BEGIN;
SELECT n INTO seen FROM counters WHERE id = 1;
UPDATE counters SET n = seen + 1 WHERE id = 1;
COMMIT;
-- run Hit() || Hit()
-- invariant \"every hit counts\": (SELECT n FROM counters WHERE id = 1) = 2
";

#[test]
fn a_program_in_sql_and_its_translation_have_the_same_verdicts() {
    let folder = Folder::new();
    folder.write("hits.sql", SQL);
    folder.run(&["convert", "hits.sql", "hits.txn"]).ends(0).says("hits.txn");
    folder.run(&["convert", "hits.sql", "hits.txn"]).ends(2).complains("--force");
    folder.run(&["convert", "hits.sql", "hits.jsonl"]).ends(2).complains("ends in .txn");
    assert!(folder.read("hits.txn").contains("let seen = counters[1].n"), "{}", folder.read("hits.txn"));
    for file in ["hits.sql", "hits.txn"] {
        let said = folder.run(&["verify", file, "--database", "postgres"]).ends(1);
        said.says("violated  postgres.rc").says("holds     postgres.rr, postgres.ser");
        folder.run(&["allocate", file, "--database", "postgres"]).ends(0).says("REPEATABLE READ");
    }
    // Places are those of the file.
    folder.run(&["verify", "hits.sql", "--level", "postgres.rc"]).ends(1).says("(line 5)").says("(line 6)");
    folder.write("bad.sql", SQL.replace("seen + 1", "seen / 2"));
    let said = folder.run(&["verify", "bad.sql"]).ends(2).complains("bad.sql: line 6, column 25");
    said.complains("the operator / is not understood").complains("hint: there are + - *");
    folder.run(&["convert", "bad.sql", "-"]).ends(2).complains("line 6, column 25");
    folder.write("bad.sql", SQL.replace("Hit() || Hit()", "Hit(1)"));
    folder.run(&["verify", "bad.sql"]).ends(2).complains("bad.sql: line 8, column 1");
}

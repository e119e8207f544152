//! Programs in SQL mean what their translations say: the verdicts are those of the programs that people wrote by hand.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use iso_answer::verify::{Answer, Database, Isolation, LEVELS, verify_all};
use iso_evidence::Budget;
use iso_program::{Program, ProgramError, Templates, parse, pretty};
use iso_sql::{Translation, translate};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../corpus")
}

/// The texts of the corpus, by name.
fn texts() -> BTreeMap<String, String> {
    let files = fs::read_dir(corpus().join("sql")).unwrap().map(|it| it.unwrap().path());
    let named = files.map(|it| (it.file_stem().unwrap().to_string_lossy().into_owned(), it));
    named.map(|(name, path)| (name, fs::read_to_string(path).unwrap())).collect()
}

fn shown(errors: &[ProgramError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn translated(name: &str, sql: &str) -> Translation {
    translate(sql, name).unwrap_or_else(|it| panic!("{}", shown(&it)))
}

fn program(name: &str, text: &str) -> Program {
    parse(text, name).unwrap_or_else(|it| panic!("{}\n{text}", shown(&it)))
}

/// What comments say of each level: those of the text, or of the program that it is a translation of.
fn expected(name: &str, sql: &str) -> BTreeMap<String, String> {
    let of = sql.lines().find_map(|it| it.strip_prefix("-- txn: "));
    let text = match of {
        Some(of) => fs::read_to_string(corpus().join(format!("programs/{of}.txn"))).unwrap(),
        None => sql.to_owned(),
    };
    let lines = text.lines().filter_map(|it| it.trim_start_matches(['-', '/']).strip_prefix(" expect: "));
    let pairs = lines.flat_map(|it| it.split(' ')).map(|it| it.split_once('=').unwrap());
    let expected: BTreeMap<String, String> = pairs.map(|it| (it.0.to_owned(), it.1.to_owned())).collect();
    assert!(!expected.is_empty(), "{name} has no verdicts");
    expected
}

fn isolations() -> Vec<Isolation> {
    let of = [Database::Postgres, Database::Mysql].into_iter().flat_map(Database::levels);
    LEVELS.map(Isolation::Paper).into_iter().chain(of.map(|it| Isolation::from(*it))).collect()
}

fn verdicts(program: &Program) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    verify_all(program, &isolations(), &Budget::unlimited(), &mut |isolation, it| {
        let word = match it.answer {
            Answer::Holds(_) => "holds",
            Answer::Violated(_) => "violated",
            Answer::Undecided(_) => "unknown",
            Answer::Refused(wrong) => panic!("{isolation}: {wrong}"),
        };
        found.insert(isolation.short_name().to_owned(), word.to_owned());
    });
    found
}

#[test]
fn verdicts_are_those_of_programs_written_by_hand() {
    let texts = texts();
    assert!(texts.len() >= 12, "only {} programs", texts.len());
    for (name, sql) in &texts {
        let found = verdicts(&program(name, &translated(name, sql).in_place()));
        for (level, verdict) in expected(name, sql) {
            assert_eq!(found[&level], verdict, "{name} {level}");
        }
    }
}

#[test]
fn a_translation_is_one_program_however_it_is_laid_out() {
    for (name, sql) in &texts() {
        let translation = translated(name, sql);
        let text = pretty(&translation.text(), name).unwrap_or_else(|it| panic!("{}", shown(&it)));
        let again = program(name, &text);
        let in_place = program(name, &translation.in_place());
        assert_eq!(again.units(), in_place.units(), "{name}");
        assert_eq!(again.instances().len(), in_place.instances().len(), "{name}");
        for (one, other) in again.instances().iter().zip(in_place.instances()) {
            assert_eq!(one.reads.len(), other.reads.len(), "{name}");
        }
        assert_eq!(pretty(&translation.in_place(), name).unwrap(), text, "{name}");
    }
}

#[test]
fn statements_stand_on_their_lines() {
    for (name, sql) in &texts() {
        let in_place = translated(name, sql).in_place();
        for (sql, text) in sql.lines().zip(in_place.lines()) {
            let (sql, text) = (sql.trim(), text.trim());
            assert!(!sql.starts_with("UPDATE") || text.contains(['=', '{']), "{name}: {sql} | {text}");
            assert!(!sql.starts_with("INSERT") || text.contains("insert"), "{name}: {sql} | {text}");
        }
    }
}

#[test]
fn transactions_alone_are_templates() {
    for (name, sql) in &texts() {
        let kept: Vec<&str> =
            sql.lines().map(|it| if it.starts_with("-- run") || it.starts_with("-- inv") { "" } else { it }).collect();
        let text = translated(name, &kept.join("\n")).in_place();
        Templates::parse(&text, name).unwrap_or_else(|it| panic!("{}\n{text}", shown(&it)));
    }
}

#[test]
fn what_is_not_understood_has_a_place_and_a_cure() {
    let table = "CREATE TABLE t (id int PRIMARY KEY, a int);\n";
    let txn = |body: &str| format!("{table}-- transaction T(k int)\nBEGIN;\n{body}\nCOMMIT;\n");
    let cases = [
        (txn("SELECT a INTO x FROM t JOIN u ON t.id = u.id WHERE t.id = 1;"), (4, 22), "joins", "one table"),
        (txn("SELECT a INTO x FROM t WHERE a = 1;"), (4, 1), "several rows", "WHERE id = .."),
        (txn("UPDATE t SET a = (SELECT 1 FROM t) WHERE id = 1;"), (4, 19), "subquery", "SELECT .. INTO"),
        (txn("UPDATE t SET b = 1 WHERE id = 1;"), (4, 14), "no column `b`", "id, a"),
        (txn("UPDATE t SET a = :j WHERE id = :k;"), (4, 18), "no parameter `:j`", ":k"),
        (txn("UPDATE t SET id = 2 WHERE id = :k;"), (4, 14), "is the key", "does not change"),
        (txn("UPDATE u SET a = 1;"), (4, 8), "no table `u`", "there are t"),
        (txn("SELECT id FROM t WHERE a > 1 FOR UPDATE;"), (4, 24), "FOR UPDATE of rows", "by their keys"),
        (txn("INSERT INTO t VALUES (1, NULL);"), (4, 26), "no NULL", "0 or ''"),
        (txn("SELECT max(a) INTO m FROM t;"), (4, 8), "max is not understood", "NOT EXISTS"),
        (txn("UPDATE t SET a = 1;\nSET x = 1;\nIF FOUND THEN ROLLBACK; END IF;"), (6, 4), "FOUND", "directly"),
        (txn("LOCK TABLE t;"), (4, 1), "not understood", ""),
        ("CREATE TABLE t (a int);".to_owned(), (1, 1), "no primary key", "PRIMARY KEY"),
        ("CREATE TABLE t (a int, b int, PRIMARY KEY (a, b));".to_owned(), (1, 44), "several columns", "one key"),
        ("CREATE TABLE t (id int PRIMARY KEY, a int UNIQUE);".to_owned(), (1, 37), "UNIQUE", "whose key"),
        ("CREATE TABLE t (id int PRIMARY KEY, a float);".to_owned(), (1, 37), "type", "int, boolean and text"),
        (format!("{table}BEGIN;\nCOMMIT;"), (2, 1), "no name", "-- transaction"),
        (format!("{table}-- transaction T()\nBEGIN;\nDELETE FROM t;"), (3, 1), "no end", "COMMIT"),
        (format!("{table}-- transaction T(k)\nBEGIN;\nCOMMIT;"), (2, 1), "no type", "int"),
        (format!("{table}-- invariant a > 1"), (2, 14), "nothing is called `a`", ""),
        (txn("UPDATE t SET a = 1 WHERE id = ;"), (4, 29), "found the end", "SQL"),
        (txn("UPDATE t SET a = 1"), (5, 1), "has no end", "ends with `;`"),
        (txn("UPDTE t SET a = 1;"), (4, 1), "begins with `UPDTE`", "UPDATE"),
        (txn("PERFORM f();"), (4, 1), "begins with `PERFORM`", "a transaction has SELECT"),
        (txn("FOR r IN SELECT * FROM t LOOP DELETE FROM t; END LOOP;"), (4, 1), "loops", "for all rows"),
        (txn("WHILE 1 = 1 LOOP DELETE FROM t; END LOOP;"), (4, 1), "loops", "for each row"),
    ];
    let mut wrong = Vec::new();
    for (sql, at, message, hint) in cases {
        let errors = translate(&sql, "a.sql").expect_err(&sql);
        let error = &errors[0];
        if errors.len() > 1 && sql.contains("T(k int)") {
            wrong.push(format!("{sql}\none mistake is enough: {}", shown(&errors)));
        }
        let is_right = (error.line, error.column) == at && error.message.contains(message) && error.hint.contains(hint);
        if !is_right {
            wrong.push(format!("{sql}\nexpected {at:?} {message} ({hint})\n{error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

//! `isoscope verify`.

use crate::tool::{Folder, without_effort};
use serde_json::json;
use std::fs;
use std::path::Path;

/// Two withdrawals look at both accounts and take from one: write skew.
pub(crate) const BANK: &str = r#"table accounts(id) { balance: int }
init { accounts["x"].balance = 60; accounts["y"].balance = 60 }
txn withdraw(from, amount) {
    let total = accounts["x"].balance + accounts["y"].balance
    if total > amount { accounts[from].balance -= amount }
}
run withdraw("x", 100) || withdraw("y", 100)
invariant accounts["x"].balance + accounts["y"].balance > 0
"#;

/// Lost update: what nobody may lose is lost below update atomicity.
const COUNTER: &str = "var x: int = 0\ntxn inc() { x += 1 }\nrun inc() || inc()\ninvariant x == 2\n";

/// An observer sees a sum that no transaction leaves behind, if reads are not of one state.
pub(crate) const MOVE: &str = "var x: int = 5\nvar y: int = 5\ntxn move(n) { x -= n; y += n }\n\
    run move(any int in 0..3) || move(1)\nobserver x + y == 10\n";

/// Who goes home leaves somebody on call.
pub(crate) const ON_CALL: &str = r#"table doctors(name) { on_call: bool }
init { doctors["a"].on_call = true; doctors["b"].on_call = true; doctors["c"].on_call = true }
txn go_home(me) {
    if (count d in doctors: d.on_call) > 1 { doctors[me].on_call = false }
}
txn come(me) { doctors[me].on_call = true }
invariant "somebody is on call": exists d in doctors: d.on_call
"#;

const RIGHT: &str = "var x: int = 0\ntxn set() { x = 1 }\nrun set() || set()\ninvariant x == 1\n";

fn folder(program: &str) -> Folder {
    let folder = Folder::new();
    folder.write("p.txn", program);
    folder
}

#[test]
fn write_skew_breaks_the_bank_below_serializability() {
    let said = folder(BANK).run(&["verify", "p.txn"]).ends(1);
    assert!(said.err.is_empty(), "{said:#?}");
    said.says("Violated under 7 of these 8 levels.\n")
        .says("\nviolated  rc, ra, ua, cc, pc, psi, si\n          invariant is false (line 8)\nholds     ser\n")
        .says("Weakest level that holds: serializable (ser)\n")
        .tells("covers all runs of these 2 transactions in 2 sessions, with 16-bit integers.")
        .says("Counterexample under snapshot-isolation (si)\n")
        .tells("line 8, column 11: `accounts[\"x\"].balance + accounts[\"y\"].balance > 0`")
        .tells("withdraw#1: withdraw(\"x\", 100), sees no other transaction")
        .tells("reads accounts[\"x\"] = { balance: 60 } from the initial state (line 4)")
        .tells("writes accounts[\"x\"] = { balance: -40 }")
        .tells("Last state: accounts[\"x\"] = { balance: -40 }, accounts[\"y\"] = { balance: -40 }")
        .tells("The history, which si allows and ser forbids (write-skew):")
        .says("    init accounts.x=60 accounts.y=60\n")
        .tells("The cycle:");
}

#[test]
fn the_history_of_a_counterexample_is_ready_for_check() {
    let folder = folder(BANK);
    let said = folder.run(&["verify", "p.txn", "--level", "si", "--json"]).ends(1);
    let history = said.json()[0]["levels"][0]["counterexample"]["history"].as_str().unwrap().to_owned();
    folder.write("found.history", &history);
    folder.run(&["check", "found.history", "--level", "si"]).ends(0);
    folder.run(&["check", "found.history", "--level", "ser"]).ends(1).tells("write-skew");
}

#[test]
fn levels_come_in_lists_and_the_weakest_of_them_is_named_if_asked() {
    let folder = folder(COUNTER);
    let said = folder.run(&["verify", "p.txn", "--level", "ser,si", "-l", "snapshot-isolation"]).ends(0);
    assert!(!said.out.contains("Weakest"), "{said:#?}");
    said.says("Holds under all of these 2 levels.\n");
    let weakest = ["verify", "p.txn", "--level", "ser,si", "--weakest"];
    folder.run(&weakest).ends(0).says("Weakest level that holds: snapshot-isolation (si)\n");
    folder.run(&["verify", "p.txn"]).ends(1).says("Weakest level that holds: update-atomic (ua)\n");
    let each = folder.run(&["verify", "p.txn", "--level", "rc,cc,si"]).ends(1);
    each.says("Counterexample under read-committed (rc)").says("Counterexample under causal-consistency (cc)");
}

#[test]
fn eventual_consistency_is_read_atomicity_for_programs() {
    let folder = folder(COUNTER);
    folder.run(&["verify", "p.txn", "--level", "ec"]).ends(1).says("violated  ra\n");
    folder.run(&["verify", "--help"]).ends(0).tells("ec eventual consistency");
}

#[test]
fn what_holds_says_for_what() {
    let said = folder(RIGHT).run(&["verify", "p.txn"]).ends(0);
    let said = said.tells("Not certified: \"holds\" rests on the search itself.");
    said.says("Holds under all of these 8 levels.\n")
        .says("Weakest level that holds: read-committed (rc)\n")
        .tells("\"Holds\" covers all runs of these 2 transactions in 2 sessions, with 16-bit integers.");
}

#[test]
fn an_observer_sees_what_is_wrong_for_a_moment() {
    let said = folder(MOVE).run(&["verify", "p.txn"]).ends(1);
    said.says("Violated under 1 of these 8 levels.\n")
        .tells("observer is false at some time (line 5)")
        .tells("Open values: move#1.n = ")
        .tells("and all choices of 1 open value.")
        .tells("An observer, who only looks:")
        .says("Weakest level that holds: read-atomic (ra)\n");
}

#[test]
fn failures_inside_transactions_are_shown_where_they_are() {
    let assertion = "var x: int = 0\ntxn a() { x += 1 }\ntxn b() {\n  assert x == 0\n}\nrun a() || b()\n";
    folder(assertion)
        .run(&["verify", "p.txn", "--level", "ser"])
        .ends(1)
        .tells("an assertion is false in b (line 4)")
        .tells("which is serializable and so allowed by ser and all other levels");
    let overflow = "width 8\nvar x: int = 100\ntxn a() { x += 100 }\nrun a()\ninvariant x > 0\n";
    folder(overflow)
        .run(&["verify", "p.txn", "--level", "ser"])
        .ends(1)
        .tells("a number leaves the range of its integers in a (line 3)")
        .tells("this 1 transaction in 1 session, with 8-bit integers");
    let claim = "width 8\nvar x: int = 100\ntxn a() { x = 90 }\nrun a()\ninvariant x + x > 0\n";
    folder(claim)
        .run(&["verify", "p.txn", "--level", "ser"])
        .ends(1)
        .tells("a number leaves the range of its integers in a condition (line 5)");
}

#[test]
fn repairs_are_reads_to_lock_or_transactions_to_raise() {
    let said = folder(BANK).run(&["verify", "p.txn", "--repair"]).ends(1);
    said.says("Repairs under snapshot-isolation (si), each enough by itself:\n")
        .tells("lock what is read, with `for update`: line 4, column 17: `accounts[\"x\"].balance`")
        .tells("run withdraw at serializable");
    let said = folder(BANK).run(&["verify", "p.txn", "--level", "si,psi", "--repair", "--json"]).ends(1);
    let repairs = &said.json()[0]["repairs"];
    assert_eq!(repairs.as_array().map(Vec::len), Some(2), "{repairs}");
    assert_eq!(repairs[1]["level"], "si");
    let lock = json!({ "lock": [{ "line": 4, "column": 17, "text": "accounts[\"x\"].balance" }] });
    assert_eq!(repairs[1]["changes"][0], lock);
    folder(RIGHT).run(&["verify", "p.txn", "--repair"]).ends(0);
}

#[test]
fn the_json_has_a_stable_shape() {
    let said = folder(COUNTER).run(&["verify", "p.txn", "--json"]).ends(1);
    let document = &said.json()[0];
    assert_eq!((&document["isoscope"], &document["verb"]), (&json!(2), &json!("verify")));
    assert_eq!(document["inputs"], json!(["p.txn"]));
    assert_eq!(document["weakest"], json!(["ua"]));
    assert_eq!(document["repairs"], json!([]));
    assert!(document["seconds"].as_f64().is_some_and(|it| it > 0.0));
    let verdicts: Vec<(&str, &str)> = document["levels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["level"].as_str().unwrap(), it["verdict"].as_str().unwrap()))
        .collect();
    let (yes, no) = ("holds", "violated");
    let expected =
        [("rc", no), ("ra", no), ("ua", yes), ("cc", no), ("pc", no), ("psi", yes), ("si", yes), ("ser", yes)];
    assert_eq!(verdicts, expected);
    let found = &document["levels"][4]["counterexample"];
    assert_eq!(found["anomalies"], json!(["lost-update"]));
    assert_eq!(found["last_state"], json!([["x", "1"]]));
    assert_eq!(found["wrong"][0]["text"], "x == 2");
    assert!(document["levels"][2].get("counterexample").is_none());
}

#[test]
fn reports_are_written_and_rendered_again() {
    let folder = folder(BANK);
    let arguments = ["verify", "p.txn", "--report", "why.json", "--report", "why.html", "--report", "why.svg"];
    let said = folder.run(&arguments).ends(1);
    assert_eq!(folder.run(&["report", "why.json"]).ends(0).out, said.out);
    folder.run(&["report", "why.json", "-o", "again.html", "-o", "again.svg", "-o", "why.dot"]).ends(0);
    for ending in ["html", "svg"] {
        assert_eq!(folder.read(&format!("again.{ending}")), folder.read(&format!("why.{ending}")));
    }
    let page = folder.read("why.html");
    assert!(page.contains("<mark>invariant accounts[&quot;x&quot;].balance"), "{page}");
    assert!(folder.read("why.dot").starts_with("digraph \"Violated under snapshot-isolation (si)\""));
}

#[test]
fn equal_questions_have_equal_answers() {
    let folder = folder(MOVE);
    let ask = || {
        let mut document = folder.run(&["verify", "p.txn", "--json"]).ends(1).json().remove(0);
        without_effort(&mut document);
        document.to_string()
    };
    assert_eq!(ask(), ask());
}

#[test]
fn every_kind_of_mistake_is_pointed_at() {
    let cases = [
        ("syntax", "var x: int = 0\ntxn a() { x = }\nrun a()\n", "p.txn: line 2, column 15: "),
        ("type", "var x: int = 0\ntxn a() { x = true }\nrun a()\n", "p.txn: line 2, column 15: "),
        ("name", "var x: int = 0\ntxn a() { z = 1 }\nrun a()\n", "p.txn: line 2, column 11: nothing is called `z`"),
        ("txn", "var x: int = 0\ntxn a() { x = 1 }\nrun c()\n", "p.txn: line 3, column 5: "),
        ("empty", "", "p.txn: line 1, column 1: nothing runs"),
    ];
    for (kind, program, words) in cases {
        let said = folder(program).run(&["verify", "p.txn"]).ends(2).complains(words);
        assert!(said.out.is_empty(), "{kind}: {said:#?}");
        assert!(program.is_empty() || said.err.contains("^\n"), "{kind}: {said:#?}");
        assert!(said.err.contains("hint: "), "{kind}: {said:#?}");
    }
}

#[test]
fn a_key_without_a_bound_is_refused() {
    let program = "table seats(no) { taken: bool }\ntxn take(n) { insert seats[n] { taken: true } }\n\
        run take(any int)\ninvariant true\n";
    let said = folder(program).run(&["verify", "p.txn"]).ends(2);
    said.complains("p.txn: line ")
        .complains("this key may be any of too many values")
        .complains("hint: give it a range");
}

/// Every counterexample is replayed and checked on the way: a mismatch would be a bug message and an unknown level.
#[test]
fn the_programs_of_the_corpus_have_the_verdicts_that_they_expect() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/programs");
    let mut n_programs = 0;
    for entry in fs::read_dir(programs).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let Some(expected) = text.lines().find_map(|it| it.strip_prefix("// expect: ")) else { continue };
        let said = folder(&text).run(&["verify", "p.txn", "--json"]);
        assert!(said.err.is_empty(), "{}: {said:#?}", path.display());
        let document = said.json().remove(0);
        let word = |it: &serde_json::Value, member: &str| it[member].as_str().unwrap().to_owned();
        let levels = document["levels"].as_array().unwrap();
        let found: Vec<String> =
            levels.iter().map(|it| format!("{}={}", word(it, "level"), word(it, "verdict"))).collect();
        assert_eq!(found.join(" "), expected, "{}", path.display());
        n_programs += 1;
    }
    assert!(n_programs > 20, "{n_programs}");
}

#[test]
fn levels_and_files_that_are_not_there_are_named() {
    let folder = folder(COUNTER);
    folder.run(&["verify", "p.txn", "--level", "xy"]).ends(2).complains("there is no level `xy` for programs");
    let strict = folder.run(&["verify", "p.txn", "--level", "sser"]).ends(2);
    strict.complains("programs cannot be verified under strict-serializable (`sser`); choose one of rc, ra");
    folder.run(&["verify", "q.txn"]).ends(2).complains("cannot open q.txn");
    folder.run(&["verify", "."]).ends(2).complains("is a directory; name a program");
    folder.run(&["verify"]).ends(2);
}

#[test]
fn a_limit_leaves_levels_unknown() {
    let many = ["a(any int in 0..3)"; 6].join(" || ");
    let hard = format!(
        "width 24\nvar x: int = 1\nvar y: int = 1\ntxn a(n) {{ x = x * n; y = y + x * x }}\nrun {many}\n\
         invariant x * y >= 0\n"
    );
    let said = folder(&hard).run(&["verify", "p.txn", "--level", "si", "--timeout", "100ms"]).ends(3);
    said.says("unknown   si\n          the time limit was reached\n")
        .complains("give it more with --timeout, or ask for one level with --level");
}

const READ_FIRST: &str =
    "var x: int = 0\ntxn add() {\n    let n = x\n    x = n + 1\n}\nrun add() || add()\ninvariant x == 2\n";

#[test]
fn a_database_has_its_own_levels() {
    let said = folder(COUNTER).run(&["verify", "p.txn", "--database", "postgres"]).ends(0);
    said.says("holds     postgres.rc, postgres.rr, postgres.ser\n")
        .says("Weakest level that holds: READ COMMITTED on PostgreSQL (postgres.rc)\n");
    let said = folder(READ_FIRST).run(&["verify", "p.txn", "--database", "mariadb"]).ends(1);
    said.says("violated  mysql.rc, mysql.rr\n").says("holds     mariadb.si, mysql.ser\n");
    folder(READ_FIRST).run(&["verify", "p.txn", "--database", "SQLite"]).ends(0).says("holds     sqlite.ser\n");
    folder(COUNTER).run(&["verify", "p.txn"]).ends(1).tells("add --database postgres, mysql, mariadb or sqlite");
}

#[test]
fn a_level_of_a_database_can_be_named() {
    let said = folder(READ_FIRST).run(&["verify", "p.txn", "--level", "mysql.rr,postgres.rc,si"]).ends(1);
    said.says("holds     si\n").says("violated  postgres.rc, mysql.rr\n");
    folder(COUNTER)
        .run(&["verify", "p.txn", "--database", "oracle"])
        .ends(2)
        .complains("programs know no database `oracle`; choose one of postgres, mysql, mariadb, sqlite");
    folder(COUNTER).run(&["verify", "p.txn", "--level", "mysql.ru"]).ends(2).complains("or a level of a database");
}

/// What `PostgreSQL` does with rows that are made anew is not all looked at.
#[test]
fn what_holds_says_which_rows_it_is_about() {
    let remade = "table t(k) { n: int }\ninit { insert t[1] { n: 1 } }\ntxn renew() {\n    delete t[1]\n    \
        insert t[1] { n: 2 }\n}\ntxn look() {\n    let n = t[1].n\n}\nrun renew() || look()\ninvariant exists t[1]\n";
    let words = "At postgres.rc and postgres.rr, \"holds\" is about rows that are made once";
    folder(remade).run(&["verify", "p.txn", "--database", "postgres"]).ends(0).tells(words);
    let said = folder(remade).run(&["verify", "p.txn", "--database", "postgres", "--json"]).ends(0);
    assert!(said.json().remove(0)["covers"].as_str().is_some_and(|it| it.contains("made once")));
    let said = folder(remade).run(&["verify", "p.txn", "--database", "mysql", "--json"]).ends(0);
    assert!(said.json().remove(0)["covers"].is_null(), "InnoDB knows a row by its key");
    let said = folder(COUNTER).run(&["verify", "p.txn", "--database", "postgres", "--json"]).ends(0);
    assert!(said.json().remove(0)["covers"].is_null(), "nothing is deleted");
}

/// An update locks its row anyway, so nobody is told to lock it.
#[test]
fn repairs_are_what_helps_on_that_database() {
    let said = folder(READ_FIRST).run(&["verify", "p.txn", "--level", "postgres.rc", "--repair"]).ends(1);
    said.says("  - compute inside of the statement, with `+=` or `-=`: line 4, column 5: `x = n + 1`\n")
        .says("  - lock what is read, with `for update`: line 3, column 13: `x`\n")
        .says("  - run every transaction at REPEATABLE READ on PostgreSQL (postgres.rr)\n");
    let skew = "var x: int = 1\nvar y: int = 1\ntxn a() { if y > 0 { x -= 1 } }\ntxn b() { if x > 0 { y -= 1 } }\n\
        run a() || b()\ninvariant x + y > 0\n";
    let said = folder(skew).run(&["verify", "p.txn", "--level", "mysql.rc", "--repair", "--json"]).ends(1);
    let changes = said.json().remove(0)["repairs"][0]["changes"].to_string();
    assert!(!changes.contains("-="), "{changes}");
    assert!(changes.contains("\"lock\"") && changes.contains("\"mysql.ser\""), "{changes}");
}

#[test]
fn a_program_runs_on_a_database() {
    let said = folder(READ_FIRST).run(&["verify", "p.txn", "--run", "sqlite:", "--interleavings", "8"]).ends(0);
    said.says("holds     sqlite.ser\n").tells(": 8 interleavings (seed 1), nothing was wrong in any.");
    let broken = "var x: int = 0\ntxn add() { x += 1 }\nrun add() || add()\ninvariant \"one\": x == 1\n";
    let said = folder(broken).run(&["verify", "p.txn", "--run", "sqlite:", "--interleavings", "3", "--json"]).ends(1);
    let document = said.json().remove(0);
    assert_eq!(document["server"]["broken"], 3, "{document:#}");
    assert_eq!(document["server"]["first"]["wrong"][0], "invariant \"one\" is false", "{document:#}");
    let refused = folder(COUNTER).run(&["verify", "p.txn", "--run", "sqlite:", "-i", "rr"]).ends(2);
    refused.complains("has no isolation level `rr`; choose one of serializable");
    folder(COUNTER).run(&["verify", "p.txn", "--run", "store:rc"]).ends(2);
}

#[test]
fn any_number_of_transactions_is_decided_level_by_level() {
    let folder = folder(ON_CALL);
    let said = folder.run(&["verify", "p.txn", "--any-number"]).ends(1);
    said.says("violated  postgres.rc, si\n")
        .says("holds     ser\n")
        .tells("Weakest level that holds: serializable (ser)")
        .tells("covers any number of go_home and come at any time, with any arguments on the rows doctors[\"a\"]")
        .tells("What is claimed is kept, alone and from every state in which it holds, by go_home and come.");
    let said = folder.run(&["verify", "p.txn", "--any-number", "--level", "ser"]).ends(0);
    assert!(!said.out.contains("Not certified"), "{said:#?}");
    let document = folder.run(&["verify", "p.txn", "--any-number", "--database", "postgres", "--json"]).ends(1);
    let document = document.json().remove(0);
    let levels = document["levels"].as_array().unwrap();
    let all: Vec<_> =
        levels.iter().map(|it| (it["level"].as_str().unwrap(), it["verdict"].as_str().unwrap())).collect();
    assert_eq!(all, [("postgres.rc", "violated"), ("postgres.rr", "violated"), ("postgres.ser", "holds")]);
    let robust = json!({ "postgres.rc": false, "postgres.rr": false, "postgres.ser": true });
    assert_eq!(document["any_number"]["robust"], robust);
    let chosen = document["levels"][1]["counterexample"]["chosen"].as_array().unwrap();
    assert!(chosen.len() >= 2 && chosen.iter().all(|it| it == "go_home"), "{chosen:?}");
}

#[test]
fn any_number_is_unknown_where_a_claim_is_not_kept_alone_and_no_run_breaks_it() {
    let text = "var x: int = 0\nvar y: int = 0\ntxn up() { if y == 0 { x = 0 } else { x = -1 } }\n\
        txn down() { x = 0 }\ninvariant x >= 0\n";
    let folder = folder(text);
    folder
        .run(&["verify", "p.txn", "--any-number", "--level", "ser"])
        .ends(3)
        .tells("up may break it from a state in which everything claimed holds")
        .tells("no run of up to 4 transactions breaks it")
        .tells("Not enough by itself: up, from a state that need not be one that is ever reached");
    // What makes the state impossible is one more claim.
    folder.write("p.txn", format!("{text}invariant y == 0\n"));
    folder.run(&["verify", "p.txn", "--any-number", "--level", "ser"]).ends(0).tells("Holds for any number");
}

#[test]
fn any_number_says_what_it_does_not_look_at() {
    let folder = folder("var x: int = 0\ntxn up() { x += 1 }\ninvariant x >= 0\n");
    folder
        .run(&["verify", "p.txn", "--any-number", "--database", "postgres"])
        .ends(0)
        .tells("as long as numbers fit in 16 bits")
        .tells("Weakest level that holds: READ COMMITTED on PostgreSQL (postgres.rc)");
    folder.write("p.txn", "var x: int = 0\ntxn up() { x += 1; assert x > 0 }\nrun up()\ninvariant x >= 0\n");
    folder.run(&["verify", "p.txn", "--any-number", "--level", "postgres.rc"]).ends(3).tells("up asserts something");
    folder.run(&["verify", "p.txn", "--any-number", "--level", "ser"]).ends(0);
    folder.write("p.txn", "var x: int = -1\ntxn up() { x += 1 }\ninvariant x >= 0\n");
    folder.run(&["verify", "p.txn", "--any-number", "--level", "ser"]).ends(1).tells("invariant is false");
    folder.write("p.txn", "table t(k) { n: int }\ntxn up(k) { t[k].n += 1 }\ninvariant forall r in t: r.n >= 0\n");
    folder.run(&["verify", "p.txn", "--any-number"]).ends(2).complains("has no rows").complains("p.txn: line 1");
    folder.write("p.txn", "var x: int = 0\ntxn up() { x += 1 }\nassume x > 0\ninvariant x >= 0\n");
    folder
        .run(&["verify", "p.txn", "--any-number", "--level", "ser"])
        .ends(3)
        .tells("no initial state satisfies what is assumed");
    for (option, word) in [("rc", "postgres.rc"), ("psi", "postgres.rc")] {
        folder.run(&["verify", "p.txn", "--any-number", "--level", option]).ends(2).complains(word);
    }
    folder.run(&["verify", "p.txn", "--any-number", "--database", "mysql"]).ends(2).complains("only for postgres");
}

//! `isoscope allocate`.

use crate::promises::server;
use crate::tool::Folder;
use iso_servers::Kind;
use serde_json::json;
use std::fs;

/// Two doctors go home, and somebody counts what they earn.
pub(crate) const DOCTORS: &str = "table doctors(name) { on_call: bool, earned: int }\n\
    txn go_home(me, other) {\n    if doctors[other].on_call { doctors[me].on_call = false }\n}\n\
    txn pay(who, amount) { doctors[who].earned += amount }\n\
    txn payslip(who) { let earned = doctors[who].earned }\n";

fn folder(program: &str) -> Folder {
    let folder = Folder::new();
    folder.write("p.txn", program);
    folder
}

#[test]
fn each_transaction_has_the_weakest_level_with_its_statement() {
    let said = folder(DOCTORS).run(&["allocate", "p.txn", "--database", "postgres"]).ends(0);
    assert!(said.err.is_empty(), "{said:#?}");
    said.tells("Every run of any number of these 3 transactions is serializable, if each is at its level:")
        .says("  go_home  postgres.ser  SET TRANSACTION ISOLATION LEVEL SERIALIZABLE\n")
        .says("  pay      postgres.rc   SET TRANSACTION ISOLATION LEVEL READ COMMITTED\n")
        .says("  payslip  postgres.rc   SET TRANSACTION ISOLATION LEVEL READ COMMITTED\n")
        .tells("All of them at one level: postgres.rc not robust, postgres.rr not robust, postgres.ser robust.")
        .says("go_home at REPEATABLE READ on PostgreSQL (postgres.rr) is not enough\n")
        .tells("go_home is interrupted, and another go_home runs in between.")
        .tells("`doctors[other].on_call` (line 3), then `doctors[me].on_call = false` (line 3)")
        .tells("is enough if what is read is locked, with `for update`: line 3, column 8: `doctors[other].on_call`")
        .tells("which postgres.rr allows and ser forbids (write-skew):");
}

#[test]
fn scripts_get_robust_and_allocation() {
    let document = &folder(DOCTORS).run(&["allocate", "p.txn", "--json"]).ends(0).json()[0];
    assert_eq!(document["verb"], "allocate");
    assert_eq!(document["verdict"], "robust");
    assert_eq!(document["robust"], json!({ "postgres.rc": false, "ser": true, "si": false }));
    assert_eq!(document["allocation"], json!({ "go_home": "ser", "pay": "postgres.rc", "payslip": "postgres.rc" }));
    assert_eq!(document["not_certified"], json!(null));
    let blocked = &document["transactions"][0]["blocked"][1];
    assert_eq!(blocked["level"], "si");
    assert_eq!(blocked["members"], json!(["go_home", "go_home"]));
    assert!(blocked["counterexample"]["history"].as_str().unwrap().contains("doctors.on_call/1"));
}

/// What was read before is written again, though it has not changed the value.
#[test]
fn a_run_has_the_write_that_loses_an_update() {
    let text = "table t(id) { n: int }\ntxn add(k) { t[k].n += 1 }\ntxn slow(k) {\n    let v = t[k].n\n    t[k].n = v + 1\n}\n";
    let said = folder(text).run(&["allocate", "p.txn", "--database", "postgres"]).ends(0);
    said.tells("which postgres.rc allows and ser forbids (non-repeatable-read):").tells("u(t/1,105,105) }");
}

/// Whoever has found a customer whom nobody removes is not overtaken by the one who makes that customer.
#[test]
fn a_row_that_was_found_is_not_made_later() {
    let text = "table customers(id)\ntable orders(id) { customer: int, paid: int }\n\
        txn sign_up(id) { insert customers[id] }\n\
        txn order(id, customer) {\n    if exists customers[customer] { insert orders[id] { customer: customer } }\n}\n\
        txn revenue() { let all = sum o in orders: o.paid }\n";
    let document = &folder(text).run(&["allocate", "p.txn", "--database", "postgres", "--json"]).ends(0).json()[0];
    assert_eq!(document["allocation"]["sign_up"], "postgres.rc");
    assert_eq!(document["allocation"]["order"], "postgres.rc");
    let leaves = "txn leave(id) { delete customers[id] }\ntxn tidy(id) { if not exists o in orders: o.customer == id { delete \
        customers[id] } }\n";
    let document = &folder(&format!("{text}{leaves}")).run(&["allocate", "p.txn", "--json"]).ends(0).json()[0];
    assert_eq!(document["allocation"]["order"], "ser");
}

/// The program forbids what the split runs allow; the answer says that it does not know, and claims nothing that has no run.
#[test]
fn what_has_no_run_is_not_known() {
    let courses = include_str!("../../corpus/templates/courseware.txn");
    let folder = folder(courses);
    let said = folder.run(&["allocate", "p.txn"]).ends(0);
    said.says("  add_student    postgres.rc\n")
        .says("  add_course     ser\n")
        .says("add_course at READ COMMITTED on PostgreSQL (postgres.rc) is not known to be enough\n")
        .tells("So nothing shows that the weaker level is enough, and no run shows that it is not.");
    folder.write("saved.json", &folder.run(&["allocate", "p.txn", "--json"]).ends(0).out);
    folder.run(&["certify", "saved.json"]).ends(0);
}

#[test]
fn one_level_is_a_question_with_an_exit_code() {
    let bad = folder(DOCTORS);
    bad.run(&["allocate", "p.txn", "--levels", "si"])
        .ends(1)
        .tells("Not robust: at snapshot-isolation (si), there are runs");
    let good = folder(&DOCTORS.replace("doctors[other].on_call {", "doctors[other].on_call for update {"));
    good.run(&["allocate", "p.txn", "--levels", "rc"]).ends(0).tells(
        "Robust: every run of any number of these 3 transactions is serializable, with all of them at READ COMMITTED",
    );
    let document = &good.run(&["allocate", "p.txn", "--levels", "si", "--json"]).ends(0).json()[0];
    assert_eq!(document["robust"], json!({ "si": true }));
}

#[test]
fn a_page_shows_levels_and_runs() {
    let folder = folder(DOCTORS);
    folder
        .run(&[
            "allocate", "p.txn", "--report", "p.html", "--report", "p.svg", "--report", "p.dot", "--report", "p.json",
        ])
        .ends(0);
    let page = fs::read_to_string(folder.path("p.html")).unwrap();
    assert!(page.contains("go_home at snapshot-isolation (si) is not enough"), "{page}");
    assert!(page.contains("Why no serial order explains it"));
    assert!(fs::read_to_string(folder.path("p.svg")).unwrap().contains("go_home"));
    assert!(fs::read_to_string(folder.path("p.dot")).unwrap().contains("\"go_home\" -> \"go_home\""));
    let again = folder.run(&["report", "p.json"]).ends(0);
    assert!(again.out.contains("go_home"), "{again:#?}");
}

#[test]
fn what_values_forbid_is_not_called_a_run() {
    let text = "table seats(no) { taken: bool }\ntable names(no)\n\
        txn rename(no, to) {\n    if 1 == 2 { if exists names[no] { insert names[to] } }\n}\n";
    let document = &folder(text).run(&["allocate", "p.txn", "--json"]).ends(0).json()[0];
    assert_eq!(document["allocation"]["rename"], "postgres.rc");
}

#[test]
fn questions_that_cannot_be_asked_say_why() {
    let folder = folder(DOCTORS);
    folder.run(&["allocate", "p.txn", "--levels", "pc"]).ends(2).complains("choose from rc, si, rr and ser");
    folder.run(&["allocate", "p.txn", "--levels", "si,rr"]).ends(2).complains("choose one of them");
    folder.run(&["allocate", "p.txn", "--database", "mysql"]).ends(2).complains("only postgres");
    folder.run(&["allocate", "none.txn"]).ends(2).complains("cannot open none.txn");
    folder.write("bad.txn", "table t(id) { a: int }\ntxn x(k) { t[k].b = 1 }\n");
    folder.run(&["allocate", "bad.txn"]).ends(2).complains("bad.txn: line 2, column 17: `t` has no field `b`");
    folder.write("empty.txn", "table t(id) { a: int }\n");
    folder.run(&["allocate", "empty.txn"]).ends(2).complains("there are no transactions");
}

/// The bank of the papers on robustness.
fn smallbank() -> String {
    fs::read_to_string("corpus/templates/smallbank.txn").unwrap()
}

#[test]
fn transactions_run_on_postgresql_at_the_levels_of_their_allocation_and_are_serializable() {
    let Some(server) = server(Kind::PostgreSql, &["deadlock_timeout=50ms"]) else { return };
    let (folder, url) = (folder(&smallbank()), server.url());
    let levels = folder.run(&["allocate", "p.txn", "--database", "postgres", "--json"]).ends(0);
    folder.write("levels.json", &levels.out);
    let collect = ["collect", &url, "--program", "p.txn", "--levels", "levels.json", "--keys", "3", "--retry"];
    let amount = ["--sessions", "6", "--txns", "40", "-o", "run.jsonl"];
    let said = folder.run(&[&collect[..], &amount[..]].concat()).ends(0);
    said.tells("serializable").tells("committed");
    folder.run(&["check", "run.jsonl", "--level", "ser"]).ends(0).tells("holds");
    // All at one level that is too weak, the history need not be serializable; it is what that level promises.
    let collect = ["collect", &url, "--program", "p.txn", "-i", "read-committed", "--keys", "3", "--retry"];
    let amount = ["--sessions", "6", "--txns", "40", "-o", "weak.jsonl"];
    folder.run(&[&collect[..], &amount[..]].concat()).ends(0);
    folder.run(&["check", "weak.jsonl", "--level", "postgres.rc"]).ends(0).tells("holds");
}

#[test]
fn programs_that_cannot_run_at_their_levels_say_why() {
    let folder = folder(&smallbank());
    let levels = folder.run(&["allocate", "p.txn", "--json"]).ends(0);
    folder.write("levels.json", &levels.out);
    let run = |url: &str, program: &str, more: &[&str]| {
        folder.run(&[&["collect", url, "--program", program, "-o", "run.jsonl"], more].concat())
    };
    run("sqlite:", "p.txn", &["--levels", "levels.json"]).ends(2).complains("an allocation is about PostgreSQL");
    run("sqlite:", "p.txn", &["--mix", "serializable:1"]).ends(2).complains("--mix");
    run("sqlite:", "gone.txn", &[]).ends(2).complains("gone.txn");
    folder.write("wide.txn", "table t(k) { a: int, b: int }\ntxn up(k) { t[k].a += 1 }\n");
    run("sqlite:", "wide.txn", &[]).ends(2).complains("rows of `t` have several fields");
    run("sqlite:", "p.txn", &["--sessions", "2", "--txns", "5", "--keys", "2"]).ends(0).tells("every invariant holds");
    folder.run(&["check", "run.jsonl", "--level", "ser"]).ends(0);
}

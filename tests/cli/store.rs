//! `isoscope store`.

use crate::tool::Folder;

const SMALLBANK: [&str; 11] =
    ["store", "run", "smallbank", "--level", "cc", "--policy", "random", "--seed", "7", "-o", "run.jsonl"];

#[test]
fn a_run_says_what_ran_what_held_and_what_comes_next() {
    let folder = Folder::new();
    folder
        .run(&SMALLBANK)
        .ends(1)
        .tells("smallbank under causal-consistency (cc), random reads: 3 sessions of 8 transactions, seed 7.")
        .says("aborted by the application, 0 by the store.")
        .says("  FAILED  money is conserved: the accounts have ")
        .says("but there must be 25000\n")
        .says("  ok      no account is overdrawn\n")
        .says("The history is in run.jsonl. Next:\n  isoscope check run.jsonl\n")
        .says("  isoscope predict run.jsonl --level cc --validate smallbank\n");
    folder.run(&["check", "run.jsonl", "--level", "cc"]).ends(0);
    folder.run(&["check", "run.jsonl", "--level", "ser"]).ends(1);
}

#[test]
fn a_page_has_what_failed_and_the_transactions() {
    let folder = Folder::new();
    let reports = ["--report", "run.html", "--report", "run.json", "--report", "run.txt"];
    let said = folder.run(&[SMALLBANK.as_slice(), &reports].concat()).ends(1);
    let page = folder.read("run.html");
    let headline = "<h1>smallbank under causal-consistency (cc): 1 of 2 assertions does not hold.</h1>";
    assert!(page.contains(headline) && page.contains("<b>FAILED</b> money is conserved"), "{page}");
    assert!(page.contains("isoscope predict run.jsonl --level cc --validate smallbank"), "{page}");
    assert_eq!(folder.read("run.txt"), said.out);
    let again = folder.run(&["report", "run.json"]).ends(0);
    assert_eq!(again.out, said.out);
    folder.run(&["report", "run.json", "-o", "again.html"]).ends(0);
    assert_eq!(folder.read("again.html"), page);
}

#[test]
fn the_same_options_give_the_same_bytes() {
    let (one, other) = (Folder::new(), Folder::new());
    assert_eq!(one.run(&SMALLBANK).ends(1).out, other.run(&SMALLBANK).ends(1).out);
    assert_eq!(one.read("run.jsonl"), other.read("run.jsonl"));
    let header = one.read("run.jsonl");
    let header: serde_json::Value = serde_json::from_str(header.lines().next().unwrap()).unwrap();
    assert_eq!(header["origin"]["application"], "smallbank");
    assert_eq!(header["origin"]["store"], "cc");
    assert_eq!(header["origin"]["seed"], 7);
}

#[test]
fn a_store_can_have_the_level_of_a_database() {
    let folder = Folder::new();
    let run = ["store", "run", "smallbank", "--level", "postgres.rc", "--policy", "adversarial", "--seed", "4"];
    folder
        .run(&[run.as_slice(), &["-o", "run.jsonl"]].concat())
        .ends(1)
        .tells("smallbank under postgres-read-committed (postgres.rc), adversarial reads")
        .says("  FAILED  money is conserved: the accounts have ")
        .says("  isoscope predict run.jsonl --level postgres.rc --validate smallbank\n");
    folder.run(&["check", "run.jsonl", "--level", "postgres.rc"]).ends(0);
    folder.run(&["check", "run.jsonl", "--level", "si"]).ends(1);
    assert!(folder.read("run.jsonl").contains("\"u\""), "updates are recorded as such");
    for level in ["postgres.rr", "postgres.ser", "mysql.ser", "mariadb.si", "sqlite.ser"] {
        folder.run(&["store", "run", "smallbank", "--level", level, "--retry"]).ends(0);
    }
    folder
        .run(&["store", "run", "smallbank", "--level", "mysql.ru"])
        .ends(2)
        .complains("the store cannot be as weak or strong as read-uncommitted")
        .complains("mysql.rr");
}

#[test]
fn a_strong_store_keeps_what_must_hold() {
    let folder = Folder::new();
    for app in ["smallbank", "voter", "tpcc", "courseware"] {
        folder
            .run(&["store", "run", app, "--level", "ser", "--retry"])
            .ends(0)
            .says("The history is not saved; with -o run.jsonl it is.\n");
    }
    let said = folder.run(&["store", "run", "tpcc", "--level", "ser", "-o", "run.jsonl.gz"]).ends(0);
    assert!(!said.out.contains("predict"), "{said:#?}");
    folder.run(&["check", "run.jsonl.gz", "--level", "ser"]).ends(0);
}

#[test]
fn the_history_can_go_to_standard_output() {
    let folder = Folder::new();
    let run = ["store", "run", "voter", "--level", "rc", "--sessions", "2", "--txns", "1", "-o", "-"];
    let said = folder.run(&run);
    assert_eq!(said.out.lines().count(), 3, "{said:#?}");
    said.complains("The history is on standard output.");
    folder.run(&[&run[..], &["--json"]].concat()).ends(2).complains("both write to standard output");
}

#[test]
fn transactions_are_listed_by_what_they_were() {
    let folder = Folder::new();
    let run = ["store", "run", "tpcc", "--level", "si", "--seed", "1", "--list"];
    let said = folder.run(&run).ends(0);
    let lines = |word: &str| said.out.lines().filter(|it| it.contains(word)).count();
    assert!(lines("NewOrder(") > 5 && lines("Payment(") > 5, "{said:#?}");
    assert!(lines("  conflict: ") > 0, "{said:#?}");
    let document = folder.run(&[&run[..], &["--json"]].concat()).ends(0).json().remove(0);
    assert_eq!(document["verb"], "store");
    assert_eq!(document["transactions"].as_array().unwrap().len(), 24);
    assert_eq!(document["assertions"].as_array().unwrap().len(), 12);
    assert!(document["conflicts"].as_u64().unwrap() > 0);
    assert_eq!(document["history"]["sessions"], 3);
}

#[test]
fn applications_are_listed() {
    let folder = Folder::new();
    folder.run(&["store", "apps"]).ends(0).says("smallbank       a bank").says("isoscope store run APP");
    let document = folder.run(&["store", "apps", "--json"]).ends(0).json().remove(0);
    assert!(document["applications"].as_array().unwrap().iter().any(|it| it["name"] == "tpcc"));
}

#[test]
fn bad_questions_are_refused_with_what_there_is() {
    let folder = Folder::new();
    let bad = |options: &[&str], words: &str| {
        folder.run(&[&["store", "run"], options].concat()).ends(2).complains(words);
    };
    bad(&["petstore"], "there is no application `petstore`; choose one of smallbank, smallbank-full, voter, tpcc");
    bad(&["voter", "--level", "ru"], "read-uncommitted (`ru`); choose one of rc, ra, cc, pc, psi, si, ser");
    bad(&["voter", "--level", "rr"], "there is no level `rr` for the store; choose one of rc");
    bad(&["voter", "--policy", "newest"], "there is no policy `newest`; choose one of latest, random, adversarial");
    bad(&["voter", "--sessions", "0"], "without a session nothing runs; write a number from 1 to 100");
    bad(&["voter", "--txns", "-1"], "write a number from 1 to 10000");
    bad(&["voter", "-o", "run.history"], "ends in .jsonl");
    bad(&["voter", "--report", "run.dot"], "run.dot: what store did is no graph; its report is .html");
    bad(&["voter", "-o", "gone/run.jsonl"], "there is no folder gone");
    folder.run(&["store"]).ends(2);
}

#[test]
fn a_run_that_takes_too_long_is_unknown() {
    let run = ["store", "run", "tpcc", "--sessions", "100", "--txns", "10000", "--timeout", "200ms"];
    Folder::new().run(&run).ends(3).complains("run fewer transactions with --txns");
}

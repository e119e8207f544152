//! `isoscope separate`.

use crate::tool::{Folder, without_effort};
use serde_json::json;

/// One level of its own, one that looks only at session order, and a mistake.
pub(crate) const MINE: &str = "import cerone\n/// Prefixes.\nlevel mine in cerone = cerone.ra and cerone.prefix\n";
const SHAPE: &str = "import biswas\nlevel unforked in biswas = biswas.ra and forall a, b, c:\n    \
    so(a, b) and so(a, c) implies a in init or b = c or so(b, c) or so(c, b)\n";
const WRONG: &str = "import cerone\n\nlevel wrong in cerone = cerone.ra and transitive(viz)\n";

/// A scope in which nobody knows how to search quickly for what prefix consistency forbids.
pub(crate) const HARD: [&str; 6] = ["--keys", "1", "--txns", "30", "--values", "30"];

#[test]
fn the_smallest_history_is_shown_with_evidence_for_both_sides() {
    let said = Folder::new().run(&["separate", "--allow", "pc", "--forbid", "si"]).ends(1);
    assert!(said.err.is_empty(), "{said:#?}");
    said.tells("biswas.pc allows and biswas.si forbids this history (2 transactions, 1 key); none smaller does.")
        .says("    s1: { r(x,0) w(x,1) }\n    s2: { r(x,0) w(x,2) }\n")
        .says("Allowed by biswas.pc:\n  co: s1.1 < s2.1\n")
        .tells("Forbidden by biswas.si (lost-update):")
        .tells("s1.1 --rw x--> s2.1")
        .tells("Scope: up to 4 transactions, 3 keys, 4 values; sessions are chains; blind writes.")
        .tells("evidence certified");
}

#[test]
fn what_a_stronger_level_allows_a_weaker_one_does_not_forbid() {
    let said = Folder::new().run(&["separate", "--allow", "ser", "--forbid", "si"]).ends(0);
    said.tells("None up to 4 transactions, 3 keys, 4 values")
        .tells("every history that biswas.ser allows")
        .tells("Not certified: this answer rests on the search itself.");
    let folder = Folder::new();
    folder.run(&["separate", "--allow", "ser", "--forbid", "si", "--report", "none.svg"]).ends(0);
    assert!(folder.read("none.svg").contains("Not certified: this answer rests on the"), "a picture says so, too");
}

#[test]
fn without_a_level_that_allows_it_any_forbidden_history_will_do() {
    let said = Folder::new().run(&["separate", "--forbid", "ser"]).ends(1).tells("biswas.ser forbids this history");
    assert!(!said.out.contains("Allowed by"), "{said:#?}");
}

#[test]
fn levels_come_in_lists_and_from_all_frameworks() {
    let folder = Folder::new();
    let lists = ["separate", "--allow", "cerone.si,crooks.si", "adya.si_so", "--allow", "si", "--forbid", "ser"];
    let said = folder.run(&[&lists[..], &["--forbid", "crooks.ser"]].concat()).ends(1);
    for level in ["cerone.si", "crooks.si", "adya.si_so", "biswas.si"] {
        assert!(said.out.contains(&format!("Allowed by {level}:")), "{level}: {said:#?}");
    }
    said.tells("Forbidden by biswas.ser (write-skew):").tells("Forbidden by crooks.ser:").tells("evidence certified");
}

#[test]
fn a_level_without_a_cycle_is_explained_by_what_fails() {
    let said = Folder::new().run(&["separate", "--allow", "si", "--forbid", "crooks.ser"]).ends(1);
    said.tells("Forbidden by crooks.ser:").tells("Every possible witness fails").tells("ex: s1.1");
}

#[test]
fn the_json_has_a_stable_shape() {
    let folder = Folder::new();
    let mut document = folder.run(&["separate", "--allow", "pc", "--forbid", "si", "--json"]).ends(1).json().remove(0);
    without_effort(&mut document);
    let witnesses = json!([{
        "level": "biswas.pc", "framework": "biswas",
        "relations": [{ "name": "co", "order": ["s1.1", "s2.1"] }], "certified": true
    }]);
    let history = "init x=0\ns1: { r(x,0) w(x,1) }\ns2: { r(x,0) w(x,2) }\n";
    let refutations = document["found"][0]["refutations"].take();
    let txn = |session: u8| {
        json!({
            "id": format!("s{session}.1"), "session": format!("s{session}"), "nth": 1, "outcome": "committed",
            "ops": [
                { "kind": "read", "key": "x", "value": 0 },
                { "kind": "write", "key": "x", "value": session },
            ]
        })
    };
    let expected = json!({
        "isoscope": 2, "verb": "separate", "inputs": [], "defects": [], "verdict": "found",
        "allowed": [{
            "name": "biswas.pc", "summary": "Prefix consistency: transactions see prefixes of one order."
        }],
        "forbidden": [{ "name": "biswas.si", "summary": document["forbidden"][0]["summary"] }],
        "history": history, "witnesses": witnesses,
        "found": [{
            "history": history, "initial": [{ "key": "x", "value": 0 }],
            "transactions": [txn(1), txn(2)],
            "session_order": [], "witnesses": witnesses, "refutations": null,
        }],
        "scope": {
            "transactions": 4, "keys": 3, "values": 4, "sessions": "chains", "exact": false, "blind_writes": true,
            "reads_per_key": 1, "real_time": false, "read_order": false
        },
    });
    assert_eq!(document, expected, "{document:#}");
    assert_eq!(refutations[0]["level"], "biswas.si");
    assert_eq!(refutations[0]["anomalies"], json!(["lost-update"]));
    assert_eq!(refutations[0]["certified"], true);
    assert_eq!(refutations[0]["cycle"].as_array().map(Vec::len), Some(2), "{refutations:#}");
}

#[test]
fn every_option_of_the_scope_reaches_the_search() {
    let folder = Folder::new();
    let scope = |options: &[&str]| {
        let question = ["separate", "--allow", "si", "--forbid", "ser", "--json"];
        folder.run(&[&question[..], options].concat()).json().remove(0)["scope"].take()
    };
    let numbers = scope(&["--txns", "3", "--keys", "2", "--values", "3", "--exact", "--no-blind-writes"]);
    assert_eq!(
        [&numbers["transactions"], &numbers["keys"], &numbers["values"], &numbers["exact"], &numbers["blind_writes"]],
        [&json!(3), &json!(2), &json!(3), &json!(true), &json!(false)]
    );
    assert_eq!(scope(&["--sessions", "2"])["sessions"], "at most 2 chains");
    assert_eq!(scope(&["--partial-order-sessions"])["sessions"], "partial order");
    assert_eq!(scope(&["--rereads", "yes"])["reads_per_key"], 2);
    let exact = folder.run(&["separate", "--allow", "si", "--forbid", "ser", "--txns", "6", "--exact"]).ends(1);
    exact.tells("this history (6 transactions, 2 keys).");
    let none = folder.run(&["separate", "--allow", "si", "--forbid", "ser", "--keys", "1"]).ends(0);
    none.tells("None up to 4 transactions, 1 key");
}

#[test]
fn every_way_to_search_gives_the_same_answer() {
    let folder = Folder::new();
    let ways = ["--no-derived-witnesses", "--no-fixed-order", "--no-merging", "--no-derived-witnesses,--no-merging"];
    for way in ways {
        for (question, code) in [(["cc", "ra"], 0), (["cc", "psi"], 1)] {
            let options: Vec<&str> = way.split(',').collect();
            let asked = ["separate", "--allow", question[0], "--forbid", question[1], "--txns", "3"];
            folder.run(&[&asked[..], &options].concat()).ends(code);
        }
    }
}

#[test]
fn all_histories_are_listed_or_as_many_as_wanted() {
    let folder = Folder::new();
    let question = ["separate", "--allow", "pc", "--forbid", "si", "--all", "--txns", "3", "--keys", "1"];
    let said = folder.run(&question).ends(1).tells("these 3 histories").tells("History 3 (3 transactions, 1 key):");
    said.tells("every other one in the scope")
        .tells("Not certified: that there are no others rests on the search itself.");
    folder.run(&[&question[..], &["-o", "all.history"]].concat()).ends(1).says("all-3.history: the history of #3;");
    for file in ["all.history", "all-2.history", "all-3.history"] {
        folder.run(&["check", file, "--level", "si"]).ends(1);
    }
    let limited = folder.run(&[&question[..], &["--limit", "2"]].concat()).ends(1).tells("these 2 histories");
    limited.tells("there may be more.").tells("The search ended at --limit 2.");
    let none = folder.run(&["separate", "--allow", "ser", "--forbid", "si", "--all"]).ends(0).tells("None up to");
    assert!(!none.out.contains("every other one"), "{none:#?}");
}

#[test]
fn a_saved_history_is_one_that_check_judges_the_same() {
    let folder = Folder::new();
    let said = folder.run(&["separate", "--allow", "cc", "--forbid", "pc", "-o", "found.history"]).ends(1);
    said.tells("The history is in found.history; isoscope check reads it.");
    folder.run(&["check", "found.history", "--level", "cc"]).ends(0);
    folder.run(&["check", "found.history", "--level", "pc"]).ends(1).tells("long-fork");
    let none = folder.run(&["separate", "--allow", "pc", "--forbid", "cc", "-o", "none.history"]).ends(0);
    none.tells("none.history is not written: there is no history.");
    assert!(!folder.path("none.history").exists());
}

#[test]
fn a_history_goes_to_a_pipe_and_the_answer_beside_it() {
    let folder = Folder::new();
    let said = folder.run(&["separate", "--allow", "si", "--forbid", "ser", "-o", "-"]).ends(1);
    assert!(said.out.starts_with("init x=0 y=0\ns1: {") && !said.out.contains("Allowed"), "{said:#?}");
    let said = said.complains("biswas.si allows and biswas.ser forbids").complains("certified");
    folder.pipe(&["check", "-", "--level", "ser"], said.out.as_bytes()).ends(1).tells("write-skew");
    let none = folder.run(&["separate", "--allow", "ser", "--forbid", "si", "-o", "-"]).ends(0).complains("None up to");
    assert!(none.out.is_empty(), "{none:#?}");
    let json = folder.run(&["separate", "--forbid", "ser", "--json", "-o", "-"]).ends(2);
    json.complains("both write to standard output");
}

#[test]
fn levels_of_spec_files_are_found_by_bare_and_full_names() {
    let folder = Folder::new();
    folder.write("mine.spec", MINE);
    folder.write("shape.spec", SHAPE);
    let specs = ["--spec", "mine.spec", "--spec", "shape.spec"];
    for name in ["mine", "mine.mine"] {
        let said = folder.run(&[&["separate", "--allow", name, "--forbid", "si"], &specs[..]].concat()).ends(1);
        said.tells("Allowed by mine.mine:").tells("mine.spec, shape.spec: ").tells("evidence certified");
    }
    folder.run(&[&["separate", "--allow", "ser", "--forbid", "unforked"], &specs[..]].concat()).ends(0);
}

#[test]
fn a_session_order_that_is_no_chains_is_told() {
    let folder = Folder::new();
    folder.write("shape.spec", SHAPE);
    let said = folder
        .run(&[
            "separate",
            "--allow",
            "ser",
            "--forbid",
            "unforked",
            "--spec",
            "shape.spec",
            "--partial-order-sessions",
            "-o",
            "fork.history",
        ])
        .ends(1)
        .tells("# session order: s1.1 < s2.1")
        .tells("Its session order is no chains, and stands in comments");
    said.tells("evidence certified");
    assert!(folder.read("fork.history").starts_with("# session order: s1.1 < s2.1\n"));
}

#[test]
fn equal_questions_give_equal_answers() {
    let folder = Folder::new();
    let question = ["separate", "--allow", "cc", "--forbid", "pc", "--all", "--limit", "4", "--json"];
    let ask = || {
        let mut document = folder.run(&question).ends(1).json().remove(0);
        (document["seconds"], document["peak_bytes"]) = (json!(0), json!(0));
        document.to_string()
    };
    assert_eq!(ask(), ask());
}

#[test]
fn names_that_nobody_knows_are_answered_with_near_ones() {
    let folder = Folder::new();
    folder.write("mine.spec", MINE);
    folder.write("other.spec", MINE);
    std::fs::create_dir(folder.path("again")).unwrap();
    folder.write("again/mine.spec", MINE);
    let refused = |arguments: &[&str], words: &str| {
        let said = folder.run(&[&["separate"], arguments].concat()).ends(2).complains(words);
        assert!(said.out.is_empty() && said.err.starts_with("isoscope: "), "{said:#?}");
    };
    refused(&["--allow", "si", "--forbid", "serr"], "there is no level `serr`; did you mean `ser`?");
    refused(&["--allow", "cerone.sii", "--forbid", "ser"], "cerone.si");
    refused(&["--forbid", "repeatable-read"], "adya.pl299");
    refused(&["--forbid", "mein", "--spec", "mine.spec"], "the spec files have `mine.mine`");
    let both = ["--forbid", "mine", "--spec", "mine.spec", "--spec", "other.spec"];
    refused(&both, "`mine` is in several spec files; write `mine.mine` or `other.mine`");
    let same = ["--forbid", "mine", "--spec", "mine.spec", "--spec", "again/mine.spec"];
    refused(&same, "would both be called `mine`; rename one of the files");
}

#[test]
fn a_wrong_spec_file_is_shown_with_line_and_column() {
    let folder = Folder::new();
    folder.write("wrong.spec", WRONG);
    let said = folder.run(&["separate", "--allow", "wrong", "--forbid", "si", "--spec", "wrong.spec"]).ends(2);
    said.complains("wrong.spec: line 3, column 50: `viz` is not defined").complains("^").complains("`vis`");
    let gone = folder.run(&["separate", "--forbid", "si", "--spec", "gone.spec"]).ends(2);
    gone.complains("cannot open gone.spec");
}

#[test]
fn bad_options_are_told_with_a_cure() {
    let folder = Folder::new();
    let cases: [(&[&str], &str); 14] = [
        (&["--txns", "0"], "write a number from 1 to 30"),
        (&["--txns", "31"], "more than can be searched; write a number from 1 to 30"),
        (&["--keys", "-2"], "write a number from 1 to 10"),
        (&["--keys", "many"], "write a number from 1 to 10"),
        (&["--values", "1"], "no key could be written; write a number from 2 to 31"),
        (&["--sessions", "0"], "write a number from 1 to 30"),
        (&["--sessions", "9"], "limits nothing"),
        (&["--exact", "--all"], "cannot be used with"),
        (&["--sessions", "2", "--partial-order-sessions"], "cannot be used with"),
        (&["--limit", "3"], "--all"),
        (&["--rereads", "maybe"], "yes, no"),
        (&["--report", "why.pdf"], ".html .svg .dot .json .txt"),
        (&["-o", "found.jsonl"], "ends in .history"),
        (&["-o", "gone/found.history"], "there is no folder gone"),
    ];
    for (options, cure) in cases {
        let said = folder.run(&[&["separate", "--allow", "si", "--forbid", "ser"], options].concat()).ends(2);
        assert!(said.out.is_empty(), "{said:#?}");
        said.complains(cure);
    }
    folder.run(&["separate", "--allow", "si"]).ends(2).complains("--forbid <LEVEL>");
}

#[test]
fn a_time_limit_ends_a_search_with_a_complete_document() {
    let folder = Folder::new();
    let hard = [&["separate", "--allow", "cc", "--forbid", "pc"], &HARD[..]].concat();
    let said = folder.run(&[&hard[..], &["--timeout", "300ms", "--report", "why.txt"]].concat()).ends(3);
    let said = said.tells("Unknown: the time limit was reached.");
    said.complains("give it more with --timeout, or look at fewer transactions with --txns");
    assert!(folder.read("why.txt").contains("Unknown: the time limit was reached."));
    let said = folder.run(&[&hard[..], &["--timeout", "1ms", "--json"]].concat()).ends(3).complains("--timeout");
    let document = &said.json()[0];
    assert_eq!(document["verdict"], "unknown");
    assert_eq!(document["reason"], "the time limit was reached");
    assert_eq!(document["found"], json!([]));
}

#[test]
fn reports_are_written_by_their_endings_and_render_again() {
    let folder = Folder::new();
    let question = ["separate", "--allow", "si", "--forbid", "ser", "--report", "1.html", "--report", "1.svg"];
    let more = ["--report", "1.dot", "--report", "1.json", "--report", "1.txt"];
    folder.run(&[&question[..], &more].concat()).ends(1);
    assert!(folder.read("1.html").starts_with("<!DOCTYPE html>"));
    assert!(folder.read("1.svg").contains("<svg"));
    assert!(folder.read("1.dot").starts_with("digraph"));
    assert!(folder.read("1.txt").contains("none smaller does"));
    let again = ["report", "1.json", "-o", "2.html", "-o", "2.svg", "-o", "2.dot", "-o", "2.txt", "-o", "2.json"];
    folder.run(&again).ends(0);
    for ending in ["html", "svg", "dot", "txt", "json"] {
        assert_eq!(folder.read(&format!("1.{ending}")), folder.read(&format!("2.{ending}")), "{ending}");
    }
}

#[test]
fn what_is_too_large_to_be_certified_is_said_to_be_that() {
    let folder = Folder::new();
    let said = folder.run(&["separate", "--allow", "ser", "--forbid", "crooks.sser", "--json"]).ends(1);
    assert_eq!(said.json()[0]["found"][0]["refutations"][0]["certified"], true);
    let large = ["separate", "--allow", "rc", "--forbid", "crooks.ser", "--txns", "12", "--exact"];
    let said = folder.run(&large).ends(1).tells("1 of 2 pieces of");
    said.tells("Not certified: that crooks.ser forbids the history; it is too large for the reference evaluator.");
}

//! `isoscope compare`.

use crate::separate::{HARD, MINE};
use crate::tool::{Folder, without_effort};
use serde_json::json;

#[test]
fn the_relation_is_said_with_the_histories_that_show_it() {
    let folder = Folder::new();
    let said = folder.run(&["compare", "psi", "pc"]).ends(1).tells("Incomparable: cerone.psi and biswas.pc");
    let said = said.tells("cerone.psi allows and biswas.pc forbids this history (4 transactions, 2 keys):");
    said.tells("biswas.pc allows and cerone.psi forbids this history (2 transactions, 1 key):")
        .tells("evidence certified");
    let said = folder.run(&["compare", "si", "ser"]).ends(1);
    said.tells("biswas.ser is stronger than biswas.si").tells("Forbidden by biswas.ser (write-skew):");
    let said = folder.run(&["compare", "ser", "si"]).ends(1).tells("biswas.ser is stronger than biswas.si");
    let said = said.tells("proved for every size").tells("biswas.ser implies biswas.si.");
    assert!(!said.out.contains("Scope:"), "nothing is bounded: {said:#?}");
    let said = folder.run(&["compare", "ser", "si", "--bounded", "3"]).ends(1);
    said.tells("Not certified: that there is no history the other way round rests on the search itself.");
    let said = folder.run(&["compare", "biswas.si", "cerone.si"]).ends(0);
    let said = said.tells("Equivalent, proved for every size: biswas.si and cerone.si allow the same histories.");
    assert!(!said.out.contains("Not certified"), "{said:#?}");
    let said = folder.run(&["compare", "biswas.si", "cerone.si", "--bounded", "4"]).ends(0);
    said.tells("Equivalent up to 4 transactions, 3 keys, 4 values: biswas.si and cerone.si allow the same histories.")
        .tells("Not certified: this answer rests on the search itself.");
}

#[test]
fn a_level_of_ones_own_is_compared() {
    let folder = Folder::new();
    folder.write("mine.spec", MINE);
    let said = folder.run(&["compare", "mine", "pc", "--spec", "mine.spec"]).ends(0);
    said.tells("mine.mine and biswas.pc allow the same histories").tells("mine.spec: ");
}

#[test]
fn the_json_says_the_relation_of_the_first_to_the_second() {
    let folder = Folder::new();
    let document = |left: &str, right: &str| folder.run(&["compare", left, right, "--json"]).json().remove(0);
    for (left, right, relation) in
        [("si", "ser", "weaker"), ("ser", "si", "stronger"), ("psi", "pc", "incomparable"), ("si", "si", "equivalent")]
    {
        assert_eq!(document(left, right)["relation"], relation, "{left} {right}");
    }
    let mut weaker = document("si", "ser");
    assert_eq!(weaker["left_only"]["refutations"][0]["anomalies"], json!(["write-skew"]));
    assert_eq!(weaker["left_only"]["witnesses"][0]["certified"], true);
    assert!(weaker.get("right_only").is_none());
    without_effort(&mut weaker);
    let members: Vec<&String> = weaker.as_object().unwrap().keys().collect();
    let expected = ["isoscope", "verb", "defects", "inputs", "left", "right", "scope", "relation", "left_only"];
    assert_eq!(members, [&expected[..], &["left_implies_right", "right_implies_left"]].concat());
    assert_eq!(weaker["left_implies_right"]["implied"], "no");
    assert_eq!(weaker["right_implies_left"]["implied"], "every-size");
    assert_eq!(weaker["right_implies_left"]["proof"]["made"], json!([{ "name": "co", "is": "co" }]));
}

#[test]
fn the_construction_of_the_examples_works() {
    let by = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/by.spec");
    let said = Folder::new().run(&["compare", "cerone.si", "biswas.si", "--by", by]).ends(0);
    said.tells("Equivalent, proved for every size").tells("co: ar");
}

#[test]
fn statements_tell_levels_of_databases_apart() {
    let folder = Folder::new();
    let said = folder.run(&["compare", "postgres.rr", "biswas.si"]).ends(1);
    said.tells("biswas.si is stronger than postgres.rr, proved for every size").tells("u(x/1,-,2)");
    let said = folder.run(&["compare", "biswas.pc", "mysql.rr"]).ends(1).tells("Incomparable");
    said.tells("u(x,0,1)").tells("for update");
}

#[test]
fn a_proof_about_dirty_reads_says_of_which_histories_it_speaks() {
    let folder = Folder::new();
    let only =
        "adya.pl1 allows dirty reads: what is proved of it is so for histories whose transactions all have a known";
    folder.run(&["compare", "adya.pl2", "adya.pl1"]).ends(1).tells(only);
    folder.run(&["lattice", "adya.pl2", "adya.pl1", "--prove"]).ends(0).tells(only);
    assert!(!folder.run(&["compare", "ser", "si"]).out.contains("dirty reads"));
}

#[test]
fn a_construction_of_ones_own_is_tried() {
    let folder = Folder::new();
    folder.write("by.spec", "// The same order.\ndef made_co = ar\n");
    let said = folder.run(&["compare", "cerone.si", "biswas.si", "--by", "by.spec"]).ends(0);
    said.tells("Equivalent, proved for every size").tells("co: ar");
    folder.write("wrong.spec", "def made_vis = ar\n");
    let said = folder.run(&["compare", "cerone.si", "biswas.si", "--by", "wrong.spec"]).ends(2);
    said.complains("wrong.spec: line 1: biswas.si has no `vis`; define made_co");
    folder.write("empty.spec", "");
    let said = folder.run(&["compare", "cerone.si", "biswas.si", "--by", "empty.spec"]).ends(2);
    said.complains("biswas.si wants `co`; add `def made_co = ..`");
    // A construction that does not work proves nothing.
    folder.write("reads.spec", "def made_co = wr\n");
    let said = folder.run(&["compare", "cerone.si", "biswas.si", "--by", "reads.spec"]).ends(0);
    said.tells("Equivalent up to 4 transactions");
}

#[test]
fn a_time_limit_leaves_the_relation_unknown() {
    let folder = Folder::new();
    let said = folder.run(&[&["compare", "cc", "pc", "--timeout", "300ms"], &HARD[..]].concat()).ends(3);
    said.tells("Unknown: the time limit was reached.").complains("--timeout").complains("--txns");
}

#[test]
fn reports_are_written_by_their_endings() {
    let folder = Folder::new();
    let said = folder.run(&["compare", "psi", "pc", "--report", "why.html", "--report", "why.svg"]).ends(1);
    assert!(folder.read("why.html").contains("Incomparable"), "{said:#?}");
    assert!(folder.read("why.svg").contains("<svg"), "{said:#?}");
    folder.run(&["compare", "psi", "pc", "--report", "why.pdf"]).ends(2).complains(".html");
}

#[test]
fn two_levels_are_needed_and_known() {
    let folder = Folder::new();
    folder.run(&["compare", "si"]).ends(2).complains("<OTHER>");
    folder.run(&["compare", "si", "serr"]).ends(2).complains("did you mean `ser`?");
    folder.run(&["compare", "si", "ser", "--txns", "0"]).ends(2).complains("1 to 30");
}

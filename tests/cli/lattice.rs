//! `isoscope lattice`.

use crate::separate::{HARD, MINE};
use crate::tool::Folder;
use iso_spec::Level;
use serde_json::{Value, json};

/// Which class implies which directly, by the first names of the classes.
fn edges(document: &Value) -> Vec<(String, String)> {
    let name = |class: &Value| {
        let class = usize::try_from(class.as_u64().unwrap()).unwrap();
        document["classes"][class][0].as_str().unwrap().to_owned()
    };
    let edges = document["edges"].as_array().unwrap().iter();
    let mut edges: Vec<_> = edges.map(|it| (name(&it["stronger"]), name(&it["weaker"]))).collect();
    edges.sort();
    edges
}

#[test]
fn the_levels_that_check_decides_relate_as_documented() {
    let said = Folder::new().run(&["lattice", "--json"]).ends(0);
    assert!(said.err.is_empty(), "{said:#?}");
    let document = &said.json()[0];
    let mut expected: Vec<(String, String)> = Vec::new();
    for level in Level::usual() {
        for weaker in level.implied().iter().filter(|it| Level::usual().contains(it)) {
            expected.push((level.definition().to_owned(), weaker.definition().to_owned()));
        }
    }
    expected.sort();
    assert_eq!(edges(document), expected);
    assert_eq!(document["unknown"], json!([]));
    let found = document["edges"].as_array().unwrap().iter().map(|it| &it["found"]);
    for found in found {
        assert_eq!(found["witnesses"][0]["certified"], true, "{found:#}");
        assert_eq!(found["refutations"][0]["certified"], true, "{found:#}");
    }
}

#[test]
fn the_text_goes_from_the_strongest_to_the_weakest() {
    let said = Folder::new().run(&["lattice", "cc", "psi", "pc", "si", "cerone.si"]).ends(0);
    let said = said.tells("Not certified: which levels coincide, and which imply others, rests on the search itself.");
    let said = said.tells("5 levels fall into 4 classes of equivalent levels up to 4 transactions, 2 keys, 4 values.");
    let said = said.says("  biswas.si = cerone.si\n    -> psi  #1: 4 transactions, 2 keys\n");
    said.says("#2  pc allows and biswas.si forbids this (lost-update):").tells("evidence certified");
}

#[test]
fn levels_of_ones_own_stand_among_the_others() {
    let folder = Folder::new();
    folder.write("mine.spec", MINE);
    folder.run(&["lattice", "--spec", "mine.spec"]).ends(0).says("  pc = mine\n").tells("mine.spec: ");
    folder
        .run(&["lattice", "mine", "si", "--spec", "mine.spec"])
        .ends(0)
        .tells("No two of these 2 levels are equivalent");
}

#[test]
fn the_whole_catalogue_is_drawn_in_every_ending() {
    let folder = Folder::new();
    let reports = ["--report", "all.html", "--report", "all.svg", "--report", "all.dot", "--report", "all.json"];
    let scope = ["lattice", "--all", "--txns", "2", "--progress"];
    let said = folder.run(&[&scope[..], &reports].concat()).ends(0).tells("biswas.ser = cerone.ser");
    assert!(!folder.read("all.svg").contains("proved for every size"), "{said:#?}");
    assert!(folder.read("all.html").starts_with("<!DOCTYPE html>"), "{said:#?}");
    assert!(folder.read("all.dot").starts_with("digraph"), "{said:#?}");
    folder.run(&["report", "all.json", "-o", "again.svg"]).ends(0);
    assert_eq!(folder.read("all.svg"), folder.read("again.svg"));
}

#[test]
fn equal_questions_give_equal_answers() {
    let folder = Folder::new();
    let ask = || {
        let mut document = folder.run(&["lattice", "--json"]).ends(0).json().remove(0);
        (document["seconds"], document["peak_bytes"]) = (json!(0), json!(0));
        document.to_string()
    };
    assert_eq!(ask(), ask());
}

#[test]
fn a_time_limit_leaves_pairs_unknown() {
    let question = ["lattice", "cc", "pc", "biswas.ra", "--timeout", "300ms", "--json"];
    let said = Folder::new().run(&[&question[..], &HARD].concat()).ends(3);
    let said = said.complains("--timeout").complains("--txns");
    let document = &said.json()[0];
    let unknown = document["unknown"].as_array().unwrap();
    assert!(!unknown.is_empty(), "{document:#}");
    assert!(unknown.iter().all(|it| it["reason"] == "the time limit was reached"), "{document:#}");
    assert_eq!(document["levels"].as_array().unwrap().len(), 3);
}

#[test]
fn one_level_alone_and_too_much_at_once_are_refused() {
    let folder = Folder::new();
    folder.run(&["lattice", "si"]).ends(2).complains("one level alone relates to nothing");
    folder.run(&["lattice", "si", "biswas.si"]).ends(2).complains("one level alone");
    folder.run(&["lattice", "--all", "si"]).ends(2).complains("cannot be used with");
    folder.run(&["lattice", "si", "serr"]).ends(2).complains("did you mean `ser`?");
}

#[test]
fn what_implies_what_is_proved_if_that_is_wanted() {
    let folder = Folder::new();
    let said = folder.run(&["lattice", "si", "cerone.si", "ser", "--prove"]).ends(0);
    let said = said.tells("3 levels fall into 2 classes of equivalent levels for every size.");
    let said = said.tells("Proved for every size, and certified: 3 of 3 implications.");
    assert!(!said.out.contains("Scope:") && !said.out.contains("Not certified"), "{said:#?}");
    let document = folder.run(&["lattice", "si", "ser", "--prove", "--json"]).json().remove(0);
    assert_eq!(document["implications"][0]["implied"], "every-size");
    assert_eq!(document["implications"][0]["proof"]["made"][0]["is"], "co");
}

/// Implications of the catalogue without a proof and without a history against them, each with the reason.
const OPEN: [(&str, &str, &str); 0] = [];

#[test]
fn every_pair_of_the_catalogue_is_proved_or_refuted_or_listed_as_open() {
    let folder = Folder::new();
    let saved = ["--report", "all.json", "--report", "all.svg", "--report", "all.dot"];
    let said = folder.run(&[&["lattice", "--all", "--prove"][..], &saved].concat()).ends(0);
    let document: Value = serde_json::from_str(&folder.read("all.json")).unwrap();
    let implications = document["implications"].as_array().unwrap();
    let open: Vec<(&str, &str)> = implications
        .iter()
        .filter(|it| it["implied"] != "every-size")
        .map(|it| (it["stronger"].as_str().unwrap(), it["weaker"].as_str().unwrap()))
        .collect();
    assert_eq!(open, OPEN.map(|it| (it.0, it.1)), "{}", said.out);
    let count = |name: &str| document["pairs"][name].as_u64().unwrap();
    let n_levels = document["levels"].as_array().unwrap().len() as u64;
    assert_eq!(count("proved") + count("refuted") + count("open"), n_levels * (n_levels - 1));
    assert!(100 * count("open") <= 2 * n_levels * (n_levels - 1), "{}", document["pairs"]);
    assert!(folder.read("all.svg").contains("proved for every size"));
    assert!(folder.read("all.dot").contains("green: proved for every size"));
    folder.run(&["certify", "all.json"]).ends(if open.is_empty() { 0 } else { 3 });
}

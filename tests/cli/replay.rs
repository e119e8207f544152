//! `isoscope replay`.

use crate::tool::Folder;

const LOST_UPDATE: &str = "\
# expect: not si (lost-update)
table kv int
row kv x 0
s1 begin serializable  # ok
s2 begin serializable  # ok
s1 get kv x  # 0
s2 get kv x  # 0
s1 put kv x 1  # ok
s1 commit  # ok
s2 put kv x 2  # ok
s2 commit  # ok
";

#[test]
fn what_a_hunt_saved_shows_again() {
    let folder = Folder::new();
    folder.run(&["hunt", "store:cc", "--expect", "ser", "--script", "found.steps"]).ends(1);
    assert!(folder.read("found.steps").starts_with("# expect: not ser (lost-update)\ntable kv int\n"));
    let said = folder.run(&["replay", "found.steps", "store:cc", "--times", "4", "--report", "why.html"]).ends(1);
    said.tells("is not serializable (ser): lost-update, in 4 of 4 tries.")
        .says("ser is expected, as the script says.")
        .says("  3  s1  get kv x")
        .says("Every step answered what the script says.")
        .says("The core: these operations alone are forbidden.");
    let page = folder.read("why.html");
    assert!(page.contains("<h2>Steps</h2>") && page.contains("<svg"), "{page}");
    folder.run(&["replay", "found.steps", "store:cc", "--expect", "cc"]).ends(0).says("cc is expected, as asked for.");
}

#[test]
fn a_database_that_refuses_shows_nothing_and_says_what_is_different() {
    let folder = Folder::new();
    folder.write("lost.steps", LOST_UPDATE);
    let said = folder.run(&["replay", "lost.steps", "sqlite:", "-o", "h.history", "--json"]).ends(0);
    let document = &said.json()[0];
    assert_eq!((&document["verb"], &document["verdict"]), (&"replay".into(), &"not-shown".into()));
    let steps = document["steps"].as_array().unwrap();
    assert_eq!((steps.len(), &steps[2]["answer"], &steps[2]["same"]), (8, &"0".into(), &true.into()));
    assert_eq!(
        (&steps[6]["same"], &steps[6]["recorded"], &steps[6]["line"]),
        (&false.into(), &"ok".into(), &10.into())
    );
    folder.write("h.json", &said.out);
    folder.run(&["report", "h.json"]).ends(0).says("Not shown: ").tells("the script has: ok");
    assert!(folder.read("h.history").starts_with("# database: sqlite 3"), "{}", folder.read("h.history"));
    folder.run(&["check", "h.history"]).ends(0).says("promises sqlite.ser");
}

#[test]
fn without_an_expectation_the_promise_of_the_database_is_expected() {
    let folder = Folder::new();
    folder.write("lost.steps", LOST_UPDATE.split_once('\n').unwrap().1);
    let said = folder.run(&["replay", "lost.steps", "sqlite:"]).ends(0);
    said.tells("SERIALIZABLE promises sqlite.ser");
}

#[test]
fn sql_of_a_page_is_played() {
    let folder = Folder::new();
    let page = include_str!("../../docs/databases/postgresql.md");
    let block = page.split("```sql\n").nth(1).unwrap().split("```").next().unwrap();
    folder.write("page.sql", block);
    let said = folder.run(&["replay", "page.sql", "sqlite:", "-i", "serializable", "--expect", "si"]).ends(0);
    said.says("Not shown: ").tells("the script has: ok");
    let refused = folder.run(&["replay", "page.sql", "sqlite:"]).ends(2);
    refused.complains("has no isolation level `read-committed`").complains("-i NAME plays the script at another one");
}

#[test]
fn what_is_no_script_is_refused_with_its_line() {
    let folder = Folder::new();
    let refused = |text: &str, words: &str| {
        folder.write("bad.sql", text);
        folder.run(&["replay", "bad.sql", "sqlite:"]).ends(2).complains(words);
    };
    refused("table t int\ns1 jump\n", "bad.sql: line 2: `s1 jump` is no part of a script");
    refused("-- Session s1\n/* 1 */ DROP TABLE x;\n", "bad.sql: line 2: `DROP TABLE x` is no statement of a script");
    refused("", "it has no steps");
    folder.run(&["replay", "none.sql", "sqlite:"]).ends(2).complains("cannot read the script none.sql");
    folder.write("lost.steps", LOST_UPDATE);
    folder.run(&["replay", "lost.steps", "sqlite:", "--expect", "xyz"]).ends(2).complains("there is no level `xyz`");
    folder.run(&["replay", "lost.steps", "sqlite:", "--times", "0"]).ends(2).complains("from 1 to 100000");
    folder.run(&["replay", "lost.steps", "sqlite:", "-o", "x.txt"]).ends(2).complains("ends in .jsonl or .history");
}

//! `isoscope demo`.

use crate::tool::Folder;

#[test]
fn the_demo_records_two_databases_and_explains_the_weak_one() {
    let folder = Folder::new();
    let said = folder.run(&["demo", "--out", "tour"]).ends(0);
    said.says("1. SQLite ")
        .says("2. A store that is causally consistent ")
        .says(", forbidden by")
        .says("evidence certified")
        .says("tour/isoscope-demo.html")
        .says("isoscope hunt store:cc --expect ser");
    let page = folder.read("tour/isoscope-demo.html");
    assert!(page.contains("<svg") && page.contains("SQLite") && page.contains("class=\"stepper\""));
    folder.run(&["check", "tour/isoscope-demo-sqlite.jsonl"]).ends(0);
    folder.run(&["check", "tour/isoscope-demo-store.jsonl", "--level", "cc"]).ends(0);
    folder.run(&["check", "tour/isoscope-demo-store.jsonl", "--level", "ser"]).ends(1);
}

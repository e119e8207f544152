//! `isoscope hunt`.

use crate::tool::Folder;

#[test]
fn a_hunt_on_the_weak_store_prints_the_finding_and_its_script() {
    let folder = Folder::new();
    let arguments = ["hunt", "store:cc", "--expect", "ser", "-o", "finding.history", "--report", "why.html"];
    let said = folder.run(&arguments).ends(1);
    let said = said
        .says("FOUND: the weak store at level cc")
        .says("serializable (ser): violated")
        .says("in 5 of 5 tries")
        .says("table kv int\nrow kv x 0\n")
        .says("s1 begin cc    # ok\n");
    assert!(!said.out.contains("ISOLATION LEVEL"), "nobody can run SQL on the store: {}", said.out);
    assert!(folder.read("finding.history").contains("(x,0)"), "one table needs no name");
    let page = folder.read("why.html");
    assert!(page.contains("<svg") && page.contains("breaks serializable (ser): lost update, found after"), "{page}");
    assert!(page.contains("s1 begin cc    # ok\n"), "{page}");
    folder.run(&["check", "finding.history", "--level", "ser"]).ends(1);
}

#[test]
fn a_hunt_for_all_saves_every_finding_and_says_where() {
    let folder = Folder::new();
    let arguments =
        ["hunt", "store:rc", "--expect", "ser", "--all", "--for", "3s", "-w", "probes", "-o", "f.history", "--json"];
    let said = folder.run(&arguments).ends(1);
    let document = &said.json()[0];
    let findings = document["findings"].as_array().unwrap();
    assert!(findings.len() > 1, "{document}");
    for (idx, finding) in findings.iter().enumerate() {
        let file = if idx == 0 { "f.history".to_owned() } else { format!("f-{}.history", idx + 1) };
        assert_eq!(folder.read(&file), finding["history"].as_str().unwrap());
        let names: Vec<&str> = finding["anomalies"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        assert!(said.err.contains(&format!("{file}: the history of {};", names.join(", "))), "{}", said.err);
        folder.run(&["check", &file, "--level", "ser"]).ends(1);
    }
}

#[test]
fn a_hunt_that_finds_nothing_says_how_much_it_looked_at() {
    let said = Folder::new().run(&["hunt", "sqlite:", "--expect", "ser", "--for", "2s", "-w", "probes,rmw"]).ends(0);
    said.says("Nothing found: all that SQLite ").says("under serializable is serializable (ser).").says("Looked at: ");
}

#[test]
fn a_hunt_that_finds_nothing_has_a_report_of_its_rounds() {
    let folder = Folder::new();
    let hunt =
        ["hunt", "sqlite:", "--expect", "ser", "--for", "1s", "-w", "rmw", "--report", "1.json", "--report", "1.html"];
    folder.run(&hunt).ends(0);
    assert!(folder.read("1.html").contains("Nothing found: all that SQLite "));
    let document: serde_json::Value = serde_json::from_str(&folder.read("1.json")).unwrap();
    let rounds = document["rounds"].as_array().unwrap();
    assert!(!rounds.is_empty());
    let sum = |name: &str| rounds.iter().map(|it| it[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("rounds"), document["runs"].as_u64().unwrap());
    assert_eq!(sum("committed") + sum("aborted") + sum("unknown"), document["transactions"].as_u64().unwrap());
    assert!(rounds.iter().all(|it| it["verdict"] == "holds" && it["name"] == "rmw"), "{document}");
}

#[test]
fn the_document_of_a_hunt_has_the_script_and_what_check_says() {
    let said = Folder::new().run(&["hunt", "store:rc", "--expect", "si", "--json"]).ends(1);
    let document = &said.json()[0];
    assert_eq!((&document["verb"], &document["verdict"]), (&"hunt".into(), &"found".into()));
    let finding = &document["findings"][0];
    assert_eq!(finding["check"]["levels"][0]["verdict"], "violated");
    assert_eq!(finding["script"]["tries"], 5);
    assert!(finding["script"]["steps"].as_str().unwrap().contains("s2 begin rc    # ok\n"), "{finding}");
    assert!(finding["script"]["sql"].is_null(), "{finding}");
    let said =
        Folder::new().run(&["hunt", "sqlite:", "--expect", "ser", "--for", "1s", "-w", "probes", "--json"]).ends(0);
    assert_eq!(said.json()[0]["findings"], serde_json::json!([]));
}

#[test]
fn questions_that_cannot_be_asked_are_refused() {
    let folder = Folder::new();
    folder.run(&["hunt", "store:cc", "--expect", "xyz"]).ends(2).complains("there is no level `xyz` to expect");
    folder.run(&["hunt", "store:cc", "--expect", "ser", "-i", "si"]).ends(2).complains("has no isolation level `si`");
    folder.run(&["hunt", "oracle:x", "--expect", "ser"]).ends(2).complains("there is no driver for `oracle:`");
    folder.run(&["hunt", "store:cc", "--expect", "ser", "-w", "x"]).ends(2).complains("there is no workload `x`");
    folder.run(&["hunt", "store:cc", "--expect", "ser", "-w", "append"]).ends(2).complains("lose what others append");
    folder.run(&["hunt", "sqlite:", "--expect", "rr"]).ends(2).complains("SQLite has no isolation level `rr`");
}

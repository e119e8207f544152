//! `isoscope report`.

use crate::tool::Folder;

#[test]
fn a_saved_result_renders_as_it_did_the_first_time() {
    let folder = Folder::with_histories();
    let first = [
        "check",
        "skew.history",
        "--report",
        "1.json",
        "--report",
        "1.html",
        "--report",
        "1.svg",
        "--report",
        "1.dot",
        "--report",
        "1.txt",
    ];
    folder.run(&first).ends(1);
    let again = ["report", "1.json", "-o", "2.html", "-o", "2.svg", "-o", "2.dot", "-o", "2.txt", "-o", "2.json"];
    folder.run(&again).ends(0).says("2.html");
    for ending in ["html", "svg", "dot", "txt", "json"] {
        assert_eq!(folder.read(&format!("1.{ending}")), folder.read(&format!("2.{ending}")), "{ending}");
    }
}

#[test]
fn without_a_file_the_result_is_told() {
    let folder = Folder::with_histories();
    let result = folder.run(&["check", "skew.history", "--json"]).ends(1).out;
    folder.pipe(&["report", "-"], result.as_bytes()).ends(0).says("write-skew, forbidden by ser");
}

#[test]
fn results_of_several_inputs_are_all_told() {
    let folder = Folder::with_histories();
    let results = folder.run(&["check", "skew.history", "serial.history", "--json"]).ends(1).out;
    let said = folder.pipe(&["report", "-"], results.as_bytes()).ends(0).says("skew.history: ");
    said.says("serial.history: ");
    folder.pipe(&["report", "-", "-o", "why.svg"], results.as_bytes()).ends(0).says("why-1.svg").says("why-2.svg");
}

#[test]
fn what_is_no_result_is_refused() {
    let folder = Folder::new();
    folder.write("no.json", "{}");
    folder.write("text.json", "hello");
    folder.write("other.json", "{\"isoscope\":1,\"verb\":\"bake\"}");
    for (name, words) in
        [("no.json", "isoscope"), ("text.json", "JSON"), ("other.json", "bake"), ("gone.json", "cannot open")]
    {
        let said = folder.run(&["report", name, "-o", "out.html"]).ends(2).complains(name).complains(words);
        assert!(!folder.path("out.html").exists(), "{said:#?}");
    }
    folder.run(&["report", "no.json", "-o", "out.pdf"]).ends(2).complains(".html");
    folder.run(&["report", "."]).ends(2).complains("directory");
}

#[test]
fn results_of_every_verb_render_later_as_they_did_the_first_time() {
    let folder = Folder::with_histories();
    folder.write(
        "bank.txn",
        "var x: int = 1\ntxn take() {\n    if x > 0 { x -= 1 }\n}\nrun take() || take()\ninvariant x >= 0\n",
    );
    let questions: [&[&str]; 7] = [
        &["separate", "--allow", "cc", "--forbid", "ser", "--txns", "2", "--keys", "2"],
        &["compare", "si", "ser", "--txns", "2", "--keys", "2"],
        &["lattice", "si", "ser", "--txns", "2", "--keys", "2"],
        &["verify", "bank.txn", "--level", "cc"],
        &["predict", "serial.history"],
        &["collect", "store:ser", "--duration", "200ms", "-o", "h.jsonl"],
        &["hunt", "store:cc", "--expect", "ser"],
    ];
    for question in questions {
        let asked = [question, &["--report", "1.json", "--report", "1.html"]].concat();
        let said = folder.run(&asked);
        assert!(said.code == 0 || said.code == 1, "{said:#?}");
        folder.run(&["report", "1.json", "-o", "2.html"]).ends(0);
        assert_eq!(folder.read("1.html"), folder.read("2.html"), "{question:?}");
    }
}

#[test]
fn a_run_over_time_is_no_graph() {
    let folder = Folder::new();
    folder.run(&["collect", "store:ser", "--txns", "5", "-o", "h.jsonl", "--report", "run.json"]).ends(0);
    folder.run(&["report", "run.json", "-o", "run.dot"]).ends(2).complains("run.dot: what collect did is no graph");
    folder.run(&["report", "run.json"]).ends(0).says("rw on the weak store");
}

//! `isoscope certify`: saved evidence is checked again, and changed evidence is refused.

use crate::tool::{Folder, Said};
use serde_json::{Value, json};

fn saved(folder: &Folder, arguments: &[&str]) -> Value {
    let arguments = [arguments, &["--json"]].concat();
    folder.run(&arguments).json().remove(0)
}

fn certify(folder: &Folder, document: &Value) -> Said {
    folder.write("saved.json", document.to_string());
    folder.run(&["certify", "saved.json"])
}

/// Is the document refused once this is done to it?
fn refuses(folder: &Folder, document: &Value, change: impl FnOnce(&mut Value)) {
    let mut changed = document.clone();
    change(&mut changed);
    assert_ne!(changed, *document, "the change changes something");
    certify(folder, &changed).ends(1).tells("Not certified: the evidence").tells("refused");
}

fn reverse(list: &mut Value) {
    list.as_array_mut().unwrap().reverse();
}

/// The entry of a level in a result of check.
fn entry(document: &Value, level: &str) -> usize {
    document["levels"].as_array().unwrap().iter().position(|it| it["level"] == level).unwrap()
}

#[test]
fn verdicts_of_check_are_certified_again() {
    let folder = Folder::with_histories();
    let document = saved(&folder, &["check", "skew.history"]);
    let said = certify(&folder, &document).ends(0).tells("Certified: all").tells("ser forbids the core");
    said.tells("si allows the history").tells("no engine was asked");
    let (ser, si, rc) = (entry(&document, "ser"), entry(&document, "si"), entry(&document, "rc"));
    refuses(&folder, &document, |it| it["levels"][ser]["anomalies"] = json!(["lost-update"]));
    refuses(&folder, &document, |it| it["levels"][ser]["level"] = json!("si"));
    refuses(&folder, &document, |it| it["levels"][ser]["evidence"]["transactions"][0]["ops"][0]["value"] = json!(7));
    refuses(&folder, &document, |it| reverse(&mut it["levels"][si]["evidence"]["events"]));
    refuses(&folder, &document, |it| it["levels"][rc]["evidence"]["order"] = json!(["s1.1"]));
    refuses(&folder, &document, |it| it["levels"][rc]["level"] = json!("ser"));
    refuses(&folder, &document, |it| it["whole"]["history"] = json!("s1: { r(x,5) }"));
    // Without the history there is nothing to replay the witness on.
    let mut without = document.clone();
    without.as_object_mut().unwrap().remove("whole");
    certify(&folder, &without).ends(3).tells("missing").tells("not in the document");
}

#[test]
fn a_core_with_several_possible_writers_is_saved_with_its_derivation() {
    let folder = Folder::new();
    folder.write(
        "two.history",
        "init x=0 y=0 z=0\ns1: { w(x,2) } { r(y,0) w(x,1) }\ns2: { w(y,1) } { r(x,2) w(x,6) } { w(z,2) }\n\
         s7: { r(z,2) } { w(x,2) }\n",
    );
    let document = saved(&folder, &["check", "two.history", "--level", "si"]);
    let derivation = &document["levels"][0]["evidence"]["derivation"];
    let steps = derivation["steps"].as_array().unwrap();
    assert!(steps.iter().any(|it| it.as_str().unwrap().starts_with("acyclic ")), "{derivation}");
    certify(&folder, &document).ends(0).tells("si forbids the core");
    // Derivations are not believed, and this core is small enough to be decided without.
    let mut other = document.clone();
    reverse(&mut other["levels"][0]["evidence"]["derivation"]["steps"]);
    certify(&folder, &other).ends(0);
    other["levels"][0]["level"] = json!("rc");
    certify(&folder, &other).ends(1).tells("refused");
}

/// The transactions of a session, each with its operations and its status.
type Txns = Vec<(Vec<Value>, &'static str)>;

/// Sessions whose transactions come in an order that the seed says.
fn interleaved(mut sessions: Vec<(String, Txns)>, mut seed: u64) -> String {
    let mut lines = json!({"isoscope": 1, "initial": 0}).to_string() + "\n";
    for session in &mut sessions {
        session.1.reverse();
    }
    while !sessions.is_empty() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let nth = (seed >> 33) as usize % sessions.len();
        match sessions[nth].1.pop() {
            Some((ops, status)) => {
                lines += &(json!({"s": sessions[nth].0, "ops": ops, "status": status}).to_string() + "\n");
            }
            None => drop(sessions.remove(nth)),
        }
    }
    lines
}

/// x has elements of somebody who aborted, which somebody else appended again: if the reader saw some of the second ones, y is read in
/// the wrong order, and if not, z is.
fn rolled_back(n_elements: i64) -> Vec<(String, Txns)> {
    let again: Vec<i64> = (100..100 + n_elements).collect();
    let of_x: Vec<Value> = again.iter().map(|it| json!(["a", "x", it])).collect();
    let with = |more: [Value; 2]| [&of_x[..], &more].concat();
    let shown = [again, vec![1, 3]].concat();
    let txns = [
        (of_x.clone(), "abort"),
        (with([json!(["a", "y", 1]), json!(["a", "z", 1])]), "commit"),
        (vec![json!(["a", "x", 1]), json!(["a", "y", 2])], "commit"),
        (vec![json!(["a", "x", 3]), json!(["a", "z", 2])], "commit"),
        (vec![json!(["r", "x", shown]), json!(["r", "y", [2, 1]])], "commit"),
        (vec![json!(["r", "z", [1, 2]])], "commit"),
    ];
    txns.into_iter().zip(1..).map(|(txn, nth)| (format!("s{nth}"), vec![txn])).collect()
}

/// Each x has two writers that saw the x before it, so that the last reader comes after the one of y=1; of some writers nobody knows
/// whether they committed.
fn chain(n_links: usize, unknown: &[usize]) -> Vec<(String, Txns)> {
    let commit = |ops: Value| (ops.as_array().unwrap().clone(), "commit");
    let mut sessions = vec![
        (
            "s".to_owned(),
            vec![commit(json!([["w", "y", 2]])), commit(json!([["r", "z", 1], ["w", "y", 1], ["w", "x0", 1]]))],
        ),
        ("t".to_owned(), vec![commit(json!([["w", "y", 2], ["w", "z", 1]]))]),
    ];
    for link in 0..n_links {
        for who in ["a", "b"] {
            let (ops, _) = commit(json!([["r", format!("x{link}"), 1], ["w", format!("x{}", link + 1), 1]]));
            let status = if unknown.contains(&link) && who == "a" { "unknown" } else { "commit" };
            sessions.push((format!("{who}{link}"), vec![(ops, status)]));
        }
    }
    sessions.push(("r".to_owned(), vec![commit(json!([["r", format!("x{n_links}"), 1], ["r", "y", 2]]))]));
    sessions
}

#[test]
fn grounds_by_meanings_and_by_outcomes_are_saved() {
    let folder = Folder::new();
    for seed in 0..4 {
        for (level, sessions, first) in [
            ("ru", rolled_back(12 + i64::from(seed % 2 == 1)), "cases"),
            ("postgres.rc", chain(8, &[2, 5]), "outcomes"),
            ("mysql.rr", chain(9, &[3]), "outcomes"),
            ("mysql.rr", chain(8, &[]), "derivation"),
            ("postgres.rr", chain(8, &[1]), "derivation"),
        ] {
            // What fails shows the name of the file.
            let file = format!("{level}-seed-{seed}.jsonl");
            folder.write(&file, interleaved(sessions, seed));
            let document = saved(&folder, &["check", &file, "--level", level]);
            let evidence = &document["levels"][0]["evidence"];
            assert!(evidence["grounds"]["tree"][0].as_str().unwrap().starts_with(first), "{file}: {evidence}");
            certify(&folder, &document).ends(0).tells(&format!("{level} forbids the core"));
        }
    }
}

#[test]
fn grounds_that_were_changed_are_refused() {
    let folder = Folder::new();
    let grounds = |it: &mut Value| it["levels"][0]["evidence"]["grounds"].take();
    folder.write("lists.jsonl", interleaved(rolled_back(13), 1));
    let lists = saved(&folder, &["check", "lists.jsonl", "--level", "ru"]);
    let tree = |change: &dyn Fn(&mut Vec<Value>)| {
        refuses(&folder, &lists, |it| {
            change(it["levels"][0]["evidence"]["grounds"]["tree"].as_array_mut().unwrap());
        });
    };
    // A meaning less, or one more; reasons that are none; and what belongs to nothing.
    tree(&|it| {
        it[0] = json!(format!("cases {}", it.len() - 2));
        it.pop();
    });
    tree(&|it| {
        it[0] = json!(format!("cases {}", it.len()));
        it.push(json!("read"));
    });
    tree(&|it| it[1] = json!("read"));
    tree(&|it| *it = vec![json!("read")]);
    tree(&|it| it.push(json!("read")));
    refuses(&folder, &lists, |it| {
        it["levels"][0]["evidence"]["grounds"]["derivations"][0]["steps"] = json!([]);
    });
    folder.write("outcomes.jsonl", interleaved(chain(8, &[2, 5]), 2));
    let outcomes = saved(&folder, &["check", "outcomes.jsonl", "--level", "postgres.rc"]);
    let n_derivations = outcomes["levels"][0]["evidence"]["grounds"]["derivations"].as_array().unwrap().len();
    for nth in 0..n_derivations {
        refuses(&folder, &outcomes, |it| {
            reverse(&mut it["levels"][0]["evidence"]["grounds"]["derivations"][nth]["steps"]);
        });
    }
    for line in ["outcomes 1", "outcomes 4000000000", "derivation 0", "cases 2", "read"] {
        refuses(&folder, &outcomes, |it| it["levels"][0]["evidence"]["grounds"]["tree"][0] = json!(line));
    }
    // Those of another core.
    let mut other = lists.clone();
    let foreign = grounds(&mut other);
    refuses(&folder, &outcomes, |it| it["levels"][0]["evidence"]["grounds"] = foreign);
    // Without any, there is nothing to look at.
    let mut without = outcomes.clone();
    without["levels"][0]["evidence"].as_object_mut().unwrap().remove("grounds");
    certify(&folder, &without).ends(3).tells("missing");
}

#[test]
fn separating_histories_are_certified_again() {
    let folder = Folder::new();
    for (allowed, forbidden) in
        [("cc", "pc"), ("postgres.rr", "si"), ("adya.pl299", "adya.pl3"), ("crooks.ru", "ru"), ("postgres.rc", "ru")]
    {
        let document = saved(&folder, &["separate", "--allow", allowed, "--forbid", forbidden]);
        certify(&folder, &document).ends(0).tells("Certified: all 2 claims");
    }
    let document = saved(&folder, &["separate", "--allow", "cc", "--forbid", "pc"]);
    refuses(&folder, &document, |it| reverse(&mut it["found"][0]["witnesses"][0]["relations"][0]["order"]));
    refuses(&folder, &document, |it| it["forbidden"][0]["name"] = json!("biswas.ra"));
    refuses(&folder, &document, |it| it["found"][0]["history"] = json!("s1: { w(x,1) }"));
    let none = saved(&folder, &["separate", "--allow", "ser", "--forbid", "si", "--txns", "2"]);
    certify(&folder, &none).ends(3).tells("it rests on the search itself");
}

#[test]
fn proofs_for_every_size_are_replayed() {
    let folder = Folder::new();
    let document = saved(&folder, &["compare", "biswas.si", "cerone.si"]);
    certify(&folder, &document).ends(0).tells("biswas.si implies cerone.si, for every size");
    let proof = |it: &mut Value| it["left_implies_right"]["proof"].take();
    let long = document["left_implies_right"]["proof"]["shown"].as_array().unwrap();
    let long = (0..long.len()).max_by_key(|it| long[*it]["instances"].as_array().unwrap().len()).unwrap();
    let part =
        |it: &mut Value, change: &dyn Fn(&mut Value)| change(&mut it["left_implies_right"]["proof"]["shown"][long]);
    refuses(&folder, &document, |it| it["right_implies_left"]["proof"] = proof(it));
    refuses(&folder, &document, |it| it["left_implies_right"]["proof"]["made"][0]["is"] = json!("so"));
    refuses(&folder, &document, |it| {
        part(it, &|part| {
            part["instances"].as_array_mut().unwrap().pop();
        });
    });
    refuses(&folder, &document, |it| part(it, &|part| part["instances"][0]["clause"] = json!(100_000)));
    refuses(&folder, &document, |it| {
        part(it, &|part| {
            let instances = part["instances"].as_array_mut().unwrap();
            let about = instances.iter_mut().find(|it| !it["values"].as_array().unwrap().is_empty()).unwrap();
            about["values"][0] = json!("nobody");
        });
    });
    refuses(&folder, &document, |it| part(it, &|part| part["instances"][0]["says"] = json!("everything")));
    refuses(&folder, &document, |it| part(it, &|part| part["steps"] = json!([])));
    let mut without = document.clone();
    without["left_implies_right"].as_object_mut().unwrap().remove("proof");
    certify(&folder, &without).ends(3).tells("the proof is not in the document");
    let bounded = saved(&folder, &["compare", "biswas.si", "cerone.si", "--bounded", "3"]);
    certify(&folder, &bounded).ends(3).tells("up to a size");
    let apart = saved(&folder, &["compare", "psi", "pc"]);
    certify(&folder, &apart).ends(0);
    refuses(&folder, &apart, |it| it["left_only"] = it["right_only"].clone());
    let mut without = apart;
    without.as_object_mut().unwrap().remove("left_only");
    certify(&folder, &without).ends(3).tells("no history is in the document");
}

#[test]
fn a_lattice_is_certified_line_by_line() {
    let folder = Folder::new();
    let document = saved(&folder, &["lattice", "cc", "pc", "cerone.pc", "--prove"]);
    certify(&folder, &document).ends(0).tells("biswas.pc implies cerone.pc, for every size");
    refuses(&folder, &document, |it| {
        let edge = &mut it["edges"][0];
        (edge["weaker"], edge["stronger"]) = (edge["stronger"].clone(), edge["weaker"].clone());
    });
    let mut damaged = document.clone();
    damaged["edges"][0]["stronger"] = json!(9);
    certify(&folder, &damaged).ends(2).complains("damaged");
    refuses(&folder, &document, |it| {
        let other = it["implications"][1]["proof"].clone();
        it["implications"][0]["proof"] = other;
    });
    let mut fewer = document.clone();
    fewer["implications"].as_array_mut().unwrap().pop();
    certify(&folder, &fewer).ends(3).tells("missing");
    let unproved = saved(&folder, &["lattice", "cc", "pc"]);
    certify(&folder, &unproved).ends(3).tells("up to a size");
}

#[test]
fn predictions_are_certified_again() {
    let folder = Folder::new();
    folder.write("run.history", "init x=0\ns1: { r(x,0) w(x,1) }\ns2: { r(x,1) w(x,2) }\n");
    let document = saved(&folder, &["predict", "run.history", "--level", "rc"]);
    certify(&folder, &document).ends(0).tells("rc allows").tells("Not looked at: that a prediction repeats");
    refuses(&folder, &document, |it| it["target"]["level"] = json!("rc"));
    refuses(&folder, &document, |it| it["levels"][0]["level"] = json!("ser"));
    refuses(&folder, &document, |it| {
        it["levels"][0]["predictions"][0]["forbidden"]["anomalies"] = json!(["long-fork"]);
    });
}

/// Programs, levels at which a run breaks them, and a change to the text after which it does not.
const RUNS: [(&str, &[&str], (&str, &str)); 4] = [
    (crate::verify::BANK, &["--level", "rc,si"], ("> 0", "> -500")),
    (crate::verify::BANK, &["--level", "postgres.rc,postgres.rr"], ("= 60; ", "= 600; ")),
    // An observer sees what nobody left behind.
    (crate::verify::MOVE, &["--level", "rc,ra"], ("== 10", "!= 77")),
    (
        "enum State { open, closed }\nvar s: State = any State\nvar n: int = any int in 0..3\n\
         txn close() { if s == open { n += 1; s = closed } }\ntxn look() { if s == closed { assert n > 4 } }\n\
         assume s == open\nrun close() || close() || look()\ninvariant n < 9\n",
        &["--level", "ra,psi"],
        ("assert n > 4", "assert n > 0"),
    ),
];

#[test]
fn runs_of_programs_are_replayed_by_the_interpreter() {
    let folder = Folder::new();
    for (program, levels, _) in RUNS {
        folder.write("p.txn", program);
        let document = saved(&folder, &[&["verify", "p.txn"], levels].concat());
        let violated = document["levels"].as_array().unwrap().iter().filter(|it| it["verdict"] == "violated").count();
        assert!(violated > 0, "{program}");
        let said = certify(&folder, &document).tells("the program runs so, and then").tells("allows the run");
        said.ends(if violated == document["levels"].as_array().unwrap().len() { 0 } else { 3 });
    }
    folder.write("p.txn", "var x: int = 0\ntxn set() { x = 1 }\nrun set() || set()\ninvariant x == 1\n");
    let holds = saved(&folder, &["verify", "p.txn", "--level", "si"]);
    certify(&folder, &holds).ends(3).tells("which found no run that breaks it").tells("Only violations can");
}

#[test]
fn a_changed_run_of_a_program_is_refused() {
    let folder = Folder::new();
    for (program, levels, (from, to)) in RUNS {
        folder.write("p.txn", program);
        let document = saved(&folder, &[&["verify", "p.txn"], levels].concat());
        let violated =
            document["levels"].as_array().unwrap().iter().position(|it| it["verdict"] == "violated").unwrap();
        refuses(&folder, &document, |it| {
            let text = it["program"]["text"].as_str().unwrap().replacen(from, to, 1);
            it["program"]["text"] = json!(text);
        });
        refuses(&folder, &document, |it| it["program"]["sessions"] = json!(7));
        refuses(&folder, &document, |it| it["program"]["transactions"][0] = json!("nobody()"));
        let run = |change: &dyn Fn(&mut Value)| {
            let changed = |it: &mut Value| change(&mut it["levels"][violated]["counterexample"]);
            refuses(&folder, &document, changed);
        };
        let of = &document["levels"][violated]["counterexample"];
        let reader = of["transactions"].as_array().unwrap().iter().position(|it| it["reads"][0].is_object()).unwrap();
        run(&|it| it["wrong"] = json!([]));
        run(&|it| it["wrong"][0]["words"] = json!("everything is wrong"));
        run(&|it| it["wrong"][0]["line"] = json!(77));
        run(&|it| it["initial_state"][0][1] = json!("7"));
        run(&|it| it["last_state"][0][1] = json!("7"));
        run(&|it| it["transactions"][0]["name"] = json!("nobody"));
        run(&|it| it["transactions"][0]["call"] = json!("nobody()"));
        run(&|it| it["transactions"][0]["id"] = json!("s9.9"));
        run(&|it| it["transactions"][0]["outcome"] = json!("aborted"));
        run(&|it| {
            it["transactions"].as_array_mut().unwrap().pop();
        });
        run(&|it| it["transactions"][reader]["reads"][0]["value"] = json!("7"));
        run(&|it| it["transactions"][reader]["reads"][0]["line"] = json!(77));
        run(&|it| it["transactions"][reader]["reads"][0]["unit"] = json!("nothing"));
        run(&|it| it["transactions"][reader]["reads"][0]["from"] = json!("nobody"));
        run(&|it| {
            it["transactions"][reader]["reads"].as_array_mut().unwrap().pop();
        });
        run(&|it| it["transactions"][0]["writes"] = json!([{ "unit": "x", "value": "7" }]));
        run(&|it| it["evidence"]["history"] = json!("s1: { w(x,1) }"));
        if of["open_values"][0].is_array() {
            run(&|it| it["open_values"][0][1] = json!("77"));
            run(&|it| it["open_values"] = json!([]));
        }
        if of["observer"].is_array() {
            run(&|it| it["observer"][0]["value"] = json!("7"));
            run(&|it| it["observer"] = Value::Null);
        }
        if of["forbidden_by"][0].is_string() {
            run(&|it| it["forbidden_by"][0] = json!("pl1"));
        }
    }
    // A run that a weaker level allows.
    folder.write("p.txn", crate::verify::BANK);
    let document = saved(&folder, &["verify", "p.txn", "--level", "si"]);
    refuses(&folder, &document, |it| it["levels"][0]["level"] = json!("ser"));
    refuses(&folder, &document, |it| {
        it["levels"][0]["counterexample"]["transactions"][0]["sees"] = json!(["withdraw#1"]);
    });
    refuses(&folder, &document, |it| it["weakest"] = json!(["si"]));
}

/// The last state depends on who wrote last, and a history does not say who that was.
#[test]
fn a_run_in_an_order_that_the_level_does_not_allow_is_refused() {
    let folder = Folder::new();
    folder.write("p.txn", "var x: int = 0\ntxn a() { x = 1 }\ntxn b() { x = 2 }\nrun a(); b()\ninvariant x == 3\n");
    let document = saved(&folder, &["verify", "p.txn", "--level", "si"]);
    certify(&folder, &document).ends(0);
    refuses(&folder, &document, |it| {
        let run = &mut it["levels"][0]["counterexample"];
        run["transactions"].as_array_mut().unwrap().reverse();
        for txn in run["transactions"].as_array_mut().unwrap() {
            txn["sees"] = json!([]);
        }
        run["last_state"][0][1] = json!("1");
    });
}

#[test]
fn answers_about_any_number_are_gone_through_again() {
    let folder = Folder::new();
    folder.write("p.txn", crate::verify::ON_CALL);
    let holds = saved(&folder, &["verify", "p.txn", "--any-number", "--level", "ser"]);
    certify(&folder, &holds)
        .ends(0)
        .tells("every run at ser is as a serial one")
        .tells("go_home, alone and from every state");
    refuses(&folder, &holds, |it| it["levels"][0]["level"] = json!("si"));
    refuses(&folder, &holds, |it| {
        it["any_number"]["steps"].as_array_mut().unwrap().pop();
    });
    refuses(&folder, &holds, |it| it["any_number"]["rows"] = json!([]));
    refuses(&folder, &holds, |it| {
        let text = it["program"]["text"].as_str().unwrap().replace("> 1", "> 0");
        it["program"]["text"] = json!(text);
    });
    let violated = saved(&folder, &["verify", "p.txn", "--any-number", "--level", "si"]);
    certify(&folder, &violated).ends(0).tells("si allows the run");
    refuses(&folder, &violated, |it| it["levels"][0]["counterexample"]["chosen"] = json!(["go_home"]));
    refuses(&folder, &violated, |it| it["levels"][0]["counterexample"]["last_state"][0][1] = json!("missing"));
    refuses(&folder, &violated, |it| it["levels"][0]["level"] = json!("ser"));
}

/// A transaction that reads first is interrupted, and a doctor who goes home by another one.
const BLOCKED: [&str; 2] = [
    "var x: int\ntable t(id) { n: int }\ntxn add(k) { t[k].n += 1; x = 2 }\n\
     txn slow(k, by) {\n    let v = t[k].n\n    t[k].n = v + by + x\n}\n",
    crate::allocate::DOCTORS,
];

#[test]
fn runs_that_block_a_level_are_replayed_and_changed_ones_refused() {
    let folder = Folder::new();
    for program in BLOCKED {
        folder.write("p.txn", program);
        let document = saved(&folder, &["allocate", "p.txn", "--database", "postgres"]);
        let said = certify(&folder, &document).ends(0).tells("at these levels is serializable");
        said.tells("the program runs so, which blocks").tells("allows the run").tells("ser forbids the run");
        let transactions = document["transactions"].as_array().unwrap();
        let txn = transactions.iter().position(|it| it["blocked"][0].is_object()).unwrap();
        let of = &document["transactions"][txn]["blocked"][0]["counterexample"];
        let reader = of["transactions"].as_array().unwrap().iter().position(|it| it["reads"][0].is_object()).unwrap();
        let blocked = |change: &dyn Fn(&mut Value)| {
            refuses(&folder, &document, |it| change(&mut it["transactions"][txn]["blocked"][0]));
        };
        blocked(&|it| it["members"][0] = json!("nobody"));
        blocked(&|it| reverse(&mut it["counterexample"]["transactions"]));
        let run = |change: &dyn Fn(&mut Value)| blocked(&|it| change(&mut it["counterexample"]));
        run(&|it| it["setup"] = json!("run nobody()"));
        run(&|it| it["setup"] = json!(it["setup"].as_str().unwrap().replace("run ", "run pay(1, 5) || ")));
        run(&|it| it["setup"] = json!(it["setup"].as_str().unwrap().replacen("insert", "maybe", 1)));
        run(&|it| it["initial_state"][0][1] = json!("7"));
        run(&|it| it["last_state"][0][1] = json!("7"));
        run(&|it| it["transactions"][reader]["reads"][0]["value"] = json!("7"));
        run(&|it| it["transactions"][reader]["reads"][0]["from"] = json!("nobody"));
        run(&|it| it["transactions"][0]["writes"] = json!([]));
        run(&|it| it["evidence"]["history"] = json!("s1: { w(x,1) }"));
        run(&|it| it["open_values"] = json!([["nothing", "1"]]));
    }
    folder.write("p.txn", BLOCKED[0]);
    let mut without = saved(&folder, &["allocate", "p.txn", "--database", "postgres"]);
    without["transactions"][1]["blocked"][0]["counterexample"].as_object_mut().unwrap().remove("setup");
    certify(&folder, &without).ends(3).tells("does not say with which arguments");
}

#[test]
fn levels_of_ones_own_need_their_file() {
    let folder = Folder::new();
    folder.write("mine.spec", crate::separate::MINE);
    let document = saved(&folder, &["compare", "mine", "pc", "--spec", "mine.spec"]);
    certify(&folder, &document).ends(3).tells("--spec");
    folder.run(&["certify", "saved.json", "--spec", "mine.spec"]).ends(0);
}

#[test]
fn the_json_lists_claims_with_what_became_of_them() {
    let folder = Folder::new();
    let document = saved(&folder, &["separate", "--allow", "cc", "--forbid", "pc"]);
    folder.write("saved.json", document.to_string());
    let answer = folder.run(&["certify", "saved.json", "--json"]).json().remove(0);
    assert_eq!(
        (&answer["verb"], &answer["of"], &answer["verdict"]),
        (&json!("certify"), &json!("separate"), &json!("certified"))
    );
    assert_eq!(answer["claims"][0]["result"], "certified");
}

#[test]
fn what_has_no_evidence_is_not_taken() {
    let folder = Folder::with_histories();
    folder.write("no.json", "{}");
    folder.write("cut.json", "{\"isoscope\":2,\"verb\":\"check\"");
    for name in ["no.json", "cut.json", "gone.json", "skew.history"] {
        folder.run(&["certify", name]).ends(2).complains(name);
    }
    let run = saved(&folder, &["store", "run", "smallbank", "--level", "cc", "--seed", "7", "-o", "run.jsonl"]);
    folder.write("run.json", run.to_string());
    folder.run(&["certify", "run.json"]).ends(2).complains("has no evidence");
}

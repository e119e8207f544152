//! `isoscope predict`.

use crate::limits::ambiguous;
use crate::tool::{Folder, SERIAL, WRITE_SKEW, without_effort};
use iso_collect::{Choice, Setup, application, drive};
use iso_formats::write_recorded_path;
use iso_spec::Level;
use serde_json::json;

/// A deposit, a withdrawal that sees it, and a look that sees both: after figure 9 of the paper.
pub(crate) const ACCOUNT: &str = "init account=0
s1: { r(account,0) w(account,60) }
s2: { r(account,60) w(account,10) }
s1: { r(account,10) }
";

/// Two doctors go home; the second one looks too late, and writes down that nobody is left.
const DOCTORS: &str = "init alice=on bob=on
s1: { r(alice,on) r(bob,on) w(alice,off) }
s2: { r(bob,on) w(bob,off) r(alice,off) w(left,nobody) } { r(left,nobody) }
";

fn folder(history: &str) -> Folder {
    let folder = Folder::new();
    folder.write("run.history", history);
    folder
}

/// Writes the recording of a run of an application on the weak store, in which each read is served the newest value.
pub(crate) fn record(folder: &Folder, name: &str, file: &str, seed: u64) {
    let setup = Setup {
        application: application(name).unwrap(),
        level: Level::CausalConsistency,
        policy: Choice::Latest,
        sessions: 3,
        txns: 4,
        seed,
        retries: false,
    };
    let run = drive(&setup).unwrap();
    write_recorded_path(&run.history, &setup.origin(), &folder.path(file)).unwrap();
}

#[test]
fn a_strict_boundary_hides_the_lost_update_of_a_withdrawal_and_a_relaxed_one_shows_it() {
    let folder = folder(ACCOUNT);
    let said = folder.run(&["predict", "run.history", "--level", "cc", "--boundary", "strict"]).ends(0);
    said.tells("None: no run that could have happened instead is allowed by causal-consistency (cc)")
        .tells("Boundary strict: each session repeats what was observed, up to its first read from another writer.")
        .tells("None is said of this boundary only; --boundary relaxed may have a run.")
        .tells("Not certified: \"none\" rests on the search itself.");
    let arguments = ["predict", "run.history", "-l", "cc", "--boundary", "relaxed", "-o", "predicted.history"];
    let said = folder.run(&arguments).ends(1);
    said.tells("Predicted: a run that causal-consistency (cc) allows and serializable (ser) forbids (lost-update).")
        .tells("s2.1 r(account) observed 60 from s1.1 (line 2), predicted 0 from the initial state")
        .tells("1 read changed, the rest of s2.1 kept as observed; a different value read may make the application")
        .tells("The history is in predicted.history; isoscope check reads it.")
        .tells("evidence certified");
    folder.run(&["check", "predicted.history", "--level", "cc"]).ends(0);
    folder.run(&["check", "predicted.history", "--level", "ser"]).ends(1).tells("lost-update");
}

#[test]
fn sql_names_belong_to_a_database() {
    let folder = folder(ACCOUNT);
    let by_name = folder.run(&["predict", "run.history", "--level", "postgres.rc", "--json"]);
    let by_sql = folder.run(&["predict", "run.history", "--database", "postgres", "-l", "READ COMMITTED", "--json"]);
    assert_eq!(by_sql.code, by_name.code);
    let levels = |it: &crate::tool::Said| it.json()[0]["levels"][0]["level"].clone();
    assert_eq!(levels(&by_sql), levels(&by_name));
    folder.run(&["predict", "run.history", "--database", "postgres", "-l", "serializable"]).ends(2).complains("level");
    folder
        .run(&["predict", "run.history", "--database", "nosuch", "-l", "rc"])
        .ends(2)
        .complains("no database `nosuch`");
    folder.run(&["predict", "--help"]).ends(0).says("postgres.rc").says("mysql.rr");
}

/// A withdrawal that reads and then writes may lose the deposit on `PostgreSQL`; one UPDATE does not.
#[test]
fn a_level_of_a_database_loses_what_was_selected_and_not_what_is_updated() {
    let ask = ["predict", "run.history", "--level", "postgres.rc", "--boundary", "relaxed"];
    folder(ACCOUNT)
        .run(&ask)
        .ends(1)
        .tells("a run that postgres-read-committed (postgres.rc) allows")
        .tells("lost-update");
    let updates = "init account=0\ns1: { u(account,0,60) }\ns2: { u(account,60,10) }\ns1: { r(account,10) }\n";
    folder(updates).run(&ask).ends(0).tells("None: no run that could have happened instead");
    let relaxed = ["predict", "run.history", "--level", "rc", "--boundary", "relaxed"];
    folder(updates).run(&relaxed).ends(1).tells("lost-update");
    folder(ACCOUNT)
        .run(&["predict", "run.history", "--level", "postgres.rr", "--target", "si"])
        .ends(2)
        .complains("choose --target ser");
    let scans = "init t/1=1\ns1: { scan(t, all, {t/1=1}) }\ns2: { w(t/2,1) }\n";
    folder(scans).run(&ask).ends(2).complains("only runs of reads by key can be predicted, and this one has scans");
}

/// What is predicted from a run on the store at a level of a database happens there.
#[test]
fn a_prediction_at_a_level_of_a_database_is_validated() {
    let folder = Folder::new();
    let run = ["store", "run", "smallbank", "--level", "postgres.rc", "--policy", "latest", "-o", "run.jsonl"];
    folder.run(&run).ends(0);
    folder
        .run(&["predict", "run.jsonl", "--level", "postgres.rc", "--validate", "smallbank"])
        .ends(1)
        .tells("a run that postgres-read-committed (postgres.rc) allows")
        .tells("Validated");
}

#[test]
fn without_a_boundary_relaxed_is_tried_where_strict_has_none() {
    let account = folder(ACCOUNT);
    let said = account.run(&["predict", "run.history", "--level", "cc"]).ends(1);
    said.tells("Predicted: a run that causal-consistency (cc) allows and serializable (ser) forbids (lost-update).")
        .tells("Boundary strict, and relaxed where that has none.")
        .tells("Found with the relaxed boundary; the strict one has none.")
        .tells("the rest of s2.1 kept as observed");
    let document = account.run(&["predict", "run.history", "--json"]).ends(1).json().remove(0);
    assert_eq!(document["boundary"], "either");
    let boundaries: Vec<&serde_json::Value> =
        document["levels"].as_array().unwrap().iter().map(|it| &it["boundary"]).collect();
    let (strict, relaxed) = (json!("strict"), json!("relaxed"));
    assert_eq!(boundaries, [&strict, &relaxed, &relaxed, &relaxed, &json!(null), &json!(null)], "{document}");
    assert_eq!(document["not_certified"], "\"none\" rests on the search itself");
    let said = folder(DOCTORS).run(&["predict", "run.history", "--level", "si"]).ends(1);
    said.tells("Found with the strict boundary.");
    let said = folder(SERIAL).run(&["predict", "run.history", "--level", "si"]).ends(0);
    assert!(!said.out.contains("this boundary only"), "both were tried: {said:#?}");
}

#[test]
fn without_a_level_all_are_tried_and_the_strongest_with_a_prediction_is_shown() {
    let said = folder(DOCTORS).run(&["predict", "run.history"]).ends(1);
    assert_eq!(said.out.matches("\nPrediction under ").count(), 1, "{said:#?}");
    assert!(!said.out.contains("A strict boundary drops the later writes"), "{said:#?}");
    said.tells("Predicted: under 6 of these 6 levels")
        .says("Strongest level that allows such a run: snapshot-isolation (si)\n")
        .says("Prediction under snapshot-isolation (si): write-skew\n")
        .tells("1 later operation of s2.1 dropped");
    let said = folder(ACCOUNT).run(&["predict", "run.history", "--boundary", "relaxed"]).ends(1);
    said.says("\nsi   snapshot-isolation           none\n").says("Strongest level that allows such a run: prefix");
}

#[test]
fn a_write_that_is_cut_off_and_would_conflict_is_told() {
    let both_write_z = "init x=0 y=0 z=0\ns1: { r(x,0) r(y,0) w(x,1) w(z,1) }\ns2: { r(y,0) w(y,1) r(x,1) w(z,2) }\n";
    let said = folder(both_write_z).run(&["predict", "run.history", "--level", "si"]).ends(1);
    said.tells("A strict boundary drops the later writes of s2.1, and here si forbids the run with them");
    folder(both_write_z).run(&["predict", "run.history", "--level", "si", "--boundary", "relaxed"]).ends(0);
    let said = folder(both_write_z).run(&["predict", "run.history", "--level", "pc"]).ends(1);
    assert!(!said.out.contains("A strict boundary drops the later writes"), "{said:#?}");
}

#[test]
fn an_observed_run_that_the_target_forbids_is_the_answer_itself() {
    let folder = folder(WRITE_SKEW);
    let said = folder.run(&["predict", "run.history", "--level", "si"]).ends(1);
    said.tells("The observed run itself is the answer: snapshot-isolation (si) allows it")
        .says("Observed run under snapshot-isolation (si): write-skew\n");
    let json = folder.run(&["predict", "run.history", "--level", "si", "--json"]).ends(1).json();
    assert_eq!((&json[0]["verdict"], &json[0]["changed_reads"]), (&json!("predicted"), &json!([])));
}

#[test]
fn a_level_must_allow_the_observed_run() {
    let lost = "init x=0\ns1: { r(x,0) w(x,1) }\ns2: { r(x,0) w(x,2) }\n";
    let said = folder(lost).run(&["predict", "run.history", "--level", "si"]).ends(2);
    said.complains(
        "run.history: the observed run is none under snapshot-isolation (si), which forbids it (lost-update)",
    )
    .complains("ask for a weaker level");
    let said = folder(lost).run(&["predict", "run.history"]).ends(1);
    said.tells("Not asked: psi, si, because the observed run is none under them.");
    let dirty = "init x=0\ns1: { w(x,1) } abort\ns2: { r(x,1) }\n";
    folder(dirty).run(&["predict", "run.history"]).ends(2).complains("the observed run is none under read-committed");
}

#[test]
fn a_target_may_be_weaker_than_serializable() {
    let folder = folder(ACCOUNT);
    let said = folder.run(&["predict", "run.history", "--target", "si", "--boundary", "relaxed"]).ends(1);
    said.tells("that snapshot-isolation (si) forbids.").says("Strongest level that allows such a run: prefix");
    let said = folder.run(&["predict", "run.history", "--target", "ra"]);
    said.says("rc").tells("read-atomic (ra)");
}

#[test]
fn questions_that_make_no_sense_are_refused_with_a_cure() {
    let cases: [(&[&str], &str); 12] = [
        (&["--level", "xx"], "there is no level `xx` for predictions; choose one of rc, ra, cc, pc, psi, si"),
        (
            &["--level", "ser"],
            "serializable (`ser`) is no level of a prediction; choose one of rc, ra, cc, pc, psi, si",
        ),
        (&["--target", "rc"], "is no target of a prediction; choose one of ra, cc, pc, psi, si, ser"),
        (&["--level", "si", "--target", "cc"], "the target `cc` is not stronger than the level `si`"),
        (&["--level", "pc", "--target", "psi"], "choose one of si, ser with --target"),
        (&["--boundary", "loose"], "invalid value 'loose'"),
        (&["--strategy", "guess"], "exact-strict, exact-relaxed, approx-strict, approx-relaxed"),
        (&["--strategy", "exact-strict", "--boundary", "strict"], "cannot be used with"),
        (&["-o", "predicted.txt"], "the name of a history ends in .history"),
        (&["--validate", "petstore"], "there is no application `petstore`; choose one of smallbank"),
        (&["--validate", "smallbank"], "does not say how it was recorded; give the seed"),
        (&["--seed", "1"], "--validate"),
    ];
    for (arguments, words) in cases {
        let all: Vec<&str> = ["predict", "run.history"].iter().chain(arguments).copied().collect();
        let said = folder(ACCOUNT).run(&all).ends(2).complains(words);
        assert!(said.out.is_empty(), "{said:#?}");
    }
    folder("s1: { append(x,1) }\ns2: { r(x,[1]) }\n")
        .run(&["predict", "run.history"])
        .ends(2)
        .complains("is about a list");
    folder("s1: { w(x }\n").run(&["predict", "run.history"]).ends(2).complains("run.history: line 1: column 11");
    Folder::new().run(&["predict", "none.history"]).ends(2).complains("cannot open none.history");
}

#[test]
fn an_approximate_search_never_says_none() {
    let folder = folder(SERIAL);
    folder.run(&["predict", "run.history", "--level", "si", "--strategy", "exact-strict"]).ends(0);
    let said = folder.run(&["predict", "run.history", "--level", "si", "--strategy", "approx-strict"]).ends(3);
    said.tells("Unknown: the approximation finds none, which proves nothing; --strategy exact-strict decides.");
}

#[test]
fn values_that_were_written_twice_are_told_apart() {
    let text = "init x=0\ns1: { r(x,0) w(x,1) }\ns2: { r(x,1) w(x,1) }\ns3: { r(x,1) }\n";
    let said = folder(text).run(&["predict", "run.history", "--level", "cc", "--boundary", "relaxed"]).ends(1);
    said.tells("Some values were written more than once.").tells("1#2");
}

#[test]
fn what_was_rolled_back_is_not_repeated() {
    let text = "init x=0\ns1: { w(x,7) } abort { r(x,0) w(x,1) }\ns2: { r(x,1) w(x,2) }\n";
    let said = folder(text).run(&["predict", "run.history", "--level", "cc", "--boundary", "relaxed"]).ends(1);
    said.tells("s2.1 r(x) observed 1 from s1.2 (line 2), predicted 0 from the initial state")
        .tells("Aborted transactions are not repeated, so some names differ from the observed run: s1.1 is s1.2.");
}

#[test]
fn all_predictions_are_saved_each_in_a_file_of_its_own() {
    let folder = folder(DOCTORS);
    let said = folder.run(&["predict", "run.history", "-l", "rc", "--all", "-o", "predicted.history"]).ends(1);
    said.says("predicted.history: the history of").says("predicted-2.history: the history of");
    for file in ["predicted.history", "predicted-2.history"] {
        folder.run(&["check", file, "--level", "ser"]).ends(1);
    }
    assert_ne!(folder.read("predicted.history"), folder.read("predicted-2.history"));
}

#[test]
fn all_predictions_have_different_shapes() {
    let said = folder(DOCTORS).run(&["predict", "run.history", "--level", "rc", "--all", "--json"]).ends(1);
    let level = &said.json()[0]["levels"][0];
    let shape = |it: &serde_json::Value| (it["forbidden"]["shape"].clone(), it["forbidden"]["anomalies"].clone());
    let shapes: Vec<_> = level["predictions"].as_array().unwrap().iter().map(shape).collect();
    assert!(shapes.len() > 1, "{shapes:?}");
    assert!(shapes.iter().enumerate().all(|(idx, it)| !shapes[..idx].contains(it)), "{shapes:?}");
    assert_eq!(level["ended"], "every other one changes all that an earlier one changes");
}

#[test]
fn the_json_has_a_stable_shape() {
    let arguments = ["predict", "run.history", "--level", "cc", "--boundary", "relaxed", "--json"];
    let said = folder(ACCOUNT).run(&arguments).ends(1);
    let document = &said.json()[0];
    assert_eq!((&document["isoscope"], &document["verb"]), (&json!(2), &json!("predict")));
    assert_eq!((&document["verdict"], &document["boundary"]), (&json!("predicted"), &json!("relaxed")));
    assert_eq!(document["target"], json!({ "level": "ser", "name": "serializable" }));
    let history = "init account=0\ns1: { r(account,0) w(account,60) }\ns2: { r(account,0) w(account,10) }\n";
    assert_eq!(document["history"], history);
    let place = |line: u64| json!({ "file": "run.history", "line": line });
    let read = json!([{
        "transaction": "s2.1", "session": "s2", "place": place(3), "key": "account",
        "observed": { "value": 60, "writer": "s1.1", "place": place(2) },
        "predicted": { "value": 0, "writer": "init" },
        "op": 0,
    }]);
    assert_eq!(document["changed_reads"], read);
    assert_eq!(document["cycle"].as_array().map(Vec::len), Some(2));
    let run = &document["levels"][0]["predictions"][0];
    assert_eq!((&run["allowed"]["certified"], &run["forbidden"]["certified"]), (&json!(true), &json!(true)));
    assert_eq!(run["forbidden"]["anomalies"], json!(["lost-update"]));
    assert_eq!(run["transactions_left_out"], 1);
}

#[test]
fn reports_are_written_and_rendered_again() {
    let folder = folder(DOCTORS);
    let arguments = ["predict", "run.history", "--report", "why.json", "--report", "why.html", "--report", "why.svg"];
    let said = folder.run(&arguments).ends(1);
    assert_eq!(folder.run(&["report", "why.json"]).ends(0).out, said.out);
    folder.run(&["report", "why.json", "-o", "again.html", "-o", "again.svg", "-o", "why.dot"]).ends(0);
    for ending in ["html", "svg"] {
        assert_eq!(folder.read(&format!("again.{ending}")), folder.read(&format!("why.{ending}")));
    }
    assert!(folder.read("why.html").contains("<mark title=\"becomes r(alice,on)\">r(alice,off)</mark>"));
    assert!(folder.read("why.dot").starts_with("digraph \"Observed\""));
}

#[test]
fn a_history_comes_from_a_pipe_and_goes_to_one() {
    let folder = folder(ACCOUNT);
    let said =
        folder.pipe(&["predict", "-", "-l", "cc", "--boundary", "relaxed", "-o", "-"], ACCOUNT.as_bytes()).ends(1);
    assert_eq!(said.out.lines().next(), Some("init account=0"), "{said:#?}");
    said.complains("Predicted: a run that causal-consistency (cc) allows");
    let line = "isoscope predict run.history -l cc --boundary relaxed -o - 2>/dev/null | isoscope check - --level ser";
    folder.shell(line).ends(1).tells("lost-update");
}

#[test]
fn a_trace_of_the_other_tool_is_read() {
    let trace = "READ KEY[7] Txn(1, 1) From(0, 0)\nWRITE KEY[7] Txn(1, 1)\n\
        READ KEY[7] Txn(2, 1) From(1, 1)\nWRITE KEY[7] Txn(2, 1)\n";
    let said = folder(trace).run(&["predict", "run.history", "--level", "cc", "--strategy", "exact-relaxed"]).ends(1);
    said.tells("lost-update").tells("(line 3)");
}

#[test]
fn equal_questions_have_equal_answers() {
    let folder = folder(DOCTORS);
    let ask = || {
        let mut document = folder.run(&["predict", "run.history", "--all", "--json"]).ends(1).json().remove(0);
        without_effort(&mut document);
        document.to_string()
    };
    assert_eq!(ask(), ask());
}

/// Runs along predictions under causal consistency: what became of each, by seed.
fn validations(name: &str) -> Vec<serde_json::Value> {
    let mut all = Vec::new();
    for seed in 0..12 {
        let folder = Folder::new();
        record(&folder, name, "run.jsonl", seed);
        let arguments =
            ["predict", "run.jsonl", "-l", "cc", "--boundary", "relaxed", "--all", "--validate", name, "--json"];
        let said = folder.run(&arguments);
        assert!(said.code < 2 && said.err.is_empty(), "{name} {seed}: {said:#?}");
        let document = said.json().remove(0);
        let runs = document["levels"][0]["predictions"].as_array().cloned().unwrap_or_default();
        all.extend(runs.into_iter().map(|it| it["validation"].clone()));
    }
    all
}

#[test]
fn a_prediction_happens_indeed_if_the_application_runs_along_it() {
    let all = validations("smallbank");
    let validated: Vec<_> = all.iter().filter(|it| it["verdict"] == "validated").collect();
    assert!(validated.len() > 5, "{all:#?}");
    assert!(validated.iter().all(|it| it["application"] == "smallbank"));
    for run in validated {
        let replayed = folder(run["history"].as_str().unwrap());
        replayed.run(&["check", "run.history", "--level", "cc"]).ends(0);
        replayed.run(&["check", "run.history", "--level", "ser"]).ends(1);
    }
}

#[test]
fn a_recording_must_be_one_of_the_application() {
    let folder = Folder::new();
    record(&folder, "voter", "run.jsonl", 1);
    let ask = |arguments: &[&str]| {
        let all: Vec<&str> = ["predict", "run.jsonl", "-l", "cc"].iter().chain(arguments).copied().collect();
        folder.run(&all)
    };
    ask(&["--validate", "smallbank"]).ends(2).complains("run.jsonl: this is a run of voter, and not of smallbank");
    ask(&["--validate", "voter", "--seed", "2"])
        .ends(2)
        .complains("this is a run with --seed 1, which need not be given");
    ask(&["--validate", "voter", "--seed", "1"]).ends(0);
    let changed = folder.read("run.jsonl").replacen("\"seed\":1", "\"seed\":5", 1);
    folder.write("run.jsonl", changed);
    ask(&["--validate", "voter"]).ends(2).complains("runs otherwise than recorded");
}

#[test]
fn a_limit_ends_a_search_without_an_answer() {
    let said = folder(&ambiguous(4000)).run(&["predict", "run.history", "--timeout", "300ms"]).ends(3);
    said.says("Unknown.\n").complains("give it more with --timeout, or ask for one level with --level");
}

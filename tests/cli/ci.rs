//! The script behind the GitHub action, run as CI runs it.

use crate::tool::{Folder, Said, said};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn script(folder: &Folder, settings: &[(&str, &str)]) -> Said {
    let mut bash = Command::new("bash");
    bash.arg(root().join("integrations/ci/isoscope-ci.sh")).current_dir(folder.path(""));
    bash.env("ISOSCOPE", env!("CARGO_BIN_EXE_isoscope")).env_remove("GITHUB_ACTIONS");
    bash.envs(settings.iter().copied());
    said(&mut bash)
}

#[test]
fn a_violation_fails_the_step_with_annotations_reports_and_a_summary() {
    let folder = Folder::with_histories();
    let settings = [
        ("ISOSCOPE_HISTORY", "serial.history skew.history"),
        ("ISOSCOPE_LEVEL", "ser"),
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_OUTPUT", "output.txt"),
        ("GITHUB_STEP_SUMMARY", "summary.md"),
    ];
    let said = script(&folder, &settings).ends(1).says("::error file=skew.history,line=2,title=skew.history");
    assert!(said.out.ends_with("isoscope: violated; the reports are in isoscope-reports\n"), "{said:#?}");
    for ending in ["html", "xml", "sarif", "json", "txt"] {
        for name in ["serial", "skew"] {
            folder.read(&format!("isoscope-reports/check-{name}.history.{ending}"));
        }
    }
    assert!(
        folder
            .read("isoscope-reports/check-skew.history.xml")
            .contains("<failure message=\"serializable (ser) is violated")
    );
    assert!(!folder.read("isoscope-reports/check-serial.history.xml").contains("<failure"));
    assert_eq!(folder.read("output.txt"), "verdict=violated\nreports=isoscope-reports\n");
    assert!(folder.read("summary.md").contains("write-skew, forbidden by ser"));
}

#[test]
fn elle_histories_and_programs_are_asked_too() {
    let folder = Folder::new();
    folder.write("history.edn", "{:type :ok, :process 0, :f :txn, :value [[:append :x 1] [:r :x [1]]]}\n");
    script(&folder, &[("ISOSCOPE_HISTORY", "history.edn"), ("ISOSCOPE_LEVEL", "ser-nosession")]).ends(0).says("holds");
    let program = root().join("corpus/programs/counter.txn");
    let settings = [("ISOSCOPE_PROGRAM", program.to_str().unwrap()), ("ISOSCOPE_LEVEL", "rc")];
    script(&folder, &settings).ends(1).says("isoscope: violated");
    assert!(folder.read("isoscope-reports/verify-counter.txn.xml").contains("<failure "));
}

#[test]
fn histories_of_one_name_on_two_lines_have_reports_of_their_own() {
    let folder = Folder::new();
    for (name, read) in [("a", 0), ("b", 1)] {
        fs::create_dir(folder.path(name)).unwrap();
        folder.write(&format!("{name}/h.history"), format!("init x=0\ns1: {{ w(x,1) }}\ns1: {{ r(x,{read}) }}\n"));
    }
    let settings = [("ISOSCOPE_HISTORY", "a/h.history\nb/h.history"), ("ISOSCOPE_LEVEL", "ser")];
    script(&folder, &settings).ends(1);
    assert!(folder.read("isoscope-reports/check-h.history.xml").contains("<failure "));
    assert!(!folder.read("isoscope-reports/check-h.history-2.xml").contains("<failure "));
}

#[test]
fn a_shell_reads_the_command_that_is_run() {
    let folder = Folder::new();
    // In the place of the tool: it only runs what it is told to run.
    folder.write("tool.sh", "while [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n");
    folder.write("tool", "#!/bin/sh\nexec sh ./tool.sh \"$@\"\n");
    let mut mode = fs::metadata(folder.path("tool")).unwrap().permissions();
    mode.set_mode(0o755);
    fs::set_permissions(folder.path("tool"), mode).unwrap();
    let run = |command| script(&folder, &[("ISOSCOPE", "./tool"), ("ISOSCOPE_RUN", command)]);
    run("printf '%s;' 'a b' c && true").ends(0).says("a b;c;");
    run("true && false").ends(1).says("isoscope: violated");
    run("false\ntrue").ends(1);
    run("false | cat").ends(1);
}

#[test]
fn a_program_that_cannot_be_read_is_an_error_of_its_line() {
    let folder = Folder::new();
    folder.write("bad.txn", "var x: int = 0\ntxn t() { x = }\nrun t()\ninvariant x == 0\n");
    let settings = [("ISOSCOPE_PROGRAM", "bad.txn"), ("GITHUB_ACTIONS", "true")];
    script(&folder, &settings).ends(2).says("::error file=bad.txn,").says("isoscope: unasked");
    let junit = folder.read("isoscope-reports/verify-bad.txn.xml");
    assert!(junit.contains("name=\"the program can be read\" file=\"bad.txn\" line=\"2\""), "{junit}");
    assert!(junit.contains("errors=\"1\"") && junit.contains("type=\"input\""), "{junit}");
    let sarif = folder.read("isoscope-reports/verify-bad.txn.sarif");
    assert!(sarif.contains("\"startLine\": 2") && sarif.contains("\"ruleId\": \"input\""), "{sarif}");
}

#[test]
fn answers_are_printed_as_services_read_them() {
    let folder = Folder::with_histories();
    let check = |files: &[&str], form: &str| {
        folder.run(&[&["check"], files, &["--level", "si,ser", "--format", form]].concat())
    };
    let xml = check(&["serial.history", "skew.history"], "junit").ends(1).out;
    assert_eq!(xml.matches("<testsuites ").count(), 1, "{xml}");
    assert!(xml.starts_with("<?xml") && xml.trim_end().ends_with("</testsuites>"), "{xml}");
    assert_eq!((xml.matches("<testcase ").count(), xml.matches("<failure ").count()), (4, 1), "{xml}");

    let with_missing = check(&["serial.history", "missing.history"], "junit").ends(2).out;
    assert_eq!(with_missing.matches("<testsuites ").count(), 1, "{with_missing}");
    assert!(with_missing.contains("type=\"input\"") && with_missing.contains("missing.history"), "{with_missing}");

    let sarif: serde_json::Value = serde_json::from_str(&check(&["skew.history"], "sarif").ends(1).out).unwrap();
    assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), 1, "{sarif}");

    let reports = ["--report", "answer.xml", "--report", "answer.sarif"];
    let check = ["check", "skew.history", "--level", "si,ser", "--format", "json"];
    folder.write("answer.json", folder.run(&[&check[..], &reports].concat()).ends(1).out);
    for (form, file) in [("junit", "answer.xml"), ("sarif", "answer.sarif")] {
        let said = folder.run(&["report", "answer.json", "--format", form]).ends(0).out;
        assert_eq!(said, folder.read(file));
    }
    folder.run(&["report", "answer.json", "--format", "text"]).ends(0).says("write-skew");
}

#[test]
fn programs_are_answered_as_services_read_it_also_if_they_cannot_be_read() {
    let folder = Folder::new();
    let program = root().join("corpus/programs/counter.txn");
    let verify = |file: &str| folder.run(&["verify", file, "--level", "rc", "--format", "junit"]);
    let xml = verify(program.to_str().unwrap()).ends(1).out;
    assert!(xml.starts_with("<?xml") && xml.contains("<failure "), "{xml}");
    folder.write("bad.txn", "var x: int = 0\ntxn t() { x = }\nrun t()\ninvariant x == 0\n");
    let xml = verify("bad.txn").ends(2).out;
    assert!(xml.contains("file=\"bad.txn\" line=\"2\"") && xml.contains("type=\"input\""), "{xml}");
}

#[test]
fn a_format_of_histories_is_no_form_of_answers() {
    let folder = Folder::with_histories();
    folder.run(&["check", "skew.history", "--format", "jsonl"]).ends(2).complains("say --from jsonl");
    folder.run(&["check", "skew.history", "--format", "edn"]).ends(2).complains("check --edn");
    folder.run(&["check", "skew.history", "--format", "csv"]).ends(2).complains("text, json, junit or sarif");
    folder.run(&["check", "skew.history", "--from", "text", "--level", "si"]).ends(0);
}

#[test]
fn nothing_to_ask_and_bad_input_do_not_pass() {
    let folder = Folder::new();
    script(&folder, &[]).ends(2).complains("there is nothing to ask");
    script(&folder, &[("ISOSCOPE_HISTORY", "missing.jsonl")]).ends(2).says("isoscope: unasked");
}

#[test]
fn the_action_sets_what_the_script_reads() {
    let action = fs::read_to_string(root().join("action.yml")).unwrap();
    let script = fs::read_to_string(root().join("integrations/ci/isoscope-ci.sh")).unwrap();
    let names = action
        .split("ISOSCOPE")
        .skip(1)
        .map(|it| it.split(|it: char| it != '_' && !it.is_ascii_uppercase()).next().unwrap());
    for name in names {
        assert!(script.contains(&format!("${{ISOSCOPE{name}:-")), "the script does not read ISOSCOPE{name}");
    }
    for input in action.split("inputs.").skip(1).map(|it| it.split(' ').next().unwrap()) {
        assert!(action.contains(&format!("\n  {input}:\n")), "{input} is no input");
    }
    assert!(action.contains("$GITHUB_ACTION_PATH/integrations/ci/isoscope-ci.sh"));
}

#[test]
fn the_clojure_checker_asks_as_the_command_line_is_asked() {
    let text = fs::read_to_string(root().join("integrations/jepsen/src/isoscope/jepsen.clj")).unwrap();
    let n = |what: char| text.matches(what).count();
    assert_eq!((n('('), n('['), n('{')), (n(')'), n(']'), n('}')), "brackets do not match");
    let folder = Folder::with_histories();
    let said =
        folder.run(&["check", "skew.history", "--edn", "--timeout", "10m", "--report", "p.html", "--level", "ser"]);
    let said = said.ends(1).says("{:valid? false, :anomaly-types [:G2-item]");
    assert_eq!(said.out.lines().count(), 1);
    for option in ["--edn", "--timeout", "--report", "--level", "--initial"] {
        assert!(text.contains(option), "{option}");
    }
    // Its models are those of the data.
    let models = text.split("(def models").nth(1).unwrap().split("(defn level").next().unwrap();
    let mut n_models = 0;
    for line in models.lines().filter(|it| it.trim_start_matches([' ', '{']).starts_with(':')) {
        let mut words = line.trim_start_matches([' ', '{']).split_whitespace();
        let (Some(model), Some(level)) = (words.next(), words.next()) else { panic!("{line}") };
        let level = level.trim_matches(|it| "\"})".contains(it));
        assert_eq!(isoscope::report::elle::level_of_elle(model), Some(level), "{line}");
        n_models += 1;
    }
    assert!(n_models > 10, "{n_models}");
}

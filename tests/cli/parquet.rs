//! Parquet data sets, and engines that replay them.

use crate::tool::{Folder, said, tool};

const LOST: &str = "{\"isoscope\":1,\"initial\":0,\"database\":{\"name\":\"postgres\",\"version\":\"15\",\"isolation\":\"serializable\"}}\n\
                    {\"s\":\"a\",\"ops\":[[\"u\",\"x\",0,1]],\"begin\":1,\"end\":4}\n\
                    {\"s\":\"b\",\"ops\":[[\"u\",\"x\",0,2]],\"begin\":2,\"end\":5}\n";

#[test]
fn nothing_is_lost_on_the_way_there_and_back() {
    let folder = Folder::new();
    folder.write("lost.jsonl", LOST);
    folder.run(&["convert", "lost.jsonl", "set.parquet"]).ends(0).says("set.parquet: 2 transactions as parquet");
    folder.run(&["convert", "set.parquet", "again.jsonl"]).ends(0);
    folder.run(&["convert", "lost.jsonl", "plain.jsonl"]).ends(0);
    assert_eq!(folder.read("again.jsonl"), folder.read("plain.jsonl"));
    let said = folder.run(&["check", "set.parquet", "--level", "si"]).ends(1);
    said.says("lost-update").says("a.1 (txn 1)");
    folder.run(&["check", "set.parquet"]).ends(1).says("PostgreSQL 15 at SERIALIZABLE promises");
    folder.run(&["convert", "lost.jsonl", "set.parquet"]).ends(2).complains("set.parquet exists");
    folder.run(&["convert", "lost.jsonl", "set.parquet", "--force"]).ends(0);
    let piped = folder.shell("isoscope convert lost.jsonl - --to parquet | isoscope check - --level si").ends(1);
    piped.says("lost-update");
}

#[test]
fn a_run_is_collected_as_a_data_set() {
    let folder = Folder::new();
    let run = ["collect", "store:si", "-w", "rmw", "--sessions", "3", "--txns", "10", "-o", "h.parquet"];
    folder.run(&run).ends(0).says("The history is in h.parquet. Next:\n  isoscope check h.parquet\n");
    folder.run(&["check", "h.parquet", "--level", "si"]).ends(0);
    assert!(!folder.path("h.parquet.jsonl").exists());
    folder.run(&run).ends(2).complains("h.parquet exists; overwrite it with --force");
    folder.run(&[&run[..], &["--force"]].concat()).ends(0);
}

#[test]
fn damaged_data_sets_are_refused() {
    let folder = Folder::new();
    folder.write("lost.jsonl", LOST);
    folder.run(&["convert", "lost.jsonl", "set.parquet"]).ends(0);
    let part = folder.path("set.parquet/part-00000.parquet");
    let bytes = std::fs::read(&part).unwrap();
    std::fs::write(&part, &bytes[..bytes.len() - 9]).unwrap();
    folder.run(&["check", "set.parquet"]).ends(2).complains("part-00000.parquet: the file is damaged");
}

#[test]
fn queries_are_printed_for_other_engines() {
    let folder = Folder::new();
    folder.write("lost.jsonl", LOST);
    folder.run(&["convert", "lost.jsonl", "set.parquet"]).ends(0);
    let queries = folder.run(&["check", "set.parquet", "--level", "ser", "--emit", "sql"]).ends(0);
    let queries = queries.says("CREATE OR REPLACE TEMPORARY VIEW history USING parquet OPTIONS (path 'set.parquet')");
    queries.says("CREATE TABLE misfit_keys USING parquet AS");
    folder.run(&["check", "set.parquet", "--emit", "sql"]).ends(2).complains("--level");
    folder.run(&["check", "lost.jsonl", "--level", "ser", "--emit", "sql"]).ends(2).complains("lost.jsonl");
}

#[test]
fn an_engine_that_is_not_there_is_named_with_its_cure() {
    let folder = Folder::new();
    folder.write("lost.jsonl", LOST);
    folder.run(&["convert", "lost.jsonl", "set.parquet"]).ends(0);
    let ask = |level: &str, engine: &str| {
        let mut command = tool(&folder.path("."));
        command.args(["check", "set.parquet", "--level", level, "--engine", engine]);
        said(
            command
                .env("PYSPARK_PYTHON", "no-python")
                .env("ISOSCOPE_PYTHON", "no-python")
                .env("ISOSCOPE_BALLISTA", "no-program"),
        )
    };
    ask("ser", "spark").ends(2).complains("no-python -m pip install pyspark");
    ask("ser", "datafusion").ends(2).complains("no-python -m pip install datafusion");
    ask("rc", "spark").ends(2).complains("--engine decides ser, sser and si, not rc");
    ask("ser", "ballista://127.0.0.1:1").ends(2).complains("no-program --version").complains("integrations/ballista");
    ask("ser", "abacus").ends(2).complains("there is no engine `abacus`; choose datafusion, spark");
}

/// Has the interpreter that the tool takes the package? `cargo xtask test` sees to it.
fn has_data_fusion() -> bool {
    let python = std::env::var("ISOSCOPE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = std::process::Command::new(python).args(["-c", "import datafusion"]).output();
    let has = found.is_ok_and(|it| it.status.success());
    assert!(has || std::env::var_os("ISOSCOPE_DATAFUSION").is_none(), "DataFusion is not installed");
    has
}

#[test]
fn data_fusion_replays_and_what_does_not_fit_is_decided_and_certified() {
    if !has_data_fusion() {
        return;
    }
    let folder = Folder::new();
    folder.write("lost.jsonl", LOST);
    folder.write("serial.jsonl", LOST.replace("[\"u\",\"x\",0,2]", "[\"u\",\"x\",1,2]"));
    for name in ["lost", "serial"] {
        folder.run(&["convert", &format!("{name}.jsonl"), &format!("{name}.parquet")]).ends(0);
    }
    let ask = |set: &str, more: &[&str]| {
        folder.run(&[&["check", set, "--level", "si", "--engine", "datafusion"][..], more].concat())
    };
    let holds = ask("serial.parquet", &[]).ends(0);
    holds.says("snapshot-isolation (si): holds").tells("which DataFusion found out (replays: 1)");
    let lost = ask("lost.parquet", &[]).ends(1).says("lost-update").says("a.1 (txn 1)").says("evidence certified");
    assert!(!lost.out.contains("replay-"), "{lost:#?}");
    let document = ask("lost.parquet", &["--json"]).ends(1).json().remove(0);
    assert_eq!(document["levels"][0]["certified"], true, "{document}");
    // Its end is fine, and its rows are not.
    let part = folder.path("serial.parquet/part-00000.parquet");
    let mut bytes = std::fs::read(&part).unwrap();
    bytes[4..40].fill(0xff);
    std::fs::write(&part, bytes).unwrap();
    ask("serial.parquet", &[]).ends(3).complains("DataFusion did not finish");
    ask("nowhere.parquet", &[]).ends(2).complains("nowhere.parquet");
    assert!(hidden(&folder).is_empty(), "{:?}", hidden(&folder));
}

/// What an engine works with stands beside the data set as long as it works.
fn hidden(folder: &Folder) -> Vec<std::ffi::OsString> {
    let names = std::fs::read_dir(folder.path(".")).unwrap().map(|it| it.unwrap().file_name());
    names.filter(|it| it.to_string_lossy().starts_with('.')).collect()
}

#[test]
fn an_engine_that_is_interrupted_leaves_nothing() {
    if !has_data_fusion() {
        return;
    }
    let folder = Folder::new();
    folder.write("lost.jsonl", LOST);
    folder.run(&["convert", "lost.jsonl", "set.parquet"]).ends(0);
    let mut command = tool(&folder.path("."));
    command.args(["check", "set.parquet", "--level", "si", "--engine", "datafusion"]);
    let running = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    // Python takes longer to load the package than this loop to see that it begins.
    while hidden(&folder).is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let pid = running.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = running.wait_with_output().unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("unknown") && said.contains("interrupted"), "{said}");
    assert!(hidden(&folder).is_empty(), "{:?}", hidden(&folder));
}

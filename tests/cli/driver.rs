//! Drivers of one's own: `command:..` for `collect`, `hunt` and `replay`, and `isoscope driver check`.

use crate::tool::Folder;
use std::path::Path;
use std::process::{Command, Stdio};

fn example(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/drivers").join(name).display().to_string()
}

fn sqlite() -> String {
    format!("command:python3 {}", example("sqlite.py"))
}

fn bad(fault: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/bad_driver.py");
    format!("command:python3 {} {fault}", file.display())
}

/// Node is on every machine that develops for it, and on others it is not.
fn node() -> Option<String> {
    let has_node = Command::new("node").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    has_node.is_ok_and(|it| it.success()).then(|| format!("command:node {}", example("locking_map.mjs")))
}

#[test]
fn the_example_for_sqlite_speaks_the_protocol_and_keeps_its_promise() {
    let folder = Folder::new();
    let said = folder.run(&["driver", "check", &sqlite()]).ends(0);
    let said = said.says("sqlite-python 3.").says("The driver speaks the protocol.");
    assert!(!said.out.contains("wrong") && !said.out.contains("unsupported  the"), "{}", said.out);
    folder.run(&["hunt", &sqlite(), "--for", "3s"]).ends(0).tells("promises ser (serializable) (its driver says so)");
}

#[test]
fn what_a_driver_records_is_checked_against_its_promise() {
    let folder = Folder::new();
    for processes in ["one", "each"] {
        let (file, processes) = (format!("{processes}.jsonl"), format!("--driver-processes={processes}"));
        let url = format!("{} {}", sqlite(), folder.path("kv.db").display());
        let collect = ["collect", &url, "-w", "append", "--sessions", "3", "--txns", "20", &processes, "-o", &file];
        folder.run(&collect).ends(0).says("append on sqlite-python 3.");
        assert!(folder.read(&file).contains("\"promise:serializable\":\"ser\""));
        folder.run(&["check", &file]).ends(0).says("sqlite-python").says("kept");
    }
}

#[test]
fn a_script_is_played_through_a_driver() {
    let folder = Folder::new();
    folder.write(
        "s.steps",
        "# expect: not ser\ntable t int\nrow t x 0\ns1 begin serializable\ns1 get t x\ns1 put t x 1\ns1 commit\n\
         s2 begin serializable\ns2 scan t\ns2 commit\n",
    );
    folder.run(&["replay", "s.steps", &sqlite()]).ends(0).says("s2  scan t").says("{x=1}");
}

#[test]
fn the_example_in_node_is_serializable_unless_it_is_told_not_to_be() {
    let Some(url) = node() else { return };
    let folder = Folder::new();
    folder.run(&["driver", "check", &url]).ends(0);
    folder.run(&["hunt", &url, "--for", "3s"]).ends(0);
    let weak = format!("{url} --lose-updates");
    let said = folder.run(&["hunt", &weak, "--for", "10s", "--script", "found.steps"]).ends(1);
    said.says("is not serializable (ser): ").says("in 5 of 5 tries");
    folder.run(&["replay", "found.steps", &weak]).ends(1).says("SHOWN AGAIN");
    folder.run(&["replay", "found.steps", &url]).ends(0).says("Not shown");
}

#[test]
fn what_shows_in_few_races_is_shrunk_to_three_transactions_and_has_a_rate() {
    let folder = Folder::new();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/racy_driver.py");
    let url = format!("command:python3 {}", file.display());
    let said = folder.run(&["hunt", &url, "--for", "60s", "--json", "--script", "found.steps"]).ends(1);
    let finding = &said.json()[0]["findings"][0];
    let (tries, shown) = (finding["script"]["tries"].as_u64().unwrap(), finding["script"]["shown"].as_u64().unwrap());
    assert!(shown >= 1 && shown < tries && tries >= 30, "{shown} of {tries}");
    let script = folder.read("found.steps");
    assert!(script.contains("together {") && script.matches(" begin ").count() <= 3, "{script}");
}

/// Drivers that do not even speak the protocol, and what is said of each.
const LOST: [(&str, &str); 4] = [
    ("nonsense", "`what a nice day`: it is no JSON"),
    ("dies", "has ended by itself (exit status: 3)"),
    ("hangs", "does not answer `"),
    ("floods", "wrote an answer (line"),
];

/// How long a driver may take to answer: one that hangs is not waited for, but Python must have the time to start.
fn timeout(fault: &str) -> &'static str {
    if fault == "hangs" { "5s" } else { "20s" }
}

#[test]
fn a_driver_that_fails_ends_the_run_with_a_reason_and_nothing_is_lost() {
    let folder = Folder::new();
    let others = [
        ("strange", "which was not asked or is answered already"),
        ("both", "it has several of"),
        ("float", "the value 1.5 is no whole number"),
        ("broken", "the disk is on fire"),
    ];
    for (fault, words) in LOST.into_iter().chain(others) {
        let file = format!("{fault}.jsonl");
        let url = bad(fault);
        let collect =
            ["collect", &url, "--sessions", "2", "--keys", "4", "--driver-timeout", timeout(fault), "-o", &file];
        let said = folder.run(&collect).ends(2).complains(words).complains("what happened until then is recorded");
        assert!(fault != "dies" || said.err.contains("its last words: something is rotten"), "{}", said.err);
        assert!(folder.read(&file).ends_with("{\"recording\":\"complete\"}\n"), "{fault}");
        let said = folder.run(&["check", &file, "--json"]).ends(0);
        assert!(said.json()[0]["history"]["transactions"].as_u64().unwrap() > 3, "{fault}");
    }
}

#[test]
fn a_hunt_whose_driver_fails_says_so_and_judges_what_there_is() {
    let said = Folder::new().run(&["hunt", &bad("dies 300"), "--for", "20s", "-w", "rmw"]).ends(2);
    said.complains("has ended by itself").complains("what was recorded until then is judged").says("Looked at: ");
}

#[test]
fn a_hunt_whose_driver_fails_keeps_what_was_recorded_and_does_not_end_well() {
    let folder = Folder::new();
    for (fault, words) in LOST.into_iter().chain([("broken", "the disk is on fire")]) {
        // In a run, in a later script, and in the first one.
        for (what, left) in [("rmw", 300), ("probes", 12), ("probes", 3)] {
            let (url, file) = (bad(&format!("{fault} {left}")), format!("{fault}-{what}-{left}.history"));
            let hunt = ["hunt", &url, "--for", "20s", "--driver-timeout", timeout(fault), "-w", what, "-o", &file];
            let said = folder.run(&hunt).ends(2).complains(words);
            let said = said.says("ENDED EARLY: what bad 1 behind ").says("Looked at: ");
            assert!(!said.out.contains("Nothing found"), "{file}: {}", said.out);
            let said = folder.run(&["check", &file, "--level", "ser", "--json"]).ends(0);
            assert!(said.json()[0]["history"]["transactions"].as_u64().unwrap() > 0, "{file}");
        }
    }
}

#[test]
fn a_process_of_one_session_that_ends_is_not_forgotten() {
    let folder = Folder::new();
    let hunt = ["hunt", &bad("dies 1"), "--for", "20s", "-w", "probes", "--driver-processes=each", "-o", "h.history"];
    folder.run(&hunt).ends(2).complains("has ended by itself");
    assert!(folder.read("h.history").contains("s1: {"), "{}", folder.read("h.history"));
}

#[test]
fn a_hunt_whose_driver_fails_is_no_test_that_passed() {
    let folder = Folder::new();
    let hunt = ["hunt", &bad("dies 12"), "--for", "20s", "-w", "probes", "--json", "--report", "junit.xml"];
    let said = folder.run(&hunt).ends(2);
    assert_eq!(said.json()[0]["verdict"], "unknown");
    assert!(said.json()[0]["failure"].as_str().unwrap().contains("has ended by itself"));
    assert!(folder.read("junit.xml").contains("errors=\"1\""), "{}", folder.read("junit.xml"));
}

#[test]
fn a_driver_that_cannot_even_begin_is_refused() {
    let folder = Folder::new();
    let collect = |url: &str| folder.run(&["collect", url, "-o", "h.jsonl"]).ends(2);
    collect(&bad("rude")).complains("the answer to `hello` is an object");
    collect(&bad("future")).complains("the driver speaks protocol 7");
    collect("command:./is-not-there").complains("`./is-not-there` cannot be started");
    collect("command:").complains("it is no command");
    folder
        .run(&["collect", &bad("none"), "-w", "append", "-o", "h.jsonl"])
        .ends(2)
        .complains("does not support `append`");
    folder.run(&["driver", "check", "sqlite:"]).ends(2).complains("is no driver");
    assert!(!folder.path("h.jsonl").exists());
}

#[test]
fn what_is_wrong_with_a_driver_is_told_line_by_line() {
    let folder = Folder::new();
    folder.run(&["driver", "check", &bad("rude")]).ends(1).says("hello  wrong").says("One thing is wrong");
    let said = folder.run(&["driver", "check", &bad("float 0")]).ends(1);
    said.says("get ").says("the value 1.5 is no whole number");
    let said = folder.run(&["driver", "check", &bad("none 1000")]).ends(0);
    said.says("append            unsupported  the workload append needs it").says("The driver speaks the protocol.");
}

//! `isoscope serve`: what cannot be served, and the walk-through of docs/your-application.md.

use crate::tool::Folder;
use iso_servers::{Kind, Server, is_installed};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn what_cannot_be_served_is_said_before_anything_happens() {
    let folder = Folder::new();
    let bad = |options: &[&str], words: &str| {
        folder.run(&[&["serve", "--listen", "127.0.0.1:0"], options].concat()).ends(2).complains(words);
    };
    bad(&[], "--level <LEVEL>");
    bad(&["--level", "ru"], "choose one of rc, ra, cc, pc, psi, si, ser");
    bad(&["--level", "cc", "--policy", "worst"], "there is no policy `worst`");
    bad(&["--level", "cc", "-o", "h.history"], "ends in .jsonl");
    bad(&["--level", "cc", "-o", "-", "--check", "ser"], "give it a file");
    bad(&["--level", "cc", "-o", "h.jsonl", "--check", "best"], "there is no level `best`");
    bad(&["--level", "cc", "--check", "ser"], "--output <FILE.jsonl>");
    bad(&["--level", "cc", "--report", "h.html"], "--output <FILE.jsonl>");
    bad(&["--level", "cc", "-o", "h.jsonl", "--report", "h.pdf"], "h.pdf");
    bad(&["--level", "cc", "-o", "h.jsonl", "--stop-on-violation"], "--check <LEVEL>");
    bad(&["--level", "cc", "--updates", "best"], "--updates is newest or weak");
    bad(&["--level", "postgres.rc", "--updates", "weak"], "leave out --updates weak");
    bad(&["--level", "cc", "--schema", "nowhere.sql"], "nowhere.sql");
    bad(&["--level", "cc", "--replay", "nowhere.history"], "nowhere.history");
    bad(&["--level", "cc", "--engine", "postgres://me@127.0.0.1:1/test"], "127.0.0.1:1");
    bad(&["--level", "cc", "--listen", "nowhere"], "cannot be used multiple times");
    assert!(!folder.path("h.jsonl").exists());
}

/// Are a server and a driver here? If not, that is said; `cargo xtask test` installs both where it can.
#[allow(clippy::print_stderr, reason = "a test that is skipped says so")]
fn can_serve() -> bool {
    let python = Command::new("/usr/bin/python3").args(["-c", "import psycopg"]).output();
    let can = is_installed(Kind::PostgreSql) && python.is_ok_and(|it| it.status.success());
    assert!(can || std::env::var_os("ISOSCOPE_SERVERS").is_none(), "PostgreSQL or python3-psycopg is not installed");
    if !can {
        eprintln!("skipped: PostgreSQL or python3-psycopg is not installed");
    }
    can
}

#[test]
fn the_shop_is_served_weakly_and_runs_along_a_prediction() {
    if !can_serve() {
        return;
    }
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/apps/shop/shop.py");
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/apps/shop/schema.sql");
    let folder = Folder::new();
    let redeem = |customers: &str, code: &str| {
        format!("for it in {customers}; do /usr/bin/python3 {shop} redeem $it {code} || exit 1; done")
    };
    let rush = redeem("1 2 3 4 5 6 7 8", "VIP");
    let serve = ["serve", "--listen", "127.0.0.1:0", "--schema", schema];
    let reports = ["--report", "why.html", "--report", "why.txt"];
    let weak = ["--level", "cc", "--seed", "7", "-o", "rush.jsonl", "--check", "ser,cc"];
    let weak = [&weak[..], &reports, &["--", "sh", "-c", &rush]].concat();
    let run = folder.run(&[&serve, weak.as_slice()].concat()).ends(1).says("lost-update");
    assert!(run.out.matches("redeemed\n").count() > 5, "{}", run.out);
    run.says("cc   causal-consistency  holds");
    let said = "UPDATE coupons SET uses_left = $1 WHERE code = $2 -- $1 = ";
    assert!(folder.read("why.txt").contains(said) && folder.read("why.html").contains(said));
    let checked = folder.run(&["check", "rush.jsonl", "--level", "ser"]).ends(1).says("What the application said:");
    checked.says(".1  SELECT uses_left FROM coupons WHERE code = $1 -- $1 = VIP");
    // One good run, and what could have happened.
    let good = redeem("ann bob cid", "SAVE10");
    let latest =
        ["--level", "ser", "--policy", "latest", "-o", "good.jsonl", "--check", "ser", "--", "sh", "-c", &good];
    let run = folder.run(&[&serve, latest.as_slice()].concat()).ends(0).says("serializable");
    assert_eq!(run.out.matches("redeemed\n").count(), 2, "{}", run.out);
    let validate = ["--level", "pc", "--validate-command", &good, "--schema", schema];
    folder
        .run(&[&["predict", "good.jsonl", "-o", "bad.history"], validate.as_slice()].concat())
        .ends(1)
        .says("Validated: ");
    let replay = ["--level", "pc", "--replay", "bad.history", "-o", "bad.jsonl", "--check", "ser", "--json"];
    let run = folder.run(&[&serve, replay.as_slice(), &["--", "sh", "-c", &format!("({good}) >&2")]].concat()).ends(1);
    let answer = &run.json()[0];
    assert_eq!((&answer["check"][0]["verdict"], &answer["failure"]), (&"violated".into(), &serde_json::Value::Null));
}

/// Is something installed that `cargo xtask test` installs where it can?
#[allow(clippy::print_stderr, reason = "a test that is skipped says so")]
fn has(what: &str, command: &[&str]) -> bool {
    let output = Command::new(command[0]).args(&command[1..]).env("NODE_PATH", node_modules()).output();
    let is_there = output.is_ok_and(|it| it.status.success());
    assert!(is_there || std::env::var_os("ISOSCOPE_SERVERS").is_none(), "{what} is not installed");
    if !is_there {
        eprintln!("skipped: {what} is not installed");
    }
    is_there
}

fn node_modules() -> std::path::PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("clients").join("node_modules")
}

#[test]
fn a_violation_ends_the_run_if_asked_to() {
    if !can_serve() {
        return;
    }
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/apps/shop/shop.py");
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/apps/shop/schema.sql");
    let folder = Folder::new();
    let many = format!("for it in $(seq 300); do /usr/bin/python3 {shop} redeem $it VIP; done");
    let serve = ["serve", "--listen", "127.0.0.1:0", "--schema", schema, "--level", "cc", "--seed", "7"];
    let check = ["-o", "h.jsonl", "--check", "ser", "--stop-on-violation", "--json", "--", "sh", "-c"];
    let run = folder.run(&[&serve[..], &check, &[&format!("{many} >&2")]].concat()).ends(1);
    let run = run.complains("ser is violated within the first ");
    let answer = &run.json()[0];
    assert_eq!(answer["check"][0]["verdict"], "violated");
    assert!(answer["committed"].as_u64().unwrap() < 300, "{answer}");
}

#[test]
fn the_engine_ends_with_its_owner() {
    if !can_serve() {
        return;
    }
    let folder = Folder::new();
    let mut serve = Command::new(env!("CARGO_BIN_EXE_isoscope"));
    serve.args(["serve", "--level", "cc", "--listen", "127.0.0.1:0"]).env("TMPDIR", folder.path(""));
    // The server runs as somebody else, who must be able to enter.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(folder.path(""), open).unwrap();
    let mut owner = serve.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(owner.stderr.as_mut().unwrap()).read_line(&mut first).unwrap();
    assert!(first.contains("connect to"), "{first}");
    let n_left = || std::fs::read_dir(folder.path("")).unwrap().count();
    assert_eq!(n_left(), 1);
    let server = std::fs::read_dir(folder.path("")).unwrap().next().unwrap().unwrap().path();
    let pid = std::fs::read_to_string(server.join("data/postmaster.pid")).unwrap();
    let pid = pid.lines().next().unwrap().to_owned();
    owner.kill().unwrap();
    owner.wait().unwrap();
    let is_running = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|it| !it.contains(") Z "))
    };
    let until = Instant::now() + Duration::from_secs(30);
    while n_left() > 0 || is_running() {
        assert!(Instant::now() < until, "the server {pid} is still there");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_plugin_for_pytest_serves_a_database_for_a_test() {
    if !can_serve() || !has("pytest", &["/usr/bin/python3", "-c", "import pytest, psycopg"]) {
        return;
    }
    let mut pytest = Command::new("/usr/bin/python3");
    pytest.args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "examples/apps/shop"]);
    pytest.current_dir(env!("CARGO_MANIFEST_DIR")).env("ISOSCOPE", env!("CARGO_BIN_EXE_isoscope"));
    let output = pytest.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("1 passed, 1 xfailed"), "{said}");
}

#[test]
fn a_command_that_fails_fails_the_recording() {
    if !can_serve() {
        return;
    }
    let server = Server::start(Kind::PostgreSql, &[]).unwrap();
    let folder = Folder::new();
    let record = |command: &str| {
        let to = ["record", "--to", &server.url(), "--listen", "127.0.0.1:0", "--force", "-o", "h.jsonl"];
        folder.run(&[&to[..], &["--", "sh", "-c", command]].concat())
    };
    record("exit 3").ends(1).complains("the command ended with exit status: 3");
    record("exit 0").ends(0);
}

/// Blocks of shell commands of the walk-through, in order.
fn walk_through() -> Vec<String> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/your-application.md")).unwrap();
    let mut blocks = Vec::new();
    let mut rest = text.as_str();
    while let Some((_, block)) = rest.split_once("```sh\n") {
        let (block, after) = block.split_once("\n```").unwrap();
        blocks.push(block.to_owned());
        rest = after;
    }
    blocks
}

/// What the commands of each block of the walk-through must say.
const HEARD: [&[&str]; 9] = [
    &["redeemed\nredeemed\nno uses left\nevery coupon is right\n", "4 committed, 0 aborted"],
    &["Predicted: under 4 of these 6 levels", "lost-update, 2 reads changed"],
    &["Validated: sh good-run.sh ran along the prediction", "SAVE10 was redeemed"],
    &["ser  serializable  violated", "What the application said:"],
    &["lamp: -", "The report is in why.html", "serializable (ser): violated"],
    &["# pass 2", "# fail 0"],
    &["OK (1 test)"],
    &["ua  update-atomic  violated", "all conditions hold"],
    &["transactions of 9 sessions"],
];

#[test]
fn every_command_of_the_walk_through_works() {
    let modules = ["node", "-e", "require('pg')"];
    let junit =
        ["sh", "-c", "test -f /usr/share/java/junit4.jar && test -f /usr/share/java/postgresql.jar && javac -version"];
    if !can_serve() || !has("node-postgres", &modules) || !has("JUnit or JDBC", &junit) {
        return;
    }
    let server = Server::start(Kind::PostgreSql, &[]).unwrap();
    let folder = Folder::new();
    for app in ["shop", "stock", "junit", "tpcc"] {
        std::fs::create_dir(folder.path(app)).unwrap();
        for file in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/apps").join(app)).unwrap() {
            let file = file.unwrap();
            if file.path().is_file() {
                std::fs::copy(file.path(), folder.path(app).join(file.file_name())).unwrap();
            }
        }
    }
    let bin = Path::new(env!("CARGO_BIN_EXE_isoscope")).parent().unwrap();
    let path = format!("/usr/bin:{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let blocks = walk_through();
    assert_eq!(blocks.len(), HEARD.len(), "{blocks:#?}");
    for (block, heard) in blocks.iter().zip(HEARD) {
        // Its own server, and ports that are free.
        let script = block.replace("postgres://me@localhost/shop", &server.url());
        let script = script.replace("isoscope serve", "isoscope serve --listen 127.0.0.1:0");
        let script = script.replace("isoscope record", "isoscope record --listen 127.0.0.1:0");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).current_dir(folder.path("shop")).env("PATH", &path);
        shell.env("NODE_PATH", node_modules()).env("ISOSCOPE", env!("CARGO_BIN_EXE_isoscope"));
        shell.env("PGHOST", "127.0.0.1").env("PGPORT", server.port().to_string()).env("PGDATABASE", "postgres");
        shell.env("PGUSER", iso_servers::USER).env("PGPASSWORD", iso_servers::PASSWORD);
        let output = shell.stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        for words in heard {
            assert!(said.contains(words), "expected {words:?} of\n{block}\n{said}");
        }
        assert!(!said.contains("isoscope: "), "{block}\n{said}");
    }
}

//! `isoscope serve`: what cannot be served, and the walk-through of docs/your-application.md.

use crate::tool::Folder;
use iso_servers::{Kind, is_installed};
use std::process::Command;

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
    let weak = ["--level", "cc", "--seed", "7", "-o", "rush.jsonl", "--check", "ser,cc", "--", "sh", "-c", &rush];
    let run = folder.run(&[&serve, weak.as_slice()].concat()).ends(1).says("lost-update");
    assert!(run.out.matches("redeemed\n").count() > 5, "{}", run.out);
    run.says("cc    causal-consistency           holds");
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

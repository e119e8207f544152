//! The table of promises in the documentation is what the table of the project says. `ISOSCOPE_BLESS=1 cargo test --test
//! promises` writes it again.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use isoscope::spec::{Promises, Seen};
use std::fmt::Write as _;
use std::fs;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/databases.md");
const BEGIN: &str = "<!-- promises -->\n";
const END: &str = "<!-- end -->\n";

fn table() -> String {
    let mut out =
        String::from("| database | isolation level | where | promises | on one server also | seen | source |\n");
    out += "|---|---|---|---|---|---|---|\n";
    for database in Promises::builtin().databases() {
        for promise in database.promises() {
            let default = if promise.isolation() == database.default_isolation() { ", the default" } else { "" };
            let seen = match promise.seen() {
                Seen::OnServers => "on servers",
                Seen::InDocumentation => "documentation only",
            };
            let one = promise.on_one_server().map(|it| format!("`{it}`")).unwrap_or_default();
            let condition = promise.condition();
            let _ = writeln!(
                out,
                "| {} | `{}`{default} | {condition} | `{}` | {one} | {seen} | {} |",
                database.title(),
                promise.isolation(),
                promise.level_name(),
                promise.source()
            );
        }
    }
    out
}

#[test]
fn the_page_of_databases_has_every_promise() {
    let page = fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has a place for the table");
    let (found, after) = rest.split_once(END).unwrap();
    if std::env::var_os("ISOSCOPE_BLESS").is_some() {
        fs::write(PAGE, format!("{before}{BEGIN}{}{END}{after}", table())).unwrap();
        return;
    }
    assert_eq!(found, table(), "ISOSCOPE_BLESS=1 writes the table again");
}

#[test]
fn every_database_has_a_page_or_a_line_that_says_why_not() {
    let page = fs::read_to_string(PAGE).unwrap();
    for database in Promises::builtin().databases() {
        assert!(page.contains(&format!("[{}](databases/", database.title())), "{}", database.title());
    }
}

#[test]
fn a_table_of_ones_own_is_read() {
    let text = "database mine My Database\n default serializable\n level serializable\n promises ser\n source a book\n";
    let promises = Promises::parse(text).unwrap();
    assert_eq!(promises.databases()[0].promised("SERIALIZABLE", None, &[])[0].level_name(), "ser");
}

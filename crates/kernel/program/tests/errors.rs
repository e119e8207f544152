//! Every message once: programs that are wrong, and what is said about them.

use iso_program::{ProgramError, parse};
use std::fmt::Write;

/// A program of one line, then what is wrong with it; lines that start with `##` are titles.
const WRONG: &str = include_str!("data/errors.txt");

fn shown(errors: &[ProgramError]) -> String {
    errors.iter().map(|it| format!("    {it}\n").replacen("p:", "", 1)).collect()
}

#[test]
fn every_wrong_program_gets_its_message() {
    let mut found = String::new();
    for line in WRONG.lines().filter(|it| !it.starts_with("    ")) {
        let _ = writeln!(found, "{line}");
        if !line.is_empty() && !line.starts_with("##") {
            let text = if line == "(empty)" { "" } else { line };
            found += &parse(text, "p").map_or_else(|it| shown(&it), |_| "    nothing is wrong\n".to_owned());
        }
    }
    assert_eq!(found, WRONG, "found:\n{found}");
}

#[test]
fn places_are_lines_and_columns_in_characters() {
    let errors = parse("// ä\nvar x: int\ninvariant \"ä\": \"é\" == y", "p.txn").unwrap_err();
    assert_eq!(errors.len(), 1);
    assert!(errors[0].to_string().starts_with("p.txn:3:23: nothing is called `y`"), "{}", errors[0]);
}

#[test]
fn after_an_error_the_next_items_are_read() {
    let errors = parse("var x int\nvar y: int = 0\ntxn a( { }\nvar z = 1", "p").unwrap_err();
    let lines: Vec<u32> = errors.iter().map(|it| it.line).collect();
    assert_eq!(lines, [1, 3, 4]);
}

#[test]
fn what_is_wrong_in_each_transaction_and_claim_is_said_once() {
    let text = "var x: int\ntxn a() { y = 1 }\ntxn b() { z = 1 }\nrun 3 * a() || b()\ninvariant q > 0";
    let lines: Vec<u32> = parse(text, "p").unwrap_err().iter().map(|it| it.line).collect();
    assert_eq!(lines, [2, 3, 5]);
}

#[test]
fn deep_and_long_texts_are_refused() {
    let deep = format!("invariant {}true{}", "(".repeat(200), ")".repeat(200));
    let chained = format!("invariant 0 < {}1", "1 + ".repeat(200));
    let blocks = format!("txn a() {{ {} {} }}", "if true {".repeat(200), "}".repeat(200));
    let elses = format!("txn a() {{ if true {{ }} {} }}", "else if true { }".repeat(200));
    for text in [deep, chained, blocks, elses] {
        let errors = parse(&text, "p").unwrap_err();
        assert_eq!(errors[0].message, "this is nested too deeply", "{text}");
    }
    let errors = parse(&" ".repeat(2_000_000), "p").unwrap_err();
    assert_eq!(errors[0].message, "this text is longer than a mebibyte");
}

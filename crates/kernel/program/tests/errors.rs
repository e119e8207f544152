//! Every message once: programs that are wrong, and what is said about them.

mod common;

use common::cases;
use iso_program::parse;

/// A program of one line, then what is wrong with it; lines that start with `##` are titles.
const WRONG: &str = include_str!("data/errors.txt");

#[test]
fn every_wrong_program_gets_its_message() {
    for (line, expected) in cases(WRONG) {
        let text = if line == "(empty)" { "" } else { line };
        let errors = parse(text, "p").expect_err(text);
        let found: String = errors.iter().map(|it| format!("{it}\n").replacen("p:", "", 1)).collect();
        assert_eq!(found, expected, "{line}");
    }
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

/// Cuts pieces out of texts and puts them elsewhere.
#[test]
fn no_text_makes_the_reader_panic() {
    let texts: Vec<&str> = cases(WRONG).into_iter().map(|it| it.0).collect();
    for seed in 0_u64..20_000 {
        let mut state = seed;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n.max(1)
        };
        let words: Vec<&str> = texts[below(texts.len())].split_inclusive([' ', '(', '[', '.']).collect();
        let others: Vec<&str> = texts[below(texts.len())].split_inclusive([' ', ')', ']', '"']).collect();
        let (cut, from) = (below(words.len()), below(others.len()));
        let text = words[..cut].concat() + &others[from..].concat() + &words[cut..].concat();
        drop(parse(&text, "p"));
    }
}

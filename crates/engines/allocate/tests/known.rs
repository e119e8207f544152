//! What papers say about well-known sets of transactions, and how long it takes to find out.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

use iso_allocate::{Edges, allocate, is_robust};
use iso_evidence::Budget;
use iso_program::{Templates, TxnLevel};
use std::collections::BTreeSet;
use std::fmt::Write;

const PROGRAMS: [(&str, &str); 4] = [
    ("smallbank", include_str!("../../../../corpus/templates/smallbank.txn")),
    ("tpcc", include_str!("../../../../corpus/templates/tpcc.txn")),
    ("auction", include_str!("../../../../corpus/templates/auction.txn")),
    ("courseware", include_str!("../../../../corpus/templates/courseware.txn")),
];
const LEVELS: [TxnLevel; 2] = [TxnLevel::SnapshotIsolation, TxnLevel::ReadCommitted];

/// What a header line of the program says, by its word.
fn header<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    text.lines().find_map(|it| it.strip_prefix("// ")?.strip_prefix(word)?.strip_prefix(": "))
}

fn robust(templates: &Templates, level: TxnLevel) -> bool {
    let levels = vec![level; templates.templates().len()];
    let of = |edges| is_robust(templates, &levels, edges, &Budget::unlimited()).unwrap().is_ok();
    assert_eq!(of(Edges::Data), of(Edges::AndLocks), "locks alone make no difference in known programs");
    of(Edges::AndLocks)
}

/// The shortest split run, for a message.
fn found(templates: &Templates, level: TxnLevel) -> String {
    let levels = vec![level; templates.templates().len()];
    let Err(danger) = is_robust(templates, &levels, Edges::Data, &Budget::unlimited()).unwrap() else {
        return String::new();
    };
    let mut text = String::new();
    for edge in &danger.cycle {
        for (member, access) in [(edge.from, edge.before), (edge.to, edge.after)] {
            let member = &danger.members[member];
            let template = &templates.templates()[member.template];
            let span = template.ways[member.way].accesses[access].span;
            write!(text, "\n{}: {}", template.name, span.place(templates.text()).text).unwrap();
        }
    }
    text
}

/// The largest sets of transactions that are robust.
fn maximal(templates: &Templates, level: TxnLevel) -> BTreeSet<String> {
    let names: Vec<&str> = templates.templates().iter().map(|it| it.name.as_str()).collect();
    let sets = (1_usize..1 << names.len()).map(|set| {
        let chosen = names.iter().enumerate().filter(move |it| set & (1 << it.0) != 0).map(|it| *it.1);
        chosen.collect::<BTreeSet<&str>>()
    });
    let good: Vec<BTreeSet<&str>> = sets.filter(|it| robust(&templates.only(it), level)).collect();
    let is_maximal = |it: &&BTreeSet<&str>| !good.iter().any(|other| other.len() > it.len() && other.is_superset(it));
    good.iter().filter(is_maximal).map(|it| it.iter().copied().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn known_programs_are_robust_as_papers_say() {
    for (name, text) in PROGRAMS {
        let templates = Templates::parse(text, name).unwrap();
        for level in LEVELS {
            let expected = header(text, "robust").unwrap();
            let word = if robust(&templates, level) { "yes" } else { "no" };
            assert!(
                expected.split(' ').any(|it| it == format!("{level}={word}")),
                "{name}: {level}={word}{}",
                found(&templates, level)
            );
            if let Some(sets) = header(text, &format!("maximal {level}")) {
                let expected: BTreeSet<String> = sets.split('|').map(|it| it.trim().to_owned()).collect();
                assert_eq!(maximal(&templates, level), expected, "{name} at {level}");
            }
        }
    }
}

/// Fifty transactions of ten statements each, over ten tables.
#[test]
fn many_templates_do_not_take_long() {
    let mut text = String::new();
    for table in 0..10 {
        writeln!(text, "table t{table}(id) {{ f: int, g: int }}").unwrap();
    }
    for txn in 0..50_usize {
        writeln!(text, "txn x{txn}(p, q, r, s) {{").unwrap();
        for number in 0..10_usize {
            let place = format!("t{}[{}]", (txn * 7 + number * 3) % 10, ["p", "q", "r", "s"][(txn + number) % 4]);
            match (txn + number * number) % 3 {
                0 => writeln!(text, "let n{number} = {place}.f").unwrap(),
                1 => writeln!(text, "{place}.g += 1").unwrap(),
                _ => writeln!(text, "{place}.f = {txn}").unwrap(),
            }
        }
        text += "}\n";
    }
    let templates = Templates::parse(&text, "many.txn").unwrap();
    let ladder = [TxnLevel::ReadCommitted, TxnLevel::RepeatableRead, TxnLevel::Serializable];
    let found = allocate(&templates, &ladder, &Budget::unlimited()).unwrap();
    assert_eq!(found.levels.len(), 50);
    assert!(found.levels.iter().all(Option::is_some));
}

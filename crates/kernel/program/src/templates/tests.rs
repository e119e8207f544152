//! What the transactions of small programs do to rows.

use super::{Access, RowKey, Templates, Way};

fn shown(templates: &Templates, way: &Way) -> String {
    let one = |it: &Access| {
        let relation = &templates.relations()[it.relation];
        let key = match &it.key {
            RowKey::Constant(super::Constant::Only) => String::new(),
            RowKey::Constant(super::Constant::Int(number)) => format!("[{number}]"),
            RowKey::Constant(super::Constant::Text(text)) => format!("[{text:?}]"),
            RowKey::Variable(idx) => format!("[{}]", way.variables[*idx].name),
            RowKey::All => "[*]".to_owned(),
        };
        let parts = |parts: super::Parts| {
            let names = parts.fields().map(|it| format!(".{}", relation.fields[it]));
            let exists = parts.meets(super::Parts::EXISTENCE).then(|| "?".to_owned());
            exists.into_iter().chain(names).collect::<String>()
        };
        let perhaps = if it.is_certain { "" } else { "~" };
        let lock = if it.locks && it.writes.is_empty() { "!" } else { "" };
        let (reads, writes) = (parts(it.reads), parts(it.writes));
        let writes = if it.writes.is_empty() { String::new() } else { format!("={writes}") };
        format!("{perhaps}{}{key}{lock}{reads}{writes}", relation.name)
    };
    way.accesses.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn ways(text: &str) -> Vec<String> {
    let templates = Templates::parse(text, "a.txn").unwrap();
    let first = &templates.templates()[0];
    first.ways.iter().map(|it| shown(&templates, it)).collect()
}

#[test]
fn statements_are_accesses_of_rows_that_parameters_name() {
    let text = "table a(id) { b: int, c: int }\nvar x: int\n\
        txn t(p, q) {\nlet n = a[p].b + x\na[q].c = n\na[p].b += 1\nx = n\n}\n";
    assert_eq!(ways(text), ["a[p]?.b x. a[q]?=.c a[p]?.b=.b x=."]);
}

#[test]
fn branches_are_ways_and_those_that_abort_are_none() {
    let text = "table a(id) { b: int }\ntxn t(p) {\nif a[p].b < 0 { abort }\nif a[p].b > 9 { a[p].b = 0 }\n}\n";
    assert_eq!(ways(text), ["a[p]?.b a[p]?.b", "a[p]?.b a[p]?.b a[p]?=.b"]);
}

#[test]
fn conditions_on_keys_make_them_equal_or_different() {
    let text = "table a(id) { b: int }\ntxn t(p, q) {\nif p == q { a[p].b += 1; a[q].b += 1 } else { a[p].b += 1; a[q].b -= 1 }\n}\n";
    let templates = Templates::parse(text, "a.txn").unwrap();
    let ways = &templates.templates()[0].ways;
    assert_eq!(shown(&templates, &ways[0]), "a[p]?.b=.b a[q]?.b=.b");
    assert_eq!(ways[0].different, [(RowKey::Variable(0), RowKey::Variable(1))]);
    assert_eq!(ways[1].variables.len(), 1, "{ways:?}");
}

#[test]
fn rows_of_tables_that_grow_may_be_missing() {
    let text = "table a(id) { b: int }\ntxn t(p, q) {\na[p].b += 1\ninsert a[q]\na[q].b += 1\n}\n";
    assert_eq!(ways(text), ["a[p]? a[q]?=?.b a[q]=.b", "a[p]?.b=.b a[q]?=?.b a[q]=.b"]);
}

#[test]
fn loops_and_quantifiers_read_all_rows() {
    let text = "table a(id) { b: int, c: int }\ntable d(id)\nvar x: int\n\
        txn t(p) {\nx = sum r in a: r.b\nfor r in a { if exists d[r.id] { r.c = 1 } }\n}\n";
    assert_eq!(ways(text), ["a[*]?.b x=. a[*]? ~d[*]? ~a[*]?=.c"]);
}

#[test]
fn loops_over_few_numbers_are_spelled_out() {
    let text =
        "table a(id) { b: int }\ntxn t(n: int) {\nfor i in 1..2 { a[i].b += 1 }\nfor i in 1..n { a[i].b += 1 }\n}\n";
    assert_eq!(ways(text), ["a[1]?.b=.b a[2]?.b=.b ~a[*]?.b=.b"]);
}

#[test]
fn what_may_not_be_evaluated_is_not_certain() {
    let text = "table a(id) { b: int }\ntxn t(p, q) {\nlet k = a[p].b\nif a[k].b > 0 and a[q].b for update > 0 { a[q].b = 1 }\n}\n";
    assert_eq!(ways(text), ["a[p]?.b a[k]?.b ~a[q]!?.b", "a[p]?.b a[k]?.b ~a[q]!?.b a[q]?=.b"]);
}

#[test]
fn mistakes_have_a_place() {
    let error = |body: &str| {
        let text = format!("table a(id) {{ b: int }}\ntxn t(p) {{\n{body}\n}}\n");
        Templates::parse(&text, "a.txn").unwrap_err()[0].to_string()
    };
    assert!(error("a[p].c = 1").starts_with("a.txn:3:6: `a` has no field `c`"), "{}", error("a[p].c = 1"));
    assert!(error("b[p].b = 1").starts_with("a.txn:3:1: there is no table `b`"));
    assert!(error("a[r].b = 1").starts_with("a.txn:3:3: `r` is not known here"));
    assert!(Templates::parse("var x: int\n", "a.txn").unwrap_err()[0].message.contains("no transactions"));
}

#[test]
fn a_transaction_with_very_many_ways_is_one_in_which_little_is_certain() {
    let branches: Vec<String> = (0..12).map(|it| format!("if a[{it}].b > 0 {{ a[{it}].b = 0 }}\n")).collect();
    let branches = branches.concat();
    let ways = ways(&format!("table a(id) {{ b: int }}\ntxn t() {{\n{branches}a[77].b += 1\n}}\n"));
    assert_eq!(ways.len(), 1);
    assert!(ways[0].starts_with("a[0]?.b ~a[0]?=.b a[1]?.b ~"), "{ways:?}");
    assert!(ways[0].ends_with(" a[77]?.b=.b"));
}

#[test]
fn many_constants_may_each_be_any_row() {
    let text = "table a(id) { b: int }\ntxn t() {\nfor i in 1..9 { a[i].b += 1 }\na[1].b += 1\n}\n";
    let templates = Templates::parse(text, "a.txn").unwrap();
    let way = &templates.templates()[0].ways[0];
    assert_eq!(way.variables.len(), 9);
    assert_eq!(way.accesses[0].key, way.accesses[9].key);
}

#[test]
fn a_branch_on_a_row_that_is_locked_goes_with_the_row() {
    let text =
        "table a(id) { b: int }\ntxn t(p) {\nif exists a[p] for update { delete a[p] } else { insert a[p] }\n}\n";
    assert_eq!(ways(text), ["a[p]? a[p]?=?.b", "a[p]!? a[p]?=?.b"]);
    let text = "table a(id) { b: int }\ntxn t(p) {\nif not exists a[p] { abort }\na[p].b = 1\n}\n";
    assert_eq!(ways(text), ["a[p]? a[p]?=.b"]);
}

#[test]
fn ways_whose_conditions_contradict_each_other_are_none() {
    let ways_of = |first: &str, second: &str| {
        let body = format!("if {first} {{ x = 1 }}\nif {second} {{ y = 1 }}");
        ways(&format!("var x: int\nvar y: int\nvar b: bool\ntxn t(n: int, m: int, f: bool) {{\n{body}\n}}\n"))
    };
    let all = ["y=.", "x=.", "x=. y=."];
    assert_eq!(ways_of("n > 0", "m > 0"), all);
    for (first, second) in [("n > 0", "n <= 0"), ("n < m", "m <= n"), ("f", "not f"), ("n == 3", "n != 3")] {
        assert_eq!(ways_of(first, second), ["y=.", "x=."], "{first} {second}");
    }
    for (first, second) in [("n > 0", "n >= 1"), ("n < m", "m > n"), ("f", "f")] {
        assert_eq!(ways_of(first, second), ["x=. y=."], "{first} {second}");
    }
    assert_eq!(ways_of("n > 5", "n > 0"), ["y=.", "x=. y=."]);
    assert_eq!(ways_of("n > 5 and m > n", "m < 3"), ["y=.", "x=."]);
    // What others may change in between is not the same twice.
    assert_eq!(ways_of("b", "b").len(), 4);
    let text = "table a(id) { b: int }\ntxn t(p: int, q: int) {\nif p < q { a[p].b += 1; a[q].b += 1 }\n}\n";
    let templates = Templates::parse(text, "a.txn").unwrap();
    assert_eq!(templates.templates()[0].ways[0].different, [(RowKey::Variable(0), RowKey::Variable(1))]);
}

/// Conditions over three parameters, nested and joined.
fn condition(random: &mut u64, depth: usize) -> String {
    let mut below = |bound: u64| {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*random >> 33) % bound
    };
    let term = |number: u64| ["n", "m", "k", "0", "1", "-1"][number as usize];
    match (below(6), depth) {
        (0, 1..) => format!("not ({})", condition(random, depth - 1)),
        (1, 1..) => format!("({} and {})", condition(random, depth - 1), condition(random, depth - 1)),
        (2, 1..) => format!("({} or {})", condition(random, depth - 1), condition(random, depth - 1)),
        (3, _) => "f".to_owned(),
        _ => {
            let sign = ["<", "<=", ">", ">=", "==", "!="][below(6) as usize];
            format!("{} {sign} {}", term(below(6)), term(below(6)))
        }
    }
}

#[test]
fn every_run_is_one_of_the_ways() {
    let mut n_pruned = 0;
    for seed in 0..150_u64 {
        let mut random = seed;
        let ifs: Vec<String> = (0..4).map(|it| format!("if {} {{ x{it} = 1 }}\n", condition(&mut random, 2))).collect();
        let vars: Vec<String> = (0..4).map(|it| format!("var x{it}: int = 0\n")).collect();
        let (vars, ifs) = (vars.concat(), ifs.concat());
        let text = format!("width 4\n{vars}txn t(n: int, m: int, f: bool) {{\nlet k = m\n{ifs}}}\ninvariant true\n");
        let templates = Templates::parse(&text, "a.txn").unwrap();
        let known: Vec<Vec<usize>> =
            templates.templates()[0].ways.iter().map(|it| it.accesses.iter().map(|it| it.relation).collect()).collect();
        n_pruned += usize::from(known.len() < 15);
        for (n, m, f) in (-2..3).flat_map(|n| (-2..3).flat_map(move |m| [(n, m, true), (n, m, false)])) {
            let program = crate::parse(&format!("{text}run t({n}, {m}, {f})\n"), "a.txn").unwrap();
            let order: Vec<_> = program.instance_ids().collect();
            let run = crate::run_execution(&program, &[], &order, &|_, _| true);
            let written: Vec<usize> = run.txns[0].writes.keys().map(|it| it.index()).collect();
            assert!(
                written.is_empty() || known.contains(&written),
                "seed {seed}: t({n}, {m}, {f}) writes {written:?}\n{text}"
            );
        }
    }
    assert!(n_pruned > 100, "{n_pruned} programs have fewer ways than combinations");
}

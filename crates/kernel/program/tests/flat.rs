//! Programs and the flat form that they become.

mod common;

use common::{body, cases, check_shape, program, show_expr};
use iso_program::{Program, UnitKind};
use std::fmt::Write;

/// A program of one line, then the body of its first instance.
const BODIES: &str = include_str!("data/bodies.txt");

#[test]
fn every_program_has_its_body() {
    for (text, expected) in cases(BODIES) {
        let program = program(text);
        check_shape(&program);
        let found: String = body(&program, 0).lines().map(|it| it.trim_end().to_owned() + "\n").collect();
        assert_eq!(found, expected, "{text}\n{found}");
    }
}

fn units(program: &Program) -> Vec<&str> {
    program.units().iter().map(|it| it.name.as_str()).collect()
}

#[test]
fn rows_are_the_keys_that_are_used_anywhere() {
    let cases: &[(&str, &[&str])] = &[
        ("table t(id) invariant exists t[3] or exists t[1]", &["t[1]", "t[3]"]),
        ("table t(id) init { insert t[-2] } invariant true", &["t[-2]"]),
        ("table t(id) txn b(k) { delete t[k] } run b(\"x\") || b(\"a\") invariant true", &["t[\"x\"]", "t[\"a\"]"]),
        ("table t(id) txn b(k) { delete t[k + 1] } run b(any int in 1..2) invariant true", &["t[2]", "t[3]"]),
        ("table t(id) txn b() { for i in 1..2 { delete t[i * 5] } } run b() invariant true", &["t[5]", "t[10]"]),
        ("table t(id in 7, 5) invariant true", &["t[5]", "t[7]"]),
        // A parameter may be called like a transaction.
        ("table t(id) txn b(b) { delete t[b] } run b(4) invariant true", &["t[4]"]),
        // The keys of one table are found in the rows of the other, and these are found in a third.
        (
            "table t(id) table u(id) table v(id in 1..2) \
             txn b() { for r in u { delete t[r.id + 10] } for r in v { delete u[r.id] } } run b() invariant true",
            &["t[11]", "t[12]", "u[1]", "u[2]", "v[1]", "v[2]"],
        ),
        // A row that is not found yet does not read as 0, which would be a key.
        (
            "table t(id) { to: int } txn b() { delete t[t[1].to]; delete t[t[2].to] } run b() invariant true",
            &["t[1]", "t[2]"],
        ),
        // What is read is no reason for a row.
        ("var x: int table t(id) txn b() { delete t[x]; delete t[1] } run b() invariant true", &["x", "t[1]"]),
    ];
    for (text, expected) in cases {
        let text =
            if text.contains("run") { (*text).to_owned() } else { format!("{text} txn idle() {{ }} run idle()") };
        assert_eq!(units(&program(&text)), *expected, "{text}");
    }
}

#[test]
fn initial_values_are_constants_or_symbols_with_ranges() {
    let program = program(
        "enum Color { red, green }
         var a: int = 3
         var b: int
         var c: Color = any Color
         var d: text = any text
         table t(id) { n: int; on: bool }
         init { b = any int in -1..1; t[1].n = any int; maybe t[2]; t[2].on = true; insert t[3] { on: any bool } }
         txn idle() { let x = t[4].n == 0 and d == \"u\" or d == \"v\" }
         run idle()
         invariant true",
    );
    let symbols: Vec<String> =
        program.symbols().iter().map(|it| format!("{} {}..{}", it.name, it.low, it.high)).collect();
    let expected =
        ["c 0..1", "d 1..2", "b -1..1", "t[1].n -32768..32767", "t[3].on 0..1", "exists t[2] 0..1"].map(str::to_owned);
    assert_eq!(symbols, expected);
    let mut shown = String::new();
    for (unit, initial) in program.units().iter().zip(program.initial()) {
        let fields: Vec<String> = initial.fields.iter().map(|it| show_expr(&program, None, it)).collect();
        let _ = writeln!(shown, "{} {}: {}", unit.name, show_expr(&program, None, &initial.exists), fields.join(", "));
    }
    let expected = "a true: 3\nb true: <b>\nc true: <c>\nd true: <d>\nt[1] true: <t[1].n>, false\n\
                    t[2] <exists t[2]>: 0, true\nt[3] true: 0, <t[3].on>\nt[4] false: 0, false\n";
    assert_eq!(shown, expected);
    assert!(matches!(program.units()[4].kind, UnitKind::Row { .. }));
}

#[test]
fn any_text_may_be_empty_only_if_the_program_says_so() {
    let range = |text: &str| program(text).symbols().iter().map(|it| (it.low, it.high)).collect::<Vec<_>>();
    let tail = "txn idle() { } run idle() invariant";
    assert_eq!(range(&format!("var d: text = any text {tail} d == \"a\"")), [(1, 1)]);
    assert_eq!(range(&format!("var d: text = any text {tail} d == \"a\" or d == \"\"")), [(0, 1)]);
    assert_eq!(range(&format!("var d: text = any text {tail} true")), [(0, 0)]);
}

#[test]
fn sessions_that_say_the_same_are_one_group() {
    let text = "var x: int
        txn inc(n) { x += n }
        txn get() { let y = x }
        run 2 * inc(1) || inc(1); get() || inc(2) || inc(1) || inc(any int in 0..1) || inc(any int in 0..1)
        invariant x >= 0";
    let program = program(text);
    let shown: Vec<String> =
        program.instances().iter().map(|it| format!("{} {}.{} {}", it.name, it.session, it.place, it.group)).collect();
    let expected = [
        "inc#1 0.0 0",
        "inc#2 1.0 0",
        "inc#3 2.0 1",
        "get 2.1 2",
        "inc#4 3.0 3",
        "inc#5 4.0 0",
        "inc#6 5.0 4",
        "inc#7 6.0 4",
    ];
    assert_eq!(shown, expected);
    let symbols: Vec<&str> = program.symbols().iter().map(|it| it.name.as_str()).collect();
    assert_eq!(symbols, ["inc#6.n", "inc#7.n"]);
    assert_eq!(program.instances()[6].call, "inc(any int in 0..1)");
}

#[test]
fn assumptions_about_parameters_hold_for_all_instances() {
    let program = program(
        "var x: int = any int
         txn put(n) { x = n }
         txn add(n) { x += n }
         run put(any int) || put(any int) || add(any int)
         assume x > 0
         assume put.n < add.n
         invariant true",
    );
    let shown: Vec<String> = program.assumptions().iter().map(|it| show_expr(&program, None, &it.holds)).collect();
    assert_eq!(shown, ["(0 < x)", "(<put#1.n> < <add.n>)", "(<put#2.n> < <add.n>)"]);
}

#[test]
fn claims_speak_of_the_state_and_keep_their_names() {
    let program = program(
        "table t(id in 1..2) { n: int } var x: int
         txn idle() { } run idle()
         invariant \"positive\": forall r in t: r.n > 0
         observer t[x].n == 0 and exists t[2]",
    );
    assert_eq!(program.invariants()[0].label.as_deref(), Some("positive"));
    let invariant = show_expr(&program, None, &program.invariants()[0].holds);
    assert_eq!(invariant, "((not exists t[1] or (0 < t[1].n)) and (not exists t[2] or (0 < t[2].n)))");
    let observer = show_expr(&program, None, &program.observers()[0].holds);
    let value = "(if (x == 1) then t[1].n else (if (x == 2) then t[2].n else 0))";
    assert_eq!(observer, format!("(({value} == 0) and exists t[2])"));
    assert_eq!(program.place(program.observers()[0].span).text, "t[x].n == 0 and exists t[2]");
}

#[test]
fn a_key_of_an_invariant_may_be_one_that_nothing_else_names() {
    let program = program("table t(id) { n: int } txn a() { t[1].n = 1 } run a() invariant t[2].n == 0");
    assert_eq!(units(&program), ["t[1]", "t[2]"]);
}

#[test]
fn locking_turns_all_reads_at_a_place_into_locks() {
    let text = "var x: int txn a() { let y = x; x = y + 1 } run 2 * a() invariant x == 2";
    let plain = program(text);
    let span = plain.instances()[0].reads[0].span;
    assert_eq!(plain.place(span).text, "x");
    let locked = plain.locking(&[span]);
    let by_hand = program(&text.replace("= x;", "= x for update;"));
    assert_eq!(body(&locked, 1), body(&by_hand, 1));
}

#[test]
fn the_pretty_form_means_the_same() {
    let text = "// a comment\nvar x: int = 0;txn a(n: int){if n>0{x+=n}else if n==0{abort}else{x=0-n}}\nrun 2*a(1)||a(2);a(3)\
                \ninvariant \"sum\":x==7";
    let pretty = iso_program::pretty(text, "p").unwrap();
    let expected = "var x: int = 0
txn a(n: int) {
    if n > 0 {
        x += n
    } else if n == 0 {
        abort
    } else {
        x = 0 - n
    }
}
run 2 * a(1) || a(2); a(3)
invariant \"sum\": x == 7
";
    assert_eq!(pretty, expected);
    assert_eq!(iso_program::pretty(&pretty, "p").unwrap(), pretty);
    assert_eq!(body(&program(&pretty), 0), body(&program(text), 0));
}

#[test]
fn what_an_instance_may_write_is_known() {
    let program = program(
        "var x: int var y: int table t(id in 1..2) { n: int }
         txn a() { let z = y for update; if z > 0 { t[2].n = 1 } } run a() invariant x == 0",
    );
    let names: Vec<&str> =
        program.instances()[0].may_write().into_iter().map(|it| program.unit(it).name.as_str()).collect();
    assert_eq!(names, ["t[2]"]);
}

//! Programs run by hand: what each transaction reads, how it ends, and what is left.

mod common;

use common::{instances, program};
use iso_program::{
    InstanceId, Judgement, Outcome, Program, Request, Run, Source, TxnStep, UnitValue, Value, WrongWriter,
    initial_state, judge, judge_assumptions, run_execution, run_instance, run_reads,
};

const WITHDRAW: &str = r#"
table accounts(id) { balance: int }
init { accounts["x"].balance = 60; accounts["y"].balance = 60 }        // or: assume forall a in accounts: a.balance >= 0
txn withdraw(from, amount) {
    let total = accounts["x"].balance + accounts["y"].balance
    if total > amount { accounts[from].balance -= amount }
}
run withdraw("x", 100) || withdraw("y", 100)
invariant accounts["x"].balance + accounts["y"].balance > 0
"#;

/// One after the other, each seeing all before it.
fn serial(program: &Program) -> Run {
    run_execution(program, &[], &instances(program), &|_, _| true)
}

fn outcome(program: &Program, run: &Run, instance: usize) -> String {
    let at = |span| program.place(span).text.to_owned();
    match run.txns[instance].outcome {
        Outcome::Committed => "committed".to_owned(),
        Outcome::Aborted { cause, span } => format!("{cause:?} at {}", at(span)),
        Outcome::AssertFailed { span } => format!("failed {}", at(span)),
        Outcome::Overflow { span } => format!("overflow {}", at(span)),
        Outcome::NoSuchRow { span } => format!("no row for {}", at(span)),
    }
}

fn show_state(program: &Program, state: &[UnitValue]) -> String {
    let show = |(unit, value)| {
        let unit = iso_program::UnitId::from_index(unit);
        format!("{}={}", program.unit(unit).name, program.show_unit(unit, value))
    };
    state.iter().enumerate().map(show).collect::<Vec<_>>().join(" ")
}

/// Programs with one transaction, how it ends, and the state it leaves.
const ENDINGS: &[(&str, &str, &str)] = &[
    ("var x: int = 1 txn a() { x = x + 1; x = x * 5 }", "committed", "x=10"),
    ("var x: int = 1 txn a() { x = 5; abort }", "Asked at abort", "x=1"),
    ("var x: int = 1 txn a() { x = 5; assert x < 5; x = 3 }", "failed x < 5", "x=1"),
    ("var x: int = 1 txn a() { x = 5; assert x == 5; x -= 3 }", "committed", "x=2"),
    ("width 4 var x: int = 7 txn a() { x += 1 }", "overflow x += 1", "x=7"),
    ("width 4 var x: int = -8 txn a() { x = -x }", "overflow -x", "x=-8"),
    ("width 4 var x: int = 4 txn a() { let y = x * 2 - 1 }", "overflow x * 2", "x=4"),
    ("width 4 var x: int = 7 txn a() { if x < 7 and x + 1 > 0 { x = 0 } else { x = 1 } }", "committed", "x=1"),
    ("width 4 var x: int = 7 txn a() { x = if x == 7 then 2 else x + x }", "committed", "x=2"),
    ("width 4 txn a() { let y = 7 + 1 }", "overflow 7 + 1", ""),
    ("var x: bool txn a() { x = not x implies false }", "committed", "x=false"),
    ("var x: text = \"b\" txn a() { if x == \"b\" { x = \"say \\\"\" } }", "committed", "x=\"say \\\"\""),
    ("enum C { red, green } var x: C txn a() { if x == red { x = green } }", "committed", "x=green"),
    (
        "table t(id) { n: int, on: bool } init { t[1].n = 4 } txn a() { t[1].on = true }",
        "committed",
        "t[1]={ n: 4, on: true }",
    ),
    ("table t(id) { n: int } txn a() { t[1].n = 4 }", "committed", "t[1]=missing"),
    ("table t(id) { n: int } var x: int txn a() { x = t[1].n + 1 }", "committed", "x=1 t[1]=missing"),
    ("table t(id) { n: int } txn a() { insert t[1] { n: 4 }; t[1].n += 1 }", "committed", "t[1]={ n: 5 }"),
    (
        "table t(id) { n: int } init { insert t[1] } txn a() { insert t[1] { n: 4 } }",
        "DuplicateKey at insert t[1] { n: 4 }",
        "t[1]={ n: 0 }",
    ),
    (
        "table t(id) { n: int } init { insert t[1] } txn a() { delete t[1]; insert t[1] { n: 4 } }",
        "committed",
        "t[1]={ n: 4 }",
    ),
    ("table t(id) { n: int } init { insert t[1] } txn a() { delete t[1]; t[1].n = 4 }", "committed", "t[1]=missing"),
    ("table t(id) txn a() { delete t[1]; insert t[1] }", "committed", "t[1]={ }"),
    (
        "table t(id in 1..2) var x: int = 3 txn a() { insert t[x] }",
        "no row for insert t[x]",
        "x=3 t[1]=missing t[2]=missing",
    ),
    (
        "table t(id in 1..2) var x: int = 3 txn a() { delete t[x]; x = if exists t[x] then 1 else 0 }",
        "committed",
        "x=0 t[1]=missing t[2]=missing",
    ),
    (
        "table t(id in 1..2) var x: int = 2 txn a() { insert t[x]; x = count r in t: true }",
        "committed",
        "x=1 t[1]=missing t[2]={ }",
    ),
    (
        "table t(id) { n: int } init { t[1].n = 4; t[2].n = 5 } txn a() { for r in t { r.n = r.n + r.id; r.n = r.n * 2 } }",
        "committed",
        "t[1]={ n: 10 } t[2]={ n: 14 }",
    ),
    (
        "table t(id) { n: int } init { t[1].n = 4; t[2].n = 5 } txn a() { for r in t { t[3 - r.id].n += r.n } }",
        "committed",
        "t[1]={ n: 13 } t[2]={ n: 9 }",
    ),
    (
        "table t(id) { n: int } init { t[1].n = 4; t[2].n = 5 } txn a() { for r in t { delete t[2]; r.n = 9 } }",
        "committed",
        "t[1]={ n: 9 } t[2]=missing",
    ),
    (
        "table t(id) { n: int } init { t[1].n = 4; t[3].n = 5 } var x: int txn a() { x = (sum r in t: r.n) + t[2].n }",
        "committed",
        "x=9 t[1]={ n: 4 } t[2]=missing t[3]={ n: 5 }",
    ),
    (
        "table t(id) { to: int } init { t[1].to = 2; t[2].to = 1 } var x: int txn a() { x = t[t[1].to].to }",
        "committed",
        "x=1 t[1]={ to: 2 } t[2]={ to: 1 }",
    ),
    ("var x: int txn a() { for i in 1..4 { if i > 2 { x += i } } }", "committed", "x=7"),
    ("var x: int txn a() { for i in 4..1 { x = 1 } }", "committed", "x=0"),
    ("var x: int = 2 txn a() { let y = x for update }", "committed", "x=2"),
];

#[test]
fn every_program_ends_as_computed_by_hand() {
    for (text, ending, left) in ENDINGS {
        let program = program(&format!("{text} run a() invariant true"));
        let run = serial(&program);
        assert_eq!(outcome(&program, &run, 0), *ending, "{text}");
        assert_eq!(show_state(&program, &run.last), *left, "{text}");
    }
}

#[test]
fn the_example_of_the_design_breaks_when_neither_sees_the_other() {
    let program = program(WITHDRAW);
    for (sees, judgement) in [(true, Judgement::Holds), (false, Judgement::Fails)] {
        let run = run_execution(&program, &[], &instances(&program), &|_, _| sees);
        assert!(run.txns.iter().all(|it| it.outcome == Outcome::Committed));
        assert_eq!(judge(&program, &program.invariants()[0], &[], &run.last), judgement);
    }
    let run = run_execution(&program, &[], &instances(&program), &|_, _| false);
    assert_eq!(show_state(&program, &run.last), "accounts[\"x\"]={ balance: -40 } accounts[\"y\"]={ balance: -40 }");
}

#[test]
fn the_last_writer_that_is_seen_counts_and_aborted_ones_do_not() {
    let program = program(
        "var x: int var y: int
         txn put(n) { x = n; if n == 3 { abort } }
         txn copy() { y = x }
         run put(1) || put(2) || put(3) || copy()
         invariant true",
    );
    let [one, two, three, copy] = instances(&program)[..] else { panic!("four run") };
    let left = |order: &[InstanceId], sees: &dyn Fn(InstanceId, InstanceId) -> bool| {
        let run = run_execution(&program, &[], order, sees);
        show_state(&program, &run.last)
    };
    assert_eq!(left(&[one, two, three, copy], &|_, _| true), "x=2 y=2");
    assert_eq!(left(&[one, two, three, copy], &|_, writer| writer == one), "x=2 y=1");
    assert_eq!(left(&[two, one, three, copy], &|_, _| true), "x=1 y=1");
    assert_eq!(left(&[two, copy, three, one], &|_, _| true), "x=1 y=2");
    assert_eq!(left(&[copy, two, three, one], &|_, _| true), "x=1 y=0");
}

#[test]
fn reads_and_writes_are_told_in_order() {
    let program = program("var x: int = 1 var y: int txn a() { y = x for update; y += x } run a() invariant true");
    let run = serial(&program);
    let shown: Vec<String> = run.txns[0]
        .steps
        .iter()
        .map(|step| match step {
            TxnStep::Read { read, unit, value, source, .. } => {
                let own = if *source == Source::Itself { " own" } else { "" };
                format!("{read:?} {}={}{own}", program.unit(*unit).name, program.show_unit(*unit, value))
            }
            TxnStep::Write { unit, value, .. } => {
                format!("{}:={}", program.unit(*unit).name, program.show_unit(*unit, value))
            }
        })
        .collect();
    assert_eq!(shown, ["r0 x=1", "y:=1", "r1 x=1", "r2 y=1 own", "y:=2"]);
    assert_eq!((run.txns[0].writes.len(), run.txns[0].locked().len()), (1, 1));
}

#[test]
fn a_row_that_does_not_exist_is_not_locked() {
    let program = program("table t(id) { n: int } txn a() { let m = t[1].n for update } run a() invariant true");
    assert!(serial(&program).txns[0].locked().is_empty());
}

#[test]
fn each_read_may_find_another_version() {
    let program = program(
        "var x: int
         txn twice() { assert x == x }
         txn put() { x = 1 }
         run twice() || put()",
    );
    let [twice, put] = instances(&program)[..] else { panic!("two run") };
    let mut from = |request: &Request<'_>| if request.read.index() == 1 { Some(put) } else { None };
    let run = run_reads(&program, &[], &[put, twice], &mut from).unwrap();
    assert_eq!(outcome(&program, &run, 0), "failed x == x");
    assert!(run.committed(put));
    let wrong = run_reads(&program, &[], &[twice, put], &mut from);
    let read = iso_program::ReadId::from_index(1);
    assert_eq!(wrong, Err(WrongWriter { reader: twice, read, writer: put }));
}

#[test]
fn an_observer_sees_the_last_writers_among_those_it_sees() {
    let program = program(
        "var x: int var y: int
         txn left() { x = 1 }
         txn right() { y = 1 }
         run left() || right()
         observer \"in order\": y == 1 implies x == 1",
    );
    let [left, right] = instances(&program)[..] else { panic!("two run") };
    let run = serial(&program);
    let judged = |seen: &[InstanceId]| {
        let state = run.state_seen(&|it| seen.contains(&it));
        judge(&program, &program.observers()[0], &[], &state)
    };
    assert_eq!(judged(&[]), Judgement::Holds);
    assert_eq!(judged(&[left]), Judgement::Holds);
    assert_eq!(judged(&[left, right]), Judgement::Holds);
    assert_eq!(judged(&[right]), Judgement::Fails);
}

#[test]
fn open_values_are_given_and_assumed() {
    let program = program(
        "width 8
         table t(id) { n: int }
         init { maybe t[1]; t[1].n = any int in 0..100 }
         txn add(m) { t[1].n += m }
         run add(any int in 0..100)
         assume t[1].n + add.m <= 120
         invariant t[1].n <= 120",
    );
    let symbols = |n: i64, exists: bool, m: i64| -> Vec<Value> {
        let value = |name: &str| match name {
            "t[1].n" => Value::Int(n),
            "exists t[1]" => Value::Bool(exists),
            "add.m" => Value::Int(m),
            _ => panic!("{name}"),
        };
        program.symbols().iter().map(|it| value(&it.name)).collect()
    };
    assert_eq!(judge_assumptions(&program, &symbols(60, true, 60)), Judgement::Holds);
    assert_eq!(judge_assumptions(&program, &symbols(60, true, 61)), Judgement::Fails);
    assert_eq!(judge_assumptions(&program, &symbols(100, false, 100)), Judgement::Holds);
    let Judgement::Overflow { span } = judge_assumptions(&program, &symbols(100, true, 100)) else { panic!() };
    assert_eq!(program.place(span).text, "t[1].n + add.m");
    assert_eq!(show_state(&program, &initial_state(&program, &symbols(7, false, 0))), "t[1]=missing");
    let run = run_execution(&program, &symbols(7, true, 2), &instances(&program), &|_, _| true);
    assert_eq!(show_state(&program, &run.last), "t[1]={ n: 9 }");
}

#[test]
fn a_provider_is_asked_for_what_the_transaction_did_not_write() {
    let program = program("var x: int var y: int txn a() { let z = y; x = z; y = x } run a() invariant true");
    let mut asked = Vec::new();
    let only = instances(&program)[0];
    let run = run_instance(&program, only, &[], &mut |read, unit| {
        asked.push((read.index(), program.unit(unit).name.clone()));
        UnitValue::Present(vec![Value::Int(8)])
    });
    assert_eq!(asked, [(0, "y".to_owned())]);
    assert!(run.writes.values().all(|it| *it == UnitValue::Present(vec![Value::Int(8)])));
}

#[test]
fn one_copy_of_a_transaction_sees_what_the_others_did() {
    let program = program("var x: int txn inc() { x += 1 } run 3 * inc() invariant \"all count\": x == 3");
    let claim = &program.invariants()[0];
    assert_eq!(judge(&program, claim, &[], &serial(&program).last), Judgement::Holds);
    let lost = run_execution(&program, &[], &instances(&program), &|_, writer| writer.index() == 0);
    assert_eq!(judge(&program, claim, &[], &lost.last), Judgement::Fails);
}

//! Small random programs, as texts.

use crate::oracle::orders;
use iso_program::{InstanceId, Outcome, Program, TxnRun, UnitKind, UnitValue, run_execution};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A sequence of numbers that look random (splitmix64).
pub(crate) struct Dice {
    state: u64,
    /// Is this outside of transactions, where there are no parameters?
    outside: bool,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed, outside: false }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below the limit.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len() as u64) as usize]
    }
}

/// The program with an invariant that says: the last state is one of a run of one transaction after the other.
///
/// It holds under serializability, and weaker levels differ in whether they keep it. Nothing if the program has open
/// values or fails anyway.
pub(crate) fn with_serial_invariant(text: &str, program: &Program) -> Option<String> {
    if !program.symbols().is_empty() {
        return None;
    }
    let mut states = BTreeSet::new();
    for order in orders(program).into_iter().filter(|it| keeps_sessions(program, it)) {
        let order: Vec<InstanceId> = order.into_iter().map(InstanceId::from_index).collect();
        let run = run_execution(program, &[], &order, &|_, _| true);
        let is_fine = |it: &TxnRun| matches!(it.outcome, Outcome::Committed | Outcome::Aborted { .. });
        if !run.txns.iter().all(is_fine) {
            return None;
        }
        states.insert(described(program, &run.last));
    }
    let states: Vec<String> = states.into_iter().collect();
    let kept: Vec<&str> =
        text.lines().filter(|it| !it.starts_with("invariant") && !it.starts_with("observer")).collect();
    Some(format!("{}\ninvariant {}\n", kept.join("\n"), states.join(" or ")))
}

/// Do the transactions of each session stand as in the program?
fn keeps_sessions(program: &Program, order: &[usize]) -> bool {
    let place = |it: &usize| (program.instances()[*it].session, program.instances()[*it].place);
    let is_turned = |(at, one): (usize, &usize)| {
        order[at + 1..].iter().any(|later| place(later).0 == place(one).0 && place(later).1 < place(one).1)
    };
    !order.iter().enumerate().any(is_turned)
}

fn described(program: &Program, state: &[UnitValue]) -> String {
    let mut parts = Vec::new();
    for (unit, value) in program.units().iter().zip(state) {
        match (value, unit.kind) {
            (UnitValue::Missing, _) => parts.push(format!("not exists {}", unit.name)),
            (UnitValue::Present(fields), UnitKind::Var) => {
                parts.push(format!("{} == {}", unit.name, program.show(fields[0])));
            }
            (UnitValue::Present(fields), UnitKind::Row { .. }) => {
                parts.push(format!("exists {0} and {0}.v == {1}", unit.name, program.show(fields[0])));
            }
        }
    }
    format!("({})", parts.join(" and "))
}

/// Does a program have open values?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Openness {
    Open,
    Closed,
}

/// A program of up to so many transactions.
pub(crate) fn program(dice: &mut Dice, n_max: u64, openness: Openness) -> String {
    let mut text = "width 6\nvar a: int = 0\n".to_owned();
    // Open values are tried one by one by brute force, so there are few.
    let n_choices = if openness == Openness::Open { 3 } else { 2 };
    text += dice.pick(&["var b: int = 1\n", "var b: int = 1\n", "var b: int = any int in 0..2\n"][..n_choices]);
    text += dice.pick(&["var f: bool = false\n", "var f: bool = true\n", "var f: bool = any bool\n"][..n_choices]);
    text += "table t(k) { v: int }\n";
    text += dice.pick(
        &["init { t[\"p\"].v = 1 }\n", "init { t[\"p\"].v = 1 }\n", "init { t[\"p\"].v = 1; maybe t[\"q\"] }\n"]
            [..n_choices],
    );
    let n_kinds = 1 + dice.below(3);
    for kind in 0..n_kinds {
        let length = 1 + dice.below(3);
        let _ = write!(text, "txn t{kind}(n: int) {{\n{}}}\n", block(dice, 2, length));
    }
    let n = 2 + dice.below(n_max - 1);
    let mut run = String::new();
    for idx in 0..n {
        let joint = if idx == 0 { "" } else { dice.pick(&[" || ", " || ", " || ", "; "]) };
        let arguments = ["0", "1", "2", "any int in 0..1"];
        let argument = dice.pick(&arguments[..=n_choices]);
        let _ = write!(run, "{joint}t{}({argument})", dice.below(n_kinds));
    }
    let _ = writeln!(text, "run {run}");
    dice.outside = true;
    let _ = writeln!(text, "invariant {}", condition(dice, 1));
    if dice.one_in(3) {
        let _ = writeln!(text, "observer {}", condition(dice, 1));
    }
    text
}

/// A program of two or three transactions that lock one unit, read another one, and write one.
pub(crate) fn locking_program(dice: &mut Dice) -> String {
    let mut text = "width 6\nvar a: int = 0\nvar b: int = 1\nvar c: int = 2\n".to_owned();
    let n = 2 + dice.below(2);
    let mut run = Vec::new();
    for idx in 0..n {
        let (locked, read, written) =
            (dice.pick(&["a", "b", "c"]), dice.pick(&["a", "b", "c"]), dice.pick(&["a", "b", "c"]));
        let lock = dice.pick(&["", " for update", " for update"]);
        let _ =
            writeln!(text, "txn t{idx}() {{\nlet l = {locked}{lock}\nlet r = {read}\n{written} = l + r + {idx}\n}}");
        run.push(format!("t{idx}()"));
    }
    let _ = writeln!(text, "run {}\ninvariant a >= 0", run.join(" || "));
    text
}

/// A program of sums of open integers, in so few bits that some overflow.
pub(crate) fn sums(dice: &mut Dice) -> String {
    let mut text = format!("width {}\n", dice.pick(&["4", "4", "5", "6"]));
    let (mut total, mut n_open) = (Vec::new(), 0);
    for name in ["a", "b", "c"] {
        // Each open value multiplies the work of brute force.
        let values = ["0", "1", "any int in -1..1", "any int in 0..3", "any int in -3..-1"];
        let value = dice.pick(if n_open < 2 { &values } else { &values[..2] });
        n_open += usize::from(value.starts_with("any"));
        let _ = writeln!(text, "var {name}: int = {value}");
        total.push(name);
    }
    let total = total.join(" + ");
    let _ = writeln!(text, "var s: int = any int in -8..7\nassume s == {total}");
    for kind in 0..2 {
        let length = 1 + dice.below(2);
        let body: String = (0..length).map(|place| movement(dice, place)).collect();
        let _ = write!(text, "txn t{kind}(n: int) {{\n{body}}}\n");
    }
    let arguments = ["1", "-2", "any int in 0..2", "any int in -1..1", "any int in 1..3"];
    let call = |dice: &mut Dice| format!("t{}({})", dice.below(2), dice.pick(&arguments));
    let (first, joint, second) = (call(dice), dice.pick(&[" || ", " || ", "; "]), call(dice));
    let third = if dice.one_in(4) { " || t0(1)" } else { "" };
    let _ = writeln!(text, "run {first}{joint}{second}{third}");
    let claim = dice.pick(&[
        "s == a + b + c",
        "s == c + b + a",
        "a + b + c >= s",
        "a - b <= c or a < b",
        "2 * a - b != s + 5",
        "a + b >= -2",
        "not (a < b and b < c) or a + 1 < c",
    ]);
    let _ = writeln!(text, "{} {claim}", dice.pick(&["invariant", "invariant", "observer"]));
    text
}

/// Something that changes the sums, or does not.
fn movement(dice: &mut Dice, place: u64) -> String {
    let (from, to) = (dice.pick(&["a", "b", "c"]), dice.pick(&["a", "b", "c"]));
    match dice.below(10) {
        0..=3 => format!("{from} -= n\n{to} += n\n"),
        4 | 5 => format!("if {from} >= n {{\n{from} -= n\n{to} += n\n}}\n"),
        6 => format!("if {from} + {to} >= n {{\n{from} -= n\n}}\n"),
        7 => format!("let old{place} = {from}\n{from} = {to}\n{to} = old{place}\n"),
        8 => format!("{from} = if {from} < {to} then {to} - n else {from} * {}\n", dice.pick(&["2", "n", "-1"])),
        _ => format!("{from} = {} * {to} - {from}\n", dice.pick(&["2", "-3", "n"])),
    }
}

fn block(dice: &mut Dice, depth: u64, length: u64) -> String {
    (0..length).map(|_| statement(dice, depth)).collect()
}

fn statement(dice: &mut Dice, depth: u64) -> String {
    match dice.below(if depth == 0 { 8 } else { 12 }) {
        0 | 1 => format!("{} = {}\n", dice.pick(&["a", "b"]), number(dice, 1)),
        2 | 3 => format!("{} {} {}\n", dice.pick(&["a", "b"]), dice.pick(&["+=", "-="]), number(dice, 0)),
        4 => format!("t[{}].v = {}\n", dice.pick(&["\"p\"", "\"q\""]), number(dice, 1)),
        5 => format!("f = {}\n", condition(dice, 0)),
        6 if dice.one_in(2) => change(dice),
        6 => match dice.below(5) {
            0 => format!("insert t[{}] {{ v: {} }}\n", dice.pick(&["\"p\"", "\"q\""]), number(dice, 0)),
            1 => format!("delete t[{}]\n", dice.pick(&["\"p\"", "\"q\""])),
            2 => "a = b for update\n".to_owned(),
            3 => {
                let row = dice.pick(&["\"p\"", "\"q\""]);
                format!("if exists t[{row}] for update {{ t[{row}].v += {} }}\n", number(dice, 0))
            }
            _ => format!("for r in t {{ r.v += {} }}\n", number(dice, 0)),
        },
        7 if dice.one_in(3) => "abort\n".to_owned(),
        7 if dice.one_in(6) => format!("assert {}\n", condition(dice, 0)),
        7 => format!("b = {}\n", number(dice, 1)),
        _ => {
            let (condition, then) = (condition(dice, 1), block(dice, depth - 1, 1));
            if dice.one_in(2) {
                return format!("if {condition} {{\n{then}}} else {{\n{}}}\n", block(dice, depth - 1, 1));
            }
            format!("if {condition} {{\n{then}}}\n")
        }
    }
}

/// A statement that chooses its rows by a condition, or makes one unless there is one.
fn change(dice: &mut Dice) -> String {
    let row = dice.pick(&["\"p\"", "\"q\""]);
    let rows = if dice.one_in(3) { "t".to_owned() } else { format!("t[{row}]") };
    let condition =
        dice.pick(&["", " where r.v > 0", " where r.v <= 1", " where r.v == n", " where r.k == \"p\" or r.v < n"]);
    let fields = dice.pick(&["v: r.v + 1", "v: n", "v: r.v - n", "v: 3 - r.v"]);
    let counted = format!("let c{} = ", dice.below(1_000_000_000));
    let counted = if dice.one_in(3) { counted } else { String::new() };
    let text = match dice.below(5) {
        0..=2 => format!("update r in {rows}{condition} {{ {fields} }}"),
        3 => format!("delete r in {rows}{condition}"),
        _ => {
            let conflict = if dice.one_in(2) { "nothing".to_owned() } else { format!("update {{ {fields} }}") };
            format!("insert r in t[{row}] {{ v: n }} on conflict {conflict}")
        }
    };
    if counted.is_empty() {
        return format!("{text}\n");
    }
    let name = counted.trim_start_matches("let ").trim_end_matches(" = ").to_owned();
    format!("{counted}{text}\nif {name} == {} {{ a += 1 }}\n", dice.below(2))
}

fn number(dice: &mut Dice, depth: u64) -> String {
    match dice.below(if depth == 0 { 6 } else { 9 }) {
        0 => dice.below(3).to_string(),
        1 if dice.outside => "1".to_owned(),
        1 => "n".to_owned(),
        2 => "a".to_owned(),
        3 => "b".to_owned(),
        4 => "t[\"p\"].v".to_owned(),
        5 => "t[\"q\"].v".to_owned(),
        6 => format!("({} {} {})", number(dice, 0), dice.pick(&["+", "-", "*"]), number(dice, 0)),
        7 => format!("(if {} then {} else {})", condition(dice, 0), number(dice, 0), number(dice, 0)),
        _ => "(sum r in t: r.v)".to_owned(),
    }
}

fn condition(dice: &mut Dice, depth: u64) -> String {
    match dice.below(if depth == 0 { 5 } else { 8 }) {
        0 | 1 => format!("{} {} {}", number(dice, 0), dice.pick(&["<", "<=", "==", "!=", ">"]), number(dice, 0)),
        2 => "f".to_owned(),
        3 => format!("exists t[{}]", dice.pick(&["\"p\"", "\"q\""])),
        4 => format!("{} == {}", number(dice, 0), number(dice, 0)),
        5 => format!("({} {} {})", condition(dice, 0), dice.pick(&["and", "or", "implies"]), condition(dice, 0)),
        6 => format!("not ({})", condition(dice, 0)),
        _ => format!("(forall r in t: r.v {} {})", dice.pick(&["<", ">="]), dice.below(4)),
    }
}

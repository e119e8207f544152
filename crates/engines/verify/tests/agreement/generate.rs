//! Small random programs, as texts.

use std::fmt::Write as _;

/// A sequence of numbers that look random (splitmix64).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
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

    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len() as u64) as usize]
    }
}

/// A program of up to so many transactions.
pub(crate) fn program(dice: &mut Dice, n_max: u64) -> String {
    let mut text = "width 6\nvar a: int = 0\nvar b: int = 1\nvar f: bool = false\n".to_owned();
    text += "table t(k) { v: int }\ninit { t[\"p\"].v = 1 }\n";
    let n_kinds = 1 + dice.below(3);
    for kind in 0..n_kinds {
        let _ = write!(text, "txn t{kind}() {{\n{}}}\n", block(dice, 2, 1 + dice.0 % 3));
    }
    let n = 2 + dice.below(n_max - 1);
    let mut run = String::new();
    for idx in 0..n {
        let joint = if idx == 0 { "" } else { dice.pick(&[" || ", " || ", " || ", "; "]) };
        let _ = write!(run, "{joint}t{}()", dice.below(n_kinds));
    }
    let _ = writeln!(text, "run {run}");
    let _ = writeln!(text, "invariant {}", condition(dice, 1));
    if dice.one_in(3) {
        let _ = writeln!(text, "observer {}", condition(dice, 1));
    }
    text
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
        6 => match dice.below(4) {
            0 => format!("insert t[{}] {{ v: {} }}\n", dice.pick(&["\"p\"", "\"q\""]), number(dice, 0)),
            1 => format!("delete t[{}]\n", dice.pick(&["\"p\"", "\"q\""])),
            2 => format!("a = b for update\n"),
            _ => format!("for r in t {{ r.v += {} }}\n", number(dice, 0)),
        },
        7 if dice.one_in(3) => "abort\n".to_owned(),
        7 if dice.one_in(3) => format!("assert {}\n", condition(dice, 0)),
        7 => format!("b = {}\n", number(dice, 1)),
        _ => {
            let (condition, then) = (condition(dice, 1), block(dice, depth - 1, 1));
            match dice.one_in(2) {
                true => format!("if {condition} {{\n{then}}} else {{\n{}}}\n", block(dice, depth - 1, 1)),
                false => format!("if {condition} {{\n{then}}}\n"),
            }
        }
    }
}

fn number(dice: &mut Dice, depth: u64) -> String {
    match dice.below(if depth == 0 { 6 } else { 9 }) {
        0 | 1 => dice.below(3).to_string(),
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

//! What is said of any number of transactions is compared with all cases, and with runs of a few of them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

use iso_answer::any_number::{Answer, Kept, Words, any_number, isolation};
use iso_evidence::Budget;
use iso_program::{AnyNumber, Exhaustive, TxnLevel, go_through, parse};
use iso_verify::{Verdict, verify_within_limits};
use std::fmt::Write;

const LEVELS: [TxnLevel; 4] =
    [TxnLevel::ReadCommitted, TxnLevel::SnapshotIsolation, TxnLevel::RepeatableRead, TxnLevel::Serializable];

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn of<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        choices[self.below(choices.len())]
    }

    fn number(&mut self) -> String {
        self.of(&["x", "t[k].n", "t[1].n", "1", "2", "a", "(count r in t: r.n > 0)", "t[k].n for update", "0"])
            .to_owned()
    }

    fn condition(&mut self) -> String {
        let (left, right) = (self.number(), self.number());
        let sign = self.of(&["<", ">", "==", "!=", "<=", ">="]);
        format!("{left} {sign} {right}")
    }

    fn statement(&mut self) -> String {
        match self.below(6) {
            0 => format!("x = {}", self.number()),
            1 => format!("x {} 1", self.of(&["+=", "-="])),
            2 => format!("t[k].n = {}", self.number()),
            3 => format!("t[k].n {} a", self.of(&["+=", "-="])),
            4 => format!("if {} {{ x = {} }}", self.condition(), self.number()),
            _ => format!("if {} {{ t[k].n = {} }} else {{ x = 0 }}", self.condition(), self.number()),
        }
    }

    /// Two transactions over a number and two rows, and a claim that one of them may keep.
    fn program(&mut self) -> String {
        let mut text =
            "width 4\nvar x: int = 0\ntable t(id in 1..2) { n: int }\ninit { t[1].n = 1; t[2].n = 0 }\n".to_owned();
        for name in ["one", "two"] {
            let body: Vec<String> = (0..=self.below(2)).map(|_| self.statement()).collect();
            let body = body.join("\n");
            // A parameter that is not used would make many more cases of the same.
            let (has_key, has_amount) =
                (body.contains("t[k]"), body.contains("a\n") || (body.clone() + " ").contains(" a "));
            let params = [("k: int", has_key), ("a: int", has_amount)];
            let params: Vec<&str> = params.into_iter().filter(|it| it.1).map(|it| it.0).collect();
            writeln!(text, "txn {name}({}) {{\n{body}\n}}", params.join(", ")).unwrap();
            if has_amount {
                writeln!(text, "assume {name}.a >= 0 and {name}.a < 3").unwrap();
            }
        }
        let claim = self.of(&[
            "x >= 0",
            "x <= 2",
            "forall r in t: r.n >= 0",
            "x >= 0 and (forall r in t: r.n >= 0)",
            "(sum r in t: r.n) >= x",
            "t[1].n >= t[2].n",
        ]);
        let kind = if self.below(4) == 0 { "observer" } else { "invariant" };
        text + &format!("{kind} {claim}\n")
    }
}

#[test]
fn what_holds_for_any_number_holds_for_a_few_and_alone() {
    let (mut n_holds, mut n_weak, mut n_violated, mut n_unknown) = (0, 0, 0, 0);
    let first = setting("ISOSCOPE_SEED", 0) << 20;
    for seed in first..first + setting("ISOSCOPE_CASES", 24) {
        let text = Random(seed).program();
        let asked = AnyNumber::parse(&text, "p").unwrap_or_else(|it| panic!("seed {seed}: {}\n{text}", it[0]));
        let answered = any_number(&asked, &LEVELS, Words::Papers, &Budget::unlimited());
        let answered = answered.unwrap_or_else(|it| panic!("seed {seed}: {it:?}\n{text}"));
        for (idx, (name, kept)) in answered.steps.iter().enumerate() {
            // What is always kept was gone through already, or there would be no answer.
            let is_kept = matches!(kept, Kept::Always(it) if it.is_certified());
            let all = || go_through(&parse(&asked.step_text(idx), "p").unwrap(), 1 << 22);
            assert!(is_kept || all() == Exhaustive::Fails, "seed {seed}: {name}: {kept:?}\n{text}");
        }
        for (level, answer) in &answered.levels {
            match answer {
                Answer::Holds(certification) => {
                    assert!(certification.is_certified(), "seed {seed}: {certification:?}");
                    n_holds += 1;
                    n_weak += usize::from(*level != TxnLevel::Serializable);
                    assert!(few_keep(&asked, *level), "seed {seed}: {level}\n{text}");
                }
                Answer::Violated(_) => n_violated += 1,
                Answer::Unknown(_) => n_unknown += 1,
            }
        }
    }
    let all = (n_holds, n_weak, n_violated, n_unknown);
    assert!(n_holds > 20 && n_weak > 10 && n_violated > 20 && n_unknown > 5, "{all:?}");
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(default)
}

/// Do up to four transactions keep the claims?
fn few_keep(asked: &AnyNumber, level: TxnLevel) -> bool {
    let choices: [&[usize]; 9] =
        [&[0], &[1], &[0, 0], &[0, 1], &[1, 1], &[0, 0, 1], &[0, 1, 1], &[0, 0, 1, 1], &[0, 0, 0]];
    choices.iter().all(|choice| {
        let program = parse(&asked.run_text(choice), "p").unwrap();
        let verdict = verify_within_limits(&program, isolation(level, Words::Papers), &Budget::unlimited()).verdict;
        !matches!(verdict, Verdict::Violated(_))
    })
}

#[test]
fn programs_of_any_number_keep_their_lines_and_rows() {
    let text = "// a comment\ntable t(id) {\n    n: int\n}\ninit { t[\"a\"].n = 1 }\nvar v: text = \"x\"\n\
        txn set(k, to: text) { if exists t[k] { v = to } }\nassume set.to != \"z\"\n\
        run set(\"a\", \"y\") || set(\"b\", \"x\")\nobserver \"never z\": v != \"z\"\ninvariant t[\"a\"].n == 1\n";
    let asked = AnyNumber::parse(text, "p").unwrap();
    for text in [asked.initial_text(), asked.step_text(0), asked.run_text(&[0, 0])] {
        let program = parse(&text, "p").unwrap_or_else(|it| panic!("{}\n{text}", it[0]));
        let names: Vec<&str> = program.units().iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["v", "t[\"a\"]", "t[\"b\"]"], "{text}");
        let line = |it: &iso_program::Claim| program.place(it.span).line;
        assert_eq!(program.invariants().iter().map(line).max(), Some(11), "{text}");
    }
    let step = parse(&asked.step_text(0), "p").unwrap();
    assert!(matches!(go_through(&step, 1 << 20), Exhaustive::TooMany), "a number has 16 bits");
    let few = AnyNumber::parse(&format!("width 4\n{text}"), "p").unwrap();
    let step = parse(&few.step_text(0), "p").unwrap();
    assert!(matches!(go_through(&step, 1 << 20), Exhaustive::Holds { cases } if cases > 0));
}

//! Formulas that nobody would write: both evaluators must give them the same meaning.

mod common;

use common::{Random, history, show};
use iso_history::{Facts, History, KeyId, Projection, TxnId};
use iso_spec::{Evaluation, Execution, NamedOrder, Steps, evaluate, evaluate_plainly, holds, holds_at_any_size, parse};
use std::collections::BTreeSet;

const FRAMEWORKS: &[&str] = &[
    "framework f { order co; versions vo }",
    "framework f { order co; versions vo; require so | wr in co; require forall x: vo[x] in co }",
    "framework f { relation co; versions vo; require co & so = co }",
    "framework f { relation co; versions vo; require irreflexive(co) }",
];

const HISTORIES: &[&str] = &[
    "a: r(x,0) w(x,1)\n a: r(x,0)",
    "a: r(x,0) w(x,1) w(y,1)\n b: r(y,1) w(x,2)",
    "a: w(x,1) r(y,0)\n b: r(x,1) r(x,0) w(y,1)",
];

/// Writes formulas; a variable's first letter says its sort.
struct Writer {
    random: Random,
    n_variables: usize,
    scope: Vec<String>,
}

impl Writer {
    fn pick(&mut self, options: &[&str]) -> String {
        options[self.random.below(options.len())].to_owned()
    }

    fn bind(&mut self, sort: char) -> String {
        self.n_variables += 1;
        let name = format!("{sort}{}", self.n_variables);
        self.scope.push(name.clone());
        name
    }

    fn variable(&mut self, sort: char) -> Option<String> {
        let fitting: Vec<String> = self.scope.iter().filter(|it| it.starts_with(sort)).cloned().collect();
        (!fitting.is_empty()).then(|| fitting[self.random.below(fitting.len())].clone())
    }

    fn txn(&mut self) -> String {
        if self.random.below(8) == 0 { "t0".to_owned() } else { self.variable('t').unwrap_or("t0".to_owned()) }
    }

    fn relation(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.below(4) == 0 {
            return match self.variable('k') {
                Some(key) if self.random.below(2) == 0 => format!("{}[{key}]", self.pick(&["wr", "vo", "listed"])),
                _ => self.pick(&["so", "wr", "co", "vo", "id", "co"]),
            };
        }
        let left = self.relation(depth - 1);
        match self.random.below(9) {
            0 => format!("({left} | {})", self.relation(depth - 1)),
            1 => format!("({left} & {})", self.relation(depth - 1)),
            2 => format!("({left} - {})", self.relation(depth - 1)),
            3 => format!("({left} ; {})", self.relation(depth - 1)),
            4 => format!("{left}^-1"),
            5 => format!("{left}+"),
            6 => format!("{left}?"),
            7 => format!("([{}] ; {left})", self.set(depth - 1)),
            _ => {
                let mark = self.scope.len();
                let (a, b) = (self.bind('t'), self.bind('t'));
                let body = self.formula(depth - 1);
                self.scope.truncate(mark);
                format!("{{ {a}: txn, {b}: txn | {body} }}")
            }
        }
    }

    fn set(&mut self, depth: usize) -> String {
        if depth == 0 {
            return "init".to_owned();
        }
        match self.random.below(4) {
            0 => format!("({} - {})", self.set(depth - 1), self.set(depth - 1)),
            1 => format!("({} | {})", self.set(depth - 1), self.set(depth - 1)),
            _ => {
                let mark = self.scope.len();
                let member = self.bind('t');
                let body = self.formula(depth - 1);
                self.scope.truncate(mark);
                format!("{{ {member}: txn | {body} }}")
            }
        }
    }

    fn atom(&mut self, depth: usize) -> String {
        let (left, right) = (self.txn(), self.txn());
        let (key, read) = (self.variable('k'), self.variable('r'));
        match (self.random.below(5), key, read) {
            (0, Some(key), _) => format!("writes({left}, {key})"),
            (1, Some(key), Some(read)) => format!("key({read}, {key})"),
            (1 | 2, _, Some(read)) => format!("{}({read}, {left})", self.pick(&["from", "of"])),
            (3, _, _) => format!("{left} {} {right}", self.pick(&["=", "!="])),
            (4, _, _) => format!("{}({left})", self.set(depth.min(1))),
            _ => format!("{}({left}, {right})", self.relation(depth.min(2))),
        }
    }

    fn formula(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.atom(1);
        }
        match self.random.below(10) {
            0 => format!("({} and {})", self.formula(depth - 1), self.formula(depth - 1)),
            1 => format!("({} or {})", self.formula(depth - 1), self.formula(depth - 1)),
            2 => format!("({} implies {})", self.formula(depth - 1), self.formula(depth - 1)),
            3 => format!("({} iff {})", self.formula(depth - 1), self.formula(depth - 1)),
            4 => format!("not {}", self.formula(depth - 1)),
            5 => {
                let property = self.pick(&["acyclic", "irreflexive", "total", "transitive", "empty"]);
                format!("{property}({})", self.relation(depth))
            }
            6 => {
                format!("({} {} {})", self.relation(depth - 1), self.pick(&["in", "=", "!="]), self.relation(depth - 1))
            }
            _ => self.quantified(depth),
        }
    }

    fn quantified(&mut self, depth: usize) -> String {
        let mark = self.scope.len();
        let binders: Vec<String> = (0..=self.random.below(3))
            .map(|_| match self.random.below(5) {
                0 => format!("{}: key", self.bind('k')),
                1 => format!("{}: read", self.bind('r')),
                _ => format!("{}: txn", self.bind('t')),
            })
            .collect();
        let quantifier = self.pick(&["forall", "exists"]);
        let body = self.formula(depth - 1);
        self.scope.truncate(mark);
        format!("({quantifier} {}: {body})", binders.join(", "))
    }
}

#[test]
fn both_evaluators_give_random_formulas_the_same_meaning() {
    let histories: Vec<_> = HISTORIES.iter().map(|it| history(it)).collect();
    let mut writer = Writer { random: Random::new(7), n_variables: 0, scope: Vec::new() };
    let mut n_allowed = 0;
    for nth in 0..N_FORMULAS {
        let formula = format!("{} and {}", writer.formula(3), writer.formula(3));
        let text = format!("{}\nlevel a in f = {formula}", FRAMEWORKS[nth / 3 % FRAMEWORKS.len()]);
        let module =
            parse(&text, "random.spec", &mut |_| Err(String::new())).unwrap_or_else(|it| panic!("{text}\n{it:?}"));
        let spec = &module.levels()[0];
        let facts = Facts::new(&histories[nth % histories.len()]);
        let found = evaluate(&facts, spec, &mut Steps::unlimited());
        let plain = evaluate_plainly(&facts, spec, &mut Steps::unlimited());
        assert_eq!(found.is_allowed(), plain.is_allowed(), "history {}\n{text}", nth % histories.len());
        for answer in [found, plain] {
            if let Evaluation::Allowed(execution) = answer {
                n_allowed += 1;
                assert!(holds(&facts, spec, &execution), "{text}");
                assert_eq!(holds_at_any_size(&facts, spec, &execution, &mut || false), Some(true), "{text}");
            }
        }
    }
    assert!(n_allowed > N_FORMULAS / 4 && n_allowed < 2 * N_FORMULAS * 9 / 10, "{n_allowed}");
}

#[test]
fn an_execution_is_judged_the_same_at_any_size() {
    let histories: Vec<_> = HISTORIES.iter().map(|it| history(it)).collect();
    let mut writer = Writer { random: Random::new(11), n_variables: 0, scope: Vec::new() };
    let mut n_held = 0;
    for nth in 0..N_FORMULAS {
        let text = format!("{}\nlevel a in f = {}", FRAMEWORKS[nth / 3 % FRAMEWORKS.len()], writer.formula(4));
        let module =
            parse(&text, "random.spec", &mut |_| Err(String::new())).unwrap_or_else(|it| panic!("{text}\n{it:?}"));
        let facts = Facts::new(&histories[nth % histories.len()]);
        for _ in 0..4 {
            let (pairs, sequences) = some_execution(&facts, &mut writer.random);
            let held = holds(&facts, &module.levels()[0], &pairs);
            for execution in [&pairs, &sequences] {
                let answer = holds_at_any_size(&facts, &module.levels()[0], execution, &mut || false);
                assert_eq!(answer, Some(held), "history {}\n{text}\n{execution:?}", nth % histories.len());
            }
            n_held += usize::from(held);
        }
    }
    assert!(n_held > N_FORMULAS && n_held < 3 * N_FORMULAS, "{n_held}");
}

#[test]
fn what_is_said_to_be_kept_by_parts_is() {
    let histories: Vec<_> = HISTORIES.iter().chain(LISTS).map(|it| history(it)).collect();
    let mut writer = Writer { random: Random::new(13), n_variables: 0, scope: Vec::new() };
    let (mut n_kept, mut n_parts) = (0, 0);
    for nth in 0..3 * N_FORMULAS {
        let text = format!("{}\nlevel a in f = {}", FRAMEWORKS[nth / 3 % FRAMEWORKS.len()], writer.formula(3));
        let module =
            parse(&text, "random.spec", &mut |_| Err(String::new())).unwrap_or_else(|it| panic!("{text}\n{it:?}"));
        let spec = &module.levels()[0];
        let facts = Facts::new(&histories[nth % histories.len()]);
        let is_allowed = |facts: &Facts<'_>| evaluate(facts, spec, &mut Steps::unlimited()).is_allowed() == Some(true);
        if !spec.is_kept_by_parts() || !is_allowed(&facts) {
            continue;
        }
        n_kept += 1;
        for part in parts(&facts) {
            n_parts += 1;
            assert!(
                is_allowed(&Facts::new(&part)),
                "{text}\n{}is forbidden, but not\n{}",
                show(&part),
                show(facts.history())
            );
        }
    }
    assert!(n_kept > 500 && n_parts > n_kept, "{n_kept} {n_parts}");
}

const LISTS: &[&str] =
    &["a: l(x,1) l(x)1\n b: l(x)1 l(x,2)\n c: l(x)1.2", "a: l(x,1) w(y,1)\n b: l(x,2) r(y,1)\n c: l(x)2"];

/// The parts without one transaction, and without one operation.
fn parts(facts: &Facts<'_>) -> Vec<History> {
    let all: Vec<TxnId> = facts.txns().collect();
    let fewer = |left: &TxnId| all.iter().copied().filter(|it| it != left).collect::<Vec<TxnId>>();
    let by_txn = all.iter().map(|it| Projection::new(facts, &fewer(it), &BTreeSet::new()));
    let ops = all.iter().flat_map(|it| facts.history().ops(*it));
    let by_op = ops.map(|it| Projection::new(facts, &all, &BTreeSet::from([it])));
    by_txn.chain(by_op).map(|it| it.history).collect()
}

/// An execution with orders that have nothing to do with what was read: by its pairs, and by its sequences.
fn some_execution(facts: &Facts<'_>, random: &mut Random) -> (Execution, Execution) {
    let mut order: Vec<TxnId> = facts.txns().collect();
    for idx in (1..order.len()).rev() {
        order.swap(idx, random.below(idx + 1));
    }
    let sources = (0..facts.reads().len()).map(|it| (facts.reads()[it].op, facts.candidates(it)[0])).collect();
    let bare = Execution::new(facts.txns(), sources);
    let (mut pairs, mut sequences) = (bare.clone().with_order("co", &order), bare);
    sequences.orders.push(NamedOrder { name: "co".to_owned(), key: None, first_to_last: order.clone() });
    for key_idx in 0..facts.history().n_keys() {
        let key = KeyId::from_index(key_idx);
        let writers: Vec<TxnId> = order.iter().rev().copied().filter(|it| facts.writes(*it, key)).collect();
        pairs = pairs.with_versions("vo", key, &writers);
        sequences.orders.push(NamedOrder { name: "vo".to_owned(), key: Some(key), first_to_last: writers });
    }
    (pairs, sequences)
}

const N_FORMULAS: usize = 4000;

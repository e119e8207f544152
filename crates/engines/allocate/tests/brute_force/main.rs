//! What the search says of any number of transactions is compared with all runs of a few.

#![allow(clippy::format_push_string, reason = "programs are put together piece by piece")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

mod server;

use iso_allocate::{Danger, Edges, RowValue, allocate, danger, is_robust};
use iso_evidence::Budget;
use iso_program::{Access, AccessKind, Constant, RowKey, Templates, TxnLevel, Way, check_robust};
use server::{Statement, Txn, has_bad_run, run};

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}

const HEAD: &str =
    "table a(id) { f: int, g: int }\ntable b(id) { f: int }\ntable c(id) { f: int }\ntable d(id)\nvar x: int\n";

/// A program of some transactions with a few statements each.
fn random_program(random: &mut Random, n_txns: usize, n_statements: usize) -> String {
    let mut text = HEAD.to_owned();
    let with_rows_that_grow = random.below(4) == 0;
    let with_constants = random.below(4) == 0;
    let n_tables = 1 + random.below(3);
    for txn in 0..n_txns {
        let n_params = 1 + random.below(2);
        let params = &["p", "q"][..n_params];
        let mut body = String::new();
        for number in 0..=random.below(n_statements) {
            let table = ["a", "b", "c"][random.below(n_tables)];
            let key = if with_constants && random.below(3) == 0 { "\"k\"" } else { params[random.below(n_params)] };
            let field = if table == "a" && random.below(2) == 0 { "g" } else { "f" };
            let place = format!("{table}[{key}].{field}");
            body += &match random.below(if with_rows_that_grow { 16 } else { 11 }) {
                0..=3 => format!("let n{number} = {place}\n"),
                4 | 5 => format!("{place} += 1\n"),
                6 | 7 => format!("{place} = 1\n"),
                8 => format!("let n{number} = {place} for update\n"),
                9 => format!("let n{number} = sum r in {table}: r.{field}\n"),
                10 => ["x += 1\n", "x = 1\n", "let y = x\n"][random.below(3)].to_owned(),
                11 => format!("insert {table}[{key}]\n"),
                // Nobody removes rows of this one.
                12 => format!("insert d[{key}]\n"),
                13 => format!("if exists d[{key}] {{ {place} = 1 }} else {{ let n{number} = {place} }}\n"),
                14 => format!("if not exists d[{key}] {{ abort }}\n"),
                _ => format!("delete {table}[{key}]\n"),
            };
        }
        text += &format!("txn t{txn}({}) {{\n{body}}}\n", params.join(", "));
    }
    text
}

const N_ROWS: usize = 2;
const CONSTANT_ROW: usize = 2;

fn with_rows(templates: &Templates, way: &Way, level: TxnLevel, row_of: &dyn Fn(usize) -> usize, n_rows: usize) -> Txn {
    let rows = |key: &RowKey| match key {
        RowKey::Constant(Constant::Only) => vec![0],
        RowKey::Constant(_) => vec![CONSTANT_ROW],
        RowKey::Variable(variable) => vec![row_of(*variable)],
        RowKey::All => (0..n_rows).collect(),
    };
    let statement = |it: &Access| {
        let makes_for_good = it.kind == AccessKind::Insert && !templates.relations()[it.relation].shrinks;
        Statement { access: it.clone(), rows: rows(&it.key), makes_for_good }
    };
    Txn { level, statements: way.accesses.iter().map(statement).collect() }
}

/// All transactions of the templates over few rows.
fn instances(templates: &Templates, levels: &[TxnLevel]) -> Vec<Txn> {
    let mut all = Vec::new();
    for (template, level) in templates.templates().iter().zip(levels) {
        for way in &template.ways {
            let uses_constants = templates.text().contains("\"k\"");
            let n_rows = N_ROWS + usize::from(uses_constants);
            let n_choices = n_rows.pow(way.variables.len() as u32);
            for choice in 0..n_choices {
                let row_of = |variable: usize| choice / n_rows.pow(variable as u32) % n_rows;
                all.push(with_rows(templates, way, *level, &row_of, n_rows));
            }
        }
    }
    all
}

fn in_conflict(left: &Txn, right: &Txn) -> bool {
    left.statements.iter().any(|one| {
        right.statements.iter().any(|other| {
            let (a, b) = (&one.access, &other.access);
            let data = a.writes.meets(b.reads.with(b.writes)) || a.reads.meets(b.writes);
            a.relation == b.relation && data && one.rows.iter().any(|it| other.rows.contains(it))
        })
    })
}

/// Some instances that have a run that is not serializable, if there are any.
fn bad_instances(templates: &Templates, levels: &[TxnLevel], n_max: usize, effort: usize) -> Option<Vec<Txn>> {
    let all = instances(templates, levels);
    let joined: Vec<Vec<bool>> = all.iter().map(|a| all.iter().map(|b| in_conflict(a, b)).collect()).collect();
    let mut n_steps = effort;
    for n_txns in 2..=n_max {
        let mut chosen = vec![0; n_txns];
        loop {
            // A cycle of that length: everybody is in conflict with two others, or both with each other.
            let n_partners =
                |idx: usize| (0..n_txns).filter(|it| *it != idx && joined[chosen[idx]][chosen[*it]]).count();
            if (0..n_txns).all(|it| n_partners(it) >= 2.min(n_txns - 1)) {
                let txns: Vec<Txn> = chosen.iter().map(|it| all[*it].clone()).collect();
                if has_bad_run(&txns, &mut n_steps) {
                    return Some(txns);
                }
                if n_steps == 0 {
                    return None;
                }
            }
            let Some(place) = (0..n_txns).rev().find(|it| chosen[*it] + 1 < all.len()) else { break };
            let next = chosen[place] + 1;
            chosen[place..].fill(next);
        }
    }
    None
}

/// Runs what was found, as it says.
fn is_bad(templates: &Templates, levels: &[TxnLevel], found: &Danger) -> bool {
    let mut names: Vec<&RowValue> = found.members.iter().flat_map(|it| &it.values).collect();
    names.sort_unstable();
    names.dedup();
    let n_rows = 3 + names.len();
    let mut txns = Vec::new();
    for member in &found.members {
        let way = &templates.templates()[member.template].ways[member.way];
        let row_of = |variable: usize| match &member.values[variable] {
            RowValue::Constant(_) => CONSTANT_ROW,
            value @ RowValue::Symbol(_) => 3 + names.iter().position(|it| *it == value).unwrap(),
        };
        txns.push(with_rows(templates, way, levels[member.template], &row_of, n_rows));
    }
    let split = &txns[0];
    let read = &split.statements[found.read];
    let is_own = |it: &Statement| {
        it.access.relation == read.access.relation && it.access.writes.meets(read.access.reads) && it.rows == read.rows
    };
    if split.statements[..found.read].iter().any(is_own) {
        // With these values it reads what it has written itself, which nobody else overwrites.
        return true;
    }
    let mut turns = Vec::new();
    let n_first = if split.level.has_snapshot() { 1 } else { found.read + 1 };
    turns.extend(vec![0; n_first]);
    for (idx, txn) in txns.iter().enumerate().skip(1) {
        turns.extend(vec![idx; txn.statements.len() + 1 + usize::from(txn.level.has_snapshot())]);
    }
    turns.extend(vec![0; split.statements.len() + 1 + usize::from(split.level.has_snapshot()) - n_first]);
    run(&txns, &turns) == Some(true)
}

const LEVELS: [TxnLevel; 4] =
    [TxnLevel::ReadCommitted, TxnLevel::SnapshotIsolation, TxnLevel::RepeatableRead, TxnLevel::Serializable];

fn compare(text: &str, levels: &[TxnLevel], n_max: usize, effort: usize) -> (bool, bool) {
    let templates = Templates::parse(text, "random.txn").unwrap();
    let budget = Budget::unlimited();
    let robust = is_robust(&templates, levels, Edges::AndLocks, &budget).unwrap().is_ok();
    // The kernel's own check agrees, in both directions.
    assert_eq!(check_robust(text, levels).is_ok(), robust, "the kernel disagrees:\n{text}{levels:?}");
    for split in 0..templates.templates().len() {
        if let Some(found) = danger(&templates, levels, split, Edges::Data, &budget).unwrap() {
            assert!(!robust, "with fewer edges there is more:\n{text}{levels:?}");
            // Where rows decide branches, values have to be found first.
            let ways = found.members.iter().map(|it| &templates.templates()[it.template].ways[it.way]);
            let is_choosy = ways.flat_map(|it| &it.accesses).any(|it| it.found.is_some());
            assert!(is_choosy || is_bad(&templates, levels, &found), "no run:\n{text}{levels:?}\n{found:#?}");
        }
    }
    let bad = bad_instances(&templates, levels, n_max, effort);
    assert!(!robust || bad.is_none(), "not robust:\n{text}{levels:?}\n{bad:#?}");
    (robust, bad.is_some())
}

fn compare_many(seed: u64, n_sets: usize, shape: (usize, usize), n_max: usize, effort: usize) {
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(default);
    let seed = seed + 100 * number("ISOSCOPE_SEED", 0);
    let n_sets = n_sets * number("ISOSCOPE_SOAK", 1) as usize;
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ seed);
    let (mut n_robust, mut n_bad, mut n_unclear) = (0, 0, 0);
    for _ in 0..n_sets {
        let n_txns = 1 + random.below(shape.0);
        let text = random_program(&mut random, n_txns, shape.1);
        let one = LEVELS[random.below(4)];
        let is_mixed = random.below(2) == 0;
        let pick = |random: &mut Random| [LEVELS[0], LEVELS[2], LEVELS[3]][random.below(3)];
        let levels: Vec<TxnLevel> = (0..n_txns).map(|_| if is_mixed { pick(&mut random) } else { one }).collect();
        match compare(&text, &levels, n_max, effort) {
            (true, _) => n_robust += 1,
            (false, true) => n_bad += 1,
            (false, false) => n_unclear += 1,
        }
    }
    assert!(
        n_robust * 20 > n_sets && n_bad * 20 > n_sets,
        "seed {seed}: {n_robust} robust, {n_bad} bad, {n_unclear} larger"
    );
}

#[test]
fn robust_templates_have_no_bad_run_of_two_or_three() {
    compare_many(1, 300, (3, 3), 3, 40_000);
}

#[test]
fn robust_templates_of_long_transactions_have_no_bad_run_of_two() {
    compare_many(2, 300, (3, 5), 2, 40_000);
}

#[test]
fn robust_templates_have_no_bad_run_of_four() {
    compare_many(3, 100, (3, 2), 4, 100_000);
}

/// What is allocated is robust, and nothing weaker is.
#[test]
fn allocations_are_robust_and_weakest() {
    let mut random = Random(0x1234_5678_9abc_def1);
    let budget = Budget::unlimited();
    let ladder = [LEVELS[0], LEVELS[2], LEVELS[3]];
    let mut n_mixed = 0;
    for _ in 0..300 {
        let n_txns = 1 + random.below(4);
        let text = random_program(&mut random, n_txns, 4);
        let templates = Templates::parse(&text, "random.txn").unwrap();
        let found = allocate(&templates, &ladder, &budget).unwrap();
        let levels: Vec<TxnLevel> = found.levels.iter().map(|it| it.unwrap()).collect();
        n_mixed += usize::from(levels.iter().any(|it| *it != levels[0]));
        assert!(is_robust(&templates, &levels, Edges::AndLocks, &budget).unwrap().is_ok(), "{text}{levels:?}");
        for (idx, level) in levels.iter().enumerate() {
            let mut weaker = levels.clone();
            for lower in ladder.iter().filter(|it| *it < level) {
                weaker[idx] = *lower;
                let is_ok = is_robust(&templates, &weaker, Edges::AndLocks, &budget).unwrap().is_ok();
                // Where rows are only locked, levels do not stand in a row, and more than needed may be raised.
                let may_be = text.contains("for update") || text.contains("insert");
                assert!(!is_ok || may_be, "{text}{levels:?} is stronger than {weaker:?}");
            }
        }
    }
    assert!(n_mixed > 30, "{n_mixed}");
}

//! Every run satisfies its level.

use crate::dice::Dice;
use crate::run::{Interleaving, Shape, run};
use crate::setting;
use iso_check::check;
use iso_evidence::{Budget, Verdict, certify};
use iso_history::{Facts, History, Op, Outcome};
use iso_spec::Level;
use iso_store::{DATABASE_LEVELS, LEVELS, Policy, Store, Values};

const POLICIES: [Policy; 3] = [Policy::Latest, Policy::Random, Policy::Adversarial];

fn is_allowed(history: &History, level: Level) -> bool {
    match check(history, level, &Budget::unlimited()) {
        Verdict::Allowed(_) => true,
        Verdict::Forbidden(_) => false,
        Verdict::Unknown(reason) => panic!("{reason} without a limit"),
    }
}

fn text(history: &History) -> String {
    let txn = |it| {
        let mut ops = Vec::new();
        for op in history.ops(it) {
            let mut of_statement = history.statement_of(op).ops();
            let (is_first, is_last) = (of_statement.next() == Some(op), of_statement.next_back().unwrap_or(op) == op);
            let (open, end) = (if is_first { "[" } else { "" }, if is_last { "]" } else { "" });
            ops.push(format!("{open}{}{end}", history.render_op(op)));
        }
        format!("{} {:?}: {}", history.label(it), history.outcome(it), ops.join(" "))
    };
    history.txns().map(txn).collect::<Vec<_>>().join("\n")
}

/// The sources that the store tells are the only possible ones where values are distinct, and fit the others.
fn assert_sources(store: &Store, distinct: &History, as_written: &History) {
    let facts = Facts::new(distinct);
    assert!(!facts.has_ambiguous_reads() && facts.local().is_empty(), "{}", text(distinct));
    let sources = store.sources();
    let is_judged = |it: &&iso_store::Source| distinct.outcome(distinct.txn_of(it.read)) == Outcome::Committed;
    let told: Vec<_> = sources.iter().filter(is_judged).map(|it| (it.read, vec![it.writer])).collect();
    let derived: Vec<_> =
        facts.reads().iter().enumerate().map(|(idx, it)| (it.op, facts.candidates(idx).to_vec())).collect();
    assert_eq!(told, derived, "{}", text(distinct));
    let facts = Facts::new(as_written);
    let fits = |(idx, read): (usize, &iso_history::ExternalRead)| {
        let source = told.iter().find(|it| it.0 == read.op);
        source.is_some_and(|it| facts.candidates(idx).contains(&it.1[0]))
    };
    assert!(facts.reads().iter().enumerate().all(fits), "{}", text(as_written));
    for source in sources {
        assert!(matches!(distinct.op(source.read), Op::Read { .. }));
    }
}

fn runs(n_cases: u64, shape: fn(&mut Dice) -> Shape, is_small: bool) {
    let seed = setting("ISOSCOPE_SEED", 0).wrapping_mul(1_000_003);
    let mut n_committed = [0; LEVELS.len()];
    for case in 0..n_cases {
        for (at, level) in LEVELS.into_iter().enumerate() {
            for policy in POLICIES {
                let mut dice = Dice::new(seed.wrapping_add(case));
                let shape = shape(&mut dice);
                let store = run(&mut dice, &shape, level, policy.clone(), seed + case);
                let (distinct, plain) = (store.history(Values::Distinct), store.history(Values::AsWritten));
                let about = || format!("case {case} {level} {policy:?}\n{}", text(&distinct));
                assert!(is_allowed(&distinct, level), "{}", about());
                // Many values that look alike make a hard question.
                assert!(!is_small || is_allowed(&plain, level), "{}\n{}", about(), text(&plain));
                assert_sources(&store, &distinct, &plain);
                for history in [&distinct, &plain] {
                    let verdict = Verdict::Allowed(store.witness());
                    certify(history, level, &verdict).unwrap_or_else(|it| panic!("{it}\n{}", about()));
                }
                n_committed[at] += distinct.txns().filter(|it| distinct.outcome(*it) == Outcome::Committed).count();
            }
        }
    }
    println!("transactions committed by level: {n_committed:?}");
}

#[test]
fn small_runs_satisfy_their_level() {
    runs(setting("ISOSCOPE_CASES", 300), Shape::small, true);
}

#[test]
fn runs_with_updates_savepoints_and_predicates_satisfy_their_level() {
    runs(setting("ISOSCOPE_CASES", 300), Shape::sql, true);
}

#[test]
fn runs_satisfy_their_level_of_a_database() {
    let seed = setting("ISOSCOPE_SEED", 0).wrapping_mul(1_000_003);
    let mut n_committed = [0; DATABASE_LEVELS.len()];
    for case in setting("ISOSCOPE_FIRST", 0)..setting("ISOSCOPE_CASES", 300) {
        for (at, level) in DATABASE_LEVELS.into_iter().enumerate() {
            for policy in POLICIES {
                let mut dice = Dice::new(seed.wrapping_add(case));
                let shape = Shape::sql(&mut dice);
                let store = run(&mut dice, &shape, level, policy.clone(), seed + case);
                let (distinct, plain) = (store.history(Values::Distinct), store.history(Values::AsWritten));
                for history in [&distinct, &plain] {
                    let about = || format!("case {case} {level} {policy:?}\n{}", text(history));
                    let verdict = Verdict::Allowed(store.witness());
                    certify(history, level, &verdict).unwrap_or_else(|it| panic!("{it}\n{}", about()));
                }
                let scans = store.history_with_scans();
                for history in [&distinct, &plain, &scans] {
                    let verdict = check(history, level, &Budget::unlimited());
                    let about = || format!("case {case} {level} {policy:?}\n{}", text(history));
                    assert!(matches!(verdict, Verdict::Allowed(_)), "{}", about());
                    certify(history, level, &verdict).unwrap_or_else(|it| panic!("{it}\n{}", about()));
                }
                n_committed[at] += plain.txns().filter(|it| plain.outcome(*it) == Outcome::Committed).count();
            }
        }
    }
    println!("transactions committed by level: {n_committed:?}");
}

/// Where scans are scans, values are as they were written, and the order of reads is not known.
#[test]
fn histories_with_scans_satisfy_their_level() {
    let seed = setting("ISOSCOPE_SEED", 0).wrapping_mul(1_000_003);
    let mut n_omitting = 0;
    for case in 0..setting("ISOSCOPE_CASES", 300) {
        for level in LEVELS.into_iter().filter(|it| *it != Level::ReadCommitted) {
            let mut dice = Dice::new(seed.wrapping_add(case));
            let shape = Shape::sql(&mut dice);
            let history = run(&mut dice, &shape, level, Policy::Random, seed + case).history_with_scans();
            n_omitting += usize::from(history.has_omissions());
            let verdict = check(&history, level, &Budget::unlimited());
            assert!(matches!(verdict, Verdict::Allowed(_)), "case {case} {level}\n{}", text(&history));
            certify(&history, level, &verdict).unwrap_or_else(|it| panic!("case {case} {level} {it}"));
        }
    }
    assert!(n_omitting > 0, "some scan looked at a row and did not return it");
}

#[test]
fn larger_runs_satisfy_their_level() {
    runs(setting("ISOSCOPE_CASES", 300) / 15, Shape::middle, false);
}

/// Too large to be searched for a witness, but the store has one.
#[test]
fn large_runs_satisfy_their_level() {
    let seed = setting("ISOSCOPE_SEED", 0).wrapping_mul(1_000_003);
    let many = |dice: &mut Dice| Shape { n_sessions: 20, n_txns: 3000, n_rows: 60, ..Shape::middle(dice) };
    let long = |dice: &mut Dice| Shape { n_txns: 200, max_ops: 300, n_rows: 400, aborts: 0, ..Shape::middle(dice) };
    let deep = |dice: &mut Dice| Shape { n_sessions: 6, n_txns: 3000, n_rows: 3, ..Shape::middle(dice) };
    for (level, policy) in LEVELS.into_iter().flat_map(|level| POLICIES.map(|it| (level, it))) {
        for shape in [many, long, deep] {
            let mut dice = Dice::new(seed);
            let shape = shape(&mut dice);
            let store = run(&mut dice, &shape, level, policy.clone(), seed);
            let verdict = Verdict::Allowed(store.witness());
            let certified = certify(&store.history(Values::Distinct), level, &verdict);
            certified.unwrap_or_else(|it| panic!("{level} {policy:?} {it}"));
        }
    }
}

#[test]
fn the_same_calls_with_the_same_seed_give_the_same_run() {
    for level in LEVELS {
        let once = || {
            let mut dice = Dice::new(7);
            let shape = Shape::middle(&mut dice);
            text(&run(&mut dice, &shape, level, Policy::Random, 3).history(Values::AsWritten))
        };
        assert_eq!(once(), once());
    }
}

/// How many of so many runs at a level another level forbids.
fn n_forbidden(level: Level, policy: &Policy, stronger: Level, interleaving: Interleaving) -> usize {
    let is_forbidden = |case: &u64| {
        let mut dice = Dice::new(*case);
        let shape = Shape { interleaving, ..Shape::small(&mut dice) };
        !is_allowed(&run(&mut dice, &shape, level, policy.clone(), *case).history(Values::Distinct), stronger)
    };
    (0..N_RUNS).filter(is_forbidden).count()
}

const N_RUNS: u64 = 400;

#[test]
fn weak_runs_break_the_next_stronger_level() {
    for stronger in LEVELS {
        for weaker in stronger.implied().iter().filter(|it| LEVELS.contains(it)) {
            let n = n_forbidden(*weaker, &Policy::Random, stronger, Interleaving::Any);
            println!("{n} of {N_RUNS} random runs at {weaker} are forbidden by {stronger}");
            assert!(n > 0, "every run at {weaker} satisfies {stronger}");
        }
    }
}

#[test]
fn an_adversary_breaks_serializability_more_often_than_chance() {
    for interleaving in [Interleaving::Any, Interleaving::Serial] {
        for level in &LEVELS[..LEVELS.len() - 1] {
            let [latest, random, adversarial] =
                POLICIES.map(|it| n_forbidden(*level, &it, Level::Serializable, interleaving));
            println!("{interleaving:?} {level}, unserializable of {N_RUNS} runs: {latest} {random} {adversarial}");
            assert!(adversarial * 20 > random * 21, "{level} {interleaving:?}: {adversarial} not more than {random}");
            assert!(latest <= random && (latest == 0 || interleaving == Interleaving::Any));
        }
    }
}

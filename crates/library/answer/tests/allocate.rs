//! Levels of known programs, and the runs that are in the way of weaker ones.

#![allow(clippy::disallowed_methods, reason = "the corpus is test data; the library itself reads nothing")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

use iso_answer::allocate::{Allocated, allocate};
use iso_evidence::Budget;
use iso_program::{Templates, TxnLevel};

const LADDER: [TxnLevel; 3] = [TxnLevel::ReadCommitted, TxnLevel::RepeatableRead, TxnLevel::Serializable];

fn answer(path: &str, ladder: &[TxnLevel]) -> Allocated {
    let text = std::fs::read_to_string(format!("../../../corpus/{path}")).unwrap();
    let templates = Templates::parse(&text, path).unwrap();
    allocate(&templates, ladder, &Budget::unlimited()).unwrap()
}

fn levels(answer: &Allocated) -> Vec<(&str, Option<TxnLevel>)> {
    answer.transactions.iter().map(|it| (it.name.as_str(), it.level)).collect()
}

/// What blocks a level is a run of the program, unless what branches decide forbids it.
#[test]
fn weaker_levels_of_known_programs_are_blocked_by_runs() {
    for name in ["smallbank", "tpcc", "auction"] {
        let answer = answer(&format!("templates/{name}.txn"), &LADDER);
        for transaction in &answer.transactions {
            for blocked in &transaction.blocked {
                assert!(blocked.run.is_some(), "{name}: {} at {}", transaction.name, blocked.level);
            }
        }
    }
}

#[test]
fn small_bank_needs_serializable_where_the_paper_says() {
    let answer = answer("templates/smallbank.txn", &LADDER);
    let (rc, ser) = (Some(TxnLevel::ReadCommitted), Some(TxnLevel::Serializable));
    let expected = [
        ("balance", ser),
        ("deposit_checking", rc),
        ("transact_savings", ser),
        ("amalgamate", rc),
        ("write_check", ser),
    ];
    assert_eq!(levels(&answer), expected);
    assert_eq!(answer.robust, [(LADDER[0], Some(false)), (LADDER[1], Some(false)), (LADDER[2], Some(true))]);
    let write_check = &answer.transactions[4];
    let at = |level| write_check.blocked.iter().find(|it| it.level == level).unwrap();
    let run = at(TxnLevel::RepeatableRead).run.as_ref().unwrap();
    assert_eq!(run.run.runs.len(), 3, "Balance must see that TransactSavings was first");
    let promoted = at(TxnLevel::RepeatableRead).promotions.as_ref().unwrap();
    assert_eq!(promoted.len(), 1, "to lock savings is enough");
}

#[test]
fn programs_of_the_corpus_are_answered() {
    let mut n_shown = 0;
    for entry in std::fs::read_dir("../../../corpus/programs").unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let answer = answer(&format!("programs/{name}"), &LADDER);
        assert!(answer.transactions.iter().all(|it| it.level.is_some()), "{name}");
        n_shown += usize::from(answer.robust[1].1 == Some(false));
    }
    assert!(n_shown > 5, "{n_shown}");
}

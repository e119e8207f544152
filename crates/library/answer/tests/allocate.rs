//! Levels of known programs, and the runs that are in the way of weaker ones.

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

#[test]
fn every_weaker_level_of_known_programs_is_blocked_by_a_run() {
    let mut n_runs = 0;
    for name in ["smallbank", "tpcc", "auction", "courseware"] {
        let answer = answer(&format!("templates/{name}.txn"), &LADDER);
        println!("{name}: {:?} {:?}", levels(&answer), answer.robust);
        for transaction in &answer.transactions {
            for blocked in &transaction.blocked {
                n_runs += 1;
                let Some(run) = &blocked.run else {
                    panic!("{name}: {} at {} has no run: {:?}", transaction.name, blocked.level, blocked.danger)
                };
                println!("{} at {}: {} {:?} lift {:?}", transaction.name, blocked.level, run.runs.len(), run.refutation.anomalies, blocked.promotions);
            }
        }
    }
    assert!(n_runs > 5);
}

#[test]
fn programs() {
    for entry in std::fs::read_dir("../../../corpus/programs").unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".txn") { continue; }
        let answer = answer(&format!("programs/{name}"), &LADDER);
        println!("{name}: {:?} {:?}", levels(&answer), answer.robust);
        for transaction in &answer.transactions {
            for blocked in &transaction.blocked {
                if blocked.run.is_none() {
                    println!("   NO RUN {} at {}: {:?}", transaction.name, blocked.level, blocked.danger.members.len());
                }
            }
        }
    }
}

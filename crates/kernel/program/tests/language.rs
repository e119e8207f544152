//! Small programs and what they become, or what is wrong with them.

use iso_program::{InstanceId, Judgement, Outcome, judge, parse, run_execution};

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

#[test]
fn the_example_of_the_design_breaks_when_neither_sees_the_other() {
    let program = parse(WITHDRAW, "withdraw.txn").unwrap();
    let order: Vec<InstanceId> = program.instance_ids().collect();
    for (sees, judgement) in [(true, Judgement::Holds), (false, Judgement::Fails)] {
        let run = run_execution(&program, &[], &order, &|_, _| sees);
        assert!(run.txns.iter().all(|it| it.outcome == Outcome::Committed));
        assert_eq!(judge(&program, &program.invariants()[0], &[], &run.last), judgement);
    }
}

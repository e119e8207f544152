//! Executions: what certifies a history, what does not, and histories that need choices.

mod common;

use common::{history, level, show};
use iso_history::{Facts, History, KeyId, TxnId};
use iso_spec::{Catalogue, Evaluation, Execution, Steps, WitnessKind, evaluate, evaluate_plainly, holds};

fn txns<const N: usize>(numbers: [usize; N]) -> [TxnId; N] {
    numbers.map(TxnId::from_index)
}

/// The execution of a history in which every read has one candidate, without a witness.
fn bare(facts: &Facts<'_>) -> Execution {
    let sources = facts.reads().iter().enumerate().map(|(idx, it)| (it.op, facts.candidates(idx)[0])).collect();
    Execution::new(facts.txns(), sources)
}

#[test]
fn an_order_from_outside_certifies() {
    let history = history("a: r(x,0) w(x,1)\n b: r(x,1) w(x,2)");
    let facts = Facts::new(&history);
    let [first, second] = txns([1, 2]);
    for name in ["biswas.ser", "biswas.rc", "biswas.si"] {
        assert!(holds(&facts, level(name), &bare(&facts).with_order("co", &[first, second])), "{name}");
        assert!(!holds(&facts, level(name), &bare(&facts).with_order("co", &[second, first])), "{name}");
    }
    let all = [first, second];
    let cerone = bare(&facts).with_order("ar", &all).with_order("vis", &all);
    assert!(holds(&facts, level("cerone.ser"), &cerone));
    assert_eq!(cerone.order("ar"), Some(all.to_vec()));
    assert_eq!(cerone.pairs("co"), None);
    let key = KeyId::from_index(0);
    assert!(holds(&facts, level("adya.pl3_so"), &bare(&facts).with_versions("vo", key, &all)));
    assert!(!holds(&facts, level("adya.pl3_so"), &bare(&facts).with_versions("vo", key, &[second, first])));
}

#[test]
fn an_illegal_witness_certifies_nothing() {
    let history = history("a: w(x,1)\n b: w(x,2)\n c: r(x,1)");
    let facts = Facts::new(&history);
    let order = txns([1, 2, 3]);
    let good = bare(&facts).with_order("co", &txns([2, 1, 3]));
    assert!(holds(&facts, level("ser"), &good));
    let [init, a, b, c] = txns([0, 1, 2, 3]);
    let illegal = [
        ("no witness", bare(&facts)),
        ("two", good.clone().with_order("co", &order)),
        ("not total", bare(&facts).with_relation("co", [(init, a), (init, b), (init, c), (a, c)])),
        ("a cycle", bare(&facts).with_relation("co", [(init, a), (init, b), (init, c), (a, b), (b, c), (c, a)])),
        (
            "not the initial one first",
            bare(&facts).with_relation("co", [(a, init), (init, b), (init, c), (b, a), (b, c), (a, c)]),
        ),
        ("somebody else's name", bare(&facts).with_order("ar", &txns([2, 1, 3]))),
        ("somebody left out", Execution::new(txns([1, 3]), good.sources.clone()).with_order("co", &txns([1, 3]))),
        (
            "nobody there",
            Execution::new(txns([1, 2, 3, 4]), good.sources.clone()).with_order("co", &txns([2, 1, 3, 4])),
        ),
        ("no source", Execution::new(order, vec![]).with_order("co", &txns([2, 1, 3]))),
        ("wrong source", Execution::new(order, vec![(good.sources[0].0, b)]).with_order("co", &order)),
    ];
    for (what, execution) in illegal {
        assert!(!holds(&facts, level("ser"), &execution), "{what}");
    }
    let key = KeyId::from_index(0);
    let versions = bare(&facts).with_versions("vo", key, &txns([2, 1]));
    assert!(holds(&facts, level("adya.pl3"), &versions));
    assert!(!holds(&facts, level("adya.pl3"), &bare(&facts)));
    assert!(!holds(&facts, level("adya.pl3"), &bare(&facts).with_versions("vo", key, &order)));
    assert!(!holds(&facts, level("adya.pl3"), &versions.with_versions("vo", KeyId::from_index(9), &[])));
}

#[test]
fn no_witness_certifies_a_read_that_nothing_explains() {
    let history = history("a aborted: w(x,1)\n b: r(x,1)");
    let facts = Facts::new(&history);
    let execution = Execution::new(facts.txns(), vec![]).with_order("co", &txns([2]));
    assert!(!holds(&facts, level("rc"), &execution));
    assert!(holds(
        &facts,
        level("ru"),
        &Execution::new(facts.txns(), vec![]).with_versions("vo", KeyId::from_index(0), &[])
    ));
}

/// Histories with choices besides the witness, lists, times and dirty reads.
const CHOICES: &[&str] = &[
    "a: w(x,1)\n a: w(x,2)\n b unknown: w(x,1)\n a: r(x,1)",
    "a: w(x,1) w(y,1)\n a unknown: r(y,0) w(x,1)\n c: r(x,1)",
    "a unknown: w(x,1)\n b unknown: w(x,1)\n c: r(x,1) r(x,0)",
    "a: r(x,1) w(y,1)\n b: r(y,1) w(x,1)\n c unknown: w(x,1)",
    "a: w(x,0)\n b: r(x,0)\n a: w(x,1) r(y,0)",
    "a: l(x,1)\n b: l(x,2)\n c: l(x)1.2",
    "a: l(x,1)\n a: l(x,2)\n b: l(x)2.1",
    "a: l(x,1)\n b: l(x) l(x,2)\n b: l(x)1.2",
    "a unknown: l(x,1)\n b: l(x,2)\n c: l(x)1",
    "a 1-2: w(x,1)\n b 3-4: r(x,0)",
    "a aborted: w(x,1)\n b: r(x,1) w(x,2)\n c: r(x,2)",
    "a: w(x,1) w(x,2)\n b: r(x,1)",
    "",
];

fn is_small(history: &History, spec: &iso_spec::Spec) -> bool {
    history.n_txns() <= 3 || spec.witnesses().iter().all(|it| it.kind != WitnessKind::Relation)
}

#[test]
fn searching_and_trying_everything_agree_on_histories_with_choices() {
    for text in CHOICES {
        let history = history(text);
        let facts = Facts::new(&history);
        for spec in Catalogue::builtin().levels().filter(|it| is_small(&history, it)) {
            let found = evaluate(&facts, spec, &mut Steps::unlimited());
            let plain = evaluate_plainly(&facts, spec, &mut Steps::unlimited());
            assert_eq!(found.is_allowed(), plain.is_allowed(), "{}\n{}", spec.name(), show(&history));
            for answer in [found, plain] {
                if let Evaluation::Allowed(execution) = answer {
                    assert!(holds(&facts, spec, &execution), "{}\n{}", spec.name(), show(&history));
                }
            }
        }
    }
}

#[test]
fn what_cannot_be_judged_is_said() {
    let lines: Vec<String> = (1..=64).map(|it| format!("a: w(x,{it})")).collect();
    let many = history(&lines.join("\n"));
    let answer = evaluate(&Facts::new(&many), level("ser"), &mut Steps::new(1000));
    assert_eq!(answer, Evaluation::TooLarge);
    let again = history("a aborted: l(x,1)\n b: l(x,1)\n c: l(x)1");
    let answer = evaluate(&Facts::new(&again), level("adya.pl1"), &mut Steps::new(1000));
    assert_eq!(answer.is_allowed(), Some(true));
    assert_eq!(evaluate(&Facts::new(&again), level("ser"), &mut Steps::new(1000)).is_allowed(), Some(true));
}

#[test]
fn sixty_three_transactions_in_one_session_are_judged_in_few_steps() {
    let lines: Vec<String> = (1..=63).map(|it| format!("a: r(x,{}) w(x,{it})", it - 1)).collect();
    let history = history(&lines.join("\n"));
    let facts = Facts::new(&history);
    for spec in Catalogue::builtin().levels().filter(|it| it.module() == "biswas" || it.module() == "cerone") {
        let answer = evaluate(&facts, spec, &mut Steps::new(5000));
        assert_eq!(answer.is_allowed(), Some(true), "{}", spec.name());
    }
}

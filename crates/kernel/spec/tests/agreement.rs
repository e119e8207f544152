//! Definitions compared on every history of a small scope: who agrees, who implies whom.

mod common;

use common::{Random, Scope, each_history, level, show};
use iso_history::{Facts, History};
use iso_spec::{Catalogue, Evaluation, Level, Prepared, Spec, Steps, evaluate_plainly, holds};

const TWO_TXNS: Scope = Scope { n_txns: 2, n_keys: 2, n_ops: 4 };
const ONE_KEY: Scope = Scope { n_txns: 3, n_keys: 1, n_ops: 2 };
const THREE_TXNS: Scope = Scope { n_txns: 3, n_keys: 2, n_ops: 2 };
const SCOPES: [Scope; 3] = [TWO_TXNS, ONE_KEY, THREE_TXNS];

fn levels(names: &str) -> Vec<&'static Spec> {
    names.split_whitespace().map(level).collect()
}

fn allowed(prepared: &Prepared<'_, '_>, specs: &[&Spec]) -> Vec<bool> {
    let answer = |it: &&Spec| prepared.evaluate(it, &mut Steps::unlimited()).is_allowed().expect("no limit");
    specs.iter().map(answer).collect()
}

/// Asserts that the levels of each group allow the same histories.
fn agree(groups: &[&str]) {
    let groups: Vec<Vec<&Spec>> = groups.iter().map(|it| levels(it)).collect();
    for scope in SCOPES {
        each_history(scope, &mut |history| {
            let facts = Facts::new(history);
            let prepared = Prepared::new(&facts);
            for group in &groups {
                let answers = allowed(&prepared, group);
                let odd = answers.iter().position(|it| *it != answers[0]);
                if let Some(odd) = odd {
                    panic!("{} and {} differ on\n{}", group[0].name(), group[odd].name(), show(history));
                }
            }
        });
    }
}

/// Asserts that the first level of each pair allows no history that the second forbids.
fn imply(pairs: &[(&Spec, &Spec)], scope: Scope) {
    each_history(scope, &mut |history| {
        let facts = Facts::new(history);
        let prepared = Prepared::new(&facts);
        for (stronger, weaker) in pairs {
            let answers = allowed(&prepared, &[stronger, weaker]);
            assert!(!answers[0] || answers[1], "{} and not {}\n{}", stronger.name(), weaker.name(), show(history));
        }
    });
}

const WITH_SESSIONS: &[&str] = &[
    "biswas.ra cerone.ra crooks.ra_so",
    "biswas.cc cerone.cc crooks.cc plume.cc_tap",
    "biswas.pc cerone.pc adya.pc_so",
    "biswas.si cerone.si adya.si_so crooks.session_si",
    "biswas.ser cerone.ser adya.ser_so adya.pl3_so crooks.ser_so",
    "cerone.psi adya.psi_so adya.pl2plus_so crooks.psi_so",
];

const WITHOUT_SESSIONS: &[&str] = &[
    "cerone.psi_nosession adya.pl2plus crooks.psi",
    "cerone.si_nosession crooks.si",
    "cerone.ser_nosession adya.pl3 adya.pl299 crooks.ser",
    "adya.pl2 crooks.rc",
];

#[test]
fn frameworks_agree_below_prefix_consistency() {
    agree(&WITH_SESSIONS[..2]);
}

#[test]
fn frameworks_agree_from_prefix_consistency_up() {
    agree(&WITH_SESSIONS[2..]);
}

#[test]
fn frameworks_agree_without_sessions() {
    agree(WITHOUT_SESSIONS);
}

#[test]
fn frameworks_agree_on_a_sample_of_larger_histories() {
    let groups: Vec<Vec<&Spec>> = WITH_SESSIONS.iter().chain(WITHOUT_SESSIONS).map(|it| levels(it)).collect();
    let mut random = Random::new(1);
    for nth in 0..400 {
        let history = random.history(4 + nth % 2);
        let facts = Facts::new(&history);
        let prepared = Prepared::new(&facts);
        for group in &groups {
            let answers = allowed(&prepared, group);
            let odd = answers.iter().position(|it| *it != answers[0]);
            assert_eq!(odd, None, "{} and another differ on\n{}", group[0].name(), show(&history));
        }
    }
}

#[test]
fn start_and_commit_events_give_snapshot_isolation() {
    let specs = levels("adya.gsi_so biswas.si adya.gsi cerone.si_nosession");
    for scope in [TWO_TXNS, ONE_KEY] {
        each_history(scope, &mut |history| {
            let facts = Facts::new(history);
            let answers = allowed(&Prepared::new(&facts), &specs);
            assert!(answers[0] == answers[1] && answers[2] == answers[3], "{answers:?}\n{}", show(history));
        });
    }
}

#[test]
fn weaker_definitions_are_implied() {
    let pair = |stronger: &str, weaker: &str| (level(stronger), level(weaker));
    let pairs = [
        pair("biswas.rc", "adya.pl2_so"),
        pair("adya.pl2_so", "adya.pl2"),
        pair("biswas.ra", "plume.ra_tap"),
        pair("cerone.update_ser", "biswas.update_ser"),
        pair("biswas.ser", "cerone.update_ser"),
        pair("cerone.ua", "cerone.nlu"),
        pair("cerone.nlu", "cerone.ra"),
    ];
    for scope in SCOPES {
        imply(&pairs, scope);
    }
}

#[test]
fn the_lattice_holds() {
    let of = |it: Level| Catalogue::builtin().of(it);
    let below = |it: Level| it.implied().iter().map(move |weaker| (of(it), of(*weaker)));
    let pairs: Vec<(&Spec, &Spec)> = Level::ALL.into_iter().flat_map(below).collect();
    imply(&pairs, TWO_TXNS);
    imply(&pairs, ONE_KEY);
}

#[test]
fn causal_but_not_prefix_consistent_needs_more_than_three_transactions() {
    let pairs = [(level("cc"), level("pc")), (level("cerone.psi"), level("cerone.si"))];
    for scope in SCOPES {
        imply(&pairs, scope);
    }
}

/// Asserts that both evaluators agree, and that what they find is an execution.
fn same_answer(history: &History, spec: &Spec) {
    let facts = Facts::new(history);
    let found = Prepared::new(&facts).evaluate(spec, &mut Steps::unlimited());
    let plain = evaluate_plainly(&facts, spec, &mut Steps::unlimited());
    assert_eq!(found.is_allowed(), plain.is_allowed(), "{}\n{}", spec.name(), show(history));
    for answer in [found, plain] {
        if let Evaluation::Allowed(execution) = answer {
            assert!(holds(&facts, spec, &execution), "{}\n{}", spec.name(), show(history));
        }
    }
}

fn searches_a_relation(spec: &Spec) -> bool {
    spec.witnesses().iter().any(|it| it.kind == iso_spec::WitnessKind::Relation)
}

#[test]
fn searching_and_trying_everything_agree_at_every_level() {
    each_history(Scope { n_txns: 2, n_keys: 1, n_ops: 2 }, &mut |history| {
        for spec in Catalogue::builtin().levels() {
            same_answer(history, spec);
        }
    });
}

#[test]
fn searching_and_trying_everything_agree_on_three_transactions() {
    let specs: Vec<&Spec> = Catalogue::builtin().levels().filter(|it| !searches_a_relation(it)).collect();
    let mut nth = 0;
    for scope in [ONE_KEY, TWO_TXNS, THREE_TXNS] {
        each_history(scope, &mut |history| {
            nth += 1;
            // One level a history, each in turn: trying everything is slow.
            if nth % 4 == 0 {
                same_answer(history, specs[nth / 4 % specs.len()]);
            }
        });
    }
}

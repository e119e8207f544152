//! All histories of a question: those that contain no smaller one, by the engine and by brute force.

use crate::ask::{level, name, universe};
use crate::oracle::{Abstract, ReadOrder, classify};
use iso_evidence::Budget;
use iso_separate::{Aspects, Method, Question, Scope, Separations, separate_all};
use iso_spec::Spec;
use std::collections::BTreeSet;

const PAIRS: [(&[&str], &str); 14] = [
    (&["biswas.ra"], "biswas.cc"),
    (&["biswas.pc"], "cerone.si"),
    (&["cerone.si"], "biswas.ser"),
    (&["biswas.si", "cerone.update_ser"], "biswas.ser"),
    (&["plume.ra_tap"], "biswas.ra"),
    (&["cerone.nlu"], "cerone.ua"),
    (&["cerone.ra"], "cerone.nlu"),
    (&["cerone.update_ser"], "biswas.si"),
    (&["adya.pl2plus"], "crooks.psi_so"),
    (&["session.ra_mr"], "crooks.cc"),
    (&["biswas.cc"], "biswas.pc"),
    (&["biswas.cc"], "cerone.cc"),
    (&["biswas.rc"], "biswas.ra"),
    (&["adya.pl2"], "biswas.rc"),
];

#[test]
fn all_histories_are_those_of_brute_force() {
    for scope in [Scope::up_to(3, 2, 3).as_in_isolde(), Scope::up_to(2, 2, 3)] {
        for (allowed, forbidden) in PAIRS {
            compare(allowed, forbidden, scope);
        }
    }
}

fn compare(allowed: &[&'static str], forbidden: &'static str, scope: Scope) {
    let specs: Vec<&'static Spec> = allowed.iter().copied().chain([forbidden]).map(level).collect();
    let (last, first) = specs.split_last().expect("a forbidden one");
    let question = Question { allowed: first.to_vec(), forbidden: vec![last], scope, method: Method::default() };
    let answer = separate_all(&question, None, &Budget::unlimited());
    assert!(answer.is_complete, "{}", name(&question));
    let classified = classify(&universe(&scope, answer.aspects).and_smaller(), &specs);
    let expected: BTreeSet<Abstract> = classified.irreducible(allowed, &[forbidden]).into_iter().cloned().collect();
    let found = abstracts(&answer, answer.aspects);
    let missed: Vec<String> = expected.difference(&found).map(Abstract::show).collect();
    let more: Vec<String> = found.difference(&expected).map(Abstract::show).collect();
    assert!(missed.is_empty() && more.is_empty(), "{}: missed {missed:#?}, more {more:#?}", name(&question));
    assert_eq!(found.len(), answer.found.len(), "{}: each once", name(&question));
}

fn abstracts(answer: &Separations, aspects: Aspects) -> BTreeSet<Abstract> {
    let read_order = if aspects.read_order { ReadOrder::Kept } else { ReadOrder::Ignored };
    let all = answer.found.iter();
    all.map(|it| Abstract::from_history(&it.history, it.session_order.as_deref(), read_order)).collect()
}

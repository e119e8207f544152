//! Specs that a user might write, outside what the engine derives witnesses for.

use crate::ask::{ask, level, name};
use crate::catalogue::{Asked, assert_none, compare, one_in, pairs, question};
use iso_separate::{Method, Question, Scope};
use iso_spec::{Module, Spec, parse};
use std::sync::LazyLock;

static USER: LazyLock<Module> = LazyLock::new(|| {
    let read = parse(include_str!("user.spec"), "user.spec", &mut |_| Err("there are no files".to_owned()));
    read.unwrap_or_else(|it| panic!("{}", it.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")))
});

fn specs() -> Vec<&'static Spec> {
    let known = ["biswas.ra", "biswas.ser", "biswas.rc", "cerone.ra", "adya.pl2"];
    let known = known.iter().map(|it| level(it));
    USER.levels().iter().chain(known).collect()
}

fn questions(specs: &[&Spec]) -> Vec<Asked> {
    let n = specs.len();
    let alone = (0..n).flat_map(|it| [(vec![], vec![it]), (vec![it], vec![])]);
    pairs(n).into_iter().chain(alone).collect()
}

#[test]
fn what_users_write_is_separated_as_by_brute_force() {
    let specs = specs();
    assert_none(&compare(&specs, &questions(&specs), Scope::up_to(3, 2, 4), one_in).disagreements);
}

#[test]
fn every_method_gives_the_same_answer() {
    let specs = specs();
    let default = Method::default();
    let by_candidates = Method { derived_witnesses: false, ..default };
    let methods = [
        by_candidates,
        Method { merging: false, ..by_candidates },
        Method { fixed_order: false, ..default },
        Method { merging: false, fixed_order: false, derived_witnesses: false },
    ];
    for asked in questions(&specs) {
        let question = question(&specs, &asked, Scope::up_to(2, 2, 3));
        let size = ask(&question).size();
        for method in methods {
            let reply = ask(&Question { method, ..question.clone() });
            assert!(reply.faults.is_empty(), "{:?} by {method:?}", reply.faults);
            assert_eq!(reply.size(), size, "{} by {method:?}", name(&question));
        }
    }
}

fn user(name: &str) -> &'static Spec {
    USER.find(name).unwrap_or_else(|| panic!("there is no {name}"))
}

fn two(allowed: &'static Spec, forbidden: &'static Spec) -> Question<'static> {
    let (allowed, forbidden, method) = (vec![allowed], vec![forbidden], Method::default());
    Question { allowed, forbidden, scope: Scope::up_to(2, 2, 3), method }
}

#[test]
fn two_kinds_of_versions_may_differ() {
    // Two writers are enough for versions that differ, and two orders of them can always be crossed.
    assert_eq!(ask(&two(user("versions_differ"), user("nothing"))).size(), Some((2, 1)));
    assert_eq!(ask(&two(user("anything"), user("versions_crossed"))).size(), None);
}

#[test]
fn what_goes_back_to_the_initial_transaction_is_no_cycle_yet() {
    // It takes a transaction that overwrites what it read from there.
    let reply = ask(&two(user("anything"), user("before_initial")));
    assert_eq!((reply.size(), reply.faults), (Some((1, 1)), Vec::new()));
    assert_eq!(ask(&two(user("before_initial"), user("overwritten"))).size(), Some((1, 1)));
}

#[test]
fn rereads_are_found_where_they_need_two_keys_or_few_transactions() {
    for (name, size) in [("two_keys", (2, 2)), ("few", (2, 1))] {
        assert_eq!(ask(&two(user(name), user("repeatable"))).size(), Some(size), "{name}");
    }
}

#[test]
fn frameworks_of_one_name_are_not_merged() {
    let method = Method { derived_witnesses: false, ..Method::default() };
    let reply = ask(&Question { method, ..two(level("biswas.ra"), user("seen_in_order")) });
    assert!(reply.faults.is_empty(), "{:?}", reply.faults);
}

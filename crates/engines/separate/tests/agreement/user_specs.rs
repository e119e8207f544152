//! Specs that a user might write, outside what the engine derives witnesses for.

use crate::ask::{ask, level, name};
use crate::catalogue::{Asked, assert_none, compare, one_in, pairs, question};
use iso_separate::{Method, Question, Rereads, Scope};
use iso_spec::{Module, Spec, parse};
use std::sync::LazyLock;

static USER: LazyLock<Module> = LazyLock::new(|| {
    let read = parse(include_str!("user.spec"), "user.spec", &mut |_| Err("there are no files".to_owned()));
    read.unwrap_or_else(|it| panic!("{}", it.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")))
});

/// FIXME: levels about which the engine is wrong, see below.
const WRONG: &[&str] = &["versions_differ", "versions_apart", "versions_crossed", "before_initial"];

/// FIXME: questions about which the engine is wrong, see below.
const WRONG_PAIRS: &[(&str, &str)] = &[("two_keys", "repeatable"), ("few", "repeatable")];

fn specs() -> Vec<&'static Spec> {
    let known = ["biswas.ra", "biswas.ser", "biswas.rc", "cerone.ra", "adya.pl2"];
    let known = known.iter().map(|it| level(it));
    USER.levels().iter().filter(|it| !WRONG.contains(&it.short_name())).chain(known).collect()
}

fn questions(specs: &[&Spec]) -> Vec<Asked> {
    let n = specs.len();
    let alone = (0..n).flat_map(|it| [(vec![], vec![it]), (vec![it], vec![])]);
    let name = |of: &[usize]| of.first().map_or("", |it| specs[*it].short_name());
    pairs(n).into_iter().chain(alone).filter(|it| !WRONG_PAIRS.contains(&(name(&it.0), name(&it.1)))).collect()
}

#[test]
fn what_users_write_is_separated_as_by_brute_force() {
    let specs = specs();
    assert_none(&compare(&specs, &questions(&specs), Scope::up_to(3, 2, 4), one_in).disagreements);
}

#[test]
fn every_method_gives_the_same_answer() {
    // FIXME: those of a framework with the name of another one are left out, see below.
    let specs: Vec<&Spec> =
        specs().into_iter().filter(|it| it.framework() != "biswas" || it.module() != "user").collect();
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

/// FIXME: the second versions are taken from the order that the first ones are made of.
#[test]
fn two_kinds_of_versions_are_taken_to_be_the_same() {
    // Two writers are enough for versions that differ, and two orders of them can always be crossed.
    assert_eq!(ask(&two(user("versions_differ"), user("nothing"))).size(), None);
    let reply = ask(&two(user("anything"), user("versions_crossed")));
    assert_eq!((reply.size(), reply.faults.len()), (Some((2, 1)), 1));
}

/// FIXME: without a cycle there is an order, but the initial transaction need not be its first.
#[test]
fn what_goes_back_to_the_initial_transaction_is_taken_for_a_cycle() {
    let reply = ask(&two(user("anything"), user("before_initial")));
    assert_eq!(reply.faults, ["user.anything & !user.before_initial: user.before_initial allows s1.1: r(x,0)"]);
    assert_eq!(ask(&two(user("before_initial"), user("overwritten"))).size(), None);
}

/// FIXME: whether rereads are allowed is asked of three transactions and one key only.
#[test]
fn rereads_are_missed_where_they_need_two_keys_or_fewer_transactions() {
    for name in ["two_keys", "few"] {
        let question = two(user(name), user("repeatable"));
        assert_eq!(ask(&question).size(), None);
        let scope = Scope { rereads: Rereads::Yes, ..question.scope };
        assert!(ask(&Question { scope, ..question }).found.is_some());
    }
}

/// FIXME: merging takes levels for those of one framework if the names of their frameworks are the same.
#[test]
#[should_panic(expected = "index out of bounds")]
fn frameworks_of_one_name_are_merged() {
    let method = Method { derived_witnesses: false, ..Method::default() };
    ask(&Question { method, ..two(level("biswas.ra"), user("seen_in_order")) });
}

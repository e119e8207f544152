//! Scopes of all kinds, with some levels of the catalogue.

use crate::catalogue::{assert_none, compare, one_in, pairs};
use crate::{all_cases, scrambled};
use iso_separate::{BlindWrites, Rereads, Scope, Sessions, Size};
use iso_spec::{Catalogue, Spec};

const CHAINS: Sessions = Sessions::Chains { at_most: None };

/// Compares all pairs of a sample of levels, for each seed another.
fn check(seed: u64, scope: Scope) {
    let percent = if all_cases() { 100 } else { 10 };
    let is_chosen = |it: &usize| scrambled(seed << 32 | *it as u64) % 100 < percent;
    let levels = Catalogue::builtin().levels().enumerate();
    let specs: Vec<&Spec> = levels.filter(|it| is_chosen(&it.0)).map(|it| it.1).collect();
    println!("seed {seed}, {} levels: {scope:?}", specs.len());
    let is_small = scope.txns * scope.keys < 6;
    let one_in = |aspects| if is_small { Some(1) } else { one_in(aspects).map(|it| it.max(100)) };
    assert_none(&compare(&specs, &pairs(specs.len()), scope, one_in).disagreements);
}

#[test]
fn sessions_may_be_a_partial_order() {
    let sessions = Sessions::PartialOrder;
    check(1, Scope { sessions, ..Scope::up_to(3, 2, 4) });
    check(2, Scope { sessions, blind_writes: BlindWrites::Excluded, ..Scope::up_to(3, 2, 3) });
}

#[test]
fn sessions_may_be_few() {
    for at_most in [1, 2] {
        check(3, Scope { sessions: Sessions::Chains { at_most: Some(at_most) }, ..Scope::up_to(3, 1, 4) });
        check(4, Scope { sessions: Sessions::Chains { at_most: Some(at_most) }, ..Scope::up_to(3, 2, 3) });
    }
}

#[test]
fn blind_writes_may_be_excluded_and_values_few() {
    for values in [2, 3] {
        check(5, Scope { blind_writes: BlindWrites::Excluded, ..Scope::up_to(3, 2, values) });
        check(6, Scope::up_to(3, 1, values));
        check(7, Scope::up_to(3, 2, values));
    }
    check(8, Scope::up_to(3, 2, 1));
}

#[test]
fn rereads_may_be_asked_for_or_excluded() {
    for rereads in [Rereads::Yes, Rereads::No] {
        check(9, Scope { rereads, ..Scope::up_to(2, 2, 3) });
        check(10, Scope { rereads, ..Scope::up_to(3, 1, 4) });
    }
}

#[test]
fn the_number_of_transactions_may_be_exact() {
    for (txns, keys) in [(1, 2), (2, 2), (3, 1)] {
        for sessions in [CHAINS, Sessions::Chains { at_most: Some(1) }, Sessions::PartialOrder] {
            check(11, Scope { size: Size::Exactly, sessions, ..Scope::up_to(txns, keys, 4) });
        }
        let size = Size::Exactly;
        check(12, Scope { size, blind_writes: BlindWrites::Excluded, ..Scope::up_to(txns, keys, 3) });
    }
}

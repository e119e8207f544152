//! What brute force says about levels: the paper's problems, and the whole catalogue.

use crate::all_cases;
use crate::oracle::{Classified, Expected, Reads, Scope, classify, paper_problems};
use iso_spec::{Catalogue, Spec};
use std::collections::BTreeSet;

const PAPER_LEVELS: &str = "biswas.ra biswas.cc biswas.pc biswas.si biswas.ser biswas.update_ser \
    cerone.ra cerone.cc cerone.pc cerone.si cerone.ser cerone.update_ser plume.ra_tap plume.cc_tap";

fn levels(names: &str) -> Vec<&'static Spec> {
    names.split_whitespace().map(|it| Catalogue::builtin().find(it).unwrap_or_else(|it| panic!("{it}"))).collect()
}

/// Compares all problems with what the paper says of so many transactions, and shows the smallest answers.
fn solve_paper_problems(scope: Scope) {
    let classified = classify(&scope.and_smaller(), &levels(PAPER_LEVELS));
    println!("{} histories in {scope:?}", classified.entries.len());
    for problem in paper_problems() {
        let (allowing, forbidding) = (&problem.allowing[..], &problem.forbidding[..]);
        let separating = classified.separating(allowing, forbidding);
        let n_full = separating.iter().filter(|it| it.n == scope.n_txns).count();
        let irreducible = classified.irreducible(allowing, forbidding);
        let smallest = classified.smallest(allowing, forbidding);
        let found = match (smallest, irreducible.first()) {
            (Some((n, k)), Some(first)) => format!(
                "SAT    from {n} txns, {k} keys; {} histories, {n_full} of them with {} txns, {} irreducible; {}",
                separating.len(),
                scope.n_txns,
                irreducible.len(),
                first.show()
            ),
            _ => "UNSAT".to_owned(),
        };
        println!("{:<48} {found}", problem.name());
        let is_expected = match problem.expected {
            Expected::Separated => true,
            Expected::SeparatedByFour => scope.n_txns >= 4,
            Expected::Never => false,
        };
        assert_eq!(n_full > 0, is_expected, "{}", problem.name());
        assert_eq!(smallest.is_some(), is_expected, "{}", problem.name());
    }
}

#[test]
fn the_papers_problems_have_the_papers_answers_at_three_transactions() {
    assert_eq!(paper_problems().len(), 46);
    solve_paper_problems(Scope::of_the_paper(3, 2));
}

#[test]
fn a_third_key_does_not_change_the_answers() {
    if all_cases() {
        solve_paper_problems(Scope::of_the_paper(3, 3));
    }
}

#[test]
fn the_papers_problems_have_the_papers_answers_at_four_transactions() {
    if all_cases() {
        // With a third writer of a key, histories are too many to be kept.
        solve_paper_problems(Scope { n_versions: 3, ..Scope::of_the_paper(4, 2) });
    }
}

#[test]
fn the_long_fork_is_what_separates_causal_and_prefix_consistency() {
    let scope = Scope { n_versions: 2, ..Scope::of_the_paper(4, 2) };
    let classified = classify(&scope.and_smaller(), &levels("biswas.cc biswas.pc cerone.cc cerone.pc"));
    for problem in paper_problems().iter().filter(|it| it.expected == Expected::SeparatedByFour) {
        assert_eq!(classified.smallest(&problem.allowing, &problem.forbidding), Some((4, 2)));
        let irreducible = classified.irreducible(&problem.allowing, &problem.forbidding);
        let shown: Vec<String> = irreducible.iter().map(|it| it.show()).collect();
        // A reader after a writer in its session need not read what that wrote.
        let expected = [
            "s1.1: r(x,0) w(x,1); s2.1: r(y,0) w(y,2); s3.1: r(x,0) r(y,2); s4.1: r(x,1) r(y,0)",
            "s1.1: r(x,0) w(x,1); s1.2: r(y,0); s3.1: r(y,0) w(y,3); s4.1: r(x,0) r(y,3)",
            "s1.1: r(x,0) w(x,1); s1.2: r(y,0); s3.1: r(y,0) w(y,3); s3.2: r(x,0)",
        ];
        assert_eq!(shown, expected, "{}", problem.name());
    }
}

/// What one framework's update serializability allows and that of the other forbids, together with read atomic.
#[test]
fn update_serializability_of_the_two_frameworks_differs_among_read_atomic_histories_by_blind_writes() {
    let (biswas, cerone) = ("biswas.update_ser", "cerone.update_ser");
    for (scope, n_with_read_atomic) in [(Scope::of_the_paper(3, 2), 0), (Scope::with_partial_orders(3, 2), 4)] {
        let classified = classify(&scope.and_smaller(), &levels("biswas.ra biswas.update_ser cerone.update_ser"));
        assert_eq!(classified.smallest(&[cerone], &[biswas]), None);
        // Without read atomic, what read-only transactions read is enough: this one misses a write of its session.
        assert_eq!(classified.smallest(&[biswas], &[cerone]), Some((2, 1)));
        let irreducible = classified.irreducible(&["biswas.ra", biswas], &[cerone]);
        for history in &irreducible {
            println!("biswas.ra, {biswas} & !{cerone}: {}", history.show());
        }
        assert_eq!(irreducible.len(), n_with_read_atomic);
    }
}

/// Levels that allow the same histories, and for each group those right above it.
fn show_lattice(classified: &Classified) {
    let signatures: BTreeSet<u128> = classified.entries.iter().map(|it| it.allowed).collect();
    let implies = |a: usize, b: usize| signatures.iter().all(|it| it >> a & 1 == 0 || it >> b & 1 == 1);
    let n_specs = classified.specs.len();
    let group = |a: usize| (0..n_specs).filter(|b| implies(a, *b) && implies(*b, a)).collect::<Vec<_>>();
    let firsts: Vec<usize> = (0..n_specs).filter(|it| group(*it)[0] == *it).collect();
    let name = |it: &usize| classified.specs[*it].name();
    println!("{} histories, {} groups of levels", classified.entries.len(), firsts.len());
    for first in &firsts {
        let below: Vec<usize> = firsts.iter().copied().filter(|it| it != first && implies(*first, *it)).collect();
        let is_next = |it: &usize| !below.iter().any(|between| between != it && implies(*between, *it));
        let next: Vec<&str> = below.iter().filter(|it| is_next(it)).map(name).collect();
        let members: Vec<&str> = group(*first).iter().map(name).collect();
        println!("{} -> {}", members.join(" = "), next.join(", "));
    }
}

/// Levels of different frameworks that should be the same; with no times, real time says nothing.
const SAME: &[&str] = &[
    "biswas.ra cerone.ra crooks.ra_so",
    "biswas.cc cerone.cc crooks.cc plume.cc_tap",
    "biswas.pc cerone.pc adya.pc_so",
    "biswas.si cerone.si cerone.strong_si adya.si_so adya.gsi_so crooks.session_si crooks.strong_si",
    "biswas.ser biswas.sser cerone.ser adya.ser_so adya.pl299_so adya.pl3_so crooks.ser_so crooks.sser",
    "cerone.psi adya.psi_so adya.pl2plus_so crooks.psi_so",
    "cerone.psi_nosession adya.pl2plus crooks.psi",
    "cerone.si_nosession adya.gsi crooks.si",
    "cerone.ser_nosession adya.pl3 adya.pl299 crooks.ser",
    "adya.pl2 crooks.rc",
];

fn order_catalogue(scope: Scope) {
    let specs: Vec<&Spec> = Catalogue::builtin().levels().collect();
    let classified = classify(&scope.and_smaller(), &specs);
    show_lattice(&classified);
    for same in SAME.iter().map(|it| it.split_whitespace().collect::<Vec<_>>()) {
        for name in &same[1..] {
            assert_eq!(classified.smallest(&same[..1], &[name]), None, "{} & !{name}", same[0]);
            assert_eq!(classified.smallest(&[name], &same[..1]), None, "{name} & !{}", same[0]);
        }
    }
}

#[test]
fn the_catalogue_is_ordered_by_recorded_sessions() {
    order_catalogue(Scope::new(if all_cases() { 3 } else { 2 }, 2));
}

#[test]
fn the_catalogue_is_ordered_by_partial_orders() {
    if all_cases() {
        order_catalogue(Scope::with_partial_orders(3, 2));
        order_catalogue(Scope::with_partial_orders(4, 1));
    } else {
        order_catalogue(Scope { n_versions: 2, ..Scope::of_the_paper(3, 2) });
    }
}

#[test]
fn the_catalogue_is_ordered_by_reads_in_every_order() {
    order_catalogue(Scope { reads: Reads::Repeated, ..Scope::new(2, 2) });
    order_catalogue(Scope { reads: Reads::Repeated, ..Scope::with_partial_orders(3, 1) });
    if all_cases() {
        order_catalogue(Scope { reads: Reads::Ordered, ..Scope::new(3, 2) });
    }
}

#[test]
fn reading_again_separates_read_committed_and_read_atomic() {
    let scope = Scope { reads: Reads::Repeated, ..Scope::new(2, 2) };
    let classified = classify(&scope.and_smaller(), &levels("biswas.rc biswas.ra adya.pl2_so session.ryw"));
    let shown = |allowing: &[&str], forbidding: &[&str]| {
        classified.irreducible(allowing, forbidding).iter().map(|it| it.show()).collect::<Vec<_>>()
    };
    let fractured = shown(&["biswas.rc", "session.ryw"], &["biswas.ra"]);
    assert_eq!(fractured, ["s1.1: w(x,1); s2.1: r(x,0) r(x,1)", "s1.1: w(x,1) w(y,1); s2.1: r(x,0) r(y,1)"]);
    let backwards = shown(&["adya.pl2_so", "session.ryw"], &["biswas.rc"]);
    assert_eq!(backwards, ["s1.1: w(x,1); s2.1: r(x,1) r(x,0)", "s1.1: w(x,1) w(y,1); s2.1: r(x,1) r(y,0)"]);
}

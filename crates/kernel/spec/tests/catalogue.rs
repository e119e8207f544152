//! Every level of the catalogue on the small histories that the field knows by name.

mod common;

use common::{allows, check, history, level};
use iso_history::{Facts, TxnId};
use iso_spec::{Catalogue, Evaluation, Level, Spec, Steps, evaluate, evaluate_plainly};

#[test]
fn every_level_has_its_definition_in_the_catalogue() {
    for level in Level::ALL {
        assert_eq!(Catalogue::builtin().of(level).name(), level.definition());
        assert_eq!(Catalogue::builtin().find(level.short_name()).unwrap().name(), level.definition());
        assert_eq!(Catalogue::builtin().find(level.full_name()).unwrap().name(), level.definition());
    }
}

#[test]
fn every_level_has_a_summary_and_a_source_and_shows_what_it_uses() {
    for level in Catalogue::builtin().levels() {
        assert!(level.summary().ends_with('.') && !level.summary().contains("source:"), "{}", level.name());
        assert!(!level.source().is_empty(), "{}", level.name());
        assert!(level.show().contains("framework"), "{}", level.show());
    }
    let shown = level("biswas.si").show();
    for part in ["framework biswas", "def axiom", "def conflict", "level pc", "level si", "source: Biswas"] {
        assert!(shown.contains(part), "{part} is missing in\n{shown}");
    }
}

#[test]
fn an_unknown_level_is_answered_with_near_names() {
    let unknown = |name: &str| Catalogue::builtin().find(name).unwrap_err().to_string();
    assert_eq!(unknown("biswas.raa"), "there is no level `biswas.raa`; did you mean `biswas.ra`?");
    assert!(unknown("update_ser").contains("`biswas.update_ser` or `cerone.update_ser`"));
    assert!(unknown("serialisable").contains("`serializable`"));
    assert_eq!(unknown("quux"), "there is no level `quux`");
}

#[test]
fn lost_update_is_forbidden_where_writers_see_each_other() {
    check(
        "a: r(x,0) w(x,1)\n b: r(x,0) w(x,2)",
        "rc ra cc pc cerone.pc crooks.cc adya.pc_so adya.pl2",
        "ua psi si ser cerone.nlu adya.si_so crooks.psi crooks.si adya.gsi adya.pl2plus",
    );
}

#[test]
fn write_skew_is_allowed_up_to_snapshot_isolation() {
    check(
        "a: r(x,0) r(y,0) w(x,1)\n b: r(x,0) r(y,0) w(y,2)",
        "si psi cerone.si crooks.si crooks.session_si adya.gsi_so adya.si_so",
        "ser cerone.ser crooks.ser adya.pl3 adya.ser_so biswas.update_ser cerone.update_ser",
    );
}

#[test]
fn long_fork_is_allowed_under_parallel_snapshot_isolation_and_not_under_prefix_consistency() {
    check(
        "a: w(x,1)\n b: w(y,1)\n c: r(x,1) r(y,0)\n d: r(x,0) r(y,1)",
        "cc psi cerone.cc crooks.cc crooks.psi_so adya.psi_so adya.pl2plus",
        "pc si cerone.pc cerone.si crooks.si adya.pc_so adya.gsi",
    );
}

#[test]
fn fractured_read_is_forbidden_under_read_atomic() {
    let fractured = "a: w(x,1) w(y,1)\n b: r(x,0) r(y,1)";
    check(fractured, "ru rc adya.pl2 adya.pl2_so", "ra cc crooks.ra cerone.ra plume.ra_tap");
    // Read the other way round, the second read goes back behind the first.
    check("a: w(x,1) w(y,1)\n b: r(x,1) r(y,0)", "ru adya.pl2_so crooks.rc ryw", "rc ra");
}

#[test]
fn non_repeatable_read_is_allowed_under_read_committed_only_forwards() {
    check("a: w(x,1)\n b: r(x,0) r(x,1)", "ru rc", "ra plume.ra_tap plume.cc_tap");
    check("a: w(x,1)\n b: r(x,1) r(x,0)", "ru adya.pl2_so", "rc ra");
}

#[test]
fn causality_violation_is_allowed_under_read_atomic() {
    let text = "a: w(x,1)\n b: r(x,1) w(y,1)\n c: r(y,1) r(x,0)";
    check(text, "ra cerone.ra ryw mr mw", "cc wfr plume.cc_tap psi");
}

#[test]
fn each_session_guarantee_forbids_its_anomaly_and_no_other() {
    check("a: w(x,1)\n a: r(x,0)", "mr mw wfr rc", "ryw ra");
    check("a: w(x,1)\n b: r(x,1)\n b: r(x,0)", "ryw mw wfr ra", "mr cc session.ra_mr");
    check("a: w(x,1)\n a: w(y,1)\n b: r(y,1) r(x,0)", "ryw mr wfr ra", "mw cc session.ra_mw");
    check("a: w(x,1)\n b: r(x,1) w(y,1)\n c: r(y,1) r(x,0)", "ryw mr mw ra", "wfr cc session.ra_wfr");
}

#[test]
fn read_atomic_with_all_session_guarantees_is_weaker_than_causal_consistency() {
    check("a: w(x,1)\n a: w(y,1)\n b: r(y,1)\n b: r(x,0)", "session.ra_all", "cc");
}

#[test]
fn read_only_anomaly_is_snapshot_isolated_and_update_serializable() {
    check(
        "a: r(y,0) w(y,20)\n b: r(x,0) r(y,0) w(x,-11)\n c: r(x,0) r(y,20)",
        "si cerone.si crooks.session_si adya.si_so biswas.update_ser cerone.update_ser",
        "ser cerone.ser crooks.ser adya.pl3",
    );
}

#[test]
fn plumes_patterns_miss_a_session_that_does_not_see_its_own_write() {
    check("a: r(x,0) w(x,1)\n a: r(x,0)", "plume.ra_tap rc", "ra cerone.ra plume.cc_tap ryw");
    check("a: w(x,1)\n a: r(x,0)", "plume.ra_tap", "ra");
}

#[test]
fn update_serializability_of_the_two_frameworks_differs_in_what_read_only_transactions_see() {
    check("a: w(x,1)\n a: r(x,0)", "biswas.update_ser", "cerone.update_ser");
    check("a: w(x,1) w(y,1)\n b: r(x,0) r(y,1)", "biswas.update_ser", "cerone.update_ser");
    // No blind write is needed.
    check("a: r(x,0) w(x,1)\n a: r(x,0)", "biswas.update_ser", "cerone.update_ser");
}

#[test]
fn no_lost_update_is_weaker_than_update_atomic() {
    let text = "a: r(x,0) w(x,1) w(y,1)\n b: r(x,3) r(y,0) w(x,2)\n a: w(x,3)";
    check(text, "cerone.nlu ra", "ua");
}

#[test]
fn adyas_read_committed_is_weaker_than_that_of_biswas_and_enea() {
    check("a: w(x,1) w(y,1)\n b: r(x,1) r(y,0)", "adya.pl2 adya.pl2_so crooks.rc", "rc");
}

#[test]
fn real_time_counts_for_strict_levels_only() {
    let text = "a 1-2: w(x,1)\n b 3-4: r(x,0)";
    check(text, "ser si crooks.ser_so", "sser ssi crooks.sser crooks.strong_si");
    check("a 1-3: w(x,1)\n b 3-4: r(x,0)", "sser ssi crooks.sser crooks.strong_si", "");
    check("a: w(x,1)\n b 3-4: r(x,0)", "sser ssi", "");
}

#[test]
fn dirty_reads_are_allowed_by_read_uncommitted_only() {
    for dirty in ["a aborted: w(x,1)\n b: r(x,1)", "a: w(x,1) w(x,2)\n b: r(x,1)"] {
        check(dirty, "ru adya.pl1 crooks.ru", "rc adya.pl2 crooks.rc ryw mr mw wfr ra ser");
    }
    check("a: r(x,7)", "", "ru adya.pl1 crooks.ru rc ser");
    check("a: w(x,1) r(x,0)", "", "ru adya.pl1 rc ser");
}

#[test]
fn lists_show_the_order_of_their_versions() {
    check("a: l(x,1)\n b: l(x,2)\n c: l(x)1.2\n d: l(x)1", "ser si psi ra", "");
    // Written in opposite orders: a cycle of writes, which registers never show.
    let cycle = "a: l(x,1) l(y,1)\n b: l(x,2) l(y,2)\n c: l(x)1.2\n d: l(y)2.1";
    check(cycle, "", "ru adya.pl1 adya.pl2 crooks.rc rc ra cerone.ra ryw");
    // Session order is an edge only where it counts.
    check("a: l(x,1)\n a: l(x,2)\n b: l(x)2.1", "adya.pl1 adya.pl2", "ru adya.pl2_so rc ra");
    // Who was not seen comes later.
    check("a: l(x,1)\n b: l(x,2) l(y,1)\n b: l(x)1 l(y)1", "rc", "ra");
}

#[test]
fn an_ambiguous_read_takes_whatever_source_fits() {
    check("a: w(x,1)\n a: w(x,2)\n a: r(x,1)", "rc", "ra");
    check("a: w(x,1)\n a: w(x,2)\n b: w(x,1)\n a: r(x,1)", "ra ser", "");
    check("a: w(x,1)\n a: w(x,2)\n b unknown: w(x,1)\n a: r(x,1)", "ra ser", "");
    check("a: w(x,1)\n a: w(x,2)\n b aborted: w(x,1)\n a: r(x,1)", "rc", "ra");
}

#[test]
fn an_optional_transaction_is_left_out_if_it_does_not_fit() {
    let history = history("a: w(x,1) w(y,1)\n a unknown: r(y,0) w(x,1)\n c: r(x,1)");
    let facts = Facts::new(&history);
    let included = [0, 1, 3].map(TxnId::from_index);
    for answer in [
        evaluate(&facts, level("ra"), &mut Steps::new(1000)),
        evaluate_plainly(&facts, level("ra"), &mut Steps::new(1000)),
    ] {
        let Evaluation::Allowed(execution) = answer else { panic!("{answer:?}") };
        assert_eq!(execution.included, included);
    }
}

/// For each step of the lattice, a history that the weaker level allows and the stronger one forbids.
const STEPS: &[(&str, &str, &str)] = &[
    ("rc", "ru", "a aborted: w(x,1)\n b: r(x,1)"),
    ("ryw", "ru", "a: w(x,1)\n a: r(x,0)"),
    ("mr", "ru", "a: w(x,1)\n b: r(x,1)\n b: r(x,0)"),
    ("mw", "ru", "a: w(x,1)\n a: w(y,1)\n b: r(y,1) r(x,0)"),
    ("wfr", "ru", "a: w(x,1)\n b: r(x,1) w(y,1)\n c: r(y,1) r(x,0)"),
    ("ra", "rc", "a: w(x,1) w(y,1)\n b: r(x,0) r(y,1)"),
    ("ra", "ryw", "a: w(x,1) w(y,1)\n b: r(x,0) r(y,1)"),
    ("ua", "ra", "a: r(x,0) w(x,1)\n b: r(x,0) w(x,2)"),
    ("cc", "ra", "a: w(x,1)\n b: r(x,1) w(y,1)\n c: r(y,1) r(x,0)"),
    ("cc", "mr", "a: w(x,1)\n a: r(x,0)"),
    ("cc", "mw", "a: w(x,1)\n a: r(x,0)"),
    ("cc", "wfr", "a: w(x,1)\n a: r(x,0)"),
    ("psi", "cc", "a: r(x,0) w(x,1)\n b: r(x,0) w(x,2)"),
    ("psi", "ua", "a: w(x,1)\n b: r(x,1)\n b: r(x,0)"),
    ("pc", "cc", "a: w(x,1)\n b: w(y,1)\n c: r(x,1) r(y,0)\n d: r(x,0) r(y,1)"),
    ("si", "pc", "a: r(x,0) w(x,1)\n b: r(x,0) w(x,2)"),
    ("si", "psi", "a: w(x,1)\n b: w(y,1)\n c: r(x,1) r(y,0)\n d: r(x,0) r(y,1)"),
    ("ssi", "si", "a 1-2: w(x,1)\n b 3-4: r(x,0)"),
    ("ser", "si", "a: r(x,0) w(y,1)\n b: r(y,0) w(x,1)"),
    ("sser", "ser", "a 1-2: w(x,1)\n b 3-4: r(x,0)"),
    ("sser", "ssi", "a: r(x,0) w(y,1)\n b: r(y,0) w(x,1)"),
    ("ru", "pl1", "a: l(x,1)\n a: l(x,2)\n b: l(x)2.1"),
    ("pl2", "pl1", "a: w(x,1) r(y,1)\n b: w(y,1) r(x,1)"),
    ("rc", "pl2", "a: w(x,1) w(y,1)\n b: r(x,1) r(y,0)"),
    ("ryw", "pl2", "a: w(x,1)\n a: r(x,0)"),
    ("mr", "pl2", "a: w(x,1)\n b: r(x,1)\n b: r(x,0)"),
    ("mw", "pl2", "a: w(x,1)\n a: w(y,1)\n b: r(y,1) r(x,0)"),
    ("wfr", "pl2", "a: w(x,1)\n b: r(x,1) w(y,1)\n c: r(y,1) r(x,0)"),
    ("psi-nosession", "pl2", "a: r(x,0) w(x,1)\n b: r(x,0) w(x,2)"),
    ("si-nosession", "psi-nosession", "a: w(x,1)\n b: w(y,1)\n c: r(x,1) r(y,0)\n d: r(x,0) r(y,1)"),
    ("ser-nosession", "si-nosession", "a: r(x,0) w(y,1)\n b: r(y,0) w(x,1)"),
    ("psi", "psi-nosession", "a: w(x,1)\n a: r(x,0)"),
    ("postgres.rc", "ru", "a: w(x,1) r(y,1)\n b: w(y,1) r(x,1)"),
    ("postgres.rr", "ru", "a: w(x,1) r(y,1)\n b: w(y,1) r(x,1)"),
    ("postgres.rr", "pl2", "a: w(x,1)\n a: r(x,0)"),
    ("si", "postgres.rr", "a: r(t/1,0) u(t/1,-,5)\n b: u(t/1,0,-)"),
    ("mysql.rr", "ru", "a: w(x,1) r(y,1)\n b: w(y,1) r(x,1)"),
    ("mysql.rr", "pl2", "a: w(x,1)\n a: r(x,0)"),
    ("ser", "postgres.rc", "a: r(x,0) w(y,1)\n b: r(y,0) w(x,1)"),
    ("ser", "mysql.rr", "a: r(x,0) w(y,1)\n b: r(y,0) w(x,1)"),
    ("si", "si-nosession", "a: w(x,1)\n a: r(x,0)"),
    ("ser", "ser-nosession", "a: w(x,1)\n a: r(x,0)"),
];

#[test]
fn each_step_of_the_lattice_is_strict() {
    for stronger in Level::ALL {
        for weaker in stronger.implied() {
            let is_it = |it: &&(&str, &str, &str)| it.0 == stronger.short_name() && it.1 == weaker.short_name();
            let (_, _, text) =
                STEPS.iter().find(is_it).unwrap_or_else(|| panic!("no history for {stronger}, {weaker}"));
            let history = history(text);
            assert!(allows(Catalogue::builtin().of(*weaker), &history), "{weaker} should allow\n{text}");
            assert!(!allows(Catalogue::builtin().of(stronger), &history), "{stronger} should forbid\n{text}");
        }
    }
}

#[test]
fn levels_of_the_catalogue_are_kept_by_parts_but_those_that_ask_for_states_or_neighbours() {
    let others = |it: &&Spec| !it.is_kept_by_parts();
    let names: Vec<&str> = Catalogue::builtin().levels().filter(others).map(Spec::name).collect();
    let (of_states, rest): (Vec<&str>, Vec<&str>) = names.iter().partition(|it| it.starts_with("crooks."));
    assert_eq!(rest, ["cerone.nlu"]);
    assert!(!of_states.is_empty() && !of_states.contains(&"crooks.ru"), "{of_states:?}");
}

//! Every level of the catalogue on the small histories that the field knows by name.

mod common;

use common::check;
use iso_spec::{Catalogue, Level};

#[test]
fn every_level_has_its_definition_in_the_catalogue() {
    for level in Level::ALL {
        assert_eq!(Catalogue::builtin().of(level).name(), level.definition());
        assert_eq!(Catalogue::builtin().find(level.short_name()).unwrap().name(), level.definition());
    }
}

#[test]
fn every_level_has_a_summary_and_a_source() {
    for level in Catalogue::builtin().levels() {
        assert!(level.summary().ends_with('.') && !level.summary().contains("source:"), "{}", level.name());
        assert!(!level.source().is_empty(), "{}", level.name());
        assert!(level.show().contains("framework"), "{}", level.show());
    }
}

#[test]
fn lost_update_is_forbidden_where_writers_see_each_other() {
    let text = "a: r(x,0) w(x,1)\n b: r(x,0) w(x,2)";
    check(
        text,
        "rc ra cc pc cerone.pc crooks.cc adya.pc_so adya.pl2",
        "ua psi si ser cerone.nlu adya.si_so crooks.psi crooks.si adya.gsi adya.pl2plus",
    );
}

#[test]
fn write_skew_is_allowed_under_snapshot_isolation_only() {
    let text = "a: r(x,0) r(y,0) w(x,1)\n b: r(x,0) r(y,0) w(y,2)";
    check(
        text,
        "si psi cerone.si crooks.si session_si adya.gsi_so adya.si_so",
        "ser cerone.ser crooks.ser adya.pl3 adya.ser_so biswas.update_ser",
    );
}

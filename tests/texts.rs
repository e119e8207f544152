//! Levels that are given by their texts are decided for large histories as the engines of the same levels decide them.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use isoscope::check::{Answer, Certifying, check_facts, check_spec};
use isoscope::evidence::{Budget, Refutation, StopReason};
use isoscope::formats::{ReadOptions, read_from};
use isoscope::generate::{FileKind, Injection, Store, Times, Workload, preset, write};
use isoscope::history::{Facts, History};
use isoscope::spec::{Catalogue, Level, Spec, parse};

/// Levels that nobody published, which the search must decide.
const USER_SPECS: &str = include_str!("../crates/engines/realize/tests/user.spec");

fn generated(name: &str, store: Store, injection: Option<Injection>) -> History {
    let workload = Workload { injection, store, seed: 3, ..preset(name).unwrap().workload(300, Some(12)) };
    let mut bytes = Vec::new();
    write(&workload, FileKind::Lines(Times::Kept), &mut bytes).unwrap();
    read_from("generated", &bytes[..], &ReadOptions::default()).unwrap().into_history().unwrap()
}

fn histories() -> Vec<(String, History)> {
    let mut all = Vec::new();
    for name in ["blindw-rw", "hot-key", "tpcc-like", "rubis-like"] {
        for store in [Store::Serializable, Store::Snapshot] {
            all.push((format!("{name} {store:?}"), generated(name, store, None)));
        }
    }
    for injection in [Injection::StaleRead, Injection::LostUpdate, Injection::WriteSkew, Injection::CausalityViolation]
    {
        all.push((format!("{injection:?}"), generated("blindw-rw", Store::Serializable, Some(injection))));
    }
    all
}

fn ask(facts: &Facts<'_>, spec: &Spec) -> Answer {
    check_spec(facts, spec, Certifying::Yes, &Budget::unlimited())
}

fn is_small(refutation: &Refutation) -> bool {
    refutation.local.is_some() || (1..=12).contains(&refutation.txns.len())
}

#[test]
fn the_text_of_a_level_is_decided_as_the_level() {
    let mut n_forbidden = 0;
    for (name, history) in histories() {
        let facts = Facts::new(&history);
        for level in Level::ALL {
            let by_level = check_facts(&facts, level, &Budget::unlimited()).is_allowed();
            let by_text = ask(&facts, Catalogue::builtin().of(level));
            assert_eq!(by_text.is_allowed(), by_level, "{level} of {name}");
            if let Answer::Forbidden(refutation) = by_text {
                assert!(is_small(&refutation), "{level} of {name}: {refutation:?}");
                n_forbidden += 1;
            }
        }
    }
    assert!(n_forbidden > 10, "{n_forbidden}");
}

#[test]
fn levels_of_users_are_decided_and_certified() {
    let module = parse(USER_SPECS, "user.spec", &mut |it| Err(it.to_owned())).unwrap();
    let mut answers = [0; 2];
    for (name, history) in histories() {
        let facts = Facts::new(&history);
        for spec in module.levels() {
            match ask(&facts, spec) {
                Answer::Allowed(_) => answers[1] += 1,
                Answer::Forbidden(refutation) => {
                    assert!(is_small(&refutation), "{} of {name}: {refutation:?}", spec.name());
                    answers[0] += 1;
                }
                answer => panic!("{} of {name}: {answer:?}", spec.name()),
            }
        }
    }
    assert!(answers.iter().all(|it| *it > 10), "{answers:?}");
}

#[test]
fn a_level_with_start_events_is_decided_for_small_histories_only_and_says_so() {
    let history = generated("blindw-rw", Store::Serializable, None);
    let answer = ask(&Facts::new(&history), Catalogue::builtin().find("adya.gsi").unwrap());
    let Answer::Undecided(StopReason::Unsupported(why)) = answer else { panic!("{answer:?}") };
    assert!(why.contains("takes about 60 transactions") && why.contains("does not follow from one order"), "{why}");
}

//! Every history of the corpus is what its header says, to the checker, to certify and to the reference evaluator.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{disagreements, files_below, read, short_name, unknown_names};
use isoscope::engines::check::{Answer, check, check_levels};
use isoscope::evidence::{Budget, HISTORIES, Refutation, Verdict, certify, lost_writes};
use isoscope::history::{Facts, OpId, Outcome, Projection, Severity};
use isoscope::spec::{Catalogue, Level, Steps, evaluate, parse};
use isoscope::stream::Told;
use std::collections::BTreeSet;
use std::fs;

#[test]
fn every_history_is_what_its_header_says() {
    let mut found = Vec::new();
    for (name, text) in sound_files() {
        let wrong = [unknown_names(&name, &text), disagreements(&name, &text)].concat();
        found.extend(wrong);
    }
    assert!(found.is_empty(), "{} disagreements:\n{}", found.len(), found.join("\n"));
}

#[test]
fn streams_in_any_window_say_what_the_checker_says() {
    let mut n_decided = 0;
    for (name, text) in sound_files() {
        let history = read(&name, &text).history.unwrap();
        let Some(told) = Told::new(&history).filter(|_| history.n_txns() < 200) else { continue };
        let levels: Vec<Level> = Level::usual();
        for window in [1, 3, 1000] {
            let streamed = told.check(&levels, window, &mut (), &Budget::unlimited()).unwrap();
            for level in &levels {
                let Some(found) = streamed.is_allowed(*level) else { continue };
                let verdict = check(&history, *level, &Budget::unlimited());
                assert_eq!(found, matches!(verdict, Verdict::Allowed(_)), "{name}: {level} in a window of {window}");
                n_decided += 1;
            }
        }
    }
    assert!(n_decided > 1000, "{n_decided}");
}

#[test]
fn every_anomaly_is_proved_at_every_level_that_it_breaks() {
    let mut n_proved = 0;
    for path in files_below("corpus/anomalies", "history") {
        let name = short_name(&path);
        let history = read(&name, &fs::read_to_string(&path).unwrap()).history.unwrap();
        // Pieces of transactions have no proof of their own.
        for level in Level::ALL.into_iter().filter(|it| it.snapshots().is_none()) {
            let verdict = check(&history, level, &Budget::unlimited());
            let Verdict::Forbidden(refutation) = &verdict else { continue };
            certify(&history, level, &verdict).unwrap_or_else(|why| panic!("{name}: {level}: {why}"));
            assert!(refutation.proof.is_some() != refutation.local.is_some(), "{name}: {level}: no proof");
            n_proved += usize::from(refutation.proof.is_some());
        }
    }
    assert!(n_proved > 80, "{n_proved}");
}

/// Proofs for every size rest on these sentences.
#[test]
fn what_is_said_of_every_history_is_true_of_the_corpus() {
    let sentences = parse(HISTORIES, "history.spec", &mut |_| Err("no files".to_owned())).unwrap();
    let mut n_true = 0;
    for (name, text) in sound_files() {
        let history = read(&name, &text).history.unwrap();
        let facts = Facts::new(&history);
        // A read that nothing explains forbids a history whatever a text says.
        if !facts.local().is_empty() || history.n_txns() > 40 {
            continue;
        }
        for sentence in sentences.levels() {
            let found = evaluate(&facts, sentence, &mut Steps::new(100_000));
            assert_ne!(found.is_allowed(), Some(false), "{name}: {}", sentence.name());
            n_true += usize::from(found.is_allowed() == Some(true));
        }
    }
    assert!(n_true > 1000, "{n_true}");
}

/// All levels are asked together, as the command line does: what several of them forbid has one core.
#[test]
fn without_any_of_its_operations_a_core_is_allowed_at_the_weakest_level_that_forbids_it() {
    let mut n_cores = 0;
    for (name, text) in sound_files() {
        let history = read(&name, &text).history.unwrap();
        let facts = Facts::new(&history);
        let answers = check_levels(&facts, &Level::usual(), &Budget::unlimited(), &mut |_, _| {});
        // Read uncommitted looks at what counts for it.
        let favourable = history.favouring_dirty_reads();
        let favourable = Facts::new(favourable.as_ref().unwrap_or(&history));
        for (level, refutation) in cores(&answers) {
            n_cores += 1;
            let facts = if level == Level::ReadUncommitted { &favourable } else { &facts };
            assert_eq!(is_core_forbidden(facts, level, refutation, None), Some(true), "{name}: {level}");
            // Everybody who appended an element that was rolled back is in the core, or nobody.
            let has_rolled_back = refutation.txns.iter().any(|it| history.outcome(*it) == Outcome::Aborted);
            for op in refutation.ops.iter().filter(|_| !has_rolled_back) {
                let is_forbidden = is_core_forbidden(facts, level, refutation, Some(*op));
                assert_eq!(is_forbidden, Some(false), "{name}: {level} forbids its core without {op:?}");
            }
        }
    }
    assert!(n_cores > 80, "{n_cores}");
}

/// Each core that is no single read, with the weakest level that has it.
fn cores(answers: &[Answer]) -> Vec<(Level, &Refutation)> {
    let mut all: Vec<(Level, &Refutation)> = Vec::new();
    for Answer { level, verdict } in answers {
        if let Verdict::Forbidden(refutation) = verdict
            && refutation.local.is_none()
        {
            all.push((*level, refutation));
        }
    }
    let is_weakest = |(level, refutation): &(Level, &Refutation)| {
        !all.iter().any(|it| it.0 != *level && it.1.ops == refutation.ops && level.implies(it.0))
    };
    all.iter().copied().filter(is_weakest).collect()
}

/// What the text of a level says about a core, without one of its operations.
fn is_core_forbidden(facts: &Facts<'_>, level: Level, core: &Refutation, removed: Option<OpId>) -> Option<bool> {
    const MAX_STEPS: u64 = 1_000_000;
    let of_core = core.txns.iter().flat_map(|it| facts.history().ops(*it));
    let is_left_out = |it: &OpId| core.ops.binary_search(it).is_err() || Some(*it) == removed;
    let without: BTreeSet<OpId> = of_core.filter(is_left_out).collect();
    let core = Projection::new(facts, &core.txns, &without);
    let answer = evaluate(&Facts::new(&core.history), Catalogue::builtin().of(level), &mut Steps::new(MAX_STEPS));
    answer.is_allowed().map(|it| !it)
}

#[test]
fn a_broken_file_has_the_defect_that_its_header_names() {
    for path in files_below("corpus", "history") {
        let text = fs::read_to_string(&path).unwrap();
        let Some(expected) = header_line(&text, "# defect:") else { continue };
        let reading = read(&short_name(&path), &text);
        assert!(reading.history.is_none(), "{} must not be read as a history", path.display());
        let messages: Vec<&str> = reading.errors().map(|it| it.message.as_str()).collect();
        assert!(messages.iter().any(|it| it.contains(expected)), "{}: {messages:?}", path.display());
    }
}

#[test]
fn a_file_that_is_cut_inside_a_transaction_is_no_shorter_history() {
    for (name, text) in sound_files() {
        for (cut, _) in text.char_indices() {
            let is_inside = text[..cut].rfind('{') > text[..cut].rfind('}');
            let last_line = text[..cut].rsplit('\n').next().unwrap_or_default();
            if is_inside && !last_line.starts_with('#') {
                assert!(read(&name, &text[..cut]).history.is_none(), "{name} cut at byte {cut} is read as a history");
            }
        }
    }
}

#[test]
fn a_file_whose_last_line_end_is_missing_is_read_with_a_warning() {
    let text = "init x=0\ns1: { w(x,1) }\ns2: { r(x,1) }";
    let reading = read("cut between transactions", text);
    assert!(reading.history.is_some());
    assert!(reading.defects.iter().any(|it| it.severity == Severity::Warning));
}

fn sound_files() -> Vec<(String, String)> {
    let read = |path: std::path::PathBuf| (short_name(&path), fs::read_to_string(&path).unwrap());
    let is_sound = |it: &(String, String)| header_line(&it.1, "# defect:").is_none();
    files_below("corpus", "history").into_iter().map(read).filter(is_sound).collect()
}

fn header_line<'t>(text: &'t str, start: &str) -> Option<&'t str> {
    text.lines().find_map(|it| it.strip_prefix(start)).map(str::trim)
}

/// What the final sessions of a history in our notation show to be lost, as `writer.nth op`.
fn lost(text: &str) -> Vec<String> {
    let reading = read("durability", text);
    let final_sessions = reading.header.final_sessions.clone();
    let history = reading.history.unwrap();
    let lost = lost_writes(&history, |it| final_sessions.iter().any(|name| name == history.session_name(it)));
    lost.iter()
        .map(|it| format!("{} {}", history.label(history.txn_of(it.write)), history.render_op(it.write)))
        .collect()
}

#[test]
fn an_acknowledged_write_is_lost_only_if_what_was_read_is_certainly_older() {
    let two = "init x=0\ns1: { w(x,1) } @[1,2]\ns2: { w(x,2) } @[3,4]\n";
    let after = |read: &str| format!("# final: end\n{two}end: {{ r(x,{read}) }} @[8,9]\n");
    assert_eq!(lost(&after("2")), [""; 0]);
    assert_eq!(lost(&after("1")), ["s2.1 w(x,2)"]);
    assert_eq!(lost(&after("0")), ["s1.1 w(x,1)", "s2.1 w(x,2)"]);
    // Nobody says that the read was the last one.
    assert_eq!(lost(&after("0").replace("# final: end\n", "")), [""; 0]);
    // Writes that overlap may have come in either order.
    assert_eq!(lost(&after("1").replace("@[3,4]", "@[1,4]")), [""; 0]);
    // The order of a session needs no times.
    let session = "# final: end\ninit x=0\ns1: { w(x,1) } { w(x,2) }\nend: { r(x,1) }\n";
    assert_eq!(lost(session), ["s1.2 w(x,2)"]);
}

#[test]
fn what_was_not_acknowledged_is_not_lost_and_may_be_what_was_read() {
    let text = |outcome: &str, read: &str| {
        format!(
            "# final: end\ninit x=0\ns1: {{ w(x,1) }} @[1,2]\ns2: {{ w(x,2) }} {outcome} @[3,]\nend: {{ r(x,{read}) }} @[8,9]\n"
        )
    };
    assert_eq!(lost(&text("unknown", "1")), [""; 0]);
    assert_eq!(lost(&text("abort", "1")), [""; 0]);
    // The write of unknown outcome took effect, and nobody knows when.
    assert_eq!(lost(&text("unknown", "2")), [""; 0]);
    // A value that was written twice may be from the newer one.
    let twice = "# final: end\ninit x=0\ns1: { w(x,1) } { w(x,2) } { w(x,1) }\nend: { r(x,1) }\n";
    assert_eq!(lost(twice), [""; 0]);
}

#[test]
fn an_element_is_lost_if_the_list_does_not_have_it_at_the_end() {
    let text = |read: &str| {
        format!(
            "# final: end\ns1: {{ append(x,1) }} {{ append(x,2) }}\ns2: {{ append(x,3) }} unknown\nend: {{ r(x,{read}) }}\n"
        )
    };
    assert_eq!(lost(&text("[2,1,3]")), [""; 0]);
    assert_eq!(lost(&text("[2]")), ["s1.1 append(x,1)"]);
    assert_eq!(lost(&text("[]")), ["s1.1 append(x,1)", "s1.2 append(x,2)"]);
}

//! What `predict` found, as sentences that all renderings share.

use crate::check_phrases::{Medium, witness};
use crate::document::{EventKind, LevelName, Place, Schedule};
use crate::predict::{
    Boundary, ChangedRead, Cut, Precision, PredictReport, PredictVerdict, PredictedLevel, PredictedRun, Validation,
    ValidationVerdict, Version,
};
use crate::proof_phrases::spoken;
use crate::text::size;
use crate::verify_phrases::titled;
use crate::words::counted;

/// The answer in one sentence.
pub(crate) fn headline(report: &PredictReport) -> String {
    let target = titled(&report.target);
    match report.levels.as_slice() {
        [] => "No level was asked.".to_owned(),
        [only] => {
            let level = titled(&only.level);
            match &only.verdict {
                PredictVerdict::Predicted { runs, .. } => predicted(&level, &target, runs),
                PredictVerdict::None => {
                    format!(
                        "None: no run that could have happened instead is allowed by {level} and forbidden by {target}."
                    )
                }
                PredictVerdict::Unknown { reason } => format!("Unknown: {reason}."),
            }
        }
        many => {
            let n_levels = many.len();
            let count = |word: &str| many.iter().filter(|it| it.verdict.word() == word).count();
            match (count("predicted"), count("unknown")) {
                (0, 0) => format!(
                    "None: under none of these {n_levels} levels a run could have happened that {target} forbids."
                ),
                (0, n) if n == n_levels => "Unknown.".to_owned(),
                (0, _) => format!("None was found, but some levels are unknown. The target is {target}."),
                (n, _) => format!(
                    "Predicted: under {n} of these {n_levels} levels a run could have happened that {target} forbids."
                ),
            }
        }
    }
}

fn predicted(level: &str, target: &str, runs: &[PredictedRun]) -> String {
    match runs {
        [run] if run.changed.is_empty() => {
            format!("The observed run itself is the answer: {level} allows it, and {target} forbids it{}.", names(run))
        }
        [run] => format!("Predicted: a run that {level} allows and {target} forbids{}.", names(run)),
        many => format!("Predicted: {} runs that {level} allows and {target} forbids.", many.len()),
    }
}

/// ` (lost-update)`, if it has a name.
pub(crate) fn names(run: &PredictedRun) -> String {
    if run.anomalies().is_empty() { String::new() } else { format!(" ({})", run.anomalies().join(", ")) }
}

/// The strongest levels that have a prediction, if that was asked.
pub(crate) fn strongest_line(report: &PredictReport) -> Option<String> {
    let full = |short: &String| {
        let level = report.levels.iter().find(|it| it.level.short == *short);
        level.map_or_else(|| short.clone(), |it| titled(&it.level))
    };
    let names: Vec<String> = report.strongest.as_ref()?.iter().map(full).collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(format!("Strongest level that allows such a run: {one}")),
        many => Some(format!("Strongest levels that allow such a run: {}", many.join(", "))),
    }
}

/// What was looked for.
pub(crate) fn question(report: &PredictReport) -> String {
    let boundary = match report.boundary {
        Boundary::Strict => "strict: each session repeats what was observed, up to its first read from another writer",
        Boundary::Relaxed => {
            "relaxed: each session repeats what was observed, up to its first transaction that reads from another writer"
        }
        Boundary::Either => "strict, and relaxed where that has none",
        Boundary::StrictEvents => {
            "strict-events: each session repeats what was observed, up to its first read from another writer, and others \
             may see what it wrote until then"
        }
    };
    let precision = match report.precision {
        Precision::Exact => "",
        Precision::Approximate => "; approximate, so that a prediction may be missed",
    };
    format!("Boundary {boundary}{precision}.")
}

/// The size of the observed history.
pub(crate) fn observed_size(report: &PredictReport) -> Option<String> {
    report.observed.as_ref().map(|it| format!("Observed: {}.", size(it)))
}

/// What the table says beside a verdict.
pub(crate) fn note(level: &PredictedLevel) -> String {
    match &level.verdict {
        PredictVerdict::Predicted { runs, .. } => {
            let all: Vec<String> = runs.iter().map(brief).collect();
            let boundary = level.boundary.map(|it| format!(" (boundary {})", it.word())).unwrap_or_default();
            all.join("; ") + &boundary
        }
        PredictVerdict::None => String::new(),
        PredictVerdict::Unknown { reason } => reason.clone(),
    }
}

/// `lost-update, 1 read changed`.
fn brief(run: &PredictedRun) -> String {
    let name = if run.anomalies().is_empty() { run.forbidden.shape.clone() } else { run.anomalies().join(", ") };
    let changed = match run.changed.len() as u64 {
        0 => "as observed".to_owned(),
        n => format!("{} changed", counted(n, "read")),
    };
    if name.is_empty() { changed } else { format!("{name}, {changed}") }
}

/// `Prediction 2 under causal-consistency (cc): lost-update`.
pub(crate) fn title(level: &LevelName, run: &PredictedRun, number: Option<usize>) -> String {
    let number = number.map(|it| format!(" {it}")).unwrap_or_default();
    let what = if run.changed.is_empty() { "Observed run".to_owned() } else { format!("Prediction{number}") };
    let name = if run.anomalies().is_empty() { String::new() } else { format!(": {}", run.anomalies().join(", ")) };
    format!("{what} under {}{name}", titled(level))
}

/// `s2.1 r(x)`.
pub(crate) fn read_name(read: &ChangedRead) -> String {
    format!("{} r({})", read.transaction, read.key)
}

/// `observed 60 from s1.1 (line 2), predicted 50 from the initial state`.
pub(crate) fn change_words(read: &ChangedRead) -> String {
    format!("observed {}, predicted {}", version_words(&read.observed), version_words(&read.predicted))
}

fn version_words(version: &Version) -> String {
    let writer = placed(&spoken(&version.writer), version.place.as_ref());
    format!("{} from {writer}", version.value)
}

/// `s1.1 (line 2)`.
fn placed(name: &str, place: Option<&Place>) -> String {
    let place = place.and_then(Place::position).map(|it| format!(" ({it})")).unwrap_or_default();
    format!("{name}{place}")
}

/// How many reads changed, as a lead of a list.
pub(crate) fn changed_lead(run: &PredictedRun) -> String {
    match run.changed.len() as u64 {
        1 => "1 read has another writer:".to_owned(),
        n => format!("{} have other writers:", counted(n, "read")),
    }
}

/// Which of two boundaries gave a run; nothing if only one was tried, or if the observed run itself is the answer.
pub(crate) fn boundary_words(report: &PredictReport, level: &LevelName, run: &PredictedRun) -> Option<String> {
    let is_either = report.boundary == Boundary::Either && !run.changed.is_empty();
    let words = match report.boundary_of(level) {
        Boundary::Relaxed => "Found with the relaxed boundary; the strict one has none.",
        Boundary::Strict | Boundary::StrictEvents | Boundary::Either => "Found with the strict boundary.",
    };
    is_either.then(|| words.to_owned())
}

/// What may make the application do something else; nothing if the observed run itself is the answer.
pub(crate) fn risk(run: &PredictedRun, boundary: Boundary) -> Option<String> {
    if run.changed.is_empty() {
        return None;
    }
    let mut parts = vec![format!("{} changed", counted(run.changed.len() as u64, "read"))];
    if boundary == Boundary::Relaxed {
        let cut: Vec<&str> = run.cuts.iter().filter(|it| it.n_changed > 0).map(|it| it.transaction.as_str()).collect();
        parts.push(format!("the rest of {} kept as observed", cut.join(" and ")));
    }
    parts.extend(run.cuts.iter().filter(|it| it.n_dropped > 0).map(dropped));
    Some(format!("{}; a different value read may make the application do something else.", parts.join(", ")))
}

/// `2 later operations of s2.1 dropped`.
fn dropped(cut: &Cut) -> String {
    format!("{} of {} dropped", counted(cut.n_dropped, "later operation"), cut.transaction)
}

/// How many transactions the predicted run does without.
pub(crate) fn left_out(run: &PredictedRun) -> Option<String> {
    let words = match run.n_left_out {
        0 => return None,
        1 => "1 observed transaction is left out: it comes later, or does not matter.".to_owned(),
        n => format!("{n} observed transactions are left out: they come later, or do not matter."),
    };
    Some(words)
}

/// Which transactions have other names than in the observed run, because aborted transactions are not repeated.
pub(crate) fn renamed_words(run: &PredictedRun) -> Option<String> {
    let all = run.renamed_that_matter();
    let words: Vec<String> = all.iter().map(|(predicted, observed)| format!("{predicted} is {observed}")).collect();
    (!words.is_empty()).then(|| {
        format!(
            "Aborted transactions are not repeated, so some names differ from the observed run: {}.",
            words.join(", ")
        )
    })
}

/// That a strict boundary hides a write conflict.
pub(crate) fn conflict_hint(level: &LevelName, run: &PredictedRun) -> Option<String> {
    let writers: Vec<&str> =
        run.cuts.iter().filter(|it| it.n_dropped_writes > 0).map(|it| it.transaction.as_str()).collect();
    let goes = if writers.len() == 1 { "goes" } else { "go" };
    let all = writers.join(" and ");
    run.hides_conflict.then(|| {
        format!(
            "A strict boundary drops the later writes of {all}, and here {} forbids the run with them: if {all} {goes} \
             on as observed, there is a write conflict, and somebody is aborted. --boundary relaxed keeps these writes.",
            level.short
        )
    })
}

/// Who allows and forbids the history.
pub(crate) fn history_lead(report: &PredictReport, level: &LevelName, run: &PredictedRun) -> String {
    let what = match (run.changed.is_empty(), run.is_whole) {
        (true, true) => "The observed history",
        (true, false) => "What matters of the observed history",
        (false, true) => "The predicted history",
        (false, false) => "What matters of the predicted history",
    };
    format!("{what}, which {} allows and {} forbids:", level.short, report.target.short)
}

/// The size of what is shown in part.
pub(crate) fn whole_size(run: &PredictedRun) -> Option<String> {
    (!run.is_whole).then(|| format!("In all: {}; -o FILE.history saves it.", size(&run.size)))
}

/// How the level explains the run.
pub(crate) fn schedule_words(level: &LevelName, run: &PredictedRun, medium: Medium) -> String {
    witness(level, &run.allowed.evidence, medium)
}

/// Commits in their order, for numbers in pictures.
pub(crate) fn commit_order(run: &PredictedRun) -> Vec<String> {
    match &run.allowed.evidence.schedule {
        Schedule::Order { order, .. } => order.clone(),
        Schedule::Events { events, .. } => {
            events.iter().filter(|it| it.0 == EventKind::Commit).map(|it| it.1.clone()).collect()
        }
        Schedule::Relations { .. } => Vec::new(),
    }
}

/// Why there are no more predictions, if all were asked for.
pub(crate) fn ended_words(verdict: &PredictVerdict) -> Option<String> {
    match verdict {
        PredictVerdict::Predicted { ended: Some(ended), runs } => {
            let shapes = match runs.len() {
                1 => "One shape of cycles".to_owned(),
                n => format!("{n} different shapes of cycles"),
            };
            Some(format!("{shapes}: {ended}."))
        }
        _ => None,
    }
}

/// What became of the prediction in the application.
pub(crate) fn validation_words(level: &LevelName, target: &LevelName, validation: &Validation) -> String {
    let application = &validation.application;
    match &validation.verdict {
        ValidationVerdict::Validated => format!(
            "Validated: {application} ran along the prediction, and its run is one that {} allows and {} forbids.",
            level.short, target.short
        ),
        ValidationVerdict::NotValidated { reason } => format!("Not validated with {application}: {reason}."),
    }
}

/// Was the evidence checked? Failures have lines of their own.
pub(crate) fn certified_words(report: &PredictReport) -> Option<String> {
    let runs = || report.levels.iter().flat_map(|it| it.verdict.runs());
    let all: Vec<bool> = runs().flat_map(PredictedRun::certificates).map(|it| *it.1 == Some(Ok(()))).collect();
    (!all.is_empty() && all.iter().all(|it| *it)).then(|| "evidence certified".to_owned())
}

//! Recorded histories with known verdicts: samples in the corpus, and large ones beside the project.

use isoscope::engines::check::check_facts;
use isoscope::evidence::{Budget, StopReason, Verdict, certify};
use isoscope::formats::{ReadOptions, read_path};
use isoscope::history::{Facts, History};
use isoscope::spec::Level;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What one answer may take; without one it is wrong.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The rows of all tables of labels of a kind, each with the folder that its file is in: the samples of the corpus, and
/// the large ones where they are at hand.
pub(crate) fn labels(kind: &str) -> Vec<(PathBuf, Vec<String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let samples = root.join("corpus/recorded").join(kind);
    let large = root.join("../shared/data").join(kind);
    let folders = [Some(samples), large.exists().then_some(large)].into_iter().flatten();
    folders.flat_map(|it| rows(&it.join("labels.csv")).into_iter().map(move |row| (it.clone(), row))).collect()
}

/// The lines of a table after its header, as fields. Fields in quotes may hold commas.
fn rows(table: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(table).unwrap_or_else(|it| panic!("{}: {it}", table.display()));
    text.lines().skip(1).map(fields).collect()
}

fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    for symbol in line.chars() {
        match symbol {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            other => fields.last_mut().unwrap().push(other),
        }
    }
    fields
}

/// Whether a label says that a level holds; nothing if it does not know.
pub(crate) fn holds(label: &str) -> Option<bool> {
    match label {
        "holds" => Some(true),
        "violated" => Some(false),
        unknown => {
            assert!(unknown.starts_with('?'), "what is the label {unknown}?");
            None
        }
    }
}

/// A recorded history.
pub(crate) fn read(path: &Path) -> History {
    let reading = read_path(path, &ReadOptions::default()).unwrap_or_else(|it| panic!("{}: {it}", path.display()));
    reading.into_history().unwrap_or_else(|it| panic!("{}: {it:?}", path.display()))
}

/// In what the answer about a level differs from its label, if it does.
pub(crate) fn disagreement(facts: &Facts<'_>, level: Level, holds: bool) -> Option<String> {
    let start = Instant::now();
    let stop = || (start.elapsed() > TIME_LIMIT).then_some(StopReason::Timeout);
    let verdict = check_facts(facts, level, &Budget::new(&stop));
    let wrong = match &verdict {
        Verdict::Allowed(_) if holds => None,
        Verdict::Forbidden(_) if !holds => None,
        Verdict::Allowed(_) => Some("is allowed".to_owned()),
        Verdict::Forbidden(_) => Some("is forbidden".to_owned()),
        Verdict::Unknown(why) => Some(format!("is not known: {why}")),
    };
    let refused = certify(facts.history(), level, &verdict).err().map(|it| format!("is not certified: {it}"));
    wrong.or(refused).map(|it| format!("{level} {it}"))
}

//! `cargo xtask bench hard`: histories with few values, in which most reads have many possible writers.
//!
//! Families of generated and recorded histories, each with the levels to ask for and the time that a question may take.
//! The table says how many questions were decided; a decision counts only if its evidence was certified. A store's
//! history that violates what the store keeps is a wrong verdict.

use crate::arguments::Arguments;
use crate::measure::{End, measure};
use crate::{build, folder};
use anyhow::{Context, Result, bail};
use iso_generate::{Choice, FileKind, Layout, Store, Values, Workload, preset, write};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use xtask::{root, target_folder};

pub(crate) const USAGE: &str = "\
usage: cargo xtask bench hard [options]

  --quick         histories of a hundred transactions only
  --only PATTERN  families whose name has this in it; can be repeated
  --minutes N     time for all families together, 15 if nothing is said; what one leaves, the next ones have
  --save          keep the table in bench-runs/, which whole runs always do
";

/// Time for all families together.
const MINUTES: u64 = 15;

const ALL_LEVELS: [&str; 10] = ["rc", "ra", "cc", "ua", "psi", "pc", "si", "ser", "ssi", "sser"];

/// Each store with the level that it keeps, and weaker ones.
const STORES: [(Store, &[&str]); 3] = [
    (Store::Serializable, &["ser", "si", "pc", "cc"]),
    (Store::Snapshot, &["si", "pc", "cc"]),
    (Store::Causal, &["cc", "ra", "rc"]),
];

/// Histories of one kind, what to ask about them, and what is expected.
struct Family {
    name: String,
    files: Vec<PathBuf>,
    levels: &'static [&'static str],
    seconds: u64,
    /// So many of a hundred questions should be decided.
    percent: usize,
    /// Does every level hold?
    holds: bool,
}

/// What came out for one family.
#[derive(Debug, Default)]
struct Tally {
    n_holds: usize,
    n_violated: usize,
    n_undecided: usize,
    /// There was no time to ask.
    n_unasked: usize,
    seconds: Vec<f64>,
    wrong: Vec<String>,
}

/// Measures, prints the table, and keeps it if it is whole or if told to.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let mut arguments = Arguments::new(words);
    if arguments.flag("--help") || arguments.flag("-h") {
        print!("{USAGE}");
        return Ok(());
    }
    let is_quick = arguments.flag("--quick");
    let patterns = arguments.texts("--only")?;
    let minutes = arguments.number("--minutes")?.unwrap_or(MINUTES);
    let is_saved = arguments.flag("--save") || (!is_quick && patterns.is_empty());
    if let Some(word) = arguments.rest()?.first() {
        bail!("`bench hard` takes no {word}\n{USAGE}");
    }
    let machine = folder::machine()?;
    let binary = build()?;
    let mut text = format!("{machine}\n{}", head());
    print!("{text}");
    let mut wrong = Vec::new();
    let is_asked = |it: &Family| patterns.is_empty() || patterns.iter().any(|pattern| it.name.contains(pattern));
    let families: Vec<Family> = families(is_quick)?.into_iter().filter(is_asked).collect();
    let end = Instant::now() + Duration::from_secs(60 * minutes);
    for (nth, family) in families.iter().enumerate() {
        let left = end.saturating_duration_since(Instant::now());
        let tally = ask(&binary, family, Instant::now() + left / (families.len() - nth) as u32)?;
        let row = row(family, &tally);
        print!("{row}");
        text.push_str(&row);
        wrong.extend(tally.wrong);
    }
    if is_saved {
        let folder = folder::save("hard", &[("table.txt", text.as_str()), ("machine.txt", &machine)])?;
        println!("\nkept in {}", folder.strip_prefix(root()).unwrap_or(&folder).display());
    }
    if !wrong.is_empty() {
        bail!("wrong verdicts:\n{}", wrong.join("\n"));
    }
    Ok(())
}

fn head() -> String {
    "decided means certified, too; seconds are those of the decided questions, and at most what a question may take; \
     what was not asked had no time\n\
     family                    questions  holds  violated  undecided  decided  aim   median s  slowest s  at most  not asked\n"
        .to_owned()
}

fn row(family: &Family, tally: &Tally) -> String {
    let n_questions = tally.n_holds + tally.n_violated + tally.n_undecided;
    let mut seconds = tally.seconds.clone();
    seconds.sort_by(f64::total_cmp);
    let at = |idx: usize| seconds.get(idx).map_or("-".to_owned(), |it| format!("{it:.2}"));
    let percent = (100 * (n_questions - tally.n_undecided)).checked_div(n_questions).unwrap_or(0);
    let mut row = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        row,
        "{:25} {n_questions:>9} {:>6} {:>9} {:>10} {percent:>6} % {:>3} % {:>9} {:>10} {:>8} {:>10}",
        family.name,
        tally.n_holds,
        tally.n_violated,
        tally.n_undecided,
        family.percent,
        at(seconds.len() / 2),
        at(seconds.len().saturating_sub(1)),
        family.seconds,
        tally.n_unasked,
    );
    row
}

/// Asks all questions of a family, as long as there is time. Hard and easy ones take turns: files differ more than levels do.
fn ask(binary: &Path, family: &Family, end: Instant) -> Result<Tally> {
    let mut tally = Tally::default();
    for level in family.levels {
        for file in &family.files {
            if Instant::now() > end {
                tally.n_unasked += 1;
                continue;
            }
            let mut command = Command::new(binary);
            command.arg("check").arg(file).args(["--level", level, "--timeout", &format!("{}s", family.seconds)]);
            let measured = measure(&mut command, Duration::from_secs(family.seconds + 30))?;
            match measured.end {
                End::Code(0) => tally.n_holds += 1,
                End::Code(1) if family.holds => tally.wrong.push(format!("{} at {level}", file.display())),
                End::Code(1) => tally.n_violated += 1,
                End::Code(3) | End::Overdue => tally.n_undecided += 1,
                End::Code(code) => bail!("{} at {level}: exit code {code}", file.display()),
                End::Signal => bail!("{} at {level}: ended by a signal", file.display()),
            }
            if matches!(measured.end, End::Code(0 | 1)) {
                tally.seconds.push(measured.seconds);
            }
        }
    }
    Ok(tally)
}

fn families(is_quick: bool) -> Result<Vec<Family>> {
    let mut families = recorded()?;
    let sizes: &[usize] = if is_quick { &[100] } else { &[100, 500, 2_000] };
    for (store, levels) in STORES {
        for n_txns in sizes {
            let files = generated(store, *n_txns)?;
            let name = format!("{}-store-{n_txns}", store.name());
            let changed = files.iter().map(|it| with_a_changed_read(it)).collect::<Result<_>>()?;
            let mutated = format!("{name}-mutated");
            families.push(Family { name, files, levels, seconds: 10, percent: 95, holds: true });
            let levels = &levels[..1];
            families.push(Family { name: mutated, files: changed, levels, seconds: 20, percent: 80, holds: false });
        }
    }
    Ok(families)
}

/// Runs of real databases with few values, as they are and without times.
fn recorded() -> Result<Vec<Family>> {
    let folders = ["corpus/recorded/realdb", "../shared/data/realdb"].map(|it| root().join(it));
    let mut files = Vec::new();
    for folder in folders.iter().filter(|it| it.exists()) {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.contains("-dup") && name.contains(".jsonl") && !files.iter().any(|it: &PathBuf| it.ends_with(&name))
            {
                files.push(path);
            }
        }
    }
    files.sort();
    let untimed = files.iter().map(|it| without_times(it)).collect::<Result<_>>()?;
    let levels = &["ser", "si", "pc", "cc"];
    Ok(vec![
        Family { name: "recorded".to_owned(), files, levels: &ALL_LEVELS, seconds: 1, percent: 100, holds: false },
        Family { name: "recorded-no-times".to_owned(), files: untimed, levels, seconds: 10, percent: 95, holds: false },
    ])
}

fn generated(store: Store, n_txns: usize) -> Result<Vec<PathBuf>> {
    let mix = preset("high-dup").context("the preset high-dup is missing")?;
    let mut files = Vec::new();
    for n_keys in [4, 20, 100] {
        for n_values in [2, 3, 10] {
            let workload = Workload {
                store,
                n_keys,
                values: Values::Few(n_values, Choice::Uniform),
                ..mix.workload(n_txns, Some(10))
            };
            let name = format!("hard-{}-{n_txns}-{n_keys}-{n_values}.jsonl", store.name());
            let path = folder()?.join(name);
            write(&workload, FileKind::BySession(Layout::Jsonl), fs::File::create(&path)?)?;
            files.push(path);
        }
    }
    Ok(files)
}

fn folder() -> Result<PathBuf> {
    let folder = target_folder().join("bench-inputs");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The lines of a history, which may be compressed.
fn lines(path: &Path) -> Result<Vec<Value>> {
    let text = if path.extension().is_some_and(|it| it == "gz") {
        let output = Command::new("gzip").arg("-dc").arg(path).output().context("gzip is needed to read it")?;
        String::from_utf8(output.stdout)?
    } else {
        fs::read_to_string(path)?
    };
    text.lines().map(|it| Ok(serde_json::from_str(it)?)).collect()
}

fn save(name: &str, lines: &[Value]) -> Result<PathBuf> {
    let path = folder()?.join(name);
    let mut text = String::new();
    for line in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line}");
    }
    fs::write(&path, text)?;
    Ok(path)
}

fn name_of(path: &Path, suffix: &str) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{}{suffix}.jsonl", name.trim_end_matches(".gz").trim_end_matches(".jsonl"))
}

/// The same history, one session after the other.
fn without_times(path: &Path) -> Result<PathBuf> {
    let mut lines = lines(path)?;
    for line in &mut lines {
        if let Some(members) = line.as_object_mut() {
            members.remove("begin");
            members.remove("end");
        }
    }
    if let [header, txns @ ..] = lines.as_mut_slice() {
        // Lines do not stand as they were recorded any more.
        if let Some(members) = header.as_object_mut() {
            members.remove("recording");
        }
        txns.sort_by_key(|it| it["s"].to_string());
    }
    lines.retain(|it| it.get("recording").is_none());
    save(&name_of(path, "-no-times"), &lines)
}

/// The same history with another value in one read of a transaction in its middle.
fn with_a_changed_read(path: &Path) -> Result<PathBuf> {
    let mut lines = lines(path)?;
    let n_lines = lines.len();
    let middle = lines[n_lines / 2..].iter_mut().filter(|it| it["status"] != "abort");
    let ops = middle.filter_map(|it| it["ops"].as_array_mut());
    let changed = ops.flatten().find(|it| it[0] == "r" && it[2].as_u64().is_some_and(|it| it > 0));
    let value = changed.context("nobody reads anything")?;
    // Values count from 1, and each key has two at least.
    let other = if value[2] == 1 { 2 } else { 1 };
    value[2] = other.into();
    save(&name_of(path, "-mutated"), &lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_without_times_has_the_same_transactions_session_after_session() {
        let parsed =
            |texts: &[&str]| -> Vec<Value> { texts.iter().map(|it| serde_json::from_str(it).unwrap()).collect() };
        let [header, one, other] = [r#"{"isoscope":1}"#, r#"{"s":"b","ops":[]}"#, r#"{"s":"a","ops":[["r",0,2]]}"#];
        let timed = [
            r#"{"isoscope":1,"recording":"any"}"#,
            r#"{"s":"b","ops":[],"begin":1}"#,
            r#"{"s":"a","ops":[["r",0,2]],"end":3}"#,
            r#"{"recording":"complete"}"#,
        ];
        let path = save("test-hard.jsonl", &parsed(&timed)).unwrap();
        assert_eq!(lines(&without_times(&path).unwrap()).unwrap(), parsed(&[header, other, one]));
    }

    #[test]
    fn one_read_is_changed() {
        let files = generated(Store::Serializable, 20).unwrap();
        for file in files {
            let (before, after) = (lines(&file).unwrap(), lines(&with_a_changed_read(&file).unwrap()).unwrap());
            let n_changed = before.iter().zip(&after).filter(|(one, other)| one != other).count();
            assert_eq!((before.len(), n_changed), (after.len(), 1), "{}", file.display());
        }
    }
}

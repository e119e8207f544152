//! `cargo xtask bench instructions`: how many instructions the release binary executes on small histories.
//!
//! Counts hardly depend on the machine's other work, so that a regression shows in one run. They are compared with a
//! baseline in the project; another compiler or C library may need a new one.

use super::build;
use crate::arguments::Arguments;
use anyhow::{Context, Result, bail};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use xtask::root;
use xtask::system::ensure_debian_package;

const USAGE: &str = "\
usage: cargo xtask bench instructions [--save]

Counts instructions with valgrind on the histories in bench/inputs, and fails if one takes more than 10 % above
its baseline. --save makes what was counted the baseline.
";

/// What is counted: a history, and levels with what `check` must answer.
const RUNS: &[(&str, &[&str], Answer)] = &[
    ("mix.jsonl", &["rc", "ra", "cc", "psi", "pc", "si", "ser", "ssi", "sser"], Answer::Holds),
    ("duplicates.bincode", &["rc", "cc", "psi", "pc", "si", "ser"], Answer::Holds),
    ("hot.jsonl", &["psi", "si", "ser"], Answer::Holds),
    ("skewed.jsonl", &["si"], Answer::Holds),
    ("skewed.jsonl", &["ser", "sser"], Answer::Violated),
];

const INPUTS: &str = "bench/inputs";
const BASELINE: &str = "bench/inputs/instructions.txt";

/// A count may be this much above its baseline.
const PERCENT_MAX: i64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Holds,
    Violated,
}

/// Instructions of one history at one level.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Count {
    /// The file and the level.
    run: String,
    instructions: u64,
}

/// Counts, prints, and compares or saves.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let mut arguments = Arguments::new(words);
    if arguments.flag("--help") || arguments.flag("-h") {
        print!("{USAGE}");
        return Ok(());
    }
    let is_saved = arguments.flag("--save");
    if let Some(word) = arguments.rest()?.first() {
        bail!("expected nothing or --save, found {word}");
    }
    ensure_debian_package("valgrind", "valgrind")?;
    let binary = build()?;
    let mut counts = Vec::new();
    for (file, levels, answer) in RUNS {
        for level in *levels {
            let run = format!("{file} {level}");
            let instructions = count(&binary, file, level, *answer).with_context(|| run.clone())?;
            counts.push(Count { run, instructions });
        }
    }
    let baseline_path = root().join(BASELINE);
    if is_saved {
        fs::write(&baseline_path, to_text(&counts))?;
        println!("{} counts are the baseline now, in {BASELINE}", counts.len());
        return Ok(());
    }
    let baseline = fs::read_to_string(&baseline_path).with_context(|| format!("{BASELINE}; make it with --save"))?;
    let comparison = compare(&counts, &parse(&baseline)?);
    print!("{}", comparison.table);
    if !comparison.complaints.is_empty() {
        bail!("{}", comparison.complaints.join("\n"));
    }
    Ok(())
}

/// Runs the command in valgrind, which counts.
fn count(binary: &Path, file: &str, level: &str, answer: Answer) -> Result<u64> {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(binary)
        .args(["check", "--level", level, file])
        .current_dir(root().join(INPUTS));
    let output = command.output().context("cannot start valgrind")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let expected = match answer {
        Answer::Holds => 0,
        Answer::Violated => 1,
    };
    if output.status.code() != Some(expected) {
        bail!("expected that the level {answer:?}, which is exit code {expected}, found {}:\n{said}", output.status);
    }
    instructions(&said).with_context(|| format!("no count in what valgrind said:\n{said}"))
}

/// Finds `I refs: 1,234` in what valgrind says.
fn instructions(said: &str) -> Option<u64> {
    let count = said.lines().find(|it| it.contains("I ") && it.contains("refs:"))?.split("refs:").nth(1)?;
    count.trim().replace(',', "").parse().ok()
}

struct Comparison {
    table: String,
    complaints: Vec<String>,
}

fn compare(counts: &[Count], baseline: &[Count]) -> Comparison {
    let mut table = format!("{:<28} {:>14} {:>14} {:>8}\n", "history, level", "instructions", "baseline", "change");
    let mut complaints = Vec::new();
    let mut n_lower = 0;
    for Count { run, instructions } in counts {
        let Some(before) = baseline.iter().find(|it| it.run == *run) else {
            complaints.push(format!("{run} has no baseline; make one with --save"));
            continue;
        };
        let tenths = change_in_tenths(before.instructions, *instructions);
        let percent = format!("{}{}.{} %", if tenths < 0 { '-' } else { '+' }, tenths.abs() / 10, tenths.abs() % 10);
        // Writing to a string cannot fail.
        let _ = writeln!(table, "{run:<28} {instructions:>14} {:>14} {percent:>8}", before.instructions);
        if tenths > PERCENT_MAX * 10 {
            let it =
                format!("{run} takes {percent} instructions; make it faster, or --save the new count with a reason");
            complaints.push(it);
        }
        n_lower += usize::from(tenths < -PERCENT_MAX * 10);
    }
    for gone in baseline.iter().filter(|it| counts.iter().all(|count| count.run != it.run)) {
        complaints.push(format!("{} is in the baseline and is not counted any more; --save makes a new one", gone.run));
    }
    if n_lower > 0 {
        let _ = writeln!(table, "{n_lower} are much lower than their baseline: --save keeps them so");
    }
    Comparison { table, complaints }
}

/// The change in tenths of a percent.
fn change_in_tenths(before: u64, after: u64) -> i64 {
    let difference = i128::from(after) - i128::from(before);
    i64::try_from(difference * 1000 / i128::from(before.max(1))).unwrap_or(i64::MAX)
}

fn to_text(counts: &[Count]) -> String {
    let mut out =
        "# Instructions of `isoscope check --level LEVEL HISTORY`; see bench/src/instructions.rs\n".to_owned();
    for Count { run, instructions } in counts {
        let _ = writeln!(out, "{run} {instructions}");
    }
    out
}

fn parse(text: &str) -> Result<Vec<Count>> {
    let lines = text.lines().enumerate().filter(|it| !it.1.starts_with('#'));
    let count = |(idx, line): (usize, &str)| {
        let parts = line.rsplit_once(' ').and_then(|(run, number)| Some((run, number.parse().ok()?)));
        let (run, instructions) =
            parts.with_context(|| format!("{BASELINE}:{}: expected history, level and count", idx + 1))?;
        Ok(Count { run: run.to_owned(), instructions })
    };
    lines.map(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(run: &str, instructions: u64) -> Count {
        Count { run: run.to_owned(), instructions }
    }

    #[test]
    fn ten_percent_more_is_allowed_and_eleven_are_not() {
        let baseline = [counted("a ser", 1000), counted("b ser", 1000), counted("c ser", 1000)];
        let counts = [counted("a ser", 1100), counted("b ser", 1110), counted("c ser", 500)];
        let comparison = compare(&counts, &baseline);
        assert_eq!(comparison.complaints.len(), 1);
        assert!(comparison.complaints[0].starts_with("b ser takes +11.0 %"), "{:?}", comparison.complaints);
        assert!(comparison.table.contains("-50.0 %") && comparison.table.contains("1 are much lower"));
    }

    #[test]
    fn what_only_one_side_has_is_told() {
        let comparison = compare(&[counted("new si", 5)], &[counted("gone si", 5)]);
        assert_eq!(comparison.complaints.len(), 2);
        assert!(comparison.complaints[0].contains("new si has no baseline"));
        assert!(comparison.complaints[1].contains("gone si is in the baseline"));
    }

    #[test]
    fn a_baseline_is_read_as_it_was_written() {
        let counts = vec![counted("mix.jsonl ser", 123_456_789), counted("hot.jsonl si", 7)];
        assert_eq!(parse(&to_text(&counts)).unwrap(), counts);
        assert!(parse("mix.jsonl ser many\n").unwrap_err().to_string().contains("instructions.txt:1"));
    }

    #[test]
    fn the_count_is_found_in_what_valgrind_says() {
        assert_eq!(instructions("==7== Command: x\n==7== I refs:        1,234,567\n"), Some(1_234_567));
        assert_eq!(instructions("==7== I   refs:      42\n"), Some(42));
        assert_eq!(instructions("==7== nothing\n"), None);
    }

    #[test]
    fn every_run_has_its_history_and_its_baseline() {
        let baseline = parse(&fs::read_to_string(root().join(BASELINE)).unwrap()).unwrap();
        for (file, levels, _) in RUNS {
            assert!(root().join(INPUTS).join(file).exists(), "{file}");
            for level in *levels {
                assert!(baseline.iter().any(|it| it.run == format!("{file} {level}")), "{file} {level}");
            }
        }
    }
}

//! `cargo xtask bench check`: time and peak memory of `isoscope check` for every history at every level.
//!
//! Each run is the whole command, as a person types it. Verdicts are compared with how the histories were made: a
//! wrong one fails the bench.

use super::cell::Cell;
use super::expectation::{LEVELS, needs_statements, needs_times};
use super::inputs::{Extent, Input, inputs};
use super::{build, figures, folder, table};
use crate::arguments::Arguments;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use xtask::root;

pub(crate) const USAGE: &str = "\
usage: cargo xtask bench [check] [options]

  --quick            histories of up to ten thousand transactions
  --full             a million transactions for every workload, not for one only
  --figures          only what the figures to reach are about
  --only PATTERN     histories whose name has this in it; can be repeated
  --level LEVEL      only this level; can be repeated, or several with commas
  --timeout SECONDS  end a run after so long; 60 unless told otherwise
  --save             keep the tables in bench-runs/, which whole runs always do
";

/// Set for a run that only makes the histories.
const ONLY_INPUTS: &str = "ISOSCOPE_BENCH_ONLY_INPUTS";

fn make_inputs(options: &Options<'_>) -> Result<()> {
    for input in inputs(options.extent)?.iter().filter(|it| !options.levels_of(it).is_empty()) {
        input.file()?;
    }
    Ok(())
}

/// What to measure.
#[derive(Debug)]
struct Options<'a> {
    extent: Extent,
    is_figures_only: bool,
    patterns: Vec<&'a str>,
    levels: Vec<&'static str>,
    at_most: Duration,
    is_saved: bool,
}

/// Measures, prints the tables, keeps them if they are whole or if told to.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let mut arguments = Arguments::new(words);
    if arguments.flag("--help") || arguments.flag("-h") {
        print!("{USAGE}");
        return Ok(());
    }
    let options = parse(arguments)?;
    let machine = folder::machine()?;
    if std::env::var_os(ONLY_INPUTS).is_some() {
        return make_inputs(&options);
    }
    let binary = build()?;
    // The peak memory of a child is counted from that of its parent, which must stay small.
    xtask::system::run(Command::new(std::env::current_exe()?).args(["check"]).args(words).env(ONLY_INPUTS, "1"))?;
    print!("{machine}\n{}", table::head());
    let (cells, notes) = measure_all(&binary, &options)?;

    let wrong = table::wrong(&cells);
    let rows: String = cells.iter().map(table::row).collect();
    let mut sections = vec![table::growth(&cells), figures::figures(&cells), table::injected(&cells)];
    sections.push(notes.concat());
    if !wrong.is_empty() {
        sections.push(format!("WRONG VERDICTS\n{wrong}"));
    }
    sections.retain(|it| !it.is_empty());
    let sections = sections.join("\n");
    print!("\n{sections}");
    if options.is_saved {
        let text = format!("{machine}\n{}{rows}\n{sections}", table::head());
        let files = [("table.txt", text.as_str()), ("raw.csv", &table::csv(&cells)), ("machine.txt", &machine)];
        let folder = folder::save("check", &files)?;
        println!("\nkept in {}", folder.strip_prefix(root()).unwrap_or(&folder).display());
    }
    if !wrong.is_empty() {
        bail!("wrong verdicts; generated histories are in bench-inputs in the build folder:\n{wrong}");
    }
    Ok(())
}

fn parse(mut arguments: Arguments<'_>) -> Result<Options<'_>> {
    let (is_quick, is_full) = (arguments.flag("--quick"), arguments.flag("--full"));
    let extent = match (is_quick, is_full) {
        (true, true) => bail!("--quick and --full cannot both be"),
        (true, false) => Extent::Quick,
        (false, true) => Extent::Full,
        (false, false) => Extent::Usual,
    };
    let is_figures_only = arguments.flag("--figures");
    let patterns = arguments.texts("--only")?;
    let names: Vec<&str> = arguments.texts("--level")?.iter().flat_map(|it| it.split(',')).collect();
    let at_most = Duration::from_secs(arguments.number("--timeout")?.unwrap_or(60));
    let is_whole = !is_quick && !is_figures_only && patterns.is_empty() && names.is_empty();
    let is_saved = arguments.flag("--save") || is_whole;
    if let Some(word) = arguments.rest()?.first() {
        bail!(
            "no such bench: {word}; there are check, hard, instructions, separate, verify, predict, store and collect"
        );
    }
    for name in &names {
        LEVELS.iter().find(|it| *it == name).with_context(|| format!("--level takes {}", LEVELS.join(", ")))?;
    }
    let is_asked = |it: &&'static str| names.is_empty() || names.contains(it);
    let levels = LEVELS.iter().copied().filter(is_asked).collect();
    Ok(Options { extent, is_figures_only, patterns, levels, at_most, is_saved })
}

/// Measures and prints row by row. Says what was left out.
fn measure_all(binary: &Path, options: &Options<'_>) -> Result<(Vec<Cell>, Vec<String>)> {
    let (mut cells, mut notes) = (Vec::new(), Vec::new());
    for input in inputs(options.extent)? {
        let levels = options.levels_of(&input);
        if levels.is_empty() {
            continue;
        }
        let Some(file) = input.file()? else {
            notes.push(format!("skipped, not at hand: {}\n", input.name));
            continue;
        };
        for level in levels {
            if let Some(before) = gave_up(&cells, &input, level) {
                notes.push(format!("skipped: {} at {level}, as {before} had no answer\n", input.name));
                continue;
            }
            let cell = Cell::measure(binary, &input, &file, level, options.at_most)?;
            print!("{}", table::row(&cell));
            cells.push(cell);
        }
    }
    if cells.is_empty() {
        bail!("nothing of that kind is at hand; try --only blindw, or see `cargo xtask bench check --help`");
    }
    Ok((cells, notes))
}

impl Options<'_> {
    /// What is asked of a history; nothing if it is not asked for.
    fn levels_of(&self, input: &Input) -> Vec<&'static str> {
        let is_asked = self.patterns.is_empty() || self.patterns.iter().any(|it| input.name.contains(it));
        let is_needed = |level: &str| !self.is_figures_only || figures::need(&input.name, level);
        let has_words = |level: &str| input.has_statements || !needs_statements(level);
        let can_be_asked = |level: &str| (input.has_times || !needs_times(level)) && has_words(level);
        let levels = self.levels.iter().copied().filter(|it| is_asked && is_needed(it) && can_be_asked(it));
        levels.collect()
    }
}

/// A smaller history of the family that ran out of time at that level.
fn gave_up<'c>(cells: &'c [Cell], input: &Input, level: &str) -> Option<&'c str> {
    let is_smaller = |it: &&Cell| it.family == input.family && it.level == level && it.n_txns < input.n_txns;
    cells.iter().filter(is_smaller).find(|it| !it.is_answered()).map(|it| it.history.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed<'a>(words: &[&'a str]) -> Result<Options<'a>> {
        parse(Arguments::new(words))
    }

    #[test]
    fn only_whole_runs_are_kept_by_themselves() {
        assert!(parsed(&[]).unwrap().is_saved);
        assert!(parsed(&["--full"]).unwrap().is_saved);
        assert!(!parsed(&["--quick"]).unwrap().is_saved);
        assert!(!parsed(&["--level", "ser"]).unwrap().is_saved);
        assert!(!parsed(&["--figures"]).unwrap().is_saved);
        assert!(parsed(&["--only", "hot", "--save"]).unwrap().is_saved);
    }

    #[test]
    fn histories_are_asked_what_was_asked_for_and_what_they_can_answer() {
        let inputs = inputs(Extent::Usual).unwrap();
        let named = |name: &str| inputs.iter().find(|it| it.name == name).unwrap();
        let all = parsed(&[]).unwrap();
        assert_eq!(all.levels_of(named("ranges-1k")), LEVELS);
        assert_eq!(all.levels_of(named("balanced-1k")), LEVELS[..9]);
        assert_eq!(all.levels_of(named("fig13-BL-10k")), LEVELS[..7]);
        let figures = parsed(&["--figures"]).unwrap();
        assert_eq!(figures.levels_of(named("balanced-1k")), Vec::<&str>::new());
        assert_eq!(figures.levels_of(named("fig13-BL-10k")), ["si", "ser"]);
        let hot = parsed(&["--only", "hot", "--level", "sser"]).unwrap();
        assert_eq!(hot.levels_of(named("hot-key-1k")), ["sser"]);
        assert!(hot.levels_of(named("balanced-1k")).is_empty());
    }

    #[test]
    fn levels_are_asked_once_each_in_the_usual_order() {
        let options = parsed(&["--level", "ser,si", "--level", "rc", "--level", "si"]).unwrap();
        assert_eq!(options.levels, ["rc", "si", "ser"]);
        assert_eq!(parsed(&[]).unwrap().levels, LEVELS);
        assert!(parsed(&["--level", "serial"]).is_err());
        assert!(parsed(&["--quick", "--full"]).is_err());
        assert!(parsed(&["chekc"]).is_err());
    }
}

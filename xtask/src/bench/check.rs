//! `cargo xtask bench check`: time and peak memory of `isoscope check` for every history at every level.
//!
//! Each run is the whole command, as a person types it. Verdicts are compared with how the histories were made: a
//! wrong one fails the bench.

use super::cell::Cell;
use super::expectation::{LEVELS, needs_times};
use super::inputs::{Extent, Input, inputs};
use super::{build, figures, folder, table};
use crate::arguments::Arguments;
use crate::root;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::time::Duration;

pub(crate) const USAGE: &str = "\
usage: cargo xtask bench [check] [options]

  --quick            histories of up to ten thousand transactions
  --full             a million transactions for every workload, not for one only
  --only PATTERN     histories whose name has this in it; can be repeated
  --level LEVEL      only this level; can be repeated, or several with commas
  --timeout SECONDS  end a run after so long; 60 unless told otherwise
  --save             keep the tables in bench-runs/, which whole runs always do
";

/// What to measure.
#[derive(Debug)]
struct Options<'a> {
    extent: Extent,
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
    let binary = build()?;
    print!("{machine}\n{}", table::head());
    let (cells, notes) = measure_all(&binary, &options)?;

    let wrong = table::wrong(&cells);
    let rows: String = cells.iter().map(table::row).collect();
    let mut sections = vec![table::growth(&cells), figures::figures(&cells), table::injected(&cells)];
    if !notes.is_empty() {
        sections.push(notes.join("\n") + "\n");
    }
    if !wrong.is_empty() {
        sections.push(format!("WRONG VERDICTS\n{wrong}"));
    }
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
    let patterns = arguments.texts("--only")?;
    let names: Vec<&str> = arguments.texts("--level")?.iter().flat_map(|it| it.split(',')).collect();
    let at_most = Duration::from_secs(arguments.number("--timeout")?.unwrap_or(60));
    let is_whole = !is_quick && patterns.is_empty() && names.is_empty();
    let is_saved = arguments.flag("--save") || is_whole;
    if let Some(word) = arguments.rest()?.first() {
        bail!("no such bench: {word}; there are check and instructions");
    }
    for name in &names {
        LEVELS.iter().find(|it| *it == name).with_context(|| format!("--level takes {}", LEVELS.join(", ")))?;
    }
    let is_asked = |it: &&'static str| names.is_empty() || names.contains(it);
    let levels = LEVELS.iter().copied().filter(is_asked).collect();
    Ok(Options { extent, patterns, levels, at_most, is_saved })
}

/// Measures and prints row by row. Says what was left out.
fn measure_all(binary: &Path, options: &Options<'_>) -> Result<(Vec<Cell>, Vec<String>)> {
    let is_asked =
        |it: &Input| options.patterns.is_empty() || options.patterns.iter().any(|word| it.name.contains(word));
    let (mut cells, mut notes) = (Vec::new(), Vec::new());
    for input in inputs(options.extent)?.iter().filter(|it| is_asked(it)) {
        let Some(file) = input.file()? else {
            notes.push(format!("skipped, not at hand: {}", input.name));
            continue;
        };
        for level in options.levels.iter().filter(|it| input.has_times || !needs_times(it)) {
            if let Some(before) = gave_up(&cells, input, level) {
                notes.push(format!("skipped: {} at {level}, as {before} had no answer", input.name));
                continue;
            }
            let cell = Cell::measure(binary, input, &file, level, options.at_most)?;
            print!("{}", table::row(&cell));
            cells.push(cell);
        }
    }
    if cells.is_empty() {
        bail!("no history is named so; try --only blindw, or see `cargo xtask bench check --help`");
    }
    Ok((cells, notes))
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
        assert!(parsed(&["--only", "hot", "--save"]).unwrap().is_saved);
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

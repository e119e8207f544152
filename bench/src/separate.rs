//! `cargo xtask bench separate`: how long the paper's separation problems take, beside what Isolde took.
//!
//! Times are of the search alone, in one process and on one core. Verdicts are compared with the paper's: a wrong one
//! fails the bench.

mod ablations;
mod answerer;
mod figures;
mod inquiry;
mod isolde;
mod problems;
mod runner;
mod table;

use super::folder;
use crate::arguments::Arguments;
use anyhow::{Context, Result, bail};
use inquiry::{Method, Scope, Size};
use problems::{Problem, TXNS_MIN, paper_problems};
use runner::Runner;
use std::time::Duration;
use xtask::root;

const USAGE: &str = "\
usage: cargo xtask bench separate [options]

  --quick            3 and 5 transactions only
  --sizes N,N..      so many transactions; 3 to 10 unless told otherwise
  --up-to            these numbers are limits, with the smallest history first; in the paper they are exact
  --only TEXT        problems whose name has this in it, as in `biswas.si & !cerone.si`; can be repeated
  --timeout SECONDS  give a problem up after so long; 60 unless told otherwise
  --no-derived       without witnesses that are derived from orders
  --no-fixed-order   without numbering transactions by an order
  --no-merging       without beginning at the witness of an allowed level of the same framework
  --figures          only what has a figure to reach
  --ablations        the engine's modes side by side, at 3 to 5 transactions unless told otherwise
  --save             keep the tables in bench-runs/, which whole runs always do
";

/// What to measure.
#[derive(Debug)]
struct Options<'a> {
    task: Task,
    sizes: Vec<usize>,
    size: Size,
    method: Method,
    patterns: Vec<&'a str>,
    at_most: Duration,
    is_saved: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Paper,
    Figures,
    Ablations,
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
    let mut runner = Runner::start(options.at_most)?;
    runner.say(&machine);
    let problems: Vec<Problem> = paper_problems().into_iter().filter(|it| options.asks(it)).collect();
    match options.task {
        Task::Paper => paper(&mut runner, &problems, &options)?,
        Task::Figures => figures::run(&mut runner, &|it| options.asks(it), options.method)?,
        Task::Ablations => ablations::run(&mut runner, &problems, &options.sizes, options.size)?,
    }
    if runner.cells.is_empty() {
        bail!("no problem has such a name; try --only cerone.si");
    }
    let (cells, mut text) = runner.finish()?;
    let wrong = table::wrong(&cells);
    if !wrong.is_empty() {
        text.push_str("\nWRONG VERDICTS\n");
        text.push_str(&wrong);
    }
    if options.is_saved {
        let files = [("table.txt", text.as_str()), ("raw.csv", &table::csv(&cells)), ("machine.txt", &machine)];
        let folder = folder::save(options.task.name(), &files)?;
        println!("\nkept in {}", folder.strip_prefix(root()).unwrap_or(&folder).display());
    }
    if !wrong.is_empty() {
        bail!("wrong verdicts:\n{wrong}");
    }
    Ok(())
}

/// All problems at all sizes, then each class.
fn paper(runner: &mut Runner, problems: &[Problem], options: &Options<'_>) -> Result<()> {
    let Options { sizes, size, method, .. } = options;
    runner.say(&format!("{}; method: {method}", table::size_in_words(*size)));
    runner.say(&table::head());
    for problem in problems {
        for n_txns in sizes {
            let cell = runner.measure(problem, Scope::of_the_paper(*n_txns, *size), *method)?;
            runner.say(&table::row(&cell));
        }
    }
    let classes = table::classes(&runner.cells, sizes, *method);
    runner.say(&format!("\n{classes}"));
    Ok(())
}

impl Options<'_> {
    fn asks(&self, problem: &Problem) -> bool {
        let name = problem.name();
        self.patterns.is_empty() || self.patterns.iter().any(|it| name.contains(it))
    }
}

impl Task {
    /// The name of its folder.
    fn name(self) -> &'static str {
        match self {
            Self::Paper => "separate",
            Self::Figures => "separate-figures",
            Self::Ablations => "separate-ablations",
        }
    }
}

fn parse(mut arguments: Arguments<'_>) -> Result<Options<'_>> {
    let task = match (arguments.flag("--figures"), arguments.flag("--ablations")) {
        (true, true) => bail!("--figures and --ablations cannot both be"),
        (true, false) => Task::Figures,
        (false, true) => Task::Ablations,
        (false, false) => Task::Paper,
    };
    let is_quick = arguments.flag("--quick");
    let given = arguments.text("--sizes")?.map(parse_sizes).transpose()?;
    let is_up_to = arguments.flag("--up-to");
    let method = Method {
        no_derived: arguments.flag("--no-derived"),
        no_fixed_order: arguments.flag("--no-fixed-order"),
        no_merging: arguments.flag("--no-merging"),
    };
    let patterns = arguments.texts("--only")?;
    let at_most = Duration::from_secs(arguments.number("--timeout")?.unwrap_or(60));
    let is_save = arguments.flag("--save");
    if let Some(word) = arguments.rest()?.first() {
        bail!("expected an option, found {word}; `cargo xtask bench separate --help` lists them");
    }
    let has_sizes = is_quick || given.is_some();
    match task {
        _ if is_quick && given.is_some() => bail!("--quick and --sizes cannot both be"),
        Task::Figures if has_sizes || is_up_to => bail!("--figures has its own sizes"),
        Task::Ablations if method != Method::default() => bail!("--ablations switches everything off by itself"),
        _ => {}
    }
    let sizes = match (given, task) {
        (Some(sizes), _) => sizes,
        _ if is_quick => vec![3, 5],
        (None, Task::Ablations) => ablations::SIZES.to_vec(),
        (None, _) => (TXNS_MIN..=10).collect(),
    };
    let is_whole = task == Task::Paper && !has_sizes && patterns.is_empty() && method == Method::default();
    let size = if is_up_to { Size::UpTo } else { Size::Exactly };
    Ok(Options { task, sizes, size, method, patterns, at_most, is_saved: is_save || is_whole })
}

fn parse_sizes(text: &str) -> Result<Vec<usize>> {
    let number = |it: &str| it.parse().ok().filter(|it| *it >= TXNS_MIN);
    let sizes: Option<Vec<usize>> = text.split(',').map(number).collect();
    let mut sizes =
        sizes.with_context(|| format!("--sizes needs numbers from {TXNS_MIN} on, with commas, found `{text}`"))?;
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
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
        for words in [&["--quick"][..], &["--only", "si"], &["--no-derived"], &["--figures"], &["--ablations"]] {
            assert!(!parsed(words).unwrap().is_saved, "{words:?}");
            assert!(parsed(&[words, &["--save"]].concat()).unwrap().is_saved, "{words:?}");
        }
    }

    #[test]
    fn sizes_are_those_of_the_paper_unless_told_otherwise() {
        assert_eq!(parsed(&[]).unwrap().sizes, [3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(parsed(&["--quick"]).unwrap().sizes, [3, 5]);
        assert_eq!(parsed(&["--ablations"]).unwrap().sizes, [3, 4, 5]);
        assert_eq!(parsed(&["--sizes", "10,3,5,3"]).unwrap().sizes, [3, 5, 10]);
        assert_eq!(parsed(&["--up-to"]).unwrap().size, Size::UpTo);
        assert_eq!(parsed(&[]).unwrap().size, Size::Exactly);
        for wrong in ["2", "3,", "three"] {
            assert!(parsed(&["--sizes", wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn options_that_exclude_each_other_are_refused() {
        assert!(parsed(&["--figures", "--ablations"]).is_err());
        assert!(parsed(&["--quick", "--sizes", "4"]).is_err());
        assert!(parsed(&["--figures", "--quick"]).is_err());
        assert!(parsed(&["--ablations", "--no-merging"]).is_err());
        assert!(parsed(&["biswas.si"]).is_err());
        assert!(parsed(&["--no-such-option"]).is_err());
    }

    #[test]
    fn problems_are_asked_for_by_parts_of_their_names() {
        let options = parsed(&["--only", "update_ser & !cerone", "--only", "tap"]).unwrap();
        assert_eq!(paper_problems().iter().filter(|it| options.asks(it)).count(), 8);
        assert_eq!(paper_problems().iter().filter(|it| parsed(&[]).unwrap().asks(it)).count(), 46);
    }
}

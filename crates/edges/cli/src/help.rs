//! The parts of the help that are tables: made from the types, so that they cannot get out of date.

use clap::Command;
use iso_formats::Format;
use iso_spec::Level;

/// The command with its examples and tables.
pub(crate) fn with_tables(command: Command) -> Command {
    command
        .after_help(format!("{FIRST_STEPS}\n\n{EXIT_CODES}"))
        .mut_subcommand("check", |it| it.after_help(short(CHECK_EXAMPLES)).after_long_help(check_help()))
        .mut_subcommand("levels", |it| it.after_help(format!("{LEVELS_EXAMPLES}\n\n{DONE_CODES}")))
        .mut_subcommand("convert", |it| it.after_help(format!("{CONVERT_EXAMPLES}\n\n{}\n\n{LIMIT_CODES}", formats())))
        .mut_subcommand("report", |it| it.after_help(format!("{REPORT_EXAMPLES}\n\n{DONE_CODES}")))
        .mut_subcommand("demo", |it| it.after_help(DONE_CODES))
}

const FIRST_STEPS: &str = "\
First steps:
  isoscope demo                    meet three anomalies
  isoscope check FILE              judge a recorded history at every level
  isoscope check --help            formats, level names, examples
  isoscope levels                  what the levels mean";

const EXIT_CODES: &str = "\
Exit codes:
  0  holds, allowed, nothing found
  1  violated, found
  2  the question could not be asked: bad input, bad option
  3  unknown: the time or memory ran out";

const DONE_CODES: &str = "\
Exit codes:
  0  done
  2  not possible: bad input, bad option";

const LIMIT_CODES: &str = "\
Exit codes:
  0  done
  2  not possible: bad input, bad option, or the format cannot express the history
  3  the time or memory ran out";

const CHECK_EXAMPLES: &str = "\
Examples:
  isoscope check run.history                        every level
  isoscope check run.edn.gz --level si,ser          two levels of a compressed Jepsen history
  isoscope check logs/ --level ser --timeout 60s    a directory of Cobra logs, for a minute at most
  isoscope check run.jsonl --report why.html        with a page that explains what went wrong
  isoscope check run.jsonl --spec mine.spec         levels of your own
  generate | isoscope check - --json                from a pipe, for a script";

const LEVELS_EXAMPLES: &str = "\
Examples:
  isoscope levels                        every definition, by framework
  isoscope levels --show si              what a name means, and where that comes from
  isoscope levels --check mine.spec      is my own definition well formed?";

const CONVERT_EXAMPLES: &str = "\
Examples:
  isoscope convert run.edn run.history           a Jepsen history in our notation
  isoscope convert logs/ run.jsonl.gz            Cobra logs in one compressed file
  isoscope convert run.jsonl - --to plume        to standard output";

const REPORT_EXAMPLES: &str = "\
Examples:
  isoscope check run.history --json > result.json
  isoscope report result.json                            as text
  isoscope report result.json -o why.html -o why.svg     as a page and a picture";

fn short(examples: &str) -> String {
    format!("{examples}\n\n{EXIT_CODES}\n\nMore with --help: level names and formats.")
}

fn check_help() -> String {
    format!(
        "{CHECK_EXAMPLES}\n\n{EXIT_CODES}
  One history: 1 if a level is violated, else 3 if one is unknown, else 0.
  Several inputs: 2 if one could not be read, else 1 if one violates a level, else 3, else 0.
  With several inputs --report why.html writes why-1.html, why-2.html, and so on.\n\n{}\n\n{}",
        levels(),
        formats()
    )
}

fn levels() -> String {
    let lines: Vec<String> =
        Level::ALL.iter().map(|it| format!("  {:<5}{}{}", it.short_name(), it.full_name(), times(*it))).collect();
    format!(
        "Levels, weakest first (short and full names; `isoscope levels` has their definitions):\n{}",
        lines.join("\n")
    )
}

fn times(level: Level) -> &'static str {
    if level.needs_times() { " (looks at begin and end times)" } else { "" }
}

fn formats() -> String {
    let lines: Vec<String> = Format::ALL.iter().map(|it| format!("  {:<12}{}", it.name(), it.description())).collect();
    format!("Formats, recognised by content:\n{}", lines.join("\n"))
}

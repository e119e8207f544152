//! The parts of the help that are tables: made from the types, so that they cannot get out of date.

use clap::Command;
use iso_formats::Format;
use iso_spec::Level;

/// The command with its examples and tables.
pub(crate) fn with_tables(command: Command) -> Command {
    command
        .after_help(format!("{FIRST_STEPS}\n\n{EXIT_CODES}"))
        .mut_subcommand("check", |it| it.after_long_help(check_help()))
}

const FIRST_STEPS: &str = "\
First steps:
  isoscope check FILE.history      judge a recorded history at every level
  isoscope check --help            formats, level names, examples";

const EXIT_CODES: &str = "\
Exit codes:
  0  holds, allowed, nothing found
  1  violated, found
  2  the question could not be asked: bad input, bad option
  3  unknown: the time or memory ran out";

fn check_help() -> String {
    format!(
        "Examples:
  isoscope check run.history                        every level
  isoscope check run.edn.gz --level si,ser          two levels of a compressed Jepsen history
  isoscope check logs/ --level ser --timeout 60s    a directory of Cobra logs, for a minute at most
  isoscope check run.jsonl --report why.html        with a page that explains and draws what went wrong
  generate | isoscope check - --json                from a pipe, for a script

{EXIT_CODES}
  One history: 1 if a level is violated, else 3 if one is unknown, else 0.
  Several inputs: 2 if one could not be read, else 1 if one violates a level, else 3, else 0.

{}

{}",
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

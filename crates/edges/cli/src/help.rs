//! The parts of the help that are tables: made from the types, so that they cannot get out of date.

use crate::commands::{collect, generate, hunt, lattice, store};
use crate::output;
use clap::Command;
use iso_answer::separate::Scope;
use iso_formats::Format;
use iso_spec::Level;

/// The command with its examples and tables.
pub(crate) fn with_tables(command: Command) -> Command {
    let columns = output::columns().min(WIDEST);
    fitting(tables(command.term_width(columns)), columns)
}

/// Wider lines are hard to read.
const WIDEST: usize = 100;

/// The verbs that stand before a database.
#[cfg(feature = "record")]
fn with_proxies(command: Command) -> Command {
    command
        .mut_subcommand("record", |it| it.after_help(format!("{RECORD_EXAMPLES}\n\n{RECORD_CODES}")))
        .mut_subcommand("serve", |it| it.after_help(format!("{SERVE_EXAMPLES}\n\n{SERVE_CODES}")))
}

fn with_applications(store: Command) -> Command {
    store
        .after_help(format!("{STORE_EXAMPLES}\n\n{STORE_CODES}"))
        .mut_subcommand("run", |it| {
            it.after_help(short(STORE_EXAMPLES, STORE_CODES, "applications, levels and policies"))
                .after_long_help(format!("{STORE_EXAMPLES}\n\n{STORE_CODES}\n\n{}", store::tables()))
        })
        .mut_subcommand("apps", |it| it.after_help(DONE_CODES))
}

fn tables(command: Command) -> Command {
    #[cfg(feature = "record")]
    let command = with_proxies(command);
    command
        .after_help(format!("{FIRST_STEPS}\n\n{EXIT_CODES}"))
        .mut_subcommand("check", |it| {
            it.after_help(short(CHECK_EXAMPLES, EXIT_CODES, "level names and formats")).after_long_help(check_help())
        })
        .mut_subcommand("separate", |it| search(it, Scope::default(), SEPARATE_EXAMPLES, SEPARATE_CODES))
        .mut_subcommand("compare", |it| search(it, Scope::default(), COMPARE_EXAMPLES, COMPARE_CODES))
        .mut_subcommand("lattice", |it| search(it, lattice::default_scope(), LATTICE_EXAMPLES, LATTICE_CODES))
        .mut_subcommand("verify", |it| {
            it.after_help(short(VERIFY_EXAMPLES, VERIFY_CODES, "what a program looks like, and level names"))
                .after_long_help(format!(
                    "{VERIFY_EXAMPLES}\n\n{VERIFY_CODES}\n\n{VERIFY_PROGRAM}\n\n{}",
                    verify_levels()
                ))
        })
        .mut_subcommand("playground", |it| it.after_help(PLAYGROUND_EXAMPLES))
        .mut_subcommand("allocate", |it| it.after_help(format!("{ALLOCATE_EXAMPLES}\n\n{ALLOCATE_CODES}")))
        .mut_subcommand("predict", |it| {
            it.after_help(short(PREDICT_EXAMPLES, PREDICT_CODES, "level names, applications and formats"))
                .after_long_help(format!(
                    "{PREDICT_EXAMPLES}\n\n{PREDICT_CODES}\n\n{}\n\n{}\n\n{}",
                    predict_levels(),
                    store::applications(),
                    formats()
                ))
        })
        .mut_subcommand("collect", |it| {
            it.after_help(short(COLLECT_EXAMPLES, COLLECT_CODES, "workloads, and addresses of databases"))
                .after_long_help(format!(
                    "{COLLECT_EXAMPLES}\n\n{COLLECT_CODES}\n\n{}\n\n{COLLECT_ADDRESSES}",
                    collect::workloads()
                ))
        })
        .mut_subcommand("hunt", |it| {
            it.after_help(short(
                HUNT_EXAMPLES,
                HUNT_CODES,
                "probes, workloads, level names, and addresses of databases",
            ))
            .after_long_help(format!(
                "{HUNT_EXAMPLES}\n\n{HUNT_CODES}\n\n{}\n\n{}\n\n{}\n\n{COLLECT_ADDRESSES}",
                hunt::probes(),
                collect::workloads(),
                levels()
            ))
        })
        .mut_subcommand("replay", |it| {
            it.after_help(short(REPLAY_EXAMPLES, REPLAY_CODES, "level names, and addresses of databases"))
                .after_long_help(format!("{REPLAY_EXAMPLES}\n\n{REPLAY_CODES}\n\n{}\n\n{COLLECT_ADDRESSES}", levels()))
        })
        .mut_subcommand("driver", |it| it.after_help(format!("{DRIVER_EXAMPLES}\n\n{DRIVER_CODES}")))
        .mut_subcommand("store", with_applications)
        .mut_subcommand("levels", |it| it.after_help(format!("{LEVELS_EXAMPLES}\n\n{DONE_CODES}")))
        .mut_subcommand("convert", |it| it.after_help(format!("{CONVERT_EXAMPLES}\n\n{}\n\n{LIMIT_CODES}", formats())))
        .mut_subcommand("generate", |it| {
            it.after_help(short(GENERATE_EXAMPLES, DONE_CODES, "workloads"))
                .after_long_help(format!("{GENERATE_EXAMPLES}\n\n{DONE_CODES}\n\n{}", generate::workloads()))
        })
        .mut_subcommand("report", |it| it.after_help(format!("{REPORT_EXAMPLES}\n\n{DONE_CODES}")))
        .mut_subcommand("certify", |it| it.after_help(format!("{CERTIFY_EXAMPLES}\n\n{CERTIFY_CODES}")))
        .mut_subcommand("demo", |it| it.after_help(DONE_CODES))
        .mut_subcommand("completions", |it| it.after_help(format!("{COMPLETIONS_EXAMPLES}\n\n{DONE_CODES}")))
}

/// The command, and all below it, with tables whose lines fit: clap alone would wrap the words of a table below its names.
fn fitting(mut command: Command, columns: usize) -> Command {
    if let Some(text) = command.get_after_help().map(ToString::to_string) {
        command = command.after_help(fitted(&text, columns));
    }
    if let Some(text) = command.get_after_long_help().map(ToString::to_string) {
        command = command.after_long_help(fitted(&text, columns));
    }
    let names: Vec<String> = command.get_subcommands().map(|it| it.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, |it| fitting(it, columns)))
}

/// The text with each line wrapped: the words of a table's line below its words, or below its name where that is long.
fn fitted(text: &str, columns: usize) -> String {
    let line = |line: &str| -> String {
        if line.chars().count() <= columns {
            return format!("{line}\n");
        }
        let indent = line.len() - line.trim_start().len();
        let gap = line[indent..].rfind("  ").map_or(indent, |it| indent + it + 2);
        let (name, words) = line.split_at(gap);
        if gap > columns / 2 {
            let below = " ".repeat(indent + 4);
            return format!("{}\n{}", name.trim_end(), output::wrapped(&below, words, columns));
        }
        output::wrapped(name, words, columns)
    };
    text.lines().map(line).collect::<String>().trim_end().to_owned()
}

/// The help of a verb that searches for histories, with the scope that it takes if nothing is said.
fn search(command: Command, scope: Scope, examples: &str, codes: &str) -> Command {
    let with_default = |command: Command, name: &'static str, default: usize| {
        command.mut_arg(name, |it| {
            let words = it.get_help().map(ToString::to_string).unwrap_or_default();
            it.help(format!("{words}; {default} by default"))
        })
    };
    let command = with_default(command, "txns", scope.txns);
    let command = with_default(command, "keys", scope.keys);
    let command = with_default(command, "values", scope.values);
    command
        .after_help(short(examples, codes, "level names, and ways to search"))
        .after_long_help(format!("{examples}\n\n{codes}\n\n{}\n\n{OTHER_NAMES}", levels()))
}

const FIRST_STEPS: &str = "\
First steps:
  isoscope demo                    two databases in your terminal, one of them weak
  isoscope check FILE              judge a recorded history at every level
  isoscope check --help            formats, level names, examples
  isoscope compare si ser          how two levels relate, and the history that shows it
  isoscope verify FILE.txn         does a program keep its invariants? under which levels?
  isoscope allocate FILE.txn       which level does each transaction need, however many run?
  isoscope predict FILE            what could have happened instead of a recorded run?
  isoscope collect URL -o h.jsonl  record what a real database does, for check
  isoscope record --to URL -o h.jsonl  record what your own application does on its PostgreSQL
  isoscope serve --level cc        a weak PostgreSQL for the tests of your own application
  isoscope hunt URL                what does a database do that it should not?
  isoscope replay SCRIPT URL       does what hunt found show again?
  isoscope driver check COMMAND    does a driver of your own speak the protocol?
  isoscope store run smallbank     what happens to an application on a weak store?
  isoscope levels                  what the levels mean";

const EXIT_CODES: &str = "\
Exit codes:
  0  holds, allowed, nothing found
  1  violated, found
  2  the question could not be asked: bad input, bad option
  3  unknown: the time or memory ran out, or Ctrl-C ended the run";

const SEPARATE_CODES: &str = "\
Exit codes:
  0  there is no such history in the scope
  1  found
  2  the question could not be asked: bad name, bad option
  3  unknown: the time or memory ran out, or Ctrl-C ended the run";

const COMPARE_CODES: &str = "\
Exit codes:
  0  equivalent up to the scope
  1  stronger, weaker or incomparable: a history shows it
  2  the question could not be asked: bad name, bad option
  3  unknown: the time or memory ran out, or Ctrl-C ended the run";

const LATTICE_CODES: &str = "\
Exit codes:
  0  done
  2  the question could not be asked: bad name, bad option
  3  some pairs are unknown: the time or memory ran out, or Ctrl-C ended the run";

const DONE_CODES: &str = "\
Exit codes:
  0  done
  2  not possible: bad input, bad option";

const LIMIT_CODES: &str = "\
Exit codes:
  0  done
  2  not possible: bad input, bad option, or the format cannot express the history
  3  the time or memory ran out, or Ctrl-C ended the run";

const CHECK_EXAMPLES: &str = "\
Examples:
  isoscope check run.history                        every level
  isoscope check run.edn.gz --level si,ser          two levels of a compressed Jepsen history
  isoscope check logs/ --level ser --timeout 60s    a directory of Cobra logs, for a minute at most
  isoscope check run.jsonl --report why.html        with a page that explains what went wrong
  isoscope check run.jsonl --spec mine.spec         levels of your own
  isoscope check *.jsonl --format junit             as XML that CI services show among the tests
  generate | isoscope check - --json                from a pipe, for a script";

const PLAYGROUND_EXAMPLES: &str = "\
Examples:
  isoscope playground                any free port; the address is printed
  isoscope playground --port 8080    http://127.0.0.1:8080/";

const SEPARATE_EXAMPLES: &str = "\
Examples:
  isoscope separate --allow cc --forbid pc                      between two levels
  isoscope separate --allow si,biswas.update_ser --forbid ser   two levels that allow it
  isoscope separate --allow cc --forbid pc --all --limit 5      more than the smallest one
  isoscope separate --allow mine --forbid si --spec mine.spec   a level of your own
  isoscope separate --allow cc --forbid pc -o found.history     saved, for isoscope check
  isoscope separate --allow si --forbid ser -o - | isoscope check -
  isoscope separate --allow cerone.si --forbid biswas.si --txns 6 --partial-order-sessions";

const COMPARE_EXAMPLES: &str = "\
Examples:
  isoscope compare psi pc                          which one is stronger?
  isoscope compare biswas.si cerone.si             do two papers define the same level?
  isoscope compare si ser --bounded 6              without a proof, up to 6 transactions
  isoscope compare mine si --spec mine.spec        and my own definition?
  isoscope compare psi pc --report why.html        as a page with pictures";

const LATTICE_EXAMPLES: &str = "\
Examples:
  isoscope lattice                                    the levels that check knows by name
  isoscope lattice cc psi pc si                       four levels
  isoscope lattice --spec mine.spec                   with levels of your own
  isoscope lattice --all --report lattice.svg         all definitions, as a picture";

const VERIFY_EXAMPLES: &str = "\
Examples:
  isoscope verify bank.txn                             every level, and the weakest that holds
  isoscope verify bank.txn --level si                  is snapshot isolation enough?
  isoscope verify bank.txn --level si,psi --repair     and if not, what would repair it?
  isoscope verify bank.txn --database postgres         the levels of PostgreSQL, where += is one statement
  isoscope verify app.sql --database postgres          a program in SQL (docs/reference/sql-programs.md)
  isoscope verify bank.txn --run sqlite:               also as SQL on a real database, in many interleavings
  isoscope verify bank.txn --report why.html           the program beside a run that breaks it";

const VERIFY_CODES: &str = "\
Exit codes:
  0  the program keeps its invariants under all levels that were asked
  1  violated under one of them: a run shows it
  2  the question could not be asked: a mistake in the program, bad name, bad option
  3  unknown: the time or memory ran out, or Ctrl-C ended the run";

const ALLOCATE_EXAMPLES: &str = "\
Examples:
  isoscope allocate bank.txn                           rc, si or ser for each transaction
  isoscope allocate bank.txn --database postgres       with the statements to put before them
  isoscope allocate bank.txn --levels si               is snapshot isolation enough for all of them?
  isoscope allocate bank.txn --levels rc,ser           without snapshot isolation
  isoscope allocate bank.txn --report levels.html      as a page, with the runs that block weaker levels";

const ALLOCATE_CODES: &str = "\
Exit codes:
  0  robust: each transaction has a level that is enough
  1  not robust: a run shows that none of the levels is enough
  2  the question could not be asked: a mistake in the program, bad name, bad option
  3  unknown: neither could be shown, the time or memory ran out, or Ctrl-C ended the run";

const PREDICT_EXAMPLES: &str = "\
Examples:
  isoscope predict run.history                               all levels, strict boundary
  isoscope predict run.history --level cc                    could causal consistency break it?
  isoscope predict run.history --boundary relaxed --all      more predictions, of different shapes
  isoscope predict run.history --level rc --target si        what does si forbid that rc allows?
  isoscope predict run.jsonl --database postgres -l read-committed   the level as PostgreSQL means it
  isoscope predict run.history -o predicted.history          saved, for isoscope check
  isoscope predict run.history --report why.html             both runs side by side
  isoscope predict run.jsonl --boundary relaxed --validate smallbank   does it really happen?";

const PREDICT_CODES: &str = "\
Exit codes:
  0  none: the level allows no such run that the target forbids
  1  predicted
  2  the question could not be asked: bad input, bad name, bad option, or the level forbids the observed run
  3  unknown: the time or memory ran out, or an approximate search found nothing";

const VERIFY_PROGRAM: &str = "\
A program:
  table accounts(id) { balance: int }
  init { accounts[\"x\"].balance = 60; accounts[\"y\"].balance = 60 }
  txn withdraw(from, amount) {
      let total = accounts[\"x\"].balance + accounts[\"y\"].balance
      if total > amount { accounts[from].balance -= amount }
  }
  run withdraw(\"x\", 100) || withdraw(\"y\", 100)
  invariant accounts[\"x\"].balance + accounts[\"y\"].balance > 0

|| separates sessions; within a session, a; b runs a before b.
A number may stay open, such as withdraw(\"x\", any int in 0..100).
\"Holds\" covers all runs of these transactions, each run once, for all open values.";

#[cfg(feature = "record")]
const RECORD_EXAMPLES: &str = "\
Examples:
  isoscope record --to postgres://me@localhost/shop -o h.jsonl -- pytest tests/    as long as the command runs
  isoscope record --to postgres://me@localhost/shop --listen 127.0.0.1:5433 -o h.jsonl    until Ctrl-C
  isoscope check h.jsonl                                                           what the application was shown";

#[cfg(feature = "record")]
const RECORD_CODES: &str = "\
Exit codes:
  0  recorded, up to the end of the command or up to Ctrl-C, and every level of --check holds
  1  the command failed, or a level of --check is violated
  2  nothing could be recorded, or the history cannot be written
  3  a level of --check is not decided";

#[cfg(feature = "record")]
const SERVE_EXAMPLES: &str = "\
Examples:
  isoscope serve --level cc --schema app.sql -o h.jsonl --check ser -- pytest tests/    as long as the command runs
  isoscope serve --level rc --listen 127.0.0.1:5433 --seed 7 -o h.jsonl    until Ctrl-C; then run your tests
  isoscope serve --level cc --schema app.sql --replay predicted.history -- python3 app.py    along a prediction
  isoscope check h.jsonl                                                   what the application was shown";

#[cfg(feature = "record")]
const SERVE_CODES: &str = "\
Exit codes:
  0  served, up to the end of the command or up to Ctrl-C, and every level of --check holds
  1  the command failed, or a level of --check is violated
  2  nothing could be served, or the history cannot be written
  3  a level of --check is not decided";

const COLLECT_EXAMPLES: &str = "\
Examples:
  isoscope collect sqlite:bank.db -w bank -o h.jsonl                 a file of SQLite
  isoscope collect store:si -w rmw --sessions 4 -o h.jsonl           the weak store of this program
  isoscope collect postgres://me@localhost/test -i serializable --duration 30s -o h.jsonl
  isoscope collect mysql://me@localhost/test -w append --keys-like zipf --retry -o h.jsonl
  isoscope collect sqlite: --duration 10s -o h.jsonl --report run.html  with a chart of how it went
  isoscope collect store:ser --txns 20 -o - | isoscope check -       judged at once";

const COLLECT_CODES: &str = "\
Exit codes:
  0  recorded, up to its end or up to Ctrl-C
  1  recorded, and an assertion of the workload failed at the end
  2  not possible: bad address, bad option, the database fails, the disk is full";

const REPLAY_EXAMPLES: &str = "\
Examples:
  isoscope hunt store:cc --expect ser --script found.steps     what hunt found, as a script
  isoscope replay found.steps store:cc                         does it show again?
  isoscope replay found.sql mysql://root@localhost/test --times 20
  isoscope replay found.sql postgres://me@localhost/test -i serializable --report why.html";

const REPLAY_CODES: &str = "\
Exit codes:
  0  not shown: the expected level allows what happened
  1  shown: the expected level forbids what happened
  2  the question could not be asked: no such database, no script, bad name, bad option
  3  unknown: what happened was not decided, or the memory ran out";

const DRIVER_EXAMPLES: &str = "\
Examples:
  isoscope driver check \"command:python3 examples/drivers/sqlite.py\"    does it speak the protocol?
  isoscope hunt \"command:python3 examples/drivers/sqlite.py\" --for 20s  and is the database what it promises?";

const DRIVER_CODES: &str = "\
Exit codes:
  0  the driver speaks the protocol
  1  something is wrong, line by line
  2  the question could not be asked: bad option, no command";

const HUNT_EXAMPLES: &str = "\
Examples:
  isoscope hunt store:cc --expect ser             the weak store is not serializable
  isoscope hunt sqlite: --expect ser --for 10s    SQLite, in a temporary file
  isoscope hunt mysql://root@localhost/test -i repeatable-read --expect si
  isoscope hunt postgres://me@localhost/test -i serializable --for 5m    is it what PostgreSQL promises?
  isoscope hunt postgres://me@localhost/test -i read-committed --expect si --all --report why.html";

const HUNT_CODES: &str = "\
Exit codes:
  0  nothing found
  1  found: the database did what the expected level forbids
  2  the question could not be asked: no such database, bad name, bad option
  3  unknown: nothing found, but some histories were not decided, or the memory ran out";

const COLLECT_ADDRESSES: &str = "\
Addresses:
  postgres://user@host:5432/name     ?sslmode=verify-full, ?host=/folder; the rest from PGHOST, ~/.pgpass ..
  postgres:                          all of it from there
  mysql://user@host:3306/name        or mariadb://..; ?ssl-mode=REQUIRED; the rest from ~/.my.cnf, MYSQL_PWD ..
  mysql://user@h1:3306,h2:3306/name  several nodes of one database; postgres://.. likewise
  galera:3, mariadb:1, postgres:1+1  servers that are started for the run, the last one with a standby
  command:./driver ARGUMENTS         a driver of your own, in quotes; see docs/drivers.md
  sqlite:FILE                        or sqlite: for a temporary one; ?journal=wal or ?journal=delete
  store:LEVEL                        the weak store; ?policy=latest|random|adversarial, ?seed=7";

const STORE_EXAMPLES: &str = "\
Examples:
  isoscope store apps                                         the applications
  isoscope store run smallbank                                is money conserved under cc?
  isoscope store run tpcc --level si --policy adversarial     does snapshot isolation help?
  isoscope store run voter --level rc --seed 7 -o run.jsonl   recorded, for isoscope check
  isoscope store run auction --level psi -o - | isoscope check -";

const STORE_CODES: &str = "\
Exit codes:
  0  all assertions held
  1  an assertion of the application failed
  2  the question could not be asked: bad name, bad option
  3  unknown: the time or memory ran out, or Ctrl-C ended the run";

const OTHER_NAMES: &str = "\
A name such as cerone.si is a definition of the catalogue; mine.strong, or just strong, is one of mine.spec.";

const LEVELS_EXAMPLES: &str = "\
Examples:
  isoscope levels                        every definition, by framework
  isoscope levels --show si              what a name means, with its source
  isoscope levels --check mine.spec      is my own definition well formed?";

const CONVERT_EXAMPLES: &str = "\
Examples:
  isoscope convert run.edn run.history           a Jepsen history in our notation
  isoscope convert logs/ run.jsonl.gz            Cobra logs in one compressed file
  isoscope convert run.jsonl - --to plume        to standard output
  isoscope convert app.sql app.txn               a program in SQL as verify reads it";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  isoscope completions bash > ~/.local/share/bash-completion/completions/isoscope
  isoscope completions zsh > ~/.zfunc/_isoscope         with ~/.zfunc in $fpath
  isoscope completions fish > ~/.config/fish/completions/isoscope.fish";

const GENERATE_EXAMPLES: &str = "\
Examples:
  isoscope generate blindw-rw --txns 10000 -o h.jsonl               half reads, half blind writes
  isoscope generate tpcc-like --txns 10000 --store si -o h.jsonl    order entry on snapshots
  isoscope generate balanced --txns 1000 --inject lost-update -o h.jsonl
  isoscope generate high-dup --txns 1000 -o - | isoscope check -";

const REPORT_EXAMPLES: &str = "\
Examples:
  isoscope check run.history --json > result.json
  isoscope report result.json                            as text
  isoscope report result.json -o why.html -o why.svg     as a page and a picture";

const CERTIFY_EXAMPLES: &str = "\
Examples:
  isoscope compare biswas.si cerone.si --json > result.json
  isoscope certify result.json                           replays both proofs
  isoscope certify result.json --json                    for scripts";

const CERTIFY_CODES: &str = "\
Exit codes:
  0  certified: every claim follows from its evidence
  1  not certified: the evidence is wrong, or was changed
  2  not possible: the file is no saved result, or has no evidence
  3  incomplete: some claim has no evidence that can be checked";

fn short(examples: &str, codes: &str, more: &str) -> String {
    format!("{examples}\n\n{codes}\n\nMore with --help: {more}.")
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
        Level::usual().iter().map(|it| format!("  {:<5}{}{}", it.short_name(), it.full_name(), times(*it))).collect();
    let is_without = |it: &&Level| it.with_sessions().is_some();
    let others = Level::ALL.iter().filter(is_without).map(|it| format!("  {:<14}{}", it.short_name(), it.full_name()));
    format!(
        "Levels, weakest first (short and full names; `isoscope levels` has their definitions):\n{}\n\n\
         Without session order, as Elle and Adya define them; only if they are named:\n{}",
        lines.join("\n"),
        others.collect::<Vec<_>>().join("\n")
    )
}

fn verify_levels() -> String {
    let lines: Vec<String> =
        iso_answer::verify::LEVELS.iter().map(|it| format!("  {:<5}{}", it.short_name(), it.full_name())).collect();
    let of = |it: &iso_answer::verify::DatabaseLevel| format!("  {:<14}{}", it.name, it.sql);
    let mut of_databases: Vec<String> =
        iso_answer::verify::Database::ALL.into_iter().flat_map(iso_answer::verify::Database::levels).map(of).collect();
    of_databases.sort_unstable();
    of_databases.dedup();
    format!(
        "Levels, weakest first (short and full names):\n{}\n  ec   eventual consistency; for programs it is ra, because \
         transactions are seen as a whole\n\nLevels of databases:\n{}",
        lines.join("\n"),
        of_databases.join("\n")
    )
}

fn predict_levels() -> String {
    let line = |it: &Level| format!("  {:<5}{}", it.short_name(), it.full_name());
    let lines: Vec<String> = iso_answer::predict::LEVELS.iter().map(line).collect();
    let line = |it: &Level| format!("  {:<14}{}", it.short_name(), it.full_name());
    let of_databases: Vec<String> = iso_answer::predict::DATABASE_LEVELS.iter().map(line).collect();
    let targets: Vec<&str> = iso_answer::predict::TARGETS.iter().map(|it| it.short_name()).collect();
    format!(
        "Levels, weakest first (short and full names):\n{}\n\nLevels of databases, if they are named, or by their SQL \
         names with --database:\n{}\n\nTargets, which must be stronger: {}",
        lines.join("\n"),
        of_databases.join("\n"),
        targets.join(", ")
    )
}

fn times(level: Level) -> &'static str {
    if level.needs_times() { " (looks at begin and end times)" } else { "" }
}

fn formats() -> String {
    let lines: Vec<String> = Format::ALL.iter().map(|it| format!("  {:<12}{}", it.name(), it.description())).collect();
    format!("Formats, recognised by content:\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::fitted;

    #[test]
    fn words_of_a_table_wrap_below_each_other() {
        assert_eq!(
            fitted("  tpcc    orders that are paid", 20),
            "  tpcc    orders\n          that are\n          paid"
        );
        assert_eq!(fitted("Codes:\n  0  done", 20), "Codes:\n  0  done");
        assert_eq!(fitted("  isoscope hunt --all  all of it", 24), "  isoscope hunt --all\n      all of it");
        assert_eq!(fitted("a line of plain words", 10), "a line of\nplain\nwords");
    }
}

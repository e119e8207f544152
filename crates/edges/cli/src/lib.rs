//! The command line of Isoscope: arguments in, answers on standard output, and an exit code.
#![allow(clippy::exit, reason = "a verdict is an exit code, and a limit ends the process from another thread")]

mod any_number;
mod args;
pub mod ask;
mod checked;
pub mod clock;
mod commands;
mod construction_file;
mod counterexample;
mod dry_run;
mod effort;
#[cfg(feature = "parquet")]
mod engine;
mod exit;
mod found;
mod help;
mod hints;
mod interrupt;
mod judge;
mod limits;
mod lsp;
mod memory;
mod names;
mod on_server;
mod output;
pub mod playground;
mod prediction;
mod program_file;
mod program_workload;
mod progress;
mod promise;
#[cfg(feature = "record")]
mod proxied;
mod reporter;
mod results;
#[cfg(feature = "record")]
mod run_check;
mod said;
mod saved;
mod scope;
mod sought;
mod source;
mod spec_file;
mod streaming;
mod target;
mod text_file;
mod timeline;
mod unasked;
mod units;
mod unseen;
#[cfg(feature = "record")]
mod validated_command;
mod validation;
mod voice;
mod watch;

use args::{Arguments, Verb};
use clap::{Command, CommandFactory, FromArgMatches};
use exit::Exit;
use iso_report::Symbols;
use std::panic::{self, PanicHookInfo};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Reads the arguments of the process, does what they ask for, and ends the process with the exit code.
pub fn main() -> ! {
    let started = Instant::now();
    panic::set_hook(Box::new(give_up));
    let arguments = match command().try_get_matches() {
        Ok(matches) => Arguments::from_arg_matches(&matches),
        Err(error) => Err(error),
    };
    let arguments = arguments.unwrap_or_else(|error| error.exit());
    output::spell(if arguments.ascii { Symbols::Ascii } else { Symbols::Unicode });
    let result = match arguments.verb {
        Verb::Check(raw) => commands::check::run(raw, started),
        Verb::Separate(raw) => commands::separate::run(&raw, started),
        Verb::Compare(raw) => commands::compare::run(&raw, started),
        Verb::Lattice(raw) => commands::lattice::run(&raw, started),
        Verb::Verify(raw) => commands::verify::run(&raw, started),
        Verb::Allocate(raw) => commands::allocate::run(&raw, started),
        Verb::Predict(raw) => commands::predict::run(&raw, started),
        Verb::Collect(raw) => commands::collect::run(&raw, started),
        #[cfg(feature = "record")]
        Verb::Record(raw) => commands::record::run(&raw, started),
        #[cfg(feature = "record")]
        Verb::Serve(raw) => commands::serve::run(&raw, started),
        Verb::Hunt(raw) => commands::hunt::run(&raw, started),
        Verb::Replay(raw) => commands::replay::run(&raw, started),
        Verb::Driver(raw) => commands::driver::run(&raw.what),
        Verb::Store(raw) => commands::store::run(&raw.what, started),
        Verb::Levels(raw) => commands::levels::run(&raw),
        Verb::Convert(raw) => commands::convert::run(&raw, started),
        Verb::Generate(raw) => commands::generate::run(&raw, started),
        Verb::Report(raw) => commands::report::run(raw, started),
        Verb::Certify(raw) => commands::certify::run(&raw, started),
        Verb::Playground(raw) => commands::playground::run(&raw),
        Verb::Lsp(raw) => commands::lsp::run(&raw),
        Verb::Demo(raw) => commands::demo::run(&raw, started),
        Verb::Completions(raw) => commands::completions::run(&raw),
    };
    end(result.unwrap_or_else(|error| {
        output::complain(&format!("{error:#}"));
        Exit::Unasked
    }))
}

/// The command line with all its help, for those who make manuals and completions of it.
pub fn command() -> Command {
    help::with_tables(Arguments::command())
}

/// Ends the process.
fn end(exit: Exit) -> ! {
    process::exit(exit.code())
}

/// Ends the process after a bug, which must never look like a verdict.
fn give_up(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(|it| format!(" at {}:{}", it.file(), it.line())).unwrap_or_default();
    let payload = panic.payload();
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    let what = owned.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
    let what = what.lines().next().unwrap_or_default();
    output::complain(&format!(
        "this is a bug in isoscope, not a verdict: {what}{place}; please report it with the command and the input"
    ));
    end(Exit::Unasked)
}

/// Locks, even if another thread ended in the middle: the values behind our locks are never half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

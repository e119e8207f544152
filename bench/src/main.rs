//! `cargo xtask bench`: how much the release build takes.
//!
//! `bench check` measures time and memory of whole commands on large histories; `bench instructions` counts
//! instructions on small ones, which does not depend on who else uses the machine; `bench separate` measures the search
//! for histories between levels; `bench verify` programs; `bench predict` prints what is predicted from applications and
//! how long it takes, with `--growth` for runs that grow; `bench store` measures the weak store; `bench collect` says
//! what recording costs; `bench hard` says how many histories with few values are decided; `bench stream` measures
//! recordings that are checked while they are read.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]

mod arguments;
mod cell;
mod check;
mod expectation;
mod figures;
mod folder;
mod hard;
mod inputs;
mod instructions;
mod measure;
mod separate;
mod stream;
mod table;

use anyhow::{Result, bail};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use xtask::system::run as run_program;
use xtask::{root, target_folder};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one of the benches.
fn run(words: &[&str]) -> Result<()> {
    match words {
        ["instructions", rest @ ..] => instructions::run(rest),
        ["separate", rest @ ..] => separate::run(rest),
        ["hard", rest @ ..] => hard::run(rest),
        ["stream", rest @ ..] => stream::run(rest),
        ["verify", rest @ ..] => engine("iso-verify", "programs", rest),
        ["predict", "--growth", rest @ ..] => engine("iso-predict", "runs", rest),
        ["predict", rest @ ..] => engine("iso-collect", "predictions", rest),
        ["store", rest @ ..] => engine("iso-store", "reads", rest),
        ["collect", rest @ ..] => engine("iso-collect", "recording", rest),
        ["check", rest @ ..] | rest => check::run(rest),
    }
}

/// Runs a crate's own bench, which knows what to measure and prints it.
fn engine(package: &str, bench: &str, words: &[&str]) -> Result<()> {
    let arguments = ["bench", "--quiet", "--package", package, "--bench", bench, "--"];
    run_program(Command::new(env!("CARGO")).args(arguments).args(words).current_dir(root()))
}

/// Builds the release binary, and says where it is.
fn build() -> Result<PathBuf> {
    run_program(Command::new(env!("CARGO")).args(["build", "--release", "--package", "isoscope"]).current_dir(root()))?;
    let binary = target_folder().join("release/isoscope");
    if !binary.exists() {
        bail!("{} is missing after the build", binary.display());
    }
    Ok(binary)
}

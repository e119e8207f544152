//! Developer tasks: `cargo xtask test` is exactly what CI runs.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]

mod arguments;
mod bench;
mod browser;
mod dist;
mod generate;
mod man;
mod measure;
mod pages;
mod random;
mod setup;
mod soak;
mod system;
mod test;

use anyhow::{Result, bail};
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <task>

  test                     formatting, lints, all tests, documentation, fuzz targets, pages in a browser; begins with setup
  ci                       the same
  setup                    installs the system's packages that building and testing need, and says which
  pages [--images]         pages in Chromium: what they show and what clicks do; part of `test`. Or takes the README's
                           pictures of them again
  man                      manual pages, one for each verb, in target/man
  dist TARGET              an archive to give away, with the binary for this target, in target/packages
  bench [check] ...        times and peak memory per level, in bench-runs/ too; `bench --help` says more
  bench verify [NAME]      times the programs of the corpus, and generated ones that grow
  bench predict [APP..]    what is predicted from applications, whether it comes true, and how long it takes
  bench predict --growth   times of predictions from runs that grow
  bench store              how fast the weak store serves reads
  bench instructions       counts instructions on small histories, and compares them with a baseline
  bench collect            what recording a history costs, with a thousand sessions, and in memory
  bench separate ...       times of the separation problems of the paper on Isolde; `bench separate --help` says more
  generate WORKLOAD ...    writes a history of a chosen kind and size; `generate --help` says more
  soak [--minutes N]       random agreement tests with new seeds, for ten minutes unless told otherwise
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> Result<()> {
    match args {
        ["test" | "ci"] => test::test(),
        ["setup"] => setup::setup().map(|_| ()),
        ["man"] => man::man().map(|folder| println!("{}", folder.display())),
        ["dist", target] => dist::dist(target),
        ["pages"] => pages::pages(),
        ["pages", "--images"] => pages::images(),
        ["bench", words @ ..] => bench::run(words),
        ["generate", words @ ..] => generate::command::run(words),
        ["soak"] => soak::soak(soak::DEFAULT_MINUTES),
        ["soak", "--minutes", minutes] => soak::soak(minutes.parse()?),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        _ => bail!("no such task\n\n{USAGE}"),
    }
}

/// The project's root.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().map(PathBuf::from).unwrap_or_default()
}

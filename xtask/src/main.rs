//! Developer tasks: `cargo xtask test` is exactly what CI runs.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]

mod book;
mod browser;
mod dist;
mod hunts;
mod man;
mod offline;
mod pages;
mod playground;
mod python;
mod setup;
mod soak;
mod test;

use anyhow::{Result, bail};
use std::process::{Command, ExitCode};
use xtask::{root, system};

const USAGE: &str = "\
usage: cargo xtask <task>

  test                     formatting, lints, all tests, documentation, fuzz targets, pages in a browser; begins with setup
  ci                       the same
  setup                    installs the system's packages that building and testing need, and says which
  pages [--images]         pages in Chromium: what they show and what clicks do; part of `test`. Or takes the README's
                           pictures of them again
  pages --playground       only the playground
  playground               the playground as one file that needs no server, target/playground/isoscope.html
  playground --test        the same, opened in Chromium: all of the corpus is answered as by the binary; part of `soak`
  python                   tests of the Python package, in an environment of its own; part of `test`
  book                     the book, with mdbook, in target/book; every link in it leads somewhere
  man                      manual pages, one for each verb, in target/man
  dist TARGET              an archive to give away, with the binary for this target, in target/packages
  bench [check] ...        times and peak memory per level, in bench-runs/ too; `bench --help` says more
  bench hard ...           how many histories with few values are decided; `bench hard --help` says more
  bench verify [NAME]      times the programs of the corpus, and generated ones that grow
  bench predict [APP..]    what is predicted from applications, whether it comes true, and how long it takes
  bench predict --growth   times of predictions from runs that grow
  bench store              how fast the weak store serves reads
  bench instructions       counts instructions on small histories, and compares them with a baseline
  bench collect            what recording a history costs, with a thousand sessions, and in memory
  bench stream ...         recordings that are checked while they are read; `bench stream --help` says more
  bench separate ...       times of the separation problems of the paper on Isolde; `bench separate --help` says more
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

/// Runs the benches, which are a program of their own.
fn bench(words: &[&str]) -> Result<()> {
    let cargo = ["run", "--quiet", "--release", "--package", "iso-bench", "--"];
    system::run(Command::new(env!("CARGO")).args(cargo).args(words).current_dir(root()))
}

fn run(args: &[&str]) -> Result<()> {
    match args {
        ["test" | "ci"] => test::test(),
        ["setup"] => setup::setup().map(|_| ()),
        ["book"] => book::book().map(|folder| println!("{}", folder.display())),
        ["man"] => man::man().map(|folder| println!("{}", folder.display())),
        ["dist", target] => dist::dist(target),
        ["pages"] => pages::pages(),
        ["python"] => python::python(),
        ["pages", "--images"] => pages::images(),
        ["pages", "--playground"] => pages::only_playground(),
        ["playground"] => offline::build().map(|_| ()),
        ["playground", "--test"] => offline::test(),
        ["bench", words @ ..] => bench(words),
        ["soak"] => soak::soak(soak::DEFAULT_MINUTES),
        ["soak", "--minutes", minutes] => soak::soak(minutes.parse()?),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        _ => bail!("no such task\n\n{USAGE}"),
    }
}

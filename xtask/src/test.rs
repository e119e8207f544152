//! `cargo xtask test`: everything that CI asks for, one step after the other, until the first failure.

use crate::man::man;
use crate::setup::{Part, setup};
use anyhow::{Context, Result};
use std::process::Command;
use std::time::Instant;
use xtask::root;
use xtask::system::run;

struct Step {
    title: &'static str,
    args: &'static [&'static str],
}

const STEPS: &[Step] = &[
    Step { title: "formatting", args: &["fmt", "--all", "--check"] },
    Step { title: "lints", args: &["clippy", "--workspace", "--all-targets", "--", "-Dwarnings"] },
    Step { title: "tests", args: &["test", "--workspace", "--all-targets"] },
    Step { title: "examples in documentation", args: &["test", "--workspace", "--doc"] },
    Step { title: "documentation", args: &["doc", "--workspace", "--no-deps"] },
    Step {
        title: "the library without features",
        args: &["check", "--package", "isoscope", "--lib", "--no-default-features"],
    },
    Step {
        title: "fuzz targets",
        // Checked and not linked: only a nightly toolchain makes fuzzers of them.
        args: &["check", "--manifest-path", "fuzz/Cargo.toml", "--bins", "--locked", "--target-dir", "target/fuzz"],
    },
];

/// Runs every step.
pub(crate) fn test() -> Result<()> {
    let start = Instant::now();
    let missing = setup()?;
    let has = |part: Part| missing.iter().all(|it| it.part != part);
    let python =
        if has(Part::Python) { Some(crate::python::environment().context("packages of Python")?) } else { None };
    for (idx, step) in STEPS.iter().enumerate() {
        let since = Instant::now();
        println!("[{}/{}] {}: cargo {}", idx + 1, STEPS.len(), step.title, step.args.join(" "));
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(step.args).current_dir(root()).env("RUSTDOCFLAGS", "-Dwarnings");
        if has(Part::Servers) {
            // From here on, a server that is missing is a failure.
            cargo.env("ISOSCOPE_SERVERS", "required");
        }
        if let Some(python) = &python {
            cargo.env("ISOSCOPE_PYTHON", python).env("ISOSCOPE_DATAFUSION", "required");
        }
        run(&mut cargo).with_context(|| format!("step {} of {}, {}", idx + 1, STEPS.len(), step.title))?;
        println!("[{}/{}] {}: ok, {:.1} s", idx + 1, STEPS.len(), step.title, since.elapsed().as_secs_f64());
    }
    let since = Instant::now();
    println!("engines in Rust: hunts that must find something, and hunts that must not");
    crate::hunts::short_hunts().context("engines in Rust")?;
    println!("engines in Rust: ok, {:.1} s", since.elapsed().as_secs_f64());
    println!("manual pages: {}", man().context("manual pages")?.display());
    if has(Part::Python) {
        println!("the Python package");
        crate::python::python().context("the Python package")?;
    }
    if has(Part::Pages) {
        println!("pages in a browser");
        crate::pages::pages().context("pages in a browser")?;
    }
    println!("all steps passed in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

//! `cargo xtask test`: everything that CI asks for, one step after the other, until the first failure.

use crate::root;
use crate::system::{ensure_debian_package, install_debian_package, run};
use anyhow::{Context, Result};
use iso_servers::{Kind, is_installed};
use std::process::Command;
use std::time::Instant;

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
];

/// Runs every step.
pub(crate) fn test() -> Result<()> {
    let start = Instant::now();
    // The solver is C++ and is compiled with the workspace.
    ensure_debian_package("g++", "g++")?;
    let has_servers = ensure_servers();
    for (idx, step) in STEPS.iter().enumerate() {
        let since = Instant::now();
        println!("[{}/{}] {}: cargo {}", idx + 1, STEPS.len(), step.title, step.args.join(" "));
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(step.args).current_dir(root()).env("RUSTDOCFLAGS", "-Dwarnings");
        if has_servers {
            // From here on, a server that is missing is a failure.
            cargo.env("ISOSCOPE_SERVERS", "required");
        }
        run(&mut cargo).with_context(|| format!("step {} of {}, {}", idx + 1, STEPS.len(), step.title))?;
        println!("[{}/{}] {}: ok, {:.1} s", idx + 1, STEPS.len(), step.title, since.elapsed().as_secs_f64());
    }
    println!("all {} steps passed in {:.1} s", STEPS.len(), start.elapsed().as_secs_f64());
    Ok(())
}

/// Installs the database servers that tests start, where that can be done. Says what is skipped where it cannot.
fn ensure_servers() -> bool {
    let mut has_all = true;
    for kind in Kind::ALL.into_iter().filter(|it| !is_installed(*it)) {
        if let Err(error) = install_debian_package(kind.package()) {
            println!("{kind} is missing, so its tests are skipped: {error:#}");
            has_all = false;
        }
    }
    has_all && Kind::ALL.into_iter().all(is_installed)
}

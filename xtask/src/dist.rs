//! `cargo xtask dist`: one archive to give away, with the binary, its manual, completions and licences, and a checksum.

use crate::man::man;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::Command;
use xtask::system::{exists, first_line, run};
use xtask::{root, target_folder};

const SHELLS: [&str; 4] = ["bash", "zsh", "fish", "elvish"];

/// Writes `target/packages/isoscope-VERSION-TARGET.tar.gz` and its checksum.
pub(crate) fn dist(target: &str) -> Result<()> {
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--profile", "dist", "--locked", "--bin", "isoscope", "--target", target]);
    run(build.current_dir(root()))?;
    let binary = target_folder().join(format!("{target}/dist/isoscope"));
    let version = first_line(Command::new(&binary).arg("--version"))?.replace(' ', "-");

    let (name, packages) = (format!("{version}-{target}"), target_folder().join("packages"));
    let folder = packages.join(&name);
    fs::create_dir_all(folder.join("completions"))?;
    fs::copy(&binary, folder.join("isoscope"))?;
    for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(root().join(file), folder.join(file))?;
    }
    copy_files(&man()?, &folder.join("man"))?;
    for shell in SHELLS {
        let output = Command::new(&binary).args(["completions", shell]).output()?;
        fs::write(folder.join(format!("completions/isoscope.{shell}")), output.stdout)?;
    }

    let archive = format!("{name}.tar.gz");
    run(Command::new("tar").args(["-czf", &archive, &name]).current_dir(&packages))?;
    fs::remove_dir_all(&folder)?;
    let sum = first_line(checksum().arg(&archive).current_dir(&packages))?;
    fs::write(packages.join(format!("{archive}.sha256")), sum + "\n")?;
    println!("{}", packages.join(archive).display());
    Ok(())
}

/// The program that computes checksums, under the name that this system has for it.
fn checksum() -> Command {
    if exists("sha256sum") {
        return Command::new("sha256sum");
    }
    let mut command = Command::new("shasum");
    command.args(["-a", "256"]);
    command
}

fn copy_files(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        fs::copy(&path, to.join(path.file_name().context("a file has no name")?))?;
    }
    Ok(())
}

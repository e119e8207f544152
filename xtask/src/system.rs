//! Runs other programs, and installs those that are missing.

use anyhow::{Context, Result, bail};
use std::process::{Command, Stdio};

/// Runs a program to its end; anything but success is an error.
pub fn run(command: &mut Command) -> Result<()> {
    let shown = show(command);
    let status = command.status().with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// The first line that a program prints.
pub fn first_line(command: &mut Command) -> Result<String> {
    let shown = show(command);
    let output = command.output().with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}` failed ({})", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
}

/// Makes sure that a command exists, by installing the Debian package that has it.
pub fn ensure_debian_package(command: &str, package: &str) -> Result<()> {
    if exists(command) {
        return Ok(());
    }
    println!("`{command}` is missing: installing the package {package}");
    install_debian_packages(&[package])?;
    if !exists(command) {
        bail!("the package {package} is installed and has no `{command}`");
    }
    Ok(())
}

/// Installs Debian packages, as the superuser or with sudo's help.
///
/// Says how to install them by hand where apt is not there or may not be used.
pub fn install_debian_packages(packages: &[&str]) -> Result<()> {
    let names = packages.join(" ");
    if !exists("apt-get") {
        bail!("there is no apt-get; install what this system calls {names}");
    }
    let prefix: &[&str] = if is_superuser()? { &[] } else { &["sudo", "--non-interactive"] };
    let install = [&["install", "--yes", "--no-install-recommends"], packages].concat();
    for action in [&["update"][..], &install] {
        let words: Vec<&str> = [prefix, &["apt-get", "--quiet"], action].concat();
        let mut apt = Command::new(words[0]);
        apt.args(&words[1..]).env("DEBIAN_FRONTEND", "noninteractive");
        run(&mut apt).with_context(|| format!("install {names} by hand, then try again"))?;
    }
    Ok(())
}

/// Whether a program runs and ends well.
pub fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    output.is_ok_and(|it| it.status.success())
}

/// Whether the shell finds a command.
pub fn exists(command: &str) -> bool {
    let found = Command::new("sh").args(["-c", "command -v \"$0\"", command]).stdout(Stdio::null()).status();
    found.is_ok_and(|it| it.success())
}

fn is_superuser() -> Result<bool> {
    Ok(first_line(Command::new("id").arg("-u"))? == "0")
}

fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|it| it.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

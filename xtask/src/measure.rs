//! Runs a program and measures its time and its peak memory.
#![allow(unsafe_code, reason = "only wait4 tells the peak memory of one child exactly, and std has no way to call it")]

use anyhow::{Context, Result, bail};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What one run took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measurement {
    pub(crate) seconds: f64,
    pub(crate) peak_bytes: u64,
    pub(crate) exit_code: i32,
}

/// Runs a program to its end without showing what it prints.
pub(crate) fn measure(command: &mut Command) -> Result<Measurement> {
    let start = Instant::now();
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("cannot start the program")?;
    let pid = i32::try_from(child.id()).context("the process number does not fit")?;
    let mut status = 0;
    // SAFETY: all-zero bytes are a valid rusage, which is plain numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live variables of the right types; the child is ours, and nobody else waits for it.
    let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
    let seconds = start.elapsed().as_secs_f64();
    if waited != pid || !libc::WIFEXITED(status) {
        bail!("the program was ended by a signal, or could not be waited for");
    }
    // Linux counts kilobytes.
    let peak_bytes = u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024;
    Ok(Measurement { seconds, peak_bytes, exit_code: libc::WEXITSTATUS(status) })
}

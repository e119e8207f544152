//! Runs a program and measures its time and its peak memory.
#![allow(unsafe_code, reason = "only wait4 tells the peak memory of one child exactly, and std has no way to call it")]

use anyhow::{Context, Result, bail};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Code(i32),
    /// By a signal of somebody else, or by its own fault.
    Signal,
    /// It was ended, as it took too long.
    Overdue,
}

/// What one run took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measurement {
    pub(crate) seconds: f64,
    /// On all processors together; unlike the time on the wall, it hardly depends on who else uses them.
    pub(crate) cpu_seconds: f64,
    pub(crate) peak_bytes: u64,
    pub(crate) end: End,
}

/// Runs a program to its end, or ends it when its time is over, without showing what it prints.
pub(crate) fn measure(command: &mut Command, at_most: Duration) -> Result<Measurement> {
    let start = Instant::now();
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("cannot start the program")?;
    let pid = i32::try_from(child.id()).context("the process number does not fit")?;
    let (done, is_done) = channel::<()>();
    let watch = thread::spawn(move || {
        let is_overdue = is_done.recv_timeout(at_most) == Err(RecvTimeoutError::Timeout);
        if is_overdue {
            // SAFETY: takes no pointers. The child has not been waited for yet, so the number is still its own.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        is_overdue
    });
    let ended = wait_for_end(pid);
    let seconds = start.elapsed().as_secs_f64();
    drop(done);
    let is_overdue = watch.join().unwrap_or(false);
    ended?;
    let (status, usage) = reap(pid)?;
    let end = match status {
        _ if is_overdue => End::Overdue,
        status if libc::WIFEXITED(status) => End::Code(libc::WEXITSTATUS(status)),
        _ => End::Signal,
    };
    // Linux counts kilobytes.
    let peak_bytes = u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024;
    let cpu_seconds = to_seconds(usage.ru_utime) + to_seconds(usage.ru_stime);
    Ok(Measurement { seconds, cpu_seconds, peak_bytes, end })
}

/// Waits, and leaves the child to be waited for again.
fn wait_for_end(pid: i32) -> Result<()> {
    let id = libc::id_t::try_from(pid).context("the process number is negative")?;
    // SAFETY: all-zero bytes are a valid siginfo_t, which is plain numbers.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live variable of the right type; the child is ours.
    let waited = unsafe { libc::waitid(libc::P_PID, id, &raw mut info, libc::WEXITED | libc::WNOWAIT) };
    if waited != 0 {
        bail!("the program could not be waited for");
    }
    Ok(())
}

/// The status of a child that has ended, and what it used.
fn reap(pid: i32) -> Result<(i32, libc::rusage)> {
    let mut status = 0;
    // SAFETY: all-zero bytes are a valid rusage, which is plain numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live variables of the right types; the child is ours, and nobody else reaps it.
    let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
    if waited != pid {
        bail!("the program could not be waited for");
    }
    Ok((status, usage))
}

fn to_seconds(time: libc::timeval) -> f64 {
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_usec).unwrap_or(0) * 1000)
        .as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, at_most_ms: u64) -> Measurement {
        measure(Command::new("sh").args(["-c", script]), Duration::from_millis(at_most_ms)).unwrap()
    }

    #[test]
    fn the_end_of_a_run_is_told() {
        let measured = shell("exit 3", 60_000);
        assert_eq!(measured.end, End::Code(3));
        assert!(measured.peak_bytes > 100_000 && measured.seconds < 60.0);
        assert!(measured.cpu_seconds < 60.0);
        assert_eq!(shell("kill -9 $$", 60_000).end, End::Signal);
    }

    #[test]
    fn a_run_that_takes_too_long_is_ended() {
        let measured = shell("exec sleep 60", 100);
        assert_eq!(measured.end, End::Overdue);
        assert!(measured.seconds < 30.0);
    }
}

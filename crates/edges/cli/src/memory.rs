//! How much memory the process and the machine have, as far as the system tells.

use std::fs;

/// The resident memory of this process in bytes.
pub(crate) fn resident() -> Option<u64> {
    field("/proc/self/status", "VmRSS:")
}

/// The most memory that was resident at once, in bytes.
pub(crate) fn peak() -> Option<u64> {
    field("/proc/self/status", "VmHWM:")
}

/// The memory of the machine, in bytes.
pub(crate) fn machine() -> Option<u64> {
    field("/proc/meminfo", "MemTotal:")
}

/// A field of a file of `/proc` that counts in KiB.
fn field(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|it| it.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

//! What tasks share: the project's root, and other programs.
#![allow(clippy::print_stdout, reason = "tasks say what they do")]

pub mod system;

use std::path::PathBuf;

/// The project's root.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().map(PathBuf::from).unwrap_or_default()
}

/// Where cargo puts what it builds.
pub fn target_folder() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root().join(target)
}

//! What only Unix has: owners and permissions of files, and processes in groups of their own. Elsewhere there are no servers to
//! start, and what is said here has no effect.

#[cfg(not(unix))]
pub use elsewhere::CommandExt;
#[cfg(not(unix))]
pub(crate) use elsewhere::{chown, keep_private, owner};
#[cfg(unix)]
pub use std::os::unix::process::CommandExt;
#[cfg(unix)]
pub(crate) use {on_unix::keep_private, on_unix::owner, std::os::unix::fs::chown};

#[cfg(unix)]
mod on_unix {
    use std::fs::{self, Metadata, Permissions};
    use std::io;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::path::Path;

    /// The number of the user to whom a file belongs.
    pub(crate) fn owner(about: &Metadata) -> u32 {
        about.uid()
    }

    /// Lets only the owner of a file read it.
    pub(crate) fn keep_private(path: &Path) -> io::Result<()> {
        fs::set_permissions(path, Permissions::from_mode(0o600))
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use std::fs::Metadata;
    use std::io;
    use std::path::Path;
    use std::process::Command;

    /// How processes are started.
    pub trait CommandExt {
        /// In a group of its own.
        fn process_group(&mut self, group: i32) -> &mut Command;
        /// As another user.
        fn uid(&mut self, id: u32) -> &mut Command;
        /// As a member of another group.
        fn gid(&mut self, id: u32) -> &mut Command;
    }

    impl CommandExt for Command {
        fn process_group(&mut self, _: i32) -> &mut Command {
            self
        }

        fn uid(&mut self, _: u32) -> &mut Command {
            self
        }

        fn gid(&mut self, _: u32) -> &mut Command {
            self
        }
    }

    /// Gives a file to another user.
    pub(crate) fn chown(_: impl AsRef<Path>, _: Option<u32>, _: Option<u32>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The number of the user to whom a file belongs.
    pub(crate) fn owner(_: &Metadata) -> u32 {
        u32::MAX
    }

    /// Lets only the owner of a file read it.
    pub(crate) fn keep_private(_: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

//! What surrounds the program: variables, the home folder, the name of the user. Drivers look there for what an address
//! leaves out, as the databases' own clients do.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;

/// Variables and files that addresses are completed from.
#[derive(Clone, Default)]
pub(crate) struct Environment {
    variables: HashMap<String, String>,
    home: Option<PathBuf>,
    user: Option<String>,
}

/// Variables may have passwords.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").field("home", &self.home).finish_non_exhaustive()
    }
}

impl Environment {
    /// What surrounds this process.
    pub(crate) fn of_process() -> Self {
        let text = |it: std::ffi::OsString| it.into_string().ok();
        let pair = |(name, value)| Some((text(name)?, text(value)?));
        let home = std::env::home_dir().filter(|it| !it.as_os_str().is_empty());
        Self { variables: std::env::vars_os().filter_map(pair).collect(), home, user: None }.with_user()
    }

    /// One of a test.
    #[cfg(test)]
    pub(crate) fn of(variables: &[(&str, &str)], home: Option<PathBuf>) -> Self {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { variables, home, user: Some("somebody".to_owned()) }
    }

    /// A variable that is set to something.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|it| !it.is_empty())
    }

    /// A file below the home folder, whether it is there or not.
    pub(crate) fn in_home(&self, file: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|it| it.join(file))
    }

    /// What the operating system calls the user.
    pub(crate) fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    fn with_user(self) -> Self {
        let variable = || self.variable("USER").or_else(|| self.variable("LOGNAME")).map(str::to_owned);
        let user = user_of_process().or_else(variable);
        Self { user, ..self }
    }
}

/// The owner of this process by name, where the system has its usual files.
#[cfg(unix)]
fn user_of_process() -> Option<String> {
    let id = std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").ok()?).to_string();
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let mut fields = users.lines().map(|it| it.split(':').collect::<Vec<_>>());
    fields.find(|it| it.get(2) == Some(&id.as_str())).map(|it| it[0].to_owned())
}

#[cfg(not(unix))]
fn user_of_process() -> Option<String> {
    None
}

/// Who may do what with a file: the low nine bits, as `chmod` takes them; only the owner where there are no such bits.
#[cfg(unix)]
pub(crate) fn permissions(about: &fs::Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::mode(about) & 0o777
}

/// See above.
#[cfg(not(unix))]
pub(crate) fn permissions(_: &fs::Metadata) -> u32 {
    0o600
}

/// Is it the superuser's file?
#[cfg(unix)]
pub(crate) fn is_superusers(about: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(about) == 0
}

/// See above.
#[cfg(not(unix))]
pub(crate) fn is_superusers(_: &fs::Metadata) -> bool {
    false
}

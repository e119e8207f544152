//! Throw-away database servers on loopback, for `isoscope serve` and for tests: each in a temporary folder, on a port of its own.
//!
//! A server runs as long as its [`Server`] lives, and is ended by its process id. The superuser's servers run as
//! somebody else, because no database server wants to be the superuser's.

#[cfg(feature = "certificates")]
mod certificates;
mod cluster;
mod kind;
mod pooler;
mod programs;
mod proxy;
pub mod system;
mod watchdog;

#[cfg(feature = "certificates")]
pub use certificates::{Authority, Identity, self_signed};
pub use cluster::{Cluster, Topology};
pub use kind::Kind;
pub use pooler::{Pooler, is_pooler_installed};
pub use programs::{PROGRAMS, is_installed};
pub use proxy::Proxy;

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};
use system::{chown, keep_private};
use tempfile::TempDir;
use thiserror::Error;
use watchdog::Watchdog;

/// How long a server may take to come up or to end, on a machine that does other things as well.
const PATIENCE: Duration = Duration::from_secs(180);

/// The user of every server, and its password. They protect nothing: the server lives as long as a test.
pub const USER: &str = "isoscope";

/// See [`USER`].
pub const PASSWORD: &str = "loopback-only";

/// A server that runs.
#[derive(Debug)]
pub struct Server {
    kind: Kind,
    folder: TempDir,
    port: u16,
    settings: Vec<String>,
    process: Child,
    watchdog: Option<Watchdog>,
}

/// Why there is no server.
#[derive(Debug, Error)]
pub enum StartError {
    /// It is not installed.
    #[error("`{program}` is not installed; it comes with the package {package}")]
    Missing {
        /// What is missing.
        program: &'static str,
        /// What Debian calls its package.
        package: &'static str,
    },
    /// It does not start.
    #[error("{kind} does not start: {reason}")]
    Failed {
        /// What was started.
        kind: Kind,
        /// What happened, with the end of what it wrote.
        reason: String,
    },
}

impl Server {
    /// Starts a server with settings such as `deadlock_timeout=100ms`, and waits until it answers.
    pub fn start(kind: Kind, settings: &[&str]) -> Result<Self, StartError> {
        Self::start_with(kind, settings, &[])
    }

    /// As [`Self::start`], with files by name and text that only the server may read. In settings, `{folder}` is where
    /// they are.
    pub fn start_with(kind: Kind, settings: &[&str], files: &[(&str, &str)]) -> Result<Self, StartError> {
        kind.programs()?;
        let failed = |reason: String| StartError::Failed { kind, reason };
        let folder = TempDir::with_prefix("isoscope-server-").map_err(|it| failed(it.to_string()))?;
        if let Some((user, group)) = programs::other_user() {
            chown(folder.path(), Some(user), Some(group)).map_err(|it| failed(it.to_string()))?;
        }
        // On a busy machine the first try may fail for want of the system's resources.
        let made = kind.initialize(folder.path()).or_else(|_| {
            thread::sleep(Duration::from_secs(1));
            fs::remove_dir_all(folder.path().join("data")).ok();
            kind.initialize(folder.path())
        });
        made.map_err(failed)?;
        for (name, text) in files {
            private_file(folder.path(), name, text).map_err(failed)?;
        }
        let place = folder.path().display().to_string();
        let settings: Vec<String> = settings.iter().map(|it| it.replace("{folder}", &place)).collect();
        // Somebody may take the port between its choice and its use.
        let mut left = 3;
        loop {
            let port = free_port().map_err(failed)?;
            left -= 1;
            match launch(kind, folder.path(), port, &settings) {
                Ok(process) => {
                    return Ok(Self::watched(kind, folder, port, settings, process));
                }
                Err(reason) if left == 0 => return Err(failed(reason)),
                Err(_) => {}
            }
        }
    }

    /// A server that follows this one, of `PostgreSQL`, and can only be read.
    pub fn standby(&self) -> Result<Self, StartError> {
        self.standby_through(self.port)
    }

    /// As [`Self::standby`], which reaches this one through another port.
    pub(crate) fn standby_through(&self, port: u16) -> Result<Self, StartError> {
        let kind = self.kind;
        let failed = |reason: String| StartError::Failed { kind, reason };
        let folder = TempDir::with_prefix("isoscope-standby-").map_err(|it| failed(it.to_string()))?;
        if let Some((user, group)) = programs::other_user() {
            chown(folder.path(), Some(user), Some(group)).map_err(|it| failed(it.to_string()))?;
        }
        let mut copy = programs::command(&programs::find("pg_basebackup", kind.package())?, folder.path());
        copy.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-U", USER, "-R", "-c", "fast", "-D"]);
        copy.arg(folder.path().join("data")).env("PGPASSWORD", PASSWORD);
        programs::run(copy).map_err(failed)?;
        let (port, settings) = (free_port().map_err(failed)?, self.settings.clone());
        let process = launch(kind, folder.path(), port, &settings).map_err(failed)?;
        Ok(Self::watched(kind, folder, port, settings, process))
    }

    /// Its address, with user and password.
    pub fn url(&self) -> String {
        self.url_with(USER, PASSWORD)
    }

    /// Its address, with another user or password.
    pub fn url_with(&self, user: &str, password: &str) -> String {
        let (scheme, name) = (self.kind.scheme(), self.kind.database());
        format!("{scheme}://{user}:{password}@127.0.0.1:{}/{name}", self.port)
    }

    /// Its address by its local socket, with user and password.
    pub fn url_of_socket(&self) -> String {
        let (scheme, name) = (self.kind.scheme(), self.kind.database());
        let socket = self.kind.socket(self.folder.path());
        format!("{scheme}://{USER}:{PASSWORD}@:{}/{name}?{socket}", self.port)
    }

    /// Has it ended by itself, or because somebody else ended it?
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }

    /// Its process.
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// The port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends it at once with all its processes, as a loss of power would, but for what the operating system still
    /// writes.
    pub fn kill(&mut self) -> std::io::Result<ExitStatus> {
        let pid = self.process.id();
        self.watchdog = None;
        // Who is stopped makes no new process meanwhile. One that is left would still answer, and commit.
        programs::signal("-STOP", &[pid]);
        programs::signal("-KILL", &programs::children_of(pid));
        self.process.kill()?;
        self.process.wait()
    }

    /// Starts it again on the same data and port, after [`Self::kill`].
    pub fn restart(&mut self) -> Result<(), StartError> {
        let failed = |reason: String| StartError::Failed { kind: self.kind, reason };
        let until = Instant::now() + PATIENCE;
        loop {
            // Processes of a killed server may hold its memory for a moment.
            match launch(self.kind, self.folder.path(), self.port, &self.settings) {
                Ok(process) => {
                    self.is_now(process);
                    return Ok(());
                }
                Err(reason) if Instant::now() > until => return Err(failed(reason)),
                Err(_) => thread::sleep(Duration::from_millis(200)),
            }
        }
    }
}

impl Server {
    /// A server that runs, and ends with us.
    fn watched(kind: Kind, folder: TempDir, port: u16, settings: Vec<String>, process: Child) -> Self {
        let watchdog = Some(Watchdog::over(process.id(), kind.quick_end(), folder.path()));
        Self { kind, folder, port, settings, process, watchdog }
    }

    /// It was started again, as this process.
    fn is_now(&mut self, process: Child) {
        self.watchdog = Some(Watchdog::over(process.id(), self.kind.quick_end(), self.folder.path()));
        self.process = process;
    }

    /// Lets it end in its own time, and kills it where that takes too long.
    pub(crate) fn end(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            // Who is stopped cannot end.
            programs::signal("-CONT", &[self.process.id()]);
            // Lets it end its own processes; where that does not work, it is killed.
            programs::signal(self.kind.quick_end(), &[self.process.id()]);
            let until = Instant::now() + Duration::from_secs(5);
            while matches!(self.process.try_wait(), Ok(None)) && Instant::now() < until {
                thread::sleep(Duration::from_millis(20));
            }
        }
        self.process.kill().ok();
        self.process.wait().ok();
        self.watchdog = None;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Writes a file that only the server's user may read.
fn private_file(folder: &Path, name: &str, text: &str) -> Result<(), String> {
    let path = folder.join(name);
    let written = fs::write(&path, text).and_then(|()| keep_private(&path));
    let owned = written.and_then(|()| match programs::other_user() {
        Some((user, group)) => chown(&path, Some(user), Some(group)),
        None => Ok(()),
    });
    owned.map_err(|it| format!("{}: {it}", path.display()))
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|it| it.to_string())?;
    listener.local_addr().map(|it| it.port()).map_err(|it| it.to_string())
}

/// Starts the server's process and waits until it answers.
fn launch(kind: Kind, folder: &Path, port: u16, settings: &[String]) -> Result<Child, String> {
    let mut process = kind.launch(folder, port, settings)?;
    let until = Instant::now() + PATIENCE;
    while !kind.is_ready(port) {
        let ended = process.try_wait().map_err(|it| it.to_string())?;
        if ended.is_some() || Instant::now() > until {
            process.kill().ok();
            process.wait().ok();
            return Err(format!("it does not answer; its last words: {}", last_words(folder)));
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(process)
}

fn last_words(folder: &Path) -> String {
    let text = fs::read(folder.join(kind::LOG)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(5)..].join(" / ")
}

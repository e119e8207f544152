//! A throw-away `PgBouncer` before a server of a test.

use crate::programs::{self, command, find};
use crate::system::chown;
use crate::{Kind, PASSWORD, PATIENCE, Server, StartError, USER, free_port, private_file};
use std::fs::File;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A pooler that runs.
#[derive(Debug)]
pub struct Pooler {
    port: u16,
    process: Child,
    folder: TempDir,
}

/// Is a pooler installed?
pub fn is_pooler_installed() -> bool {
    find("pgbouncer", "pgbouncer").is_ok()
}

impl Pooler {
    /// Starts a pooler before a server, with settings such as `pool_mode=transaction`.
    pub fn start(server: &Server, settings: &[&str]) -> Result<Self, StartError> {
        let program = find("pgbouncer", "pgbouncer")?;
        let failed = |reason: String| StartError::Failed { kind: Kind::PostgreSql, reason };
        let folder = TempDir::with_prefix("isoscope-pooler-").map_err(|it| failed(it.to_string()))?;
        if let Some((user, group)) = programs::other_user() {
            chown(folder.path(), Some(user), Some(group)).map_err(|it| failed(it.to_string()))?;
        }
        let port = free_port().map_err(failed)?;
        private_file(folder.path(), "users.txt", &format!("\"{USER}\" \"{PASSWORD}\"\n")).map_err(failed)?;
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port={port}\n\
             unix_socket_dir=\nauth_type=scram-sha-256\nauth_file={}\nmax_client_conn=200\n{}\n",
            server.port(),
            folder.path().join("users.txt").display(),
            settings.join("\n")
        );
        private_file(folder.path(), "pooler.ini", &text).map_err(failed)?;
        let log = File::create(folder.path().join("log")).and_then(|it| Ok((it.try_clone()?, it)));
        let (out, err) = log.map_err(|it| failed(it.to_string()))?;
        let mut serve = command(&program, folder.path());
        serve.arg(folder.path().join("pooler.ini")).stdout(out).stderr(err);
        let process = serve.spawn().map_err(|it| failed(it.to_string()))?;
        let mut pooler = Self { port, process, folder };
        let until = Instant::now() + PATIENCE;
        while !Kind::PostgreSql.is_ready(port) {
            if !matches!(pooler.process.try_wait(), Ok(None)) || Instant::now() > until {
                let words = std::fs::read_to_string(pooler.folder.path().join("log")).unwrap_or_default();
                return Err(failed(format!("the pooler does not answer: {words}")));
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(pooler)
    }

    /// Its address, with user and password.
    pub fn url(&self) -> String {
        format!("postgres://{USER}:{PASSWORD}@127.0.0.1:{}/postgres", self.port)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

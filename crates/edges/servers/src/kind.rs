//! What each kind of server needs.

use crate::programs::{command, find, run};
use crate::system::CommandExt;
use crate::{PASSWORD, StartError, USER};
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `PostgreSQL`.
    PostgreSql,
    /// `MariaDB`.
    MariaDb,
}

/// The file in the folder of a server with what it writes.
pub(crate) const LOG: &str = "server.log";

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PostgreSql => "PostgreSQL",
            Self::MariaDb => "MariaDB",
        })
    }
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::PostgreSql, Self::MariaDb];

    /// What its addresses begin with.
    pub(crate) fn scheme(self) -> &'static str {
        match self {
            Self::PostgreSql => "postgres",
            Self::MariaDb => "mariadb",
        }
    }

    /// The database that a new server has.
    pub(crate) fn database(self) -> &'static str {
        match self {
            Self::PostgreSql => "postgres",
            Self::MariaDb => USER,
        }
    }

    /// Where its local socket is, as an option of its addresses.
    pub(crate) fn socket(self, folder: &Path) -> String {
        match self {
            Self::PostgreSql => format!("host={}", folder.display()),
            Self::MariaDb => format!("socket={}", folder.join("s.sock").display()),
        }
    }

    /// What Debian calls its package.
    pub fn package(self) -> &'static str {
        match self {
            Self::PostgreSql => "postgresql",
            Self::MariaDb => "mariadb-server",
        }
    }

    /// The programs that make its data, run it, and ask whether it is there.
    pub(crate) fn programs(self) -> Result<[PathBuf; 3], StartError> {
        let names = match self {
            Self::PostgreSql => ["initdb", "postgres", "pg_isready"],
            Self::MariaDb => ["mariadb-install-db", "mariadbd", "mariadb-admin"],
        };
        let [first, second, third] = names.map(|it| find(it, self.package()));
        Ok([first?, second?, third?])
    }

    /// Makes the data of a server, in a folder.
    pub(crate) fn initialize(self, folder: &Path) -> Result<(), String> {
        let [initializer, ..] = self.programs().map_err(|it| it.to_string())?;
        let mut make = command(&initializer, folder);
        let data = folder.join("data");
        match self {
            Self::PostgreSql => {
                let file = folder.join("password");
                fs::write(&file, PASSWORD).map_err(|it| it.to_string())?;
                make.arg("-D").arg(data).args(["-U", USER, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C"]);
                make.arg("--no-sync").arg(format!("--pwfile={}", file.display()));
            }
            Self::MariaDb => {
                let users = ["127.0.0.1", "localhost"].map(|host| {
                    let user = format!("'{USER}'@'{host}'");
                    let create = format!("CREATE USER IF NOT EXISTS {user} IDENTIFIED BY '{PASSWORD}'");
                    format!("{create};\nGRANT ALL ON *.* TO {user} WITH GRANT OPTION;\n")
                });
                let sql = format!("CREATE DATABASE IF NOT EXISTS {USER};\n{}", users.concat());
                fs::write(folder.join("init.sql"), sql).map_err(|it| it.to_string())?;
                make.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
                make.args(["--skip-test-db", "--auth-root-authentication-method=normal"]);
                make.env("TMPDIR", folder);
            }
        }
        run(make)
    }

    /// Starts the process.
    pub(crate) fn launch(self, folder: &Path, port: u16, settings: &[String]) -> Result<Child, String> {
        let [_, server, _] = self.programs().map_err(|it| it.to_string())?;
        let log = File::create(folder.join(LOG)).and_then(|it| Ok((it.try_clone()?, it)));
        let (out, err) = log.map_err(|it| it.to_string())?;
        let mut serve = command(&server, folder);
        let data = folder.join("data");
        match self {
            Self::PostgreSql => {
                serve.arg("-D").arg(data).args(["-p", &port.to_string()]);
                // Losing the operating system is nothing that tests do.
                for setting in ["listen_addresses=127.0.0.1", "fsync=off"] {
                    serve.args(["-c", setting]);
                }
                serve.arg("-c").arg(format!("unix_socket_directories={}", folder.display()));
                for setting in settings {
                    serve.args(["-c", setting]);
                }
            }
            Self::MariaDb => {
                // A server that starts removes temporary tables of others from a folder that they share.
                serve.env("TMPDIR", folder);
                serve.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
                serve.arg(format!("--port={port}")).args(["--bind-address=127.0.0.1", "--skip-name-resolve"]);
                serve.arg(format!("--{}", self.socket(folder)));
                serve.arg(format!("--pid-file={}", folder.join("pid").display()));
                serve.arg(format!("--init-file={}", folder.join("init.sql").display()));
                serve.args(["--innodb-buffer-pool-size=32M", "--innodb-flush-log-at-trx-commit=2"]);
                serve.args(settings.iter().map(|it| format!("--{it}")));
            }
        }
        // A Ctrl-C in a terminal is for whoever started the server, who then ends it.
        serve.process_group(0).stdout(out).stderr(err).spawn().map_err(|it| format!("{}: {it}", server.display()))
    }

    /// Does it answer?
    pub(crate) fn is_ready(self, port: u16) -> bool {
        let Ok([_, _, asker]) = self.programs() else { return false };
        let mut ask = Command::new(asker);
        let port = port.to_string();
        match self {
            Self::PostgreSql => ask.args(["-q", "-h", "127.0.0.1", "-p", &port]),
            Self::MariaDb => {
                let user = format!("--user={USER}");
                // The server opens its port before it makes the user.
                ask.args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1", "--port", &port, &user, "status"])
                    .env("MYSQL_PWD", PASSWORD)
            }
        };
        ask.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        ask.status().is_ok_and(|it| it.success())
    }

    /// The signal with which it ends at once and takes its processes with it.
    pub(crate) fn quick_end(self) -> &'static str {
        match self {
            Self::PostgreSql => "-QUIT",
            Self::MariaDb => "-TERM",
        }
    }
}

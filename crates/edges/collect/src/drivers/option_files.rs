//! How `MySQL`'s own clients complete an address: options of the address come first, then `[client]` of the option file,
//! then variables such as `MYSQL_HOST`, then defaults.
//!
//! Source: the chapters on option files and environment variables of `MySQL`'s and `MariaDB`'s documentation.

use super::CONNECT_TIMEOUT;
use super::section::section;
use super::tls::{Encryption, Mode, Roots, Trusted};
use crate::OpenError;
use crate::address::{Address, Secret};
use crate::environment::{Environment, permissions};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The options of an address.
const OPTIONS: [&str; 9] =
    ["socket", "password", "passfile", "defaults-file", "ssl-mode", "ssl-ca", "ssl-cert", "ssl-key", "connect-timeout"];

/// Settings of option files that ask for a safety which we cannot give.
const NOT_KEPT: [&str; 4] = ["ssl-capath", "ssl-crl", "ssl-crlpath", "ssl-fp"];

/// What a connection needs.
#[derive(Debug)]
pub(super) struct Login {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) socket: Option<String>,
    pub(super) user: String,
    pub(super) database: String,
    pub(super) password: Option<Secret>,
    pub(super) connect_timeout: Duration,
    pub(super) encryption: Encryption,
}

struct Settings<'s> {
    address: &'s Address,
    environment: &'s Environment,
    file: PathBuf,
    /// `[client]` of the file.
    client: Vec<(String, String)>,
}

impl Login {
    /// Completes an address.
    pub(super) fn of(address: &Address, environment: &Environment) -> Result<Self, OpenError> {
        address.expect_options(&OPTIONS)?;
        let settings = Settings::new(address, environment)?;
        let port = match address.port {
            Some(port) => port,
            None => settings.number("port", Some("MYSQL_TCP_PORT"), "a port from 1 to 65535")?.unwrap_or(3306),
        };
        // Who names a host does not mean the socket of another one.
        let socket = match (address.option("socket"), &address.host) {
            (Some(socket), _) => Some(socket.to_owned()),
            (None, Some(_)) => None,
            (None, None) => {
                let is_elsewhere = settings.text("host", Some("MYSQL_HOST")).is_some_and(|it| it != "localhost");
                settings.text("socket", Some("MYSQL_UNIX_PORT")).filter(|_| !is_elsewhere)
            }
        };
        let host = address.host.clone().or_else(|| settings.text("host", Some("MYSQL_HOST")));
        let user = address.user.clone().or_else(|| settings.text("user", None));
        let database = address.schema.clone().or_else(|| Some(address.path.clone()).filter(|it| !it.is_empty()));
        let database = database.or_else(|| settings.text("database", None)).ok_or_else(|| {
            let message = format!("the address names no database: {}://HOST/NAME", address.scheme);
            OpenError::NoSuchDatabase { message }
        })?;
        let timeout: Option<u64> = settings.number("connect-timeout", None, "a number of seconds")?;
        Ok(Self {
            host: host.unwrap_or_else(|| "localhost".to_owned()),
            port,
            user: user.unwrap_or_else(|| environment.user().unwrap_or("root").to_owned()),
            database,
            password: settings.password()?,
            connect_timeout: timeout.filter(|it| *it > 0).map_or(CONNECT_TIMEOUT, Duration::from_secs),
            encryption: settings.encryption(socket.is_some())?,
            socket,
        })
    }

    /// Where it leads, without credentials.
    pub(super) fn place(&self) -> String {
        let Self { host, port, database, .. } = self;
        match &self.socket {
            Some(socket) => format!("{socket}/{database}"),
            None => format!("{host}:{port}/{database}"),
        }
    }
}

impl<'s> Settings<'s> {
    fn new(address: &'s Address, environment: &'s Environment) -> Result<Self, OpenError> {
        let named = address.option("defaults-file").map(PathBuf::from);
        let is_named = named.is_some();
        let file = named.or_else(|| environment.in_home(".my.cnf")).unwrap_or_default();
        let mut settings = Self { address, environment, file, client: Vec::new() };
        if !is_named && !settings.file.is_file() {
            return Ok(settings);
        }
        let unreadable = |reason: String| OpenError::File {
            what: "options of MySQL",
            file: settings.file.display().to_string(),
            reason,
        };
        let text = fs::read_to_string(&settings.file).map_err(|it| unreadable(it.to_string()))?;
        let mode = fs::metadata(&settings.file).map(|it| permissions(&it)).unwrap_or_default();
        if mode & 0o002 != 0 {
            return Err(unreadable(format!("everybody may write it; chmod 600 {}", settings.file.display())));
        }
        let plain = |(name, value): (String, String)| (name.to_ascii_lowercase().replace('_', "-"), unquoted(&value));
        let client: Vec<_> = section(&text, "client").unwrap_or_default().into_iter().map(plain).collect();
        if let Some((name, _)) = client.iter().find(|it| NOT_KEPT.contains(&it.0.as_str())) {
            return Err(unreadable(format!("`{name}` asks for what isoscope cannot do")));
        }
        settings.client = client;
        Ok(settings)
    }

    /// What is known of a setting, and where from.
    fn find(&self, name: &str, variable: Option<&str>) -> Option<(String, String)> {
        let given = self.address.option(name).map(|it| (it.to_owned(), format!("the option `{name}` of the address")));
        let of_file = || {
            let found = self.client.iter().rev().find(|it| it.0 == name)?;
            Some((found.1.clone(), format!("`{name}` in {}", self.file.display())))
        };
        let of_variable = || {
            let variable = variable?;
            Some((self.environment.variable(variable)?.to_owned(), format!("the variable `{variable}`")))
        };
        given.or_else(of_file).or_else(of_variable)
    }

    fn text(&self, name: &str, variable: Option<&str>) -> Option<String> {
        self.find(name, variable).map(|it| it.0).filter(|it| !it.is_empty())
    }

    fn number<N: std::str::FromStr>(
        &self,
        name: &str,
        variable: Option<&str>,
        kind: &str,
    ) -> Result<Option<N>, OpenError> {
        let Some((value, origin)) = self.find(name, variable) else { return Ok(None) };
        let number = value.trim().parse();
        number.map(Some).map_err(|_| OpenError::BadSetting { origin, value, expected: kind.to_owned() })
    }

    fn password(&self) -> Result<Option<Secret>, OpenError> {
        if let Some(password) = self.address.password() {
            return Ok(Some(password));
        }
        if let Some(file) = self.address.option("passfile") {
            let text = fs::read_to_string(file)
                .map_err(|it| OpenError::PasswordFile { file: file.to_owned(), reason: it.to_string() })?;
            return Ok(Some(Secret::new(text.lines().next().unwrap_or_default().to_owned())));
        }
        Ok(self.text("password", Some("MYSQL_PWD")).map(Secret::new))
    }

    fn encryption(&self, is_local: bool) -> Result<Encryption, OpenError> {
        let is_on = |name: &str| {
            let value = self.find(name, None).map(|it| it.0.to_ascii_lowercase());
            value.is_some_and(|it| ["", "1", "on", "true"].contains(&it.as_str()))
        };
        let is_off = |name: &str| {
            let value = self.find(name, None).map(|it| it.0.to_ascii_lowercase());
            value.is_some_and(|it| ["0", "off", "false"].contains(&it.as_str()))
        };
        let mode = match self.find("ssl-mode", None) {
            Some((value, origin)) => Mode::of_mysql(&value).ok_or_else(|| {
                let expected = "DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY".to_owned();
                OpenError::BadSetting { origin, value, expected }
            })?,
            // MariaDB's words.
            None if is_on("skip-ssl") || is_off("ssl") => Mode::Disable,
            None if is_on("ssl-verify-server-cert") => Mode::VerifyFull,
            None if is_on("ssl") => Mode::Require,
            None => Mode::Prefer,
        };
        let mode = if is_local { Mode::Disable } else { mode };
        let path = |name: &str| self.text(name, None).map(PathBuf::from);
        let roots = path("ssl-ca").map(|it| if it == Path::new("system") { Roots::System } else { Roots::File(it) });
        Encryption::new(mode, roots, path("ssl-cert"), path("ssl-key"), Trusted::ByMySql)
    }
}

/// A value without the quotes around it.
fn unquoted(value: &str) -> String {
    let quoted = |quote: char| value.strip_prefix(quote).and_then(|it| it.strip_suffix(quote));
    quoted('"').or_else(|| quoted('\'')).unwrap_or(value).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn login(url: &str, variables: &[(&str, &str)], home: &TempDir) -> Result<Login, OpenError> {
        let environment = Environment::of(variables, Some(home.path().to_owned()));
        Login::of(&Address::parse(url).unwrap(), &environment)
    }

    #[test]
    fn an_address_says_more_than_a_file_and_a_file_more_than_a_variable() {
        let home = TempDir::new().unwrap();
        let text = "[mysqld]\nport=1\n[client]\nuser = alice\npassword=\"hu#sh\"\nport=3310\nssl_mode=DISABLED\n[mysql]\nuser=no\n";
        fs::write(home.path().join(".my.cnf"), text).unwrap();
        let variables = [("MYSQL_HOST", "of-variable"), ("MYSQL_TCP_PORT", "3311"), ("MYSQL_PWD", "other")];
        let found = login("mysql:///x", &variables, &home).unwrap();
        assert_eq!((found.place().as_str(), found.user.as_str()), ("of-variable:3310/x", "alice"));
        assert_eq!(found.password.as_ref().unwrap().reveal(), "hu#sh");
        assert_eq!(found.encryption.mode, Mode::Disable);
        assert!(!format!("{found:?}").contains("hu#sh"));
        let found = login("mysql://bob@h:1/x?ssl-mode=required", &variables, &home).unwrap();
        assert_eq!((found.place().as_str(), found.user.as_str()), ("h:1/x", "bob"));
        assert_eq!(found.encryption.mode, Mode::Require);
    }

    #[test]
    fn variables_are_enough_and_a_host_is_no_socket() {
        let home = TempDir::new().unwrap();
        let variables = [("MYSQL_PWD", "hush"), ("MYSQL_UNIX_PORT", "/run/s.sock")];
        let found = login("mysql:x", &variables, &home).unwrap();
        assert_eq!((found.place().as_str(), found.user.as_str()), ("/run/s.sock/x", "somebody"));
        assert_eq!(found.password.as_ref().unwrap().reveal(), "hush");
        assert_eq!(login("mysql://h/x", &variables, &home).unwrap().place(), "h:3306/x");
    }

    #[test]
    fn what_would_be_less_safe_than_asked_for_is_refused() {
        let home = TempDir::new().unwrap();
        let file = home.path().join("options.cnf");
        fs::write(&file, "[client]\nssl-crl=x\n").unwrap();
        let cases = [
            ("mysql://h/x?ssl-mode=VERIFY_CA".to_owned(), "give ssl-ca=FILE, or take ssl-mode=VERIFY_IDENTITY"),
            ("mysql://h/x?ssl-mode=VERIFY_CA&ssl-ca=system".to_owned(), "give ssl-ca=FILE"),
            ("mysql://h/x?ssl-mode=on".to_owned(), "the option `ssl-mode` of the address cannot be `on`"),
            ("mysql://h/x?ssl-cert=c".to_owned(), "give ssl-key=FILE"),
            (format!("mysql://h/x?defaults-file={}", file.display()), "`ssl-crl` asks for what isoscope cannot do"),
            ("mysql://h/x?defaults-file=/no/such/file".to_owned(), "cannot read the options of MySQL in /no/such/file"),
        ];
        for (url, words) in cases {
            let error = login(&url, &[], &home).unwrap_err().to_string();
            assert!(error.contains(words), "{url}: {error}");
        }
    }
}

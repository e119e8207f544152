//! How `PostgreSQL`'s own clients complete an address: options of the address come first, then the service that it or
//! `PGSERVICE` names, then variables such as `PGHOST`, then defaults. Passwords come from `~/.pgpass` at the latest.
//!
//! Source: the chapters on connection strings, environment variables, the password file and the connection service file
//! of `PostgreSQL`'s documentation of libpq.

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
const OPTIONS: [&str; 14] = [
    "host",
    "port",
    "user",
    "dbname",
    "password",
    "passfile",
    "service",
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "options",
    "application_name",
    "connect_timeout",
];

/// Variables that ask for what we cannot give, with the value that does, or whatever the value is. Whoever sets them
/// must not get less safety, or another server.
const NOT_KEPT: [(&str, Option<&str>); 7] = [
    ("PGHOSTADDR", None),
    ("PGREQUIREAUTH", None),
    ("PGSSLCRL", None),
    ("PGSSLCRLDIR", None),
    ("PGSSLCERTMODE", Some("require")),
    ("PGGSSENCMODE", Some("require")),
    ("PGCHANNELBINDING", Some("require")),
];

/// Where systems keep local sockets.
const SOCKETS: [&str; 3] = ["/var/run/postgresql", "/run/postgresql", "/tmp"];

/// What a connection needs.
#[derive(Debug)]
pub(super) struct Login {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: String,
    pub(super) database: String,
    pub(super) password: Option<Secret>,
    /// Why a password file was not read.
    pub(super) remark: Option<String>,
    pub(super) options: Option<String>,
    pub(super) application: String,
    /// None is forever.
    pub(super) connect_timeout: Option<Duration>,
    pub(super) encryption: Encryption,
}

/// A value and where it comes from.
struct Setting {
    value: String,
    origin: String,
}

struct Settings<'s> {
    address: &'s Address,
    environment: &'s Environment,
    /// From the file of services, with its name.
    service: Vec<(String, String)>,
    service_file: String,
}

impl Login {
    /// Completes an address.
    pub(super) fn of(address: &Address, environment: &Environment) -> Result<Self, OpenError> {
        address.expect_options(&OPTIONS)?;
        let asks = |(name, value): &(&str, Option<&str>)| {
            environment.variable(name).is_some_and(|it| value.is_none_or(|value| value == it))
        };
        if let Some((variable, _)) = NOT_KEPT.into_iter().find(asks) {
            return Err(OpenError::NotKept { variable: variable.to_owned() });
        }
        let settings = Settings::new(address, environment)?;
        let port = match address.port {
            Some(port) => port,
            None => settings.number("port", "PGPORT", "a port from 1 to 65535")?.unwrap_or(5432),
        };
        let host = address.option("host").map(str::to_owned).or_else(|| address.host.clone());
        let host = host.or_else(|| settings.text("host", "PGHOST")).unwrap_or_else(|| local(port));
        if host.contains(',') {
            return Err(OpenError::SeveralHosts);
        }
        let user = address.user.clone().or_else(|| settings.text("user", "PGUSER"));
        let user = user.unwrap_or_else(|| environment.user().unwrap_or("postgres").to_owned());
        let database = Some(address.path.clone()).filter(|it| !it.is_empty());
        let database = database.or_else(|| settings.text("dbname", "PGDATABASE")).unwrap_or_else(|| user.clone());
        let (password, remark) = settings.password(&host, port, &database, &user)?;
        let timeout: Option<u64> = settings.number("connect_timeout", "PGCONNECT_TIMEOUT", "a number of seconds")?;
        let connect_timeout = match timeout {
            None => Some(CONNECT_TIMEOUT),
            Some(0) => None,
            Some(seconds) => Some(Duration::from_secs(seconds)),
        };
        let named = settings.text("application_name", "PGAPPNAME");
        Ok(Self {
            encryption: settings.encryption(&host)?,
            application: named.unwrap_or_else(|| "isoscope".to_owned()),
            options: settings.text("options", "PGOPTIONS"),
            host,
            port,
            user,
            database,
            password,
            remark,
            connect_timeout,
        })
    }

    /// Where it leads, without credentials.
    pub(super) fn place(&self) -> String {
        format!("{}:{}/{}", self.host, self.port, self.database)
    }
}

/// The folder of a local server's socket, or this machine.
fn local(port: u16) -> String {
    let has_socket = |folder: &&str| Path::new(folder).join(format!(".s.PGSQL.{port}")).exists();
    SOCKETS.into_iter().find(has_socket).unwrap_or("localhost").to_owned()
}

impl<'s> Settings<'s> {
    fn new(address: &'s Address, environment: &'s Environment) -> Result<Self, OpenError> {
        let name = address.option("service").or_else(|| environment.variable("PGSERVICE"));
        let (service, service_file) = match name {
            Some(name) => service(name, environment)?,
            None => Default::default(),
        };
        Ok(Self { address, environment, service, service_file })
    }

    /// What is known of a setting by its name in addresses and services, and by its variable.
    fn find(&self, name: &str, variable: &str) -> Option<Setting> {
        let given = self.address.option(name).map(|it| (it, format!("the option `{name}` of the address")));
        let of_service = || {
            let found = self.service.iter().find(|it| it.0 == name)?;
            Some((found.1.as_str(), format!("`{name}` in {}", self.service_file)))
        };
        let of_environment = || Some((self.environment.variable(variable)?, format!("the variable `{variable}`")));
        let (value, origin) = given.or_else(of_service).or_else(of_environment)?;
        Some(Setting { value: value.to_owned(), origin })
    }

    fn text(&self, name: &str, variable: &str) -> Option<String> {
        self.find(name, variable).map(|it| it.value).filter(|it| !it.is_empty())
    }

    fn number<N: std::str::FromStr>(&self, name: &str, variable: &str, kind: &str) -> Result<Option<N>, OpenError> {
        let Some(setting) = self.find(name, variable) else { return Ok(None) };
        setting.value.trim().parse().map(Some).map_err(|_| setting.cannot_be(kind))
    }

    fn encryption(&self, host: &str) -> Result<Encryption, OpenError> {
        let mode = match self.find("sslmode", "PGSSLMODE") {
            None => Mode::Prefer,
            Some(setting) => Mode::of_libpq(&setting.value)
                .ok_or_else(|| setting.cannot_be("disable, allow, prefer, require, verify-ca or verify-full"))?,
        };
        // Nobody listens between a process and its neighbour, and the server encrypts nothing there.
        let mode = if host.starts_with('/') { Mode::Disable } else { mode };
        let usual = |file: &str| self.environment.in_home(&format!(".postgresql/{file}")).filter(|it| it.is_file());
        let path = |name: &str, variable: &str| self.text(name, variable).map(PathBuf::from);
        let roots = match path("sslrootcert", "PGSSLROOTCERT") {
            Some(file) if file == Path::new("system") => Some(Roots::System),
            Some(file) => Some(Roots::File(file)),
            None => usual("root.crt").map(Roots::File),
        };
        let certificate = path("sslcert", "PGSSLCERT").or_else(|| usual("postgresql.crt"));
        let key = path("sslkey", "PGSSLKEY").or_else(|| usual("postgresql.key"));
        Encryption::new(mode, roots, certificate, key, Trusted::ByPostgreSql)
    }

    /// The password, and why a file with passwords was not read.
    fn password(
        &self,
        host: &str,
        port: u16,
        database: &str,
        user: &str,
    ) -> Result<(Option<Secret>, Option<String>), OpenError> {
        if let Some(password) = self.address.password() {
            return Ok((Some(password), None));
        }
        let file = self.address.option("passfile").map(PathBuf::from);
        // A file that the address names says more than a variable.
        if let Some(password) = self.find("password", "PGPASSWORD").filter(|_| file.is_none()) {
            return Ok((Some(Secret::new(password.value)), None));
        }
        let is_named = file.is_some();
        let usual = || self.text("passfile", "PGPASSFILE").map(PathBuf::from);
        let file = file.or_else(usual).or_else(|| self.environment.in_home(".pgpass"));
        let Some(file) = file.filter(|it| is_named || it.is_file()) else { return Ok((None, None)) };
        let cannot_read =
            |it: std::io::Error| OpenError::PasswordFile { file: file.display().to_string(), reason: it.to_string() };
        let text = fs::read_to_string(&file).map_err(cannot_read)?;
        let lines = || text.lines().filter(|it| !it.trim().is_empty() && !it.starts_with('#'));
        if is_named && !lines().any(|it| fields(it).len() == 5) {
            return Ok((Some(Secret::new(text.lines().next().unwrap_or_default().to_owned())), None));
        }
        let mode = fs::metadata(&file).map(|it| permissions(&it)).unwrap_or_default();
        if mode & 0o077 != 0 {
            let file = file.display();
            let remark = format!("the passwords in {file} are not used, because others may read it: chmod 600 {file}");
            return Ok((None, Some(remark)));
        }
        // A local socket goes by the name of this machine there.
        let host = if host.starts_with('/') { "localhost" } else { host };
        let wanted = [host, &port.to_string(), database, user];
        let matches = |line: &Vec<String>| {
            line.len() == 5 && line.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted)
        };
        let found = lines().map(fields).find(matches).and_then(|mut it| it.pop());
        Ok((found.map(Secret::new), None))
    }
}

impl Setting {
    fn cannot_be(&self, expected: &str) -> OpenError {
        let (origin, value) = (self.origin.clone(), self.value.clone());
        OpenError::BadSetting { origin, value, expected: expected.to_owned() }
    }
}

/// The fields of a line of a password file; `\:` and `\\` are characters of a field. The fifth may have colons.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut rest = line.chars();
    while let Some(it) = rest.next() {
        match it {
            '\\' => fields.last_mut().expect("there is one").extend(rest.next()),
            ':' if fields.len() < 5 => fields.push(String::new()),
            it => fields.last_mut().expect("there is one").push(it),
        }
    }
    fields
}

/// The settings of a service, and the file that has them.
fn service(name: &str, environment: &Environment) -> Result<(Vec<(String, String)>, String), OpenError> {
    let of_user = environment.variable("PGSERVICEFILE").map(PathBuf::from);
    let of_user = of_user.or_else(|| environment.in_home(".pg_service.conf"));
    let of_system = environment.variable("PGSYSCONFDIR").unwrap_or("/etc/postgresql-common");
    let files: Vec<PathBuf> = of_user.into_iter().chain([Path::new(of_system).join("pg_service.conf")]).collect();
    for file in files.iter().filter(|it| it.is_file()) {
        let shown = file.display().to_string();
        let text = fs::read_to_string(file).map_err(|it| OpenError::File {
            what: "services",
            file: shown.clone(),
            reason: it.to_string(),
        })?;
        let Some(settings) = section(&text, name) else { continue };
        if let Some((unknown, _)) = settings.iter().find(|it| !OPTIONS.contains(&it.0.as_str())) {
            let expected = format!("one of {}", OPTIONS.join(", "));
            return Err(OpenError::BadSetting {
                origin: format!("a setting of the service `{name}` in {shown}"),
                value: unknown.clone(),
                expected,
            });
        }
        return Ok((settings, shown));
    }
    let files: Vec<String> = files.iter().map(|it| it.display().to_string()).collect();
    Err(OpenError::NoService { name: name.to_owned(), files: files.join(" or ") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn login(url: &str, variables: &[(&str, &str)], home: &TempDir) -> Result<Login, OpenError> {
        let environment = Environment::of(variables, Some(home.path().to_owned()));
        Login::of(&Address::parse(url).unwrap(), &environment)
    }

    fn secret(login: &Login) -> Option<&str> {
        login.password.as_ref().map(Secret::reveal)
    }

    #[cfg(unix)]
    fn write(file: &Path, text: &str, mode: u32) {
        fs::write(file, text).unwrap();
        fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }

    #[test]
    fn an_empty_address_is_completed_by_variables() {
        let home = TempDir::new().unwrap();
        let variables = [
            ("PGHOST", "db.example"),
            ("PGPORT", "5433"),
            ("PGUSER", "alice"),
            ("PGDATABASE", "shop"),
            ("PGPASSWORD", "hush"),
            ("PGSSLMODE", "disable"),
            ("PGOPTIONS", "-c work_mem=1MB"),
            ("PGAPPNAME", "me"),
            ("PGCONNECT_TIMEOUT", "3"),
        ];
        let login = login("postgres:", &variables, &home).unwrap();
        assert_eq!((login.place().as_str(), login.user.as_str()), ("db.example:5433/shop", "alice"));
        assert_eq!((secret(&login), login.encryption.mode), (Some("hush"), Mode::Disable));
        assert_eq!((login.options.as_deref(), login.application.as_str()), (Some("-c work_mem=1MB"), "me"));
        assert_eq!(login.connect_timeout, Some(Duration::from_secs(3)));
        assert!(!format!("{login:?}").contains("hush"), "{login:?}");
    }

    #[test]
    fn an_address_says_more_than_a_service_and_a_service_more_than_a_variable() {
        let home = TempDir::new().unwrap();
        let services =
            "# ours\n[other]\nhost=wrong\n[test]\nhost=of-service\nport=1\nuser=of-service\ndbname=of-service\n";
        fs::write(home.path().join(".pg_service.conf"), services).unwrap();
        let variables = [("PGSERVICE", "test"), ("PGPORT", "2"), ("PGUSER", "of-variable"), ("PGAPPNAME", "mine")];
        let found = login("postgres://of-address@/x", &variables, &home).unwrap();
        assert_eq!((found.place().as_str(), found.user.as_str()), ("of-service:1/x", "of-address"));
        assert_eq!(found.application, "mine");
        let found = login("postgres://h:9?service=other&application_name=a", &variables, &home).unwrap();
        assert_eq!((found.place().as_str(), found.application.as_str()), ("h:9/of-variable", "a"));
        let error = login("postgres:?service=gone", &[], &home).unwrap_err().to_string();
        assert!(error.contains("no service `gone` in ") && error.contains(".pg_service.conf"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn the_password_file_has_lines_of_five_fields_and_is_for_its_owner_only() {
        let home = TempDir::new().unwrap();
        let file = home.path().join(".pgpass");
        let text = "# a remark\nh:5432:x:bob:not-this\n*:5432:a\\:b:alice:se:c\\\\ret\nlocalhost:*:*:*:local\n";
        write(&file, text, 0o600);
        let of = |url: &str| login(url, &[], &home).unwrap();
        assert_eq!(secret(&of("postgres://alice@h/a%3Ab")), Some("se:c\\ret"));
        assert_eq!(secret(&of("postgres://carol@h/x")), None);
        assert_eq!(secret(&of("postgres://carol@/x?host=/run/x")), Some("local"), "a socket is this machine");
        write(&file, text, 0o640);
        let login = of("postgres://alice@h/a%3Ab");
        assert!(secret(&login).is_none() && login.remark.unwrap().contains("chmod 600"));
    }

    #[test]
    fn a_named_password_file_may_have_the_password_alone() {
        let home = TempDir::new().unwrap();
        let file = home.path().join("secret");
        fs::write(&file, "hush:hush\nmore\n").unwrap();
        let url = format!("postgres://a@h/x?passfile={}", file.display());
        assert_eq!(secret(&login(&url, &[("PGPASSWORD", "other")], &home).unwrap()), Some("hush:hush"));
    }

    #[test]
    fn what_cannot_be_is_named_with_its_origin() {
        let home = TempDir::new().unwrap();
        let none: &[(&str, &str)] = &[];
        let cases = [
            ("postgres:", &[("PGPORT", "many")][..], "the variable `PGPORT` cannot be `many`; it is a port"),
            (
                "postgres://h/x?sslmode=on",
                none,
                "the option `sslmode` of the address cannot be `on`; it is disable, allow",
            ),
            ("postgres://a,b/x", none, "one host"),
            ("postgres://h/x?target_session_attrs=any", none, "`target_session_attrs` of the address is not known"),
            ("postgres://h/x", &[("PGREQUIREAUTH", "scram-sha-256")], "`PGREQUIREAUTH`"),
            ("postgres://h/x?sslmode=verify-ca", none, "sslrootcert=FILE"),
        ];
        for (url, variables, words) in cases {
            let error = login(url, variables, &home).unwrap_err().to_string();
            assert!(error.contains(words), "{url}: {error}");
        }
    }
}

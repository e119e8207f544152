//! The address of a database, as in `postgres://alice@localhost:5432/test?passfile=secret.txt`.

use crate::OpenError;
use std::fmt;

/// An address, taken apart. Nothing that it shows has the password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) scheme: String,
    pub(crate) user: Option<String>,
    password: Option<Secret>,
    pub(crate) host: Option<String>,
    pub(crate) port: Option<u16>,
    /// Of a server, the name of its database; otherwise what follows the scheme.
    pub(crate) path: String,
    options: Vec<(String, String)>,
    /// Where the tables are to be, if that is said beside the address.
    pub(crate) schema: Option<String>,
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// From now on, nobody sees it.
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    /// The text, for the driver alone.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl Address {
    /// Reads `scheme://user:password@host:port/path?option=value` or `scheme:path?option=value`.
    pub(crate) fn parse(url: &str) -> Result<Self, OpenError> {
        let (scheme, rest) = url.split_once(':').ok_or_else(|| OpenError::NoScheme { known: known_schemes() })?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut options: Vec<(String, String)> =
            query.split('&').filter(|it| !it.is_empty()).map(option).collect::<Result<_, _>>()?;
        // It is no option like the others: nobody may see it.
        let secrets = options.extract_if(.., |it| it.0 == "password");
        let secret = secrets.last().map(|it| Secret(it.1));
        let scheme = scheme.to_ascii_lowercase();
        let bare = Self {
            scheme,
            user: None,
            password: secret,
            host: None,
            port: None,
            path: String::new(),
            options,
            schema: None,
        };
        let Some(rest) = rest.strip_prefix("//") else {
            return Ok(Self { path: decoded(rest)?, ..bare });
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, place) = match authority.rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, authority),
        };
        let (user, password) = match login.map(|it| it.split_once(':').ok_or(it)) {
            Some(Ok((user, password))) => (Some(user), Some(Secret(decoded(password)?))),
            Some(Err(user)) => (Some(user), None),
            None => (None, None),
        };
        let (host, port) = host_and_port(place)?;
        let user = user.filter(|it| !it.is_empty()).map(decoded).transpose()?;
        let password = password.or_else(|| bare.password.clone());
        Ok(Self { user, password, host, port, path: decoded(path)?, ..bare })
    }

    /// The value of an option.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|it| it.0 == name).map(|it| it.1.as_str())
    }

    /// Refuses options that nobody would look at.
    pub(crate) fn expect_options(&self, known: &[&str]) -> Result<(), OpenError> {
        match self.options.iter().find(|it| !known.contains(&it.0.as_str())) {
            Some((option, _)) => Err(OpenError::UnknownOption {
                option: option.clone(),
                known: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
            }),
            None => Ok(()),
        }
    }

    /// The password in the address.
    pub(crate) fn password(&self) -> Option<Secret> {
        self.password.clone()
    }
}

/// What addresses may begin with.
pub(crate) const SCHEMES: [&str; 8] =
    ["postgres:", "postgresql:", "mysql:", "mariadb:", "galera:", "sqlite:", "store:", "command:"];

pub(crate) fn known_schemes() -> String {
    SCHEMES.join(", ")
}

fn option(text: &str) -> Result<(String, String), OpenError> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    Ok((decoded(name)?, decoded(value)?))
}

fn host_and_port(place: &str) -> Result<(Option<String>, Option<u16>), OpenError> {
    let (host, port) = match place.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map(|it| it.parse().map_err(|_| OpenError::BadPort { port: it.to_owned() })).transpose()?;
    Ok((Some(decoded(host)?).filter(|it| !it.is_empty()), port))
}

/// Undoes `%2F` and its like.
fn decoded(text: &str) -> Result<String, OpenError> {
    let bad = || OpenError::BadEscape;
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|it| char::from(it).to_digit(16)).ok_or_else(bad);
        let (high, low) = (digit()?, digit()?);
        bytes.push((high * 16 + low) as u8);
    }
    String::from_utf8(bytes).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_apart_and_keeps_its_secret() {
        let address = Address::parse("postgres://al%40ice:s%2Fcret@[::1]:5433/te%20st?passfile=f&x=%31").unwrap();
        assert_eq!(address.user.as_deref(), Some("al@ice"));
        assert_eq!(address.password().unwrap().reveal(), "s/cret");
        assert_eq!((address.host.as_deref(), address.port), (Some("::1"), Some(5433)));
        assert_eq!(address.path, "te st");
        assert_eq!(address.option("x"), Some("1"));
        assert!(!format!("{address:?}").contains("cret@") && !format!("{address:?}").contains("s/cret"));
    }

    #[test]
    fn what_follows_a_scheme_is_a_path() {
        let address = Address::parse("sqlite:a/b.db?journal=wal").unwrap();
        assert_eq!((address.path.as_str(), address.option("journal")), ("a/b.db", Some("wal")));
        let address = Address::parse("postgres://h/x?password=hush&sslmode=disable").unwrap();
        assert!(address.password().unwrap().reveal() == "hush" && !format!("{address:?}").contains("hush"));
        assert_eq!(Address::parse("mysql://localhost").unwrap().host.as_deref(), Some("localhost"));
    }

    #[test]
    fn mistakes_are_named_and_a_password_never_is() {
        for (url, words) in [
            ("test.db", "begins with none of"),
            ("mysql://root:hush@localhost:many/x", "`many` is no port"),
            ("mysql://root:hu%zzsh@localhost/x", "hexadecimal"),
        ] {
            let error = Address::parse(url).unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains("hush"), "{error}");
        }
    }
}

//! The database that a history was recorded from, as headers of files have it.

use crate::json::write_string;
use std::fmt;
use std::io::{self, Write};

/// The database that a history was recorded from: enough to know what it promised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedDatabase {
    /// Its name: `postgres`.
    pub name: String,
    /// Its version, if that is known: `15.18`.
    pub version: Option<String>,
    /// The isolation levels of its transactions, each once: `read-committed`.
    pub isolations: Vec<String>,
    /// Settings that matter, by name.
    pub settings: Vec<(String, String)>,
}

impl RecordedDatabase {
    /// Says what is missing, if something is.
    pub(crate) fn lacks(&self) -> Option<&'static str> {
        if self.name.is_empty() {
            Some("the database has no name, such as \"postgres\"")
        } else if self.isolations.is_empty() {
            Some("the database has no isolation level, such as \"read-committed\"")
        } else {
            None
        }
    }

    /// Reads what [`fmt::Display`] writes.
    pub(crate) fn of_text(text: &str) -> Result<Self, String> {
        const FORM: &str = "write `# database: postgres 15.18 at read-committed`";
        let (text, settings) = text.split_once(" with ").unwrap_or((text, ""));
        let Some((database, isolations)) = text.split_once(" at ") else {
            return Err(format!("the database has no isolation level; {FORM}"));
        };
        let database = database.trim();
        let (name, version) = match database.rsplit_once(' ') {
            Some((name, version)) if version.starts_with(|it: char| it.is_ascii_digit()) => (name, Some(version)),
            _ => (database, None),
        };
        let listed = |text: &str| -> Vec<String> {
            text.split(',').map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).collect()
        };
        let setting = |text: String| match text.split_once('=') {
            Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
            None => Err(format!("`{text}` is no setting, as in innodb_snapshot_isolation=off")),
        };
        let found = Self {
            name: name.trim().to_owned(),
            version: version.map(str::to_owned),
            isolations: listed(isolations),
            settings: listed(settings).into_iter().map(setting).collect::<Result<_, _>>()?,
        };
        match found.lacks() {
            Some(what) => Err(format!("{what}; {FORM}")),
            None => Ok(found),
        }
    }

    /// Writes it as a JSON object.
    pub(crate) fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"{\"name\":")?;
        write_string(out, &self.name)?;
        if let Some(version) = &self.version {
            out.write_all(b",\"version\":")?;
            write_string(out, version)?;
        }
        out.write_all(b",\"isolation\":")?;
        match self.isolations.as_slice() {
            [only] => write_string(out, only)?,
            several => {
                for (nth, isolation) in several.iter().enumerate() {
                    out.write_all(if nth == 0 { b"[" } else { b"," })?;
                    write_string(out, isolation)?;
                }
                out.write_all(b"]")?;
            }
        }
        for (nth, (name, value)) in self.settings.iter().enumerate() {
            out.write_all(if nth == 0 { b",\"settings\":{" } else { b"," })?;
            write_string(out, name)?;
            out.write_all(b":")?;
            write_string(out, value)?;
        }
        out.write_all(if self.settings.is_empty() { b"}" } else { b"}}" })
    }
}

/// As a text has it, in one line: `postgres 15.18 at read-committed with default_transaction_isolation=read-committed`.
impl fmt::Display for RecordedDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&bare(&self.name))?;
        if let Some(version) = &self.version {
            write!(f, " {}", bare(version))?;
        }
        let isolations: Vec<String> = self.isolations.iter().map(|it| bare(it)).collect();
        write!(f, " at {}", isolations.join(", "))?;
        let settings: Vec<String> = self.settings.iter().map(|it| format!("{}={}", bare(&it.0), bare(&it.1))).collect();
        if settings.is_empty() { Ok(()) } else { write!(f, " with {}", settings.join(", ")) }
    }
}

/// A word that ends nothing: what would is a hyphen.
fn bare(text: &str) -> String {
    text.chars().map(|it| if it.is_whitespace() || it.is_control() || it == ',' { '-' } else { it }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_back() {
        for text in
            ["postgres at serializable", "mariadb 11.8 at rr, ser with a=b, c=on", "sqlite 3.54.1 at serializable"]
        {
            assert_eq!(RecordedDatabase::of_text(text).unwrap().to_string(), text);
        }
        for text in ["postgres 15", " at rc", "postgres at ", "postgres at rc with on"] {
            assert!(RecordedDatabase::of_text(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_would_end_a_line_or_a_list_does_not_get_into_a_text() {
        let isolations = vec!["read committed".to_owned(), "a,\nb".to_owned()];
        let database = RecordedDatabase { name: "x".to_owned(), isolations, ..RecordedDatabase::default() };
        assert_eq!(database.to_string(), "x at read-committed, a--b");
    }
}

//! What databases promise: for each of their isolation levels, a level of the catalogue.
//!
//! The table is a text, `promises/promises.txt`, which also says what its lines mean. It is looked up by the database,
//! its version, the settings that matter, and the SQL name of the isolation level.

use crate::{Catalogue, Level, Spec};
use std::fmt;
use std::sync::LazyLock;

/// What all databases promise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Promises {
    /// Short names, each with what it is short for.
    shorts: Vec<(String, String)>,
    databases: Vec<DatabasePromises>,
}

/// What one database promises.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatabasePromises {
    name: String,
    title: String,
    also: Vec<String>,
    default: String,
    settings: Vec<Setting>,
    promises: Vec<Promise>,
    /// Where the table has it.
    line: usize,
}

/// What one isolation level of a database promises, where some things are so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Promise {
    isolation: String,
    from: Option<String>,
    before: Option<String>,
    when: Option<(String, String)>,
    level: String,
    on_one_server: Option<String>,
    source: String,
    seen: Seen,
    /// Where the table has it.
    line: usize,
}

/// Do tests of this project play an isolation level on the database itself?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seen {
    /// On the real database.
    OnServers,
    /// It is known from its documentation only.
    #[default]
    InDocumentation,
}

/// A setting that decides what is promised.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    name: String,
    /// What it is by default, and from which version on; none where that is not known.
    defaults: Vec<(Option<String>, String)>,
}

/// A line of the table that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPromise {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for BadPromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for BadPromise {}

const TEXT: &str = include_str!("../promises/promises.txt");

static BUILTIN: LazyLock<Promises> =
    LazyLock::new(|| Promises::parse(TEXT).unwrap_or_else(|error| panic!("the table of promises is broken: {error}")));

impl Promises {
    /// The table that comes with the project, read at the first call.
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }

    /// Reads a table.
    pub fn parse(text: &str) -> Result<Self, BadPromise> {
        let mut promises = Self::default();
        for (idx, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if !words.is_empty() && !words[0].starts_with('#') {
                promises.read(idx + 1, &words).map_err(|message| BadPromise { line: idx + 1, message })?;
            }
        }
        promises.check()?;
        Ok(promises)
    }

    fn read(&mut self, line: usize, words: &[&str]) -> Result<(), String> {
        let rest = words[1..].join(" ");
        match words {
            ["short", short, long] => self.shorts.push(((*short).to_owned(), (*long).to_owned())),
            ["database", name, _, ..] => self.databases.push(DatabasePromises {
                name: (*name).to_owned(),
                title: words[2..].join(" "),
                line,
                ..DatabasePromises::default()
            }),
            [first, _, ..] => {
                let database = self.databases.last_mut().ok_or("a database comes first")?;
                database.read(line, first, &words[1..], rest)?;
            }
            _ => return Err(format!("`{}` says nothing", words.join(" "))),
        }
        Ok(())
    }

    /// Fails where a promise lacks something, or names a level that there is not.
    fn check(&self) -> Result<(), BadPromise> {
        for database in &self.databases {
            let fail = |line: usize, message: String| Err(BadPromise { line, message });
            if database.of(&database.default).next().is_none() {
                return fail(database.line, format!("{} has no default", database.name));
            }
            for promise in &database.promises {
                let what = format!("{} of {}", promise.isolation, database.name);
                if promise.source.is_empty() {
                    return fail(promise.line, format!("{what} has no source"));
                }
                for level in [Some(&promise.level), promise.on_one_server.as_ref()].into_iter().flatten() {
                    if Catalogue::builtin().find(level).is_err() {
                        return fail(promise.line, format!("{what}: there is no level `{level}`"));
                    }
                }
                if let Some((setting, _)) = &promise.when
                    && !database.settings.iter().any(|it| it.name == *setting)
                {
                    return fail(promise.line, format!("{what}: there is no setting `{setting}`"));
                }
            }
        }
        Ok(())
    }

    /// Every database of the table.
    pub fn databases(&self) -> &[DatabasePromises] {
        &self.databases
    }

    /// The database of a name, as in `postgres`, `PostgreSQL` or `pg`.
    pub fn database(&self, name: &str) -> Option<&DatabasePromises> {
        let wanted = name.trim().to_ascii_lowercase();
        self.databases
            .iter()
            .find(|it| it.name == wanted || it.title.to_ascii_lowercase() == wanted || it.also.contains(&wanted))
    }

    /// An SQL name as the table has it: `READ COMMITTED`, `read_committed` and `rc` are `read-committed`.
    pub fn isolation(&self, name: &str) -> String {
        let name = name.trim().to_ascii_lowercase().replace([' ', '_'], "-");
        let long = self.shorts.iter().find(|it| it.0 == name).map(|it| it.1.clone());
        long.unwrap_or(name)
    }
}

impl DatabasePromises {
    fn read(&mut self, line: usize, first: &str, words: &[&str], rest: String) -> Result<(), String> {
        match (first, words) {
            ("also", _) => self.also.extend(rest.split(',').map(|it| it.trim().to_owned())),
            ("default", [isolation]) => (*isolation).clone_into(&mut self.default),
            ("setting", [name, values @ ..]) => {
                let values = values.join(" ");
                let value = |text: &str| match text.split_once(" from ") {
                    Some((value, from)) => (Some(from.trim().to_owned()), value.trim().to_owned()),
                    None => (None, text.trim().to_owned()),
                };
                let defaults = values.split(',').filter(|it| !it.is_empty()).map(value).collect();
                self.settings.push(Setting { name: (*name).to_owned(), defaults });
            }
            ("level", [isolation]) => {
                self.promises.push(Promise { isolation: (*isolation).to_owned(), line, ..Promise::default() });
            }
            _ => {
                let promise = self.promises.last_mut().ok_or_else(|| format!("`{first}` belongs to a level"))?;
                promise.read(first, words, rest)?;
            }
        }
        Ok(())
    }

    /// Its name for machines: `postgres`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name for people: `PostgreSQL`.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The isolation level that transactions have unless they ask for something else.
    pub fn default_isolation(&self) -> &str {
        &self.default
    }

    /// The names of the settings that matter.
    pub fn settings(&self) -> impl Iterator<Item = &str> {
        self.settings.iter().map(|it| it.name.as_str())
    }

    /// The SQL names of its isolation levels, each once.
    pub fn isolations(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for promise in &self.promises {
            if !names.contains(&promise.isolation.as_str()) {
                names.push(&promise.isolation);
            }
        }
        names
    }

    /// Every promise.
    pub fn promises(&self) -> &[Promise] {
        &self.promises
    }

    fn of<'d>(&'d self, isolation: &'d str) -> impl Iterator<Item = &'d Promise> {
        self.promises.iter().filter(move |it| it.isolation == isolation)
    }

    /// What an isolation level promises. There are several where it depends on a setting that is not given, and none where
    /// the database has no such level. A version that is not given is a recent one.
    pub fn promised(&self, isolation: &str, version: Option<&str>, settings: &[(String, String)]) -> Vec<&Promise> {
        let isolation = Promises::builtin().isolation(isolation);
        let of_version = |it: &&Promise| {
            let Some(version) = version else { return it.before.is_none() };
            let is_before = |bound: &String| numbers(version) < numbers(bound);
            !it.from.as_ref().is_some_and(is_before) && it.before.as_ref().is_none_or(is_before)
        };
        let as_set = |it: &&Promise| {
            let Some((setting, value)) = &it.when else { return true };
            self.value_of(setting, version, settings).is_none_or(|it| it.eq_ignore_ascii_case(value))
        };
        let mut found: Vec<&Promise> =
            self.promises.iter().filter(|it| it.isolation == isolation).filter(of_version).filter(as_set).collect();
        // Conditions that make no difference are none.
        if found.iter().all(|it| it.level == found[0].level) {
            found.truncate(1);
        }
        found
    }

    /// What a setting is: as recorded, or as it is by default; none where nobody knows.
    fn value_of<'s>(
        &'s self,
        setting: &str,
        version: Option<&str>,
        settings: &'s [(String, String)],
    ) -> Option<&'s str> {
        if let Some((_, value)) = settings.iter().find(|it| it.0.eq_ignore_ascii_case(setting)) {
            return Some(match value.to_ascii_lowercase().as_str() {
                "1" | "true" => "on",
                "0" | "false" => "off",
                _ => value,
            });
        }
        let defaults = &self.settings.iter().find(|it| it.name == setting)?.defaults;
        match (defaults.as_slice(), version) {
            ([only], _) => Some(&only.1),
            (_, None) => None,
            (many, Some(version)) => {
                let applies = |from: &Option<String>| from.as_ref().is_none_or(|it| numbers(version) >= numbers(it));
                many.iter().rev().find(|it| applies(&it.0)).map(|it| it.1.as_str())
            }
        }
    }
}

/// The numbers of a version: `10.11.14-MariaDB` has 10, 11 and 14.
fn numbers(version: &str) -> Vec<u32> {
    let end = version.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(version.len());
    version[..end].split('.').map_while(|it| it.parse().ok()).collect()
}

impl Promise {
    fn read(&mut self, first: &str, words: &[&str], rest: String) -> Result<(), String> {
        match (first, words) {
            ("from", [version]) => self.from = Some((*version).to_owned()),
            ("before", [version]) => self.before = Some((*version).to_owned()),
            ("when", [setting, value]) => self.when = Some(((*setting).to_owned(), (*value).to_owned())),
            ("promises", [level]) => (*level).clone_into(&mut self.level),
            ("on", ["one", "server", level]) => self.on_one_server = Some((*level).to_owned()),
            ("source", _) => self.source = rest,
            ("seen", ["yes"]) => self.seen = Seen::OnServers,
            ("seen", ["no"]) => self.seen = Seen::InDocumentation,
            _ => return Err(format!("`{first} {rest}` is no part of the table of promises")),
        }
        Ok(())
    }

    /// The SQL name of the isolation level, as in `repeatable-read`.
    pub fn isolation(&self) -> &str {
        &self.isolation
    }

    /// What must be so for it, in words; empty if nothing.
    pub fn condition(&self) -> String {
        let version = match (&self.from, &self.before) {
            (Some(from), _) => format!("from {from}"),
            (None, Some(before)) => format!("before {before}"),
            (None, None) => String::new(),
        };
        let setting = self.when.as_ref().map(|(name, value)| format!("{name} = {value}")).unwrap_or_default();
        [version, setting].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// The name of what is promised, as in `postgres.rc`.
    pub fn level_name(&self) -> &str {
        &self.level
    }

    /// What is promised, if `check` decides it by name.
    pub fn level(&self) -> Option<Level> {
        Level::from_name(&self.level)
    }

    /// The text of what is promised.
    pub fn spec(&self) -> &'static Spec {
        Catalogue::builtin().find(&self.level).expect("a table whose levels are not there is not read")
    }

    /// A stronger level, which one server alone is known to keep, although nobody promises it.
    pub fn on_one_server(&self) -> Option<Level> {
        self.on_one_server.as_deref().and_then(Level::from_name)
    }

    /// Where the documentation of the database says so.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Is it played on the database itself?
    pub fn seen(&self) -> Seen {
        self.seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promised(database: &str, isolation: &str, version: Option<&str>, settings: &[(&str, &str)]) -> Vec<String> {
        let settings: Vec<_> = settings.iter().map(|it| (it.0.to_owned(), it.1.to_owned())).collect();
        let database = Promises::builtin().database(database).unwrap();
        database.promised(isolation, version, &settings).iter().map(|it| it.level.clone()).collect()
    }

    #[test]
    fn sql_names_are_understood_however_they_are_spelled() {
        for name in ["READ COMMITTED", "read_committed", "read-committed", " rc "] {
            assert_eq!(promised("pg", name, None, &[]), ["postgres.rc"], "{name}");
        }
        assert!(promised("PostgreSQL", "snapshot", None, &[]).is_empty());
        assert_eq!(promised("sqlserver", "snapshot", None, &[]), ["sqlserver.si"]);
    }

    #[test]
    fn versions_and_settings_decide_and_where_they_are_missing_it_is_open() {
        let setting = "innodb_snapshot_isolation";
        assert_eq!(promised("mariadb", "rr", Some("10.11.14"), &[]), ["mysql.rr"]);
        assert_eq!(promised("mariadb", "rr", Some("11.6.2-MariaDB"), &[]), ["mariadb.si"]);
        assert_eq!(promised("mariadb", "rr", Some("10.11.14"), &[(setting, "ON")]), ["mariadb.si"]);
        assert_eq!(promised("mariadb", "rr", Some("11.8"), &[(setting, "0")]), ["mysql.rr"]);
        assert_eq!(promised("mariadb", "rr", None, &[]), ["mysql.rr", "mariadb.si"]);
        assert_eq!(promised("postgres", "ser", Some("9.0.4"), &[]), ["postgres.rr"]);
        assert_eq!(promised("postgres", "ser", None, &[]), ["postgres.ser"], "nobody means a version of long ago");
        assert_eq!(promised("postgres", "ser", Some("15.18 (Debian)"), &[]), ["postgres.ser"]);
        assert_eq!(promised("postgres", "rr", None, &[]), ["postgres.rr"], "all versions promise the same");
        assert_eq!(promised("sqlserver", "rc", None, &[]), ["rc"]);
        assert_eq!(promised("yugabytedb", "rc", Some("2.20"), &[]), ["postgres.rc", "si"]);
    }

    #[test]
    fn what_one_server_keeps_is_stronger_than_what_is_promised() {
        for database in Promises::builtin().databases() {
            for promise in database.promises() {
                if let (Some(stronger), Some(level)) = (promise.on_one_server(), promise.level()) {
                    assert!(stronger != level && stronger.implies(level), "{} {level}", database.name());
                }
            }
        }
    }

    #[test]
    fn a_line_that_means_nothing_is_refused_with_its_number() {
        let error = Promises::parse("database d D\ndefault x\nlevel x\n  pledges ser").unwrap_err();
        assert_eq!(error.to_string(), "line 4: `pledges ser` is no part of the table of promises");
        for (text, part) in [
            ("level x", "a database comes first"),
            ("database d D\ndefault x\nlevel x\npromises ser", "no source"),
            ("database d D\ndefault x\nlevel x\npromises xyz\nsource s", "no level `xyz`"),
            ("database d D\ndefault y\nlevel x\npromises ser\nsource s", "no default"),
            ("database d D\ndefault x\nlevel x\nwhen s on\npromises ser\nsource s", "no setting `s`"),
        ] {
            let error = Promises::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}

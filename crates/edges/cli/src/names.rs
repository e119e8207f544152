//! From names on the command line to what they mean.

use crate::promise;
use crate::spec_file::OwnLevels;
use anyhow::{anyhow, bail};
use iso_formats::{CobraIdentity, Format, RecordedDatabase};
use iso_history::clipped;
use iso_report::LevelName;
use iso_spec::{Catalogue, DatabasePromises, Level, Module, Promise, Promises, Spec};

/// A level to be decided.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Question<'s> {
    /// By the engine.
    Level(Level),
    /// By the reference evaluator: a definition of the catalogue, or a user's.
    Spec(&'s Spec),
}

impl Question<'_> {
    /// What the report calls it.
    pub(crate) fn name(&self) -> LevelName {
        match self {
            Self::Level(level) => LevelName::from(*level),
            Self::Spec(spec) => LevelName { short: spec.name().to_owned(), full: title(spec) },
        }
    }
}

/// The part of a summary before its colon: `Snapshot isolation`; the name, if there is none.
fn title(spec: &Spec) -> String {
    match spec.summary().split_once(':') {
        Some((title, _)) if title.len() <= 40 => title.to_owned(),
        _ => spec.name().to_owned(),
    }
}

/// The level of a name: one of the user's file, one that the engine decides, or one of the catalogue.
pub(crate) fn question<'s>(name: &str, own: Option<&'s Module>) -> anyhow::Result<Question<'s>> {
    let name = name.trim();
    if let Some(spec) = own.and_then(|it| it.find(name)) {
        return Ok(Question::Spec(spec));
    }
    if let Some(level) = Level::from_name(name) {
        return Ok(Question::Level(level));
    }
    definition(name).map(Question::Spec)
}

/// What a name on the command line says.
#[derive(Clone, Debug)]
pub(crate) enum Named<'s> {
    /// A level.
    Question(Question<'s>),
    /// An SQL name, which says nothing without a database.
    Sql(String),
}

impl<'s> Named<'s> {
    /// What a name says, to somebody who may have named a database, too. SQL names then come first.
    pub(crate) fn of(name: &str, own: Option<&'s Module>, database: Option<&str>) -> anyhow::Result<Self> {
        let name = name.trim();
        if let Some(spec) = own.and_then(|it| it.find(name)) {
            return Ok(Self::Question(Question::Spec(spec)));
        }
        if let Some(database) = database
            && let Some(question) = promised_by(name, database_of(database)?, None, &[])?
        {
            return Ok(Self::Question(question));
        }
        match (Level::from_name(name), meanings(name).as_slice()) {
            // All databases that have it mean the same.
            (None, [Some(level)]) => Ok(Self::Question(Question::Level(*level))),
            (None, [_, ..]) => Ok(Self::Sql(name.to_owned())),
            _ => question(name, own).map(Self::Question),
        }
    }

    /// The level that is meant in a history of this database.
    pub(crate) fn in_history_of(&self, recorded: Option<&RecordedDatabase>) -> anyhow::Result<Question<'s>> {
        match self {
            Self::Question(question) => Ok(*question),
            Self::Sql(name) => {
                let database = recorded.and_then(|it| Promises::builtin().database(&it.name));
                let (Some(database), Some(recorded)) = (database, recorded) else { bail!(choices(name, None)) };
                let found = promised_by(name, database, recorded.version.as_deref(), &recorded.settings)?;
                found.ok_or_else(|| anyhow!(no_isolation(database, name)))
            }
        }
    }

    /// What the report calls it before the history is known.
    pub(crate) fn name(&self) -> LevelName {
        match self {
            Self::Question(question) => question.name(),
            Self::Sql(name) => LevelName { short: name.clone(), full: name.clone() },
        }
    }
}

/// A database of the table of promises.
pub(crate) fn database_of(name: &str) -> anyhow::Result<&'static DatabasePromises> {
    Promises::builtin().database(name).ok_or_else(|| {
        let known: Vec<&str> = Promises::builtin().databases().iter().map(DatabasePromises::name).collect();
        anyhow!("there is no database `{}`; choose one of {}", clipped(name), known.join(", "))
    })
}

/// What an SQL name means in a database; none if it has none of that name.
pub(crate) fn promised_by(
    name: &str,
    database: &'static DatabasePromises,
    version: Option<&str>,
    settings: &[(String, String)],
) -> anyhow::Result<Option<Question<'static>>> {
    match database.promised(name, version, settings)[..] {
        [] => Ok(None),
        [only] => Ok(Some(only.level().map_or_else(|| Question::Spec(only.spec()), Question::Level))),
        _ => bail!(choices(name, Some(database))),
    }
}

fn no_isolation(database: &DatabasePromises, name: &str) -> String {
    let known = database.isolations().join(", ");
    format!("{} has no isolation level `{}`; it has {known}", database.title(), clipped(name))
}

/// The level that a database is expected to keep: that of a name, which may be one of its SQL names, or else its promise,
/// with the reason.
pub(crate) fn expected(
    name: Option<&str>,
    recorded: Option<&RecordedDatabase>,
) -> anyhow::Result<(Level, Option<String>)> {
    let cannot = |what: String| {
        let known: Vec<&str> = Level::ALL.iter().map(|it| it.short_name()).collect();
        anyhow!("{what}; choose one of {}", known.join(", "))
    };
    match name.map(str::trim) {
        None => {
            let recorded = recorded.ok_or_else(|| anyhow!("what this database promises is not known; add --expect"))?;
            let promised =
                promise::promised(recorded).map_err(|why| anyhow!("{why} Say what to expect with --expect"))?;
            let level =
                promised.level().ok_or_else(|| cannot(format!("{} is not decided here", promised.because())))?;
            Ok((level, Some(promised.because())))
        }
        Some(name) => match Level::from_name(name) {
            Some(level) => Ok((level, None)),
            None if is_sql_name(name) => match Named::Sql(name.to_owned()).in_history_of(recorded)? {
                Question::Level(level) => Ok((level, None)),
                Question::Spec(spec) => Err(cannot(format!("{} cannot be expected", spec.name()))),
            },
            None => Err(cannot(format!("there is no level `{}` to expect", clipped(name)))),
        },
    }
}

/// Does a database have an isolation level of this name?
fn is_sql_name(name: &str) -> bool {
    !meanings(name).is_empty()
}

/// The levels that databases mean by an SQL name, each once; those that only their text defines have no name here.
fn meanings(name: &str) -> Vec<Option<Level>> {
    let isolation = Promises::builtin().isolation(name);
    let all = Promises::builtin().databases().iter().flat_map(DatabasePromises::promises);
    let mut levels: Vec<Option<Level>> = all.filter(|it| it.isolation() == isolation).map(Promise::level).collect();
    levels.sort();
    levels.dedup();
    levels
}

/// What an SQL name may mean, a line each.
fn choices(name: &str, only: Option<&DatabasePromises>) -> String {
    let isolation = Promises::builtin().isolation(name);
    let mut choices: Vec<(&Promise, Vec<String>)> = Vec::new();
    for database in Promises::builtin().databases().iter().filter(|it| only.is_none_or(|only| only == *it)) {
        for promise in database.promises().iter().filter(|it| it.isolation() == isolation) {
            let (condition, same) = (promise.condition(), promise.level_name());
            let others = || database.promises().iter().filter(|it| it.isolation() == isolation);
            let who = if others().all(|it| it.level_name() == same) {
                database.title().to_owned()
            } else {
                format!("{} ({condition})", database.title())
            };
            match choices.iter_mut().find(|it| it.0.level_name() == promise.level_name()) {
                Some((_, whose)) if whose.contains(&who) => {}
                Some((_, whose)) => whose.push(who),
                None => choices.push((promise, vec![who])),
            }
        }
    }
    let width = choices.iter().map(|it| it.0.level_name().len()).max().unwrap_or_default();
    let line = |(promise, whose): &(&Promise, Vec<String>)| {
        let summary = promise.spec().summary();
        format!("\n  {:width$}  {}: {}", promise.level_name(), whose.join(", "), short(summary))
    };
    let lines: String = choices.iter().map(line).collect();
    match only {
        Some(database) => format!(
            "`{}` of {} depends on its version or settings; choose one of these levels:{lines}",
            clipped(name),
            database.title()
        ),
        None => format!(
            "databases mean different things by `{}`; name one with --database, or choose one of these levels:{lines}",
            clipped(name)
        ),
    }
}

/// What a summary says, without the name that it begins with.
fn short(summary: &str) -> &str {
    match summary.split_once(": ") {
        Some((name, rest)) if name.chars().all(|it| it.is_uppercase() || !it.is_alphabetic()) => rest,
        _ => summary,
    }
    .trim_end_matches('.')
}

/// The definition of a name: one of the user's files, or one of the catalogue.
pub(crate) fn spec<'s>(name: &str, own: &'s OwnLevels) -> anyhow::Result<&'s Spec> {
    let name = name.trim();
    if let Some(spec) = own.find(name)? {
        return Ok(spec);
    }
    definition(name).map_err(|error| {
        let names: Vec<String> = own.levels().map(|it| format!("`{}`", it.name())).collect();
        if names.is_empty() { error } else { anyhow!("{error}; the spec files have {}", names.join(", ")) }
    })
}

/// As [`spec`], for several names, each definition once.
pub(crate) fn specs<'s>(names: &[String], own: &'s OwnLevels) -> anyhow::Result<Vec<&'s Spec>> {
    let mut specs: Vec<&Spec> = Vec::new();
    for name in names {
        let spec = spec(name, own)?;
        if specs.iter().all(|it| it.name() != spec.name()) {
            specs.push(spec);
        }
    }
    Ok(specs)
}

/// A definition of the catalogue, by full or bare name.
pub(crate) fn definition(name: &str) -> anyhow::Result<&'static Spec> {
    Catalogue::builtin().find(name).map_err(|mut unknown| {
        if is_sql_name(name) {
            return anyhow!("there is no level `{}`: {}", clipped(name), choices(name, None));
        }
        if unknown.near.is_empty() {
            unknown.near = levels_with(name);
        }
        anyhow!("{unknown} (`isoscope levels` lists them all)")
    })
}

/// Levels of which the name is only a part.
fn levels_with(part: &str) -> Vec<String> {
    let part = part.to_ascii_lowercase();
    let found = |it: &Level| part.len() > 2 && it.full_name().contains(&part);
    Level::usual().into_iter().filter(found).map(|it| it.full_name().to_owned()).collect()
}

/// A format by its name.
pub(crate) fn format(name: &str) -> anyhow::Result<Format> {
    Format::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Format::ALL.iter().map(|it| it.name()).collect();
        anyhow!("there is no format `{}`; choose one of {}", clipped(name), known.join(", "))
    })
}

/// What identifies a version in Cobra logs.
pub(crate) fn cobra_identity(name: &str) -> anyhow::Result<CobraIdentity> {
    CobraIdentity::from_name(name)
        .ok_or_else(|| anyhow!("--cobra-identity is `values` or `writers`, and not `{}`", clipped(name)))
}

//! From names on the command line to what they mean.

use crate::spec_file::OwnLevels;
use anyhow::anyhow;
use iso_formats::{CobraIdentity, Format};
use iso_report::LevelName;
use iso_spec::{Catalogue, Level, Module, Spec};

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
    Catalogue::builtin().find(name).map_err(|unknown| {
        if is_repeatable_read(name) {
            return anyhow!("there is no level `{name}`: {REPEATABLE_READ}");
        }
        let others = if unknown.near.is_empty() { levels_with(name) } else { String::new() };
        anyhow!("{unknown}{others} (`isoscope levels` lists them all)")
    })
}

fn is_repeatable_read(name: &str) -> bool {
    let letters: String = name.chars().filter(char::is_ascii_alphabetic).collect();
    ["rr", "repeatableread"].contains(&letters.to_ascii_lowercase().as_str())
}

/// The one name of SQL that means something else in every database.
const REPEATABLE_READ: &str = "databases mean different things by repeatable read. In PostgreSQL it is snapshot \
    isolation (`si`); Adya's definition is `adya.pl299`";

/// Levels whose full names have these words, as a question.
fn levels_with(words: &str) -> String {
    let words = words.to_ascii_lowercase();
    let found = |it: &Level| words.len() > 2 && it.full_name().contains(&words);
    let names: Vec<String> = Level::ALL.into_iter().filter(found).map(|it| format!("`{}`", it.full_name())).collect();
    if names.is_empty() { String::new() } else { format!("; did you mean {}?", names.join(" or ")) }
}

/// A format by its name.
pub(crate) fn format(name: &str) -> anyhow::Result<Format> {
    Format::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Format::ALL.iter().map(|it| it.name()).collect();
        anyhow!("there is no format `{name}`; choose one of {}", known.join(", "))
    })
}

/// What identifies a version in Cobra logs.
pub(crate) fn cobra_identity(name: &str) -> anyhow::Result<CobraIdentity> {
    CobraIdentity::from_name(name).ok_or_else(|| anyhow!("--cobra-identity is `values` or `writers`, and not `{name}`"))
}

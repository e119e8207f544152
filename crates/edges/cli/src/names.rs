//! From names on the command line to what they mean.

use crate::spec_file::OwnLevels;
use anyhow::anyhow;
use iso_formats::{CobraIdentity, Format};
use iso_history::clipped;
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
    Catalogue::builtin().find(name).map_err(|mut unknown| {
        if is_repeatable_read(name) {
            return anyhow!("there is no level `{name}`: {REPEATABLE_READ}");
        }
        if unknown.near.is_empty() {
            unknown.near = levels_with(name);
        }
        anyhow!("{unknown} (`isoscope levels` lists them all)")
    })
}

fn is_repeatable_read(name: &str) -> bool {
    let letters: String = name.chars().filter(char::is_ascii_alphabetic).collect();
    ["rr", "repeatableread"].contains(&letters.to_ascii_lowercase().as_str())
}

/// The one name of SQL that means something else in every database.
const REPEATABLE_READ: &str = "databases mean different things by repeatable read. In PostgreSQL it is snapshot \
    isolation (`si`); Adya's definition is `adya.pl299`";

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

//! The catalogue: the levels that come with the project, each an axiom text.

use crate::Level;
use crate::error::near_names;
use crate::module::{Module, parse_builtin};
use crate::spec::Spec;
use iso_history::clipped;
use std::fmt;
use std::sync::{Arc, LazyLock};

/// Every level that comes with the project.
#[derive(Debug)]
pub struct Catalogue {
    modules: Vec<Arc<Module>>,
}

/// Modules in the order in which they may import each other.
const TEXTS: &[(&str, &str)] = &[
    ("common", include_str!("../catalogue/common.spec")),
    ("biswas", include_str!("../catalogue/biswas.spec")),
    ("cerone", include_str!("../catalogue/cerone.spec")),
    ("crooks", include_str!("../catalogue/crooks.spec")),
    ("adya", include_str!("../catalogue/adya.spec")),
    ("session", include_str!("../catalogue/session.spec")),
    ("plume", include_str!("../catalogue/plume.spec")),
    ("databases", include_str!("../catalogue/databases.spec")),
    ("postgres", include_str!("../catalogue/postgres.spec")),
    ("mysql", include_str!("../catalogue/mysql.spec")),
    ("mariadb", include_str!("../catalogue/mariadb.spec")),
    ("sqlite", include_str!("../catalogue/sqlite.spec")),
    ("sqlserver", include_str!("../catalogue/sqlserver.spec")),
    ("oracle", include_str!("../catalogue/oracle.spec")),
];

static BUILTIN: LazyLock<Catalogue> = LazyLock::new(Catalogue::read);

/// A level that the catalogue does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLevel {
    /// The name that was asked for.
    pub name: String,
    /// Names like it.
    pub near: Vec<String>,
}

impl fmt::Display for UnknownLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no level `{}`", clipped(&self.name))?;
        match self.near.as_slice() {
            [] => Ok(()),
            [only] => write!(f, "; did you mean `{only}`?"),
            [first @ .., last] => write!(f, "; did you mean `{}` or `{last}`?", first.join("`, `")),
        }
    }
}

impl std::error::Error for UnknownLevel {}

impl Catalogue {
    /// The catalogue, read at the first call.
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }

    fn read() -> Self {
        let mut modules: Vec<Arc<Module>> = Vec::new();
        for (name, text) in TEXTS {
            match parse_builtin(text, name, &modules) {
                Ok(module) => modules.push(Arc::new(module)),
                Err(errors) => {
                    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
                    panic!("the catalogue is broken:\n{}", lines.join("\n"));
                }
            }
        }
        Self { modules }
    }

    /// The level of a full name (`biswas.ra`), or what a bare name (`ra`, `read-atomic`) means by default.
    pub fn find(&self, name: &str) -> Result<&Spec, UnknownLevel> {
        let full = match Level::from_name(name) {
            Some(level) => level.definition(),
            None => name,
        };
        if let Some(found) = self.levels().find(|it| it.name() == full) {
            return Ok(found);
        }
        let mut same_short = self.levels().filter(|it| it.short_name() == name);
        match (same_short.next(), same_short.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> UnknownLevel {
        let same_short = self.levels().filter(|it| it.short_name() == name).map(|it| it.name().to_owned());
        let mut near: Vec<String> = same_short.collect();
        if near.is_empty() {
            let full = self.levels().map(Spec::name);
            let bare = Level::ALL.into_iter().flat_map(|it| [it.short_name(), it.full_name()]);
            near = near_names(name, full.chain(bare)).into_iter().map(str::to_owned).collect();
        }
        UnknownLevel { name: name.to_owned(), near }
    }

    /// The definition of a level that `check` decides by name.
    pub fn of(&self, level: Level) -> &Spec {
        self.find(level.definition()).expect("a test finds every level's definition")
    }

    /// Every level, by module, in the order of the texts.
    pub fn levels(&self) -> impl Iterator<Item = &Spec> {
        self.modules.iter().flat_map(|it| it.levels())
    }

    /// The module of that name.
    pub fn module(&self, name: &str) -> Option<Arc<Module>> {
        self.modules.iter().find(|it| it.name() == name).cloned()
    }

    /// Every module, with those first that others import.
    pub fn modules(&self) -> &[Arc<Module>] {
        &self.modules
    }
}

pub(crate) fn module_names() -> impl Iterator<Item = &'static str> {
    TEXTS.iter().map(|it| it.0)
}

//! Levels that a document names: those of the catalogue, and those of the spec files that come with it.

use crate::spec_file::OwnLevels;
use iso_spec::{Catalogue, Level, Spec};

/// Where levels are looked up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Levels<'l> {
    pub(super) own: &'l OwnLevels,
}

impl<'l> Levels<'l> {
    /// The text of a level; the error says what to do.
    pub(super) fn spec(self, name: &str) -> Result<&'l Spec, String> {
        if let Ok(Some(own)) = self.own.find(name) {
            return Ok(own);
        }
        let definition = Level::from_name(name).map(Level::definition);
        Catalogue::builtin()
            .find(definition.unwrap_or(name))
            .map_err(|_| format!("`{name}` is no level of the catalogue; name the file that defines it with --spec"))
    }

    /// The level that `check` knows by this name.
    pub(super) fn level(self, name: &str) -> Option<Level> {
        match self.own.find(name) {
            Ok(None) => Level::from_name(name),
            _ => None,
        }
    }
}

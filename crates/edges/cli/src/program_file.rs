//! Programs from files: as they are, or translated from SQL.

use crate::text_file::{self, Mistake};
use iso_program::ProgramError;
use std::path::Path;

/// The text of a program, and that of the file where these differ.
pub(crate) struct ProgramFile<'p> {
    path: &'p Path,
    /// What stands in the file.
    written: String,
    /// As the language of programs has it. Every statement stands on the line of its original.
    pub(crate) text: String,
}

impl<'p> ProgramFile<'p> {
    /// Reads a program, in SQL if the name of its file ends so.
    pub(crate) fn read(path: &'p Path) -> anyhow::Result<Self> {
        Self::of(path, text_file::read(path, "program")?)
    }

    /// The same of a text that is at hand under the name of its file.
    pub(crate) fn of(path: &'p Path, written: String) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        if !iso_sql::is_sql(&name) {
            return Ok(Self { path, text: written.clone(), written });
        }
        let translated = iso_sql::translate(&written, &name);
        let translation = translated.map_err(|errors| text_file::shown(errors.iter().map(mistake), path, &written))?;
        Ok(Self { path, text: translation.in_place(), written })
    }

    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// What is wrong with the program, pointed at in the file. Columns of a translation are not those of the file.
    pub(crate) fn complaint(&self, errors: &[ProgramError]) -> anyhow::Error {
        let is_translated = self.text != self.written;
        let placed = |it: &ProgramError| {
            let line = self.written.lines().nth(it.line.saturating_sub(1) as usize).unwrap_or_default();
            let first = line.chars().take_while(|it| it.is_whitespace()).count() as u32 + 1;
            let mut placed = it.clone();
            if is_translated {
                placed.column = first;
                placed.hint = placed.hint.replace("as in `run ", "in a comment: `-- run ");
            }
            placed
        };
        let errors: Vec<ProgramError> = errors.iter().map(placed).collect();
        text_file::shown(errors.iter().map(mistake), self.path, &self.written)
    }
}

/// What is wrong with a program, for whoever shows it.
pub(crate) fn mistake(error: &ProgramError) -> Mistake<'_> {
    let ProgramError { file, line, column, message, hint } = error;
    Mistake { file, line: *line, column: *column, message, hint }
}

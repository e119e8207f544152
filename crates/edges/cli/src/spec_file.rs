//! Reads a user's spec files, and shows what is wrong with them.

use crate::text_file::{self, Mistake};
use anyhow::bail;
use iso_spec::{Module, Spec, SpecError, parse};
use std::path::{Path, PathBuf};

/// What the files are called in messages.
const KIND: &str = "spec file";

/// The levels of several files.
#[derive(Debug, Default)]
pub(crate) struct OwnLevels {
    files: Vec<(PathBuf, Module)>,
}

impl OwnLevels {
    /// Reads the files; their names must differ, since levels are called by them.
    pub(crate) fn read(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let texts: Vec<(PathBuf, String)> =
            paths.iter().map(|it| Ok((it.clone(), text_file::read(it, KIND)?))).collect::<anyhow::Result<_>>()?;
        Self::of(&texts)
    }

    /// As [`OwnLevels::read`], of texts that are at hand under the names of their files.
    pub(crate) fn of(texts: &[(PathBuf, String)]) -> anyhow::Result<Self> {
        let mut own = Self::default();
        for (path, text) in texts {
            let module = parsed(path, text)?;
            if let Some((other, _)) = own.files.iter().find(|it| it.1.name() == module.name()) {
                bail!(
                    "{} and {} would both be called `{}`; rename one of the files",
                    other.display(),
                    path.display(),
                    module.name()
                );
            }
            own.files.push((path.clone(), module));
        }
        Ok(own)
    }

    /// The files, as they were named.
    pub(crate) fn inputs(&self) -> Vec<String> {
        self.files.iter().map(|it| it.0.display().to_string()).collect()
    }

    /// The files as modules.
    pub(crate) fn modules(&self) -> impl Iterator<Item = &Module> {
        self.files.iter().map(|it| &it.1)
    }

    /// All levels, in the order of the files.
    pub(crate) fn levels(&self) -> impl Iterator<Item = &Spec> {
        self.files.iter().flat_map(|it| it.1.levels())
    }

    /// The level of a full name, or of a bare one that is used once.
    pub(crate) fn find(&self, name: &str) -> anyhow::Result<Option<&Spec>> {
        if let Some(spec) = self.levels().find(|it| it.name() == name) {
            return Ok(Some(spec));
        }
        let called: Vec<&Spec> = self.levels().filter(|it| it.short_name() == name).collect();
        match called[..] {
            [] => Ok(None),
            [only] => Ok(Some(only)),
            [first, second, ..] => {
                bail!("`{name}` is in several spec files; write `{}` or `{}`", first.name(), second.name())
            }
        }
    }
}

/// The levels of a file. Imported files are looked for beside it.
pub(crate) fn read(path: &Path) -> anyhow::Result<Module> {
    parsed(path, &text_file::read(path, KIND)?)
}

fn parsed(path: &Path, text: &str) -> anyhow::Result<Module> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut loader = |name: &str| text_file::read(&folder.join(name), KIND).map_err(|it| it.root_cause().to_string());
    let module = parse(text, &path.display().to_string(), &mut loader)
        .map_err(|errors| text_file::shown(errors.iter().map(mistake), path, text))?;
    if module.levels().is_empty() {
        bail!("{} defines no level; add a line such as `level mine in cerone = cerone.ra`", path.display());
    }
    Ok(module)
}

fn mistake(error: &SpecError) -> Mistake<'_> {
    let SpecError { file, line, column, message, hint } = error;
    Mistake { file, line: *line, column: *column, message, hint }
}

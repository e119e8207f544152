//! Reads a user's spec files, and shows what is wrong with them.

use anyhow::{Context, anyhow, bail};
use iso_spec::{Module, Spec, SpecError, parse};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Longer texts are not written by people.
const LONGEST: u64 = 4 << 20;
/// One mistake often makes many messages.
const MAX_SHOWN_ERRORS: usize = 10;

/// The levels of several files.
#[derive(Debug, Default)]
pub(crate) struct OwnLevels {
    files: Vec<(PathBuf, Module)>,
}

impl OwnLevels {
    /// Reads the files; their names must differ, since levels are called by them.
    pub(crate) fn read(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let mut own = Self::default();
        for path in paths {
            let module = read(path)?;
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
    let text = text_of(path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut loader = |name: &str| text_of(&folder.join(name)).map_err(|it| it.root_cause().to_string());
    let module =
        parse(&text, &path.display().to_string(), &mut loader).map_err(|errors| shown(&errors, path, &text))?;
    if module.levels().is_empty() {
        bail!("{} defines no level; add a line such as `level mine in cerone = cerone.ra`", path.display());
    }
    Ok(module)
}

fn text_of(path: &Path) -> anyhow::Result<String> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    if fs::metadata(path).is_ok_and(|it| it.is_dir()) {
        bail!("{} is a directory; name a spec file", path.display());
    }
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes).with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.len() as u64 > LONGEST {
        bail!("{} is too long to be a spec file", path.display());
    }
    String::from_utf8(bytes).map_err(|_| anyhow!("{} is no text, so it is no spec file", path.display()))
}

fn shown(errors: &[SpecError], path: &Path, text: &str) -> anyhow::Error {
    let own = path.display().to_string();
    let mut lines: Vec<String> = Vec::new();
    for error in errors.iter().take(MAX_SHOWN_ERRORS) {
        lines.push(format!("{}: line {}, column {}: {}", error.file, error.line, error.column, error.message));
        if error.file == own {
            lines.extend(pointed(text, error));
        }
        if !error.hint.is_empty() {
            lines.push(format!("    hint: {}", error.hint));
        }
    }
    if errors.len() > MAX_SHOWN_ERRORS {
        lines.push(format!("and {} more", errors.len() - MAX_SHOWN_ERRORS));
    }
    anyhow!(lines.join("\n"))
}

/// The line with a caret under the column; only the part around it, if the line is long.
fn pointed(text: &str, error: &SpecError) -> Vec<String> {
    const BEFORE: usize = 70;
    const WIDTH: usize = 110;
    let Some(line) = text.lines().nth(error.line.saturating_sub(1) as usize) else { return Vec::new() };
    let column = error.column.saturating_sub(1) as usize;
    let from = column.saturating_sub(BEFORE);
    let part: String = line.chars().skip(from).take(WIDTH).map(|it| if it.is_control() { ' ' } else { it }).collect();
    vec![format!("    {}", part.trim_end()), format!("    {}^", " ".repeat(column - from))]
}

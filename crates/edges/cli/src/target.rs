//! Where a found history goes: `-o FILE.history`.

use crate::output::{self, Overwrite};
use crate::reporter::Channel;
use anyhow::bail;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// So many histories at once are looked for before a run.
const MAX_OTHERS: usize = 50;

/// Where the history goes.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    StandardOutput,
    File(PathBuf),
}

impl Target {
    /// From the command line.
    pub(crate) fn of(path: &Path, is_json: bool, overwrite: Overwrite) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            if is_json {
                bail!("--json and -o - both write to standard output; give the history a file");
            }
            return Ok(Self::StandardOutput);
        }
        if path.extension() != Some(OsStr::new("history")) {
            bail!(
                "{}: the name of a history ends in .history; `isoscope convert` makes other formats of it",
                path.display()
            );
        }
        overwrite.check(path)?;
        Ok(Self::File(path.to_owned()))
    }

    /// Are the names free that [`Target::save_each`] may give to further histories?
    pub(crate) fn check_others(&self, overwrite: Overwrite) -> anyhow::Result<()> {
        match self {
            Self::StandardOutput => Ok(()),
            Self::File(path) => {
                (2..=MAX_OTHERS).try_for_each(|number| overwrite.check(&output::numbered(path, number)))
            }
        }
    }

    /// Where the words of the answer go then.
    pub(crate) fn channel(target: Option<&Self>) -> Channel {
        match target {
            Some(Self::StandardOutput) => Channel::Aside,
            Some(Self::File(_)) | None => Channel::Output,
        }
    }

    /// Puts the history there, if there is one; what people should know about it.
    pub(crate) fn save(&self, history: Option<&str>) -> anyhow::Result<Vec<String>> {
        match (self, history) {
            (Self::StandardOutput, None) => Ok(Vec::new()),
            (Self::StandardOutput, Some(history)) => {
                output::print(history)?;
                Ok(Vec::new())
            }
            (Self::File(path), None) => Ok(vec![format!("{} is not written: there is no history.", path.display())]),
            (Self::File(path), Some(history)) => {
                output::write_file(path, history.as_bytes())?;
                Ok(vec![format!("The history is in {}; isoscope check reads it.", path.display())])
            }
        }
    }

    /// As [`Target::save`], for several histories with their names: the first one has the file, and the others have files
    /// with a number, as in `found-2.history`.
    pub(crate) fn save_each(&self, named: &[(String, String)]) -> anyhow::Result<Vec<String>> {
        let first = named.first().map(|it| it.1.as_str());
        match (self, named) {
            (_, [] | [_]) => self.save(first),
            (Self::StandardOutput, [_, rest @ ..]) => {
                let notes = self.save(first)?;
                let names: Vec<&str> = rest.iter().map(|it| it.0.as_str()).collect();
                let others =
                    format!("Only the first history is printed; -o FILE.history saves all ({}).", names.join(", "));
                Ok(notes.into_iter().chain([others]).collect())
            }
            (Self::File(path), [..]) => {
                let mut notes = Vec::new();
                for (idx, (name, history)) in named.iter().enumerate() {
                    let path = if idx == 0 { path.clone() } else { output::numbered(path, idx + 1) };
                    output::write_file(&path, history.as_bytes())?;
                    notes.push(format!("{}: the history of {name}; isoscope check reads it.", path.display()));
                }
                Ok(notes)
            }
        }
    }
}

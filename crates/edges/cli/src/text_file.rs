//! Reads texts that people write, and points at what is wrong with them.

use anyhow::{Context, anyhow, bail};
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Longer texts are not written by people.
const LONGEST: u64 = 4 << 20;
/// One mistake often makes many messages.
const MAX_SHOWN: usize = 10;

/// Something wrong with a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mistake<'e> {
    pub(crate) file: &'e str,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) message: &'e str,
    /// How to mend it; may be empty.
    pub(crate) hint: &'e str,
}

/// What is wrong with a text, as people read it, and place by place.
#[derive(Debug)]
pub(crate) struct Mistakes {
    shown: String,
    pub(crate) places: Vec<crate::ask::Place>,
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl std::error::Error for Mistakes {}

/// The text of a file; `kind` is what messages call it.
pub(crate) fn read(path: &Path, kind: &str) -> anyhow::Result<String> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    if fs::metadata(path).is_ok_and(|it| it.is_dir()) {
        bail!("{} is a directory; name a {kind}", path.display());
    }
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes).with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.len() as u64 > LONGEST {
        bail!("{} is too long to be a {kind}", path.display());
    }
    String::from_utf8(bytes).map_err(|_| anyhow!("{} is no text, so it is no {kind}", path.display()))
}

/// The mistakes, those of the file itself with their lines.
pub(crate) fn shown<'e>(mistakes: impl Iterator<Item = Mistake<'e>>, path: &Path, text: &str) -> anyhow::Error {
    let own = path.display().to_string();
    let mistakes: Vec<Mistake<'_>> = mistakes.collect();
    let mut lines: Vec<String> = Vec::new();
    for Mistake { file, line, column, message, hint } in mistakes.iter().take(MAX_SHOWN) {
        lines.push(format!("{file}: line {line}, column {column}: {message}"));
        if *file == own {
            lines.extend(pointed(text, *line, *column));
        }
        if !hint.is_empty() {
            lines.push(format!("    hint: {hint}"));
        }
    }
    if mistakes.len() > MAX_SHOWN {
        lines.push(format!("and {} more", mistakes.len() - MAX_SHOWN));
    }
    let place = |it: &Mistake<'_>| crate::ask::Place {
        file: it.file.to_owned(),
        line: it.line.into(),
        column: Some(it.column),
        message: it.message.to_owned(),
        hint: it.hint.to_owned(),
    };
    anyhow::Error::new(Mistakes { shown: lines.join("\n"), places: mistakes.iter().map(place).collect() })
}

/// The line with a caret under the column; only the part around it, if the line is long.
fn pointed(text: &str, line: u32, column: u32) -> Vec<String> {
    const BEFORE: usize = 70;
    const WIDTH: usize = 110;
    let Some(line) = text.lines().nth(line.saturating_sub(1) as usize) else { return Vec::new() };
    let column = column.saturating_sub(1) as usize;
    let from = column.saturating_sub(BEFORE);
    let part: String = line.chars().skip(from).take(WIDTH).map(|it| if it.is_control() { ' ' } else { it }).collect();
    vec![format!("    {}", part.trim_end()), format!("    {}^", " ".repeat(column - from))]
}

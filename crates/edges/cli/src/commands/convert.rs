//! `isoscope convert`: the same history in another format.

use crate::args::ConvertArgs;
use crate::exit::Exit;
use crate::limits::{self, Alarm, Interrupts, Limits};
use crate::names;
use crate::output;
use crate::program_file::mistake;
use crate::progress::Progress;
use crate::results::stopped;
use crate::source::{Source, complain_of, plain, reason_to_stop, shown};
use crate::text_file;
use anyhow::{Context, anyhow, bail};
use iso_formats::{Format, Header, WriteError, with_updates_apart, write_headed, write_headed_path};
use iso_history::History;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use std::{fs, io, process};

/// Where the history goes.
enum Target {
    StandardOutput,
    File(PathBuf),
}

/// The arguments, resolved.
struct Convert {
    input: String,
    source: Source,
    target: Target,
    format: Format,
    limits: Limits,
}

/// Runs the verb.
pub(crate) fn run(raw: &ConvertArgs, started: Instant) -> anyhow::Result<Exit> {
    if iso_sql::is_sql(&raw.input) {
        return program(raw);
    }
    let progress = Arc::new(Progress::new(raw.limits.progress, started));
    let convert = Convert::resolve(raw)?;
    let name = plain(shown(&convert.input));
    let (overdue, staged) = (Arc::clone(&progress), convert.staged());
    let alarm = limits::watch(convert.limits, started, Arc::clone(&progress), Interrupts::Stop, move |reason| {
        overdue.clear();
        if let Some(staged) = &staged {
            remove(staged);
        }
        output::complain(&format!("{name}: {}", stopped(&reason)));
        crate::end(Exit::Unknown)
    });
    convert.run(&alarm, &progress)
}

impl Convert {
    fn resolve(raw: &ConvertArgs) -> anyhow::Result<Self> {
        let given = raw.to.as_deref().map(names::format).transpose()?;
        let target = match raw.output.as_str() {
            "-" => Target::StandardOutput,
            path => Target::File(PathBuf::from(path)),
        };
        let format = match (given, &target) {
            (Some(format), _) => format,
            (None, Target::File(path)) => format_of(path)?,
            (None, Target::StandardOutput) => {
                bail!("standard output has no name that says the format; add --to FORMAT")
            }
        };
        if let Target::File(path) = &target
            && path.exists()
            && !raw.force
        {
            bail!("{} exists; overwrite it with --force", path.display());
        }
        if let Target::File(path) = &target {
            check_replaceable(path, format)?;
        }
        let limits = Limits::new(raw.limits.timeout, raw.limits.memory);
        Ok(Self { input: raw.input.clone(), source: Source::new(&raw.reading)?, target, format, limits })
    }

    fn run(&self, alarm: &Alarm, progress: &Progress) -> anyhow::Result<Exit> {
        let reading = match self.source.read(&self.input, &self.limits, alarm, progress) {
            Ok(reading) => reading,
            Err(error) => {
                progress.clear();
                if let Some(reason) = reason_to_stop(&error, alarm) {
                    output::complain(&format!("{}: {}", plain(shown(&self.input)), stopped(&reason)));
                    return Ok(Exit::Unknown);
                }
                return Err(error.into());
            }
        };
        progress.stage("writing");
        complain_of(&reading.defects, &self.input);
        if reading.nothing_to_judge("").is_some() {
            output::complain(&format!("warning: {}: there are no transactions in it", plain(shown(&self.input))));
        }
        let header = reading.header;
        let Some(history) = reading.history else { return Ok(Exit::Unasked) };
        let history = self.fitted(history);
        self.complain_of_header(&header);
        self.write(&history, &header)?;
        progress.clear();
        if let Target::File(path) = &self.target {
            let n_txns = history.n_txns() - 1;
            let plural = if n_txns == 1 { "" } else { "s" };
            output::print(&format!("{}: {n_txns} transaction{plural} as {}\n", path.display(), self.format))?;
        }
        Ok(Exit::Good)
    }

    /// The history as the format can hold it: updates are taken apart where there are no statements, and that is said.
    fn fitted(&self, history: History) -> History {
        let has_statements = matches!(self.format, Format::Text | Format::Jsonl);
        let Some(apart) = with_updates_apart(&history).filter(|_| !has_statements) else { return history };
        let format = self.format;
        output::complain(&format!(
            "warning: {format} has no statements: each update is written as a read and a write; levels of databases, such as \
             postgres.rc, mean something else for it"
        ));
        apart
    }

    /// Says what the format has no place for.
    fn complain_of_header(&self, header: &Header) {
        let format = self.format;
        if let Some(database) = header.database.as_ref().filter(|_| !matches!(format, Format::Text | Format::Jsonl)) {
            output::complain(&format!(
                "warning: {format} has no place for the database ({}): check will not know what it promised",
                plain(&database.to_string())
            ));
        }
    }

    /// Where a file is written until it is whole. The ending stays, because it decides the compression.
    fn staged(&self) -> Option<PathBuf> {
        let Target::File(path) = &self.target else { return None };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Some(path.with_file_name(format!(".isoscope-{}-{name}", process::id())))
    }

    fn write(&self, history: &History, header: &Header) -> anyhow::Result<()> {
        match (&self.target, self.staged()) {
            (Target::File(path), Some(staged)) => {
                let written = write_headed_path(history, header, self.format, &staged).map_err(anyhow::Error::from);
                let moved = written.and_then(|()| Ok(replace(path, &staged)?));
                moved.inspect_err(|_| remove(&staged)).with_context(|| path.display().to_string())
            }
            _ => match write_headed(history, header, self.format, &mut io::stdout().lock()) {
                Err(WriteError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                other => Ok(other?),
            },
        }
    }
}

/// A program in SQL as the language of programs has it.
fn program(raw: &ConvertArgs) -> anyhow::Result<Exit> {
    let (path, target) = (Path::new(&raw.input), Path::new(&raw.output));
    let is_txn = target.extension() == Some(OsStr::new("txn"));
    if raw.output != "-" && !is_txn || raw.to.as_deref().is_some_and(|it| it != "txn") {
        bail!("{} is a program, and becomes one: name a file that ends in .txn, or -", path.display());
    }
    let written = text_file::read(path, "program")?;
    let translated = iso_sql::translate(&written, &raw.input);
    let text = translated.map_err(|errors| text_file::shown(errors.iter().map(mistake), path, &written))?.text();
    let text = iso_program::pretty(&text, &raw.output).unwrap_or(text);
    if raw.output == "-" {
        output::print(&text)?;
        return Ok(Exit::Good);
    }
    if target.exists() && !raw.force {
        bail!("{} exists; overwrite it with --force", target.display());
    }
    fs::write(target, &text).with_context(|| raw.output.clone())?;
    output::print(&format!("{}: the program as isoscope reads it\n", target.display()))?;
    Ok(Exit::Good)
}

/// Force overwrites a history, and nothing else: no device, and no folder with other things in it.
fn check_replaceable(path: &Path, format: Format) -> anyhow::Result<()> {
    let Ok(about) = fs::metadata(path) else { return Ok(()) };
    if about.is_dir() {
        let is_log = |it: &fs::DirEntry| it.path().extension() == Some(OsStr::new("log"));
        let entries = fs::read_dir(path).with_context(|| format!("cannot look into {}", path.display()))?;
        if format != Format::Cobra || !entries.flatten().all(|it| is_log(&it)) {
            bail!("{} is a directory, and no Cobra history to overwrite; name another file", path.display());
        }
    } else if !about.is_file() {
        bail!("{} is no file; write to standard output with - instead", path.display());
    }
    Ok(())
}

/// Puts what was written in its place; a Cobra history is a directory, and nothing may be in its way.
fn replace(path: &Path, staged: &Path) -> io::Result<()> {
    if path.is_dir() {
        fs::remove_dir_all(path)?;
    }
    fs::rename(staged, path)
}

/// Removes what was not finished, if it is there at all.
fn remove(staged: &Path) {
    if staged.is_dir() {
        fs::remove_dir_all(staged).ok();
    } else {
        fs::remove_file(staged).ok();
    }
}

/// By the ending of the file's name, below that of a compression.
fn format_of(path: &Path) -> anyhow::Result<Format> {
    let ending = |path: &Path| path.extension().and_then(OsStr::to_str).unwrap_or_default().to_ascii_lowercase();
    let inner = match ending(path).as_str() {
        "gz" | "zst" => path.with_extension(""),
        _ => path.to_owned(),
    };
    let several = |it: &Format| it.extension() == ending(&inner);
    match Format::ALL.into_iter().filter(several).collect::<Vec<_>>()[..] {
        [_, _, ..] => bail!("{}: several formats end like that; choose one with --to", path.display()),
        _ => Format::from_extension(&ending(&inner))
            .ok_or_else(|| anyhow!("{}: the name does not say the format; choose one with --to", path.display())),
    }
}

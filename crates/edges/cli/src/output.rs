//! Where results go: standard output, files, and messages on standard error.

use anyhow::{Context, anyhow, bail};
use iso_report::{
    Claim, Colour, Imprint, JsonLayout, Report, Symbols, TextOptions, junit, junit_of_claims, sarif, sarif_of_claims,
};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs};

/// Lines of files are wrapped here, and those of pipes that lead to no terminal.
const COLUMNS: usize = 100;

/// How many columns a line of standard output may take: those of the terminal, also if a pager stands between, or what
/// `COLUMNS` says.
pub(crate) fn columns() -> usize {
    let of_environment = || env::var("COLUMNS").ok()?.parse().ok();
    of_terminal().or_else(of_environment).unwrap_or(COLUMNS).clamp(40, 120)
}

/// How many columns the terminal has.
#[cfg(not(target_arch = "wasm32"))]
fn of_terminal() -> Option<usize> {
    let size = if io::stdout().is_terminal() {
        terminal_size::terminal_size_of(io::stdout())
    } else {
        terminal_size::terminal_size_of(io::stderr())
    };
    size.map(|it| usize::from(it.0.0))
}

/// There is no terminal in a browser.
#[cfg(target_arch = "wasm32")]
fn of_terminal() -> Option<usize> {
    None
}

/// Words behind a name, wrapped where they do not fit, with the lines that follow below the first word.
pub(crate) fn wrapped(name: &str, words: &str, columns: usize) -> String {
    let indent = name.chars().count();
    let mut out = name.to_owned();
    let mut column = indent;
    for word in words.split_whitespace() {
        let width = word.chars().count();
        if column > indent && column + 1 + width > columns {
            let _ = write!(out, "\n{}", " ".repeat(indent));
            column = indent;
        } else if column > indent {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out.trim_end().to_owned() + "\n"
}

/// How to write for this standard output.
pub(crate) fn terminal() -> TextOptions {
    let is_terminal = io::stdout().is_terminal();
    let is_coloured = is_terminal && env::var_os("NO_COLOR").is_none_or(|it| it.is_empty());
    TextOptions {
        colour: if is_coloured { Colour::Ansi } else { Colour::None },
        symbols: *SYMBOLS.get_or_init(|| symbols(Symbols::Unicode)),
        columns: Some(columns()),
    }
}

/// The symbols of standard output, which are the same from the first line to the last.
static SYMBOLS: OnceLock<Symbols> = OnceLock::new();

/// Decides on the symbols of standard output, before anything is printed.
pub(crate) fn spell(wanted: Symbols) {
    SYMBOLS.get_or_init(|| symbols(wanted));
}

/// A terminal shows what its locale says; a file takes everything.
fn symbols(wanted: Symbols) -> Symbols {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(env::var_os).find(|it| !it.is_empty());
    let locale = set.map(|it| it.to_string_lossy().to_lowercase()).unwrap_or_default();
    let is_utf8 = locale.contains("utf-8") || locale.contains("utf8");
    if io::stdout().is_terminal() && !is_utf8 { Symbols::Ascii } else { wanted }
}

/// Prints a result. A reader that went away has seen enough.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// Prints a message, each line of it as it is.
pub(crate) fn complain(message: &str) {
    // There is nowhere to complain about standard error.
    writeln!(io::stderr(), "isoscope: {message}").ok();
}

/// Prints something beside the answer, as it is.
pub(crate) fn say_aside(message: &str) {
    writeln!(io::stderr(), "{message}").ok();
}

/// A way to render a report into a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rendering {
    Html,
    Svg,
    Dot,
    Json,
    Text,
    JUnit,
    Sarif,
}

impl Rendering {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Html, "html"),
        (Self::Svg, "svg"),
        (Self::Dot, "dot"),
        (Self::Json, "json"),
        (Self::Text, "txt"),
        (Self::JUnit, "xml"),
        (Self::Sarif, "sarif"),
    ];

    /// By the ending of a file's name.
    fn of(path: &Path) -> anyhow::Result<Self> {
        let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default().to_ascii_lowercase();
        let found = Self::ALL.into_iter().find(|it| it.1 == ending);
        found.map(|it| it.0).ok_or_else(|| {
            let known: Vec<String> = Self::ALL.iter().map(|it| format!(".{}", it.1)).collect();
            anyhow!("{}: a report's name ends in one of {}", path.display(), known.join(" "))
        })
    }

    /// By the ending of a file's name, in a folder that is there.
    fn to(path: &Path) -> anyhow::Result<Self> {
        let rendering = Self::of(path)?;
        check_folder(path)?;
        Ok(rendering)
    }

    /// As [`Rendering::to`], for each file.
    pub(crate) fn to_each(paths: Vec<PathBuf>) -> anyhow::Result<Vec<(PathBuf, Self)>> {
        paths.into_iter().map(|it| Self::to(&it).map(|rendering| (it, rendering))).collect()
    }

    /// Some results are no graphs.
    pub(crate) fn refuse_graphs(verb: &str, reports: &[(PathBuf, Self)]) -> anyhow::Result<()> {
        match reports.iter().find(|it| it.1 == Self::Dot) {
            Some((path, _)) if ["collect", "store"].contains(&verb) => {
                bail!("{}: what {verb} did is no graph; its report is .html .svg .json or .txt", path.display())
            }
            _ => Ok(()),
        }
    }

    /// The bytes of the file.
    pub(crate) fn render(self, report: &Report) -> String {
        match self {
            Self::Html => report.html(&Imprint { date: Some(today()) }),
            Self::Svg => report.svg(),
            Self::Dot => report.dot(),
            Self::Json => report.to_json(JsonLayout::Pretty) + "\n",
            Self::Text => report.text(TextOptions { columns: Some(COLUMNS), ..TextOptions::default() }),
            Self::JUnit => junit(&[report]),
            Self::Sarif => sarif(&[report]),
        }
    }

    /// The bytes of the file where a question could not be asked; services that show tests are to know it, and the others
    /// have nothing to show.
    pub(crate) fn render_unasked(self, verb: &str, claims: &[Claim]) -> Option<String> {
        match self {
            Self::JUnit => Some(junit_of_claims(verb, claims)),
            Self::Sarif => Some(sarif_of_claims(claims)),
            Self::Html | Self::Svg | Self::Dot | Self::Json | Self::Text => None,
        }
    }
}

/// What becomes of a history that is there already.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Overwrite {
    /// Overwrite the file of the history if it exists
    #[arg(long)]
    force: bool,
}

impl Overwrite {
    /// May what is there be overwritten?
    pub(crate) fn is_forced(self) -> bool {
        self.force
    }

    /// Can a history have this name? One that is there is kept, as it may be the only trace of what happened. Reports are
    /// drawn anew each time.
    pub(crate) fn check(self, path: &Path) -> anyhow::Result<()> {
        if path.is_file() && !self.force {
            bail!("{} exists; overwrite it with --force", path.display());
        }
        check_folder(path)
    }
}

/// Can there be a file of this name? Better asked before a long run than after it.
pub(crate) fn check_folder(path: &Path) -> anyhow::Result<()> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() {
        bail!("cannot write {}: it is a directory", path.display());
    }
    if !folder.is_dir() {
        bail!("cannot write {}: there is no folder {}", path.display(), folder.display());
    }
    Ok(())
}

/// Writes a file, with a message that names it if that fails.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if path.is_dir() {
        bail!("cannot write {}: it is a directory", path.display());
    }
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// `why.html` for the second input is `why-2.html`.
pub(crate) fn numbered(path: &Path, number: usize) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ending = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    path.with_file_name(format!("{stem}-{number}.{ending}"))
}

/// The day in UTC: `2026-11-17`.
fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (year, month, day) = civil(since.as_secs() / 86_400);
    format!("{year}-{month:02}-{day:02}")
}

/// Year, month and day of a day, counted from the first of January 1970.
fn civil(mut day: u64) -> (u64, u64, u64) {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    (year, month, day + 1)
}

#[cfg(test)]
mod tests {
    use super::civil;

    #[test]
    fn days_are_counted_from_1970() {
        let cases = [
            (0, (1970, 1, 1)),
            (58, (1970, 2, 28)),
            (59, (1970, 3, 1)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (20_773, (2026, 11, 16)),
            (20_818, (2026, 12, 31)),
            (20_819, (2027, 1, 1)),
        ];
        for (day, expected) in cases {
            assert_eq!(civil(day), expected, "{day}");
        }
    }
}

//! Where histories come from: files, directories and standard input.

use crate::args::ReadingArgs;
use crate::limits::{Alarm, Limits};
use crate::names;
use crate::output;
use crate::progress::Progress;
use iso_evidence::StopReason;
use iso_formats::{CobraIdentity, Format, ReadError, ReadOptions, Reading, Watch};
use iso_history::{Datum, Defect, Severity};
use std::io;
use std::path::Path;

/// Messages about one input end after this many.
const MAX_SHOWN_DEFECTS: usize = 10;

/// How to read, resolved.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    format: Option<Format>,
    initial: Option<Datum>,
    cobra_identity: Option<CobraIdentity>,
}

impl Source {
    /// From what the command line says.
    pub(crate) fn new(raw: &ReadingArgs) -> anyhow::Result<Self> {
        Ok(Self {
            format: raw.from.as_deref().map(names::format).transpose()?,
            initial: raw.initial.as_deref().map(iso_formats::value_of_word),
            cobra_identity: raw.cobra_identity.as_deref().map(names::cobra_identity).transpose()?,
        })
    }

    /// Reads one input.
    pub(crate) fn read(
        &self,
        input: &str,
        limits: &Limits,
        alarm: &Alarm,
        progress: &Progress,
    ) -> Result<Reading, ReadError> {
        progress.stage(format!("reading {}", shown(input)));
        let watch = ReadingWatch { alarm, progress };
        let options = ReadOptions {
            format: self.format,
            memory_limit: Some(limits.left_for_reading()),
            cobra_identity: self.cobra_identity,
            initial: self.initial.as_ref().map(Datum::as_name),
            watch: Some(&watch),
        };
        match input {
            "-" => iso_formats::read_from(shown(input), io::stdin().lock(), &options),
            path => iso_formats::read_path(Path::new(path), &options),
        }
    }
}

/// An input as people call it.
pub(crate) fn shown(input: &str) -> &str {
    if input == "-" { "standard input" } else { input }
}

/// A name in one line, and without what a terminal would obey.
pub(crate) fn plain(name: &str) -> String {
    name.chars().map(|it| if it.is_control() { it.escape_default().to_string() } else { it.to_string() }).collect()
}

/// The limit that ended a reading, if one did.
pub(crate) fn reason_to_stop(error: &ReadError, alarm: &Alarm) -> Option<StopReason> {
    match error {
        ReadError::Stopped { .. } => alarm.reason().or(Some(StopReason::Timeout)),
        ReadError::MemoryLimit { .. } => Some(StopReason::Memory),
        _ => None,
    }
}

/// Says what is wrong with an input.
pub(crate) fn complain_of(defects: &[Defect], input: &str) {
    for defect in defects.iter().take(MAX_SHOWN_DEFECTS) {
        let warning = if defect.severity == Severity::Warning { "warning: " } else { "" };
        let source = if defect.source.is_empty() { format!("{}: ", plain(shown(input))) } else { String::new() };
        let plain = Defect { source: plain(&defect.source), ..defect.clone() };
        output::complain(&format!("{warning}{source}{plain}"));
    }
    if defects.len() > MAX_SHOWN_DEFECTS {
        output::complain(&format!(
            "{}: and {} more like these",
            plain(shown(input)),
            defects.len() - MAX_SHOWN_DEFECTS
        ));
    }
}

struct ReadingWatch<'a> {
    alarm: &'a Alarm,
    progress: &'a Progress,
}

impl Watch for ReadingWatch<'_> {
    fn should_stop(&self) -> bool {
        self.alarm.reason().is_some()
    }

    fn progress(&self, bytes: u64, of: Option<u64>) {
        self.progress.bytes(bytes, of);
    }
}

//! `isoscope report`: renders a result that was saved as JSON.

use crate::args::ReportArgs;
use crate::exit::Exit;
use crate::output::{self, Rendering};
use crate::progress::Painter;
use crate::voice::{Form, Voice};
use anyhow::{Context, bail};
use iso_report::{Report, annotations};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Instant;

/// Larger files are no results of ours.
const LONGEST: u64 = 4 << 30;

/// Runs the verb.
pub(crate) fn run(raw: ReportArgs, started: Instant) -> anyhow::Result<Exit> {
    let outputs = Rendering::to_each(raw.outputs)?;
    let painter = Painter::start("reading the result", started);
    let text = text_of(&raw.input)?;
    let reports = reports(&text).with_context(|| raw.input.clone())?;
    drop(painter);
    for report in &reports {
        Rendering::refuse_graphs(report.verb(), &outputs)?;
    }
    if raw.github {
        output::print(&annotations(&reports.iter().collect::<Vec<_>>()))?;
    }
    if let Some(form) = raw.format.or((outputs.is_empty() && !raw.github).then_some(Form::Text)) {
        output::print(&Voice::of(form).words_of_all(&reports))?;
    }
    for (idx, report) in reports.iter().enumerate() {
        for (path, rendering) in &outputs {
            let path = if reports.len() > 1 { output::numbered(path, idx + 1) } else { path.clone() };
            output::write_file(&path, rendering.render(report).as_bytes())?;
            output::print(&format!("{}\n", path.display()))?;
        }
    }
    Ok(Exit::Good)
}

/// One document, or one a line as `check` prints them for several inputs.
pub(crate) fn reports(text: &str) -> anyhow::Result<Vec<Report>> {
    let lines: Vec<&str> = text.lines().filter(|it| !it.trim().is_empty()).collect();
    let is_each_whole = lines.len() > 1 && lines.iter().all(|it| it.starts_with("{\"isoscope\"") && it.ends_with('}'));
    let documents = if is_each_whole { lines } else { vec![text] };
    documents.into_iter().map(|it| Ok(Report::from_json(it)?)).collect()
}

/// The text of a saved result.
pub(crate) fn text_of(input: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    match input {
        "-" => io::stdin().lock().take(LONGEST).read_to_end(&mut bytes),
        path if Path::new(path).is_dir() => bail!("{path} is a directory; name a file with a result of --json"),
        path => {
            let file = File::open(path).with_context(|| format!("cannot open {path}"))?;
            file.take(LONGEST).read_to_end(&mut bytes)
        }
    }
    .with_context(|| format!("cannot read {input}"))?;
    String::from_utf8(bytes).with_context(|| format!("{input}: a result is JSON, and this is no text"))
}

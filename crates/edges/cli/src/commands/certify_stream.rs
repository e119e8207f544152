//! `isoscope certify --stream`: replays a saved schedule along its recording, without any engine.

use super::certify::{document, words as words_of};
use crate::args::CertifyArgs;
use crate::exit::Exit;
use crate::output;
use crate::progress::Painter;
use crate::saved::{Claim, Findings, Outcome};
use crate::source::{complain_of, shown};
use crate::streaming::Step;
use anyhow::{Context, bail};
use iso_answer::stream::SavedReplay;
use iso_formats::{EndOfStream, Pace, RawTxn, ReadOptions, StreamedHeader, StreamedNames, TakeTxns, stream_txns};
use iso_history::{KeyId, Name, StreamedBlock, StreamedValue, TableId};
use iso_spec::Level;
use serde_json::Value;
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Lines, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Runs the verb.
pub(crate) fn run(raw: &CertifyArgs, schedule: &Path, started: Instant) -> anyhow::Result<Exit> {
    let mut saved = Schedule::open(schedule)?;
    let (reader, size): (Box<dyn Read>, _) = match raw.input.as_str() {
        "-" => (Box::new(io::stdin()), None),
        path => {
            let file = File::open(path).with_context(|| format!("cannot open {path}"))?;
            let size = file.metadata().ok().filter(Metadata::is_file).map(|it| it.len());
            (Box::new(file), size)
        }
    };
    let mut names = StreamedNames::default();
    let mut taker = Taker { saved: &mut saved, replay: None, refusal: None };
    let painter = Painter::start(&format!("replaying the schedule along {}", shown(&raw.input)), started);
    let options = ReadOptions { watch: Some(&painter), ..ReadOptions::default() };
    let ended = stream_txns(shown(&raw.input), reader, (size, Pace::Blocks), &options, &mut names, &mut taker)?;
    drop(painter);
    if ended.end == EndOfStream::Broken {
        complain_of(&ended.defects, &raw.input);
        return Ok(Exit::Unasked);
    }
    let refusal = taker.finish();
    let (level, n_txns) = (saved.level, saved.n_steps);
    let outcome = refusal.clone().map_or(Outcome::Certified, Outcome::Refused);
    let words = format!("{level} holds of {}: {n_txns} steps of its schedule", shown(&raw.input));
    let unseen = vec!["that the recording is what happened"];
    let findings = Findings { claims: vec![Claim { words, outcome }], unseen };
    if raw.json {
        output::print(&format!("{}\n", document(&raw.input, "check", &findings, started)))?;
    } else {
        output::print(&words_of("check", &findings, started))?;
    }
    Ok(if refusal.is_none() { Exit::Good } else { Exit::Found })
}

/// The lines of a saved schedule.
struct Schedule {
    lines: Lines<BufReader<File>>,
    level: Level,
    window: usize,
    /// The step that comes next.
    next: Option<Step>,
    is_complete: bool,
    n_steps: u64,
}

impl Schedule {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
        let mut lines = BufReader::with_capacity(1 << 16, file).lines();
        let first = lines.next().transpose()?.unwrap_or_default();
        let header: Value = serde_json::from_str(&first).unwrap_or_default();
        let level = header["level"].as_str().and_then(Level::from_name);
        let window = header["window"].as_u64().and_then(|it| usize::try_from(it).ok());
        let (Some(1), Some(level), Some(window)) = (header["isoscope-schedule"].as_u64(), level, window) else {
            bail!("{name} is no schedule of check --stream --certificate: its first line must be its header");
        };
        let mut schedule = Self { lines, level, window, next: None, is_complete: false, n_steps: 0 };
        schedule.advance()?;
        Ok(schedule)
    }

    fn advance(&mut self) -> anyhow::Result<()> {
        self.next = None;
        let Some(line) = self.lines.next().transpose()? else { return Ok(()) };
        if line == "end" {
            self.is_complete = true;
            return Ok(());
        }
        self.next = Some(Step::of(&line)?);
        Ok(())
    }
}

struct Taker<'s> {
    saved: &'s mut Schedule,
    replay: Option<SavedReplay>,
    refusal: Option<String>,
}

impl TakeTxns for Taker<'_> {
    fn header(&mut self, header: &StreamedHeader) -> ControlFlow<()> {
        self.replay = SavedReplay::new(self.saved.level, StreamedValue::from(&header.initial), self.saved.window);
        if self.replay.is_none() {
            self.refusal = Some(format!("schedules of {} are not replayed", self.saved.level));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn list(&mut self, key: KeyId, _: Name<'_>) -> ControlFlow<()> {
        let result = self.replay.as_mut().map_or(Ok(()), |it| it.initial(key, StreamedValue::Empty));
        self.keep(result.map_err(|it| it.to_string()))
    }

    fn initial(&mut self, key: KeyId, _: Name<'_>, value: Name<'_>) -> ControlFlow<()> {
        let result = self.replay.as_mut().map_or(Ok(()), |it| it.initial(key, value.into()));
        self.keep(result.map_err(|it| it.to_string()))
    }

    fn row(&mut self, row: KeyId, table: TableId, name: Name<'_>) -> ControlFlow<()> {
        if let Some(replay) = &mut self.replay {
            replay.row(row, table, name.to_datum());
        }
        ControlFlow::Continue(())
    }

    fn txn(&mut self, raw: &RawTxn<'_>) -> ControlFlow<()> {
        let mut block = StreamedBlock::default();
        let result = raw.put_into(&mut block).and_then(|()| self.told(block));
        self.keep(result)
    }
}

impl Taker<'_> {
    fn keep(&mut self, result: Result<(), String>) -> ControlFlow<()> {
        match result {
            Ok(()) => ControlFlow::Continue(()),
            Err(why) => {
                self.refusal = Some(why);
                ControlFlow::Break(())
            }
        }
    }

    /// Replays what the schedule has of those that were told so far.
    fn told(&mut self, txn: StreamedBlock) -> Result<(), String> {
        let Some(replay) = &mut self.replay else { return Err("the recording has no header".to_owned()) };
        replay.tell(&Arc::new(txn), 0).map_err(|it| it.to_string())?;
        while let Some(step) = self.saved.next.as_ref().filter(|it| it.txn < replay.n_told()) {
            replay.step(step.kind, step.txn, &step.sources).map_err(|it| it.to_string())?;
            self.saved.n_steps += 1;
            self.saved.advance().map_err(|it| it.to_string())?;
        }
        Ok(())
    }

    fn finish(self) -> Option<String> {
        if self.refusal.is_some() {
            return self.refusal;
        }
        if let Some(step) = &self.saved.next {
            return Some(format!("it names transaction {}, which the recording does not have", step.txn));
        }
        if !self.saved.is_complete {
            return Some("it was cut short: its last line is missing".to_owned());
        }
        self.replay.as_ref().and_then(|it| it.finish().err()).map(|it| it.to_string())
    }
}

//! A saved schedule: a header, one step a line, and a last line `end`.

use super::StreamPlan;
use anyhow::{Context, anyhow, bail};
use iso_answer::stream::{Recording, Resumption, Steps, StreamCheck};
use iso_evidence::{Budget, StreamedStep};
use iso_history::StreamedBlock;
use iso_spec::Level;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Take, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A step: a transaction of the recording by its number, and at the weak levels its sources.
pub(crate) struct Step {
    pub(crate) kind: StreamedStep,
    pub(crate) txn: u64,
    pub(crate) sources: Vec<u64>,
}

impl Step {
    /// Reads a line.
    pub(crate) fn of(line: &str) -> anyhow::Result<Self> {
        let (kind, rest) = match line.as_bytes().first() {
            Some(b's') => (StreamedStep::Snapshot, &line[1..]),
            Some(b'c') => (StreamedStep::Commit, &line[1..]),
            _ => (StreamedStep::Whole, line),
        };
        let numbers: Result<Vec<u64>, _> = rest.split(' ').map(str::parse).collect();
        let mut numbers = numbers.map_err(|_| anyhow!("`{line}` is no step of a schedule"))?;
        let sources = numbers.split_off(1);
        Ok(Self { kind, txn: numbers[0], sources })
    }
}

/// The schedule in a file: a line for each step.
pub(super) struct Saved {
    pub(super) out: Option<BufWriter<File>>,
    pub(super) failure: Option<io::Error>,
}

impl Steps for Saved {
    fn begin(&mut self, _: Level, streamed: Level, window: usize) {
        self.line(&header(streamed, window));
    }

    fn step(&mut self, _: Level, txn: u64, step: StreamedStep, sources: &[u64]) {
        let Some(out) = &mut self.out else { return };
        let kind = match step {
            StreamedStep::Whole => "",
            StreamedStep::Snapshot => "s",
            StreamedStep::Commit => "c",
        };
        let written = write!(out, "{kind}{txn}")
            .and_then(|()| sources.iter().try_for_each(|it| write!(out, " {it}")))
            .and_then(|()| out.write_all(b"\n"));
        self.keep(written);
    }
}

impl Saved {
    pub(super) fn keep(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.failure.get_or_insert(error);
            self.out = None;
        }
    }

    /// Writes what waits in memory, so that it is there if the process is killed.
    pub(super) fn flush(&mut self) {
        if let Some(flushed) = self.out.as_mut().map(Write::flush) {
            self.keep(flushed);
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        if let Some(out) = &mut self.out {
            let written = writeln!(out, "{line}").and_then(|()| out.flush());
            self.keep(written);
        }
    }
}

/// The first line of a schedule.
pub(super) fn header(streamed: Level, window: usize) -> String {
    format!("{{\"isoscope-schedule\":1,\"level\":\"{streamed}\",\"window\":{window}}}")
}

/// Where the schedule goes, and what is there of it if the check is to go on.
pub(super) fn open(plan: &StreamPlan) -> anyhow::Result<(Saved, Option<Resuming>)> {
    let nothing = Saved { out: None, failure: None };
    let Some(path) = &plan.certificate else { return Ok((nothing, None)) };
    let resuming = if plan.resumes { Resuming::open(path)? } else { None };
    if resuming.is_some() {
        return Ok((nothing, resuming));
    }
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok((Saved { out: Some(BufWriter::with_capacity(1 << 16, file)), failure: None }, None))
}

/// The first steps of a schedule, after which a check goes on.
pub(super) struct Resuming {
    path: PathBuf,
    header: String,
    steps: Take<BufReader<File>>,
    next: Option<Step>,
    /// So many bytes of the file stay.
    n_bytes: u64,
    /// Nothing before the header of the recording.
    pub(super) state: Option<Resumption>,
}

impl Resuming {
    /// Nothing if there are no steps yet.
    pub(super) fn open(path: &Path) -> anyhow::Result<Option<Self>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot open {}", path.display())),
        };
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let mut header = String::new();
        reader.read_line(&mut header).with_context(|| format!("cannot read {}", path.display()))?;
        if !header.is_empty() && !header.starts_with("{\"isoscope-schedule\":1,") {
            bail!("{} is no schedule that check --certificate saved", path.display());
        }
        let n_bytes = last_cut(&mut reader, header.len() as u64).with_context(|| path.display().to_string())?;
        if n_bytes == header.len() as u64 {
            return Ok(None);
        }
        reader.seek(SeekFrom::Start(header.len() as u64))?;
        let steps = reader.take(n_bytes - header.len() as u64);
        let header = header.trim_end().to_owned();
        let mut resuming = Self { path: path.to_owned(), header, steps, next: None, n_bytes, state: None };
        resuming.advance()?;
        Ok(Some(resuming))
    }

    /// The recording has this header: is the schedule about the same question?
    pub(super) fn begin(&mut self, header: &str, state: Option<Resumption>) -> anyhow::Result<()> {
        let name = self.path.display();
        if header != self.header {
            bail!("{name} begins with {}, and this check with {header}; without --resume it starts again", self.header);
        }
        let Some(state) = state else {
            bail!("checks of cc, ra and rc cannot go on; without --resume this one starts again");
        };
        self.state = Some(state);
        Ok(())
    }

    /// Replays what the schedule has of those that were told so far; true if there is nothing left of it.
    pub(super) fn tell(&mut self, block: &Arc<StreamedBlock>, idx: usize) -> anyhow::Result<bool> {
        let Some(state) = &mut self.state else { bail!("the recording has no header") };
        let refused = |why: iso_evidence::Uncertified| {
            let name = self.path.display();
            anyhow!("{name} is no schedule of this recording: {why}; without --resume the check starts again")
        };
        state.tell(block, idx).map_err(refused)?;
        while let Some(step) = self.next.take_if(|it| it.txn < state.n_told()) {
            state.step(step.kind, step.txn, &step.sources).map_err(refused)?;
            self.next = next_of(&mut self.steps)?;
        }
        Ok(self.next.is_none())
    }

    /// The check goes on, and its schedule in the same file.
    pub(super) fn go_on(
        self,
        recording: &dyn Recording,
        saved: &mut Saved,
        budget: &Budget<'_>,
    ) -> anyhow::Result<StreamCheck> {
        let mut file = OpenOptions::new().write(true).open(&self.path)?;
        file.set_len(self.n_bytes)?;
        file.seek(SeekFrom::End(0))?;
        saved.out = Some(BufWriter::with_capacity(1 << 16, file));
        let steps: &mut dyn Steps = saved;
        let check = self.state.and_then(|it| it.go_on(recording, steps, budget));
        check.ok_or_else(|| anyhow!("{} ends where nothing can go on", self.path.display()))
    }

    /// Why there is no check yet.
    pub(super) fn unfinished(&self) -> String {
        format!("{} has steps of transactions which the recording does not have", self.path.display())
    }

    fn advance(&mut self) -> anyhow::Result<()> {
        self.next = next_of(&mut self.steps)?;
        Ok(())
    }
}

fn next_of(steps: &mut Take<BufReader<File>>) -> anyhow::Result<Option<Step>> {
    let mut line = String::new();
    if steps.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Step::of(line.trim_end()).map(Some)
}

/// Where the last whole step ends after which no snapshot waits for its commit, from the beginning of the file.
fn last_cut(reader: &mut impl BufRead, mut at: u64) -> anyhow::Result<u64> {
    let (mut cut, mut n_open, mut line) = (at, 0, String::new());
    loop {
        line.clear();
        let n = reader.read_line(&mut line)?;
        if !line.ends_with('\n') || line == "end\n" {
            return Ok(cut);
        }
        at += n as u64;
        match line.as_bytes().first() {
            Some(b's') => n_open += 1,
            Some(b'c') => n_open -= 1,
            _ => {}
        }
        if n_open == 0 {
            cut = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_cut_after_a_whole_step_without_an_open_snapshot() {
        let cut = |text: &str| last_cut(&mut text.as_bytes(), 0).unwrap();
        assert_eq!(cut("s0\nc0\ns1\ns2\nc2\n"), 6);
        assert_eq!(cut("0\n1\n2"), 4);
        assert_eq!(cut("0\n1\nend\n"), 4);
        assert_eq!(cut(""), 0);
    }
}

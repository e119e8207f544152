//! `isoscope collect`: a history of a real database.

use crate::args::CollectArgs;
use crate::checked::Checked;
use crate::commands::convert::{check_replaceable, remove, replace, staged};
use crate::dry_run::Intention;
use crate::exit::Exit;
use crate::interrupt::on_interrupt;
use crate::output::{self, Overwrite, Rendering};
use crate::program_workload;
use crate::progress::Progress;
use crate::streaming;
use crate::timeline::{Timeline, in_seconds};
use crate::voice::Voice;
use anyhow::{Context, anyhow, bail};
use iso_collect::{
    APPLICATIONS, Aborts, Assertion, Cause, CollectError, Collected, Control, Database, FinalRead, Hear, Likeliness,
    Parameters, Plan, Retries, Tally, Target, WORKLOADS, Workload, check_workload, collect, shares, workload,
};
use iso_formats::{Format, ReadOptions, write_headed_path};
use iso_report::{AbortCauses, Asserted, CollectReport, NodeSessions, Outcomes, OverTime, Report, WorkloadParameters};
use iso_spec::Promises;
use serde_json::json;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const MAX_SESSIONS: usize = 10_000;
const MAX_TXNS: usize = 1_000_000_000;
const MAX_KEYS: usize = 1_000_000;
const MAX_OPS: usize = 1_000;
/// Where neither --txns nor --duration is given.
const DEFAULT_TXNS: usize = 100;
/// How often --retry tries again.
const RETRIES: usize = 10;

/// The arguments, resolved.
struct Collect {
    database: Arc<dyn Database>,
    plan: Plan,
    isolation: String,
    parameters: WorkloadParameters,
    output: Output,
    reports: Vec<(PathBuf, Rendering)>,
}

/// Where the history goes.
pub(crate) enum Output {
    Stream,
    File(PathBuf),
    /// A Parquet data set, which is made of a recording in JSON lines when that is complete.
    DataSet {
        directory: PathBuf,
        recording: PathBuf,
    },
}

/// Which formats a run can be recorded in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunFormats {
    #[cfg_attr(not(feature = "record"), allow(dead_code, reason = "a recording by the proxy is the only one of these"))]
    Lines,
    LinesOrDataSet,
}

/// Runs the verb.
pub(crate) fn run(raw: &CollectArgs, started: Instant) -> anyhow::Result<Exit> {
    let asked = Collect::resolve(raw)?;
    if raw.database.dry_run {
        return asked.show();
    }
    let progress = Progress::new(raw.progress, started);
    let is_interrupted = on_interrupt()?;
    let control = Arc::new(Control::new());
    let mut rate = Rate::new();
    let mut timeline = Timeline::default();
    let (mut checked, hear) = asked.checked(raw, &control, started)?.unzip();
    let mut watch = |tally: &Tally| {
        timeline.note(tally);
        if is_interrupted.load(Ordering::Relaxed) {
            control.stop();
        }
        let words = rate.words(tally);
        let checking = checked.as_mut().map(|it| {
            it.begin();
            format!("; check: {}", it.status())
        });
        progress.stage(words + &checking.unwrap_or_default());
        progress.paint();
    };
    let result = collect(&asked.database, &asked.plan, asked.output.target(hear), &control, &mut watch);
    progress.clear();
    match result {
        Ok(collected) => {
            let checked = checked.map(Checked::wait).transpose()?;
            let over_time = checked.as_ref().and_then(|it| it.over_time());
            let exit = asked.publish(raw, &collected, &timeline, over_time)?;
            match checked {
                Some(checked) => Ok(exit.and(checked.show(raw.json)?)),
                None => Ok(exit),
            }
        }
        Err(CollectError::Write(error)) if asked.output.is_closed_pipe(&error) => Ok(Exit::Good),
        Err(CollectError::Write(error)) => Err(anyhow!(error).context(asked.output.cannot_write())),
        Err(error) => Err(error.into()),
    }
}

impl Collect {
    fn resolve(raw: &CollectArgs) -> anyhow::Result<Self> {
        let output = match &raw.output {
            Some(path) => Output::of(path, raw.json, raw.database.overwrite, RunFormats::LinesOrDataSet)?,
            None => Output::Stream,
        };
        let reports = reports(raw)?;
        let parameters = parameters(raw)?;
        let known = workload(raw.workload.trim(), &parameters).ok_or_else(|| no_workload(&raw.workload))?;
        let mix = raw.mix.as_deref().map(mix).transpose()?;
        let database: Arc<dyn Database> = Arc::from(raw.database.open(&raw.url)?);
        let (workload, isolations, isolation) = if let Some(path) = &raw.program {
            let of = program_workload::resolve(raw, path, &*database)?;
            (of.workload, of.isolations, of.mix)
        } else {
            let isolations = isolations(&*database, raw, mix)?;
            let isolation = raw.mix.clone().unwrap_or_else(|| isolations[0].clone());
            (known, isolations, isolation)
        };
        let txns = raw.txns.or(raw.duration.is_none().then_some(DEFAULT_TXNS));
        let plan = Plan {
            origin: origin(raw, &*database, &*workload, &isolation, txns),
            workload,
            isolations,
            txns,
            duration: raw.duration,
            seed: raw.seed,
            retries: if raw.retry { Retries::UpTo(RETRIES) } else { Retries::None },
            final_read: if raw.no_final_read { FinalRead::No } else { FinalRead::Yes },
            faults: raw.faults.plan(&*database, raw.seed)?,
            pause: raw.pause.unwrap_or_default(),
        };
        let parameters = described(raw, txns);
        Ok(Self { database, plan, isolation, parameters, output, reports })
    }

    /// The check that runs beside the recording, if one is asked for.
    fn checked(
        &self,
        raw: &CollectArgs,
        control: &Arc<Control>,
        started: Instant,
    ) -> anyhow::Result<Option<(Checked, Hear)>> {
        if raw.check.is_empty() {
            return Ok(None);
        }
        let Output::File(path) = &self.output else {
            bail!("--check reads the recording while it is written, so -o must name a file");
        };
        let levels = streaming::levels_of(&raw.check, None)?;
        let (checked, hear) = Checked::new(path.clone(), levels, Arc::clone(control), started);
        Ok(Some((checked.stopping(raw.stop_on_violation), hear)))
    }

    /// What the run would do.
    fn show(&self) -> anyhow::Result<Exit> {
        let (workload, sessions) = (&self.plan.workload, self.plan.isolations.len());
        check_workload(&*self.database, &**workload)?;
        let preview = self.database.inspect(&workload.tables(), sessions)?;
        let mut isolations = self.plan.isolations.clone();
        isolations.dedup();
        let txns = self.plan.txns.map(|it| format!("{it} transactions in each session"));
        let time = self.plan.duration.map(|it| format!("{:.0} s", it.as_secs_f64()));
        let amount = txns.into_iter().chain(time).collect::<Vec<_>>().join(", at most ");
        let intention = Intention {
            verb: "collect",
            database: &*self.database,
            isolations,
            sessions,
            table: workload.tables().first().map(|it| it.name.clone()).unwrap_or_default(),
            rows: workload.rows().len(),
            work: format!("the workload {}: {amount}", workload.name()),
            output: self.output.shown(),
        };
        intention.print(&preview)?;
        Ok(Exit::Good)
    }

    fn publish(
        &self,
        raw: &CollectArgs,
        collected: &Collected,
        timeline: &Timeline,
        check: Option<&OverTime>,
    ) -> anyhow::Result<Exit> {
        self.output.complete()?;
        let report = Report::Collect(self.report(collected, timeline, check));
        for (path, rendering) in &self.reports {
            output::write_file(path, rendering.render(&report).as_bytes())?;
        }
        let words = Voice::new(raw.json).words(&report);
        match self.output {
            Output::Stream => output::say_aside(words.trim_end()),
            Output::File(_) | Output::DataSet { .. } => output::print(&words)?,
        }
        if let Some(failure) = &collected.failure {
            output::complain(&format!("{failure}; what happened until then is recorded"));
        }
        Ok(Exit::of(&report))
    }

    /// Which sessions begin on which node, where there are several.
    fn nodes(&self) -> Vec<NodeSessions> {
        let nodes = self.database.nodes();
        let on = |node: usize| {
            let sessions = (0..self.plan.isolations.len()).filter(move |it| self.database.node_of(*it) == node);
            sessions.map(|it| format!("s{}", it + 1)).collect()
        };
        let several = nodes.iter().enumerate().filter(|_| nodes.len() > 1);
        several.map(|(idx, node)| NodeSessions { node: node.clone(), sessions: on(idx) }).collect()
    }

    fn report(&self, collected: &Collected, timeline: &Timeline, check: Option<&OverTime>) -> CollectReport {
        let counts = &collected.counts;
        let assertion =
            |it: &Assertion| Asserted { name: it.name.to_owned(), holds: it.holds, detail: it.detail.clone() };
        CollectReport {
            database: collected.database.clone(),
            isolation: self.isolation.clone(),
            workload: self.plan.workload.name().to_owned(),
            seed: self.plan.seed,
            parameters: self.parameters.clone(),
            outcomes: Outcomes {
                sessions: collected.sessions as u64,
                committed: counts.committed,
                aborted: counts.aborted,
                conflicts: counts.conflicts,
                unknown: counts.unknown,
                operations: counts.operations,
                reconnects: counts.reconnects,
                aborts: causes(&counts.aborts),
            },
            throughput: (collected.throughput * 1e3).round() / 1e3,
            seconds: in_seconds(collected.elapsed),
            bytes: collected.bytes,
            was_stopped: collected.was_stopped,
            failure: collected.failure.clone(),
            assertions: collected.assertions.iter().map(assertion).collect(),
            output: self.output.shown(),
            nodes: self.nodes(),
            faults: super::hunt::marks(&collected.faults),
            series: timeline.series(collected.elapsed, counts),
            check: check.map(|it| Box::new(it.clone())),
        }
    }
}

fn causes(aborts: &Aborts) -> AbortCauses {
    AbortCauses {
        serialization: aborts.of(Cause::Serialization),
        deadlock: aborts.of(Cause::Deadlock),
        lock_timeout: aborts.of(Cause::LockTimeout),
        statement_timeout: aborts.of(Cause::StatementTimeout),
        constraint: aborts.of(Cause::Constraint),
        application: aborts.of(Cause::Application),
        other: aborts.of(Cause::Other),
    }
}

/// Where reports go. A run over time is no graph.
fn reports(raw: &CollectArgs) -> anyhow::Result<Vec<(PathBuf, Rendering)>> {
    let reports = Rendering::to_each(raw.reports.clone())?;
    Rendering::refuse_graphs("collect", &reports)?;
    Ok(reports)
}

fn described(raw: &CollectArgs, txns: Option<usize>) -> WorkloadParameters {
    WorkloadParameters {
        sessions: raw.sessions as u64,
        txns: txns.map(|it| it as u64),
        duration: raw.duration.map(in_seconds),
        keys: raw.keys as u64,
        ops: (raw.ops.0 as u64, raw.ops.1 as u64),
        reads: raw.reads,
        keys_like: raw.keys_like.trim().to_owned(),
        retries: if raw.retry { RETRIES as u64 } else { 0 },
    }
}

/// How the history is recorded, without what is secret in the address of the database.
fn origin(
    raw: &CollectArgs,
    database: &dyn Database,
    workload: &dyn Workload,
    isolation: &str,
    txns: Option<usize>,
) -> String {
    let origin = json!({
        "database": database.describe(),
        "isolation": isolation,
        "workload": workload.name(),
        "sessions": raw.sessions,
        "txns": txns,
        "seconds": raw.duration.map(|it| it.as_secs_f64()),
        "keys": raw.keys,
        "ops": format!("{}..{}", raw.ops.0, raw.ops.1),
        "reads": raw.reads,
        "keys_like": raw.keys_like,
        "seed": raw.seed,
        "retries": if raw.retry { RETRIES } else { 0 },
    });
    origin.to_string()
}

fn parameters(raw: &CollectArgs) -> anyhow::Result<Parameters> {
    let keys_like = Likeliness::from_name(raw.keys_like.trim()).ok_or_else(|| {
        let known = Likeliness::ALL.map(Likeliness::name).join(", ");
        anyhow!("keys cannot be drawn like `{}`; choose one of {known}", raw.keys_like)
    })?;
    Ok(Parameters {
        sessions: raw.sessions,
        keys: raw.keys,
        min_ops: raw.ops.0,
        max_ops: raw.ops.1,
        reads: raw.reads,
        keys_like,
    })
}

fn no_workload(name: &str) -> anyhow::Error {
    let known: Vec<&str> = WORKLOADS.iter().map(|it| it.0).chain(APPLICATIONS.iter().map(|it| it.name())).collect();
    anyhow!("there is no workload `{}`; choose one of {}", name.trim(), known.join(", "))
}

/// The isolation level of each session.
fn isolations(
    database: &dyn Database,
    raw: &CollectArgs,
    mix: Option<Vec<(String, f64)>>,
) -> anyhow::Result<Vec<String>> {
    let only = || vec![(raw.isolation.as_deref().unwrap_or(database.isolations()[0]).to_owned(), 1.0)];
    let mix = mix.unwrap_or_else(only).into_iter();
    let known: Vec<(String, f64)> =
        mix.map(|(name, share)| Ok((isolation(database, &name)?.to_owned(), share))).collect::<anyhow::Result<_>>()?;
    Ok(shares(&known, raw.sessions))
}

/// The name of an isolation level as the database has it, whether long, short or in SQL's capitals.
pub(crate) fn isolation(database: &dyn Database, name: &str) -> anyhow::Result<&'static str> {
    let normal = |name: &str| name.trim().to_ascii_lowercase().replace([' ', '_'], "-");
    let plain = normal(name);
    let long = Promises::builtin().isolation(name);
    let known = database.isolations();
    let is_meant = |it: &str| it == name.trim() || normal(it) == plain || it == long;
    let found = known.iter().find(|it| is_meant(it)).copied();
    found.ok_or_else(|| {
        anyhow!("{} has no isolation level `{}`; choose one of {}", database.describe(), name.trim(), known.join(", "))
    })
}

/// Reads `read-committed:0.5,serializable:0.5`.
fn mix(text: &str) -> anyhow::Result<Vec<(String, f64)>> {
    let part = |it: &str| {
        let (name, weight) = it.split_once(':')?;
        let weight: f64 = weight.trim().parse().ok()?;
        (weight.is_finite() && weight > 0.0).then(|| (name.trim().to_owned(), weight))
    };
    let parts: Option<Vec<(String, f64)>> = text.split(',').map(part).collect();
    parts.ok_or_else(|| {
        anyhow!("--mix `{text}`: write levels and their shares, as in read-committed:0.5,serializable:0.5")
    })
}

pub(crate) fn parse_sessions(text: &str) -> Result<usize, String> {
    number(text, MAX_SESSIONS)
}

pub(crate) fn parse_txns(text: &str) -> Result<usize, String> {
    number(text, MAX_TXNS)
}

pub(crate) fn parse_keys(text: &str) -> Result<usize, String> {
    number(text, MAX_KEYS)
}

fn number(text: &str, last: usize) -> Result<usize, String> {
    let number = text.trim().parse().ok().filter(|it| (1..=last).contains(it));
    number.ok_or_else(|| format!("write a number from 1 to {last}"))
}

/// Reads `1..8`, both included, or one number.
pub(crate) fn parse_ops(text: &str) -> Result<(usize, usize), String> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let high = high.strip_prefix('=').unwrap_or(high);
    let both = number(low, MAX_OPS).and_then(|low| Ok((low, number(high, MAX_OPS)?)));
    both.ok().filter(|it| it.0 <= it.1).ok_or_else(|| format!("write a range such as 1..8, up to {MAX_OPS}"))
}

pub(crate) fn parse_reads(text: &str) -> Result<f64, String> {
    let share = text.trim().parse().ok().filter(|it| (0.0..=1.0).contains(it));
    share.ok_or_else(|| "write a share from 0 to 1, such as 0.5".to_owned())
}

impl Output {
    /// The output of a name, where the answer may be JSON on standard output.
    pub(crate) fn of(path: &Path, is_json: bool, overwrite: Overwrite, formats: RunFormats) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            if is_json {
                bail!("--json and -o - both write to standard output; give the history a file");
            }
            return Ok(Self::Stream);
        }
        let ending = path.extension().and_then(OsStr::to_str);
        if formats == RunFormats::LinesOrDataSet && ending == Some(Format::Parquet.extension()) {
            return Self::data_set(path, overwrite);
        }
        let is_device = path.exists() && !path.is_file();
        if !is_device && ending != Some("jsonl") {
            let endings = match formats {
                RunFormats::Lines => ".jsonl",
                RunFormats::LinesOrDataSet => ".jsonl or .parquet",
            };
            bail!(
                "{}: the name of a recorded history ends in {endings}; isoscope convert writes other formats, and \
                 compresses",
                path.display()
            );
        }
        overwrite.check(path)?;
        if path.is_file() {
            // What is in it stays until the run begins.
            OpenOptions::new().write(true).open(path).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(Self::File(path.to_owned()))
    }

    fn data_set(path: &Path, overwrite: Overwrite) -> anyhow::Result<Self> {
        if path.exists() && !overwrite.is_forced() {
            bail!("{} exists; overwrite it with --force", path.display());
        }
        check_replaceable(path, Format::Parquet)?;
        let mut name = path.as_os_str().to_owned();
        name.push(".jsonl");
        let recording = PathBuf::from(name);
        overwrite.check(&recording)?;
        Ok(Self::DataSet { directory: path.to_owned(), recording })
    }

    /// Makes a data set of a recording; a recording of which that failed is kept.
    fn complete(&self) -> anyhow::Result<()> {
        let Self::DataSet { directory, recording } = self else { return Ok(()) };
        let kept = || format!("cannot write {}; the recording is in {}", directory.display(), recording.display());
        let reading = iso_formats::read_path(recording, &ReadOptions::default()).with_context(kept)?;
        let header = reading.header.clone();
        let history = reading.into_history().map_err(|it| anyhow!("{}", it[0])).with_context(kept)?;
        let staged = staged(directory);
        let written = write_headed_path(&history, &header, Format::Parquet, &staged).map_err(anyhow::Error::from);
        let moved = written.and_then(|()| Ok(replace(directory, &staged)?));
        moved.inspect_err(|_| remove(&staged)).with_context(kept)?;
        std::fs::remove_file(recording).with_context(|| format!("cannot remove {}", recording.display()))
    }

    /// Its name, for a report.
    fn shown(&self) -> Option<String> {
        match self {
            Self::Stream => None,
            Self::File(path) | Self::DataSet { directory: path, .. } => Some(path.display().to_string()),
        }
    }

    /// Where it goes, and who hears it besides.
    pub(crate) fn target(&self, hear: Option<Hear>) -> Target {
        match (self, hear) {
            (Self::Stream, _) => Target::Stream(Box::new(io::stdout())),
            (Self::File(path) | Self::DataSet { recording: path, .. }, None) => Target::File(path.clone()),
            (Self::File(path) | Self::DataSet { recording: path, .. }, Some(hear)) => Target::Heard(path.clone(), hear),
        }
    }

    pub(crate) fn cannot_write(&self) -> String {
        match self {
            Self::Stream => "cannot write to standard output".to_owned(),
            Self::File(path) | Self::DataSet { recording: path, .. } => {
                format!("cannot write {}; what is in it is valid up to its last line", path.display())
            }
        }
    }

    /// A reader that went away has seen enough.
    fn is_closed_pipe(&self, error: &io::Error) -> bool {
        matches!(self, Self::Stream) && error.kind() == io::ErrorKind::BrokenPipe
    }
}

/// How fast it goes now.
struct Rate {
    since: Instant,
    committed: u64,
    a_second: Option<f64>,
}

impl Rate {
    fn new() -> Self {
        Self { since: Instant::now(), committed: 0, a_second: None }
    }

    #[allow(clippy::cast_precision_loss, reason = "a rate needs a few digits")]
    fn words(&mut self, tally: &Tally) -> String {
        let elapsed = self.since.elapsed();
        if elapsed >= Duration::from_millis(500) {
            self.a_second = Some((tally.committed - self.committed) as f64 / elapsed.as_secs_f64());
            (self.since, self.committed) = (Instant::now(), tally.committed);
        }
        let rate = self.a_second.map(|it| format!(", {it:.0} a second")).unwrap_or_default();
        let n_aborted = tally.aborted + tally.conflicts;
        let unknown = if tally.unknown > 0 { format!(", {} unknown", tally.unknown) } else { String::new() };
        format!("{} committed{rate}, {n_aborted} aborted{unknown}", tally.committed)
    }
}

/// The workloads, for the help.
pub(crate) fn workloads() -> String {
    let lines: Vec<String> = WORKLOADS.iter().map(|(name, about)| format!("  {name:<16}{about}")).collect();
    let apps: Vec<&str> = APPLICATIONS.iter().map(|it| it.name()).collect();
    format!("Workloads:\n{}\n  and the applications of `isoscope store apps`: {}", lines.join("\n"), apps.join(", "))
}

//! A recording that is checked while it is read, from a file that may still grow or from standard input: what `check --stream`,
//! `check --follow` and `collect --check` share.

use crate::limits::Alarm;
use crate::progress::Progress;
use crate::promise;
use crate::source::shown;
use crate::{memory, names};
use anyhow::{anyhow, bail};
use iso_answer::stream::{Resumption, Standing, StreamCheck};
use iso_evidence::{Budget, Verdict};
use iso_formats::{EndOfStream, ReadError, StreamedEnd, StreamedHeader, Watch};
use iso_history::{Datum, Defect, KeyId, StreamedBlock, StreamedValue, TableId};
use iso_report::{Answer, Counts, Evidence, Judgement, LevelReport, Limits as ReportLimits, OverTime, Schedule};
use iso_spec::Level;
use std::cell::Cell;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

mod again;
mod pace;
mod packing;
mod sampler;
mod schedule;
mod tail;
mod told;

pub(crate) use again::{DEFAULT_SPOOL, Spool, Spooled};
pub(crate) use schedule::Step;
pub(crate) use tail::Tail;
pub(crate) use told::Told;

use again::{Again, Origin};
use packing::{MAX_PACKS, Pack};
use sampler::Sampler;
use schedule::{Resuming, Saved};

/// So many transactions may still be ordered in another way, unless somebody says how many.
pub(crate) const DEFAULT_WINDOW: usize = 20_000;
/// What is asked where nobody names a level and nothing was promised.
const USUAL: [Level; 4] =
    [Level::Serializable, Level::SnapshotIsolation, Level::CausalConsistency, Level::ReadCommitted];
/// How long to wait for more of a file that grows.
const PAUSE: Duration = Duration::from_millis(10);
/// How often the status is told.
const STATUS: Duration = Duration::from_millis(250);
/// How long to wait before suspects of a recording that grows are looked at once more; each time twice as long.
const RETRY: Duration = Duration::from_secs(1);
/// So many suspects are named.
const MAX_NAMED: usize = 3;

/// So many windows beyond a suspect are read again with what came before it.
const LOOK_AHEAD: u64 = 4;

/// What to check, and how.
#[derive(Clone, Debug)]
pub(crate) struct StreamPlan {
    /// The levels; what was promised, or the usual ones, if nobody names any.
    pub(crate) levels: Option<Vec<Level>>,
    pub(crate) window: usize,
    pub(crate) stops_on_violation: bool,
    /// Where the schedule goes.
    pub(crate) certificate: Option<PathBuf>,
    /// Goes on after what is there of the schedule.
    pub(crate) resumes: bool,
    /// The initial value of registers, if the recording does not say it.
    pub(crate) initial: Option<Datum>,
}

/// Where a recording comes from.
pub(crate) enum Flow {
    /// All of it is there.
    Whole { reader: Box<dyn Read + Send>, size: Option<u64>, spool: Option<Arc<Spool>> },
    /// It grows.
    Growing(Tail),
    /// This process writes it.
    Told(Told),
}

impl Flow {
    /// How much was read of what grows.
    fn n_read(&self) -> Option<Arc<AtomicU64>> {
        match self {
            Self::Growing(tail) => Some(Arc::clone(&tail.n_read)),
            Self::Told(told) => Some(Arc::clone(&told.n_read)),
            Self::Whole { .. } => None,
        }
    }

    /// Where it can be read again.
    fn origin(&self, path: &Path) -> Origin {
        match self {
            Self::Growing(_) | Self::Told(_) => Origin::File(path.to_owned()),
            Self::Whole { spool: Some(spool), .. } => Origin::Spool(Arc::clone(spool)),
            Self::Whole { .. } if path.is_file() => Origin::File(path.to_owned()),
            Self::Whole { .. } => Origin::Nowhere,
        }
    }
}

/// What came of it.
pub(crate) struct Streamed {
    /// Nothing if there was no header.
    pub(crate) check: Option<StreamCheck>,
    pub(crate) counts: Counts,
    pub(crate) end: EndOfStream,
    pub(crate) defects: Vec<Defect>,
    /// Why it was not even begun.
    pub(crate) refusal: Option<String>,
    /// What it has that cannot be streamed: the rest of it was not read.
    pub(crate) out_of_reach: Option<String>,
    /// What was promised, if that decided the level.
    pub(crate) promised: Option<promise::Promised>,
    /// How it went, if it took long enough.
    pub(crate) over_time: Option<OverTime>,
}

/// The levels of these names; levels of one's own have no schedules that could be streamed.
pub(crate) fn levels_of(named: &[String], database: Option<&str>) -> anyhow::Result<Vec<Level>> {
    let mut levels = Vec::new();
    for name in named {
        let names::Named::Question(names::Question::Level(level)) = names::Named::of(name, None, database)? else {
            bail!("{name} cannot be checked as a stream; without --stream and --follow it is decided in memory");
        };
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    Ok(levels)
}

/// Checks a recording while it is read. `violated` hears of each violation at once, and `quiet` runs show no status.
pub(crate) fn run(
    name: &str,
    flow: Flow,
    plan: &StreamPlan,
    (alarm, progress): (&Arc<Alarm>, &Arc<Progress>),
    violated: &mut dyn FnMut(Level, &Standing, u64),
) -> anyhow::Result<Streamed> {
    let stop = || alarm.reason();
    let explaining_since = Cell::new(Instant::now());
    let stop_explaining = || {
        stop().or_else(|| (explaining_since.get().elapsed() > EXPLANATION).then_some(iso_evidence::StopReason::Timeout))
    };
    let hear = |note| {
        if let iso_evidence::Note::Begins(iso_evidence::Stage::Explanation | iso_evidence::Stage::Derivation) = note {
            explaining_since.set(Instant::now());
        }
    };
    let budget = Budget::new(&stop).explained_until(&stop_explaining).heard_by(&hear);
    let (saved, resuming) = schedule::open(plan)?;
    let n_read = flow.n_read();
    let (grows, from) = (n_read.is_some(), flow.origin(Path::new(name)));
    let mut taker = Taker {
        plan,
        budget,
        progress,
        violated,
        recording: Again::new(from, plan.initial.clone()),
        saved,
        resuming,
        failed: None,
        check: None,
        counts: Counts::default(),
        refusal: None,
        out_of_reach: None,
        promised: None,
        told: Vec::new(),
        n_read,
        last_status: Instant::now(),
        last_line: 0,
        sampler: Sampler::new(),
        started: Instant::now(),
        grows,
        retry: (Instant::now(), RETRY),
        stop: &stop,
    };
    let watch = StopWatch { alarm: Arc::clone(alarm), progress: (!grows).then(|| Arc::clone(progress)) };
    let (initial, shown_name) = (plan.initial.clone(), shown(name).to_owned());
    let (sender, receiver) = sync_channel(MAX_PACKS);
    let read = move || packing::read(&shown_name, flow, initial.as_ref(), &watch, sender);
    let reader = thread::Builder::new().name("read".to_owned()).spawn(read)?;
    let is_enough = taker.take_all(&receiver).is_break();
    // Whoever had enough does not wait: the reader may wait for more itself.
    drop(receiver);
    let ended = if is_enough {
        Ok(StreamedEnd { end: EndOfStream::Enough, defects: Vec::new() })
    } else {
        reader.join().map_err(|_| anyhow!("the thread that reads has failed"))?
    };
    let (end, defects) = match ended {
        Ok(ended) => (ended.end, ended.defects),
        // Whoever stopped it wants to know how far it was.
        Err(ReadError::Stopped { .. }) => (EndOfStream::Enough, Vec::new()),
        Err(error) => return Err(error.into()),
    };
    taker.finish(end, grows);
    let Taker { check, counts, refusal, out_of_reach, promised, saved, sampler, failed, .. } = taker;
    if let Some(failed) = failed {
        return Err(failed);
    }
    let over_time = sampler.finish();
    if let Some(error) = saved.failure {
        bail!("cannot write the certificate: {error}");
    }
    Ok(Streamed { check, counts, end, defects, refusal, out_of_reach, promised, over_time })
}

/// Explanations of violations in a stream take no longer.
const EXPLANATION: Duration = Duration::from_secs(10);

struct StopWatch {
    alarm: Arc<Alarm>,
    progress: Option<Arc<Progress>>,
}

impl Watch for StopWatch {
    fn should_stop(&self) -> bool {
        self.alarm.reason().is_some()
    }

    fn progress(&self, bytes: u64, of: Option<u64>) {
        if let Some(progress) = &self.progress {
            progress.bytes(bytes, of);
        }
    }
}

struct Taker<'a> {
    plan: &'a StreamPlan,
    budget: Budget<'a>,
    progress: &'a Progress,
    violated: &'a mut dyn FnMut(Level, &Standing, u64),
    recording: Again,
    saved: Saved,
    /// A schedule that was saved before, as long as it has more steps.
    resuming: Option<Resuming>,
    failed: Option<anyhow::Error>,
    check: Option<StreamCheck>,
    counts: Counts,
    refusal: Option<String>,
    out_of_reach: Option<String>,
    promised: Option<promise::Promised>,
    /// Levels whose violation was told.
    told: Vec<Level>,
    n_read: Option<Arc<AtomicU64>>,
    last_status: Instant,
    last_line: u64,
    sampler: Sampler,
    started: Instant,
    grows: bool,
    /// When suspects are looked at once more, and how long to wait after that.
    retry: (Instant, Duration),
    stop: &'a dyn Fn() -> Option<iso_evidence::StopReason>,
}

impl Taker<'_> {
    /// Takes what the reader has packed, until there is no more.
    fn take_all(&mut self, packs: &Receiver<Pack>) -> ControlFlow<()> {
        loop {
            match packs.recv_timeout(STATUS) {
                Ok(pack) => self.take(pack)?,
                Err(RecvTimeoutError::Timeout) => self.pause()?,
                Err(RecvTimeoutError::Disconnected) => return ControlFlow::Continue(()),
            }
        }
    }

    fn take(&mut self, pack: Pack) -> ControlFlow<()> {
        match pack {
            Pack::Header(header) => self.header(&header),
            Pack::Initial { key, name, value } => self.initial(key, &name, &value),
            Pack::Txns { block, counts, lists, rows } => {
                for (key, table, name) in &rows {
                    self.row(*key, *table, name);
                }
                lists.iter().try_for_each(|(key, name)| self.initial(*key, name, &StreamedValue::Empty))?;
                self.txns(&block, counts)
            }
            Pack::OutOfReach(what) => {
                self.out_of_reach = Some(what);
                ControlFlow::Break(())
            }
        }
    }

    fn header(&mut self, header: &StreamedHeader) -> ControlFlow<()> {
        let promised = header.header.database.as_ref().and_then(|it| promise::promised(it).ok());
        let is_level = |it: &promise::Promised| matches!(it.question, names::Question::Level(_));
        let promised = promised.filter(|it| self.plan.levels.is_none() && is_level(it));
        let levels = match (&self.plan.levels, &promised) {
            (Some(levels), _) => levels.clone(),
            (None, Some(promise::Promised { question: names::Question::Level(level), .. })) => vec![*level],
            (None, _) => USUAL.to_vec(),
        };
        self.promised = promised;
        if self.plan.certificate.is_some() && levels.len() != 1 {
            self.refusal = Some("--certificate saves the schedule of one level; name it with --level".to_owned());
            return ControlFlow::Break(());
        }
        let initial = StreamedValue::from(&header.initial);
        match StreamCheck::new(&levels, &initial, self.plan.window) {
            Ok(check) => self.check = Some(check),
            Err(level) => {
                self.refusal = Some(format!("{level} cannot be checked as a stream"));
                return ControlFlow::Break(());
            }
        }
        let level = StreamCheck::streamed_as(levels[0]).unwrap_or(levels[0]);
        let window = StreamCheck::window_of(level, self.plan.window);
        let first = schedule::header(level, window);
        let Some(resuming) = &mut self.resuming else { return ControlFlow::Continue(()) };
        self.check = None;
        let begun = resuming.begin(&first, Resumption::new(levels[0], &initial, self.plan.window));
        self.done(begun)
    }

    fn initial(&mut self, key: KeyId, name: &Datum, value: &StreamedValue) -> ControlFlow<()> {
        self.counts.keys = self.counts.keys.max(key.index() as u64 + 1);
        if let Some(state) = self.resuming.as_mut().and_then(|it| it.state.as_mut()) {
            let said = state.initial(key, value).map_err(|it| anyhow!("{it}"));
            return self.done(said);
        }
        let Some(check) = &mut self.check else { return ControlFlow::Continue(()) };
        if check.initial(key, value) {
            return ControlFlow::Continue(());
        }
        let name = name.as_name().shown();
        self.out_of_reach = Some(format!("the recording says what {name} held at first after somebody touched it"));
        ControlFlow::Break(())
    }

    fn row(&mut self, key: KeyId, table: TableId, name: &Datum) {
        if let Some(state) = self.resuming.as_mut().and_then(|it| it.state.as_mut()) {
            state.row(key, table, name);
        } else if let Some(check) = &mut self.check {
            check.row(key, table, name);
        }
    }

    fn txns(&mut self, block: &Arc<StreamedBlock>, counts: Counts) -> ControlFlow<()> {
        self.counts = Counts { keys: self.counts.keys.max(counts.keys), ..counts };
        // Of a recording that is complete, what follows is known, too: it says who may have written what was read.
        let is_whole = !self.grows && matches!(self.recording.from, Origin::File(_));
        let ahead = if is_whole { self.plan.window as u64 * LOOK_AHEAD } else { 0 };
        for idx in 0..block.n_txns() {
            let at = block.txn(idx).at;
            self.recording.until.set(Some(at + ahead));
            self.last_line = at;
            if self.resuming.is_some() {
                self.resume(block, idx)?;
                continue;
            }
            let Some(check) = &mut self.check else { return ControlFlow::Continue(()) };
            check.take((block, idx), &self.recording, &mut self.saved, &self.budget);
            self.look(at)?;
        }
        self.pause()
    }

    /// The next transaction, as long as there is more of a saved schedule.
    fn resume(&mut self, block: &Arc<StreamedBlock>, idx: usize) -> ControlFlow<()> {
        let told = self.resuming.as_mut().map_or(Ok(false), |it| it.tell(block, idx));
        if let Ok(true) = told
            && let Some(resuming) = self.resuming.take()
        {
            let check = resuming.go_on(&self.recording, &mut self.saved, &self.budget);
            let check = check.map(|it| self.check = Some(it));
            self.done(check)?;
            return self.look(self.last_line);
        }
        self.done(told.map(|_| ()))
    }

    /// What failed ends the check.
    fn done(&mut self, result: anyhow::Result<()>) -> ControlFlow<()> {
        self.failed = result.err();
        if self.failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn pause(&mut self) -> ControlFlow<()> {
        let is_file = !self.grows && matches!(self.recording.from, Origin::File(_));
        if let Some(check) = self.check.as_mut().filter(|_| !is_file && self.last_status.elapsed() >= STATUS) {
            check.go_on(&self.recording, &mut self.saved, &self.budget);
            self.saved.flush();
            self.look(self.last_line)?;
        }
        self.status();
        if self.sampler.is_due() {
            self.sample();
        }
        if self.grows || matches!(self.recording.from, Origin::Spool(_)) {
            self.retry()?;
        }
        if (self.stop)().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Tells of violations, and whether to go on.
    fn look(&mut self, at: u64) -> ControlFlow<()> {
        if let Some(broken) = self.recording.take_broken() {
            return self.done(Err(broken.into()));
        }
        let Some(check) = &self.check else { return ControlFlow::Continue(()) };
        if check.is_violated() {
            for (level, standing) in check.standings() {
                if matches!(standing, Standing::Violated(_)) && !self.told.contains(&level) {
                    self.told.push(level);
                    self.recording.was_shown();
                    self.sampler.hear(check, at);
                    (self.violated)(level, standing, at);
                }
            }
            if self.plan.stops_on_violation {
                return ControlFlow::Break(());
            }
        }
        if check.is_over() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// What was recorded since may show what suspects are.
    fn retry(&mut self) -> ControlFlow<()> {
        let Some(check) = self.check.as_mut().filter(|it| it.has_suspects()) else { return ControlFlow::Continue(()) };
        let (at, pause) = self.retry;
        if Instant::now() < at {
            return ControlFlow::Continue(());
        }
        check.look_again(&self.recording, &self.budget);
        self.retry = (Instant::now() + pause, pause * 2);
        self.look(self.last_line)
    }

    fn status(&mut self) {
        if self.last_status.elapsed() < STATUS {
            return;
        }
        self.last_status = Instant::now();
        if let Some(words) = self.words() {
            self.progress.stage(words);
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "bytes of a recording are far below the limits of a float")]
    fn sample(&mut self) {
        let Some(check) = &self.check else { return };
        let rate =
            |read: &AtomicU64| read.load(Ordering::Relaxed) as f64 / self.started.elapsed().as_secs_f64().max(1e-3);
        // How long the writer needs for what was not read yet.
        let lag = self.lag().zip(self.n_read.as_ref()).map(|(bytes, read)| bytes as f64 / rate(read).max(1.0));
        self.sampler.look(check, lag, memory::resident(), self.last_line);
    }

    /// How many bytes of a recording that grows were not read yet.
    fn lag(&self) -> Option<u64> {
        let (Some(read), Origin::File(path)) = (&self.n_read, &self.recording.from) else { return None };
        Some(path.metadata().ok()?.len().saturating_sub(read.load(Ordering::Relaxed)))
    }

    /// `1200000 transactions, lag 0.1 MB, window 20000, 61 MB: ser holds`
    fn words(&self) -> Option<String> {
        let check = self.check.as_ref()?;
        let verdicts: Vec<String> = check.standings().map(|(level, it)| format!("{level} {}", word(it))).collect();
        let window = check.standings().map(|it| check.progress(it.0).n_window).max().unwrap_or(0);
        let lag = self.lag().map(|it| format!(", lag {} kB", it / 1000));
        let memory = memory::resident().map_or(String::new(), |it| format!(", {} MB", it / 1_000_000));
        let (n_txns, verdicts) = (check.n_txns(), verdicts.join(", "));
        Some(format!("{n_txns} transactions{}, window {window}{memory}: {verdicts}", lag.unwrap_or_default()))
    }

    fn finish(&mut self, end: EndOfStream, grows: bool) {
        if let Some(resuming) = self.resuming.as_ref().filter(|_| self.failed.is_none() && end != EndOfStream::Broken) {
            self.failed = Some(anyhow!(resuming.unfinished()));
        }
        let Some(check) = &mut self.check else { return };
        if self.refusal.is_some() || self.out_of_reach.is_some() || end == EndOfStream::Broken {
            return;
        }
        match end {
            // What a recording that goes on has not said yet may explain what waits.
            EndOfStream::Cut(_) if grows => check.settle(&self.recording, &mut self.saved, &self.budget),
            EndOfStream::Enough => check.settle(&self.recording, &mut self.saved, &self.budget),
            _ => {
                self.recording.until.set(None);
                check.finish(&self.recording, &mut self.saved, &self.budget);
            }
        }
        if end != EndOfStream::Enough {
            self.recording.look_back();
        }
        self.look(self.last_line).is_break();
        self.sample();
        let holds = self.check.as_ref().is_some_and(|it| it.standings().all(|it| matches!(it.1, Standing::Holds)));
        if end == EndOfStream::Complete && holds {
            self.saved.line("end");
        } else {
            self.saved.flush();
        }
    }
}

fn word(standing: &Standing) -> &'static str {
    match standing {
        Standing::Holds => "holds",
        Standing::Violated(_) => "VIOLATED",
        Standing::Undecided => "has suspects",
        Standing::Refused(_) => "unknown",
    }
}

/// What a document says of a level.
pub(crate) fn level_report(streamed: &Streamed, check: &StreamCheck, level: Level, standing: &Standing) -> LevelReport {
    let (judgement, certified) = match standing {
        Standing::Holds | Standing::Undecided if streamed.out_of_reach.is_some() => {
            let what = streamed.out_of_reach.as_deref().unwrap_or_default();
            let reason = format!("{what}, which is not streamed; with more --memory it is decided there");
            (Judgement::Unknown { reason }, None)
        }
        Standing::Holds => {
            let progress = check.progress(level);
            let n = progress.n_certified as usize;
            let schedule = match (check.streamed(level).without_times(), progress.n_pieces) {
                (_, Some(n_pieces)) => Schedule::Events { events: Vec::new(), omitted: n_pieces as usize },
                (Level::SnapshotIsolation | Level::PrefixConsistency, None) => {
                    Schedule::Events { events: Vec::new(), omitted: 2 * n }
                }
                _ => Schedule::Order { order: Vec::new(), omitted: n },
            };
            (Judgement::Holds { evidence: Evidence { schedule, sources: Vec::new() } }, Some(Ok(())))
        }
        Standing::Violated(violation) => {
            let verdict = Verdict::Forbidden((*violation.refutation).clone());
            let answer = Answer { level: level.into(), verdict: &verdict, certified: None };
            let limits = ReportLimits { max_order: Some(0) };
            (LevelReport::new(&violation.history, &answer, limits).judgement, Some(Ok(())))
        }
        Standing::Undecided => (Judgement::Unknown { reason: suspects(check, level) }, None),
        Standing::Refused(wrong) => {
            let reason = iso_answer::WrongEvidence::IN_SHORT.to_owned();
            (Judgement::Unknown { reason }, Some(Err(wrong.why.clone())))
        }
    };
    LevelReport { level: level.into(), judgement, certified }
}

fn suspects(check: &StreamCheck, level: Level) -> String {
    let n = check.progress(level).n_suspects;
    if n == 0 {
        return "the recorded times do not say what was over before something else began".to_owned();
    }
    let named: Vec<String> = check.suspects(level).iter().take(MAX_NAMED).map(|it| named(it.at, &it.why)).collect();
    let more = if n > named.len() as u64 { ", and more" } else { "" };
    let transactions = if n == 1 { "1 transaction does" } else { &format!("{n} transactions do") };
    format!("{transactions} not fit, and what is remembered does not say why ({}{more})", named.join("; "))
}

fn named(at: u64, why: &str) -> String {
    if at == 0 { why.to_owned() } else { format!("line {at}: {why}") }
}

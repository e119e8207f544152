//! Judging the run of an application, while it runs and at its end, for the verbs with a proxy.

use crate::args::RunCheckArgs;
use crate::effort;
use crate::exit::Exit;
use crate::judge::{Audience, Judge};
use crate::lock;
use crate::memory;
use crate::names::Question;
use crate::output::{self, Rendering};
use crate::progress::Progress;
use crate::promise::{Promised, promised};
use crate::said;
use crate::unseen::Unseen;
use anyhow::anyhow;
use iso_answer::check as decide;
use iso_answer::check::{Answer, Certifying};
use iso_evidence::{Budget, StopReason};
use iso_formats::{ReadOptions, Reading, read_from, read_path};
use iso_report::{CheckReport, Counts, Judgement, LevelReport, Report, Run, Surroundings};
use iso_serve::Moments;
use iso_spec::Level;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// What is asked of a run.
pub(crate) struct RunCheck {
    levels: Vec<Level>,
    reports: Vec<(PathBuf, Rendering)>,
    stops: bool,
}

/// What a level says of a run.
pub(crate) struct Judged {
    level: Level,
    verdict: &'static str,
    anomalies: Vec<String>,
    why: Option<String>,
}

/// How a run ends whose command ended like this; none was interrupted. A command that failed is said.
pub(crate) fn exit_of_run(judged: &[Judged], ended: Option<ExitStatus>) -> Exit {
    let failed = ended.filter(|it| !it.success());
    if let Some(status) = failed {
        output::say_aside(&format!("the command ended with {status}"));
    }
    if failed.is_some() || judged.iter().any(Judged::is_violated) {
        Exit::Found
    } else if judged.iter().any(Judged::is_unknown) {
        Exit::Unknown
    } else {
        Exit::Good
    }
}

impl RunCheck {
    /// What the arguments ask for of a history that goes to this file; none if it goes nowhere that can be read.
    pub(crate) fn new(raw: &RunCheckArgs, path: Option<&Path>) -> anyhow::Result<Self> {
        let levels = raw.check.iter().map(|it| level(it)).collect::<anyhow::Result<Vec<Level>>>()?;
        let reports = Rendering::to_each(raw.reports.clone())?;
        let is_readable = path.is_some_and(|it| it.as_os_str() != "-");
        let is_asked = !levels.is_empty() || !reports.is_empty();
        if is_asked && !is_readable {
            let option = if levels.is_empty() { "--report" } else { "--check" };
            anyhow::bail!("{option} reads the history again, so give it a file with -o");
        }
        Ok(Self { levels, reports, stops: raw.stop_on_violation })
    }

    /// Judges the run while it is recorded.
    pub(crate) fn watch(&self, path: Option<&Path>, so_far: SoFar) -> Option<Watch> {
        let path = path.filter(|_| !self.levels.is_empty())?;
        Some(Watch::new(path.to_owned(), self.levels.clone(), self.stops, so_far))
    }

    /// Judges the whole run, and writes the reports that were asked for. Without levels, reports are about what was
    /// promised and about serializability.
    pub(crate) fn judge(&self, path: &Path, progress: &Progress) -> anyhow::Result<Vec<Judged>> {
        if self.levels.is_empty() && self.reports.is_empty() {
            return Ok(Vec::new());
        }
        let started = Instant::now();
        let mut reading = read_path(path, &ReadOptions::default())?;
        let database = reading.header.database.take();
        let unseen = Unseen::of(reading.header.origin.as_deref());
        let history = history_of(reading, path)?;
        let promise = if self.levels.is_empty() { database.and_then(|it| promised(&it).ok()) } else { None };
        let asked = match &promise {
            None if self.levels.is_empty() => vec![Question::Level(Level::Serializable)],
            None => self.levels.iter().copied().map(Question::Level).collect(),
            Some(it) if it.question.name() == Question::Level(Level::Serializable).name() => vec![it.question],
            Some(it) => vec![it.question, Question::Level(Level::Serializable)],
        };
        let heard = Heard { progress, unseen, levels: RefCell::default() };
        let judge = Judge { certifying: Certifying::Yes, max_order: Some(200), budget: Budget::unlimited() };
        judge.ask(&history, &asked, &heard, &effort::Shared::default());
        progress.clear();
        let levels = heard.levels.into_inner();
        let judged = self.levels.iter().filter_map(|it| judged(*it, &levels)).collect();
        if !self.reports.is_empty() {
            let is_allowed = levels.iter().any(|it| matches!(it.judgement, Judgement::Holds { .. }));
            let whole = CheckReport::whole(&history).filter(|_| is_allowed);
            let surroundings = if whole.is_none() { Surroundings::new(&history, &levels) } else { None };
            let run = Run {
                inputs: vec![path.display().to_string()],
                defects: Vec::new(),
                seconds: started.elapsed().as_secs_f64(),
                peak_bytes: memory::peak(),
            };
            let promise = promise.as_ref().map(Promised::report).map(|mut it| {
                let found = levels.iter().find(|level| level.level == it.level);
                it.verdict = found.map_or(it.verdict, |found| (&found.judgement).into());
                Box::new(it)
            });
            let mut report = CheckReport {
                history: Some(Counts::of(&history)),
                promise,
                levels,
                whole,
                surroundings: surroundings.map(Box::new),
                ..CheckReport::of_unreadable(run)
            };
            said::attach(&mut report, path);
            let report = Report::from(report);
            for (path, rendering) in &self.reports {
                output::write_file(path, rendering.render(&report).as_bytes())?;
            }
        }
        Ok(judged)
    }

    /// Which files were written.
    pub(crate) fn report_words(&self) -> String {
        let line = |it: &(PathBuf, Rendering)| format!("The report is in {}.\n", it.0.display());
        self.reports.iter().map(line).collect::<Vec<String>>().concat()
    }
}

fn history_of(reading: Reading, path: &Path) -> anyhow::Result<iso_history::History> {
    reading.into_history().map_err(|defects| {
        let first = defects.first().map(ToString::to_string).unwrap_or_default();
        anyhow!("{}: {first}", path.display())
    })
}

/// The level of a name.
fn level(name: &str) -> anyhow::Result<Level> {
    let name = name.trim();
    Level::from_name(name).ok_or_else(|| anyhow!("there is no level `{name}` to check; `isoscope levels` lists them"))
}

fn judged(level: Level, reports: &[LevelReport]) -> Option<Judged> {
    let report = reports.iter().find(|it| it.level.short == level.short_name())?;
    let (anomalies, why) = match &report.judgement {
        Judgement::Violated { anomalies, .. } => (anomalies.clone(), None),
        Judgement::Unknown { reason } => (Vec::new(), Some(reason.clone())),
        Judgement::Holds { .. } => (Vec::new(), None),
    };
    Some(Judged { level, verdict: report.judgement.word(), anomalies, why })
}

impl Judged {
    pub(crate) fn is_violated(&self) -> bool {
        self.verdict == "violated"
    }

    pub(crate) fn is_unknown(&self) -> bool {
        self.verdict == "unknown"
    }

    pub(crate) fn json(&self) -> Value {
        let mut json =
            json!({ "level": self.level.short_name(), "verdict": self.verdict, "anomalies": self.anomalies });
        if let Some(why) = &self.why {
            json["reason"] = why.as_str().into();
        }
        json
    }
}

/// A row for each level.
pub(crate) fn rows(judged: &[Judged]) -> String {
    let columns = |name: fn(Level) -> &'static str| judged.iter().map(|it| name(it.level).len()).max().unwrap_or(0);
    let (short, full) = (columns(Level::short_name), columns(Level::full_name));
    let mut text = if judged.is_empty() { String::new() } else { "\n".to_owned() };
    for Judged { level, verdict, anomalies, why } in judged {
        let more = if anomalies.is_empty() { why.clone().unwrap_or_default() } else { anomalies.join(", ") };
        let row = format!("{:<short$}  {:<full$}  {verdict:<8}  {more}", level.short_name(), level.full_name());
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text
}

/// Where answers about the whole run go.
struct Heard<'p> {
    progress: &'p Progress,
    unseen: Unseen,
    levels: RefCell<Vec<LevelReport>>,
}

impl Audience for Heard<'_> {
    fn asking(&self, what: &str) {
        self.progress.stage(what);
        self.progress.paint();
    }

    fn decided(&self, mut report: LevelReport) {
        self.unseen.mark(&mut report);
        self.levels.borrow_mut().push(report);
    }
}

/// What a file has at some time of a run.
#[derive(Clone, Debug)]
pub(crate) enum SoFar {
    /// Whoever was read from stands in it: transactions of a served database are written down before others go on.
    Whole,
    /// Somebody may have committed and not be written down yet, or work past the proxy; but there are moments.
    At(Moments),
}

impl SoFar {
    /// It is not looked at again earlier than that.
    fn pause(&self) -> Duration {
        match self {
            Self::Whole => Duration::ZERO,
            Self::At(_) => Duration::from_secs(1),
        }
    }
}

/// A thread that judges a growing file, again and again.
///
/// A level that forbids what is there at some time forbids the whole run. After it has
/// judged, the thread waits several times as long as that took, so that it takes a small part of the time of the run however
/// long that is.
pub(crate) struct Watch {
    shared: Arc<Watched>,
    stops: bool,
    thread: Option<thread::JoinHandle<()>>,
    n_told: usize,
}

#[derive(Default)]
struct Watched {
    /// So many transactions are recorded.
    n_recorded: AtomicU64,
    /// So many were judged.
    n_judged: AtomicU64,
    is_over: AtomicBool,
    violations: Mutex<Vec<Violation>>,
}

/// A level that forbids the run so far.
#[derive(Clone)]
struct Violation {
    level: Level,
    anomalies: Vec<String>,
    n_txns: u64,
}

/// The thread looks so often whether there is something to do.
const TICK: Duration = Duration::from_millis(50);
/// It waits so many times as long as it took to judge.
const PAUSE: u32 = 5;
/// Applications wait no longer than that for a moment without transactions, and not more often than each second.
const PATIENCE: Duration = Duration::from_millis(100);

impl Watch {
    fn new(path: PathBuf, levels: Vec<Level>, stops: bool, so_far: SoFar) -> Self {
        let shared = Arc::new(Watched::default());
        let watched = Arc::clone(&shared);
        let thread =
            thread::Builder::new().name("watch".to_owned()).spawn(move || watched.run(&path, levels, &so_far)).ok();
        Self { shared, stops, thread, n_told: 0 }
    }

    /// So many transactions are recorded. Gives the state in words, and what is new.
    pub(crate) fn look(&mut self, n_recorded: u64) -> (String, Vec<String>) {
        self.shared.n_recorded.store(n_recorded, Ordering::Relaxed);
        let violations = lock(&self.shared.violations).clone();
        let news = violations[self.n_told..].iter().map(|it| {
            let Violation { level, anomalies, n_txns } = it;
            format!("{level} is violated within the first {n_txns} transactions: {}", anomalies.join(", "))
        });
        let news = news.collect();
        self.n_told = violations.len();
        let n_judged = self.shared.n_judged.load(Ordering::Relaxed);
        let words = if violations.is_empty() {
            if n_judged == 0 { String::new() } else { format!("; no violation in the first {n_judged}") }
        } else {
            let each = violations.iter().map(|it| format!("{}: {}", it.level.short_name(), it.anomalies.join(", ")));
            format!("; {}", each.collect::<Vec<String>>().join("; "))
        };
        (words, news)
    }

    /// Is the run to end now?
    pub(crate) fn is_enough(&self) -> bool {
        self.stops && !lock(&self.shared.violations).is_empty()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        self.thread.take().map(thread::JoinHandle::join);
    }
}

impl Watched {
    fn run(&self, path: &Path, mut levels: Vec<Level>, so_far: &SoFar) {
        let (mut free_at, mut n_judged) = (Instant::now(), 0);
        while !self.is_over.load(Ordering::Relaxed) && !levels.is_empty() {
            let n_recorded = self.n_recorded.load(Ordering::Relaxed);
            if n_recorded == n_judged || Instant::now() < free_at {
                thread::sleep(TICK);
                continue;
            }
            let began = Instant::now();
            self.judge(path, &mut levels, n_recorded, so_far);
            n_judged = n_recorded;
            free_at = Instant::now() + (began.elapsed() * PAUSE).max(so_far.pause());
        }
    }

    /// Judges what is there; levels that are violated are not asked again.
    fn judge(&self, path: &Path, levels: &mut Vec<Level>, n_txns: u64, so_far: &SoFar) {
        // The end of the run says what is wrong with a file, if something is.
        let Some(history) = read_so_far(path, so_far) else { return };
        let stop = || self.is_over.load(Ordering::Relaxed).then_some(StopReason::Interrupted);
        let budget = Budget::new(&stop);
        levels.retain(|level| {
            if let Answer::Forbidden(found) = decide(&history, *level, &budget) {
                let anomalies = found.anomalies.iter().map(ToString::to_string).collect();
                lock(&self.violations).push(Violation { level: *level, anomalies, n_txns });
                return false;
            }
            true
        });
        if !self.is_over.load(Ordering::Relaxed) {
            self.n_judged.store(n_txns, Ordering::Relaxed);
        }
    }
}

/// The history that a file has by now; none if it cannot be read.
fn read_so_far(path: &Path, so_far: &SoFar) -> Option<iso_history::History> {
    let moment = match so_far {
        SoFar::Whole => None,
        SoFar::At(moments) => match moments.take(PATIENCE) {
            // What is missing allows more, and never less.
            None => return read_path(path, &ReadOptions::default()).ok()?.into_history().ok(),
            moment => moment,
        },
    };
    let mut bytes = std::fs::read(path).ok()?;
    let end = match &moment {
        Some(moment) => usize::try_from(moment.n_bytes).ok()?,
        None => bytes.iter().rposition(|it| *it == b'\n')? + 1,
    };
    bytes.truncate(end);
    bytes.extend(moment.into_iter().flat_map(|it| it.more));
    bytes.extend_from_slice(iso_formats::RECORDING_END);
    read_from("the run", bytes.as_slice(), &ReadOptions::default()).ok()?.into_history().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(level: Level, verdict: &'static str, anomalies: &[&str]) -> Judged {
        Judged { level, verdict, anomalies: anomalies.iter().map(|it| (*it).to_owned()).collect(), why: None }
    }

    #[test]
    fn rows_are_aligned_whatever_levels_are_called() {
        let all = [judged(Level::StatementSnapshots, "holds", &[]), judged(Level::Serializable, "violated", &["g2"])];
        assert_eq!(
            rows(&all),
            "\npostgres.rc  postgres-read-committed  holds\nser          serializable             violated  g2\n"
        );
    }

    #[test]
    fn a_growing_file_is_judged_while_it_grows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("h.jsonl");
        let begin = "{\"isoscope\":1,\"initial\":0,\"recording\":\"any\"}\n{\"s\":\"a\",\"ops\":[[\"r\",\"x\",0],[\"w\",\"x\",1]]}\n";
        std::fs::write(&path, begin).unwrap();
        let mut watch =
            Watch::new(path.clone(), vec![Level::Serializable, Level::CausalConsistency], true, SoFar::Whole);
        let wait = |watch: &mut Watch, n: u64, words: &str| {
            let until = Instant::now() + Duration::from_secs(20);
            while !watch.look(n).0.contains(words) {
                assert!(Instant::now() < until, "{}", watch.look(n).0);
                thread::sleep(TICK);
            }
        };
        wait(&mut watch, 1, "no violation in the first 1");
        assert!(!watch.is_enough());
        let more = format!("{begin}{{\"s\":\"b\",\"ops\":[[\"r\",\"x\",0],[\"w\",\"x\",2]]}}\n");
        std::fs::write(&path, more).unwrap();
        wait(&mut watch, 2, "ser: lost-update");
        assert!(watch.is_enough());
    }
}

//! A recording that is checked by a thread of its own while other threads write it.

use crate::commands::check_stream::{finish, tell};
use crate::exit::Exit;
use crate::limits::Alarm;
use crate::output;
use crate::progress::Progress;
use crate::results::Results;
use crate::streaming::{self, DEFAULT_WINDOW, Flow, StreamPlan, Streamed, Told};
use crate::voice::Voice;
use anyhow::{anyhow, bail};
use iso_answer::stream::Standing;
use iso_collect::{Control, Hear};
use iso_evidence::StopReason;
use iso_report::{LevelName, OverTime};
use iso_spec::Level;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// So long the check may go on after the recording has ended.
const PATIENCE: Duration = Duration::from_secs(60);
const NAP: Duration = Duration::from_millis(10);

/// The check of a recording that grows.
pub(crate) struct Checked {
    path: PathBuf,
    levels: Vec<Level>,
    /// The writer: it waits where the check cannot follow.
    control: Arc<Control>,
    /// A violation stops it.
    stops_on_violation: bool,
    started: Instant,
    progress: Arc<Progress>,
    /// What it writes, until somebody reads that.
    told: Option<Told>,
    /// It has taken too long.
    alarm: Arc<Alarm>,
    thread: Option<JoinHandle<anyhow::Result<Streamed>>>,
}

impl Checked {
    /// And what is to hear of the recording; when it is gone, the recording is over.
    pub(crate) fn new(path: PathBuf, levels: Vec<Level>, control: Arc<Control>, started: Instant) -> (Self, Hear) {
        let progress = Arc::new(Progress::new(false, started));
        let (stops_on_violation, alarm) = (false, Arc::<Alarm>::default());
        let (hear, told) = Told::new(Arc::clone(&alarm));
        let (told, thread) = (Some(told), None);
        (Self { path, levels, control, stops_on_violation, started, progress, told, alarm, thread }, hear)
    }

    /// The same, and a violation ends the recording, if that is wanted.
    pub(crate) fn stopping(self, stops_on_violation: bool) -> Self {
        Self { stops_on_violation, ..self }
    }

    /// The file is being written now.
    pub(crate) fn begin(&mut self) {
        let Some(told) = self.told.take() else { return };
        let plan = StreamPlan {
            levels: Some(self.levels.clone()),
            window: DEFAULT_WINDOW,
            stops_on_violation: self.stops_on_violation,
            certificate: None,
            resumes: false,
            initial: None,
        };
        let (path, progress) = (self.path.clone(), Arc::clone(&self.progress));
        let (control, stops) = (Arc::clone(&self.control), self.stops_on_violation);
        let alarm = Arc::clone(&self.alarm);
        let work = move || {
            let _pace = told.pace(Arc::clone(&control));
            let mut violated = |level: Level, _: &Standing, at: u64| {
                output::complain(&format!("{}: {level} is violated, seen at line {at}", path.display()));
                if stops {
                    control.stop();
                }
            };
            let name = path.display().to_string();
            streaming::run(&name, Flow::Told(told), &plan, (&alarm, &progress), &mut violated)
        };
        self.thread = thread::Builder::new().name("check".to_owned()).spawn(work).ok();
    }

    /// How far it is, in a few words.
    pub(crate) fn status(&self) -> String {
        self.progress.last_stage()
    }

    /// The recording has ended: waits for the rest of the check, but not for ever.
    pub(crate) fn wait(mut self) -> anyhow::Result<Finished> {
        self.begin();
        let Some(thread) = self.thread.take() else { bail!("the check has no thread to run on") };
        let ended = Instant::now();
        while !thread.is_finished() {
            if ended.elapsed() > PATIENCE {
                self.alarm.ring(&StopReason::Timeout);
            }
            thread::sleep(NAP);
        }
        let streamed = thread.join().map_err(|_| anyhow!("the thread that checks has failed"))??;
        Ok(Finished { path: self.path, levels: self.levels, started: self.started, streamed })
    }
}

/// A check that is over.
pub(crate) struct Finished {
    path: PathBuf,
    levels: Vec<Level>,
    started: Instant,
    streamed: Streamed,
}

impl Finished {
    /// How it went.
    pub(crate) fn over_time(&self) -> Option<&OverTime> {
        self.streamed.over_time.as_ref()
    }

    /// Shows what came of it.
    pub(crate) fn show(self, is_json: bool) -> anyhow::Result<Exit> {
        let name = self.path.display().to_string();
        if let Some(refusal) = &self.streamed.refusal {
            bail!("{name}: {refusal}; isoscope check {name} checks it in memory");
        }
        let names: Vec<LevelName> = self.levels.iter().map(|it| (*it).into()).collect();
        let progress = Arc::new(Progress::new(false, self.started));
        let results = Results::new(Voice::new(is_json), &[name], &names, progress, self.started);
        if !is_json {
            output::print("\n")?;
        }
        tell(&results, &self.streamed, &[]);
        finish(&results, &[])
    }
}

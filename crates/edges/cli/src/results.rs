//! What was found out so far about one input, shared by the work and the thread that watches the limits.
//!
//! Both end a run the same way: levels that were decided and certified are shown, all others are unknown. People see the
//! first rows of the table as soon as they are known: the last ones may take long.

use crate::exit::Exit;
use crate::output;
use crate::progress::Progress;
use crate::source::plain;
use crate::voice::Voice;
use crate::{lock, memory};
use iso_evidence::StopReason;
use iso_history::{Defect, History};
use iso_report::{
    CheckReport, Counts, DurabilityReport, Excerpt, Judgement, LevelName, LevelReport, OverTime, PromiseReport,
    PromiseVerdict, Report, Run, Surroundings,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Schedules of runs that were stopped are so long at most.
const LONGEST: usize = 1000;

/// The answers of a run.
#[derive(Debug)]
pub(crate) struct Results {
    voice: Voice,
    progress: Arc<Progress>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    page: Page,
    /// Inputs whose turn has not come, and the levels that will be asked of them.
    waiting: VecDeque<String>,
    usual_levels: Vec<LevelName>,
    exit: Exit,
    /// Answers that are printed as one document in the end.
    kept: Vec<Report>,
    /// Nothing is left to print.
    is_published: bool,
}

/// What is known about one input.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    input: String,
    started: Instant,
    defects: Vec<Defect>,
    counts: Option<Counts>,
    /// The history, if it is small.
    whole: Option<Box<Excerpt>>,
    /// What stands around the evidence, if that is asked for.
    surroundings: Option<Box<Surroundings>>,
    /// What was promised.
    promise: Option<Box<PromiseReport>>,
    over_time: Option<Box<OverTime>>,
    durability: Option<Box<DurabilityReport>>,
    levels: Vec<Entry>,
    notes: Vec<String>,
    is_unreadable: bool,
    /// What is printed already: the words of the report begin with it.
    printed: String,
}

#[derive(Clone, Debug)]
struct Entry {
    name: LevelName,
    report: Option<LevelReport>,
}

impl Page {
    fn new(input: String, levels: &[LevelName], started: Instant) -> Self {
        let levels = levels.iter().map(|it| Entry { name: it.clone(), report: None }).collect();
        Self {
            input,
            started,
            defects: Vec::new(),
            counts: None,
            whole: None,
            surroundings: None,
            promise: None,
            over_time: None,
            durability: None,
            levels,
            notes: Vec::new(),
            is_unreadable: false,
            printed: String::new(),
        }
    }

    /// What is not printed yet of these words.
    fn rest_of<'w>(&self, words: &'w str) -> &'w str {
        words.strip_prefix(self.printed.as_str()).unwrap_or(words)
    }

    /// The words that stay as they are while further levels are decided.
    fn words_so_far(&self, voice: Voice) -> String {
        let decided: Vec<LevelName> =
            self.levels.iter().filter(|it| it.report.is_some()).map(|it| it.name.clone()).collect();
        let is_last = decided.len() == self.levels.len();
        if is_last || !voice.is_for_people() {
            return String::new();
        }
        voice.words_so_far(&self.without_witnesses().report(""), |it| decided.contains(&it.level))
    }

    /// The same, without copies of long witnesses that rows of a table do not show.
    fn without_witnesses(&self) -> Self {
        let promised = self.promise.as_ref().map(|it| &it.level);
        let short = |entry: &Entry| match &entry.report {
            Some(LevelReport { level, judgement: Judgement::Holds { evidence }, certified })
                if promised != Some(&entry.name) =>
            {
                let judgement = Judgement::Holds { evidence: evidence.beginning(0) };
                let report = LevelReport { level: level.clone(), judgement, certified: certified.clone() };
                Entry { name: entry.name.clone(), report: Some(report) }
            }
            _ => entry.clone(),
        };
        let (defects, promise) = (self.defects.clone(), self.promise.clone());
        let levels = self.levels.iter().map(short).collect();
        Self { defects, promise, levels, ..Self::new(String::new(), &[], self.started) }
    }

    /// Long witnesses take time; without them the report is ready at once.
    fn shorten(&mut self) {
        for report in self.levels.iter_mut().filter_map(|it| it.report.as_mut()) {
            if let Judgement::Holds { evidence } = &mut report.judgement {
                *evidence = evidence.beginning(LONGEST);
            }
        }
    }

    /// The document, in which everything that is not decided is unknown for that reason.
    fn report(self, reason: &str) -> Report {
        let run = Run {
            inputs: vec![self.input],
            defects: self.defects,
            seconds: self.started.elapsed().as_secs_f64(),
            peak_bytes: memory::peak(),
        };
        let unknown = |level: LevelName| LevelReport {
            level,
            judgement: Judgement::Unknown { reason: reason.to_owned() },
            certified: None,
        };
        let levels = self.levels.into_iter().map(|it| it.report.unwrap_or_else(|| unknown(it.name)));
        let levels: Vec<LevelReport> = levels.collect();
        let promise = self.promise.map(|mut it| {
            let found = levels.iter().find(|level| level.level == it.level);
            it.verdict = found.map_or(PromiseVerdict::Unknown, |found| (&found.judgement).into());
            it
        });
        let is_allowed = levels.iter().any(|it| matches!(it.judgement, Judgement::Holds { .. }));
        let whole = self.whole.filter(|_| is_allowed);
        let surroundings = self.surroundings.filter(|_| whole.is_none());
        let (history, durability) = (self.counts, self.durability);
        let over_time = self.over_time;
        CheckReport {
            history,
            promise,
            durability,
            levels,
            whole,
            surroundings,
            over_time,
            ..CheckReport::of_unreadable(run)
        }
        .into()
    }
}

impl Results {
    /// No results yet, for these inputs.
    pub(crate) fn new(
        voice: Voice,
        inputs: &[String],
        levels: &[LevelName],
        progress: Arc<Progress>,
        started: Instant,
    ) -> Self {
        let mut waiting: VecDeque<String> = inputs.iter().cloned().collect();
        let page = Page::new(waiting.pop_front().unwrap_or_default(), levels, started);
        let state = State {
            page,
            waiting,
            usual_levels: levels.to_vec(),
            exit: Exit::Good,
            kept: Vec::new(),
            is_published: false,
        };
        Self { voice, progress, state: Mutex::new(state) }
    }

    /// The input was read, and these levels are asked of it.
    pub(crate) fn asked(&self, history: &History, levels: &[LevelName], promise: Option<PromiseReport>) {
        let page = &mut lock(&self.state).page;
        page.counts = Some(Counts::of(history));
        page.whole = CheckReport::whole(history);
        page.levels = levels.iter().map(|it| Entry { name: it.clone(), report: None }).collect();
        page.promise = promise.map(Box::new);
    }

    /// Whether acknowledged writes are there at the end, if the input says who read then.
    pub(crate) fn durability(&self, durability: Option<DurabilityReport>) {
        lock(&self.state).page.durability = durability.map(Box::new);
    }

    /// The input was streamed, and these levels were asked of it.
    pub(crate) fn streamed(&self, counts: Counts, levels: &[LevelName], promise: Option<PromiseReport>) {
        let page = &mut lock(&self.state).page;
        page.counts = Some(counts);
        page.levels = levels.iter().map(|it| Entry { name: it.clone(), report: None }).collect();
        page.promise = promise.map(Box::new);
    }

    /// How the check of a stream went.
    pub(crate) fn went(&self, over_time: OverTime) {
        lock(&self.state).page.over_time = Some(Box::new(over_time));
    }

    /// The input has these defects.
    pub(crate) fn defects(&self, defects: Vec<Defect>) {
        lock(&self.state).page.defects.extend(defects);
    }

    /// The input could not be read, so nothing is asked of it.
    pub(crate) fn unreadable(&self, defects: Vec<Defect>) {
        let page = &mut lock(&self.state).page;
        page.defects.extend(defects);
        page.levels.clear();
        page.is_unreadable = true;
    }

    /// A line for people below the report.
    pub(crate) fn note(&self, note: String) {
        lock(&self.state).page.notes.push(note);
    }

    /// A level was decided: what it adds to the beginning of the words is printed.
    pub(crate) fn decided(&self, report: LevelReport) {
        let state = &mut *lock(&self.state);
        let page = &mut state.page;
        if let Some(entry) = page.levels.iter_mut().find(|it| it.name == report.level) {
            entry.report = Some(report);
        }
        let words = page.words_so_far(self.voice);
        if let Some(new) = words.strip_prefix(page.printed.as_str()).filter(|it| !it.is_empty()) {
            self.progress.clear();
            // Whoever does not listen any more is told so in the end.
            output::print(new).ok();
            page.printed = words;
        }
    }

    /// Is a level violated?
    pub(crate) fn has_violations(&self) -> bool {
        lock(&self.state).page.levels.iter().filter_map(|it| it.report.as_ref()).any(is_violated)
    }

    /// All levels were decided: looks at what stands around what they forbid.
    pub(crate) fn look_around(&self, history: &History) {
        let violated: Vec<LevelReport> = {
            let page = &lock(&self.state).page;
            page.levels.iter().filter_map(|it| it.report.as_ref()).filter(|it| is_violated(it)).cloned().collect()
        };
        let surroundings = Surroundings::new(history, &violated);
        lock(&self.state).page.surroundings = surroundings.map(Box::new);
    }

    /// The document so far.
    pub(crate) fn report(&self, reason: &str) -> Report {
        let page = lock(&self.state).page.clone();
        page.report(reason)
    }

    /// Writes the files of this input's report, prints it, and turns to the next input. Nothing can stop this half-way.
    pub(crate) fn publish(&self, report: &Report, write: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
        let state = &mut *lock(&self.state);
        self.progress.clear();
        let written = write();
        // People have read the messages on standard error by then.
        if !(state.page.is_unreadable && self.voice.is_for_people()) {
            output::print(&self.words(state, report))?;
        }
        state.exit = state.exit.and(Exit::of(report));
        self.turn(state);
        written
    }

    /// What is to be printed of an answer now. Forms that have one document for all are printed with the last one.
    fn words(&self, state: &mut State, report: &Report) -> String {
        if self.voice.is_one_document() {
            state.kept.push(report.clone());
            let is_last = state.waiting.is_empty();
            return if is_last { self.voice.words_of_all(&state.kept) } else { String::new() };
        }
        let words = self.voice.words(report);
        state.page.rest_of(&words).to_owned() + &self.notes(&state.page)
    }

    fn notes(&self, page: &Page) -> String {
        if !self.voice.is_for_people() {
            return String::new();
        }
        page.notes.iter().flat_map(|it| [it.as_str(), "\n"]).collect()
    }

    fn turn(&self, state: &mut State) {
        let Some(input) = state.waiting.pop_front() else {
            state.is_published = true;
            return;
        };
        state.page = Page::new(input, &state.usual_levels, Instant::now());
        if self.voice.is_for_people() {
            // Between two reports for people there is an empty line.
            output::print("\n").ok();
        }
    }

    /// The exit code of all inputs so far.
    pub(crate) fn exit(&self) -> Exit {
        lock(&self.state).exit
    }

    /// Ends the process with what is known: to be called by who watches the limits, if the work does not stop by itself.
    pub(crate) fn end_now(&self, reason: &StopReason) -> ! {
        // The lock is never given back, so that nobody else says anything.
        let state = &mut *lock(&self.state);
        self.progress.clear();
        while !state.is_published {
            state.page.shorten();
            let report = state.page.clone().report(&reason.to_string());
            state.exit = state.exit.and(Exit::Unknown);
            let words = self.words(state, &report);
            output::print(&words).ok();
            state.exit = state.exit.and(Exit::of(&report));
            output::complain(&format!("{}: {}", plain(&state.page.input), stopped(reason)));
            self.turn(state);
        }
        crate::end(state.exit)
    }
}

fn is_violated(report: &LevelReport) -> bool {
    matches!(report.judgement, Judgement::Violated { .. })
}

/// What a person can do about a limit.
pub(crate) fn stopped(reason: &StopReason) -> String {
    match reason {
        StopReason::Timeout => "the time limit was reached; give it more with --timeout".to_owned(),
        StopReason::Memory => "the memory limit was reached; give it more with --memory".to_owned(),
        StopReason::Interrupted => "interrupted; what was not decided by then is unknown".to_owned(),
        other => other.to_string(),
    }
}

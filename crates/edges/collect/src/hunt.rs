//! Hunts for what a database should not do: probes and short random runs, each judged at the level that is expected, and
//! the smallest script that shows again what was found.
//!
//! Probes come first: known anomalies as scripts, each in several orders. Then workloads are run whose parameters are
//! drawn by the seed. What the expected level forbids is shrunk in two stages: the refutation names the transactions and
//! operations that matter, and scripts of these are played on the database until one is forbidden again; that one is
//! made as small as it can be.

mod draw;
mod found;
mod interleave;
mod laboratory;
mod last;
mod loss;
mod probes;
mod scenario;
mod shrink;
mod together;
mod trial;

pub use draw::Round;
pub use found::{Finding, HuntProgress, HuntTally, Hunted, Origin};
pub use laboratory::Reproduction;
pub use last::Last;
pub use loss::Loss;
pub use probes::{PROBES, Probe};
pub use trial::{Judged, Trial};

use crate::database::check_workload;
use crate::script::{Interrupted, Script};
use crate::{
    CollectError, Control, Database, Failure, FaultEvent, FaultPlan, Parameters, Recorded, Table, Values,
    collect_recorded, workload,
};
use interleave::interleavings;
use iso_answer::check::Answer;
use iso_answer::{Certified, WrongEvidence};
use iso_evidence::{Anomaly, Refutation, StopReason};
use iso_history::History;
use iso_spec::Level;
use laboratory::Laboratory;
use scenario::scenarios;
use std::cell::RefCell;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;
use together::{races, together};

/// In how many orders a probe is played.
const ORDERS: usize = 30;
/// How often a probe is played whose commits are sent together.
const RACES: usize = 5;
/// And where transactions are sent in one piece, which makes a race short.
const RACES_IN_ONE_PIECE: usize = 100;
/// The number of the order in which commits are sent together.
const RACE: usize = 0;
/// Probes may take this part of the time, where workloads are to run, too.
const PART_FOR_PROBES: u32 = 3;
/// How long a database may be out of reach between two scripts, and how often somebody looks.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(200);
/// More sessions no probe has.
const SESSIONS_OF_PROBES: usize = 4;

/// What is hunted.
#[derive(Clone, Debug)]
pub struct Hunt {
    /// The isolation level of the sessions, as the database calls it.
    pub isolation: String,
    /// What that should be.
    pub expect: Level,
    /// For how long. What is found at the end is given two seconds more to become a script.
    pub duration: Duration,
    /// Decides what is run.
    pub seed: u64,
    /// Are probes played?
    pub probes: Probes,
    /// The names of the workloads to run, in turns.
    pub workloads: Vec<String>,
    /// When the hunt ends.
    pub until: Until,
    /// What is done to nodes while workloads run.
    pub faults: Option<FaultPlan>,
}

/// Whether probes are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probes {
    /// First of all.
    Yes,
    /// Not at all.
    No,
}

/// When a hunt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// With the first violation.
    FirstFound,
    /// When its time is over.
    TimeIsOver,
}

/// Why there is no hunt.
#[derive(Debug, Error)]
pub enum HuntError {
    /// There is no such workload.
    #[error("there is no workload `{name}`")]
    NoWorkload {
        /// What was asked for.
        name: String,
    },
    /// The database does not do what it must.
    #[error(transparent)]
    Database(#[from] Failure),
    /// A run does not work.
    #[error(transparent)]
    Run(#[from] CollectError),
}

impl Hunt {
    /// Every table that some script or run of the hunt makes.
    pub fn tables(&self) -> Vec<Table> {
        let probes = PROBES.iter().filter(|_| self.probes == Probes::Yes);
        let of_probes = probes.flat_map(|it| it.script(&self.isolation).tables);
        let workloads = self.workloads.iter().filter_map(|it| workload(it, &Parameters::default()));
        let mut tables: Vec<Table> = of_probes.chain(workloads.flat_map(|it| it.tables())).collect();
        tables.sort_by(|one, other| one.name.cmp(&other.name));
        tables.dedup_by(|one, other| one.name == other.name);
        tables
    }

    /// How many sessions the largest of its runs may have.
    pub fn most_sessions(&self) -> usize {
        if self.workloads.is_empty() { SESSIONS_OF_PROBES } else { draw::MAX_SESSIONS }
    }
}

/// Hunts, until something is found or the time is over. `watch` hears what is done; the control stops the hunt, which
/// then ends with what it has.
pub fn hunt(
    database: &Arc<dyn Database>,
    hunt: &Hunt,
    control: &Arc<Control>,
    watch: &mut dyn FnMut(&HuntProgress<'_>),
) -> Result<Hunted, HuntError> {
    for name in &hunt.workloads {
        let known =
            workload(name, &Parameters::default()).ok_or_else(|| HuntError::NoWorkload { name: name.clone() })?;
        check_workload(&**database, &*known)?;
    }
    database.inspect(&hunt.tables(), hunt.most_sessions())?;
    // What is wrong with the isolation level is said at once.
    drop(database.connect(&hunt.isolation)?);
    let refused = RefCell::default();
    let mut hunter = Hunter::new(database, hunt, control, &refused, watch);
    if let Err(error) = hunter.work() {
        // What was recorded is worth more than an error alone.
        if hunter.last.is_none() {
            return Err(error);
        }
        hunter.failure = Some(error.to_string());
    }
    let Hunter { tally, trials, started, findings, undecided, failure, last, loss, faults, .. } = hunter;
    Ok(Hunted {
        database: database.describe(),
        tally,
        trials,
        elapsed: started.elapsed(),
        findings,
        undecided,
        refused: refused.into_inner(),
        was_stopped: control.is_stopped(),
        last: last.filter(|_| failure.is_some()),
        failure,
        loss,
        faults,
    })
}

struct Hunter<'h> {
    database: &'h Arc<dyn Database>,
    hunt: &'h Hunt,
    control: &'h Arc<Control>,
    laboratory: Laboratory<'h>,
    watch: &'h mut dyn FnMut(&HuntProgress<'_>),
    started: Instant,
    tally: HuntTally,
    /// When what is done now began.
    since: Duration,
    trials: Vec<Trial>,
    findings: Vec<Finding>,
    /// What was recorded, and which of the findings that is.
    kinds: Vec<(Vec<Anomaly>, usize)>,
    undecided: Option<StopReason>,
    failure: Option<String>,
    last: Option<Last>,
    loss: Option<Loss>,
    faults: Vec<FaultEvent>,
}

impl<'h> Hunter<'h> {
    fn new(
        database: &'h Arc<dyn Database>,
        hunt: &'h Hunt,
        control: &'h Arc<Control>,
        refused: &'h RefCell<Vec<WrongEvidence>>,
        watch: &'h mut dyn FnMut(&HuntProgress<'_>),
    ) -> Self {
        let started = Instant::now();
        let deadline = started + hunt.duration;
        let laboratory = Laboratory { database: &**database, expect: hunt.expect, control, deadline, refused };
        Self {
            database,
            hunt,
            control,
            laboratory,
            watch,
            started,
            tally: HuntTally::default(),
            since: Duration::ZERO,
            trials: Vec::new(),
            findings: Vec::new(),
            kinds: Vec::new(),
            undecided: None,
            failure: None,
            last: None,
            loss: None,
            faults: Vec::new(),
        }
    }

    fn work(&mut self) -> Result<(), HuntError> {
        if self.hunt.probes == Probes::Yes {
            self.probe()?;
        }
        self.run_workloads()
    }

    /// Plays the probes: each as it stands, and then in other orders.
    fn probe(&mut self) -> Result<(), HuntError> {
        let part = if self.hunt.workloads.is_empty() { 1 } else { PART_FOR_PROBES };
        let until = self.started + self.hunt.duration / part;
        let mut failures: Vec<Failure> = Vec::new();
        // Where a transaction is sent in one piece, orders of steps are all the same.
        let is_whole = self.database.whole_transactions().is_some();
        for probe in PROBES.iter().filter(|_| !is_whole) {
            if self.is_over() || Instant::now() >= until {
                return Ok(());
            }
            self.say(&format!("probing for {}", probe.name));
            failures.extend(self.play(probe.name, 1, &probe.script(&self.hunt.isolation))?.err());
        }
        // What no probe can do has nothing to do with probes.
        if failures.len() == PROBES.len() {
            return Err(failures.remove(0).into());
        }
        self.race_probes(until)?;
        for probe in PROBES.iter().filter(|_| !is_whole) {
            let orders = interleavings(&probe.script(&self.hunt.isolation), ORDERS);
            for (idx, script) in orders.iter().enumerate().skip(1) {
                if self.is_over() || Instant::now() >= until {
                    return Ok(());
                }
                self.say(&format!("probing for {}, order {} of {}", probe.name, idx + 1, orders.len()));
                // Some databases cannot do some orders.
                self.play(probe.name, idx + 1, script)?.ok();
            }
        }
        Ok(())
    }

    /// Plays the probes with commits that are sent together, some times each. Where transactions are sent in one piece, that is all
    /// there is, and plain races come first.
    fn race_probes(&mut self, until: Instant) -> Result<(), HuntError> {
        let is_whole = self.database.whole_transactions().is_some();
        let plain: Vec<Script> = if is_whole { self.races() } else { Vec::new() };
        let of_probes = PROBES
            .iter()
            .flat_map(|it| together(&it.script(&self.hunt.isolation)).into_iter().map(|script| (it.name, script)));
        let scripts: Vec<(&'static str, Script)> = plain.into_iter().map(|it| ("race", it)).chain(of_probes).collect();
        for (name, script) in scripts {
            self.say(&format!("probing for {name}, commits together"));
            for _ in 0..if is_whole { RACES_IN_ONE_PIECE } else { RACES } {
                if self.is_over() || Instant::now() >= until {
                    return Ok(());
                }
                // What cannot be done alone cannot be done together.
                if self.play(name, RACE, &script)?.is_err() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Races that the database can run.
    fn races(&self) -> Vec<Script> {
        let has_lists = self.database.no_lists().is_none();
        let can_run = |it: &Script| has_lists || it.tables.iter().all(|it| it.values == Values::Int);
        races(&self.hunt.isolation).into_iter().filter(can_run).collect()
    }

    /// Plays a script; the failure of one that the database cannot do, and an error if it can do nothing any more.
    fn play(&mut self, name: &'static str, order: usize, script: &Script) -> Result<Result<(), Failure>, HuntError> {
        let origin = Origin::Probe { name, order };
        match script.play_as_far_as_it_goes(&**self.database) {
            Ok(played) => {
                self.look_at_script(origin, played.history, script);
                Ok(Ok(()))
            }
            Err(Interrupted { failure, history }) => match self.is_gone() {
                Some(gone) => {
                    if let Some(history) = history {
                        self.look_at_script(origin, *history, script);
                    }
                    Err(gone.into())
                }
                None => Ok(Err(failure)),
            },
        }
    }

    fn look_at_script(&mut self, origin: Origin, history: History, script: &Script) {
        self.tally.scripts += 1;
        self.tally.transactions += n_txns(&history);
        self.keep(&origin, &history, Vec::new());
        self.judge(origin, history, Some(script));
    }

    /// Why nobody can reach the database any more, if so.
    fn is_gone(&self) -> Option<Failure> {
        let until = Instant::now() + PATIENCE;
        loop {
            let gone = self.database.gone().or_else(|| self.database.connect(&self.hunt.isolation).err())?;
            let may_come_back = matches!(gone, Failure::Lost { .. }) && !self.control.is_stopped();
            if !may_come_back || Instant::now() >= until {
                return Some(gone);
            }
            thread::sleep(PAUSE);
        }
    }

    /// Keeps what was recorded last.
    fn keep(&mut self, origin: &Origin, history: &History, final_sessions: Vec<String>) {
        let recorded = Recorded { history: history.clone(), final_sessions };
        self.last = Some(Last { origin: origin.clone(), recorded });
    }

    /// Runs workloads in turns, as long as there is time.
    fn run_workloads(&mut self) -> Result<(), HuntError> {
        if self.hunt.workloads.is_empty() {
            return Ok(());
        }
        for nth in 0.. {
            if self.is_over() {
                break;
            }
            let name = &self.hunt.workloads[nth % self.hunt.workloads.len()];
            let round = Round::draw(name, self.hunt.seed, nth);
            let faults = self.hunt.faults.as_ref().map(|it| it.after(&self.faults));
            let plan = round.plan(&self.hunt.isolation, self.left(), faults.as_ref());
            let plan = plan.ok_or_else(|| HuntError::NoWorkload { name: name.clone() })?;
            self.say(&format!("run {}: {name}", nth + 1));
            let was_stopped = self.control.is_stopped();
            let began = self.started.elapsed();
            let (recorded, collected) = collect_recorded(self.database, &plan, self.control)?;
            let lost = recorded.lost_writes();
            let Recorded { history, final_sessions } = recorded;
            let faults = self.note_faults(began, collected.faults);
            self.tally.runs += 1;
            self.tally.transactions += n_txns(&history);
            let origin = Origin::Run(round.clone());
            self.keep(&origin, &history, final_sessions.clone());
            if !lost.is_empty() {
                self.lose(&round, &history, final_sessions, lost.len(), &faults);
            }
            let n_before = self.findings.len();
            self.judge(origin, history, None);
            for finding in self.findings.iter_mut().skip(n_before) {
                finding.faults.clone_from(&faults);
            }
            // A run that fails stops the control; what it recorded has been judged.
            if let Some(failure) = collected.failure.filter(|_| !was_stopped) {
                self.failure = Some(failure);
                break;
            }
        }
        Ok(())
    }

    /// Notes what was done to nodes in a run that began then.
    fn note_faults(&mut self, began: Duration, faults: Vec<FaultEvent>) -> Vec<FaultEvent> {
        let offset = i64::try_from(began.as_nanos()).unwrap_or(i64::MAX);
        self.faults.extend(faults.iter().cloned().map(|it| FaultEvent { at: it.at.saturating_add(offset), ..it }));
        faults
    }

    /// A run has lost acknowledged writes.
    fn lose(
        &mut self,
        round: &Round,
        history: &History,
        final_sessions: Vec<String>,
        n_lost: usize,
        faults: &[FaultEvent],
    ) {
        self.tally.violations += 1;
        match &mut self.loss {
            Some(loss) => loss.times += 1,
            None => {
                self.loss = Some(Loss {
                    round: round.clone(),
                    recorded: Recorded { history: history.clone(), final_sessions },
                    n_lost,
                    faults: faults.to_vec(),
                    times: 1,
                });
            }
        }
    }

    /// Judges a history; what is forbidden in it becomes a finding.
    fn judge(&mut self, origin: Origin, history: History, script: Option<&Script>) {
        let trial = Trial::between(self.since, self.started.elapsed(), &origin, &history);
        let answer = self.laboratory.judge(&history);
        let judged = self.booked(answer, origin, history, script);
        self.trials.push(Trial { judged, ..trial });
    }

    /// Counts an answer.
    fn booked(&mut self, answer: Answer, origin: Origin, history: History, script: Option<&Script>) -> Judged {
        match answer {
            Answer::Allowed(_) => Judged::Allowed,
            Answer::Forbidden(refutation) => {
                self.tally.violations += 1;
                let finding = match self.kinds.iter().find(|it| it.0 == refutation.anomalies) {
                    Some((_, idx)) => {
                        self.findings[*idx].times += 1;
                        *idx
                    }
                    None => self.find(origin, history, refutation, script),
                };
                Judged::Forbidden { finding }
            }
            Answer::Refused(_) => {
                self.tally.refused += 1;
                Judged::Refused
            }
            Answer::NotCertified { why, .. } => {
                self.undecided(StopReason::Unsupported(format!("probably violated, but {}", StopReason::from(why))))
            }
            Answer::Undecided(reason) => self.undecided(reason),
        }
    }

    fn undecided(&mut self, reason: StopReason) -> Judged {
        self.tally.undecided += 1;
        self.undecided.get_or_insert(reason);
        Judged::Undecided
    }

    /// Scripts that may show again what was found in a run: parts of it, and races that the database can run.
    fn scripts_of(&self, history: &History, refutation: &Refutation) -> Vec<Script> {
        let mut scripts = scenarios(history, refutation, &self.hunt.isolation);
        scripts.extend(self.races());
        scripts
    }

    /// Makes a finding of it, or adds it to one; returns its place.
    fn find(
        &mut self,
        origin: Origin,
        history: History,
        refutation: Certified<Refutation>,
        script: Option<&Script>,
    ) -> usize {
        self.say("making a script of what was found");
        let scripts = script.map_or_else(|| self.scripts_of(&history, &refutation), |it| vec![it.clone()]);
        let reproduction = self.laboratory.reproduce(&scripts);
        let kind = refutation.anomalies.clone();
        let finding = Finding { origin, history, refutation, reproduction, times: 1, faults: Vec::new() };
        // The script may show something else than what was recorded.
        let same = self.findings.iter().position(|it| it.anomalies() == finding.anomalies());
        let place = same.unwrap_or(self.findings.len());
        self.kinds.push((kind, place));
        match same {
            Some(idx) => self.findings[idx].times += 1,
            None => self.findings.push(finding),
        }
        place
    }

    fn left(&self) -> Duration {
        self.hunt.duration.saturating_sub(self.started.elapsed())
    }

    fn is_over(&self) -> bool {
        let has_found = !self.findings.is_empty() || self.loss.is_some();
        let is_enough = self.hunt.until == Until::FirstFound && has_found;
        is_enough || self.left().is_zero() || self.control.is_stopped()
    }

    fn say(&mut self, doing: &str) {
        let (tally, elapsed, left) = (self.tally, self.started.elapsed(), self.left());
        self.since = elapsed;
        (self.watch)(&HuntProgress { doing, tally, elapsed, left });
    }
}

fn n_txns(history: &History) -> u64 {
    history.txns().filter(|it| !it.is_initial()).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use iso_history::HistoryBuilder;

    #[test]
    fn wrong_evidence_is_a_bug_and_not_undecided() {
        let database: Arc<dyn Database> = Arc::from(crate::open("store:cc").unwrap());
        let hunt = Hunt {
            isolation: "cc".to_owned(),
            expect: Level::Serializable,
            duration: Duration::from_secs(1),
            seed: 1,
            probes: Probes::Yes,
            workloads: Vec::new(),
            until: Until::FirstFound,
            faults: None,
        };
        let (control, refused) = (Arc::new(Control::new()), RefCell::default());
        let mut silent = |_: &HuntProgress<'_>| {};
        let mut hunter = Hunter::new(&database, &hunt, &control, &refused, &mut silent);
        let wrong = WrongEvidence { level: "ser".to_owned(), why: "the cycle is none".to_owned() };
        let origin = Origin::Probe { name: "lost-update", order: 1 };
        let history = HistoryBuilder::new().finish().unwrap();
        let judged = hunter.booked(Answer::Refused(wrong), origin, history, None);
        assert_eq!(judged, Judged::Refused);
        assert_eq!((hunter.tally.refused, hunter.tally.undecided, hunter.undecided), (1, 0, None));
    }
}

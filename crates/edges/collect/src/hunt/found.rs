//! What comes of a hunt: how much was tried, and what was found.

use super::{Last, Loss, RACE, Reproduction, Round, Trial};
use crate::FaultEvent;
use iso_answer::{Certified, WrongEvidence};
use iso_evidence::{Refutation, StopReason};
use iso_history::History;
use std::fmt;
use std::time::Duration;

/// What came of it.
#[derive(Clone, Debug)]
pub struct Hunted {
    /// The database, without credentials.
    pub database: String,
    /// What was done.
    pub tally: HuntTally,
    /// What ran, in the order of time.
    pub trials: Vec<Trial>,
    /// How long it took.
    pub elapsed: Duration,
    /// What was found, one for each kind of anomaly.
    pub findings: Vec<Finding>,
    /// Why some histories were not decided; the first reason.
    pub undecided: Option<StopReason>,
    /// Answers whose evidence is wrong: bugs of ours, and to be told loudly.
    pub refused: Vec<WrongEvidence>,
    /// Was it stopped before its time?
    pub was_stopped: bool,
    /// Why it could not go on; what came before counts.
    pub failure: Option<String>,
    /// And what was recorded last then.
    pub last: Option<Last>,
    /// Acknowledged writes that are gone, if there are some.
    pub loss: Option<Loss>,
    /// What was done to nodes, since the start of the hunt.
    pub faults: Vec<FaultEvent>,
}

/// What was done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HuntTally {
    /// Scripts that were played, without those that make a finding smaller.
    pub scripts: usize,
    /// Runs of workloads.
    pub runs: usize,
    /// Transactions of all of them.
    pub transactions: u64,
    /// Histories that the expected level forbids.
    pub violations: usize,
    /// Histories that were not decided.
    pub undecided: usize,
    /// Histories for which there is an answer with wrong evidence.
    pub refused: usize,
}

/// What a hunt is doing.
#[derive(Clone, Debug)]
pub struct HuntProgress<'p> {
    /// In a few words.
    pub doing: &'p str,
    /// What was done so far.
    pub tally: HuntTally,
    /// Since the start.
    pub elapsed: Duration,
    /// Until the end.
    pub left: Duration,
}

/// Something that the expected level forbids.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Where it was seen.
    pub origin: Origin,
    /// What was recorded.
    pub history: History,
    /// Why that is forbidden.
    pub refutation: Certified<Refutation>,
    /// The smallest script that shows it again, if there is one.
    pub reproduction: Option<Reproduction>,
    /// How many histories show an anomaly of this name.
    pub times: usize,
    /// What was done to nodes in the run that shows it.
    pub faults: Vec<FaultEvent>,
}

impl Finding {
    /// The history that shows it best, and why that is forbidden: that of the script, or else what was recorded.
    pub fn shown(&self) -> (&History, &Refutation) {
        match &self.reproduction {
            Some(it) => (&it.played.history, &it.refutation),
            None => (&self.history, &self.refutation),
        }
    }

    /// What the field calls it.
    pub fn anomalies(&self) -> Vec<&'static str> {
        self.shown().1.anomalies.iter().map(|it| it.name()).collect()
    }
}

/// Where something was seen.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// In a script.
    Probe {
        /// Which one.
        name: &'static str,
        /// In which of its orders, from 1; 0 if commits were sent together.
        order: usize,
    },
    /// In a run of a workload.
    Run(Round),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Probe { name, order: 1 } => write!(f, "the probe {name}"),
            Self::Probe { name, order: RACE } => write!(f, "the probe {name}, with commits that are sent together"),
            Self::Probe { name, order } => write!(f, "the probe {name}, order {order}"),
            Self::Run(round) => write!(f, "{round}"),
        }
    }
}

//! The document of `hunt`: what was run on a database round by round, and what it should not have done.

use crate::document::{CheckReport, LevelName};
use crate::durability::FaultMark;
use crate::json::headed;
use serde::{Deserialize, Serialize};

/// A document has about as many rounds at most; neighbours of a long hunt are told together.
const MAX_ROUNDS: usize = 240;

/// What `hunt` found out about a database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HuntReport {
    /// The database, without credentials.
    pub database: String,
    /// The isolation level of the sessions, as the database calls it.
    pub isolation: String,
    /// What that should be.
    #[serde(flatten, with = "expected")]
    pub expect: LevelName,
    /// Why that, if nobody asked for it: what the database promises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect_because: Option<String>,
    /// Decided what was run.
    pub seed: u64,
    /// What was done.
    #[serde(flatten)]
    pub tally: HuntCounts,
    /// Why some histories were not decided; the first reason.
    pub reason: Option<String>,
    /// For how long it was to hunt.
    pub duration: f64,
    /// How long it took.
    pub seconds: f64,
    /// Was it stopped before its time?
    #[serde(rename = "stopped")]
    pub was_stopped: bool,
    /// Why it could not go on; what came before counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Where there are several nodes, those on which sessions are placed, in turns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// What was done to nodes, in the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultMark>,
    /// What ran, in the order of time.
    pub rounds: Vec<HuntRound>,
    /// What was found, one for each kind of anomaly.
    pub findings: Vec<HuntFinding>,
}

/// The expected level in JSON, whose names stand beside others.
pub(crate) mod expected {
    use crate::document::LevelName;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Members {
        expect: String,
        expect_name: String,
    }

    pub(crate) fn serialize<S: Serializer>(of: &LevelName, serializer: S) -> Result<S::Ok, S::Error> {
        Members { expect: of.short.clone(), expect_name: of.full.clone() }.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LevelName, D::Error> {
        Members::deserialize(deserializer).map(|it| LevelName { short: it.expect, full: it.expect_name })
    }
}

/// What a hunt did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HuntCounts {
    /// Scripts that were played, without those that make a finding smaller.
    pub scripts: u64,
    /// Runs of workloads.
    pub runs: u64,
    /// Transactions of all of them.
    pub transactions: u64,
    /// Histories that the expected level forbids.
    pub violations: u64,
    /// Histories that were not decided.
    pub undecided: u64,
}

/// One script or one run of a workload; of a long hunt, some of them together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HuntRound {
    /// `the probe lost-update`, or the workload with its parameters.
    pub what: String,
    /// The probe or the workload.
    pub name: String,
    /// How many are told together.
    pub rounds: u64,
    /// When it began, in seconds since the start.
    pub began: f64,
    /// How long it ran.
    pub seconds: f64,
    /// Transactions that committed.
    pub committed: u64,
    /// Transactions that aborted.
    pub aborted: u64,
    /// Transactions whose end nobody knows.
    pub unknown: u64,
    /// What the expected level says.
    pub verdict: RoundVerdict,
    /// The place of the finding that it shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<usize>,
}

/// What the expected level says about a round, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RoundVerdict {
    /// It allows it.
    Holds,
    /// Nobody knows.
    Unknown,
    /// It forbids it.
    Violated,
}

/// Something that the expected level forbids.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HuntFinding {
    /// What the field calls it.
    pub anomalies: Vec<String>,
    /// Where it was seen first.
    pub origin: String,
    /// How many histories show an anomaly of this name.
    pub times: u64,
    /// What was done to nodes in the run that shows it, since its start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultMark>,
    /// The history that shows it best, in our notation.
    pub history: String,
    /// The smallest script that shows it again, if there is one.
    pub script: Option<HuntScript>,
    /// What `check` says about that history.
    #[serde(serialize_with = "headed")]
    pub check: CheckReport,
}

/// A script that shows a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HuntScript {
    /// The steps in order, a line each; with what was answered if there is no SQL.
    pub steps: String,
    /// The same in SQL, by session, with what was answered; none for a database that speaks none.
    pub sql: Option<String>,
    /// How often it was played in the end.
    pub tries: u64,
    /// And how often it showed it.
    pub shown: u64,
}

impl HuntFinding {
    /// Is it about acknowledged writes that are gone, and not about a level?
    pub(crate) fn is_loss(&self) -> bool {
        self.check.durability.as_ref().is_some_and(|it| it.lost > 0) && self.check.levels.is_empty()
    }
}

impl HuntScript {
    /// What people read and copy.
    pub(crate) fn listing(&self) -> &str {
        self.sql.as_deref().unwrap_or(&self.steps)
    }
}

impl RoundVerdict {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Unknown => "unknown",
            Self::Violated => "violated",
        }
    }
}

impl HuntRound {
    /// All transactions.
    pub fn transactions(&self) -> u64 {
        self.committed + self.aborted + self.unknown
    }

    pub(crate) fn end(&self) -> f64 {
        self.began + self.seconds
    }

    /// Rounds, the first one first, as few as a document has. The first rounds of findings stay as they are.
    pub fn few(rounds: Vec<Self>) -> Vec<Self> {
        let size = rounds.len().div_ceil(MAX_ROUNDS);
        if size <= 1 {
            return rounds;
        }
        let mut seen: Vec<usize> = Vec::new();
        let mut few: Vec<Self> = Vec::new();
        let mut room = 0;
        for round in rounds {
            let is_first = round.finding.is_some_and(|it| !seen.contains(&it));
            if is_first {
                seen.extend(round.finding);
            }
            if let Some(last) = few.last_mut().filter(|_| room > 0 && !is_first) {
                last.join(&round);
                room -= 1;
            } else {
                few.push(round);
                room = if is_first { 0 } else { size - 1 };
            }
        }
        few
    }

    /// Joins a later round.
    fn join(&mut self, next: &Self) {
        if !self.name.split(", ").any(|it| it == next.name) {
            self.name = format!("{}, {}", self.name, next.name);
        }
        self.rounds += next.rounds;
        self.what = format!("{} rounds: {}", self.rounds, self.name);
        self.seconds = next.end() - self.began;
        self.committed += next.committed;
        self.aborted += next.aborted;
        self.unknown += next.unknown;
        self.verdict = self.verdict.max(next.verdict);
        self.finding = self.finding.or(next.finding);
    }
}

impl HuntReport {
    /// The word in JSON: `found`, `none` or `unknown`.
    pub fn verdict(&self) -> &'static str {
        match (&self.findings[..], self.tally.undecided) {
            ([], 0) if self.failure.is_none() => "none",
            ([], _) => "unknown",
            _ => "found",
        }
    }

    /// The round that showed a finding first.
    pub(crate) fn first_round(&self, finding: usize) -> Option<&HuntRound> {
        self.rounds.iter().find(|it| it.finding == Some(finding))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(nth: u32, finding: Option<usize>) -> HuntRound {
        HuntRound {
            what: format!("the workload {nth}"),
            name: ["rw", "rmw"][nth as usize % 2].to_owned(),
            rounds: 1,
            began: f64::from(nth),
            seconds: 0.5,
            committed: 10,
            aborted: 1,
            unknown: 0,
            verdict: if finding.is_some() { RoundVerdict::Violated } else { RoundVerdict::Holds },
            finding,
        }
    }

    #[test]
    fn a_long_hunt_has_few_rounds_and_loses_no_transaction() {
        let finding = |it: u32| if it > 1500 { Some(1) } else { (it == 700).then_some(0) };
        let few = HuntRound::few((0..2000).map(|it| round(it, finding(it))).collect());
        assert!(few.len() <= MAX_ROUNDS + 4, "{}", few.len());
        assert_eq!(few.iter().map(HuntRound::transactions).sum::<u64>(), 22_000);
        assert_eq!(few.iter().map(|it| it.rounds).sum::<u64>(), 2000);
        for (finding, what) in [(0, "the workload 700"), (1, "the workload 1501")] {
            let first = few.iter().find(|it| it.finding == Some(finding)).unwrap();
            assert_eq!((first.what.as_str(), first.rounds), (what, 1));
        }
        assert_eq!(few[0].what, "9 rounds: rw, rmw");
        assert!(few.windows(2).all(|it| it[0].end() <= it[1].began));
    }

    #[test]
    fn a_short_hunt_stays_as_it_is() {
        let rounds: Vec<HuntRound> = (0..240).map(|it| round(it, None)).collect();
        assert_eq!(HuntRound::few(rounds.clone()), rounds);
    }
}

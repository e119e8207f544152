//! What a run of a workload is like: drawn by the seed, small and contended.

use crate::{FaultPlan, FinalRead, Likeliness, Parameters, Plan, Random, Retries, workload};
use std::fmt;
use std::time::Duration;

/// A run takes no longer.
const LONGEST: Duration = Duration::from_secs(2);
/// And has about so many transactions, which are decided at once.
const TXNS: usize = 300;

/// How long a session waits after each transaction where there are faults.
const PAUSE_IN_FAULTS: Duration = Duration::from_millis(10);

/// More sessions no run has.
pub(super) const MAX_SESSIONS: usize = 10;

/// A run of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// The name of the workload.
    pub workload: String,
    /// What its transactions are like.
    pub parameters: Parameters,
    /// How many of them each session has.
    pub txns: usize,
    /// Decides what they do.
    pub seed: u64,
}

impl Round {
    /// The run of this number.
    pub(super) fn draw(workload: &str, seed: u64, nth: usize) -> Self {
        let mut random = Random::of(seed, nth, 0);
        let sessions = 2 + random.below(MAX_SESSIONS - 1);
        let min_ops = 1 + random.below(2);
        let parameters = Parameters {
            sessions,
            keys: 1 + random.below(20),
            min_ops,
            max_ops: min_ops + 1 + random.below(5),
            reads: [0.3, 0.5, 0.7][random.below(3)],
            keys_like: Likeliness::ALL[random.below(Likeliness::ALL.len())],
        };
        let parameters = match workload {
            // A transfer needs two accounts.
            "bank" => Parameters { keys: parameters.keys.max(2), ..parameters },
            _ => parameters,
        };
        // The numbers of a seed fit into every file.
        let seed = random.next() >> 32;
        Self { workload: workload.to_owned(), parameters, txns: (TXNS / sessions).max(1), seed }
    }

    /// What is run, for no longer than so long; none if there is no such workload.
    pub(super) fn plan(&self, isolation: &str, at_most: Duration, faults: Option<&FaultPlan>) -> Option<Plan> {
        // With faults, a run lasts until there were some, and is slow enough to be judged.
        let with_faults = faults.map(|it| {
            let duration = (it.every * it.faults.len() as u32 + it.every / 2).max(LONGEST);
            (duration, FaultPlan { seed: it.seed ^ self.seed, ..it.clone() })
        });
        let longest = with_faults.as_ref().map_or(LONGEST, |it| it.0);
        Some(Plan {
            workload: workload(&self.workload, &self.parameters)?,
            isolations: vec![isolation.to_owned(); self.parameters.sessions],
            txns: Some(self.txns).filter(|_| faults.is_none()),
            duration: Some(longest.min(at_most)),
            seed: self.seed,
            retries: Retries::None,
            final_read: FinalRead::Yes,
            pause: if faults.is_some() { PAUSE_IN_FAULTS } else { Duration::ZERO },
            faults: with_faults.map(|it| it.1),
            origin: format!("{{\"hunt\":\"{}\"}}", self.workload),
        })
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parameters { sessions, keys, min_ops, max_ops, reads, keys_like } = &self.parameters;
        write!(
            f,
            "the workload {} with {sessions} sessions, {keys} keys ({}), {min_ops} to {max_ops} operations, {:.0} % reads, \
             seed {}",
            self.workload,
            keys_like.name(),
            reads * 100.0,
            self.seed
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WORKLOADS;

    #[test]
    fn a_seed_decides_every_run_and_every_run_can_be_planned() {
        for nth in 0..200 {
            let name = WORKLOADS[nth % WORKLOADS.len()].0;
            let round = Round::draw(name, 7, nth);
            assert_eq!(round, Round::draw(name, 7, nth));
            assert_ne!(round.seed, Round::draw(name, 8, nth).seed);
            let Parameters { sessions, keys, .. } = round.parameters;
            assert!((2..=10).contains(&sessions) && (1..=20).contains(&keys));
            assert!(round.plan("serializable", Duration::from_secs(9), None).unwrap().duration.unwrap() <= LONGEST);
        }
    }
}

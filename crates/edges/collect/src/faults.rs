//! Faults: what is done to the nodes of a database while sessions run, and when.

use crate::{Failure, Random};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A node is killed, and started again.
    Kill,
    /// A node is stopped for a while (SIGSTOP), and goes on.
    Stop,
    /// The connections of a node are cut, to its clients or to the other nodes.
    Cut,
    /// All nodes are killed at once, and started again.
    KillAll,
    /// The nodes are restarted one after the other.
    Restart,
}

impl Fault {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Kill, Self::Stop, Self::Cut, Self::KillAll, Self::Restart];

    /// Its name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Stop => "stop",
            Self::Cut => "cut",
            Self::KillAll => "kill-all",
            Self::Restart => "restart",
        }
    }

    /// The fault that begins with an event of this name; none if it is made good by it.
    fn of_event(name: &str) -> Option<Self> {
        if name.starts_with("cut-") { Some(Self::Cut) } else { Self::from_name(name) }
    }

    /// The fault of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// Which faults there are, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultPlan {
    /// In turns.
    pub faults: Vec<Fault>,
    /// The time from the end of one to the next one.
    pub every: Duration,
    /// Decides which nodes.
    pub seed: u64,
}

impl FaultPlan {
    /// The same plan, which goes on after the last of these. Recovering may take longer than a run lasts, so that each run would
    /// begin and end with the same fault otherwise.
    pub(crate) fn after(&self, events: &[FaultEvent]) -> Self {
        let begun = events.iter().rev().find_map(|it| Fault::of_event(&it.fault));
        let place = begun.and_then(|last| self.faults.iter().position(|it| *it == last));
        let mut faults = self.faults.clone();
        faults.rotate_left(place.map_or(0, |it| (it + 1) % self.faults.len()));
        Self { faults, ..self.clone() }
    }
}

/// Something that was done to nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultEvent {
    /// What: `kill`, `revived`.
    pub fault: String,
    /// To which node; none for all of them.
    pub node: Option<String>,
    /// When, in nanoseconds since the run began.
    pub at: i64,
}

impl FaultEvent {
    /// The line of a recording.
    pub(crate) fn line(&self) -> Vec<u8> {
        let mut object = serde_json::Map::new();
        object.insert("fault".to_owned(), self.fault.as_str().into());
        if let Some(node) = &self.node {
            object.insert("node".to_owned(), node.as_str().into());
        }
        object.insert("at".to_owned(), self.at.into());
        format!("{}\n", serde_json::Value::Object(object)).into_bytes()
    }
}

/// Nodes that faults can be done to.
pub trait Faulty: Sync {
    /// How many nodes there are.
    fn n_nodes(&self) -> usize;

    /// Which faults are possible.
    fn possible(&self) -> Vec<Fault>;

    /// Does a fault to a node, lets some time pass, and makes it good again. `note` hears of each step: what, and to which
    /// node; none for all of them.
    fn inflict(
        &self,
        fault: Fault,
        node: usize,
        lasting: Duration,
        note: &mut dyn FnMut(&str, Option<usize>),
    ) -> Result<(), Failure>;
}

/// How long a fault lasts.
fn lasting(every: Duration) -> Duration {
    (every / 4).clamp(Duration::from_millis(200), Duration::from_secs(3))
}

/// What a run notes of faults: in the order of time.
pub(crate) type FaultLog = Arc<Mutex<Vec<FaultEvent>>>;

/// Does faults until the run is over. Each is made good before this returns.
pub(crate) fn afflict(
    target: &dyn Faulty,
    names: &[String],
    plan: &FaultPlan,
    started: Instant,
    note: &dyn Fn(FaultEvent),
    is_over: &dyn Fn() -> bool,
) -> Result<(), Failure> {
    let mut random = Random::of(plan.seed, 0, 0);
    for nth in 0.. {
        let until = Instant::now() + plan.every;
        while Instant::now() < until {
            if is_over() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(10).min(until.saturating_duration_since(Instant::now())));
        }
        let fault = plan.faults[nth % plan.faults.len()];
        let node = random.below(target.n_nodes());
        let mut step = |what: &str, node: Option<usize>| {
            let at = i64::try_from(started.elapsed().as_nanos()).unwrap_or(i64::MAX);
            note(FaultEvent { fault: what.to_owned(), node: node.map(|it| names[it].clone()), at });
        };
        target.inflict(fault, node, lasting(plan.every), &mut step)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_run_goes_on_with_the_next_fault() {
        let plan = FaultPlan { faults: vec![Fault::Kill, Fault::Cut, Fault::Restart], every: Duration::ZERO, seed: 1 };
        let event = |fault: &str| FaultEvent { fault: fault.to_owned(), node: None, at: 0 };
        assert_eq!(plan.after(&[]), plan);
        let next = plan.after(&[event("kill"), event("revived")]);
        assert_eq!(next.faults, [Fault::Cut, Fault::Restart, Fault::Kill]);
        let next = next.after(&[event("cut-from-nodes"), event("healed"), event("restart"), event("restarted")]);
        assert_eq!(next.faults, plan.faults);
    }

    #[test]
    fn an_event_is_a_line_of_a_recording() {
        let event = FaultEvent { fault: "kill".to_owned(), node: Some("n2".to_owned()), at: 7 };
        assert_eq!(String::from_utf8(event.line()).unwrap(), "{\"fault\":\"kill\",\"node\":\"n2\",\"at\":7}\n");
        assert!(Fault::ALL.iter().all(|it| Fault::from_name(it.name()) == Some(*it)));
    }
}

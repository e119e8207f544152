//! Reads and writes of independent keys, so many of each. Writes are blind, or updates.

use super::Program;
use crate::plan::{Action, Plan};
use crate::random::{Random, Zipf};
use crate::{Choice, Workload};

#[derive(Debug)]
pub(crate) struct Mix {
    n_keys: usize,
    n_ops: usize,
    reads_percent: usize,
    zipf: Option<Zipf>,
    /// What is done to keys that are not only read.
    change: Action,
}

impl Mix {
    pub(crate) fn new(workload: &Workload) -> Self {
        let &Workload { n_keys, ops_per_txn: n_ops, reads_percent, .. } = workload;
        let zipf = (workload.key_choice == Choice::Zipf).then(|| Zipf::new(n_keys));
        Self { n_keys, n_ops, reads_percent, zipf, change: Action::Write }
    }

    pub(crate) fn of_updates(workload: &Workload) -> Self {
        Self { change: Action::Update, ..Self::new(workload) }
    }
}

impl Program for Mix {
    fn plan(&mut self, _session: usize, random: &mut Random, plan: &mut Plan) {
        for _ in 0..self.n_ops {
            let key = match &self.zipf {
                Some(zipf) => zipf.draw(random),
                None => random.below(self.n_keys),
            } as u32;
            if random.chance(self.reads_percent) {
                plan.read(key);
            } else {
                plan.act(self.change, key);
            }
        }
    }

    fn n_keys(&self) -> u32 {
        self.n_keys as u32
    }
}

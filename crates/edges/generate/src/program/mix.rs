//! Reads and blind writes of independent keys, so many of each.

use super::Program;
use crate::plan::Plan;
use crate::random::{Random, Zipf};
use crate::{Choice, Workload};

#[derive(Debug)]
pub(crate) struct Mix {
    n_keys: usize,
    n_ops: usize,
    reads_percent: usize,
    zipf: Option<Zipf>,
}

impl Mix {
    pub(crate) fn new(workload: &Workload) -> Self {
        let &Workload { n_keys, ops_per_txn: n_ops, reads_percent, .. } = workload;
        let zipf = (workload.key_choice == Choice::Zipf).then(|| Zipf::new(n_keys));
        Self { n_keys, n_ops, reads_percent, zipf }
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
                plan.write(key);
            }
        }
    }

    fn n_keys(&self) -> u32 {
        self.n_keys as u32
    }
}

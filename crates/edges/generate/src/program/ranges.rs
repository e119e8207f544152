//! Scans of ranges of a table, and transactions that read, update, make and delete rows.

use super::Program;
use crate::plan::{Action, Asked, Plan};
use crate::random::{Random, Zipf};
use crate::{Choice, Workload};

/// So many of a hundred transactions scan.
const SCANS_PERCENT: usize = 20;

/// A scan looks at so many rows, if there are so many.
const N_SCANNED: usize = 100;

/// Of a hundred changes, so many make or delete a row.
const TOGGLES_PERCENT: usize = 25;

#[derive(Debug)]
pub(crate) struct Ranges {
    n_rows: usize,
    n_ops: usize,
    reads_percent: usize,
    zipf: Option<Zipf>,
}

impl Ranges {
    pub(crate) fn new(workload: &Workload) -> Self {
        let &Workload { n_keys: n_rows, ops_per_txn: n_ops, reads_percent, .. } = workload;
        let zipf = (workload.key_choice == Choice::Zipf).then(|| Zipf::new(n_rows));
        Self { n_rows, n_ops, reads_percent, zipf }
    }

    fn change(&self, random: &mut Random, plan: &mut Plan) {
        let row = match &self.zipf {
            Some(zipf) => zipf.draw(random),
            None => random.below(self.n_rows),
        } as u32;
        plan.act(if random.chance(TOGGLES_PERCENT) { Action::Toggle } else { Action::Update }, row);
    }
}

impl Program for Ranges {
    fn plan(&mut self, _session: usize, random: &mut Random, plan: &mut Plan) {
        if random.chance(SCANS_PERCENT) {
            let n_scanned = N_SCANNED.min(self.n_rows);
            let low = random.below(self.n_rows - n_scanned + 1) as u32;
            let asked = if random.chance(50) { Asked::All } else { Asked::Even };
            plan.act(Action::Scan(n_scanned as u32, asked), low);
            return self.change(random, plan);
        }
        for _ in 0..self.n_ops {
            if random.chance(self.reads_percent) {
                plan.read(random.below(self.n_rows) as u32);
            } else {
                self.change(random, plan);
            }
        }
    }

    fn n_keys(&self) -> u32 {
        self.n_rows as u32
    }
}

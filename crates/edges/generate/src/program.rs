//! What transactions do: each kind of workload plans one transaction after the other.

mod mix;
mod ranges;
mod rubis;
mod tpcc;
mod twitter;

use crate::plan::Plan;
use crate::random::Random;
use crate::{Kind, Workload};

/// Keys that are left free for injected anomalies, right after those that are there at the beginning.
pub(crate) const N_RESERVED: u32 = 4;

/// Plans transactions, and remembers what later ones need to know.
pub(crate) trait Program {
    /// The next transaction of a session.
    fn plan(&mut self, session: usize, random: &mut Random, plan: &mut Plan);

    /// The keys that are there at the beginning are those below this number.
    fn n_keys(&self) -> u32;
}

pub(crate) fn program(workload: &Workload) -> Box<dyn Program> {
    match workload.kind {
        Kind::Mix => Box::new(mix::Mix::new(workload)),
        Kind::Updates => Box::new(mix::Mix::of_updates(workload)),
        Kind::Ranges => Box::new(ranges::Ranges::new(workload)),
        Kind::Tpcc => Box::new(tpcc::Tpcc::new(workload.n_keys)),
        Kind::Twitter => Box::new(twitter::Twitter::new(workload.n_keys)),
        Kind::Rubis => Box::new(rubis::Rubis::new(workload.n_keys)),
    }
}

/// Keys that are added while the workload runs.
#[derive(Debug)]
struct Rows(u32);

impl Rows {
    fn after(n_keys: u32) -> Self {
        Self(n_keys + N_RESERVED)
    }

    fn add(&mut self) -> u32 {
        self.0 += 1;
        self.0 - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Action;
    use crate::preset::preset;

    #[test]
    fn no_program_touches_the_reserved_keys() {
        for name in ["blindw-rw", "tpcc-like", "twitter-like", "rubis-like"] {
            let mut program = program(&preset(name).unwrap().workload(1000, None));
            let (mut random, mut plan, n_keys) = (Random::new(3), Plan::default(), program.n_keys());
            for idx in 0..2000 {
                program.plan(idx % 50, &mut random, &mut plan);
            }
            assert!(plan.0.iter().all(|it| it.key < n_keys || it.key >= n_keys + N_RESERVED), "{name}");
        }
    }

    #[test]
    fn the_applications_read_and_write() {
        for name in ["tpcc-like", "twitter-like", "rubis-like"] {
            let mut program = program(&preset(name).unwrap().workload(1000, None));
            let (mut random, mut plan) = (Random::new(3), Plan::default());
            let mut n_txns_without_ops = 0;
            for idx in 0..2000 {
                let n_before = plan.0.len();
                program.plan(idx % 50, &mut random, &mut plan);
                n_txns_without_ops += usize::from(plan.0.len() == n_before);
            }
            let n_reads = plan.0.iter().filter(|it| it.action == Action::Read).count();
            let percent = n_reads * 100 / plan.0.len();
            assert!((40..95).contains(&percent), "{name}: {percent} % reads");
            assert_eq!(n_txns_without_ops, 0, "{name}");
        }
    }
}

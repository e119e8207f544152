//! The workloads, one file each.

mod append;
mod bank;
mod of_application;
mod ranges;
mod registers;
mod unique;

pub(crate) use append::Append;
pub(crate) use bank::Bank;
pub(crate) use of_application::{OfApplication, table_name};
pub(crate) use ranges::Ranges;
pub(crate) use registers::Registers;
pub(crate) use unique::Unique;

use crate::{Distribution, Parameters, Random, Turn};

/// What workloads with keys and operations share.
#[derive(Debug)]
struct Mix {
    keys: Distribution,
    parameters: Parameters,
}

impl Mix {
    fn new(parameters: &Parameters) -> Self {
        Self { keys: Distribution::new(parameters.keys_like, parameters.keys), parameters: *parameters }
    }

    fn random(turn: Turn) -> Random {
        Random::of(turn.seed, turn.slot.session, turn.slot.nth)
    }

    fn n_ops(&self, random: &mut Random) -> usize {
        let Parameters { min_ops, max_ops, .. } = self.parameters;
        min_ops + random.below(max_ops - min_ops + 1)
    }

    fn is_read(&self, random: &mut Random) -> bool {
        random.fraction() < self.parameters.reads
    }

    /// Keys are numbered from 1.
    fn key(&self, random: &mut Random) -> usize {
        1 + self.keys.draw(random)
    }

    /// A value that no other operation of any attempt has; initial values are 0.
    fn unique(&self, turn: Turn, nth_op: usize) -> i64 {
        let Parameters { sessions, max_ops, .. } = self.parameters;
        (1 + turn.slot.session + sessions * (turn.attempt * max_ops + nth_op)) as i64
    }
}

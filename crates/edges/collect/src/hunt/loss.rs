//! Acknowledged writes that are gone at the end of a run.

use super::Round;
use crate::{FaultEvent, Recorded};

/// A run at whose end acknowledged writes were gone.
#[derive(Clone, Debug)]
pub struct Loss {
    /// The first such run.
    pub round: Round,
    /// What was recorded.
    pub recorded: Recorded,
    /// How many writes are gone.
    pub n_lost: usize,
    /// What was done to nodes in that run.
    pub faults: Vec<FaultEvent>,
    /// How many runs lost some.
    pub times: usize,
}

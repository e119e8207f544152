//! What was recorded before a hunt could not go on.

use super::Origin;
use crate::Recorded;

/// The last history that was recorded.
#[derive(Clone, Debug)]
pub struct Last {
    /// What ran.
    pub origin: Origin,
    /// What happened, as far as it is known.
    pub recorded: Recorded,
}

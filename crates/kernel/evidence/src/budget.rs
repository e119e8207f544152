//! How long an engine may go on: asked, never timed here.

use crate::StopReason;
use std::fmt;

/// What an engine may spend. Engines ask it often; the edge that made it knows the clock and the memory.
#[derive(Clone, Copy, Default)]
pub struct Budget<'a> {
    stop: Option<&'a dyn Fn() -> Option<StopReason>>,
}

impl<'a> Budget<'a> {
    /// No limit.
    pub fn unlimited() -> Self {
        Self { stop: None }
    }

    /// Stop as soon as `stop` gives a reason.
    pub fn new(stop: &'a dyn Fn() -> Option<StopReason>) -> Self {
        Self { stop: Some(stop) }
    }

    /// `Err` if it is time to stop.
    pub fn check(&self) -> Result<(), StopReason> {
        match self.stop.and_then(|stop| stop()) {
            Some(reason) => Err(reason),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.stop.is_some() { "Budget(limited)" } else { "Budget(unlimited)" })
    }
}

//! What certify answers if it does not accept.

use iso_history::{History, TxnId};
use std::fmt;

/// Why an answer was not accepted. It is a bug in the engine that gave it (or here), never a fault of the input, unless
/// the evidence was too large to be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncertified {
    /// What does not hold.
    pub reason: String,
    /// Was the evidence too large to be checked, or did time run out? Then nothing says that it is wrong.
    pub is_too_large: bool,
}

impl Uncertified {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_too_large: false }
    }

    pub(crate) fn too_large(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_too_large: true }
    }
}

impl fmt::Display for Uncertified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Uncertified {}

/// Something is wrong with a transaction.
pub(super) fn wrong(history: &History, txn: TxnId, what: &str) -> Uncertified {
    Uncertified::new(format!("{} {what}", history.label(txn)))
}

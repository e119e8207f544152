//! Why a spec forbids a history: what fails for each witness that one could try.
use iso_history::{History, TxnId};
use iso_spec::{Execution, Spec};

/// What fails, witness by witness.
#[derive(Clone, Debug, Default)]
pub struct Explanation {
    /// Different reasons, each with the first witness that fails for it.
    pub failures: Vec<Failure>,
    /// How many further reasons were left out.
    pub n_omitted: usize,
    /// Was every witness tried that the spec could have? Otherwise only some that come near.
    pub is_exhaustive: bool,
}

/// Why a witness does not explain a history.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The witness.
    pub execution: Execution,
    /// What is wrong with it, in the words of the spec.
    pub because: String,
    /// How many other witnesses fail for the same reason.
    pub n_alike: usize,
}

/// Says why the spec forbids the history, with at most so many reasons.
pub fn explain(
    _history: &History,
    _session_order: Option<&[(TxnId, TxnId)]>,
    _spec: &Spec,
    _max_reasons: usize,
) -> Explanation {
    Explanation::default()
}

//! What is asked of a prediction, and what is answered.

use iso_evidence::StopReason;
use iso_history::{History, OpId, TxnId};
use iso_spec::Level;

/// Which run is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// The level that allows it; one of [`crate::LEVELS`].
    pub level: Level,
    /// The stronger level that forbids it; one of [`crate::TARGETS`].
    pub target: Level,
    /// What may differ from the observed run.
    pub boundary: Boundary,
    /// Whether "none" must be certain.
    pub precision: Precision,
}

/// Each session repeats its transactions up to a boundary. What follows a read with another writer may have been
/// different, and is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Boundary {
    /// A transaction on the boundary ends with the one read that may have another writer.
    #[default]
    Strict,
    /// A transaction on the boundary is kept whole, and each of its reads may have another writer.
    Relaxed,
    /// As strict, but others may see what a transaction on the boundary wrote before its cut.
    StrictEvents,
}

/// How sure a "none" is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Every prediction is found.
    #[default]
    Exact,
    /// Only predictions with a cycle of orders that are known at once; "none" is never said.
    Approximate,
}

/// The answer to one call of [`crate::Predictor::next`].
#[derive(Clone, Debug)]
pub enum Answer {
    /// A run that the level allows and the target forbids.
    Predicted(Box<Prediction>),
    /// There is no other one than those that were predicted before; only if the precision is exact.
    None,
    /// There may be one.
    Unknown(Unknown),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The limit was reached first.
    Stopped(StopReason),
    /// The approximation found none, which says nothing.
    Approximate,
}

/// A run that could have happened.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The predicted run. Its sessions have the names of the observed ones, and no version is written twice: where the
    /// observed run wrote a value to a key again, the values are numbered, as in `5#2`.
    pub history: History,
    /// For each of its transactions, the initial one included, the observed one that it repeats.
    pub txns: Vec<TxnId>,
    /// The transactions on the boundary, at most one a session.
    pub cuts: Vec<Cut>,
    /// The reads whose writer is another one, in the order of their transactions.
    pub changed: Vec<ChangedRead>,
    /// A strict boundary left out writes with which the level would forbid the run: the application, if it goes on as
    /// observed, will be aborted. Such predictions come last.
    pub hides_conflict: bool,
}

/// A transaction on the boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The transaction in the predicted history.
    pub txn: TxnId,
    /// How many operations of the observed transaction were left out at its end.
    pub n_dropped: usize,
}

/// A read with another writer than observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedRead {
    /// The read in the predicted history.
    pub op: OpId,
    /// The read in the observed history.
    pub observed_op: OpId,
    /// The observed transaction that it read from, which may be the initial one.
    pub from: TxnId,
    /// The observed transaction whose repetition it now reads from, which may be the initial one.
    pub to: TxnId,
}

/// What the search took so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Variables of the solver.
    pub variables: u64,
    /// Clauses of the solver.
    pub clauses: u64,
    /// Conflicts of the solver.
    pub conflicts: u64,
    /// Runs that the level allows and that were judged.
    pub candidates: u64,
    /// Transactions of the observed history that were looked at, a prefix of it.
    pub transactions: u64,
}

/// Why nothing can be predicted from a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A key holds lists; only registers can be predicted.
    List(OpId),
    /// A scan did not return this row; at levels of databases only runs of reads by key can be predicted.
    Scan(OpId),
    /// The witness does not say who wrote what this read saw.
    NoSource(OpId),
    /// The witness puts this transaction before its session's earlier ones, or before one that it reads from.
    WrongOrder(TxnId),
    /// The level is not one of [`crate::LEVELS`] or [`crate::DATABASE_LEVELS`], or the target not one of [`crate::TARGETS`] that implies it.
    WrongLevels,
}

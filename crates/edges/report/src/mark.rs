//! Marks on single operations of a history, for renderings that compare two runs.

/// A mark on one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The transaction.
    pub(crate) transaction: String,
    /// The place of the operation among the transaction's operations, from 0.
    pub(crate) op: usize,
    /// What is marked.
    pub(crate) sign: Sign,
}

/// What a mark says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// The other run has something else here, which the text says.
    Changed(String),
    /// The other run does not have it.
    Dropped,
}

impl Sign {
    /// What it says, behind the operation.
    pub(crate) fn words(&self) -> &str {
        match self {
            Self::Changed(words) => words,
            Self::Dropped => "left out",
        }
    }
}

/// The mark on an operation, if it has one.
pub(crate) fn mark_on<'m>(marks: &'m [Mark], transaction: &str, op: usize) -> Option<&'m Sign> {
    marks.iter().find(|it| it.transaction == transaction && it.op == op).map(|it| &it.sign)
}

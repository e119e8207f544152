//! What an answer rests on: evidence that was checked, or only the search that gave it.

use iso_evidence::StopReason;
use std::error::Error;
use std::fmt;
use std::ops::Deref;

/// Something whose evidence was checked by code that has no part in the search. Only this crate makes one:
///
/// ```compile_fail
/// let forged = iso_answer::Certified("believe me");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certified<T>(T);

impl<T> Certified<T> {
    /// To be called after the check, and nowhere else.
    pub(crate) fn new(checked: T) -> Self {
        Self(checked)
    }

    /// The thing itself, which nobody knows to be certified from then on.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Certified<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// An answer that has no certificate: that there is nothing, within these bounds. The search looked everywhere and found
/// nothing, and no evidence of that can be checked afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Searched<B> {
    bounds: B,
}

impl<B> Searched<B> {
    pub(crate) fn new(bounds: B) -> Self {
        Self { bounds }
    }

    /// Where the search looked.
    pub fn bounds(&self) -> &B {
        &self.bounds
    }

    /// What such an answer rests on, as a clause.
    pub fn clause(&self) -> &'static str {
        "this answer rests on the search itself"
    }
}

impl<B> fmt::Display for Searched<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Not certified: {}.", self.clause())
    }
}

/// Was a claim checked?
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certification {
    /// By code that has no part in the search.
    Certified,
    /// No, and nothing says that it is wrong.
    NotCertified {
        /// Why not, as a clause.
        why: String,
    },
}

impl Certification {
    /// Was it checked?
    pub fn is_certified(&self) -> bool {
        matches!(self, Self::Certified)
    }
}

/// An engine gave an answer with evidence that does not pass the check. That is a bug of ours, and never an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongEvidence {
    /// The level that the answer is about.
    pub level: String,
    /// What is wrong with the evidence.
    pub why: String,
}

impl WrongEvidence {
    /// The same in a few words, for a table of answers.
    pub const IN_SHORT: &str = "a bug in isoscope: the evidence for the answer is wrong";

    pub(crate) fn new(level: &dyn fmt::Display, why: &dyn fmt::Display) -> Self {
        Self { level: level.to_string(), why: why.to_string() }
    }
}

impl fmt::Display for WrongEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { level, why } = self;
        write!(
            f,
            "THIS IS A BUG in isoscope: it has an answer for {level}, but the evidence does not pass the independent \
             check ({why}), so the answer is not shown. Please report it with the command and the input."
        )
    }
}

impl Error for WrongEvidence {}

/// Why something that an engine found does not become an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Withheld {
    /// A limit was reached before it was checked.
    Stopped(StopReason),
    /// It is wrong.
    Wrong(WrongEvidence),
}

impl Withheld {
    pub(crate) fn wrong(level: &dyn fmt::Display, why: &dyn fmt::Display) -> Self {
        Self::Wrong(WrongEvidence::new(level, why))
    }
}

impl From<StopReason> for Withheld {
    fn from(reason: StopReason) -> Self {
        Self::Stopped(reason)
    }
}

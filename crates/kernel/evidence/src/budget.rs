//! How long an engine may go on, and who hears what it does: asked and told, never timed here.

use crate::StopReason;
use std::fmt;

/// What an engine may spend. Engines ask it often; the edge that made it knows the clock and the memory.
///
/// ```
/// use iso_evidence::{Budget, Note, Stage, StopReason};
/// use std::cell::Cell;
/// let n_asked = Cell::new(0);
/// let stop = || {
///     n_asked.set(n_asked.get() + 1);
///     (n_asked.get() > 2).then_some(StopReason::Steps)
/// };
/// let n_stages = Cell::new(0);
/// let hear = |note: Note| n_stages.set(n_stages.get() + usize::from(matches!(note, Note::Begins(_))));
/// let budget = Budget::new(&stop).heard_by(&hear);
/// budget.note(Note::Begins(Stage::Order));
/// budget.silent().note(Note::Begins(Stage::Search));
/// assert_eq!(n_stages.get(), 1);
/// assert!(budget.check().is_ok() && budget.check().is_ok() && budget.check().is_err());
/// // An explanation has limits of its own, if they are given.
/// let never = || None;
/// assert!(budget.explained_until(&never).for_explanation().check().is_ok());
/// assert!(budget.for_explanation().check().is_err());
/// ```
#[derive(Clone, Copy, Default)]
pub struct Budget<'a> {
    stop: Option<&'a dyn Fn() -> Option<StopReason>>,
    /// Asked instead of `stop` once the verdict is known.
    stop_explaining: Option<&'a dyn Fn() -> Option<StopReason>>,
    hear: Option<&'a dyn Fn(Note)>,
}

/// What an engine tells while it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// What was done until now is over, and this begins.
    Begins(Stage),
    /// So many more of these were counted.
    Counted(Quantity, u64),
    /// So many parts of the question are done: levels, transactions, or sizes of histories.
    Reached {
        /// How many.
        n_done: usize,
        /// How many there are.
        of: usize,
    },
}

/// What an engine is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Inferring the edges that a weak level asks for.
    Inference,
    /// Finding a first order, and running it.
    Order,
    /// Finding out who each read saw where values do not say it.
    Sources,
    /// Settling what is forced where the order does not fit.
    Repair,
    /// Deriving all that must hold in every order.
    Saturation,
    /// Searching for an order among what is left open.
    Search,
    /// Making a forbidden core minimal, and explaining it.
    Explanation,
    /// Deriving from axioms that a core is forbidden.
    Derivation,
    /// Checking the evidence of an answer.
    Certification,
}

impl Stage {
    /// A word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inference => "inference",
            Self::Order => "order",
            Self::Sources => "sources",
            Self::Repair => "repair",
            Self::Saturation => "saturation",
            Self::Search => "search",
            Self::Explanation => "explanation",
            Self::Derivation => "derivation",
            Self::Certification => "certify",
        }
    }
}

/// What engines count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Edges of the known graph.
    KnownEdges,
    /// Pairs whose order was open when the search began.
    PairsLeft,
    /// Variables of the search.
    Variables,
    /// Conflicts of the search.
    Conflicts,
    /// Histories that were looked at.
    Candidates,
}

impl Quantity {
    /// Words for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::KnownEdges => "edges known",
            Self::PairsLeft => "pairs left",
            Self::Variables => "variables",
            Self::Conflicts => "conflicts",
            Self::Candidates => "candidates",
        }
    }
}

impl<'a> Budget<'a> {
    /// No limit.
    pub fn unlimited() -> Self {
        Self::default()
    }

    /// Stop as soon as `stop` gives a reason.
    pub fn new(stop: &'a dyn Fn() -> Option<StopReason>) -> Self {
        Self { stop: Some(stop), stop_explaining: None, hear: None }
    }

    /// The same limits until the verdict is known; what explains it ends as soon as `stop` gives a reason.
    #[must_use]
    pub fn explained_until(self, stop: &'a dyn Fn() -> Option<StopReason>) -> Self {
        Self { stop_explaining: Some(stop), ..self }
    }

    /// The limits of an explanation. Whoever listens hears that it begins, and nothing that happens in it.
    #[must_use]
    pub fn for_explanation(&self) -> Self {
        self.note(Note::Begins(Stage::Explanation));
        Self { stop: self.stop_explaining.or(self.stop), hear: None, ..*self }
    }

    /// The limits of a derivation that makes a verdict certain: those of the verdict. Whoever listens hears that it begins,
    /// and nothing that happens in it.
    #[must_use]
    pub fn for_derivation(&self) -> Self {
        self.note(Note::Begins(Stage::Derivation));
        self.silent()
    }

    /// The same limits; `hear` is told what happens.
    #[must_use]
    pub fn heard_by(self, hear: &'a dyn Fn(Note)) -> Self {
        Self { hear: Some(hear), ..self }
    }

    /// The same limits, and nobody is told anything.
    #[must_use]
    pub fn silent(self) -> Self {
        Self { hear: None, ..self }
    }

    /// Other limits, and the same listener.
    pub fn with_stop<'b>(&self, stop: &'b dyn Fn() -> Option<StopReason>) -> Budget<'b>
    where
        'a: 'b,
    {
        Budget { stop: Some(stop), stop_explaining: self.stop_explaining, hear: self.hear }
    }

    /// `Err` if it is time to stop.
    pub fn check(&self) -> Result<(), StopReason> {
        match self.stop.and_then(|stop| stop()) {
            Some(reason) => Err(reason),
            None => Ok(()),
        }
    }

    /// Tells whoever listens.
    pub fn note(&self, note: Note) {
        if let Some(hear) = self.hear {
            hear(note);
        }
    }
}

impl fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.stop.is_some() { "Budget(limited)" } else { "Budget(unlimited)" })
    }
}

//! The documents of `separate`, `compare` and `lattice`, which search for histories between levels.

use crate::found::Found;
use crate::implication::{Direction, Implied};
use iso_spec::Spec;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What `separate` found: histories that some levels allow and others forbid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeparateReport {
    /// The spec files that were read.
    pub inputs: Vec<String>,
    /// The levels that should allow the history.
    pub allowed: Vec<SpecName>,
    /// The levels that should forbid it.
    pub forbidden: Vec<SpecName>,
    /// Where was looked.
    pub scope: Scope,
    /// The answer.
    #[serde(flatten)]
    pub verdict: SearchVerdict,
    /// The histories, the smallest first.
    pub found: Vec<Found>,
    /// If all were asked for: are these all, in the sense that every other one contains one of them?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete: Option<bool>,
    /// What of the answer has no certificate by nature, as a clause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_certified: Option<String>,
    /// What it took.
    #[serde(flatten)]
    pub effort: Effort,
}

/// The answer of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
pub enum SearchVerdict {
    /// There is such a history.
    Found,
    /// There is none in the scope.
    None,
    /// Nobody knows.
    Unknown {
        /// What ran out, or what is not supported.
        reason: String,
    },
}

/// How two levels relate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareReport {
    /// The spec files that were read.
    pub inputs: Vec<String>,
    /// One level.
    pub left: SpecName,
    /// The other one.
    pub right: SpecName,
    /// Where was looked.
    pub scope: Scope,
    /// How the left level relates to the right one.
    #[serde(flatten)]
    pub relation: SpecRelation,
    /// A history that only the left level allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_only: Option<Box<Found>>,
    /// A history that only the right level allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right_only: Option<Box<Found>>,
    /// Does the left level imply the right one? Documents of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_implies_right: Option<Direction>,
    /// Does the right level imply the left one?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right_implies_left: Option<Direction>,
    /// What of the answer has no certificate by nature, as a clause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_certified: Option<String>,
    /// What it took.
    #[serde(flatten)]
    pub effort: Effort,
}

impl CompareReport {
    /// Is every direction known for histories of any size?
    pub fn is_settled(&self) -> bool {
        let is_known = |it: &Option<Direction>| {
            it.as_ref().is_some_and(|it| matches!(it.implied, Implied::EverySize | Implied::No))
        };
        is_known(&self.left_implies_right) && is_known(&self.right_implies_left)
    }
}

/// How one level relates to another, as far as histories of the scope tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "relation", rename_all = "lowercase")]
pub enum SpecRelation {
    /// Both allow the same histories.
    Equivalent,
    /// The left one allows fewer.
    Stronger,
    /// The left one allows more.
    Weaker,
    /// Each allows one that the other forbids.
    Incomparable,
    /// Nobody knows.
    Unknown {
        /// What ran out, or what is not supported.
        reason: String,
    },
}

/// How many levels relate: which coincide, and which are just above which.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatticeReport {
    /// The spec files that were read.
    pub inputs: Vec<String>,
    /// The levels that were compared.
    pub levels: Vec<SpecName>,
    /// The full names of levels that allow the same histories of the scope; each level is in one class.
    pub classes: Vec<Vec<String>>,
    /// Which class is just above which, without what follows from others.
    pub edges: Vec<LatticeEdge>,
    /// Pairs that could not be compared.
    pub unknown: Vec<UnknownPair>,
    /// For each level of a class and its first one, and for each edge, how far the one implies the other; empty if no proofs
    /// were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub implications: Vec<LatticeImplication>,
    /// How many pairs of levels are decided for every size, if proofs were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<DecidedPairs>,
    /// Where was looked.
    pub scope: Scope,
    /// What of the answer has no certificate by nature, as a clause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_certified: Option<String>,
    /// What it took.
    #[serde(flatten)]
    pub effort: Effort,
}

/// Of how many pairs of different levels it is known whether the first implies the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecidedPairs {
    /// It does, for every size.
    pub proved: u64,
    /// It does not: a history says so.
    pub refuted: u64,
    /// Neither is known.
    pub open: u64,
}

/// How far one level implies another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatticeImplication {
    /// The full name of the level that allows fewer histories, or as many.
    pub stronger: String,
    /// The full name of the other one.
    pub weaker: String,
    /// The answer.
    #[serde(flatten)]
    pub direction: Direction,
}

impl LatticeReport {
    /// Is everything that one level implies proved for every size?
    pub fn is_settled(&self) -> bool {
        let are_proved = self.implications.iter().all(|it| it.direction.implied == Implied::EverySize);
        !self.implications.is_empty() && are_proved && self.unknown.is_empty()
    }
}

/// How sure it is that a line or a class of a lattice is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sureness {
    /// Up to the scope; proofs were not asked for.
    Unasked,
    /// For every size.
    Proved,
    /// Up to the scope; no proof was found.
    Bounded,
}

impl LatticeReport {
    fn sureness(&self, mut pairs: impl Iterator<Item = (String, String)>) -> Sureness {
        let is_proved = |(stronger, weaker): (String, String)| {
            let mut known = self.implications.iter().filter(|it| it.stronger == stronger && it.weaker == weaker);
            known.any(|it| it.direction.implied == Implied::EverySize)
        };
        if self.implications.is_empty() {
            Sureness::Unasked
        } else if pairs.all(is_proved) {
            Sureness::Proved
        } else {
            Sureness::Bounded
        }
    }

    /// How sure is it that the stronger class of an edge implies the weaker one?
    pub(crate) fn sureness_of_edge(&self, edge: &LatticeEdge) -> Sureness {
        let head = |class: usize| self.classes.get(class).and_then(|it| it.first()).cloned();
        self.sureness(head(edge.stronger).zip(head(edge.weaker)).into_iter())
    }

    /// How sure is it that the levels of a class are equivalent?
    pub(crate) fn sureness_of_class(&self, class: &[String]) -> Sureness {
        let Some((first, others)) = class.split_first() else { return Sureness::Unasked };
        let both = |it: &String| [(first.clone(), it.clone()), (it.clone(), first.clone())];
        self.sureness(others.iter().flat_map(both))
    }
}

/// A class of levels that implies another, with nothing in between.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatticeEdge {
    /// The index of the class that allows fewer histories.
    pub stronger: usize,
    /// The index of the class that allows more.
    pub weaker: usize,
    /// The smallest history that the weaker one allows and the stronger one forbids.
    pub found: Found,
}

/// Two levels that could not be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownPair {
    /// The full name of one level.
    pub left: String,
    /// The full name of the other one.
    pub right: String,
    /// What ran out, or what is not supported.
    pub reason: String,
}

/// A level by name, with what it is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecName {
    /// In full: `biswas.ra`.
    pub name: String,
    /// One line about it; may be empty.
    pub summary: String,
}

impl From<&Spec> for SpecName {
    fn from(spec: &Spec) -> Self {
        Self { name: spec.name().to_owned(), summary: spec.summary().to_owned() }
    }
}

/// Which histories were looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// Are the numbers the most, or exactly these?
    #[serde(rename = "exact")]
    pub bound: Bound,
    /// Transactions, without the initial one.
    pub transactions: u64,
    /// Keys.
    pub keys: u64,
    /// Values of a key, the initial one included, if there is a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<u64>,
    /// What session orders there are.
    pub sessions: SessionShape,
    /// How often a transaction may read a key before it writes it.
    pub reads_per_key: u64,
    /// May a transaction write a key that it did not read?
    pub blind_writes: bool,
    /// Do transactions have times?
    pub real_time: bool,
    /// Does the order of reads within a transaction matter?
    pub read_order: bool,
    /// So many reads at most were of rows that a scan did not return.
    #[serde(default, skip_serializing_if = "are_none")]
    pub scans: u64,
    /// What statements may do, because a level looks at it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<String>,
    /// Lists of one key were looked at up to so many transactions, since registers showed nothing.
    #[serde(default, skip_serializing_if = "are_none")]
    pub lists: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn are_none(scans: &u64) -> bool {
    *scans == 0
}

/// What session orders there are in a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SessionShape {
    /// Each session is a chain.
    Chains,
    /// Each is a chain, and there are no more than so many.
    AtMostChains(u64),
    /// Any partial order.
    PartialOrder,
}

/// The words in JSON: `chains`, `one chain`, `at most 2 chains`, `partial order`.
impl fmt::Display for SessionShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chains => f.write_str("chains"),
            Self::AtMostChains(1) => f.write_str("one chain"),
            Self::AtMostChains(n) => write!(f, "at most {n} chains"),
            Self::PartialOrder => f.write_str("partial order"),
        }
    }
}

impl From<SessionShape> for String {
    fn from(of: SessionShape) -> Self {
        of.to_string()
    }
}

impl TryFrom<String> for SessionShape {
    type Error = String;

    fn try_from(words: String) -> Result<Self, String> {
        let at_most = || words.strip_prefix("at most ")?.strip_suffix(" chains")?.parse().ok();
        match words.as_str() {
            "chains" => Ok(Self::Chains),
            "one chain" => Ok(Self::AtMostChains(1)),
            "partial order" => Ok(Self::PartialOrder),
            _ => at_most().map(Self::AtMostChains).ok_or_else(|| format!("{words:?} is no shape of sessions")),
        }
    }
}

/// How the numbers of a scope are meant; in JSON, are they exact?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "bool", into = "bool")]
pub enum Bound {
    /// At most these, the smallest first, so that what is found first is minimal.
    #[default]
    UpTo,
    /// Exactly these.
    Exactly,
}

impl From<bool> for Bound {
    fn from(is_exact: bool) -> Self {
        if is_exact { Self::Exactly } else { Self::UpTo }
    }
}

impl From<Bound> for bool {
    fn from(bound: Bound) -> Self {
        bound == Bound::Exactly
    }
}

/// What a search took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    /// How long everything took.
    pub seconds: f64,
    /// The most memory that was in use at once, if the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// Histories that were proposed, and tried on the levels that should forbid them.
    pub candidates: u64,
    /// Variables of the solvers.
    pub variables: u64,
    /// Clauses of the solvers.
    pub clauses: u64,
    /// Conflicts of the solvers.
    pub conflicts: u64,
}

impl SearchVerdict {
    /// The word in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::None => "none",
            Self::Unknown { .. } => "unknown",
        }
    }
}

impl SpecRelation {
    /// The word in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Equivalent => "equivalent",
            Self::Stronger => "stronger",
            Self::Weaker => "weaker",
            Self::Incomparable => "incomparable",
            Self::Unknown { .. } => "unknown",
        }
    }
}

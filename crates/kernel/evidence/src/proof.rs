//! A proof that a core cannot have happened, from what was observed down to the contradiction.
//!
//! Its rules are the ones that `certify` knows: whoever follows it needs no search. A proof is a tree, so that each of
//! its steps can be read by itself, with everything that it follows from below it.

use crate::{Edge, Reason};
use iso_history::{KeyId, OpId, TxnId};
use iso_spec::Level;

/// Why a core is forbidden, to the ground.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The level whose rules it uses; it holds for all levels that imply this one, too.
    pub level: Level,
    /// What cannot be.
    pub contradiction: Contradiction,
}

/// Something that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contradiction {
    /// Each step starts where the one before ended, and the last one ends where the first one starts.
    Cycle(Vec<Step>),
    /// One of these is the case, and each of them is impossible.
    Cases(Vec<Case>),
}

/// A dependency with what it follows from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The dependency.
    pub edge: Edge,
    /// If the read that it speaks of has several possible writers: all of them but one, and why each is impossible.
    pub excluded: Vec<Case>,
    /// The steps that it follows from, one after the other:
    ///
    /// - version order that a read shows: how the reader comes to see the older writer;
    /// - version order without a read: how the older writer comes before the newer one;
    /// - first committer: how it comes to start before the other commits;
    /// - anti-dependency: why the version that was read is older than the other one.
    ///
    /// Empty if that is plain from the history, or assumed.
    pub path: Vec<Step>,
}

/// What follows if something is assumed: a contradiction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What is assumed.
    pub assumed: Assumption,
    /// Why it cannot be.
    pub contradiction: Contradiction,
}

/// One of several things that may be the case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assumption {
    /// Of two writers of a key, which one's version is older.
    Older {
        /// The key.
        key: KeyId,
        /// Whose version is older.
        older: TxnId,
        /// Whose version is newer.
        newer: TxnId,
    },
    /// Of the possible writers of what a read saw, whose version it was.
    ReadFrom {
        /// The read.
        read: OpId,
        /// The writer.
        writer: TxnId,
    },
}

impl Step {
    /// A dependency that is plain from the history, or assumed.
    pub fn plain(edge: Edge) -> Self {
        Self { edge, excluded: Vec::new(), path: Vec::new() }
    }

    /// The read of another transaction's version that the step speaks of.
    pub fn read(&self) -> Option<OpId> {
        match self.edge.because {
            Reason::ReadFrom { read } | Reason::AntiDependency { read, .. } => Some(read),
            Reason::VersionOrder { shown_by, .. } => shown_by,
            Reason::Session | Reason::RealTime | Reason::FirstCommitter { .. } => None,
        }
    }
}

impl Contradiction {
    /// The number of steps and cases.
    pub fn size(&self) -> usize {
        fn of_steps(steps: &[Step]) -> usize {
            steps.iter().map(|it| 1 + of_cases(&it.excluded) + of_steps(&it.path)).sum()
        }
        fn of_cases(cases: &[Case]) -> usize {
            cases.iter().map(|it| 1 + it.contradiction.size()).sum()
        }
        match self {
            Self::Cycle(steps) => of_steps(steps),
            Self::Cases(cases) => of_cases(cases),
        }
    }
}

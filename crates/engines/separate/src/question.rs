//! What is asked: which specs, within which scope, and by which method.

use crate::statements::Statements;
use iso_spec::Spec;

/// Is there a history that all of the first specs allow and all of the others forbid?
#[derive(Clone, Debug)]
pub struct Question<'s> {
    /// Each of these must allow the history.
    pub allowed: Vec<&'s Spec>,
    /// Each of these must forbid it.
    pub forbidden: Vec<&'s Spec>,
    /// Which histories are looked at.
    pub scope: Scope,
    /// How they are looked for. Every method gives the same answer.
    pub method: Method,
}

/// Which histories are looked at: registers, committed transactions, values that tell who wrote them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Up to so many transactions, or exactly so many.
    pub txns: usize,
    /// Is the number of transactions a limit, or exact?
    pub size: Size,
    /// Up to so many keys.
    pub keys: usize,
    /// Up to so many versions of a key, the initial one included.
    pub values: usize,
    /// What session order may be.
    pub sessions: Sessions,
    /// May a transaction write what it did not read?
    pub blind_writes: BlindWrites,
    /// May a transaction read a key twice, and see two versions of it?
    pub rereads: Rereads,
    /// So many reads at most are of rows that a scan did not return; if nothing is said, one where a spec tells them from
    /// other reads, and otherwise none.
    pub scans: Option<usize>,
    /// May statements be more than single reads and writes?
    pub statements: StatementsWanted,
    /// May keys be lists?
    pub lists: Lists,
}

/// May keys be lists?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// Yes, if registers show nothing, and of few transactions: so many at most.
    Few(usize),
    /// No.
    No,
}

/// May statements be more than single reads and writes: updates, inserts, deletes, locks, several reads at once?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementsWanted {
    /// Yes, as far as a spec of the question looks at them; otherwise it makes no difference.
    IfMentioned,
    /// No.
    No,
}

/// What the number of transactions in a scope means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// At most so many, and the smallest history first.
    UpTo,
    /// Exactly so many.
    Exactly,
}

/// What session order may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sessions {
    /// Each transaction belongs to one session, and a session runs one after the other.
    Chains {
        /// At most so many sessions, if that is limited.
        at_most: Option<usize>,
    },
    /// Any strict partial order.
    PartialOrder,
}

/// May a transaction write a key that it did not read before?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlindWrites {
    /// Yes.
    Allowed,
    /// No: whoever writes a key reads it first.
    Excluded,
}

/// May a transaction read a key twice, and see two versions of it?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rereads {
    /// Yes, if some history of which that is true is allowed by all specs that must allow it; otherwise it makes no
    /// difference.
    IfAllowed,
    /// Yes.
    Yes,
    /// No.
    No,
}

/// What was varied besides operations and sessions, because a spec of the question looks at it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aspects {
    /// Transactions may read a key twice and see two versions.
    pub rereads: bool,
    /// The order of the reads of a transaction.
    pub read_order: bool,
    /// When transactions began and ended.
    pub real_time: bool,
    /// What statements do.
    pub statements: Statements,
    /// So many reads at most were of rows that a scan did not return.
    pub scans: usize,
    /// Keys may be lists. That is looked at last, for few transactions and one key.
    pub lists: bool,
}

impl Aspects {
    /// What mattered in either of two questions.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            rereads: self.rereads || other.rereads,
            read_order: self.read_order || other.read_order,
            real_time: self.real_time || other.real_time,
            statements: self.statements.and(other.statements),
            scans: self.scans.max(other.scans),
            lists: self.lists || other.lists,
        }
    }
}

/// How histories are looked for. The default is the fastest; what is switched off is for comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// Forbid witnesses that are derived from the orders of the allowed specs, before any candidate is looked at.
    pub derived_witnesses: bool,
    /// Number the transactions by the order of the first allowed spec.
    pub fixed_order: bool,
    /// Without derived witnesses: begin with a forbidden spec failing for the witness of an allowed one of its framework.
    pub merging: bool,
}

impl Scope {
    /// Up to so many transactions, keys and versions of a key; sessions are chains, and nothing else is excluded.
    pub fn up_to(txns: usize, keys: usize, values: usize) -> Self {
        Self {
            txns,
            size: Size::UpTo,
            keys,
            values,
            sessions: Sessions::Chains { at_most: None },
            blind_writes: BlindWrites::Allowed,
            rereads: Rereads::IfAllowed,
            scans: None,
            statements: StatementsWanted::IfMentioned,
            lists: Lists::Few(3),
        }
    }

    /// The setting of the paper on Isolde: any partial order of sessions, no blind writes, each key read once.
    #[must_use]
    pub fn as_in_isolde(self) -> Self {
        Self {
            sessions: Sessions::PartialOrder,
            blind_writes: BlindWrites::Excluded,
            rereads: Rereads::No,
            scans: Some(0),
            statements: StatementsWanted::No,
            lists: Lists::No,
            ..self
        }
    }
}

impl Default for Scope {
    /// What most separating histories need.
    fn default() -> Self {
        Self::up_to(4, 3, 4)
    }
}

impl Default for Method {
    fn default() -> Self {
        Self { derived_witnesses: true, fixed_order: true, merging: true }
    }
}

//! A derivation: why a core of any size cannot have happened, as clauses that lead to a contradiction.
//!
//! Where a [`Proof`](crate::Proof) is a tree for a person to follow, a derivation is a list for `certify` to replay: each
//! clause is an axiom of the level about the core, or says that an order has no cycle, or follows from clauses before it.
//! Source: the last kind, with its hints, is LRAT (Cruz-Filipe et al. 2017, "Efficient Certified RAT Verification"). We
//! differ: whatever is known for good needs no hints, and clauses may come from the theory of orders.

use crate::Event;
use iso_history::{KeyId, OpId, TxnId};
use iso_spec::Level;

/// Why a core is forbidden whatever its lists mean and whoever committed, for a checker that does not search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grounds {
    /// Each list has one meaning, and a contradiction follows.
    Derivation(Derivation),
    /// It has a read that nothing explains.
    OneRead,
    /// A part of it is enough, in whose numbers the rest is told.
    Part {
        /// Transactions, ascending.
        txns: Vec<TxnId>,
        /// Operations, ascending.
        ops: Vec<OpId>,
        /// Why the part is forbidden.
        because: Box<Self>,
    },
    /// A list read has several meanings, and each of them is forbidden.
    Cases(Vec<Self>),
    /// The outcome of a transaction is unknown, and the core is forbidden either way.
    Outcomes {
        /// The transaction.
        txn: TxnId,
        /// Why it is forbidden if it committed.
        committed: Box<Self>,
        /// Why it is forbidden if it did not.
        aborted: Box<Self>,
    },
}

/// Why a core is forbidden. Transactions and operations have the numbers of the core as a history of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derivation {
    /// The level whose axioms it uses; it holds for all levels that imply this one, too.
    pub level: Level,
    /// What it speaks of.
    pub atoms: Vec<Atom>,
    /// What is inferred, one after the other; the last one contradicts the rest.
    pub inferences: Vec<Inference>,
}

/// Something that is true or false of an execution.
///
/// An event of a transaction that does not take part is somewhere in the order, and nothing is said about where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Atom {
    /// One event comes before the other; if not, the other comes before it. Levels without snapshots have commits only.
    Before(Event, Event),
    /// `newer` takes part, and commits after `older` and before `reader` reads.
    Between {
        /// Whose version is the older one.
        older: TxnId,
        /// Whose version is the newer one.
        newer: TxnId,
        /// Who reads after both.
        reader: TxnId,
    },
    /// A read saw what this transaction wrote.
    ReadFrom {
        /// The read.
        read: OpId,
        /// The writer.
        writer: TxnId,
    },
    /// An indeterminate transaction committed.
    TakesPart(TxnId),
}

/// An atom or its negation: twice the atom's place in [`Derivation::atoms`], plus one if negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Literal(u32);

/// A clause, with why it holds. It has the number of its place among the inferences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inference {
    /// An axiom of the level, which says what its clause is.
    Axiom(Axiom),
    /// Not each of these events comes before the next, and the last before the first.
    Acyclic(Vec<Event>),
    /// A clause that follows from others: if all of it were false, each hint in turn would have one literal left that
    /// must be true, and the last one none.
    Resolvent {
        /// The clause.
        clause: Vec<Literal>,
        /// Numbers of clauses before it.
        hints: Vec<u32>,
    },
    /// No clause: these clauses are not needed any more.
    Forget(Vec<u32>),
}

/// What a level says about some transactions of a core, if those of them take part that are indeterminate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Axiom {
    /// Who is earlier in a session commits before the other starts.
    Session {
        /// The earlier transaction.
        earlier: TxnId,
        /// The later one.
        later: TxnId,
    },
    /// Who ended before the other began commits before it starts, where the level asks for that.
    RealTime {
        /// The earlier transaction.
        earlier: TxnId,
        /// The later one.
        later: TxnId,
    },
    /// A list read shows which of two versions is older.
    VersionOrder {
        /// The list.
        key: KeyId,
        /// Whose version is older.
        older: TxnId,
        /// Whose version is newer.
        newer: TxnId,
    },
    /// Of two writers of a key, one commits before the other starts, where the first committer wins.
    FirstCommitter {
        /// The key.
        key: KeyId,
        /// One of them.
        one: TxnId,
        /// The other one.
        other: TxnId,
    },
    /// A reader that sees everything before it: it comes before `other`, or a possible writer comes between them.
    Found {
        /// The read.
        read: OpId,
        /// A transaction that wrote another value, or the initial one.
        other: TxnId,
        /// Possible writers of which something else is said than that they come between.
        unless: Vec<(TxnId, Unless)>,
    },
    /// What [`Atom::Between`] means, in part.
    Between {
        /// Whose version is the older one.
        older: TxnId,
        /// Whose version is the newer one.
        newer: TxnId,
        /// Who reads after both.
        reader: TxnId,
        /// What follows.
        so: Follows,
    },
    /// A read saw the version of one of its possible writers.
    Sources {
        /// The read.
        read: OpId,
    },
    /// A read saw the version of a transaction, so that one commits before the reader starts, or takes part.
    Source {
        /// The read.
        read: OpId,
        /// The writer.
        writer: TxnId,
        /// What follows.
        so: Follows,
    },
    /// A read saw the version of a writer, and its transaction must see another writer of the key: that one is older.
    Overwritten {
        /// The read.
        read: OpId,
        /// Whose version it saw.
        writer: TxnId,
        /// The other writer of the key.
        other: TxnId,
        /// How the reader comes to see the other writer: from that one to the reader.
        sight: Vec<Sight>,
    },
}

/// What else is said of a possible writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unless {
    /// It commits before the reader starts.
    IsBefore,
    /// It is newer than this other writer of the key, or the reader starts before that one commits.
    IsNotHiddenBy(TxnId),
}

/// What follows from an atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Follows {
    /// The writer commits after the older one.
    AfterOlder,
    /// The writer commits before the reader starts.
    BeforeReader,
    /// The writer takes part.
    TakesPart,
}

/// Why one transaction is seen by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// It is earlier in its session.
    Session(TxnId, TxnId),
    /// The read of the second one saw the first.
    Read(TxnId, OpId),
    /// Both write a key, and it commits before.
    Conflict(TxnId, TxnId),
}

impl Literal {
    /// The literal that is true when the atom at this place has this value.
    pub fn new(atom_idx: u32, value: bool) -> Self {
        Self(atom_idx << 1 | u32::from(!value))
    }

    /// The place of its atom.
    pub fn atom(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// The value of its atom that makes it true.
    pub fn value(self) -> bool {
        self.0 & 1 == 0
    }

    /// The opposite.
    #[must_use]
    pub fn negated(self) -> Self {
        Self(self.0 ^ 1)
    }
}

//! What a level says, as a typed tree: every definition is filled in, every variable has a sort.
//!
//! Engines read this tree; the reference evaluators do, too.

use std::sync::Arc;

/// What a variable ranges over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sort {
    /// Transactions that are in, the initial one included.
    Txn,
    /// Keys.
    Key,
    /// External read operations of transactions that are in.
    Read,
}

impl Sort {
    /// The word for it in a spec.
    pub fn name(self) -> &'static str {
        match self {
            Self::Txn => "txn",
            Self::Key => "key",
            Self::Read => "read",
        }
    }
}

/// What kind of thing must exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WitnessKind {
    /// A strict total order of the transactions, the initial one first.
    Order,
    /// Any binary relation on the transactions.
    Relation,
    /// For each key a strict total order of its writers, the initial transaction first.
    Versions,
}

/// A thing that must exist for a history to be allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Its name in the spec.
    pub name: String,
    /// What it is.
    pub kind: WitnessKind,
}

/// A bound variable. Numbers are unique in one spec.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variable {
    /// Its number.
    pub id: u32,
    /// What it ranges over.
    pub sort: Sort,
    /// Its name in the text.
    pub name: Arc<str>,
}

/// A transaction, key or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elem {
    /// The variable of that number.
    Var(u32),
    /// The initial transaction.
    Initial,
}

/// Something that is true or false of an execution.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// Always so, or never.
    Truth(bool),
    /// The opposite.
    Not(Arc<Formula>),
    /// Both.
    And(Arc<Formula>, Arc<Formula>),
    /// At least one.
    Or(Arc<Formula>, Arc<Formula>),
    /// The second, if the first.
    Implies(Arc<Formula>, Arc<Formula>),
    /// Both or none.
    Iff(Arc<Formula>, Arc<Formula>),
    /// For some values of the variables.
    Exists(Vec<Variable>, Arc<Formula>),
    /// For all values of the variables.
    Forall(Vec<Variable>, Arc<Formula>),
    /// The same element.
    Equal(Elem, Elem),
    /// The element is in the set.
    Member(Elem, Arc<Set>),
    /// The pair is in the relation.
    Related(Arc<Relation>, Elem, Elem),
    /// Each member of the first set is one of the second.
    SetWithin(Arc<Set>, Arc<Set>),
    /// Each pair of the first relation is one of the second.
    Within(Arc<Relation>, Arc<Relation>),
    /// The set has no member.
    SetEmpty(Arc<Set>),
    /// The relation has no pair.
    Empty(Arc<Relation>),
    /// The relation has no cycle.
    Acyclic(Arc<Relation>),
    /// Nothing is related to itself.
    Irreflexive(Arc<Relation>),
    /// Any two different elements are related, one way or the other.
    Total(Arc<Relation>),
    /// Two steps are one.
    Transitive(Arc<Relation>),
}

/// A set of elements of one sort.
#[derive(Clone, Debug, PartialEq)]
pub enum Set {
    /// The initial transaction alone.
    Initial,
    /// The members of either.
    Union(Arc<Set>, Arc<Set>),
    /// The members of both.
    Intersection(Arc<Set>, Arc<Set>),
    /// The members of the first that are not in the second.
    Difference(Arc<Set>, Arc<Set>),
    /// Those of which the formula is true.
    Such(Variable, Arc<Formula>),
}

/// A relation that the history, or the witness, gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Given {
    /// `so`: same session and earlier; the initial transaction before all.
    SessionOrder,
    /// `wr`: wrote what a read of the other saw.
    WriteRead,
    /// `rt`: ended before the other began.
    RealTime,
    /// `listed`: a list read shows its version before the other's.
    Listed,
    /// `writes`: transaction and key.
    Writes,
    /// `reads`: transaction and key of an external read.
    Reads,
    /// `po`: reads of one transaction, earlier and later.
    ProgramOrder,
    /// `of`: a read and its transaction.
    Of,
    /// `from`: a read and the transaction whose write it saw.
    From,
    /// `key`: a read and its key.
    KeyOf,
    /// `stmt`: reads of one statement, each with itself, too.
    Statement,
    /// `omits`: a read and its row, if it is one that a scan looked at and did not return.
    Omits,
    /// `locks`: a read and its row, if its statement writes the row as well, or locks it.
    Locks,
    /// `at_newest`: a read and its row, if it looks at the newest version and not at a snapshot: it locks, or is one that a
    /// statement omitted which writes or locks.
    Newest,
    /// `inserts`: a read and its row, if its statement is an insert, which finds no row.
    Inserts,
    /// `makes`: a transaction and a row that it makes by an insert.
    Makes,
    /// `id`: each transaction with itself.
    Identity,
    /// The witness of that place in the framework; of versions, the union over all keys.
    Witness(usize),
}

/// A relation between elements of two sorts.
#[derive(Clone, Debug, PartialEq)]
pub enum Relation {
    /// A relation that is given.
    Given(Given),
    /// The part of `wr`, `listed` or versions that concerns one key.
    At(Given, Elem),
    /// The pairs of either.
    Union(Arc<Relation>, Arc<Relation>),
    /// The pairs of both.
    Intersection(Arc<Relation>, Arc<Relation>),
    /// The pairs of the first that are not in the second.
    Difference(Arc<Relation>, Arc<Relation>),
    /// A step of the first, then one of the second.
    Composition(Arc<Relation>, Arc<Relation>),
    /// Backwards.
    Inverse(Arc<Relation>),
    /// One step or more.
    Closure(Arc<Relation>),
    /// One step or none.
    Reflexive(Arc<Relation>),
    /// Each member of the set with itself.
    On(Arc<Set>),
    /// The pairs of which the formula is true.
    Such(Variable, Variable, Arc<Formula>),
}

impl Set {
    /// The sort of the members.
    pub fn sort(&self) -> Sort {
        match self {
            Self::Initial => Sort::Txn,
            Self::Union(left, _) | Self::Intersection(left, _) | Self::Difference(left, _) => left.sort(),
            Self::Such(variable, _) => variable.sort,
        }
    }
}

impl Given {
    /// The sorts of the two sides.
    pub fn sorts(self) -> (Sort, Sort) {
        match self {
            Self::Writes | Self::Reads | Self::Makes => (Sort::Txn, Sort::Key),
            Self::ProgramOrder | Self::Statement => (Sort::Read, Sort::Read),
            Self::Of | Self::From => (Sort::Read, Sort::Txn),
            Self::KeyOf | Self::Omits | Self::Locks | Self::Newest | Self::Inserts => (Sort::Read, Sort::Key),
            _ => (Sort::Txn, Sort::Txn),
        }
    }
}

impl Relation {
    /// The sorts of the two sides.
    pub fn sorts(&self) -> (Sort, Sort) {
        match self {
            Self::Given(given) | Self::At(given, _) => given.sorts(),
            Self::Union(left, _) | Self::Intersection(left, _) | Self::Difference(left, _) => left.sorts(),
            Self::Composition(left, right) => (left.sorts().0, right.sorts().1),
            Self::Inverse(of) => (of.sorts().1, of.sorts().0),
            Self::Closure(of) | Self::Reflexive(of) => of.sorts(),
            Self::On(set) => (set.sort(), set.sort()),
            Self::Such(left, right, _) => (left.sort, right.sort),
        }
    }
}

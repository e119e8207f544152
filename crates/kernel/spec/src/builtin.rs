//! Names that every spec knows without importing anything.

use crate::formula::Given;

/// What a built-in name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtin {
    Given(Given),
    InitialTxn,
    InitialSet,
    Predicate(Predicate),
}

/// A property of one relation (`empty`: or of one set).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Predicate {
    Acyclic,
    Irreflexive,
    Total,
    Transitive,
    Empty,
}

const BUILTINS: &[(&str, Builtin)] = &[
    ("so", Builtin::Given(Given::SessionOrder)),
    ("wr", Builtin::Given(Given::WriteRead)),
    ("rt", Builtin::Given(Given::RealTime)),
    ("listed", Builtin::Given(Given::Listed)),
    ("writes", Builtin::Given(Given::Writes)),
    ("reads", Builtin::Given(Given::Reads)),
    ("po", Builtin::Given(Given::ProgramOrder)),
    ("of", Builtin::Given(Given::Of)),
    ("from", Builtin::Given(Given::From)),
    ("key", Builtin::Given(Given::KeyOf)),
    ("stmt", Builtin::Given(Given::Statement)),
    ("omits", Builtin::Given(Given::Omits)),
    ("locks", Builtin::Given(Given::Locks)),
    ("at_newest", Builtin::Given(Given::Newest)),
    ("inserts", Builtin::Given(Given::Inserts)),
    ("makes", Builtin::Given(Given::Makes)),
    ("id", Builtin::Given(Given::Identity)),
    ("t0", Builtin::InitialTxn),
    ("init", Builtin::InitialSet),
    ("acyclic", Builtin::Predicate(Predicate::Acyclic)),
    ("irreflexive", Builtin::Predicate(Predicate::Irreflexive)),
    ("total", Builtin::Predicate(Predicate::Total)),
    ("transitive", Builtin::Predicate(Predicate::Transitive)),
    ("empty", Builtin::Predicate(Predicate::Empty)),
];

impl Given {
    /// The name of a relation of histories in a spec. A witness has its name from its framework, and none here.
    pub fn name(self) -> &'static str {
        BUILTINS.iter().find(|it| it.1 == Builtin::Given(self)).map_or("", |it| it.0)
    }
}

pub(crate) fn builtin(name: &str) -> Option<Builtin> {
    BUILTINS.iter().find(|it| it.0 == name).map(|it| it.1)
}

pub(crate) fn names<'a>() -> impl Iterator<Item = &'a str> {
    BUILTINS.iter().map(|it| it.0)
}

//! The syntax tree of a spec text: what was written, before names mean anything.

use crate::error::Span;
use crate::formula::Sort;

#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
    pub(crate) depth: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    Name(Name),
    Apply(Box<Expr>, Vec<Expr>),
    Index(Box<Expr>, Vec<Expr>),
    Tuple(Vec<Expr>),
    Quantified(Quantifier, Vec<Binder>, Box<Expr>),
    /// `{ t | .. }` or `{ t, s | .. }`.
    Such(Vec<Binder>, Box<Expr>),
    /// `[S]`: each member of S with itself.
    On(Box<Expr>),
    Postfix(Postfix, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    Truth(bool),
}

/// A name, perhaps with the module that it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) module: Option<String>,
    pub(crate) name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantifier {
    Forall,
    Exists,
}

#[derive(Clone, Debug)]
pub(crate) struct Binder {
    pub(crate) name: String,
    pub(crate) sort: Option<Sort>,
    pub(crate) span: Span,
    /// Its place in the module's table of sorts.
    pub(crate) id: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Postfix {
    Inverse,
    Closure,
    ReflexiveClosure,
    Reflexive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Iff,
    Implies,
    Or,
    And,
    In,
    Equal,
    NotEqual,
    Union,
    Difference,
    Intersection,
    Composition,
}

/// What a parameter of a definition may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Annotation {
    Element(Sort),
    Relation,
    Set,
    Formula,
}

#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) annotation: Option<Annotation>,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) name: String,
    pub(crate) name_span: Span,
    /// From its documentation to its last token.
    pub(crate) span: Span,
    pub(crate) docs: Vec<String>,
    pub(crate) kind: ItemKind,
}

#[derive(Clone, Debug)]
pub(crate) enum ItemKind {
    /// The name is a module of the catalogue, or a file.
    Import {
        is_file: bool,
    },
    Def {
        params: Vec<Param>,
        body: Expr,
    },
    Level {
        framework: Name,
        framework_span: Span,
        dirty_reads: bool,
        hidden_rows: bool,
        body: Expr,
    },
    Framework {
        witnesses: Vec<Declared>,
        requirements: Vec<Expr>,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub(crate) name: String,
    pub(crate) kind: crate::formula::WitnessKind,
    pub(crate) span: Span,
}

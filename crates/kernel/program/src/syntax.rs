//! The syntax tree of a program, as written: names are not resolved and nothing has a type yet.
//!
//! Two trees are equal if they say the same, wherever they stand: spans do not count.

use crate::error::Span;
use crate::program::ReadMode;

macro_rules! equal_but_for_its_span {
    ($name:ident, $($field:ident),+) => {
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                $(self.$field == other.$field)&&+
            }
        }
    };
}

#[derive(Clone, Debug)]
pub(crate) struct Ident {
    pub(crate) text: String,
    pub(crate) span: Span,
}
equal_but_for_its_span!(Ident, text);

#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) kind: ItemKind,
    pub(crate) span: Span,
}
equal_but_for_its_span!(Item, kind);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ItemKind {
    Width(i64),
    Enum { name: Ident, members: Vec<Ident> },
    Var { name: Ident, ty: Ident, initial: Option<Expr> },
    Table(Table),
    Init(Vec<Stmt>),
    Assume(Expr),
    Txn(TxnItem),
    Run(Vec<Session>),
    Claim { kind: ClaimKind, label: Option<String>, holds: Expr },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaimKind {
    Invariant,
    Observer,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    pub(crate) name: Ident,
    pub(crate) key: Ident,
    /// Keys that are declared; otherwise those that are used.
    pub(crate) keys: Option<Keys>,
    /// Names and types.
    pub(crate) fields: Vec<(Ident, Ident)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Keys {
    Range(Range),
    List(Vec<Expr>),
}

/// Whole numbers from the first to the last, both included.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    pub(crate) low: i64,
    pub(crate) high: i64,
    pub(crate) span: Span,
}
equal_but_for_its_span!(Range, low, high);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TxnItem {
    pub(crate) name: Ident,
    pub(crate) params: Vec<Param>,
    pub(crate) body: Vec<Stmt>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Param {
    pub(crate) name: Ident,
    pub(crate) ty: Option<Ident>,
}

/// Transactions that one client runs one after the other, and how many clients do so.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Session {
    pub(crate) times: Option<i64>,
    pub(crate) calls: Vec<Call>,
}

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) txn: Ident,
    pub(crate) args: Vec<Expr>,
    pub(crate) span: Span,
}
equal_but_for_its_span!(Call, txn, args);

#[derive(Clone, Debug)]
pub(crate) struct Stmt {
    pub(crate) kind: StmtKind,
    pub(crate) span: Span,
}
equal_but_for_its_span!(Stmt, kind);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StmtKind {
    Let {
        name: Ident,
        value: Expr,
    },
    /// Several values that one statement of a database reads.
    Select(Vec<(Ident, Expr)>),
    Assign {
        target: Expr,
        op: AssignOp,
        value: Expr,
    },
    If {
        condition: Expr,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
    ForRows {
        row: Ident,
        table: Ident,
        mode: ReadMode,
        body: Vec<Stmt>,
    },
    ForRange {
        name: Ident,
        low: Expr,
        high: Expr,
        body: Vec<Stmt>,
    },
    Insert {
        row: Row,
        fields: Vec<(Ident, Expr)>,
    },
    Maybe {
        row: Row,
        fields: Vec<(Ident, Expr)>,
    },
    Delete(Target),
    /// A statement that says by a condition which rows it changes, or what it does about a row that is there already.
    Change {
        /// The name that gets how many rows were made or changed.
        count: Option<Ident>,
        change: Change,
    },
    Abort,
    Assert(Expr),
}

/// A change of rows by one statement of a database.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// `update r in t where c { f: e }`.
    Update { row: Ident, of: Rows, condition: Option<Expr>, fields: Vec<(Ident, Expr)> },
    /// `delete r in t where c`.
    Delete { row: Ident, of: Rows, condition: Option<Expr> },
    /// `insert r in t[k] { f: e } on conflict update { f: r.f }`.
    Insert { name: Option<Ident>, row: Row, fields: Vec<(Ident, Expr)>, conflict: Conflict },
}

/// Which rows a change looks at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Rows {
    /// The one with a key.
    One(Row),
    /// All of a table.
    All(Ident),
}

/// What an insert does if the row is there already.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Conflict {
    Nothing,
    Update(Vec<(Ident, Expr)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AssignOp {
    Set,
    Add,
    Sub,
}

/// `t[k]`.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) table: Ident,
    pub(crate) key: Box<Expr>,
    pub(crate) span: Span,
}
equal_but_for_its_span!(Row, table, key);

/// A row by its key, or the row of a loop.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    Row(Row),
    Name(Ident),
}

#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
    /// How deeply it nests; later passes recurse over it.
    pub(crate) depth: u32,
}
equal_but_for_its_span!(Expr, kind);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ExprKind {
    Int(i64),
    Bool(bool),
    Text(String),
    Name(String),
    /// `t[k].f`, or `r.f` for a row of a loop, or `txn.parameter` in an assumption.
    Field(Target, Ident),
    /// `exists t[k]`.
    RowExists(Row),
    /// Does something with every row that exists.
    Over {
        quantifier: Quantifier,
        row: Ident,
        table: Ident,
        mode: ReadMode,
        body: Box<Expr>,
    },
    /// `.. for update`.
    Locked(Box<Expr>),
    Negated(Box<Expr>),
    Not(Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    Any {
        ty: Ident,
        range: Option<Range>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantifier {
    Forall,
    Exists,
    Count,
    Sum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Implies,
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Sub,
    Mul,
}

impl Quantifier {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Forall => "forall",
            Self::Exists => "exists",
            Self::Count => "count",
            Self::Sum => "sum",
        }
    }
}

impl Binary {
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Implies => "implies",
            Self::Or => "or",
            Self::And => "and",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
        }
    }

    /// How tightly it binds to what stands on its left and on its right; a greater number binds tighter.
    ///
    /// `implies` groups to the right, comparisons not at all, everything else to the left.
    pub(crate) fn powers(self) -> (u8, u8) {
        match self {
            Self::Implies => (2, 1),
            Self::Or => (3, 3),
            Self::And => (4, 4),
            Self::Add | Self::Sub => (7, 7),
            Self::Mul => (8, 8),
            _ => (COMPARISON, COMPARISON),
        }
    }
}

/// How tightly comparisons bind; the operand of `not` is everything that binds at least so.
pub(crate) const COMPARISON: u8 = 6;
/// How tightly a minus before its operand binds.
pub(crate) const NEGATION: u8 = 9;

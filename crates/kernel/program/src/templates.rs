//! What transactions may do to rows whatever their arguments are, so that questions about any number of them can be asked.
//!
//! A [`Template`] is a `txn` with its parameters left open. Each of its [`Way`]s is one course through its branches, as a
//! list of [`Access`]es, one for each statement that a database executes. Rows are named by constants and by variables
//! (parameters, or values that were read), which may be equal or different. What is known of a way errs on one side: an
//! access that may not happen is not [certain](Access::is_certain), and a key that depends on a loop stands for all rows.
//!
//! Rows of a table that no transaction makes or removes are taken to exist, unless the transaction asks whether they do. Of
//! other tables, both is looked at: an `UPDATE` that finds its row, and one that does not. A way that aborts leaves nothing, and is none.

mod change;
mod compared;
mod expression;
mod fields;
mod finish;
mod open;
mod walk;

use crate::error::{Problem, ProgramError, Span};
use crate::flatten::declared::declare;
use crate::parser::parse_items;
use std::collections::BTreeSet;

/// Some parts of a row: whether it exists, and fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parts(u64);

impl Parts {
    /// Does the row exist?
    pub const EXISTENCE: Self = Self(1);
    /// How many fields a table may have, here.
    pub(crate) const MAX_FIELDS: usize = 63;

    /// The field at a position.
    pub fn field(position: usize) -> Self {
        debug_assert!(position < Self::MAX_FIELDS);
        Self(2 << position)
    }

    /// Existence and the first fields: a whole row.
    pub fn whole(n_fields: usize) -> Self {
        (0..n_fields).fold(Self::EXISTENCE, |parts, it| parts.with(Self::field(it)))
    }

    /// These and those.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These but not those.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Is one among both?
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Are there none?
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The positions of the fields.
    pub fn fields(self) -> impl Iterator<Item = usize> {
        (0..Self::MAX_FIELDS).filter(move |it| self.meets(Self::field(*it)))
    }
}

/// A table, or a `var`, which is a table of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// Its name.
    pub name: String,
    /// The names of its fields; the single one of a `var` has none.
    pub fields: Vec<String>,
    /// The types of its fields, as the text names them.
    pub types: Vec<String>,
    /// The keys that are declared; nothing if any may be.
    pub keys: Option<Vec<Constant>>,
    /// Is it a `var`?
    pub is_var: bool,
    /// Does some transaction make or remove rows of it?
    pub grows: bool,
    /// Does some transaction remove rows of it? If none does, no two that commit make the same row.
    pub shrinks: bool,
}

/// A constant that names a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Constant {
    /// The row that a `var` is.
    Only,
    /// A number.
    Int(i64),
    /// A text.
    Text(String),
}

/// Which row an access is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKey {
    /// This one.
    Constant(Constant),
    /// The one that a variable of the way names.
    Variable(usize),
    /// All of the table: a scan, or a loop that may come to any of them.
    All,
}

/// What kind of statement an access is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessKind {
    /// SELECT, with or without FOR UPDATE.
    Read,
    /// UPDATE.
    Update,
    /// INSERT.
    Insert,
    /// DELETE.
    Delete,
}

/// What one statement of a way does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Access {
    /// The table, by its place in [`Templates::relations`].
    pub relation: usize,
    /// The row.
    pub key: RowKey,
    /// What it reads that the transaction has not written itself.
    pub reads: Parts,
    /// What it writes.
    pub writes: Parts,
    /// Does it hold the row locked until the transaction ends, as all that writes and `for update` do?
    pub locks: bool,
    /// Does it happen in every run of the way, and on the very row?
    pub is_certain: bool,
    /// Was the row there before? Nothing if the way does not say.
    pub found: Option<bool>,
    /// What kind of statement it is.
    pub kind: AccessKind,
    /// The statement, or the access, in the text.
    pub span: Span,
}

impl Access {
    /// Does it only read, and leave its row to others?
    pub fn is_plain_read(&self) -> bool {
        !self.locks && self.writes.is_empty()
    }

    /// Can it not be what another access of the same row comes after? Who finds a row that nobody removes comes after the one
    /// who made it, and who finds none comes before.
    pub fn never_precedes(&self, later: &Self, relations: &[Relation]) -> bool {
        let makes = |it: &Self| it.kind == AccessKind::Insert;
        let is_out_of_order = self.found == Some(true) && makes(later) || makes(self) && later.found == Some(false);
        self.relation == later.relation && !relations[self.relation].shrinks && is_out_of_order
    }
}

/// A value that a way leaves open and that names rows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variable {
    /// Its name in the text.
    pub name: String,
    /// The position of the parameter that it is, if it is one.
    pub param: Option<usize>,
}

/// One course through a transaction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Way {
    /// The values that name its rows.
    pub variables: Vec<Variable>,
    /// Keys that are known to differ.
    pub different: Vec<(RowKey, RowKey)>,
    /// What it does, in order; each is a statement of its own.
    pub accesses: Vec<Access>,
}

/// A `txn` with its parameters left open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub params: Vec<String>,
    /// Their types, as far as the text has them.
    pub types: Vec<Option<String>>,
    /// Every course that ends with a commit and does something.
    pub ways: Vec<Way>,
    /// Its name in the text.
    pub span: Span,
}

/// The transactions of a program as templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Templates {
    file: String,
    text: String,
    relations: Vec<Relation>,
    txns: Vec<Template>,
}

impl Templates {
    /// Reads the transactions of a text. What else it has (`run`, `init`, invariants) may be missing and does not matter.
    pub fn parse(text: &str, file: &str) -> Result<Self, Vec<ProgramError>> {
        let parsed = parse_items(text);
        let located = |problems: Vec<Problem>| problems.into_iter().map(|it| it.locate(file, text)).collect();
        if !parsed.problems.is_empty() {
            return Err(located(parsed.problems));
        }
        let mut problems = Vec::new();
        let declared = declare(&parsed.items, &parsed.texts, &mut problems);
        if problems.is_empty() && declared.txns.is_empty() {
            let hint = "declare what clients run, as in `txn withdraw(from, amount) { .. }`";
            problems.push(Problem::new(Span::default(), "there are no transactions", hint));
        }
        if !problems.is_empty() {
            return Err(located(problems));
        }
        let relations = walk::relations(&declared).map_err(|it| located(vec![*it]))?;
        let mut txns = Vec::new();
        for txn in &declared.txns {
            match walk::ways(txn, &declared, &relations) {
                Ok(ways) => txns.push(Template {
                    name: txn.name.text.clone(),
                    params: txn.params.iter().map(|it| it.name.text.clone()).collect(),
                    types: txn.params.iter().map(|it| it.ty.as_ref().map(|it| it.text.clone())).collect(),
                    ways,
                    span: txn.name.span,
                }),
                Err(problem) => problems.push(*problem),
            }
        }
        finish::generalize(&mut txns);
        if problems.is_empty() {
            Ok(Self { file: file.to_owned(), text: text.to_owned(), relations, txns })
        } else {
            Err(located(problems))
        }
    }

    /// The same with the reads at these spans locking their rows, as `for update` does.
    ///
    /// A read of all rows of a table locks those that exist. What is certain stays so only where no row can be missing.
    #[must_use]
    pub fn locking(&self, spans: &[Span]) -> Self {
        let mut locked = self.clone();
        let accesses = locked.txns.iter_mut().flat_map(|it| &mut it.ways).flat_map(|it| &mut it.accesses);
        for access in accesses.filter(|it| it.is_plain_read() && spans.contains(&it.span)) {
            access.locks = true;
            access.is_certain &= !self.relations[access.relation].grows;
        }
        locked
    }

    /// Only those with these names, in the same order.
    #[must_use]
    pub fn only(&self, names: &BTreeSet<&str>) -> Self {
        let mut some = self.clone();
        some.txns.retain(|it| names.contains(it.name.as_str()));
        some
    }

    /// The name of the text, as whoever asked gave it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The text that all spans point into.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The `var`s, then the tables.
    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// The transactions, in the order of the text.
    pub fn templates(&self) -> &[Template] {
        &self.txns
    }
}

#[cfg(test)]
mod tests;

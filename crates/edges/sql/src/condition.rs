//! WHERE: which row a condition names by its key, and what it says beside that.

use crate::expression::{Row, RowInScope, Scope};
use crate::names::name;
use crate::schema::Table;
use crate::tokens::Done;
use sqlparser::ast::{BinaryOperator, Expr};

/// A condition taken apart.
pub(crate) struct Where<'e> {
    /// What the key is equal to, if that is said.
    pub(crate) key: Option<&'e Expr>,
    /// Everything else.
    pub(crate) rest: Vec<&'e Expr>,
}

/// Takes a condition on a row of a table apart.
pub(crate) fn taken_apart<'e>(condition: Option<&'e Expr>, table: &Table, names: &[String]) -> Where<'e> {
    let mut found = Where { key: None, rest: Vec::new() };
    for part in condition.map(conjuncts).unwrap_or_default() {
        match key_of(part, table, names) {
            Some(key) if found.key.is_none() => found.key = Some(key),
            _ => found.rest.push(part),
        }
    }
    found
}

fn conjuncts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Nested(inner) => conjuncts(inner),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => [conjuncts(left), conjuncts(right)].concat(),
        other => vec![other],
    }
}

fn key_of<'e>(expr: &'e Expr, table: &Table, names: &[String]) -> Option<&'e Expr> {
    let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = expr else { return None };
    let is_key = |it: &Expr| column(it, names).is_some_and(|it| it == table.key.name);
    let sides = [(left, right), (right, left)];
    sides.into_iter().find(|it| is_key(it.0) && !mentions(it.1, table, names)).map(|it| &**it.1)
}

/// A key of several that a condition names.
pub(crate) enum Key<'e> {
    Said(&'e Expr),
    Number(i64),
}

/// So many rows of a range are named one by one.
const WIDEST: i64 = 64;

/// The keys that a condition names one by one: `id IN (a, b)`, or a range of numbers that is not too wide.
pub(crate) fn keys_among<'e>(rest: &[&'e Expr], table: &Table, names: &[String]) -> Option<Vec<Key<'e>>> {
    let is_key = |it: &Expr| column(it, names).is_some_and(|it| it == table.key.name);
    match rest {
        [Expr::InList { expr, list, negated: false }] if is_key(expr) => {
            let is_free = |it: &Expr| !mentions(it, table, names);
            list.iter().all(is_free).then(|| list.iter().map(Key::Said).collect())
        }
        [Expr::Between { expr, negated: false, low, high }] if is_key(expr) => {
            let number = |it: &Expr| it.to_string().parse::<i64>().ok();
            let (low, high) = (number(low)?, number(high)?);
            let is_narrow = low <= high && high.checked_sub(low)? < WIDEST;
            is_narrow.then(|| (low..=high).map(Key::Number).collect())
        }
        _ => None,
    }
}

fn column(expr: &Expr, names: &[String]) -> Option<String> {
    match expr {
        Expr::Nested(inner) => column(inner, names),
        Expr::Identifier(ident) => Some(name(ident)),
        Expr::CompoundIdentifier(parts) => match &parts[..] {
            [of, column] if names.contains(&name(of)) => Some(name(column)),
            _ => None,
        },
        _ => None,
    }
}

/// Does an expression look at the row?
pub(crate) fn mentions(expr: &Expr, table: &Table, names: &[String]) -> bool {
    let inner = |it: &Expr| mentions(it, table, names);
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {
            column(expr, names).is_some_and(|it| table.column(&it).is_some())
        }
        Expr::Nested(it) | Expr::UnaryOp { expr: it, .. } | Expr::Cast { expr: it, .. } => inner(it),
        Expr::BinaryOp { left, right, .. } => inner(left) || inner(right),
        Expr::Value(_) => false,
        // Whatever else it is, it is no key.
        _ => true,
    }
}

impl Scope<'_> {
    /// What a condition says of a row of that name; nothing if it says nothing.
    pub(crate) fn conditions(&mut self, parts: &[&Expr], of: RowInScope) -> Done<Option<String>> {
        self.rows.push(of);
        let parts: Done<Vec<String>> = parts.iter().map(|it| self.expr(it)).collect();
        self.rows.pop();
        let parts = parts?;
        Ok((!parts.is_empty()).then(|| parts.join(" and ")))
    }

    /// A name for a row, which no word of the text and no row around it has.
    pub(crate) fn row_name(&self) -> String {
        let is_row = |name: &str| self.rows.iter().any(|it| matches!(&it.row, Row::Named(it) if it == name));
        let mut names = std::iter::once("r".to_owned()).chain((2..).map(|it| format!("r{it}")));
        names.find(|it| !self.fresh.used.contains(it) && !is_row(it)).expect("there are names enough")
    }
}

/// A row of a table, as it is named.
pub(crate) fn named(names: &[String], table: usize, row: &str) -> RowInScope {
    RowInScope { names: names.to_vec(), table, row: Row::Named(row.to_owned()) }
}

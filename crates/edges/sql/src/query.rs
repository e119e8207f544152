//! SELECT: values of one row, counts and sums over rows, and whether there are any.

use crate::condition::{named, taken_apart};
use crate::expression::{Row, RowInScope, Scope, arguments};
use crate::names::{name, object};
use crate::tokens::{Done, fail};
use sqlparser::ast::{
    Expr, Function, LockType, Query, Select, SelectItem, SetExpr, Spanned, TableFactor, TableWithJoins,
};

/// A query of one table.
pub(crate) struct Simple<'q> {
    /// The columns and expressions that it names.
    pub(crate) projection: Vec<&'q Expr>,
    pub(crate) table: usize,
    pub(crate) names: Vec<String>,
    pub(crate) selection: Option<&'q Expr>,
    pub(crate) locks: bool,
}

impl Scope<'_> {
    /// The table of a FROM or an UPDATE, and what it is called.
    pub(crate) fn table_of(&self, from: &TableWithJoins) -> Done<(usize, Vec<String>)> {
        let at = self.place(from);
        let hint = "a statement is about one table; read the others before, each with a statement of its own";
        if !from.joins.is_empty() {
            return fail(at, "joins are not understood", hint);
        }
        let TableFactor::Table { name: of, alias, .. } = &from.relation else {
            return fail(at, format!("`{}` is no table", from.relation), hint);
        };
        let table = self.table_named(&object(of)?, at)?;
        let mut names = vec![self.tables[table].name.clone()];
        names.extend(alias.iter().map(|it| name(&it.name)));
        Ok((table, names))
    }

    pub(crate) fn table_named(&self, wanted: &str, at: (u32, u32)) -> Done<usize> {
        if let Some(found) = self.tables.iter().position(|it| it.name == wanted) {
            return Ok(found);
        }
        let known: Vec<&str> = self.tables.iter().map(|it| it.name.as_str()).collect();
        fail(at, format!("there is no table `{wanted}`"), format!("there are {}", known.join(", ")))
    }

    pub(crate) fn simple<'q>(&self, query: &'q Query) -> Done<Simple<'q>> {
        let at = self.place(query);
        let is_plain = query.with.is_none()
            && query.order_by.is_none()
            && query.limit_clause.is_none()
            && query.fetch.is_none()
            && query.for_clause.is_none();
        if !is_plain {
            let hint = "a query is SELECT .. FROM t WHERE .., perhaps FOR UPDATE";
            return fail(at, "WITH, ORDER BY, LIMIT and the like are not understood", hint);
        }
        let SetExpr::Select(select) = &*query.body else {
            return fail(at, "this query is not understood", "a query is SELECT .. FROM t WHERE ..");
        };
        let Select { projection, from, selection, .. } = &**select;
        let [from] = &from[..] else {
            return fail(
                at,
                "a query reads one table",
                "SELECT .. FROM t WHERE ..; several are read by several queries",
            );
        };
        let is_grouped = select.distinct.is_some()
            || select.having.is_some()
            || select.group_by.span() != sqlparser::tokenizer::Span::empty();
        if is_grouped {
            return fail(
                at,
                "DISTINCT, GROUP BY and HAVING are not understood",
                "count and sum are over all rows that match",
            );
        }
        let (table, names) = self.table_of(from)?;
        let mut exprs = Vec::new();
        for item in projection {
            match item {
                // `SELECT 1` and `SELECT *` name no column.
                SelectItem::UnnamedExpr(Expr::Value(_)) | SelectItem::Wildcard(_) => {}
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => exprs.push(expr),
                other => return fail(self.place(other), format!("`{other}` is not understood"), "name the columns"),
            }
        }
        let locks = match &query.locks[..] {
            [] => false,
            [lock] if lock.lock_type == LockType::Update && lock.nonblock.is_none() => true,
            [other, ..] => {
                let hint = "FOR UPDATE, which waits, is the lock that is understood";
                return fail(at, format!("`{other}` is not understood"), hint);
            }
        };
        Ok(Simple { projection: exprs, table, names, selection: selection.as_ref(), locks })
    }

    /// The value of a subquery: an aggregate, or a column of one row.
    pub(crate) fn scalar(&mut self, query: &Query) -> Done<String> {
        let simple = self.simple(query)?;
        let [only] = simple.projection[..] else {
            return fail(self.place(query), "a query in an expression has one value", "as in (SELECT count(*) FROM t)");
        };
        if let Some(aggregate) = self.aggregate(only, &simple)? {
            return Ok(aggregate);
        }
        let mut values = self.of_one_row(&simple, query)?;
        Ok(values.pop().unwrap_or_default())
    }

    /// Values of the row that a query names by its key.
    pub(crate) fn of_one_row(&mut self, simple: &Simple<'_>, at: &impl Spanned) -> Done<Vec<String>> {
        let (of, rest) = self.one_row(simple)?;
        let Some(of) = of else {
            let key = &self.tables[simple.table].key.name;
            let hint = format!("name the row by its key, WHERE {key} = .., or ask for count(*) or sum(..)");
            return fail(self.place(at), "this query may find several rows", hint);
        };
        if let Some(first) = rest.first() {
            let hint = "read the columns of the condition, too, and decide with IF";
            return fail(self.place(*first), "a row that is named by its key has no other condition here", hint);
        }
        self.rows.push(of);
        let values = simple.projection.iter().map(|it| self.expr(it)).collect();
        self.rows.pop();
        values
    }

    /// The row that a query names by its key, if it does, and the other conditions.
    pub(crate) fn one_row<'q>(&mut self, simple: &Simple<'q>) -> Done<(Option<RowInScope>, Vec<&'q Expr>)> {
        let found = taken_apart(simple.selection, &self.tables[simple.table], &simple.names);
        let Some(key) = found.key else { return Ok((None, found.rest)) };
        let key = self.expr(key)?;
        let access = format!("{}[{}]", self.tables[simple.table].name, bare(&key));
        let lock = if simple.locks { " for update" } else { "" };
        let row = Row::Keyed { access, key, lock };
        Ok((Some(RowInScope { names: simple.names.clone(), table: simple.table, row }), found.rest))
    }

    /// `count(*)` and `sum(e)` as quantifiers, if that is what it is.
    pub(crate) fn aggregate(&mut self, expr: &Expr, simple: &Simple<'_>) -> Done<Option<String>> {
        let function = match expr {
            Expr::Nested(inner) => return self.aggregate(inner, simple),
            Expr::Function(function) => function,
            _ => return Ok(None),
        };
        let called = function.name.to_string().to_lowercase();
        match called.as_str() {
            "coalesce" => match arguments(function)[..] {
                [first, _] => self.aggregate(first, simple),
                _ => Ok(None),
            },
            "count" | "sum" => self.over(&called, function, simple).map(Some),
            "max" | "min" | "avg" => {
                let hint = "there are count and sum; that no row is greater says NOT EXISTS (SELECT 1 FROM t WHERE ..)";
                fail(self.place(expr), format!("{called} is not understood"), hint)
            }
            _ => Ok(None),
        }
    }

    fn over(&mut self, called: &str, function: &Function, simple: &Simple<'_>) -> Done<String> {
        let (row, table) = (self.row_name(), self.tables[simple.table].name.clone());
        let lock = if simple.locks { " for update" } else { "" };
        let named = named(&simple.names, simple.table, &row);
        let parts: Vec<&Expr> = simple.selection.into_iter().collect();
        let condition = self.conditions(&parts, named.clone())?;
        if simple.locks && condition.is_some() {
            return self.no_locked_range(function);
        }
        if called == "count" {
            let condition = condition.unwrap_or_else(|| "true".to_owned());
            return Ok(format!("(count {row} in {table}{lock}: {condition})"));
        }
        let [of] = arguments(function)[..] else {
            return fail(self.place(function), "sum is over one expression", "as in sum(balance)");
        };
        self.rows.push(named);
        let value = self.expr(of);
        self.rows.pop();
        let value = value?;
        let value = condition.map_or(value.clone(), |it| format!("if {it} then {value} else 0"));
        Ok(format!("(sum {row} in {table}{lock}: {value})"))
    }

    pub(crate) fn no_locked_range<T>(&self, at: &impl Spanned) -> Done<T> {
        let hint = "lock rows by their keys, as in WHERE id IN (:a, :b), or all rows of the table without a WHERE";
        fail(self.place(at), "FOR UPDATE of rows that match a condition is not understood", hint)
    }

    /// Whether there is such a row.
    pub(crate) fn exists(&mut self, query: &Query) -> Done<String> {
        let simple = self.simple(query)?;
        self.exists_in(&simple)
    }

    pub(crate) fn exists_in(&mut self, simple: &Simple<'_>) -> Done<String> {
        let (of, rest) = self.one_row(simple)?;
        if let (Some(RowInScope { row: Row::Keyed { access, lock, .. }, .. }), []) = (of, &rest[..]) {
            return Ok(format!("(exists {access}{lock})"));
        }
        let (row, table) = (self.row_name(), self.tables[simple.table].name.clone());
        let named = named(&simple.names, simple.table, &row);
        let parts: Vec<&Expr> = simple.selection.into_iter().collect();
        let condition = self.conditions(&parts, named)?;
        if simple.locks && condition.is_some() {
            return fail(
                self.at,
                "FOR UPDATE of rows that match a condition is not understood",
                "lock one row by its key",
            );
        }
        let lock = if simple.locks { " for update" } else { "" };
        Ok(format!("(exists {row} in {table}{lock}: {})", condition.unwrap_or_else(|| "true".to_owned())))
    }
}

/// Without the parentheses around it.
pub(crate) fn bare(text: &str) -> &str {
    let Some(inner) = text.strip_prefix('(').and_then(|it| it.strip_suffix(')')) else { return text };
    let mut depth = 0;
    for sign in inner.chars() {
        match sign {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return text;
        }
    }
    inner
}

//! Which rows a key expression may mean, and access to them.

use super::fold;
use super::scope::{Possible, RowBinding, Scope, Seen};
use crate::error::{Checked, Span, fail};
use crate::ids::{TableId, UnitId};
use crate::program::{Expr, ReadMode, UnitPart};
use crate::syntax::{ExprKind, Row};
use crate::value::{Type, Value};

/// The rows that `t[k]` may mean.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) table: TableId,
    key: Expr,
    pub(super) rows: Vec<(Value, UnitId)>,
    /// May it be none of them?
    pub(super) may_be_outside: bool,
    /// May it be a row that only the next round knows?
    is_unsettled: bool,
}

impl Choice {
    /// Is it the row with this key?
    pub(super) fn is(&self, key: Value) -> Expr {
        fold::equal(self.key.clone(), Expr::Const(key))
    }

    /// The key of one of its rows.
    pub(super) fn key_of(&self, unit: UnitId) -> Value {
        self.rows.iter().find(|it| it.1 == unit).expect("the unit is one of its rows").0
    }

    /// Are all rows known that it may be?
    pub(super) fn is_settled(&self) -> bool {
        !self.is_unsettled
    }

    /// Is it none of the rows?
    pub(super) fn is_outside(&self) -> Expr {
        fold::and(self.rows.iter().map(|it| fold::not(self.is(it.0))))
    }
}

/// A part of a row that only the next round knows.
///
/// It must not look like the default of a row that does not exist, which would be a constant, and in turn a key.
pub(super) fn unsettled(part: UnitPart) -> Expr {
    Expr::State(UnitId::from_index(u32::MAX as usize - 1), part)
}

impl Scope<'_, '_, '_> {
    pub(super) fn rows_at(&mut self, row: &Row) -> Checked<Choice> {
        let table = self.world.declared.table_named(&row.table)?;
        let key = self.expr(&row.key)?;
        self.check_key_type(table, key.ty, row.key.span)?;
        let is_declared = self.world.declared.tables[table.index()].keys.is_some();
        let possible = match self.possible_values(&key.expr) {
            Possible::Values(values) => Some(values),
            Possible::TooMany if !is_declared => {
                let message = "this key may be any of too many values";
                let hint = "give it a range, as in `any int in 1..4`, or declare the keys, as in `table t(id in 1..4)`";
                return fail(row.key.span, message, hint);
            }
            _ => None,
        };
        let rows = self.world.rows(table).to_vec();
        let is_row = |key: &Value| rows.iter().any(|it| it.0 == *key);
        let outside = possible.iter().flatten().find(|it| !is_row(it)).copied();
        if let Some(outside) = outside {
            self.want_row(table, outside, row, is_declared)?;
        }
        if let (Some(values), false) = (&possible, is_declared) {
            self.world.want(table, values.iter().copied(), row.key.span);
        }
        let may_be_outside = possible.is_none() || outside.is_some();
        let is_unsettled = !is_declared && (outside.is_some() || rows.is_empty());
        let fits = |key: &Value| possible.as_ref().is_none_or(|it| it.contains(key));
        let rows = rows.iter().filter(|it| fits(&it.0)).copied().collect();
        let key = self.simple(key, row.key.span)?;
        Ok(Choice { table, key, rows, may_be_outside, is_unsettled })
    }

    /// A constant that stands in the text should be among the keys that the text declares.
    fn want_row(&mut self, table: TableId, key: Value, row: &Row, is_declared: bool) -> Checked<()> {
        let is_literal = matches!(row.key.kind, ExprKind::Int(_) | ExprKind::Text(_));
        if !is_declared || !is_literal {
            return Ok(());
        }
        let decl = &self.world.declared.tables[table.index()];
        let keys: Vec<String> = decl.keys.iter().flatten().map(|it| self.world.declared.show(*it)).collect();
        let message = format!("{} is no key of `{}`", self.world.declared.show(key), decl.name.text);
        fail(row.key.span, message, format!("its keys are {}", keys.join(", ")))
    }

    fn check_key_type(&mut self, table: TableId, ty: Type, at: Span) -> Checked<()> {
        let declared = self.world.declared;
        if ty != Type::Int && ty != Type::TEXT {
            let message = format!("a key cannot be {}", declared.show_type(ty));
            return fail(at, message, "keys are numbers or texts");
        }
        let known = *self.world.key_types[table.index()].get_or_insert(ty);
        if known != ty {
            let name = &declared.tables[table.index()].name.text;
            let (known, found) = (declared.show_type(known), declared.show_type(ty));
            let message = format!("the keys of `{name}` are {known}, and this is {found}");
            return fail(at, message, "keys of a table have one type");
        }
        Ok(())
    }

    /// A part of the row that is meant; what a row that does not exist has, if none is.
    pub(super) fn look(
        &mut self,
        choice: &Choice,
        part: UnitPart,
        ty: Type,
        mode: ReadMode,
        span: Span,
    ) -> Checked<Expr> {
        if choice.is_unsettled {
            return Ok(unsettled(part));
        }
        let found = self.in_statement(|it| {
            let mut found = Vec::new();
            for (key, unit) in &choice.rows {
                let mut condition = choice.is(*key);
                let seen = it.guarded_row(&mut condition, span, |it| it.see(*unit, mode, span))?;
                found.push((condition, seen.part(part)));
            }
            Ok(found)
        })?;
        let missing = Expr::Const(ty.default_value());
        Ok(found.into_iter().rev().fold(missing, |other, (condition, part)| fold::choose(condition, part, other)))
    }

    /// Conditions on a simple key are said again, not bound: there is one for each row.
    pub(super) fn guarded_row<T>(
        &mut self,
        condition: &mut Expr,
        span: Span,
        flatten: impl FnOnce(&mut Self) -> Checked<T>,
    ) -> Checked<T> {
        if let Expr::Const(_) = condition {
            return self.guarded(condition, true, span, flatten);
        }
        let (result, then) = self.apart(flatten)?;
        if !then.is_empty() {
            let condition = condition.clone();
            self.push(crate::program::Stmt::If { condition, then, otherwise: Vec::new() }, span)?;
        }
        Ok(result)
    }

    /// The row of a loop as the loop saw it, or seen again if the transaction may have written it since.
    pub(super) fn current(&mut self, row: RowBinding, span: Span) -> Checked<Seen> {
        if self.writes_of(row.unit) == row.n_writes { Ok(row.seen) } else { self.see(row.unit, ReadMode::Plain, span) }
    }
}

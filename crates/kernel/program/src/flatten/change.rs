//! Flattens statements that choose the rows they change by a condition, or look whether there is one already.
//!
//! All rows of a table are looked at first, as by a scan; those that fit are read again, as they are when they can be
//! locked, and changed if they still fit. A row that is named by its key is looked at once: whether it did not fit from the
//! start or does not fit any more makes no difference.

use super::fold;
use super::rows::unsettled;
use super::scope::{Binding, RowBinding, Scope, Seen, Typed};
use crate::error::{Checked, Span, fail};
use crate::ids::{ReadId, TableId, UnitId};
use crate::program::{Expr, ReadMode, Stmt, UnitPart};
use crate::syntax::{self, AssignOp, Change, Conflict, Ident, Row, Rows};
use crate::value::{Type, Value};

/// What happens to the rows that fit.
struct Deed<'s> {
    row: &'s Ident,
    condition: Option<&'s syntax::Expr>,
    /// The new fields; nothing removes the row.
    fields: Option<&'s [(Ident, syntax::Expr)]>,
    span: Span,
}

impl Scope<'_, '_, '_> {
    pub(super) fn change(&mut self, count: Option<&Ident>, change: &Change, span: Span) -> Checked<()> {
        let (n_changed, is_settled) = match change {
            Change::Update { row, of, condition, fields } => {
                let deed = Deed { row, condition: condition.as_ref(), fields: Some(fields), span };
                self.change_where(of, &deed)?
            }
            Change::Delete { row, of, condition } => {
                let deed = Deed { row, condition: condition.as_ref(), fields: None, span };
                self.change_where(of, &deed)?
            }
            Change::Insert { name, row, fields, conflict } => {
                self.insert_or(name.as_ref(), (row, fields), conflict, span)?
            }
        };
        let Some(count) = count else { return Ok(()) };
        let total = if is_settled { self.total(n_changed, span) } else { unsettled(UnitPart::Exists) };
        let value = Typed { expr: total, ty: Type::Int };
        let expr = if matches!(value.expr, Expr::Const(_)) { value.expr } else { self.bind(&count.text, value, span)? };
        self.define(count, Binding::Value(Typed { expr, ty: Type::Int }))
    }

    fn total(&self, is_changed: Vec<Expr>, span: Span) -> Expr {
        let number = |it: i64| Expr::Const(Value::Int(it));
        is_changed.into_iter().fold(number(0), |sum, it| {
            let one = fold::choose(it, number(1), number(0));
            if sum == number(0) { one } else { self.arith(crate::program::Arith::Add, sum, one, span).expr }
        })
    }

    /// For each row whether it was changed, and whether all rows are known.
    fn change_where(&mut self, of: &Rows, deed: &Deed<'_>) -> Checked<(Vec<Expr>, bool)> {
        match of {
            Rows::All(table) => {
                let table = self.world.declared.table_named(table)?;
                let is_settled = !self.world.rows(table).is_empty();
                Ok((self.in_statement(|it| it.change_all(table, deed))?, is_settled))
            }
            Rows::One(row) => {
                let choice = self.rows_at(row)?;
                let mut is_changed = Vec::new();
                self.change_rows(&choice, deed.span, |it, unit| {
                    let key = choice.key_of(unit);
                    let seen = it.read(unit, ReadMode::Check, None, row.span)?;
                    let fits = it.change_one((choice.table, key, unit), seen, deed)?;
                    is_changed.push(fold::and([choice.is(key), fits]));
                    Ok(())
                })?;
                Ok((is_changed, choice.is_settled()))
            }
        }
    }

    fn change_all(&mut self, table: TableId, deed: &Deed<'_>) -> Checked<Vec<Expr>> {
        let rows = self.world.rows(table).to_vec();
        let mut found = Vec::new();
        for (key, unit) in rows {
            let row = (table, key, unit);
            if !self.is_left_out(row, deed)? {
                found.push((row, self.read(unit, ReadMode::Search, None, deed.row.span)?));
            }
        }
        let mut is_changed = Vec::new();
        for (row, search) in found {
            let mut may_fit = self.fits(row, search, deed)?;
            let mut fits = fold::FALSE;
            self.guarded(&mut may_fit, true, deed.span, |it| {
                let again = it.read(row.2, ReadMode::Update, Some(search), deed.row.span)?;
                fits = it.change_one(row, again, deed)?;
                Ok(())
            })?;
            is_changed.push(fold::and([may_fit, fits]));
        }
        Ok(is_changed)
    }

    /// Does the key alone say that the row does not fit? Then nobody looks at it.
    fn is_left_out(&mut self, row: (TableId, Value, UnitId), deed: &Deed<'_>) -> Checked<bool> {
        let Some(condition) = deed.condition else { return Ok(false) };
        let (seen, span) = (Seen::State(row.2), condition.span);
        Ok(self.of_row(row, seen, deed.row, span, |it| it.condition(condition))? == fold::FALSE)
    }

    /// Changes the row if it fits as it was read now, and says whether it does.
    fn change_one(&mut self, row: (TableId, Value, UnitId), read: ReadId, deed: &Deed<'_>) -> Checked<Expr> {
        let mut fits = self.fits(row, read, deed)?;
        let new = match deed.fields {
            Some(fields) => Some(self.new_fields(row, read, deed.row, fields)?),
            None => None,
        };
        self.guarded(&mut fits, true, deed.span, |it| it.write(row.2, new, deed.span))?;
        Ok(fits)
    }

    fn fits(&mut self, row: (TableId, Value, UnitId), read: ReadId, deed: &Deed<'_>) -> Checked<Expr> {
        let exists = Expr::Read(read, UnitPart::Exists);
        let Some(condition) = deed.condition else { return Ok(exists) };
        let holds = self.of_row(row, Seen::Read(read), deed.row, condition.span, |it| it.condition(condition))?;
        Ok(fold::and([exists, holds]))
    }

    /// All fields of a changed row.
    fn new_fields(
        &mut self,
        row: (TableId, Value, UnitId),
        read: ReadId,
        name: &Ident,
        fields: &[(Ident, syntax::Expr)],
    ) -> Checked<Vec<Expr>> {
        let declared = self.world.declared;
        let types: Vec<Type> = declared.tables[row.0.index()].fields.iter().map(|it| it.ty).collect();
        let mut values: Vec<Expr> = (0..types.len()).map(|it| Expr::Read(read, UnitPart::Field(it))).collect();
        for (idx, (field, value)) in fields.iter().enumerate() {
            let position = declared.field_named(row.0, field)?;
            if fields[..idx].iter().any(|it| it.0 == *field) {
                return fail(field.span, format!("`{}` is given twice", field.text), "leave one of them out");
            }
            values[position] = self.of_row(row, Seen::Read(read), name, value.span, |it| {
                it.assigned(&field.text, types[position], AssignOp::Set, value)
            })?;
        }
        Ok(values)
    }

    /// An expression about one row. It looks at nothing else.
    fn of_row(
        &mut self,
        (table, key, unit): (TableId, Value, UnitId),
        seen: Seen,
        name: &Ident,
        span: Span,
        flatten: impl FnOnce(&mut Self) -> Checked<Expr>,
    ) -> Checked<Expr> {
        let n_names = self.names.len();
        let binding = RowBinding { table, key, unit, seen, n_writes: self.writes_of(unit) };
        self.define(name, Binding::Row(binding))?;
        let (expr, inner) = self.apart(flatten)?;
        self.names.truncate(n_names);
        if inner.is_empty() {
            return Ok(expr);
        }
        let message = format!("this looks at more than the row `{}`", name.text);
        fail(span, message, "name what else is read with `let`, in a line before")
    }

    /// For each row whether it was made or changed, and whether all rows are known.
    fn insert_or(
        &mut self,
        name: Option<&Ident>,
        (row, fields): (&Row, &[(Ident, syntax::Expr)]),
        conflict: &Conflict,
        span: Span,
    ) -> Checked<(Vec<Expr>, bool)> {
        let choice = self.rows_at(row)?;
        let values = self
            .record(choice.table, fields, |it, field, ty, value| it.assigned(&field.text, ty, AssignOp::Set, value))?;
        let values = self.simple_record(choice.table, values, span)?;
        let nobody = Ident { text: String::new(), span };
        let mut is_changed = Vec::new();
        self.change_rows(&choice, span, |it, unit| {
            let key = choice.key_of(unit);
            let read = it.read(unit, ReadMode::Check, None, row.span)?;
            let mut exists = Expr::Read(read, UnitPart::Exists);
            it.guarded(&mut exists, false, span, |it| it.write(unit, Some(values.clone()), span))?;
            is_changed.push(match conflict {
                Conflict::Nothing => fold::and([choice.is(key), fold::not(exists)]),
                Conflict::Update(fields) => {
                    let of = (choice.table, key, unit);
                    let new = it.new_fields(of, read, name.unwrap_or(&nobody), fields)?;
                    it.guarded(&mut exists, true, span, |it| it.write(unit, Some(new), span))?;
                    choice.is(key)
                }
            });
            Ok(())
        })?;
        if choice.may_be_outside {
            let mut is_outside = choice.is_outside();
            self.guarded(&mut is_outside, true, span, |it| it.push(Stmt::NoSuchRow { span }, span))?;
        }
        Ok((is_changed, choice.is_settled()))
    }
}

//! Flattens statements: loops are unrolled, changes of rows become a read, a condition and a write.

use super::declared::Global;
use super::rows::Choice;
use super::scope::{Binding, RowBinding, Scope, Seen, Typed};
use crate::error::{Checked, Span, fail};
use crate::ids::{TableId, UnitId};
use crate::program::{AbortCause, Arith, Expr, ReadMode, Stmt, UnitKind, UnitPart};
use crate::syntax::{self, AssignOp, ExprKind, Ident, Row, StmtKind, Target};
use crate::value::{Type, Value};
use std::collections::BTreeSet;

/// How often a loop over numbers may run.
const MAX_TURNS: i64 = 256;

impl Scope<'_, '_, '_> {
    pub(super) fn block(&mut self, stmts: &[syntax::Stmt]) -> Checked<()> {
        let n_names = self.names.len();
        for stmt in stmts {
            self.stmt(stmt)?;
        }
        self.names.truncate(n_names);
        Ok(())
    }

    fn stmt(&mut self, stmt: &syntax::Stmt) -> Checked<()> {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Let { name, value } => self.binding(name, value),
            StmtKind::Select(all) => self.select(all, span),
            StmtKind::Assign { target, op, value } => self.assign(target, *op, value, span),
            StmtKind::If { condition, then, otherwise } => self.branch(condition, then, otherwise, span),
            StmtKind::ForRows { row, table, mode, body } => self.for_rows(row, table, *mode, body),
            StmtKind::ForRange { name, low, high, body } => {
                let body = |it: &mut Self| it.block(body);
                self.for_range(name, low, high, body)
            }
            StmtKind::Insert { row, fields } => self.insert(row, fields, span),
            StmtKind::Delete(target) => self.delete(target, span),
            StmtKind::Change { count, change } => self.change(count.as_ref(), change, span),
            StmtKind::Abort => self.push(Stmt::Abort { cause: AbortCause::Asked, span }, span),
            StmtKind::Assert(condition) => {
                self.world.has_assert = true;
                let holds = self.condition(condition)?;
                self.push(Stmt::Assert { holds, span: condition.span }, span)
            }
            StmtKind::Maybe { .. } => {
                fail(span, "`maybe` is about the initial state", "write it in `init`; a transaction decides with `if`")
            }
        }
    }

    fn binding(&mut self, name: &Ident, value: &syntax::Expr) -> Checked<()> {
        let value = self.expr(value)?;
        self.name_value(name, value)
    }

    fn name_value(&mut self, name: &Ident, value: Typed) -> Checked<()> {
        let ty = value.ty;
        let is_constant = matches!(value.expr, Expr::Const(_));
        let expr = if is_constant { value.expr } else { self.bind(&name.text, value, name.span)? };
        self.define(name, Binding::Value(Typed { expr, ty }))
    }

    /// Several values, read by one statement, which looks at one table.
    fn select(&mut self, all: &[(Ident, syntax::Expr)], span: Span) -> Checked<()> {
        let n_reads = self.reads.len();
        let values: Vec<Typed> = self.in_statement(|it| all.iter().map(|(_, value)| it.expr(value)).collect())?;
        let tables: BTreeSet<Option<TableId>> = self.reads[n_reads..]
            .iter()
            .map(|it| match self.world.units[it.unit.index()].kind {
                UnitKind::Row { table, .. } => Some(table),
                UnitKind::Var => None,
            })
            .collect();
        if tables.len() > 1 {
            let hint = "values of several tables are read by several statements, each with a `let` of its own";
            return fail(span, "one statement reads one table", hint);
        }
        all.iter().zip(values).try_for_each(|((name, _), value)| self.name_value(name, value))
    }

    fn branch(
        &mut self,
        condition: &syntax::Expr,
        then: &[syntax::Stmt],
        otherwise: &[syntax::Stmt],
        span: Span,
    ) -> Checked<()> {
        let condition = self.condition(condition)?;
        let constant = if let Expr::Const(it) = condition { Some(it == Value::Bool(true)) } else { None };
        let mut ways = Vec::new();
        for (way, stmts) in [(true, then), (false, otherwise)] {
            let (n_reads, n_locals) = (self.reads.len(), self.locals.len());
            let ((), inner) = self.apart(|it| it.block(stmts))?;
            match constant {
                None => ways.push(inner),
                Some(truth) => self.keep_if(truth == way, inner, n_reads, n_locals),
            }
        }
        if let (Some(otherwise), Some(then)) = (ways.pop(), ways.pop()) {
            self.push(Stmt::If { condition, then, otherwise }, span)?;
        }
        Ok(())
    }

    /// All rows are read first, as SELECT does; then comes the body for each that exists.
    fn for_rows(&mut self, row: &Ident, table: &Ident, mode: ReadMode, body: &[syntax::Stmt]) -> Checked<()> {
        let table_id = self.world.declared.table_named(table)?;
        for binding in self.scan(table_id, mode, table.span)? {
            let n_names = self.names.len();
            self.define(row, Binding::Row(binding))?;
            self.guarded(&mut binding.seen.part(UnitPart::Exists), true, table.span, |it| it.block(body))?;
            self.names.truncate(n_names);
        }
        Ok(())
    }

    /// Does something for each number of a range.
    pub(super) fn for_range(
        &mut self,
        name: &Ident,
        low: &syntax::Expr,
        high: &syntax::Expr,
        mut body: impl FnMut(&mut Self) -> Checked<()>,
    ) -> Checked<()> {
        let (first, last) = (self.bound(low)?, self.bound(high)?);
        if last - first >= MAX_TURNS {
            let hint = format!("a loop runs at most {MAX_TURNS} times");
            return fail(low.span.to(high.span), format!("this loop runs {} times", last - first + 1), hint);
        }
        for number in first..=last {
            let n_names = self.names.len();
            let value = Typed { expr: Expr::Const(Value::Int(number)), ty: Type::Int };
            self.define(name, Binding::Value(value))?;
            body(self)?;
            self.names.truncate(n_names);
        }
        Ok(())
    }

    fn bound(&mut self, bound: &syntax::Expr) -> Checked<i64> {
        let hint = "a loop is `for i in 1..3 { .. }` or `for a in accounts { .. }`";
        match self.of_type(bound, Type::Int, hint)? {
            Expr::Const(value) => Ok(value.code()),
            _ => {
                fail(bound.span, "bounds of a loop are constants", "use a number, or a parameter that is one at `run`")
            }
        }
    }

    fn assign(&mut self, target: &syntax::Expr, op: AssignOp, value: &syntax::Expr, span: Span) -> Checked<()> {
        match &target.kind {
            ExprKind::Name(name) => self.assign_var(name, target.span, op, value, span),
            ExprKind::Field(Target::Row(row), field) => {
                let choice = self.rows_at(row)?;
                let (position, value) = self.field_value(choice.table, field, op, value)?;
                // The value is computed before the row is looked at, and also if there is none.
                let value = self.simple(value, span)?;
                self.change_rows(&choice, span, |it, unit| {
                    let seen = it.see(unit, ReadMode::Update, target.span)?;
                    it.set_field(unit, seen, position, op, value.clone(), span)
                })
            }
            ExprKind::Field(Target::Name(name), field) => {
                let row = self.row_named(name)?;
                let (position, value) = self.field_value(row.table, field, op, value)?;
                let value = self.simple(value, span)?;
                self.in_statement(|it| {
                    let seen = it.see(row.unit, ReadMode::Update, target.span)?;
                    it.set_field(row.unit, seen, position, op, value, span)
                })
            }
            _ => fail(target.span, "only a variable or a field can be written", "as in `accounts[\"x\"].balance = 0`"),
        }
    }

    fn row_named(&mut self, name: &Ident) -> Checked<RowBinding> {
        match (self.lookup(&name.text), self.world.declared.global(&name.text)) {
            (Some(Binding::Row(row)), _) => Ok(*row),
            (None, None) => self.unknown_name(&name.text, name.span),
            (_, global) => {
                let is = global.map_or("a value", Global::describe);
                fail(
                    name.span,
                    format!("`{}` is {is}, and no row", name.text),
                    "a row is `accounts[\"x\"]`, or that of a loop",
                )
            }
        }
    }

    fn assign_var(
        &mut self,
        name: &str,
        name_span: Span,
        op: AssignOp,
        value: &syntax::Expr,
        span: Span,
    ) -> Checked<()> {
        let idx = self.var_named(name, name_span)?;
        let (ty, unit) = (self.world.declared.vars[idx].ty, UnitId::from_index(idx));
        let value = self.assigned(name, ty, op, value)?;
        self.in_statement(|it| {
            let value = if op == AssignOp::Set {
                value
            } else {
                let old = it.see(unit, ReadMode::Update, name_span)?.part(UnitPart::Field(0));
                it.changed(old, op, value, span)
            };
            it.write(unit, Some(vec![value]), span)
        })
    }

    pub(super) fn write(&mut self, unit: UnitId, row: Option<Vec<Expr>>, span: Span) -> Checked<()> {
        let statement = self.statement_here();
        self.push(Stmt::Write { unit, row, statement, span }, span)
    }

    /// One statement of a database, whichever row it is about.
    pub(super) fn change_rows(
        &mut self,
        choice: &Choice,
        span: Span,
        mut change: impl FnMut(&mut Self, UnitId) -> Checked<()>,
    ) -> Checked<()> {
        self.in_statement(|it| {
            for (key, unit) in &choice.rows {
                it.guarded_row(&mut choice.is(*key), span, |it| change(it, *unit))?;
            }
            Ok(())
        })
    }

    /// A variable that is written.
    pub(super) fn var_named(&self, name: &str, at: Span) -> Checked<usize> {
        match (self.lookup(name), self.world.declared.global(name)) {
            (None, Some(Global::Var(idx))) => Ok(idx),
            (None, None) => self.unknown_name(name, at),
            (Some(_), _) => {
                let hint = "only variables and rows change; a total is `sum r in t: r.x`";
                fail(at, format!("`{name}` keeps its value"), hint)
            }
            (None, Some(other)) => {
                fail(at, format!("`{name}` is {}", other.describe()), "only variables and rows change")
            }
        }
    }

    /// A value of the type of what it is written to.
    pub(super) fn assigned(&mut self, name: &str, ty: Type, op: AssignOp, value: &syntax::Expr) -> Checked<Expr> {
        let shown = self.world.declared.show_type(ty).to_owned();
        if op != AssignOp::Set && ty != Type::Int {
            return fail(value.span, format!("`{name}` is {shown}"), "`+=` and `-=` are for numbers");
        }
        self.of_type(value, ty, &format!("`{name}` is {shown}"))
    }

    fn field_value(
        &mut self,
        table: TableId,
        field: &Ident,
        op: AssignOp,
        value: &syntax::Expr,
    ) -> Checked<(usize, Typed)> {
        let position = self.world.declared.field_named(table, field)?;
        let ty = self.world.declared.tables[table.index()].fields[position].ty;
        let expr = self.assigned(&field.text, ty, op, value)?;
        Ok((position, Typed { expr, ty }))
    }

    fn changed(&self, old: Expr, op: AssignOp, value: Expr, span: Span) -> Expr {
        match op {
            AssignOp::Set => value,
            AssignOp::Add => self.arith(Arith::Add, old, value, span).expr,
            AssignOp::Sub => self.arith(Arith::Sub, old, value, span).expr,
        }
    }

    /// As UPDATE: the row keeps its other fields, and a row that does not exist stays so.
    fn set_field(
        &mut self,
        unit: UnitId,
        seen: Seen,
        position: usize,
        op: AssignOp,
        value: Expr,
        span: Span,
    ) -> Checked<()> {
        let new = self.changed(seen.part(UnitPart::Field(position)), op, value, span);
        let n_fields = self.world.units[unit.index()].fields.len();
        let mut row: Vec<Expr> = (0..n_fields).map(|it| seen.part(UnitPart::Field(it))).collect();
        row[position] = new;
        self.if_exists(seen, span, |it| it.write(unit, Some(row), span))
    }

    fn if_exists(&mut self, seen: Seen, span: Span, change: impl FnOnce(&mut Self) -> Checked<()>) -> Checked<()> {
        self.guarded(&mut seen.part(UnitPart::Exists), true, span, change)
    }

    fn insert(&mut self, row: &Row, fields: &[(Ident, syntax::Expr)], span: Span) -> Checked<()> {
        let choice = self.rows_at(row)?;
        let values = self
            .record(choice.table, fields, |it, field, ty, value| it.assigned(&field.text, ty, AssignOp::Set, value))?;
        let values = self.simple_record(choice.table, values, span)?;
        self.change_rows(&choice, span, |it, unit| {
            let seen = it.see(unit, ReadMode::Update, row.span)?;
            let abort = Stmt::Abort { cause: AbortCause::DuplicateKey, span };
            it.if_exists(seen, span, |it| it.push(abort, span))?;
            it.write(unit, Some(values.clone()), span)
        })?;
        if choice.may_be_outside {
            let mut is_outside = choice.is_outside();
            self.guarded(&mut is_outside, true, span, |it| it.push(Stmt::NoSuchRow { span }, span))?;
        }
        Ok(())
    }

    pub(super) fn simple_record(&mut self, table: TableId, values: Vec<Expr>, span: Span) -> Checked<Vec<Expr>> {
        let types: Vec<Type> = self.world.declared.tables[table.index()].fields.iter().map(|it| it.ty).collect();
        let typed = values.into_iter().zip(types).map(|(expr, ty)| Typed { expr, ty });
        typed.map(|it| self.simple(it, span)).collect()
    }

    /// All fields of a new row; those that are not named have the default of their type.
    pub(super) fn record(
        &mut self,
        table: TableId,
        fields: &[(Ident, syntax::Expr)],
        mut flatten: impl FnMut(&mut Self, &Ident, Type, &syntax::Expr) -> Checked<Expr>,
    ) -> Checked<Vec<Expr>> {
        let declared = self.world.declared;
        let types: Vec<Type> = declared.tables[table.index()].fields.iter().map(|it| it.ty).collect();
        let mut values: Vec<Expr> = types.iter().map(|it| Expr::Const(it.default_value())).collect();
        for (idx, (field, value)) in fields.iter().enumerate() {
            let position = declared.field_named(table, field)?;
            if fields[..idx].iter().any(|it| it.0 == *field) {
                return fail(field.span, format!("`{}` is given twice", field.text), "leave one of them out");
            }
            values[position] = flatten(self, field, types[position], value)?;
        }
        Ok(values)
    }

    fn delete(&mut self, target: &Target, span: Span) -> Checked<()> {
        match target {
            Target::Name(name) => {
                let row = self.row_named(name)?;
                self.in_statement(|it| {
                    let seen = it.see(row.unit, ReadMode::Update, name.span)?;
                    it.if_exists(seen, span, |it| it.write(row.unit, None, span))
                })
            }
            Target::Row(row) => {
                let choice = self.rows_at(row)?;
                self.change_rows(&choice, span, |it, unit| {
                    let seen = it.see(unit, ReadMode::Update, row.span)?;
                    it.if_exists(seen, span, |it| it.write(unit, None, span))
                })
            }
        }
    }
}

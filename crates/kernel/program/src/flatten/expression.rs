//! Flattens expressions: names become what they stand for, accesses become reads, quantifiers are spelled out.

use super::declared::Global;
use super::fold;
use super::rows::unsettled;
use super::scope::{Binding, Mode, RowBinding, Scope, Typed};
use crate::error::{Checked, Span, did_you_mean, fail};
use crate::ids::{TableId, UnitId};
use crate::program::{Arith, Expr, ReadMode, UnitPart};
use crate::syntax::{self, Binary, ExprKind, Ident, Quantifier, Target};
use crate::value::{Type, Value};

fn constant(value: Value) -> Typed {
    Typed { expr: Expr::Const(value), ty: value.type_of() }
}

/// The types of the body and of the whole.
fn quantifier_types(quantifier: Quantifier) -> (Type, Type) {
    match quantifier {
        Quantifier::Forall | Quantifier::Exists => (Type::Bool, Type::Bool),
        Quantifier::Count => (Type::Bool, Type::Int),
        Quantifier::Sum => (Type::Int, Type::Int),
    }
}

fn truth(expr: Expr) -> Typed {
    Typed { expr, ty: Type::Bool }
}

impl Scope<'_, '_, '_> {
    pub(super) fn expr(&mut self, expr: &syntax::Expr) -> Checked<Typed> {
        self.world.charge(1, expr.span)?;
        match &expr.kind {
            ExprKind::Int(number) => Ok(constant(self.world.declared.int(*number, expr.span)?)),
            ExprKind::Bool(truth) => Ok(constant(Value::Bool(*truth))),
            ExprKind::Text(text) => Ok(constant(self.world.declared.text(text))),
            ExprKind::Name(_) | ExprKind::Field(..) | ExprKind::RowExists(_) => self.access(expr, ReadMode::Plain),
            ExprKind::Locked(of) if self.mode == Mode::Txn => self.access(of, ReadMode::ForUpdate),
            ExprKind::Locked(_) => fail(expr.span, "only a transaction can lock", "leave `for update` out"),
            ExprKind::Over { mode: ReadMode::ForUpdate, .. } if self.mode != Mode::Txn => {
                fail(expr.span, "only a transaction can lock", "leave `for update` out")
            }
            ExprKind::Over { quantifier, row, table, mode, body } => {
                let table_id = self.world.declared.table_named(table)?;
                self.over(*quantifier, row, (table_id, *mode), body, expr.span)
            }
            ExprKind::Negated(of) => {
                let of = self.of_type(of, Type::Int, "a minus stands before a number")?;
                Ok(self.arith(Arith::Sub, Expr::Const(Value::Int(0)), of, expr.span))
            }
            ExprKind::Not(of) => Ok(truth(fold::not(self.condition(of)?))),
            ExprKind::Binary(operator, left, right) => self.binary(*operator, left, right, expr.span),
            ExprKind::If(condition, then, otherwise) => self.choice(condition, then, otherwise),
            ExprKind::Any { .. } => {
                let hint =
                    "`any` stands alone: as the initial value of a variable or field, or as an argument of `run`";
                fail(expr.span, "`any` cannot stand here", hint)
            }
        }
    }

    /// An expression that must have this type.
    pub(super) fn of_type(&mut self, expr: &syntax::Expr, ty: Type, hint: &str) -> Checked<Expr> {
        let found = self.expr(expr)?;
        if found.ty == ty {
            return Ok(found.expr);
        }
        let declared = self.world.declared;
        let message = format!("expected {}, found {}", declared.show_type(ty), declared.show_type(found.ty));
        fail(expr.span, message, hint)
    }

    pub(super) fn condition(&mut self, expr: &syntax::Expr) -> Checked<Expr> {
        self.of_type(expr, Type::Bool, "a condition is needed here, such as `x > 0`")
    }

    pub(super) fn arith(&self, op: Arith, left: Expr, right: Expr, span: Span) -> Typed {
        let expr = fold::arith(op, left, right, span, self.world.declared.int_range());
        Typed { expr, ty: Type::Int }
    }

    fn binary(&mut self, operator: Binary, left: &syntax::Expr, right: &syntax::Expr, span: Span) -> Checked<Typed> {
        let hint = format!("`{}` is for numbers", operator.sign());
        match operator {
            Binary::And | Binary::Or | Binary::Implies => self.connective(operator, left, right),
            Binary::Equal | Binary::NotEqual => {
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                if left.ty != right.ty {
                    let declared = self.world.declared;
                    let (left, right) = (declared.show_type(left.ty), declared.show_type(right.ty));
                    return fail(span, format!("{left} and {right} cannot be compared"), "both sides need one type");
                }
                let equal = fold::equal(left.expr, right.expr);
                Ok(truth(if operator == Binary::Equal { equal } else { fold::not(equal) }))
            }
            _ => {
                let left = self.of_type(left, Type::Int, &hint)?;
                let right = self.of_type(right, Type::Int, &hint)?;
                Ok(match operator {
                    Binary::Less => truth(fold::less(left, right)),
                    Binary::LessEqual => truth(fold::not(fold::less(right, left))),
                    Binary::Greater => truth(fold::less(right, left)),
                    Binary::GreaterEqual => truth(fold::not(fold::less(left, right))),
                    Binary::Add => self.arith(Arith::Add, left, right, span),
                    Binary::Sub => self.arith(Arith::Sub, left, right, span),
                    _ => self.arith(Arith::Mul, left, right, span),
                })
            }
        }
    }

    /// The right side is evaluated only if the left side leaves the answer open.
    fn connective(&mut self, operator: Binary, left: &syntax::Expr, right: &syntax::Expr) -> Checked<Typed> {
        let mut first = self.condition(left)?;
        let second = self.guarded(&mut first, operator != Binary::Or, left.span, |it| it.condition(right))?;
        Ok(truth(match operator {
            Binary::And => fold::and([first, second]),
            Binary::Or => fold::or([first, second]),
            _ => fold::implies(first, second),
        }))
    }

    fn choice(&mut self, condition: &syntax::Expr, then: &syntax::Expr, otherwise: &syntax::Expr) -> Checked<Typed> {
        let mut first = self.condition(condition)?;
        let second = self.guarded(&mut first, true, condition.span, |it| it.expr(then))?;
        let hint = "both ways of a choice need one type";
        let third = self.guarded(&mut first, false, condition.span, |it| it.of_type(otherwise, second.ty, hint))?;
        Ok(Typed { expr: fold::choose(first, second.expr, third), ty: second.ty })
    }

    fn access(&mut self, expr: &syntax::Expr, mode: ReadMode) -> Checked<Typed> {
        match &expr.kind {
            ExprKind::Name(name) => self.name(name, mode, expr.span),
            ExprKind::RowExists(row) => {
                self.reading_is_allowed(expr.span)?;
                let choice = self.rows_at(row)?;
                Ok(truth(self.look(&choice, UnitPart::Exists, Type::Bool, mode, expr.span)?))
            }
            ExprKind::Field(Target::Row(row), field) => {
                self.reading_is_allowed(expr.span)?;
                let choice = self.rows_at(row)?;
                let position = self.world.declared.field_named(choice.table, field)?;
                let ty = self.world.declared.tables[choice.table.index()].fields[position].ty;
                Ok(Typed { expr: self.look(&choice, UnitPart::Field(position), ty, mode, expr.span)?, ty })
            }
            ExprKind::Field(Target::Name(name), field) => self.field_of_name(name, field, mode, expr.span),
            _ => {
                fail(expr.span, "only a variable or a row can be locked", "as in `accounts[\"x\"].balance for update`")
            }
        }
    }

    fn reading_is_allowed(&self, at: Span) -> Checked<()> {
        if self.mode == Mode::Constant {
            let hint = "relate values of the initial state with `assume`";
            return fail(at, "initial values, arguments and bounds do not depend on the state", hint);
        }
        Ok(())
    }

    fn name(&mut self, name: &str, mode: ReadMode, span: Span) -> Checked<Typed> {
        match (self.lookup(name).cloned(), self.world.declared.global(name)) {
            (Some(Binding::Value(_)), _) if mode == ReadMode::ForUpdate => {
                fail(span, format!("`{name}` is a value"), "only a variable or a row can be locked")
            }
            (Some(Binding::Value(value)), _) => Ok(value),
            (Some(Binding::Row(_)), _) => {
                fail(span, format!("`{name}` is a row, and a row is no value"), format!("name a field: `{name}.field`"))
            }
            (None, Some(Global::Var(idx))) => {
                self.reading_is_allowed(span)?;
                let seen = self.see(UnitId::from_index(idx), mode, span)?;
                Ok(Typed { expr: seen.part(UnitPart::Field(0)), ty: self.world.declared.vars[idx].ty })
            }
            (None, Some(Global::Member(domain, index))) => Ok(constant(Value::Member(domain, index))),
            (None, Some(other)) => {
                fail(span, format!("`{name}` is {}, and no value", other.describe()), "a value is needed here")
            }
            (None, None) => self.unknown_name(name, span),
        }
    }

    pub(super) fn unknown_name<T>(&self, name: &str, span: Span) -> Checked<T> {
        let local = self.names.iter().map(|it| it.0.as_str());
        let otherwise = "names come from `var`, `let`, parameters, loops and enums; texts stand in quotes";
        let hint = did_you_mean(name, local.chain(self.world.declared.global_names()), otherwise);
        fail(span, format!("nothing is called `{name}`"), hint)
    }

    /// `r.f`: a field or the key of a loop's row, or the parameter of a transaction in an assumption.
    fn field_of_name(&mut self, name: &Ident, field: &Ident, mode: ReadMode, span: Span) -> Checked<Typed> {
        match (self.lookup(&name.text).cloned(), self.world.declared.global(&name.text)) {
            (Some(Binding::Row(row)), _) => self.field_of_row(row, field, mode, span),
            (None, Some(Global::Txn(_))) if self.mode == Mode::Assumption => self.parameter(name, field),
            (None, Some(Global::Txn(_))) => {
                let hint = "only `assume` speaks of parameters from outside";
                fail(span, format!("`{}` is a transaction", name.text), hint)
            }
            (None, Some(Global::Table(_))) => {
                let hint = format!("name a row, as in `{}[\"x\"].{}`", name.text, field.text);
                fail(name.span, format!("`{}` is a table, and has many rows", name.text), hint)
            }
            (None, None) => self.unknown_name(&name.text, name.span),
            _ => fail(name.span, format!("`{}` is no row", name.text), "only rows have fields"),
        }
    }

    fn field_of_row(&mut self, row: RowBinding, field: &Ident, mode: ReadMode, span: Span) -> Checked<Typed> {
        let decl = &self.world.declared.tables[row.table.index()];
        if decl.key == field.text {
            return Ok(constant(row.key));
        }
        let position = self.world.declared.field_named(row.table, field)?;
        let ty = decl.fields[position].ty;
        let seen = if mode == ReadMode::ForUpdate { self.see(row.unit, mode, span)? } else { self.current(row, span)? };
        Ok(Typed { expr: seen.part(UnitPart::Field(position)), ty })
    }

    fn parameter(&mut self, txn: &Ident, param: &Ident) -> Checked<Typed> {
        let Some((_, params)) = self.params.iter().find(|it| it.0 == txn.text) else {
            self.missing = Some(txn.clone());
            return fail(
                txn.span,
                format!("`{}` does not run", txn.text),
                "an assumption is about transactions that run",
            );
        };
        if let Some((_, value)) = params.iter().find(|it| it.0 == param.text) {
            return Ok(value.clone());
        }
        let hint = did_you_mean(&param.text, params.iter().map(|it| it.0.as_str()), "see its declaration");
        fail(param.span, format!("`{}` has no parameter `{}`", txn.text, param.text), hint)
    }

    /// A scan: every row of the table is read, then the body is evaluated for those that exist.
    fn over(
        &mut self,
        quantifier: Quantifier,
        row: &Ident,
        (table, mode): (TableId, ReadMode),
        body: &syntax::Expr,
        span: Span,
    ) -> Checked<Typed> {
        self.reading_is_allowed(span)?;
        let scanned = self.scan(table, mode, span)?;
        let (ty, joined_ty) = quantifier_types(quantifier);
        if scanned.is_empty() {
            return Ok(Typed { expr: unsettled(UnitPart::Exists), ty: joined_ty });
        }
        let mut parts = Vec::new();
        for binding in scanned {
            let mut exists = binding.seen.part(UnitPart::Exists);
            let n_names = self.names.len();
            self.define(row, Binding::Row(binding))?;
            let hint = "the body of a quantifier is a condition, the body of `sum` a number";
            let value = self.guarded(&mut exists, true, span, |it| it.of_type(body, ty, hint))?;
            self.names.truncate(n_names);
            parts.push((exists, value));
        }
        Ok(self.joined(quantifier, parts, span))
    }

    /// Every row of a table, read by one statement.
    pub(super) fn scan(&mut self, table: TableId, mode: ReadMode, span: Span) -> Checked<Vec<RowBinding>> {
        let rows = self.world.rows(table).to_vec();
        self.in_statement(|it| {
            let scanned = rows.into_iter().map(|(key, unit)| {
                let seen = it.see(unit, mode, span)?;
                Ok(RowBinding { table, key, unit, seen, n_writes: it.writes_of(unit) })
            });
            scanned.collect()
        })
    }

    fn joined(&self, quantifier: Quantifier, parts: Vec<(Expr, Expr)>, span: Span) -> Typed {
        let number = |it: i64| Expr::Const(Value::Int(it));
        let both = |(exists, holds)| fold::and([exists, holds]);
        let total = |parts: Vec<Expr>| {
            let first = number(0);
            parts.into_iter().fold(Typed { expr: first, ty: Type::Int }, |sum, part| match sum.expr {
                Expr::Const(Value::Int(0)) => Typed { expr: part, ty: Type::Int },
                sum => self.arith(Arith::Add, sum, part, span),
            })
        };
        match quantifier {
            Quantifier::Forall => {
                truth(fold::and(parts.into_iter().map(|(exists, holds)| fold::implies(exists, holds))))
            }
            Quantifier::Exists => truth(fold::or(parts.into_iter().map(both))),
            Quantifier::Count => {
                total(parts.into_iter().map(|it| fold::choose(both(it), number(1), number(0))).collect())
            }
            Quantifier::Sum => {
                total(parts.into_iter().map(|(exists, value)| fold::choose(exists, value, number(0))).collect())
            }
        }
    }
}

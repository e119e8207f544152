//! What expressions read, and which rows their values name.

use super::walk::{Bound, Term, Walk};
use super::{Constant, Parts, RowKey};
use crate::error::{Checked, Span, fail};
use crate::flatten::declared::Global;
use crate::program::ReadMode;
use crate::syntax::{Binary, Expr, ExprKind, Target};

impl Walk<'_, '_> {
    pub(super) fn expr(&mut self, expr: &Expr) -> Checked<Term> {
        self.value(expr, ReadMode::Plain)
    }

    fn value(&mut self, expr: &Expr, mode: ReadMode) -> Checked<Term> {
        match &expr.kind {
            ExprKind::Int(number) => return Ok(Term::Key(RowKey::Constant(Constant::Int(*number)))),
            ExprKind::Text(text) => return Ok(Term::Key(RowKey::Constant(Constant::Text(text.clone())))),
            ExprKind::Bool(_) => {}
            ExprKind::Name(name) => return self.name(name, mode, expr.span),
            ExprKind::Field(Target::Row(row), field) => {
                let (relation, key) = self.row(row)?;
                let parts = self.field(relation, field)?.with(Parts::EXISTENCE);
                self.read(relation, key, parts, mode, expr.span);
            }
            ExprKind::Field(Target::Name(name), field) => {
                let (relation, _) = self.target(&Target::Name(name.clone()))?;
                if self.declared.tables[relation - self.declared.vars.len()].key == field.text {
                    return Ok(Term::Key(RowKey::All));
                }
                // The loop has read it already.
                self.field(relation, field)?;
            }
            ExprKind::RowExists(row) => {
                let (relation, key) = self.row(row)?;
                self.read(relation, key, Parts::EXISTENCE, mode, expr.span);
            }
            ExprKind::Over { row, table, mode: scan_mode, body, .. } => {
                let relation = self.table(table)?;
                let mut fields = Parts::EXISTENCE;
                self.fields_of_row(&row.text, relation, body, &mut fields);
                self.scan(relation, fields, *scan_mode, expr.span);
                self.names.push((row.text.clone(), Bound::Row(relation)));
                self.n_loops += 1;
                let done = self.perhaps(|it| it.expr(body));
                self.n_loops -= 1;
                self.names.pop();
                done?;
            }
            ExprKind::Locked(inner) => return self.value(inner, ReadMode::ForUpdate),
            ExprKind::Negated(inner) | ExprKind::Not(inner) => {
                self.expr(inner)?;
            }
            ExprKind::Binary(Binary::And | Binary::Or | Binary::Implies, left, right) => {
                self.expr(left)?;
                self.perhaps(|it| it.expr(right))?;
            }
            ExprKind::Binary(_, left, right) => {
                self.expr(left)?;
                self.expr(right)?;
            }
            ExprKind::If(condition, yes, no) => {
                self.expr(condition)?;
                self.perhaps(|it| it.expr(yes))?;
                self.perhaps(|it| it.expr(no))?;
            }
            ExprKind::Any { .. } => {
                return fail(expr.span, "a transaction leaves nothing open", "make it a parameter");
            }
        }
        Ok(Term::Other)
    }

    fn name(&mut self, name: &str, mode: ReadMode, span: Span) -> Checked<Term> {
        match self.lookup(name) {
            Some(Bound::Value(term)) => return Ok(term.clone()),
            Some(Bound::Row(_)) => return fail(span, format!("`{name}` is a row"), "name one of its fields"),
            None => {}
        }
        match self.declared.global(name) {
            Some(Global::Var(idx)) => {
                self.read(idx, RowKey::Constant(Constant::Only), Parts::field(0), mode, span);
                Ok(Term::Other)
            }
            Some(Global::Member(..)) => Ok(Term::Other),
            Some(other) => fail(span, format!("`{name}` is {}", other.describe()), "a value is wanted here"),
            None => self.unknown(name, span),
        }
    }
}

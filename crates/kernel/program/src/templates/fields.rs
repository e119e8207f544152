//! Which fields of its row a loop or a quantifier looks at.

use super::Parts;
use super::walk::Walk;
use crate::syntax::{AssignOp, Change, Conflict, Expr, ExprKind, Ident, Rows, Stmt, StmtKind, Target};

impl Walk<'_, '_> {
    /// Adds the fields of the named row that an expression reads.
    pub(super) fn fields_of_row(&self, row: &str, relation: usize, expr: &Expr, fields: &mut Parts) {
        let mut inner = |it: &Expr| self.fields_of_row(row, relation, it, fields);
        match &expr.kind {
            ExprKind::Field(Target::Name(name), field) => {
                if name.text == row
                    && let Some(position) = self.relations[relation].fields.iter().position(|it| *it == field.text)
                {
                    *fields = fields.with(Parts::field(position));
                }
            }
            ExprKind::Field(Target::Row(other), _) | ExprKind::RowExists(other) => inner(&other.key),
            ExprKind::Over { body, .. } => inner(body),
            ExprKind::Locked(it) | ExprKind::Negated(it) | ExprKind::Not(it) => inner(it),
            ExprKind::Binary(_, left, right) => {
                inner(left);
                inner(right);
            }
            ExprKind::If(condition, yes, no) => [condition, yes, no].into_iter().for_each(|it| inner(it)),
            ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Text(_) | ExprKind::Name(_) | ExprKind::Any { .. } => {}
        }
    }

    /// Adds the fields of the named row that a statement reads.
    pub(super) fn fields_of_row_in_stmt(&self, row: &str, relation: usize, stmt: &Stmt, fields: &mut Parts) {
        let blocks: Vec<&[Stmt]> = match &stmt.kind {
            StmtKind::Let { value, .. } | StmtKind::Assert(value) => {
                self.fields_of_row(row, relation, value, fields);
                Vec::new()
            }
            StmtKind::Select(all) => {
                for (_, value) in all {
                    self.fields_of_row(row, relation, value, fields);
                }
                Vec::new()
            }
            StmtKind::Assign { target, op, value } => {
                self.fields_of_row(row, relation, value, fields);
                match &target.kind {
                    ExprKind::Field(Target::Row(other), _) => self.fields_of_row(row, relation, &other.key, fields),
                    _ if *op != AssignOp::Set => self.fields_of_row(row, relation, target, fields),
                    _ => {}
                }
                Vec::new()
            }
            StmtKind::If { condition, then, otherwise } => {
                self.fields_of_row(row, relation, condition, fields);
                vec![then, otherwise]
            }
            StmtKind::ForRows { body, .. } => vec![body],
            StmtKind::ForRange { low, high, body, .. } => {
                self.fields_of_row(row, relation, low, fields);
                self.fields_of_row(row, relation, high, fields);
                vec![body]
            }
            StmtKind::Insert { row: other, fields: values } | StmtKind::Maybe { row: other, fields: values } => {
                self.fields_of_row(row, relation, &other.key, fields);
                for value in values {
                    self.fields_of_row(row, relation, &value.1, fields);
                }
                Vec::new()
            }
            StmtKind::Delete(Target::Row(other)) => {
                self.fields_of_row(row, relation, &other.key, fields);
                Vec::new()
            }
            StmtKind::Change { change, .. } => {
                for expr in change_exprs(change) {
                    self.fields_of_row(row, relation, expr, fields);
                }
                Vec::new()
            }
            StmtKind::Delete(Target::Name(_)) | StmtKind::Abort => Vec::new(),
        };
        blocks.into_iter().flatten().for_each(|it| self.fields_of_row_in_stmt(row, relation, it, fields));
    }
}

/// Every expression of a change.
pub(super) fn change_exprs(change: &Change) -> Vec<&Expr> {
    fn values(fields: &[(Ident, Expr)]) -> impl Iterator<Item = &Expr> {
        fields.iter().map(|it| &it.1)
    }
    fn key(of: &Rows) -> Option<&Expr> {
        if let Rows::One(row) = of { Some(&*row.key) } else { None }
    }
    match change {
        Change::Update { of, condition, fields, .. } => {
            key(of).into_iter().chain(condition).chain(values(fields)).collect()
        }
        Change::Delete { of, condition, .. } => key(of).into_iter().chain(condition).collect(),
        Change::Insert { row, fields, conflict, .. } => {
            let updated = if let Conflict::Update(fields) = conflict { &fields[..] } else { &[] };
            [&*row.key].into_iter().chain(values(fields)).chain(values(updated)).collect()
        }
    }
}

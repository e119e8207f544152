//! Statements that change rows by a condition, or make one unless there is one.

use super::walk::{Bound, Walk};
use super::{AccessKind, Parts, Relation, RowKey};
use crate::error::{Checked, Span};
use crate::program::ReadMode;
use crate::syntax::{Change, Conflict, Expr, Ident, Row, Rows, Stmt, StmtKind, Target};

/// What a statement does to the rows that fit.
struct Deed<'s> {
    row: &'s Ident,
    condition: Option<&'s Expr>,
    /// The new fields; nothing removes the row.
    fields: Option<&'s [(Ident, Expr)]>,
    span: Span,
}

impl Walk<'_, '_> {
    pub(super) fn change_rows(&mut self, change: &Change, span: Span) -> Checked<()> {
        match change {
            Change::Update { row, of, condition, fields } => {
                self.change_where(of, &Deed { row, condition: condition.as_ref(), fields: Some(fields), span })
            }
            Change::Delete { row, of, condition } => {
                self.change_where(of, &Deed { row, condition: condition.as_ref(), fields: None, span })
            }
            Change::Insert { name, row, fields, conflict } => {
                self.insert_or(name.as_ref(), (row, fields), conflict, span)
            }
        }
    }

    fn change_where(&mut self, of: &Rows, deed: &Deed<'_>) -> Checked<()> {
        let (relation, key) = match of {
            Rows::One(row) => self.row(row)?,
            Rows::All(table) => (self.table(table)?, RowKey::All),
        };
        let mut looks = Parts::EXISTENCE;
        if let Some(condition) = deed.condition {
            self.fields_of_row(&deed.row.text, relation, condition, &mut looks);
            self.with_row(deed.row, relation, |it| it.expr(condition).map(|_| ()))?;
        }
        let (mut reads, mut writes) = (looks, Parts::whole(self.relations[relation].fields.len()));
        if let Some(fields) = deed.fields {
            writes = self.new_fields(deed.row, relation, fields, &mut reads)?;
        }
        let kind = if deed.fields.is_some() { AccessKind::Update } else { AccessKind::Delete };
        if key == RowKey::All {
            // Rows are looked for first; those that fit are changed as they are then.
            self.scan(relation, looks, ReadMode::Plain, deed.span);
            return self.perhaps(|it| {
                it.change(kind, relation, &RowKey::All, reads, writes, deed.span);
                Ok(())
            });
        }
        let look = |it: &mut Self| {
            it.read(relation, key.clone(), looks, ReadMode::Plain, deed.span);
            Ok(())
        };
        if deed.condition.is_some() && self.is_open() {
            self.perhaps(look)?;
            return self.perhaps(|it| {
                it.change(kind, relation, &key, reads, writes, deed.span);
                Ok(())
            });
        }
        if deed.condition.is_some() && !self.decide() {
            return look(self);
        }
        self.change(kind, relation, &key, reads, writes, deed.span);
        if deed.fields.is_none() {
            self.learn(relation, &key, false);
        }
        Ok(())
    }

    /// The fields that are written; those that are read for it are added.
    fn new_fields(
        &mut self,
        row: &Ident,
        relation: usize,
        fields: &[(Ident, Expr)],
        reads: &mut Parts,
    ) -> Checked<Parts> {
        let mut writes = Parts::default();
        for (field, value) in fields {
            writes = writes.with(self.field(relation, field)?);
            self.fields_of_row(&row.text, relation, value, reads);
            self.with_row(row, relation, |it| it.expr(value).map(|_| ()))?;
        }
        Ok(writes)
    }

    fn with_row(&mut self, row: &Ident, relation: usize, act: impl FnOnce(&mut Self) -> Checked<()>) -> Checked<()> {
        self.names.push((row.text.clone(), Bound::Row(relation)));
        let done = act(self);
        self.names.pop();
        done
    }

    fn insert_or(
        &mut self,
        name: Option<&Ident>,
        (row, fields): (&Row, &[(Ident, Expr)]),
        conflict: &Conflict,
        span: Span,
    ) -> Checked<()> {
        let (relation, key) = self.row(row)?;
        for (field, value) in fields {
            self.field(relation, field)?;
            self.expr(value)?;
        }
        let nobody = Ident { text: String::new(), span };
        let (mut reads, mut writes) = (Parts::EXISTENCE, Parts::default());
        if let Conflict::Update(fields) = conflict {
            writes = self.new_fields(name.unwrap_or(&nobody), relation, fields, &mut reads)?;
        }
        let there = |it: &mut Self| match conflict {
            Conflict::Nothing => it.read(relation, key.clone(), Parts::EXISTENCE, ReadMode::Plain, span),
            Conflict::Update(_) => it.push(AccessKind::Update, relation, key.clone(), reads, writes, true, span),
        };
        let whole = Parts::whole(self.relations[relation].fields.len());
        let made = |it: &mut Self| {
            it.push(AccessKind::Insert, relation, key.clone(), Parts::EXISTENCE, whole, true, span);
        };
        if self.is_open() {
            return self.perhaps(|it| {
                there(it);
                made(it);
                Ok(())
            });
        }
        if self.finds_row(relation, &key) {
            there(self);
            self.found(relation, &key, span, true);
        } else {
            made(self);
        }
        self.learn(relation, &key, true);
        Ok(())
    }
}

/// Marks the tables whose rows a body makes or removes; `rows` has the rows of the loops around it.
pub(super) fn mark_growing<'s>(body: &'s [Stmt], rows: &mut Vec<(&'s str, &'s str)>, relations: &mut [Relation]) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Insert { row, .. } | StmtKind::Change { change: Change::Insert { row, .. }, .. } => {
                mark(&row.table.text, false, relations);
            }
            StmtKind::Delete(Target::Row(row)) => mark(&row.table.text, true, relations),
            StmtKind::Delete(Target::Name(name)) => {
                if let Some(row) = rows.iter().rev().find(|it| it.0 == name.text) {
                    mark(row.1, true, relations);
                }
            }
            StmtKind::Change { change: Change::Delete { of, .. }, .. } => {
                let (Rows::One(Row { table, .. }) | Rows::All(table)) = of;
                mark(&table.text, true, relations);
            }
            StmtKind::If { then, otherwise, .. } => {
                mark_growing(then, rows, relations);
                mark_growing(otherwise, rows, relations);
            }
            StmtKind::ForRows { row, table, body, .. } => {
                rows.push((&row.text, &table.text));
                mark_growing(body, rows, relations);
                rows.pop();
            }
            StmtKind::ForRange { body, .. } => mark_growing(body, rows, relations),
            _ => {}
        }
    }
}

fn mark(table: &str, shrinks: bool, relations: &mut [Relation]) {
    for relation in relations.iter_mut().filter(|it| it.name == table) {
        relation.grows = true;
        relation.shrinks |= shrinks;
    }
}

//! INSERT, with and without ON CONFLICT, and as rows that exist at first.

use crate::condition::named;
use crate::expression::{Row, RowInScope, Scope};
use crate::names::{name, object};
use crate::query::bare;
use crate::tokens::{Done, fail};
use sqlparser::ast::{
    Assignment, AssignmentTarget, ConflictTarget, Expr, Insert, OnConflictAction, OnInsert, SetExpr, TableObject,
};
use std::collections::BTreeMap;

/// One row of an INSERT.
pub(crate) struct NewRow {
    /// `t[k]`.
    pub(crate) access: String,
    /// ` { f: e }`, or nothing.
    pub(crate) record: String,
    given: BTreeMap<String, String>,
}

impl Scope<'_> {
    /// The statements of an INSERT; `count` is the name that gets how many rows were made or changed.
    pub(crate) fn insert(&mut self, insert: &Insert, count: Option<&str>) -> Done<Vec<String>> {
        let (table, rows) = self.new_rows(insert)?;
        if count.is_some() && rows.len() > 1 {
            return fail(self.at, "FOUND after several rows is not understood", "insert them one by one");
        }
        let name = self.row_name();
        let conflict = match (&insert.on, insert.ignore) {
            (None, false) => None,
            (None, true) => Some(None),
            (Some(OnInsert::DuplicateKeyUpdate(assignments)), _) => Some(Some(assignments)),
            (Some(OnInsert::OnConflict(of)), _) => {
                self.check_target(of.conflict_target.as_ref(), table)?;
                match &of.action {
                    OnConflictAction::DoNothing => Some(None),
                    OnConflictAction::DoUpdate(update) if update.selection.is_none() => Some(Some(&update.assignments)),
                    OnConflictAction::DoUpdate(_) => {
                        let hint = "say it in the value: SET n = CASE WHEN .. THEN .. ELSE t.n END";
                        return fail(self.at, "DO UPDATE with a WHERE is not understood", hint);
                    }
                }
            }
            (Some(other), _) => return fail(self.at, format!("`{other}` is not understood"), "there is ON CONFLICT"),
        };
        let mut statements = Vec::new();
        for row in rows {
            let conflict = match &conflict {
                None if count.is_some() => {
                    let hint = "an INSERT without ON CONFLICT makes its row or fails";
                    return fail(self.at, "FOUND after INSERT says nothing", hint);
                }
                None => None,
                Some(None) => Some(" on conflict nothing".to_owned()),
                Some(Some(assignments)) => {
                    Some(format!(" on conflict update {}", self.updated(table, &name, &row, assignments)?))
                }
            };
            let counted = count.map(|it| format!("let {it} = ")).unwrap_or_default();
            let is_named = conflict.as_ref().is_some_and(|it| it.contains(&format!("{name}.")));
            let named = if is_named { format!("{name} in ") } else { String::new() };
            statements.push(format!(
                "{counted}insert {named}{}{}{}",
                row.access,
                row.record,
                conflict.unwrap_or_default()
            ));
        }
        Ok(statements)
    }

    fn check_target(&self, target: Option<&ConflictTarget>, table: usize) -> Done<()> {
        let key = &self.tables[table].key.name;
        match target {
            None => Ok(()),
            Some(ConflictTarget::Columns(columns)) if columns.len() == 1 && name(&columns[0]) == *key => Ok(()),
            Some(_) => fail(self.at, "only the primary key can be in conflict", format!("write ON CONFLICT ({key})")),
        }
    }

    /// The table and the rows of an INSERT.
    pub(crate) fn new_rows(&mut self, insert: &Insert) -> Done<(usize, Vec<NewRow>)> {
        let TableObject::TableName(of) = &insert.table else {
            return fail(self.at, "this is no table to insert into", "as in INSERT INTO accounts VALUES (1, 0)");
        };
        if insert.returning.is_some() || insert.replace_into || insert.or.is_some() {
            let hint = "write INSERT INTO t (a, b) VALUES (..), perhaps with ON CONFLICT";
            return fail(self.at, "RETURNING, REPLACE and INSERT OR are not understood", hint);
        }
        let table = self.table_named(&object(of)?, self.at)?;
        let columns: Vec<String> = if insert.columns.is_empty() {
            let all = std::iter::once(&self.tables[table].key).chain(&self.tables[table].fields);
            self.in_written_order(table, all.map(|it| it.name.clone()).collect())
        } else {
            insert.columns.iter().map(object).collect::<Done<_>>()?
        };
        let Some(SetExpr::Values(values)) = insert.source.as_ref().map(|it| &*it.body) else {
            let hint = "write INSERT INTO t (a, b) VALUES (..); what another table has is read before, SELECT .. INTO";
            return fail(self.at, "INSERT needs VALUES", hint);
        };
        let rows: Vec<&Vec<Expr>> = values.rows.iter().map(|it| &it.content).collect();
        let rows = rows.into_iter().map(|it| self.new_row(table, &columns, it)).collect::<Done<_>>()?;
        Ok((table, rows))
    }

    /// Without a list of columns, values stand as CREATE TABLE has the columns.
    fn in_written_order(&self, table: usize, key_first: Vec<String>) -> Vec<String> {
        let written = &self.tables[table].written;
        if written.is_empty() { key_first } else { written.clone() }
    }

    fn new_row(&mut self, table: usize, columns: &[String], values: &[Expr]) -> Done<NewRow> {
        let of = self.tables[table].clone();
        if columns.len() != values.len() {
            let message = format!("there are {} columns, and {} values", columns.len(), values.len());
            return fail(values.first().map_or(self.at, |it| self.place(it)), message, "each column has one value");
        }
        let mut given = BTreeMap::new();
        for (column, value) in columns.iter().zip(values) {
            if of.column(column).is_none() {
                let message = format!("`{}` has no column `{column}`", of.name);
                return fail(self.at, message, format!("its columns are {}", of.columns()));
            }
            given.insert(column.clone(), self.expr(value)?);
        }
        for column in &of.fields {
            if let (None, Some(default)) = (given.get(&column.name), &column.default) {
                given.insert(column.name.clone(), self.expr(default)?);
            }
            if !given.contains_key(&column.name) {
                let hint = "give it a value, or a DEFAULT in CREATE TABLE; there is no NULL here";
                return fail(self.at, format!("column `{}` has no value", column.name), hint);
            }
        }
        let Some(key) = given.get(&of.key.name) else {
            let hint = "keys are given, and not made by the database";
            return fail(self.at, format!("the key `{}` has no value", of.key.name), hint);
        };
        let access = format!("{}[{}]", of.name, bare(key));
        let fields: Vec<String> =
            of.fields.iter().map(|it| format!("{}: {}", it.name, bare(&given[&it.name]))).collect();
        let record = if fields.is_empty() { String::new() } else { format!(" {{ {} }}", fields.join(", ")) };
        Ok(NewRow { access, record, given })
    }

    /// What DO UPDATE makes of the row that is there.
    fn updated(&mut self, table: usize, name: &str, row: &NewRow, assignments: &[Assignment]) -> Done<String> {
        let names = vec![self.tables[table].name.clone()];
        let given = Row::Given(row.given.clone());
        self.rows.push(RowInScope { names: vec!["excluded".to_owned()], table, row: given });
        self.rows.push(named(&names, table, name));
        let fields = self.assigned(table, assignments);
        self.rows.truncate(self.rows.len() - 2);
        Ok(format!(
            "{{ {} }}",
            fields?.into_iter().map(|it| format!("{}: {}", it.0, it.1)).collect::<Vec<_>>().join(", ")
        ))
    }

    /// The fields that SET gives new values; the row is in scope.
    pub(crate) fn assigned(&mut self, table: usize, assignments: &[Assignment]) -> Done<Vec<(String, String)>> {
        let of = self.tables[table].clone();
        let mut fields = Vec::new();
        for Assignment { target, value } in assignments {
            let AssignmentTarget::ColumnName(column) = target else {
                return fail(self.at, "a list of columns cannot be set", "set one after the other: SET a = 1, b = 2");
            };
            let (column, at) = (object(column)?, self.place(column));
            if column == of.key.name {
                let hint = "the key of a row does not change; delete the row and insert another one";
                return fail(at, format!("`{column}` is the key"), hint);
            }
            if of.column(&column).is_none() {
                let message = format!("`{}` has no column `{column}`", of.name);
                return fail(at, message, format!("its columns are {}", of.columns()));
            }
            let value = self.expr(value)?;
            fields.push((column, bare(&value).to_owned()));
        }
        Ok(fields)
    }
}

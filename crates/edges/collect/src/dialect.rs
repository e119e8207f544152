//! What rows are in the SQL of each database: the statements that clients run and that scripts show.
//!
//! A table is `(id primary key, value)`, and every statement touches one table by its key or by a predicate, so that what
//! a transaction reads and writes is known.

mod condition;

use crate::{Failure, Inserts, OnConflict, Table, Value, Values};
use condition::Condition;
use iso_history::{Locking, Predicate};
use std::fmt::Write;

/// The language of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `PostgreSQL`.
    PostgreSql,
    /// `MySQL` and `MariaDB`.
    MySql,
    /// `SQLite`.
    Sqlite,
    /// The weak store speaks no SQL; its scripts are shown as they are.
    Store,
    /// What is behind a driver of one's own speaks the protocol of drivers; its scripts are shown as they are.
    Driver,
}

impl Dialect {
    /// Does an insert look whether there is a row?
    pub(crate) fn inserts(self) -> Inserts {
        match self {
            Self::PostgreSql | Self::MySql | Self::Sqlite => Inserts::Checked,
            Self::Store | Self::Driver => Inserts::Blind,
        }
    }
}

/// What the tables of a set-up have before their names.
const PREFIX: &str = "isoscope_";

/// The table with the names of those that a set-up made. Nobody else has a column of this name.
pub(crate) const OWNER: &str = "isoscope_owner";

/// See [`OWNER`].
pub(crate) const OWNED: &str = "made_by_isoscope";

/// The variable of a session where [`Dialect::increase_noted`] leaves what it changed.
pub(crate) const CHANGED: &str = "@isoscope_changed";

/// A statement with its values, in the order of its places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    pub(crate) values: Vec<Value>,
}

impl Dialect {
    /// Is it SQL?
    pub fn has_sql(self) -> bool {
        !matches!(self, Self::Store | Self::Driver)
    }

    /// The statements that begin a transaction of an isolation level; none where there is no SQL.
    pub fn beginning(self, isolation: &str) -> Vec<String> {
        if self.has_sql() { self.begin(isolation) } else { Vec::new() }
    }

    /// Statements as sessions run them, for those who want to know before.
    pub fn examples(self, table: &str) -> Vec<String> {
        let value = Value::Int(0);
        let statements = [self.get(table, ""), self.update(table, "", value.clone()), self.insert(table, "", value)];
        statements.into_iter().flatten().map(|it| it.sql).collect()
    }

    pub(crate) fn create(self, table: &Table) -> Result<String, Failure> {
        let name = physical(&table.name)?;
        let (id, value) = (self.id_type(table.ids), self.value_type(table.values));
        let rest = match self {
            Self::PostgreSql | Self::Store | Self::Driver => "",
            Self::MySql => " ENGINE=InnoDB",
            Self::Sqlite => " STRICT",
        };
        Ok(format!("CREATE TABLE {name} (id {id} PRIMARY KEY, value {value} NOT NULL){rest}"))
    }

    fn id_type(self, ids: Values) -> &'static str {
        match (self, ids) {
            (_, Values::Int) => self.value_type(ids),
            (Self::PostgreSql | Self::Store | Self::Driver, Values::Text) => "text COLLATE \"C\"",
            (Self::MySql, Values::Text) => "VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            (Self::Sqlite, Values::Text) => "TEXT",
        }
    }

    fn value_type(self, values: Values) -> &'static str {
        match (self, values) {
            (Self::PostgreSql | Self::Store | Self::Driver, Values::Int) => "bigint",
            (Self::PostgreSql | Self::Store | Self::Driver, Values::Text) => "text",
            (Self::MySql, Values::Int) => "BIGINT",
            (Self::MySql, Values::Text) => "LONGTEXT",
            (Self::Sqlite, Values::Int) => "INTEGER",
            (Self::Sqlite, Values::Text) => "TEXT",
        }
    }

    /// The statements that begin a transaction of an isolation level; the last one does, those before are settings.
    pub(crate) fn begin(self, isolation: &str) -> Vec<String> {
        let level = isolation.replace('-', " ").to_ascii_uppercase();
        match self {
            Self::PostgreSql | Self::Store | Self::Driver => vec![format!("BEGIN ISOLATION LEVEL {level}")],
            Self::MySql => {
                let is_snapshot = isolation == "snapshot-isolation";
                let level = if is_snapshot { "REPEATABLE READ" } else { level.as_str() };
                let mut statements = vec![format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")];
                if is_snapshot {
                    statements.push("SET SESSION innodb_snapshot_isolation = ON".to_owned());
                }
                statements.push("START TRANSACTION".to_owned());
                statements
            }
            Self::Sqlite if isolation == "serializable-immediate" => vec!["BEGIN IMMEDIATE".to_owned()],
            Self::Sqlite => vec!["BEGIN DEFERRED".to_owned()],
        }
    }

    pub(crate) fn get(self, table: &str, row: &str) -> Result<Statement, Failure> {
        let sql = format!("SELECT value FROM {} WHERE id = {}", physical(table)?, self.place(1));
        Ok(Statement { sql, values: vec![row.into()] })
    }

    /// The value comes first, so that [`Self::insert`] has the same places.
    pub(crate) fn update(self, table: &str, row: &str, value: Value) -> Result<Statement, Failure> {
        let (first, second) = (self.place(1), self.place(2));
        let sql = format!("UPDATE {} SET value = {first} WHERE id = {second}", physical(table)?);
        Ok(Statement { sql, values: vec![value, row.into()] })
    }

    pub(crate) fn insert(self, table: &str, row: &str, value: Value) -> Result<Statement, Failure> {
        let (first, second) = (self.place(1), self.place(2));
        let sql = format!("INSERT INTO {} (value, id) VALUES ({first}, {second})", physical(table)?);
        Ok(Statement { sql, values: vec![value, row.into()] })
    }

    /// Makes a row, or changes the one that is there.
    pub(crate) fn insert_or(
        self,
        table: &str,
        row: &str,
        value: Value,
        conflict: &OnConflict,
    ) -> Result<Statement, Failure> {
        let mut statement = self.insert(table, row, value)?;
        let (third, table) = (self.place(3), physical(table)?);
        let (change, given) = match conflict {
            OnConflict::Nothing => (None, None),
            OnConflict::Add(by) => (Some(format!("value = {table}.value + {third}")), Some(Value::Int(*by))),
            OnConflict::Set(new) => (Some(format!("value = {third}")), Some(new.clone())),
        };
        match (self, change) {
            (Self::MySql, None) => statement.sql = statement.sql.replacen("INSERT", "INSERT IGNORE", 1),
            (Self::MySql, Some(change)) => {
                write!(statement.sql, " ON DUPLICATE KEY UPDATE {change}").expect("a text takes every text");
            }
            (_, None) => statement.sql.push_str(" ON CONFLICT (id) DO NOTHING"),
            (_, Some(change)) => {
                write!(statement.sql, " ON CONFLICT (id) DO UPDATE SET {change}").expect("a text takes every text");
            }
        }
        statement.values.extend(given);
        Ok(statement)
    }

    /// The element becomes the last one of the list.
    pub(crate) fn append(self, table: &str, row: &str, element: i64) -> Result<Statement, Failure> {
        let (table, first, second) = (physical(table)?, self.place(1), self.place(2));
        let comma = "CASE WHEN value = '' THEN '' ELSE ',' END";
        let list = match self {
            Self::MySql => format!("CONCAT(value, {comma}, {first})"),
            Self::PostgreSql | Self::Sqlite | Self::Store | Self::Driver => format!("value || {comma} || {first}"),
        };
        let sql = format!("UPDATE {table} SET value = {list} WHERE id = {second}");
        Ok(Statement { sql, values: vec![Value::Text(element.to_string()), row.into()] })
    }

    pub(crate) fn delete(self, table: &str, row: &str) -> Result<Statement, Failure> {
        let sql = format!("DELETE FROM {} WHERE id = {}", physical(table)?, self.place(1));
        Ok(Statement { sql, values: vec![row.into()] })
    }

    pub(crate) fn scan(self, table: &str, prefix: &str) -> Result<Statement, Failure> {
        let table = physical(table)?;
        let (mut condition, mut values) = (String::new(), Vec::new());
        if !prefix.is_empty() {
            condition = format!(" WHERE id >= {}", self.place(1));
            values.push(prefix.into());
            if let Some(end) = after(prefix) {
                write!(condition, " AND id < {}", self.place(2)).expect("a text takes every text");
                values.push(end.into());
            }
        }
        Ok(Statement { sql: format!("SELECT id, value FROM {table}{condition} ORDER BY id"), values })
    }

    pub(crate) fn select(self, table: &str, predicate: &Predicate, locking: Locking) -> Result<Statement, Failure> {
        let mut condition = Condition::new(self, 0);
        let (table, clause) = (physical(table)?, condition.clause(predicate)?);
        let lock = match (self, locking) {
            // SQLite has one writer, and no such lock.
            (Self::Sqlite, _) | (_, Locking::Free) => "",
            (_, Locking::ForUpdate) => " FOR UPDATE",
        };
        let sql = format!("SELECT id, value FROM {table}{clause} ORDER BY id{lock}");
        Ok(Statement { sql, values: condition.values })
    }

    /// Adds to the values of rows. Where the database can, it returns the rows as they are then.
    pub(crate) fn increase(self, table: &str, predicate: &Predicate, by: i64) -> Result<Statement, Failure> {
        self.increase_by(table, predicate, by, &self.place(1))
    }

    /// Adds to the values of rows, and leaves in a variable of the session which these were, as in `1=5 2=7 `, for a
    /// database that returns no rows.
    pub(crate) fn increase_noted(self, table: &str, predicate: &Predicate, by: i64) -> Result<Statement, Failure> {
        let noted = format!("0 * LENGTH({CHANGED} := CONCAT({CHANGED}, id, '=', value, ' '))");
        self.increase_by(table, predicate, by, &format!("{} + {noted}", self.place(1)))
    }

    fn increase_by(self, table: &str, predicate: &Predicate, by: i64, what: &str) -> Result<Statement, Failure> {
        let mut condition = Condition::new(self, 1);
        let (table, clause) = (physical(table)?, condition.clause(predicate)?);
        let returning = if self == Self::MySql { "" } else { " RETURNING id, value" };
        let sql = format!("UPDATE {table} SET value = value + {what}{clause}{returning}");
        Ok(Statement { sql, values: [vec![Value::Int(by)], condition.values].concat() })
    }

    /// Removes rows, and returns them. `MySQL` does not, but `MariaDB` does.
    pub(crate) fn delete_where(self, table: &str, predicate: &Predicate) -> Result<Statement, Failure> {
        let mut condition = Condition::new(self, 0);
        let (table, clause) = (physical(table)?, condition.clause(predicate)?);
        Ok(Statement { sql: format!("DELETE FROM {table}{clause} RETURNING id, value"), values: condition.values })
    }

    fn place(self, nth: usize) -> String {
        match self {
            Self::PostgreSql | Self::Store | Self::Driver => format!("${nth}"),
            // MySQL has no numbered places, so statements name their values in order.
            Self::MySql | Self::Sqlite => "?".to_owned(),
        }
    }
}

/// What a table is called in the database, as SQL has it.
pub(crate) fn physical(table: &str) -> Result<String, Failure> {
    let fits = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
    // The shortest limit of a name is PostgreSQL's, of 63 bytes.
    if table.is_empty() || table.len() > 50 || !table.chars().all(fits) {
        let rule = "lower-case letters, digits and `_`, at most 50";
        return Err(Failure::broken(format!("`{table}` cannot be the name of a table, which has {rule}")));
    }
    let name = format!("{PREFIX}{table}");
    if name == OWNER {
        return Err(Failure::broken(format!("a table cannot be called `{table}`: {OWNER} is the list of all tables")));
    }
    Ok(name)
}

/// The first text after all that begin with a prefix; none if there is no such text.
fn after(prefix: &str) -> Option<String> {
    let mut kept: Vec<char> = prefix.chars().collect();
    while let Some(last) = kept.pop() {
        if let Some(next) = (last as u32 + 1..=char::MAX as u32).find_map(char::from_u32) {
            kept.push(next);
            return Some(kept.into_iter().collect());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_asks_for_the_keys_between_a_prefix_and_the_next_one() {
        let statement = Dialect::Sqlite.scan("stock", "1.").unwrap();
        assert_eq!(statement.sql, "SELECT id, value FROM isoscope_stock WHERE id >= ? AND id < ? ORDER BY id");
        assert_eq!(statement.values, [Value::from("1."), Value::from("1/")]);
        assert_eq!(after("a\u{d7ff}").as_deref(), Some("a\u{e000}"), "there are no characters in between");
        assert_eq!(after("a\u{10ffff}").as_deref(), Some("b"));
        assert_eq!(after("\u{10ffff}"), None);
    }

    #[test]
    fn a_table_whose_name_would_be_sql_is_refused() {
        for name in ["", "a b", "x; DROP TABLE y", "Big", "owner"] {
            assert!(Dialect::MySql.get(name, "x").is_err(), "{name}");
        }
    }
}

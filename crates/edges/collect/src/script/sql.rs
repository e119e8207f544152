//! Scripts as SQL, for a bug report: what each session types, numbered in the order of the interleaving.

use super::{Action, Played, Script, ScriptStep};
use crate::dialect::Statement;
use crate::{Dialect, Failure, Value};
use std::fmt::Write;

impl Script {
    /// The script as SQL, and for the weak store, which speaks none, as [`Script`] reads it. Each statement is typed when the one before it, by number, has answered or waits for a lock.
    pub fn sql(&self, dialect: Dialect) -> Result<String, Failure> {
        self.written(dialect, None)
    }

    /// The script as SQL, with what each statement answered.
    pub fn sql_with_answers(&self, dialect: Dialect, played: &Played) -> Result<String, Failure> {
        self.written(dialect, Some(played))
    }

    fn written(&self, dialect: Dialect, played: Option<&Played>) -> Result<String, Failure> {
        if !dialect.has_sql() {
            return Ok(self.steps_with_answers(played));
        }
        let mut text = String::from("-- Before\n");
        if self.has_together() {
            line(&mut text, "-- Statements with the same number are sent at the same time.");
        }
        let numbers = self.numbers();
        for table in &self.tables {
            line(&mut text, &format!("{};", dialect.create(table)?));
        }
        for (table, row, value) in &self.rows {
            line(&mut text, &format!("{};", literal(dialect, &dialect.insert(table, row, value.clone())?)));
        }
        for session in self.sessions() {
            let mut settings: Vec<String> = Vec::new();
            line(&mut text, &format!("\n-- Session {session}"));
            for (idx, step) in self.steps.iter().enumerate().filter(|it| it.1.session == session) {
                let mut statements = statements(dialect, step)?;
                let last = statements.pop().unwrap_or_default();
                if !statements.is_empty() && statements != settings {
                    for setting in &statements {
                        line(&mut text, &format!("{setting};"));
                    }
                    settings = statements;
                }
                let answer = played.map(|it| answer(it, idx)).unwrap_or_default();
                line(&mut text, &format!("/* {} */ {last};{answer}", numbers[idx]));
            }
        }
        Ok(text)
    }
}

impl Script {
    /// The numbers of the steps; those that are sent at the same time have the same one.
    fn numbers(&self) -> Vec<usize> {
        let mut number = 0;
        (0..self.steps.len())
            .map(|idx| {
                number += usize::from(!self.joins(idx));
                number
            })
            .collect()
    }

    /// As [`super::text`] has scripts, with what each step answered as a remark, for what speaks no SQL.
    fn steps_with_answers(&self, played: Option<&Played>) -> String {
        let before = Self { steps: Vec::new(), ..self.clone() };
        let mut text = before.to_string();
        let Some(played) = played else { return self.to_string() };
        let is_grouped = |idx: usize| self.joins(idx) || idx + 1 < self.steps.len() && self.joins(idx + 1);
        let indent = |idx: usize| if is_grouped(idx) { "    " } else { "" };
        let steps: Vec<String> =
            self.steps.iter().enumerate().map(|(idx, step)| format!("{}{step}", indent(idx))).collect();
        let width = steps.iter().map(String::len).max().unwrap_or_default();
        for (idx, step) in steps.iter().enumerate() {
            if is_grouped(idx) && !self.joins(idx) {
                line(&mut text, "together {");
            }
            line(&mut text, &format!("{step:width$}  # {}", played.said(idx)));
            if is_grouped(idx) && !(idx + 1 < self.steps.len() && self.joins(idx + 1)) {
                line(&mut text, "}");
            }
        }
        text
    }
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a text takes every text");
}

fn answer(played: &Played, idx: usize) -> String {
    format!(" -- {}", played.said(idx))
}

/// What is typed for a step; all but the last are settings of the session.
fn statements(dialect: Dialect, step: &ScriptStep) -> Result<Vec<String>, Failure> {
    let statement = match &step.action {
        Action::Begin { isolation } => return Ok(dialect.begin(isolation)),
        Action::Commit => return Ok(vec!["COMMIT".to_owned()]),
        Action::Abort => return Ok(vec!["ROLLBACK".to_owned()]),
        Action::Get { table, row } => dialect.get(table, row)?,
        Action::Put { table, row, value } => dialect.update(table, row, value.clone())?,
        Action::Append { table, row, element } => dialect.append(table, row, *element)?,
        Action::Insert { table, row, value } => dialect.insert(table, row, value.clone())?,
        Action::Scan { table, predicate, locking } => dialect.select(table, predicate, *locking)?,
        Action::Add { table, predicate, by } => dialect.increase(table, predicate, *by)?,
        Action::Delete { table, predicate } => dialect.delete_where(table, predicate)?,
    };
    Ok(vec![literal(dialect, &statement)])
}

/// A statement with its values in their places. No text of a statement has a `?` or a `$` of its own.
fn literal(dialect: Dialect, statement: &Statement) -> String {
    let mut values = statement.values.iter();
    let mut text = String::new();
    let mut rest = statement.sql.chars().peekable();
    while let Some(letter) = rest.next() {
        if !matches!(letter, '?' | '$') {
            text.push(letter);
            continue;
        }
        while letter == '$' && rest.next_if(char::is_ascii_digit).is_some() {}
        text.push_str(&values.next().map(|it| quoted(dialect, it)).unwrap_or_default());
    }
    text
}

fn quoted(dialect: Dialect, value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Text(text) => {
            let text = text.replace('\'', "''");
            // In MySQL a backslash escapes what follows.
            let text = if dialect == Dialect::MySql { text.replace('\\', "\\\\") } else { text };
            format!("'{text}'")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_has_its_statements_with_the_numbers_of_the_interleaving() {
        let script = "table t int\nrow t x 0\ns1 begin repeatable-read\ns2 begin repeatable-read\ns1 get t x\n\
                      s2 put t x 1\ns2 commit\ns1 scan t\ns1 commit\ns1 begin repeatable-read\ns1 abort";
        let script: Script = script.parse().unwrap();
        let expected = "-- Before\n\
            CREATE TABLE isoscope_t (id VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY, \
            value BIGINT NOT NULL) ENGINE=InnoDB;\n\
            INSERT INTO isoscope_t (value, id) VALUES (0, 'x');\n\n\
            -- Session s1\n\
            SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;\n\
            /* 1 */ START TRANSACTION;\n\
            /* 3 */ SELECT value FROM isoscope_t WHERE id = 'x';\n\
            /* 6 */ SELECT id, value FROM isoscope_t ORDER BY id;\n\
            /* 7 */ COMMIT;\n\
            /* 8 */ START TRANSACTION;\n\
            /* 9 */ ROLLBACK;\n\n\
            -- Session s2\n\
            SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;\n\
            /* 2 */ START TRANSACTION;\n\
            /* 4 */ UPDATE isoscope_t SET value = 1 WHERE id = 'x';\n\
            /* 5 */ COMMIT;\n";
        assert_eq!(script.sql(Dialect::MySql).unwrap(), expected);
        let sql = script.sql(Dialect::PostgreSql).unwrap();
        assert!(sql.contains("/* 1 */ BEGIN ISOLATION LEVEL REPEATABLE READ;\n"), "{sql}");
        assert!(script.sql(Dialect::Sqlite).unwrap().contains("/* 1 */ BEGIN DEFERRED;\n"));
    }

    #[test]
    fn a_text_in_a_statement_cannot_end_it() {
        let statement = Dialect::MySql.insert("t", "it's ?\\", "$1".into()).unwrap();
        let expected = "INSERT INTO isoscope_t (value, id) VALUES ('$1', 'it''s ?\\\\')";
        assert_eq!(literal(Dialect::MySql, &statement), expected);
    }
}

//! Predicates as SQL conditions.

use super::Dialect;
use crate::{Failure, Value};
use iso_history::{Column, Comparison, Datum, Predicate};

/// A condition, with the values of its places.
#[derive(Debug)]
pub(super) struct Condition {
    dialect: Dialect,
    /// How many places come before it.
    n_before: usize,
    pub(super) values: Vec<Value>,
}

impl Condition {
    pub(super) fn new(dialect: Dialect, n_before: usize) -> Self {
        Self { dialect, n_before, values: Vec::new() }
    }

    /// ` WHERE ..`, or nothing if every row matches.
    pub(super) fn clause(&mut self, predicate: &Predicate) -> Result<String, Failure> {
        match predicate {
            Predicate::All => Ok(String::new()),
            _ => Ok(format!(" WHERE {}", self.sql(predicate)?)),
        }
    }

    fn sql(&mut self, predicate: &Predicate) -> Result<String, Failure> {
        Ok(match predicate {
            Predicate::All => "1 = 1".to_owned(),
            Predicate::Compare(column, comparison, constant) => {
                format!("{} {} {}", name(column), sign(*comparison), self.place(column, constant)?)
            }
            Predicate::Between(column, low, high) => {
                format!("{} BETWEEN {} AND {}", name(column), self.place(column, low)?, self.place(column, high)?)
            }
            Predicate::OneOf(_, constants) if constants.is_empty() => "1 = 0".to_owned(),
            Predicate::OneOf(column, constants) => {
                let places = constants.iter().map(|it| self.place(column, it)).collect::<Result<Vec<_>, _>>()?;
                format!("{} IN ({})", name(column), places.join(", "))
            }
            // What is left of a negative number is negative in SQL.
            Predicate::Remainder { column, divisor, remainder } => {
                format!("({} % {divisor} + {divisor}) % {divisor} = {remainder}", name(column))
            }
            Predicate::Not(inner) => format!("NOT ({})", self.sql(inner)?),
            Predicate::And(parts) => self.joined(parts, " AND ", "1 = 1")?,
            Predicate::Or(parts) => self.joined(parts, " OR ", "1 = 0")?,
            Predicate::Foreign(text) => {
                return Err(Failure::broken(format!("nobody knows what the predicate \"{text}\" means in SQL")));
            }
        })
    }

    fn joined(&mut self, parts: &[Predicate], word: &str, empty: &str) -> Result<String, Failure> {
        let parts = parts.iter().map(|it| Ok(format!("({})", self.sql(it)?))).collect::<Result<Vec<_>, Failure>>()?;
        Ok(if parts.is_empty() { empty.to_owned() } else { parts.join(word) })
    }

    /// A place for a constant. The names of rows are texts whatever the table has, and become numbers where it has those.
    fn place(&mut self, column: &Column, constant: &Datum) -> Result<String, Failure> {
        self.values.push(match (column, constant) {
            (Column::Named(_), Datum::Int(number)) => Value::Int(*number),
            (Column::Key, Datum::Int(number)) => Value::Text(number.to_string()),
            (_, Datum::Text(text)) => Value::Text(text.to_string()),
            (_, other) => return Err(Failure::broken(format!("no row is compared with {other}"))),
        });
        Ok(self.dialect.place(self.n_before + self.values.len()))
    }
}

fn name(column: &Column) -> &'static str {
    match column {
        Column::Key => "id",
        Column::Named(_) => "value",
    }
}

fn sign(comparison: Comparison) -> &'static str {
    if comparison == Comparison::Different { "<>" } else { comparison.sign() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iso_formats::predicate_of;

    #[test]
    fn a_predicate_becomes_a_condition_with_its_values_in_order() {
        let sql = |text: &str| {
            let mut condition = Condition::new(Dialect::PostgreSql, 1);
            let clause = condition.clause(&predicate_of(text).unwrap()).unwrap();
            (clause, condition.values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        };
        let pair = |clause: &str, values: &str| (clause.to_owned(), values.to_owned());
        assert_eq!(sql("all"), pair("", ""));
        assert_eq!(sql("key in 3..7"), pair(" WHERE id BETWEEN $2 AND $3", "3 7"));
        assert_eq!(
            sql("not (value < 3 or key = x) and value != 4"),
            pair(" WHERE (NOT ((value < $2) OR (id = $3))) AND (value <> $4)", "3 x 4")
        );
        assert_eq!(sql("value mod 2 = 1"), pair(" WHERE (value % 2 + 2) % 2 = 1", ""));
        assert_eq!(sql("value in [1, 2]"), pair(" WHERE value IN ($2, $3)", "1 2"));
        assert!(Condition::new(Dialect::MySql, 0).clause(&Predicate::Foreign("f".into())).is_err());
    }
}

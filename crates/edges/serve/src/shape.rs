//! Statements that differ in their numbers only have one plan, so that a text without parameters is not analysed each time.
//!
//! Numbers become parameters, the text with these is planned once, and the numbers are put into a copy of the plan. Only
//! those are taken that a comparison, an assignment, a sum or a row of VALUES has, where a parameter means the same.

use crate::analyse::{Action, Asked, Plan, Reading};
use crate::condition::{Constant, Template};
use crate::sql::{Statement, WordKind, statements};
use std::fmt::Write as _;

/// A statement without its numbers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shape<'s> {
    /// With parameters instead of numbers.
    pub(crate) text: String,
    numbers: Vec<&'s str>,
    /// As it was.
    original: &'s str,
}

/// The shape of a text; none if it has several statements, nothing to leave out, or parameters of its own.
pub(crate) fn shape(sql: &str) -> Option<Shape<'_>> {
    if sql.contains('$') {
        return None;
    }
    let statements = statements(sql);
    let [statement] = statements.as_slice() else { return None };
    if !matches!(statement.first_words(1).as_str(), "SELECT" | "UPDATE" | "DELETE" | "INSERT") {
        return None;
    }
    let original = statement.text;
    let (mut text, mut numbers, mut done) = (String::with_capacity(original.len()), Vec::new(), 0);
    for nth in 1..statement.words.len() {
        if is_replaceable(statement, nth) {
            let at = &statement.words[nth].at;
            text += &original[done..at.start];
            numbers.push(&original[at.clone()]);
            write!(text, "${}", numbers.len()).ok();
            done = at.end;
        }
    }
    text += &original[done..];
    (!numbers.is_empty()).then_some(Shape { text, numbers, original })
}

fn is_replaceable(statement: &Statement<'_>, nth: usize) -> bool {
    let word = |nth: usize| &statement.text[statement.words[nth].at.clone()];
    let is_symbol =
        |nth: usize, symbols: &[&str]| statement.words[nth].kind == WordKind::Symbol && symbols.contains(&word(nth));
    let is_number = statement.words[nth].kind == WordKind::Constant && word(nth).bytes().all(|it| it.is_ascii_digit());
    if !is_number {
        return false;
    }
    // A sign belongs to the number, but not after another one: `n + -5`.
    let is_sum = is_symbol(nth - 1, &["+"]) || nth > 1 && is_symbol(nth - 1, &["-"]) && is_symbol(nth - 2, &["+"]);
    let is_in_row = statement.first_words(1) == "INSERT"
        && statement.words[nth].depth == 1
        && is_symbol(nth - 1, &["(", ","])
        && statement.find(0, &["values"]).is_some_and(|it| it < nth);
    is_symbol(nth - 1, &["=", "<", ">"]) || is_sum || is_in_row
}

impl Shape<'_> {
    /// The plan of the statement, given that of its shape.
    pub(crate) fn fill(&self, plan: &Plan) -> Plan {
        let asked = |it: &Asked| Asked {
            table: it.table.clone(),
            condition: it.condition.as_ref().map(|it| self.template(it)),
        };
        let action = match &plan.action {
            Action::Read(reading) => {
                Action::Read(Reading { asked: reading.asked.as_ref().map(asked), ..reading.clone() })
            }
            Action::Change(changed, sets) => Action::Change(asked(changed), *sets),
            other => other.clone(),
        };
        Plan {
            sql: self.text(&plan.sql),
            text: self.original.to_owned(),
            action,
            missing: plan.missing,
            sources: plan.sources.iter().map(asked).collect(),
            code: plan.code,
        }
    }

    /// A text with numbers instead of parameters.
    fn text(&self, sql: &str) -> String {
        let mut parts = sql.split('$');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(|it: char| !it.is_ascii_digit()).unwrap_or(part.len());
            let number = part[..end].parse::<usize>().ok().and_then(|it| self.numbers.get(it.checked_sub(1)?));
            text += number.copied().unwrap_or_default();
            text += &part[end..];
        }
        text
    }

    fn template(&self, template: &Template) -> Template {
        let all = |parts: &[Template]| parts.iter().map(|it| self.template(it)).collect();
        match template {
            Template::All => Template::All,
            Template::Compare(column, kind, comparison, it) => {
                Template::Compare(column.clone(), *kind, *comparison, self.constant(it))
            }
            Template::Between(column, kind, low, high) => {
                Template::Between(column.clone(), *kind, self.constant(low), self.constant(high))
            }
            Template::OneOf(column, kind, constants) => {
                Template::OneOf(column.clone(), *kind, constants.iter().map(|it| self.constant(it)).collect())
            }
            Template::AnyOf(column, kind, it) => Template::AnyOf(column.clone(), *kind, self.constant(it)),
            Template::Not(inner) => Template::Not(Box::new(self.template(inner))),
            Template::And(parts) => Template::And(all(parts)),
            Template::Or(parts) => Template::Or(all(parts)),
        }
    }

    fn constant(&self, constant: &Constant) -> Constant {
        match constant {
            Constant::Parameter(nth) => {
                Constant::Number(self.numbers.get(*nth).copied().unwrap_or_default().to_owned())
            }
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_comparisons_sums_and_rows_are_left_out() {
        for (sql, expected) in [
            ("SELECT a FROM t WHERE id = 12;", Some("SELECT a FROM t WHERE id = $1")),
            ("UPDATE t SET n = n + -7 WHERE id=3 AND m >= 4", Some("UPDATE t SET n = n + -$1 WHERE id=$2 AND m >= $3")),
            ("INSERT INTO t (a, b) VALUES (1, f(2), 3)", Some("INSERT INTO t (a, b) VALUES ($1, f(2), $2)")),
            ("SELECT a::numeric(10,2) FROM t LIMIT 5", None),
            ("UPDATE t SET n = -5", None),
            ("SELECT a FROM t WHERE id = $1 AND n = 2", None),
            ("SELECT 1 = 1; SELECT 2 = 2", None),
            ("SET x = 5", None),
            ("SELECT a FROM t WHERE n = 1.5", None),
        ] {
            assert_eq!(shape(sql).map(|it| it.text), expected.map(str::to_owned), "{sql}");
        }
    }

    #[test]
    fn numbers_come_back_where_they_were() {
        let shape = shape("SELECT a FROM t WHERE id = 12 AND n < 345").unwrap();
        assert_eq!(
            shape.text("SELECT a, tag FROM t WHERE id = $1 AND n < $2 -- $1"),
            "SELECT a, tag FROM t WHERE id = 12 AND n < 345 -- 12"
        );
        let column = iso_history::Column::Key;
        let kind = crate::catalogue::Kind::Integer;
        let template = |low, high| Template::Between(column.clone(), kind, low, high);
        let number = |it: &str| Constant::Number(it.to_owned());
        let filled = shape.template(&template(Constant::Parameter(0), Constant::Parameter(1)));
        assert_eq!(filled, template(number("12"), number("345")));
    }
}

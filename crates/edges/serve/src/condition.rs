//! Conditions of SQL as predicates of a history, with parameters that are not known yet.
//!
//! Only what surely means the same in both is taken over: comparisons of a column with constants, where numbers compare
//! by size and texts are equal or not. The order of texts is that of a collation, so it is left to the database.

use crate::analyse::folded;
use crate::catalogue::{Kind, Table};
use crate::row::number;
use iso_history::{Column, Comparison, Datum, Predicate};
use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};

/// A predicate, but for its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Template {
    All,
    Compare(Column, Kind, Comparison, Constant),
    Between(Column, Kind, Constant, Constant),
    OneOf(Column, Kind, Vec<Constant>),
    /// One of the elements of an array.
    AnyOf(Column, Kind, Constant),
    Not(Box<Self>),
    And(Vec<Self>),
    Or(Vec<Self>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Constant {
    Text(String),
    Number(String),
    Bool(bool),
    /// By its number, from 0.
    Parameter(usize),
}

/// A value for a parameter; none if it is NULL or its format is not known.
pub(crate) type Parameter = Option<String>;

/// The condition of a statement on one table; none if it has parts that a history cannot say.
pub(crate) fn template(condition: Option<&Expr>, table: &Table, alias: &str) -> Option<Template> {
    condition.map_or(Some(Template::All), |it| Scope { table, alias }.template(it))
}

struct Scope<'t> {
    table: &'t Table,
    alias: &'t str,
}

impl Scope<'_> {
    fn template(&self, condition: &Expr) -> Option<Template> {
        match condition {
            Expr::Nested(inner) => self.template(inner),
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => Some(Template::Not(Box::new(self.template(expr)?))),
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                Some(Template::And(vec![self.template(left)?, self.template(right)?]))
            }
            Expr::BinaryOp { left, op: BinaryOperator::Or, right } => {
                Some(Template::Or(vec![self.template(left)?, self.template(right)?]))
            }
            Expr::BinaryOp { left, op, right } => self.comparison(left, op, right),
            Expr::Between { expr, negated, low, high } => {
                let (column, kind) = self.column(expr)?;
                let is_ordered = matches!(kind, Kind::Integer | Kind::Numeric);
                let found = is_ordered.then_some(Template::Between(column, kind, constant(low)?, constant(high)?))?;
                Some(if *negated { Template::Not(Box::new(found)) } else { found })
            }
            Expr::InList { expr, list, negated } => {
                let (column, kind) = self.column(expr)?;
                let constants = list.iter().map(constant).collect::<Option<Vec<Constant>>>()?;
                let found = Template::OneOf(column, kind, constants);
                Some(if *negated { Template::Not(Box::new(found)) } else { found })
            }
            Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } => {
                let (column, kind) = self.column(left)?;
                let inner = if let Expr::Nested(inner) = &**right { inner } else { right };
                match constant(inner)? {
                    it @ (Constant::Parameter(_) | Constant::Text(_)) => Some(Template::AnyOf(column, kind, it)),
                    Constant::Number(_) | Constant::Bool(_) => None,
                }
            }
            // A column of truth values by itself.
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => match self.column(condition)? {
                (column, Kind::Bool) => {
                    Some(Template::Compare(column, Kind::Bool, Comparison::Equal, Constant::Bool(true)))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn comparison(&self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<Template> {
        let comparison = match op {
            BinaryOperator::Eq => Comparison::Equal,
            BinaryOperator::NotEq => Comparison::Different,
            BinaryOperator::Lt => Comparison::Less,
            BinaryOperator::LtEq => Comparison::AtMost,
            BinaryOperator::Gt => Comparison::Greater,
            BinaryOperator::GtEq => Comparison::AtLeast,
            _ => return None,
        };
        let ((column, kind), constant, comparison) = match (self.column(left), self.column(right)) {
            (Some(column), None) => (column, constant(right)?, comparison),
            (None, Some(column)) => (column, constant(left)?, mirrored(comparison)),
            _ => return None,
        };
        let is_ordered = matches!(kind, Kind::Integer | Kind::Numeric);
        let is_equality = matches!(comparison, Comparison::Equal | Comparison::Different);
        (is_ordered || is_equality).then_some(Template::Compare(column, kind, comparison, constant))
    }

    fn column(&self, expression: &Expr) -> Option<(Column, Kind)> {
        let name = match expression {
            Expr::Identifier(name) => folded(name),
            Expr::CompoundIdentifier(names) => match names.as_slice() {
                [table, name] if folded(table) == self.alias => folded(name),
                _ => return None,
            },
            Expr::Nested(inner) => return self.column(inner),
            _ => return None,
        };
        let column = self.table.column(&name).filter(|it| it.kind != Kind::Other)?;
        // A number that is the whole key is also the name of the row, and names are found fast.
        let is_name = self.table.key.as_slice() == [name.as_str()] && column.kind == Kind::Integer;
        Some((if is_name { Column::Key } else { Column::Named(name.into()) }, column.kind))
    }
}

fn mirrored(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::AtMost => Comparison::AtLeast,
        Comparison::Greater => Comparison::Less,
        Comparison::AtLeast => Comparison::AtMost,
        same @ (Comparison::Equal | Comparison::Different) => same,
    }
}

/// Does an expression say nothing of any row?
pub(crate) fn is_constant(expression: &Expr) -> bool {
    matches!(expression, Expr::Value(it) if it.value == Value::Null) || constant(expression).is_some()
}

fn constant(expression: &Expr) -> Option<Constant> {
    match expression {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => constant(inner),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match constant(expr)? {
            Constant::Number(text) => Some(Constant::Number(format!("-{text}"))),
            _ => None,
        },
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => Some(Constant::Number(text.clone())),
            Value::SingleQuotedString(text) => Some(Constant::Text(text.clone())),
            Value::Boolean(it) => Some(Constant::Bool(*it)),
            Value::Placeholder(text) => {
                let number = text.strip_prefix('$')?.parse::<usize>().ok()?;
                number.checked_sub(1).map(Constant::Parameter)
            }
            _ => None,
        },
        _ => None,
    }
}

impl Template {
    /// The predicate with these parameters; none if one of them cannot be said.
    pub(crate) fn predicate(&self, parameters: &[Parameter]) -> Option<Predicate> {
        let all = |parts: &[Self]| parts.iter().map(|it| it.predicate(parameters)).collect::<Option<Vec<Predicate>>>();
        Some(match self {
            Self::All => Predicate::All,
            Self::Compare(column, kind, comparison, constant) => {
                Predicate::Compare(column.clone(), *comparison, constant.datum(*kind, parameters)?)
            }
            Self::Between(column, kind, low, high) => {
                Predicate::Between(column.clone(), low.datum(*kind, parameters)?, high.datum(*kind, parameters)?)
            }
            Self::OneOf(column, kind, constants) => {
                let data = constants.iter().map(|it| it.datum(*kind, parameters)).collect::<Option<Vec<Datum>>>()?;
                Predicate::OneOf(column.clone(), data)
            }
            Self::AnyOf(column, kind, constant) => {
                let text = constant.text(parameters)?;
                let elements = elements(text)?;
                let data = elements.iter().map(|it| datum(it, *kind)).collect::<Option<Vec<Datum>>>()?;
                Predicate::OneOf(column.clone(), data)
            }
            Self::Not(inner) => Predicate::Not(Box::new(inner.predicate(parameters)?)),
            Self::And(parts) => Predicate::And(all(parts)?),
            Self::Or(parts) => Predicate::Or(all(parts)?),
        })
    }
}

impl Constant {
    fn text<'c>(&'c self, parameters: &'c [Parameter]) -> Option<&'c str> {
        match self {
            Self::Text(text) | Self::Number(text) => Some(text),
            Self::Bool(it) => Some(if *it { "true" } else { "false" }),
            Self::Parameter(nth) => parameters.get(*nth)?.as_deref(),
        }
    }

    fn datum(&self, kind: Kind, parameters: &[Parameter]) -> Option<Datum> {
        datum(self.text(parameters)?, kind)
    }
}

/// A constant that is compared with a column of this kind, as rows have it.
fn datum(text: &str, kind: Kind) -> Option<Datum> {
    match kind {
        Kind::Integer | Kind::Numeric => {
            let text = text.trim();
            let is_number = text.strip_prefix('-').unwrap_or(text).starts_with(|it: char| it.is_ascii_digit())
                && text.bytes().all(|it| it.is_ascii_digit() || matches!(it, b'.' | b'-'));
            is_number.then(|| number(text))
        }
        Kind::Text => Some(Datum::text(text)),
        Kind::Bool => match text.to_ascii_lowercase().as_str() {
            "t" | "true" | "1" | "yes" | "on" => Some(Datum::text("true")),
            "f" | "false" | "0" | "no" | "off" => Some(Datum::text("false")),
            _ => None,
        },
        Kind::Uuid => (text.len() == 36).then(|| Datum::text(text.to_ascii_lowercase())),
        Kind::Other => None,
    }
}

/// The elements of an array as `PostgreSQL` spells it, if none of them is special.
fn elements(text: &str) -> Option<Vec<String>> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    if inner.contains(['"', '\\', '{']) || inner.split(',').any(|it| it.eq_ignore_ascii_case("null")) {
        return None;
    }
    Some(inner.split(',').filter(|it| !it.is_empty()).map(str::to_owned).collect())
}

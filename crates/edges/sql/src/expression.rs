//! Expressions: columns become fields of a row, subqueries of claims become quantifiers.

use crate::names::{Fresh, name};
use crate::schema::{Table, literal};
use crate::tokens::{Done, fail, place};
use sqlparser::ast::{
    BinaryOperator, CaseWhen, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Spanned,
    UnaryOperator, Value,
};
use std::collections::BTreeMap;

/// What may be said at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A statement of a transaction: no subqueries, since these would be read by the same statement.
    Statement,
    /// A claim about a state: subqueries, and no parameters.
    Claim,
}

/// A row that columns may belong to.
#[derive(Clone, Debug)]
pub(crate) struct RowInScope {
    /// What it is called: the table, or its alias.
    pub(crate) names: Vec<String>,
    pub(crate) table: usize,
    pub(crate) row: Row,
}

/// How a row is named in the translation.
#[derive(Clone, Debug)]
pub(crate) enum Row {
    /// That of a loop, quantifier or change.
    Named(String),
    /// By its key; `lock` follows each access.
    Keyed { access: String, key: String, lock: &'static str },
    /// What an INSERT was given.
    Given(BTreeMap<String, String>),
}

/// How the last statement says what it found.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    /// The name of a truth value.
    Truth(String),
    /// The name of a number of rows.
    Count(String),
}

/// What names mean where an expression stands.
#[derive(Clone, Debug)]
pub(crate) struct Scope<'a> {
    pub(crate) tables: &'a [Table],
    pub(crate) rows: Vec<RowInScope>,
    /// Parameters, in their order, and names of values.
    pub(crate) params: Vec<String>,
    pub(crate) values: Vec<String>,
    pub(crate) kind: Kind,
    pub(crate) found: Option<Found>,
    pub(crate) fresh: Fresh,
    /// Where the statement begins.
    pub(crate) at: (u32, u32),
}

impl Scope<'_> {
    pub(crate) fn place(&self, of: &impl Spanned) -> (u32, u32) {
        let at = place(of.span().start);
        if at.0 == 0 { self.at } else { at }
    }

    /// An expression, in parentheses where it has parts.
    pub(crate) fn expr(&mut self, expr: &Expr) -> Done<String> {
        let at = self.place(expr);
        match expr {
            Expr::Nested(inner) | Expr::IsTrue(inner) | Expr::IsNotFalse(inner) => self.expr(inner),
            Expr::Identifier(ident) => self.name(ident),
            Expr::CompoundIdentifier(parts) => self.qualified(parts, at),
            Expr::Value(value) => match &value.value {
                Value::Placeholder(text) => self.parameter(text, at),
                other => literal(other, at),
            },
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right, at),
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => Ok(format!("(not {})", self.expr(expr)?)),
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => Ok(format!("(-{})", self.expr(expr)?)),
            Expr::UnaryOp { op: UnaryOperator::Plus, expr } | Expr::Cast { expr, .. } => self.expr(expr),
            Expr::IsFalse(inner) | Expr::IsNotTrue(inner) => Ok(format!("(not {})", self.expr(inner)?)),
            Expr::Between { expr, negated, low, high } => {
                let (of, low, high) = (self.expr(expr)?, self.expr(low)?, self.expr(high)?);
                Ok(negation(*negated, &format!("({of} >= {low} and {of} <= {high})")))
            }
            Expr::InList { expr, list, negated } => {
                let of = self.expr(expr)?;
                let cases: Vec<String> =
                    list.iter().map(|it| Ok(format!("{of} == {}", self.expr(it)?))).collect::<Done<_>>()?;
                let any = if cases.is_empty() { "false".to_owned() } else { cases.join(" or ") };
                Ok(negation(*negated, &format!("({any})")))
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref(), at)
            }
            Expr::Function(function) => self.function(function, at),
            Expr::Subquery(query) => {
                self.allow_subquery(at)?;
                self.scalar(query)
            }
            Expr::Exists { subquery, negated } => {
                self.allow_subquery(at)?;
                Ok(negation(*negated, &self.exists(subquery)?))
            }
            Expr::InSubquery { .. } => {
                fail(at, "IN (SELECT ..) is not understood", "write EXISTS (SELECT 1 FROM t WHERE t.id = ..)")
            }
            Expr::IsNull(_) | Expr::IsNotNull(_) => {
                let hint = "every column has a value; whether there is a row says EXISTS, or FOUND after a statement";
                fail(at, "there is no NULL here", hint)
            }
            other => fail(at, format!("`{other}` is not understood"), "see what is, in docs/reference/sql-programs.md"),
        }
    }

    fn allow_subquery(&self, at: (u32, u32)) -> Done<()> {
        if self.kind == Kind::Claim {
            return Ok(());
        }
        let hint = "read it before, with a statement of its own: SELECT .. INTO name FROM ..;";
        fail(at, "a statement with a subquery is not understood", hint)
    }

    /// A column of the innermost row that has it, or else a value.
    fn name(&mut self, ident: &Ident) -> Done<String> {
        let (wanted, at) = (name(ident), place(ident.span.start));
        for row in self.rows.iter().rev().filter(|it| !matches!(it.row, Row::Given(_))) {
            if let Some(access) = self.column(row, &wanted) {
                return Ok(access);
            }
        }
        if wanted == "found" && self.kind == Kind::Statement {
            return self.found(at);
        }
        if self.params.contains(&wanted) || self.values.contains(&wanted) {
            return Ok(wanted);
        }
        let mut known: Vec<String> = self.rows.iter().map(|it| self.tables[it.table].columns()).collect();
        known.extend(self.params.iter().chain(&self.values).map(|it| format!(":{it}")));
        let hint = if known.is_empty() { String::new() } else { format!("there are {}", known.join(", ")) };
        fail(at, format!("nothing is called `{ident}` here"), hint)
    }

    fn qualified(&mut self, parts: &[Ident], at: (u32, u32)) -> Done<String> {
        if let [of, column] = parts {
            let (of, wanted) = (name(of), name(column));
            let row = self.rows.iter().rev().find(|it| it.names.contains(&of));
            if let Some(access) = row.and_then(|it| self.column(it, &wanted)) {
                return Ok(access);
            }
            if self.kind == Kind::Claim && row.is_none() {
                // A parameter of a transaction, in an assumption.
                return Ok(format!("{}.{wanted}", parts[0].value));
            }
        }
        let shown: Vec<&str> = parts.iter().map(|it| it.value.as_str()).collect();
        fail(at, format!("nothing is called `{}` here", shown.join(".")), "a column is named by its table or its alias")
    }

    fn column(&self, row: &RowInScope, wanted: &str) -> Option<String> {
        let table = &self.tables[row.table];
        table.column(wanted)?;
        Some(match &row.row {
            Row::Named(name) => format!("{name}.{wanted}"),
            Row::Keyed { key, .. } if table.key.name == wanted => key.clone(),
            Row::Keyed { access, lock, .. } => format!("{access}.{wanted}{lock}"),
            Row::Given(values) => values.get(wanted)?.clone(),
        })
    }

    /// `:name` or `$1`.
    pub(crate) fn parameter(&self, text: &str, at: (u32, u32)) -> Done<String> {
        let known = || {
            let names: Vec<String> = self.params.iter().chain(&self.values).map(|it| format!(":{it}")).collect();
            if names.is_empty() { "name it in `-- transaction NAME(..)`".to_owned() } else { names.join(", ") }
        };
        let wanted = text.trim_start_matches([':', '$', '@']);
        if text.starts_with('$')
            && let Ok(nth) = wanted.parse::<usize>()
        {
            if let Some(param) = nth.checked_sub(1).and_then(|it| self.params.get(it)) {
                return Ok(param.clone());
            }
            return fail(at, format!("there is no parameter `{text}`"), format!("there are {}", known()));
        }
        let wanted = crate::names::plain(&wanted.to_lowercase());
        if self.params.contains(&wanted) || self.values.contains(&wanted) {
            return Ok(wanted);
        }
        fail(at, format!("there is no parameter `{text}`"), format!("there are {}", known()))
    }

    fn found(&self, at: (u32, u32)) -> Done<String> {
        match &self.found {
            Some(Found::Truth(name)) => Ok(name.clone()),
            Some(Found::Count(name)) => Ok(format!("({name} > 0)")),
            None => no_found(at),
        }
    }

    fn binary(&mut self, left: &Expr, op: &BinaryOperator, right: &Expr, at: (u32, u32)) -> Done<String> {
        let sign = match op {
            BinaryOperator::Plus => "+",
            BinaryOperator::Minus => "-",
            BinaryOperator::Multiply => "*",
            BinaryOperator::Eq => "==",
            BinaryOperator::NotEq => "!=",
            BinaryOperator::Lt => "<",
            BinaryOperator::LtEq => "<=",
            BinaryOperator::Gt => ">",
            BinaryOperator::GtEq => ">=",
            BinaryOperator::And => "and",
            BinaryOperator::Or => "or",
            other => {
                return fail(at, format!("the operator {other} is not understood"), "there are + - * and comparisons");
            }
        };
        Ok(format!("({} {sign} {})", self.expr(left)?, self.expr(right)?))
    }

    fn case(
        &mut self,
        operand: Option<&Expr>,
        conditions: &[CaseWhen],
        otherwise: Option<&Expr>,
        at: (u32, u32),
    ) -> Done<String> {
        let Some(otherwise) = otherwise else {
            return fail(at, "CASE without ELSE may be NULL", "say what it is in all other cases: ELSE ..");
        };
        let mut text = self.expr(otherwise)?;
        let operand = operand.map(|it| self.expr(it)).transpose()?;
        for when in conditions.iter().rev() {
            let condition = self.expr(&when.condition)?;
            let condition = operand.as_ref().map_or(condition.clone(), |it| format!("{it} == {condition}"));
            text = format!("(if {condition} then {} else {text})", self.expr(&when.result)?);
        }
        Ok(text)
    }

    fn function(&mut self, function: &Function, at: (u32, u32)) -> Done<String> {
        let (called, args) = (function.name.to_string().to_lowercase(), arguments(function));
        match (called.as_str(), &args[..]) {
            ("row_count", []) => match &self.found {
                Some(Found::Count(name)) => Ok(name.clone()),
                Some(Found::Truth(name)) => Ok(format!("(if {name} then 1 else 0)")),
                None => no_found(at),
            },
            ("greatest", [a, b]) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                Ok(format!("(if {a} >= {b} then {a} else {b})"))
            }
            ("least", [a, b]) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                Ok(format!("(if {a} <= {b} then {a} else {b})"))
            }
            // Nothing is NULL, so that the first argument is there.
            ("coalesce", [first, ..]) => self.expr(first),
            ("count" | "sum", _) => fail(
                at,
                format!("{called} has no rows here"),
                "it stands alone in a SELECT: SELECT count(*) INTO n FROM t;",
            ),
            _ => {
                let hint = "there are count, sum, coalesce, greatest, least, FOUND and row_count()";
                fail(at, format!("the function {called} is not understood"), hint)
            }
        }
    }
}

fn no_found<T>(at: (u32, u32)) -> Done<T> {
    let hint = "it stands in an IF that follows the statement directly: UPDATE ..; IF FOUND THEN .. END IF;";
    fail(at, "FOUND and row_count() belong to no statement here", hint)
}

pub(crate) fn negation(negated: bool, text: &str) -> String {
    if negated { format!("(not {text})") } else { text.to_owned() }
}

/// The arguments of a function that are expressions.
pub(crate) fn arguments(function: &Function) -> Vec<&Expr> {
    let FunctionArguments::List(list) = &function.args else { return Vec::new() };
    let of = |it| match it {
        &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref expr)) => Some(expr),
        _ => None,
    };
    list.args.iter().filter_map(of).collect()
}

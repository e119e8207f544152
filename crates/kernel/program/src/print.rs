//! Writes a syntax tree as text that reads back as the same tree.

use crate::program::ReadMode;
use crate::syntax::{
    AssignOp, Binary, COMPARISON, Call, Change, ClaimKind, Conflict, Expr, ExprKind, Ident, Item, ItemKind, Keys,
    NEGATION, Range, Row, Rows, Session, Stmt, StmtKind, Table, Target, TxnItem,
};
use std::fmt::Write;

/// A program, one item after the other.
pub(crate) fn print(items: &[Item]) -> String {
    items.iter().map(|it| item(&it.kind) + "\n").collect()
}

/// A text in quotes.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// A transaction of `run`: `withdraw("x", any int in 0..10)`.
pub(crate) fn call(call: &Call) -> String {
    format!("{}({})", call.txn.text, list(&call.args, |it| expr(it, 0)))
}

fn list<T>(things: &[T], one: impl Fn(&T) -> String) -> String {
    things.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn item(item: &ItemKind) -> String {
    match item {
        ItemKind::Width(bits) => format!("width {bits}"),
        ItemKind::Enum { name, members } => format!("enum {} {{ {} }}", name.text, list(members, |it| it.text.clone())),
        ItemKind::Var { name, ty, initial } => {
            let initial = initial.as_ref().map_or(String::new(), |it| format!(" = {}", expr(it, 0)));
            format!("var {}: {}{initial}", name.text, ty.text)
        }
        ItemKind::Table(declared) => table(declared),
        ItemKind::Init(stmts) => format!("init {}", block(stmts, 0)),
        ItemKind::Assume(holds) => format!("assume {}", expr(holds, 0)),
        ItemKind::Txn(declared) => txn(declared),
        ItemKind::Run(sessions) => {
            format!("run {}", sessions.iter().map(session).collect::<Vec<_>>().join(" || "))
        }
        ItemKind::Claim { kind, label, holds } => {
            let word = if *kind == ClaimKind::Invariant { "invariant" } else { "observer" };
            let label = label.as_ref().map_or(String::new(), |it| quoted(it) + ": ");
            format!("{word} {label}{}", expr(holds, 0))
        }
    }
}

fn table(table: &Table) -> String {
    let keys = match &table.keys {
        None => String::new(),
        Some(Keys::Range(it)) => format!(" in {}", range(it)),
        Some(Keys::List(keys)) => format!(" in {}", list(keys, |it| expr(it, 0))),
    };
    let fields = list(&table.fields, |(name, ty)| format!("{}: {}", name.text, ty.text));
    let fields = if fields.is_empty() { "{ }".to_owned() } else { format!("{{ {fields} }}") };
    format!("table {}({}{keys}) {fields}", table.name.text, table.key.text)
}

fn range(range: &Range) -> String {
    format!("{}..{}", range.low, range.high)
}

fn txn(txn: &TxnItem) -> String {
    let params = list(&txn.params, |it| {
        it.ty.as_ref().map_or(it.name.text.clone(), |ty| format!("{}: {}", it.name.text, ty.text))
    });
    format!("txn {}({params}) {}", txn.name.text, block(&txn.body, 0))
}

fn session(session: &Session) -> String {
    let calls = session.calls.iter().map(call).collect::<Vec<_>>().join("; ");
    match session.times {
        None => calls,
        Some(times) if session.calls.len() == 1 => format!("{times} * {calls}"),
        Some(times) => format!("{times} * ({calls})"),
    }
}

fn block(stmts: &[Stmt], indent: usize) -> String {
    let mut text = "{\n".to_owned();
    for it in stmts {
        let _ = writeln!(text, "{:1$}{2}", "", 4 * (indent + 1), stmt(&it.kind, indent + 1));
    }
    let _ = write!(text, "{:1$}}}", "", 4 * indent);
    text
}

fn stmt(stmt: &StmtKind, indent: usize) -> String {
    match stmt {
        StmtKind::Let { name, value } => format!("let {} = {}", name.text, expr(value, 0)),
        StmtKind::Select(all) => {
            format!("let {}", list(all, |(name, value)| format!("{} = {}", name.text, expr(value, 0))))
        }
        StmtKind::Assign { target, op, value } => {
            let sign = match op {
                AssignOp::Set => "=",
                AssignOp::Add => "+=",
                AssignOp::Sub => "-=",
            };
            format!("{} {sign} {}", expr(target, 0), expr(value, 0))
        }
        StmtKind::If { condition, then, otherwise } => branch(condition, then, otherwise, indent),
        StmtKind::ForRows { row, table, mode, body } => {
            format!("for {} in {}{} {}", row.text, table.text, locking(*mode), block(body, indent))
        }
        StmtKind::ForRange { name, low, high, body } => {
            format!("for {} in {}..{} {}", name.text, expr(low, 0), expr(high, 0), block(body, indent))
        }
        StmtKind::Insert { row: it, fields } => format!("insert {}{}", row(it), record(fields)),
        StmtKind::Maybe { row: it, fields } => format!("maybe {}{}", row(it), record(fields)),
        StmtKind::Delete(it) => format!("delete {}", target(it)),
        StmtKind::Change { count, change: of } => {
            let count = count.as_ref().map_or(String::new(), |it| format!("let {} = ", it.text));
            count + &change(of)
        }
        StmtKind::Abort => "abort".to_owned(),
        StmtKind::Assert(holds) => format!("assert {}", expr(holds, 0)),
    }
}

fn change(of: &Change) -> String {
    let condition = |it: &Option<Expr>| it.as_ref().map_or(String::new(), |it| format!(" where {}", expr(it, 0)));
    let rows = |it: &Rows| match it {
        Rows::One(it) => row(it),
        Rows::All(table) => table.text.clone(),
    };
    match of {
        Change::Update { row, of, condition: when, fields } => {
            format!("update {} in {}{}{}", row.text, rows(of), condition(when), braces(fields))
        }
        Change::Delete { row, of, condition: when } => {
            format!("delete {} in {}{}", row.text, rows(of), condition(when))
        }
        Change::Insert { name, row: of, fields, conflict } => {
            let name = name.as_ref().map_or(String::new(), |it| format!("{} in ", it.text));
            let conflict = match conflict {
                Conflict::Nothing => "nothing".to_owned(),
                Conflict::Update(fields) => format!("update{}", braces(fields)),
            };
            format!("insert {name}{}{} on conflict {conflict}", row(of), record(fields))
        }
    }
}

fn locking(mode: ReadMode) -> &'static str {
    if mode == ReadMode::ForUpdate { " for update" } else { "" }
}

fn branch(condition: &Expr, then: &[Stmt], otherwise: &[Stmt], indent: usize) -> String {
    let text = format!("if {} {}", expr(condition, 0), block(then, indent));
    match otherwise {
        [] => text,
        [Stmt { kind: StmtKind::If { condition, then, otherwise }, .. }] => {
            format!("{text} else {}", branch(condition, then, otherwise, indent))
        }
        _ => format!("{text} else {}", block(otherwise, indent)),
    }
}

fn row(row: &Row) -> String {
    format!("{}[{}]", row.table.text, expr(&row.key, 0))
}

fn target(target: &Target) -> String {
    match target {
        Target::Row(it) => row(it),
        Target::Name(name) => name.text.clone(),
    }
}

fn record(fields: &[(Ident, Expr)]) -> String {
    if fields.is_empty() { String::new() } else { braces(fields) }
}

fn braces(fields: &[(Ident, Expr)]) -> String {
    let pairs = list(fields, |(name, value)| format!("{}: {}", name.text, expr(value, 0)));
    if pairs.is_empty() { " { }".to_owned() } else { format!(" {{ {pairs} }}") }
}

/// An expression where the parser takes operators that bind tighter than `least`.
fn expr(it: &Expr, least: u8) -> String {
    let (text, power) = match &it.kind {
        ExprKind::Int(number) => (number.to_string(), u8::MAX),
        ExprKind::Bool(truth) => (truth.to_string(), u8::MAX),
        ExprKind::Text(text) => (quoted(text), u8::MAX),
        ExprKind::Name(name) => (name.clone(), u8::MAX),
        ExprKind::Field(of, field) => (format!("{}.{}", target(of), field.text), u8::MAX),
        ExprKind::RowExists(of) => (format!("exists {}", row(of)), u8::MAX),
        ExprKind::Locked(of) => (format!("{} for update", expr(of, NEGATION)), u8::MAX),
        ExprKind::Any { ty, range: None } => (format!("any {}", ty.text), u8::MAX),
        ExprKind::Any { ty, range: Some(it) } => (format!("any {} in {}", ty.text, range(it)), u8::MAX),
        // A minus directly before a number is part of the number.
        ExprKind::Negated(of) if matches!(of.kind, ExprKind::Int(0..)) => (format!("-({})", expr(of, 0)), NEGATION),
        ExprKind::Negated(of) => (format!("-{}", expr(of, NEGATION - 1)), NEGATION),
        ExprKind::Not(of) => (format!("not {}", expr(of, COMPARISON - 1)), COMPARISON - 1),
        ExprKind::Binary(operator, left, right) => binary(*operator, left, right),
        // These reach as far as they can, so that everything but an end must be kept out of them.
        ExprKind::Over { quantifier, row, table, mode, body } => {
            let table = format!("{}{}", table.text, locking(*mode));
            (format!("{} {} in {table}: {}", quantifier.word(), row.text, expr(body, 0)), 0)
        }
        ExprKind::If(condition, then, otherwise) => {
            (format!("if {} then {} else {}", expr(condition, 0), expr(then, 0), expr(otherwise, 0)), 0)
        }
    };
    if least > 0 && power <= least { format!("({text})") } else { text }
}

fn binary(operator: Binary, left: &Expr, right: &Expr) -> (String, u8) {
    let (power, right_power) = operator.powers();
    let groups_left = power == right_power && power != COMPARISON;
    let left = expr(left, if groups_left { power - 1 } else { power });
    (format!("{left} {} {}", operator.sign(), expr(right, right_power)), power)
}

//! CREATE TABLE: a key, and fields with their types.

use crate::names::{name, object};
use crate::tokens::{Done, fail, place};
use sqlparser::ast::{
    ColumnDef, ColumnOption, CreateTable, DataType, Expr, IndexColumn, Spanned, TableConstraint, UnaryOperator, Value,
};

/// A table of the program.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) key: Column,
    pub(crate) fields: Vec<Column>,
    /// The keys that a CHECK allows, as the language has them.
    keys: Option<String>,
    /// The columns as they were written.
    pub(crate) written: Vec<String>,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) ty: &'static str,
    pub(crate) default: Option<Expr>,
}

impl Table {
    /// The table as the language has it.
    pub(crate) fn declared(&self) -> String {
        let keys = self.keys.as_ref().map(|it| format!(" in {it}")).unwrap_or_default();
        let fields: Vec<String> = self.fields.iter().map(|it| format!("{}: {}", it.name, it.ty)).collect();
        let fields = if fields.is_empty() { String::new() } else { format!(" {{ {} }}", fields.join(", ")) };
        format!("table {}({}{keys}){fields}", self.name, self.key.name)
    }

    pub(crate) fn column(&self, name: &str) -> Option<&Column> {
        std::iter::once(&self.key).chain(&self.fields).find(|it| it.name == name)
    }

    /// Its columns, for messages.
    pub(crate) fn columns(&self) -> String {
        let names = std::iter::once(&self.key).chain(&self.fields).map(|it| it.name.as_str());
        names.collect::<Vec<_>>().join(", ")
    }
}

/// What a CREATE TABLE says.
pub(crate) fn table(create: &CreateTable, at: (u32, u32)) -> Done<Table> {
    let mut keys: Vec<(String, (u32, u32))> = Vec::new();
    let (mut columns, mut allowed) = (Vec::new(), None);
    for def in &create.columns {
        columns.push(column(def, &mut keys, &mut allowed)?);
    }
    for constraint in &create.constraints {
        match constraint {
            TableConstraint::PrimaryKey(of) => {
                for index in &of.columns {
                    keys.push((index_name(index)?, place(constraint.span().start)));
                }
            }
            TableConstraint::Check(of) => allowed = Some((*of.expr).clone()),
            TableConstraint::Index(_) => {}
            TableConstraint::Unique(_) => return no_unique(place(constraint.span().start)),
            TableConstraint::ForeignKey(_) => return no_reference(place(constraint.span().start)),
            other => {
                let hint = "tables have columns, one PRIMARY KEY and perhaps a CHECK of the key";
                return fail(place(other.span().start), format!("`{other}` is not understood"), hint);
            }
        }
    }
    let key = match &keys[..] {
        [(key, _)] => key.clone(),
        [] => {
            return fail(at, "this table has no primary key", "a row is known by its key: write `id int PRIMARY KEY`");
        }
        [_, (_, second), ..] => {
            let hint = "a row has one key; make one column of them, as in `id int PRIMARY KEY` with id = w * 100 + d";
            return fail(*second, "this table has a primary key of several columns", hint);
        }
    };
    let position = columns.iter().position(|it: &Column| it.name == key);
    let Some(position) = position else {
        return fail(keys[0].1, format!("the table has no column `{key}`"), "the primary key is one of its columns");
    };
    let written = columns.iter().map(|it| it.name.clone()).collect();
    let key = columns.remove(position);
    if key.ty == "bool" {
        return fail(at, format!("the key `{}` is a boolean", key.name), "keys are numbers or texts");
    }
    let keys = allowed.map(|it| allowed_keys(&it, &key.name, at)).transpose()?;
    Ok(Table { name: object(&create.name)?, key, fields: columns, keys, written })
}

fn column(def: &ColumnDef, keys: &mut Vec<(String, (u32, u32))>, allowed: &mut Option<Expr>) -> Done<Column> {
    let (column, at) = (name(&def.name), place(def.name.span.start));
    let mut default = None;
    for option in &def.options {
        match &option.option {
            ColumnOption::NotNull | ColumnOption::Null | ColumnOption::Comment(_) => {}
            ColumnOption::Default(value) => default = Some(value.clone()),
            ColumnOption::PrimaryKey(_) => keys.push((column.clone(), at)),
            ColumnOption::Check(check) => *allowed = Some((*check.expr).clone()),
            ColumnOption::Unique(_) => return no_unique(at),
            ColumnOption::ForeignKey(_) => return no_reference(at),
            other => {
                let hint = "columns have a type, and perhaps NOT NULL, DEFAULT, PRIMARY KEY or a CHECK of the key";
                return fail(at, format!("`{other}` of column `{column}` is not understood"), hint);
            }
        }
    }
    Ok(Column { ty: type_of(&def.data_type, at)?, name: column, default })
}

fn no_unique<T>(at: (u32, u32)) -> Done<T> {
    let hint = "only the primary key is unique here: make a table whose key is this column, and insert into both";
    fail(at, "UNIQUE of another column is not understood", hint)
}

fn no_reference<T>(at: (u32, u32)) -> Done<T> {
    let hint = "leave it out, and let transactions lock the row that they refer to: SELECT .. FOR UPDATE";
    fail(at, "foreign keys are not understood", hint)
}

fn index_name(index: &IndexColumn) -> Done<String> {
    match &index.column.expr {
        Expr::Identifier(ident) => Ok(name(ident)),
        other => fail(place(other.span().start), format!("`{other}` is no column"), "a key is a column"),
    }
}

/// The type of a column or of a parameter.
pub(crate) fn type_of(of: &DataType, at: (u32, u32)) -> Done<&'static str> {
    Ok(match of {
        DataType::Int(_)
        | DataType::Integer(_)
        | DataType::BigInt(_)
        | DataType::SmallInt(_)
        | DataType::TinyInt(_)
        | DataType::Int2(_)
        | DataType::Int4(_)
        | DataType::Int8(_) => "int",
        DataType::Bool | DataType::Boolean => "bool",
        DataType::Text
        | DataType::Varchar(_)
        | DataType::Char(_)
        | DataType::Character(_)
        | DataType::CharacterVarying(_)
        | DataType::String(_)
        | DataType::Uuid
        | DataType::Enum(..) => "text",
        other => {
            let hint = "types are int, boolean and text; money can be counted in cents, and time in seconds";
            return fail(at, format!("values of type `{other}` cannot be computed with"), hint);
        }
    })
}

/// `CHECK (no BETWEEN 1 AND 4)` and `CHECK (name IN ('a', 'b'))` say which rows there can be.
fn allowed_keys(check: &Expr, key: &str, at: (u32, u32)) -> Done<String> {
    let is_key = |it: &Expr| matches!(it, Expr::Identifier(ident) if name(ident) == key);
    match check {
        Expr::Nested(inner) => allowed_keys(inner, key, at),
        Expr::Between { expr, negated: false, low, high } if is_key(expr) => {
            Ok(format!("{}..{}", constant(low, at)?, constant(high, at)?))
        }
        Expr::InList { expr, list, negated: false } if is_key(expr) => {
            Ok(list.iter().map(|it| constant(it, at)).collect::<Done<Vec<_>>>()?.join(", "))
        }
        other => {
            let hint = format!(
                "only the keys can be restricted, as in CHECK ({key} BETWEEN 1 AND 4); write anything else as \
                 `-- invariant ..`"
            );
            fail(place(other.span().start), format!("CHECK ({other}) is not understood"), hint)
        }
    }
}

/// A number or a text as the language has it.
pub(crate) fn constant(expr: &Expr, at: (u32, u32)) -> Done<String> {
    match expr {
        Expr::Nested(inner) => constant(inner, at),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => Ok(format!("-{}", constant(expr, at)?)),
        Expr::Value(value) => literal(&value.value, place(value.span.start)),
        other => fail(at, format!("`{other}` is no constant"), "a number, a text or a truth value is needed here"),
    }
}

pub(crate) fn literal(value: &Value, at: (u32, u32)) -> Done<String> {
    match value {
        Value::Number(text, _) if text.chars().all(|it| it.is_ascii_digit()) => Ok(text.clone()),
        Value::Boolean(truth) => Ok(truth.to_string()),
        Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => {
            Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")))
        }
        Value::Null => {
            let hint = "every column has a value: take one that means none, such as 0 or ''";
            fail(at, "there is no NULL here", hint)
        }
        other => fail(at, format!("`{other}` is no number, text or truth value"), "numbers are whole ones"),
    }
}

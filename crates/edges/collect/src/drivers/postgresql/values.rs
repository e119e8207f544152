//! Values on their way to the server and back.

use super::failure;
use crate::{Failure, Value};
use bytes::BytesMut;
use postgres::Row;
use postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};

/// A value whose type the server finds out.
#[derive(Debug)]
pub(super) struct AsText(pub(super) String);

impl ToSql for AsText {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        out.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

/// Values as the statement's types want them.
pub(super) fn bound(prepared: &postgres::Statement, values: &[Value]) -> Result<Vec<Box<dyn ToSql + Sync>>, Failure> {
    let bind = |(value, kind): (&Value, &Type)| -> Result<Box<dyn ToSql + Sync>, Failure> {
        match value {
            Value::Int(number) if *kind == Type::INT8 => Ok(Box::new(*number)),
            Value::Text(text) if *kind == Type::INT8 => {
                let number = text.parse::<i64>();
                let number = number.map_err(|_| Failure::broken(format!("`{text}` is no number, as the table wants")));
                Ok(Box::new(number?))
            }
            value => Ok(Box::new(value.to_string())),
        }
    };
    values.iter().zip(prepared.params()).map(bind).collect()
}

pub(super) fn values_of(row: &Row) -> Result<Vec<Value>, Failure> {
    (0..row.len()).map(|idx| value_of(row, idx)).collect()
}

fn value_of(row: &Row, idx: usize) -> Result<Value, Failure> {
    match *row.columns()[idx].type_() {
        Type::INT8 => row.try_get(idx).map(Value::Int),
        _ => row.try_get(idx).map(Value::Text),
    }
    .map_err(|it| failure(&it))
}

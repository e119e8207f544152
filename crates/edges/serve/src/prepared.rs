//! Statements that were prepared, their parameters, and what the engine owes of them.

use crate::analyse::{Action, Plan, Told, plans};
use crate::catalogue::Catalogue;
use crate::condition::Parameter;
use crate::transaction::Running;
use crate::wire::Fields;
use std::sync::Arc;

/// A statement that was prepared.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// None if the text was empty.
    pub(crate) plan: Option<Arc<Plan>>,
    pub(crate) types: Vec<u32>,
    /// Columns of its result that the client must not see.
    pub(crate) hidden: Vec<usize>,
}

/// A statement with its parameters.
#[derive(Debug)]
pub(crate) struct Portal {
    pub(crate) plan: Option<Arc<Plan>>,
    pub(crate) running: Running,
}

impl Portal {
    /// It runs, for the first time or again.
    pub(crate) fn run(&mut self) -> Running {
        let parameters = self.running.parameters.clone();
        std::mem::replace(&mut self.running, Running { parameters, ..Running::default() })
    }
}

/// An answer that the engine owes.
#[derive(Debug)]
pub(crate) enum Owed {
    Parse,
    Bind,
    /// Of a statement by name, or of a portal.
    Describe {
        statement: Option<String>,
        plan: Option<Arc<Plan>>,
    },
    /// Of a portal by name. What it is called may be another one by the time of the answer.
    Execute {
        name: String,
        plan: Option<Arc<Plan>>,
        running: Box<Running>,
    },
    Close,
    Sync,
}

/// Do its rows have one more column?
pub(crate) fn is_tagged(plan: &Plan) -> bool {
    matches!(&plan.action, Action::Read(reading) if reading.told == Told::Column)
}

/// The numbers of types in a message, after their count.
pub(crate) fn type_numbers(mut fields: Fields<'_>) -> Vec<u32> {
    let n = fields.count().unwrap_or_default();
    (0..n).map_while(|_| fields.int()).map(i32::cast_unsigned).collect()
}

/// The body of a `Parse`.
pub(crate) fn parse_body(name: &str, sql: &str, types: &[u32]) -> Vec<u8> {
    let count = i16::try_from(types.len()).unwrap_or(i16::MAX).to_be_bytes();
    let numbers: Vec<u8> = types.iter().flat_map(|it| it.to_be_bytes()).collect();
    [name.as_bytes(), b"\0", sql.as_bytes(), b"\0", &count, &numbers].concat()
}

/// The parameters of a `Bind`, after the names.
pub(crate) fn parameters(mut fields: Fields<'_>, types: &[u32]) -> Option<Vec<Parameter>> {
    let formats: Vec<i16> = (0..fields.count()?).map_while(|_| fields.short()).collect();
    let mut found = Vec::new();
    for nth in 0..fields.count()? {
        let value = fields.value()?;
        let format = if formats.len() == 1 { formats[0] } else { formats.get(nth).copied().unwrap_or(0) };
        found.push(value.and_then(|it| parameter(it, format, types.get(nth).copied().unwrap_or(0))));
    }
    Some(found)
}

/// A parameter as a text.
fn parameter(value: &[u8], format: i16, type_number: u32) -> Parameter {
    if format == 0 {
        return String::from_utf8(value.to_vec()).ok();
    }
    match (type_number, value.len()) {
        (21, 2) => Some(i16::from_be_bytes(value.try_into().ok()?).to_string()),
        (23, 4) => Some(i32::from_be_bytes(value.try_into().ok()?).to_string()),
        (20, 8) => Some(i64::from_be_bytes(value.try_into().ok()?).to_string()),
        (16, 1) => Some((value[0] != 0).to_string()),
        (25 | 1043 | 19, _) => String::from_utf8(value.to_vec()).ok(),
        _ => None,
    }
}

/// Plans of a text, shared by sessions.
pub(crate) fn plan_all(sql: &str, catalogue: &Catalogue) -> Vec<Arc<Plan>> {
    plans(sql, catalogue).into_iter().map(Arc::new).collect()
}

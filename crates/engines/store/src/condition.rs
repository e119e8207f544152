//! Predicates of scans, and how the store evaluates them.

use iso_history::{Datum, Name, Predicate};
use std::fmt;
use std::sync::Arc;

/// A predicate that the store can evaluate on the name and the value of a row.
#[derive(Clone)]
pub struct Condition {
    predicate: Predicate,
    /// For a foreign predicate.
    test: Option<Arc<Test>>,
}

type Test = dyn Fn(&str, &Datum) -> bool + Send + Sync;

impl Condition {
    /// A predicate that says by itself which rows match; none if a part of it is foreign.
    ///
    /// The name of a row that looks like a number is one, as in histories.
    pub fn new(predicate: Predicate) -> Option<Self> {
        let is_evaluable = predicate.foreign().is_empty();
        is_evaluable.then_some(Self { predicate, test: None })
    }

    /// A predicate of which histories have the text only, and a function that says which rows match, by name and value.
    ///
    /// Equal texts must mean the same function. It is asked again when a history is made, about all versions of all rows.
    pub fn foreign(text: &str, test: impl Fn(&str, &Datum) -> bool + Send + Sync + 'static) -> Self {
        Self { predicate: Predicate::Foreign(text.into()), test: Some(Arc::new(test)) }
    }

    /// What histories have of it.
    pub fn predicate(&self) -> &Predicate {
        &self.predicate
    }

    /// Does a row of this name match with this value?
    pub fn matches(&self, row: &str, value: &Datum) -> bool {
        match &self.test {
            Some(test) => test(row, value),
            None => self.predicate.matches(row_datum(row).as_name(), value.as_name(), &|_| false),
        }
    }

    /// The text of a foreign predicate.
    pub(crate) fn foreign_text(&self) -> Option<&str> {
        match &self.predicate {
            Predicate::Foreign(text) => Some(text),
            _ => None,
        }
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.predicate.fmt(f)
    }
}

/// The name of a row as histories have it: a number if it is written as numbers are.
pub(crate) fn row_datum(row: &str) -> Datum {
    let number = row.parse::<i64>().ok().filter(|it| it.to_string() == row);
    number.map_or_else(|| Name::Text(row).to_datum(), Datum::Int)
}

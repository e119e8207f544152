//! An application as a workload: its rows hold texts, whatever they mean to it.

use crate::{Application, Assertion, Client, Failure, Random, Row, Table, Transaction, Turn, Value, Workload};
use iso_formats::WrittenValues;
use std::borrow::Cow;

/// The application.
#[derive(Debug)]
pub(crate) struct OfApplication(pub(crate) &'static dyn Application);

/// What a table is called in a database: names there have no hyphen.
pub(crate) fn table_name(table: &str) -> Cow<'_, str> {
    if table.contains('-') { Cow::Owned(table.replace('-', "_")) } else { Cow::Borrowed(table) }
}

impl Workload for OfApplication {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn tables(&self) -> Vec<Table> {
        self.0.tables().iter().map(|it| Table::of_texts(table_name(it))).collect()
    }

    fn rows(&self) -> Vec<(String, String, Value)> {
        let rows = self.0.rows().into_iter();
        rows.map(|Row { table, row, value }| (table_name(table).into_owned(), row, Value::Text(value.to_string())))
            .collect()
    }

    fn transaction(&self, turn: Turn) -> Box<dyn Transaction> {
        let Turn { seed, slot, .. } = turn;
        self.0.transaction(slot, &mut Random::of(seed, slot.session, slot.nth))
    }

    fn written_values(&self) -> WrittenValues {
        WrittenValues::Any
    }

    fn assertions(&self, state: &mut dyn Client) -> Result<Vec<Assertion>, Failure> {
        self.0.assertions(state)
    }
}

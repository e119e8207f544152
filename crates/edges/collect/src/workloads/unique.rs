//! Unique: bookings of slots, each of which may be booked once. A transaction looks whether a slot is free, and books it.

use super::Mix;
use crate::answered::{RowNames, key_is};
use crate::{Assertion, Client, Failure, Parameters, Table, Transaction, Turn, Value, Workload};
use iso_formats::WrittenValues;
use iso_history::{Column, Comparison, Locking, Predicate};
use std::collections::BTreeSet;
use std::fmt;

const TABLE: &str = "booking";

/// The workload.
#[derive(Debug)]
pub(crate) struct Unique {
    mix: Mix,
}

impl Unique {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        Self { mix: Mix::new(parameters) }
    }
}

impl Workload for Unique {
    fn name(&self) -> &'static str {
        "unique"
    }

    fn tables(&self) -> Vec<Table> {
        vec![Table::of_ints(TABLE).numbered()]
    }

    fn row_names(&self) -> RowNames {
        RowNames::WithTable
    }

    fn rows(&self) -> Vec<(String, String, Value)> {
        Vec::new()
    }

    fn transaction(&self, turn: Turn) -> Box<dyn Transaction> {
        let mut random = Mix::random(turn);
        let slot = self.mix.key(&mut random) as i64;
        if self.mix.is_read(&mut random) {
            return Box::new(Wish::Look(slot));
        }
        Box::new(Wish::Book { slot, number: self.mix.unique(turn, 0) })
    }

    fn written_values(&self) -> WrittenValues {
        WrittenValues::Any
    }

    fn assertions(&self, state: &mut dyn Client) -> Result<Vec<Assertion>, Failure> {
        let bookings = state.ints(TABLE, "")?;
        let slots: BTreeSet<i64> = bookings.iter().map(|it| it.1).collect();
        let (n_bookings, n_slots) = (bookings.len() as i64, slots.len() as i64);
        Ok(vec![Assertion::equal("no slot is booked twice", (n_bookings, "there are bookings"), (n_slots, "of slots"))])
    }
}

#[derive(Debug)]
enum Wish {
    Look(i64),
    /// Books a slot if it is free, and frees it if it is not.
    Book {
        slot: i64,
        number: i64,
    },
}

impl Transaction for Wish {
    fn run(&self, client: &mut dyn Client) -> Result<(), Failure> {
        let (Self::Look(slot) | Self::Book { slot, .. }) = self;
        let is_of_slot = Predicate::Compare(Column::Named("slot".into()), Comparison::Equal, (*slot).into());
        let bookings = client.select(TABLE, &is_of_slot, Locking::Free)?;
        let Self::Book { slot, number } = self else { return Ok(()) };
        if bookings.is_empty() {
            return client.insert(TABLE, &number.to_string(), Value::Int(*slot));
        }
        bookings.iter().try_for_each(|it| client.delete_where(TABLE, &key_is(&it.0)).map(drop))
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Look(slot) => write!(f, "Look({slot})"),
            Self::Book { slot, number } => write!(f, "Book({slot},{number})"),
        }
    }
}

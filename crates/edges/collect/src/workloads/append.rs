//! Lists that only grow: a read shows all appends in their order, as in Kingsbury & Alvaro 2020 (Elle).
//!
//! After a while sessions go on to fresh lists, so that lists, and what a read of one costs, stay short however long
//! the run is.

use super::Mix;
use crate::{Client, Failure, Parameters, Rows, Table, Transaction, Turn, Value, Workload};
use iso_formats::WrittenValues;
use std::fmt;

const TABLE: &str = "list";
/// About how long lists become.
const LENGTH: usize = 64;
/// So many lists are read at the end.
const MOST_READ: usize = 1000;

/// The workload.
#[derive(Debug)]
pub(crate) struct Append {
    mix: Mix,
    /// After so many transactions a session goes on to the next lists.
    txns_per_age: usize,
}

impl Append {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        let Parameters { sessions, keys, max_ops, .. } = *parameters;
        let txns_per_age = (2 * LENGTH * keys / (sessions * max_ops)).max(1);
        Self { mix: Mix::new(parameters), txns_per_age }
    }
}

impl Workload for Append {
    fn name(&self) -> &'static str {
        "append"
    }

    fn tables(&self) -> Vec<Table> {
        vec![Table::of_texts(TABLE)]
    }

    fn rows_are(&self) -> Rows {
        Rows::Lists
    }

    fn rows(&self) -> Vec<(String, String, Value)> {
        Vec::new()
    }

    fn transaction(&self, turn: Turn) -> Box<dyn Transaction> {
        let mut random = Mix::random(turn);
        let first = turn.slot.nth / self.txns_per_age * self.mix.parameters.keys;
        let accesses = (0..self.mix.n_ops(&mut random)).map(|nth| {
            let key = first + self.mix.key(&mut random);
            let value = if self.mix.is_read(&mut random) { None } else { Some(self.mix.unique(turn, nth)) };
            (key, value)
        });
        Box::new(Accesses(accesses.collect()))
    }

    /// All lists, if these are not too many, and else the newest ones: nobody has touched the older ones for long.
    fn read_all(&self, client: &mut dyn Client, n_turns: usize) -> Result<(), Failure> {
        let n_keys = self.mix.parameters.keys;
        let last_age = n_turns.saturating_sub(1) / self.txns_per_age;
        let n_lists = (last_age + 1) * n_keys;
        let first = if n_lists <= MOST_READ { 0 } else { last_age.saturating_sub(1) * n_keys };
        let keys = first + 1..=n_lists;
        keys.into_iter().try_for_each(|key| client.get(TABLE, &key.to_string()).map(drop))
    }

    fn is_fixed(&self) -> bool {
        true
    }

    fn written_values(&self) -> WrittenValues {
        WrittenValues::Unique
    }
}

/// Keys, each to be read or, with a value, appended to.
#[derive(Debug)]
struct Accesses(Vec<(usize, Option<i64>)>);

impl Transaction for Accesses {
    fn run(&self, client: &mut dyn Client) -> Result<(), Failure> {
        for (key, value) in &self.0 {
            match value {
                None => drop(client.get(TABLE, &key.to_string())?),
                Some(value) => client.append(TABLE, &key.to_string(), *value)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Accesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, (key, value)) in self.0.iter().enumerate() {
            let space = if nth == 0 { "" } else { " " };
            match value {
                None => write!(f, "{space}r({key})")?,
                Some(value) => write!(f, "{space}append({key},{value})")?,
            }
        }
        Ok(())
    }
}

//! Registers: transactions of reads and writes of single keys.

use super::Mix;
use crate::answered::key_is;
use crate::{Client, Distribution, Failure, Likeliness, Parameters, Table, Transaction, Turn, Value, Workload};
use iso_formats::WrittenValues;
use std::fmt;

const TABLE: &str = "register";
/// How many different values there are where values are written again.
const VALUES: usize = 8;

/// A workload of registers.
#[derive(Debug)]
pub(crate) struct Registers {
    name: &'static str,
    mix: Mix,
    writes: Writes,
}

/// What a write is.
#[derive(Debug)]
enum Writes {
    /// A value of its own, blindly.
    Unique,
    /// A value of its own, after a read of the key.
    AfterRead,
    /// One of few values.
    OneOf(Distribution),
    /// One more than is there, in one statement.
    Add,
}

impl Registers {
    pub(crate) fn blind(parameters: &Parameters) -> Self {
        Self { name: "rw", mix: Mix::new(parameters), writes: Writes::Unique }
    }

    pub(crate) fn read_modify_write(parameters: &Parameters) -> Self {
        Self { name: "rmw", mix: Mix::new(parameters), writes: Writes::AfterRead }
    }

    pub(crate) fn updates(parameters: &Parameters) -> Self {
        Self { name: "updates", mix: Mix::new(parameters), writes: Writes::Add }
    }

    pub(crate) fn duplicates(parameters: &Parameters) -> Self {
        let values = Distribution::new(Likeliness::Zipf, VALUES);
        Self { name: "duplicates", mix: Mix::new(parameters), writes: Writes::OneOf(values) }
    }
}

impl Workload for Registers {
    fn name(&self) -> &'static str {
        self.name
    }

    fn tables(&self) -> Vec<Table> {
        vec![Table::of_ints(TABLE)]
    }

    fn rows(&self) -> Vec<(String, String, Value)> {
        let keys = 1..=self.mix.parameters.keys;
        keys.map(|key| (TABLE.to_owned(), key.to_string(), Value::Int(0))).collect()
    }

    fn transaction(&self, turn: Turn) -> Box<dyn Transaction> {
        let mut random = Mix::random(turn);
        let mut accesses = Vec::new();
        for nth in 0..self.mix.n_ops(&mut random) {
            let key = self.mix.key(&mut random);
            if self.mix.is_read(&mut random) {
                accesses.push(Access::Read(key));
                continue;
            }
            match &self.writes {
                Writes::Unique => accesses.push(Access::Write(key, self.mix.unique(turn, nth))),
                Writes::AfterRead => {
                    accesses.extend([Access::Read(key), Access::Write(key, self.mix.unique(turn, nth))]);
                }
                Writes::OneOf(values) => accesses.push(Access::Write(key, 1 + values.draw(&mut random) as i64)),
                Writes::Add => accesses.push(Access::Add(key)),
            }
        }
        Box::new(Accesses(accesses))
    }

    fn is_fixed(&self) -> bool {
        !matches!(self.writes, Writes::Add)
    }

    fn written_values(&self) -> WrittenValues {
        match self.writes {
            Writes::Unique | Writes::AfterRead => WrittenValues::Unique,
            Writes::OneOf(_) | Writes::Add => WrittenValues::Any,
        }
    }
}

#[derive(Debug)]
enum Access {
    Read(usize),
    Write(usize, i64),
    Add(usize),
}

/// Reads and writes, one after the other.
#[derive(Debug)]
struct Accesses(Vec<Access>);

impl Transaction for Accesses {
    fn run(&self, client: &mut dyn Client) -> Result<(), Failure> {
        for access in &self.0 {
            match access {
                Access::Read(key) => drop(client.get(TABLE, &key.to_string())?),
                Access::Write(key, value) => client.put(TABLE, &key.to_string(), Value::Int(*value))?,
                Access::Add(key) => drop(client.increase(TABLE, &key_is(&key.to_string()), 1)?),
            }
        }
        Ok(())
    }
}

impl fmt::Display for Accesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, access) in self.0.iter().enumerate() {
            let space = if nth == 0 { "" } else { " " };
            match access {
                Access::Read(key) => write!(f, "{space}r({key})")?,
                Access::Write(key, value) => write!(f, "{space}w({key},{value})")?,
                Access::Add(key) => write!(f, "{space}u({key})")?,
            }
        }
        Ok(())
    }
}

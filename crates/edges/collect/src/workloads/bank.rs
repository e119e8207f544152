//! A bank: transfers between accounts, and audits that read all of them. Money is never made nor lost.

use super::Mix;
use crate::{Assertion, Client, Failure, Parameters, Table, Transaction, Turn, Value, Workload};
use iso_formats::WrittenValues;
use std::fmt;

const TABLE: &str = "account";
const BALANCE: i64 = 100;
const MAX_AMOUNT: i64 = 20;

/// The workload.
#[derive(Debug)]
pub(crate) struct Bank {
    mix: Mix,
}

impl Bank {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        Self { mix: Mix::new(parameters) }
    }
}

impl Workload for Bank {
    fn name(&self) -> &'static str {
        "bank"
    }

    fn tables(&self) -> Vec<Table> {
        vec![Table::of_ints(TABLE)]
    }

    fn rows(&self) -> Vec<(String, String, Value)> {
        let accounts = 1..=self.mix.parameters.keys;
        accounts.map(|it| (TABLE.to_owned(), it.to_string(), Value::Int(BALANCE))).collect()
    }

    fn transaction(&self, turn: Turn) -> Box<dyn Transaction> {
        let mut random = Mix::random(turn);
        if self.mix.is_read(&mut random) {
            return Box::new(Deed::Audit);
        }
        let (from, to) = (self.mix.key(&mut random), self.mix.key(&mut random));
        Box::new(Deed::Transfer { from, to, amount: random.amount(1, MAX_AMOUNT) })
    }

    fn written_values(&self) -> WrittenValues {
        WrittenValues::Any
    }

    fn assertions(&self, state: &mut dyn Client) -> Result<Vec<Assertion>, Failure> {
        let sum = state.ints(TABLE, "")?.iter().map(|it| it.1).sum();
        let expected = BALANCE * self.mix.parameters.keys as i64;
        Ok(vec![Assertion::equal("money is conserved", (sum, "the accounts have"), (expected, "there must be"))])
    }
}

#[derive(Debug)]
enum Deed {
    Transfer { from: usize, to: usize, amount: i64 },
    Audit,
}

impl Transaction for Deed {
    fn run(&self, client: &mut dyn Client) -> Result<(), Failure> {
        match self {
            Self::Audit => drop(client.scan(TABLE, "")?),
            Self::Transfer { from, to, amount } => {
                let left = client.int(TABLE, from)? - amount;
                if left < 0 || from == to {
                    return Ok(());
                }
                let right = client.int(TABLE, to)? + amount;
                client.write(TABLE, from, left)?;
                client.write(TABLE, to, right)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transfer { from, to, amount } => write!(f, "Transfer({from},{to},{amount})"),
            Self::Audit => write!(f, "Audit()"),
        }
    }
}

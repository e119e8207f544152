//! What an application is: rows to begin with, transactions, and what must hold whatever happened.

use crate::{Client, Failure, Random, Value};
use std::fmt::{self, Debug, Display};

/// A program with a database.
///
/// Its transactions are chosen by the seed alone, never by what others did, so that a run can be repeated along
/// another order. Its assertions hold in every state that some serial order of whole transactions leads to.
pub trait Application: Debug + Sync {
    /// The name, as on the command line.
    fn name(&self) -> &'static str;

    /// What it is, in a sentence.
    fn about(&self) -> &'static str;

    /// Every table that its transactions name.
    fn tables(&self) -> &'static [&'static str];

    /// The rows of the initial state.
    fn rows(&self) -> Vec<Row>;

    /// What a session does at some point; `random` has the numbers of that point.
    fn transaction(&self, slot: Slot, random: &mut Random) -> Box<dyn Transaction>;

    /// What must hold of a state, each by name, and whether it does.
    fn assertions(&self, state: &mut dyn Client) -> Result<Vec<Assertion>, Failure>;
}

/// A transaction of an application, shown as `SendPayment(1,3,20)`.
pub trait Transaction: Debug + Display {
    /// Does what it does between begin and commit. It may be tried more than once.
    fn run(&self, client: &mut dyn Client) -> Result<(), Failure>;
}

/// A row of the initial state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The table.
    pub table: &'static str,
    /// The key in the table.
    pub row: String,
    /// The value.
    pub value: Value,
}

impl Row {
    /// A row.
    pub fn new(table: &'static str, row: impl Display, value: impl Into<Value>) -> Self {
        Self { table, row: row.to_string(), value: value.into() }
    }
}

/// Which transaction of a run: its session and its number there, both from 0. Shown as `s1.1`, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// The session.
    pub session: usize,
    /// How many transactions of the session come before.
    pub nth: usize,
}

impl Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}.{}", self.session + 1, self.nth + 1)
    }
}

/// Something that must hold, and whether it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// What must hold.
    pub name: &'static str,
    /// Does it?
    pub holds: bool,
    /// What was found, where it does not.
    pub detail: String,
}

impl Assertion {
    /// Holds if nothing is wrong.
    pub fn none_of(name: &'static str, wrong: &[String]) -> Self {
        Self { name, holds: wrong.is_empty(), detail: wrong.join("; ") }
    }

    /// Holds if two numbers are equal.
    pub fn equal(name: &'static str, (left, left_is): (i64, &str), (right, right_is): (i64, &str)) -> Self {
        let detail = if left == right { String::new() } else { format!("{left_is} {left}, but {right_is} {right}") };
        Self { name, holds: left == right, detail }
    }
}

/// The transaction of a slot under a seed.
pub fn transaction(application: &dyn Application, seed: u64, slot: Slot) -> Box<dyn Transaction> {
    application.transaction(slot, &mut Random::of(seed, slot.session, slot.nth))
}

/// Puts the initial state into an empty database, in one transaction.
pub fn load(application: &dyn Application, client: &mut dyn Client) -> Result<(), Failure> {
    client.begin()?;
    for Row { table, row, value } in application.rows() {
        client.insert(table, &row, value)?;
    }
    client.commit()
}

/// Runs a transaction as a whole: begins, and commits or aborts.
pub fn perform(transaction: &dyn Transaction, client: &mut dyn Client) -> Result<(), Failure> {
    client.begin()?;
    match transaction.run(client) {
        Ok(()) => client.commit(),
        // The database has ended the transaction itself, or there is nobody left to tell.
        Err(failure @ (Failure::Conflict { .. } | Failure::Lost { .. })) => Err(failure),
        Err(failure) => client.abort().and(Err(failure)),
    }
}

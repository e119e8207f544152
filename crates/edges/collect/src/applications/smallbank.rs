//! Smallbank: customers with a savings and a checking account each, who move money.
//!
//! Source: Alomari, Cahill, Fekete & Röhm 2008; the figures are those of Geng et al. 2024 (`IsoPredict`), whose mix has
//! three of the six transactions. We differ: what enters or leaves the bank is written into a ledger, so that
//! "money is conserved" can be asked of any state.

use crate::{Application, Assertion, Client, Failure, Random, Row, Slot, Transaction};
use std::fmt;

const CUSTOMERS: usize = 5;
const INITIAL: i64 = 2500;

/// The bank.
#[derive(Debug)]
pub(super) struct Smallbank {
    name: &'static str,
    about: &'static str,
    /// Weights of the transactions.
    mix: &'static [(usize, Kind)],
}

impl Smallbank {
    /// Money is only moved.
    pub(super) const TRANSFERS: Self = Self {
        name: "smallbank",
        about: "a bank whose customers move money between accounts; money is conserved",
        mix: &[(30, Kind::Amalgamate), (30, Kind::Balance), (40, Kind::SendPayment)],
    };

    /// Money comes and goes, too.
    pub(super) const FULL: Self = Self {
        name: "smallbank-full",
        about: "the same bank with deposits and checks as well, and a ledger of them",
        mix: &[
            (15, Kind::Amalgamate),
            (15, Kind::Balance),
            (15, Kind::DepositChecking),
            (25, Kind::SendPayment),
            (15, Kind::TransactSavings),
            (15, Kind::WriteCheck),
        ],
    };
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Amalgamate,
    Balance,
    DepositChecking,
    SendPayment,
    TransactSavings,
    WriteCheck,
}

#[derive(Debug)]
enum Call {
    /// All money of one customer goes to the checking account of another one.
    Amalgamate { from: usize, to: usize },
    /// Both accounts are read.
    Balance { customer: usize },
    /// Money comes in.
    DepositChecking { customer: usize, amount: i64, entry: Slot },
    /// Money goes from one checking account to another one, if there is enough.
    SendPayment { from: usize, to: usize, amount: i64 },
    /// Money comes in or, if there is enough, goes out.
    TransactSavings { customer: usize, amount: i64, entry: Slot },
    /// Money goes out; where both accounts together have not enough, one more as a penalty.
    WriteCheck { customer: usize, amount: i64, entry: Slot },
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Amalgamate { from, to } => write!(f, "Amalgamate({from},{to})"),
            Self::Balance { customer } => write!(f, "Balance({customer})"),
            Self::DepositChecking { customer, amount, .. } => write!(f, "DepositChecking({customer},{amount})"),
            Self::SendPayment { from, to, amount } => write!(f, "SendPayment({from},{to},{amount})"),
            Self::TransactSavings { customer, amount, .. } => write!(f, "TransactSavings({customer},{amount})"),
            Self::WriteCheck { customer, amount, .. } => write!(f, "WriteCheck({customer},{amount})"),
        }
    }
}

impl Transaction for Call {
    fn run(&self, client: &mut dyn Client) -> Result<(), Failure> {
        match self {
            Self::Amalgamate { from, to } => amalgamate(client, *from, *to),
            Self::Balance { customer } => {
                client.int("savings", customer)?;
                client.int("checking", customer)?;
                Ok(())
            }
            Self::DepositChecking { customer, amount, entry } => {
                let checking = client.int("checking", customer)?;
                client.increase_from("checking", customer, checking, *amount)?;
                client.add("ledger", entry, *amount)
            }
            Self::SendPayment { from, to, amount } => send_payment(client, *from, *to, *amount),
            Self::TransactSavings { customer, amount, entry } => {
                let savings = client.int("savings", customer)?;
                if savings + amount < 0 {
                    return Err(Failure::aborted(format!("customer {customer} has only {savings} in savings")));
                }
                client.increase_from("savings", customer, savings, *amount)?;
                client.add("ledger", entry, *amount)
            }
            Self::WriteCheck { customer, amount, entry } => {
                let savings = client.int("savings", customer)?;
                let checking = client.int("checking", customer)?;
                let drawn = if savings + checking < *amount { amount + 1 } else { *amount };
                client.increase_from("checking", customer, checking, -drawn)?;
                client.add("ledger", entry, -drawn)
            }
        }
    }
}

fn amalgamate(client: &mut dyn Client, from: usize, to: usize) -> Result<(), Failure> {
    let savings = client.int("savings", from)?;
    let checking = client.int("checking", from)?;
    let received = client.int("checking", to)?;
    client.write("savings", from, 0)?;
    client.write("checking", from, 0)?;
    client.increase_from("checking", to, received, savings + checking)
}

fn send_payment(client: &mut dyn Client, from: usize, to: usize, amount: i64) -> Result<(), Failure> {
    let sent = client.int("checking", from)?;
    if sent < amount {
        return Err(Failure::aborted(format!("customer {from} has only {sent} in checking")));
    }
    let received = client.int("checking", to)?;
    client.increase_from("checking", from, sent, -amount)?;
    client.increase_from("checking", to, received, amount)
}

impl Application for Smallbank {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn tables(&self) -> &'static [&'static str] {
        &["checking", "ledger", "savings"]
    }

    fn rows(&self) -> Vec<Row> {
        let accounts = |customer| ["savings", "checking"].map(|table| Row::new(table, customer, INITIAL));
        (1..=CUSTOMERS).flat_map(accounts).collect()
    }

    fn transaction(&self, slot: Slot, random: &mut Random) -> Box<dyn Transaction> {
        let kind = random.weighted(self.mix);
        let (customer, other) = random.two_of(CUSTOMERS);
        let amount = random.amount(1, 99);
        Box::new(match kind {
            Kind::Amalgamate => Call::Amalgamate { from: customer, to: other },
            Kind::Balance => Call::Balance { customer },
            Kind::DepositChecking => Call::DepositChecking { customer, amount, entry: slot },
            Kind::SendPayment => Call::SendPayment { from: customer, to: other, amount },
            Kind::TransactSavings => {
                let amount = if random.below(2) == 0 { amount } else { -amount };
                Call::TransactSavings { customer, amount, entry: slot }
            }
            Kind::WriteCheck => Call::WriteCheck { customer, amount, entry: slot },
        })
    }

    fn assertions(&self, state: &mut dyn Client) -> Result<Vec<Assertion>, Failure> {
        let savings = state.ints("savings", "")?;
        let checking = state.ints("checking", "")?;
        let sum = |rows: &[(String, i64)]| rows.iter().map(|it| it.1).sum::<i64>();
        let expected = 2 * INITIAL * CUSTOMERS as i64 + sum(&state.ints("ledger", "")?);
        let total = sum(&savings) + sum(&checking);
        let negative = |account: &str, rows: &[(String, i64)]| -> Vec<String> {
            let below = rows.iter().filter(|it| it.1 < 0);
            below.map(|(customer, amount)| format!("{account} of customer {customer} has {amount}")).collect()
        };
        let mut wrong = negative("savings", &savings);
        // A check may be drawn on the savings, and then leaves the checking account below zero.
        if self.name == Self::TRANSFERS.name {
            wrong.extend(negative("checking", &checking));
        }
        Ok(vec![
            Assertion::equal("money is conserved", (total, "the accounts have"), (expected, "there must be")),
            Assertion::none_of("no account is overdrawn", &wrong),
        ])
    }
}

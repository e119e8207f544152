//! Observed runs as plain data: read from our notation, printed in it, made smaller.

use iso_history::{Datum, History, HistoryBuilder, Outcome, Place};
use std::fmt;

/// A run on the way to be built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Draft {
    /// The initial value of each key that has one.
    pub(crate) initial: Vec<(Key, i64)>,
    /// In commit order.
    pub(crate) txns: Vec<DraftTxn>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DraftTxn {
    pub(crate) session: usize,
    pub(crate) outcome: Outcome,
    pub(crate) ops: Vec<Op>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Read(Key, Value),
    Write(Key, Value),
}

/// None is null.
pub(crate) type Value = Option<i64>;

/// The letter that names it.
pub(crate) type Key = char;

impl Op {
    pub(crate) fn key(self) -> Key {
        match self {
            Self::Read(key, _) | Self::Write(key, _) => key,
        }
    }

    pub(crate) fn is_write(self) -> bool {
        matches!(self, Self::Write(..))
    }
}

impl DraftTxn {
    pub(crate) fn committed(&self) -> bool {
        self.outcome == Outcome::Committed
    }

    /// Does the operation at this position read a key that the transaction has not written before?
    pub(crate) fn is_external(&self, idx: usize) -> bool {
        let op = self.ops[idx];
        !op.is_write() && !self.ops[..idx].iter().any(|it| it.is_write() && it.key() == op.key())
    }

    pub(crate) fn writes(&self, key: Key) -> bool {
        self.ops.iter().any(|it| it.is_write() && it.key() == key)
    }

    /// The value of the last write of a key.
    pub(crate) fn last_write(&self, key: Key) -> Option<Value> {
        self.ops.iter().rev().find_map(|it| match it {
            Op::Write(written, value) if *written == key => Some(*value),
            _ => None,
        })
    }
}

impl Draft {
    pub(crate) fn initial_value(&self, key: Key) -> Value {
        self.initial.iter().find(|it| it.0 == key).map(|it| it.1)
    }

    pub(crate) fn build(&self) -> History {
        let mut builder = HistoryBuilder::new();
        for (name, value) in &self.initial {
            let (key, value) = (builder.key(datum_of_key(*name)), builder.value((*value).into()));
            builder.initial(key, value, Place::default());
        }
        for txn in &self.txns {
            let session = builder.session(&format!("s{}", txn.session));
            builder.begin(session, Place::default());
            for op in &txn.ops {
                let key = builder.key(datum_of_key(op.key()));
                let (Op::Read(_, value) | Op::Write(_, value)) = *op;
                let value = builder.value(value.map_or(Datum::Null, Datum::Int));
                if op.is_write() { builder.write(key, value) } else { builder.read(key, value) }
            }
            builder.end(txn.outcome);
        }
        builder.finish().unwrap_or_else(|it| panic!("{it:?}\n{self}"))
    }

    /// Reads our notation, as far as it is needed here.
    pub(crate) fn parse(text: &str) -> Self {
        let mut draft = Self::default();
        for line in text.lines().map(str::trim).filter(|it| !it.is_empty()) {
            match line.strip_prefix("init ") {
                Some(values) => draft.initial.extend(values.split(' ').map(parse_initial)),
                None => draft.txns.push(parse_txn(line)),
            }
        }
        draft
    }

    /// Everything that has a transaction or an operation less; larger steps first.
    pub(crate) fn smaller(&self) -> Vec<Self> {
        let change = |change: &dyn Fn(&mut Vec<DraftTxn>)| {
            let mut changed = self.clone();
            change(&mut changed.txns);
            changed
        };
        let without = |idx: usize| change(&|it| drop(it.remove(idx)));
        let mut found: Vec<Self> = (0..self.txns.len()).map(without).collect();
        for (idx, txn) in self.txns.iter().enumerate().filter(|it| it.1.ops.len() > 1) {
            found.extend((0..txn.ops.len()).map(|nth| {
                change(&|it| {
                    it[idx].ops.remove(nth);
                })
            }));
        }
        found
    }
}

fn datum_of_key(key: Key) -> Datum {
    Datum::text(key.to_string())
}

fn parse_initial(text: &str) -> (Key, i64) {
    let (key, value) = text.split_once('=').unwrap();
    (parse_key(key), value.parse().unwrap())
}

fn parse_key(text: &str) -> Key {
    assert_eq!(text.len(), 1, "keys are letters");
    text.chars().next().unwrap()
}

fn parse_txn(line: &str) -> DraftTxn {
    let (session, rest) = line.split_once(':').unwrap();
    let (ops, rest) = rest.trim().strip_prefix('{').unwrap().split_once('}').unwrap();
    DraftTxn {
        session: session.strip_prefix('s').unwrap().parse().unwrap(),
        outcome: if rest.trim() == "aborted" { Outcome::Aborted } else { Outcome::Committed },
        ops: ops.split_whitespace().map(parse_op).collect(),
    }
}

fn parse_op(text: &str) -> Op {
    let (verb, rest) = text.split_once('(').unwrap();
    let (key, value) = rest.strip_suffix(')').unwrap().split_once(',').unwrap();
    let value = (value != "-").then(|| value.parse().unwrap());
    match verb {
        "r" => Op::Read(parse_key(key), value),
        "w" => Op::Write(parse_key(key), value),
        other => panic!("what is {other}?"),
    }
}

impl fmt::Display for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.initial.is_empty() {
            let values: Vec<String> = self.initial.iter().map(|(key, value)| format!("{key}={value}")).collect();
            writeln!(f, "init {}", values.join(" "))?;
        }
        for txn in &self.txns {
            let ops: Vec<String> = txn.ops.iter().map(ToString::to_string).collect();
            let outcome = if txn.committed() { "" } else { " aborted" };
            writeln!(f, "s{}: {{ {} }}{outcome}", txn.session, ops.join(" "))?;
        }
        Ok(())
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Read(key, value) | Self::Write(key, value)) = self;
        let verb = if self.is_write() { 'w' } else { 'r' };
        write!(f, "{verb}({key},{})", value.map_or(Datum::Null, Datum::Int))
    }
}

//! Histories as plain data: easy to make, to change and to print in our notation.

use iso_history::{Datum, History, HistoryBuilder, Outcome, Place};
use std::fmt;

/// A history on the way to be built. Every register has the same initial value; lists are empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Draft {
    pub(crate) initial: Value,
    pub(crate) txns: Vec<DraftTxn>,
}

/// A register's value; none is null.
pub(crate) type Value = Option<i64>;

/// A position in [`KEYS`].
pub(crate) type Key = usize;

pub(crate) const KEYS: [&str; 26] = [
    "x", "y", "z", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t",
    "u", "v", "w",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DraftTxn {
    pub(crate) session: usize,
    pub(crate) outcome: Outcome,
    pub(crate) begin: Option<i64>,
    pub(crate) end: Option<i64>,
    pub(crate) actions: Vec<Action>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Read(Key, Value),
    Write(Key, Value),
    ReadList(Key, Vec<i64>),
    Append(Key, i64),
}

impl DraftTxn {
    pub(crate) fn new(session: usize) -> Self {
        Self { session, outcome: Outcome::Committed, begin: None, end: None, actions: Vec::new() }
    }
}

impl Action {
    pub(crate) fn key(&self) -> Key {
        match self {
            Self::Read(key, _) | Self::Write(key, _) | Self::ReadList(key, _) | Self::Append(key, _) => *key,
        }
    }

    pub(crate) fn is_write(&self) -> bool {
        matches!(self, Self::Write(..) | Self::Append(..))
    }
}

impl Draft {
    pub(crate) fn n_actions(&self) -> usize {
        self.txns.iter().map(|it| it.actions.len()).sum()
    }

    pub(crate) fn build(&self) -> History {
        let mut builder = HistoryBuilder::new();
        let initial = builder.value(datum(self.initial));
        builder.default_initial(initial);
        for txn in &self.txns {
            let session = builder.session(&format!("s{}", txn.session + 1));
            builder.begin(session, Place::default());
            builder.times(txn.begin, txn.end);
            for action in &txn.actions {
                add(&mut builder, action);
            }
            builder.end(txn.outcome);
        }
        builder.finish().unwrap_or_else(|it| panic!("{it:?}\n{self}"))
    }
}

/// Every history that has a transaction or an action less, or says less about a transaction; larger steps first.
pub(crate) fn smaller(draft: &Draft) -> Vec<Draft> {
    let mut found = Vec::new();
    let change = |change: &dyn Fn(&mut Vec<DraftTxn>)| {
        let mut changed = draft.clone();
        change(&mut changed.txns);
        changed
    };
    let places = 0..draft.txns.len();
    found.extend(places.clone().map(|idx| change(&|it| drop(it.remove(idx)))));
    for idx in places {
        let txn = &draft.txns[idx];
        found.extend((0..txn.actions.len()).map(|nth| change(&|it| drop(it[idx].actions.remove(nth)))));
        if txn.begin.is_some() || txn.end.is_some() {
            found.push(change(&|it| (it[idx].begin, it[idx].end) = (None, None)));
        }
        if txn.outcome != Outcome::Committed {
            found.push(change(&|it| it[idx].outcome = Outcome::Committed));
        }
    }
    found
}

fn add(builder: &mut HistoryBuilder, action: &Action) {
    let key = builder.key(KEYS[action.key()].into());
    match action {
        Action::Read(_, value) => {
            let value = builder.value(datum(*value));
            builder.read(key, value);
        }
        Action::Write(_, value) => {
            let value = builder.value(datum(*value));
            builder.write(key, value);
        }
        Action::ReadList(_, values) => {
            let values: Vec<_> = values.iter().map(|it| builder.value((*it).into())).collect();
            builder.read_list(key, values);
        }
        Action::Append(_, value) => {
            let value = builder.value((*value).into());
            builder.append(key, value);
        }
    }
}

fn datum(value: Value) -> Datum {
    value.map_or(Datum::Null, Datum::Int)
}

/// Our notation, ready to be pasted into a file of the corpus.
impl fmt::Display for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_register = |it: &&Action| matches!(it, Action::Read(..) | Action::Write(..));
        let registers = self.txns.iter().flat_map(|it| &it.actions).filter(is_register).map(Action::key);
        let registers: std::collections::BTreeSet<Key> = registers.collect();
        if !registers.is_empty() {
            write!(f, "init")?;
            for key in registers {
                write!(f, " {}={}", KEYS[key], datum(self.initial))?;
            }
            writeln!(f)?;
        }
        for txn in &self.txns {
            write!(f, "{txn}")?;
        }
        Ok(())
    }
}

impl fmt::Display for DraftTxn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}: {{", self.session + 1)?;
        for action in &self.actions {
            write!(f, " {action}")?;
        }
        write!(f, " }}")?;
        match self.outcome {
            Outcome::Committed => {}
            Outcome::Aborted => write!(f, " aborted")?,
            Outcome::Indeterminate => write!(f, " unknown")?,
        }
        let time = |it: Option<i64>| it.map(|it| it.to_string()).unwrap_or_default();
        if self.begin.is_some() || self.end.is_some() {
            write!(f, " @[{},{}]", time(self.begin), time(self.end))?;
        }
        writeln!(f)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = KEYS[self.key()];
        match self {
            Self::Read(_, value) => write!(f, "r({key},{})", datum(*value)),
            Self::Write(_, value) => write!(f, "w({key},{})", datum(*value)),
            Self::Append(_, value) => write!(f, "append({key},{value})"),
            Self::ReadList(_, values) => {
                let values: Vec<String> = values.iter().map(i64::to_string).collect();
                write!(f, "r({key},[{}])", values.join(","))
            }
        }
    }
}

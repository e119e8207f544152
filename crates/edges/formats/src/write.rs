//! What all writers share: why a history cannot be written, and facts about it that headers need.

use crate::Format;
use iso_history::{Datum, History, HistoryBuilder, KeyId, Name, Op, Outcome, Place, SessionId, ValueId};
use std::io;
use thiserror::Error;

/// Why a history was not written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The system failed.
    #[error("cannot write: {0}")]
    Io(#[from] io::Error),
    /// The format has no way to say it.
    #[error("{format} cannot express {what}; {cure}")]
    Inexpressible {
        /// The format.
        format: Format,
        /// What it cannot express.
        what: String,
        /// What to do instead.
        cure: &'static str,
    },
}

/// The same history without its times, for formats that have none. Real-time levels mean nothing for it any more.
pub fn without_times(history: &History) -> History {
    copied(history, Times::Dropped).finish().expect("a valid history is valid without its times")
}

/// What becomes of times in a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Times {
    Kept,
    Dropped,
}

/// A builder with everything that a history has, under the same ids.
pub(crate) fn copied(history: &History, times: Times) -> HistoryBuilder {
    let mut builder = HistoryBuilder::new();
    let sources = (0..).map_while(|source| history.source(Place { source, at: 0 }));
    for (name, unit) in sources {
        builder.source(name, unit);
    }
    for session in history.sessions() {
        builder.session(history.session_name(session));
    }
    // In this order, keys and values keep their ids.
    for key in history.keys() {
        builder.key_named(history.key_name(key));
    }
    for value in 0..history.n_values() {
        builder.value_named(history.value(ValueId::from_index(value)));
    }
    for key in history.keys().filter(|it| !history.is_list(*it)) {
        builder.initial(key, history.initial_value(key), Place::default());
    }
    for txn in history.txns() {
        let Some(session) = history.session_of(txn) else { continue };
        builder.begin(session, history.place(txn));
        if times == Times::Kept {
            builder.times(history.begin(txn), history.end(txn));
        }
        for op in history.ops(txn) {
            match history.op(op) {
                Op::Read { key, value } => builder.read(key, value),
                Op::Write { key, value } => builder.write(key, value),
                Op::Append { key, value } => builder.append(key, value),
                Op::ReadList { key, values } => builder.read_list(key, values.iter().copied()),
            }
        }
        builder.end(history.outcome(txn));
    }
    builder
}

/// The cure that always works.
pub(crate) const USE_JSONL: &str = "write jsonl or text, which express every history";
/// The cure where outcomes are the obstacle.
pub(crate) const ONLY_COMMITTED: &str = "write the committed transactions only, or jsonl or text";

pub(crate) fn inexpressible<T>(format: Format, what: impl Into<String>, cure: &'static str) -> Result<T, WriteError> {
    Err(WriteError::Inexpressible { format, what: what.into(), cure })
}

/// Initial values as a header gives them: one for most keys, and exceptions.
pub(crate) struct Initials {
    pub(crate) default: Datum,
    pub(crate) exceptions: Vec<(KeyId, ValueId)>,
}

impl Initials {
    /// The default is the initial value of most registers, the earlier one in doubt.
    pub(crate) fn new(history: &History) -> Self {
        let registers = || history.keys().filter(|it| !history.is_list(*it));
        let mut counts = vec![0u32; history.n_values()];
        for key in registers() {
            counts[history.initial_value(key).index()] += 1;
        }
        let most = (0..counts.len()).rev().max_by_key(|it| counts[*it]).filter(|it| counts[*it] > 0);
        let Some(most) = most.map(ValueId::from_index) else {
            return Self { default: Datum::Null, exceptions: Vec::new() };
        };
        let exceptions =
            registers().map(|key| (key, history.initial_value(key))).filter(|(_, value)| *value != most).collect();
        Self { default: history.value(most).to_datum(), exceptions }
    }
}

/// Does every session have a transaction, and do their first ones come in the order of the sessions?
pub(crate) fn sessions_come_in_order(history: &History) -> bool {
    let mut n_seen = 0;
    for txn in history.txns() {
        match history.session_of(txn).map(SessionId::index) {
            Some(session) if session == n_seen => n_seen += 1,
            Some(session) if session > n_seen => return false,
            _ => {}
        }
    }
    n_seen == history.n_sessions()
}

/// Refuses what formats for registers without times or unknown outcomes cannot express.
pub(crate) struct Limits {
    pub(crate) format: Format,
    pub(crate) allows_aborted: bool,
    pub(crate) allows_unknown: bool,
}

impl Limits {
    pub(crate) fn check(&self, history: &History) -> Result<(), WriteError> {
        for key in history.keys() {
            if history.is_list(key) {
                return inexpressible(
                    self.format,
                    format!("lists, such as {}", history.key_name(key).shown()),
                    USE_JSONL,
                );
            }
        }
        if history.has_times() {
            return inexpressible(self.format, "times", "leave the times out, or write jsonl or text");
        }
        for txn in history.txns() {
            let (is_allowed, what) = match history.outcome(txn) {
                Outcome::Committed => (true, ""),
                Outcome::Aborted => (self.allows_aborted, "aborted transactions"),
                Outcome::Indeterminate => (self.allows_unknown, "transactions of unknown outcome"),
            };
            if !is_allowed {
                return inexpressible(self.format, format!("{what}, such as {}", history.label(txn)), ONLY_COMMITTED);
            }
        }
        Ok(())
    }

    /// The one initial value that the format has.
    pub(crate) fn check_initial(&self, history: &History, only: Name<'_>) -> Result<(), WriteError> {
        for key in history.keys() {
            let initial = history.value(history.initial_value(key));
            if initial != only {
                let what =
                    format!("an initial value other than {only}, such as {initial} of {}", history.key_name(key));
                return inexpressible(self.format, what, USE_JSONL);
            }
        }
        Ok(())
    }

    /// An integer, where the format knows nothing else.
    pub(crate) fn integer(&self, name: Name<'_>) -> Result<i64, WriteError> {
        match name {
            Name::Int(number) => Ok(number),
            other => {
                inexpressible(self.format, format!("{}: keys and values are integers there", other.shown()), USE_JSONL)
            }
        }
    }
}

/// The key and value of a register operation, and whether it is a write. Lists were refused before.
pub(crate) fn register_op(op: Op<'_>) -> Option<(bool, KeyId, ValueId)> {
    match op {
        Op::Read { key, value } => Some((false, key, value)),
        Op::Write { key, value } => Some((true, key, value)),
        Op::Append { .. } | Op::ReadList { .. } => None,
    }
}

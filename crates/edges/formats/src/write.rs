//! What all writers share: why a history cannot be written, and facts about it that headers need.

use crate::Format;
use crate::layout::{Item, layout, part_of};
use iso_history::{Datum, History, KeyId, Locking, Name, Op, OpId, Outcome, SessionId, TxnId, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
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
    /// The default is the initial value of most registers, the earlier one in doubt. It does not hold for rows of tables
    /// that are scanned: those that are not named do not exist.
    pub(crate) fn new(history: &History, said: &Said<'_>) -> Self {
        let rows = Rows::new(history);
        let registers = || history.keys().filter(|it| !history.is_list(*it));
        let mut counts = vec![0u32; history.n_values()];
        for key in registers().filter(|it| !rows.has(*it)) {
            counts[history.initial_value(key).index()] += 1;
        }
        let most = (0..counts.len()).rev().max_by_key(|it| counts[*it]).filter(|it| counts[*it] > 0);
        let default = most.map_or(Datum::Null, |it| history.value(ValueId::from_index(it)).to_datum());
        let is_exception = |(key, value): &(KeyId, ValueId)| {
            let unnamed = if rows.has(*key) { Name::Null } else { default.as_name() };
            history.value(*value) != unnamed || !said.of(*key, *value).is_empty()
        };
        let exceptions = registers().map(|key| (key, history.initial_value(key))).filter(is_exception).collect();
        Self { default, exceptions }
    }
}

/// Which keys are rows of tables that are scanned.
struct Rows<'h> {
    history: &'h History,
    tables: FxHashSet<&'h str>,
}

impl<'h> Rows<'h> {
    fn new(history: &'h History) -> Self {
        Self { history, tables: history.scans().map(|it| history.scan(it).table).collect() }
    }

    fn has(&self, key: KeyId) -> bool {
        let Name::Text(name) = self.history.key_name(key) else { return false };
        !self.tables.is_empty() && name.match_indices('/').any(|it| self.tables.contains(&name[..it.0]))
    }
}

/// Which foreign predicates versions are said to match.
pub(crate) struct Said<'h> {
    by_version: FxHashMap<(KeyId, ValueId), Vec<&'h str>>,
}

impl<'h> Said<'h> {
    pub(crate) fn new(history: &'h History) -> Self {
        let mut by_version: FxHashMap<(KeyId, ValueId), Vec<&str>> = FxHashMap::default();
        for (foreign, key, value) in history.said_to_match() {
            by_version.entry((key, value)).or_default().push(foreign);
        }
        Self { by_version }
    }

    pub(crate) fn of(&self, key: KeyId, value: ValueId) -> &[&'h str] {
        self.by_version.get(&(key, value)).map_or(&[], Vec::as_slice)
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
        refuse_sql(history, self.format)?;
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

/// Refuses what only our own notations have: statements, updates, scans and records.
pub(crate) fn refuse_sql(history: &History, format: Format) -> Result<(), WriteError> {
    let (label, key) = (|it: TxnId| history.label(it), |it: OpId| history.key_name(history.op(it).key()).shown());
    let what = match first_statement(history) {
        Some((txn, Item::Scan(scan, _))) => {
            format!("scans, such as that of {} by {}", history.scan(scan).table, label(txn))
        }
        Some((txn, Item::Update(read, _))) => format!("updates, such as that of {} by {}", key(read), label(txn)),
        Some((txn, Item::Op(op, _))) => {
            format!("reads that lock or scan, such as that of {} by {}", key(op), label(txn))
        }
        Some((txn, Item::Statement(..))) => format!("statements of several operations, such as one of {}", label(txn)),
        None => {
            let mut values = (0..history.n_values()).map(|it| history.value(ValueId::from_index(it)));
            match values.find(|it| matches!(it, Name::Record(_))) {
                Some(record) => format!("records, such as {}", record.shown()),
                None => return Ok(()),
            }
        }
    };
    inexpressible(format, what, USE_JSONL)
}

fn first_statement(history: &History) -> Option<(TxnId, Item)> {
    let is_plain = |it: &Item| matches!(it, Item::Op(op, Locking::Free) if part_of(history, *op).is_none());
    let mut txns = history.txns().filter(|_| history.has_statements());
    txns.find_map(|txn| layout(history, txn).into_iter().find(|it| !is_plain(it)).map(|it| (txn, it)))
}

/// The key and value of a register operation, and whether it is a write. Lists and scans were refused before.
pub(crate) fn register_op(op: Op<'_>) -> Option<(bool, KeyId, ValueId)> {
    match op {
        Op::Read { key, value } => Some((false, key, value)),
        Op::Write { key, value } => Some((true, key, value)),
        Op::Append { .. } | Op::ReadList { .. } | Op::Omit { .. } => None,
    }
}

//! The only way to make a [`History`]: transactions in, a valid history or its defects out.

use crate::names::Interner;
use crate::naming::{KeyNaming, ValueNaming};
use crate::omissions::Table;
use crate::statements::ScanEntry;
use crate::touch::Touch;
use crate::{
    Access, Datum, Extent, History, KeyId, Locking, Name, Outcome, Place, PlaceUnit, Predicate, SessionId, Statement,
    TxnId, ValueId,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt;

/// Something wrong with the input, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// Does it make the history unusable?
    pub severity: Severity,
    /// The file or stream; empty if there is only one.
    pub source: String,
    /// Line or byte, if the defect has a place.
    pub at: Option<(u64, PlaceUnit)>,
    /// What was expected and what was found.
    pub message: String,
}

/// How bad a [`Defect`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth a look; the history means what it says.
    Warning,
    /// The history cannot be judged.
    Error,
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.source.is_empty() {
            write!(f, "{}: ", self.source)?;
        }
        if let Some((at, unit)) = self.at {
            write!(f, "{unit} {at}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// Collects transactions in the order of the input.
///
/// ```
/// use iso_history::{HistoryBuilder, Outcome, Place};
/// let mut builder = HistoryBuilder::new();
/// let (x, one) = (builder.key("x".into()), builder.value(1.into()));
/// let session = builder.session("s1");
/// builder.begin(session, Place::default());
/// builder.write(x, one);
/// builder.end(Outcome::Committed);
/// let history = builder.finish().unwrap();
/// assert_eq!(history.n_txns(), 2); // with the initial transaction
/// ```
#[derive(Clone, Debug, Default)]
pub struct HistoryBuilder {
    history: History,
    session_ids: FxHashMap<String, SessionId>,
    key_ids: Interner,
    value_ids: Interner,
    explicit_initial: Vec<Option<ValueId>>,
    key_use: Vec<KeyUse>,
    default_initial: Option<ValueId>,
    n_session_bytes: usize,
    open: bool,
    /// Where the open statement begins.
    statement: Option<u32>,
    predicate_ids: FxHashMap<Predicate, u32>,
    said: FxHashMap<(Box<str>, KeyId, ValueId), Matching>,
    times: (i64, i64),
    defects: Vec<Defect>,
}

/// Does a version match a foreign predicate?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matching {
    /// It does.
    Matches,
    /// It does not.
    Differs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyUse {
    Untouched,
    Register,
    List,
    Mixed,
}

/// Scans looked at more rows that they did not return than a history may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyRows;

/// About what a row takes that a scan looked at and did not return.
pub const OMISSION_BYTES: usize = 16;

const NO_TIMES: (i64, i64) = (i64::MIN, i64::MAX);
/// Ids are u32 and the last one is a sentinel.
const MAX_ENTRIES: usize = u32::MAX as usize - 1;
/// Facts need one bit of a transaction's id for themselves.
const MAX_TXNS: usize = 1 << 31;

impl HistoryBuilder {
    /// An empty history: the initial transaction only.
    pub fn new() -> Self {
        let mut builder = Self { times: NO_TIMES, ..Self::default() };
        let history = &mut builder.history;
        history.txn_op_starts.extend([0, 0]);
        history.list_starts.push(0);
        // The initial transaction has no session; its entry is not looked at.
        history.txn_session.push(0);
        history.txn_nth.push(0);
        history.txn_outcome.push(Outcome::Committed);
        history.txn_at.push(0);
        builder
    }

    /// Names a source of the input; places refer to it by the returned number.
    pub fn source(&mut self, name: impl Into<String>, unit: PlaceUnit) -> u32 {
        self.history.sources.push((name.into(), unit));
        self.history.sources.len() as u32 - 1
    }

    /// The session of that name, made at its first mention.
    pub fn session(&mut self, name: &str) -> SessionId {
        if let Some(session) = self.session_ids.get(name) {
            return *session;
        }
        let session = SessionId::from_index(self.history.session_names.len());
        self.history.session_names.push(name.to_owned());
        self.session_ids.insert(name.to_owned(), session);
        self.n_session_bytes += 2 * (name.len() + size_of::<String>());
        session
    }

    /// The key of that name, made at its first mention.
    #[allow(clippy::needless_pass_by_value, reason = "who makes a name for this call has no use for it afterwards")]
    pub fn key(&mut self, name: Datum) -> KeyId {
        self.key_named(name.as_name())
    }

    /// The key of that name, made at its first mention.
    pub fn key_named(&mut self, name: Name<'_>) -> KeyId {
        self.naming().0.named(name)
    }

    /// The value of that name, made at its first mention.
    #[allow(clippy::needless_pass_by_value, reason = "who makes a name for this call has no use for it afterwards")]
    pub fn value(&mut self, datum: Datum) -> ValueId {
        self.value_named(datum.as_name())
    }

    /// The value of that name, made at its first mention.
    pub fn value_named(&mut self, name: Name<'_>) -> ValueId {
        self.naming().1.named(name)
    }

    /// The names of keys and those of values. Many at once are found faster, and keys have nothing to do with values.
    pub fn naming(&mut self) -> (KeyNaming<'_>, ValueNaming<'_>) {
        let Self { history, key_ids, value_ids, explicit_initial, key_use, .. } = self;
        let keys = KeyNaming { ids: key_ids, names: &mut history.keys, uses: key_use, initial: explicit_initial };
        (keys, ValueNaming { ids: value_ids, names: &mut history.values })
    }

    /// Another value of the same name, which a case of a history tells apart.
    pub(crate) fn value_again(&mut self, value: ValueId) -> ValueId {
        ValueId::from_index(self.history.values.again(value.index()))
    }

    /// Sets the initial value of every key that has none of its own; null if never called.
    pub fn default_initial(&mut self, value: ValueId) {
        self.default_initial = Some(value);
    }

    /// Sets the initial value of one register. A second, different one is a defect.
    pub fn initial(&mut self, key: KeyId, value: ValueId, place: Place) {
        match self.explicit_initial[key.index()] {
            Some(earlier) if earlier != value => {
                let message = format!(
                    "the initial value of {} is given twice: {} and {}",
                    self.history.keys.get(key.index()).shown(),
                    self.history.values.get(earlier.index()).shown(),
                    self.history.values.get(value.index()).shown()
                );
                self.defect(Severity::Error, place, message);
            }
            _ => self.explicit_initial[key.index()] = Some(value),
        }
    }

    /// Opens the next transaction of a session. The one before must have been ended.
    pub fn begin(&mut self, session: SessionId, place: Place) {
        assert!(!self.open, "the transaction before was not ended");
        self.open = true;
        self.history.txn_session.push_number(session.index());
        if self.history.txn_source.last().map_or(0, |it| it.1) != place.source {
            let txn = TxnId::from_index(self.history.txn_at.len());
            self.history.txn_source.push((txn, place.source));
        }
        self.history.txn_at.push(place.at.cast_signed());
    }

    /// Is a transaction open?
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Records when the open transaction began and ended, as far as known.
    pub fn times(&mut self, begin: Option<i64>, end: Option<i64>) {
        self.times = (begin.unwrap_or(i64::MIN), end.unwrap_or(i64::MAX));
    }

    /// Adds a register read to the open transaction.
    pub fn read(&mut self, key: KeyId, value: ValueId) {
        self.push_op(Access::Read, key, value.raw());
    }

    /// Adds a register write to the open transaction.
    pub fn write(&mut self, key: KeyId, value: ValueId) {
        self.push_op(Access::Write, key, value.raw());
    }

    /// Adds an append to the open transaction.
    pub fn append(&mut self, key: KeyId, value: ValueId) {
        self.push_op(Access::Append, key, value.raw());
    }

    /// Adds a read of a whole list to the open transaction.
    pub fn read_list(&mut self, key: KeyId, values: impl IntoIterator<Item = ValueId>) {
        let list = self.history.list_starts.len() as u32 - 1;
        self.history.list_values.extend(values);
        self.history.list_starts.push(self.history.list_values.len() as u32);
        self.push_op(Access::ReadList, key, list);
    }

    /// Opens a statement: the operations up to its end are one.
    pub fn begin_statement(&mut self) {
        assert!(
            self.open && self.statement.is_none(),
            "a statement is part of a transaction, and of no other statement"
        );
        self.statement = Some(self.history.op_touch.len() as u32);
    }

    /// Is a statement open?
    pub fn is_statement_open(&self) -> bool {
        self.statement.is_some()
    }

    /// Ends the open statement.
    pub fn end_statement(&mut self, locking: Locking) {
        let start = self.statement.take().expect("a statement is open");
        let end = self.history.op_touch.len() as u32;
        self.history.sql.statements.push(Statement { start, end, locking });
    }

    /// Says of the last read or omission that it sees the newest version of its row, and locks it, whatever else its
    /// statement does.
    pub fn lock_last_read(&mut self) {
        self.history.sql.newest.push(self.history.op_touch.len() as u32 - 1);
    }

    /// Says of the last write that its transaction made the row by an insert, whatever else the history has of it.
    pub(crate) fn made_by_last_write(&mut self) {
        self.history.sql.made.push(self.history.op_touch.len() as u32 - 1);
    }

    /// Adds an update to the open transaction: a read and a write of a row in one statement.
    pub fn update(&mut self, key: KeyId, old: ValueId, new: ValueId) {
        self.in_statement(|builder| {
            builder.read(key, old);
            builder.write(key, new);
        });
    }

    /// Adds a scan to the open transaction, with every row that it returned.
    pub fn scan(&mut self, table: &str, predicate: Predicate, rows: impl IntoIterator<Item = (KeyId, ValueId)>) {
        let foreign: Vec<Box<str>> = predicate.foreign().into_iter().map(Into::into).collect();
        let mut seen = FxHashSet::default();
        self.in_statement(|builder| {
            let (scan, start) = (builder.history.sql.scans.len(), builder.history.op_touch.len() as u32);
            for (key, value) in rows {
                builder.check_row(table, key, seen.insert(key));
                builder.read(key, value);
                // Returned rows match; which part of a larger predicate does is not known.
                if let ([only], Predicate::Foreign(_)) = (&foreign[..], &predicate) {
                    builder.said.insert((only.clone(), key, value), Matching::Matches);
                }
            }
            let history = &mut builder.history;
            history.op_touch.push(Touch::new(Access::Omit, KeyId::from_index(0)));
            history.op_value.push(scan as u32);
            builder.push_scan(table, predicate, start, Extent::Whole);
        });
    }

    /// Adds one row to the open transaction that a scan looked at and did not return, if that is all that is known of it.
    pub fn omit(&mut self, table: &str, predicate: Predicate, key: KeyId) {
        let (scan, start) = (self.history.sql.scans.len(), self.history.op_touch.len() as u32);
        self.push_op(Access::Omit, key, scan as u32);
        self.push_scan(table, predicate, start, Extent::Part);
    }

    /// Adds one row to the open transaction that a scan returned, if the others are not known.
    pub fn returned(&mut self, table: &str, predicate: Predicate, key: KeyId, value: ValueId) {
        let start = self.history.op_touch.len() as u32;
        self.read(key, value);
        self.push_scan(table, predicate, start, Extent::Part);
    }

    /// Says whether a version matches a foreign predicate. A version of which nothing is said does not match.
    pub fn matching(&mut self, foreign: &str, key: KeyId, value: ValueId, matching: Matching, place: Place) {
        let earlier = self.said.insert((foreign.into(), key, value), matching);
        if earlier.is_some_and(|it| it != matching) {
            let (key, value) = (self.history.keys.get(key.index()), self.history.values.get(value.index()));
            let message = format!("{}={} is said to match {foreign:?}, and not to", key.shown(), value.shown());
            self.defect(Severity::Error, place, message);
        }
    }

    /// A scan returns rows of its table, each once.
    fn check_row(&mut self, table: &str, key: KeyId, is_new: bool) {
        let name = self.history.keys.get(key.index());
        let is_row = matches!(name, Name::Text(text) if text.strip_prefix(table).is_some_and(|it| it.starts_with('/')));
        let problem = match (is_row, is_new) {
            (true, true) => return,
            (false, _) => format!("a scan of {table} returned {}; its rows have names as {table}/1", name.shown()),
            (true, false) => format!("a scan of {table} returned {} twice", name.shown()),
        };
        let place = self.history.place(TxnId::from_index(self.history.txn_at.len() - 1));
        self.defect(Severity::Error, place, problem);
    }

    fn in_statement(&mut self, add: impl FnOnce(&mut Self)) {
        let is_part = self.is_statement_open();
        if !is_part {
            self.begin_statement();
        }
        add(self);
        if !is_part {
            self.end_statement(Locking::Free);
        }
    }

    fn push_scan(&mut self, table: &str, predicate: Predicate, start: u32, extent: Extent) {
        let sql = &mut self.history.sql;
        let table = sql.table(table);
        let predicate = *self.predicate_ids.entry(predicate).or_insert_with_key(|it| {
            sql.predicates.push(it.clone());
            sql.predicates.len() as u32 - 1
        });
        let (txn, end) = (TxnId::from_index(self.history.txn_outcome.len()), self.history.op_touch.len() as u32);
        let nth = if self.statement.is_some() { sql.statements.len() as u32 } else { u32::MAX };
        let statement = Statement { start: nth, end: nth, locking: Locking::Free };
        sql.scans.push(ScanEntry { txn, start, end, table, predicate, extent, statement });
    }

    /// Adds reads and writes of registers, and appends, to the open transaction: the columns of as many operations.
    pub fn extend(&mut self, accesses: &[Access], keys: &[KeyId], values: &[ValueId]) {
        assert!(self.open, "an operation outside a transaction");
        assert!(accesses.len() == keys.len() && keys.len() == values.len(), "columns of different length");
        for (access, key) in accesses.iter().zip(keys) {
            assert!(
                !matches!(access, Access::ReadList | Access::Omit),
                "a list has no single value, and neither has an omission"
            );
            self.note_use(*access, *key);
        }
        self.history.op_touch.extend(accesses.iter().zip(keys).map(|(access, key)| Touch::new(*access, *key)));
        self.history.op_value.extend(values.iter().map(|it| it.raw()));
    }

    fn push_op(&mut self, access: Access, key: KeyId, value: u32) {
        assert!(self.open, "an operation outside a transaction");
        self.history.op_touch.push(Touch::new(access, key));
        self.history.op_value.push(value);
        self.note_use(access, key);
    }

    fn note_use(&mut self, access: Access, key: KeyId) {
        let is_list = matches!(access, Access::Append | Access::ReadList);
        let seen = &mut self.key_use[key.index()];
        *seen = match (*seen, is_list) {
            (KeyUse::Untouched | KeyUse::Register, false) => KeyUse::Register,
            (KeyUse::Untouched | KeyUse::List, true) => KeyUse::List,
            _ => KeyUse::Mixed,
        };
    }

    /// Ends the open transaction.
    pub fn end(&mut self, outcome: Outcome) -> TxnId {
        assert!(self.open, "no transaction is open");
        self.open = false;
        let txn = TxnId::from_index(self.history.txn_outcome.len());
        if self.times.0 > self.times.1 {
            let (begin, end) = self.times;
            let place = self.history.place(txn);
            self.defect(Severity::Error, place, format!("a transaction ends at {end}, before it begins at {begin}"));
        }
        if self.times != NO_TIMES {
            self.fill_times(txn.index());
            self.history.txn_begin.push(self.times.0);
            self.history.txn_end.push(self.times.1);
            self.times = NO_TIMES;
        }
        self.history.txn_outcome.push(outcome);
        self.history.txn_op_starts.push_number(self.history.op_touch.len());
        txn
    }

    /// So many transactions have times, of which nothing more is known.
    fn fill_times(&mut self, n_txns: usize) {
        self.history.txn_begin.fill(n_txns, NO_TIMES.0);
        self.history.txn_end.fill(n_txns, NO_TIMES.1);
    }

    /// About how many bytes it holds.
    pub fn bytes(&self) -> usize {
        let History { op_touch, list_starts, list_values, .. } = &self.history;
        let History { txn_session, txn_op_starts, txn_at, txn_begin, txn_end, .. } = &self.history;
        let per_op = size_of::<Touch>() + size_of::<u32>();
        let per_txn = 2 * size_of::<u32>() + size_of::<Outcome>();
        let per_key = size_of::<KeyUse>() + size_of::<Option<ValueId>>();
        op_touch.len() * per_op
            + (list_starts.len() + list_values.len()) * size_of::<u32>()
            + txn_at.len() * per_txn
            + txn_session.bytes()
            + txn_op_starts.bytes()
            + txn_at.bytes()
            + txn_begin.bytes()
            + txn_end.bytes()
            + self.key_use.len() * per_key
            + self.key_ids.bytes(&self.history.keys)
            + self.value_ids.bytes(&self.history.values)
            + self.n_session_bytes
            + self.history.sql.bytes()
            + self.said.len() * size_of::<(Box<str>, KeyId, ValueId)>()
    }

    /// Notes something wrong at a place of the input.
    pub fn defect(&mut self, severity: Severity, place: Place, message: impl Into<String>) {
        let source = self.history.sources.get(place.source as usize);
        self.defects.push(Defect {
            severity,
            source: source.map(|it| it.0.clone()).unwrap_or_default(),
            at: source.map(|it| (place.at, it.1)),
            message: message.into(),
        });
    }

    /// The history, or every defect if one of them is an error. An open transaction is one.
    pub fn finish(self) -> Result<History, Vec<Defect>> {
        let (history, defects) = self.finish_with_defects();
        match history {
            Some(history) => Ok(history),
            None => Err(defects),
        }
    }

    /// The history, unless a defect is an error, and all defects, warnings included.
    pub fn finish_with_defects(self) -> (Option<History>, Vec<Defect>) {
        self.finish_within(MAX_ENTRIES).unwrap_or_else(|TooManyRows| {
            let message = "the scans of the history look at more than four billion rows".to_owned();
            (None, vec![Defect { severity: Severity::Error, source: String::new(), at: None, message }])
        })
    }

    /// As [`HistoryBuilder::finish_with_defects`], if scans did not return at most so many rows that they looked at. These
    /// are not known before, and each takes memory: about [`OMISSION_BYTES`].
    pub fn finish_within(mut self, max_omissions: usize) -> Result<(Option<History>, Vec<Defect>), TooManyRows> {
        self.find_defects();
        if self.defects.iter().any(|it| it.severity == Severity::Error) {
            return Ok((None, self.defects));
        }
        self.history.lay_out_sessions();
        self.fill_initial_values();
        self.history.key_is_list = self.key_use.iter().map(|it| *it == KeyUse::List).collect();
        if self.history.has_times() {
            self.fill_times(self.history.n_txns());
        }
        if self.history.has_statements() {
            self.finish_statements(max_omissions)?;
        }
        let is_broken = self.defects.iter().any(|it| it.severity == Severity::Error);
        Ok(((!is_broken).then_some(self.history), self.defects))
    }

    fn finish_statements(&mut self, max_omissions: usize) -> Result<(), TooManyRows> {
        let said = std::mem::take(&mut self.said).into_iter().filter(|it| it.1 == Matching::Matches);
        self.history.sql.said = said.map(|it| it.0).collect();
        self.history.sql.said.sort_unstable();
        let tables = self.history.rows_by_table();
        // A row that nobody gave a value does not exist at first, whatever other keys begin with.
        let null = self.value_named(Name::Null);
        self.history.sql.null = Some(null);
        for row in tables.iter().flat_map(Table::rows).filter(|it| self.explicit_initial[it.index()].is_none()) {
            self.history.key_initial[row.index()] = null;
        }
        let max_omissions = max_omissions.min(MAX_ENTRIES - self.history.n_ops());
        let omitted = self.history.omitted_rows(&tables, max_omissions).ok_or(TooManyRows)?;
        self.history.insert_omissions(&omitted);
        self.history.sql.note_statements_of_scans();
        self.history.note_newest();
        self.history.note_made();
        self.history.forget_trivial_statements();
        Ok(())
    }

    fn find_defects(&mut self) {
        let last = self.history.place(TxnId::from_index(self.history.txn_at.len() - 1));
        if self.open {
            self.defect(Severity::Error, last, "the input ends inside a transaction");
        }
        for key_idx in 0..self.key_use.len() {
            let name = self.history.keys.get(key_idx);
            let is_list = self.key_use[key_idx] == KeyUse::List;
            let initial = self.explicit_initial[key_idx].map(|it| self.history.values.get(it.index()));
            if self.key_use[key_idx] == KeyUse::Mixed {
                let name = name.shown();
                let message = format!("key {name} is used as a register and as a list; a key must be one of them");
                self.defect_without_line(message);
            } else if is_list && initial.is_some_and(|it| it != Name::Null) {
                let name = name.shown();
                let message = format!("list {name} has an initial value; lists are empty at first");
                self.defect_without_line(message);
            }
        }
        if self.history.n_txns() > MAX_TXNS {
            self.defect_without_line("the history has more than two billion transactions".to_owned());
        }
        if self.history.n_keys() > Touch::MAX_KEYS {
            self.defect_without_line("the history has more than half a billion keys".to_owned());
        }
        let sizes = [self.history.op_touch.len(), self.history.list_values.len(), self.history.values.len()];
        if sizes.into_iter().max() > Some(MAX_ENTRIES) {
            self.defect_without_line("the history has more than four billion operations or values".to_owned());
        }
    }

    fn defect_without_line(&mut self, message: String) {
        let source = self.history.sources.first().map(|it| it.0.clone()).unwrap_or_default();
        self.defects.push(Defect { severity: Severity::Error, source, at: None, message });
    }

    fn fill_initial_values(&mut self) {
        let default = match self.default_initial {
            Some(value) => value,
            None => self.value_named(Name::Null),
        };
        self.history.key_initial = self.explicit_initial.iter().map(|it| it.unwrap_or(default)).collect();
    }
}

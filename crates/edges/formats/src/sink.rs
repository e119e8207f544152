//! Where every reader puts what it finds: whole transactions and defects.

use crate::cut::{known_until, second_write, with_lost_writers_since};
use crate::meter::Meter;
use crate::ops::TxnOps;
use crate::{Format, Header, ReadError, Reading, WrittenValues};
use iso_history::{
    Access, Datum, Defect, HistoryBuilder, KeyId, Matching, Name, OMISSION_BYTES, Outcome, Place, PlaceUnit, SessionId,
    Severity, TooManyRows, ValueId,
};
use rustc_hash::FxHashMap;

/// More defects than these are counted, not kept.
const MAX_DEFECTS: usize = 20;
/// How many transactions pass between two questions whether to go on.
const TXNS_PER_QUESTION: u32 = 1 << 14;

/// Builds a reading.
pub(crate) struct Sink<'a> {
    builder: HistoryBuilder,
    meter: &'a Meter<'a>,
    source: u32,
    source_name: String,
    unit: PlaceUnit,
    n_keys: usize,
    n_values: usize,
    n_sessions: usize,
    n_txns: u32,
    initials: FxHashMap<KeyId, ValueId>,
    default_initial: Option<ValueId>,
    defects: Vec<Defect>,
    /// Defects that are not kept: warnings, errors.
    n_dropped: [u64; 2],
    /// Is it a recording that was cut, and of which values?
    cut: Option<WrittenValues>,
    pub(crate) header: Header,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(meter: &'a Meter<'a>) -> Self {
        Self {
            builder: HistoryBuilder::new(),
            meter,
            source: 0,
            source_name: String::new(),
            unit: PlaceUnit::Line,
            n_keys: 0,
            n_values: 0,
            n_sessions: 0,
            n_txns: 0,
            initials: FxHashMap::default(),
            default_initial: None,
            defects: Vec::new(),
            n_dropped: [0; 2],
            cut: None,
            header: Header::default(),
        }
    }

    pub(crate) fn meter(&self) -> &'a Meter<'a> {
        self.meter
    }

    /// Says which source the next transactions and defects come from.
    pub(crate) fn source(&mut self, name: &str, unit: PlaceUnit) {
        self.source = self.builder.source(name, unit);
        name.clone_into(&mut self.source_name);
        self.unit = unit;
    }

    /// A position in the current source.
    pub(crate) fn place(&self, at: u64) -> Place {
        Place { source: self.source, at }
    }

    pub(crate) fn session(&mut self, name: &str) -> Result<SessionId, ReadError> {
        let session = self.builder.session(name);
        if session.index() >= self.n_sessions {
            self.n_sessions += 1;
            self.weigh()?;
        }
        Ok(session)
    }

    #[allow(clippy::needless_pass_by_value, reason = "who makes a name for this call has no use for it afterwards")]
    pub(crate) fn key(&mut self, name: Datum) -> Result<KeyId, ReadError> {
        self.key_named(name.as_name())
    }

    #[allow(clippy::needless_pass_by_value, reason = "who makes a name for this call has no use for it afterwards")]
    pub(crate) fn value(&mut self, datum: Datum) -> Result<ValueId, ReadError> {
        self.value_named(datum.as_name())
    }

    pub(crate) fn key_named(&mut self, name: Name<'_>) -> Result<KeyId, ReadError> {
        let key = self.builder.key_named(name);
        if key.index() >= self.n_keys {
            self.n_keys += 1;
            self.weigh()?;
        }
        Ok(key)
    }

    pub(crate) fn value_named(&mut self, name: Name<'_>) -> Result<ValueId, ReadError> {
        let value = self.builder.value_named(name);
        if value.index() >= self.n_values {
            self.n_values += 1;
            self.weigh()?;
        }
        Ok(value)
    }

    /// The keys that are these integers, added to the ids.
    pub(crate) fn int_keys(&mut self, integers: &[i64], ids: &mut Vec<KeyId>) -> Result<(), ReadError> {
        self.builder.naming().0.ints(integers, ids);
        self.weigh()
    }

    /// The values that are these integers, added to the ids.
    pub(crate) fn int_values(&mut self, integers: &[i64], ids: &mut Vec<ValueId>) -> Result<(), ReadError> {
        self.builder.naming().1.ints(integers, ids);
        self.weigh()
    }

    /// The keys of these names, added to the ids.
    pub(crate) fn keys_named(&mut self, names: &[Name<'_>], ids: &mut Vec<KeyId>) -> Result<(), ReadError> {
        self.builder.naming().0.all_named(names, ids);
        self.weigh()
    }

    /// The values of these names, added to the ids.
    pub(crate) fn values_named(&mut self, names: &[Name<'_>], ids: &mut Vec<ValueId>) -> Result<(), ReadError> {
        self.builder.naming().1.all_named(names, ids);
        self.weigh()
    }

    /// Tells the meter how large the history is by now.
    fn weigh(&self) -> Result<(), ReadError> {
        self.meter.build(self.builder.bytes())
    }

    /// Sets the initial value of a key. A second, different one is a defect.
    pub(crate) fn initial(&mut self, name: &Datum, value: ValueId, at: u64) -> Result<KeyId, ReadError> {
        let key = self.key(name.clone())?;
        match self.initials.get(&key) {
            Some(earlier) if *earlier != value => {
                self.error(
                    at,
                    format!("the initial value of {} is given twice; keep one of them", name.as_name().shown()),
                );
            }
            Some(_) => {}
            None => {
                self.initials.insert(key, value);
                self.builder.initial(key, value, self.place(at));
            }
        }
        Ok(key)
    }

    /// Notes that a version matches a foreign predicate.
    pub(crate) fn matches(&mut self, foreign: &str, key: KeyId, value: ValueId, at: u64) -> Result<(), ReadError> {
        let place = self.place(at);
        self.builder.matching(foreign, key, value, Matching::Matches, place);
        self.weigh()
    }

    /// Sets the initial value of every key without one of its own. A second, different one is a defect.
    pub(crate) fn default_initial(&mut self, value: ValueId, at: u64) {
        if self.default_initial.is_some_and(|it| it != value) {
            self.error(at, "the initial value of all keys is given twice; keep one of them");
        }
        self.default_initial = Some(value);
        self.builder.default_initial(value);
    }

    /// Sets the initial value that a format gives every key, whatever its files say.
    pub(crate) fn format_initial(&mut self, value: ValueId) {
        self.builder.default_initial(value);
    }

    /// Sets the initial value that somebody knows beside the file. A different one in the file is a defect.
    pub(crate) fn known_initial(&mut self, name: Name<'_>) -> Result<(), ReadError> {
        let value = self.value_named(name)?;
        if self.default_initial.is_some_and(|it| it != value) {
            let message =
                format!("the file says another initial value than --initial {}; leave --initial out", name.shown());
            self.defect(Severity::Error, None, message);
        }
        self.builder.default_initial(value);
        Ok(())
    }

    /// The initial values so far: of all keys, and of single ones by their numbers.
    pub(crate) fn initial_values(&self) -> (Option<ValueId>, Vec<(KeyId, ValueId)>) {
        let mut single: Vec<(KeyId, ValueId)> = self.initials.iter().map(|(key, value)| (*key, *value)).collect();
        single.sort_unstable();
        (self.default_initial, single)
    }

    /// Adds a transaction.
    pub(crate) fn txn(
        &mut self,
        session: SessionId,
        place: Place,
        times: (Option<i64>, Option<i64>),
        ops: &TxnOps,
        outcome: Outcome,
    ) -> Result<(), ReadError> {
        self.begin(session, place, times)?;
        ops.push_to(&mut self.builder);
        self.builder.end(outcome);
        self.weigh()
    }

    /// Adds a transaction of register operations and appends, given in columns.
    pub(crate) fn register_txn(
        &mut self,
        session: SessionId,
        place: Place,
        times: (Option<i64>, Option<i64>),
        (accesses, keys, values): (&[Access], &[KeyId], &[ValueId]),
        outcome: Outcome,
    ) -> Result<(), ReadError> {
        self.begin(session, place, times)?;
        self.builder.extend(accesses, keys, values);
        self.builder.end(outcome);
        Ok(())
    }

    fn begin(&mut self, session: SessionId, place: Place, times: (Option<i64>, Option<i64>)) -> Result<(), ReadError> {
        self.n_txns = self.n_txns.wrapping_add(1);
        if self.n_txns.is_multiple_of(TXNS_PER_QUESTION) {
            self.meter.go_on()?;
        }
        self.builder.begin(session, place);
        match times {
            (None, None) => {}
            (Some(begin), Some(end)) if begin > end => {
                self.error(place.at, format!("the transaction ends at {end}, before it begins at {begin}"));
            }
            (begin, end) => self.builder.times(begin, end),
        }
        Ok(())
    }

    /// Notes what makes the history unusable.
    pub(crate) fn error(&mut self, at: u64, message: impl Into<String>) {
        self.defect(Severity::Error, Some(at), message.into());
    }

    /// Notes what makes the history unusable, and concerns no transaction, or says itself where it stands.
    #[cfg(feature = "parquet")]
    pub(crate) fn error_without_place(&mut self, message: impl Into<String>) {
        self.defect(Severity::Error, None, message.into());
    }

    /// Notes what is worth a look.
    pub(crate) fn warn(&mut self, at: u64, message: impl Into<String>) {
        self.defect(Severity::Warning, Some(at), message.into());
    }

    /// Notes that a recording has no end: transactions are missing.
    pub(crate) fn cut(&mut self, values: WrittenValues) {
        self.cut = Some(values);
        let message = "the recording was cut short: its last line is missing; what transactions read that nobody is \
                       recorded to have written may come from those that are missing";
        self.defect(Severity::Warning, None, message.to_owned());
    }

    fn defect(&mut self, severity: Severity, at: Option<u64>, message: String) {
        if self.defects.len() >= MAX_DEFECTS {
            self.n_dropped[severity as usize] += 1;
            return;
        }
        let source = self.source_name.clone();
        self.defects.push(Defect { severity, source, at: at.map(|it| (it, self.unit)), message });
    }

    /// Ends the reading.
    pub(crate) fn finish(self, format: Format) -> Result<Reading, ReadError> {
        let source_name = self.source_name;
        let (mut defects, mut n_dropped) = (self.defects, self.n_dropped);
        let max_omissions = usize::try_from(self.meter.left()).unwrap_or(usize::MAX) / OMISSION_BYTES;
        let finished = self.builder.finish_within(max_omissions);
        let (history, found) = finished.map_err(|TooManyRows| self.meter.exceeded())?;
        for defect in found {
            if defects.len() < MAX_DEFECTS { defects.push(defect) } else { n_dropped[defect.severity as usize] += 1 }
        }
        let n_more = n_dropped[0] + n_dropped[1];
        if n_more > 0 {
            let severity = if n_dropped[1] > 0 { Severity::Error } else { Severity::Warning };
            defects.push(Defect {
                severity,
                source: source_name.clone(),
                at: None,
                message: format!("and {n_more} more"),
            });
        }
        let is_usable = defects.iter().all(|it| it.severity != Severity::Error);
        let history = history.filter(|_| is_usable);
        let history = match (self.cut, history) {
            (Some(values), Some(history)) => {
                let broken = (values == WrittenValues::Unique).then(|| second_write(&history)).flatten();
                if let Some((line, message)) = broken {
                    let at = Some((line, self.unit));
                    let message = format!("the transaction {message}");
                    defects.push(Defect { severity: Severity::Error, source: source_name, at, message });
                    None
                } else {
                    let knows_sessions = self.header.n_sessions.is_some();
                    let known_until = if knows_sessions { known_until(&history) } else { i64::MIN };
                    Some(with_lost_writers_since(&history, values, known_until))
                }
            }
            (_, history) => history,
        };
        Ok(Reading { history, format, defects, header: self.header })
    }
}

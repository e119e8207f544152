//! Trace text of `IsoPredict` (Geng et al. 2024), one event a line.
//!
//! `READ KEY[k] Txn(s, t) From(s', t')`, `WRITE KEY[k] Txn(s, t)`; `INSERT[row] to Set[set] Txn(s, t)` and
//! `DELETE[row] from Set[set] Txn(s, t)` write the key `Set(set:row)`, `CONTAINS[row] in Set[set] From(s', t') Txn(s, t)`
//! reads it. Traces say who wrote what a read saw, not which value it was: a version is named by its writer, as in
//! `s1.2` for the second transaction of session 1, and `init` for Txn(0, 0), the initial state. All transactions
//! committed. Each line is complete in itself: a file that is cut between two lines is a shorter history.

use crate::fault::excerpt;
use crate::input::Input;
use crate::number::integer_or_text;
use crate::ops::TxnOps;
use crate::sink::Sink;
use crate::write::{Limits, USE_JSONL, WriteError, inexpressible, register_op};
use crate::{Format, ReadError};
use iso_history::{Access, Datum, History, KeyId, Name, Outcome, Place, SessionId, TxnId, ValueId};
use rustc_hash::FxHashMap;
use std::io::Write;

const LIMITS: Limits = Limits { format: Format::IsoPredict, allows_aborted: false, allows_unknown: false };
const INITIAL: &str = "init";
/// About what a transaction takes while it is collected.
const TXN_BYTES: usize = 160;

/// The session and place of a transaction, as the trace numbers them.
type TxnName = (u64, u64);

pub(crate) fn read(input: &mut Input<'_>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let initial = sink.value(Datum::text(INITIAL))?;
    sink.format_initial(initial);
    let mut trace = Trace::default();
    let mut buffer = Vec::new();
    while let Some(line) = input.next_line(&mut buffer)? {
        let text = std::str::from_utf8(line.bytes).unwrap_or_default();
        match parse(text) {
            Some(event) => trace.add(&event, line.number, sink)?,
            None if line.bytes.trim_ascii().is_empty() => {}
            None => {
                let message = "expected an event, as in READ KEY[k] Txn(s, t) From(s, t) or WRITE KEY[k] Txn(s, t)";
                sink.error(line.number, format!("{message}, found {}", excerpt(line.bytes)));
            }
        }
    }
    trace.finish(sink)
}

struct Event {
    key: Datum,
    txn: TxnName,
    /// The writer, if the event is a read.
    from: Option<TxnName>,
}

fn parse(line: &str) -> Option<Event> {
    let mut rest = Rest(line.trim());
    let verb = rest.word()?;
    let is_read = matches!(verb, "READ" | "CONTAINS");
    let key = match verb {
        "READ" | "WRITE" => {
            rest.literal("KEY")?;
            integer_or_text(rest.bracketed()?)
        }
        "INSERT" | "DELETE" | "CONTAINS" => {
            let row = rest.bracketed()?;
            rest.literal(match verb {
                "INSERT" => "to",
                "DELETE" => "from",
                _ => "in",
            })?;
            rest.literal("Set")?;
            Datum::text(format!("Set({}:{row})", rest.bracketed()?))
        }
        _ => return None,
    };
    let (mut txn, mut from) = (None, None);
    while !rest.0.is_empty() {
        match rest.word()? {
            "Txn" if txn.is_none() => txn = Some(rest.pair()?),
            "From" if from.is_none() => from = Some(rest.pair()?),
            _ => return None,
        }
    }
    (from.is_some() == is_read).then_some(Event { key, txn: txn?, from })
}

struct Rest<'l>(&'l str);

impl<'l> Rest<'l> {
    fn word(&mut self) -> Option<&'l str> {
        let n = self.0.find(|it: char| !it.is_ascii_alphabetic()).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(n);
        self.0 = rest.trim_start();
        (n > 0).then_some(word)
    }

    fn literal(&mut self, wanted: &str) -> Option<()> {
        (self.word()? == wanted).then_some(())
    }

    fn bracketed(&mut self) -> Option<&'l str> {
        let (inside, rest) = self.0.strip_prefix('[')?.split_once(']')?;
        self.0 = rest.trim_start();
        Some(inside).filter(|it| !it.is_empty())
    }

    fn pair(&mut self) -> Option<TxnName> {
        let (inside, rest) = self.0.strip_prefix('(')?.split_once(')')?;
        self.0 = rest.trim_start();
        let (session, nth) = inside.split_once(',')?;
        Some((session.trim().parse().ok()?, nth.trim().parse().ok()?))
    }
}

/// Transactions in the order in which they appear; their lines may interleave.
#[derive(Default)]
struct Trace {
    by_name: FxHashMap<TxnName, usize>,
    txns: Vec<Collected>,
}

struct Collected {
    name: TxnName,
    session: SessionId,
    place: Place,
    ops: TxnOps,
}

impl Trace {
    fn add(&mut self, event: &Event, line: u64, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        if event.txn == (0, 0) {
            return Ok(());
        }
        let idx = match self.by_name.get(&event.txn) {
            Some(idx) => *idx,
            None => self.begin(event.txn, line, sink)?,
        };
        let key = sink.key(event.key.clone())?;
        let (access, writer) = event.from.map_or((Access::Write, event.txn), |from| (Access::Read, from));
        let value = sink.value(version(writer))?;
        self.txns[idx].ops.push(access, key, value);
        sink.meter().keep(2 * size_of::<u64>())
    }

    fn begin(&mut self, name: TxnName, line: u64, sink: &mut Sink<'_>) -> Result<usize, ReadError> {
        sink.meter().keep(TXN_BYTES)?;
        let session = sink.session(&format!("s{}", name.0))?;
        self.txns.push(Collected { name, session, place: sink.place(line), ops: TxnOps::default() });
        self.by_name.insert(name, self.txns.len() - 1);
        Ok(self.txns.len() - 1)
    }

    /// Keeps the order of appearance, except that a session's transactions come by their numbers.
    fn finish(self, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        let n_sessions = self.txns.iter().map(|it| it.session.index() + 1).max().unwrap_or(0);
        let mut by_session: Vec<Vec<usize>> = vec![Vec::new(); n_sessions];
        for (idx, txn) in self.txns.iter().enumerate() {
            by_session[txn.session.index()].push(idx);
        }
        for indices in &mut by_session {
            indices.sort_by_key(|it| std::cmp::Reverse(self.txns[*it].name.1));
        }
        for slot in &self.txns {
            if let Some(txn) = by_session[slot.session.index()].pop() {
                let Collected { session, place, ops, .. } = &self.txns[txn];
                sink.txn(*session, *place, (None, None), ops, Outcome::Committed)?;
            }
        }
        Ok(())
    }
}

/// The name of what a transaction writes.
fn version(writer: TxnName) -> Datum {
    match writer {
        (0, 0) => Datum::text(INITIAL),
        (session, nth) => Datum::text(format!("s{session}.{}", nth.saturating_add(1))),
    }
}

/// Values are not written, only who wrote them: each read must have exactly one writer. Transactions without
/// operations leave no trace; sessions that are not called `s1`, `s2` and so on are numbered by position.
pub(crate) fn write(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    LIMITS.check(history)?;
    let writers = writers(history)?;
    let sessions = session_numbers(history);
    let name = |txn: TxnId| match history.session_of(txn) {
        None => "(0, 0)".to_owned(),
        Some(session) => format!("({}, {})", sessions[session.index()], history.nth_in_session(txn)),
    };
    for key in history.keys() {
        writeln!(out, "{} Txn(0, 0)", event(history, key, true)?)?;
    }
    for txn in history.txns() {
        let mut own: FxHashMap<KeyId, ValueId> = FxHashMap::default();
        for (is_write, key, value) in history.ops(txn).filter_map(|it| register_op(history.op(it))) {
            let event = event(history, key, is_write)?;
            match (is_write, writers.get(&(key, value))) {
                (true, _) => {
                    own.insert(key, value);
                    writeln!(out, "{event} Txn{}", name(txn))?;
                }
                (false, Some(writer)) if !is_last(history, txn, *writer, (key, value), &own) => {
                    let what = format!(
                        "a read of what its writer overwrote itself, such as {} of {}",
                        history.value(value).shown(),
                        history.label(txn)
                    );
                    return inexpressible(Format::IsoPredict, what, USE_JSONL);
                }
                (false, Some(writer)) => writeln!(out, "{event} Txn{} From{}", name(txn), name(*writer))?,
                (false, None) => {
                    let what = format!(
                        "a read of what nobody wrote, such as {} of {}",
                        history.value(value).shown(),
                        history.label(txn)
                    );
                    return inexpressible(Format::IsoPredict, what, USE_JSONL);
                }
            }
        }
    }
    Ok(())
}

/// Is this what the writer made of the key in the end? A trace names only the writer of what was read. A transaction
/// reads its own writes as they are by then.
fn is_last(
    history: &History,
    reader: TxnId,
    writer: TxnId,
    (key, value): (KeyId, ValueId),
    own: &FxHashMap<KeyId, ValueId>,
) -> bool {
    let ops = history.ops(writer).filter_map(|it| register_op(history.op(it)));
    let written: Vec<ValueId> = ops.filter(|it| it.0 && it.1 == key).map(|it| it.2).collect();
    let seen = if writer == reader { own.get(&key) } else { written.last() };
    written.iter().all(|it| *it == value) || seen == Some(&value)
}

fn writers(history: &History) -> Result<FxHashMap<(KeyId, ValueId), TxnId>, WriteError> {
    let mut writers: FxHashMap<_, _> =
        history.keys().map(|it| ((it, history.initial_value(it)), TxnId::INITIAL)).collect();
    for txn in history.txns() {
        for (_, key, value) in history.ops(txn).filter_map(|it| register_op(history.op(it))).filter(|it| it.0) {
            if *writers.entry((key, value)).or_insert(txn) != txn {
                let what =
                    format!("two writers of {} to {}", history.value(value).shown(), history.key_name(key).shown());
                return inexpressible(Format::IsoPredict, what, USE_JSONL);
            }
        }
    }
    Ok(writers)
}

fn session_numbers(history: &History) -> Vec<u64> {
    let named = |it: SessionId| {
        let number: u64 = history.session_name(it).strip_prefix('s')?.parse().ok()?;
        (number > 0 && history.session_name(it) == format!("s{number}")).then_some(number)
    };
    let by_name: Option<Vec<u64>> = history.sessions().map(named).collect();
    by_name.unwrap_or_else(|| (1..=history.n_sessions() as u64).collect())
}

fn event(history: &History, key: KeyId, is_write: bool) -> Result<String, WriteError> {
    let is_plain = |it: &str| !it.is_empty() && !it.contains(|it: char| it.is_control() || "[]".contains(it));
    let parts = match history.key_name(key) {
        Name::Int(number) => Some((None, number.to_string())),
        Name::Text(text) => match text.strip_prefix("Set(").and_then(|it| it.strip_suffix(')')) {
            Some(inside) => inside.split_once(':').map(|(set, row)| (Some(set.to_owned()), row.to_owned())),
            None => Some((None, text.to_string())).filter(|_| integer_or_text(text) == Datum::text(text)),
        },
        Name::Null | Name::Number(_) | Name::Record(_) => None,
    };
    match (parts, is_write) {
        (Some((None, key)), true) if is_plain(&key) => Ok(format!("WRITE KEY[{key}]")),
        (Some((None, key)), false) if is_plain(&key) => Ok(format!("READ KEY[{key}]")),
        (Some((Some(set), row)), _) if is_plain(&set) && is_plain(&row) && !set.contains(':') => {
            Ok(if is_write { format!("INSERT[{row}] to Set[{set}]") } else { format!("CONTAINS[{row}] in Set[{set}]") })
        }
        _ => inexpressible(Format::IsoPredict, format!("the key {}", history.key_name(key).shown()), USE_JSONL),
    }
}

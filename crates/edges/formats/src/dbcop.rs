//! Binary histories of dbcop (Biswas & Enea 2019), which `PolySI` and `VeriStrong` read, too.
//!
//! Little endian: id, sessions, keys, transactions, events (i64 each), three strings (length and bytes), then per
//! session, transaction and event what happened. Keys and values are integers, the initial value is 0, sessions are
//! named by their position. Events that did not succeed are no part of the history; transactions that did not commit
//! are aborted ones. The counts say how long the file is, so that every cut and every byte too much is a defect.

use crate::batch::Batch;
use crate::binary::{Broken, broken, little_endian, report, take};
use crate::input::{Bytes, Input};
use crate::sink::Sink;
use crate::write::{Limits, WriteError, register_op};
use crate::{Format, ReadError};
use iso_history::{Access, Datum, History, Name, Outcome, SessionId, TxnId};
use std::io::Write;

const LIMITS: Limits = Limits { format: Format::Dbcop, allows_aborted: true, allows_unknown: false };

pub(crate) fn read(input: &mut Input<'_>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let zero = sink.value(Datum::Int(0))?;
    sink.format_initial(zero);
    let mut batch = Batch::default();
    let result = read_file(input, sink, &mut batch);
    batch.flush(sink)?;
    report(sink, result)
}

fn read_file(input: &mut Input<'_>, sink: &mut Sink<'_>, batch: &mut Batch) -> Result<(), Broken> {
    for _ in 0..5 {
        little_endian(input, "the header")?;
    }
    for _ in 0..3 {
        let length = count(input, "the header", "bytes")?;
        let at = input.offset();
        if !input.skip(length)? {
            return broken(
                at,
                format!("the file ends inside a string that should have {length} bytes; it was cut short"),
            );
        }
    }
    let n_sessions = count(input, "the number of sessions", "sessions")?;
    for nth in 1..=n_sessions {
        read_session(nth, input, sink, batch)?;
    }
    if input.peek()?.is_some() {
        let message = format!("expected the end of the file after {n_sessions} sessions, found more bytes");
        return broken(input.offset(), message);
    }
    Ok(())
}

/// A length; it is trusted for nothing but when to stop.
fn count(input: &mut Input<'_>, place: &str, of: &str) -> Result<u64, Broken> {
    let at = input.offset();
    let number = little_endian(input, place)?;
    u64::try_from(number).or_else(|_| broken(at, format!("expected a number of {of}, found {number}")))
}

fn read_session(nth: u64, input: &mut Input<'_>, sink: &mut Sink<'_>, batch: &mut Batch) -> Result<(), Broken> {
    let n_txns = count(input, "the number of transactions of a session", "transactions")?;
    let session = sink.session(&format!("s{nth}"))?;
    for _ in 0..n_txns {
        read_txn(session, input, sink, batch)?;
    }
    Ok(())
}

fn read_txn(session: SessionId, input: &mut Input<'_>, sink: &mut Sink<'_>, batch: &mut Batch) -> Result<(), Broken> {
    let place = sink.place(input.offset());
    let n_events = count(input, "the number of events of a transaction", "events")?;
    let mut left = n_events;
    while left > 0 {
        let n_at_hand = read_events_at_hand(left, input, batch)?;
        if n_at_hand == 0 {
            // It is not at hand as a whole.
            let event = Event::parse(&take(input, "an event")?);
            read_event(&event, input.offset(), batch)?;
        }
        left -= n_at_hand.max(1);
        sink.meter().fits(batch.bytes())?;
    }
    let [committed] = take(input, "a transaction")?;
    let outcome = if flag(input.offset(), committed)? { Outcome::Committed } else { Outcome::Aborted };
    batch.end(session, place, outcome, sink)?;
    Ok(())
}

/// Reads at most so many events of those that are at hand, and says how many.
fn read_events_at_hand(most: u64, input: &mut Input<'_>, batch: &mut Batch) -> Result<u64, Broken> {
    let offset = input.offset();
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut n_read = 0;
    for bytes in input.at_hand().as_chunks::<EVENT_BYTES>().0.iter().take(most) {
        n_read += 1;
        read_event(&Event::parse(bytes), offset + (n_read * EVENT_BYTES) as u64, batch)?;
    }
    input.advance(n_read * EVENT_BYTES);
    Ok(n_read as u64)
}

/// Adds an event that ends at an offset.
#[inline]
fn read_event(event: &Event, end: u64, batch: &mut Batch) -> Result<(), Broken> {
    let is_write = flag(end, event.kind)?;
    if flag(end, event.success)? {
        batch.push(if is_write { Access::Write } else { Access::Read }, event.key, event.value);
    }
    Ok(())
}

const EVENT_BYTES: usize = 18;

struct Event {
    kind: u8,
    key: i64,
    value: i64,
    success: u8,
}

impl Event {
    #[inline]
    fn parse(bytes: &[u8; EVENT_BYTES]) -> Self {
        let [kind, k0, k1, k2, k3, k4, k5, k6, k7, v0, v1, v2, v3, v4, v5, v6, v7, success] = *bytes;
        Self {
            kind,
            key: i64::from_le_bytes([k0, k1, k2, k3, k4, k5, k6, k7]),
            value: i64::from_le_bytes([v0, v1, v2, v3, v4, v5, v6, v7]),
            success,
        }
    }
}

#[inline]
fn flag(end: u64, byte: u8) -> Result<bool, Broken> {
    match byte {
        0 => Ok(false),
        1 => Ok(true),
        other => broken(end, format!("expected 0 or 1 before this byte, found {other}")),
    }
}

pub(crate) fn write(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    LIMITS.check(history)?;
    LIMITS.check_initial(history, Name::Int(0))?;
    let n_events = history.txns().map(|it| history.ops(it).len()).max().unwrap_or(0);
    let n_txns = history.sessions().map(|it| history.session_txns(it).len()).max().unwrap_or(0);
    for number in [0, history.n_sessions(), history.n_keys(), n_txns, n_events] {
        put_count(number, out)?;
    }
    for text in ["isoscope", "", ""] {
        put_count(text.len(), out)?;
        out.write_all(text.as_bytes())?;
    }
    put_count(history.n_sessions(), out)?;
    for session in history.sessions() {
        let txns = history.session_txns(session);
        put_count(txns.len(), out)?;
        for txn in txns {
            write_txn(history, *txn, out)?;
        }
    }
    Ok(())
}

fn write_txn(history: &History, txn: TxnId, out: &mut dyn Write) -> Result<(), WriteError> {
    put_count(history.ops(txn).len(), out)?;
    for (is_write, key, value) in history.ops(txn).filter_map(|it| register_op(history.op(it))) {
        out.write_all(&[u8::from(is_write)])?;
        put(LIMITS.integer(history.key_name(key))?, out)?;
        put(LIMITS.integer(history.value(value))?, out)?;
        out.write_all(&[1])?;
    }
    out.write_all(&[u8::from(history.outcome(txn) == Outcome::Committed)])?;
    Ok(())
}

fn put(number: i64, out: &mut dyn Write) -> Result<(), WriteError> {
    Ok(out.write_all(&number.to_le_bytes())?)
}

/// Counts fit in 32 bits, because ids do.
fn put_count(count: usize, out: &mut dyn Write) -> Result<(), WriteError> {
    put(i64::from(count as u32), out)
}

//! One operation a line, as Plume, AWDIT and `PolySI` read and write it: `r(key,value,session,txn)`.
//!
//! Transaction -1 is an aborted one: consecutive operations with it in one session are one transaction. Value 0 is the
//! initial one. Keys, values and sessions are integers or words. Lines of different sessions may interleave. Each line
//! is complete in itself: a file that is cut between two lines is a shorter history, a cut anywhere else is a defect.

use crate::fault::excerpt;
use crate::input::Input;
use crate::number::integer_or_text;
use crate::ops::TxnOps;
use crate::sink::Sink;
use crate::write::{Limits, USE_JSONL, WriteError, inexpressible, register_op};
use crate::{Format, ReadError};
use iso_history::{Access, Datum, History, Name, Outcome, Place, SessionId, TxnId};
use rustc_hash::FxHashSet;
use std::io::Write;

const LIMITS: Limits = Limits { format: Format::Plume, allows_aborted: true, allows_unknown: false };
const ABORTED: &str = "-1";
/// About what a transaction's number takes in the set of those that were seen.
const SEEN_BYTES: usize = 64;

pub(crate) fn read(input: &mut Input<'_>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let zero = sink.value(Datum::Int(0))?;
    sink.format_initial(zero);
    let mut reader = Reader::default();
    let mut buffer = Vec::new();
    while let Some(line) = input.next_line(&mut buffer)? {
        let text = std::str::from_utf8(line.bytes).unwrap_or_default();
        match parse(text) {
            Some(op) => reader.add(&op, line.number, sink)?,
            None if line.bytes.trim_ascii().is_empty() => {}
            None => {
                let found = excerpt(line.bytes);
                sink.error(line.number, format!("expected r(key,value,session,txn) or w(..), found {found}"));
            }
        }
    }
    for session in 0..reader.open.len() {
        reader.close(session, sink)?;
    }
    Ok(())
}

struct PlumeOp<'l> {
    access: Access,
    key: &'l str,
    value: &'l str,
    session: &'l str,
    txn: &'l str,
}

fn parse(line: &str) -> Option<PlumeOp<'_>> {
    let line = line.trim();
    let (access, rest) = match line.split_at_checked(1)? {
        ("r" | "R", rest) => (Access::Read, rest),
        ("w" | "W", rest) => (Access::Write, rest),
        _ => return None,
    };
    let mut fields = rest.strip_prefix('(')?.strip_suffix(')')?.split(',').map(str::trim);
    let mut field = || fields.next().filter(|it| is_word(it));
    let op = PlumeOp { access, key: field()?, value: field()?, session: field()?, txn: field()? };
    fields.next().is_none().then_some(op)
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(|it: char| it.is_whitespace() || it.is_control() || "(),".contains(it))
}

/// The transaction of each session that is not complete yet.
#[derive(Default)]
struct Reader {
    open: Vec<Option<Open>>,
    spare: Vec<TxnOps>,
    seen: FxHashSet<(SessionId, Box<str>)>,
}

struct Open {
    session: SessionId,
    txn: Box<str>,
    place: Place,
    ops: TxnOps,
}

impl Reader {
    fn add(&mut self, op: &PlumeOp<'_>, line: u64, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        let session = sink.session(op.session)?;
        let key = sink.key(integer_or_text(op.key))?;
        let value = sink.value(integer_or_text(op.value))?;
        if self.open.len() <= session.index() {
            self.open.resize_with(session.index() + 1, || None);
        }
        if self.open[session.index()].as_ref().is_none_or(|it| &*it.txn != op.txn) {
            self.close(session.index(), sink)?;
            self.begin(session, op.txn, line, sink)?;
        }
        if let Some(open) = &mut self.open[session.index()] {
            open.ops.push(op.access, key, value);
            sink.meter().fits(open.ops.bytes())?;
        }
        Ok(())
    }

    fn begin(&mut self, session: SessionId, txn: &str, line: u64, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        if txn != ABORTED {
            sink.meter().keep(SEEN_BYTES + txn.len())?;
            if !self.seen.insert((session, txn.into())) {
                sink.error(line, format!("transaction {txn} of the session has ended before; numbers must not repeat"));
            }
        }
        let mut ops = self.spare.pop().unwrap_or_default();
        ops.clear();
        self.open[session.index()] = Some(Open { session, txn: txn.into(), place: sink.place(line), ops });
        Ok(())
    }

    fn close(&mut self, session: usize, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        if let Some(open) = self.open[session].take() {
            let outcome = if &*open.txn == ABORTED { Outcome::Aborted } else { Outcome::Committed };
            sink.txn(open.session, open.place, (None, None), &open.ops, outcome)?;
            self.spare.push(open.ops);
        }
        Ok(())
    }
}

/// Transactions without operations leave no trace.
pub(crate) fn write(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    LIMITS.check(history)?;
    LIMITS.check_initial(history, Name::Int(0))?;
    let is_visible = |it: &TxnId| history.ops(*it).len() > 0;
    for session in history.sessions() {
        let name = word(integer_or_text(history.session_name(session)).as_name(), history.session_name(session))?;
        let mut is_after_aborted = false;
        for txn in history.session_txns(session).iter().copied().filter(is_visible) {
            let is_aborted = history.outcome(txn) == Outcome::Aborted;
            if is_aborted && is_after_aborted {
                let what = format!("two aborted transactions in a row, such as {}", history.label(txn));
                return inexpressible(Format::Plume, what, crate::write::ONLY_COMMITTED);
            }
            is_after_aborted = is_aborted;
            write_txn(history, &name, txn, out)?;
        }
    }
    Ok(())
}

fn write_txn(history: &History, session: &str, txn: TxnId, out: &mut dyn Write) -> Result<(), WriteError> {
    let number = match history.outcome(txn) {
        Outcome::Aborted => ABORTED.to_owned(),
        _ => txn.index().to_string(),
    };
    for (is_write, key, value) in history.ops(txn).filter_map(|it| register_op(history.op(it))) {
        let kind = if is_write { "w" } else { "r" };
        let (key, value) = (history.key_name(key), history.value(value));
        writeln!(out, "{kind}({},{},{session},{number})", word(key, "")?, word(value, "")?)?;
    }
    Ok(())
}

/// The spelling of an integer or word that reads back as the same.
fn word(name: Name<'_>, spelling: &str) -> Result<String, WriteError> {
    match name {
        Name::Int(number) if spelling.is_empty() => Ok(number.to_string()),
        Name::Int(_) => Ok(spelling.to_owned()),
        Name::Text(text) if is_word(text) && name == integer_or_text(text) => Ok(text.to_string()),
        other => inexpressible(Format::Plume, format!("{}: there are integers and words", other.shown()), USE_JSONL),
    }
}

//! Writes Jepsen histories: an invocation and a completion for each transaction.

use crate::Format;
use crate::form::Syntax;
use crate::json;
use crate::write::{USE_JSONL, WriteError, inexpressible, refuse_sql};
use iso_history::{History, Name, Op, Outcome, SessionId, TxnId};
use std::io::{self, Write};

/// Reads of aborted transactions are not written: Jepsen does not record what they saw, and no level looks at it. What
/// a transaction of unknown outcome saw may decide whether it can have committed, so it is refused. Sessions whose
/// names are no numbers are numbered by position; those without transactions leave no trace.
pub(crate) fn write_edn(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    write(history, Syntax::Edn, out)
}

/// The same in JSON.
pub(crate) fn write_json(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    write(history, Syntax::Json, out)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    Invocation,
    Completion,
}

fn write(history: &History, syntax: Syntax, out: &mut dyn Write) -> Result<(), WriteError> {
    check(history, syntax)?;
    let processes = processes(history);
    for (index, (txn, moment)) in moments(history).into_iter().enumerate() {
        let process = history.session_of(txn).map_or(0, |it| processes[it.index()]);
        let (kind, time) = match (moment, history.outcome(txn)) {
            (Moment::Invocation, _) => ("invoke", history.begin(txn)),
            (_, Outcome::Committed) => ("ok", history.end(txn)),
            (_, Outcome::Aborted) => ("fail", history.end(txn)),
            (_, Outcome::Indeterminate) => ("info", None),
        };
        match syntax {
            Syntax::Edn => write!(out, "{{:index {index}, :type :{kind}, :process {process}, :f :txn")?,
            Syntax::Json => {
                write!(out, "{{\"index\":{index},\"type\":\"{kind}\",\"process\":{process},\"f\":\"txn\"")?;
            }
        }
        match (time, syntax) {
            // Without this, the place among the events would be the time.
            (None, Syntax::Edn) => out.write_all(b", :time nil")?,
            (None, Syntax::Json) => out.write_all(b",\"time\":null")?,
            (Some(time), Syntax::Edn) => write!(out, ", :time {time}")?,
            (Some(time), Syntax::Json) => write!(out, ",\"time\":{time}")?,
        }
        out.write_all(if syntax == Syntax::Edn { b", :value [" } else { b",\"value\":[" })?;
        write_mops(history, txn, kind == "ok", syntax, out)?;
        out.write_all(b"]}\n")?;
    }
    Ok(())
}

fn check(history: &History, syntax: Syntax) -> Result<(), WriteError> {
    let format = if syntax == Syntax::Edn { Format::Elle } else { Format::ElleJson };
    refuse_sql(history, format)?;
    for key in history.keys().filter(|it| !history.is_list(*it)) {
        let initial = history.value(history.initial_value(key));
        if initial != Name::Null {
            let what =
                format!("an initial value, such as {initial} of {}: registers are nil at first", history.key_name(key));
            return inexpressible(format, what, USE_JSONL);
        }
    }
    for txn in history.txns().filter(|it| history.outcome(*it) == Outcome::Indeterminate) {
        if let Some(read) = history.ops(txn).find(|it| !history.op(*it).is_write()) {
            let op = history.render_op(read);
            let what =
                format!("reads of a transaction whose outcome is unknown, such as {op} of {}", history.label(txn));
            return inexpressible(format, what, USE_JSONL);
        }
    }
    for session in history.sessions() {
        let is_unknown = |it: &&TxnId| history.outcome(**it) == Outcome::Indeterminate;
        let txns = history.session_txns(session);
        if let Some(txn) = txns.iter().rev().skip(1).find(is_unknown) {
            let what = format!("a session that goes on after an unknown outcome, as after {}", history.label(*txn));
            return inexpressible(format, what, USE_JSONL);
        }
    }
    Ok(())
}

fn processes(history: &History) -> Vec<i64> {
    let number = |it: SessionId| {
        let name = history.session_name(it);
        name.parse::<i64>().ok().filter(|it| it.to_string() == name)
    };
    let by_name: Option<Vec<i64>> = history.sessions().map(number).collect();
    by_name.unwrap_or_else(|| (0..history.n_sessions() as u32).map(i64::from).collect())
}

/// Invocations and completions, by time where all are known, otherwise one transaction after the other.
fn moments(history: &History) -> Vec<(TxnId, Moment)> {
    let pairs = history.txns().flat_map(|it| [(it, Moment::Invocation), (it, Moment::Completion)]);
    let mut moments: Vec<(TxnId, Moment)> = pairs.collect();
    let time = |(txn, moment): (TxnId, Moment)| match moment {
        Moment::Invocation => history.begin(txn),
        Moment::Completion if history.outcome(txn) == Outcome::Indeterminate => Some(i64::MAX),
        Moment::Completion => history.end(txn),
    };
    let is_sequential = history.sessions().all(|session| {
        let times = history
            .session_txns(session)
            .iter()
            .flat_map(|it| [time((*it, Moment::Invocation)), time((*it, Moment::Completion))]);
        times.is_sorted()
    });
    if is_sequential && moments.iter().all(|it| time(*it).is_some()) {
        // Stable, so that what happened at the same time keeps its order.
        moments.sort_by_key(|it| time(*it));
    }
    moments
}

fn write_mops(
    history: &History,
    txn: TxnId,
    is_ok: bool,
    syntax: Syntax,
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    let comma = if syntax == Syntax::Edn { " " } else { "," };
    for (nth, op) in history.ops(txn).enumerate() {
        if nth > 0 {
            out.write_all(comma.as_bytes())?;
        }
        let op = history.op(op);
        let name = match op {
            Op::Read { .. } | Op::ReadList { .. } | Op::Omit { .. } => "r",
            Op::Write { .. } => "w",
            Op::Append { .. } => "append",
        };
        match syntax {
            Syntax::Edn => write!(out, "[:{name} ")?,
            Syntax::Json => write!(out, "[\"{name}\",")?,
        }
        put(history.key_name(op.key()), syntax, out)?;
        out.write_all(comma.as_bytes())?;
        match op {
            Op::Read { .. } | Op::ReadList { .. } if !is_ok => put(Name::Null, syntax, out)?,
            Op::Read { value, .. } | Op::Write { value, .. } | Op::Append { value, .. } => {
                put(history.value(value), syntax, out)?;
            }
            Op::ReadList { values, .. } => {
                out.write_all(b"[")?;
                for (nth, value) in values.iter().enumerate() {
                    if nth > 0 {
                        out.write_all(comma.as_bytes())?;
                    }
                    put(history.value(*value), syntax, out)?;
                }
                out.write_all(b"]")?;
            }
            // Scans were refused before.
            Op::Omit { .. } => {}
        }
        out.write_all(b"]")?;
    }
    Ok(())
}

fn put(name: Name<'_>, syntax: Syntax, out: &mut dyn Write) -> io::Result<()> {
    match (name, syntax) {
        (Name::Null, Syntax::Edn) => out.write_all(b"nil"),
        // JSON's escapes are EDN's, too.
        _ => json::write_name(out, name),
    }
}

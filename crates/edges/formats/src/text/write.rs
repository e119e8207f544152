//! Writes our notation.

use super::read::is_name_symbol;
use crate::write::{Initials, WriteError};
use iso_history::{History, Name, Outcome, SessionId, TxnId};
use std::fmt::Write as _;
use std::io::Write;

/// Lines are broken where they would be longer.
const LINE_WIDTH: usize = 110;
/// Up to so many keys, each is given its initial value by name.
const FEW_KEYS: usize = 8;

pub(crate) fn write(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    write_init(history, out)?;
    for session in history.sessions() {
        write_session(history, session, out)?;
    }
    Ok(())
}

fn write_init(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    let mut line = String::from("init");
    if history.n_keys() <= FEW_KEYS {
        for key in history.keys().filter(|it| !history.is_list(*it)) {
            let initial = history.value(history.initial_value(key));
            if initial != Name::Null {
                let _ = write!(line, " {}={initial}", history.key_name(key));
            }
        }
        return end_init(&line, out);
    }
    let initials = Initials::new(history);
    if initials.default.as_name() != Name::Null {
        let _ = write!(line, " *={}", initials.default);
    }
    for (key, value) in &initials.exceptions {
        if line.len() > LINE_WIDTH {
            end_init(&line, out)?;
            line.truncate("init".len());
        }
        let _ = write!(line, " {}={}", history.key_name(*key), history.value(*value));
    }
    end_init(&line, out)
}

fn end_init(line: &str, out: &mut dyn Write) -> Result<(), WriteError> {
    if line.len() > "init".len() {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn write_session(history: &History, session: SessionId, out: &mut dyn Write) -> Result<(), WriteError> {
    let name = history.session_name(session);
    let is_bare = !name.is_empty() && name != "init" && name.chars().all(is_name_symbol);
    let label = if is_bare { format!("{name}:") } else { format!("{}:", quoted(name)) };
    let mut line = label.clone();
    for txn in history.session_txns(session) {
        let txn = render(history, *txn);
        if line.len() > label.len() && line.len() + txn.len() > LINE_WIDTH {
            writeln!(out, "{line}")?;
            line.clone_from(&label);
        }
        line.push(' ');
        line.push_str(&txn);
    }
    writeln!(out, "{line}")?;
    Ok(())
}

/// A text in quotes, whatever it is.
fn quoted(text: &str) -> String {
    let shown = Name::Text(text).to_string();
    if shown.starts_with('"') { shown } else { format!("\"{shown}\"") }
}

fn render(history: &History, txn: TxnId) -> String {
    let mut text = String::from("{ ");
    for op in history.ops(txn) {
        text.push_str(&history.render_op(op));
        text.push(' ');
    }
    text.push('}');
    text.push_str(match history.outcome(txn) {
        Outcome::Committed => "",
        Outcome::Aborted => " abort",
        Outcome::Indeterminate => " unknown",
    });
    let (begin, end) = (history.begin(txn), history.end(txn));
    if begin.is_some() || end.is_some() {
        let show = |it: Option<i64>| it.map(|it| it.to_string()).unwrap_or_default();
        let _ = write!(text, " @[{},{}]", show(begin), show(end));
    }
    text
}

//! A part in our own notation for people: sessions as lines, transactions in braces.

use crate::document::{Part, Transaction};
use iso_history::Datum;

/// Longer sessions get a line a transaction.
const MAX_LINE: usize = 100;

/// Should lines end in comments that say which transactions of the whole history they show?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comments {
    None,
    Names,
}

/// The part as a history file. Reading it gives the part back, names and order of transactions within sessions included.
pub(crate) fn notation(part: &Part, comments: Comments) -> String {
    let mut lines: Vec<(String, String)> = Vec::new();
    let initial: Vec<String> = part
        .initial
        .iter()
        .filter(|(_, value)| value != "-" && value != "[]")
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    if !initial.is_empty() {
        lines.push((format!("init {}", initial.join(" ")), String::new()));
    }
    for session in sessions(part) {
        lines.extend(session_lines(part, session));
    }
    let width = lines.iter().map(|it| it.0.chars().count()).max().unwrap_or(0).min(MAX_LINE);
    let mut text = String::new();
    for (line, names) in lines {
        text.push_str(&line);
        if comments == Comments::Names && !names.is_empty() {
            let padding = width.saturating_sub(line.chars().count());
            text += &format!("{:padding$}   # {names}", "");
        }
        text.push('\n');
    }
    text
}

/// The sessions of a part in the order of their first transactions.
pub(crate) fn sessions(part: &Part) -> Vec<&str> {
    let mut sessions: Vec<&str> = Vec::new();
    for txn in &part.transactions {
        if !sessions.contains(&txn.session.as_str()) {
            sessions.push(&txn.session);
        }
    }
    sessions
}

/// The lines of one session, each with the names of its transactions.
fn session_lines(part: &Part, session: &str) -> Vec<(String, String)> {
    let txns: Vec<&Transaction> = part.transactions.iter().filter(|it| it.session == session).collect();
    let name = Datum::text(session).to_string();
    let bodies: Vec<String> = txns.iter().map(|it| body(it)).collect();
    let whole = format!("{name}: {}", bodies.join(" "));
    if whole.chars().count() <= MAX_LINE {
        return vec![(whole, txns.iter().map(|it| comment(it)).collect::<Vec<_>>().join(", "))];
    }
    bodies.iter().zip(txns).map(|(body, txn)| (format!("{name}: {body}"), comment(txn))).collect()
}

fn body(txn: &Transaction) -> String {
    let mut body = if txn.ops.is_empty() { "{ }".to_owned() } else { format!("{{ {} }}", txn.ops.join(" ")) };
    if let Some(mark) = txn.outcome.mark() {
        body.push(' ');
        body.push_str(mark);
    }
    if let Some(times) = times(txn) {
        body.push(' ');
        body.push_str(&times);
    }
    body
}

/// `@[10,25]`, with nothing in the place of a time that is not known.
pub(crate) fn times(txn: &Transaction) -> Option<String> {
    let (begin, end) = txn.times?;
    let side = |it: Option<i64>| it.map(|it| it.to_string()).unwrap_or_default();
    Some(format!("@[{},{}]", side(begin), side(end)))
}

fn comment(txn: &Transaction) -> String {
    let name = Datum::text(txn.id.as_str()).to_string();
    match txn.place.as_ref().and_then(crate::Place::position) {
        Some(position) => format!("{name} {position}"),
        None => name,
    }
}

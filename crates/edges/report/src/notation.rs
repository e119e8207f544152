//! An excerpt in our own notation for people: sessions as lines, transactions in braces.

use crate::document::{Excerpt, Transaction};
use crate::value::{OpKind, Operation};
use crate::words::harmless;
use iso_history::{Datum, clipped};

/// Longer sessions get a line a transaction.
const MAX_LINE: usize = 100;

/// A longer operation is cut where people read it.
const MAX_SHOWN: usize = 1000;

/// Should lines end in comments that say which transactions of the whole history they show?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comments {
    None,
    Names,
}

/// The excerpt as a history file. Reading it gives the excerpt back, names and order of transactions within sessions included.
pub(crate) fn notation(excerpt: &Excerpt, comments: Comments) -> String {
    let mut lines: Vec<(String, String)> = Vec::new();
    let initial: Vec<String> =
        excerpt.initial.iter().filter(|it| it.is_given()).map(|it| format!("{}={}", it.key, it.value)).collect();
    if !initial.is_empty() {
        lines.push((format!("init {}", initial.join(" ")), String::new()));
    }
    for session in sessions(excerpt) {
        lines.extend(session_lines(excerpt, session, comments));
    }
    let width =
        lines.iter().filter(|it| !it.1.is_empty()).map(|it| it.0.chars().count()).max().unwrap_or(0).min(MAX_LINE);
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

/// The sessions of an excerpt in the order of their first transactions.
pub(crate) fn sessions(excerpt: &Excerpt) -> Vec<&str> {
    let mut sessions: Vec<&str> = Vec::new();
    for txn in &excerpt.transactions {
        if !sessions.contains(&txn.session.as_str()) {
            sessions.push(&txn.session);
        }
    }
    sessions
}

/// The lines of one session, each with the names of its transactions.
fn session_lines(excerpt: &Excerpt, session: &str, comments: Comments) -> Vec<(String, String)> {
    let txns: Vec<&Transaction> = excerpt.transactions.iter().filter(|it| it.session == session).collect();
    let name = session_name(session);
    let bodies: Vec<String> = txns.iter().map(|it| body(it, comments)).collect();
    let whole = format!("{name}: {}", bodies.join(" "));
    if whole.chars().count() <= MAX_LINE {
        return vec![(whole, comment(&txns))];
    }
    bodies.iter().zip(txns).map(|(body, txn)| (format!("{name}: {body}"), comment(&[txn]))).collect()
}

/// Names of sessions are free, but for what the notation or a screen would misread: that stands in quotes.
fn session_name(name: &str) -> String {
    let is_free = |it: char| !it.is_whitespace() && !it.is_control() && !matches!(it, ':' | '{' | '}' | '#' | '"');
    let is_bare = !name.is_empty() && name != "init" && name.chars().all(is_free) && harmless(name) == name;
    let quoted = Datum::text(name).to_string();
    if is_bare {
        name.to_owned()
    } else if quoted.starts_with('"') {
        quoted
    } else {
        format!("\"{quoted}\"")
    }
}

fn body(txn: &Transaction, comments: Comments) -> String {
    let mut body = "{".to_owned();
    for statement in txn.ops.chunk_by(|a, b| a.statement.is_some() && a.statement == b.statement) {
        body += &format!(" {}", of_statement(statement, comments));
    }
    body += " }";
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

/// `r(x,1)`, `u(x,1,2)`, or `[ r(x,1) r(y,2) ]`.
fn of_statement(ops: &[Operation], comments: Comments) -> String {
    if let [read, write] = ops
        && (read.kind, write.kind) == (OpKind::Read, OpKind::Write)
        && read.key == write.key
    {
        return format!("u({},{},{})", read.key, read.value, write.value);
    }
    let shown = |op: &Operation| {
        let op = op.to_string();
        // What has comments is for people, who read no book here; the document has all of it.
        let is_cut = comments == Comments::Names && op.len() > MAX_SHOWN;
        if is_cut { clipped(&op).into_owned() } else { op }
    };
    let all: Vec<String> = ops.iter().map(shown).collect();
    if ops.len() == 1 { all.concat() } else { format!("[ {} ]", all.join(" ")) }
}

/// `@[10,25]`, with nothing in the place of a time that is not known.
pub(crate) fn times(txn: &Transaction) -> Option<String> {
    let (begin, end) = txn.times?;
    let side = |it: Option<i64>| it.map(|it| it.to_string()).unwrap_or_default();
    Some(format!("@[{},{}]", side(begin), side(end)))
}

/// `s1.1 (line 3), s1.2 (line 7)`; a place that all of them share is named once.
fn comment(txns: &[&Transaction]) -> String {
    let name = |txn: &Transaction| harmless(&txn.id);
    let places: Vec<String> = txns
        .iter()
        .map(|it| it.place.as_ref().and_then(crate::Place::position).map(|it| format!(" ({it})")).unwrap_or_default())
        .collect();
    if places.windows(2).all(|it| it[0] == it[1]) {
        let names: Vec<String> = txns.iter().map(|it| name(it)).collect();
        return names.join(", ") + places.first().map_or("", String::as_str);
    }
    txns.iter().zip(places).map(|(txn, place)| name(txn) + &place).collect::<Vec<_>>().join(", ")
}

//! Writes our notation.

use super::read::is_name_symbol;
use crate::RecordedDatabase;
use crate::layout::{Item, layout, part_of, returned_rows};
use crate::ops::explicit_table;
use crate::write::{Initials, Said, WriteError};
use iso_history::{History, KeyId, Locking, Name, Op, OpId, Outcome, Scan, SessionId, TxnId, ValueId};
use std::fmt::{self, Write as _};
use std::io::Write;

/// Lines are broken where they would be longer.
const LINE_WIDTH: usize = 110;
/// Up to so many keys, each is given its initial value by name.
const FEW_KEYS: usize = 8;

pub(crate) fn write(
    history: &History,
    database: Option<&RecordedDatabase>,
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    let said = Said::new(history);
    if let Some(database) = database {
        writeln!(out, "# database: {database}")?;
    }
    write_init(history, &said, out)?;
    for session in history.sessions() {
        write_session(history, &said, session, out)?;
    }
    Ok(())
}

fn write_init(history: &History, said: &Said<'_>, out: &mut dyn Write) -> Result<(), WriteError> {
    let mut line = String::from("init");
    if history.n_keys() <= FEW_KEYS {
        for key in history.keys().filter(|it| !history.is_list(*it)) {
            let initial = history.initial_value(key);
            if history.value(initial) != Name::Null {
                let _ = write!(line, " {}", Initial { history, said, key, value: initial });
            }
        }
        return end_init(&line, out);
    }
    let initials = Initials::new(history, said);
    if initials.default.as_name() != Name::Null {
        let _ = write!(line, " *={}", initials.default);
    }
    for (key, value) in &initials.exceptions {
        if line.len() > LINE_WIDTH {
            end_init(&line, out)?;
            line.truncate("init".len());
        }
        let _ = write!(line, " {}", Initial { history, said, key: *key, value: *value });
    }
    end_init(&line, out)
}

/// `x=0`, with what is said of that version.
struct Initial<'i, 'h> {
    history: &'h History,
    said: &'i Said<'h>,
    key: KeyId,
    value: ValueId,
}

impl fmt::Display for Initial<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.history.key_name(self.key), self.history.value(self.value))?;
        f.write_str(&matches(self.said, self.key, self.value))
    }
}

/// Which foreign predicates a version matches, behind it.
fn matches(said: &Said<'_>, key: KeyId, value: ValueId) -> String {
    match said.of(key, value) {
        [] => String::new(),
        foreign => {
            let foreign: Vec<String> = foreign.iter().map(|it| quoted(it)).collect();
            format!(" matches {}", foreign.join(" and "))
        }
    }
}

fn end_init(line: &str, out: &mut dyn Write) -> Result<(), WriteError> {
    if line.len() > "init".len() {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn write_session(
    history: &History,
    said: &Said<'_>,
    session: SessionId,
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    let name = history.session_name(session);
    let is_bare = !name.is_empty() && name != "init" && name.chars().all(is_name_symbol);
    let label = if is_bare { format!("{name}:") } else { format!("{}:", quoted(name)) };
    let mut line = label.clone();
    for txn in history.session_txns(session) {
        let txn = render(history, said, *txn);
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

fn render(history: &History, said: &Said<'_>, txn: TxnId) -> String {
    let mut text = String::from("{ ");
    let ops = Ops { history, said };
    if history.has_statements() {
        for item in layout(history, txn) {
            ops.item(&item, &mut text);
        }
    } else {
        for op in history.ops(txn) {
            ops.op(op, &mut text);
        }
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

/// Writes operations, each with a space behind it.
struct Ops<'i, 'h> {
    history: &'h History,
    said: &'i Said<'h>,
}

impl Ops<'_, '_> {
    fn item(&self, item: &Item, text: &mut String) {
        match item {
            Item::Op(op, _) => self.op(*op, text),
            Item::Update(read, write) => self.update(*read, *write, text),
            Item::Scan(scan, _) => self.scan(&self.history.scan(*scan), text),
            Item::Statement(items, _) => {
                text.push_str("[ ");
                for item in items {
                    self.item(item, text);
                }
                text.push_str("] ");
            }
        }
        if item.locking() == Locking::ForUpdate {
            text.push_str("for update ");
        }
    }

    fn op(&self, op: OpId, text: &mut String) {
        let history = self.history;
        let (name, value) = (|it: KeyId| history.key_name(it), |it: ValueId| history.value(it));
        // Writing to memory does not fail.
        let _ = match (history.op(op), part_of(history, op)) {
            (Op::Read { key, value: read }, Some(Scan { table, predicate, .. })) => {
                let table = Name::Text(table);
                write!(text, "scan({table}, {predicate}, {{{}={}, ..}}) ", name(key), value(read))
            }
            (Op::Omit { key, .. }, Some(Scan { table, predicate, .. })) => {
                let table = explicit_table(table, name(key)).map(|it| format!("{it}, ")).unwrap_or_default();
                write!(text, "omit({table}{}, {predicate}) ", name(key))
            }
            (Op::Read { key, value: read }, None) => write!(text, "r({},{}) ", name(key), value(read)),
            (Op::Write { key, value: written }, _) => {
                write!(text, "w({},{}){} ", name(key), value(written), matches(self.said, key, written))
            }
            (Op::Append { key, value: appended }, _) => write!(text, "append({},{}) ", name(key), value(appended)),
            (Op::ReadList { key, values }, _) => {
                let elements: Vec<String> = values.iter().map(|it| value(*it).to_string()).collect();
                write!(text, "r({},[{}]) ", name(key), elements.join(","))
            }
            // What a whole scan omitted is not written: it follows from the rest.
            (Op::Omit { .. }, None) => Ok(()),
        };
    }

    fn update(&self, read: OpId, write: OpId, text: &mut String) {
        let (Op::Read { key, value: old }, Op::Write { value: new, .. }) =
            (self.history.op(read), self.history.op(write))
        else {
            return;
        };
        let (name, old) = (self.history.key_name(key), self.history.value(old));
        let _ = write!(text, "u({name},{old},{}){} ", self.history.value(new), matches(self.said, key, new));
    }

    fn scan(&self, scan: &Scan<'_>, text: &mut String) {
        let row = |(key, value)| format!("{}={}", self.history.key_name(key), self.history.value(value));
        let rows: Vec<String> = returned_rows(self.history, scan).map(row).collect();
        let _ = write!(text, "scan({}, {}, {{{}}}) ", Name::Text(scan.table), scan.predicate, rows.join(", "));
    }
}

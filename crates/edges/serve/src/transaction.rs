//! A transaction while it happens: its statements, and what is left of them when a part is rolled back.

use crate::analyse::{Action, Asked, Limit, Plan};
use crate::catalogue::{Catalogue, LARGEST_SCAN};
use crate::condition::{Parameter, Template};
use crate::row::{Node, parse, plain, table_row};
use iso_history::{Column, Comparison, Datum, Locking, Name, Predicate};
use std::collections::HashSet;

/// A row that was seen, and the transaction of the database that wrote it, where that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) key: String,
    pub(crate) value: Datum,
    pub(crate) writer: Option<u32>,
}

/// An operation as a history has it. No row is [`Datum::Null`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Read(Seen),
    Write { key: String, value: Datum },
    Update { key: String, old: Datum, new: Datum },
    Scan { table: String, predicate: Predicate, rows: Vec<Seen> },
}

impl Operation {
    /// The keys that it mentions.
    pub(crate) fn keys(&self) -> Vec<&String> {
        match self {
            Self::Read(seen) => vec![&seen.key],
            Self::Write { key, .. } | Self::Update { key, .. } => vec![key],
            Self::Scan { rows, .. } => rows.iter().map(|it| &it.key).collect(),
        }
    }
}

/// What one statement did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) operations: Vec<Operation>,
    pub(crate) locking: Locking,
    /// What was in rows before they were written, and when.
    pub(crate) before: Vec<Touched>,
    /// What the application said.
    pub(crate) sql: Option<String>,
}

/// What a row held when it was written anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touched {
    pub(crate) key: String,
    pub(crate) stamp: i64,
    /// No row is [`Datum::Null`].
    pub(crate) old: Datum,
}

/// A transaction that has begun.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) begin: i64,
    pub(crate) statements: Vec<Done>,
    /// Names of savepoints, and how many statements there were before them.
    savepoints: Vec<(String, usize)>,
    pub(crate) level: &'static str,
    pub(crate) block: Block,
    pub(crate) has_failed: bool,
    /// It may have ended on its own and begun again.
    pub(crate) is_opaque: bool,
    pub(crate) defines: bool,
}

/// Who ends a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// The end of the request.
    Implicit,
    /// COMMIT or ROLLBACK.
    Explicit,
}

impl Open {
    pub(crate) fn new(begin: i64, level: &'static str) -> Self {
        Self {
            begin,
            statements: Vec::new(),
            savepoints: Vec::new(),
            level,
            block: Block::Implicit,
            has_failed: false,
            is_opaque: false,
            defines: false,
        }
    }

    pub(crate) fn save(&mut self, name: String) {
        self.savepoints.push((name, self.statements.len()));
    }

    pub(crate) fn release(&mut self, name: &str) {
        if let Some(nth) = self.savepoints.iter().rposition(|it| it.0 == name) {
            self.savepoints.truncate(nth);
        }
    }

    /// Takes back what was written since a savepoint, and forgets reads that may have seen it.
    pub(crate) fn roll_back_to(&mut self, name: &str) {
        let Some(nth) = self.savepoints.iter().rposition(|it| it.0 == name) else { return };
        self.savepoints.truncate(nth + 1);
        let undone = self.statements.split_off(self.savepoints[nth].1);
        let mut gone: HashSet<String> = HashSet::new();
        for mut done in undone {
            let written: Vec<String> = done.operations.iter().filter_map(written_key).map(str::to_owned).collect();
            let mut left = Vec::new();
            let Done { operations, .. } = &mut done;
            for operation in std::mem::take(operations) {
                keep_reads(operation, &gone, &mut left);
            }
            gone.extend(written);
            if !left.is_empty() {
                self.statements.push(Done { operations: left, ..done });
            }
        }
    }
}

fn written_key(operation: &Operation) -> Option<&str> {
    match operation {
        Operation::Write { key, .. } | Operation::Update { key, .. } => Some(key),
        Operation::Read(_) | Operation::Scan { .. } => None,
    }
}

/// What is left of an operation whose writes were taken back, when these keys had been written before.
fn keep_reads(operation: Operation, gone: &HashSet<String>, left: &mut Vec<Operation>) {
    match operation {
        Operation::Write { .. } => {}
        Operation::Read(seen) if gone.contains(&seen.key) => {}
        Operation::Update { key, old, .. } => {
            if !gone.contains(&key) {
                left.push(Operation::Read(Seen { key, value: old, writer: None }));
            }
        }
        Operation::Scan { ref table, rows, .. } if gone.iter().any(|it| it.split('/').next() == Some(table)) => {
            left.extend(rows.into_iter().filter(|it| !gone.contains(&it.key)).map(Operation::Read));
        }
        whole @ (Operation::Read(_) | Operation::Scan { .. }) => left.push(whole),
    }
}

/// A row that was written, as a trigger tells it.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) table: u32,
    pub(crate) stamp: i64,
    pub(crate) old: Option<(String, Datum)>,
    pub(crate) new: Option<(String, Datum)>,
    /// How the database spells the new row, if it was asked to say that.
    pub(crate) spelled: Option<String>,
}

/// What the engine says about a statement.
#[derive(Clone, Debug)]
pub(crate) enum Tale {
    Wrote(Box<Written>),
    Read(Vec<Seen>),
}

/// Understands what a trigger or a subquery tells; none if it makes no sense.
pub(crate) fn tale(text: &str, catalogue: &Catalogue) -> Option<Tale> {
    let Node::Array(mut items, _) = parse(text)? else { return None };
    if items.first() != Some(&Node::Text("w".into())) {
        let mut rows = Vec::new();
        for item in items {
            rows.extend(seen_rows(item, catalogue)?);
        }
        return Some(Tale::Read(rows));
    }
    let spelled = if items.len() > 5 { items.pop() } else { None };
    let spelled = if let Some(Node::Text(text)) = spelled { Some(text.into_owned()) } else { None };
    let (new, old, stamp, oid) = (items.pop()?, items.pop()?, items.pop()?, items.pop()?);
    let (Node::Number(oid), Node::Number(stamp)) = (oid, stamp) else { return None };
    let table = catalogue.by_oid(oid.parse().ok()?)?;
    let row = |node: Node<'_>| match node {
        Node::Null => Some(None),
        other => table_row(other, &table.key).map(|it| Some((format!("{}/{}", table.shown, it.name), it.value))),
    };
    let (old, new, stamp) = (row(old)?, row(new)?, stamp.parse().ok()?);
    Some(Tale::Wrote(Box::new(Written { table: table.oid, stamp, old, new, spelled })))
}

/// The rows that a column or an item of a message tells.
pub(crate) fn seen_rows(node: Node<'_>, catalogue: &Catalogue) -> Option<Vec<Seen>> {
    let Node::Array(items, _) = node else { return None };
    let row = |item: Node<'_>| {
        let Node::Array(mut parts, _) = item else { return None };
        let (row, writer, oid) = (parts.pop()?, parts.pop()?, parts.pop()?);
        let (Node::Number(oid), Node::Text(writer)) = (oid, writer) else { return None };
        let table = catalogue.by_oid(oid.parse().ok()?)?;
        let row = table_row(row, &table.key)?;
        let key = format!("{}/{}", table.shown, row.name);
        Some(Seen { key, value: row.value, writer: writer.parse().ok() })
    };
    items.into_iter().filter(|it| *it != Node::Null).map(row).collect()
}

/// A statement that runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running {
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) rows: Vec<Seen>,
    /// So many rows went to the client.
    pub(crate) n_rows: usize,
    pub(crate) written: Vec<Written>,
    /// Something that was told made no sense.
    pub(crate) is_garbled: bool,
}

/// Why reads of a statement are missing, where they are.
pub(crate) type Missing = Option<&'static str>;

impl Running {
    /// What a statement did that ended well.
    pub(crate) fn done(self, plan: &Plan) -> (Done, Missing) {
        let before = touched(&self.written);
        let sql = Some(said(&plan.text, &self.parameters));
        let (done, missing) = self.operations(plan);
        (Done { before, sql, ..done }, missing)
    }

    fn operations(self, plan: &Plan) -> (Done, Missing) {
        let missing = plan.missing.or(self.is_garbled.then_some("rows came that were not understood"));
        match &plan.action {
            Action::Read(reading) => {
                let rows = distinct(self.rows);
                if rows.len() > LARGEST_SCAN {
                    let nothing = free(Vec::new());
                    return (nothing, Some("more rows were read than a history should have"));
                }
                let is_whole = match reading.limit {
                    Limit::None => true,
                    // No more than one row has a whole key.
                    Limit::Rows(n) => self.n_rows < n || n > 0 && is_by_key(reading.asked.as_ref(), &self.parameters),
                    Limit::Unknown => false,
                };
                let whole = reading.asked.as_ref().filter(|_| is_whole && !self.is_garbled);
                let (mut operations, is_told) = found(whole, &self.parameters, rows);
                operations.extend(self.written.into_iter().flat_map(changes));
                let open =
                    "rows that did not match are not recorded: the condition, a join or a limit leaves them open";
                (Done { locking: reading.locking, ..free(operations) }, missing.or((!is_told).then_some(open)))
            }
            Action::Change(asked, _) => (change(asked, &self.parameters, self.written), missing),
            _ => (free(self.written.into_iter().flat_map(changes).collect()), missing),
        }
    }

    /// What a statement wrote that failed.
    pub(crate) fn failed(self) -> Done {
        wrote(self.written)
    }
}

/// Rows that were written, and nothing else.
pub(crate) fn wrote(written: Vec<Written>) -> Done {
    let before = touched(&written);
    Done { before, ..free(written.into_iter().flat_map(changes).collect()) }
}

pub(crate) fn free(operations: Vec<Operation>) -> Done {
    Done { operations, locking: Locking::Free, before: Vec::new(), sql: None }
}

/// Longer texts are cut in a history.
const LONGEST_SQL: usize = 600;

/// A statement in one line, with its parameters as far as they are known.
fn said(sql: &str, parameters: &[Parameter]) -> String {
    let mut text = sql.split_whitespace().collect::<Vec<&str>>().join(" ");
    let value = |(nth, parameter): (usize, &Parameter)| {
        let known = parameter.as_deref().unwrap_or("?");
        let short: String = known.chars().take(60).collect();
        let more = if short.len() < known.len() { ".." } else { "" };
        format!("${} = {short}{more}", nth + 1)
    };
    if !parameters.is_empty() {
        text += " -- ";
        text += &parameters.iter().enumerate().map(value).collect::<Vec<String>>().join(", ");
    }
    if text.chars().count() > LONGEST_SQL {
        text = text.chars().take(LONGEST_SQL).chain("..".chars()).collect();
    }
    text
}

/// What rows held before, by the keys under which they are known then or later.
fn touched(written: &[Written]) -> Vec<Touched> {
    let mut found = Vec::new();
    for one in written {
        let (old, stamp) = (one.old.as_ref(), one.stamp);
        if let Some((key, value)) = old {
            found.push(Touched { key: key.clone(), stamp, old: value.clone() });
        }
        if let Some((key, _)) = one.new.as_ref().filter(|new| old.is_none_or(|old| old.0 != new.0)) {
            found.push(Touched { key: key.clone(), stamp, old: Datum::Null });
        }
    }
    found
}

fn distinct(rows: Vec<Seen>) -> Vec<Seen> {
    let mut known = HashSet::new();
    rows.into_iter().filter(|it| known.insert(it.key.clone())).collect()
}

/// Reads of rows, or a scan if it is known what was asked for. Says whether it is.
fn found(asked: Option<&Asked>, parameters: &[Parameter], rows: Vec<Seen>) -> (Vec<Operation>, bool) {
    let condition = asked.and_then(|it| Some((it, predicate_of(it.condition.as_ref(), parameters)?)));
    let Some((asked, predicate)) = condition.filter(|it| rows.iter().all(|row| matches(&it.1, &row.key, &row.value)))
    else {
        return (rows.into_iter().map(Operation::Read).collect(), false);
    };
    let table = &asked.table.shown;
    if let Some(name) = only_row(&predicate, &asked.table.key) {
        let nothing = || Seen { key: format!("{table}/{name}"), value: Datum::Null, writer: None };
        return (vec![Operation::Read(rows.into_iter().next().unwrap_or_else(nothing))], true);
    }
    (vec![Operation::Scan { table: table.clone(), predicate, rows }], true)
}

/// Is one row asked for, by its whole key?
fn is_by_key(asked: Option<&Asked>, parameters: &[Parameter]) -> bool {
    let predicate = asked.and_then(|it| Some((it, predicate_of(it.condition.as_ref(), parameters)?)));
    predicate.is_some_and(|(it, predicate)| only_row(&predicate, &it.table.key).is_some())
}

pub(crate) fn predicate_of(condition: Option<&Template>, parameters: &[Parameter]) -> Option<Predicate> {
    condition?.predicate(parameters)
}

fn matches(predicate: &Predicate, key: &str, value: &Datum) -> bool {
    let name = key.split_once('/').map_or(key, |it| it.1);
    let name = name.parse().map_or(Name::Text(name), Name::Int);
    predicate.matches(name, value.as_name(), &|_| false)
}

/// The row that a predicate asks for, if it asks for one by its whole key.
pub(crate) fn only_row(predicate: &Predicate, key: &[String]) -> Option<String> {
    fn equalities<'p>(predicate: &'p Predicate, found: &mut Vec<(Option<&'p str>, &'p Datum)>) -> Option<()> {
        match predicate {
            Predicate::Compare(column, Comparison::Equal, datum) => {
                let name = match column {
                    Column::Key => None,
                    Column::Named(name) => Some(&**name),
                };
                found.push((name, datum));
                Some(())
            }
            Predicate::And(parts) => parts.iter().try_for_each(|it| equalities(it, found)),
            _ => None,
        }
    }
    let mut found = Vec::new();
    equalities(predicate, &mut found)?;
    if found.len() != key.len() {
        return None;
    }
    let part = |column: &String| {
        let is_it = |it: &&(Option<&str>, &Datum)| it.0.map_or(key.len() == 1, |name| name == column);
        // Other numbers may be spelled in several ways.
        found.iter().find(is_it).map(|it| it.1).filter(|it| !matches!(it, Datum::Number(_))).map(plain)
    };
    key.iter().map(part).collect::<Option<Vec<String>>>().map(|it| it.join(","))
}

/// What UPDATE or DELETE found and did.
fn change(asked: &Asked, parameters: &[Parameter], written: Vec<Written>) -> Done {
    let Some(predicate) = predicate_of(asked.condition.as_ref(), parameters) else {
        return free(written.into_iter().flat_map(changes).collect());
    };
    // Rows that changed because of others do not match by themselves.
    let is_own = |it: &Written| {
        it.table == asked.table.oid && it.old.as_ref().is_some_and(|old| matches(&predicate, &old.0, &old.1))
    };
    let (own, others): (Vec<Written>, Vec<Written>) = written.into_iter().partition(is_own);
    let table = &asked.table.shown;
    let locking = if own.is_empty() { Locking::ForUpdate } else { Locking::Free };
    let mut operations = Vec::new();
    match only_row(&predicate, &asked.table.key) {
        Some(name) if own.is_empty() => {
            operations.push(Operation::Read(Seen { key: format!("{table}/{name}"), value: Datum::Null, writer: None }));
        }
        Some(_) => operations.extend(own.into_iter().flat_map(changes)),
        None => {
            let old = own.iter().filter_map(|it| it.old.clone());
            let rows = old.map(|(key, value)| Seen { key, value, writer: None }).collect();
            operations.push(Operation::Scan { table: table.clone(), predicate, rows });
            operations.extend(own.into_iter().flat_map(changes).map(|it| match it {
                Operation::Update { key, new, .. } => Operation::Write { key, value: new },
                other => other,
            }));
        }
    }
    operations.extend(others.into_iter().flat_map(changes));
    Done { locking, ..free(operations) }
}

/// A row that was written, as operations: two if its key has changed.
pub(crate) fn changes(written: Written) -> Vec<Operation> {
    match (written.old, written.new) {
        (None, None) => Vec::new(),
        (None, Some((key, value))) => vec![Operation::Write { key, value }],
        (Some((key, old)), None) => vec![Operation::Update { key, old, new: Datum::Null }],
        (Some((key, old)), Some((new_key, new))) if key == new_key => vec![Operation::Update { key, old, new }],
        (Some((key, old)), Some((new_key, new))) => {
            vec![Operation::Update { key, old, new: Datum::Null }, Operation::Write { key: new_key, value: new }]
        }
    }
}

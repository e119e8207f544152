//! A part of a recorded history as a script: its transactions, and their operations in an order that may have been the
//! real one.

use crate::answered::key_is;
use crate::script::{Action, Script, ScriptStep};
use crate::{Table, Value};
use iso_evidence::Refutation;
use iso_history::{History, KeyId, Locking, Name, Op, OpId, Predicate, Statement, TxnId, ValueId};
use std::cmp::Reverse;
use std::collections::BTreeSet;

const REGISTERS: &str = "kv";
const LISTS: &str = "lists";
/// More transactions are no scenario that a person reads.
const MAX_TXNS: usize = 8;
const MAX_STEPS: usize = 60;
/// How many transactions are looked at that ran at the same time.
const MAX_BYSTANDERS: usize = 6;

/// Scripts that may show again what a refutation blames, smallest first: its operations alone, these with one of those
/// who wrote the same keys meanwhile, and its transactions as they were.
pub(super) fn scenarios(history: &History, refutation: &Refutation, isolation: &str) -> Vec<Script> {
    let txns: BTreeSet<TxnId> = refutation.txns.iter().copied().filter(|it| !it.is_initial()).collect();
    let keys: BTreeSet<KeyId> = refutation.ops.iter().map(|it| history.op(*it).key()).collect();
    let bystanders = bystanders(history, &keys, &txns);
    let mut parts = vec![script(history, &txns, isolation, &|op| refutation.ops.contains(&op))];
    for bystander in &bystanders {
        let with_one = txns.iter().chain([bystander]).copied().collect();
        // Any of its first operations may have taken the snapshot of a transaction of the part.
        let stays = |op| txns.contains(&history.txn_of(op)) || keys.contains(&history.op(op).key());
        parts.push(script(history, &with_one, isolation, &stays));
    }
    parts.push(script(history, &txns, isolation, &|_| true));
    let with_some = txns.iter().chain(bystanders.iter().take(2)).copied().collect();
    parts.push(script(history, &with_some, isolation, &|_| true));
    let mut scripts: Vec<Script> = Vec::new();
    for script in parts.into_iter().flatten().filter(|it| it.steps.len() <= MAX_STEPS) {
        if !scripts.contains(&script) {
            scripts.push(script);
        }
    }
    scripts
}

/// Others that wrote keys of the part while it ran, the most suspicious ones.
fn bystanders(history: &History, keys: &BTreeSet<KeyId>, txns: &BTreeSet<TxnId>) -> Vec<TxnId> {
    let writes_them =
        |txn: TxnId| history.ops(txn).map(|it| history.op(it)).any(|it| it.is_write() && keys.contains(&it.key()));
    let overlaps = |one: TxnId, other: TxnId| {
        !history.is_real_time_ordered(one, other) && !history.is_real_time_ordered(other, one)
    };
    let ran_meanwhile = |txn: TxnId| txns.iter().any(|it| overlaps(*it, txn));
    let others = history.txns().filter(|it| !it.is_initial() && !txns.contains(it));
    let mut found: Vec<TxnId> = others.filter(|it| writes_them(*it) && ran_meanwhile(*it)).collect();
    // Who wrote the same value is the first to be suspected.
    let writes: Vec<Op<'_>> =
        txns.iter().flat_map(|it| history.ops(*it)).map(|it| history.op(it)).filter(|it| it.is_write()).collect();
    let agrees = |txn: TxnId| history.ops(txn).any(|it| writes.contains(&history.op(it)));
    found.sort_by_key(|it| (!agrees(*it), Reverse(history.begin(*it))));
    found.truncate(MAX_BYSTANDERS);
    found
}

/// The script of some transactions; none if it would be too large or has what no script has.
fn script(history: &History, txns: &BTreeSet<TxnId>, isolation: &str, stays: &dyn Fn(OpId) -> bool) -> Option<Script> {
    if txns.is_empty() || txns.len() > MAX_TXNS {
        return None;
    }
    let mut part = SessionPart { history, keys: Vec::new(), sessions: Vec::new() };
    let mut steps: Vec<(i64, ScriptStep)> = Vec::new();
    for (nth, txn) in txns.iter().enumerate() {
        steps.extend(part.steps(*txn, nth, isolation, stays)?);
    }
    // The sort keeps what a transaction does in its order.
    steps.sort_by_key(|it| it.0);
    let steps: Vec<ScriptStep> = steps.into_iter().map(|it| it.1).collect();
    let (mut tables, rows) = part.state(txns);
    tables.extend(tables_of_rows(&steps, &rows));
    tables.retain(|it| is_used(&it.name, &steps));
    Some(Script { tables, rows, steps })
}

/// The tables that the history names. Those of workloads have numbers.
fn tables_of_rows(steps: &[ScriptStep], rows: &[(String, String, Value)]) -> Vec<Table> {
    let names = steps.iter().filter_map(|it| it.action.table()).filter(|it| ![REGISTERS, LISTS].contains(it));
    let names: BTreeSet<&str> = names.collect();
    let is_numbered = |name: &str| {
        let touched = steps.iter().filter_map(|it| it.action.row()).filter(|it| it.0 == name).map(|it| it.1);
        let rows = rows.iter().filter(|it| it.0 == name).map(|it| it.1.clone());
        touched.chain(rows).all(|it| it.parse::<i64>().is_ok())
    };
    let table = |name: &str| {
        let table = Table::of_ints(name);
        if is_numbered(name) { table.numbered() } else { table }
    };
    names.into_iter().map(table).collect()
}

fn is_used(table: &str, steps: &[ScriptStep]) -> bool {
    steps.iter().any(|it| it.action.table() == Some(table))
}

struct SessionPart<'h> {
    history: &'h History,
    /// In the order in which they are named.
    keys: Vec<KeyId>,
    sessions: Vec<String>,
}

impl SessionPart<'_> {
    /// What a transaction does, with when: what is between its begin and its end is thought to be spread evenly.
    fn steps(
        &mut self,
        txn: TxnId,
        nth: usize,
        isolation: &str,
        stays: &dyn Fn(OpId) -> bool,
    ) -> Option<Vec<(i64, ScriptStep)>> {
        let mut actions = vec![Action::Begin { isolation: isolation.to_owned() }];
        let mut last = None;
        for op in self.history.ops(txn).filter(|it| stays(*it)) {
            let statement = self.history.statement_of(op);
            if last != Some(statement) {
                actions.push(self.action(op, statement)?);
            }
            last = Some(statement);
        }
        let is_aborted = self.history.outcome(txn) == iso_history::Outcome::Aborted;
        actions.push(if is_aborted { Action::Abort } else { Action::Commit });
        let session = self.session(txn);
        // Without times, one transaction comes after the other.
        let begin = self.history.begin(txn).unwrap_or(nth as i64);
        let end = self.history.end(txn).unwrap_or(begin);
        let pause = (end - begin) / actions.len() as i64;
        let timed = actions.into_iter().enumerate();
        Some(
            timed
                .map(|(idx, action)| (begin + pause * idx as i64, ScriptStep::alone(session.clone(), action)))
                .collect(),
        )
    }

    fn session(&mut self, txn: TxnId) -> String {
        let name = self.history.session_of(txn).map_or("", |it| self.history.session_name(it));
        let idx = self.sessions.iter().position(|it| it == name).unwrap_or_else(|| {
            self.sessions.push(name.to_owned());
            self.sessions.len() - 1
        });
        format!("s{}", idx + 1)
    }

    /// The step of a statement, of which an operation is one.
    fn action(&mut self, op: OpId, statement: Statement) -> Option<Action> {
        let scan = self.history.scan_of(op);
        if scan.is_some() || statement.ops().len() > 1 || statement.locking == Locking::ForUpdate {
            return self.statement_action(statement);
        }
        let (table, row) = self.place(self.history.op(op).key());
        Some(match self.history.op(op) {
            Op::Read { .. } | Op::ReadList { .. } => Action::Get { table, row },
            Op::Omit { .. } => return self.statement_action(statement),
            Op::Write { value, .. } => match self.history.value(value) {
                Name::Null => Action::Delete { table, predicate: key_is(&row) },
                _ if self.history.has_scans() => Action::Insert { table, row, value: self.value(value)? },
                _ => Action::Put { table, row, value: self.value(value)? },
            },
            Op::Append { value, .. } => match self.value(value)? {
                Value::Int(element) => Action::Append { table, row, element },
                Value::Text(_) => return None,
            },
        })
    }

    /// The step of a statement that is a scan, locks, or has several operations.
    fn statement_action(&mut self, statement: Statement) -> Option<Action> {
        let history = self.history;
        let (table, predicate) = self.asked_for(statement)?;
        let written = statement.ops().find_map(|it| match history.op(it) {
            Op::Write { key, value } => Some((key, value)),
            _ => None,
        });
        let Some((key, new)) = written else {
            return Some(Action::Scan { table, predicate, locking: statement.locking });
        };
        let old = statement.ops().find_map(|it| match history.op(it) {
            Op::Read { key: read, value } if read == key => Some(history.value(value)),
            _ => None,
        });
        match (old?, history.value(new)) {
            (_, Name::Null) => Some(Action::Delete { table, predicate }),
            (Name::Int(old), Name::Int(new)) => Some(Action::Add { table, predicate, by: new.wrapping_sub(old) }),
            _ => None,
        }
    }

    /// The table of a statement, and which rows it asks for.
    fn asked_for(&mut self, statement: Statement) -> Option<(String, Predicate)> {
        let history = self.history;
        let keys: Vec<KeyId> = statement.ops().map(|it| history.op(it).key()).collect();
        for key in &keys {
            self.place(*key);
        }
        if let Some(scan) = statement.ops().find_map(|it| history.scan_of(it)).map(|it| history.scan(it)) {
            return Some((scan.table.to_owned(), scan.predicate.clone()));
        }
        let first = *keys.first()?;
        let (table, row) = self.place(first);
        let is_one = keys.iter().all(|it| *it == first);
        Some((table, if is_one { key_is(&row) } else { Predicate::All }))
    }

    /// The table and the row of a key. Rows of tables keep their names, since predicates look at them.
    fn place(&mut self, key: KeyId) -> (String, String) {
        const NAMES: [&str; 6] = ["x", "y", "z", "u", "v", "w"];
        let idx = self.keys.iter().position(|it| *it == key).unwrap_or_else(|| {
            self.keys.push(key);
            self.keys.len() - 1
        });
        if let (true, Name::Text(name)) = (self.history.has_scans(), self.history.key_name(key))
            && let Some((table, row)) = name.split_once('/')
        {
            return (table.to_owned(), row.to_owned());
        }
        let row = NAMES.get(idx).map_or_else(|| format!("k{}", idx + 1), |it| (*it).to_owned());
        let table = if self.history.is_list(key) { LISTS } else { REGISTERS };
        (table.to_owned(), row)
    }

    /// None for what is no value of a row.
    fn value(&self, value: ValueId) -> Option<Value> {
        match self.history.value(value) {
            Name::Int(number) => Some(Value::Int(number)),
            Name::Text(text) | Name::Number(text) => Some(Value::Text(text.to_owned())),
            Name::Null | Name::Record(_) => None,
        }
    }

    /// The tables, and the rows to begin with.
    #[allow(clippy::type_complexity, reason = "rows are what a script has")]
    fn state(&mut self, txns: &BTreeSet<TxnId>) -> (Vec<Table>, Vec<(String, String, Value)>) {
        let (mut rows, mut has_lists) = (Vec::new(), false);
        for key in self.keys.clone() {
            let (table, row) = self.place(key);
            if self.history.is_list(key) {
                has_lists = true;
                rows.push((table, row, Value::Text(String::new())));
            } else if let Some(value) = self.initial(key, txns).and_then(|it| self.value(it)) {
                rows.push((table, row, value));
            }
        }
        let are_ints = |it: &(String, String, Value)| it.0 != REGISTERS || matches!(it.2, Value::Int(_));
        let mut tables = Vec::new();
        if rows.iter().any(|it| it.0 == REGISTERS) || !has_lists {
            let has_ints = rows.iter().all(are_ints) && self.writes_ints(txns);
            tables.push(if has_ints { Table::of_ints(REGISTERS) } else { Table::of_texts(REGISTERS) });
        }
        if has_lists {
            tables.push(Table::of_texts(LISTS));
        }
        (tables, rows)
    }

    fn writes_ints(&self, txns: &BTreeSet<TxnId>) -> bool {
        let ops = txns.iter().flat_map(|it| self.history.ops(*it)).map(|it| self.history.op(it));
        ops.filter_map(|it| if let Op::Write { value, .. } = it { Some(value) } else { None })
            .all(|it| matches!(self.history.value(it), Name::Int(_)))
    }

    /// What a row holds before the part: what its first reader saw of somebody else, or the initial value. None if it is
    /// not there.
    fn initial(&self, key: KeyId, txns: &BTreeSet<TxnId>) -> Option<ValueId> {
        let is_written = |value: ValueId| {
            let mut ops = txns.iter().flat_map(|it| self.history.ops(*it));
            ops.any(|it| self.history.op(it) == Op::Write { key, value })
        };
        let ops = txns.iter().flat_map(|it| self.history.ops(*it));
        let initial = self.history.initial_value(key);
        let mut seen = ops.filter_map(|it| match self.history.op(it) {
            Op::Read { key: other, value } if other == key && !is_written(value) => Some(Some(value)),
            // What was there when the run began is not there any more.
            Op::Omit { key: other, scan } if other == key => {
                Some(Some(initial).filter(|it| !self.history.matches(scan, key, *it)))
            }
            _ => None,
        });
        seen.next().unwrap_or(Some(initial))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iso_evidence::{Budget, Verdict};
    use iso_formats::{ReadOptions, read_from};
    use iso_spec::Level;

    #[test]
    fn a_part_becomes_a_script_with_its_operations_in_the_order_of_their_times() {
        let text = "init 7=0 8=0\n\
            a: { r(7,0) w(7,3) } @[0,30]\n\
            b: { r(8,0) r(7,0) w(7,4) } @[3,40]\n\
            c: { w(8,5) } @[50,60]\n";
        let history = read_from("part", text.as_bytes(), &ReadOptions::default()).unwrap().into_history().unwrap();
        let verdict = iso_check::check(&history, Level::SnapshotIsolation, &Budget::unlimited());
        let Verdict::Forbidden(refutation) = verdict else { panic!("a lost update is forbidden") };
        let scripts = scenarios(&history, &refutation, "serializable");
        assert_eq!(
            scripts[0].to_string(),
            "table kv int\nrow kv x 0\n\
             s1 begin serializable\ns2 begin serializable\ns1 get kv x\ns2 get kv x\ns1 put kv x 3\ns1 commit\n\
             s2 put kv x 4\ns2 commit\n"
        );
        assert!(scripts.iter().any(|it| it.to_string().contains("s2 get kv y\n")), "the whole comes last");
    }
}

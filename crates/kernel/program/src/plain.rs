//! A second interpreter, which walks the syntax tree itself: random programs must end the same in both.

use crate::execution::run_execution;
use crate::interpret::Outcome;
use crate::parser::parse_items;
use crate::program::{Arith, UnitKind};
use crate::syntax::{
    AssignOp, Binary, Change, Conflict, Expr, ExprKind, Ident, ItemKind, Quantifier, Row, Rows, Stmt, StmtKind, Target,
    TxnItem,
};
use crate::value::{UnitValue, Value};
use std::collections::BTreeMap;
use std::fmt::Write;

const KEYS: &[(&str, i64)] = &[("t", 3), ("u", 2)];
const LEAST: i64 = -8;

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Committed,
    Abort,
    Assert,
    Overflow,
    NoSuchRow,
}

#[derive(Clone, Debug)]
enum Bound {
    Value(Value),
    Row(String, i64),
}

/// Scalars and rows; a row that is not here does not exist.
#[derive(Clone, Debug, Default, PartialEq)]
struct State {
    vars: BTreeMap<String, Value>,
    rows: BTreeMap<(String, i64), BTreeMap<String, Value>>,
}

type NewRow = ((String, i64), BTreeMap<String, Value>);

struct Plain {
    state: State,
    names: Vec<(String, Bound)>,
}

fn int(value: Value) -> i64 {
    value.code()
}

fn fits(number: Option<i64>) -> Result<Value, End> {
    number.filter(|it| (LEAST..-LEAST).contains(it)).map(Value::Int).ok_or(End::Overflow)
}

fn default_of(field: &str) -> Value {
    if field == "on" { Value::Bool(false) } else { Value::Int(0) }
}

impl Plain {
    fn bound(&self, name: &str) -> Option<&Bound> {
        self.names.iter().rev().find(|it| it.0 == name).map(|it| &it.1)
    }

    fn row(&self, row: &Row) -> Result<(String, i64), End> {
        Ok((row.table.text.clone(), int(self.eval(&row.key)?)))
    }

    fn target(&self, target: &Target) -> Result<(String, i64), End> {
        match target {
            Target::Row(row) => self.row(row),
            Target::Name(name) => match self.bound(&name.text) {
                Some(Bound::Row(table, key)) => Ok((table.clone(), *key)),
                other => panic!("{other:?}"),
            },
        }
    }

    fn eval(&self, expr: &Expr) -> Result<Value, End> {
        Ok(match &expr.kind {
            ExprKind::Int(number) => Value::Int(*number),
            ExprKind::Bool(truth) => Value::Bool(*truth),
            ExprKind::Name(name) => match self.bound(name) {
                Some(Bound::Value(value)) => *value,
                _ => self.state.vars[name],
            },
            ExprKind::Field(target, field) => {
                let row = self.target(target)?;
                if field.text == "id" {
                    return Ok(Value::Int(row.1));
                }
                self.state.rows.get(&row).map_or(default_of(&field.text), |it| it[&field.text])
            }
            ExprKind::RowExists(row) => Value::Bool(self.state.rows.contains_key(&self.row(row)?)),
            ExprKind::Locked(of) => self.eval(of)?,
            ExprKind::Negated(of) => fits(Some(-int(self.eval(of)?)))?,
            ExprKind::Not(of) => Value::Bool(self.eval(of)? == Value::Bool(false)),
            ExprKind::If(condition, then, otherwise) => {
                self.eval(if self.eval(condition)? == Value::Bool(true) { then } else { otherwise })?
            }
            ExprKind::Binary(operator, left, right) => self.binary(*operator, left, right)?,
            ExprKind::Over { quantifier, row, table, body, .. } => {
                let values = self.over(&row.text, &table.text, body, *quantifier)?;
                match quantifier {
                    Quantifier::Forall => Value::Bool(!values.contains(&Value::Bool(false))),
                    Quantifier::Exists => Value::Bool(values.contains(&Value::Bool(true))),
                    Quantifier::Count => {
                        Value::Int(values.iter().filter(|it| **it == Value::Bool(true)).count().cast_signed() as i64)
                    }
                    Quantifier::Sum => {
                        let add = |sum: Value, it: &Value| fits(Arith::Add.apply(int(sum), int(*it)));
                        values.iter().try_fold(Value::Int(0), add)?
                    }
                }
            }
            ExprKind::Text(_) | ExprKind::Any { .. } => panic!("the generator makes none"),
        })
    }

    fn over(&self, row: &str, table: &str, body: &Expr, quantifier: Quantifier) -> Result<Vec<Value>, End> {
        let mut values = Vec::new();
        for (name, key) in self.state.rows.keys().filter(|it| it.0 == table) {
            let mut names = self.names.clone();
            names.push((row.to_owned(), Bound::Row(name.clone(), *key)));
            let value = Self { state: self.state.clone(), names }.eval(body)?;
            values.push(value);
            let decided = match quantifier {
                Quantifier::Forall => value == Value::Bool(false),
                Quantifier::Exists => value == Value::Bool(true),
                Quantifier::Count | Quantifier::Sum => false,
            };
            if decided {
                break;
            }
        }
        Ok(values)
    }

    fn binary(&self, operator: Binary, left: &Expr, right: &Expr) -> Result<Value, End> {
        let first = self.eval(left)?;
        let decided = match (operator, first) {
            (Binary::And, Value::Bool(false)) => Some(false),
            (Binary::Or, Value::Bool(true)) | (Binary::Implies, Value::Bool(false)) => Some(true),
            _ => None,
        };
        if let Some(decided) = decided {
            return Ok(Value::Bool(decided));
        }
        let second = self.eval(right)?;
        let (a, b) = (int(first), int(second));
        Ok(match operator {
            Binary::And | Binary::Or | Binary::Implies => second,
            Binary::Equal => Value::Bool(first == second),
            Binary::NotEqual => Value::Bool(first != second),
            Binary::Less => Value::Bool(a < b),
            Binary::LessEqual => Value::Bool(a <= b),
            Binary::Greater => Value::Bool(a > b),
            Binary::GreaterEqual => Value::Bool(a >= b),
            Binary::Add => fits(Some(a + b))?,
            Binary::Sub => fits(Some(a - b))?,
            Binary::Mul => fits(Some(a * b))?,
        })
    }

    fn block(&mut self, stmts: &[Stmt]) -> Result<(), End> {
        let n_names = self.names.len();
        for stmt in stmts {
            self.stmt(stmt)?;
        }
        self.names.truncate(n_names);
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), End> {
        match &stmt.kind {
            StmtKind::Let { name, value } => {
                let value = self.eval(value)?;
                self.names.push((name.text.clone(), Bound::Value(value)));
            }
            StmtKind::Select(all) => {
                let values = all.iter().map(|it| self.eval(&it.1)).collect::<Result<Vec<_>, _>>()?;
                for ((name, _), value) in all.iter().zip(values) {
                    self.names.push((name.text.clone(), Bound::Value(value)));
                }
            }
            StmtKind::Assign { target, op, value } => self.assign(target, *op, value)?,
            StmtKind::If { condition, then, otherwise } => {
                let way = self.eval(condition)? == Value::Bool(true);
                self.block(if way { then } else { otherwise })?;
            }
            StmtKind::ForRows { row, table, body, .. } => {
                let n_keys = KEYS.iter().find(|it| it.0 == table.text).map_or(0, |it| it.1);
                let exists = |it: &i64| self.state.rows.contains_key(&(table.text.clone(), *it));
                for key in (1..=n_keys).filter(exists).collect::<Vec<_>>() {
                    self.turn(&row.text, Bound::Row(table.text.clone(), key), body)?;
                }
            }
            StmtKind::ForRange { name, low, high, body } => {
                for number in int(self.eval(low)?)..=int(self.eval(high)?) {
                    self.turn(&name.text, Bound::Value(Value::Int(number)), body)?;
                }
            }
            StmtKind::Insert { row, fields } => {
                let (row, values) = self.new_row(row, fields)?;
                if self.state.rows.insert(row, values).is_some() {
                    return Err(End::Abort);
                }
            }
            StmtKind::Delete(target) => {
                let row = self.target(target)?;
                self.state.rows.remove(&row);
            }
            StmtKind::Change { count, change } => {
                let n = self.change(change)?;
                if let Some(count) = count {
                    self.names.push((count.text.clone(), Bound::Value(Value::Int(n))));
                }
            }
            StmtKind::Abort => return Err(End::Abort),
            StmtKind::Assert(holds) if self.eval(holds)? == Value::Bool(false) => return Err(End::Assert),
            StmtKind::Assert(_) => {}
            StmtKind::Maybe { .. } => panic!("the generator makes none"),
        }
        Ok(())
    }

    fn new_row(&self, row: &Row, fields: &[(Ident, Expr)]) -> Result<NewRow, End> {
        let row = self.row(row)?;
        let names: &[&str] = if row.0 == "t" { &["n", "on"] } else { &[] };
        let mut values: BTreeMap<String, Value> = names.iter().map(|it| (it.to_string(), default_of(it))).collect();
        for (field, value) in fields {
            values.insert(field.text.clone(), self.eval(value)?);
        }
        if !KEYS.iter().any(|it| it.0 == row.0 && (1..=it.1).contains(&row.1)) {
            return Err(End::NoSuchRow);
        }
        Ok((row, values))
    }

    /// How many rows were made or changed.
    fn change(&mut self, change: &Change) -> Result<i64, End> {
        let (name, of, condition, fields) = match change {
            Change::Update { row, of, condition, fields } => (row, of, condition, Some(fields)),
            Change::Delete { row, of, condition } => (row, of, condition, None),
            Change::Insert { name, row, fields, conflict } => {
                let (row, values) = self.new_row(row, fields)?;
                let is_there = self.state.rows.contains_key(&row);
                match conflict {
                    Conflict::Nothing if is_there => return Ok(0),
                    Conflict::Update(fields) if is_there => {
                        self.set(name.as_ref().map_or("", |it| &it.text), &row, fields)?;
                    }
                    _ => {
                        self.state.rows.insert(row, values);
                    }
                }
                return Ok(1);
            }
        };
        let keys: Vec<(String, i64)> = match of {
            Rows::One(row) => vec![self.row(row)?],
            Rows::All(table) => self.state.rows.keys().filter(|it| it.0 == table.text).cloned().collect(),
        };
        let mut n = 0;
        for row in keys.into_iter().filter(|it| self.state.rows.contains_key(it)).collect::<Vec<_>>() {
            self.names.push((name.text.clone(), Bound::Row(row.0.clone(), row.1)));
            let fits = condition.as_ref().map_or(Ok(Value::Bool(true)), |it| self.eval(it))?;
            self.names.pop();
            if fits == Value::Bool(true) {
                n += 1;
                match fields {
                    Some(fields) => self.set(&name.text, &row, fields)?,
                    None => {
                        self.state.rows.remove(&row);
                    }
                }
            }
        }
        Ok(n)
    }

    fn set(&mut self, name: &str, row: &(String, i64), fields: &[(Ident, Expr)]) -> Result<(), End> {
        self.names.push((name.to_owned(), Bound::Row(row.0.clone(), row.1)));
        let mut new = self.state.rows[row].clone();
        for (field, value) in fields {
            new.insert(field.text.clone(), self.eval(value)?);
        }
        self.names.pop();
        self.state.rows.insert(row.clone(), new);
        Ok(())
    }

    fn turn(&mut self, name: &str, bound: Bound, body: &[Stmt]) -> Result<(), End> {
        self.names.push((name.to_owned(), bound));
        self.block(body)?;
        self.names.pop();
        Ok(())
    }

    fn assign(&mut self, target: &Expr, op: AssignOp, value: &Expr) -> Result<(), End> {
        let changed = |old: Value, value: Value| match op {
            AssignOp::Set => Ok(value),
            AssignOp::Add => fits(Some(int(old) + int(value))),
            AssignOp::Sub => fits(Some(int(old) - int(value))),
        };
        match &target.kind {
            ExprKind::Name(name) => {
                let value = changed(self.state.vars[name], self.eval(value)?)?;
                self.state.vars.insert(name.clone(), value);
            }
            ExprKind::Field(of, field) => {
                let row = self.target(of)?;
                let value = self.eval(value)?;
                if let Some(fields) = self.state.rows.get_mut(&row) {
                    let value = changed(fields[&field.text], value)?;
                    fields.insert(field.text.clone(), value);
                }
            }
            _ => panic!("{target:?}"),
        }
        Ok(())
    }
}

/// Writes programs whose types fit.
struct Writer {
    random: u64,
    n_names: usize,
    rows: Vec<(String, bool)>,
    ints: Vec<String>,
}

impl Writer {
    fn below(&mut self, n: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % n
    }

    fn fresh(&mut self) -> String {
        self.n_names += 1;
        format!("v{}", self.n_names)
    }

    /// A row of `t` that can be named: by its key, or as that of a loop.
    fn row_of_t(&mut self, depth: u32) -> String {
        let rows: Vec<String> = self.rows.iter().filter(|it| it.1).map(|it| it.0.clone()).collect();
        if !rows.is_empty() && self.below(2) == 0 {
            return rows[self.below(rows.len() as u64) as usize].clone();
        }
        format!("t[{}]", self.key(3, depth))
    }

    fn key(&mut self, n_keys: u64, depth: u32) -> String {
        if self.below(2) == 0 {
            (1 + self.below(n_keys)).to_string()
        } else {
            format!("{} + 0", self.int(depth.min(1)))
        }
    }

    fn int(&mut self, depth: u32) -> String {
        if depth == 0 {
            let ints = self.ints.clone();
            return match self.below(4) {
                0 => (self.below(9).cast_signed() - 4).to_string(),
                1 if !ints.is_empty() => ints[self.below(ints.len() as u64) as usize].clone(),
                2 => "p".to_owned(),
                _ => ["x", "y"][self.below(2) as usize].to_owned(),
            };
        }
        let depth = depth - 1;
        match self.below(8) {
            0 => format!("({} + {})", self.int(depth), self.int(depth)),
            1 => format!("({} - {})", self.int(depth), self.int(depth)),
            2 => format!("({} * {})", self.int(depth), self.int(depth)),
            3 => format!("-{}", self.row_of_t(depth)) + ".n",
            4 => self.row_of_t(depth) + ".n",
            5 => format!("(if {} then {} else {})", self.truth(depth), self.int(depth), self.int(depth)),
            6 => self.over("count", depth),
            _ => self.over("sum", depth),
        }
    }

    fn over(&mut self, quantifier: &str, depth: u32) -> String {
        let is_t = self.below(2) == 0;
        let row = self.fresh();
        self.rows.push((row.clone(), is_t));
        self.ints.push(format!("{row}.id"));
        let body = if quantifier == "sum" { self.int(depth) } else { self.truth(depth) };
        self.rows.pop();
        self.ints.pop();
        format!("({quantifier} {row} in {}: {body})", if is_t { "t" } else { "u" })
    }

    fn truth(&mut self, depth: u32) -> String {
        if depth == 0 {
            return ["b", "true", "p > 1", "x < y", "x for update == 0"][self.below(5) as usize].to_owned();
        }
        let depth = depth - 1;
        match self.below(10) {
            0 => format!("({} and {})", self.truth(depth), self.truth(depth)),
            1 => format!("({} or {})", self.truth(depth), self.truth(depth)),
            2 => format!("({} implies {})", self.truth(depth), self.truth(depth)),
            3 => format!("(not {})", self.truth(depth)),
            4 => format!("({} <= {})", self.int(depth), self.int(depth)),
            5 => format!("({} != {})", self.int(depth), self.int(depth)),
            6 => format!("exists u[{}]", self.key(2, depth)),
            7 => self.row_of_t(depth) + ".on",
            8 => self.over("forall", depth),
            _ => self.over("exists", depth),
        }
    }

    fn block(&mut self, depth: u32) -> String {
        let (n_rows, n_ints) = (self.rows.len(), self.ints.len());
        let mut text = "{\n".to_owned();
        for _ in 0..=self.below(3) {
            text += &self.stmt(depth);
            text.push('\n');
        }
        self.rows.truncate(n_rows);
        self.ints.truncate(n_ints);
        text + "}"
    }

    fn stmt(&mut self, depth: u32) -> String {
        let inner = depth.saturating_sub(1);
        let kind = self.below(if depth == 0 { 9 } else { 13 } + 3);
        match kind.checked_sub(3) {
            None => self.change(),
            Some(kind) => self.plain_stmt(kind, inner),
        }
    }

    fn plain_stmt(&mut self, kind: u64, inner: u32) -> String {
        match kind {
            0 => format!("x = {}", self.int(2)),
            1 => format!("y {} {}", ["+=", "-="][self.below(2) as usize], self.int(1)),
            2 => format!("b = {}", self.truth(2)),
            3 => format!("{}.n {} {}", self.row_of_t(1), ["=", "+="][self.below(2) as usize], self.int(1)),
            4 => format!("{}.on = {}", self.row_of_t(1), self.truth(1)),
            5 => format!("insert t[{}] {{ n: {} }}", self.key(3, 1), self.int(1)),
            6 => format!("delete {}", self.row_of_t(1)),
            7 if self.below(3) == 0 => {
                let (one, other) = (self.fresh(), self.fresh());
                let text = format!("let {one} = t[{}].n, {other} = t[2].n + p", 1 + self.below(3));
                self.ints.extend([one, other]);
                text
            }
            7 => {
                let name = self.fresh();
                let text = format!("let {name} = {}", self.int(2));
                self.ints.push(name);
                text
            }
            8 => format!("if {} {{ {} }}", self.truth(1), ["abort", "assert x < y"][self.below(2) as usize]),
            9 | 10 => format!("if {} {} else {}", self.truth(2), self.block(inner), self.block(inner)),
            11 => {
                let (row, is_t) = (self.fresh(), self.below(2) == 0);
                self.rows.push((row.clone(), is_t));
                self.ints.push(format!("{row}.id"));
                let body = self.block(inner);
                self.rows.pop();
                self.ints.pop();
                format!("for {row} in {} {body}", if is_t { "t" } else { "u" })
            }
            _ => {
                let name = self.fresh();
                self.ints.push(name.clone());
                let body = self.block(inner);
                self.ints.pop();
                format!("for {name} in p..2 {body}")
            }
        }
    }

    /// A change of rows by a condition that is about the row, and perhaps the name of how many there were.
    fn change(&mut self) -> String {
        let (count, counted, row) = (self.fresh(), self.below(2) == 0, self.fresh());
        let rows = if self.below(2) == 0 { "t".to_owned() } else { format!("t[{}]", self.key(3, 1)) };
        let of = ["p", "2", "-1"][self.below(3) as usize];
        let conditions = [
            String::new(),
            format!(" where {row}.n < {of}"),
            format!(" where {row}.on or {row}.id == {of}"),
            format!(" where {row}.id >= 2 and {row}.n + 1 > {of}"),
        ];
        let condition = &conditions[self.below(4) as usize];
        let fields = [format!("n: {row}.n + {of}"), format!("n: {of}, on: not {row}.on"), format!("on: {row}.on")];
        let fields = &fields[self.below(3) as usize];
        let text = match self.below(3) {
            0 => format!("update {row} in {rows}{condition} {{ {fields} }}"),
            1 => format!("delete {row} in {rows}{condition}"),
            _ => {
                let new = format!("insert {row} in t[{}] {{ n: {} }} on conflict", self.key(3, 1), self.int(1));
                if self.below(2) == 0 { format!("{new} nothing") } else { format!("{new} update {{ {fields} }}") }
            }
        };
        if counted {
            self.ints.push(count.clone());
            return format!("let {count} = {text}");
        }
        text
    }

    fn program(&mut self) -> String {
        let mut text = "width 4\nvar x: int\nvar y: int\nvar b: bool\ntable t(id in 1..3) { n: int, on: bool }\n\
                        table u(id in 1..2)\ninit { t[1].n = 3; t[2].on = true; insert u[2] }\ninvariant true\n"
            .to_owned();
        for name in ["first", "second"] {
            let _ = writeln!(text, "txn {name}(p) {}", self.block(2));
        }
        text + &format!("run first({}); second({}); first(2)", self.below(3), self.below(3))
    }
}

fn plain_txn(state: &State, txn: &TxnItem, argument: i64) -> (State, End) {
    let names = vec![("p".to_owned(), Bound::Value(Value::Int(argument)))];
    let mut plain = Plain { state: state.clone(), names };
    match plain.block(&txn.body) {
        Ok(()) => (plain.state, End::Committed),
        Err(end) => (state.clone(), end),
    }
}

fn plain_start() -> State {
    let mut state = State::default();
    for (name, value) in [("x", Value::Int(0)), ("y", Value::Int(0)), ("b", Value::Bool(false))] {
        state.vars.insert(name.to_owned(), value);
    }
    for (key, n, on) in [(1, 3, false), (2, 0, true)] {
        let fields = [("n".to_owned(), Value::Int(n)), ("on".to_owned(), Value::Bool(on))];
        state.rows.insert(("t".to_owned(), key), fields.into());
    }
    state.rows.insert(("u".to_owned(), 2), BTreeMap::new());
    state
}

fn collect_reads(body: &[crate::Stmt], reads: &mut Vec<usize>) {
    for stmt in body {
        match stmt {
            crate::Stmt::Read(read) => reads.push(read.index()),
            crate::Stmt::If { then, otherwise, .. } => {
                collect_reads(then, reads);
                collect_reads(otherwise, reads);
            }
            _ => {}
        }
    }
}

fn compare(seed: u64) -> Vec<End> {
    let text = Writer { random: seed, n_names: 0, rows: Vec::new(), ints: Vec::new() }.program();
    let program = crate::parse(&text, "p").unwrap_or_else(|it| panic!("seed {seed}: {}\n{text}", it[0]));
    for instance in program.instances() {
        let mut reads = Vec::new();
        collect_reads(&instance.body, &mut reads);
        assert!(reads.into_iter().eq(0..instance.reads.len()), "seed {seed}: reads stand once, in order\n{text}");
    }
    let order: Vec<_> = program.instance_ids().collect();
    let run = run_execution(&program, &[], &order, &|_, _| true);
    let items = parse_items(&text).items;
    let mut state = plain_start();
    let mut ends = Vec::new();
    for (instance, done) in program.instances().iter().zip(&run.txns) {
        let is_it = |kind: &ItemKind| matches!(kind, ItemKind::Txn(it) if it.name.text == instance.txn);
        let Some(ItemKind::Txn(txn)) = items.iter().map(|it| &it.kind).find(|it| is_it(it)) else { panic!() };
        let crate::Expr::Const(argument) = instance.arguments[0].1 else { panic!() };
        let (after, end) = plain_txn(&state, txn, int(argument));
        let found = match done.outcome {
            Outcome::Committed => End::Committed,
            Outcome::Aborted { .. } => End::Abort,
            Outcome::AssertFailed { .. } => End::Assert,
            Outcome::Overflow { .. } => End::Overflow,
            Outcome::NoSuchRow { .. } => End::NoSuchRow,
        };
        assert_eq!(found, end, "seed {seed}: {}\n{text}", instance.name);
        state = after;
        ends.push(end);
    }
    for (unit, value) in program.units().iter().zip(&run.last) {
        let expected = match unit.kind {
            UnitKind::Var => Some(vec![state.vars[&unit.name]]),
            UnitKind::Row { key, .. } => {
                let fields = state.rows.get(&(unit.name[..1].to_owned(), int(key)));
                fields.map(|it| it.values().copied().collect())
            }
        };
        let expected = expected.map_or(UnitValue::Missing, UnitValue::Present);
        assert_eq!(*value, expected, "seed {seed}: {}\n{text}", unit.name);
    }
    ends
}

#[test]
fn flat_programs_end_as_the_text_says() {
    let ends: Vec<End> = (0..5000).flat_map(compare).collect();
    for end in [End::Committed, End::Abort, End::Assert, End::Overflow, End::NoSuchRow] {
        assert!(ends.iter().filter(|it| **it == end).count() > 30, "{end:?} is rare");
    }
}

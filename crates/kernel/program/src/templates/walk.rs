//! Goes along the statements of a transaction, once for each combination of what its branches may decide.

use super::change::mark_growing;
use super::compared::Compared;
use super::{Access, AccessKind, Constant, Parts, Relation, RowKey, Variable, Way};
use crate::error::{Checked, Span, did_you_mean, fail};
use crate::flatten::declared::{Declared, Global};
use crate::program::ReadMode;
use crate::syntax::{AssignOp, Binary, Expr, ExprKind, Ident, Row, Stmt, StmtKind, Target, TxnItem};
use crate::value::Value;

/// How many courses are looked at one by one. Of a transaction with more, whatever a branch does may happen or not.
const MAX_COURSES: usize = 512;
/// How often a loop over numbers is spelled out.
const MAX_TURNS: i64 = 16;

/// The tables, and which of them grow.
pub(super) fn relations(declared: &Declared<'_>) -> Checked<Vec<Relation>> {
    let vars = declared.vars.iter().map(|it| Relation {
        name: it.name.text.clone(),
        fields: vec![String::new()],
        types: vec![declared.show_type(it.ty).to_owned()],
        keys: None,
        is_var: true,
        grows: false,
        shrinks: false,
    });
    let mut relations: Vec<Relation> = vars.collect();
    for table in &declared.tables {
        if table.fields.len() >= Parts::MAX_FIELDS {
            let hint = format!("at most {} are allowed", Parts::MAX_FIELDS);
            return fail(table.name.span, format!("`{}` has too many fields", table.name.text), hint);
        }
        relations.push(Relation {
            name: table.name.text.clone(),
            fields: table.fields.iter().map(|it| it.name.clone()).collect(),
            types: table.fields.iter().map(|it| declared.show_type(it.ty).to_owned()).collect(),
            keys: table.keys.as_ref().map(|keys| keys.iter().map(|it| constant(declared, *it)).collect()),
            is_var: false,
            grows: false,
            shrinks: false,
        });
    }
    for txn in &declared.txns {
        mark_growing(&txn.body, &mut Vec::new(), &mut relations);
    }
    Ok(relations)
}

fn constant(declared: &Declared<'_>, key: Value) -> Constant {
    match key {
        Value::Member(domain, member) => {
            Constant::Text(declared.domains[domain.index()].members[member as usize].clone())
        }
        other => Constant::Int(other.code()),
    }
}

/// All courses of a transaction that commit and do something, each once.
pub(super) fn ways(txn: &TxnItem, declared: &Declared<'_>, relations: &[Relation]) -> Checked<Vec<Way>> {
    let mut ways: Vec<Way> = Vec::new();
    let mut decisions: Vec<bool> = Vec::new();
    for _ in 0..MAX_COURSES {
        let mut walk = Walk::new(declared, relations, Branches::Decided { decisions, n_used: 0 });
        let end = walk.transaction(txn)?;
        let Branches::Decided { decisions: made, .. } = std::mem::replace(&mut walk.branches, Branches::Both) else {
            unreachable!("the walk keeps its decisions")
        };
        if end == End::Reached
            && let Some(way) = walk.way()
            && !ways.iter().any(|it| is_alike(it, &way))
        {
            ways.push(way);
        }
        // The next combination: what was decided last turns from no to yes.
        decisions = made;
        while decisions.last() == Some(&true) {
            decisions.pop();
        }
        match decisions.last_mut() {
            Some(last) => *last = true,
            None => return Ok(ways),
        }
    }
    let mut walk = Walk::new(declared, relations, Branches::Both);
    walk.transaction(txn)?;
    Ok(walk.way().into_iter().collect())
}

/// Do two ways do the same, at whatever places of the text?
fn is_alike(left: &Way, right: &Way) -> bool {
    let same = |a: &Access, b: &Access| Access { span: b.span, ..a.clone() } == *b;
    left.variables == right.variables
        && left.different == right.different
        && left.accesses.len() == right.accesses.len()
        && left.accesses.iter().zip(&right.accesses).all(|it| same(it.0, it.1))
}

/// What happens where a transaction may go one way or the other.
enum Branches {
    /// It goes as decided, and no where nothing was decided yet.
    Decided { decisions: Vec<bool>, n_used: usize },
    /// It goes both ways, and nothing there is certain.
    Both,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Reached,
    Aborted,
}

/// What a value is, as far as it names rows.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Term {
    Key(RowKey),
    /// Something that was computed or read.
    Other,
}

#[derive(Clone, Debug)]
pub(super) enum Bound {
    Value(Term),
    /// The row of a loop or quantifier.
    Row(usize),
}

pub(super) struct Walk<'d, 's> {
    pub(super) declared: &'d Declared<'s>,
    pub(super) relations: &'d [Relation],
    branches: Branches,
    pub(super) names: Vec<(String, Bound)>,
    pub(super) variables: Vec<Variable>,
    pub(super) equal: Vec<(RowKey, RowKey)>,
    pub(super) different: Vec<(RowKey, RowKey)>,
    pub(super) accesses: Vec<Access>,
    pub(super) compared: Compared,
    /// Rows that are locked or written, or that stay as they are, and whether they exist.
    known: Vec<(usize, RowKey, bool)>,
    /// Whether the row that a `for update` looked at last was there.
    last_locked: Option<bool>,
    /// How many loops are around: in them, a key that was computed may be any.
    pub(super) n_loops: usize,
    /// Does what comes next happen for certain?
    is_certain: bool,
}

impl<'d, 's> Walk<'d, 's> {
    fn new(declared: &'d Declared<'s>, relations: &'d [Relation], branches: Branches) -> Self {
        Self {
            declared,
            relations,
            branches,
            names: Vec::new(),
            variables: Vec::new(),
            equal: Vec::new(),
            different: Vec::new(),
            accesses: Vec::new(),
            compared: Compared::default(),
            known: Vec::new(),
            last_locked: None,
            n_loops: 0,
            is_certain: true,
        }
    }

    fn transaction(&mut self, txn: &TxnItem) -> Checked<End> {
        for (position, param) in txn.params.iter().enumerate() {
            if let Some(ty) = &param.ty {
                self.declared.type_named(ty)?;
            }
            let key = self.variable(&param.name.text, Some(position));
            self.names.push((param.name.text.clone(), Bound::Value(Term::Key(key))));
        }
        self.block(&txn.body)
    }

    fn variable(&mut self, name: &str, param: Option<usize>) -> RowKey {
        self.variables.push(Variable { name: name.to_owned(), param });
        RowKey::Variable(self.variables.len() - 1)
    }

    pub(super) fn decide(&mut self) -> bool {
        let Branches::Decided { decisions, n_used } = &mut self.branches else { return true };
        if *n_used == decisions.len() {
            decisions.push(false);
        }
        *n_used += 1;
        decisions[*n_used - 1]
    }

    /// Is it open here what branches decide?
    pub(super) fn is_open(&self) -> bool {
        self.n_loops > 0 || matches!(self.branches, Branches::Both)
    }

    /// Does something that may not happen.
    pub(super) fn perhaps<T>(&mut self, act: impl FnOnce(&mut Self) -> Checked<T>) -> Checked<T> {
        let before = std::mem::replace(&mut self.is_certain, false);
        let done = act(self);
        self.is_certain = before;
        done
    }

    fn block(&mut self, body: &[Stmt]) -> Checked<End> {
        let n_names = self.names.len();
        let mut end = End::Reached;
        for stmt in body {
            end = self.stmt(stmt)?;
            if end == End::Aborted {
                break;
            }
        }
        self.names.truncate(n_names);
        Ok(end)
    }

    fn stmt(&mut self, stmt: &Stmt) -> Checked<End> {
        match &stmt.kind {
            StmtKind::Let { name, value } => self.binding(name, value)?,
            StmtKind::Select(all) => all.iter().try_for_each(|(name, value)| self.binding(name, value))?,
            StmtKind::Assign { target, op, value } => self.assign(target, *op, value, stmt.span)?,
            StmtKind::If { condition, then, otherwise } => return self.branch(condition, then, otherwise),
            StmtKind::ForRows { row, table, mode, body } => self.for_rows(row, table, *mode, body)?,
            StmtKind::ForRange { name, low, high, body } => return self.for_range(name, low, high, body),
            StmtKind::Insert { row, fields } => {
                let (relation, key) = self.row(row)?;
                for (field, value) in fields {
                    self.field(relation, field)?;
                    self.expr(value)?;
                }
                let whole = Parts::whole(self.relations[relation].fields.len());
                self.push(AccessKind::Insert, relation, key.clone(), Parts::EXISTENCE, whole, true, stmt.span);
                self.learn(relation, &key, true);
            }
            StmtKind::Delete(target) => {
                let (relation, key) = self.target(target)?;
                let whole = Parts::whole(self.relations[relation].fields.len());
                self.change(AccessKind::Delete, relation, &key, Parts::EXISTENCE, whole, stmt.span);
                self.learn(relation, &key, false);
            }
            StmtKind::Change { count, change } => {
                self.change_rows(change, stmt.span)?;
                if let Some(count) = count {
                    let key = self.computed(&count.text);
                    self.names.push((count.text.clone(), Bound::Value(Term::Key(key))));
                }
            }
            StmtKind::Abort => return Ok(End::Aborted),
            StmtKind::Assert(condition) => {
                self.expr(condition)?;
                if self.n_loops == 0 && self.is_certain {
                    // Whoever goes on has found it true.
                    self.constrain(condition, true);
                }
            }
            StmtKind::Maybe { .. } => {
                let hint = "write it in `init`; a transaction decides with `if`";
                return fail(stmt.span, "`maybe` is about the initial state", hint);
            }
        }
        Ok(End::Reached)
    }

    fn binding(&mut self, name: &Ident, value: &Expr) -> Checked<()> {
        let term = match self.expr(value)? {
            Term::Other => Term::Key(self.computed(&name.text)),
            known @ Term::Key(_) => known,
        };
        self.names.push((name.text.clone(), Bound::Value(term)));
        Ok(())
    }

    /// A key that was computed: another one in each turn of a loop.
    pub(super) fn computed(&mut self, name: &str) -> RowKey {
        if self.n_loops > 0 { RowKey::All } else { self.variable(name, None) }
    }

    fn branch(&mut self, condition: &Expr, then: &[Stmt], otherwise: &[Stmt]) -> Checked<End> {
        self.expr(condition)?;
        if self.is_open() {
            let (one, other) = self.perhaps(|it| Ok((it.block(then)?, it.block(otherwise)?)))?;
            let both_abort = (one, other) == (End::Aborted, End::Aborted);
            return Ok(if both_abort { End::Aborted } else { End::Reached });
        }
        let truth = match self.known_truth(condition) {
            Some(truth) => truth,
            None => self.decide(),
        };
        self.constrain(condition, truth);
        self.block(if truth { then } else { otherwise })
    }

    /// The truth of a condition that was just evaluated, if it is about a row of which that is known.
    fn known_truth(&self, condition: &Expr) -> Option<bool> {
        match &condition.kind {
            ExprKind::Not(inner) => self.known_truth(inner).map(|it| !it),
            ExprKind::Locked(inner) if matches!(inner.kind, ExprKind::RowExists(_)) => self.last_locked,
            ExprKind::RowExists(row) => {
                let relation = self.table(&row.table).ok()?;
                self.known_row(relation, &self.plain_key(&row.key)?)
            }
            _ => self.known_value(condition),
        }
    }

    /// Remembers which keys a condition makes equal or different, and what it says of other values.
    fn constrain(&mut self, condition: &Expr, truth: bool) {
        match &condition.kind {
            ExprKind::Not(inner) => self.constrain(inner, !truth),
            ExprKind::Binary(Binary::And, left, right) if truth => {
                self.constrain(left, true);
                self.constrain(right, true);
            }
            ExprKind::Binary(Binary::Or, left, right) if !truth => {
                self.constrain(left, false);
                self.constrain(right, false);
            }
            ExprKind::Binary(op @ (Binary::Equal | Binary::NotEqual), left, right) => {
                let (Some(left), Some(right)) = (self.plain_key(left), self.plain_key(right)) else { return };
                if (*op == Binary::Equal) == truth {
                    self.compared.decide_equal(&left, &right);
                    self.equal.push((left, right));
                } else {
                    self.different.push((left, right));
                }
            }
            ExprKind::Binary(
                op @ (Binary::Less | Binary::LessEqual | Binary::Greater | Binary::GreaterEqual),
                left,
                right,
            ) => {
                let (Some(left), Some(right)) = (self.plain_key(left), self.plain_key(right)) else { return };
                // All as `less < more`, or as its opposite.
                let (less, more, truth) = match op {
                    Binary::Less => (left, right, truth),
                    Binary::Greater => (right, left, truth),
                    Binary::LessEqual => (right, left, !truth),
                    _ => (left, right, !truth),
                };
                self.compared.decide_less(&less, &more, truth);
                if truth {
                    self.different.push((less, more));
                }
            }
            ExprKind::Name(_) => {
                if let Some(value) = self.plain_key(condition) {
                    self.compared.decide_truth(&value, truth);
                }
            }
            ExprKind::RowExists(row) => {
                if let (Ok(relation), Some(key)) = (self.table(&row.table), self.plain_key(&row.key)) {
                    self.found(relation, &key, condition.span, truth);
                    if !self.relations[relation].grows {
                        self.learn(relation, &key, truth);
                    }
                }
            }
            _ => {}
        }
    }

    /// What names a row without a look at one.
    pub(super) fn plain_key(&self, expr: &Expr) -> Option<RowKey> {
        match &expr.kind {
            ExprKind::Int(number) => Some(RowKey::Constant(Constant::Int(*number))),
            ExprKind::Text(text) => Some(RowKey::Constant(Constant::Text(text.clone()))),
            ExprKind::Name(name) => match self.lookup(name)? {
                Bound::Value(Term::Key(key)) if *key != RowKey::All => Some(key.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    fn for_rows(&mut self, row: &Ident, table: &Ident, mode: ReadMode, body: &[Stmt]) -> Checked<()> {
        let relation = self.table(table)?;
        let mut fields = Parts::EXISTENCE;
        for stmt in body {
            self.fields_of_row_in_stmt(&row.text, relation, stmt, &mut fields);
        }
        self.scan(relation, fields, mode, table.span);
        self.names.push((row.text.clone(), Bound::Row(relation)));
        self.n_loops += 1;
        let done = self.perhaps(|it| it.block(body));
        self.n_loops -= 1;
        self.names.pop();
        done.map(|_| ())
    }

    fn for_range(&mut self, name: &Ident, low: &Expr, high: &Expr, body: &[Stmt]) -> Checked<End> {
        let bounds = (self.expr(low)?, self.expr(high)?);
        let key = |number| Bound::Value(Term::Key(RowKey::Constant(Constant::Int(number))));
        if let (Term::Key(RowKey::Constant(Constant::Int(first))), Term::Key(RowKey::Constant(Constant::Int(last)))) =
            bounds
            && last - first < MAX_TURNS
        {
            for number in first..=last {
                self.names.push((name.text.clone(), key(number)));
                let end = self.block(body)?;
                self.names.pop();
                if end == End::Aborted && self.n_loops == 0 && self.is_certain {
                    return Ok(End::Aborted);
                }
            }
            return Ok(End::Reached);
        }
        self.names.push((name.text.clone(), Bound::Value(Term::Key(RowKey::All))));
        self.n_loops += 1;
        let done = self.perhaps(|it| it.block(body));
        self.n_loops -= 1;
        self.names.pop();
        done.map(|_| End::Reached)
    }

    fn assign(&mut self, target: &Expr, op: AssignOp, value: &Expr, span: Span) -> Checked<()> {
        match &target.kind {
            ExprKind::Name(name) => {
                let relation = self.var(name, target.span)?;
                self.expr(value)?;
                let field = Parts::field(0);
                let reads = if op == AssignOp::Set { Parts::default() } else { field };
                let key = RowKey::Constant(Constant::Only);
                self.push(AccessKind::Update, relation, key, reads, field, true, span);
                Ok(())
            }
            ExprKind::Field(place, field) => {
                let (relation, key) = self.target(place)?;
                let field = self.field(relation, field)?;
                self.expr(value)?;
                let reads = if op == AssignOp::Set { Parts::EXISTENCE } else { field.with(Parts::EXISTENCE) };
                self.change(AccessKind::Update, relation, &key, reads, field, span);
                Ok(())
            }
            _ => fail(target.span, "only a variable or a field can be written", "as in `accounts[\"x\"].balance = 0`"),
        }
    }

    /// UPDATE and DELETE do nothing if there is no row.
    pub(super) fn change(
        &mut self,
        kind: AccessKind,
        relation: usize,
        key: &RowKey,
        reads: Parts,
        writes: Parts,
        span: Span,
    ) {
        let exists = self.finds_row(relation, key);
        if exists {
            self.push(kind, relation, key.clone(), reads, writes, true, span);
        } else {
            self.push(AccessKind::Read, relation, key.clone(), Parts::EXISTENCE, Parts::default(), false, span);
        }
        if !self.is_open() {
            self.found(relation, key, span, exists);
        }
    }

    /// Is there a row for a statement that locks it? Both may be if the table grows.
    pub(super) fn finds_row(&mut self, relation: usize, key: &RowKey) -> bool {
        if let Some(known) = self.known_row(relation, key) {
            return known;
        }
        if !self.relations[relation].grows || *key == RowKey::All {
            return true;
        }
        let exists = if self.n_loops > 0 { true } else { self.decide() };
        if exists {
            self.learn(relation, key, true);
        }
        exists
    }

    fn known_row(&self, relation: usize, key: &RowKey) -> Option<bool> {
        self.known.iter().rev().find(|it| it.0 == relation && it.1 == *key).map(|it| it.2)
    }

    pub(super) fn learn(&mut self, relation: usize, key: &RowKey, exists: bool) {
        if self.is_certain && *key != RowKey::All {
            self.known.push((relation, key.clone(), exists));
        }
    }

    #[expect(clippy::too_many_arguments, reason = "they are the members of an access")]
    pub(super) fn push(
        &mut self,
        kind: AccessKind,
        relation: usize,
        key: RowKey,
        reads: Parts,
        writes: Parts,
        locks: bool,
        span: Span,
    ) {
        let is_own = |it: &&Access| it.is_certain && it.relation == relation && it.key == key && key != RowKey::All;
        let own = self.accesses.iter().filter(is_own).fold(Parts::default(), |parts, it| parts.with(it.writes));
        let reads = reads.without(own);
        if reads.is_empty() && writes.is_empty() && !locks {
            return;
        }
        let grows_unseen = self.relations[relation].grows && locks && matches!(self.branches, Branches::Both);
        let is_some = key == RowKey::All && (!writes.is_empty() || self.relations[relation].grows && locks);
        let is_certain = self.is_certain && !is_some && !(grows_unseen && kind != AccessKind::Insert);
        self.accesses.push(Access { relation, key, reads, writes, locks, is_certain, found: None, kind, span });
    }

    /// Remembers whether the last access at a place of the text found its row, unless the transaction has made or removed it
    /// itself.
    pub(super) fn found(&mut self, relation: usize, key: &RowKey, span: Span, exists: bool) {
        let is_here = |it: &Access| it.relation == relation && it.key == *key;
        let is_own = |it: &Access| is_here(it) && it.is_certain && it.writes.meets(Parts::EXISTENCE);
        if *key == RowKey::All || self.accesses.iter().any(is_own) {
            return;
        }
        if let Some(access) = self.accesses.iter_mut().rev().find(|it| is_here(it) && it.span == span) {
            access.found = Some(exists);
        }
    }

    pub(super) fn scan(&mut self, relation: usize, fields: Parts, mode: ReadMode, span: Span) {
        let locks = mode == ReadMode::ForUpdate;
        self.push(AccessKind::Read, relation, RowKey::All, fields, Parts::default(), locks, span);
    }

    pub(super) fn read(&mut self, relation: usize, key: RowKey, parts: Parts, mode: ReadMode, span: Span) {
        if mode != ReadMode::ForUpdate {
            self.push(AccessKind::Read, relation, key, parts, Parts::default(), false, span);
            return;
        }
        let exists = self.finds_row(relation, &key);
        self.last_locked = Some(exists);
        let parts = if exists { parts } else { Parts::EXISTENCE };
        self.push(AccessKind::Read, relation, key.clone(), parts, Parts::default(), exists, span);
        if !self.is_open() {
            self.found(relation, &key, span, exists);
        }
    }

    pub(super) fn row(&mut self, row: &Row) -> Checked<(usize, RowKey)> {
        let relation = self.table(&row.table)?;
        let key = match self.expr(&row.key)? {
            Term::Key(key) => key,
            Term::Other => self.computed(""),
        };
        Ok((relation, key))
    }

    pub(super) fn target(&mut self, target: &Target) -> Checked<(usize, RowKey)> {
        match target {
            Target::Row(row) => self.row(row),
            Target::Name(name) => match self.lookup(&name.text) {
                Some(Bound::Row(relation)) => Ok((*relation, RowKey::All)),
                _ => fail(
                    name.span,
                    format!("`{}` is no row", name.text),
                    "a row is `accounts[\"x\"]`, or that of a loop",
                ),
            },
        }
    }

    pub(super) fn lookup(&self, name: &str) -> Option<&Bound> {
        self.names.iter().rev().find(|it| it.0 == name).map(|it| &it.1)
    }

    pub(super) fn unknown<T>(&self, name: &str, span: Span) -> Checked<T> {
        let known = self.names.iter().map(|it| it.0.as_str()).chain(self.declared.global_names());
        let hint = did_you_mean(name, known, "names are those of parameters, `let`, variables and tables");
        fail(span, format!("`{name}` is not known here"), hint)
    }

    fn var(&self, name: &str, span: Span) -> Checked<usize> {
        match (self.lookup(name), self.declared.global(name)) {
            (None, Some(Global::Var(idx))) => Ok(idx),
            (Some(_), _) => fail(span, format!("`{name}` keeps its value"), "only variables and rows change"),
            (None, Some(other)) => {
                fail(span, format!("`{name}` is {}", other.describe()), "only variables and rows change")
            }
            (None, None) => self.unknown(name, span),
        }
    }

    pub(super) fn table(&self, name: &Ident) -> Checked<usize> {
        Ok(self.declared.vars.len() + self.declared.table_named(name)?.index())
    }

    pub(super) fn field(&self, relation: usize, field: &Ident) -> Checked<Parts> {
        let table = crate::ids::TableId::from_index(relation - self.declared.vars.len());
        self.declared.field_named(table, field).map(Parts::field)
    }
}

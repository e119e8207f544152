//! The state before anything runs: `var`, `init`, and values that are left open.

use super::World;
use super::fold;
use super::scope::{Mode, Scope};
use crate::error::{Checked, Span, fail};
use crate::ids::{SymbolId, TableId, UnitId};
use crate::program::{Expr, Initial, Symbol};
use crate::syntax::{self, AssignOp, ExprKind, Ident, Range, Row, StmtKind, Target};
use crate::value::Type;
use std::collections::BTreeMap;

/// What `init` says about a row.
#[derive(Debug, Default)]
struct Given {
    is_inserted: bool,
    maybe: Option<Span>,
    fields: BTreeMap<usize, Expr>,
}

/// What `init` says.
#[derive(Debug, Default)]
struct Init {
    vars: BTreeMap<usize, Expr>,
    rows: BTreeMap<UnitId, Given>,
}

impl World<'_, '_> {
    pub(super) fn initial(&mut self) -> Vec<Initial> {
        let mut init = Init::default();
        for (idx, var) in self.declared.vars.iter().enumerate() {
            if let Some(initial) = var.initial {
                let value = Scope::new(self, Mode::Constant).open_value(initial, var.ty, &var.name.text);
                if let Some(value) = self.keep(value) {
                    init.vars.insert(idx, value);
                }
            }
        }
        for stmt in &self.declared.init {
            let done = Scope::new(self, Mode::Constant).initialize(stmt, &mut init);
            self.keep(done);
        }
        (0..self.units.len()).map(|it| self.initial_of(UnitId::from_index(it), &mut init)).collect()
    }

    fn initial_of(&mut self, unit: UnitId, init: &mut Init) -> Initial {
        let defaults = self.units[unit.index()].fields.iter().map(|it| Expr::Const(it.ty.default_value()));
        let mut fields: Vec<Expr> = defaults.collect();
        if unit.index() < self.declared.vars.len() {
            if let Some(value) = init.vars.remove(&unit.index()) {
                fields[0] = value;
            }
            return Initial { exists: fold::TRUE, fields };
        }
        let Some(given) = init.rows.remove(&unit) else { return Initial { exists: fold::FALSE, fields } };
        for (position, value) in given.fields {
            fields[position] = value;
        }
        let exists = given.maybe.map_or(fold::TRUE, |span| {
            let name = format!("exists {}", self.units[unit.index()].name);
            self.symbol(Symbol { name, ty: Type::Bool, low: 0, high: 1, span })
        });
        Initial { exists, fields }
    }

    pub(super) fn symbol(&mut self, symbol: Symbol) -> Expr {
        self.symbols.push(symbol);
        Expr::Symbol(SymbolId::from_index(self.symbols.len() - 1))
    }

    /// A new open value of `any T in a..b`.
    pub(super) fn any(&mut self, ty: &Ident, range: Option<&Range>, name: &str, span: Span) -> Checked<Expr> {
        let ty = self.declared.type_named(ty)?;
        let (mut low, mut high) = match ty {
            Type::Int => self.declared.int_range(),
            Type::Bool => (0, 1),
            Type::Member(domain) => (0, i64::from(self.declared.n_members(domain)) - 1),
        };
        if ty == Type::TEXT && !self.declared.has_empty_text && high > 0 {
            low = 1;
        }
        if let Some(range) = range {
            if ty != Type::Int {
                return fail(range.span, "only numbers have ranges", "leave the range out");
            }
            (low, high) = (range.low, range.high);
            self.declared.int(low, range.span)?;
            self.declared.int(high, range.span)?;
        }
        Ok(self.symbol(Symbol { name: name.to_owned(), ty, low, high, span }))
    }
}

impl Scope<'_, '_, '_> {
    /// A constant, or a new open value, of this type.
    pub(super) fn open_value(&mut self, value: &syntax::Expr, ty: Type, name: &str) -> Checked<Expr> {
        let shown = self.world.declared.show_type(ty).to_owned();
        let hint = format!("`{name}` is {shown}");
        let ExprKind::Any { ty: any_ty, range } = &value.kind else {
            let constant = self.of_type(value, ty, &hint)?;
            // Nothing here depends on anything, so that only an overflow is left uncomputed.
            if !matches!(constant, Expr::Const(_)) {
                let message = format!("the value does not fit in {} bits", self.world.declared.width);
                return fail(value.span, message, "a program may declare more bits, as in `width 24`");
            }
            return Ok(constant);
        };
        let found = self.world.declared.type_named(any_ty)?;
        if found != ty {
            let found = self.world.declared.show_type(found);
            return fail(value.span, format!("expected {shown}, found {found}"), hint);
        }
        self.world.any(any_ty, range.as_ref(), name, value.span)
    }

    fn initialize(&mut self, stmt: &syntax::Stmt, init: &mut Init) -> Checked<()> {
        match &stmt.kind {
            StmtKind::Assign { target, op: AssignOp::Set, value } => match &target.kind {
                ExprKind::Field(Target::Row(row), field) => self.initialize_field(row, field, value, init),
                ExprKind::Name(name) => self.initialize_var(name, target.span, value, init),
                _ => fail(
                    target.span,
                    "this is no row",
                    "a row is named by its key, as in `accounts[\"x\"].balance = 60`",
                ),
            },
            StmtKind::Insert { row, fields } => self.initialize_row(row, fields, init, None),
            StmtKind::Maybe { row, fields } => self.initialize_row(row, fields, init, Some(stmt.span)),
            StmtKind::ForRange { name, low, high, body } => {
                self.for_range(name, low, high, |it| body.iter().try_for_each(|stmt| it.initialize(stmt, init)))
            }
            _ => {
                let hint = "`init` has `accounts[\"x\"].balance = 60`, `insert`, `maybe`, and loops over numbers";
                fail(stmt.span, "`init` only says what there is", hint)
            }
        }
    }

    fn initialize_var(&mut self, name: &str, at: Span, value: &syntax::Expr, init: &mut Init) -> Checked<()> {
        let idx = self.var_named(name, at)?;
        let value = self.open_value(value, self.world.declared.vars[idx].ty, name)?;
        if init.vars.insert(idx, value).is_some() {
            return fail(at, format!("`{name}` has two initial values"), "leave one of them out");
        }
        Ok(())
    }

    /// The row that a constant key names; nothing if this round does not know it yet.
    fn initial_row(&mut self, row: &Row) -> Checked<(TableId, Option<UnitId>)> {
        let choice = self.rows_at(row)?;
        if choice.rows.is_empty() && self.world.declared.tables[choice.table.index()].keys.is_some() {
            return fail(row.key.span, format!("this is no key of `{}`", row.table.text), "see its declaration");
        }
        Ok((choice.table, choice.rows.first().map(|it| it.1)))
    }

    fn unit_name(&self, unit: UnitId) -> &str {
        &self.world.units[unit.index()].name
    }

    fn initialize_field(&mut self, row: &Row, field: &Ident, value: &syntax::Expr, init: &mut Init) -> Checked<()> {
        let (table, unit) = self.initial_row(row)?;
        let position = self.world.declared.field_named(table, field)?;
        let ty = self.world.declared.tables[table.index()].fields[position].ty;
        let Some(unit) = unit else { return Ok(()) };
        let name = format!("{}.{}", self.unit_name(unit), field.text);
        let value = self.open_value(value, ty, &name)?;
        let given = init.rows.entry(unit).or_default();
        if given.is_inserted || given.fields.insert(position, value).is_some() {
            return fail(row.span.to(field.span), format!("`{name}` has two initial values"), "leave one of them out");
        }
        Ok(())
    }

    fn initialize_row(
        &mut self,
        row: &Row,
        fields: &[(Ident, syntax::Expr)],
        init: &mut Init,
        maybe: Option<Span>,
    ) -> Checked<()> {
        let (table, unit) = self.initial_row(row)?;
        let Some(unit) = unit else { return Ok(()) };
        let name = self.unit_name(unit).to_owned();
        let values = self.record(table, fields, |it, field, ty, value| {
            it.open_value(value, ty, &format!("{name}.{}", field.text))
        })?;
        let before = init.rows.get(&unit);
        // `maybe` without fields leaves them to assignments, before it or after it.
        let is_inserted = maybe.is_none() || !fields.is_empty();
        if before.is_some_and(|it| is_inserted || it.is_inserted || it.maybe.is_some()) {
            return fail(row.span, format!("`{name}` is given twice"), "leave one of them out");
        }
        let given = init.rows.entry(unit).or_default();
        (given.maybe, given.is_inserted) = (maybe, is_inserted);
        if is_inserted {
            given.fields = values.into_iter().enumerate().collect();
        }
        Ok(())
    }
}

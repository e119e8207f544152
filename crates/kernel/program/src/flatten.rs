//! From the syntax tree to the flat form: names, types, rows, and one body for each transaction that runs.
//!
//! The rows of a table are the keys that are used for it, and which these are shows only once parameters are replaced
//! and loops unrolled. So everything is flattened again, with the rows found so far, until no new row is found; the
//! limit of rows ends this. What is wrong counts in the last round only.

mod change;
pub(crate) mod declared;
mod expression;
mod fold;
mod initial;
mod rows;
mod runs;
mod scope;
mod statement;

use crate::error::{Checked, Problem, Span, fail};
use crate::ids::{SymbolId, TableId, UnitId};
use crate::parser::Parsed;
use crate::program::{Claim, Expr, Field, Initial, Instance, Program, Symbol, Table, Unit, UnitKind};
use crate::syntax::{self, ClaimKind};
use crate::value::{Type, Value};
use declared::{Declared, MAX_ROWS, declare, too_many_rows};
use scope::{Mode, Possible, Scope, Typed};
use std::collections::{BTreeMap, BTreeSet};

/// How many statements and expressions a program may have once everything is spelled out.
const MAX_SIZE: usize = 1_000_000;

/// Makes a program of what was read, or says what is wrong with it.
pub(crate) fn flatten(parsed: &Parsed, file: &str, text: &str) -> Result<Program, Vec<Problem>> {
    let mut problems = Vec::new();
    let declared = declare(&parsed.items, &parsed.texts, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let flat = settle_rows(&declared)?;
    let pick = |kind| {
        let chosen = declared.claims.iter().zip(&flat.claims).filter(move |it| it.0.kind == kind);
        chosen.map(|it| it.1.clone()).collect()
    };
    let (invariants, observers) = (pick(ClaimKind::Invariant), pick(ClaimKind::Observer));
    Ok(Program {
        file: file.to_owned(),
        text: text.to_owned(),
        width: declared.width,
        tables: flat.tables,
        units: flat.units,
        symbols: flat.symbols,
        initial: flat.initial,
        assumptions: flat.assumptions,
        instances: flat.instances,
        invariants,
        observers,
        domains: declared.domains,
    })
}

/// Everything that depends on which rows there are.
struct Flat {
    tables: Vec<Table>,
    units: Vec<Unit>,
    symbols: Vec<Symbol>,
    initial: Vec<Initial>,
    assumptions: Vec<Claim>,
    instances: Vec<Instance>,
    /// In the order of the text.
    claims: Vec<Claim>,
}

fn settle_rows(declared: &Declared<'_>) -> Result<Flat, Vec<Problem>> {
    let start = |it: &declared::TableDecl<'_>| it.keys.iter().flatten().map(|key| (*key, it.name.span)).collect();
    let mut keys: Vec<Keys> = declared.tables.iter().map(start).collect();
    loop {
        let mut world = World::new(declared, &keys);
        let flat = world.flatten();
        let n_rows = |keys: &[Keys]| keys.iter().map(BTreeMap::len).sum::<usize>();
        let mut more = keys.clone();
        for (known, wanted) in more.iter_mut().zip(&world.wanted) {
            for (key, at) in wanted {
                known.entry(*key).or_insert(*at);
            }
        }
        if n_rows(&more) == n_rows(&keys) {
            if world.problems.is_empty() {
                world
                    .problems
                    .extend(declared.tables.iter().zip(&keys).filter_map(|(table, keys)| no_rows(table, keys)));
            }
            world.problems.sort_unstable();
            world.problems.dedup();
            return if world.problems.is_empty() { Ok(flat) } else { Err(world.problems) };
        }
        for (table, keys) in declared.tables.iter().zip(&more) {
            if keys.len() > MAX_ROWS {
                let at = keys.values().max().copied().unwrap_or_default();
                too_many_rows::<()>(at, &table.name.text, keys.len() as u64).map_err(|it| vec![*it])?;
            }
        }
        keys = more;
    }
}

fn no_rows(table: &declared::TableDecl<'_>, keys: &Keys) -> Option<Problem> {
    let message = format!("`{}` has no rows: nothing names a key", table.name.text);
    let hint = format!("name one in `init`, or declare them, as in `table {}({} in 1..4)`", table.name.text, table.key);
    keys.is_empty().then(|| Problem::new(table.name.span, message, hint))
}

/// Keys of a table, each with a place that names it.
type Keys = BTreeMap<Value, Span>;

/// What is known while everything is flattened once.
pub(crate) struct World<'d, 's> {
    declared: &'d Declared<'s>,
    tables: Vec<Vec<(Value, UnitId)>>,
    units: Vec<Unit>,
    key_types: Vec<Option<Type>>,
    /// Keys that were used in this round.
    wanted: Vec<Keys>,
    symbols: Vec<Symbol>,
    problems: Vec<Problem>,
    has_assert: bool,
    size: usize,
}

impl<'d, 's> World<'d, 's> {
    fn new(declared: &'d Declared<'s>, keys: &[Keys]) -> Self {
        let vars = declared.vars.iter().map(|it| Unit {
            name: it.name.text.clone(),
            kind: UnitKind::Var,
            fields: vec![Field { name: String::new(), ty: it.ty }],
        });
        let mut units: Vec<Unit> = vars.collect();
        let mut tables = Vec::new();
        for (idx, (decl, keys)) in declared.tables.iter().zip(keys).enumerate() {
            let mut rows = Vec::new();
            for key in keys.keys() {
                rows.push((*key, UnitId::from_index(units.len())));
                units.push(Unit {
                    name: format!("{}[{}]", decl.name.text, declared.show(*key)),
                    kind: UnitKind::Row { table: TableId::from_index(idx), key: *key },
                    fields: decl.fields.clone(),
                });
            }
            tables.push(rows);
        }
        let key_type = |it: &declared::TableDecl<'_>| it.keys.as_ref().and_then(|it| it.first()).map(|it| it.type_of());
        Self {
            declared,
            tables,
            units,
            key_types: declared.tables.iter().map(key_type).collect(),
            wanted: vec![Keys::new(); declared.tables.len()],
            symbols: Vec::new(),
            problems: Vec::new(),
            has_assert: false,
            size: 0,
        }
    }

    fn flatten(&mut self) -> Flat {
        let initial = self.initial();
        let instances = self.instances();
        self.check_idle_txns(&instances);
        let assumptions = self.assumptions(&instances);
        let claims = self.claims();
        self.check_purpose();
        Flat {
            tables: self.declared.tables.iter().zip(&self.tables).map(|(decl, rows)| table(decl, rows)).collect(),
            units: self.units.clone(),
            symbols: self.symbols.clone(),
            initial,
            assumptions,
            instances,
            claims,
        }
    }

    fn rows(&self, table: TableId) -> &[(Value, UnitId)] {
        &self.tables[table.index()]
    }

    fn want(&mut self, table: TableId, keys: impl IntoIterator<Item = Value>, at: Span) {
        for key in keys {
            self.wanted[table.index()].entry(key).or_insert(at);
        }
    }

    fn values_of_symbol(&self, symbol: SymbolId) -> Possible {
        let symbol = &self.symbols[symbol.index()];
        if symbol.n_values() > MAX_ROWS as u64 {
            return Possible::TooMany;
        }
        Possible::Values((symbol.low..=symbol.high).map(|it| symbol.ty.value_of(it)).collect::<BTreeSet<_>>())
    }

    /// Counts what is made, so that loops in loops end with a message and not with the memory.
    fn charge(&mut self, amount: usize, at: Span) -> Checked<()> {
        self.size = self.size.saturating_add(amount);
        if self.size > MAX_SIZE {
            let hint = "use fewer rows, fewer loops in loops, or fewer transactions";
            return fail(at, "this program is too large once its loops are spelled out", hint);
        }
        Ok(())
    }

    /// The problem, if there is one, is kept for the end.
    fn keep<T>(&mut self, result: Checked<T>) -> Option<T> {
        result.map_err(|it| self.problems.push(*it)).ok()
    }

    fn claims(&mut self) -> Vec<Claim> {
        let mut claims = Vec::new();
        for decl in &self.declared.claims {
            let holds = Scope::new(self, Mode::State).condition(decl.holds);
            if let Some(holds) = self.keep(holds) {
                claims.push(Claim { label: decl.label.cloned(), holds, span: decl.holds.span });
            }
        }
        claims
    }

    fn assumptions(&mut self, instances: &[Instance]) -> Vec<Claim> {
        let mut claims = Vec::new();
        for holds in &self.declared.assumptions {
            self.assume(holds, instances, &mut Vec::new(), &mut claims);
        }
        claims
    }

    /// An assumption that speaks of transactions holds for all of their instances: it is made for each combination.
    fn assume(
        &mut self,
        condition: &syntax::Expr,
        instances: &[Instance],
        params: &mut Vec<(String, Vec<(String, Typed)>)>,
        claims: &mut Vec<Claim>,
    ) {
        let mut scope = Scope::new(self, Mode::Assumption);
        scope.params.clone_from(params);
        let holds = scope.condition(condition);
        let missing = scope.missing.take();
        let chosen: Vec<&Instance> =
            instances.iter().filter(|it| Some(&it.txn) == missing.as_ref().map(|it| &it.text)).collect();
        if chosen.is_empty()
            && let Some(holds) = self.keep(holds)
        {
            claims.push(Claim { label: None, holds, span: condition.span });
        }
        for instance in chosen {
            let typed = |expr: &Expr| Typed { ty: self.type_of_argument(expr), expr: expr.clone() };
            let values = instance.arguments.iter().map(|(name, it)| (name.clone(), typed(it))).collect();
            params.push((instance.txn.clone(), values));
            self.assume(condition, instances, params, claims);
            params.pop();
        }
    }

    fn type_of_argument(&self, argument: &Expr) -> Type {
        match argument {
            Expr::Symbol(symbol) => self.symbols[symbol.index()].ty,
            Expr::Const(value) => value.type_of(),
            _ => unreachable!("arguments are constants or symbols"),
        }
    }

    /// What else is wrong matters more.
    fn check_purpose(&mut self) {
        if !self.problems.is_empty() {
            return;
        }
        if self.declared.sessions.is_empty() {
            let hint = "say what runs, as in `run withdraw(\"x\", 100) || withdraw(\"y\", 100)`";
            self.problems.push(Problem::new(Span::default(), "nothing runs", hint));
        } else if self.declared.claims.is_empty() && !self.has_assert {
            let hint = "say what must hold, as in `invariant x + y > 0`, or with `assert` in a transaction";
            self.problems.push(Problem::new(Span::default(), "nothing is claimed", hint));
        }
    }
}

fn table(decl: &declared::TableDecl<'_>, rows: &[(Value, UnitId)]) -> Table {
    Table {
        name: decl.name.text.clone(),
        key: decl.key.to_owned(),
        fields: decl.fields.clone(),
        rows: rows.iter().map(|it| it.1).collect(),
    }
}

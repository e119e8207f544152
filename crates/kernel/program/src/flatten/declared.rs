//! What the items of a program declare: names, types, tables, and what runs.

use crate::error::{Checked, Problem, Span, did_you_mean, fail};
use crate::ids::{DomainId, TableId};
use crate::program::{Domain, Field};
use crate::syntax::{ClaimKind, Expr, ExprKind, Ident, Item, ItemKind, Keys, Session, Stmt, Table, TxnItem};
use crate::value::{Type, Value};
use std::collections::BTreeMap;

/// How many rows a table may have.
pub(crate) const MAX_ROWS: usize = 64;
const DEFAULT_WIDTH: u32 = 16;
const NAME_ONCE: &str = "give one of them another name";

/// The items of a program by kind, with their names and types resolved.
#[derive(Debug)]
pub(crate) struct Declared<'s> {
    pub(crate) width: u32,
    pub(crate) domains: Vec<Domain>,
    /// Does the program write out the empty text?
    pub(crate) has_empty_text: bool,
    pub(crate) vars: Vec<Var<'s>>,
    pub(crate) tables: Vec<TableDecl<'s>>,
    pub(crate) txns: Vec<&'s TxnItem>,
    pub(crate) init: Vec<&'s Stmt>,
    pub(crate) assumptions: Vec<&'s Expr>,
    pub(crate) sessions: &'s [Session],
    pub(crate) claims: Vec<ClaimDecl<'s>>,
    names: BTreeMap<&'s str, Global>,
}

#[derive(Debug)]
pub(crate) struct Var<'s> {
    pub(crate) name: &'s Ident,
    pub(crate) ty: Type,
    pub(crate) initial: Option<&'s Expr>,
}

#[derive(Debug)]
pub(crate) struct TableDecl<'s> {
    pub(crate) name: &'s Ident,
    pub(crate) key: &'s str,
    /// Keys that are declared; otherwise those that are used.
    pub(crate) keys: Option<Vec<Value>>,
    pub(crate) fields: Vec<Field>,
}

#[derive(Debug)]
pub(crate) struct ClaimDecl<'s> {
    pub(crate) kind: ClaimKind,
    pub(crate) label: Option<&'s String>,
    pub(crate) holds: &'s Expr,
}

/// What a name means everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Global {
    Var(usize),
    Table(TableId),
    Enum(DomainId),
    Member(DomainId, u32),
    Txn(usize),
}

impl Global {
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Var(_) => "a variable",
            Self::Table(_) => "a table",
            Self::Enum(_) => "an enum",
            Self::Member(..) => "a member of an enum",
            Self::Txn(_) => "a transaction",
        }
    }
}

/// Sorts the items out. What cannot be used is left out and is among the problems.
pub(crate) fn declare<'s>(items: &'s [Item], texts: &[String], problems: &mut Vec<Problem>) -> Declared<'s> {
    let mut declared = Declared {
        width: DEFAULT_WIDTH,
        domains: vec![text_domain(texts)],
        has_empty_text: texts.iter().any(String::is_empty),
        vars: Vec::new(),
        tables: Vec::new(),
        txns: Vec::new(),
        init: Vec::new(),
        assumptions: Vec::new(),
        sessions: &[],
        claims: Vec::new(),
        names: BTreeMap::new(),
    };
    // Types come first: a variable may stand before the enum that it is of.
    for pass in [Declared::declare_type, Declared::declare_item] {
        for item in items {
            if let Err(problem) = pass(&mut declared, item) {
                problems.push(*problem);
            }
        }
    }
    declared
}

fn text_domain(texts: &[String]) -> Domain {
    let mut members = vec![String::new()];
    for text in texts {
        if !members.contains(text) {
            members.push(text.clone());
        }
    }
    Domain { name: "text".to_owned(), members }
}

impl<'s> Declared<'s> {
    pub(crate) fn global(&self, name: &str) -> Option<Global> {
        self.names.get(name).copied()
    }

    pub(crate) fn global_names(&self) -> impl Iterator<Item = &'s str> {
        self.names.keys().copied()
    }

    pub(crate) fn int_range(&self) -> (i64, i64) {
        let half = 1_i64 << (self.width - 1);
        (-half, half - 1)
    }

    pub(crate) fn int(&self, number: i64, at: Span) -> Checked<Value> {
        let (low, high) = self.int_range();
        if (low..=high).contains(&number) {
            return Ok(Value::Int(number));
        }
        let message = format!("{number} does not fit in {} bits, which hold {low} to {high}", self.width);
        fail(at, message, "a program may declare more bits, as in `width 24`")
    }

    pub(crate) fn text(&self, text: &str) -> Value {
        let members = &self.domains[DomainId::TEXT.index()].members;
        let index = members.iter().position(|it| it == text).unwrap_or(0);
        Value::Member(DomainId::TEXT, index as u32)
    }

    pub(crate) fn n_members(&self, domain: DomainId) -> u32 {
        self.domains[domain.index()].members.len() as u32
    }

    pub(crate) fn show_type(&self, ty: Type) -> &str {
        match ty {
            Type::Int => "int",
            Type::Bool => "bool",
            Type::Member(domain) => &self.domains[domain.index()].name,
        }
    }

    pub(crate) fn show(&self, value: Value) -> String {
        match value {
            Value::Int(number) => number.to_string(),
            Value::Bool(truth) => truth.to_string(),
            Value::Member(domain, index) => {
                let member = &self.domains[domain.index()].members[index as usize];
                if domain == DomainId::TEXT { crate::print::quoted(member) } else { member.clone() }
            }
        }
    }

    pub(crate) fn type_named(&self, name: &Ident) -> Checked<Type> {
        match (name.text.as_str(), self.global(&name.text)) {
            ("int", _) => Ok(Type::Int),
            ("bool", _) => Ok(Type::Bool),
            ("text", _) => Ok(Type::TEXT),
            (_, Some(Global::Enum(domain))) => Ok(Type::Member(domain)),
            _ => {
                let known = self.domains.iter().map(|it| it.name.as_str()).chain(["int", "bool"]);
                let hint = did_you_mean(&name.text, known, "types are `int`, `bool`, `text` and the enums");
                fail(name.span, format!("there is no type `{}`", name.text), hint)
            }
        }
    }

    pub(crate) fn table_named(&self, name: &Ident) -> Checked<TableId> {
        if let Some(Global::Table(table)) = self.global(&name.text) {
            return Ok(table);
        }
        let known = self.tables.iter().map(|it| it.name.text.as_str());
        let hint = did_you_mean(&name.text, known, "tables are declared as in `table accounts(id) { balance: int }`");
        fail(name.span, format!("there is no table `{}`", name.text), hint)
    }

    pub(crate) fn txn_named(&self, name: &Ident) -> Checked<&'s TxnItem> {
        if let Some(Global::Txn(idx)) = self.global(&name.text) {
            return Ok(self.txns[idx]);
        }
        let known = self.txns.iter().map(|it| it.name.text.as_str());
        let hint = did_you_mean(&name.text, known, "transactions are declared as in `txn audit() { .. }`");
        fail(name.span, format!("there is no transaction `{}`", name.text), hint)
    }

    /// The position of a field of a table.
    pub(crate) fn field_named(&self, table: TableId, field: &Ident) -> Checked<usize> {
        let decl = &self.tables[table.index()];
        if let Some(position) = decl.fields.iter().position(|it| it.name == field.text) {
            return Ok(position);
        }
        let message = format!("`{}` has no field `{}`", decl.name.text, field.text);
        if decl.key == field.text {
            let message = format!("`{}` is the key of `{}`", field.text, decl.name.text);
            return fail(field.span, message, "it is what stands in brackets, and does not change");
        }
        let known: Vec<&str> = decl.fields.iter().map(|it| it.name.as_str()).collect();
        let otherwise = match known.as_slice() {
            [] => "it has none: its rows only exist or do not".to_owned(),
            _ => format!("its fields are `{}`", known.join("`, `")),
        };
        fail(field.span, message, did_you_mean(&field.text, known.iter().copied(), &otherwise))
    }

    fn name(&mut self, name: &'s Ident, global: Global) -> Checked<()> {
        if ["int", "bool", "text"].contains(&name.text.as_str()) {
            return fail(name.span, format!("`{}` is the name of a type", name.text), NAME_ONCE);
        }
        if let Some(before) = self.global(&name.text) {
            let message = format!("`{}` is already {}", name.text, before.describe());
            return fail(name.span, message, NAME_ONCE);
        }
        self.names.insert(&name.text, global);
        Ok(())
    }

    fn declare_type(&mut self, item: &'s Item) -> Checked<()> {
        match &item.kind {
            ItemKind::Width(bits) => match u32::try_from(*bits) {
                Ok(bits @ 4..=32) => self.width = bits,
                _ => return fail(item.span, format!("integers cannot have {bits} bits"), "a width is 4 to 32"),
            },
            ItemKind::Enum { name, members } => {
                let domain = DomainId::from_index(self.domains.len());
                self.name(name, Global::Enum(domain))?;
                let names = members.iter().map(|it| it.text.clone()).collect();
                self.domains.push(Domain { name: name.text.clone(), members: names });
                for (index, member) in members.iter().enumerate() {
                    self.name(member, Global::Member(domain, index as u32))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn declare_item(&mut self, item: &'s Item) -> Checked<()> {
        match &item.kind {
            ItemKind::Width(_) | ItemKind::Enum { .. } => {}
            ItemKind::Var { name, ty, initial } => {
                let ty = self.type_named(ty)?;
                self.name(name, Global::Var(self.vars.len()))?;
                self.vars.push(Var { name, ty, initial: initial.as_ref() });
            }
            ItemKind::Table(table) => self.declare_table(table)?,
            ItemKind::Init(stmts) => self.init.extend(stmts),
            ItemKind::Assume(holds) => self.assumptions.push(holds),
            ItemKind::Txn(txn) => {
                self.name(&txn.name, Global::Txn(self.txns.len()))?;
                self.txns.push(txn);
            }
            ItemKind::Run(sessions) => {
                if !self.sessions.is_empty() {
                    return fail(
                        item.span,
                        "there are two `run`s",
                        "write all sessions in one, with `||` between them",
                    );
                }
                self.sessions = sessions;
            }
            ItemKind::Claim { kind, label, holds } => {
                self.claims.push(ClaimDecl { kind: *kind, label: label.as_ref(), holds });
            }
        }
        Ok(())
    }

    fn declare_table(&mut self, table: &'s Table) -> Checked<()> {
        let mut fields: Vec<Field> = Vec::new();
        for (field, ty) in &table.fields {
            let ty = self.type_named(ty)?;
            if field.text == table.key.text || fields.iter().any(|it| it.name == field.text) {
                let message = format!("`{}` has two things called `{}`", table.name.text, field.text);
                return fail(field.span, message, NAME_ONCE);
            }
            fields.push(Field { name: field.text.clone(), ty });
        }
        let keys = table.keys.as_ref().map(|it| self.declared_keys(table, it)).transpose()?;
        self.name(&table.name, Global::Table(TableId::from_index(self.tables.len())))?;
        self.tables.push(TableDecl { name: &table.name, key: &table.key.text, keys, fields });
        Ok(())
    }

    fn declared_keys(&self, table: &Table, keys: &Keys) -> Checked<Vec<Value>> {
        let mut values = match keys {
            Keys::Range(range) => {
                let n_keys = range.high.abs_diff(range.low).saturating_add(1);
                if n_keys > MAX_ROWS as u64 {
                    return too_many_rows(range.span, &table.name.text, n_keys);
                }
                (range.low..=range.high).map(|it| self.int(it, range.span)).collect::<Checked<Vec<_>>>()?
            }
            Keys::List(keys) => keys.iter().map(|it| self.key_constant(it)).collect::<Checked<Vec<_>>>()?,
        };
        if values.iter().any(|it| it.type_of() != values[0].type_of()) {
            let message = format!("the keys of `{}` are numbers and texts", table.name.text);
            return fail(table.key.span, message, "keys of a table have one type");
        }
        values.sort_unstable();
        values.dedup();
        if values.len() > MAX_ROWS {
            return too_many_rows(table.key.span, &table.name.text, values.len() as u64);
        }
        Ok(values)
    }

    fn key_constant(&self, key: &Expr) -> Checked<Value> {
        match &key.kind {
            ExprKind::Int(number) => self.int(*number, key.span),
            ExprKind::Text(text) => Ok(self.text(text)),
            _ => fail(key.span, "a key is a number or a text", "as in `no in 1..4` or `name in \"a\", \"b\"`"),
        }
    }
}

pub(crate) fn too_many_rows<T>(at: Span, table: &str, n_rows: u64) -> Checked<T> {
    let message = format!("`{table}` would have {n_rows} rows");
    fail(
        at,
        message,
        format!(
            "at most {MAX_ROWS} are allowed: use smaller ranges, or declare the keys, as in `table {table}(id in 1..4)`"
        ),
    )
}

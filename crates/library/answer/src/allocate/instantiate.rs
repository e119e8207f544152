//! From a split run of templates to a program that can run it: arguments, rows, and which of them exist.

use iso_allocate::{Danger, Member, RowValue};
use iso_program::{Constant, Program, RowKey, Templates, parse};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// How many ways to choose between numbers and texts are tried.
const MAX_CHOICES: u32 = 256;

/// A program whose `run` has the members of a split run, in their order. Everything else is open: which rows of tables
/// that grow exist, and what is in them. Nothing if no choice of arguments fits the types.
pub(super) fn instantiate(templates: &Templates, danger: &Danger) -> Option<Program> {
    let holders = holders(templates, danger);
    let n_choices = 1_u32.checked_shl(holders.len() as u32).unwrap_or(MAX_CHOICES).min(MAX_CHOICES);
    let mut choices: Vec<u32> = (0..n_choices).collect();
    // Few texts first.
    choices.sort_by_key(|it| it.count_ones());
    choices.into_iter().find_map(|choice| {
        let is_text =
            |it: &Holder| holders.iter().position(|other| other == it).is_some_and(|it| choice >> it & 1 == 1);
        let values = row_values(templates, danger, &is_text)?;
        parse(&program_text(templates, danger, &values, &is_text), templates.file()).ok()
    })
}

/// What needs a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    /// Rows.
    Row(usize),
    /// A parameter of a template that names no row.
    Param(usize, usize),
}

fn holders(templates: &Templates, danger: &Danger) -> Vec<Holder> {
    let mut holders = BTreeSet::new();
    for member in &danger.members {
        for value in &member.values {
            if let RowValue::Symbol(symbol) = value {
                holders.insert(Holder::Row(*symbol));
            }
        }
        let template = &templates.templates()[member.template];
        for param in 0..template.params.len() {
            if value_of_param(templates, member, param).is_none() {
                holders.insert(Holder::Param(member.template, param));
            }
        }
    }
    holders.into_iter().collect()
}

/// The row that a parameter names.
fn value_of_param<'d>(templates: &Templates, member: &'d Member, param: usize) -> Option<&'d RowValue> {
    let way = &templates.templates()[member.template].ways[member.way];
    let variable = way.variables.iter().position(|it| it.param == Some(param))?;
    member.values.get(variable)
}

/// The tables whose rows a symbol names.
fn relations_of(templates: &Templates, danger: &Danger, symbol: usize) -> BTreeSet<usize> {
    let mut relations = BTreeSet::new();
    for member in &danger.members {
        let way = &templates.templates()[member.template].ways[member.way];
        for access in &way.accesses {
            if let RowKey::Variable(variable) = access.key
                && member.values[variable] == RowValue::Symbol(symbol)
            {
                relations.insert(access.relation);
            }
        }
    }
    relations
}

/// A constant for each symbol, all different.
fn row_values(
    templates: &Templates,
    danger: &Danger,
    is_text: &dyn Fn(&Holder) -> bool,
) -> Option<BTreeMap<usize, Constant>> {
    let ways = templates.templates().iter().flat_map(|it| &it.ways);
    let keys = ways.flat_map(|it| &it.accesses).filter_map(|it| match &it.key {
        RowKey::Constant(constant) => Some(constant.clone()),
        _ => None,
    });
    let mut taken: BTreeSet<Constant> = keys.collect();
    let mut values = BTreeMap::new();
    for holder in holders(templates, danger) {
        let Holder::Row(symbol) = holder else { continue };
        let relations = relations_of(templates, danger, symbol);
        let declared = relations.iter().find_map(|it| templates.relations()[*it].keys.as_ref());
        let value = match declared {
            Some(keys) => keys.iter().find(|it| !taken.contains(*it))?.clone(),
            None if is_text(&holder) => free((1..).map(|it| Constant::Text(format!("r{it}"))), &taken)?,
            None => free((1..).map(Constant::Int), &taken)?,
        };
        taken.insert(value.clone());
        values.insert(symbol, value);
    }
    Some(values)
}

fn free(mut candidates: impl Iterator<Item = Constant>, taken: &BTreeSet<Constant>) -> Option<Constant> {
    candidates.find(|it| !taken.contains(it))
}

fn program_text(
    templates: &Templates,
    danger: &Danger,
    values: &BTreeMap<usize, Constant>,
    is_text: &dyn Fn(&Holder) -> bool,
) -> String {
    let mut text = templates.open_text();
    text += "\ninit {\n";
    for (relation, keys) in rows(templates, danger, values) {
        let of = &templates.relations()[relation];
        let fields = of.fields.iter().zip(&of.types).map(|(name, ty)| format!("{name}: any {ty}"));
        let fields = fields.collect::<Vec<_>>().join(", ");
        let record = if fields.is_empty() { String::new() } else { format!(" {{ {fields} }}") };
        for key in keys {
            let word = if of.grows { "maybe" } else { "insert" };
            let _ = writeln!(text, "{word} {}[{}]{record}", of.name, shown(&key));
        }
    }
    text += "}\nrun ";
    let calls: Vec<String> = danger.members.iter().map(|it| call(templates, it, values, is_text)).collect();
    text += &calls.join("\n    || ");
    text + "\ninvariant true\n"
}

/// By table, the keys of its rows: those that the members name, and at least one.
fn rows(
    templates: &Templates,
    danger: &Danger,
    values: &BTreeMap<usize, Constant>,
) -> BTreeMap<usize, BTreeSet<Constant>> {
    let tables = templates.relations().iter().enumerate().filter(|it| !it.1.is_var);
    let mut rows: BTreeMap<usize, BTreeSet<Constant>> =
        tables.map(|(idx, it)| (idx, it.keys.iter().flatten().cloned().collect())).collect();
    for member in &danger.members {
        let way = &templates.templates()[member.template].ways[member.way];
        for access in &way.accesses {
            let key = match &access.key {
                RowKey::Constant(constant) => Some(constant),
                RowKey::Variable(variable) => constant_of(&member.values[*variable], values),
                RowKey::All => None,
            };
            if let (Some(key), Some(keys)) = (key, rows.get_mut(&access.relation)) {
                keys.insert(key.clone());
            }
        }
    }
    for keys in rows.values_mut().filter(|it| it.is_empty()) {
        keys.insert(Constant::Int(1));
    }
    rows
}

fn constant_of<'v>(value: &'v RowValue, values: &'v BTreeMap<usize, Constant>) -> Option<&'v Constant> {
    match value {
        RowValue::Constant(constant) => Some(constant),
        RowValue::Symbol(symbol) => values.get(symbol),
    }
}

fn call(
    templates: &Templates,
    member: &Member,
    values: &BTreeMap<usize, Constant>,
    is_text: &dyn Fn(&Holder) -> bool,
) -> String {
    let template = &templates.templates()[member.template];
    let argument = |param: usize| match value_of_param(templates, member, param) {
        Some(value) => constant_of(value, values).map_or_else(|| "0".to_owned(), shown),
        None => match &template.types[param] {
            Some(ty) => format!("any {ty}"),
            None if is_text(&Holder::Param(member.template, param)) => "any text".to_owned(),
            None => "any int".to_owned(),
        },
    };
    let arguments: Vec<String> = (0..template.params.len()).map(argument).collect();
    format!("{}({})", template.name, arguments.join(", "))
}

fn shown(constant: &Constant) -> String {
    match constant {
        Constant::Only => String::new(),
        Constant::Int(number) => number.to_string(),
        Constant::Text(text) => format!("{text:?}"),
    }
}

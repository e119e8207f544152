//! From a split run of templates to a program that can run it: arguments, rows, and which of them exist.

use iso_allocate::{Danger, Member, RowValue};
use iso_program::{Constant, Program, ProgramError, Relation, RowKey, Templates, Value, parse};
use std::collections::{BTreeMap, BTreeSet};

/// How many ways to choose between numbers and texts are tried.
const MAX_CHOICES: u32 = 256;

/// A program whose `run` has the members of a split run, in their order.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    /// What was added to the open text of the templates.
    pub(super) text: String,
    pub(super) program: Program,
}

impl Setup {
    /// The program that this text makes of templates.
    pub(super) fn read(templates: &Templates, text: String) -> Result<Self, Vec<ProgramError>> {
        let program = parse(&(templates.open_text() + &text), templates.file())?;
        Ok(Self { text, program })
    }
}

/// How a split run becomes a program: which rows it names, and which of them are texts.
pub(super) struct Plan<'d> {
    templates: &'d Templates,
    danger: &'d Danger,
    values: BTreeMap<usize, Constant>,
    texts: BTreeSet<Holder>,
    /// Everything but the members is open: which rows of tables that grow exist, and what is in them.
    pub(super) open: Setup,
}

impl<'d> Plan<'d> {
    /// Nothing if no choice of arguments fits the types.
    pub(super) fn new(templates: &'d Templates, danger: &'d Danger) -> Option<Self> {
        let holders = holders(templates, danger);
        let n_choices = 1_u32.checked_shl(holders.len() as u32).unwrap_or(MAX_CHOICES).min(MAX_CHOICES);
        let mut choices: Vec<u32> = (0..n_choices).collect();
        // Few texts first.
        choices.sort_by_key(|it| it.count_ones());
        choices.into_iter().find_map(|choice| {
            let chosen = holders.iter().enumerate().filter(|it| choice >> it.0 & 1 == 1);
            let texts: BTreeSet<Holder> = chosen.map(|it| it.1.clone()).collect();
            let values = row_values(templates, danger, &|it| texts.contains(it))?;
            let text = setup_text(templates, danger, &values, &|it| texts.contains(it), &BTreeMap::new());
            let open = Setup::read(templates, text).ok()?;
            Some(Self { templates, danger, values, texts, open })
        })
    }

    /// The program with these values in place of what is open, and the values of what still is.
    pub(super) fn closed(&self, symbols: &[Value]) -> Option<(Setup, Vec<Value>)> {
        let program = &self.open.program;
        let shown = |(symbol, value): (&iso_program::Symbol, &Value)| (symbol.name.clone(), program.show(*value));
        let known: BTreeMap<String, String> = program.symbols().iter().zip(symbols).map(shown).collect();
        let text = setup_text(self.templates, self.danger, &self.values, &|it| self.texts.contains(it), &known);
        let closed = Setup::read(self.templates, text).ok()?;
        let left = closed.program.symbols().iter();
        let values = left.map(|it| closed.program.value_of(it.ty, known.get(&it.name)?)).collect::<Option<_>>()?;
        Some((closed, values))
    }
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

/// `init` and `run`; what is `known` by the name of its open value is not open.
fn setup_text(
    templates: &Templates,
    danger: &Danger,
    values: &BTreeMap<usize, Constant>,
    is_text: &dyn Fn(&Holder) -> bool,
    known: &BTreeMap<String, String>,
) -> String {
    let mut text = "\ninit {\n".to_owned();
    for (relation, keys) in rows(templates, danger, values) {
        for key in keys {
            text += &row_text(&templates.relations()[relation], &key, known);
        }
    }
    text += "}\nrun ";
    let mut calls = Vec::new();
    for (idx, member) in danger.members.iter().enumerate() {
        let same = |it: &&Member| it.template == member.template;
        let name = &templates.templates()[member.template].name;
        let instance = match danger.members.iter().filter(same).count() {
            1 => name.clone(),
            _ => format!("{name}#{}", danger.members[..=idx].iter().filter(same).count()),
        };
        calls.push(call(templates, member, values, is_text, &|param| known.get(&format!("{instance}.{param}"))));
    }
    text += &calls.join("\n    || ");
    text + "\ninvariant true\n"
}

/// The row of a table as `init` has it; nothing if it is known not to exist.
fn row_text(of: &Relation, key: &Constant, known: &BTreeMap<String, String>) -> String {
    let row = format!("{}[{}]", of.name, shown(key));
    let field = |(name, ty): (&String, &String)| match known.get(&format!("{row}.{name}")) {
        Some(value) => format!("{name}: {value}"),
        None => format!("{name}: any {ty}"),
    };
    let fields: Vec<String> = of.fields.iter().zip(&of.types).map(field).collect();
    let record = if fields.is_empty() { String::new() } else { format!(" {{ {} }}", fields.join(", ")) };
    match known.get(&format!("exists {row}")).map(String::as_str) {
        Some("false") => String::new(),
        None if of.grows => format!("    maybe {row}{record}\n"),
        _ => format!("    insert {row}{record}\n"),
    }
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

fn call<'k>(
    templates: &Templates,
    member: &Member,
    values: &BTreeMap<usize, Constant>,
    is_text: &dyn Fn(&Holder) -> bool,
    known: &dyn Fn(&str) -> Option<&'k String>,
) -> String {
    let template = &templates.templates()[member.template];
    let argument = |param: usize| match value_of_param(templates, member, param) {
        None if known(&template.params[param]).is_some() => known(&template.params[param]).cloned().unwrap_or_default(),
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

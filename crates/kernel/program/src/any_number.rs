//! Questions about any number of transactions, as programs: one transaction from any state that satisfies what is claimed, the
//! initial state alone, and some transactions with open arguments.
//!
//! If all runs are as serial ones, the claims hold in the initial state, and every transaction alone keeps them from every
//! state in which they hold, then they hold however many run. The rows are those of the program, and so are the texts. Lines
//! stay where they are in all of these programs.

use crate::error::{Problem, ProgramError, Span};
use crate::execution::run_execution;
use crate::ids::{TableId, UnitId};
use crate::interpret::{Judgement, Outcome, judge, judge_assumptions};
use crate::parser::parse_items;
use crate::print::{print, quoted};
use crate::program::{Expr, Program, UnitKind};
use crate::syntax::{self, ClaimKind, Item, ItemKind};
use crate::templates::{Constant, RowKey, Templates};
use crate::value::{Type, Value};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A program with its transactions left open.
#[derive(Clone, Debug)]
pub struct AnyNumber {
    file: String,
    text: String,
    parts: Vec<Part>,
    program: Program,
    tables: Vec<OpenTable>,
    txns: Vec<OpenTxn>,
    /// Texts that only `run` has.
    texts: Vec<String>,
}

/// An item of the text that may be replaced.
#[derive(Clone, Debug)]
struct Part {
    span: Span,
    kind: PartKind,
}

#[derive(Clone, Debug)]
enum PartKind {
    Run,
    Init,
    Assume { condition: String },
    Observer { label: Option<String>, condition: String },
    Invariant { condition: String },
    Var { name: String, ty: String },
    Table { name: String },
}

#[derive(Clone, Debug)]
struct OpenTable {
    name: String,
    key: String,
    fields: Vec<(String, String)>,
    grows: bool,
    /// The keys as the program spells them, and whether the row can exist at first.
    rows: Vec<(Value, String, bool)>,
}

#[derive(Clone, Debug)]
struct OpenTxn {
    name: String,
    params: Vec<OpenParam>,
    asserts: bool,
}

#[derive(Clone, Debug)]
struct OpenParam {
    name: String,
    ty: String,
    /// The keys of the rows that it may name, if it names rows.
    keys: Option<Vec<(Value, String)>>,
}

/// What going through all cases of a program shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhaustive {
    /// Nothing is ever wrong.
    Holds {
        /// How many cases satisfy what is assumed.
        cases: u64,
    },
    /// Something is.
    Fails,
    /// There are too many.
    TooMany,
}

impl AnyNumber {
    /// Reads a program. It needs rows and claims; `run` may be missing.
    pub fn parse(text: &str, file: &str) -> Result<Self, Vec<ProgramError>> {
        let templates = Templates::parse(text, file)?;
        let parsed = parse_items(text);
        let parts: Vec<Part> = parsed.items.iter().filter_map(part).collect();
        let run = parts.iter().find(|it| matches!(it.kind, PartKind::Run));
        let names: Vec<&str> = templates.templates().iter().map(|it| it.name.as_str()).collect();
        let program = if run.is_some() {
            crate::parse(text, file)?
        } else {
            // Nothing runs, so nothing can be assumed about it.
            let based = edited(text, &parts, &idle(text), &|part| match &part.kind {
                PartKind::Assume { condition } if !mentioned(condition, &names).is_empty() => Some(String::new()),
                _ => None,
            });
            crate::parse(&based, file)?
        };
        let texts = run.map(|it| texts_in(&text[range(it.span)])).unwrap_or_default();
        let tables = tables(&program, &templates);
        let mut txns = txns(&program, &templates, &tables).map_err(|it| vec![it.locate(file, text)])?;
        for item in &parsed.items {
            let ItemKind::Txn(of) = &item.kind else { continue };
            let asserts = words(&text[range(item.span)]).iter().any(|it| it.0 == "assert");
            txns.iter_mut().filter(|it| it.name == of.name.text).for_each(|it| it.asserts = asserts);
        }
        Ok(Self { file: file.to_owned(), text: text.to_owned(), parts, program, tables, txns, texts }.typed())
    }

    /// The same for a text that may have neither rows nor claims: tables without rows get so many, with numbers for keys, and
    /// claims that say nothing.
    pub fn with_rows(text: &str, file: &str, n_rows: usize) -> Result<Self, Vec<ProgramError>> {
        let templates = Templates::parse(text, file)?;
        let parts: Vec<Part> = parse_items(text).items.iter().filter_map(part).collect();
        let mut furnished = text.to_owned();
        if !parts.iter().any(|it| matches!(it.kind, PartKind::Init)) {
            furnished += "\ninit {\n";
            for table in templates.relations().iter().filter(|it| !it.is_var) {
                let field = |(name, ty): (&String, &String)| (ty == "int").then(|| format!("{name}: 100"));
                let fields: Vec<String> = table.fields.iter().zip(&table.types).filter_map(field).collect();
                let record = if fields.is_empty() { String::new() } else { format!(" {{ {} }}", fields.join(", ")) };
                let shown = |it: &Constant| match it {
                    Constant::Text(text) => quoted(text),
                    Constant::Int(number) => number.to_string(),
                    Constant::Only => String::new(),
                };
                let keys: Vec<String> = match &table.keys {
                    Some(keys) => keys.iter().map(shown).collect(),
                    None => (1..=n_rows).map(|it| it.to_string()).collect(),
                };
                for key in keys {
                    let _ = writeln!(furnished, "insert {}[{key}]{record}", table.name);
                }
            }
            furnished += "}\n";
        }
        let is_claim = |it: &Part| matches!(it.kind, PartKind::Invariant { .. } | PartKind::Observer { .. });
        if !parts.iter().any(is_claim) {
            furnished += "\ninvariant true\n";
        }
        Self::parse(&furnished, file)
    }

    /// The program as it is, with an idle transaction if it runs none.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The names of the transactions, in the order of the text.
    pub fn names(&self) -> Vec<&str> {
        self.txns.iter().map(|it| it.name.as_str()).collect()
    }

    /// The transactions that assert something. Whoever fails does not commit, so that what it saw need not be what it would have
    /// seen in a serial run, even if all that commit are serializable.
    pub fn asserting(&self) -> Vec<&str> {
        self.txns.iter().filter(|it| it.asserts).map(|it| it.name.as_str()).collect()
    }

    /// The transactions, and one for each observer, which looks at what it claims: all of them together must be as if they
    /// were serial.
    pub fn transactions_text(&self) -> String {
        let mut text = self.text.clone();
        for (idx, part) in self.parts.iter().enumerate() {
            if let PartKind::Observer { condition, .. } = &part.kind {
                let name = self.fresh(&format!("observer_{idx}"));
                let _ = write!(text, "\ntxn {name}() {{ let {name}_sees = ({condition}) }}\n");
            }
        }
        text
    }

    /// Does the initial state satisfy what is claimed?
    pub fn initial_text(&self) -> String {
        let rest = idle(&self.text);
        self.edited(&rest, &|part| match &part.kind {
            PartKind::Run => Some(String::new()),
            PartKind::Assume { condition } => (!self.mentions(condition).is_empty()).then(String::new),
            PartKind::Observer { label, condition } => Some(invariant(label.as_ref(), condition)),
            PartKind::Table { name } => self.declared(name),
            _ => None,
        })
    }

    /// Does a transaction, with any arguments, keep what is claimed if it starts in any state in which that holds?
    ///
    /// # Panics
    /// If there is no such transaction.
    pub fn step_text(&self, txn: usize) -> String {
        let txn = &self.txns[txn];
        let mut rest = String::from("init {\n");
        for table in &self.tables {
            rest += &table.any_rows();
        }
        rest += "}\n";
        for part in &self.parts {
            if let PartKind::Invariant { condition } | PartKind::Observer { condition, .. } = &part.kind {
                let _ = writeln!(rest, "assume {condition}");
            }
        }
        rest += &key_assumptions(&[txn]);
        let _ = writeln!(rest, "run {}", txn.call());
        self.edited(&rest, &|part| match &part.kind {
            PartKind::Run | PartKind::Init => Some(String::new()),
            PartKind::Assume { condition } => {
                let mentioned = self.mentions(condition);
                let is_kept = mentioned == BTreeSet::from([txn.name.clone()]) && !self.mentions_state(condition);
                (!is_kept).then(String::new)
            }
            PartKind::Observer { label, condition } => Some(invariant(label.as_ref(), condition)),
            PartKind::Invariant { .. } => None,
            PartKind::Var { name, ty } => Some(format!("var {name}: {ty} = any {ty}")),
            PartKind::Table { name } => self.declared(name),
        })
    }

    /// These transactions, each in a session of its own and with open arguments, from the initial state.
    ///
    /// # Panics
    /// If there is no such transaction.
    pub fn run_text(&self, txns: &[usize]) -> String {
        let chosen: Vec<&OpenTxn> = txns.iter().map(|it| &self.txns[*it]).collect();
        let names: BTreeSet<String> = chosen.iter().map(|it| it.name.clone()).collect();
        let mut rest = key_assumptions(&chosen);
        let calls: Vec<String> = chosen.iter().map(|it| it.call()).collect();
        let _ = writeln!(rest, "run {}", calls.join(" || "));
        self.edited(&rest, &|part| match &part.kind {
            PartKind::Run => Some(String::new()),
            PartKind::Assume { condition } => (!self.mentions(condition).is_subset(&names)).then(String::new),
            PartKind::Table { name } => self.declared(name),
            _ => None,
        })
    }

    /// The text with some of its items replaced, and the rest behind it.
    fn edited(&self, rest: &str, edit: &dyn Fn(&Part) -> Option<String>) -> String {
        let known: Vec<String> = self.texts.iter().map(|it| format!("assume {it} == {it}\n")).collect();
        edited(&self.text, &self.parts, &(known.concat() + rest), edit)
    }

    /// The declaration of a table with all of its keys.
    fn declared(&self, name: &str) -> Option<String> {
        self.tables.iter().find(|it| it.name == name).map(OpenTable::declared)
    }

    /// A name that the text does not have.
    fn fresh(&self, name: &str) -> String {
        fresh(&self.text, name)
    }

    /// The transactions whose parameters a condition speaks of.
    fn mentions(&self, condition: &str) -> BTreeSet<String> {
        mentioned(condition, &self.names())
    }

    fn mentions_state(&self, condition: &str) -> bool {
        let vars = self.parts.iter().filter_map(|it| match &it.kind {
            PartKind::Var { name, .. } => Some(name.as_str()),
            _ => None,
        });
        let names: BTreeSet<&str> = vars.chain(self.tables.iter().map(|it| it.name.as_str())).collect();
        words(condition).iter().any(|it| names.contains(it.0))
    }

    /// Parameters whose types nothing says get the first that fits.
    fn typed(mut self) -> Self {
        for txn in 0..self.txns.len() {
            let open: Vec<usize> =
                (0..self.txns[txn].params.len()).filter(|it| self.txns[txn].params[*it].ty.is_empty()).collect();
            let choices = ["int", "text", "bool"];
            for choice in 0..choices.len().pow(open.len().min(6) as u32) {
                let mut left = choice;
                for param in &open {
                    choices[left % choices.len()].clone_into(&mut self.txns[txn].params[*param].ty);
                    left /= choices.len();
                }
                if open.is_empty() || crate::parse(&self.step_text(txn), &self.file).is_ok() {
                    break;
                }
            }
        }
        self
    }
}

impl OpenTable {
    /// The table with its keys, on one line.
    fn declared(&self) -> String {
        let keys: Vec<&str> = self.rows.iter().map(|it| it.1.as_str()).collect();
        let fields: Vec<String> = self.fields.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
        format!("table {}({} in {}) {{ {} }}", self.name, self.key, keys.join(", "), fields.join(", "))
    }

    /// Rows with any contents. Those of a table that nobody adds to are there or not as at first.
    fn any_rows(&self) -> String {
        let fields: Vec<String> = self.fields.iter().map(|(name, ty)| format!("{name}: any {ty}")).collect();
        let record = if fields.is_empty() { String::new() } else { format!(" {{ {} }}", fields.join(", ")) };
        let word = if self.grows { "maybe" } else { "insert" };
        let there = self.rows.iter().filter(|it| self.grows || it.2);
        let there: Vec<String> = there.map(|it| format!("{word} {}[{}]{record}\n", self.name, it.1)).collect();
        there.concat()
    }
}

impl OpenTxn {
    /// The call with open arguments.
    fn call(&self) -> String {
        let argument = |param: &OpenParam| {
            let numbers: Vec<i64> = match &param.keys {
                Some(keys) if param.ty == "int" => keys.iter().map(|it| it.0.code()).collect(),
                _ => Vec::new(),
            };
            match (numbers.iter().min(), numbers.iter().max()) {
                (Some(low), Some(high)) => format!("any int in {low}..{high}"),
                _ => format!("any {}", param.ty),
            }
        };
        let arguments: Vec<String> = self.params.iter().map(argument).collect();
        format!("{}({})", self.name, arguments.join(", "))
    }
}

/// The item, if it may be replaced.
fn part(item: &Item) -> Option<Part> {
    let kind = match &item.kind {
        ItemKind::Run(_) => PartKind::Run,
        ItemKind::Init(_) => PartKind::Init,
        ItemKind::Assume(holds) => PartKind::Assume { condition: printed(holds) },
        ItemKind::Claim { kind: ClaimKind::Observer, label, holds } => {
            PartKind::Observer { label: label.clone(), condition: printed(holds) }
        }
        ItemKind::Claim { kind: ClaimKind::Invariant, holds, .. } => PartKind::Invariant { condition: printed(holds) },
        ItemKind::Var { name, ty, .. } => PartKind::Var { name: name.text.clone(), ty: ty.text.clone() },
        ItemKind::Table(table) => PartKind::Table { name: table.name.text.clone() },
        _ => return None,
    };
    Some(Part { span: item.span, kind })
}

/// A condition on one line. Its span would not do: parentheses around its first part are outside of that.
fn printed(condition: &syntax::Expr) -> String {
    let span = condition.span;
    let text = print(&[Item { kind: ItemKind::Assume(condition.clone()), span }]);
    text.trim().strip_prefix("assume ").unwrap_or_default().to_owned()
}

fn invariant(label: Option<&String>, condition: &str) -> String {
    let label = label.map(|it| format!("{}: ", quoted(it))).unwrap_or_default();
    format!("invariant {label}{condition}")
}

/// A text with some of its items replaced, and the rest behind it. Lines stay where they are.
fn edited(text: &str, parts: &[Part], rest: &str, edit: &dyn Fn(&Part) -> Option<String>) -> String {
    let mut out = String::new();
    let mut done = 0;
    for part in parts {
        let Some(instead) = edit(part) else { continue };
        let range = range(part.span);
        out += &text[done..range.start];
        out += &instead;
        out.extend(text[range.clone()].chars().filter(|it| *it == '\n'));
        done = range.end;
    }
    out += &text[done..];
    out.push('\n');
    out + rest
}

/// The transactions whose parameters a condition speaks of.
fn mentioned(condition: &str, names: &[&str]) -> BTreeSet<String> {
    let words = words(condition);
    let is_in = |it: &&&str| words.iter().any(|(word, is_followed_by_dot)| word == *it && *is_followed_by_dot);
    names.iter().filter(is_in).map(|it| (*it).to_owned()).collect()
}

/// Parameters that name rows name those that there are.
fn key_assumptions(txns: &[&OpenTxn]) -> String {
    let mut seen = BTreeSet::new();
    let mut text = String::new();
    for txn in txns.iter().filter(|it| seen.insert(it.name.as_str())) {
        for param in &txn.params {
            let Some(keys) = &param.keys else { continue };
            let each: Vec<String> = keys.iter().map(|it| format!("{}.{} == {}", txn.name, param.name, it.1)).collect();
            let _ = writeln!(text, "assume {}", each.join(" or "));
        }
    }
    text
}

fn range(span: Span) -> std::ops::Range<usize> {
    span.start as usize..span.end as usize
}

/// A transaction that does nothing, and its run.
fn idle(text: &str) -> String {
    let name = fresh(text, "idle");
    format!("txn {name}() {{ }}\nrun {name}()\n")
}

fn fresh(text: &str, name: &str) -> String {
    let mut name = name.to_owned();
    while text.contains(&name) {
        name.push('_');
    }
    name
}

/// The names in a piece of text, each with whether a dot follows it. Texts in quotes are left out.
fn words(text: &str) -> Vec<(&str, bool)> {
    let mut words = Vec::new();
    let is_in_name = |it: char| it.is_alphanumeric() || it == '_';
    for (idx, piece) in text.split('"').enumerate() {
        let mut rest = if idx % 2 == 0 { piece } else { "" };
        while let Some(start) = rest.find(is_in_name) {
            let end = rest[start..].find(|it| !is_in_name(it)).map_or(rest.len(), |it| start + it);
            words.push((&rest[start..end], rest[end..].trim_start().starts_with('.')));
            rest = &rest[end..];
        }
    }
    words
}

/// The texts of a piece of the program, in quotes.
fn texts_in(text: &str) -> Vec<String> {
    let mut texts: Vec<String> = text.split('"').skip(1).step_by(2).map(|it| format!("\"{it}\"")).collect();
    texts.sort();
    texts.dedup();
    // A quotation mark in a text is not worth the trouble.
    if text.contains('\\') { Vec::new() } else { texts }
}

fn tables(program: &Program, templates: &Templates) -> Vec<OpenTable> {
    let table = |(idx, of): (usize, &crate::program::Table)| {
        let grows = templates.relations().iter().any(|it| !it.is_var && it.name == of.name && it.grows);
        let row = |unit: &UnitId| {
            let UnitKind::Row { key, table } = program.unit(*unit).kind else { unreachable!("rows are rows") };
            debug_assert_eq!(table, TableId::from_index(idx));
            let never = program.initial()[unit.index()].exists == Expr::Const(Value::Bool(false));
            (key, program.show(key), !never)
        };
        OpenTable {
            name: of.name.clone(),
            key: of.key.clone(),
            fields: of.fields.iter().map(|it| (it.name.clone(), type_name(program, it.ty))).collect(),
            grows,
            rows: of.rows.iter().map(row).collect(),
        }
    };
    program.tables().iter().enumerate().map(table).collect()
}

fn type_name(program: &Program, ty: Type) -> String {
    match ty {
        Type::Int => "int".to_owned(),
        Type::Bool => "bool".to_owned(),
        Type::Member(domain) => program.domains()[domain.index()].name.clone(),
    }
}

fn txns(program: &Program, templates: &Templates, tables: &[OpenTable]) -> Result<Vec<OpenTxn>, Problem> {
    let mut txns = Vec::new();
    for template in templates.templates() {
        let mut params = Vec::new();
        for (place, name) in template.params.iter().enumerate() {
            let mut of = BTreeSet::new();
            for way in &template.ways {
                let is_it = |it: usize| way.variables[it].param == Some(place);
                let rows = way.accesses.iter().filter(|it| matches!(it.key, RowKey::Variable(it) if is_it(it)));
                of.extend(rows.map(|it| templates.relations()[it.relation].name.as_str()));
            }
            let of: Vec<&OpenTable> = tables.iter().filter(|it| of.contains(it.name.as_str())).collect();
            let keys = common_keys(&of);
            if keys.as_ref().is_some_and(Vec::is_empty) {
                let names: Vec<&str> = of.iter().map(|it| it.name.as_str()).collect();
                let message = format!("`{name}` of `{}` names rows of `{}`", template.name, names.join("` and `"));
                let hint = "these have no key in common: give them rows with the same keys in `init`";
                return Err(Problem::new(template.span, message, hint));
            }
            let of_key = keys.iter().flatten().next().map(|it| type_name(program, it.0.type_of()));
            let ty = template.types[place].clone().or(of_key).or_else(|| argument_type(program, &template.name, name));
            params.push(OpenParam { name: name.clone(), ty: ty.unwrap_or_default(), keys });
        }
        txns.push(OpenTxn { name: template.name.clone(), params, asserts: false });
    }
    Ok(txns)
}

/// The keys that all of these tables have, in those that nobody adds to of rows that are there; nothing of no table.
fn common_keys(tables: &[&OpenTable]) -> Option<Vec<(Value, String)>> {
    let keys = |it: &OpenTable| {
        let there = it.rows.iter().filter(|row| it.grows || row.2);
        there.map(|row| (row.0, row.1.clone())).collect::<Vec<_>>()
    };
    let (first, others) = tables.split_first()?;
    let others: Vec<_> = others.iter().map(|it| keys(it)).collect();
    Some(keys(first).into_iter().filter(|it| others.iter().all(|other| other.contains(it))).collect())
}

/// The type that `run` gives a parameter.
fn argument_type(program: &Program, txn: &str, param: &str) -> Option<String> {
    let instance = program.instances().iter().find(|it| it.txn == txn)?;
    let argument = instance.arguments.iter().find(|it| it.0 == param)?;
    let ty = match &argument.1 {
        Expr::Const(value) => value.type_of(),
        Expr::Symbol(symbol) => program.symbols()[symbol.index()].ty,
        _ => return None,
    };
    Some(type_name(program, ty))
}

/// Goes through all open values of a program, at most so many, and runs its transactions one after the other.
///
/// Runs in which a number leaves its width, or a row is inserted that the program does not have, are not looked at.
pub fn go_through(program: &Program, max_cases: u64) -> Exhaustive {
    let n_cases = program.symbols().iter().try_fold(1_u64, |all, it| all.checked_mul(it.n_values()));
    if n_cases.is_none_or(|it| it > max_cases) {
        return Exhaustive::TooMany;
    }
    let order: Vec<_> = program.instance_ids().collect();
    let mut codes: Vec<i64> = program.symbols().iter().map(|it| it.low).collect();
    let mut cases = 0;
    loop {
        let values: Vec<Value> = program.symbols().iter().zip(&codes).map(|(it, code)| it.ty.value_of(*code)).collect();
        if judge_assumptions(program, &values) == Judgement::Holds {
            cases += 1;
            let run = run_execution(program, &values, &order, &|_, _| true);
            let outcomes = || run.txns.iter().map(|it| it.outcome);
            let judged: Vec<Judgement> =
                program.invariants().iter().map(|it| judge(program, it, &values, &run.last)).collect();
            let is_outside = outcomes().any(|it| matches!(it, Outcome::Overflow { .. } | Outcome::NoSuchRow { .. }))
                || judged.iter().any(|it| matches!(it, Judgement::Overflow { .. }));
            let is_wrong =
                outcomes().any(|it| matches!(it, Outcome::AssertFailed { .. })) || judged.contains(&Judgement::Fails);
            if is_wrong && !is_outside {
                return Exhaustive::Fails;
            }
        }
        let next = (0..codes.len()).find(|it| codes[*it] < program.symbols()[*it].high);
        let Some(next) = next else { return Exhaustive::Holds { cases } };
        codes[next] += 1;
        for (code, symbol) in codes[..next].iter_mut().zip(program.symbols()) {
            *code = symbol.low;
        }
    }
}

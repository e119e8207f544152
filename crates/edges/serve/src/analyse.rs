//! What a statement reads and writes, found out from its text, and the text that tells it.
//!
//! A plain SELECT gets one more column, which has for each row that comes back the rows of tables that it is made of,
//! as they were in the snapshot of that very statement; the proxy takes the column out again. A SELECT that combines
//! rows (aggregates, DISTINCT) gets a subquery instead, which tells the same rows. What writes is told by triggers.
//! Everything else is passed on as it is, and what it reads is missing in the history.

use crate::catalogue::{Catalogue, LARGEST_SCAN, RowsAre, SCHEMA, Table, quoted};
use crate::condition::{self, Template};
use crate::cursor::{self, Cursor};
use crate::hidden;
use crate::sql::{self, WordKind};
use iso_history::Locking;
use sqlparser::ast::{
    self, Expr, FromTable, GroupByExpr, LimitClause, NonBlock, ObjectName, Query, Select, Set, SetExpr, TableFactor,
    TableWithJoins, TransactionIsolationLevel, TransactionMode,
};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A statement, and what the engine is asked instead.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) sql: String,
    /// As the application says it.
    pub(crate) text: String,
    pub(crate) action: Action,
    /// Why something that it reads will be missing.
    pub(crate) missing: Option<&'static str>,
    /// The tables that it reads, and conditions that all rows meet which matter; none if it may do what is not seen.
    pub(crate) sources: Vec<Asked>,
    /// Whether the database executes code of its users for it, which may read and write anything.
    pub(crate) code: Code,
}

/// Code that is kept in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    None,
    Called,
}

impl Plan {
    /// The tables that it is known to read or to change.
    pub(crate) fn tables(&self) -> Vec<&Table> {
        let asked = match &self.action {
            Action::Read(Reading { asked: Some(asked), .. }) | Action::Change(asked, _) => Some(asked),
            _ => None,
        };
        self.sources.iter().chain(asked).map(|it| &*it.table).collect()
    }
}

/// What a statement does.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Begin {
        level: Option<&'static str>,
    },
    Commit,
    Rollback,
    Savepoint(String),
    RollbackTo(String),
    Release(String),
    /// Of this transaction, or of all later ones.
    SetLevel {
        level: &'static str,
        scope: Scope,
    },
    /// The marker at which recording begins.
    Start,
    Read(Reading),
    /// Changes rows of a table that it finds by a condition.
    Change(Asked, Sets),
    /// Makes or changes tables.
    Define,
    Declare(Box<Cursor>),
    /// From a cursor by name.
    Fetch(String),
    /// May end transactions by itself.
    Opaque,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Transaction,
    Session,
}

/// A read that is told.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) told: Told,
    pub(crate) locking: Locking,
    /// What is asked of its one table, if it has one, and rows that do not come back do not match.
    pub(crate) asked: Option<Asked>,
    /// It wants at most so many rows; if that many come, there may be more.
    pub(crate) limit: Limit,
}

/// What a statement makes of rows that it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sets {
    /// Columns become constants, and nobody looks at what they were.
    Constants,
    /// Something that may depend on what they were.
    Computed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// By one more column.
    Column,
    /// By a message.
    Message,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    None,
    Rows(usize),
    Unknown,
}

/// A condition on rows of a table.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) table: Arc<Table>,
    /// None if it cannot be said in a history.
    pub(crate) condition: Option<Template>,
}

/// Plans each statement of a text.
pub(crate) fn plans(sql: &str, catalogue: &Catalogue) -> Vec<Plan> {
    sql::statements(sql).iter().map(|it| plan(it, catalogue)).collect()
}

fn plan(statement: &sql::Statement<'_>, catalogue: &Catalogue) -> Plan {
    let mut plan = plan_by_kind(statement, catalogue);
    let calls = statement.called().any(|it| catalogue.is_function_of_users(&it));
    if matches!(plan.action, Action::Opaque) || calls && !matches!(plan.action, Action::Define) {
        plan.code = Code::Called;
    }
    if let Some(sql) = copy_of_known_columns(statement, catalogue) {
        plan.sql = sql;
    }
    plan
}

/// A `COPY` of a table that has a hidden column names all others.
fn copy_of_known_columns(statement: &sql::Statement<'_>, catalogue: &Catalogue) -> Option<String> {
    if !catalogue.has_hidden() || statement.first_words(1) != "COPY" {
        return None;
    }
    let text = |nth: usize| statement.words.get(nth).map(|it| &statement.text[it.at.clone()]);
    let name = |nth: usize| {
        let word = statement.words.get(nth)?;
        let text = text(nth)?;
        match word.kind {
            WordKind::Plain => Some(text.to_lowercase()),
            WordKind::Quoted => Some(text.trim_matches('"').replace("\"\"", "\"")),
            _ => None,
        }
    };
    let (table, last) = if text(2) == Some(".") {
        (catalogue.table(Some(&name(1)?), &name(3)?)?, 3)
    } else {
        (catalogue.table(None, &name(1)?)?, 1)
    };
    if table.hidden.is_none() || text(last + 1) == Some("(") {
        return None;
    }
    let at = statement.words[last].at.end;
    let (before, after) = statement.text.split_at(at);
    Some(format!("{before} ({}){after}", hidden::known_columns(table)))
}

fn plan_by_kind(statement: &sql::Statement<'_>, catalogue: &Catalogue) -> Plan {
    let plain = |action, missing| Plan {
        sql: statement.text.to_owned(),
        text: statement.text.to_owned(),
        action,
        missing,
        sources: if missing.is_some() { opaque_sources(statement, catalogue) } else { Vec::new() },
        code: Code::None,
    };
    let changing = |asked: Option<Asked>, sets, missing: Option<&'static str>| match asked {
        Some(asked) if missing.is_none() => {
            Plan { sources: vec![asked.clone()], ..plain(Action::Change(asked, sets), None) }
        }
        Some(asked) => plain(Action::Change(asked, sets), missing),
        None => plain(Action::Other, missing),
    };
    if let Some(action) = cursor::action(statement, |it| plan(it, catalogue)) {
        let missing = cursor::missing(&action);
        return plain(action, missing);
    }
    let Some(parsed) = parse(statement.text) else {
        return by_first_words(statement, catalogue).map_or_else(
            || plain(Action::Other, may_read(statement, catalogue).then_some("the statement was not understood")),
            |action| plain(action, None),
        );
    };
    match parsed {
        ast::Statement::StartTransaction { modes, .. } => plain(Action::Begin { level: level_of(&modes) }, None),
        ast::Statement::Commit { .. } => plain(Action::Commit, None),
        ast::Statement::Rollback { savepoint: Some(name), .. } => plain(Action::RollbackTo(folded(&name)), None),
        ast::Statement::Rollback { .. } => plain(Action::Rollback, None),
        ast::Statement::Savepoint { name } => plain(Action::Savepoint(folded(&name)), None),
        ast::Statement::ReleaseSavepoint { name } => plain(Action::Release(folded(&name)), None),
        ast::Statement::Set(set) => plain(setting(&set), None),
        ast::Statement::Query(query) => select(statement, &query, catalogue),
        ast::Statement::Insert(_) => plain(Action::Other, sources(statement, 0, catalogue)),
        ast::Statement::Update(update) => {
            let is_alone = update.from.is_none() && update.table.joins.is_empty();
            let missing = sources(statement, 0, catalogue).or((!is_alone).then_some("UPDATE reads another table"));
            let asked = is_alone.then(|| changed(&update.table, update.selection.as_ref(), catalogue)).flatten();
            let is_constant = |it: &ast::Assignment| condition::is_constant(&it.value);
            let sets = if update.assignments.iter().all(is_constant) && update.returning.is_none() {
                Sets::Constants
            } else {
                Sets::Computed
            };
            changing(asked, sets, missing)
        }
        ast::Statement::Delete(delete) => {
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
            let is_alone = delete.using.is_none() && from.len() == 1;
            let missing = sources(statement, 0, catalogue).or((!is_alone).then_some("DELETE reads another table"));
            let asked = is_alone.then(|| changed(&from[0], delete.selection.as_ref(), catalogue)).flatten();
            changing(asked, Sets::Computed, missing)
        }
        _ => by_first_words(statement, catalogue).map_or_else(
            || {
                plain(
                    Action::Other,
                    may_read(statement, catalogue).then_some("this kind of statement is not understood"),
                )
            },
            |action| plain(action, None),
        ),
    }
}

fn parse(text: &str) -> Option<ast::Statement> {
    let mut parsed = Parser::parse_sql(&PostgreSqlDialect {}, text).ok()?;
    if parsed.len() == 1 { parsed.pop() } else { None }
}

/// What matters of statements that only their first words say.
fn by_first_words(statement: &sql::Statement<'_>, catalogue: &Catalogue) -> Option<Action> {
    let words = statement.first_words(2);
    let (first, second) = words.split_once(' ').unwrap_or((&words, ""));
    match first {
        "BEGIN" | "START" => Some(Action::Begin { level: None }),
        "COMMIT" | "END" if second != "PREPARED" => Some(Action::Commit),
        "ABORT" => Some(Action::Rollback),
        "CREATE" | "ALTER" | "DROP" => Some(Action::Define),
        "CALL" | "DO" => Some(Action::Opaque),
        "COPY" if statement.count("from") > 0 && statement.count("select") == 0 => Some(Action::Other),
        "TRUNCATE" | "VACUUM" | "ANALYZE" | "GRANT" | "REVOKE" | "COMMENT" | "SHOW" | "RESET" | "DISCARD"
        | "LISTEN" | "NOTIFY" | "UNLISTEN" | "LOCK" | "DEALLOCATE" | "CLOSE" | "CHECKPOINT" => Some(Action::Other),
        "EXPLAIN" if statement.count("analyze") == 0 => Some(Action::Other),
        _ if !may_read(statement, catalogue) => Some(Action::Other),
        _ => None,
    }
}

/// Does the statement name a table or a function of users anywhere? What it says of them may be a read.
fn may_read(statement: &sql::Statement<'_>, catalogue: &Catalogue) -> bool {
    let first = statement.first_words(1);
    let is_known = |it: &str| {
        let name = it.trim_matches('"');
        let (plain, small) = (name, name.to_lowercase());
        let is_table = |it: &str| catalogue.tables().iter().any(|table| table.name == it);
        is_table(plain) || is_table(&small) || catalogue.is_function_of_users(&small)
    };
    // What is prepared by SQL is read later.
    matches!(first.as_str(), "EXECUTE" | "TABLE" | "WITH")
        || statement
            .words
            .iter()
            .filter(|it| matches!(it.kind, WordKind::Plain | WordKind::Quoted))
            .any(|it| is_known(&statement.text[it.at.clone()]))
}

/// Why a statement reads more than its own table, if it does; `n` SELECTs are its own.
fn sources(statement: &sql::Statement<'_>, n: usize, catalogue: &Catalogue) -> Option<&'static str> {
    if statement.count("select") > n || statement.count("with") > 0 && statement.first_words(1) == "WITH" {
        return Some("a query is inside of another statement");
    }
    if statement.called().any(|it| catalogue.is_function_of_users(&it)) {
        return Some("a function of the database is called");
    }
    None
}

fn level_of(modes: &[TransactionMode]) -> Option<&'static str> {
    modes.iter().find_map(|it| match it {
        TransactionMode::IsolationLevel(level) => Some(match level {
            TransactionIsolationLevel::ReadUncommitted | TransactionIsolationLevel::ReadCommitted => "read-committed",
            TransactionIsolationLevel::RepeatableRead | TransactionIsolationLevel::Snapshot => "repeatable-read",
            TransactionIsolationLevel::Serializable => "serializable",
        }),
        TransactionMode::AccessMode(_) => None,
    })
}

/// A level as a setting has it.
pub(crate) fn level_named(text: &str) -> Option<&'static str> {
    match text.trim().trim_matches('\'').trim_matches('"').to_ascii_lowercase().as_str() {
        "read committed" | "read uncommitted" => Some("read-committed"),
        "repeatable read" => Some("repeatable-read"),
        "serializable" => Some("serializable"),
        _ => None,
    }
}

fn setting(set: &Set) -> Action {
    match set {
        Set::SetTransaction { modes, session, .. } => {
            let scope = if *session { Scope::Session } else { Scope::Transaction };
            level_of(modes).map_or(Action::Other, |level| Action::SetLevel { level, scope })
        }
        Set::SingleAssignment { variable, values, .. } => {
            let name = variable.to_string().to_ascii_lowercase();
            let value = values.first().map(ToString::to_string).unwrap_or_default();
            match (name.as_str(), level_named(&value)) {
                ("isoscope.run", _) if value.trim_matches('\'').eq_ignore_ascii_case("start") => Action::Start,
                ("transaction_isolation", Some(level)) => Action::SetLevel { level, scope: Scope::Transaction },
                ("default_transaction_isolation", Some(level)) => Action::SetLevel { level, scope: Scope::Session },
                _ => Action::Other,
            }
        }
        _ => Action::Other,
    }
}

/// A name as the database folds it.
pub(crate) fn folded(name: &ast::Ident) -> String {
    if name.quote_style.is_some() { name.value.clone() } else { name.value.to_lowercase() }
}

/// The table that a name stands for.
fn table_of<'c>(name: &ObjectName, catalogue: &'c Catalogue) -> Option<&'c Table> {
    let parts: Option<Vec<String>> = name.0.iter().map(|it| it.as_ident().map(folded)).collect();
    match parts?.as_slice() {
        [name] => catalogue.table(None, name),
        [schema, name] => catalogue.table(Some(schema), name),
        _ => None,
    }
}

/// The condition by which UPDATE or DELETE finds rows.
fn changed(table: &TableWithJoins, condition: Option<&Expr>, catalogue: &Catalogue) -> Option<Asked> {
    let TableFactor::Table { name, alias, .. } = &table.relation else { return None };
    let found = table_of(name, catalogue).filter(|it| it.has_key())?;
    let alias = alias.as_ref().map_or_else(|| found.name.clone(), |it| folded(&it.name));
    let is_plain = found.rows == RowsAre::Plain;
    let condition = is_plain.then(|| condition::template(condition, found, &alias)).flatten();
    Some(Asked { table: Arc::new(found.clone()), condition })
}

/// Tables of a FROM, with what they are called in the statement.
fn tables_of<'c>(select: &Select, catalogue: &'c Catalogue) -> Result<Vec<(&'c Table, String)>, &'static str> {
    let mut found = Vec::new();
    for from in &select.from {
        for factor in std::iter::once(&from.relation).chain(from.joins.iter().map(|it| &it.relation)) {
            let TableFactor::Table { name, alias, args: None, sample: None, .. } = factor else {
                return Err("FROM has something else than tables");
            };
            let Some(table) = table_of(name, catalogue) else {
                return Err("FROM has a view, or a name that is not known");
            };
            if !table.has_key() {
                return Err("a table has no primary key");
            }
            let alias = alias.as_ref().map_or_else(|| quoted(&table.name), |it| quoted(&folded(&it.name)));
            found.push((table, alias));
        }
    }
    Ok(found)
}

fn select(statement: &sql::Statement<'_>, query: &Query, catalogue: &Catalogue) -> Plan {
    let plain = |missing: Option<&'static str>| Plan {
        sql: statement.text.to_owned(),
        text: statement.text.to_owned(),
        action: Action::Other,
        missing,
        sources: if missing.is_some() { opaque_sources(statement, catalogue) } else { Vec::new() },
        code: Code::None,
    };
    if !may_read(statement, catalogue) {
        return plain(None);
    }
    if let Some(missing) = sources(statement, 1, catalogue) {
        return plain(Some(missing));
    }
    let SetExpr::Select(body) = &*query.body else {
        return plain(Some("UNION and VALUES are not understood"));
    };
    if body.into.is_some() {
        return plain(Some("SELECT INTO is not understood"));
    }
    let tables = match tables_of(body, catalogue) {
        Ok(tables) if tables.is_empty() => return plain(None),
        Ok(tables) => tables,
        Err(missing) => return plain(Some(missing)),
    };
    told(statement, query, body, &tables, catalogue).unwrap_or_else(|| plain(Some("the statement was not understood")))
}

/// Words that end the condition of a SELECT.
const AFTER_WHERE: [&str; 9] = ["group", "having", "window", "order", "limit", "offset", "fetch", "for", "union"];

fn told(
    statement: &sql::Statement<'_>,
    query: &Query,
    body: &Select,
    tables: &[(&Table, String)],
    catalogue: &Catalogue,
) -> Option<Plan> {
    let place = |nth: usize| statement.words.get(nth).map_or(statement.text.len(), |it| it.at.start);
    let mut from = statement.find(0, &["from"])?;
    // `a IS DISTINCT FROM b` is no clause.
    while from > 0 && statement.is(&statement.words[from - 1], "distinct") {
        from = statement.find(from + 1, &["from"])?;
    }
    let after = statement.find(from, &AFTER_WHERE).unwrap_or(statement.words.len());
    let condition = statement.find(from, &["where"]).filter(|it| *it < after);
    let tags: Vec<String> = tables.iter().map(|(table, alias)| table.tag_sql(alias)).collect();
    let tag = format!("pg_catalog.json_build_array({})::pg_catalog.text", tags.join(", "));
    let is_combined = body.distinct.is_some()
        || !matches!(&body.group_by, GroupByExpr::Expressions(by, _) if by.is_empty())
        || body.having.is_some()
        || statement.called().any(|it| catalogue.is_aggregate(&it));
    let text = statement.text;
    let sql = if is_combined {
        let source = &text[place(from)..place(after)];
        let subquery = format!(
            "(SELECT {SCHEMA}.tell(coalesce(pg_catalog.json_agg(isoscope_tag::pg_catalog.json), '[]')::pg_catalog.text) \
             FROM (SELECT {tag} AS isoscope_tag {source} LIMIT {}) isoscope_rows)",
            LARGEST_SCAN + 1
        );
        let filter = match condition {
            Some(nth) => format!("WHERE ({}\n) AND {subquery} ", &text[statement.words[nth].at.end..place(after)]),
            None => format!("WHERE {subquery} "),
        };
        let before = condition.map_or_else(|| place(after), place);
        format!("{}\n{filter}{}", &text[..before], &text[place(after)..])
    } else {
        format!("{}, {tag} {}", &text[..place(from)], &text[place(from)..])
    };
    let locks =
        query.locks.iter().any(|it| it.lock_type == ast::LockType::Update || it.lock_type == ast::LockType::Share);
    let skips = query.locks.iter().any(|it| matches!(it.nonblock, Some(NonBlock::SkipLocked)));
    let asked = match tables {
        [(table, alias)] if table.rows == RowsAre::Plain && !skips => {
            let alias = alias.trim_matches('"').replace("\"\"", "\"");
            let condition = condition::template(body.selection.as_ref(), table, &alias);
            condition.map(|it| Asked { table: Arc::new((*table).clone()), condition: Some(it) })
        }
        _ => None,
    };
    let reading = Reading {
        told: if is_combined { Told::Message } else { Told::Column },
        locking: if locks { Locking::ForUpdate } else { Locking::Free },
        asked,
        limit: if is_combined { Limit::None } else { limit(query) },
    };
    let sources = tables.iter().map(|it| source(it, body)).collect();
    let action = Action::Read(reading);
    Some(Plan { sql, text: text.to_owned(), action, missing: None, sources, code: Code::None })
}

/// A table of a SELECT, with those parts of its condition that are about this table alone.
fn source((table, alias): &(&Table, String), body: &Select) -> Asked {
    fn parts<'e>(condition: &'e Expr, found: &mut Vec<&'e Expr>) {
        match condition {
            Expr::Nested(inner) => parts(inner, found),
            Expr::BinaryOp { left, op: ast::BinaryOperator::And, right } => {
                parts(left, found);
                parts(right, found);
            }
            other => found.push(other),
        }
    }
    let mut conditions = Vec::new();
    if let Some(condition) = &body.selection {
        parts(condition, &mut conditions);
    }
    let alias = alias.trim_matches('"').replace("\"\"", "\"");
    let known = conditions.into_iter().filter_map(|it| condition::template(Some(it), table, &alias)).collect();
    Asked { table: Arc::new((*table).clone()), condition: Some(Template::And(known)) }
}

/// All tables that a statement names which surely only reads; none if it may do more.
fn opaque_sources(statement: &sql::Statement<'_>, catalogue: &Catalogue) -> Vec<Asked> {
    const MORE: [&str; 8] = ["insert", "update", "delete", "merge", "into", "share", "truncate", "call"];
    let first = statement.first_words(1);
    let is_copy = first == "COPY" && statement.count("to") > 0 && statement.count("from") <= statement.count("select");
    let is_query = matches!(first.as_str(), "SELECT" | "WITH" | "TABLE" | "VALUES" | "(");
    let does_more = MORE.iter().any(|it| statement.count(it) > 0)
        || statement.called().any(|it| catalogue.is_function_of_users(&it));
    if !(is_query || is_copy) || does_more {
        return Vec::new();
    }
    let names = statement.words.iter().filter(|it| matches!(it.kind, WordKind::Plain | WordKind::Quoted));
    let mut found: BTreeMap<u32, &Table> = BTreeMap::new();
    for word in names {
        let text = &statement.text[word.at.clone()];
        let name = if word.kind == WordKind::Quoted { text.trim_matches('"').to_owned() } else { text.to_lowercase() };
        found.extend(catalogue.meant_by(&name).into_iter().map(|it| (it.oid, it)));
    }
    let keyed = found.into_values().filter(|it| it.has_key());
    keyed.map(|it| Asked { table: Arc::new(it.clone()), condition: Some(Template::All) }).collect()
}

fn limit(query: &Query) -> Limit {
    let constant = |it: &Expr| match it {
        Expr::Value(value) => match &value.value {
            ast::Value::Number(text, _) => text.parse().map_or(Limit::Unknown, Limit::Rows),
            _ => Limit::Unknown,
        },
        _ => Limit::Unknown,
    };
    match (&query.limit_clause, &query.fetch) {
        (None, None) => Limit::None,
        (Some(LimitClause::LimitOffset { limit: Some(limit), offset: None, .. }), None) => constant(limit),
        _ => Limit::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_make_tables_are_known() {
        for sql in
            ["CREATE TABLE t (id int PRIMARY KEY)", "alter table t add primary key (id)", "DROP TABLE IF EXISTS t"]
        {
            let plans = plans(sql, &Catalogue::default());
            assert!(matches!(plans[0].action, Action::Define), "{plans:?}");
        }
    }
}

//! What the proxy knows of the engine's tables, and what it adds to the database while it records.
//!
//! Everything that is added is in a schema of its own, [`SCHEMA`], but for one trigger on each table, which goes with the
//! schema. A trigger tells each row that is written: to whoever comes through the proxy as a message of the protocol,
//! which the proxy keeps to itself; what others write is kept in a table, which is read at the end.

use crate::hidden;
use iso_collect::{Administration, Failure};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;

/// Where everything is that the proxy adds to a database. A schema with the name of a user would catch its tables.
pub(crate) const SCHEMA: &str = "isoscope_recording";
/// How messages of triggers are told from others.
pub(crate) const TOLD: &str = "IS0SC";
/// When a row was written, in microseconds. Writers of the same row wait for each other, so that times are in order.
const STAMP: &str = "(extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::pg_catalog.int8";
/// Of a larger scan, nothing is recorded.
pub(crate) const LARGEST_SCAN: usize = 10_000;

/// A connection that answers questions about the catalogue, and changes it.
pub(crate) trait Asks {
    /// The rows of a query, as texts.
    fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Failure>;
    /// Runs statements.
    fn run(&mut self, sql: &str) -> Result<(), Failure>;
}

impl Asks for Administration {
    fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Failure> {
        Self::rows(self, sql)
    }

    fn run(&mut self, sql: &str) -> Result<(), Failure> {
        Self::run(self, sql)
    }
}

/// What the tables of a database get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Triggers that tell rows.
    Record,
    /// The same with how the database spells a row, and functions that put rows in place.
    Serve,
}

/// The tables of a database.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue {
    tables: Vec<Table>,
    /// Views, with the tables behind them.
    views: HashMap<String, BTreeSet<u32>>,
    /// Constraints may be checked as late as at the commit.
    pub(crate) has_late_constraints: bool,
    by_name: HashMap<String, Named>,
    /// Functions that combine rows.
    aggregates: HashSet<String>,
    /// Functions of users, which may read tables.
    functions: HashSet<String>,
}

/// What a name without a schema stands for.
#[derive(Clone, Copy, Debug)]
enum Named {
    One(usize),
    Several,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) oid: u32,
    pub(crate) schema: String,
    pub(crate) name: String,
    /// What it is called in the history.
    pub(crate) shown: String,
    pub(crate) columns: Vec<Column>,
    /// The primary key.
    pub(crate) key: Vec<String>,
    /// Whether statements do to rows exactly what they say.
    pub(crate) rows: RowsAre,
    /// Whether a row of it is a row of another table, too.
    pub(crate) parts: Parts,
    /// A column that we have added, which is its key unless it has one of its own.
    pub(crate) hidden: Option<String>,
}

/// Whether a table has partitions or children, or is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parts {
    None,
    Some,
}

/// Whether somebody stands between a statement and the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowsAre {
    Plain,
    /// Policies hide rows, or triggers of the application change what is written.
    Guarded,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Its type, as the database calls it.
    pub(crate) type_name: String,
    pub(crate) content: Content,
}

/// Where the values of a column come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Written,
    Computed,
}

/// How values of a column compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Integer,
    Numeric,
    Text,
    Bool,
    Uuid,
    /// Comparisons with it are left to the database.
    Other,
}

impl Kind {
    fn of(type_name: &str) -> Self {
        match type_name {
            "smallint" | "integer" | "bigint" => Self::Integer,
            "numeric" => Self::Numeric,
            "text" | "character varying" | "name" => Self::Text,
            "boolean" => Self::Bool,
            "uuid" => Self::Uuid,
            _ => Self::Other,
        }
    }
}

impl Table {
    pub(crate) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|it| it.name == name)
    }

    /// Its name in SQL, with that of its schema.
    pub(crate) fn sql_name(&self) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&self.name))
    }

    /// Can its rows be told apart?
    pub(crate) fn has_key(&self) -> bool {
        !self.key.is_empty()
    }

    /// SQL that makes JSON of the row that this name stands for, the same whatever the settings of a session are.
    pub(crate) fn row_sql(&self, row: &str) -> String {
        if self.columns.iter().all(|it| conversion(&it.type_name).is_none()) && self.columns.len() <= 50 {
            return format!("pg_catalog.row_to_json({row}.*)");
        }
        let mut fields = String::new();
        for column in &self.columns {
            let value = format!("{row}.{}", quoted(&column.name));
            let value = conversion(&column.type_name)
                .map_or(value.clone(), |(before, after)| format!("{before}{value}{after}"));
            let comma = if fields.is_empty() { "" } else { ", " };
            write!(fields, "{comma}{}, {value}", literal(&column.name)).ok();
        }
        format!("pg_catalog.json_build_object({fields})")
    }

    /// SQL of the row that this name stands for as a statement reads it: who wrote it, and what is in it.
    pub(crate) fn tag_sql(&self, row: &str) -> String {
        let first = quoted(&self.key[0]);
        let (told, oid) = (self.row_sql(row), self.oid);
        format!(
            "CASE WHEN {row}.{first} IS NOT NULL THEN pg_catalog.json_build_array({oid}, {row}.xmin::pg_catalog.text, \
             {told}) END"
        )
    }
}

/// What is around a value whose text depends on settings of the session.
fn conversion(type_name: &str) -> Option<(&'static str, &'static str)> {
    match type_name {
        "timestamp with time zone" | "time with time zone" => Some(("(", " AT TIME ZONE 'UTC')")),
        "bytea" => Some(("pg_catalog.encode(", ", 'hex')")),
        "interval" => Some(("pg_catalog.date_part('epoch', ", ")")),
        "money" => Some(("(", ")::pg_catalog.numeric")),
        _ => None,
    }
}

/// A name in SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text in SQL.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

const COLUMNS: &str = "
SELECT c.oid::text, n.nspname::text, c.relname::text, a.attname::text,
       format_type(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END, NULL),
       coalesce(array_position(i.indkey::int2[], a.attnum), -1)::text,
       (c.relrowsecurity OR EXISTS (SELECT FROM pg_rewrite r WHERE r.ev_class = c.oid) OR EXISTS (
         SELECT FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid
         WHERE g.tgrelid = c.oid AND NOT g.tgisinternal AND p.pronamespace::regnamespace::text <> 'isoscope_recording'))::text,
       (c.relkind = 'p' OR c.relispartition OR c.relhassubclass OR EXISTS (
         SELECT FROM pg_inherits h WHERE h.inhrelid = c.oid))::text,
       (a.attgenerated <> '')::text
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
  AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'isoscope_recording') AND n.nspname NOT LIKE 'pg\\_%'
ORDER BY c.oid, a.attnum";

const VIEWS: &str = "
WITH RECURSIVE uses AS (
  SELECT DISTINCT v.oid AS view, v.relname, d.refobjid AS used
  FROM pg_class v JOIN pg_rewrite r ON r.ev_class = v.oid
  JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
  WHERE v.relkind = 'v' AND d.refobjid <> v.oid
    AND v.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
), all_uses AS (
  SELECT relname, used FROM uses UNION SELECT a.relname, u.used FROM all_uses a JOIN uses u ON u.view = a.used)
SELECT relname::text, used::text FROM all_uses";

const FUNCTIONS: &str = "
SELECT DISTINCT p.proname::text, CASE WHEN p.prokind IN ('a', 'w') THEN 'aggregate' ELSE 'function' END
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_language l ON l.oid = p.prolang
WHERE p.prokind IN ('a', 'w')
   OR p.provolatile <> 'i' AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'isoscope_recording') AND l.lanname <> 'c'";

impl Catalogue {
    /// Reads the catalogue of a database.
    pub(crate) fn load(administration: &mut dyn Asks) -> Result<Self, Failure> {
        let mut found = Self::default();
        for row in administration.rows(COLUMNS)? {
            let text = |nth: usize| row.get(nth).cloned().flatten().unwrap_or_default();
            let is = |nth: usize| matches!(text(nth).as_str(), "t" | "true");
            let oid = text(0).parse().unwrap_or_default();
            if found.tables.last().is_none_or(|it| it.oid != oid) {
                let (schema, name) = (text(1), text(2));
                let shown = if schema == "public" { name.clone() } else { format!("{schema}.{name}") };
                let rows = if is(6) { RowsAre::Guarded } else { RowsAre::Plain };
                let parts = if is(7) { Parts::Some } else { Parts::None };
                let (columns, key, hidden) = (Vec::new(), Vec::new(), None);
                found.tables.push(Table { oid, schema, name, shown, columns, key, rows, parts, hidden });
            }
            let Some(table) = found.tables.last_mut() else { continue };
            let type_name = text(4);
            let content = if is(8) { Content::Computed } else { Content::Written };
            let column = Column { name: text(3), kind: Kind::of(&type_name), type_name, content };
            if hidden::is_hidden(&column.name) {
                table.hidden = Some(column.name.clone());
            }
            // Positions in the key begin with 0. Rows of a table that has parts are rows of two tables.
            if let Some(place) = text(5).parse::<usize>().ok().filter(|_| !is(7)) {
                table.key.resize(table.key.len().max(place + 1), String::new());
                table.key[place].clone_from(&column.name);
            }
            table.columns.push(column);
        }
        for table in found.tables.iter_mut().filter(|it| it.key.is_empty()) {
            table.key.extend(table.hidden.clone());
        }
        for row in administration.rows(FUNCTIONS)? {
            let mut texts = row.into_iter().map(Option::unwrap_or_default);
            let (name, kind) = (texts.next().unwrap_or_default(), texts.next().unwrap_or_default());
            if kind == "aggregate" {
                found.aggregates.insert(name)
            } else {
                found.functions.insert(name)
            };
        }
        found.functions.retain(|it| !found.aggregates.contains(it));
        for row in administration.rows(VIEWS)? {
            let mut texts = row.into_iter().map(Option::unwrap_or_default);
            let (name, used) = (texts.next().unwrap_or_default(), texts.next().unwrap_or_default());
            found.views.entry(name).or_default().extend(used.parse::<u32>());
        }
        let late = administration.rows("SELECT 1 FROM pg_constraint WHERE condeferrable LIMIT 1")?;
        found.has_late_constraints = !late.is_empty();
        for (nth, table) in found.tables.iter().enumerate() {
            let named = found.by_name.entry(table.name.clone()).or_insert(Named::One(nth));
            if !matches!(named, Named::One(it) if *it == nth) {
                *named = Named::Several;
            }
        }
        Ok(found)
    }

    pub(crate) fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Gives tables other names in the history.
    pub(crate) fn show(&mut self, name: impl Fn(&Table) -> String) {
        for table in &mut self.tables {
            table.shown = name(table);
        }
    }

    /// The tables that a word of a statement may stand for: one of that name in any schema, or those behind a view.
    pub(crate) fn meant_by(&self, word: &str) -> Vec<&Table> {
        let of_view = self.views.get(word).into_iter().flatten().filter_map(|it| self.by_oid(*it));
        self.tables.iter().filter(|it| it.name == word).chain(of_view).collect()
    }

    pub(crate) fn by_oid(&self, oid: u32) -> Option<&Table> {
        self.tables.binary_search_by_key(&oid, |it| it.oid).ok().map(|it| &self.tables[it])
    }

    /// The table of a name, if there is exactly one.
    pub(crate) fn table(&self, schema: Option<&str>, name: &str) -> Option<&Table> {
        match schema {
            Some(schema) => self.tables.iter().find(|it| it.schema == schema && it.name == name),
            None => match self.by_name.get(name)? {
                Named::One(nth) => Some(&self.tables[*nth]),
                Named::Several => None,
            },
        }
    }

    /// Is this table not there any more as it was?
    pub(crate) fn has_changed(&self, table: &Table) -> bool {
        self.by_oid(table.oid).is_none_or(|it| it.shown != table.shown)
    }

    /// Has any table a column of ours?
    pub(crate) fn has_hidden(&self) -> bool {
        self.tables.iter().any(|it| it.hidden.is_some())
    }

    pub(crate) fn is_aggregate(&self, name: &str) -> bool {
        self.aggregates.contains(name)
    }

    pub(crate) fn is_function_of_users(&self, name: &str) -> bool {
        self.functions.contains(name)
    }
}

/// Puts into the database what recording needs.
pub(crate) fn install(administration: &mut Administration, word: &str) -> Result<(), Failure> {
    let there = format!("SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = '{SCHEMA}'");
    match administration.rows(&there)?.first().map(|it| it.first().cloned().flatten()) {
        None => {}
        Some(Some(comment)) if comment == COMMENT => remove(administration)?,
        Some(_) => {
            let message = format!("there is a schema `{SCHEMA}` in the database that isoscope has not made; rename it");
            return Err(Failure::Broken { message });
        }
    }
    administration.run(&format!(
        "CREATE SCHEMA {SCHEMA};
         COMMENT ON SCHEMA {SCHEMA} IS {};
         GRANT USAGE ON SCHEMA {SCHEMA} TO PUBLIC;
         CREATE TABLE {SCHEMA}.outside (nth bigserial PRIMARY KEY, xid text NOT NULL, told text NOT NULL);
         CREATE FUNCTION {SCHEMA}.keep(told text) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog
           AS 'INSERT INTO {SCHEMA}.outside (xid, told) VALUES (pg_current_xact_id()::text, $1)';
         CREATE FUNCTION {SCHEMA}.tell(told text) RETURNS boolean LANGUAGE plpgsql AS
           $tell$ BEGIN RAISE INFO USING MESSAGE = told, ERRCODE = '{TOLD}'; RETURN true; END $tell$;
         CREATE FUNCTION {SCHEMA}.refuse(code text, why text) RETURNS void LANGUAGE plpgsql AS
           $refuse$ BEGIN RAISE EXCEPTION USING MESSAGE = why, ERRCODE = code; END $refuse$;
         CREATE FUNCTION {SCHEMA}.wrote(told text) RETURNS void LANGUAGE plpgsql AS $wrote$ BEGIN {} END $wrote$",
        literal(COMMENT),
        telling(word)
    ))
}

/// What a function does with what it has to tell. `word` is known to connections through the proxy alone.
fn telling(word: &str) -> String {
    let word = literal(word);
    format!(
        "IF pg_catalog.current_setting('isoscope.recording', true) = {word} THEN
           RAISE INFO USING MESSAGE = told, ERRCODE = '{TOLD}';
         ELSE
           PERFORM {SCHEMA}.keep(told);
         END IF;"
    )
}

/// By this, a schema is known to be ours.
const COMMENT: &str = "of isoscope record; it is removed at the end of a recording";

/// Puts a trigger on every table that has none. Gives the catalogue as it is then.
pub(crate) fn attach(administration: &mut dyn Asks, purpose: Purpose, word: &str) -> Result<Catalogue, Failure> {
    let mut catalogue = Catalogue::load(administration)?;
    if purpose == Purpose::Serve && hidden::settle(administration, &catalogue)? {
        catalogue = Catalogue::load(administration)?;
    }
    let sql = format!(
        "SELECT tgrelid::text FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
         WHERE p.pronamespace = '{SCHEMA}'::regnamespace"
    );
    let attached: HashSet<u32> =
        administration.rows(&sql)?.into_iter().flatten().flatten().filter_map(|it| it.parse().ok()).collect();
    for table in catalogue.tables().iter().filter(|it| it.has_key()) {
        let (oid, old, new) = (table.oid, table.row_sql("OLD"), table.row_sql("NEW"));
        let (settings, spelled) = match purpose {
            Purpose::Record => (String::new(), ""),
            Purpose::Serve => (spelling_of(table), " || ',' || pg_catalog.to_json(NEW::text)::text"),
        };
        // A function of its own for each table, and none called by it: triggers are most of what a recording costs.
        let telling = telling(word);
        let function = format!(
            "CREATE OR REPLACE FUNCTION {SCHEMA}.wrote_{oid}() RETURNS trigger LANGUAGE plpgsql {settings} AS $wrote$
             DECLARE told text; BEGIN
               IF TG_OP = 'INSERT' THEN
                 told := '[\"w\",{oid},' || {STAMP} || ',null,' || {new}::text{spelled} || ']';
               ELSIF TG_OP = 'UPDATE' THEN
                 told := '[\"w\",{oid},' || {STAMP} || ',' || {old}::text || ',' || {new}::text{spelled} || ']';
               ELSE
                 told := '[\"w\",{oid},' || {STAMP} || ',' || {old}::text || ',null]';
               END IF;
               {telling}
               RETURN NULL;
             END $wrote$"
        );
        // A table that was altered has other columns.
        administration.run(&function)?;
        if purpose == Purpose::Serve {
            administration.run(&placing(table))?;
        }
        if attached.contains(&oid) {
            continue;
        }
        let on = table.sql_name();
        administration.run(&format!(
            "CREATE TRIGGER isoscope_wrote AFTER INSERT OR UPDATE OR DELETE ON {on}
               FOR EACH ROW EXECUTE FUNCTION {SCHEMA}.wrote_{oid}();
             CREATE FUNCTION {SCHEMA}.emptied_{oid}() RETURNS trigger LANGUAGE plpgsql AS $emptied$ BEGIN
               PERFORM {SCHEMA}.wrote('[\"w\",{oid},' || {STAMP} || ',' || {}::text || ',null]') FROM {on} t;
               RETURN NULL;
             END $emptied$;
             CREATE TRIGGER isoscope_emptied BEFORE TRUNCATE ON {on}
               FOR EACH STATEMENT EXECUTE FUNCTION {SCHEMA}.emptied_{oid}()",
            table.row_sql("t")
        ))?;
    }
    Ok(catalogue)
}

/// How rows are spelled does not depend on the settings of a session.
pub(crate) const SPELLING: &str = "SET datestyle = ISO SET intervalstyle = postgres SET timezone = 'UTC' SET bytea_output = hex SET extra_float_digits = 1";

/// The same for the rows of one table. Each setting costs time whenever a row is written, so none is made without need.
fn spelling_of(table: &Table) -> String {
    let mut settings = BTreeSet::new();
    for column in &table.columns {
        match column.type_name.as_str() {
            "smallint" | "integer" | "bigint" | "numeric" | "text" | "character varying" | "character" | "name"
            | "boolean" | "uuid" | "json" | "jsonb" => {}
            "date" | "timestamp without time zone" => {
                settings.insert("SET datestyle = ISO");
            }
            "real" | "double precision" => {
                settings.insert("SET extra_float_digits = 1");
            }
            "bytea" => {
                settings.insert("SET bytea_output = hex");
            }
            _ => return SPELLING.to_owned(),
        }
    }
    settings.into_iter().collect::<Vec<_>>().join(" ")
}

/// The function that puts rows in place of those that a table has, and takes others away. No trigger sees it.
fn placing(table: &Table) -> String {
    let (oid, on) = (table.oid, table.sql_name());
    let parts = |columns: &[String]| columns.iter().map(|it| format!("(x::{on}).{it}")).collect::<Vec<_>>().join(", ");
    let key: Vec<String> = table.key.iter().map(|it| quoted(it)).collect();
    let written = table.columns.iter().filter(|it| it.content == Content::Written);
    let columns: Vec<String> = written.map(|it| quoted(&it.name)).collect();
    let is_same = key.iter().map(|it| format!("t.{it} = g.{it}")).collect::<Vec<_>>().join(" AND ");
    format!(
        "CREATE OR REPLACE FUNCTION {SCHEMA}.place_{oid}(gone text[], placed text[]) RETURNS void LANGUAGE plpgsql
           SET session_replication_role = replica {SPELLING} AS $place$ BEGIN
           DELETE FROM {on} t USING (SELECT {} FROM pg_catalog.unnest(gone || placed) x) g WHERE {is_same};
           INSERT INTO {on} ({}) OVERRIDING SYSTEM VALUE SELECT {} FROM pg_catalog.unnest(placed) x;
         END $place$",
        parts(&key),
        columns.join(", "),
        parts(&columns)
    )
}

/// Takes everything out of the database again.
pub(crate) fn remove(administration: &mut Administration) -> Result<(), Failure> {
    hidden::remove(administration)?;
    administration.run(&format!("DROP SCHEMA IF EXISTS {SCHEMA} CASCADE"))
}

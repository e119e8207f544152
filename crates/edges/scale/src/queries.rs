//! The queries that replay an order, in the SQL that Spark and `DataFusion` know.
//!
//! Serializability: for each key in the order of positions, a read must have the value of the row before it, be that a write or
//! a read. So one sort is all it takes. Snapshot isolation begins with the same, and looks closer at what does not fit
//! ([`crate::snapshots`]).
//!
//! Plain window functions, groups and joins are all that is used, so that other engines understand them, too: `SQLite`, and
//! with `"` for `` ` `` `DuckDB`. `IS DISTINCT FROM` stands in parentheses, as `DataFusion` takes an `AND` behind it for a part
//! of it. Windows have whole keys or sessions for partitions, as there are engines for which each partition is dear.

use crate::ScaleError;
use crate::order::Order;
use crate::script::partitions;
use crate::snapshots;
use iso_formats::{DataSet, spelled};
use iso_history::Datum;
use iso_spec::Level;

/// What is asked of a data set.
#[derive(Clone, Debug)]
pub struct Question {
    /// The data set.
    pub data: DataSet,
    /// The level.
    pub level: Level,
    /// The order that is tried first.
    pub order: Order,
}

impl Question {
    /// A question that replaying an order answers.
    pub fn new(data: DataSet, level: Level) -> Result<Self, ScaleError> {
        let is_known = [Level::Serializable, Level::StrictSerializable, Level::SnapshotIsolation].contains(&level);
        if !is_known {
            return Err(ScaleError::Level { level: level.short_name() });
        }
        let path = data.path.display().to_string();
        if !data.has("op") {
            return Err(ScaleError::Column { path, column: "op" });
        }
        let has_times = data.has("begin") && data.has("end") && data.times.is_some_and(|it| it.0 < it.1);
        if level == Level::StrictSerializable && !has_times {
            let what = "sser is about real time, and the columns `begin` and `end` do not tell it".to_owned();
            return Err(ScaleError::Unsupported { path, what });
        }
        let order = Order::of(&data);
        Ok(Self { data, level, order })
    }
}

/// Views, each made of those before it, and what they are for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queries {
    /// Names and texts, in this order. They read `history`, which is the data set, and `moved`, if something is.
    pub views: Vec<(&'static str, String)>,
}

impl Queries {
    /// Rows of other kinds.
    pub const OTHER_KINDS: &'static str = "other_kinds";
    /// Transactions whose rows contradict each other.
    pub const BROKEN: &'static str = "broken";
    /// The transactions that count.
    pub const TXNS: &'static str = "txns";
    /// Keys on which something does not fit.
    pub const MISFIT_KEYS: &'static str = "misfit_keys";
    /// Transactions that do not fit, and those that they do not fit to.
    pub const MISFIT_TXNS: &'static str = "misfit_txns";
    /// The rows around the misfits.
    pub const PART: &'static str = "part";
    /// Views that others read several times, or that are counted and read: an engine keeps their rows, which are few unless
    /// most of a history does not fit.
    pub const KEPT: [&'static str; 11] = [
        "effective",
        "late",
        "early",
        snapshots::STALE_KEYS,
        snapshots::STALE_OPS,
        snapshots::STALE,
        snapshots::NEAR_KEYS,
        snapshots::NEAR_OPS,
        snapshots::APART,
        Self::MISFIT_KEYS,
        Self::MISFIT_TXNS,
    ];

    /// Views that have no rows if another one has none. An engine need not look for them then: one that cuts a query into stages
    /// would read everything before it sees that.
    pub const EMPTY_WITH: [(&'static str, &'static str); 6] = [
        (snapshots::STALE_OPS, snapshots::STALE_KEYS),
        (snapshots::STALE, snapshots::STALE_OPS),
        (snapshots::NEAR_KEYS, snapshots::STALE),
        (snapshots::NEAR_OPS, snapshots::NEAR_KEYS),
        (Self::MISFIT_KEYS, snapshots::APART),
        (Self::MISFIT_TXNS, snapshots::APART),
    ];

    /// The queries of a question. They read the view `moved`, if something is, and `before`, if there was a part before.
    pub fn new(question: &Question, moved: Moves, earlier: Earlier) -> Self {
        let writer = Writer { question };
        let mut views = vec![(Self::OTHER_KINDS, other_kinds()), (Self::BROKEN, writer.broken())];
        if question.data.may_have_unknown {
            views.push(("effective", effective()));
        }
        views.extend([
            ("counted", writer.counted(moved)),
            ("ops", ops()),
            (Self::TXNS, txns()),
            ("sessions", sessions()),
        ]);
        match question.level {
            Level::SnapshotIsolation => {
                views.push((snapshots::STALE_KEYS, writer.unserial_keys()));
                snapshots::views(writer.initial_version().as_deref(), &mut views);
            }
            _ => writer.serial(&mut views),
        }
        views.push((Self::PART, writer.part(earlier)));
        Self { views }
    }

    /// The whole as a script for people, who give it to an engine.
    pub fn script(&self, question: &Question) -> String {
        let path = question.data.path.display().to_string().replace('\'', "\\'");
        let level = question.level.short_name();
        let mut text = format!(
            "-- Does {level} hold of this history? Transactions are replayed in the order of their ends, key by key.\n\
             -- Run it with:  spark-sql -f THIS_FILE\n\
             -- It holds if `{0}` and `{1}` have 0 rows, and `{2}` and `{3}` as well. Otherwise the rows are what does not fit\n\
             -- this order; another one may explain them: `isoscope check .. --engine spark` goes on from there.\n\n\
             -- Intermediate rows are kept in a database of their own, which is there for this run only.\n\n\
             {4}CREATE DATABASE {DATABASE};\nUSE {DATABASE};\n\
             CREATE OR REPLACE TEMPORARY VIEW history USING parquet OPTIONS (path '{path}');\n",
            Self::MISFIT_KEYS,
            Self::MISFIT_TXNS,
            Self::OTHER_KINDS,
            Self::BROKEN,
            partitions(question.data.n_rows)
                .map_or_else(String::new, |n| format!("SET spark.sql.shuffle.partitions = {n};\n")),
        );
        let views = self.views.iter().filter(|it| it.0 != Self::PART);
        text.extend(views.map(|(name, view)| {
            if Self::KEPT.contains(name) {
                format!("\nCREATE TABLE {name} USING parquet AS\n{view};\n")
            } else {
                format!("\nCREATE OR REPLACE TEMPORARY VIEW {name} AS\n{view};\n")
            }
        }));
        let looked_at = [Self::OTHER_KINDS, Self::BROKEN, Self::MISFIT_KEYS, Self::MISFIT_TXNS];
        text.extend(looked_at.map(|name| format!("\nSELECT '{name}' AS found, COUNT(*) AS n FROM {name};\n")));
        text.extend([format!("\nSELECT * FROM {} LIMIT 20;\n", Self::MISFIT_KEYS)]);
        text.extend([format!("\nUSE default;\nDROP DATABASE {DATABASE} CASCADE;\n")]);
        text
    }
}

/// Where queries that are printed keep rows. Cached views would not do: they stay in the plans of all who ask them, which grow
/// beyond all memory.
const DATABASE: &str = "isoscope_replay";

/// Were transactions moved?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// None was.
    None,
    /// Those of the view `moved`.
    Some,
}

/// Was there a part before?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// There was none.
    None,
    /// It is in the view `before`.
    Part,
}

fn other_kinds() -> String {
    "SELECT kind, COUNT(*) AS n FROM history\n  WHERE kind IS NULL OR kind NOT IN ('r', 'w', 'txn', 'init') GROUP BY kind"
        .to_owned()
}

/// Reads and writes of transactions that count, and initial values, which come before all.
fn ops() -> String {
    "SELECT `key`, `value`, txn, op, pos, CASE WHEN kind = 'r' THEN 0 ELSE 1 END AS is_write\n  \
     FROM counted WHERE kind IN ('r', 'w')\n\
     UNION ALL\n\
     SELECT `key`, `value`, 0 AS txn, op, -1 AS pos, 1 AS is_write FROM history WHERE kind = 'init'"
        .to_owned()
}

/// One row of each transaction says all that is true of it; whether the others agree, `broken` tells.
fn txns() -> String {
    "SELECT session, txn, pos, began, ended FROM counted WHERE op = 0".to_owned()
}

/// Of transactions whose outcome is unknown, those that somebody read from.
fn effective() -> String {
    "SELECT DISTINCT w.txn FROM history w JOIN history r\n  \
     ON (r.`key` IS NOT DISTINCT FROM w.`key`) AND r.`value` = w.`value`\n  \
     WHERE w.kind = 'w' AND w.status = 'unknown' AND r.kind = 'r' AND COALESCE(r.status, 'commit') = 'commit'"
        .to_owned()
}

struct Writer<'q> {
    question: &'q Question,
}

impl Writer<'_> {
    fn data(&self) -> &DataSet {
        &self.question.data
    }

    fn status(&self) -> &'static str {
        if self.data().has("status") { "COALESCE(h.status, 'commit')" } else { "'commit'" }
    }

    /// A column of the data set, or null if it has none of that name.
    fn column(&self, name: &str) -> String {
        if self.data().has(name) { format!("h.`{name}`") } else { "CAST(NULL AS BIGINT)".to_owned() }
    }

    /// Transactions whose rows say different things, or whose operations are not numbered from 0.
    fn broken(&self) -> String {
        let mut differ = vec![
            "COUNT(*) <> COUNT(h.session) OR MIN(h.session) <> MAX(h.session)".to_owned(),
            "MIN(h.op) <> 0 OR MAX(h.op) <> COUNT(*) - 1 OR SUM(CAST(h.op AS BIGINT)) * 2 <> COUNT(*) * (COUNT(*) - 1)"
                .to_owned(),
            "SUM(CAST(h.op AS BIGINT) * h.op) * 6 <> (COUNT(*) - 1) * COUNT(*) * (2 * COUNT(*) - 1)".to_owned(),
        ];
        for name in ["begin", "end"].into_iter().filter(|it| self.data().has(it)) {
            differ.push(format!("COUNT(h.`{name}`) NOT IN (0, COUNT(*)) OR MIN(h.`{name}`) <> MAX(h.`{name}`)"));
        }
        if self.data().has("status") {
            // Numbers are compared much faster than texts.
            let status = "CASE COALESCE(h.status, 'commit') WHEN 'commit' THEN 0 WHEN 'abort' THEN 1 WHEN 'unknown' THEN 2 ELSE 3 END";
            differ.push(format!("MIN({status}) <> MAX({status}) OR MAX({status}) = 3"));
        }
        let differ = differ.join("\n    OR ");
        format!("SELECT h.txn FROM history h WHERE h.kind <> 'init' GROUP BY h.txn\n  HAVING h.txn IS NULL OR {differ}")
    }

    /// Rows of transactions that count, each with its position.
    fn counted(&self, moved: Moves) -> String {
        let status = self.status();
        let mut counts = format!("{status} = 'commit'");
        // What is small stands first: engines that know nothing of sizes build their tables from that.
        let mut rows = "history h".to_owned();
        if self.data().may_have_unknown {
            counts = format!("({counts} OR e.txn IS NOT NULL)");
            rows = format!("(effective e RIGHT JOIN {rows} ON e.txn = h.txn)");
        }
        let guess = self.question.order.sql();
        let (pos, counts) = match moved {
            Moves::None => (guess, counts),
            Moves::Some => {
                rows = format!("moved m RIGHT JOIN {rows} ON m.txn = h.txn");
                (
                    format!("CASE WHEN m.txn IS NULL THEN {guess} ELSE m.pos END"),
                    format!("(CASE WHEN m.txn IS NULL THEN {counts} ELSE m.counts = 1 END)"),
                )
            }
        };
        let (begin, end) = (self.column("begin"), self.column("end"));
        format!(
            "SELECT h.txn AS txn, h.session AS session, h.kind AS kind, h.`key` AS `key`, h.`value` AS `value`, h.op AS op,\n    \
             {begin} AS began,\n    \
             CASE WHEN {status} = 'commit' THEN {end} END AS ended,\n    {pos} AS pos\n  \
             FROM {rows}\n  WHERE h.kind <> 'init' AND {counts}"
        )
    }

    /// One transaction after the other.
    fn serial(&self, views: &mut Vec<(&'static str, String)>) {
        views.push((Queries::MISFIT_KEYS, self.unserial_keys()));
        views.push(("late", "SELECT txn, txn_before FROM sessions WHERE pos_before >= pos".to_owned()));
        let mut misfits = vec!["SELECT txn FROM late".to_owned(), "SELECT txn_before FROM late".to_owned()];
        if self.question.level == Level::StrictSerializable {
            views.push(("early", early()));
            misfits.push("SELECT txn FROM early".to_owned());
        }
        views.push((Queries::MISFIT_TXNS, misfits.join("\nUNION\n")));
    }

    /// Keys of which a read sees something else than the operation before it left there, be that a write or a read.
    fn unserial_keys(&self) -> String {
        let unwritten = match self.initial() {
            Initial::Null => "`value` IS NOT NULL".to_owned(),
            Initial::Is(value) => format!("(`value` IS DISTINCT FROM {value})"),
            Initial::Nothing => "1 = 1".to_owned(),
        };
        format!(
            "SELECT DISTINCT `key` FROM (\n    SELECT `key`, `value`, is_write,\n      \
             LAG(is_write) OVER (PARTITION BY `key` ORDER BY pos, op) AS is_write_before,\n      \
             LAG(`value`) OVER (PARTITION BY `key` ORDER BY pos, op) AS value_before FROM ops) replayed\n  \
             WHERE is_write = 0 AND (CASE WHEN is_write_before IS NULL THEN {unwritten}\n    \
             ELSE (`value` IS DISTINCT FROM value_before) END)"
        )
    }

    /// What stands in the place of the initial version of a key without one of its own; nothing if no read can see it.
    fn initial_version(&self) -> Option<String> {
        match self.initial() {
            Initial::Null => Some(null(self.data().has_text_values)),
            Initial::Is(value) => Some(value),
            Initial::Nothing => None,
        }
    }

    /// All that was done to the keys with misfits; of transactions that must be there besides, that they were.
    fn part(&self, earlier: Earlier) -> String {
        let columns: Vec<String> = ["txn", "session", "kind", "key", "value", "op", "status", "begin", "end"]
            .into_iter()
            .filter(|it| self.data().has(it))
            .map(|it| format!("h.`{it}`"))
            .collect();
        let emptied = columns.iter().map(|it| match it.as_str() {
            "h.`kind`" => "'txn'".to_owned(),
            "h.`key`" => null(self.data().has_text_keys),
            "h.`value`" => null(self.data().has_text_values),
            "h.`op`" => "-1".to_owned(),
            other => other.to_owned(),
        });
        let (kept, emptied) = (columns.join(", "), emptied.collect::<Vec<_>>().join(", "));
        let (keys, txns) = match earlier {
            Earlier::None => (Queries::MISFIT_KEYS.to_owned(), Queries::MISFIT_TXNS.to_owned()),
            Earlier::Part => (
                format!(
                    "(SELECT `key` FROM {} UNION SELECT `key` FROM before WHERE kind <> 'txn')",
                    Queries::MISFIT_KEYS
                ),
                format!("(SELECT txn FROM {} UNION SELECT txn FROM before WHERE kind <> 'init')", Queries::MISFIT_TXNS),
            ),
        };
        format!(
            "SELECT {kept}\n  FROM {keys} k JOIN history h ON (h.`key` IS NOT DISTINCT FROM k.`key`)\n  \
             WHERE h.kind IN ('r', 'w', 'init')\n\
             UNION ALL\nSELECT {emptied}\n  FROM {txns} t JOIN history h ON t.txn = h.txn\n  WHERE h.op = 0 AND h.kind <> 'init'"
        )
    }

    /// The initial value of keys that have none of their own, as the column of values has it.
    fn initial(&self) -> Initial {
        let data = self.data();
        match (&data.initial, data.has_text_values) {
            (Datum::Null, _) => Initial::Null,
            (Datum::Int(number), false) => Initial::Is(number.to_string()),
            (_, false) => Initial::Nothing,
            // Engines differ in how they escape these; without the literal, reads of it are misfits, which are decided here.
            (value, true) => match spelled(value.as_name()).filter(|it| !it.contains(['\'', '\\'])) {
                Some(text) => Initial::Is(format!("'{text}'")),
                None => Initial::Nothing,
            },
        }
    }
}

enum Initial {
    Null,
    /// A literal.
    Is(String),
    /// No value of the column is it.
    Nothing,
}

fn null(is_text: bool) -> String {
    if is_text { "CAST(NULL AS STRING)" } else { "CAST(NULL AS BIGINT)" }.to_owned()
}

/// Who comes before whom in a session.
fn sessions() -> String {
    "SELECT txn, pos, LAG(txn) OVER (PARTITION BY session ORDER BY txn) AS txn_before,\n    \
     LAG(pos) OVER (PARTITION BY session ORDER BY txn) AS pos_before FROM txns"
        .to_owned()
}

/// What was over, or had not begun, while something else stands on the other side.
fn early() -> String {
    "SELECT txn FROM (\n    SELECT txn, began, ended,\n      \
     MIN(ended) OVER (ORDER BY pos DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS first_end_after,\n      \
     MAX(began) OVER (ORDER BY pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS last_begin_before\n    \
     FROM txns) clock\n  WHERE first_end_after < began OR last_begin_before > ended"
        .to_owned()
}

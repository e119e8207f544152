//! The queries that replay an order, in the SQL that Spark knows.
//!
//! Serializability: for each key in the order of positions, a write begins a version, and all reads up to the next write must
//! have its value. So each version has one value. Snapshot isolation: commits stand at the positions; each read says that
//! the snapshot comes after the commit of its writer and before that of the next one, each write that it comes after the one
//! before it, and each session that it comes after its last commit. A snapshot must fit between all of them.
//!
//! Plain window functions and groups are all that is used, so that other engines understand them, too: with `"` for `` ` ``,
//! `DuckDB` and `DataFusion`.

use crate::ScaleError;
use crate::order::Order;
use iso_formats::{DataSet, spelled};
use iso_history::Datum;
use iso_spec::Level;

/// No position is so large.
const BEYOND: i64 = i64::MAX;

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

    /// The queries of a question. They read the view `moved`, if something is, and `before`, if there was a part before.
    pub fn new(question: &Question, moved: Moves, earlier: Earlier) -> Self {
        let writer = Writer { question };
        let mut views = vec![
            (Self::OTHER_KINDS, other_kinds()),
            (Self::BROKEN, writer.broken()),
            ("counted", writer.counted(moved)),
            ("ops", ops()),
            (Self::TXNS, txns()),
        ];
        match question.level {
            Level::SnapshotIsolation => writer.snapshots(&mut views),
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
             CREATE OR REPLACE TEMPORARY VIEW history USING parquet OPTIONS (path '{path}');\n",
            Self::MISFIT_KEYS,
            Self::MISFIT_TXNS,
            Self::OTHER_KINDS,
            Self::BROKEN,
        );
        let views = self.views.iter().filter(|it| it.0 != Self::PART);
        text.extend(views.map(|(name, view)| format!("\nCREATE OR REPLACE TEMPORARY VIEW {name} AS\n{view};\n")));
        let looked_at = [Self::OTHER_KINDS, Self::BROKEN, Self::MISFIT_KEYS, Self::MISFIT_TXNS];
        text.extend(looked_at.map(|name| format!("\nSELECT '{name}' AS found, COUNT(*) AS n FROM {name};\n")));
        text.extend([format!("\nSELECT * FROM {} LIMIT 20;\n", Self::MISFIT_KEYS)]);
        text
    }
}

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

fn txns() -> String {
    "SELECT session, txn, MIN(pos) AS pos, MIN(began) AS began, MIN(ended) AS ended FROM counted GROUP BY session, txn"
        .to_owned()
}

/// Rows of one group must have one value.
const DIFFER: &str = "MIN(`value`) <> MAX(`value`) OR COUNT(`value`) NOT IN (0, COUNT(*))";

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
            let status = self.status();
            differ
                .push(format!("MIN({status}) <> MAX({status}) OR MIN({status}) NOT IN ('commit', 'abort', 'unknown')"));
        }
        let differ = differ.join("\n    OR ");
        format!("SELECT h.txn FROM history h WHERE h.kind <> 'init' GROUP BY h.txn\n  HAVING h.txn IS NULL OR {differ}")
    }

    /// Rows of transactions that count, each with its position.
    fn counted(&self, moved: Moves) -> String {
        let status = self.status();
        let mut counts = format!("{status} = 'commit'");
        if self.data().may_have_unknown {
            // Of those whose outcome is unknown, the ones count that somebody read from.
            counts = format!(
                "({counts} OR ({status} = 'unknown' AND h.txn IN (\n      \
                 SELECT w.txn FROM history w JOIN history r ON r.`key` = w.`key` AND r.`value` = w.`value`\n      \
                 WHERE w.kind = 'w' AND w.status = 'unknown' AND r.kind = 'r' AND COALESCE(r.status, 'commit') = 'commit')))"
            );
        }
        let guess = self.question.order.sql();
        let (pos, join, counts) = match moved {
            Moves::None => (guess, "", counts),
            Moves::Some => (
                format!("CASE WHEN m.txn IS NULL THEN {guess} ELSE m.pos END"),
                " LEFT JOIN moved m ON m.txn = h.txn",
                format!("(CASE WHEN m.txn IS NULL THEN {counts} ELSE m.counts = 1 END)"),
            ),
        };
        let (begin, end) = (self.column("begin"), self.column("end"));
        format!(
            "SELECT h.txn, h.session, h.kind, h.`key`, h.`value`, h.op, {begin} AS began,\n    \
             CASE WHEN {status} = 'commit' THEN {end} END AS ended,\n    {pos} AS pos\n  \
             FROM history h{join}\n  WHERE h.kind <> 'init' AND {counts}"
        )
    }

    /// One transaction after the other.
    fn serial(&self, views: &mut Vec<(&'static str, String)>) {
        let unwritten = match self.initial() {
            Initial::Null => "COUNT(`value`) > 0".to_owned(),
            Initial::Is(value) => {
                format!("COUNT(`value`) < COUNT(*) OR MIN(`value`) <> {value} OR MAX(`value`) <> {value}")
            }
            Initial::Nothing => "1 = 1".to_owned(),
        };
        views.push((
            "versions",
            "SELECT `key`, `value`, SUM(is_write) OVER (PARTITION BY `key` ORDER BY pos, txn, op\n    \
             ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS version FROM ops"
                .to_owned(),
        ));
        views.push((
            Queries::MISFIT_KEYS,
            format!(
                "SELECT DISTINCT `key` FROM (\n    SELECT `key`, version FROM versions GROUP BY `key`, version\n    \
                 HAVING {DIFFER}\n      OR (version = 0 AND ({unwritten}))) bad"
            ),
        ));
        let mut misfits = vec![
            "SELECT txn FROM sessions WHERE pos_before >= pos".to_owned(),
            "SELECT txn_before FROM sessions WHERE pos_before >= pos".to_owned(),
        ];
        views.push(("sessions", sessions()));
        if self.question.level == Level::StrictSerializable {
            views.push(("clock", clock()));
            misfits.push("SELECT txn FROM clock WHERE first_end_after < began".to_owned());
            misfits.push("SELECT txn FROM clock WHERE last_begin_before > ended".to_owned());
        }
        views.push((Queries::MISFIT_TXNS, misfits.join("\nUNION\n")));
    }

    /// Snapshots between commits.
    fn snapshots(&self, views: &mut Vec<(&'static str, String)>) {
        // Where the values of a column cannot be the initial one, no read sees it.
        let initial = match self.initial() {
            Initial::Null if self.data().has_text_values => "CAST(NULL AS STRING)".to_owned(),
            Initial::Null => "CAST(NULL AS BIGINT)".to_owned(),
            Initial::Is(value) => value,
            Initial::Nothing => String::new(),
        };
        let implied = if initial.is_empty() {
            String::new()
        } else {
            format!(
                "\n    UNION ALL\n    SELECT `key`, {initial}, 0, -1 FROM \
                 (SELECT `key`, MIN(pos) AS first_pos FROM ops GROUP BY `key`) k WHERE first_pos >= 0"
            )
        };
        views.push((
            "steps",
            "SELECT `key`, `value`, txn, op, pos, is_write,\n    \
             SUM(is_write) OVER (PARTITION BY txn, `key` ORDER BY op\n      \
             ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS own,\n    \
             SUM(is_write) OVER (PARTITION BY txn, `key`) AS owns\n  FROM ops WHERE pos >= 0"
                .to_owned(),
        ));
        views.push((
            "versions",
            format!(
                "SELECT `key`, `value`, txn, pos,\n    \
                 LAG(pos) OVER (PARTITION BY `key` ORDER BY pos, txn) AS pos_before,\n    \
                 COALESCE(LEAD(pos) OVER (PARTITION BY `key` ORDER BY pos, txn), {BEYOND}) AS pos_after\n  FROM (\n    \
                 SELECT `key`, `value`, txn, pos FROM steps WHERE is_write = 1 AND own = owns\n    UNION ALL\n    \
                 SELECT `key`, `value`, 0, -1 FROM history WHERE kind = 'init'{implied}) v"
            ),
        ));
        let window = "OVER (PARTITION BY `key`, `value` ORDER BY pos, is_read DESC\n      \
                      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)";
        views.push((
            "seen",
            format!(
                "SELECT txn, is_read,\n    MAX(CASE WHEN is_read = 0 THEN pos END) {window} AS low,\n    \
                 MAX(CASE WHEN is_read = 0 THEN pos_after END) {window} AS high\n  FROM (\n    \
                 SELECT `key`, `value`, txn, pos, pos_after, 0 AS is_read FROM versions\n    UNION ALL\n    \
                 SELECT `key`, `value`, txn, pos, CAST(NULL AS BIGINT), 1 FROM steps WHERE is_write = 0 AND own = 0) u"
            ),
        ));
        views.push(("sessions", sessions()));
        views.push((
            "limits",
            format!(
                "SELECT txn, COALESCE(low, {BEYOND}) AS low, COALESCE(high, {BEYOND}) AS high FROM seen WHERE is_read = 1\n\
                 UNION ALL\nSELECT txn, COALESCE(pos_before, -1), pos FROM versions WHERE pos >= 0\n\
                 UNION ALL\nSELECT txn, COALESCE(pos_before, -1), pos FROM sessions\n\
                 UNION ALL\nSELECT txn, {BEYOND}, 0 FROM steps WHERE own > 0 GROUP BY txn, `key`, own HAVING {DIFFER}"
            ),
        ));
        views.push(("apart", "SELECT txn FROM limits GROUP BY txn HAVING MAX(low) >= MIN(high)".to_owned()));
        views.push((
            Queries::MISFIT_KEYS,
            "SELECT DISTINCT h.`key` FROM history h JOIN apart a ON a.txn = h.txn WHERE h.kind IN ('r', 'w')"
                .to_owned(),
        ));
        views.push((
            Queries::MISFIT_TXNS,
            "SELECT txn FROM apart\nUNION\nSELECT s.txn_before FROM sessions s JOIN apart a ON a.txn = s.txn\n  \
             WHERE s.txn_before IS NOT NULL"
                .to_owned(),
        ));
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
            "SELECT {kept}\n  FROM history h JOIN {keys} k ON h.`key` = k.`key`\n  WHERE h.kind IN ('r', 'w', 'init')\n\
             UNION ALL\nSELECT {kept}\n  FROM history h\n  WHERE h.`key` IS NULL AND h.kind IN ('r', 'w', 'init')\n    \
             AND EXISTS (SELECT 1 FROM {keys} k WHERE k.`key` IS NULL)\n\
             UNION ALL\nSELECT {emptied}\n  FROM history h JOIN {txns} t ON t.txn = h.txn\n  WHERE h.op = 0 AND h.kind <> 'init'"
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
fn clock() -> String {
    "SELECT txn, began, ended,\n    \
     MIN(ended) OVER (ORDER BY pos DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS first_end_after,\n    \
     MAX(began) OVER (ORDER BY pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS last_begin_before\n  FROM txns"
        .to_owned()
}

//! The queries for snapshot isolation: what a serial replay does not explain is looked at closer, and nothing else.
//!
//! Commits stand at the positions. Each read says that the snapshot comes after the commit of its writer and before that of
//! the next writer, each write that it comes after the write before it, and each session that it comes after its last commit. A
//! snapshot must fit between all of them, and before the transaction's own commit.
//!
//! Where each read of a key sees the last write before it, that says no more than that the snapshot comes before the commit. So
//! only transactions that read something stale, or something that is not there, can fail to fit. They are found on the keys that
//! a serial replay does not explain, and for them, and on all keys that they touch, the limits are computed.

/// Keys that a serial replay does not explain.
pub(crate) const STALE_KEYS: &str = "stale_keys";
/// What was done to them.
pub(crate) const STALE_OPS: &str = "stale_ops";
/// Transactions whose snapshot is before something that was overwritten when they committed, or that have none.
pub(crate) const STALE: &str = "stale";
/// All keys of those transactions.
pub(crate) const NEAR_KEYS: &str = "near_keys";
/// What was done to those.
pub(crate) const NEAR_OPS: &str = "near_ops";
/// Transactions that no snapshot fits.
pub(crate) const APART: &str = "apart";

/// No position is so large.
const BEYOND: i64 = i64::MAX;

/// Views of what was done to some keys.
struct Closer {
    /// The view of the keys.
    keys: &'static str,
    ops: &'static str,
    steps: &'static str,
    versions: &'static str,
    seen: &'static str,
}

const FIRST: Closer =
    Closer { keys: STALE_KEYS, ops: STALE_OPS, steps: "stale_steps", versions: "stale_versions", seen: "stale_seen" };

const SECOND: Closer =
    Closer { keys: NEAR_KEYS, ops: NEAR_OPS, steps: "near_steps", versions: "near_versions", seen: "near_seen" };

/// A read of something else than the same transaction read or wrote there before.
const TORN: &str = "is_write = 0 AND pos_before = pos AND (`value` IS DISTINCT FROM value_before)";

/// Adds the views; they read `ops`, `sessions` and the keys that a serial replay does not explain. `initial` is a literal.
pub(crate) fn views(initial: Option<&str>, views: &mut Vec<(&'static str, String)>) {
    FIRST.views(initial, views);
    views.push((
        STALE,
        format!(
            "SELECT txn FROM {} WHERE is_read = 1 AND (low IS NULL OR high < pos)\nUNION\n\
             SELECT txn FROM {} WHERE {TORN}",
            FIRST.seen, FIRST.steps
        ),
    ));
    views.push((
        NEAR_KEYS,
        format!("SELECT DISTINCT o.`key` FROM {STALE} s JOIN ops o ON s.txn = o.txn WHERE o.pos >= 0"),
    ));
    views.push((
        "late",
        format!(
            "SELECT s.txn, s.txn_before, s.pos, s.pos_before FROM {STALE} t RIGHT JOIN sessions s ON t.txn = s.txn\n  \
             WHERE t.txn IS NOT NULL OR s.pos_before >= s.pos"
        ),
    ));
    SECOND.views(initial, views);
    views.push((
        "limits",
        format!(
            "SELECT txn, COALESCE(low, {BEYOND}) AS low, COALESCE(high, {BEYOND}) AS high FROM {seen} WHERE is_read = 1\n\
             UNION ALL\nSELECT txn, COALESCE(pos_before, -1), pos FROM {versions} WHERE pos >= 0\n\
             UNION ALL\nSELECT txn, COALESCE(pos_before, -1), pos FROM late\n\
             UNION ALL\nSELECT txn, {BEYOND}, 0 FROM {steps} WHERE {TORN}",
            seen = SECOND.seen,
            versions = SECOND.versions,
            steps = SECOND.steps,
        ),
    ));
    views.push((
        APART,
        format!(
            "SELECT l.txn FROM {STALE} s JOIN limits l ON s.txn = l.txn GROUP BY l.txn HAVING MAX(l.low) >= MIN(l.high)\n\
             UNION\nSELECT txn FROM late WHERE pos_before >= pos"
        ),
    ));
    views.push((
        crate::Queries::MISFIT_KEYS,
        format!("SELECT DISTINCT o.`key` FROM {APART} a JOIN ops o ON a.txn = o.txn WHERE o.pos >= 0"),
    ));
    views.push((
        crate::Queries::MISFIT_TXNS,
        format!(
            "SELECT txn FROM {APART}\nUNION\n\
             SELECT s.txn_before FROM {APART} a JOIN late s ON a.txn = s.txn WHERE s.txn_before IS NOT NULL"
        ),
    ));
}

impl Closer {
    fn views(&self, initial: Option<&str>, views: &mut Vec<(&'static str, String)>) {
        let Self { keys, ops, steps, versions, seen } = self;
        views.push((
            ops,
            format!(
                "SELECT o.`key`, o.`value`, o.txn, o.op, o.pos, o.is_write\n  \
                 FROM {keys} k JOIN ops o ON (o.`key` IS NOT DISTINCT FROM k.`key`)"
            ),
        ));
        // What the same transaction did to a key stands together.
        views.push((
            steps,
            format!(
                "SELECT `key`, `value`, txn, op, pos, is_write,\n    \
                 LAG(pos) OVER (PARTITION BY `key` ORDER BY pos, op) AS pos_before,\n    \
                 LAG(`value`) OVER (PARTITION BY `key` ORDER BY pos, op) AS value_before\n  FROM {ops} WHERE pos >= 0"
            ),
        ));
        let implied = initial.map_or_else(String::new, |initial| {
            format!(
                "\n    UNION ALL\n    SELECT `key`, {initial}, 0, -1 FROM \
                 (SELECT `key`, MIN(pos) AS first_pos FROM {ops} GROUP BY `key`) k WHERE first_pos >= 0"
            )
        });
        // Of several writes of a transaction the last one is what others see.
        views.push((
            versions,
            format!(
                "SELECT `key`, `value`, txn, pos,\n    LAG(pos) OVER (PARTITION BY `key` ORDER BY pos) AS pos_before,\n    \
                 COALESCE(LEAD(pos) OVER (PARTITION BY `key` ORDER BY pos), {BEYOND}) AS pos_after\n  FROM (\n    \
                 SELECT `key`, `value`, txn, pos FROM (\n      SELECT `key`, `value`, txn, pos,\n        \
                 LEAD(pos) OVER (PARTITION BY `key` ORDER BY pos, op) AS pos_next FROM {ops} WHERE is_write = 1) w\n      \
                 WHERE pos_next IS NULL OR pos_next <> pos{implied}) v"
            ),
        ));
        let window = "OVER (PARTITION BY `key`, `value` ORDER BY pos, is_read DESC\n      \
                      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)";
        views.push((
            seen,
            format!(
                "SELECT txn, pos, is_read,\n    MAX(CASE WHEN is_read = 0 THEN pos END) {window} AS low,\n    \
                 MAX(CASE WHEN is_read = 0 THEN pos_after END) {window} AS high\n  FROM (\n    \
                 SELECT `key`, `value`, txn, pos, pos_after, 0 AS is_read FROM {versions}\n    UNION ALL\n    \
                 SELECT `key`, `value`, txn, pos, CAST(NULL AS BIGINT), 1 FROM {steps}\n      \
                 WHERE is_write = 0 AND (pos_before IS NULL OR pos_before <> pos)) u"
            ),
        ));
    }
}

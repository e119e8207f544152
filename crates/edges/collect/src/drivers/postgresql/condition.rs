//! What is asked before anything is changed.

use super::super::sql::Connection;
use super::PgConnection;
use crate::dialect::Statement;
use crate::{Failure, Value};

/// What a server says about itself before a run.
pub(super) struct Condition {
    pub(super) is_standby: bool,
    pub(super) is_read_only: bool,
    pub(super) schema: String,
    pub(super) may_create: bool,
    pub(super) user: String,
    pub(super) database: String,
    /// How many connections there may be, and how many there are.
    pub(super) connections: (u64, u64),
}

impl Condition {
    pub(super) fn ask(connection: &mut PgConnection) -> Result<Self, Failure> {
        let sql = "SELECT pg_is_in_recovery()::int::bigint, (current_setting('transaction_read_only') = 'on')::int::bigint, \
             coalesce(current_schema()::text, ''), \
             coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)::int::bigint, \
             current_user::text, current_database()::text, \
             least(current_setting('max_connections')::bigint - CASE WHEN rolsuper THEN 0 ELSE \
                 current_setting('superuser_reserved_connections')::bigint \
                 + coalesce(current_setting('reserved_connections', true), '0')::bigint END, \
                 nullif(rolconnlimit, -1), nullif(datconnlimit, -1))::bigint, \
             (SELECT sum(numbackends)::bigint FROM pg_stat_database) \
             FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()";
        let row = connection.rows(&Statement { sql: sql.to_owned(), values: Vec::new() })?;
        let row: Vec<Value> = row.into_iter().flatten().collect();
        let text = |idx: usize| row.get(idx).map(ToString::to_string).unwrap_or_default();
        let number = |idx: usize| text(idx).parse::<u64>().unwrap_or_default();
        Ok(Self {
            is_standby: number(0) == 1,
            is_read_only: number(1) == 1,
            schema: text(2),
            may_create: number(3) == 1,
            user: text(4),
            database: text(5),
            connections: (number(6), number(7)),
        })
    }
}

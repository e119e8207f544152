//! SQL cursors of a served application: their rows are chosen when they are declared, and fetched from the engine.
//!
//! A cursor of the engine would end when its view is taken away. So the query is answered at once, and a cursor of the
//! same name is declared that has these rows as constants. Directions, formats and lifetime stay the engine's.

use super::statement::How;
use super::{Answered, Served};
use crate::analyse::Plan;
use crate::catalogue::quoted;
use crate::condition::Parameter;
use crate::cursor::{Cursor, Lives};
use crate::engine::{array, close, optional_array, values};
use crate::prepared::parse_body;
use crate::wire::{Message, bind_again, described};
use std::io;
use std::sync::Arc;

/// The name of the query's statement and portal in the engine.
const QUERY: &str = "isoscope_cursor";

impl Served<'_> {
    /// DECLARE, during a run.
    pub(super) fn declare(
        &mut self,
        plan: &Arc<Plan>,
        cursor: &Cursor,
        parameters: &[Parameter],
        how: &How,
    ) -> io::Result<Answered> {
        self.cursors.remove(&cursor.name);
        if !cursor.only_reads() {
            let answered = self.change(plan, parameters, how)?;
            if answered.is_ok() && plan.missing.is_none() {
                self.cursors.insert(cursor.name.clone());
            }
            return Ok(answered);
        }
        let has_block = self.txn.as_ref().is_some_and(|it| it.has_block || it.is_explicit());
        if cursor.lives == Lives::InTransaction && !has_block {
            // The engine says that it would be gone at once.
            return self.engine_answer(plan, parameters, how).map(|it| it.0);
        }
        let asked = How::Portal { name: QUERY.to_owned(), bind: Some(self.query_of(cursor, how)), hidden: Vec::new() };
        let answer = match self.read(&cursor.query, parameters, &asked)? {
            Ok(answer) => answer,
            Err(error) => return Ok(Err(error)),
        };
        if let Err(error) = self.declare_rows(cursor, &answer)? {
            return Ok(Err(error));
        }
        self.cursors.insert(cursor.name.clone());
        Ok(Ok(vec![Message::text(b'C', "DECLARE CURSOR")]))
    }

    /// Messages that give the query to the engine, with the parameters of the declaration.
    fn query_of(&self, cursor: &Cursor, how: &How) -> Vec<Message> {
        let portal = if let How::Portal { name, .. } = how { self.portals.get(name) } else { None };
        let declared = portal.and_then(|it| {
            let mut fields = it.bind.fields();
            let (_, statement) = (fields.text()?, fields.text()?);
            Some((self.prepared.get(statement)?, bind_again(&it.bind.body, QUERY, QUERY)?))
        });
        let none = || [QUERY.as_bytes(), b"\0", QUERY.as_bytes(), b"\0", &[0; 6]].concat();
        let (types, bind) = declared.map_or_else(|| (&[][..], none()), |it| (it.0.types.as_slice(), it.1));
        vec![
            close(b'S', QUERY),
            Message::new(b'P', parse_body(QUERY, &cursor.query.sql, types)),
            Message::new(b'B', bind),
            Message::new(b'D', [b"P", QUERY.as_bytes(), b"\0"].concat()),
        ]
    }

    /// Declares a cursor in the engine that has the rows of an answer.
    fn declare_rows(&mut self, cursor: &Cursor, answer: &[Message]) -> io::Result<Result<(), Message>> {
        let columns = answer.iter().find(|it| it.tag == b'T').and_then(described).unwrap_or_default();
        if columns.is_empty() {
            return Ok(Err(Message::error("ERROR", "0A000", "isoscope serves no cursor without columns")));
        }
        let (types, modifiers): (Vec<String>, Vec<String>) =
            columns.iter().map(|it| (it.type_number.to_string(), it.modifier.to_string())).unzip();
        let named = "SELECT pg_catalog.format_type(number, modifier) FROM ROWS FROM (pg_catalog.unnest($1::oid[]), \
                     pg_catalog.unnest($2::int4[])) WITH ORDINALITY AS types (number, modifier, nth) ORDER BY nth";
        let names = match self.engine.ask(named, &[&array(&types), &array(&modifiers)])? {
            Ok(names) => names.into_iter().flatten().flatten(),
            Err(error) => return Ok(Err(error)),
        };
        let mut cells: Vec<Vec<Option<String>>> = vec![Vec::new(); columns.len()];
        for row in answer.iter().filter(|it| it.tag == b'D') {
            values(row).into_iter().zip(&mut cells).for_each(|(value, column)| column.push(value));
        }
        let shown = columns.iter().zip(names).enumerate();
        let shown: Vec<String> = shown.map(|(nth, it)| format!("c{nth}::{} AS {}", it.1, quoted(&it.0.name))).collect();
        let unnested = |nth: usize| format!("pg_catalog.unnest(${}::text[])", nth + 1);
        let sources: Vec<String> = (0..columns.len()).map(unnested).collect();
        let aliases: Vec<String> = (0..columns.len()).map(|nth| format!("c{nth}")).collect();
        let sql = format!(
            "{} SELECT {} FROM ROWS FROM ({}) AS isoscope_rows ({})",
            cursor.head,
            shown.join(", "),
            sources.join(", "),
            aliases.join(", ")
        );
        let arrays: Vec<String> = cells.iter().map(|it| optional_array(it)).collect();
        let arrays: Vec<&str> = arrays.iter().map(String::as_str).collect();
        self.ask(&sql, &arrays)
    }
}

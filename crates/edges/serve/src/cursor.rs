//! SQL cursors, by their text: what DECLARE declares, and which cursor FETCH and MOVE mean.

use crate::analyse::{Action, Plan};
use crate::sql::{self, Statement, WordKind};
use iso_history::Locking;
use std::sync::Arc;

/// A cursor that is declared.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    pub(crate) name: String,
    /// Everything up to its query: `DECLARE c CURSOR FOR`.
    pub(crate) head: String,
    pub(crate) lives: Lives,
    pub(crate) query: Arc<Plan>,
}

/// How long a cursor is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lives {
    /// As long as its transaction.
    InTransaction,
    /// Until it is closed, or the session ends.
    On,
}

impl Cursor {
    /// Does its query read and do nothing else?
    pub(crate) fn only_reads(&self) -> bool {
        let query = &self.query;
        let is_free = match &query.action {
            Action::Read(reading) => reading.locking == Locking::Free,
            Action::Other => true,
            _ => false,
        };
        is_free && !query.sources.is_empty()
    }
}

/// What a statement does to cursors, if it does something to them.
pub(crate) fn action(statement: &Statement<'_>, plan: impl Fn(&Statement<'_>) -> Plan) -> Option<Action> {
    match statement.first_words(1).as_str() {
        "DECLARE" => declared(statement, plan).map(|it| Action::Declare(Box::new(it))),
        "FETCH" | "MOVE" => name(statement, statement.words.len().checked_sub(1)?).map(Action::Fetch),
        _ => None,
    }
}

/// Why reads are missing, where a cursor is read as it is fetched.
pub(crate) fn missing(action: &Action) -> Option<&'static str> {
    let reads = match action {
        Action::Declare(cursor) => !matches!(cursor.query.action, Action::Other) || cursor.query.missing.is_some(),
        _ => true,
    };
    reads.then_some("a SQL cursor is read row by row")
}

fn declared(statement: &Statement<'_>, plan: impl Fn(&Statement<'_>) -> Plan) -> Option<Cursor> {
    let cursor = statement.find(2, &["cursor"])?;
    let before_query = statement.find(cursor, &["for"])?;
    let hold = statement.find(cursor, &["hold"]).filter(|it| *it < before_query);
    let is_held = hold.is_some_and(|it| statement.is(&statement.words[it - 1], "with"));
    let (head, query) = statement.text.split_at(statement.words[before_query].at.end);
    Some(Cursor {
        name: name(statement, 1)?,
        head: head.to_owned(),
        lives: if is_held { Lives::On } else { Lives::InTransaction },
        query: Arc::new(plan(sql::statements(query).first()?)),
    })
}

/// A name as the database folds it.
fn name(statement: &Statement<'_>, nth: usize) -> Option<String> {
    let word = statement.words.get(nth)?;
    let text = &statement.text[word.at.clone()];
    match word.kind {
        WordKind::Plain => Some(text.to_lowercase()),
        WordKind::Quoted => Some(text.trim_matches('"').replace("\"\"", "\"")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::plans;
    use crate::catalogue::Catalogue;

    fn action_of(sql: &str) -> Action {
        plans(sql, &Catalogue::default()).remove(0).action
    }

    #[test]
    fn a_declaration_is_cut_before_its_query() {
        let sql = "declare \"My c\" NO SCROLL CURSOR WITH HOLD FOR SELECT 'for' FROM t";
        let Action::Declare(cursor) = action_of(sql) else { panic!("{sql}") };
        assert_eq!((cursor.name.as_str(), cursor.lives), ("My c", Lives::On));
        assert_eq!(cursor.head, "declare \"My c\" NO SCROLL CURSOR WITH HOLD FOR");
        assert_eq!(cursor.query.text, "SELECT 'for' FROM t");
        let Action::Declare(cursor) = action_of("DECLARE C CURSOR WITHOUT HOLD FOR TABLE t") else { panic!() };
        assert_eq!((cursor.name.as_str(), cursor.lives), ("c", Lives::InTransaction));
    }

    #[test]
    fn the_last_word_of_fetch_is_the_cursor() {
        for sql in ["FETCH c", "FETCH FORWARD 10 FROM c", "move backward all in C", "FETCH NEXT FROM \"c\""] {
            assert!(matches!(action_of(sql), Action::Fetch(name) if name == "c"), "{sql}");
        }
    }
}

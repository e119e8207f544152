//! Scripts as text, one step a line.

use super::{Action, Script, ScriptStep};
use crate::answered::{key_is, only_row};
use crate::{Table, Value, Values};
use iso_formats::predicate_of;
use iso_history::{Locking, Predicate};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A line that is no part of a script.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {what}")]
pub struct NotAScript {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

impl FromStr for Script {
    type Err = NotAScript;

    /// Reads lines as [`fmt::Display`] writes them. What comes after a `#` that stands alone means nothing, and neither do
    /// empty lines and those that begin with one.
    fn from_str(text: &str) -> Result<Self, NotAScript> {
        Ok(read_steps(text)?.0)
    }
}

/// Where a step stands, from 1, and the remark behind it.
pub(super) type StepLine = (usize, Option<String>);

/// Reads a script, and where its steps are.
pub(super) fn read_steps(text: &str) -> Result<(Script, Vec<StepLine>), NotAScript> {
    let mut script = Script { tables: Vec::new(), rows: Vec::new(), steps: Vec::new() };
    let mut lines: Vec<StepLine> = Vec::new();
    // The number of the group that is open, and the line where it was opened.
    let (mut open, mut n_groups) = (None, 0);
    for (idx, line) in text.lines().enumerate() {
        let wrong = |what: String| NotAScript { line: idx + 1, what };
        let words: Vec<&str> = line.split_whitespace().take_while(|it| *it != "#").collect();
        if words.is_empty() || words[0].starts_with('#') {
            continue;
        }
        let remark = line.split_once(" # ").map(|it| it.1.trim().to_owned());
        let mut rest = &words[..];
        if let ["together", "{", after @ ..] = rest {
            if open.is_some() {
                return Err(wrong("`together {` stands inside another one".to_owned()));
            }
            n_groups += 1;
            open = Some((n_groups, idx + 1));
            rest = after;
        }
        let (rest, is_closed) = match rest {
            [inner @ .., "}"] if open.is_some() => (inner, true),
            other => (other, false),
        };
        for part in parts(rest, open.is_some()) {
            let part: Vec<&str> = part.iter().map(String::as_str).collect();
            let n_before = script.steps.len();
            script.read(&part).filter(|()| open.is_none() || script.steps.len() > n_before).ok_or_else(|| {
                wrong(format!(
                    "`{}` is no part of a script, such as `table t int`, `row t x 0`, `s1 get t x` or \
                     `together {{ s1 commit; s2 commit }}`",
                    line.trim()
                ))
            })?;
            if script.steps.len() > n_before {
                script.steps[n_before].together = open.map(|it| it.0);
                lines.push((idx + 1, remark.clone()));
            }
        }
        if is_closed {
            script.check_group(n_groups).map_err(wrong)?;
            open = None;
        }
    }
    match open {
        Some((_, line)) => Err(NotAScript { line, what: "`together {` has no `}`".to_owned() }),
        None => Ok((script, lines)),
    }
}

/// The steps of a line: inside `together { .. }` they are separated by `;`.
fn parts(words: &[&str], is_together: bool) -> Vec<Vec<String>> {
    let mut parts: Vec<Vec<String>> = vec![Vec::new()];
    for word in words {
        let bare = if is_together { word.trim_end_matches(';') } else { word };
        if !bare.is_empty() {
            parts.last_mut().expect("there is one").push(bare.to_owned());
        }
        if bare.len() < word.len() {
            parts.push(Vec::new());
        }
    }
    parts.retain(|it| !it.is_empty());
    parts
}

impl Script {
    /// Fails if a session would have to do two things at the same time.
    fn check_group(&self, number: usize) -> Result<(), String> {
        let sessions: Vec<&str> =
            self.steps.iter().filter(|it| it.together == Some(number)).map(|it| it.session.as_str()).collect();
        let twice = sessions.iter().enumerate().find(|(idx, it)| sessions[..*idx].contains(it));
        twice.map_or(Ok(()), |it| Err(format!("the session {} has two steps in one `together`", it.1)))
    }

    fn read(&mut self, words: &[&str]) -> Option<()> {
        match words {
            ["table", name, kind, rest @ ..] => self.tables.push(table_of(name, kind, rest)?),
            ["row", table, row, rest @ ..] if rest.len() < 2 => {
                let value = rest.first().map_or_else(|| Value::Text(String::new()), |it| value_of(it));
                self.rows.push(((*table).to_owned(), (*row).to_owned(), value));
            }
            [session, rest @ ..] => self.steps.push(ScriptStep::alone(*session, action_of(rest)?)),
            [] => return None,
        }
        Some(())
    }
}

fn table_of(name: &str, kind: &str, rest: &[&str]) -> Option<Table> {
    let table = match kind {
        "int" => Table::of_ints(name),
        "text" => Table::of_texts(name),
        _ => return None,
    };
    match rest {
        [] => Some(table),
        ["numbered"] => Some(table.numbered()),
        _ => None,
    }
}

fn action_of(words: &[&str]) -> Option<Action> {
    let owned = |text: &str| text.to_owned();
    Some(match words {
        ["begin", isolation] => Action::Begin { isolation: owned(isolation) },
        ["commit"] => Action::Commit,
        ["abort"] => Action::Abort,
        ["get", table, row] => Action::Get { table: owned(table), row: owned(row) },
        ["put", table, row, value] => Action::Put { table: owned(table), row: owned(row), value: value_of(value) },
        ["insert", table, row, value] => {
            Action::Insert { table: owned(table), row: owned(row), value: value_of(value) }
        }
        ["append", table, row, element] => {
            Action::Append { table: owned(table), row: owned(row), element: element.parse().ok()? }
        }
        [_, table, ..] => return action_by_predicate(words, owned(table)),
        _ => return None,
    })
}

fn action_by_predicate(words: &[&str], table: String) -> Option<Action> {
    Some(match words {
        ["scan", _, rest @ .., "for", "update"] => {
            Action::Scan { table, predicate: predicate(rest)?, locking: Locking::ForUpdate }
        }
        ["scan", _, rest @ ..] => Action::Scan { table, predicate: predicate(rest)?, locking: Locking::Free },
        ["add", _, by, "where", rest @ ..] => Action::Add { table, predicate: predicate(rest)?, by: by.parse().ok()? },
        ["add", _, row, by] => Action::Add { table, predicate: key_is(row), by: by.parse().ok()? },
        ["delete", _, "where", rest @ ..] => Action::Delete { table, predicate: predicate(rest)? },
        ["delete", _, row] => Action::Delete { table, predicate: key_is(row) },
        _ => return None,
    })
}

/// A predicate in words; without any, all rows.
fn predicate(words: &[&str]) -> Option<Predicate> {
    if words.is_empty() { Some(Predicate::All) } else { predicate_of(&words.join(" ")).ok() }
}

fn value_of(word: &str) -> Value {
    word.parse().map_or_else(|_| word.into(), Value::Int)
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Table { name, values, ids } in &self.tables {
            let kind = if *values == Values::Int { "int" } else { "text" };
            let ids = if *ids == Values::Int { " numbered" } else { "" };
            writeln!(f, "table {name} {kind}{ids}")?;
        }
        for (table, row, value) in &self.rows {
            writeln!(f, "{}", format!("row {table} {row} {value}").trim_end())?;
        }
        for (idx, step) in self.steps.iter().enumerate() {
            let goes_on = idx + 1 < self.steps.len() && self.joins(idx + 1);
            match (self.joins(idx), goes_on) {
                (false, false) => writeln!(f, "{step}")?,
                (false, true) => write!(f, "together {{ {step}")?,
                (true, true) => write!(f, "; {step}")?,
                (true, false) => writeln!(f, "; {step} }}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for ScriptStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.session)?;
        match &self.action {
            Action::Begin { isolation } => write!(f, "begin {isolation}"),
            Action::Get { table, row } => write!(f, "get {table} {row}"),
            Action::Put { table, row, value } => write!(f, "put {table} {row} {value}"),
            Action::Append { table, row, element } => write!(f, "append {table} {row} {element}"),
            Action::Insert { table, row, value } => write!(f, "insert {table} {row} {value}"),
            Action::Scan { table, predicate, locking } => {
                let predicate = if *predicate == Predicate::All { String::new() } else { format!(" {predicate}") };
                let lock = if *locking == Locking::ForUpdate { " for update" } else { "" };
                write!(f, "scan {table}{predicate}{lock}")
            }
            Action::Add { table, predicate, by } => match only_row(predicate) {
                Some(row) => write!(f, "add {table} {row} {by}"),
                None => write!(f, "add {table} {by} where {predicate}"),
            },
            Action::Delete { table, predicate } => match only_row(predicate) {
                Some(row) => write!(f, "delete {table} {row}"),
                None => write!(f, "delete {table} where {predicate}"),
            },
            Action::Commit => f.write_str("commit"),
            Action::Abort => f.write_str("abort"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_are_sent_together_read_back_in_both_forms() {
        let text = "table t int\nrow t x 0\ns1 begin i\ns2 begin i\ntogether { s1 put t x 1; s2 put t x 2 }\n\
                    together { s1 commit; s2 commit }\n";
        let script: Script = text.parse().unwrap();
        assert_eq!(script.to_string(), text);
        assert!(script.has_together() && script.joins(3) && !script.joins(4));
        let long = text.replace("together { s1 commit; s2 commit }", "together {\n  s1 commit # ok\n  s2 commit\n}");
        let (again, lines) = read_steps(&long).unwrap();
        assert_eq!(again.to_string(), text);
        assert_eq!(lines[4..], [(7, Some("ok".to_owned())), (8, None)]);
        for (wrong, what) in [
            ("together { s1 commit; s1 commit }", "line 1: the session s1 has two steps"),
            ("together {\ns1 commit", "line 1: `together {` has no `}`"),
            ("together { together { s1 commit } }", "line 1: `together { together"),
            ("together { row t x 1 }", "line 1: `together { row t x 1 }` is no part"),
        ] {
            let error = wrong.parse::<Script>().unwrap_err().to_string();
            assert!(error.starts_with(what), "{error}");
        }
    }

    #[test]
    fn a_script_reads_back() {
        let text = "table account int numbered\ntable log text\nrow account 1 0\nrow log all\ns1 begin serializable\n\
                    s1 get account 1\ns2 begin serializable\ns1 put account 1 -1\ns1 append log all 3\ns2 scan log\n\
                    s2 scan account key in 1..3 or value < 2 for update\ns1 insert account 2 5\ns1 add account 1 7\n\
                    s1 add account -1 where value mod 2 = 1\ns1 delete account 2\ns1 delete account where all\n\
                    s1 commit\ns2 abort\n";
        let script: Script = text.parse().unwrap();
        assert_eq!(script.to_string(), text);
        assert_eq!(script.sessions(), ["s1", "s2"]);
        assert_eq!("s1 abort  # ok\n# s1 abort".parse::<Script>().unwrap().to_string(), "s1 abort\n");
        let error = "s1 scan account value <".parse::<Script>().unwrap_err();
        assert!(error.to_string().starts_with("line 1: `s1 scan account value <`"), "{error}");
        let error = "# a remark\n\ns1 jump".parse::<Script>().unwrap_err();
        assert!(error.to_string().starts_with("line 3: `s1 jump`"), "{error}");
    }
}

//! Scripts as files have them: steps or SQL, with what each step answered, and the level that is broken.

use super::sql_text::{SqlReader, answer_of};
use super::text::{NotAScript, read_steps};
use super::{Action, Played, Script};
use std::str::FromStr;

/// A script as a file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedScript {
    /// The script. A transaction whose isolation level is not said has an empty one.
    pub script: Script,
    /// The lines of its steps, from 1.
    pub lines: Vec<usize>,
    /// What each step answered when the script was written, if it says so.
    pub recorded: Vec<Option<String>>,
    /// The name of the level that it breaks, if it says so.
    pub expect: Option<String>,
}

impl FromStr for SavedScript {
    type Err = NotAScript;

    /// Reads steps, or SQL if a line begins with the number of a statement.
    fn from_str(text: &str) -> Result<Self, NotAScript> {
        let mut saved = if text.lines().any(|it| it.trim_start().starts_with("/*")) {
            SqlReader::read(text)?
        } else {
            Self::of_steps(text)?
        };
        saved.expect = text.lines().find_map(expectation);
        if saved.script.steps.is_empty() {
            let what = "it has no steps".to_owned();
            return Err(NotAScript { line: text.lines().count().max(1), what });
        }
        saved.check()?;
        Ok(saved)
    }
}

impl SavedScript {
    fn of_steps(text: &str) -> Result<Self, NotAScript> {
        let (script, steps) = read_steps(text)?;
        let (lines, recorded) = steps.into_iter().unzip();
        Ok(Self { script, lines, recorded, expect: None })
    }

    /// Fails where a step uses a table that is not there.
    fn check(&self) -> Result<(), NotAScript> {
        let has = |name: &str| self.script.tables.iter().any(|it| it.name == name);
        for (step, line) in self.script.steps.iter().zip(&self.lines) {
            if let Some(table) = step.action.table().filter(|it| !has(it)) {
                let what = format!("there is no table `{table}`; a script makes its tables first");
                return Err(NotAScript { line: *line, what });
            }
        }
        match self.script.rows.iter().find(|it| !has(&it.0)) {
            Some(row) => {
                let what = format!("a row of the table `{}`, which is not there", row.0);
                Err(NotAScript { line: 1, what })
            }
            None => Ok(()),
        }
    }

    /// The isolation levels that it asks for, each once; an empty one is the default of the database.
    pub fn isolations(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for step in &self.script.steps {
            if let Action::Begin { isolation } = &step.action
                && !found.contains(&isolation.as_str())
            {
                found.push(isolation);
            }
        }
        found
    }

    /// The same script, whose transactions have the isolation levels that a function says.
    #[must_use]
    pub fn with_isolations(&self, isolation_of: impl Fn(&str) -> String) -> Self {
        let mut saved = self.clone();
        for step in &mut saved.script.steps {
            if let Action::Begin { isolation } = &mut step.action {
                *isolation = isolation_of(isolation);
            }
        }
        saved
    }

    /// Did a step answer as it did when the script was written? None if the script does not say.
    pub fn is_as_recorded(&self, played: &Played, idx: usize) -> Option<bool> {
        let recorded = self.recorded[idx].as_ref()?;
        Some(kind_of(recorded) == kind_of(&played.said(idx)))
    }
}

/// An answer without what is another one each time: what a database says of a conflict has numbers of processes in it.
fn kind_of(answer: &str) -> String {
    const REFUSED: &str = "the database aborted the transaction";
    match answer.split_once(REFUSED) {
        Some((before, _)) => format!("{before}{REFUSED}"),
        None => answer.trim().to_owned(),
    }
}

/// `-- expect: not si (lost-update)`, or the same after `#`.
fn expectation(line: &str) -> Option<String> {
    let line = line.trim();
    let comment = line.strip_prefix("--").or_else(|| line.strip_prefix('#'))?;
    let level = comment.trim().strip_prefix("expect:")?.trim().strip_prefix("not ")?;
    let end = level.find([' ', '(']).unwrap_or(level.len());
    Some(level[..end].to_owned()).filter(|it| !it.is_empty())
}

/// The line that [`SavedScript`] reads back: which level a script breaks, and what the field calls it.
pub fn expectation_line(mark: &str, level: &str, anomalies: &[&str]) -> String {
    let anomalies = if anomalies.is_empty() { String::new() } else { format!(" ({})", anomalies.join(", ")) };
    format!("{mark} expect: not {level}{anomalies}\n")
}

impl Played {
    /// What a step answered, as scripts have it.
    pub fn said(&self, idx: usize) -> String {
        let waits = if self.blocked.contains(&idx) { "waits, then " } else { "" };
        format!("{waits}{}", answer_of(&self.answers[idx]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, open};

    const STEPS: &str = "table account int\ntable log text\nrow account x 0\nrow log all\n\
        s1 begin read-committed\ns1 get account x\ns2 begin read-committed\ns1 put account x -1\ns1 append log all 3\n\
        s2 scan account\ns2 scan account value < 3 and not (key = y or key in [x, z]) for update\n\
        s1 insert account y 5\ns1 add account x 7\ns1 add account -1 where value mod 2 = 1\n\
        s1 delete account y\ns1 delete account where value in 1..3\ns1 commit\ns2 abort\n";

    #[test]
    fn sql_of_every_dialect_reads_back_as_the_same_steps() {
        let script: Script = STEPS.parse().unwrap();
        for dialect in [Dialect::PostgreSql, Dialect::MySql] {
            let sql = script.sql(dialect).unwrap();
            let saved: SavedScript = sql.parse().unwrap_or_else(|it| panic!("{it}\n{sql}"));
            assert_eq!(saved.script.to_string(), STEPS, "{sql}");
        }
        let steps = STEPS.replace(" for update", "").replace("read-committed", "serializable");
        let script: Script = steps.parse().unwrap();
        let saved: SavedScript = script.sql(Dialect::Sqlite).unwrap().parse().unwrap();
        assert_eq!(saved.script.to_string(), steps);
    }

    #[test]
    fn statements_of_one_number_are_sent_together() {
        let steps = "table t int\ns1 begin serializable\ns2 begin serializable\ntogether { s1 commit; s2 commit }\n";
        let script: Script = steps.parse().unwrap();
        let sql = script.sql(Dialect::PostgreSql).unwrap();
        assert!(sql.contains("same number are sent at the same time") && sql.matches("/* 3 */ COMMIT;").count() == 2);
        assert_eq!(sql.parse::<SavedScript>().unwrap().script.to_string(), script.to_string());
    }

    #[test]
    fn texts_with_quotes_and_backslashes_read_back() {
        for dialect in [Dialect::PostgreSql, Dialect::MySql, Dialect::Sqlite] {
            let steps =
                "table t text numbered\nrow t 1 it's;--\\\ns1 begin serializable\ns1 put t 1 a'b\\n\ns1 commit\n";
            let script: Script = steps.parse().unwrap();
            let saved: SavedScript = script.sql(dialect).unwrap().parse().unwrap();
            assert_eq!(saved.script.to_string(), steps);
        }
    }

    #[test]
    fn snapshot_isolation_of_mariadb_reads_back() {
        let steps = "table t int\ns1 begin snapshot-isolation\ns1 commit\ns1 begin repeatable-read\ns1 commit\n";
        let script: Script = steps.parse().unwrap();
        let sql = script.sql(Dialect::MySql).unwrap();
        assert_eq!(sql.parse::<SavedScript>().unwrap().script.to_string(), steps, "{sql}");
    }

    #[test]
    fn what_steps_answered_is_read_with_them_and_compared() {
        let script: Script = "table t int\nrow t x 0\ns1 begin serializable\ns1 get t x\ns1 commit\n".parse().unwrap();
        let database = open("sqlite:").unwrap();
        let played = script.play(&*database).unwrap();
        let sql = script.sql_with_answers(Dialect::Sqlite, &played).unwrap();
        let sql = expectation_line("--", "ser", &["write-skew"]) + &sql;
        let saved: SavedScript = sql.parse().unwrap();
        assert_eq!(saved.expect.as_deref(), Some("ser"));
        let ok = || Some("ok".to_owned());
        assert_eq!(saved.recorded, [ok(), Some("0".to_owned()), ok()]);
        assert_eq!((0..3).map(|it| saved.is_as_recorded(&played, it)).collect::<Vec<_>>(), [Some(true); 3]);
        let other: SavedScript = sql.replace("-- 0", "-- waits, then 1").parse().unwrap();
        assert_eq!(other.is_as_recorded(&played, 1), Some(false));
        let silent: SavedScript = script.to_string().parse().unwrap();
        assert_eq!(silent.is_as_recorded(&played, 1), None);
        let refused = |why| format!("waits, then the database aborted the transaction: {why}");
        assert_eq!(kind_of(&refused("process 7")), kind_of(&refused("process 8")));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let create = "CREATE TABLE isoscope_t (id text PRIMARY KEY, value bigint NOT NULL);\n-- Session s1\n";
        for (rest, message) in [
            ("/* 1 */ FROBNICATE;", "line 3: `FROBNICATE` is no statement of a script"),
            ("/* 1 */ BEGIN", "line 3: the statement has no `;` at its end"),
            ("/* x */ BEGIN;", "line 3: expected the number of the statement"),
            ("/* 1 */ BEGIN;\n/* 1 */ COMMIT;", "line 4: there are two statements with the number 1"),
            ("/* 1 */ SELECT value FROM isoscope_u WHERE id = 'x';", "line 3: there is no table `u`"),
            ("/* 1 */ SELECT value FROM isoscope_t WHERE id = 'x;", "line 3: the statement has no `;` at its end"),
            ("/* 1 */ UPDATE isoscope_t SET value = now();", "line 3: `UPDATE isoscope_t SET value = now()` is no"),
        ] {
            let error = format!("{create}{rest}").parse::<SavedScript>().unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
        let error = "/* 1 */ BEGIN;".parse::<SavedScript>().unwrap_err().to_string();
        assert!(error.starts_with("line 1: the statement belongs to no session"), "{error}");
        let error = "table t int\ns1 get u x".parse::<SavedScript>().unwrap_err().to_string();
        assert!(error.starts_with("line 2: there is no table `u`"), "{error}");
        assert!("".parse::<SavedScript>().unwrap_err().to_string().contains("no steps"));
    }
}

//! What the checker says of a script that was played.

use iso_check::check;
use iso_collect::script::{Played, Script};
use iso_collect::{Database, open};
use iso_evidence::{Anomaly, Budget, Verdict, certify};
use iso_servers::PASSWORD;
use iso_spec::Level;
use std::fs;
use tempfile::TempDir;

/// Plays a script, of which the steps with these numbers (from 1) are refused with a conflict, and no other fails.
pub(crate) fn play(database: &dyn Database, script: &str, conflicts: &[usize]) -> Played {
    let script: Script = script.parse().unwrap();
    let played = script.play(database).unwrap();
    let shown = script.sql_with_answers(database.dialect(), &played).unwrap();
    let found: Vec<usize> = played.conflicts().iter().map(|it| it + 1).collect();
    assert_eq!(found, conflicts, "conflicts on {}:\n{shown}", database.describe());
    played
}

/// Which levels allow what was played, and the anomalies of the others.
pub(crate) fn verdicts(played: &Played, levels: &[Level]) -> String {
    let verdict = |level: &Level| {
        let verdict = check(&played.history, *level, &Budget::unlimited());
        certify(&played.history, *level, &verdict).unwrap();
        match verdict {
            Verdict::Allowed(_) => format!("{} holds", level.short_name()),
            Verdict::Forbidden(it) => {
                let names: Vec<String> = it.anomalies.iter().map(Anomaly::to_string).collect();
                format!("{} violated: {}", level.short_name(), names.join(", "))
            }
            Verdict::Unknown(reason) => format!("{} unknown: {reason:?}", level.short_name()),
        }
    };
    levels.iter().map(verdict).collect::<Vec<_>>().join("; ")
}

/// A database that must be there.
pub(crate) fn opened(url: &str) -> Box<dyn Database> {
    open(url).unwrap_or_else(|error| panic!("{error}"))
}

/// The address of a server without its password, which is in a file.
pub(crate) fn check_password_file(url: &str) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("password");
    fs::write(&file, format!("{PASSWORD}\na second line\n")).unwrap();
    let bare = url.replace(&format!(":{PASSWORD}@"), "@");
    opened(&format!("{bare}?passfile={}", file.display()));
    let error = open(&bare).unwrap_err().to_string();
    assert!(error.contains("cannot connect to "), "{error}");
}

/// Two sessions read a row and both overwrite it.
pub(crate) fn lost_update(isolation: &str) -> String {
    format!(
        "table account int
         row account x 0
         s1 begin {isolation}
         s2 begin {isolation}
         s1 get account x
         s2 get account x
         s1 put account x 1
         s1 commit
         s2 put account x 2
         s2 commit"
    )
}

/// Two sessions read two rows, and each overwrites one.
pub(crate) fn write_skew(isolation: &str) -> String {
    format!(
        "table doctor int
         row doctor x 0
         row doctor y 0
         s1 begin {isolation}
         s2 begin {isolation}
         s1 get doctor x
         s1 get doctor y
         s2 get doctor x
         s2 get doctor y
         s1 put doctor x 1
         s2 put doctor y 2
         s1 commit
         s2 commit"
    )
}

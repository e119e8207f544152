//! What a run would do to a database: `--dry-run`, and how the database is opened with or without it.

use crate::args::OpeningArgs;
use crate::output::{self, Overwrite};
use clap::Args;
use iso_collect::{Database, Preview, open_with};
use std::path::Path;

/// What verbs that write to a database have in common.
#[derive(Clone, Debug, Args)]
#[allow(clippy::doc_markdown, reason = "it is the help, which shows everything as it is")]
pub(crate) struct DatabaseArgs {
    /// Where to make the tables: a schema of PostgreSQL, or a database of MySQL or MariaDB
    #[arg(long, value_name = "NAME")]
    pub(crate) schema: Option<String>,

    /// Show what would be created, locked and run, and change nothing
    #[arg(long, conflicts_with = "json")]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) overwrite: Overwrite,

    #[command(flatten)]
    pub(crate) opening: OpeningArgs,
}

impl DatabaseArgs {
    /// Opens the database. A file of `SQLite` that is not there would be made, so a dry run looks at an empty one.
    pub(crate) fn open(&self, url: &str) -> anyhow::Result<Box<dyn Database>> {
        let url = url.trim();
        let opening = self.opening.opening(self.schema.as_deref());
        match url.strip_prefix("sqlite:").filter(|_| self.dry_run && self.schema.is_none()) {
            Some(file) => {
                let path = file.split('?').next().unwrap_or_default();
                let is_there = Path::new(path).exists();
                Ok(open_with(&format!("sqlite:{}", if is_there { path } else { "" }), &opening)?)
            }
            None => Ok(open_with(url, &opening)?),
        }
    }
}

/// What is about to run.
#[derive(Debug)]
pub(crate) struct Intention<'i> {
    pub(crate) verb: &'static str,
    pub(crate) database: &'i dyn Database,
    /// The names of isolation levels.
    pub(crate) isolations: Vec<String>,
    pub(crate) sessions: usize,
    /// One of the tables.
    pub(crate) table: String,
    /// How many rows there are to begin with.
    pub(crate) rows: usize,
    /// What sessions do, in a few words.
    pub(crate) work: String,
    /// Where the history goes.
    pub(crate) output: Option<String>,
}

impl Intention<'_> {
    /// Prints what would happen.
    pub(crate) fn print(&self, preview: &Preview) -> anyhow::Result<()> {
        let mut out = format!("isoscope {} would do this to {}:\n", self.verb, self.database.describe());
        let mut line = |name: &str, words: &str| {
            out += &output::wrapped(&format!("  {name:<12}"), words, usize::MAX);
        };
        for remark in &preview.remarks {
            line("connect", remark);
        }
        if let Some((needed, free)) = preview.connections {
            let free = free.map(|it| format!("; the server takes {it} more")).unwrap_or_default();
            line("connections", &format!("{needed} at once, for {} sessions{free}", self.sessions));
        }
        line("lock", preview.lock.as_deref().unwrap_or("none"));
        let names = if preview.removed.is_empty() { "nothing".to_owned() } else { preview.removed.join(", ") };
        line("remove", &format!("{names} (what an earlier run has left)"));
        for statement in &preview.created {
            line("create", statement);
        }
        if self.rows > 0 {
            line("fill", &format!("{} rows", self.rows));
        }
        for isolation in &self.isolations {
            line("isolation", &format!("{isolation}: {}", self.database.dialect().beginning(isolation).join("; ")));
        }
        line("run", &self.work);
        if self.database.dialect().has_sql() {
            line("statements", "SELECT, INSERT, UPDATE and DELETE in these tables, such as");
            for statement in self.database.dialect().examples(&self.table) {
                line("", &statement);
            }
        }
        line("at the end", "the tables are removed, and the lock is released");
        if let Some(file) = &self.output {
            line("write", file);
        }
        output::print(&(out + "Nothing was changed.\n"))
    }
}

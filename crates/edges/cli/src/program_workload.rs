//! `isoscope collect --program`: the transactions of a program on a database, each at its own isolation level.

use crate::args::CollectArgs;
use crate::commands::collect::isolation;
use crate::commands::report::{reports, text_of};
use crate::program_file::ProgramFile;
use anyhow::{Context, anyhow, bail};
use iso_collect::programs::ProgramWorkload;
use iso_collect::{Database, Dialect, Workload, shares};
use iso_program::{AnyNumber, parse};
use iso_report::Report;
use std::path::Path;
use std::sync::Arc;

/// A table has at most so many rows.
const MAX_ROWS: usize = 64;

/// What sessions do, and at which isolation level each is.
pub(crate) struct ProgramSessions {
    pub(crate) workload: Arc<dyn Workload>,
    pub(crate) isolations: Vec<String>,
    /// The levels with their shares, as `--mix` has them.
    pub(crate) mix: String,
}

/// Reads the program, and where each of its transactions runs.
pub(crate) fn resolve(raw: &CollectArgs, path: &Path, database: &dyn Database) -> anyhow::Result<ProgramSessions> {
    let file = ProgramFile::read(path)?;
    let asked = AnyNumber::with_rows(&file.text, &file.name(), raw.keys.min(MAX_ROWS))
        .map_err(|errors| file.complaint(&errors))?;
    let names = asked.names();
    let levels = if let Some(answer) = &raw.levels {
        allocated(answer, &file.text, &names, database)?
    } else {
        let name = raw.isolation.as_deref().unwrap_or(database.isolations()[0]);
        vec![isolation(database, name)?.to_owned(); names.len()]
    };
    let all: Vec<usize> = (0..names.len()).collect();
    let program = parse(&asked.run_text(&all), &file.name()).map_err(|errors| file.complaint(&errors))?;
    let mut distinct = levels.clone();
    distinct.sort_unstable();
    distinct.dedup();
    if raw.sessions < distinct.len() {
        bail!("the transactions run at {} isolation levels; give at least so many --sessions", distinct.len());
    }
    let n_at = |name: &String| u32::try_from(levels.iter().filter(|it| *it == name).count()).unwrap_or(u32::MAX);
    let mix: Vec<(String, f64)> = distinct.iter().map(|it| (it.clone(), f64::from(n_at(it)))).collect();
    let isolations = every_level(&mix, raw.sessions);
    let label: Vec<String> = mix.iter().map(|(name, share)| format!("{name}:{share}")).collect();
    let mix = if mix.len() == 1 { mix[0].0.clone() } else { label.join(",") };
    let workload = ProgramWorkload::new(program, levels, isolations.clone(), raw.seed)
        .map_err(|why| anyhow!("{}: {why}", path.display()))?;
    Ok(ProgramSessions { workload: Arc::new(workload), isolations, mix })
}

/// Shares of sessions, where each level has one at least.
fn every_level(mix: &[(String, f64)], n_sessions: usize) -> Vec<String> {
    let mut all = shares(mix, n_sessions);
    for (idx, (name, _)) in mix.iter().enumerate() {
        if !all.contains(name) {
            all[idx].clone_from(name);
        }
    }
    let missing = mix.iter().any(|it| !all.contains(&it.0));
    if missing { mix.iter().map(|it| it.0.clone()).cycle().take(n_sessions).collect() } else { all }
}

/// By transaction, the isolation level that `allocate` gave it, in the words of the database.
fn allocated(file: &str, text: &str, names: &[&str], database: &dyn Database) -> anyhow::Result<Vec<String>> {
    if database.dialect() != Dialect::PostgreSql {
        bail!("an allocation is about PostgreSQL, and {} is none", database.describe());
    }
    let mut saved = reports(&text_of(file)?).with_context(|| file.to_owned())?;
    let Some(Report::Allocate(report)) = saved.pop() else {
        bail!("{file}: this is no answer of allocate; make one with `isoscope allocate FILE.txn --json`");
    };
    if report.program != text {
        bail!("{file}: this allocation is of another program, or of another version of it; ask allocate again");
    }
    let level = |name: &&str| {
        let Some(Some(level)) = report.allocation.get(*name) else {
            bail!("{file}: {name} has no level that is enough")
        };
        let words = match level.as_str() {
            "postgres.rc" => "read-committed",
            "postgres.rr" | "si" => "repeatable-read",
            "postgres.ser" | "ser" => "serializable",
            other => bail!("{file}: {name} is at `{other}`, which PostgreSQL does not have"),
        };
        Ok(isolation(database, words)?.to_owned())
    };
    names.iter().map(level).collect()
}

//! `isoscope verify --run`: the program on a real database.

use crate::args::VerifyArgs;
use crate::commands::collect::isolation;
use anyhow::bail;
use iso_answer::verify::DatabaseLevel;
use iso_collect::programs::{BrokenRun, Interleavings, sample_symbols, try_program};
use iso_collect::{Database, Dialect, open};
use iso_evidence::StopReason;
use iso_program::{Program, UnitId, Value};
use iso_report::{ServerRun, ServerRuns, ServerStep};

/// How many choices of open values are tried.
const N_VALUATIONS: usize = 8;

/// The database, and how the program runs there.
pub(crate) struct OnServer {
    database: Box<dyn Database>,
    isolation: &'static str,
    /// What that isolation level promises.
    pub(crate) level: DatabaseLevel,
    wanted: Interleavings,
}

impl OnServer {
    pub(crate) fn new(url: &str, raw: &VerifyArgs) -> anyhow::Result<Self> {
        if raw.interleavings == 0 {
            bail!("--interleavings 0 tries nothing; give a greater number");
        }
        let database = open(url.trim())?;
        let isolation = isolation(&*database, raw.isolation.as_deref().unwrap_or(database.isolations()[0]))?;
        let Some(level) = promised(database.dialect(), isolation) else {
            bail!("programs cannot be verified at {isolation} of {}", database.describe());
        };
        let wanted = Interleavings { n_runs: raw.interleavings, seed: raw.seed };
        Ok(Self { database, isolation, level, wanted })
    }

    /// Runs the program with the open values that are known to break it, or with some.
    pub(crate) fn run(
        &self,
        program: &Program,
        known: Option<Vec<Value>>,
        stop: &dyn Fn() -> Option<StopReason>,
    ) -> anyhow::Result<ServerRuns> {
        let mut symbols = sample_symbols(program, N_VALUATIONS, self.wanted.seed);
        if let Some(known) = known {
            symbols = vec![known];
        }
        if symbols.is_empty() {
            bail!("no open values were found that satisfy the assumptions; give them smaller ranges");
        }
        let is_over = || stop().is_some();
        let trial = try_program(&*self.database, self.isolation, program, &symbols, self.wanted, &is_over)?;
        Ok(ServerRuns {
            database: self.database.describe(),
            isolation: self.isolation.to_owned(),
            seed: self.wanted.seed,
            interleavings: trial.n_runs as u64,
            broken: trial.n_broken as u64,
            aborts: trial.n_conflicts as u64,
            first: trial.first.map(|it| worded(program, it)),
        })
    }
}

/// What an isolation level of a database promises.
fn promised(dialect: Dialect, isolation: &str) -> Option<DatabaseLevel> {
    let name = match (dialect, isolation) {
        (Dialect::PostgreSql, "read-committed") => "postgres.rc",
        (Dialect::PostgreSql, "repeatable-read") => "postgres.rr",
        (Dialect::PostgreSql, "serializable") => "postgres.ser",
        (Dialect::MySql, "read-committed") => "mysql.rc",
        (Dialect::MySql, "repeatable-read") => "mysql.rr",
        (Dialect::MySql, "snapshot-isolation") => "mariadb.si",
        (Dialect::MySql, "serializable") => "mysql.ser",
        (Dialect::Sqlite, _) => "sqlite.ser",
        _ => return None,
    };
    DatabaseLevel::from_name(name)
}

fn worded(program: &Program, run: BrokenRun) -> ServerRun {
    let open = program.symbols().iter().zip(&run.symbols);
    let last = run.last.iter().enumerate().map(|(idx, value)| {
        let unit = UnitId::from_index(idx);
        (program.unit(unit).name.clone(), program.show_unit(unit, value))
    });
    let step =
        |it: iso_collect::programs::TakenStep| ServerStep { transaction: it.txn, words: it.words, waited: it.waited };
    ServerRun {
        open_values: open.map(|(symbol, value)| (symbol.name.clone(), program.show(*value))).collect(),
        last_state: last.collect(),
        steps: run.steps.into_iter().map(step).collect(),
        wrong: run.wrong,
    }
}

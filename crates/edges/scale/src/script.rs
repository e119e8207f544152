//! Engines that other programs ask: a small script Spark and `DataFusion`, which are Python packages, and a program of ours
//! Ballista. They run the queries, here or on a cluster.

use crate::decide::{Engine, Part, Replay};
use crate::queries::Queries;
use crate::{Moved, ScaleError};
use iso_formats::{DataSet, ReadOptions, read_path};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Where an engine is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Spark: `local[*]` runs in processes of this machine, `spark://host:port` is a cluster.
    Spark(String),
    /// `DataFusion`, in a process of this machine.
    DataFusion,
    /// `ballista://host:port`, `DataFusion` on a cluster.
    Ballista(String),
}

impl Address {
    /// What stands behind `--engine`: `spark`, `spark://host:7077`, `datafusion` or `ballista://host:50050`.
    pub fn parse(words: &str) -> Option<Self> {
        match words {
            "spark" => Some(Self::Spark("local[*]".to_owned())),
            "datafusion" => Some(Self::DataFusion),
            _ if words.starts_with("spark://") || words.starts_with("local[") => Some(Self::Spark(words.to_owned())),
            _ if words.strip_prefix("ballista://").is_some_and(|it| !it.is_empty()) => {
                Some(Self::Ballista(words.to_owned()))
            }
            _ => None,
        }
    }

    /// What its program is told.
    fn words(&self) -> [&str; 2] {
        match self {
            Self::Spark(_) => ["-c", include_str!("spark.py")],
            Self::DataFusion => ["-c", include_str!("datafusion.py")],
            Self::Ballista(address) => ["ask", address],
        }
    }

    /// The interpreter that has the package, or the program that asks.
    fn program(&self) -> String {
        let (names, usual): (&[&str], _) = match self {
            Self::Spark(_) => (&["PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON"], "python3"),
            Self::DataFusion => (&["ISOSCOPE_PYTHON"], "python3"),
            Self::Ballista(_) => (&["ISOSCOPE_BALLISTA"], "isoscope-ballista"),
        };
        names.iter().find_map(|it| std::env::var(it).ok()).unwrap_or_else(|| usual.to_owned())
    }

    /// Its name, how to see whether it is there, and what installs it.
    fn installation(&self, program: &str) -> (&'static str, Vec<String>, String) {
        let package = |package: &str| vec!["-c".to_owned(), format!("import {package}")];
        let pip = |package: &str| format!("`{program} -m pip install {package}` installs it");
        match self {
            Self::Spark(_) => ("Spark", package("pyspark"), pip("pyspark") + ", and it needs Java"),
            Self::DataFusion => ("DataFusion", package("datafusion"), pip("datafusion")),
            Self::Ballista(_) => (
                "The program that asks Ballista",
                vec!["--version".to_owned()],
                "`cargo install --locked --path integrations/ballista` in a checkout of isoscope builds it".to_owned(),
            ),
        }
    }

    /// Does another machine work for it?
    fn is_remote(&self) -> bool {
        match self {
            Self::Spark(master) => !master.starts_with("local") && !is_loopback(master.trim_start_matches("spark://")),
            Self::DataFusion => false,
            Self::Ballista(address) => !is_loopback(address.trim_start_matches("ballista://")),
        }
    }

    /// Into how many pieces a cluster cuts a sort, if that is not left to it.
    fn partitions(&self, n_rows: u64) -> Option<u64> {
        // Pieces of Ballista cost more than rows: as many as for Spark took a third more of the processors.
        const ROWS_PER_PIECE_OF_BALLISTA: u64 = 1_000_000;
        match self {
            Self::Ballista(_) => Some(n_rows / ROWS_PER_PIECE_OF_BALLISTA + 2),
            Self::Spark(_) | Self::DataFusion => partitions(n_rows),
        }
    }
}

fn is_loopback(address: &str) -> bool {
    ["127.0.0.1:", "localhost:"].iter().any(|it| address.starts_with(it))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spark(master) => write!(f, "Spark ({master})"),
            Self::DataFusion => f.write_str("DataFusion"),
            Self::Ballista(address) => write!(f, "Ballista ({address})"),
        }
    }
}

/// How much memory there is.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// For the part of a history that is decided here, in bytes.
    pub here: u64,
    /// For an engine that runs in a process of this machine and lets itself be limited, in bytes.
    pub engine: u64,
}

impl Default for Memory {
    fn default() -> Self {
        Self { here: iso_formats::DEFAULT_MEMORY_LIMIT, engine: 1 << 30 }
    }
}

/// An engine that another program asks.
pub struct Scripted<'a> {
    address: Address,
    program: String,
    data: DataSet,
    memory: Memory,
    /// How many rows of a part are read here at most.
    max_part_rows: u64,
    /// Ended before the folder goes.
    process: Option<Process>,
    folder: TempDir,
    n_rounds: usize,
    is_stopped: &'a dyn Fn() -> bool,
}

impl fmt::Debug for Scripted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted").field("address", &self.address).field("data", &self.data).finish_non_exhaustive()
    }
}

/// How often to look whether the script is done, after some time.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// How long a script may take to end after its last answer.
const LONGEST_FAREWELL: Duration = Duration::from_secs(10);

/// About what a row of a part takes here until it is decided.
const BYTES_PER_ROW: u64 = 200;

impl<'a> Scripted<'a> {
    /// An engine for a data set. What runs is ended when `is_stopped` says so.
    pub fn new(
        address: Address,
        data: &DataSet,
        memory: Memory,
        is_stopped: &'a dyn Fn() -> bool,
    ) -> Result<Self, ScaleError> {
        let program = address.program();
        find(&program, &address)?;
        let folder = folder(&address, &data.path)?;
        let max_part_rows = memory.here / BYTES_PER_ROW;
        Ok(Self {
            address,
            program,
            data: data.clone(),
            memory,
            max_part_rows,
            process: None,
            folder,
            n_rounds: 0,
            is_stopped,
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), ScaleError> {
        let path = self.path(name);
        fs::write(&path, text).map_err(|source| ScaleError::Io { path: path.display().to_string(), source })
    }

    fn failed(&self, why: String) -> ScaleError {
        ScaleError::Engine { engine: self.address.to_string(), why }
    }

    /// Asks about another data set from now on; what was started goes on.
    pub fn turn_to(&mut self, data: &DataSet) -> Result<(), ScaleError> {
        self.folder = folder(&self.address, &data.path)?;
        self.data = data.clone();
        self.n_rounds = 0;
        Ok(())
    }

    /// Gives the script a plan, and waits for what it writes.
    fn run(&mut self, plan: &Path, result: &Path) -> Result<Value, ScaleError> {
        let mut process = match self.process.take() {
            Some(process) => process,
            None => Process::start(&self.address, &self.program)?,
        };
        if let Err(error) = process.tell(plan) {
            // It has ended, and said why.
            process.child.wait().ok();
            return Err(self.failed(format!("{error}; {}", last_words(&process.said()))));
        }
        let mut pause = Duration::from_millis(1);
        while !result.exists() {
            match process.child.try_wait() {
                Ok(Some(status)) => {
                    return Err(self.failed(format!("{status}; {}", last_words(&process.said()))));
                }
                Ok(None) if !(self.is_stopped)() => sleep(pause),
                waited => {
                    process.child.kill().ok();
                    return Err(
                        self.failed(waited.err().map_or_else(|| "it was stopped".to_owned(), |it| it.to_string()))
                    );
                }
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        self.process = Some(process);
        let text = fs::read_to_string(result);
        let text = text.map_err(|source| ScaleError::Io { path: result.display().to_string(), source })?;
        serde_json::from_str(&text).map_err(|it| self.failed(it.to_string()))
    }

    fn part(&self, found: &Value, name: &str) -> Result<Part, ScaleError> {
        let n_rows = number(found, "part_rows");
        if number(found, "keys") == 0 && number(found, "misfits") == 0 {
            return Ok(Part::None);
        }
        if n_rows == 0 {
            return Err(self.failed("there are misfits, and nothing around them".to_owned()));
        }
        if n_rows > self.max_part_rows {
            return Ok(Part::TooLarge(n_rows));
        }
        let initial = self.data.initial.as_name();
        let options =
            ReadOptions { initial: Some(initial), memory_limit: Some(self.memory.here), ..ReadOptions::default() };
        let reading = read_path(&self.path(name), &options)?;
        let history = reading
            .into_history()
            .map_err(|it| self.failed(it.first().map_or_else(String::new, ToString::to_string)))?;
        Ok(Part::History(Box::new(history.as_of_source(&self.data.path.display().to_string()))))
    }
}

/// A script that runs: it takes the names of plans from its input, a line each, and ends with that.
struct Process {
    child: Child,
    /// What it says of itself.
    log: File,
}

impl Process {
    fn start(address: &Address, program: &str) -> Result<Self, ScaleError> {
        let failed = |source| ScaleError::Io { path: program.to_owned(), source };
        let log = tempfile::tempfile().map_err(failed)?;
        let mut command = Command::new(program);
        command.args(address.words()).stdin(Stdio::piped()).stdout(Stdio::null());
        if !address.is_remote() {
            // Nobody else needs to reach it.
            command.env("SPARK_LOCAL_IP", "127.0.0.1");
        }
        let child = command.stderr(log.try_clone().map_err(failed)?).spawn().map_err(failed)?;
        Ok(Self { child, log })
    }

    fn tell(&mut self, plan: &Path) -> io::Result<()> {
        let input = self.child.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(input, "{}", plan.display())?;
        input.flush()
    }

    fn said(&mut self) -> Vec<u8> {
        let mut said = Vec::new();
        let read = self.log.seek(SeekFrom::Start(0)).and_then(|_| self.log.read_to_end(&mut said));
        read.map_or_else(|it| it.to_string().into_bytes(), |_| said)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let since = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && since.elapsed() < LONGEST_FAREWELL {
            sleep(Duration::from_millis(1));
        }
        self.child.kill().and_then(|()| self.child.wait().map(drop)).ok();
    }
}

impl Engine for Scripted<'_> {
    fn name(&self) -> String {
        self.address.to_string()
    }

    fn replay(&mut self, queries: &Queries, moved: &[Moved]) -> Result<Replay, ScaleError> {
        let before = self.path(&format!("part-{}", self.n_rounds));
        self.n_rounds += 1;
        let name = format!("part-{}", self.n_rounds);
        let rows = moved.iter().map(|it| format!("{},{},{}\n", it.txn, it.position, i32::from(it.counts)));
        let moves = format!("moved-{}.csv", self.n_rounds);
        self.write(&moves, &rows.collect::<String>())?;
        let absolute = |it: &Path| {
            fs::canonicalize(it).map_err(|source| ScaleError::Io { path: it.display().to_string(), source })
        };
        let (history, folder) = (absolute(&self.data.path)?, absolute(self.folder.path())?);
        let (spill, result) = (folder.join("spill"), folder.join(format!("result-{}.json", self.n_rounds)));
        fs::create_dir_all(&spill).map_err(|source| ScaleError::Io { path: spill.display().to_string(), source })?;
        let is_spark = matches!(self.address, Address::Spark(_));
        let place = |it: &Path| if is_spark { format!("file://{}", it.display()) } else { it.display().to_string() };
        let optional =
            |is_there: bool, name: &str| if is_there { place(&folder.join(name)).into() } else { Value::Null };
        let plan = json!({
            "master": if let Address::Spark(master) = &self.address { master.as_str() } else { "" },
            "memory": self.memory.engine,
            "history": place(&history),
            "moved": optional(!moved.is_empty(), &moves),
            "before": optional(before.exists(), &format!("part-{}", self.n_rounds - 1)),
            "views": queries.views,
            "kept": Queries::KEPT,
            "empty_with": Queries::EMPTY_WITH.into_iter().collect::<BTreeMap<_, _>>(),
            "part": place(&folder.join(&name)),
            "max_part_rows": self.max_part_rows,
            "partitions": self.address.partitions(self.data.n_rows),
            "folder": &folder,
            "spill": spill,
            "result": &result,
        });
        self.write("plan.json", &plan.to_string())?;
        let found = self.run(&folder.join("plan.json"), &result)?;
        if ["rows", "broken", "keys", "misfits", "txns", "part_rows"].iter().any(|it| found[*it].as_u64().is_none()) {
            return Err(self.failed("its result lacks a count".to_owned()));
        }
        let path = self.data.path.display().to_string();
        if number(&found, "rows") != self.data.n_rows {
            return Err(self.failed(format!("it read {} rows of {}", number(&found, "rows"), self.data.n_rows)));
        }
        if let Some(kind) = found["other_kinds"].as_array().and_then(|it| it.first()) {
            let what =
                format!("there are rows of the kind {kind}, and only reads and writes of registers are replayed");
            return Err(ScaleError::Unsupported { path, what });
        }
        if number(&found, "broken") > 0 {
            let what = format!(
                "the rows of {} transactions contradict each other, or their operations are not numbered from 0; \
                 `isoscope check` without --engine names them",
                number(&found, "broken")
            );
            return Err(ScaleError::Unsupported { path, what });
        }
        Ok(Replay {
            n_txns: number(&found, "txns"),
            n_keys: number(&found, "keys"),
            n_misfits: number(&found, "misfits"),
            part: self.part(&found, &name)?,
        })
    }
}

/// Into how many pieces Spark cuts a sort; nothing to leave that to it, whose default is meant for large data, and starts
/// hundreds of tasks for a few rows.
pub(crate) fn partitions(n_rows: u64) -> Option<u64> {
    const ROWS_PER_PIECE: u64 = 100_000;
    const SPARKS_OWN: u64 = 200;
    Some(n_rows / ROWS_PER_PIECE + 2).filter(|it| *it < SPARKS_OWN)
}

fn number(found: &Value, name: &str) -> u64 {
    found[name].as_u64().unwrap_or(0)
}

/// A folder for what passes between us and a script. It is beside the data set, where there is room for large things, and where
/// whoever can read the data set can write; if that is forbidden and nobody else needs it, it is where temporary files are.
fn folder(address: &Address, data: &Path) -> Result<TempDir, ScaleError> {
    let parent = data.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".isoscope-replay-");
    let made = builder.tempdir_in(parent);
    let is_forbidden =
        |it: &io::Error| [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem].contains(&it.kind());
    match made {
        Err(error) if is_forbidden(&error) && *address == Address::DataFusion => builder.tempdir(),
        made => made,
    }
    .map_err(|source| ScaleError::Io { path: parent.display().to_string(), source })
}

/// Is it installed?
fn find(program: &str, address: &Address) -> Result<(), ScaleError> {
    let (engine, words, cure) = address.installation(program);
    let tried = format!("{program} {}", words.join(" "));
    let missing = |why: String| ScaleError::Missing { engine, tried: tried.clone(), why, cure: cure.clone() };
    let output = Command::new(program).args(&words).stdin(Stdio::null()).output();
    let output = output.map_err(|it| missing(it.to_string()))?;
    if output.status.success() { Ok(()) } else { Err(missing(last_words(&output.stderr))) }
}

/// What an error says, without where in Python or Java it happened: the first and the last line that name an error, or the
/// last lines if none does.
fn last_words(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().filter(|it| !it.trim().is_empty() && !it.starts_with([' ', '\t'])).collect();
    let names_error = |it: &&&str| [" ERROR ", "Error: ", "Exception: "].iter().any(|word| it.contains(word));
    let mut errors: Vec<&str> = lines.iter().filter(names_error).copied().collect();
    if errors.is_empty() {
        return lines[lines.len().saturating_sub(3)..].join("; ");
    }
    errors = vec![errors[0], errors[errors.len() - 1]];
    errors.dedup();
    // Spark begins lines of its log with the time.
    errors.iter().map(|it| it.split_once(" ERROR ").map_or(*it, |it| it.1)).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_spark_is_told_by_what_it_says() {
        let log = "26/01/02 10:00:00 WARN Utils: a host name\n\
                   26/01/02 10:01:00 ERROR StandaloneSchedulerBackend: All masters are unresponsive! Giving up.\n\
                   Traceback (most recent call last):\n  File \"replay.py\", line 1, in <module>\n\
                   py4j.protocol.Py4JJavaError: An error occurred while calling None.\n\
                   : java.lang.IllegalStateException: the context was stopped\n\tat org.apache.spark.SparkContext\n\
                   The currently active SparkContext was created at:\n(No active SparkContext.)\n";
        assert_eq!(
            last_words(log.as_bytes()),
            "StandaloneSchedulerBackend: All masters are unresponsive! Giving up.; \
             : java.lang.IllegalStateException: the context was stopped"
        );
        let missing = "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\n\
                       ModuleNotFoundError: No module named 'pyspark'\n";
        assert_eq!(last_words(missing.as_bytes()), "ModuleNotFoundError: No module named 'pyspark'");
        assert_eq!(last_words(b"one\ntwo\nthree\nfour\n"), "two; three; four");
    }
}

//! Spark as the engine: a small Python script runs the queries, here or on a cluster.

use crate::decide::{Engine, Part, Replay};
use crate::queries::Queries;
use crate::{Moved, ScaleError};
use iso_formats::{DataSet, ReadOptions, read_path};
use serde_json::{Value, json};
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;

const SCRIPT: &str = include_str!("replay.py");

/// A Spark that runs in this machine's processes, or a cluster.
pub struct Spark<'a> {
    /// `local[*]`, or `spark://host:port`.
    master: String,
    python: String,
    data: DataSet,
    /// How many rows of a part are read here at most.
    max_part_rows: u64,
    memory_limit: Option<u64>,
    /// Beside the data set, so that whoever can read that can write there.
    folder: TempDir,
    n_rounds: usize,
    is_stopped: &'a dyn Fn() -> bool,
}

impl fmt::Debug for Spark<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spark").field("master", &self.master).field("data", &self.data).finish_non_exhaustive()
    }
}

/// How often to look whether Spark is done.
const PAUSE: Duration = Duration::from_millis(50);

/// About what a row of a part takes here until it is decided.
const BYTES_PER_ROW: u64 = 200;

impl<'a> Spark<'a> {
    /// An engine for a data set; `address` is what stands behind `--engine`, as in `spark` or `spark://host:7077`. A part of at
    /// most so many bytes is read here, and what runs is ended when `is_stopped` says so.
    pub fn new(
        address: &str,
        data: &DataSet,
        memory_limit: Option<u64>,
        is_stopped: &'a dyn Fn() -> bool,
    ) -> Result<Self, ScaleError> {
        let python = std::env::var("PYSPARK_DRIVER_PYTHON").or_else(|_| std::env::var("PYSPARK_PYTHON"));
        let python = python.unwrap_or_else(|_| "python3".to_owned());
        find(&python)?;
        let master = if address == "spark" { "local[*]".to_owned() } else { address.to_owned() };
        let parent = data.path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let made = tempfile::Builder::new().prefix(".isoscope-spark-").tempdir_in(parent);
        let folder = made.map_err(|source| ScaleError::Io { path: parent.display().to_string(), source })?;
        let max_part_rows = memory_limit.unwrap_or(iso_formats::DEFAULT_MEMORY_LIMIT) / BYTES_PER_ROW;
        Ok(Self { master, python, data: data.clone(), max_part_rows, memory_limit, folder, n_rounds: 0, is_stopped })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), ScaleError> {
        let path = self.path(name);
        fs::write(&path, text).map_err(|source| ScaleError::Io { path: path.display().to_string(), source })
    }

    fn failed(&self, why: String) -> ScaleError {
        ScaleError::Engine { engine: self.name(), why }
    }

    fn run(&self) -> Result<Value, ScaleError> {
        let mut command = Command::new(&self.python);
        command.arg(self.path("replay.py")).arg(self.path("plan.json")).stdin(Stdio::null());
        if self.master.starts_with("local")
            || self.master.contains("//127.0.0.1:")
            || self.master.contains("//localhost:")
        {
            // Nobody else needs to reach it.
            command.env("SPARK_LOCAL_IP", "127.0.0.1");
        }
        let path = self.path("spark.log");
        let log = File::create(&path).map_err(|source| ScaleError::Io { path: path.display().to_string(), source })?;
        let child = command.stdout(Stdio::null()).stderr(log).spawn();
        let mut child = child.map_err(|source| ScaleError::Io { path: self.python.clone(), source })?;
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if !(self.is_stopped)() => sleep(PAUSE),
                waited => {
                    child.kill().and_then(|()| child.wait().map(drop)).ok();
                    return Err(
                        self.failed(waited.err().map_or_else(|| "it was stopped".to_owned(), |it| it.to_string()))
                    );
                }
            }
        };
        if !status.success() {
            return Err(self.failed(format!("{status}; {}", last_words(&fs::read(&path).unwrap_or_default()))));
        }
        let path = self.path("result.json");
        let text = fs::read_to_string(&path);
        let text = text.map_err(|source| ScaleError::Io { path: path.display().to_string(), source })?;
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
        let options = ReadOptions { initial: Some(initial), memory_limit: self.memory_limit, ..ReadOptions::default() };
        let reading = read_path(&self.path(name), &options)?;
        let history = reading
            .into_history()
            .map_err(|it| self.failed(it.first().map_or_else(String::new, ToString::to_string)))?;
        Ok(Part::History(Box::new(history)))
    }
}

impl Engine for Spark<'_> {
    fn name(&self) -> String {
        format!("Spark ({})", self.master)
    }

    fn replay(&mut self, queries: &Queries, moved: &[Moved]) -> Result<Replay, ScaleError> {
        let before = self.path(&format!("part-{}", self.n_rounds));
        self.n_rounds += 1;
        let name = format!("part-{}", self.n_rounds);
        let rows = moved.iter().map(|it| format!("{},{},{}\n", it.txn, it.position, i32::from(it.counts)));
        self.write("moved.csv", &rows.collect::<String>())?;
        let history = fs::canonicalize(&self.data.path);
        let history =
            history.map_err(|source| ScaleError::Io { path: self.data.path.display().to_string(), source })?;
        let uri = |it: &Path| format!("file://{}", it.display());
        let folder = fs::canonicalize(self.folder.path());
        let folder =
            folder.map_err(|source| ScaleError::Io { path: self.folder.path().display().to_string(), source })?;
        let plan = json!({
            "master": self.master,
            "history": uri(&history),
            "moved": if moved.is_empty() { Value::Null } else { uri(&folder.join("moved.csv")).into() },
            "before": if before.exists() { uri(&folder.join(format!("part-{}", self.n_rounds - 1))).into() } else { Value::Null },
            "views": queries.views,
            "part": uri(&folder.join(&name)),
            "max_part_rows": self.max_part_rows,
            "partitions": partitions(self.data.n_rows),
            "result": folder.join("result.json"),
        });
        self.write("replay.py", SCRIPT)?;
        self.write("plan.json", &plan.to_string())?;
        let found = self.run()?;
        if ["broken", "keys", "misfits", "txns", "part_rows"].iter().any(|it| found[*it].as_u64().is_none()) {
            return Err(self.failed("its result lacks a count".to_owned()));
        }
        let path = self.data.path.display().to_string();
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

/// Into how many pieces a sort is cut; nothing to leave that to Spark, whose default is meant for large data, and starts
/// hundreds of tasks for a few rows.
fn partitions(n_rows: u64) -> Option<u64> {
    const ROWS_PER_PIECE: u64 = 100_000;
    const SPARKS_OWN: u64 = 200;
    Some(n_rows / ROWS_PER_PIECE + 2).filter(|it| *it < SPARKS_OWN)
}

fn number(found: &Value, name: &str) -> u64 {
    found[name].as_u64().unwrap_or(0)
}

/// Is Spark installed?
fn find(python: &str) -> Result<(), ScaleError> {
    let missing = |why: String| ScaleError::NoSpark { python: python.to_owned(), why };
    let output = Command::new(python).args(["-c", "import pyspark"]).stdin(Stdio::null()).output();
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

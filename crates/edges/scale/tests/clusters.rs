//! Spark and Ballista decide as the library does: Spark in local mode, and both on clusters of two workers of which one is
//! killed.
//!
//! Starting them takes long, and few have them: `ISOSCOPE_CLUSTERS=1` runs these tests, as `cargo xtask soak` does, where
//! `PYSPARK_PYTHON` or `python3` has `pyspark`, and `ISOSCOPE_BALLISTA` names the program of integrations/ballista.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "a test fails by panicking, and says why it was skipped"
)]

use iso_evidence::Budget;
use iso_formats::{Format, survey, write_path};
use iso_history::{Datum, History, HistoryBuilder, Outcome, Place};
use iso_scale::{Address, Decision, Memory, Question, ScaleError, Scripted, decide};
use iso_spec::Level;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

fn python() -> String {
    std::env::var("PYSPARK_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// Where Spark is installed; none if it is not, or if nobody asked.
fn spark_home() -> Option<PathBuf> {
    std::env::var_os("ISOSCOPE_CLUSTERS")?;
    let script = "import pyspark, os; print(os.path.dirname(pyspark.__file__))";
    let output = Command::new(python()).args(["-c", script]).output().ok().filter(|it| it.status.success())?;
    Some(PathBuf::from(String::from_utf8(output.stdout).unwrap().trim()))
}

/// Counters that sessions increase in turn; each transaction ends a moment after the next one has begun.
fn history(n_txns: usize, n_keys: usize, order: impl Fn(usize) -> i64, lost: Option<usize>) -> History {
    let mut builder = HistoryBuilder::new();
    let zero = builder.value(Datum::Int(0));
    builder.default_initial(zero);
    let mut state = vec![0; n_keys];
    for nth in 0..n_txns {
        let session = builder.session(&format!("s{}", nth % 4));
        builder.begin(session, Place::default());
        let key = builder.key(Datum::Int((nth % n_keys) as i64));
        let seen = if lost == Some(nth) { state[nth % n_keys] - 1 } else { state[nth % n_keys] };
        state[nth % n_keys] = state[nth % n_keys].max(0) + 1;
        let (old, new) = (builder.value(Datum::Int(seen)), builder.value(Datum::Int(state[nth % n_keys])));
        builder.read(key, old);
        builder.write(key, new);
        let end = order(nth);
        builder.times(Some(end - 50), Some(end));
        builder.end(Outcome::Committed);
    }
    builder.finish().unwrap()
}

fn ask(address: &str, folder: &Path, name: &str, history: &History, level: Level) -> Result<Decision, ScaleError> {
    let path = folder.join(name);
    write_path(history, Format::Parquet, &path).unwrap();
    let question = Question::new(survey(&path).unwrap(), level).unwrap();
    let address = Address::parse(address).unwrap();
    let mut engine = Scripted::new(address, &question.data, Memory::default(), &|| false)?;
    decide(&question, &mut engine, &Budget::unlimited())
}

#[test]
fn spark_in_this_machine_decides() {
    if spark_home().is_none() {
        println!("skipped: ISOSCOPE_CLUSTERS is not set, or there is no PySpark");
        return;
    }
    decides("spark");
}

/// Asks an engine what holds, what holds in another order, and what does not hold.
fn decides(engine: &str) {
    let folder = tempfile::tempdir().unwrap();
    let ends = |nth: usize| (nth * 10) as i64;
    let found = ask(engine, folder.path(), "holds", &history(40, 3, ends, None), Level::Serializable).unwrap();
    assert!(matches!(found, Decision::Holds { n_txns: 40, n_replays: 1, .. }), "{found:?}");
    // The ends of neighbours are exchanged: another order explains it.
    let swapped = |nth: usize| ((nth ^ 1) * 10) as i64;
    let found = ask(engine, folder.path(), "moved", &history(40, 1, swapped, None), Level::SnapshotIsolation).unwrap();
    assert!(matches!(&found, Decision::Holds { n_replays, .. } if *n_replays > 1), "{found:?}");
    let found = ask(engine, folder.path(), "lost", &history(40, 3, ends, Some(20)), Level::SnapshotIsolation).unwrap();
    assert!(matches!(found, Decision::Violated { .. }), "{found:?}");
}

/// A process of a cluster, which is ended with its owner.
struct Process(Child);

impl Process {
    fn of_spark(home: &Path, words: &[&str]) -> Self {
        let mut command = Command::new(home.join("bin/spark-class"));
        Self::start(command.args(words).env("SPARK_HOME", home).env("SPARK_LOCAL_IP", "127.0.0.1"))
    }

    fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn spark_that_loses_a_worker_still_decides_or_says_why_not() {
    let Some(home) = spark_home() else {
        println!("skipped: ISOSCOPE_CLUSTERS is not set, or there is no PySpark");
        return;
    };
    let port = free_port().to_string();
    let address = format!("spark://127.0.0.1:{port}");
    let master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", &port, "--webui-port", "0"];
    let _master = Process::of_spark(&home, &master);
    sleep(Duration::from_secs(10));
    let work = tempfile::tempdir().unwrap();
    let work = work.path().to_str().unwrap();
    let worker =
        ["org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "-c", "1", "-m", "1g", "-d", work, &address];
    let (lost, _kept) = (Process::of_spark(&home, &worker), Process::of_spark(&home, &worker));
    sleep(Duration::from_secs(10));
    decide_while_one_is_killed(&address, lost, Duration::from_secs(15));
}

/// A cluster of Ballista on this machine: a scheduler, and two who work for it. None if nobody asked, or if the program is not
/// there.
struct Ballista {
    address: String,
    executors: Vec<Process>,
    _scheduler: Process,
    _folders: Vec<tempfile::TempDir>,
}

impl Ballista {
    fn start() -> Option<Self> {
        std::env::var_os("ISOSCOPE_CLUSTERS")?;
        let program = std::env::var("ISOSCOPE_BALLISTA").ok()?;
        let scheduler = format!("127.0.0.1:{}", free_port());
        let start = |words: &[&str]| Process::start(Command::new(&program).args(words));
        let process = start(&["scheduler", &scheduler]);
        while std::net::TcpStream::connect(&scheduler).is_err() {
            sleep(Duration::from_millis(50));
        }
        let folders: Vec<tempfile::TempDir> = (0..2).map(|_| tempfile::tempdir().unwrap()).collect();
        let work = |it: &tempfile::TempDir| start(&["executor", &scheduler, it.path().to_str().unwrap()]);
        let executors = folders.iter().map(work).collect();
        sleep(Duration::from_secs(3));
        Some(Self { address: format!("ballista://{scheduler}"), executors, _scheduler: process, _folders: folders })
    }
}

#[test]
fn ballista_decides() {
    let Some(cluster) = Ballista::start() else {
        println!("skipped: ISOSCOPE_CLUSTERS or ISOSCOPE_BALLISTA is not set");
        return;
    };
    decides(&cluster.address);
}

#[test]
fn ballista_that_loses_an_executor_still_decides_or_says_why_not() {
    let Some(mut cluster) = Ballista::start() else {
        println!("skipped: ISOSCOPE_CLUSTERS or ISOSCOPE_BALLISTA is not set");
        return;
    };
    let lost = cluster.executors.pop().unwrap();
    decide_while_one_is_killed(&cluster.address, lost, Duration::from_secs(1));
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Asks a cluster, and kills one of its workers so long after it was asked, and before it has answered.
fn decide_while_one_is_killed(address: &str, lost: Process, patience: Duration) {
    let folder = tempfile::tempdir().unwrap();
    let history = history(1_000_000, 5000, |nth| (nth * 10) as i64, None);
    let (place, is_killed) = (folder.path().to_owned(), Arc::new(AtomicBool::new(false)));
    let tells = Arc::clone(&is_killed);
    let killer = std::thread::spawn(move || {
        let is_asked = || {
            let folders = std::fs::read_dir(&place).unwrap().map(|it| it.unwrap().path());
            folders.into_iter().any(|it| it.join("plan.json").exists())
        };
        while !is_asked() {
            sleep(Duration::from_millis(10));
        }
        sleep(patience);
        drop(lost);
        tells.store(true, Ordering::Release);
    });
    let found = ask(address, folder.path(), "set", &history, Level::Serializable);
    assert!(is_killed.load(Ordering::Acquire), "it had answered before: {found:?}");
    killer.join().unwrap();
    match found {
        Ok(Decision::Holds { n_txns, .. }) => assert_eq!(n_txns, 1_000_000),
        Ok(other) => panic!("{other:?}"),
        Err(error) => {
            assert!(matches!(error, ScaleError::Engine { .. }), "{error}");
            println!("{error}");
        }
    }
}

//! `cargo xtask bench stream`: recordings that are checked while they are read.
//!
//! A generated recording is streamed at each level; the same workload is generated into a pipe; and `collect` runs with and
//! without a check beside it. The table has seconds, seconds of processors, peak memory, and what is to be reached.

use crate::arguments::Arguments;
use crate::measure::{End, measure};
use crate::{build, folder};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use xtask::{root, target_folder};

pub(crate) const USAGE: &str = "\
usage: cargo xtask bench stream [options]

  --txns N        transactions of the recording; ten million by default
  --piped N       transactions that are generated into a pipe; none by default
  --level LEVEL   instead of ser, si, cc and rc; can be repeated
  --anomalies     also put a lost update, a stale read and a write skew into the middle, and say when each is found
  --seconds N     how long each collect runs; 10 by default, 0 for none
  --save          keep the table in bench-runs/
";

const AT_MOST: Duration = Duration::from_secs(1800);

/// Measures and prints the table.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let mut arguments = Arguments::new(words);
    if arguments.flag("--help") || arguments.flag("-h") {
        print!("{USAGE}");
        return Ok(());
    }
    let n_txns: u64 = arguments.number("--txns")?.unwrap_or(10_000_000);
    let n_piped: u64 = arguments.number("--piped")?.unwrap_or(0);
    let seconds: u64 = arguments.number("--seconds")?.unwrap_or(10);
    let has_anomalies = arguments.flag("--anomalies");
    let named = arguments.texts("--level")?;
    let is_saved = arguments.flag("--save");
    if let Some(word) = arguments.rest()?.first() {
        bail!("`bench stream` takes no {word}\n{USAGE}");
    }
    let levels = if named.is_empty() { vec!["ser", "si", "cc", "rc"] } else { named };
    let machine = folder::machine()?;
    let binary = build()?;
    let mut table = Table { text: format!("{machine}\n{HEAD}") };
    print!("{}", table.text);
    let recorded = recording(&binary, n_txns, None)?;
    for level in levels {
        let mut command = Command::new(&binary);
        command.args(["check", "--stream", "--level", level]).arg(&recorded);
        table.row(&format!("{n_txns} streamed, {level}"), &mut command)?;
    }
    for (anomaly, level) in ANOMALIES.into_iter().filter(|_| has_anomalies) {
        let recorded = recording(&binary, n_txns, Some(anomaly))?;
        table.found(&binary, &recorded, anomaly, level)?;
    }
    if n_piped > 0 {
        let mut command = Command::new("sh");
        let binary = binary.display();
        let generate = format!("{binary} generate blindw-rw --txns {n_piped} {} -o -", SHAPE.join(" "));
        let line = format!("{generate} | {binary} check --stream --level ser --spool none -");
        table.row(&format!("{n_piped} piped, ser"), command.args(["-c", &line]))?;
    }
    if seconds > 0 {
        for (address, level) in [("sqlite:", "sser"), ("store:si", "si")] {
            table.collect(&binary, address, level, seconds)?;
        }
    }
    std::fs::remove_file(&recorded).ok();
    if is_saved {
        let folder = folder::save("stream", &[("table.txt", table.text.as_str()), ("machine.txt", &machine)])?;
        println!("\nkept in {}", folder.strip_prefix(root()).unwrap_or(&folder).display());
    }
    Ok(())
}

/// What is put into the middle of a recording, and a level that forbids it.
const ANOMALIES: [(&str, &str); 3] = [("lost-update", "si"), ("stale-read", "sser"), ("write-skew", "ser")];

/// What recordings are like, so that their figures can be compared.
const SHAPE: [&str; 6] = ["--ops", "8", "--sessions", "16", "--keys", "200000"];

/// How often `collect` runs without a check and with one.
const TURNS: u32 = 3;

const HEAD: &str = "what                                 seconds  cpu s  peak MB\n";

fn recording(binary: &Path, n_txns: u64, anomaly: Option<&str>) -> Result<PathBuf> {
    let path = target_folder().join("stream-bench.jsonl");
    let mut command = Command::new(binary);
    command.args(["generate", "blindw-rw", "--force", "--txns", &n_txns.to_string()]);
    command.args(SHAPE).arg("-o").arg(&path);
    if let Some(anomaly) = anomaly {
        command.args(["--inject", anomaly]);
    }
    let made = measure(&mut command, AT_MOST)?;
    if made.end != End::Code(0) {
        bail!("the recording could not be generated");
    }
    Ok(path)
}

struct Table {
    text: String,
}

impl Table {
    fn add(&mut self, row: &str) {
        print!("{row}");
        self.text.push_str(row);
    }

    fn row(&mut self, name: &str, command: &mut Command) -> Result<()> {
        let measured = measure(command, AT_MOST)?;
        if measured.end != End::Code(0) {
            bail!("{name}: ended with {:?}", measured.end);
        }
        let megabytes = measured.peak_bytes / 1_000_000;
        self.add(&format!("{name:36} {:>7.1} {:>6.1} {megabytes:>8}\n", measured.seconds, measured.cpu_seconds));
        Ok(())
    }

    /// How long after its last transaction an anomaly is reported, in lines and in seconds of the stream.
    #[allow(clippy::cast_precision_loss, reason = "lines of a recording are far below the limits of a float")]
    fn found(&mut self, binary: &Path, recorded: &Path, anomaly: &str, level: &str) -> Result<()> {
        let mut command = Command::new(binary);
        command.args(["check", "--stream", "--json", "--stop-on-violation", "--level", level]).arg(recorded);
        let output = command.output().context("check cannot be started")?;
        let document: Value = serde_json::from_slice(&output.stdout)?;
        let core = document["levels"][0]["evidence"]["transactions"].as_array().context("there is no core")?;
        let last = core.iter().filter_map(|it| it["place"]["line"].as_u64()).max().context("the core has no lines")?;
        let changes = document["over_time"]["changes"].as_array().context("nothing changed over time")?;
        let seen = changes.iter().find(|it| it["standing"] == "violated").context("it was not seen")?;
        let (line, seconds) = (seen["line"].as_u64().unwrap_or(0), seen["seconds"].as_f64().unwrap_or(0.0));
        let later = line.saturating_sub(last);
        let (of_stream, n, certified) =
            (seconds * later as f64 / line.max(1) as f64, core.len(), &document["levels"][0]["certified"]);
        self.add(&format!(
            "{anomaly} at {level}: seen {later} lines after its last one ({of_stream:.1} s of {seconds:.1} s), core of {n}, certified {certified}\n"
        ));
        Ok(())
    }

    /// Committed transactions a second, without a check and with one.
    fn collect(&mut self, binary: &Path, address: &str, level: &str, seconds: u64) -> Result<()> {
        let rate = |check: &[&str]| -> Result<(f64, f64)> {
            let path = target_folder().join("stream-bench-collected.jsonl");
            let mut command = Command::new(binary);
            let duration = format!("{seconds}s");
            command.args(["collect", address, "--duration", &duration, "--json", "--force", "-o"]).arg(&path);
            let output = command.args(check).output().context("collect cannot be started")?;
            std::fs::remove_file(&path).ok();
            let text = String::from_utf8_lossy(&output.stdout);
            let document: Value = serde_json::from_str(text.lines().next().unwrap_or_default())?;
            let lags = document["check"]["lag"].as_array().into_iter().flatten().filter_map(Value::as_f64);
            let lag = lags.fold(0.0, f64::max);
            Ok((document["throughput"].as_f64().context("collect says no throughput")?, lag))
        };
        // How fast the machine is changes from one run to the next, so both take turns.
        let (mut without, mut with, mut lag) = (0.0, 0.0, 0.0f64);
        for _ in 0..TURNS {
            without += rate(&[])?.0 / f64::from(TURNS);
            let (checked, behind) = rate(&["--check", level])?;
            with += checked / f64::from(TURNS);
            lag = lag.max(behind);
        }
        let share = 100.0 * with / without;
        self.add(&format!(
            "collect {address} --check {level}: {without:.0} a second without, {with:.0} with: {share:.0} % in {TURNS} turns, lag at most {lag:.2} s\n"
        ));
        Ok(())
    }
}

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
  --anomaly NAME  instead, put one anomaly into the middle of the recording, and say when it is found
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
    let anomaly = arguments.text("--anomaly")?;
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
    let recording = recording(&binary, n_txns, anomaly)?;
    for level in levels {
        let mut command = Command::new(&binary);
        command.args(["check", "--stream", "--level", level]).arg(&recording);
        table.row(&format!("{n_txns} streamed, {level}"), &mut command, anomaly.is_some())?;
    }
    if n_piped > 0 {
        let mut command = Command::new("sh");
        let binary = binary.display();
        let line = format!("{binary} generate blindw-rw --txns {n_piped} -o - | {binary} check --stream --level ser -");
        table.row(&format!("{n_piped} piped, ser"), command.args(["-c", &line]), false)?;
    }
    if seconds > 0 {
        for (address, level) in [("sqlite:", "sser"), ("store:si", "si")] {
            table.collect(&binary, address, level, seconds)?;
        }
    }
    std::fs::remove_file(&recording).ok();
    if is_saved {
        let folder = folder::save("stream", &[("table.txt", table.text.as_str()), ("machine.txt", &machine)])?;
        println!("\nkept in {}", folder.strip_prefix(root()).unwrap_or(&folder).display());
    }
    Ok(())
}

const HEAD: &str = "what                                 seconds  cpu s  peak MB\n";

fn recording(binary: &Path, n_txns: u64, anomaly: Option<&str>) -> Result<PathBuf> {
    let path = target_folder().join("stream-bench.jsonl");
    let mut command = Command::new(binary);
    command.args(["generate", "blindw-rw", "--force", "--txns", &n_txns.to_string(), "-o"]).arg(&path);
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

    fn row(&mut self, name: &str, command: &mut Command, is_violated: bool) -> Result<()> {
        let measured = measure(command, AT_MOST)?;
        if measured.end != End::Code(i32::from(is_violated)) {
            bail!("{name}: ended with {:?}", measured.end);
        }
        let megabytes = measured.peak_bytes / 1_000_000;
        self.add(&format!("{name:36} {:>7.1} {:>6.1} {megabytes:>8}\n", measured.seconds, measured.cpu_seconds));
        Ok(())
    }

    /// Committed transactions a second, without a check and with one.
    fn collect(&mut self, binary: &Path, address: &str, level: &str, seconds: u64) -> Result<()> {
        let rate = |check: &[&str]| -> Result<f64> {
            let path = target_folder().join("stream-bench-collected.jsonl");
            let mut command = Command::new(binary);
            let duration = format!("{seconds}s");
            command.args(["collect", address, "--duration", &duration, "--json", "--force", "-o"]).arg(&path);
            let output = command.args(check).output().context("collect cannot be started")?;
            std::fs::remove_file(&path).ok();
            let text = String::from_utf8_lossy(&output.stdout);
            let document: Value = serde_json::from_str(text.lines().next().unwrap_or_default())?;
            document["throughput"].as_f64().context("collect says no throughput")
        };
        let (without, with) = (rate(&[])?, rate(&["--check", level])?);
        let share = 100.0 * with / without;
        self.add(&format!(
            "collect {address} --check {level}: {without:.0} a second without, {with:.0} with: {share:.0} %\n"
        ));
        Ok(())
    }
}

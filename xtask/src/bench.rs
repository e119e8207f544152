//! `cargo xtask bench`: how long the release binary takes for each level, and how much memory.
//!
//! Each cell is one process, run three times: the median time and the largest peak. The last rows say how time grows when a
//! history grows fourfold. Generated histories have fixed seeds, so that two runs on one machine can be compared.

use crate::generate::command::{FileKind, write_file};
use crate::generate::preset::preset;
use crate::generate::sink::Times;
use crate::generate::{Store, Workload};
use crate::measure::{Measurement, measure};
use crate::root;
use crate::system::{first_line, run};
use anyhow::{Context, Result, bail};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LEVELS: &[&str] = &["rc", "ra", "cc", "psi", "pc", "si", "ser"];
const SIZES: &[usize] = &[1_000, 4_000];
const RUNS: usize = 3;
const TIMEOUT: &str = "120s";

/// Recorded histories that are measured where they are at hand, beside the project.
const RECORDED: &[&str] = &[
    "../shared/data/realdb/maria-rc-med-hc.jsonl.gz",
    "../shared/data/realdb/pg-ser-med-dup.jsonl.gz",
    "../shared/data/realdb/maria-rrsi-med-hc.jsonl.gz",
];

/// What stays after the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    Nothing,
    Table,
}

struct Cell {
    history: String,
    level: &'static str,
    measured: Measurement,
}

/// Builds the binary, measures every history at every level, and prints the table.
pub(crate) fn bench(keep: Keep) -> Result<()> {
    run(Command::new(env!("CARGO")).args(["build", "--release", "--package", "iso-cli"]).current_dir(root()))?;
    let binary = release_binary()?;
    let dir = std::env::temp_dir().join(format!("isoscope-bench-{}", std::process::id()));
    fs::create_dir_all(&dir)?;
    let histories = histories(&dir)?;
    let mut cells = Vec::new();
    for (name, path) in &histories {
        for level in LEVELS {
            let measured = median(&binary, path, level).with_context(|| format!("{name} at {level}"))?;
            cells.push(Cell { history: name.clone(), level, measured });
        }
    }
    fs::remove_dir_all(&dir)?;
    let table = table(&histories, &cells);
    print!("{table}");
    if keep == Keep::Table {
        save(&table, &cells)?;
    }
    Ok(())
}

fn release_binary() -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let binary = root().join(target).join("release/isoscope");
    if !binary.exists() {
        bail!("{} is missing after the build", binary.display());
    }
    Ok(binary)
}

fn histories(dir: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for (store, store_name) in [(Store::Serializable, "serializable"), (Store::Snapshot, "snapshot")] {
        for n_txns in SIZES {
            let workload = Workload { store, ..preset("blindw-rw")?.workload(*n_txns, Some(20)) };
            let name = format!("{store_name}-{n_txns}");
            let path = dir.join(format!("{name}.jsonl"));
            write_file(&workload, FileKind::Lines(Times::Kept), &path)?;
            found.push((name, path));
        }
    }
    for file in RECORDED {
        let path = root().join(file);
        let name = path.file_name().unwrap_or_default().to_string_lossy().replace(".jsonl.gz", "");
        if path.exists() {
            found.push((name, path));
        } else {
            println!("skipped, not at hand: {name}");
        }
    }
    Ok(found)
}

fn median(binary: &Path, history: &Path, level: &str) -> Result<Measurement> {
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        let mut command = Command::new(binary);
        command.args(["check", "--level", level, "--timeout", TIMEOUT]).arg(history);
        let measured = measure(&mut command)?;
        if measured.exit_code == 2 {
            bail!("the question could not be asked");
        }
        runs.push(measured);
    }
    let peak_bytes = runs.iter().map(|it| it.peak_bytes).max().unwrap_or(0);
    runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    Ok(Measurement { peak_bytes, ..runs[RUNS / 2] })
}

fn verdict(exit_code: i32) -> &'static str {
    match exit_code {
        0 => "holds",
        1 => "violated",
        3 => "unknown",
        _ => "failed",
    }
}

fn table(histories: &[(String, PathBuf)], cells: &[Cell]) -> String {
    let mut out = format!("{:<24} {:<6} {:>9} {:>9}  verdict\n", "history", "level", "seconds", "peak MB");
    for cell in cells {
        let Measurement { seconds, peak_bytes, exit_code } = cell.measured;
        // Whole kilobytes are exact enough to print.
        let megabytes = f64::from(u32::try_from(peak_bytes / 1000).unwrap_or(u32::MAX)) / 1e3;
        let (history, level, verdict) = (&cell.history, cell.level, verdict(exit_code));
        let _ = writeln!(out, "{history:<24} {level:<6} {seconds:>9.3} {megabytes:>9.1}  {verdict}");
    }
    out.push('\n');
    for store in ["serializable", "snapshot"] {
        for level in LEVELS {
            let at = |size: usize| {
                let wanted = format!("{store}-{size}");
                cells.iter().find(|it| it.history == wanted && it.level == *level).map(|it| it.measured.seconds)
            };
            if let (Some(small), Some(large)) = (at(SIZES[0]), at(SIZES[1])) {
                let growth = large / small;
                let _ = writeln!(out, "{store} {level}: {growth:.1} times the time for 4 times the transactions");
            }
        }
    }
    debug_assert_eq!(cells.len(), histories.len() * LEVELS.len());
    out
}

fn save(table: &str, cells: &[Cell]) -> Result<()> {
    let day = first_line(Command::new("date").args(["-u", "+%F"]))?;
    let commit = first_line(Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(root()))?;
    let machine = first_line(Command::new("uname").arg("-srm"))?;
    let n_cpus = std::thread::available_parallelism()?;
    let folder = root().join("bench-runs").join(format!("{day}-check"));
    fs::create_dir_all(&folder)?;
    let head = format!("commit {commit}, {machine}, {n_cpus} processors\n\n");
    fs::write(folder.join("table.txt"), head + table)?;
    let mut raw = "history,level,seconds,peak_bytes,verdict\n".to_owned();
    for cell in cells {
        let Measurement { seconds, peak_bytes, exit_code } = cell.measured;
        let _ = writeln!(raw, "{},{},{seconds},{peak_bytes},{}", cell.history, cell.level, verdict(exit_code));
    }
    fs::write(folder.join("raw.csv"), raw)?;
    println!("kept in {}", folder.display());
    Ok(())
}

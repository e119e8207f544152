//! The histories that are measured: generated ones, kept among the build's files, and recorded ones beside the project.

use super::expectation::Making;
use anyhow::{Context, Result};
use iso_generate::{FileKind, Injection, Layout, Preset, Store, Times, Workload, preset, write};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use xtask::{root, target_folder};

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Up to ten thousand transactions.
    Quick,
    /// Up to a hundred thousand, and one workload with a million.
    Usual,
    /// A million for all workloads.
    Full,
}

/// A history to measure.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    /// Histories of one family differ in size only.
    pub(crate) family: String,
    pub(crate) name: String,
    pub(crate) n_txns: usize,
    pub(crate) has_times: bool,
    pub(crate) has_statements: bool,
    pub(crate) making: Making,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Generated(Box<Workload>, FileKind),
    /// As seen from the root.
    Recorded(String),
}

/// A history that somebody recorded from a database.
struct Recorded {
    name: &'static str,
    n_txns: usize,
    /// In the folder of recorded histories.
    path: &'static str,
    has_times: bool,
    store: Option<Store>,
}

/// Of a published evaluation, whose databases were serializable.
const fn published(name: &'static str, n_txns: usize, path: &'static str) -> Recorded {
    Recorded { name, n_txns, path, has_times: false, store: Some(Store::Serializable) }
}

/// Of our own, with times, from databases at weaker levels.
const fn own(name: &'static str, path: &'static str) -> Recorded {
    Recorded { name, n_txns: 10_000, path, has_times: true, store: None }
}

const RECORDED_FOLDER: &str = "../shared/data";

const RECORDED: &[Recorded] = &[
    published("fig11-chengRW-16000", 16_000, "veristrong/fig11/ser/dbcop/chengRW-16000/history.bincode"),
    published("fig13-BL-10k", 10_000, "veristrong/fig13-14-15-table1/BL-10k/hist-00000/history.bincode"),
    published("fig13-WH-10k", 10_000, "veristrong/fig13-14-15-table1/WH-10k/hist-00000/history.bincode"),
    published("fig13-HD-10k", 10_000, "veristrong/fig13-14-15-table1/HD-10k/hist-00000/history.bincode"),
    published("fig13-RH-10k", 10_000, "veristrong/fig13-14-15-table1/RH-10k/hist-00000/history.bincode"),
    published("fig13-tpcc-10k", 10_000, "veristrong/fig13-14-15-table1/tpcc-10k"),
    published("fig13-twitter-10k", 10_000, "veristrong/fig13-14-15-table1/twitter-10k"),
    published("fig13-rubis-10k", 10_000, "veristrong/fig13-14-15-table1/rubis-10k"),
    own("maria-rc-med-hc", "realdb/maria-rc-med-hc.jsonl.gz"),
    own("maria-rrsi-med-hc", "realdb/maria-rrsi-med-hc.jsonl.gz"),
    own("pg-ser-med-dup", "realdb/pg-ser-med-dup.jsonl.gz"),
];

/// A workload at several sizes.
struct Family {
    name: &'static str,
    preset: &'static str,
    store: Store,
    n_sessions: Option<usize>,
    kind: FileKind,
    sizes: &'static [usize],
}

const SIZES: &[usize] = &[1_000, 10_000, 100_000, 1_000_000];
const LINES: FileKind = FileKind::Lines(Times::Kept);
/// One session after the other, without times: nothing says in which order transactions ran.
const BY_SESSION: FileKind = FileKind::BySession(Layout::Dbcop);

const fn family(name: &'static str) -> Family {
    Family { name, preset: name, store: Store::Serializable, n_sessions: None, kind: LINES, sizes: SIZES }
}

const fn snapshot(name: &'static str, preset: &'static str) -> Family {
    Family { preset, store: Store::Snapshot, ..family(name) }
}

const FAMILIES: &[Family] = &[
    family("blindw-rw"),
    Family { preset: "blindw-rw", kind: BY_SESSION, ..family("blindw-rw-dbcop") },
    family("read-heavy"),
    family("balanced"),
    family("write-heavy"),
    family("high-dup"),
    Family { sizes: &[1_000, 10_000, 100_000], ..family("hot-key") },
    Family { preset: "many-session", n_sessions: Some(1_000), ..family("sessions-1000") },
    Family {
        preset: "many-session",
        n_sessions: Some(10_000),
        sizes: &[100_000, 1_000_000],
        ..family("sessions-10000")
    },
    family("tpcc-like"),
    family("twitter-like"),
    family("rubis-like"),
    family("updates"),
    family("ranges"),
    snapshot("blindw-rw-si", "blindw-rw"),
    snapshot("balanced-si", "balanced"),
    snapshot("high-dup-si", "high-dup"),
    snapshot("rubis-like-si", "rubis-like"),
    snapshot("ranges-si", "ranges"),
    Family { preset: "balanced", kind: BY_SESSION, ..family("balanced-dbcop") },
    Family { preset: "hot-key", kind: BY_SESSION, sizes: &[1_000, 10_000], ..family("hot-key-dbcop") },
    Family { kind: BY_SESSION, ..snapshot("blindw-rw-si-dbcop", "blindw-rw") },
    Family { kind: BY_SESSION, ..snapshot("balanced-si-dbcop", "balanced") },
];

/// The workloads that have a million transactions unless told otherwise.
const LARGEST: &[&str] = &["blindw-rw", "blindw-rw-dbcop", "blindw-rw-si-dbcop"];

/// Workloads that anomalies are injected into: unique values, duplicate values, read-modify-writes.
const INJECTED_INTO: &[&str] = &["blindw-rw", "balanced", "tpcc-like"];

/// What is measured, a family's small histories before its large ones.
pub(crate) fn inputs(extent: Extent) -> Result<Vec<Input>> {
    let mut found: Vec<Input> = RECORDED.iter().map(recorded).collect();
    for family in FAMILIES {
        for n_txns in family.sizes.iter().copied().filter(|it| is_in(*it, family.name, extent)) {
            let workload =
                Workload { store: family.store, ..named(family.preset)?.workload(n_txns, family.n_sessions) };
            found.push(generated(family.name, workload, family.kind));
        }
    }
    let n_txns = if extent == Extent::Quick { 10_000 } else { 100_000 };
    for name in INJECTED_INTO {
        for injection in Injection::ALL {
            let workload = Workload { injection: Some(injection), ..named(name)?.workload(n_txns, None) };
            found.push(generated(&format!("{name}+{}", injection.name()), workload, LINES));
        }
    }
    Ok(found)
}

fn named(name: &str) -> Result<&'static Preset> {
    preset(name).with_context(|| format!("no workload `{name}`"))
}

fn is_in(n_txns: usize, family: &str, extent: Extent) -> bool {
    match extent {
        Extent::Quick => n_txns <= 10_000,
        Extent::Usual => n_txns <= 100_000 || LARGEST.contains(&family),
        Extent::Full => true,
    }
}

fn recorded(&Recorded { name, n_txns, path, has_times, store }: &Recorded) -> Input {
    Input {
        family: name.to_owned(),
        name: name.to_owned(),
        n_txns,
        has_times,
        has_statements: false,
        making: Making { store, injection: None },
        source: Source::Recorded(format!("{RECORDED_FOLDER}/{path}")),
    }
}

fn generated(family: &str, workload: Workload, kind: FileKind) -> Input {
    let size = match workload.n_txns {
        n_txns if n_txns >= 1_000_000 => format!("{}M", n_txns / 1_000_000),
        n_txns => format!("{}k", n_txns / 1_000),
    };
    Input {
        family: family.to_owned(),
        name: format!("{family}-{size}"),
        n_txns: workload.n_txns,
        has_times: kind == LINES,
        has_statements: workload.kind.has_statements(),
        making: Making::of(&workload),
        source: Source::Generated(Box::new(workload), kind),
    }
}

impl Input {
    /// The file, made if need be; nothing if it is not at hand.
    pub(crate) fn file(&self) -> Result<Option<PathBuf>> {
        match &self.source {
            Source::Recorded(path) => Ok(Some(root().join(path)).filter(|it| it.exists())),
            Source::Generated(workload, kind) => {
                let folder = target_folder().join("bench-inputs");
                fs::create_dir_all(&folder)?;
                let path = folder.join(format!("{}.{}", self.name, ending(*kind)));
                if !is_newer_than_this_program(&path)? {
                    // Under another name until it is whole.
                    let unfinished = folder.join(format!("{}.unfinished", self.name));
                    let file = File::create(&unfinished)?;
                    write(workload, *kind, file).with_context(|| format!("generating {}", self.name))?;
                    fs::rename(&unfinished, &path)?;
                }
                Ok(Some(path))
            }
        }
    }
}

fn ending(kind: FileKind) -> &'static str {
    match kind {
        FileKind::BySession(Layout::Dbcop) => "bincode",
        _ => "jsonl",
    }
}

/// A file that an older build of this program wrote may be of another workload.
fn is_newer_than_this_program(path: &Path) -> Result<bool> {
    let Ok(file) = fs::metadata(path) else { return Ok(false) };
    let program = fs::metadata(std::env::current_exe()?)?;
    Ok(file.modified()? > program.modified()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iso_generate::check;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_quick_histories_are_small() {
        let all = inputs(Extent::Full).unwrap();
        let names: HashSet<&str> = all.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names.len(), all.len());
        assert!(inputs(Extent::Quick).unwrap().iter().all(|it| it.n_txns <= 16_000));
        let usual = inputs(Extent::Usual).unwrap();
        let largest: Vec<&str> = usual.iter().filter(|it| it.n_txns == 1_000_000).map(|it| it.name.as_str()).collect();
        assert_eq!(largest, ["blindw-rw-1M", "blindw-rw-dbcop-1M", "blindw-rw-si-dbcop-1M"]);
    }

    #[test]
    fn every_workload_can_be_generated() {
        for input in inputs(Extent::Full).unwrap() {
            if let Source::Generated(workload, kind) = input.source {
                check(&workload, kind).unwrap();
            }
        }
    }
}

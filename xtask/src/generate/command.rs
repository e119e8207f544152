//! `cargo xtask generate`: writes a history of a named workload to a file.

use super::executor::Tally;
use super::inject::Injection;
use super::preset::{PRESETS, preset};
use super::sink::{BySession, Layout, Lines, Times};
use super::{Choice, Store, Values, Workload, generate};
use crate::arguments::Arguments;
use anyhow::{Context, Result, bail};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use std::time::Instant;

/// What the task takes, for its help.
pub(crate) fn usage() -> String {
    let mut out = "\
usage: cargo xtask generate WORKLOAD -o FILE [options]

Writes a history that a store in memory made: sessions take turns at random, one operation at a time.

  --txns N                 transactions that commit
  --sessions N
  --keys N                 keys at the beginning; the last three workloads add more
  --ops N                  operations of a transaction (not for the last three workloads)
  --reads PERCENT          reads among them; the rest are blind writes
  --zipf-keys              the k-th key is chosen k times less often than the first
  --values N|zipf:N|unique values of a key, each as often or by Zipf's law; or no value twice
  --store ser|si           optimistic validation, or snapshots of which the first committer wins
  --inject ANOMALY         once, in the middle: stale-read, lost-update, write-skew, long-fork, causality-violation
  --seed N                 another history of the same kind
  --format jsonl|dbcop     jsonl, unless told otherwise
  --no-times               without begin and end
  --by-session             one session after the other, without begin and end; dbcop files are always so

Workloads, and how many transactions they have unless told otherwise:

"
    .to_owned();
    for preset in PRESETS {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {:<13} {:>7}  {}", preset.name, preset.usual_size(), preset.about);
    }
    out
}

/// Which file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Lines(Times),
    BySession(Layout),
}

/// Runs the task.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let mut arguments = Arguments::new(words);
    if words.is_empty() || arguments.flag("--help") || arguments.flag("-h") {
        print!("{}", usage());
        return Ok(());
    }
    let path = arguments.text("-o")?.context("-o FILE says where the history goes")?;
    let (workload, kind) = parse(arguments)?;
    let since = Instant::now();
    let Tally { n_committed, n_aborted } = write_file(&workload, kind, Path::new(path))?;
    let (megabytes, seconds) = (fs::metadata(path)?.len() / 1_000_000, since.elapsed().as_secs_f64());
    println!("{path}: {n_committed} committed, {n_aborted} aborted, {megabytes} MB, {seconds:.1} s");
    if let Some(injection) = workload.injection {
        println!("it has one {}, forbidden by {}", injection.name(), injection.forbidden_by().join(" "));
    }
    Ok(())
}

/// Generates into a file.
pub(crate) fn write_file(workload: &Workload, kind: FileKind, path: &Path) -> Result<Tally> {
    workload.check()?;
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    match kind {
        FileKind::Lines(times) => generate(workload, Lines::new(file, times)?),
        FileKind::BySession(layout) => generate(workload, BySession::new(file, layout)),
    }
}

fn parse(mut arguments: Arguments<'_>) -> Result<(Workload, FileKind)> {
    let n_txns = arguments.number("--txns")?;
    let n_sessions = arguments.number("--sessions")?;
    let n_keys = arguments.number("--keys")?;
    let n_ops = arguments.number("--ops")?;
    let reads = arguments.number("--reads")?;
    let seed = arguments.number("--seed")?;
    let values = arguments.text("--values")?.map(parse_values).transpose()?;
    let store = arguments.text("--store")?.map(parse_store).transpose()?;
    let injection = arguments.text("--inject")?.map(Injection::from_name).transpose()?;
    let has_zipf_keys = arguments.flag("--zipf-keys");
    let kind = parse_kind(&mut arguments, injection)?;
    let rest = arguments.rest()?;
    let [name] = rest[..] else {
        bail!("expected one workload, found {}; see `cargo xtask generate --help`", rest.len())
    };

    let preset = preset(name)?;
    let mut workload = preset.workload(n_txns.unwrap_or(preset.usual_size()), n_sessions);
    workload.n_keys = n_keys.unwrap_or(workload.n_keys);
    workload.ops_per_txn = n_ops.unwrap_or(workload.ops_per_txn);
    workload.reads_percent = reads.unwrap_or(workload.reads_percent);
    workload.seed = seed.unwrap_or(workload.seed);
    workload.values = values.unwrap_or(workload.values);
    workload.store = store.unwrap_or(workload.store);
    workload.injection = injection;
    if has_zipf_keys {
        workload.key_choice = Choice::Zipf;
    }
    Ok((workload, kind))
}

fn parse_kind(arguments: &mut Arguments<'_>, injection: Option<Injection>) -> Result<FileKind> {
    let times = if arguments.flag("--no-times") { Times::LeftOut } else { Times::Kept };
    let is_by_session = arguments.flag("--by-session");
    let kind = match (arguments.text("--format")?.unwrap_or("jsonl"), is_by_session) {
        ("jsonl", false) => FileKind::Lines(times),
        ("jsonl", true) => FileKind::BySession(Layout::Jsonl),
        ("dbcop", _) => FileKind::BySession(Layout::Dbcop),
        (other, _) => {
            bail!("cannot write `{other}`; --format takes jsonl or dbcop, `isoscope convert` writes the rest")
        }
    };
    match injection {
        Some(injection) if injection.needs_times() && kind != FileKind::Lines(Times::Kept) => {
            bail!("{} can be seen only by times; write jsonl with them", injection.name())
        }
        _ => Ok(kind),
    }
}

fn parse_values(text: &str) -> Result<Values> {
    if text == "unique" {
        return Ok(Values::Unique);
    }
    let (number, choice) = text.strip_prefix("zipf:").map_or((text, Choice::Uniform), |it| (it, Choice::Zipf));
    let n_values = number.parse().ok();
    let n_values = n_values.with_context(|| format!("--values takes N, zipf:N or unique, found `{text}`"))?;
    Ok(Values::Few(n_values, choice))
}

fn parse_store(text: &str) -> Result<Store> {
    [Store::Serializable, Store::Snapshot]
        .into_iter()
        .find(|it| it.name() == text)
        .with_context(|| format!("--store takes ser or si, found `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<(Workload, FileKind)> {
        parse(Arguments::new(&text.split(' ').collect::<Vec<_>>()))
    }

    #[test]
    fn options_change_what_the_preset_says() {
        let (workload, kind) =
            parsed("balanced --txns 5000 --reads 30 --values zipf:7 --store si --by-session --seed 9").unwrap();
        assert_eq!((workload.n_txns, workload.n_sessions, workload.reads_percent), (5000, 50, 30));
        assert_eq!(workload.values, Values::Few(7, Choice::Zipf));
        assert_eq!((workload.store, workload.seed), (Store::Snapshot, 9));
        assert_eq!(kind, FileKind::BySession(Layout::Jsonl));
    }

    #[test]
    fn what_makes_no_sense_is_an_error() {
        for text in [
            "unheard-of",
            "balanced hot-key",
            "balanced --values some",
            "balanced --store mv",
            "balanced --format csv",
            "balanced --inject phantom",
            "balanced --inject stale-read --format dbcop",
            "balanced --frobnicate",
        ] {
            assert!(parsed(text).is_err(), "{text}");
        }
        assert!(parsed("balanced --reads 101").unwrap().0.check().is_err());
        assert!(parsed("balanced --sessions 0").unwrap().0.check().is_err());
        assert!(parsed("balanced --inject write-skew --store si").unwrap().0.check().is_err());
        assert!(parsed("balanced --inject long-fork --sessions 3").unwrap().0.check().is_err());
    }
}

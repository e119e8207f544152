//! What recording costs: the same workload with and without it, a thousand sessions, and the memory of a longer run.
//!
//! Sessions run the same code on both sides, but for the recording client, and counts and clocks are the run's own. The
//! time of processors that a transaction takes, of all threads together, is less at the mercy of what else runs on the
//! machine than throughput is, so both are shown.
//!
//! `cargo xtask bench collect [--seconds 3] [--long 60] [--only store:ser]`
#![allow(clippy::print_stdout, clippy::cast_precision_loss, missing_docs, reason = "a bench prints means")]

use iso_collect::{
    Collected, Control, Database, FinalRead, Parameters, Plan, Retries, Tally, Target, collect, open, workload,
};
use std::env;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often each side is measured, one after the other, so that other work on the machine meets both.
const N_ROUNDS: u32 = 10;

fn main() {
    // Tests of all targets start this, too, and want nothing measured.
    if !env::args().any(|it| it == "--bench") {
        return;
    }
    let arguments: Vec<String> = env::args().collect();
    let option = |name: &str| arguments.iter().skip_while(|it| *it != name).nth(1);
    let seconds = |name: &str, default: f64| {
        Duration::from_secs_f64(option(name).and_then(|it| it.parse().ok()).unwrap_or(default))
    };
    let (duration, long) = (seconds("--seconds", 3.0), seconds("--long", 60.0));
    let only = option("--only").map_or("", String::as_str);
    many_sessions();
    println!("\n| database | sessions | workload | with recording | without | with / without | time of processors |");
    println!("|---|--:|---|--:|--:|--:|--:|");
    for (url, sessions) in
        [("sqlite:", 4), ("sqlite:", 10), ("store:ser?policy=latest", 4), ("store:rc?policy=latest", 10)]
    {
        for name in ["rw", "rmw"].into_iter().filter(|_| url.starts_with(only)) {
            compare(url, sessions, name, duration);
        }
    }
    memory(long);
}

fn compare(url: &str, sessions: usize, name: &str, duration: Duration) {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut with, mut without) = (Cost::default(), Cost::default());
    for round in 0..N_ROUNDS {
        let path = folder.path().join(format!("{round}.jsonl"));
        with.add(run(url, sessions, name, duration / N_ROUNDS, Target::File(path.clone())));
        without.add(run(url, sessions, name, duration / N_ROUNDS, Target::Nowhere));
        fs::remove_file(path).expect("it is there");
    }
    println!(
        "| {url} | {sessions} | {name} | {:.0} /s | {:.0} /s | {:.0} % | {:.2} µs / {:.2} µs |",
        with.throughput(),
        without.throughput(),
        with.throughput() / without.throughput() * 100.0,
        with.microseconds(),
        without.microseconds(),
    );
}

/// What transactions cost, of all rounds together.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    committed: u64,
    seconds: f64,
    processor_seconds: f64,
}

impl Cost {
    fn add(&mut self, other: Self) {
        self.committed += other.committed;
        self.seconds += other.seconds;
        self.processor_seconds += other.processor_seconds;
    }

    fn throughput(&self) -> f64 {
        self.committed as f64 / self.seconds
    }

    fn microseconds(&self) -> f64 {
        self.processor_seconds * 1e6 / self.committed as f64
    }
}

fn run(url: &str, sessions: usize, name: &str, duration: Duration, target: Target) -> Cost {
    let database: Arc<dyn Database> = Arc::from(open(url).expect("it opens"));
    let plan = plan(&*database, sessions, name, duration);
    // Without set-up and tear-down, in which nothing is recorded.
    let mut processor = None;
    let mut watch = |_: &Tally| {
        let now = processor_seconds();
        processor = Some((processor.map_or(now, |it: (f64, f64)| it.0), now));
    };
    let collected = collect(&database, &plan, target, &Arc::new(Control::new()), &mut watch).expect("it runs");
    let (first, last) = processor.expect("it is watched");
    let Collected { counts, elapsed, .. } = collected;
    Cost { committed: counts.committed, seconds: elapsed.as_secs_f64(), processor_seconds: last - first }
}

/// What all threads of this process have used so far.
fn processor_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> = stat.rsplit(')').next().unwrap_or_default().split(' ').flat_map(str::parse).collect();
    // Ticks in user mode and in the kernel, a hundred a second, after the state, which is no number.
    fields.get(10..12).map_or(0.0, |it| it.iter().sum::<f64>() / 100.0)
}

fn plan(database: &dyn Database, sessions: usize, name: &str, duration: Duration) -> Plan {
    let parameters = Parameters { sessions, keys: 1000, ..Parameters::default() };
    Plan {
        workload: workload(name, &parameters).expect("there is one"),
        isolations: vec![database.isolations()[0].to_owned(); sessions],
        txns: None,
        duration: Some(duration),
        seed: 1,
        retries: Retries::None,
        final_read: FinalRead::No,
        faults: None,
        pause: Duration::ZERO,
        origin: "{}".to_owned(),
    }
}

fn many_sessions() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = Target::File(folder.path().join("h.jsonl"));
    let began = Instant::now();
    let database: Arc<dyn Database> = Arc::from(open("store:ser?policy=latest").expect("it opens"));
    let mut plan = plan(&*database, 1000, "rw", Duration::from_secs(60));
    plan.txns = Some(10);
    let collected = collect(&database, &plan, target, &Arc::new(Control::new()), &mut |_| {}).expect("it runs");
    println!(
        "{} sessions on the store: {} transactions, {:.0} committed a second, {:.1} s, peak {:.0} MiB",
        collected.sessions,
        collected.counts.transactions(),
        collected.throughput,
        began.elapsed().as_secs_f64(),
        mebibytes("VmHWM:"),
    );
}

/// Resident memory while a longer run goes on: the database is a file, so what grows would be ours.
fn memory(duration: Duration) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("h.jsonl");
    let target = Target::File(path.clone());
    let database: Arc<dyn Database> = Arc::from(open("sqlite:").expect("it opens"));
    let plan = plan(&*database, 10, "rw", duration);
    println!("\nmemory of rw with 10 sessions on SQLite for {} s:", duration.as_secs());
    let began = Instant::now();
    let mut shown = 0;
    let collected = collect(&database, &plan, target, &Arc::new(Control::new()), &mut |tally| {
        let nth = began.elapsed().as_secs() / 10;
        if nth > shown {
            shown = nth;
            let size = fs::metadata(&path).map_or(0, |it| it.len()) >> 20;
            let resident = mebibytes("VmRSS:");
            println!("  {:>3} s  {resident:.1} MiB resident  {} committed  file {size} MiB", nth * 10, tally.committed);
        }
    });
    let collected = collected.expect("it runs");
    println!(
        "  {} transactions, {:.0} MiB written",
        collected.counts.transactions(),
        collected.bytes as f64 / 1_048_576.0
    );
}

fn mebibytes(field: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|it| it.strip_prefix(field)).unwrap_or_default();
    line.trim().trim_end_matches("kB").trim().parse::<f64>().unwrap_or(0.0) / 1024.0
}

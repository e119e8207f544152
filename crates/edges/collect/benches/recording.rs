//! What recording costs: the same workload with and without it, a thousand sessions, and the memory of a longer run.
//!
//! `cargo xtask bench collect [--seconds 3] [--long 60]`
#![allow(clippy::print_stdout, clippy::cast_precision_loss, missing_docs, reason = "a bench prints means")]

use iso_collect::{
    Collected, Control, Database, FinalRead, Parameters, Plan, Retries, Target, collect, open, workload,
};
use std::env;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often each side is measured, one after the other, so that other work on the machine meets both.
const N_ROUNDS: usize = 3;

fn main() {
    // Tests of all targets start this, too, and want nothing measured.
    if !env::args().any(|it| it == "--bench") {
        return;
    }
    let arguments: Vec<String> = env::args().collect();
    let seconds = |name: &str, default: f64| {
        let found = arguments.iter().skip_while(|it| *it != name).nth(1);
        Duration::from_secs_f64(found.and_then(|it| it.parse().ok()).unwrap_or(default))
    };
    let (duration, long) = (seconds("--seconds", 3.0), seconds("--long", 60.0));
    println!("| database | sessions | workload | with recording | without | with / without |");
    println!("|---|--:|---|--:|--:|--:|");
    for (url, sessions) in
        [("sqlite:", 4), ("sqlite:", 10), ("store:ser?policy=latest", 4), ("store:rc?policy=latest", 10)]
    {
        for name in ["rw", "rmw"] {
            compare(url, sessions, name, duration);
        }
    }
    many_sessions();
    memory(long);
}

fn compare(url: &str, sessions: usize, name: &str, duration: Duration) {
    let (mut with, mut without) = (0.0, 0.0);
    let folder = tempfile::tempdir().expect("a folder");
    for round in 0..N_ROUNDS {
        let path = folder.path().join(format!("{round}.jsonl"));
        let target = Target::File(fs::File::create(path).expect("a file"));
        with += run(url, sessions, name, duration / N_ROUNDS as u32, target).throughput;
        without += run(url, sessions, name, duration / N_ROUNDS as u32, Target::Nowhere).throughput;
    }
    let (with, without) = (with / N_ROUNDS as f64, without / N_ROUNDS as f64);
    println!("| {url} | {sessions} | {name} | {with:.0} /s | {without:.0} /s | {:.0} % |", with / without * 100.0);
}

fn run(url: &str, sessions: usize, name: &str, duration: Duration, target: Target) -> Collected {
    let database: Arc<dyn Database> = Arc::from(open(url).expect("it opens"));
    let plan = plan(&*database, sessions, name, duration);
    collect(&database, &plan, target, &Arc::new(Control::new()), &mut |_| {}).expect("it runs")
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
        origin: "{}".to_owned(),
    }
}

fn many_sessions() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = Target::File(fs::File::create(folder.path().join("h.jsonl")).expect("a file"));
    let began = Instant::now();
    let database: Arc<dyn Database> = Arc::from(open("store:ser?policy=latest").expect("it opens"));
    let mut plan = plan(&*database, 1000, "rw", Duration::from_secs(60));
    plan.txns = Some(10);
    let collected = collect(&database, &plan, target, &Arc::new(Control::new()), &mut |_| {}).expect("it runs");
    println!(
        "\n{} sessions on the store: {} transactions, {:.0} committed a second, {:.1} s, peak {:.0} MiB",
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
    let target = Target::File(fs::File::create(&path).expect("a file"));
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

//! How many reads a store serves in a second, by level, policy, sessions and the length of its past.
//!
//! `cargo bench -p iso-store --bench reads` measures everything; arguments select the lines that have them all, as in
//! `-- cc random`. Each line is measured by a process of its own, so that its memory is what this store took. Needs
//! Linux, which tells what a process took.
#![allow(missing_docs, reason = "a program")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on stops")]
#![allow(clippy::print_stdout, reason = "a bench says what it measured")]
#![allow(
    clippy::disallowed_methods,
    reason = "what measures an engine has the clock and the files that it must not have"
)]

use iso_spec::Level;
use iso_store::{Key, LEVELS, Plan, Policy, SessionId, Store};
use std::process::Command;
use std::time::Duration;

/// Operations of the past, and sessions.
const SIZES: [(usize, usize); 6] =
    [(10_000, 16), (100_000, 16), (1_000_000, 16), (10_000, 1000), (100_000, 1000), (100_000, 2)];
const POLICIES: [&str; 4] = ["latest", "random", "adversarial", "replay"];
/// Rows, of which one is used in a fifth of all operations.
const N_ROWS: usize = 1000;
const N_READS: usize = 100_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, level, policy, n_ops, n_sessions] = arguments.as_slice()
        && first == "line"
    {
        let level = Level::from_name(level).unwrap();
        println!("{}", measure(level, policy, n_ops.parse().unwrap(), n_sessions.parse().unwrap()));
        return;
    }
    // Tests of all targets start this, too, and want nothing measured.
    if !arguments.iter().any(|it| it == "--bench") {
        return;
    }
    let wanted: Vec<&String> = arguments.iter().filter(|it| !it.starts_with('-')).collect();
    println!("level policy       sessions  past ops      reads/s   MB committed%");
    for (n_ops, n_sessions) in SIZES {
        for level in LEVELS {
            for policy in POLICIES {
                let (n_ops, n_sessions) = (n_ops.to_string(), n_sessions.to_string());
                let line = [level.short_name(), policy, &n_ops, &n_sessions];
                if wanted.iter().all(|it| line.contains(&it.as_str())) {
                    let child = Command::new(std::env::current_exe().unwrap()).arg("line").args(line).output().unwrap();
                    print!("{}", String::from_utf8_lossy(&child.stdout));
                }
            }
        }
    }
}

fn measure(level: Level, policy: &str, n_ops: usize, n_sessions: usize) -> String {
    let mut bench = Bench::new(level, policy, n_sessions);
    while bench.n_calls < n_ops {
        bench.step();
    }
    let (start, reads_before) = (time_used(), bench.n_reads);
    while bench.n_reads - reads_before < N_READS {
        bench.step();
    }
    // The time of everything is in it, writes and commits, too.
    let per_second = (bench.n_reads - reads_before) as u128 * 1_000_000 / time_used().saturating_sub(start).as_micros();
    let (megabytes, committed) = (peak_kilobytes() / 1024, 100 * bench.n_committed / bench.n_begun);
    let name = level.short_name();
    format!("{name:5} {policy:12} {n_sessions:9} {n_ops:9} {per_second:12} {megabytes:4} {committed:10}")
}

/// Sessions that take turns: transactions of six reads and two writes, in any order.
struct Bench {
    store: Store,
    sessions: Vec<(SessionId, usize)>,
    keys: Vec<Key>,
    state: u64,
    n_calls: usize,
    n_reads: usize,
    n_begun: usize,
    n_committed: usize,
}

impl Bench {
    fn new(level: Level, policy: &str, n_sessions: usize) -> Self {
        let policy = match policy {
            "latest" => Policy::Latest,
            "random" => Policy::Random,
            "adversarial" => Policy::Adversarial,
            _ => Policy::Replay(Plan::new()),
        };
        let mut store = Store::new(level, policy, 1).unwrap();
        let keys: Vec<Key> = (0..N_ROWS).map(|it| Key::new("rows", format!("{it:04}"))).collect();
        for key in &keys {
            store.load(key, 0.into()).unwrap();
        }
        let sessions = (0..n_sessions).map(|it| (store.session(&format!("s{it}")), 0)).collect();
        Self { store, sessions, keys, state: 1, n_calls: 0, n_reads: 0, n_begun: 0, n_committed: 0 }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % limit
    }

    fn step(&mut self) {
        const N_CALLS: usize = 8;
        let at = self.below(self.sessions.len());
        let (session, n_done) = self.sessions[at];
        if n_done == 0 {
            self.store.begin(session).unwrap();
            self.n_begun += 1;
        }
        let row = if self.below(5) == 0 { 0 } else { self.below(N_ROWS) };
        let is_done = if n_done == N_CALLS {
            self.store.commit(session).is_ok()
        } else if self.below(4) == 0 {
            self.n_calls += 1;
            let value = i64::try_from(self.n_calls).unwrap();
            self.store.put(session, &self.keys[row], value.into()).is_ok()
        } else {
            self.n_calls += 1;
            self.n_reads += 1;
            self.store.get(session, &self.keys[row]).is_ok()
        };
        self.n_committed += usize::from(is_done && n_done == N_CALLS);
        self.sessions[at].1 = if is_done && n_done < N_CALLS { n_done + 1 } else { 0 };
    }
}

/// How long this process had a processor, whoever else had one besides.
fn time_used() -> Duration {
    let statistics = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    Duration::from_nanos(statistics.split_whitespace().next().and_then(|it| it.parse().ok()).unwrap())
}

fn peak_kilobytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"));
    line.and_then(|it| it.split_whitespace().next()).and_then(|it| it.parse().ok()).unwrap_or(0)
}

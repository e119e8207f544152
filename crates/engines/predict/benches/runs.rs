//! Times predictions on families of runs that grow.
//!
//! `cargo bench -p iso-predict -- [FAMILY..] [--levels rc,cc] [--limit SECONDS]`; without a family, all of them.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a bench prints and looks at the clock"
)]

use iso_check::check_facts;
use iso_evidence::{Budget, StopReason, Verdict};
use iso_history::{Datum, Facts, History, HistoryBuilder, Outcome, Place};
use iso_predict::{Answer, Boundary, LEVELS, Precision, Predictor, Question};
use iso_spec::Level;
use std::time::{Duration, Instant};

fn main() {
    // Tests of all targets start this, too, and want nothing measured.
    if !std::env::args().any(|it| it == "--bench") {
        return;
    }
    let args: Vec<String> = std::env::args().skip(1).filter(|it| it != "--bench").collect();
    let option = |name: &str| args.iter().position(|it| it == name).and_then(|at| args.get(at + 1)).cloned();
    let limit = Duration::from_secs_f64(option("--limit").and_then(|it| it.parse().ok()).unwrap_or(60.0));
    let levels: Vec<Level> = match option("--levels") {
        Some(names) => names.split(',').filter_map(Level::from_name).collect(),
        None => LEVELS.to_vec(),
    };
    let is_value = |at: usize| at > 0 && args[at - 1].starts_with("--");
    let words = args.iter().enumerate().filter(|it| !it.1.starts_with("--") && !is_value(it.0));
    let wanted: Vec<&String> = words.map(|it| it.1).collect();
    for (name, history) in families() {
        if wanted.is_empty() || wanted.iter().any(|it| name.starts_with(it.as_str())) {
            measure(&name, &history, &levels, limit);
        }
    }
}

fn measure(name: &str, history: &History, levels: &[Level], limit: Duration) {
    let facts = Facts::new(history);
    let started = Instant::now();
    let Verdict::Allowed(witness) = check_facts(&facts, Level::Serializable, &Budget::unlimited()) else {
        println!("{name}: not serializable");
        return;
    };
    println!("{name}: {} transactions, checked in {:.1} ms", history.n_txns() - 1, millis(started));
    for level in levels {
        for boundary in [Boundary::Strict, Boundary::Relaxed] {
            let started = Instant::now();
            let stop = || (started.elapsed() > limit).then_some(StopReason::Timeout);
            let budget = Budget::new(&stop);
            let question =
                Question { level: *level, target: Level::Serializable, boundary, precision: Precision::Exact };
            let mut predictor = Predictor::new(&facts, &witness, question).expect("the run can be predicted from");
            let answer = match predictor.next(&budget) {
                Answer::Predicted(it) => {
                    format!("predicted {} transactions, {} changed", it.txns.len() - 1, it.changed.len())
                }
                Answer::None => "none".to_owned(),
                Answer::Unknown(_) => "unknown".to_owned(),
            };
            let effort = predictor.effort();
            println!(
                "  {:4} {:8} {:9.1} ms  {answer} ({} looked at, {} candidates, {} conflicts, {} clauses)",
                level.short_name(),
                format!("{boundary:?}").to_lowercase(),
                millis(started),
                effort.transactions,
                effort.candidates,
                effort.conflicts,
                effort.clauses,
            );
        }
    }
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

fn families() -> Vec<(String, History)> {
    let mut families = Vec::new();
    for (n_sessions, n_txns) in [(3, 8), (5, 10), (10, 10), (10, 20), (10, 50)] {
        let size = format!("{n_sessions}x{n_txns}");
        families.push((format!("smallbank-{size}"), smallbank(n_sessions, n_txns)));
        families.push((format!("voter-{size}"), voter(n_sessions, n_txns)));
        families.push((format!("counters-{size}"), counters(n_sessions, n_txns)));
    }
    families.push(("blind-3x30".to_owned(), blind(30)));
    families.push(("blind-3x100".to_owned(), blind(100)));
    families
}

/// A run in which each transaction reads what is there.
struct Run {
    builder: HistoryBuilder,
    state: std::collections::BTreeMap<String, i64>,
    next: i64,
    seed: u64,
}

impl Run {
    fn new() -> Self {
        Self { builder: HistoryBuilder::new(), state: std::collections::BTreeMap::new(), next: 0, seed: 7 }
    }

    fn random(&mut self, n: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % n
    }

    fn begin(&mut self, session: usize) {
        let session = self.builder.session(&format!("s{session}"));
        self.builder.begin(session, Place::default());
    }

    fn read(&mut self, key: &str) {
        let value = self.state.get(key).map_or(Datum::Null, |it| Datum::Int(*it));
        let (key, value) = (self.builder.key(Datum::text(key)), self.builder.value(value));
        self.builder.read(key, value);
    }

    fn write(&mut self, key: &str) {
        self.next += 1;
        self.state.insert(key.to_owned(), self.next);
        let (key, value) = (self.builder.key(Datum::text(key)), self.builder.value(Datum::Int(self.next)));
        self.builder.write(key, value);
    }

    fn end(&mut self) {
        self.builder.end(Outcome::Committed);
    }

    fn finish(self) -> History {
        self.builder.finish().expect("the run is valid")
    }
}

fn in_turns(n_sessions: usize, n_txns: usize) -> impl Iterator<Item = usize> {
    (0..n_txns).flat_map(move |_| 0..n_sessions)
}

/// Payments between ten customers, and balances.
fn smallbank(n_sessions: usize, n_txns: usize) -> History {
    let mut run = Run::new();
    for session in in_turns(n_sessions, n_txns) {
        run.begin(session);
        let (from, to) = (run.random(10), run.random(10));
        if run.random(10) < 3 {
            run.read(&format!("savings{from}"));
            run.read(&format!("checking{from}"));
        } else {
            run.read(&format!("checking{from}"));
            if to != from {
                run.read(&format!("checking{to}"));
                run.write(&format!("checking{to}"));
            }
            run.write(&format!("checking{from}"));
        }
        run.end();
    }
    run.finish()
}

/// One votes for its phone, the others see that it did.
fn voter(n_sessions: usize, n_txns: usize) -> History {
    let mut run = Run::new();
    for (nth, session) in in_turns(n_sessions, n_txns).enumerate() {
        run.begin(session);
        run.read("contestant");
        for row in 0..6 {
            run.read(&format!("votes{row}"));
        }
        if nth == 0 {
            for row in 0..6 {
                run.write(&format!("votes{row}"));
            }
        }
        run.end();
    }
    run.finish()
}

/// Each session counts for itself, and looks at a key that the first one writes.
fn counters(n_sessions: usize, n_txns: usize) -> History {
    let mut run = Run::new();
    for session in in_turns(n_sessions, n_txns) {
        run.begin(session);
        run.read(&format!("counter{session}"));
        run.write(&format!("counter{session}"));
        if session == 0 {
            run.write("shared");
        } else {
            run.read("shared");
        }
        run.end();
    }
    run.finish()
}

/// Two sessions write a key without looking, a third reads it.
fn blind(n_txns: usize) -> History {
    let mut run = Run::new();
    for session in in_turns(3, n_txns) {
        run.begin(session);
        if session == 2 {
            run.read("x");
        } else {
            run.write("x");
        }
        run.end();
    }
    run.finish()
}

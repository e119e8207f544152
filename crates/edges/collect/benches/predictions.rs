//! The tables of Geng et al. 2024 (`IsoPredict`) for our applications: what is predicted and validated, how long it
//! takes, and how often the weak store fails by chance.
//!
//! Before that, how long recorded traces of `IsoPredict` take, if they are there.
//!
//! `cargo xtask bench predict [APPLICATION..] [--levels cc,rc] [--sizes 3x4,3x8] [--seeds 10] [--limit SECONDS]`
#![allow(clippy::print_stdout, clippy::cast_precision_loss, missing_docs, reason = "a bench prints means")]

use iso_check::{check, check_facts};
use iso_collect::{APPLICATIONS, Application, Choice, Observed, Run, Setup, commit_order, drive, replay};
use iso_evidence::{Budget, StopReason, Verdict, certify};
use iso_formats::{ReadOptions, read_path};
use iso_history::{Facts, History};
use iso_predict::{Answer, Boundary, LEVELS, Precision, Prediction, Predictor, Question};
use iso_spec::Level;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often the store runs for each seed.
const N_RUNS: u64 = 10;

struct Options {
    applications: Vec<&'static dyn Application>,
    levels: Vec<Level>,
    sizes: Vec<(usize, usize)>,
    n_seeds: u64,
    limit: Duration,
}

fn main() {
    // Tests of all targets start this, too, and want nothing measured.
    if !std::env::args().any(|it| it == "--bench") {
        return;
    }
    let options = options();
    traces_table(&options);
    for (sessions, txns) in &options.sizes {
        let size = (*sessions, *txns);
        sizes_table(&options, size);
        for level in &options.levels {
            predictions_table(&options, size, *level);
            store_table(&options, size, *level);
        }
    }
}

fn options() -> Options {
    let args: Vec<String> = std::env::args().skip(1).filter(|it| it != "--bench").collect();
    let option = |name: &str| args.iter().position(|it| it == name).and_then(|at| args.get(at + 1)).cloned();
    let is_value = |at: usize| at > 0 && args[at - 1].starts_with("--");
    let words: Vec<&String> =
        args.iter().enumerate().filter(|it| !it.1.starts_with("--") && !is_value(it.0)).map(|it| it.1).collect();
    let wanted = |it: &&'static dyn Application| words.is_empty() || words.iter().any(|word| *word == it.name());
    let size = |text: &str| text.split_once('x').and_then(|it| Some((it.0.parse().ok()?, it.1.parse().ok()?)));
    Options {
        applications: APPLICATIONS.into_iter().filter(wanted).collect(),
        levels: option("--levels").unwrap_or("cc,rc".to_owned()).split(',').filter_map(Level::from_name).collect(),
        sizes: option("--sizes").unwrap_or("3x4,3x8".to_owned()).split(',').filter_map(size).collect(),
        n_seeds: option("--seeds").and_then(|it| it.parse().ok()).unwrap_or(10),
        limit: Duration::from_secs_f64(option("--limit").and_then(|it| it.parse().ok()).unwrap_or(60.0)),
    }
}

/// Traces that `IsoPredict` recorded: milliseconds for the first answer, from the history to the prediction.
fn traces_table(options: &Options) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../corpus/recorded/traces");
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> =
        files.map(|it| it.path()).filter(|it| it.extension().is_some_and(|it| it == "txt")).collect();
    files.sort();
    for path in files {
        let Ok(reading) = read_path(&path, &ReadOptions::default()) else { continue };
        let Some(history) = reading.history else { continue };
        let facts = Facts::new(&history);
        let Verdict::Allowed(witness) = check_facts(&facts, Level::Serializable, &Budget::unlimited()) else {
            continue;
        };
        println!("{}", path.file_name().unwrap_or_default().display());
        for level in LEVELS {
            let mut cells = Vec::new();
            for boundary in [Boundary::Strict, Boundary::Relaxed] {
                let question = Question { level, target: Level::Serializable, boundary, precision: Precision::Exact };
                let started = Instant::now();
                let stop = || (started.elapsed() > options.limit).then_some(StopReason::Timeout);
                let mut predictor = Predictor::new(&facts, &witness, question).expect("a run of registers");
                let answer = match predictor.next(&Budget::new(&stop)) {
                    Answer::Predicted(_) => "predicted",
                    Answer::None => "none",
                    Answer::Unknown(_) => "unknown",
                };
                cells.push(format!("{boundary:?} {answer:9} {:6.1} ms", started.elapsed().as_secs_f64() * 1e3));
            }
            println!("  {:4} {}", level.short_name(), cells.join("   "));
        }
    }
}

fn setup(application: &'static dyn Application, size: (usize, usize), seed: u64) -> Setup {
    let (sessions, txns) = size;
    let (level, policy) = (Level::Serializable, Choice::Latest);
    Setup { application, level, policy, sessions, txns, seed, retries: false }
}

fn observed(application: &'static dyn Application, size: (usize, usize), seed: u64) -> (Setup, Run) {
    let setup = setup(application, size, seed);
    let run = drive(&setup).expect("an application runs on the store");
    assert!(run.holds(), "{} fails on a serializable store with seed {seed}", application.name());
    (setup, run)
}

/// The paper's table 3.
fn sizes_table(options: &Options, size: (usize, usize)) {
    println!("\n{} sessions of {} transactions: averages of {} seeds", size.0, size.1, options.n_seeds);
    println!("{:14} {:>8} {:>8} {:>10} {:>11}", "application", "reads", "writes", "committed", "(read-only)");
    for application in &options.applications {
        let mut sums = [0; 4];
        for seed in 1..=options.n_seeds {
            let (_, run) = observed(*application, size, seed);
            let history = &run.history;
            let writes = |it| history.ops(it).filter(|op| history.op(*op).is_write()).count();
            let n_writes: usize = history.txns().map(writes).sum();
            let read_only = history.txns().filter(|it| is_committed(history, *it) && writes(*it) == 0).count();
            let committed = run.counts().committed;
            for (sum, it) in sums.iter_mut().zip([history.n_ops() - n_writes, n_writes, committed, read_only]) {
                *sum += it;
            }
        }
        let mean = sums.map(|it| it as f64 / options.n_seeds as f64);
        let [reads, writes, committed, read_only] = mean;
        println!("{:14} {reads:8.1} {writes:8.1} {committed:10.1} {read_only:11.1}", application.name());
    }
}

fn is_committed(history: &History, txn: iso_history::TxnId) -> bool {
    history.outcome(txn) == iso_history::Outcome::Committed
}

/// What one strategy came to for one application.
#[derive(Default)]
struct Row {
    unknown: usize,
    none: usize,
    predicted: usize,
    validated: usize,
    diverged: usize,
    hidden: usize,
    clauses: u64,
    preparing: Duration,
    predicting: Duration,
    refuting: Duration,
    failures: Vec<String>,
}

/// The paper's tables 4 and 5.
fn predictions_table(options: &Options, size: (usize, usize), level: Level) {
    println!("\npredictions at {} ({}x{}, {} seeds; times are means in ms)", level, size.0, size.1, options.n_seeds);
    println!(
        "{:14} {:14} {:>7} {:>5} {:>4} {:>9} {:>8} {:>6} {:>8} {:>8} {:>8} {:>8}",
        "application",
        "strategy",
        "unknown",
        "unsat",
        "sat",
        "validated",
        "diverged",
        "hidden",
        "clauses",
        "generate",
        "sat",
        "unsat"
    );
    let mut failures = Vec::new();
    for application in &options.applications {
        for (precision, boundary, name) in [
            (Precision::Exact, Boundary::Strict, "exact-strict"),
            (Precision::Exact, Boundary::Relaxed, "exact-relaxed"),
            (Precision::Approximate, Boundary::Strict, "approx-strict"),
            (Precision::Approximate, Boundary::Relaxed, "approx-relaxed"),
        ] {
            let question = Question { level, target: Level::Serializable, boundary, precision };
            let mut row = Row::default();
            for seed in 1..=options.n_seeds {
                row.add(*application, size, seed, question, options.limit);
            }
            row.print(application.name(), name, options.n_seeds);
            failures.extend(row.failures.into_iter().map(|it| format!("{} {name}: {it}", application.name())));
        }
    }
    for failure in failures {
        println!("not validated: {failure}");
    }
}

impl Row {
    fn add(
        &mut self,
        application: &'static dyn Application,
        size: (usize, usize),
        seed: u64,
        question: Question,
        limit: Duration,
    ) {
        let (setup, run) = observed(application, size, seed);
        let facts = Facts::new(&run.history);
        let started = Instant::now();
        let stop = || (started.elapsed() > limit).then_some(StopReason::Timeout);
        let budget = Budget::new(&stop);
        let Verdict::Allowed(witness) = check_facts(&facts, Level::Serializable, &Budget::unlimited()) else {
            panic!("a run on a serializable store is serializable");
        };
        let begun = Instant::now();
        let mut predictor = Predictor::new(&facts, &witness, question).expect("a run of registers");
        self.preparing += begun.elapsed();
        let begun = Instant::now();
        match predictor.next(&budget) {
            Answer::Predicted(prediction) => {
                self.predicting += begun.elapsed();
                self.predicted += 1;
                self.validate(&setup, &run, &prediction, question.level, seed);
            }
            Answer::None => {
                self.refuting += begun.elapsed();
                self.none += 1;
            }
            Answer::Unknown(_) => {
                self.refuting += begun.elapsed();
                self.unknown += 1;
            }
        }
        self.clauses += predictor.effort().clauses;
    }

    fn validate(&mut self, setup: &Setup, run: &Run, prediction: &Prediction, level: Level, seed: u64) {
        assert!(is_certainly_forbidden(&prediction.history, Level::Serializable), "a prediction is not serializable");
        let Verdict::Allowed(witness) = check(&prediction.history, level, &Budget::unlimited()) else {
            panic!("the level allows a prediction");
        };
        let order = commit_order(&witness).expect("the levels of the store have orders");
        let observed = Observed::of_setup(setup, &run.history).expect("a setup makes the same run again");
        let replayed = replay(&observed, prediction, &order, level).expect("a prediction can be replayed");
        let keeps_level = matches!(check(&replayed.history, level, &Budget::unlimited()), Verdict::Allowed(_));
        assert!(keeps_level, "the store keeps its level");
        self.diverged += usize::from(replayed.has_diverged());
        self.hidden += usize::from(prediction.hides_conflict);
        if is_certainly_forbidden(&replayed.history, Level::Serializable) {
            self.validated += 1;
            return;
        }
        let aborted = replayed.aborted.iter().map(|it| format!("{} aborted", it.call));
        let strayed = replayed.strayed.iter().map(|it| format!("{} did something else", it.call));
        let why: Vec<String> =
            replayed.divergences.iter().map(ToString::to_string).chain(aborted).chain(strayed).collect();
        let hint = if prediction.hides_conflict { " (the cut hides a write conflict)" } else { "" };
        self.failures.push(format!("seed {seed}: {}{hint}", why.join("; ")));
    }

    fn print(&self, application: &str, strategy: &str, n_seeds: u64) {
        let mean = |time: Duration, n: usize| match n {
            0 => "-".to_owned(),
            n => format!("{:.2}", time.as_secs_f64() * 1e3 / n as f64),
        };
        println!(
            "{application:14} {strategy:14} {:7} {:5} {:4} {:9} {:>8} {:6} {:8} {:>8} {:>8} {:>8}",
            self.unknown,
            self.none,
            self.predicted,
            self.validated,
            format!("({})", self.diverged),
            self.hidden,
            self.clauses / n_seeds,
            mean(self.preparing, n_seeds as usize),
            mean(self.predicting, self.predicted),
            mean(self.refuting, self.none + self.unknown),
        );
    }
}

fn is_certainly_forbidden(history: &History, level: Level) -> bool {
    let verdict = check(history, level, &Budget::unlimited());
    matches!(verdict, Verdict::Forbidden(_)) && certify(history, level, &verdict).is_ok()
}

/// The paper's tables 6 and 7: runs of the store in which an assertion failed, and runs that are not serializable.
fn store_table(options: &Options, size: (usize, usize), level: Level) {
    println!("\nruns of the store at {level} ({}x{}), {N_RUNS} for each of {} seeds", size.0, size.1, options.n_seeds);
    println!(
        "{:14} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}",
        "application", "latest fail", "unser", "random fail", "unser", "advers. fail", "unser"
    );
    for application in &options.applications {
        let mut cells = Vec::new();
        for policy in [Choice::Latest, Choice::Random, Choice::Adversarial] {
            let (mut failed, mut unserializable, mut n_runs) = (0, 0, 0);
            for seed in (1..=options.n_seeds).flat_map(|seed| (0..N_RUNS).map(move |it| seed * 1000 + it)) {
                let setup = Setup { level, policy, ..setup(*application, size, seed) };
                let run = drive(&setup).expect("an application runs on the store");
                n_runs += 1;
                failed += usize::from(!run.holds());
                unserializable += usize::from(is_certainly_forbidden(&run.history, Level::Serializable));
            }
            cells.extend([failed, unserializable].map(|it| format!("{:.0} %", 100.0 * it as f64 / f64::from(n_runs))));
        }
        let cells: Vec<String> = cells.iter().map(|it| format!("{it:>12}")).collect();
        println!("{:14} {}", application.name(), cells.join(" "));
    }
}

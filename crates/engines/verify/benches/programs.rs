//! How long each program of the corpus takes under each level, and how the time grows with the number of transactions.
//!
//! `cargo bench -p iso-verify --bench programs` measures everything; an argument selects the samples whose name has it.
//! Times are the best of a few runs, in milliseconds, of [`verify`] with nothing kept from other levels.
#![allow(missing_docs, reason = "a program")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on stops")]
#![allow(clippy::print_stdout, reason = "a bench says what it measured")]
#![allow(
    clippy::disallowed_methods,
    reason = "what measures an engine has the clock and the files that it must not have"
)]

use iso_evidence::{Budget, StopReason};
use iso_program::{Program, parse};
use iso_spec::Level;
use iso_verify::{LEVELS, Verdict, verify};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What takes longer is given up.
const LIMIT: Duration = Duration::from_secs(5);
const N_VARIABLES: usize = 10;

fn main() {
    // Tests of all targets start this, too, and want nothing measured.
    if !std::env::args().any(|it| it == "--bench") {
        return;
    }
    let wanted = std::env::args().skip(1).find(|it| !it.starts_with('-')).unwrap_or_default();
    println!("{:24}{}", "program", header());
    for (name, text) in corpus().into_iter().filter(|it| it.0.contains(&wanted)) {
        measure(&name, &text);
    }
    println!("\n{:24}{}", "generated", header());
    let growing = [Kind::Chain, Kind::Transfer, Kind::Skew, Kind::Leak];
    let sizes = growing.into_iter().flat_map(|kind| (4..=12).step_by(2).map(move |n_txns| (kind, n_txns, N_VARIABLES)));
    let opened = [Kind::Open, Kind::OpenSkew, Kind::OpenLeak];
    let open = opened.into_iter().flat_map(|kind| {
        [(2, 3), (2, 4), (3, 3), (4, 4), (4, 10), (6, 6), (8, 10)]
            .map(|(n_txns, n_variables)| (kind, n_txns, n_variables))
    });
    for (kind, n_txns, n_variables) in sizes.chain(open) {
        let name = format!("{kind:?}-{n_txns}-{n_variables}").to_lowercase();
        if name.contains(&wanted) {
            measure(&name, &generate(kind, n_txns, n_variables));
        }
    }
}

fn header() -> String {
    LEVELS.map(|it| format!("{:>12}", it.short_name())).concat()
}

fn measure(name: &str, text: &str) {
    let program = parse(text, name).unwrap_or_else(|it| panic!("{text}\n{it:?}"));
    let mut line = format!("{name:24}");
    for level in LEVELS {
        let (verdict, time) = time(&program, level);
        let _ = write!(line, "{:>12}", format!("{:.1} {verdict}", time.as_secs_f64() * 1000.0));
    }
    println!("{line}");
}

/// The best of three, or of one that took long.
fn time(program: &Program, level: Level) -> (&'static str, Duration) {
    let mut best: Option<(&'static str, Duration)> = None;
    for _ in 0..3 {
        let start = Instant::now();
        let stop = || (start.elapsed() > LIMIT).then_some(StopReason::Timeout);
        let verdict = match verify(program, level, &Budget::new(&stop)).verdict {
            Verdict::Holds => "ok",
            Verdict::Violated(_) => "X",
            Verdict::Unknown(_) => "?",
        };
        let took = start.elapsed();
        best = Some(best.map_or((verdict, took), |it| (it.0, it.1.min(took))));
        if took > Duration::from_secs(1) {
            break;
        }
    }
    best.unwrap()
}

fn corpus() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../corpus/programs");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    paths.sort();
    let read = |it: PathBuf| (it.file_stem().unwrap().to_string_lossy().into_owned(), fs::read_to_string(it).unwrap());
    paths.into_iter().map(read).collect()
}

/// Families of programs that grow.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Who sees a variable set sets another one: holds under every level.
    Chain,
    /// Money goes from one variable to another: holds where updates are not lost.
    Transfer,
    /// A variable goes down if all are together great enough: holds under serializability.
    Skew,
    /// The last transfer pays double, so that money is made under every level.
    Leak,
    /// As `Transfer`, with any amounts and any initial values.
    Open,
    /// As `Skew`, with any amounts and any initial values that are together not negative.
    OpenSkew,
    /// As `Leak`, with any amounts and any initial values.
    OpenLeak,
}

impl Kind {
    fn is_open(self) -> bool {
        matches!(self, Self::Open | Self::OpenSkew | Self::OpenLeak)
    }
}

/// So many transactions, each in a session of its own, on so many variables.
fn generate(kind: Kind, n_txns: usize, n_variables: usize) -> String {
    let mut text = String::new();
    for idx in 0..n_variables {
        let initial = match kind {
            Kind::Chain if idx > 0 => "0",
            Kind::Chain | Kind::Skew => "1",
            Kind::Transfer | Kind::Leak => "10",
            Kind::Open | Kind::OpenSkew | Kind::OpenLeak => "any int in 0..1000",
        };
        let _ = writeln!(text, "var x{idx}: int = {initial}");
    }
    let total = (0..n_variables).map(|it| format!("x{it}")).collect::<Vec<_>>().join(" + ");
    let mut calls = Vec::new();
    for idx in 0..n_txns {
        let (from, to) = (idx % n_variables, (idx + 1) % n_variables);
        let paid = if matches!(kind, Kind::Leak | Kind::OpenLeak) && idx + 1 == n_txns { 2 } else { 1 };
        let body = match kind {
            Kind::Chain => format!("if x{from} > 0 {{ x{to} = x{from} }}"),
            Kind::Transfer | Kind::Leak | Kind::Open | Kind::OpenLeak => {
                format!("if x{from} >= amount {{ x{from} -= amount; x{to} += {paid} * amount }}")
            }
            Kind::Skew => format!("if {total} >= {n_variables} {{ x{from} -= 1 }}"),
            Kind::OpenSkew => format!("if {total} >= amount {{ x{from} -= amount }}"),
        };
        let _ = writeln!(text, "txn t{idx}(amount: int) {{ {body} }}");
        let amount = if kind.is_open() { "any int in 0..1000".to_owned() } else { (idx % 4 + 1).to_string() };
        calls.push(format!("t{idx}({amount})"));
    }
    let _ = writeln!(text, "run {}", calls.join(" || "));
    match kind {
        Kind::Chain => {
            for idx in 1..n_variables {
                let _ = writeln!(text, "invariant x{idx} > 0 implies x{} > 0", idx - 1);
            }
        }
        Kind::Transfer | Kind::Leak => {
            let _ = writeln!(text, "invariant {total} == {}", 10 * n_variables);
        }
        Kind::OpenSkew => {
            let _ = writeln!(text, "invariant {total} >= 0");
        }
        Kind::Open | Kind::OpenLeak => {
            // What there was is written down once.
            let _ = writeln!(text, "var before: int = any int in 0..10000\nassume before == {total}");
            let _ = writeln!(text, "invariant before == {total}");
        }
        Kind::Skew => {
            let _ = writeln!(text, "invariant {total} >= {n_variables} - 1");
        }
    }
    text
}

//! `cargo xtask soak`: the random agreement tests again and again, each time with a new seed.

use crate::hunts::hunts;
use crate::offline;
use anyhow::{Context, Result};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use xtask::root;
use xtask::system::run;

/// How long to go on unless told otherwise.
pub(crate) const DEFAULT_MINUTES: u64 = 10;

/// How long each hunt on a real database takes, after the rounds.
const SECONDS_OF_A_HUNT: u64 = 60;

/// What a round tries: the package and name of each test that takes a seed, and how many cases. They are many enough
/// that starting the test is not what takes the time.
const TRIED: [(&str, &str, &str); 11] = [
    ("iso-check", "agreement", "20000"),
    ("iso-verify", "agreement", "4000"),
    // What holds for any number of transactions holds for a few.
    ("iso-answer", "any_number", "400"),
    // Recordings that are checked while they are read, and those of real databases that take long.
    ("iso-answer", "streams", "4000"),
    ("isoscope", "realdb", "1"),
    ("iso-predict", "agreement", "2000"),
    ("iso-store", "suite", "4000"),
    // Random levels: none has a proof and a history against it.
    ("iso-separate", "prove", "3000"),
    // Queries that replay an order, by DataFusion as well if it is installed.
    ("iso-scale", "replayed", "5000"),
    // The same by Spark on a cluster that loses a worker, if PySpark is installed.
    ("iso-scale", "clusters", "1"),
    // Scripts on real servers, for each isolation level.
    ("iso-collect", "servers", "500"),
];

/// Runs rounds until the time is over, or until one fails; then the seed says how to repeat it.
pub(crate) fn soak(minutes: u64) -> Result<()> {
    let until = Instant::now() + Duration::from_secs(minutes * 60);
    let mut seed = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let mut n_rounds = 0;
    while n_rounds == 0 || Instant::now() < until {
        for (package, test, cases) in TRIED {
            println!("soak: {package} ISOSCOPE_SEED={seed} ISOSCOPE_CASES={cases}");
            let mut cargo = Command::new(env!("CARGO"));
            cargo
                .args(["test", "--quiet", "--release", "--package", package, "--test", test])
                .env("ISOSCOPE_SEED", seed.to_string())
                .env("ISOSCOPE_CASES", cases)
                .env("ISOSCOPE_CLUSTERS", "1")
                .current_dir(root());
            run(&mut cargo).with_context(|| format!("repeat it with ISOSCOPE_SEED={seed} ISOSCOPE_CASES={cases}"))?;
        }
        n_rounds += 1;
        seed += 1;
    }
    println!("soak: {n_rounds} rounds without a disagreement");
    engines_on_the_portable_solver()?;
    offline::test()?;
    hunts(SECONDS_OF_A_HUNT)?;
    println!("soak: every hunt came to what it should");
    Ok(())
}

/// The engines with the solver that browsers have.
fn engines_on_the_portable_solver() -> Result<()> {
    println!("soak: engines on the portable solver");
    let packages = ["iso-solve", "iso-check", "iso-separate", "iso-verify", "iso-predict"].map(|it| ["--package", it]);
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--quiet", "--release", "--features", "iso-solve/portable"]).args(packages.as_flattened());
    run(cargo.current_dir(root()))
}

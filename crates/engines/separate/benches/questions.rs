//! Answers questions from standard input and says what each took: the measuring half of `cargo xtask bench separate`.
//!
//! A line has words as in `allowed=biswas.cc forbidden=biswas.pc txns=5 size=exactly keys=5 values=5 setting=isolde
//! method=derived,fixed,merging timeout_ms=60000`; the answer is one line, too. All are answered in one process, so that
//! nothing but the search is in the times.
#![allow(missing_docs, reason = "a program")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that is talked to by lines")]
#![allow(clippy::disallowed_methods, reason = "what measures an engine has the clock that the engine must not have")]

use iso_evidence::{Budget, StopReason};
use iso_separate::{Answer, Method, Question, Scope, Separation, Size, separate};
use iso_spec::{Catalogue, Module, Spec, parse};
use std::collections::BTreeMap;
use std::io::BufRead;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Runs are repeated until this has passed, as the time of a short one says little.
const ENOUGH: Duration = Duration::from_millis(50);
const N_RUNS_MAX: usize = 5;

fn main() -> ExitCode {
    // Tests of all targets start this, too, and have nothing to ask.
    if !std::env::args().any(|it| it == "--bench") {
        return ExitCode::SUCCESS;
    }
    match answer_all() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn answer_all() -> Result<(), String> {
    let more = parse(include_str!("staleness.spec"), "staleness.spec", &mut |_| Err("no other files".to_owned()));
    let more = more.map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|it| it.to_string())?;
        println!("{}", answer(&line, &more).map_err(|it| format!("{line}: {it}"))?);
    }
    Ok(())
}

fn answer(line: &str, more: &Module) -> Result<String, String> {
    let words = Words(line.split_whitespace().filter_map(|it| it.split_once('=')).collect());
    let (allowed, forbidden) = (specs(words.text("allowed")?, more)?, specs(words.text("forbidden")?, more)?);
    let question = Question { allowed, forbidden, scope: scope(&words)?, method: method(&words)? };
    let at_most = Duration::from_millis(words.number("timeout_ms")?);
    Ok(Measured::new(&question, at_most).to_line())
}

fn specs<'s>(names: &str, more: &'s Module) -> Result<Vec<&'s Spec>, String> {
    let find = |name: &str| match more.levels().iter().find(|it| it.name() == name) {
        Some(spec) => Ok(spec),
        None => Catalogue::builtin().find(name).map_err(|it| it.to_string()),
    };
    names.split(',').map(find).collect()
}

fn scope(words: &Words<'_>) -> Result<Scope, String> {
    let count = |name: &str| words.number(name).and_then(|it| usize::try_from(it).map_err(|it| it.to_string()));
    let scope = Scope::up_to(count("txns")?, count("keys")?, count("values")?);
    let size = match words.text("size")? {
        "exactly" => Size::Exactly,
        "up-to" => Size::UpTo,
        other => return Err(format!("no such size: {other}")),
    };
    let scope = match words.text("setting")? {
        "isolde" => scope.as_in_isolde(),
        "default" => scope,
        other => return Err(format!("no such setting: {other}")),
    };
    Ok(Scope { size, ..scope })
}

fn method(words: &Words<'_>) -> Result<Method, String> {
    let mut method = Method { derived_witnesses: false, fixed_order: false, merging: false };
    for part in words.text("method")?.split(',') {
        match part {
            "derived" => method.derived_witnesses = true,
            "fixed" => method.fixed_order = true,
            "merging" => method.merging = true,
            "plain" => {}
            other => return Err(format!("no such part of a method: {other}")),
        }
    }
    Ok(method)
}

/// One answer, and the median time of all runs.
struct Measured {
    separation: Separation,
    median: Duration,
    n_runs: usize,
}

impl Measured {
    fn new(question: &Question<'_>, at_most: Duration) -> Self {
        let (begin, mut times) = (Instant::now(), Vec::new());
        loop {
            let start = Instant::now();
            let stop = || (start.elapsed() >= at_most).then_some(StopReason::Timeout);
            let separation = separate(question, &Budget::new(&stop));
            times.push(start.elapsed());
            if begin.elapsed() >= ENOUGH || times.len() == N_RUNS_MAX {
                times.sort_unstable();
                return Self { separation, median: times[times.len() / 2], n_runs: times.len() };
            }
        }
    }

    fn to_line(&self) -> String {
        let (verdict, txns) = match &self.separation.answer {
            Answer::Found(found) => ("found", found.n_txns()),
            Answer::None => ("none", 0),
            Answer::Unknown(_) => ("unknown", 0),
        };
        let effort = &self.separation.effort;
        format!(
            "verdict={verdict} txns={txns} ms={:.4} runs={} candidates={} instances={} variables={} clauses={} conflicts={}",
            self.median.as_secs_f64() * 1e3,
            self.n_runs,
            effort.candidates,
            effort.instances,
            effort.variables,
            effort.clauses,
            effort.conflicts,
        )
    }
}

/// The words of a line by their names.
struct Words<'l>(BTreeMap<&'l str, &'l str>);

impl<'l> Words<'l> {
    fn text(&self, name: &str) -> Result<&'l str, String> {
        self.0.get(name).copied().ok_or_else(|| format!("{name}=... is missing"))
    }

    fn number(&self, name: &str) -> Result<u64, String> {
        let text = self.text(name)?;
        text.parse().map_err(|_| format!("{name} needs a number, found `{text}`"))
    }
}

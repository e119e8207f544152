//! One question to the measuring program, and its answer, as lines.

use super::problems::Problem;
use anyhow::{Context, Result, bail};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A problem in a scope, to be solved by a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inquiry {
    pub(crate) problem: Problem,
    pub(crate) scope: Scope,
    pub(crate) method: Method,
    pub(crate) at_most: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(crate) n_txns: usize,
    pub(crate) size: Size,
    pub(crate) n_keys: usize,
    pub(crate) n_values: usize,
    pub(crate) setting: Setting,
}

/// Is the number of transactions exact, as in the paper, or a limit, with the smallest history first?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    Exactly,
    UpTo,
}

/// The paper's restrictions, or what `separate` asks by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    Isolde,
    Default,
}

/// What of the engine's method is switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Method {
    pub(crate) no_derived: bool,
    pub(crate) no_fixed_order: bool,
    pub(crate) no_merging: bool,
}

/// What was found, and what it took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) verdict: Verdict,
    /// Of the median run.
    pub(crate) ms: f64,
    pub(crate) n_runs: usize,
    pub(crate) candidates: u64,
    pub(crate) instances: u64,
    pub(crate) variables: u64,
    pub(crate) clauses: u64,
    pub(crate) conflicts: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A history of so many transactions.
    Found(usize),
    None,
    /// Time was over.
    Unknown,
    /// It was not asked, as time was over with fewer transactions already.
    Skipped,
}

impl Scope {
    /// The paper's.
    pub(crate) fn of_the_paper(n_txns: usize, size: Size) -> Self {
        Self { n_txns, size, n_keys: 5, n_values: 5, setting: Setting::Isolde }
    }
}

impl Inquiry {
    /// As the measuring program reads it.
    pub(crate) fn to_line(&self) -> String {
        let Self { problem, scope, method, at_most } = self;
        let setting = match scope.setting {
            Setting::Isolde => "isolde",
            Setting::Default => "default",
        };
        format!(
            "allowed={} forbidden={} txns={} size={} keys={} values={} setting={setting} method={} timeout_ms={}",
            problem.allowed.join(","),
            problem.forbidden,
            scope.n_txns,
            scope.size,
            scope.n_keys,
            scope.n_values,
            method.parts(),
            at_most.as_millis(),
        )
    }
}

impl Method {
    fn parts(self) -> String {
        let parts = [(self.no_derived, "derived"), (self.no_fixed_order, "fixed"), (self.no_merging, "merging")];
        let parts: Vec<&str> = parts.into_iter().filter(|it| !it.0).map(|it| it.1).collect();
        if parts.is_empty() { "plain".to_owned() } else { parts.join(",") }
    }
}

impl Answer {
    pub(crate) const SKIPPED: Self = Self {
        verdict: Verdict::Skipped,
        ms: 0.0,
        n_runs: 0,
        candidates: 0,
        instances: 0,
        variables: 0,
        clauses: 0,
        conflicts: 0,
    };

    /// Reads a line of the measuring program.
    pub(crate) fn from_line(line: &str) -> Result<Self> {
        let verdict = match text(line, "verdict")? {
            "found" => Verdict::Found(number(line, "txns")?),
            "none" => Verdict::None,
            "unknown" => Verdict::Unknown,
            other => bail!("no such verdict: {other}"),
        };
        Ok(Self {
            verdict,
            ms: number(line, "ms")?,
            n_runs: number(line, "runs")?,
            candidates: number(line, "candidates")?,
            instances: number(line, "instances")?,
            variables: number(line, "variables")?,
            clauses: number(line, "clauses")?,
            conflicts: number(line, "conflicts")?,
        })
    }
}

fn text<'l>(line: &'l str, name: &str) -> Result<&'l str> {
    let mut words = line.split_whitespace().filter_map(|it| it.split_once('='));
    words.find(|it| it.0 == name).map(|it| it.1).with_context(|| format!("{name} is missing in `{line}`"))
}

fn number<N: FromStr>(line: &str, name: &str) -> Result<N> {
    let text = text(line, name)?;
    text.parse().ok().with_context(|| format!("{name} is no number in `{line}`"))
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Exactly => "exactly",
            Self::UpTo => "up-to",
        })
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let off =
            [(self.no_derived, "no derived"), (self.no_merging, "no merging"), (self.no_fixed_order, "no fixed order")];
        let off: Vec<&str> = off.into_iter().filter(|it| it.0).map(|it| it.1).collect();
        f.pad(&if off.is_empty() { "default".to_owned() } else { off.join(", ") })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found(n_txns) => f.pad(&format!("found {n_txns}")),
            Self::None => f.pad("none"),
            Self::Unknown => f.pad("unknown"),
            Self::Skipped => f.pad("skipped"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_one_line() {
        let inquiry = Inquiry {
            problem: Problem::new(&["biswas.si", "biswas.update_ser"], "cerone.ser"),
            scope: Scope::of_the_paper(6, Size::Exactly),
            method: Method { no_derived: true, ..Method::default() },
            at_most: Duration::from_secs(2),
        };
        assert_eq!(
            inquiry.to_line(),
            "allowed=biswas.si,biswas.update_ser forbidden=cerone.ser txns=6 size=exactly keys=5 values=5 setting=isolde \
             method=fixed,merging timeout_ms=2000"
        );
        assert_eq!(Method { no_derived: true, no_fixed_order: true, no_merging: true }.parts(), "plain");
    }

    #[test]
    fn an_answer_is_read_from_its_line() {
        let line = "verdict=found txns=3 ms=1.25 runs=5 candidates=1 instances=2 variables=30 clauses=40 conflicts=5";
        let answer = Answer::from_line(line).unwrap();
        assert_eq!((answer.verdict, answer.ms, answer.clauses), (Verdict::Found(3), 1.25, 40));
        assert!(Answer::from_line("verdict=maybe").is_err());
        assert!(Answer::from_line(&line.replace("ms=1.25", "")).is_err());
        assert!(Answer::from_line(&line.replace("clauses=40", "clauses=many")).is_err());
    }
}

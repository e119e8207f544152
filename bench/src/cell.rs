//! One history at one level, measured.

use super::expectation::Verdict;
use super::inputs::Input;
use crate::measure::{Measurement, measure};
use anyhow::{Context, Result};
use iso_generate::Injection;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A run that is shorter than this is repeated, as its time says little.
const SHORT_SECONDS: f64 = 1.0;
const N_RUNS_OF_SHORT: usize = 3;

/// What was measured: the median time and the largest peak.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) family: String,
    pub(crate) history: String,
    pub(crate) n_txns: usize,
    pub(crate) level: &'static str,
    pub(crate) seconds: f64,
    pub(crate) cpu_seconds: f64,
    pub(crate) peak_bytes: u64,
    pub(crate) verdict: Verdict,
    /// The answer contradicts the history's making.
    pub(crate) is_wrong: bool,
    pub(crate) injection: Option<Injection>,
    /// How an injected anomaly was explained.
    pub(crate) found: Option<Found>,
}

/// How a violation was explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) anomaly: String,
    pub(crate) n_txns: usize,
}

impl Cell {
    /// Whether there is an answer whose time can be compared with others.
    pub(crate) fn is_answered(&self) -> bool {
        matches!(self.verdict, Verdict::Holds | Verdict::Violated)
    }

    pub(crate) fn megabytes(&self) -> f64 {
        // Whole kilobytes are exact enough to print.
        f64::from(u32::try_from(self.peak_bytes / 1000).unwrap_or(u32::MAX)) / 1e3
    }

    /// Measures the command as a person would type it.
    pub(crate) fn measure(
        binary: &Path,
        input: &Input,
        file: &Path,
        level: &'static str,
        at_most: Duration,
    ) -> Result<Self> {
        let command = || {
            let mut command = Command::new(binary);
            command.args(["check", "--level", level]).arg(file);
            command
        };
        let mut runs = vec![measure(&mut command(), at_most)?];
        while runs[0].seconds < SHORT_SECONDS && runs.len() < N_RUNS_OF_SHORT {
            runs.push(measure(&mut command(), at_most)?);
        }
        let peak_bytes = runs.iter().map(|it| it.peak_bytes).max().unwrap_or(0);
        runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let Measurement { seconds, cpu_seconds, end, .. } = runs[runs.len() / 2];
        let verdict = Verdict::from(end);
        let injection = input.making.injection;
        let found = match injection {
            Some(_) if verdict == Verdict::Violated => {
                let output = command().arg("--json").stderr(Stdio::null()).output()?;
                let found = explanation(&output.stdout);
                Some(found.with_context(|| format!("the answer for {} at {level}", input.name))?)
            }
            _ => None,
        };
        Ok(Self {
            family: input.family.clone(),
            history: input.name.clone(),
            n_txns: input.n_txns,
            level,
            seconds,
            cpu_seconds,
            peak_bytes,
            verdict,
            is_wrong: input.making.is_contradicted(level, verdict),
            injection,
            found,
        })
    }
}

/// Reads the anomaly and the size of the part from a document of `check --json`.
fn explanation(json: &[u8]) -> Result<Found> {
    let document: Value = serde_json::from_slice(json).context("is no JSON document")?;
    let level = &document["levels"][0];
    let names = level["anomalies"].as_array().context("has no `anomalies`")?;
    let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
    let txns = level["evidence"]["transactions"].as_array().context("has no `transactions` in its evidence")?;
    Ok(Found { anomaly: names.join(" "), n_txns: txns.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_explanation_is_read_from_the_document() {
        let json = br#"{"levels":[{"anomalies":["write-skew"],"evidence":{"transactions":[{},{},{}]}}]}"#;
        let expected = Found { anomaly: "write-skew".to_owned(), n_txns: 3 };
        assert_eq!(explanation(json).unwrap(), expected);
        assert!(explanation(b"{}").is_err());
        assert!(explanation(b"").is_err());
    }
}

//! The document of `collect` as JSON, and back.

use super::members::{Members, Read, count, items, list, maybe_text, number, text, truth, wrong};
use super::{JsonLayout, document, laid_out};
use crate::collect::{Asserted, CollectReport, Outcomes, WorkloadParameters};
use crate::series::{Sample, Series};
use serde_json::{Value, json};

impl CollectReport {
    /// The document as JSON; equal documents give equal bytes.
    pub fn to_json(&self, layout: JsonLayout) -> String {
        let mut members = document("collect");
        members.put("database", self.database.as_str());
        members.put("isolation", self.isolation.as_str());
        members.put("workload", self.workload.as_str());
        members.put("parameters", parameters(&self.parameters));
        members.put("seed", self.seed);
        members.put("history", history(&self.outcomes));
        members.put("conflicts", self.outcomes.conflicts);
        members.put("reconnects", self.outcomes.reconnects);
        members.put("throughput", self.throughput);
        members.put("seconds", self.seconds);
        members.put("bytes", self.bytes);
        members.put("stopped", self.was_stopped);
        members.put("failure", self.failure.as_deref());
        members.put("assertions", list(&self.assertions, assertion));
        members.put("output", self.output.as_deref());
        members.put("series", series(&self.series));
        laid_out(&members.done(), layout)
    }

    pub(crate) fn from_value(of: &Value) -> Read<Self> {
        Ok(Self {
            database: text(of, "database")?,
            isolation: text(of, "isolation")?,
            workload: text(of, "workload")?,
            seed: count(of, "seed")?,
            parameters: read_parameters(&of["parameters"])?,
            outcomes: read_outcomes(of)?,
            throughput: number(of, "throughput")?,
            seconds: number(of, "seconds")?,
            bytes: count(of, "bytes")?,
            was_stopped: truth(of, "stopped")?,
            failure: maybe_text(of, "failure"),
            assertions: items(of, "assertions", read_assertion)?,
            output: maybe_text(of, "output"),
            series: read_series(&of["series"])?,
        })
    }
}

fn parameters(of: &WorkloadParameters) -> Value {
    let mut members = Members::default();
    members.put("sessions", of.sessions);
    members.maybe("txns", of.txns);
    members.maybe("duration", of.duration);
    members.put("keys", of.keys);
    members.put("ops", json!([of.ops.0, of.ops.1]));
    members.put("reads", of.reads);
    members.put("keys_like", of.keys_like.as_str());
    members.put("retries", of.retries);
    members.done()
}

fn read_parameters(of: &Value) -> Read<WorkloadParameters> {
    let (Some(min_ops), Some(max_ops)) = (of["ops"][0].as_u64(), of["ops"][1].as_u64()) else {
        return wrong("ops", "two numbers");
    };
    Ok(WorkloadParameters {
        sessions: count(of, "sessions")?,
        txns: of["txns"].as_u64(),
        duration: of["duration"].as_f64(),
        keys: count(of, "keys")?,
        ops: (min_ops, max_ops),
        reads: number(of, "reads")?,
        keys_like: text(of, "keys_like")?,
        retries: count(of, "retries")?,
    })
}

fn history(of: &Outcomes) -> Value {
    json!({
        "sessions": of.sessions,
        "transactions": of.transactions(),
        "committed": of.committed,
        "aborted": of.all_aborted(),
        "unknown": of.unknown,
        "operations": of.operations,
    })
}

fn read_outcomes(of: &Value) -> Read<Outcomes> {
    let history = &of["history"];
    let (aborted, conflicts) = (count(history, "aborted")?, count(of, "conflicts")?);
    let Some(aborted) = aborted.checked_sub(conflicts) else {
        return wrong("conflicts", "no more than all that aborted");
    };
    Ok(Outcomes {
        sessions: count(history, "sessions")?,
        committed: count(history, "committed")?,
        aborted,
        conflicts,
        unknown: count(history, "unknown")?,
        operations: count(history, "operations")?,
        reconnects: count(of, "reconnects")?,
    })
}

pub(super) fn assertion(of: &Asserted) -> Value {
    json!({ "name": of.name, "holds": of.holds, "detail": of.detail })
}

pub(super) fn read_assertion(of: &Value) -> Read<Asserted> {
    Ok(Asserted { name: text(of, "name")?, holds: truth(of, "holds")?, detail: text(of, "detail")? })
}

/// A column for each count, since there are many samples.
fn series(of: &Series) -> Value {
    let column = |count: fn(&Sample) -> u64| list(&of.samples, |it| count(it).into());
    json!({
        "step": of.step,
        "committed": column(|it| it.committed),
        "aborted": column(|it| it.aborted),
        "conflicts": column(|it| it.conflicts),
        "unknown": column(|it| it.unknown),
        "reconnects": column(|it| it.reconnects),
    })
}

fn read_series(of: &Value) -> Read<Series> {
    let number_of = |it: &Value| it.as_u64().map_or_else(|| wrong("series", "columns of numbers"), Ok);
    let column = |name: &str| items(of, name, number_of);
    let [committed, aborted, conflicts, unknown, reconnects] =
        [column("committed")?, column("aborted")?, column("conflicts")?, column("unknown")?, column("reconnects")?];
    if [&aborted, &conflicts, &unknown, &reconnects].iter().any(|it| it.len() != committed.len()) {
        return wrong("series", "columns of equal length");
    }
    let step = number(of, "step")?;
    if step <= 0.0 && !committed.is_empty() {
        return wrong("step", "more than zero");
    }
    let sample = |idx: usize| Sample {
        committed: committed[idx],
        aborted: aborted[idx],
        conflicts: conflicts[idx],
        unknown: unknown[idx],
        reconnects: reconnects[idx],
    };
    Ok(Series { step, samples: (0..committed.len()).map(sample).collect() })
}

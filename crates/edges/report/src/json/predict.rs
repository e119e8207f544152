//! The document of `predict` as JSON, and back.

use super::check::{
    counts, defect, link, put_certified, put_place, read_certified, read_counts, read_defect, read_part, read_place,
    read_witness, witness, write_part,
};
use super::members::{
    Members, Read, count, items, list, maybe_size, maybe_text, pair, pairs, string, text, truth, wrong,
};
use super::search::{put_effort, read_effort};
use super::{JsonLayout, document, laid_out};
use crate::document::{LevelName, Place};
use crate::predict::{
    Boundary, ChangedRead, Cut, Precision, PredictReport, PredictVerdict, PredictedLevel, PredictedRun, Validation,
    ValidationVerdict, Version,
};
use serde_json::{Value, json};

impl PredictReport {
    /// The document as JSON; equal documents give equal bytes. The run that says most stands at the top, too.
    pub fn to_json(&self, layout: JsonLayout) -> String {
        let mut members = document("predict");
        members.put("inputs", json!(self.inputs));
        members.put("defects", list(&self.defects, defect));
        members.put("seconds", self.effort.seconds);
        members.maybe("peak_bytes", self.effort.peak_bytes);
        members.put("verdict", self.verdict());
        if let Some(best) = self.best() {
            members.put("history", best.history.as_str());
            members.put("changed_reads", list(&best.changed, changed_read));
            members.put("cycle", list(&best.predicted.cycle, link));
        }
        members.put("boundary", self.boundary.word());
        members.put("precision", self.precision.word());
        members.put("target", level_name(&self.target));
        members.maybe("observed", self.observed.as_ref().map(counts));
        members.put("levels", list(&self.levels, level));
        members.maybe("strongest", self.strongest.as_ref().map(|it| json!(it)));
        members.put("notes", json!(self.notes));
        put_effort(&mut members, &self.effort);
        laid_out(&members.done(), layout)
    }

    pub(crate) fn from_value(of: &Value) -> Read<Self> {
        let boundary = match of["boundary"].as_str() {
            Some("strict") => Boundary::Strict,
            Some("relaxed") => Boundary::Relaxed,
            _ => return wrong("boundary", "\"strict\" or \"relaxed\""),
        };
        let precision = match of["precision"].as_str() {
            Some("exact") => Precision::Exact,
            Some("approximate") => Precision::Approximate,
            _ => return wrong("precision", "\"exact\" or \"approximate\""),
        };
        Ok(Self {
            inputs: items(of, "inputs", string)?,
            defects: items(of, "defects", read_defect)?,
            observed: of.get("observed").map(read_counts).transpose()?,
            target: read_level_name(&of["target"])?,
            boundary,
            precision,
            levels: items(of, "levels", read_level)?,
            strongest: of.get("strongest").map(|_| items(of, "strongest", string)).transpose()?,
            notes: items(of, "notes", string)?,
            effort: read_effort(of)?,
        })
    }
}

fn level_name(name: &LevelName) -> Value {
    json!({ "level": name.short, "name": name.full })
}

fn read_level_name(of: &Value) -> Read<LevelName> {
    Ok(LevelName { short: text(of, "level")?, full: text(of, "name")? })
}

fn level(of: &PredictedLevel) -> Value {
    let mut members = Members::default();
    members.put("level", of.level.short.as_str());
    members.put("name", of.level.full.as_str());
    members.put("verdict", of.verdict.word());
    match &of.verdict {
        PredictVerdict::Predicted { runs, ended } => {
            members.put("predictions", list(runs, run));
            members.maybe("ended", ended.as_deref());
        }
        PredictVerdict::None => {}
        PredictVerdict::Unknown { reason } => members.put("reason", reason.as_str()),
    }
    members.done()
}

fn read_level(of: &Value) -> Read<PredictedLevel> {
    let verdict = match of["verdict"].as_str() {
        Some("predicted") => {
            PredictVerdict::Predicted { runs: items(of, "predictions", read_run)?, ended: maybe_text(of, "ended") }
        }
        Some("none") => PredictVerdict::None,
        Some("unknown") => PredictVerdict::Unknown { reason: text(of, "reason")? },
        _ => return wrong("verdict", "\"predicted\", \"none\" or \"unknown\""),
    };
    Ok(PredictedLevel { level: read_level_name(of)?, verdict })
}

fn run(run: &PredictedRun) -> Value {
    let mut allowed = Members::default();
    put_certified(&mut allowed, &run.allowed);
    allowed.put("evidence", witness(&run.schedule));
    let mut forbidden = Members::default();
    forbidden.put("anomalies", json!(run.anomalies));
    forbidden.put("shape", run.shape.as_str());
    put_certified(&mut forbidden, &run.forbidden);
    forbidden.put("evidence", write_part(&run.predicted));
    let mut members = Members::default();
    members.put("history", run.history.as_str());
    members.put("size", counts(&run.size));
    members.put("changed_reads", list(&run.changed, changed_read));
    members.put("cuts", list(&run.cuts, cut));
    members.put("transactions_left_out", run.n_left_out);
    members.put("allowed", allowed.done());
    members.put("forbidden", forbidden.done());
    members.put("observed", write_part(&run.observed));
    members.put("whole", run.is_whole);
    members.put("renamed", pairs(&run.renamed));
    members.put("hides_conflict", run.hides_conflict);
    members.maybe("validation", run.validation.as_ref().map(validation));
    members.done()
}

fn read_run(of: &Value) -> Read<PredictedRun> {
    let (allowed, forbidden) = (&of["allowed"], &of["forbidden"]);
    Ok(PredictedRun {
        history: text(of, "history")?,
        size: read_counts(&of["size"])?,
        changed: items(of, "changed_reads", read_changed_read)?,
        cuts: items(of, "cuts", read_cut)?,
        n_left_out: count(of, "transactions_left_out")?,
        observed: read_part(&of["observed"])?,
        predicted: read_part(&forbidden["evidence"])?,
        is_whole: truth(of, "whole")?,
        renamed: items(of, "renamed", pair)?,
        anomalies: items(forbidden, "anomalies", string)?,
        shape: text(forbidden, "shape")?,
        schedule: read_witness(&allowed["evidence"])?,
        allowed: read_certified(allowed),
        forbidden: read_certified(forbidden),
        hides_conflict: of["hides_conflict"].as_bool().unwrap_or(false),
        validation: of.get("validation").map(read_validation).transpose()?,
    })
}

fn changed_read(read: &ChangedRead) -> Value {
    let mut members = Members::default();
    members.put("transaction", read.transaction.as_str());
    members.put("session", read.session.as_str());
    put_maybe_place(&mut members, read.place.as_ref());
    members.put("key", read.key.as_str());
    members.put("observed", version(&read.observed));
    members.put("predicted", version(&read.predicted));
    members.maybe("op", read.op);
    members.done()
}

fn read_changed_read(of: &Value) -> Read<ChangedRead> {
    Ok(ChangedRead {
        transaction: text(of, "transaction")?,
        session: text(of, "session")?,
        place: of.get("place").map(read_place),
        key: text(of, "key")?,
        observed: read_version(&of["observed"])?,
        predicted: read_version(&of["predicted"])?,
        op: maybe_size(of, "op"),
    })
}

fn version(version: &Version) -> Value {
    let mut members = Members::default();
    members.put("value", version.value.as_str());
    members.put("writer", version.writer.as_str());
    put_maybe_place(&mut members, version.place.as_ref());
    members.done()
}

fn read_version(of: &Value) -> Read<Version> {
    Ok(Version { value: text(of, "value")?, writer: text(of, "writer")?, place: of.get("place").map(read_place) })
}

fn put_maybe_place(members: &mut Members, place: Option<&Place>) {
    if let Some(place) = place {
        let mut at = Members::default();
        put_place(&mut at, place);
        members.put("place", at.done());
    }
}

fn cut(cut: &Cut) -> Value {
    let mut members = Members::default();
    members.put("transaction", cut.transaction.as_str());
    members.put("session", cut.session.as_str());
    put_maybe_place(&mut members, cut.place.as_ref());
    members.put("changed_reads", cut.n_changed);
    members.put("dropped_operations", cut.n_dropped);
    members.put("dropped_writes", cut.n_dropped_writes);
    members.done()
}

fn read_cut(of: &Value) -> Read<Cut> {
    Ok(Cut {
        transaction: text(of, "transaction")?,
        session: text(of, "session")?,
        place: of.get("place").map(read_place),
        n_changed: count(of, "changed_reads")?,
        n_dropped: count(of, "dropped_operations")?,
        n_dropped_writes: count(of, "dropped_writes")?,
    })
}

fn validation(of: &Validation) -> Value {
    let mut members = Members::default();
    members.put("application", of.application.as_str());
    members.put("verdict", of.verdict.word());
    if let ValidationVerdict::NotValidated { reason } = &of.verdict {
        members.put("reason", reason.as_str());
    }
    members.put("calls", pairs(&of.calls));
    members.put("divergences", json!(of.divergences));
    members.put("failed_assertions", json!(of.failed));
    members.put("history", of.history.as_str());
    members.done()
}

fn read_validation(of: &Value) -> Read<Validation> {
    let verdict = match of["verdict"].as_str() {
        Some("validated") => ValidationVerdict::Validated,
        Some("not-validated") => ValidationVerdict::NotValidated { reason: text(of, "reason")? },
        _ => return wrong("verdict", "\"validated\" or \"not-validated\""),
    };
    Ok(Validation {
        application: text(of, "application")?,
        calls: items(of, "calls", pair)?,
        verdict,
        divergences: items(of, "divergences", string)?,
        failed: items(of, "failed_assertions", string)?,
        history: text(of, "history")?,
    })
}

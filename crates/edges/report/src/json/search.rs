//! The documents of `separate`, `compare` and `lattice` as JSON, and back.

use super::found::{found, read_found, witness};
use super::members::{Members, Read, count, items, list, number, string, text, truth, wrong};
use super::{JsonLayout, document, laid_out};
use crate::search::{
    Bound, CompareReport, Effort, LatticeEdge, LatticeReport, Scope, SearchVerdict, SeparateReport, SpecName,
    SpecRelation, UnknownPair,
};
use serde_json::{Value, json};

impl SeparateReport {
    /// The document as JSON; equal documents give equal bytes. The first history stands at the top, too.
    pub fn to_json(&self, layout: JsonLayout) -> String {
        let mut members = document("separate");
        put_run(&mut members, &self.inputs, &self.effort);
        members.put("verdict", self.verdict.word());
        if let SearchVerdict::Unknown { reason } = &self.verdict {
            members.put("reason", reason.as_str());
        }
        members.put("allowed", list(&self.allowed, spec_name));
        members.put("forbidden", list(&self.forbidden, spec_name));
        if let Some(first) = self.found.first() {
            members.put("history", first.history.as_str());
            members.put("witnesses", list(&first.witnesses, witness));
        }
        members.put("found", list(&self.found, found));
        members.maybe("complete", self.complete);
        put_scope(&mut members, &self.scope, &self.effort);
        laid_out(&members.done(), layout)
    }

    pub(crate) fn from_value(of: &Value) -> Read<Self> {
        let verdict = match of["verdict"].as_str() {
            Some("found") => SearchVerdict::Found,
            Some("none") => SearchVerdict::None,
            Some("unknown") => SearchVerdict::Unknown { reason: text(of, "reason")? },
            _ => return wrong("verdict", "\"found\", \"none\" or \"unknown\""),
        };
        Ok(Self {
            inputs: items(of, "inputs", string)?,
            allowed: items(of, "allowed", read_spec_name)?,
            forbidden: items(of, "forbidden", read_spec_name)?,
            scope: read_scope(&of["scope"])?,
            verdict,
            found: items(of, "found", read_found)?,
            complete: of["complete"].as_bool(),
            effort: read_effort(of)?,
        })
    }
}

impl CompareReport {
    /// The document as JSON; equal documents give equal bytes.
    pub fn to_json(&self, layout: JsonLayout) -> String {
        let mut members = document("compare");
        put_run(&mut members, &self.inputs, &self.effort);
        members.put("relation", self.relation.word());
        if let SpecRelation::Unknown { reason } = &self.relation {
            members.put("reason", reason.as_str());
        }
        members.put("left", spec_name(&self.left));
        members.put("right", spec_name(&self.right));
        members.maybe("left_only", self.left_only.as_ref().map(|it| found(it)));
        members.maybe("right_only", self.right_only.as_ref().map(|it| found(it)));
        put_scope(&mut members, &self.scope, &self.effort);
        laid_out(&members.done(), layout)
    }

    pub(crate) fn from_value(of: &Value) -> Read<Self> {
        let relation = match of["relation"].as_str() {
            Some("equivalent") => SpecRelation::Equivalent,
            Some("stronger") => SpecRelation::Stronger,
            Some("weaker") => SpecRelation::Weaker,
            Some("incomparable") => SpecRelation::Incomparable,
            Some("unknown") => SpecRelation::Unknown { reason: text(of, "reason")? },
            _ => return wrong("relation", "\"equivalent\", \"stronger\", \"weaker\", \"incomparable\" or \"unknown\""),
        };
        let only = |side: &str| of.get(side).map(|it| read_found(it).map(Box::new)).transpose();
        Ok(Self {
            inputs: items(of, "inputs", string)?,
            left: read_spec_name(&of["left"])?,
            right: read_spec_name(&of["right"])?,
            scope: read_scope(&of["scope"])?,
            relation,
            left_only: only("left_only")?,
            right_only: only("right_only")?,
            effort: read_effort(of)?,
        })
    }
}

impl LatticeReport {
    /// The document as JSON; equal documents give equal bytes.
    pub fn to_json(&self, layout: JsonLayout) -> String {
        let mut members = document("lattice");
        put_run(&mut members, &self.inputs, &self.effort);
        members.put("levels", list(&self.levels, spec_name));
        members.put("classes", json!(self.classes));
        members.put("edges", list(&self.edges, edge));
        members.put("unknown", list(&self.unknown, unknown_pair));
        put_scope(&mut members, &self.scope, &self.effort);
        laid_out(&members.done(), layout)
    }

    pub(crate) fn from_value(of: &Value) -> Read<Self> {
        let class = |it: &Value| match it.as_array() {
            Some(names) if !names.is_empty() => names.iter().map(string).collect(),
            _ => wrong("classes", "an array of arrays of names"),
        };
        let classes: Vec<Vec<String>> = items(of, "classes", class)?;
        Ok(Self {
            inputs: items(of, "inputs", string)?,
            levels: items(of, "levels", read_spec_name)?,
            edges: items(of, "edges", |it| read_edge(it, classes.len()))?,
            unknown: items(of, "unknown", read_unknown_pair)?,
            scope: read_scope(&of["scope"])?,
            effort: read_effort(of)?,
            classes,
        })
    }
}

fn edge(edge: &LatticeEdge) -> Value {
    json!({ "stronger": edge.stronger, "weaker": edge.weaker, "found": found(&edge.found) })
}

fn read_edge(of: &Value, n_classes: usize) -> Read<LatticeEdge> {
    let class = |member: &str| match usize::try_from(count(of, member)?) {
        Ok(class) if class < n_classes => Ok(class),
        _ => wrong(member, "the index of a class"),
    };
    Ok(LatticeEdge { stronger: class("stronger")?, weaker: class("weaker")?, found: read_found(&of["found"])? })
}

fn unknown_pair(pair: &UnknownPair) -> Value {
    json!({ "left": pair.left, "right": pair.right, "reason": pair.reason })
}

fn read_unknown_pair(of: &Value) -> Read<UnknownPair> {
    Ok(UnknownPair { left: text(of, "left")?, right: text(of, "right")?, reason: text(of, "reason")? })
}

fn spec_name(spec: &SpecName) -> Value {
    json!({ "name": spec.name, "summary": spec.summary })
}

fn read_spec_name(of: &Value) -> Read<SpecName> {
    Ok(SpecName { name: text(of, "name")?, summary: text(of, "summary")? })
}

/// What the documents of all verbs have in common. A spec or program with defects is refused, so there are none.
pub(super) fn put_run(members: &mut Members, inputs: &[String], effort: &Effort) {
    members.put("inputs", json!(inputs));
    members.put("defects", json!([]));
    members.put("seconds", effort.seconds);
    members.maybe("peak_bytes", effort.peak_bytes);
}

fn put_scope(members: &mut Members, scope: &Scope, effort: &Effort) {
    let mut inside = Members::default();
    inside.put("transactions", scope.transactions);
    inside.put("keys", scope.keys);
    inside.maybe("values", scope.values);
    inside.put("sessions", scope.sessions.as_str());
    inside.put("exact", scope.bound == Bound::Exactly);
    inside.put("blind_writes", scope.blind_writes);
    inside.put("reads_per_key", scope.reads_per_key);
    inside.put("real_time", scope.real_time);
    inside.put("read_order", scope.read_order);
    members.put("scope", inside.done());
    put_effort(members, effort);
}

pub(super) fn put_effort(members: &mut Members, effort: &Effort) {
    members.put("candidates", effort.candidates);
    members.put("variables", effort.variables);
    members.put("clauses", effort.clauses);
    members.put("conflicts", effort.conflicts);
}

fn read_scope(of: &Value) -> Read<Scope> {
    Ok(Scope {
        bound: if truth(of, "exact")? { Bound::Exactly } else { Bound::UpTo },
        transactions: count(of, "transactions")?,
        keys: count(of, "keys")?,
        values: of["values"].as_u64(),
        sessions: text(of, "sessions")?,
        reads_per_key: count(of, "reads_per_key")?,
        blind_writes: truth(of, "blind_writes")?,
        real_time: truth(of, "real_time")?,
        read_order: truth(of, "read_order")?,
    })
}

pub(super) fn read_effort(of: &Value) -> Read<Effort> {
    Ok(Effort {
        seconds: number(of, "seconds")?,
        peak_bytes: of["peak_bytes"].as_u64(),
        candidates: count(of, "candidates")?,
        variables: count(of, "variables")?,
        clauses: count(of, "clauses")?,
        conflicts: count(of, "conflicts")?,
    })
}

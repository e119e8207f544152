//! A found history as JSON, and back.

use super::check::{
    link, put_certified, put_local, read_certified, read_link, read_local, read_transaction, transaction,
};
use super::members::{Members, Read, items, list, maybe_size, pair, pairs, string, text, wrong};
use crate::found::{Failure, Found, RelationShape, SpecRefutation, SpecWitness, WitnessRelation};
use serde_json::{Value, json};

pub(super) fn found(found: &Found) -> Value {
    let mut members = Members::default();
    members.put("history", found.history.as_str());
    members.put("initial", pairs(&found.initial));
    members.put("transactions", list(&found.transactions, transaction));
    members.put("session_order", pairs(&found.session_order));
    members.put("witnesses", list(&found.witnesses, witness));
    members.put("refutations", list(&found.refutations, refutation));
    members.done()
}

pub(super) fn read_found(of: &Value) -> Read<Found> {
    Ok(Found {
        history: text(of, "history")?,
        initial: items(of, "initial", pair)?,
        transactions: items(of, "transactions", read_transaction)?,
        session_order: items(of, "session_order", pair)?,
        witnesses: items(of, "witnesses", read_witness)?,
        refutations: items(of, "refutations", read_refutation)?,
    })
}

pub(super) fn witness(witness: &SpecWitness) -> Value {
    let mut members = Members::default();
    members.put("level", witness.level.as_str());
    members.put("framework", witness.framework.as_str());
    members.put("relations", list(&witness.relations, relation));
    put_certified(&mut members, &witness.certified);
    members.done()
}

fn read_witness(of: &Value) -> Read<SpecWitness> {
    Ok(SpecWitness {
        level: text(of, "level")?,
        framework: text(of, "framework")?,
        relations: items(of, "relations", read_relation)?,
        certified: read_certified(of),
    })
}

fn relation(relation: &WitnessRelation) -> Value {
    let mut members = Members::default();
    members.put("name", relation.name.as_str());
    match &relation.shape {
        RelationShape::Order(order) => members.put("order", json!(order)),
        RelationShape::Pairs(all) => members.put("pairs", pairs(all)),
        RelationShape::Versions(keys) => {
            members.put("versions", list(keys, |(key, writers)| json!({ "key": key, "writers": writers })));
        }
    }
    members.done()
}

fn read_relation(of: &Value) -> Read<WitnessRelation> {
    let shape = if of.get("order").is_some() {
        RelationShape::Order(items(of, "order", string)?)
    } else if of.get("pairs").is_some() {
        RelationShape::Pairs(items(of, "pairs", pair)?)
    } else if of.get("versions").is_some() {
        let of_key = |it: &Value| Ok((text(it, "key")?, items(it, "writers", string)?));
        RelationShape::Versions(items(of, "versions", of_key)?)
    } else {
        return wrong("relations", "an array of orders, pairs or versions");
    };
    Ok(WitnessRelation { name: text(of, "name")?, shape })
}

fn refutation(refutation: &SpecRefutation) -> Value {
    let mut members = Members::default();
    members.put("level", refutation.level.as_str());
    members.put("anomalies", json!(refutation.anomalies));
    members.put("summary", refutation.summary.as_str());
    members.put("cycle", list(&refutation.cycle, link));
    put_local(&mut members, refutation.local.as_ref());
    let failure = |it: &Failure| json!({ "witness": it.witness, "because": it.because });
    members.put("failures", list(&refutation.failures, failure));
    members.maybe("failures_omitted", (refutation.omitted > 0).then_some(refutation.omitted));
    members.maybe("exhaustive", (!refutation.failures.is_empty()).then_some(refutation.is_exhaustive));
    put_certified(&mut members, &refutation.certified);
    members.done()
}

fn read_refutation(of: &Value) -> Read<SpecRefutation> {
    let failure = |it: &Value| Ok(Failure { witness: text(it, "witness")?, because: text(it, "because")? });
    Ok(SpecRefutation {
        level: text(of, "level")?,
        anomalies: items(of, "anomalies", string)?,
        summary: text(of, "summary")?,
        cycle: items(of, "cycle", read_link)?,
        local: read_local(of)?,
        failures: items(of, "failures", failure)?,
        omitted: maybe_size(of, "failures_omitted").unwrap_or(0),
        is_exhaustive: of["exhaustive"].as_bool().unwrap_or(false),
        certified: read_certified(of),
    })
}

//! The document of `check` as JSON, and back.

use super::members::{Members, Read, count, items, list, maybe_size, maybe_text, number, pair, string, text, wrong};
use super::surroundings::{read_surroundings, surroundings};
use super::{JsonLayout, ReadError, document, laid_out, tree, verb};
use crate::document::{
    Case, CheckReport, Counts, Defect, Evidence, Judgement, LevelName, LevelReport, Link, LocalRead, Moment, Outcome,
    Part, Place, Premises, Transaction,
};
use crate::found::Certified;
use serde_json::{Value, json};

impl CheckReport {
    /// The document as JSON; equal documents give equal bytes.
    pub fn to_json(&self, layout: JsonLayout) -> String {
        laid_out(&self.to_value(), layout)
    }

    /// Reads what [`CheckReport::to_json`] wrote. Members that are not known are skipped.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        let value = tree(text)?;
        if verb(&value) != "check" {
            return Err(ReadError::Verb { found: verb(&value).to_owned(), expected: "\"check\"" });
        }
        Self::from_value(&value)
    }

    pub(crate) fn from_value(of: &Value) -> Read<Self> {
        Ok(Self {
            inputs: items(of, "inputs", string)?,
            defects: items(of, "defects", read_defect)?,
            seconds: number(of, "seconds")?,
            peak_bytes: of["peak_bytes"].as_u64(),
            history: of.get("history").map(read_counts).transpose()?,
            levels: items(of, "levels", read_level)?,
            whole: of.get("whole").map(read_part).transpose()?.map(Box::new),
            surroundings: of.get("surroundings").map(read_surroundings).transpose()?.map(Box::new),
        })
    }

    pub(super) fn to_value(&self) -> Value {
        let mut report = document("check");
        report.put("inputs", json!(self.inputs));
        report.put("defects", list(&self.defects, defect));
        report.put("seconds", self.seconds);
        report.maybe("peak_bytes", self.peak_bytes);
        report.maybe("history", self.history.as_ref().map(counts));
        report.put("levels", list(&self.levels, level));
        report.maybe("whole", self.whole.as_deref().map(write_part));
        report.maybe("surroundings", self.surroundings.as_deref().map(surroundings));
        report.done()
    }
}

pub(super) fn defect(defect: &Defect) -> Value {
    let mut members = Members::default();
    members.put("severity", if defect.is_error { "error" } else { "warning" });
    put_place(&mut members, &defect.place);
    members.put("message", defect.message.as_str());
    members.done()
}

pub(super) fn put_place(members: &mut Members, place: &Place) {
    members.maybe("file", place.file.as_deref());
    members.maybe("line", place.line);
    members.maybe("byte", place.byte);
}

pub(super) fn counts(counts: &Counts) -> Value {
    json!({
        "sessions": counts.sessions,
        "transactions": counts.transactions,
        "committed": counts.committed,
        "aborted": counts.aborted,
        "unknown": counts.unknown,
        "operations": counts.operations,
        "keys": counts.keys,
    })
}

fn level(report: &LevelReport) -> Value {
    let mut members = Members::default();
    members.put("level", report.level.short.as_str());
    members.put("name", report.level.full.as_str());
    members.put("verdict", report.judgement.word());
    members.put("anomalies", json!(report.judgement.anomalies()));
    put_certified(&mut members, &report.certified);
    match &report.judgement {
        Judgement::Holds(evidence) => members.put("evidence", witness(evidence)),
        Judgement::Violated { part, .. } => members.put("evidence", write_part(part)),
        Judgement::Unknown { reason } => members.put("reason", reason.as_str()),
    }
    members.done()
}

pub(super) fn put_certified(members: &mut Members, certified: &Certified) {
    members.maybe("certified", certified.as_ref().map(Result::is_ok));
    members.maybe("uncertified", certified.as_ref().and_then(|it| it.as_ref().err()).map(String::as_str));
}

pub(super) fn witness(evidence: &Evidence) -> Value {
    let mut members = Members::default();
    let omitted = |n: usize| (n > 0).then_some(n);
    match evidence {
        Evidence::Order { order, omitted: n } => {
            members.put("order", json!(order));
            members.maybe("order_omitted", omitted(*n));
        }
        Evidence::Events { events, omitted: n } => {
            members.put("events", list(events, |(moment, txn)| json!([moment.word(), txn])));
            members.maybe("events_omitted", omitted(*n));
        }
        Evidence::Relations(relations) => {
            let mut named = Members::default();
            for (name, pairs) in relations {
                named.put(name, list(pairs, |(from, to)| json!([from, to])));
            }
            members.put("relations", named.done());
        }
    }
    members.done()
}

pub(super) fn write_part(part: &Part) -> Value {
    let mut members = Members::default();
    members.put("summary", part.summary.as_str());
    members.put("history", part.history.as_str());
    members.put("initial", list(&part.initial, |(key, value)| json!([key, value])));
    members.put("transactions", list(&part.transactions, transaction));
    members.put("cycle", list(&part.cycle, link));
    members.maybe("cases", some_list(&part.cases, case));
    put_local(&mut members, part.local.as_ref());
    members.done()
}

pub(super) fn put_local(members: &mut Members, local: Option<&LocalRead>) {
    let Some(local) = local else { return };
    members.put("local", local.because.as_str());
    let mut read = Members::default();
    read.put("transaction", local.transaction.as_str());
    read.maybe("op", local.op);
    read.put("links", list(&local.links, link));
    members.put("local_read", read.done());
}

pub(super) fn transaction(txn: &Transaction) -> Value {
    let mut members = Members::default();
    members.put("id", txn.id.as_str());
    members.put("session", txn.session.as_str());
    members.put("outcome", txn.outcome.word());
    if let Some(place) = &txn.place {
        let mut at = Members::default();
        put_place(&mut at, place);
        members.put("place", at.done());
    }
    if let Some((begin, end)) = txn.times {
        members.put("times", json!([begin, end]));
    }
    members.put("ops", json!(txn.ops));
    members.done()
}

pub(super) fn link(link: &Link) -> Value {
    let mut members = Members::default();
    members.put("from", link.from.as_str());
    members.put("to", link.to.as_str());
    members.put("kind", link.kind.as_str());
    members.maybe("key", link.key.as_deref());
    members.put("because", link.because.as_str());
    members.maybe("shown_by", link.shown_by.as_deref());
    members.maybe("premises", (!link.premises.is_empty()).then(|| premises(&link.premises)));
    members.done()
}

fn premises(premises: &Premises) -> Value {
    let mut members = Members::default();
    members.maybe("claim", premises.claim.as_deref());
    members.maybe("links", some_list(&premises.links, link));
    members.maybe("cases", some_list(&premises.cases, case));
    members.done()
}

fn case(case: &Case) -> Value {
    let mut members = Members::default();
    members.put("supposed", link(&case.supposed));
    members.maybe("links", some_list(&case.links, link));
    members.maybe("cases", some_list(&case.cases, self::case));
    members.done()
}

/// A list, unless it is empty: that says nothing.
fn some_list<T>(items: &[T], write: impl Fn(&T) -> Value) -> Option<Value> {
    (!items.is_empty()).then(|| list(items, write))
}

pub(super) fn read_defect(of: &Value) -> Read<Defect> {
    Ok(Defect { is_error: of["severity"] == "error", place: read_place(of), message: text(of, "message")? })
}

pub(super) fn read_place(of: &Value) -> Place {
    Place { file: maybe_text(of, "file"), line: of["line"].as_u64(), byte: of["byte"].as_u64() }
}

pub(super) fn read_counts(of: &Value) -> Read<Counts> {
    Ok(Counts {
        sessions: count(of, "sessions")?,
        transactions: count(of, "transactions")?,
        committed: count(of, "committed")?,
        aborted: count(of, "aborted")?,
        unknown: count(of, "unknown")?,
        operations: count(of, "operations")?,
        keys: count(of, "keys")?,
    })
}

fn read_level(of: &Value) -> Read<LevelReport> {
    let judgement = match of["verdict"].as_str() {
        Some("holds") => Judgement::Holds(read_witness(&of["evidence"])?),
        Some("violated") => Judgement::Violated {
            anomalies: items(of, "anomalies", string)?,
            part: Box::new(read_part(&of["evidence"])?),
        },
        Some("unknown") => Judgement::Unknown { reason: text(of, "reason")? },
        _ => return wrong("verdict", "\"holds\", \"violated\" or \"unknown\""),
    };
    let level = LevelName { short: text(of, "level")?, full: text(of, "name")? };
    Ok(LevelReport { level, judgement, certified: read_certified(of) })
}

pub(super) fn read_certified(of: &Value) -> Certified {
    match of["certified"].as_bool() {
        Some(true) => Some(Ok(())),
        Some(false) => Some(Err(maybe_text(of, "uncertified").unwrap_or_default())),
        None => None,
    }
}

pub(super) fn read_witness(of: &Value) -> Read<Evidence> {
    if of.get("order").is_some() {
        let omitted = maybe_size(of, "order_omitted").unwrap_or(0);
        return Ok(Evidence::Order { order: items(of, "order", string)?, omitted });
    }
    if of.get("events").is_some() {
        let omitted = maybe_size(of, "events_omitted").unwrap_or(0);
        return Ok(Evidence::Events { events: items(of, "events", read_event)?, omitted });
    }
    let Some(relations) = of["relations"].as_object() else {
        return wrong("evidence", "an order, events or relations");
    };
    let read = |name: &String| Ok((name.clone(), items(&of["relations"], name, pair)?));
    Ok(Evidence::Relations(relations.keys().map(read).collect::<Read<_>>()?))
}

fn read_event(value: &Value) -> Read<(Moment, String)> {
    let (moment, txn) = pair(value)?;
    match moment.as_str() {
        "snapshot" => Ok((Moment::Snapshot, txn)),
        "commit" => Ok((Moment::Commit, txn)),
        _ => wrong("events", "an array of [\"snapshot\" or \"commit\", transaction]"),
    }
}

pub(super) fn read_part(of: &Value) -> Read<Part> {
    Ok(Part {
        history: text(of, "history")?,
        initial: items(of, "initial", pair)?,
        transactions: items(of, "transactions", read_transaction)?,
        cycle: items(of, "cycle", read_link)?,
        cases: some_items(of, "cases", read_case)?,
        summary: text(of, "summary")?,
        local: read_local(of)?,
    })
}

pub(super) fn read_local(of: &Value) -> Read<Option<LocalRead>> {
    if of.get("local").is_none() {
        return Ok(None);
    }
    let read = &of["local_read"];
    Ok(Some(LocalRead {
        because: text(of, "local")?,
        transaction: text(read, "transaction")?,
        op: maybe_size(read, "op"),
        links: items(read, "links", read_link)?,
    }))
}

pub(super) fn read_transaction(of: &Value) -> Read<Transaction> {
    let outcome = match of["outcome"].as_str() {
        Some("committed") => Outcome::Committed,
        Some("aborted") => Outcome::Aborted,
        Some("unknown") => Outcome::Unknown,
        _ => return wrong("outcome", "\"committed\", \"aborted\" or \"unknown\""),
    };
    Ok(Transaction {
        id: text(of, "id")?,
        session: text(of, "session")?,
        outcome,
        place: of.get("place").map(read_place),
        times: of.get("times").map(|it| (it[0].as_i64(), it[1].as_i64())),
        ops: items(of, "ops", string)?,
    })
}

pub(super) fn read_link(of: &Value) -> Read<Link> {
    Ok(Link {
        from: text(of, "from")?,
        to: text(of, "to")?,
        kind: text(of, "kind")?,
        key: maybe_text(of, "key"),
        because: text(of, "because")?,
        shown_by: maybe_text(of, "shown_by"),
        premises: of.get("premises").map(read_premises).transpose()?.unwrap_or_default(),
    })
}

fn read_premises(of: &Value) -> Read<Premises> {
    Ok(Premises {
        claim: maybe_text(of, "claim"),
        links: some_items(of, "links", read_link)?,
        cases: some_items(of, "cases", read_case)?,
    })
}

fn read_case(of: &Value) -> Read<Case> {
    Ok(Case {
        supposed: Box::new(read_link(&of["supposed"])?),
        links: some_items(of, "links", read_link)?,
        cases: some_items(of, "cases", read_case)?,
    })
}

/// The entries of a member that need not be there.
fn some_items<T>(of: &Value, member: &str, read: impl Fn(&Value) -> Read<T>) -> Read<Vec<T>> {
    if of.get(member).is_some() { items(of, member, read) } else { Ok(Vec::new()) }
}

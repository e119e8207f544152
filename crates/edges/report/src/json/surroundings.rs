//! What stands around the evidence as JSON, and back.

use super::check::{put_place, read_place, read_transaction, transaction};
use super::members::{Members, Read, count, items, list, maybe_size, string, text, wrong};
use crate::document::Place;
use crate::surroundings::{Course, CourseUnit, KeySummary, Nearby, Neighbour, SessionSummary, Surroundings};
use serde_json::{Value, json};

pub(super) fn surroundings(of: &Surroundings) -> Value {
    let mut members = Members::default();
    members.put("near", list(&of.near, nearby));
    members.put("sessions", list(&of.sessions, session));
    members.maybe("sessions_omitted", some(of.omitted_sessions));
    members.put("keys", list(&of.keys, |it| json!({ "key": it.key, "reads": it.reads, "writes": it.writes })));
    members.maybe("keys_omitted", some(of.omitted_keys));
    members.put("course", course(&of.course));
    members.done()
}

fn some(count: usize) -> Option<usize> {
    (count > 0).then_some(count)
}

fn nearby(near: &Nearby) -> Value {
    json!({ "levels": near.levels, "transactions": list(&near.transactions, neighbour) })
}

fn neighbour(neighbour: &Neighbour) -> Value {
    let mut value = transaction(&neighbour.transaction);
    if let Some(members) = value.as_object_mut() {
        members.extend(some(neighbour.omitted_ops).map(|it| ("ops_omitted".to_owned(), json!(it))));
        members.insert("position".to_owned(), json!(neighbour.position));
        members.extend(neighbour.is_in_part.then(|| ("in_part".to_owned(), json!(true))));
        members.extend((!neighbour.notes.is_empty()).then(|| ("notes".to_owned(), json!(neighbour.notes))));
    }
    value
}

fn session(session: &SessionSummary) -> Value {
    let mut members = Members::default();
    members.put("name", session.name.as_str());
    members.put("committed", session.committed);
    members.put("aborted", session.aborted);
    members.put("unknown", session.unknown);
    members.put("operations", session.operations);
    for (name, place) in [("first", &session.first), ("last", &session.last)] {
        members.maybe(name, place.as_ref().map(place_of));
    }
    members.done()
}

fn place_of(place: &Place) -> Value {
    let mut members = Members::default();
    put_place(&mut members, place);
    members.done()
}

fn course(course: &Course) -> Value {
    json!({
        "by": course.by.word(),
        "from": course.from,
        "to": course.to,
        "committed": course.committed,
        "others": course.others,
        "marks": list(&course.marks, |(id, stretch)| json!([id, stretch])),
    })
}

pub(super) fn read_surroundings(of: &Value) -> Read<Surroundings> {
    Ok(Surroundings {
        near: items(of, "near", read_nearby)?,
        sessions: items(of, "sessions", read_session)?,
        omitted_sessions: maybe_size(of, "sessions_omitted").unwrap_or(0),
        keys: items(of, "keys", read_key)?,
        omitted_keys: maybe_size(of, "keys_omitted").unwrap_or(0),
        course: read_course(&of["course"])?,
    })
}

fn read_nearby(of: &Value) -> Read<Nearby> {
    Ok(Nearby { levels: items(of, "levels", string)?, transactions: items(of, "transactions", read_neighbour)? })
}

fn read_neighbour(of: &Value) -> Read<Neighbour> {
    let Some(position) = maybe_size(of, "position") else { return wrong("position", "a number") };
    Ok(Neighbour {
        transaction: read_transaction(of)?,
        omitted_ops: maybe_size(of, "ops_omitted").unwrap_or(0),
        position,
        is_in_part: of["in_part"] == true,
        notes: if of.get("notes").is_some() { items(of, "notes", string)? } else { Vec::new() },
    })
}

fn read_session(of: &Value) -> Read<SessionSummary> {
    Ok(SessionSummary {
        name: text(of, "name")?,
        committed: count(of, "committed")?,
        aborted: count(of, "aborted")?,
        unknown: count(of, "unknown")?,
        operations: count(of, "operations")?,
        first: of.get("first").map(read_place),
        last: of.get("last").map(read_place),
    })
}

fn read_key(of: &Value) -> Read<KeySummary> {
    Ok(KeySummary { key: text(of, "key")?, reads: count(of, "reads")?, writes: count(of, "writes")? })
}

fn read_course(of: &Value) -> Read<Course> {
    let by = match of["by"].as_str() {
        Some("time") => CourseUnit::Time,
        Some("position") => CourseUnit::Position,
        _ => return wrong("by", "\"time\" or \"position\""),
    };
    let (Some(from), Some(to)) = (of["from"].as_i64(), of["to"].as_i64()) else { return wrong("from", "a number") };
    let (committed, others) = (items(of, "committed", read_count)?, items(of, "others", read_count)?);
    if committed.len() != others.len() {
        return wrong("others", "as long as \"committed\"");
    }
    let marks = items(of, "marks", |it| Ok((string(&it[0])?, read_stretch(&it[1], committed.len())?)))?;
    Ok(Course { by, from, to, committed, others, marks })
}

fn read_count(value: &Value) -> Read<u64> {
    value.as_u64().map_or_else(|| wrong("an entry", "a number"), Ok)
}

fn read_stretch(value: &Value, n_stretches: usize) -> Read<usize> {
    let stretch = value.as_u64().and_then(|it| usize::try_from(it).ok()).filter(|it| *it < n_stretches);
    stretch.map_or_else(|| wrong("marks", "an array of [transaction, stretch]"), Ok)
}

//! How an allowed history may have happened: its schedule as steps, each read with where its value came from.

use super::{copies, linked_figure, stepped};
use crate::document::{CheckReport, EventKind, Evidence, Excerpt, Judgement, LevelReport, Schedule};
use crate::findings::strongest_that_hold;
use crate::highlight::Owner;
use crate::origin::{Origin, commit_order, origin, source};
use crate::svg::schedule_svg;
use crate::words::{prose, xml};

/// The schedule of the strongest level that holds; nothing if the document has not the whole history.
pub(super) fn schedule(report: &CheckReport) -> String {
    let Some(excerpt) = &report.whole else { return String::new() };
    let strongest = strongest_that_hold(report);
    let is_shown = |it: &&LevelReport| strongest.last().is_none_or(|name| **name == it.level);
    let mut holding = report.levels.iter().filter(|it| matches!(it.judgement, Judgement::Holds { .. }));
    let Some(level) = holding.rfind(is_shown) else { return String::new() };
    let Judgement::Holds { evidence } = &level.judgement else { return String::new() };
    let Some(order) = commit_order(excerpt, evidence) else { return String::new() };
    let items = match &evidence.schedule {
        Schedule::Events { events, .. } => of_events(excerpt, events, evidence),
        _ => order.iter().map(|it| of_txn(excerpt, *it, evidence)).collect(),
    };
    let lead = match &evidence.schedule {
        Schedule::Events { .. } => "Snapshots and commits in this order explain every read:",
        _ if level.level.is_serial() => "Run one after the other in this order, the transactions read what they did:",
        _ => "A commit order that this level accepts, with the source of each read:",
    };
    let title = format!("How it may have happened under {}", level.level.full);
    let figure = linked_figure(&schedule_svg(excerpt, &order, &level.level.short));
    format!(
        "<section id=\"schedule\" class=\"case\">\n<h2>{}</h2>\n<p>{lead}</p>\n{figure}{}{}</section>\n",
        xml(&title),
        stepped(&items),
        copies("whole.history", Some(&level.level.short))
    )
}

/// A transaction with everything that it did.
fn of_txn(excerpt: &Excerpt, txn: usize, evidence: &Evidence) -> String {
    let ops: Vec<usize> = (0..excerpt.transactions[txn].ops.len()).collect();
    step(excerpt, txn, &ops, evidence, "")
}

/// Reads belong to the snapshot, writes to the commit.
fn of_events(excerpt: &Excerpt, events: &[(EventKind, String)], evidence: &Evidence) -> Vec<String> {
    let mut items = Vec::new();
    for (event, id) in events {
        let Some(txn) = excerpt.transactions.iter().position(|it| it.id == *id) else { continue };
        let is_read = |op: &usize| excerpt.transactions[txn].ops[*op].is_read();
        // Where statements have snapshots of their own, the document does not say which read is whose.
        let n_snapshots = events.iter().filter(|it| **it == (EventKind::Snapshot, id.clone())).count();
        let is_now = |op: &usize| {
            if n_snapshots == 1 { is_read(op) == (*event == EventKind::Snapshot) } else { *event == EventKind::Commit }
        };
        let ops: Vec<usize> = (0..excerpt.transactions[txn].ops.len()).filter(is_now).collect();
        let word = match event {
            EventKind::Snapshot if n_snapshots > 1 => " takes a snapshot for a statement",
            EventKind::Snapshot => " takes its snapshot",
            EventKind::Commit => " commits",
        };
        items.push(step(excerpt, txn, &ops, evidence, word));
    }
    items
}

fn step(excerpt: &Excerpt, txn: usize, ops: &[usize], evidence: &Evidence, word: &str) -> String {
    let (mut highlight, mut txns, mut flows) = (Vec::new(), vec![Owner::Txn(txn).token()], Vec::new());
    let mut words = Vec::new();
    for op in ops {
        highlight.push(format!("{txn}.{op}"));
        let from = origin(excerpt, txn, *op, evidence);
        if let Some(Origin::From(owner)) = from {
            txns.push(owner.token());
            if let Some(write) = source(excerpt, owner, txn, *op) {
                let write = format!("{}.{write}", owner.token());
                flows.push(format!("{write}-{txn}.{op}"));
                highlight.push(write);
            }
        }
        words.push(format!(
            "<code>{}</code>{}",
            prose(&excerpt.transactions[txn].ops[*op].to_string()),
            from_words(excerpt, txn, from)
        ));
    }
    let colon = if words.is_empty() { "" } else { ": " };
    format!(
        "<li data-links=\"\" data-lit=\"{}\" data-txns=\"{}\" data-flows=\"{}\"><b>{}</b>{word}{colon}{}</li>\n",
        highlight.join(" "),
        txns.join(" "),
        flows.join(" "),
        prose(&excerpt.transactions[txn].id),
        words.join(", ")
    )
}

fn from_words(excerpt: &Excerpt, reader: usize, from: Option<Origin>) -> String {
    match from {
        None => String::new(),
        Some(Origin::Several) => ", which several wrote".to_owned(),
        Some(Origin::From(Owner::Initial)) => " from the initial state".to_owned(),
        Some(Origin::From(Owner::Txn(writer))) if writer == reader => " from itself".to_owned(),
        Some(Origin::From(Owner::Txn(writer))) => format!(" from {}", prose(&excerpt.transactions[writer].id)),
    }
}

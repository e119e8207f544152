//! How an allowed history may have happened: its schedule as steps, each read with where its value came from.

use super::{copies, linked_figure, stepped};
use crate::document::{CheckReport, Evidence, Judgement, LevelReport, Moment, Part};
use crate::findings::strongest_that_hold;
use crate::lit::Owner;
use crate::origin::{Origin, commit_order, origin, source};
use crate::svg::schedule_svg;
use crate::words::{prose, xml};

/// The schedule of the strongest level that holds; nothing if the document has not the whole history.
pub(super) fn schedule(report: &CheckReport) -> String {
    let Some(part) = &report.whole else { return String::new() };
    let strongest = strongest_that_hold(report);
    let is_shown = |it: &&LevelReport| strongest.last().is_none_or(|name| **name == it.level);
    let mut holding = report.levels.iter().filter(|it| matches!(it.judgement, Judgement::Holds(_)));
    let Some(level) = holding.rfind(is_shown) else { return String::new() };
    let Judgement::Holds(evidence) = &level.judgement else { return String::new() };
    let Some(order) = commit_order(part, evidence) else { return String::new() };
    let is_serial = matches!(level.level.short.as_str(), "ser" | "sser");
    let serial = is_serial.then_some(order.as_slice());
    let items = match evidence {
        Evidence::Events { events, .. } => of_events(part, events, serial),
        _ => order.iter().map(|it| of_txn(part, *it, serial)).collect(),
    };
    let lead = match evidence {
        Evidence::Events { .. } => "Snapshots and commits in this order explain every read:",
        _ if is_serial => "One after the other in this order, transactions explain every read:",
        _ => "A commit order that this level accepts, with the source of each read:",
    };
    let title = format!("How it may have happened under {}", level.level.full);
    let figure = linked_figure(&schedule_svg(part, &order, &level.level.short));
    format!(
        "<section id=\"schedule\" class=\"case\">\n<h2>{}</h2>\n<p>{lead}</p>\n{figure}{}{}</section>\n",
        xml(&title),
        stepped(&items),
        copies("whole.history", Some(&level.level.short))
    )
}

/// A transaction with everything that it did.
fn of_txn(part: &Part, txn: usize, serial: Option<&[usize]>) -> String {
    let ops: Vec<usize> = (0..part.transactions[txn].ops.len()).collect();
    step(part, txn, &ops, serial, "")
}

/// Reads belong to the snapshot, writes to the commit.
fn of_events(part: &Part, events: &[(Moment, String)], serial: Option<&[usize]>) -> Vec<String> {
    let mut items = Vec::new();
    for (moment, id) in events {
        let Some(txn) = part.transactions.iter().position(|it| it.id == *id) else { continue };
        let is_read = |op: &usize| part.transactions[txn].ops[*op].starts_with("r(");
        let is_now = |op: &usize| is_read(op) == (*moment == Moment::Snapshot);
        let ops: Vec<usize> = (0..part.transactions[txn].ops.len()).filter(is_now).collect();
        let word = if *moment == Moment::Snapshot { " takes its snapshot" } else { " commits" };
        items.push(step(part, txn, &ops, serial, word));
    }
    items
}

fn step(part: &Part, txn: usize, ops: &[usize], serial: Option<&[usize]>, word: &str) -> String {
    let (mut lit, mut txns, mut flows) = (Vec::new(), vec![Owner::Txn(txn).token()], Vec::new());
    let mut words = Vec::new();
    for op in ops {
        lit.push(format!("{txn}.{op}"));
        let from = origin(part, txn, *op, serial);
        if let Some(Origin::From(owner)) = from {
            txns.push(owner.token());
            if let Some(write) = source(part, owner, txn, *op) {
                let write = format!("{}.{write}", owner.token());
                flows.push(format!("{write}-{txn}.{op}"));
                lit.push(write);
            }
        }
        words.push(format!("<code>{}</code>{}", prose(&part.transactions[txn].ops[*op]), from_words(part, txn, from)));
    }
    let colon = if words.is_empty() { "" } else { ": " };
    format!(
        "<li data-links=\"\" data-lit=\"{}\" data-txns=\"{}\" data-flows=\"{}\"><b>{}</b>{word}{colon}{}</li>\n",
        lit.join(" "),
        txns.join(" "),
        flows.join(" "),
        prose(&part.transactions[txn].id),
        words.join(", ")
    )
}

fn from_words(part: &Part, reader: usize, from: Option<Origin>) -> String {
    match from {
        None => String::new(),
        Some(Origin::Several) => ", which several wrote".to_owned(),
        Some(Origin::From(Owner::Initial)) => " from the initial state".to_owned(),
        Some(Origin::From(Owner::Txn(writer))) if writer == reader => " from itself".to_owned(),
        Some(Origin::From(Owner::Txn(writer))) => format!(" from {}", prose(&part.transactions[writer].id)),
    }
}

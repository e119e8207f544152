//! What searches found, as sentences that all renderings share.

use crate::document::TxnRef;
use crate::found::{Found, KeyVersions, RelationShape, SpecRefutation, WitnessRelation};
use crate::implication::{ImplicationProof, Implied};
use crate::search::{
    Bound, CompareReport, DecidedPairs, Effort, LatticeReport, Scope, SearchVerdict, SeparateReport, SessionShape,
    SpecName, SpecRelation,
};
use crate::text::memory;
use crate::words::counted;
use std::collections::BTreeSet;

/// The answer of `separate` in one sentence.
pub(crate) fn separate_headline(report: &SeparateReport) -> String {
    let (allowed, forbidden) = (names(&report.allowed), names(&report.forbidden));
    match (&report.verdict, report.found.as_slice()) {
        (SearchVerdict::Found, [found]) => {
            let minimal = match report.complete {
                Some(is_complete) => completeness(is_complete, "it"),
                None if report.scope.bound == Bound::UpTo => "; none smaller does".to_owned(),
                None => String::new(),
            };
            let (n_txns, n_keys) = sizes(found);
            let claim = claim(&allowed, &forbidden, "this history");
            format!("{claim} ({n_txns}, {n_keys}){minimal}.")
        }
        (SearchVerdict::Found, many) => {
            let complete = report.complete.map_or(String::new(), |it| completeness(it, "one of them"));
            format!("{}{complete}.", claim(&allowed, &forbidden, &format!("these {} histories", many.len())))
        }
        (SearchVerdict::None, _) => format!("None {}: {}.", bound(&report.scope), no_history(&allowed, &forbidden)),
        (SearchVerdict::Unknown { reason }, _) => format!("Unknown: {reason}."),
    }
}

fn completeness(is_complete: bool, them: &str) -> String {
    if is_complete {
        return format!("; up to names, every other one in the scope contains {them}");
    }
    "; there may be more".to_owned()
}

/// The answer of `compare` in one sentence.
pub(crate) fn compare_headline(report: &CompareReport) -> String {
    let (left, right, bound) = (&report.left.name, &report.right.name, bound(&report.scope));
    let settled = report.is_settled();
    let one_way = |stronger: &str, weaker: &str| {
        if settled {
            return format!(
                "{stronger} is stronger than {weaker}, proved for every size: {weaker} allows whatever {stronger} \
                 allows, and a history that {stronger} forbids."
            );
        }
        format!(
            "{stronger} is stronger than {weaker}: {weaker} allows a history that {stronger} forbids, \
             and none was found the other way around {bound}."
        )
    };
    match &report.relation {
        SpecRelation::Equivalent if settled => {
            format!("Equivalent, proved for every size: {left} and {right} allow the same histories.")
        }
        SpecRelation::Equivalent => format!("Equivalent {bound}: {left} and {right} allow the same histories."),
        SpecRelation::Stronger => one_way(left, right),
        SpecRelation::Weaker => one_way(right, left),
        SpecRelation::Incomparable => {
            format!("Incomparable: {left} and {right} each allow a history that the other one forbids.")
        }
        SpecRelation::Unknown { reason } => {
            let known = match (&report.left_only, &report.right_only) {
                (Some(_), _) => format!(" {left} does not imply {right}, but the other direction is open."),
                (None, Some(_)) => format!(" {right} does not imply {left}, but the other direction is open."),
                (None, None) => String::new(),
            };
            format!("Unknown: {reason}.{known}")
        }
    }
}

/// Why one level implies another one, as lines: what was made of what, and how much it took to show that this works.
pub(crate) fn proof_lines(stronger: &str, weaker: &str, proof: &ImplicationProof) -> Vec<String> {
    let mut lines = vec![format!("{stronger} implies {weaker}. Given an execution of {stronger}, take")];
    lines.extend(
        proof.orders.iter().enumerate().map(|it| format!("  order_{}: a total order that contains {}", it.0 + 1, it.1)),
    );
    lines.extend(proof.made.iter().map(|it| format!("  {}: {}", it.name, it.is)));
    let named = proof.prefixes.iter().flatten().enumerate();
    lines.extend(named.map(|it| format!("  state {}: after every v with {}", it.0 + 1, it.1)));
    let (shown, instances) =
        (counted(proof.shown.len() as u64, "case"), counted(proof.n_instances() as u64, "instance"));
    lines.push(format!("  Certified: {shown} in which it could fail contradict {instances} of the axioms."));
    lines
}

/// The answer of `lattice` in one sentence.
pub(crate) fn lattice_headline(report: &LatticeReport) -> String {
    let levels = counted(report.levels.len() as u64, "level");
    let n_classes = report.classes.len() as u64;
    let open = match report.unknown.len() as u64 {
        0 => String::new(),
        n => format!(" {} could not be compared.", counted(n, "pair")),
    };
    let bound = if report.is_settled() { "for every size".to_owned() } else { bound(&report.scope) };
    let classes = if n_classes == 1 { "1 class".to_owned() } else { format!("{n_classes} classes") };
    if report.classes.len() == report.levels.len() && !report.unknown.is_empty() {
        return format!("No two of these {levels} are known to be equivalent {bound}.{open}");
    }
    if report.classes.len() == report.levels.len() {
        return format!("No two of these {levels} are equivalent {bound}.{open}");
    }
    format!("{levels} fall into {classes} of equivalent levels {bound}.{open}")
}

/// What is proved of a lattice and what is not, as sentences.
pub(crate) fn lattice_proof_lines(report: &LatticeReport) -> Vec<String> {
    if report.implications.is_empty() {
        return Vec::new();
    }
    let (proved, open): (Vec<_>, Vec<_>) =
        report.implications.iter().partition(|it| it.direction.implied == Implied::EverySize);
    let mut lines = vec![format!(
        "Proved for every size, and certified: {} of {} implications.",
        proved.len(),
        report.implications.len()
    )];
    if let Some(pairs) = report.pairs {
        let DecidedPairs { proved, refuted, open } = pairs;
        lines.push(format!(
            "Of {} pairs of levels, {proved} are proved for every size, {refuted} are refuted by a history, and {open} are open.",
            proved + refuted + open
        ));
    }
    let only: BTreeSet<&str> = proved.iter().filter_map(|it| it.direction.only.as_deref()).collect();
    lines.extend(only.into_iter().map(ToOwned::to_owned));
    lines.extend(open.iter().map(|it| {
        let reason = it.direction.reason.as_deref().map_or_else(String::new, |it| format!(" ({it})"));
        format!("Only {}: {} implies {}{reason}.", bound(&report.scope), it.stronger, it.weaker)
    }));
    lines
}

/// `biswas.cc allows and biswas.pc forbids this history`.
pub(crate) fn claim(allowed: &[&str], forbidden: &[&str], what: &str) -> String {
    let side = |names: &[&str], one: &str, many: &str| match names {
        [] => None,
        [name] => Some(format!("{name} {one}")),
        names => Some(format!("{} {many}", listed(names, "and"))),
    };
    let sides = [side(allowed, "allows", "allow"), side(forbidden, "forbids", "forbid")];
    let sides: Vec<String> = sides.into_iter().flatten().collect();
    // With several names on a side, a plain "and" would join the wrong things.
    let joint = if allowed.len() > 1 || forbidden.len() > 1 { ", and " } else { " and " };
    format!("{} {what}", sides.join(joint))
}

/// The opposite of a claim, for all histories.
fn no_history(allowed: &[&str], forbidden: &[&str]) -> String {
    let all = match allowed {
        [] => "every history".to_owned(),
        [name] => format!("every history that {name} allows"),
        names => format!("every history that {} allow", listed(names, "and")),
    };
    match forbidden {
        [] => format!("{} no history", listed(allowed, "and") + if allowed.len() == 1 { " allows" } else { " allow" }),
        names if allowed.is_empty() => format!("{all} is allowed by {}", listed(names, "or")),
        names => format!("{all} is allowed by {}, too", listed(names, "or")),
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[&str], joint: &str) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [first @ .., last] => format!("{} {joint} {last}", first.join(", ")),
    }
}

pub(crate) fn names(specs: &[SpecName]) -> Vec<&str> {
    specs.iter().map(|it| it.name.as_str()).collect()
}

/// `up to 4 transactions, 2 keys`.
pub(crate) fn bound(scope: &Scope) -> String {
    let word = match scope.bound {
        Bound::UpTo => "up to",
        Bound::Exactly => "with exactly",
    };
    let mut parts = vec![counted(scope.transactions, "transaction"), counted(scope.keys, "key")];
    parts.extend(scope.values.map(|it| counted(it, "value")));
    format!("{word} {}", parts.join(", "))
}

/// That a part of the answer has no certificate by nature.
pub(crate) fn not_certified(clause: Option<&String>) -> Option<String> {
    clause.map(|it| format!("Not certified: {it}."))
}

/// Everything about the scope in one line.
pub(crate) fn scope_line(scope: &Scope) -> String {
    let mut parts = vec![bound(scope)];
    parts.push(match scope.sessions {
        SessionShape::Chains => "sessions are chains".to_owned(),
        other => format!("session order: {other}"),
    });
    parts.push(if scope.blind_writes { "blind writes".to_owned() } else { "no blind writes".to_owned() });
    if scope.reads_per_key != 1 {
        parts.push(format!("{} of a key", counted(scope.reads_per_key, "read")));
    }
    if scope.read_order {
        parts.push("reads in order".to_owned());
    }
    if scope.real_time {
        parts.push("real time".to_owned());
    }
    if scope.scans > 0 {
        parts.push(format!("at most {} that scans did not return", counted(scope.scans, "row")));
    }
    if !scope.statements.is_empty() {
        parts.push(format!(
            "statements with {}",
            listed(&scope.statements.iter().map(String::as_str).collect::<Vec<_>>(), "and")
        ));
    }
    if scope.lists > 0 {
        parts.push(format!("lists of one key up to {}", counted(scope.lists, "transaction")));
    }
    format!("Scope: {}.", parts.join("; "))
}

/// What the search took, in one line.
pub(crate) fn effort_line(inputs: &[String], effort: &Effort, certified: Option<&str>) -> String {
    let mut parts = vec![format!("{:.2} s", effort.seconds)];
    parts.extend(effort.peak_bytes.map(memory));
    let counts = [
        (effort.candidates, "candidate"),
        (effort.variables, "variable"),
        (effort.clauses, "clause"),
        (effort.conflicts, "conflict"),
    ];
    parts.extend(counts.iter().filter(|it| it.0 > 0).map(|(count, noun)| counted(*count, noun)));
    parts.extend(certified.map(str::to_owned));
    let inputs = if inputs.is_empty() { String::new() } else { format!("{}: ", inputs.join(", ")) };
    inputs + &parts.join(", ")
}

/// Was the evidence checked? Failures have lines of their own.
pub(crate) fn certified_words<'f>(found: impl Iterator<Item = &'f Found>) -> Option<String> {
    let certificates: Vec<bool> =
        found.flat_map(|it| it.certificates().map(|it| it.1 == &Some(Ok(()))).collect::<Vec<_>>()).collect();
    match certificates.iter().filter(|it| **it).count() {
        0 => None,
        n if n == certificates.len() => Some("evidence certified".to_owned()),
        n => Some(format!("{n} of {} pieces of evidence certified", certificates.len())),
    }
}

/// `4 transactions` and `2 keys`.
pub(crate) fn sizes(found: &Found) -> (String, String) {
    let (n_txns, n_keys) = found.size();
    (counted(n_txns as u64, "transaction"), counted(n_keys as u64, "key"))
}

/// What a refutation is called: the names of its anomalies, if it has some.
pub(crate) fn anomalies(refutation: &SpecRefutation) -> String {
    let names = refutation.anomalies.join(", ");
    if names.is_empty() { names } else { format!(" ({names})") }
}

/// Why a level forbids the history if there is no cycle: `No co will do:`, or a sentence for when nothing is known.
pub(crate) fn failures_lead(refutation: &SpecRefutation) -> &'static str {
    match (refutation.failures.len(), refutation.omitted) {
        (1, 0) if !refutation.is_exhaustive => "The nearest witness fails:",
        _ if !refutation.is_exhaustive => "The nearest witnesses fail, for example:",
        (1, 0) => "The only possible witness fails:",
        (_, 0) => "Every possible witness fails:",
        _ => "Every possible witness fails, for example:",
    }
}

/// A witness relation in one line: `co: s1.1 < s2.1`, `vis: s1.1 -> s2.1, s3.1`, `vo[x]: s1.1 < s2.1`.
pub(crate) fn relation_words(relation: &WitnessRelation, txns: &[TxnRef]) -> String {
    let name = &relation.name;
    match &relation.shape {
        RelationShape::Order(order) => format!("{name}: {}", order.join(" < ")),
        RelationShape::Versions(keys) => {
            let of_key = |it: &KeyVersions| format!("{name}[{}]: {}", it.key, it.writers.join(" < "));
            let words: Vec<String> = keys.iter().filter(|it| !it.writers.is_empty()).map(of_key).collect();
            if words.is_empty() { format!("{name}: nothing is written") } else { words.join("; ") }
        }
        RelationShape::Pairs(pairs) => {
            let shown = without_initial(pairs, txns);
            match total_order(&shown, txns) {
                Some(order) => format!("{name}: {}", order.iter().map(|it| it.name()).collect::<Vec<_>>().join(" < ")),
                None if pairs.is_empty() => format!("{name}: empty"),
                None if shown.is_empty() => format!("{name}: only from init"),
                None => format!("{name}: {}", pair_words(&shown)),
            }
        }
    }
}

/// Two transactions, the earlier one first.
pub(crate) type Pair<'p> = (&'p TxnRef, &'p TxnRef);

/// `s1.1 -> s2.1, s3.1; s2.1 -> s3.1`.
fn pair_words(pairs: &[Pair<'_>]) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut last = None;
    for (from, to) in pairs {
        match words.last_mut().filter(|_| last == Some(from)) {
            Some(word) => *word += &format!(", {to}"),
            None => words.push(format!("{from} -> {to}")),
        }
        last = Some(from);
    }
    words.join("; ")
}

/// The pairs but those of the initial transaction, if it stands before all others, as it mostly does.
pub(crate) fn without_initial<'p>(pairs: &'p [(TxnRef, TxnRef)], txns: &[TxnRef]) -> Vec<Pair<'p>> {
    let is_initial = |it: &(TxnRef, TxnRef)| it.0 == TxnRef::Initial;
    let goes_without_saying = txns.iter().all(|txn| pairs.iter().any(|it| is_initial(it) && it.1 == *txn));
    let shown = pairs.iter().filter(|it| !(goes_without_saying && is_initial(it)));
    shown.map(|(from, to)| (from, to)).collect()
}

/// The transactions in order, if the pairs are one of all of them.
pub(crate) fn total_order<'t>(pairs: &[Pair<'_>], txns: &'t [TxnRef]) -> Option<Vec<&'t TxnRef>> {
    let set: BTreeSet<&Pair<'_>> = pairs.iter().collect();
    let mut order: Vec<&TxnRef> = txns.iter().collect();
    order.sort_by_key(|txn| pairs.iter().filter(|it| it.1 == *txn).count());
    let n_pairs = txns.len() * txns.len().saturating_sub(1) / 2;
    let is_ordered = |idx: usize| order[idx + 1..].iter().all(|later| set.contains(&(order[idx], *later)));
    (txns.len() > 1 && set.len() == n_pairs && (0..order.len()).all(is_ordered)).then_some(order)
}

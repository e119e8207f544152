//! Right witnesses are accepted, and of their mutations exactly those that are right by the level's text.

#[path = "../../history/tests/common/mod.rs"]
mod common;

use common::{Random, Shape, each_history, history, show};
use iso_evidence::{Event, Schedule, Source, Sources, Verdict, Witness, certify};
use iso_history::{Facts, History, LocalAnomaly, Op, OpId, Outcome, Standing, TxnId};
use iso_spec::{Catalogue, Evaluation, Execution, Level, Spec, Steps, evaluate, holds};
use std::sync::Arc;

fn of(level: Level) -> &'static Spec {
    Catalogue::builtin().of(level)
}

fn accepts(history: &History, level: Level, witness: &Witness) -> bool {
    certify(history, level, &Verdict::Allowed(witness.clone())).is_ok()
}

fn has_snapshots(level: Level) -> bool {
    matches!(level, Level::PrefixConsistency | Level::SnapshotIsolation | Level::StrongSnapshotIsolation)
}

fn conflict(facts: &Facts<'_>, left: TxnId, right: TxnId) -> bool {
    left != right && facts.history().keys().any(|it| facts.writes(left, it) && facts.writes(right, it))
}

fn shared(sources: Vec<Source>) -> Arc<Sources> {
    Arc::new(sources.into_iter().collect())
}

/// The witness that an execution found by the evaluator stands for.
fn witness_of(facts: &Facts<'_>, level: Level, execution: &Execution) -> Witness {
    let order =
        ["co", "ar"].iter().find_map(|it| execution.order(it)).unwrap_or_else(|| version_order(facts, execution));
    let mut sources: Vec<Source> =
        execution.sources.iter().map(|(read, writer)| Source { read: *read, writer: *writer }).collect();
    sources.sort_unstable();
    let schedule = if has_snapshots(level) {
        Schedule::Events(events_of(facts, level, execution, &order))
    } else {
        Schedule::Order(order)
    };
    Witness { schedule, sources: shared(sources) }
}

/// Read uncommitted: some order that has session order and all version orders in it. Whoever read from a transaction of
/// unknown outcome may have read dirty, so none of those need be in it.
fn version_order(facts: &Facts<'_>, execution: &Execution) -> Vec<TxnId> {
    let before = execution.pairs("vo").unwrap_or_default();
    let is_committed = |it: &TxnId| !it.is_initial() && facts.history().outcome(*it) == Outcome::Committed;
    let mut rest: Vec<TxnId> = execution.included.iter().copied().filter(is_committed).collect();
    let mut order = Vec::new();
    while !rest.is_empty() {
        let is_free = |it: &TxnId| {
            let is_later =
                |other: &TxnId| facts.history().is_session_ordered(*other, *it) || before.contains(&(*other, *it));
            !rest.iter().any(is_later)
        };
        let next = rest.iter().position(is_free).expect("no cycle");
        order.push(rest.remove(next));
    }
    order
}

/// A snapshot comes right after the last commit that the transaction must see.
fn events_of(facts: &Facts<'_>, level: Level, execution: &Execution, order: &[TxnId]) -> Vec<Event> {
    let vis = execution.pairs("vis");
    let sees = |later: TxnId, earlier: TxnId| {
        let reads_from = execution.sources.iter().any(|it| it.1 == earlier && facts.history().txn_of(it.0) == later);
        match &vis {
            Some(vis) => vis.contains(&(earlier, later)),
            None => {
                reads_from
                    || facts.history().is_session_ordered(earlier, later)
                    || (level == Level::SnapshotIsolation && conflict(facts, earlier, later))
            }
        }
    };
    let mut events = Vec::new();
    for n_commits in 0..=order.len() {
        for (idx, txn) in order.iter().enumerate() {
            let n_seen = (0..idx).rev().find(|it| sees(*txn, order[*it])).map_or(0, |it| it + 1);
            if n_seen == n_commits {
                events.push(Event::Snapshot(*txn));
            }
        }
        events.extend(order.get(n_commits).map(|it| Event::Commit(*it)));
    }
    events
}

/// Is a witness right, by the text of the level? Everything that the witness leaves open is derived here.
fn is_right(facts: &Facts<'_>, level: Level, witness: &Witness) -> bool {
    match &witness.schedule {
        Schedule::Order(order) => is_right_order(facts, level, order, &witness.sources.iter().collect::<Vec<_>>()),
        Schedule::Events(events) => is_right_events(facts, level, events),
        Schedule::Pieces(_) | Schedule::Execution(_) => false,
    }
}

fn pairs(order: &[TxnId], relates: impl Fn(usize, usize) -> bool) -> Vec<(TxnId, TxnId)> {
    let all = (0..order.len()).flat_map(|left| (0..order.len()).map(move |right| (left, right)));
    all.filter(|it| relates(it.0, it.1)).map(|(left, right)| (order[left], order[right])).collect()
}

/// The last writer before a place, of those that count as seen.
fn last_writers(facts: &Facts<'_>, order: &[TxnId], sees: impl Fn(usize, usize) -> bool) -> Vec<(OpId, TxnId)> {
    let mut sources = Vec::new();
    for (reader_idx, reader) in order.iter().enumerate() {
        for read in &facts.reads()[facts.reads_of(*reader)] {
            let mut seen = (0..order.len()).rev().filter(|it| sees(*it, reader_idx));
            let writer = seen.find(|it| facts.writes(order[*it], read.key));
            sources.push((read.op, writer.map_or(TxnId::INITIAL, |it| order[it])));
        }
    }
    sources
}

fn is_right_order(facts: &Facts<'_>, level: Level, order: &[TxnId], sources: &[Source]) -> bool {
    if order.iter().any(|it| it.is_initial() || it.index() >= facts.history().n_txns()) || has_twice(order) {
        return false;
    }
    let given: Vec<(OpId, TxnId)> = sources.iter().map(|it| (it.read, it.writer)).collect();
    let bare = Execution::new(order.iter().copied(), given.clone());
    let execution = match level {
        Level::Serializable | Level::StrictSerializable => {
            let sources = last_writers(facts, order, |earlier, later| earlier < later);
            Execution::new(order.iter().copied(), sources).with_order("co", order)
        }
        Level::UpdateAtomic | Level::ParallelSnapshotIsolation => {
            let vis = least_visibility(facts, level, order, &given);
            bare.with_order("ar", order).with_relation("vis", vis)
        }
        Level::ReadUncommitted => return is_right_uncommitted(facts, order),
        _ => bare.with_order("co", order),
    };
    holds(facts, of(level), &execution)
}

fn has_twice(order: &[TxnId]) -> bool {
    (1..order.len()).any(|it| order[..it].contains(&order[it]))
}

fn least_visibility(
    facts: &Facts<'_>,
    level: Level,
    order: &[TxnId],
    sources: &[(OpId, TxnId)],
) -> Vec<(TxnId, TxnId)> {
    let history = facts.history();
    let all = [&[TxnId::INITIAL], order].concat();
    let vis = pairs(&all, |left, right| {
        let reads_from = |it: &(OpId, TxnId)| it.1 == all[left] && history.txn_of(it.0) == all[right];
        history.is_session_ordered(all[left], all[right])
            || sources.iter().any(reads_from)
            || (left < right && conflict(facts, all[left], all[right]))
    });
    if level == Level::ParallelSnapshotIsolation { transitive(vis) } else { vis }
}

fn transitive(mut pairs: Vec<(TxnId, TxnId)>) -> Vec<(TxnId, TxnId)> {
    loop {
        let mut missing = Vec::new();
        for (from, middle) in &pairs {
            let next = pairs.iter().filter(|it| it.0 == *middle).map(|it| (*from, it.1));
            missing.extend(next.filter(|it| !pairs.contains(it)));
        }
        if missing.is_empty() {
            return pairs;
        }
        pairs.extend(missing);
        pairs.sort_unstable();
        pairs.dedup();
    }
}

/// Whose write a read saw does not matter here, so any will do.
fn is_right_uncommitted(facts: &Facts<'_>, order: &[TxnId]) -> bool {
    let history = facts.history();
    let is_session_ordered =
        (0..order.len()).all(|later| (0..later).all(|it| !history.is_session_ordered(order[later], order[it])));
    let mut sources = Vec::new();
    for idx in order.iter().flat_map(|it| facts.reads_of(*it)) {
        let source = facts.candidates(idx).iter().find(|it| it.is_initial() || order.contains(it));
        sources.extend(source.map(|it| (facts.reads()[idx].op, *it)));
    }
    let mut execution = Execution::new(order.iter().copied(), sources);
    for key in history.keys() {
        let is_used = facts.reads().iter().any(|it| it.key == key && order.contains(&it.reader));
        let writers: Vec<TxnId> = order.iter().copied().filter(|it| facts.writes(*it, key)).collect();
        if is_used || !writers.is_empty() {
            execution = execution.with_versions("vo", key, &writers);
        }
    }
    is_session_ordered && holds(facts, of(Level::ReadUncommitted), &execution)
}

fn is_right_events(facts: &Facts<'_>, level: Level, events: &[Event]) -> bool {
    let txn = |it: &Event| match it {
        Event::Snapshot(txn) | Event::Commit(txn) => *txn,
    };
    let is_known = events.iter().all(|it| !txn(it).is_initial() && txn(it).index() < facts.history().n_txns());
    let is_commit = |it: &&Event| matches!(it, Event::Commit(_));
    let order: Vec<TxnId> = events.iter().filter(is_commit).map(txn).collect();
    let place = |event: Event| events.iter().position(|it| *it == event);
    let has_both = |it: &TxnId| place(Event::Snapshot(*it)).is_some_and(|at| Some(at) < place(Event::Commit(*it)));
    if !is_known || has_twice(&order) || events.len() != 2 * order.len() || !order.iter().all(has_both) {
        return false;
    }
    let sees =
        |earlier: usize, later: usize| place(Event::Commit(order[earlier])) < place(Event::Snapshot(order[later]));
    let sources = last_writers(facts, &order, sees);
    let mut vis = pairs(&order, sees);
    vis.extend(order.iter().map(|it| (TxnId::INITIAL, *it)));
    let execution = Execution::new(order.iter().copied(), sources).with_order("ar", &order).with_relation("vis", vis);
    let name = match level {
        Level::PrefixConsistency => "cerone.pc",
        Level::SnapshotIsolation => "cerone.si",
        _ => "cerone.strong_si",
    };
    holds(facts, Catalogue::builtin().find(name).expect("it is in the catalogue"), &execution)
}

/// Every way to do one thing to a list: swap neighbours, drop, repeat, insert one of `others` anywhere.
fn mutate<T: Copy>(items: &[T], others: &[T]) -> Vec<Vec<T>> {
    let mut mutated = Vec::new();
    for idx in 0..items.len() {
        if idx + 1 < items.len() {
            let mut swapped = items.to_vec();
            swapped.swap(idx, idx + 1);
            mutated.push(swapped);
        }
        let mut dropped = items.to_vec();
        dropped.remove(idx);
        mutated.push(dropped);
        mutated.push([&items[..=idx], &items[idx..]].concat());
    }
    for other in others {
        mutated.extend((0..=items.len()).map(|it| [&items[..it], &[*other], &items[it..]].concat()));
    }
    mutated
}

fn mutate_witness(history: &History, right: &Witness) -> Vec<Witness> {
    let mut mutated: Vec<Witness> = Vec::new();
    let everybody: Vec<TxnId> = (0..=history.n_txns()).map(TxnId::from_index).collect();
    let with = |schedule: Schedule| Witness { schedule, ..right.clone() };
    match &right.schedule {
        Schedule::Order(order) => {
            let others: Vec<TxnId> = everybody.iter().copied().filter(|it| !order.contains(it)).collect();
            mutated.extend(mutate(order, &others).into_iter().map(|it| with(Schedule::Order(it))));
            for (idx, source) in right.sources.iter().enumerate() {
                for writer in everybody.iter().copied().filter(|it| *it != source.writer) {
                    let mut sources: Vec<Source> = right.sources.iter().collect();
                    sources[idx].writer = writer;
                    mutated.push(Witness { sources: shared(sources), ..right.clone() });
                }
            }
            mutated.extend(
                mutate(&right.sources.iter().collect::<Vec<_>>(), &[])
                    .into_iter()
                    .map(|it| Witness { sources: shared(it), ..right.clone() }),
            );
        }
        Schedule::Events(events) => {
            let others: Vec<Event> =
                everybody.iter().map(|it| Event::Snapshot(*it)).filter(|it| !events.contains(it)).collect();
            mutated.extend(mutate(events, &others).into_iter().map(|it| with(Schedule::Events(it))));
            for event in events {
                let Event::Snapshot(txn) = *event else { continue };
                let swap = |it: &Event| match *it {
                    Event::Snapshot(it) if it == txn => Event::Commit(txn),
                    Event::Commit(it) if it == txn => Event::Snapshot(txn),
                    other => other,
                };
                mutated.push(with(Schedule::Events(events.iter().map(swap).collect())));
            }
            for txn in everybody.iter().filter(|it| !events.contains(&Event::Snapshot(**it))) {
                let both = [events, &[Event::Snapshot(*txn), Event::Commit(*txn)][..]].concat();
                mutated.push(with(Schedule::Events(both)));
            }
        }
        Schedule::Pieces(_) | Schedule::Execution(_) => {}
    }
    mutated
}

/// How many mutations were right, and how many wrong.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    right: usize,
    wrong: usize,
}

/// Whoever is out may be scheduled nevertheless, which `holds` does not know; nor does it look at what an optional
/// transaction's list read says about the order of appends (see the last test).
fn is_comparable(facts: &Facts<'_>, level: Level, witness: &Witness) -> bool {
    let is_known = |it: &TxnId| it.index() < facts.history().n_txns();
    let history = facts.history();
    let is_out = |it: &TxnId| {
        let reads_list = || history.ops(*it).any(|op| matches!(history.op(op), Op::ReadList { .. }));
        match is_known(it).then(|| facts.standing(*it)) {
            Some(Standing::Out) => history.outcome(*it) == Outcome::Indeterminate,
            Some(Standing::Optional) => reads_list(),
            _ => false,
        }
    };
    let has_out = match &witness.schedule {
        Schedule::Order(order) => order.iter().any(is_out),
        Schedule::Events(events) => events.iter().any(|it| match it {
            Event::Snapshot(txn) | Event::Commit(txn) => is_out(txn),
        }),
        Schedule::Pieces(_) | Schedule::Execution(_) => false,
    };
    let has_indeterminate = history.txns().any(|it| history.outcome(it) == Outcome::Indeterminate);
    let is_sorted = witness.sources.iter().is_sorted_by(|a, b| a.read < b.read);
    !has_out && is_sorted && !(level == Level::ReadUncommitted && has_indeterminate)
}

fn try_level(history: &History, level: Level, counts: &mut Counts) {
    let facts = Facts::new(history);
    let is_dirty_list = |it: &LocalAnomaly| matches!(history.op(it.op), Op::ReadList { .. });
    if level == Level::ReadUncommitted && facts.local().iter().any(is_dirty_list) {
        return;
    }
    let Evaluation::Allowed(execution) = evaluate(&facts, of(level), &mut Steps::unlimited()) else {
        return;
    };
    let right = witness_of(&facts, level, &execution);
    let verdict = Verdict::Allowed(right.clone());
    assert_eq!(certify(history, level, &verdict), Ok(()), "{level} {right:?}\n{}", show(history));
    for mutated in mutate_witness(history, &right) {
        if !is_comparable(&facts, level, &mutated) {
            continue;
        }
        let is_right = is_right(&facts, level, &mutated);
        assert_eq!(accepts(history, level, &mutated), is_right, "{level} {mutated:?}\n{}", show(history));
        counts.right += usize::from(is_right);
        counts.wrong += usize::from(!is_right);
    }
}

#[test]
fn of_mutated_witnesses_exactly_the_right_ones_are_accepted() {
    let mut counts = vec![Counts::default(); Level::usual().len()];
    let mut random = Random::new(7);
    for _ in 0..1500 {
        let history = random.history(Shape { aborted: 10, ..Shape::MIXED });
        for (idx, level) in Level::usual().into_iter().enumerate() {
            try_level(&history, level, &mut counts[idx]);
        }
    }
    assert!(counts.iter().all(|it| it.right > 100 && it.wrong > 1000), "{counts:?}");
}

#[test]
fn the_same_on_small_histories_with_unique_values() {
    let mut counts = vec![Counts::default(); Level::usual().len()];
    let mut nth = 0;
    each_history(3, 2, 2, &mut |history| {
        nth += 1;
        if nth % 12 == 0 {
            let idx = nth / 12 % counts.len();
            try_level(history, Level::usual()[idx], &mut counts[idx]);
        }
    });
    assert!(counts.iter().all(|it| it.right > 20 && it.wrong > 200), "{counts:?}");
}

#[test]
fn no_schedule_of_a_forbidden_history_is_accepted() {
    let history = history("a: r(x,0) w(x,1)\n b: r(x,0) w(x,2)");
    let [a, b] = [1, 2].map(TxnId::from_index);
    let witness = |order: [TxnId; 2]| Witness { schedule: Schedule::Order(order.to_vec()), sources: Arc::default() };
    assert!(!accepts(&history, Level::Serializable, &witness([a, b])));
    assert!(!accepts(&history, Level::Serializable, &witness([b, a])));
    assert!(!accepts(&history, Level::SnapshotIsolation, &witness([a, b])));
}

#[test]
fn a_list_with_the_elements_of_one_transaction_turned_around_never_was() {
    let history = history("a: l(x,1) l(x,2)\n b: l(x)2.1");
    let order = [1, 2].map(TxnId::from_index).to_vec();
    let witness = Witness { schedule: Schedule::Order(order), sources: Arc::default() };
    assert!(!accepts(&history, Level::ReadUncommitted, &witness));
    let answer = evaluate(&Facts::new(&history), of(Level::ReadUncommitted), &mut Steps::unlimited());
    assert_eq!(answer.is_allowed(), Some(false));
}

#[test]
fn a_list_read_of_an_optional_transaction_is_taken_both_ways() {
    // c can only have read from u, since it wrote another y after its first one. So u took place, and saw 2 before 1.
    let text = "a: l(x,1)\n a: l(x,2)\n u unknown: l(x)2.1 w(y,1)\n c: w(y,1)\n c: w(y,2)\n c: r(y,1)";
    let history = history(text);
    let answer = evaluate(&Facts::new(&history), of(Level::Serializable), &mut Steps::unlimited());
    // What u saw orders the appends only if u took place, and if it did not, c read what nobody wrote.
    assert_eq!(answer.is_allowed(), Some(false));
}

#[test]
fn an_order_of_transactions_is_no_witness_of_a_level_with_snapshots() {
    let history = history("a: r(x,0) w(x,1)\nb: r(x,0) w(x,2)");
    let facts = Facts::new(&history);
    let source = |it: &iso_history::ExternalRead| Source { read: it.op, writer: TxnId::INITIAL };
    let sources: Vec<Source> = facts.reads().iter().map(source).collect();
    let witness = Witness { schedule: Schedule::Order(history.txns().collect()), sources: shared(sources) };
    for level in Level::ALL.into_iter().filter(|it| it.implies(Level::PrefixConsistency)) {
        assert!(!accepts(&history, level, &witness), "{level}");
    }
    assert!(accepts(&history, Level::CausalConsistency, &witness));
}

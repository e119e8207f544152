//! Shows that a core is forbidden whatever its lists mean and whoever committed, so that `certify` can replay it at any size.
//!
//! As the verdict does, it looks first at what is certain, without the list reads of several meanings, and then at each
//! meaning of the first of them. What has one meaning is derived. Cost: a decision and a derivation for each meaning.

use crate::ambiguous::decide_case;
use crate::decision::{Decision, within};
use crate::derivation::derive;
use crate::local::refute_by_one_read;
use crate::mixed::{mixed_reads, with_chosen};
use crate::pieces::pieces_of_counted;
use iso_evidence::{Budget, Derivation, Grounds, Refutation, StopReason, Verdict, certify_facts};
use iso_history::{Facts, History, LocalKind, OpId, Outcome, Projection, Standing, TxnId};
use iso_spec::Level;
use std::collections::BTreeSet;

/// A derivation is given up after so many questions to the budget, if there may be another way: a minute or two.
const MAX_QUESTIONS: u32 = 2_000_000;

/// Why these facts are forbidden; none if that was not found out in time, or if it does not take long to see.
pub(crate) fn grounds_for(
    facts: &Facts<'_>,
    level: Level,
    is_seen_without: impl FnOnce() -> bool,
    budget: &Budget<'_>,
) -> Option<Grounds> {
    let budget = budget.for_derivation();
    match within(MAX_QUESTIONS, &budget, |budget| Ok(grounds(facts, level, budget))) {
        Ok(Some(Some(grounds))) => Some(grounds),
        // Either there is none, or it takes longer.
        Ok(None) if !is_seen_without() => grounds(facts, level, &budget),
        _ => None,
    }
}

/// Does `certify` accept a refutation as it is?
pub(crate) fn is_certified(facts: &Facts<'_>, level: Level, refutation: &Refutation) -> bool {
    certify_facts(facts, level, &Verdict::Forbidden(refutation.clone())).is_ok()
}

/// A derivation within a while.
pub(crate) fn derive_soon(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Option<Derivation> {
    within(MAX_QUESTIONS, &budget.for_derivation(), |budget| Ok(derive_level(facts, level, budget))).ok().flatten()?
}

/// Why these facts are forbidden; none if time runs out.
pub(crate) fn grounds(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Option<Grounds> {
    if level == Level::ReadUncommitted && !facts.history().mixed_lists().is_empty() {
        return mixed(facts.history(), &mixed_reads(facts.history()), &mut Vec::new(), budget);
    }
    let local = refute_by_one_read(facts, level).and_then(|it| it.local);
    if local.is_some_and(|it| !matches!(it.kind, LocalKind::Unrepeatable { .. })) {
        return Some(Grounds::OneRead);
    }
    if facts.ambiguous_list().is_none() {
        // Derivations of these levels are about pieces of transactions, whose outcome must be known.
        let mut txns = facts.txns().filter(|_| level.is_of_databases());
        return match txns.find(|it| facts.standing(*it) == Standing::Optional) {
            Some(txn) => either_way(facts.history(), level, txn, budget),
            None => derive_level(facts, level, budget).map(Grounds::Derivation),
        };
    }
    let open = facts.ambiguous_lists().into_iter().collect();
    match part_without(facts, level, &open, budget).ok()? {
        Some(part) => Some(part),
        None => each(facts.cases(), level, budget),
    }
}

/// Why each of these histories is forbidden.
fn each(cases: Vec<History>, level: Level, budget: &Budget<'_>) -> Option<Grounds> {
    let of_case = |it: History| grounds(&Facts::new(&it), level, budget);
    cases.into_iter().map(of_case).collect::<Option<_>>().map(Grounds::Cases)
}

/// Why the history is forbidden whether a transaction committed or not.
fn either_way(history: &History, level: Level, txn: TxnId, budget: &Budget<'_>) -> Option<Grounds> {
    budget.check().ok()?;
    let grounds_if = |outcome| grounds(&Facts::new(&history.with_outcome(txn, outcome)), level, budget).map(Box::new);
    let (committed, aborted) = (grounds_if(Outcome::Committed)?, grounds_if(Outcome::Aborted)?);
    Some(Grounds::Outcomes { txn, committed, aborted })
}

/// Why read uncommitted forbids a history, where it is chosen which elements of the first reads were rolled back.
fn mixed(
    history: &History,
    reads: &[(OpId, Vec<usize>)],
    chosen: &mut Vec<u64>,
    budget: &Budget<'_>,
) -> Option<Grounds> {
    let level = Level::ReadUncommitted;
    let case = with_chosen(history, reads, chosen);
    let Some((_, places)) = reads.get(chosen.len()) else { return grounds(&Facts::new(&case), level, budget) };
    let facts = Facts::new(&case);
    let open = reads[chosen.len()..].iter().map(|it| it.0).collect();
    if let Some(part) = part_without(&facts, level, &open, budget).ok()? {
        return Some(part);
    }
    let mut cases = Vec::new();
    for bits in 0..1_u64.checked_shl(places.len() as u32)? {
        budget.check().ok()?;
        chosen.push(bits);
        cases.push(mixed(history, reads, chosen, budget)?);
        chosen.pop();
    }
    Some(Grounds::Cases(cases))
}

/// Why the history is forbidden without these reads; none if it is not. The error says that time ran out.
fn part_without(
    facts: &Facts<'_>,
    level: Level,
    reads: &BTreeSet<OpId>,
    budget: &Budget<'_>,
) -> Result<Option<Grounds>, StopReason> {
    let txns: Vec<TxnId> = facts.txns().collect();
    let part = Projection::new(facts, &txns, reads);
    if let Decision::Allowed(_) = decide_case(&part.history, level, budget)? {
        return Ok(None);
    }
    let because = grounds(&Facts::new(&part.history), level, budget).ok_or(StopReason::Steps)?;
    Ok(Some(Grounds::Part { txns, ops: part.ops, because: Box::new(because) }))
}

/// A derivation for a level, or for the pieces that it is about.
fn derive_level(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Option<Derivation> {
    let pieces = match level.snapshots() {
        Some(snapshots) => pieces_of_counted(facts, |it| it.pieces(snapshots))?,
        None if level == Level::RowSnapshots => pieces_of_counted(facts, History::snapshot_pieces)?,
        None => return derive(facts, level, budget),
    };
    derive(&Facts::new(&pieces.history), Level::Serializable, budget)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check_facts;
    use crate::test_store::{Random, history};
    use iso_evidence::certify;
    use iso_history::{HistoryBuilder, Place};
    use std::cell::Cell;
    use std::sync::Arc;

    /// A refutation of the whole history, which nobody had time to make smaller.
    fn refuted(facts: &Facts<'_>, level: Level) -> Option<Refutation> {
        let n_asked = Cell::new(0);
        let stop = || {
            n_asked.set(n_asked.get() + 1);
            (n_asked.get() > 20_000).then_some(StopReason::Steps)
        };
        let at_once = || Some(StopReason::Timeout);
        match check_facts(facts, level, &Budget::new(&stop).explained_until(&at_once)) {
            Verdict::Forbidden(refutation) => Some(refutation),
            _ => None,
        }
    }

    /// Sessions that read lists and append to them, some elements twice. Neighbours in a session are exchanged once.
    fn lists(random: &mut Random, n_txns: usize, unknown: usize) -> History {
        let mut store: Vec<Vec<i32>> = vec![Vec::new(); 1 + random.below(3)];
        let (mut n_elements, mut txns) = (0_i32, Vec::new());
        for _ in 0..n_txns {
            let (mut after, mut ops) = (store.clone(), Vec::new());
            for _ in 0..=random.below(3) {
                let key = random.below(store.len());
                if random.percent(50) {
                    ops.push((key, None, after[key].clone()));
                    continue;
                }
                n_elements += i32::from(!random.percent(20) || n_elements == 0);
                let element = if random.percent(20) { 1.max(n_elements / 2) } else { n_elements };
                after[key].push(element);
                ops.push((key, Some(element), Vec::new()));
            }
            let outcome = match random.below(100) {
                it if it < unknown => Outcome::Indeterminate,
                it if it < 2 * unknown => Outcome::Aborted,
                _ => Outcome::Committed,
            };
            if outcome == Outcome::Committed || (outcome == Outcome::Indeterminate && random.percent(50)) {
                store = after;
            }
            txns.push((random.below(4), ops, outcome));
        }
        let moved = random.below(n_txns - 1);
        if let Some(next) = (moved + 1..n_txns).find(|it| txns[*it].0 == txns[moved].0) {
            txns.swap(moved, next);
        }
        let mut builder = HistoryBuilder::new();
        for (session, ops, outcome) in txns {
            let session = builder.session(&format!("s{session}"));
            builder.begin(session, Place::default());
            for (key, appended, seen) in ops {
                let key = builder.key(format!("x{key}").as_str().into());
                if let Some(element) = appended {
                    let element = builder.value(i64::from(element).into());
                    builder.append(key, element);
                    continue;
                }
                let seen: Vec<_> = seen.into_iter().map(|it| builder.value(i64::from(it).into())).collect();
                builder.read_list(key, seen);
            }
            builder.end(outcome);
        }
        builder.finish().unwrap()
    }

    /// How often grounds were told by meanings, and how often not.
    fn tally(unknown: usize, n_seeds: u64) -> [usize; 2] {
        let mut n_certified = [0; 2];
        for seed in 0..n_seeds {
            let random = &mut Random::new(seed);
            let n_txns = 6 + random.below(20);
            let history = lists(random, n_txns, unknown);
            let facts = Facts::new(&history);
            for level in Level::usual().into_iter().filter(|it| !it.needs_times()) {
                let Some(refutation) = refuted(&facts, level) else { continue };
                let is_told = matches!(refutation.grounds.as_deref(), Some(Grounds::Cases(_) | Grounds::Part { .. }));
                let verdict = Verdict::Forbidden(refutation);
                assert_eq!(certify(&history, level, &verdict), Ok(()), "{level} of seed {seed}");
                n_certified[usize::from(!is_told)] += 1;
            }
        }
        n_certified
    }

    #[test]
    fn lists_with_several_meanings_are_certified_at_any_size() {
        for n_certified in [tally(0, 60), tally(10, 60)] {
            assert!(n_certified.iter().all(|it| *it > 10), "{n_certified:?}");
        }
    }

    /// Appends and list reads of one transaction.
    fn add(builder: &mut HistoryBuilder, session: &str, appended: &[(&str, i64)], read: &[(&str, Vec<i64>)]) {
        let outcome = if session == "aborted" { Outcome::Aborted } else { Outcome::Committed };
        let session = builder.session(session);
        builder.begin(session, Place::default());
        for (list, element) in appended {
            let (list, element) = (builder.key((*list).into()), builder.value((*element).into()));
            builder.append(list, element);
        }
        for (list, elements) in read {
            let elements: Vec<_> = elements.iter().map(|it| builder.value((*it).into())).collect();
            let list = builder.key((*list).into());
            builder.read_list(list, elements);
        }
        builder.end(outcome);
    }

    #[test]
    fn a_dozen_elements_that_may_have_been_rolled_back_are_certified() {
        let again: Vec<i64> = (100..112).collect();
        let of_x: Vec<(&str, i64)> = again.iter().map(|it| ("x", *it)).collect();
        let mut builder = HistoryBuilder::new();
        add(&mut builder, "aborted", &of_x, &[]);
        add(&mut builder, "again", &[&of_x[..], &[("y", 1), ("z", 1)]].concat(), &[]);
        // If x has elements of the second one, it comes before this one in x, and after it in y.
        add(&mut builder, "first", &[("x", 1), ("y", 2)], &[]);
        // If it has none of them, it comes after this one in x, and before it in z.
        add(&mut builder, "last", &[("x", 3), ("z", 2)], &[]);
        add(&mut builder, "reader", &[], &[("x", [again, vec![1, 3]].concat()), ("y", vec![2, 1])]);
        add(&mut builder, "other reader", &[], &[("z", vec![1, 2])]);
        let history = builder.finish().unwrap();
        let verdict = check_facts(&Facts::new(&history), Level::ReadUncommitted, &Budget::unlimited());
        assert!(matches!(verdict, Verdict::Forbidden(_)), "{verdict:?}");
        assert_eq!(certify(&history, Level::ReadUncommitted, &verdict), Ok(()));
    }

    /// The whole as its own core, with these grounds.
    fn is_accepted(history: &History, level: Level, grounds: Grounds) -> bool {
        let facts = Facts::new(history);
        let txns: Vec<TxnId> = facts.txns().collect();
        let ops = Projection::new(&facts, &txns, &BTreeSet::new()).ops;
        let (anomalies, cycle, grounds) = (Vec::new(), Vec::new(), Some(Arc::new(grounds)));
        let refutation = Refutation { anomalies, txns, ops, local: None, cycle, proof: None, grounds };
        is_certified(&facts, level, &refutation)
    }

    #[test]
    fn grounds_that_leave_out_a_meaning_are_refused() {
        // Whoever of a and b appended the 1 of x that c saw is older than what c read of y.
        let lines = ["a ax1 ay1", "b ax1 ay2", "d ly12", "c lx1 ly"];
        let (level, budget) = (Level::ReadAtomic, Budget::unlimited());
        let forbidden = history(&lines);
        let whole = grounds(&Facts::new(&forbidden), level, &budget).unwrap();
        let Grounds::Cases(cases) = &whole else { panic!("{whole:?}") };
        assert!(is_accepted(&forbidden, level, whole.clone()));
        assert!(!is_accepted(&forbidden, level, Grounds::Cases(cases[1..].to_vec())));
        assert!(!is_accepted(&forbidden, level, Grounds::Cases(Vec::new())));
        assert!(!is_accepted(&forbidden, level, cases[0].clone()));
        assert!(!is_accepted(&forbidden, level, Grounds::OneRead));
        // If one more may have appended it, there is one more meaning.
        let allowed = history(&[&lines[..], &["e ax1"]].concat());
        assert_eq!(grounds(&Facts::new(&allowed), level, &budget), None);
        assert!(!is_accepted(&allowed, level, whole.clone()));
        let one_more = [cases.clone(), vec![cases[0].clone()]].concat();
        assert!(!is_accepted(&allowed, level, Grounds::Cases(one_more)));
    }
}

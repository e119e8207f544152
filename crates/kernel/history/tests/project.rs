//! Parts of a history keep names, places and values, and every read that stays keeps all who may have written it.
//!
//! That a forbidden part makes the whole forbidden is tested where the levels are known, in `crates/kernel/evidence`.

mod common;

use common::{Random, Shape, history, show};
use iso_history::{Facts, History, Op, OpId, Outcome, Projection, TxnId};
use std::collections::BTreeSet;

fn txns<const N: usize>(numbers: [usize; N]) -> Vec<TxnId> {
    numbers.into_iter().map(TxnId::from_index).collect()
}

/// The operations of the part with these transactions, without these operations.
fn part<const N: usize>(text: &str, keep: [usize; N], without: &[usize]) -> String {
    let whole = history(text);
    let without: BTreeSet<OpId> = without.iter().map(|it| OpId::from_index(*it)).collect();
    ops(&Projection::new(&Facts::new(&whole), &txns(keep), &without).history)
}

fn ops(history: &History) -> String {
    let of = |txn: TxnId| history.ops(txn).map(|it| history.render_op(it)).collect::<Vec<_>>().join(" ");
    history.txns().map(of).collect::<Vec<_>>().join(" | ")
}

#[test]
fn a_read_stays_only_with_all_who_may_have_written_it() {
    let text = "a: w(x,1)\n b: w(x,1)\n c: r(x,1) r(y,0)";
    assert_eq!(part(text, [1, 2, 3], &[]), "w(x,1) | w(x,1) | r(x,1) r(y,0)");
    assert_eq!(part(text, [1, 3], &[]), "w(x,1) | r(y,0)");
    assert_eq!(part(text, [1, 2, 3], &[0]), " | w(x,1) | r(y,0)");
    assert_eq!(part(text, [1, 2, 3], &[2]), "w(x,1) | w(x,1) | r(y,0)");
}

#[test]
fn what_says_nothing_about_others_goes() {
    assert_eq!(part("a: w(x,1) r(x,1) w(x,2)\n b: r(x,2)", [1, 2], &[]), "w(x,2) | r(x,2)");
    assert_eq!(part("a: w(x,1) w(x,2)\n b: r(x,2)", [1, 2], &[0]), "w(x,2) | r(x,2)");
    assert_eq!(part("a: w(x,1) w(x,2)\n b: r(x,2)", [1, 2], &[1]), " | ");
    assert_eq!(part("a: r(x,9) w(y,1)", [1], &[]), "w(y,1)");
}

#[test]
fn list_reads_lose_the_elements_of_those_who_go() {
    let text = "a: l(x,1)\n b: l(x,2) l(x,3)\n c: l(x)1.2.3\n d: l(x,4) l(x)1.4";
    assert_eq!(part(text, [2, 3], &[]), "append(x,2) append(x,3) | r(x,[2,3])");
    assert_eq!(part(text, [1, 3], &[]), "append(x,1) | ");
    assert_eq!(part(text, [1, 2, 3], &[1]), "append(x,1) |  | ");
    assert_eq!(part(text, [1, 4], &[]), "append(x,1) | append(x,4) r(x,[1,4])");
}

#[test]
fn verbatim_keeps_what_stands_for_itself() {
    let whole = history("a aborted: w(x,1) w(x,2)\n b: w(x,3) r(x,1)\n c: l(y,1)\n d: l(y,2)\n e: l(y)1.2.7");
    let all = Projection::verbatim(&whole, &whole.txns().collect::<Vec<_>>(), |_| true);
    assert_eq!(all.history, whole);
    let some = Projection::verbatim(&whole, &txns([1, 2, 4, 5]), |it| it.index() != 0);
    assert_eq!(ops(&some.history), "w(x,2) | w(x,3) r(x,1) | append(y,2) | r(y,[2,7])");
    assert_eq!(some.history.outcome(TxnId::from_index(1)), Outcome::Aborted);
    assert_eq!(some.txns, txns([0, 1, 2, 4, 5]));
}

#[test]
fn names_places_times_and_outcomes_survive() {
    let mut random = Random::new(9);
    for _ in 0..1500 {
        let whole = random.history(Shape::MIXED);
        let facts = Facts::new(&whole);
        let keep = random.some_of(whole.txns(), 75);
        let all_ops = || whole.txns().flat_map(|it| whole.ops(it));
        let without: BTreeSet<OpId> = random.some_of(all_ops(), 20).into_iter().collect();
        let part = Projection::new(&facts, &keep, &without);
        let message = || format!("{}\npart\n{}", show(&whole), show(&part.history));
        assert_eq!(part.txns[1..], keep, "{}", message());
        for txn in part.history.txns() {
            let old = part.txns[txn.index()];
            let session = |history: &History, txn| history.session_name(history.session_of(txn).unwrap()).to_owned();
            assert_eq!(session(&part.history, txn), session(&whole, old));
            assert_eq!(part.history.place(txn), whole.place(old));
            assert_eq!(part.history.outcome(txn), whole.outcome(old));
            assert_eq!((part.history.begin(txn), part.history.end(txn)), (whole.begin(old), whole.end(old)));
            for other in part.history.txns() {
                let is_ordered = whole.is_session_ordered(old, part.txns[other.index()]);
                assert_eq!(part.history.is_session_ordered(txn, other), is_ordered, "{}", message());
            }
        }
        check_ops(&whole, &facts, &part, &without, &message());
    }
}

fn check_ops(whole: &History, facts: &Facts<'_>, part: &Projection, without: &BTreeSet<OpId>, message: &str) {
    assert!(part.ops.is_sorted() && part.ops.iter().all(|it| !without.contains(it)), "{message}");
    let part_facts = Facts::new(&part.history);
    for (idx, old) in part.ops.iter().enumerate() {
        let op = OpId::from_index(idx);
        assert_eq!(part.txns[part.history.txn_of(op).index()], whole.txn_of(*old), "{message}");
        let (new_key, old_key) = (part.history.op(op).key(), whole.op(*old).key());
        assert_eq!(part.keys[new_key.index()], old_key, "{message}");
        assert_eq!(part.history.key_name(new_key), whole.key_name(old_key), "{message}");
        if !matches!(whole.op(*old), Op::ReadList { .. }) {
            assert_eq!(part.history.render_op(op), whole.render_op(*old), "{message}");
        }
    }
    for (idx, read) in part_facts.reads().iter().enumerate() {
        let old_op = part.ops[read.op.index()];
        let old = facts.reads().iter().position(|it| it.op == old_op).expect("it was external in the whole");
        let candidates: Vec<TxnId> = part_facts.candidates(idx).iter().map(|it| part.txns[it.index()]).collect();
        let is_known = candidates.iter().all(|it| facts.candidates(old).contains(it));
        assert!(is_known && !candidates.is_empty(), "{message}");
    }
}

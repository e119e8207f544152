//! Every meaning of a history in which elements were appended to a list more than once: each append gets a value of its
//! own, and each element that was read becomes any of those that it may be.

use crate::draft::{Action, Draft, Key};

/// More meanings than this are too many.
const MAX_MEANINGS: usize = 3_000;

/// All meanings, if they are not too many. A history without repeated elements has one.
pub(crate) fn meanings(draft: &Draft) -> Option<Vec<Draft>> {
    let mut told_apart = draft.clone();
    // For each append: list, old value, new value.
    let mut appended: Vec<(Key, i64, i64)> = Vec::new();
    for action in told_apart.txns.iter_mut().flat_map(|it| &mut it.actions) {
        if let Action::Append(key, value) = action {
            let fresh = 1_000 + appended.len() as i64;
            appended.push((*key, *value, fresh));
            *value = fresh;
        }
    }
    let mut all = vec![told_apart];
    for (txn, nth) in places(draft) {
        let Action::ReadList(key, values) = &draft.txns[txn].actions[nth] else { continue };
        for (place, value) in values.iter().enumerate() {
            let may_be: Vec<i64> = appended.iter().filter(|it| it.0 == *key && it.1 == *value).map(|it| it.2).collect();
            // What nobody appended stays what it is.
            let may_be = if may_be.is_empty() { vec![*value] } else { may_be };
            if all.len() * may_be.len() > MAX_MEANINGS {
                return None;
            }
            let with = |it: &Draft| may_be.iter().map(|is| with_element(it, txn, nth, place, *is)).collect::<Vec<_>>();
            all = all.iter().flat_map(with).collect();
        }
    }
    Some(all)
}

fn places(draft: &Draft) -> Vec<(usize, usize)> {
    let of_txn = |idx: usize| (0..draft.txns[idx].actions.len()).map(move |nth| (idx, nth));
    (0..draft.txns.len()).flat_map(of_txn).collect()
}

fn with_element(draft: &Draft, txn: usize, nth: usize, place: usize, value: i64) -> Draft {
    let mut changed = draft.clone();
    if let Action::ReadList(_, values) = &mut changed.txns[txn].actions[nth] {
        values[place] = value;
    }
    changed
}

//! Blocks of sessions, and what readers did not see, compared with all sessions at once.

use super::super::common::{each_history, show};
use super::super::sources::NamedSources;
use super::super::unseen::{check_in_groups, check_unseen};
use super::super::versions::check_sources;
use super::{Causes, check_in_blocks};
use crate::{Source, Sources};

use iso_history::{Facts, TxnId};

#[test]
fn it_does_not_matter_how_the_past_is_looked_at() {
    let mut n_wrong = [0, 0];
    let mut n_histories = 0;
    each_history(3, 2, 3, &mut |history| {
        let facts = Facts::new(history);
        let order: Vec<TxnId> = history.txns().collect();
        let source = |(idx, read): (usize, &iso_history::ExternalRead)| {
            facts.candidates(idx).first().map(|writer| Source { read: read.op, writer: *writer })
        };
        let sources: Sources = facts.reads().iter().enumerate().filter_map(source).collect();
        let sources = NamedSources::new(history, &sources).unwrap();
        // The order of the input is no schedule of every history.
        let Ok(scheduled) = check_sources(history, &order, &sources) else { return };
        n_histories += 1;
        for (nth, causes) in [Causes::SessionsAndSources, Causes::AlsoOlderVersions].into_iter().enumerate() {
            let is_right = [1, 2, 100].map(|it| check_in_blocks(&scheduled, causes, it).is_ok());
            assert!(is_right.iter().all(|it| *it == is_right[0]), "{causes:?} {is_right:?}\n{}", show(history));
            for size in [1, 2, 64] {
                let is_same = check_in_groups(&scheduled, causes, size).is_ok() == is_right[0];
                assert!(is_same, "{causes:?}, groups of {size}\n{}", show(history));
            }
            let is_same = check_unseen(&scheduled, causes).is_none_or(|it| it.is_ok() == is_right[0]);
            assert!(is_same, "{causes:?}\n{}", show(history));
            n_wrong[nth] += usize::from(!is_right[0]);
        }
    });
    assert!(
        n_wrong.iter().all(|it| *it > n_histories / 10 && *it < n_histories * 9 / 10),
        "{n_wrong:?} of {n_histories}"
    );
}

//! The problems of the paper on Isolde, by every method.

use crate::all_cases;
use crate::ask::{ask, level, name, smaller};
use crate::oracle::{Expected, paper_problems};
use iso_separate::{Method, Question, Scope, Size};
use iso_spec::Spec;

const BY_CANDIDATES: Method = Method { derived_witnesses: false, fixed_order: true, merging: true };

/// Asserts the paper's verdicts at so many transactions, exactly or up to.
fn solve(n_txns: usize, size: Size, method: Method) {
    let find = |it: &&'static str| level(it);
    for problem in paper_problems() {
        let allowed: Vec<&Spec> = problem.allowing.iter().map(find).collect();
        let forbidden: Vec<&Spec> = problem.forbidding.iter().map(find).collect();
        let scope = Scope { size, ..Scope::up_to(n_txns, 5, 5).as_in_isolde() };
        let question = Question { allowed, forbidden, scope, method };
        let reply = ask(&question);
        let name = format!("{} at {n_txns} ({size:?}) by {method:?}", name(&question));
        assert!(reply.faults.is_empty(), "{name}: {:?}", reply.faults);
        let is_expected = match problem.expected {
            Expected::Separated => true,
            Expected::SeparatedByFour => n_txns >= 4,
            Expected::Never => false,
        };
        assert_eq!(reply.found.is_some(), is_expected, "{name}");
        let Some(found) = reply.found else { continue };
        if size == Size::Exactly {
            assert_eq!(found.n, n_txns, "{name}: {}", found.show());
        } else {
            let part = smaller(&question, reply.aspects, &found).map(|it| it.show());
            assert_eq!(part, None, "{name}: {} has a part", found.show());
        }
    }
}

#[test]
fn the_papers_problems_have_the_papers_answers() {
    for n_txns in 3..=5 {
        solve(n_txns, Size::Exactly, Method::default());
        solve(n_txns, Size::UpTo, Method::default());
    }
}

#[test]
fn the_papers_problems_have_the_papers_answers_by_candidates() {
    for n_txns in if all_cases() { 3..=5 } else { 3..=4 } {
        solve(n_txns, Size::Exactly, BY_CANDIDATES);
        solve(n_txns, Size::Exactly, Method { merging: false, ..BY_CANDIDATES });
    }
}

#[test]
fn the_papers_problems_have_the_papers_answers_without_a_fixed_order() {
    for n_txns in 3..=4 {
        solve(n_txns, Size::Exactly, Method { fixed_order: false, ..Method::default() });
        solve(n_txns, Size::UpTo, Method { fixed_order: false, ..Method::default() });
    }
}

//! Decides levels that only their text defines, for histories of any size.
//!
//! A small history is decided by the reference evaluator. For a large one the levels that have engines are asked first:
//! their orders and cores are guesses, and a guess that certify accepts against the text is an answer, whatever level it
//! came from. So a text that says the same as a known level, or nearly, is decided as fast as that one. What is left is
//! searched for, if the witness follows from one order.

use crate::check::{Answer, Certifying, NotCertified, certified};
use crate::reference;
use iso_evidence::{Budget, Event, Note, Refutation, Schedule, Stage, StopReason, Verdict, Witness, certify_spec};
use iso_form::{mentions, mentions_real_time};
use iso_history::{Facts, PieceKind, TxnId};
use iso_realize::{Realized, World, execution, realize};
use iso_spec::{DirtyReads, Given, HiddenRows, Level, Spec};

/// Relations between more transactions than this take too much memory: a bit for each pair.
const MAX_TXNS: usize = 20_000;

/// The answer for a level that is given by its text.
pub(crate) fn answer(facts: &Facts<'_>, spec: &Spec, certifying: Certifying, budget: &Budget<'_>) -> Answer {
    let question = Question { facts, spec, certifying, budget };
    match reference::decide_soon(facts, spec, budget) {
        Some(verdict) => question.answer(verdict),
        None => question.large(),
    }
}

#[derive(Clone, Copy)]
struct Question<'q> {
    facts: &'q Facts<'q>,
    spec: &'q Spec,
    certifying: Certifying,
    budget: &'q Budget<'q>,
}

/// An order that explains the history at some level, and with whom.
#[derive(PartialEq, Eq)]
struct Guess {
    world: World,
    order: Vec<TxnId>,
}

impl Question<'_> {
    fn answer(&self, verdict: Verdict) -> Answer {
        let verdict = match verdict {
            Verdict::Allowed(_) if mentions_real_time(self.spec) && !self.facts.history().has_real_time() => {
                Verdict::Unknown(StopReason::Unsupported(NO_REAL_TIME.to_owned()))
            }
            verdict => verdict,
        };
        let check = |it: &Verdict| certify_spec(self.facts, self.spec, it, self.budget);
        certified(verdict, self.spec.name(), self.certifying, self.budget, check)
    }

    /// The answer without the reference evaluator, as far as there is one.
    fn large(self) -> Answer {
        let history = self.facts.history();
        let is_clean = self.spec.dirty_reads() == DirtyReads::Forbidden;
        let locked = if mentions(self.spec, Given::Newest) { history.with_locked_lists() } else { None };
        let favourable = match self.spec.hidden_rows() {
            _ if !is_clean => history.favouring_dirty_reads(),
            HiddenRows::Allowed => locked.as_ref().unwrap_or(history).with_hidden_rows(),
            HiddenRows::Forbidden => None,
        };
        let favourable = favourable.or(locked.filter(|_| is_clean));
        match favourable.as_ref().map(Facts::new) {
            Some(facts) => Question { facts: &facts, ..self }.guess_and_search(),
            None => self.guess_and_search(),
        }
    }

    fn guess_and_search(&self) -> Answer {
        let (guesses, cores) = self.guesses();
        if let Some(refutation) = cores.iter().find_map(|it| self.refutation(it)) {
            return self.answer(Verdict::Forbidden(refutation));
        }
        if self.facts.ambiguous_list().is_some() {
            return self.each_case();
        }
        let n_txns = self.facts.txns().count();
        if n_txns > MAX_TXNS {
            return Answer::Undecided(StopReason::Unsupported(too_many(self.spec, n_txns)));
        }
        self.budget.note(Note::Begins(Stage::Search));
        if let Some(answer) = guesses.iter().find_map(|it| self.explained(it)) {
            return answer;
        }
        match self.search(guesses.first()) {
            Ok(verdict) => self.answer(verdict),
            Err(StopReason::Unsupported(why)) => {
                self.answer(reference::decide(self.facts, self.spec, &why, self.budget))
            }
            Err(reason) => Answer::Undecided(reason),
        }
    }

    /// A list read has several meanings: what explains the history in one of the cases explains it. No core shows that
    /// all of them are forbidden.
    fn each_case(&self) -> Answer {
        for case in self.facts.cases() {
            if let Err(reason) = self.budget.check() {
                return Answer::Undecided(reason);
            }
            let answer = Question { facts: &Facts::new(&case), ..*self }.large();
            if !matches!(answer, Answer::Forbidden(_)) {
                return answer;
            }
        }
        Answer::Undecided(StopReason::Unsupported(
            "a list read has several meanings, each of which seems to be forbidden".to_owned(),
        ))
    }

    /// The orders and cores that engines find at their levels: orders of the strongest levels first, and cores of the
    /// weakest.
    fn guesses(&self) -> (Vec<Guess>, Vec<Refutation>) {
        let mut verdicts = Vec::new();
        iso_check::check_levels(self.facts, &Level::ALL, self.budget, &mut |level, verdict| {
            verdicts.push((level, verdict.clone()));
        });
        verdicts.sort_by_key(|it| it.0);
        let (mut guesses, mut cores) = (Vec::new(), Vec::new());
        for (_, verdict) in verdicts {
            match verdict {
                Verdict::Allowed(witness) => guesses.extend(guess(self.facts, &witness)),
                Verdict::Forbidden(refutation) if refutation.local.is_none() => cores.push(refutation),
                _ => {}
            }
        }
        guesses.reverse();
        guesses.dedup();
        cores.dedup_by(|a, b| a.txns == b.txns);
        (guesses, cores)
    }

    /// The answer that this order shows, if it explains the history at this level, too.
    fn explained(&self, guess: &Guess) -> Option<Answer> {
        let found = execution(self.facts, self.spec, &guess.world, &guess.order, self.budget).ok()?;
        let verdict = Verdict::Allowed(reference::witness(found));
        // Nobody claims that a guess is right, so it is compared with the text in any case.
        if self.certifying == Certifying::No {
            certify_spec(self.facts, self.spec, &verdict, self.budget).ok()?;
        }
        let answer = self.answer(verdict);
        let is_wrong = |it: &Answer| {
            matches!(it, Answer::Refused(_) | Answer::NotCertified { why: NotCertified::TooLarge(_), .. })
        };
        (!is_wrong(&answer)).then_some(answer)
    }

    /// A core of another level, if it is one of this level.
    fn refutation(&self, other: &Refutation) -> Option<Refutation> {
        if !self.spec.is_kept_by_parts() {
            return None;
        }
        reference::smaller_core(self.facts, self.spec, (&other.txns, &other.ops), self.budget)
    }

    fn search(&self, guess: Option<&Guess>) -> Result<Verdict, StopReason> {
        let only = World::only(self.facts);
        let world = only.as_ref().or(guess.map(|it| &it.world)).ok_or_else(several_writers)?;
        let hint = guess.map_or(&[][..], |it| &it.order);
        Ok(match realize(self.facts, self.spec, world, hint, self.budget)? {
            Realized::Execution(found) => Verdict::Allowed(reference::witness(found)),
            Realized::Nothing { txns, ops } => {
                let core = reference::smaller_core(self.facts, self.spec, (&txns, &ops), self.budget);
                let nothing = if only.is_none() { several_writers() } else { no_small_core() };
                Verdict::Forbidden(core.ok_or(nothing)?)
            }
        })
    }
}

fn too_many(spec: &Spec, n_txns: usize) -> String {
    format!(
        "{} is given by its text, which is compared with executions of up to {MAX_TXNS} transactions, and there are \
         {n_txns}",
        spec.name()
    )
}

fn several_writers() -> StopReason {
    StopReason::Unsupported(
        "the search does not know what to do with reads that several transactions may have written".to_owned(),
    )
}

fn no_small_core() -> StopReason {
    StopReason::Unsupported("no order seems to fit, but the search found no small core that shows it".to_owned())
}

fn guess(facts: &Facts<'_>, witness: &Witness) -> Option<Guess> {
    let order: Vec<TxnId> = match &witness.schedule {
        Schedule::Order(order) => order.clone(),
        Schedule::Events(events) => {
            let commit = |it: &Event| match it {
                Event::Commit(txn) => Some(*txn),
                Event::Snapshot(_) => None,
            };
            events.iter().filter_map(commit).collect()
        }
        Schedule::Pieces(pieces) => {
            let commits = pieces.iter().filter(|it| it.1 == PieceKind::Commit);
            commits.map(|it| it.0).collect()
        }
        Schedule::Execution(_) => return None,
    };
    let mut txns: Vec<TxnId> = std::iter::once(TxnId::INITIAL).chain(order.iter().copied()).collect();
    txns.sort_unstable();
    // Levels that allow dirty reads do not say of every read whom it saw.
    let source = |read_idx: usize| {
        let read = facts.reads()[read_idx].op;
        let told = witness.sources.writer_of(read);
        let any = || facts.candidates(read_idx).iter().copied().find(|it| txns.binary_search(it).is_ok());
        Some((read, told.or_else(any)?))
    };
    let sources = txns.iter().flat_map(|it| facts.reads_of(*it)).filter_map(source).collect();
    Some(Guess { world: World { txns, sources }, order })
}

/// Why a level that looks at times is not known to hold where there are none.
const NO_REAL_TIME: &str = "the history has no times, or all are equal, so real time cannot be judged; without it, the \
    level holds";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec_common::{Random, history, show};
    use iso_spec::{Catalogue, Evaluation, Steps, evaluate, parse};

    /// A few transactions that may write what others write, abort, or have an unknown outcome.
    fn some_history(random: &mut Random) -> String {
        let mut lines = Vec::new();
        for _ in 0..2 + random.below(3) {
            let outcome = ["", "", "", " unknown", " aborted"][random.below(5)];
            let begin = random.below(6);
            let head = format!("{}{outcome} {begin}-{}:", ["a", "b", "c"][random.below(3)], begin + random.below(4));
            let mut op = || (["r", "w"][random.below(2)], ["x", "y"][random.below(2)], random.below(3));
            let ops: Vec<String> =
                (0..3).map(|_| op()).map(|(kind, key, value)| format!("{kind}({key},{value})")).collect();
            lines.push(format!("{head} {}", ops.join(" ")));
        }
        lines.join("\n")
    }

    #[test]
    fn guesses_and_searches_agree_with_the_reference_evaluator() {
        let user = include_str!("../../../engines/realize/tests/user.spec");
        let module = parse(user, "user.spec", &mut |it| Err(it.to_owned())).unwrap();
        let specs: Vec<&Spec> = Catalogue::builtin().levels().chain(module.levels()).collect();
        let mut random = Random::new(9);
        let (mut n_allowed, mut n_forbidden) = (0, 0);
        for _ in 0..1000 {
            let history = history(&some_history(&mut random));
            let facts = Facts::new(&history);
            // A read that nothing explains is found before.
            let is_broken = |it: &&Spec| match it.dirty_reads() {
                DirtyReads::Forbidden => !facts.local().is_empty(),
                DirtyReads::Allowed => facts.local().iter().any(|it| it.kind.breaks_read_uncommitted()),
            };
            for spec in specs.iter().filter(|it| !is_broken(it)) {
                let budget = Budget::unlimited();
                let question = Question { facts: &facts, spec, certifying: Certifying::Yes, budget: &budget };
                let expected = evaluate(&facts, spec, &mut Steps::unlimited());
                match question.large() {
                    Answer::Undecided(_) if !history.has_real_time() => {}
                    answer => assert_eq!(
                        answer.is_allowed(),
                        expected.is_allowed(),
                        "{}: {answer:?}\n{}",
                        spec.name(),
                        show(&history)
                    ),
                }
                n_allowed += usize::from(matches!(expected, Evaluation::Allowed(_)));
                n_forbidden += usize::from(expected == Evaluation::Forbidden);
            }
        }
        assert!(n_allowed > 1000 && n_forbidden > 300, "{n_allowed} {n_forbidden}");
    }
}

//! Decides levels that only their text defines, for histories of any size.
//!
//! A small history is decided by the reference evaluator. For a large one the levels that have engines are asked first:
//! their orders and cores are guesses, and a guess that certify accepts against the text is an answer, whatever level it
//! came from. So a text that says the same as a known level, or nearly, is decided as fast as that one. What is left is
//! searched for, if the witness follows from one order.

use crate::check::{Answer, Certifying, NotCertified, certified};
use crate::reference;
use iso_evidence::{Budget, Event, Note, Refutation, Schedule, Stage, StopReason, Verdict, Witness, certify_spec};
use iso_form::mentions_real_time;
use iso_history::{Facts, TxnId};
use iso_realize::{Realized, World, execution, realize};
use iso_spec::{DirtyReads, Level, Spec};

/// The answer for a level that is given by its text.
pub(crate) fn answer(facts: &Facts<'_>, spec: &Spec, certifying: Certifying, budget: &Budget<'_>) -> Answer {
    let question = Question { facts, spec, certifying, budget };
    if let Some(verdict) = reference::decide_soon(facts, spec, budget) {
        return question.answer(verdict);
    }
    let favourable = match spec.dirty_reads() {
        DirtyReads::Allowed => facts.history().favouring_dirty_reads(),
        DirtyReads::Forbidden => None,
    };
    match favourable.as_ref().map(Facts::new) {
        Some(facts) => Question { facts: &facts, ..question }.at_any_size(),
        None => question.at_any_size(),
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

    fn at_any_size(&self) -> Answer {
        let (guesses, cores) = self.guesses();
        if let Some(refutation) = cores.iter().find_map(|it| self.refutation(it)) {
            return self.answer(Verdict::Forbidden(refutation));
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
                Verdict::Allowed(witness) => guesses.extend(guess(&witness)),
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
        reference::smaller_core(self.facts, self.spec, &other.txns, self.budget)
    }

    fn search(&self, guess: Option<&Guess>) -> Result<Verdict, StopReason> {
        let only = World::only(self.facts);
        let world = only.as_ref().or(guess.map(|it| &it.world)).ok_or_else(several_writers)?;
        let hint = guess.map_or(&[][..], |it| &it.order);
        Ok(match realize(self.facts, self.spec, world, hint, self.budget)? {
            Realized::Execution(found) => Verdict::Allowed(reference::witness(found)),
            Realized::Nothing(txns) => {
                let small = reference::smaller_core(self.facts, self.spec, &txns, self.budget);
                Verdict::Forbidden(small.unwrap_or_else(|| reference::whole_of(self.facts, &txns)))
            }
        })
    }
}

fn several_writers() -> StopReason {
    StopReason::Unsupported(
        "the search does not know what to do with reads that several transactions may have written".to_owned(),
    )
}

fn guess(witness: &Witness) -> Option<Guess> {
    let order: Vec<TxnId> = match &witness.schedule {
        Schedule::Order(order) => order.clone(),
        Schedule::Events(events) => {
            let commit = |it: &Event| match it {
                Event::Commit(txn) => Some(*txn),
                Event::Snapshot(_) => None,
            };
            events.iter().filter_map(commit).collect()
        }
        Schedule::Execution(_) => return None,
    };
    let mut txns: Vec<TxnId> = std::iter::once(TxnId::INITIAL).chain(order.iter().copied()).collect();
    txns.sort_unstable();
    let sources = witness.sources.iter().map(|it| (it.read, it.writer)).collect();
    Some(Guess { world: World { txns, sources }, order })
}

/// Why a level that looks at times is not known to hold where there are none.
const NO_REAL_TIME: &str = "the history has no times, or all are equal, so real time cannot be judged; without it, the \
    level holds";

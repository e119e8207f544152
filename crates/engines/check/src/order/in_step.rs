//! Runs sessions in step ([`crate::forward`]) in several ways: those that come far go on with more states.

use crate::forward::{self, FAR, Merit, Program, Reading, Run};
use crate::rule::Events;
use iso_evidence::{Budget, StopReason};
use std::cmp::Reverse;
use std::iter;

/// So many times as many states are kept as of other executions, and again where states say nothing of progress: those are small,
/// and more so if there are no snapshots and no shares of work in them.
const TIMES: usize = 2;
const TIMES_IF_SMALL: usize = 8;
const TIMES_IF_SMALLEST: usize = 16;

/// Whoever did not come so far, where others came far, is given up: one in so many transactions.
const NEAR: usize = 16;

/// If a stronger rule came to this part of the history, a weaker one with the same merit has time.
const QUITE_FAR: usize = 4;

/// Two ways that came to the same one of so many parts of a history came about as far.
const N_PARTS: usize = 16;

/// How to order events, and what makes a state better than others.
type Way = (Events, Merit);

/// The ways that are left.
#[derive(Debug)]
pub(super) struct InStep {
    events: Events,
    /// The best one first.
    ways: Vec<Way>,
    /// None of them was run so far.
    is_first: bool,
}

impl InStep {
    /// What a stronger rule allows is allowed, so that is tried as well.
    pub(super) fn new(events: Events) -> Self {
        let all = || iter::once(&events).chain(events.stronger()).copied();
        let mut ways: Vec<Way> = all().map(|it| (it, Merit::Progress(usual_reading(it)))).collect();
        if events == Events::One {
            ways.push((events, Merit::Progress(Reading::AtBegin)));
        }
        let strongest_first: Vec<Events> = all().collect();
        ways.extend(strongest_first.iter().rev().map(|it| (*it, Merit::Told)));
        ways.extend(all().map(|it| (it, Merit::Share)));
        Self { events, ways, is_first: true }
    }

    /// Each way once, but for those that have time until the next turn. Nothing is found only if there is no execution.
    pub(super) fn run(&mut self, program: &Program, width: usize, budget: &Budget<'_>) -> Result<Run, StopReason> {
        let mut furthest = Run::Part(Vec::new());
        let (mut reached, mut postponed): (Vec<(usize, Way)>, Vec<Way>) = (Vec::new(), Vec::new());
        for (events, merit) in &self.ways {
            let is_quite_far = |it: &(usize, Way)| {
                it.1.1 == *merit && events.stronger().contains(&it.1.0) && it.0 >= program.n_tasks() / QUITE_FAR
            };
            if self.is_first && *merit == Merit::Told && reached.iter().any(is_quite_far) {
                postponed.push((*events, *merit));
                continue;
            }
            let n_more = match (merit, events) {
                (Merit::Progress(_) | Merit::AllWays(_), _) => 1,
                (Merit::Told, Events::One) if !self.is_first => TIMES_IF_SMALLEST,
                _ => TIMES_IF_SMALL,
            };
            let run = forward::run_in_step(&program.with_events(*events), *merit, width * TIMES * n_more, budget)?;
            match &run {
                Run::Whole(_) => return Ok(run),
                Run::Nothing if *events == self.events => return Ok(run),
                Run::Nothing => continue,
                Run::Part(commits) => reached.push((commits.len(), (*events, *merit))),
            }
            if matches!((&furthest, &run), (Run::Part(one), Run::Part(other)) if one.len() < other.len()) {
                furthest = run;
            }
        }
        self.ways = worth_another_turn(reached, program.n_tasks());
        self.ways.extend(postponed);
        self.is_first = false;
        Ok(furthest)
    }
}

/// Those that came far: first those that need few states, and of these the furthest first. Of ways that came about as far, a stronger rule
/// has fewer states to go through: it comes first, and instead of a weaker one with the same merit. Where the likeliest way to each state was
/// not enough, all of them count.
fn worth_another_turn(mut reached: Vec<(usize, Way)>, n_tasks: usize) -> Vec<Way> {
    if reached.iter().any(|it| it.0 >= n_tasks / FAR) {
        reached.retain(|it| it.0 >= n_tasks / NEAR);
    }
    let part = |n_done: usize| n_done * N_PARTS / n_tasks.max(1);
    let n_stronger = |it: &Way| it.0.stronger().len();
    let needs_many = |it: &Way| matches!(it.1, Merit::Told | Merit::Share);
    reached.sort_by_key(|it| (needs_many(&it.1), Reverse(part(it.0)), n_stronger(&it.1)));
    let mut ways: Vec<Way> = Vec::new();
    for (n_done, way) in &reached {
        let is_as_far = |other: &(usize, Way)| {
            other.1.1 == way.1 && n_stronger(&other.1) < n_stronger(way) && other.0 + n_tasks / N_PARTS >= *n_done
        };
        if !reached.iter().any(is_as_far) {
            ways.push(match *way {
                (events, Merit::Progress(reading)) => (events, Merit::AllWays(reading)),
                way => way,
            });
        }
    }
    ways
}

/// When databases read that order their transactions like this.
fn usual_reading(events: Events) -> Reading {
    if events == Events::One { Reading::OneByOne } else { Reading::AtBegin }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stronger_rule_that_came_about_as_far_goes_on_instead_of_a_weaker_one() {
        let (snapshots, serial) = (Events::FirstCommitterWins, Events::One);
        let reached = vec![
            (20, (serial, Merit::Progress(Reading::OneByOne))),
            (90, (snapshots, Merit::Progress(Reading::AtBegin))),
            (423, (snapshots, Merit::Told)),
            (420, (serial, Merit::Told)),
            (422, (snapshots, Merit::Share)),
            (140, (serial, Merit::Share)),
        ];
        let in_step = (snapshots, Merit::AllWays(Reading::AtBegin));
        let expected = [in_step, (serial, Merit::Told), (snapshots, Merit::Share), (serial, Merit::Share)];
        assert_eq!(worth_another_turn(reached, 1_000), expected);
    }

    #[test]
    fn whoever_came_furthest_goes_on_if_nobody_came_far() {
        let serial = Events::One;
        let reached = vec![(3, (serial, Merit::Told)), (90, (serial, Merit::Share))];
        assert_eq!(worth_another_turn(reached, 1_000), [(serial, Merit::Share), (serial, Merit::Told)]);
    }
}

//! Runs sessions in step ([`crate::forward`]) in several ways: those that come far go on with more states.

use crate::forward::{self, FAR, Merit, Program, Reading, Run};
use crate::rule::Events;
use iso_evidence::{Budget, StopReason};
use std::cmp::Reverse;
use std::iter;

/// So many times as many states are kept as of other executions, and again where states say nothing of progress: those are small.
const TIMES: usize = 2;
const TIMES_IF_SMALL: usize = 8;

/// How to order events, and what makes a state better than others.
type Way = (Events, Merit);

/// The ways that are left.
#[derive(Debug)]
pub(super) struct InStep {
    events: Events,
    /// The best one first.
    ways: Vec<Way>,
}

impl InStep {
    /// What a stronger rule allows is allowed, so that is tried as well.
    pub(super) fn new(events: Events) -> Self {
        let all = || iter::once(&events).chain(events.stronger()).copied();
        let mut ways: Vec<Way> = all().map(|it| (it, Merit::Progress(usual_reading(it)))).collect();
        if events == Events::One {
            ways.push((events, Merit::Progress(Reading::AtBegin)));
        }
        ways.push((events, Merit::Told));
        ways.extend(all().map(|it| (it, Merit::Share)));
        Self { events, ways }
    }

    /// Each way once. Nothing is found only if there is no execution.
    pub(super) fn run(&mut self, program: &Program, width: usize, budget: &Budget<'_>) -> Result<Run, StopReason> {
        let mut furthest = Run::Part(Vec::new());
        let mut reached: Vec<(usize, Way)> = Vec::new();
        for (events, merit) in &self.ways {
            let n_more = if matches!(merit, Merit::Progress(_)) { 1 } else { TIMES_IF_SMALL };
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
        reached.sort_by_key(|it| Reverse(it.0));
        let n_far = reached.partition_point(|it| it.0 >= program.n_tasks() / FAR);
        if n_far > 0 {
            reached.truncate(n_far);
        }
        self.ways = reached.into_iter().map(|it| it.1).collect();
        Ok(furthest)
    }
}

/// When databases read that order their transactions like this.
fn usual_reading(events: Events) -> Reading {
    if events == Events::One { Reading::OneByOne } else { Reading::AtBegin }
}

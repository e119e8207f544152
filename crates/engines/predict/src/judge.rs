//! Does a level allow this run? Objections of one run help to decide the next.

use crate::Boundary;
use crate::frame::Frame;
use crate::level::{Case, Rules};
use crate::serial::serial_places;
use crate::trace::Trace;
use iso_evidence::{Budget, StopReason};
use iso_solve::{Lit, SatResult, SatSolver, SatStatistics, Solver};
use iso_spec::Level;
use rustc_hash::FxHashSet;

/// Decides one level for runs of one frame.
#[derive(Debug)]
pub(crate) struct Judge {
    solver: Solver,
    rules: Rules,
    level: Level,
    /// Each transaction's place in the serial order of the last run, if it has one.
    places: Option<Vec<u32>>,
}

/// What a level says about a run.
#[derive(Clone, Debug)]
pub(crate) enum Opinion {
    /// It is allowed; the judge knows an order of versions.
    Allowed,
    /// It is forbidden because of these literals of the run alone.
    Forbidden(FxHashSet<Lit>),
}

impl Judge {
    /// `choices` and `boundary` make the frame, as they made the one that runs come from.
    pub(crate) fn new(trace: &Trace, choices: Level, boundary: Boundary, level: Level) -> Self {
        let mut solver = Solver::for_short_calls();
        let frame = Frame::new(trace, choices, boundary, &mut solver);
        let rules = Rules::new(trace, &frame, level, &mut solver);
        Self { solver, rules, level, places: None }
    }

    pub(crate) fn decide(&mut self, case: &Case<'_>, budget: &Budget<'_>) -> Result<Opinion, StopReason> {
        if self.level == Level::Serializable {
            self.places = serial_places(case, budget)?;
            if self.places.is_some() {
                return Ok(Opinion::Allowed);
            }
        }
        let literals = case.run.literals(case.frame, case.trace);
        loop {
            match self.solver.solve(&literals, &mut || budget.check().is_err()) {
                SatResult::Stopped => return Err(budget.check().err().unwrap_or(StopReason::Timeout)),
                SatResult::Unsatisfiable => {
                    let solver = &self.solver;
                    return Ok(Opinion::Forbidden(literals.into_iter().filter(|it| solver.is_failed(*it)).collect()));
                }
                SatResult::Satisfiable => {}
            }
            let objections = self.rules.objections(case, |lit| self.solver.value(lit));
            if objections.is_empty() {
                return Ok(Opinion::Allowed);
            }
            for clause in &objections {
                self.solver.add_clause(clause);
            }
        }
    }

    /// Of two that write the same key, does the first come first in the order of the last run that was allowed?
    /// Nothing if the level has no order of versions.
    pub(crate) fn is_before(&self, first: u32, second: u32) -> Option<bool> {
        if let Some(places) = &self.places {
            return Some(places[first as usize] < places[second as usize]);
        }
        self.rules.versions.as_ref().map(|it| self.solver.value(it.before(first, second)))
    }

    pub(crate) fn statistics(&self) -> SatStatistics {
        self.solver.statistics()
    }
}

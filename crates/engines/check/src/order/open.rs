//! Reads with several possible writers: several ways take turns, each with more from turn to turn.
//!
//! None of them is best. Repairing the order finds what is nearly right and refutes what is wrong; annealing
//! (`anneal.rs`) makes an order nearly right; forward execution ([`crate::forward`]) finds orders where keys and values
//! are few. Recorded times help all of them: what a client sees of a commit is not far from when it happened, and an
//! order that keeps to times is found at once, since only transactions that overlap can change places. So real time is
//! assumed first, then only between transactions that are far apart, then not at all.

use super::anneal::{Board, Heat, anneal};
use super::frame::Frame;
use super::graph::commits_of;
use super::in_step::InStep;
use super::near::allowed_near;
use super::place::{Placement, place};
use super::repair::{Repair, Repaired};
use super::{decide_by_order, decision_of, start};
use crate::decision::{Decision, within};
use crate::forward::{self, Aim, Program, Run, Taste};
use crate::known::{Known, Saturation};
use crate::problem::Problem;
use crate::rule::{Events, Rule};
use crate::simple::core_of_contradiction;
use crate::witness::with_snapshots;
use iso_evidence::{Budget, Note, Stage, StopReason};
use iso_history::TxnId;

/// What the ways may take in one turn.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// Steps of a repair.
    n_steps: u32,
    /// How often annealing moves each event.
    n_rounds: u32,
    /// States that forward execution keeps for each number of commits.
    width: usize,
}

const TURNS: [Turn; 6] = [
    Turn { n_steps: 300, n_rounds: 300, width: 32 },
    Turn { n_steps: 2_000, n_rounds: 1_000, width: 128 },
    Turn { n_steps: 2_000, n_rounds: 3_000, width: 256 },
    Turn { n_steps: 4_000, n_rounds: 8_000, width: 512 },
    Turn { n_steps: 8_000, n_rounds: 20_000, width: 1_024 },
    Turn { n_steps: 32_000, n_rounds: 60_000, width: 16_384 },
];

/// Saturation looks at no more counters, one for each transaction and session.
const MAX_COUNTERS: usize = 1 << 21;

/// Of more transactions, it takes long to say which ones a contradiction rests on.
const MANY_TXNS: usize = 400;

/// So many turns are worth it where something was assumed.
const N_TRIED: usize = 1;

/// Of so many transactions, one that misfits is little.
const FEW_MISFITS: usize = 20;

/// A stronger rule may take so many times the steps of a repair, since it takes turns, too.
const STEPS_OF_STRONGER: u32 = 4;

/// How many times as long as a usual transaction two of them must be apart, for times to count.
const SLACKS: [i64; 3] = [0, 2, 16];

/// Decides a history in which values leave open who was read.
pub(super) fn decide_open(
    frame: &Frame<'_>,
    commits: Vec<TxnId>,
    placement: Placement,
    budget: &Budget<'_>,
) -> Result<Option<Decision>, StopReason> {
    if frame.n_txns().saturating_mul(frame.facts.history().n_sessions()) > MAX_COUNTERS {
        return take_turns(frame, commits, placement, budget);
    }
    // What was recorded with times is nearly right, and found at once if it is allowed.
    let (mut commits, mut placement) = (commits, placement);
    if frame.facts.history().has_real_time() {
        let mut ways = Ways::new(frame, commits, placement);
        if let Some(decision) = ways.keep_near(TURNS[0], budget)? {
            return Ok(Some(decision));
        }
        (commits, placement) = (ways.commits, ways.placement);
    }
    debug_assert!(!placement.misfits.is_empty(), "an order in which everything fits is an answer");
    budget.note(Note::Begins(Stage::Sources));
    let problem = Problem::new(frame.facts, frame.rule.read_detail());
    let mut known = Known::new(&problem, frame.rule);
    let saturated = known.saturate_by_cases(budget)?;
    budget.note(Note::Begins(Stage::Order));
    if !matches!(saturated, Saturation::Stable(_)) {
        // Whoever wants to know which of many transactions matter derives it; others only ask whether it is allowed.
        let core = if commits.len() > MANY_TXNS {
            Some(frame.facts.txns().collect())
        } else {
            core_of_contradiction(&known, &saturated)
        };
        return Ok(core.map(Decision::Forbidden));
    }
    let settled = frame.settled_by(&known);
    match best_order(&settled, commits, &saturated) {
        Some((commits, placement)) if placement.misfits.is_empty() => {
            Ok(decision_of(&settled, Repaired::Order(commits, placement)))
        }
        Some((commits, placement)) => match allowed_near(&settled, &commits, budget)? {
            Some(decision) => Ok(Some(decision)),
            None => take_turns(&settled, commits, placement, budget),
        },
        None => Ok(None),
    }
}

/// The better one of an order and that of saturation, as far as these writers let it be.
pub(super) fn best_order(
    frame: &Frame<'_>,
    commits: Vec<TxnId>,
    saturated: &Saturation,
) -> Option<(Vec<TxnId>, Placement)> {
    let mut orders = vec![commits];
    if let Saturation::Stable(nodes) = saturated {
        orders.push(commits_of(frame, nodes));
    }
    let placed = orders.iter().filter_map(|it| {
        let commits = start::repair_order(frame, it).ok()?;
        let placement = place(frame, &commits);
        Some((commits, placement))
    });
    placed.min_by_key(|it| it.1.misfits.len())
}

/// A few turns of each way, which find an order if these writers leave little to choose.
pub(super) fn try_turns(
    frame: &Frame<'_>,
    commits: Vec<TxnId>,
    placement: Placement,
    budget: &Budget<'_>,
) -> Result<Option<Decision>, StopReason> {
    let mut ways = Ways::new(frame, commits, placement);
    for turn in &TURNS[..N_TRIED] {
        if let Some(decision) = ways.take_turn(*turn, budget)? {
            return Ok(Some(decision));
        }
    }
    Ok(None)
}

/// Each way in its turn, with more from turn to turn.
fn take_turns(
    frame: &Frame<'_>,
    commits: Vec<TxnId>,
    placement: Placement,
    budget: &Budget<'_>,
) -> Result<Option<Decision>, StopReason> {
    let mut ways = Ways::new(frame, commits, placement);
    for turn in TURNS {
        if let Some(decision) = ways.take_turn(turn, budget)? {
            return Ok(Some(decision));
        }
    }
    Ok(decision_of(frame, ways.repair(budget)?))
}

struct Ways<'f> {
    frame: &'f Frame<'f>,
    program: Option<Program>,
    slacks: Vec<Option<i64>>,
    in_step: InStep,
    /// The best order so far.
    commits: Vec<TxnId>,
    placement: Placement,
}

impl<'f> Ways<'f> {
    fn new(frame: &'f Frame<'f>, commits: Vec<TxnId>, placement: Placement) -> Self {
        let program = Program::new(frame);
        Self { frame, program, slacks: slacks(frame), in_step: InStep::new(frame.rule.events), commits, placement }
    }

    fn take_turn(&mut self, turn: Turn, budget: &Budget<'_>) -> Result<Option<Decision>, StopReason> {
        match self.keep_near(turn, budget)? {
            Some(decision) => Ok(Some(decision)),
            None => self.anneal(turn, budget),
        }
    }

    /// The ways that stay near the best order so far, or near recorded times.
    fn keep_near(&mut self, turn: Turn, budget: &Budget<'_>) -> Result<Option<Decision>, StopReason> {
        let repaired = within(turn.n_steps, budget, |budget| self.repair(budget))?;
        if let Some(decision) = repaired.and_then(|it| decision_of(self.frame, it)) {
            return Ok(Some(decision));
        }
        if let Some(decision) = self.run_forward(turn, budget)? {
            return Ok(Some(decision));
        }
        self.assume_more(turn, budget)
    }

    fn repair(&self, budget: &Budget<'_>) -> Result<Repaired, StopReason> {
        Repair::new(self.frame, self.commits.clone(), self.placement.clone()).run(budget)
    }

    /// What a stronger rule allows is allowed, and a stronger rule may be easier: it leaves less to choose.
    fn assume_more(&self, turn: Turn, budget: &Budget<'_>) -> Result<Option<Decision>, StopReason> {
        let (rule, facts) = (self.frame.rule, self.frame.facts);
        for stronger in stronger_rules(rule, facts.history().has_real_time()) {
            let decide = |budget: &Budget<'_>| decide_by_order(facts, stronger, budget);
            let decided = within(turn.n_steps * STEPS_OF_STRONGER, budget, decide)?.flatten();
            if let Some(Decision::Allowed(witness)) = decided {
                let witness = if rule.events == Events::One { witness } else { with_snapshots(&witness) };
                return Ok(Some(Decision::Allowed(witness)));
            }
        }
        Ok(None)
    }

    /// Anneals what the times say or, without times, sessions side by side.
    fn anneal(&mut self, turn: Turn, budget: &Budget<'_>) -> Result<Option<Decision>, StopReason> {
        let Some(program) = &self.program else { return Ok(None) };
        if self.frame.rule.real_time {
            return Ok(None);
        }
        let (first, heat) = if self.frame.facts.history().has_times() {
            (self.commits.clone(), Heat::Low)
        } else {
            (program.side_by_side(), Heat::High)
        };
        let mut board = anneal(&Board::new(program, &first), heat, turn.n_rounds, budget)?;
        // What is nearly right needs no fresh start.
        let mut n_before = first.len() / FEW_MISFITS;
        while (1..n_before).contains(&board.n_misfits()) {
            n_before = board.n_misfits();
            self.begin_with(board.commits());
            board = anneal(&board, Heat::Low, turn.n_rounds, budget)?;
        }
        let commits = board.commits();
        let placement = place(self.frame, &commits);
        if placement.misfits.is_empty() {
            return Ok(decision_of(self.frame, Repaired::Order(commits, placement)));
        }
        self.begin_with(commits);
        Ok(None)
    }

    fn run_forward(&mut self, turn: Turn, budget: &Budget<'_>) -> Result<Option<Decision>, StopReason> {
        let Some(program) = self.program.as_ref().filter(|it| it.has_small_states()) else { return Ok(None) };
        let mut furthest = Vec::new();
        let mut take = |run: Run| match run {
            Run::Whole(commits) => Some(commits),
            Run::Part(commits) => {
                furthest = if commits.len() > furthest.len() { commits } else { std::mem::take(&mut furthest) };
                None
            }
            Run::Nothing => None,
        };
        let mut found = None;
        if self.slacks == [None] {
            match self.in_step.run(program, turn.width, budget)? {
                Run::Nothing => return Ok(Some(Decision::Forbidden(self.frame.facts.txns().collect()))),
                run => found = take(run),
            }
        }
        for slack in &self.slacks {
            for taste in Taste::ALL {
                if found.is_none() {
                    found = take(forward::run(program, Aim { width: turn.width, slack: *slack, taste }, budget)?);
                }
            }
        }
        let Some(commits) = found else {
            self.begin_with(furthest);
            return Ok(None);
        };
        let placement = place(self.frame, &commits);
        if placement.misfits.is_empty() {
            return Ok(decision_of(self.frame, Repaired::Order(commits, placement)));
        }
        self.begin_with(commits);
        Ok(None)
    }

    /// Goes on from an order that begins like this, if more fits then.
    fn begin_with(&mut self, mut commits: Vec<TxnId>) {
        let mut is_done = vec![false; self.frame.n_txns()];
        for txn in &commits {
            is_done[txn.index()] = true;
        }
        commits.extend(self.commits.iter().copied().filter(|it| !is_done[it.index()]));
        let Ok(commits) = start::repair_order(self.frame, &commits) else { return };
        let placement = place(self.frame, &commits);
        if placement.misfits.len() < self.placement.misfits.len() {
            (self.commits, self.placement) = (commits, placement);
        }
    }
}

fn stronger_rules(rule: Rule, has_real_time: bool) -> Vec<Rule> {
    let is_new = has_real_time && !rule.real_time;
    let strict = is_new.then_some(Rule { real_time: true, ..rule });
    strict.into_iter().chain(rule.events.stronger().iter().map(|it| Rule { events: *it, ..rule })).collect()
}

/// How far apart transactions must be for times to count: less and less of them count.
fn slacks(frame: &Frame<'_>) -> Vec<Option<i64>> {
    if frame.rule.real_time {
        return vec![Some(0)];
    }
    let span = |txn: TxnId| Some(frame.end(txn)?.saturating_sub(frame.begin(txn)?));
    let mut spans: Vec<i64> = frame.facts.txns().filter_map(span).collect();
    if !frame.facts.history().has_real_time() || spans.is_empty() {
        return vec![None];
    }
    spans.sort_unstable();
    let usual = spans[spans.len() / 2].max(1);
    SLACKS.iter().map(|it| Some(usual.saturating_mul(*it))).chain([None]).collect()
}

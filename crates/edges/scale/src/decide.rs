//! Asks an engine to replay an order, decides what does not fit, and tries again with what was learned.

use crate::ScaleError;
use crate::order::{Moved, Order, Placed};
use crate::queries::{Earlier, Moves, Queries, Question};
use iso_answer::check::{Answer, check};
use iso_evidence::{Budget, Event, Schedule, StopReason, Witness};
use iso_history::{History, Outcome, TxnId};
use rustc_hash::{FxHashMap, FxHashSet};

/// After so many replays nothing more is tried: each costs as much as the first one.
const MAX_ROUNDS: usize = 8;

/// Something that runs queries over a data set.
pub trait Engine {
    /// Its name, for people.
    fn name(&self) -> String;

    /// Replays: `moved` has the transactions that stand elsewhere than the question says.
    fn replay(&mut self, queries: &Queries, moved: &[Moved]) -> Result<Replay, ScaleError>;
}

/// What a replay found.
#[derive(Debug)]
pub struct Replay {
    /// How many transactions count.
    pub n_txns: u64,
    /// Keys with misfits.
    pub n_keys: u64,
    /// Transactions with misfits.
    pub n_misfits: u64,
    /// The part around the misfits; none if there are none.
    pub part: Part,
}

/// The part of a history around misfits.
#[derive(Debug)]
pub enum Part {
    /// There are no misfits.
    None,
    /// Everything that was done to the keys concerned. Places are numbers of transactions.
    History(Box<History>),
    /// It has so many rows, which is more than fit into memory here.
    TooLarge(u64),
}

/// What was found out.
#[derive(Debug)]
pub enum Decision {
    /// The order explains the history.
    Holds {
        /// How many transactions count.
        n_txns: u64,
        /// Those that stand elsewhere than their ends say.
        moved: Vec<Moved>,
        /// How often the order was replayed.
        n_replays: usize,
    },
    /// This part is forbidden by itself.
    Violated {
        /// The part.
        part: Box<History>,
        /// How often an order was replayed.
        n_replays: usize,
    },
    /// Nobody knows, for this reason.
    Unknown(String),
}

/// Decides a question with an engine.
///
/// "Holds" is said only after the engine has replayed the whole order without a misfit, and "violated" only of a part that
/// the library has certified to be forbidden.
pub fn decide(question: &Question, engine: &mut dyn Engine, budget: &Budget<'_>) -> Result<Decision, ScaleError> {
    let mut moved: FxHashMap<i64, Moved> = FxHashMap::default();
    for round in 0..MAX_ROUNDS {
        let (moves, earlier) =
            if moved.is_empty() { (Moves::None, Earlier::None) } else { (Moves::Some, Earlier::Part) };
        let queries = Queries::new(question, moves, earlier);
        let replay = engine.replay(&queries, &sorted(&moved))?;
        let n_replays = round + 1;
        let part = match replay.part {
            Part::None => return Ok(Decision::Holds { n_txns: replay.n_txns, moved: sorted(&moved), n_replays }),
            Part::TooLarge(n_rows) => {
                return Ok(Decision::Unknown(format!(
                    "{} keys do not fit the order of ends, and what was done to them has {n_rows} rows, more than is decided \
                     here: raise --memory, or check without --engine",
                    replay.n_keys
                )));
            }
            Part::History(part) => part,
        };
        match check(&part, question.level, budget) {
            Answer::Forbidden(_) => return Ok(Decision::Violated { part, n_replays }),
            Answer::Allowed(witness) => {
                let learned = rearranged(&question.order, &part, &witness.into_inner(), &moved);
                let is_new = learned.iter().any(|it| moved.get(&it.txn) != Some(it));
                if !is_new {
                    return Ok(Decision::Unknown(undecided(&replay_words(replay.n_keys, replay.n_misfits), n_replays)));
                }
                moved.extend(learned.into_iter().map(|it| (it.txn, it)));
            }
            Answer::Undecided(reason) => return Ok(Decision::Unknown(stopped(&reason))),
            Answer::NotCertified { .. } => {
                return Ok(Decision::Unknown("the part around the misfits could not be certified".to_owned()));
            }
            Answer::Refused(wrong) => return Ok(Decision::Unknown(wrong.to_string())),
        }
    }
    Ok(Decision::Unknown(undecided("the order still has misfits", MAX_ROUNDS)))
}

fn replay_words(n_keys: u64, n_misfits: u64) -> String {
    format!("{n_keys} keys and {n_misfits} transactions do not fit, though the part around them is allowed by itself")
}

fn undecided(what: &str, n_replays: usize) -> String {
    format!("{what} after {n_replays} replays; check without --engine, which decides it in memory")
}

fn stopped(reason: &StopReason) -> String {
    format!("the part around the misfits was not decided: {reason}")
}

fn sorted(moved: &FxHashMap<i64, Moved>) -> Vec<Moved> {
    let mut sorted: Vec<Moved> = moved.values().copied().collect();
    sorted.sort_unstable_by_key(|it| it.txn);
    sorted
}

/// What a witness of the part says of the order of the whole.
fn rearranged(order: &Order, part: &History, witness: &Witness, moved: &FxHashMap<i64, Moved>) -> Vec<Moved> {
    let commits: Vec<TxnId> = match &witness.schedule {
        Schedule::Order(txns) => txns.clone(),
        Schedule::Events(events) => {
            let commit = |it: &Event| if let Event::Commit(txn) = it { Some(*txn) } else { None };
            events.iter().filter_map(commit).collect()
        }
        Schedule::Pieces(_) | Schedule::Execution(_) => Vec::new(),
    };
    let number = |txn: TxnId| i64::try_from(part.place(txn).at).unwrap_or(i64::MAX);
    let place = |txn: &TxnId| Placed { txn: number(*txn), begin: part.begin(*txn), end: part.end(*txn) };
    let placed: Vec<Placed> = commits.iter().map(place).collect();
    let mut learned = order.rearranged(&placed, moved);
    // Of transactions of unknown outcome, those that the witness leaves out did not take effect.
    let counted: FxHashSet<TxnId> = commits.into_iter().collect();
    let left_out = part.txns().filter(|it| part.outcome(*it) == Outcome::Indeterminate && !counted.contains(it));
    learned.extend(left_out.map(|it| Moved { txn: number(it), position: 0, counts: false }));
    learned
}

//! A first order of commits: session order, known sources and, if asked, real time are kept; the rest is a good guess.
//!
//! Recorded ends are a good guess of commits. Without times, so is the order of the input, unless it lists one session
//! after the other; then the longest chains of known predecessors and successors of a transaction say how early or
//! late it must be, which brings sessions of different speed into step wherever one read from another. Where few sources are
//! known, sessions side by side are tried, too: each has begun the same share of its transactions in the same time.
//! Whoever must come before a transaction and has not come yet is placed right before it, depth first.
//! Cost: linear in reads, plus sorting transactions where the input is not sorted already.

use super::frame::Frame;
use iso_history::TxnId;

/// An order of the transactions that count, or a cycle of those that must come before each other.
///
/// With a guess by chains there are several; the caller takes the best one.
pub(super) fn first_orders(frame: &Frame<'_>) -> Result<Vec<Vec<TxnId>>, Vec<TxnId>> {
    let input: Vec<TxnId> = frame.facts.txns().collect();
    let history = frame.facts.history();
    if history.has_times() {
        return Ok(vec![by_time(frame, input)?]);
    }
    let in_input_order = depth_first(frame, &input)?;
    if !is_by_session(frame, &input) {
        return Ok(vec![in_input_order]);
    }
    let chains = Chains::new(frame, &in_input_order);
    let order_by = |rank: &dyn Fn(TxnId) -> u64| {
        let mut order = input.clone();
        order.sort_unstable_by_key(|it| (rank(*it), *it));
        depth_first(frame, &order)
    };
    let place = |txn: TxnId| (history.nth_in_session(txn) as u64) << 32;
    let length = |txn: TxnId| history.session_of(txn).map_or(1, |it| history.session_txns(it).len() as u64);
    let by_depth = order_by(&|txn| {
        (u64::from(chains.before[txn.index()]) << 32) | (place(txn) / length(txn)).min(u32::MAX.into())
    });
    let by_both =
        order_by(&|txn| u64::from(chains.before[txn.index()]) + u64::from(u32::MAX - chains.after[txn.index()]));
    let mut orders = vec![by_both?, by_depth?];
    if frame.sources.is_open() {
        // Few sources are known, and chains of them say little.
        orders.push(order_by(&|txn| (2 * place(txn) + (1 << 32)) / (2 * length(txn)))?);
    }
    Ok(orders)
}

/// Is one session written down after the other?
fn is_by_session(frame: &Frame<'_>, input: &[TxnId]) -> bool {
    let history = frame.facts.history();
    let session = |txn: TxnId| history.session_of(txn);
    let n_changes = input.windows(2).filter(|it| session(it[0]) != session(it[1])).count();
    n_changes < history.n_sessions()
}

fn by_time(frame: &Frame<'_>, mut input: Vec<TxnId>) -> Result<Vec<TxnId>, Vec<TxnId>> {
    let history = frame.facts.history();
    // One that may take effect after its recorded end is placed where it began, but where real time counts it waits
    // until somebody needs it: whoever ended before a transaction began must be placed before it.
    let rank = |txn: TxnId| match frame.end(txn) {
        Some(end) => end,
        None if frame.rule.real_time => i64::MAX,
        None => history.begin(txn).or(history.end(txn)).unwrap_or(i64::MIN),
    };
    if !input.is_sorted_by_key(|it| rank(*it)) {
        input.sort_by_cached_key(|it| (rank(*it), *it));
    }
    depth_first(frame, &input)
}

/// The same order, but for what is known by now.
pub(super) fn repair_order(frame: &Frame<'_>, order: &[TxnId]) -> Result<Vec<TxnId>, Vec<TxnId>> {
    depth_first(frame, order)
}

/// The order `guess`, with each transaction's predecessors moved right before it if they come later.
fn depth_first(frame: &Frame<'_>, guess: &[TxnId]) -> Result<Vec<TxnId>, Vec<TxnId>> {
    let mut visit = Visit { frame, state: vec![State::New; frame.n_txns()], stack: Vec::new(), order: Vec::new() };
    visit.order.reserve_exact(guess.len());
    visit.state[TxnId::INITIAL.index()] = State::Placed;
    for txn in guess {
        visit.place(*txn)?;
    }
    Ok(visit.order)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    New,
    Waiting,
    Placed,
}

struct Visit<'a> {
    frame: &'a Frame<'a>,
    state: Vec<State>,
    stack: Vec<TxnId>,
    order: Vec<TxnId>,
}

impl Visit<'_> {
    fn place(&mut self, root: TxnId) -> Result<(), Vec<TxnId>> {
        let frame = self.frame;
        let root_end = if frame.rule.real_time { frame.end(root) } else { None };
        self.stack.push(root);
        while let Some(txn) = self.stack.last().copied() {
            match self.state[txn.index()] {
                State::New => {
                    self.state[txn.index()] = State::Waiting;
                    // Those that ended before it began are placed already, unless the root is one of them.
                    if let (Some(end), Some(begin)) = (root_end, frame.begin(txn))
                        && end < begin
                    {
                        return Err(self.cycle_to(root));
                    }
                    let (state, stack) = (&self.state, &mut self.stack);
                    let mut closes = None;
                    frame.predecessors(txn, &mut |before| match state[before.index()] {
                        State::New => stack.push(before),
                        State::Waiting => closes = Some(before),
                        State::Placed => {}
                    });
                    if let Some(before) = closes {
                        self.stack.truncate(self.stack.iter().rposition(|it| *it == txn).map_or(0, |it| it + 1));
                        return Err(self.cycle_to(before));
                    }
                }
                State::Waiting => {
                    self.state[txn.index()] = State::Placed;
                    self.order.push(txn);
                    self.stack.pop();
                }
                State::Placed => {
                    self.stack.pop();
                }
            }
        }
        Ok(())
    }

    /// The transactions that wait for each other, from `first` to the one that is looked at.
    fn cycle_to(&self, first: TxnId) -> Vec<TxnId> {
        let waiting = self.stack.iter().copied().filter(|it| self.state[it.index()] == State::Waiting);
        waiting.skip_while(|it| *it != first).collect()
    }
}

/// How long the longest chains of known predecessors and successors of each transaction are.
struct Chains {
    before: Vec<u32>,
    after: Vec<u32>,
}

impl Chains {
    fn new(frame: &Frame<'_>, order: &[TxnId]) -> Self {
        let (mut before, mut after) = (vec![0u32; frame.n_txns()], vec![0u32; frame.n_txns()]);
        for txn in order {
            let mut longest = 0;
            frame.predecessors(*txn, &mut |it| longest = longest.max(before[it.index()]));
            before[txn.index()] = longest + 1;
        }
        for txn in order.iter().rev() {
            let length = after[txn.index()] + 1;
            frame.predecessors(*txn, &mut |it| after[it.index()] = after[it.index()].max(length));
        }
        Self { before, after }
    }
}

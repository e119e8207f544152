//! Causal consistency: who is in whose past, for a block of sessions at a time.
//!
//! A session is a chain, so the past of a transaction is one counter a session (a vector clock). Whole clocks do not
//! fit into memory for many sessions, and need not: an edge that is inferred from a read of x by S from T concerns one
//! session, of which the last writer L of x is in the past of S. So sessions are taken in blocks. One walk along a
//! topological order keeps only the counters of the block's sessions, and infers the edges of writers in
//! these; the blocks have nothing to do with each other and run on all cores.
//!
//! L -> T is new only if L is not in T's own past, so of each session only writers between the counters of T and of S
//! are looked for; mostly there are none.
//!
//! Source: AWDIT (PLDI 2025), which keeps whole clocks. Counters have 16 bits: a longer session counts as several
//! chains. Cost: time, reads times sessions; memory, one row of counters a transaction and thread.

use super::links::{Edges, Links};
use super::parallel::{Pace, n_threads, run};
use super::walk_back::unmet_in_recent_past;
use super::{Asked, Replay};
use iso_evidence::{Budget, StopReason};
use iso_history::{KeyId, TxnId};

/// What follows for causal consistency.
pub(super) fn causal(
    links: &Links<'_>,
    asked: Asked,
    replay: &Replay<'_>,
    budget: &Budget<'_>,
) -> Result<Edges, StopReason> {
    if asked == Asked::Unmet
        && let Some(edges) = unmet_in_recent_past(links, replay, budget)?
    {
        return Ok(edges);
    }
    by_blocks(links, asked, replay, budget)
}

/// What follows for causal consistency, by blocks of sessions.
pub(super) fn by_blocks(
    links: &Links<'_>,
    asked: Asked,
    replay: &Replay<'_>,
    budget: &Budget<'_>,
) -> Result<Edges, StopReason> {
    /// Rows of about this many bytes in all, for each thread.
    const TABLE_BYTES: usize = 64 << 20;
    let chains = Chains::new(links);
    let walk = Walk { links, chains: &chains, asked, replay };
    let row_bytes = TABLE_BYTES / links.previous.len();
    match chains.n_chains() {
        0..=8 => in_blocks::<8>(&walk, budget),
        513.. if row_bytes >= 512 => in_blocks::<256>(&walk, budget),
        129.. if row_bytes >= 128 => in_blocks::<64>(&walk, budget),
        _ => in_blocks::<32>(&walk, budget),
    }
}

/// What every block walks along.
struct Walk<'a> {
    links: &'a Links<'a>,
    chains: &'a Chains,
    asked: Asked,
    /// Of a topological order of session order and reads-from.
    replay: &'a Replay<'a>,
}

fn in_blocks<const WIDTH: usize>(walk: &Walk<'_>, budget: &Budget<'_>) -> Result<Edges, StopReason> {
    let (n_txns, n_chains) = (walk.links.previous.len(), walk.chains.n_chains());
    let n_threads = n_threads(n_txns);
    // Blocks of about the same size, and as many for each thread.
    let n_blocks = n_chains.div_ceil(WIDTH).next_multiple_of(n_threads).clamp(1, n_chains.max(1));
    let size = n_chains.div_ceil(n_blocks).max(1);
    let buffers = || vec![[0u16; WIDTH]; n_txns];
    let block = |rows: &mut Vec<[u16; WIDTH]>, idx: usize, pace: &Pace<'_>| {
        let block = Block::new(walk, idx * size, ((idx + 1) * size).min(n_chains));
        block.inferred(rows, pace)
    };
    run(n_chains.div_ceil(size), n_threads, budget, buffers, block).map(Edges::join)
}

/// Sessions as chains of at most so many transactions that a counter has 16 bits.
struct Chains {
    /// The transactions of each chain, one chain after the other.
    txns: Vec<TxnId>,
    starts: Vec<u32>,
    /// By transaction.
    chain: Vec<u32>,
    place: Vec<u16>,
}

impl Chains {
    fn new(links: &Links<'_>) -> Self {
        const MAX_LENGTH: u32 = u16::MAX as u32;
        let n_txns = links.previous.len();
        let mut chains = Self {
            txns: Vec::with_capacity(n_txns),
            starts: Vec::new(),
            chain: vec![u32::MAX; n_txns],
            place: vec![0; n_txns],
        };
        for session in 0..links.facts.history().n_sessions() {
            let mut length = MAX_LENGTH;
            for txn in links.session(session) {
                if length == MAX_LENGTH || links.previous[txn.index()] == TxnId::INITIAL {
                    chains.starts.push(chains.txns.len() as u32);
                    length = 0;
                }
                chains.chain[txn.index()] = chains.n_chains() as u32 - 1;
                chains.place[txn.index()] = length as u16;
                chains.txns.push(txn);
                length += 1;
            }
        }
        chains
    }

    fn n_chains(&self) -> usize {
        self.starts.len()
    }

    fn of(&self, chain: usize) -> &[TxnId] {
        let end = self.starts.get(chain + 1).map_or(self.txns.len(), |it| *it as usize);
        &self.txns[self.starts[chain] as usize..end]
    }
}

/// Some chains, and for each key its writers there.
struct Block<'a> {
    walk: &'a Walk<'a>,
    first_chain: usize,
    end_chain: usize,
    starts: Vec<u32>,
    /// Where a writer stands (lane, that is chain in the block, and place there, in one number) and who it is; ascending
    /// for each key.
    writers: Vec<(u32, TxnId)>,
}

impl<'a> Block<'a> {
    fn new(walk: &'a Walk<'a>, first_chain: usize, end_chain: usize) -> Self {
        let (facts, chains) = (walk.links.facts, walk.chains);
        let n_keys = facts.history().n_keys();
        let mut starts = vec![0u32; n_keys + 2];
        let txns = || (first_chain..end_chain).flat_map(|it| chains.of(it)).copied();
        let writes = |txn: TxnId| facts.written_keys(txn);
        for key in txns().flat_map(writes) {
            starts[key.index() + 2] += 1;
        }
        for idx in 2..starts.len() {
            starts[idx] += starts[idx - 1];
        }
        let mut writers = vec![(0, TxnId::INITIAL); starts[n_keys + 1] as usize];
        for txn in txns() {
            let at = position(chains.chain[txn.index()] as usize - first_chain, chains.place[txn.index()]);
            for key in writes(txn) {
                let slot = &mut starts[key.index() + 1];
                writers[*slot as usize] = (at, txn);
                *slot += 1;
            }
        }
        Self { walk, first_chain, end_chain, starts, writers }
    }

    fn writers(&self, key: KeyId) -> &[(u32, TxnId)] {
        &self.writers[self.starts[key.index()] as usize..self.starts[key.index() + 1] as usize]
    }

    fn inferred<const WIDTH: usize>(&self, rows: &mut [[u16; WIDTH]], pace: &Pace<'_>) -> Edges {
        let Walk { links, asked, replay, .. } = *self.walk;
        let mut edges = Edges::default();
        self.along_the_order(rows, pace, |reader, past, rows| {
            if replay.concerns(reader, asked) {
                for (key, source) in links.reads(reader) {
                    self.infer(key, past, &rows[source.index()], |writer| {
                        if asked == Asked::All || !replay.is_before(writer, source) {
                            edges.push(writer, source);
                        }
                    });
                }
            }
        });
        edges
    }

    /// Walks along the order and shows each transaction with its past. A row says for each lane how many of its
    /// transactions are the row's own or in its past.
    fn along_the_order<const WIDTH: usize>(
        &self,
        rows: &mut [[u16; WIDTH]],
        pace: &Pace<'_>,
        mut show: impl FnMut(TxnId, &[u16; WIDTH], &[[u16; WIDTH]]),
    ) {
        let Walk { links, chains, replay, .. } = self.walk;
        for txn in replay.order.iter().copied().filter(|it| !it.is_initial()) {
            if pace.is_over() {
                return;
            }
            let mut past = rows[links.previous[txn.index()].index()];
            for (_, source) in links.reads(txn) {
                for (mine, theirs) in past.iter_mut().zip(&rows[source.index()]) {
                    *mine = (*mine).max(*theirs);
                }
            }
            show(txn, &past, rows);
            let chain = chains.chain[txn.index()] as usize;
            if (self.first_chain..self.end_chain).contains(&chain) {
                past[chain - self.first_chain] = chains.place[txn.index()] + 1;
            }
            rows[txn.index()] = past;
        }
    }

    /// Of each lane, the last writer of the key in the reader's past is older than the source. Those are named that are
    /// not in the source's past already.
    fn infer<const WIDTH: usize>(
        &self,
        key: KeyId,
        past: &[u16; WIDTH],
        known: &[u16; WIDTH],
        mut older: impl FnMut(TxnId),
    ) {
        let writers = self.writers(key);
        if writers.len() <= WIDTH {
            for (idx, (at, writer)) in writers.iter().enumerate() {
                let (lane, place) = lane_and_place(*at);
                if known[lane] <= place && place < past[lane] {
                    let is_last = writers.get(idx + 1).is_none_or(|it| it.0 >= position(lane, past[lane]));
                    if is_last {
                        older(*writer);
                    }
                }
            }
        } else {
            for lane in (0..WIDTH).filter(|it| known[*it] < past[*it]) {
                let n_before = writers.partition_point(|it| it.0 < position(lane, past[lane]));
                if let Some((at, writer)) = writers[..n_before].last()
                    && *at >= position(lane, known[lane])
                {
                    older(*writer);
                }
            }
        }
    }
}

fn position(lane: usize, place: u16) -> u32 {
    ((lane as u32) << 16) | u32::from(place)
}

fn lane_and_place(at: u32) -> (usize, u16) {
    ((at >> 16) as usize, at as u16)
}

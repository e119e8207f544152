//! Who each read saw, where values do not say it: writers that cannot have been seen are dropped.
//!
//! A possible writer is impossible if it comes after the reader, or if the reader must see a newer version; the last one
//! left is the source, from which more follows. Reachability by sessions and known sources is one counter per
//! transaction and session, computed only if there are reads with several possible writers, and only if it is not too
//! large: the search copes without.
//! Cost of a round: sources times sessions, plus for each open read its possible writers times the sessions that write
//! its key.

use super::frame::Frame;
use super::start;
use crate::core_extraction::{Before, Conclusion, CoreExtraction};
use crate::known::Known;
use crate::rule::Events;
use crate::simple::core_of_sources;
use iso_evidence::{Budget, StopReason};
use iso_history::{Facts, KeyId, TxnId};
use std::collections::BTreeSet;
use std::ops::Range;

/// The sources of reads, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct Sources {
    /// The source of each read, or [`OPEN`]; empty where values say it of all.
    known: Vec<u32>,
    /// For open reads, the writers left: ranges of `left`. Sorted by read.
    open: Vec<(u32, Range<u32>)>,
    left: Vec<TxnId>,
    /// Sorted by read and round.
    removals: Vec<Removal>,
}

/// A writer that cannot have been seen by a read.
#[derive(Clone, Copy, Debug)]
struct Removal {
    read: u32,
    candidate: TxnId,
    /// A newer version that the reader must see, or the reader itself if it comes before the candidate.
    by: TxnId,
    round: u32,
}

const OPEN: u32 = u32::MAX;

/// Counters that may be kept: 400 MB of them.
const MAX_COUNTERS: usize = 100_000_000;

/// Later rounds are worth it only if they settle so many of the open reads: one in this many.
const WORTH_IT: usize = 200;

impl Sources {
    /// What values say.
    pub(super) fn new(facts: &Facts<'_>) -> Self {
        let mut sources = Self::default();
        if facts.sources().is_some() {
            return sources;
        }
        sources.known.reserve_exact(facts.n_reads());
        for read in 0..facts.n_reads() {
            match facts.candidates(read) {
                [source] => sources.known.push(source.raw()),
                candidates => {
                    sources.known.push(OPEN);
                    let start = sources.left.len() as u32;
                    sources.left.extend(candidates.iter().copied());
                    sources.open.push((read as u32, start..sources.left.len() as u32));
                }
            }
        }
        sources
    }

    /// What saturation has left.
    pub(super) fn of_known(known: &Known<'_>) -> Self {
        let mut sources = Self::default();
        for (read, settled) in (0..).zip(&known.problem.read_of_fact) {
            let settled = *settled as usize;
            sources.known.push(known.sources[settled].map_or(OPEN, TxnId::raw));
            if known.sources[settled].is_none() {
                let start = sources.left.len() as u32;
                sources.left.extend(known.remaining[settled].iter().copied());
                sources.open.push((read, start..sources.left.len() as u32));
            }
        }
        sources
    }

    #[inline]
    pub(super) fn of(&self, facts: &Facts<'_>, read: usize) -> Option<TxnId> {
        match self.known.get(read) {
            None => facts.only_candidate(read),
            Some(known) => (*known != OPEN).then(|| TxnId::from_index(*known as usize)),
        }
    }

    /// Do values say who each read saw?
    pub(super) fn are_by_value(&self) -> bool {
        self.known.is_empty()
    }

    /// Are there reads whose source is not known?
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// How many reads have a source that is not known.
    pub(super) fn n_open(&self) -> usize {
        self.open.len()
    }

    fn removals_of(&self, read: usize) -> &[Removal] {
        let first = self.removals.partition_point(|it| (it.read as usize) < read);
        let rest = &self.removals[first..];
        &rest[..rest.partition_point(|it| it.read as usize == read)]
    }

    /// Was the source of a read known before a round?
    fn is_known_before(&self, facts: &Facts<'_>, read: usize, round: u32) -> bool {
        self.of(facts, read).is_some() && self.removals_of(read).last().is_none_or(|it| it.round < round)
    }

    /// The writers that an open read may have seen, ascending.
    pub(super) fn left(&self, read: usize) -> &[TxnId] {
        match self.open.binary_search_by_key(&(read as u32), |it| it.0) {
            Ok(idx) => &self.left[self.open[idx].1.start as usize..self.open[idx].1.end as usize],
            Err(_) => &[],
        }
    }
}

/// A read that nobody can have written for; these transactions show it.
#[derive(Debug)]
pub(super) struct NoWriter(pub(super) BTreeSet<TxnId>);

/// Drops impossible writers in rounds, as long as that pays.
pub(super) fn settle_sources(
    frame: &mut Frame<'_>,
    commits: &[TxnId],
    budget: &Budget<'_>,
) -> Result<Result<(), NoWriter>, StopReason> {
    let n_sessions = frame.facts.history().n_sessions();
    if !frame.sources.is_open() || frame.n_txns().saturating_mul(n_sessions) > MAX_COUNTERS {
        return Ok(Ok(()));
    }
    let lines = Lines::new(frame);
    let mut order = commits.to_vec();
    for round in 0.. {
        budget.check()?;
        let clocks = Clocks::new(frame, &lines, &order);
        let n_open = frame.sources.open.len();
        if let Err(no_writer) = drop_impossible(frame, &lines, &clocks, round) {
            return Ok(Err(no_writer));
        }
        let n_settled = n_open - frame.sources.open.len();
        if n_settled == 0 || n_settled < n_open / WORTH_IT {
            break;
        }
        // New sources may need another order; a cycle among them is found by whoever orders them next.
        match start::repair_order(frame, &order) {
            Ok(better) => order = better,
            Err(_) => break,
        }
    }
    Ok(Ok(()))
}

fn drop_impossible(frame: &mut Frame<'_>, lines: &Lines, clocks: &Clocks, round: u32) -> Result<(), NoWriter> {
    let mut sources = std::mem::take(&mut frame.sources);
    let (open, left) = (std::mem::take(&mut sources.open), std::mem::take(&mut sources.left));
    let mut seen = Vec::new();
    let mut no_writer = None;
    for (read, range) in open {
        let (reader, key) = (frame.reader(read as usize), frame.key(read as usize));
        clocks.latest_seen(lines, reader, key, &mut seen);
        let start = sources.left.len();
        for candidate in left[range.start as usize..range.end as usize].iter().copied() {
            match clocks.why_impossible(reader, candidate, &seen) {
                None => sources.left.push(candidate),
                Some(by) => sources.removals.push(Removal { read, candidate, by, round }),
            }
        }
        match sources.left[start..] {
            [] => {
                no_writer = Some(read);
                break;
            }
            [source] => {
                sources.known[read as usize] = source.raw();
                sources.left.truncate(start);
            }
            _ => sources.open.push((read, start as u32..sources.left.len() as u32)),
        }
    }
    sources.removals.sort_unstable_by_key(|it| (it.read, it.round));
    frame.sources = sources;
    match no_writer {
        Some(read) => Err(NoWriter(core_of_reads(frame, [read]))),
        None => Ok(()),
    }
}

/// Everybody because of whom these reads have the sources that they have.
pub(super) fn core_of_reads(frame: &Frame<'_>, reads: impl IntoIterator<Item = u32>) -> BTreeSet<TxnId> {
    let mut core = CoreExtraction::default();
    for read in reads {
        core.follow(Conclusion::Source(read), Before::MAX);
    }
    let mut settled = Vec::new();
    core.run(|core, conclusion, before| match conclusion {
        Conclusion::Source(read) => reasons(frame, core, &mut settled, read as usize, before),
        Conclusion::Edge(_) => unreachable!("sources rest on sources only"),
    });
    name_settled(frame, &mut core, &settled);
    core.named()
}

/// Names everybody because of whom saturation has left these writers of reads.
pub(super) fn name_settled(frame: &Frame<'_>, core: &mut CoreExtraction, reads: &[usize]) {
    if let Some(known) = frame.known {
        let reads = reads.iter().map(|it| known.problem.read_of_fact[*it] as usize);
        core.name(core_of_sources(known, reads));
    }
}

/// Why a read has the source that it has: whoever may have written it, and why they did not, as far as that was found
/// out before a round. What saturation knows about it is asked later, of all such reads together.
pub(super) fn reasons(
    frame: &Frame<'_>,
    core: &mut CoreExtraction,
    settled: &mut Vec<usize>,
    read: usize,
    before: Before,
) {
    settled.push(read);
    let reader = frame.reader(read);
    core.name([reader]);
    core.name(frame.facts.candidates(read).iter().copied());
    if frame.facts.candidates(read).len() < 2 {
        return;
    }
    let removals = frame.sources.removals_of(read).iter().filter(|it| it.round < before);
    for Removal { candidate, by, round, .. } in removals.copied() {
        core.name([by]);
        let paths =
            if by == reader { [(reader, candidate), (reader, reader)] } else { [(candidate, by), (by, reader)] };
        for ends in paths {
            path(frame, core, ends, round);
        }
    }
}

/// Those on a path of sessions and sources that were known before a round, and the reads that it follows.
fn path(frame: &Frame<'_>, core: &mut CoreExtraction, (from, to): (TxnId, TxnId), round: Before) {
    if from == to || from.is_initial() {
        return;
    }
    core.name([from, to]);
    let is_known = |read: usize| frame.sources.is_known_before(frame.facts, read, round);
    let is_recovered_seen = frame.rule.events == Events::FirstCommitterWins;
    // Backward, since a transaction has few predecessors.
    let mut next: rustc_hash::FxHashMap<TxnId, (TxnId, Option<usize>)> = rustc_hash::FxHashMap::default();
    let mut queue = std::collections::VecDeque::from([to]);
    while let Some(txn) = queue.pop_front() {
        if txn == from {
            break;
        }
        let by_reads =
            frame.reads_of(txn).filter(|it| is_known(*it)).filter_map(|it| Some((frame.source(it)?, Some(it))));
        let recovered = if is_recovered_seen { frame.recovered_before(txn) } else { &[] };
        let by_lists = recovered.iter().map(|it| (it.earlier, frame.read_at(it.shown_by)));
        for (before, read) in by_reads.chain([(frame.previous[txn.index()], None)]).chain(by_lists) {
            if !before.is_initial() && before != to && !next.contains_key(&before) {
                next.insert(before, (txn, read));
                queue.push_back(before);
            }
        }
    }
    let mut txn = from;
    while let Some((after, read)) = next.get(&txn) {
        // Those in the middle of a session only pass it on.
        if let Some(read) = *read {
            core.name([txn, *after]);
            core.follow(Conclusion::Source(read as u32), round);
        }
        txn = *after;
    }
}

/// Sessions and places of transactions, and the writers of keys with open reads by session.
struct Lines {
    session: Vec<u32>,
    /// From 1 on in each session.
    place: Vec<u32>,
    starts: Vec<u32>,
    writers: Vec<TxnId>,
    n_sessions: usize,
}

impl Lines {
    fn new(frame: &Frame<'_>) -> Self {
        let (facts, history) = (frame.facts, frame.facts.history());
        let (mut session, mut place) = (vec![0; frame.n_txns()], vec![0; frame.n_txns()]);
        for txn in facts.txns() {
            let previous = frame.previous[txn.index()];
            session[txn.index()] = history.session_of(txn).map_or(0, iso_history::SessionId::raw);
            place[txn.index()] = if previous.is_initial() { 1 } else { place[previous.index()] + 1 };
        }
        let mut is_open = vec![false; history.n_keys()];
        for (read, _) in &frame.sources.open {
            is_open[frame.key(*read as usize).index()] = true;
        }
        let (mut starts, mut writers) = (vec![0], Vec::new());
        for key in history.keys() {
            let start = writers.len();
            if is_open[key.index()] {
                writers.extend(facts.writers_of(key).iter().copied());
                writers[start..].sort_unstable_by_key(|it| (session[it.index()], place[it.index()]));
            }
            starts.push(writers.len() as u32);
        }
        Self { session, place, starts, writers, n_sessions: history.n_sessions() }
    }

    fn of(&self, key: KeyId) -> &[TxnId] {
        &self.writers[self.starts[key.index()] as usize..self.starts[key.index() + 1] as usize]
    }
}

/// For each transaction and session, the place of the last one there that comes before it, or is it.
struct Clocks<'l> {
    lines: &'l Lines,
    counts: Vec<u32>,
}

impl<'l> Clocks<'l> {
    fn new(frame: &Frame<'_>, lines: &'l Lines, order: &[TxnId]) -> Self {
        let n_sessions = lines.n_sessions;
        let mut counts = vec![0u32; n_sessions * frame.n_txns()];
        let mut row = vec![0u32; n_sessions];
        for txn in order {
            row.fill(0);
            let mut last = TxnId::INITIAL;
            frame.seen(*txn, &mut |before| {
                if !before.is_initial() && before != last {
                    let start = before.index() * n_sessions;
                    for (mine, theirs) in row.iter_mut().zip(&counts[start..start + n_sessions]) {
                        *mine = (*mine).max(*theirs);
                    }
                    last = before;
                }
            });
            row[lines.session[txn.index()] as usize] = lines.place[txn.index()];
            let start = txn.index() * n_sessions;
            counts[start..start + n_sessions].copy_from_slice(&row);
        }
        Self { lines, counts }
    }

    /// Does `earlier` come before `later`, or is it the same?
    fn reaches(&self, earlier: TxnId, later: TxnId) -> bool {
        let count = self.counts[later.index() * self.lines.n_sessions + self.lines.session[earlier.index()] as usize];
        earlier.is_initial() || count >= self.lines.place[earlier.index()]
    }

    /// The last writer of a key in each session that the reader must see.
    fn latest_seen(&self, lines: &Lines, reader: TxnId, key: KeyId, seen: &mut Vec<TxnId>) {
        seen.clear();
        let writers = lines.of(key);
        let mut idx = 0;
        while idx < writers.len() {
            let session = lines.session[writers[idx].index()];
            let count = self.counts[reader.index() * lines.n_sessions + session as usize];
            let mut last = None;
            while idx < writers.len() && lines.session[writers[idx].index()] == session {
                if lines.place[writers[idx].index()] <= count && writers[idx] != reader {
                    last = Some(writers[idx]);
                }
                idx += 1;
            }
            seen.extend(last);
        }
    }

    fn why_impossible(&self, reader: TxnId, candidate: TxnId, seen: &[TxnId]) -> Option<TxnId> {
        if !candidate.is_initial() && self.reaches(reader, candidate) {
            return Some(reader);
        }
        seen.iter().copied().find(|it| *it != candidate && self.reaches(candidate, *it))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Rule;
    use iso_history::{HistoryBuilder, Outcome, Place};
    use iso_spec::Level;

    /// Two sessions write x=1; the reader follows one of them and must have seen the newer one.
    #[test]
    fn the_writer_that_a_session_overwrote_is_dropped() {
        let mut builder = HistoryBuilder::new();
        let x = builder.key("x".into());
        let [zero, one, two] = [0, 1, 2].map(|it| builder.value(it.into()));
        builder.default_initial(zero);
        let session = builder.session("a");
        for value in [one, two, one] {
            builder.begin(session, Place::default());
            builder.write(x, value);
            builder.end(Outcome::Committed);
        }
        builder.begin(session, Place::default());
        builder.read(x, one);
        builder.end(Outcome::Committed);
        let history = builder.finish().unwrap();
        let facts = Facts::new(&history);
        let mut frame = Frame::new(&facts, Rule::of(Level::Serializable));
        assert_eq!(frame.source(0), None);
        let [first, second, third, reader] = [1, 2, 3, 4].map(TxnId::from_index);
        assert_eq!(frame.sources.left(0), [first, third]);
        settle_sources(&mut frame, &[first, second, third, reader], &Budget::unlimited()).unwrap().unwrap();
        assert_eq!(frame.source(0), Some(third));
        assert_eq!(core_of_reads(&frame, [0]).into_iter().collect::<Vec<_>>(), [first, third, reader]);
    }
}

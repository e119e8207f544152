//! Reads that are likely to break serializability.
//!
//! A run is not serializable if its dependencies have a cycle (Adya 1999): session order, who read from whom, who
//! overwrote whom, and who read what another one overwrote. An open transaction comes after its session, those that it
//! reads from and those whose versions or reads it overwrites, and so after all that these come after: its *ancestors*.
//! If it reads a version that an ancestor overwrote, it comes before that ancestor, too. So such versions are taken
//! where they are legal, and so are versions whose writer comes after somebody who overwrote what was read before. Else
//! an old version is better than a new one, as ancestors may follow; best if whoever overwrote it had read it, since
//! one more who does both is a lost update.
//! Ancestors are searched only so far; what is missed is a chance and no mistake.

use crate::choose;
use crate::open::Open;
use crate::past::{KeyIdx, Past, Pos};
use crate::random::Random;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// A committed transaction by its number, in the order of commits; those that only read have one, too.
type Node = u32;

/// So many ancestors are looked for after each operation.
const N_STEPS: usize = 24;
/// So many ancestors are enough: the nearest ones are found first.
const N_ANCESTORS: usize = 256;
/// So many versions of a key are compared.
const N_COMPARED: u32 = 8;
/// Of a transaction with more operations, only so many are followed.
const N_FOLLOWED: usize = 16;
/// Of a version with more readers, only so many, the last ones.
const N_READERS: usize = 4;

/// What is known about who depends on whom.
#[derive(Clone, Debug, Default)]
pub(crate) struct Adversary {
    nodes: Vec<Vec<Node>>,
    /// So many came before them: they depend on nobody.
    n_forgotten: Node,
    /// By place in the log after what is forgotten. The initial state depends on nobody, and what is forgotten neither.
    node_at: Vec<Option<Node>>,
    forgotten: Pos,
    last_of_session: FxHashMap<u32, Node>,
    readers: FxHashMap<(KeyIdx, u32), Vec<Node>>,
}

/// The ancestors of an open transaction, as far as they are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ancestors {
    known: FxHashSet<Node>,
    /// Those whose own ancestors are not.
    pending: VecDeque<Node>,
}

impl Ancestors {
    fn add(&mut self, node: Node) {
        if self.known.insert(node) {
            self.pending.push_back(node);
        }
    }
}

impl Adversary {
    /// A session's next transaction begins.
    pub(crate) fn begin(&self, session: u32) -> Ancestors {
        let mut ancestors = Ancestors::default();
        if let Some(last) = self.last_of_session.get(&session) {
            ancestors.add(*last);
        }
        ancestors
    }

    /// The transaction reads a version of whoever committed at this place.
    pub(crate) fn note_read(&self, ancestors: &mut Ancestors, source: Pos) {
        if let Some(node) = self.node_at(source) {
            ancestors.add(node);
        }
    }

    /// The transaction writes a key after its last version.
    pub(crate) fn note_write(&self, past: &Past, ancestors: &mut Ancestors, key: KeyIdx) {
        for node in self.overwritten(past, key, past.key(key).newest()) {
            ancestors.add(node);
        }
    }

    /// Chooses what to read.
    pub(crate) fn choose(&self, past: &Past, open: &mut Open, key: KeyIdx, random: &mut Random) -> u32 {
        self.climb(&mut open.ancestors);
        let overwriters = self.overwriters(past, open);
        let (oldest, newest) = open.view.span(past, key);
        let last = choose::newest(past, open, key);
        if self.brings_back(past, key, last, &overwriters) {
            return last;
        }
        let mut best = (0, last);
        let n_versions = newest - oldest + 1;
        for nth in 0..N_COMPARED.min(n_versions) {
            let version = oldest + if n_versions <= N_COMPARED { nth } else { random.below(n_versions) };
            if version == last || !open.view.allows(past, &open.reads, key, version) {
                continue;
            }
            let closes = self.is_overwritten_by_ancestor(past, open, key, version)
                || self.brings_back(past, key, version, &overwriters);
            let age = (newest - version).min(N_COMPARED) + random.below(3);
            // A cycle counts more than a lost update that may come, and that more than any age.
            let score = age + 16 * u32::from(self.is_read_by_overwriter(past, key, version)) + 64 * u32::from(closes);
            best = best.max((1 + score, version));
        }
        best.1
    }

    /// Those who overwrote what the transaction read: it comes before them.
    fn overwriters(&self, past: &Past, open: &Open) -> Vec<Node> {
        let next = |(key, version): &(KeyIdx, u32)| past.key(*key).after(*version).first();
        let found = open.taken.iter().rev().take(N_FOLLOWED).filter_map(next);
        found.filter_map(|it| self.node_at(it.pos)).collect()
    }

    /// Does a version's writer come after one of these, as far as is looked?
    fn brings_back(&self, past: &Past, key: KeyIdx, version: u32, overwriters: &[Node]) -> bool {
        let Some(writer) = self.node_at(past.key(key).pos(version)).filter(|_| !overwriters.is_empty()) else {
            return false;
        };
        // So few that a list is faster than a set.
        let mut seen = vec![writer];
        let mut at = 0;
        while at < seen.len() && seen.len() < N_STEPS {
            let fresh = self.before(seen[at]).iter().filter(|it| !seen.contains(it)).copied();
            let fresh: Vec<Node> = fresh.collect();
            seen.extend(fresh);
            at += 1;
        }
        overwriters.iter().any(|it| seen.contains(it))
    }

    /// Did whoever overwrote a version read it? One who reads and overwrites it now may lose that update.
    fn is_read_by_overwriter(&self, past: &Past, key: KeyIdx, version: u32) -> bool {
        let overwriter = past.key(key).after(version).first().and_then(|it| self.node_at(it.pos));
        let readers = self.readers.get(&(key, version)).map_or(&[][..], Vec::as_slice);
        overwriter.is_some_and(|it| readers.iter().rev().take(N_FOLLOWED).any(|reader| *reader == it))
    }

    fn is_overwritten_by_ancestor(&self, past: &Past, open: &Open, key: KeyIdx, version: u32) -> bool {
        let later = past.key(key).after(version).iter().take(N_FOLLOWED);
        later.filter_map(|it| self.node_at(it.pos)).any(|it| open.ancestors.known.contains(&it))
    }

    /// A transaction commits, at a place of the log if it wrote.
    pub(crate) fn commit(&mut self, past: &Past, session: u32, open: &Open, pos: Option<Pos>) {
        let node = self.n_forgotten + self.nodes.len() as Node;
        let mut before: Vec<Node> = self.last_of_session.get(&session).copied().into_iter().collect();
        for (key, version) in open.taken.iter().take(N_FOLLOWED) {
            before.extend(self.node_at(past.key(*key).pos(*version)));
        }
        for key in open.own_keys.iter().take(N_FOLLOWED) {
            before.extend(self.overwritten(past, *key, past.key(*key).newest() - 1));
        }
        before.sort_unstable();
        before.dedup();
        self.nodes.push(before);
        self.last_of_session.insert(session, node);
        for (key, version) in &open.taken {
            self.readers.entry((*key, *version)).or_default().push(node);
        }
        if let Some(pos) = pos {
            self.node_at.resize((pos - self.forgotten) as usize - 1, None);
            self.node_at.push(Some(node));
        }
    }

    fn node_at(&self, pos: Pos) -> Option<Node> {
        self.node_at.get(pos.checked_sub(self.forgotten + 1)? as usize).copied().flatten()
    }

    /// Whom a transaction comes after.
    fn before(&self, node: Node) -> &[Node] {
        node.checked_sub(self.n_forgotten).map_or(&[], |it| &self.nodes[it as usize])
    }

    /// Nobody reads any more what was overwritten up to a place of the log.
    pub(crate) fn forget(&mut self, until: Pos) {
        let n_places = until.saturating_sub(self.forgotten).min(self.node_at.len() as Pos);
        let last = self.node_at[..n_places as usize].iter().rev().find_map(|it| *it);
        self.node_at.drain(..n_places as usize);
        self.forgotten += n_places;
        if let Some(last) = last {
            self.nodes.drain(..(last + 1 - self.n_forgotten) as usize);
            self.n_forgotten = last + 1;
        }
    }

    /// Nobody reads a version any more, nor what comes right after it as such.
    pub(crate) fn forget_readers(&mut self, key: KeyIdx, version: u32) {
        self.readers.remove(&(key, version));
    }

    /// Who comes before the writer of the version after this one: its writer and its readers.
    fn overwritten(&self, past: &Past, key: KeyIdx, version: u32) -> impl Iterator<Item = Node> {
        let readers = self.readers.get(&(key, version)).map_or(&[][..], Vec::as_slice);
        self.node_at(past.key(key).pos(version)).into_iter().chain(readers.iter().rev().take(N_READERS).copied())
    }

    /// Finds more ancestors.
    fn climb(&self, ancestors: &mut Ancestors) {
        for _ in 0..N_STEPS {
            let Some(node) = ancestors.pending.pop_front().filter(|_| ancestors.known.len() < N_ANCESTORS) else {
                return;
            };
            for before in self.before(node) {
                ancestors.add(*before);
            }
        }
    }
}

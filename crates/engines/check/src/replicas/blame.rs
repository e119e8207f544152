//! What to avoid, where no session can go on: the sources that brought a hindering write into a view.

use super::state::Replicas;
use iso_history::TxnId;
use rustc_hash::FxHashMap;

/// How often the source of a read led to a dead end.
#[derive(Debug, Default)]
pub(super) struct Penalties(FxHashMap<(usize, TxnId), u64>);

impl Penalties {
    pub(super) fn of(&self, read: usize, writer: TxnId) -> u64 {
        self.0.get(&(read, writer)).copied().unwrap_or(0)
    }

    fn add(&mut self, read: usize, writer: TxnId) {
        *self.0.entry((read, writer)).or_default() += 1;
    }
}

impl Replicas<'_> {
    /// Makes the sources less welcome because of which sessions are blocked.
    pub(super) fn blame(&mut self) {
        for session in 0..self.places.len() {
            let Some(blocked) = self.blocked(session).cloned() else { continue };
            for read in blocked.in_the_way {
                if let Some(source) = self.sources[read] {
                    self.penalties.add(read, source);
                }
            }
            if self.is_waiting(blocked.read) {
                continue;
            }
            let hindering: Vec<TxnId> =
                self.last_seen(&self.views[session], self.problem.reads[blocked.read].key).collect();
            for writer in hindering {
                self.blame_path(writer, session);
            }
        }
    }

    /// Forgets all that was blamed.
    pub(super) fn forgive(&mut self) {
        self.penalties = Penalties::default();
    }

    /// Has nobody written what the read saw so far? Then nothing went wrong for it yet.
    fn is_waiting(&self, read: usize) -> bool {
        let is_initial = self.problem.candidates(read).first().is_some_and(|it| it.is_initial());
        !is_initial && self.written_version[self.version[read] as usize].iter().all(Vec::is_empty)
    }

    /// Blames the sources on the way by which a session came to see a writer.
    fn blame_path(&mut self, writer: TxnId, mut session: usize) {
        let (goal, _) = self.problem.place_in_session(writer);
        let mut until = self.places[session];
        while session != goal as usize {
            let executed = &self.problem.sessions[session][..until];
            let first = executed.partition_point(|it| !self.is_past(writer, *it));
            let Some(txn) = executed.get(first) else { return };
            let sources = self.problem.reads_of(*txn).filter_map(|it| Some((it, self.sources[it]?)));
            let leads = |it: &(usize, TxnId)| !it.1.is_initial() && self.is_past(writer, it.1);
            let Some((read, source)) = sources.into_iter().find(leads) else { return };
            self.penalties.add(read, source);
            let (next, nth) = self.problem.place_in_session(source);
            (session, until) = (next as usize, nth as usize + 1);
        }
    }
}

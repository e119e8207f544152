//! Histories of chosen size, from a store in memory whose sessions really interleave.
//!
//! Each step lets one randomly chosen session do one operation. The serializable store validates at commit that what
//! was read is still current; the snapshot store reads from the state at begin, and the first committer wins. Losers
//! are recorded as aborted.

use crate::random::Random;
use std::fmt::Write as _;

/// How the store isolates transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Serializable,
    Snapshot,
}

/// What to generate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub(crate) store: Store,
    pub(crate) n_txns: usize,
    pub(crate) n_sessions: usize,
    pub(crate) n_keys: usize,
    pub(crate) ops_per_txn: usize,
    pub(crate) seed: u64,
}

/// A history in our machine format, with as many committed transactions as asked for.
pub(crate) fn generate(workload: Workload) -> String {
    let mut run = Run {
        workload,
        random: Random::new(workload.seed),
        versions: vec![vec![(0, 0)]; workload.n_keys],
        n_commits: 0,
        last_value: 0,
        clock: 0,
        out: "{\"isoscope\":1,\"initial\":0}\n".to_owned(),
    };
    let mut open: Vec<Option<Open>> = (0..workload.n_sessions).map(|_| None).collect();
    while run.n_commits < workload.n_txns {
        let session = run.random.below(workload.n_sessions);
        run.step(session, &mut open[session]);
    }
    run.out
}

/// A transaction that has begun.
struct Open {
    begin: usize,
    snapshot: usize,
    reads: Vec<(usize, usize)>,
    writes: Vec<(usize, u64)>,
    ops: Vec<String>,
}

struct Run {
    workload: Workload,
    random: Random,
    /// For each key its committed versions: the commit's number and the value.
    versions: Vec<Vec<(usize, u64)>>,
    n_commits: usize,
    last_value: u64,
    clock: usize,
    out: String,
}

impl Run {
    fn step(&mut self, session: usize, open: &mut Option<Open>) {
        self.clock += 1;
        match open {
            None => {
                let (begin, snapshot) = (self.clock, self.n_commits);
                *open = Some(Open { begin, snapshot, reads: Vec::new(), writes: Vec::new(), ops: Vec::new() });
            }
            Some(txn) if txn.ops.len() < self.workload.ops_per_txn => self.operate(txn),
            Some(txn) => {
                self.end(session, txn);
                *open = None;
            }
        }
    }

    fn operate(&mut self, txn: &mut Open) {
        let key = self.random.below(self.workload.n_keys);
        if self.random.below(2) == 0 {
            self.last_value += 1;
            txn.writes.retain(|it| it.0 != key);
            txn.writes.push((key, self.last_value));
            txn.ops.push(format!("[\"w\",{key},{}]", self.last_value));
            return;
        }
        let own = txn.writes.iter().find(|it| it.0 == key).map(|it| it.1);
        let value = own.unwrap_or_else(|| {
            let (commit, value) = self.visible(key, txn.snapshot);
            txn.reads.push((key, commit));
            value
        });
        txn.ops.push(format!("[\"r\",{key},{value}]"));
    }

    fn visible(&self, key: usize, snapshot: usize) -> (usize, u64) {
        let versions = &self.versions[key];
        let until = match self.workload.store {
            Store::Serializable => versions.len(),
            Store::Snapshot => versions.partition_point(|it| it.0 <= snapshot),
        };
        versions[until - 1]
    }

    fn end(&mut self, session: usize, txn: &Open) {
        let newest = |key: usize| self.versions[key].last().map_or(0, |it| it.0);
        let may_commit = match self.workload.store {
            Store::Serializable => txn.reads.iter().all(|(key, commit)| newest(*key) == *commit),
            Store::Snapshot => txn.writes.iter().all(|(key, _)| newest(*key) <= txn.snapshot),
        };
        if may_commit {
            self.n_commits += 1;
            for (key, value) in &txn.writes {
                self.versions[*key].push((self.n_commits, *value));
            }
        }
        let (ops, begin, end) = (txn.ops.join(","), txn.begin, self.clock);
        let status = if may_commit { "commit" } else { "abort" };
        let line =
            format!("{{\"s\":{session},\"ops\":[{ops}],\"status\":\"{status}\",\"begin\":{begin},\"end\":{end}}}");
        // Writing to a string cannot fail.
        let _ = writeln!(self.out, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_history() {
        let workload =
            Workload { store: Store::Snapshot, n_txns: 50, n_sessions: 5, n_keys: 10, ops_per_txn: 4, seed: 7 };
        assert_eq!(generate(workload), generate(workload));
        assert_ne!(generate(workload), generate(Workload { seed: 8, ..workload }));
    }

    #[test]
    fn as_many_transactions_commit_as_asked_for() {
        let workload =
            Workload { store: Store::Serializable, n_txns: 50, n_sessions: 5, n_keys: 10, ops_per_txn: 4, seed: 7 };
        assert_eq!(generate(workload).matches("\"status\":\"commit\"").count(), 50);
    }
}

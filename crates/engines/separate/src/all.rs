//! Every history for a question, up to names: those that contain no smaller one.
//!
//! A history contains another if leaving out transactions, operations and session steps gives it, up to names. Whatever
//! separates contains one that contains no other, so these stand for all. Each one found excludes, in every way in which
//! it can be contained, all that contain it; what is reported in the end contains no other one.

use crate::draft::{Draft, Returned};
use crate::question::{Aspects, Question, Size};
use crate::search::{CandidateSearch, Effort, Forms};
use crate::separate::{Found, QuestionSearch, found_history};
use crate::sketch::Sketch;
use iso_evidence::{Budget, StopReason};
use iso_solve::{Circuit, Wire};

/// The histories for a question, and what they took.
#[derive(Clone, Debug)]
pub struct Separations {
    /// Histories that contain no smaller one, smallest first.
    pub found: Vec<Found>,
    /// Are these all? Otherwise there may be more, and smaller ones within those that were found.
    pub is_complete: bool,
    /// The limit that ended the search, if it was not the number of histories.
    pub stopped: Option<StopReason>,
    /// What was varied.
    pub aspects: Aspects,
    /// What it took.
    pub effort: Effort,
}

/// Looks for all histories that all of some specs allow and all of others forbid, and that contain no smaller one; it
/// ends after so many, if that is limited.
pub fn separate_all(question: &Question<'_>, limit: Option<usize>, budget: &Budget<'_>) -> Separations {
    let forms = Forms::new(&question.allowed, &question.forbidden);
    let mut search =
        QuestionSearch { forms: &forms, question, budget, aspects: Aspects::default(), effort: Effort::default() };
    let mut all = Vec::new();
    let ended = search.run_all(limit.unwrap_or(usize::MAX), &mut all);
    all.sort_by_key(|it| (it.0.n_txns, it.0.keys().len(), it.0.n_facts()));
    let found = (0..all.len()).filter(|it| is_smallest(*it, &all)).map(|it| all[it].1.clone()).collect();
    let is_complete = ended == Ok(true);
    Separations { found, is_complete, stopped: ended.err(), aspects: search.aspects, effort: search.effort }
}

/// Does it contain none of the others? No two are the same, since what was found is excluded.
fn is_smallest(idx: usize, all: &[(Draft, Found)]) -> bool {
    let draft = &all[idx].0;
    all.iter().enumerate().all(|(other_idx, (other, _))| {
        other_idx == idx || embeddings(other, draft.n_txns, &draft.keys()).iter().all(|it| !it.is_in(other, draft))
    })
}

impl QuestionSearch<'_, '_> {
    fn run_all(&mut self, limit: usize, all: &mut Vec<(Draft, Found)>) -> Result<bool, StopReason> {
        self.aspects = self.aspects_of_question()?;
        let scope = self.question.scope;
        let first = if scope.size == Size::Exactly { scope.txns } else { 1 };
        for n_txns in first..=scope.txns {
            let mut search = self.search(n_txns);
            for (draft, _) in all.iter() {
                exclude(&mut search, draft);
            }
            let result = Self::all_of_size(&mut search, limit, all);
            self.add(&search);
            if !result? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn all_of_size(
        search: &mut CandidateSearch<'_, '_>,
        limit: usize,
        all: &mut Vec<(Draft, Found)>,
    ) -> Result<bool, StopReason> {
        while let Some(model) = search.find(&[])? {
            if all.len() >= limit {
                return Ok(false);
            }
            let model = Self::fewest(search, model)?;
            all.push((model.draft.clone(), found_history(search, &model)));
            exclude(search, &model.draft);
        }
        Ok(true)
    }
}

/// Excludes every history that contains this one.
fn exclude(search: &mut CandidateSearch<'_, '_>, draft: &Draft) {
    let keys: Vec<usize> = (0..search.sketch().n_keys).collect();
    for embedding in embeddings(draft, search.sketch().n_txns, &keys) {
        let contained = embedding.wire(draft, search);
        search.assert(!contained);
    }
}

/// Where the transactions and keys of a history stand in a larger one.
#[derive(Debug)]
struct Embedding {
    txns: Vec<usize>,
    /// By key of the smaller history.
    keys: Vec<usize>,
}

/// All ways to choose places for the transactions and keys of a history.
fn embeddings(draft: &Draft, n_txns: usize, keys: &[usize]) -> Vec<Embedding> {
    let used = draft.keys();
    if draft.n_txns > n_txns || used.len() > keys.len() {
        return Vec::new();
    }
    let places: Vec<usize> = (1..n_txns).collect();
    let mut all = Vec::new();
    for chosen in arrangements(&places, draft.n_txns - 1) {
        let txns: Vec<usize> = std::iter::once(0).chain(chosen).collect();
        for chosen in arrangements(keys, used.len()) {
            let mut by_key = vec![usize::MAX; used.last().map_or(0, |it| it + 1)];
            for (key, place) in used.iter().zip(chosen) {
                by_key[*key] = place;
            }
            all.push(Embedding { txns: txns.clone(), keys: by_key });
        }
    }
    all
}

/// All sequences of so many different elements.
fn arrangements(of: &[usize], length: usize) -> Vec<Vec<usize>> {
    if length == 0 {
        return vec![Vec::new()];
    }
    let longer = |shorter: Vec<usize>| {
        let left: Vec<usize> = of.iter().copied().filter(|it| !shorter.contains(it)).collect();
        left.into_iter().map(move |it| shorter.iter().copied().chain([it]).collect())
    };
    arrangements(of, length - 1).into_iter().flat_map(longer).collect()
}

impl Embedding {
    /// Is the smaller history within the larger one at these places?
    fn is_in(&self, small: &Draft, large: &Draft) -> bool {
        let writes =
            |txn: usize| small.writes[txn].iter().all(|it| large.writes[self.txns[txn]].contains(&self.keys[*it]));
        let at = |it: &(usize, usize)| (self.txns[it.0], self.txns[it.1]);
        let has_times = small.rt.iter().flatten().all(|it| large.rt.iter().flatten().any(|other| *other == at(it)));
        let has_rows = |small: &[Vec<usize>], large: &[Vec<usize>]| {
            (0..small.len()).all(|txn| small[txn].iter().all(|it| large[self.txns[txn]].contains(&self.keys[*it])))
        };
        let has_marks = has_rows(&small.absent, &large.absent)
            && has_rows(&small.remade, &large.remade)
            && has_rows(&small.lost, &large.lost);
        has_times
            && has_marks
            && small.so.iter().all(|it| large.so.contains(&at(it)))
            && (1..small.n_txns).all(|txn| writes(txn) && self.reads_in(txn, small, large))
    }

    /// Are the reads of a transaction there, in the same order?
    fn reads_in(&self, txn: usize, small: &Draft, large: &Draft) -> bool {
        let mut rest = large.reads[self.txns[txn]].iter();
        // Which statement of the larger history the last read of the smaller one is in.
        let mut last: Option<(usize, usize)> = None;
        small.reads[txn].iter().all(|it| {
            let together = last.filter(|last| last.0 == it.statement).map(|last| last.1);
            let found = rest.find(|other| {
                (other.key, other.source, other.returned) == (self.keys[it.key], self.txns[it.source], it.returned)
                    && other.updates >= it.updates
                    && other.locking >= it.locking
                    && together.is_none_or(|statement| statement == other.statement)
            });
            last = found.map(|other| (it.statement, other.statement));
            found.is_some()
        })
    }

    /// Is the smaller history within the sketched one at these places?
    fn wire(&self, small: &Draft, search: &mut CandidateSearch<'_, '_>) -> Wire {
        let mut wires = Vec::new();
        let reads = |sketch: &Sketch, circuit: &mut Circuit, wires: &mut Vec<Wire>| {
            for txn in 1..small.n_txns {
                let place = self.txns[txn];
                wires.extend(small.writes[txn].iter().map(|it| sketch.writes.at(place, self.keys[*it])));
                // Which of two slots of a key has a read is free, and so are the slots that give the order of reads.
                let choices = self.slot_choices(txn, small, sketch, circuit);
                wires.push(circuit.or(choices));
            }
            for (of, rows) in [
                (&sketch.statements.absent, &small.absent),
                (&sketch.statements.remade, &small.remade),
                (&sketch.statements.lost, &small.lost),
            ] {
                for (txn, keys) in rows.iter().enumerate() {
                    wires.extend(keys.iter().map(|it| of.at(self.txns[txn], self.keys[*it])));
                }
            }
            wires.extend(small.so.iter().map(|it| sketch.so.at(self.txns[it.0], self.txns[it.1])));
            wires.extend(small.rt.iter().flatten().map(|it| sketch.rt.at(self.txns[it.0], self.txns[it.1])));
        };
        let (sketch, circuit) = search.parts();
        reads(sketch, circuit, &mut wires);
        circuit.and(wires)
    }

    /// One wire for each choice of slots for the reads of a transaction.
    fn slot_choices(&self, txn: usize, small: &Draft, sketch: &Sketch, circuit: &mut Circuit) -> Vec<Wire> {
        let mut choices: Vec<(Vec<usize>, Vec<Wire>)> = vec![(Vec::new(), Vec::new())];
        let mut before: Option<usize> = None;
        for read in &small.reads[txn] {
            let is_joint = before == Some(read.statement);
            before = Some(read.statement);
            let mut longer = Vec::new();
            for (slots, wires) in &choices {
                for slot in sketch.slots_of(self.txns[txn]).filter(|it| sketch.slots[*it].key == self.keys[read.key]) {
                    let mut wires = wires.clone();
                    wires.push(sketch.from.at(slot, self.txns[read.source]));
                    let omitted = sketch.omitted[slot];
                    wires.push(if read.returned == Returned::No { omitted } else { !omitted });
                    wires.extend(read.updates.then(|| sketch.statements.updates[slot]));
                    wires.extend(read.locking.then(|| sketch.statements.locking[slot]));
                    wires.extend(slots.last().filter(|_| is_joint).map(|it| sketch.statements.same.at(*it, slot)));
                    if sketch.aspects.read_order {
                        wires.extend(slots.last().map(|it| sketch.po.at(*it, slot)));
                    }
                    longer.push((slots.iter().copied().chain([slot]).collect(), wires));
                }
            }
            choices = longer;
        }
        choices.into_iter().map(|it| circuit.and(it.1)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrangements_are_all_sequences_without_repetition() {
        assert_eq!(arrangements(&[1, 2, 3], 2).len(), 6);
        assert_eq!(arrangements(&[1], 0), [Vec::<usize>::new()]);
        assert!(arrangements(&[1], 2).is_empty());
    }
}

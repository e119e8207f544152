//! The reference evaluator: does a level allow a history? By searching for the witness, pair by pair.
//!
//! Everything that may exist is tried: which optional transactions are in, whose write each ambiguous read saw, and the
//! witness. The witness starts with nothing known; pairs are decided one after the other, those that follow from the
//! requirements at once, and a branch ends as soon as the formula is surely false or surely true.
//! Cost: exponential in transactions; meant for small histories.

use crate::bounds::{Bounds, Truth, all_bits, bits};
use crate::execution::{Execution, NamedRelation};
use crate::formula::WitnessKind;
use crate::session_order::SessionOrder;
use crate::spec::{DirtyReads, HiddenRows, Spec};
use crate::world::{TooLarge, Unsourced, World, Worlds};
use iso_history::{Facts, History, TxnId};

/// What a level says about a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evaluation {
    /// Allowed, and this is how it may have happened.
    Allowed(Execution),
    /// Nothing explains the history.
    Forbidden,
    /// The limit was reached first.
    OutOfSteps,
    /// More transactions, keys or reads than the evaluator takes.
    TooLarge,
}

impl Evaluation {
    /// Yes or no, if it is known.
    pub fn is_allowed(&self) -> Option<bool> {
        match self {
            Self::Allowed(_) => Some(true),
            Self::Forbidden => Some(false),
            _ => None,
        }
    }
}

/// How many steps of a search may still be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps(u64);

impl Steps {
    /// At most this many steps.
    pub fn new(limit: u64) -> Self {
        Self(limit)
    }

    /// As many steps as it takes.
    pub fn unlimited() -> Self {
        Self(u64::MAX)
    }

    /// How many are left.
    pub fn left(self) -> u64 {
        self.0
    }

    pub(crate) fn take(&mut self) -> bool {
        let is_left = self.0 > 0;
        self.0 = self.0.saturating_sub(1);
        is_left
    }
}

/// Decides whether a level allows a history.
pub fn evaluate(facts: &Facts<'_>, spec: &Spec, limit: &mut Steps) -> Evaluation {
    Prepared::new(facts).evaluate(spec, limit)
}

/// Does this execution explain the history at this level?
///
/// Everything is checked: that the execution is one of the history's, that its relations are legal witnesses, and the
/// formula.
pub fn holds(facts: &Facts<'_>, spec: &Spec, execution: &Execution) -> bool {
    holds_under(facts, &SessionOrder::Recorded, spec, execution)
}

/// As [`holds`], under the session order of [`Prepared::with_session_order`].
pub fn holds_with_session_order(
    facts: &Facts<'_>,
    spec: &Spec,
    execution: &Execution,
    pairs: &[(TxnId, TxnId)],
) -> bool {
    holds_under(facts, &SessionOrder::closing(pairs), spec, execution)
}

fn holds_under(facts: &Facts<'_>, so: &SessionOrder, spec: &Spec, execution: &Execution) -> bool {
    if let Some(history) = most_favourable(facts, spec) {
        return holds_under(&Facts::new(&history), so, spec, execution);
    }
    if has_mixed_lists(facts, spec) {
        let mut cases = facts.history().mixed_cases().into_iter().flatten();
        return cases.any(|it| holds_under(&Facts::new(&it), so, spec, execution));
    }
    if local_answer(facts, spec).is_some() {
        return false;
    }
    if facts.ambiguous_list().is_some() {
        return facts.cases().iter().any(|it| holds_under(&Facts::new(it), so, spec, execution));
    }
    match World::of_execution(facts, so, execution, unsourced(spec)) {
        Some(world) => certify(spec, &world, execution),
        None => false,
    }
}

/// A history made ready to be evaluated at several levels.
#[derive(Debug)]
pub struct Prepared<'f, 'h> {
    facts: &'f Facts<'h>,
    so: SessionOrder,
    /// The world, if there is only one.
    only: Option<World>,
}

impl<'f, 'h> Prepared<'f, 'h> {
    /// Derives what the levels have in common.
    pub fn new(facts: &'f Facts<'h>) -> Self {
        Self::under(facts, SessionOrder::Recorded)
    }

    /// As [`Prepared::new`], but session order is the transitive closure of these pairs, whatever sessions the history
    /// has. The initial transaction precedes all others, named or not.
    ///
    /// # Panics
    ///
    /// If the pairs have a cycle, or put something before the initial transaction.
    pub fn with_session_order(facts: &'f Facts<'h>, pairs: &[(TxnId, TxnId)]) -> Self {
        Self::under(facts, SessionOrder::closing(pairs))
    }

    fn under(facts: &'f Facts<'h>, so: SessionOrder) -> Self {
        let mut only = None;
        if let Ok(mut worlds) = Worlds::new(facts, &so, Unsourced::Tolerate)
            && let Ok(Some(first)) = worlds.next()
            && let Ok(None) = worlds.next()
        {
            only = Some(first);
        }
        Self { facts, so, only }
    }

    /// Decides whether a level allows the history.
    pub fn evaluate(&self, spec: &Spec, limit: &mut Steps) -> Evaluation {
        if let Some(history) = most_favourable(self.facts, spec) {
            return Prepared::under(&Facts::new(&history), self.so.clone()).evaluate(spec, limit);
        }
        if has_mixed_lists(self.facts, spec) {
            let Some(cases) = self.facts.history().mixed_cases() else { return Evaluation::TooLarge };
            return self.each_case(cases, spec, limit);
        }
        if let Some(answer) = local_answer(self.facts, spec) {
            return answer;
        }
        if self.facts.ambiguous_list().is_some() {
            return self.each_case(self.facts.cases(), spec, limit);
        }
        if let Some(world) = &self.only {
            return WitnessSearch::new(spec, world).answer(limit).unwrap_or(Evaluation::Forbidden);
        }
        self.each_world(spec, limit).unwrap_or(Evaluation::TooLarge)
    }

    /// A list read has several meanings: the history is allowed if it is in one of the cases.
    fn each_case(&self, cases: impl IntoIterator<Item = History>, spec: &Spec, limit: &mut Steps) -> Evaluation {
        for case in cases {
            if !limit.take() {
                return Evaluation::OutOfSteps;
            }
            let answer = Prepared::under(&Facts::new(&case), self.so.clone()).evaluate(spec, limit);
            if answer != Evaluation::Forbidden {
                return answer;
            }
        }
        Evaluation::Forbidden
    }

    fn each_world(&self, spec: &Spec, limit: &mut Steps) -> Result<Evaluation, TooLarge> {
        let mut worlds = Worlds::new(self.facts, &self.so, unsourced(spec))?;
        while let Some(world) = worlds.next()? {
            if let Some(answer) = WitnessSearch::new(spec, &world).answer(limit) {
                return Ok(answer);
            }
        }
        Ok(Evaluation::Forbidden)
    }
}

/// For a level that allows dirty reads, whoever is indeterminate may as well have aborted, which asks for least. Where
/// rows may be hidden, those that may have been say nothing. A list that a transaction has appended to is read at its newest,
/// for levels that tell newest versions from others.
pub(crate) fn most_favourable(facts: &Facts<'_>, spec: &Spec) -> Option<History> {
    let history = facts.history();
    if spec.dirty_reads() == DirtyReads::Allowed {
        return history.favouring_dirty_reads();
    }
    let locked = history.with_locked_lists();
    let hidden = match spec.hidden_rows() {
        HiddenRows::Allowed => locked.as_ref().unwrap_or(history).with_hidden_rows(),
        HiddenRows::Forbidden => None,
    };
    hidden.or(locked)
}

/// May lists have elements that were rolled back, or not, and does the level allow to read such?
pub(crate) fn has_mixed_lists(facts: &Facts<'_>, spec: &Spec) -> bool {
    spec.dirty_reads() == DirtyReads::Allowed && !facts.history().mixed_lists().is_empty()
}

/// The answer, if the history shows it without any search.
pub(crate) fn local_answer(facts: &Facts<'_>, spec: &Spec) -> Option<Evaluation> {
    let breaks = |it: &iso_history::LocalAnomaly| match spec.dirty_reads() {
        DirtyReads::Forbidden => true,
        DirtyReads::Allowed => it.kind.breaks_read_uncommitted(),
    };
    facts.local().iter().any(breaks).then_some(Evaluation::Forbidden)
}

pub(crate) fn unsourced(spec: &Spec) -> Unsourced {
    match spec.dirty_reads() {
        DirtyReads::Forbidden => Unsourced::Refuse,
        DirtyReads::Allowed => Unsourced::Tolerate,
    }
}

struct WitnessSearch<'p, 'w> {
    spec: &'p Spec,
    bounds: Bounds<'p, 'w>,
}

enum Found {
    Yes,
    No,
    OutOfSteps,
}

/// A pair of the witness that is not decided.
struct Choice {
    start: usize,
    row: usize,
    col: usize,
    first: bool,
}

impl<'p, 'w> WitnessSearch<'p, 'w> {
    fn new(spec: &'p Spec, world: &'w World) -> Self {
        Self { spec, bounds: Bounds::new(&spec.program, world) }
    }

    /// Nothing if no witness fits.
    fn answer(mut self, limit: &mut Steps) -> Option<Evaluation> {
        match self.solve(0, limit) {
            Found::No => None,
            Found::OutOfSteps => Some(Evaluation::OutOfSteps),
            Found::Yes => {
                self.complete();
                let execution = self.execution();
                debug_assert!(certify(self.spec, self.bounds.world, &execution), "{}", self.spec.name());
                Some(Evaluation::Allowed(execution))
            }
        }
    }

    /// Searches below the present bounds; `known` has a bit for each conjunct that is surely true.
    fn solve(&mut self, mut known: u64, limit: &mut Steps) -> Found {
        loop {
            if !limit.take() {
                return Found::OutOfSteps;
            }
            match self.settle(&mut known) {
                Truth::False => return Found::No,
                Truth::True => return Found::Yes,
                Truth::Open => {}
            }
            let Some(choice) = self.choose() else { unreachable!("a known witness leaves nothing open") };
            let end = *self.bounds.witness_starts.last().unwrap_or(&0);
            let saved = (self.bounds.lower[..end].to_vec(), self.bounds.upper[..end].to_vec());
            self.decide(&choice, choice.first);
            match self.solve(known, limit) {
                Found::No => {}
                found => return found,
            }
            self.bounds.lower[..end].copy_from_slice(&saved.0);
            self.bounds.upper[..end].copy_from_slice(&saved.1);
            self.decide(&choice, !choice.first);
        }
    }

    fn decide(&mut self, choice: &Choice, is_in: bool) {
        self.bounds.conflict = false;
        self.bounds.decide(choice.start, choice.row, choice.col, is_in);
        self.bounds.touch();
    }

    /// Decides what follows, until nothing more does.
    fn settle(&mut self, known: &mut u64) -> Truth {
        let program = self.bounds.program;
        loop {
            let mut all = Truth::True;
            let mut any_change = false;
            for (idx, conjunct) in program.conjuncts.iter().enumerate() {
                if idx < 64 && *known >> idx & 1 == 1 {
                    continue;
                }
                self.bounds.changed = false;
                let truth = self.bounds.assume(conjunct);
                if truth == Truth::False || self.bounds.conflict {
                    return Truth::False;
                }
                if truth == Truth::True && idx < 64 {
                    *known |= 1 << idx;
                }
                all = all.min(truth);
                if self.bounds.changed {
                    any_change = true;
                    self.bounds.touch();
                }
            }
            if all == Truth::True || !any_change {
                return all;
            }
        }
    }

    /// The next pair to decide: orders before versions before relations, whose pairs are first tried as absent.
    fn choose(&self) -> Option<Choice> {
        let kinds = &self.spec.program.kinds;
        for wanted in [WitnessKind::Order, WitnessKind::Versions, WitnessKind::Relation] {
            for (witness, _) in kinds.iter().enumerate().filter(|it| *it.1 == wanted) {
                let range = self.bounds.witness_starts[witness]..self.bounds.witness_starts[witness + 1];
                for at in range.clone() {
                    let open = self.bounds.upper[at] & !self.bounds.lower[at];
                    if open != 0 {
                        let row = (at - range.start) % self.bounds.n_txns;
                        let col = open.trailing_zeros() as usize;
                        let first = wanted != WitnessKind::Relation;
                        return Some(Choice { start: at - row, row, col, first });
                    }
                }
            }
        }
        None
    }

    /// Decides the rest of the witness arbitrarily: whatever it is, the formula is true.
    fn complete(&mut self) {
        while let Some(choice) = self.choose() {
            self.bounds.decide(choice.start, choice.row, choice.col, choice.first);
        }
    }

    fn execution(&self) -> Execution {
        let world = self.bounds.world;
        let mut relations = Vec::new();
        for (idx, witness) in self.spec.witnesses().iter().enumerate() {
            let start = self.bounds.witness_starts[idx];
            if witness.kind == WitnessKind::Versions {
                for (key_idx, key) in world.keys.iter().enumerate() {
                    let pairs = self.pairs(start + key_idx * self.bounds.n_txns);
                    relations.push(NamedRelation { name: witness.name.clone(), key: Some(*key), pairs });
                }
            } else {
                relations.push(NamedRelation { name: witness.name.clone(), key: None, pairs: self.pairs(start) });
            }
        }
        Execution { relations, ..Execution::new(world.txns.iter().copied(), world.source_pairs()) }
    }

    fn pairs(&self, start: usize) -> Vec<(TxnId, TxnId)> {
        let txns = &self.bounds.world.txns;
        let row_pairs = |row: usize| bits(self.bounds.lower[start + row]).map(move |col| (row, col));
        (0..txns.len()).flat_map(row_pairs).map(|(row, col)| (txns[row], txns[col])).collect()
    }
}

/// Is the witness of an execution legal in this world, and is everything true that must be?
fn certify(spec: &Spec, world: &World, execution: &Execution) -> bool {
    let mut bounds = Bounds::new(&spec.program, world);
    for (idx, witness) in spec.witnesses().iter().enumerate() {
        let start = bounds.witness_starts[idx];
        let parts = execution.relations.iter().filter(|it| it.name == witness.name);
        let is_legal = match witness.kind {
            WitnessKind::Versions => set_versions(&mut bounds, start, &parts.collect::<Vec<_>>()),
            kind => set_relation(&mut bounds, start, kind, parts),
        };
        if !is_legal {
            return false;
        }
    }
    bounds.touch();
    bounds.program.conjuncts.iter().all(|it| bounds.truth(it) == Truth::True)
}

/// Puts the pairs of a relation in, if it is there exactly once and, for an order, is one.
fn set_relation<'e>(
    bounds: &mut Bounds<'_, '_>,
    start: usize,
    kind: WitnessKind,
    mut parts: impl Iterator<Item = &'e NamedRelation>,
) -> bool {
    let (Some(part), None) = (parts.next(), parts.next()) else { return false };
    let Some(rows) = rows_of(bounds.world, part) else { return false };
    let everyone = all_bits(bounds.n_txns);
    if kind == WitnessKind::Order && !is_order(&rows, everyone) {
        return false;
    }
    set_rows(bounds, start, &rows);
    part.key.is_none()
}

/// Puts version orders in. A key that only the initial transaction writes needs none.
fn set_versions(bounds: &mut Bounds<'_, '_>, start: usize, parts: &[&NamedRelation]) -> bool {
    let world = bounds.world;
    if parts.iter().any(|it| it.key.is_none_or(|key| world.keys.binary_search(&key).is_err())) {
        return false;
    }
    for (key_idx, key) in world.keys.iter().enumerate() {
        let mut of_key = parts.iter().filter(|it| it.key == Some(*key));
        let rows = match (of_key.next(), of_key.next()) {
            (None, _) => vec![0; world.txns.len()],
            (Some(part), None) => match rows_of(world, part) {
                Some(rows) => rows,
                None => return false,
            },
            _ => return false,
        };
        if !is_order(&rows, world.writers[key_idx]) {
            return false;
        }
        set_rows(bounds, start + key_idx * world.txns.len(), &rows);
    }
    true
}

fn set_rows(bounds: &mut Bounds<'_, '_>, start: usize, rows: &[u64]) {
    bounds.lower[start..start + rows.len()].copy_from_slice(rows);
    bounds.upper[start..start + rows.len()].copy_from_slice(rows);
}

fn rows_of(world: &World, part: &NamedRelation) -> Option<Vec<u64>> {
    let mut rows = vec![0; world.txns.len()];
    for (left, right) in &part.pairs {
        let (left, right) = (world.txns.binary_search(left).ok()?, world.txns.binary_search(right).ok()?);
        rows[left] |= 1 << right;
    }
    Some(rows)
}

/// Is this a strict total order of the members, the initial transaction first, and nothing else?
fn is_order(rows: &[u64], members: u64) -> bool {
    let mut later: Vec<u32> = Vec::new();
    for (row, it) in rows.iter().enumerate() {
        let is_member = members >> row & 1 == 1;
        let is_clean = it & !members == 0 && it >> row & 1 == 0;
        if !is_clean || (!is_member && *it != 0) {
            return false;
        }
        // In a total order each member has a different number of later ones, and those have no more.
        if is_member {
            if bits(*it).any(|col| rows[col] & !it != 0) {
                return false;
            }
            later.push(it.count_ones());
        }
    }
    later.sort_unstable();
    let is_total = later.iter().enumerate().all(|(idx, it)| idx as u32 == *it);
    is_total && rows.first().is_none_or(|it| *it == members & !1)
}

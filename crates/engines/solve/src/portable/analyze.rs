//! What follows from a conflict: a clause with one literal of the last level, and where it leads back to.
//!
//! Source: Marques-Silva & Sakallah 1999; literals that follow from others are left out as in Sörensson & Biere 2009.

use super::Portable;
use super::clauses::ClauseRef;
use crate::sat::{Lit, Var};

impl Portable {
    /// Learns from a clause that is false above the root, goes back, and assigns what follows.
    pub(super) fn learn(&mut self, conflict: ClauseRef) {
        let (mut learned, mut resolved) = self.first_unique_implication(conflict);
        let marked: Vec<Var> = learned.iter().chain(&resolved).map(|it| it.var()).collect();
        self.minimize(&mut learned, &mut resolved);
        for var in marked.iter().copied().chain(resolved.iter().map(|it| it.var())) {
            self.is_seen[var.index()] = false;
        }
        // The second literal is the last one to become false besides the first.
        let rest = learned.iter().enumerate().skip(1);
        if let Some((place, _)) = rest.max_by_key(|it| self.levels[it.1.var().index()]) {
            learned.swap(1, place);
        }
        let level = learned.get(1).map_or(0, |it| self.levels[it.var().index()]);
        let glue = self.glue(&learned);
        let id = self.trace_learned(&learned, &resolved, conflict);
        self.restarts.learned(glue);
        self.ranking.grow();
        self.backtrack(level);
        let clause = self.clauses.add(&learned, glue, id);
        if learned.len() > 1 {
            self.watch(clause);
        }
        self.assign(learned[0], Some(clause));
    }

    /// Resolves a false clause with the reasons of its literals until one literal of the last level is left. It comes
    /// first. Also the literals whose reasons were used. All are marked as seen.
    fn first_unique_implication(&mut self, conflict: ClauseRef) -> (Vec<Lit>, Vec<Lit>) {
        let (mut lower, mut resolved) = (Vec::new(), Vec::new());
        let (mut n_open, mut place, mut clause) = (0, self.trail.len(), conflict);
        loop {
            for idx in 0..self.clauses.n_lits(clause) {
                let lit = self.clauses.lit(clause, idx);
                let var = lit.var();
                let level = self.levels[var.index()];
                if self.is_seen[var.index()] || level == 0 || self.value_of(lit) == Some(true) {
                    continue;
                }
                self.is_seen[var.index()] = true;
                self.ranking.bump(var);
                if level == self.level() {
                    n_open += 1;
                } else {
                    lower.push(lit);
                }
            }
            let next = loop {
                place -= 1;
                if self.is_seen[self.trail[place].var().index()] {
                    break self.trail[place];
                }
            };
            n_open -= 1;
            if n_open == 0 {
                lower.insert(0, !next);
                return (lower, resolved);
            }
            resolved.push(next);
            clause = self.reasons[next.var().index()].expect("only one literal of a level has no reason");
        }
    }

    /// Leaves out literals that are false because others of the clause are.
    fn minimize(&mut self, learned: &mut Vec<Lit>, resolved: &mut Vec<Lit>) {
        let candidates = learned.split_off(1);
        let levels = candidates.iter().fold(0, |levels, it| levels | self.level_bit(*it));
        for lit in candidates {
            match self.follows_from_seen(lit, levels) {
                Some(used) => resolved.extend(used),
                None => learned.push(lit),
            }
        }
    }

    /// Is a false literal so because of literals that are seen? Then also those whose reasons say so, marked as seen.
    ///
    /// A literal of a level that no literal of the clause has cannot be, and `levels` has bits of theirs.
    fn follows_from_seen(&mut self, lit: Lit, levels: u64) -> Option<Vec<Lit>> {
        let mut used = Vec::new();
        let mut open = vec![lit];
        while let Some(next) = open.pop() {
            let reason = self.reasons[next.var().index()].filter(|_| self.level_bit(next) & levels != 0);
            let Some(reason) = reason else {
                used.iter().skip(1).for_each(|it: &Lit| self.is_seen[it.var().index()] = false);
                open.iter().filter(|it| **it != lit).for_each(|it| self.is_seen[it.var().index()] = false);
                self.is_seen[next.var().index()] = next == lit;
                return None;
            };
            used.push(!next);
            for other in self.clauses.lits(reason) {
                let var = other.var().index();
                if self.levels[var] > 0 && !self.is_seen[var] {
                    self.is_seen[var] = true;
                    open.push(other);
                }
            }
        }
        Some(used)
    }

    fn level_bit(&self, lit: Lit) -> u64 {
        1 << (self.levels[lit.var().index()] % u64::BITS)
    }

    /// The number of levels of literals that have a value.
    pub(super) fn glue(&self, lits: &[Lit]) -> u32 {
        let mut levels: Vec<u32> = lits.iter().map(|it| self.levels[it.var().index()]).collect();
        levels.sort_unstable();
        levels.dedup();
        levels.len() as u32
    }

    /// The assumptions because of which an assumption is false, and itself.
    pub(super) fn why_failed(&mut self, assumed: Lit) -> Vec<Lit> {
        let mut failed = vec![assumed];
        self.is_seen[assumed.var().index()] = self.levels[assumed.var().index()] > 0;
        let above = self.starts.first().copied().unwrap_or(self.trail.len());
        for place in (above..self.trail.len()).rev() {
            let lit = self.trail[place];
            if !std::mem::take(&mut self.is_seen[lit.var().index()]) {
                continue;
            }
            match self.reasons[lit.var().index()] {
                None => failed.push(lit),
                Some(reason) => {
                    for other in self.clauses.lits(reason).filter(|it| *it != lit) {
                        self.is_seen[other.var().index()] = self.levels[other.var().index()] > 0;
                    }
                }
            }
        }
        failed
    }

    /// A clause is false on the root level: nothing satisfies all of them.
    pub(super) fn refute(&mut self, conflict: ClauseRef) {
        self.is_refuted = true;
        let mut antecedents = self.units_of(conflict, None);
        antecedents.push(i64::from(self.clauses.id(conflict)));
        self.trace_derived(Vec::new(), &antecedents);
    }

    /// Another clause was given; its number in the trace.
    pub(super) fn trace_given(&mut self) -> u32 {
        let Some(tracing) = &mut self.trace else { return 0 };
        tracing.n_clauses += 1;
        tracing.trace.borrow_mut().given(i64::from(tracing.n_clauses));
        tracing.n_clauses
    }

    fn trace_derived(&mut self, clause: Vec<Lit>, antecedents: &[i64]) -> u32 {
        let Some(tracing) = &mut self.trace else { return 0 };
        tracing.n_clauses += 1;
        tracing.trace.borrow_mut().derived(i64::from(tracing.n_clauses), clause, antecedents);
        tracing.n_clauses
    }

    /// Tells a learned clause: it follows from the reasons that were resolved, in the order of the trail, and the conflict.
    fn trace_learned(&mut self, learned: &[Lit], resolved: &[Lit], conflict: ClauseRef) -> u32 {
        if self.trace.is_none() {
            return 0;
        }
        let mut places = vec![0; self.phases.len()];
        for (place, lit) in self.trail.iter().enumerate() {
            places[lit.var().index()] = place;
        }
        let mut resolved = resolved.to_vec();
        resolved.sort_unstable_by_key(|it| places[it.var().index()]);
        let reasons = resolved.iter().filter_map(|it| self.reasons[it.var().index()]);
        let used: Vec<ClauseRef> = reasons.chain([conflict]).collect();
        let mut antecedents: Vec<i64> = used.iter().flat_map(|it| self.units_of(*it, None)).collect();
        antecedents.sort_unstable();
        antecedents.dedup();
        antecedents.extend(used.iter().map(|it| i64::from(self.clauses.id(*it))));
        self.trace_derived(learned.to_vec(), &antecedents)
    }

    /// Tells that a literal is true for good, so that later clauses can name that.
    pub(super) fn trace_unit(&mut self, lit: Lit, reason: Option<ClauseRef>) {
        let (true, Some(reason)) = (self.trace.is_some(), reason) else { return };
        let mut id = self.clauses.id(reason);
        if self.clauses.n_lits(reason) > 1 {
            let mut antecedents = self.units_of(reason, Some(lit));
            antecedents.push(i64::from(id));
            id = self.trace_derived(vec![lit], &antecedents);
        }
        self.trace.iter_mut().for_each(|it| it.units[lit.var().index()] = i64::from(id));
    }

    /// The clauses that make literals of a clause false for good.
    fn units_of(&self, clause: ClauseRef, but: Option<Lit>) -> Vec<i64> {
        let Some(tracing) = &self.trace else { return Vec::new() };
        let lits = self.clauses.lits(clause).filter(|it| Some(*it) != but);
        lits.map(|it| it.var().index()).filter(|it| self.levels[*it] == 0).map(|it| tracing.units[it]).collect()
    }
}

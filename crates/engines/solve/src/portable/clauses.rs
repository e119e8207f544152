//! Clauses, one after another in one piece of memory.

use crate::sat::Lit;

/// Where a clause stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ClauseRef(u32);

/// Before the literals of a clause stand their number, its glue and its number in the trace.
const HEADER: usize = 3;

/// The glue of a clause that was given; it is never forgotten.
pub(super) const GIVEN: u32 = 0;

#[derive(Debug, Default)]
pub(super) struct ClauseBase {
    words: Vec<u32>,
    n_learned: usize,
}

impl ClauseBase {
    /// Adds a clause. Its glue is the number of levels that its literals had when it was learned.
    pub(super) fn add(&mut self, lits: &[Lit], glue: u32, id: u32) -> ClauseRef {
        let place = u32::try_from(self.words.len()).ok().filter(|it| *it < u32::MAX / 2);
        let place = place.expect("clauses that do not fit into memory are refused before");
        self.words.extend([lits.len() as u32, glue, id]);
        self.words.extend(lits.iter().map(|it| it.tag()));
        self.n_learned += usize::from(glue != GIVEN);
        ClauseRef(place)
    }

    pub(super) fn n_learned(&self) -> usize {
        self.n_learned
    }

    pub(super) fn n_lits(&self, clause: ClauseRef) -> usize {
        self.words[clause.0 as usize] as usize
    }

    pub(super) fn glue(&self, clause: ClauseRef) -> u32 {
        self.words[clause.0 as usize + 1]
    }

    pub(super) fn id(&self, clause: ClauseRef) -> u32 {
        self.words[clause.0 as usize + 2]
    }

    pub(super) fn lit(&self, clause: ClauseRef, idx: usize) -> Lit {
        Lit::from_tag(self.words[clause.0 as usize + HEADER + idx])
    }

    pub(super) fn swap(&mut self, clause: ClauseRef, one: usize, other: usize) {
        let first = clause.0 as usize + HEADER;
        self.words.swap(first + one, first + other);
    }

    pub(super) fn lits(&self, clause: ClauseRef) -> impl Iterator<Item = Lit> + '_ {
        let first = clause.0 as usize + HEADER;
        self.words[first..first + self.n_lits(clause)].iter().map(|it| Lit::from_tag(*it))
    }

    /// All clauses, in the order in which they were added.
    pub(super) fn all(&self) -> impl Iterator<Item = ClauseRef> + '_ {
        let mut next = 0;
        std::iter::from_fn(move || {
            let clause = ClauseRef(next);
            let n_lits = *self.words.get(next as usize)?;
            next += n_lits + HEADER as u32;
            Some(clause)
        })
    }

    /// Keeps the clauses that are wanted, and says where they stand now.
    pub(super) fn retain(&mut self, is_wanted: impl Fn(ClauseRef) -> bool) -> Vec<(ClauseRef, ClauseRef)> {
        let mut kept = Self::default();
        let mut moved = Vec::new();
        for clause in self.all().filter(|it| is_wanted(*it)) {
            let lits: Vec<Lit> = self.lits(clause).collect();
            moved.push((clause, kept.add(&lits, self.glue(clause), self.id(clause))));
        }
        *self = kept;
        moved
    }
}
